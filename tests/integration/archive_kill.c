/*
 * archive_kill.c - imports that are killed at any moment, beside a writer that
 * goes on: nobody ever sees half a document, and what was staged is cleared.
 *
 * 12 kills at scale 1.
 */
#include <inttypes.h>
#include <unistd.h>

#include <perdure/archive.h>

#include "flow.h"
#include "processes.h"
#include "room.h"
#include "test.h"

#define NOW  INT64_C(1800000000000)
#define HOUR INT64_C(3600000)

/* Some 13 MB: four stages, and more than is looked at first. */
static const struct flow_piece document[] = {
    {"{\"schemaVersion\":\"1.1.0\",\"data\":{\"conversationHistory\":[\n", 1},
    {"  {\"$type\":\"note\",\"messages\":[{\"role\":\"user\",\"contents\":"
     "[{\"$type\":\"text\",\"text\":\"0123456789012345678901234567890123456789"
     "0123456789012345678901234567890123456789012345678901234567890123456789"
     "0123456789012345678901234567890123456789012345678901234567890123456789"
     "0123456789012345678901234567890123456789012345678901234567890123456789"
     "\"}]}]},\n",
     36000},
    {"  {}\n]}}\n", 1},
    {NULL, 0}};

static const pdr_ref session = {{NULL, 0}, {"s", 1}};

/* import STORE: until it is done, or killed. */
TEST_ROLE(import)
{
    const pdr_import_opts opts = {.ref = session, .now_ms = NOW};
    pdr_err err = PDR_ERR_INIT;
    pdr_store *store = NULL;
    struct flow flow;
    pdr_rc rc =
        argc == 1 ? pdr_store_open(&store, argv[0], &err) : PDR_EINVALID;

    flow_init(&flow, document);
    if (rc == PDR_OK)
        rc = pdr_import(NULL, store, &opts, &err, flow_read, &flow);
    if (rc != PDR_OK)
        fprintf(stderr, "%s\n", err.message);
    pdr_store_close(store);
    return rc == PDR_OK ? 0 : 1;
}

/* What a run met. */
struct tally {
    unsigned killed, staged, shown, commits;
};

static bool is_there(pdr_store *store)
{
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = session};
    pdr_page *page = NULL;
    pdr_rc rc = pdr_store_read(&page, store, &query, NULL);

    ASSERT(rc == PDR_OK || rc == PDR_ENOTFOUND);
    pdr_page_free(page);
    return rc == PDR_OK;
}

/* It is whole, and goes again. */
static void take_away(pdr_store *store)
{
    const pdr_export_opts opts = {.ref = session};
    const pdr_commit_options options = {.now_ms = NOW};
    const pdr_edit edit = {.ref = session, .revision = 1, .remove = true};
    struct flow flow;

    flow_init(&flow, document);
    ASSERT_RC(PDR_OK,
              pdr_export(NULL, store, &opts, NULL, flow_compare, &flow));
    ASSERT(flow_is_over(&flow));
    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &options, NULL));
}

/* One turn of another session. */
static void go_on(pdr_store *store, struct tally *tally)
{
    const pdr_entry entry = {.body = pdr_str_c("{\"a\":1}")};
    const pdr_edit edit = {.ref = {.id = pdr_str_c("other")},
                           .revision = tally->commits,
                           .entries = &entry,
                           .entry_count = 1};
    const pdr_commit_options options = {.now_ms = NOW};

    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &options, NULL));
    tally->commits++;
}

static void import_and_kill(pdr_store *store, const char *uri, int64_t after_us,
                            struct tally *tally)
{
    const char *const args[] = {uri, NULL};
    pid_t child = process_start("import", args);
    int64_t until = monotonic_us() + after_us;
    enum process_end end = PROCESS_RUNS;
    pdr_store_info info;

    while (end == PROCESS_RUNS && monotonic_us() < until) {
        go_on(store, tally);
        end = process_end(child, false);
    }
    if (end == PROCESS_RUNS)
        end = process_kill(child);
    ASSERT(end == PROCESS_KILLED || end == PROCESS_DONE);
    tally->killed += end == PROCESS_KILLED;
    ASSERT_RC(PDR_OK, pdr_store_info_get(&info, store, NULL));
    tally->staged += info.unseen > 0;
    ASSERT(end == PROCESS_KILLED || is_there(store));
    if (is_there(store)) {
        tally->shown++;
        take_away(store);
    }
}

/* What nobody shows is kept for a while, and cleared then. */
static void clear(pdr_store *store)
{
    pdr_store_info info;

    ASSERT_RC(PDR_OK, pdr_store_sweep(NULL, store, NOW + HOUR, NULL));
    ASSERT_RC(PDR_OK, pdr_store_info_get(&info, store, NULL));
    ASSERT_INT(0, info.unseen);
}

TEST(import, killed_at_any_moment_is_whole_or_not_there)
{
    unsigned rounds = (unsigned)test_times(12, 3);
    struct tally tally = {0, 0, 0, 0};
    struct room room;
    pdr_store *store = NULL;
    int64_t began = 0, took = 0;
    uint64_t random = 20260;
    char uri[300];

    room_enter(&room);
    (void)snprintf(uri, sizeof(uri), "sqlite:%s", room_path(&room, "a.db"));
    ASSERT_RC(PDR_OK, pdr_store_open(&store, uri, NULL));
    began = monotonic_us();
    import_and_kill(store, uri, INT64_C(600000000), &tally);
    took = monotonic_us() - began;
    ASSERT_INT(1, tally.shown);
    /* More if none of them was killed in the middle: how long an import takes
     * depends on who else is at work. */
    for (unsigned i = 0; i < rounds || (tally.staged == 0 && i < rounds + 100);
         i++) {
        import_and_kill(store, uri,
                        took * (int64_t)random_below(&random, 1100) / 1000,
                        &tally);
        clear(store);
    }
    print_message("kills %u, with a stage left %u, whole %u, commits beside "
                  "them %u\n",
                  tally.killed, tally.staged, tally.shown, tally.commits);
    ASSERT(tally.killed > 0 && tally.staged > 0 && tally.shown > 0);
    ASSERT_RC(PDR_OK, pdr_store_verify(NULL, store, NULL, NULL, NULL, NULL));
    pdr_store_close(store);
    room_leave(&room);
}
