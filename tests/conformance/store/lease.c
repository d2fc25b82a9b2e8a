/* Who may write: leases by the caller's clock, fences by the store's counter.
 * A clock that jumps costs time, never safety. */
#include "suite.h"

static pdr_edit take(const char *owner, int64_t until_ms)
{
    pdr_edit edit = EDIT("s", PDR_ANY_REVISION);

    edit.lease.verb = PDR_LEASE_TAKE;
    edit.lease.owner = pdr_str_c(owner);
    edit.lease.until_ms = until_ms;
    return edit;
}

static pdr_edit with_fence(pdr_lease_verb verb, uint64_t fence, int64_t until)
{
    pdr_edit edit = EDIT("s", PDR_ANY_REVISION);

    edit.lease.verb = verb;
    edit.lease.fence = fence;
    edit.lease.until_ms = until;
    return edit;
}

/* Append under the lease: what a worker does. */
static pdr_edit append(uint64_t revision, uint64_t fence)
{
    static const pdr_entry entry[] = {{.body = S_INIT("{}")}};
    pdr_edit edit = EDIT("s", revision);

    edit.lease.fence = fence;
    edit.entries = entry;
    edit.entry_count = 1;
    return edit;
}

static pdr_store *open_with_session(void)
{
    pdr_store *store = suite_open();

    (void)must_create(store, "s");
    return store;
}

/* --- leases --------------------------------------------------------------- */

TEST(lease, is_taken_by_one_and_told_to_all)
{
    pdr_store *store = open_with_session();
    pdr_edit edit = take("worker-1", NOW + 1000);
    pdr_committed done = must_commit(store, &edit);

    ASSERT(done.fence > 0);
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = edit.ref};
    pdr_page *page = must_read(store, &query);
    ASSERT_TEXT("worker-1", page->head.lease.owner);
    ASSERT_INT(done.fence, page->head.lease.fence);
    ASSERT_INT(NOW + 1000, page->head.lease.until_ms);
    pdr_page_free(page);

    edit.lease.owner = S("worker-2");
    must_refuse(PDR_EBUSY, "lease_held", store, &edit);
    must_refuse_at(PDR_EBUSY, "lease_held", store, &edit, NOW + 999);
    suite_close(store);
}

TEST(lease, that_lapsed_can_be_taken_by_another)
{
    pdr_store *store = open_with_session();
    pdr_edit first = take("worker-1", NOW + 1000);
    pdr_edit second = take("worker-2", NOW + 3000);
    uint64_t old = must_commit(store, &first).fence;
    pdr_committed done = must_commit_at(store, &second, NOW + 1000);

    ASSERT(done.fence > old);
    ASSERT_INT(done.fence, head_of(store, "s").lease.fence);
    ASSERT_INT(NOW + 3000, head_of(store, "s").lease.until_ms);
    suite_close(store);
}

TEST(lease, is_renewed_by_its_holder)
{
    pdr_store *store = open_with_session();
    pdr_edit edit = take("worker-1", NOW + 1000);
    uint64_t fence = must_commit(store, &edit).fence;
    pdr_edit renewal = with_fence(PDR_LEASE_RENEW, fence, NOW + 9000);

    ASSERT_INT(fence, must_commit_at(store, &renewal, NOW + 500).fence);
    ASSERT_INT(NOW + 9000, head_of(store, "s").lease.until_ms);
    edit.lease.owner = S("worker-2");
    must_refuse_at(PDR_EBUSY, "lease_held", store, &edit, NOW + 5000);
    suite_close(store);
}

TEST(lease, that_lapsed_and_was_not_taken_can_be_renewed)
{
    pdr_store *store = open_with_session();
    pdr_edit edit = take("worker-1", NOW + 1000);
    uint64_t fence = must_commit(store, &edit).fence;
    pdr_edit renewal = with_fence(PDR_LEASE_RENEW, fence, NOW + 9000);
    pdr_edit work = append(1, fence);

    ASSERT_INT(fence, must_commit_at(store, &renewal, NOW + 5000).fence);
    ASSERT_INT(2, must_commit_at(store, &work, NOW + 5000).revision);
    /* Nor does a lapsed one that nobody took keep its holder from writing. */
    work.revision = 2;
    ASSERT_INT(3, must_commit_at(store, &work, NOW + 99999).revision);
    suite_close(store);
}

TEST(lease, that_was_released_is_free_at_once)
{
    pdr_store *store = open_with_session();
    pdr_edit edit = take("worker-1", NOW + 1000);
    uint64_t fence = must_commit(store, &edit).fence;
    pdr_edit release = with_fence(PDR_LEASE_RELEASE, fence, 0);

    ASSERT_INT(0, must_commit(store, &release).fence);
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = edit.ref};
    pdr_page *page = must_read(store, &query);
    ASSERT(page->head.lease.owner.ptr == NULL);
    ASSERT_INT(fence, page->head.lease.fence); /* of the last one */
    pdr_page_free(page);
    edit.lease.owner = S("worker-2");
    ASSERT(must_commit(store, &edit).fence > fence);
    suite_close(store);
}

TEST(lease, comes_with_the_first_commit_of_a_session)
{
    pdr_store *store = suite_open();
    pdr_edit edit = take("worker-1", NOW + 1000);

    edit.revision = 0;
    pdr_committed done = must_commit(store, &edit);
    ASSERT(done.fence > 0 && done.fence != done.epoch);
    pdr_edit work = append(1, done.fence);
    ASSERT_INT(2, must_commit(store, &work).revision);
    suite_close(store);
}

TEST(lease, verbs_that_lack_what_they_need_are_refused)
{
    pdr_store *store = open_with_session();
    pdr_edit edits[3] = {with_fence(PDR_LEASE_RENEW, 0, NOW + 5),
                         with_fence(PDR_LEASE_RELEASE, 0, 0),
                         take("", NOW + 5)};

    for (size_t i = 0; i < COUNT(edits); i++)
        must_refuse(PDR_EINVALID, "bad_edit", store, &edits[i]);
    suite_close(store);
}

/* --- fences --------------------------------------------------------------- */

TEST(fence, that_is_old_is_refused_whatever_it_asks_for)
{
    pdr_store *store = open_with_session();
    pdr_edit first = take("worker-1", NOW + 1000);
    pdr_edit second = take("worker-2", NOW + 3000);
    uint64_t old = must_commit(store, &first).fence;
    uint64_t now = must_commit_at(store, &second, NOW + 2000).fence;
    pdr_edit edits[5] = {append(1, old),
                         with_fence(PDR_LEASE_RENEW, old, NOW + 9000),
                         with_fence(PDR_LEASE_RELEASE, old, 0),
                         with_fence(PDR_LEASE_KEEP, old, 0), append(1, old)};

    edits[4].entries = NULL;
    edits[4].entry_count = 0;
    edits[4].remove = true;
    for (size_t i = 0; i < COUNT(edits); i++) {
        must_refuse(PDR_EFENCED, "lease_lost", store, &edits[i]);
        must_refuse_at(PDR_EFENCED, "lease_lost", store, &edits[i],
                       NOW + 999999); /* the new one lapsed: no way back */
    }
    pdr_edit work = append(1, now);
    ASSERT_INT(2, must_commit(store, &work).revision);
    suite_close(store);
}

TEST(fence, of_a_lease_that_was_released_is_refused)
{
    pdr_store *store = open_with_session();
    pdr_edit edit = take("worker-1", NOW + 1000);
    uint64_t fence = must_commit(store, &edit).fence;
    pdr_edit release = with_fence(PDR_LEASE_RELEASE, fence, 0);
    pdr_edit work = append(1, fence);

    (void)must_commit(store, &release);
    must_refuse(PDR_EFENCED, "lease_lost", store, &work);
    must_refuse(PDR_EFENCED, "lease_lost", store, &release);
    suite_close(store);
}

TEST(fence, that_was_never_given_is_refused)
{
    pdr_store *store = open_with_session();
    pdr_edit work = append(1, 7);

    must_refuse(PDR_EFENCED, "lease_lost", store, &work);
    pdr_edit edit = take("worker-1", NOW + 1000);
    work.lease.fence = must_commit(store, &edit).fence + 1;
    must_refuse(PDR_EFENCED, "lease_lost", store, &work);
    work.ref.id = S("nobody");
    must_refuse(PDR_EFENCED, "lease_lost", store, &work);
    suite_close(store);
}

TEST(fence, holds_for_its_session_alone)
{
    pdr_store *store = open_with_session();
    pdr_edit edit = take("worker-1", NOW + 1000);
    uint64_t fence = must_commit(store, &edit).fence;

    (void)must_create(store, "t");
    edit.ref.id = S("t");
    uint64_t other = must_commit(store, &edit).fence;
    ASSERT(other > fence); /* over the whole store */
    pdr_edit work = append(1, fence);
    work.ref.id = S("t");
    must_refuse(PDR_EFENCED, "lease_lost", store, &work);
    suite_close(store);
}

TEST(fence, does_not_stand_in_for_the_revision)
{
    pdr_store *store = open_with_session();
    pdr_edit edit = take("worker-1", NOW + 1000);
    uint64_t fence = must_commit(store, &edit).fence;
    pdr_edit work = append(1, fence);

    (void)must_commit(store, &work);
    must_refuse(PDR_ECONFLICT, "revision_changed", store, &work);
    suite_close(store);
}

TEST(fence, is_not_asked_of_a_writer_without_a_lease)
{
    pdr_store *store = open_with_session();
    pdr_edit edit = take("worker-1", NOW + 1000);
    uint64_t fence = must_commit(store, &edit).fence;
    pdr_edit free_writer = append(1, 0), holder = append(1, fence);

    ASSERT_INT(2, must_commit(store, &free_writer).revision);
    must_refuse(PDR_ECONFLICT, "revision_changed", store, &holder);
    holder.revision = 2;
    ASSERT_INT(3, must_commit(store, &holder).revision);
    suite_close(store);
}

TEST(fence, of_a_session_that_was_removed_is_refused_in_the_next_one)
{
    pdr_store *store = open_with_session();
    pdr_edit edit = take("worker-1", NOW + 1000);
    uint64_t old = must_commit(store, &edit).fence;
    pdr_edit removal = EDIT("s", 1);
    removal.remove = true;
    pdr_edit work = append(1, old);

    (void)must_commit(store, &removal);
    must_refuse(PDR_EFENCED, "lease_lost", store, &work);
    (void)must_create(store, "s");
    must_refuse(PDR_EFENCED, "lease_lost", store, &work);
    ASSERT(must_commit(store, &edit).fence > old); /* never used again */
    must_refuse(PDR_EFENCED, "lease_lost", store, &work);
    suite_close(store);
}

/* --- clocks that jump ----------------------------------------------------- */

TEST(clock, that_jumps_forwards_costs_the_lease_and_nothing_else)
{
    pdr_store *store = open_with_session();
    pdr_edit mine = take("worker-1", NOW + 1000);
    uint64_t fence = must_commit(store, &mine).fence;
    /* A machine that believes to be a year ahead takes the lease. */
    int64_t year = INT64_C(365) * 86400000;
    pdr_edit theirs = take("worker-2", NOW + year + 1000);
    uint64_t other = must_commit_at(store, &theirs, NOW + year).fence;
    pdr_edit work = append(1, fence), their_work = append(1, other);

    must_refuse(PDR_EFENCED, "lease_lost", store, &work);
    must_refuse(PDR_EBUSY, "lease_held", store, &mine); /* costs time */
    ASSERT_INT(2, must_commit_at(store, &their_work, NOW + year).revision);
    pdr_edit release = with_fence(PDR_LEASE_RELEASE, other, 0);
    (void)must_commit(store, &release);
    ASSERT(must_commit(store, &mine).fence > other);
    suite_close(store);
}

TEST(clock, that_jumps_backwards_lets_nobody_in)
{
    pdr_store *store = open_with_session();
    pdr_edit mine = take("worker-1", NOW + 1000);
    uint64_t fence = must_commit(store, &mine).fence;
    pdr_edit theirs = take("worker-2", NOW + 2000), work = append(1, fence);

    must_refuse_at(PDR_EBUSY, "lease_held", store, &theirs, NOW - 86400000);
    must_refuse_at(PDR_EBUSY, "lease_held", store, &theirs, 0);
    ASSERT_INT(2, must_commit_at(store, &work, NOW - 86400000).revision);
    ASSERT_INT(NOW - 86400000, head_of(store, "s").changed_ms);
    ASSERT_INT(NOW, head_of(store, "s").created_ms);
    suite_close(store);
}
