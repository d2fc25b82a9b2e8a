/*
 * retain.c - remove the oldest turns of a session.
 *
 * WHY  A session that lives for years must not grow for years. What goes is
 *      decided by turns.c; here it is read out of a store, page by page, and
 *      cut off in commits that others come between.
 *
 *      backwards, by count: where does the last turn to keep begin?
 *      forwards: turns that go, and their calls; on to the end only while one
 *                of these calls may still be answered there
 *      commits: each cuts some turns, with the completions that go with them
 *
 * INVARIANTS, cited below as I1..I4
 *   I1  Each commit names the revision that was read, so that no result comes
 *       in unseen for a call that it removes. Whoever wrote in between costs a
 *       look at what is new, not another walk.
 *   I2  Each commit cuts at a place of the survey (turns.c): the session is
 *       whole after each of them, and who is killed leaves a whole one.
 *   I3  A completion goes when all its entries are gone, or it has ended and
 *       never had any, and not within 24 hours: who repeats a request gets its
 *       answer, and no second turn.
 *   I4  What was kept by I3 goes later: as soon as there are more completions
 *       than entries, all of them are looked at.
 */
#include <inttypes.h>

#include "retain.h"

/* Writers that may come first, one after the other, before we give up. Each try
 * reads a page, so only somebody who writes without a pause is always first. */
#define TRIES 10

/* Completions that the next commit drops. */
struct drops {
    struct pdr__map seen;     /* ids that were looked up */
    struct pdr__arena memory; /* of the rows' ids */
    pdr_completion *rows;     /* owned */
    size_t count, cap;
    uint64_t cut; /* they go with the entries before this one; 0: with none */
};

struct retention {
    pdr_store *store;
    const pdr_retain_opts *opts;
    struct pdr__survey survey;
    struct drops drops;
    pdr_retain_report report;
    uint64_t revision, epoch;
    uint64_t next_seq;    /* of the session, when it was read last */
    uint64_t completions; /* that it had then, without those that we dropped */
    uint64_t turns;       /* that went before this survey */
    size_t done;          /* cuts of the survey that were made */
    bool known;           /* the first page told what session it is */
    bool stale;           /* it is another one by now: begin again */
    unsigned conflicts;   /* since the last commit that was done */
    pdr_err err;          /* of what failed last; told when it is not mended */
};

/* --- reading ------------------------------------------------------------- */

/* Is the page one of the history that we know? */
static bool is_same(struct retention *r, const pdr_head *head)
{
    if (!r->known) {
        r->known = true;
        r->epoch = head->epoch;
        pdr__survey_init(&r->survey, head->first_seq);
        r->survey.by_age = r->opts->before_ms != 0;
        r->survey.before_ms = r->opts->before_ms;
        /* Only a document has a frame: the rest was appended here. */
        r->survey.read_times = head->has_frame;
        r->survey.from_import = r->opts->untimed_from_import;
        r->survey.import_ms = head->created_ms;
    }
    r->stale = head->epoch != r->epoch || head->first_seq != r->survey.first;
    r->revision = r->report.revision = head->revision;
    r->next_seq = head->next_seq;
    r->completions = head->completions;
    return !r->stale;
}

static pdr_query entries_from(const struct retention *r, uint64_t from)
{
    return (pdr_query){.what = PDR_READ_ENTRIES,
                       .ref = r->opts->ref,
                       .limit = PDR_MAX_PAGE_ROWS,
                       .from = from};
}

/* Count turns of a page whose last entry comes first. */
static pdr_rc count_turns(struct retention *r, uint64_t *turns,
                          const pdr_page *page)
{
    for (size_t i = 0; i < page->count; i++) {
        const pdr_entry *row = &page->entries[i];
        pdr_value *body = NULL;
        pdr_rc rc = PDR_OK;

        if (row->kind == PDR_ROW_MESSAGE)
            rc = pdr__row_body(&body, row, &r->err);
        if (rc != PDR_OK)
            return rc;
        *turns += pdr__turn_begins(row, body);
        pdr_value_free(body);
        if (*turns == r->opts->keep_turns) {
            r->survey.count_limit = row->seq;
            return PDR_OK;
        }
    }
    return PDR_OK;
}

/* From the end backwards: where do the turns begin that stay in any case? */
static pdr_rc find_count_limit(struct retention *r)
{
    pdr_query query = entries_from(r, 0);
    uint64_t turns = 0;
    bool more = true;

    query.backwards = true;
    while (more) {
        pdr_page *page = NULL;
        pdr_rc rc = pdr_store_read(&page, r->store, &query, &r->err);

        if (rc != PDR_OK)
            return rc;
        if (is_same(r, &page->head))
            rc = count_turns(r, &turns, page);
        more = rc == PDR_OK && !r->stale && r->survey.count_limit == 0 &&
               page->next.ptr != NULL;
        if (more)
            query.from = page->entries[page->count - 1].seq - 1;
        pdr_page_free(page);
        if (rc != PDR_OK)
            return rc;
    }
    return PDR_OK;
}

static pdr_rc survey_page(struct retention *r, const pdr_page *page)
{
    struct pdr__survey *survey = &r->survey;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < page->count && rc == PDR_OK; i++) {
        if (pdr__survey_is_done(survey))
            return PDR_OK;
        rc = pdr__survey_add(survey, &page->entries[i], &r->err);
    }
    if (rc == PDR_OK && page->next.ptr == NULL)
        rc = pdr__survey_end(survey, &r->err);
    return rc;
}

/* We came to where the end was when we looked, and others have appended since.
 * Who appends faster than we read is never caught up with. */
static pdr_rc count_lap(struct retention *r)
{
    char shown[PDR_SHOWN];

    if (++r->conflicts < TRIES)
        return PDR_OK;
    return PDR_FAIL(&r->err, REVISION_CHANGED,
                    "session '%s': others append to it faster than it can be "
                    "read; try again later",
                    pdr__shown(shown, r->opts->ref.id));
}

/* Forwards, from where the survey stands, until nothing can change what it
 * found. The revision is that of the last page. */
static pdr_rc go_on(struct retention *r)
{
    uint64_t end = 0; /* as it was when this lap began */
    bool more = true;

    while (more) {
        pdr_query query = entries_from(r, r->known ? r->survey.next : 0);
        pdr_page *page = NULL;
        pdr_rc rc = PDR_OK;

        if (r->known && pdr__survey_is_done(&r->survey))
            query = (pdr_query){.what = PDR_READ_HEAD, .ref = r->opts->ref};
        rc = pdr_store_read(&page, r->store, &query, &r->err);
        if (rc != PDR_OK)
            return rc;
        if (is_same(r, &page->head) && query.what == PDR_READ_ENTRIES)
            rc = survey_page(r, page);
        more = page->next.ptr != NULL && !r->stale &&
               !pdr__survey_is_done(&r->survey);
        pdr_page_free(page);
        if (rc == PDR_OK && more && end != 0 && r->survey.next >= end)
            rc = count_lap(r);
        if (rc != PDR_OK)
            return rc;
        if (r->survey.next >= end)
            end = r->next_seq;
    }
    return PDR_OK;
}

/* --- completions --------------------------------------------------------- */

static bool is_old(const pdr_completion *row, int64_t now_ms)
{
    int64_t before = 0;

    return !__builtin_sub_overflow(now_ms, PDR_COMPLETION_KEEP_MS, &before) &&
           row->at_ms < before;
}

static void drops_clear(struct drops *drops)
{
    pdr__map_dispose(&drops->seen);
    pdr__arena_reset(&drops->memory);
    drops->count = 0;
    drops->cut = 0;
}

static pdr_rc add_drop(struct drops *drops, const pdr_completion *row,
                       pdr_err *err)
{
    size_t cap = drops->cap == 0 ? 64 : drops->cap * 2;
    pdr_completion *more = NULL;
    char *id = NULL;
    pdr_rc rc = PDR_OK;

    if (drops->count == PDR_MAX_COMMIT_ROWS)
        return PDR_OK; /* I4 */
    if (drops->count == drops->cap) {
        more = pdr__realloc(drops->rows, cap * sizeof(*more));
        if (more == NULL)
            return pdr__nomem(err);
        drops->rows = more;
        drops->cap = cap;
    }
    rc = pdr__arena_strndup(&id, &drops->memory, row->correlation_id, err);
    if (rc == PDR_OK)
        drops->rows[drops->count++] = (pdr_completion){
            .correlation_id = pdr_str_n(id, row->correlation_id.len),
            .at_ms = row->at_ms};
    return rc;
}

/* Look up the completion of an entry that goes, if nobody did so before. */
static pdr_rc look_up(struct retention *r, pdr_str id, uint64_t cut)
{
    const pdr_query query = {
        .what = PDR_READ_COMPLETIONS, .ref = r->opts->ref, .key = id};
    pdr_page *page = NULL;
    pdr_rc rc = PDR_OK;

    if (id.ptr == NULL || pdr__map_get(NULL, &r->drops.seen, id))
        return PDR_OK;
    rc = pdr__map_put(NULL, &r->drops.seen, id, NULL, &r->err);
    if (rc != PDR_OK)
        return rc;
    rc = pdr_store_read(&page, r->store, &query, &r->err);
    if (rc == PDR_ENOTFOUND)
        return PDR_OK; /* of a session that is gone the commit tells */
    if (rc != PDR_OK)
        return rc;
    if (page->completions[0].last_seq < cut &&
        is_old(&page->completions[0], r->opts->now_ms)) /* I3 */
        rc = add_drop(&r->drops, &page->completions[0], &r->err);
    pdr_page_free(page);
    return rc;
}

/* The completions that go with the entries before `cut`. Kept for the next try:
 * it takes longer than others need to write. */
static pdr_rc gather_drops(struct retention *r, uint64_t cut)
{
    uint64_t from = r->survey.first;

    if (r->drops.cut == cut)
        return PDR_OK;
    drops_clear(&r->drops);
    while (from < cut && r->completions > 0) {
        pdr_query query = entries_from(r, from);
        pdr_page *page = NULL;
        pdr_rc rc = pdr_store_read(&page, r->store, &query, &r->err);

        if (rc != PDR_OK)
            return rc;
        from = page->count == 0 ? cut : page->entries[page->count - 1].seq + 1;
        for (size_t i = 0; i < page->count && rc == PDR_OK; i++) {
            if (page->entries[i].seq < cut)
                rc = look_up(r, page->entries[i].correlation_id, cut);
        }
        pdr_page_free(page);
        if (rc != PDR_OK)
            return rc;
    }
    r->drops.cut = cut;
    return PDR_OK;
}

/* --- commits ------------------------------------------------------------- */

static pdr_rc commit(struct retention *r, pdr_committed *out,
                     const pdr_edit *edit)
{
    const pdr_commit_options options = {r->opts->now_ms, r->opts->timeout_ms};

    return pdr_store_commit(out, r->store, edit, 1, &options, &r->err);
}

/* The cut that comes next: as far as one commit goes, or to the end of the one
 * turn that is longer. */
static size_t next_cut(const struct retention *r)
{
    const struct pdr__survey *survey = &r->survey;
    size_t next = r->done;

    while (next + 1 < survey->count &&
           survey->cuts[next + 1].seq - survey->first <= PDR_RETAIN_ROWS)
        next++;
    return next;
}

static pdr_rc cut_some(struct retention *r)
{
    size_t next = next_cut(r);
    struct pdr__cut cut = r->survey.cuts[next];
    pdr_committed done = {0};
    pdr_edit edit = {.ref = r->opts->ref,
                     .revision = r->revision, /* I1 */
                     .epoch = r->epoch,
                     .entries_through = cut.seq - 1};
    pdr_rc rc = gather_drops(r, cut.seq);

    if (rc != PDR_OK)
        return rc;
    edit.drop = r->drops.rows;
    edit.drop_count = r->drops.count;
    rc = commit(r, &done, &edit);
    if (rc != PDR_OK)
        return rc;
    r->revision = r->report.revision = done.revision;
    r->report.entries += cut.seq - r->survey.first;
    r->report.turns = r->turns + cut.turns;
    r->report.completions += edit.drop_count;
    if (r->completions >= edit.drop_count)
        r->completions -= edit.drop_count;
    r->done = next + 1;
    r->conflicts = 0;
    pdr__survey_forget(&r->survey, cut.seq);
    return PDR_OK;
}

/* Somebody wrote first: look at what is new. */
static pdr_rc follow(struct retention *r, pdr_rc rc)
{
    if (rc != PDR_ECONFLICT || ++r->conflicts >= TRIES)
        return rc;
    if (strcmp(r->err.reason, "completion_changed") == 0)
        r->drops.cut = 0;
    return go_on(r);
}

static pdr_rc cut_all(struct retention *r)
{
    while (r->done < r->survey.count && !r->stale) {
        pdr_rc rc = cut_some(r);

        if (rc != PDR_OK)
            rc = follow(r, rc);
        if (rc != PDR_OK)
            return rc;
    }
    return PDR_OK;
}

/* --- completions of entries that went before ------------------------------ */

/* Are its entries gone? If it never had any: has it ended? */
static bool is_over(const pdr_completion *row, const pdr_head *head)
{
    if (row->first_seq == 0)
        return row->outcome.ptr != NULL;
    return row->epoch != head->epoch || row->last_seq < head->first_seq;
}

static pdr_rc clear_page(struct retention *r, const pdr_page *page)
{
    pdr_edit edit = {.ref = r->opts->ref,
                     .revision = PDR_ANY_REVISION,
                     .epoch = page->head.epoch};
    pdr_rc rc = PDR_OK;

    drops_clear(&r->drops);
    for (size_t i = 0; i < page->count && rc == PDR_OK; i++) {
        const pdr_completion *row = &page->completions[i];

        if (is_over(row, &page->head) && is_old(row, r->opts->now_ms))
            rc = add_drop(&r->drops, row, &r->err);
    }
    if (rc != PDR_OK || r->drops.count == 0)
        return rc;
    edit.drop = r->drops.rows;
    edit.drop_count = r->drops.count;
    rc = commit(r, NULL, &edit);
    if (rc == PDR_ECONFLICT)
        return PDR_OK; /* somebody else is at it: the next time */
    if (rc == PDR_OK)
        r->report.completions += edit.drop_count;
    return rc;
}

/* I4: completions that were too young when their entries went. */
static pdr_rc clear_left(struct retention *r)
{
    pdr_query query = {.what = PDR_READ_COMPLETIONS,
                       .ref = r->opts->ref,
                       .limit = PDR_MAX_PAGE_ROWS};
    pdr_page *page = NULL, *before = NULL;
    pdr_rc rc = PDR_OK;

    if (r->completions <= r->next_seq - r->survey.first)
        return PDR_OK;
    do {
        rc = pdr_store_read(&page, r->store, &query, &r->err);
        pdr_page_free(before); /* it had the cursor */
        before = page;
        if (rc == PDR_OK)
            rc = clear_page(r, page);
        if (rc == PDR_OK)
            query.after = page->next;
    } while (rc == PDR_OK && query.after.ptr != NULL);
    pdr_page_free(before);
    return rc;
}

/* --- the whole ----------------------------------------------------------- */

/* One survey, and the commits that it asks for. */
static pdr_rc run(struct retention *r)
{
    pdr_rc rc = PDR_OK;

    r->known = r->stale = false;
    r->done = 0;
    drops_clear(&r->drops);
    r->turns = r->report.turns;
    if (r->opts->keep_turns > 0)
        rc = find_count_limit(r);
    if (rc == PDR_OK && !r->stale &&
        (r->opts->before_ms != 0 || r->survey.count_limit != 0))
        rc = go_on(r);
    if (rc == PDR_OK && !r->stale)
        rc = cut_all(r);
    r->report.untimed_seq = 0;
    if (r->known && r->survey.untimed >= r->survey.first)
        r->report.untimed_seq = r->survey.untimed;
    if (r->known)
        pdr__survey_dispose(&r->survey);
    return rc;
}

static pdr_rc run_to_end(struct retention *r)
{
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    do {
        if (r->stale && ++r->conflicts >= TRIES)
            return PDR_FAIL(&r->err, REVISION_CHANGED,
                            "session '%s': others remove its beginning all the "
                            "time; try again later",
                            pdr__shown(shown, r->opts->ref.id));
        rc = run(r);
    } while (rc == PDR_OK && r->stale);
    if (rc == PDR_OK)
        rc = clear_left(r);
    return rc;
}

pdr_rc pdr_retain(pdr_retain_report *out, pdr_store *store,
                  const pdr_retain_opts *opts, pdr_err *err)
{
    struct retention r = {
        .store = store,
        .opts = opts,
        .drops = {.seen = PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES),
                  .memory = PDR_ARENA_INIT(SIZE_MAX)},
        .err = PDR_ERR_INIT,
    };
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(store != NULL && opts != NULL);
    if (out != NULL)
        *out = r.report;
    if (opts->keep_turns == 0 && opts->before_ms == 0)
        return PDR_FAIL(err, BAD_RETENTION, "%s",
                        "nothing says what to keep; set keep_turns or "
                        "before_ms");
    rc = run_to_end(&r);
    drops_clear(&r.drops);
    pdr__arena_dispose(&r.drops.memory);
    pdr__free(r.drops.rows);
    if (rc != PDR_OK && err != NULL)
        *err = r.err;
    if (out != NULL)
        *out = r.report;
    return rc;
}
