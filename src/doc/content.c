/*
 * content.c - one table of all kinds of messages and contents.
 *
 * WHY  State documents, .NET sessions, Python sessions and saved chats of
 *      Semantic Kernel say the same things in four spellings. The table knows
 *      them all, so that nobody else has to know that a tool call is a
 *      `function_call` somewhere.
 */
#include <strings.h>

#include "content_table.h"

/* Discriminators by kind and shape; "" where a shape has no such kind. */
static const char *const type_names[][PDR_SHAPES] = {
    {"", "", "", ""},
#define CONTENT_ROW(name, state, dotnet, python, sk) \
    {state, dotnet, python, sk},
    PDR_CONTENT_MAP(CONTENT_ROW)
#undef CONTENT_ROW
};

#define KINDS PDR_COUNT(type_names)

/* Their lengths, one line of bytes per shape: finding a kind looks at these
 * first, and compares one name as a rule. */
#define STATE_LENGTH(name, state, dotnet, python, sk)  sizeof(state) - 1,
#define DOTNET_LENGTH(name, state, dotnet, python, sk) sizeof(dotnet) - 1,
#define PYTHON_LENGTH(name, state, dotnet, python, sk) sizeof(python) - 1,
#define SK_LENGTH(name, state, dotnet, python, sk)     sizeof(sk) - 1,
static const uint8_t type_lengths[PDR_SHAPES][KINDS] = {
    {0, PDR_CONTENT_MAP(STATE_LENGTH)},
    {0, PDR_CONTENT_MAP(DOTNET_LENGTH)},
    {0, PDR_CONTENT_MAP(PYTHON_LENGTH)},
    {0, PDR_CONTENT_MAP(SK_LENGTH)},
};

pdr_content_kind pdr__content_kind_named(pdr_str name, pdr_shape shape)
{
    const uint8_t *lengths = type_lengths[shape];
    const uint8_t *end = lengths + KINDS;
    const uint8_t *at = lengths + 1;

    if (name.len == 0 || name.len > UINT8_MAX)
        return PDR_CONTENT_OTHER;
    for (;; at++) {
        size_t kind = 0;

        at = memchr(at, (int)name.len, (size_t)(end - at));
        if (at == NULL)
            return PDR_CONTENT_OTHER;
        kind = (size_t)(at - lengths);
        if (memcmp(type_names[kind][shape], name.ptr, name.len) == 0)
            return (pdr_content_kind)kind;
    }
}

/* A discriminator with escapes. Nobody writes one. */
static pdr_content_kind kind_escaped(const pdr_value *type, pdr_shape shape)
{
    for (size_t i = 1; i < KINDS; i++) {
        if (type_lengths[shape][i] > 0 &&
            pdr_value_text_is(type, pdr_str_c(type_names[i][shape])))
            return (pdr_content_kind)i;
    }
    return PDR_CONTENT_OTHER;
}

pdr_content_kind pdr_content_kind_of(const pdr_value *content, pdr_shape shape)
{
    const pdr_value *type =
        pdr_value_get(content, shape == PDR_SHAPE_PYTHON ? PDR_LIT("type")
                                                         : PDR_LIT("$type"));

    if (type == NULL || node_kind(type) != NODE_STRING)
        return PDR_CONTENT_OTHER;
    if (PDR_UNLIKELY((type->info & NODE_FLAG) != 0))
        return kind_escaped(type, shape);
    return pdr__content_kind_named(string_inner(type), shape);
}

const char *pdr_content_kind_name(pdr_content_kind kind, pdr_shape shape)
{
    return type_names[kind][shape];
}

const char *pdr__type_name(pdr_shape shape)
{
    return shape == PDR_SHAPE_PYTHON ? "type" : "$type";
}

const char *pdr__properties_name(pdr_shape shape)
{
    static const char *const names[] = {"additionalProperties",
                                        "additionalProperties",
                                        "additional_properties", "Metadata"};

    return names[shape];
}

const char *pdr__shape_name(pdr_shape shape)
{
    static const char *const names[] = {"state", "dotnet", "python", "sk"};

    return names[shape];
}

/* --- names --------------------------------------------------------------- */

/* How others than Semantic Kernel spell a member of its messages; "" if they do
 * not. */
static const char *other_name(const char *name)
{
    static const char *const names[][2] = {
        {"Role", "role"}, {"AuthorName", "name"}, {"Items", "items"}};

    for (size_t i = 0; i < PDR_COUNT(names); i++) {
        if (strcmp(names[i][0], name) == 0)
            return names[i][1];
    }
    return "";
}

bool pdr__name_is(const pdr_value *name, const char *text, pdr_shape shape)
{
    pdr_str wanted = pdr_str_c(text);

    if (shape == PDR_SHAPE_SK && other_name(text)[0] != '\0' &&
        pdr_value_text_is(name, pdr_str_c(other_name(text))))
        return true;
    if (shape != PDR_SHAPE_DOTNET || text[0] == '$')
        return pdr_value_text_is(name, wanted);
    return name != NULL && node_kind(name) == NODE_STRING &&
           pdr__is_folded(name, wanted);
}

const pdr_value *pdr__find_member(const pdr_value *object, const char *name,
                                  pdr_shape shape)
{
    const pdr_value *found = NULL;
    pdr_iter it;

    if (shape != PDR_SHAPE_DOTNET) {
        found = pdr_value_get_c(object, name);
        if (found == NULL && shape == PDR_SHAPE_SK &&
            other_name(name)[0] != '\0')
            found = pdr_value_get_c(object, other_name(name));
        return found;
    }
    if (object == NULL || pdr_value_kind(object) != PDR_OBJECT)
        return NULL;
    pdr_iter_init(&it, object);
    while (pdr_iter_next(&it)) {
        if (pdr__name_is(it.name, name, shape))
            found = it.value;
    }
    return found;
}

const pdr_value *pdr__find_member_of(const pdr_value *object, const char *name,
                                     pdr_shape shape, pdr_kind kind)
{
    const pdr_value *member = pdr__find_member(object, name, shape);

    return member != NULL && pdr_value_kind(member) == kind ? member : NULL;
}

/* --- fields -------------------------------------------------------------- */

unsigned pdr__readable(const struct content_member *row, pdr_shape shape)
{
    if (row->way == WAY_ARGUMENTS && shape == PDR_SHAPE_PYTHON)
        return JSON_MAP | JSON_TEXT;
    if (row->way == WAY_DETAILS && shape == PDR_SHAPE_DOTNET)
        return JSON_TEXT;
    if (row->way == WAY_ROLE && pdr__has_more(shape))
        return JSON_TEXT | JSON_MAP;
    return row->json;
}

const pdr_value *pdr_content_get(const pdr_value *content, pdr_shape shape,
                                 pdr_field field)
{
    pdr_content_kind kind = pdr_content_kind_of(content, shape);
    const struct content_member *row = NULL;
    const pdr_value *member = NULL;

    if (kind == PDR_CONTENT_OTHER && field != PDR_FIELD_ANNOTATIONS &&
        field != PDR_FIELD_PROPERTIES)
        return NULL;
    row = pdr__content_member(kind, shape, field);
    if (row == NULL)
        return NULL;
    member = pdr__find_member(content, row->names[shape], shape);
    if (row->way == WAY_DETAILS && shape == PDR_SHAPE_STATE &&
        pdr__is_nothing(member))
        member = pdr_value_get_c(content, "detailsJson");
    if (member == NULL ||
        (pdr__readable(row, shape) & JSON_BIT(pdr_value_kind(member))) == 0)
        return NULL;
    return member;
}

/* --- media types --------------------------------------------------------- */

/* Do the bytes at `text`, as many as `word` has, say it in either case? */
static bool is_word(const char *text, pdr_str word)
{
    return strncasecmp(text, word.ptr, word.len) == 0;
}

bool pdr__data_uri_read(struct data_uri *out, pdr_str uri)
{
    const pdr_str scheme = PDR_LIT("data:"), mark = PDR_LIT(";base64");
    pdr_str *media = &out->media;
    const char *comma = NULL;

    if (uri.len < scheme.len || !is_word(uri.ptr, scheme))
        return false;
    comma = memchr(uri.ptr, ',', uri.len);
    if (comma == NULL)
        return false;
    out->data = pdr_str_n(comma + 1, uri.len - (size_t)(comma + 1 - uri.ptr));
    *media =
        pdr_str_n(uri.ptr + scheme.len, (size_t)(comma - uri.ptr) - scheme.len);
    out->is_base64 = media->len >= mark.len && is_word(comma - mark.len, mark);
    if (out->is_base64)
        media->len -= mark.len;
    /* Parameters alone say nothing of the type. */
    if (memchr(media->ptr, '/', media->len) == NULL)
        media->len = 0;
    return true;
}

pdr_str pdr__data_uri_media(pdr_str uri)
{
    struct data_uri parts = {{NULL, 0}, {NULL, 0}, false};

    return pdr__data_uri_read(&parts, uri) ? parts.media : pdr_str_n(NULL, 0);
}

bool pdr__is_data_uri(const pdr_value *uri)
{
    struct data_uri parts;

    /* As it is spelled: nobody escapes the scheme, or a comma. */
    return uri != NULL && pdr_value_kind(uri) == PDR_STRING &&
           pdr__data_uri_read(&parts, string_inner(uri));
}

pdr_rc pdr_content_media_type(pdr_str *out, const pdr_value *content,
                              pdr_shape shape, pdr_buf *scratch, pdr_err *err)
{
    const pdr_value *own =
        pdr_content_get(content, shape, PDR_FIELD_MEDIA_TYPE);
    const pdr_value *uri = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && scratch != NULL);
    *out = pdr_str_n("", 0);
    if (own != NULL && !pdr_value_text_is(own, pdr_str_n("", 0)))
        return pdr_value_text(out, own, scratch, err);
    if (pdr_content_kind_of(content, shape) != PDR_CONTENT_DATA)
        return PDR_OK;
    uri = pdr_content_get(content, shape, PDR_FIELD_URI);
    if (uri == NULL)
        return PDR_OK;
    rc = pdr_value_text(out, uri, scratch, err);
    if (rc == PDR_OK)
        *out = pdr__data_uri_media(*out);
    return rc;
}

/* --- arguments ----------------------------------------------------------- */

const pdr_value *pdr__perdure_member(const pdr_value *object, pdr_shape shape,
                                     const char *name, pdr_kind kind)
{
    const pdr_value *properties =
        pdr__find_member(object, pdr__properties_name(shape), shape);

    return pdr__member(pdr_value_get_c(properties, "perdure"), name, kind);
}

/* A member that a conversion from `shape` could not place. */
static const pdr_value *noted(const pdr_value *object, pdr_shape shape,
                              const char *from, const char *name)
{
    const pdr_value *note =
        pdr__perdure_member(object, shape, from, PDR_OBJECT);

    return pdr__member(pdr_value_get_c(note, "members"), name, PDR_STRING);
}

/* The text of arguments that were no object, wherever a conversion put it. */
static const pdr_value *kept_text(const pdr_value *call, pdr_shape shape)
{
    const pdr_value *text = NULL;

    if (shape == PDR_SHAPE_STATE)
        text = pdr__member(call, "argumentsText", PDR_STRING);
    if (text == NULL)
        text = noted(call, shape, "state", "argumentsText");
    if (text == NULL)
        text = noted(call, shape, "python", "arguments");
    return text;
}

/* Are the arguments still what a conversion made of that text? */
static bool stands_for(const pdr_value *arguments, const pdr_value *text)
{
    const pdr_value *raw = pdr_value_get_c(arguments, "raw");

    return pdr_value_count(arguments) == 0 ||
           (pdr_value_count(arguments) == 1 && raw != NULL &&
            pdr_value_equal(raw, text));
}

static pdr_rc append_text(pdr_buf *out, const pdr_value *string, pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_str text = {NULL, 0};
    pdr_rc rc = pdr_value_text(&text, string, &scratch, err);

    if (rc == PDR_OK)
        rc = pdr_buf_append(out, text, err);
    pdr_buf_dispose(&scratch);
    return rc;
}

pdr_rc pdr_content_arguments(pdr_buf *out, const pdr_value *content,
                             pdr_shape shape, pdr_err *err)
{
    pdr_content_kind kind = pdr_content_kind_of(content, shape);
    const pdr_value *arguments = NULL, *text = NULL;

    PDR_REQUIRE(out != NULL);
    if (kind != PDR_CONTENT_CALL && kind != PDR_CONTENT_MCP_CALL)
        return PDR_FAIL(err, WRONG_KIND, "%s",
                        "only a tool call has arguments; this is none");
    arguments = pdr__find_member(
        content,
        pdr__content_member(kind, shape, PDR_FIELD_ARGUMENTS)->names[shape],
        shape);
    if (shape == PDR_SHAPE_PYTHON && arguments != NULL &&
        pdr_value_kind(arguments) == PDR_STRING)
        return append_text(out, arguments, err);
    text = kept_text(content, shape);
    if (text != NULL && stands_for(arguments, text))
        return append_text(out, text, err);
    if (pdr__is_nothing(arguments))
        return pdr_buf_append(out, PDR_LIT("{}"), err);
    return pdr_json_write(out, arguments, NULL, err);
}

/* --- messages ------------------------------------------------------------ */

/* Names of the parts of a message, by shape. */
static const struct {
    const char *role, *author, *id, *contents, *properties;
} message_names[] = {
    {"role", "authorName", "messageId", "contents", "additionalProperties"},
    {"role", "authorName", "messageId", "contents", "additionalProperties"},
    {"role", "author_name", "message_id", "contents", "additional_properties"},
    {"Role", "AuthorName", NULL, "Items", "Metadata"},
};

const pdr_value *pdr_message_role(const pdr_value *message, pdr_shape shape)
{
    const pdr_value *role =
        pdr__find_member(message, message_names[shape].role, shape);

    if (role != NULL && pdr_value_kind(role) == PDR_OBJECT) {
        if (shape == PDR_SHAPE_PYTHON)
            return pdr__member(role, "value", PDR_STRING);
        if (shape == PDR_SHAPE_SK)
            return pdr__member(role,
                               pdr_value_get_c(role, "Label") != NULL ? "Label"
                                                                      : "label",
                               PDR_STRING);
    }
    return role != NULL && pdr_value_kind(role) == PDR_STRING ? role : NULL;
}

const pdr_value *pdr_message_author(const pdr_value *message, pdr_shape shape)
{
    return pdr__find_member_of(message, message_names[shape].author, shape,
                               PDR_STRING);
}

const pdr_value *pdr_message_id(const pdr_value *message, pdr_shape shape)
{
    if (message_names[shape].id == NULL)
        return NULL;
    return pdr__find_member_of(message, message_names[shape].id, shape,
                               PDR_STRING);
}

const pdr_value *pdr_message_contents(const pdr_value *message, pdr_shape shape)
{
    return pdr__find_member_of(message, message_names[shape].contents, shape,
                               PDR_ARRAY);
}

const pdr_value *pdr_message_properties(const pdr_value *message,
                                        pdr_shape shape)
{
    return pdr__find_member_of(message, message_names[shape].properties, shape,
                               PDR_OBJECT);
}

bool pdr_message_created_at(pdr_datetime *out, const pdr_value *message,
                            pdr_shape shape)
{
    return !pdr__has_more(shape) &&
           pdr__read_datetime(out,
                              pdr__find_member(message, "createdAt", shape));
}

pdr_rc pdr_message_text(pdr_buf *out, const pdr_value *message, pdr_shape shape,
                        pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_str text = {NULL, 0};
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL);
    pdr_iter_init(&it, pdr_message_contents(message, shape));
    while (pdr_iter_next(&it)) {
        const pdr_value *value = NULL;

        if (pdr_content_kind_of(it.value, shape) != PDR_CONTENT_TEXT)
            continue;
        value = pdr_content_get(it.value, shape, PDR_FIELD_TEXT);
        if (value == NULL)
            continue;
        PDR_TRY(pdr__value_sound_text(&text, value, &scratch, err));
        PDR_TRY(pdr_buf_append(out, text, err));
    }
done:
    pdr_buf_dispose(&scratch);
    return rc;
}
