/* store_race.c - processes and threads that write to one store at once. */
#include "store_race.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "processes.h"
#include "room.h"
#include "store_view.h"
#include "store_writer.h"

#define MAX_FENCES 20000 /* of one process */
#define MAX_RACERS (RACE_MAX_PROCESSES * RACE_MAX_THREADS)
#define LEASE_MS   15

/* What one process was told. */
struct lane {
    atomic_uint_fast64_t acknowledged, conflicts, busy, fenced;
    atomic_int_fast64_t longest_us;
    atomic_size_t fence_count;
    uint64_t fences[MAX_FENCES]; /* written by its one thread */
};

/* Shared by all. */
struct board {
    atomic_uint ready;
    atomic_bool go, stop;
    struct lane lanes[RACE_MAX_PROCESSES];
    atomic_uint told[MAX_RACERS]; /* rows of each that were acknowledged: the
                                     first so many */
};

struct race {
    const struct race_plan *plan;
    struct room room;
    struct board *board;
};

static struct board *open_board(const char *folder)
{
    char path[WRITER_PATH];
    void *memory = MAP_FAILED;
    int fd = -1;

    snprintf(path, sizeof(path), "%s/board", folder);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0 && ftruncate(fd, sizeof(struct board)) == 0)
        memory = mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE,
                      MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    return memory != MAP_FAILED ? memory : NULL;
}

/* --- in the child ------------------------------------------------------------
 */

struct racer {
    struct board *board;
    struct lane *lane;
    pdr_store *store;
    unsigned number; /* from 1, over all processes */
    unsigned sessions;
    uint64_t random;
    unsigned n; /* of its last row */
};

static void give_up(const struct racer *racer, const char *what,
                    const pdr_err *err)
{
    fprintf(stderr, "racer %u: %s: %s (%s)\n", racer->number, what,
            err->message, err->reason);
    _exit(4);
}

/* Commit, and note how long it took. */
static pdr_rc commit(struct racer *racer, pdr_committed *told,
                     const pdr_edit *edit, pdr_err *err)
{
    pdr_commit_options options = {.now_ms = wall_ms()};
    int64_t begin = monotonic_us();
    pdr_rc rc = pdr_store_commit(told, racer->store, edit, 1, &options, err);
    int64_t took = monotonic_us() - begin;
    int_fast64_t longest = atomic_load(&racer->lane->longest_us);

    while (took > longest && !atomic_compare_exchange_weak(
                                 &racer->lane->longest_us, &longest, took))
        continue;
    return rc;
}

static void acknowledge(struct racer *racer)
{
    racer->n++;
    atomic_store(&racer->board->told[racer->number - 1], racer->n);
    atomic_fetch_add(&racer->lane->acknowledged, 1);
}

/* Revision, epoch and last entry of a session that is there. */
static void look(struct racer *racer, pdr_edit *edit, struct note *last)
{
    pdr_query query = {.what = PDR_READ_ENTRIES, .ref = edit->ref, .limit = 1};
    pdr_err err = PDR_ERR_INIT;
    pdr_page *page = NULL;

    query.backwards = true;
    if (pdr_store_read(&page, racer->store, &query, &err) != PDR_OK)
        give_up(racer, "cannot read", &err);
    edit->revision = page->head.revision;
    edit->epoch = page->head.epoch;
    memset(last, 0, sizeof(*last));
    if (page->count > 0 && !note_read(last, page->entries[0].body))
        give_up(racer, "an entry is not as it was written", &err);
    pdr_page_free(page);
}

static void append(struct racer *racer)
{
    char id[DEED_TEXT], text[NOTE_TEXT + 500];
    pdr_edit edit = {.entry_count = 1};
    pdr_entry entry = {.kind = PDR_ROW_MESSAGE};
    struct note last, note = {.id = deed_id_of(racer->number, racer->n + 1)};
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_ECONFLICT;

    session_name(id, random_below(&racer->random, racer->sessions));
    edit.ref.id = pdr_str_c(id);
    edit.entries = &entry;
    while (rc == PDR_ECONFLICT && !atomic_load(&racer->board->stop)) {
        look(racer, &edit, &last);
        note.after = last.id;
        entry.body = pdr_str_n(text, note_write(text, &note, 400));
        rc = commit(racer, NULL, &edit, &err);
        if (rc == PDR_ECONFLICT)
            atomic_fetch_add(&racer->lane->conflicts, 1);
    }
    if (rc == PDR_ECONFLICT)
        return;
    if (rc != PDR_OK)
        give_up(racer, "cannot append", &err);
    acknowledge(racer);
}

/* One row of the journal. False if the lease is lost. */
static bool step(struct racer *racer, uint64_t fence)
{
    char text[NOTE_TEXT];
    pdr_edit edit = {.revision = PDR_ANY_REVISION, .lease.fence = fence};
    pdr_work row = {.due_ms = PDR_NEVER};
    struct note note = {.id = deed_id_of(racer->number, racer->n + 1),
                        .fence = fence};
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    edit.ref.id = pdr_str_c("s0");
    edit.journal = &row;
    edit.journal_count = 1;
    row.kind = pdr_str_c("step");
    row.body = pdr_str_n(text, note_write(text, &note, 0));
    rc = commit(racer, NULL, &edit, &err);
    if (rc == PDR_EFENCED) {
        atomic_fetch_add(&racer->lane->fenced, 1);
        return false;
    }
    if (rc != PDR_OK)
        give_up(racer, "cannot add a step", &err);
    acknowledge(racer);
    return true;
}

/* Take, renew or release; 0 if it was refused. */
static uint64_t lease(struct racer *racer, pdr_lease_verb verb, uint64_t fence)
{
    char owner[DEED_TEXT];
    pdr_edit edit = {.revision = PDR_ANY_REVISION, .lease.fence = fence};
    pdr_committed told = {0};
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    edit.ref.id = pdr_str_c("s0");
    edit.lease.verb = verb;
    if (verb == PDR_LEASE_TAKE)
        edit.lease.owner =
            pdr_str_c(deed_text(owner, deed_id_of(racer->number, 0)));
    if (verb != PDR_LEASE_RELEASE)
        edit.lease.until_ms = wall_ms() + LEASE_MS;
    rc = commit(racer, &told, &edit, &err);
    if (rc == PDR_EBUSY && strcmp(err.reason, "lease_held") == 0)
        atomic_fetch_add(&racer->lane->busy, 1);
    else if (rc == PDR_EFENCED)
        atomic_fetch_add(&racer->lane->fenced, 1);
    else if (rc != PDR_OK)
        give_up(racer, "cannot have the lease", &err);
    return rc == PDR_OK ? told.fence : 0;
}

/* Hold the lease for some rows; now and then sleep until it has lapsed. */
static void hold(struct racer *racer)
{
    uint64_t fence = lease(racer, PDR_LEASE_TAKE, 0);
    size_t count = atomic_load(&racer->lane->fence_count);
    bool is_held = fence != 0;

    if (!is_held) {
        sleep_us(1000 + random_below(&racer->random, 4000));
        return;
    }
    if (count < MAX_FENCES) {
        racer->lane->fences[count] = fence;
        atomic_store(&racer->lane->fence_count, count + 1);
    }
    for (unsigned i = random_below(&racer->random, 4); is_held && i > 0; i--) {
        if (random_below(&racer->random, 4) == 0)
            sleep_us(1000 * LEASE_MS + random_below(&racer->random, 20000));
        is_held = step(racer, fence);
        if (is_held && random_below(&racer->random, 4) == 0)
            is_held = lease(racer, PDR_LEASE_RENEW, fence) != 0;
    }
    if (is_held && random_below(&racer->random, 3) > 0)
        (void)lease(racer, PDR_LEASE_RELEASE, fence);
}

static void wait_for_go(struct board *board)
{
    atomic_fetch_add(&board->ready, 1);
    while (!atomic_load(&board->go))
        sleep_us(500);
}

static void *append_on(void *arg)
{
    struct racer *racer = arg;

    wait_for_go(racer->board);
    while (!atomic_load(&racer->board->stop))
        append(racer);
    return NULL;
}

static void *hold_on(void *arg)
{
    struct racer *racer = arg;

    wait_for_go(racer->board);
    while (!atomic_load(&racer->board->stop))
        hold(racer);
    return NULL;
}

/* FOLDER PROCESS THREADS SESSIONS SEED */
static int run(char **argv, void *(*fn)(void *))
{
    static struct racer racers[RACE_MAX_THREADS];
    pthread_t threads[RACE_MAX_THREADS];
    unsigned process = (unsigned)strtoul(argv[1], NULL, 10);
    unsigned count = (unsigned)strtoul(argv[2], NULL, 10);
    struct board *board = open_board(argv[0]);
    pdr_err err = PDR_ERR_INIT;
    pdr_store *store = NULL;
    char uri[WRITER_PATH];

    if (board == NULL || process >= RACE_MAX_PROCESSES ||
        count > RACE_MAX_THREADS)
        return 3;
    if (pdr_store_open(&store, writer_uri(uri, argv[0], ""), &err) != PDR_OK) {
        fprintf(stderr, "cannot open the store: %s\n", err.message);
        return 3;
    }
    for (unsigned i = 0; i < count; i++) {
        racers[i].board = board;
        racers[i].lane = &board->lanes[process];
        racers[i].store = store;
        racers[i].number = process * RACE_MAX_THREADS + i + 1;
        racers[i].sessions = (unsigned)strtoul(argv[3], NULL, 10);
        racers[i].random = strtoull(argv[4], NULL, 10) + racers[i].number;
        if (pthread_create(&threads[i], NULL, fn, &racers[i]) != 0)
            return 3;
    }
    for (unsigned i = 0; i < count; i++)
        (void)pthread_join(threads[i], NULL);
    pdr_store_close(store);
    return 0;
}

TEST_ROLE(store_appender)
{
    return argc == 5 ? run(argv, append_on) : 2;
}

TEST_ROLE(store_holder)
{
    return argc == 5 ? run(argv, hold_on) : 2;
}

/* --- starting and ending
 * ------------------------------------------------------- */

/* Empty sessions, so that nobody has to make one. */
static void make_sessions(const struct race *race)
{
    pdr_commit_options options = {.now_ms = wall_ms()};
    pdr_store *store = NULL;
    char uri[WRITER_PATH], id[DEED_TEXT];

    ASSERT_RC(PDR_OK, pdr_store_open(
                          &store, writer_uri(uri, race->room.path, ""), NULL));
    for (unsigned i = 0; i < race->plan->sessions; i++) {
        pdr_edit edit = {0};
        edit.ref.id = pdr_str_c(session_name(id, i));
        ASSERT_RC(PDR_OK,
                  pdr_store_commit(NULL, store, &edit, 1, &options, NULL));
    }
    pdr_store_close(store);
}

static pid_t start(const struct race *race, const char *role, unsigned process)
{
    const struct race_plan *plan = race->plan;
    char numbers[4][24];
    const char *args[] = {race->room.path, numbers[0], numbers[1],
                          numbers[2],      numbers[3], NULL};

    snprintf(numbers[0], sizeof(numbers[0]), "%u", process);
    snprintf(numbers[1], sizeof(numbers[1]), "%u", plan->threads);
    snprintf(numbers[2], sizeof(numbers[2]), "%u", plan->sessions);
    snprintf(numbers[3], sizeof(numbers[3]), "%" PRIu64, plan->seed * 1000);
    return process_start(role, args);
}

/* All at once; waits until they have ended. */
static void run_all(struct race_result *out, const struct race *race,
                    const char *role)
{
    const struct race_plan *plan = race->plan;
    struct board *board = race->board;
    pid_t crew[RACE_MAX_PROCESSES];
    int64_t patience = monotonic_us() + 20 * 1000000;

    for (unsigned i = 0; i < plan->processes; i++)
        crew[i] = start(race, role, i);
    while (atomic_load(&board->ready) < plan->processes * plan->threads &&
           monotonic_us() < patience)
        sleep_us(1000);
    atomic_store(&board->go, true);
    sleep_us((int64_t)plan->run_ms * 1000);
    atomic_store(&board->stop, true);
    for (unsigned i = 0; i < plan->processes; i++)
        out->failures += process_end(crew[i], true) != PROCESS_DONE;
}

static void sum_lanes(struct race_result *out, const struct race *race)
{
    unsigned count = race->plan->processes;

    out->slowest = SIZE_MAX;
    for (unsigned i = 0; i < count; i++) {
        struct lane *lane = &race->board->lanes[i];
        size_t got = atomic_load(&lane->acknowledged);
        out->acknowledged += got;
        out->conflicts += atomic_load(&lane->conflicts);
        out->busy += atomic_load(&lane->busy);
        out->fenced += atomic_load(&lane->fenced);
        out->taken += atomic_load(&lane->fence_count);
        if (got < out->slowest)
            out->slowest = got;
        if (atomic_load(&lane->longest_us) > out->longest_us)
            out->longest_us = atomic_load(&lane->longest_us);
    }
    out->fair = out->acknowledged / count;
}

/* --- what is there
 * -------------------------------------------------------------- */

struct count {
    struct race_result *out;
    const struct race *race;
    struct note last;
    unsigned char *seen[MAX_RACERS]; /* owned: how often each row was met; row
                                        n of a racer is seen[racer][n - 1] */
};

static unsigned told_to(const struct race *race, unsigned racer)
{
    return atomic_load(&race->board->told[racer]);
}

static void count_begin(struct count *count)
{
    for (unsigned i = 0; i < MAX_RACERS; i++) {
        count->seen[i] = calloc((size_t)told_to(count->race, i) + 1, 1);
        ASSERT(count->seen[i] != NULL);
    }
}

/* What was acknowledged is there, and once. */
static void count_end(struct count *count)
{
    for (unsigned i = 0; i < MAX_RACERS; i++) {
        for (unsigned k = 0; k < told_to(count->race, i); k++)
            count->out->lost += count->seen[i][k] == 0;
        free(count->seen[i]);
    }
}

/* Whose row it is. False if it is none that somebody was told of. */
static bool count_row(struct count *count, struct note *note, pdr_str body)
{
    unsigned racer = 0, n = 0;

    count->out->stored++;
    if (!note_read(note, body) || deed_writer(note->id) - 1 >= MAX_RACERS) {
        count->out->wrong++;
        return false;
    }
    racer = deed_writer(note->id) - 1;
    n = deed_n(note->id);
    if (n == 0 || n > told_to(count->race, racer))
        count->out->wrong++;
    else if (count->seen[racer][n - 1] > 0)
        count->out->doubled++;
    else
        count->seen[racer][n - 1] = 1;
    return true;
}

/* Each entry stands behind what its writer saw. */
static void count_entry(struct count *count, const pdr_entry *entry)
{
    struct note note;

    if (!count_row(count, &note, entry->body))
        return;
    count->out->forked += note.after != count->last.id;
    count->last = note;
}

static bool held_by(const struct race *race, unsigned process, uint64_t fence)
{
    struct lane *lane = &race->board->lanes[process];
    size_t count = atomic_load(&lane->fence_count);

    for (size_t i = 0; i < count; i++)
        if (lane->fences[i] == fence)
            return true;
    return false;
}

/* Each row was written by who held its fence, and fences never go back. */
static void count_step(struct count *count, const pdr_work *row)
{
    unsigned process = 0;
    struct note note;

    if (!count_row(count, &note, row->body))
        return;
    process = (deed_writer(note.id) - 1) / RACE_MAX_THREADS;
    count->out->forked += note.fence < count->last.fence ||
                          !held_by(count->race, process, note.fence);
    count->last = note;
}

static void count_session(struct count *count, pdr_store *store,
                          unsigned session, pdr_read_what what)
{
    char id[DEED_TEXT], cursor[1024];
    pdr_query query = {.what = what, .limit = 200};

    memset(&count->last, 0, sizeof(count->last));
    query.ref.id = pdr_str_c(session_name(id, session));
    do {
        pdr_page *page = NULL;
        ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
        for (size_t i = 0; i < page->count; i++) {
            if (what == PDR_READ_ENTRIES)
                count_entry(count, &page->entries[i]);
            else
                count_step(count, &page->work[i]);
        }
        query.after = pdr_str_n(NULL, 0);
        if (page->next.ptr != NULL) {
            ASSERT(page->next.len <= sizeof(cursor));
            memcpy(cursor, page->next.ptr, page->next.len);
            query.after = pdr_str_n(cursor, page->next.len);
        }
        pdr_page_free(page);
    } while (query.after.ptr != NULL);
}

static void count_store(struct race_result *out, const struct race *race,
                        pdr_read_what what)
{
    struct count count = {.out = out, .race = race};
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    char uri[WRITER_PATH];

    ASSERT_RC(PDR_OK, pdr_store_open(
                          &store, writer_uri(uri, race->room.path, ""), NULL));
    count_begin(&count);
    for (unsigned i = 0; i < race->plan->sessions; i++)
        count_session(&count, store, i, what);
    count_end(&count);
    if (pdr_store_verify(NULL, store, NULL, &err, NULL, NULL) != PDR_OK) {
        fprintf(stderr, "verify: %s\n", err.message);
        out->wrong++;
    }
    pdr_store_close(store);
}

/* A fence has one holder, and grows from one to the next. */
static void check_fences(struct race_result *out, const struct race *race)
{
    for (unsigned i = 0; i < race->plan->processes; i++) {
        struct lane *lane = &race->board->lanes[i];
        size_t count = atomic_load(&lane->fence_count);
        for (size_t k = 0; k < count; k++) {
            out->forked += k > 0 && lane->fences[k] <= lane->fences[k - 1];
            for (unsigned other = i + 1; other < race->plan->processes; other++)
                out->forked += held_by(race, other, lane->fences[k]);
        }
    }
}

static void race_begin(struct race *race, struct race_result *out,
                       const struct race_plan *plan)
{
    ASSERT(plan->processes <= RACE_MAX_PROCESSES &&
           plan->threads <= RACE_MAX_THREADS &&
           plan->sessions <= RACE_MAX_SESSIONS);
    memset(out, 0, sizeof(*out));
    race->plan = plan;
    room_enter(&race->room);
    race->board = open_board(race->room.path);
    ASSERT(race->board != NULL);
    make_sessions(race);
}

static void race_end(struct race *race)
{
    ASSERT_INT(0, munmap(race->board, sizeof(*race->board)));
    room_leave(&race->room);
}

void store_race_append(struct race_result *out, const struct race_plan *plan)
{
    struct race race;

    race_begin(&race, out, plan);
    run_all(out, &race, "store_appender");
    sum_lanes(out, &race);
    count_store(out, &race, PDR_READ_ENTRIES);
    race_end(&race);
}

void store_race_lease(struct race_result *out, const struct race_plan *plan)
{
    struct race race;

    race_begin(&race, out, plan);
    run_all(out, &race, "store_holder");
    sum_lanes(out, &race);
    count_store(out, &race, PDR_READ_JOURNAL);
    check_fences(out, &race);
    race_end(&race);
}

size_t race_mistakes(const struct race_result *result)
{
    return result->lost + result->doubled + result->forked + result->wrong;
}

void race_result_print(const char *name, const struct race_result *r)
{
    printf(
        "%s: %zu acknowledged, %zu stored, %zu lost, %zu doubled, %zu forked, "
        "%zu wrong, %zu conflicts, %zu leases taken, %zu held by others, "
        "%zu fenced off\n",
        name, r->acknowledged, r->stored, r->lost, r->doubled, r->forked,
        r->wrong, r->conflicts, r->taken, r->busy, r->fenced);
    printf("%s: the slowest process got %zu of a fair share of %zu, the "
           "longest commit took %.1f ms, %zu failed\n",
           name, r->slowest, r->fair, (double)r->longest_us / 1000,
           r->failures);
}
