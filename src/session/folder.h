/*
 * folder.h - what names.c, envelope.c, folder.c and history.c share.
 */
#ifndef PDR_SESSION_FOLDER_H
#define PDR_SESSION_FOLDER_H

#include <pthread.h>

#include <perdure/snapshot.h>

#include "files.h"
#include "session.h"

/* --- names (names.c) ----------------------------------------------------- */

/* Is it a key for sessions of a folder? Fails with FOLDER_KEY. */
PDR_MUST_CHECK pdr_rc pdr__folder_key_check(pdr_str key, pdr_err *err);

/* Append the stem of any text that is UTF-8, of any length. Fails as
 * pdr_buf_reserve(), and with FOLDER_KEY for what is empty or no UTF-8. */
PDR_MUST_CHECK pdr_rc pdr__stem(pdr_buf *out, pdr_str key, bool old,
                                pdr_err *err);

/* Does the name hold a hash, so that it does not tell the key? */
bool pdr__stem_is_hash(pdr_str stem);

/* The key that has this stem: *out, whose content is lost, and *known. No key
 * has it, or it is a hash: not known. Fails as pdr_buf_reserve(). */
PDR_MUST_CHECK pdr_rc pdr__stem_key(pdr_buf *out, bool *known, pdr_str stem,
                                    bool old, pdr_err *err);

/* --- the file of a session (envelope.c) ---------------------------------- */

/* Does this reason of a codec say that the bytes are no document of the format
 * at all? What stays is one that we do not take. */
bool pdr__is_no_document(const pdr_err *err, pdr_folder_format format);

/* Read the bytes, with bare tokens. `bytes` may be taken. Fails as the codec
 * does. */
PDR_MUST_CHECK pdr_rc pdr__envelope_read(pdr_value **out, pdr_buf *bytes,
                                         pdr_folder_format format,
                                         pdr_err *err);

/* Is it what the file store of the Python edition takes, or a newer minor
 * version of it? Fails with ENVELOPE or SESSION_VERSION and the path. */
PDR_MUST_CHECK pdr_rc pdr__envelope_check(const pdr_value *root, pdr_err *err);

/* Tell what is strange about a document that was read. */
PDR_MUST_CHECK pdr_rc pdr__envelope_tell(struct finder *finder,
                                         const pdr_value *root, pdr_err *err);

/* Make *io what goes into a file: members that are missing are added at the
 * end, `version` last, our own one is taken out. *changed: was there anything
 * to do? Fails with NO_MEMORY, ENVELOPE, SESSION_VERSION. */
PDR_MUST_CHECK pdr_rc pdr__envelope_complete(pdr_value **io, bool *changed,
                                             pdr_err *err);

/* Append the bytes of a document. `flags`: PDR_BARE_TOKENS or 0. Fails as the
 * codec does. */
PDR_MUST_CHECK pdr_rc pdr__envelope_write(pdr_buf *out, const pdr_value *root,
                                          pdr_folder_format format,
                                          unsigned flags, pdr_err *err);

/* --- folders (folder.c) -------------------------------------------------- */

#define PDR_FOLDER_LOCK ".perdure.lock"

/* Where a history file in MessagePack was whole, so that the next append need
 * not look at what stands before. */
struct history_mark {
    uint64_t device, inode;
    uint64_t end; /* a record ends here; 0: nothing known */
};

struct pdr_folder {
    const struct pdr__files *files; /* borrowed */
    int dir;                        /* owned; the folder */
    pdr_folder_format format;
    pthread_mutex_t lock;     /* guards `mark` */
    struct history_mark mark; /* of the file appended to last */
};

/* pdr_folder_open() with other file calls, which must outlive the folder. */
PDR_MUST_CHECK pdr_rc pdr__folder_open_with(pdr_folder **out, const char *path,
                                            pdr_folder_format format,
                                            bool create,
                                            const struct pdr__files *files,
                                            pdr_err *err);

/* Wait for the lock of the folder; release it. */
PDR_MUST_CHECK pdr_rc pdr__folder_lock(int *out, pdr_folder *folder,
                                       pdr_err *err);
void pdr__folder_unlock(pdr_folder *folder, int lock);

/* What there is under the names of a key. */
struct found {
    bool exists;
    bool has_old_name;
    char name[PDR_NAME_ROOM];       /* of the file, or of the one to make */
    char fresh[PDR_NAME_ROOM];      /* the name that is written */
    char superseded[PDR_NAME_ROOM]; /* an old name beside it; "" if none */
    pdr_buf other; /* the key whose new name `name` is, if that is not the key
                      asked for; else empty */
    pdr_buf rival; /* the key whose old name `fresh` is, in the same way */
};

void pdr__found_dispose(struct found *found);

/* Look for the file of a key. `extension` with its point. Fails with FILE_LINK,
 * KEY_COLLISION, FILE_FAILED, NO_MEMORY. */
PDR_MUST_CHECK pdr_rc pdr__folder_find(struct found *out, pdr_folder *folder,
                                       pdr_str key, const char *extension,
                                       pdr_err *err);

/* Fail with KEY_COLLISION: a file that may be of either key. */
pdr_rc pdr__folder_collision(pdr_err *err, const char *name, pdr_str key,
                             pdr_str other);

/* Append what a file holds. Fails with NO_SESSION if there is none, FILE_LINK,
 * FILE_FAILED, TOO_LARGE, NO_MEMORY. */
PDR_MUST_CHECK pdr_rc pdr__folder_read(pdr_buf *out, pdr_folder *folder,
                                       const char *name, pdr_err *err);

/* Is it the beginning of a file of messages? In MessagePack that has the ending
 * of a session, but begins with a length, of which the first byte is small, and
 * a map; a session begins with the map. */
bool pdr__is_history(pdr_str bytes, pdr_folder_format format);

/* Does the document in a file have this `session_id`? One that is gone or no
 * document does not. Fails with FILE_FAILED, FILE_LINK, NO_MEMORY. */
PDR_MUST_CHECK pdr_rc pdr__folder_says(bool *out, pdr_folder *folder,
                                       const char *name, pdr_str id,
                                       pdr_err *err);

/* ".json" or ".msgpack". Static. */
const char *pdr__folder_extension(pdr_folder_format format);
/* What its files are read with. Static. */
const pdr_codec *pdr__folder_codec(pdr_folder_format format);

/* A name without its ending. */
pdr_str pdr__stem_of(const char *name, const char *ending);

/* The name that `name` was made from by pdr__folder_beside(); empty if it was
 * not. */
pdr_str pdr__beside_what(const char *name, const char *ending);

/* A name beside `name`, which has an extension, as in ".abc.json.0123….tmp".
 * Fails with NO_RANDOMNESS. */
PDR_MUST_CHECK pdr_rc pdr__folder_beside(char out[PDR_NAME_ROOM],
                                         const char *name, const char *ending,
                                         pdr_err *err);

/* Make a file that is not there, with these bytes, synced; nothing is left of
 * it on failure. */
PDR_MUST_CHECK pdr_rc pdr__folder_make(pdr_folder *folder, const char *name,
                                       pdr_str bytes, pdr_err *err);

/* Put the folder itself on the disk. Fails with SYNC_FAILED: what was done is
 * done, but may be undone by a loss of power. */
PDR_MUST_CHECK pdr_rc pdr__folder_sync(pdr_folder *folder, pdr_err *err);

/* Fails with QUARANTINE_FULL if no more files may be put aside. The caller has
 * the lock. */
PDR_MUST_CHECK pdr_rc pdr__folder_room_aside(pdr_folder *folder,
                                             const char *name, pdr_err *err);

#endif
