/*
 * shim_vfs.h - a VFS of SQLite around the default one: it counts, it fails on
 * demand, and it remembers what a disk would have lost.
 *
 *     shim_new("shim")               open with sqlite:FILE?vfs=shim
 *     shim_fail(shim, ...)           the nth file operation fails
 *     shim_record(shim)              from now on, write down every change
 *     shim_disk_new(shim)            play it again, point by point, and put
 *     shim_disk_image(disk, ...)     down what power loss there could leave
 *
 * Needs SQLite alone, so that benchmarks can link it too. For any number of
 * threads, except where it says otherwise. What goes wrong in here (no memory,
 * no room for an image) ends the program: a test must not go on without it.
 */
#ifndef PDR_TEST_SHIM_VFS_H
#define PDR_TEST_SHIM_VFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What SQLite asks of files. Unlocking counts as locking. */
enum shim_op {
    SHIM_OPEN,
    SHIM_READ,
    SHIM_WRITE,
    SHIM_TRUNCATE,
    SHIM_SYNC,
    SHIM_SIZE,
    SHIM_LOCK,
    SHIM_RESERVED, /* xCheckReservedLock */
    SHIM_DELETE,
    SHIM_ACCESS,
    SHIM_PATH, /* xFullPathname */
    SHIM_SHM_MAP,
    SHIM_SHM_LOCK,
    SHIM_OPS
};
#define SHIM_ANY SHIM_OPS /* whichever */

enum shim_file {
    SHIM_MAIN,
    SHIM_WAL,
    SHIM_JOURNAL,
    SHIM_OTHER, /* temporary ones */
    SHIM_FILES
};

struct shim;

/* Register a VFS of this name, which must outlive the shim. */
struct shim *shim_new(const char *name);
/* After all its files are closed. NULL is fine. */
void shim_free(struct shim *shim);

/* The word for an operation; static. */
const char *shim_op_word(enum shim_op op);

/* --- counts ---------------------------------------------------------------
 */

/* Operations of a kind, or SHIM_ANY, and bytes written, and bytes that reads
 * asked for, since the last reset.
 */
size_t shim_count(struct shim *shim, enum shim_op op);
uint64_t shim_bytes(struct shim *shim, enum shim_file file);
uint64_t shim_bytes_read(struct shim *shim, enum shim_file file);
void shim_reset_counts(struct shim *shim);

/* --- faults ---------------------------------------------------------------
 */

struct shim_fault {
    enum shim_op op; /* which kind; SHIM_ANY: every one */
    size_t nth;      /* of that kind from now, 1 is the next; 0: none */
    bool for_ever;   /* and all of that kind behind it */
    bool full;       /* a write says that the disk is full */
    bool dies;       /* the process is killed in its place */
};

/* A write that fails has written half of its bytes, in whole sectors, as a disk
 * that runs full does. Unlocking happens even where it fails. */
void shim_fail(struct shim *shim, const struct shim_fault *fault);
/* Those that failed since the last shim_fail(), and the last one's kind. */
size_t shim_failed(struct shim *shim);
enum shim_op shim_failed_op(struct shim *shim);

/* A planted mistake: xSync says yes and does nothing. */
void shim_swallow_syncs(struct shim *shim, bool swallow);

/* --- power loss ------------------------------------------------------------
 * All files are taken to be in one folder.
 */

/* From now on, for files that are opened from now on. What is in one when it is
 * opened first is on the disk. */
void shim_record(struct shim *shim);
/* What is in the folder now is on the disk, also before it is opened. */
void shim_record_folder(struct shim *shim, const char *folder);
/* A remark between two changes: so many commits are acknowledged, and with
 * those under way there may be so many. */
void shim_mark(struct shim *shim, size_t acknowledged, size_t possible);

/* The side file of a store, which SQLite does not know: side_file.c stands in
 * front of the calls that change it, and writes them down for this shim; NULL:
 * for none. */
extern struct shim *shim_beside;
void shim_beside_write(const char *path, const void *bytes, size_t len,
                       int64_t at);
void shim_beside_truncate(const char *path, int64_t size);
void shim_beside_sync(const char *path);

/* The disk, as it was at one point of what was recorded. For one thread;
 * nothing may be recorded meanwhile. */
struct shim_disk;

enum shim_point {
    SHIM_POINT_SYNC,   /* a sync is about to be asked for */
    SHIM_POINT_SYNCED, /* it was done, or has failed */
    SHIM_POINT_MARK,   /* behind a mark that acknowledged more */
    SHIM_POINT_CHANGE, /* behind any other change */
    SHIM_POINT_END     /* behind the last change: no more points */
};

/* Before the first change. `shim` must outlive it. */
struct shim_disk *shim_disk_new(const struct shim *shim);
void shim_disk_free(struct shim_disk *disk);
/* Go on to the next point. `changes`: those too that are no sync or mark. */
enum shim_point shim_disk_next(struct shim_disk *disk, bool changes);
/* The last mark. */
size_t shim_disk_acknowledged(const struct shim_disk *disk);
size_t shim_disk_possible(const struct shim_disk *disk);
/* Writes and truncations that power loss could undo. */
size_t shim_disk_unsynced(const struct shim_disk *disk);

/* What is left of unsynced changes. */
enum shim_loss {
    SHIM_LOSS_ALL,     /* nothing of them */
    SHIM_LOSS_NONE,    /* everything: the process died, the system did not */
    SHIM_LOSS_MAIN,    /* those of main files are gone, all others there */
    SHIM_LOSS_REST,    /* the other way round */
    SHIM_KEEP_LAST,    /* the last one alone */
    SHIM_KEEP_FIRST,   /* the first one alone */
    SHIM_TEAR_LAST,    /* all, but the last one in part */
    SHIM_LOSS_SOME,    /* any of them */
    SHIM_LOSS_SECTORS, /* any sectors of them; zeros between */
    SHIM_LOSS_GARBAGE, /* the same; anything between */
    SHIM_LOSSES
};

/* Put down what the disk could hold after power loss at this point, into a
 * folder that is there, in place of all files in it. The same seed gives the
 * same files; shared memory is always lost. */
void shim_disk_image(const struct shim_disk *disk, const char *folder,
                     enum shim_loss loss, uint64_t seed);

/* The same at the end of what is recorded so far; the kind of loss is the seed
 * modulo SHIM_LOSSES. */
void shim_power_loss(const struct shim *shim, const char *folder,
                     uint64_t seed);

#endif
