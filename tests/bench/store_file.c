/*
 * store_file.c - how much larger than its entries is a store?
 *
 * bytes/file  Bytes of the entries divided by those of the main file after the
 *     log was copied into it: 60 turns on each of 1,000 sessions, in an order
 *     that is shuffled anew for each turn.
 */
#include <stdlib.h>

#include "bench.h"
#include "count_vfs.h"
#include "store_fill.h"

#define SESSIONS 1000u
#define TURNS    60u

int main(int argc, char **argv)
{
    struct fill fill;

    bench_start(argc, argv, "store");
    count_vfs_register();
    size_t sessions = bench_is_quick() ? SESSIONS / 10 : SESSIONS;
    size_t turns = bench_is_quick() ? TURNS / 10 : TURNS;
    fill_make(&fill, "store-file.db", sessions, 0);
    fill_note(&fill);
    struct turn_session **all = calloc(sessions, sizeof(all[0]));
    if (all == NULL)
        bench_fail("no memory for %zu sessions", sessions);
    for (size_t i = 0; i < sessions; i++)
        all[i] = &fill.sessions[i];

    pdr_store *store = fill_open(&fill);
    uint64_t core = bench_core_ns();
    uint64_t bytes = fill_turns(all, sessions, turns, store);
    core = bench_core_ns() - core;
    pdr_store_close(store);
    bench_note_number("turns", (double)(sessions * turns));
    bench_note_number("core_us_per_turn",
                      (double)core / 1e3 / (double)(sessions * turns));
    bench_report(&(struct bench_figure){.name = "bytes/file",
                                        .value = (double)fill_bytes(&fill),
                                        .unit = "bytes",
                                        .baseline = "entries",
                                        .baseline_value = (double)bytes,
                                        .wanted = 0.67});
    fill_verify(&fill);
    fill_remove(&fill);
    free(all);
    return 0;
}
