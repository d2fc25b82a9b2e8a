/*
 * Sessions of durable agents that go when their time is over. The time is the
 * test's own.
 */
#include "durable_stage.h"

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define DAY    (24 * 60 * MINUTE)
#define NOW    STAGE_NOW
#define SAY    "{\"message\":\"Hi\"}"

static const char *const steps[] = {"say Yes", NULL};

/* Is it gone? The engine looks every second of its time; it gets the chance to
 * look a hundred times, of which it needs one. */
static bool is_gone(struct durable_process *p)
{
    pdr_engine_counts counts;

    for (int i = 0; i < 100 && durable_is_there(p->store); i++) {
        const struct timespec pause = {0, 2000000};

        nanosleep(&pause, NULL);
    }
    pdr_engine_counts_get(&counts, p->engine);
    return !durable_is_there(p->store);
}

/* It is still there when the engine has looked. A second session that has
 * expired tells that. */
static void stays(struct durable_process *p)
{
    const pdr_ref other = {.id = S("@dafx-clerk@other")};
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = other};
    const pdr_edit edit = {.ref = other,
                           .revision = 0,
                           .expiry = PDR_EXPIRY_SET,
                           .expiry_ms = 1,
                           .set_ttl = true};
    const pdr_commit_options old = {.now_ms = 1};
    pdr_page *page = NULL;

    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, p->store, &edit, 1, &old, NULL));
    durable_pass(p, SECOND);
    for (;;) {
        const struct timespec pause = {0, 1000000};

        if (pdr_store_read(&page, p->store, &query, NULL) != PDR_OK)
            break;
        pdr_page_free(page);
        nanosleep(&pause, NULL);
    }
    ASSERT(durable_is_there(p->store));
}

TEST(expiry, is_14_days_after_a_run)
{
    COVERS("D-63");
    struct durable_process p = {.now_ms = NOW};
    pdr_store *store = durable_store();

    durable_begin(&p, store, steps);
    durable_says("Yes", &p, SAY);
    ASSERT_INT(NOW + 14 * DAY, durable_expiry(store));
    durable_document_has("\"2023-11-28T22:13:20Z\"", &p,
                         "/data/expirationTimeUtc");
    durable_pass(&p, 3 * DAY);
    durable_says("Yes", &p, SAY);
    ASSERT_INT(NOW + 17 * DAY, durable_expiry(store));
    durable_end(&p);
    pdr_store_close(store);
}

TEST(expiry, is_moved_by_each_run)
{
    COVERS("D-64");
    struct durable_process p = {
        .now_ms = NOW, .ttl_ms = 10 * SECOND, .min_delay_ms = SECOND};
    pdr_store *store = durable_store();

    durable_begin(&p, store, steps);
    durable_says("Yes", &p, SAY);
    durable_pass(&p, 3 * SECOND);
    durable_says("Yes", &p, SAY);
    durable_pass(&p, 8 * SECOND); /* 11 after the first, 8 after the last */
    stays(&p);
    durable_pass(&p, 2 * SECOND);
    ASSERT(is_gone(&p));
    durable_end(&p);
    pdr_store_close(store);
}

TEST(expiry, waits_for_the_delay_after_the_last_run)
{
    COVERS("D-65");
    struct durable_process p = {.now_ms = NOW, .ttl_ms = 10 * SECOND};
    pdr_store *store = durable_store();

    durable_begin(&p, store, steps); /* five minutes */
    durable_says("Yes", &p, SAY);
    durable_pass(&p, 4 * MINUTE);
    stays(&p);
    durable_pass(&p, MINUTE);
    ASSERT(is_gone(&p));
    durable_end(&p);
    pdr_store_close(store);
}

TEST(expiry, has_a_delay_of_five_minutes_at_most)
{
    COVERS("D-66");
    static const struct {
        uint32_t delay_ms;
        pdr_rc rc;
    } rows[] = {{5 * 60000, PDR_OK},
                {5 * 60000 + 1, PDR_EINVALID},
                {6 * 60000, PDR_EINVALID},
                {PDR_NO_DELAY, PDR_OK}};
    pdr_store *store = durable_store();

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const pdr_engine_opts opts = {.min_delay_ms = rows[i].delay_ms};
        pdr_engine *engine = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(rows[i].rc, pdr_engine_new(&engine, store, &opts, &err));
        if (rows[i].rc != PDR_OK)
            ASSERT_STR("bad_engine", err.reason);
        pdr_engine_free(engine);
    }
    pdr_store_close(store);
}

TEST(expiry, is_taken_away_by_an_agent_that_has_none)
{
    COVERS("D-67");
    struct durable_process p = {.now_ms = NOW};
    struct durable_process never = {.now_ms = NOW, .agent_ttl_ms = PDR_NEVER};
    pdr_store *store = durable_store();

    durable_begin(&p, store, steps);
    durable_says("Yes", &p, SAY);
    durable_end(&p);
    durable_begin(&never, store, steps);
    durable_says("Yes", &never, SAY);
    ASSERT(durable_expiry(store) == PDR_NEVER);
    durable_document_has("", &never, "/data/expirationTimeUtc");
    durable_end(&never);
    pdr_store_close(store);
}

TEST(expiry, needs_no_agent)
{
    COVERS("D-68");
    struct durable_process p = {.now_ms = NOW, .ttl_ms = SECOND};
    struct durable_process other = {.now_ms = NOW + DAY, .name = "Poet"};
    pdr_store *store = durable_store();

    durable_begin(&p, store, steps);
    durable_says("Yes", &p, SAY);
    durable_end(&p);
    durable_begin(&other, store, steps);
    ASSERT(is_gone(&other));
    durable_end(&other);
    pdr_store_close(store);
}

TEST(expiry, is_checked_on_demand)
{
    COVERS("D-69");
    struct durable_process p = {.now_ms = NOW, .ttl_ms = MINUTE};
    pdr_store *store = durable_store();
    pdr_ending *ending = NULL;

    durable_begin(&p, store, steps);
    ASSERT_RC(PDR_OK, durable_call(&ending, NULL, &p, "CheckAndDeleteIfExpired",
                                   NULL, NULL));
    pdr_ending_free(ending);
    ASSERT(!durable_is_there(store));
    durable_says("Yes", &p, SAY);
    for (int i = 0; i < 2; i++) {
        ASSERT_RC(PDR_OK, durable_call(&ending, NULL, &p,
                                       "CheckAndDeleteIfExpired", NULL, NULL));
        pdr_ending_free(ending);
        ASSERT(durable_is_there(store) == (i == 0));
        durable_pass(&p, MINUTE);
    }
    durable_end(&p);
    pdr_store_close(store);
}

TEST(expiry, waits_for_a_run)
{
    COVERS("D-70");
    const pdr_operation operation = {
        .session = durable_session,
        .name = S("run"),
        .input = S("{\"message\":\"Hi\",\"correlationId\":\"c\"}")};
    struct durable_process p = {.now_ms = NOW,
                                .ttl_ms = 10 * SECOND,
                                .min_delay_ms = SECOND,
                                .lease_ms = 60 * MINUTE};
    pdr_store *store = durable_store();
    pdr_ending *ending = NULL;
    struct gate gate;

    gate_init(&gate);
    durable_begin(&p, store, steps);
    p.model.hook = gate_pass;
    p.model.hook_arg = &gate;
    ASSERT_RC(PDR_OK, pdr_engine_send(NULL, p.engine, &operation, NULL));
    gate_await(&gate, 1);
    durable_pass(&p, 20 * SECOND);
    stays(&p);
    gate_open(&gate);
    ASSERT_RC(PDR_OK, pdr_engine_wait(&ending, p.engine, &durable_session,
                                      S("c"), 60000000, NULL));
    pdr_ending_free(ending);
    ASSERT_INT(NOW + 31 * SECOND, durable_expiry(store));
    durable_end(&p);
    pdr_store_close(store);
}

/* What a document says of its expiry is data, until a run here marks it. */
TEST(expiry, of_an_import_alone_removes_nothing)
{
    const char *const text =
        "{\"schemaVersion\":\"1.1.0\",\"data\":{\"conversationHistory\":[],"
        "\"expirationTimeUtc\":\"2001-01-01T00:00:00Z\"}}";
    const pdr_import_opts opts = {.ref = durable_session, .now_ms = NOW};
    pdr_str source = S(text);
    struct durable_process p = {.now_ms = NOW + DAY,
                                .min_delay_ms = PDR_NO_DELAY};
    pdr_store *store = durable_store();

    ASSERT_RC(PDR_OK,
              pdr_import(NULL, store, &opts, NULL, pdr_read_str, &source));
    durable_begin(&p, store, steps);
    stays(&p);
    durable_end(&p);
    pdr_store_close(store);
}
