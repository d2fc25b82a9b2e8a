/*
 * bench.c - times two calls in turn and prints one line of JSON per case.
 *
 * WHY  A figure from one machine says little; the ratio of two figures from the
 *      same seconds says something. Other work on the machine, its frequency
 *      and its caches disturb both sides alike, because the sides alternate
 *      call by call; and the median drops what hits only a few calls.
 *
 * INVARIANTS
 *   I1  Before the first timed call, everything that the call needs has been
 *       allocated and touched once: both sides ran several times.
 *   I2  Time is taken around one call, never around a loop, so that a call of
 *       the other side lies between any two calls of one side.
 *   I3  A call during which the system took the core away is left out, if both
 *       sides have others: it would measure the other work. So is one beside
 *       which a yardstick, the same few microseconds of sums before and after
 *       each call, took 3 % longer than it can: then somebody else used the
 *       units of the core, as the neighbours of a virtual machine do.
 *   I4  `ratio` is the baseline's median divided by ours: above 1, ours is
 *       better.
 *
 * NOT HERE  Whether both sides computed the same: each program compares before
 *           it calls bench_run().
 */
#include "bench.h"

#include <errno.h>
#include <malloc.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <perdure.h>
#include <perdure/sys/alloc.h>

#define WARM_UP_CALLS    8
#define MIN_CALLS        51 /* below it, p10 and p90 mean nothing */
#define LEAST_CALM       15 /* below it, disturbed calls count too */
#define MAX_CALLS        4096
#define CASE_NS          1000000000u /* both sides together */
#define MAX_CASE_NS      3000000000u /* the same, if too many were disturbed */
#define YARDSTICK_ROUNDS 10000       /* some 10 us */
#define MAX_NOTES        24
#define MAX_DATA_FOLDER  512

static struct {
    const char *bench;
    const char *data;
    const char *filter; /* NULL: all cases */
    bool quick;
    bool plain; /* malloc as it is */
    int core;   /* -1: not pinned */
    struct {
        char key[32];
        char value[160];
    } notes[MAX_NOTES];
    size_t note_count;
    uint64_t yardstick_ns; /* its shortest time so far */
} run = {.data = "build/bench", .core = -1, .yardstick_ns = UINT64_MAX / 2};

void bench_fail(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    fprintf(stderr, "bench-%s: ", run.bench);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

uint64_t bench_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* --- memory -------------------------------------------------------------- */
/*
 * Blocks fall into bins: steps of 16 bytes up to 1 KiB, then four steps for
 * each doubling. A freed block goes to the list of its bin and never back to
 * the system, as a reader that is used again keeps its memory. One thread only.
 */
#define SMALL_STEP 16u
#define SMALL_MAX  1024u
#define SMALL_BINS (SMALL_MAX / SMALL_STEP + 1)
#define BINS       (SMALL_BINS + 4 * 54)
#define MAX_ROOM   ((UINT64_C(1) << 48) - 1)

struct block {
    uint64_t size;      /* asked for */
    uint64_t room : 48; /* bytes that fit */
    uint64_t bin : 16;  /* index into `cache` */
};

struct freed {
    struct block head;
    struct freed *next;
};

static struct freed *cache[BINS];
static size_t live_bytes;

/* Bin of a size, and the bytes that its blocks have. */
static size_t bin_of(size_t size, size_t *room)
{
    if (size <= SMALL_MAX) {
        size_t bin = (size + SMALL_STEP - 1) / SMALL_STEP;
        *room = bin > 0 ? bin * SMALL_STEP : SMALL_STEP;
        return bin > 0 ? bin : 1;
    }
    unsigned top = 63u - (unsigned)__builtin_clzll(size - 1);
    size_t step = (size_t)1 << (top - 2);
    size_t quarter = (size - 1) / step; /* 4 to 7 */
    *room = (quarter + 1) * step;
    return SMALL_BINS + (size_t)(top - 10) * 4 + (quarter - 4);
}

void *bench_malloc(size_t size)
{
    size_t room = 0;
    size_t bin = bin_of(size, &room);
    struct block *head = NULL;

    if (cache[bin] != NULL) {
        head = &cache[bin]->head;
        cache[bin] = cache[bin]->next;
    } else {
        head = malloc(sizeof(*head) + room);
        if (head == NULL)
            return NULL;
        memset(head, 0xA5, sizeof(*head) + room);
        head->room = room & MAX_ROOM;
        head->bin = (uint16_t)bin;
    }
    head->size = size;
    live_bytes += size;
    return head + 1;
}

void bench_free(void *ptr)
{
    if (ptr == NULL)
        return;
    struct freed *freed = (struct freed *)(void *)((struct block *)ptr - 1);
    live_bytes -= freed->head.size;
    freed->next = cache[freed->head.bin];
    cache[freed->head.bin] = freed;
}

void *bench_realloc(void *ptr, size_t size)
{
    if (ptr == NULL)
        return bench_malloc(size);
    struct block *head = (struct block *)ptr - 1;
    if (size <= head->room) { /* as realloc: what shrinks is not moved */
        live_bytes += size - head->size;
        head->size = size;
        return ptr;
    }
    void *moved = bench_malloc(size);
    if (moved == NULL)
        return NULL;
    memcpy(moved, ptr, size < head->size ? size : head->size);
    bench_free(ptr);
    return moved;
}

size_t bench_live_bytes(void)
{
    return live_bytes;
}

char *bench_reserve(size_t size)
{
    char *ptr = malloc(size);

    if (ptr == NULL)
        bench_fail("no memory for %zu bytes", size);
    memset(ptr, 0, size);
    /* gcc turns the two calls into calloc, which touches nothing. */
    for (size_t at = 0; at < size; at += 4096)
        ((volatile char *)ptr)[at] = 0;
    return ptr;
}

static void *ops_alloc(void *ctx, size_t size)
{
    (void)ctx;
    return bench_malloc(size);
}

static void *ops_resize(void *ctx, void *ptr, size_t size)
{
    (void)ctx;
    return bench_realloc(ptr, size);
}

static void ops_release(void *ctx, void *ptr)
{
    (void)ctx;
    bench_free(ptr);
}

/* Baselines without a hook use malloc: it shall keep its memory too. */
static void keep_memory(void)
{
    static const pdr_alloc_ops ops = {.version = PDR_ALLOC_OPS_VERSION,
                                      .alloc = ops_alloc,
                                      .resize = ops_resize,
                                      .release = ops_release};

    if (mallopt(M_MMAP_THRESHOLD, 32 << 20) == 0 ||
        mallopt(M_TRIM_THRESHOLD, 1 << 30) == 0)
        bench_note("malloc", "could not be told to keep its memory");
    if (pdr_alloc_set(&ops, NULL) != PDR_OK)
        bench_fail("cannot set the allocator");
}

/* --- disturbance ---------------------------------------------------------- */

/* The same work each time, a few microseconds of it: sums that do not wait for
 * each other, so that they take longer when the core's units are shared. */
static uint64_t yardstick_ns(void)
{
    uint64_t a = 1, b = 2, c = 3, d = 4, begin = bench_now_ns();

    for (int i = 0; i < YARDSTICK_ROUNDS; i++) {
        __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
        a += b ^ 5;
        b += c ^ 6;
        c += d ^ 7;
        d += a ^ 8;
    }
    __asm__ volatile("" : : "r"(a), "r"(b), "r"(c), "r"(d));
    return bench_now_ns() - begin;
}

/* Did the yardstick take as long as it does when nobody disturbs? */
static bool is_calm(uint64_t ns)
{
    if (ns < run.yardstick_ns)
        run.yardstick_ns = ns;
    return ns <= run.yardstick_ns + run.yardstick_ns / 32;
}

/* --- start ---------------------------------------------------------------- */

/* The last core that we may use: interrupts mostly go to the first. */
static void stay_on_one_core(void)
{
    cpu_set_t cores;

    if (sched_getaffinity(0, sizeof(cores), &cores) != 0)
        return;
    size_t core = CPU_SETSIZE - 1;
    while (core > 0 && !CPU_ISSET(core, &cores))
        core--;
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    if (sched_setaffinity(0, sizeof(cores), &cores) == 0)
        run.core = (int)core;
}

static void read_options(int argc, char **argv, const char *bench)
{
    run.bench = bench;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            run.quick = true;
        else if (strcmp(argv[i], "--plain-malloc") == 0)
            run.plain = true;
        else if (strcmp(argv[i], "--data") == 0 && i + 1 < argc)
            run.data = argv[++i];
        else if (argv[i][0] != '-' && run.filter == NULL)
            run.filter = argv[i];
        else
            bench_fail("usage: %s [--quick] [--plain-malloc] [--data FOLDER] "
                       "[CASE]",
                       argv[0]);
    }
}

void bench_start_threads(int argc, char **argv, const char *bench)
{
    read_options(argc, argv, bench);
    run.plain = true;
    bench_note("perdure", pdr_version());
}

void bench_start(int argc, char **argv, const char *bench)
{
    read_options(argc, argv, bench);
    stay_on_one_core();
    if (!run.plain)
        keep_memory();
    for (int i = 0; i < 1000 && !run.quick; i++)
        (void)is_calm(yardstick_ns());
    bench_note("perdure", pdr_version());
}

bool bench_is_quick(void)
{
    return run.quick;
}

bool bench_keeps_memory(void)
{
    return !run.plain;
}

bool bench_wants(const char *name)
{
    return run.filter == NULL || strstr(name, run.filter) != NULL;
}

static void copy_text(char *to, size_t cap, const char *from)
{
    if (strlen(from) >= cap || strpbrk(from, "\"\\") != NULL)
        bench_fail("cannot note '%s'", from);
    memcpy(to, from, strlen(from) + 1);
}

void bench_note(const char *key, const char *value)
{
    size_t i = 0;

    while (i < run.note_count && strcmp(run.notes[i].key, key) != 0)
        i++;
    if (i == MAX_NOTES)
        bench_fail("too many notes");
    if (i == run.note_count)
        run.note_count++;
    copy_text(run.notes[i].key, sizeof(run.notes[i].key), key);
    copy_text(run.notes[i].value, sizeof(run.notes[i].value), value);
}

void bench_note_number(const char *key, double value)
{
    char text[32];

    snprintf(text, sizeof(text), "%.6g", value);
    bench_note(key, text);
}

void bench_path(char *out, size_t cap, const char *name)
{
    if (snprintf(out, cap, "%s/%s", run.data, name) >= (int)cap)
        bench_fail("the name of the data folder is too long");
}

struct bench_text bench_load(const char *name)
{
    struct bench_text text = {name, NULL, 0};
    char path[MAX_DATA_FOLDER];

    bench_path(path, sizeof(path), name);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        bench_fail("%s: %s; tests/bench/golden.py makes it", path,
                   strerror(errno));
    fseek(file, 0, SEEK_END);
    text.len = (size_t)ftell(file);
    fseek(file, 0, SEEK_SET);
    text.ptr = bench_reserve(text.len + BENCH_PADDING);
    if (fread(text.ptr, 1, text.len, file) != text.len)
        bench_fail("%s: cannot read", path);
    fclose(file);
    return text;
}

/* --- lines ---------------------------------------------------------------- */

static void print_number(const char *key, bool known, double number)
{
    if (known)
        printf("\"%s\":%.6g,", key, number);
    else
        printf("\"%s\":null,", key);
}

/* Everything up to the settings, which stay open for more members. */
static void print_head(const struct bench_figure *f)
{
    bool compared = f->baseline != NULL;
    double ratio = f->baseline_value / (f->value > 0 ? f->value : 1);

    printf("{\"bench\":\"%s\",\"case\":\"%s\",", run.bench, f->name);
    print_number("value", true, f->value);
    printf("\"unit\":\"%s\",", f->unit);
    if (compared)
        printf("\"baseline\":\"%s\",", f->baseline);
    else
        printf("\"baseline\":null,");
    print_number("baseline_value", compared, f->baseline_value);
    print_number("ratio", compared && f->value > 0,
                 f->ratio > 0 ? f->ratio : ratio);
    print_number("wanted", f->wanted > 0 && !run.quick, f->wanted);
    if (f->derived)
        printf("\"derived\":true,");
    printf("\"settings\":{\"core\":%d,", run.core);
    if (f->text != NULL)
        printf("\"document\":\"%s\",\"bytes\":%zu,", f->text->name,
               f->text->len);
}

static void print_tail(size_t calls)
{
    for (size_t i = 0; i < run.note_count; i++)
        printf("\"%s\":\"%s\",", run.notes[i].key, run.notes[i].value);
    printf("\"repetitions\":%zu}}\n", calls);
    fflush(stdout);
}

void bench_report(const struct bench_figure *figure)
{
    if (!bench_wants(figure->name))
        return;
    print_head(figure);
    print_tail(1);
}

/* --- timing --------------------------------------------------------------- */

/* Times of one side in nanoseconds: the calls that had the core to themselves
 * stand in front, the others at the end. */
struct times {
    uint64_t ns[MAX_CALLS];
    size_t calm, disturbed;
};

/* How often the core was taken away so far. */
static long preemptions(void)
{
    struct rusage usage;

    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
}

/* Time one call. */
static void time_call(struct times *times, void (*fn)(void *), void *arg)
{
    long before = preemptions();
    bool calm = is_calm(yardstick_ns());
    uint64_t begin = bench_now_ns();

    fn(arg);
    uint64_t ns = bench_now_ns() - begin;
    calm = is_calm(yardstick_ns()) && calm;
    if (calm && preemptions() == before)
        times->ns[times->calm++] = ns;
    else
        times->ns[MAX_CALLS - ++times->disturbed] = ns;
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Sort the calls that count, and tell how many these are (I3). */
static size_t sort_times(struct times *times, bool with_disturbed)
{
    size_t calls = times->calm;

    if (with_disturbed) {
        memmove(times->ns + calls, times->ns + MAX_CALLS - times->disturbed,
                times->disturbed * sizeof(times->ns[0]));
        calls += times->disturbed;
    }
    qsort(times->ns, calls, sizeof(times->ns[0]), by_size);
    return calls;
}

/* The element below which `part` of the sorted times lie, in microseconds. */
static double quantile_us(const struct times *times, size_t calls, double part)
{
    return (double)times->ns[(size_t)((double)(calls - 1) * part)] / 1000.0;
}

static void print_side(const char *prefix, const struct times *times,
                       size_t calls)
{
    printf("\"%smin\":%.6g,\"%sp10\":%.6g,\"%sp90\":%.6g,", prefix,
           quantile_us(times, calls, 0), prefix, quantile_us(times, calls, 0.1),
           prefix, quantile_us(times, calls, 0.9));
    printf("\"%sleft_out\":%zu,", prefix,
           times->calm + times->disturbed - calls);
}

static void print_case(const struct bench_case *c, struct times *ours,
                       struct times *theirs)
{
    bool all = ours->calm < LEAST_CALM || theirs->calm < LEAST_CALM;
    size_t our_calls = sort_times(ours, all);
    size_t their_calls = sort_times(theirs, all);
    struct bench_figure figure = {.name = c->name,
                                  .value = quantile_us(ours, our_calls, 0.5),
                                  .unit = "us",
                                  .baseline = c->baseline,
                                  .baseline_value =
                                      quantile_us(theirs, their_calls, 0.5),
                                  .text = c->text,
                                  .wanted = c->wanted};

    print_head(&figure);
    printf("\"mb_per_s\":%.6g,", (double)c->text->len / figure.value);
    print_side("", ours, our_calls);
    print_side("baseline_", theirs, their_calls);
    print_tail(our_calls);
}

static void clean_up(const struct bench_case *c)
{
    if (c->after != NULL)
        c->after(c->arg);
}

void bench_run(const struct bench_case *c)
{
    static struct times ours, theirs;
    bool done = false;

    if (!bench_wants(c->name))
        return;
    ours.calm = ours.disturbed = theirs.calm = theirs.disturbed = 0;
    for (size_t i = 0; i < (run.quick ? 0 : WARM_UP_CALLS); i++) {
        c->ours(c->arg);
        clean_up(c);
        c->theirs(c->arg);
    }
    uint64_t begin = bench_now_ns();
    for (size_t calls = 1; !done; calls++) {
        time_call(&ours, c->ours, c->arg);
        clean_up(c);
        time_call(&theirs, c->theirs, c->arg);
        uint64_t spent = bench_now_ns() - begin;
        bool enough = ours.calm >= MIN_CALLS && theirs.calm >= MIN_CALLS;
        done = run.quick || calls == MAX_CALLS ||
               (enough && spent >= CASE_NS) ||
               (calls >= MIN_CALLS && spent >= MAX_CASE_NS);
    }
    print_case(c, &ours, &theirs);
}

/* --- races ---------------------------------------------------------------- */

#define RACE_TURN 5 /* calls of a side in a row */

/* Which calls of a race count, and for how much. */
enum race_rule { RACE_CALM, RACE_ALL, RACE_ON_CORE };

uint64_t bench_core_ns(void)
{
    struct timespec used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static struct bench_time race_call(struct bench_side *side)
{
    struct bench_time time = {0, 0, true};

    if (side->call != NULL) {
        long before = preemptions();
        uint64_t used = bench_core_ns(), begin = bench_now_ns();
        side->call(side->arg);
        time.taken = bench_now_ns() - begin;
        time.used = bench_core_ns() - used;
        time.calm = preemptions() == before;
    } else {
        time = side->timed(side->arg);
    }
    if (side->after != NULL)
        side->after(side->arg);
    return time;
}

static size_t count_calm(const struct bench_side *side)
{
    size_t calm = 0;

    for (size_t i = 0; i < side->count; i++)
        calm += side->times[i].calm;
    return calm;
}

/* Median, and the 95 of 100 as the published figures have it. */
static void race_sum_up(struct bench_side *side, enum race_rule rule)
{
    uint64_t ns[BENCH_RACE_CALLS];
    size_t calls = 0;

    for (size_t i = 0; i < side->count; i++) {
        const struct bench_time *time = &side->times[i];
        if (rule != RACE_CALM || time->calm)
            ns[calls++] = rule == RACE_ON_CORE ? time->used : time->taken;
    }
    qsort(ns, calls, sizeof(ns[0]), by_size);
    side->calls = calls;
    side->left_out = side->count - calls;
    side->on_core = rule == RACE_ON_CORE;
    side->min_us = (double)ns[0] / 1000.0;
    side->median_us = (double)ns[calls / 2] / 1000.0;
    side->p95_us = (double)ns[(calls * 95 + 99) / 100 - 1] / 1000.0;
}

void bench_race(struct bench_side *const *sides, size_t count, bool waits)
{
    size_t turns = run.quick ? 1 : BENCH_RACE_CALLS / RACE_TURN;
    size_t calls = run.quick ? 1 : RACE_TURN;
    enum race_rule rule = RACE_CALM;

    for (size_t i = 0; i < count && !run.quick; i++)
        for (size_t k = 0; k < RACE_TURN; k++)
            (void)race_call(sides[i]); /* warm up */
    for (size_t turn = 0; turn < turns; turn++)
        for (size_t i = 0; i < count; i++)
            for (size_t k = 0; k < calls; k++)
                sides[i]->times[sides[i]->count++] = race_call(sides[i]);
    for (size_t i = 0; i < count; i++)
        if (count_calm(sides[i]) < LEAST_CALM)
            rule = waits || run.quick ? RACE_ALL : RACE_ON_CORE;
    for (size_t i = 0; i < count; i++)
        race_sum_up(sides[i], rule);
}

static void print_racer(const char *prefix, const struct bench_side *side,
                        double factor)
{
    printf("\"%smin\":%.6g,\"%sp95\":%.6g,\"%sleft_out\":%zu,", prefix,
           side->min_us * factor, prefix, side->p95_us * factor, prefix,
           side->left_out);
}

void bench_row(const struct bench_row *row)
{
    double factor = row->derived > 0 ? row->derived : 1;
    struct bench_figure figure = {.name = row->name,
                                  .value = row->ours->median_us,
                                  .unit = "us",
                                  .baseline = row->baseline,
                                  .baseline_value =
                                      row->theirs->median_us * factor,
                                  .derived = row->derived > 0,
                                  .text = row->text,
                                  .wanted = row->wanted};

    if (!bench_wants(row->name))
        return;
    print_head(&figure);
    print_racer("", row->ours, 1);
    print_racer("baseline_", row->theirs, factor);
    printf("\"clock\":\"%s\",", row->ours->on_core ? "core" : "wall");
    print_tail(row->ours->calls);
}

/* --- blocks --------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double bench_median(double *values, size_t count)
{
    qsort(values, count, sizeof(values[0]), by_value);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

void bench_blocks_add(struct bench_blocks *blocks, double ours, double theirs)
{
    if (blocks->count == BENCH_MAX_BLOCKS)
        bench_fail("%s: too many blocks", blocks->name);
    blocks->ours[blocks->count] = ours;
    blocks->theirs[blocks->count++] = theirs;
}

/* The ratios of all blocks, sorted. */
static double ratios_of(double *ratios, const struct bench_blocks *blocks)
{
    for (size_t i = 0; i < blocks->count; i++)
        ratios[i] = blocks->more_is_better
                        ? blocks->ours[i] / blocks->theirs[i]
                        : blocks->theirs[i] / blocks->ours[i];
    return bench_median(ratios, blocks->count);
}

double bench_blocks_ratio(const struct bench_blocks *blocks)
{
    double ratios[BENCH_MAX_BLOCKS];

    return ratios_of(ratios, blocks);
}

void bench_blocks_report(const struct bench_blocks *blocks)
{
    double ratios[BENCH_MAX_BLOCKS], ours[BENCH_MAX_BLOCKS];
    double theirs[BENCH_MAX_BLOCKS];
    size_t count = blocks->count, size = count * sizeof(ours[0]);

    if (!bench_wants(blocks->name))
        return;
    memcpy(ours, blocks->ours, size);
    memcpy(theirs, blocks->theirs, size);
    struct bench_figure figure = {.name = blocks->name,
                                  .value = bench_median(ours, count),
                                  .unit = blocks->unit,
                                  .baseline = blocks->baseline,
                                  .baseline_value = bench_median(theirs, count),
                                  .ratio = ratios_of(ratios, blocks),
                                  .wanted = blocks->wanted};
    print_head(&figure);
    printf("\"ratio_min\":%.4g,\"ratio_p25\":%.4g,\"ratio_p75\":%.4g,"
           "\"ratio_max\":%.4g,",
           ratios[0], ratios[count / 4], ratios[count - 1 - count / 4],
           ratios[count - 1]);
    print_tail(count);
}

/* --- what a document holds -------------------------------------------------
 */

/* FNV-1a over the bytes, then over a byte that no UTF-8 holds, so that the
 * border between two texts counts. */
static uint64_t hash_text(uint64_t hash, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001B3u;
    return (hash ^ 0xFFu) * 0x100000001B3u;
}

void bench_sums_text(struct bench_sums *sums, const char *text, size_t len)
{
    sums->text_bytes += len;
    sums->text_hash = hash_text(sums->text_hash, text, len);
}

void bench_sums_bool(struct bench_sums *sums, bool truth)
{
    sums->booleans++;
    sums->trues += truth;
}

void bench_sums_number(struct bench_sums *sums, double number)
{
    sums->numbers++;
    sums->number_sum += number;
}

static bool sums_are_equal(const struct bench_sums *a,
                           const struct bench_sums *b)
{
    return a->objects == b->objects && a->arrays == b->arrays &&
           a->names == b->names && a->strings == b->strings &&
           a->numbers == b->numbers && a->booleans == b->booleans &&
           a->trues == b->trues && a->nulls == b->nulls &&
           a->text_bytes == b->text_bytes && a->text_hash == b->text_hash &&
           !(a->number_sum < b->number_sum) && !(a->number_sum > b->number_sum);
}

void bench_sums_compare(const char *name, const struct bench_sums *ours,
                        const struct bench_sums *theirs)
{
    if (sums_are_equal(ours, theirs))
        return;
    bench_fail("%s: not the same document: ours has %llu strings, %llu "
               "numbers, sum %.17g; theirs %llu, %llu, %.17g",
               name, (unsigned long long)ours->strings,
               (unsigned long long)ours->numbers, ours->number_sum,
               (unsigned long long)theirs->strings,
               (unsigned long long)theirs->numbers, theirs->number_sum);
}
