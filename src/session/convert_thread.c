/*
 * convert_thread.c - documents of the time before sessions had a bag.
 *
 * WHY  Both editions once called a session a thread and kept two things in it:
 *      the state of its message store and that of its one context provider.
 *      Nobody reads these any more, so they become a session of today.
 *
 *        .NET    {"conversationId"?,
 *                 "storeState"? or "chatHistoryProviderState"?,
 *                 "aiContextProviderState"?}
 *        Python  {"type":"agent_thread_state", "service_thread_id":…,
 *                 "chat_message_store_state":{"type":…,"messages":[…]}}
 *
 * The state of a store becomes the history slot if it holds messages; that of
 * another store stays at the root, under its name. Members that nobody knows
 * stay at the root, too.
 */
#include "convert.h"

#define DEFAULT_PROVIDER "AIContextProvider"

/* How an edition called things. */
struct thread_names {
    const char *store[2]; /* state of the message store; NULL: no such */
    const char *provider; /* state of the context provider; NULL: none */
    const char *service;  /* id of the conversation at a service */
    pdr_session_shape shape;
};

static const struct thread_names dotnet_names = {
    {"storeState", "chatHistoryProviderState"},
    "aiContextProviderState",
    "conversationId",
    PDR_SESSION_DOTNET};
static const struct thread_names python_names = {
    {"chat_message_store_state", NULL},
    NULL,
    "service_thread_id",
    PDR_SESSION_PYTHON};

static const struct thread_names *names_of(pdr_session_shape from)
{
    return from == PDR_SESSION_PYTHON_THREAD ? &python_names : &dotnet_names;
}

static pdr_str provider_key_of(pdr_str key)
{
    return key.len > 0 ? key : pdr_str_c(DEFAULT_PROVIDER);
}

/* The state of the store that holds the messages; NULL if none does. */
static const char *store_of(const struct thread_names *names,
                            const pdr_value *document)
{
    for (size_t i = 0; i < PDR_COUNT(names->store); i++) {
        const pdr_value *state =
            names->store[i] == NULL
                ? NULL
                : pdr_value_get_c(document, names->store[i]);

        if (pdr__member(state, "messages", PDR_ARRAY) != NULL)
            return names->store[i];
    }
    return NULL;
}

/* --- messages ------------------------------------------------------------ */

/* A message of Python as it is written today: the role is a text, and the tag
 * is "message". */
static pdr_rc renew_message(pdr_value **out, const pdr_value *message,
                            pdr_err *err)
{
    const pdr_value *role = pdr_value_get_c(message, "role");
    const pdr_value *text = pdr_message_role(message, PDR_SHAPE_PYTHON);
    pdr_value *tag = NULL;
    pdr_rc rc = PDR_OK;

    *out = pdr_value_ref(message);
    if (pdr_value_kind(message) != PDR_OBJECT)
        return PDR_OK;
    if (role != NULL && pdr_value_kind(role) == PDR_OBJECT && text != NULL)
        rc = pdr__put_member(out, "role", text, err);
    if (rc == PDR_OK && !pdr_value_text_is(pdr_value_get_c(message, "type"),
                                           PDR_LIT("message"))) {
        rc = pdr_value_new_string(&tag, PDR_LIT("message"), err);
        if (rc == PDR_OK)
            rc = pdr__put_member(out, "type", tag, err);
    }
    pdr_value_free(tag);
    if (rc != PDR_OK) {
        pdr_value_free(*out);
        *out = NULL;
    }
    return rc;
}

static pdr_rc renew_messages(pdr_value **out, const pdr_value *messages,
                             pdr_err *err)
{
    pdr_value *made = pdr_value_new_array(), *message = NULL;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, messages);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        rc = renew_message(&message, it.value, err);
        if (rc == PDR_OK)
            rc = pdr_value_append(&made, message, err);
        pdr_value_free(message);
        message = NULL;
    }
    if (rc == PDR_OK)
        *out = made;
    else
        pdr_value_free(made);
    return rc;
}

/* The history slot of what the store kept. */
static pdr_rc make_history(pdr_value **out, const pdr_value *state, bool python,
                           pdr_err *err)
{
    pdr_value *messages = NULL;
    pdr_rc rc = PDR_OK;

    *out = pdr_value_ref(state);
    if (!python)
        return PDR_OK;
    rc = pdr__with_member_c(out, "type", NULL, err);
    if (rc == PDR_OK)
        rc = renew_messages(&messages, pdr_value_get_c(state, "messages"), err);
    if (rc == PDR_OK)
        rc = pdr__put_member(out, "messages", messages, err);
    pdr_value_free(messages);
    return rc;
}

/* --- the bag ------------------------------------------------------------- */

static pdr_rc put_history(pdr_value **bag, const struct thread_names *names,
                          const pdr_value *document, pdr_err *err)
{
    const struct shape_names *today = pdr__shape_names(names->shape);
    const char *store = store_of(names, document);
    pdr_value *slot = NULL;
    pdr_rc rc = PDR_OK;

    if (store == NULL)
        return PDR_OK;
    rc = make_history(&slot, pdr_value_get_c(document, store),
                      names == &python_names, err);
    if (rc == PDR_OK)
        rc = pdr__put_member(bag, today->history, slot, err);
    pdr_value_free(slot);
    return rc;
}

static pdr_rc make_bag(pdr_value **out, const struct thread_names *names,
                       const pdr_value *document, pdr_str provider_key,
                       pdr_err *err)
{
    const pdr_value *state = names->provider == NULL
                                 ? NULL
                                 : pdr_value_get_c(document, names->provider);
    pdr_value *bag = pdr_value_new_object();
    pdr_str key = provider_key_of(provider_key);
    pdr_rc rc = put_history(&bag, names, document, err);

    if (rc == PDR_OK && !pdr__is_nothing(state)) {
        rc = pdr__key_check(key, err);
        if (rc == PDR_OK && pdr_value_get(bag, key) != NULL)
            rc = PDR_FAIL(err, STATE_KEY_CLASH, "%s",
                          "the state of the provider cannot stand under the "
                          "key of the history; choose another key");
        if (rc == PDR_OK)
            rc = pdr_value_set(&bag, key, state, err);
    }
    if (rc == PDR_OK)
        *out = bag;
    else
        pdr_value_free(bag);
    return rc;
}

/* --- the root ------------------------------------------------------------ */

/* Members that become something else. */
static bool is_moved(const struct thread_names *names, const char *store,
                     const pdr_iter *it)
{
    const char *const moved[] = {store, names->provider, names->service};

    for (size_t i = 0; i < PDR_COUNT(moved); i++) {
        if (moved[i] != NULL &&
            pdr_value_text_is(it->name, pdr_str_c(moved[i])))
            return true;
    }
    for (size_t i = 0; i < PDR_COUNT(names->store); i++) {
        if (names->store[i] != NULL && pdr_value_kind(it->value) == PDR_NULL &&
            pdr_value_text_is(it->name, pdr_str_c(names->store[i])))
            return true;
    }
    return names == &python_names &&
           pdr_value_text_is(it->name, PDR_LIT("type"));
}

static pdr_rc put_others(pdr_value **io, const struct thread_names *names,
                         const pdr_value *document, pdr_err *err)
{
    const char *store = store_of(names, document);
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, document);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        if (!is_moved(names, store, &it))
            rc = pdr__value_add_member(io, it.name, it.value, err);
    }
    return rc;
}

/* The members before the bag. */
static pdr_rc put_head(pdr_value **io, const struct thread_names *names,
                       const pdr_value *document, pdr_err *err)
{
    const pdr_value *service = pdr_value_get_c(document, names->service);
    pdr_value *type = NULL, *null = pdr_value_new_null();
    pdr_rc rc = PDR_OK;

    if (names == &dotnet_names)
        return service == NULL
                   ? PDR_OK
                   : pdr__put_member(io, names->service, service, err);
    rc = pdr_value_new_string(&type, PDR_LIT("session"), err);
    if (rc == PDR_OK)
        rc = pdr__put_member(io, "type", type, err);
    if (rc == PDR_OK)
        rc = pdr__put_member(io, "service_session_id",
                             service != NULL ? service : null, err);
    pdr_value_free(type);
    return rc;
}

/* --- findings ------------------------------------------------------------ */

static pdr_rc tell_at(struct finder *finder, const char *name, const char *rule,
                      const char *text, pdr_err *err)
{
    size_t mark = pdr__finder_name(finder, pdr_str_c(name));
    pdr_rc rc =
        pdr__finder_tell(finder, rule, PDR_SEVERITY_WARNING, err, "%s", text);

    pdr__finder_up(finder, mark);
    return rc;
}

static pdr_rc tell_thread(struct finder *finder,
                          const struct thread_names *names,
                          const pdr_value *document, pdr_err *err)
{
    const char *store = store_of(names, document);
    const pdr_value *service = pdr_value_get_c(document, names->service);
    pdr_rc rc = PDR_OK;

    if (store != NULL && !pdr__is_nothing(service))
        rc = tell_at(finder, store, "thread-history",
                     "the session has a service id as well: the program that "
                     "wrote it ignores these messages, and they are kept",
                     err);
    for (size_t i = 0; rc == PDR_OK && i < PDR_COUNT(names->store); i++) {
        const char *name = names->store[i];

        if (name == NULL || name == store ||
            pdr__is_nothing(pdr_value_get_c(document, name)))
            continue;
        rc = tell_at(finder, name, "thread-store",
                     "this state of a message store is not that of a list of "
                     "messages: it stays at the root, where nobody reads it",
                     err);
    }
    return rc;
}

pdr_rc pdr__thread_convert(pdr_value **out, const pdr_value *document,
                           pdr_session_shape from, pdr_str provider_key,
                           struct finder *finder, pdr_err *err)
{
    const struct thread_names *names = names_of(from);
    const char *bag_name = pdr__shape_names(names->shape)->bag;
    pdr_value *made = pdr_value_new_object(), *bag = NULL;
    pdr_rc rc = tell_thread(finder, names, document, err);

    *out = NULL;
    if (rc == PDR_OK)
        rc = make_bag(&bag, names, document, provider_key, err);
    if (rc == PDR_OK)
        rc = put_head(&made, names, document, err);
    if (rc == PDR_OK)
        rc = pdr__put_member(&made, bag_name, bag, err);
    if (rc == PDR_OK)
        rc = put_others(&made, names, document, err);
    pdr_value_free(bag);
    if (rc == PDR_OK)
        *out = made;
    else
        pdr_value_free(made);
    return rc;
}

/* If the pointer begins with these names: how far, else 0. */
static size_t begins(pdr_str pointer, pdr_str first, pdr_str second)
{
    pdr_buf text = PDR_BUF_INIT(PDR_MAX_POINTER_BYTES);
    size_t len = 0;

    if (pdr_pointer_push(&text, first, NULL) == PDR_OK &&
        (second.len == 0 || pdr_pointer_push(&text, second, NULL) == PDR_OK) &&
        pointer.len >= text.len &&
        memcmp(pointer.ptr, text.ptr, text.len) == 0 &&
        (pointer.len == text.len || pointer.ptr[text.len] == '/'))
        len = text.len;
    pdr_buf_dispose(&text);
    return len;
}

/* A finding about the session, told about the thread. */
static pdr_rc pass_on(const pdr_doc_finding *finding, pdr_err *err, void *arg)
{
    struct thread_finder *t = arg;
    const struct thread_names *names = names_of(t->from);
    const struct shape_names *today = pdr__shape_names(names->shape);
    pdr_str bag = pdr_str_c(today->bag), none = {NULL, 0};
    pdr_doc_finding told = *finding;
    pdr_buf pointer = PDR_BUF_INIT(PDR_MAX_POINTER_BYTES);
    const char *name = store_of(names, t->document);
    size_t cut = begins(finding->pointer, bag, pdr_str_c(today->history));
    pdr_rc rc = PDR_OK;

    if (cut == 0) {
        name = names->provider;
        cut = begins(finding->pointer, bag, provider_key_of(t->provider_key));
    }
    if (cut == 0) {
        name = names->service;
        cut = begins(finding->pointer, PDR_LIT("service_session_id"), none);
    }
    if (cut > 0 && name != NULL) {
        rc = pdr_pointer_push(&pointer, pdr_str_c(name), err);
        if (rc == PDR_OK)
            rc = pdr_buf_append(&pointer,
                                pdr_str_n(finding->pointer.ptr + cut,
                                          finding->pointer.len - cut),
                                err);
        told.pointer = pdr_buf_str(&pointer);
    }
    if (begins(finding->pointer, PDR_LIT("session_id"), none) > 0)
        told.pointer = none; /* it was made here: a thread has no id */
    if (rc == PDR_OK)
        rc = t->outer->fn(&told, err, t->outer->arg);
    pdr_buf_dispose(&pointer);
    return rc;
}

void pdr__thread_finder_init(struct thread_finder *out, struct finder *outer,
                             const pdr_value *document, pdr_session_shape from,
                             pdr_str provider_key)
{
    struct finder inner =
        PDR_FINDER_INIT(outer->fn != NULL ? pass_on : NULL, out);

    out->inner = inner;
    out->outer = outer;
    out->from = from;
    out->document = document;
    out->provider_key = provider_key;
}
