/*
 * file_faults.h - a store below which file operations fail, or that fails
 * itself.
 */
#ifndef PDR_TEST_FILE_FAULTS_H
#define PDR_TEST_FILE_FAULTS_H

#include "fault_store.h"
#include "power_harness.h"
#include "shim_vfs.h"

struct fault_report {
    struct image_report images; /* what was there after opening again */
    size_t runs;                /* in which an operation failed */
    size_t reached[SHIM_OPS];   /* of these, by the kind of operation */
    size_t calls[FAULT_CALLS];  /* or by the kind of call */
    size_t syncs;               /* that the store asked for, in all runs */
    size_t conflicts;           /* commits that were late or fenced off */
    size_t refusals;            /* commits refused for other good reasons */
    size_t failures;            /* commits that a failure refused */
    size_t unknowns;            /* commits that ended unknown */
    size_t opens;               /* that failed */
    size_t reads;               /* that failed */
    size_t chores;              /* other calls that failed */
    size_t whole, absent;       /* what became of the unknown ones */
    /* Mistakes besides those of images. */
    size_t forked;       /* a commit passed that had to be refused */
    size_t doubled;      /* a retry was taken for another commit */
    size_t sure;         /* not in doubt behind an unknown commit */
    size_t sync_refused; /* a failed sync of a commit was no unknown */
    size_t stale;        /* a read gave something else than what is there */
    size_t causeless;    /* something failed without a cause */
};

size_t fault_mistakes(const struct fault_report *report);
void fault_print(const struct fault_report *report);
/* Fail the test if one of these was not met: it would show nothing. */
void fault_check_met(const struct fault_report *report);

/* What every run is compared with. */
struct fault_harness {
    struct work truth;
    struct fault_report report;
};

void fault_init(struct fault_harness *harness);
void fault_dispose(struct fault_harness *harness);

/* Run the work while one operation fails, once or for ever; afterwards open it
 * again, settle what is unknown, go on. False if there were fewer operations,
 * so that none failed. */
bool fault_run(struct fault_harness *harness, const struct shim_fault *fault);

/* The same while a call of the store fails: of "fault:" around it. Unless
 * that is a commit, one of the calls that are neither commit nor read comes
 * behind each step. */
bool fault_run_call(struct fault_harness *harness,
                    const struct fault_plan *plan);

/* How many operations of each kind the work has if none fails. */
void fault_count(size_t out[SHIM_OPS]);

#endif
