/*
 * copy.c - sessions of one store, as they are, into another.
 *
 * WHY  A store moves to another machine, key or engine, and everybody who
 *      knew a session goes on with it: so a copy has the revision, the times
 *      and the numbers of its origin, and rows that are in progress, too. Only
 *      the lease stays: its fence is a number of the other store.
 *
 *        all sessions ─► is it there? ─► few rows: in line, one commit each,
 *                             │                    and one sync for the line
 *                             │          many: begin, add, add, … show
 *                             └─ the same: nothing to do
 *
 *      So a copy that was cut off is begun again, and goes on.
 *
 * INVARIANTS  C1..C3 in copy.h.
 *
 * NOT HERE  Reading a session (copy_load.c), what a store makes of a commit
 *           with an origin (store/plan_copy.c).
 */
#include "copy.h"

/* Sessions that are handed to the store together: as long is the line. */
#define LINE 64u

/* The rows of a load as a commit wants them. */
struct cargo {
    void *lists[PDR_READ_INBOX + 1]; /* owned; by the kind of read */
    size_t counts[PDR_READ_INBOX + 1];
    pdr_rows rows;
};

/* One that waits for its commit. */
struct pdr__parcel {
    struct pdr__load load;
    struct cargo cargo;
};

/* --- rows ----------------------------------------------------------------- */

static void cargo_dispose(struct cargo *cargo)
{
    for (size_t i = 0; i < PDR_COUNT(cargo->lists); i++)
        pdr__free(cargo->lists[i]);
    memset(cargo, 0, sizeof(*cargo));
}

static const void *page_rows(size_t *size, const struct pdr__held_page *held)
{
    const pdr_page *page = held->page;

    switch ((int)held->what) {
    case PDR_READ_ENTRIES:
        *size = sizeof(*page->entries);
        return page->entries;
    case PDR_READ_SLOTS:
        *size = sizeof(*page->slots);
        return page->slots;
    case PDR_READ_PROPERTIES:
        *size = sizeof(*page->properties);
        return page->properties;
    case PDR_READ_COMPLETIONS:
        *size = sizeof(*page->completions);
        return page->completions;
    default:
        *size = sizeof(*page->work);
        return page->work;
    }
}

/* All rows that wait, and what the stage has to know of the session. */
static pdr_rc cargo_pack(struct cargo *cargo, struct pdr__load *load,
                         pdr_err *err)
{
    const pdr_head *head = pdr__load_head(load);
    void *const *lists = cargo->lists;
    const size_t *counts = cargo->counts;

    memset(cargo, 0, sizeof(*cargo));
    for (size_t i = 0; i < load->count; i++) {
        const struct pdr__held_page *held = &load->pages[i];
        size_t *have = &cargo->counts[held->what];
        size_t size = 0, all = 0, bytes = 0;
        const void *from = page_rows(&size, held);
        char *grown = NULL;

        if (held->what == PDR_READ_FRAME)
            cargo->rows.frame = held->page->frame;
        if (held->page->count == 0)
            continue;
        if (pdr__add_size(&all, *have, held->page->count) &&
            pdr__mul_size(&bytes, all, size))
            grown = pdr__realloc(cargo->lists[held->what], bytes);
        if (grown == NULL) {
            cargo_dispose(cargo);
            return pdr__nomem(err);
        }
        memcpy(grown + *have * size, from, held->page->count * size);
        cargo->lists[held->what] = grown;
        *have = all;
    }
    cargo->rows = (pdr_rows){.frame = cargo->rows.frame,
                             .entries = lists[PDR_READ_ENTRIES],
                             .entry_count = counts[PDR_READ_ENTRIES],
                             .slots = lists[PDR_READ_SLOTS],
                             .slot_count = counts[PDR_READ_SLOTS],
                             .properties = lists[PDR_READ_PROPERTIES],
                             .property_count = counts[PDR_READ_PROPERTIES],
                             .completions = lists[PDR_READ_COMPLETIONS],
                             .completion_count = counts[PDR_READ_COMPLETIONS],
                             .journal = lists[PDR_READ_JOURNAL],
                             .journal_count = counts[PDR_READ_JOURNAL],
                             .stream = lists[PDR_READ_STREAM],
                             .stream_count = counts[PDR_READ_STREAM],
                             .inbox = lists[PDR_READ_INBOX],
                             .inbox_count = counts[PDR_READ_INBOX]};
    load->stage = (pdr_stage){.ref = head->ref,
                              .epoch = load->stage.epoch,
                              .agent = head->agent,
                              .kind = head->kind,
                              .schema_version = head->schema_version,
                              .origin = head};
    return PDR_OK;
}

/* --- commits -------------------------------------------------------------- */

static pdr_commit_options options_of(const struct pdr__copier *c)
{
    return (pdr_commit_options){c->opts->now_ms, c->opts->timeout_ms};
}

static pdr_rc report_progress(struct pdr__copier *c, pdr_err *err)
{
    return c->fn != NULL ? c->fn(c->arg, &c->report, err) : PDR_OK;
}

static void count_rows(struct pdr__copier *c, const struct pdr__load *load)
{
    c->report.bytes += load->bytes;
    c->report.rows += load->rows;
    c->report.commits++;
}

static void count_session(struct pdr__copier *c, const pdr_head *head,
                          bool replaced)
{
    c->report.sessions++;
    c->report.replaced += replaced;
    c->report.entries += head->next_seq - head->first_seq;
}

/* All rows that wait, in a commit that nobody sees, or in the one that shows
 * them. */
static pdr_rc send_rows(struct pdr__copier *c, struct pdr__load *load,
                        bool shows, pdr_err *err)
{
    const pdr_commit_options options = options_of(c);
    const pdr_show_opts show = {.revision = load->old};
    pdr_stage *stage = &load->stage;
    struct cargo cargo;
    pdr_rc rc = cargo_pack(&cargo, load, err);

    if (rc != PDR_OK)
        return rc;
    stage->until_ms = pdr__stage_until(c->opts->now_ms, c->began_ms);
    if (shows)
        rc = pdr_stage_show(NULL, c->to, stage, &cargo.rows, &show, &options,
                            err);
    else if (stage->epoch == 0)
        rc = pdr_stage_begin(NULL, c->to, stage, &cargo.rows, &options, err);
    else
        rc = pdr_stage_add(NULL, c->to, stage, &cargo.rows, &options, err);
    cargo_dispose(&cargo);
    load->refused = rc != PDR_OK;
    c->report.to_failed = rc != PDR_OK;
    if (rc != PDR_OK)
        return rc;
    count_rows(c, load);
    load->staged_the_rest |=
        load->reads_rest && load->count > load->entry_pages;
    pdr__load_clear(load);
    return PDR_OK;
}

pdr_rc pdr__copy_flush(struct pdr__copier *c, struct pdr__load *load,
                       pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_TRY(send_rows(c, load, false, err));
    PDR_TRY(report_progress(c, err));
done:
    return rc;
}

void pdr__copy_give_up(struct pdr__copier *c, struct pdr__load *load)
{
    const pdr_commit_options options = options_of(c);

    if (load->stage.epoch !=
        0) /* the page that it was named after may be gone */
        load->stage.ref = pdr__load_head(load)->ref;
    (void)!pdr_stage_abandon(c->to, &load->stage, &options, NULL);
}

static void clear_line(struct pdr__copier *c)
{
    for (size_t i = 0; i < c->waiting; i++) {
        cargo_dispose(&c->line[i].cargo);
        pdr__load_dispose(&c->line[i].load);
    }
    c->waiting = c->waiting_bytes = 0;
}

/* The commits of all that wait in line, each on its own. The line is empty
 * then, also on failure. */
static pdr_rc send_line(struct pdr__copier *c, pdr_err *err)
{
    pdr_request requests[LINE];
    size_t count = c->waiting;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < count; i++)
        requests[i] = (pdr_request){.verb = PDR_STAGE_SHOW,
                                    .stage = &c->line[i].load.stage,
                                    .rows = &c->line[i].cargo.rows,
                                    .options = options_of(c)};
    if (count > 0)
        pdr_store_commit_all(c->to, requests, count);
    for (size_t i = 0; i < count; i++) {
        struct pdr__load *load = &c->line[i].load;

        if (requests[i].rc == PDR_OK) {
            count_rows(c, load);
            count_session(c, pdr__load_head(load), false);
        } else if (rc == PDR_OK) {
            rc = requests[i].rc;
            if (err != NULL)
                *err = requests[i].err;
        }
    }
    if (count > 0)
        c->report.to_failed = rc != PDR_OK;
    if (rc == PDR_OK && count > 0)
        rc = report_progress(c, err);
    clear_line(c);
    return rc;
}

/* The load goes into the line; taken, also on failure. */
static pdr_rc stand_in_line(struct pdr__copier *c, struct pdr__load *load,
                            pdr_err *err)
{
    struct pdr__parcel *parcel = &c->line[c->waiting++];
    pdr_rc rc = PDR_OK;

    parcel->load = *load;
    memset(load, 0, sizeof(*load));
    PDR_TRY(cargo_pack(&parcel->cargo, &parcel->load, err));
    c->waiting_bytes += parcel->load.bytes;
    if (c->waiting == LINE || c->waiting_bytes >= PDR_STAGE_BYTES)
        PDR_TRY(send_line(c, err));
done:
    return rc;
}

/* --- one session ---------------------------------------------------------- */

static bool is_same_text(pdr_str a, pdr_str b)
{
    return (a.ptr == NULL) == (b.ptr == NULL) && pdr_str_equal(a, b);
}

/* Is the copy that stands there what the origin is now? One of the two must be
 * a copy that nobody touched: what two stores made of one id on their own may
 * have the same numbers. */
static bool is_same(const pdr_head *a, const pdr_head *b)
{
    return (pdr__head_is_copy(a) || pdr__head_is_copy(b)) &&
           is_same_text(a->agent, b->agent) && is_same_text(a->kind, b->kind) &&
           is_same_text(a->schema_version, b->schema_version) &&
           a->state == b->state && a->expiry_ms == b->expiry_ms &&
           a->has_frame == b->has_frame && a->has_ttl == b->has_ttl &&
           a->revision == b->revision && a->commits == b->commits &&
           a->created_ms == b->created_ms && a->changed_ms == b->changed_ms &&
           a->first_seq == b->first_seq && a->next_seq == b->next_seq &&
           a->slots == b->slots && a->properties == b->properties &&
           a->completions == b->completions && a->inbox == b->inbox &&
           a->journal_next == b->journal_next &&
           a->stream_next == b->stream_next;
}

/* Who stands there? `*same`: nothing is to be done. */
static pdr_rc look_there(bool *same, struct pdr__load *load,
                         struct pdr__copier *c, const pdr_head *head,
                         pdr_err *err)
{
    const pdr_ref *ref = &head->ref;
    bool is_copy = false;
    pdr_page *page = NULL;
    pdr_err why = PDR_ERR_INIT;
    char shown[PDR_SHOWN];
    pdr_rc rc = pdr__load_read_head(&page, c->to, ref, &why);

    if (rc == PDR_ENOTFOUND)
        return PDR_OK;
    if (rc != PDR_OK) {
        c->report.to_failed = true;
        if (err != NULL)
            *err = why;
        return rc;
    }
    load->old = page->head.revision;
    *same = is_same(&page->head, head);
    is_copy = pdr__head_is_copy(&page->head);
    pdr_page_free(page);
    if (*same || (c->opts->replace && is_copy))
        return PDR_OK; /* whether it is newer, the commit tells */
    c->report.to_failed = true;
    if (c->opts->skip_others)
        c->skips = &c->report.others;
    if (c->opts->replace)
        return PDR_FAIL(err, AHEAD_OF_ORIGIN,
                        "session '%s' of tenant '%.*s' is there already, and "
                        "no copy that nobody touched; delete it there first if "
                        "this one is to take its place",
                        pdr__shown(shown, ref->id), (int)ref->tenant.len,
                        ref->tenant.ptr);
    return PDR_FAIL(err, SESSION_EXISTS,
                    "session '%s' of tenant '%.*s' is there already and is not "
                    "the same; ask to replace it",
                    pdr__shown(shown, ref->id), (int)ref->tenant.len,
                    ref->tenant.ptr);
}

/* The last commits of a session that does not fit into the line. */
static pdr_rc show_session(struct pdr__copier *c, struct pdr__load *load,
                           pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (load->stage.epoch == 0)
        PDR_TRY(send_rows(c, load, false, err));
    PDR_TRY(send_rows(c, load, true, err));
    count_session(c, pdr__load_head(load), load->old != 0);
    PDR_TRY(report_progress(c, err));
done:
    return rc;
}

static pdr_rc copy_session(struct pdr__copier *c, const pdr_head *head,
                           pdr_err *err)
{
    struct pdr__load load;
    bool same = false;
    pdr_rc rc = PDR_OK;

    memset(&load, 0, sizeof(load));
    PDR_TRY(look_there(&same, &load, c, head, err));
    c->report.same += same;
    if (same)
        return PDR_OK;
    rc = pdr__load_session(c, &load, &head->ref, err);
    if (rc == PDR_ECORRUPT && !load.refused && c->opts->skip_damaged)
        c->skips = &c->report.damaged;
    if (rc == PDR_OK && load.stage.epoch == 0 && load.old == 0)
        return stand_in_line(c, &load, err);
    if (rc == PDR_OK)
        rc = show_session(c, &load, err);
    if (rc == PDR_ECONFLICT && c->opts->skip_others &&
        pdr__err_is(err, PDR_R_AHEAD_OF_ORIGIN))
        c->skips = &c->report.others;
    pdr__copy_give_up(c, &load); /* if it was not shown */
done:
    pdr__load_dispose(&load);
    return rc;
}

/* --- all of them ---------------------------------------------------------- */

/* A session that cannot be copied is left out, if that was asked for. */
static pdr_rc copy_or_leave(struct pdr__copier *c, const pdr_head *head,
                            pdr_err *err)
{
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    c->skips = NULL;
    c->report.to_failed = false;
    rc = copy_session(c, head, &why);
    if (rc == PDR_OK)
        return PDR_OK;
    if (c->skips == NULL) {
        if (err != NULL)
            *err = why;
        return rc;
    }
    ++*c->skips;
    c->report.left_out = &head->ref;
    c->report.why = &why;
    rc = report_progress(c, err);
    c->report.left_out = NULL;
    c->report.why = NULL;
    c->report.to_failed = false;
    return rc;
}

static pdr_rc copy_all(struct pdr__copier *c, pdr_err *err)
{
    pdr_query query = {.what = PDR_READ_ALL, .limit = PDR_MAX_PAGE_ROWS};
    pdr_str tenant = c->opts->tenant;
    pdr_page *page = NULL, *next = NULL;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    do {
        PDR_TRY(pdr_store_read(&next, c->from, &query, err));
        pdr_page_free(page); /* its cursor was in use until now */
        page = next;
        for (size_t i = 0; i < page->count; i++) {
            const pdr_head *head = &page->sessions[i];

            if (tenant.ptr != NULL && !pdr_str_equal(tenant, head->ref.tenant))
                continue;
            rc = copy_or_leave(c, head, &why);
            if (rc == PDR_ENOTFOUND && pdr__err_is(&why, PDR_R_NO_SESSION))
                continue; /* it was deleted meanwhile */
            if (rc != PDR_OK && err != NULL)
                *err = why;
            PDR_TRY(rc);
        }
        query.after = page->next;
    } while (query.after.ptr != NULL);
    rc = PDR_OK;
done:
    pdr_page_free(page);
    return rc;
}

static pdr_rc copy_one(struct pdr__copier *c, pdr_err *err)
{
    const pdr_ref ref = {c->opts->tenant, c->opts->id};
    pdr_page *page = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__load_read_head(&page, c->from, &ref, err));
    PDR_TRY(copy_or_leave(c, &page->head, err));
done:
    pdr_page_free(page);
    return rc;
}

pdr_rc pdr_copy(pdr_copy_report *out, pdr_store *to, pdr_store *from,
                const pdr_copy_opts *opts, pdr_err *err, pdr_copy_fn fn,
                void *arg)
{
    struct pdr__copier c = {.to = to,
                            .from = from,
                            .opts = opts,
                            .began_ms = pdr__monotonic_ms(pdr__clock_system()),
                            .fn = fn,
                            .arg = arg};
    pdr_ref any = {.id = PDR_LIT("-")};
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(to != NULL && from != NULL && opts != NULL);
    if (out != NULL)
        *out = c.report;
    any.tenant = opts->tenant;
    rc = pdr__ref_check(&any, &any, err);
    if (rc != PDR_OK)
        return rc;
    c.line = pdr__calloc(LINE, sizeof(*c.line));
    if (c.line == NULL)
        return pdr__nomem(err);
    PDR_TRY(opts->id.ptr != NULL ? copy_one(&c, err) : copy_all(&c, err));
    PDR_TRY(send_line(&c, err));
done:
    clear_line(&c);
    pdr__free(c.line);
    if (out != NULL)
        *out = c.report;
    return rc;
}
