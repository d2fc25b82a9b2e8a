/*
 * pointer.c - parts of a value by JSON Pointer (RFC 6901).
 *
 * WHY  One text names a part of a document, for reading, for changing and in
 *      reports. A change goes down the path once and makes only what lies on
 *      it changeable; where the handle is the only owner, it happens in place.
 *
 * INVARIANTS
 *   P1  A pointer is checked as a whole before anything is looked up, so bad
 *       syntax is an error of its own wherever it stands.
 *   P2  A change first looks whether it can be done. What fails later (memory,
 *       depth) leaves the same document behind, if in another form.
 *   P3  The value that is put in is held from the start: if it is a part of the
 *       document itself, that part has two owners and is never changed in
 *       place. Without it a part could be put into itself.
 *
 * NOT HERE  Pointers of places that a walk reports (place.c).
 */
#include "core.h"

/* --- syntax -------------------------------------------------------------- */

static pdr_rc check_syntax(pdr_str pointer, pdr_err *err)
{
    if (pointer.len > 0 && pointer.ptr[0] != '/')
        return PDR_FAIL_AT(err, 0, BAD_POINTER,
                           "a pointer is empty or begins with '/'");
    for (size_t i = 0; i < pointer.len; i++) {
        if (pointer.ptr[i] != '~')
            continue;
        if (i + 1 == pointer.len ||
            (pointer.ptr[i + 1] != '0' && pointer.ptr[i + 1] != '1'))
            return PDR_FAIL_AT(err, i, BAD_POINTER,
                               "'~' in a pointer is followed by 0 or 1");
    }
    return PDR_OK;
}

/* A walk over the tokens of a pointer that was checked. */
struct steps {
    pdr_str pointer; /* borrowed */
    size_t end;      /* bytes up to the end of the token; the next '/' */
    pdr_str token;   /* as it is spelled */
    pdr_buf plain;   /* a token without its escapes */
};

static void steps_init(struct steps *steps, pdr_str pointer)
{
    *steps = (struct steps){.pointer = pointer,
                            .plain = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES)};
}

static bool next_step(struct steps *steps)
{
    const char *text = steps->pointer.ptr;
    size_t start = steps->end + 1;

    if (steps->end == steps->pointer.len)
        return false;
    steps->end = start;
    while (steps->end < steps->pointer.len && text[steps->end] != '/')
        steps->end++;
    steps->token = pdr_str_n(text + start, steps->end - start);
    return true;
}

/* The name that the token means; borrowed from `steps` until the next step. */
static pdr_rc step_name(pdr_str *out, struct steps *steps, pdr_err *err)
{
    pdr_str token = steps->token;

    *out = token;
    if (token.len == 0 || memchr(token.ptr, '~', token.len) == NULL)
        return PDR_OK;
    pdr_buf_clear(&steps->plain);
    pdr_rc rc = pdr_buf_reserve(&steps->plain, token.len, err);
    if (rc != PDR_OK)
        return rc;
    for (size_t i = 0; i < token.len; i++) {
        char c = token.ptr[i];
        if (c == '~')
            c = token.ptr[++i] == '0' ? '~' : '/';
        steps->plain.ptr[steps->plain.len++] = c;
    }
    *out = pdr_buf_str(&steps->plain);
    return PDR_OK;
}

/* Digits without a leading zero, as far as a size can hold them. */
static bool read_index(size_t *out, pdr_str token)
{
    size_t index = 0;

    if (token.len == 0 || (token.len > 1 && token.ptr[0] == '0'))
        return false;
    for (size_t i = 0; i < token.len; i++) {
        if (token.ptr[i] < '0' || token.ptr[i] > '9')
            return false;
        if (!pdr__mul_size(&index, index, 10) ||
            !pdr__add_size(&index, index, (size_t)(token.ptr[i] - '0')))
            return false;
    }
    *out = index;
    return true;
}

static bool is_end_token(pdr_str token)
{
    return token.len == 1 && token.ptr[0] == '-';
}

/* --- errors -------------------------------------------------------------- */

static size_t escape_code(char out[6], unsigned code)
{
    static const char hex[] = "0123456789abcdef";
    static const char letters[] = "\bb\tt\nn\ff\rr\"\"\\\\";

    out[0] = '\\';
    for (size_t i = 0; i + 1 < sizeof(letters); i += 2)
        if ((unsigned char)letters[i] == code) {
            out[1] = letters[i + 1];
            return 2;
        }
    out[1] = 'u';
    for (int i = 0; i < 4; i++)
        out[2 + i] = hex[code >> (12 - 4 * i) & 0xFu];
    return 6;
}

/* Write the first character of `path` as JSON would: `out` gets `*len` bytes.
 * @return bytes of `path` that it takes. */
static size_t escape_unit(char out[6], size_t *len, pdr_str path)
{
    const unsigned char *s = (const unsigned char *)path.ptr;
    size_t taken = pdr__utf8_len(path.ptr, path.ptr + path.len);
    bool is_lone = taken == 0 && path.len >= 3 && s[0] == 0xED &&
                   (s[1] & 0xE0u) == 0xA0u && (s[2] & 0xC0u) == 0x80u;

    if (is_lone) {
        *len = escape_code(out, 0xD000u | (s[1] & 0x3Fu) << 6 | (s[2] & 0x3Fu));
        return 3;
    }
    if (taken == 0) { /* no text at all: the replacement character */
        *len = escape_code(out, 0xFFFDu);
        return 1;
    }
    if (taken == 1 && (s[0] < 0x20 || s[0] == '"' || s[0] == '\\')) {
        *len = escape_code(out, s[0]);
        return 1;
    }
    memcpy(out, path.ptr, taken);
    *len = taken;
    return taken;
}

/* Put the first `len` bytes of a pointer into `err`, printable. A path that is
 * too long loses whole characters at its front. */
static void set_path(pdr_err *err, pdr_str pointer, size_t len)
{
    char path[PDR_ERR_PATH], unit[6];
    size_t total = 0, used = 0, unit_len = 0;

    if (err == NULL)
        return;
    for (size_t i = 0; i < len; total += unit_len)
        i += escape_unit(unit, &unit_len, pdr_str_n(pointer.ptr + i, len - i));
    bool is_cut = total > PDR_ERR_PATH - 1;
    if (is_cut) {
        memcpy(path, "...", 3);
        used = 3;
    }
    for (size_t i = 0; i < len;) {
        i += escape_unit(unit, &unit_len, pdr_str_n(pointer.ptr + i, len - i));
        if (!is_cut || total <= PDR_ERR_PATH - 1 - 3) {
            memcpy(path + used, unit, unit_len);
            used += unit_len;
        }
        total -= unit_len;
    }
    pdr__err_path(err, pdr_str_n(path, used));
}

/* There is nothing at the token where `steps` stands. */
static pdr_rc not_there(const pdr_value *holder, const struct steps *steps,
                        pdr_err *err)
{
    pdr_kind kind = pdr_value_kind(holder);
    pdr_rc rc = PDR_OK;

    if (kind == PDR_ARRAY)
        rc = PDR_FAIL(err, NO_ELEMENT,
                      "the pointer names none of the %zu elements",
                      pdr_value_count(holder));
    else if (kind == PDR_OBJECT)
        rc = PDR_FAIL(err, NO_MEMBER, "the object has no such member");
    else
        rc = PDR_FAIL(err, NO_MEMBER, "a %s has no members",
                      pdr_kind_name(kind));
    set_path(err, steps->pointer, steps->end);
    return rc;
}

/* --- reading ------------------------------------------------------------- */

/* The child that the token names; NULL if there is none. */
static pdr_rc find_child(const pdr_value **out, const pdr_value *holder,
                         struct steps *steps, pdr_err *err)
{
    size_t index = 0;
    pdr_str name;
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (pdr_value_kind(holder) == PDR_ARRAY) {
        if (read_index(&index, steps->token))
            *out = pdr_value_at(holder, index);
    } else if (pdr_value_kind(holder) == PDR_OBJECT) {
        rc = step_name(&name, steps, err);
        if (rc == PDR_OK)
            *out = pdr_value_get(holder, name);
    }
    return rc;
}

static pdr_rc walk_down(const pdr_value **out, const pdr_value *root,
                        struct steps *steps, pdr_err *err)
{
    const pdr_value *at = root, *child = NULL;

    while (next_step(steps)) {
        pdr_rc rc = find_child(&child, at, steps, err);
        if (rc != PDR_OK)
            return rc;
        if (child == NULL)
            return not_there(at, steps, err);
        at = child;
    }
    *out = at;
    return PDR_OK;
}

pdr_rc pdr_pointer_get(const pdr_value **out, const pdr_value *root,
                       pdr_str pointer, pdr_err *err)
{
    struct steps steps;

    PDR_REQUIRE(out != NULL && root != NULL);
    *out = NULL;
    pdr_rc rc = check_syntax(pointer, err);
    if (rc != PDR_OK)
        return rc;
    steps_init(&steps, pointer);
    rc = walk_down(out, root, &steps, err);
    pdr_buf_dispose(&steps.plain);
    return rc;
}

/* --- changing ------------------------------------------------------------ */

enum action { ACTION_SET, ACTION_INSERT, ACTION_REMOVE };

struct edit {
    enum action action;
    const pdr_value *value; /* borrowed; NULL to remove */
    uint32_t value_height;  /* levels of containers that come in */
    size_t depth;           /* steps that are left up to the holder */
};

/* Where the last token of the pointer begins, its '/' included. */
static size_t last_slash(pdr_str pointer)
{
    size_t at = pointer.len - 1;

    while (pointer.ptr[at] != '/')
        at--;
    return at;
}

/* Can the edit be done in `holder`? (P2) */
static pdr_rc check_last(const pdr_value *holder, struct steps *steps,
                         const struct edit *edit, pdr_err *err)
{
    const pdr_value *child = NULL;
    pdr_kind kind = pdr_value_kind(holder);
    size_t index = 0;

    pdr_rc rc = find_child(&child, holder, steps, err);
    if (rc != PDR_OK || child != NULL)
        return rc;
    if (edit->action == ACTION_REMOVE)
        return not_there(holder, steps, err);
    if (kind == PDR_OBJECT)
        return PDR_OK;
    if (kind != PDR_ARRAY) {
        rc = PDR_FAIL(err, WRONG_KIND,
                      "expected an array or an object, found %s",
                      pdr_kind_name(kind));
        set_path(err, steps->pointer, last_slash(steps->pointer));
        return rc;
    }
    if (is_end_token(steps->token) ||
        (read_index(&index, steps->token) && index == pdr_value_count(holder)))
        return PDR_OK;
    return not_there(holder, steps, err);
}

static pdr_rc edit_element(pdr_value **io, pdr_str token,
                           const struct edit *edit, pdr_err *err)
{
    size_t count = pdr_value_count(*io), index = count;

    if (!is_end_token(token))
        (void)read_index(&index, token); /* check_last() did */
    if (edit->action == ACTION_REMOVE)
        return pdr_value_erase(io, index, err);
    if (edit->action == ACTION_INSERT || index == count)
        return pdr_value_insert(io, index, edit->value, err);
    return pdr_value_replace(io, index, edit->value, err);
}

static pdr_rc edit_last(pdr_value **io, struct steps *steps,
                        const struct edit *edit, pdr_err *err)
{
    pdr_str name;

    if (pdr_value_kind(*io) == PDR_ARRAY)
        return edit_element(io, steps->token, edit, err);
    pdr_rc rc = step_name(&name, steps, err);
    if (rc != PDR_OK)
        return rc;
    return edit->action == ACTION_REMOVE
               ? pdr_value_remove(io, name, err)
               : pdr_value_set(io, name, edit->value, err);
}

/* The owned handle of the child that the token names, to be changed in place.
 * It is told how many levels it is going to have below it. */
static pdr_rc open_child(pdr_value ***slot, pdr_value **io, struct steps *steps,
                         const struct edit *edit, pdr_err *err)
{
    const pdr_value *child = NULL;
    size_t index = 0;
    pdr_str name;

    pdr_rc rc = find_child(&child, *io, steps, err);
    if (rc != PDR_OK)
        return rc;
    uint32_t levels = pdr__value_height(child);
    size_t wanted = edit->depth + edit->value_height;
    if (edit->value != NULL && levels < wanted)
        levels = wanted < UINT32_MAX ? (uint32_t)wanted : UINT32_MAX - 1;
    if (pdr_value_kind(*io) == PDR_ARRAY) {
        (void)read_index(&index, steps->token); /* find_child() did */
        return pdr__value_edit_element(slot, io, index, levels, err);
    }
    rc = step_name(&name, steps, err);
    if (rc != PDR_OK)
        return rc;
    return pdr__value_edit_member(slot, io, name, levels, err);
}

static pdr_rc edit_down(pdr_value **io, struct steps *steps, struct edit *edit,
                        pdr_err *err)
{
    size_t holder_end = last_slash(steps->pointer);
    pdr_rc rc = PDR_OK;

    while (rc == PDR_OK && steps->end < holder_end) {
        (void)next_step(steps);
        rc = open_child(&io, io, steps, edit, err);
        edit->depth--;
    }
    if (rc == PDR_OK) {
        (void)next_step(steps);
        rc = edit_last(io, steps, edit, err);
    }
    if (rc != PDR_OK)
        set_path(err, steps->pointer, steps->pointer.len);
    return rc;
}

static pdr_rc check_edit(const pdr_value *root, struct steps *steps,
                         struct edit *edit, pdr_err *err)
{
    const pdr_value *holder = NULL;
    pdr_str whole = steps->pointer;

    steps->pointer = pdr_str_n(whole.ptr, last_slash(whole));
    pdr_rc rc = walk_down(&holder, root, steps, err);
    steps->pointer = whole;
    if (rc != PDR_OK)
        return rc;
    for (size_t i = 0; i < whole.len; i++)
        edit->depth += whole.ptr[i] == '/';
    edit->depth--;
    (void)next_step(steps);
    rc = check_last(holder, steps, edit, err);
    steps->end = 0;
    return rc;
}

static pdr_rc edit_part(pdr_value **io, pdr_str pointer, enum action action,
                        const pdr_value *value, pdr_err *err)
{
    struct edit edit = {.action = action, .value = value};
    struct steps steps;

    if (value != NULL)
        edit.value_height = pdr__value_height(value);
    pdr_value *held = pdr_value_ref(value); /* P3 */
    steps_init(&steps, pointer);
    pdr_rc rc = check_edit(*io, &steps, &edit, err);
    if (rc == PDR_OK)
        rc = edit_down(io, &steps, &edit, err);
    pdr_buf_dispose(&steps.plain);
    pdr_value_free(held);
    return rc;
}

static pdr_rc put_part(pdr_value **io, pdr_str pointer, enum action action,
                       const pdr_value *value, pdr_err *err)
{
    pdr_rc rc = check_syntax(pointer, err);

    if (rc != PDR_OK)
        return rc;
    if (pointer.len > 0)
        return edit_part(io, pointer, action, value, err);
    pdr_value *old = *io;
    *io = pdr_value_ref(value); /* before the old one goes: it may be in it */
    pdr_value_free(old);
    return PDR_OK;
}

pdr_rc pdr_pointer_set(pdr_value **io, pdr_str pointer, const pdr_value *value,
                       pdr_err *err)
{
    PDR_REQUIRE(io != NULL && *io != NULL && value != NULL);
    return put_part(io, pointer, ACTION_SET, value, err);
}

pdr_rc pdr_pointer_insert(pdr_value **io, pdr_str pointer,
                          const pdr_value *value, pdr_err *err)
{
    PDR_REQUIRE(io != NULL && *io != NULL && value != NULL);
    return put_part(io, pointer, ACTION_INSERT, value, err);
}

pdr_rc pdr_pointer_remove(pdr_value **io, pdr_str pointer, pdr_err *err)
{
    PDR_REQUIRE(io != NULL && *io != NULL);
    pdr_rc rc = check_syntax(pointer, err);
    if (rc != PDR_OK)
        return rc;
    if (pointer.len == 0)
        return PDR_FAIL_AT(err, 0, BAD_POINTER,
                           "the whole of a document cannot be removed");
    return edit_part(io, pointer, ACTION_REMOVE, NULL, err);
}

/* --- writing ------------------------------------------------------------- */

pdr_rc pdr_pointer_push(pdr_buf *pointer, pdr_str token, pdr_err *err)
{
    size_t extra = 1 + token.len; /* at most twice what is in memory */

    PDR_REQUIRE(pointer != NULL);
    for (size_t i = 0; i < token.len; i++)
        extra += token.ptr[i] == '~' || token.ptr[i] == '/';
    pdr_rc rc = pdr__buf_room(pointer, extra, err);
    if (rc != PDR_OK)
        return rc;
    char *out = pointer->ptr + pointer->len;
    *out++ = '/';
    for (size_t i = 0; i < token.len; i++) {
        char c = token.ptr[i];
        bool is_special = c == '~' || c == '/';
        *out++ = is_special ? '~' : c;
        if (is_special)
            *out++ = c == '~' ? '0' : '1';
    }
    pointer->len += extra;
    return PDR_OK;
}
