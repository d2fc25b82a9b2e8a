/* engine_soak.c - see engine_soak.h. */
#include "engine_soak.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include <perdure/durable.h>

#include "base.h"
#include "processes.h"
#include "room.h"

#define WORKERS        8
#define KEPT           ((size_t)1024 * 1024) /* full before it is warm */
#define SENDERS        4
#define BATCH          16      /* operations that a sender has under way */
#define STRIDE         1000003 /* prime: neighbours in time are far apart */
#define WINDOW         10      /* messages that the model gets */
#define TOOL_EACH      8       /* runs of which one calls the tool */
#define CALL_EACH      4       /* batches of which one is sent call by call */
#define WAIT_MS        120000
#define MAX_COMPLAINTS 20

/* What is allocated once, whenever it is needed first: a buffer of a megabyte
 * for the WAL is the largest. What each run loses is more, at any scale. */
#define MAY_GROW_BLOCKS 500
#define MAY_GROW_BYTES  ((size_t)4 * 1024 * 1024)
/* Caches of SQLite, and what malloc() keeps for threads. */
#define MAY_GROW_KB ((size_t)32 * 1024)

/* Shares of operations, of a hundred; what is left are runs. */
enum { RESETS = 4, DELETES = 3, REPEATS = 5, TWINS = 3 };

static const unsigned marks[SOAK_MARKS] = {10, 55, 100}; /* percent */

/* A session as its sender knows it. Runs are numbered since it was made. */
struct session {
    uint32_t first; /* run that the history begins with */
    uint32_t next;  /* 0: there is no such session */
};

struct soak {
    const struct soak_plan *plan;
    struct room room;
    pdr_store *store;
    pdr_agent *agent;
    pdr_durable *durable;
    pdr_engine *engine;
    struct session *sessions;
    atomic_size_t carried_out, called; /* runs; calls of the tool */
    atomic_size_t complaints;
};

/* A thread that sends to its own share of the sessions. */
struct sender {
    struct soak *soak;
    pthread_t thread;
    size_t begin, count; /* its sessions */
    size_t picked;       /* so far */
    size_t sent, until;  /* operations */
    size_t looks;        /* runs that call the tool */
    uint64_t random;
    struct soak_result told; /* what it sent and found wrong */
};

/* --- the agent -------------------------------------------------------------
 */

static const char script[] =
    "{\"replies\":[{\"after\":\"look\",\"text\":\"heard {user}: {result}\"},"
    "{\"user\":\"look\",\"calls\":[{\"name\":\"look\"}]},"
    "{\"text\":\"heard {user}.\"}]}";

static pdr_rc tool_look(pdr_value **out, const pdr_tool_call *call,
                        pdr_err *err, void *arg)
{
    struct soak *soak = arg;

    (void)call;
    atomic_fetch_add(&soak->called, 1);
    return pdr_value_new_string(out, pdr_str_c("seen"), err);
}

static pdr_rc layer_count(pdr_response **out, pdr_agent *inner,
                          const pdr_run *run, pdr_err *err, void *arg)
{
    struct soak *soak = arg;

    atomic_fetch_add(&soak->carried_out, 1);
    if (soak->plan->each != NULL)
        soak->plan->each();
    return pdr_agent_run(out, inner, run, err);
}

static void soak_begin(struct soak *soak)
{
    const pdr_tool tool = {.name = "look", .fn = tool_look, .arg = soak};
    const pdr_agent_layer layer = {
        .name = "count", .run = layer_count, .arg = soak};
    const pdr_engine_opts opts = {.workers = WORKERS, .keep_bytes = KEPT};
    pdr_agent_parts parts = {.name = pdr_str_c("clerk"),
                             .window_messages = WINDOW,
                             .tools = &tool,
                             .tool_count = 1};
    pdr_agent *inner = NULL;
    char uri[600];

    room_enter(&soak->room);
    snprintf(uri, sizeof(uri), "sqlite:%s", room_path(&soak->room, "soak.db"));
    ASSERT_RC(PDR_OK, pdr_store_open(&soak->store, uri, NULL));
    ASSERT_RC(PDR_OK,
              pdr_client_script(&parts.client, pdr_str_c(script), NULL));
    ASSERT_RC(PDR_OK, pdr_agent_new(&inner, &parts, NULL));
    pdr_client_free(parts.client);
    ASSERT_RC(PDR_OK, pdr_agent_wrap(&soak->agent, inner, &layer, NULL));
    pdr_agent_free(inner);
    const pdr_durable_agent agents[] = {{.agent = soak->agent}};
    const pdr_durable_opts durable = {.agents = agents, .count = 1};
    ASSERT_RC(PDR_OK, pdr_durable_new(&soak->durable, &durable, NULL));
    ASSERT_RC(PDR_OK, pdr_engine_new(&soak->engine, soak->store, &opts, NULL));
    ASSERT_RC(PDR_OK, pdr_durable_attach(soak->engine, soak->durable, NULL));
    ASSERT_RC(PDR_OK, pdr_engine_start(soak->engine, NULL));
    soak->sessions = calloc(soak->plan->sessions, sizeof(soak->sessions[0]));
    ASSERT(soak->sessions != NULL);
    memset(soak->sessions, 0, /* all of it is resident from now on */
           soak->plan->sessions * sizeof(soak->sessions[0]));
}

static void soak_end(struct soak *soak)
{
    pdr_engine_free(soak->engine);
    pdr_durable_free(soak->durable);
    pdr_agent_free(soak->agent);
    pdr_store_close(soak->store);
    free(soak->sessions);
    room_leave(&soak->room);
}

/* --- operations ------------------------------------------------------------
 */

enum turn_kind { TURN_RUN, TURN_TWIN, TURN_REPEAT, TURN_RESET, TURN_DELETE };

static const char *const kind_words[] = {"run", "twin run", "repeated run",
                                         "reset", "delete"};

/* An operation under way. */
struct turn {
    enum turn_kind kind;
    size_t session;
    uint32_t n;   /* of the run */
    bool is_gone; /* a reset has taken its answer away */
    bool is_bad;  /* it was complained about */
    pdr_sent sent;
    pdr_ending *ending; /* owned; NULL: wait for it */
    char id[40], correlation_id[16], input[80], answer[80];
};

static void complain(struct sender *sender, struct turn *turn, size_t *count,
                     const char *text)
{
    ++*count;
    turn->is_bad = true;
    if (atomic_fetch_add(&sender->soak->complaints, 1) < MAX_COMPLAINTS)
        fprintf(stderr, "%s %u of session %zu: %s\n", kind_words[turn->kind],
                turn->n, turn->session, text);
}

/* The next session of this sender, and something that can be done with it. */
static void turn_choose(struct turn *turn, struct sender *sender)
{
    struct session *session = NULL;
    unsigned roll = random_below(&sender->random, 100);
    const char *look = "";

    memset(turn, 0, sizeof(*turn));
    turn->session = sender->begin + sender->picked++ * STRIDE % sender->count;
    session = &sender->soak->sessions[turn->session];
    turn->kind = session->next == 0                          ? TURN_RUN
                 : roll < RESETS                             ? TURN_RESET
                 : roll < RESETS + DELETES                   ? TURN_DELETE
                 : roll < RESETS + DELETES + REPEATS         ? TURN_REPEAT
                 : roll < RESETS + DELETES + REPEATS + TWINS ? TURN_TWIN
                                                             : TURN_RUN;
    snprintf(turn->id, sizeof(turn->id), "@dafx-clerk@%zu", turn->session);
    turn->n = turn->kind == TURN_REPEAT
                  ? random_below(&sender->random, session->next)
                  : session->next;
    turn->is_gone = turn->n < session->first;
    switch (turn->kind) {
    case TURN_RUN:
    case TURN_TWIN:
        session->next++;
        sender->told.runs++;
        sender->told.repeats += turn->kind == TURN_TWIN;
        break;
    case TURN_REPEAT:
        sender->told.repeats++;
        break;
    case TURN_RESET:
        session->first = session->next;
        sender->told.resets++;
        return;
    case TURN_DELETE:
        session->first = session->next = 0;
        sender->told.deletes++;
        return;
    }
    if ((turn->session + turn->n) % TOOL_EACH == 0) {
        look = "look ";
        sender->looks += turn->kind != TURN_REPEAT;
    }
    snprintf(turn->correlation_id, sizeof(turn->correlation_id), "r%u",
             turn->n);
    snprintf(turn->input, sizeof(turn->input), "{\"message\":\"%s%zu/%u\"}",
             look, turn->session, turn->n);
    snprintf(turn->answer, sizeof(turn->answer), "heard %s%zu/%u%s", look,
             turn->session, turn->n, look[0] != '\0' ? ": seen" : ".");
}

static pdr_operation turn_operation(const struct turn *turn)
{
    pdr_operation out = {.session = {.id = pdr_str_c(turn->id)},
                         .name = pdr_str_c("run"),
                         .input = pdr_str_c(turn->input),
                         .correlation_id = pdr_str_c(turn->correlation_id)};

    if (turn->kind == TURN_RESET || turn->kind == TURN_DELETE) {
        out.name = pdr_str_c(kind_words[turn->kind]);
        out.input = out.correlation_id = pdr_str_n(NULL, 0);
    }
    return out;
}

/* Send it; with `calls`, wait for it as well. A twin is sent twice. */
static void turn_send(struct turn *turn, struct sender *sender, bool calls)
{
    const pdr_operation operation = turn_operation(turn);
    pdr_engine *engine = sender->soak->engine;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;
    pdr_sent again;

    sender->sent++;
    if (calls || turn->kind == TURN_DELETE)
        rc = pdr_engine_call(&turn->ending, &turn->sent, engine, &operation,
                             WAIT_MS, &err);
    else
        rc = pdr_engine_send(&turn->sent, engine, &operation, &err);
    if (rc != PDR_OK)
        complain(sender, turn, &sender->told.missing, err.message);
    else if (turn->sent.is_repeated != (turn->kind == TURN_REPEAT))
        complain(sender, turn, &sender->told.mistaken,
                 turn->sent.is_repeated ? "the store knows it"
                                        : "the store does not know it");
    if (turn->kind != TURN_TWIN)
        return;
    sender->sent++;
    if (pdr_engine_send(&again, engine, &operation, &err) != PDR_OK)
        complain(sender, turn, &sender->told.missing, err.message);
    else if (!again.is_repeated)
        complain(sender, turn, &sender->told.mistaken,
                 "the store does not know its twin");
}

/* Wait for its end, and look at the answer. */
static void turn_judge(struct turn *turn, struct sender *sender)
{
    const pdr_operation operation = turn_operation(turn);
    pdr_err err = PDR_ERR_INIT;

    if (turn->ending == NULL && !turn->is_bad &&
        pdr_engine_wait(&turn->ending, sender->soak->engine, &operation.session,
                        pdr_str_c(turn->sent.correlation_id), WAIT_MS,
                        &err) != PDR_OK)
        complain(sender, turn, &sender->told.missing, err.message);
    if (turn->ending == NULL)
        return;
    if (turn->ending->state != PDR_OPERATION_COMPLETED)
        complain(sender, turn, &sender->told.missing, "it failed");
    else if (turn->ending->is_gone != turn->is_gone)
        complain(sender, turn, &sender->told.mistaken,
                 turn->is_gone ? "its answer is still there"
                               : "its answer is gone");
    else if (turn->answer[0] != '\0' && !turn->is_gone &&
             memmem(turn->ending->answer.ptr, turn->ending->answer.len,
                    turn->answer, strlen(turn->answer)) == NULL)
        complain(sender, turn, &sender->told.mistaken,
                 "it has the answer of another one");
    pdr_ending_free(turn->ending);
}

static void *sender_main(void *arg)
{
    struct sender *sender = arg;
    static _Thread_local struct turn turns[BATCH];

    while (sender->sent < sender->until) {
        bool calls = random_below(&sender->random, CALL_EACH) == 0;

        for (size_t i = 0; i < BATCH; i++) {
            turn_choose(&turns[i], sender);
            turn_send(&turns[i], sender, calls);
        }
        for (size_t i = 0; i < BATCH; i++)
            turn_judge(&turns[i], sender);
    }
    return NULL;
}

/* --- memory ----------------------------------------------------------------
 */

static size_t resident_kb(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[200];
    size_t kb = 0;

    while (file != NULL && kb == 0 && fgets(line, sizeof(line), file) != NULL)
        (void)sscanf(line, "VmRSS: %zu", &kb);
    if (file != NULL)
        (void)fclose(file);
    return kb;
}

/* When all runs have ended. */
static void memory_look(struct soak_memory *out, struct soak *soak)
{
    pdr_engine_counts counts;

    pdr_engine_counts_get(&counts, soak->engine);
    while (counts.at_work > 0) { /* who waited was told, the run cleans up */
        sleep_us(1000);
        pdr_engine_counts_get(&counts, soak->engine);
    }
    out->blocks = test_live_allocations();
    out->bytes = test_live_bytes();
    out->peak_bytes = test_peak_bytes();
    out->resident_kb = resident_kb();
    test_reset_peak();
}

static bool is_above(const char *what, size_t now, size_t before, size_t most)
{
    if (now <= before + most)
        return false;
    fprintf(stderr, "%s: %zu, and %zu before\n", what, now, before);
    return true;
}

bool soak_has_grown(const struct soak_result *result)
{
    const struct soak_memory *warm = &result->memory[SOAK_WARM];
    const struct soak_memory *middle = &result->memory[SOAK_MIDDLE];
    const struct soak_memory *end = &result->memory[SOAK_END];
    bool out = false;

    out |= is_above("blocks", end->blocks, warm->blocks, MAY_GROW_BLOCKS);
    out |= is_above("bytes", end->bytes, warm->bytes, MAY_GROW_BYTES);
    out |= is_above("bytes at most", end->peak_bytes, middle->peak_bytes,
                    MAY_GROW_BYTES);
    if (!TEST_SANITIZED)
        out |= is_above("resident KB", end->resident_kb, warm->resident_kb,
                        MAY_GROW_KB);
    return out;
}

/* --- judging ---------------------------------------------------------------
 */

/* Has a session the runs that it should have, in their order? */
static bool history_is(struct soak *soak, size_t n)
{
    const struct session *session = &soak->sessions[n];
    size_t wanted = (size_t)2 * (session->next - session->first);
    char id[40], run[16];
    pdr_query query = {.what = PDR_READ_ENTRIES, .limit = PDR_MAX_PAGE_ROWS};
    pdr_page *page = NULL;
    bool good = true;
    pdr_rc rc = PDR_OK;

    snprintf(id, sizeof(id), "@dafx-clerk@%zu", n);
    query.ref.id = pdr_str_c(id);
    rc = pdr_store_read(&page, soak->store, &query, NULL);
    if (rc != PDR_OK || session->next == 0)
        good = rc == PDR_ENOTFOUND && session->next == 0;
    else
        good = page->count == wanted && page->next.ptr == NULL &&
               page->head.state == PDR_SESSION_IDLE;
    for (size_t i = 0; good && rc == PDR_OK && i < wanted; i++) {
        snprintf(run, sizeof(run), "r%zu", session->first + i / 2);
        good = page->entries[i].kind ==
                   (i % 2 == 0 ? PDR_ROW_REQUEST : PDR_ROW_RESPONSE) &&
               pdr_str_equal(page->entries[i].correlation_id, pdr_str_c(run));
    }
    pdr_page_free(page);
    return good;
}

static size_t apart(size_t a, size_t b)
{
    return a > b ? a - b : b - a;
}

static void soak_judge(struct soak_result *out, struct soak *soak, size_t looks)
{
    pdr_engine_counts counts;
    struct stat file;

    pdr_engine_counts_get(&counts, soak->engine);
    out->doubled = apart(atomic_load(&soak->carried_out), out->runs) +
                   apart(atomic_load(&soak->called), looks);
    out->miscounted =
        apart(counts.sent, out->runs + out->resets + out->deletes) +
        apart(counts.repeated, out->repeats) +
        apart(counts.completed, out->runs + out->resets) + counts.failed +
        counts.refused + counts.cancelled + counts.lost + counts.queued +
        counts.waiting;
    for (size_t i = 0; i < soak->plan->sessions; i++) {
        if (history_is(soak, i))
            continue;
        if (out->forked++ == 0)
            fprintf(stderr, "session %zu has not the runs %u to %u\n", i,
                    soak->sessions[i].first, soak->sessions[i].next);
    }
    if (stat(room_path(&soak->room, "soak.db"), &file) == 0)
        out->file_bytes = (uint64_t)file.st_size;
}

/* --- all of it -------------------------------------------------------------
 */

void soak_run(struct soak_result *out, const struct soak_plan *plan)
{
    static struct sender senders[SENDERS];
    struct soak soak = {.plan = plan};
    int64_t begin = 0;
    size_t looks = 0;

    memset(out, 0, sizeof(*out));
    ASSERT(plan->sessions >= (size_t)SENDERS * BATCH);
    soak_begin(&soak);
    for (size_t i = 0; i < SENDERS; i++) {
        size_t first = plan->sessions * i / SENDERS;

        senders[i] =
            (struct sender){.soak = &soak,
                            .begin = first,
                            .count = plan->sessions * (i + 1) / SENDERS - first,
                            .random = i};
    }
    test_reset_peak();
    begin = monotonic_us();
    for (int mark = 0; mark < SOAK_MARKS; mark++) {
        for (size_t i = 0; i < SENDERS; i++) {
            senders[i].until = plan->operations / SENDERS * marks[mark] / 100;
            ASSERT_INT(0, pthread_create(&senders[i].thread, NULL, sender_main,
                                         &senders[i]));
        }
        for (size_t i = 0; i < SENDERS; i++)
            (void)pthread_join(senders[i].thread, NULL);
        memory_look(&out->memory[mark], &soak);
    }
    out->seconds = (double)(monotonic_us() - begin) / 1e6;
    for (size_t i = 0; i < SENDERS; i++) {
        out->runs += senders[i].told.runs;
        out->repeats += senders[i].told.repeats;
        out->resets += senders[i].told.resets;
        out->deletes += senders[i].told.deletes;
        out->missing += senders[i].told.missing;
        out->mistaken += senders[i].told.mistaken;
        looks += senders[i].looks;
    }
    soak_judge(out, &soak, looks);
    soak_end(&soak);
}

size_t soak_result_bad(const struct soak_result *result)
{
    return result->missing + result->mistaken + result->doubled +
           result->forked + result->miscounted;
}

void soak_result_print(const struct soak_result *r)
{
    static const char *const words[SOAK_MARKS] = {"warm", "middle", "end"};
    size_t sent = r->runs + r->repeats + r->resets + r->deletes;

    printf("%zu operations in %.1f s, %.0f a second: %zu runs, %zu repeated, "
           "%zu resets, %zu deletes\n",
           sent, r->seconds, (double)sent / r->seconds, r->runs, r->repeats,
           r->resets, r->deletes);
    printf("%zu missing, %zu mistaken, %zu doubled, %zu forked, %zu "
           "miscounted; %.0f MB in the file\n",
           r->missing, r->mistaken, r->doubled, r->forked, r->miscounted,
           (double)r->file_bytes / 1e6);
    for (int i = 0; i < SOAK_MARKS; i++)
        printf("%-6s %7zu KB resident; library: %zu blocks, %zu bytes at "
               "rest, %zu at most\n",
               words[i], r->memory[i].resident_kb, r->memory[i].blocks,
               r->memory[i].bytes, r->memory[i].peak_bytes);
}
