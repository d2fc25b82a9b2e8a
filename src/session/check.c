/*
 * check.c - what a session holds that no edition knows.
 *
 * The bag is left out: each of its values belongs to a provider, and only that
 * one knows what is in it. The history is a value of the bag, too, and its
 * messages are looked at, wherever the shape keeps them.
 */
#include "session.h"
#include "shape.h"

/* Where messages are: in a member of the root, or of the bag there. */
static const struct {
    const char *root, *slot; /* no slot: the member itself */
} places[] = {{"stateBag", "InMemoryChatHistoryProvider"},
              {"state", "in_memory"},
              {"storeState", NULL},
              {"chatHistoryProviderState", NULL},
              {"chat_message_store_state", NULL}};

/* What other documents have, too, and a session may have. */
static bool is_shared(const pdr_value *name)
{
    static const char *const names[] = {"type", "state", "version"};

    for (size_t i = 0; i < PDR_COUNT(names); i++) {
        if (pdr_value_text_is(name, pdr_str_c(names[i])))
            return true;
    }
    return false;
}

static pdr_rc messages_check(struct finder *finder, const pdr_value *holder,
                             pdr_shape shape, pdr_err *err)
{
    const pdr_value *messages = pdr__member(holder, "messages", PDR_ARRAY);
    size_t list = pdr__finder_name(finder, PDR_LIT("messages"));
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, messages);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        size_t one = pdr__finder_index(finder, it.index);

        rc = pdr__message_check_members(finder, it.value, shape, err);
        pdr__finder_up(finder, one);
    }
    pdr__finder_up(finder, list);
    return rc;
}

pdr_rc pdr__session_check_members(const pdr_value *document, pdr_err *err,
                                  pdr_doc_finding_fn fn, void *arg)
{
    struct finder finder = PDR_FINDER_INIT(fn, arg);
    pdr_session *session = NULL;
    pdr_shape shape = PDR_SHAPE_DOTNET;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_session_from_value(&session, document, err));
    shape = pdr_session_message_shape(session);
    pdr_iter_init(&it, document);
    while (pdr_iter_next(&it)) {
        if (!pdr__is_session_name(it.name) && !is_shared(it.name))
            PDR_TRY(pdr__member_tell(&finder, it.name, err));
    }
    for (size_t i = 0; rc == PDR_OK && i < PDR_COUNT(places); i++) {
        const pdr_value *holder =
            pdr__member(document, places[i].root, PDR_OBJECT);
        size_t root = pdr__finder_name(&finder, pdr_str_c(places[i].root));

        if (holder != NULL && places[i].slot != NULL) {
            holder = pdr__member(holder, places[i].slot, PDR_OBJECT);
            (void)pdr__finder_name(&finder, pdr_str_c(places[i].slot));
        }
        if (holder != NULL)
            rc = messages_check(&finder, holder, shape, err);
        pdr__finder_up(&finder, root);
    }
done:
    pdr__finder_dispose(&finder);
    pdr_session_free(session);
    return rc;
}
