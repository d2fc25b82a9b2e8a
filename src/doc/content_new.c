/*
 * content_new.c - contents and messages that are made here.
 *
 * WHY  What we make is read by programs that refuse a document for one missing
 *      member. So a content is made from fields, and the table says which
 *      members there must be, in which order, and of which kind.
 *
 * NOT HERE  What a content of one shape is in another: convert.c.
 */
#include "compat.h"
#include "content_table.h"

/* --- checks -------------------------------------------------------------- */

bool pdr__is_media_type(const pdr_value *value)
{
    pdr_str inner = {NULL, 0};

    if (value == NULL || pdr_value_kind(value) != PDR_STRING)
        return false;
    inner = string_inner(value);
    return memchr(inner.ptr, '/', inner.len) != NULL;
}

bool pdr__is_blank(const pdr_value *value)
{
    pdr_str inner = {NULL, 0};
    size_t i = 0;

    if (pdr_value_kind(value) != PDR_STRING)
        return false;
    inner = string_inner(value);
    while (i < inner.len && inner.ptr[i] == ' ')
        i++;
    return i == inner.len;
}

static const char *kind_text(pdr_content_kind kind, pdr_shape shape)
{
    return pdr_content_kind_name(kind, shape);
}

static pdr_rc wrong(const char *member, pdr_content_kind kind, pdr_shape shape,
                    const pdr_value *value, const char *wanted, pdr_err *err)
{
    return PDR_FAIL(err, WRONG_KIND,
                    "member '%s' of a %s content: %s, where %s", member,
                    kind_text(kind, shape), pdr__kind_phrase(value), wanted);
}

/* What must stand in a field that has a grammar; NULL if that is there. The
 * strictest reader decides: .NET, and of a URI also Python, which needs a
 * scheme. */
static const char *lacks(const struct content_member *row,
                         pdr_content_kind kind, pdr_str text)
{
    if (row->field == PDR_FIELD_MEDIA_TYPE)
        return pdr__dotnet_media_type(text) ? NULL : "a media type must stand";
    if (row->field == PDR_FIELD_DATA)
        return pdr__is_base64(text) ? NULL : "base64 must stand";
    if (row->field != PDR_FIELD_URI)
        return NULL;
    if (kind == PDR_CONTENT_DATA)
        return pdr__dotnet_data_uri(text) ? NULL : "a data URI must stand";
    if (pdr__is_media(kind) && pdr__dotnet_data_uri(text))
        return "a URI that is not data must stand";
    return pdr__dotnet_uri(text) && text.len > 0 &&
                   memchr(text.ptr, ':', text.len) != NULL
               ? NULL
               : "a URI with a scheme must stand";
}

/* A text that every reader takes. */
static pdr_rc check_text(const struct content_member *row, pdr_shape shape,
                         pdr_content_kind kind, const pdr_value *value,
                         pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    const char *wanted = NULL;
    pdr_str text = {NULL, 0};
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(value) != PDR_STRING)
        return PDR_OK;
    rc = pdr_value_text(&text, value, &scratch, err);
    if (rc == PDR_OK)
        wanted = lacks(row, kind, text);
    if (wanted != NULL)
        rc = wrong(row->names[shape], kind, shape, value, wanted, err);
    pdr_buf_dispose(&scratch);
    return rc;
}

/* The counts that everybody knows are plain integers of 64 bits. */
static pdr_rc check_usage(const pdr_value *usage, pdr_err *err)
{
    static const char *const counts[] = {"inputTokenCount", "outputTokenCount",
                                         "totalTokenCount"};
    pdr_str raw = {NULL, 0};
    int64_t count = 0;

    for (size_t i = 0; i < PDR_COUNT(counts); i++) {
        const pdr_value *there = pdr_value_get_c(usage, counts[i]);

        if (there == NULL)
            continue;
        if (pdr_value_int64(&count, there, NULL) != PDR_OK ||
            !pdr_value_raw(&raw, there) || memchr(raw.ptr, '.', raw.len) ||
            memchr(raw.ptr, 'e', raw.len) || memchr(raw.ptr, 'E', raw.len))
            return PDR_FAIL(err, WRONG_KIND,
                            "'%s' of a usage: write it as a plain integer",
                            counts[i]);
    }
    return PDR_OK;
}

static pdr_rc check_part(const struct content_member *row, pdr_shape shape,
                         pdr_content_kind kind, const pdr_value *value,
                         pdr_err *err)
{
    const char *name = row->names[shape];

    if (((row->way == WAY_DETAILS ? JSON_ANY : pdr__readable(row, shape)) &
         JSON_BIT(pdr_value_kind(value))) == 0)
        return wrong(name, kind, shape, value, "the table has another kind",
                     err);
    if ((row->field == PDR_FIELD_FILE_ID ||
         row->field == PDR_FIELD_VECTOR_STORE_ID ||
         kind == PDR_CONTENT_ACTION) &&
        pdr__is_blank(value))
        return PDR_FAIL(err, FIELD_MISSING,
                        "member '%s' of a %s content is blank; no reader "
                        "takes that",
                        name, kind_text(kind, shape));
    if (row->way == WAY_USAGE && shape == PDR_SHAPE_STATE)
        return check_usage(value, err);
    return check_text(row, shape, kind, value, err);
}

/* Fields that a caller has to give, though a reader takes an empty text. */
static bool is_needed(const struct content_member *row, pdr_shape shape)
{
    if ((row->made[PDR_SHAPE_DOTNET] != NULL &&
         strcmp(row->made[PDR_SHAPE_DOTNET], MADE_NEVER) == 0) ||
        (row->made[shape] != NULL && strcmp(row->made[shape], MADE_NEVER) == 0))
        return true;
    return row->made[shape] != NULL &&
           (row->field == PDR_FIELD_CALL_ID || row->field == PDR_FIELD_NAME ||
            row->field == PDR_FIELD_REQUEST_ID);
}

static const pdr_value *part_of(const pdr_content_part *parts, size_t count,
                                pdr_field field)
{
    for (size_t i = 0; i < count; i++) {
        if (parts[i].field == field)
            return parts[i].value;
    }
    return NULL;
}

static pdr_rc check_parts(pdr_shape shape, pdr_content_kind kind,
                          const pdr_content_part *parts, size_t count,
                          pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; rc == PDR_OK && i < count; i++) {
        const struct content_member *row =
            pdr__content_member(kind, shape, parts[i].field);

        PDR_REQUIRE(parts[i].value != NULL);
        if (row == NULL)
            return PDR_FAIL(err, NO_SUCH_FIELD,
                            "a %s content of this shape has no field %d",
                            kind_text(kind, shape), (int)parts[i].field);
        if (part_of(parts, i, parts[i].field) != NULL)
            return PDR_FAIL(err, NO_SUCH_FIELD,
                            "field '%s' of a %s content was given twice",
                            row->names[shape], kind_text(kind, shape));
        rc = check_part(row, shape, kind, parts[i].value, err);
    }
    return rc;
}

/* --- making -------------------------------------------------------------- */

struct making {
    pdr_shape shape;
    pdr_content_kind kind;
    struct content_items items;
    const pdr_value *noted; /* borrowed: details that .NET cannot hold */
};

/* Add a member; `value` is taken. */
static pdr_rc add(struct making *m, const char *name, pdr_value *value,
                  pdr_err *err)
{
    return pdr__items_add(&m->items, name,
                          pdr__content_place(m->kind, m->shape, name), value,
                          err);
}

/* Add a member from JSON text that is ours. */
static pdr_rc add_json(struct making *m, const char *name, const char *json,
                       pdr_err *err)
{
    pdr_value *value = NULL;
    pdr_rc rc = pdr_json_read_borrowed(&value, pdr_str_c(json), NULL, err);

    return rc == PDR_OK ? add(m, name, value, err) : rc;
}

static pdr_rc add_string(struct making *m, const char *name, pdr_str text,
                         pdr_err *err)
{
    pdr_value *value = NULL;
    pdr_rc rc = pdr_value_new_string(&value, text, err);

    return rc == PDR_OK ? add(m, name, value, err) : rc;
}

/* The media type that stands in the URI, as a member of its own. */
static pdr_rc add_media(struct making *m, const char *name,
                        const pdr_value *uri, pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_str text = {NULL, 0};
    pdr_rc rc = PDR_OK;

    if (pdr_value_has_lone_surrogate(uri))
        return PDR_OK;
    rc = pdr_value_text(&text, uri, &scratch, err);
    if (rc == PDR_OK)
        text = pdr__data_uri_media(text);
    if (rc == PDR_OK && text.len > 0)
        rc = add_string(m, name, text, err);
    pdr_buf_dispose(&scratch);
    return rc;
}

/* Properties with what .NET has no member for, where a conversion from a state
 * document would put it. `given` may be NULL. */
static pdr_rc noted_properties(pdr_value **out, const pdr_value *given,
                               const char *name, const pdr_value *value,
                               pdr_err *err)
{
    pdr_builder *to = NULL;
    pdr_iter it;
    pdr_rc rc = pdr_builder_new(&to, err);

    if (rc != PDR_OK)
        return rc;
    pdr_builder_object(to);
    pdr_iter_init(&it, given);
    while (pdr_iter_next(&it)) {
        pdr__builder_name_value(to, it.name);
        pdr_builder_value(to, it.value);
    }
    pdr_builder_name(to, PDR_LIT("perdure"));
    pdr_builder_object(to);
    pdr_builder_name(to, PDR_LIT("state"));
    pdr_builder_object(to);
    pdr_builder_name(to, PDR_LIT("members"));
    pdr_builder_object(to);
    pdr_builder_name(to, pdr_str_c(name));
    pdr_builder_value(to, value);
    for (int level = 0; level < 4; level++)
        pdr_builder_end(to);
    rc = pdr_builder_finish(out, to, err);
    pdr_builder_free(to);
    return rc;
}

static pdr_rc add_details(struct making *m, const struct content_member *row,
                          const pdr_value *value, pdr_err *err)
{
    if (pdr_value_kind(value) == PDR_STRING || m->shape == PDR_SHAPE_PYTHON)
        return add(m, row->names[m->shape], pdr_value_ref(value), err);
    if (m->shape == PDR_SHAPE_DOTNET) {
        m->noted = value; /* add_common() writes it */
        return PDR_OK;
    }
    return add(m, "detailsJson", pdr_value_ref(value), err);
}

/* A value as the text that Python has in its place. */
static pdr_rc as_text(pdr_value **out, const pdr_value *value, pdr_err *err)
{
    pdr_write_opts opts = {PDR_BARE_TOKENS, PDR_COMPACT, 0, NULL};
    pdr_buf text = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(value) == PDR_STRING) {
        *out = pdr_value_ref(value);
        return PDR_OK;
    }
    rc = pdr_json_write(&text, value, &opts, err);
    if (rc == PDR_OK)
        rc = pdr_value_new_string(out, pdr_buf_str(&text), err);
    pdr_buf_dispose(&text);
    return rc;
}

pdr_rc pdr__python_result(pdr_value **text, pdr_value **items,
                          const pdr_value *value, pdr_err *err)
{
    pdr_builder *to = NULL;
    pdr_rc rc = PDR_OK;

    *text = *items = NULL;
    rc = as_text(text, value, err);
    if (rc == PDR_OK)
        rc = pdr_builder_new(&to, err);
    if (rc == PDR_OK) {
        pdr_builder_array(to);
        pdr_builder_object(to);
        pdr_builder_name(to, PDR_LIT("type"));
        pdr_builder_string(to, PDR_LIT("text"));
        pdr_builder_name(to, PDR_LIT("text"));
        pdr_builder_value(to, *text);
        pdr_builder_name(to, PDR_LIT("additional_properties"));
        pdr_builder_object(to);
        pdr_builder_end(to);
        pdr_builder_end(to);
        pdr_builder_end(to);
        rc = pdr_builder_finish(items, to, err);
    }
    if (rc != PDR_OK) {
        pdr_value_free(*text);
        *text = NULL;
    }
    pdr_builder_free(to);
    return rc;
}

static pdr_rc add_result(struct making *m, const struct content_member *row,
                         const pdr_value *value, pdr_err *err)
{
    pdr_value *text = NULL, *items = NULL;
    pdr_rc rc = PDR_OK;

    if (m->shape != PDR_SHAPE_PYTHON)
        return add(m, row->names[m->shape], pdr_value_ref(value), err);
    rc = pdr__python_result(&text, &items, value, err);
    if (rc != PDR_OK)
        return rc;
    rc = add(m, "result", text, err);
    if (rc != PDR_OK) {
        pdr_value_free(items);
        return rc;
    }
    return add(m, "items", items, err);
}

static pdr_rc add_row(struct making *m, const struct content_member *row,
                      const pdr_content_part *parts, size_t count, pdr_err *err)
{
    const char *name = row->names[m->shape];
    const pdr_value *value =
        row->field == 0 ? NULL : part_of(parts, count, (pdr_field)row->field);

    if (name == NULL)
        return PDR_OK;
    if (value != NULL && row->way == WAY_DETAILS)
        return add_details(m, row, value, err);
    if (value != NULL && row->way == WAY_RESULT)
        return add_result(m, row, value, err);
    if (value != NULL)
        return add(m, name, pdr_value_ref(value), err);
    if (is_needed(row, m->shape))
        return PDR_FAIL(err, FIELD_MISSING, "a %s content needs '%s'",
                        kind_text(m->kind, m->shape), name);
    if (row->way == WAY_MEDIA)
        return add_media(m, name, part_of(parts, count, PDR_FIELD_URI), err);
    return row->made[m->shape] == NULL
               ? PDR_OK
               : add_json(m, name, row->made[m->shape], err);
}

static pdr_rc add_common(struct making *m, const pdr_content_part *parts,
                         size_t count, pdr_err *err)
{
    const pdr_value *notes = part_of(parts, count, PDR_FIELD_ANNOTATIONS);
    const pdr_value *properties = part_of(parts, count, PDR_FIELD_PROPERTIES);
    const char *name = pdr__properties_name(m->shape);
    pdr_value *made = NULL;
    pdr_rc rc = add(m, "annotations", pdr_value_ref(notes), err);

    if (rc == PDR_OK && m->noted != NULL) {
        rc = noted_properties(&made, properties, "detailsJson", m->noted, err);
        return rc == PDR_OK ? add(m, name, made, err) : rc;
    }
    if (rc != PDR_OK)
        return rc;
    if (properties == NULL && m->shape == PDR_SHAPE_PYTHON)
        return add(m, name, pdr_value_new_object(), err);
    return add(m, name, pdr_value_ref(properties), err);
}

pdr_rc pdr_content_new(pdr_value **out, pdr_shape shape, pdr_content_kind kind,
                       const pdr_content_part *parts, size_t count,
                       pdr_err *err)
{
    struct making m = {shape, kind, {NULL, 0, 0}, NULL};
    struct content_members rows = pdr__content_members(kind);
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && (parts != NULL || count == 0));
    *out = NULL;
    if (kind_text(kind, shape)[0] == '\0')
        return PDR_FAIL(err, NO_SUCH_KIND, "%s",
                        "this shape has no such kind of content");
    rc = check_parts(shape, kind, parts, count, err);
    if (rc == PDR_OK)
        rc = add_string(&m, pdr__type_name(shape),
                        pdr_str_c(kind_text(kind, shape)), err);
    for (size_t i = 0; rc == PDR_OK && i < rows.count; i++)
        rc = add_row(&m, &rows.rows[i], parts, count, err);
    if (rc == PDR_OK)
        rc = add_common(&m, parts, count, err);
    if (rc == PDR_OK)
        rc = pdr__items_object(out, &m.items, err);
    pdr__items_dispose(&m.items);
    return rc;
}

/* --- the usual ones ------------------------------------------------------ */

struct text_part {
    pdr_field field;
    pdr_str text;
};

#define MOST_PARTS 4

/* A content of a few texts, and of `more` if that has a value. */
static pdr_rc new_of_texts(pdr_value **out, pdr_shape shape,
                           pdr_content_kind kind, const struct text_part *texts,
                           size_t count, pdr_content_part more, pdr_err *err)
{
    pdr_content_part parts[MOST_PARTS];
    pdr_value *made[MOST_PARTS] = {NULL};
    size_t used = 0;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; rc == PDR_OK && i < count; i++) {
        rc = pdr_value_new_string(&made[i], texts[i].text, err);
        parts[used].field = texts[i].field;
        parts[used++].value = made[i];
    }
    if (more.value != NULL)
        parts[used++] = more;
    if (rc == PDR_OK)
        rc = pdr_content_new(out, shape, kind, parts, used, err);
    for (size_t i = 0; i < count; i++)
        pdr_value_free(made[i]);
    return rc;
}

static const pdr_content_part nothing = {PDR_FIELD_TEXT, NULL};

pdr_rc pdr_content_new_text(pdr_value **out, pdr_shape shape, pdr_str text,
                            pdr_err *err)
{
    struct text_part part = {PDR_FIELD_TEXT, text};

    PDR_REQUIRE(out != NULL);
    *out = NULL;
    return new_of_texts(out, shape, PDR_CONTENT_TEXT, &part, 1, nothing, err);
}

pdr_rc pdr_content_new_result(pdr_value **out, pdr_shape shape, pdr_str call_id,
                              const pdr_value *result, pdr_err *err)
{
    struct text_part part = {PDR_FIELD_CALL_ID, call_id};
    pdr_content_part more = {PDR_FIELD_RESULT,
                             pdr__is_nothing(result) ? NULL : result};

    PDR_REQUIRE(out != NULL);
    *out = NULL;
    return new_of_texts(out, shape, PDR_CONTENT_RESULT, &part, 1, more, err);
}

pdr_rc pdr_content_new_error(pdr_value **out, pdr_shape shape, pdr_str message,
                             pdr_str code, const pdr_value *details,
                             pdr_err *err)
{
    struct text_part texts[2];
    pdr_content_part more = {PDR_FIELD_DETAILS,
                             pdr__is_nothing(details) ? NULL : details};
    size_t count = 0;

    PDR_REQUIRE(out != NULL);
    *out = NULL;
    if (message.len > 0)
        texts[count++] = (struct text_part){PDR_FIELD_MESSAGE, message};
    if (code.len > 0)
        texts[count++] = (struct text_part){PDR_FIELD_ERROR_CODE, code};
    return new_of_texts(out, shape, PDR_CONTENT_ERROR, texts, count, more, err);
}

pdr_rc pdr__arguments_read(pdr_value **out, pdr_str text, pdr_err *err)
{
    pdr_rc rc = pdr_json_read(out, text, NULL, NULL);

    /* What is too deep or too large for a value is no object for us either:
     * its text is kept. */
    if (rc == PDR_ENOMEM)
        return pdr__nomem(err);
    rc = PDR_OK;
    if (*out != NULL && pdr_value_kind(*out) != PDR_OBJECT) {
        pdr_value_free(*out);
        *out = NULL;
    }
    return rc;
}

/* The call with the text of its arguments beside them. */
static pdr_rc keep_text(pdr_value **io, pdr_shape shape, const pdr_value *text,
                        pdr_err *err)
{
    pdr_value *properties = NULL;
    pdr_rc rc = PDR_OK;

    if (shape == PDR_SHAPE_STATE) {
        rc = pdr_value_set(io, PDR_LIT("argumentsText"), text, err);
    } else {
        rc = noted_properties(&properties, NULL, "argumentsText", text, err);
        if (rc == PDR_OK)
            rc = pdr_value_set(io, pdr_str_c(pdr__properties_name(shape)),
                               properties, err);
        pdr_value_free(properties);
    }
    return rc == PDR_OK ? pdr_value_compact(io, err) : rc;
}

pdr_rc pdr_content_new_call(pdr_value **out, pdr_shape shape, pdr_str call_id,
                            pdr_str name, pdr_str arguments, pdr_err *err)
{
    const struct text_part texts[] = {{PDR_FIELD_CALL_ID, call_id},
                                      {PDR_FIELD_NAME, name}};
    pdr_content_part more = {PDR_FIELD_ARGUMENTS, NULL};
    pdr_value *object = NULL, *text = NULL, *made = NULL;
    bool python = shape == PDR_SHAPE_PYTHON;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL);
    *out = NULL;
    rc = pdr_value_new_string(&text, arguments, err);
    if (rc == PDR_OK && !python)
        rc = pdr__arguments_read(&object, arguments, err);
    if (rc == PDR_OK && !python && object == NULL)
        more.value = made = pdr_value_new_object();
    if (rc == PDR_OK) {
        if (more.value == NULL)
            more.value = python ? text : object;
        rc = new_of_texts(out, shape, PDR_CONTENT_CALL, texts, 2, more, err);
    }
    if (rc == PDR_OK && made != NULL && arguments.len > 0)
        rc = keep_text(out, shape, text, err);
    if (rc != PDR_OK) {
        pdr_value_free(*out);
        *out = NULL;
    }
    pdr_value_free(made);
    pdr_value_free(object);
    pdr_value_free(text);
    return rc;
}

/* --- messages ------------------------------------------------------------ */

static void put_text(pdr_builder *to, const char *name, pdr_str text)
{
    if (text.len == 0)
        return;
    pdr_builder_name(to, pdr_str_c(name));
    pdr_builder_string(to, text);
}

static void put_contents(pdr_builder *to, const char *name,
                         const pdr_value *contents)
{
    pdr_builder_name(to, pdr_str_c(name));
    if (contents != NULL) {
        pdr_builder_value(to, contents);
        return;
    }
    pdr_builder_array(to);
    pdr_builder_end(to);
}

/* Python has no member for the time, Semantic Kernel none for the id either;
 * they go where a conversion puts them. */
static void put_properties(pdr_builder *to, pdr_shape shape,
                           const pdr_message_parts *parts, pdr_str time)
{
    pdr_str id = shape == PDR_SHAPE_SK ? parts->id : pdr_str_n("", 0);
    bool more = pdr__has_more(shape) && time.len + id.len > 0;
    pdr_iter it;

    if (parts->properties == NULL && !more && shape != PDR_SHAPE_PYTHON)
        return;
    pdr_builder_name(to, pdr_str_c(pdr__properties_name(shape)));
    pdr_builder_object(to);
    pdr_iter_init(&it, parts->properties);
    while (pdr_iter_next(&it)) {
        pdr__builder_name_value(to, it.name);
        pdr_builder_value(to, it.value);
    }
    if (more) {
        pdr_builder_name(to, PDR_LIT("perdure"));
        pdr_builder_object(to);
        pdr_builder_name(to, PDR_LIT("members"));
        pdr_builder_object(to);
        put_text(to, "createdAt", time);
        put_text(to, "messageId", id);
        pdr_builder_end(to);
        pdr_builder_end(to);
    }
    pdr_builder_end(to);
}

/* As in a saved chat: the author is there also if it is null. */
static void put_sk_message(pdr_builder *to, const pdr_message_parts *parts,
                           pdr_str time)
{
    if (parts->author.len == 0) {
        pdr_builder_name(to, PDR_LIT("AuthorName"));
        pdr_builder_null(to);
    }
    put_text(to, "AuthorName", parts->author);
    pdr_builder_name(to, PDR_LIT("Role"));
    pdr_builder_object(to);
    put_text(to, "Label", parts->role);
    pdr_builder_end(to);
    put_contents(to, "Items", parts->contents);
    put_text(to, "ModelId", parts->model_id);
    put_text(to, "MimeType", parts->media_type);
    put_properties(to, PDR_SHAPE_SK, parts, time);
}

static void put_message(pdr_builder *to, pdr_shape shape,
                        const pdr_message_parts *parts, pdr_str time)
{
    if (shape == PDR_SHAPE_SK) {
        put_sk_message(to, parts, time);
        return;
    }
    if (shape == PDR_SHAPE_PYTHON) {
        put_text(to, "role", parts->role);
        put_contents(to, "contents", parts->contents);
        put_text(to, "author_name", parts->author);
        put_text(to, "message_id", parts->id);
        put_properties(to, shape, parts, time);
        put_text(to, "type", PDR_LIT("message"));
        return;
    }
    put_text(to, "authorName", parts->author);
    put_text(to, "createdAt", time);
    if (shape == PDR_SHAPE_DOTNET)
        put_text(to, "role", parts->role);
    put_contents(to, "contents", parts->contents);
    if (shape == PDR_SHAPE_STATE)
        put_text(to, "role", parts->role);
    put_text(to, "messageId", parts->id);
    put_properties(to, shape, parts, time);
}

static pdr_rc check_message(pdr_shape shape, const pdr_message_parts *parts,
                            pdr_err *err)
{
    if (parts->role.len == 0)
        return PDR_FAIL(err, FIELD_MISSING, "%s", "a message needs a role");
    if (shape != PDR_SHAPE_SK &&
        parts->model_id.len + parts->media_type.len > 0)
        return PDR_FAIL(err, NO_SUCH_FIELD, "%s",
                        "only a message of Semantic Kernel has a model id and "
                        "a media type");
    if (parts->contents != NULL && pdr_value_kind(parts->contents) != PDR_ARRAY)
        return PDR_FAIL(err, WRONG_KIND,
                        "contents of a message: %s, where an array must stand",
                        pdr__kind_phrase(parts->contents));
    if (parts->properties != NULL &&
        pdr_value_kind(parts->properties) != PDR_OBJECT)
        return PDR_FAIL(err, WRONG_KIND,
                        "properties of a message: %s, where an object must "
                        "stand",
                        pdr__kind_phrase(parts->properties));
    return PDR_OK;
}

pdr_rc pdr_message_new(pdr_value **out, pdr_shape shape,
                       const pdr_message_parts *parts, pdr_err *err)
{
    pdr_buf time = PDR_BUF_INIT(64);
    pdr_builder *to = NULL;
    pdr_datetime at;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && parts != NULL);
    *out = NULL;
    PDR_TRY(check_message(shape, parts, err));
    if (parts->created_at != NULL) {
        at = pdr_datetime_utc(parts->created_at->ticks);
        PDR_TRY(pdr_datetime_write(&time, &at,
                                   shape == PDR_SHAPE_DOTNET
                                       ? PDR_DATETIME_DOTNET_OFFSET
                                       : PDR_DATETIME_OURS,
                                   err));
    }
    PDR_TRY(pdr_builder_new(&to, err));
    pdr_builder_object(to);
    put_message(to, shape, parts, pdr_buf_str(&time));
    pdr_builder_end(to);
    rc = pdr_builder_finish(out, to, err);
done:
    pdr_builder_free(to);
    pdr_buf_dispose(&time);
    return rc;
}

pdr_rc pdr_message_new_text(pdr_value **out, pdr_shape shape, pdr_str role,
                            pdr_str text, pdr_err *err)
{
    pdr_message_parts parts = {.role = role};
    pdr_value *content = NULL, *contents = pdr_value_new_array();
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL);
    *out = NULL;
    PDR_TRY(pdr_content_new_text(&content, shape, text, err));
    PDR_TRY(pdr_value_append(&contents, content, err));
    parts.contents = contents;
    rc = pdr_message_new(out, shape, &parts, err);
done:
    pdr_value_free(content);
    pdr_value_free(contents);
    return rc;
}
