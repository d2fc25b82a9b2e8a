/*
 * machine.h - is the machine calm enough to measure on, and how fast is its
 * disk right now?
 *
 * Blocks that take seconds and use all cores cannot be timed call by call. So
 * each pair of blocks has a watch: what other machines on the same host took
 * away meanwhile (`steal` of /proc/stat), and how long a sync takes.
 */
#ifndef PDR_BENCH_MACHINE_H
#define PDR_BENCH_MACHINE_H

#include "bench.h"

struct machine {
    double stolen, total; /* of /proc/stat, when the present block began */
    double shares[BENCH_MAX_BLOCKS], syncs_us[BENCH_MAX_BLOCKS];
    size_t counted, left_out; /* blocks */
};

/* A pair of blocks begins. */
void machine_begin(struct machine *machine);

/* It has ended: does it count? Not if more than 5 % of the time was stolen;
 * with --quick always. Probes the disk. */
bool machine_end(struct machine *machine);

/* Is it enough? `rounds` pairs that count, or twice as many tries. Ends the
 * program if none counts by then. */
bool machine_is_done(const struct machine *machine, size_t rounds);

/* Notes for the line: the median of the syncs, the shares that were stolen. */
void machine_note(struct machine *machine);

/* 4,096 bytes appended to a file of the data folder, and fdatasync: the median
 * of a few, in microseconds. */
double machine_sync_us(void);

#endif
