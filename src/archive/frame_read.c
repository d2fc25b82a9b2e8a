/*
 * frame_read.c - the frame of a session, read from its row.
 *
 * WHY  A frame says where rows are in a document, in a text that came out of
 *      a store. It is read into pieces and checked as a whole before anything
 *      is written, so that a reader of the document never gets the first half
 *      of one that has no second.
 *
 *      pieces of the document   text, entries, expiry, bag, properties, session
 *      pieces of the session    text, entries, expiry, bag
 *      pieces of a bag member   text, entries
 *      pieces of a property     text
 *
 * INVARIANTS of a frame that was read
 *   F1  The entries are in it once. The bag is in it once or not at all,
 *       and so does the expiry, of state documents alone.
 *   F2  A wrapper has a session and properties, each once; anything else
 *       has neither. So the session alone can always be told.
 *   F3  No two members take the value of the same row.
 *   F4  What comes between members and entries is white space, a comma where
 *       one has to be, and a quoted name: rows put between give JSON if the
 *       texts around them do.
 *
 * NOT HERE  Whether the texts are JSON: who wrote the frame took them from a
 *           document, and the row has a digest.
 */
#include "export.h"

#include <perdure/json.h>

/* Where a list of pieces is. */
enum level { IN_DOCUMENT, IN_SESSION, IN_BAG, IN_PROPERTIES };

struct reader {
    struct pdr__frame *frame;
    pdr_buf scratch; /* for texts with escapes */
};

static pdr_rc fail_at(const pdr_value *at, const char *what, pdr_err *err)
{
    return PDR_FAIL_AT(err, (size_t)pdr_value_offset(at), BAD_FRAME,
                       "the frame of the session cannot be used: at byte %lld "
                       "of it %s; verify the store and restore a backup",
                       (long long)pdr_value_offset(at), what);
}

/* --- texts ----------------------------------------------------------------
 */

static pdr_rc read_text(struct reader *r, pdr_str *out, const pdr_value *value,
                        pdr_err *err)
{
    char *copy = NULL;
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(value) != PDR_STRING ||
        pdr_value_has_lone_surrogate(value))
        return fail_at(value, "stands something else than a text", err);
    PDR_TRY(pdr_value_text(out, value, &r->scratch, err));
    if (out->len == 0)
        *out = PDR_LIT(""); /* there, and not absent */
    if (out->ptr != r->scratch.ptr)
        goto done;
    PDR_TRY(pdr__arena_strndup(&copy, &r->frame->memory, *out, err));
    out->ptr = copy;
done:
    return rc;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* White space and this many commas? */
static bool is_blank(pdr_str text, size_t commas)
{
    size_t found = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == ',')
            found++;
        else if (!is_space(text.ptr[i]))
            return false;
    }
    return found == commas;
}

/* A name in quotes, a colon, and white space around that? */
static bool is_name(pdr_str text)
{
    size_t i = 1;

    if (text.len == 0 || text.ptr[0] != '"')
        return false;
    for (; i < text.len && text.ptr[i] != '"'; i++) {
        if ((unsigned char)text.ptr[i] < 0x20u)
            return false;
        if (text.ptr[i] == '\\')
            i++;
    }
    for (i++; i < text.len && is_space(text.ptr[i]);)
        i++;
    return i < text.len && text.ptr[i] == ':' &&
           is_blank(pdr_str_n(text.ptr + i + 1, text.len - i - 1), 0);
}

/* --- objects --------------------------------------------------------------
 */

/* One text of an object. */
struct field {
    const char *name;
    pdr_str *to;
    bool optional; /* without a pointer if it is absent */
};

/* Read the texts of an object that has them and `others` members beside. */
static pdr_rc read_fields(struct reader *r, const pdr_value *object,
                          const struct field *fields, size_t count,
                          size_t others, pdr_err *err)
{
    size_t found = 0;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < count; i++) {
        const pdr_value *value = pdr_value_get_c(object, fields[i].name);

        *fields[i].to = pdr_str_n(NULL, 0);
        if (value == NULL && !fields[i].optional)
            return fail_at(object, "a member is missing", err);
        if (value == NULL)
            continue;
        found++;
        PDR_TRY(read_text(r, fields[i].to, value, err));
    }
    if (pdr_value_count(object) != found + others)
        rc = fail_at(object, "stands a member that nobody knows", err);
done:
    return rc;
}

/* Room for `count` things of `size` bytes, in arena. */
static pdr_rc make_list(void **out, struct reader *r, size_t count, size_t size,
                        pdr_err *err)
{
    size_t bytes = 0;

    *out = NULL;
    if (!pdr__mul_size(&bytes, count, size))
        return pdr__nomem(err);
    return pdr__arena_alloc(out, &r->frame->memory, bytes, err);
}

/* --- pieces ---------------------------------------------------------------
 */

static pdr_rc read_pieces(struct reader *r, struct pdr__pieces *out,
                          const pdr_value *value, enum level level,
                          pdr_err *err);

/* Is a part of the session outside of it? */
static bool is_outside(const struct reader *r, enum level level)
{
    return level == IN_DOCUMENT && r->frame->session != NULL;
}

static pdr_rc read_entries(struct reader *r, struct pdr__piece *out,
                           const pdr_value *value, enum level level,
                           pdr_err *err)
{
    struct pdr__entries *e = NULL;
    pdr_rc rc = PDR_OK;

    if (r->frame->entries != NULL || is_outside(r, level))
        return fail_at(value, "the entries stand a second time, or outside",
                       err);
    PDR_TRY(make_list((void **)&e, r, 1, sizeof(*e), err));
    const struct field fields[] = {{"open", &e->open, false},
                                   {"first", &e->first, false},
                                   {"usual", &e->usual, false},
                                   {"close", &e->close, false},
                                   {"empty", &e->empty, false}};
    PDR_TRY(read_fields(r, value, fields, PDR_COUNT(fields), 0, err));
    if (!is_blank(e->first, 0) || !is_blank(e->usual, 1))
        PDR_TRY(fail_at(value, "stands a separator that is none", err));
    out->kind = PDR_PIECE_ENTRIES;
    out->entries = e;
    r->frame->entries = e;
done:
    return rc;
}

static pdr_rc read_expiry(struct reader *r, struct pdr__piece *out,
                          const pdr_value *value, enum level level,
                          pdr_err *err)
{
    const pdr_value *ms = pdr_value_get_c(value, "ms");
    struct pdr__expiry *x = NULL;
    pdr_rc rc = PDR_OK;

    if (r->frame->expiry != NULL || is_outside(r, level))
        return fail_at(value, "the expiry stands a second time, or outside",
                       err);
    PDR_TRY(make_list((void **)&x, r, 1, sizeof(*x), err));
    const struct field fields[] = {
        {"text", &x->text, false},   {"open", &x->open, false},
        {"close", &x->close, false}, {"never", &x->never, false},
        {"first", &x->first, true},  {"empty", &x->empty, true}};
    x->ms = PDR_NEVER;
    if (ms == NULL || (pdr_value_kind(ms) != PDR_NULL &&
                       pdr_value_int64(&x->ms, ms, NULL) != PDR_OK))
        PDR_TRY(fail_at(value, "stands an expiry without a time", err));
    PDR_TRY(read_fields(r, value, fields, PDR_COUNT(fields), 1, err));
    out->kind = PDR_PIECE_EXPIRY;
    out->expiry = x;
    r->frame->expiry = x;
done:
    return rc;
}

static pdr_rc read_member(struct reader *r, struct pdr__member *out,
                          const pdr_value *value, enum level level,
                          pdr_err *err)
{
    const pdr_value *pieces = pdr_value_get_c(value, "pieces");
    struct pdr__map *named =
        level == IN_BAG ? &r->frame->bag_keys : &r->frame->property_keys;
    const struct field fields[] = {{"before", &out->before, false},
                                   {"name", &out->name, false},
                                   {"after", &out->after, false},
                                   {"key", &out->key, true}};
    void *old = NULL;
    pdr_rc rc = PDR_OK;

    memset(out, 0, sizeof(*out));
    PDR_TRY(read_fields(r, value, fields, PDR_COUNT(fields),
                        pieces != NULL ? 1 : 0, err));
    out->has_pieces = pieces != NULL;
    if (!is_blank(out->before, 0) || !is_blank(out->after, 0) ||
        !is_name(out->name))
        return fail_at(value, "stands a name that is none", err);
    if (pieces != NULL)
        return read_pieces(r, &out->pieces, pieces, level, err);
    if (out->key.ptr == NULL)
        return fail_at(value, "a member has no value", err);
    PDR_TRY(pdr__map_put(&old, named, out->key, out, err));
    if (old != NULL)
        rc = fail_at(value, "a row stands a second time", err);
done:
    return rc;
}

/* The bag, or the properties outside of the session: `of` says which. */
static pdr_rc read_members(struct reader *r, struct pdr__piece *out,
                           const pdr_value *value, enum level level,
                           pdr_err *err)
{
    const pdr_value *of = pdr_value_get_c(value, "of");
    const pdr_value *list = pdr_value_get_c(value, "list");
    bool is_bag = pdr_value_text_is(of, PDR_LIT("bag"));
    const struct pdr__members **part =
        is_bag ? &r->frame->bag : &r->frame->properties;
    struct pdr__member *members = NULL;
    struct pdr__members *m = NULL;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (!is_bag &&
        (!pdr_value_text_is(of, PDR_LIT("properties")) || level != IN_DOCUMENT))
        return fail_at(value, "stand members of something unknown", err);
    if (*part != NULL || (is_bag && is_outside(r, level)))
        return fail_at(value, "members stand a second time, or outside", err);
    if (list == NULL)
        return fail_at(value, "the members are missing", err);
    PDR_TRY(make_list((void **)&m, r, 1, sizeof(*m), err));
    const struct field fields[] = {{"open", &m->open, true},
                                   {"close", &m->close, true},
                                   {"blank", &m->blank, true},
                                   {"empty", &m->empty, true}};
    PDR_TRY(read_fields(r, value, fields, PDR_COUNT(fields), 2, err));
    if (!is_blank(m->blank, 0))
        return fail_at(value, "an empty object has something in it", err);
    if (pdr_value_kind(list) != PDR_ARRAY)
        return fail_at(list, "the members are no list", err);
    m->count = pdr_value_count(list);
    PDR_TRY(make_list((void **)&members, r, m->count, sizeof(*members), err));
    m->list = members;
    out->kind = is_bag ? PDR_PIECE_BAG : PDR_PIECE_PROPERTIES;
    out->members = m;
    *part = m;
    pdr_iter_init(&it, list);
    while (pdr_iter_next(&it))
        PDR_TRY(read_member(r, &members[it.index], it.value,
                            is_bag ? IN_BAG : IN_PROPERTIES, err));
done:
    return rc;
}

static pdr_rc read_piece(struct reader *r, struct pdr__piece *out,
                         const pdr_value *value, enum level level, pdr_err *err)
{
    const struct pdr__frame *frame = r->frame;
    pdr_iter it;

    memset(out, 0, sizeof(*out));
    if (pdr_value_kind(value) == PDR_STRING)
        return read_text(r, &out->text, value, err);
    pdr_iter_init(&it, value);
    if (pdr_value_kind(value) != PDR_OBJECT || pdr_value_count(value) != 1 ||
        !pdr_iter_next(&it))
        return fail_at(value, "stands no piece", err);
    if (pdr_value_text_is(it.name, PDR_LIT("entries")) &&
        level != IN_PROPERTIES)
        return read_entries(r, out, it.value, level, err);
    if (pdr_value_text_is(it.name, PDR_LIT("expiry")) && level < IN_BAG &&
        frame->shape == PDR_ROW_STATE)
        return read_expiry(r, out, it.value, level, err);
    if (pdr_value_text_is(it.name, PDR_LIT("members")) && level < IN_BAG)
        return read_members(r, out, it.value, level, err);
    if (!pdr_value_text_is(it.name, PDR_LIT("session")) || level != IN_DOCUMENT)
        return fail_at(value,
                       "stands a piece that is unknown, or unknown there", err);
    if (frame->session != NULL)
        return fail_at(it.value, "the session stands a second time", err);
    if (frame->entries != NULL || frame->expiry != NULL || frame->bag != NULL)
        return fail_at(it.value, "the session begins behind parts of it", err);
    out->kind = PDR_PIECE_SESSION;
    r->frame->session = out;
    return read_pieces(r, &out->session, it.value, IN_SESSION, err);
}

static pdr_rc read_pieces(struct reader *r, struct pdr__pieces *out,
                          const pdr_value *value, enum level level,
                          pdr_err *err)
{
    struct pdr__piece *made = NULL;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(value) != PDR_ARRAY)
        return fail_at(value, "the pieces are no list", err);
    PDR_TRY(make_list((void **)&made, r, pdr_value_count(value), sizeof(*made),
                      err));
    out->list = made;
    out->count = pdr_value_count(value);
    pdr_iter_init(&it, value);
    while (pdr_iter_next(&it))
        PDR_TRY(read_piece(r, &made[it.index], it.value, level, err));
done:
    return rc;
}

/* --- the frame ------------------------------------------------------------
 */

static pdr_rc read_root(struct reader *r, const pdr_value *root, pdr_err *err)
{
    static const pdr_str shapes[] = {[PDR_ROW_STATE] = {"state", 5},
                                     [PDR_ROW_DOTNET] = {"dotnet", 6},
                                     [PDR_ROW_PYTHON] = {"python", 6}};
    const pdr_value *version = pdr_value_get_c(root, "frame");
    const pdr_value *shape = pdr_value_get_c(root, "shape");
    const pdr_value *pieces = pdr_value_get_c(root, "pieces");
    struct pdr__frame *frame = r->frame;
    size_t kind = 0;
    int64_t number = 0;
    pdr_rc rc = PDR_OK;

    if (version == NULL || pdr_value_int64(&number, version, NULL) != PDR_OK)
        return fail_at(root, "stands no version", err);
    if (number != 1)
        return fail_at(
            version,
            "stands a version that is not 1: a newer library may know "
            "it",
            err);
    while (kind < PDR_COUNT(shapes) && !pdr_value_text_is(shape, shapes[kind]))
        kind++;
    if (kind == PDR_COUNT(shapes))
        return fail_at(root, "the shape of the entries is missing or unknown",
                       err);
    frame->shape = (pdr_row_shape)kind;
    if (pieces == NULL || pdr_value_count(root) != 3)
        return fail_at(root, "pieces are missing, or there is more", err);
    PDR_TRY(read_pieces(r, &frame->pieces, pieces, IN_DOCUMENT, err));
    if (frame->entries == NULL)
        return fail_at(pieces, "the entries are missing", err);
    if ((frame->session != NULL) != (frame->properties != NULL))
        return fail_at(pieces, "is a wrapper without its session or properties",
                       err);
done:
    return rc;
}

pdr_rc pdr__frame_read(struct pdr__frame *out, pdr_str text, pdr_err *err)
{
    struct reader r = {out, PDR_BUF_INIT(UINT32_MAX)};
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = pdr_json_read_borrowed(&out->value, text, NULL, &why);

    if (rc == PDR_ENOMEM)
        return pdr__nomem(err);
    if (rc != PDR_OK)
        return PDR_FAIL_AT(err, (size_t)(why.offset < 0 ? 0 : why.offset),
                           BAD_FRAME,
                           "the frame of the session is no JSON: %s; verify "
                           "the store and restore a backup",
                           why.message);
    rc = read_root(&r, out->value, err);
    pdr_buf_dispose(&r.scratch);
    return rc;
}

void pdr__frame_dispose(struct pdr__frame *frame)
{
    pdr__map_dispose(&frame->bag_keys);
    pdr__map_dispose(&frame->property_keys);
    pdr__arena_dispose(&frame->memory);
    pdr_value_free(frame->value);
    frame->value = NULL;
}

pdr_str pdr__member_name(const struct pdr__member *member)
{
    size_t end = member->name.len - 1;

    while (member->name.ptr[end] != '"')
        end--;
    return pdr_str_n(member->name.ptr + 1, end - 1);
}

bool pdr__frame_is_state(const struct pdr__frame *frame)
{
    return frame->shape == PDR_ROW_STATE && frame->bag == NULL;
}

pdr_str pdr__frame_history_key(const struct pdr__frame *frame)
{
    return frame->shape == PDR_ROW_PYTHON
               ? PDR_LIT("in_memory")
               : PDR_LIT("InMemoryChatHistoryProvider");
}

const struct pdr__pieces *pdr__frame_history(const struct pdr__frame *frame)
{
    const struct pdr__members *bag = frame->bag;

    for (size_t i = 0; bag != NULL && i < bag->count; i++) {
        const struct pdr__pieces *pieces = &bag->list[i].pieces;

        for (size_t k = 0; bag->list[i].has_pieces && k < pieces->count; k++) {
            if (pieces->list[k].kind == PDR_PIECE_ENTRIES)
                return pieces;
        }
    }
    return NULL;
}

pdr_rc pdr__frame_check_slot(const struct pdr__frame *frame, pdr_str key,
                             pdr_err *err)
{
    if (frame->bag == NULL && !pdr__frame_is_state(frame))
        return PDR_FAIL(err, BAG_SEALED, "%s",
                        "a document of the time of threads has no place for a "
                        "bag; convert it first");
    if (pdr__frame_history(frame) != NULL &&
        pdr_str_equal(key, pdr__frame_history_key(frame)) &&
        !pdr__map_get(NULL, &frame->bag_keys, key))
        return PDR_FAIL(err, HISTORY_SLOT,
                        "'%.*s' is the slot that the history of this session "
                        "is exported as",
                        (int)key.len, key.ptr);
    return PDR_OK;
}
