/* Purging while others write, and while calls fail. */
#include <inttypes.h>

#include <perdure/archive.h>

#include "fault_store.h"
#include "hook_store.h"

#define SESSIONS 3

static const pdr_purge_opts opts = {.changed_before_ms = 1000, .now_ms = 2000};

static pdr_rc commit(pdr_store *store, const pdr_edit *edit, int64_t now_ms)
{
    const pdr_commit_options options = {.now_ms = now_ms};

    return pdr_store_commit(NULL, store, edit, 1, &options, NULL);
}

static void fill(pdr_store *store)
{
    static const char *const ids[SESSIONS] = {"a", "b", "c"};
    const pdr_entry row = {.body = pdr_str_c("{}")};

    for (size_t i = 0; i < SESSIONS; i++) {
        const pdr_edit edit = {.ref = {.id = pdr_str_c(ids[i])},
                               .entries = &row,
                               .entry_count = 1,
                               .expiry = PDR_EXPIRY_SET,
                               .expiry_ms = 500};
        ASSERT_RC(PDR_OK, commit(store, &edit, 100));
    }
}

static bool head_of(pdr_head *out, pdr_store *store, const char *id)
{
    const pdr_query query = {.what = PDR_READ_HEAD,
                             .ref = {.id = pdr_str_c(id)}};
    pdr_page *page = NULL;
    pdr_rc rc = pdr_store_read(&page, store, &query, NULL);

    ASSERT(rc == PDR_OK || rc == PDR_ENOTFOUND);
    if (rc == PDR_OK)
        *out = page->head;
    pdr_page_free(page);
    return rc == PDR_OK;
}

/* --- others come first -----------------------------------------------------
 */

enum deed { WRITE, WORK, LEASE, REMOVE, TAKE_OVER, FAIL };

struct other {
    enum deed deed;
    bool late; /* when it is about to go, not when its lease is taken */
};

/* Does something to session "b" before purge does. */
static pdr_rc do_first(pdr_store *store, const pdr_edit *edit, void *arg)
{
    const struct other *other = arg;
    const pdr_entry row = {.body = pdr_str_c("{}")};
    const pdr_work work = {.kind = pdr_str_c("run"), .body = pdr_str_c("{}")};
    pdr_edit own = {.ref = {.id = pdr_str_c("b")}, .revision = 1};
    int64_t now_ms = 2000;

    if (!pdr_str_equal(edit->ref.id, own.ref.id) || edit->revision == 0 ||
        edit->remove != other->late || edit->lease.verb == PDR_LEASE_RELEASE)
        return PDR_OK;
    switch (other->deed) {
    case WRITE:
        own.entries = &row;
        own.entry_count = 1;
        break;
    case WORK:
        own.inbox = &work;
        own.inbox_count = 1;
        break;
    case TAKE_OVER:
        now_ms = INT64_MAX; /* a clock that is far ahead */
        /* fall through */
    case LEASE:
        own.lease.verb = PDR_LEASE_TAKE;
        own.lease.owner = pdr_str_c("worker");
        own.lease.until_ms = 9000;
        break;
    case REMOVE:
        own.remove = true;
        break;
    case FAIL:
        return PDR_EIO;
    }
    ASSERT_RC(PDR_OK, commit(store, &own, now_ms));
    return PDR_OK;
}

/* Purge while somebody is at session "b". */
static pdr_rc purge_with(pdr_purge_report *report, pdr_store **store,
                         struct other *other)
{
    *store = hook_open(do_first, other);
    fill(*store);
    return pdr_purge(report, *store, &opts, NULL);
}

static void check_spared(enum deed deed, bool late)
{
    struct other other = {deed, late};
    pdr_store *store = NULL;
    pdr_purge_report report;
    pdr_head head;

    ASSERT_RC(PDR_OK, purge_with(&report, &store, &other));
    ASSERT_INT(2, report.removed);
    ASSERT_INT(2, report.entries);
    ASSERT_INT(1, report.spared);
    ASSERT(!head_of(&head, store, "a") && !head_of(&head, store, "c"));
    ASSERT(head_of(&head, store, "b"));
    /* Nobody but a worker holds it. */
    ASSERT((head.lease.owner.ptr != NULL) ==
           (deed == LEASE || deed == TAKE_OVER));
    ASSERT_INT(deed == WRITE ? 2 : 1, head.revision);
    pdr_store_close(store);
}

TEST(purge, spares_what_somebody_writes_meanwhile)
{
    check_spared(WRITE, false);
    check_spared(WRITE, true);
}

TEST(purge, spares_what_gets_work_meanwhile)
{
    check_spared(WORK, false);
    check_spared(WORK, true);
}

TEST(purge, spares_what_somebody_leases_meanwhile)
{
    check_spared(LEASE, false);
    check_spared(TAKE_OVER, true);
}

TEST(purge, does_not_mind_who_else_removes)
{
    for (int late = 0; late < 2; late++) {
        struct other other = {REMOVE, late == 1};
        pdr_store *store = NULL;
        pdr_purge_report report;
        pdr_head head;
        ASSERT_RC(PDR_OK, purge_with(&report, &store, &other));
        ASSERT_INT(2, report.removed);
        ASSERT_INT(late, report.spared); /* the lease was lost with it */
        ASSERT(!head_of(&head, store, "b"));
        pdr_store_close(store);
    }
}

TEST(purge, says_how_far_it_came)
{
    for (int late = 0; late < 2; late++) {
        struct other other = {FAIL, late == 1};
        pdr_store *store = NULL;
        pdr_purge_report report;
        pdr_head head;
        ASSERT_RC(PDR_EIO, purge_with(&report, &store, &other));
        ASSERT_INT(2, report.removed); /* they are handed over together */
        ASSERT(!head_of(&head, store, "a") && head_of(&head, store, "b"));
        pdr_store_close(store);
    }
}

TEST(purge, holds_a_session_until_the_end_of_time_at_most)
{
    const pdr_purge_opts late = {.changed_before_ms = 1000,
                                 .now_ms = INT64_MAX - 1};
    pdr_store *store = NULL;
    pdr_purge_report report;

    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    fill(store);
    ASSERT_RC(PDR_OK, pdr_purge(&report, store, &late, NULL));
    ASSERT_INT(SESSIONS, report.removed);
    pdr_store_close(store);
}

/* --- dry runs --------------------------------------------------------------
 */

struct named {
    char ids[32]; /* one behind the other */
    const char *stop;
};

static pdr_rc note_name(void *arg, const pdr_head *head, pdr_err *err)
{
    struct named *named = arg;
    size_t len = strlen(named->ids);

    (void)snprintf(named->ids + len, sizeof(named->ids) - len, "%.*s",
                   (int)head->ref.id.len, head->ref.id.ptr);
    if (named->stop != NULL &&
        pdr_str_equal(head->ref.id, pdr_str_c(named->stop)))
        return pdr_err_set(err, PDR_ECANCELLED, "stop", "enough");
    return PDR_OK;
}

TEST(purge, names_in_a_dry_run_what_would_go)
{
    const pdr_work work = {
        .kind = pdr_str_c("run"), .body = pdr_str_c("{}"), .due_ms = 1500};
    const pdr_edit edit = {.ref = {.id = pdr_str_c("b")},
                           .revision = 1,
                           .inbox = &work,
                           .inbox_count = 1};
    struct named named = {"", NULL};
    const pdr_purge_opts dry = {.changed_before_ms = 1000,
                                .dry_run = true,
                                .now_ms = 2000,
                                .fn = note_name,
                                .arg = &named};
    pdr_store *store = NULL;
    pdr_purge_report report;
    pdr_head head;

    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    fill(store);
    ASSERT_RC(PDR_OK, commit(store, &edit, 1600));
    ASSERT_RC(PDR_OK, pdr_purge(&report, store, &dry, NULL));
    ASSERT_STR("ac", named.ids);
    ASSERT_INT(2, report.removed);
    ASSERT_INT(1, report.spared);
    ASSERT(head_of(&head, store, "a") && head_of(&head, store, "c"));
    pdr_store_close(store);
}

TEST(purge, ends_a_dry_run_when_told_to)
{
    struct named named = {"", "b"};
    const pdr_purge_opts dry = {.changed_before_ms = 1000,
                                .dry_run = true,
                                .now_ms = 2000,
                                .fn = note_name,
                                .arg = &named};
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    fill(store);
    ASSERT_RC(PDR_ECANCELLED, pdr_purge(NULL, store, &dry, &err));
    ASSERT_STR("stop", err.reason);
    ASSERT_STR("ab", named.ids);
    pdr_store_close(store);
}

/* --- calls that fail -------------------------------------------------------
 */

TEST(purge, passes_on_what_the_store_says)
{
    const struct fault_plan kinds[] = {{.call = FAULT_READ},
                                       {.call = FAULT_COMMIT}};

    fault_store_register();
    for (size_t k = 0; k < 2; k++) {
        size_t failed = 0;
        for (size_t nth = 1; nth < 20; nth++) {
            struct fault_plan plan = kinds[k];
            pdr_store *store = NULL;
            pdr_err err = PDR_ERR_INIT;
            fault_store_set(&(struct fault_plan){0});
            ASSERT_RC(PDR_OK, pdr_store_open(&store, "fault:memory:", NULL));
            fill(store);
            plan.nth = nth;
            fault_store_set(&plan);
            pdr_rc rc = pdr_purge(NULL, store, &opts, &err);
            bool done = fault_store_failed() == 0;
            fault_store_set(&(struct fault_plan){0});
            ASSERT(done ? rc == PDR_OK : rc == PDR_EIO && err.code == PDR_EIO);
            failed += !done;
            pdr_store_close(store);
            if (done)
                break;
        }
        ASSERT(failed >= (k == 0 ? 1 : 2 * SESSIONS));
    }
}

TEST_OOM(purge, cleans_up_after_any_failed_allocation)
{
    static const pdr_purge_opts ways[] = {
        {.changed_before_ms = 1000, .now_ms = 2000},
        {.expired = true, .now_ms = 2000}};

    for (size_t i = 0; i < 2; i++) {
        pdr_store *store = NULL;
        pdr_err err = PDR_ERR_INIT;
        test_pause_failures(true);
        ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
        fill(store);
        test_pause_failures(false);
        pdr_rc rc = pdr_purge(NULL, store, &ways[i], &err);
        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
        ASSERT_RC(rc, err.code);
        pdr_store_close(store);
    }
}
