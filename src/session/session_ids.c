/*
 * session_ids.c - the id of the conversation at a service.
 *
 * WHY  Every edition and kind of session keeps this id in a place of its own,
 *      and two of them write a text there that is no id at all: a mark that
 *      the history is local. It must never reach a service. So reading and
 *      writing of ids goes through here, and what is no id is none for
 *      everybody, though it stays in the document.
 *
 * INVARIANTS
 *   I1  What pdr_session_service_id() gives could be sent to a service: no
 *       blank text, no sentinel, nothing of another JSON kind.
 *   I2  A change sets only members of the id, and the kind where the document
 *       states it. It happens in a copy that then takes the place of the
 *       document, so a failure changes nothing.
 *   I3  A document that was read gets a new member at its end; one that was
 *       made here gets it before its bag, where its edition has it.
 */
#include "compat.h"
#include "session_core.h"

#define TEXT_MAX UINT32_MAX /* an id is a part of a document that was read */

static const char *const sentinels[] = {
    "_agent_local_chat_history",                 /* .NET */
    "agent_framework_local_history_persistence", /* Python */
};

bool pdr__is_sentinel(pdr_str text)
{
    for (size_t i = 0; i < PDR_COUNT(sentinels); i++) {
        if (pdr_str_equal(text, pdr_str_c(sentinels[i])))
            return true;
    }
    return false;
}

static bool is_sentinel(const pdr_value *value)
{
    for (size_t i = 0; i < PDR_COUNT(sentinels); i++) {
        if (pdr_value_text_is(value, pdr_str_c(sentinels[i])))
            return true;
    }
    return false;
}

static pdr_rc is_blank(bool *out, const pdr_value *string, pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(TEXT_MAX);
    pdr_str text = {NULL, 0};
    pdr_rc rc = pdr__value_name_bytes(&text, string, &scratch, err);

    if (rc == PDR_OK)
        *out = pdr__dotnet_blank(text);
    pdr_buf_dispose(&scratch);
    return rc;
}

pdr_rc pdr__service_id_is_none(bool *out, const pdr_value *value, pdr_err *err)
{
    *out = true;
    if (pdr__is_nothing(value))
        return PDR_OK;
    if (pdr_value_kind(value) == PDR_OBJECT) {
        *out = pdr_value_count(value) == 0;
        return PDR_OK;
    }
    if (pdr_value_kind(value) != PDR_STRING || is_sentinel(value))
        return PDR_OK;
    return is_blank(out, value, err);
}

/* --- reading ------------------------------------------------------------- */

/* May the id be an object? */
static bool takes_object(const pdr_session *s)
{
    return s->kind == PDR_SESSION_KIND_PYTHON ||
           s->kind == PDR_SESSION_KIND_A2A;
}

static const pdr_value *own_service_id(const pdr_session *s)
{
    return pdr__member(pdr_value_get_c(s->root, "perdure"), "serviceId",
                       PDR_OBJECT);
}

/* The member that holds the id; NULL if the kind has none. */
static const char *service_member(const pdr_session *s)
{
    switch (s->shape) {
    case PDR_SESSION_PYTHON:
    case PDR_SESSION_PYTHON_OLD:
        return "service_session_id";
    case PDR_SESSION_PYTHON_THREAD:
        return "service_thread_id";
    case PDR_SESSION_NATIVE:
    case PDR_SESSION_DOTNET:
    case PDR_SESSION_DOTNET_THREAD:
        break;
    }
    return pdr__kind_service_member(s->kind);
}

/* The ids of an A2A session as one object; NULL if there is none. */
static pdr_rc gather_a2a(pdr_value **out, const pdr_session *s, pdr_err *err)
{
    pdr_value *object = pdr_value_new_object();
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; rc == PDR_OK && pdr__a2a_members[i] != NULL; i++) {
        const char *name = pdr__a2a_members[i];
        const pdr_value *value = pdr_value_get_c(s->root, name);
        bool none = pdr__is_nothing(value);

        if (!none && pdr_value_kind(value) == PDR_STRING)
            rc = pdr__service_id_is_none(&none, value, err);
        if (rc == PDR_OK && !none)
            rc = pdr_value_set(&object, pdr_str_c(name), value, err);
    }
    if (rc == PDR_OK && pdr_value_count(object) > 0) {
        *out = object;
        object = NULL;
    }
    pdr_value_free(object);
    return rc;
}

static pdr_rc get_locked(pdr_value **out, const pdr_session *s, pdr_err *err)
{
    const char *member = service_member(s);
    const pdr_value *id = NULL;
    bool none = true;
    pdr_rc rc = PDR_OK;

    if (s->kind == PDR_SESSION_KIND_A2A)
        return gather_a2a(out, s, err);
    if (s->shape == PDR_SESSION_NATIVE && s->kind == PDR_SESSION_KIND_PYTHON)
        id = own_service_id(s);
    if (id == NULL && member != NULL)
        id = pdr_value_get_c(s->root, member);
    rc = pdr__service_id_is_none(&none, id, err);
    if (rc == PDR_OK && !none)
        *out = pdr_value_ref(id);
    return rc;
}

pdr_rc pdr_session_service_id(pdr_value **out, pdr_session *session,
                              pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && session != NULL);
    *out = NULL;
    pdr__bag_lock(session->bag);
    rc = get_locked(out, session, err);
    pdr__bag_unlock(session->bag);
    return rc;
}

/* --- writing ------------------------------------------------------------- */

/* Put a new member before the bag of a document. */
static pdr_rc insert_member(pdr_value **io, const pdr_session *s,
                            const char *name, const pdr_value *value,
                            pdr_err *err)
{
    pdr_value *object = pdr_value_new_object();
    pdr_rc rc = PDR_OK;
    pdr_iter it;

    pdr_iter_init(&it, *io);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        if (pdr_value_text_is(it.name, pdr_str_c(s->names->bag)))
            rc = pdr_value_set(&object, pdr_str_c(name), value, err);
        if (rc == PDR_OK)
            rc = pdr__value_add_member(&object, it.name, it.value, err);
    }
    if (rc != PDR_OK) {
        pdr_value_free(object);
        return rc;
    }
    pdr_value_free(*io);
    *io = object;
    return PDR_OK;
}

static pdr_rc put_member(pdr_value **io, const pdr_session *s, const char *name,
                         const pdr_value *value, pdr_err *err)
{
    if (s->is_made && pdr_value_get_c(*io, name) == NULL)
        return insert_member(io, s, name, value, err);
    return pdr_value_set(io, pdr_str_c(name), value, err);
}

/* Remove a member, if it is there. */
static pdr_rc drop_member(pdr_value **io, const char *name, pdr_err *err)
{
    if (pdr_value_get_c(*io, name) == NULL)
        return PDR_OK;
    return pdr_value_remove(io, pdr_str_c(name), err);
}

/* Set or remove (NULL) a member of `perdure`. */
static pdr_rc put_own(pdr_value **io, const char *name, const pdr_value *value,
                      pdr_err *err)
{
    pdr_value *own = pdr_value_ref(pdr_value_get_c(*io, "perdure"));
    pdr_rc rc = value != NULL ? pdr_value_set(&own, pdr_str_c(name), value, err)
                              : drop_member(&own, name, err);

    if (rc == PDR_OK)
        rc = pdr_value_set(io, PDR_LIT("perdure"), own, err);
    pdr_value_free(own);
    return rc;
}

/* The three members of an A2A session, from an object with some of them, or
 * from a text, which is the context. */
static pdr_rc put_a2a(pdr_value **io, const pdr_session *s, const pdr_value *id,
                      pdr_err *err)
{
    bool is_text = pdr_value_kind(id) == PDR_STRING;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; rc == PDR_OK && pdr__a2a_members[i] != NULL; i++) {
        const char *name = pdr__a2a_members[i];
        const pdr_value *value =
            is_text ? (i == 0 ? id : NULL) : pdr_value_get_c(id, name);

        rc = value != NULL ? put_member(io, s, name, value, err)
                           : drop_member(io, name, err);
    }
    return rc;
}

/* A native session of kind `python`: a text has the place of .NET, an object
 * one in `perdure`. */
static pdr_rc put_native_python(pdr_value **io, const pdr_session *s,
                                const pdr_value *id, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(id) == PDR_OBJECT) {
        rc = drop_member(io, "conversationId", err);
        return rc == PDR_OK ? put_own(io, "serviceId", id, err) : rc;
    }
    if (own_service_id(s) != NULL)
        rc = put_own(io, "serviceId", NULL, err);
    return rc == PDR_OK ? put_member(io, s, "conversationId", id, err) : rc;
}

/* Set the id of a session that had no stated kind: it has one now. */
static pdr_rc put_first(pdr_value **io, const pdr_session *s,
                        const pdr_value *id, pdr_err *err)
{
    const pdr_value *own = pdr_value_get_c(*io, "perdure");
    pdr_session_kind stated = PDR_SESSION_KIND_CLIENT;
    pdr_value *kind = NULL;
    pdr_rc rc = PDR_OK;

    if (s->shape == PDR_SESSION_NATIVE &&
        pdr__kind_read(&stated, pdr_value_get_c(own, "kind")) &&
        stated == PDR_SESSION_KIND_UNSTATED) {
        rc = pdr_value_new_string(&kind, PDR_LIT("client"), err);
        if (rc == PDR_OK)
            rc = put_own(io, "kind", kind, err);
        pdr_value_free(kind);
    }
    return rc == PDR_OK ? put_member(io, s, "conversationId", id, err) : rc;
}

static pdr_rc put_id(pdr_value **io, const pdr_session *s, const pdr_value *id,
                     pdr_err *err)
{
    if (s->kind == PDR_SESSION_KIND_A2A)
        return put_a2a(io, s, id, err);
    if (s->shape == PDR_SESSION_NATIVE && s->kind == PDR_SESSION_KIND_PYTHON)
        return put_native_python(io, s, id, err);
    if (s->kind == PDR_SESSION_KIND_UNSTATED)
        return put_first(io, s, id, err);
    return put_member(io, s, service_member(s), id, err);
}

/* Is an object one that an A2A session can hold? */
static bool is_a2a(const pdr_value *object)
{
    pdr_iter it;

    pdr_iter_init(&it, object);
    while (pdr_iter_next(&it)) {
        bool known = false;

        for (size_t i = 0; pdr__a2a_members[i] != NULL; i++)
            known = known ||
                    pdr_value_text_is(it.name, pdr_str_c(pdr__a2a_members[i]));
        if (!known || (pdr_value_kind(it.value) != PDR_STRING &&
                       pdr_value_kind(it.value) != PDR_NULL))
            return false;
    }
    return true;
}

/* Is one of the members such a text? */
static bool has_sentinel(const pdr_value *object)
{
    bool found = false;
    pdr_iter it;

    pdr_iter_init(&it, object);
    while (!found && pdr_iter_next(&it))
        found = is_sentinel(it.value);
    return found;
}

/* Levels above the id where it stands deepest: root, and `perdure`. */
#define ID_LEVELS (PDR_DEFAULT_DEPTH - 2)

/* Is it an id, and one for this session? */
static pdr_rc check_id(const pdr_session *s, const pdr_value *id, pdr_err *err)
{
    bool object = pdr_value_kind(id) == PDR_OBJECT;

    if (service_member(s) == NULL)
        return PDR_FAIL(err, SERVICE_ID,
                        "a session of kind %s has no id at a service",
                        pdr_session_kind_name(s->kind));
    if (is_sentinel(id) ||
        (s->kind == PDR_SESSION_KIND_A2A && has_sentinel(id)))
        return PDR_FAIL(err, SERVICE_ID, "%s",
                        "this text says that the history is local; it is no "
                        "id that a service knows");
    if (!object && pdr_value_kind(id) != PDR_STRING)
        return PDR_FAIL(err, SERVICE_ID,
                        "the id of a conversation is a string, this is %s",
                        pdr__kind_phrase(id));
    if (object &&
        (!takes_object(s) || (s->kind == PDR_SESSION_KIND_A2A && !is_a2a(id))))
        return PDR_FAIL(err, SERVICE_ID,
                        "a session of kind %s in the shape %s cannot hold "
                        "this object as its id",
                        pdr_session_kind_name(s->kind),
                        pdr_session_shape_name(s->shape));
    if (object && pdr__levels(id) > ID_LEVELS)
        return PDR_FAIL(err, TOO_DEEP, "an id may have at most %d levels",
                        ID_LEVELS);
    return PDR_OK;
}

/* Does it stand for "no id"? A sentinel is refused, so it does not; of the
 * several ids of A2A, one that is there is enough. */
static pdr_rc is_nothing(bool *out, const pdr_session *s, const pdr_value *id,
                         pdr_err *err)
{
    pdr_rc rc = PDR_OK;
    pdr_iter it;

    *out = pdr__is_nothing(id);
    if (*out || is_sentinel(id))
        return PDR_OK;
    if (pdr_value_kind(id) == PDR_STRING)
        return is_blank(out, id, err);
    if (pdr_value_kind(id) != PDR_OBJECT)
        return PDR_OK;
    *out = s->kind == PDR_SESSION_KIND_A2A || pdr_value_count(id) == 0;
    pdr_iter_init(&it, s->kind == PDR_SESSION_KIND_A2A ? id : NULL);
    while (rc == PDR_OK && *out && pdr_iter_next(&it)) {
        *out = pdr_value_kind(it.value) == PDR_NULL;
        if (pdr_value_kind(it.value) == PDR_STRING && !is_sentinel(it.value))
            rc = is_blank(out, it.value, err);
    }
    return rc;
}

/* What counts as nothing is fine where nothing is. */
static pdr_rc set_nothing(const pdr_session *s, pdr_err *err)
{
    pdr_value *now = NULL;
    pdr_rc rc = get_locked(&now, s, err);

    if (rc == PDR_OK && now != NULL)
        rc = PDR_FAIL(err, SERVICE_ID, "%s",
                      "the session has an id at a service, which can be "
                      "replaced but not become blank");
    pdr_value_free(now);
    return rc;
}

static pdr_rc set_locked(pdr_session *s, const pdr_value *id, pdr_err *err)
{
    pdr_value *root = NULL;
    bool none = false;
    pdr_rc rc = PDR_OK;

    if (s->names->sealed)
        return PDR_FAIL(err, BAG_SEALED, "%s",
                        "a session of the time of threads cannot be changed; "
                        "convert it first");
    rc = is_nothing(&none, s, id, err);
    if (rc == PDR_OK && none)
        return set_nothing(s, err);
    if (rc == PDR_OK)
        rc = check_id(s, id, err);
    if (rc != PDR_OK)
        return rc;
    root = pdr_value_ref(s->root);
    rc = put_id(&root, s, id, err);
    if (rc == PDR_OK) {
        pdr_value_free(s->root);
        s->root = root;
        if (s->kind == PDR_SESSION_KIND_UNSTATED)
            s->kind = PDR_SESSION_KIND_CLIENT;
        return PDR_OK;
    }
    pdr_value_free(root);
    return rc;
}

pdr_rc pdr_session_set_service_id(pdr_session *session, const pdr_value *id,
                                  pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(session != NULL);
    pdr__bag_lock(session->bag);
    rc = set_locked(session, id, err);
    pdr__bag_unlock(session->bag);
    return rc;
}

pdr_rc pdr__session_drop_sentinel(const char **dropped, pdr_session *session,
                                  pdr_err *err)
{
    const char *member = service_member(session);
    pdr_value *null = pdr_value_new_null(), *root = NULL;
    pdr_rc rc = PDR_OK;

    *dropped = NULL;
    pdr__bag_lock(session->bag);
    if (member != NULL && is_sentinel(pdr_value_get_c(session->root, member))) {
        root = pdr_value_ref(session->root);
        rc = pdr_value_set(&root, pdr_str_c(member), null, err);
        if (rc == PDR_OK) {
            pdr_value_free(session->root);
            session->root = root;
            root = NULL;
            *dropped = member;
        }
    }
    pdr__bag_unlock(session->bag);
    pdr_value_free(root);
    pdr_value_free(null);
    return rc;
}
