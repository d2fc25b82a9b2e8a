/*
 * store_wait.c - how long does anybody wait at a store that others use?
 *
 * Each figure stands beside the longest that the documents promise, so a ratio
 * below 1 breaks a promise. A busy machine counts in, so these are no tests.
 *
 * wait/heard   From a commit of another process to the end of a watch, the
 *     longest of 20.
 * wait/idle    Time on cores in a second in which four threads watch and
 *     nothing happens.
 * wait/many    From a commit here to the news of it, for a watcher of 10,000
 *     sessions, beside a watch of that one session, which reads its head.
 * wait/others  Time on cores in a second in which another process commits to
 *     one of the 10,000 sessions all the time, beside a twentieth of a core.
 * wait/vacuum  The longest that a vacuum holds the writer lock; its first step
 *     copies a WAL of 44 MB.
 * wait/commit  The longest commit of eight processes of four threads each, on
 *     a session each.
 * wait/refused Until 16 threads that may wait for 50 ms are refused, while
 *     somebody else keeps the writer lock; the promise is the time of ten.
 */
#include <perdure/store.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "count_vfs.h"
#include "store_fill.h"

#define HEARD       20
#define HEARD_US    50000.0
#define IDLE_MS     2000u
#define IDLE_US     10000.0 /* one percent */
#define WATCHERS    4
#define VACUUM_US   100000.0
#define VACUUM_WAL  (UINT64_C(44) << 20)
#define PROCESSES   8
#define THREADS     4
#define RACE_MS     3000u
#define COMMIT_US   1000000.0
#define LATE        16
#define LATE_MS     50u
#define LATE_FACTOR 10

/* What processes say to each other. */
struct board {
    _Atomic int64_t committed_ns; /* by the last commit; 0: none yet */
    atomic_uint ready;
    atomic_bool go, stop;
    _Atomic uint64_t longest_ns;
};

static struct board *board;

static void rest_ms(unsigned ms)
{
    struct timespec rest = {ms / 1000, (long)(ms % 1000) * 1000000};

    (void)nanosleep(&rest, NULL);
}

/* Run `work` in a process of its own, which has no handle yet. */
static pid_t start(void (*work)(const struct fill *fill, unsigned number),
                   const struct fill *fill, unsigned number)
{
    pid_t child = fork();

    if (child < 0)
        bench_fail("cannot start a process: %s", strerror(errno));
    if (child > 0)
        return child;
    work(fill, number);
    _exit(0);
}

static void finish(pid_t child)
{
    int status = 0;

    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            bench_fail("cannot wait for a process: %s", strerror(errno));
    if (status != 0)
        bench_fail("a process ended with status %d", status);
}

static void report(const char *name, double value, const char *unit,
                   double promise)
{
    bench_report(&(struct bench_figure){.name = name,
                                        .value = value,
                                        .unit = unit,
                                        .baseline = "promise",
                                        .baseline_value = promise,
                                        .derived = true,
                                        .wanted = 1});
}

static pdr_rc append(pdr_store *store, const char *id, uint64_t revision,
                     uint32_t timeout_ms)
{
    pdr_entry entry = {.body = pdr_str_c("{\"n\":1}")};
    pdr_edit edit = {.ref.id = pdr_str_c(id),
                     .revision = revision,
                     .entries = &entry,
                     .entry_count = 1};
    pdr_commit_options options = {.now_ms = 1, .timeout_ms = timeout_ms};

    return pdr_store_commit(NULL, store, &edit, 1, &options, NULL);
}

/* --- watches ---------------------------------------------------------------
 */

/* With a pause before each that is longer than a poll, so that each is heard
 * alone; the next waits until this one was heard. */
static void tell(const struct fill *fill, unsigned commits)
{
    pdr_store *store = fill_open(fill);

    for (unsigned i = 0; i < commits; i++) {
        rest_ms(30 + 7 * (i % 5));
        if (append(store, "a", i, 0) != PDR_OK)
            _exit(1);
        atomic_store(&board->committed_ns, (int64_t)bench_now_ns());
        while (atomic_load(&board->committed_ns) != 0)
            rest_ms(1);
    }
    pdr_store_close(store);
}

static void measure_heard(const struct fill *fill)
{
    unsigned commits = bench_is_quick() ? 2 : HEARD;
    pid_t child = start(tell, fill, commits);
    pdr_store *store = fill_open(fill);
    pdr_watch *watch = NULL;
    double longest = 0;

    if (pdr_watch_open(&watch, store, NULL, NULL) != PDR_OK)
        bench_fail("the store cannot be watched");
    for (unsigned i = 0; i < commits; i++) {
        int64_t committed = 0;

        if (pdr_watch_wait(watch, 60000, NULL) != PDR_OK)
            bench_fail("commit %u was not heard", i + 1);
        int64_t heard = (int64_t)bench_now_ns();
        while ((committed = atomic_load(&board->committed_ns)) == 0)
            rest_ms(1); /* heard before its writer could note it */
        double us = (double)(heard - committed) / 1e3;
        longest = us > longest ? us : longest;
        atomic_store(&board->committed_ns, 0);
    }
    finish(child);
    pdr_watch_close(watch);
    pdr_store_close(store);
    report("wait/heard", longest, "us", HEARD_US);
}

static void *watch_idly(void *arg)
{
    pdr_watch *watch = NULL;

    if (pdr_watch_open(&watch, arg, NULL, NULL) != PDR_OK ||
        pdr_watch_wait(watch, IDLE_MS, NULL) != PDR_ETIMEOUT)
        bench_fail("the watch was not idle");
    pdr_watch_close(watch);
    return NULL;
}

static void measure_idle(const struct fill *fill)
{
    pdr_store *store = fill_open(fill);
    pthread_t threads[WATCHERS];
    uint64_t core = bench_core_ns();

    for (size_t i = 0; i < WATCHERS; i++)
        if (pthread_create(&threads[i], NULL, watch_idly, store) != 0)
            bench_fail("cannot start a thread");
    for (size_t i = 0; i < WATCHERS; i++)
        pthread_join(threads[i], NULL);
    core = bench_core_ns() - core;
    pdr_store_close(store);
    report("wait/idle", (double)core / 1e3 * 1000 / IDLE_MS, "us/s", IDLE_US);
}

/* --- watchers ---------------------------------------------------------------
 */

#define MANY      10000u
#define HEARINGS  301
#define OTHERS_MS 4000u
#define OTHERS_US 50000.0

static void put_row(pdr_store *store, const char *id)
{
    const pdr_work row = {.due_ms = PDR_NEVER,
                          .kind = pdr_str_c("delta"),
                          .body = pdr_str_c("{\"text\":\"and\"}")};
    const pdr_edit edit = {.ref.id = pdr_str_c(id),
                           .revision = PDR_ANY_REVISION,
                           .stream = &row,
                           .stream_count = 1};
    const pdr_commit_options options = {.now_ms = 1};

    if (pdr_store_commit(NULL, store, &edit, 1, &options, NULL) != PDR_OK)
        bench_fail("a row cannot be written");
}

static size_t hear_all(pdr_watcher *watcher, uint32_t timeout_ms)
{
    static pdr_news news[256];
    size_t count = 0, told = 0;

    while (pdr_watcher_wait(news, 256, &count, watcher, timeout_ms, NULL) ==
           PDR_OK)
        told += count;
    return told;
}

static unsigned how_many(void)
{
    return bench_is_quick() ? 100 : MANY;
}

static void put_many(pdr_store *store)
{
    const pdr_commit_options options = {.now_ms = 1};
    static char ids[100][24];
    static pdr_edit edits[100];

    for (unsigned i = 0; i < how_many(); i++) {
        unsigned at = i % 100;

        snprintf(ids[at], sizeof(ids[at]), "w%u", i);
        edits[at] = (pdr_edit){.ref.id = pdr_str_c(ids[at]),
                               .set_state = true,
                               .state = i == 7 ? PDR_SESSION_RUNNING
                                               : PDR_SESSION_IDLE};
        if (at == 99 &&
            pdr_store_commit(NULL, store, edits, 100, &options, NULL) != PDR_OK)
            bench_fail("sessions cannot be written");
    }
}

static pdr_watcher *watch_many(pdr_store *store)
{
    pdr_watcher *watcher = NULL;

    if (pdr_watcher_open(&watcher, store, NULL) != PDR_OK)
        bench_fail("the store cannot be watched");
    for (unsigned i = 0; i < how_many(); i++) {
        char id[24];
        const pdr_ref ref = {
            .id = pdr_str_n(id, (size_t)snprintf(id, sizeof(id), "w%u", i))};

        if (pdr_watcher_add(watcher, &ref, NULL, i, NULL) != PDR_OK)
            bench_fail("%s cannot be watched", id);
    }
    if (hear_all(watcher, 0) < how_many())
        bench_fail("a session was not told");
    return watcher;
}

static int order_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void measure_many(const struct fill *fill)
{
    static double many_us[HEARINGS], one_us[HEARINGS];
    size_t hearings = bench_is_quick() ? 5 : HEARINGS, count = 0;
    pdr_store *store = fill_open(fill);
    put_many(store);
    pdr_watcher *watcher = watch_many(store);
    const pdr_ref ref = {.id = pdr_str_c("w7")};
    pdr_watch *watch = NULL;
    pdr_news news;

    if (pdr_watch_open(&watch, store, &ref, NULL) != PDR_OK)
        bench_fail("a session cannot be watched");
    for (size_t i = 0; i < hearings; i++) {
        put_row(store, "w7");
        uint64_t began = bench_now_ns();
        if (pdr_watch_wait(watch, 0, NULL) != PDR_OK)
            bench_fail("a commit was not told");
        uint64_t then = bench_now_ns();
        if (pdr_watcher_wait(&news, 1, &count, watcher, 0, NULL) != PDR_OK)
            bench_fail("a commit was not told to a watcher");
        many_us[i] = (double)(bench_now_ns() - then) / 1e3;
        one_us[i] = (double)(then - began) / 1e3;
    }
    pdr_watch_close(watch);
    pdr_watcher_close(watcher);
    pdr_store_close(store);
    qsort(many_us, hearings, sizeof(double), order_doubles);
    qsort(one_us, hearings, sizeof(double), order_doubles);
    bench_report(
        &(struct bench_figure){.name = "wait/many",
                               .value = bench_median(many_us, hearings),
                               .unit = "us",
                               .baseline = "one watch",
                               .baseline_value = bench_median(one_us, hearings),
                               .wanted = 1});
}

static void put_rows(const struct fill *fill, unsigned number)
{
    pdr_store *store = fill_open(fill);

    (void)number;
    put_many(store);
    atomic_store(&board->ready, 1);
    while (!atomic_load(&board->stop))
        put_row(store, "w7");
    pdr_store_close(store);
}

static void measure_others(const struct fill *fill)
{
    uint32_t wait_ms = bench_is_quick() ? 100 : OTHERS_MS;
    pid_t child = start(put_rows, fill, 0);
    while (atomic_load(&board->ready) == 0)
        rest_ms(1);
    pdr_store *store = fill_open(fill);
    pdr_watcher *watcher = watch_many(store);
    size_t told = 0, count = 0;
    pdr_news news;

    uint64_t core = bench_core_ns(),
             end = bench_now_ns() + wait_ms * 1000000ull;
    while (bench_now_ns() < end)
        told += pdr_watcher_wait(&news, 1, &count, watcher, wait_ms, NULL) ==
                PDR_OK;
    core = bench_core_ns() - core;
    atomic_store(&board->stop, true);
    finish(child);
    atomic_store(&board->stop, false);
    atomic_store(&board->ready, 0);
    pdr_watcher_close(watcher);
    pdr_store_close(store);
    bench_note_number("news", (double)told);
    report("wait/others", (double)core / 1e3 * 1000 / wait_ms, "us/s",
           OTHERS_US);
}

/* --- vacuum ----------------------------------------------------------------
 */

#define BATCH 50u
#define BODY  3000u

/* Ten entries in each of the sessions `from` to `from` + BATCH. */
static void put_sessions(pdr_store *store, size_t from)
{
    static char body[BODY + 1], ids[BATCH][24];
    static pdr_entry entries[10];
    static pdr_edit edits[BATCH];
    pdr_commit_options options = {.now_ms = 1};

    memset(body, 'x', BODY);
    body[0] = body[BODY - 1] = '"';
    for (size_t i = 0; i < 10; i++)
        entries[i] = (pdr_entry){.body = pdr_str_n(body, BODY)};
    for (size_t i = 0; i < BATCH; i++) {
        snprintf(ids[i], sizeof(ids[i]), "s%zu", from + i);
        edits[i] = (pdr_edit){
            .ref.id = pdr_str_c(ids[i]), .entries = entries, .entry_count = 10};
    }
    if (pdr_store_commit(NULL, store, edits, BATCH, &options, NULL) != PDR_OK)
        bench_fail("sessions cannot be written");
}

static void measure_vacuum(const struct fill *fill)
{
    pdr_commit_options options = {.now_ms = 2};
    size_t count = bench_is_quick() ? 2 * BATCH : 20 * BATCH;
    pdr_store_info info = {.log_bytes = 0};
    pdr_vacuum_report vacuum;
    pdr_store *store = fill_open(fill);

    for (size_t i = 0; i < count; i += BATCH)
        put_sessions(store, i);
    pdr_store_close(store); /* all of it is in the main file now */
    store = fill_open(fill);
    for (size_t i = 0; i < count; i += 2) {
        char id[24];
        pdr_edit edit = {.revision = 1, .remove = true};

        snprintf(id, sizeof(id), "s%zu", i);
        edit.ref.id = pdr_str_c(id);
        if (pdr_store_commit(NULL, store, &edit, 1, &options, NULL) != PDR_OK)
            bench_fail("%s cannot be removed", id);
    }
    while (!bench_is_quick() && info.log_bytes < VACUUM_WAL) {
        put_sessions(store, count);
        count += BATCH;
        if (pdr_store_info_get(&info, store, NULL) != PDR_OK)
            bench_fail("the store has no figures");
    }
    if (pdr_store_vacuum(&vacuum, store, NULL, NULL, NULL) != PDR_OK)
        bench_fail("the store cannot be vacuumed");
    pdr_store_close(store);
    bench_note_number("wal_bytes", (double)info.log_bytes);
    bench_note_number("vacuum_steps", (double)vacuum.steps);
    report("wait/vacuum", (double)vacuum.longest_us, "us", VACUUM_US);
}

/* --- many processes --------------------------------------------------------
 */

struct racer {
    pthread_t thread;
    pdr_store *store;
    unsigned number;
    uint64_t commits, longest_ns;
};

static void *race_on(void *arg)
{
    struct racer *racer = arg;
    char id[24];

    snprintf(id, sizeof(id), "r%u", racer->number);
    atomic_fetch_add(&board->ready, 1);
    while (!atomic_load(&board->go))
        rest_ms(1);
    while (!atomic_load(&board->stop)) {
        uint64_t began = bench_now_ns();

        if (append(racer->store, id, racer->commits, 60000) != PDR_OK)
            _exit(1);
        uint64_t took = bench_now_ns() - began;
        racer->commits++;
        racer->longest_ns = took > racer->longest_ns ? took : racer->longest_ns;
    }
    return NULL;
}

static void race(const struct fill *fill, unsigned process)
{
    struct racer racers[THREADS] = {{.commits = 0}};
    pdr_store *store = fill_open(fill);

    for (unsigned i = 0; i < THREADS; i++) {
        racers[i].store = store;
        racers[i].number = process * THREADS + i;
        if (pthread_create(&racers[i].thread, NULL, race_on, &racers[i]) != 0)
            _exit(1);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        uint64_t longest = atomic_load(&board->longest_ns);

        pthread_join(racers[i].thread, NULL);
        while (racers[i].longest_ns > longest &&
               !atomic_compare_exchange_weak(&board->longest_ns, &longest,
                                             racers[i].longest_ns))
            continue;
    }
    pdr_store_close(store);
}

static void measure_race(const struct fill *fill)
{
    pid_t children[PROCESSES];

    for (unsigned i = 0; i < PROCESSES; i++)
        children[i] = start(race, fill, i);
    while (atomic_load(&board->ready) < PROCESSES * THREADS)
        rest_ms(1);
    atomic_store(&board->go, true);
    rest_ms(bench_is_quick() ? 100 : RACE_MS);
    atomic_store(&board->stop, true);
    for (unsigned i = 0; i < PROCESSES; i++)
        finish(children[i]);
    report("wait/commit", (double)atomic_load(&board->longest_ns) / 1e3, "us",
           COMMIT_US);
}

/* --- refused in time -------------------------------------------------------
 */

static void *be_late(void *arg)
{
    if (append(arg, "late", 0, LATE_MS) != PDR_EBUSY)
        bench_fail("a commit was not refused, though the lock is held");
    return NULL;
}

static void measure_refused(const struct fill *fill)
{
    char path[sizeof(fill->path) + 8];
    pdr_store *store = fill_open(fill);
    pthread_t threads[LATE];

    snprintf(path, sizeof(path), "%s-lock", fill->path);
    FILE *lock = fopen(path, "r+");
    if (lock == NULL || flock(fileno(lock), LOCK_EX) != 0)
        bench_fail("%s cannot be locked", path);
    uint64_t began = bench_now_ns();
    for (size_t i = 0; i < LATE; i++)
        if (pthread_create(&threads[i], NULL, be_late, store) != 0)
            bench_fail("cannot start a thread");
    for (size_t i = 0; i < LATE; i++)
        pthread_join(threads[i], NULL);
    double took = (double)(bench_now_ns() - began) / 1e3;
    fclose(lock);
    pdr_store_close(store);
    report("wait/refused", took, "us", LATE_MS * LATE_FACTOR * 1e3);
}

int main(int argc, char **argv)
{
    static void (*const cases[])(const struct fill *fill) = {
        measure_heard,  measure_idle, measure_many,   measure_others,
        measure_vacuum, measure_race, measure_refused};

    bench_start_threads(argc, argv, "store");
    count_vfs_register();
    board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED)
        bench_fail("no memory to share");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fill fill;

        fill_place(&fill, "store-wait.db", 1);
        cases[i](&fill);
        fill_remove(&fill);
    }
    return 0;
}
