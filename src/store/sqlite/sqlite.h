/*
 * sqlite.h - what the files of this folder share. See README.md.
 */
#ifndef PDR_SQLITE_SQLITE_H
#define PDR_SQLITE_SQLITE_H

#include <pthread.h>
#include <sqlite3.h>

#include "store.h"

/* "PdrS" in the header of the file: whose it is. */
#define PDR_SQLITE_APPLICATION 0x50647253

/* Version of the tables that this library makes and reads. */
#define PDR_SQLITE_SCHEMA 1u

/* Bytes of a page of a new file (docs/decisions tells the measurement). */
#define PDR_SQLITE_PAGE 4096

/* `part` of the rows of `parts`: those of pdr_part, the slots of the bag, and
 * the frame, which has the key ''. */
#define PDR_SQLITE_SLOTS 3
#define PDR_SQLITE_FRAME 4

/* `kind` and `shape` in `log` are those of pdr_row_kind and pdr_row_shape;
 * completions, which stand there too, have a kind of their own. */
#define PDR_SQLITE_COMPLETION 9

/* --- the store -------------------------------------------------------------
 */

/* Where a process stands in the line for the writer lock (lock.c). */
struct pdr__line {
    int fd;           /* of the side file; -1: the store is read only */
    int place;        /* in the line; -1: not in it */
    bool held;        /* the lock is ours */
    int64_t moved_ms; /* when it came to its place */
    bool wrote;       /* its last turn at the lock changed the store */
    int64_t left_us;  /* when it gave the lock back; 0: it came back since */
    int64_t come_back_us; /* that it needs for that, when it was refused */
};

/* clang-format off */
#define PDR_LINE_INIT {-1, -1, false, 0, false, 0, 0}
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

/* The one connection of the process that writes. Only the leader of the group
 * touches it, or open and close, while nobody else has the store. */
struct pdr__writer {
    sqlite3 *db;                       /* owned; NULL: read only */
    sqlite3_stmt *stmt[PDR_SQL_COUNT]; /* owned */
    struct pdr__arena memory; /* texts of rows that a transaction has found */
    uint64_t number;          /* the store's counter, as it will be written */
    uint64_t number_before;   /* as it stands in the store */
    int64_t created_ms;       /* of the store */
    atomic_uint_fast64_t log_bytes; /* of the log after the last commit */
    uint64_t checkpoint_at; /* bytes of the log that start the next one */
    struct pdr__pack pack;
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

struct pdr__sqlite {
    pdr_store base;
    char *path;      /* owned: the real path of the main file */
    char *side_path; /* owned: of the file with the locks */
    char *log_path;  /* owned: of SQLite's log */
    char *vfs;       /* owned; NULL: the usual one */
    bool read_only;
    bool alone; /* read-only medium without a log: nothing can change */
    uint32_t schema;
    atomic_bool in_doubt; /* a commit ended unknown */
    struct pdr__line line;
    struct pdr__writer writer;
    struct pdr__group group;
    struct pdr__readers readers;
};

/* The table of this backend, for builtin.c. */
extern const pdr_store_ops pdr__sqlite_ops;

/* --- connections (open.c) --------------------------------------------------
 */

/* A connection with every rule set: WAL, full sync, no checkpoints of SQLite's
 * own, no trust in the schema, no waiting. Release with sqlite3_close(). */
PDR_MUST_CHECK pdr_rc pdr__sqlite_connect(sqlite3 **out,
                                          const struct pdr__sqlite *store,
                                          bool read_only, pdr_err *err);
/* Release the statements and the connection of the writer. */
void pdr__writer_close(struct pdr__writer *writer);

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
PDR_MUST_CHECK pdr_rc pdr__sqlite_completion(pdr_completion *out, int64_t *n,
                                             sqlite3_stmt *stmt, pdr_err *err);

/* --- the tables (schema.c) -------------------------------------------------
 */

/* Make the tables in an empty file, or find out whether they are ours. Needs
 * the writer lock. Fails with NOT_A_STORE, STORE_VERSION, WRONG_KEY. */
PDR_MUST_CHECK pdr_rc pdr__schema_make(struct pdr__sqlite *store, sqlite3 *db,
                                       int64_t now_ms, pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__schema_check(struct pdr__sqlite *store, sqlite3 *db,
                                        pdr_err *err);
/* Is nothing in the file yet? */
PDR_MUST_CHECK pdr_rc pdr__schema_is_empty(bool *out, sqlite3 *db,
                                           pdr_err *err);

/* The digest of the one row of `store`, which tells a wrong key. */
PDR_MUST_CHECK pdr_rc pdr__schema_seal(pdr_digest out,
                                       const struct pdr__sqlite *store,
                                       uint64_t number, int64_t created_ms,
                                       pdr_err *err);

/* --- the writer lock (lock.c) ----------------------------------------------
 */

PDR_MUST_CHECK pdr_rc pdr__line_open(struct pdr__line *line, const char *path,
                                     pdr_err *err);
void pdr__line_close(struct pdr__line *line);
/* Try once. True: the lock is ours. Keeps its place in the line otherwise. */
bool pdr__line_try(struct pdr__line *line);
/* Sleep for as long as one in this place does between two tries. */
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
/* Is `path` still the file that we lock? If somebody removed it, others would
 * lock a new one. */
bool pdr__line_is_there(const struct pdr__line *line, const char *path);

/* --- commits (group.c, run.c, write.c, pack.c) -----------------------------
 */

PDR_MUST_CHECK pdr_rc pdr__group_init(struct pdr__group *group, pdr_err *err);
void pdr__group_dispose(struct pdr__group *group);
/* The `commit` of the table. */
void pdr__sqlite_commit(pdr_store *self, pdr_write *const *writes,
                        size_t count);

/* Carry out up to PDR_MAX_GROUP writes in one transaction, with the lock held.
 * Sets `rc` and `err` of each. If COMMIT fails the store is in doubt. */
void pdr__writer_run(struct pdr__sqlite *store, pdr_write *const *writes,
                     size_t count);

/* Refuse a write of a store that is in doubt. */
pdr_rc pdr__in_doubt(pdr_err *err);

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
/* The store is new: its log has no row. */
void pdr__pack_new(struct pdr__writer *writer);
/* After COMMIT, or not. */
void pdr__pack_end(struct pdr__writer *writer, bool committed);

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

/* --- reads (readers.c, read.c, list.c, info.c, verify.c) -------------------
 */

PDR_MUST_CHECK pdr_rc pdr__readers_init(struct pdr__readers *readers,
                                        pdr_err *err);
void pdr__readers_dispose(struct pdr__readers *readers);
/* `read`, `info`, `poll` and `verify` of the table. */
PDR_MUST_CHECK pdr_rc pdr__sqlite_read(pdr_store *self, pdr_page *page,
                                       const pdr_query *query, pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__sqlite_info(pdr_store *self, pdr_store_info *out,
                                       pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__sqlite_poll(pdr_store *self, uint64_t *out,
                                       pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__sqlite_verify(pdr_store *self, const pdr_ref *ref,
                                         pdr_verify_report *report,
                                         pdr_verify_fn fn, void *arg,
                                         pdr_err *err);

#endif
