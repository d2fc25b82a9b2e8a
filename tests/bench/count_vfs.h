/*
 * count_vfs.h - a VFS of SQLite that counts what is written through it.
 */
#ifndef PDR_BENCH_COUNT_VFS_H
#define PDR_BENCH_COUNT_VFS_H

#include <stdint.h>

#define COUNT_VFS "count"

/* Bytes and calls since the program began, over all files. */
struct count_vfs {
    uint64_t log_bytes;  /* to write-ahead logs */
    uint64_t main_bytes; /* to main files, so by checkpoints */
    uint64_t syncs;
};

/* Make it known as COUNT_VFS, beside the default. Before threads start. */
void count_vfs_register(void);

struct count_vfs count_vfs_get(void);

/* Everything between two moments. */
uint64_t count_vfs_bytes(const struct count_vfs *from,
                         const struct count_vfs *to);

#endif
