/*
 * bench.h - what all benchmark programs share: documents, memory, the clock,
 * and the line of JSON that each case prints. See README.md in this folder.
 */
#ifndef PDR_BENCH_H
#define PDR_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_PADDING 64 /* zero bytes behind a document; simdjson wants 32 */

/* A document in memory: `len` bytes and BENCH_PADDING zeros. */
struct bench_text {
    const char *name; /* of the file */
    char *ptr;
    size_t len;
};

/* One case: two calls that do the same work, timed in turn. */
struct bench_case {
    const char *name;     /* as in "read/session" */
    const char *baseline; /* what `theirs` is */
    void (*ours)(void *arg);
    void (*theirs)(void *arg);
    void (*after)(void *arg); /* behind each call of ours, not timed, or NULL */
    void *arg;
    const struct bench_text *text; /* for the settings */
    double wanted; /* the least ratio that we want; 0 if there is none */
};

/* A figure that is not a time of two calls in turn. */
struct bench_figure {
    const char *name;
    double value;
    const char *unit;
    const char *baseline;  /* NULL if there is none */
    double baseline_value; /* in the same unit; less is better */
    double ratio;          /* 0: baseline_value divided by value */
    bool derived;          /* nobody measured the baseline */
    const struct bench_text *text;
    double wanted;
};

#define BENCH_RACE_CALLS 25

/* What one call took, in nanoseconds. */
struct bench_time {
    uint64_t taken; /* by the clock */
    uint64_t used;  /* on the core */
    bool calm;      /* the core was not taken away meanwhile */
};

/* One of several sides that do the same work, and what came out. */
struct bench_side {
    void (*call)(void *arg); /* timed here, or NULL and */
    /* one call that says its time, as another process measured it */
    struct bench_time (*timed)(void *arg);
    void (*after)(void *arg); /* behind each call, not timed, or NULL */
    void *arg;
    double median_us, p95_us, min_us; /* of the calls that count */
    size_t calls, left_out;
    bool on_core; /* time on the core: the other is that of the clock */
    struct bench_time times[BENCH_RACE_CALLS];
    size_t count;
};

/* A line about two sides. */
struct bench_row {
    const char *name;
    const char *baseline;
    const struct bench_side *ours, *theirs;
    double derived; /* nobody measured the baseline: `theirs` times this; else
                       0 */
    const struct bench_text *text;
    double wanted;
};

#define BENCH_MAX_BLOCKS 64

/* Two sides that take turns in blocks of many calls: what came out of each. */
struct bench_blocks {
    const char *name;
    const char *unit;
    const char *baseline;
    bool more_is_better; /* of the unit */
    double wanted;
    double ours[BENCH_MAX_BLOCKS], theirs[BENCH_MAX_BLOCKS];
    size_t count;
};

/* Read the options, stay on one core, install the allocator. `program` is the
 * bench that the lines name. Options: --quick (each case once, no threshold),
 * --plain-malloc (leave malloc as it is), --data FOLDER (default build/bench),
 * and a word that chooses cases. */
void bench_start(int argc, char **argv, const char *bench);

/* The same for a program with threads: it uses all cores, and malloc as it is,
 * because the allocator is for one thread. */
void bench_start_threads(int argc, char **argv, const char *bench);

bool bench_is_quick(void);

/* Is what was freed kept for the next call? Not with --plain-malloc. */
bool bench_keeps_memory(void);

/* Is this case asked for? bench_run() and bench_report() look themselves. */
bool bench_wants(const char *name);

/* Add a member to the settings of each line that follows. Both copied. */
void bench_note(const char *key, const char *value);
void bench_note_number(const char *key, double value);

/* Where a file of the data folder is. */
void bench_path(char *out, size_t cap, const char *name);

/* A file of the data folder; it lives until the program ends. */
struct bench_text bench_load(const char *name);

/* Warm up, time both sides in turn, print the line. */
void bench_run(const struct bench_case *c);

void bench_report(const struct bench_figure *figure);

/*
 * Time several sides: five calls each that do not count, then 25 that do, in
 * turns of five calls, so that each side meets its own data in the caches, and
 * all sides the same minute. Calls that were interrupted are left out, if all
 * sides have at least 15 others. If not, the machine is busy, and long calls
 * would look longer than they are: then the time on the core counts, of all
 * calls of all sides; but not if they wait for a disk (`waits`). The sides keep
 * what came out.
 */
void bench_race(struct bench_side *const *sides, size_t count, bool waits);

/* Print the line of two sides that were in one race. */
void bench_row(const struct bench_row *row);

/* One more block of each side. */
void bench_blocks_add(struct bench_blocks *blocks, double ours, double theirs);

/* The median of the ratios of the blocks: how many times better we are. */
double bench_blocks_ratio(const struct bench_blocks *blocks);

/* Print the line: medians of both sides, `ratio` as above, and its spread. */
void bench_blocks_report(const struct bench_blocks *blocks);

/* The middle one; `values` is sorted. */
double bench_median(double *values, size_t count);

/* Monotonic time in nanoseconds. */
uint64_t bench_now_ns(void);

/* Time that all threads of the process spent on cores, in nanoseconds. */
uint64_t bench_core_ns(void);

/* Say what is wrong and end the program with status 1. */
void bench_fail(const char *fmt, ...)
    __attribute__((format(printf, 1, 2), noreturn));

/* --- memory -------------------------------------------------------------- */

/* malloc and free that keep what was freed, touched, for the next call. The
 * library uses them, and each baseline that has a hook. */
void *bench_malloc(size_t size);
void *bench_realloc(void *ptr, size_t size);
void bench_free(void *ptr);

/* Bytes asked for and not yet freed. */
size_t bench_live_bytes(void);

/* `size` bytes from the system, touched. Ends the program if there are none. */
char *bench_reserve(size_t size);

/* --- what a document holds ------------------------------------------------ */

/* Everything that a reader found, in order. Equal sums, equal documents. */
struct bench_sums {
    uint64_t objects, arrays, names, strings, numbers, booleans, trues, nulls;
    uint64_t text_bytes; /* of names and strings, decoded */
    uint64_t text_hash;  /* of the same, in order */
    double number_sum;
};

void bench_sums_text(struct bench_sums *sums, const char *text, size_t len);
void bench_sums_bool(struct bench_sums *sums, bool truth);
void bench_sums_number(struct bench_sums *sums, double number);

/* Ends the program if they differ. */
void bench_sums_compare(const char *name, const struct bench_sums *ours,
                        const struct bench_sums *theirs);

/* What a walk that touches everything leaves: the text of all names and
 * strings, one after another, and the sum of all numbers. */
struct bench_touch {
    char *text; /* reserved for the whole document */
    size_t len;
    double number_sum;
};

#ifdef __cplusplus
}
#endif

#endif
