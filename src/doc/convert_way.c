/*
 * convert_way.c - members of one shape as members of another.
 *
 * WHY  Most members only change their name. The few that change their value do
 *      so in one of the ways of content_table.h, and each way is a function
 *      here. They may lose something: convert_form.c finds out by going back.
 */
#include "compat.h"
#include "convert.h"

/* clang-format off */
static const struct content_member message_rows[] = {
    {0, WAY_PLAIN, JSON_TEXT, 1,
     {"authorName", "authorName", "author_name", "AuthorName"},
     {NULL, NULL, NULL, "null"}},
    {0, WAY_PLAIN, JSON_TEXT, 2, {"createdAt", "createdAt", NULL},
     {NULL, NULL, NULL}},
    {0, WAY_ROLE, JSON_TEXT, 4, {"role", "role", "role", "Role"},
     {"\"user\"", "\"user\"", "\"user\"", "{\"Label\":\"user\"}"}},
    {0, WAY_CONTENTS, JSON_LIST, 3, {"contents", "contents", "contents", "Items"},
     {"[]", "[]", "[]", "[]"}},
    {0, WAY_PLAIN, JSON_TEXT, 9, {"messageId", "messageId", "message_id"},
     {NULL, NULL, NULL}},
    {0, WAY_PLAIN, JSON_TEXT, 9, {NULL, NULL, "type"},
     {NULL, NULL, "\"message\""}},
};
static const struct content_member citation_rows[] = {
    {0, WAY_PLAIN, JSON_TEXT, 1, {"title", "title", "title"},
     {NULL, NULL, NULL}},
    {0, WAY_PLAIN, JSON_TEXT, 1, {"url", "url", "url"}, {NULL, NULL, NULL}},
    {0, WAY_PLAIN, JSON_TEXT, 1, {"fileId", "fileId", "file_id"},
     {NULL, NULL, NULL}},
    {0, WAY_PLAIN, JSON_TEXT, 1, {"toolName", "toolName", "tool_name"},
     {NULL, NULL, NULL}},
    {0, WAY_PLAIN, JSON_TEXT, 1, {"snippet", "snippet", "snippet"},
     {NULL, NULL, NULL}},
    {0, WAY_REGIONS, JSON_LIST, 1,
     {"annotatedRegions", "annotatedRegions", "annotated_regions"},
     {NULL, NULL, NULL}},
};
static const struct content_member annotations_row =
    {PDR_FIELD_ANNOTATIONS, WAY_CITATIONS, JSON_LIST, 9,
     {"annotations", "annotations", "annotations"}, {NULL, NULL, NULL}};
/* clang-format on */

const struct form pdr__form_message = {FORM_MESSAGE,
                                       PDR_CONTENT_OTHER,
                                       {message_rows, PDR_COUNT(message_rows)},
                                       {NULL},
                                       NULL,
                                       NULL};
const struct form pdr__form_citation = {
    FORM_CITATION,
    PDR_CONTENT_OTHER,
    {citation_rows, PDR_COUNT(citation_rows)},
    {"citation", "citation", "citation", NULL},
    NULL,
    NULL};

/* Members of a message in the order in which they are written; of Semantic
 * Kernel, in a saved chat. */
static const char *const python_message[] = {
    "role", "contents", "author_name", "message_id", "additional_properties",
    "type",
};
static const char *const sk_message[] = {
    "$type", "AuthorName", "Role", "Items", "ModelId", "MimeType", "Metadata",
};

#define PLACE_PROPERTIES 1000
#define PLACE_UNKNOWN    1001

struct content_order pdr__form_order(const struct form *form, pdr_shape shape)
{
    if (form->what == FORM_CONTENT)
        return pdr__content_order(shape);
    if (form->what == FORM_MESSAGE && shape == PDR_SHAPE_PYTHON)
        return (struct content_order){python_message,
                                      PDR_COUNT(python_message)};
    if (form->what == FORM_MESSAGE && shape == PDR_SHAPE_SK)
        return (struct content_order){sk_message, PDR_COUNT(sk_message)};
    return (struct content_order){NULL, 0};
}

size_t pdr__form_place(const struct form *form, pdr_shape shape,
                       const char *name)
{
    if (form->what == FORM_CONTENT)
        return pdr__content_place(form->kind, shape, name);
    if (form->what == FORM_MESSAGE && pdr__has_more(shape))
        return pdr__order_place(pdr__form_order(form, shape), name);
    if (form->what == FORM_CITATION && strcmp(name, pdr__type_name(shape)) == 0)
        return 0;
    for (size_t i = 0; i < form->rows.count; i++) {
        const char *own = form->rows.rows[i].names[shape];

        if (own != NULL && strcmp(own, name) == 0)
            return shape == PDR_SHAPE_STATE
                       ? form->rows.rows[i].state_place * 16u + i
                       : i + 1;
    }
    return strcmp(name, pdr__properties_name(shape)) == 0 ? PLACE_PROPERTIES
                                                          : PLACE_UNKNOWN;
}

size_t pdr__form_rows(const struct form *form)
{
    return form->rows.count + (form->what == FORM_CONTENT);
}

const struct content_member *pdr__form_row(const struct form *form, size_t i)
{
    return i < form->rows.count ? &form->rows.rows[i] : &annotations_row;
}

bool pdr__is_nested(const struct content_member *row)
{
    return row->way == WAY_CONTENT || row->way == WAY_CONTENTS ||
           row->way == WAY_CITATIONS;
}

struct projecting {
    struct projection *out;
    const struct form *form;
    const pdr_value *object;
    const pdr_value *more; /* see pdr__project() */
    struct trip trip;
    bool shallow;
};

/* --- reading ------------------------------------------------------------- */

/* Would the strictest reader take it? */
static bool is_sound(const struct form *form, const struct content_member *row,
                     struct trip trip, const pdr_value *value)
{
    if (form->what != FORM_CONTENT)
        return true;
    switch (row->field) {
    case PDR_FIELD_URI:
        if (form->kind == PDR_CONTENT_DATA)
            return trip.from == PDR_SHAPE_SK || pdr__is_data_uri(value);
        /* Semantic Kernel needs a scheme, and has another place for data. */
        return trip.to != PDR_SHAPE_SK ||
               (!pdr__is_data_uri(value) && string_inner(value).len > 0 &&
                memchr(string_inner(value).ptr, ':', string_inner(value).len) !=
                    NULL);
    case PDR_FIELD_MEDIA_TYPE:
        return pdr__is_media_type(value);
    case PDR_FIELD_FILE_ID:
    case PDR_FIELD_VECTOR_STORE_ID:
        return !pdr__is_blank(value);
    default:
        return true;
    }
}

static bool may_be_single(const struct projecting *p,
                          const struct content_member *row)
{
    return row->way == WAY_CONTENTS && p->form->what == FORM_CONTENT &&
           p->trip.from == PDR_SHAPE_PYTHON;
}

/* The member as the table wants it, else NULL. */
static const pdr_value *typed(const struct projecting *p,
                              const struct content_member *row)
{
    const char *name = row->names[p->trip.from];
    const pdr_value *in = p->object, *value = NULL;
    unsigned json = pdr__readable(row, p->trip.from);

    if (name == NULL && pdr__has_more(p->trip.from) && !pdr__is_nested(row)) {
        name = row->names[PDR_SHAPE_DOTNET];
        in = p->more;
    }
    value = name == NULL ? NULL : pdr__find_member(in, name, p->trip.from);
    if (value == NULL)
        return NULL;
    if (may_be_single(p, row))
        json |= JSON_MAP;
    if ((json & JSON_BIT(pdr_value_kind(value))) == 0 ||
        !is_sound(p->form, row, p->trip, value))
        return NULL;
    return value;
}

static bool is_true(const pdr_value *value)
{
    bool truth = false;

    return value != NULL && pdr_value_kind(value) == PDR_BOOL &&
           pdr_value_bool(&truth, value, NULL) == PDR_OK && truth;
}

/* --- writing ------------------------------------------------------------- */

/* `value` is taken. */
static pdr_rc put(struct projecting *p, const char *name, pdr_value *value,
                  pdr_err *err)
{
    return pdr__items_add(&p->out->members, name,
                          pdr__form_place(p->form, p->trip.to, name), value,
                          err);
}

static pdr_rc put_string(struct projecting *p, const char *name, pdr_str text,
                         pdr_err *err)
{
    pdr_value *value = NULL;
    pdr_rc rc = pdr_value_new_string(&value, text, err);

    return rc == PDR_OK ? put(p, name, value, err) : rc;
}

/* The value, or what stands there without one. `value` is taken. */
static pdr_rc put_row(struct projecting *p, const struct content_member *row,
                      pdr_value *value, pdr_err *err)
{
    const char *name = row->names[p->trip.to];
    const char *made = row->made[p->trip.to];
    pdr_value *stand_in = NULL;
    pdr_rc rc = PDR_OK;

    if (name == NULL && pdr__has_more(p->trip.to) &&
        row->names[PDR_SHAPE_DOTNET] != NULL)
        return pdr__items_add(&p->out->more, row->names[PDR_SHAPE_DOTNET], 0,
                              value, err);
    if (name == NULL) {
        pdr_value_free(value);
        return PDR_OK;
    }
    if (value != NULL)
        return put(p, name, value, err);
    if (made == NULL)
        return PDR_OK;
    if (strcmp(made, MADE_NEVER) == 0) {
        p->out->possible = false;
        return PDR_OK;
    }
    rc = pdr_json_read_borrowed(&stand_in, pdr_str_c(made), NULL, err);
    return rc == PDR_OK ? put(p, name, stand_in, err) : rc;
}

/* --- the ways ------------------------------------------------------------ */

#define SCHEME_BYTES 5 /* of "data:" */

static pdr_rc join_data_uri(pdr_buf *out, pdr_str uri, pdr_str media,
                            pdr_err *err)
{
    pdr_rc rc = pdr_buf_append(out, pdr_str_n(uri.ptr, SCHEME_BYTES), err);

    if (rc == PDR_OK)
        rc = pdr_buf_append(out, media, err);
    if (rc == PDR_OK)
        rc = pdr_buf_append(
            out, pdr_str_n(uri.ptr + SCHEME_BYTES, uri.len - SCHEME_BYTES),
            err);
    return rc;
}

/* .NET knows the media type of data from the URI alone: put it there. */
static pdr_rc put_data_uri(struct projecting *p,
                           const struct content_member *row, pdr_err *err)
{
    const pdr_value *uri = typed(p, row);
    const pdr_value *media =
        pdr_content_get(p->object, p->trip.from, PDR_FIELD_MEDIA_TYPE);
    pdr_buf uri_text = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_buf media_text = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_buf whole = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_str u = {NULL, 0}, m = {NULL, 0};
    pdr_rc rc = PDR_OK;

    if (uri == NULL || !pdr__is_media_type(media) ||
        pdr_value_has_lone_surrogate(uri) ||
        pdr_value_has_lone_surrogate(media))
        return put_row(p, row, pdr_value_ref(uri), err);
    rc = pdr_value_text(&u, uri, &uri_text, err);
    if (rc == PDR_OK)
        rc = pdr_value_text(&m, media, &media_text, err);
    if (rc == PDR_OK && pdr__data_uri_media(u).len > 0)
        rc = put_row(p, row, pdr_value_ref(uri), err);
    else if (rc == PDR_OK)
        rc = join_data_uri(&whole, u, m, err);
    if (rc == PDR_OK && whole.len > 0)
        rc = put_string(p, row->names[p->trip.to], pdr_buf_str(&whole), err);
    pdr_buf_dispose(&whole);
    pdr_buf_dispose(&media_text);
    pdr_buf_dispose(&uri_text);
    return rc;
}

static pdr_str without_parameters(pdr_str media)
{
    const char *parameters =
        media.len > 0 ? memchr(media.ptr, ';', media.len) : NULL;

    return parameters == NULL
               ? media
               : pdr_str_n(media.ptr, (size_t)(parameters - media.ptr));
}

/* The media type of an image, audio or binary content of Semantic Kernel; one
 * that fits the kind if it has none that others can read. */
static pdr_rc read_media(pdr_str *out, const struct projecting *p,
                         pdr_buf *scratch, pdr_err *err)
{
    const pdr_value *media = pdr__member(p->object, "MimeType", PDR_STRING);
    pdr_rc rc = PDR_OK;

    *out = pdr_str_n("", 0);
    if (media != NULL && !pdr_value_has_lone_surrogate(media))
        PDR_TRY(pdr_value_text(out, media, scratch, err));
    if (!pdr__dotnet_media_type(*out) ||
        memchr(out->ptr, ',', out->len) != NULL)
        *out = pdr_str_c(p->form->media);
done:
    return rc;
}

static pdr_rc put_default_media(struct projecting *p,
                                const struct content_member *row, pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_str text = {NULL, 0};
    pdr_value *media = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(read_media(&text, p, &scratch, err));
    if (p->trip.to == PDR_SHAPE_PYTHON)
        text = without_parameters(text);
    PDR_TRY(pdr_value_new_string(&media, text, err));
    rc = put_row(p, row, media, err);
done:
    pdr_buf_dispose(&scratch);
    return rc;
}

/* Bytes of Semantic Kernel as a data URI. */
static pdr_rc put_bytes(struct projecting *p, const struct content_member *row,
                        pdr_err *err)
{
    const pdr_value *data = typed(p, row);
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_buf uri = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_str text = {NULL, 0};
    pdr_value *made = NULL;
    pdr_rc rc = PDR_OK;

    if (data != NULL && !pdr_value_has_lone_surrogate(data)) {
        PDR_TRY(read_media(&text, p, &scratch, err));
        PDR_TRY(pdr_buf_append(&uri, PDR_LIT("data:"), err));
        PDR_TRY(pdr_buf_append(&uri, text, err));
        PDR_TRY(pdr_buf_append(&uri, PDR_LIT(";base64,"), err));
        PDR_TRY(pdr_value_text(&text, data, &scratch, err));
        PDR_TRY(pdr_buf_append(&uri, text, err));
        if (pdr__dotnet_data_uri(pdr_buf_str(&uri)))
            PDR_TRY(pdr_value_new_string(&made, pdr_buf_str(&uri), err));
    }
    rc = put_row(p, row, made, err);
done:
    pdr_buf_dispose(&uri);
    pdr_buf_dispose(&scratch);
    return rc;
}

/* To Semantic Kernel: the bytes of the URI, which have to be base64. */
static pdr_rc take_bytes(struct projecting *p, const struct content_member *row,
                         pdr_err *err)
{
    const pdr_value *uri = typed(p, row);
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    struct data_uri parts = {{NULL, 0}, {NULL, 0}, false};
    pdr_str text = {NULL, 0};
    pdr_value *made = NULL;
    pdr_rc rc = PDR_OK;

    if (uri != NULL && !pdr_value_has_lone_surrogate(uri)) {
        PDR_TRY(pdr_value_text(&text, uri, &scratch, err));
        if (pdr__dotnet_data_uri(text) && pdr__data_uri_read(&parts, text) &&
            parts.is_base64)
            PDR_TRY(pdr_value_new_string(&made, parts.data, err));
    }
    rc = put_row(p, row, made, err);
done:
    pdr_buf_dispose(&scratch);
    return rc;
}

static pdr_rc put_plain(struct projecting *p, const struct content_member *row,
                        pdr_err *err)
{
    return put_row(p, row, pdr_value_ref(typed(p, row)), err);
}

static pdr_rc put_data(struct projecting *p, const struct content_member *row,
                       pdr_err *err)
{
    if (p->trip.from == PDR_SHAPE_SK)
        return put_bytes(p, row, err);
    if (p->trip.to == PDR_SHAPE_SK)
        return take_bytes(p, row, err);
    return p->trip.to == PDR_SHAPE_DOTNET ? put_data_uri(p, row, err)
                                          : put_plain(p, row, err);
}

/* Semantic Kernel has plugin and function apart, and joins them so for a model.
 * Where they part, the name alone does not say: that is noted. */
static pdr_rc put_name(struct projecting *p, const struct content_member *row,
                       pdr_err *err)
{
    const pdr_value *name = typed(p, row);
    const pdr_value *plugin =
        p->trip.from == PDR_SHAPE_SK
            ? pdr__member(p->object, "PluginName", PDR_STRING)
            : NULL;
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_buf joined = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_str text = {NULL, 0};
    pdr_value *made = NULL;
    pdr_rc rc = PDR_OK;

    if (name == NULL || plugin == NULL || string_inner(plugin).len == 0 ||
        pdr_value_has_lone_surrogate(name) ||
        pdr_value_has_lone_surrogate(plugin))
        return put_row(p, row, pdr_value_ref(name), err);
    PDR_TRY(pdr_value_text(&text, plugin, &scratch, err));
    PDR_TRY(pdr_buf_append(&joined, text, err));
    PDR_TRY(pdr_buf_append(&joined, PDR_LIT("-"), err));
    PDR_TRY(pdr_value_text(&text, name, &scratch, err));
    PDR_TRY(pdr_buf_append(&joined, text, err));
    PDR_TRY(pdr_value_new_string(&made, pdr_buf_str(&joined), err));
    rc = put_row(p, row, made, err);
done:
    pdr_buf_dispose(&joined);
    pdr_buf_dispose(&scratch);
    return rc;
}

/* Of data: its own member, else what the URI says; of Semantic Kernel, which
 * has no URI then, the other way round. Python leaves out the parameters. */
static pdr_rc put_media(struct projecting *p, const struct content_member *row,
                        pdr_err *err)
{
    const pdr_value *media = typed(p, row);
    const pdr_value *uri =
        pdr__find_member_of(p->object, "uri", p->trip.from, PDR_STRING);
    const char *name = row->names[p->trip.to];
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_str text = {NULL, 0};
    pdr_rc rc = PDR_OK;

    if (name == NULL || (media != NULL && p->trip.to != PDR_SHAPE_SK) ||
        !pdr__is_data_uri(uri) || pdr_value_has_lone_surrogate(uri))
        return put_row(p, row, pdr_value_ref(media), err);
    rc = pdr_value_text(&text, uri, &scratch, err);
    if (rc == PDR_OK)
        text = pdr__data_uri_media(text);
    if (p->trip.to == PDR_SHAPE_PYTHON)
        text = without_parameters(text);
    if (rc == PDR_OK)
        rc = text.len > 0 ? put_string(p, name, text, err)
                          : put_row(p, row, pdr_value_ref(media), err);
    pdr_buf_dispose(&scratch);
    return rc;
}

/* An object, or the text of what is none: one of both, or neither; owned. */
static pdr_rc read_arguments(pdr_value **object, pdr_value **text,
                             const struct projecting *p,
                             const struct content_member *row, pdr_err *err)
{
    const pdr_value *value = typed(p, row), *kept = NULL;
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_str decoded = {NULL, 0};
    pdr_rc rc = PDR_OK;

    if (p->trip.from == PDR_SHAPE_STATE && pdr_value_count(value) == 0)
        kept = pdr__member(p->object, "argumentsText", PDR_STRING);
    if (value != NULL && pdr_value_kind(value) == PDR_STRING)
        kept = value;
    if (kept == NULL) {
        *object = pdr_value_ref(value);
        return PDR_OK;
    }
    if (!pdr_value_has_lone_surrogate(kept)) {
        rc = pdr_value_text(&decoded, kept, &scratch, err);
        if (rc == PDR_OK)
            rc = pdr__arguments_read(object, decoded, err);
    }
    if (rc == PDR_OK && *object == NULL)
        *text = pdr_value_ref(kept);
    pdr_buf_dispose(&scratch);
    return rc;
}

/* .NET and Semantic Kernel take an object only: the text of a model stands in
 * one. `text` is taken. */
static pdr_rc put_raw_arguments(struct projecting *p,
                                const struct content_member *row,
                                pdr_value *text, pdr_err *err)
{
    pdr_value *object = pdr_value_new_object();
    pdr_rc rc = pdr_value_set(&object, PDR_LIT("raw"), text, err);

    pdr_value_free(text);
    if (rc == PDR_OK)
        return put_row(p, row, object, err);
    pdr_value_free(object);
    return rc;
}

static pdr_rc put_arguments(struct projecting *p,
                            const struct content_member *row, pdr_err *err)
{
    pdr_value *object = NULL, *text = NULL;
    pdr_rc rc = read_arguments(&object, &text, p, row, err);

    if (rc != PDR_OK)
        return rc;
    if (text == NULL || p->trip.to == PDR_SHAPE_PYTHON)
        return put_row(p, row, text != NULL ? text : object, err);
    if (p->trip.to != PDR_SHAPE_STATE)
        return put_raw_arguments(p, row, text, err);
    rc = put_row(p, row, pdr_value_new_object(), err);
    if (rc == PDR_OK)
        return put(p, "argumentsText", text, err);
    pdr_value_free(text);
    return rc;
}

/* What Python has as text only, if the text is still that of it. */
static pdr_rc structured(const pdr_value **out, const struct projecting *p,
                         const pdr_value *value, pdr_err *err)
{
    const pdr_value *more = pdr_value_get_c(p->more, "result");
    pdr_value *text = NULL, *items = NULL;
    pdr_rc rc = PDR_OK;

    *out = value;
    if (pdr__is_nothing(more) || value == NULL)
        return PDR_OK;
    rc = pdr__python_result(&text, &items, more, err);
    if (rc == PDR_OK && pdr_value_equal(text, value))
        *out = more;
    pdr_value_free(items);
    pdr_value_free(text);
    return rc;
}

/* To Python: as text, the same as contents, and beside it what it was. */
static pdr_rc put_python_result(struct projecting *p, const pdr_value *value,
                                pdr_err *err)
{
    pdr_value *text = NULL, *items = NULL;
    pdr_rc rc = pdr__python_result(&text, &items, value, err);

    if (rc != PDR_OK)
        return rc;
    rc = put(p, "result", text, err);
    if (rc != PDR_OK) {
        pdr_value_free(items);
        return rc;
    }
    rc = put(p, "items", items, err);
    if (rc == PDR_OK && pdr_value_kind(value) != PDR_STRING)
        rc = pdr__items_add(&p->out->more, "result", 0, pdr_value_ref(value),
                            err);
    return rc;
}

static pdr_rc put_result(struct projecting *p, const struct content_member *row,
                         pdr_err *err)
{
    const pdr_value *value = typed(p, row);
    pdr_rc rc = PDR_OK;

    if (value != NULL && p->trip.to == PDR_SHAPE_PYTHON)
        return put_python_result(p, value, err);
    if (p->trip.from == PDR_SHAPE_PYTHON)
        rc = structured(&value, p, value, err);
    return rc == PDR_OK ? put_row(p, row, pdr_value_ref(value), err) : rc;
}

static pdr_rc put_details(struct projecting *p,
                          const struct content_member *row, pdr_err *err)
{
    const pdr_value *value =
        pdr_content_get(p->object, p->trip.from, PDR_FIELD_DETAILS);
    bool text = value != NULL && pdr_value_kind(value) == PDR_STRING;

    if (value == NULL || text || p->trip.to == PDR_SHAPE_PYTHON)
        return put_row(p, row, pdr_value_ref(value), err);
    return p->trip.to == PDR_SHAPE_STATE
               ? put(p, "detailsJson", pdr_value_ref(value), err)
               : PDR_OK;
}

/* Python has two words for a call that somebody else runs, .NET one. */
static pdr_rc put_silent(struct projecting *p, const struct content_member *row,
                         pdr_err *err)
{
    bool silent = is_true(typed(p, row)) ||
                  (p->trip.from == PDR_SHAPE_PYTHON &&
                   is_true(pdr_value_get_c(p->object, "hosted")));

    return put_row(p, row, silent ? pdr_value_new_bool(true) : NULL, err);
}

static pdr_rc put_usage(struct projecting *p, const struct content_member *row,
                        pdr_err *err)
{
    const pdr_value *value = typed(p, row);
    pdr_value *usage = NULL;
    pdr_rc rc = PDR_OK;

    if (value != NULL)
        rc = pdr__usage_convert(&usage, value, p->trip, err);
    return rc == PDR_OK ? put_row(p, row, usage, err) : rc;
}

static pdr_rc put_role(struct projecting *p, const struct content_member *row,
                       pdr_err *err)
{
    const pdr_value *role = pdr_message_role(p->object, p->trip.from);
    pdr_value *object = NULL;
    pdr_rc rc = PDR_OK;

    if (role == NULL || p->trip.to != PDR_SHAPE_SK)
        return put_row(p, row, pdr_value_ref(role), err);
    object = pdr_value_new_object();
    rc = pdr_value_set(&object, PDR_LIT("Label"), role, err);
    if (rc == PDR_OK)
        return put_row(p, row, object, err);
    pdr_value_free(object);
    return rc;
}

/* --- what is nested ------------------------------------------------------ */

static pdr_rc convert_one(pdr_value **out, const struct projecting *p,
                          const struct content_member *row,
                          const pdr_value *value, pdr_err *err)
{
    if (row->way == WAY_CITATIONS)
        return pdr__form_convert(out, &pdr__form_citation, value, p->trip, err);
    /* The contents of a message stand on their own. */
    if (p->form->what == FORM_MESSAGE)
        return pdr_content_convert(out, value, p->trip.from, p->trip.to, err);
    return pdr__nested_convert(out, value, p->trip, err);
}

static pdr_rc convert_list(pdr_value **out, const struct projecting *p,
                           const struct content_member *row,
                           const pdr_value *list, pdr_err *err)
{
    pdr_builder *to = NULL;
    pdr_value *one = NULL;
    pdr_iter it;
    pdr_rc rc = pdr_builder_new(&to, err);

    if (rc != PDR_OK)
        return rc;
    pdr_builder_array(to);
    pdr_iter_init(&it, list);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        rc = convert_one(&one, p, row, it.value, err);
        if (rc == PDR_OK)
            pdr_builder_value(to, one);
        pdr_value_free(one);
        one = NULL;
    }
    pdr_builder_end(to);
    if (rc == PDR_OK)
        rc = pdr_builder_finish(out, to, err);
    pdr_builder_free(to);
    return rc;
}

/* One content where a list may stand, as a list. */
static pdr_rc convert_single(pdr_value **out, const struct projecting *p,
                             const struct content_member *row,
                             const pdr_value *content, pdr_err *err)
{
    pdr_value *list = pdr_value_new_array(), *made = NULL;
    pdr_rc rc = convert_one(&made, p, row, content, err);

    if (rc == PDR_OK)
        rc = pdr_value_append(&list, made, err);
    pdr_value_free(made);
    if (rc == PDR_OK) {
        *out = list;
        return PDR_OK;
    }
    pdr_value_free(list);
    return rc;
}

/* Annotations are converted if all of them are citations. */
static bool are_citations(const pdr_value *list, pdr_shape shape)
{
    pdr_iter it;

    pdr_iter_init(&it, list);
    while (pdr_iter_next(&it)) {
        if (!pdr_value_text_is(pdr_value_get_c(it.value, pdr__type_name(shape)),
                               PDR_LIT("citation")))
            return false;
    }
    return true;
}

/* Is the object impossible without it? */
static bool is_needed(const struct projecting *p,
                      const struct content_member *row)
{
    const char *made = row->made[p->trip.to];

    return made != NULL && strcmp(made, MADE_NEVER) == 0;
}

static pdr_rc put_nested(struct projecting *p, const struct content_member *row,
                         pdr_err *err)
{
    const pdr_value *value = typed(p, row);
    pdr_value *made = NULL;
    pdr_rc rc = PDR_OK;

    if (p->shallow)
        return value == NULL && is_needed(p, row) ? put_row(p, row, NULL, err)
                                                  : PDR_OK;
    if (value != NULL && row->way == WAY_CITATIONS &&
        !are_citations(value, p->trip.from))
        value = NULL;
    if (value == NULL || row->names[p->trip.to] == NULL)
        return put_row(p, row, NULL, err);
    if (row->way == WAY_CONTENT)
        rc = convert_one(&made, p, row, value, err);
    else if (pdr_value_kind(value) == PDR_ARRAY)
        rc = convert_list(&made, p, row, value, err);
    else
        rc = convert_single(&made, p, row, value, err);
    return rc == PDR_OK ? put_row(p, row, made, err) : rc;
}

/* --- regions of a citation ----------------------------------------------- */

static const struct {
    const char *type, *start, *end;
} region_names[] = {{"textSpan", "start", "end"},
                    {"textSpan", "start", "end"},
                    {"text_span", "start_index", "end_index"}};

/* A span of text and nothing else? */
static bool is_region(const pdr_value *region, pdr_shape shape)
{
    const pdr_value *type = pdr_value_get_c(region, pdr__type_name(shape));
    size_t known = 1;

    if (pdr__member(region, region_names[shape].start, PDR_NUMBER) != NULL)
        known++;
    if (pdr__member(region, region_names[shape].end, PDR_NUMBER) != NULL)
        known++;
    return pdr_value_text_is(type, pdr_str_c(region_names[shape].type)) &&
           pdr_value_count(region) == known;
}

static void put_number(pdr_builder *to, const char *name,
                       const pdr_value *number)
{
    if (number == NULL)
        return;
    pdr_builder_name(to, pdr_str_c(name));
    pdr_builder_value(to, number);
}

static pdr_rc convert_regions(pdr_value **out, const pdr_value *list,
                              struct trip trip, pdr_err *err)
{
    pdr_builder *to = NULL;
    pdr_iter it;
    pdr_rc rc = pdr_builder_new(&to, err);

    if (rc != PDR_OK)
        return rc;
    pdr_builder_array(to);
    pdr_iter_init(&it, list);
    while (pdr_iter_next(&it)) {
        pdr_builder_object(to);
        pdr_builder_name(to, pdr_str_c(pdr__type_name(trip.to)));
        pdr_builder_string(to, pdr_str_c(region_names[trip.to].type));
        put_number(to, region_names[trip.to].start,
                   pdr_value_get_c(it.value, region_names[trip.from].start));
        put_number(to, region_names[trip.to].end,
                   pdr_value_get_c(it.value, region_names[trip.from].end));
        pdr_builder_end(to);
    }
    pdr_builder_end(to);
    rc = pdr_builder_finish(out, to, err);
    pdr_builder_free(to);
    return rc;
}

static pdr_rc put_regions(struct projecting *p,
                          const struct content_member *row, pdr_err *err)
{
    const pdr_value *value = typed(p, row);
    pdr_value *made = NULL;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, value);
    while (pdr_iter_next(&it)) {
        if (!is_region(it.value, p->trip.from))
            return PDR_OK;
    }
    if (value != NULL)
        rc = convert_regions(&made, value, p->trip, err);
    return rc == PDR_OK ? put_row(p, row, made, err) : rc;
}

/* --- all of them --------------------------------------------------------- */

static pdr_rc project_row(struct projecting *p,
                          const struct content_member *row, pdr_err *err)
{
    if (row->field == PDR_FIELD_MEDIA_TYPE && p->form->media != NULL &&
        p->trip.from == PDR_SHAPE_SK)
        return put_default_media(p, row, err);
    switch ((enum content_way)row->way) {
    case WAY_NAME:
        return put_name(p, row, err);
    case WAY_DATA:
        return put_data(p, row, err);
    case WAY_ARGUMENTS:
        return put_arguments(p, row, err);
    case WAY_RESULT:
        return put_result(p, row, err);
    case WAY_DETAILS:
        return put_details(p, row, err);
    case WAY_MEDIA:
        return put_media(p, row, err);
    case WAY_USAGE:
        return put_usage(p, row, err);
    case WAY_SILENT:
        return put_silent(p, row, err);
    case WAY_REGIONS:
        return put_regions(p, row, err);
    case WAY_ROLE:
        return put_role(p, row, err);
    case WAY_CONTENT:
    case WAY_CONTENTS:
    case WAY_CITATIONS:
        return put_nested(p, row, err);
    case WAY_PLAIN:
        break;
    }
    return put_plain(p, row, err);
}

void pdr__projection_dispose(struct projection *projection)
{
    pdr__items_dispose(&projection->members);
    pdr__items_dispose(&projection->more);
}

pdr_rc pdr__project(struct projection *out, const struct form *form,
                    const pdr_value *object, const pdr_value *more,
                    struct trip trip, bool shallow, pdr_err *err)
{
    struct projecting p = {out, form, object, more, trip, shallow};
    pdr_rc rc = PDR_OK;

    *out = (struct projection){{NULL, 0, 0}, {NULL, 0, 0}, true};
    for (size_t i = 0; rc == PDR_OK && i < pdr__form_rows(form); i++)
        rc = project_row(&p, pdr__form_row(form, i), err);
    return rc;
}
