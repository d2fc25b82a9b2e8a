/*
 * backup_harness.h - copies of a store that are made while something goes
 * wrong, or while others write: a copy is whole and of one moment, or there is
 * none, and what stood in its place stays.
 */
#ifndef PDR_TEST_BACKUP_HARNESS_H
#define PDR_TEST_BACKUP_HARNESS_H

#include "room.h"
#include "test.h"

#include <perdure/store.h>

struct backup_harness {
    struct room room; /* with the store a.db; copies are called copy.db */
    pdr_store *store; /* owned: keeps some of it in the log; NULL: moments */
    char *text;       /* owned: of all rows */
    /* What was met. */
    size_t runs;
    size_t refused; /* backups that said so */
    size_t whole;   /* copies, compared */
    size_t killed;
    size_t left;        /* unfinished files that were left */
    size_t steps;       /* between which others committed */
    size_t commits;     /* of others while a copy was made */
    size_t checkpoints; /* and how often they copied their log */
    /* Mistakes. */
    size_t mistakes;
    char first[700]; /* the first one in words */
};

/* A store that nobody writes to, 1 MB. */
void backup_init(struct backup_harness *harness);
void backup_dispose(struct backup_harness *harness);
void backup_print(const struct backup_harness *harness, const char *what);

/* Each file operation fails, once and for ever; every `step`th of them. */
void backup_fail(struct backup_harness *harness, size_t step);
/* The process is killed in place of each file operation. */
void backup_kill(struct backup_harness *harness, size_t step);
/* Power is lost when the copy gets its name. `swallow`: a planted mistake, no
 * sync does anything. */
void backup_lose_power(struct backup_harness *harness, bool swallow);

/* Make the copy of `from`, in place of the one that is there. False: failed. */
typedef bool (*backup_copy_fn)(struct backup_harness *harness, const char *from,
                               const char *to, size_t round);
/* The real one. */
bool backup_copy(struct backup_harness *harness, const char *from,
                 const char *to, size_t round);
/* So many copies while processes write, each of them checked; ends with the
 * first mistake. For a program of its own: roles of it are writers. */
void backup_moments(struct backup_harness *harness, size_t rounds,
                    backup_copy_fn copy);

#endif
