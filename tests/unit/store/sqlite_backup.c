/* A copy of a store while others write: what is in it. Where it goes is in
 * sqlite_target.c; what happens when it fails or is killed, and who else writes
 * meanwhile, in tests/integration. */
#include "sqlite_room.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim_vfs.h"
#include "sqlite/sqlite.h"
#include "sqlite/vfs.h"
#include "store_sample.h"
#include "store_work.h"

#define COPY  "copy.db"
#define LARGE ((size_t)1000 * 1000)

static char *path_of(const struct room *room, const char *name)
{
    static char path[512];

    snprintf(path, sizeof(path), "%s", room_path(room, name));
    return path;
}

static pdr_rc back_up(pdr_backup_report *out, pdr_store *store,
                      const struct room *room, pdr_err *err)
{
    return pdr_store_backup(out, store, path_of(room, COPY), false, err, NULL,
                            NULL);
}

static pdr_store *open_copy(const struct room *room, const char *parameters)
{
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_store_open(&store, store_uri(room, COPY, parameters), &err) !=
        PDR_OK)
        fail_msg("%s", err.message);
    return store;
}

/* Sessions with one large entry each: so many megabytes. */
static void write_large(pdr_store *store, const char *name, size_t count)
{
    char *body = malloc(LARGE + 1), id[64];

    ASSERT(body != NULL);
    memset(body, 'x', LARGE);
    body[0] = body[LARGE - 1] = '"';
    body[LARGE] = '\0';
    for (size_t i = 0; i < count; i++) {
        snprintf(id, sizeof(id), "%s %zu", name, i);
        ASSERT_RC(PDR_OK, append_one(store, id, 0, NULL, body, NULL));
    }
    free(body);
}

static void check_same(const char *expected, pdr_store *copy)
{
    pdr_err err = PDR_ERR_INIT;
    char *text = work_text(copy, &err);

    if (text == NULL)
        fail_msg("%s", err.message);
    ASSERT(strcmp(expected, text) == 0);
    free(text);
    if (pdr_store_verify(NULL, copy, NULL, &err, NULL, NULL) != PDR_OK)
        fail_msg("%s", err.message);
}

/* Nothing beside it, for its owner alone, and a sum at the end of each page. */
static void check_file(const struct room *room, uint64_t bytes)
{
    struct stat file;
    size_t len = 0;
    char *all = room_get(room, COPY, &len);

    assert_non_null(all);
    ASSERT_SIZE(1, room_count(NULL, room, COPY));
    ASSERT_SIZE(0, room_count(NULL, room, COPY "-wal"));
    ASSERT_SIZE(0, room_count(NULL, room, "-unfinished"));
    ASSERT_INT(0, stat(room_path(room, COPY), &file));
    ASSERT_INT(S_IFREG | 0600, file.st_mode);
    ASSERT_SIZE(bytes, len);
    ASSERT_SIZE(0, len % PDR_SQLITE_PAGE);
    for (size_t at = 0; at < len; at += PDR_SQLITE_PAGE)
        ASSERT(pdr__page_is_sound((const uint8_t *)all + at,
                                  (uint32_t)(at / PDR_SQLITE_PAGE) + 1));
    free(all);
}

TEST(sqlite_backup, holds_all_that_is_there_and_stands_alone)
{
    struct room room;
    pdr_store *store = NULL, *copy = NULL;
    pdr_backup_report report;
    char *text = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    store_sample_fill(store); /* all of it is in the log */
    text = work_text(store, NULL);
    ASSERT_RC(PDR_OK, back_up(&report, store, &room, NULL));
    ASSERT(report.bytes > 0);
    ASSERT_SIZE(report.bytes, report.done_bytes);
    ASSERT_SIZE(1, report.steps);
    check_file(&room, report.bytes);
    pdr_store_close(store);

    copy = open_copy(&room, "?mode=rw");
    check_same(text, copy);
    store_sample_check(copy);
    store_sample_go_on(copy);
    pdr_store_close(copy);
    store = store_open(&room, "?mode=ro");
    check_same(text, store); /* nothing of that is in the other one */
    pdr_store_close(store);
    free(text);
    room_leave(&room);
}

TEST(sqlite_backup, is_made_of_an_empty_store_and_of_one_that_is_only_read)
{
    struct room room;
    pdr_store *store = NULL, *copy = NULL;
    char *text = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    text = work_text(store, NULL);
    ASSERT_RC(PDR_OK, back_up(NULL, store, &room, NULL));
    copy = open_copy(&room, "?mode=rw");
    check_same(text, copy);
    pdr_store_close(copy);
    free(text);
    store_sample_fill(store);
    pdr_store_close(store);
    ASSERT_INT(0, unlink(room_path(&room, COPY)));
    store = store_open(&room, "?mode=ro");
    ASSERT_RC(PDR_OK, back_up(NULL, store, &room, NULL));
    pdr_store_close(store);
    copy = open_copy(&room, "");
    store_sample_check(copy);
    pdr_store_close(copy);
    room_leave(&room);
}

TEST(sqlite_backup, has_the_key_of_the_store)
{
    struct room room;
    char with_key[300];
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    room_put_c(&room, "key", "0123456789abcdef0123456789abcdef");
    ASSERT_INT(0, chmod(room_path(&room, "key"), 0600));
    snprintf(with_key, sizeof(with_key), "?key=%s", room_path(&room, "key"));
    store = store_open(&room, with_key);
    store_sample_fill(store);
    ASSERT_RC(PDR_OK, back_up(NULL, store, &room, NULL));
    pdr_store_close(store);
    ASSERT_RC(PDR_EDENIED,
              pdr_store_open(&store, store_uri(&room, COPY, ""), &err));
    ASSERT_STR("wrong_key", err.reason);
    store = open_copy(&room, with_key);
    store_sample_check(store);
    pdr_store_close(store);
    room_leave(&room);
}

/* Before one migrates. Its pages have no sums, and get none: where those would
 * stand there is data. */
TEST(sqlite_backup, is_of_version_1_if_the_store_is)
{
    struct room room, data;
    pdr_store *store = NULL;
    pdr_store_info info;
    char *bytes = NULL, *copied = NULL;
    size_t len = 0, copied_len = 0;

    room_enter(&room);
    snprintf(data.path, sizeof(data.path), "%s/store", test_data_folder());
    bytes = room_get(&data, "version-1.db", &len);
    room_put(&room, "s.db", pdr_str_n(bytes, len));
    /* What is left of another backup had sums. */
    store = store_open(&room, "?mode=ro");
    free(bytes);
    bytes = room_get(&data, "version-2.db", &len);
    room_put(&room, COPY "-unfinished", pdr_str_n(bytes, len));
    ASSERT_INT(0, chmod(room_path(&room, COPY "-unfinished"), 0600));
    free(bytes);
    ASSERT_RC(PDR_OK, back_up(NULL, store, &room, NULL));
    pdr_store_close(store);
    bytes = room_get(&room, "s.db", &len);
    copied = room_get(&room, COPY, &copied_len);
    ASSERT_SIZE(len, copied_len);
    ASSERT(memcmp(bytes + PDR_SQLITE_PAGE, copied + PDR_SQLITE_PAGE,
                  len - PDR_SQLITE_PAGE) == 0);
    free(bytes);
    free(copied);
    store = open_copy(&room, "?mode=ro");
    store_sample_check(store);
    ASSERT_RC(PDR_OK, pdr_store_info_get(&info, store, NULL));
    ASSERT_INT(1, info.schema);
    pdr_store_close(store);
    ASSERT_RC(PDR_OK,
              pdr_store_migrate(NULL, store_uri(&room, COPY, ""), NULL));
    store = open_copy(&room, "");
    store_sample_check(store);
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_backup, is_refused_where_there_is_no_file_and_after_a_fork)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_backup_report report = {1, 1, 1};
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    ASSERT_RC(PDR_EUNSUPPORTED, back_up(&report, store, &room, &err));
    ASSERT_STR("no_backup", err.reason);
    ASSERT_SIZE(0, report.steps);
    pdr_store_close(store);
    store = store_open(&room, "");
    store->process++;
    ASSERT_RC(PDR_EMISUSE, back_up(&report, store, &room, &err));
    ASSERT_STR("after_fork", err.reason);
    store->process--;
    pdr_store_close(store);
    ASSERT(!room_has(&room, COPY));
    room_leave(&room);
}

/* --- who calls ----------------------------------------------------------- */

enum deed { COMMITS, CHECKPOINTS, VACUUMS };

struct caller {
    pdr_store *store;
    enum deed deed;
    size_t calls;
    size_t ends_at;
    uint64_t done;
};

static pdr_rc between(void *arg, const pdr_backup_report *report, pdr_err *err)
{
    struct caller *caller = arg;
    char name[32];

    caller->calls++;
    ASSERT_SIZE(caller->calls, report->steps);
    ASSERT(report->done_bytes > caller->done);
    ASSERT(report->done_bytes < report->bytes);
    caller->done = report->done_bytes;
    snprintf(name, sizeof(name), "between %zu", caller->calls);
    write_large(caller->store, name, 1);
    if (caller->deed == CHECKPOINTS)
        ASSERT(work_checkpoint(caller->store));
    if (caller->deed == VACUUMS && caller->calls == 1)
        ASSERT_RC(PDR_OK,
                  pdr_store_vacuum(NULL, caller->store, NULL, NULL, NULL));
    return caller->calls == caller->ends_at
               ? pdr_err_set(err, PDR_ECANCELLED, "enough", "%s", "enough")
               : PDR_OK;
}

/* 12 MB, and as many commits between the steps as there are: none of them is in
 * the copy, and none makes it begin anew. */
static void copy_beside(enum deed deed, bool with_log)
{
    struct room room;
    struct caller caller = {.deed = deed};
    pdr_edit edit = edit_of("small 2", 1);
    pdr_backup_report report;
    pdr_store *copy = NULL;
    pdr_err err = PDR_ERR_INIT;
    char *text = NULL;

    room_enter(&room);
    caller.store = store_open(&room, "");
    write_large(caller.store, "small", 12);
    edit.remove = true;
    ASSERT_RC(PDR_OK, commit_one(caller.store, &edit, NULL, NULL));
    if (!with_log) {
        pdr_store_close(caller.store);
        caller.store = store_open(&room, "");
    }
    text = work_text(caller.store, NULL);
    if (pdr_store_backup(&report, caller.store, path_of(&room, COPY), false,
                         &err, between, &caller) != PDR_OK)
        fail_msg("%s", err.message);
    ASSERT_SIZE(report.bytes, report.done_bytes);
    ASSERT_SIZE((report.bytes + PDR_BACKUP_STEP_BYTES - 1) /
                    PDR_BACKUP_STEP_BYTES,
                report.steps);
    ASSERT_SIZE(report.steps - 1, caller.calls);
    ASSERT(caller.calls >= 2);
    check_file(&room, report.bytes);
    copy = open_copy(&room, "");
    check_same(text, copy);
    pdr_store_close(copy);
    ASSERT_RC(PDR_OK,
              pdr_store_verify(NULL, caller.store, NULL, NULL, NULL, NULL));
    pdr_store_close(caller.store);
    free(text);
    room_leave(&room);
}

TEST(sqlite_backup, is_of_one_moment_while_others_commit)
{
    copy_beside(COMMITS, true);
    copy_beside(COMMITS, false); /* the log is begun anew meanwhile */
}

TEST(sqlite_backup, is_of_one_moment_while_the_log_is_copied)
{
    copy_beside(CHECKPOINTS, true);
    copy_beside(CHECKPOINTS, false);
}

TEST(sqlite_backup, is_of_one_moment_while_a_vacuum_runs)
{
    copy_beside(VACUUMS, true);
    copy_beside(VACUUMS, false);
}

TEST(sqlite_backup, stops_when_told_and_leaves_nothing)
{
    struct room room;
    struct caller caller = {.ends_at = 2};
    pdr_backup_report report;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    caller.store = store_open(&room, "");
    write_large(caller.store, "large", 12);
    ASSERT_RC(PDR_ECANCELLED,
              pdr_store_backup(&report, caller.store, path_of(&room, COPY),
                               false, &err, between, &caller));
    ASSERT_STR("enough", err.reason);
    ASSERT_SIZE(2, report.steps);
    ASSERT(!room_has(&room, COPY));
    ASSERT(!room_has(&room, COPY "-unfinished"));
    ASSERT_RC(PDR_OK, back_up(NULL, caller.store, &room, NULL));
    pdr_store_close(caller.store);
    room_leave(&room);
}

/* The log of the source shrinks when nobody reads in it any more. */
TEST(sqlite_backup, keeps_no_snapshot_when_it_is_done)
{
    struct room room;
    pdr_store *store = NULL;
    struct stat log;

    room_enter(&room);
    store = store_open(&room, "");
    write_large(store, "a", 2);
    ASSERT_RC(PDR_OK, back_up(NULL, store, &room, NULL));
    pdr_store_close(store);
    ASSERT_INT(0, stat(room_path(&room, "s.db-wal"), &log));
    ASSERT_INT(0, log.st_size);
    room_leave(&room);
}

/* --- damage -------------------------------------------------------------- */

static void flip(const struct room *room, const char *name, off_t at)
{
    int fd = open(room_path(room, name), O_RDWR);
    unsigned char byte = 0;

    ASSERT(fd >= 0);
    ASSERT_INT(1, pread(fd, &byte, 1, at));
    byte ^= 0x10;
    ASSERT_INT(1, pwrite(fd, &byte, 1, at));
    close(fd);
}

static void check_damaged(pdr_store *store, const struct room *room,
                          const char *where)
{
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_ECORRUPT, back_up(NULL, store, room, &err));
    ASSERT_STR("store_damaged", err.reason);
    if (strstr(err.message, where) == NULL)
        fail_msg("no '%s' in: %s", where, err.message);
    ASSERT(!room_has(room, COPY));
    ASSERT(!room_has(room, COPY "-unfinished"));
}

TEST(sqlite_backup, is_refused_when_any_page_is_not_as_it_was_written)
{
    struct room room;
    pdr_store *store = NULL;
    size_t len = 0;
    char where[40];

    room_enter(&room);
    store = store_open(&room, "");
    store_sample_fill(store);
    pdr_store_close(store);
    free(room_get(&room, "s.db", &len));
    store = store_open(&room, "?mode=ro");
    for (size_t page = 2; page <= len / PDR_SQLITE_PAGE; page++) {
        off_t at = (off_t)((page - 1) * PDR_SQLITE_PAGE + page * 31);
        char zeros[PDR_SQLITE_PAGE] = {0};
        int fd = open(room_path(&room, "s.db"), O_RDONLY);
        char bytes[PDR_SQLITE_PAGE];

        ASSERT_INT(PDR_SQLITE_PAGE, pread(fd, bytes, PDR_SQLITE_PAGE,
                                          (off_t)(page - 1) * PDR_SQLITE_PAGE));
        close(fd);
        if (memcmp(bytes, zeros, PDR_SQLITE_PAGE) == 0)
            continue; /* never written: what stands there means nothing */
        flip(&room, "s.db", at);
        snprintf(where, sizeof(where), "page %zu of 's.db'", page);
        check_damaged(store, &room, where);
        flip(&room, "s.db", at);
    }
    ASSERT_RC(PDR_OK, back_up(NULL, store, &room, NULL));
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_backup, is_refused_when_a_frame_of_the_log_is_not)
{
    struct room room;
    pdr_store *store = NULL;
    off_t at = PDR_LOG_HEADER + 60 * (PDR_FRAME_HEADER + PDR_SQLITE_PAGE) + 99;

    room_enter(&room);
    store = store_open(&room, "");
    write_large(store, "a", 1);
    flip(&room, "s.db-wal", at);
    check_damaged(store, &room, "frame 61 of 's.db-wal'");
    flip(&room, "s.db-wal", at);
    ASSERT_RC(PDR_OK, back_up(NULL, store, &room, NULL));
    pdr_store_close(store);
    room_leave(&room);
}

/* --- the last steps ------------------------------------------------------ */

/* File operations behind those that copy pages: the file gets its mark. */
#define LAST 12u

static size_t operations_of(pdr_store *store, const struct room *room,
                            struct shim *shim)
{
    shim_reset_counts(shim);
    ASSERT_RC(PDR_OK, back_up(NULL, store, room, NULL));
    ASSERT_INT(0, unlink(room_path(room, COPY)));
    return shim_count(shim, SHIM_ANY);
}

TEST(sqlite_backup, is_not_there_if_one_of_its_last_steps_failed)
{
    struct shim *shim = shim_new("last");
    struct room room;
    pdr_store *store = NULL;
    size_t all = 0, refused = 0;

    room_enter(&room);
    store = store_open(&room, "?vfs=last");
    store_sample_fill(store);
    (void)operations_of(store, &room, shim); /* the first one has some more */
    all = operations_of(store, &room, shim);
    ASSERT(all > LAST);
    for (size_t nth = all - LAST; nth <= all; nth++) {
        const struct shim_fault fault = {.op = SHIM_ANY, .nth = nth};
        pdr_err err = PDR_ERR_INIT;
        pdr_rc rc = PDR_OK;

        shim_fail(shim, &fault);
        rc = back_up(NULL, store, &room, &err);
        ASSERT_SIZE(1, shim_failed(shim));
        shim_fail(shim, &(struct shim_fault){.nth = 0});
        ASSERT(rc == PDR_OK || strcmp(err.reason, "file_failed") == 0);
        ASSERT_INT(rc == PDR_OK, room_has(&room, COPY));
        ASSERT(!room_has(&room, COPY "-unfinished"));
        refused += rc != PDR_OK;
        if (rc == PDR_OK) { /* a lock was not given back; it is whole */
            check_file(&room, pdr__file_bytes(room_path(&room, COPY)));
            ASSERT_INT(0, unlink(room_path(&room, COPY)));
        }
    }
    ASSERT(refused > 2);
    pdr_store_close(store);
    room_leave(&room);
    shim_free(shim);
}

TEST_OOM(sqlite_backup, cleans_up_after_any_failed_allocation)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_rc rc = PDR_OK;

    room_enter(&room);
    room_put_c(&room, COPY, "old");
    rc = pdr_store_open(&store, store_uri(&room, "s.db", ""), NULL);
    if (rc == PDR_OK)
        rc = pdr_store_backup(NULL, store, path_of(&room, COPY), true, NULL,
                              NULL, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT(!room_has(&room, COPY "-unfinished"));
    pdr_store_close(store);
    room_leave(&room);
}
