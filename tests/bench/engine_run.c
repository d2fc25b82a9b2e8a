/*
 * engine_run.c - what does a durable run cost beside the commits that it makes?
 *
 * run/overhead/N  N callers with a session each let a durable agent with an
 *     instant model answer: pdr_engine_call(), turn after turn. Divided by the
 *     same rows, committed by N threads with pdr_store_commit() and nothing
 *     around it (engine_rows.h): turns a second of both.
 * run/default/256  The same with as many workers as an engine has by default,
 *     so that three of four operations wait in the inbox: a commit more each.
 * send/answer  From sending to having the answer, one caller, beside two
 *     appends of 4,096 bytes with an fdatasync each: a turn waits for two.
 */
#include <stdlib.h>

#include "bench.h"
#include "count_store.h"
#include "count_vfs.h"
#include "crew.h"
#include "engine_host.h"
#include "engine_rows.h"
#include "machine.h"

#define ROUNDS    12u
#define BLOCK_NS  UINT64_C(500000000)
#define QUICK_NS  UINT64_C(50000000)
#define LATENCIES 200u /* turns of a block of send/answer */
#define MOST      256u
#define MANY_MORE 1000000u /* numbers of sessions that nobody else has */
#define TRIES     100u     /* to find a turn of two commits */

static uint64_t block_ns(void)
{
    return bench_is_quick() ? QUICK_NS : BLOCK_NS;
}

static size_t rounds_of_run(void)
{
    return bench_is_quick() ? 1 : ROUNDS;
}

/* --- both sides ----------------------------------------------------------- */

/* A store for each side. */
struct sides {
    struct fill our_fill, bare_fill;
    struct host host;
    pdr_store *bare_store;
    struct rows rows;
    struct rows_session *sessions; /* of the bare side */
};

static void bare_turn(size_t session, void *arg)
{
    struct sides *sides = arg;

    rows_turn(&sides->rows, &sides->sessions[session], sides->bare_store);
}

/* Record a turn of a session that is there, and see that turns by hand leave
 * what the engine leaves. */
static void sides_compare(struct sides *sides)
{
    struct rows_session session = {.number = MANY_MORE};
    size_t turns = 1;

    host_turn(MANY_MORE, &sides->host);
    for (bool done = false; !done; turns++) {
        rows_record(&sides->rows, sides->host.store);
        host_turn(MANY_MORE, &sides->host);
        done = rows_recorded(&sides->rows, sides->host.store);
        if (!done && turns == TRIES)
            bench_fail("a turn is not two commits");
    }
    for (size_t i = 0; i < turns; i++)
        rows_turn(&sides->rows, &session, sides->bare_store);
    rows_compare(MANY_MORE, sides->host.store, sides->bare_store);
}

static void sides_open(struct sides *sides, size_t count, unsigned workers)
{
    fill_place(&sides->our_fill, "engine-run.db", 1);
    fill_place(&sides->bare_fill, "engine-bare.db", 1);
    host_start(&sides->host, &sides->our_fill, NULL, HOST_ANSWERS, workers);
    sides->bare_store = fill_open(&sides->bare_fill);
    sides->sessions = calloc(count, sizeof(sides->sessions[0]));
    if (sides->sessions == NULL)
        bench_fail("no memory for %zu sessions", count);
    for (size_t i = 0; i < count; i++)
        sides->sessions[i].number = i;
    sides_compare(sides);
}

static void sides_close(struct sides *sides)
{
    host_stop(&sides->host);
    pdr_store_close(sides->bare_store);
    fill_verify(&sides->our_fill);
    fill_verify(&sides->bare_fill);
    fill_remove(&sides->our_fill);
    fill_remove(&sides->bare_fill);
    free(sides->sessions);
}

/* --- run/overhead --------------------------------------------------------- */

static void measure_overhead(const char *name, size_t count, unsigned workers,
                             double wanted)
{
    static struct crew ours, bare;
    struct bench_blocks blocks = {.name = name,
                                  .unit = "turns/s",
                                  .baseline = "bare commits",
                                  .more_is_better = true,
                                  .wanted = wanted};
    double core[2][BENCH_MAX_BLOCKS], turns = 0;
    struct machine machine = {.counted = 0};
    struct sides sides;

    if (!bench_wants(name))
        return;
    sides_open(&sides, count, workers);
    count_store_wrap(sides.host.store);
    crew_start(&ours, count, host_turn, &sides.host);
    crew_start(&bare, count, bare_turn, &sides);
    turns += crew_block(&ours, block_ns()).turns; /* warm up */
    (void)crew_block(&bare, block_ns());
    while (!machine_is_done(&machine, rounds_of_run())) {
        machine_begin(&machine);
        struct crew_block a = crew_block(&ours, block_ns());
        struct crew_block b = crew_block(&bare, block_ns());
        turns += a.turns;
        if (!machine_end(&machine))
            continue;
        core[0][blocks.count] = a.core_us;
        core[1][blocks.count] = b.core_us;
        bench_blocks_add(&blocks, crew_rate(&a), crew_rate(&b));
    }
    crew_end(&ours);
    crew_end(&bare);
    machine_note(&machine);
    bench_note_number("core_us", bench_median(core[0], blocks.count));
    bench_note_number("bare_core_us", bench_median(core[1], blocks.count));
    bench_note_number("reads", count_store_get().reads / turns);
    bench_note_number("commits", count_store_get().commits / turns);
    bench_note_number("workers", workers > 0 ? workers : 64);
    bench_blocks_report(&blocks);
    sides_close(&sides);
}

/* --- send/answer ---------------------------------------------------------- */

static void measure_answer(void)
{
    struct bench_blocks blocks = {
        .name = "send/answer", .unit = "us", .baseline = "two syncs"};
    double us[LATENCIES], p95[BENCH_MAX_BLOCKS];
    size_t turns = bench_is_quick() ? 10 : LATENCIES;
    struct machine machine = {.counted = 0};
    struct sides sides;

    if (!bench_wants(blocks.name))
        return;
    sides_open(&sides, 1, 0);
    while (!machine_is_done(&machine, rounds_of_run())) {
        machine_begin(&machine);
        for (size_t i = 0; i < turns; i++) {
            uint64_t begin = bench_now_ns();
            host_turn(0, &sides.host);
            us[i] = (double)(bench_now_ns() - begin) / 1e3;
        }
        if (!machine_end(&machine))
            continue;
        double median = bench_median(us, turns);
        p95[blocks.count] = us[turns * 95 / 100];
        bench_blocks_add(&blocks, median,
                         2 * machine.syncs_us[machine.counted - 1]);
    }
    machine_note(&machine);
    bench_note_number("p95", bench_median(p95, blocks.count));
    bench_blocks_report(&blocks);
    sides_close(&sides);
}

int main(int argc, char **argv)
{
    bench_start_threads(argc, argv, "engine");
    count_vfs_register();
    measure_answer();
    measure_overhead("run/overhead/1", 1, 0, 0.5);
    measure_overhead("run/overhead/16", 16, 0, 0.5);
    measure_overhead("run/overhead/256", MOST, MOST, 0.5);
    measure_overhead("run/default/256", MOST, 0, 0);
    return 0;
}
