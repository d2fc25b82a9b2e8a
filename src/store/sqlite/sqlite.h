/*
 * sqlite.h - what the files of this folder share. See README.md.
 */
#ifndef PDR_SQLITE_SQLITE_H
#define PDR_SQLITE_SQLITE_H

#include <pthread.h>
#include <sqlite3.h>

#include "file.h"
#include "store.h"

/* "PdrS" in the header of the file: whose it is. */
#define PDR_SQLITE_APPLICATION 0x50647253

/* Version of the tables that this library makes and writes. Older ones it only
 * reads: migrate.c brings them here. */
#define PDR_SQLITE_SCHEMA 3u

/* Bytes of a page of a new file (docs/decisions tells the measurement). */
#define PDR_SQLITE_PAGE 4096

/* Bytes at the end of each page that SQLite leaves alone, and what is left to
 * it. */
#define PDR_SQLITE_RESERVED 8
#define PDR_SQLITE_USABLE   (PDR_SQLITE_PAGE - PDR_SQLITE_RESERVED)

/* A row has a body and some short texts, and SQLite takes so many bytes. */
#define PDR_SQLITE_ROW_BYTES 1000000000
_Static_assert(PDR_MAX_ROW_BYTES < PDR_SQLITE_ROW_BYTES / 2,
               "a row must not be larger than SQLite takes");

/* `part` of the rows of `parts`: those of pdr_part, the slots of the bag, and
 * the frame, which has the key ''. */
#define PDR_SQLITE_SLOTS 3
#define PDR_SQLITE_FRAME 4

/* `kind` and `shape` in `log` are those of pdr_row_kind and pdr_row_shape;
 * completions, which stand there too, have a kind of their own. */
#define PDR_SQLITE_COMPLETION 9

/* --- the store -------------------------------------------------------------
 */

struct pdr__store_row;

/* Bytes of an id, see struct pdr__store_row. */
#define PDR_STORE_ID 16

/* The last frame of the WAL that was synced: its number, the pages of the file
 * behind it, its salt and its sum, as they stand in its header, and a sum of
 * these. All zero: there is none. */
#define PDR_LOG_END 32
struct pdr__log_end {
    uint8_t frame[PDR_LOG_END];
    uint32_t page; /* that is in this frame */
    uint8_t page_sum[8];
};

/* What the side file says of the WAL (lock.c, left.c). */
struct pdr__note {
    enum pdr__wal_state {
        PDR_WAL_UNKNOWN, /* nothing, or what an older version wrote: `end` */
        PDR_WAL_EMPTIED, /* the main file had all of it before it was emptied or
                            begun anew; what is in it since, nobody noted */
        PDR_WAL_COMMITS, /* it holds commits that were acknowledged */
        PDR_WAL_TAKEN    /* another program copied all of it, and pages are
                            getting their sums */
    } state;
    struct pdr__log_end end; /* if it holds commits */
    /* Of the main file when the WAL was begun. */
    uint8_t id[PDR_STORE_ID];
    uint64_t generation;
    uint32_t mark;
};

/* Where a process stands in the line for the writer lock (lock.c). */
struct pdr__line {
    int fd;           /* of the side file; -1: the store is read only */
    bool made;        /* we made that file, when we opened it */
    int place;        /* in the line; -1: not in it */
    bool held;        /* the lock is ours */
    int64_t moved_ms; /* when it came to its place */
    int64_t free_ms;  /* since when it sees the lock free, while nobody in front
                         takes it; 0: it does not */
    int64_t asleep;   /* what sum_in_front() was when they were passed; 0:
                         nobody was, or all are gone */
    bool wrote;       /* its last turn at the lock changed the store */
    int64_t left_us;  /* when it gave the lock back; 0: it came back since */
    int64_t come_back_us;  /* that it needs for that, when it was refused */
    bool was_safe;         /* no sync had failed before the one that began */
    struct pdr__note note; /* as the file has it, since that sync began */
    /* For those who ask whether others have committed: hashes of the note that
     * we saw last, and of the one that we write; whether a sync of ours is
     * under way; how often another one was found, and one of others had not
     * ended. */
    atomic_uint_fast64_t known, writing, others;
    atomic_bool syncing;
    atomic_uint stuck;
    struct pdr__line *next; /* that is open; guarded by the lock of opened.c */
};

/* clang-format off */
#define PDR_LINE_INIT {.fd = -1, .place = -1}
/* clang-format on */

/* Statements of the writer; their texts stand in sql.h. */
enum pdr__sqlite_sql {
#define X(name, text) PDR_SQL_##name,
#include "sql.h"
#undef X
    PDR_SQL_COUNT
};

/* A row for `log` that the present transaction has not written yet (pack.c):
 * an entry or a completion. */
struct pdr__pending {
    const pdr_plan *plan; /* borrowed */
    size_t i;             /* which of the plan's entries or completions */
    bool is_completion;
    int64_t cell; /* bytes that it takes on its page; 0: written */
};

/* Rows that are put in order together; more gain nothing. */
#define PDR_MAX_PENDING 256

/* The end of `log` in the file, as far as we know it (pack.c). */
struct pdr__tail {
    bool known;       /* `left` is true */
    int64_t left;     /* bytes free on the last page of `log` */
    int64_t last_row; /* rowid of the last row that we wrote */
    int64_t last_cell;
};

struct pdr__pack {
    struct pdr__pending pending[PDR_MAX_PENDING];
    size_t count;
    const pdr_plan *failed; /* whose row could not be written; NULL: none */
    struct pdr__tail tail;
    struct pdr__tail before; /* as it was when the transaction began */
};

/* Places of `log` that are looked at, and moved, together (sparse.c): some
 * twenty pages. */
#define PDR_STRETCH 64

/* Stretches from which this process removed rows; half of them is used. A
 * gigabyte of texts of the usual size. */
#define PDR_SPARSE_NOTES 65536u

/* A row of `log` that is to be moved. */
struct pdr__moving {
    int64_t place;
    int64_t cell; /* bytes on its page; 0: it was moved */
};

struct pdr__sparse_note {
    int64_t stretch;
    uint32_t removed; /* rows; 0: the slot is free */
};

struct pdr__sparse {
    struct pdr__sparse_note *notes; /* owned; NULL: nothing was removed */
    size_t count;                   /* slots in use */
    size_t at;                      /* where the next look begins */
    unsigned rounds;                /* through all since the last find */
    struct pdr__moving moving[PDR_MAX_PENDING]; /* those that were taken */
    size_t taken;
    size_t rows;    /* that were taken since the transaction began */
    bool open;      /* there may be something to find */
    bool is_moving; /* rows are moved, not removed */
};

/* What a vacuum remembers between two steps (vacuum.c). */
struct pdr__vacuum {
    int64_t at, end; /* places of `log` */
    size_t amount;   /* of what a step does */
    uint64_t copied; /* bytes of the log at the last copy */
    unsigned tries;  /* of the last copy */
    int64_t pages;   /* that it may yet give */
};

/* The one row of `store`. */
struct pdr__store_row {
    uint64_t number;    /* a counter: the next session gets it */
    int64_t created_ms; /* of the store */
    /* From version 3 on. Which file it is, to tell whether a WAL belongs to it
     * (claim.c). Copies that were made at other times have another generation,
     * since each handle raises it with its first commit; a backup, which can be
     * made between, has another mark. */
    uint8_t id[PDR_STORE_ID]; /* random */
    uint64_t generation;
    uint32_t mark; /* random; in the header of the file, as its user_version */
};

/* The one connection of the process that writes. Only the leader of the group
 * touches it, or open and close, while nobody else has the store. */
struct pdr__writer {
    sqlite3 *db;                       /* owned; NULL: read only */
    sqlite3_stmt *stmt[PDR_SQL_COUNT]; /* owned */
    struct pdr__arena memory;  /* texts of rows that a transaction has found */
    struct pdr__store_row row; /* as it will be written */
    struct pdr__store_row before; /* as it stands in the store */
    bool has_counted;    /* a commit of this handle has raised the generation */
    int64_t removing_ms; /* that rows of sessions took in a transaction */
    atomic_uint_fast64_t log_bytes; /* of the log after the last commit */
    uint64_t checkpoint_at; /* bytes of the log that start the next one */
    struct pdr__pack pack;
    struct pdr__sparse sparse;
    struct pdr__vacuum vacuum;
};

/* Commits that wait, and who carries them out (group.c). */
struct pdr__ticket;
struct pdr__group {
    pthread_mutex_t lock;
    struct pdr__ticket *first; /* guarded by lock, as all below */
    struct pdr__ticket *last;
    bool led; /* somebody is the leader, or was told to become it */
    uint64_t commits;
    uint64_t groups;
};

/* Connections that read (readers.c). */
struct pdr__reader;
struct pdr__readers {
    pthread_mutex_t lock;
    pthread_cond_t given;
    struct pdr__reader *idle; /* guarded by lock, as `open` is */
    size_t open;
    pthread_mutex_t polling;
    struct pdr__reader *poller; /* guarded by polling */
};

/* Our VFS, as one store has it registered (vfs.c). */
struct pdr__vfs {
    sqlite3_vfs vfs;
    char name[32];
    bool is_open;
    bool without_sums; /* pages of main files are read without a look at them */
    bool keeps_deleted; /* what pages do not use is written as it is */
    /* Called before a WAL is begun anew or emptied, unless it is NULL; false:
     * it must not be. */
    bool (*empties)(void *arg);
    void *arg;
    const char *memory_path; /* borrowed: of the memory that processes share;
                                NULL: nobody looks how long it is */
};

/* A store that this process has open, or that its parent had (opened.c). */
struct pdr__opened {
    const char *path;  /* borrowed; NULL: it is not in the list */
    bool is_inherited; /* by this process, which was forked since */
    struct pdr__opened *next;
};

struct pdr__sqlite {
    pdr_store base;
    struct pdr__opened opened;
    char *path;        /* owned: the real path of the main file */
    char *side_path;   /* owned: of the file with the locks */
    char *log_path;    /* owned: of SQLite's log */
    char *memory_path; /* owned: of the memory that processes share */
    struct pdr__file_id log_id, memory_id; /* when it was opened for writing */
    char *below; /* owned: name of the VFS below ours; NULL: the usual */
    struct pdr__vfs vfs;
    bool read_only;
    bool without_sums;    /* sums=off: to rescue what another program wrote */
    bool keeps_deleted;   /* secure_delete=off: its bytes are not overwritten */
    bool alone;           /* read-only medium without a log: nothing changes */
    int64_t changed_ns;   /* then: when the file was changed last */
    uint32_t schema;      /* version of its tables */
    atomic_bool in_doubt; /* a commit ended unknown */
    atomic_bool damaged;  /* what is in the log cannot be copied */
    struct pdr__line line;
    struct pdr__writer writer;
    struct pdr__group group;
    struct pdr__readers readers;
};

/* The table of this backend, for builtin.c. */
extern const pdr_store_ops pdr__sqlite_ops;

/* --- opening (open.c) ------------------------------------------------------
 */

/* What a URI asks for, besides the members of a store. */
struct pdr__wish {
    bool must_be_there; /* set by the caller: a missing file is not made */
    bool creates;       /* mode=rwc */
    bool found;         /* the file is there */
};

/* A store that is not open yet: its files, key and mode, as the URI says. */
PDR_MUST_CHECK pdr_rc pdr__sqlite_new(struct pdr__sqlite **out,
                                      struct pdr__wish *wish, const char *rest,
                                      pdr_err *err);
void pdr__sqlite_release(struct pdr__sqlite *store);

/* A connection with every rule set: WAL, full sync, no checkpoints of SQLite's
 * own, no trust in the schema, no waiting. Release with sqlite3_close(). */
PDR_MUST_CHECK pdr_rc pdr__sqlite_connect(sqlite3 **out,
                                          const struct pdr__sqlite *store,
                                          bool read_only, pdr_err *err);
/* Release the statements and the connection of the writer. */
void pdr__writer_close(struct pdr__writer *writer);

/* --- forks (opened.c) -------------------------------------------------------
 */

/* The store at `path`, which must outlive the entry, is about to be opened.
 * `self` is that of a struct pdr__sqlite. Fails with AFTER_FORK if the parent
 * of this process had it open. */
PDR_MUST_CHECK pdr_rc pdr__opened_add(struct pdr__opened *self,
                                      const char *path, pdr_err *err);
/* It was closed. One that was not added is fine. */
void pdr__opened_remove(struct pdr__opened *self);
/* open() and close() of the file of a line, which no child keeps: no process
 * forks in the middle of one. False: it cannot be opened, see errno. */
bool pdr__opened_file(struct pdr__line *line, const char *path, int flags);
void pdr__opened_close(struct pdr__line *line);

/* --- files (vfs.c, left.c) -------------------------------------------------
 */

/* Register a VFS for one store over the one of this name; NULL: over the usual
 * one. It must stay where it is, and outlive the connections. */
PDR_MUST_CHECK pdr_rc pdr__vfs_open(struct pdr__vfs *self, const char *below,
                                    pdr_err *err);
/* One that was not opened is fine. */
void pdr__vfs_close(struct pdr__vfs *self);

/* Is the WAL that a process left behind, if there is one, whole as far as it
 * can be told (left.c)? Before SQLite reads it. Sets `is_gone` if it is not the
 * one that held the commits of the note. Fails with STORE_DAMAGED, FILE_FAILED.
 */
PDR_MUST_CHECK pdr_rc pdr__left_check(bool *is_gone, const char *log_path,
                                      const struct pdr__note *note,
                                      pdr_err *err);
/* The same, and do the main file, the WAL and the note belong together
 * (claim.c)? Nobody has the store open for writing. A WAL that another program
 * has copied into the main file is made good, unless the store is read only.
 * Fails with STORE_DAMAGED, FILE_FAILED. */
PDR_MUST_CHECK pdr_rc pdr__claim(struct pdr__sqlite *store, pdr_err *err);

/* Does it have commits, though the file `path` is empty, or not there? Fails
 * with STORE_DAMAGED then: SQLite would remove it. */
PDR_MUST_CHECK pdr_rc pdr__left_fits(const char *path, const char *log_path,
                                     pdr_err *err);
/* Which of the first `pages` pages its commits have: bit n % 8 of byte n / 8
 * for page n. Owned: release with pdr__free(). */
PDR_MUST_CHECK pdr_rc pdr__left_pages(uint8_t **out, uint32_t pages,
                                      const char *log_path, pdr_err *err);

/* A file control of main files that are ours: what is known of one. */
#define PDR_FCNTL_STATE 0x50645601
struct pdr__file_state {
    bool has_sums;    /* each page ends with its sum */
    bool is_in_log;   /* the last damage that was found is in the log */
    uint32_t damaged; /* number of that page or frame; 0: none was found */
    int lost; /* why bytes of the last transaction did not reach the log, and no
                 sync was tried; SQLITE_OK: they did */
};

/* Another one, of a new file: a bool, whether its pages get sums. SQLite writes
 * page 1, which says so, behind others. */
#define PDR_FCNTL_SUMS 0x50645602

/* One that writes the log once more, as it is, and syncs it; no argument. */
#define PDR_FCNTL_RENEW_LOG 0x50645604

/* And one that gives a struct pdr__log_end: the end of the WAL, after COMMIT
 * did; zeros if nothing was written since it was asked last. */
#define PDR_FCNTL_LOG_END 0x50645603

/* --- failures (error.c) ----------------------------------------------------
 */

/* Turn what SQLite said into a reason; `what` says what was tried, as in
 * "writing a commit". `db` may be NULL. Never PDR_OK. */
pdr_rc pdr__sqlite_fail(pdr_err *err, sqlite3 *db, int code, const char *what);

/* --- rows (row.c) ----------------------------------------------------------
 */

/* The columns of a head, from column 0 of a SELECT on. `no`, the number of the
 * session, is its epoch, too. */
#define PDR_SQLITE_HEAD_COLUMNS                                              \
    "no,tenant,id,agent,kind,schema_version,state,revision,commits,created," \
    "changed,expiry,first_seq,next_seq,slots,properties,completions,"        \
    "journal_first,journal_next,stream_first,stream_next,inbox,inbox_next,"  \
    "has_frame,lease_owner,fence,lease_until,anchor,chain,digest"
#define PDR_SQLITE_HEAD_COUNT 30

/* And of a completion in `log`; its epoch is the session, if it has entries. */
#define PDR_SQLITE_COMPLETION_COLUMNS \
    "n,session,key,fingerprint,body,created,first_seq,last_seq,digest"

/* The head in the present row of `stmt`. Its texts live until the statement
 * moves. Fails with STORE_DAMAGED if a column is not of its type; does not look
 * at the digest. */
PDR_MUST_CHECK pdr_rc pdr__sqlite_head(pdr_head *out, sqlite3_stmt *stmt,
                                       pdr_err *err);
/* The same from its columns; its texts live as long as these. */
PDR_MUST_CHECK pdr_rc pdr__sqlite_head_of(pdr_head *out, sqlite3_value **values,
                                          pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__sqlite_completion(pdr_completion *out, int64_t *n,
                                             sqlite3_stmt *stmt, pdr_err *err);

/* --- the tables (schema.c) -------------------------------------------------
 */

/* Ask for the pages of this version: with room for a checksum, and such that
 * free ones can be given back. Before the first is written; of a file that has
 * pages, VACUUM makes them so. */
PDR_MUST_CHECK pdr_rc pdr__schema_pages(sqlite3 *db, pdr_err *err);
/* Make the tables in an empty file, or find out whether they are ours and of
 * which version. Needs the writer lock. Fails with NOT_A_STORE, STORE_VERSION,
 * WRONG_KEY. */
PDR_MUST_CHECK pdr_rc pdr__schema_make(struct pdr__sqlite *store, sqlite3 *db,
                                       int64_t now_ms, pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__schema_check(struct pdr__sqlite *store, sqlite3 *db,
                                        pdr_err *err);
/* Is nothing in the file yet? */
PDR_MUST_CHECK pdr_rc pdr__schema_is_empty(bool *out, sqlite3 *db,
                                           pdr_err *err);

/* Make what version `to` has and the one before it has not, and say so in the
 * row of `store`. Inside a transaction of the caller. */
PDR_MUST_CHECK pdr_rc pdr__schema_raise(struct pdr__sqlite *store, sqlite3 *db,
                                        uint32_t to, pdr_err *err);
/* Fails with STORE_VERSION if the store is of a version that can only be read.
 */
PDR_MUST_CHECK pdr_rc pdr__schema_is_written(const struct pdr__sqlite *store,
                                             pdr_err *err);

/* The digest of the one row of `store`, which tells a wrong key. It covers the
 * version, store->schema. */
PDR_MUST_CHECK pdr_rc pdr__schema_seal(pdr_digest out,
                                       const struct pdr__sqlite *store,
                                       const struct pdr__store_row *row,
                                       pdr_err *err);
/* The row as it is now. */
PDR_MUST_CHECK pdr_rc pdr__schema_row(struct pdr__store_row *out,
                                      const struct pdr__sqlite *store,
                                      sqlite3 *db, pdr_err *err);

/* --- migration (migrate.c) --------------------------------------------------
 */

/* The `migrate` of the table. */
PDR_MUST_CHECK pdr_rc pdr__sqlite_migrate(const char *rest,
                                          pdr_migrate_report *out,
                                          pdr_err *err);

/* --- the writer lock (lock.c) ----------------------------------------------
 */

PDR_MUST_CHECK pdr_rc pdr__line_open(struct pdr__line *line, const char *path,
                                     pdr_err *err);
void pdr__line_close(struct pdr__line *line);
/* Open it and wait for the lock, until then (monotonic clock); again, if the
 * file was removed meanwhile. Fails as pdr__line_open() and with WRITER_BUSY.
 */
PDR_MUST_CHECK pdr_rc pdr__line_take(struct pdr__line *line, const char *path,
                                     int64_t deadline_ms, pdr_err *err);
/* Remove the file if we made it and nobody has the store open. With the lock
 * held, and before it is given back: who waits for it opens another one. */
void pdr__line_undo(const struct pdr__line *line, const char *path);
/* Try once. True: the lock is ours. Keeps its place in the line otherwise. */
bool pdr__line_try(struct pdr__line *line);
/* How long one in this place sleeps between two tries, at this time of the
 * monotonic clock; and do so. */
long pdr__line_pause_us(const struct pdr__line *line, int64_t at_ms);
void pdr__line_rest(const struct pdr__line *line);
/* Wait until then (monotonic clock). Fails with WRITER_BUSY. */
PDR_MUST_CHECK pdr_rc pdr__line_wait(struct pdr__line *line,
                                     int64_t deadline_ms, pdr_err *err);
/* Give the lock back, or the place in the line. */
void pdr__line_leave(struct pdr__line *line);
/* Be counted among those who have the store open. With the lock held. */
PDR_MUST_CHECK pdr_rc pdr__line_enter(struct pdr__line *line, pdr_err *err);
/* Is nobody else counted? With the lock held. */
bool pdr__line_is_last(const struct pdr__line *line);
/* Does anybody have the store with this side file open for writing? Writes
 * nothing, and needs no line. */
bool pdr__line_is_used(const char *path);
/* A sync of the log begins; with the lock. Until it has ended well, whoever
 * opens the store next learns from it that one may have failed. Fails with
 * FILE_FAILED if the file cannot be written. */
PDR_MUST_CHECK pdr_rc pdr__line_sync_begins(struct pdr__line *line,
                                            pdr_err *err);
/* It has ended well, and all of the WAL is on the disk. `end` is that of the
 * commit to the store `row` that was synced; NULL: nobody knows it. */
void pdr__line_sync_ended(struct pdr__line *line,
                          const struct pdr__log_end *end,
                          const struct pdr__store_row *row);
/* All of the WAL is in the main file of this id and generation, and synced:
 * note that, and sync the note. With the lock. False: it cannot be written. */
bool pdr__line_empties(struct pdr__line *line, const struct pdr__store_row *row,
                       bool syncs);
/* All of the WAL was copied by another program, and every digest is right: note
 * that, and sync the note. False: it cannot be written. */
bool pdr__line_takes_over(struct pdr__line *line);
/* The store is made anew: what is noted is of another one. */
void pdr__line_forget(struct pdr__line *line);
/* There was nothing to sync, or none was tried: all is as before it began, also
 * a sync of somebody else that has failed. */
void pdr__line_sync_untried(struct pdr__line *line);
/* A number that changes when another handle has committed, and may when none
 * has; not for commits of this one. On any thread. */
uint64_t pdr__line_poll(struct pdr__line *line);
/* Has the last one ended well? False also if nobody knows. */
bool pdr__line_has_synced(const struct pdr__line *line);
/* What was noted last in the side file `path`; all zero if nothing is there.
 * Writes nothing, and needs no line. */
void pdr__line_read_note(struct pdr__note *out, const char *path);
/* Is `path` still the file that we lock? If somebody removed it, others would
 * lock a new one. */
bool pdr__line_is_there(const struct pdr__line *line, const char *path);

/* --- commits (group.c, run.c, look.c, write.c, pack.c) ---------------------
 */

PDR_MUST_CHECK pdr_rc pdr__group_init(struct pdr__group *group, pdr_err *err);
void pdr__group_dispose(struct pdr__group *group);
/* The `commit` of the table. */
void pdr__sqlite_commit(pdr_store *self, pdr_write *const *writes,
                        size_t count);

/* Remove rows of the session with this number, inside a transaction, until none
 * is left, `most` are gone, or it is that late (monotonic clock). Adds to
 * `rows`. Gives SQLITE_OK, or what SQLite said. */
int pdr__sweep_rows(uint64_t *rows, bool *is_empty, struct pdr__writer *writer,
                    uint64_t no, uint64_t most, int64_t until_ms);

/* Something else than commits that needs the writer. */
typedef pdr_rc (*pdr__leader_fn)(struct pdr__sqlite *store, void *arg,
                                 pdr_err *err);
/* Call `fn` once with the writer lock held, on whichever thread leads, in line
 * with commits, and wait for it. `deadline_ms` is of the monotonic clock: to
 * have the lock by then. Fails with READ_ONLY, IN_DOUBT, WRITER_BUSY, or with
 * what `fn` fails with. */
PDR_MUST_CHECK pdr_rc pdr__group_run(struct pdr__sqlite *store,
                                     int64_t deadline_ms, pdr_err *err,
                                     pdr__leader_fn fn, void *arg);
/* For such a function: call `fn` inside a transaction of the writer. If it
 * fails nothing was changed; if COMMIT fails, COMMIT_UNKNOWN, and the store is
 * in doubt. */
PDR_MUST_CHECK pdr_rc pdr__writer_transact(struct pdr__sqlite *store,
                                           int64_t deadline_ms, pdr_err *err,
                                           pdr__leader_fn fn, void *arg);

/* Carry out up to PDR_MAX_GROUP writes in one transaction, with the lock held.
 * Sets `rc` and `err` of each. If COMMIT fails the store is in doubt. */
void pdr__writer_run(struct pdr__sqlite *store, pdr_write *const *writes,
                     size_t count);

/* Write the log once more and sync it, unless the last sync of it is known to
 * have ended well; with the lock, and nobody else (open.c). */
PDR_MUST_CHECK pdr_rc pdr__renew_log(struct pdr__sqlite *store, pdr_err *err);
/* Commit something that changes nothing, before statements are prepared; with
 * the lock. Fails with whatever SQLite says. */
PDR_MUST_CHECK pdr_rc pdr__writer_settle(struct pdr__sqlite *store,
                                         pdr_err *err);

/* May anything be written? Fails with IN_DOUBT, STORE_DAMAGED. */
PDR_MUST_CHECK pdr_rc pdr__may_write(const struct pdr__sqlite *store,
                                     pdr_err *err);
/* A checkpoint gave this code: if it found damage, nothing may be written any
 * more (checkpoint.c). */
void pdr__checkpoint_judge(struct pdr__sqlite *store, int code);
/* Others find the store by its names: are they still ours? With the lock. Fails
 * with UNSAFE_FILE: then nothing may go into the log. */
PDR_MUST_CHECK pdr_rc pdr__check_names(const struct pdr__sqlite *store,
                                       pdr_err *err);

/* Write the rows of one write inside the transaction. `dirty` is set when the
 * first row changes: a refusal after that needs a rollback. `code` gets what
 * SQLite said, if it failed. */
PDR_MUST_CHECK pdr_rc pdr__write_rows(struct pdr__sqlite *store,
                                      pdr_write *write, bool *dirty, int *code);

/* Run a statement that gives no rows; resets it. Gives SQLITE_DONE or why not.
 */
int pdr__writer_step(const struct pdr__writer *writer,
                     enum pdr__sqlite_sql which);
/* Arguments. A text without a pointer is NULL. Nothing is copied, so none of
 * these can fail. */
void pdr__bind_int(sqlite3_stmt *stmt, int at, int64_t number);
void pdr__bind_time(sqlite3_stmt *stmt, int at, int64_t ms);
void pdr__bind_text(sqlite3_stmt *stmt, int at, pdr_str text);
void pdr__bind_blob(sqlite3_stmt *stmt, int at, const void *bytes, size_t len);

/* Rows of `log` wait until the end of the transaction, to fill pages well. */
void pdr__pack_begin(struct pdr__writer *writer);
/* Take entry or completion `i` of a plan; write those that wait. Both give
 * SQLITE_OK or what SQLite said. */
int pdr__pack_add(struct pdr__writer *writer, const pdr_plan *plan, size_t i,
                  bool is_completion);
int pdr__pack_flush(struct pdr__writer *writer);
/* Does a completion of this session wait? */
bool pdr__pack_holds(const struct pdr__writer *writer, uint64_t session);
/* For those who move rows to the end of `log`: bytes that the row of `stmt`
 * takes on its page, by its place in column 0, its columns from `first` on, and
 * the bytes of its body, -1: it has none; bytes that are left on the last page,
 * as far as we know; a row was written there. */
int64_t pdr__pack_cell(sqlite3_stmt *stmt, int first, int64_t body);
int64_t pdr__pack_left(const struct pdr__writer *writer);
void pdr__pack_count(struct pdr__writer *writer, int64_t cell, int64_t rowid);
/* The store is new: its log has no row. */
void pdr__pack_new(struct pdr__writer *writer);
/* After COMMIT, or not. */
void pdr__pack_end(struct pdr__writer *writer, bool committed);

/* --- clearing (sweep.c) ----------------------------------------------------
 */

/* The `sweep` of the table. */
PDR_MUST_CHECK pdr_rc pdr__sqlite_sweep(pdr_store *self, int64_t now_ms,
                                        pdr_sweep_report *report, bool *more,
                                        pdr_err *err);

/* --- room (sparse.c, vacuum.c) ----------------------------------------------
 */

/* Hear of rows that are removed. */
void pdr__sparse_listen(struct pdr__writer *writer);
void pdr__sparse_dispose(struct pdr__sparse *sparse);
/* Forget all that was heard. */
void pdr__sparse_forget(struct pdr__sparse *sparse);
/* With the lock held. After a commit: if the file is about to grow, move some
 * rows together whose neighbours were removed. */
void pdr__sparse_after(struct pdr__sqlite *store);
/* Inside a transaction: begin; take the rows of the stretch that begins at
 * place `first`, if there are `most` of them at most, to be moved to the end of
 * `log`; and move those that were taken. The two give SQLITE_OK or what SQLite
 * said. */
void pdr__sparse_begin(struct pdr__sparse *sparse);
int pdr__sparse_take(struct pdr__writer *writer, int64_t first, size_t most);
int pdr__sparse_move(struct pdr__writer *writer);

/* The `vacuum` of the table. */
PDR_MUST_CHECK pdr_rc pdr__sqlite_vacuum(pdr_store *self,
                                         pdr_vacuum_report *report, bool *more,
                                         pdr_err *err);

/* --- copies (backup.c) ------------------------------------------------------
 */

/* The `backup` of the table. */
PDR_MUST_CHECK pdr_rc pdr__sqlite_backup(pdr_store *self, const char *file,
                                         bool replace,
                                         pdr_backup_report *report,
                                         pdr_backup_fn fn, void *arg,
                                         pdr_err *err);

/* --- checkpoints (checkpoint.c) --------------------------------------------
 */

/* Hear how long the log is after each commit. */
void pdr__checkpoint_listen(struct pdr__writer *writer);
/* With the lock held. After a commit: copy the log into the main file if it has
 * grown enough, and begin it anew if nobody reads it. Failures cost nothing but
 * a longer log. */
void pdr__checkpoint_after(struct pdr__sqlite *store);
/* Copy all of it. With `empty_log`, which nobody else may have the store for,
 * the log has no bytes afterwards; otherwise what readers hold stays. Who
 * closes may pass over a failure: the log is as safe as the main file. */
pdr_rc pdr__checkpoint_all(struct pdr__sqlite *store, bool empty_log,
                           pdr_err *err);
/* For `empties` of a VFS; `arg` is the store, whose writer knows the row that
 * the main file has. */
bool pdr__log_empties(void *arg);
/* Make what is in the log durable; a code of SQLite. */
int pdr__sync_log(sqlite3 *db);

/* --- reads (readers.c, read.c, list.c, info.c, verify.c) -------------------
 */

PDR_MUST_CHECK pdr_rc pdr__readers_init(struct pdr__readers *readers,
                                        pdr_err *err);
void pdr__readers_dispose(struct pdr__readers *readers);
/* `read`, `info`, `poll` and `verify` of the table. */
PDR_MUST_CHECK pdr_rc pdr__sqlite_read(pdr_store *self, pdr_page *page,
                                       const pdr_query *query, pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__sqlite_count(pdr_store *self, pdr_store_counts *out,
                                        pdr_str tenant, pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__sqlite_info(pdr_store *self, pdr_store_info *out,
                                       pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__sqlite_poll(pdr_store *self, uint64_t *out,
                                       pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__sqlite_verify(pdr_store *self, const pdr_ref *ref,
                                         pdr_verify_report *report,
                                         pdr_verify_fn fn, void *arg,
                                         pdr_err *err);

#endif
