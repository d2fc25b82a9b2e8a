/*
 * chat_group.c - how many times cheaper than in a group chat of the Python
 * edition is a turn of a chat?
 *
 * peer/agent-framework-group/10, /1000  A turn in a chat of four agents with so
 *     many messages, all of which the model gets; it answers at once.
 * peer/agent-framework-group/10/restore, ...  From nothing but what was stored
 *     until the model is called.
 * peer/agent-framework-group/10/bytes, ...  Bytes that a turn writes.
 *
 * By the clock. Theirs is in a process of its own, which times itself
 * (peers/group.py), and writes files that nobody syncs. Ours is a file of
 * SQLite, synced with each commit; to restore, the store is opened, too.
 */
#include <stdio.h>

#include "bench.h"
#include "chat_talk.h"
#include "count_vfs.h"
#include "machine.h"
#include "peer.h"
#include "store_fill.h"

#define AGENTS    4u
#define TURNS     AGENTS       /* in a block */
#define WARM      (2 * AGENTS) /* turns before it, as in peers/group.py */
#define TEXTS     1000u
#define NAME      "peer/agent-framework-group"
#define LINE_ROOM 200u

struct contest {
    const char *turn, *restore, *bytes; /* names */
    size_t messages, rounds;
    double wanted; /* of a turn */
};

static const struct contest contests[] = {
    {NAME "/10", NAME "/10/restore", NAME "/10/bytes", 10, 9, 20},
    {NAME "/1000", NAME "/1000/restore", NAME "/1000/bytes", 1000, 3, 500},
};

/* What a block of one side found. */
struct found {
    double turn_us, bytes, restore_us;
    size_t messages, text; /* that the last model was sent */
};

/* --- our side ------------------------------------------------------------- */

static double us_since(uint64_t begin)
{
    return (double)(bench_now_ns() - begin) / 1e3;
}

static struct found our_block(const struct fill *fill,
                              const struct contest *contest, const char *id)
{
    struct found found;
    struct desk desk;
    pdr_store *store = fill_open(fill);

    desk_open(&desk, store, id, AGENTS, 0);
    desk_fill(&desk, contest->messages - WARM, contest->messages);
    struct count_vfs before = count_vfs_get();
    uint64_t begin = bench_now_ns();
    desk_turns(&desk, TURNS);
    found.turn_us = us_since(begin) / TURNS;
    desk_close(&desk);
    pdr_store_close(store);
    struct count_vfs after = count_vfs_get();
    found.bytes = (double)count_vfs_bytes(&before, &after) / TURNS;
    begin = bench_now_ns();
    store = fill_open(fill);
    desk_open(&desk, store, id, AGENTS, 0);
    chat_model.sums = true;
    desk_turns(&desk, 1);
    chat_model.sums = false;
    found.restore_us = (double)(chat_model.called_ns - begin) / 1e3;
    found.messages = chat_model.messages;
    found.text = chat_model.bytes;
    desk_close(&desk);
    pdr_store_close(store);
    return found;
}

/* --- theirs --------------------------------------------------------------- */

static struct found their_block(struct peer *other,
                                const struct contest *contest)
{
    struct found found;
    char work[32], line[LINE_ROOM];

    snprintf(work, sizeof(work), "chat %zu", contest->messages);
    peer_ask(other, work, line, sizeof(line));
    if (sscanf(line, "%lf %lf %zu %zu", &found.turn_us, &found.bytes,
               &found.messages, &found.text) != 4)
        bench_fail("the other side answers '%s'", line);
    peer_ask(other, "restore", line, sizeof(line));
    if (sscanf(line, "%lf %zu %zu", &found.restore_us, &found.messages,
               &found.text) != 3)
        bench_fail("the other side answers '%s'", line);
    found.turn_us /= 1e3;
    found.restore_us /= 1e3;
    return found;
}

/* --- both ----------------------------------------------------------------- */

static struct bench_blocks blocks_of(const char *name, const char *unit,
                                     double wanted)
{
    return (struct bench_blocks){.name = name,
                                 .unit = unit,
                                 .baseline = "agent-framework",
                                 .wanted = wanted};
}

/* Both models were sent the same after a restore. */
static void compare(const struct found *ours, const struct found *theirs)
{
    if (ours->messages != theirs->messages || ours->text != theirs->text)
        bench_fail("sent: %zu messages, %zu bytes of text; theirs %zu and %zu",
                   ours->messages, ours->text, theirs->messages, theirs->text);
}

static void measure(const struct contest *contest, struct peer *other,
                    const struct fill *fill)
{
    struct bench_blocks turn = blocks_of(contest->turn, "us", contest->wanted);
    struct bench_blocks restore = blocks_of(contest->restore, "us", 0);
    struct bench_blocks bytes = blocks_of(contest->bytes, "bytes", 0);
    struct machine machine = {.counted = 0};
    size_t tries = 0;

    while (!machine_is_done(&machine, bench_is_quick() ? 1 : contest->rounds)) {
        char id[32];

        snprintf(id, sizeof(id), "%zu-%zu", contest->messages, tries++);
        machine_begin(&machine);
        struct found ours = our_block(fill, contest, id);
        struct found theirs = their_block(other, contest);
        compare(&ours, &theirs);
        if (!machine_end(&machine))
            continue;
        bench_blocks_add(&turn, ours.turn_us, theirs.turn_us);
        bench_blocks_add(&restore, ours.restore_us, theirs.restore_us);
        bench_blocks_add(&bytes, ours.bytes, theirs.bytes);
    }
    machine_note(&machine);
    bench_blocks_report(&turn);
    bench_blocks_report(&restore);
    bench_blocks_report(&bytes);
}

int main(int argc, char **argv)
{
    char folder[512], texts[512], line[LINE_ROOM];
    struct peer other;
    struct fill fill;

    bench_start_threads(argc, argv, "chat");
    count_vfs_register();
    chat_write_texts(TEXTS);
    bench_path(folder, sizeof(folder), "chat-group");
    bench_path(texts, sizeof(texts), CHAT_FILE);
    peer_start(&other, BENCH_SCRIPT, folder, texts);
    peer_hear(&other, line, sizeof(line));
    bench_note("baseline_version", line);
    peer_hear(&other, line, sizeof(line));
    bench_note("baseline_settings", line);
    fill_place(&fill, "chat-group.db", 1);
    for (size_t i = 0; i < sizeof(contests) / sizeof(contests[0]); i++)
        if (bench_wants(contests[i].turn))
            measure(&contests[i], &other, &fill);
    fill_verify(&fill);
    fill_remove(&fill);
    peer_stop(&other);
    (void)remove(texts);
    return 0;
}
