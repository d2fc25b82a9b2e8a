/*
 * store_list.c - does a page of a list cost what it shows, whatever the store
 * holds?
 *
 * list/20  Twenty sessions from a random place of a list, without a filter and
 *     with each filter alone, beside a SELECT written by hand on the same
 *     index. Both read every column of the heads; ours checks digests, order
 *     and cursors besides. The store holds 1,000,000 sessions (10,000 with
 *     --quick), made in an order that is not that of the lists. The time on the
 *     core counts: nobody waits for the disk.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <perdure/sys/store.h>

#include "bench.h"
#include "count_vfs.h"
#include "sqlite/sqlite.h"
#include "store_fill.h"

#define SESSIONS 1000000u
#define QUICK    10000u
#define BATCH    128u
#define SHOWN    20u
#define PLACES   1000u
#define STRIDE   100u /* sessions between two ends, at most */
#define ROUNDS   15u
#define CALLS    200u
#define BEGIN_MS INT64_C(1760000000000)
#define SPACE_MS 1000

/* --- the store ------------------------------------------------------------ */

struct row {
    char id[24], agent[16], texts[2][16];
    pdr_property properties[2];
    pdr_edit edit;
};

/* Session `n` was changed at its place in time, whenever it is made. */
static void row_make(struct row *row, size_t n)
{
    memset(row, 0, sizeof(*row));
    snprintf(row->id, sizeof(row->id), "session-%zu",
             n * 2654435761u % 1000000007u);
    snprintf(row->agent, sizeof(row->agent), "agent-%zu", n % 20);
    snprintf(row->texts[0], sizeof(row->texts[0]), "\"team-%zu\"", n % 20);
    snprintf(row->texts[1], sizeof(row->texts[1]), "tteam-%zu", n % 20);
    row->properties[0] = (pdr_property){.key = pdr_str_c("team"),
                                        .value = pdr_str_c(row->texts[0]),
                                        .match = pdr_str_c(row->texts[1])};
    row->properties[1] =
        (pdr_property){.key = pdr_str_c("note"), .value = pdr_str_c("null")};
    row->edit = (pdr_edit){
        .ref = {pdr_str_c(TURN_TENANT), pdr_str_c(row->id)},
        .agent = pdr_str_c(row->agent),
        .kind = pdr_str_c("client"),
        .set_state = true,
        .state = (pdr_session_state)(n / 3 % 4),
        .expiry = PDR_EXPIRY_SET,
        .expiry_ms = BEGIN_MS + (int64_t)n * SPACE_MS + TURN_EXPIRY_MS,
        .properties = row->properties,
        .property_count = 2,
    };
}

static void make_sessions(const struct fill *fill, size_t count)
{
    static struct row rows[BATCH];
    static pdr_request requests[BATCH];
    pdr_store *store = fill_open(fill);

    for (size_t at = 0; at < count; at += BATCH) {
        size_t now = count - at < BATCH ? count - at : BATCH;
        for (size_t i = 0; i < now; i++) {
            size_t n = fill->order[at + i];
            row_make(&rows[i], n);
            requests[i] = (pdr_request){.edits = &rows[i].edit,
                                        .count = 1,
                                        .options.now_ms =
                                            BEGIN_MS + (int64_t)n * SPACE_MS};
        }
        pdr_store_commit_all(store, requests, now);
        for (size_t i = 0; i < now; i++)
            if (requests[i].rc != PDR_OK)
                bench_fail("cannot make a session: %s",
                           requests[i].err.message);
    }
    pdr_store_close(store);
}

/* --- lists -----------------------------------------------------------------
 */

/* Where a list goes on: our cursor, and the last session in front of it, which
 * is what the other side needs. */
struct place {
    char *next; /* owned */
    char *id;   /* owned */
    int64_t ms;
};

struct list {
    const char *name;
    pdr_filter filter;
    const char *sql;   /* by hand */
    const char *words; /* its second argument, or NULL */
    struct place places[PLACES];
    size_t count;
    sqlite3_stmt *stmt;
};

#define HEAD "SELECT " PDR_SQLITE_HEAD_COLUMNS " FROM sessions INDEXED BY "
#define IN(state)                                                     \
    "SELECT no,changed,id FROM sessions INDEXED BY sessions_by_state" \
    " WHERE tenant=?1 AND state=" state " AND (changed,id)<(?3,?4)"
#define BELOW " AND (changed,id)<(?3,?4) ORDER BY changed DESC,id DESC LIMIT 20"

static pdr_page *read_page(pdr_store *store, const struct list *list,
                           const char *after, size_t limit)
{
    pdr_query query = {.what = PDR_READ_SESSIONS,
                       .ref.tenant = pdr_str_c(TURN_TENANT),
                       .limit = limit,
                       .filter = list->filter};
    pdr_page *page = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (after != NULL)
        query.after = pdr_str_c(after);
    if (pdr_store_read(&page, store, &query, &err) != PDR_OK)
        bench_fail("%s: %s", list->name, err.message);
    return page;
}

static char *copy(pdr_str text)
{
    char *out = strndup(text.ptr, text.len);

    if (out == NULL)
        bench_fail("no memory");
    return out;
}

static void place_dispose(struct place *place)
{
    free(place->next);
    free(place->id);
}

/* The end of page number `seen` is kept with the chance that all of them have:
 * in the room that is left, or in the place of another one. */
static void keep_place(struct list *list, const pdr_page *page, size_t seen,
                       struct turn_random *random)
{
    const pdr_head *last = &page->sessions[page->count - 1];
    size_t at = seen < PLACES ? seen : turn_random(random) % (seen + 1);

    if (at >= PLACES)
        return;
    if (at == list->count)
        list->count++;
    else
        place_dispose(&list->places[at]);
    list->places[at] =
        (struct place){copy(page->next), copy(last->ref.id), last->changed_ms};
}

/* Walk through the whole list in pages of any length, and keep random ends. */
static void find_places(struct list *list, pdr_store *store)
{
    struct turn_random random = {11};
    pdr_page *page = read_page(store, list, NULL, 1);

    for (size_t seen = 0; page->next.ptr != NULL; seen++) {
        char *next = copy(page->next);

        keep_place(list, page, seen, &random);
        pdr_page_free(page);
        page = read_page(store, list, next, 1 + turn_random(&random) % STRIDE);
        free(next);
    }
    pdr_page_free(page);
    if (list->count == 0)
        bench_fail("%s: the list has one page only", list->name);
}

static uint64_t ours(const struct list *list, pdr_store *store, size_t place)
{
    pdr_page *page = read_page(store, list, list->places[place].next, SHOWN);
    uint64_t sum = 0;

    for (size_t i = 0; i < page->count; i++)
        sum += page->sessions[i].epoch;
    pdr_page_free(page);
    return sum;
}

/* All columns are looked at, as whoever shows the list has to. */
static uint64_t bare(const struct list *list, size_t place)
{
    uint64_t sum = 0;
    volatile const void *seen = NULL;

    (void)sqlite3_bind_text(list->stmt, 1, TURN_TENANT, -1, SQLITE_STATIC);
    if (list->words != NULL)
        (void)sqlite3_bind_text(list->stmt, 2, list->words, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(list->stmt, 3, list->places[place].ms);
    (void)sqlite3_bind_text(list->stmt, 4, list->places[place].id, -1,
                            SQLITE_STATIC);
    while (sqlite3_step(list->stmt) == SQLITE_ROW) {
        sum += (uint64_t)sqlite3_column_int64(list->stmt, 0);
        for (int i = 1; i < PDR_SQLITE_HEAD_COUNT; i++) {
            int type = sqlite3_column_type(list->stmt, i);
            if (type == SQLITE_INTEGER)
                (void)sqlite3_column_int64(list->stmt, i);
            else if (type != SQLITE_NULL)
                seen = sqlite3_column_blob(list->stmt, i);
        }
    }
    (void)seen;
    sqlite3_reset(list->stmt);
    return sum;
}

/* --- measuring --------------------------------------------------------------
 */

static void measure(struct list *list, pdr_store *store, sqlite3 *db)
{
    struct bench_blocks blocks = {
        .name = list->name, .unit = "us", .baseline = "bare", .wanted = 0.7};
    size_t rounds = bench_is_quick() ? 1 : ROUNDS;
    size_t calls = bench_is_quick() ? 5 : CALLS;
    struct turn_random random = {7};

    if (sqlite3_prepare_v2(db, list->sql, -1, &list->stmt, NULL) != SQLITE_OK)
        bench_fail("%s: %s", list->name, sqlite3_errmsg(db));
    for (size_t i = 0; i < list->count; i++)
        if (ours(list, store, i) != bare(list, i))
            bench_fail("%s: the sides show different sessions", list->name);
    for (size_t round = 0; round < rounds; round++) {
        uint64_t begin = bench_core_ns();
        for (size_t i = 0; i < calls; i++)
            (void)ours(list, store, turn_random(&random) % list->count);
        uint64_t middle = bench_core_ns();
        for (size_t i = 0; i < calls; i++)
            (void)bare(list, turn_random(&random) % list->count);
        uint64_t end = bench_core_ns();
        bench_blocks_add(&blocks,
                         (double)(middle - begin) / 1e3 / (double)calls,
                         (double)(end - middle) / 1e3 / (double)calls);
    }
    bench_blocks_report(&blocks);
    sqlite3_finalize(list->stmt);
}

static void drop(struct list *list)
{
    for (size_t i = 0; i < list->count; i++)
        place_dispose(&list->places[i]);
}

/* The memory that a reader of the library has. */
static sqlite3 *open_bare(const struct fill *fill)
{
    sqlite3 *db = NULL;

    if (sqlite3_open_v2(fill->path, &db,
                        SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK ||
        sqlite3_exec(db, "PRAGMA cache_size=-2048", NULL, NULL, NULL) !=
            SQLITE_OK)
        bench_fail("%s: %s", fill->path, sqlite3_errmsg(db));
    return db;
}

static struct list lists[] = {
    {.name = "list/20",
     .sql = "SELECT s.* FROM (" IN("'idle'") " UNION ALL " IN("'running'") " UNION ALL " IN(
         "'waiting'") " UNION ALL " IN("'expired'") " ORDER BY 2 DESC,3 DESC LIMIT 20) i"
                                                    " CROSS JOIN sessions s ON s.no=i.no"},
    {.name = "list/20/agent",
     .words = "agent-7",
     .sql = HEAD "sessions_by_agent WHERE tenant=?1 AND agent=?2" BELOW},
    {.name = "list/20/state",
     .words = "waiting",
     .sql = HEAD "sessions_by_state WHERE tenant=?1 AND state=?2" BELOW},
    {.name = "list/20/changed",
     .sql = NULL}, /* that of list/20, with a bound */
    {.name = "list/20/property",
     .words = "tteam-7",
     .sql = "SELECT s.* FROM properties p INDEXED BY properties_by_match"
            " JOIN sessions s ON s.no=p.session WHERE p.tenant=?1"
            " AND p.key='team' AND p.match=?2 AND p.id>?4 AND ?3 IS NOT NULL"
            " ORDER BY p.id LIMIT 20"},
};

static void set_filters(size_t sessions)
{
    lists[1].filter.agent = pdr_str_c("agent-7");
    lists[2].filter.by_state = true;
    lists[2].filter.state = PDR_SESSION_WAITING;
    lists[3].filter.changed_from_ms = BEGIN_MS; /* that of the first one */
    lists[3].filter.changed_to_ms = BEGIN_MS + (int64_t)sessions * SPACE_MS / 2;
    lists[3].sql = lists[0].sql;
    lists[4].filter.property = pdr_str_c("team");
    lists[4].filter.match = pdr_str_c("tteam-7");
}

int main(int argc, char **argv)
{
    struct fill fill;
    size_t sessions = 0;

    bench_start(argc, argv, "store");
    sessions = bench_is_quick() ? QUICK : SESSIONS;
    count_vfs_register();
    fill_place(&fill, "store-list.db", sessions);
    set_filters(sessions);
    make_sessions(&fill, sessions);
    fill_note(&fill);
    bench_note("clock", "core");
    bench_note_number("file_bytes", (double)fill_bytes(&fill));
    pdr_store *store = fill_open(&fill);
    sqlite3 *db = open_bare(&fill);
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        if (!bench_wants(lists[i].name))
            continue;
        find_places(&lists[i], store);
        bench_note_number("places", (double)lists[i].count);
        measure(&lists[i], store, db);
        drop(&lists[i]);
    }
    sqlite3_close(db);
    pdr_store_close(store);
    fill_remove(&fill);
    return 0;
}
