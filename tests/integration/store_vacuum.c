/*
 * store_vacuum.c - a vacuum that fails, is killed or loses power takes no row
 * with it, and one that others commit beside takes none of theirs.
 */
#include "vacuum_harness.h"

#include <pthread.h>
#include <stdatomic.h>

#include "processes.h"
#include "space_harness.h"

static void finish(struct vacuum_harness *harness, const char *what)
{
    vacuum_print(harness, what);
    ASSERT_SIZE(0, harness->mistakes);
    ASSERT(harness->runs > 0);
    vacuum_dispose(harness);
}

TEST(vacuum, takes_no_row_when_any_file_operation_fails)
{
    struct vacuum_harness harness;

    vacuum_init(&harness);
    vacuum_fail(&harness, test_every(9));
    ASSERT(harness.refused > 0 && harness.shorter > 0);
    finish(&harness, "failing operations");
}

TEST(vacuum, takes_no_row_when_it_is_killed_at_any_file_operation)
{
    struct vacuum_harness harness;

    vacuum_init(&harness);
    vacuum_kill(&harness, test_every(11));
    finish(&harness, "killed");
}

TEST(vacuum, takes_no_row_when_power_is_lost)
{
    struct vacuum_harness harness;

    vacuum_init(&harness);
    vacuum_lose_power(&harness);
    ASSERT(harness.shorter > 0);
    finish(&harness, "power loss");
}

/* --- beside others ------------------------------------------------------- */

/* One who commits to a session of its own until it is told to stop. */
struct writer {
    pdr_store *store;
    char id[24];
    atomic_bool *stop;
    atomic_size_t *commits;
    uint64_t done; /* by it */
    pdr_rc rc;
};

static void *write_on(void *arg)
{
    struct writer *writer = arg;
    pdr_commit_options options = {.now_ms = 3000, .timeout_ms = 20000};

    while (!atomic_load(writer->stop) && writer->rc == PDR_OK) {
        pdr_entry entry = {.created_ms = 3000, .body = pdr_str_c("{}")};
        pdr_edit edit = {.ref.id = pdr_str_c(writer->id),
                         .revision = writer->done,
                         .entries = &entry,
                         .entry_count = 1};

        writer->rc =
            pdr_store_commit(NULL, writer->store, &edit, 1, &options, NULL);
        writer->done += writer->rc == PDR_OK;
        atomic_fetch_add(writer->commits, 1);
    }
    return NULL;
}

struct between {
    atomic_size_t commits;
    size_t before; /* commits at the step before */
    size_t steps;  /* that commits came between */
};

static pdr_rc look(void *arg, const pdr_vacuum_report *report, pdr_err *err)
{
    struct between *between = arg;
    size_t now = atomic_load(&between->commits);

    (void)report;
    (void)err;
    between->steps += now > between->before;
    between->before = now;
    return PDR_OK;
}

#define WRITERS 3

TEST(vacuum, lets_commits_of_others_come_between)
{
    struct space space;
    struct between between = {0};
    struct writer writers[WRITERS];
    pthread_t threads[WRITERS];
    atomic_bool stop = false;
    pdr_store *other = NULL;
    pdr_vacuum_report report;
    pdr_err err = PDR_ERR_INIT;
    uint64_t done = 0;

    space_init(&space, 200, 6);
    space_remove_half(&space, SPACE_EVERY_SECOND);
    ASSERT_RC(PDR_OK,
              pdr_store_open(&other, room_path(&space.room, "a.db"), NULL));
    for (size_t i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){.store = i > 0 ? space.store : other,
                                     .stop = &stop,
                                     .commits = &between.commits};
        snprintf(writers[i].id, sizeof(writers[i].id), "writer %zu", i);
        ASSERT_INT(0, pthread_create(&threads[i], NULL, write_on, &writers[i]));
    }
    while (atomic_load(&between.commits) < WRITERS)
        sleep_us(100);
    if (pdr_store_vacuum(&report, space.store, &err, look, &between) != PDR_OK)
        fail_msg("%s", err.message);
    atomic_store(&stop, true);
    for (size_t i = 0; i < WRITERS; i++) {
        ASSERT_INT(0, pthread_join(threads[i], NULL));
        ASSERT_RC(PDR_OK, writers[i].rc);
        done += writers[i].done;
    }
    print_message("%llu steps, commits between %zu of them, %llu commits; "
                  "%.1f MB, then %.1f MB\n",
                  (unsigned long long)report.steps, between.steps,
                  (unsigned long long)done, (double)report.before_bytes / 1e6,
                  (double)report.after_bytes / 1e6);
    ASSERT(between.steps > 0);
    ASSERT(report.after_bytes < report.before_bytes);
    pdr_store_close(other);
    ASSERT_RC(PDR_OK,
              pdr_store_verify(NULL, space.store, NULL, &err, NULL, NULL));
    space_dispose(&space);
}
