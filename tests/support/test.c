/*
 * test.c - runs the tests of one program, counts their allocations, writes
 * their verdicts down.
 *
 * Records go to the file that PERDURE_TEST_RECORD names, one line a test:
 *     pass|fail TAB program/noun: sentence TAB ids, comma-separated
 *     skip TAB program/noun: sentence TAB reason
 */
#include "test.h"

#include <perdure/sys/alloc.h>
#include <pthread.h>

#define MAX_TESTS  512
#define MAX_CLAIMS 3
#define MAX_ROLES  8

struct test {
    const char *noun;
    char name[200];
    test_fn fn;
    bool oom;
    const char *claims[MAX_CLAIMS];
    size_t claim_count;
    const char *skipped; /* why; NULL if it ran */
};

static struct test tests[MAX_TESTS];
static size_t test_count;
static struct test *current;

static struct {
    const char *name;
    test_role_fn fn;
} roles[MAX_ROLES];
static size_t role_count;

/* --- scale --------------------------------------------------------------- */

double test_scale(void)
{
    const char *text = getenv("PERDURE_SCALE");
    char *end = NULL;
    double scale = text != NULL ? strtod(text, &end) : 1;

    if (text == NULL || (*text != '\0' && *end == '\0' && scale > 0))
        return scale;
    fprintf(stderr, "PERDURE_SCALE is '%s': it must be a number above 0\n",
            text);
    exit(2);
}

size_t test_times(size_t usual, size_t least)
{
    double times = (double)usual * test_scale();

    return times > (double)least ? (size_t)times : least;
}

size_t test_every(size_t step)
{
    double every = (double)step / test_scale();

    return every > 1 ? (size_t)every : 1;
}

/* --- counting allocator -------------------------------------------------- */

/* Size in front of each block; 16 bytes keep the alignment. */
struct block_head {
    size_t size;
    size_t magic;
};
#define BLOCK_MAGIC ((size_t)0x7065726475726521u)

static struct {
    pthread_mutex_t lock;
    size_t live, total, live_bytes, peak_bytes;
    size_t fail_in; /* 0: no failure planned */
    bool for_ever, failed, paused;
} heap = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool must_fail(void)
{
    heap.total++;
    if (heap.paused)
        return false;
    if (heap.failed && heap.for_ever)
        return true;
    if (heap.fail_in == 0 || --heap.fail_in > 0)
        return false;
    heap.failed = true;
    return true;
}

static void *heap_resize(void *ctx, void *ptr, size_t size)
{
    struct block_head *old = ptr != NULL ? (struct block_head *)ptr - 1 : NULL;
    struct block_head *new = NULL;

    (void)ctx;
    pthread_mutex_lock(&heap.lock);
    if (!must_fail() && size < SIZE_MAX - sizeof(*new)) {
        size_t old_size = old != NULL ? old->size : 0;
        new = realloc(old, size + sizeof(*new));
        if (new != NULL) {
            heap.live += old == NULL;
            heap.live_bytes += size - old_size;
            if (heap.live_bytes > heap.peak_bytes)
                heap.peak_bytes = heap.live_bytes;
            new->size = size;
            new->magic = BLOCK_MAGIC;
        }
    }
    pthread_mutex_unlock(&heap.lock);
    return new != NULL ? new + 1 : NULL;
}

static void *heap_alloc(void *ctx, size_t size)
{
    return heap_resize(ctx, NULL, size);
}

static void heap_release(void *ctx, void *ptr)
{
    struct block_head *head = (struct block_head *)ptr - 1;

    (void)ctx;
    if (head->magic != BLOCK_MAGIC) {
        fprintf(stderr, "released what was not allocated, or twice\n");
        abort();
    }
    head->magic = 0;
    pthread_mutex_lock(&heap.lock);
    heap.live--;
    heap.live_bytes -= head->size;
    pthread_mutex_unlock(&heap.lock);
    free(head);
}

/* One of the numbers above, while threads allocate. */
static size_t heap_number(const size_t *number)
{
    size_t out = 0;

    pthread_mutex_lock(&heap.lock);
    out = *number;
    pthread_mutex_unlock(&heap.lock);
    return out;
}

size_t test_live_allocations(void)
{
    return heap_number(&heap.live);
}

size_t test_allocations(void)
{
    return heap_number(&heap.total);
}

size_t test_live_bytes(void)
{
    return heap_number(&heap.live_bytes);
}

size_t test_peak_bytes(void)
{
    return heap_number(&heap.peak_bytes);
}

void test_reset_peak(void)
{
    pthread_mutex_lock(&heap.lock);
    heap.peak_bytes = heap.live_bytes;
    pthread_mutex_unlock(&heap.lock);
}

void test_fail_allocation(size_t n, bool for_ever)
{
    heap.fail_in = n;
    heap.for_ever = for_ever;
    heap.failed = false;
}

void test_pause_failures(bool paused)
{
    heap.paused = paused;
}

/* --- assertions ---------------------------------------------------------- */

static void print_bytes(const char *label, pdr_str text)
{
    print_error("%s (%zu bytes): ", label, text.len);
    for (size_t i = 0; i < text.len && i < 400; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c >= 0x20 && c < 0x7F)
            print_error("%c", c);
        else
            print_error("\\x%02X", c);
    }
    print_error("\n");
}

void test_assert_bytes(pdr_str expected, pdr_str actual, const char *file,
                       int line)
{
    if (pdr_str_equal(expected, actual))
        return;
    print_bytes("expected", expected);
    print_bytes("actual  ", actual);
    _fail(file, line);
}

void test_assert_text(const char *expected, pdr_str actual, const char *file,
                      int line)
{
    test_assert_bytes(pdr_str_c(expected), actual, file, line);
}

/* --- data ---------------------------------------------------------------- */

const char *test_data_folder(void)
{
    const char *folder = getenv("PERDURE_TEST_DATA");

    return folder != NULL ? folder : PERDURE_TEST_DATA_DEFAULT;
}

char *test_read_data(const char *path, size_t *len)
{
    char full[1024];

    snprintf(full, sizeof(full), "%s/%s", test_data_folder(), path);
    FILE *file = fopen(full, "rb");
    if (file == NULL)
        fail_msg("cannot open %s", full);
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    fseek(file, 0, SEEK_SET);
    char *text = malloc((size_t)size + 1);
    assert_non_null(text);
    assert_int_equal(size, fread(text, 1, (size_t)size, file));
    fclose(file);
    text[size] = '\0';
    *len = (size_t)size;
    return text;
}

/* --- running ------------------------------------------------------------- */

void test_register(const char *noun, const char *sentence, test_fn fn, bool oom)
{
    if (test_count == MAX_TESTS)
        abort();
    struct test *t = &tests[test_count++];
    t->noun = noun;
    t->fn = fn;
    t->oom = oom;
    int len = snprintf(t->name, sizeof(t->name), "%s: %s", noun, sentence);
    for (int i = 0; i < len && (size_t)i < sizeof(t->name); i++)
        if (t->name[i] == '_')
            t->name[i] = ' ';
}

void test_covers(const char *id)
{
    for (size_t i = 0; i < current->claim_count; i++)
        if (strcmp(current->claims[i], id) == 0)
            return;
    if (current->claim_count == MAX_CLAIMS)
        fail_msg("a test claims at most %d statements", MAX_CLAIMS);
    current->claims[current->claim_count++] = id;
}

void test_skip(const char *reason)
{
    current->skipped = reason;
    skip();
}

static void check_leaks(size_t before)
{
    if (heap.live != before)
        fail_msg("%zu allocations were not released", heap.live - before);
}

static void run_oom(size_t before, bool for_ever)
{
    for (size_t n = 1;; n++) {
        if (n > 1000000)
            fail_msg("allocations never stop failing");
        test_fail_allocation(n, for_ever);
        current->fn();
        bool failed = heap.failed;
        test_fail_allocation(0, false);
        check_leaks(before);
        if (!failed)
            return;
    }
}

static void run_one(void **state)
{
    size_t before = heap.live;

    current = *state;
    test_fail_allocation(0, false);
    if (current->oom) {
        run_oom(before, false);
        run_oom(before, true);
    } else {
        current->fn();
        test_fail_allocation(0, false);
        check_leaks(before);
    }
}

static void record(FILE *file, const char *program, const struct test *t,
                   bool passed)
{
    const char *verdict = t->skipped != NULL ? "skip"
                          : passed           ? "pass"
                                             : "fail";

    fprintf(file, "%s\t%s/%s\t", verdict, program, t->name);
    if (t->skipped != NULL)
        fprintf(file, "%s", t->skipped);
    for (size_t i = 0; t->skipped == NULL && i < t->claim_count; i++)
        fprintf(file, "%s%s", i > 0 ? "," : "", t->claims[i]);
    fprintf(file, "\n");
}

static const char *program_name(const char *argv0)
{
    const char *slash = strrchr(argv0, '/');

    return slash != NULL ? slash + 1 : argv0;
}

void test_register_role(const char *name, test_role_fn fn)
{
    if (role_count == MAX_ROLES)
        abort();
    roles[role_count].name = name;
    roles[role_count++].fn = fn;
}

static int play_role(const char *name, int argc, char **argv)
{
    for (size_t i = 0; i < role_count; i++)
        if (strcmp(roles[i].name, name) == 0)
            return roles[i].fn(argc, argv);
    fprintf(stderr, "there is no role '%s'\n", name);
    return 2;
}

int main(int argc, char **argv)
{
    static const pdr_alloc_ops ops = {.version = PDR_ALLOC_OPS_VERSION,
                                      .alloc = heap_alloc,
                                      .resize = heap_resize,
                                      .release = heap_release};
    const char *filter = argc > 1 ? argv[1] : NULL;
    const char *record_path = getenv("PERDURE_TEST_RECORD");
    FILE *file = NULL;
    int failed = 0;

    if (pdr_alloc_set(&ops, NULL) != PDR_OK)
        abort();
    if (filter != NULL && strncmp(filter, "--role=", 7) == 0)
        return play_role(filter + 7, argc - 2, argv + 2);
    if (record_path != NULL)
        file = fopen(record_path, "w");
    for (size_t i = 0; i < test_count; i++) {
        struct test *t = &tests[i];
        if (filter != NULL && strstr(t->name, filter) == NULL)
            continue;
        const struct CMUnitTest one = {
            .name = t->name, .test_func = run_one, .initial_state = t};
        int bad = _cmocka_run_group_tests(t->noun, &one, 1, NULL, NULL);
        failed += bad != 0;
        if (file != NULL)
            record(file, program_name(argv[0]), t, bad == 0);
    }
    if (file != NULL)
        fclose(file);
    return failed > 0;
}
