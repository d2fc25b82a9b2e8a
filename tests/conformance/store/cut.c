/* Less than there was: entries cut from the beginning, completions dropped,
 * long sessions removed. */
#include "suite.h"

static size_t rows_of(pdr_store *store, const char *id, pdr_read_what what)
{
    const pdr_query query = {.what = what, .ref = {.id = pdr_str_c(id)}};

    return read_all(store, &query, 3, NULL, NULL);
}

/* The digest of one entry. */
static void digest_of(pdr_digest out, pdr_store *store, const char *id,
                      uint64_t seq)
{
    const pdr_query query = {.what = PDR_READ_ENTRIES,
                             .ref = {.id = pdr_str_c(id)},
                             .from = seq,
                             .limit = 1};
    pdr_page *page = must_read(store, &query);

    ASSERT_SIZE(1, page->count);
    ASSERT(page->entries[0].seq == seq);
    memcpy(out, page->entries[0].digest, PDR_DIGEST_BYTES);
    pdr_page_free(page);
}

/* Entries 1 to 2 * turns: a turn has a request and a response with the same
 * correlation id "c-K". */
static void make_turns(pdr_store *store, const char *id, size_t turns)
{
    for (size_t k = 0; k < turns; k++) {
        char correlation[32];
        pdr_entry entries[2] = {{.kind = PDR_ROW_REQUEST},
                                {.kind = PDR_ROW_RESPONSE}};
        pdr_completion ended = {.outcome = S("{\"ok\":1}")};
        pdr_edit edit = {.ref = {.id = pdr_str_c(id)}, .revision = k};

        (void)snprintf(correlation, sizeof(correlation), "c-%zu", k);
        ended.correlation_id = pdr_str_c(correlation);
        for (size_t i = 0; i < 2; i++) {
            entries[i].body = S("{\"text\":\"hello\"}");
            entries[i].correlation_id = ended.correlation_id;
        }
        edit.entries = entries;
        edit.entry_count = 2;
        edit.completions = &ended;
        edit.completion_count = 1;
        (void)must_commit_at(store, &edit, NOW + (int64_t)k);
    }
}

/* --- cutting -------------------------------------------------------------- */

TEST(store_cut, takes_the_first_entries_and_keeps_the_chain)
{
    pdr_store *store = suite_open();
    pdr_edit edit = EDIT("trip", 5);
    pdr_digest last;

    make_turns(store, "trip", 5);
    digest_of(last, store, "trip", 4);
    edit.entries_through = 4;
    pdr_committed done = must_commit(store, &edit);
    ASSERT(done.revision == 6 && done.first_seq == 11);
    pdr_head head = head_of(store, "trip");
    ASSERT(head.first_seq == 5 && head.next_seq == 11);
    assert_memory_equal(last, head.anchor, sizeof(last));
    ASSERT(head.completions == 5); /* they stay until they are dropped */
    ASSERT_SIZE(6, rows_of(store, "trip", PDR_READ_ENTRIES));
    (void)must_append(store, "trip", 6, 11, 2);
    ASSERT_SIZE(8, rows_of(store, "trip", PDR_READ_ENTRIES));
    suite_close(store);
}

TEST(store_cut, reads_from_both_ends_what_is_left)
{
    pdr_query query = {.what = PDR_READ_ENTRIES, .ref = {.id = S("trip")}};
    pdr_store *store = suite_open();
    pdr_edit edit = EDIT("trip", 5);

    make_turns(store, "trip", 5);
    edit.entries_through = 7;
    (void)must_commit(store, &edit);
    for (uint64_t from = 0; from <= 12; from++) {
        query.from = from;
        query.backwards = false;
        size_t left = from <= 8 ? 3 : from <= 10 ? (size_t)(11 - from) : 0;
        ASSERT_SIZE(left, read_all(store, &query, 2, NULL, NULL));
        query.backwards = true;
        left = from == 0 || from >= 10 ? 3 : from >= 8 ? (size_t)from - 7 : 0;
        ASSERT_SIZE(left, read_all(store, &query, 2, NULL, NULL));
    }
    suite_close(store);
}

TEST(store_cut, may_take_all_and_append_at_once)
{
    const pdr_entry entry = {.correlation_id = S("new"), .body = S("{}")};
    pdr_store *store = suite_open();
    pdr_edit edit = EDIT("trip", 3);

    make_turns(store, "trip", 3);
    edit.entries_through = 6;
    (void)must_commit(store, &edit);
    pdr_head head = head_of(store, "trip");
    ASSERT(head.first_seq == 7 && head.next_seq == 7);
    assert_memory_equal(head.anchor, head.chain, sizeof(head.anchor));
    ASSERT_SIZE(0, rows_of(store, "trip", PDR_READ_ENTRIES));
    edit.revision = 4;
    edit.entries = &entry;
    edit.entry_count = 1;
    edit.entries_through = 0;
    ASSERT(must_commit(store, &edit).first_seq == 7);
    edit.revision = 5;
    edit.entries_through = 7;
    ASSERT(must_commit(store, &edit).first_seq == 8);
    head = head_of(store, "trip");
    ASSERT(head.first_seq == 8 && head.next_seq == 9);
    ASSERT_SIZE(1, rows_of(store, "trip", PDR_READ_ENTRIES));
    suite_close(store);
}

TEST(store_cut, changes_nothing_where_nothing_is_left)
{
    pdr_store *store = suite_open();
    pdr_edit edit = EDIT("trip", 3);

    make_turns(store, "trip", 3);
    edit.entries_through = 4;
    (void)must_commit(store, &edit);
    pdr_head before = head_of(store, "trip");
    edit.revision = 4;
    edit.entries_through = 3;
    (void)must_commit(store, &edit);
    pdr_head after = head_of(store, "trip");
    ASSERT(after.first_seq == before.first_seq);
    assert_memory_equal(before.anchor, after.anchor, sizeof(before.anchor));
    ASSERT_SIZE(2, rows_of(store, "trip", PDR_READ_ENTRIES));
    suite_close(store);
}

TEST(store_cut, refuses_entries_that_are_not_there_yet)
{
    const pdr_entry entry = {.body = S("{}")};
    pdr_store *store = suite_open();
    pdr_edit edit = EDIT("trip", 2);

    make_turns(store, "trip", 2);
    edit.entries_through = 5;
    must_refuse(PDR_EINVALID, "bad_edit", store, &edit);
    edit.entries = &entry; /* nor those that the same edit appends */
    edit.entry_count = 1;
    must_refuse(PDR_EINVALID, "bad_edit", store, &edit);
    edit.entries_through = UINT64_MAX;
    must_refuse(PDR_EINVALID, "bad_edit", store, &edit);
    edit.revision = PDR_ANY_REVISION;
    edit.entry_count = 0;
    edit.entries_through = 1;
    must_refuse(PDR_EINVALID, "bad_edit", store, &edit);
    edit.revision = 1;
    must_refuse(PDR_ECONFLICT, "revision_changed", store, &edit);
    suite_close(store);
}

TEST(store_cut, gives_what_is_left_of_a_correlation_id)
{
    pdr_query entries = {
        .what = PDR_READ_ENTRIES, .ref = {.id = S("trip")}, .key = S("c-1")};
    pdr_query row = {.what = PDR_READ_COMPLETIONS,
                     .ref = {.id = S("trip")},
                     .key = S("c-1")};
    pdr_store *store = suite_open();
    pdr_edit edit = EDIT("trip", 3);

    make_turns(store, "trip", 3);
    edit.entries_through = 3; /* the first of c-1 */
    (void)must_commit(store, &edit);
    pdr_page *page = must_read(store, &entries);
    ASSERT_SIZE(1, page->count);
    ASSERT(page->entries[0].seq == 4);
    pdr_page_free(page);
    page = must_read(store, &row);
    ASSERT_SIZE(1, page->count);
    ASSERT(page->completions[0].first_seq == 3);
    ASSERT(page->completions[0].last_seq == 4);
    pdr_page_free(page);
    entries.key = S("c-0"); /* all of c-0 */
    must_not_read(PDR_ENOTFOUND, "no_completion", store, &entries);
    row.key = S("c-0");
    pdr_page_free(must_read(store, &row));
    ASSERT_SIZE(3, rows_of(store, "trip", PDR_READ_COMPLETIONS));
    suite_close(store);
}

/* The last page says that it is the last, also where entries of others stand
 * between those that are left and where the first one was. */
TEST(store_cut, ends_the_list_of_a_correlation_id_with_its_last_entry)
{
    const pdr_entry entries[] = {
        {.correlation_id = S("c"), .body = S("{}")},
        {.correlation_id = S("other"), .body = S("{}")},
        {.correlation_id = S("c"), .body = S("{}")}};
    const pdr_query query = {.what = PDR_READ_ENTRIES,
                             .ref = {.id = S("trip")},
                             .key = S("c"),
                             .limit = 1,
                             .backwards = true};
    pdr_store *store = suite_open();
    pdr_edit edit = EDIT("trip", 0);

    edit.entries = entries;
    edit.entry_count = COUNT(entries);
    (void)must_commit(store, &edit);
    ASSERT_SIZE(2, read_all(store, &query, 1, NULL, NULL));
    edit = (pdr_edit)EDIT("trip", 1);
    edit.entries_through = 1;
    (void)must_commit(store, &edit);
    pdr_page *page = must_read(store, &query);
    ASSERT_SIZE(1, page->count);
    ASSERT(page->entries[0].seq == 3 && page->next.ptr == NULL);
    pdr_page_free(page);
    suite_close(store);
}

TEST(store_cut, still_knows_who_has_ended)
{
    const pdr_completion again = {.correlation_id = S("c-0"),
                                  .outcome = S("2")};
    const pdr_entry late = {.correlation_id = S("c-0"), .body = S("{}")};
    pdr_store *store = suite_open();
    pdr_edit edit = EDIT("trip", 2);

    make_turns(store, "trip", 2);
    edit.entries_through = 2;
    (void)must_commit(store, &edit);
    pdr_edit end = EDIT("trip", PDR_ANY_REVISION);
    end.completions = &again;
    end.completion_count = 1;
    must_refuse(PDR_EEXISTS, "completion_exists", store, &end);
    pdr_edit append = EDIT("trip", 3);
    append.entries = &late;
    append.entry_count = 1;
    (void)must_commit(store, &append);
    const pdr_query query = {
        .what = PDR_READ_ENTRIES, .ref = {.id = S("trip")}, .key = S("c-0")};
    ASSERT_SIZE(1, read_all(store, &query, 5, NULL, NULL));
    suite_close(store);
}

/* --- dropping ------------------------------------------------------------- */

TEST(store_drop, takes_completions_as_they_were_read)
{
    const pdr_completion drop[] = {
        {.correlation_id = S("c-0"), .at_ms = NOW},
        {.correlation_id = S("c-1"), .at_ms = NOW + 1}};
    const pdr_query row = {.what = PDR_READ_COMPLETIONS,
                           .ref = {.id = S("trip")},
                           .key = S("c-0")};
    pdr_store *store = suite_open();
    pdr_edit edit = EDIT("trip", 4);

    make_turns(store, "trip", 4);
    edit.entries_through = 4;
    edit.drop = drop;
    edit.drop_count = 2;
    (void)must_commit(store, &edit);
    ASSERT(head_of(store, "trip").completions == 2);
    ASSERT_SIZE(2, rows_of(store, "trip", PDR_READ_COMPLETIONS));
    must_not_read(PDR_ENOTFOUND, "no_completion", store, &row);
    suite_close(store);
}

TEST(store_drop, does_not_move_the_revision)
{
    const pdr_completion drop = {.correlation_id = S("c-0"), .at_ms = NOW};
    pdr_store *store = suite_open();
    pdr_edit edit = EDIT("trip", 2);

    make_turns(store, "trip", 2);
    edit.entries_through = 2;
    (void)must_commit(store, &edit);
    pdr_edit light = EDIT("trip", PDR_ANY_REVISION);
    light.drop = &drop;
    light.drop_count = 1;
    pdr_committed done = must_commit(store, &light);
    ASSERT(done.revision == 3);
    ASSERT(head_of(store, "trip").commits == 4);
    ASSERT(head_of(store, "trip").completions == 1);
    suite_close(store);
}

TEST(store_drop, refuses_what_changed_or_is_gone)
{
    pdr_completion drop[] = {{.correlation_id = S("c-0"), .at_ms = NOW},
                             {.correlation_id = S("c-1"), .at_ms = NOW}};
    pdr_store *store = suite_open();
    pdr_edit edit = EDIT("trip", 2);

    make_turns(store, "trip", 2);
    edit.entries_through = 4;
    edit.drop = drop;
    edit.drop_count = 2;
    must_refuse(PDR_ECONFLICT, "completion_changed", store, &edit);
    drop[1].correlation_id = S("nobody");
    must_refuse(PDR_ECONFLICT, "completion_changed", store, &edit);
    edit.drop_count = 1;
    (void)must_commit(store, &edit);
    edit.revision = 3;
    edit.entries_through = 0;
    must_refuse(PDR_ECONFLICT, "completion_changed", store, &edit);
    suite_close(store);
}

TEST(store_drop, refuses_while_entries_have_the_id)
{
    const pdr_completion drop = {.correlation_id = S("c-1"), .at_ms = NOW + 1};
    const pdr_entry entry = {.correlation_id = S("c-1"), .body = S("{}")};
    pdr_store *store = suite_open();
    pdr_edit edit = EDIT("trip", 2);

    make_turns(store, "trip", 2);
    edit.drop = &drop;
    edit.drop_count = 1;
    must_refuse(PDR_EINVALID, "bad_edit", store, &edit);
    edit.entries_through = 3; /* one of its two */
    must_refuse(PDR_EINVALID, "bad_edit", store, &edit);
    edit.entries_through = 4;
    edit.entries = &entry;
    edit.entry_count = 1;
    must_refuse(PDR_EINVALID, "bad_edit", store, &edit);
    edit.entry_count = 0;
    (void)must_commit(store, &edit);
    suite_close(store);
}

TEST(store_drop, lets_an_id_begin_anew)
{
    const pdr_completion drop = {.correlation_id = S("c-0"), .at_ms = NOW};
    pdr_store *store = suite_open();
    pdr_edit edit = EDIT("trip", 1);

    make_turns(store, "trip", 1);
    edit.entries_through = 2;
    edit.drop = &drop;
    edit.drop_count = 1;
    (void)must_commit(store, &edit);
    const pdr_completion anew = {.correlation_id = S("c-0")};
    pdr_edit work = EDIT("trip", PDR_ANY_REVISION);
    work.completions = &anew;
    work.completion_count = 1;
    (void)must_commit_at(store, &work, NOW + 5);
    ASSERT(head_of(store, "trip").completions == 1);
    suite_close(store);
}

/* --- groups --------------------------------------------------------------- */

TEST(store_cut, sees_what_the_same_group_appended)
{
    const pdr_entry entry = {.correlation_id = S("x"), .body = S("{}")};
    const pdr_completion drop = {.correlation_id = S("x"), .at_ms = NOW};
    pdr_store *store = suite_open();
    pdr_edit edits[3] = {EDIT("trip", 1), EDIT("trip", 2), EDIT("trip", 2)};
    pdr_request requests[3];

    make_turns(store, "trip", 1);
    edits[0].entries = &entry;
    edits[0].entry_count = 1;
    edits[1].entries_through = 9;
    edits[2].entries_through = 3;
    edits[2].drop = &drop;
    edits[2].drop_count = 1;
    for (size_t i = 0; i < 3; i++)
        requests[i] = (pdr_request){
            .edits = &edits[i], .count = 1, .options = {.now_ms = NOW}};
    pdr_store_commit_all(store, requests, 3);
    ASSERT_RC(PDR_OK, requests[0].rc);
    ASSERT_RC(PDR_EINVALID, requests[1].rc);
    ASSERT_RC(PDR_OK, requests[2].rc);
    ASSERT_SIZE(0, rows_of(store, "trip", PDR_READ_ENTRIES));
    ASSERT_SIZE(1, rows_of(store, "trip", PDR_READ_COMPLETIONS));
    suite_close(store);
}

/* --- long sessions -------------------------------------------------------- */

enum { LONG = 3500 };

static void make_long(pdr_store *store, const char *id)
{
    const pdr_work work[] = {{.due_ms = NOW, .kind = S("run"), .body = S("1")}};
    const pdr_property property = {
        .key = S("colour"), .value = S("\"red\""), .match = S("s:red")};
    pdr_edit edit = {.ref = {.id = pdr_str_c(id)}, .revision = 1};

    (void)must_append(store, id, 0, 1, LONG);
    edit.inbox = edit.journal = edit.stream = work;
    edit.inbox_count = edit.journal_count = edit.stream_count = 1;
    edit.properties = &property;
    edit.property_count = 1;
    edit.agent = S("guide");
    edit.frame = S("{}");
    edit.expiry = PDR_EXPIRY_SET;
    edit.expiry_ms = NOW;
    (void)must_commit(store, &edit);
}

static uint64_t unseen(pdr_store *store)
{
    pdr_store_info info;

    ASSERT_RC(PDR_OK, pdr_store_info_get(&info, store, NULL));
    return info.unseen;
}

TEST(store_remove, takes_a_long_session_with_all_its_rows)
{
    pdr_store *store = suite_open();
    uint64_t empty = suite_hash(store);
    pdr_edit edit = EDIT("trip", 2);

    make_long(store, "trip");
    edit.remove = true;
    ASSERT(must_commit(store, &edit).revision == 0);
    ASSERT_INT(0, unseen(store)); /* cleared when the commit returns */
    ASSERT(empty == suite_hash(store));
    pdr_sweep_report report = {9, 9, 9};
    ASSERT_RC(PDR_OK, pdr_store_sweep(&report, store, PDR_NEVER, NULL));
    ASSERT(report.sessions == 0 && report.rows == 0);
    suite_close(store);
}

static pdr_rc cannot_sweep(pdr_store *store, int64_t now_ms,
                           pdr_sweep_report *report, bool *more, pdr_err *err)
{
    (void)store;
    (void)now_ms;
    (void)report;
    *more = true;
    if (err != NULL)
        err->code = PDR_EIO;
    return PDR_EIO;
}

/* As if the process had been killed right behind the commit. */
static const pdr_store_ops *stop_clearing(pdr_store *store)
{
    static pdr_store_ops lame;
    const pdr_store_ops *whole = store->ops;

    lame = *whole;
    lame.sweep = cannot_sweep;
    store->ops = &lame;
    return whole;
}

static void commit_without_clearing(pdr_store *store, const pdr_edit *edit)
{
    const pdr_store_ops *whole = stop_clearing(store);

    (void)must_commit(store, edit);
    store->ops = whole;
}

TEST(store_remove, is_gone_for_readers_before_its_rows_are)
{
    static const pdr_read_what all[] = {PDR_READ_HEAD, PDR_READ_ENTRIES,
                                        PDR_READ_PROPERTIES, PDR_READ_INBOX};
    const pdr_query red = {
        .what = PDR_READ_SESSIONS,
        .filter = {.property = S("colour"), .match = S("s:red")}};
    pdr_store *store = suite_open();
    uint64_t empty = suite_hash(store);
    pdr_edit edit = EDIT("trip", 2);

    make_long(store, "trip");
    ASSERT_SIZE(1, read_all(store, &red, 5, NULL, NULL));
    edit.remove = true;
    commit_without_clearing(store, &edit);
    ASSERT_INT(1, unseen(store));
    ASSERT(empty == suite_hash(store));
    ASSERT_SIZE(0, read_all(store, &red, 5, NULL, NULL));
    for (size_t i = 0; i < COUNT(all); i++) {
        const pdr_query query = {.what = all[i], .ref = {.id = S("trip")}};

        must_not_read(PDR_ENOTFOUND, "no_session", store, &query);
    }
    ASSERT_RC(PDR_OK, pdr_store_verify(NULL, store, NULL, NULL, NULL, NULL));
    pdr_sweep_report report = {9, 9, 9};
    ASSERT_RC(PDR_OK, pdr_store_sweep(&report, store, INT64_MIN, NULL));
    ASSERT(report.sessions == 1 && report.left == 0);
    ASSERT(report.rows == LONG + 5);
    ASSERT_INT(0, unseen(store));
    suite_close(store);
}

TEST(store_remove, lets_a_new_session_stand_there_at_once)
{
    pdr_store *store = suite_open();
    pdr_edit edit = EDIT("trip", 2);

    make_long(store, "trip");
    uint64_t epoch = head_of(store, "trip").epoch;
    edit.remove = true;
    commit_without_clearing(store, &edit);
    make_turns(store, "trip", 2);
    ASSERT(head_of(store, "trip").epoch > epoch);
    struct store_step step = step_of("trip", PDR_STAGE_SHOW, epoch, 0);
    step.show.revision = 2; /* what is cleared takes no rows */
    must_refuse_step(PDR_ENOTFOUND, "no_stage", store, &step);
    ASSERT_RC(PDR_OK, pdr_store_sweep(NULL, store, 0, NULL));
    ASSERT_SIZE(4, rows_of(store, "trip", PDR_READ_ENTRIES));
    suite_close(store);
}

TEST(store_remove, clears_what_an_earlier_one_left)
{
    pdr_store *store = suite_open();
    pdr_edit edit = EDIT("one", 2);

    make_long(store, "one");
    make_long(store, "two");
    edit.remove = true;
    commit_without_clearing(store, &edit);
    edit.ref.id = S("two");
    (void)must_commit(store, &edit);
    ASSERT_INT(0, unseen(store));
    suite_close(store);
}

TEST(store_remove, leaves_what_is_being_staged)
{
    pdr_store *store = suite_open();
    struct store_step step = step_of("new", PDR_STAGE_BEGIN, 0, 0);
    pdr_edit edit = EDIT("trip", 2);

    step.stage.epoch = must_step(store, &step).epoch; /* kept until long ago */
    make_long(store, "trip");
    edit.remove = true;
    (void)must_commit(store, &edit);
    ASSERT_INT(1, unseen(store));
    step.verb = PDR_STAGE_SHOW;
    (void)must_step(store, &step);
    suite_close(store);
}

/* An abandoned stage takes no rows any more, and is cleared at any time. */
TEST(store_abandon, leaves_what_is_not_cleared_at_once_to_a_sweep)
{
    static const pdr_stage_verb verbs[] = {PDR_STAGE_ADD, PDR_STAGE_SHOW,
                                           PDR_STAGE_ABANDON};
    const pdr_entry entry = {.body = S("{}")};
    pdr_store *store = suite_open();
    struct store_step step = step_of("trip", PDR_STAGE_BEGIN, 0, NOW + 1000);

    step.rows.entries = &entry;
    step.rows.entry_count = 1;
    step.stage.epoch = must_step(store, &step).epoch;
    const pdr_store_ops *whole = stop_clearing(store);
    step.verb = PDR_STAGE_ABANDON;
    (void)must_step(store, &step);
    store->ops = whole;
    ASSERT_INT(1, unseen(store));
    for (size_t i = 0; i < COUNT(verbs); i++) {
        step.verb = verbs[i];
        must_refuse_step(PDR_ENOTFOUND, "no_stage", store, &step);
    }
    ASSERT_RC(PDR_OK, pdr_store_verify(NULL, store, NULL, NULL, NULL, NULL));
    pdr_sweep_report report = {9, 9, 9};
    ASSERT_RC(PDR_OK, pdr_store_sweep(&report, store, INT64_MIN, NULL));
    ASSERT(report.sessions == 1 && report.rows == 1 && report.left == 0);
    ASSERT_INT(0, unseen(store));
    suite_close(store);
}

TEST(store_replace, hides_a_long_session_and_takes_its_inbox_over)
{
    const pdr_query due = {.what = PDR_READ_DUE, .now_ms = NOW};
    pdr_store *store = suite_open();
    struct store_step step = step_of("trip", PDR_STAGE_BEGIN, 0, NOW + 1);

    make_long(store, "trip");
    step.stage.epoch = must_step(store, &step).epoch;
    step.verb = PDR_STAGE_SHOW;
    step.show.revision = 2;
    const pdr_store_ops *whole = stop_clearing(store);
    ASSERT(must_step(store, &step).revision == 3);
    store->ops = whole;
    ASSERT_INT(1, unseen(store));
    ASSERT_SIZE(0, rows_of(store, "trip", PDR_READ_ENTRIES));
    ASSERT_SIZE(1, rows_of(store, "trip", PDR_READ_INBOX));
    ASSERT_SIZE(1, read_all(store, &due, 5, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_store_verify(NULL, store, NULL, NULL, NULL, NULL));
    pdr_sweep_report report = {9, 9, 9};
    ASSERT_RC(PDR_OK, pdr_store_sweep(&report, store, INT64_MIN, NULL));
    ASSERT(report.sessions == 1 && report.rows == LONG + 4);
    ASSERT_SIZE(1, rows_of(store, "trip", PDR_READ_INBOX));
    suite_close(store);
}

TEST(store_remove, takes_many_long_sessions_in_one_group)
{
    pdr_store *store = suite_open();
    pdr_edit edits[3] = {EDIT("one", 2), EDIT("two", 9), EDIT("three", 2)};
    pdr_request requests[3];

    make_long(store, "one");
    make_long(store, "two");
    make_long(store, "three");
    for (size_t i = 0; i < 3; i++) {
        edits[i].remove = true;
        requests[i] = (pdr_request){
            .edits = &edits[i], .count = 1, .options = {.now_ms = NOW}};
    }
    pdr_store_commit_all(store, requests, 3);
    ASSERT_RC(PDR_OK, requests[0].rc);
    ASSERT_RC(PDR_ECONFLICT, requests[1].rc);
    ASSERT_RC(PDR_OK, requests[2].rc);
    ASSERT_INT(0, unseen(store));
    ASSERT(!is_there(store, "one") && is_there(store, "two"));
    suite_close(store);
}
