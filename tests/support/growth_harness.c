/*
 * growth_harness.c - see growth_harness.h.
 *
 *     size 1 ──► make ──► each operation, some samples ──► costs
 *     size 2 ──► make ──► the same                     ──► costs ──► judge
 *
 * WHY  A scan among 2,000 sessions takes no longer than a look at a clock, and
 *      among 1,000,000 it takes seconds. Counts tell the two apart at any size
 *      and on any machine, times do not.
 *
 * FLAT  What is found through a B-tree costs a page for each level. Between the
 *      first size and the last, which is at most 100 times as large,
 *      - a search in an index can become two levels deeper: its pages have 15
 *        keys or more, and 15 * 15 is more than 100;
 *      - a row that an index leads to can become one level deeper: pages of a
 *        table lead to 100 others or more;
 *      - and a few pages are left to chance: keys that lie side by side stand
 *        on one leaf or on two.
 *      So an operation states how many searches it does and how many rows it
 *      reads, and may read so many pages more, however large the store is.
 *      Memory may grow by these pages, and by nothing else.
 */
#include "growth_harness.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <perdure/archive.h>

#include "processes.h"
#include "shim_vfs.h"
#include "store.h"

#define SHOWN   20u /* rows of a page of a list */
#define SAMPLES 9u
#define REPEATS 3u /* where each sample does the same */

#define FEW_PAGES 6
/* A page in the cache of SQLite, with what stands around it. */
#define CACHED_BYTES 4600
/* What statements and lists of free memory may differ by. */
#define FEW_BYTES ((uint64_t)48 * 1024)
/* While sessions are made, at any size: the cache of the one who writes, 16
 * MiB, a group of commits, and room. */
#define MAKE_BYTES ((uint64_t)24 * 1024 * 1024)

enum list { LIST_ANY, LIST_AGENT, LIST_STATE, LIST_CHANGED, LIST_PROPERTY };

struct op {
    const char *name;
    void (*fn)(struct growth *growth, pdr_store *store, const struct op *op);
    size_t samples;
    unsigned searches, rows; /* see FLAT above */
    bool is_judged;
    enum list list;
    bool is_anywhere; /* from any place, else from the beginning */
};

/* --- operations ---------------------------------------------------------- */

static void must(pdr_rc rc, const struct op *op, const pdr_err *err)
{
    if (rc != PDR_OK)
        fail_msg("%s: %s", op->name, err->message);
}

static pdr_page *read_page(pdr_store *store, const struct op *op,
                           const pdr_query *query)
{
    pdr_page *page = NULL;
    pdr_err err = PDR_ERR_INIT;

    must(pdr_store_read(&page, store, query, &err), op, &err);
    return page;
}

/* Any session; if asked for, one that had entries when it was made. */
static size_t any_session(struct growth *growth, bool has_entries)
{
    size_t n = random_below(&growth->random, (unsigned)growth->sessions);

    return has_entries ? n - n % 4 : n;
}

static void do_info(struct growth *growth, pdr_store *store,
                    const struct op *op)
{
    pdr_store_info info;
    pdr_err err = PDR_ERR_INIT;

    must(pdr_store_info_get(&info, store, &err), op, &err);
    ASSERT_SIZE(0, info.unseen);
    (void)growth;
}

static void do_head(struct growth *growth, pdr_store *store,
                    const struct op *op)
{
    char id[24];
    pdr_query query = {.what = PDR_READ_HEAD};
    pdr_page *page = NULL;

    query.ref.id = growth_id(id, any_session(growth, false));
    page = read_page(store, op, &query);
    ASSERT_SIZE(2, page->head.properties);
    pdr_page_free(page);
}

static void do_entries(struct growth *growth, pdr_store *store,
                       const struct op *op)
{
    char id[24];
    pdr_query query = {
        .what = PDR_READ_ENTRIES, .limit = SHOWN, .backwards = true};
    pdr_page *page = NULL;

    query.ref.id = growth_id(id, any_session(growth, true));
    page = read_page(store, op, &query);
    ASSERT(page->count >= 2);
    pdr_page_free(page);
}

static void do_slots(struct growth *growth, pdr_store *store,
                     const struct op *op)
{
    char id[24];
    pdr_query query = {.what = PDR_READ_SLOTS};
    pdr_page *page = NULL;

    query.ref.id = growth_id(id, any_session(growth, false));
    page = read_page(store, op, &query);
    ASSERT_SIZE(1, page->count);
    pdr_page_free(page);
}

static void set_filter(pdr_filter *filter, enum list list)
{
    if (list == LIST_AGENT)
        filter->agent = pdr_str_c("agent-7");
    filter->by_state = list == LIST_STATE;
    filter->state = PDR_SESSION_WAITING;
    if (list == LIST_CHANGED) {
        filter->changed_from_ms = GROWTH_NOW_MS - GROWTH_SPAN_MS / 10 * 9;
        filter->changed_to_ms = GROWTH_NOW_MS - GROWTH_SPAN_MS / 10;
    }
    if (list == LIST_PROPERTY) {
        filter->property = pdr_str_c("team");
        filter->match = pdr_str_c("tteam-7");
    }
}

/* A place in the first half of the list, as a caller would have kept it who
 * came there page by page. */
static pdr_str any_place(struct growth *growth, const pdr_query *query,
                         struct pdr__arena *memory)
{
    char id[24];
    unsigned half = (unsigned)(GROWTH_SPAN_MS / 10 * 4);
    pdr_list_place place = {.ref.tenant = pdr_str_c(PDR_DEFAULT_TENANT)};
    pdr_str text = {NULL, 0};

    place.ms = GROWTH_NOW_MS - GROWTH_SPAN_MS / 10 -
               (int64_t)random_below(&growth->random, half);
    snprintf(id, sizeof(id), "session-%u",
             100000000 + random_below(&growth->random, 400000000));
    place.ref.id = pdr_str_c(id);
    ASSERT_RC(PDR_OK, pdr__cursor_write(&text, memory, query, &place, NULL));
    return text;
}

static void do_list(struct growth *growth, pdr_store *store,
                    const struct op *op)
{
    struct pdr__arena memory = PDR_ARENA_INIT(SIZE_MAX);
    pdr_query query = {.what = PDR_READ_SESSIONS,
                       .ref.tenant = pdr_str_c(PDR_DEFAULT_TENANT),
                       .limit = SHOWN};
    pdr_page *page = NULL;

    set_filter(&query.filter, op->list);
    if (op->is_anywhere)
        query.after = any_place(growth, &query, &memory);
    page = read_page(store, op, &query);
    ASSERT_SIZE(SHOWN, page->count);
    ASSERT(page->next.ptr != NULL);
    pdr_page_free(page);
    pdr__arena_dispose(&memory);
}

static void do_all(struct growth *growth, pdr_store *store, const struct op *op)
{
    pdr_query query = {.what = PDR_READ_ALL, .limit = SHOWN};
    pdr_page *page = read_page(store, op, &query);

    ASSERT_SIZE(SHOWN, page->count);
    pdr_page_free(page);
    (void)growth;
}

static void do_expired(struct growth *growth, pdr_store *store,
                       const struct op *op)
{
    pdr_query query = {
        .what = PDR_READ_EXPIRED, .limit = SHOWN, .now_ms = GROWTH_NOW_MS};
    pdr_page *page = read_page(store, op, &query);

    ASSERT_SIZE(SHOWN, page->count);
    pdr_page_free(page);
    (void)growth;
}

/* What is read first and then committed, as every turn does. */
static void do_turn(struct growth *growth, pdr_store *store,
                    const struct op *op)
{
    char id[24], correlation_id[40];
    pdr_query query = {.what = PDR_READ_HEAD};
    pdr_entry entries[2] = {{.kind = PDR_ROW_REQUEST},
                            {.kind = PDR_ROW_RESPONSE}};
    pdr_slot slot = {pdr_str_c("memory"), pdr_str_c("{\"name\":\"Bob\"}"), {0}};
    pdr_commit_options options = {.now_ms = GROWTH_NOW_MS};
    pdr_edit edit = {.entries = entries,
                     .entry_count = 2,
                     .slots = &slot,
                     .slot_count = 1,
                     .expiry = PDR_EXPIRY_SET,
                     .expiry_ms = GROWTH_NOW_MS + 2 * GROWTH_DAY_MS};
    pdr_page *page = NULL;
    pdr_err err = PDR_ERR_INIT;

    query.ref.id = growth_id(id, any_session(growth, true));
    page = read_page(store, op, &query);
    snprintf(correlation_id, sizeof(correlation_id), "later-%u",
             (unsigned)page->head.revision);
    for (size_t i = 0; i < 2; i++) {
        entries[i].created_ms = GROWTH_NOW_MS;
        entries[i].correlation_id = pdr_str_c(correlation_id);
        entries[i].body = pdr_str_c("{\"text\":\"And the one after that?\"}");
    }
    edit.ref.id = query.ref.id;
    edit.revision = page->head.revision;
    pdr_page_free(page);
    must(pdr_store_commit(NULL, store, &edit, 1, &options, &err), op, &err);
}

static void do_sweep(struct growth *growth, pdr_store *store,
                     const struct op *op)
{
    pdr_sweep_report report;
    pdr_err err = PDR_ERR_INIT;

    must(pdr_store_sweep(&report, store, GROWTH_NOW_MS, &err), op, &err);
    ASSERT_SIZE(0, report.sessions + report.left);
    (void)growth;
}

static void do_purge(struct growth *growth, pdr_store *store,
                     const struct op *op)
{
    pdr_purge_opts opts = {.expired = true, .now_ms = GROWTH_NOW_MS};
    pdr_purge_report report;
    pdr_err err = PDR_ERR_INIT;

    must(pdr_purge(&report, store, &opts, &err), op, &err);
    ASSERT_SIZE(GROWTH_EXPIRED, report.removed);
    (void)growth;
}

static void do_purge_none(struct growth *growth, pdr_store *store,
                          const struct op *op)
{
    pdr_purge_opts opts = {.expired = true, .now_ms = GROWTH_NOW_MS};
    pdr_purge_report report;
    pdr_err err = PDR_ERR_INIT;

    must(pdr_purge(&report, store, &opts, &err), op, &err);
    ASSERT_SIZE(0, report.removed);
    (void)growth;
}

static void do_vacuum(struct growth *growth, pdr_store *store,
                      const struct op *op)
{
    pdr_vacuum_report report;
    pdr_err err = PDR_ERR_INIT;

    must(pdr_store_vacuum(&report, store, &err, NULL, NULL), op, &err);
    ASSERT_SIZE(0, report.free_bytes);
    (void)growth;
}

/* In this order: what changes the store comes last.
 *
 * A list of all states walks four stretches of one index. A turn searches for
 * its session twice, to read and to commit; it moves a key in the indexes by
 * state, agent and expiry, each from one place to another; and it needs one
 * place each in log_by_key and parts. A session that is purged stands in six
 * indexes, and has its head, which is read twice, and rows in three tables.
 *
 * A vacuum looks for holes between all rows of `log`: its cost grows with them,
 * also when there is none. It is shown, not judged. */
static const struct op ops[] = {
    {"open the store", NULL, SAMPLES, 1, 0, true, LIST_ANY, false},
    {"info", do_info, SAMPLES, 1, 0, true, LIST_ANY, false},
    {"head of a session", do_head, SAMPLES, 1, 1, true, LIST_ANY, false},
    {"its last entries", do_entries, SAMPLES, 2, 3, true, LIST_ANY, false},
    {"its slots", do_slots, SAMPLES, 2, 1, true, LIST_ANY, false},
    {"list", do_list, REPEATS, 4, SHOWN, true, LIST_ANY, false},
    {"list, anywhere", do_list, SAMPLES, 4, SHOWN, true, LIST_ANY, true},
    {"list by agent", do_list, REPEATS, 1, SHOWN, true, LIST_AGENT, false},
    {"list by agent, anywhere", do_list, SAMPLES, 1, SHOWN, true, LIST_AGENT,
     true},
    {"list by state", do_list, REPEATS, 1, SHOWN, true, LIST_STATE, false},
    {"list by state, anywhere", do_list, SAMPLES, 1, SHOWN, true, LIST_STATE,
     true},
    {"list by change", do_list, REPEATS, 4, SHOWN, true, LIST_CHANGED, false},
    {"list by change, anywhere", do_list, SAMPLES, 4, SHOWN, true, LIST_CHANGED,
     true},
    {"list by property", do_list, REPEATS, 1, SHOWN, true, LIST_PROPERTY,
     false},
    {"list by property, anywhere", do_list, SAMPLES, 1, SHOWN, true,
     LIST_PROPERTY, true},
    {"list of all tenants", do_all, REPEATS, 1, SHOWN, true, LIST_ANY, false},
    {"list of the expired", do_expired, REPEATS, 1, SHOWN, true, LIST_ANY,
     false},
    {"a turn", do_turn, SAMPLES, 10, 3, true, LIST_ANY, false},
    {"sweep of nothing", do_sweep, SAMPLES, 1, 0, true, LIST_ANY, false},
    {"purge of 32 expired", do_purge, 1, 6 * GROWTH_EXPIRED, 5 * GROWTH_EXPIRED,
     true, LIST_ANY, false},
    {"purge of nothing", do_purge_none, SAMPLES, 1, 0, true, LIST_ANY, false},
    {"vacuum of nothing", do_vacuum, 1, 0, 0, false, LIST_ANY, false},
};
#define OPS (sizeof(ops) / sizeof(ops[0]))
_Static_assert(OPS <= GROWTH_ROWS, "room for each");

/* --- measuring ----------------------------------------------------------- */

static pdr_store *open_store(const struct growth *growth)
{
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_store_open(&store, growth->uri, &err) != PDR_OK)
        fail_msg("%s", err.message);
    return store;
}

/* Memory of the library and of SQLite, now and at most. */
struct memory {
    uint64_t ours, sqlite;
};

static struct memory memory_begin(void)
{
    struct memory now = {test_live_bytes(), (uint64_t)sqlite3_memory_used()};

    test_reset_peak();
    (void)sqlite3_memory_highwater(1);
    return now;
}

/* At most, since then, and above what there was. */
static uint64_t memory_end(const struct memory *before)
{
    return test_peak_bytes() - before->ours +
           (uint64_t)sqlite3_memory_highwater(0) - before->sqlite;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void take_counts(struct growth_cost *cost, struct shim *shim)
{
    uint64_t got = 0, put = 0;

    for (int i = 0; i < SHIM_FILES; i++) {
        got += shim_bytes_read(shim, (enum shim_file)i);
        put += shim_bytes(shim, (enum shim_file)i);
    }
    cost->reads = most(cost->reads, shim_count(shim, SHIM_READ));
    cost->bytes_read = most(cost->bytes_read, got);
    cost->bytes_written = most(cost->bytes_written, put);
}

static int compare(const void *a, const void *b)
{
    const int64_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

static void measure(struct growth_cost *cost, struct growth *growth,
                    const struct op *op)
{
    int64_t us[SAMPLES];

    for (size_t i = 0; i < op->samples; i++) {
        struct memory before = memory_begin();
        int64_t begin = monotonic_us();
        pdr_store *store = NULL;

        shim_reset_counts(growth->shim);
        store = open_store(growth);
        if (op->fn != NULL) {
            shim_reset_counts(growth->shim);
            begin = monotonic_us();
            op->fn(growth, store, op);
        }
        us[i] = monotonic_us() - begin;
        take_counts(cost, growth->shim);
        cost->memory = most(cost->memory, memory_end(&before));
        pdr_store_close(store);
    }
    qsort(us, op->samples, sizeof(us[0]), compare);
    cost->us = us[op->samples / 2];
}

static void grow(struct growth *growth, size_t at)
{
    struct memory before = memory_begin();
    int64_t begin = monotonic_us();
    pdr_store *store = open_store(growth);
    struct stat file;

    growth_make(growth, store, growth->sizes[at]);
    growth->make_memory[at] = memory_end(&before);
    pdr_store_close(store);
    growth->make_s[at] = (double)(monotonic_us() - begin) / 1e6;
    ASSERT_INT(0, stat(room_path(&growth->room, "a.db"), &file));
    growth->file_bytes[at] = (uint64_t)file.st_size;
}

void growth_run(struct growth *growth, const size_t *sizes, size_t count)
{
    ASSERT(count <= GROWTH_SIZES && sizes[count - 1] <= 100 * sizes[0]);
    memset(growth, 0, sizeof(*growth));
    growth->random = 42;
    growth->size_count = count;
    room_enter(&growth->room);
    growth->shim = shim_new("growth");
    snprintf(growth->uri, sizeof(growth->uri), "sqlite:%s?vfs=growth",
             room_path(&growth->room, "a.db"));
    for (size_t at = 0; at < count; at++) {
        growth->sizes[at] = sizes[at];
        grow(growth, at);
        for (size_t i = 0; i < OPS; i++)
            measure(&growth->costs[at][i], growth, &ops[i]);
    }
    shim_free(growth->shim);
    room_leave(&growth->room);
}

/* --- telling ------------------------------------------------------------- */

static void print_size(const struct growth *growth, size_t at)
{
    size_t sessions = growth->sizes[at];

    print_message("%zu sessions: %.1f MB, %.0f bytes each; made in %.1f s with "
                  "%.1f MB of memory\n",
                  sessions, (double)growth->file_bytes[at] / 1e6,
                  (double)growth->file_bytes[at] / (double)sessions,
                  growth->make_s[at], (double)growth->make_memory[at] / 1e6);
    print_message("  %-28s %8s %10s %10s %10s %10s\n", "", "reads", "read KB",
                  "written KB", "memory KB", "us");
    for (size_t i = 0; i < OPS; i++) {
        const struct growth_cost *cost = &growth->costs[at][i];

        print_message("  %-28s %8llu %10.1f %10.1f %10.1f %10lld\n",
                      ops[i].name, (unsigned long long)cost->reads,
                      (double)cost->bytes_read / 1e3,
                      (double)cost->bytes_written / 1e3,
                      (double)cost->memory / 1e3, (long long)cost->us);
    }
}

void growth_print(const struct growth *growth)
{
    for (size_t at = 0; at < growth->size_count; at++)
        print_size(growth, at);
}

/* --- judging ------------------------------------------------------------- */

struct verdict {
    size_t bad;
    char *names;
    size_t room;
};

static void complain(struct verdict *verdict, const char *name,
                     const char *what, uint64_t before, uint64_t now,
                     uint64_t allowed)
{
    size_t used = strlen(verdict->names);

    verdict->bad++;
    print_message("not flat: %s: %llu %s, now %llu, allowed are %llu\n", name,
                  (unsigned long long)before, what, (unsigned long long)now,
                  (unsigned long long)allowed);
    if (strstr(verdict->names, name) == NULL)
        snprintf(verdict->names + used, verdict->room - used, "%s,", name);
}

static void judge_op(struct verdict *verdict, const struct op *op,
                     const struct growth_cost *before,
                     const struct growth_cost *now)
{
    uint64_t more = 2 * op->searches + op->rows + FEW_PAGES;
    uint64_t reads = before->reads + more;
    uint64_t written =
        before->bytes_written + (before->bytes_written > 0) * more * 4096;
    uint64_t memory = before->memory + more * CACHED_BYTES + FEW_BYTES;

    if (now->reads == 0 || now->memory == 0)
        complain(verdict, op->name, "reads, none counted", before->reads,
                 now->reads, reads);
    if (now->reads > reads)
        complain(verdict, op->name, "reads", before->reads, now->reads, reads);
    if (now->bytes_written > written)
        complain(verdict, op->name, "bytes written", before->bytes_written,
                 now->bytes_written, written);
    if (now->memory > memory)
        complain(verdict, op->name, "bytes of memory", before->memory,
                 now->memory, memory);
}

size_t growth_judge(const struct growth *growth, char *names, size_t room)
{
    char own[1000] = "";
    struct verdict verdict = {0, names != NULL ? names : own,
                              names != NULL ? room : sizeof(own)};

    verdict.names[0] = '\0';
    for (size_t at = 0; at < growth->size_count; at++)
        if (growth->make_memory[at] > MAKE_BYTES)
            complain(&verdict, "making them", "bytes of memory",
                     growth->make_memory[0], growth->make_memory[at],
                     MAKE_BYTES);
    for (size_t at = 1; at < growth->size_count; at++)
        for (size_t i = 0; i < OPS; i++)
            if (ops[i].is_judged)
                judge_op(&verdict, &ops[i], &growth->costs[0][i],
                         &growth->costs[at][i]);
    return verdict.bad;
}
