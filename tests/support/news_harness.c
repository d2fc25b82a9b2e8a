/* news_harness.c - see news_harness.h. */
#include "news_harness.h"

#include "base.h"
#include "test.h"

#include <perdure/sys/store.h>

#define SESSIONS    12u
#define TAGS        3u /* of one session, at most */
#define STEPS       8u /* between two looks, at most */
#define FOLLOWED    99u
#define PATIENCE_MS 10000u

/* What is known of a session; the first half is in the tenant "default". */
struct model {
    char id[8];
    pdr_ref ref;
    bool watched[TAGS];
    pdr_seen seen[TAGS]; /* told, or said when it was added */
    bool committed;      /* here, and the feed did not say so yet */
};

struct run {
    const struct news_plan *plan;
    struct news_report *report;
    pdr_watcher *watcher;
    struct model models[SESSIONS];
    uint64_t state;
    bool has_others; /* somebody else committed since the last look */
};

static unsigned draw(struct run *r, unsigned below)
{
    r->state = r->state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (unsigned)(r->state >> 33) % below;
}

static pdr_seen seen_of(pdr_store *store, const struct model *m)
{
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = m->ref};
    pdr_seen seen = {0, 0};
    pdr_page *page = NULL;
    pdr_rc rc = pdr_store_read(&page, store, &query, NULL);

    ASSERT(rc == PDR_OK || rc == PDR_ENOTFOUND);
    if (page != NULL)
        seen = (pdr_seen){page->head.epoch, page->head.commits};
    pdr_page_free(page);
    return seen;
}

/* --- steps -----------------------------------------------------------------
 */

/* A session that was staged, in the place of what is there. */
static void show(pdr_store *store, const struct model *m)
{
    const pdr_commit_options options = {.now_ms = 5};
    const pdr_show_opts opts = {.revision = PDR_ANY_REVISION};
    pdr_stage stage = {.ref = m->ref, .until_ms = 1000};

    ASSERT_RC(PDR_OK,
              pdr_stage_begin(NULL, store, &stage, NULL, &options, NULL));
    ASSERT_RC(PDR_OK,
              pdr_stage_show(NULL, store, &stage, NULL,
                             seen_of(store, m).epoch != 0 ? &opts : NULL,
                             &options, NULL));
}

static void commit(struct run *r, pdr_store *store, struct model *m)
{
    const pdr_commit_options options = {.now_ms = 5};
    const pdr_work row = {
        .due_ms = PDR_NEVER, .kind = PDR_LIT("row"), .body = PDR_LIT("1")};
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = m->ref};
    pdr_edit edit = {.ref = m->ref};
    pdr_page *page = NULL;
    unsigned kind = draw(r, 8);

    if (pdr_store_read(&page, store, &query, NULL) == PDR_OK)
        edit.revision = page->head.revision;
    pdr_page_free(page);
    if (kind == 0 && edit.revision > 0)
        edit.remove = true;
    else if (kind == 1) {
        show(store, m);
        return;
    } else if (kind <= 3) { /* a turn begins, or ends */
        edit.set_state = true;
        edit.state = kind == 2 ? PDR_SESSION_RUNNING : PDR_SESSION_IDLE;
    } else if (edit.revision > 0 && kind <= 6) {
        edit.revision = PDR_ANY_REVISION;
        edit.stream = &row;
        edit.stream_count = 1;
    }
    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &options, NULL));
}

static void step(struct run *r)
{
    struct model *m = &r->models[draw(r, SESSIONS)];
    unsigned tag = draw(r, TAGS), kind = draw(r, 10);
    bool others = r->plan->elsewhere != NULL && draw(r, 2) == 0;

    if (kind < 7) {
        commit(r, others ? r->plan->elsewhere : r->plan->here, m);
        r->has_others = r->has_others || others;
        m->committed = m->committed || !others;
    } else if (kind == 7 && m->watched[tag]) {
        pdr_watcher_remove(r->watcher, &m->ref, tag);
        m->watched[tag] = false;
    } else {
        m->seen[tag] = draw(r, 2) == 0 ? seen_of(r->plan->here, m)
                                       : (pdr_seen){0, draw(r, 2)};
        ASSERT_RC(PDR_OK, pdr_watcher_add(r->watcher, &m->ref, &m->seen[tag],
                                          tag, NULL));
        m->watched[tag] = true;
    }
}

/* --- looks -----------------------------------------------------------------
 */

static struct model *find(struct run *r, const pdr_ref *ref)
{
    for (size_t i = 0; i < SESSIONS; i++)
        if (pdr_str_equal(ref->id, r->models[i].ref.id))
            return &r->models[i];
    return NULL;
}

static void hear(struct run *r, const pdr_news *news)
{
    struct model *m = news->ref.id.ptr != NULL ? find(r, &news->ref) : NULL;

    if (news->kind != PDR_NEWS_SESSION) {
        r->report->listed++;
        r->report->untrue +=
            news->tag != FOLLOWED ||
            (news->kind == PDR_NEWS_TENANT && (m == NULL || !m->committed)) ||
            (news->kind == PDR_NEWS_LIST && r->plan->elsewhere == NULL);
        if (m != NULL)
            m->committed = false;
        return;
    }
    r->report->told++;
    if (m == NULL || news->tag >= TAGS || !m->watched[news->tag] ||
        news->rc != PDR_OK ||
        memcmp(&m->seen[news->tag], &news->seen, sizeof(news->seen)) == 0)
        r->report->untrue++;
    else
        m->seen[news->tag] = news->seen;
}

static size_t count_lost(struct run *r)
{
    size_t lost = 0;

    for (size_t i = 0; i < SESSIONS; i++) {
        pdr_seen at = seen_of(r->plan->here, &r->models[i]);

        for (size_t tag = 0; tag < TAGS; tag++)
            lost += r->models[i].watched[tag] &&
                    memcmp(&at, &r->models[i].seen[tag], sizeof(at)) != 0;
    }
    return lost;
}

/* Hear all that there is; of others, until nothing is missing. */
static void look(struct run *r)
{
    unsigned patience_ms =
        r->plan->patience_ms > 0 ? r->plan->patience_ms : PATIENCE_MS;
    int64_t end = pdr__monotonic_ms(pdr__clock_system()) + patience_ms;
    pdr_news news[5];
    size_t count = 0;
    pdr_rc rc = PDR_OK;

    do {
        uint32_t wait_ms = r->has_others ? PDR_WATCH_POLL_MS : 0;

        rc = pdr_watcher_wait(news, PDR_COUNT(news), &count, r->watcher,
                              wait_ms, NULL);
        for (size_t i = 0; rc == PDR_OK && i < count; i++)
            hear(r, &news[i]);
    } while (rc == PDR_OK || (r->has_others && count_lost(r) > 0 &&
                              pdr__monotonic_ms(pdr__clock_system()) < end));
    ASSERT_RC(PDR_ETIMEOUT, rc);
    r->report->lost += count_lost(r);
    for (size_t i = 0; i < SESSIONS; i++) {
        r->report->unheard += i < SESSIONS / 2 && r->models[i].committed;
        r->models[i].committed = false;
    }
    r->has_others = false;
}

void news_run(struct news_report *out, const struct news_plan *plan)
{
    struct run r = {.plan = plan, .report = out, .state = plan->seed};
    const pdr_ref followed = {{NULL, 0}, {NULL, 0}};

    memset(out, 0, sizeof(*out));
    ASSERT_RC(PDR_OK, pdr_watcher_open(&r.watcher, plan->here, NULL));
    ASSERT_RC(PDR_OK,
              pdr_watcher_add(r.watcher, &followed, NULL, FOLLOWED, NULL));
    for (unsigned i = 0; i < SESSIONS; i++) {
        struct model *m = &r.models[i];

        (void)snprintf(m->id, sizeof(m->id), "s%u", i);
        m->ref.id = pdr_str_c(m->id);
        if (i >= SESSIONS / 2)
            m->ref.tenant = PDR_LIT("north");
    }
    for (unsigned i = 0; i < plan->sessions; i++) {
        char id[16];
        const pdr_ref ref = {
            .id = pdr_str_n(id, (size_t)snprintf(id, 16, "idle%u", i))};

        ASSERT_RC(PDR_OK, pdr_watcher_add(r.watcher, &ref, NULL, 0, NULL));
    }
    for (unsigned i = 0; i < plan->rounds; i++) {
        for (unsigned steps = 1 + draw(&r, STEPS); steps > 0; steps--)
            step(&r);
        look(&r);
    }
    pdr_watcher_close(r.watcher);
}
