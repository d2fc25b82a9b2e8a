/*
 * convert_parts.c - the members at the root of a session, from shape to shape.
 *
 * WHY  All shapes say the same few things and each has its own members for
 *      them. So a document is taken apart into what it says, and put together
 *      again with other names; what a shape has no member for stands in its
 *      member `perdure`.
 *
 *                     .NET and native            Python
 *      service id     conversationId, or that    service_session_id
 *                     of the kind; else
 *                     perdure.serviceId
 *      A2A            contextId, taskId,         service_session_id:
 *                     taskState                  {context_id, …}
 *      durable id     sessionId "@dafx-a@k"      durable_session_id "@a@k"
 *      own id         perdure.id                 session_id
 *      kind           told by members, else      told by members, else
 *                     perdure.kind               perdure.kind
 *      sentinel       perdure.historyMode        perdure.historyMode
 *
 * NOT HERE  Whether all of it comes back: convert_note.c finds out.
 */
#include "convert.h"

#define DAFX "dafx-"

bool pdr__value_is_sentinel(const pdr_value *value)
{
    char scratch[PDR_SHORT_TEXT];
    pdr_str text = {NULL, 0};

    return value != NULL && pdr__short_text(&text, scratch, value) &&
           pdr__is_sentinel(text);
}

static bool is_string(const pdr_value *value)
{
    return value != NULL && pdr_value_kind(value) == PDR_STRING;
}

static bool is_python(pdr_session_shape shape)
{
    return shape == PDR_SESSION_PYTHON;
}

static const char *const a2a_python[] = {"context_id", "task_id", "task_state"};

void pdr__parts_dispose(struct parts *parts)
{
    pdr_value_free(parts->id);
    pdr_value_free(parts->service);
    pdr_value_free(parts->durable);
    pdr_value_free(parts->bag);
    pdr_value_free(parts->others);
    pdr_value_free(parts->perdure);
}

/* --- ids ----------------------------------------------------------------- */

/* Take `value` for the id of the service, unless it is none. */
static pdr_rc take_service(struct parts *parts, const pdr_value *value,
                           pdr_err *err)
{
    bool none = true;
    pdr_rc rc = PDR_OK;

    if (parts->service != NULL)
        return PDR_OK;
    if (pdr__value_is_sentinel(value))
        parts->local = true;
    rc = pdr__service_id_is_none(&none, value, err);
    if (rc == PDR_OK && !none)
        parts->service = pdr_value_ref(value);
    return rc;
}

/* The two halves of "@agent@key", without "dafx-"; false if it is none. */
static bool split_durable(pdr_str *agent, pdr_str *key, bool *prefixed,
                          pdr_str text)
{
    size_t dafx = sizeof(DAFX) - 1;
    const char *at = NULL;

    if (text.len < 2 || text.ptr[0] != '@')
        return false;
    *agent = pdr_str_n(text.ptr + 1, text.len - 1);
    at = memchr(agent->ptr, '@', agent->len);
    if (at == NULL)
        return false;
    *key = pdr_str_n(at + 1, (size_t)(text.ptr + text.len - at - 1));
    agent->len = (size_t)(at - agent->ptr);
    *prefixed = agent->len >= dafx;
    for (size_t i = 0; *prefixed && i < dafx; i++)
        *prefixed = (agent->ptr[i] | 0x20) == DAFX[i] || DAFX[i] == '-';
    *prefixed = *prefixed && agent->ptr[dafx - 1] == '-';
    if (*prefixed)
        *agent = pdr_str_n(agent->ptr + dafx, agent->len - dafx);
    return agent->len > 0 && key->len > 0;
}

/* Take a durable id, if it is one. */
static pdr_rc take_durable(struct parts *parts, const pdr_value *value,
                           pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_str text = {NULL, 0}, agent, key;
    bool prefixed = false;
    pdr_rc rc = PDR_OK;

    if (!is_string(value) || pdr_value_has_lone_surrogate(value))
        return PDR_OK;
    rc = pdr_value_text(&text, value, &scratch, err);
    if (rc == PDR_OK && split_durable(&agent, &key, &prefixed, text)) {
        parts->durable = pdr_value_ref(value);
        parts->prefixed = prefixed;
    }
    pdr_buf_dispose(&scratch);
    return rc;
}

/* The durable id as the target spells it: with "dafx-" in .NET. */
static pdr_rc spell_durable(pdr_value **out, const struct parts *parts,
                            bool python, pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_buf made = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_str text = {NULL, 0}, agent, key;
    bool prefixed = false;
    pdr_rc rc = pdr_value_text(&text, parts->durable, &scratch, err);

    if (rc == PDR_OK && split_durable(&agent, &key, &prefixed, text)) {
        const pdr_str pieces[] = {PDR_LIT("@"), pdr_str_c(python ? "" : DAFX),
                                  agent, PDR_LIT("@"), key};

        for (size_t i = 0; rc == PDR_OK && i < PDR_COUNT(pieces); i++)
            rc = pdr_buf_append(&made, pieces[i], err);
    }
    if (rc == PDR_OK)
        rc = pdr_value_new_string(out, pdr_buf_str(&made), err);
    pdr_buf_dispose(&made);
    pdr_buf_dispose(&scratch);
    return rc;
}

/* The members of an A2A session as the object that Python has for them. */
static pdr_rc read_a2a(pdr_value **out, const pdr_value *document, pdr_err *err)
{
    pdr_value *made = pdr_value_new_object();
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; rc == PDR_OK && i < PDR_COUNT(a2a_python); i++) {
        const pdr_value *value = pdr_value_get_c(document, pdr__a2a_members[i]);

        if (!pdr__is_nothing(value))
            rc = pdr__put_member(&made, a2a_python[i], value, err);
    }
    if (rc == PDR_OK && pdr_value_count(made) > 0) {
        *out = made;
        return PDR_OK;
    }
    pdr_value_free(made);
    return rc;
}

/* Can the object stand in the members of an A2A session? */
static bool is_a2a(const pdr_value *object)
{
    size_t found = 0, nulls = 0;

    if (object == NULL || pdr_value_kind(object) != PDR_OBJECT)
        return false;
    for (size_t i = 0; i < PDR_COUNT(a2a_python); i++) {
        const pdr_value *value = pdr_value_get_c(object, a2a_python[i]);

        if (value == NULL)
            continue;
        if (!is_string(value) && pdr_value_kind(value) != PDR_NULL)
            return false;
        nulls += pdr_value_kind(value) == PDR_NULL;
        found++;
    }
    return found > nulls && found == pdr_value_count(object);
}

/* --- reading ------------------------------------------------------------- */

pdr_rc pdr__state_kind(pdr_value **io, pdr_session_kind kind, pdr_err *err)
{
    const pdr_value *has = pdr__member(*io, "perdure", PDR_OBJECT);
    pdr_value *perdure = NULL, *text = NULL;
    pdr_rc rc = PDR_OK;

    if (kind == PDR_SESSION_KIND_UNSTATED || kind == PDR_SESSION_KIND_DURABLE ||
        pdr_value_get_c(has, "kind") != NULL ||
        pdr_value_get_c(has, "historyMode") != NULL ||
        pdr__members_kind(*io, PDR_SESSION_DOTNET) == kind)
        return PDR_OK;
    perdure = has != NULL ? pdr_value_ref(has) : pdr_value_new_object();
    rc = pdr_value_new_string(&text, pdr_str_c(pdr_session_kind_name(kind)),
                              err);
    if (rc == PDR_OK)
        rc = pdr__put_member(&perdure, "kind", text, err);
    if (rc == PDR_OK)
        rc = pdr__with_member_c(io, "perdure", perdure, err);
    pdr_value_free(text);
    pdr_value_free(perdure);
    return rc;
}

const pdr_value *pdr__document_id(const pdr_value *document,
                                  pdr_session_shape shape)
{
    const pdr_value *id =
        is_python(shape)
            ? pdr_value_get_c(document, "session_id")
            : pdr_value_get_c(pdr_value_get_c(document, "perdure"), "id");

    if (!is_string(id) || pdr_value_text_is(id, PDR_LIT("")))
        return NULL;
    return id;
}

/* Names of members that are taken out of the document. */
struct taken {
    const char *names[10];
    size_t count;
};

static void take(struct taken *taken, const char *name)
{
    taken->names[taken->count++] = name;
}

static bool is_taken(const struct taken *taken, const pdr_value *name)
{
    for (size_t i = 0; i < taken->count; i++) {
        if (pdr_value_text_is(name, pdr_str_c(taken->names[i])))
            return true;
    }
    return false;
}

/* All members that are not taken, with their names as they are spelled. */
static pdr_rc copy_rest(pdr_value **out, const pdr_value *object,
                        const struct taken *taken, pdr_err *err)
{
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    *out = pdr_value_new_object();
    pdr_iter_init(&it, object);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        if (!is_taken(taken, it.name))
            rc = pdr__value_add_member(out, it.name, it.value, err);
    }
    return rc;
}

/* What `perdure` says beside that for which there are parts. */
static pdr_rc read_perdure(struct parts *out, const pdr_value *perdure,
                           struct taken *taken, pdr_err *err)
{
    struct taken known = {{"version", "kind", "id", "serviceId", "historyMode"},
                          5};

    if (perdure != NULL)
        take(taken, "perdure");
    if (pdr_value_text_is(pdr_value_get_c(perdure, "historyMode"),
                          PDR_LIT("per-service-call")))
        out->local = true;
    return copy_rest(&out->perdure, perdure, &known, err);
}

static pdr_rc read_bag(struct parts *out, const pdr_value *bag,
                       struct taken *taken, const char *name)
{
    out->bag = bag != NULL ? pdr_value_ref(bag) : pdr_value_new_object();
    take(taken, name);
    return PDR_OK;
}

static pdr_rc read_python(struct parts *out, const pdr_value *document,
                          struct taken *taken, pdr_err *err)
{
    const pdr_value *perdure = pdr__member(document, "perdure", PDR_OBJECT);
    pdr_session_kind stated = PDR_SESSION_KIND_PYTHON;
    pdr_rc rc =
        take_service(out, pdr_value_get_c(document, "service_session_id"), err);

    take(taken, "type");
    take(taken, "session_id");
    take(taken, "service_session_id");
    if (rc == PDR_OK)
        rc = take_durable(out, pdr_value_get_c(document, "durable_session_id"),
                          err);
    if (rc == PDR_OK)
        rc = read_bag(out, pdr__member(document, "state", PDR_OBJECT), taken,
                      "state");
    out->kind = PDR_SESSION_KIND_PYTHON;
    if (out->durable != NULL) {
        out->kind = PDR_SESSION_KIND_DURABLE;
        take(taken, "durable_session_id");
    } else if (pdr__kind_read(&stated, pdr_value_get_c(perdure, "kind")) &&
               stated != PDR_SESSION_KIND_DURABLE) {
        out->kind = stated;
    }
    return rc;
}

/* The kind of a .NET or native document: what it states, unless its members say
 * otherwise. */
static pdr_session_kind dotnet_kind(const pdr_value *document)
{
    const pdr_value *perdure = pdr__member(document, "perdure", PDR_OBJECT);
    pdr_session_kind told = pdr__members_kind(document, PDR_SESSION_DOTNET);
    pdr_session_kind said = told;

    if (told == PDR_SESSION_KIND_DURABLE ||
        !pdr__kind_read(&said, pdr_value_get_c(perdure, "kind")) ||
        said == PDR_SESSION_KIND_DURABLE || said == PDR_SESSION_KIND_UNSTATED)
        return told;
    return said;
}

static void take_a2a(struct taken *taken)
{
    for (size_t i = 0; pdr__a2a_members[i] != NULL; i++)
        take(taken, pdr__a2a_members[i]);
}

static pdr_rc read_dotnet_service(struct parts *out, const pdr_value *document,
                                  struct taken *taken, pdr_err *err)
{
    const pdr_value *perdure = pdr__member(document, "perdure", PDR_OBJECT);
    const char *member = pdr__kind_service_member(out->kind);
    bool a2a = out->kind == PDR_SESSION_KIND_A2A;
    pdr_rc rc = PDR_OK;

    if (out->kind == PDR_SESSION_KIND_PYTHON)
        a2a = pdr__members_kind(document, PDR_SESSION_DOTNET) ==
              PDR_SESSION_KIND_A2A;
    if (a2a) {
        take_a2a(taken);
        rc = read_a2a(&out->service, document, err);
    } else if (member != NULL) {
        take(taken, member);
        rc = take_service(out, pdr_value_get_c(document, member), err);
    }
    if (rc == PDR_OK)
        rc = take_service(out, pdr_value_get_c(perdure, "serviceId"), err);
    return rc;
}

static pdr_rc read_dotnet(struct parts *out, const pdr_value *document,
                          struct taken *taken, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    out->kind = dotnet_kind(document);
    if (out->local && out->kind == PDR_SESSION_KIND_UNSTATED)
        out->kind = PDR_SESSION_KIND_CLIENT; /* no other has such a mode */
    if (out->kind == PDR_SESSION_KIND_DURABLE) {
        rc = take_durable(out, pdr_value_get_c(document, "sessionId"), err);
        if (out->durable != NULL)
            take(taken, "sessionId");
        else
            out->kind = PDR_SESSION_KIND_WORKFLOW; /* as opaque as one */
    }
    if (rc == PDR_OK)
        rc = read_dotnet_service(out, document, taken, err);
    if (rc == PDR_OK)
        rc = read_bag(out, pdr__member(document, "stateBag", PDR_OBJECT), taken,
                      "stateBag");
    return rc;
}

/* Members that a .NET reader looks for. */
static const char *const dotnet_members[] = {
    "stateBag",         "conversationId", "sessionId",
    "contextId",        "taskId",         "taskState",
    "serviceSessionId", "lastCheckpoint", "checkpointManager",
    "pendingRequests",
};

/* The number of the one that it takes the name for; PDR_NONE for others. */
static size_t dotnet_number(const pdr_value *name)
{
    for (size_t i = 0; i < PDR_COUNT(dotnet_members); i++) {
        if (pdr__name_is(name, dotnet_members[i], PDR_SHAPE_DOTNET))
            return i;
    }
    return PDR_NONE;
}

bool pdr__is_odd_name(const pdr_value *name, pdr_session_shape shape)
{
    size_t number = is_python(shape) ? PDR_NONE : dotnet_number(name);

    return number != PDR_NONE &&
           !pdr_value_text_is(name, pdr_str_c(dotnet_members[number]));
}

static bool has_odd_name(const pdr_value *document)
{
    pdr_iter it;

    pdr_iter_init(&it, document);
    while (pdr_iter_next(&it)) {
        if (pdr__is_odd_name(it.name, PDR_SESSION_DOTNET))
            return true;
    }
    return false;
}

/* A .NET document with its names as .NET writes them, each once and with the
 * value that .NET would read. */
static pdr_rc spell_names(pdr_value **out, const pdr_value *document,
                          pdr_err *err)
{
    bool done[PDR_COUNT(dotnet_members)] = {false};
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    *out = pdr_value_new_object();
    pdr_iter_init(&it, document);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        size_t number = dotnet_number(it.name);
        const char *name = NULL;

        if (number == PDR_NONE) {
            rc = pdr__value_add_member(out, it.name, it.value, err);
            continue;
        }
        name = dotnet_members[number];
        if (!done[number])
            rc = pdr__put_member(
                out, name, pdr__find_member(document, name, PDR_SHAPE_DOTNET),
                err);
        done[number] = true;
    }
    return rc;
}

static pdr_rc read_parts(struct parts *out, const pdr_value *document,
                         pdr_session_shape shape, pdr_err *err)
{
    struct taken taken = {{NULL}, 0};
    pdr_rc rc = read_perdure(out, pdr__member(document, "perdure", PDR_OBJECT),
                             &taken, err);

    if (rc == PDR_OK)
        rc = is_python(shape) ? read_python(out, document, &taken, err)
                              : read_dotnet(out, document, &taken, err);
    if (rc == PDR_OK)
        out->id = pdr_value_ref(pdr__document_id(document, shape));
    return rc == PDR_OK ? copy_rest(&out->others, document, &taken, err) : rc;
}

pdr_rc pdr__parts_read(struct parts *out, const pdr_value *document,
                       pdr_session_shape shape, pdr_err *err)
{
    pdr_value *spelled = NULL;
    pdr_rc rc = PDR_OK;

    memset(out, 0, sizeof(*out));
    if (shape != PDR_SESSION_DOTNET || !has_odd_name(document))
        return read_parts(out, document, shape, err);
    rc = spell_names(&spelled, document, err);
    if (rc == PDR_OK)
        rc = read_parts(out, spelled, shape, err);
    pdr_value_free(spelled);
    return rc;
}

/* --- writing ------------------------------------------------------------- */

struct writing {
    pdr_value *root;    /* owned */
    pdr_value *perdure; /* owned */
    const struct parts *parts;
    struct session_trip trip;
    struct finder *finder;
};

/* Names that a member of the source cannot have in the target: it reads them as
 * something else, or the document would be taken for another. */
static const char *const python_names[] = {
    "type",
    "session_id",
    "service_session_id",
    "state",
    "durable_session_id",
    "version",
    "stateBag",
    "perdure",
};
static const char *const dotnet_names[] = {
    "stateBag",         "conversationId", "sessionId",
    "contextId",        "taskId",         "taskState",
    "serviceSessionId", "lastCheckpoint", "checkpointManager",
    "pendingRequests",  "schemaVersion",  "messages",
    "contents",         "session_id",     "perdure",
};
/* Those that a workflow session has as its own. */
static const char *const workflow_names[] = {
    "sessionId", "lastCheckpoint", "checkpointManager", "pendingRequests"};

/* Is the name in the list, as a reader of the shape takes it? */
static bool is_in(const pdr_value *name, const char *const *list, size_t count,
                  pdr_shape shape)
{
    for (size_t i = 0; i < count; i++) {
        if (pdr__name_is(name, list[i], shape))
            return true;
    }
    return false;
}

static bool has_meaning(const struct writing *w, const pdr_value *name)
{
    if (is_python(w->trip.to))
        return is_in(name, python_names, PDR_COUNT(python_names),
                     PDR_SHAPE_PYTHON);
    if (w->parts->kind == PDR_SESSION_KIND_WORKFLOW &&
        is_in(name, workflow_names, PDR_COUNT(workflow_names),
              PDR_SHAPE_PYTHON))
        return false;
    return is_in(name, dotnet_names, PDR_COUNT(dotnet_names), PDR_SHAPE_DOTNET);
}

static pdr_rc put_string(pdr_value **io, const char *name, const char *text,
                         pdr_err *err)
{
    pdr_value *value = NULL;
    pdr_rc rc = pdr_value_new_string(&value, pdr_str_c(text), err);

    if (rc == PDR_OK)
        rc = pdr__put_member(io, name, value, err);
    pdr_value_free(value);
    return rc;
}

/* Tell of a member of the source, as the source calls it. */
static pdr_rc tell_at(struct writing *w, const char *name, const char *rule,
                      pdr_severity severity, const char *text, pdr_err *err)
{
    size_t mark = pdr__finder_name(w->finder, pdr_str_c(name));
    pdr_rc rc = pdr__finder_tell(w->finder, rule, severity, err, "%s", text);

    pdr__finder_up(w->finder, mark);
    return rc;
}

static pdr_rc put_others(struct writing *w, pdr_err *err)
{
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, w->parts->others);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        size_t mark = 0;

        if (!has_meaning(w, it.name)) {
            rc = pdr__value_add_member(&w->root, it.name, it.value, err);
            continue;
        }
        rc = pdr__finder_member(&mark, w->finder, it.name, err);
        if (rc != PDR_OK)
            break;
        rc = pdr__finder_tell(
            w->finder, "member-aside", PDR_SEVERITY_INFO, err, "%s",
            "its name means something else in the target, so it is kept in "
            "the member perdure, from where it comes back");
        pdr__finder_up(w->finder, mark);
    }
    return rc;
}

static pdr_rc put_durable(struct writing *w, const char *name, bool python,
                          pdr_err *err)
{
    pdr_value *durable = NULL;
    pdr_rc rc = PDR_OK;

    if (w->parts->durable == NULL)
        return PDR_OK;
    rc = spell_durable(&durable, w->parts, python, err);
    if (rc == PDR_OK)
        rc = pdr__put_member(&w->root, name, durable, err);
    pdr_value_free(durable);
    return rc;
}

/* The member that holds the service id of the source. */
static const char *service_source(const struct writing *w)
{
    const char *member = pdr__kind_service_member(w->parts->kind);

    if (is_python(w->trip.from))
        return "service_session_id";
    return member != NULL ? member : "perdure";
}

/* Can a .NET session of this kind hold the service id in a member? */
static const char *dotnet_member(const struct parts *parts)
{
    const char *member = pdr__kind_service_member(parts->kind);

    if (member == NULL || !is_string(parts->service) ||
        parts->kind == PDR_SESSION_KIND_A2A)
        return NULL;
    if (parts->kind == PDR_SESSION_KIND_GITHUB_COPILOT &&
        pdr__text_begins(parts->service, "@" DAFX))
        return NULL; /* would be taken for a durable session */
    return member;
}

static pdr_rc put_a2a(struct writing *w, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; rc == PDR_OK && i < PDR_COUNT(a2a_python); i++) {
        const pdr_value *value =
            pdr_value_get_c(w->parts->service, a2a_python[i]);

        if (!pdr__is_nothing(value))
            rc = pdr__put_member(&w->root, pdr__a2a_members[i], value, err);
    }
    return rc;
}

static pdr_rc put_dotnet_service(struct writing *w, pdr_err *err)
{
    const struct parts *parts = w->parts;
    const char *member = dotnet_member(parts);
    pdr_rc rc = PDR_OK;

    if (parts->service == NULL)
        return PDR_OK;
    if (member != NULL)
        return pdr__put_member(&w->root, member, parts->service, err);
    if ((parts->kind == PDR_SESSION_KIND_A2A ||
         parts->kind == PDR_SESSION_KIND_PYTHON) &&
        is_a2a(parts->service))
        return put_a2a(w, err);
    rc = pdr__put_member(&w->perdure, "serviceId", parts->service, err);
    if (rc != PDR_OK || w->trip.to == PDR_SESSION_NATIVE ||
        !is_python(w->trip.from))
        return rc;
    return tell_at(w, service_source(w), "service-id", PDR_SEVERITY_WARNING,
                   "a .NET session of this kind has no member for such a "
                   "service id: it is kept in perdure.serviceId, and .NET "
                   "programs do not go on with that conversation",
                   err);
}

/* Can the kind be told from what stands in the root? */
static bool is_told(const struct writing *w)
{
    pdr_session_kind kind = w->parts->kind;

    if (w->trip.to == PDR_SESSION_PYTHON)
        return kind == PDR_SESSION_KIND_PYTHON ||
               kind == PDR_SESSION_KIND_DURABLE;
    if (w->parts->local && kind == PDR_SESSION_KIND_CLIENT)
        return w->trip.to == PDR_SESSION_DOTNET;
    return w->trip.to == PDR_SESSION_DOTNET &&
           pdr__members_kind(w->root, PDR_SESSION_DOTNET) == kind;
}

static pdr_rc put_kind(struct writing *w, pdr_err *err)
{
    return is_told(w) ? PDR_OK
                      : put_string(&w->perdure, "kind",
                                   pdr_session_kind_name(w->parts->kind), err);
}

/* What goes on of `perdure`, behind what we put there. */
static pdr_rc put_rest(struct writing *w, pdr_err *err)
{
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (w->parts->local)
        rc = put_string(&w->perdure, "historyMode", "per-service-call", err);
    pdr_iter_init(&it, w->parts->perdure);
    while (rc == PDR_OK && pdr_iter_next(&it))
        rc = pdr__value_add_member(&w->perdure, it.name, it.value, err);
    return rc;
}

static pdr_rc tell_kind(struct writing *w, pdr_err *err)
{
    pdr_session_kind kind = w->parts->kind;

    if (is_python(w->trip.to) && kind == PDR_SESSION_KIND_WORKFLOW)
        return pdr__finder_tell(
            w->finder, "kind", PDR_SEVERITY_WARNING, err, "%s",
            "a workflow session needs its workflow in .NET to go on; Python "
            "does not know what it holds");
    if (is_python(w->trip.to) && (kind == PDR_SESSION_KIND_COPILOT_STUDIO ||
                                  kind == PDR_SESSION_KIND_GITHUB_COPILOT))
        return pdr__finder_tell(
            w->finder, "kind", PDR_SEVERITY_INFO, err,
            "Python has no session of the kind %s: the kind is kept in "
            "perdure.kind, its id is the service id",
            pdr_session_kind_name(kind));
    return PDR_OK;
}

static pdr_rc write_python(struct writing *w, pdr_err *err)
{
    const struct parts *parts = w->parts;
    pdr_value *null = pdr_value_new_null();
    pdr_rc rc = put_string(&w->root, "type", "session", err);

    if (rc == PDR_OK && parts->id != NULL)
        rc = pdr__put_member(&w->root, "session_id", parts->id, err);
    if (rc == PDR_OK)
        rc = pdr__put_member(&w->root, "service_session_id",
                             parts->service != NULL ? parts->service : null,
                             err);
    if (rc == PDR_OK)
        rc = pdr__put_member(&w->root, "state", parts->bag, err);
    if (rc == PDR_OK)
        rc = put_durable(w, "durable_session_id", true, err);
    if (rc == PDR_OK)
        rc = put_others(w, err);
    if (rc == PDR_OK)
        rc = put_kind(w, err);
    if (rc == PDR_OK)
        rc = put_rest(w, err);
    if (rc == PDR_OK && pdr_value_count(w->perdure) > 0)
        rc = pdr__put_member(&w->root, "perdure", w->perdure, err);
    pdr_value_free(null);
    return rc;
}

/* `perdure` first, and the rest of the root behind it. */
static pdr_rc put_first(struct writing *w, pdr_err *err)
{
    pdr_value *made = pdr_value_new_object();
    pdr_iter it;
    pdr_rc rc = pdr__put_member(&made, "perdure", w->perdure, err);

    pdr_iter_init(&it, w->root);
    while (rc == PDR_OK && pdr_iter_next(&it))
        rc = pdr__value_add_member(&made, it.name, it.value, err);
    if (rc != PDR_OK) {
        pdr_value_free(made);
        return rc;
    }
    pdr_value_free(w->root);
    w->root = made;
    return PDR_OK;
}

/* The head of a native document, before anything else of `perdure`. */
static pdr_rc put_head(struct writing *w, bool native, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (native)
        rc = put_string(&w->perdure, "version", PDR_SESSION_VERSION, err);
    if (rc == PDR_OK)
        rc = put_kind(w, err);
    if (rc == PDR_OK && w->parts->id != NULL)
        rc = pdr__put_member(&w->perdure, "id", w->parts->id, err);
    return rc;
}

static pdr_rc write_dotnet(struct writing *w, pdr_err *err)
{
    bool native = w->trip.to == PDR_SESSION_NATIVE;
    pdr_value *service = NULL;
    pdr_rc rc = put_dotnet_service(w, err);

    /* The id of a service stands behind the head. */
    service = pdr_value_ref(pdr_value_get_c(w->perdure, "serviceId"));
    pdr_value_free(w->perdure);
    w->perdure = pdr_value_new_object();
    if (rc == PDR_OK)
        rc = put_durable(w, "sessionId", false, err);
    if (rc == PDR_OK)
        rc = pdr__put_member(&w->root, "stateBag", w->parts->bag, err);
    if (rc == PDR_OK)
        rc = put_others(w, err);
    if (rc == PDR_OK)
        rc = put_head(w, native, err);
    if (rc == PDR_OK && service != NULL)
        rc = pdr__put_member(&w->perdure, "serviceId", service, err);
    if (rc == PDR_OK)
        rc = put_rest(w, err);
    if (rc == PDR_OK && native)
        rc = put_first(w, err);
    else if (rc == PDR_OK && pdr_value_count(w->perdure) > 0)
        rc = pdr__put_member(&w->root, "perdure", w->perdure, err);
    pdr_value_free(service);
    return rc;
}

pdr_rc pdr__parts_write(pdr_value **out, const struct parts *parts,
                        struct session_trip trip, struct finder *finder,
                        pdr_err *err)
{
    struct parts now = *parts; /* shares all that it holds */
    struct writing w = {pdr_value_new_object(), pdr_value_new_object(), &now,
                        trip, finder};
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (now.kind == PDR_SESSION_KIND_UNSTATED && now.service != NULL)
        now.kind = PDR_SESSION_KIND_CLIENT; /* the first id decides */
    rc = tell_kind(&w, err);
    if (rc == PDR_OK)
        rc = is_python(trip.to) ? write_python(&w, err) : write_dotnet(&w, err);
    pdr_value_free(w.perdure);
    if (rc == PDR_OK)
        *out = w.root;
    else
        pdr_value_free(w.root);
    return rc;
}
