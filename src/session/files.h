/*
 * files.h - the few file calls that snapshot folders need, as a table.
 *
 * The real table uses the system. Tests give one that folds the case of names,
 * one that fails, one that ends the process.
 */
#ifndef PDR_SESSION_FILES_H
#define PDR_SESSION_FILES_H

#include "base.h"

/* Bytes of a name in a folder, the final NUL included. */
#define PDR_NAME_ROOM 256

enum pdr__file_kind {
    PDR_FILE_ABSENT = 0,
    PDR_FILE_REGULAR,
    PDR_FILE_LINK, /* symbolic */
    PDR_FILE_OTHER
};

struct pdr__file_info {
    enum pdr__file_kind kind;
    uint64_t bytes;         /* its size */
    uint64_t device, inode; /* two names of one file have both in common */
};

/* What a file is opened for. All follow no link, and all that is written goes
 * to the end of the file. */
enum pdr__file_use {
    PDR_FILE_READ,   /* there, to be read */
    PDR_FILE_CREATE, /* not there yet, mode 0600 */
    PDR_FILE_GROW    /* made if it is not there, mode 0600; to be read, too */
};

/* Called with each name of a folder; what is not 0 ends it with that number. */
typedef int (*pdr__file_name_fn)(const char *name, void *arg);

/*
 * All slots are there. All but `close` give 0 or an errno number, and none is
 * ended by a signal. Files and folders are descriptors; a name is one part,
 * without slash. Called from any thread.
 */
struct pdr__files {
    void *ctx; /* handed to each */
    /* Open a folder, or make it first, mode 0700, if it is not there. ELOOP if
     * the path is a link. */
    int (*open_folder)(void *ctx, int *out, const char *path, bool create);
    /* What has this name; one that has nothing is no failure. */
    int (*look)(void *ctx, struct pdr__file_info *out, int folder,
                const char *name);
    /* ELOOP if it is a link. */
    int (*open)(void *ctx, int *out, int folder, const char *name,
                enum pdr__file_use use);
    /* What an open file is. */
    int (*measure)(void *ctx, struct pdr__file_info *out, int file);
    /* Up to `len` bytes from `at` on; *got is 0 at the end. */
    int (*read)(void *ctx, size_t *got, int file, void *into, size_t len,
                uint64_t at);
    /* All of it, at the end; on failure some of it may be there. */
    int (*write)(void *ctx, int file, const void *bytes, size_t len);
    int (*cut)(void *ctx, int file, uint64_t bytes);
    int (*sync)(void *ctx, int file); /* a file or a folder */
    /* Takes the place of what has the new name. */
    int (*rename)(void *ctx, int folder, const char *from, const char *to);
    int (*remove)(void *ctx, int folder, const char *name);
    int (*list)(void *ctx, int folder, pdr__file_name_fn fn, void *arg);
    /* Wait until nobody else has this file locked; closing ends the lock. */
    int (*lock)(void *ctx, int file);
    void (*close)(void *ctx, int file);
};

/* The calls of the system. Static. */
const struct pdr__files *pdr__files_system(void);

/* Fail with FILE_FAILED and errno, or with FILE_LINK for ELOOP: "cannot VERB
 * 'NAME': ..." */
pdr_rc pdr__file_failed(pdr_err *err, int sys, const char *verb,
                        const char *name);

#endif
