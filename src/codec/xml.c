/*
 * xml.c - XML to values and to events, on expat.
 *
 * WHY  expat knows XML; here is what the W3C's representation of JSON allows of
 *      it, and how elements become values. The same handlers serve a document
 *      in memory, which goes straight into a builder, and a stream: there the
 *      parser is suspended at each event and goes on when the next is wanted.
 *
 *        input ─► expat ─► on_start, on_text, on_end ─► builder, or `pending`
 *
 *      expat refuses what is not well-formed. DTDs are refused where they
 *      begin, so no entity is ever declared, and none is expanded.
 *
 * INVARIANTS
 *   X1  After the first failure no handler does anything.
 *   X2  `scalar` is the element that is open inside the innermost container, or
 *       ELEMENT_NONE; `text` has its content as far as it was seen.
 *   X3  `pending` is empty while expat runs, save inside of one tag.
 *
 * NOT HERE  How strings are spelled (xml_text.c), writing (xml_writer.c).
 */
#include <expat.h>
#include <limits.h>

#include "number.h"
#include "xml_core.h"

/* Between a namespace and a name, as expat gives them: no character of XML. */
#define SEPARATOR '\x01'
#define IN_FN     XML_NAMESPACE "\x01"
#define IN_OWN    XML_OWN_NAMESPACE "\x01"

/* Bytes that expat is given at once: its lengths are of type int. */
#define MAX_PIECE ((size_t)1 << 30)

struct xml_level {
    bool object;
    uint64_t children; /* complete ones */
    size_t names_len;  /* of `names` without its own name */
};

struct xml_event {
    pdr_event event;
    pdr_str span; /* NAME, SCALAR: borrowed from `key` or `text` */
    uint32_t info;
    int64_t offset;
};

struct xml_parser {
    XML_Parser expat; /* owned */
    struct read_limits limits;
    size_t max_scalar;    /* bytes of a name or scalar as JSON */
    size_t max_tag;       /* bytes of a tag or comment */
    bool one;             /* stop behind the root element */
    pdr_builder *builder; /* borrowed; NULL: events go to `pending` */
    /* where we are */
    int64_t base;             /* of the document in the stream */
    size_t fed;               /* bytes of it that expat got */
    size_t line, column;      /* where it begins, from 1 and from 0 */
    bool wide;                /* it is UTF-16 */
    struct xml_level *levels; /* owned; limits.depth of them */
    uint32_t depth;
    pdr_buf names;    /* of open containers in maps, one behind another */
    uint64_t nodes;   /* names and values so far */
    bool inside;      /* what is read stands in a child that has a place */
    bool seen;        /* something but white space */
    bool begun, done; /* the root element */
    int64_t end;      /* behind the root element */
    int64_t tail;     /* behind white space and comments after that */
    /* the element at hand */
    int64_t begin;           /* its first byte */
    enum xml_element scalar; /* X2 */
    bool escaped, has_raw, gap;
    pdr_buf key, text, raw, spelled;
    uint32_t key_info;
    /* for walks */
    struct xml_event pending[3]; /* X3 */
    unsigned pending_count;
    bool moved; /* some handler ran */
    pdr_rc rc;  /* X1 */
    pdr_err err;
};

/* --- failures ------------------------------------------------------------ */

/* Append the name of a level's child as a part of a pointer. */
static pdr_rc push_name(pdr_buf *path, pdr_str span)
{
    return pdr__json_push_token(path, pdr_str_n(span.ptr + 1, span.len - 2));
}

static void put_path(struct xml_parser *x)
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

/* Byte of the stream where the token at hand begins. */
static int64_t here(const struct xml_parser *x)
{
    return x->base + (int64_t)XML_GetCurrentByteIndex(x->expat);
}

/* Put place and path into the failure, `ahead` characters behind the beginning
 * of the token at hand, and stop (X1). */
static void refuse_at(struct xml_parser *x, size_t ahead)
{
    size_t line = XML_GetCurrentLineNumber(x->expat);
    size_t column = XML_GetCurrentColumnNumber(x->expat) + ahead + 1;

    if (x->rc != PDR_ENOMEM) {
        if (line == 1)
            column += x->column;
        (void)pdr__wrap(&x->err, x->rc, "line %zu, column %zu",
                        x->line + line - 1, column);
        x->err.offset = here(x) + (int64_t)(x->wide ? 2 * ahead : ahead);
        put_path(x);
    }
    (void)XML_StopParser(x->expat, XML_FALSE);
}

#define XML_FAIL(x, reason, ...) \
    ((x)->rc = PDR_FAIL(&(x)->err, reason, __VA_ARGS__), refuse_at((x), 0))

/* The input ends too early. */
static void refuse_end(struct xml_parser *x, enum XML_Error code)
{
    if (!x->seen && code == XML_ERROR_NO_ELEMENTS)
        x->rc = PDR_FAIL(&x->err, EMPTY_INPUT, "the document is empty");
    else
        x->rc = PDR_FAIL(&x->err, UNEXPECTED_END,
                         "the document ends before it is complete");
    x->err.offset = x->base + (int64_t)x->fed;
    put_path(x);
}

/* expat gave up. */
static void refuse_xml(struct xml_parser *x)
{
    enum XML_Error code = XML_GetErrorCode(x->expat);

    if (x->rc != PDR_OK)
        return; /* because a handler did */
    if (x->done && (code == XML_ERROR_JUNK_AFTER_DOC_ELEMENT ||
                    code == XML_ERROR_INVALID_TOKEN)) {
        /* Which one depends on how much expat has seen. */
        XML_FAIL(x, TRAILING_DATA, "there is more behind the document");
        x->err.offset = x->tail;
        return;
    }
    switch ((int)code) {
    case XML_ERROR_NO_MEMORY:
        x->rc = pdr__nomem(&x->err);
        break;
    case XML_ERROR_NO_ELEMENTS:
    case XML_ERROR_UNCLOSED_TOKEN:
    case XML_ERROR_PARTIAL_CHAR:
    case XML_ERROR_UNCLOSED_CDATA_SECTION:
        refuse_end(x, code);
        break;
    case XML_ERROR_UNDEFINED_ENTITY:
        XML_FAIL(x, XML_FORBIDDEN,
                 "an entity beyond &amp; &lt; &gt; &quot; and &apos;");
        break;
    default:
        XML_FAIL(x, BAD_XML, "no well-formed XML: %s", XML_ErrorString(code));
        break;
    }
}

/* The beginning of each handler: is there anything to do? */
static bool enter(struct xml_parser *x)
{
    if (x->rc != PDR_OK)
        return false;
    if (x->builder != NULL)
        return true; /* the document has a limit */
    x->moved = true;
    if ((size_t)XML_GetCurrentByteCount(x->expat) <= x->max_tag)
        return true;
    XML_FAIL(x, TOO_LARGE, "a tag or comment of more than %zu bytes",
             x->max_tag);
    return false;
}

/* --- what a document has beside elements --------------------------------- */

static void on_other(void *data, const XML_Char *text, int len)
{
    struct xml_parser *x = data;

    (void)text;
    (void)len;
    if (enter(x))
        x->tail = here(x) + XML_GetCurrentByteCount(x->expat);
}

static void on_comment(void *data, const XML_Char *text)
{
    struct xml_parser *x = data;

    x->seen = true;
    on_other(data, text, 0);
}

static void on_declaration(void *data, const XML_Char *version,
                           const XML_Char *encoding, int standalone)
{
    struct xml_parser *x = data;

    (void)version;
    (void)encoding;
    (void)standalone;
    if (enter(x))
        x->seen = x->begun = true;
}

static void on_doctype(void *data, const XML_Char *name, const XML_Char *system,
                       const XML_Char *public, int has_subset)
{
    struct xml_parser *x = data;

    (void)name;
    (void)system;
    (void)public;
    (void)has_subset;
    if (enter(x))
        XML_FAIL(x, XML_FORBIDDEN, "a document type declaration (DTD)");
}

static void on_instruction(void *data, const XML_Char *target,
                           const XML_Char *text)
{
    struct xml_parser *x = data;

    (void)target;
    (void)text;
    if (enter(x))
        XML_FAIL(x, XML_FORBIDDEN, "a processing instruction");
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
        (void)XML_StopParser(x->expat, XML_TRUE);
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
        push_event(x, PDR_END, here(x), none, 0);
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
    const char *separator = strchr(name, SEPARATOR);

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
    } else if (strchr(name, SEPARATOR) != NULL) {
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
        refuse_at(x, 0);
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
        refuse_at(x, 0);
    else
        (void)check_size(x, x->key.len, x->max_scalar);
}

/* Check the attributes and keep what they say. */
static void read_attributes(struct xml_parser *x, enum xml_element element,
                            const XML_Char **pairs)
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
        refuse_at(x, 0);
        return;
    }
    x->depth++;
    x->inside = false;
}

/* Begin to collect the content of a scalar (X2). */
static void open_scalar(struct xml_parser *x, enum xml_element element)
{
    x->scalar = element;
    x->gap = false;
    x->text.len = 0;
    if (element == ELEMENT_STRING && !x->escaped && !x->has_raw)
        x->rc = pdr_buf_append(&x->text, PDR_LIT("\""), &x->err);
    if (x->rc != PDR_OK)
        refuse_at(x, 0);
}

static void on_start(void *data, const XML_Char *name, const XML_Char **pairs)
{
    struct xml_parser *x = data;
    enum xml_element element = element_of(name);

    if (!enter(x))
        return;
    if (x->builder == NULL)
        x->begin = here(x);
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
        refuse_at(x, at);
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
        refuse_at(x, 0);
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
        refuse_at(x, 0);
    else if (x->has_raw)
        (void)check_size(x, x->text.len / 2, most);
    else
        (void)check_size(x, x->text.len + (later ? 1 : 0), most);
}

static void on_text(void *data, const XML_Char *text, int len)
{
    struct xml_parser *x = data;

    if (!enter(x))
        return;
    switch (x->scalar) {
    case ELEMENT_STRING:
        add_string(x, pdr_str_n(text, (size_t)len));
        break;
    case ELEMENT_NUMBER:
    case ELEMENT_BOOLEAN:
        add_word(x, text, (size_t)len);
        break;
    case ELEMENT_NULL:
        XML_FAIL(x, XML_TEXT, "null has no content");
        break;
    case ELEMENT_NONE:
    case ELEMENT_MAP:
    case ELEMENT_ARRAY:
        pass_space(x, text, (size_t)len);
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
        refuse_at(x, 0);
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
        refuse_at(x, 0);
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

static void on_end(void *data, const XML_Char *name)
{
    struct xml_parser *x = data;

    (void)name;
    if (!enter(x))
        return;
    if (x->scalar != ELEMENT_NONE) {
        end_scalar(x);
        if (x->rc != PDR_OK)
            return;
    } else {
        emit_end(x);
        x->names.len = x->levels[--x->depth].names_len;
    }
    x->inside = false;
    if (x->depth > 0) {
        x->levels[x->depth - 1].children++;
        return;
    }
    x->done = true;
    x->end = x->tail = here(x) + XML_GetCurrentByteCount(x->expat);
    XML_SetDefaultHandler(x->expat, on_other);
    if (x->one && x->builder != NULL)
        (void)XML_StopParser(x->expat, XML_FALSE);
}

/* --- a parser ------------------------------------------------------------ */

/* Everything that expat forgets when it is reset. */
static void set_handlers(struct xml_parser *x)
{
    XML_SetUserData(x->expat, x);
    XML_SetElementHandler(x->expat, on_start, on_end);
    XML_SetCharacterDataHandler(x->expat, on_text);
    XML_SetCommentHandler(x->expat, on_comment);
    XML_SetProcessingInstructionHandler(x->expat, on_instruction);
    XML_SetStartDoctypeDeclHandler(x->expat, on_doctype);
    XML_SetXmlDeclHandler(x->expat, on_declaration);
    if (x->builder == NULL)
        XML_SetDefaultHandler(x->expat, on_other);
#ifdef PDR_EXPAT_DEFERS
    (void)XML_SetReparseDeferralEnabled(x->expat, XML_FALSE);
#endif
}

/* expat does not always tell that memory ran out: a prefix that it could not
 * keep is as if it were not declared. Its allocator has no context to note that
 * in, so each thread has a place for it, used within one call only. */
static _Thread_local bool lacked_memory;

static void *take_memory(size_t size)
{
    void *ptr = pdr__alloc(size);

    lacked_memory = lacked_memory || ptr == NULL;
    return ptr;
}

static void *resize_memory(void *ptr, size_t size)
{
    void *other = pdr__realloc(ptr, size);

    lacked_memory = lacked_memory || other == NULL;
    return other;
}

/* Let expat work on the next bytes, or on what it has. */
static enum XML_Status run_expat(struct xml_parser *x, const char *from,
                                 size_t len, bool last)
{
    lacked_memory = false;
    enum XML_Status status =
        from != NULL ? XML_Parse(x->expat, from, (int)len, last ? 1 : 0)
                     : XML_ResumeParser(x->expat);
    if (!lacked_memory)
        return status;
    x->rc = pdr__nomem(&x->err);
    x->pending_count = 0;
    return XML_STATUS_ERROR;
}

/* How many of these bytes expat gets at once. It passes on what it has of a
 * text at the end of its input, but nothing of one that has "]]>" in it. So
 * that a document is refused for the same reason however it comes in, it is
 * always cut around brackets before a ">". */
static size_t piece_bytes(const struct xml_parser *x, const char *from,
                          size_t len)
{
    size_t unit = x->wide ? 2 : 1;
    const char *end = from + len;

    for (const char *p = from; len > 0; p++) {
        p = memchr(p, ']', (size_t)(end - p));
        if (p == NULL || (size_t)(end - p) <= unit)
            break;
        if (p[unit] != '>')
            continue;
        const char *run = p;
        while ((size_t)(run - from) >= unit && *(run - unit) == ']')
            run -= unit;
        return (size_t)((run > from ? run : p + unit) - from);
    }
    return len < MAX_PIECE ? len : MAX_PIECE;
}

static pdr_rc parser_init(struct xml_parser *x, const pdr_read_opts *opts,
                          pdr_err *err)
{
    static const XML_Memory_Handling_Suite memory = {take_memory, resize_memory,
                                                     pdr__free};
    static const XML_Char separator[] = {SEPARATOR, '\0'};

    memset(x, 0, sizeof(*x));
    pdr_rc rc = pdr__read_limits(&x->limits, opts, err);
    if (rc != PDR_OK)
        return rc;
    x->err = (pdr_err)PDR_ERR_INIT;
    x->line = 1;
    x->scalar = ELEMENT_NONE;
    x->max_scalar = PDR_MAX_TEXT_BYTES;
    x->names.max = x->key.max = x->text.max = SIZE_MAX;
    x->raw.max = x->spelled.max = SIZE_MAX;
    x->levels = pdr__calloc(x->limits.depth, sizeof(x->levels[0]));
    if (x->levels != NULL)
        x->expat = XML_ParserCreate_MM(NULL, &memory, separator);
    if (x->expat == NULL)
        rc = pdr__nomem(err);
    return rc;
}

static void parser_dispose(struct xml_parser *x)
{
    if (x->expat != NULL)
        XML_ParserFree(x->expat);
    pdr__free(x->levels);
    pdr_buf_dispose(&x->names);
    pdr_buf_dispose(&x->key);
    pdr_buf_dispose(&x->text);
    pdr_buf_dispose(&x->raw);
    pdr_buf_dispose(&x->spelled);
}

/* Is a text UTF-16, by its first bytes? */
static bool is_wide(const char *text, size_t len)
{
    return len >= 2 && (text[0] == '\0' || text[1] == '\0' ||
                        memcmp(text, "\xFF\xFE", 2) == 0 ||
                        memcmp(text, "\xFE\xFF", 2) == 0);
}

static pdr_rc give_failure(const struct xml_parser *x, pdr_err *err)
{
    if (err != NULL)
        *err = x->err;
    return x->rc;
}

/* --- documents in memory ------------------------------------------------- */

static pdr_rc parse_all(struct xml_parser *x, pdr_str input)
{
    bool last = false;

    set_handlers(x);
    x->wide = is_wide(input.ptr, input.len);
    while (x->rc == PDR_OK && !last && !(x->one && x->done)) {
        size_t left = input.len - x->fed;
        const char *from = left > 0 ? input.ptr + x->fed : "";
        size_t len = piece_bytes(x, from, left);
        last = len == left;
        x->fed += len;
        enum XML_Status status = run_expat(x, from, len, last);
        if (status == XML_STATUS_ERROR && !(x->one && x->done))
            refuse_xml(x);
    }
    return x->rc;
}

/* Documents of agents have a node for every 37 bytes of XML, and 0.7 bytes of
 * JSON for each. Others grow, which copies. */
static void expect(struct xml_parser *x, size_t bytes)
{
    size_t nodes = bytes / 32 + 4;

    if (x->one)
        return; /* who knows how much of it is wanted */
    pdr__builder_expect(
        x->builder, nodes < x->limits.nodes ? (uint32_t)nodes : x->limits.nodes,
        bytes / 4 * 3);
}

static pdr_rc read_document(pdr_value **out, struct xml_parser *x,
                            pdr_str input, const pdr_read_opts *opts,
                            pdr_err *err)
{
    x->one = x->limits.trailing;
    pdr_rc rc = pdr_builder_new(&x->builder, err);
    if (rc != PDR_OK)
        return rc;
    expect(x, input.len);
    rc = parse_all(x, input);
    if (rc != PDR_OK)
        (void)give_failure(x, err);
    else
        rc = pdr_builder_finish(out, x->builder, err);
    if (rc == PDR_OK && opts->used != NULL)
        *opts->used = (size_t)x->end;
    pdr_builder_free(x->builder);
    return rc;
}

pdr_rc pdr__xml_read(pdr_value **out, pdr_str input, const pdr_read_opts *opts,
                     pdr_err *err)
{
    struct xml_parser x;
    pdr_rc rc = parser_init(&x, opts, err);

    if (rc == PDR_OK && input.len > x.limits.bytes)
        rc = PDR_FAIL_AT(err, x.limits.bytes, TOO_LARGE,
                         "%zu bytes, the limit is %zu", input.len,
                         x.limits.bytes);
    if (rc == PDR_OK)
        rc = read_document(out, &x, input, opts, err);
    parser_dispose(&x);
    return rc;
}

/* --- streams ------------------------------------------------------------- */

/* A walk gives expat slices of its window. In a window, `event` is the first
 * byte of the slice that expat works on, `pos` the one behind it. */
struct xml_walk {
    struct xml_parser x;
    struct window in;
    bool sequence, suspended, started, finished;
    size_t unfinished; /* bytes of a tag or comment that has no end yet */
    unsigned given;    /* of x.pending */
    int64_t offset;    /* of the last event */
};

pdr_rc pdr__xml_walk_open(void **self, const pdr_read_opts *opts, pdr_err *err,
                          pdr_read_fn fn, void *arg)
{
    struct xml_walk *w = pdr__calloc(1, sizeof(*w));

    if (w == NULL)
        return pdr__nomem(err);
    pdr__window_init(&w->in, fn, arg);
    pdr_rc rc = parser_init(&w->x, opts, err);
    if (rc != PDR_OK) {
        pdr__xml_walk_close(w);
        return rc;
    }
    w->sequence = w->x.one = (opts->flags & PDR_SEQUENCE) != 0;
    w->x.max_scalar = w->x.limits.bytes;
    w->x.max_tag = w->x.limits.bytes + PDR_WALK_WINDOW_BYTES;
    *self = w;
    return PDR_OK;
}

void pdr__xml_walk_close(void *self)
{
    struct xml_walk *w = self;

    parser_dispose(&w->x);
    pdr__window_dispose(&w->in);
    pdr__free(w);
}

int64_t pdr__xml_walk_offset(const void *self)
{
    const struct xml_walk *w = self;

    return w->offset;
}

static size_t left_in_window(const struct xml_walk *w)
{
    return w->in.buf.len - w->in.pos;
}

static bool fill(struct xml_walk *w)
{
    w->in.event = w->in.pos; /* expat has what lies before */
    w->x.rc = pdr__window_fill(&w->in, &w->x.err);
    return w->x.rc == PDR_OK;
}

/* Between documents: white space of one byte. UTF-16 is left to expat. */
static bool at_space(const struct xml_walk *w)
{
    const char *p = w->in.buf.ptr + w->in.pos;
    size_t left = left_in_window(w);

    return left > 0 && xml_is_space(p[0]) && !(left > 1 && p[1] == '\0');
}

/* Go to the first byte of a document; two bytes tell what it is. */
static void start_document(struct xml_walk *w)
{
    struct xml_parser *x = &w->x;

    for (;;) {
        while (left_in_window(w) < 2 && !w->in.at_end)
            if (!fill(w))
                return;
        if (!w->sequence || !at_space(w))
            break;
        x->column++;
        if (w->in.buf.ptr[w->in.pos] == '\n') {
            x->line++;
            x->column = 0;
        }
        w->in.pos++;
    }
    if (w->sequence && left_in_window(w) == 0) {
        w->finished = true;
        return;
    }
    w->in.event = w->in.pos;
    x->base = w->in.base + (int64_t)w->in.pos;
    if (left_in_window(w) > 0)
        x->wide = is_wide(w->in.buf.ptr + w->in.pos, left_in_window(w));
    set_handlers(x);
    w->started = true;
}

/* The root element of one of several documents has ended: forget it. */
static void end_document(struct xml_walk *w)
{
    struct xml_parser *x = &w->x;
    size_t line = XML_GetCurrentLineNumber(x->expat);
    size_t column = XML_GetCurrentColumnNumber(x->expat);

    x->column = column + (line == 1 ? x->column : 0);
    x->line += line - 1;
    w->in.event = w->in.pos = (size_t)(x->end - w->in.base);
    w->suspended = w->started = false;
    w->unfinished = 0;
    x->done = x->begun = x->seen = x->inside = false;
    x->fed = 0;
    if (XML_ParserReset(x->expat, NULL) != XML_TRUE)
        x->rc = pdr__nomem(&x->err);
}

/* Bytes that expat gets at once: a window, or as many again as it could not
 * finish. So no text or white space is ever longer than a tag may be. */
static size_t slice_bytes(const struct xml_walk *w)
{
    if (w->unfinished <= PDR_WALK_WINDOW_BYTES)
        return PDR_WALK_WINDOW_BYTES;
    return w->unfinished < MAX_PIECE ? w->unfinished : MAX_PIECE;
}

/* Have as much as makes it worth while to try again. A tag can have its end
 * only in bytes that have a ">"; but trying a long one for each of them would
 * take time that grows with its square. */
static bool collect(struct xml_walk *w)
{
    bool eager = w->unfinished <= PDR_WALK_WINDOW_BYTES;
    size_t looked = 0;

    for (;;) {
        size_t left = left_in_window(w);
        const char *fresh = w->in.buf.ptr + w->in.pos + looked;
        if (eager && left > looked && memchr(fresh, '>', left - looked) != NULL)
            return true;
        if (w->in.at_end || left >= slice_bytes(w))
            return true;
        looked = left;
        if (!fill(w))
            return false;
    }
}

static enum XML_Status feed(struct xml_walk *w)
{
    size_t left = left_in_window(w), most = slice_bytes(w);
    const char *from = left > 0 ? w->in.buf.ptr + w->in.pos : "";
    size_t len = piece_bytes(&w->x, from, left < most ? left : most);

    w->in.event = w->in.pos;
    w->in.pos += len;
    w->x.fed += len;
    w->unfinished += len;
    return run_expat(&w->x, from, len, w->in.at_end && len == left);
}

/* What expat could not finish gets a limit, too. */
static void check_progress(struct xml_walk *w)
{
    struct xml_parser *x = &w->x;

    if (x->moved)
        w->unfinished = 0;
    x->moved = false;
    if (x->rc == PDR_OK && w->unfinished > x->max_tag)
        XML_FAIL(x, TOO_LARGE, "a tag or comment of more than %zu bytes",
                 x->max_tag);
}

/* expat gave up. A sequence may end where no document begins. */
static void stop(struct xml_walk *w)
{
    struct xml_parser *x = &w->x;

    if (w->sequence && x->rc == PDR_OK && !x->begun && w->in.at_end &&
        XML_GetErrorCode(x->expat) == XML_ERROR_NO_ELEMENTS)
        w->finished = true;
    else
        refuse_xml(x);
}

/* Let expat go on until there are events, a failure or the end. */
static void advance(struct xml_walk *w)
{
    struct xml_parser *x = &w->x;
    enum XML_Status status;

    if (w->sequence && x->done)
        end_document(w);
    if (x->rc == PDR_OK && !w->started)
        start_document(w);
    if (x->rc != PDR_OK || w->finished)
        return;
    if (w->suspended) {
        status = run_expat(x, NULL, 0, false);
    } else {
        if (!collect(w))
            return;
        status = feed(w);
    }
    w->suspended = status == XML_STATUS_SUSPENDED;
    if (status == XML_STATUS_ERROR) {
        stop(w);
        return;
    }
    check_progress(w);
    if (!w->suspended && w->in.at_end && left_in_window(w) == 0)
        w->finished = true;
}

pdr_rc pdr__xml_walk_next(pdr_event *event, pdr_value **value, void *self,
                          pdr_err *err)
{
    struct xml_walk *w = self;
    struct xml_parser *x = &w->x;

    if (w->given == x->pending_count) {
        w->given = x->pending_count = 0;
        while (x->pending_count == 0 && x->rc == PDR_OK && !w->finished)
            advance(w);
    }
    if (w->given == x->pending_count) {
        if (x->rc != PDR_OK)
            return give_failure(x, err);
        w->offset = w->in.base + (int64_t)w->in.pos;
        *event = PDR_END_OF_INPUT;
        return PDR_OK;
    }
    const struct xml_event *next = &x->pending[w->given++];
    w->offset = next->offset;
    *event = next->event;
    if (next->event != PDR_NAME && next->event != PDR_SCALAR)
        return PDR_OK;
    return pdr__value_new_span(value, next->span, next->info, err);
}
