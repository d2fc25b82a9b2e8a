/* Sessions are made, changed and removed; who is late changes nothing. */
#include "suite.h"

static const pdr_slot one_slot[] = {
    {.key = S_INIT("note"), .value = S_INIT("1")}};

/* --- making --------------------------------------------------------------- */

TEST(session, begins_with_what_it_was_given)
{
    pdr_store *store = suite_open();
    pdr_edit edit = EDIT("trip", 0);
    edit.agent = S("guide");
    edit.kind = S("durable");
    edit.schema_version = S("1.1.0");
    edit.set_state = true;
    edit.state = PDR_SESSION_WAITING;
    edit.expiry = PDR_EXPIRY_SET;
    edit.expiry_ms = NOW + 60000;

    pdr_committed done = must_commit(store, &edit);
    ASSERT_INT(1, done.revision);
    ASSERT(done.epoch > 0);
    ASSERT_INT(0, done.fence);

    const pdr_query query = {.what = PDR_READ_HEAD, .ref = edit.ref};
    pdr_page *page = must_read(store, &query);
    ASSERT_TEXT("default", page->head.ref.tenant);
    ASSERT_TEXT("trip", page->head.ref.id);
    ASSERT_TEXT("guide", page->head.agent);
    ASSERT_TEXT("durable", page->head.kind);
    ASSERT_TEXT("1.1.0", page->head.schema_version);
    ASSERT_INT(PDR_SESSION_WAITING, page->head.state);
    ASSERT_INT(1, page->head.revision);
    ASSERT_INT(1, page->head.commits);
    ASSERT_INT(done.epoch, page->head.epoch);
    ASSERT_INT(NOW, page->head.created_ms);
    ASSERT_INT(NOW, page->head.changed_ms);
    ASSERT_INT(NOW + 60000, page->head.expiry_ms);
    ASSERT_SIZE(0, page->count);
    ASSERT(page->next.ptr == NULL);
    pdr_page_free(page);
    suite_close(store);
}

TEST(session, begins_empty_if_nothing_was_given)
{
    pdr_store *store = suite_open();
    pdr_committed done = must_create(store, "bare");
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = {.id = S("bare")}};
    pdr_page *page = must_read(store, &query);
    const pdr_head *head = &page->head;

    ASSERT(head->agent.ptr == NULL);
    ASSERT_TEXT("unstated", head->kind);
    ASSERT(head->schema_version.ptr == NULL);
    ASSERT_INT(PDR_SESSION_IDLE, head->state);
    ASSERT(head->expiry_ms == PDR_NEVER);
    ASSERT_INT(head->first_seq, head->next_seq);
    ASSERT_INT(1, head->next_seq);
    ASSERT_INT(0, head->slots + head->properties + head->completions);
    ASSERT_INT(head->journal_first, head->journal_next);
    ASSERT_INT(head->stream_first, head->stream_next);
    ASSERT_INT(0, head->inbox);
    ASSERT(!head->has_frame);
    ASSERT(head->lease.owner.ptr == NULL);
    ASSERT_INT(0, head->lease.fence);
    assert_memory_equal(head->anchor, head->chain, PDR_DIGEST_BYTES);
    ASSERT_INT(done.epoch, head->epoch);
    pdr_page_free(page);
    suite_close(store);
}

TEST(session, is_made_only_once)
{
    pdr_store *store = suite_open();
    pdr_edit edit = EDIT("trip", 0);

    (void)must_commit(store, &edit);
    must_refuse(PDR_EEXISTS, "session_exists", store, &edit);
    edit.slots = one_slot;
    edit.slot_count = 1;
    must_refuse(PDR_EEXISTS, "session_exists", store, &edit);
    suite_close(store);
}

TEST(session, keeps_what_counts_only_when_it_is_made)
{
    pdr_store *store = suite_open();
    pdr_edit edit = EDIT("trip", 0);
    edit.agent = S("guide");
    edit.kind = S("client");
    (void)must_commit(store, &edit);

    edit.revision = 1;
    edit.agent = S("other");
    edit.kind = S("durable");
    edit.set_state = true;
    edit.state = PDR_SESSION_RUNNING;
    ASSERT_INT(2, must_commit_at(store, &edit, NOW + 5).revision);

    const pdr_query query = {.what = PDR_READ_HEAD, .ref = edit.ref};
    pdr_page *page = must_read(store, &query);
    ASSERT_TEXT("guide", page->head.agent);
    ASSERT_TEXT("client", page->head.kind);
    ASSERT_INT(NOW, page->head.created_ms);
    ASSERT_INT(NOW + 5, page->head.changed_ms);
    pdr_page_free(page);
    suite_close(store);
}

/* Made with it or given it later, and then all that could take it away. */
TEST(session, that_was_given_a_ttl_has_one_for_ever)
{
    pdr_store *store = suite_open();
    const pdr_work inbox = {.kind = S("run"), .body = S("1")};
    pdr_edit make = EDIT("made", 0), give = EDIT("given", 1);
    pdr_edit edits[6] = {EDIT("", 0), EDIT("", 0), EDIT("", 0),
                         EDIT("", 0), EDIT("", 0), EDIT("", 0)};

    make.set_ttl = give.set_ttl = true;
    edits[0].expiry = PDR_EXPIRY_SET;
    edits[0].expiry_ms = NOW + 1;
    edits[1].expiry = PDR_EXPIRY_CLEAR;
    edits[2].set_state = true;
    edits[3].slots = one_slot;
    edits[3].slot_count = 1;
    edits[4].frame = S("{}");
    edits[5].inbox = &inbox;
    edits[5].inbox_count = 1;
    (void)must_create(store, "never");
    (void)must_create(store, "given");
    ASSERT(!head_of(store, "given").has_ttl);
    (void)must_commit(store, &make);
    (void)must_commit(store, &give);
    for (size_t i = 0; i < COUNT(edits); i++) {
        static const char *const ids[] = {"never", "given", "made"};

        for (size_t k = 0; k < COUNT(ids); k++) {
            edits[i].ref.id = pdr_str_c(ids[k]);
            edits[i].revision = head_of(store, ids[k]).revision;
            (void)must_commit(store, &edits[i]);
            ASSERT(head_of(store, ids[k]).has_ttl == (k > 0));
        }
    }
    if ((suite_backend.capabilities & PDR_CAN_PERSIST) != 0)
        store = suite_reopen(store);
    ASSERT(head_of(store, "made").has_ttl && head_of(store, "given").has_ttl);
    ASSERT(!head_of(store, "never").has_ttl);
    suite_close(store);
}

/* --- revisions ------------------------------------------------------------ */

TEST(revision, moves_with_each_change_of_the_session)
{
    pdr_store *store = suite_open();
    const pdr_entry entry[] = {{.body = S("{}")}};
    const pdr_property property[] = {{.key = S("k"), .value = S("1")}};
    pdr_edit edits[8] = {EDIT("s", 1), EDIT("s", 2), EDIT("s", 3),
                         EDIT("s", 4), EDIT("s", 5), EDIT("s", 6),
                         EDIT("s", 7), EDIT("s", 8)};

    (void)must_create(store, "s");
    edits[0].set_state = true;
    edits[1].expiry = PDR_EXPIRY_CLEAR;
    edits[2].frame = S("{}");
    edits[3].entries = entry;
    edits[3].entry_count = 1;
    edits[4].slots = one_slot;
    edits[4].slot_count = 1;
    edits[5].properties = property;
    edits[5].property_count = 1;
    edits[6].set_ttl = edits[7].set_ttl = true; /* it had it the second time */
    for (size_t i = 0; i < COUNT(edits); i++) {
        pdr_committed done =
            must_commit_at(store, &edits[i], NOW + (int64_t)i + 1);
        ASSERT_INT(i + 2, done.revision);
        ASSERT_INT(i + 2, head_of(store, "s").revision);
        ASSERT_INT(NOW + (int64_t)i + 1, head_of(store, "s").changed_ms);
    }
    ASSERT_INT(9, head_of(store, "s").commits);
    suite_close(store);
}

TEST(revision, stays_with_work_completions_and_leases)
{
    pdr_store *store = suite_open();
    const pdr_work work[] = {
        {.kind = S("step"), .due_ms = PDR_NEVER, .body = S("1")}};
    const pdr_work inbox[] = {{.kind = S("run"), .due_ms = 0, .body = S("1")}};
    const pdr_completion completion[] = {{.correlation_id = S("c-1")}};
    pdr_edit edits[5] = {EDIT("s", 1), EDIT("s", 1), EDIT("s", 1), EDIT("s", 1),
                         EDIT("s", PDR_ANY_REVISION)};

    (void)must_create(store, "s");
    edits[0].journal = work;
    edits[0].journal_count = 1;
    edits[1].stream = work;
    edits[1].stream_count = 1;
    edits[2].completions = completion;
    edits[2].completion_count = 1;
    edits[3].lease.verb = PDR_LEASE_TAKE;
    edits[3].lease.owner = S("worker");
    edits[3].lease.until_ms = NOW + 1000;
    edits[4].inbox = inbox;
    edits[4].inbox_count = 1;
    for (size_t i = 0; i < COUNT(edits); i++)
        ASSERT_INT(1, must_commit_at(store, &edits[i], NOW + 9).revision);
    pdr_head head = head_of(store, "s");
    ASSERT_INT(1, head.revision);
    ASSERT_INT(6, head.commits);
    ASSERT_INT(NOW, head.changed_ms);
    suite_close(store);
}

TEST(revision, that_is_late_is_a_conflict_that_changes_nothing)
{
    COVERS("S-108");
    pdr_store *store = suite_open();
    pdr_edit edit = EDIT("s", 0);
    edit.slots = one_slot;
    edit.slot_count = 1;

    (void)must_commit(store, &edit);
    edit.revision = 1;
    (void)must_commit(store, &edit);
    must_refuse(PDR_ECONFLICT, "revision_changed", store, &edit);
    edit.revision = 3; /* and one that has not come yet */
    must_refuse(PDR_ECONFLICT, "revision_changed", store, &edit);
    edit.revision = 2;
    ASSERT_INT(3, must_commit(store, &edit).revision);
    suite_close(store);
}

TEST(commits, that_the_writer_does_not_know_of_are_a_conflict)
{
    pdr_store *store = suite_open();
    const pdr_work inbox = {.kind = S("run"), .body = S("1")};
    pdr_edit work = EDIT("s", PDR_ANY_REVISION), edit = EDIT("s", 1);

    (void)must_create(store, "s");
    work.inbox = &inbox;
    work.inbox_count = 1;
    (void)must_commit(store, &work);
    edit.commits = 1;
    edit.remove = true;
    must_refuse(PDR_ECONFLICT, "revision_changed", store, &edit);
    edit.commits = 3;
    must_refuse(PDR_ECONFLICT, "revision_changed", store, &edit);
    edit.commits = 2;
    (void)must_commit(store, &edit);
    ASSERT(!is_there(store, "s"));
    suite_close(store);
}

TEST(revision, lets_one_of_two_writers_through)
{
    pdr_store *store = suite_open();
    const pdr_entry mine[] = {{.body = S("\"mine\"")}};
    const pdr_entry yours[] = {{.body = S("\"yours\"")}};
    pdr_edit a = EDIT("s", 1), b = EDIT("s", 1);

    (void)must_create(store, "s");
    a.entries = mine;
    b.entries = yours;
    a.entry_count = b.entry_count = 1;
    (void)must_commit(store, &b);
    must_refuse(PDR_ECONFLICT, "revision_changed", store, &a);

    const pdr_query query = {.what = PDR_READ_ENTRIES, .ref = a.ref};
    pdr_page *page = must_read(store, &query);
    ASSERT_SIZE(1, page->count);
    ASSERT_TEXT("\"yours\"", page->entries[0].body);
    pdr_page_free(page);
    suite_close(store);
}

TEST(revision, is_checked_also_if_nothing_is_changed)
{
    pdr_store *store = suite_open();
    pdr_edit edit = EDIT("s", 1);

    must_refuse(PDR_ENOTFOUND, "no_session", store, &edit);
    (void)must_create(store, "s");
    uint64_t before = suite_hash(store);
    ASSERT_INT(1, must_commit_at(store, &edit, NOW + 1000).revision);
    ASSERT(before == suite_hash(store));
    edit.revision = 2;
    must_refuse(PDR_ECONFLICT, "revision_changed", store, &edit);
    suite_close(store);
}

TEST(revision, any_is_not_for_who_changes_the_session)
{
    pdr_store *store = suite_open();
    const pdr_entry entry[] = {{.body = S("{}")}};
    pdr_edit edits[6] = {
        EDIT("s", PDR_ANY_REVISION), EDIT("s", PDR_ANY_REVISION),
        EDIT("s", PDR_ANY_REVISION), EDIT("s", PDR_ANY_REVISION),
        EDIT("s", PDR_ANY_REVISION), EDIT("s", PDR_ANY_REVISION)};

    (void)must_create(store, "s");
    edits[0].set_state = true;
    edits[1].expiry = PDR_EXPIRY_CLEAR;
    edits[2].frame = S("{}");
    edits[3].entries = entry;
    edits[3].entry_count = 1;
    edits[4].slots = one_slot;
    edits[4].slot_count = 1;
    edits[5].set_ttl = true;
    for (size_t i = 0; i < COUNT(edits); i++)
        must_refuse(PDR_EINVALID, "bad_edit", store, &edits[i]);
    suite_close(store);
}

TEST(revision, any_makes_a_session_only_if_it_is_told_to)
{
    pdr_store *store = suite_open();
    const pdr_work inbox[] = {{.kind = S("run"), .due_ms = 7, .body = S("1")}};
    pdr_edit edit = EDIT("s", PDR_ANY_REVISION);
    edit.inbox = inbox;
    edit.inbox_count = 1;

    must_refuse(PDR_ENOTFOUND, "no_session", store, &edit);
    edit.or_create = true;
    pdr_committed first = must_commit(store, &edit);
    ASSERT_INT(1, first.revision);
    ASSERT_INT(1, first.inbox_n);
    pdr_committed second = must_commit(store, &edit);
    ASSERT_INT(1, second.revision);
    ASSERT_INT(2, second.inbox_n);
    ASSERT_INT(first.epoch, second.epoch);
    ASSERT_INT(2, head_of(store, "s").inbox);
    suite_close(store);
}

/* --- several sessions ----------------------------------------------------- */

TEST(commit, of_several_sessions_is_done_as_a_whole)
{
    pdr_store *store = suite_open();
    pdr_edit edits[3] = {EDIT("a", 0), EDIT("b", 0), EDIT("c", 0)};
    const pdr_commit_options options = {.now_ms = NOW};
    pdr_committed done[3];
    pdr_err err = PDR_ERR_INIT;

    for (size_t i = 0; i < 3; i++) {
        edits[i].slots = one_slot;
        edits[i].slot_count = 1;
    }
    ASSERT_RC(PDR_OK, pdr_store_commit(done, store, edits, 3, &options, &err));
    for (size_t i = 0; i < 3; i++)
        ASSERT_INT(1, done[i].revision);
    ASSERT(done[0].epoch != done[1].epoch && done[1].epoch != done[2].epoch);

    edits[0].revision = 1; /* one goes on, one goes, one comes */
    edits[1] = (pdr_edit)EDIT("b", 1);
    edits[1].remove = true;
    edits[2] = (pdr_edit)EDIT("d", 0);
    ASSERT_RC(PDR_OK, pdr_store_commit(done, store, edits, 3, &options, &err));
    ASSERT_INT(2, done[0].revision);
    ASSERT_INT(0, done[1].revision);
    ASSERT_INT(1, done[2].revision);
    ASSERT(!is_there(store, "b"));
    ASSERT(is_there(store, "d"));
    suite_close(store);
}

TEST(commit, of_several_sessions_fails_as_a_whole_wherever_it_is_refused)
{
    pdr_store *store = suite_open();

    (void)must_create(store, "a");
    (void)must_create(store, "b");
    for (size_t bad = 0; bad < 3; bad++) {
        pdr_edit edits[3] = {EDIT("a", 1), EDIT("new", 0), EDIT("b", 1)};
        edits[0].slots = one_slot;
        edits[0].slot_count = 1;
        edits[2].remove = true;
        if (bad == 1)
            edits[1].revision = 4; /* there is none */
        else
            edits[bad].revision = 9;
        must_refuse_all(bad == 1 ? PDR_ENOTFOUND : PDR_ECONFLICT,
                        bad == 1 ? "no_session" : "revision_changed", store,
                        edits, 3);
        ASSERT(!is_there(store, "new"));
    }
    suite_close(store);
}

TEST(commit, takes_each_session_once)
{
    pdr_store *store = suite_open();
    pdr_edit edits[2] = {EDIT("a", 0), EDIT("a", 0)};

    must_refuse_all(PDR_EINVALID, "bad_edit", store, edits, 2);
    edits[1].ref.tenant = S("default"); /* the same one by its full name */
    must_refuse_all(PDR_EINVALID, "bad_edit", store, edits, 2);
    edits[1].ref.tenant = S("north");
    pdr_committed done[2];
    const pdr_commit_options options = {.now_ms = NOW};
    ASSERT_RC(PDR_OK, pdr_store_commit(done, store, edits, 2, &options, NULL));
    suite_close(store);
}

TEST(commit, needs_no_room_for_what_it_tells)
{
    pdr_store *store = suite_open();
    const pdr_edit edit = EDIT("a", 0);
    const pdr_commit_options options = {.now_ms = NOW};

    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &options, NULL));
    ASSERT(is_there(store, "a"));
    ASSERT_RC(PDR_EEXISTS,
              pdr_store_commit(NULL, store, &edit, 1, &options, NULL));
    suite_close(store);
}

/* --- removing ------------------------------------------------------------- */

/* Something in every table. */
static void fill(pdr_store *store, const char *id)
{
    const pdr_entry entries[] = {
        {.correlation_id = S("c-1"), .body = S("{\"q\":1}")},
        {.kind = PDR_ROW_RESPONSE,
         .correlation_id = S("c-1"),
         .body = S("{\"a\":2}")}};
    const pdr_property properties[] = {
        {.key = S("topic"), .value = S("\"x\""), .match = S("x")}};
    const pdr_completion completions[] = {
        {.correlation_id = S("c-1"), .outcome = S("{}")}};
    const pdr_work journal[] = {
        {.kind = S("step"), .due_ms = PDR_NEVER, .body = S("1")}};
    const pdr_work inbox[] = {{.kind = S("run"), .due_ms = 5, .body = S("1")}};
    pdr_edit edit = {.ref = {.id = pdr_str_c(id)},
                     .frame = S("{\"v\":1}"),
                     .expiry = PDR_EXPIRY_SET,
                     .expiry_ms = NOW + 1,
                     .slots = one_slot,
                     .slot_count = 1};

    edit.entries = entries;
    edit.entry_count = COUNT(entries);
    edit.properties = properties;
    edit.property_count = 1;
    edit.completions = completions;
    edit.completion_count = 1;
    edit.journal = journal;
    edit.journal_count = 1;
    edit.stream = journal;
    edit.stream_count = 1;
    edit.inbox = inbox;
    edit.inbox_count = 1;
    (void)must_commit(store, &edit);
}

TEST(removal, leaves_no_row_behind)
{
    pdr_store *store = suite_open();
    uint64_t empty = suite_hash(store);
    pdr_edit edit = EDIT("s", 1);
    edit.remove = true;

    fill(store, "s");
    pdr_committed done = must_commit(store, &edit);
    ASSERT_INT(0, done.revision);
    ASSERT(!is_there(store, "s"));
    ASSERT(empty == suite_hash(store)); /* in no list either */
    must_refuse(PDR_ENOTFOUND, "no_session", store, &edit);
    suite_close(store);
}

TEST(removal, spares_other_sessions)
{
    pdr_store *store = suite_open();
    pdr_edit edit = EDIT("b", 1);
    edit.remove = true;

    fill(store, "a");
    fill(store, "c");
    uint64_t without = suite_hash(store);
    fill(store, "b");
    ASSERT(without != suite_hash(store));
    (void)must_commit(store, &edit);
    ASSERT(without == suite_hash(store));
    suite_close(store);
}

TEST(removal, is_bound_by_the_revision)
{
    pdr_store *store = suite_open();
    pdr_edit edit = EDIT("s", 2);
    edit.remove = true;

    fill(store, "s");
    must_refuse(PDR_ECONFLICT, "revision_changed", store, &edit);
    edit.revision = 1;
    edit.epoch = head_of(store, "s").epoch + 1;
    must_refuse(PDR_ECONFLICT, "epoch_changed", store, &edit);
    edit.epoch--;
    (void)must_commit(store, &edit);
    suite_close(store);
}

TEST(removal, goes_with_nothing_else)
{
    pdr_store *store = suite_open();
    pdr_edit edit = EDIT("s", 1);
    edit.remove = true;
    edit.slots = one_slot;
    edit.slot_count = 1;

    (void)must_create(store, "s");
    must_refuse(PDR_EINVALID, "bad_edit", store, &edit);
    edit.slot_count = 0;
    edit.set_ttl = true;
    must_refuse(PDR_EINVALID, "bad_edit", store, &edit);
    suite_close(store);
}

TEST(removal, and_a_new_beginning_are_noticed_by_old_writers)
{
    pdr_store *store = suite_open();
    pdr_edit late = EDIT("s", 1), removal = EDIT("s", 1);
    removal.remove = true;
    late.slots = one_slot;
    late.slot_count = 1;

    pdr_committed old = must_create(store, "s");
    (void)must_commit(store, &removal);
    late.epoch = old.epoch;
    must_refuse(PDR_ENOTFOUND, "no_session", store, &late);

    pdr_committed again = must_create(store, "s");
    ASSERT_INT(1, again.revision); /* the same as the old writer read */
    ASSERT(again.epoch > old.epoch);
    must_refuse(PDR_ECONFLICT, "epoch_changed", store, &late);
    late.epoch = again.epoch;
    ASSERT_INT(2, must_commit(store, &late).revision);
    suite_close(store);
}

TEST(removal, of_nothing_is_refused)
{
    pdr_store *store = suite_open();
    pdr_edit edit = EDIT("s", 0);
    pdr_err err = PDR_ERR_INIT;
    const pdr_commit_options options = {.now_ms = NOW};
    edit.remove = true;

    ASSERT(PDR_OK != pdr_store_commit(NULL, store, &edit, 1, &options, &err));
    ASSERT(!is_there(store, "s"));
    suite_close(store);
}

TEST(commit, that_is_done_is_there_when_the_store_is_opened_again)
{
    pdr_store *store = suite_open();

    if ((suite_backend.capabilities & PDR_CAN_PERSIST) == 0) {
        suite_close(store);
        test_skip("this store forgets");
    }
    fill(store, "a");
    fill(store, "b");
    (void)must_append(store, "a", 1, 0, 3);
    uint64_t before = suite_hash(store);
    pdr_store *again = suite_reopen(store);
    ASSERT(before == suite_hash(again));
    ASSERT_INT(3, must_append(again, "a", 2, 3, 1).revision);
    suite_close(again);
}
