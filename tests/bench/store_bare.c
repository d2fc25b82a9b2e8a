/*
 * store_bare.c - the benchmark turn on SQLite, written by hand. See
 * store_bare.h.
 *
 * WHY  A store that groups commits of many threads, checks arguments and keeps
 *      other processes out shall cost little more than the rows it writes. So
 *      this is what it costs to write just these rows: the head is read, for
 *      no writer may go on without its revision; then the rows, each with its
 *      digest, and the head. That the journal has six rows and the stream and
 *      the inbox one each is known, an index refuses a correlation id that
 *      comes twice, and no digest of what is read is checked.
 *
 * INVARIANT  pdr_store_verify() finds nothing wrong with what it wrote, except
 *      for BARE_ENTRIES, which leaves out the completions on purpose.
 */
#include "store_bare.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sqlite/vfs.h"

#include "bench.h"
#include "count_vfs.h"

enum sql {
    SQL_BEGIN,
    SQL_COMMIT,
    SQL_HEAD,
    SQL_SET_HEAD,
    SQL_ENTRY,
    SQL_COMPLETION,
    SQL_SLOT,
    SQL_WORK,
    SQL_INBOX,
    SQL_LAST,
    SQL_COUNT
};

/* clang-format off */
static const char *const texts[SQL_COUNT] = {
    [SQL_BEGIN] = "BEGIN IMMEDIATE",
    [SQL_COMMIT] = "COMMIT",
    [SQL_HEAD] =
        "SELECT no,agent,kind,schema_version,state,revision,commits,created,"
        "first_seq,next_seq,slots,properties,completions,journal_first,"
        "journal_next,stream_first,stream_next,inbox,inbox_next,has_frame,"
        "fence,lease_until,lease_owner,anchor,chain"
        " FROM sessions WHERE tenant=?1 AND id=?2",
    [SQL_SET_HEAD] =
        "UPDATE sessions SET revision=?2,commits=?3,changed=?4,expiry=?5,"
        "next_seq=?6,completions=?7,journal_first=?8,journal_next=?9,"
        "stream_first=?10,stream_next=?11,inbox_next=?12,chain=?13,digest=?14"
        " WHERE no=?1",
    [SQL_ENTRY] =
        "INSERT INTO log(session,key,kind,shape,created,correlation_id,digest,"
        "body) VALUES(?1,?2,?3,?4,?5,?6,?7,?8)",
    [SQL_COMPLETION] =
        "INSERT INTO log(session,key,kind,created,first_seq,last_seq,digest,"
        "body) VALUES(?1,?2,?3,?4,?5,?6,?7,?8)",
    [SQL_SLOT] = "UPDATE parts SET digest=?3,body=?4"
                 " WHERE session=?1 AND part=3 AND key=?2",
    [SQL_WORK] = "UPDATE parts SET key=?4,kind=?5,digest=?6,body=?7"
                 " WHERE session=?1 AND part=?2 AND key=?3",
    [SQL_INBOX] = "UPDATE parts SET key=?4,kind=?5,digest=?6,body=?7,due=?8"
                  " WHERE session=?1 AND part=?2 AND key=?3",
    [SQL_LAST] =
        "SELECT s.no,s.chain,l.key,l.kind,l.shape,l.created,l.correlation_id,"
        "l.separator,l.digest,l.body FROM sessions s"
        " CROSS JOIN log l ON l.session=s.no AND l.key<''"
        " WHERE s.tenant=?1 AND s.id=?2 ORDER BY l.key DESC LIMIT ?3",
};
/* clang-format on */

struct bare {
    sqlite3 *db;
    sqlite3_stmt *stmt[SQL_COUNT];
    enum bare_use use;
    pdr_store keyless; /* for the digests */
    struct pdr__seal seal;
    int log_pages; /* after the last commit */
};

/* --- SQLite --------------------------------------------------------------- */

static void must(struct bare *bare, int rc)
{
    if (rc != SQLITE_OK && rc != SQLITE_DONE && rc != SQLITE_ROW)
        bench_fail("bare loop: %s", sqlite3_errmsg(bare->db));
}

static void must_seal(pdr_rc rc)
{
    if (rc != PDR_OK)
        bench_fail("bare loop: cannot make a digest");
}

static void bind_number(sqlite3_stmt *stmt, int at, uint64_t number)
{
    sqlite3_bind_int64(stmt, at, (sqlite3_int64)number);
}

static void bind_text(sqlite3_stmt *stmt, int at, pdr_str text)
{
    sqlite3_bind_text(stmt, at, text.ptr, (int)text.len, SQLITE_STATIC);
}

static void bind_digest(sqlite3_stmt *stmt, int at, const uint8_t *digest)
{
    sqlite3_bind_blob(stmt, at, digest, PDR_DIGEST_BYTES, SQLITE_STATIC);
}

/* Run a statement that gives no row; it must change one, if it is about one. */
static void run(struct bare *bare, enum sql sql)
{
    int rc = sqlite3_step(bare->stmt[sql]);

    if (rc != SQLITE_DONE)
        bench_fail("bare loop: %s", sqlite3_errmsg(bare->db));
    sqlite3_reset(bare->stmt[sql]);
}

static void run_one(struct bare *bare, enum sql sql)
{
    run(bare, sql);
    if (sqlite3_changes(bare->db) != 1)
        bench_fail("bare loop: no row for %s", texts[sql]);
}

static pdr_str column_text(sqlite3_stmt *stmt, int at)
{
    const unsigned char *text = sqlite3_column_text(stmt, at);

    return (pdr_str){(const char *)text,
                     (size_t)sqlite3_column_bytes(stmt, at)};
}

static void column_digest(uint8_t *out, sqlite3_stmt *stmt, int at)
{
    const void *bytes = sqlite3_column_blob(stmt, at);

    if (sqlite3_column_bytes(stmt, at) != PDR_DIGEST_BYTES)
        bench_fail("bare loop: a digest has a wrong size");
    memcpy(out, bytes, PDR_DIGEST_BYTES);
}

/* --- opening -------------------------------------------------------------- */

static int on_commit(void *arg, sqlite3 *db, const char *name, int pages)
{
    (void)db;
    (void)name;
    ((struct bare *)arg)->log_pages = pages;
    return SQLITE_OK;
}

/* The caches are those of open.c. */
#define PRAGMAS(cache)                                     \
    "PRAGMA synchronous=FULL;PRAGMA cache_size=" cache ";" \
    "PRAGMA wal_autocheckpoint=0;PRAGMA temp_store=MEMORY"
#define WRITER_PRAGMAS PRAGMAS("-16384")
#define READER_PRAGMAS PRAGMAS("-2048")

const char *bare_settings(enum bare_use use)
{
    return use == BARE_READS ? "WAL, " READER_PRAGMAS : "WAL, " WRITER_PRAGMAS;
}

struct bare *bare_open(const struct fill *fill, enum bare_use use)
{
    struct bare *bare = calloc(1, sizeof(*bare));

    if (bare == NULL)
        bench_fail("no memory for the bare loop");
    bare->use = use;
    bare->seal = (struct pdr__seal)PDR_SEAL_INIT;
    must(bare, sqlite3_open_v2(fill->path, &bare->db,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                               COUNT_VFS));
    must(bare, sqlite3_exec(bare->db,
                            use == BARE_READS ? READER_PRAGMAS : WRITER_PRAGMAS,
                            NULL, NULL, NULL));
    sqlite3_db_config(bare->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_wal_hook(bare->db, on_commit, bare);
    for (size_t i = 0; i < SQL_COUNT; i++)
        must(bare, sqlite3_prepare_v3(bare->db, texts[i], -1,
                                      SQLITE_PREPARE_PERSISTENT, &bare->stmt[i],
                                      NULL));
    return bare;
}

/* SQLite alone writes pages without the sums that the library looks for. They
 * come behind the measured time. */
static void add_sums(const char *path)
{
    static uint8_t page[PDR_SQLITE_PAGE];
    int file = open(path, O_RDWR | O_CLOEXEC);
    uint32_t number = 1;
    off_t at = 0;

    if (file < 0)
        bench_fail("%s: %s", path, strerror(errno));
    while (pread(file, page, sizeof(page), at) == (ssize_t)sizeof(page)) {
        if (!pdr__page_is_sound(page, number)) {
            pdr__page_sum(page + PDR_SQLITE_USABLE, page, number);
            if (pwrite(file, page, sizeof(page), at) != (ssize_t)sizeof(page))
                bench_fail("%s: %s", path, strerror(errno));
        }
        number++;
        at += (off_t)sizeof(page);
    }
    close(file);
}

void bare_close(struct bare *bare)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s", sqlite3_db_filename(bare->db, "main"));
    for (size_t i = 0; i < SQL_COUNT; i++)
        sqlite3_finalize(bare->stmt[i]);
    must(bare, sqlite3_wal_checkpoint_v2(
                   bare->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL));
    sqlite3_close(bare->db);
    if (bare->use != BARE_READS)
        add_sums(path);
    pdr__seal_dispose(&bare->seal);
    free(bare);
}

/* --- rows of a turn ------------------------------------------------------- */

static void head_numbers(pdr_head *head, sqlite3_stmt *stmt)
{
    uint64_t *const numbers[] = {
        &head->first_seq,    &head->next_seq,     &head->slots,
        &head->properties,   &head->completions,  &head->journal_first,
        &head->journal_next, &head->stream_first, &head->stream_next,
        &head->inbox,        &head->inbox_next};

    head->epoch = (uint64_t)sqlite3_column_int64(stmt, 0);
    head->revision = (uint64_t)sqlite3_column_int64(stmt, 5);
    head->commits = (uint64_t)sqlite3_column_int64(stmt, 6);
    head->created_ms = sqlite3_column_int64(stmt, 7);
    for (int i = 0; i < (int)(sizeof(numbers) / sizeof(numbers[0])); i++)
        *numbers[i] = (uint64_t)sqlite3_column_int64(stmt, 8 + i);
    head->has_frame = sqlite3_column_int(stmt, 19) != 0;
    head->lease.fence = (uint64_t)sqlite3_column_int64(stmt, 20);
    head->lease.until_ms = sqlite3_column_int64(stmt, 21);
}

/* Find the head; its texts live until the statement is reset. */
static void get_head(pdr_head *head, struct bare *bare, const struct turn *turn)
{
    sqlite3_stmt *stmt = bare->stmt[SQL_HEAD];

    memset(head, 0, sizeof(*head));
    head->ref = turn->edit.ref;
    bind_text(stmt, 1, head->ref.tenant);
    bind_text(stmt, 2, head->ref.id);
    if (sqlite3_step(stmt) != SQLITE_ROW)
        bench_fail("bare loop: a session is gone");
    head->agent = column_text(stmt, 1);
    head->kind = column_text(stmt, 2);
    head->schema_version = column_text(stmt, 3);
    if (!pdr__session_state_read(&head->state, column_text(stmt, 4)))
        bench_fail("bare loop: a session has no state");
    head_numbers(head, stmt);
    head->lease.owner = column_text(stmt, 22);
    column_digest(head->anchor, stmt, 23);
    column_digest(head->chain, stmt, 24);
    if (head->revision != turn->edit.revision ||
        head->lease.fence != turn->edit.lease.fence)
        bench_fail("bare loop: another writer was here");
}

static void put_entries(struct bare *bare, pdr_head *head,
                        const struct turn *turn)
{
    sqlite3_stmt *stmt = bare->stmt[SQL_ENTRY];
    pdr_digest own;

    for (size_t i = 0; i < 2; i++) {
        pdr_entry entry = turn->entries[i];
        uint64_t seq = head->next_seq + i;
        if (bare->use == BARE_ENTRIES)
            entry.correlation_id = (pdr_str){NULL, 0};
        must_seal(
            pdr__seal_entry(own, &bare->seal, &bare->keyless, &entry, NULL));
        must_seal(pdr__seal_link(head->chain, &bare->seal, &bare->keyless,
                                 head->chain, own, head->epoch, seq, NULL));
        bind_number(stmt, 1, head->epoch);
        bind_number(stmt, 2, seq);
        bind_number(stmt, 3, (uint64_t)entry.kind);
        bind_number(stmt, 4, (uint64_t)entry.shape);
        sqlite3_bind_int64(stmt, 5, entry.created_ms);
        bind_text(stmt, 6, entry.correlation_id);
        bind_digest(stmt, 7, head->chain);
        bind_text(stmt, 8, entry.body);
        run(bare, SQL_ENTRY);
    }
}

static void put_completion(struct bare *bare, pdr_head *head,
                           const struct turn *turn)
{
    sqlite3_stmt *stmt = bare->stmt[SQL_COMPLETION];
    pdr_completion row = turn->completion;

    row.at_ms = turn->options.now_ms;
    row.epoch = head->epoch;
    row.first_seq = head->next_seq;
    row.last_seq = head->next_seq + 1;
    must_seal(pdr__seal_completion(row.digest, &bare->seal, &bare->keyless,
                                   &head->ref, &row, NULL));
    bind_number(stmt, 1, head->epoch);
    bind_text(stmt, 2, row.correlation_id);
    bind_number(stmt, 3, PDR_SQLITE_COMPLETION);
    sqlite3_bind_int64(stmt, 4, row.at_ms);
    bind_number(stmt, 5, row.first_seq);
    bind_number(stmt, 6, row.last_seq);
    bind_digest(stmt, 7, row.digest);
    bind_text(stmt, 8, row.outcome);
    run(bare, SQL_COMPLETION);
    head->completions++;
}

static void put_slot(struct bare *bare, const pdr_head *head,
                     const struct turn *turn)
{
    sqlite3_stmt *stmt = bare->stmt[SQL_SLOT];
    pdr_digest digest;

    must_seal(pdr__seal_slot(digest, &bare->seal, &bare->keyless, &head->ref,
                             &turn->slot, NULL));
    bind_number(stmt, 1, head->epoch);
    bind_text(stmt, 2, turn->slot.key);
    bind_digest(stmt, 3, digest);
    bind_text(stmt, 4, turn->slot.value);
    run_one(bare, SQL_SLOT);
}

/* Write row `n` over row `old`. */
static void put_work(struct bare *bare, const pdr_head *head, pdr_part part,
                     const pdr_work *row, uint64_t old, uint64_t n)
{
    enum sql sql = part == PDR_PART_INBOX ? SQL_INBOX : SQL_WORK;
    sqlite3_stmt *stmt = bare->stmt[sql];
    pdr_digest digest;

    must_seal(pdr__seal_work(digest, &bare->seal, &bare->keyless, &head->ref,
                             part, n, row, NULL));
    bind_number(stmt, 1, head->epoch);
    bind_number(stmt, 2, (uint64_t)part);
    bind_number(stmt, 3, old);
    bind_number(stmt, 4, n);
    bind_text(stmt, 5, row->kind);
    bind_digest(stmt, 6, digest);
    bind_text(stmt, 7, row->body);
    if (part == PDR_PART_INBOX)
        sqlite3_bind_int64(stmt, 8, row->due_ms);
    run_one(bare, sql);
}

static void put_all_work(struct bare *bare, pdr_head *head,
                         const struct turn *turn)
{
    for (size_t i = 0; i < TURN_JOURNAL_ROWS; i++)
        put_work(bare, head, PDR_PART_JOURNAL, &turn->journal[i],
                 head->journal_first + i, head->journal_next + i);
    put_work(bare, head, PDR_PART_STREAM, &turn->stream, head->stream_first,
             head->stream_next);
    put_work(bare, head, PDR_PART_INBOX, &turn->inbox, turn->settle,
             head->inbox_next);
    head->journal_first = head->journal_next;
    head->journal_next += TURN_JOURNAL_ROWS;
    head->stream_first = head->stream_next++;
    head->inbox_next++;
}

static void put_head(struct bare *bare, pdr_head *head, const struct turn *turn)
{
    sqlite3_stmt *stmt = bare->stmt[SQL_SET_HEAD];

    head->revision++;
    head->commits++;
    head->changed_ms = turn->options.now_ms;
    head->expiry_ms = turn->edit.expiry_ms;
    head->next_seq += 2;
    must_seal(
        pdr__seal_head(head->digest, &bare->seal, &bare->keyless, head, NULL));
    const uint64_t numbers[] = {head->epoch,
                                head->revision,
                                head->commits,
                                (uint64_t)head->changed_ms,
                                (uint64_t)head->expiry_ms,
                                head->next_seq,
                                head->completions,
                                head->journal_first,
                                head->journal_next,
                                head->stream_first,
                                head->stream_next,
                                head->inbox_next};
    for (int i = 0; i < (int)(sizeof(numbers) / sizeof(numbers[0])); i++)
        bind_number(stmt, 1 + i, numbers[i]);
    bind_digest(stmt, 13, head->chain);
    bind_digest(stmt, 14, head->digest);
    run_one(bare, SQL_SET_HEAD);
}

/* --- turns ---------------------------------------------------------------- */

static void put_turn(struct bare *bare, struct turn_session *session,
                     const struct turn *turn)
{
    pdr_head head;

    get_head(&head, bare, turn);
    pdr_committed done = {.epoch = head.epoch,
                          .fence = head.lease.fence,
                          .revision = head.revision + 1,
                          .journal_n = head.journal_next,
                          .stream_n = head.stream_next,
                          .inbox_n = head.inbox_next};
    put_entries(bare, &head, turn);
    if (bare->use == BARE_TURNS) {
        put_slot(bare, &head, turn);
        put_all_work(bare, &head, turn);
        put_completion(bare, &head, turn);
    }
    put_head(bare, &head, turn);
    sqlite3_reset(bare->stmt[SQL_HEAD]);
    if (bare->use == BARE_ENTRIES) { /* these rows stay as they are */
        done.journal_n = session->journal_last - TURN_JOURNAL_ROWS + 1;
        done.stream_n = session->stream_last;
        done.inbox_n = session->inbox_n;
    }
    turn_done(session, turn, &done);
}

void bare_turns(struct bare *bare, struct turn_session *const *sessions,
                struct turn *turns, size_t count)
{
    run(bare, SQL_BEGIN);
    for (size_t i = 0; i < count; i++)
        put_turn(bare, sessions[i], &turns[i]);
    run(bare, SQL_COMMIT);
    if ((uint64_t)bare->log_pages * PDR_SQLITE_PAGE >= PDR_CHECKPOINT_BYTES) {
        must(bare, sqlite3_wal_checkpoint_v2(
                       bare->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL));
        bare->log_pages = 0;
    }
}

/* --- reading -------------------------------------------------------------- */

struct last {
    uint64_t epoch, seq;
    pdr_digest own, row, above; /* `above` must be the row's */
    bool has_above;
};

/* Take one row, newest first; check the link of the one before it. */
static size_t take_row(struct last *last, struct bare *bare, char *to)
{
    sqlite3_stmt *stmt = bare->stmt[SQL_LAST];
    pdr_entry entry = {.seq = (uint64_t)sqlite3_column_int64(stmt, 2),
                       .created_ms = sqlite3_column_int64(stmt, 5),
                       .correlation_id = column_text(stmt, 6),
                       .separator = column_text(stmt, 7),
                       .body = column_text(stmt, 9)};

    entry.kind = (pdr_row_kind)sqlite3_column_int(stmt, 3);
    entry.shape = (pdr_row_shape)sqlite3_column_int(stmt, 4);
    column_digest(entry.digest, stmt, 8);
    if (!last->has_above)
        column_digest(last->above, stmt, 1);
    else
        must_seal(pdr__seal_link(last->above, &bare->seal, &bare->keyless,
                                 entry.digest, last->own, last->epoch,
                                 last->seq, NULL));
    if (memcmp(last->above, last->has_above ? last->row : entry.digest,
               PDR_DIGEST_BYTES) != 0)
        bench_fail("bare loop: the chain is broken");
    last->has_above = true;
    last->epoch = (uint64_t)sqlite3_column_int64(stmt, 0);
    last->seq = entry.seq;
    memcpy(last->row, entry.digest, PDR_DIGEST_BYTES);
    if (to == NULL) /* the row before the page: only its digest is needed */
        return 0;
    must_seal(
        pdr__seal_entry(last->own, &bare->seal, &bare->keyless, &entry, NULL));
    memcpy(to, entry.body.ptr, entry.body.len);
    return entry.body.len;
}

size_t bare_last(struct bare *bare, const char *id, size_t count)
{
    static char page[1 << 18];
    sqlite3_stmt *stmt = bare->stmt[SQL_LAST];
    struct last last = {.has_above = false};
    size_t bytes = 0, rows = 0;

    bind_text(stmt, 1, pdr_str_c(TURN_TENANT));
    bind_text(stmt, 2, pdr_str_c(id));
    bind_number(stmt, 3, count + 1);
    for (; sqlite3_step(stmt) == SQLITE_ROW; rows++)
        bytes += take_row(&last, bare, rows < count ? page + bytes : NULL);
    sqlite3_reset(stmt);
    if (rows != count + 1 || bytes > sizeof(page))
        bench_fail("bare loop: %zu rows of '%s'", rows, id);
    return bytes;
}
