/*
 * file.h - the files of a store, looked at from outside.
 */
#ifndef PDR_SQLITE_FILE_H
#define PDR_SQLITE_FILE_H

#include "store.h"

/* The path without links; of a file that is not there, that of its folder and
 * its name. Owned by the caller. Fails with NO_STORE, BAD_URI, FILE_FAILED. */
PDR_MUST_CHECK pdr_rc pdr__file_real_path(char **out, bool *found,
                                          const char *path, pdr_err *err);
/* The path with something behind it. Owned by the caller; NULL: no memory. */
char *pdr__file_beside(const char *path, const char *suffix);
/* May a store live in this file? Fails with NO_STORE, NOT_A_STORE,
 * UNSAFE_FILE. */
PDR_MUST_CHECK pdr_rc pdr__file_check(const char *path, pdr_err *err);
/* What a file system of this kind is called, if it is refused; else NULL. */
const char *pdr__file_system_refused(uint64_t magic);
/* An empty file that only its owner may read; one that is there stays. */
PDR_MUST_CHECK pdr_rc pdr__file_make(const char *path, pdr_err *err);
/* Who may use the file `path` may use the open file `fd`, too, as far as we may
 * say so. */
void pdr__file_share(int fd, const char *path);
/* Which file it is, and nothing of its times: who asks for them makes the next
 * change of the file dearer (log.c). */
struct pdr__file_id {
    uint64_t inode; /* 0: it is not there, or may be any */
    uint32_t major, minor;
};
/* Of a path, or with "" of an open file; false: it is not there. */
bool pdr__file_id(struct pdr__file_id *out, int fd, const char *path);
bool pdr__file_id_equal(const struct pdr__file_id *a,
                        const struct pdr__file_id *b);
/* 0 if it is not there. */
uint64_t pdr__file_bytes(const char *path);
/* The same without a look at its times; false: it is not there. */
bool pdr__file_size(uint64_t *out, const char *path);
/* When it was changed last, in nanoseconds; 0 if it is not there. */
int64_t pdr__file_changed_ns(const char *path);
bool pdr__file_is_on_read_only_system(const char *path);
/* Owned by the caller. Fails with NO_KEY_FILE, BAD_KEY_FILE, UNSAFE_FILE. */
PDR_MUST_CHECK pdr_rc pdr__file_read_key(uint8_t **out, size_t *len,
                                         const char *path, pdr_err *err);

#endif
