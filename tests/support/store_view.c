/* store_view.c - all that is in a store, as the judge wants it. */
#include "store_view.h"

#include <inttypes.h>

/* --- notes ---------------------------------------------------------------- */

size_t note_write(char *out, const struct note *note, size_t pad)
{
    char id[DEED_TEXT], after[DEED_TEXT], settles[DEED_TEXT];
    int len = snprintf(
        out, NOTE_TEXT,
        "{\"deed\":\"%s\",\"part\":%u,\"after\":\"%s\",\"settles\":\"%s\","
        "\"through\":%" PRIu64 ",\"adds\":[%u,%u,%u],\"fence\":%" PRIu64
        ",\"pad\":\"",
        deed_text(id, note->id), note->part, deed_text(after, note->after),
        deed_text(settles, note->settles), note->through, note->journal,
        note->stream, note->inbox, note->fence);

    memset(out + len, 'a' + (int)(note->id % 26), pad);
    memcpy(out + (size_t)len + pad, "\"}", 2);
    return (size_t)len + pad + 2;
}

/* Is the rest of a note its padding, whole and of the right letter? */
static bool is_padding(pdr_str rest, deed_id id)
{
    size_t i = 0;

    while (i < rest.len && rest.ptr[i] == (char)('a' + (int)(id % 26)))
        i++;
    return rest.len - i == 2 && memcmp(rest.ptr + i, "\"}", 2) == 0;
}

bool note_read(struct note *out, pdr_str body)
{
    unsigned w[3] = {0}, n[3] = {0};
    char head[NOTE_TEXT];
    size_t len = body.len < sizeof(head) - 1 ? body.len : sizeof(head) - 1;
    int used = 0;

    if (body.ptr == NULL)
        return false;
    memcpy(head, body.ptr, len);
    head[len] = '\0';
    memset(out, 0, sizeof(*out));
    if (sscanf(head,
               "{\"deed\":\"w%u-%u\",\"part\":%u,\"after\":\"w%u-%u\","
               "\"settles\":\"w%u-%u\",\"through\":%" SCNu64
               ",\"adds\":[%u,%u,%u],\"fence\":%" SCNu64 ",\"pad\":\"%n",
               &w[0], &n[0], &out->part, &w[1], &n[1], &w[2], &n[2],
               &out->through, &out->journal, &out->stream, &out->inbox,
               &out->fence, &used) != 12 ||
        used == 0)
        return false;
    out->id = deed_id_of(w[0], n[0]);
    out->after = deed_id_of(w[1], n[1]);
    out->settles = deed_id_of(w[2], n[2]);
    return is_padding(pdr_str_n(body.ptr + used, body.len - (size_t)used),
                      out->id);
}

/* --- rows ----------------------------------------------------------------- */

struct view_row *view_add(struct view_rows *rows)
{
    if (rows->count == rows->cap) {
        rows->cap = rows->cap > 0 ? rows->cap * 2 : 32;
        rows->rows = realloc(rows->rows, rows->cap * sizeof(*rows->rows));
        ASSERT(rows->rows != NULL);
    }
    memset(&rows->rows[rows->count], 0, sizeof(*rows->rows));
    return &rows->rows[rows->count++];
}

void view_dispose(struct view *view)
{
    for (size_t i = 0; i < DEED_SESSIONS; i++) {
        struct view_session *session = &view->sessions[i];
        free(session->entries.rows);
        free(session->slots.rows);
        free(session->properties.rows);
        free(session->completions.rows);
        free(session->journal.rows);
        free(session->stream.rows);
        free(session->inbox.rows);
    }
    memset(view, 0, sizeof(*view));
}

const char *session_name(char out[DEED_TEXT], unsigned session)
{
    snprintf(out, DEED_TEXT, "s%u", session);
    return out;
}

/* --- loading -------------------------------------------------------------- */

static bool complain(unsigned session, const char *what)
{
    fprintf(stderr, "session s%u: %s\n", session, what);
    return false;
}

/* The writer of "w3"; 0 for "last". */
static bool read_key(deed_id *out, pdr_str key)
{
    char copy[DEED_TEXT];
    unsigned writer = 0;

    *out = 0;
    if (pdr_str_equal(pdr_str_c("last"), key))
        return true;
    if (key.len >= sizeof(copy))
        return false;
    memcpy(copy, key.ptr, key.len);
    copy[key.len] = '\0';
    if (sscanf(copy, "w%u", &writer) != 1)
        return false;
    *out = writer;
    return true;
}

static bool add_completion(struct view_rows *rows, const pdr_completion *from,
                           uint64_t epoch)
{
    struct view_row *row = view_add(rows);

    row->n = from->first_seq;
    row->last = from->last_seq;
    row->ended = from->outcome.ptr != NULL;
    return deed_read(&row->key, from->correlation_id) &&
           (from->epoch == 0 || from->epoch == epoch) &&
           (!row->ended ||
            (note_read(&row->note, from->outcome) && row->note.id == row->key));
}

static bool add_entry(struct view_rows *rows, const pdr_entry *from)
{
    struct view_row *row = view_add(rows);

    row->n = from->seq;
    return note_read(&row->note, from->body) &&
           deed_read(&row->key, from->correlation_id) &&
           row->key == row->note.id &&
           from->kind ==
               (row->note.part == 0 ? PDR_ROW_REQUEST : PDR_ROW_RESPONSE);
}

static bool add_work(struct view_rows *rows, const pdr_work *from)
{
    struct view_row *row = view_add(rows);

    row->n = from->n;
    return note_read(&row->note, from->body);
}

static bool add_named(struct view_rows *rows, pdr_str key, pdr_str value)
{
    struct view_row *row = view_add(rows);

    return read_key(&row->key, key) && note_read(&row->note, value);
}

static bool add_row(struct view_session *session, const pdr_page *page,
                    pdr_read_what what, size_t i)
{
    if (what == PDR_READ_ENTRIES)
        return add_entry(&session->entries, &page->entries[i]);
    if (what == PDR_READ_SLOTS)
        return add_named(&session->slots, page->slots[i].key,
                         page->slots[i].value);
    if (what == PDR_READ_PROPERTIES)
        return add_named(&session->properties, page->properties[i].key,
                         page->properties[i].value);
    if (what == PDR_READ_COMPLETIONS)
        return add_completion(&session->completions, &page->completions[i],
                              session->epoch);
    if (what == PDR_READ_JOURNAL)
        return add_work(&session->journal, &page->work[i]);
    if (what == PDR_READ_STREAM)
        return add_work(&session->stream, &page->work[i]);
    return add_work(&session->inbox, &page->work[i]);
}

static bool load_head(struct view_session *session, unsigned number,
                      const pdr_head *head)
{
    session->is_there = true;
    session->epoch = head->epoch;
    session->revision = head->revision;
    session->commits = head->commits;
    session->next_seq = head->next_seq;
    session->journal_first = head->journal_first;
    session->journal_next = head->journal_next;
    session->fence = head->lease.fence;
    if (head->lease.owner.ptr != NULL &&
        !deed_read(&session->owner, head->lease.owner))
        return complain(number, "a lease that nobody took");
    return true;
}

/* All rows of one kind, page by page. */
static bool load_rows(struct view_session *session, unsigned number,
                      pdr_store *store, pdr_read_what what)
{
    char id[DEED_TEXT], cursor[1024];
    pdr_query query = {.what = what, .limit = 200};
    pdr_err err = PDR_ERR_INIT;
    bool is_fine = true;

    query.ref.id = pdr_str_c(session_name(id, number));
    do {
        pdr_page *page = NULL;
        if (pdr_store_read(&page, store, &query, &err) != PDR_OK)
            return complain(number, err.message);
        for (size_t i = 0; is_fine && i < page->count; i++)
            is_fine = add_row(session, page, what, i);
        if (!is_fine)
            complain(number, "a row that no writer wrote");
        query.after = pdr_str_n(NULL, 0);
        if (page->next.ptr != NULL && page->next.len < sizeof(cursor)) {
            memcpy(cursor, page->next.ptr, page->next.len);
            query.after = pdr_str_n(cursor, page->next.len);
        }
        pdr_page_free(page);
    } while (is_fine && query.after.ptr != NULL);
    return is_fine;
}

static bool load_frame(struct view_session *session, unsigned number,
                       pdr_store *store)
{
    char id[DEED_TEXT];
    pdr_query query = {.what = PDR_READ_FRAME};
    pdr_err err = PDR_ERR_INIT;
    pdr_page *page = NULL;
    struct note note;
    bool is_fine = false;

    query.ref.id = pdr_str_c(session_name(id, number));
    if (pdr_store_read(&page, store, &query, &err) != PDR_OK)
        return complain(number, err.message);
    is_fine = note_read(&note, page->frame);
    session->frame = note.id;
    pdr_page_free(page);
    return is_fine || complain(number, "a frame that no writer wrote");
}

static bool load_session(struct view_session *session, unsigned number,
                         pdr_store *store)
{
    static const pdr_read_what kinds[] = {
        PDR_READ_ENTRIES,     PDR_READ_SLOTS,   PDR_READ_PROPERTIES,
        PDR_READ_COMPLETIONS, PDR_READ_JOURNAL, PDR_READ_STREAM,
        PDR_READ_INBOX};
    char id[DEED_TEXT];
    pdr_query query = {.what = PDR_READ_HEAD};
    pdr_err err = PDR_ERR_INIT;
    pdr_page *page = NULL;
    bool is_fine = false;
    pdr_rc rc = PDR_OK;

    query.ref.id = pdr_str_c(session_name(id, number));
    rc = pdr_store_read(&page, store, &query, &err);
    if (rc == PDR_ENOTFOUND)
        return true;
    if (rc != PDR_OK)
        return complain(number, err.message);
    is_fine = load_head(session, number, &page->head);
    pdr_page_free(page);
    is_fine = is_fine && load_frame(session, number, store);
    for (size_t i = 0; is_fine && i < sizeof(kinds) / sizeof(kinds[0]); i++)
        is_fine = load_rows(session, number, store, kinds[i]);
    return is_fine;
}

bool view_load(struct view *out, pdr_store *store)
{
    bool is_fine = true;

    for (unsigned i = 0; is_fine && i < DEED_SESSIONS; i++)
        is_fine = load_session(&out->sessions[i], i, store);
    return is_fine;
}
