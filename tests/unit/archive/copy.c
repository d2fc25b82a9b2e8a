/* Sessions from store to store: everything comes, once, and nobody sees half.
 */
#include <sys/stat.h>

#include "copy_trip.h"
#include "fault_store.h"
#include "sqlite_room.h"
#include "trick_store.h"

#define NOW INT64_C(1800000000000)

#define TEN(text)      text text text text text text text text text text
#define DEEP_124(text) TEN(TEN(text)) TEN(text) TEN(text) text text text text

static const pdr_copy_opts all = {.now_ms = NOW};
static const pdr_copy_opts replacing = {.replace = true, .now_ms = NOW};

static pdr_store *open_memory(void)
{
    pdr_store *store = NULL;

    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    return store;
}

static pdr_rc copy(pdr_store *to, pdr_store *from, const pdr_copy_opts *opts,
                   pdr_copy_report *report, pdr_err *err)
{
    return pdr_copy(report, to, from, opts, err, NULL, NULL);
}

static pdr_rc commit(pdr_store *store, const pdr_edit *edit)
{
    const pdr_commit_options options = {.now_ms = NOW + 100};

    return pdr_store_commit(NULL, store, edit, 1, &options, NULL);
}

static pdr_head head_of(pdr_store *store, const char *id)
{
    const pdr_query query = {.what = PDR_READ_HEAD,
                             .ref = {.id = pdr_str_c(id)}};
    pdr_page *page = NULL;
    pdr_head head;

    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    head = page->head;
    pdr_page_free(page);
    return head;
}

static uint64_t unseen(pdr_store *store)
{
    pdr_store_info info;

    ASSERT_RC(PDR_OK, pdr_store_info_get(&info, store, NULL));
    return info.unseen;
}

static void assert_alike(pdr_store *to, pdr_store *from)
{
    char why[200];

    if (!copy_is_alike(why, to, from))
        fail_msg("%s", why);
    ASSERT_RC(PDR_OK, pdr_store_verify(NULL, to, NULL, NULL, NULL, NULL));
    ASSERT(unseen(to) == 0);
}

/* One more entry, or the first. */
static void append(pdr_store *store, const char *id)
{
    const pdr_entry row = {.body = pdr_str_c("{\"more\":1}")};
    const pdr_edit edit = {.ref = {.id = pdr_str_c(id)},
                           .revision = head_of(store, id).revision,
                           .entries = &row,
                           .entry_count = 1};

    ASSERT_RC(PDR_OK, commit(store, &edit));
}

/* --- everything comes ------------------------------------------------------
 */

TEST(copy, brings_everything_from_one_kind_of_store_to_another)
{
    static const char *const keys[] = {"", "&key="};
    pdr_store *from = copy_trip_source(), *back = open_memory();
    char why[200], key[300], parameters[400];
    struct room room;

    room_enter(&room);
    room_put_c(&room, "key", "0123456789012345678901234567890123456789");
    (void)snprintf(key, sizeof(key), "%s", room_path(&room, "key"));
    ASSERT(chmod(key, 0600) == 0);
    for (size_t i = 0; i < 2; i++) {
        char name[16];
        pdr_store *to = NULL;

        (void)snprintf(name, sizeof(name), "%zu.db", i);
        (void)snprintf(parameters, sizeof(parameters), "?mode=rwc%s%s", keys[i],
                       i == 0 ? "" : key);
        ASSERT_RC(PDR_OK, pdr_store_open(
                              &to, store_uri(&room, name, parameters), NULL));
        if (!copy_trip(why, pdr_copy, to, from))
            fail_msg("to %s: %s", name, why);
        if (i == 1 && !copy_trip(why, pdr_copy, back, to))
            fail_msg("and back: %s", why);
        pdr_store_close(to);
    }
    assert_alike(back, from);
    pdr_store_close(back);
    pdr_store_close(from);
    room_leave(&room);
}

/* Its messages may be deeper than those of a session with a bag. */
TEST(copy, brings_a_thread_as_deep_as_a_document_can_be)
{
    pdr_store *from = open_memory(), *to = open_memory();
    const pdr_import_opts opts = {.ref = {.id = pdr_str_c("t")}, .now_ms = NOW};
    pdr_str input = pdr_str_c("{\"storeState\":{\"messages\":[{\"x\":" DEEP_124(
        "[") DEEP_124("]") "}]}}");

    ASSERT_RC(PDR_OK,
              pdr_import(NULL, from, &opts, NULL, pdr_read_str, &input));
    ASSERT_RC(PDR_OK, copy(to, from, &all, NULL, NULL));
    assert_alike(to, from);
    pdr_store_close(to);
    pdr_store_close(from);
}

TEST(copy, says_what_it_did)
{
    pdr_store *from = copy_trip_source(), *to = open_memory();
    pdr_copy_report report;

    ASSERT_RC(PDR_OK, copy(to, from, &all, &report, NULL));
    ASSERT_INT(COPY_TRIP_SESSIONS, report.sessions);
    ASSERT_INT(0, report.replaced);
    ASSERT_INT(0, report.same);
    ASSERT_INT(10 + 11 + 1, report.entries);
    ASSERT(report.bytes > 22 * (uint64_t)400 * 1024);
    ASSERT(report.rows > report.entries + 20);
    ASSERT(report.commits > COPY_TRIP_SESSIONS);
    pdr_store_close(to);
    pdr_store_close(from);
}

TEST(copy, begun_again_passes_over_what_is_the_same)
{
    pdr_store *from = copy_trip_source(), *to = open_memory();
    pdr_copy_report report;
    pdr_store_info before, after;

    ASSERT_RC(PDR_OK, copy(to, from, &all, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_store_info_get(&before, to, NULL));
    ASSERT_RC(PDR_OK, copy(to, from, &all, &report, NULL));
    ASSERT_RC(PDR_OK, pdr_store_info_get(&after, to, NULL));
    ASSERT_INT(0, report.sessions);
    ASSERT_INT(COPY_TRIP_SESSIONS, report.same);
    ASSERT_INT(before.commits, after.commits);
    pdr_store_close(to);
    pdr_store_close(from);
}

TEST(copy, goes_on_as_its_origin_would)
{
    pdr_store *from = copy_trip_source(), *to = open_memory();
    const pdr_work event = {.kind = pdr_str_c("e"), .body = pdr_str_c("{}")};
    pdr_edit edit = {.ref = trick_ref(),
                     .revision = PDR_ANY_REVISION,
                     .stream = &event,
                     .stream_count = 1,
                     .inbox = &event,
                     .inbox_count = 1};
    const pdr_commit_options options = {.now_ms = NOW};
    pdr_committed here, there;

    ASSERT_RC(PDR_OK, copy(to, from, &all, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_store_commit(&there, from, &edit, 1, &options, NULL));
    ASSERT_RC(PDR_OK, pdr_store_commit(&here, to, &edit, 1, &options, NULL));
    ASSERT_INT(there.revision, here.revision);
    ASSERT_INT(there.stream_n, here.stream_n);
    ASSERT_INT(there.inbox_n, here.inbox_n);
    ASSERT_INT(0, head_of(to, "s1").lease.fence);
    append(to, "long");
    append(from, "long");
    assert_alike(to, from);
    pdr_store_close(to);
    pdr_store_close(from);
}

TEST(copy, takes_one_session_or_one_tenant)
{
    pdr_store *from = copy_trip_source(), *to = open_memory();
    pdr_copy_opts opts = {.id = pdr_str_c("long"), .now_ms = NOW};
    pdr_copy_report report;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, copy(to, from, &opts, &report, NULL));
    ASSERT_INT(1, report.sessions);
    opts = (pdr_copy_opts){.tenant = pdr_str_c("other"), .now_ms = NOW};
    ASSERT_RC(PDR_OK, copy(to, from, &opts, &report, NULL));
    ASSERT_INT(1, report.sessions);
    opts.id = pdr_str_c("nobody");
    ASSERT_RC(PDR_ENOTFOUND, copy(to, from, &opts, &report, &err));
    ASSERT_STR("no_session", err.reason);
    opts.tenant = pdr_str_c("");
    ASSERT_RC(PDR_EINVALID, copy(to, from, &opts, &report, &err));
    ASSERT_STR("bad_ref", err.reason);
    pdr_store_close(to);
    pdr_store_close(from);
}

/* --- somebody stands there -------------------------------------------------
 */

TEST(copy, refuses_a_session_that_is_there_and_not_the_same)
{
    pdr_store *from = copy_trip_source(), *to = open_memory();
    pdr_copy_report report;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, copy(to, from, &all, NULL, NULL));
    append(from, "long");
    ASSERT_RC(PDR_EEXISTS, copy(to, from, &all, &report, &err));
    ASSERT_STR("session_exists", err.reason);
    ASSERT(strstr(err.message, "long") != NULL);
    ASSERT_INT(1, head_of(to, "long").revision);
    pdr_store_close(to);
    pdr_store_close(from);
}

TEST(copy, brings_sessions_up_to_date)
{
    pdr_store *from = copy_trip_source(), *to = open_memory();
    const uint64_t settled = 3;
    const pdr_edit edit = {.ref = trick_ref(),
                           .revision = PDR_ANY_REVISION,
                           .settle = &settled,
                           .settle_count = 1};
    pdr_copy_report report;

    ASSERT_RC(PDR_OK, copy(to, from, &all, NULL, NULL));
    append(from, "long");
    append(from, "few-7");
    ASSERT_RC(PDR_OK, commit(from, &edit));
    ASSERT_RC(PDR_OK, copy(to, from, &replacing, &report, NULL));
    ASSERT_INT(3, report.sessions);
    ASSERT_INT(3, report.replaced);
    ASSERT_INT(COPY_TRIP_SESSIONS - 3, report.same);
    assert_alike(to, from);
    pdr_store_close(to);
    pdr_store_close(from);
}

TEST(copy, never_replaces_what_went_on_by_itself)
{
    static const char *const ids[] = {"long", "few-7"};

    for (size_t i = 0; i < 2; i++) {
        pdr_store *from = copy_trip_source(), *to = open_memory();
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_OK, copy(to, from, &all, NULL, NULL));
        append(to, ids[i]);
        ASSERT_RC(PDR_ECONFLICT, copy(to, from, &replacing, NULL, &err));
        ASSERT_STR("ahead_of_origin", err.reason);
        ASSERT(strstr(err.message, ids[i]) != NULL);
        ASSERT_INT(head_of(from, ids[i]).revision + 1,
                   head_of(to, ids[i]).revision);
        ASSERT(unseen(to) == 0);
        pdr_store_close(to);
        pdr_store_close(from);
    }
}

/* Both sides went on, and the origin has more: still it is another session. */
TEST(copy, never_replaces_one_side_of_a_fork)
{
    pdr_store *from = copy_trip_source(), *to = open_memory();
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, copy(to, from, &all, NULL, NULL));
    append(to, "few-7");
    for (int i = 0; i < 3; i++)
        append(from, "few-7");
    ASSERT_RC(PDR_ECONFLICT, copy(to, from, &replacing, NULL, &err));
    ASSERT_STR("ahead_of_origin", err.reason);
    ASSERT_INT(2, head_of(to, "few-7").revision);
    pdr_store_close(to);
    pdr_store_close(from);
}

/* What two stores made of one id on their own may have the same numbers. */
TEST(copy, takes_nothing_for_the_same_that_is_no_copy)
{
    pdr_store *from = open_memory(), *to = open_memory();
    const pdr_slot slots[] = {{.key = pdr_str_c("x"), .value = pdr_str_c("1")},
                              {.key = pdr_str_c("x"), .value = pdr_str_c("2")}};
    pdr_edit edit = {.ref = {.id = pdr_str_c("s")}, .slot_count = 1};
    pdr_err err = PDR_ERR_INIT;

    edit.slots = &slots[0];
    ASSERT_RC(PDR_OK, commit(from, &edit));
    edit.slots = &slots[1];
    ASSERT_RC(PDR_OK, commit(to, &edit));
    ASSERT_RC(PDR_EEXISTS, copy(to, from, &all, NULL, &err));
    ASSERT_RC(PDR_ECONFLICT, copy(to, from, &replacing, NULL, &err));
    ASSERT_STR("ahead_of_origin", err.reason);
    pdr_store_close(to);
    pdr_store_close(from);
}

struct left {
    unsigned count;
    char id[32], reason[32];
    bool to_failed;
};

static pdr_rc note_left(void *arg, const pdr_copy_report *report, pdr_err *err)
{
    struct left *left = arg;

    (void)err;
    if (report->left_out == NULL)
        return PDR_OK;
    left->count++;
    left->to_failed = report->to_failed;
    (void)snprintf(left->id, sizeof(left->id), "%.*s",
                   (int)report->left_out->id.len, report->left_out->id.ptr);
    (void)snprintf(left->reason, sizeof(left->reason), "%s",
                   report->why->reason);
    return PDR_OK;
}

TEST(copy, leaves_out_what_is_something_else_if_told_to)
{
    const pdr_edit made = {.ref = {.id = pdr_str_c("few-7")}};
    pdr_copy_opts opts = {.skip_others = true, .now_ms = NOW};

    for (int replaces = 0; replaces < 2; replaces++) {
        pdr_store *from = copy_trip_source(), *to = open_memory();
        pdr_copy_report report;
        struct left left = {0, "", "", false};

        ASSERT_RC(PDR_OK, commit(to, &made));
        opts.replace = replaces == 1;
        ASSERT_RC(PDR_OK,
                  pdr_copy(&report, to, from, &opts, NULL, note_left, &left));
        ASSERT_INT(COPY_TRIP_SESSIONS - 1, report.sessions);
        ASSERT_INT(1, report.others);
        ASSERT_INT(1, left.count);
        ASSERT_STR("few-7", left.id);
        ASSERT_STR(replaces == 1 ? "ahead_of_origin" : "session_exists",
                   left.reason);
        ASSERT(left.to_failed && !report.to_failed);
        pdr_store_close(to);
        pdr_store_close(from);
    }
}

/* A copy that is newer than what its origin was set back to. */
TEST(copy, leaves_out_what_is_newer_if_told_to)
{
    const pdr_copy_opts opts = {
        .replace = true, .skip_others = true, .now_ms = NOW};
    pdr_store *old = copy_trip_source(), *from = copy_trip_source();
    pdr_store *to = open_memory();
    pdr_copy_report report;

    append(from, "few-7");
    ASSERT_RC(PDR_OK, copy(to, from, &all, NULL, NULL));
    ASSERT_RC(PDR_OK, copy(to, old, &opts, &report, NULL));
    ASSERT_INT(1, report.others);
    ASSERT_INT(2, head_of(to, "few-7").revision);
    ASSERT(unseen(to) == 0);
    pdr_store_close(to);
    pdr_store_close(from);
    pdr_store_close(old);
}

/* --- somebody writes meanwhile ---------------------------------------------
 */

/* Something happens in the origin, after so many reads of it. */
struct behind {
    pdr_store *store;
    size_t at, reads; /* 0: at each */
    void (*does)(pdr_store *store, const char *id);
    const char *id;
};

static void on_read(struct pdr__page *page, void *arg)
{
    struct behind *b = arg;

    (void)page;
    b->reads++;
    if (b->at != 0 && b->at != b->reads)
        return;
    trick_on_read(NULL, NULL);
    b->does(b->store, b->id);
    trick_on_read(on_read, b);
}

static void set_slot(pdr_store *store, const char *id)
{
    static unsigned count;
    char value[16];
    pdr_slot slot = {.key = pdr_str_c("a")};
    const pdr_edit edit = {.ref = {.id = pdr_str_c(id)},
                           .revision = head_of(store, id).revision,
                           .slots = &slot,
                           .slot_count = 1};

    (void)snprintf(value, sizeof(value), "%u", count++);
    slot.value = pdr_str_c(value);
    ASSERT_RC(PDR_OK, commit(store, &edit));
}

static void cut_first(pdr_store *store, const char *id)
{
    const pdr_head head = head_of(store, id);
    const pdr_edit edit = {.ref = {.id = pdr_str_c(id)},
                           .revision = head.revision,
                           .entries_through = head.first_seq};

    ASSERT_RC(PDR_OK, commit(store, &edit));
}

static void remove_it(pdr_store *store, const char *id)
{
    const pdr_edit edit = {.ref = {.id = pdr_str_c(id)},
                           .revision = head_of(store, id).revision,
                           .remove = true};

    ASSERT_RC(PDR_OK, commit(store, &edit));
}

static void make_anew(pdr_store *store, const char *id)
{
    const pdr_entry row = {.body = pdr_str_c("{\"new\":1}")};
    const pdr_edit edit = {
        .ref = {.id = pdr_str_c(id)}, .entries = &row, .entry_count = 1};

    remove_it(store, id);
    ASSERT_RC(PDR_OK, commit(store, &edit));
}

/* The session, copied while `does` comes once, at each read in turn. */
static size_t try_each_read(const char *id,
                            void (*does)(pdr_store *store, const char *id))
{
    const pdr_copy_opts opts = {.id = pdr_str_c(id), .now_ms = NOW};
    size_t tried = 0;

    for (size_t at = 1;; at++) {
        pdr_store *from = copy_trip_source(), *to = open_memory();
        pdr_store *again = open_memory();
        struct behind behind = {from, at, 0, does, id};
        pdr_rc rc = PDR_OK;

        trick_on_read(on_read, &behind);
        rc = copy(to, from, &opts, NULL, NULL);
        trick_on_read(NULL, NULL);
        tried += behind.reads >= at;
        ASSERT(rc == PDR_OK || (does == remove_it && rc == PDR_ENOTFOUND));
        ASSERT(unseen(to) == 0);
        /* As it was before or is now: what came after the last look does not
         * count. */
        if (rc == PDR_OK && does != remove_it && at + 1 < behind.reads) {
            ASSERT_RC(PDR_OK, copy(again, from, &opts, NULL, NULL));
            assert_alike(to, again);
        }
        pdr_store_close(again);
        pdr_store_close(to);
        pdr_store_close(from);
        if (behind.reads < at)
            return tried;
    }
}

TEST(copy, is_of_one_moment_whoever_writes)
{
    static void (*const deeds[])(pdr_store * store, const char *id) = {
        append, set_slot, cut_first, make_anew, remove_it};
    size_t tried = 0;

    for (size_t i = 0; i < sizeof(deeds) / sizeof(deeds[0]); i++) {
        tried += try_each_read("s1", deeds[i]);
        tried += try_each_read("long", deeds[i]);
    }
    ASSERT(tried > 80);
}

TEST(copy, gives_up_on_a_session_that_is_never_still)
{
    static void (*const deeds[])(pdr_store * store, const char *id) = {
        append, set_slot, make_anew};
    static const char *const ids[] = {"s1", "long"};

    for (size_t i = 0; i < 6; i++) {
        const char *id = ids[i % 2];
        const pdr_copy_opts opts = {.id = pdr_str_c(id), .now_ms = NOW};
        pdr_store *from = copy_trip_source(), *to = open_memory();
        struct behind behind = {from, 0, 0, deeds[i / 2], id};
        pdr_err err = PDR_ERR_INIT;

        trick_on_read(on_read, &behind);
        ASSERT_RC(PDR_ECONFLICT, copy(to, from, &opts, NULL, &err));
        trick_on_read(NULL, NULL);
        ASSERT_STR("session_changed", err.reason);
        ASSERT(unseen(to) == 0);
        pdr_store_close(to);
        pdr_store_close(from);
    }
}

TEST(copy, passes_over_a_session_that_is_deleted_meanwhile)
{
    pdr_store *from = copy_trip_source(), *to = open_memory();
    struct behind behind = {from, 2, 0, remove_it, "long"};
    pdr_copy_report report;

    trick_on_read(on_read, &behind);
    ASSERT_RC(PDR_OK, copy(to, from, &all, &report, NULL));
    trick_on_read(NULL, NULL);
    ASSERT_INT(COPY_TRIP_SESSIONS - 1, report.sessions);
    assert_alike(to, from);
    pdr_store_close(to);
    pdr_store_close(from);
}

/* --- what fails ------------------------------------------------------------
 */

/* Copies until a call of the kind did not fail any more; each time what is
 * there is whole, and the next copy completes it. */
static size_t fail_each(enum fault_call call, bool origin, bool for_ever)
{
    const struct fault_plan none = {FAULT_ANY, 0, false, FAULT_REFUSED};
    pdr_store *source = copy_trip_source();
    size_t failed = 0;
    pdr_rc rc = PDR_EIO;

    for (size_t nth = 1; rc != PDR_OK; nth += 1 + nth / 4) {
        const struct fault_plan plan = {call, nth, for_ever, FAULT_REFUSED};
        pdr_store *from = NULL, *to = NULL;
        pdr_copy_report report;
        pdr_err err = PDR_ERR_INIT;

        fault_store_set(&none);
        ASSERT_RC(
            PDR_OK,
            pdr_store_open(&from, origin ? "fault:memory:" : "memory:", NULL));
        ASSERT_RC(PDR_OK, pdr_store_open(
                              &to, origin ? "memory:" : "fault:memory:", NULL));
        ASSERT_RC(PDR_OK, copy(from, source, &all, NULL, NULL));
        fault_store_set(&plan);
        rc = copy(to, from, &all, &report, &err);
        fault_store_set(&none);
        ASSERT(rc == PDR_OK || rc == PDR_EIO);
        ASSERT_INT(rc != PDR_OK && !origin, report.to_failed);
        ASSERT_RC(PDR_OK, pdr_store_verify(NULL, to, NULL, NULL, NULL, NULL));
        failed += rc != PDR_OK;
        ASSERT_RC(PDR_OK, pdr_store_sweep(NULL, to, PDR_NEVER, NULL));
        ASSERT_RC(PDR_OK, copy(to, from, &all, NULL, NULL));
        assert_alike(to, from);
        pdr_store_close(to);
        pdr_store_close(from);
    }
    pdr_store_close(source);
    return failed;
}

TEST(copy, is_whole_or_not_there_when_a_call_fails)
{
    fault_store_register();
    for (int ever = 0; ever < 2; ever++) {
        ASSERT(fail_each(FAULT_COMMIT, false, ever != 0) >= 10);
        ASSERT(fail_each(FAULT_READ, false, ever != 0) >= 10);
        ASSERT(fail_each(FAULT_READ, true, ever != 0) >= 10);
    }
}

/* One entry of "long" comes with another byte. */
static void damage_long(struct pdr__page *page, void *arg)
{
    (void)arg;
    if (page->page.entries != NULL && page->page.count > 0 &&
        page->page.entries[0].body.len > 100000)
        ((char *)(uintptr_t)page->page.entries[0].body.ptr)[7] ^= 1;
}

TEST(copy, ends_at_a_damaged_session_or_leaves_it_out)
{
    const pdr_copy_opts skipping = {.skip_damaged = true, .now_ms = NOW};
    pdr_store *from = copy_trip_source(), *to = open_memory();
    pdr_copy_report report;
    pdr_err err = PDR_ERR_INIT;

    trick_on_read(damage_long, NULL);
    ASSERT_RC(PDR_ECORRUPT, copy(to, from, &all, &report, &err));
    ASSERT_RC(PDR_OK, copy(to, from, &skipping, &report, &err));
    trick_on_read(NULL, NULL);
    ASSERT_INT(1, report.damaged);
    ASSERT_INT(COPY_TRIP_SESSIONS - 1, report.sessions + report.same);
    ASSERT(unseen(to) == 0);
    ASSERT_RC(PDR_OK, copy(to, from, &all, &report, NULL));
    ASSERT_INT(1, report.sessions);
    assert_alike(to, from);
    pdr_store_close(to);
    pdr_store_close(from);
}

struct watcher {
    size_t calls;
    uint64_t sessions;
    size_t stop_at;
};

static pdr_rc watch(void *arg, const pdr_copy_report *report, pdr_err *err)
{
    struct watcher *watcher = arg;

    ASSERT(report->sessions >= watcher->sessions);
    watcher->sessions = report->sessions;
    if (++watcher->calls == watcher->stop_at)
        return pdr_err_set(err, PDR_ECANCELLED, "stopped", "enough");
    return PDR_OK;
}

TEST(copy, tells_how_far_it_is_and_can_be_ended)
{
    pdr_store *from = copy_trip_source(), *to = open_memory();
    struct watcher watcher = {0, 0, 0};
    size_t calls = 0;

    ASSERT_RC(PDR_OK, pdr_copy(NULL, to, from, &all, NULL, watch, &watcher));
    ASSERT_INT(COPY_TRIP_SESSIONS, watcher.sessions);
    calls = watcher.calls;
    ASSERT(calls >= 5);
    pdr_store_close(to);
    for (size_t at = 1; at <= calls; at++) {
        pdr_err err = PDR_ERR_INIT;

        to = open_memory();
        watcher = (struct watcher){0, 0, at};
        ASSERT_RC(PDR_ECANCELLED,
                  pdr_copy(NULL, to, from, &all, &err, watch, &watcher));
        ASSERT_STR("stopped", err.reason);
        ASSERT(unseen(to) == 0);
        ASSERT_RC(PDR_OK, copy(to, from, &all, NULL, NULL));
        assert_alike(to, from);
        pdr_store_close(to);
    }
    pdr_store_close(from);
}

TEST_OOM(copy, cleans_up_after_any_failed_allocation)
{
    pdr_store *from = NULL, *to = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    from = trick_open("trick:");
    trick_fill(from);
    to = open_memory();
    test_pause_failures(false);
    rc = copy(to, from, &all, NULL, &err);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT_RC(rc, err.code);
    test_pause_failures(true);
    append(from, "s1");
    test_pause_failures(false);
    if (rc == PDR_OK)
        rc = copy(to, from, &replacing, NULL, &err);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_store_close(to);
    pdr_store_close(from);
}
