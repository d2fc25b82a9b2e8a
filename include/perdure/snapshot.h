/*
 * perdure/snapshot.h - folders of session files, shared with Python programs.
 *
 * A snapshot folder holds one file per session, as the file session store of
 * the Python edition writes it, and files of messages, as its file history
 * provider writes them. It is for exchange: a store (store.h) is what to keep
 * sessions in. Names, envelope and the rules for damaged files are in
 * docs/formats/snapshots.md.
 *
 * Between perdure processes a folder is safe: writers take a lock, and each can
 * name the generation that it read. A Python program takes no lock, so beside a
 * running one a write can still be lost between our look and our rename.
 */
#ifndef PERDURE_SNAPSHOT_H
#define PERDURE_SNAPSHOT_H

#include <perdure/session.h>

PDR_BEGIN_DECLS

typedef struct pdr_folder pdr_folder;

typedef enum pdr_folder_format {
    PDR_FOLDER_JSON = 0,   /* .json; history: .jsonl */
    PDR_FOLDER_MSGPACK = 1 /* .msgpack; history: records in .msgpack */
} pdr_folder_format;

/* Which bytes a file had. */
typedef struct pdr_generation {
    bool exists;        /* false: there was no file */
    uint8_t sha256[32]; /* of the bytes; zero if there was none */
} pdr_generation;

/** The generation of a file with these bytes.
 * @param[out] out  as it was on failure.
 * @param bytes     borrowed for the call.
 * @return PDR_OK; PDR_EIO (reason "digest_failed"). @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_generation_of(pdr_generation *out,
                                                pdr_str bytes, pdr_err *err);

/** Do two files have the same bytes, or are both not there?
 * @param a,b  not NULL. @thread any @since 0.1 */
PDR_API bool pdr_generation_equal(const pdr_generation *a,
                                  const pdr_generation *b);

/** Open a folder.
 * @param[out] out  owned; release with pdr_folder_close(). NULL on failure.
 * @param path      copied; its last part must be no symbolic link.
 * @param create    make it, mode 0700, if it is not there.
 * @return PDR_OK; PDR_ENOTFOUND (reason "no_folder"); PDR_EIO (reason
 *         "file_failed", with errno in `sys`); PDR_ENOMEM.
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_folder_open(pdr_folder **out,
                                              const char *path,
                                              pdr_folder_format format,
                                              bool create, pdr_err *err);

/** NULL is fine. @thread owner @since 0.1 */
PDR_API void pdr_folder_close(pdr_folder *folder);

/* Common failures of what follows: PDR_EINVALID with reason "folder_key" for a
 * key that is empty, no UTF-8 or has more than 128 code points, "file_link" for
 * a symbolic link, "key_collision" if a file belongs to another key, whose name
 * differs in case only or is an old spelling of this one (the text has both);
 * PDR_EIO (reason "file_failed"); PDR_ENOMEM. */

/** Append the file name, without extension, that a key has.
 * @param old  as releases 1.13 to 1.17 spelled it, instead of 1.18 and later.
 * @return PDR_OK; PDR_EINVALID (reason "folder_key"); what pdr_buf_reserve()
 *         gives. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_folder_stem(pdr_buf *out, pdr_str key,
                                              bool old, pdr_err *err);

/**
 * Read a session. Bare NaN and lone surrogates are read, kept, and reported. No
 * file is moved or changed, however damaged it is.
 *
 * @param[out] out  owned; NULL on failure.
 * @param[out] generation  of the file; may be NULL.
 * @param fn        borrowed with `arg` for the call; may be NULL. Rules:
 *                  "bare-token", "lone-surrogate", "old-name", "newer-version",
 *                  "superseded-file".
 * @return PDR_OK; PDR_ENOTFOUND (reason "no_session"); PDR_ECORRUPT (reason
 *         "damaged", with the byte) if the bytes are not a document of the
 *         format; PDR_EINVALID with reason "envelope" for a document that is
 *         not a session of the Python edition, with the path, and what the
 *         codec gives for limits, binary data, timestamps and names that are
 *         not text; PDR_EVERSION (reason "session_version").
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_folder_get(pdr_session **out,
                                             pdr_generation *generation,
                                             pdr_folder *folder, pdr_str key,
                                             pdr_err *err,
                                             pdr_doc_finding_fn fn, void *arg);

/* What writes a session does not write over a damaged file: it renames the
 * file, keeps it, writes nothing, and fails with PDR_ECORRUPT, reason
 * "quarantined"; the text has the new name. The next read finds no session, and
 * the next write goes through. "quarantine_full" if there are 100 such files
 * already: it stays; "file_changed" if another file took its place meanwhile:
 * try again. */

/** Set the file of a session aside if it is damaged, as a write would: for a
 * program that has to read the session before it can write it.
 * @return PDR_OK: there is no damaged file; PDR_ECORRUPT as above; as
 *         pdr_folder_remove(). @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_folder_set_aside(pdr_folder *folder,
                                                   pdr_str key, pdr_err *err);

/**
 * Write a session: all of it or nothing, on disk when it returns. A file of an
 * old name is renamed.
 *
 * @param[out] written  the new generation; may be NULL, or the same as
 *                      `expected`. On failure that of no file.
 * @param expected      borrowed for the call; write only if the file still has
 *                      this generation. NULL: whatever is there.
 * @param session       of shape PYTHON; others are refused (reason
 *                      "session_kind"): convert them first. What the Python
 *                      edition needs and it lacks is added; the member
 *                      `perdure` of a conversion is left out, and a file that
 *                      has just these bytes already is left as it is.
 * @param fn            told of what is left out, before anything is written
 *                      (rule "note-left-out"); what it returns other than
 *                      PDR_OK ends the call, and nothing is written. May be
 *                      NULL.
 * @return PDR_OK; PDR_ECONFLICT (reason "generation_changed"): nothing was
 *         written; PDR_ECORRUPT as above; PDR_EINVALID (reason "envelope")
 *         if a file of messages has the name, which stays, and for what the
 *         format cannot hold, with the path: "bare_token", "number_range" and
 *         what pdr_codec_write() gives; PDR_EUNKNOWN (reason "sync_failed") if
 *         it was written and the disk then failed.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_folder_set(pdr_generation *written,
                                             pdr_folder *folder, pdr_str key,
                                             const pdr_generation *expected,
                                             pdr_session *session, pdr_err *err,
                                             pdr_doc_finding_fn fn, void *arg);

/** Could a folder of this format hold a session? All that pdr_folder_set()
 * looks at before it looks at the folder, so that of many sessions none is
 * written if one cannot be. What is in the folder can still refuse it.
 * @param session  borrowed for the call; not changed.
 * @return PDR_OK; PDR_EINVALID and PDR_ENOMEM as pdr_folder_set() gives them.
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_folder_check(pdr_folder_format format,
                                               pdr_str key,
                                               pdr_session *session,
                                               pdr_err *err);

/** Remove a session; one that is not there is no failure without `expected`.
 * @param expected  as for pdr_folder_set().
 * @return PDR_OK; PDR_ECONFLICT and PDR_ECORRUPT as for pdr_folder_set().
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_folder_remove(pdr_folder *folder, pdr_str key,
                                                const pdr_generation *expected,
                                                pdr_err *err);

typedef enum pdr_folder_entry_kind {
    PDR_FOLDER_SESSION = 1, /* the session of its key */
    PDR_FOLDER_SUPERSEDED,  /* an old name, beside a new one */
    PDR_FOLDER_CORRUPT,     /* damaged, set aside by a write */
    PDR_FOLDER_LEFTOVER     /* of a write that did not end */
} pdr_folder_entry_kind;

/* One file. All borrowed for the call. */
typedef struct pdr_folder_entry {
    pdr_folder_entry_kind kind;
    pdr_str file; /* its name in the folder */
    pdr_str key;  /* of the session: from the name, or from inside the file if
                     the name does not tell; empty if nobody knows */
    bool has_old_name;
    uint64_t bytes; /* its size */
} pdr_folder_entry;

/** Called for each file in the order of the names. A return other than PDR_OK
 * ends it with that code. */
typedef pdr_rc (*pdr_folder_fn)(const pdr_folder_entry *entry, pdr_err *err,
                                void *arg);

/** List the files of the folder's format. @return PDR_OK; what `fn` returned;
 * as above. @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_folder_list(pdr_folder *folder, pdr_err *err,
                                              pdr_folder_fn fn, void *arg);

/* --- files of messages --------------------------------------------------- */

/* What a torn or unterminated end was, and where it was kept. */
typedef struct pdr_history_report {
    uint64_t messages;   /* that were read, or are there now */
    uint64_t tail_bytes; /* of an end that is no whole record; 0: none */
    bool unterminated;   /* the last line had no line break, but was whole */
    char aside[256];     /* name of the file that keeps the tail; "" if none */
} pdr_history_report;

/** Called for each message in order. */
typedef pdr_rc (*pdr_history_fn)(const pdr_value *message, pdr_err *err,
                                 void *arg);

/** Read the messages of a session's history file. It is not changed. An end
 * that somebody is writing right now can look torn.
 * @param key     empty: the file of sessions without id.
 * @param report  may be NULL.
 * @return PDR_OK, also with a torn end; PDR_ENOTFOUND (reason "no_session") if
 *         there is no file; PDR_ECORRUPT (reason "damaged_record", with the
 *         number of line or record in the text) for anything else that is no
 *         message; with that number too, what the codec gives for text that is
 *         no UTF-8, limits, binary data and timestamps; what `fn` returned.
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_folder_history(pdr_history_report *report,
                                                 pdr_folder *folder,
                                                 pdr_str key, pdr_err *err,
                                                 pdr_history_fn fn, void *arg);

/** Append messages; on disk when it returns. What it costs does not depend on
 * the length of the file. A torn end is cut off first and kept in a file of its
 * own, a missing line break is added.
 * @param messages  borrowed for the call; `count` objects of shape PYTHON.
 * @param report    may be NULL; `messages` is 0.
 * @return PDR_OK; PDR_EINVALID for what the format cannot hold; PDR_EUNKNOWN
 *         (reason "sync_failed"). @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_folder_history_append(
    pdr_history_report *report, pdr_folder *folder, pdr_str key,
    const pdr_value *const *messages, size_t count, pdr_err *err);

PDR_END_DECLS

#endif
