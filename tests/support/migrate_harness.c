/*
 * migrate_harness.c - see migrate_harness.h.
 */
#include "migrate_harness.h"

#include <dirent.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"
#include "fail_each.h"
#include "processes.h"
#include "store_work.h"

#define GROWN_SESSIONS 30
#define GROWN_ENTRIES  8
#define GROWN_BODY     2500
#define LOSSES_A_POINT 3
#define NEWEST         3u /* version */

/* --- mistakes ------------------------------------------------------------ */

__attribute__((format(printf, 2, 3))) static void complain(
    struct migrate_harness *harness, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (harness->mistakes++ == 0)
        vsnprintf(harness->first, sizeof(harness->first), format, args);
    va_end(args);
}

void migrate_print(const struct migrate_harness *harness, const char *what)
{
    print_message("%s: %zu runs; older %zu, version 3 %zu, refused %zu; "
                  "mistakes %zu%s%s\n",
                  what, harness->runs, harness->old, harness->new,
                  harness->refused, harness->mistakes,
                  harness->mistakes > 0 ? ", the first: " : "", harness->first);
}

/* --- old files ----------------------------------------------------------- */

const char *migrate_uri(const struct migrate_harness *harness,
                        const char *folder, const char *more)
{
    static char uri[1200];
    char key[400] = "";

    if (harness->kind == OLD_KEYED)
        snprintf(key, sizeof(key), "&key=%s/key", harness->room.path);
    snprintf(uri, sizeof(uri), "sqlite:%s/a.db?%s%s", folder, more, key);
    return uri;
}

static void put_key(const struct migrate_harness *harness)
{
    size_t len = 0;
    char *bytes = test_read_data("store/key", &len);

    room_put(&harness->room, "key", pdr_str_n(bytes, len));
    free(bytes);
    ASSERT_INT(0, chmod(room_path(&harness->room, "key"), 0600));
}

static void remove_file(const struct migrate_harness *harness, const char *name)
{
    (void)unlink(room_path(&harness->room, name));
}

void migrate_reset(const struct migrate_harness *harness)
{
    remove_file(harness, "a.db-wal");
    remove_file(harness, "a.db-shm");
    remove_file(harness, "a.db-lock");
    remove_file(harness, "a.db");
    room_put(&harness->room, "a.db", pdr_str_n(harness->bytes, harness->len));
    ASSERT_INT(0, chmod(room_path(&harness->room, "a.db"), 0600));
}

static void grow(pdr_store *store)
{
    static char body[GROWN_BODY + 1];
    pdr_commit_options options = {.now_ms = 1000};

    memset(body, 'x', GROWN_BODY);
    body[0] = body[GROWN_BODY - 1] = '"';
    for (size_t i = 0; i < GROWN_SESSIONS * GROWN_ENTRIES; i++) {
        char id[16];
        pdr_entry entry = {.created_ms = 1000};
        pdr_edit edit = {.entries = &entry, .entry_count = 1};

        snprintf(id, sizeof(id), "s%zu", i % GROWN_SESSIONS);
        edit.ref.id = pdr_str_c(id);
        edit.revision = i / GROWN_SESSIONS;
        entry.body = pdr_str_n(body, GROWN_BODY);
        ASSERT_RC(PDR_OK,
                  pdr_store_commit(NULL, store, &edit, 1, &options, NULL));
    }
}

static void run_sql(sqlite3 *db, const char *sql)
{
    char *text = NULL;

    if (sqlite3_exec(db, sql, NULL, NULL, &text) != SQLITE_OK)
        fail_msg("%s: %s", sql, text);
}

static int64_t ask_sql(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    int64_t number = 0;

    ASSERT_INT(SQLITE_OK, sqlite3_prepare_v2(db, sql, -1, &stmt, NULL));
    ASSERT_INT(SQLITE_ROW, sqlite3_step(stmt));
    number = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return number;
}

/* The digest of the row of `store` as docs/formats/store-sqlite.md has it. */
static void set_version(sqlite3 *db, uint64_t version)
{
    uint64_t numbers[] = {
        version, (uint64_t)ask_sql(db, "SELECT number FROM main.store"), 0,
        (uint64_t)ask_sql(db, "SELECT created FROM main.store")};
    char bytes[40] = "store", sql[200], hex[65];
    uint8_t digest[32];

    for (size_t i = 0; i < 32; i++)
        bytes[8 + i] = (char)(numbers[i / 8] >> (56 - 8 * (i % 8)));
    ASSERT_RC(PDR_OK,
              pdr__sha256(digest, pdr_str_n(bytes, sizeof(bytes)), NULL));
    for (size_t i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    snprintf(sql, sizeof(sql),
             "UPDATE main.store SET schema=%" PRIu64 ",digest=x'%s'", version,
             hex);
    run_sql(db, sql);
}

/* One of the tables, indexes and views, with its rows. */
static int copy_object(void *arg, int count, char **values, char **names)
{
    static const char index[] = "properties_by_match";
    char sql[200];

    (void)count;
    (void)names;
    if (strcmp(values[1], "unseen") == 0)
        return 0;
    if (strcmp(values[1], "store") == 0) {
        run_sql(arg,
                "CREATE TABLE store(one INTEGER PRIMARY KEY,schema INTEGER,"
                "number INTEGER,keyed INTEGER,key_check BLOB,created "
                "INTEGER,digest BLOB);INSERT INTO store SELECT one,schema,"
                "number,keyed,key_check,created,digest FROM new.store");
        return 0;
    }
    run_sql(arg, strcmp(values[1], index) == 0
                     ? "CREATE INDEX properties_by_match ON properties(tenant,"
                       "key,match,id) WHERE match IS NOT NULL"
                     : values[2]);
    snprintf(sql, sizeof(sql), "INSERT INTO %s SELECT * FROM new.%s", values[1],
             values[1]);
    if (strcmp(values[0], "table") == 0)
        run_sql(arg, sql);
    return 0;
}

/* The rows go into a new file, without what later versions added. */
static void put_back(const char *path, const char *old)
{
    char sql[700];
    sqlite3 *db = NULL;

    ASSERT_INT(SQLITE_OK, sqlite3_open(old, &db));
    snprintf(sql, sizeof(sql),
             "PRAGMA page_size=4096;PRAGMA journal_mode=WAL;"
             "PRAGMA application_id=%d;ATTACH '%s' AS new",
             0x50647253, path);
    run_sql(db, sql);
    ASSERT_INT(SQLITE_OK,
               sqlite3_exec(db,
                            "SELECT type,name,sql FROM new.sqlite_schema "
                            "WHERE sql IS NOT NULL ORDER BY rowid",
                            copy_object, db, NULL));
    set_version(db, 1);
    run_sql(db, "DETACH new;PRAGMA wal_checkpoint(TRUNCATE)");
    ASSERT_INT(SQLITE_OK, sqlite3_close(db));
}

static void make_grown(struct migrate_harness *harness)
{
    pdr_store *store = NULL;
    char path[600];

    ASSERT_RC(PDR_OK,
              pdr_store_open(
                  &store, migrate_uri(harness, harness->room.path, "mode=rwc"),
                  NULL));
    grow(store);
    pdr_store_close(store);
    snprintf(path, sizeof(path), "%s", room_path(&harness->room, "a.db"));
    put_back(path, room_path(&harness->room, "old.db"));
    harness->bytes = room_get(&harness->room, "old.db", &harness->len);
}

/* --- what is there ------------------------------------------------------- */

/* All rows, verified; NULL with a complaint. The version in `schema`. */
static char *read_all(struct migrate_harness *harness, const char *folder,
                      const char *mode, unsigned *schema, const char *what)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_store_info info;
    pdr_store *store = NULL;
    char *text = NULL;

    if (pdr_store_open(&store, migrate_uri(harness, folder, mode), &err) !=
        PDR_OK) {
        complain(harness, "%s: open %s: %s", what, mode, err.message);
        return NULL;
    }
    text = work_text(store, &err);
    if (text == NULL || pdr_store_info_get(&info, store, &err) != PDR_OK ||
        pdr_store_verify(NULL, store, NULL, &err, NULL, NULL) != PDR_OK)
        complain(harness, "%s: read %s: %s", what, mode, err.message);
    else
        *schema = info.schema;
    pdr_store_close(store);
    return text;
}

static void compare(struct migrate_harness *harness, const char *folder,
                    const char *mode, unsigned least, unsigned most,
                    const char *what)
{
    unsigned schema = 0;
    char *text = read_all(harness, folder, mode, &schema, what);

    if (text != NULL && strcmp(harness->text, text) != 0)
        complain(harness, "%s: other rows than before, %s", what, mode);
    if (text != NULL && (schema < least || schema > most))
        complain(harness, "%s: version %u, wanted %u to %u", what, schema,
                 least, most);
    harness->old += least < most && schema < NEWEST;
    harness->new += least < most &&schema == NEWEST;
    free(text);
}

static void check_pages(struct migrate_harness *harness, const char *folder,
                        const char *what)
{
    char path[600];
    uint8_t header[100] = {0};
    FILE *file = NULL;

    snprintf(path, sizeof(path), "%s/a.db", folder);
    file = fopen(path, "rb");
    ASSERT(file != NULL);
    if (fread(header, 1, sizeof(header), file) != sizeof(header) ||
        header[16] != 16 || header[17] != 0 || header[20] != 8 ||
        header[55] == 0 || header[67] == 0)
        complain(harness, "%s: pages of another kind", what);
    fclose(file);
}

void migrate_check(struct migrate_harness *harness, const char *folder,
                   unsigned least, const char *what)
{
    pdr_migrate_report report = {0, 0};
    pdr_err err = PDR_ERR_INIT;

    harness->runs++;
    compare(harness, folder, "mode=ro", least, NEWEST, what);
    if (pdr_store_migrate(&report, migrate_uri(harness, folder, "mode=rw"),
                          &err) != PDR_OK)
        complain(harness, "%s: again: %s", what, err.message);
    else if (report.to != NEWEST || report.from < least)
        complain(harness, "%s: again: %u to %u", what, report.from, report.to);
    compare(harness, folder, "mode=rw", NEWEST, NEWEST, what);
    check_pages(harness, folder, what);
}

void migrate_init(struct migrate_harness *harness, enum old_store kind)
{
    unsigned schema = 0;

    memset(harness, 0, sizeof(*harness));
    harness->kind = kind;
    work_room(&harness->room);
    put_key(harness);
    if (kind == OLD_GROWN)
        make_grown(harness);
    else
        harness->bytes =
            test_read_data(kind == OLD_KEYED ? "store/version-1-keyed.db"
                                             : "store/version-1.db",
                           &harness->len);
    migrate_reset(harness);
    harness->text =
        read_all(harness, harness->room.path, "mode=ro", &schema, "old");
    ASSERT_SIZE(0, harness->mistakes);
    ASSERT_INT(1, schema);
    migrate_reset(harness);
}

void migrate_dispose(struct migrate_harness *harness)
{
    room_leave(&harness->room);
    free(harness->bytes);
    free(harness->text);
}

/* --- failing operations -------------------------------------------------- */

static void prepare(void *arg)
{
    migrate_reset(arg);
}

static pdr_rc act(void *arg, pdr_err *err)
{
    struct migrate_harness *harness = arg;

    return pdr_store_migrate(
        NULL, migrate_uri(harness, harness->room.path, "vfs=shim"), err);
}

static void check_failed(void *arg, const struct fail_run *run)
{
    struct migrate_harness *harness = arg;

    harness->refused += run->rc != PDR_OK;
    if (run->failed)
        migrate_check(harness, harness->room.path,
                      run->rc == PDR_OK ? NEWEST : 1, run->what);
    else if (run->rc != PDR_OK)
        complain(harness, "%s: without a cause: %s", run->what,
                 run->err.message);
}

void migrate_fail(struct migrate_harness *harness, size_t step)
{
    static const struct fail_deed deed = {prepare, act, check_failed};

    fail_each(&deed, harness, step);
}

/* --- killing ------------------------------------------------------------- */

/* migrate URI NTH: die at a file operation; 0: at none. */
TEST_ROLE(migrate)
{
    struct shim *shim = shim_new("shim");
    struct shim_fault fault = {.op = SHIM_ANY, .dies = true};
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (argc != 2)
        return 2;
    fault.nth = strtoul(argv[1], NULL, 10);
    shim_fail(shim, &fault);
    rc = pdr_store_migrate(NULL, argv[0], &err);
    if (rc != PDR_OK)
        fprintf(stderr, "%s\n", err.message);
    shim_free(shim);
    return rc == PDR_OK ? 0 : 1;
}

static pid_t start(struct migrate_harness *harness, size_t nth)
{
    char number[32], uri[1200];
    const char *args[] = {uri, number, NULL};

    migrate_reset(harness);
    snprintf(uri, sizeof(uri), "%s",
             migrate_uri(harness, harness->room.path, "vfs=shim"));
    snprintf(number, sizeof(number), "%zu", nth);
    return process_start("migrate", args);
}

static void check_killed(struct migrate_harness *harness,
                         enum process_end ended, const char *what)
{
    if (ended == PROCESS_FAILED)
        complain(harness, "%s: the process failed", what);
    migrate_check(harness, harness->room.path,
                  ended == PROCESS_DONE ? NEWEST : 1, what);
}

void migrate_kill(struct migrate_harness *harness, size_t step)
{
    enum process_end ended = PROCESS_KILLED;

    for (size_t nth = 1; ended == PROCESS_KILLED; nth += step) {
        char what[60];

        ended = process_end(start(harness, nth), true);
        snprintf(what, sizeof(what), "killed at operation %zu", nth);
        check_killed(harness, ended, what);
    }
}

void migrate_kill_at_random(struct migrate_harness *harness, size_t times)
{
    uint64_t seed = 7;
    int64_t began = monotonic_us(), took = 0;

    ASSERT(process_end(start(harness, 0), true) == PROCESS_DONE);
    took = monotonic_us() - began;
    for (size_t i = 0; i < times; i++) {
        pid_t child = start(harness, 0);
        char what[60];

        sleep_us((int64_t)random_below(&seed, (unsigned)took));
        snprintf(what, sizeof(what), "killed at random, %zu", i);
        check_killed(harness, process_kill(child), what);
    }
}

/* --- losing power -------------------------------------------------------- */

static void lose(struct migrate_harness *harness, const struct shim_disk *disk,
                 const struct room *image, enum shim_loss loss)
{
    char what[80];

    snprintf(what, sizeof(what), "power lost, run %zu, way %d", harness->runs,
             (int)loss);
    shim_disk_image(disk, image->path, loss, harness->runs);
    migrate_check(harness, image->path,
                  shim_disk_acknowledged(disk) > 0 ? NEWEST : 1, what);
}

static void lose_everywhere(struct migrate_harness *harness,
                            const struct shim *shim, bool all)
{
    struct shim_disk *disk = shim_disk_new(shim);
    struct room image;
    int count = all ? SHIM_LOSSES : LOSSES_A_POINT;

    work_room(&image);
    while (shim_disk_next(disk, all) != SHIM_POINT_END)
        for (int i = 0; i < count; i++)
            lose(harness, disk, &image,
                 (enum shim_loss)(((int)harness->runs * 3 + i) % SHIM_LOSSES));
    lose(harness, disk, &image, SHIM_LOSS_ALL);
    shim_disk_free(disk);
    room_leave(&image);
}

void migrate_lose_power(struct migrate_harness *harness, bool all)
{
    struct shim *shim = shim_new("shim");
    pdr_err err = PDR_ERR_INIT;

    migrate_reset(harness);
    shim_record_folder(shim, harness->room.path);
    shim_mark(shim, 0, 1);
    if (pdr_store_migrate(NULL,
                          migrate_uri(harness, harness->room.path, "vfs=shim"),
                          &err) != PDR_OK)
        complain(harness, "%s", err.message);
    shim_mark(shim, 1, 1);
    lose_everywhere(harness, shim, all);
    shim_free(shim);
}

/* --- losing power after a sync that failed -------------------------------- */

#define CHANGES_APART 16 /* between two points, besides all syncs */
#define POINTS        15 /* at most, for each sync that failed */

static pdr_rc migrate_through(const struct migrate_harness *harness)
{
    return pdr_store_migrate(
        NULL, migrate_uri(harness, harness->room.path, "vfs=shim"), NULL);
}

static void lose_behind_mark(struct migrate_harness *harness,
                             const struct shim *shim)
{
    struct shim_disk *disk = shim_disk_new(shim);
    enum shim_point point = SHIM_POINT_CHANGE;
    size_t seen = 0, points = 0;
    struct room image;

    work_room(&image);
    while (point != SHIM_POINT_END && points < POINTS) {
        point = shim_disk_next(disk, true);
        if (shim_disk_possible(disk) != 1 ||
            (point == SHIM_POINT_CHANGE && seen++ % CHANGES_APART != 0))
            continue;
        points++;
        for (int loss = 0; loss <= SHIM_LOSS_REST; loss++)
            lose(harness, disk, &image, (enum shim_loss)loss);
    }
    shim_disk_free(disk);
    room_leave(&image);
}

bool migrate_lose_power_again(struct migrate_harness *harness, size_t nth)
{
    struct shim *shim = shim_new("shim");
    pdr_rc rc = PDR_OK;

    migrate_reset(harness);
    shim_record_folder(shim, harness->room.path);
    shim_fail(shim, &(struct shim_fault){.op = SHIM_SYNC, .nth = nth});
    rc = migrate_through(harness);
    shim_fail(shim, &(struct shim_fault){.op = SHIM_ANY, .nth = 0});
    harness->refused += rc != PDR_OK;
    if (rc != PDR_OK) {
        shim_mark(shim, 0, 1);
        if (migrate_through(harness) != PDR_OK)
            complain(harness, "sync %zu: not migrated again", nth);
        lose_behind_mark(harness, shim);
    }
    shim_free(shim);
    return rc != PDR_OK;
}
