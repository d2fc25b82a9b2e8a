/*
 * backup_harness.c - see backup_harness.h.
 *
 * Writers of backup_moments() commit to two sessions at once, always both, and
 * number their commits. A number is told in shared memory when its commit was
 * acknowledged. So a copy is of one moment if both sessions of each writer end
 * with the same number; it lacks nothing if that is not below what was told
 * before the backup began.
 */
#include "backup_harness.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fail_each.h"
#include "processes.h"
#include "shim_vfs.h"
#include "store_work.h"

#define COPY       "copy.db"
#define UNFINISHED COPY "-unfinished"
#define OLD        "what stood there before"

__attribute__((format(printf, 2, 3))) static void complain(
    struct backup_harness *harness, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (harness->mistakes++ == 0)
        vsnprintf(harness->first, sizeof(harness->first), format, args);
    va_end(args);
}

void backup_print(const struct backup_harness *h, const char *what)
{
    print_message("%s: %zu runs, %zu refused, %zu whole, %zu killed, %zu left "
                  "unfinished\n",
                  what, h->runs, h->refused, h->whole, h->killed, h->left);
    print_message("%zu commits beside, between %zu steps, %zu checkpoints; "
                  "mistakes %zu%s%s\n",
                  h->commits, h->steps, h->checkpoints, h->mistakes,
                  h->mistakes > 0 ? ", the first: " : "", h->first);
}

static const char *uri_of(const struct backup_harness *harness,
                          const char *name, const char *more)
{
    static char uri[700];

    snprintf(uri, sizeof(uri), "sqlite:%s%s", room_path(&harness->room, name),
             more);
    return uri;
}

/* A session of `count` entries of `bytes`. */
static void write_session(pdr_store *store, const char *id, size_t count,
                          size_t bytes)
{
    char *body = malloc(bytes + 1);
    pdr_commit_options options = {.now_ms = 1000};

    ASSERT(body != NULL);
    memset(body, 'x', bytes);
    body[0] = body[bytes - 1] = '"';
    body[bytes] = '\0';
    for (size_t i = 0; i < count; i++) {
        pdr_entry entry = {.created_ms = 1000, .body = pdr_str_c(body)};
        pdr_edit edit = {.ref.id = pdr_str_c(id),
                         .revision = i,
                         .entries = &entry,
                         .entry_count = 1};

        ASSERT_RC(PDR_OK,
                  pdr_store_commit(NULL, store, &edit, 1, &options, NULL));
    }
    free(body);
}

/* --- a store that nobody writes to --------------------------------------- */

void backup_init(struct backup_harness *harness)
{
    char id[32];

    memset(harness, 0, sizeof(*harness));
    work_room(&harness->room);
    ASSERT_RC(PDR_OK, pdr_store_open(&harness->store,
                                     uri_of(harness, "a.db", ""), NULL));
    for (size_t i = 0; i < 40; i++) {
        snprintf(id, sizeof(id), "session %zu", i);
        write_session(harness->store, id, 4, 5000);
    }
    pdr_store_close(harness->store);
    ASSERT_RC(PDR_OK, pdr_store_open(&harness->store,
                                     uri_of(harness, "a.db", ""), NULL));
    write_session(harness->store, "in the log", 30, 5000);
    harness->text = work_text(harness->store, NULL);
    assert_non_null(harness->text);
}

void backup_dispose(struct backup_harness *harness)
{
    pdr_store_close(harness->store);
    room_leave(&harness->room);
    free(harness->text);
}

/* Nothing is there, or another file. */
static void reset(const struct backup_harness *harness, bool old)
{
    static const char *const names[] = {COPY, COPY "-wal", COPY "-shm",
                                        COPY "-lock", UNFINISHED};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        (void)unlink(room_path(&harness->room, names[i]));
    if (old)
        room_put_c(&harness->room, COPY, OLD);
}

static void check_text(struct backup_harness *harness, const char *name,
                       const char *what)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_store *store = NULL;
    char *text = NULL;

    if (pdr_store_open(&store, uri_of(harness, name, "?mode=rw"), &err) ==
        PDR_OK)
        text = work_text(store, &err);
    if (text == NULL || strcmp(harness->text, text) != 0)
        complain(harness, "%s: %s: other rows than before: %s", what, name,
                 err.message);
    else if (pdr_store_verify(NULL, store, NULL, &err, NULL, NULL) != PDR_OK)
        complain(harness, "%s: %s: %s", what, name, err.message);
    else
        harness->whole++;
    pdr_store_close(store);
    free(text);
}

/* What is there if there is no copy. */
static bool is_as_before(const struct backup_harness *harness, bool old)
{
    size_t len = 0;
    char *bytes = room_get(&harness->room, COPY, &len);
    bool same = old ? bytes != NULL && len == strlen(OLD) &&
                          memcmp(bytes, OLD, len) == 0
                    : bytes == NULL;

    free(bytes);
    return same;
}

/* After a failure or a kill the next backup works, and clears what was left. */
static void check_next(struct backup_harness *harness, const char *what)
{
    pdr_err err = PDR_ERR_INIT;
    char path[600];

    snprintf(path, sizeof(path), "%s", room_path(&harness->room, COPY));
    if (pdr_store_backup(NULL, harness->store, path, true, &err, NULL, NULL) !=
        PDR_OK)
        complain(harness, "%s: the next one: %s", what, err.message);
    else
        check_text(harness, COPY, what);
    if (room_has(&harness->room, UNFINISHED))
        complain(harness, "%s: the next one leaves a file", what);
    check_text(harness, "a.db", what);
}

/* --- failing operations -------------------------------------------------- */

static void check_end(struct backup_harness *harness, pdr_rc rc, bool old,
                      const char *what)
{
    harness->runs++;
    harness->refused += rc != PDR_OK;
    if (room_has(&harness->room, UNFINISHED))
        complain(harness, "%s: a file is left", what);
    if (rc == PDR_OK)
        check_text(harness, COPY, what);
    else if (!is_as_before(harness, old))
        complain(harness, "%s: refused, and yet something changed", what);
    check_next(harness, what);
}

struct copying {
    struct backup_harness *harness;
    pdr_store *store; /* owned, while one of them runs */
    bool old;         /* something stands in the place of the copy */
};

static void prepare(void *arg)
{
    struct copying *c = arg;

    reset(c->harness, c->old);
    ASSERT_RC(PDR_OK,
              pdr_store_open(&c->store, uri_of(c->harness, "a.db", "?vfs=shim"),
                             NULL));
}

static pdr_rc act(void *arg, pdr_err *err)
{
    const struct copying *c = arg;
    char path[600];

    snprintf(path, sizeof(path), "%s", room_path(&c->harness->room, COPY));
    return pdr_store_backup(NULL, c->store, path, c->old, err, NULL, NULL);
}

static void check_failed(void *arg, const struct fail_run *run)
{
    struct copying *c = arg;

    pdr_store_close(c->store);
    if (run->failed)
        check_end(c->harness, run->rc, c->old, run->what);
    else if (run->rc != PDR_OK)
        complain(c->harness, "%s: without a cause: %s", run->what,
                 run->err.message);
}

void backup_fail(struct backup_harness *harness, size_t step)
{
    static const struct fail_deed deed = {prepare, act, check_failed};

    for (int old = 0; old < 2; old++) {
        struct copying copying = {harness, NULL, old == 1};

        fail_each(&deed, &copying, step);
    }
}

/* --- killing ------------------------------------------------------------- */

/* backup URI FILE REPLACE NTH: die at a file operation. */
TEST_ROLE(backup)
{
    struct shim *shim = shim_new("shim");
    struct shim_fault fault = {.op = SHIM_ANY, .dies = true};
    pdr_store *store = NULL;
    pdr_rc rc = PDR_OK;

    if (argc != 4 || pdr_store_open(&store, argv[0], NULL) != PDR_OK)
        return 2;
    fault.nth = strtoul(argv[3], NULL, 10);
    shim_fail(shim, &fault);
    rc = pdr_store_backup(NULL, store, argv[1], argv[2][0] == '1', NULL, NULL,
                          NULL);
    shim_fail(shim, &(struct shim_fault){.nth = 0});
    pdr_store_close(store);
    shim_free(shim);
    return rc == PDR_OK ? 0 : 1;
}

static enum process_end kill_one(struct backup_harness *harness, size_t nth,
                                 bool old)
{
    char what[60], number[32], uri[700], path[600];
    const char *args[] = {uri, path, old ? "1" : "0", number, NULL};
    enum process_end ended = PROCESS_KILLED;

    reset(harness, old);
    snprintf(uri, sizeof(uri), "%s", uri_of(harness, "a.db", "?vfs=shim"));
    snprintf(path, sizeof(path), "%s", room_path(&harness->room, COPY));
    snprintf(number, sizeof(number), "%zu", nth);
    snprintf(what, sizeof(what), "killed at operation %zu", nth);
    ended = process_end(process_start("backup", args), true);
    harness->runs++;
    harness->killed += ended == PROCESS_KILLED;
    harness->left += room_has(&harness->room, UNFINISHED);
    if (ended == PROCESS_FAILED)
        complain(harness, "%s: the process failed", what);
    /* It may have been killed when the copy had its name. */
    if (!is_as_before(harness, old))
        check_text(harness, COPY, what);
    check_next(harness, what);
    return ended;
}

void backup_kill(struct backup_harness *harness, size_t step)
{
    for (int old = 0; old < 2; old++)
        for (size_t nth = 1; kill_one(harness, nth, old == 1) == PROCESS_KILLED;
             nth += step)
            continue;
}

/* --- losing power -------------------------------------------------------- */

void backup_lose_power(struct backup_harness *harness, bool swallow)
{
    struct shim *shim = shim_new("shim");
    struct shim_disk *disk = NULL;
    struct room image;
    pdr_store *store = NULL;
    char path[600], *named = NULL, *synced = NULL;
    size_t len = 0, synced_len = 0;

    reset(harness, false);
    work_room(&image);
    snprintf(path, sizeof(path), "%s", room_path(&harness->room, COPY));
    ASSERT_RC(PDR_OK, pdr_store_open(
                          &store, uri_of(harness, "a.db", "?vfs=shim"), NULL));
    /* The shim does not see how it is renamed, so its other name is there from
     * the beginning. */
    room_put_c(&harness->room, UNFINISHED, "");
    ASSERT_INT(0, chmod(room_path(&harness->room, UNFINISHED), 0600));
    shim_record_folder(shim, harness->room.path);
    shim_swallow_syncs(shim, swallow);
    ASSERT_RC(PDR_OK,
              pdr_store_backup(NULL, store, path, false, NULL, NULL, NULL));
    pdr_store_close(store);
    disk = shim_disk_new(shim);
    while (shim_disk_next(disk, false) != SHIM_POINT_END)
        harness->runs++;
    shim_disk_image(disk, image.path, SHIM_LOSS_ALL, 1);
    named = room_get(&harness->room, COPY, &len);
    synced = room_get(&image, UNFINISHED, &synced_len);
    if (named == NULL || synced == NULL || len != synced_len ||
        memcmp(named, synced, len) != 0)
        complain(harness,
                 "the copy has its name, and of %zu bytes %zu are on "
                 "the disk",
                 len, synced_len);
    else
        harness->whole++;
    free(named);
    free(synced);
    shim_disk_free(disk);
    shim_free(shim);
    room_leave(&image);
}

/* --- while others write -------------------------------------------------- */

#define PROCESSES 2u
#define THREADS   2u
#define WRITERS   (PROCESSES * THREADS)
#define KEPT      20u /* entries of a session */
#define FILLER    9u  /* megabytes that nobody changes: some steps */

/* What was acknowledged, in a file that all have mapped. */
struct told {
    atomic_uint_fast64_t commits[WRITERS];
};

struct writer {
    pdr_store *store;
    struct told *told;
    unsigned number;
    pdr_rc rc;
};

static struct told *map_told(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct told *told = NULL;

    if (fd < 0 || ftruncate(fd, sizeof(*told)) != 0)
        abort();
    told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (told == MAP_FAILED)
        abort();
    close(fd);
    return told;
}

static void name_session(char out[32], unsigned writer, unsigned which)
{
    snprintf(out, 32, "%u of writer %u", which, writer);
}

static pdr_rc commit_pair(struct writer *writer, uint64_t n)
{
    char ids[2][32], body[1600];
    pdr_edit edits[2];
    pdr_commit_options options = {.now_ms = 1000, .timeout_ms = 20000};
    pdr_entry entry = {.created_ms = 1000};

    memset(edits, 0, sizeof(edits));
    snprintf(body, sizeof(body), "{\"n\":%llu,\"pad\":\"%01500d\"}",
             (unsigned long long)n, 0);
    entry.body = pdr_str_c(body);
    for (unsigned i = 0; i < 2; i++) {
        name_session(ids[i], writer->number, i);
        edits[i].ref.id = pdr_str_c(ids[i]);
        edits[i].revision = n - 1;
        edits[i].entries = &entry;
        edits[i].entry_count = 1;
        edits[i].entries_through = n > KEPT ? n - KEPT : 0;
    }
    return pdr_store_commit(NULL, writer->store, edits, 2, &options, NULL);
}

static void *write_on(void *arg)
{
    struct writer *writer = arg;

    for (uint64_t n = 1; writer->rc == PDR_OK; n++) {
        writer->rc = commit_pair(writer, n);
        if (writer->rc == PDR_OK)
            atomic_store(&writer->told->commits[writer->number], n);
    }
    return NULL;
}

/* backup-writer FOLDER NUMBER: write until killed. */
TEST_ROLE(backup_writer)
{
    struct writer writers[THREADS];
    pthread_t threads[THREADS];
    pdr_store *store = NULL;
    char path[600];
    struct told *told = NULL;

    if (argc != 2)
        return 2;
    snprintf(path, sizeof(path), "%s/told", argv[0]);
    told = map_told(path);
    snprintf(path, sizeof(path), "sqlite:%s/a.db", argv[0]);
    if (pdr_store_open(&store, path, NULL) != PDR_OK)
        return 2;
    for (unsigned i = 0; i < THREADS; i++) {
        writers[i] = (struct writer){
            .store = store,
            .told = told,
            .number = (unsigned)strtoul(argv[1], NULL, 10) * THREADS + i};
        if (pthread_create(&threads[i], NULL, write_on, &writers[i]) != 0)
            return 2;
    }
    for (unsigned i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    return 1; /* a commit was refused */
}

static uint64_t sum_of(const struct told *told)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < WRITERS; i++)
        sum += atomic_load(&told->commits[i]);
    return sum;
}

/* Milliseconds after which writers that do not write are a mistake. */
#define PATIENCE_MS 20000

static bool wait_beyond(const struct told *told, uint64_t sum)
{
    int64_t until = monotonic_us() + PATIENCE_MS * INT64_C(1000);

    while (sum_of(told) <= sum && monotonic_us() < until)
        sleep_us(100);
    return sum_of(told) > sum;
}

static struct told *told_now; /* of the one harness that runs */

static pdr_rc let_others_write(void *arg, const pdr_backup_report *report,
                               pdr_err *err)
{
    struct backup_harness *harness = arg;

    (void)report;
    (void)err;
    harness->steps += wait_beyond(told_now, sum_of(told_now));
    return PDR_OK;
}

bool backup_copy(struct backup_harness *harness, const char *from,
                 const char *to, size_t round)
{
    char uri[700];
    pdr_err err = PDR_ERR_INIT;
    pdr_store *store = NULL;
    pdr_rc rc = PDR_OK;

    snprintf(uri, sizeof(uri), "sqlite:%s%s", from,
             round % 2 == 0 ? "?mode=ro" : "?mode=rw");
    rc = pdr_store_open(&store, uri, &err);
    if (rc == PDR_OK)
        rc = pdr_store_backup(NULL, store, to, true, &err, let_others_write,
                              harness);
    pdr_store_close(store);
    if (rc != PDR_OK)
        complain(harness, "round %zu: %s", round, err.message);
    return rc == PDR_OK;
}

/* The number that a session of the copy ends with; 0: it cannot be read. */
static uint64_t last_number(pdr_store *copy, unsigned writer, unsigned which)
{
    char id[32];
    pdr_query query = {.what = PDR_READ_ENTRIES, .backwards = true, .limit = 1};
    pdr_page *page = NULL;
    unsigned long long n = 0;

    name_session(id, writer, which);
    query.ref.id = pdr_str_c(id);
    if (pdr_store_read(&page, copy, &query, NULL) != PDR_OK)
        return 0;
    if (page->count != 1 ||
        sscanf(page->entries[0].body.ptr, "{\"n\":%llu,", &n) != 1 ||
        n != page->entries[0].seq || n != page->head.revision)
        n = 0;
    pdr_page_free(page);
    return n;
}

static void check_moment(struct backup_harness *harness,
                         const uint64_t before[WRITERS],
                         const struct told *told)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_store *copy = NULL;

    if (pdr_store_open(&copy, uri_of(harness, COPY, "?mode=rw"), &err) !=
            PDR_OK ||
        pdr_store_verify(NULL, copy, NULL, &err, NULL, NULL) != PDR_OK)
        complain(harness, "the copy: %s", err.message);
    for (unsigned i = 0; copy != NULL && i < WRITERS; i++) {
        uint64_t one = last_number(copy, i, 0), two = last_number(copy, i, 1);
        uint64_t after = atomic_load(&told->commits[i]) + 1;

        if (one != two)
            complain(harness, "half a commit: %llu and %llu",
                     (unsigned long long)one, (unsigned long long)two);
        else if (one < before[i])
            complain(harness, "commit %llu was acknowledged, the copy has %llu",
                     (unsigned long long)before[i], (unsigned long long)one);
        else if (one > after)
            complain(harness, "commit %llu was not made yet",
                     (unsigned long long)one);
    }
    harness->whole += harness->mistakes == 0;
    pdr_store_close(copy);
}

static void copy_once(struct backup_harness *harness, size_t round,
                      backup_copy_fn copy)
{
    uint64_t before[WRITERS], sum = 0;
    char from[600], to[600];

    snprintf(from, sizeof(from), "%s", room_path(&harness->room, "a.db"));
    snprintf(to, sizeof(to), "%s", room_path(&harness->room, COPY));
    for (unsigned i = 0; i < WRITERS; i++) {
        before[i] = atomic_load(&told_now->commits[i]);
        sum += before[i];
    }
    harness->runs++;
    if (!copy(harness, from, to, round))
        return;
    harness->commits += (size_t)(sum_of(told_now) - sum);
    check_moment(harness, before, told_now);
}

static void start_writers(const struct backup_harness *harness,
                          pid_t crew[PROCESSES])
{
    for (unsigned i = 0; i < PROCESSES; i++) {
        char number[16];
        const char *args[] = {harness->room.path, number, NULL};

        snprintf(number, sizeof(number), "%u", i);
        crew[i] = process_start("backup_writer", args);
    }
}

/* All have begun, so that every copy has their sessions. */
static void wait_for_all(struct backup_harness *harness)
{
    for (unsigned i = 0; i < WRITERS; i++)
        while (atomic_load(&told_now->commits[i]) == 0)
            if (!wait_beyond(told_now, sum_of(told_now))) {
                complain(harness, "writer %u does not write", i);
                return;
            }
}

static size_t count_checkpoints(const struct backup_harness *harness)
{
    size_t len = 0;

    free(room_get(&harness->room, "checkpoints", &len));
    return len;
}

void backup_moments(struct backup_harness *harness, size_t rounds,
                    backup_copy_fn copy)
{
    pid_t crew[PROCESSES];
    pdr_store *store = NULL;

    memset(harness, 0, sizeof(*harness));
    work_room(&harness->room);
    setenv("PERDURE_CHECKPOINTS", room_path(&harness->room, "checkpoints"), 1);
    told_now = map_told(room_path(&harness->room, "told"));
    ASSERT_RC(PDR_OK,
              pdr_store_open(&store, uri_of(harness, "a.db", ""), NULL));
    write_session(store, "filler", FILLER, 1000000);
    pdr_store_close(store);
    start_writers(harness, crew);
    wait_for_all(harness);
    for (size_t i = 0; i < rounds && harness->mistakes == 0; i++)
        copy_once(harness, i, copy);
    for (unsigned i = 0; i < PROCESSES; i++) {
        enum process_end ended = process_kill(crew[i]);

        harness->killed += ended == PROCESS_KILLED;
        if (ended != PROCESS_KILLED)
            complain(harness, "a commit of another process was refused");
    }
    harness->checkpoints = count_checkpoints(harness);
    (void)munmap(told_now, sizeof(*told_now));
}
