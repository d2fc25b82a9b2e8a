/*
 * store_bare.c - the benchmark turn on SQLite, written by hand. See
 * store_bare.h.
 *
 * WHY  A store that groups commits of many threads, checks arguments and keeps
 *      other processes out shall cost little more than the rows it writes. So
 *      this is what it costs to write just these rows: the head is read, for
 *      no writer may go on without its revision, the correlation id is looked
 *      up, for it may come once; then the rows, each with its digest, and the
 *      head. That the journal has six rows and the stream and the inbox one
 *      each, and where they stand, is known, and no digest of what is read is
 *      checked.
 *
 * INVARIANT  pdr_store_verify() finds nothing wrong with what it wrote, except
 *      for `only_entries`, which leaves out the completions on purpose.
 */
#include "store_bare.h"

#include <stdlib.h>
#include <string.h>

#include "sqlite/sqlite.h"

#include "bench.h"
#include "count_vfs.h"

#define PLACES (1u << 15) /* sessions whose places can be remembered */

enum sql {
    SQL_BEGIN,
    SQL_COMMIT,
    SQL_HEAD,
    SQL_SET_HEAD,
    SQL_ENTRY,
    SQL_LOCATOR,
    SQL_COMPLETION,
    SQL_IS_COMPLETE,
    SQL_SLOT,
    SQL_WORK,
    SQL_INBOX,
    SQL_PLACES,
    SQL_LAST,
    SQL_COUNT
};

/* clang-format off */
static const char *const texts[SQL_COUNT] = {
    [SQL_BEGIN] = "BEGIN IMMEDIATE",
    [SQL_COMMIT] = "COMMIT",
    [SQL_HEAD] =
        "SELECT no,agent,kind,schema_version,state,revision,commits,epoch,"
        "created,changed,expiry,first_seq,next_seq,slots,properties,"
        "completions,journal_first,journal_next,stream_first,stream_next,"
        "inbox,inbox_next,has_frame,fence,lease_until,lease_owner,anchor,chain"
        " FROM sessions WHERE tenant=?1 AND id=?2",
    [SQL_SET_HEAD] =
        "UPDATE sessions SET revision=?2,commits=?3,changed=?4,expiry=?5,"
        "next_seq=?6,completions=?7,journal_first=?8,journal_next=?9,"
        "stream_first=?10,stream_next=?11,inbox_next=?12,chain=?13,digest=?14"
        " WHERE no=?1",
    [SQL_ENTRY] =
        "INSERT INTO entries(epoch,seq,kind,shape,created,correlation_id,"
        "digest,body) VALUES(?1,?2,?3,?4,?5,?6,?7,?8)",
    [SQL_LOCATOR] = "INSERT INTO locator(owner,key,row) VALUES(?1,?2,?3)",
    [SQL_COMPLETION] =
        "INSERT INTO completions(owner,correlation_id,outcome,at,epoch,"
        "first_seq,last_seq,digest) VALUES(?1,?2,?3,?4,?5,?6,?7,?8)",
    [SQL_IS_COMPLETE] =
        "SELECT n FROM locator CROSS JOIN completions ON n=row"
        " WHERE locator.owner=?1 AND key=?2 AND correlation_id=?3",
    [SQL_SLOT] = "UPDATE work SET body=?3,digest=?4"
                 " WHERE owner=?1 AND part=3 AND place=?2",
    [SQL_WORK] = "UPDATE work SET n=?4,due=?5,kind=?6,digest=?7,body=?8"
                 " WHERE owner=?1 AND part=?2 AND place=?3",
    [SQL_INBOX] =
        "UPDATE work SET place=?4,n=?4,due=?5,kind=?6,digest=?7,body=?8"
        " WHERE owner=?1 AND part=?2 AND place=?3",
    [SQL_PLACES] = "SELECT part,min(place) FROM work WHERE owner=?1 AND part<2"
                   " GROUP BY part",
    [SQL_LAST] =
        "SELECT s.epoch,s.chain,l.key,e.kind,e.shape,e.created,"
        "e.correlation_id,e.separator,e.digest,e.body FROM sessions s"
        " CROSS JOIN locator l ON l.owner=s.epoch AND l.key<(1<<62)"
        " CROSS JOIN entries e ON e.n=l.row WHERE s.tenant=?1 AND s.id=?2"
        " ORDER BY l.key DESC LIMIT ?3",
};
/* clang-format on */

struct bare {
    sqlite3 *db;
    sqlite3_stmt *stmt[SQL_COUNT];
    bool only_entries;
    pdr_store keyless; /* for the digests */
    struct pdr__seal seal;
    int log_pages;        /* after the last commit */
    int64_t (*places)[2]; /* where journal and stream stand; 0: not known */
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

#define PRAGMAS                                         \
    "PRAGMA synchronous=FULL;PRAGMA cache_size=-65536;" \
    "PRAGMA wal_autocheckpoint=0;PRAGMA temp_store=MEMORY"

const char *bare_settings(void)
{
    return "WAL, " PRAGMAS;
}

struct bare *bare_open(const struct fill *fill, bool only_entries)
{
    struct bare *bare = calloc(1, sizeof(*bare));

    if (bare == NULL)
        bench_fail("no memory for the bare loop");
    bare->only_entries = only_entries;
    bare->seal = (struct pdr__seal)PDR_SEAL_INIT;
    bare->places = calloc(PLACES, sizeof(bare->places[0]));
    if (bare->places == NULL)
        bench_fail("no memory for the bare loop");
    must(bare, sqlite3_open_v2(fill->path, &bare->db,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                               COUNT_VFS));
    must(bare, sqlite3_exec(bare->db, PRAGMAS, NULL, NULL, NULL));
    sqlite3_db_config(bare->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_wal_hook(bare->db, on_commit, bare);
    for (size_t i = 0; i < SQL_COUNT; i++)
        must(bare, sqlite3_prepare_v3(bare->db, texts[i], -1,
                                      SQLITE_PREPARE_PERSISTENT, &bare->stmt[i],
                                      NULL));
    return bare;
}

void bare_close(struct bare *bare)
{
    for (size_t i = 0; i < SQL_COUNT; i++)
        sqlite3_finalize(bare->stmt[i]);
    must(bare, sqlite3_wal_checkpoint_v2(
                   bare->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL));
    sqlite3_close(bare->db);
    pdr__seal_dispose(&bare->seal);
    free(bare->places);
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

    head->revision = (uint64_t)sqlite3_column_int64(stmt, 5);
    head->commits = (uint64_t)sqlite3_column_int64(stmt, 6);
    head->epoch = (uint64_t)sqlite3_column_int64(stmt, 7);
    head->created_ms = sqlite3_column_int64(stmt, 8);
    for (int i = 0; i < (int)(sizeof(numbers) / sizeof(numbers[0])); i++)
        *numbers[i] = (uint64_t)sqlite3_column_int64(stmt, 11 + i);
    head->has_frame = sqlite3_column_int(stmt, 22) != 0;
    head->lease.fence = (uint64_t)sqlite3_column_int64(stmt, 23);
    head->lease.until_ms = sqlite3_column_int64(stmt, 24);
}

/* Find the head; its texts live until the statement is reset. */
static int64_t get_head(pdr_head *head, struct bare *bare,
                        const struct turn *turn)
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
    head->lease.owner = column_text(stmt, 25);
    column_digest(head->anchor, stmt, 26);
    column_digest(head->chain, stmt, 27);
    if (head->revision != turn->edit.revision ||
        head->lease.fence != turn->edit.fence)
        bench_fail("bare loop: another writer was here");
    return sqlite3_column_int64(stmt, 0);
}

static void put_locator(struct bare *bare, uint64_t owner, int64_t key)
{
    sqlite3_stmt *stmt = bare->stmt[SQL_LOCATOR];

    bind_number(stmt, 1, owner);
    sqlite3_bind_int64(stmt, 2, key);
    sqlite3_bind_int64(stmt, 3, sqlite3_last_insert_rowid(bare->db));
    run(bare, SQL_LOCATOR);
}

static void put_entries(struct bare *bare, pdr_head *head,
                        const struct turn *turn)
{
    sqlite3_stmt *stmt = bare->stmt[SQL_ENTRY];
    pdr_digest own;

    for (size_t i = 0; i < 2; i++) {
        pdr_entry entry = turn->entries[i];
        uint64_t seq = head->next_seq + i;
        if (bare->only_entries)
            entry.correlation_id = (pdr_str){NULL, 0};
        must_seal(
            pdr__seal_entry(own, &bare->seal, &bare->keyless, &entry, NULL));
        must_seal(pdr__seal_link(head->chain, &bare->seal, &bare->keyless,
                                 head->chain, own, head->epoch, seq, NULL));
        bind_number(stmt, 1, head->epoch);
        bind_number(stmt, 2, seq);
        bind_text(stmt, 3, pdr_str_c(pdr__row_kind_word(entry.kind)));
        bind_text(stmt, 4, pdr_str_c(pdr__row_shape_word(entry.shape)));
        sqlite3_bind_int64(stmt, 5, entry.created_ms);
        bind_text(stmt, 6, entry.correlation_id);
        bind_digest(stmt, 7, head->chain);
        bind_text(stmt, 8, entry.body);
        run(bare, SQL_ENTRY);
        put_locator(bare, head->epoch, (int64_t)seq);
    }
}

static void put_completion(struct bare *bare, int64_t no, pdr_head *head,
                           const struct turn *turn)
{
    pdr_completion row = turn->completion;
    int64_t key = pdr__sqlite_hash(row.correlation_id);
    sqlite3_stmt *stmt = bare->stmt[SQL_IS_COMPLETE];

    sqlite3_bind_int64(stmt, 1, no);
    sqlite3_bind_int64(stmt, 2, key);
    bind_text(stmt, 3, row.correlation_id);
    run(bare, SQL_IS_COMPLETE);
    row.at_ms = turn->options.now_ms;
    row.epoch = head->epoch;
    row.first_seq = head->next_seq;
    row.last_seq = head->next_seq + 1;
    must_seal(pdr__seal_completion(row.digest, &bare->seal, &bare->keyless,
                                   &head->ref, &row, NULL));
    stmt = bare->stmt[SQL_COMPLETION];
    sqlite3_bind_int64(stmt, 1, no);
    bind_text(stmt, 2, row.correlation_id);
    bind_text(stmt, 3, row.outcome);
    sqlite3_bind_int64(stmt, 4, row.at_ms);
    bind_number(stmt, 5, row.epoch);
    bind_number(stmt, 6, row.first_seq);
    bind_number(stmt, 7, row.last_seq);
    bind_digest(stmt, 8, row.digest);
    run(bare, SQL_COMPLETION);
    put_locator(bare, (uint64_t)no, key);
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
    bind_text(stmt, 3, turn->slot.value);
    bind_digest(stmt, 4, digest);
    run_one(bare, SQL_SLOT);
}

/* Where journal and stream of a session stand: always at the same places, since
 * each turn writes over the rows of the one before. */
static const int64_t *places_of(struct bare *bare, int64_t no)
{
    sqlite3_stmt *stmt = bare->stmt[SQL_PLACES];

    if (no <= 0 || no >= (int64_t)PLACES)
        bench_fail("bare loop: too many sessions");
    int64_t *places = bare->places[no];
    if (places[0] != 0 || places[1] != 0)
        return places;
    sqlite3_bind_int64(stmt, 1, no);
    while (sqlite3_step(stmt) == SQLITE_ROW)
        places[sqlite3_column_int(stmt, 0)] = sqlite3_column_int64(stmt, 1);
    sqlite3_reset(stmt);
    return places;
}

/* Write a row over the one at `place`. */
static void put_work(struct bare *bare, enum sql sql, int64_t no,
                     const pdr_ref *ref, pdr_part part, const pdr_work *row,
                     int64_t place, uint64_t n)
{
    sqlite3_stmt *stmt = bare->stmt[sql];
    pdr_digest digest;

    must_seal(pdr__seal_work(digest, &bare->seal, &bare->keyless, ref, part, n,
                             row, NULL));
    sqlite3_bind_int64(stmt, 1, no);
    sqlite3_bind_int(stmt, 2, (int)part);
    sqlite3_bind_int64(stmt, 3, place);
    bind_number(stmt, 4, n);
    if (row->due_ms == PDR_NEVER)
        sqlite3_bind_null(stmt, 5);
    else
        sqlite3_bind_int64(stmt, 5, row->due_ms);
    bind_text(stmt, 6, row->kind);
    bind_digest(stmt, 7, digest);
    bind_text(stmt, 8, row->body);
    run_one(bare, sql);
}

static void put_head(struct bare *bare, int64_t no, pdr_head *head,
                     const struct turn *turn)
{
    sqlite3_stmt *stmt = bare->stmt[SQL_SET_HEAD];

    head->revision++;
    head->commits++;
    head->changed_ms = turn->options.now_ms;
    head->expiry_ms = turn->edit.expiry_ms;
    head->next_seq += 2;
    must_seal(
        pdr__seal_head(head->digest, &bare->seal, &bare->keyless, head, NULL));
    const uint64_t numbers[] = {head->revision,
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
    sqlite3_bind_int64(stmt, 1, no);
    for (int i = 0; i < (int)(sizeof(numbers) / sizeof(numbers[0])); i++)
        bind_number(stmt, 2 + i, numbers[i]);
    bind_digest(stmt, 13, head->chain);
    bind_digest(stmt, 14, head->digest);
    run_one(bare, SQL_SET_HEAD);
}

/* --- turns ---------------------------------------------------------------- */

static void put_all_work(struct bare *bare, int64_t no, pdr_head *head,
                         const struct turn *turn)
{
    const int64_t *places = places_of(bare, no);

    for (size_t i = 0; i < TURN_JOURNAL_ROWS; i++)
        put_work(bare, SQL_WORK, no, &head->ref, PDR_PART_JOURNAL,
                 &turn->journal[i], places[PDR_PART_JOURNAL] + (int64_t)i,
                 head->journal_next + i);
    put_work(bare, SQL_WORK, no, &head->ref, PDR_PART_STREAM, &turn->stream,
             places[PDR_PART_STREAM], head->stream_next);
    put_work(bare, SQL_INBOX, no, &head->ref, PDR_PART_INBOX, &turn->inbox,
             (int64_t)turn->settle, head->inbox_next);
    head->journal_first = head->journal_next;
    head->journal_next += TURN_JOURNAL_ROWS;
    head->stream_first = head->stream_next++;
    head->inbox_next++;
}

static void put_turn(struct bare *bare, struct turn_session *session,
                     const struct turn *turn)
{
    pdr_head head;
    int64_t no = get_head(&head, bare, turn);
    pdr_committed done = {.epoch = head.epoch,
                          .fence = head.lease.fence,
                          .revision = head.revision + 1,
                          .journal_n = head.journal_next,
                          .stream_n = head.stream_next,
                          .inbox_n = head.inbox_next};

    put_entries(bare, &head, turn);
    if (!bare->only_entries) {
        put_slot(bare, &head, turn);
        put_all_work(bare, no, &head, turn);
        put_completion(bare, no, &head, turn);
    }
    put_head(bare, no, &head, turn);
    sqlite3_reset(bare->stmt[SQL_HEAD]);
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

    if (!pdr__row_kind_read(&entry.kind, column_text(stmt, 3)) ||
        !pdr__row_shape_read(&entry.shape, column_text(stmt, 4)))
        bench_fail("bare loop: no such kind or shape");
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
