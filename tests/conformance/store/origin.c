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
static pdr_edit whole(const char *id)
{
    return (pdr_edit){.ref = {.id = pdr_str_c(id)},
                      .origin = &origin,
                      .kind = S("client"),
                      .frame = S("{}"),
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
                      .inbox_count = 2};
}

static pdr_edit stage_edit(const char *id, pdr_stage_verb verb, uint64_t epoch)
{
    return (pdr_edit){.ref = {.id = pdr_str_c(id)},
                      .stage = verb,
                      .epoch = epoch,
                      .origin = &origin,
                      .revision = verb == PDR_STAGE_ADD ? PDR_ANY_REVISION : 0,
                      .lease_until_ms = verb == PDR_STAGE_SHOW ? 0 : UNTIL};
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
    const pdr_edit edit = whole("s");
    pdr_edit next = EDIT("s", 17);
    pdr_committed done;

    must_commit(store, &edit);
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

TEST(copy, comes_in_several_commits_that_nobody_sees)
{
    pdr_store *store = suite_open();
    pdr_edit edit = whole("s"), rest = stage_edit("s", PDR_STAGE_SHOW, 0);
    uint64_t epoch = 0;

    edit.stage = PDR_STAGE_BEGIN;
    edit.lease_until_ms = UNTIL;
    edit.entry_count = 1;
    edit.journal_count = 1;
    edit.inbox_count = 1;
    epoch = must_commit(store, &edit).epoch;
    ASSERT(!is_there(store, "s"));
    edit = stage_edit("s", PDR_STAGE_ADD, epoch);
    edit.entries = &entries[1];
    edit.entry_count = 1;
    edit.journal = &work[1];
    edit.journal_count = 1;
    must_commit(store, &edit);
    ASSERT(!is_there(store, "s"));
    rest.epoch = epoch;
    rest.inbox = &work[1];
    rest.inbox_count = 1;
    must_commit(store, &rest);
    check_copy(store, "s");
    suite_close(store);
}

TEST(copy, is_refused_without_a_row_that_its_origin_counts)
{
    pdr_store *store = suite_open();
    const pdr_edit good = whole("s");
    pdr_edit edits[8];

    for (size_t i = 0; i < COUNT(edits); i++)
        edits[i] = good;
    edits[0].entry_count = 1;
    edits[1].slot_count = 0;
    edits[2].property_count = 0;
    edits[3].completion_count = 0;
    edits[4].journal_count = 1;
    edits[5].stream_count = 0;
    edits[6].inbox_count = 1;
    edits[7].frame = (pdr_str){NULL, 0};
    for (size_t i = 0; i < COUNT(edits); i++)
        must_refuse(PDR_EINVALID, "bad_edit", store, &edits[i]);
    suite_close(store);
}

TEST(copy, takes_state_times_and_lease_from_nobody_else)
{
    pdr_store *store = suite_open();
    const pdr_edit good = whole("s");
    const uint64_t settle = 1;
    pdr_edit edits[10];

    for (size_t i = 0; i < COUNT(edits); i++)
        edits[i] = good;
    edits[0].set_state = true;
    edits[1].expiry = PDR_EXPIRY_CLEAR;
    edits[2].lease = PDR_LEASE_TAKE;
    edits[2].lease_owner = S("w");
    edits[3].revision = 1;
    edits[4].revision = PDR_ANY_REVISION;
    edits[4].or_create = true;
    edits[5].journal_through = 1;
    edits[6].stream_through = 1;
    edits[7].settle = &settle;
    edits[7].settle_count = 1;
    edits[8].drop = &completion;
    edits[8].drop_count = 1;
    edits[9].entries_through = 1;
    for (size_t i = 0; i < COUNT(edits); i++)
        must_refuse(PDR_EINVALID, "bad_edit", store, &edits[i]);
    suite_close(store);
}

TEST(copy, needs_an_origin_that_can_be)
{
    pdr_store *store = suite_open();
    pdr_head heads[11];
    pdr_completion odd = completion;
    pdr_edit edit = whole("s");

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
        edit.origin = &heads[i];
        must_refuse(PDR_EINVALID, "bad_edit", store, &edit);
    }
    edit.origin = &origin;
    edit.completions = &odd;
    odd.last_seq = 5;
    must_refuse(PDR_EINVALID, "bad_edit", store, &edit);
    odd.last_seq = 1;
    must_refuse(PDR_EINVALID, "bad_edit", store, &edit);
    odd.first_seq = 0;
    must_refuse(PDR_EINVALID, "bad_edit", store, &edit);
    suite_close(store);
}

TEST(copy, has_each_completion_once)
{
    pdr_store *store = suite_open();
    pdr_edit edit = stage_edit("s", PDR_STAGE_BEGIN, 0);

    edit.completions = &completion;
    edit.completion_count = 1;
    edit.epoch = must_commit(store, &edit).epoch;
    edit.stage = PDR_STAGE_ADD;
    edit.revision = PDR_ANY_REVISION;
    must_refuse(PDR_EEXISTS, "completion_exists", store, &edit);
    ASSERT_RC(PDR_OK, pdr_store_sweep(NULL, store, PDR_NEVER, NULL));
    suite_close(store);
}

/* --- copies in the place of sessions -------------------------------------- */

/* Stage the copy, and show it in the place of revision `old`. */
static pdr_edit show_edit(pdr_store *store, const char *id, uint64_t old)
{
    pdr_edit begin = whole(id);
    pdr_edit show = stage_edit(id, PDR_STAGE_SHOW, 0);

    begin.stage = PDR_STAGE_BEGIN;
    begin.lease_until_ms = UNTIL;
    show.epoch = must_commit(store, &begin).epoch;
    show.revision = old;
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

static pdr_edit earlier_copy(const char *id, const pdr_head *head)
{
    pdr_edit edit = whole(id);

    edit.origin = head;
    edit.entry_count = 1;
    return edit;
}

TEST(copy, replaces_an_earlier_one_with_all_that_waits_for_it)
{
    pdr_store *store = suite_open();
    const pdr_head before = earlier();
    pdr_edit edit = earlier_copy("s", &before);

    must_commit(store, &edit);
    edit = show_edit(store, "s", 16);
    must_commit(store, &edit);
    check_copy(store, "s");
    suite_close(store);
}

/* The origin has more of everything, and yet it is not what became of the copy:
 * both went on. */
TEST(copy, does_not_replace_an_earlier_one_that_somebody_touched)
{
    pdr_store *store = suite_open();
    const pdr_head before = earlier();
    const pdr_edit first = earlier_copy("s", &before);
    const pdr_completion ended = {.correlation_id = S("other"),
                                  .outcome = S("{}")};
    pdr_edit touches[4] = {EDIT("s", 16), EDIT("s", PDR_ANY_REVISION),
                           EDIT("s", PDR_ANY_REVISION), EDIT("s", 16)};

    touches[0].slots = &slot;
    touches[0].slot_count = 1;
    touches[1].completions = &ended;
    touches[1].completion_count = 1;
    touches[2].lease = PDR_LEASE_TAKE;
    touches[2].lease_owner = S("w");
    touches[2].lease_until_ms = NOW - 1;
    touches[3].expiry = PDR_EXPIRY_CLEAR;
    for (size_t i = 0; i < COUNT(touches); i++) {
        pdr_edit edit = first;

        must_commit(store, &edit);
        must_commit(store, &touches[i]);
        edit = show_edit(store, "s", head_of(store, "s").revision);
        must_refuse(PDR_ECONFLICT, "ahead_of_origin", store, &edit);
        edit = (pdr_edit)EDIT("s", head_of(store, "s").revision);
        edit.remove = true;
        must_commit(store, &edit);
    }
    ASSERT_RC(PDR_OK, pdr_store_sweep(NULL, store, PDR_NEVER, NULL));
    suite_close(store);
}

TEST(copy, does_not_replace_a_session_that_was_made_here)
{
    pdr_store *store = suite_open();
    pdr_edit edit = EDIT("s", 0);

    must_commit(store, &edit);
    edit = show_edit(store, "s", 1);
    must_refuse(PDR_ECONFLICT, "ahead_of_origin", store, &edit);
    ASSERT_RC(PDR_OK, pdr_store_sweep(NULL, store, PDR_NEVER, NULL));
    suite_close(store);
}

TEST(copy, with_work_is_shown_as_a_copy)
{
    pdr_store *store = suite_open();
    pdr_edit edit = EDIT("s", 0);

    must_commit(store, &edit);
    edit = show_edit(store, "s", 1);
    edit.origin = NULL;
    must_refuse(PDR_EINVALID, "bad_edit", store, &edit);
    ASSERT_RC(PDR_OK, pdr_store_sweep(NULL, store, PDR_NEVER, NULL));
    suite_close(store);
}

TEST(copy, does_not_replace_what_went_on_by_itself)
{
    pdr_store *store = suite_open();
    pdr_edit first = whole("s"), edit = EDIT("s", 17);
    pdr_edit lists[3] = {EDIT("s", PDR_ANY_REVISION),
                         EDIT("s", PDR_ANY_REVISION),
                         EDIT("s", PDR_ANY_REVISION)};

    lists[0].journal = lists[1].stream = lists[2].inbox = work;
    lists[0].journal_count = lists[1].stream_count = lists[2].inbox_count = 1;
    for (size_t i = 0; i < COUNT(lists); i++) {
        must_commit(store, &first);
        must_commit(store, &lists[i]);
        edit = show_edit(store, "s", 17);
        must_refuse(PDR_ECONFLICT, "ahead_of_origin", store, &edit);
        edit = (pdr_edit)EDIT("s", 17);
        edit.remove = true;
        must_commit(store, &edit);
    }
    must_commit(store, &first);
    edit = (pdr_edit)EDIT("s", 17);
    edit.slots = &slot;
    edit.slot_count = 1;
    must_commit(store, &edit);
    edit = show_edit(store, "s", 18);
    must_refuse(PDR_ECONFLICT, "ahead_of_origin", store, &edit);
    ASSERT_RC(PDR_OK, pdr_store_sweep(NULL, store, PDR_NEVER, NULL));
    suite_close(store);
}

TEST(copy, of_the_same_revision_is_taken_if_that_was_made_at_the_same_time)
{
    pdr_store *store = suite_open();
    const pdr_edit first = whole("s");
    pdr_head later = origin;
    pdr_edit edit;

    must_commit(store, &first);
    edit = show_edit(store, "s", 17);
    later.changed_ms++;
    edit.origin = &later;
    must_refuse(PDR_ECONFLICT, "ahead_of_origin", store, &edit);
    edit.origin = &origin;
    must_commit(store, &edit);
    ASSERT(head_of(store, "s").commits > origin.commits);
    check_copy(store, "s");
    suite_close(store);
}
