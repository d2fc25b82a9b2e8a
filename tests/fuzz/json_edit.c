/*
 * json_edit.c - to replace one value changes the bytes of that value and no
 * others. The first two bytes choose the value and what comes in its place, the
 * rest is the document.
 */
#include <perdure.h>

#include "fuzz.h"

/* Goes over the values of a document in order and stops at the chosen one. */
struct search {
    unsigned left;   /* values before the chosen one */
    pdr_buf pointer; /* of the place we are at */
};

static bool find(struct search *search, const pdr_value *value);

/* The token of a pointer that leads to this child, if one does: there is none
 * for half a pair in a name, nor for a member that a later one hides. */
static bool token_of(pdr_str *out, pdr_buf *scratch, const pdr_value *container,
                     const pdr_iter *it)
{
    if (it->name == NULL) {
        MUST(pdr_buf_printf(scratch, NULL, "%zu", it->index) == PDR_OK);
        *out = pdr_buf_str(scratch);
        return true;
    }
    return pdr_value_text(out, it->name, scratch, NULL) == PDR_OK &&
           pdr_value_get(container, *out) == it->value;
}

static bool enter(struct search *search, const pdr_value *container,
                  const pdr_iter *it)
{
    pdr_buf scratch = PDR_BUF_INIT(UINT32_MAX);
    pdr_str token = {NULL, 0};
    bool found = false;
    size_t len = search->pointer.len;

    if (token_of(&token, &scratch, container, it)) {
        MUST(pdr_pointer_push(&search->pointer, token, NULL) == PDR_OK);
        found = find(search, it->value);
        if (!found)
            search->pointer.len = len;
    }
    pdr_buf_dispose(&scratch);
    return found;
}

static bool find(struct search *search, const pdr_value *value)
{
    pdr_iter it;

    if (search->left-- == 0)
        return true;
    pdr_iter_init(&it, value);
    while (pdr_iter_next(&it))
        if (enter(search, value, &it))
            return true;
    return false;
}

static pdr_value *new_value(unsigned choice)
{
    pdr_value *value = NULL;

    switch (choice % 4) {
    case 0:
        return pdr_value_new_null();
    case 1:
        MUST(pdr_value_new_number(&value, pdr_str_c("1.10"), NULL) == PDR_OK);
        return value;
    case 2:
        MUST(pdr_value_new_string(&value, pdr_str_c("new \n"), NULL) == PDR_OK);
        return value;
    default:
        return pdr_value_new_bool(true);
    }
}

static void append(pdr_buf *out, const char *from, size_t len)
{
    MUST(pdr_buf_append(out, pdr_str_n(from, len), NULL) == PDR_OK);
}

/* The document's bytes with those of the chosen value replaced. In the place of
 * the whole, the new value stands alone. */
static void expect(pdr_buf *out, pdr_str whole, bool is_root,
                   const pdr_value *old, const pdr_value *new)
{
    pdr_str part = {NULL, 0}, text = {NULL, 0};

    MUST(pdr_value_raw(&part, old) && pdr_value_raw(&text, new));
    size_t start = (size_t)pdr_value_offset(old), end = start + part.len;
    MUST(end <= whole.len);
    if (!is_root)
        append(out, whole.ptr, start);
    append(out, text.ptr, text.len);
    if (!is_root)
        append(out, whole.ptr + end, whole.len - end);
}

static void edit(pdr_value **io, pdr_str document, pdr_str pointer,
                 unsigned choice)
{
    pdr_write_opts opts = {.layout = PDR_AS_READ};
    pdr_buf expected = PDR_BUF_INIT(UINT32_MAX);
    pdr_buf actual = PDR_BUF_INIT(UINT32_MAX);
    pdr_value *new = new_value(choice), *before = pdr_value_ref(*io);
    const pdr_value *old = NULL, *now = NULL;

    MUST(pdr_pointer_get(&old, *io, pointer, NULL) == PDR_OK);
    expect(&expected, document, pointer.len == 0, old, new);
    MUST(pdr_pointer_set(io, pointer, new, NULL) == PDR_OK);
    MUST(pdr_json_write(&actual, *io, &opts, NULL) == PDR_OK);
    MUST(pdr_str_equal(pdr_buf_str(&expected), pdr_buf_str(&actual)));
    MUST(pdr_pointer_get(&now, *io, pointer, NULL) == PDR_OK);
    MUST(pdr_value_equal(new, now));

    pdr_buf_clear(&actual); /* who holds the old value sees no change */
    MUST(pdr_json_write(&actual, before, &opts, NULL) == PDR_OK);
    MUST(pdr_str_equal(document, pdr_buf_str(&actual)));
    pdr_value_free(before);
    pdr_value_free(new);
    pdr_buf_dispose(&actual);
    pdr_buf_dispose(&expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pdr_value *value = NULL;

    if (size < 2)
        return 0;
    pdr_str text = {(const char *)data + 2, size - 2};
    struct search search = {data[0], PDR_BUF_INIT(UINT32_MAX)};

    if (pdr_json_read(&value, text, NULL, NULL) == PDR_OK &&
        find(&search, value))
        edit(&value, text, pdr_buf_str(&search.pointer), data[1]);
    pdr_buf_dispose(&search.pointer);
    pdr_value_free(value);
    return 0;
}
