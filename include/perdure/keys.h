/*
 * perdure/keys.h - keys of people and programs that use a server.
 *
 *     pdr_key_create ──► "pd_ID_SECRET" ──► Authorization: Bearer pd_ID_SECRET
 *
 * A file of keys has one line of JSON for each key (docs/formats/keys.md). It
 * has no secret, only the SHA-256 of each: a lost key cannot be shown again.
 */
#ifndef PERDURE_KEYS_H
#define PERDURE_KEYS_H

#include <perdure/buf.h>
#include <perdure/datetime.h>

PDR_BEGIN_DECLS

/* What a key may be used for. */
typedef enum pdr_scope {
    PDR_SCOPE_NONE = 0,
    PDR_SCOPE_READ = 1,  /* look at sessions, answers, streams, figures */
    PDR_SCOPE_RUN = 2,   /* say something to agents */
    PDR_SCOPE_WRITE = 4, /* change and delete sessions */
    PDR_SCOPE_ADMIN = 8  /* all of that, and look after the server */
} pdr_scope;

/** "read", "run", "write", "admin". @return static; NULL if it is not one of
 * them. @thread any @since 0.1 */
PDR_API const char *pdr_scope_name(unsigned scope);
/** @return PDR_SCOPE_NONE if there is none called so. @thread any @since 0.1 */
PDR_API unsigned pdr_scope_find(pdr_str name);

/* A key, without its secret. Texts are borrowed. */
typedef struct pdr_key {
    pdr_str id;      /* 1 to 32 small letters and digits */
    unsigned scopes; /* PDR_SCOPE_..., one or more */
    pdr_str tenant;  /* whose sessions it leads to */
    pdr_datetime created;
    pdr_str note; /* for people; absent: none */
} pdr_key;

typedef struct pdr_keys pdr_keys;

/**
 * Read a file of keys.
 *
 * @param[out] out  owned; release with pdr_keys_free(). NULL on failure.
 * @return PDR_OK; PDR_ENOTFOUND ("no_key_file"); PDR_EDENIED ("unsafe_file":
 *         others may read or write it); PDR_EINVALID ("bad_key_file"); PDR_EIO
 *         ("file_failed"); PDR_ENOMEM. @thread any @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_keys_read(pdr_keys **out, const char *path,
                                            pdr_err *err);
/** NULL is fine. @thread owner @since 0.1 */
PDR_API void pdr_keys_free(pdr_keys *keys);
/** @thread const @since 0.1 */
PDR_API size_t pdr_keys_count(const pdr_keys *keys);
/** In the order of the file. @return borrowed; NULL if there are fewer.
 * @thread const @since 0.1 */
PDR_API const pdr_key *pdr_keys_at(const pdr_keys *keys, size_t index);

/**
 * Draw a key and add it to a file, which is made if it is not there. The file
 * is replaced as a whole; others who change it meanwhile wait.
 *
 * @param out  gets the key, which nobody can see again, appended.
 * @param key  borrowed for the call; its `id` and `created` are not read. An
 *             absent tenant is the default one.
 * @return as pdr_keys_read(), but a file that is not there is fine, a folder
 *         that is not there is "no_key_file"; PDR_EUNKNOWN ("sync_failed": it
 *         was added, and may not be there after a loss of power);
 *         PDR_EMISUSE ("bad_option": no scope); PDR_EINVALID ("bad_ref": no
 * name of a tenant); PDR_EIO ("no_randomness"). @thread any @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_key_create(pdr_buf *out, const char *path,
                                             const pdr_key *key, pdr_err *err);

/** Take a key out of a file, in the same way.
 * @return as pdr_keys_read(); PDR_ENOTFOUND ("no_key": it has none with this
 *         id). @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_key_revoke(const char *path, pdr_str id,
                                             pdr_err *err);

PDR_END_DECLS

#endif
