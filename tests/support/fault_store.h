/*
 * fault_store.h - a store around any other one, whose calls fail on demand:
 * "fault:memory:", "fault:sqlite:FILE". For what stands on stores.
 *
 * There is one plan for the program, as URIs are all that callers have. For any
 * number of threads.
 */
#ifndef PDR_TEST_FAULT_STORE_H
#define PDR_TEST_FAULT_STORE_H

#include "test.h"

#include <perdure/sys/store.h>

enum fault_call {
    FAULT_OPEN,
    FAULT_COMMIT, /* each write of a group is a call */
    FAULT_READ,
    FAULT_INFO,
    FAULT_POLL,
    FAULT_VERIFY,
    FAULT_SWEEP,
    FAULT_VACUUM, /* each step is a call */
    FAULT_BACKUP,
    FAULT_MIGRATE,
    FAULT_CALLS
};
#define FAULT_ANY FAULT_CALLS /* whichever */

/* The word for a kind of call; static. */
const char *fault_call_word(enum fault_call call);

/* How a commit fails; all other calls just do. */
enum fault_way {
    FAULT_REFUSED,      /* PDR_EIO, and nothing happened */
    FAULT_UNKNOWN_LOST, /* PDR_EUNKNOWN, and nothing happened */
    FAULT_UNKNOWN_DONE  /* PDR_EUNKNOWN, and it is there */
};

struct fault_plan {
    enum fault_call call; /* which kind; FAULT_ANY: every one */
    size_t nth;           /* of that kind from now, 1 is the next; 0: none */
    bool for_ever;        /* and all of that kind behind it */
    enum fault_way way;
};

/* Make "fault:" known; once or more often. */
void fault_store_register(void);
/* After an unknown commit the store is in doubt until it is opened again, as
 * any store is. */
void fault_store_set(const struct fault_plan *plan);
/* Calls of the plan's kind since it was set, and those that failed. */
size_t fault_store_calls(void);
size_t fault_store_failed(void);

#endif
