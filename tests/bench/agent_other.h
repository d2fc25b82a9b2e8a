/*
 * agent_other.h - an agent of another library, in a process of its own.
 *
 * peers/run.py has them. The process times itself, and says what its model was
 * sent, so that both sides can be seen to do the same.
 */
#ifndef PDR_BENCH_AGENT_OTHER_H
#define PDR_BENCH_AGENT_OTHER_H

#include "agent_talk.h"
#include "peer.h"

struct other_agent {
    struct peer process;
    const char *name;
};

/* One run. */
struct other_run {
    double us, core_us;
    struct talk_sum sent, stored, answer;
};

/* Start it; its version and settings become notes. */
void other_start(struct other_agent *other, const char *name);

/* Give it a session with so many messages. */
void other_begin(struct other_agent *other, size_t messages);

/* Let it run once; `pieces` of the answer, 0 for one at once. */
struct other_run other_run(struct other_agent *other, size_t pieces);

/* End the program if two sums differ. */
void other_compare(const char *what, struct talk_sum ours,
                   struct talk_sum theirs);

void other_stop(struct other_agent *other);

#endif
