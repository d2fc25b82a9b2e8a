/*
 * perdure/chat_store.h - chats that live in a store.
 *
 *     pdr_chat_attach ──► pdr_chat_add, _run, ...   each step is committed
 *     pdr_chat_load ────► pdr_chat_state            as a saved chat
 *     pdr_chat_state_store                          and back into a store
 *
 * A chat in a store is a session of kind "chat". Its messages and turns are
 * entries; who takes part, channels and who is next are slots. A message is
 * committed before its listener hears of it. The first commit of a turn takes
 * the lease of the session and says who speaks; the last one says how the turn
 * ended, and gives the lease back. So two processes never take a turn at the
 * same time, and one that dies leaves a turn that the next one gives up: what
 * was said in it stays, and the same agent is next.
 *
 * Whoever is late finds out: "chat_changed". Attach a new chat then.
 *
 * Times are milliseconds since 1970 (UTC).
 */
#ifndef PERDURE_CHAT_STORE_H
#define PERDURE_CHAT_STORE_H

#include <perdure/chat.h>
#include <perdure/store.h>

PDR_BEGIN_DECLS

/* Where a chat lives. */
typedef struct pdr_chat_home {
    pdr_store *store;  /* borrowed; must outlive the chat */
    pdr_ref ref;       /* copied; of the session */
    bool create;       /* make the session if there is none */
    uint32_t lease_ms; /* after which others give up the turn of a process that
                          has died; 0: 30,000. 100 at least */
    const char *owner; /* copied; what the holder of the lease is called, 1 to
                          128 bytes; NULL: host name and process */
} pdr_chat_home;

/**
 * Let a chat live in a store from now on. One that is there is restored into
 * it, as pdr_chat_apply() does; a turn that nobody finished is given up.
 *
 * @param[out] out  owned; release with pdr_chat_report_free(); NULL on failure,
 *                  and if the session was made. May be NULL.
 * @param chat   has its agents, and nothing else yet.
 * @param home   borrowed for the call.
 * @param opts   borrowed for the call; NULL: the defaults. With `is_dry`
 *               nothing changes, neither here nor there.
 * @return as pdr_chat_apply(); PDR_ENOTFOUND ("no_session"); PDR_EBUSY
 *         ("chat_busy": another process is at work on it); PDR_ECONFLICT
 *         ("chat_changed": somebody was faster; try again); PDR_EINVALID
 *         ("session_kind": it is not a chat; "bad_option": the lease or its
 *         owner); PDR_ECORRUPT ("bad_chat"); as pdr_store_read() and
 *         pdr_store_commit(). @thread any @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_chat_attach(pdr_chat_report **out,
                                              pdr_chat *chat,
                                              const pdr_chat_home *home,
                                              const pdr_chat_apply_opts *opts,
                                              pdr_err *err);

/**
 * Read a chat of a store as a saved chat, as it is at one moment.
 *
 * @param[out] out  owned; release with pdr_chat_state_free(). NULL on failure.
 * @return PDR_OK; PDR_ENOTFOUND ("no_session"); PDR_EINVALID ("session_kind");
 *         PDR_ECORRUPT ("bad_chat"); PDR_ENOMEM; as pdr_store_read().
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_chat_load(pdr_chat_state **out,
                                            pdr_store *store,
                                            const pdr_ref *ref, pdr_err *err);

/**
 * Put a saved chat into a store, as a session of its own.
 *
 * @param replace  take the place of a session that is there.
 * @return PDR_OK; PDR_EEXISTS ("session_exists"); PDR_EBUSY ("chat_busy":
 *         somebody is at work on the one that is there); PDR_ENOMEM; as
 *         pdr_store_commit(). @thread any @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_chat_state_store(const pdr_chat_state *state,
                                                   pdr_store *store,
                                                   const pdr_ref *ref,
                                                   bool replace, int64_t now_ms,
                                                   pdr_err *err);

PDR_END_DECLS

#endif
