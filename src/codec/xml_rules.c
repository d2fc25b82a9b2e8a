/*
 * xml_rules.c - what the W3C's representation of JSON allows, element by
 * element.
 *
 * WHY  The same rules serve a document in memory, which goes straight into a
 *      builder, and a stream, whose parser is suspended at each event.
 *
 *        pdr__xml_start, _text, _end ──► builder, or `pending` of a walk
 *
 * INVARIANTS
 *   X1  `scalar` is the element that is open inside the innermost container, or
 *       ELEMENT_NONE; `text` has its content as far as it was seen.
 *   X2  `pending` is empty before each tag; one tag gives at most three events.
 */
#include "number.h"
#include "xml_core.h"

#define IN_FN  XML_NAMESPACE XML_SEPARATOR
#define IN_OWN XML_OWN_NAMESPACE XML_SEPARATOR

/* --- places -------------------------------------------------------------- */

/* Append the name of a level's child as a part of a pointer. */
static pdr_rc push_name(pdr_buf *path, pdr_str span)
{
    return pdr__json_push_token(path, pdr_str_n(span.ptr + 1, span.len - 2));
}

void pdr__xml_put_path(struct xml_parser *x)
{
    pdr_buf path = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    for (uint32_t i = 0; i < x->depth && rc == PDR_OK; i++) {
        const struct xml_level *level = &x->levels[i];
        bool last = i + 1 == x->depth;
        if (last && !x->inside)
            break;
        if (!level->object)
            rc = pdr_buf_printf(&path, NULL, "/%llu",
                                (unsigned long long)level->children);
        else if (last)
            rc = push_name(&path, pdr_buf_str(&x->key));
        else
            rc = push_name(&path,
                           pdr_str_n(x->names.ptr + level[1].names_len,
                                     (i + 2 < x->depth ? level[2].names_len
                                                       : x->names.len) -
                                         level[1].names_len));
    }
    if (rc == PDR_OK)
        pdr__err_path(&x->err, pdr_buf_str(&path));
    pdr_buf_dispose(&path);
}

/* --- results ------------------------------------------------------------- */

static bool in_map(const struct xml_parser *x)
{
    return x->depth > 0 && x->levels[x->depth - 1].object;
}

/* A name or scalar may be as long as the limit, its quotes included. */
static bool check_size(struct xml_parser *x, size_t bytes, size_t most)
{
    if (bytes <= most)
        return true;
    XML_FAIL(x, TOO_LARGE, "a value of more than %zu bytes, which is the limit",
             x->max_scalar);
    return false;
}

static void push_event(struct xml_parser *x, pdr_event event, int64_t offset,
                       pdr_str span, uint32_t info)
{
    assert(x->pending_count < PDR_COUNT(x->pending));
    struct xml_event *to = &x->pending[x->pending_count++];
    to->event = event;
    to->offset = offset;
    to->span = span;
    to->info = info;
    if (x->pending_count == 1)
        pdr__xml_suspend(x);
}

static void emit_name(struct xml_parser *x)
{
    pdr_str span = pdr_buf_str(&x->key);

    if (!in_map(x))
        return;
    if (x->builder != NULL)
        pdr__builder_name_span(x->builder, span, x->key_info);
    else
        push_event(x, PDR_NAME, x->begin, span, x->key_info);
}

static void emit_scalar(struct xml_parser *x, pdr_str span, uint32_t info)
{
    if (!check_size(x, span.len, x->max_scalar))
        return;
    emit_name(x);
    if (x->builder != NULL)
        pdr__builder_span(x->builder, span, info);
    else
        push_event(x, PDR_SCALAR, x->begin, span, info);
}

static void emit_begin(struct xml_parser *x, bool object)
{
    static const pdr_str none;

    emit_name(x);
    if (x->builder == NULL)
        push_event(x, object ? PDR_BEGIN_OBJECT : PDR_BEGIN_ARRAY, x->begin,
                   none, 0);
    else if (object)
        pdr_builder_object(x->builder);
    else
        pdr_builder_array(x->builder);
}

static void emit_end(struct xml_parser *x)
{
    static const pdr_str none;

    if (x->builder != NULL)
        pdr_builder_end(x->builder);
    else
        push_event(x, PDR_END, x->at, none, 0);
}

/* --- begin tags ---------------------------------------------------------- */

static bool begins_with(const char *text, const char *prefix, size_t len)
{
    return strncmp(text, prefix, len) == 0;
}

static enum xml_element element_of(const char *name)
{
    static const struct {
        char name[8];
        enum xml_element element;
    } rows[] = {
        {"string", ELEMENT_STRING},   {"map", ELEMENT_MAP},
        {"number", ELEMENT_NUMBER},   {"array", ELEMENT_ARRAY},
        {"boolean", ELEMENT_BOOLEAN}, {"null", ELEMENT_NULL},
    };

    if (!begins_with(name, IN_FN, sizeof(IN_FN) - 1))
        return ELEMENT_NONE;
    name += sizeof(IN_FN) - 1;
    for (size_t i = 0; i < PDR_COUNT(rows); i++)
        if (rows[i].name[0] == name[0] && strcmp(rows[i].name, name) == 0)
            return rows[i].element;
    return ELEMENT_NONE;
}

/* The part of an element's or attribute's name that people know. */
static const char *local_name(const char *name)
{
    const char *separator = strchr(name, XML_SEPARATOR[0]);

    return separator != NULL ? separator + 1 : name;
}

/* The attributes of one element that mean something. Borrowed from expat. */
struct attributes {
    const char *key, *raw, *raw_key;
    bool escaped, escaped_key;
    bool has_escaped_key;
};

/* xs:boolean: white space around it does not count. */
static bool read_truth(bool *out, const char *text)
{
    static const char *const words[] = {"false", "0", "true", "1"};

    while (xml_is_space(*text))
        text++;
    size_t len = strlen(text);
    while (len > 0 && xml_is_space(text[len - 1]))
        len--;
    for (size_t i = 0; i < PDR_COUNT(words); i++)
        if (strlen(words[i]) == len && memcmp(words[i], text, len) == 0) {
            *out = i >= 2;
            return true;
        }
    return false;
}

/* An attribute in a namespace: ours, or one that is ignored. */
static void take_foreign(struct xml_parser *x, struct attributes *out,
                         const char *name, const char *text)
{
    if (strcmp(name, IN_OWN "raw") == 0)
        out->raw = text;
    else if (strcmp(name, IN_OWN "raw-key") == 0)
        out->raw_key = text;
    else if (begins_with(name, IN_FN, sizeof(IN_FN) - 1))
        XML_FAIL(x, XML_ATTRIBUTE,
                 "the attribute '%s' must be without a prefix",
                 pdr__shown((char[PDR_SHOWN]){0}, pdr_str_c(local_name(name))));
}

static void take_attribute(struct xml_parser *x, struct attributes *out,
                           enum xml_element element, const char *name,
                           const char *text)
{
    bool good = true;

    if (strcmp(name, "key") == 0) {
        out->key = text;
    } else if (strcmp(name, "escaped-key") == 0) {
        out->has_escaped_key = true;
        good = read_truth(&out->escaped_key, text);
    } else if (strcmp(name, "escaped") == 0 && element == ELEMENT_STRING) {
        good = read_truth(&out->escaped, text);
    } else if (strchr(name, XML_SEPARATOR[0]) != NULL) {
        take_foreign(x, out, name, text);
    } else {
        XML_FAIL(x, XML_ATTRIBUTE, "the attribute '%s' has no meaning here",
                 pdr__shown((char[PDR_SHOWN]){0}, pdr_str_c(name)));
    }
    if (!good)
        XML_FAIL(x, XML_ATTRIBUTE, "the attribute '%s' is true or false", name);
}

/* Decode the exact spelling of a string. */
static bool decode_raw(struct xml_parser *x, const char *text)
{
    pdr_buf_clear(&x->raw);
    x->rc = pdr__base64_decode(&x->raw, pdr_str_c(text), PDR_BASE64, &x->err);
    if (x->rc == PDR_OK)
        return true;
    if (x->rc == PDR_ENOMEM)
        pdr__xml_refuse_at(x, 0);
    else
        XML_FAIL(x, XML_ATTRIBUTE, "the raw text is no base64");
    return false;
}

/* The key becomes the spelling of a name in x->key. */
static void spell_key(struct xml_parser *x, const struct attributes *given)
{
    x->key.len = 0;
    x->rc = pdr__xml_read_text(&x->key, &x->key_info, pdr_str_c(given->key),
                               given->escaped_key, &x->err);
    if (x->rc == PDR_OK && given->raw_key != NULL) {
        if (!decode_raw(x, given->raw_key))
            return;
        x->rc = pdr__xml_restore(&x->key, &x->key_info, pdr_buf_str(&x->raw),
                                 &x->err);
    }
    if (x->rc != PDR_OK)
        pdr__xml_refuse_at(x, 0);
    else
        (void)check_size(x, x->key.len, x->max_scalar);
}

/* Check the attributes and keep what they say. */
static void read_attributes(struct xml_parser *x, enum xml_element element,
                            const char *const *pairs)
{
    struct attributes given = {NULL, NULL, NULL, false, false, false};

    for (; pairs[0] != NULL && x->rc == PDR_OK; pairs += 2)
        take_attribute(x, &given, element, pairs[0], pairs[1]);
    if (x->rc != PDR_OK)
        return;
    if (in_map(x) && given.key == NULL)
        XML_FAIL(x, XML_ATTRIBUTE, "an element in a map needs a key");
    else if (in_map(x))
        spell_key(x, &given);
    else if (given.key != NULL || given.has_escaped_key)
        XML_FAIL(x, XML_ATTRIBUTE, "a key stands only in a map");
    x->inside = x->rc == PDR_OK;
    x->escaped = given.escaped;
    x->has_raw = given.raw != NULL && element == ELEMENT_STRING;
    if (x->rc == PDR_OK && x->has_raw)
        (void)decode_raw(x, given.raw);
}

/* Keep the name of a container for paths. Of a long one, the end is enough;
 * only from the front can it be told where an escape begins. */
static pdr_rc keep_name(struct xml_parser *x)
{
    pdr_str span = pdr_buf_str(&x->key);
    size_t from = 1, last = span.len - 1;
    uint32_t info = 0;

    while (last - from > 4 * PDR_ERR_PATH)
        from +=
            span.ptr[from] == '\\'
                ? pdr__text_escape_len(span.ptr + from, span.ptr + last, &info)
                : pdr__utf8_len(span.ptr + from, span.ptr + last);
    pdr_rc rc = pdr_buf_append(&x->names, PDR_LIT("\""), &x->err);
    if (rc == PDR_OK)
        rc = pdr_buf_append(
            &x->names, pdr_str_n(span.ptr + from, span.len - from), &x->err);
    return rc;
}

static void open_container(struct xml_parser *x, bool object)
{
    if (x->depth == x->limits.depth) {
        XML_FAIL(x, TOO_DEEP, "more than %u levels", x->limits.depth);
        return;
    }
    emit_begin(x, object);
    struct xml_level *level = &x->levels[x->depth];
    level->object = object;
    level->children = 0;
    level->names_len = x->names.len;
    if (in_map(x))
        x->rc = keep_name(x);
    if (x->rc != PDR_OK) {
        pdr__xml_refuse_at(x, 0);
        return;
    }
    x->depth++;
    x->inside = false;
}

/* Begin to collect the content of a scalar (X1). */
static void open_scalar(struct xml_parser *x, enum xml_element element)
{
    x->scalar = element;
    x->gap = false;
    x->text.len = 0;
    if (element == ELEMENT_STRING && !x->escaped && !x->has_raw)
        x->rc = pdr_buf_append(&x->text, PDR_LIT("\""), &x->err);
    if (x->rc != PDR_OK)
        pdr__xml_refuse_at(x, 0);
}

void pdr__xml_start(struct xml_parser *x, const char *name,
                    const char *const *pairs)
{
    enum xml_element element = element_of(name);

    x->begin = x->at;
    x->seen = x->begun = true;
    if (x->scalar != ELEMENT_NONE) {
        XML_FAIL(x, XML_ELEMENT, "an element inside of a scalar");
        return;
    }
    x->inside = x->depth > 0 && !in_map(x);
    if (element == ELEMENT_NONE) {
        XML_FAIL(x, XML_ELEMENT,
                 "'%s' is no element of the namespace " XML_NAMESPACE,
                 pdr__shown((char[PDR_SHOWN]){0}, pdr_str_c(local_name(name))));
        return;
    }
    read_attributes(x, element, pairs);
    if (x->rc != PDR_OK)
        return;
    x->nodes += 1 + in_map(x);
    if (x->builder != NULL && x->nodes > x->limits.nodes)
        XML_FAIL(x, TOO_MANY_NODES, "more than %u names and values",
                 x->limits.nodes);
    else if (element == ELEMENT_MAP || element == ELEMENT_ARRAY)
        open_container(x, element == ELEMENT_MAP);
    else
        open_scalar(x, element);
}

/* --- text ---------------------------------------------------------------- */

/* Text between elements: white space. */
static void pass_space(struct xml_parser *x, const char *text, size_t len)
{
    for (size_t at = 0; at < len; at++) {
        if (xml_is_space(text[at]))
            continue;
        x->rc = PDR_FAIL(&x->err, XML_TEXT,
                         "text stands only in string, number and boolean");
        pdr__xml_refuse_at(x, at);
        return;
    }
}

/* Of a number or boolean: white space around it does not count. */
static void add_word(struct xml_parser *x, const char *text, size_t len)
{
    for (size_t at = 0; at < len && x->rc == PDR_OK; at++) {
        char c = text[at];
        if (xml_is_space(c)) {
            x->gap = x->text.len > 0;
            continue;
        }
        if (x->gap) /* wrong, whatever follows; one is enough to show it */
            x->rc = pdr_buf_append(&x->text, PDR_LIT(" "), &x->err);
        x->gap = false;
        if (x->rc == PDR_OK)
            x->rc = pdr_buf_append(&x->text, pdr_str_n(&c, 1), &x->err);
    }
    if (x->rc != PDR_OK)
        pdr__xml_refuse_at(x, 0);
    else
        (void)check_size(x, x->text.len, x->max_scalar);
}

static void add_string(struct xml_parser *x, pdr_str text)
{
    bool later = x->escaped || x->has_raw;
    /* An escape for U+FFFE has twice its bytes. */
    size_t most = x->max_scalar - 1;

    if (later)
        x->rc = pdr_buf_append(&x->text, text, &x->err);
    else
        x->rc = pdr__text_encode(&x->text, text, &x->err);
    if (x->rc != PDR_OK)
        pdr__xml_refuse_at(x, 0);
    else if (x->has_raw)
        (void)check_size(x, x->text.len / 2, most);
    else
        (void)check_size(x, x->text.len + (later ? 1 : 0), most);
}

void pdr__xml_text(struct xml_parser *x, const char *text, size_t len)
{
    switch (x->scalar) {
    case ELEMENT_STRING:
        add_string(x, pdr_str_n(text, len));
        break;
    case ELEMENT_NUMBER:
    case ELEMENT_BOOLEAN:
        add_word(x, text, len);
        break;
    case ELEMENT_NULL:
        XML_FAIL(x, XML_TEXT, "null has no content");
        break;
    case ELEMENT_NONE:
    case ELEMENT_MAP:
    case ELEMENT_ARRAY:
        pass_space(x, text, len);
        break;
    }
}

/* --- end tags ------------------------------------------------------------ */

static void end_number(struct xml_parser *x)
{
    pdr_str text = pdr_buf_str(&x->text);
    bool bare = pdr__number_is_bare(text);

    if (bare && !x->limits.bare)
        XML_FAIL(x, BARE_TOKEN,
                 "NaN and infinities are read only when asked for");
    else if (!bare && !pdr__number_is_valid(text))
        XML_FAIL(x, BAD_NUMBER, "no JSON number");
    else
        emit_scalar(x, text, NODE_NUMBER | (bare ? NODE_FLAG : 0));
}

static void end_boolean(struct xml_parser *x)
{
    pdr_str text = pdr_buf_str(&x->text);

    if (pdr_str_equal(text, PDR_LIT("true")) ||
        pdr_str_equal(text, PDR_LIT("1")))
        emit_scalar(x, PDR_LIT("true"), NODE_BOOL | NODE_FLAG);
    else if (pdr_str_equal(text, PDR_LIT("false")) ||
             pdr_str_equal(text, PDR_LIT("0")))
        emit_scalar(x, PDR_LIT("false"), NODE_BOOL);
    else
        XML_FAIL(x, XML_TEXT, "a boolean is true, false, 1 or 0");
}

/* A string whose content has JSON escapes, or whose spelling stands beside. */
static void end_spelled(struct xml_parser *x)
{
    uint32_t info = 0;

    x->spelled.len = 0;
    x->rc = pdr__xml_read_text(&x->spelled, &info, pdr_buf_str(&x->text),
                               x->escaped, &x->err);
    if (x->rc == PDR_OK && x->has_raw)
        x->rc =
            pdr__xml_restore(&x->spelled, &info, pdr_buf_str(&x->raw), &x->err);
    if (x->rc != PDR_OK)
        pdr__xml_refuse_at(x, 0);
    else
        emit_scalar(x, pdr_buf_str(&x->spelled), info);
}

static void end_string(struct xml_parser *x)
{
    pdr_str inner = pdr_str_n(x->text.ptr + 1, x->text.len - 1);
    uint32_t info = NODE_STRING;

    if (memchr(inner.ptr, '\\', inner.len) != NULL)
        info |= NODE_FLAG;
    x->rc = pdr_buf_append(&x->text, PDR_LIT("\""), &x->err);
    if (x->rc != PDR_OK)
        pdr__xml_refuse_at(x, 0);
    else
        emit_scalar(x, pdr_buf_str(&x->text), info);
}

static void end_scalar(struct xml_parser *x)
{
    switch (x->scalar) {
    case ELEMENT_STRING:
        if (x->escaped || x->has_raw)
            end_spelled(x);
        else
            end_string(x);
        break;
    case ELEMENT_NUMBER:
        end_number(x);
        break;
    case ELEMENT_BOOLEAN:
        end_boolean(x);
        break;
    case ELEMENT_NULL:
        emit_scalar(x, PDR_LIT("null"), NODE_NULL);
        break;
    case ELEMENT_NONE:
    case ELEMENT_MAP:
    case ELEMENT_ARRAY:
        break;
    }
    x->scalar = ELEMENT_NONE;
}

void pdr__xml_end(struct xml_parser *x)
{
    if (x->scalar != ELEMENT_NONE) {
        end_scalar(x);
        if (x->rc != PDR_OK)
            return;
    } else {
        emit_end(x);
        x->names.len = x->levels[--x->depth].names_len;
    }
    x->inside = false;
    if (x->depth > 0)
        x->levels[x->depth - 1].children++;
    else
        x->done = true;
}
