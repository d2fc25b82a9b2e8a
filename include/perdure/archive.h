/*
 * perdure/archive.h - documents into a store and out of it; what is kept.
 *
 *     a stream of JSON ── pdr_import ──► frame, entries, slots, properties
 *     a stream of JSON ◄── pdr_export ── the same bytes, and what came since
 *     another store    ◄── pdr_copy ──── the same sessions
 *
 * In a store a session is no document: its history is entries, its bag is
 * slots, and what stands around them is the frame (docs/formats/frame.md). An
 * import splits a session, a session with metadata, or a durable state document
 * into these; an export puts them together again. What nobody changed comes
 * back byte for byte.
 *
 * Both work on streams: a session of any length needs no more memory than its
 * largest entry or slot asks for.
 *
 * Times are milliseconds since 1970 (UTC), and always the caller's.
 */
#ifndef PERDURE_ARCHIVE_H
#define PERDURE_ARCHIVE_H

#include <perdure/codec.h>
#include <perdure/store.h>

PDR_BEGIN_DECLS

/* --- import --------------------------------------------------------------- */

/** Opens a store, or makes it; called on the caller's thread, at most once.
 * @param[out] out  borrowed from whoever gave the function; must outlive the
 *                  import.
 * @return PDR_OK, or a code that ends the import. */
typedef pdr_rc (*pdr_import_open_fn)(pdr_store **out, pdr_err *err, void *arg);

typedef struct pdr_import_opts {
    pdr_ref ref;       /* id absent: the one that the document has */
    pdr_str agent;     /* for lists; absent: that of a durable id, else none;
                          of the document's one only if a store can have it */
    bool replace;      /* take the place of a session that is there */
    bool bare_tokens;  /* NaN, Infinity and -Infinity may stand in it */
    uint64_t revision; /* with `replace`: of that session; 0: whichever */
    uint64_t epoch;    /* the same, of its entries */
    int64_t now_ms;
    uint32_t timeout_ms;     /* of each commit, as in pdr_commit_options */
    pdr_import_open_fn open; /* if there is no store yet, see pdr_import() */
    void *open_arg;
} pdr_import_opts;

typedef struct pdr_import_report {
    pdr_ref ref;       /* borrowed from `opts` or from `id` */
    char id[1025];     /* of the session, if `opts` did not name it */
    uint64_t revision; /* that it has now */
    uint64_t epoch;
    uint64_t entries;
    uint64_t slots;
    uint64_t properties;
    uint64_t bytes;   /* that were read */
    uint64_t commits; /* that it took */
} pdr_import_report;

/**
 * Read one document from a stream and make a session of it: a session of any
 * shape, a session with metadata, or a durable state document, as JSON.
 *
 * It is there as a whole or not at all. Up to 4 MiB and 20,000 rows it is one
 * commit; more is staged in several, while others go on to write, and seen when
 * the last one is done. A session that is there is refused unless `replace` is
 * set; then the new one begins a new epoch, and keeps the inbox, the
 * completions of the last 24 hours, and, where the document says nothing of
 * them, the properties and the expiry of the old one. `expirationTimeUtc` of a
 * state document is the expiry of the session: null clears it, what is no date
 * says nothing. An entry has the time that it says, else PDR_NO_TIME.
 *
 * @param[out] out  may be NULL. Filled on success.
 * @param store     NULL: `opts->open` opens it when the first commit is about
 *                  to be made. So a document that is refused before that leaves
 *                  no new store behind.
 * @param opts      borrowed for the call.
 * @param fn        gives the bytes; borrowed with `arg` for the call.
 * @return PDR_OK; PDR_EEXISTS ("session_exists"); PDR_EINVALID
 *         ("no_session_id": neither `opts` nor the document names one;
 *         "session_unknown_shape", "session_member", "session_not_object",
 *         "bag_not_object", "history_shape", "wrong_kind" with the path;
 *         "bad_ref", with the path if it is the document's own id; what is no
 *         JSON, with its offset); PDR_EVERSION
 *         ("schema_version_unsupported", "session_version"); PDR_ELIMIT
 *         ("row_too_large", with the path and the size; "too_deep",
 *         "too_many_slots", ...); PDR_EUNSUPPORTED ("member_order": a document
 *         above 8 MiB whose first members do not tell what it is;
 *         "member_late": one whose last members say that the first ones are
 *         something else, or where a name occurs again); as
 *         pdr_store_commit(); what `fn` or `opts->open` returned.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_import(pdr_import_report *out,
                                         pdr_store *store,
                                         const pdr_import_opts *opts,
                                         pdr_err *err, pdr_read_fn fn,
                                         void *arg);

/* What lists compare of a property: one text for each text, number and boolean;
 * numbers that are equal have the same one. */

/** The `match` of a property's value, appended to `out`.
 * @param[out] found  false: no list finds such a value (null, an array, an
 *                    object, or a text that is too long).
 * @return PDR_OK; PDR_ENOMEM. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_property_match(pdr_buf *out, bool *found,
                                                 const pdr_value *value,
                                                 pdr_err *err);

/* --- export --------------------------------------------------------------- */

/** Look at the head of the session that is written next, before its first byte.
 * It may be asked again, with a later one. Another code than PDR_OK ends the
 * export with it. */
typedef pdr_rc (*pdr_export_head_fn)(const pdr_head *head, pdr_err *err,
                                     void *arg);

typedef struct pdr_export_opts {
    pdr_ref ref;
    bool bare; /* without the wrapper that holds its properties */
    pdr_export_head_fn on_head; /* or NULL; borrowed for the call */
    void *head_arg;
} pdr_export_opts;

typedef struct pdr_export_report {
    uint64_t revision; /* that was written */
    uint64_t epoch;
    uint64_t entries;
    uint64_t slots;
    uint64_t properties;
    uint64_t bytes;
} pdr_export_report;

/**
 * Write a session as one JSON document, as it was at the moment of the call: in
 * the frame that it came in, or if it was made here as a durable state document
 * (kind "durable") or a native session. A state document says when the session
 * expires. Bodies go in as they are: a commit that brought one which is no JSON
 * (store.h counts its brackets and quotes only) makes a document that is none.
 *
 * @param[out] out  may be NULL. Filled on success.
 * @param opts      borrowed for the call.
 * @param fn        takes the bytes; borrowed with `arg` for the call.
 * @return PDR_OK; PDR_ENOTFOUND ("no_session"); PDR_ECONFLICT
 *         ("session_changed"): it was replaced or cut while it was written, or
 *         its bag is larger than 16 MiB and was changed; PDR_EINVALID
 *         ("cannot_export": an entry has no form in this document); what was
 *         written until then is no document; PDR_ECORRUPT ("bad_frame", or as
 *         pdr_store_read()); what `fn` or `opts->on_head` returned.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_export(pdr_export_report *out,
                                         pdr_store *store,
                                         const pdr_export_opts *opts,
                                         pdr_err *err, pdr_write_fn fn,
                                         void *arg);

/* --- what is kept --------------------------------------------------------- */

/* What to remove from the beginning of a session: whole turns. In a history
 * that was imported, a turn goes from a message of a user to the next one. What
 * is kept never has the result of a call whose call was removed; a second
 * result of a call that had one before does not count. */
typedef struct pdr_retain_opts {
    pdr_ref ref;
    uint64_t keep_turns; /* the last ones stay; 0: does not count */
    int64_t before_ms;   /* turns whose entries are all older go; 0: does not
                            count. With both, what either removes goes */
    bool untimed_from_import; /* an entry without a time is as old as its
                                 import; else it is older than nothing, and
                                 `before_ms` removes neither it nor what comes
                                 after it */
    int64_t now_ms;
    uint32_t timeout_ms; /* of each commit */
} pdr_retain_opts;

typedef struct pdr_retain_report {
    uint64_t turns; /* that were removed */
    uint64_t entries;
    uint64_t completions; /* that went with them: none of the last 24 hours */
    uint64_t revision;    /* of the session now */
    uint64_t untimed_seq; /* of the entry that ended the rule by age, since it
                             has no time; 0: there was none */
} pdr_retain_report;

/**
 * Remove the oldest turns of a session. Bag and properties stay. In several
 * commits if there is much to remove; each leaves a whole session.
 *
 * By age, the time of an entry is `created_ms`; of an imported session the time
 * that the body of the entry says, or, if it says none, `created_ms` if it is
 * later than the import. (Stores of version 2 and older may have times in
 * `created_ms` that nobody wrote.)
 *
 * @param[out] out  may be NULL. Filled as far as it came.
 * @return PDR_OK, also if there is nothing to remove; PDR_EINVALID
 *         ("bad_retention": neither bound is set); PDR_ENOTFOUND
 *         ("no_session"); PDR_ECONFLICT ("revision_changed") if somebody keeps
 *         on writing; as pdr_store_read() and pdr_store_commit().
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_retain(pdr_retain_report *out,
                                         pdr_store *store,
                                         const pdr_retain_opts *opts,
                                         pdr_err *err);

/* Called with the head of each session that a dry run would remove; borrowed
 * for the call. Another code than PDR_OK ends it with that. */
typedef pdr_rc (*pdr_purge_fn)(void *arg, const pdr_head *head, pdr_err *err);

/* Which sessions to remove. Everything that is set must hold. */
typedef struct pdr_purge_opts {
    pdr_str tenant;            /* absent: of all tenants */
    int64_t changed_before_ms; /* not changed since; 0: does not count */
    bool expired;              /* whose expiry is over at `now_ms` */
    bool dry_run;              /* only count, and call `fn` */
    int64_t now_ms;
    uint32_t timeout_ms;
    pdr_purge_fn fn; /* of a dry run; may be NULL */
    void *arg;       /* borrowed with `fn` for the call */
} pdr_purge_opts;

typedef struct pdr_purge_report {
    uint64_t removed;
    uint64_t entries; /* that they had */
    uint64_t spared;  /* somebody works on them, or has work for them */
} pdr_purge_report;

/**
 * Remove sessions by the age of their last change, or those that have expired.
 * One whose lease somebody holds at `now_ms` is spared, and by age one in whose
 * inbox work waits that came due since `changed_before_ms`.
 *
 * @param[out] out  may be NULL. Filled as far as it came.
 * @return PDR_OK; PDR_EINVALID ("bad_retention": neither bound is set; a
 *         tenant's name as "bad_ref"); as pdr_store_read() and
 *         pdr_store_commit(); what `fn` returned.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_purge(pdr_purge_report *out, pdr_store *store,
                                        const pdr_purge_opts *opts,
                                        pdr_err *err);

/* --- from store to store ---------------------------------------------------
 */

typedef struct pdr_copy_opts {
    pdr_str tenant;    /* absent: all tenants */
    pdr_str id;        /* only this session; absent: all sessions. Its tenant is
                          the default one, if none is named */
    bool replace;      /* bring sessions up to date that are there already */
    bool skip_damaged; /* leave out what cannot be read, and go on */
    bool skip_others;  /* leave out what stands there as something else, and
                          go on */
    int64_t now_ms;
    uint32_t timeout_ms; /* of each commit */
} pdr_copy_opts;

typedef struct pdr_copy_report {
    uint64_t sessions; /* that were copied */
    uint64_t replaced; /* of these, in the place of another one */
    uint64_t same;     /* that were there already, just so */
    uint64_t damaged;  /* that were left out, since they cannot be read */
    uint64_t others;   /* that were left out: something else stands there */
    uint64_t entries;  /* of the copies */
    uint64_t rows;     /* that were written, of all kinds but heads */
    uint64_t bytes;    /* of their bodies */
    uint64_t commits;  /* that it took */
    const pdr_ref *left_out; /* only while `fn` is called because of it: the
                                session that was left out; else NULL */
    const pdr_err *why;      /* then: what was wrong */
    bool to_failed; /* then, and if the copying failed: this is about the
                       store that is written, not the one that is read */
} pdr_copy_report;

/* Called now and then, and for each session that is left out, with the report
 * so far; another code than PDR_OK ends the copying with it. */
typedef pdr_rc (*pdr_copy_fn)(void *arg, const pdr_copy_report *report,
                              pdr_err *err);

/**
 * Copy sessions of one store into another, each as it is at one moment: with
 * its revision, its times, its numbers, and what is in progress; without its
 * lease. Others may go on to write to both stores. Memory does not grow with
 * what is copied. Copied again it goes on where it ended, since what is there
 * already and the same is passed over.
 *
 * A session that is there and is not the same is refused, or with `replace`
 * brought up to date, if it is a copy that nobody has committed to since. One
 * that went on by itself, or was made there, is never replaced. A
 * damaged session ends the copying, or with `skip_damaged` is left out; so does
 * one that is refused, or with `skip_others` is left out. If a head is damaged,
 * so that the list of all sessions cannot be read, it ends.
 *
 * @param[out] out  may be NULL. Filled as far as it came.
 * @param opts      borrowed for the call.
 * @param fn        may be NULL.
 * @return PDR_OK; PDR_EEXISTS ("session_exists"); PDR_ECONFLICT
 *         ("ahead_of_origin": what stands there is no untouched copy, or newer;
 *         "session_changed": somebody keeps on writing to it); PDR_ENOTFOUND
 *         ("no_session", with `id`); PDR_EINVALID ("bad_ref"); as
 *         pdr_store_read() and pdr_store_commit(); what `fn` returned. Sessions
 *         that were copied before stay.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_copy(pdr_copy_report *out, pdr_store *to,
                                       pdr_store *from,
                                       const pdr_copy_opts *opts, pdr_err *err,
                                       pdr_copy_fn fn, void *arg);

PDR_END_DECLS

#endif
