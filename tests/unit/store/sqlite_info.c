/* What a store of SQLite says of itself, and whether others have committed. */
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "processes.h"
#include "sqlite_stock.h"

#include "sqlite/reader.h"

#define LIT(text) pdr_str_n((text), sizeof(text) - 1)

TEST(sqlite_info, tells_sizes_and_counts)
{
    struct stock stock;
    pdr_store_info info;
    pdr_edit gone = {.ref = {.id = {"full", 4}}, .remove = true};

    stock_open(&stock);
    stock_fill(&stock);
    ASSERT_RC(PDR_OK, pdr_store_info_get(&info, stock.store, NULL));
    ASSERT_STR("sqlite", info.backend);
    ASSERT_INT(3, info.schema);
    ASSERT(!info.read_only && !info.in_doubt && !info.keyed);
    ASSERT_INT(3, info.commits);
    ASSERT_INT(3, info.groups);
    ASSERT(info.log_bytes > 4096);
    ASSERT_INT(0, info.pinned_by);
    ASSERT_INT(0, info.file_bytes % 4096);
    ASSERT_INT(0, info.free_bytes);
    stock_commit(&stock, &gone, 400);
    stock_reopen(&stock, "?mode=ro");
    ASSERT_RC(PDR_OK, pdr_store_info_get(&info, stock.store, NULL));
    ASSERT(info.read_only);
    ASSERT(info.file_bytes > 4096);
    ASSERT_INT(0, info.log_bytes);
    ASSERT_INT(0, info.commits);
    stock_close(&stock);
}

TEST(sqlite_info, tells_how_much_can_be_used_again)
{
    static char body[200000];
    struct stock stock;
    pdr_store_info info;
    pdr_entry entry = {.body = {body, sizeof(body)}};
    pdr_edit edit = {
        .ref = {.id = {"big", 3}}, .entries = &entry, .entry_count = 1};
    pdr_edit gone = {.ref = {.id = {"big", 3}}, .remove = true};

    memset(body, '1', sizeof(body));
    stock_open(&stock);
    stock_commit(&stock, &edit, 1);
    stock_commit(&stock, &gone, 2);
    ASSERT_RC(PDR_OK, pdr_store_info_get(&info, stock.store, NULL));
    ASSERT(info.free_bytes >= 190000);
    stock_close(&stock);
}

TEST_OOM(sqlite_info, cleans_up_after_any_failed_allocation)
{
    struct stock stock;
    pdr_store_info info;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    stock_open(&stock);
    test_pause_failures(false);
    rc = pdr_store_info_get(&info, stock.store, NULL);
    test_pause_failures(true);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    stock_close(&stock);
    test_pause_failures(false);
}

/* --- who reads ----------------------------------------------------------- */

/* A list of locks with this line between others; who holds the file? */
static int64_t holder(const char *line)
{
    struct room room;
    struct stat file;
    char text[6000], shm[300];
    size_t used = 0;
    int64_t found = 0;

    room_enter(&room);
    room_put_c(&room, "x-shm", "");
    snprintf(shm, sizeof(shm), "%s", room_path(&room, "x-shm"));
    ASSERT_INT(0, stat(shm, &file));
    for (int i = 0; i < 80; i++) /* more than is read at once */
        used += (size_t)snprintf(
            text + used, sizeof(text) - used,
            "%d: FLOCK  ADVISORY  WRITE 77 00:00:12345 0 EOF\n", i);
    used += (size_t)snprintf(text + used, sizeof(text) - used, line,
                             "99: ", major(file.st_dev), minor(file.st_dev),
                             (unsigned long)file.st_ino);
    snprintf(text + used, sizeof(text) - used, "\n");
    room_put_c(&room, "locks", text);
    found = pdr__sqlite_pinned_by(shm, room_path(&room, "locks"));
    room_leave(&room);
    return found;
}

TEST(sqlite_info, finds_the_process_behind_a_lock)
{
    ASSERT_INT(4711, holder("%sPOSIX  ADVISORY  READ 4711 %02x:%02x:%lu 124 "
                            "124"));
    ASSERT_INT(4711, holder("%sPOSIX  ADVISORY  READ 4711 %02x:%02x:%lu 123 "
                            "127"));
}

TEST(sqlite_info, passes_over_locks_of_another_kind)
{
    /* The marks are 123 to 127; 120 is the writer, 128 keeps the file. */
    ASSERT_INT(0, holder("%sPOSIX  ADVISORY  READ 4711 %02x:%02x:%lu 128 128"));
    ASSERT_INT(0, holder("%sPOSIX  ADVISORY  READ 4711 %02x:%02x:%lu 120 122"));
    ASSERT_INT(0, holder("%sPOSIX  ADVISORY  WRITE 4711 %02x:%02x:%lu 124 "
                         "124"));
    ASSERT_INT(0, holder("%s-> POSIX ADVISORY READ 4711 %02x:%02x:%lu 124 "
                         "124"));
    ASSERT_INT(0, holder("%sPOSIX  ADVISORY  READ 4711 %02x:%02x:1%lu 124 "
                         "124"));
    ASSERT_INT(0, holder("%sOFDLCK ADVISORY  READ -1 %02x:%02x:%lu 124 124"));
    ASSERT_INT(0, holder("%sPOSIX  ADVISORY  READ -1 %02x:%02x:%lu 124 124"));
}

TEST(sqlite_info, names_another_process_rather_than_this_one)
{
    char both[300];

    snprintf(both, sizeof(both),
             "%%1$sPOSIX  ADVISORY  READ %d %%2$02x:%%3$02x:%%4$lu 124 124\n"
             "%%1$sPOSIX  ADVISORY  READ 4711 %%2$02x:%%3$02x:%%4$lu 125 125",
             (int)getpid());
    ASSERT_INT(4711, holder(both));
    snprintf(both, sizeof(both),
             "%%sPOSIX  ADVISORY  READ %d %%02x:%%02x:%%lu 124 124",
             (int)getpid());
    ASSERT_INT(getpid(), holder(both));
}

TEST(sqlite_info, finds_nobody_without_files)
{
    ASSERT_INT(0, pdr__sqlite_pinned_by("/nonexistent", "/proc/locks"));
    ASSERT_INT(0, pdr__sqlite_pinned_by("/proc/self/exe", "/nonexistent"));
}

/* Reads argv[0] and does not stop; makes argv[1] when it has begun. */
TEST_ROLE(reader)
{
    sqlite3 *db = NULL;
    FILE *begun = NULL;

    if (argc != 2 || sqlite3_open(argv[0], &db) != SQLITE_OK ||
        sqlite3_exec(db, "BEGIN;SELECT count(*) FROM sessions", NULL, NULL,
                     NULL) != SQLITE_OK)
        return 1;
    begun = fopen(argv[1], "w");
    if (begun == NULL || fclose(begun) != 0)
        return 1;
    for (;;)
        pause();
}

static pid_t start_reader(const struct stock *stock)
{
    char file[600], begun[600];
    const char *const args[] = {file, begun, NULL};
    int64_t deadline = monotonic_us() + 60 * 1000 * 1000;
    pid_t child = 0;

    snprintf(file, sizeof(file), "%s", room_path(&stock->room, "stock.db"));
    snprintf(begun, sizeof(begun), "%s", room_path(&stock->room, "begun"));
    child = process_start("reader", args);
    while (!room_has(&stock->room, "begun")) {
        ASSERT(monotonic_us() < deadline);
        ASSERT_INT(PROCESS_RUNS, process_end(child, false));
        sleep_us(1000);
    }
    return child;
}

/* Commit until the log is longer than it may be. */
static void fill_log(struct stock *stock)
{
    static char body[4 * 1000 * 1000];
    const pdr_slot slot = {.key = LIT("k"), .value = {body, sizeof(body)}};
    pdr_edit edit = {
        .ref = {.id = LIT("full")}, .slots = &slot, .slot_count = 1};

    for (int i = 0; i < 18; i++) {
        memset(body, '1' + i % 9, sizeof(body)); /* the same is not written */
        stock_commit(stock, &edit, 1000 + i);
    }
}

TEST(sqlite_info, names_the_process_that_keeps_the_log)
{
    struct stock stock;
    pdr_store_info info;
    pid_t child = 0;

    stock_open(&stock);
    stock_fill(&stock);
    child = start_reader(&stock);
    ASSERT_RC(PDR_OK, pdr_store_info_get(&info, stock.store, NULL));
    ASSERT_INT(0, info.pinned_by); /* the log is short: nobody is in the way */
    fill_log(&stock);
    ASSERT_RC(PDR_OK, pdr_store_info_get(&info, stock.store, NULL));
    ASSERT(info.log_bytes > (uint64_t)64 * 1024 * 1024);
    ASSERT_INT(child, info.pinned_by);
    ASSERT_INT(PROCESS_KILLED, process_kill(child));
    ASSERT_RC(PDR_OK, pdr_store_info_get(&info, stock.store, NULL));
    ASSERT_INT(0, info.pinned_by);
    stock_close(&stock);
}

/* --- poll ---------------------------------------------------------------- */

static uint64_t poll_of(struct stock *stock)
{
    uint64_t number = 0;

    ASSERT_RC(PDR_OK, stock->store->ops->poll(stock->store, &number, NULL));
    return number;
}

static void commit_poll(pdr_store *store)
{
    const pdr_work tick = {.kind = pdr_str_c("tick"), .body = pdr_str_c("1")};
    const pdr_edit edit = {.ref.id = pdr_str_c("poll"),
                           .revision = PDR_ANY_REVISION,
                           .or_create = true,
                           .inbox = &tick,
                           .inbox_count = 1};
    const pdr_commit_options options = {.now_ms = 1};

    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &options, NULL));
}

/* Another handle is as good as another process. */
TEST(sqlite_poll, changes_when_somebody_else_commits_and_not_for_us)
{
    struct stock stock;
    pdr_store *other = NULL;
    uint64_t before = 0;

    stock_open(&stock);
    ASSERT_RC(PDR_OK,
              pdr_store_open(&other, room_path(&stock.room, "stock.db"), NULL));
    commit_poll(stock.store);
    for (unsigned i = 0; i < 3; i++) {
        before = poll_of(&stock);
        commit_poll(stock.store);
        ASSERT_INT(before, poll_of(&stock));
        commit_poll(other);
        if (i == 1) /* between two looks ours comes behind it */
            commit_poll(stock.store);
        ASSERT(poll_of(&stock) != before);
        before = poll_of(&stock);
        ASSERT_INT(before, poll_of(&stock));
    }
    pdr_store_close(other);
    stock_close(&stock);
}

/* One that was killed may have committed, and written no note. */
TEST(sqlite_poll, changes_while_nobody_knows_how_a_commit_ended)
{
    struct stock stock;
    FILE *side = NULL;

    stock_open(&stock);
    commit_poll(stock.store);
    (void)poll_of(&stock);
    side = fopen(room_path(&stock.room, "stock.db-lock"), "r+");
    ASSERT(side != NULL && fputc('1', side) == '1' && fclose(side) == 0);
    uint64_t before = poll_of(&stock);
    for (unsigned i = 0; i < 10; i++)
        (void)poll_of(&stock);
    ASSERT_INT(before + 1, poll_of(&stock));
    commit_poll(stock.store);
    for (unsigned i = 0; i < 20; i++)
        ASSERT_INT(before + 1, poll_of(&stock));
    stock_close(&stock);
}

/* Who may only read has no note of its own. */
TEST(sqlite_poll, of_a_reader_changes_when_somebody_commits)
{
    struct stock stock;
    pdr_store *reader = NULL;
    char uri[320];
    uint64_t before = 0, after = 0;

    stock_open(&stock);
    commit_poll(stock.store);
    (void)snprintf(uri, sizeof(uri), "sqlite:%s?mode=ro",
                   room_path(&stock.room, "stock.db"));
    ASSERT_RC(PDR_OK, pdr_store_open(&reader, uri, NULL));
    ASSERT_RC(PDR_OK, reader->ops->poll(reader, &before, NULL));
    commit_poll(stock.store);
    ASSERT_RC(PDR_OK, reader->ops->poll(reader, &after, NULL));
    ASSERT(after != before);
    pdr_store_close(reader);
    stock_close(&stock);
}

TEST_OOM(sqlite_poll, cleans_up_after_any_failed_allocation)
{
    struct stock stock;
    uint64_t number = 0;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    stock_open(&stock);
    stock_reopen(&stock, "?mode=ro");
    test_pause_failures(false);
    rc = stock.store->ops->poll(stock.store, &number, NULL);
    test_pause_failures(true);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    stock_close(&stock);
    test_pause_failures(false);
}
