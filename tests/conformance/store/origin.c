/* A session that is a copy of one in another store goes on with its numbers. */
#include "suite.h"

#define UNTIL (NOW + 60000)

/* --- helpers -------------------------------------------------------------- */

/* The head of a session that was at work for a while: entries 3 to 4, journal 5
 * to 6, stream 8, inbox 2 of 9 that were given, one completion. */
static const pdr_head origin = {
    .state = PDR_SESSION_RUNNING,
    .revision = 17,
    .commits = 40,
    .created_ms = 1000,
    .changed_ms = 2000,
    .expiry_ms = 3000,
    .first_seq = 3,
    .next_seq = 5,
    .slots = 1,
    .properties = 1,
    .completions = 1,
    .journal_first = 5,
    .journal_next = 7,
    .stream_first = 8,
    .stream_next = 9,
    .inbox = 2,
    .inbox_next = 10,
    .has_frame = true,
};

static const pdr_entry entries[] = {
    {.created_ms = 0, .correlation_id = S_INIT("c"), .body = S_INIT("{}")},
    {.created_ms = PDR_NO_TIME, .body = S_INIT("[1]")}};
static const pdr_slot slot = {.key = S_INIT("k"), .value = S_INIT("1")};
static const pdr_property property = {
    .key = S_INIT("p"), .value = S_INIT("2"), .match = S_INIT("n2")};
static const pdr_completion completion = {.correlation_id = S_INIT("c"),
                                          .fingerprint = S_INIT("f"),
                                          .outcome = S_INIT("{}"),
                                          .at_ms = 1234,
                                          .first_seq = 2,
                                          .last_seq = 3};
static const pdr_work work[] = {
    {.due_ms = 7, .kind = S_INIT("a"), .body = S_INIT("1")},
    {.due_ms = 8, .kind = S_INIT("b"), .body = S_INIT("2")}};

/* All of it in one commit. */
static struct store_step whole(const char *id)
{
    return (struct store_step){.verb = PDR_STAGE_SHOW,
                               .stage = {.ref = {.id = pdr_str_c(id)},
                                         .origin = &origin,
                                         .until_ms = UNTIL,
                                         .kind = S("client")},
                               .rows = {.frame = S("{}"),
                                        .entries = entries,
                                        .entry_count = 2,
                                        .slots = &slot,
                                        .slot_count = 1,
                                        .properties = &property,
                                        .property_count = 1,
                                        .completions = &completion,
                                        .completion_count = 1,
                                        .journal = work,
                                        .journal_count = 2,
                                        .stream = work,
                                        .stream_count = 1,
                                        .inbox = work,
                                        .inbox_count = 2}};
}

static struct store_step stage_step(const char *id, pdr_stage_verb verb,
                                    uint64_t epoch)
{
    struct store_step step = step_of(id, verb, epoch, UNTIL);

    step.stage.origin = &origin;
    return step;
}

static void check_numbers(pdr_store *store, const char *id, pdr_read_what what,
                          uint64_t first, size_t count)
{
    const pdr_query query = {.what = what, .ref = {.id = pdr_str_c(id)}};
    pdr_page *page = must_read(store, &query);

    ASSERT_INT(count, page->count);
    for (size_t i = 0; i < page->count; i++)
        ASSERT_INT(first + i, what == PDR_READ_ENTRIES ? page->entries[i].seq
                                                       : page->work[i].n);
    for (size_t i = 0; i < page->count && what == PDR_READ_ENTRIES; i++)
        ASSERT_INT(entries[i].created_ms, page->entries[i].created_ms);
    pdr_page_free(page);
}

static void check_copy(pdr_store *store, const char *id)
{
    const pdr_query query = {.what = PDR_READ_COMPLETIONS,
                             .ref = {.id = pdr_str_c(id)}};
    const pdr_head head = head_of(store, id);
    pdr_page *page = must_read(store, &query);

    ASSERT_INT(origin.revision, head.revision);
    ASSERT(head.commits >= origin.commits);
    ASSERT_INT(origin.state, head.state);
    ASSERT_INT(origin.created_ms, head.created_ms);
    ASSERT_INT(origin.changed_ms, head.changed_ms);
    ASSERT_INT(origin.expiry_ms, head.expiry_ms);
    ASSERT_INT(origin.inbox_next, head.inbox_next);
    ASSERT(head.lease.owner.ptr == NULL);
    check_numbers(store, id, PDR_READ_ENTRIES, 3, 2);
    check_numbers(store, id, PDR_READ_JOURNAL, 5, 2);
    check_numbers(store, id, PDR_READ_STREAM, 8, 1);
    check_numbers(store, id, PDR_READ_INBOX, 8, 2); /* the last two numbers */
    ASSERT_INT(1, page->count);
    ASSERT_INT(1234, page->completions[0].at_ms);
    ASSERT_INT(2, page->completions[0].first_seq);
    ASSERT_INT(3, page->completions[0].last_seq);
    ASSERT_INT(head.epoch, page->completions[0].epoch);
    pdr_page_free(page);
}

/* --- copies --------------------------------------------------------------- */

TEST(copy, has_the_numbers_and_times_of_its_origin)
{
    pdr_store *store = suite_open();
    const struct store_step step = whole("s");
    pdr_edit next = EDIT("s", 17);
    pdr_committed done;

    must_step(store, &step);
    check_copy(store, "s");
    next.entries = &entries[1];
    next.entry_count = 1;
    next.inbox = next.stream = work;
    next.inbox_count = next.stream_count = 1;
    done = must_commit(store, &next);
    ASSERT_INT(18, done.revision);
    ASSERT_INT(5, done.first_seq);
    ASSERT_INT(10, done.inbox_n);
    ASSERT_INT(9, done.stream_n);
    suite_close(store);
}

TEST(copy, has_a_ttl_if_its_origin_has)
{
    pdr_store *store = suite_open();
    pdr_head with = origin;
    struct store_step step = whole("s");

    (void)must_step(store, &step);
    ASSERT(!head_of(store, "s").has_ttl);
    with.has_ttl = true;
    with.revision++;
    step.verb = PDR_STAGE_BEGIN; /* the origin got one, and comes again */
    step.stage.origin = &with;
    step.stage.epoch = must_step(store, &step).epoch;
    step.verb = PDR_STAGE_SHOW;
    step.rows = (pdr_rows){.entry_count = 0};
    step.show.revision = origin.revision;
    (void)must_step(store, &step);
    ASSERT(head_of(store, "s").has_ttl);
    step = whole("other"); /* and at once */
    step.stage.origin = &with;
    (void)must_step(store, &step);
    ASSERT(head_of(store, "other").has_ttl);
    suite_close(store);
}

TEST(copy, comes_in_several_commits_that_nobody_sees)
{
    pdr_store *store = suite_open();
    struct store_step step = whole("s");
    uint64_t epoch = 0;

    step.verb = PDR_STAGE_BEGIN;
    step.rows.entry_count = 1;
    step.rows.journal_count = 1;
    step.rows.inbox_count = 1;
    epoch = must_step(store, &step).epoch;
    ASSERT(!is_there(store, "s"));
    step = stage_step("s", PDR_STAGE_ADD, epoch);
    step.rows.entries = &entries[1];
    step.rows.entry_count = 1;
    step.rows.journal = &work[1];
    step.rows.journal_count = 1;
    must_step(store, &step);
    ASSERT(!is_there(store, "s"));
    step = stage_step("s", PDR_STAGE_SHOW, epoch);
    step.rows.inbox = &work[1];
    step.rows.inbox_count = 1;
    must_step(store, &step);
    check_copy(store, "s");
    suite_close(store);
}

TEST(copy, is_refused_without_a_row_that_its_origin_counts)
{
    pdr_store *store = suite_open();
    struct store_step steps[8];

    for (size_t i = 0; i < COUNT(steps); i++)
        steps[i] = whole("s");
    steps[0].rows.entry_count = 1;
    steps[1].rows.slot_count = 0;
    steps[2].rows.property_count = 0;
    steps[3].rows.completion_count = 0;
    steps[4].rows.journal_count = 1;
    steps[5].rows.stream_count = 0;
    steps[6].rows.inbox_count = 1;
    steps[7].rows.frame = (pdr_str){NULL, 0};
    for (size_t i = 0; i < COUNT(steps); i++)
        must_refuse_step(PDR_EINVALID, "bad_edit", store, &steps[i]);
    suite_close(store);
}

TEST(copy, takes_state_and_times_from_nobody_else)
{
    pdr_store *store = suite_open();
    struct store_step steps[4];

    for (size_t i = 0; i < COUNT(steps); i++)
        steps[i] = whole("s");
    steps[0].show.set_state = true;
    steps[1].show.expiry = PDR_EXPIRY_CLEAR;
    steps[2].show.revision = 1; /* who stands there is replaced by a stage */
    steps[3].show.revision = PDR_ANY_REVISION;
    for (size_t i = 0; i < COUNT(steps); i++)
        must_refuse_step(PDR_EINVALID, "bad_edit", store, &steps[i]);
    suite_close(store);
}

TEST(copy, needs_an_origin_that_can_be)
{
    pdr_store *store = suite_open();
    pdr_head heads[11];
    pdr_completion odd = completion;
    struct store_step step = whole("s");

    for (size_t i = 0; i < COUNT(heads); i++)
        heads[i] = origin;
    heads[0].revision = 0;
    heads[1].commits = UINT64_MAX;
    heads[2].first_seq = 6;
    heads[3].first_seq = 0;
    heads[4].journal_next = 4;
    heads[5].stream_next = UINT64_C(1) << 63;
    heads[6].inbox = 10;
    heads[7].inbox_next = 0;
    heads[8].state = PDR_SESSION_UNSEEN;
    heads[9].revision = heads[10].next_seq = INT64_MAX; /* nobody could go on */
    for (size_t i = 0; i < COUNT(heads); i++) {
        step.stage.origin = &heads[i];
        must_refuse_step(PDR_EINVALID, "bad_edit", store, &step);
    }
    step.stage.origin = &origin;
    step.rows.completions = &odd;
    odd.last_seq = 5;
    must_refuse_step(PDR_EINVALID, "bad_edit", store, &step);
    odd.last_seq = 1;
    must_refuse_step(PDR_EINVALID, "bad_edit", store, &step);
    odd.first_seq = 0;
    must_refuse_step(PDR_EINVALID, "bad_edit", store, &step);
    suite_close(store);
}

TEST(copy, has_each_completion_once)
{
    pdr_store *store = suite_open();
    struct store_step step = stage_step("s", PDR_STAGE_BEGIN, 0);

    step.rows.completions = &completion;
    step.rows.completion_count = 1;
    step.stage.epoch = must_step(store, &step).epoch;
    step.verb = PDR_STAGE_ADD;
    must_refuse_step(PDR_EEXISTS, "completion_exists", store, &step);
    ASSERT_RC(PDR_OK, pdr_store_sweep(NULL, store, PDR_NEVER, NULL));
    suite_close(store);
}

/* --- copies in the place of sessions -------------------------------------- */

/* Stage the copy, and show it in the place of revision `old`. */
static struct store_step show_step(pdr_store *store, const char *id,
                                   uint64_t old)
{
    struct store_step begin = whole(id);
    struct store_step show = stage_step(id, PDR_STAGE_SHOW, 0);

    begin.verb = PDR_STAGE_BEGIN;
    show.stage.epoch = must_step(store, &begin).epoch;
    show.show.revision = old;
    return show;
}

/* What the origin was before: one entry less, and other work. */
static pdr_head earlier(void)
{
    pdr_head head = origin;

    head.revision = 16;
    head.commits = 30;
    head.changed_ms = 1500;
    head.next_seq = 4;
    head.inbox_next = 9;
    return head;
}

static struct store_step earlier_copy(const char *id, const pdr_head *head)
{
    struct store_step step = whole(id);

    step.stage.origin = head;
    step.rows.entry_count = 1;
    return step;
}

static void must_be_ahead(pdr_store *store, uint64_t old)
{
    const struct store_step step = show_step(store, "s", old);

    must_refuse_step(PDR_ECONFLICT, "ahead_of_origin", store, &step);
}

static void remove_s(pdr_store *store)
{
    pdr_edit edit = EDIT("s", head_of(store, "s").revision);

    edit.remove = true;
    must_commit(store, &edit);
}

TEST(copy, replaces_an_earlier_one_with_all_that_waits_for_it)
{
    pdr_store *store = suite_open();
    const pdr_head before = earlier();
    struct store_step step = earlier_copy("s", &before);

    must_step(store, &step);
    step = show_step(store, "s", 16);
    must_step(store, &step);
    check_copy(store, "s");
    suite_close(store);
}

/* The origin has more of everything, and yet it is not what became of the copy:
 * both went on. */
TEST(copy, does_not_replace_an_earlier_one_that_somebody_touched)
{
    pdr_store *store = suite_open();
    const pdr_head before = earlier();
    const struct store_step first = earlier_copy("s", &before);
    const pdr_completion ended = {.correlation_id = S("other"),
                                  .outcome = S("{}")};
    pdr_edit touches[4] = {EDIT("s", 16), EDIT("s", PDR_ANY_REVISION),
                           EDIT("s", PDR_ANY_REVISION), EDIT("s", 16)};

    touches[0].slots = &slot;
    touches[0].slot_count = 1;
    touches[1].completions = &ended;
    touches[1].completion_count = 1;
    touches[2].lease.verb = PDR_LEASE_TAKE;
    touches[2].lease.owner = S("w");
    touches[2].lease.until_ms = NOW - 1;
    touches[3].expiry = PDR_EXPIRY_CLEAR;
    for (size_t i = 0; i < COUNT(touches); i++) {
        must_step(store, &first);
        must_commit(store, &touches[i]);
        must_be_ahead(store, head_of(store, "s").revision);
        remove_s(store);
    }
    ASSERT_RC(PDR_OK, pdr_store_sweep(NULL, store, PDR_NEVER, NULL));
    suite_close(store);
}

TEST(copy, does_not_replace_a_session_that_was_made_here)
{
    pdr_store *store = suite_open();

    (void)must_create(store, "s");
    must_be_ahead(store, 1);
    ASSERT_RC(PDR_OK, pdr_store_sweep(NULL, store, PDR_NEVER, NULL));
    suite_close(store);
}

TEST(copy, with_work_is_shown_as_a_copy)
{
    pdr_store *store = suite_open();
    struct store_step step;

    (void)must_create(store, "s");
    step = show_step(store, "s", 1);
    step.stage.origin = NULL;
    must_refuse_step(PDR_EINVALID, "bad_edit", store, &step);
    ASSERT_RC(PDR_OK, pdr_store_sweep(NULL, store, PDR_NEVER, NULL));
    suite_close(store);
}

TEST(copy, does_not_replace_what_went_on_by_itself)
{
    pdr_store *store = suite_open();
    const struct store_step first = whole("s");
    pdr_edit edit = EDIT("s", 17);
    pdr_edit lists[3] = {EDIT("s", PDR_ANY_REVISION),
                         EDIT("s", PDR_ANY_REVISION),
                         EDIT("s", PDR_ANY_REVISION)};

    lists[0].journal = lists[1].stream = lists[2].inbox = work;
    lists[0].journal_count = lists[1].stream_count = lists[2].inbox_count = 1;
    for (size_t i = 0; i < COUNT(lists); i++) {
        must_step(store, &first);
        must_commit(store, &lists[i]);
        must_be_ahead(store, 17);
        remove_s(store);
    }
    must_step(store, &first);
    edit.slots = &slot;
    edit.slot_count = 1;
    must_commit(store, &edit);
    must_be_ahead(store, 18);
    ASSERT_RC(PDR_OK, pdr_store_sweep(NULL, store, PDR_NEVER, NULL));
    suite_close(store);
}

TEST(copy, of_the_same_revision_is_taken_if_that_was_made_at_the_same_time)
{
    pdr_store *store = suite_open();
    const struct store_step first = whole("s");
    pdr_head later = origin;
    struct store_step step;

    must_step(store, &first);
    step = show_step(store, "s", 17);
    later.changed_ms++;
    step.stage.origin = &later;
    must_refuse_step(PDR_ECONFLICT, "ahead_of_origin", store, &step);
    step.stage.origin = &origin;
    must_step(store, &step);
    ASSERT(head_of(store, "s").commits > origin.commits);
    check_copy(store, "s");
    suite_close(store);
}
