/* A session put together from its rows, by docs/formats/frame.md alone. */
#include "frame_model.h"

#include <perdure/json.h>

/* One row, whatever it is. */
struct piece {
    char *key, *value, *separator; /* owned; NULL: absent */
    size_t value_len, separator_len;
};

struct list {
    struct piece *rows; /* owned */
    size_t count, cap;
};

struct model {
    struct list entries, slots, properties;
    int64_t expiry_ms;
    char *text; /* owned */
    size_t len, cap;
};

/* At least one more than `count`; doubled, so that long documents are quick. */
static size_t grown(size_t cap, size_t count)
{
    while (cap <= count)
        cap = cap * 2 + 16;
    return cap;
}

static char *copy(pdr_str text)
{
    char *out = NULL;

    if (text.ptr == NULL)
        return NULL;
    out = calloc(1, text.len + 1);
    ASSERT(out != NULL);
    memcpy(out, text.ptr, text.len);
    return out;
}

static void put_n(struct model *m, const char *text, size_t len)
{
    if (m->cap <= m->len + len) {
        m->cap = grown(m->cap, m->len + len);
        m->text = realloc(m->text, m->cap);
        ASSERT(m->text != NULL);
    }
    memcpy(m->text + m->len, text, len);
    m->len += len;
    m->text[m->len] = '\0';
}

static void put(struct model *m, const char *text)
{
    put_n(m, text, strlen(text));
}

/* --- rows ----------------------------------------------------------------- */

static void add(struct list *list, pdr_str key, pdr_str value,
                pdr_str separator)
{
    struct piece *row = NULL;

    if (list->cap <= list->count) {
        list->cap = grown(list->cap, list->count);
        list->rows = realloc(list->rows, list->cap * sizeof(*list->rows));
        ASSERT(list->rows != NULL);
    }
    row = &list->rows[list->count++];
    row->key = copy(key);
    row->value = copy(value);
    row->value_len = value.len;
    row->separator = copy(separator);
    row->separator_len = separator.len;
}

static void load(struct list *list, pdr_store *store, const pdr_ref *ref,
                 pdr_read_what what)
{
    static const pdr_str none = {NULL, 0};
    char *cursor = NULL;
    bool more = true;

    while (more) {
        pdr_query query = {.what = what, .ref = *ref, .limit = 200};
        pdr_page *page = NULL;

        if (cursor != NULL)
            query.after = pdr_str_c(cursor);
        ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
        for (size_t i = 0; i < page->count; i++) {
            if (what == PDR_READ_ENTRIES)
                add(list, none, page->entries[i].body,
                    page->entries[i].separator);
            else if (what == PDR_READ_SLOTS)
                add(list, page->slots[i].key, page->slots[i].value, none);
            else
                add(list, page->properties[i].key, page->properties[i].value,
                    none);
        }
        free(cursor);
        cursor = copy(page->next);
        more = cursor != NULL;
        pdr_page_free(page);
    }
}

static void unload(struct list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->rows[i].key);
        free(list->rows[i].value);
        free(list->rows[i].separator);
    }
    free(list->rows);
}

/* --- pieces --------------------------------------------------------------- */

static void put_pieces(struct model *m, const pdr_value *pieces);

/* The text of a member; nothing if it is absent. */
static void put_text(struct model *m, const pdr_value *text)
{
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_str view = {NULL, 0};

    if (text != NULL) {
        ASSERT_RC(PDR_OK, pdr_value_text(&view, text, &scratch, NULL));
        put_n(m, view.ptr, view.len);
    }
    pdr_buf_dispose(&scratch);
}

static void put_member(struct model *m, const pdr_value *object,
                       const char *name)
{
    put_text(m, pdr_value_get_c(object, name));
}

static void put_entries(struct model *m, const pdr_value *texts)
{
    put_member(m, texts, m->entries.count > 0 ? "open" : "empty");
    for (size_t i = 0; i < m->entries.count; i++) {
        const struct piece *row = &m->entries.rows[i];

        if (row->separator == NULL)
            put_member(m, texts, i == 0 ? "first" : "usual");
        for (size_t k = 0; row->separator != NULL && k < row->separator_len;
             k++) {
            if (i > 0 || row->separator[k] != ',')
                put_n(m, &row->separator[k], 1);
        }
        put_n(m, row->value, row->value_len);
    }
    if (m->entries.count > 0)
        put_member(m, texts, "close");
}

/* Here nothing was moved, so the text stands, whatever it is. */
static void put_expiry(struct model *m, const pdr_value *piece)
{
    const pdr_value *ms = pdr_value_get_c(piece, "ms");
    int64_t at = PDR_NEVER;
    bool lone =
        m->entries.count == 0 && pdr_value_get_c(piece, "empty") != NULL;

    if (pdr_value_kind(ms) != PDR_NULL)
        ASSERT_RC(PDR_OK, pdr_value_int64(&at, ms, NULL));
    ASSERT_INT(m->expiry_ms, at);
    put_member(m, piece, lone ? "empty" : "text");
}

static const struct piece *find(const struct list *rows, const pdr_value *key)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (pdr_value_text_is(key, pdr_str_c(rows->rows[i].key)))
            return &rows->rows[i];
    }
    return NULL;
}

/* The value of a member, in a model of its own; false: leave it out. */
static bool member_value(struct model *m, const pdr_value *member,
                         const struct list *rows)
{
    const pdr_value *key = pdr_value_get_c(member, "key");
    const pdr_value *pieces = pdr_value_get_c(member, "pieces");
    const struct piece *row = key != NULL ? find(rows, key) : NULL;
    size_t before = m->len;

    if (key != NULL && row == NULL)
        return false;
    if (pieces == NULL) {
        put_n(m, row->value, row->value_len);
        return true;
    }
    put_pieces(m, pieces);
    return m->len > before;
}

/* Members that the frame names. Rows that it does not name are left to the
 * tests of exports: here nothing was added. */
static void put_members(struct model *m, const pdr_value *members)
{
    bool bag =
        pdr_value_text_is(pdr_value_get_c(members, "of"), pdr_str_c("bag"));
    const struct list *rows = bag ? &m->slots : &m->properties;
    const pdr_value *list = pdr_value_get_c(members, "list");
    const pdr_value *empty = pdr_value_get_c(members, "empty");
    size_t count = pdr_value_count(list), begin = m->len, written = 0;

    put_member(m, members, "open");
    put(m, "{");
    for (size_t i = 0; i < count; i++) {
        const pdr_value *member = pdr_value_at(list, i);
        size_t before = m->len;
        bool there = false;

        put(m, written > 0 ? "," : "");
        put_member(m, member, "before");
        put_member(m, member, "name");
        there = member_value(m, member, rows);
        if (!there)
            m->len = before;
        written += there;
        if (there && i + 1 < count)
            put_member(m, member, "after");
    }
    if (count > 0 && written > 0)
        put_member(m, pdr_value_at(list, count - 1), "after");
    if (written == 0)
        put_member(m, members, "blank");
    put(m, "}");
    put_member(m, members, "close");
    if (written == 0 && empty != NULL) {
        m->len = begin;
        put_text(m, empty);
    }
}

static void put_pieces(struct model *m, const pdr_value *pieces)
{
    for (size_t i = 0; i < pdr_value_count(pieces); i++) {
        const pdr_value *piece = pdr_value_at(pieces, i);

        if (pdr_value_kind(piece) == PDR_STRING)
            put_text(m, piece);
        else if (pdr_value_get_c(piece, "entries") != NULL)
            put_entries(m, pdr_value_get_c(piece, "entries"));
        else if (pdr_value_get_c(piece, "expiry") != NULL)
            put_expiry(m, pdr_value_get_c(piece, "expiry"));
        else if (pdr_value_get_c(piece, "members") != NULL)
            put_members(m, pdr_value_get_c(piece, "members"));
        else
            put_pieces(m, pdr_value_get_c(piece, "session"));
    }
}

char *frame_model_document(size_t *len, pdr_store *store, const pdr_ref *ref)
{
    const pdr_query query = {.what = PDR_READ_FRAME, .ref = *ref};
    struct model m;
    pdr_page *page = NULL;
    pdr_value *frame = NULL;

    memset(&m, 0, sizeof(m));
    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    ASSERT_RC(PDR_OK, pdr_json_read(&frame, page->frame, NULL, NULL));
    m.expiry_ms = page->head.expiry_ms;
    load(&m.entries, store, ref, PDR_READ_ENTRIES);
    load(&m.slots, store, ref, PDR_READ_SLOTS);
    load(&m.properties, store, ref, PDR_READ_PROPERTIES);
    put(&m, "");
    put_pieces(&m, pdr_value_get_c(frame, "pieces"));
    pdr_value_free(frame);
    pdr_page_free(page);
    unload(&m.entries);
    unload(&m.slots);
    unload(&m.properties);
    *len = m.len;
    return m.text;
}
