/*
 * perdure/stored.h - a session in a store, as a session.
 *
 *     pdr_stored_open ──► pdr_stored_load      slots into the bag
 *                     ──► pdr_stored_window    the last messages
 *                     ──► pdr_stored_add_...   what a turn adds
 *                     ──► pdr_stored_commit    all of it, or a conflict
 *
 * A handle is a session at the revision that was read. It has a plain
 * pdr_session, whose ids are there at once. **Its bag holds only what was
 * loaded**: a bag never calls a store. Changes stay in memory until a commit
 * writes them at that revision, in one step. A late writer gets a conflict:
 * nothing of it is stored, and pdr_stored_reload() begins anew.
 *
 * History is entries, never a slot of the bag. In a client session an entry is
 * one message, in the shape of the session's history. In a durable session it
 * is a request or a response of a state document (doc.h). An export gives the
 * document of that edition in both cases.
 *
 * A handle is for one thread at a time. Several handles on one session are
 * fine, in any threads or processes. Times are milliseconds since 1970 (UTC),
 * and always the caller's.
 */
#ifndef PERDURE_STORED_H
#define PERDURE_STORED_H

#include <perdure/session.h>
#include <perdure/store.h>

PDR_BEGIN_DECLS

typedef struct pdr_stored pdr_stored;

/* --- opening --------------------------------------------------------------
 */

/* How to open a session. Zero everywhere: it must be there. */
typedef struct pdr_stored_opts {
    bool create; /* if it is not there, the first commit makes it */
    /* Of a session that is made; of one that is there they are ignored. */
    pdr_session_kind kind; /* UNSTATED: "durable" for an id that begins with
                              '@', else "client" */
    pdr_str agent;         /* absent: that of a durable id, else none */
    const pdr_value *properties; /* shared; an object, or NULL */
    int64_t expiry_ms;           /* 0 and PDR_NEVER: none */
    bool rows_only; /* do not read the document around the rows. Of the ids the
                       session has only its own, and slots can be removed and
                       not set. For a session whose document is damaged or of
                       a kind that this library does not know */
} pdr_stored_opts;

/**
 * Open a session.
 *
 * @param[out] out  owned; release with pdr_stored_close(). NULL on failure.
 * @param store     borrowed, must outlive the handle; once it is closed, every
 *                  call fails with PDR_EMISUSE ("store_closed").
 * @param ref       copied.
 * @param opts      borrowed for the call; NULL means the defaults.
 * @return PDR_OK; PDR_ENOTFOUND ("no_session"); PDR_EINVALID ("bad_ref";
 *         "session_kind": of a kind that this library does not know, or that
 *         the id cannot have; "wrong_kind" for properties that are not an
 *         object); PDR_ECORRUPT ("bad_frame"); PDR_EVERSION
 *         ("session_version"); PDR_ENOMEM; as pdr_store_read().
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_stored_open(pdr_stored **out,
                                              pdr_store *store,
                                              const pdr_ref *ref,
                                              const pdr_stored_opts *opts,
                                              pdr_err *err);

/** Release a handle; changes that were not committed are gone. NULL is fine.
 * @thread owner @since 0.1 */
PDR_API void pdr_stored_close(pdr_stored *stored);

/** Forget all changes and read the session as it is now. What was loaded is
 * gone from the bag, too. Fails as pdr_stored_open(), and leaves the handle as
 * it was. @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_stored_reload(pdr_stored *stored,
                                                pdr_err *err);

/** The session: ids, and what was loaded of the bag.
 * @return borrowed until the handle is reloaded, pdr_stored_load_all() is
 * called, or it is closed. @thread owner @since 0.1 */
PDR_API pdr_session *pdr_stored_session(pdr_stored *stored);

/** The head that was read. `revision` 0: the session has not been made yet.
 * After a commit it says what that wrote; its counts of slots, properties and
 * completions are those that were read.
 * @return borrowed until the handle is reloaded or closed.
 * @thread owner @since 0.1 */
PDR_API const pdr_head *pdr_stored_head(const pdr_stored *stored);

/** The shape of the messages that this handle gives and takes: that of the
 * session's history, or that of state documents in a durable session.
 * @thread owner @since 0.1 */
PDR_API pdr_shape pdr_stored_shape(const pdr_stored *stored);

/* --- the bag --------------------------------------------------------------
 */

/**
 * Put slots into the bag of the session. One that is not stored is left out,
 * one that was loaded or set before stays as it is. Reads just these rows.
 *
 * @param keys  borrowed for the call; as for pdr_bag_get().
 * @return PDR_OK; PDR_ECONFLICT ("revision_changed"): reload; PDR_EINVALID as
 *         pdr_bag_get(); "bag_sealed" for documents of the time before bags;
 *         as pdr_store_read().
 * @thread owner  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_stored_load(pdr_stored *stored,
                                              const pdr_str *keys, size_t count,
                                              pdr_err *err);

/** Put all other slots into the bag, in the order of the document, with what
 * stands beside the messages in its history slot. Changes of before stay.
 * @return as pdr_stored_load(); PDR_EINVALID ("cannot_export") if a slot has no
 * place in the document. @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_stored_load_all(pdr_stored *stored,
                                                  pdr_err *err);

/** Could a commit set this slot, or remove it? To be asked before there is a
 * commit.
 * @return PDR_OK; PDR_EINVALID ("history_slot", "bag_sealed") as
 * pdr_stored_commit(). @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_stored_check_slot(const pdr_stored *stored,
                                                    pdr_str key, bool removes,
                                                    pdr_err *err);

/** The properties of the session's wrapper, as they are stored.
 * @param[out] out  owned; an object. NULL on failure.
 * @return as pdr_stored_load(). @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_stored_properties(pdr_value **out,
                                                    pdr_stored *stored,
                                                    pdr_err *err);

/* --- history --------------------------------------------------------------
 * What is given is what the revision of the handle has: neither what it is
 * going to add, nor what others added since.
 */

/* One entry: its row, and the body as a value. */
typedef struct pdr_stored_entry {
    const pdr_entry *row;
    const pdr_value *body; /* NULL if it is not valid JSON */
} pdr_stored_entry;

typedef struct pdr_stored_query {
    bool backwards;         /* the last one first */
    uint64_t from;          /* begin at this number; 0: at the beginning, or
                               backwards at the end */
    size_t limit;           /* entries at most, 1 to 200; 0: 50 */
    size_t max_bytes;       /* end when the bodies have more; 0: 8 MiB */
    pdr_str correlation_id; /* only entries with this one */
    pdr_str after;          /* go on after a page: its `next` */
} pdr_stored_query;

/* Some entries. Owned by the caller; release with pdr_stored_page_free(). */
typedef struct pdr_stored_page {
    size_t count;
    const pdr_stored_entry *entries;
    pdr_str next; /* to go on with; absent: these were the last */
} pdr_stored_page;

/**
 * Read a page of entries.
 *
 * @param[out] out  owned; NULL on failure.
 * @param query     borrowed for the call; NULL means the defaults.
 * @return PDR_OK; PDR_ECONFLICT ("revision_changed") if the history was
 *         replaced: reload; as pdr_store_read().
 * @thread owner  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_stored_read(pdr_stored_page **out,
                                              pdr_stored *stored,
                                              const pdr_stored_query *query,
                                              pdr_err *err);

/** NULL is fine. @thread owner @since 0.1 */
PDR_API void pdr_stored_page_free(pdr_stored_page *page);

/* One message of the history, in the shape of pdr_stored_shape(). */
typedef struct pdr_stored_message {
    const pdr_value *value; /* an object; it and whatever shares it live as
                               long as the window */
    uint64_t seq;           /* of its entry */
    pdr_str correlation_id; /* of its entry, or absent */
} pdr_stored_message;

/* The last messages. Owned by the caller; release with
 * pdr_stored_window_free(). */
typedef struct pdr_stored_window {
    size_t count;
    const pdr_stored_message *messages; /* the oldest first */
    bool is_whole; /* nothing of the history is missing before them */
} pdr_stored_window;

/**
 * Read the last messages, and no more than these. A message with the result of
 * a tool whose call is not among them is left out. So is what is neither a
 * message nor a list of them, and a response for which pdr_entry_is_error()
 * holds: no model is to read what went wrong here.
 *
 * @param[out] out      owned; NULL on failure.
 * @param max_messages  0: no limit.
 * @param max_bytes     of the bodies of whole entries; the last entry is given
 *                      in any case. 0: no limit.
 * @return as pdr_stored_read(). @thread owner @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_stored_messages(pdr_stored_window **out,
                                                  pdr_stored *stored,
                                                  size_t max_messages,
                                                  size_t max_bytes,
                                                  pdr_err *err);

/** NULL is fine. @thread owner @since 0.1 */
PDR_API void pdr_stored_window_free(pdr_stored_window *window);

/* --- changing -------------------------------------------------------------
 * All of these wait for the next commit. On failure nothing has changed.
 */

/** Add messages to the history: an entry each.
 * @param correlation_id  copied; of the run, or absent.
 * @param messages        shared; `count` objects in pdr_stored_shape().
 * @return PDR_OK; PDR_EINVALID ("wrong_kind") for what is not an object, and in
 *         a durable session, which takes requests and responses; PDR_ENOMEM.
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_stored_add_messages(
    pdr_stored *stored, pdr_str correlation_id,
    const pdr_value *const *messages, size_t count, pdr_err *err);

/** Add an entry to the history of a durable session: a request or a response,
 * as pdr_entry_new() makes them, which says its correlation id and its time.
 * @param entry  shared.
 * @return PDR_OK; PDR_EINVALID ("wrong_kind") for anything else, and in other
 *         sessions, which take messages; PDR_ENOMEM. @thread owner @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_stored_add_entry(pdr_stored *stored,
                                                   const pdr_value *entry,
                                                   pdr_err *err);

/** Set the state of the session. @thread owner @since 0.1 */
PDR_API void pdr_stored_set_state(pdr_stored *stored, pdr_session_state state);

/** Set when it expires; PDR_NEVER: it does not. @thread owner @since 0.1 */
PDR_API void pdr_stored_set_expiry(pdr_stored *stored, int64_t expiry_ms);

/** Set a property of its wrapper.
 * @param key    copied; 1 to 1,024 bytes.
 * @param value  shared; NULL removes the property.
 * @return PDR_OK; PDR_EINVALID as pdr_bag_set() for the key; PDR_ENOMEM.
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_stored_set_property(pdr_stored *stored,
                                                      pdr_str key,
                                                      const pdr_value *value,
                                                      pdr_err *err);

/**
 * Write all changes at the revision that was read: slots of the bag that are
 * not as they were loaded, entries, state, expiry, properties. A slot that was
 * set to the value it had is not a change; one that was not loaded is replaced.
 * Without a change nothing is written, unless the session has to be made. After
 * success the handle is at the new revision, and goes on.
 *
 * @param options  borrowed for the call; not NULL.
 * @return PDR_OK; PDR_ECONFLICT ("revision_changed", "epoch_changed"): somebody
 *         else wrote first, or made the session first; reload. PDR_ENOTFOUND
 *         ("no_session"): it was deleted. PDR_EINVALID ("history_slot": the
 *         history has this name in the document; "bag_sealed"). Else as
 *         pdr_store_commit(). On failure the changes are still there.
 * @thread owner  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_stored_commit(
    pdr_stored *stored, const pdr_commit_options *options, pdr_err *err);

/** Change a session that was just opened or reloaded. Another code than PDR_OK
 * ends the update with it. */
typedef pdr_rc (*pdr_stored_fn)(pdr_stored *stored, pdr_err *err, void *arg);

/** Call `fn` and commit; on a conflict reload and do both again, at most 20
 * times.
 * @return as pdr_stored_commit() and pdr_stored_reload(), or what `fn`
 * returned. @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc
pdr_stored_update(pdr_stored *stored, const pdr_commit_options *options,
                  pdr_err *err, pdr_stored_fn fn, void *arg);

PDR_END_DECLS

#endif
