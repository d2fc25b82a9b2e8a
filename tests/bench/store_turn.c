/*
 * store_turn.c - what does a turn cost in a long session, and beside one sync?
 *
 * turn/flat/sqlite  A turn of sessions with ten entries, divided by one of a
 *     session with 10,000, and by one of a session that was imported from a
 *     pretty-printed document with 1 MB of unknown members; all in one store.
 *     Three figures each: bytes through the VFS, those to the log alone, and
 *     time on the core. `ratio` is the smallest of the six.
 *
 *     A block opens the store, makes each of its commits once so that both
 *     sides have their pages in memory, and then once more, which counts: a
 *     short session has ten entries at that moment. Then it closes the store,
 *     which copies the log into the main file, so that each block pays for its
 *     own checkpoint.
 *
 * turn/durable  One commit by one thread, beside what no durable write can
 *     avoid: 4,096 bytes appended to a growing file in the same folder, and
 *     fdatasync.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <perdure/archive.h>

#include "bench.h"
#include "count_vfs.h"
#include "store_fill.h"

#define ROUNDS       13u
#define FLAT_COMMITS 50u
#define LONG_ENTRIES 10000u
#define FRAME_BYTES  (1u << 20)

#define DURABLE_COMMITS  60u
#define DURABLE_SESSIONS 64u
#define APPEND_BYTES     4096u
#define FRAME_SESSION    0u /* places in the shuffled order */
#define LONG_SESSION     1u
#define SHORT_SESSIONS   2u

static struct turn turn;

/* --- flat ----------------------------------------------------------------- */

struct cost {
    double bytes, log_bytes, core_us; /* of one turn */
};

static void play(struct turn_session *const *sessions, size_t count,
                 pdr_store *store)
{
    for (size_t i = 0; i < count; i++) {
        turn_next(&turn, sessions[i]);
        turn_commit(sessions[i], &turn, store);
    }
}

static struct cost flat_block(const struct fill *fill,
                              struct turn_session *const *sessions,
                              size_t count)
{
    pdr_store *store = fill_open(fill);

    play(sessions, count, store);
    struct count_vfs before = count_vfs_get();
    uint64_t core = bench_core_ns();
    play(sessions, count, store);
    core = bench_core_ns() - core;
    struct count_vfs played = count_vfs_get();
    pdr_store_close(store);
    struct count_vfs closed = count_vfs_get();
    return (struct cost){
        (double)count_vfs_bytes(&before, &closed) / (double)count,
        (double)(played.log_bytes - before.log_bytes) / (double)count,
        (double)core / 1e3 / (double)count};
}

/* A state document as people lay it out: eight entries, and 1 MB of members
 * that nobody knows. */
static char *pretty_document(size_t *len)
{
    size_t room = FRAME_BYTES + ((size_t)64 << 10);
    char *text = bench_reserve(room);
    FILE *out = fmemopen(text, room, "w");
    size_t n = 0;

    if (out == NULL)
        bench_fail("no memory for a document");
    fprintf(out, "{\n  \"schemaVersion\": \"1.1.0\",\n  \"data\": {\n"
                 "    \"conversationHistory\": [");
    for (size_t i = 0; i < 2 * FILL_TURNS; i++)
        fprintf(out,
                "%s\n      {\n        \"$type\": \"%s\",\n"
                "        \"correlationId\": \"before-%zu\",\n"
                "        \"createdAt\": \"2026-01-01T00:00:00Z\",\n"
                "        \"messages\": []\n      }",
                i == 0 ? "" : ",", i % 2 == 0 ? "request" : "response", i / 2);
    fprintf(out, "\n    ]\n  }");
    while ((size_t)ftell(out) < FRAME_BYTES)
        fprintf(out, ",\n  \"unknown-%zu\": { \"a\": [ 1.50, \"\\u0041\" ] }",
                n++);
    fprintf(out, "\n}\n");
    *len = (size_t)ftell(out);
    fclose(out);
    return text;
}

/* Put that document in the place of a session, and bring it to where the others
 * are: under a lease, with work and properties. */
static void import_pretty(struct turn_session *session, pdr_store *store)
{
    pdr_str bytes = {NULL, 0};
    char *text = pretty_document(&bytes.len);
    pdr_import_report report;
    pdr_err err = PDR_ERR_INIT;
    pdr_edit gone = {.ref = {pdr_str_c(TURN_TENANT), pdr_str_c(session->id)},
                     .revision = session->revision,
                     .remove = true};

    bytes.ptr = text;
    turn_session_init(session, session->number);
    turn_first(&turn, session);
    pdr_import_opts opts = {.ref = gone.ref, .now_ms = turn.options.now_ms};
    if (pdr_store_commit(NULL, store, &gone, 1, &turn.options, &err) !=
            PDR_OK ||
        pdr_import(&report, store, &opts, &err, pdr_read_str, &bytes) != PDR_OK)
        bench_fail("cannot import a document: %s", err.message);
    turn.edit.revision = report.revision;
    turn_commit(session, &turn, store);
    free(text);
}

/* The three figures of one comparison. */
struct flat {
    struct bench_blocks bytes, log, core;
};

static void flat_add(struct flat *flat, const struct cost *ours,
                     const struct cost *small)
{
    bench_blocks_add(&flat->bytes, ours->bytes, small->bytes);
    bench_blocks_add(&flat->log, ours->log_bytes, small->log_bytes);
    bench_blocks_add(&flat->core, ours->core_us, small->core_us);
}

static void flat_report(const struct flat *pair)
{
    static const char *const names[] = {"10000_bytes",     "10000_log_bytes",
                                        "10000_core",      "frame_bytes",
                                        "frame_log_bytes", "frame_core"};
    const struct bench_blocks *all[] = {&pair[0].bytes, &pair[0].log,
                                        &pair[0].core,  &pair[1].bytes,
                                        &pair[1].log,   &pair[1].core};
    size_t least = 0;

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        bench_note_number(names[i], bench_blocks_ratio(all[i]));
        if (bench_blocks_ratio(all[i]) < bench_blocks_ratio(all[least]))
            least = i;
    }
    bench_note("smallest", names[least]);
    bench_blocks_report(all[least]);
}

static void measure_flat(struct fill *fill)
{
    size_t rounds = bench_is_quick() ? 1 : ROUNDS;
    size_t commits = bench_is_quick() ? 5 : FLAT_COMMITS;
    struct turn_session *small[FLAT_COMMITS], *large[2][FLAT_COMMITS];
    static struct flat pair[2];

    for (size_t i = 0; i < 2; i++) {
        struct bench_blocks same = {.name = "turn/flat/sqlite",
                                    .baseline = "10 entries",
                                    .wanted = 0.9};
        pair[i] = (struct flat){same, same, same};
        pair[i].bytes.unit = pair[i].log.unit = "bytes";
        pair[i].core.unit = "us";
    }
    for (size_t i = 0; i < commits; i++) {
        large[0][i] = fill_pick(fill, LONG_SESSION);
        large[1][i] = fill_pick(fill, FRAME_SESSION);
    }
    for (size_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < commits; i++)
            small[i] = fill_pick(fill, SHORT_SESSIONS + round * commits + i);
        struct cost base = flat_block(fill, small, commits);
        for (size_t i = 0; i < 2; i++) {
            struct cost cost = flat_block(fill, large[i], commits);
            flat_add(&pair[i], &cost, &base);
        }
    }
    flat_report(pair);
}

/* --- durable -------------------------------------------------------------- */

static double append_us(int file)
{
    static char bytes[APPEND_BYTES];
    uint64_t begin = bench_now_ns();

    if (write(file, bytes, sizeof(bytes)) != (ssize_t)sizeof(bytes) ||
        fdatasync(file) != 0)
        bench_fail("cannot append: %s", strerror(errno));
    return (double)(bench_now_ns() - begin) / 1e3;
}

static double commit_us(struct turn_session *session, pdr_store *store)
{
    turn_next(&turn, session);
    uint64_t begin = bench_now_ns();
    turn_commit(session, &turn, store);
    return (double)(bench_now_ns() - begin) / 1e3;
}

static void measure_durable(struct fill *fill)
{
    size_t rounds = bench_is_quick() ? 1 : ROUNDS;
    size_t commits = bench_is_quick() ? 5 : DURABLE_COMMITS;
    double ours[DURABLE_COMMITS], theirs[DURABLE_COMMITS];
    struct turn_random random = {64};
    static struct bench_blocks blocks = {.name = "turn/durable",
                                         .unit = "us",
                                         .baseline = "append+fdatasync",
                                         .wanted = 0.55};
    char path[512];

    bench_path(path, sizeof(path), "store-turn.append");
    int file = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0600);
    if (file < 0)
        bench_fail("%s: %s", path, strerror(errno));
    pdr_store *store = fill_open(fill);
    for (size_t round = 0; round <= rounds; round++) {
        for (size_t i = 0; i < commits; i++)
            theirs[i] = append_us(file);
        for (size_t i = 0; i < commits; i++) {
            size_t at = turn_random(&random) % DURABLE_SESSIONS;
            ours[i] = commit_us(fill_pick(fill, fill->count - 1 - at), store);
        }
        if (round > 0) /* the first one warms up */
            bench_blocks_add(&blocks, bench_median(ours, commits),
                             bench_median(theirs, commits));
    }
    pdr_store_close(store);
    close(file);
    unlink(path);
    bench_blocks_report(&blocks);
}

int main(int argc, char **argv)
{
    struct fill fill;
    bool quick = false;

    bench_start(argc, argv, "store");
    quick = bench_is_quick();
    count_vfs_register();
    fill_make(&fill, "store-turn.db", quick ? FILL_QUICK : FILL_SESSIONS,
              FILL_TURNS);
    fill_note(&fill);
    if (bench_wants("turn/durable"))
        measure_durable(&fill);
    if (bench_wants("turn/flat/sqlite")) {
        pdr_store *store = fill_open(&fill);
        size_t turns = quick ? 50 : LONG_ENTRIES / 2 - FILL_TURNS;
        fill_one(fill_pick(&fill, LONG_SESSION), turns, store);
        import_pretty(fill_pick(&fill, FRAME_SESSION), store);
        pdr_store_close(store);
        measure_flat(&fill);
    }
    fill_verify(&fill);
    fill_remove(&fill);
    return 0;
}
