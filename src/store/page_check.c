/*
 * page_check.c - is a page what was committed?
 *
 * WHY  Every backend hands back rows of one moment together with the head of
 *      that moment. The head says what must be there, the digests say what it
 *      must be, the query says where it may stand; so the check is the same for
 *      all stores and stands here.
 *
 * WHAT IS CHECKED
 *      head          its digest, and that it is the session asked for and one
 *                    that readers may see
 *      places        each row belongs into the list and comes behind the one
 *                    before, also across pages: so none is given twice
 *      entries       the numbers follow one another inside what the head says;
 *                    each digest is made again from the row and the digest
 *                    before; the last entry's is the chain of the head
 *      journal, stream   the numbers follow one another; digests
 *      others        digests; at the end of a list as many as the head counts,
 *                    if nothing was committed between its pages
 *
 * NOT HERE  What only an index can have wrong: pdr_store_verify().
 */
#include <inttypes.h>
#include <stdio.h>

#include "store.h"

#define RESTORE "verify the store and restore a backup"

/* One page under check. */
struct check {
    struct pdr__page *page;
    const pdr_store *store;
    struct pdr__seal seal;
};

/* --- words ----------------------------------------------------------------
 */

static bool is_list_of_sessions(pdr_read_what what)
{
    return what == PDR_READ_SESSIONS || what == PDR_READ_EXPIRED ||
           what == PDR_READ_ALL;
}

static bool is_of_session(pdr_read_what what)
{
    return !is_list_of_sessions(what) && what != PDR_READ_DUE;
}

static pdr_part part_of(pdr_read_what what)
{
    if (what == PDR_READ_JOURNAL)
        return PDR_PART_JOURNAL;
    return what == PDR_READ_STREAM ? PDR_PART_STREAM : PDR_PART_INBOX;
}

/* What a row is called in messages, its session aside. */
#define ROW_NAME (PDR_SHOWN + 32)

static void name_key(char out[ROW_NAME], const char *table, pdr_str key)
{
    char shown[PDR_SHOWN];

    (void)snprintf(out, ROW_NAME, "%s '%s'", table, pdr__shown(shown, key));
}

static const char *name_row(char out[ROW_NAME], const struct pdr__page *page,
                            size_t i)
{
    const pdr_page *shown = &page->page;

    if (shown->entries != NULL)
        (void)snprintf(out, ROW_NAME, "entry %" PRIu64, shown->entries[i].seq);
    else if (shown->work != NULL)
        (void)snprintf(out, ROW_NAME, "%s %" PRIu64,
                       pdr__part_word(part_of(page->query->what)),
                       shown->work[i].n);
    else if (shown->slots != NULL)
        name_key(out, "bag slot", shown->slots[i].key);
    else if (shown->properties != NULL)
        name_key(out, "property", shown->properties[i].key);
    else
        name_key(out, "completion", shown->completions[i].correlation_id);
    return out;
}

/* Whose row it is. */
static const char *name_session(char out[PDR_SHOWN],
                                const struct pdr__page *page, size_t i)
{
    if (page->page.work != NULL)
        return pdr__shown(out, page->page.work[i].session.id);
    if (page->page.sessions != NULL)
        return pdr__shown(out, page->page.sessions[i].ref.id);
    return pdr__shown(out, page->page.head.ref.id);
}

static pdr_rc bad_row(const struct check *check, size_t i, pdr_err *err)
{
    char id[PDR_SHOWN], row[ROW_NAME];

    return PDR_FAIL(
        err, BAD_DIGEST, "session '%s': %s does not fit its digest; " RESTORE,
        name_session(id, check->page, i), name_row(row, check->page, i));
}

static pdr_rc out_of_place(const struct pdr__page *page, size_t i, pdr_err *err)
{
    static const char belongs[] = "is in a list where it does not belong";
    char id[PDR_SHOWN], row[ROW_NAME];

    (void)name_session(id, page, i);
    if (page->page.sessions != NULL)
        return PDR_FAIL(err, WRONG_INDEX, "session '%s' %s; " RESTORE, id,
                        belongs);
    return PDR_FAIL(err, WRONG_INDEX, "session '%s': %s %s; " RESTORE, id,
                    name_row(row, page, i), belongs);
}

/* --- places ---------------------------------------------------------------
 */

/* Below, equal or above 0: order of bytes, then of lengths. */
static int compare(pdr_str a, pdr_str b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len > 0 ? memcmp(a.ptr, b.ptr, len) : 0;

    if (order != 0)
        return order;
    return a.len < b.len ? -1 : a.len > b.len;
}

/* The place of a row, with which the next page would go on. */
static void place_of(pdr_list_place *out, const struct pdr__page *page,
                     size_t i)
{
    const pdr_page *shown = &page->page;

    memset(out, 0, sizeof(*out));
    if (shown->entries != NULL) {
        out->n = shown->entries[i].seq;
    } else if (shown->work != NULL) {
        out->n = shown->work[i].n;
        out->ms = shown->work[i].due_ms;
        out->ref = shown->work[i].session;
        out->epoch = shown->work[i].epoch;
    } else if (shown->slots != NULL) {
        out->key = shown->slots[i].key;
    } else if (shown->properties != NULL) {
        out->key = shown->properties[i].key;
    } else if (shown->completions != NULL) {
        out->key = shown->completions[i].correlation_id;
    } else {
        out->ref = shown->sessions[i].ref;
        out->epoch = shown->sessions[i].epoch;
        out->ms = page->query->what == PDR_READ_EXPIRED
                      ? shown->sessions[i].expiry_ms
                      : shown->sessions[i].changed_ms;
    }
}

/* In a list of sessions by (changed, id), downwards; or upwards by id. */
static bool session_follows(const pdr_query *query, const pdr_list_place *a,
                            const pdr_list_place *b)
{
    int order = compare(a->ref.tenant, b->ref.tenant);

    if (order == 0)
        order = compare(a->ref.id, b->ref.id);
    if (query->what == PDR_READ_ALL || pdr__filter_is_by_id(&query->filter))
        return order < 0;
    return b->ms < a->ms || (b->ms == a->ms && order > 0);
}

/* May a row at `b` come behind one at `a`? Of one time, what is due or expired
 * comes in the backend's own order, and completions always do. */
static bool follows(const pdr_query *query, const pdr_list_place *a,
                    const pdr_list_place *b)
{
    switch (query->what) {
    case PDR_READ_ENTRIES:
    case PDR_READ_JOURNAL:
    case PDR_READ_STREAM:
    case PDR_READ_INBOX:
        return query->backwards ? b->n < a->n : b->n > a->n;
    case PDR_READ_SLOTS:
    case PDR_READ_PROPERTIES:
        return compare(a->key, b->key) < 0;
    case PDR_READ_COMPLETIONS:
        return !pdr_str_equal(a->key, b->key);
    case PDR_READ_SESSIONS:
    case PDR_READ_ALL:
        return session_follows(query, a, b);
    case PDR_READ_EXPIRED:
    case PDR_READ_DUE:
        return b->ms >= a->ms;
    case PDR_READ_HEAD:
    case PDR_READ_FRAME:
        break;
    }
    return true;
}

static bool has_come(int64_t ms, int64_t now_ms)
{
    return ms != PDR_NEVER && ms <= now_ms;
}

static bool passes(const pdr_query *query, const pdr_head *head)
{
    const pdr_filter *filter = &query->filter;

    if (!pdr_str_equal(head->ref.tenant, query->ref.tenant))
        return false;
    if (filter->agent.ptr != NULL && !pdr_str_equal(head->agent, filter->agent))
        return false;
    if (filter->by_state && head->state != filter->state)
        return false;
    if (!pdr__filter_takes_id(filter, head->ref.id))
        return false;
    if (filter->changed_from_ms == 0 && filter->changed_to_ms == 0)
        return true;
    return head->changed_ms >= filter->changed_from_ms &&
           head->changed_ms < filter->changed_to_ms;
}

/* Is it a row that was asked for? */
static bool belongs(const struct pdr__page *page, size_t i,
                    const pdr_list_place *place)
{
    const pdr_query *query = page->query;
    const pdr_head *head = &page->page.head;

    if (query->from != 0 && page->place.begins &&
        (query->backwards ? place->n > query->from : place->n < query->from))
        return false;
    if (query->what == PDR_READ_SESSIONS)
        return passes(query, &page->page.sessions[i]);
    if (query->what == PDR_READ_EXPIRED || query->what == PDR_READ_DUE)
        return has_come(place->ms, query->now_ms);
    if (query->key.ptr == NULL)
        return true;
    if (query->what != PDR_READ_ENTRIES)
        return pdr_str_equal(place->key, query->key);
    return place->n >= head->first_seq && place->n < head->next_seq &&
           pdr_str_equal(page->page.entries[i].correlation_id, query->key);
}

static pdr_rc check_places(const struct pdr__page *page, pdr_err *err)
{
    pdr_list_place before = page->place, place;
    bool begins = page->place.begins;

    for (size_t i = 0; i < page->page.count; i++) {
        place_of(&place, page, i);
        if (!belongs(page, i, &place) ||
            (!begins && !follows(page->query, &before, &place)))
            return out_of_place(page, i, err);
        before = place;
        begins = false;
    }
    return PDR_OK;
}

/* --- digests --------------------------------------------------------------
 */

static bool same(const pdr_digest a, const pdr_digest b)
{
    return memcmp(a, b, PDR_DIGEST_BYTES) == 0;
}

/* Slots, properties, completions and work: each row for itself. */
static pdr_rc check_digests(struct check *check, pdr_err *err)
{
    const pdr_page *page = &check->page->page;
    const pdr_ref *ref = &page->head.ref;
    const pdr_store *store = check->store;
    pdr_digest wanted;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < page->count; i++) {
        const uint8_t *digest = NULL;

        if (page->slots != NULL) {
            digest = page->slots[i].digest;
            rc = pdr__seal_slot(wanted, &check->seal, store, ref,
                                &page->slots[i], err);
        } else if (page->properties != NULL) {
            digest = page->properties[i].digest;
            rc = pdr__seal_property(wanted, &check->seal, store, ref,
                                    &page->properties[i], err);
        } else if (page->completions != NULL) {
            digest = page->completions[i].digest;
            rc = pdr__seal_completion(wanted, &check->seal, store, ref,
                                      &page->completions[i], err);
        } else {
            const pdr_work *row = &page->work[i];

            digest = row->digest;
            rc = pdr__seal_work(wanted, &check->seal, store, &row->session,
                                part_of(check->page->query->what), row->n, row,
                                err);
        }
        if (rc == PDR_OK && !same(wanted, digest))
            rc = bad_row(check, i, err);
        if (rc != PDR_OK)
            return rc;
    }
    return PDR_OK;
}

static pdr_rc check_frame(struct check *check, pdr_err *err)
{
    const pdr_page *page = &check->page->page;
    pdr_digest wanted;
    char shown[PDR_SHOWN];
    pdr_rc rc = pdr__seal_frame(wanted, &check->seal, check->store,
                                &page->head.ref, page->frame, err);

    if (rc == PDR_OK && !same(wanted, check->page->frame))
        rc = PDR_FAIL(
            err, BAD_DIGEST,
            "session '%s': its frame does not fit its digest; " RESTORE,
            pdr__shown(shown, page->head.ref.id));
    return rc;
}

/* --- entries ------------------------------------------------------------- */

static pdr_rc broken_chain(const pdr_head *head, uint64_t seq, const char *what,
                           pdr_err *err)
{
    char id[PDR_SHOWN];

    return PDR_FAIL(err, BROKEN_CHAIN,
                    "session '%s': entry %" PRIu64 " %s; " RESTORE,
                    pdr__shown(id, head->ref.id), seq, what);
}

/* The digest that stands before the entry in row `at`. `lower` is the row with
 * the next lower number on the page, NULL if there is none. */
static pdr_rc digest_before(const uint8_t **out, const struct pdr__page *page,
                            size_t at, const pdr_entry *lower, pdr_err *err)
{
    const pdr_head *head = &page->page.head;
    uint64_t seq = page->page.entries[at].seq;

    if (seq == head->first_seq)
        *out = head->anchor;
    else if (lower != NULL && lower->seq + 1 == seq)
        *out = lower->digest;
    else if (page->before[at].known)
        *out = page->before[at].digest;
    else
        return broken_chain(head, seq - 1, "is not there", err);
    return PDR_OK;
}

static pdr_rc check_link(struct check *check, const pdr_entry *entry,
                         const uint8_t *before, pdr_err *err)
{
    const pdr_head *head = &check->page->page.head;
    pdr_digest own, wanted;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__seal_entry(own, &check->seal, check->store, entry, err));
    PDR_TRY(pdr__seal_link(wanted, &check->seal, check->store, before, own,
                           head->epoch, entry->seq, err));
    if (!same(wanted, entry->digest))
        return broken_chain(head, entry->seq, "does not fit its digest", err);
    if (entry->seq + 1 == head->next_seq && !same(entry->digest, head->chain))
        return broken_chain(head, entry->seq,
                            "is not the last that was committed", err);
done:
    return rc;
}

static pdr_rc check_entries(struct check *check, pdr_err *err)
{
    const struct pdr__page *page = check->page;
    const pdr_entry *entries = page->page.entries;
    size_t count = page->page.count;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < count && rc == PDR_OK; i++) {
        bool is_lowest = page->query->backwards ? i + 1 == count : i == 0;
        const pdr_entry *lower =
            is_lowest ? NULL : &entries[page->query->backwards ? i + 1 : i - 1];
        const uint8_t *before = NULL;

        rc = digest_before(&before, page, i, lower, err);
        if (rc == PDR_OK)
            rc = check_link(check, &entries[i], before, err);
    }
    return rc;
}

/* --- numbers ------------------------------------------------------------- */

/* Rows first <= n < next must be there, one after the other. */
struct run {
    const char *table;
    uint64_t first, next;
};

static struct run run_of(const struct pdr__page *page)
{
    const pdr_head *head = &page->page.head;

    if (page->query->what == PDR_READ_JOURNAL)
        return (struct run){"journal", head->journal_first, head->journal_next};
    if (page->query->what == PDR_READ_STREAM)
        return (struct run){"stream", head->stream_first, head->stream_next};
    return (struct run){"entry", head->first_seq, head->next_seq};
}

static uint64_t number_at(const struct pdr__page *page, size_t i)
{
    return page->query->what == PDR_READ_ENTRIES ? page->page.entries[i].seq
                                                 : page->page.work[i].n;
}

/* The number that the page must begin with; outside of the run if it must be
 * empty. A cursor that somebody made up may have any number. */
static uint64_t run_start(const struct pdr__page *page, const struct run *run)
{
    const pdr_query *query = page->query;
    uint64_t start = 0;

    if (!query->backwards) {
        start = query->from;
        if (!page->place.begins)
            start = page->place.n < UINT64_MAX ? page->place.n + 1 : UINT64_MAX;
        return start < run->first ? run->first : start;
    }
    start = query->from != 0 ? query->from : UINT64_MAX;
    if (!page->place.begins)
        start = page->place.n > 0 ? page->place.n - 1 : 0;
    return start < run->next ? start : run->next - 1;
}

static pdr_rc bad_run(const struct pdr__page *page, const struct run *run,
                      uint64_t n, const char *what, pdr_err *err)
{
    char id[PDR_SHOWN];

    return PDR_FAIL(
        err, BROKEN_CHAIN, "session '%s': %s %" PRIu64 " %s; " RESTORE,
        pdr__shown(id, page->page.head.ref.id), run->table, n, what);
}

static pdr_rc check_run(const struct pdr__page *page, pdr_err *err)
{
    struct run run = run_of(page);
    uint64_t n = run_start(page, &run);
    uint64_t step = page->query->backwards ? UINT64_MAX : 1; /* minus one */

    for (size_t i = 0; i < page->page.count; i++, n += step) {
        if (n < run.first || n >= run.next)
            return bad_run(page, &run, number_at(page, i),
                           "should not be there", err);
        if (number_at(page, i) != n)
            return bad_run(page, &run, n, "is not there", err);
    }
    if (!page->more && n >= run.first && n < run.next)
        return bad_run(page, &run, n, "is not there", err);
    return PDR_OK;
}

/* --- counts -------------------------------------------------------------- */

static uint64_t counted(const pdr_head *head, pdr_read_what what)
{
    if (what == PDR_READ_SLOTS)
        return head->slots;
    if (what == PDR_READ_PROPERTIES)
        return head->properties;
    return what == PDR_READ_COMPLETIONS ? head->completions : head->inbox;
}

/* At the end of a list that nobody changed meanwhile: was it all? */
static pdr_rc check_count(const struct pdr__page *page, pdr_err *err)
{
    const pdr_head *head = &page->page.head;
    uint64_t seen = page->place.seen + page->page.count;
    uint64_t wanted = counted(head, page->query->what);
    bool undisturbed =
        page->place.begins || (page->place.commits == head->commits &&
                               page->place.epoch == head->epoch);
    char id[PDR_SHOWN];

    if (page->query->key.ptr != NULL || page->query->from != 0 || !undisturbed)
        return PDR_OK;
    if (page->more ? seen < wanted : seen == wanted)
        return PDR_OK;
    return PDR_FAIL(err, WRONG_COUNT,
                    "session '%s': %" PRIu64
                    " rows, but its head counts %" PRIu64 "; " RESTORE,
                    pdr__shown(id, head->ref.id), seen, wanted);
}

/* --- heads ---------------------------------------------------------------- */

/* Its digest, and that a reader may see it. */
static pdr_rc check_head(struct check *check, const pdr_head *head,
                         pdr_err *err)
{
    char id[PDR_SHOWN];

    if (head->state == PDR_SESSION_UNSEEN)
        return PDR_FAIL(err, WRONG_INDEX,
                        "session '%s': a head that no reader may see stands "
                        "among the others; " RESTORE,
                        pdr__shown(id, head->ref.id));
    return pdr__head_check(&check->seal, check->store, head, err);
}

/* --- finishing ----------------------------------------------------------- */

static pdr_rc not_there(const struct pdr__page *page, pdr_err *err)
{
    const pdr_query *query = page->query;
    char id[PDR_SHOWN], key[PDR_SHOWN];

    (void)pdr__shown(id, query->ref.id);
    (void)pdr__shown(key, query->key);
    if (!page->has_head)
        return PDR_FAIL(err, NO_SESSION, "session '%s' is not in the store",
                        id);
    if (query->what == PDR_READ_SLOTS)
        return PDR_FAIL(err, NO_SLOT, "session '%s' has no bag slot '%s'", id,
                        key);
    if (query->what == PDR_READ_PROPERTIES)
        return PDR_FAIL(err, NO_PROPERTY, "session '%s' has no property '%s'",
                        id, key);
    if (query->what == PDR_READ_FRAME)
        return PDR_FAIL(err, NO_FRAME, "session '%s' has no frame", id);
    return PDR_FAIL(err, NO_COMPLETION,
                    "session '%s' has no %scorrelation id '%s'", id,
                    query->what == PDR_READ_ENTRIES ? "entry of " : "", key);
}

static bool is_missing(const struct pdr__page *page)
{
    const pdr_page *shown = &page->page;

    if (!is_of_session(page->query->what))
        return false;
    if (!page->has_head)
        return true;
    if (page->query->what == PDR_READ_FRAME)
        return !shown->head.has_frame;
    return page->query->key.ptr != NULL && shown->count == 0 &&
           page->place.begins && page->query->from == 0;
}

/* All numbers follow one another, unless only those of a correlation id were
 * asked for. */
static pdr_rc check_numbers(const struct pdr__page *page, pdr_err *err)
{
    pdr_read_what what = page->query->what;
    bool is_run = what == PDR_READ_ENTRIES || what == PDR_READ_JOURNAL ||
                  what == PDR_READ_STREAM;

    if (is_run && page->query->key.ptr == NULL)
        return check_run(page, err);
    return check_places(page, err);
}

static pdr_rc check_rows(struct check *check, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_TRY(check_numbers(check->page, err));
    switch (check->page->query->what) {
    case PDR_READ_HEAD:
        break;
    case PDR_READ_FRAME:
        PDR_TRY(check_frame(check, err));
        break;
    case PDR_READ_ENTRIES:
        PDR_TRY(check_entries(check, err));
        break;
    case PDR_READ_SESSIONS:
    case PDR_READ_EXPIRED:
    case PDR_READ_ALL:
        for (size_t i = 0; i < check->page->page.count; i++)
            PDR_TRY(check_head(check, &check->page->page.sessions[i], err));
        break;
    case PDR_READ_JOURNAL:
    case PDR_READ_STREAM:
    case PDR_READ_DUE:
        PDR_TRY(check_digests(check, err));
        break;
    case PDR_READ_INBOX:
    case PDR_READ_SLOTS:
    case PDR_READ_PROPERTIES:
    case PDR_READ_COMPLETIONS:
        PDR_TRY(check_digests(check, err));
        PDR_TRY(check_count(check->page, err));
        break;
    }
done:
    return rc;
}

/* Is the head the one that was asked for? A damaged key leads to another. */
static pdr_rc check_own_head(struct check *check, pdr_err *err)
{
    const pdr_query *query = check->page->query;
    const pdr_head *head = &check->page->page.head;
    char id[PDR_SHOWN];

    if (!is_of_session(query->what))
        return PDR_OK;
    if (!pdr_str_equal(head->ref.id, query->ref.id) ||
        !pdr_str_equal(head->ref.tenant, query->ref.tenant))
        return PDR_FAIL(err, WRONG_INDEX,
                        "session '%s': the store gave another one; " RESTORE,
                        pdr__shown(id, query->ref.id));
    return check_head(check, head, err);
}

/* Where the next page goes on: behind the last row of this one. */
static void place_of_next(pdr_list_place *out, const struct pdr__page *page)
{
    const pdr_list_place *place = &page->place;
    const pdr_head *head = &page->page.head;

    place_of(out, page, page->page.count - 1);
    out->seen = place->seen + page->page.count;
    out->commits = place->begins ? head->commits : place->commits;
    if (is_of_session(page->query->what))
        out->epoch = place->begins ? head->epoch : place->epoch;
    if (place->begins && page->query->from != 0)
        out->commits = 0; /* it began in the middle: nothing to count */
}

pdr_rc pdr__page_finish(struct pdr__page *page, const pdr_store *store,
                        pdr_err *err)
{
    struct check check = {page, store, PDR_SEAL_INIT};
    pdr_list_place place;
    char id[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    page->more = page->more && page->page.count > 0;
    if (page->has_head)
        PDR_TRY(check_own_head(&check, err));
    if (is_missing(page))
        PDR_TRY(not_there(page, err));
    if (page->query->what == PDR_READ_FRAME && page->page.frame.ptr == NULL)
        PDR_TRY(PDR_FAIL(err, WRONG_COUNT,
                         "session '%s': its frame is not there; " RESTORE,
                         pdr__shown(id, page->page.head.ref.id)));
    PDR_TRY(check_rows(&check, err));
    if (page->more) {
        place_of_next(&place, page);
        PDR_TRY(pdr__cursor_write(&page->page.next, &page->memory, page->query,
                                  &place, err));
    }
done:
    pdr__seal_dispose(&check.seal);
    page->query = NULL; /* the caller's; gone when the call returns */
    return rc;
}
