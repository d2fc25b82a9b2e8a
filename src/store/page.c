/*
 * page.c - one page of rows: filled by a backend, checked before it is shown.
 *
 * WHY  Every backend hands back rows of one moment together with the head of
 *      that moment. The head says what must be there, the digests say what it
 *      must be, so the check is the same for all stores and stands here.
 *
 * WHAT IS CHECKED
 *      head          its digest, and that it is the session asked for
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

#include "store.h"

#define PAGE_BYTES                                            \
    SIZE_MAX /* rows are limited one by one when they come in \
              */

static struct pdr__page *inside(const pdr_page *page)
{
    return PDR_CONTAINER_OF(page, struct pdr__page, page);
}

/* --- making and releasing ------------------------------------------------ */

static size_t row_bytes(pdr_read_what what)
{
    switch (what) {
    case PDR_READ_HEAD:
    case PDR_READ_FRAME:
        return 0;
    case PDR_READ_ENTRIES:
        return sizeof(pdr_entry);
    case PDR_READ_SLOTS:
        return sizeof(pdr_slot);
    case PDR_READ_PROPERTIES:
        return sizeof(pdr_property);
    case PDR_READ_COMPLETIONS:
        return sizeof(pdr_completion);
    case PDR_READ_JOURNAL:
    case PDR_READ_STREAM:
    case PDR_READ_INBOX:
    case PDR_READ_DUE:
        return sizeof(pdr_work);
    case PDR_READ_SESSIONS:
    case PDR_READ_EXPIRED:
    case PDR_READ_ALL:
        return sizeof(pdr_head);
    }
    return 0;
}

/* Show the array under the name that the query has for it. */
static void show_rows(struct pdr__page *page)
{
    pdr_page *shown = &page->page;

    switch (page->query->what) {
    case PDR_READ_HEAD:
    case PDR_READ_FRAME:
        break;
    case PDR_READ_ENTRIES:
        shown->entries = page->rows;
        break;
    case PDR_READ_SLOTS:
        shown->slots = page->rows;
        break;
    case PDR_READ_PROPERTIES:
        shown->properties = page->rows;
        break;
    case PDR_READ_COMPLETIONS:
        shown->completions = page->rows;
        break;
    case PDR_READ_JOURNAL:
    case PDR_READ_STREAM:
    case PDR_READ_INBOX:
    case PDR_READ_DUE:
        shown->work = page->rows;
        break;
    case PDR_READ_SESSIONS:
    case PDR_READ_EXPIRED:
    case PDR_READ_ALL:
        shown->sessions = page->rows;
        break;
    }
}

static pdr_rc make_before(struct pdr__page *page, pdr_err *err)
{
    size_t bytes = page->query->limit * sizeof(*page->before);
    void *memory = NULL;
    pdr_rc rc = pdr__arena_alloc(&memory, &page->memory, bytes, err);

    if (rc == PDR_OK)
        memset(memory, 0, bytes);
    page->before = memory;
    return rc;
}

static pdr_rc prepare(struct pdr__page *page, pdr_err *err)
{
    size_t bytes = row_bytes(page->query->what) * page->query->limit;
    pdr_rc rc = PDR_OK;

    if (bytes > 0)
        rc = pdr__arena_alloc(&page->rows, &page->memory, bytes, err);
    if (rc == PDR_OK && page->query->what == PDR_READ_ENTRIES)
        rc = make_before(page, err);
    if (rc == PDR_OK)
        rc = pdr__cursor_read(&page->place, &page->memory, page->query, err);
    if (rc == PDR_OK)
        show_rows(page);
    return rc;
}

pdr_rc pdr__page_new(struct pdr__page **out, const pdr_query *query,
                     pdr_err *err)
{
    struct pdr__page *page = pdr__calloc(1, sizeof(*page));
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (page == NULL)
        return pdr__nomem(err);
    page->memory = (struct pdr__arena)PDR_ARENA_INIT(PAGE_BYTES);
    page->query = query;
    rc = prepare(page, err);
    if (rc == PDR_OK)
        *out = page;
    else
        pdr_page_free(&page->page);
    return rc;
}

void pdr_page_free(pdr_page *page)
{
    struct pdr__page *whole = NULL;

    if (page == NULL)
        return;
    whole = inside(page);
    pdr__arena_dispose(&whole->memory);
    pdr__free(whole);
}

/* --- filling ------------------------------------------------------------- */

const pdr_place *pdr_page_place(const pdr_page *page)
{
    return &inside(page)->place;
}

bool pdr_page_has_room(const pdr_page *page)
{
    const struct pdr__page *whole = inside(page);

    return page->count < whole->query->limit &&
           (page->count == 0 || whole->bytes < whole->query->max_bytes);
}

void pdr_page_more(pdr_page *page)
{
    inside(page)->more = true;
}

void pdr_page_before(pdr_page *page, const pdr_digest digest)
{
    struct pdr__before *before = NULL;

    assert(page->count > 0 && page->entries != NULL);
    before = &inside(page)->before[page->count - 1];
    memcpy(before->digest, digest, PDR_DIGEST_BYTES);
    before->known = true;
}

/* Make a text the page's own. */
static pdr_rc keep(pdr_str *text, struct pdr__page *page, pdr_err *err)
{
    char *copy = NULL;
    pdr_rc rc = PDR_OK;

    if (text->ptr == NULL)
        return PDR_OK;
    rc = pdr__arena_strndup(&copy, &page->memory, *text, err);
    text->ptr = copy;
    page->bytes += text->len;
    return rc;
}

static pdr_rc keep_all(pdr_str *const *texts, size_t count,
                       struct pdr__page *page, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < count && rc == PDR_OK; i++)
        rc = keep(texts[i], page, err);
    return rc;
}

static pdr_rc keep_head(pdr_head *head, struct pdr__page *page, pdr_err *err)
{
    pdr_str *const texts[] = {&head->ref.tenant,     &head->ref.id,
                              &head->agent,          &head->kind,
                              &head->schema_version, &head->lease.owner};

    return keep_all(texts, PDR_COUNT(texts), page, err);
}

pdr_rc pdr_page_head(pdr_page *page, const pdr_head *head, pdr_err *err)
{
    struct pdr__page *whole = inside(page);
    pdr_rc rc = PDR_OK;

    page->head = *head;
    rc = keep_head(&page->head, whole, err);
    whole->has_head = rc == PDR_OK;
    whole->bytes = 0;
    return rc;
}

pdr_rc pdr_page_add_entry(pdr_page *page, const pdr_entry *row, pdr_err *err)
{
    struct pdr__page *whole = inside(page);
    pdr_entry *to = (pdr_entry *)whole->rows + page->count;
    pdr_str *const texts[] = {&to->correlation_id, &to->separator, &to->body};
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(page->count < whole->query->limit);
    *to = *row;
    rc = keep_all(texts, PDR_COUNT(texts), whole, err);
    page->count += rc == PDR_OK;
    return rc;
}

pdr_rc pdr_page_add_slot(pdr_page *page, const pdr_slot *row, pdr_err *err)
{
    struct pdr__page *whole = inside(page);
    pdr_slot *to = (pdr_slot *)whole->rows + page->count;
    pdr_str *const texts[] = {&to->key, &to->value};
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(page->count < whole->query->limit);
    *to = *row;
    rc = keep_all(texts, PDR_COUNT(texts), whole, err);
    page->count += rc == PDR_OK;
    return rc;
}

pdr_rc pdr_page_add_property(pdr_page *page, const pdr_property *row,
                             pdr_err *err)
{
    struct pdr__page *whole = inside(page);
    pdr_property *to = (pdr_property *)whole->rows + page->count;
    pdr_str *const texts[] = {&to->key, &to->value, &to->match};
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(page->count < whole->query->limit);
    *to = *row;
    rc = keep_all(texts, PDR_COUNT(texts), whole, err);
    page->count += rc == PDR_OK;
    return rc;
}

pdr_rc pdr_page_add_completion(pdr_page *page, const pdr_completion *row,
                               pdr_err *err)
{
    struct pdr__page *whole = inside(page);
    pdr_completion *to = (pdr_completion *)whole->rows + page->count;
    pdr_str *const texts[] = {&to->correlation_id, &to->fingerprint,
                              &to->outcome};
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(page->count < whole->query->limit);
    *to = *row;
    rc = keep_all(texts, PDR_COUNT(texts), whole, err);
    page->count += rc == PDR_OK;
    return rc;
}

pdr_rc pdr_page_add_work(pdr_page *page, const pdr_work *row, pdr_err *err)
{
    struct pdr__page *whole = inside(page);
    pdr_work *to = (pdr_work *)whole->rows + page->count;
    pdr_str *const texts[] = {&to->session.tenant, &to->session.id, &to->kind,
                              &to->correlation_id, &to->body};
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(page->count < whole->query->limit);
    *to = *row;
    rc = keep_all(texts, PDR_COUNT(texts), whole, err);
    if (to->session.id.ptr == NULL)
        to->session = page->head.ref;
    page->count += rc == PDR_OK;
    return rc;
}

pdr_rc pdr_page_add_session(pdr_page *page, const pdr_head *row, pdr_err *err)
{
    struct pdr__page *whole = inside(page);
    pdr_head *to = (pdr_head *)whole->rows + page->count;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(page->count < whole->query->limit);
    *to = *row;
    rc = keep_head(to, whole, err);
    page->count += rc == PDR_OK;
    return rc;
}

pdr_rc pdr_page_set_frame(pdr_page *page, pdr_str frame,
                          const pdr_digest digest, pdr_err *err)
{
    struct pdr__page *whole = inside(page);

    page->frame = frame;
    memcpy(whole->frame, digest, PDR_DIGEST_BYTES);
    return keep(&page->frame, whole, err);
}

/* --- digests ------------------------------------------------------------- */

/* One page under check. */
struct check {
    struct pdr__page *page;
    const pdr_store *store;
    struct pdr__seal seal;
};

static pdr_rc bad_row(const struct check *check, const char *table, pdr_str row,
                      pdr_err *err)
{
    char id[PDR_SHOWN], shown[PDR_SHOWN];

    return PDR_FAIL(err, BAD_DIGEST,
                    "session '%s': %s '%s' does not fit its digest; verify the "
                    "store and restore a backup",
                    pdr__shown(id, check->page->page.head.ref.id), table,
                    pdr__shown(shown, row));
}

static pdr_rc bad_number(const struct check *check, const char *table,
                         uint64_t n, pdr_err *err)
{
    char id[PDR_SHOWN];

    return PDR_FAIL(err, BAD_DIGEST,
                    "session '%s': %s %" PRIu64
                    " does not fit its digest; verify the store and restore a "
                    "backup",
                    pdr__shown(id, check->page->page.head.ref.id), table, n);
}

static bool same(const pdr_digest a, const pdr_digest b)
{
    return memcmp(a, b, PDR_DIGEST_BYTES) == 0;
}

static pdr_rc check_head(struct check *check, const pdr_head *head,
                         pdr_err *err)
{
    pdr_digest wanted;
    char shown[PDR_SHOWN];
    pdr_rc rc = pdr__seal_head(wanted, &check->seal, check->store, head, err);

    if (rc == PDR_OK && !same(wanted, head->digest))
        rc = PDR_FAIL(err, BAD_DIGEST,
                      "session '%s': its head does not fit its digest; verify "
                      "the store and restore a backup",
                      pdr__shown(shown, head->ref.id));
    return rc;
}

static pdr_rc check_slots(struct check *check, pdr_err *err)
{
    const pdr_page *page = &check->page->page;
    pdr_digest wanted;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < page->count && rc == PDR_OK; i++) {
        const pdr_slot *row = &page->slots[i];

        rc = pdr__seal_slot(wanted, &check->seal, check->store, &page->head.ref,
                            row, err);
        if (rc == PDR_OK && !same(wanted, row->digest))
            rc = bad_row(check, "bag slot", row->key, err);
    }
    return rc;
}

static pdr_rc check_properties(struct check *check, pdr_err *err)
{
    const pdr_page *page = &check->page->page;
    pdr_digest wanted;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < page->count && rc == PDR_OK; i++) {
        const pdr_property *row = &page->properties[i];

        rc = pdr__seal_property(wanted, &check->seal, check->store,
                                &page->head.ref, row, err);
        if (rc == PDR_OK && !same(wanted, row->digest))
            rc = bad_row(check, "property", row->key, err);
    }
    return rc;
}

static pdr_rc check_completions(struct check *check, pdr_err *err)
{
    const pdr_page *page = &check->page->page;
    pdr_digest wanted;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < page->count && rc == PDR_OK; i++) {
        const pdr_completion *row = &page->completions[i];

        rc = pdr__seal_completion(wanted, &check->seal, check->store,
                                  &page->head.ref, row, err);
        if (rc == PDR_OK && !same(wanted, row->digest))
            rc = bad_row(check, "completion", row->correlation_id, err);
    }
    return rc;
}

static pdr_part part_of(pdr_read_what what)
{
    if (what == PDR_READ_JOURNAL)
        return PDR_PART_JOURNAL;
    return what == PDR_READ_STREAM ? PDR_PART_STREAM : PDR_PART_INBOX;
}

static pdr_rc check_work(struct check *check, pdr_err *err)
{
    const pdr_page *page = &check->page->page;
    pdr_part part = part_of(check->page->query->what);
    pdr_digest wanted;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < page->count && rc == PDR_OK; i++) {
        const pdr_work *row = &page->work[i];

        rc = pdr__seal_work(wanted, &check->seal, check->store, &row->session,
                            part, row->n, row, err);
        if (rc == PDR_OK && !same(wanted, row->digest))
            rc = bad_number(check, pdr__part_word(part), row->n, err);
    }
    return rc;
}

static pdr_rc check_frame(struct check *check, pdr_err *err)
{
    const pdr_page *page = &check->page->page;
    pdr_digest wanted;
    pdr_rc rc = pdr__seal_frame(wanted, &check->seal, check->store,
                                &page->head.ref, page->frame, err);

    if (rc == PDR_OK && !same(wanted, check->page->frame))
        rc = bad_row(check, "frame", PDR_LIT("frame"), err);
    return rc;
}

/* --- entries ------------------------------------------------------------- */

static pdr_rc broken_chain(const pdr_head *head, uint64_t seq, const char *what,
                           pdr_err *err)
{
    char id[PDR_SHOWN];

    return PDR_FAIL(err, BROKEN_CHAIN,
                    "session '%s': entry %" PRIu64
                    " %s; verify the store and restore a backup",
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
    pdr_rc rc = pdr__seal_entry(own, &check->seal, check->store, entry, err);

    if (rc == PDR_OK)
        rc = pdr__seal_link(wanted, &check->seal, check->store, before, own,
                            head->epoch, entry->seq, err);
    if (rc == PDR_OK && !same(wanted, entry->digest))
        rc = broken_chain(head, entry->seq, "does not fit its digest", err);
    if (rc == PDR_OK && entry->seq + 1 == head->next_seq &&
        !same(entry->digest, head->chain))
        rc = broken_chain(head, entry->seq,
                          "is not the last that was committed", err);
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
 * empty. */
static uint64_t run_start(const struct pdr__page *page, const struct run *run)
{
    const pdr_query *query = page->query;
    uint64_t start = 0;

    if (!query->backwards) {
        start = page->place.begins ? query->from : page->place.n + 1;
        return start < run->first ? run->first : start;
    }
    start = page->place.begins ? query->from : page->place.n - 1;
    if ((start == 0 && page->place.begins) || start >= run->next)
        start = run->next - 1;
    return start;
}

static pdr_rc gap(const struct pdr__page *page, const struct run *run,
                  uint64_t n, pdr_err *err)
{
    char id[PDR_SHOWN];

    return PDR_FAIL(err, BROKEN_CHAIN,
                    "session '%s': %s %" PRIu64
                    " is not there; verify the store and restore a backup",
                    pdr__shown(id, page->page.head.ref.id), run->table, n);
}

static pdr_rc check_run(const struct pdr__page *page, pdr_err *err)
{
    struct run run = run_of(page);
    uint64_t n = run_start(page, &run);
    uint64_t step = page->query->backwards ? UINT64_MAX : 1; /* minus one */

    for (size_t i = 0; i < page->page.count; i++, n += step) {
        if (number_at(page, i) != n)
            return gap(page, &run, n, err);
    }
    if (!page->more && n >= run.first && n < run.next)
        return gap(page, &run, n, err);
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
        page->place.begins || page->place.commits == head->commits;
    char id[PDR_SHOWN];

    if (page->query->key.ptr != NULL || page->query->from != 0 || !undisturbed)
        return PDR_OK;
    if (page->more ? seen < wanted : seen == wanted)
        return PDR_OK;
    return PDR_FAIL(err, WRONG_COUNT,
                    "session '%s': %" PRIu64 " rows, but its head counts "
                    "%" PRIu64 "; verify the store and restore a backup",
                    pdr__shown(id, head->ref.id), seen, wanted);
}

/* --- lists of sessions --------------------------------------------------- */

static bool fits(const pdr_query *query, const pdr_head *head)
{
    const pdr_filter *filter = &query->filter;

    if (query->what == PDR_READ_ALL)
        return true;
    if (query->what == PDR_READ_EXPIRED)
        return head->expiry_ms <= query->now_ms;
    if (!pdr_str_equal(head->ref.tenant, query->ref.tenant))
        return false;
    if (filter->agent.ptr != NULL && !pdr_str_equal(head->agent, filter->agent))
        return false;
    if (filter->by_state && head->state != filter->state)
        return false;
    if (filter->changed_from_ms == 0 && filter->changed_to_ms == 0)
        return true;
    return head->changed_ms >= filter->changed_from_ms &&
           head->changed_ms < filter->changed_to_ms;
}

static pdr_rc check_sessions(struct check *check, pdr_err *err)
{
    const pdr_page *page = &check->page->page;
    char id[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < page->count && rc == PDR_OK; i++) {
        rc = check_head(check, &page->sessions[i], err);
        if (rc == PDR_OK && !fits(check->page->query, &page->sessions[i]))
            rc = PDR_FAIL(err, WRONG_INDEX,
                          "session '%s' is in a list where it does not belong; "
                          "verify the store and restore a backup",
                          pdr__shown(id, page->sessions[i].ref.id));
    }
    return rc;
}

/* --- finishing ----------------------------------------------------------- */

static bool is_of_session(pdr_read_what what)
{
    return what != PDR_READ_SESSIONS && what != PDR_READ_EXPIRED &&
           what != PDR_READ_ALL && what != PDR_READ_DUE;
}

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
                    "session '%s' has no correlation id '%s'", id, key);
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
           page->place.begins;
}

static pdr_rc check_lost_frame(const struct pdr__page *page, pdr_err *err)
{
    char id[PDR_SHOWN];

    if (page->query->what != PDR_READ_FRAME || page->page.frame.ptr != NULL)
        return PDR_OK;
    return PDR_FAIL(err, WRONG_COUNT,
                    "session '%s': its frame is not there; verify the store "
                    "and restore a backup",
                    pdr__shown(id, page->page.head.ref.id));
}

static pdr_rc check_numbered(struct check *check, pdr_err *err)
{
    const struct pdr__page *page = check->page;
    bool all = page->query->key.ptr == NULL; /* or those of a correlation id */
    pdr_rc rc = all ? check_run(page, err) : PDR_OK;

    if (rc != PDR_OK)
        return rc;
    return page->query->what == PDR_READ_ENTRIES ? check_entries(check, err)
                                                 : check_work(check, err);
}

static pdr_rc check_rows(struct check *check, pdr_err *err)
{
    pdr_read_what what = check->page->query->what;
    pdr_rc rc = PDR_OK;

    switch (what) {
    case PDR_READ_HEAD:
        return PDR_OK;
    case PDR_READ_FRAME:
        return check_frame(check, err);
    case PDR_READ_ENTRIES:
    case PDR_READ_JOURNAL:
    case PDR_READ_STREAM:
        return check_numbered(check, err);
    case PDR_READ_SESSIONS:
    case PDR_READ_EXPIRED:
    case PDR_READ_ALL:
        return check_sessions(check, err);
    case PDR_READ_DUE:
        return check_work(check, err);
    case PDR_READ_INBOX:
        rc = check_work(check, err);
        break;
    case PDR_READ_SLOTS:
        rc = check_slots(check, err);
        break;
    case PDR_READ_PROPERTIES:
        rc = check_properties(check, err);
        break;
    case PDR_READ_COMPLETIONS:
        rc = check_completions(check, err);
        break;
    }
    return rc == PDR_OK ? check_count(check->page, err) : rc;
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
                        "session '%s': the store gave another one; verify it "
                        "and restore a backup",
                        pdr__shown(id, query->ref.id));
    return check_head(check, head, err);
}

/* Where the next page goes on: behind the last row of this one. */
static void place_of_last(pdr_place *out, const struct pdr__page *page)
{
    const pdr_page *shown = &page->page;
    size_t last = shown->count - 1;

    memset(out, 0, sizeof(*out));
    if (shown->entries != NULL) {
        out->n = shown->entries[last].seq;
    } else if (shown->work != NULL) {
        out->n = shown->work[last].n;
        out->ms = shown->work[last].due_ms;
        out->ref = shown->work[last].session;
    } else if (shown->slots != NULL) {
        out->key = shown->slots[last].key;
    } else if (shown->properties != NULL) {
        out->key = shown->properties[last].key;
    } else if (shown->completions != NULL) {
        out->key = shown->completions[last].correlation_id;
    } else {
        out->ref = shown->sessions[last].ref;
        out->ms = page->query->what == PDR_READ_EXPIRED
                      ? shown->sessions[last].expiry_ms
                      : shown->sessions[last].changed_ms;
    }
    out->seen = page->place.seen + shown->count;
    out->commits =
        page->place.begins ? shown->head.commits : page->place.commits;
}

pdr_rc pdr__page_finish(struct pdr__page *page, const pdr_store *store,
                        pdr_err *err)
{
    struct check check = {page, store, PDR_SEAL_INIT};
    pdr_place place;
    pdr_rc rc = PDR_OK;

    if (page->has_head)
        rc = check_own_head(&check, err);
    if (rc == PDR_OK && is_missing(page))
        rc = not_there(page, err);
    if (rc == PDR_OK)
        rc = check_lost_frame(page, err);
    if (rc == PDR_OK)
        rc = check_rows(&check, err);
    pdr__seal_dispose(&check.seal);
    if (rc == PDR_OK && page->more && page->page.count > 0) {
        place_of_last(&place, page);
        rc = pdr__cursor_write(&page->page.next, &page->memory, page->query,
                               &place, err);
    }
    page->query = NULL; /* the caller's; gone when the call returns */
    return rc;
}
