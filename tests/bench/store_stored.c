/*
 * store_stored.c - what does a turn cost through a stored session?
 *
 * stored/turn  Open the session, read its last 20 messages, add two, change one
 *     slot, commit: beside the calls of the store that read and write the same
 *     rows (head, slot, entries, one commit). By the clock: both wait for a
 *     sync.
 * stored/flat  The same turn of sessions with 10 entries and 10 slots, divided
 *     by one of a session with 10,000 of each, in one store. Two figures: time
 *     on the core, and bytes through the VFS; `ratio` is the smaller one.
 */
#include <stdio.h>
#include <string.h>

#include <perdure.h>

#include "bench.h"
#include "count_vfs.h"
#include "store_fill.h"

#define ROUNDS   21u
#define TURNS    40u /* in a block */
#define SESSIONS 2000u
#define SMALL    10u
#define LARGE    10000u
#define LAST     20u

static const pdr_commit_options options = {.now_ms = INT64_C(1780000000000)};
static char words[401]; /* of a message */
static uint64_t counter;

static void must(pdr_rc rc, const pdr_err *err)
{
    if (rc != PDR_OK)
        bench_fail("%s", err->message);
}

static void session_name(char out[32], size_t n)
{
    snprintf(out, 32, "session-%06zu", n);
}

static void add_messages(pdr_stored *s, size_t count)
{
    pdr_err err = PDR_ERR_INIT;

    for (size_t i = 0; i < count; i++) {
        pdr_value *message = NULL;

        must(pdr_message_new_text(&message, pdr_stored_shape(s),
                                  pdr_str_c(i % 2 == 0 ? "user" : "assistant"),
                                  pdr_str_c(words), &err),
             &err);
        must(pdr_stored_add_messages(s, pdr_str_n(NULL, 0),
                                     (const pdr_value *const *)&message, 1,
                                     &err),
             &err);
        pdr_value_free(message);
    }
}

static void set_slot(pdr_stored *s, const char *key)
{
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;
    char text[64];

    snprintf(text, sizeof(text), "what a provider keeps, %012llu",
             (unsigned long long)++counter);
    must(pdr_value_new_string(&value, pdr_str_c(text), &err), &err);
    must(pdr_bag_set(pdr_session_bag(pdr_stored_session(s)), pdr_str_c(key),
                     value, &err),
         &err);
    pdr_value_free(value);
}

static pdr_stored *open_session(pdr_store *store, size_t n, bool create)
{
    const pdr_stored_opts opts = {.create = create};
    pdr_stored *s = NULL;
    pdr_err err = PDR_ERR_INIT;
    char id[32];

    session_name(id, n);
    const pdr_ref ref = {.id = pdr_str_c(id)};
    must(pdr_stored_open(&s, store, &ref, &opts, &err), &err);
    return s;
}

/* A session with so many entries and slots. */
static void make_session(pdr_store *store, size_t n, size_t size)
{
    pdr_stored *s = open_session(store, n, true);
    pdr_err err = PDR_ERR_INIT;
    char key[32];

    for (size_t i = 0; i < size; i++) {
        snprintf(key, sizeof(key), "provider-%05zu", i);
        set_slot(s, key);
    }
    add_messages(s, size);
    must(pdr_stored_commit(s, &options, &err), &err);
    pdr_stored_close(s);
}

static void play_turn(pdr_store *store, size_t n)
{
    const pdr_str key = pdr_str_c("provider-00005");
    pdr_stored *s = open_session(store, n, false);
    pdr_stored_window *last = NULL;
    pdr_err err = PDR_ERR_INIT;

    must(pdr_stored_load(s, &key, 1, &err), &err);
    must(pdr_stored_messages(&last, s, LAST, 0, &err), &err);
    pdr_stored_window_free(last);
    add_messages(s, 2);
    set_slot(s, key.ptr);
    must(pdr_stored_commit(s, &options, &err), &err);
    pdr_stored_close(s);
}

static pdr_page *read_rows(pdr_store *store, const pdr_query *query)
{
    pdr_page *page = NULL;
    pdr_err err = PDR_ERR_INIT;

    must(pdr_store_read(&page, store, query, &err), &err);
    return page;
}

/* The same rows by the calls of the store. */
static void play_rows(pdr_store *store, size_t n)
{
    char id[32], body[2][512], value[64];
    pdr_entry entries[2];
    pdr_slot slot = {.key = pdr_str_c("provider-00005")};
    pdr_edit edit = {
        .entries = entries, .entry_count = 2, .slots = &slot, .slot_count = 1};
    pdr_query query = {.what = PDR_READ_HEAD};
    pdr_err err = PDR_ERR_INIT;

    session_name(id, n);
    query.ref.id = pdr_str_c(id);
    pdr_page *page = read_rows(store, &query);
    edit.ref = query.ref;
    edit.revision = page->head.revision;
    edit.epoch = page->head.epoch;
    pdr_page_free(page);
    query.what = PDR_READ_SLOTS;
    query.key = slot.key;
    pdr_page_free(read_rows(store, &query));
    query = (pdr_query){.what = PDR_READ_ENTRIES,
                        .ref = edit.ref,
                        .limit = LAST,
                        .backwards = true};
    pdr_page_free(read_rows(store, &query));
    memset(entries, 0, sizeof(entries));
    for (size_t i = 0; i < 2; i++) {
        snprintf(body[i], sizeof(body[i]),
                 "{\"role\":\"%s\",\"contents\":[{\"$type\":\"text\","
                 "\"text\":\"%s\"}]}",
                 i == 0 ? "user" : "assistant", words);
        entries[i].kind = PDR_ROW_MESSAGE;
        entries[i].shape = PDR_ROW_DOTNET;
        entries[i].body = pdr_str_c(body[i]);
    }
    snprintf(value, sizeof(value), "\"what a provider keeps, %012llu\"",
             (unsigned long long)++counter);
    slot.value = pdr_str_c(value);
    must(pdr_store_commit(NULL, store, &edit, 1, &options, &err), &err);
}

static void measure_turn(pdr_store *store, size_t sessions)
{
    static struct bench_blocks blocks = {.name = "stored/turn",
                                         .unit = "us",
                                         .baseline = "rows by hand",
                                         .wanted = 0.8};
    size_t rounds = bench_is_quick() ? 1 : ROUNDS;
    size_t turns = bench_is_quick() ? 5 : TURNS;
    double ours[TURNS], theirs[TURNS];

    for (size_t round = 0; round <= rounds; round++) {
        for (size_t i = 0; i < turns; i++) {
            size_t n = (round * turns + i) * 7 % sessions;
            uint64_t begin = bench_now_ns();
            play_turn(store, n);
            uint64_t middle = bench_now_ns();
            play_rows(store, (n + 1) % sessions);
            ours[i] = (double)(middle - begin) / 1e3;
            theirs[i] = (double)(bench_now_ns() - middle) / 1e3;
        }
        if (round > 0) /* the first one warms up */
            bench_blocks_add(&blocks, bench_median(ours, turns),
                             bench_median(theirs, turns));
    }
    bench_blocks_report(&blocks);
}

struct cost {
    double core_us, bytes; /* of one turn */
};

/* A block opens the store and closes it, so that it pays for its own
 * checkpoint; its turns are made once before they count. */
static struct cost flat_block(const struct fill *fill, size_t first,
                              size_t step, size_t turns)
{
    pdr_store *store = fill_open(fill);

    for (size_t i = 0; i < turns; i++)
        play_turn(store, first + i * step);
    struct count_vfs before = count_vfs_get();
    uint64_t core = bench_core_ns();
    for (size_t i = 0; i < turns; i++)
        play_turn(store, first + i * step);
    core = bench_core_ns() - core;
    pdr_store_close(store);
    struct count_vfs after = count_vfs_get();
    return (struct cost){(double)core / 1e3 / (double)turns,
                         (double)count_vfs_bytes(&before, &after) /
                             (double)turns};
}

static void measure_flat(const struct fill *fill, size_t sessions)
{
    static struct bench_blocks core = {.name = "stored/flat",
                                       .unit = "us",
                                       .baseline = "10 of each",
                                       .wanted = 0.9};
    static struct bench_blocks bytes;
    size_t rounds = bench_is_quick() ? 1 : ROUNDS;
    size_t turns = bench_is_quick() ? 5 : TURNS;

    bytes = core;
    bytes.unit = "bytes";
    for (size_t round = 0; round < rounds; round++) {
        struct cost small =
            flat_block(fill, round * turns % (sessions - turns), 1, turns);
        struct cost large = flat_block(fill, sessions, 0, turns);
        bench_blocks_add(&core, large.core_us, small.core_us);
        bench_blocks_add(&bytes, large.bytes, small.bytes);
    }
    bench_note_number("core", bench_blocks_ratio(&core));
    bench_note_number("bytes", bench_blocks_ratio(&bytes));
    bench_blocks_report(bench_blocks_ratio(&core) < bench_blocks_ratio(&bytes)
                            ? &core
                            : &bytes);
}

int main(int argc, char **argv)
{
    struct fill fill;
    size_t sessions = 0, large = 0;

    bench_start(argc, argv, "store");
    sessions = bench_is_quick() ? 50 : SESSIONS;
    large = bench_is_quick() ? 100 : LARGE;
    memset(words, 'w', sizeof(words) - 1);
    count_vfs_register();
    fill_place(&fill, "store-stored.db", sessions);
    pdr_store *store = fill_open(&fill);
    for (size_t n = 0; n < sessions; n++)
        make_session(store, n, SMALL);
    make_session(store, sessions, large);
    if (bench_wants("stored/turn"))
        measure_turn(store, sessions);
    pdr_store_close(store);
    if (bench_wants("stored/flat"))
        measure_flat(&fill, sessions);
    fill_verify(&fill);
    fill_remove(&fill);
    return 0;
}
