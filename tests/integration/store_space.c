/*
 * store_space.c - half of 1,000 sessions that share their pages is removed: a
 * vacuum gives at least 40 % of the file back, and without one, writing as much
 * again leaves the file at most 1.15 times as large.
 */
#include "space_harness.h"

#include <pthread.h>
#include <stdatomic.h>

#define SESSIONS 1000
#define TURNS    10

static void vacuum_half(enum space_half half, const char *what)
{
    struct space space;
    pdr_vacuum_report report;
    uint64_t bytes = 0;
    pdr_err err = PDR_ERR_INIT;

    space_init(&space, SESSIONS, TURNS);
    space_remove_half(&space, half);
    if (pdr_store_vacuum(&report, space.store, &err, NULL, NULL) != PDR_OK)
        fail_msg("%s", err.message);
    print_message(
        "%s: %.1f MB, after a vacuum %.1f MB, %.1f %% given back; "
        "%llu steps, the lock was held for %llu us at most\n",
        what, (double)space.bytes / 1e6, (double)report.after_bytes / 1e6,
        100.0 - 100.0 * (double)report.after_bytes / (double)space.bytes,
        (unsigned long long)report.steps,
        (unsigned long long)report.longest_us);
    ASSERT(report.before_bytes >= space.bytes);
    ASSERT(report.after_bytes * 10 <= space.bytes * 6);
    ASSERT_SIZE(0, report.free_bytes);
    bytes = space_file(&space);
    ASSERT(bytes <= report.after_bytes);
    space_check(&space, SESSIONS, half);
    space_dispose(&space);
}

TEST(vacuum, gives_room_of_every_second_session_back)
{
    vacuum_half(SPACE_EVERY_SECOND, "every second");
}

TEST(vacuum, gives_room_of_any_half_back)
{
    vacuum_half(SPACE_ANY, "any half");
}

/* --- what a step does ------------------------------------------------------
 */

/* Bytes that a step may write while it holds the lock: a copy of the log that
 * has grown by 4 MB and a transaction, and the pages of the main file that
 * belong to them. Disks write that in less than 100 ms. */
#define STEP_BYTES (UINT64_C(12) * 1024 * 1024)

/* Places that are looked at together (PDR_STRETCH). */
#define STRETCH 64

/* That this process has written to files, by its own calls. */
static uint64_t written(void)
{
    FILE *file = fopen("/proc/self/io", "r");
    unsigned long long bytes = 0;
    char line[128];
    bool found = false;

    ASSERT(file != NULL);
    while (!found && fgets(line, sizeof(line), file) != NULL)
        found = sscanf(line, "wchar: %llu", &bytes) == 1;
    fclose(file);
    ASSERT(found);
    return bytes;
}

struct steps {
    uint64_t before, most;
    size_t count;
};

static pdr_rc weigh(void *arg, const pdr_vacuum_report *report, pdr_err *err)
{
    struct steps *steps = arg;
    uint64_t now = written();

    (void)report;
    (void)err;
    if (now - steps->before > steps->most)
        steps->most = now - steps->before;
    steps->before = now;
    steps->count++;
    return PDR_OK;
}

/* `empty`: stretches of places without a row in front of all others. */
static void weigh_steps(unsigned empty, const char *what)
{
    struct space space;
    struct steps steps = {0, 0, 0};
    pdr_vacuum_report report;

    space_init(&space, SESSIONS, TURNS);
    space_remove_half(&space, SPACE_ANY);
    if (empty > 0)
        space_shift(&space, empty * STRETCH);
    (void)space_file(&space); /* the log of the removal is no part of it */
    steps.before = written();
    ASSERT_RC(PDR_OK,
              pdr_store_vacuum(&report, space.store, NULL, weigh, &steps));
    print_message("%s: %zu steps, %.1f MB in one at most\n", what, steps.count,
                  (double)steps.most / 1e6);
    ASSERT(steps.count > 10);
    ASSERT(steps.most > 0 && steps.most <= STEP_BYTES);
    ASSERT(report.after_bytes * 10 <= space.bytes * 6);
    space_check(&space, SESSIONS, SPACE_ANY);
    space_dispose(&space);
}

TEST(vacuum, does_little_in_each_step)
{
    weigh_steps(0, "all sparse");
}

/* Steps that found nothing to move say nothing about the next one. */
TEST(vacuum, does_little_in_each_step_behind_many_that_were_empty)
{
    weigh_steps(5000, "sparse behind empty");
}

/* --- room that is used again ------------------------------------------------
 */

static void write_again(enum space_half half, const char *what)
{
    struct space space;
    uint64_t bytes = 0;

    space_init(&space, SESSIONS, TURNS);
    space_remove_half(&space, half);
    space_write_again(&space);
    bytes = space_file(&space);
    print_message("%s: %.1f MB, after writing as much again %.1f MB, %.3f "
                  "times\n",
                  what, (double)space.bytes / 1e6, (double)bytes / 1e6,
                  (double)bytes / (double)space.bytes);
    ASSERT(bytes * 100 <= space.bytes * 115);
    space_check(&space, SESSIONS, half);
    space_dispose(&space);
}

TEST(free_room, of_every_second_session_is_used_again)
{
    write_again(SPACE_EVERY_SECOND, "every second");
}

TEST(free_room, of_any_half_is_used_again)
{
    write_again(SPACE_ANY, "any half");
}
