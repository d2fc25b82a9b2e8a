/*
 * agent_framework.c - how many times cheaper than with the Python edition is a
 * run of an agent, all in memory?
 *
 * peer/agent-framework/N  A run on a session with N messages, all of which the
 *     model gets. Its model is instant, ours is a script.
 * stream/200  A run whose answer comes in 200 pieces, on a session with 10.
 *
 * By time on the core, on both sides. After each run the session is put back as
 * it was, which is not timed.
 */
#include <stdio.h>

#include "agent_other.h"
#include "agent_talk.h"
#include "ours.h"

#define ROUNDS   21u
#define MAX_RUNS 20u

struct contest {
    const char *name;
    size_t messages, pieces;
    size_t runs; /* in a block */
    double wanted;
};

static const struct contest contests[] = {
    {"peer/agent-framework/10", 10, 0, 20, 15},
    {"peer/agent-framework/500", 500, 0, 5, 50},
    {"peer/agent-framework/5000", 5000, 0, 2, 100},
    {"stream/200", 10, TALK_PIECES, 10, 0},
};

/* --- our side ------------------------------------------------------------- */

/* A session in memory, and its history as it was. */
struct side {
    pdr_agent *agent;
    pdr_session *session;
    pdr_value *history; /* owned; the slot */
    size_t heard;       /* pieces */
};

static pdr_str history_key(const struct side *side)
{
    return pdr_str_c(pdr_session_history_key(side->session));
}

/* Turn by turn, as a conversation grows. */
static void side_begin(struct side *side, const struct contest *contest)
{
    const pdr_session_parts parts = {.shape = PDR_SESSION_PYTHON,
                                     .id = pdr_str_c("desk")};
    pdr_err err = PDR_ERR_INIT;

    *side = (struct side){.agent = talk_agent(0, contest->pieces)};
    talk_must(pdr_session_new(&side->session, &parts, &err), &err);
    for (size_t i = 0; i < contest->messages; i += 2) {
        const pdr_shape shape = pdr_session_message_shape(side->session);
        pdr_value *turn[] = {talk_message(i, shape),
                             talk_message(i + 1, shape)};

        talk_must(pdr_session_add_messages(
                      side->session, (const pdr_value *const *)turn, 2, &err),
                  &err);
        pdr_value_free(turn[0]);
        pdr_value_free(turn[1]);
    }
    talk_must(pdr_bag_get(&side->history, pdr_session_bag(side->session),
                          history_key(side), &err),
              &err);
}

static void side_restore(struct side *side)
{
    pdr_err err = PDR_ERR_INIT;

    talk_must(pdr_bag_set(pdr_session_bag(side->session), history_key(side),
                          side->history, &err),
              &err);
}

static void side_end(struct side *side)
{
    pdr_value_free(side->history);
    pdr_session_free(side->session);
    pdr_agent_free(side->agent);
}

static pdr_rc hear(const pdr_update *update, pdr_err *err, void *arg)
{
    struct side *side = arg;

    (void)err;
    side->heard += update->content_count;
    return PDR_OK;
}

static double side_run(struct side *side)
{
    const pdr_run run = {.session = side->session, .fn = hear, .arg = side};
    uint64_t core = bench_core_ns();

    talk_run(side->agent, &run);
    core = bench_core_ns() - core;
    side_restore(side);
    return (double)core / 1e3;
}

/* --- both ----------------------------------------------------------------- */

/* Each side sends and stores the same. */
static void compare(struct side *side, struct other_agent *other,
                    const struct contest *contest)
{
    const pdr_run where = {.session = side->session, .fn = hear, .arg = side};
    const pdr_shape shape = pdr_session_message_shape(side->session);
    struct other_run theirs = other_run(other, contest->pieces);
    pdr_value *list = NULL;
    pdr_err err = PDR_ERR_INIT;

    other_compare("sent", talk_sent(&where), theirs.sent);
    side_restore(side);
    side->heard = 0;
    talk_run(side->agent, &where);
    if (side->heard != (contest->pieces > 0 ? contest->pieces : 1))
        bench_fail("%s: heard %zu pieces", contest->name, side->heard);
    talk_must(pdr_session_history(&list, side->session, &err), &err);
    other_compare("stored", talk_list(list, shape), theirs.stored);
    pdr_value_free(list);
    side_restore(side);
}

static void measure(struct other_agent *other, const struct contest *contest)
{
    struct bench_blocks blocks = {.name = contest->name,
                                  .unit = "us",
                                  .baseline = "agent-framework",
                                  .wanted = contest->wanted};
    double ours[MAX_RUNS], theirs[MAX_RUNS];
    size_t rounds = bench_is_quick() ? 1 : ROUNDS;
    struct side side;

    side_begin(&side, contest);
    other_begin(other, contest->messages);
    compare(&side, other, contest);
    for (size_t round = 0; round <= rounds; round++) {
        for (size_t i = 0; i < contest->runs; i++)
            ours[i] = side_run(&side);
        for (size_t i = 0; i < contest->runs; i++)
            theirs[i] = other_run(other, contest->pieces).core_us;
        if (round > 0) /* the first one warms up */
            bench_blocks_add(&blocks, bench_median(ours, contest->runs),
                             bench_median(theirs, contest->runs));
    }
    bench_blocks_report(&blocks);
    side_end(&side);
}

int main(int argc, char **argv)
{
    struct other_agent other;

    ours_start(argc, argv, "agent");
    bench_note("clock", "core");
    other_start(&other, "agent-framework");
    for (size_t i = 0; i < sizeof(contests) / sizeof(contests[0]); i++)
        if (bench_wants(contests[i].name))
            measure(&other, &contests[i]);
    other_stop(&other);
    return 0;
}
