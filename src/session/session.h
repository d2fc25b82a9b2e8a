/*
 * session.h - what the files of this folder share. See README.md.
 */
#ifndef PDR_SESSION_H
#define PDR_SESSION_H

#include <pthread.h>

#include <perdure/bag.h>
#include <perdure/session.h>

#include "doc.h"

/* --- typed values (typed.c) ---------------------------------------------- */

/* A handle for an object that was made; the object is taken, also on failure.
 * Fails with NO_MEMORY. */
PDR_MUST_CHECK pdr_rc pdr__object_new(pdr_object **out,
                                      const pdr_state_type *type, void *object,
                                      pdr_err *err);

/* Decode a value that is not null. Fails with NO_MEMORY, or as decode() did:
 * the caller gives that its reason. */
PDR_MUST_CHECK pdr_rc pdr__typed_decode(pdr_object **out,
                                        const pdr_state_type *type,
                                        const pdr_value *value, pdr_err *err);

/* The value to write for an object: with PDR_OVERLAY over `raw`, which may be
 * NULL. Fails with NO_MEMORY, STATE_ENCODE, TOO_DEEP. */
PDR_MUST_CHECK pdr_rc pdr__typed_encode(pdr_value **out,
                                        const pdr_state_type *type,
                                        const void *object,
                                        const pdr_value *raw, pdr_overlay how,
                                        pdr_err *err);

/* Three-way: `raw` as it is stored, `before` what the type makes of it, `after`
 * what the type makes of the changed object. What `before` lacks is unknown to
 * the type and stays as it is in `raw`; what did not change between `before`
 * and `after` keeps the spelling of `raw`. Without `before` (NULL), what
 * `after` lacks stays. Fails with NO_MEMORY, TOO_DEEP. */
PDR_MUST_CHECK pdr_rc pdr__overlay(pdr_value **out, const pdr_value *raw,
                                   const pdr_value *before,
                                   const pdr_value *after, pdr_err *err);

/* --- keys ---------------------------------------------------------------- */

/* Is it a key for bags and properties? Fails with KEY_NULL, KEY_BLANK,
 * KEY_TOO_LONG, BAD_UTF8. */
PDR_MUST_CHECK pdr_rc pdr__key_check(pdr_str key, pdr_err *err);

/* --- sessions (session.c) ------------------------------------------------ */

/* One owner more: each calls pdr_session_free() once. Any thread. */
PDR_MUST_CHECK pdr_session *pdr__session_ref(pdr_session *session);

/* --- bags (bag.c) -------------------------------------------------------- */

/* Why a bag takes no change; NULL opens it. For thread-era documents. */
void pdr__bag_seal(pdr_bag *bag, const char *why);

/* The levels that a slot may have: 126, or 62 in a document for .NET. */
void pdr__bag_set_levels(pdr_bag *bag, size_t levels);

/* The bag's mutex also guards the fields of its session. */
void pdr__bag_lock(pdr_bag *bag);
void pdr__bag_unlock(pdr_bag *bag);
/* Snapshot for whoever holds the lock. */
pdr_value *pdr__bag_value_locked(const pdr_bag *bag);

/* Begin to change the bag: waits while another writer has a claim, then holds
 * the lock; end with pdr__bag_unlock(). Fails with BAG_IN_UPDATE, BAG_SEALED,
 * and does not hold the lock then. */
PDR_MUST_CHECK pdr_rc pdr__bag_begin(pdr_bag *bag, pdr_err *err);

/* Note that provider `owner` uses `key` in this session. Fails with
 * STATE_KEY_CLASH, if one of another name did, or NO_MEMORY. */
PDR_MUST_CHECK pdr_rc pdr__bag_own(pdr_bag *bag, pdr_str key, const char *owner,
                                   pdr_err *err);

/* --- what nobody knows (check.c) ----------------------------------------- */

/* Tell of the members of a session, and of the messages that it keeps, that no
 * edition knows; those of the bag are its providers'. Fails as
 * pdr_session_from_value(), and with what `fn` returned. */
PDR_MUST_CHECK pdr_rc pdr__session_check_members(const pdr_value *document,
                                                 pdr_err *err,
                                                 pdr_doc_finding_fn fn,
                                                 void *arg);

/* --- runs (session.c) ----------------------------------------------------- */

/* Begin a run on a session; false if another one is at work. A fact of this
 * process, never written. */
bool pdr__session_begin_run(pdr_session *session);
void pdr__session_end_run(pdr_session *session);
/* Is it one of the texts that stand for "the history is local"? */
bool pdr__is_sentinel(pdr_str text);
/* A text in place of an id that says "the history is here" becomes null, since
 * the session runs here. `*dropped`: its member; NULL if there was none. */
PDR_MUST_CHECK pdr_rc pdr__session_drop_sentinel(const char **dropped,
                                                 pdr_session *session,
                                                 pdr_err *err);

/* Let two sessions, which nobody else uses now, change places: each is where
 * the other one was, bags too. For whoever wants to know whether a third one
 * remembers a session by its address. */
void pdr__session_swap(pdr_session *one, pdr_session *two);
/* The same for bags. */
void pdr__bag_swap(pdr_bag *one, pdr_bag *two);

#endif
