/* Where a backup goes: what it refuses to touch, what it replaces, and what it
 * leaves behind. */
#include "sqlite_room.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sqlite/sqlite.h"

#define COPY       "copy.db"
#define UNFINISHED "copy.db-unfinished"

/* --- calls of the system that fail --------------------------------------- */

/* With this errno; 0: they do not. */
static int mknod_fails, rename_fails, access_fails, fsync_fails;

int mknod(const char *path, mode_t mode, dev_t device)
{
    if (mknod_fails != 0) {
        errno = mknod_fails;
        return -1;
    }
    return (int)syscall(SYS_mknodat, AT_FDCWD, path, mode, device);
}

/* Beside a name that is about to be taken: may somebody else make a store? */
static bool tries_lock, got_lock;

static void try_lock(const char *path)
{
    struct pdr__line line = PDR_LINE_INIT;
    char side[600];

    if (!tries_lock)
        return;
    snprintf(side, sizeof(side), "%s-lock", path);
    ASSERT_RC(PDR_OK, pdr__line_open(&line, side, NULL));
    got_lock = pdr__line_try(&line);
    pdr__line_leave(&line);
    pdr__line_close(&line);
}

int rename(const char *from, const char *to)
{
    try_lock(to);
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to,
              unsigned flags)
{
    if (rename_fails != 0) {
        errno = rename_fails;
        return -1;
    }
    try_lock(to);
    return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
}

int access(const char *path, int mode)
{
    if (mode == W_OK && access_fails != 0) {
        errno = access_fails;
        return -1;
    }
    return (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}

int fsync(int fd)
{
    if (fsync_fails != 0) {
        errno = fsync_fails;
        return -1;
    }
    return (int)syscall(SYS_fsync, fd);
}

/* --- a store to be copied ------------------------------------------------ */

struct source {
    struct room room;
    pdr_store *store;
    pdr_err err;
};

static void enter(struct source *s)
{
    room_enter(&s->room);
    s->store = store_open(&s->room, "");
    s->err = (pdr_err)PDR_ERR_INIT;
    ASSERT_RC(PDR_OK, append_one(s->store, "a", 0, NULL, "{}", NULL));
}

static void leave(struct source *s)
{
    mknod_fails = rename_fails = access_fails = fsync_fails = 0;
    ASSERT(!room_has(&s->room, UNFINISHED));
    pdr_store_close(s->store);
    room_leave(&s->room);
}

static pdr_rc copy_to(struct source *s, const char *name, bool replace)
{
    char path[600];

    snprintf(path, sizeof(path), "%s", room_path(&s->room, name));
    return pdr_store_backup(NULL, s->store, path, replace, &s->err, NULL, NULL);
}

static void check_refused(struct source *s, const char *name, bool replace,
                          pdr_rc rc, const char *reason)
{
    ASSERT_RC(rc, copy_to(s, name, replace));
    if (strcmp(reason, s->err.reason) != 0 ||
        strstr(s->err.message, "; ") == NULL) /* and what to do */
        fail_msg("%s: %s: %s", name, s->err.reason, s->err.message);
}

static void check_copy(const struct source *s, const char *name)
{
    pdr_store *copy = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_page *page = NULL;
    pdr_query query = {.what = PDR_READ_ENTRIES, .ref.id = pdr_str_c("a")};

    if (pdr_store_open(&copy, store_uri(&s->room, name, "?mode=rw"), &err) !=
        PDR_OK)
        fail_msg("%s", err.message);
    ASSERT_RC(PDR_OK, pdr_store_read(&page, copy, &query, &err));
    ASSERT_SIZE(1, page->count);
    pdr_page_free(page);
    pdr_store_close(copy);
}

/* --- names --------------------------------------------------------------- */

TEST(sqlite_target, is_refused_if_it_is_there_and_replaced_if_told)
{
    struct source s;

    enter(&s);
    room_put_c(&s.room, COPY, "of somebody");
    check_refused(&s, COPY, false, PDR_EEXISTS, "file_exists");
    room_assert(&s.room, COPY, "of somebody");
    ASSERT_RC(PDR_OK, copy_to(&s, COPY, true));
    check_copy(&s, COPY);
    ASSERT_RC(PDR_OK, append_one(s.store, "b", 0, NULL, "{}", NULL));
    ASSERT_RC(PDR_OK, copy_to(&s, COPY, true)); /* a store, with its files */
    check_copy(&s, COPY);
    ASSERT_RC(PDR_OK, copy_to(&s, "new.db", true));
    check_copy(&s, "new.db");
    leave(&s);
}

TEST(sqlite_target, must_be_a_file_in_a_folder_that_is_there)
{
    struct source s;
    char path[600];

    enter(&s);
    ASSERT_INT(0, mkdir(room_path(&s.room, "folder"), 0700));
    check_refused(&s, "folder", true, PDR_EINVALID, "bad_target");
    check_refused(&s, "folder/", true, PDR_EINVALID, "bad_target");
    check_refused(&s, "folder/new/", true, PDR_ENOTFOUND, "no_folder");
    check_refused(&s, "nowhere/copy.db", true, PDR_ENOTFOUND, "no_folder");
    check_refused(&s, "s.db/copy.db", true, PDR_ENOTFOUND, "no_folder");
    ASSERT_INT(0, mkfifo(room_path(&s.room, "pipe"), 0600));
    check_refused(&s, "pipe", true, PDR_EINVALID, "bad_target");
    snprintf(path, sizeof(path), "%s", room_path(&s.room, "link"));
    ASSERT_INT(0, symlink("nothing", path));
    check_refused(&s, "link", true, PDR_ENOTFOUND, "no_folder");
    ASSERT_RC(PDR_EINVALID,
              pdr_store_backup(NULL, s.store, "", true, &s.err, NULL, NULL));
    ASSERT_STR("bad_target", s.err.reason);
    ASSERT_RC(PDR_OK, copy_to(&s, "folder/copy.db", false));
    ASSERT_INT(0, unlink(room_path(&s.room, "folder/copy.db")));
    leave(&s);
}

TEST(sqlite_target, is_never_the_store_nor_a_file_beside_one)
{
    static const char *const names[] = {
        "s.db-wal",  "s.db-shm",  "s.db-lock",       "x.db-wal", "x.db-shm",
        "x.db-lock", "x-journal", "x.db-unfinished", "s.db"};
    struct source s;
    char path[600], other[600];

    enter(&s);
    for (size_t i = 0; i < PDR_COUNT(names); i++)
        check_refused(&s, names[i], true, PDR_EINVALID, "bad_target");
    snprintf(path, sizeof(path), "%s", room_path(&s.room, "link"));
    ASSERT_INT(0, symlink("s.db", path));
    check_refused(&s, "link", true, PDR_EINVALID, "bad_target");
    check_refused(&s, "link", false, PDR_EINVALID, "bad_target");
    snprintf(path, sizeof(path), "%s", room_path(&s.room, "s.db"));
    snprintf(other, sizeof(other), "%s", room_path(&s.room, "second"));
    ASSERT_INT(0, link(path, other));
    check_refused(&s, "second", true, PDR_EINVALID, "bad_target");
    ASSERT_INT(0, unlink(other));
    /* The name that a copy has while it is made. */
    snprintf(other, sizeof(other), "%s", room_path(&s.room, UNFINISHED));
    ASSERT_INT(0, link(path, other));
    check_refused(&s, COPY, true, PDR_EINVALID, "bad_target");
    ASSERT_INT(0, unlink(other));
    ASSERT_RC(PDR_OK, append_one(s.store, "a", 1, NULL, "{}", NULL));
    leave(&s);
}

TEST(sqlite_target, is_found_behind_a_link)
{
    struct source s;
    struct stat file;
    char path[600];

    enter(&s);
    room_put_c(&s.room, "real.db", "old");
    snprintf(path, sizeof(path), "%s", room_path(&s.room, "link"));
    ASSERT_INT(0, symlink("real.db", path));
    ASSERT_RC(PDR_OK, copy_to(&s, "link", true));
    ASSERT_INT(0, lstat(path, &file));
    ASSERT(S_ISLNK(file.st_mode));
    check_copy(&s, "real.db");
    leave(&s);
}

/* --- who has it open ----------------------------------------------------- */

TEST(sqlite_target, is_refused_while_somebody_has_it_open)
{
    struct source s;
    pdr_store *other = NULL;
    pdr_page *page = NULL;
    pdr_query query = {.what = PDR_READ_HEAD, .ref.id = pdr_str_c("a")};
    sqlite3 *tool = NULL;

    enter(&s);
    ASSERT_RC(PDR_OK, copy_to(&s, COPY, false));
    ASSERT_RC(PDR_OK,
              pdr_store_open(&other, store_uri(&s.room, COPY, ""), NULL));
    check_refused(&s, COPY, true, PDR_EBUSY, "store_locked");
    ASSERT_RC(PDR_OK, append_one(other, "b", 0, NULL, "{}", NULL));
    pdr_store_close(other);
    ASSERT_RC(PDR_OK, pdr_store_open(
                          &other, store_uri(&s.room, COPY, "?mode=ro"), NULL));
    ASSERT_RC(PDR_OK, pdr_store_read(&page, other, &query, NULL));
    pdr_page_free(page);
    check_refused(&s, COPY, true, PDR_EBUSY, "store_locked");
    pdr_store_close(other);
    ASSERT_INT(SQLITE_OK, sqlite3_open(room_path(&s.room, COPY), &tool));
    ASSERT_INT(SQLITE_OK, sqlite3_exec(tool, "SELECT count(*) FROM log", NULL,
                                       NULL, NULL));
    check_refused(&s, COPY, true, PDR_EBUSY, "store_locked");
    ASSERT_INT(SQLITE_OK, sqlite3_close(tool));
    ASSERT_RC(PDR_OK, copy_to(&s, COPY, true));
    check_copy(&s, COPY);
    leave(&s);
}

/* Somebody removed a store that somebody else has open. */
TEST(sqlite_target, is_refused_while_a_store_without_a_name_is_open)
{
    struct source s;
    pdr_store *other = NULL;

    enter(&s);
    ASSERT_RC(PDR_OK, copy_to(&s, COPY, false));
    ASSERT_RC(PDR_OK,
              pdr_store_open(&other, store_uri(&s.room, COPY, ""), NULL));
    ASSERT_INT(0, unlink(room_path(&s.room, COPY)));
    check_refused(&s, COPY, false, PDR_EBUSY, "store_locked");
    pdr_store_close(other);
    (void)unlink(room_path(&s.room, COPY "-wal"));
    ASSERT_RC(PDR_OK, copy_to(&s, COPY, false));
    check_copy(&s, COPY);
    leave(&s);
}

TEST(sqlite_target, is_refused_beside_a_log_that_is_not_its_own)
{
    static const char *const logs[] = {COPY "-wal", COPY "-journal"};
    struct source s;

    enter(&s);
    for (size_t i = 0; i < PDR_COUNT(logs); i++) {
        room_put_c(&s.room, logs[i], "left by another store");
        check_refused(&s, COPY, false, PDR_EDENIED, "unsafe_file");
        room_put_c(&s.room, COPY, "old");
        check_refused(&s, COPY, true, PDR_EDENIED, "unsafe_file");
        room_assert(&s.room, COPY, "old");
        ASSERT_INT(0, unlink(room_path(&s.room, COPY)));
        room_put_c(&s.room, logs[i], "");
        ASSERT_RC(PDR_OK, copy_to(&s, COPY, false));
        check_copy(&s, COPY);
        ASSERT_INT(0, unlink(room_path(&s.room, COPY)));
    }
    leave(&s);
}

/* --- the unfinished file ------------------------------------------------- */

TEST(sqlite_target, takes_the_place_of_one_that_was_killed)
{
    struct source s;

    enter(&s);
    room_put_c(&s.room, UNFINISHED, "SQLite format 3, and cut off in between");
    ASSERT_INT(0, chmod(room_path(&s.room, UNFINISHED), 0600));
    ASSERT_RC(PDR_OK, copy_to(&s, COPY, false));
    check_copy(&s, COPY);
    leave(&s);
}

TEST(sqlite_target, does_not_touch_an_unfinished_file_of_somebody_else)
{
    struct source s;
    char path[600], other[600];

    enter(&s);
    snprintf(path, sizeof(path), "%s", room_path(&s.room, UNFINISHED));
    snprintf(other, sizeof(other), "%s", room_path(&s.room, "other"));
    room_put_c(&s.room, UNFINISHED, "mine");
    ASSERT_INT(0, chmod(path, 0644));
    check_refused(&s, COPY, false, PDR_EDENIED, "unsafe_file");
    ASSERT_INT(0, chmod(path, 0600));
    ASSERT_INT(0, link(path, other));
    check_refused(&s, COPY, false, PDR_EDENIED, "unsafe_file");
    room_assert(&s.room, "other", "mine");
    ASSERT_INT(0, unlink(path));
    ASSERT_INT(0, symlink("other", path));
    check_refused(&s, COPY, false, PDR_EDENIED, "unsafe_file");
    room_assert(&s.room, "other", "mine");
    ASSERT_INT(0, unlink(path));
    leave(&s);
}

/* While a backup is made: what is done in its first step, and how that ended.
 */
struct meanwhile {
    struct source *s;
    bool creates; /* a file of the name comes */
    bool opens;   /* what is to be replaced is opened */
    pdr_store *other;
    pdr_rc rc;
};

static pdr_rc act(void *arg, const pdr_backup_report *report, pdr_err *err)
{
    struct meanwhile *m = arg;

    (void)err;
    if (report->steps != 1)
        return PDR_OK;
    if (m->creates)
        room_put_c(&m->s->room, COPY, "came meanwhile");
    else if (m->opens)
        m->rc =
            pdr_store_open(&m->other, store_uri(&m->s->room, COPY, ""), NULL);
    else
        m->rc = copy_to(m->s, COPY, false);
    return PDR_OK;
}

static void grow(struct source *s)
{
    size_t len = (size_t)6 * 1000 * 1000;
    char *body = malloc(len + 1);

    ASSERT(body != NULL);
    memset(body, 'x', len);
    body[0] = body[len - 1] = '"';
    body[len] = '\0';
    ASSERT_RC(PDR_OK, append_one(s->store, "large", 0, NULL, body, NULL));
    free(body);
}

static pdr_rc copy_and_act(struct meanwhile *m, bool replace)
{
    char path[600];

    snprintf(path, sizeof(path), "%s", room_path(&m->s->room, COPY));
    return pdr_store_backup(NULL, m->s->store, path, replace, &m->s->err, act,
                            m);
}

TEST(sqlite_target, is_made_by_one_at_a_time)
{
    struct source s;
    struct meanwhile m = {.s = &s};

    enter(&s);
    grow(&s);
    ASSERT_RC(PDR_OK, copy_and_act(&m, false));
    ASSERT_RC(PDR_EBUSY, m.rc);
    ASSERT_STR("store_locked", s.err.reason);
    check_copy(&s, COPY);
    leave(&s);
}

TEST(sqlite_target, leaves_what_came_or_was_opened_meanwhile)
{
    struct source s;
    struct meanwhile m = {.s = &s, .creates = true};

    enter(&s);
    grow(&s);
    ASSERT_RC(PDR_EEXISTS, copy_and_act(&m, false));
    ASSERT_STR("file_exists", s.err.reason);
    room_assert(&s.room, COPY, "came meanwhile");
    rename_fails = ENOSYS; /* a system that cannot do it in one step */
    ASSERT_RC(PDR_EEXISTS, copy_and_act(&m, false));
    ASSERT_RC(PDR_OK, copy_to(&s, "second.db", false));
    check_copy(&s, "second.db");
    rename_fails = 0;
    ASSERT_RC(PDR_OK, copy_to(&s, COPY, true));
    m = (struct meanwhile){.s = &s, .opens = true};
    ASSERT_RC(PDR_EBUSY, copy_and_act(&m, true));
    ASSERT_STR("store_locked", s.err.reason);
    ASSERT_RC(PDR_OK, m.rc);
    ASSERT_RC(PDR_OK, append_one(m.other, "a", 1, NULL, "{}", NULL));
    pdr_store_close(m.other);
    leave(&s);
}

/* A store that comes to be behind the last look would leave its log beside the
 * copy, which SQLite would play into it. */
TEST(sqlite_target, lets_nobody_make_a_store_while_it_takes_its_name)
{
    static const bool replace[] = {false, true};
    struct source s;

    enter(&s);
    tries_lock = true;
    for (size_t i = 0; i < PDR_COUNT(replace); i++) {
        got_lock = true;
        ASSERT_RC(PDR_OK, copy_to(&s, COPY, replace[i]));
        ASSERT(!got_lock);
        ASSERT(!room_has(&s.room, COPY "-lock")); /* it stands alone */
        ASSERT_INT(0, unlink(room_path(&s.room, COPY)));
    }
    tries_lock = false;
    leave(&s);
}

/* --- what the system says ------------------------------------------------ */

TEST(sqlite_target, says_why_it_cannot_be_made_or_named)
{
    static const struct {
        int sys;
        pdr_rc rc;
        const char *reason;
    } ways[] = {
        {ENOSPC, PDR_EIO, "disk_full"},     {EDQUOT, PDR_EIO, "disk_full"},
        {EACCES, PDR_EDENIED, "read_only"}, {EPERM, PDR_EDENIED, "read_only"},
        {EROFS, PDR_EDENIED, "read_only"},  {EIO, PDR_EIO, "file_failed"},
    };
    struct source s;

    enter(&s);
    for (size_t i = 0; i < PDR_COUNT(ways); i++) {
        mknod_fails = ways[i].sys;
        check_refused(&s, COPY, false, ways[i].rc, ways[i].reason);
        ASSERT_INT(ways[i].sys, s.err.sys);
        mknod_fails = 0;
        rename_fails = ways[i].sys;
        check_refused(&s, COPY, false, ways[i].rc, ways[i].reason);
        rename_fails = 0;
        ASSERT(!room_has(&s.room, COPY));
    }
    leave(&s);
}

TEST(sqlite_target, is_not_replaced_if_it_may_not_be_written)
{
    struct source s;

    enter(&s);
    room_put_c(&s.room, COPY, "protected");
    access_fails = EACCES;
    check_refused(&s, COPY, true, PDR_EDENIED, "read_only");
    room_assert(&s.room, COPY, "protected");
    leave(&s);
}

/* The copy has its name; whether power loss would take that again, nobody
 * knows. */
TEST(sqlite_target, says_that_its_name_may_not_be_on_the_disk)
{
    struct source s;

    enter(&s);
    fsync_fails = EIO;
    check_refused(&s, COPY, false, PDR_EIO, "file_failed");
    fsync_fails = EINVAL; /* a file system that syncs no folders */
    ASSERT_RC(PDR_OK, copy_to(&s, COPY, true));
    check_copy(&s, COPY);
    leave(&s);
}
