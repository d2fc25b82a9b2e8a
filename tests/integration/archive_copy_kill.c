/*
 * archive_copy_kill.c - copies that are killed at any moment, beside a writer
 * that goes on in the store that is copied: nobody ever sees half a session,
 * and the next copy goes on where that one ended.
 *
 * 25 kills at scale 1.
 */
#include <unistd.h>

#include "copy_trip.h"
#include "processes.h"
#include "room.h"
#include "store_work.h"

#define NOW INT64_C(1800000000000)

static const pdr_copy_opts opts = {.replace = true, .now_ms = NOW};

/* copy TO FROM: until it is done, or killed. */
TEST_ROLE(copy)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_store *to = NULL, *from = NULL;
    pdr_rc rc = argc == 2 ? pdr_store_open(&to, argv[0], &err) : PDR_EINVALID;

    if (rc == PDR_OK)
        rc = pdr_store_open(&from, argv[1], &err);
    if (rc == PDR_OK)
        rc = pdr_copy(NULL, to, from, &opts, &err, NULL, NULL);
    if (rc != PDR_OK)
        fprintf(stderr, "%s\n", err.message);
    pdr_store_close(from);
    pdr_store_close(to);
    return rc == PDR_OK ? 0 : 1;
}

/* What a run met. */
struct tally {
    unsigned killed, staged, partial, whole;
    uint64_t turns;
};

struct place {
    char to[300], from[300];
    pdr_store *origin;
    struct tally tally;
};

/* One turn of a session of the origin. */
static void go_on(struct place *place)
{
    const pdr_entry entry = {.body = pdr_str_c("{\"a\":1}")};
    const pdr_edit edit = {.ref = {.id = pdr_str_c("busy")},
                           .revision = place->tally.turns++,
                           .entries = &entry,
                           .entry_count = 1};
    const pdr_commit_options options = {.now_ms = NOW};

    ASSERT_RC(PDR_OK,
              pdr_store_commit(NULL, place->origin, &edit, 1, &options, NULL));
}

static enum process_end copy_and_kill(struct place *place, int64_t after_us)
{
    const char *const args[] = {place->to, place->from, NULL};
    pid_t child = process_start("copy", args);
    int64_t until = monotonic_us() + after_us;
    enum process_end end = PROCESS_RUNS;

    while (end == PROCESS_RUNS && monotonic_us() < until) {
        go_on(place);
        usleep(2000);
        end = process_end(child, false);
    }
    if (end == PROCESS_RUNS)
        end = process_kill(child);
    ASSERT(end == PROCESS_KILLED || end == PROCESS_DONE);
    place->tally.killed += end == PROCESS_KILLED;
    return end;
}

static size_t sessions_of(pdr_store *store)
{
    const pdr_query query = {.what = PDR_READ_ALL, .limit = 200};
    pdr_page *page = NULL;
    size_t count = 0;

    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    count = page->count;
    pdr_page_free(page);
    return count;
}

/* What is there verifies, and is what the origin has; what the next copy brings
 * makes it all of it. */
static void judge(struct place *place, bool is_done)
{
    pdr_store *to = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_store_info info;
    char why[200];
    size_t count = 0;

    ASSERT_RC(PDR_OK, pdr_store_open(&to, place->to, NULL));
    if (pdr_store_verify(NULL, to, NULL, &err, NULL, NULL) != PDR_OK)
        fail_msg("%s", err.message);
    count = sessions_of(to);
    ASSERT_RC(PDR_OK, pdr_store_info_get(&info, to, NULL));
    place->tally.staged += info.unseen > 0;
    place->tally.partial += count > 0 && count < COPY_TRIP_SESSIONS;
    place->tally.whole += is_done;
    ASSERT_RC(PDR_OK,
              pdr_copy(NULL, to, place->origin, &opts, NULL, NULL, NULL));
    if (!copy_is_alike(why, to, place->origin))
        fail_msg("%s", why);
    ASSERT_RC(PDR_OK, pdr_store_sweep(NULL, to, PDR_NEVER, NULL));
    ASSERT_RC(PDR_OK, pdr_store_verify(NULL, to, NULL, NULL, NULL, NULL));
    pdr_store_close(to);
}

static void remove_copy(const struct room *room)
{
    static const char *const names[] = {"to.db", "to.db-wal", "to.db-shm",
                                        "to.db-lock"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        (void)unlink(room_path(room, names[i]));
}

/* Was a copy killed at each kind of moment? */
static bool met_all(const struct tally *tally)
{
    return tally->killed > 0 && tally->staged > 0 && tally->partial > 0 &&
           tally->whole > 0;
}

static void fill(struct place *place, const struct room *room)
{
    pdr_store *source = copy_trip_source();

    (void)snprintf(place->to, sizeof(place->to), "sqlite:%s",
                   room_path(room, "to.db"));
    (void)snprintf(place->from, sizeof(place->from), "sqlite:%s",
                   room_path(room, "from.db"));
    ASSERT_RC(PDR_OK, pdr_store_open(&place->origin, place->from, NULL));
    ASSERT_RC(PDR_OK,
              pdr_copy(NULL, place->origin, source, &opts, NULL, NULL, NULL));
    pdr_store_close(source);
}

TEST(copy, killed_at_any_moment_is_whole_or_goes_on)
{
    unsigned rounds = (unsigned)test_times(25, 3);
    struct place place = {.origin = NULL};
    struct tally *tally = &place.tally;
    uint64_t random = 20261;
    struct room room;
    int64_t took = 0;

    room_enter(&room);
    fill(&place, &room);
    took = monotonic_us();
    ASSERT(copy_and_kill(&place, INT64_C(600000000)) == PROCESS_DONE);
    took = monotonic_us() - took;
    judge(&place, true);
    /* Moments are drawn; some more, until there was one of each kind. */
    for (unsigned i = 0; i < rounds || (!met_all(tally) && i < rounds + 250);
         i++) {
        enum process_end end = PROCESS_RUNS;

        remove_copy(&room);
        end = copy_and_kill(&place,
                            took * (int64_t)random_below(&random, 1100) / 1000);
        judge(&place, end == PROCESS_DONE);
    }
    print_message("copies killed %u, with a stage left %u, with some sessions "
                  "%u, done %u, turns beside them %u\n",
                  tally->killed, tally->staged, tally->partial, tally->whole,
                  (unsigned)tally->turns);
    ASSERT(met_all(tally));
    pdr_store_close(place.origin);
    room_leave(&room);
}
