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
 *                             │          many: BEGIN, ADD, ADD, … SHOW
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
    pdr_entry *entries;
    pdr_slot *slots;
    pdr_property *properties;
    pdr_completion *completions;
    pdr_work *work[3];
    pdr_edit edit;
};

/* One that waits for its commit. */
struct pdr__parcel {
    struct pdr__load load;
    struct cargo cargo;
};

/* --- rows into an edit ---------------------------------------------------- */

static void cargo_dispose(struct cargo *cargo)
{
    pdr__free(cargo->entries);
    pdr__free(cargo->slots);
    pdr__free(cargo->properties);
    pdr__free(cargo->completions);
    for (size_t i = 0; i < PDR_COUNT(cargo->work); i++)
        pdr__free(cargo->work[i]);
    memset(cargo, 0, sizeof(*cargo));
}

/* Append `count` rows of `size` bytes to what grew to `*have`. */
static pdr_rc append(void **list, size_t *have, const void *rows, size_t count,
                     size_t size, pdr_err *err)
{
    size_t all = 0, bytes = 0;
    char *grown = NULL;

    if (count == 0)
        return PDR_OK;
    if (pdr__add_size(&all, *have, count) && pdr__mul_size(&bytes, all, size))
        grown = pdr__realloc(*list, bytes);
    if (grown == NULL)
        return pdr__nomem(err);
    memcpy(grown + *have * size, rows, count * size);
    *list = grown;
    *have = all;
    return PDR_OK;
}

#define APPEND(list, have, rows, page)                                      \
    do {                                                                    \
        void *grown = (list);                                               \
        rc = append(&grown, (have), (rows), (page)->count, sizeof(*(rows)), \
                    err);                                                   \
        (list) = grown;                                                     \
    } while (0)

static pdr_rc put_work(struct cargo *cargo, pdr_read_what what,
                       const pdr_page *page, pdr_err *err)
{
    size_t part = (size_t)(what - PDR_READ_JOURNAL);
    size_t *counts[] = {&cargo->edit.journal_count, &cargo->edit.stream_count,
                        &cargo->edit.inbox_count};
    pdr_rc rc = PDR_OK;

    APPEND(cargo->work[part], counts[part], page->work, page);
    return rc;
}

static pdr_rc put_page(struct cargo *cargo, const struct pdr__held_page *held,
                       pdr_err *err)
{
    const pdr_page *page = held->page;
    pdr_edit *edit = &cargo->edit;
    pdr_rc rc = PDR_OK;

    if (held->what == PDR_READ_ENTRIES)
        APPEND(cargo->entries, &edit->entry_count, page->entries, page);
    else if (held->what == PDR_READ_SLOTS)
        APPEND(cargo->slots, &edit->slot_count, page->slots, page);
    else if (held->what == PDR_READ_PROPERTIES)
        APPEND(cargo->properties, &edit->property_count, page->properties,
               page);
    else if (held->what == PDR_READ_COMPLETIONS)
        APPEND(cargo->completions, &edit->completion_count, page->completions,
               page);
    else if (held->what == PDR_READ_FRAME)
        edit->frame = page->frame;
    else
        rc = put_work(cargo, held->what, page, err);
    return rc;
}

static pdr_rc pack(struct cargo *cargo, const struct pdr__load *load,
                   pdr_err *err)
{
    const pdr_head *head = pdr__load_head(load);
    pdr_edit *edit = &cargo->edit;
    pdr_rc rc = PDR_OK;

    memset(cargo, 0, sizeof(*cargo));
    for (size_t i = 0; i < load->count && rc == PDR_OK; i++)
        rc = put_page(cargo, &load->pages[i], err);
    edit->ref = head->ref;
    edit->origin = head;
    edit->entries = cargo->entries;
    edit->slots = cargo->slots;
    edit->properties = cargo->properties;
    edit->completions = cargo->completions;
    edit->journal = cargo->work[0];
    edit->stream = cargo->work[1];
    edit->inbox = cargo->work[2];
    if (!load->staged) {
        edit->agent = head->agent;
        edit->kind = head->kind;
        edit->schema_version = head->schema_version;
    }
    if (rc != PDR_OK)
        cargo_dispose(cargo);
    return rc;
}

/* --- commits -------------------------------------------------------------- */

static pdr_commit_options options_of(const struct pdr__copier *c)
{
    return (pdr_commit_options){c->opts->now_ms, c->opts->timeout_ms};
}

static pdr_rc tell(struct pdr__copier *c, pdr_err *err)
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
static pdr_rc stage(struct pdr__copier *c, struct pdr__load *load,
                    pdr_stage_verb verb, pdr_err *err)
{
    const pdr_commit_options options = options_of(c);
    pdr_committed done;
    struct cargo cargo;
    pdr_rc rc = pack(&cargo, load, err);

    if (rc != PDR_OK)
        return rc;
    cargo.edit.stage = verb;
    cargo.edit.epoch = load->epoch;
    if (verb == PDR_STAGE_ADD)
        cargo.edit.revision = PDR_ANY_REVISION;
    if (verb == PDR_STAGE_SHOW)
        cargo.edit.revision = load->old;
    else
        cargo.edit.lease_until_ms =
            pdr__stage_until(c->opts->now_ms, c->began_ms);
    rc = pdr_store_commit(&done, c->to, &cargo.edit, 1, &options, err);
    cargo_dispose(&cargo);
    load->refused = rc != PDR_OK;
    c->report.to_failed = rc != PDR_OK;
    if (rc != PDR_OK)
        return rc;
    count_rows(c, load);
    load->epoch = done.epoch;
    load->staged = verb != PDR_STAGE_SHOW;
    load->staged_the_rest |=
        load->reads_rest && load->count > load->entry_pages;
    pdr__load_clear(load);
    return PDR_OK;
}

pdr_rc pdr__copy_flush(struct pdr__copier *c, struct pdr__load *load,
                       pdr_err *err)
{
    pdr_rc rc =
        stage(c, load, load->staged ? PDR_STAGE_ADD : PDR_STAGE_BEGIN, err);

    return rc == PDR_OK ? tell(c, err) : rc;
}

void pdr__copy_give_up(struct pdr__copier *c, const struct pdr__load *load)
{
    const pdr_commit_options options = options_of(c);
    pdr_edit edit = {.revision = PDR_ANY_REVISION, .stage = PDR_STAGE_ADD};

    if (!load->staged)
        return;
    edit.ref = pdr__load_head(load)->ref;
    edit.epoch = load->epoch;
    edit.lease_until_ms = INT64_MIN + 1; /* long ago */
    if (pdr_store_commit(NULL, c->to, &edit, 1, &options, NULL) == PDR_OK)
        (void)!pdr_store_sweep(NULL, c->to, c->opts->now_ms, NULL);
}

/* The commits of all that wait in line, each on its own. */
static pdr_rc send_line(struct pdr__copier *c, pdr_err *err)
{
    pdr_request requests[LINE];
    pdr_rc rc = PDR_OK;

    if (c->waiting == 0)
        return PDR_OK;
    for (size_t i = 0; i < c->waiting; i++)
        requests[i] = (pdr_request){.edits = &c->line[i].cargo.edit,
                                    .count = 1,
                                    .options = options_of(c)};
    pdr_store_commit_all(c->to, requests, c->waiting);
    for (size_t i = 0; i < c->waiting; i++) {
        struct pdr__parcel *parcel = &c->line[i];

        if (requests[i].rc == PDR_OK) {
            count_rows(c, &parcel->load);
            count_session(c, pdr__load_head(&parcel->load), false);
        } else if (rc == PDR_OK) {
            rc = requests[i].rc;
            if (err != NULL)
                *err = requests[i].err;
        }
    }
    c->report.to_failed = rc != PDR_OK;
    return rc == PDR_OK ? tell(c, err) : rc;
}

static void clear_line(struct pdr__copier *c)
{
    for (size_t i = 0; i < c->waiting; i++) {
        cargo_dispose(&c->line[i].cargo);
        pdr__load_dispose(&c->line[i].load);
    }
    c->waiting = c->waiting_bytes = 0;
}

/* The load goes into the line; taken, also on failure. */
static pdr_rc stand_in_line(struct pdr__copier *c, struct pdr__load *load,
                            pdr_err *err)
{
    struct pdr__parcel *parcel = &c->line[c->waiting++];
    pdr_rc rc = PDR_OK;

    parcel->load = *load;
    memset(load, 0, sizeof(*load));
    memset(&parcel->cargo, 0, sizeof(parcel->cargo));
    rc = pack(&parcel->cargo, &parcel->load, err);
    c->waiting_bytes += parcel->load.bytes;
    if (rc != PDR_OK ||
        (c->waiting < LINE && c->waiting_bytes < PDR_STAGE_BYTES))
        return rc;
    rc = send_line(c, err);
    clear_line(c);
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

/* Somebody stands there who is not the same. */
static pdr_rc admit_other(struct pdr__copier *c, const pdr_head *there,
                          const pdr_head *head, pdr_err *err)
{
    char shown[PDR_SHOWN];

    if (c->opts->replace && pdr__head_is_copy(there))
        return PDR_OK; /* whether it is newer, the commit tells */
    if (c->opts->skip_others)
        c->skips = &c->report.others;
    if (c->opts->replace)
        return PDR_FAIL(err, AHEAD_OF_ORIGIN,
                        "session '%s' of tenant '%.*s' is there already, and "
                        "no copy that nobody touched; delete it there first if "
                        "this one is to take its place",
                        pdr__shown(shown, head->ref.id),
                        (int)head->ref.tenant.len, head->ref.tenant.ptr);
    return PDR_FAIL(err, SESSION_EXISTS,
                    "session '%s' of tenant '%.*s' is there already and is not "
                    "the same; ask to replace it",
                    pdr__shown(shown, head->ref.id), (int)head->ref.tenant.len,
                    head->ref.tenant.ptr);
}

/* Who stands there? `*same`: nothing is to be done. */
static pdr_rc look_there(bool *same, struct pdr__load *load,
                         struct pdr__copier *c, const pdr_head *head,
                         pdr_err *err)
{
    pdr_page *page = NULL;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = pdr__load_read_head(&page, c->to, &head->ref, &why);

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
    if (!*same)
        rc = admit_other(c, &page->head, head, err);
    c->report.to_failed = rc != PDR_OK;
    pdr_page_free(page);
    return rc;
}

/* The last commit of a session that does not fit into the line. */
static pdr_rc show(struct pdr__copier *c, struct pdr__load *load, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (!load->staged)
        rc = stage(c, load, PDR_STAGE_BEGIN, err);
    if (rc == PDR_OK)
        rc = stage(c, load, PDR_STAGE_SHOW, err);
    if (rc != PDR_OK)
        return rc;
    count_session(c, pdr__load_head(load), load->old != 0);
    return tell(c, err);
}

static pdr_rc copy_session(struct pdr__copier *c, const pdr_head *head,
                           pdr_err *err)
{
    struct pdr__load load;
    bool same = false;
    pdr_rc rc = PDR_OK;

    memset(&load, 0, sizeof(load));
    rc = look_there(&same, &load, c, head, err);
    if (rc != PDR_OK || same) {
        c->report.same += rc == PDR_OK;
        return rc;
    }
    rc = pdr__load_session(c, &load, &head->ref, err);
    if (rc == PDR_OK && !load.staged && load.old == 0)
        return stand_in_line(c, &load, err);
    if (rc == PDR_OK)
        rc = show(c, &load, err);
    else if (rc == PDR_ECORRUPT && !load.refused && c->opts->skip_damaged)
        c->skips = &c->report.damaged;
    if (rc == PDR_ECONFLICT && c->opts->skip_others &&
        strcmp(err->reason, "ahead_of_origin") == 0)
        c->skips = &c->report.others;
    if (load.staged) /* it was not shown */
        pdr__copy_give_up(c, &load);
    pdr__load_dispose(&load);
    return rc;
}

/* --- all of them ---------------------------------------------------------- */

/* The session could not be copied: leave it out, if that was asked for, and say
 * so. */
static pdr_rc leave_out(struct pdr__copier *c, const pdr_ref *ref, pdr_rc rc,
                        const pdr_err *why, pdr_err *err)
{
    if (c->skips == NULL) {
        if (err != NULL)
            *err = *why;
        return rc;
    }
    ++*c->skips;
    c->report.left_out = ref;
    c->report.why = why;
    rc = tell(c, err);
    c->report.left_out = NULL;
    c->report.why = NULL;
    c->report.to_failed = false;
    return rc;
}

static pdr_rc copy_or_leave(struct pdr__copier *c, const pdr_head *head,
                            pdr_err *err)
{
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    c->skips = NULL;
    c->report.to_failed = false;
    rc = copy_session(c, head, &why);
    return rc == PDR_OK ? rc : leave_out(c, &head->ref, rc, &why, err);
}

static pdr_rc copy_page(struct pdr__copier *c, const pdr_page *page,
                        pdr_err *err)
{
    pdr_str tenant = c->opts->tenant;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < page->count && rc == PDR_OK; i++) {
        const pdr_head *head = &page->sessions[i];
        pdr_err why = PDR_ERR_INIT;

        if (tenant.ptr != NULL && !pdr_str_equal(tenant, head->ref.tenant))
            continue;
        rc = copy_or_leave(c, head, &why);
        if (rc == PDR_ENOTFOUND && strcmp(why.reason, "no_session") == 0)
            rc = PDR_OK; /* it was deleted meanwhile */
        else if (rc != PDR_OK && err != NULL)
            *err = why;
    }
    return rc;
}

static pdr_rc copy_all(struct pdr__copier *c, pdr_err *err)
{
    pdr_query query = {.what = PDR_READ_ALL, .limit = PDR_MAX_PAGE_ROWS};
    pdr_page *page = NULL, *next = NULL;
    pdr_rc rc = PDR_OK;

    do {
        rc = pdr_store_read(&next, c->from, &query, err);
        pdr_page_free(page); /* its cursor was in use until now */
        page = next;
        if (rc == PDR_OK)
            rc = copy_page(c, page, err);
        if (rc == PDR_OK)
            query.after = page->next;
    } while (rc == PDR_OK && query.after.ptr != NULL);
    pdr_page_free(page);
    return rc;
}

static pdr_rc copy_one(struct pdr__copier *c, pdr_err *err)
{
    const pdr_ref ref = {c->opts->tenant, c->opts->id};
    pdr_page *page = NULL;
    pdr_rc rc = pdr__load_read_head(&page, c->from, &ref, err);

    if (rc == PDR_OK)
        rc = copy_or_leave(c, &page->head, err);
    pdr_page_free(page);
    return rc;
}

static pdr_rc check_tenant(const pdr_copy_opts *opts, pdr_err *err)
{
    const pdr_ref ref = {opts->tenant, PDR_LIT("-")};
    pdr_ref checked;

    return pdr__ref_check(&checked, &ref, err);
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
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(to != NULL && from != NULL && opts != NULL);
    if (out != NULL)
        *out = c.report;
    rc = check_tenant(opts, err);
    if (rc != PDR_OK)
        return rc;
    c.line = pdr__calloc(LINE, sizeof(*c.line));
    if (c.line == NULL)
        return pdr__nomem(err);
    rc = opts->id.ptr != NULL ? copy_one(&c, err) : copy_all(&c, err);
    if (rc == PDR_OK)
        rc = send_line(&c, err);
    clear_line(&c);
    pdr__free(c.line);
    if (out != NULL)
        *out = c.report;
    return rc;
}
