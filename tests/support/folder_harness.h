/*
 * folder_harness.h - processes that are killed while they save a session, and
 * processes that save one at the same time.
 */
#ifndef PDR_TEST_FOLDER_HARNESS_H
#define PDR_TEST_FOLDER_HARNESS_H

#include "test.h"

struct kill_report {
    size_t kills;     /* processes that were ended in the middle */
    size_t missing;   /* after so many neither document was there */
    size_t back;      /* after so many the old one was there again */
    bool ended_old;   /* some left the old document ... */
    bool ended_new;   /* ... and some the new one */
    size_t leftovers; /* temporary files that were listed */
};

/* End a process at each file call of one `set`: what is there afterwards?
 * `old_name`: the session has a file of an old name. `slow_rename`: with a
 * planted mistake. */
void folder_kill_each(struct kill_report *out, bool old_name, bool slow_rename);

/* Processes that each raise a counter in one session, or append messages, and
 * what was lost of it. `no_lock`: with a planted mistake. */
#define RACERS       4
#define RACER_ROUNDS 25
size_t folder_race_sets(bool no_lock);
size_t folder_race_appends(void);

#endif
