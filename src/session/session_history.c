/*
 * session_history.c - the messages that a session itself keeps.
 *
 * WHY  The history is a slot of the bag like any other, but every program wants
 *      it, and it is what grows. Reading gives the list as it is, without a
 *      copy; adding puts messages behind the others by an overlay, in one step
 *      of the bag, at a price that does not depend on what is there.
 *
 *        slot: absent, null, or an object
 *        its member `messages`: absent, null, or an array
 *
 *      Anything else is not ours to repair: it is refused with its path.
 */
#include <stdio.h>

#include "bag_core.h"
#include "session_core.h"

/* Path of a list in a thread-era document. */
#define PATH_MAX_BYTES 64

static const char messages_name[] = "messages";

pdr_shape pdr_session_message_shape(const pdr_session *session)
{
    return session->names->messages;
}

const char *pdr_session_history_key(const pdr_session *session)
{
    return session->names->history;
}

/* The key that was given, or that of the session. */
static pdr_str key_of(const pdr_session *session, const char *key)
{
    return pdr_str_c(key != NULL ? key : session->names->history);
}

static pdr_rc bad_shape(const pdr_session *s, pdr_str key,
                        const pdr_value *value, const char *member,
                        const char *expected, pdr_err *err)
{
    char path[sizeof(err->path)];

    (void)PDR_FAIL(err, HISTORY_SHAPE,
                   "the history of a session is %s, this is %s", expected,
                   pdr__kind_phrase(value));
    if (err != NULL) {
        pdr__slot_path(err, key, member);
        memcpy(path, err->path, sizeof(path));
        pdr__slot_path(err, pdr_str_c(s->names->bag), path);
    }
    return (pdr_rc)PDR_RC_HISTORY_SHAPE;
}

/* The list of messages in a slot; NULL if there is none yet. */
static pdr_rc find_list(const pdr_value **out, const pdr_session *s,
                        pdr_str key, const pdr_value *slot, pdr_err *err)
{
    const pdr_value *list = NULL;

    *out = NULL;
    if (pdr__is_nothing(slot))
        return PDR_OK;
    if (pdr_value_kind(slot) != PDR_OBJECT)
        return bad_shape(s, key, slot, "", "an object with a list of messages",
                         err);
    list = pdr_value_get_c(slot, messages_name);
    if (pdr__is_nothing(list))
        return PDR_OK;
    if (pdr_value_kind(list) != PDR_ARRAY)
        return bad_shape(s, key, list, "/messages", "a list of messages", err);
    *out = list;
    return PDR_OK;
}

/* --- thread-era documents ------------------------------------------------ */

/* Where such documents keep what their store said. What is no object there is
 * the key of messages that are kept elsewhere. */
static const char *const stores[] = {
    "storeState",
    "chatHistoryProviderState",
    "chat_message_store_state",
};

static pdr_rc thread_history(pdr_value **out, const pdr_session *s,
                             pdr_err *err)
{
    for (size_t i = 0; i < PDR_COUNT(stores); i++) {
        const pdr_value *store = pdr__member(s->root, stores[i], PDR_OBJECT);
        const pdr_value *list = pdr_value_get_c(store, messages_name);
        char path[PATH_MAX_BYTES];

        if (pdr__is_nothing(list))
            continue;
        if (pdr_value_kind(list) == PDR_ARRAY) {
            *out = pdr_value_ref(list);
            return PDR_OK;
        }
        (void)snprintf(path, sizeof(path), "/%s/messages", stores[i]);
        (void)PDR_FAIL(err, HISTORY_SHAPE,
                       "the history of a session is a list of messages, this "
                       "is %s",
                       pdr__kind_phrase(list));
        pdr__err_path(err, pdr_str_c(path));
        return (pdr_rc)PDR_RC_HISTORY_SHAPE;
    }
    return PDR_OK;
}

/* --- reading and adding -------------------------------------------------- */

pdr_rc pdr_session_history_at(pdr_value **out, pdr_session *session,
                              const char *key, pdr_err *err)
{
    const pdr_value *list = NULL;
    pdr_value *slot = NULL;
    pdr_str name = {NULL, 0};
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL);
    *out = NULL;
    if (session == NULL) {
        *out = pdr_value_new_array();
        return PDR_OK;
    }
    if (session->names->sealed && key == NULL)
        return thread_history(out, session, err); /* its root never changes */
    name = key_of(session, key);
    if (!pdr_bag_has(session->bag, name))
        return PDR_OK;
    rc = pdr_bag_get(&slot, session->bag, name, err);
    if (rc == PDR_ENOTFOUND)
        return PDR_OK; /* somebody removed it in between */
    PDR_TRY(rc);
    PDR_TRY(find_list(&list, session, name, slot, err));
    *out = pdr_value_ref(list);
done:
    pdr_value_free(slot);
    return rc;
}

pdr_rc pdr_session_history(pdr_value **out, pdr_session *session, pdr_err *err)
{
    PDR_REQUIRE(out != NULL && session != NULL);
    return pdr_session_history_at(out, session, NULL, err);
}

struct addition {
    const pdr_session *session;
    pdr_str key;
    const pdr_value *const *messages; /* to add; NULL: `list` replaces all */
    size_t count;
    const pdr_value *list;
};

/* Called by the bag with the slot. */
static pdr_rc add(pdr_value **io, pdr_err *err, void *arg)
{
    const struct addition *what = arg;
    const pdr_value *before = what->list;
    pdr_value *list = NULL;
    pdr_value *slot = NULL;
    pdr_rc rc = PDR_OK;

    if (before == NULL)
        rc = find_list(&before, what->session, what->key, *io, err);
    if (rc != PDR_OK)
        return rc;
    list = before != NULL ? pdr_value_ref(before) : pdr_value_new_array();
    slot = *io != NULL && pdr_value_kind(*io) == PDR_OBJECT
               ? pdr_value_ref(*io)
               : pdr_value_new_object();
    for (size_t i = 0; rc == PDR_OK && i < what->count; i++)
        rc = pdr_value_append(&list, what->messages[i], err);
    if (rc == PDR_OK)
        rc = pdr_value_set(&slot, pdr_str_c(messages_name), list, err);
    if (rc == PDR_OK) {
        pdr_value *old = *io;

        *io = slot;
        slot = old;
    }
    pdr_value_free(slot);
    pdr_value_free(list);
    return rc;
}

static pdr_rc check_message(const pdr_value *message, size_t i, pdr_err *err)
{
    if (pdr_value_kind(message) == PDR_OBJECT)
        return PDR_OK;
    return PDR_FAIL(err, WRONG_KIND, "a message is an object, number %zu is %s",
                    i + 1, pdr__kind_phrase(message));
}

pdr_rc pdr_session_add_messages_at(pdr_session *session, const char *key,
                                   const pdr_value *const *messages,
                                   size_t count, pdr_err *err)
{
    struct addition what = {session, PDR_LIT(""), messages, count, NULL};
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(session != NULL && (messages != NULL || count == 0));
    for (size_t i = 0; i < count; i++)
        PDR_TRY(check_message(messages[i], i, err));
    what.key = key_of(session, key);
    if (count > 0)
        rc = pdr_bag_update(session->bag, what.key, err, add, &what);
done:
    return rc;
}

pdr_rc pdr_session_add_messages(pdr_session *session,
                                const pdr_value *const *messages, size_t count,
                                pdr_err *err)
{
    return pdr_session_add_messages_at(session, NULL, messages, count, err);
}

pdr_rc pdr_session_set_history(pdr_session *session, const char *key,
                               const pdr_value *messages, pdr_err *err)
{
    struct addition what = {session, PDR_LIT(""), NULL, 0, messages};
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(session != NULL);
    if (messages == NULL || pdr_value_kind(messages) != PDR_ARRAY)
        return PDR_FAIL(
            err, WRONG_KIND, "a history is a list of messages, this is %s",
            messages != NULL ? pdr__kind_phrase(messages) : "nothing");
    pdr_iter_init(&it, messages);
    while (pdr_iter_next(&it))
        PDR_TRY(check_message(it.value, it.index, err));
    what.key = key_of(session, key);
    rc = pdr_bag_update(session->bag, what.key, err, add, &what);
done:
    return rc;
}
