/*
 * agent_openai.c - how many turns a second does a durable agent make, beside
 * OpenAI Agents with its own session in a SQLite file?
 *
 * peer/openai-agents/N  One run after the other, each on a session with N
 *     messages, all of which the model gets. Its model is instant, ours is a
 *     script; both answers are on disk when the run is over, each with the
 *     settings that its authors chose. Sessions are open before the clock runs.
 *
 * Their session is put back after each run, by their own call; ours has one run
 * and is left. Neither is timed. All cores are used, by both sides.
 */
#include <stdio.h>

#include "agent_other.h"
#include "agent_talk.h"
#include "bench.h"
#include "count_vfs.h"
#include "store_fill.h"

#define ROUNDS 12u
#define RUNS   10u /* in a block */
/* One for each run, the first round warms up, and two are compared. */
#define SESSIONS ((ROUNDS + 1) * RUNS + 2)

struct contest {
    const char *name;
    size_t messages;
};

static const struct contest contests[] = {
    {"peer/openai-agents/10", 10},
    {"peer/openai-agents/500", 500},
};

static struct talk_sum stored_sum(pdr_stored *stored)
{
    pdr_stored_window *window = NULL;
    pdr_value *list = pdr_value_new_array();
    pdr_err err = PDR_ERR_INIT;
    struct talk_sum sum;

    talk_must(pdr_stored_messages(&window, stored, 0, 0, &err), &err);
    for (size_t i = 0; i < window->count; i++)
        talk_must(pdr_value_append(&list, window->messages[i].value, &err),
                  &err);
    sum = talk_list(list, pdr_stored_shape(stored));
    pdr_value_free(list);
    pdr_stored_window_free(window);
    return sum;
}

/* Each side sends and stores the same. */
static void compare(pdr_agent *agent, pdr_store *store,
                    struct other_agent *other)
{
    struct other_run theirs = other_run(other, 0);
    pdr_run where = {.stored = talk_open(store, "session", 0)};

    other_compare("sent", talk_sent(&where), theirs.sent);
    pdr_stored_close(where.stored);
    where.stored = talk_open(store, "session", 1);
    talk_run(agent, &where);
    other_compare("stored", stored_sum(where.stored), theirs.stored);
    pdr_stored_close(where.stored);
}

/* Runs on sessions from number `first` on; microseconds of the median one. */
static double our_block(pdr_agent *agent, pdr_store *store, size_t first)
{
    double us[RUNS];

    for (size_t i = 0; i < RUNS; i++) {
        const pdr_run run = {.stored = talk_open(store, "session", first + i)};
        uint64_t begin = bench_now_ns();

        talk_run(agent, &run);
        us[i] = (double)(bench_now_ns() - begin) / 1e3;
        pdr_stored_close(run.stored);
    }
    return bench_median(us, RUNS);
}

static double their_block(struct other_agent *other)
{
    double us[RUNS];

    for (size_t i = 0; i < RUNS; i++)
        us[i] = other_run(other, 0).us;
    return bench_median(us, RUNS);
}

static void measure(struct other_agent *other, const struct contest *contest)
{
    struct bench_blocks blocks = {.name = contest->name,
                                  .unit = "turns/s",
                                  .baseline = "openai-agents",
                                  .more_is_better = true};
    size_t rounds = bench_is_quick() ? 1 : ROUNDS;
    pdr_agent *agent = talk_agent(0, 0);
    struct fill fill;

    fill_place(&fill, "agent-openai.db", SESSIONS);
    pdr_store *store = fill_open(&fill);
    for (size_t n = 0; n < SESSIONS; n++)
        talk_make(store, "session", n, contest->messages);
    other_begin(other, contest->messages);
    compare(agent, store, other);
    for (size_t round = 0; round <= rounds; round++) {
        double ours = our_block(agent, store, 2 + round * RUNS);
        double theirs = their_block(other);
        if (round > 0) /* the first one warms up */
            bench_blocks_add(&blocks, 1e6 / ours, 1e6 / theirs);
    }
    bench_blocks_report(&blocks);
    pdr_store_close(store);
    fill_verify(&fill);
    fill_remove(&fill);
    pdr_agent_free(agent);
}

int main(int argc, char **argv)
{
    struct other_agent other;

    bench_start_threads(argc, argv, "agent");
    count_vfs_register();
    bench_note("clock", "wall");
    other_start(&other, "openai-agents");
    for (size_t i = 0; i < sizeof(contests) / sizeof(contests[0]); i++)
        if (bench_wants(contests[i].name))
            measure(&other, &contests[i]);
    other_stop(&other);
    return 0;
}
