/*
 * point_store.h - "point:URI", a store around any other one whose process dies
 * at a point: before or after the n-th commit of a kind.
 *
 * There is one plan for the program, as URIs are all that callers have. For any
 * number of threads. It can make a mistake, too, which processes that are
 * started later make as well.
 */
#ifndef PDR_TEST_POINT_STORE_H
#define PDR_TEST_POINT_STORE_H

#include "test.h"

#include <perdure/sys/store.h>

/* What is counted. Some kinds are apart, since they come at any time. */
enum point_kind {
    POINT_STEP,    /* a commit, but for those below */
    POINT_RENEWAL, /* one that renews a lease, which is due at any time */
    POINT_HELD,    /* one that writes something, and renews the lease, too */
    POINT_STREAM,  /* one of events and nothing else */
    POINT_TOOL,    /* a tool is at work; counted by point_reach() */
    POINT_KINDS
};

/* The word for a kind; static. */
const char *point_kind_word(enum point_kind kind);

struct point_plan {
    enum point_kind kind;
    size_t nth; /* 1 is the first; 0: do not die */
    bool after; /* it is durable, and nobody was told */
};

enum point_mistake {
    POINT_SOUND,
    POINT_FORGETS_STARTED, /* rows of these kinds are written as if they were */
    POINT_FORGETS_RESULT,  /* of another */
    POINT_FORGETS_ANSWER,
    POINT_IGNORES_FENCE, /* whoever commits has the lease */
    POINT_MISTAKES
};

/* For this process and those that it starts from now on. */
void point_mistake_choose(enum point_mistake mistake);

/* Hears of each edit that is durable, as the caller wanted it; on the thread of
 * the commit, before it returns or the process dies. */
typedef void (*point_fn)(const pdr_edit *edit, void *arg);

/* Make "point:" known, with this plan; once. `fn` may be NULL. */
PDR_MUST_CHECK pdr_rc point_store_register(const struct point_plan *plan,
                                           point_fn fn, void *arg,
                                           pdr_err *err);

/* One more of a kind, which is not a commit. May not return. */
void point_reach(enum point_kind kind);

/* So many were reached. */
size_t point_count(enum point_kind kind);
/* Commits that a lost lease refused. */
size_t point_fenced(void);

#endif
