/*
 * random.c - the same random commits and reads on two stores.
 *
 * The reference is "memory:", the other one the store under test. Both get the
 * same calls, drawn from a seed, and must answer the same: code, reason, what a
 * commit tells, every row and digest of a page, the text of its cursor. Digests
 * say nothing of where a row is kept, so they are the same in all stores.
 *
 * What is drawn looks at the reference now and then, so that most commits are
 * right and the wrong ones are wrong in every way. A failure names its seed and
 * step.
 */
#include <inttypes.h>

#include "suite.h"

#define STEPS      1500u
#define MAX_EDITS  3u
#define MAX_ROWS   3u
#define MAX_GROUP  5u
#define MAX_STAGES 4u

/* A session that was begun and not shown, as far as its writer knows. */
struct stage {
    pdr_ref ref; /* texts are static */
    uint64_t epoch;
};

struct pair {
    pdr_store *reference, *other;
    uint64_t seed, state; /* of the random numbers */
    size_t step;
    int64_t now_ms;
    struct stage stages[MAX_STAGES];
    size_t next_stage;           /* the place of the next one */
    size_t done, refused, pages; /* what was met */
    size_t shown, abandoned, cut, dropped, swept;
};

/* --- random numbers ------------------------------------------------------- */

static uint64_t draw(struct pair *p)
{
    uint64_t z = p->state += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static size_t below(struct pair *p, size_t limit)
{
    return (size_t)(draw(p) % limit);
}

static bool chance(struct pair *p, size_t percent)
{
    return below(p, 100) < percent;
}

static pdr_str pick(struct pair *p, const pdr_str *texts, size_t count)
{
    return texts[below(p, count)];
}
#define PICK(p, texts) pick((p), (texts), COUNT(texts))

/* --- words ---------------------------------------------------------------- */

static const pdr_str ids[] = {
    S_INIT("a"),  S_INIT("b"), S_INIT("c"),        S_INIT("d"),
    S_INIT("aa"), S_INIT("B"), S_INIT("\xC3\xA9"), S_INIT("@dafx-desk@k")};
static const pdr_str tenants[] = {{NULL, 0}, {NULL, 0}, S_INIT("north")};
static const pdr_str agents[] = {{NULL, 0}, S_INIT("guide"), S_INIT("desk")};
static const pdr_str versions[] = {{NULL, 0}, S_INIT("1.0.0"), S_INIT("1.1.0")};
static const pdr_str keys[] = {S_INIT("k"), S_INIT("l"), S_INIT("kk"),
                               S_INIT("\\u0000"), S_INIT("K")};
static const pdr_str correlations[] = {{NULL, 0},     S_INIT("c-1"),
                                       S_INIT("c-2"), S_INIT("c-3"),
                                       S_INIT("C-1"), S_INIT("c-4")};
static const pdr_str matches[] = {
    {NULL, 0}, S_INIT(""), S_INIT("x"), S_INIT("y")};
static const pdr_str kinds[] = {S_INIT("run"), S_INIT("tool")};
static const pdr_str owners[] = {S_INIT("w1"), S_INIT("w2")};
static const pdr_str bodies[] = {
    S_INIT("{}"),          S_INIT("[1,2,[]]"),
    S_INIT("\"\\u0000\""), S_INIT("\"\\ud800\""),
    S_INIT(" null "),      S_INIT("\"\xF0\x9F\x98\x80\""),
    S_INIT("1e400"),       S_INIT("{\"a\":{\"a\":\"a longer text here\"}}")};

static pdr_str body(struct pair *p)
{
    if (chance(p, 1))
        return S("{\"broken\":[}"); /* malformed */
    return PICK(p, bodies);
}

static pdr_ref any_ref(struct pair *p)
{
    pdr_str tenant = PICK(p, tenants);

    return (pdr_ref){tenant, PICK(p, ids)};
}

/* --- commits -------------------------------------------------------------- */

/* One commit and the rows that its edits point to. */
struct draft {
    struct store_step step; /* of a stage; with a verb, there are no edits */
    pdr_edit edits[MAX_EDITS];
    size_t count;
    pdr_entry entries[MAX_EDITS][MAX_ROWS];
    pdr_slot slots[MAX_EDITS][MAX_ROWS];
    pdr_property properties[MAX_EDITS][MAX_ROWS];
    pdr_completion completions[MAX_EDITS][MAX_ROWS];
    pdr_work works[MAX_EDITS][MAX_ROWS];
    uint64_t settle[MAX_EDITS][MAX_ROWS];
    pdr_completion drop[MAX_EDITS];
};

/* The head that the reference has; false: none. */
static bool know(pdr_head *out, struct pair *p, pdr_ref ref)
{
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = ref};
    pdr_page *page = NULL;
    pdr_rc rc = pdr_store_read(&page, p->reference, &query, NULL);

    memset(out, 0, sizeof(*out));
    if (rc == PDR_OK)
        *out = page->head; /* its texts are gone below */
    pdr_page_free(page);
    return rc == PDR_OK;
}

static void draw_rows(struct pair *p, struct draft *d, size_t e)
{
    pdr_edit *edit = &d->edits[e];
    size_t key = below(p, COUNT(keys)); /* of the first; mostly each once */

    edit->entry_count = chance(p, 50) ? below(p, MAX_ROWS + 1) : 0;
    edit->slot_count = chance(p, 40) ? below(p, MAX_ROWS + 1) : 0;
    edit->property_count = chance(p, 25) ? below(p, MAX_ROWS + 1) : 0;
    for (size_t i = 0; i < MAX_ROWS; i++) {
        d->entries[e][i] =
            (pdr_entry){.kind = (pdr_row_kind)below(p, 5),
                        .shape = (pdr_row_shape)below(p, 4),
                        .created_ms = (int64_t)below(p, 1000),
                        .correlation_id = PICK(p, correlations),
                        .separator = chance(p, 20) ? S(" ,\n") : (pdr_str){0},
                        .body = body(p)};
        if (!chance(p, 3))
            key = (key + 1) % COUNT(keys);
        d->slots[e][i] = (pdr_slot){
            .key = keys[key], .value = chance(p, 70) ? body(p) : (pdr_str){0}};
        d->properties[e][i] =
            (pdr_property){.key = keys[key],
                           .value = chance(p, 70) ? body(p) : (pdr_str){0},
                           .match = PICK(p, matches)};
    }
    edit->entries = d->entries[e];
    edit->slots = d->slots[e];
    edit->properties = d->properties[e];
    if (chance(p, 15))
        edit->frame = body(p);
    if (chance(p, 30))
        edit->schema_version = PICK(p, versions);
    edit->set_ttl = chance(p, 5);
    if (chance(p, 30)) {
        edit->set_state = true;
        edit->state = (pdr_session_state)below(p, 4);
    }
    if (chance(p, 20)) {
        edit->expiry = (pdr_expiry_verb)below(p, 3);
        edit->expiry_ms = p->now_ms + (int64_t)below(p, 1000) - 500;
    }
}

static void draw_work(struct pair *p, struct draft *d, size_t e,
                      const pdr_head *head)
{
    pdr_edit *edit = &d->edits[e];
    size_t count = below(p, MAX_ROWS + 1);

    for (size_t i = 0; i < MAX_ROWS; i++) {
        d->works[e][i] = (pdr_work){
            .due_ms = chance(p, 80) ? p->now_ms + (int64_t)below(p, 900) - 450
                                    : PDR_NEVER,
            .kind = PICK(p, kinds),
            .correlation_id = PICK(p, correlations),
            .body = body(p)};
        d->completions[e][i] = (pdr_completion){
            .correlation_id = correlations[1 + below(p, 5)],
            .fingerprint = chance(p, 50) ? S("f") : (pdr_str){0},
            .outcome = chance(p, 60) ? body(p) : (pdr_str){0}};
        d->settle[e][i] = 1 + below(p, (size_t)head->inbox_next + 1);
    }
    edit->journal = edit->stream = edit->inbox = d->works[e];
    edit->completions = d->completions[e];
    edit->settle = d->settle[e];
    if (chance(p, 25))
        edit->journal_count = count;
    if (chance(p, 25))
        edit->stream_count = count;
    if (chance(p, 40))
        edit->inbox_count = count;
    if (chance(p, 30))
        edit->inbox_most = (uint32_t)below(p, 12);
    if (chance(p, 15))
        edit->completion_count = 1 + below(p, 2);
    if (chance(p, 25))
        edit->settle_count = 1 + below(p, 2);
    if (chance(p, 20))
        edit->journal_through = below(p, (size_t)head->journal_next + 2);
    if (chance(p, 20))
        edit->stream_through = below(p, (size_t)head->stream_next + 2);
}

static void draw_lease(struct pair *p, pdr_edit *edit, const pdr_head *head)
{
    size_t what = below(p, 10);

    edit->lease.owner = PICK(p, owners);
    edit->lease.until_ms = p->now_ms + (int64_t)below(p, 300);
    if (what < 2)
        edit->lease.verb = PDR_LEASE_TAKE;
    else if (what == 2)
        edit->lease.verb = PDR_LEASE_RENEW;
    else if (what == 3)
        edit->lease.verb = PDR_LEASE_RELEASE;
    if (what >= 2 && what < 6)
        edit->lease.fence = head->lease.fence - (chance(p, 10) ? 1 : 0);
}

/* A step of a stage, mostly of one that was begun before. */
static void draw_step(struct pair *p, struct draft *d)
{
    const struct stage *stage = &p->stages[below(p, MAX_STAGES)];
    struct store_step *step = &d->step;
    pdr_edit *edit = &d->edits[0];
    pdr_head head;

    *edit = (pdr_edit){.ref = any_ref(p), .agent = PICK(p, agents)};
    draw_rows(p, d, 0);
    *step = (struct store_step){
        .verb = (pdr_stage_verb)(chance(p, 15) ? PDR_STAGE_ABANDON
                                               : 1 + below(p, 3)),
        .stage = {.ref = edit->ref,
                  .until_ms = p->now_ms + (int64_t)below(p, 2000),
                  .agent = edit->agent,
                  .schema_version = edit->schema_version},
        .rows = rows_of_edit(edit),
        .show = {.set_state = edit->set_state,
                 .state = edit->state,
                 .expiry = edit->expiry,
                 .expiry_ms = edit->expiry_ms}};
    if (step->verb == PDR_STAGE_BEGIN && !chance(p, 3))
        return;
    if (stage->epoch != 0 && !chance(p, 3))
        step->stage.ref = stage->ref;
    step->stage.epoch = stage->epoch + (chance(p, 3) ? 1 : 0);
    (void)know(&head, p, step->stage.ref);
    step->show.revision = chance(p, 5) ? 1 : head.revision;
    step->show.fence = chance(p, 10) ? head.lease.fence : 0;
}

/* Fewer entries, and fewer completions. */
static void draw_cut(struct pair *p, struct draft *d, size_t e,
                     const pdr_head *head)
{
    pdr_edit *edit = &d->edits[e];
    pdr_str id = correlations[1 + below(p, 5)];
    const pdr_query query = {
        .what = PDR_READ_COMPLETIONS, .ref = edit->ref, .key = id};
    pdr_page *page = NULL;

    if (chance(p, 15))
        edit->entries_through = below(p, (size_t)head->next_seq + 1);
    if (!chance(p, 15))
        return;
    edit->drop = &d->drop[e];
    edit->drop_count = 1;
    d->drop[e] = (pdr_completion){.correlation_id = id};
    if (pdr_store_read(&page, p->reference, &query, NULL) == PDR_OK)
        d->drop[e].at_ms = page->completions[0].at_ms;
    pdr_page_free(page);
    if (chance(p, 10))
        d->drop[e].at_ms++;
}

static void draw_edit(struct pair *p, struct draft *d, size_t e)
{
    pdr_edit *edit = &d->edits[e];
    pdr_head head;

    *edit = (pdr_edit){.ref = any_ref(p), .agent = PICK(p, agents)};
    bool there = know(&head, p, edit->ref);
    edit->revision = there ? head.revision : 0;
    if (chance(p, 7))
        edit->revision = below(p, 4); /* late, early or wrong */
    if (there && chance(p, 20))
        edit->epoch = head.epoch - (chance(p, 10) ? 1 : 0);
    if (there && chance(p, 4)) {
        edit->remove = true;
        return;
    }
    if (chance(p, 25)) {
        edit->revision = PDR_ANY_REVISION;
        edit->or_create = chance(p, 70);
        edit->epoch = 0;
    } else {
        draw_rows(p, d, e);
    }
    draw_work(p, d, e, &head);
    if (there)
        draw_cut(p, d, e, &head);
    if (chance(p, 40))
        draw_lease(p, edit, &head);
}

static void draw_commit(struct pair *p, struct draft *d)
{
    d->step.verb = PDR_STAGE_NONE;
    d->count = chance(p, 80) ? 1 : 1 + below(p, MAX_EDITS);
    if (chance(p, 15)) {
        d->count = 0;
        draw_step(p, d);
    }
    for (size_t e = 0; e < d->count; e++)
        draw_edit(p, d, e);
    if (chance(p, 90)) /* time goes on, or jumps */
        p->now_ms += (int64_t)below(p, 50);
    else
        p->now_ms += (int64_t)below(p, 2000) - 1000;
}

/* What the writer of a commit knows from now on. */
static void learn(struct pair *p, const pdr_request *request)
{
    for (size_t i = 0; request->rc == PDR_OK && i < request->count; i++) {
        const pdr_edit *edit = &request->edits[i];

        p->cut += edit->entries_through > 0;
        p->dropped += edit->drop_count;
    }
    if (request->rc != PDR_OK)
        return;
    p->shown += request->verb == PDR_STAGE_SHOW;
    p->abandoned += request->verb == PDR_STAGE_ABANDON;
    if (request->verb == PDR_STAGE_BEGIN)
        p->stages[p->next_stage++ % MAX_STAGES] =
            (struct stage){request->stage->ref, request->committed->epoch};
}

/* Did both commits end in the same way? */
static void compare(struct pair *p, const pdr_request *a, const pdr_request *b)
{
    bool same =
        a->rc == b->rc && strcmp(a->err.reason, b->err.reason) == 0 &&
        strcmp(a->err.path, b->err.path) == 0 &&
        (a->rc != PDR_OK || memcmp(a->committed, b->committed,
                                   MAX_EDITS * sizeof(*a->committed)) == 0);

    p->done += a->rc == PDR_OK;
    p->refused += a->rc != PDR_OK;
    if (!same)
        fail_msg("seed %" PRIu64 " step %zu: reference %s '%s', other %s '%s'",
                 p->seed, p->step, pdr_rc_name(a->rc), a->err.message,
                 pdr_rc_name(b->rc), b->err.message);
}

static void commit_random(struct pair *p)
{
    static struct draft drafts[MAX_GROUP];
    static pdr_committed told[2][MAX_GROUP][MAX_EDITS];
    pdr_request requests[2][MAX_GROUP];
    size_t count = chance(p, 70) ? 1 : 1 + below(p, MAX_GROUP);

    memset(told, 0, sizeof(told));
    for (size_t i = 0; i < count; i++) {
        draw_commit(p, &drafts[i]);
        for (size_t side = 0; side < 2; side++) {
            requests[side][i] = step_request(&drafts[i].step, p->now_ms);
            requests[side][i].edits = drafts[i].edits;
            requests[side][i].count = drafts[i].count;
            requests[side][i].committed = told[side][i];
        }
    }
    pdr_store_commit_all(p->reference, requests[0], count);
    pdr_store_commit_all(p->other, requests[1], count);
    for (size_t i = 0; i < count; i++) {
        compare(p, &requests[0][i], &requests[1][i]);
        learn(p, &requests[0][i]);
    }
}

static void sweep_step(struct pair *p)
{
    pdr_sweep_report reports[2];
    pdr_store_info infos[2];

    ASSERT_RC(PDR_OK,
              pdr_store_sweep(&reports[0], p->reference, p->now_ms, NULL));
    ASSERT_RC(PDR_OK, pdr_store_sweep(&reports[1], p->other, p->now_ms, NULL));
    ASSERT_RC(PDR_OK, pdr_store_info_get(&infos[0], p->reference, NULL));
    ASSERT_RC(PDR_OK, pdr_store_info_get(&infos[1], p->other, NULL));
    if (memcmp(&reports[0], &reports[1], sizeof(reports[0])) != 0 ||
        infos[0].unseen != infos[1].unseen)
        fail_msg("seed %" PRIu64 " step %zu: %d and %d rows were cleared",
                 p->seed, p->step, (int)reports[0].rows, (int)reports[1].rows);
    p->swept += reports[0].sessions;
}

/* --- reads ---------------------------------------------------------------- */

static void draw_filter(struct pair *p, pdr_filter *filter)
{
    if (chance(p, 30))
        filter->agent = PICK(p, agents);
    if (chance(p, 30)) {
        filter->by_state = true;
        filter->state = (pdr_session_state)below(p, 4);
    }
    if (chance(p, 30)) {
        filter->changed_from_ms = p->now_ms - (int64_t)below(p, 3000);
        filter->changed_to_ms = p->now_ms - (int64_t)below(p, 500);
    }
    if (chance(p, 30)) {
        filter->property = PICK(p, keys);
        filter->match = PICK(p, matches);
    }
}

static void draw_query(struct pair *p, pdr_query *query)
{
    *query = (pdr_query){.what = (pdr_read_what)below(p, PDR_READ_ALL + 1),
                         .limit = 1 + below(p, 6),
                         .now_ms = p->now_ms + (int64_t)below(p, 300)};
    if (query->what < PDR_READ_SESSIONS)
        query->ref = any_ref(p);
    else if (query->what == PDR_READ_SESSIONS)
        query->ref.tenant = PICK(p, tenants);
    if (query->what == PDR_READ_SESSIONS)
        draw_filter(p, &query->filter);
    if (chance(p, 30))
        query->max_bytes = below(p, 60);
    bool numbered =
        query->what == PDR_READ_ENTRIES ||
        (query->what >= PDR_READ_JOURNAL && query->what <= PDR_READ_INBOX);
    if (numbered && chance(p, 50))
        query->backwards = true;
    if (numbered && chance(p, 30))
        query->from = below(p, 20);
    if ((query->what == PDR_READ_ENTRIES ||
         query->what == PDR_READ_COMPLETIONS) &&
        chance(p, 40))
        query->key = PICK(p, correlations);
    if ((query->what == PDR_READ_SLOTS || query->what == PDR_READ_PROPERTIES) &&
        chance(p, 40))
        query->key = PICK(p, keys);
}

/* One page of both; the cursor of the reference, or NULL at the end. */
static char *read_both(struct pair *p, const pdr_query *query)
{
    pdr_page *pages[2] = {NULL, NULL};
    pdr_err errs[2] = {PDR_ERR_INIT, PDR_ERR_INIT};
    pdr_rc a = pdr_store_read(&pages[0], p->reference, query, &errs[0]);
    pdr_rc b = pdr_store_read(&pages[1], p->other, query, &errs[1]);
    char *cursor = NULL;

    if (a != b || strcmp(errs[0].reason, errs[1].reason) != 0)
        fail_msg("seed %" PRIu64 " step %zu: read %d: reference %s '%s', "
                 "other %s '%s'",
                 p->seed, p->step, (int)query->what, pdr_rc_name(a),
                 errs[0].message, pdr_rc_name(b), errs[1].message);
    if (a != PDR_OK)
        return NULL;
    p->pages++;
    if (suite_hash_page(SUITE_HASH_INIT, pages[0]) !=
            suite_hash_page(SUITE_HASH_INIT, pages[1]) ||
        !pdr_str_equal(pages[0]->next, pages[1]->next))
        fail_msg("seed %" PRIu64 " step %zu: read %d gives other rows", p->seed,
                 p->step, (int)query->what);
    if (pages[0]->next.ptr != NULL)
        cursor = strndup(pages[0]->next.ptr, pages[0]->next.len);
    pdr_page_free(pages[0]);
    pdr_page_free(pages[1]);
    return cursor;
}

/* Some pages of a list, with commits between them. */
static void read_step(struct pair *p)
{
    pdr_query query;
    char *cursor = NULL;

    draw_query(p, &query);
    for (size_t page = 0; page < 4; page++) {
        char *next = read_both(p, &query);
        free(cursor);
        cursor = next;
        if (cursor == NULL)
            return;
        query.after = pdr_str_c(cursor);
        if (chance(p, 15))
            commit_random(p);
    }
    free(cursor);
}

/* --- running -------------------------------------------------------------- */

static struct pair run_pair(uint64_t seed, size_t steps)
{
    struct pair p = {
        .other = suite_open(), .seed = seed, .state = seed, .now_ms = NOW};

    ASSERT_RC(PDR_OK, pdr_store_open(&p.reference, "memory:", NULL));
    for (p.step = 0; p.step < steps; p.step++) {
        if (chance(&p, 60))
            commit_random(&p);
        else
            read_step(&p);
        if (chance(&p, 3))
            sweep_step(&p);
        if (p.step % 250 != 249)
            continue;
        if (suite_hash(p.reference) != suite_hash(p.other))
            fail_msg("seed %" PRIu64 " step %zu: the stores differ", seed,
                     p.step);
        if ((suite_backend.capabilities & PDR_CAN_PERSIST) != 0)
            p.other = suite_reopen(p.other);
    }
    print_message("seed %" PRIu64 ": %zu done, %zu refused, %zu pages, %zu "
                  "shown, %zu abandoned, %zu cut, %zu dropped, %zu swept\n",
                  seed, p.done, p.refused, p.pages, p.shown, p.abandoned, p.cut,
                  p.dropped, p.swept);
    ASSERT(p.done > steps / 4 && p.refused > steps / 20 &&
           p.pages > steps / 10); /* else it has tried nothing */
    pdr_store_close(p.reference);
    suite_close(p.other);
    return p;
}

TEST(random_calls, end_as_they_do_in_the_reference)
{
    struct pair all = {.seed = 0};

    if (suite_backend.keyed)
        test_skip("its digests have a key, those of the reference have none");
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct pair p = run_pair(seed, test_times(STEPS, STEPS / 5));

        all.shown += p.shown;
        all.abandoned += p.abandoned;
        all.cut += p.cut;
        all.dropped += p.dropped;
        all.swept += p.swept;
    }
    ASSERT(all.shown > 0 && all.abandoned > 0 && all.cut > 0 &&
           all.dropped > 0 && all.swept > 0);
}
