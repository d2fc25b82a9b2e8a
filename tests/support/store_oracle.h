/*
 * store_oracle.h - what writers of a store asked for and were told, on a disk
 * of their own: the truth that the store is compared with.
 *
 * WHY  A store that loses a commit does not say so. Each writer keeps a file
 *      beside the store, one line an event:
 *
 *          I  it asks for a deed: written before the commit is called
 *          A  acknowledged: written and synced, and only then it counts
 *          E  a deed was asked for again, and the store says it is there
 *          C  one try was refused; it tries again
 *          R  refused, and no try may have been carried out
 *          U  given up, and a try that was cut off may have been carried out
 *
 *      A deed has a name that is used once, "w3-17" for the 17th of writer 3;
 *      it is its correlation id. A writer that was killed begins again with the
 *      deed whose line I has no end.
 *
 * INVARIANTS
 *   O1  A line without a final newline was cut off and does not count.
 *   O2  A writer has one deed at a time. So at most its last one is open.
 *   O3  Lines I are not synced: a kill takes nothing that was written, and an
 *       open deed promises nothing.
 */
#ifndef PDR_TEST_STORE_ORACLE_H
#define PDR_TEST_STORE_ORACLE_H

#include "test.h"

#define DEED_PARTS    3 /* sessions that one deed touches at most */
#define DEED_SESSIONS 64
#define DEED_TEXT     32

/* Who, and the how-manieth; 0 stands for none. */
typedef uint64_t deed_id;

static inline deed_id deed_id_of(unsigned writer, unsigned n)
{
    return (deed_id)writer << 32 | n;
}

static inline unsigned deed_writer(deed_id id)
{
    return (unsigned)(id >> 32);
}

static inline unsigned deed_n(deed_id id)
{
    return (unsigned)id;
}

/* "w3-17"; "w0-0" for none. Returns `out`. */
const char *deed_text(char out[DEED_TEXT], deed_id id);
bool deed_read(deed_id *out, pdr_str text);

enum deed_kind {
    DEED_TURN,    /* two entries and all that goes with them */
    DEED_ENQUEUE, /* one inbox row */
    DEED_STEP,    /* one journal row, under a lease */
    DEED_TAKE,
    DEED_RENEW,
    DEED_RELEASE,
    DEED_REMOVE
};

enum deed_state {
    DEED_OPEN, /* nobody knows, or does not know yet */
    DEED_DONE,
    DEED_FOUND, /* done, by a try that was cut off: its numbers are unknown */
    DEED_REFUSED
};

/* What a deed does to one session. */
struct deed_part {
    unsigned session;
    uint64_t asked; /* the fence that it was asked for with */
    uint64_t epoch; /* open: the one that was read, 0 to make the session */
    uint64_t revision;
    uint64_t first_seq;
    uint64_t journal_n;
    uint64_t inbox_n;
    uint64_t fence;
    struct {                /* the judge's notes */
        size_t line;        /* place among the turns, from 1; 0: not there */
        size_t completions; /* rows */
        size_t inbox;       /* rows */
        size_t settled;     /* by so many turns */
        bool queued;        /* it adds a row to the inbox */
    } seen;
};

struct deed {
    deed_id id;
    enum deed_kind kind;
    enum deed_state state;
    bool trying;   /* a line I has no end yet */
    bool cut_off;  /* a try ended without a line: the writer was killed */
    bool given_up; /* open for ever */
    size_t part_count;
    struct deed_part parts[DEED_PARTS];
};

/* All deeds of one writer; the n-th is deeds[n - 1]. */
struct oracle {
    unsigned writer;
    struct deed *deeds; /* owned */
    size_t count, cap;
    size_t done, conflicts, refusals;
    size_t retries; /* of deeds that were cut off */
    size_t found;   /* of them, already there */
};

/* The part that touches this session, or NULL. */
struct deed_part *deed_part_in(struct deed *deed, unsigned session);

void oracle_init(struct oracle *oracle, unsigned writer);
void oracle_dispose(struct oracle *oracle);
/* Take in one line without its newline. False, with a complaint on stderr, if
 * it is no such line or cannot stand there. */
bool oracle_line(struct oracle *oracle, const char *line);
/* Take in a file; one that is not there is empty. */
bool oracle_read(struct oracle *oracle, const char *path);
/* The deed that has no end yet, or NULL. */
struct deed *oracle_open_deed(struct oracle *oracle);

/* The writer's side. */
struct oracle_file {
    int fd;
    unsigned next; /* number of the next deed */
};

/* Open the file of a writer for more lines, after what it holds was taken in.
 * A line that was cut off goes. */
bool oracle_file_open(struct oracle_file *file, const struct oracle *oracle,
                      const char *path);
void oracle_file_close(struct oracle_file *file);
/* Write line I, A, E, C, R or U of a deed; A and E are synced. */
bool oracle_note(struct oracle_file *file, char what, const struct deed *deed);

#endif
