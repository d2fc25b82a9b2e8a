/*
 * store_read.c - what do reads cost, and opening?
 *
 * read/last20  The last 20 entries of a session, as texts with digests and
 *     chain checked, beside a SELECT written by hand that does the same
 *     (bare_last()). Sessions with 40 entries, spread over the store.
 * read/flat  The same for a session with 100 entries, divided by one with
 *     100,000.
 * open/cold  Open the store and read the last 20 entries of one session, when
 *     neither the process nor the system has any of the file in memory.
 */
#include <fcntl.h>
#include <unistd.h>

#include "bench.h"
#include "count_vfs.h"
#include "store_bare.h"
#include "store_fill.h"

#define ROUNDS         15u
#define READS          400u /* in a block */
#define LAST           20u
#define READ_SESSIONS  200u /* with enough entries */
#define READ_TURNS     16u  /* more than all have */
#define SHORT_SESSION  200u /* places in the shuffled order */
#define LONG_SESSION   201u
#define SHORT_ENTRIES  100u
#define LONG_ENTRIES   100000u
#define QUICK_SESSIONS 20u
#define OPENS          11u

static size_t read_last(pdr_store *store, const char *id)
{
    pdr_query query = {.what = PDR_READ_ENTRIES,
                       .ref = {pdr_str_c(TURN_TENANT), pdr_str_c(id)},
                       .limit = LAST,
                       .backwards = true};
    pdr_page *page = NULL;
    pdr_err err = PDR_ERR_INIT;
    size_t bytes = 0;

    if (pdr_store_read(&page, store, &query, &err) != PDR_OK)
        bench_fail("cannot read '%s': %s", id, err.message);
    if (page->count != LAST)
        bench_fail("read %zu entries of '%s'", page->count, id);
    for (size_t i = 0; i < page->count; i++)
        bytes += page->entries[i].body.len;
    pdr_page_free(page);
    return bytes;
}

/* Microseconds a read, over `reads` sessions in an order of their own. The time
 * on the core counts: nobody waits for the disk, and a call is short beside the
 * time that a busy machine takes the core away for. */
static double our_block(const struct fill *fill, pdr_store *store,
                        size_t sessions, size_t reads, uint64_t seed)
{
    struct turn_random random = {seed};
    uint64_t begin = bench_core_ns();

    for (size_t i = 0; i < reads; i++)
        (void)read_last(store,
                        fill_pick(fill, turn_random(&random) % sessions)->id);
    return (double)(bench_core_ns() - begin) / 1e3 / (double)reads;
}

static double bare_block(const struct fill *fill, struct bare *bare,
                         size_t sessions, size_t reads, uint64_t seed)
{
    struct turn_random random = {seed};
    uint64_t begin = bench_core_ns();

    for (size_t i = 0; i < reads; i++)
        (void)bare_last(
            bare, fill_pick(fill, turn_random(&random) % sessions)->id, LAST);
    return (double)(bench_core_ns() - begin) / 1e3 / (double)reads;
}

static void measure_last(const struct fill *fill, pdr_store *store)
{
    static struct bench_blocks blocks = {
        .name = "read/last20", .unit = "us", .baseline = "bare", .wanted = 0.8};
    size_t rounds = bench_is_quick() ? 1 : ROUNDS;
    size_t reads = bench_is_quick() ? 5 : READS;
    size_t sessions = bench_is_quick() ? QUICK_SESSIONS : READ_SESSIONS;
    struct bare *bare = bare_open(fill, BARE_READS);

    for (size_t i = 0; i < sessions; i++) {
        const char *id = fill_pick(fill, i)->id;
        if (read_last(store, id) != bare_last(bare, id, LAST))
            bench_fail("the sides read different texts of '%s'", id);
    }
    for (size_t round = 0; round < rounds; round++) {
        double ours = our_block(fill, store, sessions, reads, round);
        double theirs = bare_block(fill, bare, sessions, reads, round);
        bench_blocks_add(&blocks, ours, theirs);
    }
    bare_close(bare);
    bench_blocks_report(&blocks);
}

static double one_block(pdr_store *store, const char *id, size_t reads)
{
    uint64_t begin = bench_core_ns();

    for (size_t i = 0; i < reads; i++)
        (void)read_last(store, id);
    return (double)(bench_core_ns() - begin) / 1e3 / (double)reads;
}

static void measure_flat(pdr_store *store, const char *few, const char *many)
{
    static struct bench_blocks blocks = {.name = "read/flat",
                                         .unit = "us",
                                         .baseline = "100 entries",
                                         .wanted = 0.9};
    size_t rounds = bench_is_quick() ? 1 : ROUNDS;
    size_t reads = bench_is_quick() ? 5 : READS;

    for (size_t round = 0; round <= rounds; round++) {
        double theirs = one_block(store, few, reads);
        double ours = one_block(store, many, reads);
        if (round > 0) /* the first one warms up */
            bench_blocks_add(&blocks, ours, theirs);
    }
    bench_blocks_report(&blocks);
}

/* Let the system forget the file. */
static void forget(const struct fill *fill)
{
    int file = open(fill->path, O_RDONLY | O_CLOEXEC);

    if (file < 0 || fdatasync(file) != 0 ||
        posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) != 0)
        bench_fail("%s: cannot be dropped from memory", fill->path);
    close(file);
}

static void measure_open(const struct fill *fill)
{
    double opened[OPENS], read[OPENS];
    size_t opens = bench_is_quick() ? 1 : OPENS;

    for (size_t i = 0; i < opens; i++) {
        forget(fill);
        uint64_t begin = bench_now_ns();
        pdr_store *store = fill_open(fill);
        opened[i] = (double)(bench_now_ns() - begin) / 1e3;
        (void)read_last(store, fill_pick(fill, i)->id);
        read[i] = (double)(bench_now_ns() - begin) / 1e3;
        pdr_store_close(store);
    }
    bench_note("clock", "wall");
    bench_note_number("open_alone_us", bench_median(opened, opens));
    bench_note_number("file_bytes", (double)fill_bytes(fill));
    bench_report(&(struct bench_figure){
        .name = "open/cold", .value = bench_median(read, opens), .unit = "us"});
}

/* Let a session have so many entries; the last 20 are the same in each. */
static void grow(struct turn_session *session, size_t entries, pdr_store *store)
{
    fill_entries(session, entries - 2 * FILL_TURNS - LAST, store);
    session->random.state = 20;
    fill_one(session, LAST / 2, store);
}

/* Sessions with enough entries to read, and the short and the long one. */
static void prepare(struct fill *fill)
{
    bool quick = bench_is_quick();
    size_t count = quick ? QUICK_SESSIONS : READ_SESSIONS;
    struct turn_session *sessions[READ_SESSIONS];

    fill_make(fill, "store-read.db", quick ? 2 * FILL_QUICK : FILL_SESSIONS,
              FILL_TURNS);
    for (size_t i = 0; i < count; i++)
        sessions[i] = fill_pick(fill, i);
    pdr_store *store = fill_open(fill);
    (void)fill_turns(sessions, count, READ_TURNS, store);
    grow(fill_pick(fill, SHORT_SESSION), SHORT_ENTRIES, store);
    grow(fill_pick(fill, LONG_SESSION), quick ? 1000 : LONG_ENTRIES, store);
    pdr_store_close(store);
}

int main(int argc, char **argv)
{
    struct fill fill;

    bench_start(argc, argv, "store");
    count_vfs_register();
    prepare(&fill);
    fill_note(&fill);
    bench_note("bare", bare_settings(BARE_READS));
    bench_note("clock", "core");
    pdr_store *store = fill_open(&fill);
    if (bench_wants("read/last20"))
        measure_last(&fill, store);
    if (bench_wants("read/flat"))
        measure_flat(store, fill_pick(&fill, SHORT_SESSION)->id,
                     fill_pick(&fill, LONG_SESSION)->id);
    pdr_store_close(store);
    if (bench_wants("open/cold"))
        measure_open(&fill);
    fill_remove(&fill);
    return 0;
}
