/*
 * session.c - a session: a document, and the bag that is a part of it.
 *
 * WHY  A session must come back as it was read, whoever wrote it and whatever
 *      else it holds. So the document is kept as the value that it was, and
 *      only two things in it ever change: the bag, which lives beside it and is
 *      put in its place when somebody asks for the document, and the id of the
 *      conversation at a service (session_ids.c).
 *
 *        root ──► { "perdure": …, "conversationId": …, "stateBag": ─┐ }
 *        bag_value ─────────────────────────────────────────────────┘
 *        bag ──► the value that providers see; the same one as long as
 *                nobody wrote
 *
 * INVARIANTS
 *   E1  `bag_value` is what the bag was when `root` was made. While the bag
 *       still has that value, `root` is the document.
 *   E2  A document without a bag, or with null in its place, stays so until
 *       the bag has a slot.
 *   E3  Shape, id and durable id never change. Everything else is guarded by
 *       the lock of the bag, so that a document is one point in time.
 *   E4  No member but these two is looked at after reading, and none is
 *       checked that nothing here depends on.
 */
#include <stdio.h>

#include "session_core.h"

#define ID_MAX UINT32_MAX /* an id is a part of a document that was read */

/* Fail about a member: its place in the text and its path. */
#define FAIL_MEMBER(err, reason, value, path, ...)              \
    (pdr__fail((err), PDR_R_##reason, PDR__WHERE, __VA_ARGS__), \
     place_error((err), (pdr_rc)PDR_RC_##reason, (value), (path)))

static pdr_rc place_error(pdr_err *err, pdr_rc rc, const pdr_value *value,
                          const char *path)
{
    int64_t offset = value != NULL ? pdr_value_offset(value) : -1;

    if (offset >= 0)
        pdr__err_at(err, (size_t)offset);
    pdr__err_path(err, pdr_str_c(path));
    return rc;
}

/* --- durable ids --------------------------------------------------------- */

static bool begins_dafx(pdr_str text)
{
    static const char prefix[] = "dafx-";

    if (text.len < sizeof(prefix) - 1)
        return false;
    for (size_t i = 0; i < sizeof(prefix) - 1; i++) {
        if (pdr__ascii_lower(text.ptr[i]) != prefix[i])
            return false;
    }
    return true;
}

pdr_rc pdr_durable_id_read(pdr_str *agent, pdr_str *key, bool *prefixed,
                           pdr_str text, pdr_err *err)
{
    const char *second = NULL;
    char shown[PDR_SHOWN];
    bool dafx = false;

    PDR_REQUIRE(agent != NULL && key != NULL);
    if (text.len > 0 && text.ptr[0] == '@')
        second = memchr(text.ptr + 1, '@', text.len - 1);
    if (second != NULL) {
        *agent = pdr_str_n(text.ptr + 1, (size_t)(second - text.ptr - 1));
        *key =
            pdr_str_n(second + 1, text.len - (size_t)(second + 1 - text.ptr));
        dafx = begins_dafx(*agent);
        if (dafx)
            *agent = pdr_str_n(agent->ptr + 5, agent->len - 5);
    }
    if (second == NULL || agent->len == 0 || key->len == 0)
        return PDR_FAIL(err, BAD_ID,
                        "'%s' is no id of a durable session; it must be like "
                        "\"@dafx-agent@key\" or \"@agent@key\"",
                        pdr__shown(shown, text));
    if (prefixed != NULL)
        *prefixed = dafx;
    return PDR_OK;
}

/* --- reading ------------------------------------------------------------- */

/* The text of a string in a buffer of its own. */
static pdr_rc keep_text(pdr_buf *out, const pdr_value *string, pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(ID_MAX);
    pdr_str text = {NULL, 0};
    pdr_rc rc = pdr__value_name_bytes(&text, string, &scratch, err);

    if (rc == PDR_OK)
        rc = pdr_buf_append(out, text, err);
    pdr_buf_dispose(&scratch);
    return rc;
}

/* A member that is a string, or nothing. */
static pdr_rc check_text(const pdr_value *value, const char *path, pdr_err *err)
{
    if (pdr__is_nothing(value) || pdr_value_kind(value) == PDR_STRING)
        return PDR_OK;
    return FAIL_MEMBER(err, SESSION_MEMBER, value, path,
                       "%s of a session is a string or absent, this is %s",
                       path + 1, pdr__kind_phrase(value));
}

/* The id of a durable session. `dotnet`: it must have its prefix. */
static pdr_rc read_durable(pdr_session *s, const char *path, bool dotnet,
                           pdr_err *err)
{
    const pdr_value *id = pdr_value_get_c(s->root, path + 1);
    bool prefixed = false;
    pdr_rc rc = PDR_OK;

    if (id == NULL || pdr_value_kind(id) != PDR_STRING)
        return FAIL_MEMBER(err, SESSION_MEMBER, id, id != NULL ? path : "",
                           "a durable session has its id as a string in %s",
                           path + 1);
    rc = keep_text(&s->durable, id, err);
    if (rc != PDR_OK)
        return rc;
    rc = pdr_durable_id_read(&s->agent, &s->key, &prefixed,
                             pdr_str_n(s->durable.ptr, s->durable.len), err);
    if (rc == PDR_OK && (prefixed || !dotnet))
        return PDR_OK;
    return FAIL_MEMBER(err, SESSION_MEMBER, id, path,
                       "%s of a durable session must be like \"%s\"", path + 1,
                       dotnet ? "@dafx-agent@key" : "@agent@key");
}

/* Ids of a document in the spelling of .NET. */
static pdr_rc read_dotnet(pdr_session *s, pdr_err *err)
{
    const char *member = pdr__kind_service_member(s->kind);
    char path[64];
    pdr_rc rc = PDR_OK;

    if (s->kind == PDR_SESSION_KIND_DURABLE)
        return read_durable(s, "/sessionId", s->shape == PDR_SESSION_DOTNET,
                            err);
    if (s->kind == PDR_SESSION_KIND_A2A)
        rc = check_text(pdr_value_get_c(s->root, "taskId"), "/taskId", err);
    if (member == NULL || rc != PDR_OK)
        return rc;
    (void)snprintf(path, sizeof(path), "/%s", member);
    return check_text(pdr_value_get_c(s->root, member), path, err);
}

static pdr_rc read_python(pdr_session *s, pdr_err *err)
{
    const pdr_value *id = pdr_value_get_c(s->root, "session_id");
    pdr_rc rc = PDR_OK;

    if (id == NULL)
        return FAIL_MEMBER(err, SESSION_MEMBER, s->root, "", "%s",
                           "a Python session has a member session_id, this "
                           "has none");
    if (pdr_value_kind(id) != PDR_STRING)
        return FAIL_MEMBER(err, SESSION_MEMBER, id, "/session_id",
                           "session_id must be a string, this is %s",
                           pdr__kind_phrase(id));
    rc = keep_text(&s->id, id, err);
    if (rc == PDR_OK && s->kind == PDR_SESSION_KIND_DURABLE)
        rc = read_durable(s, "/durable_session_id", false, err);
    return rc;
}

/* The version gate of native documents; `newer`: of a later minor version. */
static pdr_rc gate_native(bool *newer, const pdr_value *own, pdr_err *err)
{
    static const char path[] = "/perdure/version";
    const pdr_value *member = pdr__member(own, "version", PDR_STRING);
    pdr_schema_version version = {{0, 0, 0, 0}, 0};
    char scratch[PDR_SHORT_TEXT], shown[PDR_VERSION_TEXT];
    pdr_str text = {NULL, 0};

    if (!pdr__short_text(&text, scratch, member) ||
        pdr_schema_version_read(&version, text, err) != PDR_OK)
        return FAIL_MEMBER(err, SESSION_MEMBER, member, path, "%s",
                           "the version of a native session must be like "
                           "\"1.0.0\"");
    if (version.parts[0] != 1)
        return FAIL_MEMBER(err, SESSION_VERSION, member, path,
                           "version %s is of another major than 1, which this "
                           "library reads; the document is as it was",
                           pdr__version_text(shown, &version));
    *newer = version.parts[1] > 0;
    return PDR_OK;
}

/* What a native document says in `perdure`. `kind` is what the members tell
 * until then, and stays if nothing is stated. */
static pdr_rc read_native(pdr_session *s, pdr_err *err)
{
    const pdr_value *own = pdr__member(s->root, "perdure", PDR_OBJECT);
    const pdr_value *kind = pdr_value_get_c(own, "kind");
    const pdr_value *id = pdr_value_get_c(own, "id");
    bool newer = false;
    pdr_rc rc = PDR_OK;

    if (own == NULL)
        return FAIL_MEMBER(err, SESSION_MEMBER, s->root, "", "%s",
                           "a native session has an object perdure, this has "
                           "none");
    rc = gate_native(&newer, own, err);
    if (rc != PDR_OK)
        return rc;
    if (!pdr__is_nothing(kind) && !pdr__kind_read(&s->kind, kind) && !newer)
        return FAIL_MEMBER(err, SESSION_MEMBER, kind, "/perdure/kind", "%s",
                           "no kind of sessions that this library knows");
    rc = check_text(id, "/perdure/id", err);
    if (rc == PDR_OK && !pdr__is_nothing(id))
        rc = keep_text(&s->id, id, err);
    return rc == PDR_OK ? read_dotnet(s, err) : rc;
}

/* .NET has no id, but a conversion keeps the one that there was. What else may
 * stand in that place is nothing to us. */
static pdr_rc read_kept_id(pdr_session *s, pdr_err *err)
{
    const pdr_value *own = pdr__member(s->root, "perdure", PDR_OBJECT);
    const pdr_value *id = pdr__member(own, "id", PDR_STRING);
    pdr_rc rc = id != NULL ? keep_text(&s->id, id, err) : PDR_OK;

    return rc == PDR_OK ? read_dotnet(s, err) : rc;
}

static pdr_rc read_ids(pdr_session *s, pdr_err *err)
{
    switch (s->shape) {
    case PDR_SESSION_NATIVE:
        return read_native(s, err);
    case PDR_SESSION_DOTNET:
        return read_kept_id(s, err);
    case PDR_SESSION_PYTHON:
    case PDR_SESSION_PYTHON_OLD:
        return read_python(s, err);
    case PDR_SESSION_DOTNET_THREAD:
    case PDR_SESSION_PYTHON_THREAD:
        break; /* nothing is ever set there, so nothing has to fit */
    }
    return PDR_OK;
}

/* Levels that a slot may have, so that its document can be read again. One of
 * .NET that is too deep for .NET already may stay so. */
static size_t slot_levels(const pdr_session *s)
{
    if (s->shape == PDR_SESSION_DOTNET &&
        (pdr__value_height(s->root) <= PDR_DOTNET_DEPTH ||
         pdr__levels(s->root) <= PDR_DOTNET_DEPTH))
        return PDR_DOTNET_DEPTH - 2;
    return PDR_DEFAULT_DEPTH - 2;
}

static pdr_rc read_bag(pdr_session *s, pdr_err *err)
{
    const pdr_value *bag = NULL;
    bool python = s->names->messages == PDR_SHAPE_PYTHON;
    char path[16];
    pdr_rc rc = PDR_OK;

    if (!s->names->sealed)
        bag = pdr_value_get_c(s->root, s->names->bag);
    (void)snprintf(path, sizeof(path), "/%s", s->names->bag);
    /* Python has no null in this place: its own reader fails. */
    if (bag != NULL && pdr_value_kind(bag) != PDR_OBJECT &&
        (python || pdr_value_kind(bag) != PDR_NULL))
        return FAIL_MEMBER(err, BAG_NOT_OBJECT, bag, path,
                           "%s is the state bag and must be an object, this "
                           "is %s",
                           path + 1, pdr__kind_phrase(bag));
    rc = pdr_bag_from_value(&s->bag, bag, err);
    if (rc != PDR_OK)
        return place_error(err, rc, bag, path);
    pdr__bag_set_levels(s->bag, slot_levels(s));
    s->bag_value = pdr__bag_value_locked(s->bag); /* nobody else has it yet */
    if (s->names->sealed)
        pdr__bag_seal(s->bag, "a session of the time of threads has no bag; "
                              "convert it first");
    return PDR_OK;
}

pdr_rc pdr__session_open(pdr_session **out, const pdr_value *value,
                         pdr_session_shape shape, pdr_session_kind kind,
                         pdr_err *err)
{
    static const pdr_buf no_text = PDR_BUF_INIT(ID_MAX);
    pdr_session *s = NULL;
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (pdr__value_height(value) > PDR_DEFAULT_DEPTH &&
        pdr__session_levels(value) > PDR_DEFAULT_DEPTH)
        return PDR_FAIL(err, TOO_DEEP,
                        "a session may have at most %d levels of objects and "
                        "arrays",
                        PDR_DEFAULT_DEPTH);
    s = pdr__calloc(1, sizeof(*s));
    if (s == NULL)
        return pdr__nomem(err);
    atomic_init(&s->refs, 1);
    s->shape = shape;
    s->kind = kind;
    s->names = pdr__shape_names(shape);
    s->id = no_text;
    s->durable = no_text;
    s->root = pdr_value_ref(value);
    rc = read_ids(s, err);
    if (rc == PDR_OK)
        rc = read_bag(s, err);
    if (rc == PDR_OK) {
        *out = s;
        s = NULL;
    }
    pdr_session_free(s);
    return rc;
}

static pdr_rc check_object(const pdr_value *value, pdr_err *err)
{
    if (pdr_value_kind(value) == PDR_OBJECT)
        return PDR_OK;
    return FAIL_MEMBER(err, SESSION_NOT_OBJECT, value, "",
                       "a session is an object, this is %s",
                       pdr_value_kind(value) == PDR_ARRAY
                           ? pdr_session_looks_text(value)
                           : pdr__kind_phrase(value));
}

pdr_rc pdr_session_from_value(pdr_session **out, const pdr_value *value,
                              pdr_err *err)
{
    pdr_session_shape shape = PDR_SESSION_NATIVE;
    pdr_session_kind kind = PDR_SESSION_KIND_UNSTATED;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && value != NULL);
    *out = NULL;
    rc = check_object(value, err);
    if (rc != PDR_OK)
        return rc;
    if (pdr__session_recognise(&shape, &kind, value))
        return pdr__session_open(out, value, shape, kind, err);
    /* Nearly one of Python: say which member is wrong. */
    if (pdr_value_get_c(value, "session_id") != NULL &&
        pdr_session_looks(value) == PDR_LOOKS_OTHER)
        return pdr__session_open(out, value, PDR_SESSION_PYTHON,
                                 PDR_SESSION_KIND_PYTHON, err);
    return FAIL_MEMBER(err, SESSION_UNKNOWN_SHAPE, value, "",
                       "this is no session that anybody writes; it looks like "
                       "%s",
                       pdr_session_looks_text(value));
}

/* Does the shape have sessions of this kind? */
static bool is_kind_of(pdr_session_shape shape, pdr_session_kind kind)
{
    if (shape == PDR_SESSION_PYTHON)
        return kind == PDR_SESSION_KIND_PYTHON ||
               kind == PDR_SESSION_KIND_DURABLE ||
               kind == PDR_SESSION_KIND_UNSTATED;
    if (shape == PDR_SESSION_DOTNET)
        return kind < PDR_SESSION_KIND_CHAT && kind != PDR_SESSION_KIND_PYTHON;
    return shape == PDR_SESSION_NATIVE && kind <= PDR_SESSION_KIND_CHAT;
}

pdr_rc pdr_session_from_value_as(pdr_session **out, const pdr_value *value,
                                 pdr_session_shape shape, pdr_session_kind kind,
                                 pdr_err *err)
{
    pdr_session_kind told = kind;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && value != NULL);
    *out = NULL;
    if (!is_kind_of(shape, kind))
        return PDR_FAIL(err, SESSION_KIND,
                        "there are no sessions of kind %s in the shape %s",
                        pdr_session_kind_name(kind),
                        pdr_session_shape_name(shape));
    rc = check_object(value, err);
    if (rc != PDR_OK)
        return rc;
    if (kind == PDR_SESSION_KIND_UNSTATED)
        told = pdr__members_kind(value, shape);
    rc = pdr__session_open(out, value, shape, told, err);
    if (rc != PDR_OK || kind == PDR_SESSION_KIND_UNSTATED ||
        (*out)->kind == kind)
        return rc;
    rc = FAIL_MEMBER(
        err, SESSION_MEMBER,
        pdr_value_get_c(pdr_value_get_c(value, "perdure"), "kind"),
        "/perdure/kind", "this is a session of kind %s, not of kind %s",
        pdr_session_kind_name((*out)->kind), pdr_session_kind_name(kind));
    pdr_session_free(*out);
    *out = NULL;
    return rc;
}

/* --- writing ------------------------------------------------------------- */

/* Put the bag into the document, if it changed. The lock is held. */
static pdr_rc join_locked(pdr_session *s, pdr_err *err)
{
    pdr_value *bag = pdr__bag_value_locked(s->bag);
    pdr_value *root = NULL;
    pdr_rc rc = PDR_OK;

    if (bag != s->bag_value &&
        (pdr_value_count(bag) > 0 || pdr_value_count(s->bag_value) > 0)) {
        root = pdr_value_ref(s->root);
        rc = pdr_value_set(&root, pdr_str_c(s->names->bag), bag, err);
    }
    if (rc == PDR_OK && root != NULL) {
        pdr_value *old = s->root;

        s->root = root;
        root = s->bag_value;
        s->bag_value = bag;
        bag = old;
    }
    pdr_value_free(root);
    pdr_value_free(bag);
    return rc;
}

pdr_rc pdr_session_to_value(pdr_value **out, pdr_session *session, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && session != NULL);
    *out = NULL;
    pdr__bag_lock(session->bag);
    rc = join_locked(session, err);
    if (rc == PDR_OK)
        *out = pdr_value_ref(session->root);
    pdr__bag_unlock(session->bag);
    return rc;
}

pdr_session *pdr__session_ref(pdr_session *session)
{
    atomic_fetch_add_explicit(&session->refs, 1, memory_order_relaxed);
    return session;
}

void pdr_session_free(pdr_session *session)
{
    if (session == NULL ||
        atomic_fetch_sub_explicit(&session->refs, 1, memory_order_acq_rel) != 1)
        return;
    pdr_bag_free(session->bag);
    pdr_value_free(session->bag_value);
    pdr_value_free(session->root);
    pdr_buf_dispose(&session->id);
    pdr_buf_dispose(&session->durable);
    pdr__free(session);
}

/* --- what it holds ------------------------------------------------------- */

pdr_session_shape pdr_session_get_shape(const pdr_session *session)
{
    return session->shape;
}

pdr_session_kind pdr_session_get_kind(pdr_session *session)
{
    pdr_session_kind kind = PDR_SESSION_KIND_UNSTATED;

    pdr__bag_lock(session->bag);
    kind = session->kind;
    pdr__bag_unlock(session->bag);
    return kind;
}

pdr_str pdr_session_id(const pdr_session *session)
{
    return pdr_str_n(session->id.ptr, session->id.len);
}

bool pdr_session_durable_id(pdr_str *agent, pdr_str *key,
                            const pdr_session *session)
{
    if (session->durable.len == 0)
        return false;
    if (agent != NULL)
        *agent = session->agent;
    if (key != NULL)
        *key = session->key;
    return true;
}

pdr_bag *pdr_session_bag(pdr_session *session)
{
    return session->bag;
}

/* --- runs ---------------------------------------------------------------- */

bool pdr__session_begin_run(pdr_session *session)
{
    bool was_running = false;

    pdr__bag_lock(session->bag);
    was_running = session->is_running;
    session->is_running = true;
    pdr__bag_unlock(session->bag);
    return !was_running;
}

void pdr__session_end_run(pdr_session *session)
{
    pdr__bag_lock(session->bag);
    session->is_running = false;
    pdr__bag_unlock(session->bag);
}

void pdr__session_swap(pdr_session *one, pdr_session *two)
{
    const pdr_session was = *one;
    pdr_bag *bag = one->bag;

    *one = *two;
    one->bag = bag;
    bag = two->bag;
    *two = was;
    two->bag = bag;
    pdr__bag_swap(one->bag, two->bag);
}
