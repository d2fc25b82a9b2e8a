/* What is known of the log after a sync that failed, and of files that somebody
 * removed or writes to elsewhere. */
#include "sqlite_room.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "processes.h"
#include "shim_vfs.h"
#include "sqlite/sqlite.h"
#include "sqlite/vfs.h"

static struct pdr__sqlite *inside(pdr_store *store)
{
    return PDR_CONTAINER_OF(store, struct pdr__sqlite, base);
}

static bool has_synced(pdr_store *store)
{
    return pdr__line_has_synced(&inside(store)->line);
}

/* 0 if it is not there; UINT64_MAX if it cannot be read. */
static uint64_t revision_of(pdr_store *store, const char *id)
{
    const pdr_query query = {.what = PDR_READ_HEAD, .ref.id = pdr_str_c(id)};
    pdr_page *page = NULL;
    pdr_rc rc = pdr_store_read(&page, store, &query, NULL);
    uint64_t revision = rc == PDR_OK          ? page->head.revision
                        : rc == PDR_ENOTFOUND ? 0
                                              : UINT64_MAX;

    pdr_page_free(page);
    return revision;
}

/* Open the files of "s.db" as a process leaves them that is killed now; the
 * revision of session "a" in them, if they are sound. */
static uint64_t revision_as_left(const struct room *room)
{
    static const char *const suffixes[] = {"", "-wal", "-lock"};
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    uint64_t revision = UINT64_MAX;

    for (size_t i = 0; i < PDR_COUNT(suffixes); i++) {
        char from[32], to[32];
        size_t len = 0;
        char *bytes = NULL;

        (void)snprintf(from, sizeof(from), "s.db%s", suffixes[i]);
        (void)snprintf(to, sizeof(to), "left.db%s", suffixes[i]);
        bytes = room_get(room, from, &len);
        ASSERT(bytes != NULL);
        room_put(room, to, pdr_str_n(bytes, len));
        free(bytes);
    }
    if (pdr_store_open(&store, store_uri(room, "left.db", ""), &err) != PDR_OK)
        fail_msg("%s", err.message);
    ASSERT_RC(PDR_OK, pdr_store_verify(NULL, store, NULL, NULL, NULL, NULL));
    revision = revision_of(store, "a");
    pdr_store_close(store);
    return revision;
}

static const struct shim_fault no_fault = {.op = SHIM_ANY, .nth = 0};
static const struct shim_fault full_disk = {
    .op = SHIM_WRITE, .nth = 1, .for_ever = true, .full = true};

/* --- the end of the log -------------------------------------------------- */

/* What was refused is no end of the log, also not for those behind it that
 * write nothing. */
TEST(sqlite_log_end, is_none_of_a_commit_that_was_refused)
{
    struct shim *shim = shim_new("refused");
    struct room room;
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    store = store_open(&room, "?vfs=refused");
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, NULL, "{}", NULL));
    shim_fail(shim, &full_disk);
    ASSERT_RC(PDR_EIO, append_one(store, "a", 1, NULL, "{}", &err));
    ASSERT_STR("disk_full", err.reason);
    shim_fail(shim, &no_fault);
    ASSERT_RC(PDR_OK, pdr_store_sweep(NULL, store, 1000, NULL));
    ASSERT_INT(1, revision_as_left(&room));
    pdr_store_close(store);
    room_leave(&room);
    shim_free(shim);
}

/* --- frames that are repeated -------------------------------------------- */

/* A VFS below that does not promise that a sector is never torn: SQLite repeats
 * the last frame of a commit then, up to the end of a sector. */
static sqlite3_vfs padding;
static sqlite3_io_methods padding_main, padding_log;
static const sqlite3_io_methods *padding_below;
static bool padding_is_full;

static int promise_nothing(sqlite3_file *file)
{
    (void)file;
    return 0;
}

static int have_large_sectors(sqlite3_file *file)
{
    (void)file;
    return 65536;
}

/* On a full disk all but the last page has room. */
static int write_padded(sqlite3_file *file, const void *bytes, int len,
                        sqlite3_int64 at)
{
    int code = padding_below->xWrite(
        file, bytes, padding_is_full ? len - PDR_SQLITE_PAGE : len, at);

    return padding_is_full && code == SQLITE_OK ? SQLITE_FULL : code;
}

static int open_padded(sqlite3_vfs *self, const char *name, sqlite3_file *file,
                       int flags, int *out_flags)
{
    sqlite3_vfs *below = self->pAppData;
    int code = below->xOpen(below, name, file, flags, out_flags);

    if (code != SQLITE_OK)
        return code;
    if ((flags & SQLITE_OPEN_MAIN_DB) != 0) {
        padding_main = *file->pMethods;
        padding_main.xDeviceCharacteristics = promise_nothing;
        file->pMethods = &padding_main;
    }
    if ((flags & SQLITE_OPEN_WAL) != 0) {
        padding_below = file->pMethods;
        padding_log = *padding_below;
        padding_log.xSectorSize = have_large_sectors;
        padding_log.xWrite = write_padded;
        file->pMethods = &padding_log;
    }
    return SQLITE_OK;
}

static void padding_begin(void)
{
    sqlite3_vfs *below = sqlite3_vfs_find(NULL);

    (void)sqlite3_vfs_unregister(&padding); /* a test before may have failed */
    padding_is_full = false;
    padding = *below;
    padding.zName = "padding";
    padding.pAppData = below;
    padding.xOpen = open_padded;
    ASSERT_INT(SQLITE_OK, sqlite3_vfs_register(&padding, 0));
}

#define FRAME ((size_t)(PDR_FRAME_HEADER + PDR_SQLITE_PAGE))

/* SQLite syncs in the middle of the last one. */
TEST(sqlite_log_end, is_the_first_of_frames_that_are_repeated)
{
    struct room room;
    pdr_store *store = NULL;
    struct pdr__note note;
    size_t frame = 0, len = 0;
    const char *at = NULL;
    char *log = NULL;

    padding_begin();
    room_enter(&room);
    store = store_open(&room, "?vfs=padding");
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, NULL, "{}", NULL));
    ASSERT_RC(PDR_OK, append_one(store, "a", 1, NULL, "{}", NULL));
    pdr__line_read_note(&note, room_path(&room, "s.db-lock"));
    frame = (size_t)(note.end.frame[2] << 8 | note.end.frame[3]);
    log = room_get(&room, "s.db-wal", &len);
    ASSERT(frame > 1 && len >= PDR_LOG_HEADER + (frame + 1) * FRAME);
    at = log + PDR_LOG_HEADER + frame * FRAME; /* the one behind it */
    assert_memory_equal(at, at - FRAME, 8);    /* the same page and size */
    assert_memory_not_equal(at - FRAME, at - 2 * FRAME, 8);
    free(log);
    ASSERT_INT(2, revision_as_left(&room));
    pdr_store_close(store);
    room_leave(&room);
    ASSERT_INT(SQLITE_OK, sqlite3_vfs_unregister(&padding));
}

/* The first of them may be there, and makes the commit whole. */
TEST(sqlite_doubt, is_left_by_a_full_disk_where_frames_are_repeated)
{
    struct room room;
    pdr_store *store = NULL;

    padding_begin();
    room_enter(&room);
    store = store_open(&room, "?vfs=padding");
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, NULL, "{}", NULL));
    padding_is_full = true;
    ASSERT_RC(PDR_EUNKNOWN, append_one(store, "a", 1, NULL, "{}", NULL));
    padding_is_full = false;
    ASSERT_INT(2, revision_as_left(&room));
    pdr_store_close(store);
    room_leave(&room);
    ASSERT_INT(SQLITE_OK, sqlite3_vfs_unregister(&padding));
}

/* --- a sync that failed -------------------------------------------------- */

/* A store with one commit in its log, and another handle on it whose next
 * commit ends unknown. */
struct doubt {
    struct shim *shim;
    struct room room;
    pdr_store *store; /* knows nothing of the doubt */
};

static void doubt_enter(struct doubt *d)
{
    pdr_store *other = NULL;

    d->shim = shim_new("doubt");
    room_enter(&d->room);
    d->store = store_open(&d->room, "");
    ASSERT_RC(PDR_OK, append_one(d->store, "a", 0, NULL, "{}", NULL));
    ASSERT(has_synced(d->store));
    other = store_open(&d->room, "?vfs=doubt");
    /* The log is begun anew, and its header has a sync of its own. */
    ASSERT_RC(PDR_OK, append_one(other, "b", 0, NULL, "{}", NULL));
    shim_fail(d->shim, &(struct shim_fault){.op = SHIM_SYNC, .nth = 1});
    ASSERT_RC(PDR_EUNKNOWN, append_one(other, "a", 1, NULL, "{}", NULL));
    shim_fail(d->shim, &no_fault);
    ASSERT(!has_synced(d->store));
    pdr_store_close(other);
}

static void doubt_leave(struct doubt *d)
{
    pdr_store_close(d->store);
    room_leave(&d->room);
    shim_free(d->shim);
}

TEST(sqlite_doubt, is_not_ended_by_who_syncs_nothing)
{
    struct doubt d;

    doubt_enter(&d);
    ASSERT_RC(PDR_OK, pdr_store_sweep(NULL, d.store, 1000, NULL));
    ASSERT(!has_synced(d.store));
    ASSERT_RC(PDR_OK, append_one(d.store, "a", 1, NULL, "{}", NULL));
    ASSERT(has_synced(d.store)); /* it wrote over what was in doubt */
    doubt_leave(&d);
}

/* The mark is what another process left: who opens the store would end it. */
TEST(sqlite_doubt, is_not_ended_by_who_has_no_room)
{
    struct shim *shim = shim_new("full");
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    store = store_open(&room, "?vfs=full");
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, NULL, "{}", NULL));
    for (int in_doubt = 0; in_doubt < 2; in_doubt++) {
        const char mark = in_doubt != 0 ? '1' : '0';

        ASSERT_INT(1, pwrite(inside(store)->line.fd, &mark, 1, 0));
        shim_fail(shim, &full_disk);
        ASSERT_RC(PDR_EIO, append_one(store, "a", 1, NULL, "{}", NULL));
        shim_fail(shim, &no_fault);
        ASSERT_INT(in_doubt == 0, has_synced(store));
    }
    pdr_store_close(store);
    room_leave(&room);
    shim_free(shim);
}

/* Others have the store open, so nobody copies the log. */
TEST(sqlite_doubt, ends_as_who_looked_has_found_it)
{
    struct doubt d;
    pdr_store *again = NULL;

    doubt_enter(&d);
    ASSERT_INT(2, revision_as_left(&d.room)); /* it may be there */
    again = store_open(&d.room, "");
    ASSERT_INT(1, revision_of(again, "a"));
    ASSERT(has_synced(again));
    ASSERT_INT(1, revision_as_left(&d.room));
    ASSERT_RC(PDR_OK, append_one(d.store, "a", 1, NULL, "{}", NULL));
    ASSERT_RC(PDR_OK, append_one(again, "a", 2, NULL, "{}", NULL));
    ASSERT_INT(3, revision_as_left(&d.room));
    pdr_store_close(again);
    doubt_leave(&d);
}

TEST(sqlite_doubt, stays_if_it_cannot_be_ended)
{
    const struct shim_fault faults[] = {{.op = SHIM_SYNC, .nth = 1},
                                        {.op = SHIM_WRITE, .nth = 1}};

    for (size_t i = 0; i < PDR_COUNT(faults); i++) {
        struct doubt d;
        pdr_store *again = NULL;
        pdr_err err = PDR_ERR_INIT;

        doubt_enter(&d);
        shim_fail(d.shim, &faults[i]);
        ASSERT_RC(PDR_EIO,
                  pdr_store_open(
                      &again, store_uri(&d.room, "s.db", "?vfs=doubt"), &err));
        ASSERT(shim_failed(d.shim) > 0);
        shim_fail(d.shim, &no_fault);
        ASSERT(!has_synced(d.store));
        doubt_leave(&d);
    }
}

/* What others have committed is safe: that it cannot be copied is no reason to
 * refuse those who come. */
TEST(sqlite_open, needs_no_room_while_others_have_the_store_open)
{
    struct shim *shim = shim_new("later");
    struct room room;
    pdr_store *store = NULL, *later = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, NULL, "{}", NULL));
    shim_fail(shim, &full_disk);
    later = store_open(&room, "?vfs=later");
    ASSERT(shim_failed(shim) > 0);
    ASSERT_INT(1, revision_of(later, "a"));
    shim_fail(shim, &no_fault);
    ASSERT_RC(PDR_OK, append_one(later, "a", 1, NULL, "{}", NULL));
    pdr_store_close(later);
    pdr_store_close(store);
    room_leave(&room);
    shim_free(shim);
}

TEST(sqlite_doubt, is_over_when_all_is_in_the_main_file)
{
    struct doubt d;
    pdr_store *again = NULL;

    doubt_enter(&d);
    pdr_store_close(d.store); /* it copies what it knows of */
    d.store = NULL;
    again = store_open(&d.room, "");
    ASSERT(has_synced(again));
    ASSERT_INT(1, revision_of(again, "a"));
    pdr_store_close(again);
    doubt_leave(&d);
}

/* --- files that were removed --------------------------------------------- */

static void check_removed(const char *name)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    store = store_open(&room, "");
    for (uint64_t i = 0; i < 3; i++)
        ASSERT_RC(PDR_OK, append_one(store, "a", i, NULL, "{}", NULL));
    ASSERT_INT(0, unlink(room_path(&room, name)));
    ASSERT_RC(PDR_EDENIED, append_one(store, "a", 3, NULL, "{}", &err));
    ASSERT_STR("unsafe_file", err.reason);
    assert_non_null(strstr(err.message, name));
    ASSERT_RC(PDR_EDENIED, pdr_store_sweep(NULL, store, 1000, NULL));
    pdr_store_close(store);
    store = store_open(&room, "");
    ASSERT_INT(3, revision_of(store, "a"));
    ASSERT_RC(PDR_OK, append_one(store, "a", 3, NULL, "{}", NULL));
    ASSERT_RC(PDR_OK, pdr_store_verify(NULL, store, NULL, NULL, NULL, NULL));
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_files, lose_no_commit_when_the_log_is_removed)
{
    check_removed("s.db-wal");
}

TEST(sqlite_files, lose_no_commit_when_the_shared_memory_is_removed)
{
    check_removed("s.db-shm");
}

/* A reader makes a new one of that name, which is empty. */
TEST(sqlite_files, lose_no_commit_when_a_removed_log_was_looked_for)
{
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, NULL, "{}", NULL));
    ASSERT_INT(0, unlink(room_path(&room, "s.db-wal")));
    ASSERT(revision_of(store, "a") != 0); /* found, or an error */
    pdr_store_close(store);
    store = store_open(&room, "");
    ASSERT_INT(1, revision_of(store, "a"));
    pdr_store_close(store);
    room_leave(&room);
}

/* --- a view that can only be read ---------------------------------------- */

#define NOT_ALLOWED 77

/* In a process with mounts of its own: `room` is seen under `view`, where
 * nothing can be written. */
static bool make_view(const char *room, const char *view)
{
    return unshare(CLONE_NEWNS) == 0 &&
           mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount(room, view, NULL, MS_BIND, NULL) == 0 &&
           mount(NULL, view, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) == 0;
}

/* The number of what went wrong; 0: nothing. */
static int read_view(const struct room *room, const struct room *view)
{
    pdr_store *store = NULL, *reader = NULL;
    const pdr_query query = {.what = PDR_READ_HEAD, .ref.id = pdr_str_c("a")};
    pdr_page *page = NULL;
    pdr_err err = PDR_ERR_INIT;
    char uri[600];

    if (!make_view(room->path, view->path))
        return NOT_ALLOWED;
    (void)snprintf(uri, sizeof(uri), "%s", store_uri(view, "s.db", "?mode=ro"));
    if (pdr_store_open(&reader, uri, NULL) != PDR_OK ||
        !inside(reader)->alone || revision_of(reader, "a") != 1)
        return 1;
    store = store_open(room, "");
    if (append_one(store, "a", 1, NULL, "{}", NULL) != PDR_OK)
        return 2;
    if (pdr_store_read(&page, reader, &query, &err) != PDR_ECONFLICT ||
        strcmp(err.reason, "store_changed") != 0)
        return 3;
    pdr_store_close(reader);
    if (pdr_store_open(&reader, uri, NULL) != PDR_OK || inside(reader)->alone ||
        revision_of(reader, "a") != 2)
        return 4;
    if (append_one(store, "a", 2, NULL, "{}", NULL) != PDR_OK ||
        revision_of(reader, "a") != 3)
        return 5;
    pdr_store_close(reader);
    pdr_store_close(store);
    /* What was copied into the file is seen by its time. */
    if (pdr_store_open(&reader, uri, NULL) != PDR_OK || !inside(reader)->alone)
        return 6;
    store = store_open(room, "");
    if (append_one(store, "a", 3, NULL, "{}", NULL) != PDR_OK)
        return 7;
    pdr_store_close(store);
    if (pdr_store_read(&page, reader, &query, &err) != PDR_ECONFLICT)
        return 8;
    pdr_store_close(reader);
    return 0;
}

TEST(sqlite_view, is_not_taken_for_unchanging_while_somebody_writes)
{
    struct room room, view;
    pdr_store *store = NULL;
    pid_t child = 0;
    int status = 0;

    room_enter(&room);
    room_enter(&view);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, NULL, "{}", NULL));
    pdr_store_close(store);
    child = process_fork();
    if (child == 0)
        process_leave(read_view(&room, &view));
    ASSERT(waitpid(child, &status, 0) == child && WIFEXITED(status));
    room_leave(&view);
    room_leave(&room);
    if (WEXITSTATUS(status) == NOT_ALLOWED)
        test_skip("this user may not mount anything");
    ASSERT_INT(0, WEXITSTATUS(status));
}
