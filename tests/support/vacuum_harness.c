/*
 * vacuum_harness.c - see vacuum_harness.h.
 */
#include "vacuum_harness.h"

#include <sys/stat.h>
#include <unistd.h>

#include "fail_each.h"
#include "processes.h"
#include "shim_vfs.h"
#include "space_harness.h"
#include "store_work.h"

#define SESSIONS       60
#define TURNS          4
#define LOSSES_A_POINT 3

__attribute__((format(printf, 2, 3))) static void complain(
    struct vacuum_harness *harness, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (harness->mistakes++ == 0)
        vsnprintf(harness->first, sizeof(harness->first), format, args);
    va_end(args);
}

void vacuum_print(const struct vacuum_harness *harness, const char *what)
{
    print_message("%s: %zu runs, %zu refused, %zu shorter; mistakes %zu%s%s\n",
                  what, harness->runs, harness->refused, harness->shorter,
                  harness->mistakes,
                  harness->mistakes > 0 ? ", the first: " : "", harness->first);
}

static const char *uri_in(const char *folder, const char *more)
{
    static char uri[700];

    snprintf(uri, sizeof(uri), "sqlite:%s/a.db%s", folder, more);
    return uri;
}

static uint64_t bytes_in(const char *folder)
{
    char path[600];
    struct stat file;

    snprintf(path, sizeof(path), "%s/a.db", folder);
    return stat(path, &file) == 0 ? (uint64_t)file.st_size : 0;
}

static void reset(const struct vacuum_harness *harness)
{
    static const char *const names[] = {"a.db-wal", "a.db-shm", "a.db-lock"};

    for (size_t i = 0; i < 3; i++)
        (void)unlink(room_path(&harness->room, names[i]));
    room_put(&harness->room, "a.db", pdr_str_n(harness->bytes, harness->len));
    ASSERT_INT(0, chmod(room_path(&harness->room, "a.db"), 0600));
}

/* All rows are there, the store takes commits, and the next vacuum ends. */
static void check(struct vacuum_harness *harness, const char *folder,
                  const char *what)
{
    pdr_edit edit = {.ref.id = pdr_str_c("one more")};
    pdr_commit_options options = {.now_ms = 3000};
    pdr_err err = PDR_ERR_INIT;
    pdr_vacuum_report report;
    pdr_store *store = NULL;
    char *text = NULL;

    harness->runs++;
    harness->shorter += bytes_in(folder) < harness->len;
    if (pdr_store_open(&store, uri_in(folder, ""), &err) != PDR_OK) {
        complain(harness, "%s: open: %s", what, err.message);
        return;
    }
    text = work_text(store, &err);
    if (text == NULL || strcmp(harness->text, text) != 0)
        complain(harness, "%s: other rows than before: %s", what, err.message);
    if (pdr_store_vacuum(&report, store, &err, NULL, NULL) != PDR_OK ||
        report.free_bytes != 0)
        complain(harness, "%s: again: %s", what, err.message);
    if (pdr_store_verify(NULL, store, NULL, &err, NULL, NULL) != PDR_OK ||
        pdr_store_commit(NULL, store, &edit, 1, &options, &err) != PDR_OK)
        complain(harness, "%s: afterwards: %s", what, err.message);
    pdr_store_close(store);
    free(text);
}

void vacuum_init(struct vacuum_harness *harness)
{
    struct space space;

    memset(harness, 0, sizeof(*harness));
    space_init(&space, SESSIONS, TURNS);
    space_remove_half(&space, SPACE_EVERY_SECOND);
    harness->text = work_text(space.store, NULL);
    assert_non_null(harness->text);
    (void)space_file(&space);
    harness->bytes = room_get(&space.room, "a.db", &harness->len);
    space_dispose(&space);
    work_room(&harness->room);
}

void vacuum_dispose(struct vacuum_harness *harness)
{
    room_leave(&harness->room);
    free(harness->bytes);
    free(harness->text);
}

/* --- failing operations -------------------------------------------------- */

struct vacuuming {
    struct vacuum_harness *harness;
    pdr_store *store; /* owned, while one of them runs */
};

static void prepare(void *arg)
{
    struct vacuuming *v = arg;

    reset(v->harness);
    ASSERT_RC(PDR_OK,
              pdr_store_open(&v->store,
                             uri_in(v->harness->room.path, "?vfs=shim"), NULL));
}

static pdr_rc act(void *arg, pdr_err *err)
{
    const struct vacuuming *v = arg;

    return pdr_store_vacuum(NULL, v->store, err, NULL, NULL);
}

static void check_failed(void *arg, const struct fail_run *run)
{
    struct vacuuming *v = arg;

    pdr_store_close(v->store);
    v->harness->refused += run->rc != PDR_OK;
    if (run->failed)
        check(v->harness, v->harness->room.path, run->what);
    else if (run->rc != PDR_OK)
        complain(v->harness, "%s: without a cause: %s", run->what,
                 run->err.message);
}

void vacuum_fail(struct vacuum_harness *harness, size_t step)
{
    static const struct fail_deed deed = {prepare, act, check_failed};
    struct vacuuming vacuuming = {harness, NULL};

    fail_each(&deed, &vacuuming, step);
}

/* --- killing ------------------------------------------------------------- */

/* vacuum URI NTH: die at a file operation. */
TEST_ROLE(vacuum)
{
    struct shim *shim = shim_new("shim");
    struct shim_fault fault = {.op = SHIM_ANY, .dies = true};
    pdr_store *store = NULL;
    pdr_rc rc = PDR_OK;

    if (argc != 2 || pdr_store_open(&store, argv[0], NULL) != PDR_OK)
        return 2;
    fault.nth = strtoul(argv[1], NULL, 10);
    shim_fail(shim, &fault);
    rc = pdr_store_vacuum(NULL, store, NULL, NULL, NULL);
    pdr_store_close(store);
    shim_free(shim);
    return rc == PDR_OK ? 0 : 1;
}

void vacuum_kill(struct vacuum_harness *harness, size_t step)
{
    enum process_end ended = PROCESS_KILLED;

    for (size_t nth = 1; ended == PROCESS_KILLED; nth += step) {
        char what[60], number[32], uri[700];
        const char *args[] = {uri, number, NULL};

        reset(harness);
        snprintf(uri, sizeof(uri), "%s",
                 uri_in(harness->room.path, "?vfs=shim"));
        snprintf(number, sizeof(number), "%zu", nth);
        ended = process_end(process_start("vacuum", args), true);
        snprintf(what, sizeof(what), "killed at operation %zu", nth);
        if (ended == PROCESS_FAILED)
            complain(harness, "%s: the process failed", what);
        check(harness, harness->room.path, what);
    }
}

/* --- losing power -------------------------------------------------------- */

static void lose(struct vacuum_harness *harness, const struct shim_disk *disk,
                 const struct room *image, enum shim_loss loss)
{
    char what[80];

    snprintf(what, sizeof(what), "power lost, run %zu, way %d", harness->runs,
             (int)loss);
    shim_disk_image(disk, image->path, loss, harness->runs);
    check(harness, image->path, what);
}

void vacuum_lose_power(struct vacuum_harness *harness)
{
    struct shim *shim = shim_new("shim");
    struct shim_disk *disk = NULL;
    struct room image;
    pdr_store *store = NULL;

    reset(harness);
    work_room(&image);
    shim_record_folder(shim, harness->room.path);
    ASSERT_RC(
        PDR_OK,
        pdr_store_open(&store, uri_in(harness->room.path, "?vfs=shim"), NULL));
    ASSERT_RC(PDR_OK, pdr_store_vacuum(NULL, store, NULL, NULL, NULL));
    pdr_store_close(store);
    disk = shim_disk_new(shim);
    while (shim_disk_next(disk, false) != SHIM_POINT_END)
        for (int i = 0; i < LOSSES_A_POINT; i++)
            lose(harness, disk, &image,
                 (enum shim_loss)(((int)harness->runs + 3 * i) % SHIM_LOSSES));
    lose(harness, disk, &image, SHIM_LOSS_ALL);
    shim_disk_free(disk);
    shim_free(shim);
    room_leave(&image);
}
