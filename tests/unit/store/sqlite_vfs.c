/* Our VFS: what SQLite reads is what was written, and what it writes to the log
 * goes out in few calls. */
#include "sqlite_room.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim_vfs.h"
#include "sqlite/file.h"
#include "sqlite/vfs.h"

#define FRAME (PDR_FRAME_HEADER + PDR_SQLITE_PAGE)

static const struct shim_fault none = {.op = SHIM_ANY, .nth = 0};

/* --- files --------------------------------------------------------------- */

static void change(const struct room *room, const char *name, int64_t at,
                   uint8_t bits)
{
    int fd = open(room_path(room, name), O_RDWR | O_CLOEXEC);
    uint8_t byte = 0;

    ASSERT(fd >= 0);
    ASSERT_INT(1, pread(fd, &byte, 1, at));
    byte ^= bits;
    ASSERT_INT(1, pwrite(fd, &byte, 1, at));
    ASSERT_INT(0, close(fd));
}

static void flip(const struct room *room, const char *name, int64_t at)
{
    change(room, name, at, 0x20);
}

static void copy(const struct room *room, const char *from, const char *to)
{
    size_t len = 0;
    char *bytes = room_get(room, from, &len);

    ASSERT(bytes != NULL);
    room_put(room, to, pdr_str_n(bytes, len));
    ASSERT_INT(0, chmod(room_path(room, to), 0600));
    free(bytes);
}

/* Each page of a file ends with its sum? Gives how many there are. */
static size_t assert_sound(const struct room *room, const char *name)
{
    size_t len = 0;
    char *bytes = room_get(room, name, &len);

    ASSERT(bytes != NULL && len % PDR_SQLITE_PAGE == 0);
    for (size_t at = 0; at < len; at += PDR_SQLITE_PAGE)
        ASSERT(pdr__page_is_sound((const uint8_t *)bytes + at,
                                  (uint32_t)(at / PDR_SQLITE_PAGE) + 1));
    free(bytes);
    return len / PDR_SQLITE_PAGE;
}

static int64_t log_size(const struct room *room)
{
    return (int64_t)pdr__file_bytes(room_path(room, "s.db-wal"));
}

/* --- connections --------------------------------------------------------- */

/* SQLite through our VFS over `below`, without a store. */
struct link {
    struct pdr__vfs vfs;
    sqlite3 *db;
};

static int run(struct link *link, const char *sql)
{
    return sqlite3_exec(link->db, sql, NULL, NULL, NULL);
}

static void must_run(struct link *link, const char *sql)
{
    if (run(link, sql) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(link->db));
}

static void link_open(struct link *link, const struct room *room,
                      const char *below)
{
    int reserved = PDR_SQLITE_RESERVED;

    ASSERT_RC(PDR_OK, pdr__vfs_open(&link->vfs, below, NULL));
    ASSERT_INT(SQLITE_OK,
               sqlite3_open_v2(room_path(room, "s.db"), &link->db,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                                   SQLITE_OPEN_EXRESCODE,
                               link->vfs.name));
    (void)sqlite3_db_config(link->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
                            (int *)NULL);
    ASSERT_INT(SQLITE_OK,
               sqlite3_file_control(link->db, "main",
                                    SQLITE_FCNTL_RESERVE_BYTES, &reserved));
    must_run(link, "PRAGMA synchronous=FULL;PRAGMA wal_autocheckpoint=0");
}

static void link_close(struct link *link)
{
    ASSERT_INT(SQLITE_OK, sqlite3_close(link->db));
    pdr__vfs_close(&link->vfs);
}

static void link_make(struct link *link, const struct room *room,
                      const char *below)
{
    link_open(link, room, below);
    must_run(link, "PRAGMA page_size=4096; PRAGMA journal_mode=WAL;"
                   "CREATE TABLE t(k INTEGER PRIMARY KEY, v TEXT)");
}

static int64_t ask(struct link *link, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    int64_t number = -1;

    ASSERT_INT(SQLITE_OK, sqlite3_prepare_v2(link->db, sql, -1, &stmt, NULL));
    if (sqlite3_step(stmt) == SQLITE_ROW)
        number = sqlite3_column_int64(stmt, 0);
    (void)sqlite3_finalize(stmt);
    return number;
}

static struct pdr__file_state state_of(struct link *link)
{
    struct pdr__file_state state = {.damaged = 0};

    ASSERT_INT(SQLITE_OK,
               sqlite3_file_control(link->db, "main", PDR_FCNTL_STATE, &state));
    return state;
}

static sqlite3_file *log_of(struct link *link)
{
    sqlite3_file *log = NULL;

    (void)sqlite3_file_control(link->db, "main", SQLITE_FCNTL_JOURNAL_POINTER,
                               &log);
    ASSERT(log != NULL && log->pMethods == &pdr__log_methods);
    return log;
}

/* For sqlite3_wal_hook(): where the log ends. */
static int note_frames(void *arg, sqlite3 *db, const char *name, int frames)
{
    (void)db;
    (void)name;
    *(int64_t *)arg = PDR_LOG_HEADER + (int64_t)frames * FRAME;
    return SQLITE_OK;
}

/* Where the log of a store ends, and its zeros begin. */
static int64_t end_of_log(pdr_store *store)
{
    return (int64_t)atomic_load(
        &PDR_CONTAINER_OF(store, struct pdr__sqlite, base)->writer.log_bytes);
}

/* --- damage -------------------------------------------------------------- */

static void fill_store(pdr_store *store)
{
    static char body[9000];

    memset(body, '1', sizeof(body) - 1);
    for (uint64_t i = 0; i < 12; i++)
        ASSERT_RC(PDR_OK, append_one(store, "a", i, NULL,
                                     i % 3 == 0 ? body : "{\"a\":1}", NULL));
}

/* Open and read all of it; what goes wrong on the way. */
static pdr_rc read_all(const struct room *room, const char *parameters,
                       pdr_err *err)
{
    pdr_store *store = NULL;
    pdr_rc rc =
        pdr_store_open(&store, store_uri(room, "s.db", parameters), err);

    if (rc == PDR_OK)
        rc = pdr_store_verify(NULL, store, NULL, err, NULL, NULL);
    pdr_store_close(store);
    return rc;
}

/* Open with a byte of the main file changed, and read all of it. */
static pdr_rc read_flipped(const struct room *room, int64_t at, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    flip(room, "s.db", at);
    rc = read_all(room, "?mode=ro", err);
    flip(room, "s.db", at);
    return rc;
}

TEST(sqlite_vfs, finds_a_changed_byte_wherever_it_is_in_the_main_file)
{
    struct room room;
    pdr_store *store = NULL;
    size_t pages = 0, named = 0;

    room_enter(&room);
    store = store_open(&room, "");
    fill_store(store);
    pdr_store_close(store);
    pages = assert_sound(&room, "s.db");
    for (size_t i = 0; i < pages * 5; i++) {
        size_t page = i % pages + 1;
        pdr_err err = PDR_ERR_INIT;
        char text[64];

        ASSERT(read_flipped(&room,
                            (int64_t)((page - 1) * PDR_SQLITE_PAGE +
                                      i * 1237 % PDR_SQLITE_PAGE),
                            &err) != PDR_OK);
        if (page > 1)
            ASSERT_RC(PDR_ECORRUPT, err.code);
        (void)snprintf(text, sizeof(text), "page %zu of 's.db'", page);
        named += strstr(err.message, text) != NULL;
    }
    ASSERT(named > pages);
    ASSERT_RC(PDR_OK, read_all(&room, "?mode=ro", NULL));
    room_leave(&room);
}

/* Is a frame of the log the last one of its page? */
static bool is_last(const uint8_t *log, size_t frames, size_t n)
{
    for (size_t i = n + 1; i < frames; i++)
        if (memcmp(log + PDR_LOG_HEADER + i * FRAME,
                   log + PDR_LOG_HEADER + n * FRAME, 4) == 0)
            return false;
    return true;
}

TEST(sqlite_vfs, finds_a_changed_byte_wherever_it_is_in_the_log)
{
    struct room room;
    pdr_store *store = NULL;
    size_t len = 0, frames = 0, tried = 0, first = 0;
    uint8_t *log = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    fill_store(store);
    log = (uint8_t *)room_get(&room, "s.db-wal", &len);
    frames = (size_t)(end_of_log(store) - PDR_LOG_HEADER) / FRAME;
    for (size_t i = 0; i < frames; i++) {
        const uint8_t *frame = log + PDR_LOG_HEADER + i * FRAME;
        int64_t at = (int64_t)(PDR_LOG_HEADER + i * FRAME + PDR_FRAME_HEADER +
                               i * 1237 % PDR_SQLITE_PAGE);
        pdr_err err = PDR_ERR_INIT;
        char text[64];

        if (!is_last(log, frames, i) || frame[3] == 2)
            continue;
        flip(&room, "s.db-wal", at);
        ASSERT_RC(PDR_ECORRUPT, read_all(&room, "?mode=ro", &err));
        (void)snprintf(text, sizeof(text), "frame %zu of 's.db-wal'", i + 1);
        first += strstr(err.message, text) != NULL;
        flip(&room, "s.db-wal", at);
        tried++;
    }
    ASSERT(tried > 5);
    ASSERT(first > 2);
    ASSERT_RC(PDR_OK, read_all(&room, "?mode=ro", NULL));
    pdr_store_close(store);
    free(log);
    room_leave(&room);
}

TEST(sqlite_vfs, does_not_copy_a_damaged_log_into_the_main_file)
{
    struct room room;
    struct link link;
    int64_t end = 0;

    room_enter(&room);
    link_make(&link, &room, NULL);
    (void)sqlite3_wal_hook(link.db, note_frames, &end);
    must_run(&link, "INSERT INTO t VALUES(1,'a')");
    flip(&room, "s.db-wal", end - 1000);
    ASSERT_INT(SQLITE_IOERR_DATA,
               sqlite3_wal_checkpoint_v2(
                   link.db, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL));
    ASSERT(state_of(&link).is_in_log);
    ASSERT_INT((end - PDR_LOG_HEADER) / FRAME, state_of(&link).damaged);
    link_close(&link);
    room_leave(&room);
}

/* The commit that needs the page is refused, and the others are not. */
TEST(sqlite_vfs, refuses_commits_that_need_a_damaged_page_alone)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    int64_t root = 0;

    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, NULL, "{}", NULL));
    pdr_store_close(store);
    root =
        sql_int(&room, "SELECT rootpage FROM sqlite_schema WHERE name='log'");
    flip(&room, "s.db", root * PDR_SQLITE_PAGE - 100);
    store = store_open(&room, "");
    ASSERT_RC(PDR_ECORRUPT, append_one(store, "a", 1, NULL, "{}", &err));
    ASSERT_STR("store_damaged", err.reason);
    ASSERT_INT(SQLITE_IOERR_DATA, err.sys);
    pdr_edit other = edit_of("b", 0);
    ASSERT_RC(PDR_OK, commit_one(store, &other, NULL, NULL));
    pdr_store_close(store);
    room_leave(&room);
}

/* --- files that were cut off --------------------------------------------- */

static void cut(const struct room *room, const char *name, int64_t bytes)
{
    int64_t size = (int64_t)pdr__file_bytes(room_path(room, name));

    ASSERT_INT(0, truncate(room_path(room, name), size - bytes));
}

/* A store of which the last page is one of `log_by_key`, which finds what is
 * finished already. */
static void finish_many(const struct room *room)
{
    pdr_store *store = store_open(room, "");

    for (uint64_t i = 0; i < 300; i++) {
        char id[16];
        int len = snprintf(id, sizeof(id), "turn-%03u", (unsigned)i);
        pdr_completion done = {.correlation_id = pdr_str_n(id, (size_t)len),
                               .outcome = pdr_str_c("1")};
        pdr_edit edit = edit_of("a", i == 0 ? 0 : PDR_ANY_REVISION);

        edit.completions = &done;
        edit.completion_count = 1;
        ASSERT_RC(PDR_OK, commit_one(store, &edit, NULL, NULL));
    }
    pdr_store_close(store);
}

/* How the store takes ids that are finished, of which each was acknowledged:
 * none may be taken again. */
static void assert_finished(const struct room *room, pdr_err *err)
{
    pdr_store *store = NULL;
    pdr_rc rc = pdr_store_open(&store, store_uri(room, "s.db", ""), err);

    for (unsigned i = 0; i < 300 && rc == PDR_OK; i++) {
        char id[16];
        int len = snprintf(id, sizeof(id), "turn-%03u", i);
        pdr_page *page = NULL;
        pdr_query query = {.what = PDR_READ_COMPLETIONS,
                           .ref.id = pdr_str_c("a"),
                           .key = pdr_str_n(id, (size_t)len)};

        rc = pdr_store_read(&page, store, &query, err);
        if (rc == PDR_OK)
            ASSERT_SIZE(1, page->count);
        pdr_page_free(page);
    }
    ASSERT_RC(PDR_ECORRUPT, rc);
    pdr_store_close(store);
}

TEST(sqlite_vfs, finds_a_page_that_the_end_of_the_file_cuts_off)
{
    static const int64_t lengths[] = {1, 8, 9, 500, 1500, 4000, 4095};
    struct room room;
    char text[64];
    size_t pages = 0;

    room_enter(&room);
    finish_many(&room);
    pages = assert_sound(&room, "s.db");
    copy(&room, "s.db", "whole.db");
    (void)snprintf(text, sizeof(text), "page %zu of 's.db'", pages);
    for (size_t i = 0; i < PDR_COUNT(lengths); i++) {
        pdr_err err = PDR_ERR_INIT;

        cut(&room, "s.db", lengths[i]);
        ASSERT_RC(PDR_ECORRUPT, read_all(&room, "?mode=ro", &err));
        ASSERT_STR("store_damaged", err.reason);
        ASSERT(strstr(err.message, text) != NULL);
        assert_finished(&room, &err);
        copy(&room, "whole.db", "s.db");
    }
    ASSERT_RC(PDR_OK, read_all(&room, "?mode=ro", NULL));
    room_leave(&room);
}

/* A log that a process left, with one commit to another session: it says how
 * many pages there must be, and has few of them. */
static void leave_a_log(const struct room *room)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        pdr_store *store = NULL;
        pdr_rc rc = pdr_store_open(&store, store_uri(room, "s.db", ""), NULL);

        if (rc == PDR_OK)
            rc = append_one(store, "b", 0, NULL, "{}", NULL);
        _exit(rc == PDR_OK ? 0 : 1);
    }
    ASSERT(child > 0 && waitpid(child, &status, 0) == child);
    ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ASSERT(log_size(room) > 0);
}

/* It is read from there, and copied again: who copied it may have died. */
TEST(sqlite_vfs, lets_a_page_be_damaged_that_stands_in_the_log)
{
    struct room room;
    pdr_err err = PDR_ERR_INIT;
    int64_t root = 0;
    char *log = NULL;
    size_t len = 0;

    room_enter(&room);
    finish_many(&room);
    root = sql_int(&room,
                   "SELECT rootpage FROM sqlite_schema WHERE name='unseen'");
    leave_a_log(&room);
    log = room_get(&room, "s.db-wal", &len);
    for (size_t at = PDR_LOG_HEADER; at + FRAME < len; at += FRAME)
        if (log[at + 3] > 0)
            flip(&room, "s.db", log[at + 3] * PDR_SQLITE_PAGE - 900);
    ASSERT_RC(PDR_OK, read_all(&room, "?mode=ro", NULL));
    flip(&room, "s.db", root * PDR_SQLITE_PAGE - 900);
    ASSERT_RC(PDR_ECORRUPT, read_all(&room, "?mode=ro", &err));
    flip(&room, "s.db", root * PDR_SQLITE_PAGE - 900);
    ASSERT_RC(PDR_OK, read_all(&room, "", NULL));
    (void)assert_sound(&room, "s.db");
    free(log);
    room_leave(&room);
}

TEST(sqlite_vfs, never_takes_pages_that_are_gone_for_empty_ones)
{
    struct room room;
    pdr_err err = PDR_ERR_INIT;
    size_t pages = 0;

    room_enter(&room);
    finish_many(&room);
    pages = assert_sound(&room, "s.db");
    copy(&room, "s.db", "whole.db");
    for (size_t gone = 1; gone < pages; gone++) {
        cut(&room, "s.db", (int64_t)gone * PDR_SQLITE_PAGE);
        ASSERT(read_all(&room, "?mode=ro", NULL) != PDR_OK);
        assert_finished(&room, &err);
        copy(&room, "whole.db", "s.db");
    }
    leave_a_log(&room);
    cut(&room, "s.db", 8 * PDR_SQLITE_PAGE);
    ASSERT_RC(PDR_ECORRUPT, read_all(&room, "?mode=ro", NULL));
    assert_finished(&room, &err);
    ASSERT_RC(PDR_ECORRUPT, read_all(&room, "", NULL));
    room_leave(&room);
}

/* --- files without sums -------------------------------------------------- */

TEST(sqlite_vfs, leaves_a_file_of_version_1_as_it_is)
{
    struct room room;
    struct link link;
    size_t len = 0, after = 0;
    char *bytes = test_read_data("store/version-1.db", &len);
    char *kept = NULL;

    room_enter(&room);
    room_put(&room, "s.db", pdr_str_n(bytes, len));
    ASSERT_INT(0, chmod(room_path(&room, "s.db"), 0600));
    ASSERT_RC(PDR_OK, read_all(&room, "?mode=ro", NULL));
    kept = room_get(&room, "s.db", &after);
    ASSERT_SIZE(len, after);
    assert_memory_equal(bytes, kept, len);
    link_open(&link, &room, NULL);
    ASSERT(ask(&link, "SELECT count(*) FROM sessions") > 0);
    ASSERT(!state_of(&link).has_sums);
    link_close(&link);
    free(kept);
    free(bytes);
    room_leave(&room);
}

/* Table t in a file without sums, and a log that brings them. */
static void bring_sums(struct link *link, const struct room *room,
                       const char *below)
{
    int reserved = PDR_SQLITE_RESERVED;
    sqlite3 *plain = NULL;

    ASSERT_INT(SQLITE_OK, sqlite3_open(room_path(room, "s.db"), &plain));
    ASSERT_INT(SQLITE_OK,
               sqlite3_exec(plain,
                            "PRAGMA page_size=4096;PRAGMA journal_mode=WAL;"
                            "CREATE TABLE t(k INTEGER PRIMARY KEY, v TEXT);"
                            "WITH c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM "
                            "c WHERE i<300) INSERT INTO t SELECT i, "
                            "hex(zeroblob(200)) FROM c",
                            NULL, NULL, NULL));
    (void)sqlite3_close(plain);
    link_open(link, room, below);
    ASSERT_INT(300, ask(link, "SELECT count(*) FROM t"));
    ASSERT(!state_of(link).has_sums);
    (void)sqlite3_file_control(link->db, "main", SQLITE_FCNTL_RESERVE_BYTES,
                               &reserved);
    must_run(link, "VACUUM");
    ASSERT(!state_of(link).has_sums); /* page 1 stands in the log */
}

TEST(sqlite_vfs, brings_sums_with_the_checkpoint_that_writes_page_1)
{
    struct room room;
    struct link link;

    room_enter(&room);
    bring_sums(&link, &room, NULL);
    must_run(&link, "PRAGMA wal_checkpoint(TRUNCATE)");
    ASSERT(state_of(&link).has_sums);
    ASSERT(assert_sound(&room, "s.db") > 20);
    ASSERT_INT(300, ask(&link, "SELECT count(*) FROM t"));
    link_close(&link);
    room_leave(&room);
}

/* Some pages of the main file have sums then and others none, but all stand in
 * the log. */
TEST(sqlite_vfs, survives_an_end_in_the_middle_of_that_checkpoint)
{
    struct shim *shim = shim_new("middle");

    bool failed = true;
    size_t failures = 0;

    for (size_t nth = 1; failed; nth += 6) {
        const struct shim_fault fault = {
            .op = SHIM_WRITE, .nth = nth, .for_ever = true};
        struct room room;
        struct link link;

        room_enter(&room);
        bring_sums(&link, &room, "middle");
        shim_fail(shim, &fault);
        (void)run(&link, "PRAGMA wal_checkpoint(TRUNCATE)");
        failed = shim_failed(shim) > 0;
        failures += failed;
        shim_fail(shim, &none);
        link_close(&link);
        ASSERT_INT(0, unlink(room_path(&room, "s.db-shm")));
        link_open(&link, &room, NULL);
        ASSERT_INT(300, ask(&link, "SELECT count(*) FROM t WHERE v<>''"));
        must_run(&link, "PRAGMA wal_checkpoint(TRUNCATE)");
        ASSERT(state_of(&link).has_sums);
        (void)assert_sound(&room, "s.db");
        link_close(&link);
        room_leave(&room);
    }
    ASSERT(failures > 2);
    shim_free(shim);
}

/* Once they are there nobody turns them off. */
TEST(sqlite_vfs, checks_page_1_whatever_it_says_of_itself)
{
    struct room room;
    struct link link;

    room_enter(&room);
    link_make(&link, &room, NULL);
    must_run(&link, "INSERT INTO t VALUES(1,'a');"
                    "PRAGMA wal_checkpoint(TRUNCATE)");
    ASSERT(state_of(&link).has_sums);
    flip(&room, "s.db", 20);
    must_run(&link, "PRAGMA shrink_memory");
    ASSERT_INT(SQLITE_IOERR_DATA, run(&link, "SELECT * FROM sqlite_schema"));
    ASSERT_INT(1, state_of(&link).damaged);
    ASSERT(!state_of(&link).is_in_log);
    link_close(&link);
    room_leave(&room);
}

/* Byte 20 of the file turns the sums on, so nobody looks at them if it is
 * changed: neither when page 1 is read, nor when others are. */
TEST(sqlite_vfs, is_not_fooled_by_a_file_that_says_it_has_no_sums)
{
    struct room room;

    room_enter(&room);
    pdr_store_close(store_open(&room, ""));
    for (int bit = 0; bit < 8; bit++) {
        pdr_err err = PDR_ERR_INIT;

        change(&room, "s.db", 20, (uint8_t)(1 << bit));
        ASSERT(read_all(&room, "", &err) != PDR_OK);
        if (bit < 4) /* SQLite itself takes no more than 32 */
            ASSERT_STR("store_damaged", err.reason);
        change(&room, "s.db", 20, (uint8_t)(1 << bit));
    }
    ASSERT_RC(PDR_OK, read_all(&room, "", NULL));
    room_leave(&room);
}

/* --- calls to the log ---------------------------------------------------- */

TEST(sqlite_log, takes_a_commit_in_one_write_and_one_sync)
{
    struct shim *shim = shim_new("counted");
    struct room room;
    struct link link;

    room_enter(&room);
    link_make(&link, &room, "counted");
    must_run(&link, "INSERT INTO t VALUES(0,'a')");
    for (int i = 1; i < 20; i++) {
        int64_t before = log_size(&room);
        char sql[64];

        (void)snprintf(sql, sizeof(sql), "INSERT INTO t VALUES(%d,'a')", i);
        shim_reset_counts(shim);
        must_run(&link, sql);
        ASSERT_SIZE(1, shim_count(shim, SHIM_SYNC));
        if (log_size(&room) != before)
            continue;
        ASSERT_SIZE(1, shim_count(shim, SHIM_WRITE));
        ASSERT_SIZE(0, shim_count(shim, SHIM_SIZE)); /* nor for its times */
    }
    link_close(&link);
    room_leave(&room);
    shim_free(shim);
}

/* The bytes of the log behind its last commit are zero. */
static void assert_zeros_behind(const struct room *room, int64_t end)
{
    size_t len = 0;
    char *bytes = room_get(room, "s.db-wal", &len);

    for (size_t i = (size_t)end; i < len; i++)
        ASSERT_INT(0, bytes[i]);
    free(bytes);
}

TEST(sqlite_log, is_written_ahead_of_small_commits)
{
    struct room room;
    struct link link;
    int64_t end = 0;
    int grown = 0;

    room_enter(&room);
    link_make(&link, &room, NULL);
    (void)sqlite3_wal_hook(link.db, note_frames, &end);
    for (int i = 0; i < 300; i++) {
        int64_t before = log_size(&room), now = 0;

        must_run(&link, "INSERT INTO t(v) VALUES(hex(zeroblob(3000)))");
        now = log_size(&room);
        ASSERT(now >= end && now <= end * 2 + PDR_SQLITE_PAGE);
        ASSERT(now <= end + PDR_LOG_AHEAD_BYTES + PDR_SQLITE_PAGE);
        grown += now > before;
        if (now > before)
            assert_zeros_behind(&room, end);
    }
    ASSERT(end > 2 * PDR_LOG_AHEAD_BYTES);
    ASSERT(grown >= 3 && grown < 20);
    link_close(&link);
    room_leave(&room);
}

TEST(sqlite_log, is_not_written_ahead_of_large_commits)
{
    struct room room;
    struct link link;
    int64_t end = 0;

    room_enter(&room);
    link_make(&link, &room, NULL);
    (void)sqlite3_wal_hook(link.db, note_frames, &end);
    must_run(&link, "INSERT INTO t(v) VALUES(zeroblob(1000000))");
    ASSERT(end > 900000);
    ASSERT_INT(end, log_size(&room));
    link_close(&link);
    room_leave(&room);
}

/* A process that died leaves the zeros behind. */
TEST(sqlite_log, is_read_up_to_the_zeros_when_nobody_has_it)
{
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    fill_store(store);
    copy(&room, "s.db", "dead.db");
    copy(&room, "s.db-wal", "dead.db-wal");
    pdr_store_close(store);
    ASSERT_RC(PDR_OK,
              pdr_store_open(&store, store_uri(&room, "dead.db", ""), NULL));
    ASSERT_INT(0, (int64_t)pdr__file_bytes(room_path(&room, "dead.db-wal")));
    ASSERT_RC(PDR_OK, append_one(store, "a", 12, NULL, "{}", NULL));
    ASSERT_RC(PDR_OK, pdr_store_verify(NULL, store, NULL, NULL, NULL, NULL));
    pdr_store_close(store);
    room_leave(&room);
}

/* A log as power loss may leave it: sectors from `from` to `to` of the new one,
 * the others of the old one, which ends sooner. */
static void put_torn(const struct room *room, const pdr_str *old,
                     const pdr_str *now, size_t from, size_t to)
{
    char *bytes = calloc(1, now->len);

    ASSERT(bytes != NULL);
    memcpy(bytes, old->ptr, old->len);
    to = to < now->len ? to : now->len;
    memcpy(bytes + from, now->ptr + from, to - from);
    room_put(room, "torn.db-wal",
             pdr_str_n(bytes, to > old->len ? to : old->len));
    free(bytes);
}

/* Open what is left: is the second commit there? It is whole, or it is not. */
static bool has_second(const struct room *room)
{
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    copy(room, "base.db", "torn.db");
    (void)unlink(room_path(room, "torn.db-lock")); /* of the one before */
    rc = pdr_store_open(&store, store_uri(room, "torn.db", ""), &err);
    if (rc != PDR_OK)
        fail_msg("%s", err.message);
    rc = append_one(store, "a", 2, NULL, "{}", NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ECONFLICT);
    ASSERT_RC(PDR_OK, pdr_store_verify(NULL, store, NULL, NULL, NULL, NULL));
    pdr_store_close(store);
    return rc == PDR_OK;
}

/* The sectors of one call reach the disk in any order, and some do not. */
TEST(sqlite_log, has_a_commit_whole_or_not_wherever_its_write_is_torn)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_str old = {NULL, 0}, now = {NULL, 0};
    size_t begin = 0, end = 0, torn = 0;

    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, NULL, "{}", NULL));
    copy(&room, "s.db", "base.db");
    old.ptr = room_get(&room, "s.db-wal", &old.len);
    begin = (size_t)end_of_log(store);
    ASSERT_RC(PDR_OK, append_one(store, "a", 1, NULL, "{}", NULL));
    now.ptr = room_get(&room, "s.db-wal", &now.len);
    end = (size_t)end_of_log(store);
    pdr_store_close(store);
    ASSERT(end > begin + 8192);
    for (size_t at = begin / 512 * 512; at < end; at += 512) {
        put_torn(&room, &old, &now, 0, at);
        ASSERT(!has_second(&room));
        put_torn(&room, &old, &now, at + 512 < end ? at + 512 : end, end);
        ASSERT(!has_second(&room));
        torn++;
    }
    put_torn(&room, &old, &now, begin, end);
    ASSERT(has_second(&room));
    ASSERT(torn > 16);
    free((char *)old.ptr);
    free((char *)now.ptr);
    room_leave(&room);
}

/* --- transactions larger than memory ------------------------------------- */

/* With room for ten pages, SQLite writes pages to the log, reads them back,
 * writes them again in the same place, and takes some back. */
static const char spill[] =
    "PRAGMA cache_size=10; BEGIN;"
    "WITH c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i<200)"
    " INSERT INTO t SELECT i, hex(zeroblob(400)) FROM c;"
    "UPDATE t SET v=v||k WHERE k%3=0;"
    "SAVEPOINT a; UPDATE t SET v='x'||v; ROLLBACK TO a;"
    "UPDATE t SET v=v||'y' WHERE k%5=0;"
    "DELETE FROM t WHERE k%7=0;";
#define LEFT "SELECT count(*)*1000000+sum(length(v)) FROM t"

static int64_t plain_answer(const struct room *room)
{
    sqlite3 *db = NULL;
    struct link link;

    ASSERT_INT(SQLITE_OK, sqlite3_open(room_path(room, "plain.db"), &db));
    link.db = db;
    must_run(&link, "CREATE TABLE t(k INTEGER PRIMARY KEY, v TEXT)");
    must_run(&link, spill);
    must_run(&link, "COMMIT");
    int64_t answer = ask(&link, LEFT);
    ASSERT_INT(SQLITE_OK, sqlite3_close(db));
    return answer;
}

TEST(sqlite_log, gives_back_what_a_transaction_spilled)
{
    struct room room;
    struct link link, other;
    int64_t wanted = 0;

    room_enter(&room);
    wanted = plain_answer(&room);
    ASSERT(wanted > 1000000);
    link_make(&link, &room, NULL);
    must_run(&link, spill);
    ASSERT_INT(wanted, ask(&link, LEFT));
    link_open(&other, &room, NULL);
    ASSERT_INT(0, ask(&other, "SELECT count(*) FROM t"));
    must_run(&link, "COMMIT");
    ASSERT_INT(wanted, ask(&other, LEFT));
    link_close(&other);
    must_run(&link, "DELETE FROM t");
    must_run(&link, spill);
    must_run(&link, "ROLLBACK");
    ASSERT_INT(0, ask(&link, "SELECT count(*) FROM t"));
    must_run(&link, spill);
    must_run(&link, "COMMIT");
    must_run(&link, "PRAGMA wal_checkpoint(TRUNCATE)");
    (void)assert_sound(&room, "s.db");
    ASSERT_INT(wanted, ask(&link, LEFT));
    link_close(&link);
    room_leave(&room);
}

/* Without memory SQLite's calls go through as they are. */
TEST(sqlite_log, needs_no_memory_of_its_own)
{
    struct shim *shim = shim_new("poor");
    struct room room;
    struct link link;
    int64_t wanted = 0;

    room_enter(&room);
    wanted = plain_answer(&room);
    link_make(&link, &room, "poor");
    link_close(&link);
    link_open(&link, &room, "poor");
    test_fail_allocation(1, true);
    shim_reset_counts(shim);
    must_run(&link, spill);
    must_run(&link, "COMMIT");
    test_fail_allocation(0, false);
    ASSERT(shim_count(shim, SHIM_WRITE) > 100);
    ASSERT_INT(wanted, ask(&link, LEFT));
    link_close(&link);
    room_leave(&room);
    shim_free(shim);
}

/* --- failures ------------------------------------------------------------ */

/* Does the nth operation of a kind fail within the transaction? Then it is not
 * there; if it says yes, it is, for whoever opens the files next. */
static bool commit_with_fault(const struct room *room, struct shim *shim,
                              const struct shim_fault *fault, int64_t wanted)
{
    struct link link;
    bool failed = false, said_yes = false;
    int64_t found = 0;

    link_make(&link, room, "faulty");
    must_run(&link, "PRAGMA wal_checkpoint(TRUNCATE)");
    shim_fail(shim, fault);
    said_yes = run(&link, spill) == SQLITE_OK && run(&link, "COMMIT") == 0;
    failed = shim_failed(shim) > 0;
    shim_fail(shim, &none);
    (void)run(&link, "ROLLBACK");
    if (!said_yes && fault->op == SHIM_WRITE)
        must_run(&link, "INSERT INTO t VALUES(-1,'later')");
    link_close(&link);
    (void)unlink(room_path(room, "s.db-shm"));
    link_open(&link, room, NULL);
    must_run(&link, "DELETE FROM t WHERE k=-1");
    found = ask(&link, "SELECT count(*) FROM t") == 0 ? 0 : ask(&link, LEFT);
    ASSERT(found == wanted || found == 0);
    ASSERT(found == wanted || !said_yes);
    ASSERT(failed || said_yes);
    link_close(&link);
    return failed;
}

static void check_faults(enum shim_op op, bool full, size_t step)
{
    struct shim *shim = shim_new("faulty");
    size_t failures = 0;
    bool failed = true;

    for (size_t nth = 1; failed; nth += step) {
        const struct shim_fault fault = {.op = op, .nth = nth, .full = full};
        struct room room;

        room_enter(&room);
        failed = commit_with_fault(&room, shim, &fault, plain_answer(&room));
        failures += failed;
        room_leave(&room);
    }
    ASSERT(failures > 0);
    shim_free(shim);
}

TEST(sqlite_log, commits_nothing_when_a_write_fails)
{
    check_faults(SHIM_WRITE, false, 3);
}

TEST(sqlite_log, commits_nothing_when_the_disk_is_full)
{
    check_faults(SHIM_WRITE, true, 3);
}

TEST(sqlite_log, commits_nothing_when_a_read_fails)
{
    check_faults(SHIM_READ, false, 17);
}

TEST(sqlite_log, commits_nothing_when_a_sync_fails)
{
    check_faults(SHIM_SYNC, false, 1);
}

/* Neither the size of the log nor a place for zeros is needed to commit. */
static void commit_without_zeros(enum shim_op op, size_t nth)
{
    const struct shim_fault fault = {.op = op, .nth = nth, .full = true};
    struct shim *shim = shim_new("tight");
    struct room room;
    struct link link;
    int64_t end = 0;

    room_enter(&room);
    link_make(&link, &room, "tight");
    must_run(&link, "PRAGMA wal_checkpoint(TRUNCATE)");
    (void)sqlite3_wal_hook(link.db, note_frames, &end);
    must_run(&link, "INSERT INTO t VALUES(1,'a')");
    ASSERT(log_size(&room) > end);
    while (end + 2 * (int64_t)FRAME <= log_size(&room))
        must_run(&link, "INSERT INTO t(v) VALUES('b')");
    shim_fail(shim, &fault);
    must_run(&link, "INSERT INTO t(v) VALUES(hex(zeroblob(4000)))");
    ASSERT_SIZE(1, shim_failed(shim));
    shim_fail(shim, &none);
    ASSERT(log_size(&room) <= end + end / 2 + PDR_SQLITE_PAGE);
    ASSERT_INT(4000 * 2, ask(&link, "SELECT max(length(v)) FROM t"));
    link_close(&link);
    room_leave(&room);
    shim_free(shim);
}

TEST(sqlite_log, does_without_zeros_when_it_cannot_know_its_size)
{
    commit_without_zeros(SHIM_SIZE, 1);
}

/* The first write is the commit, the second the zeros behind it. */
TEST(sqlite_log, does_without_zeros_when_the_disk_has_no_room)
{
    commit_without_zeros(SHIM_WRITE, 2);
}

/* What could not be written is gone. SQLite may go on after a read that failed,
 * but such a transaction must not be committed. */
TEST(sqlite_log, keeps_a_transaction_from_being_committed_that_lost_bytes)
{
    const struct shim_fault fault = {.op = SHIM_WRITE, .nth = 1};
    struct shim *shim = shim_new("losing");
    uint8_t bytes[PDR_SQLITE_PAGE] = {1};
    struct room room;
    struct link link;
    sqlite3_file *log = NULL;
    sqlite3_int64 size = 0;

    room_enter(&room);
    link_make(&link, &room, "losing");
    must_run(&link, "INSERT INTO t VALUES(1,'a'); BEGIN IMMEDIATE");
    log = log_of(&link);
    size = log_size(&room);
    ASSERT_INT(SQLITE_OK, log->pMethods->xWrite(log, bytes, 24, size));
    shim_fail(shim, &fault);
    ASSERT_INT(SQLITE_IOERR_WRITE, log->pMethods->xRead(log, bytes, 24, size));
    ASSERT_SIZE(1, shim_failed(shim));
    ASSERT_INT(SQLITE_IOERR_WRITE, log->pMethods->xWrite(log, bytes, 24, size));
    ASSERT_INT(SQLITE_IOERR_WRITE, log->pMethods->xSync(log, 0));
    ASSERT_INT(SQLITE_IOERR_WRITE, log->pMethods->xTruncate(log, size));
    ASSERT_INT(SQLITE_IOERR_WRITE, log->pMethods->xFileSize(log, &size));
    ASSERT_INT(SQLITE_IOERR_WRITE, run(&link, "INSERT INTO t VALUES(2,'b')")
                                       ? SQLITE_OK
                                       : run(&link, "COMMIT"));
    (void)run(&link, "ROLLBACK");
    must_run(&link, "INSERT INTO t VALUES(3,'c')");
    ASSERT_INT(4, ask(&link, "SELECT sum(k) FROM t"));
    link_close(&link);
    room_leave(&room);
    shim_free(shim);
}

TEST(sqlite_log, writes_what_somebody_left_when_it_is_closed)
{
    const struct shim_fault fault = {.op = SHIM_WRITE, .nth = 1};
    struct shim *shim = shim_new("leaving");
    struct room room;
    struct link link;
    sqlite3_file *log = NULL;

    room_enter(&room);
    link_make(&link, &room, "leaving");
    log = log_of(&link);
    ASSERT_INT(SQLITE_OK,
               log->pMethods->xWrite(log, "12345678", 8, log_size(&room)));
    ASSERT_SIZE(8, ((struct pdr__log_file *)log)->gathered.len);
    shim_fail(shim, &fault);
    link_close(&link);
    ASSERT_SIZE(1, shim_failed(shim));
    shim_fail(shim, &none);
    room_leave(&room);
    shim_free(shim);
}

/* --- the rest ------------------------------------------------------------ */

TEST(sqlite_vfs, passes_everything_else_on)
{
    struct room room;
    struct link link;
    sqlite3_vfs *vfs = NULL, *below = sqlite3_vfs_find(NULL);
    sqlite3_file *log = NULL;
    char bytes[16];
    double now = 0;
    int flag = -1;

    room_enter(&room);
    link_make(&link, &room, NULL);
    vfs = sqlite3_vfs_find(link.vfs.name);
    ASSERT(vfs == &link.vfs.vfs);
    ASSERT_INT(below->mxPathname, vfs->mxPathname);
    ASSERT_INT(16, vfs->xRandomness(vfs, 16, bytes));
    ASSERT(vfs->xSleep(vfs, 1) >= 1);
    ASSERT_INT(SQLITE_OK, vfs->xCurrentTime(vfs, &now));
    ASSERT(now > 2460000);
    (void)vfs->xGetLastError(vfs, 0, NULL);
    log = log_of(&link);
    ASSERT_INT(SQLITE_OK, log->pMethods->xCheckReservedLock(log, &flag));
    ASSERT_INT(0, flag);
    ASSERT_INT(SQLITE_OK, log->pMethods->xLock(log, SQLITE_LOCK_SHARED));
    ASSERT_INT(SQLITE_OK, log->pMethods->xUnlock(log, SQLITE_LOCK_NONE));
    ASSERT(log->pMethods->xSectorSize(log) > 0);
    ASSERT((log->pMethods->xDeviceCharacteristics(log) &
            SQLITE_IOCAP_POWERSAFE_OVERWRITE) != 0);
    ASSERT_INT(SQLITE_OK,
               log->pMethods->xFileControl(log, SQLITE_FCNTL_HAS_MOVED, &flag));
    link_close(&link);
    ASSERT(sqlite3_vfs_find(link.vfs.name) == NULL);
    room_leave(&room);
}

/* A VFS that locks by files beside the main one has none. */
TEST(sqlite_vfs, offers_no_shared_memory_where_there_is_none)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    ASSERT_RC(PDR_EIO,
              pdr_store_open(
                  &store, store_uri(&room, "s.db", "?vfs=unix-dotfile"), &err));
    ASSERT_STR("file_failed", err.reason);
    ASSERT(strstr(err.message, "no shared memory") != NULL);
    room_leave(&room);
}

TEST(sqlite_vfs, needs_one_below_it)
{
    struct pdr__vfs vfs;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EIO, pdr__vfs_open(&vfs, "nobody", &err));
    ASSERT_STR("file_failed", err.reason);
    pdr__vfs_close(&vfs);
}

TEST(sqlite_vfs, is_one_for_each_store)
{
    struct room room;
    pdr_store *one = NULL, *two = NULL;

    room_enter(&room);
    one = store_open(&room, "");
    two = store_open(&room, "");
    ASSERT_RC(PDR_OK, append_one(one, "a", 0, NULL, "{}", NULL));
    pdr_store_close(one);
    ASSERT_RC(PDR_OK, append_one(two, "a", 1, NULL, "{}", NULL));
    pdr_store_close(two);
    ASSERT_RC(PDR_OK, read_all(&room, "?mode=ro", NULL));
    room_leave(&room);
}

TEST_OOM(sqlite_vfs, cleans_up_after_any_failed_allocation)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_rc rc = PDR_OK;

    room_enter(&room);
    rc = pdr_store_open(&store, store_uri(&room, "s.db", ""), NULL);
    if (rc == PDR_OK)
        rc = append_one(store, "a", 0, NULL, "{}", NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_store_close(store);
    room_leave(&room);
}
