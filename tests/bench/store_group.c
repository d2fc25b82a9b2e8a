/*
 * store_group.c - how many turns a second do 64 threads commit, and how many
 * bytes do they write?
 *
 * group/64  64 threads with one session each, beside a loop in one thread that
 *     was written by hand for just this (store_bare.h): the same tables, rows,
 *     digests and sync, 32 turns a transaction. Blocks of a second take turns.
 *     Reported besides: the factor over one thread that commits turn by turn,
 *     and the ratio to a bare loop that writes the two entries and the head
 *     alone.
 * bytes/written  Payload of these turns (both entries and the bag value)
 *     divided by the bytes through the VFS: log and checkpoints, the last one
 *     when the store is closed included. `bytes/single` is the same for one
 *     thread.
 *
 * Each side has a store of its own, copied from one: 10,000 sessions, of which
 * the 64 at work are spread over the file.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "count_vfs.h"
#include "store_bare.h"
#include "store_fill.h"

#define THREADS   64u
#define BARE_TURN 32u /* turns in a transaction of the bare loops */
#define ROUNDS    12u
#define BLOCK_NS  UINT64_C(1000000000)
#define QUICK_NS  UINT64_C(50000000)

static uint64_t block_ns(void)
{
    return bench_is_quick() ? QUICK_NS : BLOCK_NS;
}

/* Turns a second, and what they wrote. */
struct block {
    double turns, payload, bytes, seconds, core;
};

static double rate(const struct block *block)
{
    return block->turns / block->seconds;
}

static void block_sum(struct block *sum, const struct block *block)
{
    sum->turns += block->turns;
    sum->payload += block->payload;
    sum->bytes += block->bytes;
    sum->seconds += block->seconds;
    sum->core += block->core;
}

/* --- threads -------------------------------------------------------------- */

/* The gang commits while `running`; between two blocks all wait at `gate`. */
struct gang {
    pdr_store *store;
    pthread_barrier_t gate;
    atomic_bool running, over;
    pthread_t threads[THREADS];
    struct member {
        struct gang *gang;
        struct turn_session *session;
        struct turn turn;
        uint64_t turns, payload; /* of the present block */
    } members[THREADS];
};

static void *member_run(void *arg)
{
    struct member *member = arg;
    struct gang *gang = member->gang;

    for (;;) {
        pthread_barrier_wait(&gang->gate);
        if (atomic_load(&gang->over))
            return NULL;
        while (atomic_load(&gang->running)) {
            turn_next(&member->turn, member->session);
            turn_commit(member->session, &member->turn, gang->store);
            member->turns++;
            member->payload += member->turn.payload;
        }
        pthread_barrier_wait(&gang->gate);
    }
}

static void gang_start(struct gang *gang, const struct fill *fill,
                       pdr_store *store)
{
    gang->store = store;
    if (pthread_barrier_init(&gang->gate, NULL, THREADS + 1) != 0)
        bench_fail("cannot make a barrier");
    for (size_t i = 0; i < THREADS; i++) {
        gang->members[i].gang = gang;
        gang->members[i].session = fill_pick(fill, i);
        if (pthread_create(&gang->threads[i], NULL, member_run,
                           &gang->members[i]) != 0)
            bench_fail("cannot start thread %zu", i);
    }
}

static struct block gang_block(struct gang *gang)
{
    struct block block = {0, 0, 0, 0, 0};
    struct count_vfs before = count_vfs_get();
    struct timespec pause = {(time_t)(block_ns() / 1000000000),
                             (long)(block_ns() % 1000000000)};

    for (size_t i = 0; i < THREADS; i++)
        gang->members[i].turns = gang->members[i].payload = 0;
    atomic_store(&gang->running, true);
    uint64_t begin = bench_now_ns(), core = bench_core_ns();
    pthread_barrier_wait(&gang->gate);
    nanosleep(&pause, NULL);
    atomic_store(&gang->running, false);
    pthread_barrier_wait(&gang->gate);
    block.seconds = (double)(bench_now_ns() - begin) / 1e9;
    block.core = (double)(bench_core_ns() - core) / 1e9;
    struct count_vfs after = count_vfs_get();
    block.bytes = (double)count_vfs_bytes(&before, &after);
    for (size_t i = 0; i < THREADS; i++) {
        block.turns += (double)gang->members[i].turns;
        block.payload += (double)gang->members[i].payload;
    }
    return block;
}

static void gang_end(struct gang *gang)
{
    atomic_store(&gang->over, true);
    pthread_barrier_wait(&gang->gate);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(gang->threads[i], NULL);
    pthread_barrier_destroy(&gang->gate);
}

/* --- one thread ----------------------------------------------------------- */

static struct turn turns[BARE_TURN];

static struct block lone_block(const struct fill *fill, pdr_store *store,
                               struct turn_random *random)
{
    struct block block = {0, 0, 0, 0, 0};
    struct count_vfs before = count_vfs_get();
    uint64_t begin = bench_now_ns(), core = bench_core_ns();

    while (bench_now_ns() - begin < block_ns()) {
        struct turn_session *session =
            fill_pick(fill, turn_random(random) % THREADS);
        turn_next(&turns[0], session);
        turn_commit(session, &turns[0], store);
        block.turns++;
        block.payload += (double)turns[0].payload;
    }
    block.seconds = (double)(bench_now_ns() - begin) / 1e9;
    block.core = (double)(bench_core_ns() - core) / 1e9;
    struct count_vfs after = count_vfs_get();
    block.bytes = (double)count_vfs_bytes(&before, &after);
    return block;
}

static struct block bare_block(const struct fill *fill, struct bare *bare,
                               struct turn_random *random)
{
    struct block block = {0, 0, 0, 0, 0};
    struct turn_session *sessions[BARE_TURN];
    size_t order[THREADS];
    struct count_vfs before = count_vfs_get();
    uint64_t begin = bench_now_ns(), core = bench_core_ns();

    while (bench_now_ns() - begin < block_ns()) {
        turn_shuffle(order, THREADS, turn_random(random));
        for (size_t i = 0; i < BARE_TURN; i++) {
            sessions[i] = fill_pick(fill, order[i]);
            turn_next(&turns[i], sessions[i]);
            block.payload += (double)turns[i].payload;
        }
        bare_turns(bare, sessions, turns, BARE_TURN);
        block.turns += BARE_TURN;
    }
    block.seconds = (double)(bench_now_ns() - begin) / 1e9;
    block.core = (double)(bench_core_ns() - core) / 1e9;
    struct count_vfs after = count_vfs_get();
    block.bytes = (double)count_vfs_bytes(&before, &after);
    return block;
}

/* --- the run -------------------------------------------------------------- */

static struct fill grouped, lone, full, thin; /* a store for each side */
static struct bench_blocks against_bare = {.name = "group/64",
                                           .unit = "turns/s",
                                           .baseline = "bare",
                                           .more_is_better = true,
                                           .wanted = 0.8};
static struct bench_blocks over_one = {.name = "group/64/over-one",
                                       .unit = "turns/s",
                                       .baseline = "one thread",
                                       .more_is_better = true};
static struct bench_blocks against_thin = {.name = "group/64/entries",
                                           .unit = "turns/s",
                                           .baseline = "bare, entries",
                                           .more_is_better = true};

static void report_bytes(const char *name, const struct block *sum,
                         double wanted)
{
    if (sum->turns > 0)
        bench_report(
            &(struct bench_figure){.name = name,
                                   .value = sum->bytes / sum->turns,
                                   .unit = "bytes/turn",
                                   .baseline = "payload",
                                   .baseline_value = sum->payload / sum->turns,
                                   .wanted = wanted});
}

/* Close it; the checkpoint belongs to the turns before. */
static void close_counted(pdr_store *store, struct block *sum)
{
    struct count_vfs before = count_vfs_get();

    pdr_store_close(store);
    struct count_vfs after = count_vfs_get();
    sum->bytes += (double)count_vfs_bytes(&before, &after);
}

/* Time on the cores for one turn, of all threads together. */
static void note_core(const char *name, const struct block *sum)
{
    if (sum->turns > 0)
        bench_note_number(name, sum->core * 1e6 / sum->turns);
}

static void note_groups(pdr_store *store)
{
    pdr_store_info info;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_store_info_get(&info, store, &err) != PDR_OK)
        bench_fail("%s", err.message);
    bench_note_number(
        "commits_per_group",
        info.groups > 0 ? (double)info.commits / (double)info.groups : 0);
}

/* All sides, block by block. The first round warms up; of what it wrote, the
 * sums know nothing, nor of its part of the first checkpoint. */
static void measure(struct gang *gang, pdr_store *one, struct block *group_sum,
                    struct block *lone_sum, struct block *bare_sum)
{
    struct bare *full_loop = bare_open(&full, BARE_TURNS);
    struct bare *thin_loop = bare_open(&thin, BARE_ENTRIES);
    struct turn_random random = {1}, full_random = {2}, thin_random = {2};
    size_t rounds = bench_is_quick() ? 1 : ROUNDS;

    for (size_t round = 0; round <= rounds; round++) {
        struct block ours = gang_block(gang);
        struct block bare = bare_block(&full, full_loop, &full_random);
        struct block single = lone_block(&lone, one, &random);
        struct block entries = bare_block(&thin, thin_loop, &thin_random);
        if (round == 0)
            continue;
        bench_blocks_add(&against_bare, rate(&ours), rate(&bare));
        bench_blocks_add(&over_one, rate(&ours), rate(&single));
        bench_blocks_add(&against_thin, rate(&ours), rate(&entries));
        block_sum(group_sum, &ours);
        block_sum(lone_sum, &single);
        block_sum(bare_sum, &bare);
    }
    bare_close(full_loop);
    bare_close(thin_loop);
}

int main(int argc, char **argv)
{
    static struct gang gang;
    struct block group_sum = {0, 0, 0, 0, 0}, lone_sum = group_sum;
    struct block bare_sum = group_sum;

    bench_start_threads(argc, argv, "store");
    count_vfs_register();
    fill_make(&grouped, "store-group.db",
              bench_is_quick() ? FILL_QUICK : FILL_SESSIONS, FILL_TURNS);
    fill_copy(&lone, &grouped, "store-lone.db");
    fill_copy(&full, &grouped, "store-bare.db");
    fill_copy(&thin, &grouped, "store-entries.db");
    fill_note(&grouped);
    bench_note("bare", bare_settings(BARE_TURNS));

    pdr_store *store = fill_open(&grouped), *one = fill_open(&lone);
    gang_start(&gang, &grouped, store);
    measure(&gang, one, &group_sum, &lone_sum, &bare_sum);
    gang_end(&gang);
    note_groups(store);
    note_core("core_us", &group_sum);
    note_core("bare_core_us", &bare_sum);
    note_core("one_core_us", &lone_sum);
    close_counted(store, &group_sum);
    close_counted(one, &lone_sum);
    bench_blocks_report(&against_bare);
    bench_blocks_report(&over_one);
    bench_blocks_report(&against_thin);
    report_bytes("bytes/written", &group_sum, 0.071);
    report_bytes("bytes/single", &lone_sum, 0);

    fill_verify(&grouped);
    fill_verify(&full);
    fill_remove(&grouped);
    fill_remove(&lone);
    fill_remove(&full);
    fill_remove(&thin);
    return 0;
}
