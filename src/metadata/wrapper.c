/*
 * wrapper.c - a session and what is said about it, as one document.
 *
 * WHY  Properties are not part of a session: it does not know of its wrapper,
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

/* Decode what has the name of a type. What does not fit stays as it is, and is
 * reported. */
static pdr_rc decode_properties(pdr_properties *properties,
                                const pdr_type_set *types,
                                struct finder *finder, pdr_err *err)
{
    size_t mark = pdr__finder_name(finder, PROPERTIES_NAME);
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < types->count; i++) {
        char room[PROPERTY_ROOM];
        struct property property;
        pdr_object *object = NULL;
        pdr_err cause = PDR_ERR_INIT;
        size_t inner = 0;

        if (pdr__property_of_type(&property, properties, types->types[i],
                                  NULL) != PDR_OK ||
            pdr__is_nothing(property.value))
            continue;
        rc = pdr_properties_get_typed(&object, properties, types->types[i],
                                      &cause);
        pdr_object_free(object);
        if (rc == PDR_OK)
            continue;
        if (rc == PDR_ENOMEM)
            PDR_TRY(pdr__nomem(err));
        inner = pdr__finder_name(finder, pdr__property_name(room, &property));
        PDR_TRY(pdr__finder_tell(finder, "meta-decode", PDR_SEVERITY_WARNING,
                                 err, "%s; it is kept as it is",
                                 cause.message));
        pdr__finder_up(finder, inner);
    }
done:
    pdr__finder_up(finder, mark);
    return rc;
}

/* A session may have a member of any name, so it is one if it looks like one;
 * else a member `session` makes a wrapper, whatever else is there. */
static pdr_rc read_wrapper(pdr_session_wrapper *out, const pdr_value *value,
                           const pdr_type_set *types, struct finder *finder,
                           pdr_err *err)
{
    const pdr_value *session = pdr_value_get(value, SESSION_NAME);
    const pdr_value *members = pdr_value_get(value, PROPERTIES_NAME);
    pdr_rc rc = PDR_OK;

    memset(out, 0, sizeof(*out));
    if (session == NULL || pdr_session_looks(value) == PDR_LOOKS_SESSION) {
        PDR_TRY(pdr_session_from_value(&out->session, value, err));
        out->frame = pdr_value_new_null();
        return PDR_OK;
    }
    rc = pdr_session_from_value(&out->session, session, err);
    if (rc != PDR_OK) {
        pdr__path_below(err, SESSION_NAME);
        goto done;
    }
    out->frame = pdr_value_ref(value);
    if (pdr__is_nothing(members))
        return PDR_OK;
    rc = pdr_properties_from_value(&out->properties, members, err);
    if (rc != PDR_OK) {
        pdr__path_below(err, PROPERTIES_NAME);
        goto done;
    }
    if (types != NULL)
        PDR_TRY(decode_properties(out->properties, types, finder, err));
done:
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
static pdr_rc set_member(pdr_value **io, pdr_str name, const pdr_value *value,
                         pdr_err *err)
{
    if (pdr_value_get(*io, name) == value)
        return PDR_OK;
    return pdr_value_set(io, name, value, err);
}

pdr_rc pdr_session_wrapper_to_value(pdr_value **out,
                                    const pdr_session_wrapper *wrapper,
                                    pdr_err *err)
{
    pdr_value *session = NULL, *members = NULL, *made = NULL;
    const pdr_value *frame = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && wrapper != NULL && wrapper->session != NULL);
    *out = NULL;
    frame = wrapper->frame;
    PDR_TRY(pdr_session_to_value(&session, wrapper->session, err));
    if (frame != NULL && pdr__is_nothing(frame) &&
        wrapper->properties == NULL) {
        *out = session;
        return PDR_OK;
    }
    made =
        pdr__is_nothing(frame) ? pdr_value_new_object() : pdr_value_ref(frame);
    PDR_TRY(set_member(&made, SESSION_NAME, session, err));
    if (wrapper->properties != NULL) {
        members = pdr_properties_to_value(wrapper->properties);
        PDR_TRY(set_member(&made, PROPERTIES_NAME, members, err));
    } else if (!pdr__is_nothing(pdr_value_get(made, PROPERTIES_NAME))) {
        PDR_TRY(pdr_value_remove(&made, PROPERTIES_NAME, err));
    } /* a null says the same, and stays */
    *out = made;
    made = NULL;
done:
    pdr_value_free(made);
    pdr_value_free(members);
    pdr_value_free(session);
    return rc;
}

/* --- lists --------------------------------------------------------------- */

pdr_rc pdr_session_wrappers_from_value(pdr_session_wrapper **out, size_t *count,
                                       const pdr_value *value,
                                       const pdr_type_set *types, pdr_err *err,
                                       pdr_doc_finding_fn fn, void *arg)
{
    struct finder finder = PDR_FINDER_INIT(fn, arg);
    pdr_session_wrapper *wrappers = NULL;
    char digits[24];
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
    /* One more than needed: an empty list is not NULL. */
    wrappers = pdr__calloc(pdr_value_count(value) + 1, sizeof(*wrappers));
    if (wrappers == NULL)
        return pdr__nomem(err);
    pdr_iter_init(&it, value);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        size_t mark = pdr__finder_index(&finder, it.index);

        if (!pdr__is_nothing(it.value))
            rc = read_wrapper(&wrappers[it.index], it.value, types, &finder,
                              err);
        pdr__finder_up(&finder, mark);
    }
    pdr__finder_dispose(&finder);
    if (rc != PDR_OK) {
        pdr_session_wrappers_free(wrappers, pdr_value_count(value));
        (void)snprintf(digits, sizeof(digits), "%zu", it.index);
        pdr__path_below(err, pdr_str_c(digits));
        return pdr__wrap(err, rc, "element %zu", it.index);
    }
    *out = wrappers;
    *count = pdr_value_count(value);
    return PDR_OK;
}

pdr_rc pdr_session_wrappers_to_value(pdr_value **out,
                                     const pdr_session_wrapper *wrappers,
                                     size_t count, pdr_err *err)
{
    pdr_value *array = pdr_value_new_array(), *one = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && (wrappers != NULL || count == 0));
    *out = NULL;
    for (size_t i = 0; i < count; i++) {
        if (wrappers[i].session != NULL)
            PDR_TRY(pdr_session_wrapper_to_value(&one, &wrappers[i], err));
        else
            one = pdr_value_new_null();
        PDR_TRY(pdr_value_append(&array, one, err));
        pdr_value_free(one);
        one = NULL;
    }
    *out = array;
    array = NULL;
done:
    pdr_value_free(one);
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
