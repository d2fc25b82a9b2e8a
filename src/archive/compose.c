/*
 * compose.c - a frame and the rows of a session, as bytes of one document.
 *
 * WHY  Most of a document is copied: texts of the frame, values of rows, bodies
 *      of entries in the shape that the frame has. What is decided here is what
 *      comes between them when rows have come or gone.
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

static pdr_rc send_bytes(struct pdr__compose *c, pdr_str bytes, pdr_err *err)
{
    pdr_rc rc = bytes.len > 0 ? c->fn(bytes, err, c->arg) : PDR_OK;

    if (rc == PDR_OK)
        c->report.bytes += bytes.len;
    return rc;
}

static pdr_rc send_gathered(struct pdr__compose *c, pdr_err *err)
{
    pdr_rc rc = send_bytes(c, pdr_buf_str(&c->out), err);

    pdr_buf_clear(&c->out);
    return rc;
}

static pdr_rc put_text(struct pdr__compose *c, pdr_str bytes, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (bytes.len > GATHER_BYTES - c->out.len)
        rc = send_gathered(c, err);
    if (rc != PDR_OK)
        return rc;
    return bytes.len >= GATHER_BYTES ? send_bytes(c, bytes, err)
                                     : pdr_buf_append(&c->out, bytes, err);
}

static pdr_rc put_texts(struct pdr__compose *c, const pdr_str *texts,
                        size_t count, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; rc == PDR_OK && i < count; i++)
        rc = put_text(c, texts[i], err);
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

/* A pdr__message_fn. The separator of an entry that was not the first when it
 * came in has a comma; that of one that was the first has none. */
static pdr_rc put_body(pdr_str body, pdr_err *err, void *arg)
{
    struct entries *e = arg;
    pdr_str own = e->separator, front = {NULL, 0};
    bool is_first = e->written++ == 0;
    const char *comma =
        own.len > 0 ? memchr(own.ptr, ',', own.len) : (const char *)NULL;

    e->separator = pdr_str_n(NULL, 0);
    if (own.ptr == NULL) {
        own = is_first ? e->piece->first : e->piece->usual;
    } else if (is_first && comma != NULL) {
        front = pdr_str_n(own.ptr, (size_t)(comma - own.ptr));
        own = pdr_str_n(comma + 1, own.len - front.len - 1);
    } else if (!is_first && comma == NULL) {
        front = PDR_LIT(",");
    }
    const pdr_str texts[] = {front, own, body};
    return put_texts(e->c, texts, PDR_COUNT(texts), err);
}

/* A page that begins with entry `seq`. */
static pdr_rc read_entries(pdr_page **out, const struct pdr__compose *c,
                           uint64_t seq, pdr_err *err)
{
    const pdr_query query = {.what = PDR_READ_ENTRIES,
                             .ref = c->head->ref,
                             .limit = PDR_MAX_PAGE_ROWS,
                             .max_bytes = PAGE_BYTES,
                             .from = seq};
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = pdr_store_read(out, c->store, &query, &why);

    if (rc != PDR_OK && rc != PDR_ENOTFOUND)
        return pdr__err_pass(err, &why);
    if (rc == PDR_OK && (*out)->head.epoch == c->head->epoch &&
        (*out)->count > 0 && (*out)->entries[0].seq == seq)
        return PDR_OK;
    pdr_page_free(*out);
    *out = NULL;
    return pdr__session_changed(&c->head->ref, err);
}

static pdr_rc put_entries(struct pdr__compose *c,
                          const struct pdr__entries *piece, pdr_err *err)
{
    struct entries e = {c, piece, {NULL, 0}, 0};
    uint64_t seq = c->head->first_seq, end = c->head->next_seq;
    pdr_page *page = NULL;
    pdr_rc rc = PDR_OK;

    if (seq == end)
        return put_text(c, piece->empty, err);
    PDR_TRY(put_text(c, piece->open, err));
    while (seq < end) {
        PDR_TRY(read_entries(&page, c, seq, err));
        for (size_t i = 0; i < page->count && seq < end; i++, seq++) {
            const pdr_entry *entry = &page->entries[i];

            e.separator = entry->separator;
            c->report.entries++;
            PDR_TRY(
                pdr__entry_fits(entry, c->frame.shape)
                    ? put_body(entry->body, err, &e)
                    : pdr__entry_project(entry, &c->frame, err, put_body, &e));
        }
        pdr_page_free(page);
        page = NULL;
    }
    PDR_TRY(put_text(c, piece->close, err));
done:
    pdr_page_free(page);
    return rc;
}

/* --- the expiry -----------------------------------------------------------
 */

static pdr_rc put_expiry(struct pdr__compose *c,
                         const struct pdr__expiry *piece, pdr_err *err)
{
    const int64_t least = -PDR_TICKS_UNIX_EPOCH / PDR_TICKS_PER_MS;
    const int64_t most =
        (PDR_MAX_TICKS - PDR_TICKS_UNIX_EPOCH) / PDR_TICKS_PER_MS;
    int64_t ms = c->head->expiry_ms;
    bool is_empty = c->head->first_seq == c->head->next_seq;
    pdr_buf date = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    if (ms == piece->ms || ms < least || ms > most) { /* no date can say it */
        rc = put_text(c,
                      is_empty && piece->empty.ptr != NULL ? piece->empty
                      : ms == piece->ms                    ? piece->text
                                                           : piece->never,
                      err);
    } else {
        pdr_datetime at =
            pdr_datetime_utc(PDR_TICKS_UNIX_EPOCH + ms * PDR_TICKS_PER_MS);

        PDR_TRY(pdr_datetime_write(&date, &at, PDR_DATETIME_OURS_Z, err));
        const pdr_str texts[] = {
            is_empty && piece->first.ptr != NULL ? piece->first : piece->open,
            PDR_LIT("\""), pdr_buf_str(&date), PDR_LIT("\""), piece->close};
        rc = put_texts(c, texts, PDR_COUNT(texts), err);
    }
done:
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

static pdr_rc put_pieces(struct pdr__compose *c,
                         const struct pdr__pieces *pieces, pdr_err *err);

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

/* A comma, or what comes before the first member. */
static pdr_rc put_between(struct object *o, pdr_err *err)
{
    const pdr_str begin[] = {o->members->open, PDR_LIT("{")};
    bool first = !o->any;

    o->any = true;
    return first ? put_texts(o->c, begin, PDR_COUNT(begin), err)
                 : put_text(o->c, PDR_LIT(","), err);
}

/* A member of the frame; the `after` of the last one comes before the end of
 * the object. */
static pdr_rc put_member(struct object *o, const struct pdr__member *member,
                         bool last, pdr_err *err)
{
    struct pdr__pair row = {{NULL, 0}, {NULL, 0}};
    bool found = true;
    pdr_rc rc = PDR_OK;

    if (member->key.ptr != NULL)
        PDR_TRY(pdr__held_find(&row, &found, o->rows, member->key, err));
    if (!found || (member->has_pieces && !gives_bytes(o->c, &member->pieces)))
        goto done;
    PDR_TRY(put_between(o, err));
    PDR_TRY(put_text(o->c, member->before, err));
    PDR_TRY(put_text(o->c, member->name, err));
    if (member->has_pieces)
        PDR_TRY(put_pieces(o->c, &member->pieces, err));
    else
        PDR_TRY(put_text(o->c, row.value, err));
    *o->written += !member->has_pieces;
    if (!last)
        PDR_TRY(put_text(o->c, member->after, err));
done:
    return rc;
}

/* What comes after the name of a member: colon and white space. */
static pdr_str after_name(pdr_str name)
{
    size_t i = name.len;

    while (name.ptr[i - 1] != ':')
        i--;
    for (i--; name.ptr[i - 1] != '"';)
        i--;
    return pdr_str_n(name.ptr + i, name.len - i);
}

/* Rows that the frame does not know, after all others. */
static pdr_rc put_new_rows(struct object *o, pdr_err *err)
{
    const struct pdr__members *m = o->members;
    const struct pdr__member *last =
        m->count > 0 ? &m->list[m->count - 1] : NULL;
    pdr_str before = last != NULL ? last->before : PDR_LIT("");
    pdr_str colon = last != NULL ? after_name(last->name) : PDR_LIT(":");
    struct pdr__pair row = {{NULL, 0}, {NULL, 0}};
    pdr_value *name = NULL;
    bool found = true;
    pdr_rc rc = PDR_OK;

    pdr__held_begin(o->rows);
    for (;;) {
        PDR_TRY(pdr__held_next(&row, &found, o->rows, err));
        if (!found)
            goto done;
        if (pdr__map_get(NULL, o->named, row.key))
            continue;
        PDR_TRY(put_between(o, err));
        if (o->rows->what == PDR_READ_SLOTS) { /* its key is escaped already */
            const pdr_str texts[] = {before,        PDR_LIT("\""), row.key,
                                     PDR_LIT("\""), colon,         row.value};

            PDR_TRY(put_texts(o->c, texts, PDR_COUNT(texts), err));
        } else {
            pdr_str raw = {NULL, 0};

            PDR_TRY(pdr_value_new_string(&name, row.key, err));
            (void)pdr_value_raw(&raw, name);
            const pdr_str texts[] = {before, raw, colon, row.value};
            PDR_TRY(put_texts(o->c, texts, PDR_COUNT(texts), err));
            pdr_value_free(name);
            name = NULL;
        }
        *o->written += 1;
    }
done:
    pdr_value_free(name);
    return rc;
}

/* The bag, or the properties. */
static pdr_rc put_object(struct pdr__compose *c, bool is_bag,
                         const struct pdr__members *m, pdr_err *err)
{
    struct object o = {c,
                       m,
                       is_bag ? &c->bag : &c->properties,
                       is_bag ? &c->frame.bag_keys : &c->frame.property_keys,
                       is_bag ? &c->report.slots : &c->report.properties,
                       false};
    const pdr_str end[] = {m->count > 0 ? m->list[m->count - 1].after
                                        : PDR_LIT(""),
                           PDR_LIT("}"), m->close};
    const pdr_str blank[] = {m->open, PDR_LIT("{"), m->blank, PDR_LIT("}"),
                             m->close};
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < m->count; i++)
        PDR_TRY(put_member(&o, &m->list[i], i + 1 == m->count, err));
    PDR_TRY(put_new_rows(&o, err));
    if (o.any)
        rc = put_texts(c, end, PDR_COUNT(end), err);
    else if (m->empty.ptr != NULL)
        rc = put_text(c, m->empty, err);
    else
        rc = put_texts(c, blank, PDR_COUNT(blank), err);
done:
    return rc;
}

/* --- the document ---------------------------------------------------------
 */

/* What a document has that was never told where its rows are. */
static const struct pdr__members plain_members = {{"", 0},   {"", 0}, {"", 0},
                                                  {NULL, 0}, NULL,    0};

/* Does a wrapper of our own have to be written? */
static bool needs_wrapper(const struct pdr__compose *c)
{
    return !c->bare && c->frame.properties == NULL && c->head->properties > 0;
}

/* A session; a state document that something has to be put beside is in a
 * bundle. */
static pdr_rc put_session(struct pdr__compose *c,
                          const struct pdr__pieces *pieces, pdr_err *err)
{
    pdr_buf text = PDR_BUF_INIT(PDR_MAX_ROW_BYTES);
    pdr_rc rc = PDR_OK;

    if (!pdr__frame_is_state(&c->frame) ||
        (c->head->slots == 0 && !needs_wrapper(c)))
        return put_pieces(c, pieces, err);
    PDR_TRY(pdr__bundle_open(&text, c->head, err));
    PDR_TRY(put_text(c, pdr_buf_str(&text), err));
    PDR_TRY(put_pieces(c, pieces, err));
    pdr_buf_clear(&text);
    PDR_TRY(pdr__bundle_middle(&text, c->head, err));
    PDR_TRY(put_text(c, pdr_buf_str(&text), err));
    PDR_TRY(put_object(c, true, &plain_members, err));
    PDR_TRY(put_text(c, PDR_LIT("}"), err));
done:
    pdr_buf_dispose(&text);
    return rc;
}

static pdr_rc put_pieces(struct pdr__compose *c,
                         const struct pdr__pieces *pieces, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; rc == PDR_OK && i < pieces->count; i++) {
        const struct pdr__piece *piece = &pieces->list[i];

        switch (piece->kind) {
        case PDR_PIECE_TEXT:
            rc = put_text(c, piece->text, err);
            break;
        case PDR_PIECE_ENTRIES:
            rc = put_entries(c, piece->entries, err);
            break;
        case PDR_PIECE_EXPIRY:
            rc = put_expiry(c, piece->expiry, err);
            break;
        case PDR_PIECE_BAG:
        case PDR_PIECE_PROPERTIES:
            rc = put_object(c, piece->kind == PDR_PIECE_BAG, piece->members,
                            err);
            break;
        case PDR_PIECE_SESSION:
            rc = put_session(c, &piece->session, err);
            break;
        }
    }
    return rc;
}

pdr_rc pdr__compose_write(struct pdr__compose *c, pdr_err *err)
{
    const struct pdr__frame *frame = &c->frame;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_buf_reserve(&c->out, GATHER_BYTES, err));
    if (frame->session != NULL && !c->bare) {
        PDR_TRY(put_pieces(c, &frame->pieces, err)); /* it has a wrapper */
    } else if (!needs_wrapper(c)) {
        PDR_TRY(put_session(c,
                            frame->session != NULL ? &frame->session->session
                                                   : &frame->pieces,
                            err));
    } else {
        PDR_TRY(put_text(c, PDR_LIT("{\"session\":"), err));
        PDR_TRY(put_session(c, &frame->pieces, err));
        PDR_TRY(put_text(c, PDR_LIT(",\"additionalProperties\":"), err));
        PDR_TRY(put_object(c, false, &plain_members, err));
        PDR_TRY(put_text(c, PDR_LIT("}"), err));
    }
    PDR_TRY(send_gathered(c, err));
done:
    return rc;
}

/* --- before the first byte ------------------------------------------------
 */

pdr_rc pdr__compose_check(struct pdr__compose *c, pdr_err *err)
{
    const struct pdr__pieces *history = pdr__frame_history(&c->frame);
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
    if (history == NULL || !gives_bytes(c, history) ||
        pdr__map_get(NULL, &c->frame.bag_keys, key))
        return PDR_OK;
    rc = pdr__held_find(&row, &found, &c->bag, key, err);
    if (rc == PDR_OK && found)
        return PDR_FAIL(err, CANNOT_EXPORT,
                        "the slot '%.*s' has the name under which the history "
                        "is exported: remove the slot",
                        (int)key.len, key.ptr);
    return rc;
}
