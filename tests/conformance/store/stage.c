/* Sessions that come in several commits, and are seen by nobody until then. */
#include "suite.h"

#define UNTIL (NOW + 60000)

/* --- helpers -------------------------------------------------------------- */

static struct store_step stage_step(const char *id, pdr_stage_verb verb,
                                    uint64_t epoch)
{
    return step_of(id, verb, epoch, UNTIL);
}

static uint64_t begin_stage(pdr_store *store, const char *id)
{
    const struct store_step step = stage_step(id, PDR_STAGE_BEGIN, 0);

    return must_step(store, &step).epoch;
}

/* Rows of every kind that may be staged; `number` makes them differ. */
struct rows {
    pdr_entry entries[2];
    pdr_slot slot;
    pdr_property property;
    pdr_completion completion;
    char correlation[2][32], key[32], body[64], property_key[32];
};

static void fill_rows(struct rows *rows, pdr_rows *out, int number)
{
    memset(rows, 0, sizeof(*rows));
    (void)snprintf(rows->body, sizeof(rows->body), "{\"n\":%d}", number);
    (void)snprintf(rows->key, sizeof(rows->key), "slot-%d", number);
    (void)snprintf(rows->property_key, sizeof(rows->property_key), "p-%d",
                   number);
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(rows->correlation[i], sizeof(rows->correlation[i]),
                       "c-%d-%zu", number, i);
        rows->entries[i].created_ms = NOW + number;
        rows->entries[i].correlation_id = pdr_str_c(rows->correlation[i]);
        rows->entries[i].body = pdr_str_c(rows->body);
    }
    rows->slot.key = pdr_str_c(rows->key);
    rows->slot.value = pdr_str_c(rows->body);
    rows->property.key = pdr_str_c(rows->property_key);
    rows->property.value = S("\"red\"");
    rows->property.match = S("s:red");
    rows->completion.correlation_id = pdr_str_c(rows->correlation[0]);
    rows->completion.outcome = S("{\"ok\":true}");
    *out = (pdr_rows){.entries = rows->entries,
                      .entry_count = 2,
                      .slots = &rows->slot,
                      .slot_count = 1,
                      .properties = &rows->property,
                      .property_count = 1,
                      .completions = &rows->completion,
                      .completion_count = 1};
}

/* A session in three commits; only the last is left to do. */
static uint64_t stage_two(pdr_store *store, const char *id)
{
    struct rows rows;
    struct store_step step = stage_step(id, PDR_STAGE_BEGIN, 0);
    uint64_t epoch = 0;

    fill_rows(&rows, &step.rows, 1);
    step.stage.agent = S("guide");
    step.stage.kind = S("client");
    step.rows.frame = S("{\"frame\":1}");
    epoch = must_step(store, &step).epoch;
    step = stage_step(id, PDR_STAGE_ADD, epoch);
    fill_rows(&rows, &step.rows, 2);
    ASSERT(must_step(store, &step).first_seq == 3);
    return epoch;
}

static uint64_t unseen(pdr_store *store)
{
    pdr_store_info info;

    ASSERT_RC(PDR_OK, pdr_store_info_get(&info, store, NULL));
    return info.unseen;
}

static pdr_sweep_report sweep_at(pdr_store *store, int64_t now_ms)
{
    pdr_sweep_report report = {9, 9, 9};
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_store_sweep(&report, store, now_ms, &err);

    if (rc != PDR_OK)
        fail_msg("not swept: %s", err.message);
    return report;
}

static size_t rows_of(pdr_store *store, const char *id, pdr_read_what what)
{
    const pdr_query query = {.what = what, .ref = {.id = pdr_str_c(id)}};

    return read_all(store, &query, 50, NULL, NULL);
}

/* Each list that could give the session away. */
static size_t listed(pdr_store *store)
{
    const pdr_query queries[] = {
        {.what = PDR_READ_ALL},
        {.what = PDR_READ_SESSIONS},
        {.what = PDR_READ_SESSIONS, .filter = {.agent = S("guide")}},
        {.what = PDR_READ_SESSIONS,
         .filter = {.by_state = true, .state = PDR_SESSION_IDLE}},
        {.what = PDR_READ_SESSIONS,
         .filter = {.changed_from_ms = 1, .changed_to_ms = PDR_NEVER}},
        {.what = PDR_READ_SESSIONS,
         .filter = {.property = S("p-1"), .match = S("s:red")}},
        {.what = PDR_READ_EXPIRED, .now_ms = NOW * 2},
    };
    size_t found = 0;

    for (size_t i = 0; i < COUNT(queries); i++)
        found += read_all(store, &queries[i], 50, NULL, NULL);
    return found;
}

/* --- unseen --------------------------------------------------------------- */

TEST(store_stage, is_seen_by_no_read_before_it_is_shown)
{
    static const pdr_read_what all[] = {
        PDR_READ_HEAD,       PDR_READ_ENTRIES,     PDR_READ_SLOTS,
        PDR_READ_PROPERTIES, PDR_READ_COMPLETIONS, PDR_READ_FRAME,
        PDR_READ_JOURNAL,    PDR_READ_STREAM,      PDR_READ_INBOX};
    pdr_store *store = suite_open();
    uint64_t empty = suite_hash(store);

    (void)stage_two(store, "trip");
    ASSERT(empty == suite_hash(store));
    ASSERT_SIZE(0, listed(store));
    ASSERT_INT(1, unseen(store));
    for (size_t i = 0; i < COUNT(all); i++) {
        const pdr_query query = {.what = all[i], .ref = {.id = S("trip")}};

        must_not_read(PDR_ENOTFOUND, "no_session", store, &query);
    }
    suite_close(store);
}

TEST(store_stage, is_a_session_like_others_once_it_is_shown)
{
    pdr_store *store = suite_open();
    uint64_t epoch = stage_two(store, "trip");
    struct store_step step = stage_step("trip", PDR_STAGE_SHOW, epoch);
    struct rows rows;

    fill_rows(&rows, &step.rows, 3);
    step.show.expiry = PDR_EXPIRY_SET;
    step.show.expiry_ms = NOW + 7;
    pdr_committed done = must_step_at(store, &step, NOW + 5);
    ASSERT(done.revision == 1 && done.epoch == epoch && done.first_seq == 5);
    ASSERT(done.fence == 0);
    pdr_head head = head_of(store, "trip");
    ASSERT(head.state == PDR_SESSION_IDLE);
    ASSERT(head.revision == 1 && head.commits == 1 && head.epoch == epoch);
    ASSERT(head.first_seq == 1 && head.next_seq == 7);
    ASSERT(head.slots == 3 && head.properties == 3 && head.completions == 6);
    ASSERT(head.has_frame && head.lease.owner.ptr == NULL);
    ASSERT(head.lease.until_ms == 0 && head.lease.fence == 0);
    ASSERT(head.changed_ms == NOW + 5 && head.expiry_ms == NOW + 7);
    ASSERT_SIZE(6, rows_of(store, "trip", PDR_READ_ENTRIES));
    ASSERT_SIZE(3, rows_of(store, "trip", PDR_READ_SLOTS));
    ASSERT_SIZE(3, rows_of(store, "trip", PDR_READ_PROPERTIES));
    ASSERT_SIZE(6, rows_of(store, "trip", PDR_READ_COMPLETIONS));
    ASSERT_SIZE(7, listed(store));
    ASSERT_INT(0, unseen(store));
    (void)must_append(store, "trip", 1, 7, 1);
    ASSERT(head_of(store, "trip").next_seq == 8);
    suite_close(store);
}

TEST(store_stage, has_the_digests_of_a_session_that_came_at_once)
{
    pdr_store *store = suite_open();
    struct store_step step = stage_step("trip", PDR_STAGE_BEGIN, 0);
    struct rows rows;
    uint64_t epoch = 0, staged = 0;

    fill_rows(&rows, &step.rows, 1);
    epoch = must_step(store, &step).epoch;
    ASSERT(epoch == 1);
    step = stage_step("trip", PDR_STAGE_SHOW, epoch);
    (void)must_step(store, &step);
    staged = suite_hash(store);
    suite_close(store);

    store = suite_open();
    step = stage_step("trip", PDR_STAGE_SHOW, 0); /* begun and shown in one */
    fill_rows(&rows, &step.rows, 1);
    (void)must_step(store, &step);
    ASSERT(staged == suite_hash(store));
    suite_close(store);

    store = suite_open();
    pdr_edit edit = EDIT("trip", 0);
    edit_set_rows(&edit, &step.rows);
    (void)must_commit(store, &edit);
    ASSERT(staged == suite_hash(store));
    suite_close(store);
}

TEST(store_stage, takes_the_state_that_it_is_shown_with)
{
    pdr_store *store = suite_open();
    struct store_step step =
        stage_step("trip", PDR_STAGE_SHOW, stage_two(store, "trip"));

    step.show.set_state = true;
    step.show.state = PDR_SESSION_WAITING;
    (void)must_step(store, &step);
    ASSERT(head_of(store, "trip").state == PDR_SESSION_WAITING);
    suite_close(store);
}

TEST(store_stage, has_the_schema_version_that_it_began_with)
{
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = {.id = S("trip")}};
    pdr_store *store = suite_open();
    struct store_step step = stage_step("trip", PDR_STAGE_BEGIN, 0);

    step.stage.schema_version = S("1.0.0");
    step.stage.epoch = must_step(store, &step).epoch;
    step.verb = PDR_STAGE_ADD;
    step.stage.schema_version = S("1.1.0");
    step.rows.frame = S("{}");
    (void)must_step(store, &step);
    step.verb = PDR_STAGE_SHOW;
    (void)must_step(store, &step);
    pdr_page *page = must_read(store, &query);
    ASSERT_TEXT("1.0.0", page->head.schema_version);
    pdr_page_free(page);
    suite_close(store);
}

TEST(store_stage, may_stand_beside_others_of_the_same_session)
{
    pdr_store *store = suite_open();
    uint64_t one = stage_two(store, "trip");
    uint64_t two = begin_stage(store, "trip");
    struct store_step step = stage_step("trip", PDR_STAGE_SHOW, two);

    ASSERT(one != two);
    ASSERT_INT(2, unseen(store));
    (void)must_step(store, &step);
    ASSERT_SIZE(0, rows_of(store, "trip", PDR_READ_ENTRIES));
    ASSERT_INT(1, unseen(store));
    step = stage_step("trip", PDR_STAGE_SHOW, one);
    step.show.revision = PDR_ANY_REVISION;
    ASSERT(must_step(store, &step).revision == 2);
    ASSERT_SIZE(4, rows_of(store, "trip", PDR_READ_ENTRIES));
    suite_close(store);
}

TEST(store_stage, lets_the_session_go_on_that_stands_there)
{
    pdr_store *store = suite_open();
    uint64_t epoch = 0;

    (void)must_append(store, "trip", 0, 1, 2);
    epoch = stage_two(store, "trip");
    (void)must_append(store, "trip", 1, 3, 1);
    ASSERT_SIZE(3, rows_of(store, "trip", PDR_READ_ENTRIES));
    ASSERT_SIZE(0, rows_of(store, "trip", PDR_READ_SLOTS));
    struct store_step step = stage_step("trip", PDR_STAGE_SHOW, epoch);
    step.show.revision = 1;
    must_refuse_step(PDR_ECONFLICT, "revision_changed", store, &step);
    step.show.revision = 2;
    ASSERT(must_step(store, &step).revision == 3);
    suite_close(store);
}

/* --- replacing ------------------------------------------------------------ */

/* A session with everything that can be in progress. */
static pdr_committed make_busy(pdr_store *store)
{
    const pdr_work work[] = {
        {.due_ms = NOW + 1, .kind = S("run"), .body = S("{}")},
        {.due_ms = NOW + 2, .kind = S("run"), .body = S("[]")}};
    struct rows rows;
    pdr_rows filled;
    pdr_edit edit = EDIT("trip", 0);

    fill_rows(&rows, &filled, 9);
    edit_set_rows(&edit, &filled);
    edit.frame = S("{\"old\":true}");
    edit.expiry = PDR_EXPIRY_SET;
    edit.expiry_ms = NOW + 99;
    edit.lease.verb = PDR_LEASE_TAKE;
    edit.lease.owner = S("worker");
    edit.lease.until_ms = NOW + 1000;
    edit.journal = edit.stream = edit.inbox = work;
    edit.journal_count = edit.stream_count = edit.inbox_count = 2;
    return must_commit(store, &edit);
}

TEST(store_stage, goes_on_with_the_numbers_of_the_session_it_replaces)
{
    pdr_store *store = suite_open();
    pdr_committed old = make_busy(store);
    struct store_step step =
        stage_step("trip", PDR_STAGE_SHOW, stage_two(store, "trip"));

    step.show.revision = 1;
    step.show.fence = old.fence;
    pdr_committed done = must_step(store, &step);
    ASSERT(done.revision == 2 && done.journal_n == 3 && done.stream_n == 3);
    ASSERT(done.inbox_n == 3 && done.fence == 0);
    pdr_head head = head_of(store, "trip");
    ASSERT(head.commits == 2 && head.epoch == step.stage.epoch);
    ASSERT(head.journal_first == 3 && head.journal_next == 3);
    ASSERT(head.stream_first == 3 && head.stream_next == 3);
    ASSERT(head.inbox == 2 && head.inbox_next == 3);
    ASSERT(head.expiry_ms == NOW + 99);
    ASSERT(head.lease.owner.ptr == NULL && head.lease.fence == old.fence);
    ASSERT(head.first_seq == 1 && head.next_seq == 5);
    ASSERT(head.completions == 4 && head.slots == 2 && head.properties == 2);
    ASSERT_SIZE(0, rows_of(store, "trip", PDR_READ_JOURNAL));
    ASSERT_SIZE(0, rows_of(store, "trip", PDR_READ_STREAM));
    ASSERT_SIZE(2, rows_of(store, "trip", PDR_READ_INBOX));
    suite_close(store);
}

TEST(store_stage, keeps_the_inbox_so_that_it_can_be_settled)
{
    static const uint64_t settle[] = {2};
    const pdr_query due = {.what = PDR_READ_DUE, .now_ms = NOW + 9};
    pdr_store *store = suite_open();
    (void)make_busy(store);
    struct store_step step =
        stage_step("trip", PDR_STAGE_SHOW, stage_two(store, "trip"));

    step.show.revision = PDR_ANY_REVISION;
    (void)must_step(store, &step);
    ASSERT_SIZE(2, read_all(store, &due, 50, NULL, NULL));
    pdr_edit work = EDIT("trip", PDR_ANY_REVISION);
    work.settle = settle;
    work.settle_count = 1;
    (void)must_commit(store, &work);
    ASSERT(head_of(store, "trip").inbox == 1);
    ASSERT_SIZE(1, read_all(store, &due, 50, NULL, NULL));
    suite_close(store);
}

TEST(store_stage, sets_or_clears_the_expiry_when_told_to)
{
    pdr_store *store = suite_open();
    (void)make_busy(store);
    struct store_step step =
        stage_step("trip", PDR_STAGE_SHOW, stage_two(store, "trip"));

    step.show.revision = 1;
    step.show.expiry = PDR_EXPIRY_CLEAR;
    (void)must_step(store, &step);
    ASSERT(head_of(store, "trip").expiry_ms == PDR_NEVER);
    suite_close(store);
}

TEST(store_stage, has_a_ttl_if_it_keeps_the_expiry_of_one_that_had)
{
    static const struct {
        bool had;
        pdr_expiry_verb expiry;
        bool has;
    } cases[] = {
        {true, PDR_EXPIRY_KEEP, true},   {true, PDR_EXPIRY_SET, false},
        {true, PDR_EXPIRY_CLEAR, false}, {false, PDR_EXPIRY_KEEP, false},
        {false, PDR_EXPIRY_SET, false},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        pdr_store *store = suite_open();
        struct store_step step;
        pdr_edit edit = EDIT("trip", 1);

        (void)make_busy(store);
        edit.set_state = true; /* the other one moves the revision, too */
        edit.set_ttl = cases[i].had;
        (void)must_commit(store, &edit);
        step = stage_step("trip", PDR_STAGE_SHOW, stage_two(store, "trip"));
        step.show.revision = 2;
        step.show.expiry = cases[i].expiry;
        step.show.expiry_ms = NOW + 7;
        (void)must_step(store, &step);
        ASSERT(head_of(store, "trip").has_ttl == cases[i].has);
        suite_close(store);
    }
}

TEST(store_stage, ends_the_lease_of_the_session_it_replaces)
{
    pdr_store *store = suite_open();
    pdr_committed old = make_busy(store);
    struct store_step step =
        stage_step("trip", PDR_STAGE_SHOW, stage_two(store, "trip"));
    pdr_edit work = EDIT("trip", PDR_ANY_REVISION);

    step.show.revision = 1;
    (void)must_step(store, &step);
    work.lease.fence = old.fence;
    work.lease.verb = PDR_LEASE_RENEW;
    must_refuse(PDR_EFENCED, "lease_lost", store, &work);
    work.lease.fence = 0;
    work.lease.verb = PDR_LEASE_TAKE;
    work.lease.owner = S("next");
    work.lease.until_ms = NOW + 5;
    ASSERT(must_commit(store, &work).fence > old.fence);
    suite_close(store);
}

/* --- refusals ------------------------------------------------------------- */

TEST(store_stage, is_shown_only_over_the_session_that_was_read)
{
    pdr_store *store = suite_open();
    pdr_committed old = make_busy(store);
    uint64_t epoch = stage_two(store, "trip");
    struct store_step step = stage_step("trip", PDR_STAGE_SHOW, epoch);

    must_refuse_step(PDR_EEXISTS, "session_exists", store, &step);
    step.show.revision = 7;
    must_refuse_step(PDR_ECONFLICT, "revision_changed", store, &step);
    step.show.revision = 1;
    step.show.fence = old.fence + 1;
    must_refuse_step(PDR_EFENCED, "lease_lost", store, &step);
    step.show.fence = 0;
    step.stage.epoch = epoch + 1000;
    must_refuse_step(PDR_ENOTFOUND, "no_stage", store, &step);
    step.stage.epoch = old.epoch;
    must_refuse_step(PDR_ENOTFOUND, "no_stage", store, &step);
    ASSERT_INT(1, unseen(store));
    step.stage.epoch = epoch; /* after all that it is whole */
    (void)must_step(store, &step);
    ASSERT_SIZE(4, rows_of(store, "trip", PDR_READ_ENTRIES));
    must_refuse_step(PDR_ENOTFOUND, "no_stage", store, &step);
    suite_close(store);
}

TEST(store_stage, is_not_shown_over_nothing_when_a_session_was_read)
{
    pdr_store *store = suite_open();
    struct store_step step =
        stage_step("trip", PDR_STAGE_SHOW, stage_two(store, "trip"));

    step.show.revision = 3;
    must_refuse_step(PDR_ENOTFOUND, "no_session", store, &step);
    step.show.revision = 0;
    step.show.fence = 1;
    must_refuse_step(PDR_EFENCED, "lease_lost", store, &step);
    step.show.fence = 0;
    step.show.revision = PDR_ANY_REVISION;
    must_refuse_step(PDR_ENOTFOUND, "no_session", store, &step);
    step.show.revision = 0;
    (void)must_step(store, &step);
    suite_close(store);
}

TEST(store_stage, belongs_to_the_session_that_it_was_begun_for)
{
    pdr_store *store = suite_open();
    uint64_t epoch = stage_two(store, "trip");
    struct store_step step = stage_step("other", PDR_STAGE_ADD, epoch);

    must_refuse_step(PDR_ENOTFOUND, "no_stage", store, &step);
    step = stage_step("other", PDR_STAGE_SHOW, epoch);
    must_refuse_step(PDR_ENOTFOUND, "no_stage", store, &step);
    step.stage.ref.tenant = S("somebody");
    step.stage.ref.id = S("trip");
    must_refuse_step(PDR_ENOTFOUND, "no_stage", store, &step);
    suite_close(store);
}

TEST(store_stage, is_no_session_for_other_edits)
{
    pdr_store *store = suite_open();
    uint64_t epoch = stage_two(store, "trip");
    pdr_edit edit = EDIT("trip", 1);

    must_refuse(PDR_ENOTFOUND, "no_session", store, &edit);
    edit.epoch = epoch;
    must_refuse(PDR_ENOTFOUND, "no_session", store, &edit);
    edit.remove = true;
    must_refuse(PDR_ENOTFOUND, "no_session", store, &edit);
    (void)must_create(store, "trip");
    ASSERT(head_of(store, "trip").epoch > epoch);
    suite_close(store);
}

TEST(store_stage, refuses_a_completion_that_it_has)
{
    pdr_store *store = suite_open();
    uint64_t epoch = stage_two(store, "trip");
    struct store_step step = stage_step("trip", PDR_STAGE_ADD, epoch);
    const pdr_completion ended = {.correlation_id = S("c-1-0"),
                                  .outcome = S("1")};

    step.rows.completions = &ended;
    step.rows.completion_count = 1;
    must_refuse_step(PDR_EEXISTS, "completion_exists", store, &step);
    suite_close(store);
}

TEST(store_stage, refuses_steps_that_cannot_be)
{
    const pdr_work work = {.kind = S("run"), .body = S("{}")};
    pdr_store *store = suite_open();
    uint64_t epoch = stage_two(store, "trip");
    struct store_step steps[] = {
        stage_step("trip", PDR_STAGE_ADD, epoch), /* 0 to 2: work, no copy */
        stage_step("trip", PDR_STAGE_ADD, epoch),
        stage_step("trip", PDR_STAGE_SHOW, epoch),
        stage_step("trip", PDR_STAGE_BEGIN, epoch), /* begun already */
        stage_step("trip", PDR_STAGE_ADD, 0),       /* not begun */
        step_of("trip", PDR_STAGE_BEGIN, 0, INT64_MIN),
        step_of("trip", PDR_STAGE_ADD, epoch, INT64_MIN),
        stage_step("trip", PDR_STAGE_SHOW, 0), /* 7: over a session, at once */
        stage_step("", PDR_STAGE_BEGIN, 0),
    };

    steps[0].rows.inbox = steps[1].rows.journal = steps[2].rows.stream = &work;
    steps[0].rows.inbox_count = steps[1].rows.journal_count =
        steps[2].rows.stream_count = 1;
    steps[7].show.revision = 1;
    for (size_t i = 0; i < COUNT(steps); i++)
        must_refuse_step(PDR_EINVALID, i < 8 ? "bad_edit" : "bad_ref", store,
                         &steps[i]);
    ASSERT_INT(1, unseen(store));
    suite_close(store);
}

TEST(store_stage, is_made_in_one_commit_if_nobody_stands_there)
{
    pdr_store *store = suite_open();
    struct store_step step = stage_step("trip", PDR_STAGE_SHOW, 0);
    struct rows rows;

    fill_rows(&rows, &step.rows, 1);
    ASSERT(must_step(store, &step).revision == 1);
    ASSERT_SIZE(2, rows_of(store, "trip", PDR_READ_ENTRIES));
    must_refuse_step(PDR_EEXISTS, "session_exists", store, &step);
    suite_close(store);
}

/* --- abandoning ----------------------------------------------------------- */

TEST(store_abandon, clears_a_stage_and_nothing_else)
{
    pdr_store *store = suite_open();
    struct store_step step = stage_step("trip", PDR_STAGE_ABANDON, 0);
    uint64_t other = 0, before = 0;

    (void)make_busy(store);
    before = suite_hash(store);
    other = begin_stage(store, "trip");
    step.stage.epoch = stage_two(store, "trip");
    (void)must_step(store, &step);
    ASSERT(before == suite_hash(store));
    ASSERT_INT(1, unseen(store)); /* its time is not over */
    must_refuse_step(PDR_ENOTFOUND, "no_stage", store, &step);
    step.verb = PDR_STAGE_ADD;
    must_refuse_step(PDR_ENOTFOUND, "no_stage", store, &step);
    step.stage.epoch = other;
    (void)must_step(store, &step);
    suite_close(store);
}

TEST(store_abandon, leaves_one_that_was_not_begun_alone)
{
    const pdr_commit_options options = {.now_ms = NOW};
    pdr_store *store = suite_open();
    pdr_stage stage = {.ref = {.id = S("trip")}};

    (void)begin_stage(store, "trip");
    ASSERT_RC(PDR_OK, pdr_stage_abandon(store, &stage, &options, NULL));
    ASSERT_INT(1, unseen(store));
    suite_close(store);
}

TEST(store_abandon, is_for_the_session_that_it_was_begun_for)
{
    pdr_store *store = suite_open();
    uint64_t epoch = stage_two(store, "trip");
    struct store_step step = stage_step("other", PDR_STAGE_ABANDON, epoch);

    must_refuse_step(PDR_ENOTFOUND, "no_stage", store, &step);
    ASSERT_INT(1, unseen(store));
    step = stage_step("trip", PDR_STAGE_SHOW, epoch);
    (void)must_step(store, &step);
    step.verb = PDR_STAGE_ABANDON; /* it was shown */
    must_refuse_step(PDR_ENOTFOUND, "no_stage", store, &step);
    suite_close(store);
}

TEST(store_abandon, wakes_nobody)
{
    const pdr_ref ref = {.id = S("trip")};
    pdr_store *store = suite_open();
    struct store_step step = stage_step("trip", PDR_STAGE_ABANDON, 0);
    pdr_watch *watch = NULL;

    ASSERT_RC(PDR_OK, pdr_watch_open(&watch, store, &ref, NULL));
    step.stage.epoch = stage_two(store, "trip");
    (void)must_step(store, &step);
    ASSERT_RC(PDR_ETIMEOUT, pdr_watch_wait(watch, 0, NULL));
    pdr_watch_close(watch);
    suite_close(store);
}

/* --- groups --------------------------------------------------------------- */

/* Refused edits of stages at every place of a group take nobody with them. */
TEST(store_stage, stands_alone_at_every_place_of_a_group)
{
    for (size_t place = 0; place < 3; place++) {
        pdr_store *store = suite_open();
        struct rows rows[3];
        uint64_t epoch = stage_two(store, "trip");
        struct store_step steps[3] = {stage_step("a", PDR_STAGE_BEGIN, 0),
                                      stage_step("trip", PDR_STAGE_ADD, epoch),
                                      stage_step("b", PDR_STAGE_SHOW, 0)};
        pdr_request requests[3];

        for (size_t i = 0; i < 3; i++)
            fill_rows(&rows[i], &steps[i].rows, (int)i + 5);
        steps[place] = stage_step("x", PDR_STAGE_SHOW, epoch + 100);
        for (size_t i = 0; i < 3; i++)
            requests[i] = step_request(&steps[i], NOW);
        pdr_store_commit_all(store, requests, 3);
        for (size_t i = 0; i < 3; i++)
            ASSERT_RC(i == place ? PDR_ENOTFOUND : PDR_OK, requests[i].rc);
        ASSERT_STR("no_stage", requests[place].err.reason);
        ASSERT_INT(place == 0 ? 1 : 2, unseen(store));
        ASSERT(is_there(store, "b") == (place != 2));
        suite_close(store);
    }
}

TEST(store_stage, is_begun_extended_and_shown_in_one_group)
{
    pdr_store *store = suite_open();
    uint64_t epoch = stage_two(store, "trip");
    struct rows rows;
    struct store_step steps[3] = {stage_step("trip", PDR_STAGE_ADD, epoch),
                                  stage_step("trip", PDR_STAGE_SHOW, epoch),
                                  stage_step("trip", PDR_STAGE_ABANDON, epoch)};
    pdr_request requests[3];

    fill_rows(&rows, &steps[0].rows, 3);
    for (size_t i = 0; i < 3; i++)
        requests[i] = step_request(&steps[i], NOW);
    pdr_store_commit_all(store, requests, 3);
    ASSERT_RC(PDR_OK, requests[0].rc);
    ASSERT_RC(PDR_OK, requests[1].rc);
    ASSERT_RC(PDR_ENOTFOUND, requests[2].rc);
    ASSERT_SIZE(6, rows_of(store, "trip", PDR_READ_ENTRIES));
    suite_close(store);
}

TEST(store_stage, is_a_commit_of_its_own)
{
    const pdr_edit edit = EDIT("other", 0);
    pdr_store *store = suite_open();
    struct store_step step =
        stage_step("trip", PDR_STAGE_SHOW, stage_two(store, "trip"));
    pdr_request request = step_request(&step, NOW);

    request.edits = &edit;
    request.count = 1;
    pdr_store_commit_all(store, &request, 1);
    ASSERT_RC(PDR_EINVALID, request.rc);
    ASSERT_STR("bad_edit", request.err.reason);
    request.count = 0;
    request.verb = (pdr_stage_verb)5;
    pdr_store_commit_all(store, &request, 1);
    ASSERT_RC(PDR_EINVALID, request.rc);
    ASSERT(!is_there(store, "trip") && !is_there(store, "other"));
    suite_close(store);
}

/* --- clearing ------------------------------------------------------------- */

TEST(store_sweep, clears_a_stage_only_when_its_time_is_over)
{
    pdr_store *store = suite_open();
    uint64_t epoch = stage_two(store, "trip");
    pdr_sweep_report report = sweep_at(store, UNTIL - 1);

    ASSERT(report.sessions == 0 && report.rows == 0 && report.left == 1);
    struct store_step step = stage_step("trip", PDR_STAGE_ADD, epoch);
    step.stage.until_ms = UNTIL + 10; /* each commit keeps it longer */
    (void)must_step(store, &step);
    report = sweep_at(store, UNTIL);
    ASSERT(report.sessions == 0 && report.left == 1);
    report = sweep_at(store, UNTIL + 10);
    ASSERT(report.sessions == 1 && report.left == 0);
    /* 4 entries, 4 completions, 2 slots, 2 properties, the frame */
    ASSERT(report.rows == 13);
    ASSERT_INT(0, unseen(store));
    must_refuse_step(PDR_ENOTFOUND, "no_stage", store, &step);
    step = stage_step("trip", PDR_STAGE_SHOW, epoch);
    must_refuse_step(PDR_ENOTFOUND, "no_stage", store, &step);
    suite_close(store);
}

TEST(store_sweep, lets_one_that_is_late_go_on_until_it_is_cleared)
{
    pdr_store *store = suite_open();
    uint64_t epoch = stage_two(store, "trip");
    struct store_step step = stage_step("trip", PDR_STAGE_SHOW, epoch);

    (void)must_step_at(store, &step, UNTIL + 1000);
    ASSERT_SIZE(4, rows_of(store, "trip", PDR_READ_ENTRIES));
    suite_close(store);
}

TEST(store_sweep, finds_nothing_in_a_store_without_unseen_sessions)
{
    pdr_store *store = suite_open();
    uint64_t before = 0;

    (void)make_busy(store);
    before = suite_hash(store);
    pdr_sweep_report report = sweep_at(store, PDR_NEVER);
    ASSERT(report.sessions == 0 && report.rows == 0 && report.left == 0);
    ASSERT(before == suite_hash(store));
    ASSERT_RC(PDR_OK, pdr_store_sweep(NULL, store, PDR_NEVER, NULL));
    suite_close(store);
}

TEST(store_sweep, clears_long_ones_in_steps)
{
    enum { ROWS = 2500 };
    pdr_store *store = suite_open();
    pdr_entry *entries = calloc(ROWS, sizeof(*entries));
    struct store_step step = stage_step("trip", PDR_STAGE_BEGIN, 0);

    for (size_t i = 0; i < ROWS; i++)
        entries[i].body = S("{}");
    step.rows.entries = entries;
    step.rows.entry_count = ROWS;
    uint64_t epoch = must_step(store, &step).epoch;
    (void)stage_two(store, "other");
    pdr_sweep_report report = {0, 0, 0};
    bool more = false;
    ASSERT_RC(PDR_OK, store->ops->sweep(store, UNTIL, &report, &more, NULL));
    ASSERT(more && report.rows <= 1000 && report.sessions == 0);
    step = stage_step("trip", PDR_STAGE_ADD, epoch); /* half is gone */
    must_refuse_step(PDR_ENOTFOUND, "no_stage", store, &step);
    pdr_sweep_report rest = sweep_at(store, UNTIL);
    ASSERT(rest.sessions == 2 && rest.left == 0);
    ASSERT(report.rows + rest.rows == ROWS + 13);
    free(entries);
    suite_close(store);
}

/* What is over for one is not over for others. */
TEST(store_sweep, finishes_what_was_begun_before_whatever_the_time)
{
    enum { ROWS = 1500 };
    pdr_store *store = suite_open();
    pdr_entry *entries = calloc(ROWS, sizeof(*entries));
    struct store_step step = stage_step("trip", PDR_STAGE_BEGIN, 0);
    pdr_sweep_report report = {0, 0, 0};
    bool more = false;

    for (size_t i = 0; i < ROWS; i++)
        entries[i].body = S("{}");
    step.rows.entries = entries;
    step.rows.entry_count = ROWS;
    (void)must_step(store, &step);
    ASSERT_RC(PDR_OK, store->ops->sweep(store, UNTIL, &report, &more, NULL));
    ASSERT(more);
    report = sweep_at(store, 0); /* a clock that went back */
    ASSERT(report.sessions == 1 && report.left == 0);
    free(entries);
    suite_close(store);
}

TEST(store_sweep, is_refused_where_nothing_may_be_written)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_store *store = NULL, *reader = NULL;
    pdr_sweep_report report = {9, 9, 9};

    if ((suite_backend.capabilities & PDR_CAN_READ_ONLY) == 0)
        return;
    store = suite_open();
    reader = suite_open_read_only();
    ASSERT_RC(PDR_EDENIED, pdr_store_sweep(&report, reader, NOW, &err));
    ASSERT_STR("read_only", err.reason);
    ASSERT(report.sessions == 0 && report.rows == 0 && report.left == 0);
    pdr_store_close(reader);
    suite_close(store);
}

TEST(store_stage, outlives_the_handle_that_began_it)
{
    pdr_store *store = NULL;
    uint64_t epoch = 0;

    if ((suite_backend.capabilities & PDR_CAN_PERSIST) == 0)
        return;
    store = suite_open();
    epoch = stage_two(store, "trip");
    store = suite_reopen(store);
    ASSERT_INT(1, unseen(store));
    struct store_step step = stage_step("trip", PDR_STAGE_SHOW, epoch);
    (void)must_step(store, &step);
    ASSERT_SIZE(4, rows_of(store, "trip", PDR_READ_ENTRIES));
    suite_close(store);
}

/* --- watches -------------------------------------------------------------- */

TEST(store_stage, wakes_who_watches_when_it_is_shown)
{
    pdr_store *store = suite_open();
    const pdr_ref ref = {.id = S("trip")};
    pdr_watch *one = NULL;
    uint64_t epoch = 0;

    ASSERT_RC(PDR_OK, pdr_watch_open(&one, store, &ref, NULL));
    epoch = stage_two(store, "trip");
    ASSERT_RC(PDR_ETIMEOUT, pdr_watch_wait(one, 0, NULL));
    struct store_step step = stage_step("trip", PDR_STAGE_SHOW, epoch);
    (void)must_step(store, &step);
    ASSERT_RC(PDR_OK, pdr_watch_wait(one, 5000, NULL));
    pdr_watch_close(one);
    suite_close(store);
}
