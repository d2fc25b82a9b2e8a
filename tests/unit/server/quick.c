/* Reads that take a moment, and the thread that hears of changes. */
#include "test.h"

#include <perdure/store.h>

#include "http.h"

#define SLOW_MS 5000 /* more than any read may take that is called quick */

struct bench {
    struct pdr_server server;
    struct pdr__exchange *x; /* owned */
    int64_t now_ms;
};

static void bench_begin(struct bench *b)
{
    memset(b, 0, sizeof(*b));
    b->server.quick = pdr__quick_new();
    ASSERT(b->server.quick != NULL);
    b->x = calloc(1, sizeof(*b->x));
    ASSERT(b->x != NULL);
    b->now_ms = pdr__monotonic_ms(pdr__clock_system());
    b->x->server = &b->server;
    b->x->begun_ms = b->now_ms;
    b->x->tenant = PDR_LIT("one");
    b->x->target = PDR_LIT("/api/v1/sessions/a/state");
    b->x->reply.status = 200;
}

static void bench_end(struct bench *b)
{
    free(b->x);
    pdr__quick_free(b->server.quick);
}

/* However slow this test is: a read that begins later has taken no time. */
static void note(struct bench *b, bool is_quick)
{
    pdr__quick_note(b->x, is_quick ? b->now_ms + 1000000 : b->now_ms - SLOW_MS);
}

TEST(quick, knows_what_took_a_moment_the_last_time)
{
    struct bench b;

    bench_begin(&b);
    ASSERT(!pdr__quick_knows(b.x));
    note(&b, false);
    ASSERT(!pdr__quick_knows(b.x));
    note(&b, true);
    ASSERT(pdr__quick_knows(b.x));
    note(&b, false);
    ASSERT(!pdr__quick_knows(b.x));
    bench_end(&b);
}

TEST(quick, tells_targets_tenants_and_methods_apart)
{
    struct bench b;

    bench_begin(&b);
    note(&b, true);
    b.x->target = PDR_LIT("/api/v1/sessions/b/state");
    ASSERT(!pdr__quick_knows(b.x));
    b.x->target = PDR_LIT("/api/v1/sessions/a/state");
    b.x->tenant = PDR_LIT("two");
    ASSERT(!pdr__quick_knows(b.x));
    b.x->tenant = PDR_LIT("one");
    b.x->verb = PDR_VERB_PUT;
    ASSERT(!pdr__quick_knows(b.x));
    b.x->verb = PDR_VERB_GET;
    ASSERT(pdr__quick_knows(b.x));
    bench_end(&b);
}

TEST(quick, learns_nothing_from_a_reply_without_the_document)
{
    static const unsigned statuses[] = {304, 404, 412, 503, 0};
    struct bench b;

    for (size_t i = 0; i < PDR_COUNT(statuses); i++) {
        bench_begin(&b);
        b.x->reply.status = statuses[i];
        note(&b, true);
        ASSERT(!pdr__quick_knows(b.x));
        bench_end(&b);
    }
}

TEST(quick, lets_all_go_to_the_pool_after_a_slow_one_on_its_thread)
{
    struct bench b;

    bench_begin(&b);
    note(&b, true);
    b.x->target = PDR_LIT("/api/v1/sessions/b/state");
    note(&b, false); /* in the pool: that concerns nobody else */
    b.x->target = PDR_LIT("/api/v1/sessions/a/state");
    ASSERT(pdr__quick_knows(b.x));
    b.x->target = PDR_LIT("/api/v1/sessions/b/state");
    b.x->is_here = true;
    note(&b, false);
    b.x->target = PDR_LIT("/api/v1/sessions/a/state");
    ASSERT(!pdr__quick_knows(b.x));
    b.x->begun_ms += 1000000;
    ASSERT(pdr__quick_knows(b.x));
    bench_end(&b);
}

TEST_OOM(notices_new, cleans_up_after_any_failed_allocation)
{
    struct pdr_server server;
    pdr_service_opts opts = {.count = 0};
    pdr_store *store = NULL;
    struct pdr__notices *notices = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    memset(&server, 0, sizeof(server));
    test_pause_failures(true);
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", &err));
    opts.store = store;
    ASSERT_RC(PDR_OK, pdr_service_new(&server.service, &opts, &err));
    test_pause_failures(false);
    rc = pdr__notices_new(&notices, &server, &err);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((notices != NULL) == (rc == PDR_OK));
    pdr__notices_free(notices);
    pdr_service_free(server.service);
    pdr_store_close(store);
}
