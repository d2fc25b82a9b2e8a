/* A log that a process left behind: damage is told from what was never whole.
 */
#include "sqlite_room.h"

#include <unistd.h>

#include "log_damage.h"
#include "sqlite/file.h"
#include "sqlite/vfs.h"

#define FRAME ((size_t)(PDR_FRAME_HEADER + PDR_SQLITE_PAGE))

/* --- bits that were changed ---------------------------------------------- */

static void tell(const char *what, const struct log_report *report)
{
    print_message("%s: %zu bits in %zu frames; %zu refused, %zu with all "
                  "commits, %zu without the last, %zu without others (%zu at "
                  "most), %zu wrong: %s\n",
                  what, report->tried, report->frames, report->refused,
                  report->same, report->last_lost, report->lost, report->most,
                  report->wrong, report->first);
}

/* The sum that ties the last commit to the one before may be the byte that was
 * changed: then nothing goes on from there, and two are lost. */
static void check_frames(const char *parameters)
{
    struct log_report report;

    damage_frames(&report, parameters, LOG_NOTE_GONE);
    tell("frames", &report);
    ASSERT_SIZE(0, report.wrong);
    ASSERT(report.refused > report.tried / 2);
    ASSERT(report.last_lost > 0);
    ASSERT(report.lost <= 3);
    ASSERT(report.most <= 2);
}

/* With the note beside it, nothing that was acknowledged goes away. */
static void check_noted(const char *parameters)
{
    struct log_report report;

    damage_frames(&report, parameters, LOG_NOTE_LEFT);
    tell("frames, noted", &report);
    ASSERT_SIZE(report.tried, report.refused);
    damage_log_header(&report, parameters, LOG_NOTE_LEFT);
    ASSERT_SIZE(report.tried, report.refused);
    cut_log(&report, parameters, LOG_NOTE_LEFT);
    tell("cut, noted", &report);
    ASSERT(report.tried > report.frames);
    ASSERT_SIZE(report.tried, report.refused);
}

TEST(left_log, is_refused_without_a_commit_that_was_noted)
{
    check_noted("");
}

TEST(left_log, is_refused_by_readers_without_a_commit_that_was_noted)
{
    check_noted("?mode=ro");
}

/* What is not as it was written tells nothing. */
TEST(left_log, is_not_refused_for_a_note_that_was_changed)
{
    struct log_report report;

    damage_note(&report, "");
    tell("note", &report);
    ASSERT(report.tried > 200);
    ASSERT_SIZE(report.tried, report.same);
    damage_note(&report, "?mode=ro");
    ASSERT_SIZE(report.tried, report.same);
}

TEST(left_log, is_refused_if_a_bit_of_a_frame_was_changed)
{
    check_frames("");
}

TEST(left_log, is_refused_by_readers_too)
{
    check_frames("?mode=ro");
}

TEST(left_log, is_refused_if_a_bit_of_its_header_was_changed)
{
    struct log_report report;

    damage_log_header(&report, "", LOG_NOTE_GONE);
    tell("header", &report);
    ASSERT_SIZE(report.tried, report.refused);
    damage_log_header(&report, "?mode=ro", LOG_NOTE_GONE);
    ASSERT_SIZE(report.tried, report.refused);
}

TEST(left_log, is_taken_without_a_commit_that_was_never_whole)
{
    static const enum log_note notes[] = {LOG_NOTE_GONE, LOG_NOTE_BEFORE};
    struct log_report report;

    for (size_t i = 0; i < PDR_COUNT(notes); i++) {
        tear_last_commit(&report, 60, 4711, notes[i]);
        tell("torn", &report);
        ASSERT_SIZE(report.tried, report.same + report.last_lost);
        ASSERT(report.last_lost > 30);
    }
}

/* Nothing else can be had of it. */
TEST(left_log, is_read_up_to_the_damage_if_told)
{
    struct log_report report;

    damage_log_header(&report, "?mode=ro&sums=off", LOG_NOTE_LEFT);
    tell("told", &report);
    ASSERT_SIZE(report.tried, report.lost);
    damage_frames(&report, "?mode=ro&sums=off", LOG_NOTE_LEFT);
    tell("told", &report);
    ASSERT_SIZE(report.tried, report.lost + report.last_lost);
}

/* SQLite would remove it. */
TEST(left_log, is_kept_if_its_file_is_empty_or_gone)
{
    static const char *const ways[] = {"", "?mode=rw", "?mode=ro",
                                       "?mode=ro&sums=off"};
    struct room room;
    pdr_store *store = NULL;
    char log[600];
    size_t len = 0;
    char *bytes = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    for (uint64_t i = 0; i < 3; i++)
        ASSERT_RC(PDR_OK, append_one(store, "a", i, NULL, "{}", NULL));
    bytes = room_get(&room, "s.db-wal", &len);
    pdr_store_close(store);
    store = NULL;
    room_put(&room, "x.db-wal", pdr_str_n(bytes, len));
    (void)snprintf(log, sizeof(log), "%s", room_path(&room, "x.db-wal"));
    for (size_t i = 0; i <= PDR_COUNT(ways); i++) {
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(
            PDR_ECORRUPT,
            pdr_store_open(&store,
                           store_uri(&room, "x.db", i == 0 ? "" : ways[i - 1]),
                           &err));
        ASSERT_STR("store_damaged", err.reason);
        ASSERT(i > 0 || !room_has(&room, "x.db")); /* gone: none was made */
        ASSERT_SIZE(len, (size_t)pdr__file_bytes(log));
        room_put_c(&room, "x.db", "");
    }
    /* No commit is in it: it may go. */
    room_put_c(&room, "x.db-wal", "no log");
    ASSERT_RC(PDR_OK,
              pdr_store_open(&store, store_uri(&room, "x.db", ""), NULL));
    pdr_store_close(store);
    free(bytes);
    room_leave(&room);
}

/* --- logs by hand -------------------------------------------------------- */

/* SQLite through our VFS, without a store. */
struct link {
    struct room room;
    struct pdr__vfs vfs;
    sqlite3 *db;
    uint8_t *log; /* owned */
    size_t len;
};

static void run(struct link *link, const char *sql)
{
    if (sqlite3_exec(link->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(link->db));
}

static void link_open(struct link *link, const char *parameters)
{
    char uri[700];

    memset(link, 0, sizeof(*link));
    room_enter(&link->room);
    ASSERT_RC(PDR_OK, pdr__vfs_open(&link->vfs, NULL, NULL));
    (void)snprintf(uri, sizeof(uri), "file:%s%s",
                   room_path(&link->room, "s.db"), parameters);
    ASSERT_INT(SQLITE_OK,
               sqlite3_open_v2(uri, &link->db,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                                   SQLITE_OPEN_URI,
                               link->vfs.name));
    (void)sqlite3_db_config(link->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
                            (int *)NULL);
    run(link, "PRAGMA page_size=4096; PRAGMA journal_mode=WAL;"
              "PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0;"
              "CREATE TABLE t(k INTEGER PRIMARY KEY, v TEXT)");
}

/* Read the log; the file is closed. */
static void link_leave(struct link *link)
{
    ASSERT_INT(SQLITE_OK, sqlite3_close(link->db));
    pdr__vfs_close(&link->vfs);
    link->log = (uint8_t *)room_get(&link->room, "s.db-wal", &link->len);
    ASSERT(link->log != NULL);
}

static void link_close(struct link *link)
{
    free(link->log);
    room_leave(&link->room);
}

static uint8_t *frame_of(struct link *link, size_t n)
{
    ASSERT(link->len >= PDR_LOG_HEADER + n * FRAME);
    return link->log + PDR_LOG_HEADER + (n - 1) * FRAME;
}

static bool ends_commit(struct link *link, size_t n)
{
    return memcmp(frame_of(link, n) + 4, "\0\0\0\0", 4) != 0;
}

/* Frames that SQLite would take. */
static size_t count_frames(struct link *link)
{
    const uint8_t *before = link->log + PDR_LOG_HEADER - PDR_LOG_SUM;
    size_t n = 1;

    while (link->len >= PDR_LOG_HEADER + n * FRAME &&
           frame_of(link, n)[3] != 0 &&
           pdr__frame_is_sound(before, frame_of(link, n)))
        before = frame_of(link, n++) + PDR_FRAME_HEADER - PDR_LOG_SUM;
    return n - 1;
}

static pdr_rc check_file(const struct link *link, const char *name,
                         pdr_err *err)
{
    const struct pdr__note none = {.state = PDR_WAL_UNKNOWN};
    bool is_gone = true;
    pdr_rc rc =
        pdr__left_check(&is_gone, room_path(&link->room, name), &none, err);

    ASSERT(!is_gone);
    return rc;
}

static pdr_rc check_log(struct link *link, pdr_err *err)
{
    room_put(&link->room, "s.db-wal",
             pdr_str_n((const char *)link->log, link->len));
    return check_file(link, "s.db-wal", err);
}

/* Check it with one bit of frame `n` changed. */
static pdr_rc check_flipped(struct link *link, size_t n, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    frame_of(link, n)[1000] ^= 4;
    rc = check_log(link, err);
    frame_of(link, n)[1000] ^= 4;
    return rc;
}

/* More than the memory for pages holds, so that frames are written early. */
#define SPILL                                                         \
    "PRAGMA cache_size=5; PRAGMA cache_spill=5; BEGIN;"               \
    "WITH c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i<300)" \
    "INSERT INTO t SELECT 1000+i, hex(zeroblob(500)) FROM c"

TEST(left_log, may_have_frames_of_what_was_taken_back_behind_its_end)
{
    struct link link;
    size_t whole = 0, all = 0;
    pdr_err err = PDR_ERR_INIT;

    link_open(&link, "");
    run(&link, "INSERT INTO t VALUES(1,'a')");
    run(&link, SPILL);
    run(&link, "ROLLBACK; INSERT INTO t VALUES(2,'b');"
               "INSERT INTO t VALUES(3,'c')");
    link_leave(&link);
    whole = count_frames(&link);
    all = (link.len - PDR_LOG_HEADER) / FRAME;
    ASSERT(all > whole + 20);
    ASSERT(frame_of(&link, whole + 5)[3] != 0);
    ASSERT(memcmp(frame_of(&link, whole + 5) + 8, link.log + 16, 8) == 0);
    ASSERT_RC(PDR_OK, check_log(&link, NULL));
    /* The last commit was never whole. */
    ASSERT_RC(PDR_OK, check_flipped(&link, whole, NULL));
    /* One before it was. */
    ASSERT_RC(PDR_ECORRUPT, check_flipped(&link, 1, &err));
    ASSERT_STR("store_damaged", err.reason);
    ASSERT(strstr(err.message, "frame 1 of 's.db-wal'") != NULL);
    link_close(&link);
}

/* Where a sector may be lost by a write beside it, SQLite fills the last one
 * with the last frame again. */
TEST(left_log, may_end_with_a_frame_twice)
{
    struct link link;
    size_t whole = 0, from = 0;

    link_open(&link, "?psow=0");
    run(&link, "INSERT INTO t VALUES(1,'a')");
    run(&link, "WITH c(i) AS (SELECT 2 UNION ALL SELECT i+1 FROM c WHERE i<50)"
               "INSERT INTO t SELECT i, hex(zeroblob(500)) FROM c");
    link_leave(&link);
    whole = count_frames(&link);
    ASSERT(ends_commit(&link, whole) && ends_commit(&link, whole - 1));
    ASSERT(memcmp(frame_of(&link, whole), frame_of(&link, whole - 1), 4) == 0);
    for (from = whole - 2; !ends_commit(&link, from - 1);)
        from--;
    ASSERT(whole - from > 5);
    for (size_t n = from; n < whole - 1; n++)
        ASSERT_RC(PDR_OK, check_flipped(&link, n, NULL));
    ASSERT_RC(PDR_ECORRUPT, check_flipped(&link, from - 2, NULL));
    link_close(&link);
}

TEST(left_log, may_have_one_before_it_behind_its_end)
{
    struct link link;

    link_open(&link, "");
    for (int i = 0; i < 30; i++)
        run(&link, "INSERT INTO t(v) VALUES(hex(randomblob(3000)))");
    run(&link, "PRAGMA wal_checkpoint(RESTART)");
    run(&link, "INSERT INTO t(v) VALUES('a')");
    run(&link, "INSERT INTO t(v) VALUES('b')");
    link_leave(&link);
    ASSERT(count_frames(&link) < 10);
    ASSERT_RC(PDR_OK, check_log(&link, NULL));
    ASSERT_RC(PDR_OK, check_flipped(&link, count_frames(&link) + 1, NULL));
    ASSERT_RC(PDR_ECORRUPT, check_flipped(&link, 1, NULL));
    link_close(&link);
}

TEST(left_log, may_be_short_or_no_log_at_all)
{
    struct link link;

    link_open(&link, "");
    run(&link, "INSERT INTO t VALUES(1,'a'); INSERT INTO t VALUES(2,'a')");
    link_leave(&link);
    ASSERT_RC(PDR_OK, check_file(&link, "none", NULL));
    for (size_t len = 0; len < PDR_LOG_HEADER + 2 * FRAME; len += 31) {
        room_put(&link.room, "cut", pdr_str_n((const char *)link.log, len));
        ASSERT_RC(PDR_OK, check_file(&link, "cut", NULL));
    }
    memset(link.log, 0, link.len);
    ASSERT_RC(PDR_OK, check_log(&link, NULL));
    link_close(&link);
}

/* --- who has it open ----------------------------------------------------- */

/* Its log is alive: what is in it is known, and checked when it is read. */
TEST(left_log, is_not_looked_at_while_somebody_has_the_store)
{
    struct room room;
    pdr_store *store = NULL, *reader = NULL;

    room_enter(&room);
    ASSERT(!pdr__line_is_used(room_path(&room, "s.db-lock")));
    store = store_open(&room, "");
    ASSERT(pdr__line_is_used(room_path(&room, "s.db-lock")));
    for (uint64_t i = 0; i < 5; i++)
        ASSERT_RC(PDR_OK, append_one(store, "a", i, NULL, "{}", NULL));
    reader = store_open(&room, "?mode=ro");
    pdr_store_close(reader);
    pdr_store_close(store);
    ASSERT(!pdr__line_is_used(room_path(&room, "s.db-lock")));
    room_leave(&room);
}

/* --- which pages it has -------------------------------------------------- */

static bool has_page(const struct link *link, const char *name, uint32_t page)
{
    uint8_t *marks = NULL;
    bool found = false;

    ASSERT_RC(PDR_OK,
              pdr__left_pages(&marks, 100, room_path(&link->room, name), NULL));
    found = (marks[page / 8] >> page % 8 & 1) != 0;
    pdr__free(marks);
    return found;
}

/* The last commit is one page more than the others; torn, it has none. */
TEST(left_log, tells_the_pages_of_its_commits)
{
    struct link link;
    size_t len = 0;

    link_open(&link, "");
    run(&link, "INSERT INTO t VALUES(1,'a'); INSERT INTO t VALUES(2,'a')");
    run(&link, "CREATE TABLE more(x)");
    link_leave(&link);
    room_put(&link.room, "log", pdr_str_n((const char *)link.log, link.len));
    ASSERT(has_page(&link, "log", 2));
    ASSERT(has_page(&link, "log", 3));
    ASSERT(!has_page(&link, "log", 99));
    ASSERT(!has_page(&link, "none", 2));
    len = PDR_LOG_HEADER + (count_frames(&link) - 1) * FRAME;
    room_put(&link.room, "torn", pdr_str_n((const char *)link.log, len));
    ASSERT(has_page(&link, "torn", 2));
    ASSERT(!has_page(&link, "torn", 3));
    link.log[0] ^= 1;
    room_put(&link.room, "bad", pdr_str_n((const char *)link.log, link.len));
    ASSERT(!has_page(&link, "bad", 2));
    link_close(&link);
}

TEST_OOM(left_log, cleans_up_after_any_failed_allocation)
{
    const struct pdr__note note = {.state = PDR_WAL_COMMITS};
    struct room room;
    uint8_t *marks = NULL;
    bool is_gone = false;
    char log[600];
    pdr_rc rcs[3];

    room_enter(&room);
    room_put_c(&room, "log", "no log");
    (void)snprintf(log, sizeof(log), "%s", room_path(&room, "log"));
    rcs[0] = pdr__left_check(&is_gone, log, &note, NULL);
    rcs[1] = pdr__left_pages(&marks, 100, log, NULL);
    rcs[2] = pdr__left_fits(room_path(&room, "gone"), log, NULL);
    for (size_t i = 0; i < PDR_COUNT(rcs); i++)
        ASSERT(rcs[i] == PDR_OK || rcs[i] == PDR_ENOMEM);
    ASSERT((marks != NULL) == (rcs[1] == PDR_OK));
    pdr__free(marks);
    room_leave(&room);
}
