/*
 * shim_vfs.c - the VFS that fails and loses, against SQLite alone: it must find
 * what SQLite does with syncs good, and what it does without them bad.
 */
#include "shim_vfs.h"

#include <sqlite3.h>

#include "room.h"

#define COMMITS 20

/* --- one file --------------------------------------------------------------
 */

#define OPEN_NEW (SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)

/* A file of the shim, without a database. */
struct open_file {
    char path[600];
    sqlite3_file *file;
};

static void file_open(struct open_file *out, const struct room *room,
                      const char *name, int kind)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find("shim");

    snprintf(out->path, sizeof(out->path), "%s", room_path(room, name));
    out->file = calloc(1, (size_t)vfs->szOsFile);
    ASSERT(out->file != NULL);
    ASSERT_INT(SQLITE_OK,
               vfs->xOpen(vfs, out->path, out->file, OPEN_NEW | kind, NULL));
}

static void file_write(struct open_file *file, int64_t at, char byte, int len)
{
    char bytes[4096];

    memset(bytes, byte, sizeof(bytes));
    ASSERT_INT(SQLITE_OK,
               file->file->pMethods->xWrite(file->file, bytes, len, at));
}

static int file_sync(struct open_file *file)
{
    return file->file->pMethods->xSync(file->file, SQLITE_SYNC_NORMAL);
}

static void file_close(struct open_file *file)
{
    file->file->pMethods->xClose(file->file);
    free(file->file);
}

/* --- a database ------------------------------------------------------------
 */

static sqlite3 *db_open(const char *path, const char *vfs)
{
    sqlite3 *db = NULL;

    ASSERT_INT(SQLITE_OK, sqlite3_open_v2(path, &db, OPEN_NEW, vfs));
    return db;
}

static int db_run(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

/* The one number of a query; -1 if it fails. */
static int64_t db_number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *query = NULL;
    int64_t number = -1;

    if (sqlite3_prepare_v2(db, sql, -1, &query, NULL) == SQLITE_OK &&
        sqlite3_step(query) == SQLITE_ROW)
        number = sqlite3_column_int64(query, 0);
    sqlite3_finalize(query);
    return number;
}

/* The same text for the same number, and no two alike. */
static void fill(char *out, size_t len, uint64_t n)
{
    for (size_t i = 0; i < len; i++) {
        n = n * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        out[i] = (char)('a' + (n >> 60));
    }
    out[len] = '\0';
}

static int db_commit(sqlite3 *db, size_t n)
{
    char text[1401], sql[2000];

    fill(text, sizeof(text) - 1, n);
    snprintf(sql, sizeof(sql),
             "BEGIN IMMEDIATE;"
             "INSERT INTO t VALUES (%zu, 1, '%s');"
             "INSERT INTO t VALUES (%zu, 2, '%.140s');"
             "UPDATE c SET n = %zu; COMMIT",
             n, text, n, text, n);
    return db_run(db, sql);
}

/* Commits, with a checkpoint now and then, on a shim that records. */
static void db_work(struct shim *shim, const char *path, const char *sync)
{
    char sql[100];
    sqlite3 *db = db_open(path, "shim");

    snprintf(sql, sizeof(sql), "PRAGMA synchronous=%s", sync);
    ASSERT_INT(SQLITE_OK, db_run(db, "PRAGMA journal_mode=WAL"));
    ASSERT_INT(SQLITE_OK, db_run(db, sql));
    ASSERT_INT(SQLITE_OK,
               db_run(db, "BEGIN; CREATE TABLE t (n, k, x);"
                          "CREATE INDEX i ON t (x); CREATE TABLE c (n);"
                          "INSERT INTO c VALUES (0); COMMIT"));
    for (size_t n = 1; n <= COMMITS; n++) {
        shim_mark(shim, n - 1, n);
        ASSERT_INT(SQLITE_OK, db_commit(db, n));
        shim_mark(shim, n, n);
        if (n % 5 == 0)
            ASSERT_INT(SQLITE_OK,
                       db_run(db, n % 2 == 0
                                      ? "PRAGMA wal_checkpoint(TRUNCATE)"
                                      : "PRAGMA wal_checkpoint(RESTART)"));
    }
    sqlite3_close(db);
}

/* Is everything there that must be, and nothing half? */
static bool db_is_sound(const char *path, size_t least, size_t most)
{
    sqlite3 *db = db_open(path, NULL);
    int64_t n = db_number(db, "SELECT n FROM c");
    int64_t rows = db_number(db, "SELECT count(*) FROM t");
    int64_t bad = db_number(db, "SELECT count(*) FROM pragma_integrity_check "
                                "WHERE integrity_check != 'ok'");
    bool made = db_number(db, "SELECT count(*) FROM sqlite_schema") > 0;

    sqlite3_close(db);
    if (bad != 0)
        return false;
    if (!made)
        return least == 0;
    return n >= (int64_t)least && n <= (int64_t)most && rows == 2 * n;
}

struct verdict {
    size_t points, images, bad;
};

/* Power loss at every point, in every way. */
static void lose_power(struct verdict *out, const struct shim *shim,
                       bool changes)
{
    struct room image;
    struct shim_disk *disk = shim_disk_new(shim);

    memset(out, 0, sizeof(*out));
    room_enter(&image);
    while (shim_disk_next(disk, changes) != SHIM_POINT_END) {
        out->points++;
        for (int loss = 0; loss < SHIM_LOSSES; loss++) {
            shim_disk_image(disk, image.path, (enum shim_loss)loss,
                            out->images++);
            out->bad += !db_is_sound(room_path(&image, "a.db"),
                                     shim_disk_acknowledged(disk),
                                     shim_disk_possible(disk));
        }
    }
    ASSERT_SIZE(COMMITS, shim_disk_acknowledged(disk));
    shim_disk_free(disk);
    room_leave(&image);
}

/* --- counts and faults ---------------------------------------------------
 */

TEST(shim_count, tells_operations_and_bytes_by_kind_of_file)
{
    struct room room;
    struct shim *shim = shim_new("shim");
    sqlite3 *db = NULL;

    room_enter(&room);
    db = db_open(room_path(&room, "a.db"), "shim");
    ASSERT_INT(SQLITE_OK, db_run(db, "PRAGMA journal_mode=WAL; CREATE TABLE t "
                                     "(n)"));
    ASSERT(shim_count(shim, SHIM_OPEN) >= 2);
    ASSERT(shim_count(shim, SHIM_SHM_LOCK) > 0);
    shim_reset_counts(shim);
    ASSERT_SIZE(0, shim_count(shim, SHIM_ANY));
    ASSERT_INT(SQLITE_OK, db_run(db, "INSERT INTO t VALUES (1)"));
    /* One page of 4,096 bytes with its header, and one sync. */
    ASSERT_SIZE(4096 + 24, shim_bytes(shim, SHIM_WAL));
    ASSERT_SIZE(0, shim_bytes(shim, SHIM_MAIN));
    ASSERT_SIZE(1, shim_count(shim, SHIM_SYNC));
    ASSERT_INT(SQLITE_OK, db_run(db, "PRAGMA wal_checkpoint(TRUNCATE)"));
    ASSERT(shim_bytes(shim, SHIM_MAIN) >= 2 * 4096);
    /* What is copied is read from the log. */
    ASSERT(shim_bytes_read(shim, SHIM_WAL) >= 2 * 4096);
    ASSERT(shim_count(shim, SHIM_TRUNCATE) >= 1);
    shim_reset_counts(shim);
    ASSERT_SIZE(0, shim_bytes_read(shim, SHIM_WAL));
    sqlite3_close(db);
    shim_free(shim);
    room_leave(&room);
}

TEST(shim_fail, lets_one_operation_fail_or_all_behind_it)
{
    struct room room;
    struct shim *shim = shim_new("shim");
    sqlite3 *db = NULL;

    room_enter(&room);
    db = db_open(room_path(&room, "a.db"), "shim");
    ASSERT_INT(SQLITE_OK, db_run(db, "PRAGMA journal_mode=WAL; CREATE TABLE t "
                                     "(n)"));
    shim_fail(shim, &(struct shim_fault){.op = SHIM_SYNC, .nth = 2});
    ASSERT_INT(SQLITE_OK, db_run(db, "INSERT INTO t VALUES (1)"));
    ASSERT_INT(SHIM_ANY, shim_failed_op(shim));
    ASSERT_INT(SQLITE_IOERR, db_run(db, "INSERT INTO t VALUES (2)"));
    ASSERT_INT(SQLITE_IOERR_FSYNC, sqlite3_extended_errcode(db));
    ASSERT_INT(SHIM_SYNC, shim_failed_op(shim));
    ASSERT_INT(SQLITE_OK, db_run(db, "INSERT INTO t VALUES (3)"));
    ASSERT_SIZE(1, shim_failed(shim));

    shim_fail(shim,
              &(struct shim_fault){
                  .op = SHIM_WRITE, .nth = 1, .for_ever = true, .full = true});
    ASSERT_INT(SQLITE_FULL, db_run(db, "INSERT INTO t VALUES (4)"));
    ASSERT_INT(SQLITE_FULL, db_run(db, "INSERT INTO t VALUES (5)"));
    ASSERT_SIZE(2, shim_failed(shim));

    shim_fail(shim, &(struct shim_fault){.op = SHIM_ANY, .nth = 1});
    ASSERT_INT(SQLITE_IOERR, db_run(db, "INSERT INTO t VALUES (6)"));
    shim_fail(shim, &(struct shim_fault){.op = SHIM_ANY});
    ASSERT_INT(SQLITE_OK, db_run(db, "INSERT INTO t VALUES (7)"));
    sqlite3_close(db);
    shim_free(shim);
    room_leave(&room);
}

/* Only a journal that somebody left makes SQLite ask for reserved locks. */
static void leave_journal(const struct room *room, const char *path)
{
    sqlite3 *db = db_open(path, NULL);
    char name[300];

    ASSERT_INT(SQLITE_OK, db_run(db, "CREATE TABLE t (n)"));
    sqlite3_close(db);
    snprintf(name, sizeof(name), "%s-journal", strrchr(path, '/') + 1);
    room_put_c(room, name, "not a journal, but not empty either");
}

/* Every kind, so that none is never asked for. */
TEST(shim_fail, reaches_each_kind_of_operation)
{
    struct room room;
    struct shim *shim = shim_new("shim");

    room_enter(&room);
    for (int op = 0; op < SHIM_OPS; op++) {
        sqlite3 *db = NULL;
        char path[600];
        shim_fail(shim, &(struct shim_fault){.op = (enum shim_op)op,
                                             .nth = 1,
                                             .for_ever = true});
        snprintf(path, sizeof(path), "%s-%d", room_path(&room, "a.db"), op);
        if (op == SHIM_RESERVED)
            leave_journal(&room, path);
        if (sqlite3_open_v2(path, &db, OPEN_NEW, "shim") == SQLITE_OK) {
            (void)db_run(db, "CREATE TABLE t (n)");
            (void)db_run(db, "INSERT INTO t VALUES (1)");
            (void)db_run(db, "PRAGMA journal_mode=WAL");
            (void)db_run(db, "INSERT INTO t VALUES (1)");
            (void)db_run(db, "PRAGMA wal_checkpoint(TRUNCATE)");
        }
        sqlite3_close(db);
        if (shim_failed(shim) == 0)
            fail_msg("no '%s' was asked for", shim_op_word((enum shim_op)op));
    }
    ASSERT_STR("any", shim_op_word(SHIM_ANY));
    shim_free(shim);
    room_leave(&room);
}

/* --- the disk --------------------------------------------------------------
 */

TEST(shim_disk, loses_a_file_that_no_sync_of_the_folder_has_seen)
{
    struct room room, image;
    struct shim *shim = shim_new("shim");
    struct open_file main, wal;

    room_enter(&room);
    room_enter(&image);
    shim_record(shim);
    file_open(&main, &room, "a.db", SQLITE_OPEN_MAIN_DB);
    file_write(&main, 0, 'm', 1000);
    ASSERT_INT(SQLITE_OK, file_sync(&main));
    shim_power_loss(shim, image.path, SHIM_LOSS_ALL);
    ASSERT(!room_has(&image, "a.db"));
    shim_power_loss(shim, image.path, SHIM_LOSS_NONE);
    ASSERT(room_has(&image, "a.db"));

    /* The first sync of a WAL is one of the folder too. */
    file_open(&wal, &room, "a.db-wal", SQLITE_OPEN_WAL);
    ASSERT_INT(SQLITE_OK, file_sync(&wal));
    shim_power_loss(shim, image.path, SHIM_LOSS_ALL);
    ASSERT(room_has(&image, "a.db"));
    ASSERT(room_has(&image, "a.db-wal"));
    file_close(&wal);
    file_close(&main);

    /* And so one that was deleted comes back. */
    sqlite3_vfs *vfs = sqlite3_vfs_find("shim");
    ASSERT_INT(SQLITE_OK, vfs->xDelete(vfs, wal.path, 0));
    shim_power_loss(shim, image.path, SHIM_LOSS_NONE);
    ASSERT(!room_has(&image, "a.db-wal"));
    shim_power_loss(shim, image.path, SHIM_LOSS_ALL);
    ASSERT(room_has(&image, "a.db-wal"));
    ASSERT_INT(SQLITE_OK, vfs->xDelete(vfs, main.path, 1));
    shim_power_loss(shim, image.path, SHIM_LOSS_ALL);
    ASSERT(!room_has(&image, "a.db-wal"));
    ASSERT(!room_has(&image, "a.db"));
    shim_free(shim);
    room_leave(&image);
    room_leave(&room);
}

TEST(shim_disk, knows_files_of_a_folder_that_nobody_has_opened)
{
    struct room room, image;
    struct shim *shim = shim_new("shim");
    struct open_file file;

    room_enter(&room);
    room_enter(&image);
    room_put_c(&room, "a.db", "found");
    room_put_c(&room, "a.db-wal", "a log");
    shim_record_folder(shim, room.path);
    file_open(&file, &room, "a.db", SQLITE_OPEN_MAIN_DB);
    shim_power_loss(shim, image.path, SHIM_LOSS_ALL);
    room_assert(&image, "a.db", "found");
    room_assert(&image, "a.db-wal", "a log");
    file_close(&file);
    shim_free(shim);
    room_leave(&image);
    room_leave(&room);
}

/* The first bytes of three sectors, '.' for what is not there. */
static void assert_sectors(const char *expected, const struct shim *shim,
                           const struct room *image, enum shim_loss loss)
{
    size_t len = 0;
    char *bytes = NULL, found[] = "...";

    shim_power_loss(shim, image->path, loss);
    bytes = room_get(image, "a.db", &len);
    ASSERT(bytes != NULL);
    for (size_t i = 0; i < 3; i++)
        if (i * 512 < len)
            found[i] = bytes[i * 512] != '\0' ? bytes[i * 512] : '0';
    free(bytes);
    ASSERT_STR(expected, found);
}

TEST(shim_disk, keeps_what_was_synced_and_any_of_the_rest)
{
    struct room room, image;
    struct shim *shim = shim_new("shim");
    struct open_file file;

    room_enter(&room);
    room_enter(&image);
    room_put_c(&room, "a.db", "found");
    shim_record(shim);
    file_open(&file, &room, "a.db", SQLITE_OPEN_MAIN_DB);
    assert_sectors("f..", shim, &image, SHIM_LOSS_ALL);
    file_write(&file, 0, 'a', 1024);
    assert_sectors("f..", shim, &image, SHIM_LOSS_ALL);
    ASSERT_INT(SQLITE_OK, file_sync(&file));
    assert_sectors("aa.", shim, &image, SHIM_LOSS_ALL);
    file_write(&file, 0, 'b', 512);
    file_write(&file, 512, 'c', 512);
    file_write(&file, 1024, 'd', 512);
    assert_sectors("aa.", shim, &image, SHIM_LOSS_ALL);
    assert_sectors("bcd", shim, &image, SHIM_LOSS_NONE);
    assert_sectors("aa.", shim, &image, SHIM_LOSS_MAIN);
    assert_sectors("bcd", shim, &image, SHIM_LOSS_REST);
    assert_sectors("aad", shim, &image, SHIM_KEEP_LAST);
    assert_sectors("ba.", shim, &image, SHIM_KEEP_FIRST);
    ASSERT_INT(SQLITE_OK, file.file->pMethods->xTruncate(file.file, 512));
    assert_sectors("b..", shim, &image, SHIM_LOSS_NONE);
    assert_sectors("a..", shim, &image, SHIM_KEEP_LAST);
    file_close(&file);
    shim_free(shim);
    room_leave(&image);
    room_leave(&room);
}

TEST(shim_disk, tears_a_write_between_sectors_only)
{
    struct room room, image;
    struct shim *shim = shim_new("shim");
    struct open_file file;
    size_t torn = 0, whole = 0;

    room_enter(&room);
    room_enter(&image);
    room_put_c(&room, "a.db", "found");
    shim_record(shim);
    file_open(&file, &room, "a.db", SQLITE_OPEN_MAIN_DB);
    file_write(&file, 0, 'a', 4096);
    ASSERT_INT(SQLITE_OK, file_sync(&file));
    file_write(&file, 100, 'b', 3000);
    for (uint64_t seed = 0; seed < 200; seed++) {
        size_t len = 0, news = 0;
        shim_power_loss(shim, image.path, seed * SHIM_LOSSES + SHIM_TEAR_LAST);
        char *bytes = room_get(&image, "a.db", &len);
        ASSERT(bytes != NULL);
        ASSERT_SIZE(4096, len);
        for (size_t i = 101; i < 3100; i++) {
            news += bytes[i] == 'b';
            if (bytes[i] != bytes[i - 1])
                ASSERT_SIZE(0, i % 512);
        }
        torn += news > 0 && news < 2999;
        whole += news == 2999;
        free(bytes);
    }
    ASSERT(torn > 50);
    ASSERT(whole > 0);
    file_close(&file);
    shim_free(shim);
    room_leave(&image);
    room_leave(&room);
}

TEST(shim_disk, never_becomes_sure_of_what_a_failed_sync_left)
{
    struct room room, image;
    struct shim *shim = shim_new("shim");
    struct open_file file;

    room_enter(&room);
    room_enter(&image);
    room_put_c(&room, "a.db", "found");
    shim_record(shim);
    file_open(&file, &room, "a.db", SQLITE_OPEN_MAIN_DB);
    file_write(&file, 0, 'a', 512);
    shim_fail(shim, &(struct shim_fault){.op = SHIM_SYNC, .nth = 1});
    ASSERT_INT(SQLITE_IOERR_FSYNC, file_sync(&file));
    file_write(&file, 512, 'b', 512);
    ASSERT_INT(SQLITE_OK, file_sync(&file));
    assert_sectors("fb.", shim, &image, SHIM_LOSS_ALL);
    assert_sectors("ab.", shim, &image, SHIM_LOSS_NONE);
    /* Unless it is written once more. */
    file_write(&file, 0, 'c', 512);
    ASSERT_INT(SQLITE_OK, file_sync(&file));
    assert_sectors("cb.", shim, &image, SHIM_LOSS_ALL);
    assert_sectors("cb.", shim, &image, SHIM_LOSS_NONE);
    file_close(&file);
    shim_free(shim);
    room_leave(&image);
    room_leave(&room);
}

/* --- the proof -------------------------------------------------------------
 */

static void run_and_lose(struct verdict *out, const char *sync, bool swallow,
                         bool changes)
{
    struct room room;
    struct shim *shim = shim_new("shim");

    room_enter(&room);
    shim_record(shim);
    shim_swallow_syncs(shim, swallow);
    db_work(shim, room_path(&room, "a.db"), sync);
    lose_power(out, shim, changes);
    print_message("synchronous=%s%s: %zu points, %zu images, %zu bad\n", sync,
                  swallow ? ", syncs swallowed" : "", out->points, out->images,
                  out->bad);
    shim_free(shim);
    room_leave(&room);
}

TEST(shim_power_loss, finds_no_fault_in_commits_that_are_synced)
{
    struct verdict verdict;

    run_and_lose(&verdict, "FULL", false, test_scale() >= 10);
    ASSERT(verdict.points > 2 * COMMITS);
    ASSERT_SIZE(0, verdict.bad);
}

TEST(shim_power_loss, finds_what_commits_without_sync_lose)
{
    struct verdict verdict;

    run_and_lose(&verdict, "OFF", false, false);
    ASSERT(verdict.bad > COMMITS);
}

/* NORMAL syncs checkpoints alone: the last commits may go, nothing breaks. */
TEST(shim_power_loss, finds_what_commits_lose_until_a_checkpoint)
{
    struct verdict verdict;

    run_and_lose(&verdict, "NORMAL", false, false);
    ASSERT(verdict.bad > COMMITS);
}

TEST(shim_power_loss, finds_that_syncs_were_swallowed)
{
    struct verdict verdict;

    run_and_lose(&verdict, "FULL", true, false);
    ASSERT(verdict.bad > COMMITS);
}
