/*
 * space_harness.c - see space_harness.h.
 *
 * A turn has texts of the sizes that conversations have: a request of 200 to
 * 1,000 bytes, a response of 600 to 2,600, a completion, one slot that is
 * replaced, and journal rows that come and go.
 */
#include "space_harness.h"

#include <perdure/sys/store.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "processes.h"

#define BATCH 50 /* commits that are handed over together */

static bool is_removed(size_t number, enum space_half half)
{
    uint64_t seed = number + 1;

    return half == SPACE_EVERY_SECOND ? number % 2 == 0
                                      : next_random(&seed) % 2 == 0;
}

/* --- turns --------------------------------------------------------------- */

struct turn {
    char id[40], correlation_id[24];
    char request[1001], response[2601], slot[301], journal[257];
    pdr_entry entries[2];
    pdr_completion completion;
    pdr_slot bag;
    pdr_work work[2];
    pdr_edit edit;
};

static pdr_str text(char *out, size_t len)
{
    memset(out, 'w', len);
    out[0] = out[len - 1] = '"';
    return pdr_str_n(out, len);
}

static void fill_entries(struct turn *turn, uint64_t seed)
{
    turn->entries[0] = (pdr_entry){
        .kind = PDR_ROW_REQUEST,
        .created_ms = 1000,
        .correlation_id = pdr_str_c(turn->correlation_id),
        .body = text(turn->request, 200 + random_below(&seed, 801))};
    turn->entries[1] = (pdr_entry){
        .kind = PDR_ROW_RESPONSE,
        .created_ms = 1000,
        .correlation_id = pdr_str_c(turn->correlation_id),
        .body = text(turn->response, 600 + random_below(&seed, 2001))};
}

static void make_turn(struct turn *turn, size_t number, size_t n)
{
    snprintf(turn->id, sizeof(turn->id), "session %zu", number);
    snprintf(turn->correlation_id, sizeof(turn->correlation_id), "c%zu", n);
    fill_entries(turn, number * 1000003 + n);
    turn->completion = (pdr_completion){
        .correlation_id = pdr_str_c(turn->correlation_id),
        .fingerprint = pdr_str_c("a fingerprint of 32 bytes, it is"),
        .outcome = pdr_str_c("{\"ok\":true}")};
    turn->bag =
        (pdr_slot){.key = pdr_str_c("memory"), .value = text(turn->slot, 300)};
    turn->work[0] = (pdr_work){.due_ms = PDR_NEVER,
                               .kind = pdr_str_c("step"),
                               .body = text(turn->journal, 256)};
    turn->work[1] = turn->work[0];
    turn->edit = (pdr_edit){.ref.id = pdr_str_c(turn->id),
                            .revision = n,
                            .entries = turn->entries,
                            .entry_count = 2,
                            .completions = &turn->completion,
                            .completion_count = 1,
                            .slots = &turn->bag,
                            .slot_count = 1,
                            .journal = turn->work,
                            .journal_count = 2,
                            .journal_through = 2 * n};
}

static void commit_batch(pdr_store *store, struct turn *turns, size_t count)
{
    pdr_request requests[BATCH];

    memset(requests, 0, sizeof(requests));
    for (size_t i = 0; i < count; i++) {
        requests[i].edits = &turns[i].edit;
        requests[i].count = 1;
        requests[i].options.now_ms = 1000;
    }
    pdr_store_commit_all(store, requests, count);
    for (size_t i = 0; i < count; i++)
        if (requests[i].rc != PDR_OK)
            fail_msg("%s: %s", turns[i].id, requests[i].err.message);
}

/* Turn `n` of the sessions `from` to `to`. */
static void write_round(struct space *space, size_t from, size_t to, size_t n)
{
    static struct turn turns[BATCH];
    size_t count = 0;

    for (size_t i = from; i < to; i++) {
        make_turn(&turns[count++], i, n);
        if (count == BATCH || i + 1 == to) {
            commit_batch(space->store, turns, count);
            count = 0;
        }
    }
}

static void write_sessions(struct space *space, size_t from, size_t to)
{
    for (size_t n = 0; n < space->turns; n++)
        write_round(space, from, to, n);
}

/* --- the file ------------------------------------------------------------ */

static void open_store(struct space *space)
{
    char uri[700];
    pdr_err err = PDR_ERR_INIT;

    snprintf(uri, sizeof(uri), "sqlite:%s", room_path(&space->room, "a.db"));
    if (pdr_store_open(&space->store, uri, &err) != PDR_OK)
        fail_msg("%s", err.message);
}

uint64_t space_file(struct space *space)
{
    struct stat file;

    pdr_store_close(space->store);
    ASSERT_INT(0, stat(room_path(&space->room, "a.db"), &file));
    open_store(space);
    return (uint64_t)file.st_size;
}

void space_init(struct space *space, size_t sessions, size_t turns)
{
    memset(space, 0, sizeof(*space));
    space->sessions = sessions;
    space->turns = turns;
    room_enter(&space->room);
    open_store(space);
    write_sessions(space, 0, sessions);
    space->bytes = space_file(space);
}

void space_dispose(struct space *space)
{
    pdr_store_close(space->store);
    room_leave(&space->room);
}

void space_remove_half(struct space *space, enum space_half half)
{
    pdr_commit_options options = {.now_ms = 2000};
    pdr_err err = PDR_ERR_INIT;

    for (size_t i = 0; i < space->sessions; i++) {
        char id[40];
        pdr_edit edit = {.revision = space->turns, .remove = true};

        if (!is_removed(i, half))
            continue;
        snprintf(id, sizeof(id), "session %zu", i);
        edit.ref.id = pdr_str_c(id);
        if (pdr_store_commit(NULL, space->store, &edit, 1, &options, &err) !=
            PDR_OK)
            fail_msg("%s: %s", id, err.message);
    }
}

/* What a plain connection writes is left in the log, as its pages have no
 * sums. The first UPDATE goes where no row is, so that none is in the way. */
void space_shift(struct space *space, unsigned places)
{
    char sql[200];
    sqlite3 *db = NULL;

    pdr_store_close(space->store);
    ASSERT_INT(SQLITE_OK, sqlite3_open(room_path(&space->room, "a.db"), &db));
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
                            (int *)NULL);
    snprintf(sql, sizeof(sql),
             "PRAGMA wal_autocheckpoint=0;"
             "BEGIN;UPDATE log SET n=-n;UPDATE log SET n=%u-n;COMMIT",
             places);
    ASSERT_INT(SQLITE_OK, sqlite3_exec(db, sql, NULL, NULL, NULL));
    ASSERT_INT(SQLITE_OK, sqlite3_close(db));
    open_store(space);
}

void space_write_again(struct space *space)
{
    size_t from = space->sessions;

    space->sessions += from / 2;
    write_sessions(space, from, space->sessions);
}

uint64_t space_fill_log(struct space *space, uint64_t bytes)
{
    pdr_store_info info = {.log_bytes = 0};

    while (info.log_bytes < bytes) {
        size_t from = space->sessions;

        space->sessions += BATCH;
        write_sessions(space, from, space->sessions);
        ASSERT_RC(PDR_OK, pdr_store_info_get(&info, space->store, NULL));
    }
    return info.log_bytes;
}

/* Is there a session of this number, with all its turns? */
static bool is_there(struct space *space, size_t number)
{
    char id[40];
    pdr_query query = {.what = PDR_READ_HEAD};
    pdr_page *page = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    snprintf(id, sizeof(id), "session %zu", number);
    query.ref.id = pdr_str_c(id);
    rc = pdr_store_read(&page, space->store, &query, &err);
    if (rc == PDR_ENOTFOUND)
        return false;
    if (rc != PDR_OK)
        fail_msg("%s: %s", id, err.message);
    ASSERT_SIZE(2 * space->turns + 1, page->head.next_seq);
    pdr_page_free(page);
    return true;
}

void space_check(struct space *space, size_t first, enum space_half half)
{
    pdr_verify_report report;
    pdr_err err = PDR_ERR_INIT;
    uint64_t there = 0;

    for (size_t i = 0; i < space->sessions; i++) {
        bool wanted = i >= first || !is_removed(i, half);

        ASSERT(is_there(space, i) == wanted);
        there += wanted;
    }
    if (pdr_store_verify(&report, space->store, NULL, &err, NULL, NULL) !=
        PDR_OK)
        fail_msg("%s", err.message);
    ASSERT_SIZE(there, report.sessions);
    ASSERT_SIZE(there * 2 * space->turns, report.entries);
}
