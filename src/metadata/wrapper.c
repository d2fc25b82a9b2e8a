/*
 * wrapper.c - a session and what is said about it, as one document.
 *
 * WHY  Properties are no part of a session: it does not know of its wrapper,
 *      and what is written of a session never has them. So the wrapper has a
 *      document of its own,
 *
 *          {"session":{…},"additionalProperties":{…}}
 *
 *      with the session inside in whatever shape it has.
 *
 * The frame remembers what the wrapper was read from:
 *   NULL       nothing: it was made here
 *   null       a bare session; it stays one as long as it has no properties
 *   an object  the document, with all that others put beside the two members
 */
#include <stdio.h>

#include "metadata.h"

#define SESSION_NAME    PDR_LIT("session")
#define PROPERTIES_NAME PDR_LIT("additionalProperties")

void pdr_session_wrapper_dispose(pdr_session_wrapper *wrapper)
{
    pdr_session_free(wrapper->session);
    pdr_properties_free(wrapper->properties);
    pdr_value_free(wrapper->frame);
    memset(wrapper, 0, sizeof(*wrapper));
}

/* --- reading ------------------------------------------------------------- */

/* Tell of a property that its type cannot read. */
static pdr_rc tell_type(struct finder *finder, const struct property *property,
                        const pdr_err *cause, pdr_err *err)
{
    char room[PROPERTY_ROOM];
    size_t mark = pdr__finder_name(finder, pdr__property_name(room, property));
    pdr_rc rc =
        pdr__finder_tell(finder, "meta-decode", PDR_SEVERITY_WARNING, err,
                         "%s; it is kept as it is", cause->message);

    pdr__finder_up(finder, mark);
    return rc;
}

/* Decode what has the name of a type. What does not fit stays as it is. */
static pdr_rc decode_all(pdr_properties *properties, const pdr_type_set *types,
                         struct finder *finder, pdr_err *err)
{
    size_t mark = pdr__finder_name(finder, PROPERTIES_NAME);
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; rc == PDR_OK && i < types->count; i++) {
        struct property property;
        pdr_object *object = NULL;
        pdr_err cause = PDR_ERR_INIT;

        if (pdr__property_of_type(&property, properties, types->types[i],
                                  NULL) != PDR_OK ||
            pdr__is_nothing(property.value))
            continue;
        rc = pdr_properties_get_typed(&object, properties, types->types[i],
                                      &cause);
        pdr_object_free(object);
        if (rc == PDR_ENOMEM)
            rc = pdr__nomem(err);
        else if (rc != PDR_OK)
            rc = tell_type(finder, &property, &cause, err);
    }
    pdr__finder_up(finder, mark);
    return rc;
}

/* The properties of a document; absent or null: none. */
static pdr_rc read_properties(pdr_properties **out, const pdr_value *document,
                              const pdr_type_set *types, struct finder *finder,
                              pdr_err *err)
{
    const pdr_value *members = pdr_value_get(document, PROPERTIES_NAME);
    pdr_rc rc = PDR_OK;

    if (pdr__is_nothing(members))
        return PDR_OK;
    rc = pdr_properties_from_value(out, members, err);
    if (rc != PDR_OK) {
        pdr__path_below(err, PROPERTIES_NAME);
        return rc;
    }
    return types != NULL ? decode_all(*out, types, finder, err) : PDR_OK;
}

static pdr_rc read_document(pdr_session_wrapper *out, const pdr_value *value,
                            const pdr_type_set *types, struct finder *finder,
                            pdr_err *err)
{
    const pdr_value *session = pdr_value_get(value, SESSION_NAME);
    pdr_rc rc = pdr_session_from_value(&out->session, session, err);

    if (rc != PDR_OK) {
        pdr__path_below(err, SESSION_NAME);
        return rc;
    }
    out->frame = pdr_value_ref(value);
    return read_properties(&out->properties, value, types, finder, err);
}

/* A session may have a member of any name, so it is one if it looks like one;
 * else a member `session` makes a wrapper, whatever stands beside it. */
static bool is_bare(const pdr_value *value)
{
    return pdr_session_looks(value) == PDR_LOOKS_SESSION ||
           pdr_value_get(value, SESSION_NAME) == NULL;
}

static pdr_rc read_wrapper(pdr_session_wrapper *out, const pdr_value *value,
                           const pdr_type_set *types, struct finder *finder,
                           pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    memset(out, 0, sizeof(*out));
    if (is_bare(value)) {
        rc = pdr_session_from_value(&out->session, value, err);
        out->frame = pdr_value_new_null();
    } else {
        rc = read_document(out, value, types, finder, err);
    }
    if (rc != PDR_OK)
        pdr_session_wrapper_dispose(out);
    return rc;
}

pdr_rc pdr_session_wrapper_from_value(pdr_session_wrapper *out,
                                      const pdr_value *value,
                                      const pdr_type_set *types, pdr_err *err,
                                      pdr_doc_finding_fn fn, void *arg)
{
    struct finder finder = PDR_FINDER_INIT(fn, arg);
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && value != NULL);
    rc = read_wrapper(out, value, types, &finder, err);
    pdr__finder_dispose(&finder);
    return rc;
}

/* --- writing ------------------------------------------------------------- */

/* Set a member, unless it is there as it is. */
static pdr_rc put(pdr_value **io, pdr_str name, const pdr_value *value,
                  pdr_err *err)
{
    if (pdr_value_get(*io, name) == value)
        return PDR_OK;
    return pdr_value_set(io, name, value, err);
}

static pdr_rc put_properties(pdr_value **io, const pdr_properties *properties,
                             pdr_err *err)
{
    pdr_value *members = NULL;
    pdr_rc rc = PDR_OK;

    if (properties == NULL) /* a null says the same, and stays */
        return pdr__is_nothing(pdr_value_get(*io, PROPERTIES_NAME))
                   ? PDR_OK
                   : pdr_value_remove(io, PROPERTIES_NAME, err);
    members = pdr_properties_to_value(properties);
    rc = put(io, PROPERTIES_NAME, members, err);
    pdr_value_free(members);
    return rc;
}

pdr_rc pdr_session_wrapper_to_value(pdr_value **out,
                                    const pdr_session_wrapper *wrapper,
                                    pdr_err *err)
{
    const pdr_value *frame = NULL;
    pdr_value *session = NULL, *made = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && wrapper != NULL && wrapper->session != NULL);
    *out = NULL;
    frame = wrapper->frame;
    rc = pdr_session_to_value(&session, wrapper->session, err);
    if (rc != PDR_OK)
        return rc;
    if (frame != NULL && pdr__is_nothing(frame) &&
        wrapper->properties == NULL) {
        *out = session;
        return PDR_OK;
    }
    made =
        pdr__is_nothing(frame) ? pdr_value_new_object() : pdr_value_ref(frame);
    rc = put(&made, SESSION_NAME, session, err);
    if (rc == PDR_OK)
        rc = put_properties(&made, wrapper->properties, err);
    if (rc == PDR_OK) {
        *out = made;
        made = NULL;
    }
    pdr_value_free(made);
    pdr_value_free(session);
    return rc;
}

/* --- lists --------------------------------------------------------------- */

static pdr_rc read_element(pdr_session_wrapper *out, const pdr_iter *it,
                           const pdr_type_set *types, struct finder *finder,
                           pdr_err *err)
{
    size_t mark = 0;
    char digits[24];
    int len = 0;
    pdr_rc rc = PDR_OK;

    if (pdr__is_nothing(it->value))
        return PDR_OK;
    mark = pdr__finder_index(finder, it->index);
    rc = read_wrapper(out, it->value, types, finder, err);
    pdr__finder_up(finder, mark);
    if (rc == PDR_OK)
        return rc;
    len = snprintf(digits, sizeof(digits), "%zu", it->index);
    pdr__path_below(err, pdr_str_n(digits, (size_t)len));
    return pdr__wrap(err, rc, "element %zu", it->index);
}

/* Room for as many wrappers as the array has elements, and one: a list without
 * any is no NULL. */
static pdr_session_wrapper *new_wrappers(const pdr_value *array)
{
    return pdr__calloc(pdr_value_count(array) + 1, sizeof(pdr_session_wrapper));
}

pdr_rc pdr_session_wrappers_from_value(pdr_session_wrapper **out, size_t *count,
                                       const pdr_value *value,
                                       const pdr_type_set *types, pdr_err *err,
                                       pdr_doc_finding_fn fn, void *arg)
{
    struct finder finder = PDR_FINDER_INIT(fn, arg);
    pdr_session_wrapper *wrappers = NULL;
    pdr_rc rc = PDR_OK;
    pdr_iter it;

    PDR_REQUIRE(out != NULL && count != NULL && value != NULL);
    *out = NULL;
    *count = 0;
    if (pdr_value_kind(value) != PDR_ARRAY)
        return PDR_FAIL(err, WRONG_KIND,
                        "a list of sessions with metadata is an array, this "
                        "is %s",
                        pdr__kind_phrase(value));
    wrappers = new_wrappers(value);
    if (wrappers == NULL)
        return pdr__nomem(err);
    pdr_iter_init(&it, value);
    while (rc == PDR_OK && pdr_iter_next(&it))
        rc = read_element(&wrappers[it.index], &it, types, &finder, err);
    pdr__finder_dispose(&finder);
    if (rc != PDR_OK) {
        pdr_session_wrappers_free(wrappers, pdr_value_count(value));
        return rc;
    }
    *out = wrappers;
    *count = pdr_value_count(value);
    return PDR_OK;
}

pdr_rc pdr_session_wrappers_to_value(pdr_value **out,
                                     const pdr_session_wrapper *wrappers,
                                     size_t count, pdr_err *err)
{
    pdr_value *array = pdr_value_new_array();
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && (wrappers != NULL || count == 0));
    *out = NULL;
    for (size_t i = 0; rc == PDR_OK && i < count; i++) {
        pdr_value *one = pdr_value_new_null();

        if (wrappers[i].session != NULL)
            rc = pdr_session_wrapper_to_value(&one, &wrappers[i], err);
        if (rc == PDR_OK)
            rc = pdr_value_append(&array, one, err);
        pdr_value_free(one);
    }
    if (rc == PDR_OK) {
        *out = array;
        array = NULL;
    }
    pdr_value_free(array);
    return rc;
}

void pdr_session_wrappers_free(pdr_session_wrapper *wrappers, size_t count)
{
    if (wrappers == NULL)
        return;
    for (size_t i = 0; i < count; i++)
        pdr_session_wrapper_dispose(&wrappers[i]);
    pdr__free(wrappers);
}
