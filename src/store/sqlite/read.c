/*
 * read.c - pages of rows of one session.
 *
 * WHY  Each page is one short transaction: the head first, then the rows that
 *      it speaks of. What a row says of its own key is compared with the key
 *      that led to it; digests, numbers and counts are the library's business
 *      (store/page.c).
 *
 * NOT HERE  Lists of many sessions (list.c).
 */
#include <inttypes.h>

#include "reader.h"

/* An entry; columns that only completions have must be empty. */
#define ENTRY                                                             \
    "SELECT key,kind,shape,created,correlation_id,separator,digest,"      \
    "body,first_seq IS NULL AND last_seq IS NULL AND fingerprint IS NULL" \
    " FROM log"

/* A completion, and the other way round. */
#define COMPLETION                                         \
    "SELECT " PDR_SQLITE_COMPLETION_COLUMNS                \
    ",kind=9 AND shape IS NULL AND correlation_id IS NULL" \
    " AND separator IS NULL FROM log"

#define SLOT                  \
    "SELECT key,body,digest," \
    "due IS NULL AND kind IS NULL AND correlation_id IS NULL FROM parts"

/* clang-format off */
static const char *const sql[READER_KEPT] = {
    [READER_HEAD] =
        "SELECT " PDR_SQLITE_HEAD_COLUMNS " FROM sessions"
        " WHERE tenant=?1 AND id=?2",
    [READER_ENTRIES_UP] =
        ENTRY " WHERE session=?1 AND key>=?2 AND key<=?3 ORDER BY key",
    [READER_ENTRIES_DOWN] =
        ENTRY " WHERE session=?1 AND key>=?2 AND key<=?3 ORDER BY key DESC",
    [READER_DIGEST] =
        "SELECT digest FROM log WHERE session=?1 AND key=?2",
    [READER_SLOT] =
        SLOT " WHERE session=?1 AND part=3 AND key=?2",
    [READER_SLOTS] =
        SLOT " WHERE session=?1 AND part=3 AND key>?2 ORDER BY key",
    [READER_PROPERTY] =
        "SELECT key,value,match,digest,tenant,id FROM properties"
        " WHERE session=?1 AND key=?2",
    [READER_PROPERTIES] =
        "SELECT key,value,match,digest,tenant,id FROM properties"
        " WHERE session=?1 AND key>?2 ORDER BY key",
    [READER_COMPLETION] =
        COMPLETION " WHERE session=?1 AND key=?2",
    [READER_COMPLETIONS] =
        COMPLETION " WHERE session=?1 AND key>?2 ORDER BY key",
    [READER_FRAME] =
        SLOT " WHERE session=?1 AND part=4 AND key=''",
    [READER_WORK_UP] =
        "SELECT key,due,kind,correlation_id,body,digest FROM parts"
        " WHERE session=?1 AND part=?2 AND key>=?3 AND key<=?4"
        " ORDER BY key",
    [READER_WORK_DOWN] =
        "SELECT key,due,kind,correlation_id,body,digest FROM parts"
        " WHERE session=?1 AND part=?2 AND key>=?3 AND key<=?4"
        " ORDER BY key DESC",
};
/* clang-format on */

#define COMPLETION_COLUMNS 9 /* of PDR_SQLITE_COMPLETION_COLUMNS */

const char *pdr__read_sql(unsigned slot)
{
    return sql[slot];
}

static pdr_rc open_rows(struct pdr__rows *rows,
                        const struct pdr__reading *reading, unsigned slot,
                        pdr_err *err)
{
    return pdr__rows_open(rows, reading->reader, slot, sql[slot], err);
}

static int64_t epoch_of(const struct pdr__reading *reading)
{
    return (int64_t)reading->page->head.epoch;
}

/* Adds the present row to the page. */
typedef pdr_rc (*add_fn)(struct pdr__reading *reading, struct pdr__rows *rows,
                         pdr_err *err);

/* Add rows while there is room; says whether there are more. */
static pdr_rc add_all(struct pdr__reading *reading, struct pdr__rows *rows,
                      pdr_err *err, add_fn add)
{
    bool more = false;
    pdr_rc rc = pdr__rows_next(&more, rows, err);

    while (rc == PDR_OK && more && pdr_page_has_room(reading->page)) {
        rc = add(reading, rows, err);
        if (rc == PDR_OK)
            rc = pdr__rows_next(&more, rows, err);
    }
    if (rc == PDR_OK && more)
        pdr_page_more(reading->page);
    return rc;
}

/* --- the head ------------------------------------------------------------ */

static pdr_rc read_head(bool *found, struct pdr__reading *reading, pdr_err *err)
{
    struct pdr__rows rows;
    pdr_head head;
    pdr_rc rc = open_rows(&rows, reading, READER_HEAD, err);

    *found = false;
    if (rc == PDR_OK) {
        pdr__rows_bind_text(&rows, reading->query->ref.tenant);
        pdr__rows_bind_text(&rows, reading->query->ref.id);
        rc = pdr__rows_next(found, &rows, err);
    }
    if (rc == PDR_OK && *found)
        rc = pdr__sqlite_head(&head, rows.stmt, err);
    if (rc == PDR_OK && *found)
        rc = pdr_page_head(reading->page, &head, err);
    pdr__rows_close(&rows);
    return rc;
}

/* --- entries ------------------------------------------------------------- */

/* Which numbers a page of entries is about: from `at` on to `end`, which is
 * below it if the query goes backwards. */
struct stretch {
    uint64_t at, end;
    bool is_empty;
};

static pdr_rc take_entry(pdr_entry *out, struct pdr__rows *rows, pdr_err *err)
{
    uint64_t kind = 0, shape = 0;

    out->seq = pdr__rows_count(rows);
    kind = pdr__rows_count(rows);
    shape = pdr__rows_count(rows);
    out->created_ms = pdr__rows_int(rows);
    out->correlation_id = pdr__rows_text_or_none(rows);
    out->separator = pdr__rows_text_or_none(rows);
    pdr__rows_digest(out->digest, rows);
    out->body = pdr__rows_text(rows);
    if (pdr__rows_int(rows) != 1 || kind > PDR_ROW_OTHER || shape > PDR_ROW_SK)
        rows->bad = true;
    out->kind = (pdr_row_kind)kind;
    out->shape = (pdr_row_shape)shape;
    return pdr__rows_check(rows, "log", err);
}

/* The digest of an entry; `*found` is false if there is none. */
static pdr_rc find_digest(pdr_digest out, bool *found,
                          const struct pdr__reading *reading, uint64_t seq,
                          pdr_err *err)
{
    struct pdr__rows rows;
    pdr_rc rc = open_rows(&rows, reading, READER_DIGEST, err);

    if (rc == PDR_OK) {
        pdr__rows_bind(&rows, epoch_of(reading));
        pdr__rows_bind(&rows, (int64_t)seq);
        rc = pdr__rows_next(found, &rows, err);
    }
    if (rc == PDR_OK && *found) {
        pdr__rows_digest(out, &rows);
        rc = pdr__rows_check(&rows, "log", err);
    }
    pdr__rows_close(&rows);
    return rc;
}

/* Tell the page what stands before the entry that was added last. */
static pdr_rc tell_before(struct pdr__reading *reading, pdr_err *err)
{
    pdr_page *page = reading->page;
    uint64_t seq = 0;
    pdr_digest digest;
    bool found = false;
    pdr_rc rc = PDR_OK;

    if (page->count == 0)
        return PDR_OK;
    seq = page->entries[page->count - 1].seq;
    if (seq == page->head.first_seq)
        return PDR_OK;
    rc = find_digest(digest, &found, reading, seq - 1, err);
    if (rc == PDR_OK && found)
        pdr_page_before(page, digest);
    return rc;
}

static pdr_rc not_there(const struct pdr__reading *reading, uint64_t seq,
                        const char *what, pdr_err *err)
{
    char shown[PDR_SHOWN];

    return PDR_FAIL(err, BROKEN_CHAIN,
                    "session '%s': entry %" PRIu64
                    " %s; verify the store and restore a backup",
                    pdr__shown(shown, reading->query->ref.id), seq, what);
}

/* An entry that is passed over, because it has another correlation id: is that
 * so, or is its id damaged? The page never sees it. */
static pdr_rc check_passed(struct pdr__reading *reading, const pdr_entry *entry,
                           pdr_err *err)
{
    const pdr_head *head = &reading->page->head;
    const pdr_store *store = &reading->store->base;
    pdr_digest before, own, wanted;
    bool found = true;
    pdr_rc rc = PDR_OK;

    if (entry->seq == head->first_seq)
        memcpy(before, head->anchor, sizeof(before));
    else
        rc = find_digest(before, &found, reading, entry->seq - 1, err);
    if (rc == PDR_OK && !found)
        rc = not_there(reading, entry->seq - 1, "is not there", err);
    if (rc == PDR_OK)
        rc = pdr__seal_entry(own, &reading->seal, store, entry, err);
    if (rc == PDR_OK)
        rc = pdr__seal_link(wanted, &reading->seal, store, before, own,
                            head->epoch, entry->seq, err);
    if (rc == PDR_OK && memcmp(wanted, entry->digest, sizeof(wanted)) != 0)
        rc = not_there(reading, entry->seq, "does not fit its digest", err);
    return rc;
}

/* Add an entry of the correlation id that was asked for, and tell what stands
 * before it or before the last one, if that is not the one added besides. */
static pdr_rc add_of_turn(struct pdr__reading *reading, const pdr_entry *entry,
                          pdr_err *err)
{
    pdr_page *page = reading->page;
    bool backwards = reading->query->backwards;
    uint64_t last = page->count > 0 ? page->entries[page->count - 1].seq : 0;
    pdr_rc rc = PDR_OK;

    if (!pdr_str_equal(entry->correlation_id, reading->query->key))
        return check_passed(reading, entry, err);
    if (backwards && entry->seq + 1 != last)
        rc = tell_before(reading, err);
    if (rc == PDR_OK)
        rc = pdr_page_add_entry(page, entry, err);
    if (rc == PDR_OK && !backwards && entry->seq != last + 1)
        rc = tell_before(reading, err);
    return rc;
}

static pdr_rc open_stretch(struct pdr__rows *rows,
                           const struct pdr__reading *reading,
                           const struct stretch *stretch, pdr_err *err)
{
    bool backwards = reading->query->backwards;
    pdr_rc rc =
        open_rows(rows, reading,
                  backwards ? READER_ENTRIES_DOWN : READER_ENTRIES_UP, err);

    if (rc != PDR_OK)
        return rc;
    pdr__rows_bind(rows, epoch_of(reading));
    pdr__rows_bind(rows, (int64_t)(backwards ? stretch->end : stretch->at));
    pdr__rows_bind(rows, (int64_t)(backwards ? stretch->at : stretch->end));
    return PDR_OK;
}

/* Entries of the stretch while there is room. No row is read in vain: the head
 * says where they end. Of one correlation id there is more only if another
 * entry has it; those of others in between do not count. */
static pdr_rc add_entries(struct pdr__reading *reading, struct pdr__rows *rows,
                          const struct stretch *stretch, pdr_err *err)
{
    bool of_turn = reading->query->key.ptr != NULL;
    uint64_t step = reading->query->backwards ? UINT64_MAX : 1; /* or -1 */
    uint64_t seq = stretch->at;
    pdr_rc rc = PDR_OK;

    for (bool ended = false; !ended; seq += step) {
        pdr_entry entry = {0};
        bool found = false;

        if (!of_turn && !pdr_page_has_room(reading->page)) {
            pdr_page_more(reading->page);
            break;
        }
        PDR_TRY(pdr__rows_next(&found, rows, err));
        if (found)
            PDR_TRY(take_entry(&entry, rows, err));
        if (!found || entry.seq != seq)
            PDR_TRY(not_there(reading, seq, "is not there", err));
        if (of_turn && !pdr_page_has_room(reading->page) &&
            pdr_str_equal(entry.correlation_id, reading->query->key)) {
            pdr_page_more(reading->page);
            break;
        }
        PDR_TRY(of_turn ? add_of_turn(reading, &entry, err)
                        : pdr_page_add_entry(reading->page, &entry, err));
        if (seq == stretch->at && !of_turn && !reading->query->backwards)
            PDR_TRY(tell_before(reading, err));
        ended = seq == stretch->end;
    }
    if (reading->query->backwards)
        PDR_TRY(tell_before(reading, err));
done:
    return rc;
}

/* Cut the entries low to high down to what the query still wants. */
static struct stretch stretch_of(const struct pdr__reading *reading,
                                 uint64_t low, uint64_t high)
{
    const pdr_query *query = reading->query;
    const pdr_list_place *place = pdr_page_place(reading->page);
    struct stretch out = {low, high, false};

    if (query->backwards) {
        uint64_t at = place->begins ? query->from : place->n - 1;

        out.at = (place->begins && at == 0) || at > high ? high : at;
        out.end = low;
        out.is_empty = out.at < low || high < low;
    } else {
        uint64_t at = place->begins ? query->from : place->n + 1;

        out.at = at < low ? low : at;
        out.is_empty = out.at > high;
    }
    return out;
}

static pdr_rc read_stretch(struct pdr__reading *reading, uint64_t low,
                           uint64_t high, pdr_err *err)
{
    struct stretch stretch = stretch_of(reading, low, high);
    struct pdr__rows rows;
    pdr_rc rc = PDR_OK;

    if (stretch.is_empty)
        return PDR_OK;
    rc = open_stretch(&rows, reading, &stretch, err);
    if (rc == PDR_OK)
        rc = add_entries(reading, &rows, &stretch, err);
    pdr__rows_close(&rows);
    return rc;
}

/* --- completions --------------------------------------------------------- */

static pdr_rc take_completion(pdr_completion *out, struct pdr__rows *rows,
                              pdr_err *err)
{
    int64_t n = 0;
    pdr_rc rc = pdr__sqlite_completion(out, &n, rows->stmt, err);

    rows->at = COMPLETION_COLUMNS;
    rows->bad = pdr__rows_int(rows) != 1;
    return rc == PDR_OK ? pdr__rows_check(rows, "log", err) : rc;
}

static pdr_rc add_completion(struct pdr__reading *reading,
                             struct pdr__rows *rows, pdr_err *err)
{
    pdr_completion row;
    pdr_rc rc = take_completion(&row, rows, err);

    return rc == PDR_OK ? pdr_page_add_completion(reading->page, &row, err)
                        : rc;
}

/* Only this correlation id, or all behind it. */
static pdr_rc open_completions(struct pdr__rows *rows,
                               const struct pdr__reading *reading,
                               unsigned slot, pdr_str id, pdr_err *err)
{
    pdr_rc rc = open_rows(rows, reading, slot, err);

    if (rc == PDR_OK) {
        pdr__rows_bind(rows, epoch_of(reading));
        pdr__rows_bind_text(rows, id);
    }
    return rc;
}

static pdr_rc read_completions(struct pdr__reading *reading, pdr_err *err)
{
    const pdr_list_place *place = pdr_page_place(reading->page);
    bool one = reading->query->key.ptr != NULL;
    pdr_str first = place->begins ? PDR_LIT("") : place->key;
    struct pdr__rows rows;
    pdr_rc rc = open_completions(&rows, reading,
                                 one ? READER_COMPLETION : READER_COMPLETIONS,
                                 one ? reading->query->key : first, err);

    if (rc == PDR_OK)
        rc = add_all(reading, &rows, err, add_completion);
    pdr__rows_close(&rows);
    return rc;
}

/* The numbers of the entries that have this correlation id; `low` above `high`
 * if there are none. */
static pdr_rc find_turn(uint64_t *low, uint64_t *high,
                        const struct pdr__reading *reading, pdr_err *err)
{
    struct pdr__rows rows;
    pdr_completion row;
    bool found = false;
    pdr_rc rc = open_completions(&rows, reading, READER_COMPLETION,
                                 reading->query->key, err);

    if (rc == PDR_OK)
        rc = pdr__rows_next(&found, &rows, err);
    if (rc == PDR_OK && found)
        rc = take_completion(&row, &rows, err);
    if (rc == PDR_OK && found)
        rc = pdr_completion_check(&reading->store->base,
                                  &reading->page->head.ref, &row, err);
    if (rc == PDR_OK) {
        *low = found ? row.first_seq : 1;
        *high = found ? row.last_seq : 0;
    }
    pdr__rows_close(&rows);
    return rc;
}

static pdr_rc read_entries(struct pdr__reading *reading, pdr_err *err)
{
    const pdr_head *head = &reading->page->head;
    uint64_t low = 0, high = UINT64_MAX;
    pdr_rc rc = PDR_OK;

    if (reading->query->key.ptr != NULL)
        rc = find_turn(&low, &high, reading, err);
    if (rc != PDR_OK || high == 0)
        return rc;
    return read_stretch(reading, low < head->first_seq ? head->first_seq : low,
                        high < head->next_seq ? high : head->next_seq - 1, err);
}

/* --- slots and properties ------------------------------------------------ */

static pdr_rc add_slot(struct pdr__reading *reading, struct pdr__rows *rows,
                       pdr_err *err)
{
    pdr_slot slot;
    pdr_rc rc = PDR_OK;

    slot.key = pdr__rows_text(rows);
    slot.value = pdr__rows_text(rows);
    pdr__rows_digest(slot.digest, rows);
    rows->bad = pdr__rows_int(rows) != 1 || rows->bad;
    rc = pdr__rows_check(rows, "parts", err);
    return rc == PDR_OK ? pdr_page_add_slot(reading->page, &slot, err) : rc;
}

/* A key may be empty; a number is below every text. */
static pdr_rc read_slots(struct pdr__reading *reading, pdr_err *err)
{
    const pdr_list_place *place = pdr_page_place(reading->page);
    bool one = reading->query->key.ptr != NULL;
    struct pdr__rows rows;
    pdr_rc rc =
        open_rows(&rows, reading, one ? READER_SLOT : READER_SLOTS, err);

    if (rc == PDR_OK) {
        pdr__rows_bind(&rows, epoch_of(reading));
        if (one)
            pdr__rows_bind_text(&rows, reading->query->key);
        else if (place->begins)
            pdr__rows_bind(&rows, INT64_MAX);
        else
            pdr__rows_bind_text(&rows, place->key);
        rc = add_all(reading, &rows, err, add_slot);
    }
    pdr__rows_close(&rows);
    return rc;
}

static pdr_rc add_property(struct pdr__reading *reading, struct pdr__rows *rows,
                           pdr_err *err)
{
    const pdr_ref *ref = &reading->page->head.ref;
    pdr_property row;
    pdr_rc rc = PDR_OK;

    row.key = pdr__rows_text(rows);
    row.value = pdr__rows_text(rows);
    row.match = pdr__rows_text_or_none(rows);
    pdr__rows_digest(row.digest, rows);
    if (!pdr_str_equal(ref->tenant, pdr__rows_text(rows)) ||
        !pdr_str_equal(ref->id, pdr__rows_text(rows)))
        rows->bad = true;
    rc = pdr__rows_check(rows, "properties", err);
    return rc == PDR_OK ? pdr_page_add_property(reading->page, &row, err) : rc;
}

static pdr_rc read_properties(struct pdr__reading *reading, pdr_err *err)
{
    const pdr_list_place *place = pdr_page_place(reading->page);
    bool one = reading->query->key.ptr != NULL;
    pdr_str first = place->begins ? PDR_LIT("") : place->key;
    struct pdr__rows rows;
    pdr_rc rc = open_rows(&rows, reading,
                          one ? READER_PROPERTY : READER_PROPERTIES, err);

    if (rc == PDR_OK) {
        pdr__rows_bind(&rows, epoch_of(reading));
        pdr__rows_bind_text(&rows, one ? reading->query->key : first);
        rc = add_all(reading, &rows, err, add_property);
    }
    pdr__rows_close(&rows);
    return rc;
}

/* --- frame --------------------------------------------------------------- */

static pdr_rc read_frame(struct pdr__reading *reading, pdr_err *err)
{
    struct pdr__rows rows;
    pdr_digest digest;
    bool found = false;
    pdr_rc rc = open_rows(&rows, reading, READER_FRAME, err);

    if (rc == PDR_OK) {
        pdr__rows_bind(&rows, epoch_of(reading));
        rc = pdr__rows_next(&found, &rows, err);
    }
    if (rc == PDR_OK && found) {
        pdr_str body = {NULL, 0};

        rows.at = 1; /* behind the key */
        body = pdr__rows_text(&rows);
        pdr__rows_digest(digest, &rows);
        rows.bad = pdr__rows_int(&rows) != 1 || rows.bad;
        rc = pdr__rows_check(&rows, "parts", err);
        if (rc == PDR_OK)
            rc = pdr_page_set_frame(reading->page, body, digest, err);
    }
    pdr__rows_close(&rows);
    return rc;
}

/* --- work ---------------------------------------------------------------- */

/* A list of work and its numbers. */
struct list {
    pdr_part part;
    uint64_t low, high;
};

static struct list list_of(const pdr_head *head, pdr_read_what what)
{
    if (what == PDR_READ_JOURNAL)
        return (struct list){PDR_PART_JOURNAL, head->journal_first,
                             head->journal_next - 1};
    if (what == PDR_READ_STREAM)
        return (struct list){PDR_PART_STREAM, head->stream_first,
                             head->stream_next - 1};
    return (struct list){PDR_PART_INBOX, 1, head->inbox_next - 1};
}

static pdr_rc add_work(struct pdr__reading *reading, struct pdr__rows *rows,
                       pdr_err *err)
{
    pdr_work row;
    pdr_rc rc = pdr__rows_work(&row, rows, err);

    return rc == PDR_OK ? pdr_page_add_work(reading->page, &row, err) : rc;
}

static pdr_rc read_work(struct pdr__reading *reading, pdr_err *err)
{
    bool down = reading->query->backwards;
    struct list list = list_of(&reading->page->head, reading->query->what);
    struct stretch stretch = stretch_of(reading, list.low, list.high);
    struct pdr__rows rows;
    pdr_rc rc = PDR_OK;

    if (stretch.is_empty)
        return PDR_OK;
    rc = open_rows(&rows, reading, down ? READER_WORK_DOWN : READER_WORK_UP,
                   err);
    if (rc == PDR_OK) {
        pdr__rows_bind(&rows, epoch_of(reading));
        pdr__rows_bind(&rows, (int64_t)list.part);
        pdr__rows_bind(&rows, (int64_t)(down ? stretch.end : stretch.at));
        pdr__rows_bind(&rows, (int64_t)(down ? stretch.at : stretch.end));
        rc = add_all(reading, &rows, err, add_work);
    }
    pdr__rows_close(&rows);
    return rc;
}

/* --- a page -------------------------------------------------------------- */

static pdr_rc read_session(struct pdr__reading *reading, pdr_err *err)
{
    bool found = false;
    pdr_rc rc = read_head(&found, reading, err);

    if (rc != PDR_OK || !found)
        return rc;
    switch (reading->query->what) {
    case PDR_READ_HEAD:
    case PDR_READ_SESSIONS:
    case PDR_READ_EXPIRED:
    case PDR_READ_DUE:
    case PDR_READ_ALL:
        break;
    case PDR_READ_ENTRIES:
        return read_entries(reading, err);
    case PDR_READ_SLOTS:
        return read_slots(reading, err);
    case PDR_READ_PROPERTIES:
        return read_properties(reading, err);
    case PDR_READ_COMPLETIONS:
        return read_completions(reading, err);
    case PDR_READ_FRAME:
        return read_frame(reading, err);
    case PDR_READ_JOURNAL:
    case PDR_READ_STREAM:
    case PDR_READ_INBOX:
        return read_work(reading, err);
    }
    return PDR_OK;
}

static bool is_list(pdr_read_what what)
{
    return what == PDR_READ_SESSIONS || what == PDR_READ_EXPIRED ||
           what == PDR_READ_DUE || what == PDR_READ_ALL;
}

/* A list is, and what one statement gives is of one moment. An older version is
 * asked for first. */
static bool is_one_statement(const struct pdr__sqlite *store,
                             pdr_read_what what)
{
    return is_list(what) && store->schema == PDR_SQLITE_SCHEMA;
}

pdr_rc pdr__sqlite_read(pdr_store *self, pdr_page *page, const pdr_query *query,
                        pdr_err *err)
{
    struct pdr__sqlite *store =
        PDR_CONTAINER_OF(self, struct pdr__sqlite, base);
    struct pdr__reading reading = {
        .store = store, .page = page, .query = query, .seal = PDR_SEAL_INIT};
    pdr_rc rc = pdr__reader_take(&reading.reader, store, err);

    if (rc != PDR_OK)
        return rc;
    if (is_one_statement(store, query->what)) {
        rc = pdr__reading_list(&reading, err);
    } else {
        rc = pdr__reader_begin(store, reading.reader, err);
        if (rc == PDR_OK) {
            rc = is_list(query->what) ? pdr__reading_list(&reading, err)
                                      : read_session(&reading, err);
            rc = pdr__reader_end(reading.reader, rc, err);
        }
    }
    pdr__reader_give(store, reading.reader);
    pdr__seal_dispose(&reading.seal);
    return rc;
}
