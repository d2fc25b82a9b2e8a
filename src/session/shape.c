/*
 * shape.c - which document is this? Told by names and kinds of its members.
 *
 * WHY  Six programs write sessions, none of them says so in the document, and
 *      what is close to a session (a bag, a response, a history) is handed over
 *      by mistake. So all that is known about names stands here, in one table
 *      and one order of questions, and whoever refuses a document can say what
 *      it looks like instead.
 *
 * INVARIANTS
 *   R1  One pass over the members of the first level, no memory. Of several
 *       members with one name, the last counts, as everywhere.
 *   R2  The order of the questions is the rule: what comes first wins. A
 *       document that was recognised once is recognised the same for ever,
 *       so a new question goes behind the others.
 *   R3  What a bag, a message or an unknown member holds decides nothing.
 */
#include "shape.h"

/* One row per name that tells something: how it is called here, its spelling,
 * and whether it tells a session: OWN if no other document has it at its root,
 * SHARED if others do. */
#define MARK_MAP(X)                                          \
    X(SCHEMA_VERSION, "schemaVersion", SHARED)               \
    X(DATA, "data", SHARED)                                  \
    X(SESSION, "session", SHARED)                            \
    X(PROPERTIES, "additionalProperties", SHARED)            \
    X(PERDURE, "perdure", OWN)                               \
    X(STATE_BAG, "stateBag", OWN)                            \
    X(CONVERSATION_ID, "conversationId", OWN)                \
    X(SESSION_ID, "sessionId", OWN)                          \
    X(CONTEXT_ID, "contextId", OWN)                          \
    X(TASK_ID, "taskId", OWN)                                \
    X(TASK_STATE, "taskState", OWN)                          \
    X(SERVICE_SESSION_ID, "serviceSessionId", OWN)           \
    X(LAST_CHECKPOINT, "lastCheckpoint", OWN)                \
    X(CHECKPOINT_MANAGER, "checkpointManager", OWN)          \
    X(PENDING_REQUESTS, "pendingRequests", OWN)              \
    X(STORE_STATE, "storeState", OWN)                        \
    X(HISTORY_STATE, "chatHistoryProviderState", OWN)        \
    X(CONTEXT_STATE, "aiContextProviderState", OWN)          \
    X(TYPE, "type", SHARED)                                  \
    X(PYTHON_ID, "session_id", OWN)                          \
    X(PYTHON_SERVICE_ID, "service_session_id", OWN)          \
    X(PYTHON_STATE, "state", SHARED)                         \
    X(PYTHON_DURABLE_ID, "durable_session_id", OWN)          \
    X(PYTHON_THREAD_ID, "service_thread_id", OWN)            \
    X(PYTHON_STORE_STATE, "chat_message_store_state", OWN)   \
    X(VERSION, "version", SHARED)                            \
    X(MESSAGES, "messages", SHARED)                          \
    X(CONTENTS, "contents", SHARED)                          \
    X(ROLE, "role", SHARED)                                  \
    X(AGENT_ID, "agentId", SHARED)                           \
    X(RESPONSE_ID, "responseId", SHARED)                     \
    X(MODEL_ID, "modelId", SHARED)                           \
    X(TOKEN, "continuationToken", SHARED)                    \
    X(INNER_TOKEN, "innerToken", SHARED)                     \
    X(PASCAL_MESSAGES, "Messages", SHARED)                   \
    X(PASCAL_CONTENTS, "Contents", SHARED)                   \
    X(PASCAL_STATE_BAG, "StateBag", SHARED)                  \
    X(DOTNET_HISTORY, "InMemoryChatHistoryProvider", SHARED) \
    X(PYTHON_HISTORY, "in_memory", SHARED)

enum mark {
#define MARK_ENUM(name, text, tells) MARK_##name,
    MARK_MAP(MARK_ENUM)
#undef MARK_ENUM
        MARK_COUNT
};

struct mark_row {
    pdr_str text;
    enum { SHARED, OWN } tells;
};

static const struct mark_row mark_rows[MARK_COUNT] = {
#define MARK_ROW(name, text, tells) {{text, sizeof(text) - 1}, tells},
    MARK_MAP(MARK_ROW)
#undef MARK_ROW
};

/* What one pass over the members found. */
struct marks {
    const pdr_value *at[MARK_COUNT]; /* borrowed; NULL if there is none */
    size_t others;                   /* members that are not in the table */
};

/* What a value is, finer than pdr_looks. */
enum looks {
    IS_NULL,
    IS_SCALAR,
    IS_EMPTY_ARRAY,
    IS_ARRAY,
    IS_OBJECT,
    IS_BAG,
    IS_HALF_STATE,
    IS_STATE,
    IS_WRAPPER,
    IS_WRAPPERS,
    IS_SESSION,
    IS_LIST,
    IS_MAP,
    IS_HALF_PYTHON,
    IS_PASCAL_SESSION,
    IS_MESSAGE,
    IS_UPDATE,
    IS_HISTORY,
    IS_AGENT_RESPONSE,
    IS_CHAT_RESPONSE,
    IS_PASCAL_MESSAGE,
    IS_MESSAGE_LIST,
    IS_UPDATE_LIST,
    IS_RESPONSE_LIST,
    IS_PASCAL_LIST,
    IS_TOKEN
};

static const struct looks_row {
    pdr_looks looks;
    const char *text;
} looks_rows[] = {
    [IS_NULL] = {PDR_LOOKS_OTHER, "null"},
    [IS_SCALAR] = {PDR_LOOKS_OTHER, "a single text, number or boolean"},
    [IS_EMPTY_ARRAY] = {PDR_LOOKS_OTHER, "an empty array"},
    [IS_ARRAY] = {PDR_LOOKS_OTHER, "an array without any session"},
    [IS_OBJECT] = {PDR_LOOKS_OTHER, "an object with other members, perhaps a "
                                    "state bag without its session"},
    [IS_BAG] = {PDR_LOOKS_OTHER, "a state bag without its session"},
    [IS_HALF_STATE] = {PDR_LOOKS_OTHER, "a durable state document that lacks "
                                        "its schemaVersion"},
    [IS_STATE] = {PDR_LOOKS_STATE, "a durable state document"},
    [IS_WRAPPER] = {PDR_LOOKS_WRAPPER, "a session with metadata"},
    [IS_WRAPPERS] = {PDR_LOOKS_WRAPPERS, "a list of sessions with metadata"},
    [IS_SESSION] = {PDR_LOOKS_SESSION, "a session"},
    [IS_LIST] = {PDR_LOOKS_LIST, "a list of sessions"},
    [IS_MAP] = {PDR_LOOKS_MAP, "an object of sessions"},
    [IS_HALF_PYTHON] = {PDR_LOOKS_OTHER,
                        "a Python session without the text session_id"},
    [IS_PASCAL_SESSION] = {PDR_LOOKS_OTHER,
                           "a .NET session with names in PascalCase"},
    [IS_MESSAGE] = {PDR_LOOKS_MESSAGES, "a message"},
    [IS_UPDATE] = {PDR_LOOKS_MESSAGES, "a response update"},
    [IS_HISTORY] = {PDR_LOOKS_MESSAGES, "a history of messages"},
    [IS_AGENT_RESPONSE] = {PDR_LOOKS_MESSAGES, "an agent response"},
    [IS_CHAT_RESPONSE] = {PDR_LOOKS_MESSAGES, "a chat response"},
    [IS_PASCAL_MESSAGE] = {PDR_LOOKS_MESSAGES,
                           "messages with names in PascalCase"},
    [IS_MESSAGE_LIST] = {PDR_LOOKS_MESSAGES, "a list of messages"},
    [IS_UPDATE_LIST] = {PDR_LOOKS_MESSAGES, "a list of response updates"},
    [IS_RESPONSE_LIST] = {PDR_LOOKS_MESSAGES, "a list of responses"},
    [IS_PASCAL_LIST] = {PDR_LOOKS_MESSAGES,
                        "a list of messages with names in PascalCase"},
    [IS_TOKEN] = {PDR_LOOKS_TOKEN, "the inside of a continuation token"},
};

/* --- texts --------------------------------------------------------------- */

/* The next byte of a string's text that is ASCII; -1 at the end or for another.
 * Escapes are decoded one at a time, so no memory is needed. */
static int next_ascii(const char **p, const char *end)
{
    uint32_t info = 0;
    char decoded[12];
    size_t len = 0;

    if (*p == end)
        return -1;
    if (**p != '\\') {
        int c = (unsigned char)*(*p)++;

        return c < 0x80 ? c : -1;
    }
    len = pdr__text_escape_len(*p, end, &info);
    if (pdr__text_decode(decoded, pdr_str_n(*p, len)) != 1)
        return -1;
    *p += len;
    return decoded[0];
}

bool pdr__text_begins(const pdr_value *string, const char *prefix)
{
    pdr_str inner = {NULL, 0};
    const char *p = NULL;

    if (string == NULL || pdr_value_kind(string) != PDR_STRING)
        return false;
    inner = string_inner(string);
    p = inner.ptr;
    for (; *prefix != '\0'; prefix++) {
        int c = next_ascii(&p, inner.ptr + inner.len);

        if (c < 0 || pdr__ascii_lower((char)c) != pdr__ascii_lower(*prefix))
            return false;
    }
    return true;
}

/* --- tables -------------------------------------------------------------- */

#define DOTNET_HISTORY "InMemoryChatHistoryProvider"
#define PYTHON_HISTORY "in_memory"

static const struct shape_names shapes[] = {
    [PDR_SESSION_NATIVE] = {"native", "stateBag", DOTNET_HISTORY,
                            PDR_SHAPE_DOTNET, false},
    [PDR_SESSION_DOTNET] = {"dotnet", "stateBag", DOTNET_HISTORY,
                            PDR_SHAPE_DOTNET, false},
    [PDR_SESSION_PYTHON] = {"python", "state", PYTHON_HISTORY, PDR_SHAPE_PYTHON,
                            false},
    [PDR_SESSION_PYTHON_OLD] = {"python-1.21", "state", PYTHON_HISTORY,
                                PDR_SHAPE_PYTHON, false},
    [PDR_SESSION_DOTNET_THREAD] = {"dotnet-thread", "stateBag", DOTNET_HISTORY,
                                   PDR_SHAPE_DOTNET, true},
    [PDR_SESSION_PYTHON_THREAD] = {"python-thread", "state", PYTHON_HISTORY,
                                   PDR_SHAPE_PYTHON, true},
};

const struct shape_names *pdr__shape_names(pdr_session_shape shape)
{
    return (size_t)shape < PDR_COUNT(shapes) ? &shapes[shape] : NULL;
}

const char *pdr_session_shape_name(pdr_session_shape shape)
{
    const struct shape_names *names = pdr__shape_names(shape);

    return names != NULL ? names->name : "?";
}

static const char *const kinds[] = {
#define KIND_NAME(name, text) text,
    PDR_SESSION_KIND_MAP(KIND_NAME)
#undef KIND_NAME
};

const char *pdr_session_kind_name(pdr_session_kind kind)
{
    return (size_t)kind < PDR_COUNT(kinds) ? kinds[kind] : "?";
}

bool pdr__kind_read(pdr_session_kind *out, const pdr_value *text)
{
    for (size_t i = 0; i < PDR_COUNT(kinds); i++) {
        if (pdr_value_text_is(text, pdr_str_c(kinds[i]))) {
            *out = (pdr_session_kind)i;
            return true;
        }
    }
    return false;
}

const char *const pdr__a2a_members[] = {"contextId", "taskId", "taskState",
                                        NULL};

const char *pdr__kind_service_member(pdr_session_kind kind)
{
    switch (kind) {
    case PDR_SESSION_KIND_UNSTATED:
    case PDR_SESSION_KIND_CLIENT:
    case PDR_SESSION_KIND_PYTHON:
        return "conversationId";
    case PDR_SESSION_KIND_A2A:
        return "contextId";
    case PDR_SESSION_KIND_COPILOT_STUDIO:
        return "serviceSessionId";
    case PDR_SESSION_KIND_GITHUB_COPILOT:
        return "sessionId";
    case PDR_SESSION_KIND_DURABLE:
    case PDR_SESSION_KIND_WORKFLOW:
    case PDR_SESSION_KIND_CHAT:
        break;
    }
    return NULL;
}

/* --- one object ---------------------------------------------------------- */

static bool find_mark(size_t *out, const pdr_value *name)
{
    for (size_t i = 0; i < MARK_COUNT; i++) {
        if (string_is(name, mark_rows[i].text)) {
            *out = i;
            return true;
        }
    }
    return false;
}

bool pdr__is_known_name(const pdr_value *name)
{
    size_t mark = 0;

    return find_mark(&mark, name);
}

bool pdr__is_session_name(const pdr_value *name)
{
    size_t mark = 0;

    return find_mark(&mark, name) && mark_rows[mark].tells == OWN;
}

bool pdr__is_root_name(const pdr_value *name)
{
    size_t mark = 0;

    return find_mark(&mark, name) &&
           (mark_rows[mark].tells == OWN || mark == MARK_SCHEMA_VERSION);
}

void pdr__seen_add(struct seen *s, const pdr_value *name)
{
    size_t mark = MARK_COUNT;

    (void)find_mark(&mark, name);
    s->at_session = mark == MARK_SESSION;
    s->is_session =
        s->is_session || (mark < MARK_COUNT && mark_rows[mark].tells == OWN);
    s->has_version = s->has_version || mark == MARK_SCHEMA_VERSION;
    s->has_data = s->has_data || mark == MARK_DATA;
    s->has_others =
        s->has_others || (mark != MARK_SESSION && mark != MARK_PROPERTIES);
}

bool pdr__seen_tells(const struct seen *s)
{
    return s->is_session || (s->has_version && s->has_data);
}

static void read_marks(struct marks *out, const pdr_value *object)
{
    pdr_iter it;

    memset(out, 0, sizeof(*out));
    pdr_iter_init(&it, object);
    while (pdr_iter_next(&it)) {
        size_t mark = 0;

        if (find_mark(&mark, it.name))
            out->at[mark] = it.value;
        else
            out->others++;
    }
}

/* Is there such a member? */
static bool has(const struct marks *m, enum mark mark)
{
    return m->at[mark] != NULL;
}

static bool has_kind(const struct marks *m, enum mark mark, pdr_kind kind)
{
    return has(m, mark) && pdr_value_kind(m->at[mark]) == kind;
}

static bool type_is(const struct marks *m, const char *text)
{
    return pdr_value_text_is(m->at[MARK_TYPE], pdr_str_c(text));
}

/* Are these all members that there are? */
static bool only(const struct marks *m, enum mark a, enum mark b)
{
    for (size_t i = 0; i < MARK_COUNT; i++) {
        if (m->at[i] != NULL && i != (size_t)a && i != (size_t)b)
            return false;
    }
    return m->others == 0;
}

/* A response, a history, a message or an update? */
static bool is_messages(const struct marks *m)
{
    return (has_kind(m, MARK_MESSAGES, PDR_ARRAY) ||
            has_kind(m, MARK_CONTENTS, PDR_ARRAY)) &&
           !has(m, MARK_PYTHON_ID);
}

static enum looks which_messages(const struct marks *m)
{
    if (has(m, MARK_MESSAGES)) {
        if (type_is(m, "chat_response") || has(m, MARK_MODEL_ID))
            return IS_CHAT_RESPONSE;
        if (type_is(m, "agent_response") || has(m, MARK_AGENT_ID) ||
            has(m, MARK_RESPONSE_ID))
            return IS_AGENT_RESPONSE;
        return IS_HISTORY;
    }
    if (type_is(m, "agent_response_update") ||
        type_is(m, "chat_response_update") || has(m, MARK_AGENT_ID) ||
        has(m, MARK_RESPONSE_ID) || has(m, MARK_TOKEN) || !has(m, MARK_ROLE))
        return IS_UPDATE;
    return IS_MESSAGE;
}

/* Has an object a member of this name and kind? Without an index, which takes
 * memory. */
static bool has_member(const pdr_value *object, pdr_str name, pdr_kind kind)
{
    bool found = false;
    pdr_iter it;

    pdr_iter_init(&it, object);
    while (pdr_iter_next(&it)) {
        if (string_is(it.name, name))
            found = pdr_value_kind(it.value) == kind;
    }
    return found;
}

static bool is_native(const struct marks *m)
{
    return has_kind(m, MARK_PERDURE, PDR_OBJECT) && !has(m, MARK_PYTHON_ID) &&
           has_member(m->at[MARK_PERDURE], PDR_LIT("version"), PDR_STRING);
}

static bool is_python_thread(const struct marks *m)
{
    return !has(m, MARK_PYTHON_ID) && !has(m, MARK_STATE_BAG) &&
           (type_is(m, "agent_thread_state") || has(m, MARK_PYTHON_THREAD_ID) ||
            has(m, MARK_PYTHON_STORE_STATE));
}

static bool is_dotnet_thread(const struct marks *m)
{
    return !has(m, MARK_STATE_BAG) &&
           (has(m, MARK_STORE_STATE) || has(m, MARK_HISTORY_STATE) ||
            has(m, MARK_CONTEXT_STATE));
}

/* The kind of a document in .NET's spelling; unstated also if no member tells.
 */
static pdr_session_kind dotnet_kind(const struct marks *m)
{
    if (pdr__text_begins(m->at[MARK_SESSION_ID], "@dafx-"))
        return PDR_SESSION_KIND_DURABLE;
    if (has(m, MARK_CONTEXT_ID) || has(m, MARK_TASK_ID) ||
        has(m, MARK_TASK_STATE))
        return PDR_SESSION_KIND_A2A;
    if (has(m, MARK_SERVICE_SESSION_ID))
        return PDR_SESSION_KIND_COPILOT_STUDIO;
    if (has(m, MARK_LAST_CHECKPOINT) || has(m, MARK_CHECKPOINT_MANAGER) ||
        has(m, MARK_PENDING_REQUESTS))
        return PDR_SESSION_KIND_WORKFLOW;
    if (has(m, MARK_SESSION_ID) && has(m, MARK_STATE_BAG))
        return PDR_SESSION_KIND_GITHUB_COPILOT;
    if (has(m, MARK_CONVERSATION_ID))
        return PDR_SESSION_KIND_CLIENT;
    return PDR_SESSION_KIND_UNSTATED;
}

static pdr_session_kind python_kind(const struct marks *m)
{
    return pdr__is_nothing(m->at[MARK_PYTHON_DURABLE_ID])
               ? PDR_SESSION_KIND_PYTHON
               : PDR_SESSION_KIND_DURABLE;
}

pdr_session_kind pdr__members_kind(const pdr_value *object,
                                   pdr_session_shape shape)
{
    struct marks m;

    read_marks(&m, object);
    return shape == PDR_SESSION_PYTHON ? python_kind(&m) : dotnet_kind(&m);
}

/* A session, by what tells it; what goes before was asked. */
static bool recognise(pdr_session_shape *shape, pdr_session_kind *kind,
                      const struct marks *m, size_t count)
{
    *shape = PDR_SESSION_DOTNET;
    *kind = dotnet_kind(m);
    if (is_native(m)) {
        *shape = PDR_SESSION_NATIVE;
        return true;
    }
    if (is_messages(m))
        return false;
    if (has_kind(m, MARK_PYTHON_ID, PDR_STRING) && !has(m, MARK_STATE_BAG)) {
        *shape = PDR_SESSION_PYTHON;
        *kind = python_kind(m);
        return true;
    }
    if (is_python_thread(m)) {
        *shape = PDR_SESSION_PYTHON_THREAD;
        *kind = PDR_SESSION_KIND_PYTHON;
        return true;
    }
    if (*kind == PDR_SESSION_KIND_DURABLE || *kind == PDR_SESSION_KIND_A2A ||
        *kind == PDR_SESSION_KIND_COPILOT_STUDIO ||
        *kind == PDR_SESSION_KIND_WORKFLOW)
        return true;
    if (is_dotnet_thread(m)) {
        *shape = PDR_SESSION_DOTNET_THREAD;
        *kind = PDR_SESSION_KIND_CLIENT;
        return true;
    }
    return *kind != PDR_SESSION_KIND_UNSTATED || has(m, MARK_STATE_BAG) ||
           count == 0;
}

static bool is_state(const struct marks *m)
{
    return has(m, MARK_SCHEMA_VERSION) && has(m, MARK_DATA);
}

static bool is_wrapper(const struct marks *m)
{
    return has_kind(m, MARK_SESSION, PDR_OBJECT) &&
           only(m, MARK_SESSION, MARK_PROPERTIES);
}

bool pdr__session_recognise(pdr_session_shape *shape, pdr_session_kind *kind,
                            const pdr_value *value)
{
    struct marks m;

    if (value == NULL || pdr_value_kind(value) != PDR_OBJECT)
        return false;
    read_marks(&m, value);
    return !is_state(&m) && !is_wrapper(&m) &&
           recognise(shape, kind, &m, pdr_value_count(value));
}

/* --- any value ----------------------------------------------------------- */

/* What an object is that is no session; `m` are its marks. */
static enum looks which_other(const struct marks *m)
{
    if (has_kind(m, MARK_PASCAL_MESSAGES, PDR_ARRAY) ||
        has_kind(m, MARK_PASCAL_CONTENTS, PDR_ARRAY))
        return IS_PASCAL_MESSAGE;
    if (has(m, MARK_INNER_TOKEN) ||
        type_is(m, "chatClientAgentContinuationToken"))
        return IS_TOKEN;
    if (has(m, MARK_PYTHON_ID) || type_is(m, "session"))
        return IS_HALF_PYTHON;
    if (has(m, MARK_PASCAL_STATE_BAG))
        return IS_PASCAL_SESSION;
    if (type_is(m, "message") || has_kind(m, MARK_ROLE, PDR_STRING))
        return IS_MESSAGE;
    if (has(m, MARK_DOTNET_HISTORY) || has(m, MARK_PYTHON_HISTORY))
        return IS_BAG;
    if (has_kind(m, MARK_DATA, PDR_OBJECT) &&
        has_member(m->at[MARK_DATA], PDR_LIT("conversationHistory"), PDR_ARRAY))
        return IS_HALF_STATE;
    return IS_OBJECT;
}

/* What an object is, if the members' own members are not looked at. */
static enum looks which_object(const pdr_value *object)
{
    pdr_session_shape shape = PDR_SESSION_NATIVE;
    pdr_session_kind kind = PDR_SESSION_KIND_UNSTATED;
    struct marks m;

    read_marks(&m, object);
    if (is_state(&m))
        return IS_STATE;
    if (is_wrapper(&m))
        return IS_WRAPPER;
    if (recognise(&shape, &kind, &m, pdr_value_count(object)))
        return IS_SESSION;
    return is_messages(&m) ? which_messages(&m) : which_other(&m);
}

/* What stands under a name in an object of sessions. */
static bool is_element(const pdr_value *value)
{
    enum looks found = IS_SCALAR;

    if (pdr_value_kind(value) == PDR_OBJECT)
        found = which_object(value);
    return found == IS_SESSION || found == IS_WRAPPER || found == IS_STATE;
}

/* Are all members sessions, under names that are their own? A session with a
 * bad member is not several sessions. */
static bool is_map(const pdr_value *object)
{
    pdr_iter it;

    pdr_iter_init(&it, object);
    while (pdr_iter_next(&it)) {
        if (pdr__is_session_name(it.name) || !is_element(it.value))
            return false;
    }
    return pdr_value_count(object) > 0;
}

/* What a list is of which this is the first element that tells something. */
static enum looks which_list(enum looks element)
{
    if (element == IS_MESSAGE)
        return IS_MESSAGE_LIST;
    if (element == IS_UPDATE)
        return IS_UPDATE_LIST;
    if (element == IS_PASCAL_MESSAGE)
        return IS_PASCAL_LIST;
    return looks_rows[element].looks == PDR_LOOKS_MESSAGES ? IS_RESPONSE_LIST
                                                           : IS_ARRAY;
}

/* One wrapper or session makes the list; else the first message does. */
static enum looks which_array(const pdr_value *array)
{
    enum looks found = IS_ARRAY;
    bool session = false;
    pdr_iter it;

    if (pdr_value_count(array) == 0)
        return IS_EMPTY_ARRAY;
    pdr_iter_init(&it, array);
    while (pdr_iter_next(&it)) {
        enum looks element = pdr_value_kind(it.value) == PDR_OBJECT
                                 ? which_object(it.value)
                                 : IS_SCALAR;
        if (element == IS_WRAPPER)
            return IS_WRAPPERS;
        session = session || element == IS_SESSION;
        if (found == IS_ARRAY)
            found = which_list(element);
    }
    return session ? IS_LIST : found;
}

static enum looks which(const pdr_value *value)
{
    enum looks found = IS_SCALAR;

    if (pdr__is_nothing(value))
        return IS_NULL;
    if (pdr_value_kind(value) == PDR_ARRAY)
        return which_array(value);
    if (pdr_value_kind(value) != PDR_OBJECT)
        return IS_SCALAR;
    found = which_object(value);
    if (looks_rows[found].looks == PDR_LOOKS_OTHER && is_map(value))
        return IS_MAP;
    return found;
}

pdr_looks pdr_session_looks(const pdr_value *value)
{
    return looks_rows[which(value)].looks;
}

const char *pdr_session_looks_text(const pdr_value *value)
{
    return looks_rows[which(value)].text;
}
