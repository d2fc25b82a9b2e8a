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

#include "session_core.h"

/* Path of the slot, and of its member. The longest key has 27 bytes. */
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

static pdr_rc bad_shape(const pdr_session *s, const pdr_value *value,
                        const char *member, const char *expected, pdr_err *err)
{
    char path[PATH_MAX_BYTES];

    (void)snprintf(path, sizeof(path), "/%s/%s%s", s->names->bag,
                   s->names->history, member);
    (void)PDR_FAIL(err, HISTORY_SHAPE,
                   "the history of a session is %s, this is %s", expected,
                   pdr__kind_phrase(value));
    pdr__err_path(err, pdr_str_c(path));
    return (pdr_rc)PDR_RC_HISTORY_SHAPE;
}

/* The list of messages in a slot; NULL if there is none yet. */
static pdr_rc find_list(const pdr_value **out, const pdr_session *s,
                        const pdr_value *slot, pdr_err *err)
{
    const pdr_value *list = NULL;

    *out = NULL;
    if (pdr__is_nothing(slot))
        return PDR_OK;
    if (pdr_value_kind(slot) != PDR_OBJECT)
        return bad_shape(s, slot, "", "an object with a list of messages", err);
    list = pdr_value_get_c(slot, messages_name);
    if (pdr__is_nothing(list))
        return PDR_OK;
    if (pdr_value_kind(list) != PDR_ARRAY)
        return bad_shape(s, list, "/messages", "a list of messages", err);
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

pdr_rc pdr_session_history(pdr_value **out, pdr_session *session, pdr_err *err)
{
    const pdr_value *list = NULL;
    pdr_value *slot = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && session != NULL);
    *out = NULL;
    if (session->names->sealed)
        return thread_history(out, session, err); /* its root never changes */
    if (!pdr_bag_has(session->bag, pdr_str_c(session->names->history)))
        return PDR_OK;
    rc = pdr_bag_get(&slot, session->bag, pdr_str_c(session->names->history),
                     err);
    if (rc == PDR_ENOTFOUND)
        return PDR_OK; /* somebody removed it in between */
    if (rc == PDR_OK)
        rc = find_list(&list, session, slot, err);
    if (rc == PDR_OK)
        *out = pdr_value_ref(list);
    pdr_value_free(slot);
    return rc;
}

struct addition {
    const pdr_session *session;
    const pdr_value *const *messages;
    size_t count;
};

/* Called by the bag with the slot. */
static pdr_rc add(pdr_value **io, pdr_err *err, void *arg)
{
    const struct addition *what = arg;
    const pdr_value *before = NULL;
    pdr_value *list = NULL;
    pdr_value *slot = NULL;
    pdr_rc rc = find_list(&before, what->session, *io, err);

    if (rc != PDR_OK)
        return rc;
    list = before != NULL ? pdr_value_ref(before) : pdr_value_new_array();
    slot = pdr__is_nothing(*io) ? pdr_value_new_object() : pdr_value_ref(*io);
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

pdr_rc pdr_session_add_messages(pdr_session *session,
                                const pdr_value *const *messages, size_t count,
                                pdr_err *err)
{
    struct addition what = {session, messages, count};

    PDR_REQUIRE(session != NULL && (messages != NULL || count == 0));
    for (size_t i = 0; i < count; i++) {
        if (pdr_value_kind(messages[i]) != PDR_OBJECT)
            return PDR_FAIL(err, WRONG_KIND,
                            "a message is an object, number %zu is %s", i + 1,
                            pdr__kind_phrase(messages[i]));
    }
    if (count == 0)
        return PDR_OK;
    return pdr_bag_update(session->bag, pdr_str_c(session->names->history), err,
                          add, &what);
}
