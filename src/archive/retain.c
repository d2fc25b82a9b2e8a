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

/* From the end backwards: where do the turns begin that stay in any case? */
static pdr_rc find_count_limit(struct retention *r)
{
    pdr_query query = entries_from(r, 0);
    pdr_page *page = NULL;
    uint64_t turns = 0;
    pdr_rc rc = PDR_OK;

    query.backwards = true;
    for (;;) {
        PDR_TRY(pdr_store_read(&page, r->store, &query, &r->err));
        if (!is_same(r, &page->head))
            goto done;
        for (size_t i = 0; i < page->count; i++) {
            const pdr_entry *row = &page->entries[i];
            pdr_value *body = NULL;

            if (row->kind == PDR_ROW_MESSAGE)
                PDR_TRY(pdr__row_body(&body, row, &r->err));
            turns += pdr__turn_begins(row, body);
            pdr_value_free(body);
            if (turns == r->opts->keep_turns) {
                r->survey.count_limit = row->seq;
                goto done;
            }
        }
        if (page->next.ptr == NULL)
            goto done;
        query.from = page->entries[page->count - 1].seq - 1;
        pdr_page_free(page);
        page = NULL;
    }
done:
    pdr_page_free(page);
    return rc;
}

/* Read a page from where the survey is, and look at its entries. When
 * nothing can change what was found, the head is enough. */
static pdr_rc survey_page(struct retention *r, bool *more)
{
    struct pdr__survey *survey = &r->survey;
    bool is_done = r->known && pdr__survey_is_done(survey);
    pdr_query query = entries_from(r, r->known ? survey->next : 0);
    pdr_page *page = NULL;
    pdr_rc rc = PDR_OK;

    if (is_done)
        query = (pdr_query){.what = PDR_READ_HEAD, .ref = r->opts->ref};
    *more = false;
    PDR_TRY(pdr_store_read(&page, r->store, &query, &r->err));
    if (!is_same(r, &page->head) || is_done)
        goto done;
    for (size_t i = 0; i < page->count && !is_done; i++) {
        PDR_TRY(pdr__survey_add(survey, &page->entries[i], &r->err));
        is_done = pdr__survey_is_done(survey);
    }
    if (!is_done && page->next.ptr == NULL)
        PDR_TRY(pdr__survey_end(survey, &r->err));
    *more = page->next.ptr != NULL && !pdr__survey_is_done(survey);
done:
    pdr_page_free(page);
    return rc;
}

/* Forwards, from where the survey is, until nothing can change what it
 * found. The revision is that of the last page. */
static pdr_rc survey_forwards(struct retention *r)
{
    uint64_t end = 0; /* as it was when this lap began */
    bool more = true;
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    while (more) {
        PDR_TRY(survey_page(r, &more));
        if (r->survey.next < end)
            continue;
        /* We came to where the end was when we looked, and others have appended
         * since. Who appends faster than we read is never caught up with. */
        if (more && end != 0 && ++r->conflicts >= TRIES)
            return PDR_FAIL(&r->err, REVISION_CHANGED,
                            "session '%s': others append to it faster than it "
                            "can be read; try again later",
                            pdr__shown(shown, r->opts->ref.id));
        end = r->next_seq;
    }
done:
    return rc;
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
    char *id = NULL;
    pdr_rc rc = PDR_OK;

    if (drops->count == PDR_MAX_COMMIT_ROWS)
        return PDR_OK; /* I4 */
    PDR_TRY(pdr__grow((void **)&drops->rows, &drops->cap, drops->count + 1,
                      sizeof(*drops->rows), err));
    PDR_TRY(pdr__arena_strndup(&id, &drops->memory, row->correlation_id, err));
    drops->rows[drops->count++] = (pdr_completion){
        .correlation_id = pdr_str_n(id, row->correlation_id.len),
        .at_ms = row->at_ms};
done:
    return rc;
}

/* Look up the completion of an entry that goes, if nobody did so before. */
static pdr_rc look_up_completion(struct retention *r, pdr_str id, uint64_t cut)
{
    const pdr_query query = {
        .what = PDR_READ_COMPLETIONS, .ref = r->opts->ref, .key = id};
    pdr_page *page = NULL;
    pdr_rc rc = PDR_OK;

    if (id.ptr == NULL || pdr__map_get(NULL, &r->drops.seen, id))
        return PDR_OK;
    PDR_TRY(pdr__map_put(NULL, &r->drops.seen, id, NULL, &r->err));
    rc = pdr_store_read(&page, r->store, &query, &r->err);
    if (rc == PDR_ENOTFOUND)
        return PDR_OK; /* of a session that is gone the commit tells */
    if (rc == PDR_OK && page->completions[0].last_seq < cut &&
        is_old(&page->completions[0], r->opts->now_ms)) /* I3 */
        rc = add_drop(&r->drops, &page->completions[0], &r->err);
done:
    pdr_page_free(page);
    return rc;
}

/* The completions that go with the entries before `cut`. Kept for the next try:
 * it takes longer than others need to write. */
static pdr_rc gather_drops(struct retention *r, uint64_t cut)
{
    uint64_t from = r->survey.first;
    pdr_page *page = NULL;
    pdr_rc rc = PDR_OK;

    if (r->drops.cut == cut)
        return PDR_OK;
    drops_clear(&r->drops);
    while (from < cut && r->completions > 0) {
        const pdr_query query = entries_from(r, from);

        PDR_TRY(pdr_store_read(&page, r->store, &query, &r->err));
        from = page->count == 0 ? cut : page->entries[page->count - 1].seq + 1;
        for (size_t i = 0; i < page->count; i++) {
            if (page->entries[i].seq < cut)
                PDR_TRY(look_up_completion(r, page->entries[i].correlation_id,
                                           cut));
        }
        pdr_page_free(page);
        page = NULL;
    }
    r->drops.cut = cut;
done:
    pdr_page_free(page);
    return rc;
}

/* --- commits ------------------------------------------------------------- */

static pdr_rc commit_edit(struct retention *r, pdr_committed *out,
                          const pdr_edit *edit)
{
    const pdr_commit_options options = {r->opts->now_ms, r->opts->timeout_ms};

    return pdr_store_commit(out, r->store, edit, 1, &options, &r->err);
}

static pdr_rc cut_some(struct retention *r)
{
    const struct pdr__survey *survey = &r->survey;
    pdr_committed done = {0};
    pdr_edit edit = {.ref = r->opts->ref,
                     .revision = r->revision, /* I1 */
                     .epoch = r->epoch};
    size_t next = r->done;
    struct pdr__cut cut;
    pdr_rc rc = PDR_OK;

    /* As far as one commit goes, or to the end of the one turn that is
     * longer. */
    while (next + 1 < survey->count &&
           survey->cuts[next + 1].seq - survey->first <= PDR_RETAIN_ROWS)
        next++;
    cut = survey->cuts[next];
    PDR_TRY(gather_drops(r, cut.seq));
    edit.entries_through = cut.seq - 1;
    edit.drop = r->drops.rows;
    edit.drop_count = r->drops.count;
    PDR_TRY(commit_edit(r, &done, &edit));
    r->revision = r->report.revision = done.revision;
    r->report.entries += cut.seq - survey->first;
    r->report.turns = r->turns + cut.turns;
    r->report.completions += edit.drop_count;
    if (r->completions >= edit.drop_count)
        r->completions -= edit.drop_count;
    r->done = next + 1;
    r->conflicts = 0;
    r->survey.first = cut.seq;
done:
    return rc;
}

/* Where somebody wrote first, look at what is new. */
static pdr_rc cut_all(struct retention *r)
{
    pdr_rc rc = PDR_OK;

    while (rc == PDR_OK && r->done < r->survey.count && !r->stale) {
        rc = cut_some(r);
        if (rc != PDR_ECONFLICT || ++r->conflicts >= TRIES)
            continue;
        if (pdr__err_is(&r->err, PDR_R_COMPLETION_CHANGED))
            r->drops.cut = 0;
        rc = survey_forwards(r);
    }
    return rc;
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
    for (size_t i = 0; i < page->count; i++) {
        const pdr_completion *row = &page->completions[i];

        if (is_over(row, &page->head) && is_old(row, r->opts->now_ms))
            PDR_TRY(add_drop(&r->drops, row, &r->err));
    }
    if (r->drops.count == 0)
        goto done;
    edit.drop = r->drops.rows;
    edit.drop_count = r->drops.count;
    rc = commit_edit(r, NULL, &edit);
    if (rc == PDR_ECONFLICT)
        return PDR_OK; /* somebody else is at it: the next time */
    if (rc == PDR_OK)
        r->report.completions += edit.drop_count;
done:
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
        PDR_TRY(pdr_store_read(&page, r->store, &query, &r->err));
        pdr_page_free(before); /* it had the cursor */
        before = page;
        PDR_TRY(clear_page(r, page));
        query.after = page->next;
    } while (query.after.ptr != NULL);
done:
    pdr_page_free(before);
    return rc;
}

/* --- the whole ----------------------------------------------------------- */

/* One survey, and the commits that it asks for. */
static pdr_rc retain_once(struct retention *r)
{
    pdr_rc rc = PDR_OK;

    r->known = r->stale = false;
    r->done = 0;
    drops_clear(&r->drops);
    r->turns = r->report.turns;
    if (r->opts->keep_turns > 0)
        PDR_TRY(find_count_limit(r));
    if (!r->stale && (r->opts->before_ms != 0 || r->survey.count_limit != 0))
        PDR_TRY(survey_forwards(r));
    if (!r->stale)
        PDR_TRY(cut_all(r));
done:
    r->report.untimed_seq = 0;
    if (r->known && r->survey.untimed >= r->survey.first)
        r->report.untimed_seq = r->survey.untimed;
    if (r->known)
        pdr__survey_dispose(&r->survey);
    return rc;
}

static pdr_rc retain_all(struct retention *r)
{
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    do {
        if (r->stale && ++r->conflicts >= TRIES)
            return PDR_FAIL(&r->err, REVISION_CHANGED,
                            "session '%s': others remove its beginning all the "
                            "time; try again later",
                            pdr__shown(shown, r->opts->ref.id));
        PDR_TRY(retain_once(r));
    } while (r->stale);
    PDR_TRY(clear_left(r));
done:
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
    rc = retain_all(&r);
    drops_clear(&r.drops);
    pdr__arena_dispose(&r.drops.memory);
    pdr__free(r.drops.rows);
    if (rc != PDR_OK && err != NULL)
        *err = r.err;
    if (out != NULL)
        *out = r.report;
    return rc;
}
