/*
 * engine_takeover.c - how long until a fresh engine has taken over what another
 * one left?
 *
 * takeover/10000  A process ended in the middle of 10,000 runs, a session each,
 *     and their leases have lapsed. From the start of an engine until it has
 *     taken over and ended all of them, beside the same rows, committed by as
 *     many threads as the engine has workers, and nothing around it.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "bench.h"
#include "count_vfs.h"
#include "crew.h"
#include "engine_host.h"
#include "engine_rows.h"
#include "machine.h"

#define RUNS       10000u
#define QUICK_RUNS 500u
#define ROUNDS     5u
#define WORKERS    64u
#define MANY_MORE  1000000u /* a session that nobody else has */

struct place {
    size_t runs;
    struct rows first, again; /* of a claim and of a takeover, and the finish */
};

static void rest(void)
{
    const struct timespec ms = {0, 1000000};

    (void)nanosleep(&ms, NULL);
}

/* Until so many were taken over and have ended. */
static void await(struct host *host, size_t runs)
{
    pdr_engine_counts counts;
    pdr_err err = PDR_ERR_INIT;

    do {
        rest();
        talk_must(pdr_engine_check(host->engine, &err), &err);
        pdr_engine_counts_get(&counts, host->engine);
    } while (counts.completed < runs);
    if (counts.taken_over != runs || counts.failed + counts.retried > 0)
        bench_fail("%llu runs were taken over, %llu failed",
                   (unsigned long long)counts.taken_over,
                   (unsigned long long)(counts.failed + counts.retried));
}

/* Record the commits of a run, and those of one that is taken over. */
static void record(struct place *place)
{
    struct rows_session session = {.number = MANY_MORE + 1};
    pdr_err err = PDR_ERR_INIT;
    struct fill fill;
    struct host host;

    fill_place(&fill, "engine-record.db", 1);
    pdr_store *store = fill_open(&fill);
    rows_record(&place->first, store);
    host_start(&host, NULL, store, HOST_ANSWERS, 1);
    host_turn(MANY_MORE, &host);
    host_stop(&host);
    if (!rows_recorded(&place->first, store))
        bench_fail("a run is not two commits");

    rows_leave(&place->first, &session, 1, store);
    rows_record(&place->again, store);
    host_make(&host, NULL, store, HOST_ANSWERS, 1);
    talk_must(pdr_engine_start(host.engine, &err), &err);
    await(&host, 1);
    host_stop(&host);
    if (!rows_recorded(&place->again, store))
        bench_fail("a run that is taken over is not two commits");
    pdr_store_close(store);
    fill_remove(&fill);
}

/* A store with the runs that somebody left, all in its main file. */
static struct rows_session *leave(const struct place *place, struct fill *fill,
                                  const char *name)
{
    struct rows_session *sessions = calloc(place->runs, sizeof(sessions[0]));

    if (sessions == NULL)
        bench_fail("no memory for %zu sessions", place->runs);
    for (size_t i = 0; i < place->runs; i++)
        sessions[i].number = i;
    fill_place(fill, name, 1);
    pdr_store *store = fill_open(fill);
    rows_leave(&place->first, sessions, place->runs, store);
    pdr_store_close(store);
    return sessions;
}

/* --- the sides ------------------------------------------------------------ */

static double our_seconds(const struct place *place)
{
    struct fill fill;
    struct host host;
    pdr_err err = PDR_ERR_INIT;

    free(leave(place, &fill, "engine-takeover.db"));
    host_make(&host, &fill, NULL, HOST_ANSWERS, WORKERS);
    uint64_t begin = bench_now_ns();
    talk_must(pdr_engine_start(host.engine, &err), &err);
    await(&host, place->runs);
    uint64_t taken = bench_now_ns() - begin;
    host_stop(&host);
    fill_verify(&fill);
    fill_remove(&fill);
    return (double)taken / 1e9;
}

/* What the threads of the bare side share. */
struct bare {
    const struct place *place;
    pdr_store *store;
    struct rows_session *sessions;
    atomic_size_t next;
};

static void bare_work(size_t member, void *arg)
{
    struct bare *bare = arg;
    size_t i = 0;

    (void)member;
    while ((i = atomic_fetch_add(&bare->next, 1)) < bare->place->runs)
        rows_turn(&bare->place->again, &bare->sessions[i], bare->store);
}

static double bare_seconds(const struct place *place)
{
    static struct crew crew;
    struct bare bare = {.place = place};
    struct fill fill;

    bare.sessions = leave(place, &fill, "engine-bare.db");
    bare.store = fill_open(&fill);
    crew_start(&crew, WORKERS, bare_work, &bare);
    double seconds = crew_block(&crew, 0).seconds;
    crew_end(&crew);
    pdr_store_close(bare.store);
    fill_verify(&fill);
    fill_remove(&fill);
    free(bare.sessions);
    return seconds;
}

int main(int argc, char **argv)
{
    struct bench_blocks blocks = {
        .name = "takeover/10000", .unit = "s", .baseline = "bare commits"};
    struct machine machine = {.counted = 0};
    struct place place;

    bench_start_threads(argc, argv, "engine");
    if (!bench_wants(blocks.name))
        return 0;
    count_vfs_register();
    place.runs = bench_is_quick() ? QUICK_RUNS : RUNS;
    record(&place);
    while (!machine_is_done(&machine, bench_is_quick() ? 1 : ROUNDS)) {
        machine_begin(&machine);
        double ours = our_seconds(&place), bare = bare_seconds(&place);
        if (machine_end(&machine))
            bench_blocks_add(&blocks, ours, bare);
    }
    machine_note(&machine);
    bench_note_number("runs", (double)place.runs);
    bench_note_number("workers", WORKERS);
    bench_blocks_report(&blocks);
    return 0;
}
