/* Opening and closing files of SQLite, and files that are refused. */
#include "sqlite_room.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <perdure/archive.h>

#include "processes.h"
#include "shim_vfs.h"
#include "sqlite/file.h"
#include "sqlite/sqlite.h"

/* Opening "name" must fail like this. */
static void check_refused(const struct room *room, const char *name,
                          const char *parameters, const char *reason)
{
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_store_open(&store, store_uri(room, name, parameters), &err);

    ASSERT(rc != PDR_OK);
    ASSERT_STR(reason, err.reason);
    ASSERT(store == NULL);
}

static int mode_of(const struct room *room, const char *name)
{
    struct stat file;

    ASSERT_INT(0, stat(room_path(room, name), &file));
    return (int)(file.st_mode & 0777);
}

static int byte_of(const struct room *room, const char *name, size_t at)
{
    size_t len = 0;
    char *bytes = room_get(room, name, &len);
    int byte = 0;

    ASSERT(len > at);
    byte = (unsigned char)bytes[at];
    free(bytes);
    return byte;
}

/* --- new files ----------------------------------------------------------- */

TEST(sqlite_open, makes_files_that_only_the_owner_may_read)
{
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, NULL, "{}", NULL));
    ASSERT_INT(0600, mode_of(&room, "s.db"));
    ASSERT_INT(0600, mode_of(&room, "s.db-wal"));
    ASSERT_INT(0600, mode_of(&room, "s.db-shm"));
    ASSERT_INT(0600, mode_of(&room, "s.db-lock"));
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_open, finds_what_was_committed_before)
{
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    store = store_open(&room, "?mode=rwc");
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, NULL, "{}", NULL));
    pdr_store_close(store);
    store = store_open(&room, "?mode=rw");
    ASSERT_RC(PDR_OK, append_one(store, "a", 1, NULL, "{}", NULL));
    ASSERT_RC(PDR_ECONFLICT, append_one(store, "a", 1, NULL, "{}", NULL));
    pdr_store_close(store);
    ASSERT_INT(2, sql_int(&room, "SELECT count(*) FROM conversation"));
    room_leave(&room);
}

TEST(sqlite_open, takes_up_a_file_that_a_killed_process_left)
{
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    room_put_c(&room, "s.db", "");
    check_refused(&room, "s.db", "?mode=rw", "no_store");
    check_refused(&room, "s.db", "?mode=ro", "no_store");
    store = store_open(&room, "");
    pdr_store_close(store);
    ASSERT_INT(3, sql_int(&room, "SELECT schema FROM store"));
    /* And one that came as far as the header. */
    ASSERT_INT(0, unlink(room_path(&room, "s.db")));
    room_put_c(&room, "s.db", "");
    sql_run(&room, "PRAGMA journal_mode=WAL");
    ASSERT(mode_of(&room, "s.db") != 0);
    store = store_open(&room, "");
    pdr_store_close(store);
    ASSERT_INT(3, sql_int(&room, "SELECT schema FROM store"));
    ASSERT_INT(2, sql_int(&room, "PRAGMA auto_vacuum"));
    ASSERT_INT(8, byte_of(&room, "s.db", 20));
    room_leave(&room);
}

/* --- what a URI may ask for ---------------------------------------------- */

TEST(sqlite_open, refuses_parameters_that_mean_nothing)
{
    struct room room;

    room_enter(&room);
    check_refused(&room, "s.db", "?mode=append", "bad_uri");
    check_refused(&room, "s.db", "?vfs=nowhere", "bad_uri");
    check_refused(&room, "s.db", "?speed=high", "bad_uri");
    check_refused(&room, "s.db", "?mode=ro&sums=on", "bad_uri");
    check_refused(&room, "s.db", "?mode=rw&sums=off", "bad_uri");
    check_refused(&room, "s.db", "?sums=off", "bad_uri");
    ASSERT(!room_has(&room, "s.db"));
    ASSERT(!room_has(&room, "s.db-lock"));
    room_leave(&room);
}

TEST(sqlite_open, refuses_a_uri_without_a_file)
{
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID, pdr_store_open(&store, "sqlite:", &err));
    ASSERT_STR("bad_uri", err.reason);
    ASSERT(store == NULL);
}

TEST(sqlite_open, makes_nothing_where_it_must_not)
{
    struct room room;

    room_enter(&room);
    check_refused(&room, "s.db", "?mode=rw", "no_store");
    check_refused(&room, "s.db", "?mode=ro", "no_store");
    check_refused(&room, "none/s.db", "", "no_store");
    check_refused(&room, "none/", "", "no_store");
    ASSERT(!room_has(&room, "s.db"));
    ASSERT(!room_has(&room, "s.db-lock"));
    ASSERT(!room_has(&room, "none"));
    room_leave(&room);
}

/* --- files that are refused ---------------------------------------------- */

TEST(sqlite_open, refuses_what_is_no_store)
{
    struct room room;

    room_enter(&room);
    ASSERT_INT(0, mkdir(room_path(&room, "folder"), 0700));
    check_refused(&room, "folder", "", "not_a_store");
    check_refused(&room, "folder/", "?mode=ro", "not_a_store");
    room_put_c(&room, "text",
               "This is a text of more than a hundred bytes, as "
               "somebody might have in a file that is called "
               "like a store by mistake.");
    check_refused(&room, "text", "", "not_a_store");
    ASSERT(!room_has(&room, "text-lock"));
    check_refused(&room, "text", "?mode=ro", "not_a_store");
    room_put_c(&room, "empty", "");
    check_refused(&room, "empty", "?mode=rw", "no_store");
    ASSERT(!room_has(&room, "empty-lock"));
    /* One that was there before stays. */
    room_put_c(&room, "text-lock", "");
    ASSERT_INT(0, chmod(room_path(&room, "text-lock"), 0600));
    check_refused(&room, "text", "", "not_a_store");
    ASSERT(room_has(&room, "text-lock"));
    room_leave(&room);
}

/* A backup to x.db would write over it. One that is there stays usable. */
TEST(sqlite_open, makes_no_store_with_the_name_of_a_file_beside_one)
{
    static const char *const names[] = {"x.db-unfinished", "x.db-wal",
                                        "x.db-shm", "x.db-lock", "x-journal"};
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    for (size_t i = 0; i < PDR_COUNT(names); i++) {
        check_refused(&room, names[i], "", "bad_uri");
        ASSERT(!room_has(&room, names[i]));
    }
    room_put_c(&room, "x.db-unfinished", "");
    check_refused(&room, "x.db-unfinished", "", "bad_uri");
    pdr_store_close(store_open(&room, ""));
    char old[600];
    (void)snprintf(old, sizeof(old), "%s", room_path(&room, "s.db"));
    ASSERT_INT(0, rename(old, room_path(&room, "x.db-unfinished")));
    ASSERT_RC(
        PDR_OK,
        pdr_store_open(&store, store_uri(&room, "x.db-unfinished", ""), NULL));
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_open, leaves_the_database_of_somebody_else_as_it_is)
{
    struct room room;

    room_enter(&room);
    room_put_c(&room, "s.db", "");
    sql_run(&room, "CREATE TABLE theirs(x)");
    check_refused(&room, "s.db", "", "not_a_store");
    check_refused(&room, "s.db", "?mode=ro", "not_a_store");
    ASSERT_STR("delete", sql_text(&room, "PRAGMA journal_mode"));
    ASSERT_INT(1, sql_int(&room, "SELECT count(*) FROM sqlite_schema"));
    room_leave(&room);
}

TEST(sqlite_open, refuses_a_file_with_two_names)
{
    struct room room;
    char other[512];
    pdr_store *store = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    pdr_store_close(store);
    (void)snprintf(other, sizeof(other), "%s", room_path(&room, "other.db"));
    ASSERT_INT(0, link(room_path(&room, "s.db"), other));
    check_refused(&room, "s.db", "", "unsafe_file");
    check_refused(&room, "s.db", "?mode=ro", "unsafe_file");
    check_refused(&room, "other.db", "", "unsafe_file");
    ASSERT_INT(0, unlink(other));
    store = store_open(&room, "");
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_open, follows_a_link_to_the_real_file)
{
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    pdr_store_close(store);
    ASSERT_INT(0, symlink("s.db", room_path(&room, "alias.db")));
    ASSERT_RC(PDR_OK,
              pdr_store_open(&store, store_uri(&room, "alias.db", ""), NULL));
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, NULL, "{}", NULL));
    ASSERT(!room_has(&room, "alias.db-lock"));
    ASSERT(!room_has(&room, "alias.db-wal"));
    ASSERT(room_has(&room, "s.db-wal"));
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_open, refuses_a_link_to_nothing)
{
    struct room room;

    room_enter(&room);
    ASSERT_INT(0, symlink("gone.db", room_path(&room, "alias.db")));
    check_refused(&room, "alias.db", "", "no_store");
    ASSERT_INT(0, symlink("loop.db", room_path(&room, "loop.db")));
    check_refused(&room, "loop.db", "", "file_failed");
    ASSERT(!room_has(&room, "gone.db"));
    room_leave(&room);
}

TEST(sqlite_open, refuses_a_side_file_that_is_not_its_own)
{
    struct room room;
    char other[512];

    room_enter(&room);
    room_put_c(&room, "precious", "text");
    ASSERT_INT(0, symlink("precious", room_path(&room, "s.db-lock")));
    check_refused(&room, "s.db", "", "file_failed");
    ASSERT_INT(0, unlink(room_path(&room, "s.db-lock")));
    (void)snprintf(other, sizeof(other), "%s", room_path(&room, "s.db-lock"));
    ASSERT_INT(0, link(room_path(&room, "precious"), other));
    check_refused(&room, "s.db", "", "unsafe_file");
    room_assert(&room, "precious", "text");
    ASSERT(!room_has(&room, "s.db"));
    room_leave(&room);
}

TEST(sqlite_open, names_the_file_systems_that_it_refuses)
{
    ASSERT_STR("NFS", pdr__file_system_refused(0x6969));
    ASSERT_STR("CIFS", pdr__file_system_refused(0xFF534D42));
    ASSERT_STR("FUSE", pdr__file_system_refused(0x65735546));
    ASSERT(pdr__file_system_refused(0xEF53) == NULL);
    ASSERT(pdr__file_system_refused(0x01021994) == NULL);
}

/* --- keys ---------------------------------------------------------------- */

#define KEY_A "0123456789abcdef0123456789abcdef"
#define KEY_B "0123456789abcdef0123456789abcdeF"

static const char *key_parameter(const struct room *room, const char *name)
{
    static char text[512];

    (void)snprintf(text, sizeof(text), "?key=%s", room_path(room, name));
    return text;
}

static void put_key(const struct room *room, const char *name, const char *text)
{
    room_put_c(room, name, text);
    ASSERT_INT(0, chmod(room_path(room, name), 0600));
}

TEST(sqlite_open, needs_the_key_that_the_store_was_made_with)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_store_info info;

    room_enter(&room);
    put_key(&room, "a", KEY_A);
    put_key(&room, "b", KEY_B);
    store = store_open(&room, key_parameter(&room, "a"));
    ASSERT_RC(PDR_OK, append_one(store, "s", 0, NULL, "{}", NULL));
    ASSERT_RC(PDR_OK, pdr_store_info_get(&info, store, NULL));
    ASSERT(info.keyed);
    pdr_store_close(store);
    check_refused(&room, "s.db", "", "wrong_key");
    check_refused(&room, "s.db", key_parameter(&room, "b"), "wrong_key");
    store = store_open(&room, key_parameter(&room, "a"));
    ASSERT_RC(PDR_OK, append_one(store, "s", 1, NULL, "{}", NULL));
    pdr_store_close(store);
    ASSERT_INT(0, sql_int(&room, "SELECT count(*) FROM store WHERE "
                                 "instr(key_check,'0123456789abcdef')>0"));
    room_leave(&room);
}

TEST(sqlite_open, refuses_a_key_for_a_store_without_one)
{
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    put_key(&room, "a", KEY_A);
    store = store_open(&room, "");
    pdr_store_close(store);
    check_refused(&room, "s.db", key_parameter(&room, "a"), "wrong_key");
    room_leave(&room);
}

TEST(sqlite_open, refuses_files_that_are_no_good_key)
{
    struct room room;
    char large[4098];

    memset(large, 'k', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    room_enter(&room);
    check_refused(&room, "s.db", key_parameter(&room, "none"), "no_key_file");
    check_refused(&room, "s.db", key_parameter(&room, "none/key"),
                  "no_key_file");
    put_key(&room, "file", KEY_A);
    check_refused(&room, "s.db", key_parameter(&room, "file/key"),
                  "bad_key_file");
    put_key(&room, "short", "0123456789abcdef0123456789abcde");
    check_refused(&room, "s.db", key_parameter(&room, "short"), "bad_key_file");
    put_key(&room, "long", large);
    check_refused(&room, "s.db", key_parameter(&room, "long"), "bad_key_file");
    ASSERT_INT(0, mkdir(room_path(&room, "folder"), 0700));
    check_refused(&room, "s.db", key_parameter(&room, "folder"),
                  "bad_key_file");
    put_key(&room, "open", KEY_A);
    ASSERT_INT(0, chmod(room_path(&room, "open"), 0640));
    check_refused(&room, "s.db", key_parameter(&room, "open"), "unsafe_file");
    ASSERT(!room_has(&room, "s.db"));
    large[4096] = '\0';
    put_key(&room, "largest", large);
    pdr_store_close(store_open(&room, key_parameter(&room, "largest")));
    room_leave(&room);
}

/* --- reading only -------------------------------------------------------- */

TEST(sqlite_open, writes_nothing_when_it_is_read_only)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, NULL, "{}", NULL));
    pdr_store_close(store);
    ASSERT_INT(0, unlink(room_path(&room, "s.db-lock")));
    store = store_open(&room, "?mode=ro");
    ASSERT_RC(PDR_EDENIED, append_one(store, "a", 1, NULL, "{}", &err));
    ASSERT_STR("read_only", err.reason);
    pdr_store_close(store);
    ASSERT(!room_has(&room, "s.db-lock"));
    room_leave(&room);
}

/* In a process of its own, whose mounts nobody else sees: 0 if the store opened
 * from a medium that cannot be written, 77 if mounts are not allowed. */
static int open_on_read_only_system(const char *folder, const char *uri)
{
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount(folder, folder, NULL, MS_BIND, NULL) != 0 ||
        mount(NULL, folder, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) != 0)
        return 77;
    if (pdr_store_open(&store, uri, &err) != PDR_OK)
        return err.reason != NULL && strcmp(err.reason, "read_only") == 0 ? 2
                                                                          : 1;
    pdr_store_close(store);
    return 0;
}

static int in_a_child(const struct room *room, const char *parameters)
{
    int status = 0;
    pid_t child = process_fork();

    if (child == 0)
        process_leave(open_on_read_only_system(
            room->path, store_uri(room, "s.db", parameters)));
    ASSERT(waitpid(child, &status, 0) == child);
    ASSERT(WIFEXITED(status));
    return WEXITSTATUS(status);
}

TEST(sqlite_open, reads_from_a_medium_that_cannot_be_written)
{
    struct room room;
    pdr_store *store = NULL;
    int ended = 0;

    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, NULL, "{}", NULL));
    pdr_store_close(store);
    ASSERT_INT(0, unlink(room_path(&room, "s.db-wal")));
    ASSERT_INT(0, unlink(room_path(&room, "s.db-shm")));
    ended = in_a_child(&room, "?mode=ro");
    if (ended != 77) {
        ASSERT_INT(0, ended);
        ASSERT(in_a_child(&room, "") != 0);
    }
    room_leave(&room);
    if (ended == 77)
        test_skip("mounts are not allowed here");
}

/* In a process of its own, without the rights of root: 0 if the store was
 * refused with what to do about it, 77 if it cannot be reached from there. */
static int open_without_rights(const char *path, const char *uri, pdr_rc rc,
                               const char *reason, const char *words)
{
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    if ((geteuid() == 0 && setuid(65534) != 0) || access(path, R_OK) != 0)
        return 77;
    if (pdr_store_open(&store, uri, &err) != rc)
        return 1;
    return strcmp(err.reason, reason) == 0 && strstr(err.message, words) != NULL
               ? 0
               : 2;
}

/* Is a store, which all may read, refused in a folder of this mode? */
static void assert_lacks(mode_t mode, const char *parameters, pdr_rc rc,
                         const char *reason, const char *words)
{
    struct room room;
    pid_t child = 0;
    int status = 0;

    room_enter(&room);
    pdr_store_close(store_open(&room, ""));
    ASSERT_INT(0, unlink(room_path(&room, "s.db-wal")));
    ASSERT_INT(0, unlink(room_path(&room, "s.db-shm")));
    ASSERT_INT(0, unlink(room_path(&room, "s.db-lock")));
    ASSERT_INT(0, chmod(room_path(&room, "s.db"), 0444));
    ASSERT_INT(0, chmod(room.path, mode));
    child = fork();
    if (child == 0)
        _exit(open_without_rights(room_path(&room, "s.db"),
                                  store_uri(&room, "s.db", parameters), rc,
                                  reason, words));
    ASSERT(child > 0 && waitpid(child, &status, 0) == child);
    ASSERT_INT(0, chmod(room.path, 0700));
    room_leave(&room);
    ASSERT(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        test_skip("the folder cannot be reached without the rights of root");
    ASSERT_INT(0, WEXITSTATUS(status));
}

/* Somebody else may write the file, so it is not taken as unchanging. */
TEST(sqlite_open, says_what_a_reader_lacks_in_a_folder_of_somebody_else)
{
    assert_lacks(0555, "?mode=ro", PDR_EIO, "file_failed",
                 "a folder that you may write");
}

TEST(sqlite_open, says_that_a_file_may_not_be_written_before_anybody_commits)
{
    assert_lacks(0777, "", PDR_EDENIED, "read_only", "may not be written");
}

/* A process that commits and dies. */
static void leave_a_log(const struct room *room)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        pdr_store *store = NULL;
        pdr_rc rc = pdr_store_open(&store, store_uri(room, "s.db", ""), NULL);

        if (rc == PDR_OK)
            rc = append_one(store, "a", 0, NULL, "{}", NULL);
        _exit(rc == PDR_OK ? 0 : 1);
    }
    ASSERT(child > 0 && waitpid(child, &status, 0) == child);
    ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ASSERT(pdr__file_bytes(room_path(room, "s.db-wal")) > 0);
}

/* To take it for unchanging would show a store without its last commits. */
TEST(sqlite_open, never_passes_over_a_log_on_such_a_medium)
{
    struct room room;
    int ended = 0;

    room_enter(&room);
    leave_a_log(&room);
    ASSERT_INT(0, unlink(room_path(&room, "s.db-shm")));
    ended = in_a_child(&room, "?mode=ro");
    room_leave(&room);
    if (ended == 77)
        test_skip("mounts are not allowed here");
    ASSERT(ended != 0);
}

TEST(sqlite_open, puts_what_a_dead_process_left_into_the_main_file)
{
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    leave_a_log(&room);
    store = store_open(&room, "");
    ASSERT_INT(0, pdr__file_bytes(room_path(&room, "s.db-wal")));
    ASSERT_INT(1, sql_int(&room, "SELECT count(*) FROM conversation"));
    pdr_store_close(store);
    room_leave(&room);
}

/* --- pages of another program -------------------------------------------- */

/* A shell that asks for something and is the last to close the file: SQLite
 * then copies the log into it, without sums. */
static void read_with_a_shell(const struct room *room)
{
    sqlite3 *db = NULL;

    ASSERT_INT(SQLITE_OK, sqlite3_open(room_path(room, "s.db"), &db));
    ASSERT_INT(SQLITE_OK,
               sqlite3_exec(db, "SELECT count(*) FROM log", NULL, NULL, NULL));
    ASSERT_INT(SQLITE_OK, sqlite3_close(db));
    ASSERT_INT(0, pdr__file_bytes(room_path(room, "s.db-wal")));
}

TEST(sqlite_open, reads_what_another_program_wrote_without_sums_if_told)
{
    struct room room;
    pdr_store *store = NULL, *copy = NULL;
    const pdr_copy_opts opts = {.now_ms = 2000};
    pdr_copy_report report;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    leave_a_log(&room);
    read_with_a_shell(&room);
    check_refused(&room, "s.db", "?mode=ro", "store_damaged");
    store = store_open(&room, "?mode=ro&sums=off");
    ASSERT_RC(PDR_OK, pdr_store_verify(NULL, store, NULL, NULL, NULL, NULL));
    ASSERT_RC(PDR_EINVALID,
              pdr_store_backup(NULL, store, room_path(&room, "b.db"), false,
                               &err, NULL, NULL));
    ASSERT_STR("bad_uri", err.reason);
    ASSERT(!room_has(&room, "b.db"));
    ASSERT_RC(PDR_OK,
              pdr_store_open(&copy, store_uri(&room, "new.db", ""), NULL));
    ASSERT_RC(PDR_OK, pdr_copy(&report, copy, store, &opts, NULL, NULL, NULL));
    ASSERT_INT(1, report.sessions);
    ASSERT_INT(1, report.entries);
    ASSERT_RC(PDR_OK, pdr_store_verify(NULL, copy, NULL, NULL, NULL, NULL));
    pdr_store_close(copy);
    pdr_store_close(store);
    room_leave(&room);
}

/* Digests of rows are checked as always. */
TEST(sqlite_open, gives_no_changed_row_to_those_who_look_at_no_sums)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    pdr_store_close(store_open(&room, ""));
    leave_a_log(&room);
    read_with_a_shell(&room);
    sql_run(&room, "UPDATE log SET body='[]'");
    store = store_open(&room, "?mode=ro&sums=off");
    ASSERT_RC(PDR_ECORRUPT,
              pdr_store_verify(NULL, store, NULL, &err, NULL, NULL));
    ASSERT_STR("broken_chain", err.reason);
    pdr_store_close(store);
    room_leave(&room);
}

/* A program that does not end its transaction. */
static sqlite3 *read_for_long(const struct room *room)
{
    sqlite3 *reader = NULL;

    ASSERT_INT(SQLITE_OK, sqlite3_open_v2(room_path(room, "s.db"), &reader,
                                          SQLITE_OPEN_READONLY, NULL));
    ASSERT_INT(SQLITE_OK,
               sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM log", NULL,
                            NULL, NULL));
    return reader;
}

/* It may hold what a failed sync left: nobody may go on with it before all of
 * it is in the main file, and the log is cut off. */
TEST(sqlite_open, waits_for_whoever_reads_a_log_with_a_sync_that_did_not_end)
{
    struct room room;
    sqlite3 *reader = NULL;
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    leave_a_log(&room);
    reader = read_for_long(&room);
    room_put_c(&room, "s.db-lock", "1"); /* what a commit notes before it */
    ASSERT_RC(PDR_EBUSY,
              pdr_store_open(&store, room_path(&room, "s.db"), &err));
    ASSERT_STR("store_locked", err.reason);
    ASSERT(pdr__file_bytes(room_path(&room, "s.db-wal")) > 0);
    ASSERT_INT(SQLITE_OK, sqlite3_close(reader));
    store = store_open(&room, "");
    ASSERT_INT(0, pdr__file_bytes(room_path(&room, "s.db-wal")));
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_open, goes_on_beside_whoever_reads_a_log_that_was_synced)
{
    struct room room;
    sqlite3 *reader = NULL;

    room_enter(&room);
    leave_a_log(&room);
    reader = read_for_long(&room);
    for (uint64_t revision = 1; revision < 4; revision++) {
        pdr_store *store = store_open(&room, "");

        ASSERT_RC(PDR_OK, append_one(store, "a", revision, NULL, "{}", NULL));
        pdr_store_close(store);
        ASSERT(pdr__file_bytes(room_path(&room, "s.db-wal")) > 0);
    }
    ASSERT_INT(4, sql_int(&room, "SELECT count(*) FROM conversation"));
    ASSERT_INT(SQLITE_OK, sqlite3_close(reader));
    pdr_store_close(store_open(&room, ""));
    ASSERT_INT(0, pdr__file_bytes(room_path(&room, "s.db-wal")));
    ASSERT_INT(4, sql_int(&room, "SELECT count(*) FROM conversation"));
    room_leave(&room);
}

/* Else the next one to open it would take a sync that failed for a good one. */
TEST(sqlite_open, gives_a_store_that_commits_nothing_it_cannot_take_note_of)
{
    struct room room;
    pdr_err err = PDR_ERR_INIT;
    pdr_store *store = NULL;
    int fd = -1, kept = -1, blind = -1;

    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, NULL, "{}", NULL));
    fd = PDR_CONTAINER_OF(store, struct pdr__sqlite, base)->line.fd;
    kept = dup(fd);
    blind = open(room_path(&room, "s.db-lock"), O_RDONLY);
    ASSERT(kept >= 0 && blind >= 0 && dup2(blind, fd) == fd);
    ASSERT_RC(PDR_EIO, append_one(store, "a", 1, NULL, "{}", &err));
    ASSERT_STR("file_failed", err.reason);
    ASSERT(dup2(kept, fd) == fd);
    ASSERT_INT(1, sql_int(&room, "SELECT count(*) FROM conversation"));
    ASSERT_RC(PDR_OK, append_one(store, "a", 1, NULL, "{}", NULL));
    pdr_store_close(store);
    close(kept);
    close(blind);
    room_leave(&room);
}

/* A name may have anything in it that SQLite would read as part of a URI. */
TEST(sqlite_connect, takes_a_file_that_cannot_change_by_any_name)
{
    static const char name[] = "a b%41?x#&=.db";
    struct room room;
    struct pdr__sqlite fake;
    sqlite3 *db = NULL;
    char path[512];

    room_enter(&room);
    pdr_store_close(store_open(&room, ""));
    (void)snprintf(path, sizeof(path), "%s", room_path(&room, name));
    ASSERT_INT(0, rename(room_path(&room, "s.db"), path));
    memset(&fake, 0, sizeof(fake));
    fake.path = path;
    fake.alone = true;
    ASSERT_RC(PDR_OK, pdr__vfs_open(&fake.vfs, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr__sqlite_connect(&db, &fake, true, NULL));
    ASSERT_RC(PDR_OK, pdr__schema_check(&fake, db, NULL));
    (void)sqlite3_close(db);
    pdr__vfs_close(&fake.vfs);
    ASSERT(!room_has(&room, "a b%41?x#&=.db-shm"));
    room_leave(&room);
}

/* --- forks --------------------------------------------------------------- */

/* A child that lives until the pipe is closed; gives its end of the pipe. */
static int idle_child(pid_t *child)
{
    int ends[2];

    ASSERT_INT(0, pipe(ends));
    *child = fork();
    ASSERT(*child >= 0);
    if (*child == 0) {
        char byte = 0;

        (void)close(ends[1]);
        _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
    }
    (void)close(ends[0]);
    return ends[1];
}

static void end_child(pid_t child, int end)
{
    int status = 0;

    (void)close(end);
    ASSERT(waitpid(child, &status, 0) == child);
    ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* The child has a copy of each open file, and of the locks on it. */
TEST(sqlite_open, gives_the_lock_back_though_a_child_lives)
{
    struct room room;
    pdr_store *store = NULL;
    pid_t child = 0;
    int end = -1;

    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, NULL, "{}", NULL));
    end = idle_child(&child);
    ASSERT_RC(PDR_OK, append_one(store, "a", 1, NULL, "{}", NULL));
    pdr_store_close(store);
    ASSERT_INT(0, pdr__file_bytes(room_path(&room, "s.db-wal")));
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK, append_one(store, "a", 2, NULL, "{}", NULL));
    pdr_store_close(store);
    end_child(child, end);
    room_leave(&room);
}

/* Who opens the store next is the first, and takes care of the log. */
TEST(sqlite_open, is_the_first_though_a_child_of_a_dead_process_lives)
{
    struct room room;
    pid_t parent = 0;
    int ends[2], status = 0;

    room_enter(&room);
    ASSERT_INT(0, pipe(ends));
    parent = fork();
    if (parent == 0) {
        pdr_store *store = store_open(&room, "");
        char byte = 0;

        if (append_one(store, "a", 0, NULL, "{}", NULL) != PDR_OK)
            _exit(1);
        if (fork() == 0) {
            (void)close(ends[1]);
            _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
        }
        _exit(0);
    }
    ASSERT(waitpid(parent, &status, 0) == parent && status == 0);
    ASSERT(pdr__file_bytes(room_path(&room, "s.db-wal")) > 0);
    pdr_store_close(store_open(&room, ""));
    ASSERT_INT(0, pdr__file_bytes(room_path(&room, "s.db-wal")));
    ASSERT_INT(1, sql_int(&room, "SELECT count(*) FROM conversation"));
    (void)close(ends[0]);
    (void)close(ends[1]); /* and the child of that process ends */
    room_leave(&room);
}

/* SQLite would take no lock there, since it believes that it has them. */
TEST(sqlite_open, is_refused_in_a_child_whose_parent_had_it_open)
{
    static const char *const modes[] = {"", "?mode=ro"};
    struct room room;

    room_enter(&room);
    for (size_t i = 0; i < PDR_COUNT(modes); i++) {
        pdr_store *store = store_open(&room, modes[0]);
        pid_t child = 0;
        int status = 0;

        pdr_store_close(store_open(&room, "")); /* a second handle is fine */
        child = fork();
        if (child == 0) {
            pdr_store *own = NULL;
            pdr_err err = PDR_ERR_INIT;
            pdr_rc rc =
                pdr_store_open(&own, store_uri(&room, "s.db", modes[i]), &err);

            if (rc != PDR_EMISUSE || strcmp(err.reason, "after_fork") != 0)
                _exit(1);
            rc = pdr_store_open(&own, store_uri(&room, "other.db", ""), &err);
            pdr_store_close(own); /* another store is fine */
            _exit(rc == PDR_OK ? 0 : 2);
        }
        ASSERT(waitpid(child, &status, 0) == child);
        ASSERT_INT(0, status);
        pdr_store_close(store);
        child = fork();
        if (child == 0) { /* it was closed before */
            pdr_store_close(store_open(&room, modes[i]));
            _exit(0);
        }
        ASSERT(waitpid(child, &status, 0) == child);
        ASSERT_INT(0, status);
    }
    room_leave(&room);
}

/* --- files that are shared -------------------------------------------------
 */

#define NOT_ALLOWED 77

/* In a process of its own, with mounts of its own. */
static int open_mounted(const struct room *room)
{
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    char there[600];

    (void)snprintf(there, sizeof(there), "%s", room_path(room, "there.db"));
    if (unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount(room_path(room, "s.db"), there, NULL, MS_BIND, NULL) != 0)
        return NOT_ALLOWED;
    if (pdr_store_open(&store, there, &err) != PDR_EDENIED ||
        strcmp(err.reason, "unsafe_file") != 0)
        return 1;
    return pdr_store_open(&store, room_path(room, "s.db"), &err) == PDR_OK ? 0
                                                                           : 2;
}

/* Each name would have a log and a lock of its own. */
TEST(sqlite_open, refuses_a_file_that_is_mounted_by_itself)
{
    struct room room;
    pid_t child = 0;
    int status = 0;

    room_enter(&room);
    pdr_store_close(store_open(&room, ""));
    room_put_c(&room, "there.db", "");
    child = process_fork();
    if (child == 0)
        process_leave(open_mounted(&room));
    ASSERT(waitpid(child, &status, 0) == child && WIFEXITED(status));
    room_leave(&room);
    if (WEXITSTATUS(status) == NOT_ALLOWED)
        test_skip("this user may not mount anything");
    ASSERT_INT(0, WEXITSTATUS(status));
}

/* Whoever may write the file may stand in the line for it. */
TEST(sqlite_open, makes_the_side_file_for_those_who_may_use_the_store)
{
    struct room room;

    room_enter(&room);
    pdr_store_close(store_open(&room, ""));
    ASSERT_INT(0, chmod(room_path(&room, "s.db"), 0660));
    ASSERT_INT(0, unlink(room_path(&room, "s.db-lock")));
    pdr_store_close(store_open(&room, ""));
    ASSERT_INT(0660, mode_of(&room, "s.db-lock"));
    room_leave(&room);
}

TEST(sqlite_open, says_that_a_path_is_too_long_for_sqlite)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    char name[250], path[900];

    room_enter(&room);
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    (void)snprintf(path, sizeof(path), "%s/%s", room.path, name);
    ASSERT_INT(0, mkdir(path, 0700));
    (void)snprintf(path, sizeof(path), "%s/%s/%s", room.path, name, name);
    ASSERT_RC(PDR_EINVALID, pdr_store_open(&store, path, &err));
    ASSERT_STR("bad_uri", err.reason);
    ASSERT(strstr(err.message, "a shorter name") != NULL);
    ASSERT_INT(0, rmdir(room_path(&room, name)));
    room_leave(&room);
}

/* --- disks that fail ----------------------------------------------------- */

/* Open with the nth file operation failing, until none is left to fail: then a
 * store is there, and it was never half made. Gives how often it failed. */
static size_t open_with_faults(struct shim *shim, bool makes, bool for_ever)
{
    const struct shim_fault none = {.op = SHIM_ANY, .nth = 0};
    size_t refused = 0, failed = 1;

    for (size_t nth = 1; failed > 0; nth++) {
        const struct shim_fault fault = {
            .op = SHIM_ANY, .nth = nth, .for_ever = for_ever};
        struct room room;
        pdr_store *store = NULL;
        pdr_rc rc = PDR_OK;

        room_enter(&room);
        if (!makes)
            pdr_store_close(store_open(&room, "?vfs=faults"));
        shim_fail(shim, &fault);
        rc = pdr_store_open(&store, store_uri(&room, "s.db", "?vfs=faults"),
                            NULL);
        failed = shim_failed(shim);
        shim_fail(shim, &none);
        ASSERT((rc == PDR_OK) == (store != NULL));
        refused += rc != PDR_OK;
        pdr_store_close(store);
        store = store_open(&room, "?vfs=faults");
        ASSERT_RC(PDR_OK, append_one(store, "a", 0, NULL, "{}", NULL));
        pdr_store_close(store);
        room_leave(&room);
    }
    return refused;
}

TEST(sqlite_open, fails_cleanly_when_any_file_operation_does)
{
    struct shim *shim = shim_new("faults");

    ASSERT(open_with_faults(shim, true, false) > 10);
    ASSERT(open_with_faults(shim, false, false) > 10);
    ASSERT(open_with_faults(shim, false, true) > 10);
    shim_free(shim);
}

/* --- closing ------------------------------------------------------------- */

TEST(sqlite_close, empties_the_log_when_it_is_the_last)
{
    struct room room;
    pdr_store *first = NULL, *second = NULL;

    room_enter(&room);
    first = store_open(&room, "");
    second = store_open(&room, "");
    ASSERT_RC(PDR_OK, append_one(first, "a", 0, NULL, "{}", NULL));
    pdr_store_close(first);
    ASSERT(pdr__file_bytes(room_path(&room, "s.db-wal")) > 0);
    ASSERT_RC(PDR_OK, append_one(second, "a", 1, NULL, "{}", NULL));
    pdr_store_close(second);
    ASSERT_INT(0, pdr__file_bytes(room_path(&room, "s.db-wal")));
    ASSERT_INT(2, sql_int(&room, "SELECT count(*) FROM conversation"));
    room_leave(&room);
}

/* --- memory -------------------------------------------------------------- */

TEST_OOM(sqlite_open, cleans_up_after_any_failed_allocation)
{
    struct room room;
    pdr_store *store = NULL;
    char uri[512];
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    room_enter(&room);
    put_key(&room, "a", KEY_A);
    (void)snprintf(uri, sizeof(uri), "%s",
                   store_uri(&room, "s.db", key_parameter(&room, "a")));
    test_pause_failures(false);
    rc = pdr_store_open(&store, uri, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM || rc == PDR_EIO);
    ASSERT((store != NULL) == (rc == PDR_OK));
    if (rc == PDR_OK)
        rc = append_one(store, "a", 0, "c", "{}", NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM || rc == PDR_EIO);
    pdr_store_close(store);
    test_pause_failures(true);
    room_leave(&room);
    test_pause_failures(false);
}
