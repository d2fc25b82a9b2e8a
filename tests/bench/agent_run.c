/*
 * agent_run.c - what does a run of an agent cost on a stored session, and what
 * of it is the run itself?
 *
 * run/flat  A run with a script, on sessions with 10 entries, divided by the
 *     same on sessions with 5,000, in one store; the model gets the last ten
 *     messages of both. Two figures: time on the core, and bytes through the
 *     VFS; `ratio` is the smaller one.
 * run/overhead  The commit of the rows that a run writes, by the call of the
 *     store, divided by the run: all that it reads, makes and checks, and the
 *     same commit. The session is open, and its head is known, on both sides.
 *     Two figures: time on the core, and by the clock, for both wait for a
 *     sync; `ratio` is the smaller one.
 * request/5000  The body of a Chat Completions call with 5,000 messages.
 */
#include <stdio.h>
#include <string.h>

#include "agent.h"

#include "agent_talk.h"
#include "bench.h"
#include "count_vfs.h"
#include "store_fill.h"

#define ROUNDS 21u
#define TURNS  20u /* in a block */
#define SMALL  10u
#define LARGE  5000u
#define WINDOW 10u /* which a small session fills, too */
#define BUILDS 51u /* of a request */

struct place {
    struct fill fill;
    pdr_agent *agent;
    size_t rounds, turns; /* one small session for each turn of each round */
    size_t large;         /* entries of a large one; one for each turn */
};

static void place_make(struct place *place)
{
    bool quick = bench_is_quick();

    *place = (struct place){.agent = talk_agent(WINDOW, 0),
                            .rounds = quick ? 1 : ROUNDS,
                            .turns = quick ? 3 : TURNS,
                            .large = quick ? 100 : LARGE};
    size_t small = place->rounds * place->turns;
    fill_place(&place->fill, "agent-run.db", small + place->turns);
    pdr_store *store = fill_open(&place->fill);
    for (size_t n = 0; n < small; n++)
        talk_make(store, "small", n, SMALL);
    for (size_t n = 0; n < place->turns; n++)
        talk_make(store, "large", n, place->large);
    pdr_store_close(store);
}

/* --- run/flat ------------------------------------------------------------- */

static void open_and_run(const struct place *place, pdr_store *store,
                         const char *kind, size_t n)
{
    const pdr_run run = {.stored = talk_open(store, kind, n)};

    talk_run(place->agent, &run);
    pdr_stored_close(run.stored);
}

struct cost {
    double core_us, bytes; /* of one turn */
};

/* A block opens the store and closes it, so that it pays for its own
 * checkpoint; each of its sessions had a run before the one that counts. */
static struct cost flat_block(const struct place *place, const char *kind,
                              size_t first)
{
    pdr_store *store = fill_open(&place->fill);

    for (size_t i = 0; i < place->turns; i++)
        open_and_run(place, store, kind, first + i);
    struct count_vfs before = count_vfs_get();
    uint64_t core = bench_core_ns();
    for (size_t i = 0; i < place->turns; i++)
        open_and_run(place, store, kind, first + i);
    core = bench_core_ns() - core;
    pdr_store_close(store);
    struct count_vfs after = count_vfs_get();
    return (struct cost){(double)core / 1e3 / (double)place->turns,
                         (double)count_vfs_bytes(&before, &after) /
                             (double)place->turns};
}

static void measure_flat(const struct place *place)
{
    static struct bench_blocks core = {.name = "run/flat",
                                       .unit = "us",
                                       .baseline = "10 entries",
                                       .wanted = 0.9};
    static struct bench_blocks bytes;

    bytes = core;
    bytes.unit = "bytes";
    for (size_t round = 0; round < place->rounds; round++) {
        struct cost small = flat_block(place, "small", round * place->turns);
        struct cost large = flat_block(place, "large", 0);
        bench_blocks_add(&core, large.core_us, small.core_us);
        bench_blocks_add(&bytes, large.bytes, small.bytes);
    }
    bench_note_number("core_ratio", bench_blocks_ratio(&core));
    bench_note_number("bytes_ratio", bench_blocks_ratio(&bytes));
    bench_blocks_report(bench_blocks_ratio(&core) < bench_blocks_ratio(&bytes)
                            ? &core
                            : &bytes);
}

/* --- run/overhead --------------------------------------------------------- */

struct spent {
    double us, core_us;
};

static struct spent spent_now(void)
{
    return (struct spent){(double)bench_now_ns() / 1e3,
                          (double)bench_core_ns() / 1e3};
}

static struct spent spent_since(struct spent begin)
{
    struct spent now = spent_now();

    return (struct spent){now.us - begin.us, now.core_us - begin.core_us};
}

static pdr_page *read_rows(pdr_store *store, pdr_stored *stored)
{
    const pdr_query query = {.what = PDR_READ_ENTRIES,
                             .ref = {.id = pdr_stored_head(stored)->ref.id},
                             .limit = 2,
                             .backwards = true};
    pdr_page *page = NULL;
    pdr_err err = PDR_ERR_INIT;

    talk_must(pdr_store_read(&page, store, &query, &err), &err);
    return page;
}

/* Commit the rows of a page, which are in reverse order, to the session behind
 * a handle, which is not used any more. */
static struct spent commit_rows(pdr_store *store, pdr_stored *stored,
                                const pdr_page *page)
{
    const pdr_commit_options options = {.now_ms = TALK_NOW};
    const pdr_entry entries[] = {page->entries[1], page->entries[0]};
    const pdr_head *head = pdr_stored_head(stored);
    const pdr_edit edit = {.ref = {.id = head->ref.id},
                           .revision = head->revision,
                           .epoch = head->epoch,
                           .entries = entries,
                           .entry_count = 2};
    pdr_err err = PDR_ERR_INIT;
    struct spent begin = spent_now();

    talk_must(pdr_store_commit(NULL, store, &edit, 1, &options, &err), &err);
    return spent_since(begin);
}

static struct spent run_open(const struct place *place, pdr_stored *stored)
{
    const pdr_run run = {.stored = stored};
    struct spent begin = spent_now();

    talk_run(place->agent, &run);
    return spent_since(begin);
}

/* Medians of a block: a sync now and then takes ten times as long. */
struct overhead {
    struct bench_blocks clock, core;
    double clock_us[2][TURNS], core_us[2][TURNS]; /* the run, the commit */
};

static void overhead_set(struct overhead *o, int side, size_t i,
                         struct spent spent)
{
    o->clock_us[side][i] = spent.us;
    o->core_us[side][i] = spent.core_us;
}

static void measure_overhead(const struct place *place)
{
    static struct overhead o;
    pdr_store *store = fill_open(&place->fill);
    size_t turns = place->turns;

    o.clock = o.core = (struct bench_blocks){.name = "run/overhead",
                                             .unit = "us",
                                             .baseline = "its commit",
                                             .wanted = 0.6};
    for (size_t round = 0; round < place->rounds; round++) {
        for (size_t i = 0; i < turns; i++) {
            pdr_stored *stored = talk_open(store, "small", round * turns + i);
            overhead_set(&o, 0, i, run_open(place, stored));
            pdr_page *page = read_rows(store, stored);
            overhead_set(&o, 1, i, commit_rows(store, stored, page));
            pdr_page_free(page);
            pdr_stored_close(stored);
        }
        bench_blocks_add(&o.clock, bench_median(o.clock_us[0], turns),
                         bench_median(o.clock_us[1], turns));
        bench_blocks_add(&o.core, bench_median(o.core_us[0], turns),
                         bench_median(o.core_us[1], turns));
    }
    pdr_store_close(store);
    bench_note_number("core_ratio", bench_blocks_ratio(&o.core));
    bench_note_number("clock_ratio", bench_blocks_ratio(&o.clock));
    bench_blocks_report(
        bench_blocks_ratio(&o.core) < bench_blocks_ratio(&o.clock) ? &o.core
                                                                   : &o.clock);
}

/* --- request/5000 --------------------------------------------------------- */

static void measure_request(void)
{
    static pdr_request_message messages[TALK_MESSAGES];
    const pdr_client_request request = {
        .messages = messages,
        .count = TALK_MESSAGES,
        .instructions = pdr_str_c("You are a helpful clerk."),
        .shape = PDR_SHAPE_DOTNET};
    const struct pdr__openai_profile profile = {.instructions_role = "system"};
    pdr_buf body = PDR_BUF_INIT((size_t)1 << 26);
    pdr_err err = PDR_ERR_INIT;
    double us[BUILDS];
    size_t builds = bench_is_quick() ? 1 : BUILDS;

    for (size_t i = 0; i < TALK_MESSAGES; i++)
        messages[i] =
            (pdr_request_message){talk_message(i, PDR_SHAPE_DOTNET),
                                  PDR_SHAPE_DOTNET, PDR_ORIGIN_HISTORY};
    for (size_t i = 0; i < builds; i++) {
        pdr_buf_clear(&body);
        uint64_t core = bench_core_ns();
        talk_must(pdr__openai_request(&body, &request, pdr_str_c("m"), &profile,
                                      &err),
                  &err);
        us[i] = (double)(bench_core_ns() - core) / 1e3;
    }
    bench_report(&(struct bench_figure){
        .name = "request/5000",
        .value = bench_median(us, builds),
        .unit = "us",
        .text = &(struct bench_text){"a request", NULL, body.len}});
    for (size_t i = 0; i < TALK_MESSAGES; i++)
        pdr_value_free((pdr_value *)(uintptr_t)messages[i].value);
    pdr_buf_dispose(&body);
}

int main(int argc, char **argv)
{
    struct place place;

    bench_start(argc, argv, "agent");
    if (bench_wants("request/5000"))
        measure_request();
    if (!bench_wants("run/flat") && !bench_wants("run/overhead"))
        return 0;
    count_vfs_register();
    place_make(&place);
    if (bench_wants("run/overhead"))
        measure_overhead(&place);
    if (bench_wants("run/flat"))
        measure_flat(&place);
    fill_verify(&place.fill);
    fill_remove(&place.fill);
    pdr_agent_free(place.agent);
    return 0;
}
