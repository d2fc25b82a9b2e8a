/*
 * chat_turn.c - does a turn of a chat cost the same however long the chat is?
 *
 * turn/flat  A turn in a chat of eight agents with 10 messages, divided by one
 *     in a chat with 10,000; the models get the last ten messages of both. Two
 *     figures: time on the core, and bytes through the VFS; `ratio` is the
 *     smaller one.
 */
#include <stdio.h>

#include "bench.h"
#include "chat_talk.h"
#include "count_vfs.h"
#include "store_fill.h"

#define ROUNDS 41u
#define AGENTS CHAT_MAX_AGENTS
#define TURNS  32u /* in a block: each agent speaks four times */
#define SMALL  10u
#define LARGE  10000u
#define WINDOW 10u /* which a small chat fills, too */

struct cost {
    double core_us, bytes; /* of one turn */
};

static void chat_ready(struct desk *desk, pdr_store *store, const char *id,
                       size_t messages)
{
    desk_open(desk, store, id, AGENTS, WINDOW);
    desk_fill(desk, messages - AGENTS, messages); /* each has spoken */
}

/* Make a chat, so that what that writes is written. */
static void make(const struct fill *fill, const char *id, size_t messages)
{
    pdr_store *store = fill_open(fill);
    struct desk desk;

    chat_ready(&desk, store, id, messages);
    desk_close(&desk);
    pdr_store_close(store);
}

/* A block opens the store and closes it, so that it pays for its own
 * checkpoint. A turn of each agent comes first and does not count: opening a
 * long chat leaves memory to be given back, and cold caches. */
static struct cost block(const struct fill *fill, const char *id,
                         size_t messages)
{
    pdr_store *store = fill_open(fill);
    struct desk desk;

    chat_ready(&desk, store, id, messages);
    desk_turns(&desk, AGENTS);
    struct count_vfs before = count_vfs_get();
    uint64_t core = bench_core_ns();
    desk_turns(&desk, TURNS);
    core = bench_core_ns() - core;
    desk_close(&desk);
    pdr_store_close(store);
    struct count_vfs after = count_vfs_get();
    return (struct cost){(double)core / 1e3 / TURNS,
                         (double)count_vfs_bytes(&before, &after) / TURNS};
}

static void measure(const struct fill *fill, size_t rounds, size_t large)
{
    static struct bench_blocks core = {.name = "turn/flat",
                                       .unit = "us",
                                       .baseline = "10 messages",
                                       .wanted = 0.9};
    static struct bench_blocks bytes;
    const struct bench_blocks *worse = &core;

    bytes = core;
    bytes.unit = "bytes";
    make(fill, "large", large);
    for (size_t round = 0; round <= rounds; round++) {
        char id[32];

        snprintf(id, sizeof(id), "small-%zu", round);
        make(fill, id, SMALL);
        struct cost few = block(fill, id, SMALL);
        struct cost many = block(fill, "large", large);
        if (round == 0) /* warms up */
            continue;
        bench_blocks_add(&core, many.core_us, few.core_us);
        bench_blocks_add(&bytes, many.bytes, few.bytes);
    }
    bench_note_number("core_ratio", bench_blocks_ratio(&core));
    bench_note_number("bytes_ratio", bench_blocks_ratio(&bytes));
    if (bench_blocks_ratio(&bytes) < bench_blocks_ratio(&core))
        worse = &bytes;
    bench_blocks_report(worse);
}

int main(int argc, char **argv)
{
    struct fill fill;

    bench_start_threads(argc, argv, "chat");
    if (!bench_wants("turn/flat"))
        return 0;
    count_vfs_register();
    fill_place(&fill, "chat-turn.db", 1);
    measure(&fill, bench_is_quick() ? 1 : ROUNDS,
            bench_is_quick() ? 100 : LARGE);
    fill_verify(&fill);
    fill_remove(&fill);
    return 0;
}
