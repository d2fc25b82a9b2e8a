/*
 * trick_files.h - file calls that fail, end the process, fold case, or cheat.
 */
#ifndef PDR_TEST_TRICK_FILES_H
#define PDR_TEST_TRICK_FILES_H

#include "test.h"

#include "files.h"

struct trick {
    struct pdr__files table; /* hand this to pdr__folder_open_with() */
    size_t calls;            /* since the last arming */
    size_t at;               /* the call that is meant; 0: none */
    bool for_ever;           /* and all behind it */
    bool kill;               /* end the process there, instead of failing */
    int sys;                 /* what a call fails with */
    bool fold;               /* names that differ in case are one */
    bool no_lock;            /* planted mistake: nobody waits */
    bool slow_rename;        /* planted mistake: removes before it renames */
    /* Called in front of call `at` instead, if it is there. */
    void (*before)(void *arg);
    void *arg;
};

/* The calls of the system, with nothing armed. */
void trick_init(struct trick *trick);
/* Let call `at` from now fail with `sys`; 0 disarms. */
void trick_arm(struct trick *trick, size_t at, bool for_ever, int sys);
/* Was call `at` reached? */
bool trick_done(const struct trick *trick);

#endif
