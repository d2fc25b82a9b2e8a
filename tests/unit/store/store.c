/* The calls of store.h: what goes to a backend, and what comes back. */
#include "test.h"

#include <time.h>

#include "trick_digest.h"
#include "trick_store.h"

#define T(text) pdr_str_c(text)
#define NONE    pdr_str_n(NULL, 0)

static const pdr_commit_options at_5000 = {.now_ms = 5000};

static pdr_rc commit(pdr_store *store, const pdr_edit *edit, pdr_err *err)
{
    return pdr_store_commit(NULL, store, edit, 1, &at_5000, err);
}

static pdr_head head_of(pdr_store *store, const char *id)
{
    pdr_query query = {.ref.id = T(id)};
    pdr_page *page = NULL;

    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    pdr_head head = page->head;
    pdr_page_free(page);
    return head;
}

/* --- opening -------------------------------------------------------------- */

TEST(store_open, opens_and_closes)
{
    pdr_store *store = NULL;

    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    ASSERT_STR("memory", store->ops->name);
    pdr_store_close(store);
    pdr_store_close(NULL);
}

TEST(store_open, passes_on_what_the_backend_says)
{
    pdr_store *store = (pdr_store *)(uintptr_t)8;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_ENOTFOUND, trick_open_any(&store, "trick:fails", &err));
    ASSERT_STR("no_store", err.reason);
    ASSERT(store == NULL);
    store = (pdr_store *)(uintptr_t)8;
    ASSERT_RC(PDR_EINVALID, pdr_store_open(&store, "nosuch:", &err));
    ASSERT_STR("bad_uri", err.reason);
    ASSERT(store == NULL);
}

TEST_OOM(store_open, cleans_up_after_any_failed_allocation)
{
    pdr_store *store = NULL;
    pdr_rc rc = pdr_store_open(&store, "memory:", NULL);

    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((store != NULL) == (rc == PDR_OK));
    pdr_store_close(store);
}

TEST(store_info_get, says_what_the_store_is)
{
    pdr_store *store = trick_open("trick:key");
    pdr_store_info info, untouched;
    pdr_err err = PDR_ERR_INIT;

    trick_fill(store);
    ASSERT_RC(PDR_OK, pdr_store_info_get(&info, store, NULL));
    ASSERT_STR("trick", info.backend);
    ASSERT(info.keyed && !info.read_only && !info.in_doubt);
    ASSERT_SIZE(4, info.commits);
    ASSERT_SIZE(0, info.file_bytes);
    memset(&info, 0x11, sizeof(info));
    untouched = info;
    trick_fail_info();
    ASSERT_RC(PDR_EIO, pdr_store_info_get(&info, store, &err));
    ASSERT_STR("in_doubt", err.reason);
    assert_memory_equal(&untouched, &info, sizeof(info));
    pdr_store_close(store);
}

/* As in the child of the process that opened it. */
static pdr_rc clock_at_9000(pdr_store *store, int64_t *out, pdr_err *err)
{
    (void)store;
    (void)err;
    *out = 9000;
    return PDR_OK;
}

static pdr_rc clock_that_fails(pdr_store *store, int64_t *out, pdr_err *err)
{
    (void)clock_at_9000(store, out, NULL);
    return pdr_err_set(err, PDR_EIO, "no_clock", "it stands still");
}

TEST(store_now, is_that_of_the_clock_if_the_table_has_one)
{
    static const struct {
        uint32_t version;
        pdr_rc (*now)(pdr_store *store, int64_t *out, pdr_err *err);
        pdr_rc rc;
        int64_t wanted;
    } cases[] = {{2, NULL, PDR_OK, 5},
                 {2, clock_at_9000, PDR_OK, 9000},
                 {2, clock_that_fails, PDR_EIO, -1}, /* untouched */
                 {1, clock_at_9000, PDR_OK, 5}};     /* not looked at */

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        pdr_store *store = NULL;
        int64_t now = -1;

        ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
        pdr_store_ops ops = *store->ops;
        ops.version = cases[i].version;
        ops.now = cases[i].now;
        store->ops = &ops;
        ASSERT_RC(cases[i].rc, pdr_store_now(&now, store, 5, NULL));
        ASSERT_INT(cases[i].wanted, now);
        pdr_store_close(store);
    }
}

static pdr_rc count_seven(pdr_store *store, pdr_store_counts *out,
                          pdr_str tenant, pdr_err *err)
{
    (void)store;
    out->by_state[PDR_SESSION_WAITING] += 7;
    ASSERT_TEXT(PDR_DEFAULT_TENANT, tenant);
    if (err != NULL)
        return pdr_err_set(err, PDR_EIO, "no_disk", "it is gone");
    return PDR_OK;
}

TEST(store_count, is_left_to_tables_that_can)
{
    pdr_store *store = NULL;
    pdr_store_counts counts = {.by_state = {1, 1, 1, 1}};
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    pdr_store_ops ops = *store->ops;
    ops.count = count_seven;
    store->ops = &ops;
    for (ops.version = 1; ops.version < 3; ops.version++) {
        ASSERT_RC(PDR_EUNSUPPORTED,
                  pdr_store_count(&counts, store, (pdr_str){NULL, 0}, &err));
        ASSERT_STR("no_count", err.reason);
    }
    ASSERT_RC(PDR_EIO,
              pdr_store_count(&counts, store, (pdr_str){NULL, 0}, &err));
    ASSERT_SIZE(1, counts.by_state[PDR_SESSION_WAITING]); /* untouched */
    ASSERT_RC(PDR_OK,
              pdr_store_count(&counts, store, (pdr_str){NULL, 0}, NULL));
    ASSERT_SIZE(7, counts.by_state[PDR_SESSION_WAITING]);
    ASSERT_SIZE(0, counts.by_state[PDR_SESSION_IDLE]);
    ops.count = NULL;
    ASSERT_RC(PDR_EUNSUPPORTED,
              pdr_store_count(&counts, store, (pdr_str){NULL, 0}, NULL));
    pdr_store_close(store);
}

TEST(store, refuses_everything_after_fork)
{
    pdr_store *store = trick_open("trick:");
    pdr_edit edit = {.ref = trick_ref()};
    pdr_query query = trick_query(PDR_READ_HEAD);
    pdr_request request = {.edits = &edit, .count = 1};
    pdr_store_info info;
    pdr_page *page = NULL;
    pdr_err err = PDR_ERR_INIT;

    store->process++;
    ASSERT_RC(PDR_EMISUSE, commit(store, &edit, &err));
    ASSERT_STR("after_fork", err.reason);
    ASSERT_STR("the store was opened by another process; close it before "
               "fork(), and open it again in each",
               err.message);
    ASSERT_RC(PDR_EMISUSE, pdr_store_read(&page, store, &query, NULL));
    ASSERT(page == NULL);
    ASSERT_RC(PDR_EMISUSE, pdr_store_info_get(&info, store, NULL));
    pdr_store_commit_all(store, &request, 1);
    ASSERT_RC(PDR_EMISUSE, request.rc);
    ASSERT_STR("after_fork", request.err.reason);
    pdr_store_close(store); /* the parent's: nothing happens */
    store->process--;
    pdr_store_close(store);
}

/* --- commits -------------------------------------------------------------- */

TEST(store_commit, tells_what_became_of_each_edit)
{
    pdr_store *store = trick_open("trick:");
    pdr_entry entries[] = {{.body = T("1")}, {.body = T("2")}};
    pdr_edit edits[] = {
        {.ref.id = T("a")},
        {.ref.id = T("b"), .entries = entries, .entry_count = 2},
        {.ref = {T("acme"), T("a")},
         .lease.verb = PDR_LEASE_TAKE,
         .lease.owner = T("w")}};
    pdr_committed out[3];

    ASSERT_RC(PDR_OK, pdr_store_commit(out, store, edits, 3, &at_5000, NULL));
    ASSERT_SIZE(1, out[0].epoch);
    ASSERT_SIZE(2, out[1].epoch);
    ASSERT_SIZE(3, out[2].epoch);
    ASSERT_SIZE(4, out[2].fence);
    ASSERT_SIZE(1, out[1].first_seq);
    ASSERT_SIZE(1, out[1].revision);
    edits[1].revision = 1;
    ASSERT_RC(PDR_OK,
              pdr_store_commit(out, store, &edits[1], 1, &at_5000, NULL));
    ASSERT_SIZE(3, out[0].first_seq);
    ASSERT_SIZE(2, out[0].revision);
    pdr_store_close(store);
}

TEST(store_commit, leaves_out_alone_when_it_is_refused)
{
    pdr_store *store = trick_open("trick:");
    pdr_edit edit = {.ref.id = T("a"), .revision = 4};
    pdr_committed out, untouched;
    pdr_err err = PDR_ERR_INIT;

    memset(&out, 0x22, sizeof(out));
    untouched = out;
    ASSERT_RC(PDR_ENOTFOUND,
              pdr_store_commit(&out, store, &edit, 1, &at_5000, &err));
    ASSERT_STR("no_session", err.reason);
    ASSERT_RC(PDR_ENOTFOUND,
              pdr_store_commit(&out, store, &edit, 1, &at_5000, NULL));
    edit.ref.id = T("");
    ASSERT_RC(PDR_EINVALID,
              pdr_store_commit(&out, store, &edit, 1, &at_5000, &err));
    ASSERT_STR("bad_ref", err.reason);
    ASSERT_RC(PDR_EINVALID,
              pdr_store_commit(&out, store, &edit, 0, &at_5000, &err));
    ASSERT_STR("bad_edit", err.reason);
    assert_memory_equal(&untouched, &out, sizeof(out));
    pdr_store_close(store);
}

/* All or nothing, whichever edit is refused. */
TEST(store_commit, changes_nothing_when_one_edit_is_refused)
{
    pdr_store *store = trick_open("trick:");

    for (size_t bad = 0; bad < 3; bad++) {
        pdr_edit edits[3] = {
            {.ref.id = T("a")}, {.ref.id = T("b")}, {.ref.id = T("c")}};
        pdr_query all = {.what = PDR_READ_ALL};
        pdr_page *page = NULL;

        edits[bad].revision = 9;
        ASSERT_RC(PDR_ENOTFOUND,
                  pdr_store_commit(NULL, store, edits, 3, &at_5000, NULL));
        ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &all, NULL));
        ASSERT_SIZE(0, page->count);
        pdr_page_free(page);
    }
    pdr_store_close(store);
}

TEST(store_commit, takes_empty_lists_without_a_pointer_and_with_one)
{
    pdr_store *store = trick_open("trick:");
    pdr_entry entry;
    pdr_work work;
    pdr_edit edit = {.ref.id = T("a"),
                     .entries = &entry,
                     .journal = &work,
                     .inbox = &work,
                     .stream = &work};

    ASSERT_RC(PDR_OK, commit(store, &edit, NULL));
    edit = (pdr_edit){.ref.id = T("a"), .revision = 1};
    ASSERT_RC(PDR_OK, commit(store, &edit, NULL));
    ASSERT_SIZE(1, head_of(store, "a").commits); /* it asked for nothing */
    pdr_store_close(store);
}

/* Times before 1970, and ones that never come. */
TEST(store_commit, takes_any_time)
{
    static const int64_t times[] = {INT64_MIN, -1, 0, 1, PDR_NEVER};

    for (size_t i = 0; i < PDR_COUNT(times); i++) {
        pdr_store *store = trick_open("trick:");
        pdr_commit_options options = {.now_ms = times[i]};
        pdr_edit edit = {.ref.id = T("a"),
                         .expiry = PDR_EXPIRY_SET,
                         .expiry_ms = times[i],
                         .lease.verb = PDR_LEASE_TAKE,
                         .lease.owner = T("w"),
                         .lease.until_ms = times[i]};
        pdr_query expired = {.what = PDR_READ_EXPIRED, .now_ms = PDR_NEVER};
        pdr_page *page = NULL;

        ASSERT_RC(PDR_OK,
                  pdr_store_commit(NULL, store, &edit, 1, &options, NULL));
        ASSERT_INT(times[i], head_of(store, "a").changed_ms);
        ASSERT_INT(times[i], head_of(store, "a").lease.until_ms);
        ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &expired, NULL));
        ASSERT_SIZE(times[i] == PDR_NEVER ? 0 : 1, page->count);
        pdr_page_free(page);
        pdr_store_close(store);
    }
}

/* --- what a backend gets -------------------------------------------------- */

struct glance {
    size_t calls, writes;
    int64_t deadline_ms;
    size_t bytes;
    uint64_t completions, first, last;
    const pdr_edit *edit;
};

static bool look(pdr_write *const *writes, size_t count, void *arg)
{
    struct glance *glance = arg;

    glance->calls++;
    glance->writes += count;
    glance->deadline_ms = writes[0]->deadline_ms;
    glance->bytes = writes[0]->bytes;
    ASSERT_INT(5000, writes[0]->now_ms);
    return false;
}

TEST(store_commit, hands_over_a_deadline)
{
    pdr_store *store = trick_open("trick:");
    pdr_edit edit = {.ref.id = T("a")};
    pdr_commit_options options = at_5000;
    struct glance glance = {0};
    const uint32_t asked[] = {0, 1, UINT32_MAX};
    const int64_t wanted[] = {10000, 1, UINT32_MAX};

    trick_on_commit(look, &glance);
    for (size_t i = 0; i < PDR_COUNT(asked); i++) {
        int64_t before = pdr__monotonic_ms(pdr__clock_system());

        options.timeout_ms = asked[i];
        edit.revision = i > 0 ? 1 : 0;
        ASSERT_RC(PDR_OK,
                  pdr_store_commit(NULL, store, &edit, 1, &options, NULL));
        int64_t after = pdr__monotonic_ms(pdr__clock_system());
        ASSERT(glance.deadline_ms >= before + wanted[i]);
        ASSERT(glance.deadline_ms <= after + wanted[i]);
    }
    ASSERT_SIZE(strlen("default") + 1, glance.bytes);
    pdr_store_close(store);
}

/* A backend looks completions up by the ids in the plan. */
static bool check_ids(pdr_write *const *writes, size_t count, void *arg)
{
    static const struct {
        const char *id;
        uint64_t first, last;
    } wanted[] = {
        {"named", 0, 0}, {"both", 2, 4}, {"first", 1, 3}, {"last", 6, 6}};
    const pdr_plan *plan = writes[0]->plans;

    (void)arg;
    ASSERT_SIZE(1, count);
    ASSERT_SIZE(PDR_COUNT(wanted), plan->completion_count);
    for (size_t i = 0; i < PDR_COUNT(wanted); i++) {
        ASSERT_TEXT(wanted[i].id, plan->asked[i].correlation_id);
        ASSERT_TEXT(wanted[i].id, plan->completions[i].correlation_id);
        ASSERT_SIZE(wanted[i].first, plan->asked[i].first_seq);
        ASSERT_SIZE(wanted[i].last, plan->asked[i].last_seq);
    }
    ASSERT_TEXT("f", plan->asked[0].fingerprint);
    ASSERT_TEXT("{}", plan->asked[1].outcome);
    return false;
}

TEST(store_commit, gathers_each_correlation_id_once)
{
    pdr_store *store = trick_open("trick:");
    const pdr_completion named[] = {
        {.correlation_id = T("named"), .fingerprint = T("f")},
        {.correlation_id = T("both"), .outcome = T("{}")}};
    const pdr_entry entries[] = {{.correlation_id = T("first"), .body = T("1")},
                                 {.correlation_id = T("both"), .body = T("1")},
                                 {.correlation_id = T("first"), .body = T("1")},
                                 {.correlation_id = T("both"), .body = T("1")},
                                 {.body = T("1")},
                                 {.correlation_id = T("last"), .body = T("1")}};
    pdr_edit edit = {.ref.id = T("a"),
                     .entries = entries,
                     .entry_count = PDR_COUNT(entries),
                     .completions = named,
                     .completion_count = PDR_COUNT(named)};

    trick_on_commit(check_ids, NULL);
    ASSERT_RC(PDR_OK, commit(store, &edit, NULL));
    ASSERT_SIZE(4, head_of(store, "a").completions);
    pdr_store_close(store);
}

/* Take the plan and do not write it. */
static bool take_plan(pdr_write *const *writes, size_t count, void *arg)
{
    struct glance *glance = arg;
    const pdr_plan *plan = writes[0]->plans;

    (void)count;
    glance->completions = plan->completion_count;
    for (size_t i = 0; i < plan->completion_count; i++) {
        const pdr_completion *row = &plan->completions[i];

        if (i % 100 == 0 || plan->completion_count < 100)
            ASSERT_BYTES(plan->edit->entries[i].correlation_id,
                         row->correlation_id);
        glance->first += row->first_seq;
        glance->last += row->last_seq;
    }
    writes[0]->rc = PDR_OK;
    return true;
}

/* `count` entries, the ids of which repeat after `ids`. */
static struct glance commit_ids(size_t count, size_t ids)
{
    pdr_store *store = trick_open("trick:");
    pdr_entry *entries = calloc(count, sizeof(*entries));
    char(*texts)[32] = calloc(ids, sizeof(*texts));
    pdr_edit edit = {
        .ref.id = T("a"), .entries = entries, .entry_count = count};
    struct glance glance = {0};

    assert_non_null(entries);
    assert_non_null(texts);
    for (size_t i = 0; i < ids; i++)
        snprintf(texts[i], sizeof(texts[i]), "id-%zu", i);
    for (size_t i = 0; i < count; i++) {
        entries[i].correlation_id = T(texts[i % ids]);
        entries[i].body = T("1");
    }
    trick_on_commit(take_plan, &glance);
    ASSERT_RC(PDR_OK, commit(store, &edit, NULL));
    pdr_store_close(store);
    free(texts);
    free(entries);
    return glance;
}

TEST(store_commit, gathers_few_and_many_ids_alike)
{
    static const struct {
        size_t count, ids;
    } cases[] = {{1, 1},   {16, 16}, {17, 17}, {17, 1},  {33, 16},
                 {34, 17}, {64, 64}, {99, 33}, {1000, 7}};

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        size_t count = cases[i].count, ids = cases[i].ids;
        struct glance glance = commit_ids(count, ids);

        ASSERT_SIZE(ids, glance.completions);
        ASSERT_SIZE(ids * (ids + 1) / 2, glance.first);
        /* The last `ids` entries are the last ones of an id each. */
        ASSERT_SIZE(ids * (2 * count - ids + 1) / 2, glance.last);
    }
}

/* 5,000,000,000 comparisons would take longer than anybody waits. */
TEST(store_commit, gathers_a_hundred_thousand_ids_in_no_time)
{
    clock_t begun = clock();
    struct glance glance = commit_ids(100000, 100000);

    ASSERT_SIZE(100000, glance.completions);
    ASSERT_SIZE(5000050000, glance.first);
    ASSERT_SIZE(5000050000, glance.last);
    ASSERT((clock() - begun) / CLOCKS_PER_SEC < 5);
}

static bool check_seals(pdr_write *const *writes, size_t count, void *arg)
{
    const pdr_plan *plan = writes[0]->plans;
    struct pdr__seal seal = PDR_SEAL_INIT;
    pdr_digest zero = {0}, wanted;

    (void)count;
    (void)arg;
    assert_memory_equal(zero, plan->seals->slots[1], sizeof(zero));
    assert_memory_equal(zero, plan->seals->properties[0], sizeof(zero));
    ASSERT_RC(PDR_OK, pdr__seal_slot(wanted, &seal, writes[0]->store,
                                     &plan->ref, &plan->edit->slots[0], NULL));
    assert_memory_equal(wanted, plan->seals->slots[0], sizeof(wanted));
    ASSERT_RC(PDR_OK,
              pdr__seal_property(wanted, &seal, writes[0]->store, &plan->ref,
                                 &plan->edit->properties[1], NULL));
    assert_memory_equal(wanted, plan->seals->properties[1], sizeof(wanted));
    pdr__seal_dispose(&seal);
    return false;
}

TEST(store_commit, seals_what_is_set_and_not_what_is_removed)
{
    pdr_store *store = trick_open("trick:key");
    pdr_slot slots[] = {{.key = T("a"), .value = T("1")}, {.key = T("b")}};
    pdr_property properties[] = {{.key = T("a")},
                                 {.key = T("b"), .value = T("1")}};
    pdr_edit edit = {.ref.id = T("a"),
                     .slots = slots,
                     .slot_count = 2,
                     .properties = properties,
                     .property_count = 2};

    trick_on_commit(check_seals, NULL);
    ASSERT_RC(PDR_OK, commit(store, &edit, NULL));
    ASSERT_SIZE(1, head_of(store, "a").slots);
    ASSERT_SIZE(1, head_of(store, "a").properties);
    pdr_store_close(store);
}

/* --- outcomes ------------------------------------------------------------- */

static bool end_unknown(pdr_write *const *writes, size_t count, void *arg)
{
    (void)arg;
    for (size_t i = 0; i < count; i++)
        writes[i]->rc = PDR_FAIL(&writes[i]->err, COMMIT_UNKNOWN, "who knows");
    return true;
}

static bool end_refused(pdr_write *const *writes, size_t count, void *arg)
{
    (void)arg;
    for (size_t i = 0; i < count; i++)
        writes[i]->rc = PDR_FAIL(&writes[i]->err, WRITER_BUSY, "busy");
    return true;
}

TEST(store_commit, passes_on_that_its_outcome_is_unknown)
{
    pdr_store *store = trick_open("trick:");
    pdr_edit edit = {.ref.id = T("a")};
    pdr_committed out, untouched;
    pdr_err err = PDR_ERR_INIT;

    memset(&out, 0x22, sizeof(out));
    untouched = out;
    trick_on_commit(end_unknown, NULL);
    ASSERT_RC(PDR_EUNKNOWN,
              pdr_store_commit(&out, store, &edit, 1, &at_5000, &err));
    ASSERT_STR("commit_unknown", err.reason);
    trick_on_commit(end_refused, NULL);
    ASSERT_RC(PDR_EBUSY,
              pdr_store_commit(&out, store, &edit, 1, &at_5000, &err));
    ASSERT_STR("writer_busy", err.reason);
    assert_memory_equal(&untouched, &out, sizeof(out));
    pdr_store_close(store);
}

static bool say_nothing(pdr_write *const *writes, size_t count, void *arg)
{
    (void)writes;
    (void)count;
    (void)arg;
    return true;
}

/* A backend with a mistake must not turn silence into success. */
TEST(store_commit, is_unknown_when_the_backend_says_nothing)
{
    pdr_store *store = trick_open("trick:");
    pdr_edit edit = {.ref.id = T("a")};
    pdr_err err = PDR_ERR_INIT;

    trick_on_commit(say_nothing, NULL);
    ASSERT_RC(PDR_EUNKNOWN, commit(store, &edit, &err));
    ASSERT_STR("commit_unknown", err.reason);
    ASSERT_STR("the store did not say how the commit ended; open it again and "
               "look",
               err.message);
    pdr_store_close(store);
}

TEST(store_commit, leaves_err_alone_when_it_is_done)
{
    pdr_store *store = trick_open("trick:");
    pdr_edit edit = {.ref.id = T("a")};
    pdr_err err, untouched;

    memset(&err, 0x33, sizeof(err));
    untouched = err;
    ASSERT_RC(PDR_OK, commit(store, &edit, &err));
    assert_memory_equal(&untouched, &err, sizeof(err));
    pdr_store_close(store);
}

static pdr_edit a_turn(void)
{
    static pdr_entry entries[2];
    static pdr_slot slots[1];
    static pdr_property properties[1];
    static pdr_completion completions[1];
    static pdr_work work[2];

    memset(work, 0, sizeof(work));
    for (size_t i = 0; i < 2; i++) {
        entries[i] = (pdr_entry){.correlation_id = T("c"), .body = T("{}")};
        work[i].kind = T("k");
        work[i].body = T("1");
    }
    slots[0] = (pdr_slot){.key = T("k"), .value = T("2")};
    properties[0] = (pdr_property){.key = T("k"), .value = T("3")};
    completions[0] =
        (pdr_completion){.correlation_id = T("c"), .outcome = T("{}")};
    return (pdr_edit){.ref.id = T("turn"),
                      .frame = T("{}"),
                      .entries = entries,
                      .entry_count = 2,
                      .slots = slots,
                      .slot_count = 1,
                      .properties = properties,
                      .property_count = 1,
                      .completions = completions,
                      .completion_count = 1,
                      .journal = work,
                      .journal_count = 2,
                      .stream = work,
                      .stream_count = 1,
                      .inbox = work,
                      .inbox_count = 2};
}

static bool is_there(pdr_store *store, const char *id)
{
    pdr_query query = {.ref.id = T(id)};
    pdr_page *page = NULL;
    pdr_rc rc = pdr_store_read(&page, store, &query, NULL);

    ASSERT(rc == PDR_OK || rc == PDR_ENOTFOUND);
    pdr_page_free(page);
    return rc == PDR_OK;
}

TEST_OOM(store_commit, changes_nothing_after_any_failed_allocation)
{
    pdr_edit edit = a_turn();

    test_pause_failures(true);
    pdr_store *store = trick_open("trick:key");
    test_pause_failures(false);
    pdr_rc rc = commit(store, &edit, NULL);
    test_pause_failures(true);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT(is_there(store, "turn") == (rc == PDR_OK));
    pdr_store_close(store);
    test_pause_failures(false);
}

TEST_OOM(store_commit, cleans_up_with_many_ids_too)
{
    pdr_entry entries[40];
    char texts[40][8];
    pdr_edit edit = {.ref.id = T("a"), .entries = entries, .entry_count = 40};

    memset(entries, 0, sizeof(entries));
    for (size_t i = 0; i < 40; i++) {
        snprintf(texts[i], sizeof(texts[i]), "%zu", i);
        entries[i].correlation_id = T(texts[i]);
        entries[i].body = T("1");
    }
    test_pause_failures(true);
    pdr_store *store = trick_open("trick:");
    test_pause_failures(false);
    pdr_rc rc = commit(store, &edit, NULL);
    test_pause_failures(true);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT(is_there(store, "a") == (rc == PDR_OK));
    pdr_store_close(store);
    test_pause_failures(false);
}

TEST(store_commit, changes_nothing_when_a_digest_fails)
{
    pdr_store *store = trick_open("trick:");
    pdr_edit edit = a_turn();
    pdr_err err = PDR_ERR_INIT;
    size_t failures = 0;

    for (;; failures++) {
        trick_digest_fail(failures + 1);
        pdr_rc rc = commit(store, &edit, &err);
        bool failed = trick_digest_failed();

        trick_digest_fail(0);
        ASSERT_RC(failed ? PDR_EIO : PDR_OK, rc);
        ASSERT(is_there(store, "turn") == !failed);
        if (!failed)
            break;
        ASSERT_STR("digest_failed", err.reason);
    }
    ASSERT(failures > 30);
    pdr_store_close(store);
}

/* --- several commits ------------------------------------------------------ */

TEST(store_commit_all, lets_each_stand_alone)
{
    pdr_store *store = trick_open("trick:");
    pdr_edit good = {.ref.id = T("a")},
             late = {.ref.id = T("b"), .revision = 5};
    pdr_edit bad = {.ref.id = T("")}, other = {.ref.id = T("c")};
    pdr_committed out[2];
    pdr_request requests[] = {
        {.edits = &bad, .count = 1, .options = at_5000},
        {.edits = &good, .count = 1, .options = at_5000, .committed = &out[0]},
        {.edits = &late, .count = 1, .options = at_5000},
        {.edits = NULL, .count = 0, .options = at_5000},
        {.edits = &other, .count = 1, .options = at_5000, .committed = &out[1]},
        {.edits = &good, .count = 1, .options = at_5000}};
    struct glance glance = {0};

    trick_on_commit(look, &glance);
    pdr_store_commit_all(store, requests, PDR_COUNT(requests));
    ASSERT_RC(PDR_EINVALID, requests[0].rc);
    ASSERT_STR("bad_ref", requests[0].err.reason);
    ASSERT_RC(PDR_OK, requests[1].rc);
    ASSERT_RC(PDR_ENOTFOUND, requests[2].rc);
    ASSERT_STR("no_session", requests[2].err.reason);
    ASSERT_RC(PDR_EINVALID, requests[3].rc);
    ASSERT_STR("bad_edit", requests[3].err.reason);
    ASSERT_RC(PDR_OK, requests[4].rc);
    ASSERT_RC(PDR_EEXISTS, requests[5].rc);
    ASSERT_SIZE(1, out[0].epoch);
    ASSERT_SIZE(2, out[1].epoch);
    ASSERT_SIZE(1, glance.calls);
    ASSERT_SIZE(4, glance.writes);
    pdr_store_close(store);
}

TEST(store_commit_all, bothers_no_backend_with_nothing)
{
    pdr_store *store = trick_open("trick:");
    pdr_edit bad = {.ref.id = T("")};
    pdr_request request = {.edits = &bad, .count = 1};
    struct glance glance = {0};

    trick_on_commit(look, &glance);
    pdr_store_commit_all(store, &request, 1);
    pdr_store_commit_all(store, NULL, 0);
    ASSERT_RC(PDR_EINVALID, request.rc);
    ASSERT_SIZE(0, glance.calls);
    pdr_store_close(store);
}

TEST_OOM(store_commit_all, fails_each_after_any_failed_allocation)
{
    pdr_edit edits[2] = {{.ref.id = T("a")}, {.ref.id = T("b")}};
    pdr_request requests[2] = {{.edits = &edits[0], .count = 1},
                               {.edits = &edits[1], .count = 1}};

    test_pause_failures(true);
    pdr_store *store = trick_open("trick:");
    test_pause_failures(false);
    pdr_store_commit_all(store, requests, 2);
    test_pause_failures(true);
    for (size_t i = 0; i < 2; i++) {
        ASSERT(requests[i].rc == PDR_OK || requests[i].rc == PDR_ENOMEM);
        ASSERT(is_there(store, i == 0 ? "a" : "b") ==
               (requests[i].rc == PDR_OK));
    }
    pdr_store_close(store);
    test_pause_failures(false);
}

/* --- reads ---------------------------------------------------------------- */

TEST(store_read, gives_pages_that_stand_alone)
{
    pdr_store *store = trick_open("trick:");
    char id[] = "s1", key[] = "b";
    pdr_query query = {.what = PDR_READ_SLOTS, .ref.id = T(id), .key = T(key)};
    pdr_page *page = NULL;

    trick_fill(store);
    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    memset(id, 'x', 2);
    memset(key, 'x', 1);
    pdr_store_close(store);
    ASSERT_TEXT("s1", page->head.ref.id);
    ASSERT_TEXT("default", page->head.ref.tenant);
    ASSERT_SIZE(1, page->count);
    ASSERT_TEXT("b", page->slots[0].key);
    ASSERT_TEXT("2", page->slots[0].value);
    ASSERT(page->next.ptr == NULL);
    pdr_page_free(page);
}

TEST(store_read, refuses_a_query_that_is_none)
{
    pdr_store *store = trick_open("trick:");
    pdr_query query = {.what = PDR_READ_SLOTS};
    pdr_page *page = (pdr_page *)(uintptr_t)8;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID, pdr_store_read(&page, store, &query, &err));
    ASSERT_STR("bad_ref", err.reason);
    ASSERT(page == NULL);
    query = trick_query(PDR_READ_SLOTS);
    query.limit = PDR_MAX_PAGE_ROWS + 1;
    ASSERT_RC(PDR_EINVALID, pdr_store_read(&page, store, &query, &err));
    ASSERT_STR("bad_query", err.reason);
    query.limit = 1;
    query.after = T("?");
    ASSERT_RC(PDR_EINVALID, pdr_store_read(&page, store, &query, &err));
    ASSERT_STR("bad_cursor", err.reason);
    pdr_store_close(store);
}

TEST(store_read, finds_every_row_under_another_key_wrong)
{
    static uint8_t other[32] = "another key of thirty-two bytes!";
    pdr_store *store = trick_open("trick:key");
    pdr_query query = trick_query(PDR_READ_HEAD);
    pdr_page *page = NULL;
    pdr_err err = PDR_ERR_INIT;

    trick_fill(store);
    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    pdr_page_free(page);
    store->key = other;
    ASSERT_RC(PDR_ECORRUPT, pdr_store_read(&page, store, &query, &err));
    ASSERT_STR("bad_digest", err.reason);
    store->key = NULL;
    ASSERT_RC(PDR_ECORRUPT, pdr_store_read(&page, store, &query, &err));
    pdr_store_close(store);
}

/* A key longer than a block counts as its digest (RFC 2104). */
TEST(store_open, takes_the_digest_of_a_long_key)
{
    pdr_store *store = trick_open("trick:longkey");
    pdr_store long_key;
    pdr_head head;

    memset(&long_key, 0, sizeof(long_key));
    long_key.key = trick_long_key();
    long_key.key_len = TRICK_LONG_KEY;
    ASSERT_SIZE(PDR_DIGEST_BYTES, store->key_len);
    trick_fill(store);
    pdr_query query = trick_query(PDR_READ_HEAD);
    pdr_page *page = NULL;
    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    head = page->head;
    ASSERT_RC(PDR_OK, pdr_head_check(&long_key, &head, NULL));
    pdr_page_free(page);
    pdr_store_close(store);
}

TEST(store_open, fails_when_the_key_has_no_digest)
{
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    trick_digest_fail(1);
    ASSERT_RC(PDR_EIO, trick_open_any(&store, "trick:longkey", &err));
    trick_digest_fail(0);
    ASSERT_STR("digest_failed", err.reason);
    ASSERT(store == NULL);
}

/* The store is made once, outside of what fails. */
static pdr_store *filled(void)
{
    test_pause_failures(true);
    pdr_store *store = trick_open("trick:");
    trick_fill(store);
    test_pause_failures(false);
    return store;
}

static void close_filled(pdr_store *store)
{
    test_pause_failures(true);
    pdr_store_close(store);
    test_pause_failures(false);
}

TEST_OOM(store_read, cleans_up_after_any_failed_allocation)
{
    pdr_store *store = filled();

    for (pdr_read_what what = PDR_READ_HEAD; what <= PDR_READ_ALL; what++) {
        pdr_query query = {.what = what, .limit = 2, .now_ms = 1000};
        pdr_page *page = NULL;

        if (what < PDR_READ_SESSIONS)
            query.ref = trick_ref();
        pdr_rc rc = pdr_store_read(&page, store, &query, NULL);
        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
        ASSERT((page != NULL) == (rc == PDR_OK));
        pdr_page_free(page);
    }
    close_filled(store);
}

TEST_OOM(store_read, cleans_up_when_it_goes_on)
{
    pdr_query query = trick_query(PDR_READ_SLOTS);
    pdr_page *page = NULL, *next = NULL;
    pdr_store *store = filled();

    query.limit = 1;
    test_pause_failures(true);
    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    test_pause_failures(false);
    query.after = page->next;
    pdr_rc rc = pdr_store_read(&next, store, &query, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((next != NULL) == (rc == PDR_OK));
    pdr_page_free(next);
    pdr_page_free(page);
    close_filled(store);
}
