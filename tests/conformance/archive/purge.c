/* Purging on every store: which sessions go, and which are spared. */
#include <inttypes.h>

#include <perdure/archive.h>

#include "../store/suite.h"

static pdr_purge_report must_purge(pdr_store *store, const pdr_purge_opts *opts)
{
    pdr_purge_report report;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_purge(&report, store, opts, &err);

    if (rc != PDR_OK)
        fail_msg("not purged: %s: %s", pdr_rc_name(rc), err.message);
    return report;
}

/* A session with `entries` entries, changed at a time. */
static pdr_committed make(pdr_store *store, const char *tenant, const char *id,
                          size_t entries, int64_t changed_ms, int64_t expiry_ms)
{
    static const pdr_entry rows[3] = {
        {.body = S_INIT("{}")}, {.body = S_INIT("{}")}, {.body = S_INIT("{}")}};
    pdr_edit edit = {
        .ref = {.id = pdr_str_c(id)}, .entries = rows, .entry_count = entries};

    if (tenant != NULL)
        edit.ref.tenant = pdr_str_c(tenant);
    if (expiry_ms != PDR_NEVER) {
        edit.expiry = PDR_EXPIRY_SET;
        edit.expiry_ms = expiry_ms;
    }
    return must_commit_at(store, &edit, changed_ms);
}

static bool has(pdr_store *store, const char *tenant, const char *id)
{
    const pdr_query query = {
        .what = PDR_READ_HEAD,
        .ref = {.tenant = pdr_str_c(tenant), .id = pdr_str_c(id)}};
    pdr_page *page = NULL;
    pdr_rc rc = pdr_store_read(&page, store, &query, NULL);

    ASSERT(rc == PDR_OK || rc == PDR_ENOTFOUND);
    pdr_page_free(page);
    return rc == PDR_OK;
}

static pdr_store *open_with_some(void)
{
    pdr_store *store = suite_open();

    (void)make(store, NULL, "old", 3, 100, PDR_NEVER);
    (void)make(store, NULL, "edge", 2, 200, 500);
    (void)make(store, NULL, "new", 1, 300, 900);
    (void)make(store, "blue", "old", 2, 100, 500);
    (void)make(store, "blue", "new", 1, 300, 500);
    return store;
}

TEST(purge, goes_by_the_last_change)
{
    pdr_store *store = open_with_some();
    const pdr_purge_opts opts = {.changed_before_ms = 200, .now_ms = 1000};
    pdr_purge_report report = must_purge(store, &opts);

    ASSERT_INT(2, report.removed);
    ASSERT_INT(5, report.entries);
    ASSERT_INT(0, report.spared);
    ASSERT(!has(store, "default", "old") && !has(store, "blue", "old"));
    ASSERT(has(store, "default", "edge") && has(store, "default", "new") &&
           has(store, "blue", "new"));
    suite_close(store);
}

TEST(purge, stays_in_its_tenant)
{
    pdr_store *store = open_with_some();
    pdr_purge_opts opts = {
        .tenant = S("blue"), .changed_before_ms = 200, .now_ms = 400};

    ASSERT_INT(1, must_purge(store, &opts).removed);
    ASSERT(has(store, "default", "old") && !has(store, "blue", "old"));
    opts = (pdr_purge_opts){
        .tenant = S("default"), .expired = true, .now_ms = 1000};
    ASSERT_INT(2, must_purge(store, &opts).removed);
    ASSERT(has(store, "default", "old") && has(store, "blue", "new"));
    opts.tenant = S("nobody");
    ASSERT_INT(0, must_purge(store, &opts).removed);
    suite_close(store);
}

TEST(purge, removes_what_has_expired)
{
    pdr_store *store = open_with_some();
    pdr_purge_opts opts = {.expired = true, .now_ms = 499};

    ASSERT_INT(0, must_purge(store, &opts).removed);
    opts.now_ms = 500;
    pdr_purge_report report = must_purge(store, &opts);
    ASSERT_INT(3, report.removed);
    ASSERT_INT(5, report.entries);
    ASSERT(has(store, "default", "old") && has(store, "default", "new"));
    opts.now_ms = INT64_MAX;
    ASSERT_INT(1, must_purge(store, &opts).removed);
    ASSERT(has(store, "default", "old")); /* it never expires */
    suite_close(store);
}

TEST(purge, wants_all_that_is_asked_for)
{
    static const char *const tenants[] = {NULL, "blue"};

    for (size_t i = 0; i < COUNT(tenants); i++) {
        pdr_store *store = open_with_some();
        pdr_purge_opts opts = {
            .changed_before_ms = 250, .expired = true, .now_ms = 600};
        if (tenants[i] != NULL)
            opts.tenant = pdr_str_c(tenants[i]);
        ASSERT_INT(i == 0 ? 2 : 1, must_purge(store, &opts).removed);
        ASSERT(!has(store, "blue", "old") && has(store, "blue", "new"));
        ASSERT_INT(i != 0, has(store, "default", "edge"));
        suite_close(store);
    }
}

TEST(purge, takes_times_before_1970)
{
    pdr_store *store = suite_open();
    const pdr_purge_opts opts = {
        .tenant = S("default"), .changed_before_ms = -5, .now_ms = INT64_MAX};

    (void)make(store, NULL, "a", 1, INT64_MIN, PDR_NEVER);
    (void)make(store, NULL, "b", 1, -5, PDR_NEVER);
    ASSERT_INT(1, must_purge(store, &opts).removed);
    ASSERT(has(store, "default", "b"));
    suite_close(store);
}

TEST(purge, only_counts_in_a_dry_run)
{
    pdr_store *store = open_with_some();
    pdr_purge_opts opts = {
        .changed_before_ms = 301, .dry_run = true, .now_ms = 1000};
    uint64_t before = suite_hash(store);
    pdr_purge_report dry = must_purge(store, &opts);

    ASSERT_INT(5, dry.removed);
    ASSERT_INT(9, dry.entries);
    ASSERT(before == suite_hash(store));
    opts.dry_run = false;
    pdr_purge_report wet = must_purge(store, &opts);
    assert_memory_equal(&dry, &wet, sizeof(dry));
    suite_close(store);
}

/* --- spared ones -----------------------------------------------------------
 */

static void lease(pdr_store *store, const char *id, int64_t until_ms)
{
    const pdr_edit edit = {.ref = {.id = pdr_str_c(id)},
                           .revision = PDR_ANY_REVISION,
                           .lease.verb = PDR_LEASE_TAKE,
                           .lease.owner = S("worker"),
                           .lease.until_ms = until_ms};

    (void)must_commit_at(store, &edit, 400);
}

TEST(purge, spares_what_somebody_holds)
{
    pdr_store *store = open_with_some();
    pdr_purge_opts opts = {.changed_before_ms = 301,
                           .tenant = S("default"),
                           .dry_run = true,
                           .now_ms = 1000};

    lease(store, "old", 1001);
    lease(store, "edge", 1000); /* over */
    pdr_purge_report report = must_purge(store, &opts);
    ASSERT_INT(2, report.removed);
    ASSERT_INT(1, report.spared);
    opts.dry_run = false;
    report = must_purge(store, &opts);
    ASSERT_INT(2, report.removed);
    ASSERT_INT(1, report.spared);
    ASSERT(has(store, "default", "old") && !has(store, "default", "edge"));
    opts.now_ms = 1001;
    ASSERT_INT(1, must_purge(store, &opts).removed);
    suite_close(store);
}

/* Work moves no time of change, and must not get lost for that. */
TEST(purge, spares_by_age_what_has_work_since_then)
{
    static const struct {
        int64_t due_ms;
        bool stays;
    } cases[] = {{299, false},
                 {300, true},
                 {1000, true},
                 {1001, false},
                 {PDR_NEVER, false}};
    const pdr_purge_opts by_age = {.changed_before_ms = 300, .now_ms = 1000};
    const pdr_purge_opts expired = {.expired = true, .now_ms = 1000};

    for (size_t i = 0; i < COUNT(cases); i++) {
        pdr_store *store = suite_open();
        pdr_work rows[2] = {
            {.due_ms = 1, .kind = S("run"), .body = S("{}")},
            {.due_ms = cases[i].due_ms, .kind = S("run"), .body = S("{}")}};
        pdr_edit edit = EDIT("s", PDR_ANY_REVISION);
        pdr_purge_opts counted = by_age;

        (void)make(store, NULL, "s", 1, 100, 500);
        edit.inbox = rows;
        edit.inbox_count = COUNT(rows);
        (void)must_commit_at(store, &edit, 900);
        counted.dry_run = true;
        ASSERT_INT(cases[i].stays, must_purge(store, &counted).spared);
        ASSERT_INT(cases[i].stays, must_purge(store, &by_age).spared);
        ASSERT(has(store, "default", "s") == cases[i].stays);
        ASSERT_INT(cases[i].stays, must_purge(store, &expired).removed);
        suite_close(store);
    }
}

/* --- many ------------------------------------------------------------------
 */

#define MANY 240 /* 216 of them in the default tenant: two pages */

/* Three in ten are held; all have the same times. Made in one commit. */
static pdr_store *open_with_many(void)
{
    static char ids[MANY][24];
    static const pdr_entry row = {.body = S_INIT("{}")};
    const pdr_commit_options options = {.now_ms = 100};
    pdr_edit *edits = calloc(MANY, sizeof(*edits));
    pdr_store *store = suite_open();

    for (size_t i = 0; i < MANY; i++) {
        snprintf(ids[i], sizeof(ids[i]), "session-%03zu", i);
        edits[i] = (pdr_edit){.ref = {.id = pdr_str_c(ids[i])},
                              .entries = &row,
                              .entry_count = 1,
                              .expiry = PDR_EXPIRY_SET,
                              .expiry_ms = 200};
        if (i % 10 == 0)
            edits[i].ref.tenant = S("blue");
        if (i % 10 > 0 && i % 10 < 4) {
            edits[i].lease.verb = PDR_LEASE_TAKE;
            edits[i].lease.owner = S("worker");
            edits[i].lease.until_ms = 5000;
        }
    }
    ASSERT_RC(PDR_OK,
              pdr_store_commit(NULL, store, edits, MANY, &options, NULL));
    free(edits);
    return store;
}

TEST(purge, goes_through_several_pages)
{
    const pdr_purge_opts ways[] = {
        {.changed_before_ms = 101},
        {.expired = true},
        {.changed_before_ms = 101, .expired = true},
        {.changed_before_ms = 101, .tenant = S("default")},
    };
    const uint64_t held = MANY / 10 * 3;

    for (size_t i = 0; i < COUNT(ways); i++) {
        pdr_store *store = open_with_many();
        pdr_purge_opts opts = ways[i];
        uint64_t all = i == 3 ? MANY / 10 * 9 : MANY;
        opts.now_ms = 1000;
        opts.dry_run = true;
        pdr_purge_report dry = must_purge(store, &opts);
        ASSERT_INT(all - held, dry.removed);
        ASSERT_INT(held, dry.spared);
        opts.dry_run = false;
        pdr_purge_report report = must_purge(store, &opts);
        assert_memory_equal(&dry, &report, sizeof(dry));
        report = must_purge(store, &opts);
        ASSERT_INT(0, report.removed);
        ASSERT_INT(held, report.spared);
        suite_close(store);
    }
}

/* --- refusals --------------------------------------------------------------
 */

static void must_not_purge(pdr_rc rc, const char *reason, pdr_store *store,
                           const pdr_purge_opts *opts)
{
    pdr_purge_report report;
    pdr_err err = PDR_ERR_INIT;

    memset(&report, 0xA5, sizeof(report));
    ASSERT_RC(rc, pdr_purge(&report, store, opts, &err));
    ASSERT_STR(reason, err.reason);
    ASSERT_INT(0, report.removed);
    ASSERT_RC(rc, pdr_purge(NULL, store, opts, NULL));
}

TEST(purge, refuses_what_it_cannot_do)
{
    pdr_store *store = open_with_some();
    pdr_purge_opts opts = {.tenant = S("blue"), .now_ms = 1000};
    uint64_t before = suite_hash(store);

    must_not_purge(PDR_EINVALID, "bad_retention", store, &opts);
    opts.tenant = S("");
    opts.expired = true;
    must_not_purge(PDR_EINVALID, "bad_ref", store, &opts);
    opts.changed_before_ms = 900;
    must_not_purge(PDR_EINVALID, "bad_ref", store, &opts);
    ASSERT(before == suite_hash(store));
    suite_close(store);
}

TEST(purge, needs_a_store_that_can_be_written)
{
    if ((suite_backend.capabilities & PDR_CAN_READ_ONLY) == 0)
        return;
    pdr_store *store = open_with_some();
    pdr_store *reader = suite_open_read_only();
    pdr_purge_opts opts = {.expired = true, .now_ms = 1000};
    must_not_purge(PDR_EDENIED, "read_only", reader, &opts);
    opts.dry_run = true;
    ASSERT_INT(4, must_purge(reader, &opts).removed);
    pdr_store_close(reader);
    suite_close(store);
}
