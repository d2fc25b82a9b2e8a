/*
 * compose.c - a frame and the rows of a session, as bytes of one document.
 *
 * WHY  Most of a document is copied: texts of the frame, values of rows, bodies
 *      of entries in the shape that the frame has. What is decided here is what
 *      stands between them when rows have come or gone.
 *
 *      wrapper { session, additionalProperties }   if the session has
 *        └─ bundle { perdure.document, stateBag }  properties or a bag, and the
 *             └─ pieces of the frame               frame has no place for them
 *
 * INVARIANTS
 *   C1  With the rows that came in with the frame, and no others, the bytes are
 *       those of the document that came in.
 *   C2  A member that is left out takes its comma and its white space along.
 *   C3  Memory: one page of entries, or the one entry that is larger.
 */
#include <inttypes.h>

#include "export.h"

#include <perdure/datetime.h>
#include <perdure/json.h>

/* Bytes that are gathered before they go out, and of a page of entries. */
#define GATHER_BYTES ((size_t)64 * 1024)
#define PAGE_BYTES   ((size_t)1024 * 1024)

/* --- the way out ----------------------------------------------------------
 */

static pdr_rc send(struct pdr__compose *c, pdr_str bytes, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (bytes.len == 0)
        return PDR_OK;
    rc = c->fn(bytes, err, c->arg);
    if (rc == PDR_OK)
        c->report.bytes += bytes.len;
    return rc;
}

static pdr_rc flush(struct pdr__compose *c, pdr_err *err)
{
    pdr_rc rc = send(c, pdr_buf_str(&c->out), err);

    pdr_buf_clear(&c->out);
    return rc;
}

static pdr_rc put(struct pdr__compose *c, pdr_str bytes, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (bytes.len > GATHER_BYTES - c->out.len)
        rc = flush(c, err);
    if (rc != PDR_OK)
        return rc;
    return bytes.len >= GATHER_BYTES ? send(c, bytes, err)
                                     : pdr_buf_append(&c->out, bytes, err);
}

static pdr_rc put_all(struct pdr__compose *c, const pdr_str *texts,
                      size_t count, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; rc == PDR_OK && i < count; i++)
        rc = put(c, texts[i], err);
    return rc;
}

/* --- entries --------------------------------------------------------------
 */

/* The list that is being written. */
struct entries {
    struct pdr__compose *c;
    const struct pdr__entries *piece;
    pdr_str separator; /* of the next one; without a pointer: the usual one */
    uint64_t written;
};

/* What stands in front of the next entry. One that was not the first when it
 * came in has a comma in its separator; one that was has none. */
static pdr_rc put_separator(struct entries *e, pdr_err *err)
{
    pdr_str own = e->separator;
    const char *comma = NULL;
    pdr_rc rc = PDR_OK;

    e->separator = pdr_str_n(NULL, 0);
    if (own.ptr == NULL)
        return put(e->c, e->written == 0 ? e->piece->first : e->piece->usual,
                   err);
    comma = own.len > 0 ? memchr(own.ptr, ',', own.len) : NULL;
    if (e->written == 0 && comma != NULL) {
        size_t front = (size_t)(comma - own.ptr);

        rc = put(e->c, pdr_str_n(own.ptr, front), err);
        own = pdr_str_n(comma + 1, own.len - front - 1);
    } else if (e->written > 0 && comma == NULL) {
        rc = put(e->c, PDR_LIT(","), err);
    }
    return rc == PDR_OK ? put(e->c, own, err) : rc;
}

/* A pdr__message_fn. */
static pdr_rc put_body(pdr_str body, pdr_err *err, void *arg)
{
    struct entries *e = arg;
    pdr_rc rc = put_separator(e, err);

    if (rc == PDR_OK)
        rc = put(e->c, body, err);
    e->written++;
    return rc;
}

static pdr_rc put_entry(struct entries *e, const pdr_entry *entry, pdr_err *err)
{
    e->separator = entry->separator;
    e->c->report.entries++;
    if (pdr__entry_fits(entry, e->c->frame.shape))
        return put_body(entry->body, err, e);
    return pdr__entry_project(entry, &e->c->frame, err, put_body, e);
}

/* A page that begins with entry `seq`. */
static pdr_rc read_entries(pdr_page **out, const struct pdr__compose *c,
                           uint64_t seq, pdr_err *err)
{
    pdr_query query = {.what = PDR_READ_ENTRIES,
                       .ref = c->head->ref,
                       .limit = PDR_MAX_PAGE_ROWS,
                       .max_bytes = PAGE_BYTES,
                       .from = seq};
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = pdr_store_read(out, c->store, &query, &why);

    if (rc == PDR_ENOTFOUND)
        return pdr__session_changed(&c->head->ref, err);
    if (rc != PDR_OK) {
        if (err != NULL)
            *err = why;
        return rc;
    }
    if ((*out)->head.epoch == c->head->epoch && (*out)->count > 0 &&
        (*out)->entries[0].seq == seq)
        return PDR_OK;
    pdr_page_free(*out);
    *out = NULL;
    return pdr__session_changed(&c->head->ref, err);
}

static pdr_rc put_entries(struct pdr__compose *c,
                          const struct pdr__entries *piece, pdr_err *err)
{
    struct entries e = {c, piece, {NULL, 0}, 0};
    uint64_t seq = c->head->first_seq;
    pdr_rc rc = PDR_OK;

    if (seq == c->head->next_seq)
        return put(c, piece->empty, err);
    rc = put(c, piece->open, err);
    while (rc == PDR_OK && seq < c->head->next_seq) {
        pdr_page *page = NULL;

        rc = read_entries(&page, c, seq, err);
        for (size_t i = 0;
             rc == PDR_OK && i < page->count && seq < c->head->next_seq;
             i++, seq++)
            rc = put_entry(&e, &page->entries[i], err);
        pdr_page_free(page);
    }
    return rc == PDR_OK ? put(c, piece->close, err) : rc;
}

/* --- the expiry -----------------------------------------------------------
 */

/* The expiry of the head as a string, in UTC; nothing if there is none, or if
 * no date can say it. */
static pdr_rc date_text(pdr_buf *out, const pdr_head *head, pdr_err *err)
{
    const int64_t least = -PDR_TICKS_UNIX_EPOCH / PDR_TICKS_PER_MS;
    const int64_t most =
        (PDR_MAX_TICKS - PDR_TICKS_UNIX_EPOCH) / PDR_TICKS_PER_MS;
    int64_t ms = head->expiry_ms;
    pdr_datetime at;
    pdr_rc rc = PDR_OK;

    if (ms < least || ms > most)
        return PDR_OK;
    at = pdr_datetime_utc(PDR_TICKS_UNIX_EPOCH + ms * PDR_TICKS_PER_MS);
    rc = pdr_buf_append(out, PDR_LIT("\""), err);
    if (rc == PDR_OK)
        rc = pdr_datetime_write(out, &at, PDR_DATETIME_OURS_Z, err);
    return rc == PDR_OK ? pdr_buf_append(out, PDR_LIT("\""), err) : rc;
}

static pdr_rc put_expiry(struct pdr__compose *c,
                         const struct pdr__expiry *piece, pdr_err *err)
{
    const pdr_head *head = c->head;
    bool empty = head->first_seq == head->next_seq;
    pdr_buf date = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    if (head->expiry_ms != piece->ms)
        rc = date_text(&date, head, err);
    if (rc == PDR_OK && date.len > 0) {
        const pdr_str dated[] = {
            empty && piece->first.ptr != NULL ? piece->first : piece->open,
            pdr_buf_str(&date), piece->close};

        rc = put_all(c, dated, PDR_COUNT(dated), err);
    } else if (rc == PDR_OK) {
        rc = put(c,
                 empty && piece->empty.ptr != NULL ? piece->empty
                 : head->expiry_ms == piece->ms    ? piece->text
                                                   : piece->never,
                 err);
    }
    pdr_buf_dispose(&date);
    return rc;
}

/* --- members --------------------------------------------------------------
 */

/* The object that is being written. */
struct object {
    struct pdr__compose *c;
    const struct pdr__members *members;
    struct pdr__held *rows;
    const struct pdr__map *named; /* keys that members of the frame have */
    uint64_t *written;            /* rows, for the report */
    bool any;                     /* a member was written */
};

/* Would these pieces give a byte? */
static bool gives_bytes(const struct pdr__compose *c,
                        const struct pdr__pieces *pieces)
{
    for (size_t i = 0; i < pieces->count; i++) {
        const struct pdr__piece *piece = &pieces->list[i];

        if (piece->text.len > 0)
            return true;
        if (piece->entries != NULL && (c->head->first_seq < c->head->next_seq ||
                                       piece->entries->empty.len > 0))
            return true;
    }
    return false;
}

static pdr_rc put_pieces(struct pdr__compose *c,
                         const struct pdr__pieces *pieces, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; rc == PDR_OK && i < pieces->count; i++) {
        const struct pdr__piece *piece = &pieces->list[i];

        rc = piece->kind == PDR_PIECE_ENTRIES
                 ? put_entries(c, piece->entries, err)
                 : put(c, piece->text, err);
    }
    return rc;
}

/* A comma, or what stands before the first member. */
static pdr_rc put_between(struct object *o, pdr_err *err)
{
    const pdr_str begin[] = {o->members->open, PDR_LIT("{")};
    bool first = !o->any;

    o->any = true;
    return first ? put_all(o->c, begin, PDR_COUNT(begin), err)
                 : put(o->c, PDR_LIT(","), err);
}

/* A member of the frame; the `after` of the last one stands before the end of
 * the object. */
static pdr_rc put_member(struct object *o, const struct pdr__member *member,
                         bool last, pdr_err *err)
{
    struct pdr__pair row = {{NULL, 0}, {NULL, 0}};
    bool found = true;
    pdr_rc rc = PDR_OK;

    if (member->key.ptr != NULL)
        rc = pdr__held_find(&row, &found, o->rows, member->key, err);
    if (rc != PDR_OK || !found ||
        (member->has_pieces && !gives_bytes(o->c, &member->pieces)))
        return rc;
    rc = put_between(o, err);
    if (rc == PDR_OK)
        rc = put(o->c, member->before, err);
    if (rc == PDR_OK)
        rc = put(o->c, member->name, err);
    if (rc == PDR_OK && member->has_pieces)
        rc = put_pieces(o->c, &member->pieces, err);
    if (rc == PDR_OK && !member->has_pieces) {
        *o->written += 1;
        rc = put(o->c, row.value, err);
    }
    if (rc == PDR_OK && !last)
        rc = put(o->c, member->after, err);
    return rc;
}

/* What stands behind the name of a member: colon and white space. */
static pdr_str behind_name(pdr_str name)
{
    size_t i = name.len;

    while (name.ptr[i - 1] != ':')
        i--;
    for (i--; name.ptr[i - 1] != '"';)
        i--;
    return pdr_str_n(name.ptr + i, name.len - i);
}

/* The key of a new row as a name. Those of slots are escaped already. */
static pdr_rc put_key(struct object *o, pdr_str key, pdr_err *err)
{
    const pdr_str slot[] = {PDR_LIT("\""), key, PDR_LIT("\"")};
    pdr_value *name = NULL;
    pdr_str raw = {NULL, 0};
    pdr_rc rc = PDR_OK;

    if (o->rows->what == PDR_READ_SLOTS)
        return put_all(o->c, slot, PDR_COUNT(slot), err);
    rc = pdr_value_new_string(&name, key, err);
    if (rc == PDR_OK && pdr_value_raw(&raw, name))
        rc = put(o->c, raw, err);
    pdr_value_free(name);
    return rc;
}

/* Rows that the frame does not know, behind all others. */
static pdr_rc put_new_rows(struct object *o, pdr_err *err)
{
    const struct pdr__members *m = o->members;
    const struct pdr__member *last =
        m->count > 0 ? &m->list[m->count - 1] : NULL;
    pdr_str before = last != NULL ? last->before : PDR_LIT("");
    pdr_str colon = last != NULL ? behind_name(last->name) : PDR_LIT(":");
    struct pdr__pair row = {{NULL, 0}, {NULL, 0}};
    bool found = false;
    pdr_rc rc = PDR_OK;

    pdr__held_begin(o->rows);
    rc = pdr__held_next(&row, &found, o->rows, err);
    while (rc == PDR_OK && found) {
        if (!pdr__map_get(NULL, o->named, row.key)) {
            rc = put_between(o, err);
            if (rc == PDR_OK)
                rc = put(o->c, before, err);
            if (rc == PDR_OK)
                rc = put_key(o, row.key, err);
            if (rc == PDR_OK)
                rc = put(o->c, colon, err);
            if (rc == PDR_OK)
                rc = put(o->c, row.value, err);
            *o->written += 1;
        }
        if (rc == PDR_OK)
            rc = pdr__held_next(&row, &found, o->rows, err);
    }
    return rc;
}

static pdr_rc put_object(struct object *o, pdr_err *err)
{
    const struct pdr__members *m = o->members;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; rc == PDR_OK && i < m->count; i++)
        rc = put_member(o, &m->list[i], i + 1 == m->count, err);
    if (rc == PDR_OK)
        rc = put_new_rows(o, err);
    if (rc != PDR_OK)
        return rc;
    if (o->any) {
        pdr_str tail = m->count > 0 ? m->list[m->count - 1].after : PDR_LIT("");
        const pdr_str end[] = {tail, PDR_LIT("}"), m->close};

        return put_all(o->c, end, PDR_COUNT(end), err);
    }
    const pdr_str blank[] = {m->open, PDR_LIT("{"), m->blank, PDR_LIT("}"),
                             m->close};
    return m->empty.ptr != NULL ? put(o->c, m->empty, err)
                                : put_all(o->c, blank, PDR_COUNT(blank), err);
}

/* What a document has that was never told where its rows stand. */
static const struct pdr__members plain_members = {{"", 0},   {"", 0}, {"", 0},
                                                  {NULL, 0}, NULL,    0};

static pdr_rc put_bag(struct pdr__compose *c,
                      const struct pdr__members *members, pdr_err *err)
{
    struct object o = {
        c, members, &c->bag, &c->frame.bag_keys, &c->report.slots, false};

    return put_object(&o, err);
}

static pdr_rc put_properties(struct pdr__compose *c,
                             const struct pdr__members *members, pdr_err *err)
{
    struct object o = {c,
                       members,
                       &c->properties,
                       &c->frame.property_keys,
                       &c->report.properties,
                       false};

    return put_object(&o, err);
}

/* --- the document ---------------------------------------------------------
 */

/* Pieces of a session: text, entries, expiry, bag. */
static pdr_rc put_session_pieces(struct pdr__compose *c,
                                 const struct pdr__pieces *pieces, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; rc == PDR_OK && i < pieces->count; i++) {
        const struct pdr__piece *piece = &pieces->list[i];
        const struct pdr__pieces one = {piece, 1};

        if (piece->kind == PDR_PIECE_BAG)
            rc = put_bag(c, piece->members, err);
        else if (piece->kind == PDR_PIECE_EXPIRY)
            rc = put_expiry(c, piece->expiry, err);
        else
            rc = put_pieces(c, &one, err);
    }
    return rc;
}

/* Does a wrapper of our own have to be written? */
static bool needs_wrapper(const struct pdr__compose *c)
{
    return !c->bare && c->frame.properties == NULL && c->head->properties > 0;
}

/* A state document that something has to be put beside. */
static bool needs_bundle(const struct pdr__compose *c)
{
    return pdr__frame_is_state(&c->frame) &&
           (c->head->slots > 0 || needs_wrapper(c));
}

static pdr_rc put_session(struct pdr__compose *c,
                          const struct pdr__pieces *pieces, pdr_err *err)
{
    pdr_buf text = PDR_BUF_INIT(PDR_MAX_ROW_BYTES);
    pdr_rc rc = PDR_OK;

    if (!needs_bundle(c))
        return put_session_pieces(c, pieces, err);
    rc = pdr__bundle_open(&text, c->head, err);
    if (rc == PDR_OK)
        rc = put(c, pdr_buf_str(&text), err);
    if (rc == PDR_OK)
        rc = put_session_pieces(c, pieces, err);
    pdr_buf_clear(&text);
    if (rc == PDR_OK)
        rc = pdr__bundle_middle(&text, c->head, err);
    if (rc == PDR_OK)
        rc = put(c, pdr_buf_str(&text), err);
    if (rc == PDR_OK)
        rc = put_bag(c, &plain_members, err);
    if (rc == PDR_OK)
        rc = put(c, PDR_LIT("}"), err);
    pdr_buf_dispose(&text);
    return rc;
}

/* A document that came in with its wrapper. */
static pdr_rc put_wrapped(struct pdr__compose *c, pdr_err *err)
{
    const struct pdr__pieces *pieces = &c->frame.pieces;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; rc == PDR_OK && i < pieces->count; i++) {
        const struct pdr__piece *piece = &pieces->list[i];

        if (piece->kind == PDR_PIECE_SESSION)
            rc = put_session(c, &piece->session, err);
        else if (piece->kind == PDR_PIECE_PROPERTIES)
            rc = put_properties(c, piece->members, err);
        else
            rc = put(c, piece->text, err);
    }
    return rc;
}

static pdr_rc put_document(struct pdr__compose *c, pdr_err *err)
{
    const struct pdr__frame *frame = &c->frame;
    pdr_rc rc = PDR_OK;

    if (frame->session != NULL)
        return c->bare ? put_session(c, &frame->session->session, err)
                       : put_wrapped(c, err);
    if (!needs_wrapper(c))
        return put_session(c, &frame->pieces, err);
    rc = put(c, PDR_LIT("{\"session\":"), err);
    if (rc == PDR_OK)
        rc = put_session(c, &frame->pieces, err);
    if (rc == PDR_OK)
        rc = put(c, PDR_LIT(",\"additionalProperties\":"), err);
    if (rc == PDR_OK)
        rc = put_properties(c, &plain_members, err);
    return rc == PDR_OK ? put(c, PDR_LIT("}"), err) : rc;
}

pdr_rc pdr__compose_write(struct pdr__compose *c, pdr_err *err)
{
    pdr_rc rc = pdr_buf_reserve(&c->out, GATHER_BYTES, err);

    if (rc == PDR_OK)
        rc = put_document(c, err);
    return rc == PDR_OK ? flush(c, err) : rc;
}

/* --- before the first byte ------------------------------------------------
 */

/* Does a member of the bag hold the entries, and show? */
static bool bag_has_history(const struct pdr__compose *c)
{
    const struct pdr__pieces *pieces = pdr__frame_history(&c->frame);

    return pieces != NULL && gives_bytes(c, pieces);
}

pdr_rc pdr__compose_check(struct pdr__compose *c, pdr_err *err)
{
    pdr_str key = pdr__frame_history_key(&c->frame);
    struct pdr__pair row = {{NULL, 0}, {NULL, 0}};
    bool found = false;
    pdr_rc rc = PDR_OK;

    if (c->frame.bag == NULL && !pdr__frame_is_state(&c->frame) &&
        c->head->slots > 0)
        return PDR_FAIL(err, CANNOT_EXPORT,
                        "the document is of the time before sessions had a "
                        "bag, and the session has %" PRIu64
                        " slots by now: remove them, or import the session "
                        "converted",
                        c->head->slots);
    if (!bag_has_history(c) || pdr__map_get(NULL, &c->frame.bag_keys, key))
        return PDR_OK;
    rc = pdr__held_find(&row, &found, &c->bag, key, err);
    if (rc == PDR_OK && found)
        return PDR_FAIL(err, CANNOT_EXPORT,
                        "the slot '%.*s' has the name under which the history "
                        "is exported: remove the slot",
                        (int)key.len, key.ptr);
    return rc;
}
