/* SQLite has memory of its own, and that runs out, too. Each deed on a store is
 * done while one of SQLite's allocations fails, or all from one on: it is
 * refused for that reason and no other, nothing has changed, and the same
 * handle can do it as soon as there is memory again. */
#include "sqlite_memory.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base.h"
#include "sqlite_stock.h"
#include "store_work.h"

#define UNTIL 5000 /* then what was staged is over */

struct lack;

struct deed {
    pdr_rc (*act)(struct lack *lack, pdr_err *err);
    bool is_old;        /* the store is of version 1 */
    const char *opened; /* how, before it; NULL: it is not */
    size_t step;        /* every so many allocations; 0: each one */
};

/* One deed on one store. */
struct lack {
    const struct deed *deed;
    struct stock stock; /* of the trial */
    char *bytes;        /* owned: of the file in front of each trial */
    size_t len;
    char *before, *after; /* owned: all rows, without and with the deed */
    int64_t memory;       /* that SQLite has while nothing is open */
    uint64_t staged;      /* epoch of what is staged */
    size_t refused;
};

/* --- the file ------------------------------------------------------------ */

static uint64_t stage_full(struct stock *stock)
{
    const pdr_entry entry = {.body = PDR_LIT("{\"n\":1}"),
                             .correlation_id = PDR_LIT("staged")};
    const pdr_slot slot = {.key = PDR_LIT("k"), .value = PDR_LIT("1")};
    pdr_stage stage = {.ref.id = PDR_LIT("full"), .until_ms = UNTIL};
    const pdr_rows rows = {
        .entries = &entry, .entry_count = 1, .slots = &slot, .slot_count = 1};
    const pdr_commit_options options = {.now_ms = 200};

    ASSERT_RC(PDR_OK, pdr_stage_begin(NULL, stock->store, &stage, &rows,
                                      &options, NULL));
    return stage.epoch;
}

static void make_file(struct lack *lack)
{
    stock_reopen(&lack->stock, "");
    stock_fill(&lack->stock);
    stock_many(&lack->stock, 12);
    lack->staged = stage_full(&lack->stock);
    lack->before = work_text(lack->stock.store, NULL);
    stock_shut(&lack->stock);
    lack->bytes = room_get(&lack->stock.room, "stock.db", &lack->len);
}

/* Alone in the folder. */
static void put_file(const struct lack *lack)
{
    static const char *const others[] = {
        "stock.db", "stock.db-wal", "stock.db-shm", "stock.db-lock",
        "copy.db",  "copy.db-lock", "new.db",       "new.db-lock"};
    const struct room *room = &lack->stock.room;

    for (size_t i = 0; i < PDR_COUNT(others); i++)
        (void)unlink(room_path(room, others[i]));
    room_put(room, "stock.db", pdr_str_n(lack->bytes, lack->len));
    ASSERT_INT(0, chmod(room_path(room, "stock.db"), 0600));
}

static void lack_enter(struct lack *lack, const struct deed *deed)
{
    memset(lack, 0, sizeof(*lack));
    lack->deed = deed;
    sqlite_memory_enter();
    work_room(&lack->stock.room);
    if (deed->is_old)
        lack->bytes = test_read_data("store/version-1.db", &lack->len);
    else
        make_file(lack);
    lack->memory = sqlite_memory_used();
}

static void lack_leave(struct lack *lack)
{
    stock_close(&lack->stock);
    free(lack->bytes);
    free(lack->before);
    free(lack->after);
}

/* --- trials -------------------------------------------------------------- */

static void prepare(void *arg)
{
    struct lack *lack = arg;

    put_file(lack);
    if (lack->deed->opened != NULL)
        stock_reopen(&lack->stock, lack->deed->opened);
}

static pdr_rc act(void *arg, pdr_err *err)
{
    struct lack *lack = arg;

    return lack->deed->act(lack, err);
}

/* There is memory again. */
static void act_again(struct lack *lack, const struct fail_run *run)
{
    pdr_err err = PDR_ERR_INIT;

    /* Where a file operation lacked it, SQLite says only that this failed. */
    if (strcmp(run->err.reason, "no_memory") != 0 &&
        strcmp(run->err.reason, "file_failed") != 0)
        fail_msg("%s: %s: %s", run->what, run->err.reason, run->err.message);
    if (act(lack, &err) != PDR_OK)
        fail_msg("%s, then none, and yet: %s", run->what, err.message);
}

/* The rows are as they must be behind the deed. */
static void check_rows(struct lack *lack, const struct fail_run *run)
{
    const char *opened = lack->deed->opened;
    pdr_err err = PDR_ERR_INIT;
    char *text = NULL;

    stock_reopen(&lack->stock, opened != NULL ? opened : "");
    text = work_text(lack->stock.store, &err);
    if (text == NULL || pdr_store_verify(NULL, lack->stock.store, NULL, &err,
                                         NULL, NULL) != PDR_OK)
        fail_msg("%s: %s", run->what, err.message);
    if (lack->after == NULL)
        lack->after = text;
    else if (strcmp(lack->after, text) != 0)
        fail_msg("%s: other rows than behind the deed", run->what);
    if (text != lack->after)
        free(text);
}

static void check(void *arg, const struct fail_run *run)
{
    struct lack *lack = arg;

    lack->refused += run->rc != PDR_OK;
    if (run->rc != PDR_OK)
        act_again(lack, run);
    check_rows(lack, run);
    stock_shut(&lack->stock);
    if (sqlite_memory_used() != lack->memory)
        fail_msg("%s: SQLite still has some of it", run->what);
}

/* More of them at a larger scale, and not fewer at a smaller one. */
static size_t step_of(const struct deed *deed)
{
    size_t step = deed->step != 0 ? deed->step : 1;

    return test_every(step) < step ? test_every(step) : step;
}

static void lack_each(const struct deed *deed)
{
    static const struct fail_deed each = {prepare, act, check};
    struct fail_run none = {.what = "no allocation fails", .err = PDR_ERR_INIT};
    struct lack lack;

    lack_enter(&lack, deed);
    prepare(&lack);
    none.rc = act(&lack, &none.err);
    if (none.rc != PDR_OK)
        fail_msg("%s", none.err.message);
    check(&lack, &none);
    sqlite_memory_each(&each, &lack, step_of(deed));
    ASSERT(lack.refused > 5);
    lack_leave(&lack);
}

/* --- opening ------------------------------------------------------------- */

static pdr_rc open_and_close(struct lack *lack, const char *name,
                             const char *parameters, pdr_err *err)
{
    pdr_store *store = NULL;
    char uri[700];
    pdr_rc rc = PDR_OK;

    snprintf(uri, sizeof(uri), "sqlite:%s%s",
             room_path(&lack->stock.room, name), parameters);
    rc = pdr_store_open(&store, uri, err);
    ASSERT((store != NULL) == (rc == PDR_OK));
    pdr_store_close(store);
    return rc;
}

static pdr_rc open_it(struct lack *lack, pdr_err *err)
{
    return open_and_close(lack, "stock.db", "", err);
}

static pdr_rc open_to_read(struct lack *lack, pdr_err *err)
{
    return open_and_close(lack, "stock.db", "?mode=ro", err);
}

static pdr_rc make_another(struct lack *lack, pdr_err *err)
{
    return open_and_close(lack, "new.db", "", err);
}

TEST(sqlite_open, can_be_done_again_after_a_lack_of_memory)
{
    lack_each(&(struct deed){.act = open_it, .step = 61});
}

TEST(sqlite_open_to_read, can_be_done_again_after_a_lack_of_memory)
{
    lack_each(&(struct deed){.act = open_to_read, .step = 23});
}

TEST(sqlite_making, can_be_done_again_after_a_lack_of_memory)
{
    lack_each(&(struct deed){.act = make_another, .step = 127});
}

/* --- commits ------------------------------------------------------------- */

static pdr_rc commit(struct lack *lack, const pdr_edit *edit, pdr_err *err)
{
    const pdr_commit_options options = {.now_ms = 300};

    return pdr_store_commit(NULL, lack->stock.store, edit, 1, &options, err);
}

static pdr_rc change_everything(struct lack *lack, pdr_err *err)
{
    const pdr_entry entries[] = {
        {.body = PDR_LIT("{\"n\":6}"), .correlation_id = PDR_LIT("three")},
        {.body = PDR_LIT("{\"n\":7}"), .correlation_id = PDR_LIT("three")}};
    const pdr_slot slots[] = {{.key = PDR_LIT("a")},
                              {.key = PDR_LIT("c"), .value = PDR_LIT("3")}};
    const pdr_property properties[] = {{.key = PDR_LIT("big")},
                                       {.key = PDR_LIT("size"),
                                        .value = PDR_LIT("1"),
                                        .match = PDR_LIT("n1")}};
    const pdr_completion ends = {.correlation_id = PDR_LIT("three"),
                                 .outcome = PDR_LIT("{}")};
    const pdr_completion drop = {.correlation_id = PDR_LIT("alone"),
                                 .at_ms = 100};
    const pdr_work work = {
        .due_ms = 700, .kind = PDR_LIT("run"), .body = PDR_LIT("1")};
    static const uint64_t settled = 2;
    const pdr_edit edit = {.ref.id = PDR_LIT("full"),
                           .revision = 2,
                           .frame = PDR_LIT("{\"frame\":1}"),
                           .entries_through = 2,
                           .entries = entries,
                           .entry_count = 2,
                           .slots = slots,
                           .slot_count = 2,
                           .properties = properties,
                           .property_count = 2,
                           .completions = &ends,
                           .completion_count = 1,
                           .drop = &drop,
                           .drop_count = 1,
                           .journal_through = 1,
                           .settle = &settled,
                           .settle_count = 1,
                           .journal = &work,
                           .journal_count = 1,
                           .stream = &work,
                           .stream_count = 1,
                           .inbox = &work,
                           .inbox_count = 1};

    return commit(lack, &edit, err);
}

static pdr_rc remove_one(struct lack *lack, pdr_err *err)
{
    const pdr_edit edit = {
        .ref.id = PDR_LIT("full"), .revision = 2, .remove = true};

    return commit(lack, &edit, err);
}

static pdr_rc show_staged(struct lack *lack, pdr_err *err)
{
    const pdr_slot slot = {.key = PDR_LIT("l"), .value = PDR_LIT("2")};
    pdr_stage stage = {.ref.id = PDR_LIT("full"), .epoch = lack->staged};
    const pdr_rows rows = {.slots = &slot, .slot_count = 1};
    const pdr_show_opts show = {.revision = 2};
    const pdr_commit_options options = {.now_ms = 300};

    return pdr_stage_show(NULL, lack->stock.store, &stage, &rows, &show,
                          &options, err);
}

TEST(sqlite_commit, can_be_done_again_after_a_lack_of_memory)
{
    lack_each(&(struct deed){.act = change_everything, .opened = ""});
}

TEST(sqlite_removal, can_be_done_again_after_a_lack_of_memory)
{
    lack_each(&(struct deed){.act = remove_one, .opened = "", .step = 2});
}

TEST(sqlite_showing, can_be_done_again_after_a_lack_of_memory)
{
    lack_each(&(struct deed){.act = show_staged, .opened = "", .step = 2});
}

/* --- reads --------------------------------------------------------------- */

static pdr_rc read_all(struct lack *lack, pdr_err *err)
{
    char *text = work_text(lack->stock.store, err);
    pdr_rc rc = text != NULL ? PDR_OK : err->code;

    if (text != NULL && lack->before != NULL)
        ASSERT_STR(lack->before, text);
    free(text);
    return rc;
}

/* Each list, and how long it is. */
static pdr_rc read_lists(struct lack *lack, pdr_err *err)
{
    const struct {
        pdr_query query;
        size_t count;
    } lists[] = {
        {{.what = PDR_READ_SESSIONS}, 14},
        {{.what = PDR_READ_SESSIONS, .filter.agent = PDR_LIT("even")}, 6},
        {{.what = PDR_READ_SESSIONS,
          .filter = {.by_state = true, .state = PDR_SESSION_WAITING}},
         3},
        {{.what = PDR_READ_SESSIONS,
          .filter = {.changed_from_ms = 1000, .changed_to_ms = 1004}},
         4},
        {{.what = PDR_READ_SESSIONS,
          .filter = {.property = PDR_LIT("colour"), .match = PDR_LIT("sred")}},
         5},
        {{.what = PDR_READ_EXPIRED, .now_ms = 5000}, 3},
        {{.what = PDR_READ_DUE, .now_ms = 200}, 2},
    };
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < PDR_COUNT(lists) && rc == PDR_OK; i++) {
        pdr_page *page = NULL;

        rc = pdr_store_read(&page, lack->stock.store, &lists[i].query, err);
        if (rc == PDR_OK)
            ASSERT_SIZE(lists[i].count, page->count);
        pdr_page_free(page);
    }
    return rc;
}

TEST(sqlite_read, can_be_done_again_after_a_lack_of_memory)
{
    lack_each(&(struct deed){.act = read_all, .opened = "", .step = 47});
}

TEST(sqlite_list, can_be_done_again_after_a_lack_of_memory)
{
    lack_each(&(struct deed){.act = read_lists, .opened = "", .step = 41});
}

static pdr_rc tell_of_itself(struct lack *lack, pdr_err *err)
{
    pdr_store_info info = {.unseen = 0};
    uint64_t number = 0;
    pdr_rc rc = pdr_store_info_get(&info, lack->stock.store, err);

    ASSERT(rc != PDR_OK || info.unseen == (info.schema == 3));
    if (rc == PDR_OK)
        rc = lack->stock.store->ops->poll(lack->stock.store, &number, err);
    return rc;
}

TEST(sqlite_info, can_be_done_again_after_a_lack_of_memory)
{
    lack_each(&(struct deed){.act = tell_of_itself, .opened = "", .step = 7});
}

/* --- keeping house ------------------------------------------------------- */

static void find_nothing(void *arg, const char *table, const char *row,
                         const char *what)
{
    (void)arg;
    fail_msg("%s, %s: %s", table, row, what);
}

static pdr_rc verify(struct lack *lack, pdr_err *err)
{
    return pdr_store_verify(NULL, lack->stock.store, NULL, err, find_nothing,
                            NULL);
}

static pdr_rc sweep(struct lack *lack, pdr_err *err)
{
    return pdr_store_sweep(NULL, lack->stock.store, UNTIL, err);
}

static pdr_rc vacuum(struct lack *lack, pdr_err *err)
{
    return pdr_store_vacuum(NULL, lack->stock.store, err, NULL, NULL);
}

static pdr_rc back_up(struct lack *lack, pdr_err *err)
{
    char path[600];

    snprintf(path, sizeof(path), "%s", room_path(&lack->stock.room, "copy.db"));
    return pdr_store_backup(NULL, lack->stock.store, path, true, err, NULL,
                            NULL);
}

TEST(sqlite_verify, can_be_done_again_after_a_lack_of_memory)
{
    lack_each(&(struct deed){.act = verify, .opened = "", .step = 127});
}

TEST(sqlite_sweep, can_be_done_again_after_a_lack_of_memory)
{
    lack_each(&(struct deed){.act = sweep, .opened = ""});
}

TEST(sqlite_vacuum, can_be_done_again_after_a_lack_of_memory)
{
    lack_each(&(struct deed){.act = vacuum, .opened = ""});
}

TEST(sqlite_backup, can_be_done_again_after_a_lack_of_memory)
{
    lack_each(&(struct deed){.act = back_up, .opened = "", .step = 13});
}

/* --- an older version ---------------------------------------------------- */

static pdr_rc migrate(struct lack *lack, pdr_err *err)
{
    char uri[700];

    snprintf(uri, sizeof(uri), "sqlite:%s",
             room_path(&lack->stock.room, "stock.db"));
    return pdr_store_migrate(NULL, uri, err);
}

TEST(sqlite_migration, can_be_done_again_after_a_lack_of_memory)
{
    lack_each(&(struct deed){.act = migrate, .is_old = true, .step = 211});
}

TEST(sqlite_read_of_version_1, can_be_done_again_after_a_lack_of_memory)
{
    lack_each(&(struct deed){.act = tell_of_itself,
                             .is_old = true,
                             .opened = "?mode=ro",
                             .step = 31});
}
