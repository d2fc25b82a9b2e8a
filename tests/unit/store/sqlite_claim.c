/* Main file, WAL and side file that were moved, cut or copied: the store opens
 * with all that was acknowledged, or it is refused, and nothing changes. */
#include "sqlite_room.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fail_each.h"
#include "processes.h"
#include "sqlite/vfs.h"
#include "sqlite_memory.h"

#define COMMITS 3

/* In a process that dies with the store open, so that commits are in the WAL.
 */
static void commit_and_die(const struct room *room, uint64_t revision,
                           unsigned commits)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        pdr_store *store = NULL;
        pdr_rc rc = pdr_store_open(&store, store_uri(room, "s.db", ""), NULL);

        for (unsigned i = 0; i < commits && rc == PDR_OK; i++)
            rc = append_one(store, "a", revision + i, NULL, "{\"n\":1}", NULL);
        _exit(rc == PDR_OK ? 0 : 1);
    }
    ASSERT(child > 0 && waitpid(child, &status, 0) == child);
    ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ASSERT(pdr__file_bytes(room_path(room, "s.db-wal")) > PDR_LOG_HEADER);
}

/* A store of an earlier process, and then COMMITS in a WAL. */
static void make(struct room *room)
{
    pdr_store *store = NULL;

    room_enter(room);
    store = store_open(room, "");
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, NULL, "{\"n\":0}", NULL));
    pdr_store_close(store);
    commit_and_die(room, 1, COMMITS);
}

static void copy_file(const struct room *room, const char *from, const char *to)
{
    size_t len = 0;
    char *bytes = room_get(room, from, &len);

    ASSERT(bytes != NULL);
    room_put(room, to, pdr_str_n(bytes, len));
    ASSERT_INT(0, chmod(room_path(room, to), 0600));
    free(bytes);
}

/* Refused for reading and writing, with this in the message, and no byte of
 * main file and WAL changes. */
static void check_refused(const struct room *room, const char *says)
{
    static const char *const modes[] = {"", "?mode=ro"};
    static const char *const names[] = {"s.db", "s.db-wal"};
    char *before[2], *after = NULL;
    size_t len[2] = {0, 0}, now = 0;
    pdr_store *store = NULL;

    for (size_t i = 0; i < 2; i++)
        before[i] = room_get(room, names[i], &len[i]);
    for (size_t i = 0; i < 2; i++) {
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(
            PDR_ECORRUPT,
            pdr_store_open(&store, store_uri(room, "s.db", modes[i]), &err));
        ASSERT_STR("store_damaged", err.reason);
        if (strstr(err.message, says) == NULL)
            fail_msg("'%s' does not say '%s'", err.message, says);
    }
    for (size_t i = 0; i < 2; i++) {
        after = room_get(room, names[i], &now);
        ASSERT((after == NULL) == (before[i] == NULL));
        ASSERT_SIZE(len[i], now);
        ASSERT(after == NULL || memcmp(before[i], after, now) == 0);
        free(before[i]);
        free(after);
        now = 0;
    }
}

/* It opens, is sound, and has so many entries; and goes on. */
static void check_opens(const struct room *room, int64_t entries)
{
    pdr_store *store = store_open(room, "");
    pdr_err err = PDR_ERR_INIT;

    if (pdr_store_verify(NULL, store, NULL, &err, NULL, NULL) != PDR_OK)
        fail_msg("%s", err.message);
    ASSERT_INT(entries, sql_int(room, "SELECT count(*) FROM conversation"));
    ASSERT_RC(PDR_OK,
              append_one(store, "a", (uint64_t)entries, NULL, "{}", NULL));
    pdr_store_close(store);
    store = store_open(room, "?mode=ro");
    ASSERT_RC(PDR_OK, pdr_store_verify(NULL, store, NULL, &err, NULL, NULL));
    pdr_store_close(store);
}

/* --- a WAL that is gone -------------------------------------------------- */

enum loss { REMOVED, CUT, HEADER_ZEROED, ALL_ZEROED, ANOTHER };

static void lose(const struct room *room, enum loss loss, size_t bytes)
{
    char path[600];
    size_t len = 0;
    char *log = room_get(room, "s.db-wal", &len);

    snprintf(path, sizeof(path), "%s", room_path(room, "s.db-wal"));
    switch (loss) {
    case REMOVED:
        ASSERT_INT(0, unlink(path));
        break;
    case CUT:
        ASSERT_INT(0, truncate(path, (off_t)bytes));
        break;
    case HEADER_ZEROED:
    case ALL_ZEROED:
        memset(log, 0, loss == ALL_ZEROED ? len : bytes);
        room_put(room, "s.db-wal", pdr_str_n(log, len));
        break;
    case ANOTHER:
        room_put(room, "s.db-wal", pdr_str_n(log + 8, len - 8));
        break;
    }
    free(log);
}

TEST(claim, refuses_a_store_whose_wal_is_gone)
{
    static const struct {
        enum loss loss;
        size_t bytes;
        const char *says;
    } rows[] = {
        {REMOVED, 0, "rm -f 's.db-wal' 's.db-lock'"},
        {CUT, 0, "'s.db-wal' is gone, or is another one"},
        {CUT, 1, "'s.db-wal' is gone, or is another one"},
        {CUT, 31, "'s.db-wal' is gone, or is another one"},
        {CUT, 32, "of 's.db-wal' is not as it was written"},
        {HEADER_ZEROED, 32, "the header of 's.db-wal' is not as it was"},
        {HEADER_ZEROED, 48, "'s.db-wal' is gone, or is another one"},
        {ALL_ZEROED, 0, "'s.db-wal' is gone, or is another one"},
        {ANOTHER, 0, "'s.db-wal' is gone, or is another one"},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        struct room room;

        make(&room);
        lose(&room, rows[i].loss, rows[i].bytes);
        check_refused(&room, rows[i].says);
        /* What the message says helps, and goes on without these commits. */
        (void)unlink(room_path(&room, "s.db-wal"));
        ASSERT_INT(0, unlink(room_path(&room, "s.db-lock")));
        check_opens(&room, 1);
        room_leave(&room);
    }
}

/* After a close nothing is in it. */
TEST(claim, does_not_miss_a_wal_that_was_emptied)
{
    struct room room;
    struct pdr__note note;

    make(&room);
    pdr_store_close(store_open(&room, ""));
    pdr__line_read_note(&note, room_path(&room, "s.db-lock"));
    ASSERT_INT(PDR_WAL_EMPTIED, note.state);
    (void)unlink(room_path(&room, "s.db-wal"));
    check_opens(&room, 1 + COMMITS);
    room_leave(&room);
}

/* --- a WAL that another program copied ------------------------------------ */

static void ask_with_a_shell(const struct room *room, const char *sql)
{
    sqlite3 *db = NULL;

    ASSERT_INT(SQLITE_OK, sqlite3_open(room_path(room, "s.db"), &db));
    ASSERT_INT(SQLITE_OK, sqlite3_exec(db, sql, NULL, NULL, NULL));
    ASSERT_INT(SQLITE_OK, sqlite3_close(db));
    ASSERT(!room_has(room, "s.db-wal"));
}

TEST(claim, takes_over_what_another_program_copied)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    make(&room);
    ask_with_a_shell(&room, "SELECT count(*) FROM log");
    ASSERT_RC(
        PDR_ECORRUPT,
        pdr_store_open(&store, store_uri(&room, "s.db", "?mode=ro"), &err));
    assert_non_null(strstr(err.message, "nothing is lost; open the store once "
                                        "for writing: perdure store vacuum "
                                        "'s.db'"));
    check_opens(&room, 1 + COMMITS);
    room_leave(&room);
}

/* A process that is killed while it syncs leaves a whole commit that no note
 * tells of, with other versions of the same pages. */
TEST(claim, takes_over_a_commit_behind_the_noted_one)
{
    struct room room;

    make(&room);
    copy_file(&room, "s.db-lock", "noted");
    ASSERT_INT(0, unlink(room_path(&room, "s.db-lock")));
    commit_and_die(&room, 1 + COMMITS, 1);
    copy_file(&room, "noted", "s.db-lock");
    ask_with_a_shell(&room, "SELECT count(*) FROM log");
    check_opens(&room, 2 + COMMITS);
    room_leave(&room);
}

TEST(claim, takes_over_nothing_that_another_program_changed)
{
    static const char *const changes[] = {
        "UPDATE log SET body='{\"n\":2}' WHERE n=1",
        "DELETE FROM log WHERE n=1",
        "UPDATE sessions SET revision=revision+1",
    };

    for (size_t i = 0; i < PDR_COUNT(changes); i++) {
        struct room room;
        pdr_store *store = NULL;
        pdr_err err = PDR_ERR_INIT;

        make(&room);
        ask_with_a_shell(&room, "SELECT count(*) FROM log");
        ask_with_a_shell(&room, changes[i]);
        ASSERT_RC(PDR_ECORRUPT,
                  pdr_store_open(&store, store_uri(&room, "s.db", ""), &err));
        ASSERT_STR("store_damaged", err.reason);
        room_leave(&room);
    }
}

/* A change behind the last page: that one is there, and a row is not sound. */
TEST(claim, says_how_to_rescue_what_another_program_changed)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    make(&room);
    ask_with_a_shell(&room, "UPDATE log SET created=7 WHERE n=1");
    ASSERT_RC(PDR_ECORRUPT,
              pdr_store_open(&store, store_uri(&room, "s.db", ""), &err));
    if (strstr(err.message, "rm -f") == NULL)
        assert_non_null(strstr(err.message,
                               "perdure store copy --skip-damaged "
                               "'sqlite:s.db?mode=ro&sums=off' NEW"));
    room_leave(&room);
}

/* --- a file that the WAL does not belong to ------------------------------- */

TEST(claim, refuses_a_backup_beside_the_wal_of_its_store)
{
    struct room room;
    pdr_store *store = NULL;
    char backup[600];

    make(&room);
    store = store_open(&room, "");
    snprintf(backup, sizeof(backup), "%s", room_path(&room, "backup.db"));
    ASSERT_RC(PDR_OK, append_one(store, "a", 1 + COMMITS, NULL, "{}", NULL));
    ASSERT_RC(PDR_OK,
              pdr_store_backup(NULL, store, backup, false, NULL, NULL, NULL));
    pdr_store_close(store);
    commit_and_die(&room, 2 + COMMITS, 1);
    copy_file(&room, "backup.db", "s.db");
    check_refused(&room, "rm 's.db-wal' 's.db-lock'");
    ASSERT_INT(0, unlink(room_path(&room, "s.db-wal")));
    check_opens(&room, 2 + COMMITS); /* the note is of another file */
    room_leave(&room);
}

TEST(claim, refuses_an_older_copy_beside_a_wal)
{
    struct room room;
    pdr_store *store = NULL;

    make(&room);
    pdr_store_close(store_open(&room, ""));
    copy_file(&room, "s.db", "older.db");
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK, append_one(store, "a", 1 + COMMITS, NULL, "{}", NULL));
    pdr_store_close(store);
    commit_and_die(&room, 2 + COMMITS, 1);
    copy_file(&room, "older.db", "s.db");
    check_refused(&room, "an older copy of it");
    ASSERT_INT(0, unlink(room_path(&room, "s.db-wal")));
    check_opens(&room, 1 + COMMITS);
    room_leave(&room);
}

/* As it was when the WAL was begun, it is the file that the WAL belongs to. */
TEST(claim, takes_the_copy_that_was_made_before_the_wal)
{
    struct room room;

    make(&room);
    pdr_store_close(store_open(&room, ""));
    copy_file(&room, "s.db", "same.db");
    commit_and_die(&room, 1 + COMMITS, 2);
    copy_file(&room, "same.db", "s.db");
    check_opens(&room, 3 + COMMITS);
    room_leave(&room);
}

/* --- files that are cut while the store is open --------------------------- */

TEST(claim, ends_commits_when_the_main_file_was_emptied)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    make(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK, append_one(store, "a", 1 + COMMITS, NULL, "{}", NULL));
    ASSERT_INT(0, truncate(room_path(&room, "s.db"), 0));
    ASSERT_RC(PDR_EDENIED,
              append_one(store, "a", 2 + COMMITS, NULL, "{}", &err));
    ASSERT_STR("unsafe_file", err.reason);
    assert_non_null(strstr(err.message, "s.db' was emptied while the store is "
                                        "open"));
    pdr_store_close(store); /* and copies nothing over what is left */
    ASSERT_INT(0, pdr__file_bytes(room_path(&room, "s.db")));
    ASSERT(pdr__file_bytes(room_path(&room, "s.db-wal")) > PDR_LOG_HEADER);
    room_leave(&room);
}

TEST(claim, ends_commits_and_reads_when_the_shared_memory_was_cut)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_query query = {.what = PDR_READ_HEAD, .ref.id = pdr_str_c("a")};
    pdr_page *page = NULL;
    pdr_err err = PDR_ERR_INIT;

    make(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK, append_one(store, "a", 1 + COMMITS, NULL, "{}", NULL));
    ASSERT_INT(0, truncate(room_path(&room, "s.db-shm"), 100));
    ASSERT_RC(PDR_EIO, append_one(store, "a", 2 + COMMITS, NULL, "{}", &err));
    assert_non_null(strstr(err.message, "'-shm' beside the store was cut"));
    ASSERT_RC(PDR_EIO, pdr_store_read(&page, store, &query, &err));
    assert_non_null(strstr(err.message, "'-shm' beside the store was cut"));
    pdr_store_close(store);
    (void)unlink(room_path(&room, "s.db-shm"));
    check_opens(&room, 2 + COMMITS);
    room_leave(&room);
}

/* --- failures ------------------------------------------------------------ */

/* Not damage: the disk may give it tomorrow. */
TEST(claim, tells_a_wal_that_cannot_be_read_from_damage)
{
    const struct pdr__note note = {.state = PDR_WAL_COMMITS};
    struct room room;
    bool is_gone = false;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    ASSERT_INT(0, mkdir(room_path(&room, "s.db-wal"), 0700)); /* EISDIR */
    ASSERT_RC(PDR_EIO, pdr__left_check(&is_gone, room_path(&room, "s.db-wal"),
                                       &note, &err));
    ASSERT_STR("file_failed", err.reason);
    ASSERT_INT(EISDIR, err.sys);
    ASSERT_INT(0, rmdir(room_path(&room, "s.db-wal")));
    room_leave(&room);
}

/* --- a store that is being made ------------------------------------------- */

/* maker URI NTH: make a store, and die at a file operation. */
TEST_ROLE(maker)
{
    struct shim *shim = shim_new("shim");
    struct shim_fault fault = {.op = SHIM_ANY, .dies = true};
    pdr_store *store = NULL;
    pdr_rc rc = PDR_OK;

    if (argc != 2)
        return 2;
    fault.nth = strtoul(argv[1], NULL, 10);
    shim_fail(shim, &fault);
    rc = pdr_store_open(&store, argv[0], NULL);
    pdr_store_close(store);
    return rc == PDR_OK ? 0 : 1;
}

TEST(claim, goes_on_wherever_the_making_of_a_store_was_killed)
{
    enum process_end end = PROCESS_KILLED;
    size_t kills = 0, journals = 0;

    for (size_t nth = 1; end == PROCESS_KILLED; nth += test_every(1)) {
        struct room room;
        char uri[600], number[24];
        const char *const args[] = {uri, number, NULL};
        pdr_store *store = NULL;
        pdr_err err = PDR_ERR_INIT;
        pdr_rc rc = PDR_OK;

        make(&room); /* of which only the side file stays */
        (void)unlink(room_path(&room, "s.db"));
        (void)unlink(room_path(&room, "s.db-wal"));
        (void)unlink(room_path(&room, "s.db-shm"));
        snprintf(uri, sizeof(uri), "%s", store_uri(&room, "s.db", "?vfs=shim"));
        snprintf(number, sizeof(number), "%zu", nth);
        end = process_end(process_start("maker", args), true);
        ASSERT(end != PROCESS_FAILED);
        kills += end == PROCESS_KILLED;
        /* There is a store, or there is none: no other answer. */
        rc = pdr_store_open(&store, store_uri(&room, "s.db", "?mode=ro"), &err);
        if (rc != PDR_OK && rc != PDR_ENOTFOUND)
            fail_msg("killed at operation %zu: %s", nth, err.message);
        journals += room_has(&room, "s.db-journal");
        pdr_store_close(store);
        if (pdr_store_open(&store, store_uri(&room, "s.db", ""), &err) !=
            PDR_OK)
            fail_msg("killed at operation %zu: %s", nth, err.message);
        ASSERT_RC(PDR_OK,
                  pdr_store_verify(NULL, store, NULL, NULL, NULL, NULL));
        ASSERT_RC(PDR_OK, append_one(store, "a", 0, NULL, "{}", NULL));
        pdr_store_close(store);
        room_leave(&room);
    }
    ASSERT(kills > 5 && journals > 0);
}

TEST_OOM(claim, cleans_up_after_any_failed_allocation)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    make(&room);
    ask_with_a_shell(&room, "SELECT count(*) FROM log");
    test_pause_failures(false);
    rc = pdr_store_open(&store, store_uri(&room, "s.db", ""), NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_store_close(store);
    room_leave(&room);
}

struct trial {
    struct room room;
    pdr_store *store;
    size_t refused;
};

static void prepare(void *arg)
{
    struct trial *trial = arg;

    make(&trial->room);
    ask_with_a_shell(&trial->room, "SELECT count(*) FROM log");
}

static pdr_rc act(void *arg, pdr_err *err)
{
    struct trial *trial = arg;

    return pdr_store_open(&trial->store,
                          store_uri(&trial->room, "s.db", "?vfs=shim"), err);
}

static void check(void *arg, const struct fail_run *run)
{
    struct trial *trial = arg;

    trial->refused += run->rc != PDR_OK;
    pdr_store_close(trial->store);
    trial->store = NULL;
    check_opens(&trial->room, 1 + COMMITS);
    room_leave(&trial->room);
}

TEST(claim, takes_over_again_after_any_file_operation_that_failed)
{
    static const struct fail_deed deed = {prepare, act, check};
    struct trial trial = {.store = NULL};

    fail_each(&deed, &trial, 7);
    ASSERT(trial.refused > 10);
}

/* --- a failure is no proof -------------------------------------------------
 */

/* A backup in the place of its store, beside the WAL of that. */
static void prepare_other(void *arg)
{
    struct trial *trial = arg;
    pdr_store *store = NULL;
    char backup[600];

    make(&trial->room);
    store = store_open(&trial->room, "");
    snprintf(backup, sizeof(backup), "%s",
             room_path(&trial->room, "backup.db"));
    ASSERT_RC(PDR_OK,
              pdr_store_backup(NULL, store, backup, false, NULL, NULL, NULL));
    pdr_store_close(store);
    commit_and_die(&trial->room, 1 + COMMITS, 1);
    copy_file(&trial->room, "backup.db", "s.db");
}

static void check_other(void *arg, const struct fail_run *run)
{
    struct trial *trial = arg;

    pdr_store_close(trial->store);
    trial->store = NULL;
    if (run->rc == PDR_OK)
        fail_msg("%s: opened with the WAL of another file", run->what);
    check_refused(&trial->room, "rm 's.db-wal' 's.db-lock'");
    room_leave(&trial->room);
}

TEST(claim, never_opens_a_backup_beside_the_wal_of_its_store)
{
    static const struct fail_deed deed = {prepare_other, act, check_other};
    struct trial trial = {.store = NULL};

    fail_each(&deed, &trial, 5);
}

static pdr_rc act_plain(void *arg, pdr_err *err)
{
    struct trial *trial = arg;

    return pdr_store_open(&trial->store, store_uri(&trial->room, "s.db", ""),
                          err);
}

TEST(claim, never_opens_a_backup_beside_the_wal_without_memory)
{
    static const struct fail_deed deed = {prepare_other, act_plain,
                                          check_other};
    struct trial trial = {.store = NULL};

    sqlite_memory_enter();
    sqlite_memory_each(&deed, &trial, 29);
}

static void prepare_killed(void *arg)
{
    struct trial *trial = arg;

    make(&trial->room);
}

static void check_killed(void *arg, const struct fail_run *run)
{
    struct trial *trial = arg;

    pdr_store_close(trial->store);
    trial->store = NULL;
    if (run->rc == PDR_ECORRUPT)
        fail_msg("%s: %s", run->what, run->err.message);
    check_opens(&trial->room, 1 + COMMITS);
    room_leave(&trial->room);
}

TEST(claim, blames_no_file_for_an_operation_that_failed)
{
    static const struct fail_deed deed = {prepare_killed, act, check_killed};
    struct trial trial = {.store = NULL};

    fail_each(&deed, &trial, 5);
}

TEST(claim, blames_no_file_for_a_lack_of_memory)
{
    static const struct fail_deed deed = {prepare_killed, act_plain,
                                          check_killed};
    struct trial trial = {.store = NULL};

    sqlite_memory_enter();
    sqlite_memory_each(&deed, &trial, 29);
}
