/* store_kill.c - writers of one store that are killed again and again. */
#include "store_kill.h"

#include <signal.h>
#include <sys/stat.h>

#include "processes.h"
#include "room.h"
#include "store_writer.h"

#define MAX_PROCESSES 16
#define ALL_AT_ONCE   12 /* one kill of so many takes all */

struct killing {
    const struct kill_plan *plan;
    struct kill_result *out;
    struct room room;
    pid_t crew[MAX_PROCESSES];
    uint64_t random;
};

size_t kill_result_bad(const struct kill_result *result)
{
    return judgement_sum(&result->judgement) + result->failures +
           result->unsound;
}

void kill_result_add(struct kill_result *sum, const struct kill_result *one)
{
    sum->kills += one->kills;
    sum->at_once += one->at_once;
    sum->ended_well += one->ended_well;
    sum->judgements += one->judgements;
    sum->commits += one->commits;
    sum->conflicts += one->conflicts;
    sum->refusals += one->refusals;
    sum->retries += one->retries;
    sum->found += one->found;
    sum->checkpoints += one->checkpoints;
    sum->failures += one->failures;
    sum->unsound += one->unsound;
    sum->judgement.lost += one->judgement.lost;
    sum->judgement.doubled += one->judgement.doubled;
    sum->judgement.forked += one->judgement.forked;
    sum->judgement.half += one->judgement.half;
    sum->judgement.ghosts += one->judgement.ghosts;
}

void kill_result_print(const struct kill_result *r)
{
    printf("%zu kills (%zu times all at once), %zu processes ended well, "
           "%zu judgements\n",
           r->kills, r->at_once, r->ended_well, r->judgements);
    printf("%zu commits, %zu conflicts, %zu refusals, %zu retries, of which "
           "%zu were there already\n",
           r->commits, r->conflicts, r->refusals, r->retries, r->found);
    printf("%zu checkpoints between commits\n", r->checkpoints);
    printf("lost %zu, doubled %zu, forked %zu, half %zu, never asked for %zu, "
           "unsound %zu, failed %zu\n",
           r->judgement.lost, r->judgement.doubled, r->judgement.forked,
           r->judgement.half, r->judgement.ghosts, r->unsound, r->failures);
}

/* --- processes ---------------------------------------------------------------
 */

static void start(struct killing *killing, unsigned i)
{
    const struct kill_plan *plan = killing->plan;
    struct writer_job job = {.folder = killing->room.path,
                             .first = i * plan->threads + 1,
                             .threads = plan->threads,
                             .sessions = plan->sessions,
                             .seed = next_random(&killing->random)};

    /* Some close the store by themselves, and may be killed doing it. */
    job.deeds =
        1 + random_below(&killing->random,
                         random_below(&killing->random, 4) == 0 ? 3 : 60);
    killing->crew[i] = writer_start(&job);
}

static void count_end(struct killing *killing, enum process_end end)
{
    killing->out->kills += end == PROCESS_KILLED;
    killing->out->ended_well += end == PROCESS_DONE;
    killing->out->failures += end == PROCESS_FAILED;
}

static void start_all(struct killing *killing)
{
    for (unsigned i = 0; i < killing->plan->processes; i++)
        start(killing, i);
}

static void kill_all(struct killing *killing)
{
    for (unsigned i = 0; i < killing->plan->processes; i++)
        ASSERT_INT(0, kill(killing->crew[i], SIGKILL));
    for (unsigned i = 0; i < killing->plan->processes; i++)
        count_end(killing, process_end(killing->crew[i], true));
    killing->out->at_once++;
}

/* Those that ended by themselves begin again. */
static void replace_ended(struct killing *killing)
{
    for (unsigned i = 0; i < killing->plan->processes; i++) {
        enum process_end end = process_end(killing->crew[i], false);
        if (end == PROCESS_RUNS)
            continue;
        count_end(killing, end);
        start(killing, i);
    }
}

static void kill_some(struct killing *killing)
{
    unsigned victim = random_below(&killing->random, killing->plan->processes);

    replace_ended(killing);
    sleep_us(random_below(&killing->random, killing->plan->pause_ms * 1000));
    if (random_below(&killing->random, ALL_AT_ONCE) == 0) {
        kill_all(killing);
        start_all(killing);
    } else {
        count_end(killing, process_kill(killing->crew[victim]));
        start(killing, victim);
    }
}

/* --- judging
 * ------------------------------------------------------------------ */

static void tell_finding(void *arg, const char *table, const char *row,
                         const char *what)
{
    struct killing *killing = arg;

    killing->out->unsound++;
    fprintf(stderr, "verify: %s, %s: %s\n", table, row, what);
}

static void verify(struct killing *killing, pdr_store *store)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_verify_report report;
    pdr_rc rc =
        pdr_store_verify(&report, store, NULL, &err, tell_finding, killing);

    if (rc == PDR_OK)
        return;
    killing->out->unsound++;
    fprintf(stderr, "verify: %s (%s)\n", err.message, err.reason);
}

static bool load(struct killing *killing, struct view *view)
{
    char uri[WRITER_PATH];
    pdr_err err = PDR_ERR_INIT;
    pdr_store *store = NULL;
    bool is_fine = false;
    /* A reader leaves the log as it is, a writer that closes empties it: what
     * the next writers find is not always the same. */
    const char *options = killing->out->judgements % 2 == 1 ? "?mode=ro" : "";

    if (pdr_store_open(&store, writer_uri(uri, killing->room.path, options),
                       &err) != PDR_OK) {
        fprintf(stderr, "cannot open the store: %s (%s)\n", err.message,
                err.reason);
        return false;
    }
    is_fine = view_load(view, store);
    verify(killing, store);
    pdr_store_close(store);
    return is_fine;
}

static void sum_oracle(struct kill_result *out, const struct oracle *oracle)
{
    out->commits += oracle->done;
    out->conflicts += oracle->conflicts;
    out->refusals += oracle->refusals;
    out->retries += oracle->retries;
    out->found += oracle->found;
}

static void count_checkpoints(struct killing *killing)
{
    struct stat file;

    if (stat(room_path(&killing->room, "checkpoints"), &file) == 0)
        killing->out->checkpoints = (size_t)file.st_size;
}

/* With nobody at work. */
static void judge(struct killing *killing)
{
    static struct view view;
    struct oracle oracles[MAX_PROCESSES * WRITER_MAX_THREADS];
    struct kill_result *out = killing->out;
    size_t count = (size_t)killing->plan->processes * killing->plan->threads;
    char path[WRITER_PATH];
    bool is_fine = load(killing, &view);

    out->commits = out->conflicts = out->refusals = 0;
    out->retries = out->found = 0;
    for (unsigned i = 0; i < count; i++) {
        oracle_init(&oracles[i], i + 1);
        writer_oracle(path, killing->room.path, i + 1);
        is_fine = oracle_read(&oracles[i], path) && is_fine;
        sum_oracle(out, &oracles[i]);
    }
    if (is_fine)
        store_judge(&out->judgement, &view, oracles, count);
    out->failures += !is_fine;
    out->judgements++;
    count_checkpoints(killing);
    for (unsigned i = 0; i < count; i++)
        oracle_dispose(&oracles[i]);
    view_dispose(&view);
}

void store_kill(struct kill_result *out, const struct kill_plan *plan)
{
    struct killing killing = {.plan = plan, .out = out, .random = plan->seed};
    size_t next = 0;

    ASSERT(plan->processes <= MAX_PROCESSES);
    memset(out, 0, sizeof(*out));
    room_enter(&killing.room);
    ASSERT_INT(0, setenv("PERDURE_CHECKPOINTS",
                         room_path(&killing.room, "checkpoints"), 1));
    while (out->kills < plan->kills && kill_result_bad(out) == 0) {
        start_all(&killing);
        next = out->kills + plan->between;
        while (out->kills < next && out->failures == 0)
            kill_some(&killing);
        kill_all(&killing);
        judge(&killing);
    }
    if (kill_result_bad(out) == 0 || !plan->keep)
        room_leave(&killing.room);
    else
        fprintf(stderr, "the store is left in %s\n", killing.room.path);
}
