/*
 * What goes by itself: sessions that expired, events of old runs. On the thread
 * of the test: the engine is not started.
 */
#include "fault_store.h"
#include "toy_engine.h"

#define NOW      TOYS_NOW
#define DELAY_MS 1000
#define PAGE     100 /* sessions that are looked at in one go */

/* --- what may go -----------------------------------------------------------
 */

TEST(session_has_expired, wants_a_session_at_rest_that_was_marked)
{
    static const struct {
        const char *name;
        pdr_head head;
        bool expected;
    } cases[] = {
#define OLD .has_ttl = true, .expiry_ms = NOW, .changed_ms = NOW - DELAY_MS
        {"old", {OLD}, true},
        {"not marked", {.expiry_ms = NOW, .changed_ms = 1}, false},
        {"not yet", {.has_ttl = true, .expiry_ms = NOW + 1}, false},
        {"just changed",
         {.has_ttl = true, .expiry_ms = NOW, .changed_ms = NOW - DELAY_MS + 1},
         false},
        {"with work", {OLD, .inbox = 1}, false},
        {"with a run", {OLD, .journal_first = 1, .journal_next = 2}, false},
        {"after a run", {OLD, .journal_first = 2, .journal_next = 2}, true},
        {"held",
         {OLD, .lease = {.owner = {"o", 1}, .until_ms = NOW + 1}},
         false},
        {"lapsed", {OLD, .lease = {.owner = {"o", 1}, .until_ms = NOW}}, true},
#undef OLD
    };

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        if (pdr__session_has_expired(&cases[i].head, NOW, DELAY_MS) !=
            cases[i].expected)
            fail_msg("%s: not as expected", cases[i].name);
    }
}

TEST(stream_is_old, goes_by_time_and_by_number)
{
    static const struct {
        uint64_t first, next;
        int64_t changed_ms;
        bool expected;
    } cases[] = {
        {1, 1, 0, false}, /* there are none */
        {1, 2, NOW - DELAY_MS, true},
        {1, 2, NOW - DELAY_MS + 1, false},
        {1, PDR_MAX_STREAM_ROWS + 1, NOW, false},
        {1, PDR_MAX_STREAM_ROWS + 2, NOW, true},
        {9, PDR_MAX_STREAM_ROWS + 2, NOW, false},
    };

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        const pdr_head head = {.stream_first = cases[i].first,
                               .stream_next = cases[i].next,
                               .changed_ms = cases[i].changed_ms};

        if (pdr__stream_is_old(&head, NOW, DELAY_MS) != cases[i].expected)
            fail_msg("case %zu: not as expected", i);
    }
}

/* --- what goes -------------------------------------------------------------
 */

/* A session with an event, which expires now if it is marked. */
static void session_put(pdr_store *store, const char *id, bool has_ttl)
{
    const pdr_work event = {.kind = S("piece"), .body = S("1")};
    const pdr_commit_options now = {.now_ms = NOW - DELAY_MS};
    const pdr_edit edit = {.ref = ref_of(id),
                           .kind = S("toy"),
                           .expiry = has_ttl ? PDR_EXPIRY_SET : PDR_EXPIRY_KEEP,
                           .expiry_ms = has_ttl ? NOW : 0,
                           .set_ttl = has_ttl,
                           .stream = &event,
                           .stream_count = 1};
    pdr_err err = PDR_ERR_INIT;

    if (pdr_store_commit(NULL, store, &edit, 1, &now, &err) != PDR_OK)
        fail_msg("%s: %s", id, err.message);
}

static struct toy *begin_house(pdr_store **store, const char *uri)
{
    struct toy *p = NULL;

    *store = toys_begin(uri);
    p = toy_new();
    p->is_played = true;
    p->opts.min_delay_ms = DELAY_MS;
    p->opts.stream_keep_ms = DELAY_MS;
    toy_make(p, *store);
    return p;
}

static void keep_house(struct toy *p, struct pdr__house *house)
{
    pdr__house_keep(p->engine, house, NOW);
}

static void house_dispose(struct pdr__house *house)
{
    pdr_buf_dispose(&house->expired);
    pdr_buf_dispose(&house->all);
}

#define HOUSE                                                              \
    {                                                                      \
        PDR_BUF_INIT(PDR_MAX_TEXT_BYTES), PDR_BUF_INIT(PDR_MAX_TEXT_BYTES) \
    }

TEST(house_keep, removes_sessions_that_expired_and_events_of_others)
{
    struct pdr__house house = HOUSE;
    pdr_store *store = NULL;
    struct toy *p = begin_house(&store, "memory:");

    session_put(store, "toy-1", true);
    session_put(store, "toy-2", false);
    keep_house(p, &house);
    session_is("none", store, "toy-1");
    session_is("idle | | |", store, "toy-2");
    session_streams("", store, "toy-2");
    ASSERT_SIZE(1, toy_counts(p).expired);
    ASSERT_SIZE(1, toy_heard(p, "session_expired"));
    house_dispose(&house);
    toys_end();
}

TEST(house_keep, goes_on_where_the_last_look_ended)
{
    struct pdr__house house = HOUSE;
    pdr_store *store = NULL;
    struct toy *p = begin_house(&store, "memory:");
    char id[20];

    for (int i = 0; i < PAGE + PAGE / 2; i++) {
        snprintf(id, sizeof(id), "toy-%03d", i);
        session_put(store, id, true);
        snprintf(id, sizeof(id), "toy-x%03d", i);
        session_put(store, id, false);
    }
    for (int looks = 1; looks <= 3; looks++) {
        keep_house(p, &house);
        ASSERT_SIZE(looks == 1 ? PAGE : PAGE + PAGE / 2, toy_counts(p).expired);
        ASSERT((house.expired.len > 0) == (looks == 1));
    }
    session_streams("", store, "toy-x149"); /* all were looked at */
    house_dispose(&house);
    toys_end();
}

/* --- what does not go ------------------------------------------------------
 */

/* What happens right before the commit. */
enum between { TOUCHED, DELETED, FAILED, UNKNOWN };

static pdr_rc come_between(pdr_store *store, const pdr_edit *edit, void *arg)
{
    enum between *what = arg;

    if (*what == TOUCHED && edit->remove)
        session_touch(store, "toy-1");
    else if (*what == DELETED && edit->remove)
        session_delete(store, "toy-1");
    else if (*what == FAILED)
        return PDR_EIO;
    else if (*what == UNKNOWN)
        return PDR_EUNKNOWN;
    return PDR_OK;
}

TEST(house_keep, leaves_what_somebody_else_was_faster_with)
{
    static const struct {
        enum between what;
        const char *after; /* of the session that is to go */
        unsigned told;     /* that it failed: the session, the events of both */
        pdr_rc rc;         /* of the engine */
    } cases[] = {{TOUCHED, "idle | | |", 0, PDR_OK},
                 {DELETED, "none", 0, PDR_OK},
                 {FAILED, "idle | | |", 3, PDR_OK},
                 {UNKNOWN, "idle | | |", 0, PDR_EUNKNOWN}};

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        struct pdr__house house = HOUSE;
        pdr_store *store = NULL;
        struct toy *p = begin_house(&store, "memory:");
        enum between what = cases[i].what;

        session_put(store, "toy-1", true);
        session_put(store, "toy-2", false);
        toys_hook(come_between, &what);
        keep_house(p, &house);
        session_is(cases[i].after, store, "toy-1");
        ASSERT_SIZE(0, toy_counts(p).expired);
        ASSERT_SIZE(cases[i].told, toy_heard(p, "cleaning_failed hooked"));
        ASSERT_RC(cases[i].rc, pdr_engine_check(p->engine, NULL));
        house_dispose(&house);
        toys_end();
    }
}

TEST(house_keep, begins_again_after_a_read_that_failed)
{
    const struct fault_plan down = {
        .call = FAULT_READ, .nth = 1, .for_ever = true};
    struct pdr__house house = HOUSE;
    pdr_store *store = NULL;
    struct toy *p = NULL;

    fault_store_register();
    fault_store_set(&(struct fault_plan){.nth = 0});
    p = begin_house(&store, "fault:memory:");
    session_put(store, "toy-1", true);
    fault_store_set(&down);
    keep_house(p, &house);
    fault_store_set(&(struct fault_plan){.nth = 0});
    ASSERT_SIZE(2, toy_heard(p, "cleaning_failed file_failed"));
    session_is("idle | | |", store, "toy-1");
    keep_house(p, &house);
    session_is("none", store, "toy-1");
    house_dispose(&house);
    toys_end();
}
