/*
 * attribution.c - additional properties, and who supplied a message.
 *
 * WHY  A run puts messages of several components together, and marks each with
 *      the one that supplied it, in the property "_attribution". .NET writes
 *          {"sourceType":{"value":"ChatHistory"},"sourceId":"…"}
 *      and forgets it on reading, Python
 *          {"source_id":"…","source_type":"…","origin_session_ids":["…"]}
 *      and a message may come from one to the other. So both ways are read in
 *      every shape, and what is there already is never said anew.
 *
 * .NET has no name for the sessions that a message came from. The member has
 * the name of Python in every shape: so Python finds it after a conversion.
 */
#include "content_table.h"

#define MARK_NAME    PDR_LIT("_attribution")
#define ORIGINS_NAME PDR_LIT("origin_session_ids")

/* --- properties ---------------------------------------------------------- */

/* Does `name` go on with these bytes, in either case? */
static bool goes_on(pdr_str *name, const char *bytes, size_t len)
{
    if (name->len < len)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (pdr__ascii_lower(name->ptr[i]) != pdr__ascii_lower(bytes[i]))
            return false;
    }
    *name = pdr_str_n(name->ptr + len, name->len - len);
    return true;
}

/* The same, with escapes in the spelling. Decodes one at a time: a look-up
 * takes no memory. */
static bool is_folded_escaped(pdr_str inner, pdr_str name)
{
    const char *at = inner.ptr, *end = inner.ptr + inner.len;

    while (at < end) {
        char decoded[12];
        uint32_t info = 0;
        size_t len = 1;

        if (*at == '\\')
            len = pdr__text_escape_len(at, end, &info);
        if (!goes_on(&name, decoded,
                     pdr__text_decode(decoded, pdr_str_n(at, len))))
            return false;
        at += len;
    }
    return name.len == 0;
}

bool pdr__is_folded(const pdr_value *string, pdr_str name)
{
    pdr_str inner = string_inner(string);

    if ((string->info & NODE_FLAG) != 0)
        return is_folded_escaped(inner, name);
    return inner.len == name.len && goes_on(&name, inner.ptr, inner.len);
}

pdr_rc pdr__property_find(const pdr_value **spelled, const pdr_value **out,
                          const pdr_value *properties, pdr_str name,
                          pdr_err *err)
{
    char shown[PDR_SHOWN];
    pdr_iter it;

    *spelled = NULL;
    *out = pdr_value_get(properties, name);
    if (*out != NULL)
        return PDR_OK;
    pdr_iter_init(&it, properties);
    while (pdr_iter_next(&it)) {
        if (it.name == NULL || !pdr__is_folded(it.name, name))
            continue;
        if (*spelled != NULL && !pdr__value_same_text(*spelled, it.name)) {
            *out = NULL;
            return PDR_FAIL(err, KEY_AMBIGUOUS,
                            "several properties differ from '%s' in case only; "
                            "give the name as it is spelled there",
                            pdr__shown(shown, name));
        }
        *spelled = it.name;
        *out = it.value; /* of several with one name, the last */
    }
    if (*out == NULL)
        return PDR_FAIL(err, NO_PROPERTY, "there is no property '%s'",
                        pdr__shown(shown, name));
    return PDR_OK;
}

pdr_rc pdr_property_get(const pdr_value **out, const pdr_value *properties,
                        pdr_str name, pdr_err *err)
{
    const pdr_value *spelled = NULL;

    PDR_REQUIRE(out != NULL && (name.ptr != NULL || name.len == 0));
    return pdr__property_find(&spelled, out, properties, name, err);
}

/* --- reading ------------------------------------------------------------- */

static const pdr_value *text_or_null(const pdr_value *value)
{
    return value != NULL && pdr_value_kind(value) == PDR_STRING ? value : NULL;
}

/* .NET has the type in an object of its own. */
static const pdr_value *dotnet_type(const pdr_value *mark)
{
    const pdr_value *type = pdr_value_get_c(mark, "sourceType");

    if (type != NULL && pdr_value_kind(type) == PDR_OBJECT)
        type = pdr_value_get_c(type, "value");
    return text_or_null(type);
}

bool pdr_message_attribution(pdr_attribution *out, const pdr_value *message,
                             pdr_shape shape)
{
    const pdr_value *mark = NULL, *spelled = NULL;
    const pdr_value *types[2], *ids[2];
    size_t own = shape == PDR_SHAPE_PYTHON;

    memset(out, 0, sizeof(*out));
    if (pdr__property_find(&spelled, &mark,
                           pdr_message_properties(message, shape), MARK_NAME,
                           NULL) != PDR_OK ||
        pdr_value_kind(mark) != PDR_OBJECT)
        return false;
    types[0] = dotnet_type(mark);
    types[1] = pdr__member(mark, "source_type", PDR_STRING);
    ids[0] = pdr__member(mark, "sourceId", PDR_STRING);
    ids[1] = pdr__member(mark, "source_id", PDR_STRING);
    out->source_type = types[own] != NULL ? types[own] : types[!own];
    out->source_id = ids[own] != NULL ? ids[own] : ids[!own];
    out->origins = pdr_value_get(mark, ORIGINS_NAME);
    if (out->origins != NULL && pdr_value_kind(out->origins) != PDR_ARRAY)
        out->origins = NULL;
    return out->source_type != NULL || out->source_id != NULL ||
           out->origins != NULL;
}

/* --- marking ------------------------------------------------------------- */

/* Set member `name`; `value` is taken. */
static pdr_rc put(pdr_value **io, pdr_str name, pdr_value *value, pdr_err *err)
{
    pdr_rc rc = pdr_value_set(io, name, value, err);

    pdr_value_free(value);
    return rc;
}

static pdr_rc put_text(pdr_value **io, pdr_str name, pdr_str text, pdr_err *err)
{
    pdr_value *value = NULL;
    pdr_rc rc = pdr_value_new_string(&value, text, err);

    return rc == PDR_OK ? put(io, name, value, err) : rc;
}

/* .NET wraps the type; Python has it plain. */
static pdr_rc put_type(pdr_value **mark, pdr_shape shape, pdr_str type,
                       pdr_err *err)
{
    pdr_value *wrapped = pdr_value_new_object();
    pdr_rc rc = PDR_OK;

    if (shape == PDR_SHAPE_PYTHON)
        return put_text(mark, PDR_LIT("source_type"), type, err);
    rc = put_text(&wrapped, PDR_LIT("value"), type, err);
    if (rc == PDR_OK)
        rc = pdr_value_set(mark, PDR_LIT("sourceType"), wrapped, err);
    pdr_value_free(wrapped);
    return rc;
}

static pdr_rc put_id(pdr_value **mark, pdr_shape shape, pdr_str id,
                     pdr_err *err)
{
    return put_text(mark,
                    shape == PDR_SHAPE_PYTHON ? PDR_LIT("source_id")
                                              : PDR_LIT("sourceId"),
                    id, err);
}

/* Type and id, in the order in which each edition writes them. What is said in
 * either way is not said again. */
static pdr_rc put_source(pdr_value **mark, pdr_shape shape,
                         const pdr_attribution_parts *parts, pdr_err *err)
{
    bool has_type = pdr_value_get_c(*mark, "sourceType") != NULL ||
                    pdr_value_get_c(*mark, "source_type") != NULL;
    bool has_id = pdr_value_get_c(*mark, "sourceId") != NULL ||
                  pdr_value_get_c(*mark, "source_id") != NULL;
    bool type_first = shape != PDR_SHAPE_PYTHON;
    bool wants_type = !has_type && parts->source_type.len > 0;
    pdr_rc rc = PDR_OK;

    if (wants_type && type_first)
        rc = put_type(mark, shape, parts->source_type, err);
    if (rc == PDR_OK && !has_id)
        rc = put_id(mark, shape, parts->source_id, err);
    if (rc == PDR_OK && wants_type && !type_first)
        rc = put_type(mark, shape, parts->source_type, err);
    return rc;
}

static bool has_text(const pdr_value *array, pdr_str text)
{
    pdr_iter it;

    pdr_iter_init(&it, array);
    while (pdr_iter_next(&it)) {
        if (pdr_value_text_is(it.value, text))
            return true;
    }
    return false;
}

/* The ids that are there stay; what is no array becomes the first of one, so
 * that nothing is lost. */
static pdr_rc start_origins(pdr_value **out, const pdr_value *there,
                            pdr_err *err)
{
    if (there != NULL && pdr_value_kind(there) == PDR_ARRAY) {
        *out = pdr_value_ref(there);
        return PDR_OK;
    }
    *out = pdr_value_new_array();
    return pdr__is_nothing(there) ? PDR_OK : pdr_value_append(out, there, err);
}

static pdr_rc put_origins(pdr_value **mark, const pdr_attribution_parts *parts,
                          pdr_err *err)
{
    pdr_value *ids = NULL;
    size_t before = 0;
    pdr_rc rc = start_origins(&ids, pdr_value_get(*mark, ORIGINS_NAME), err);

    before = pdr_value_count(ids);
    for (size_t i = 0; rc == PDR_OK && i < parts->origin_count; i++) {
        pdr_value *id = NULL;

        if (has_text(ids, parts->origins[i]))
            continue;
        rc = pdr_value_new_string(&id, parts->origins[i], err);
        if (rc == PDR_OK)
            rc = pdr_value_append(&ids, id, err);
        pdr_value_free(id);
    }
    if (rc == PDR_OK && pdr_value_count(ids) > before)
        rc = pdr_value_set(mark, ORIGINS_NAME, ids, err);
    pdr_value_free(ids);
    return rc;
}

/* The mark goes where it was, under the name that it has there. */
static pdr_rc put_mark(pdr_value **properties, const pdr_value *spelled,
                       const pdr_value *mark, pdr_err *err)
{
    char name[6 * sizeof("_attribution")]; /* all of it in escapes */
    pdr_str own = MARK_NAME;

    if (spelled != NULL)
        own = pdr_str_n(name, pdr__text_decode(name, string_inner(spelled)));
    return pdr_value_set(properties, own, mark, err);
}

/* Change *properties, which is an owned object. */
static pdr_rc mark_properties(pdr_value **properties, pdr_shape shape,
                              const pdr_attribution_parts *parts, pdr_err *err)
{
    const pdr_value *there = NULL, *spelled = NULL;
    pdr_value *mark = NULL;
    pdr_rc rc =
        pdr__property_find(&spelled, &there, *properties, MARK_NAME, NULL);

    if (rc != PDR_OK)
        spelled = NULL; /* none, or several that are no better than none */
    else if (pdr_value_kind(there) != PDR_OBJECT)
        return PDR_OK;
    mark = rc == PDR_OK ? pdr_value_ref(there) : pdr_value_new_object();
    rc = put_source(&mark, shape, parts, err);
    if (rc == PDR_OK)
        rc = put_origins(&mark, parts, err);
    if (rc == PDR_OK && mark != there)
        rc = put_mark(properties, spelled, mark, err);
    pdr_value_free(mark);
    return rc;
}

static pdr_rc check_parts(const pdr_value *message, const pdr_value *properties,
                          const pdr_attribution_parts *parts, pdr_err *err)
{
    if (pdr_value_kind(message) != PDR_OBJECT)
        return PDR_FAIL(err, WRONG_KIND, "a message is an object, this is %s",
                        pdr__kind_phrase(message));
    if (!pdr__is_nothing(properties) &&
        pdr_value_kind(properties) != PDR_OBJECT)
        return PDR_FAIL(err, WRONG_KIND,
                        "the additional properties of a message are an object, "
                        "these are %s",
                        pdr__kind_phrase(properties));
    if (parts->source_id.len == 0)
        return PDR_FAIL(err, FIELD_MISSING, "%s",
                        "a mark needs the id of the source; give source_id");
    return PDR_OK;
}

pdr_rc pdr_message_attribute(pdr_value **out, const pdr_value *message,
                             pdr_shape shape,
                             const pdr_attribution_parts *parts, pdr_err *err)
{
    const char *name = pdr__properties_name(shape);
    const pdr_value *there = NULL;
    pdr_value *properties = NULL, *marked = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && message != NULL && parts != NULL &&
                (parts->origins != NULL || parts->origin_count == 0));
    *out = NULL;
    there = pdr__find_member(message, name, shape);
    rc = check_parts(message, there, parts, err);
    if (rc != PDR_OK)
        return rc;
    properties =
        pdr__is_nothing(there) ? pdr_value_new_object() : pdr_value_ref(there);
    marked = pdr_value_ref(message);
    rc = mark_properties(&properties, shape, parts, err);
    if (rc == PDR_OK && properties != there)
        rc = pdr_value_set(&marked, pdr_str_c(name), properties, err);
    if (rc == PDR_OK) {
        *out = marked;
        marked = NULL;
    }
    pdr_value_free(marked);
    pdr_value_free(properties);
    return rc;
}
