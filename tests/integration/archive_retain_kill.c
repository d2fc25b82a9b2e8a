/*
 * archive_retain_kill.c - retention that is killed at any moment: what it
 * leaves is whole, no result lost its call, and the next one goes on.
 *
 * 10 kills at scale 1.
 */
#include <inttypes.h>

#include <perdure/archive.h>

#include "past.h"
#include "processes.h"
#include "room.h"

#define NOW   INT64_C(1800000000000)
#define TURNS 4000
#define KEEP  10

static const pdr_ref session = {{NULL, 0}, {"s", 1}};

static const pdr_retain_opts opts = {
    .ref = {{NULL, 0}, {"s", 1}}, .keep_turns = KEEP, .now_ms = NOW};

/* retain STORE: until it is done, or killed. */
TEST_ROLE(retain)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_store *store = NULL;
    pdr_rc rc =
        argc == 1 ? pdr_store_open(&store, argv[0], &err) : PDR_EINVALID;

    if (rc == PDR_OK)
        rc = pdr_retain(NULL, store, &opts, &err);
    if (rc != PDR_OK)
        fprintf(stderr, "%s\n", err.message);
    pdr_store_close(store);
    return rc == PDR_OK ? 0 : 1;
}

/* What a run met. */
struct tally {
    unsigned killed, before, between, after;
};

static pdr_head head_of(pdr_store *store)
{
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = session};
    pdr_page *page = NULL;

    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    pdr_head head = page->head;
    pdr_page_free(page);
    return head;
}

/* Is it whole? Gives its first entry. */
static uint64_t look(pdr_store *store, const struct past *past)
{
    pdr_head head = head_of(store);
    pdr_err err = PDR_ERR_INIT;

    if (pdr_store_verify(NULL, store, &session, &err, NULL, NULL) != PDR_OK)
        fail_msg("not whole: %s", err.message);
    ASSERT_INT(past->count + 1, head.next_seq);
    ASSERT_INT(1, head.first_seq % 3); /* whole turns */
    if (past_long_is_torn(past, head.first_seq - 1))
        fail_msg("torn before entry %" PRIu64, head.first_seq);
    return head.first_seq;
}

/* When to kill: some time after so many entries went. */
struct moment {
    uint64_t gone;
    int64_t after_us;
};

static void retain_and_kill(pdr_store *store, const char *uri,
                            struct moment moment, const struct past *past,
                            struct tally *tally)
{
    const char *const args[] = {uri, NULL};
    const pdr_commit_options options = {.now_ms = NOW};
    pdr_edit edit = {.ref = session, .remove = true};
    enum process_end end = PROCESS_RUNS;
    uint64_t first = 0, last = 0;
    int64_t reached = 0;
    pid_t child = 0;

    (void)past_commit(store, past, NOW, 0);
    child = process_start("retain", args);
    while (end == PROCESS_RUNS &&
           (reached == 0 || monotonic_us() < reached + moment.after_us)) {
        if (reached == 0 && head_of(store).first_seq > moment.gone)
            reached = monotonic_us();
        sleep_us(200);
        end = process_end(child, false);
    }
    if (end == PROCESS_RUNS)
        end = process_kill(child);
    ASSERT(end == PROCESS_KILLED || end == PROCESS_DONE);
    tally->killed += end == PROCESS_KILLED;
    first = look(store, past);
    ASSERT_RC(PDR_OK, pdr_retain(NULL, store, &opts, NULL)); /* goes on */
    last = look(store, past);
    ASSERT(last > 3 * (TURNS - KEEP - 6) && first <= last);
    tally->before += first == 1;
    tally->after += first == last;
    tally->between += first > 1 && first < last;
    edit.revision = head_of(store).revision;
    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &options, NULL));
}

TEST(retain, killed_at_any_moment_leaves_a_whole_session)
{
    unsigned kills = (unsigned)test_times(10, 3);
    struct tally tally = {0};
    struct room room;
    struct past past;
    pdr_store *store = NULL;
    uint64_t random = 20261;
    char uri[300];

    room_enter(&room);
    (void)snprintf(uri, sizeof(uri), "sqlite:%s", room_path(&room, "a.db"));
    ASSERT_RC(PDR_OK, pdr_store_open(&store, uri, NULL));
    past_long(&past, TURNS);
    for (unsigned i = 0;
         (tally.killed < kills || tally.between == 0) && i < 10 * kills; i++) {
        struct moment moment = {
            .gone = i % 5 == 0 ? 0 : random_below(&random, 2 * TURNS),
            .after_us = random_below(&random, 3000)};
        retain_and_kill(store, uri, moment, &past, &tally);
    }
    print_message("kills %u: before the first commit %u, between two %u, "
                  "after the last %u\n",
                  tally.killed, tally.before, tally.between, tally.after);
    ASSERT(tally.killed >= kills);
    ASSERT(tally.between > 0);
    past_dispose(&past);
    pdr_store_close(store);
    room_leave(&room);
}
