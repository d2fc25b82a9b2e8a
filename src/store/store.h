/*
 * store.h - what the files of this folder share. See README.md.
 */
#ifndef PDR_STORE_STORE_H
#define PDR_STORE_STORE_H

#include <perdure/sys/store.h>

#include "base.h"

/* --- digests (seal.c) ------------------------------------------------------
 * A row's digest covers a word for its table and all its columns, each with its
 * length, so that no two rows are the same bytes. In place of the number that a
 * backend gives to a session stand tenant and id: so the digests of two stores
 * with the same rows are the same, and a row that got under another session
 * does not fit there.
 */

/* Makes digests one after the other: PDR_SEAL_INIT, then any of the functions
 * below, then dispose. For one thread. */
struct pdr__seal {
    struct pdr__sha256 sha;
    size_t used; /* bytes in `pending` */
    uint8_t pending[512];
};

/* clang-format off */
#define PDR_SEAL_INIT {PDR_SHA256_INIT, 0, {0}}
/* clang-format on */

/* What SHA-256 works on; HMAC fills it with the key. */
#define PDR_HMAC_BLOCK_BYTES 64u

void pdr__seal_dispose(struct pdr__seal *seal);

/* All fail with DIGEST_FAILED. */
PDR_MUST_CHECK pdr_rc pdr__seal_anchor(pdr_digest out, struct pdr__seal *seal,
                                       const pdr_store *store,
                                       const pdr_ref *ref, uint64_t epoch,
                                       pdr_err *err);
/* Of an entry's own columns; `seq` and `digest` do not count. */
PDR_MUST_CHECK pdr_rc pdr__seal_entry(pdr_digest out, struct pdr__seal *seal,
                                      const pdr_store *store,
                                      const pdr_entry *entry, pdr_err *err);
/* Of an entry in its place: what its row holds. */
PDR_MUST_CHECK pdr_rc pdr__seal_link(pdr_digest out, struct pdr__seal *seal,
                                     const pdr_store *store,
                                     const pdr_digest before,
                                     const pdr_digest own, uint64_t epoch,
                                     uint64_t seq, pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__seal_slot(pdr_digest out, struct pdr__seal *seal,
                                     const pdr_store *store, const pdr_ref *ref,
                                     const pdr_slot *slot, pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__seal_property(pdr_digest out, struct pdr__seal *seal,
                                         const pdr_store *store,
                                         const pdr_ref *ref,
                                         const pdr_property *property,
                                         pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__seal_frame(pdr_digest out, struct pdr__seal *seal,
                                      const pdr_store *store,
                                      const pdr_ref *ref, pdr_str frame,
                                      pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__seal_completion(
    pdr_digest out, struct pdr__seal *seal, const pdr_store *store,
    const pdr_ref *ref, const pdr_completion *completion, pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__seal_work(pdr_digest out, struct pdr__seal *seal,
                                     const pdr_store *store, const pdr_ref *ref,
                                     pdr_part part, uint64_t n,
                                     const pdr_work *work, pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__seal_head(pdr_digest out, struct pdr__seal *seal,
                                     const pdr_store *store,
                                     const pdr_head *head, pdr_err *err);

/* --- arguments (check.c, body.c) -------------------------------------------
 */

/* The agent in the id of a durable session; absent if it is none. A part of
 * `id`. */
pdr_str pdr__durable_agent(pdr_str id);
/* Can it be the name of an agent in a store? */
bool pdr__is_agent(pdr_str name);
/* Whether a store is still open, for handles that may outlive it (store.c). */
struct pdr__life;

/* One more holder; NULL if the store was not opened by pdr_store_open(). */
struct pdr__life *pdr__life_of(pdr_store *store);
/* NULL never is. */
bool pdr__life_is_over(const struct pdr__life *life);
void pdr__life_free(struct pdr__life *life);

/* `ref` with the default tenant if it names none. Fails with BAD_REF, and says
 * which part is wrong. */
PDR_MUST_CHECK pdr_rc pdr__ref_check(pdr_ref *out, const pdr_ref *ref,
                                     pdr_err *err);

/* May these edits be one commit? Looks at lengths, UTF-8, brackets, quotes,
 * depth and what excludes what; not at the store. `bytes` gets the bytes of all
 * texts. Fails with BAD_REF, BAD_EDIT, BAD_BODY, ROW_TOO_LARGE, TOO_DEEP,
 * COMMIT_TOO_LARGE; `path` of err tells where, as in
 * "/edits/0/entries/1/body". */
PDR_MUST_CHECK pdr_rc pdr__edits_check(size_t *bytes, const pdr_edit *edits,
                                       size_t count, pdr_err *err);
/* The same for a step of a stage, a request whose verb is not PDR_STAGE_NONE:
 * `out` gets what it writes, as an edit. Paths begin with "/stage". */
PDR_MUST_CHECK pdr_rc pdr__step_check(pdr_edit *out, size_t *bytes,
                                      const pdr_request *step, pdr_err *err);

/* The same for a query: `out` is a copy with tenant and defaults filled in.
 * Fails with BAD_REF, BAD_QUERY. */
PDR_MUST_CHECK pdr_rc pdr__query_check(pdr_query *out, const pdr_query *query,
                                       pdr_err *err);

/* Is the list of sessions with this filter in the order of ids? */
static inline bool pdr__filter_is_by_id(const pdr_filter *filter)
{
    return filter->property.ptr != NULL || filter->id_prefix.ptr != NULL;
}

/* Does the id begin as the filter says, if it says anything? */
static inline bool pdr__filter_takes_id(const pdr_filter *filter, pdr_str id)
{
    pdr_str prefix = filter->id_prefix;

    return prefix.len == 0 || (id.len >= prefix.len &&
                               memcmp(id.ptr, prefix.ptr, prefix.len) == 0);
}

/* Is it one JSON text as far as brackets and quotes tell: one value and not
 * two, UTF-8, no byte below 0x20 in a string and none but white space outside,
 * strings closed, brackets in pairs, at most `depth` (up to PDR_MAX_DEPTH)
 * deep? Fails with BAD_BODY or TOO_DEEP and the offset. */
PDR_MUST_CHECK pdr_rc pdr__body_check(pdr_str body, size_t depth, pdr_err *err);

/* --- commits (plan.c, plan_copy.c) ---------------------------------------- */

/* As pdr_head_check(), for those who check many. */
PDR_MUST_CHECK pdr_rc pdr__head_check(struct pdr__seal *seal,
                                      const pdr_store *store,
                                      const pdr_head *head, pdr_err *err);

/* Does the edit alter what the session is, and so its revision? */
bool pdr__edit_moves(const pdr_edit *edit);

/* What is true or false of a session, in one number, as digests and rows have
 * it. */
#define PDR_HEAD_FRAME 1u
#define PDR_HEAD_TTL   2u
static inline uint64_t pdr__head_flags(const pdr_head *head)
{
    return (head->has_frame ? PDR_HEAD_FRAME : 0) |
           (head->has_ttl ? PDR_HEAD_TTL : 0);
}

/* Was it copied here from another store, and nobody has committed to it since?
 */
bool pdr__head_is_copy(const pdr_head *head);

/* --- pages (page.c, page_check.c, cursor.c) --------------------------------
 */

/* The digest of the entry in front of one on a page. */
struct pdr__before {
    pdr_digest digest;
    bool known;
};

/* A page with what its reader must not see. */
struct pdr__page {
    pdr_page page; /* first: what the caller has */
    struct pdr__arena memory;
    const pdr_query *query;     /* borrowed, only while it is filled */
    pdr_list_place place;       /* where the query goes on */
    void *rows;                 /* the array, with room for query->limit rows */
    size_t bytes;               /* of the rows' texts so far */
    struct pdr__before *before; /* of each entry; in `memory` */
    bool has_head, more;
    pdr_digest frame; /* of the frame */
};

PDR_MUST_CHECK pdr_rc pdr__page_new(struct pdr__page **out,
                                    const pdr_query *query, pdr_err *err);
/* Check every digest, the chain, numbers and counts, and make `next`. */
PDR_MUST_CHECK pdr_rc pdr__page_finish(struct pdr__page *page,
                                       const pdr_store *store, pdr_err *err);

/* The text of a place, and back. It carries the kind of the query and a hash of
 * its filter; a text of another query, or one that was changed, fails with
 * BAD_CURSOR. Texts of the place live in `memory`. */
PDR_MUST_CHECK pdr_rc pdr__cursor_write(pdr_str *out, struct pdr__arena *memory,
                                        const pdr_query *query,
                                        const pdr_list_place *place,
                                        pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__cursor_read(pdr_list_place *out,
                                       struct pdr__arena *memory,
                                       const pdr_query *query, pdr_err *err);

/* --- backends (builtin.c, uri.c) -------------------------------------------
 */

/* The backend for a URI, and what stands behind its colon, owned by the caller.
 * A text without a scheme is a file of SQLite, and `rest` has it with what a
 * URI escapes. Fails with BAD_URI, NO_MEMORY. */
PDR_MUST_CHECK pdr_rc pdr__backend_find(const pdr_store_ops **out, char **rest,
                                        const char *uri, pdr_err *err);

/* The path of "PATH?NAME=VALUE&...", decoded, and its parameters one by one. */
struct pdr__uri {
    char *path; /* owned */
    char *rest; /* owned: parameters that were not taken yet */
};
PDR_MUST_CHECK pdr_rc pdr__uri_read(struct pdr__uri *out, const char *text,
                                    pdr_err *err);
/* The value of a parameter, decoded, owned by the caller; NULL if there is
 * none. Takes it out. Fails with BAD_URI if there are two. */
PDR_MUST_CHECK pdr_rc pdr__uri_take(char **out, struct pdr__uri *uri,
                                    const char *name, pdr_err *err);
/* Fails with BAD_URI if a parameter is left over. */
PDR_MUST_CHECK pdr_rc pdr__uri_end(const struct pdr__uri *uri, pdr_err *err);
void pdr__uri_dispose(struct pdr__uri *uri);

/* --- watches (watch.c) -----------------------------------------------------
 */

/* Set up and release store->watches. */
PDR_MUST_CHECK pdr_rc pdr__watches_new(pdr_store *store, pdr_err *err);
void pdr__watches_free(pdr_store *store);
/* This was committed by this process, or may have been. Cheap when nobody
 * watches. */
void pdr__watches_fire(const pdr_write *write);

/* --- words ------------------------------------------------------------------
 * The spelling of enums in tables and messages; static.
 */
const char *pdr__session_state_word(pdr_session_state state);
const char *pdr__row_kind_word(pdr_row_kind kind);
const char *pdr__row_shape_word(pdr_row_shape shape);
const char *pdr__part_word(pdr_part part);
/* And back: false if there is no such word. */
bool pdr__session_state_read(pdr_session_state *out, pdr_str word);
bool pdr__row_kind_read(pdr_row_kind *out, pdr_str word);
bool pdr__row_shape_read(pdr_row_shape *out, pdr_str word);
bool pdr__part_read(pdr_part *out, pdr_str word);

/* Fails with AFTER_FORK in another process than the one that opened it. */
PDR_MUST_CHECK pdr_rc pdr__store_here(const pdr_store *store, pdr_err *err);

#endif
