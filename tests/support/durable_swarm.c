/* durable_swarm.c - see durable_swarm.h. */
#include "durable_swarm.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "durable_actor.h"
#include "processes.h"
#include "room.h"

#define WORKERS  3
#define THREADS  4
#define LEASE_MS 400
#define POLL_MS  30
#define TOOL_US  100000
#define WINDOW                                                               \
    16                   /* sessions that have work at once: a run of a dead \
                            worker waits behind them */
#define LOOK_US     2000 /* between two looks at what others do */
#define STOPPED_MS  1500 /* a stopped process may hold the lock of the store */
#define LONGEST_S   180  /* then a process has hung */
#define CLIENT_EACH 7    /* so many disturbances are one of the client */
#define MAX_LIVES   64   /* processes that were a worker, one after the other */

#define UNKNOWN "The outcome of this call is unknown"

static const char *const texts[] = {"look book", "book/look", "-", "look/book"};

/* What a worker says of itself, in a file that both sides have in memory: so a
 * kill loses next to nothing. */
struct status {
    uint64_t at_work; /* now */
    uint64_t taken_over, ended, lost, fenced;
};

static struct status *status_map(const char *folder, const char *name)
{
    char path[600];
    int file = -1;
    void *out = MAP_FAILED;

    (void)snprintf(path, sizeof(path), "%s/status.%s", folder, name);
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file >= 0 && ftruncate(file, sizeof(struct status)) == 0)
        out = mmap(NULL, sizeof(struct status), PROT_READ | PROT_WRITE,
                   MAP_SHARED, file, 0);
    if (file >= 0)
        (void)close(file);
    return out != MAP_FAILED ? out : NULL;
}

static uint64_t peek(const uint64_t *number)
{
    return __atomic_load_n(number, __ATOMIC_SEQ_CST);
}

static void poke(uint64_t *number, uint64_t value)
{
    __atomic_store_n(number, value, __ATOMIC_SEQ_CST);
}

/* --- a worker --------------------------------------------------------------
 */

static void status_write(struct status *status, pdr_engine *engine)
{
    pdr_engine_counts counts;

    pdr_engine_counts_get(&counts, engine);
    poke(&status->at_work, counts.at_work);
    poke(&status->taken_over, counts.taken_over);
    poke(&status->ended, counts.completed + counts.failed);
    poke(&status->lost, counts.lost);
    poke(&status->fenced, point_fenced());
}

/* May the tool `wait` end? Four renewals take longer than a lease; one that
 * takes it over does not wait. */
static bool is_renewed(struct actor *actor)
{
    return strcmp(actor->opts.part, "holder") != 0 ||
           point_count(POINT_RENEWAL) >= 4;
}

/* worker FOLDER NAME LEASE POLL: until there is a file "stop". */
TEST_ROLE(worker)
{
    static struct actor actor;
    struct actor_opts opts = {.workers = THREADS,
                              .max_attempts = 1000, /* nobody gives up */
                              .tool_us = TOOL_US,
                              .goes_on = is_renewed};
    struct status *status = NULL;
    pdr_err err = PDR_ERR_INIT;
    char path[600];
    bool good = false;

    if (argc != 4)
        return 2;
    opts.folder = argv[0];
    opts.part = argv[1];
    opts.lease_ms = (uint32_t)strtoul(argv[2], NULL, 10);
    opts.poll_ms = (uint32_t)strtoul(argv[3], NULL, 10);
    (void)alarm(LONGEST_S);
    (void)snprintf(path, sizeof(path), "%s/stop", argv[0]);
    status = status_map(argv[0], argv[1]);
    good = status != NULL && actor_begin(&actor, &opts);
    while (good && access(path, F_OK) != 0) {
        status_write(status, actor.engine);
        sleep_us(LOOK_US);
        good = pdr_engine_check(actor.engine, &err) == PDR_OK;
    }
    if (good)
        good = pdr_engine_stop(actor.engine, PDR_STOP_FINISH, ACTOR_WAIT_MS,
                               &err) == PDR_OK;
    if (!good)
        fprintf(stderr, "worker %s: %s\n", argv[1], err.message);
    if (actor.engine != NULL)
        status_write(status, actor.engine);
    actor_end(&actor);
    return good ? 0 : 1;
}

/* --- who sends -------------------------------------------------------------
 */

static const char *only_text; /* of all operations; NULL: there are several */

/* The operation `k` of session `s`. */
struct sent {
    char key[16], id[32];
    const char *text;
};

static struct sent sent_of(unsigned s, unsigned k)
{
    struct sent out = {.text = texts[(s + k) % 4]};

    if (only_text != NULL)
        out.text = only_text;

    (void)snprintf(out.key, sizeof(out.key), "s%u", s);
    (void)snprintf(out.id, sizeof(out.id), "s%u-%u", s, k);
    return out;
}

static bool send_one(struct actor *actor, unsigned s, unsigned k)
{
    struct sent sent = sent_of(s, k);
    struct actor_room room;
    pdr_operation operation =
        actor_operation(&room, sent.key, sent.id, sent.text);
    pdr_err err = PDR_ERR_INIT;

    if (pdr_engine_send(NULL, actor->engine, &operation, &err) == PDR_OK)
        return true;
    fprintf(stderr, "send %s: %s\n", sent.id, err.message);
    return false;
}

static bool await_one(struct actor *actor, unsigned s, unsigned k)
{
    struct sent sent = sent_of(s, k);
    struct actor_room room;
    pdr_operation operation =
        actor_operation(&room, sent.key, sent.id, sent.text);
    pdr_ending *ending = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_engine_wait(&ending, actor->engine, &operation.session,
                        operation.correlation_id, ACTOR_WAIT_MS,
                        &err) != PDR_OK) {
        fprintf(stderr, "wait %s: %s\n", sent.id, err.message);
        return false;
    }
    pdr_ending_free(ending);
    return true;
}

/* client FOLDER SESSIONS OPERATIONS [TEXT]: sends all of them, for some
 * sessions at once, and waits for all. One that takes the place of another one
 * sends them again. */
TEST_ROLE(client)
{
    static struct actor actor;
    struct actor_opts opts = {.part = "client", .is_client = true};
    unsigned sessions = 0, operations = 0;
    bool good = false;

    if (argc != 3 && argc != 4)
        return 2;
    only_text = argc == 4 ? argv[3] : NULL;
    opts.folder = argv[0];
    sessions = (unsigned)strtoul(argv[1], NULL, 10);
    operations = (unsigned)strtoul(argv[2], NULL, 10);
    (void)alarm(LONGEST_S);
    good = actor_begin(&actor, &opts);
    for (unsigned s = 0; good && s < sessions + WINDOW; s++) {
        for (unsigned k = 0; good && s < sessions && k < operations; k++)
            good = send_one(&actor, s, k);
        for (unsigned k = 0; good && s >= WINDOW && k < operations; k++)
            good = await_one(&actor, s - WINDOW, k);
    }
    actor_end(&actor);
    return good ? 0 : 1;
}

/* --- all of them -----------------------------------------------------------
 */

struct life {
    pid_t process;
    struct status *status;
};

struct swarm {
    const struct swarm_plan *plan;
    struct swarm_result *out;
    struct room room;
    struct life lives[MAX_LIVES]; /* of workers; the last ones live */
    size_t life_count;
    size_t workers[WORKERS]; /* which life each of them has now */
    pid_t client;
    enum process_end client_end;
    uint64_t random;
};

static size_t life_begin(struct swarm *w, const char *name, uint32_t lease_ms,
                         uint32_t poll_ms)
{
    char numbers[2][16];
    const char *const args[] = {w->room.path, name, numbers[0], numbers[1],
                                NULL};
    struct life *life = &w->lives[w->life_count];

    ASSERT(w->life_count < MAX_LIVES);
    (void)snprintf(numbers[0], sizeof(numbers[0]), "%u", lease_ms);
    (void)snprintf(numbers[1], sizeof(numbers[1]), "%u", poll_ms);
    life->status = status_map(w->room.path, name);
    ASSERT(life->status != NULL);
    life->process = process_start("worker", args);
    return w->life_count++;
}

static void worker_begin(struct swarm *w, size_t i)
{
    char name[24];

    (void)snprintf(name, sizeof(name), "w%zu-%zu", i, w->life_count);
    w->workers[i] = life_begin(w, name, LEASE_MS, POLL_MS);
}

static void client_begin(struct swarm *w, const char *text)
{
    char numbers[2][16];
    const char *const args[] = {w->room.path, numbers[0], numbers[1], text,
                                NULL};

    (void)snprintf(numbers[0], sizeof(numbers[0]), "%u", w->plan->sessions);
    (void)snprintf(numbers[1], sizeof(numbers[1]), "%u", w->plan->operations);
    w->client = process_start("client", args);
    w->client_end = PROCESS_RUNS;
}

/* What all workers that ever lived did. */
static struct status all_did(const struct swarm *w)
{
    struct status sum = {0, 0, 0, 0, 0};

    for (size_t i = 0; i < w->life_count; i++) {
        const struct status *one = w->lives[i].status;

        sum.taken_over += peek(&one->taken_over);
        sum.ended += peek(&one->ended);
        sum.lost += peek(&one->lost);
        sum.fenced += peek(&one->fenced);
    }
    return sum;
}

/* Has everything ended? */
static bool is_over(struct swarm *w)
{
    if (w->client_end == PROCESS_RUNS)
        w->client_end = process_end(w->client, false);
    return w->client_end != PROCESS_RUNS;
}

/* Wait until so many runs have ended, or everything has. */
static void await_ended(struct swarm *w, uint64_t count)
{
    int64_t end = monotonic_us() + ACTOR_WAIT_MS * INT64_C(1000);

    while (!is_over(w) && all_did(w).ended < count && monotonic_us() < end)
        sleep_us(LOOK_US);
}

/* Stop one for longer than a lease, until another one has taken a run over. */
static void worker_stop(struct swarm *w, size_t i)
{
    pid_t process = w->lives[w->workers[i]].process;
    uint64_t before = 0;
    int64_t lapse = monotonic_us() + LEASE_MS * INT64_C(1000);
    int64_t end = monotonic_us() + STOPPED_MS * INT64_C(1000);

    ASSERT_INT(0, kill(process, SIGSTOP));
    before = all_did(w).taken_over;
    while (!is_over(w) && monotonic_us() < end &&
           (all_did(w).taken_over == before || monotonic_us() < lapse))
        sleep_us(LOOK_US);
    ASSERT_INT(0, kill(process, SIGCONT));
    w->out->stops++;
}

static void worker_kill(struct swarm *w, size_t i)
{
    if (process_kill(w->lives[w->workers[i]].process) == PROCESS_KILLED)
        w->out->kills++;
    else
        w->out->failures++;
    worker_begin(w, i);
}

/* A worker that has as much to do as any other. */
static size_t busy_worker(struct swarm *w)
{
    size_t first = random_below(&w->random, WORKERS), found = first;

    for (size_t k = 1; k < WORKERS; k++) {
        size_t i = (first + k) % WORKERS;

        if (peek(&w->lives[w->workers[i]].status->at_work) >
            peek(&w->lives[w->workers[found]].status->at_work))
            found = i;
    }
    return found;
}

static void disturb(struct swarm *w, unsigned n)
{
    size_t i = busy_worker(w);

    if (n % CLIENT_EACH == CLIENT_EACH - 1 && !is_over(w)) {
        w->out->client_kills += process_kill(w->client) == PROCESS_KILLED;
        client_begin(w, NULL);
    } else if (n % 3 < 2) {
        worker_stop(w, i);
    } else {
        worker_kill(w, i);
    }
}

static void all_end(struct swarm *w)
{
    struct status sum;

    room_put_c(&w->room, "stop", "");
    for (size_t i = 0; i < WORKERS && i < w->life_count; i++)
        w->out->failures +=
            process_end(w->lives[w->workers[i]].process, true) != PROCESS_DONE;
    sum = all_did(w);
    w->out->taken_over = sum.taken_over;
    w->out->lost = sum.lost;
    w->out->fenced = sum.fenced;
    for (size_t i = 0; i < w->life_count; i++)
        (void)munmap(w->lives[i].status, sizeof(struct status));
}

/* --- judging ---------------------------------------------------------------
 */

struct judge {
    struct swarm_result *out;
    pdr_store *store;
    const char *events;
};

/* Lines that end with this. */
static size_t lines(const char *events, const char *tail)
{
    size_t count = 0;

    for (const char *at = events; (at = strstr(at, tail)) != NULL; at++)
        count += at[strlen(tail)] == '\n';
    return count;
}

static bool contains(pdr_str text, const char *part)
{
    return memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

/* A call that may not be repeated was made once at most; its result is in the
 * response, or that nobody knows. */
static void judge_calls(struct judge *j, const struct sent *sent,
                        pdr_str response)
{
    char token[120], line[140], name[16];

    for (size_t n = 0; n < actor_calls_before(sent->text, SIZE_MAX); n++) {
        size_t made = 0;
        bool can_repeat = actor_is_repeatable(actor_call(name, sent->text, n));

        (void)snprintf(token, sizeof(token), "@dafx-" ACTOR_AGENT "@%s/%s/c%zu",
                       sent->key, sent->id, n);
        (void)snprintf(line, sizeof(line), " begin %s", token);
        made = lines(j->events, line);
        (void)snprintf(line, sizeof(line), "\"did %s\"", token);
        if (made > 1 && !can_repeat) {
            j->out->doubled++;
            print_error("%s was called %zu times\n", token, made);
        }
        j->out->repeated += made > 1 && can_repeat;
        if (contains(response, line))
            continue;
        j->out->unknown++;
        if (can_repeat || !contains(response, UNKNOWN)) {
            j->out->missing++;
            print_error("%s has no result\n", token);
        }
    }
}

/* Entries are a request and its response, in the order in which they were
 * sent. */
static void judge_session(struct judge *j, const struct swarm_plan *plan,
                          unsigned s)
{
    struct sent sent = sent_of(s, 0);
    struct actor_room room;
    pdr_operation operation =
        actor_operation(&room, sent.key, sent.id, sent.text);
    pdr_query query = {
        .what = PDR_READ_ENTRIES, .ref = operation.session, .limit = 200};
    pdr_page *page = NULL;

    if (pdr_store_read(&page, j->store, &query, NULL) != PDR_OK) {
        j->out->missing += plan->operations;
        return;
    }
    for (size_t i = 0; i < page->count; i++) {
        const pdr_entry *entry = &page->entries[i];

        sent = sent_of(s, (unsigned)i / 2);
        if (entry->kind != (i % 2 == 0 ? PDR_ROW_REQUEST : PDR_ROW_RESPONSE) ||
            !pdr_str_equal(entry->correlation_id, pdr_str_c(sent.id))) {
            j->out->forked++;
            print_error("%s: entry %zu is of %.*s\n", sent.key, i,
                        (int)entry->correlation_id.len,
                        entry->correlation_id.ptr);
        } else if (i % 2 == 1) {
            judge_calls(j, &sent, entry->body);
        }
    }
    if (page->count > 2 * plan->operations)
        j->out->doubled += page->count - 2 * plan->operations;
    if (page->count < 2 * plan->operations)
        j->out->missing += 2 * plan->operations - page->count;
    j->out->unfinished += page->head.inbox > 0 ||
                          page->head.state != PDR_SESSION_IDLE ||
                          page->head.lease.owner.ptr != NULL ||
                          page->head.journal_first != page->head.journal_next;
    pdr_page_free(page);
}

/* Each has an outcome: it was completed. */
static void judge_ending(struct judge *j, unsigned s, unsigned k)
{
    struct sent sent = sent_of(s, k);
    struct actor_room room;
    pdr_operation operation =
        actor_operation(&room, sent.key, sent.id, sent.text);
    const pdr_query query = {.what = PDR_READ_COMPLETIONS,
                             .ref = operation.session,
                             .key = operation.correlation_id};
    pdr_page *page = NULL;

    if (pdr_store_read(&page, j->store, &query, NULL) != PDR_OK ||
        !contains(page->completions[0].outcome, "\"completed\"")) {
        j->out->missing++;
        print_error("%s was not completed\n", sent.id);
    }
    pdr_page_free(page);
}

static void judge(struct swarm *w)
{
    struct judge j = {.out = w->out};
    char uri[400], *events = NULL;
    size_t len = 0;

    (void)snprintf(uri, sizeof(uri), "sqlite:%s", room_path(&w->room, "a.db"));
    ASSERT_RC(PDR_OK, pdr_store_open(&j.store, uri, NULL));
    j.events = events = room_get(&w->room, "events", &len);
    ASSERT(events != NULL);
    w->out->forked +=
        pdr_store_verify(NULL, j.store, NULL, NULL, NULL, NULL) != PDR_OK;
    for (unsigned s = 0; s < w->plan->sessions; s++) {
        judge_session(&j, w->plan, s);
        for (unsigned k = 0; k < w->plan->operations; k++)
            judge_ending(&j, s, k);
    }
    free(events);
    pdr_store_close(j.store);
}

/* --- running ---------------------------------------------------------------
 */

void swarm_run(struct swarm_result *out, const struct swarm_plan *plan)
{
    struct swarm w = {.plan = plan, .out = out, .random = plan->seed};

    memset(out, 0, sizeof(*out));
    out->operations = (size_t)plan->sessions * plan->operations;
    room_enter(&w.room);
    for (size_t i = 0; i < WORKERS; i++)
        worker_begin(&w, i);
    client_begin(&w, NULL);
    for (unsigned n = 0; n < plan->disturbances; n++) {
        await_ended(&w, out->operations * n / (plan->disturbances + 1));
        if (is_over(&w))
            break;
        disturb(&w, n);
    }
    if (w.client_end == PROCESS_RUNS)
        w.client_end = process_end(w.client, true);
    out->failures += w.client_end != PROCESS_DONE;
    all_end(&w);
    judge(&w);
    room_leave(&w.room);
}

/* Wait until somebody wrote this down. */
static void await_event(struct swarm *w, const char *text)
{
    int64_t end = monotonic_us() + ACTOR_WAIT_MS * INT64_C(1000);
    bool is_there = false;

    while (!is_there && !is_over(w) && monotonic_us() < end) {
        size_t len = 0;
        char *events = room_get(&w->room, "events", &len);

        is_there = events != NULL && strstr(events, text) != NULL;
        free(events);
        sleep_us(LOOK_US);
    }
}

void swarm_hold(struct swarm_result *out, uint32_t lease_ms, uint32_t poll_ms)
{
    const struct swarm_plan plan = {.sessions = 1, .operations = 1};
    struct swarm w = {.plan = &plan, .out = out};

    memset(out, 0, sizeof(*out));
    out->operations = 1;
    only_text = "wait book";
    room_enter(&w.room);
    client_begin(&w, only_text);
    await_event(&w, "client known");
    w.workers[0] = life_begin(&w, "holder", lease_ms, poll_ms);
    await_event(&w, "holder begin");
    w.workers[1] = life_begin(&w, "rival", lease_ms, POLL_MS);
    if (!is_over(&w))
        w.client_end = process_end(w.client, true);
    out->failures += w.client_end != PROCESS_DONE;
    all_end(&w);
    judge(&w);
    room_leave(&w.room);
    only_text = NULL;
}

void swarm_result_print(const char *name, const struct swarm_result *r)
{
    print_message("%s: %zu operations, %zu kills and %zu stops of workers, %zu "
                  "kills of the sender\n",
                  name, r->operations, r->kills, r->stops, r->client_kills);
    print_message("    runs taken over %zu, leases lost %zu, commits fenced "
                  "off %zu; calls repeated %zu, unknown %zu\n",
                  r->taken_over, r->lost, r->fenced, r->repeated, r->unknown);
    print_message("    lost %zu, doubled %zu, forked %zu, unfinished %zu, "
                  "failed %zu\n",
                  r->missing, r->doubled, r->forked, r->unfinished,
                  r->failures);
}

size_t swarm_result_bad(const struct swarm_result *r)
{
    return r->missing + r->doubled + r->forked + r->unfinished + r->failures;
}
