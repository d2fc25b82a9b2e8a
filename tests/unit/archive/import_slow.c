/* An import or a copy that takes longer than what it has staged is kept for. */
#include <perdure/archive.h>

#include "fake_clock.h"
#include "flow.h"
#include "test.h"

#define NOW    INT64_C(1800000000000)
#define MINUTE INT64_C(60000)

static struct fake_clock passing;

/* The linker puts it in the place of the real one. */
const struct pdr__clock *__wrap_pdr__clock_system(void);
const struct pdr__clock *__wrap_pdr__clock_system(void)
{
    return &passing.base;
}

/* Somebody who sweeps the store again and again. */
struct sweeper {
    pdr_store *store;
    uint64_t cleared, left;
};

static void sweep(struct sweeper *sweeper)
{
    pdr_sweep_report report;

    ASSERT_RC(PDR_OK, pdr_store_sweep(&report, sweeper->store,
                                      NOW + passing.monotonic_ms, NULL));
    sweeper->cleared += report.sessions;
    sweeper->left += report.left;
}

/* Half a megabyte comes a minute. */
static pdr_rc pass_time(uint64_t given, void *arg)
{
    int64_t ms = (int64_t)(given / 500000) * MINUTE;

    if (ms > passing.monotonic_ms) {
        passing.monotonic_ms = ms;
        sweep(arg);
    }
    return PDR_OK;
}

TEST(import, that_is_slow_keeps_what_it_has_staged)
{
    static const struct flow_piece pieces[] = {
        {"{\"schemaVersion\":\"1.1.0\",\"data\":{\"conversationHistory\":[", 1},
        {"{\"$type\":\"note\",\"text\":\"some words that take their time\"},",
         400000},
        {"{\"$type\":\"note\"}]}}", 1},
        {NULL, 0}};
    struct sweeper sweeper = {NULL, 0, 0};
    const pdr_import_opts opts = {.ref = {.id = PDR_LIT("s")}, .now_ms = NOW};
    pdr_import_report report;
    pdr_err err = PDR_ERR_INIT;
    struct flow flow;

    fake_clock_init(&passing, 0);
    ASSERT_RC(PDR_OK, pdr_store_open(&sweeper.store, "memory:", NULL));
    flow_init(&flow, pieces);
    flow.fn = pass_time;
    flow.arg = &sweeper;
    if (pdr_import(&report, sweeper.store, &opts, &err, flow_read, &flow) !=
        PDR_OK)
        fail_msg("%s", err.message);
    ASSERT_INT(400001, report.entries);
    ASSERT(passing.monotonic_ms > 2 * PDR_STAGE_LEASE_MS);
    ASSERT(sweeper.left > 0); /* there was something to clear */
    ASSERT_INT(0, sweeper.cleared);
    pdr_store_close(sweeper.store);
}

TEST(import, that_ends_with_time_itself_is_kept_until_then)
{
    static const struct flow_piece pieces[] = {
        {"{\"schemaVersion\":\"1.1.0\",\"data\":{\"conversationHistory\":[", 1},
        {"{\"$type\":\"note\"},", 30000},
        {"{\"$type\":\"note\"}]}}", 1},
        {NULL, 0}};
    const pdr_import_opts opts = {.ref = {.id = PDR_LIT("s")},
                                  .now_ms = INT64_MAX - 5};
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    struct flow flow;

    fake_clock_init(&passing, 0);
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    flow_init(&flow, pieces);
    if (pdr_import(NULL, store, &opts, &err, flow_read, &flow) != PDR_OK)
        fail_msg("%s", err.message);
    pdr_store_close(store);
}

static pdr_rc pass_minutes(void *arg, const pdr_copy_report *report,
                           pdr_err *err)
{
    (void)report;
    (void)err;
    passing.monotonic_ms += 10 * MINUTE;
    sweep(arg);
    return PDR_OK;
}

TEST(copy, that_is_slow_keeps_what_it_has_staged)
{
    static const struct flow_piece pieces[] = {
        {"{\"schemaVersion\":\"1.1.0\",\"data\":{\"conversationHistory\":[", 1},
        {"{\"$type\":\"note\",\"text\":\"some words that take their time\"},",
         400000},
        {"{\"$type\":\"note\"}]}}", 1},
        {NULL, 0}};
    struct sweeper sweeper = {NULL, 0, 0};
    const pdr_import_opts opts = {.ref = {.id = PDR_LIT("s")}, .now_ms = NOW};
    const pdr_copy_opts all = {.now_ms = NOW};
    pdr_store *from = NULL;
    pdr_copy_report report;
    struct flow flow;

    fake_clock_init(&passing, 0);
    ASSERT_RC(PDR_OK, pdr_store_open(&from, "memory:", NULL));
    ASSERT_RC(PDR_OK, pdr_store_open(&sweeper.store, "memory:", NULL));
    flow_init(&flow, pieces);
    ASSERT_RC(PDR_OK, pdr_import(NULL, from, &opts, NULL, flow_read, &flow));
    ASSERT_RC(PDR_OK, pdr_copy(&report, sweeper.store, from, &all, NULL,
                               pass_minutes, &sweeper));
    ASSERT_INT(400001, report.entries);
    ASSERT(passing.monotonic_ms > 2 * PDR_STAGE_LEASE_MS);
    ASSERT(sweeper.left > 0);
    ASSERT_INT(0, sweeper.cleared);
    pdr_store_close(from);
    pdr_store_close(sweeper.store);
}
