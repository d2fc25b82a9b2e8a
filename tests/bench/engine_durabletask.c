/*
 * engine_durabletask.c - how many times more turns than with the Python
 * edition's durable agents does a session get in a second?
 *
 * peer/agent-framework-durabletask/10   The tenth turn of a session.
 * peer/agent-framework-durabletask/500  The 500th and those after it.
 *
 * A model that answers at once gets the whole history, on both sides. Theirs is
 * a worker on a backend that keeps everything in memory, in a process of its
 * own, which times itself (peers/durable.py); nothing of it is durable. Ours
 * is a file of SQLite, synced twice a turn.
 */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "count_vfs.h"
#include "engine_host.h"
#include "machine.h"
#include "peer.h"

#define ROUNDS     9u
#define TURNS      5u /* in a block */
#define SHORT      10u
#define LONG       500u
#define QUICK_LONG 20u
#define LINE_ROOM  200u

/* Both sides, and how far their sessions are. */
struct pair {
    struct peer other;
    struct host host;
    size_t session; /* of ours; each growth makes a new one */
    size_t turns;
};

static double our_turn(struct pair *pair)
{
    uint64_t begin = bench_now_ns();

    host_turn(pair->session, &pair->host);
    return (double)(bench_now_ns() - begin) / 1e9;
}

static double their_turn(struct pair *pair)
{
    char line[LINE_ROOM];
    double ns = 0;
    size_t sent = 0;

    peer_ask(&pair->other, "turn", line, sizeof(line));
    if (sscanf(line, "%lf %zu", &ns, &sent) != 2 || sent != 2 * pair->turns + 1)
        bench_fail("the other side answers '%s' in turn %zu", line,
                   pair->turns + 1);
    return ns / 1e9;
}

/* New sessions with so many turns. */
static void pair_grow(struct pair *pair, size_t turns)
{
    char work[32], line[LINE_ROOM];

    snprintf(work, sizeof(work), "grow %zu", turns);
    peer_ask(&pair->other, work, line, sizeof(line));
    pair->session++;
    for (size_t i = 0; i < turns; i++)
        (void)our_turn(pair);
    pair->turns = turns;
}

/* Turns a second of a block on each side: the tenth of several sessions, or
 * several of one. */
static void measure_block(struct bench_blocks *blocks, struct machine *machine,
                          struct pair *pair, bool is_short)
{
    double ours = 0, theirs = 0;

    machine_begin(machine);
    if (is_short)
        for (size_t i = 0; i < TURNS; i++) {
            pair_grow(pair, SHORT - 1);
            ours += our_turn(pair);
            theirs += their_turn(pair);
        }
    for (size_t i = 0; !is_short && i < TURNS; i++)
        ours += our_turn(pair);
    for (size_t i = 0; !is_short && i < TURNS; i++, pair->turns++)
        theirs += their_turn(pair);
    if (machine_end(machine))
        bench_blocks_add(blocks, TURNS / ours, TURNS / theirs);
}

static void measure(struct pair *pair, const char *name, bool is_short,
                    double wanted)
{
    struct bench_blocks blocks = {.name = name,
                                  .unit = "turns/s",
                                  .baseline = "durabletask",
                                  .more_is_better = true,
                                  .wanted = wanted};
    struct machine machine = {.counted = 0};
    bool quick = bench_is_quick();

    if (!bench_wants(name))
        return;
    if (!is_short)
        pair_grow(pair, (quick ? QUICK_LONG : LONG) - 1);
    while (!machine_is_done(&machine, quick ? 1 : ROUNDS))
        measure_block(&blocks, &machine, pair, is_short);
    machine_note(&machine);
    bench_blocks_report(&blocks);
}

int main(int argc, char **argv)
{
    char texts[512], line[LINE_ROOM];
    struct pair pair = {.session = 0};
    struct fill fill;

    bench_start_threads(argc, argv, "engine");
    count_vfs_register();
    talk_write();
    bench_path(texts, sizeof(texts), TALK_FILE);
    const char *words[] = {texts, NULL};
    peer_start_words(&pair.other, BENCH_SCRIPT, words);
    peer_hear(&pair.other, line, sizeof(line));
    bench_note("baseline_version", line);
    peer_hear(&pair.other, line, sizeof(line));
    bench_note("baseline_settings", line);
    fill_place(&fill, "engine-durabletask.db", 1);
    host_start(&pair.host, &fill, NULL, HOST_ANSWERS_ALL, 0);
    measure(&pair, "peer/agent-framework-durabletask/10", true, 8);
    measure(&pair, "peer/agent-framework-durabletask/500", false, 150);
    host_stop(&pair.host);
    fill_verify(&fill);
    fill_remove(&fill);
    peer_stop(&pair.other);
    (void)remove(texts);
    return 0;
}
