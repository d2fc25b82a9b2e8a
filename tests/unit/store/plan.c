/* What a commit means: who may write, and what becomes of the head. */
#include "test.h"

#include "trick_digest.h"

#include "store.h"

#define T(text) pdr_str_c(text)
#define NONE    pdr_str_n(NULL, 0)
#define ROOM    8

/* A plan on a desk: what the library prepares for a backend. */
struct desk {
    pdr_store store;
    struct pdr__seal seal;
    pdr_write write;
    pdr_edit edit;
    pdr_seals seals;
    pdr_plan plan;
    pdr_digest own[ROOM], entries[ROOM], journal[ROOM], stream[ROOM],
        inbox[ROOM];
    pdr_completion asked[ROOM], completions[ROOM];
    uint64_t number; /* the store's counter */
    pdr_err err;
};

static void desk_begin(struct desk *d)
{
    memset(d, 0, sizeof(*d));
    d->err = (pdr_err)PDR_ERR_INIT;
    d->write.store = &d->store;
    d->write.seal = &d->seal;
    d->write.now_ms = 1000;
    d->edit.ref.id = T("s1");
    d->seals.entries = (const pdr_digest *)d->own;
    for (size_t i = 0; i < ROOM; i++)
        memset(d->own[i], (int)i + 1, PDR_DIGEST_BYTES);
    d->plan.edit = &d->edit;
    d->plan.ref = (pdr_ref){T("default"), T("s1")};
    d->plan.seals = &d->seals;
    d->plan.entries = d->entries;
    d->plan.journal = d->journal;
    d->plan.stream = d->stream;
    d->plan.inbox = d->inbox;
    d->plan.asked = d->asked;
    d->plan.completions = d->completions;
}

static void desk_end(struct desk *d)
{
    pdr__seal_dispose(&d->seal);
}

/* A session that a store might hold. */
static pdr_head a_head(void)
{
    return (pdr_head){.ref = {T("default"), T("s1")},
                      .kind = T("unstated"),
                      .revision = 7,
                      .commits = 9,
                      .epoch = 3,
                      .created_ms = 10,
                      .changed_ms = 20,
                      .expiry_ms = PDR_NEVER,
                      .first_seq = 2,
                      .next_seq = 6,
                      .slots = 4,
                      .properties = 2,
                      .completions = 5,
                      .journal_first = 3,
                      .journal_next = 6,
                      .stream_first = 1,
                      .stream_next = 1,
                      .inbox = 2,
                      .inbox_next = 9};
}

static pdr_rc begin(struct desk *d, const pdr_head *head)
{
    return pdr_plan_begin(&d->plan, &d->write, head, &d->number, &d->err);
}

static pdr_rc finish(struct desk *d)
{
    return pdr_plan_finish(&d->plan, &d->write, 0, 0, &d->err);
}

/* Plan an edit of a_head() that is let in, to the end. */
static void plan_all(struct desk *d, const pdr_head *head)
{
    ASSERT_RC(PDR_OK, begin(d, head));
    for (size_t k = 0; k < d->plan.completion_count; k++)
        ASSERT_RC(PDR_OK,
                  pdr_plan_known(&d->plan, &d->write, k, NULL, &d->err));
    ASSERT_RC(PDR_OK, finish(d));
}

static void assert_refused(struct desk *d, const pdr_head *head, pdr_rc rc,
                           const char *reason, const char *message)
{
    uint64_t number = d->number;

    ASSERT_RC(rc, begin(d, head));
    ASSERT_STR(reason, d->err.reason);
    ASSERT_STR(message, d->err.message);
    ASSERT_SIZE(number, d->number);
}

/* --- new sessions --------------------------------------------------------- */

TEST(plan_begin, makes_a_head_for_a_new_session)
{
    struct desk d;
    pdr_digest anchor;

    desk_begin(&d);
    d.number = 41;
    d.edit.agent = T("writer");
    d.edit.kind = T("durable");
    d.edit.schema_version = T("1.0.0");
    plan_all(&d, NULL);
    ASSERT(d.plan.creates && d.plan.changes_head && !d.plan.removes);
    ASSERT_SIZE(42, d.number);
    const pdr_head *next = &d.plan.next;
    ASSERT_TEXT("default", next->ref.tenant);
    ASSERT_TEXT("s1", next->ref.id);
    ASSERT_TEXT("writer", next->agent);
    ASSERT_TEXT("durable", next->kind);
    ASSERT_TEXT("1.0.0", next->schema_version);
    ASSERT_SIZE(1, next->revision);
    ASSERT_SIZE(1, next->commits);
    ASSERT_SIZE(42, next->epoch);
    ASSERT_INT(1000, next->created_ms);
    ASSERT_INT(1000, next->changed_ms);
    ASSERT_INT(PDR_NEVER, next->expiry_ms);
    ASSERT_SIZE(1, next->first_seq);
    ASSERT_SIZE(1, next->next_seq);
    ASSERT_SIZE(1, next->journal_first);
    ASSERT_SIZE(1, next->stream_next);
    ASSERT_SIZE(1, next->inbox_next);
    ASSERT(!next->has_frame && next->lease.owner.ptr == NULL);
    ASSERT_RC(PDR_OK, pdr__seal_anchor(anchor, &d.seal, &d.store, &d.plan.ref,
                                       42, NULL));
    assert_memory_equal(anchor, next->anchor, sizeof(anchor));
    assert_memory_equal(anchor, next->chain, sizeof(anchor));
    ASSERT_RC(PDR_OK, pdr_head_check(&d.store, next, NULL));
    ASSERT_SIZE(1, d.plan.committed.revision);
    ASSERT_SIZE(42, d.plan.committed.epoch);
    ASSERT_SIZE(0, d.plan.committed.fence);
    desk_end(&d);
}

TEST(plan_begin, calls_a_session_without_a_kind_unstated)
{
    struct desk d;

    desk_begin(&d);
    d.edit.revision = PDR_ANY_REVISION;
    d.edit.or_create = true;
    plan_all(&d, NULL);
    ASSERT_TEXT("unstated", d.plan.next.kind);
    ASSERT(d.plan.next.agent.ptr == NULL);
    desk_end(&d);
}

TEST(plan_begin, refuses_a_session_that_is_not_there)
{
    static const char message[] =
        "session 's1' is not in the store; to make it, commit with revision 0";
    struct desk d;

    desk_begin(&d);
    d.edit.revision = 3;
    assert_refused(&d, NULL, PDR_ENOTFOUND, "no_session", message);
    d.edit.revision = PDR_ANY_REVISION;
    assert_refused(&d, NULL, PDR_ENOTFOUND, "no_session", message);
    d.edit.revision = 3;
    d.edit.remove = true;
    assert_refused(&d, NULL, PDR_ENOTFOUND, "no_session", message);
    desk_end(&d);
}

TEST(plan_begin, refuses_a_fence_where_no_session_is)
{
    struct desk d;

    desk_begin(&d);
    d.edit.lease.fence = 12;
    assert_refused(&d, NULL, PDR_EFENCED, "lease_lost",
                   "session 's1': nobody holds its lease, the writer has fence "
                   "12; take the lease again");
    desk_end(&d);
}

TEST(plan_begin, gives_a_new_session_and_its_lease_a_number_each)
{
    struct desk d;

    desk_begin(&d);
    d.edit.lease.verb = PDR_LEASE_TAKE;
    d.edit.lease.owner = T("w1");
    d.edit.lease.until_ms = 2000;
    plan_all(&d, NULL);
    ASSERT_SIZE(1, d.plan.next.epoch);
    ASSERT_SIZE(2, d.plan.next.lease.fence);
    ASSERT_SIZE(2, d.plan.committed.fence);
    ASSERT_SIZE(2, d.number);
    desk_end(&d);
}

/* --- who is late ---------------------------------------------------------- */

TEST(plan_begin, refuses_to_make_a_session_twice)
{
    struct desk d;
    pdr_head head = a_head();

    desk_begin(&d);
    assert_refused(&d, &head, PDR_EEXISTS, "session_exists",
                   "session 's1' is in the store already, at revision 7");
    desk_end(&d);
}

TEST(plan_begin, refuses_another_revision_than_the_one_that_was_read)
{
    struct desk d;
    pdr_head head = a_head();

    desk_begin(&d);
    d.edit.revision = 6;
    assert_refused(
        &d, &head, PDR_ECONFLICT, "revision_changed",
        "session 's1': at revision 7, the writer read 6; read it again");
    d.edit.revision = 8;
    assert_refused(
        &d, &head, PDR_ECONFLICT, "revision_changed",
        "session 's1': at revision 7, the writer read 8; read it again");
    d.edit.revision = 7;
    ASSERT_RC(PDR_OK, begin(&d, &head));
    d.edit.revision = PDR_ANY_REVISION;
    ASSERT_RC(PDR_OK, begin(&d, &head));
    desk_end(&d);
}

TEST(plan_begin, refuses_another_epoch_also_at_the_same_revision)
{
    struct desk d;
    pdr_head head = a_head();

    desk_begin(&d);
    d.edit.revision = 7;
    d.edit.epoch = 2;
    assert_refused(&d, &head, PDR_ECONFLICT, "epoch_changed",
                   "session 's1': it was replaced since the writer read it "
                   "(epoch 2, now 3); read it again");
    d.edit.revision = PDR_ANY_REVISION;
    assert_refused(&d, &head, PDR_ECONFLICT, "epoch_changed",
                   "session 's1': it was replaced since the writer read it "
                   "(epoch 2, now 3); read it again");
    d.edit.epoch = 3;
    ASSERT_RC(PDR_OK, begin(&d, &head));
    desk_end(&d);
}

TEST(plan_begin, refuses_a_fence_that_does_not_hold_the_lease)
{
    struct desk d;
    pdr_head head = a_head();

    desk_begin(&d);
    head.lease = (pdr_lease){T("w2"), 20, 5000};
    d.edit.revision = 7;
    d.edit.lease.fence = 19;
    assert_refused(&d, &head, PDR_EFENCED, "lease_lost",
                   "session 's1': the lease went on to fence 20, the writer "
                   "has 19; take the lease again");
    d.edit.lease.fence = 20;
    ASSERT_RC(PDR_OK, begin(&d, &head));
    head.lease.owner = NONE; /* released: its fence is as good as lost */
    assert_refused(&d, &head, PDR_EFENCED, "lease_lost",
                   "session 's1': nobody holds its lease, the writer has fence "
                   "20; take the lease again");
    desk_end(&d);
}

/* Who lost the lease need not look at revisions any more. */
TEST(plan_begin, tells_of_the_lease_first)
{
    struct desk d;
    pdr_head head = a_head();

    desk_begin(&d);
    d.edit.revision = 6;
    d.edit.epoch = 2;
    d.edit.lease.fence = 1;
    ASSERT_RC(PDR_EFENCED, begin(&d, &head));
    desk_end(&d);
}

TEST(plan_begin, binds_a_writer_without_a_lease_by_the_revision_alone)
{
    struct desk d;
    pdr_head head = a_head();

    desk_begin(&d);
    head.lease = (pdr_lease){T("w2"), 20, 5000};
    d.edit.revision = 7;
    d.edit.set_state = true;
    plan_all(&d, &head);
    ASSERT_SIZE(8, d.plan.next.revision);
    ASSERT_TEXT("w2", d.plan.next.lease.owner);
    desk_end(&d);
}

/* --- leases --------------------------------------------------------------- */

static void ask_lease(struct desk *d, pdr_lease_verb verb, uint64_t fence,
                      int64_t now_ms, int64_t until_ms)
{
    d->edit.revision = PDR_ANY_REVISION;
    d->edit.lease.verb = verb;
    d->edit.lease.owner = T("w9");
    d->edit.lease.fence = fence;
    d->edit.lease.until_ms = until_ms;
    d->write.now_ms = now_ms;
}

TEST(plan_lease, is_taken_when_nobody_holds_it)
{
    struct desk d;
    pdr_head head = a_head();

    desk_begin(&d);
    d.number = 50;
    head.lease.fence = 11; /* of somebody who released it */
    ask_lease(&d, PDR_LEASE_TAKE, 0, 1000, 4000);
    plan_all(&d, &head);
    ASSERT_TEXT("w9", d.plan.next.lease.owner);
    ASSERT_SIZE(51, d.plan.next.lease.fence);
    ASSERT_INT(4000, d.plan.next.lease.until_ms);
    ASSERT_SIZE(51, d.plan.committed.fence);
    ASSERT_SIZE(7, d.plan.next.revision);
    ASSERT_SIZE(10, d.plan.next.commits);
    ASSERT_INT(20, d.plan.next.changed_ms);
    desk_end(&d);
}

TEST(plan_lease, is_refused_while_another_one_holds_it)
{
    struct desk d;
    pdr_head head = a_head();

    desk_begin(&d);
    head.lease = (pdr_lease){T("w2"), 20, 5000};
    ask_lease(&d, PDR_LEASE_TAKE, 0, 4999, 9000);
    assert_refused(&d, &head, PDR_EBUSY, "lease_held",
                   "session 's1': 'w2' holds the lease for another 1 ms");
    ask_lease(&d, PDR_LEASE_TAKE, 0, INT64_MIN, 9000);
    head.lease.until_ms = PDR_NEVER;
    assert_refused(&d, &head, PDR_EBUSY, "lease_held",
                   "session 's1': 'w2' holds the lease for another "
                   "18446744073709551615 ms");
    ask_lease(&d, PDR_LEASE_TAKE, 0, -1, 9000);
    head.lease.until_ms = 0;
    assert_refused(&d, &head, PDR_EBUSY, "lease_held",
                   "session 's1': 'w2' holds the lease for another 1 ms");
    desk_end(&d);
}

TEST(plan_lease, can_be_taken_from_the_moment_it_lapses)
{
    struct desk d;
    pdr_head head = a_head();

    desk_begin(&d);
    d.number = 20;
    head.lease = (pdr_lease){T("w2"), 20, 5000};
    ask_lease(&d, PDR_LEASE_TAKE, 0, 5000, 6000);
    plan_all(&d, &head);
    ASSERT_SIZE(21, d.plan.next.lease.fence);
    desk_end(&d);
}

TEST(plan_lease, is_renewed_by_its_holder_also_after_it_lapsed)
{
    struct desk d;
    pdr_head head = a_head();

    desk_begin(&d);
    d.number = 20;
    head.lease = (pdr_lease){T("w2"), 20, 5000};
    ask_lease(&d, PDR_LEASE_RENEW, 20, 99000, 99500);
    plan_all(&d, &head);
    ASSERT_TEXT("w2", d.plan.next.lease.owner);
    ASSERT_SIZE(20, d.plan.next.lease.fence);
    ASSERT_INT(99500, d.plan.next.lease.until_ms);
    ASSERT_SIZE(20, d.number);
    desk_end(&d);
}

TEST(plan_lease, is_released_by_its_holder)
{
    struct desk d;
    pdr_head head = a_head();

    desk_begin(&d);
    head.lease = (pdr_lease){T("w2"), 20, 5000};
    ask_lease(&d, PDR_LEASE_RELEASE, 20, 1000, 77);
    plan_all(&d, &head);
    ASSERT(d.plan.next.lease.owner.ptr == NULL);
    ASSERT_SIZE(20, d.plan.next.lease.fence);
    ASSERT_INT(0, d.plan.next.lease.until_ms);
    ASSERT_SIZE(0, d.plan.committed.fence);
    desk_end(&d);
}

/* Carry one plan out, as a store would: its next head is what is there. */
static pdr_rc step(struct desk *d, pdr_head *head, pdr_lease_verb verb,
                   uint64_t fence, int64_t now_ms)
{
    pdr_rc rc = PDR_OK;

    ask_lease(d, verb, fence, now_ms, now_ms + 1000);
    rc = begin(d, head);
    if (rc == PDR_OK)
        rc = finish(d);
    if (rc == PDR_OK)
        *head = d->plan.next;
    return rc;
}

/* The clock jumps to and fro; whatever it says, of two who hold a fence only
 * the last one writes. */
TEST(plan_lease, never_has_two_holders_whatever_the_clock_says)
{
    struct desk d;
    pdr_head head = a_head();

    desk_begin(&d);
    ASSERT_RC(PDR_OK, step(&d, &head, PDR_LEASE_TAKE, 0, 1000));
    ASSERT_SIZE(1, head.lease.fence);
    /* Back by an hour: it holds for longer, and nobody is harmed. */
    ASSERT_RC(PDR_EBUSY, step(&d, &head, PDR_LEASE_TAKE, 0, -3600000));
    ASSERT_RC(PDR_OK, step(&d, &head, PDR_LEASE_KEEP, 1, -3600000));
    /* Forward by a year: somebody takes it, the first one is out. */
    ASSERT_RC(PDR_OK, step(&d, &head, PDR_LEASE_TAKE, 0, 31536000000));
    ASSERT_SIZE(2, head.lease.fence);
    ASSERT_RC(PDR_EFENCED, step(&d, &head, PDR_LEASE_RENEW, 1, 1100));
    ASSERT_RC(PDR_EFENCED, step(&d, &head, PDR_LEASE_RELEASE, 1, 1100));
    ASSERT_RC(PDR_EFENCED, step(&d, &head, PDR_LEASE_KEEP, 1, 1100));
    ASSERT_RC(PDR_OK, step(&d, &head, PDR_LEASE_RENEW, 2, 1100));
    /* Released and taken again: an old fence never comes back. */
    ASSERT_RC(PDR_OK, step(&d, &head, PDR_LEASE_RELEASE, 2, 1100));
    ASSERT_RC(PDR_EFENCED, step(&d, &head, PDR_LEASE_KEEP, 2, 1100));
    ASSERT_RC(PDR_OK, step(&d, &head, PDR_LEASE_TAKE, 0, 1100));
    ASSERT_SIZE(3, head.lease.fence);
    ASSERT_RC(PDR_EFENCED, step(&d, &head, PDR_LEASE_KEEP, 2, 1100));
    desk_end(&d);
}

TEST(plan_lease, refuses_a_verb_that_there_is_not)
{
    struct desk d;
    pdr_head head = a_head();

    desk_begin(&d);
    ask_lease(&d, (pdr_lease_verb)17, 0, 0, 0);
    assert_refused(&d, &head, PDR_EINVALID, "bad_edit",
                   "17 is no verb for a lease");
    desk_end(&d);
}

/* --- the head ------------------------------------------------------------- */

TEST(plan_finish, moves_state_expiry_and_frame)
{
    struct desk d;
    pdr_head head = a_head();

    desk_begin(&d);
    d.edit.revision = 7;
    d.edit.set_state = true;
    d.edit.state = PDR_SESSION_RUNNING;
    d.edit.expiry = PDR_EXPIRY_SET;
    d.edit.expiry_ms = -7;
    d.edit.frame = T("{}");
    d.write.now_ms = -1;
    plan_all(&d, &head);
    ASSERT_INT(PDR_SESSION_RUNNING, d.plan.next.state);
    ASSERT_INT(-7, d.plan.next.expiry_ms);
    ASSERT(d.plan.next.has_frame);
    ASSERT_INT(-1, d.plan.next.changed_ms);
    ASSERT_INT(10, d.plan.next.created_ms);
    ASSERT_SIZE(8, d.plan.committed.revision);
    head = d.plan.next;
    d.edit = (pdr_edit){.revision = 8, .expiry = PDR_EXPIRY_CLEAR};
    plan_all(&d, &head);
    ASSERT_INT(PDR_NEVER, d.plan.next.expiry_ms);
    ASSERT_INT(PDR_SESSION_RUNNING, d.plan.next.state);
    desk_end(&d);
}

/* What moves the revision, one by one. */
TEST(edit_moves, says_what_changes_the_session)
{
    static const pdr_edit moving[] = {{.set_state = true},
                                      {.expiry = PDR_EXPIRY_SET},
                                      {.frame = {"", 0}},
                                      {.entry_count = 1},
                                      {.slot_count = 1},
                                      {.property_count = 1},
                                      {.expiry = PDR_EXPIRY_CLEAR},
                                      {.set_ttl = true}};
    static const pdr_edit others[] = {
        {.revision = 1},         {.lease.verb = PDR_LEASE_TAKE},
        {.completion_count = 1}, {.journal_through = 1},
        {.stream_through = 1},   {.settle_count = 1},
        {.journal_count = 1},    {.stream_count = 1},
        {.inbox_count = 1},      {.inbox_most = 1},
        {.remove = true}};

    for (size_t i = 0; i < PDR_COUNT(moving); i++)
        ASSERT(pdr__edit_moves(&moving[i]));
    for (size_t i = 0; i < PDR_COUNT(others); i++)
        ASSERT(!pdr__edit_moves(&others[i]));
}

TEST(plan_finish, counts_a_commit_for_whatever_it_touches)
{
    static const uint64_t one[] = {1};
    pdr_work work = {.kind = T("k"), .body = T("1")};
    const pdr_edit touching[] = {
        {.journal_through = 1},
        {.stream_through = 1},
        {.settle = one, .settle_count = 1},
        {.journal = &work, .journal_count = 1},
        {.stream = &work, .stream_count = 1},
        {.inbox = &work, .inbox_count = 1},
    };
    struct desk d;
    pdr_head head = a_head();

    desk_begin(&d);
    for (size_t i = 0; i < PDR_COUNT(touching); i++) {
        d.edit = touching[i];
        d.edit.revision = PDR_ANY_REVISION;
        plan_all(&d, &head);
        ASSERT(d.plan.changes_head);
        ASSERT_SIZE(10, d.plan.next.commits);
        ASSERT_SIZE(7, d.plan.next.revision);
        ASSERT_INT(20, d.plan.next.changed_ms);
    }
    desk_end(&d);
}

TEST(plan_finish, leaves_the_head_alone_when_an_edit_only_asks)
{
    struct desk d;
    pdr_head head = a_head();

    desk_begin(&d);
    ASSERT_RC(PDR_OK,
              pdr__seal_head(head.digest, &d.seal, &d.store, &head, NULL));
    d.edit.revision = 7;
    plan_all(&d, &head);
    ASSERT(!d.plan.changes_head && !d.plan.creates);
    assert_memory_equal(&head, &d.plan.next, sizeof(head));
    ASSERT_SIZE(7, d.plan.committed.revision);
    desk_end(&d);
}

TEST(plan_finish, tells_nothing_of_a_session_that_goes)
{
    struct desk d;
    pdr_head head = a_head();
    pdr_committed nothing = {0};

    desk_begin(&d);
    head.lease = (pdr_lease){T("w2"), 20, 5000};
    memset(&d.plan.committed, 0xFF, sizeof(d.plan.committed));
    d.edit.revision = 7;
    d.edit.remove = true;
    plan_all(&d, &head);
    ASSERT(d.plan.removes && !d.plan.creates);
    assert_memory_equal(&nothing, &d.plan.committed, sizeof(nothing));
    desk_end(&d);
}

struct list_case {
    uint64_t through;
    size_t added;
    uint64_t first, next;
};

/* A list that holds 3, 4 and 5. */
TEST(plan_finish, moves_both_ends_of_a_list)
{
    static const struct list_case cases[] = {{0, 0, 3, 6},
                                             {2, 0, 3, 6},
                                             {3, 0, 4, 6},
                                             {5, 0, 6, 6},
                                             {6, 0, 6, 6},
                                             {UINT64_MAX, 0, 6, 6},
                                             {0, 2, 3, 8},
                                             {4, 1, 5, 7},
                                             {5, 3, 6, 9},
                                             {UINT64_MAX, 3, 6, 9},
                                             {UINT64_MAX - 1, 1, 6, 7}};
    pdr_work rows[3];
    struct desk d;

    desk_begin(&d);
    for (size_t i = 0; i < PDR_COUNT(rows); i++)
        rows[i] = (pdr_work){.kind = T("k"), .body = T("1")};
    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        const struct list_case *c = &cases[i];
        pdr_head head = a_head();

        head.stream_first = 3;
        head.stream_next = 6;
        d.edit = (pdr_edit){.revision = PDR_ANY_REVISION,
                            .journal_through = c->through,
                            .journal = rows,
                            .journal_count = c->added,
                            .stream_through = c->through,
                            .stream = rows,
                            .stream_count = c->added};
        plan_all(&d, &head);
        ASSERT_SIZE(c->first, d.plan.next.journal_first);
        ASSERT_SIZE(c->next, d.plan.next.journal_next);
        ASSERT_SIZE(c->first, d.plan.next.stream_first);
        ASSERT_SIZE(c->next, d.plan.next.stream_next);
        ASSERT_SIZE(6, d.plan.committed.journal_n);
        ASSERT_SIZE(6, d.plan.committed.stream_n);
    }
    desk_end(&d);
}

/* --- rows ----------------------------------------------------------------- */

TEST(plan_begin, chains_entries_behind_the_last_one)
{
    struct desk d;
    pdr_head head = a_head();
    pdr_entry entries[3];
    pdr_digest chain;

    desk_begin(&d);
    memset(entries, 0, sizeof(entries));
    memset(head.chain, 0xCC, sizeof(head.chain));
    memcpy(chain, head.chain, sizeof(chain));
    d.edit.revision = 7;
    d.edit.entries = entries;
    d.edit.entry_count = 3;
    plan_all(&d, &head);
    for (size_t i = 0; i < 3; i++) {
        ASSERT_RC(PDR_OK, pdr__seal_link(chain, &d.seal, &d.store, chain,
                                         d.own[i], 3, 6 + i, NULL));
        assert_memory_equal(chain, d.entries[i], sizeof(chain));
    }
    assert_memory_equal(chain, d.plan.next.chain, sizeof(chain));
    ASSERT_SIZE(9, d.plan.next.next_seq);
    ASSERT_SIZE(2, d.plan.next.first_seq);
    ASSERT_SIZE(6, d.plan.committed.first_seq);
    desk_end(&d);
}

TEST(plan_begin, numbers_and_seals_work)
{
    struct desk d;
    pdr_head head = a_head();
    pdr_work rows[2] = {{.kind = T("k"), .body = T("1"), .due_ms = 5},
                        {.kind = T("k"), .body = T("2"), .due_ms = -5}};
    const struct {
        pdr_part part;
        const pdr_digest *digests;
        uint64_t n;
    } lists[] = {{PDR_PART_JOURNAL, (const pdr_digest *)d.journal, 6},
                 {PDR_PART_STREAM, (const pdr_digest *)d.stream, 1},
                 {PDR_PART_INBOX, (const pdr_digest *)d.inbox, 9}};

    desk_begin(&d);
    d.edit = (pdr_edit){.revision = PDR_ANY_REVISION,
                        .journal = rows,
                        .journal_count = 2,
                        .stream = rows,
                        .stream_count = 2,
                        .inbox = rows,
                        .inbox_count = 2};
    plan_all(&d, &head);
    for (size_t i = 0; i < PDR_COUNT(lists); i++) {
        for (size_t k = 0; k < 2; k++) {
            pdr_work row = rows[k];
            pdr_digest wanted;

            if (lists[i].part != PDR_PART_INBOX)
                row.due_ms = PDR_NEVER; /* whatever the caller left there */
            ASSERT_RC(PDR_OK, pdr__seal_work(wanted, &d.seal, &d.store,
                                             &d.plan.ref, lists[i].part,
                                             lists[i].n + k, &row, NULL));
            assert_memory_equal(wanted, lists[i].digests[k], sizeof(wanted));
        }
    }
    ASSERT_SIZE(9, d.plan.committed.inbox_n);
    ASSERT_SIZE(11, d.plan.next.inbox_next);
    ASSERT_SIZE(4, d.plan.next.inbox);
    desk_end(&d);
}

TEST(plan_begin, refuses_to_settle_what_was_not_given_yet)
{
    static const uint64_t numbers[] = {8, 9, UINT64_MAX};
    pdr_work work = {.kind = T("k"), .body = T("1")};
    struct desk d;
    pdr_head head = a_head();

    desk_begin(&d);
    d.edit = (pdr_edit){.revision = PDR_ANY_REVISION,
                        .settle = numbers,
                        .settle_count = 1,
                        .inbox = &work,
                        .inbox_count = 1};
    ASSERT_RC(PDR_OK, begin(&d, &head));
    d.edit.settle_count = 2;
    assert_refused(&d, &head, PDR_ECONFLICT, "not_in_inbox",
                   "session 's1': inbox row 9 is not there; somebody else "
                   "settled it");
    d.edit.settle++;
    d.edit.settle_count = 1;
    ASSERT_RC(PDR_ECONFLICT, begin(&d, &head));
    d.edit.settle++;
    ASSERT_RC(PDR_ECONFLICT, begin(&d, &head));
    d.edit.revision = 0;
    d.edit.settle = (const uint64_t[]){1};
    ASSERT_RC(PDR_ECONFLICT, begin(&d, NULL));
    ASSERT_SIZE(0, d.number);
    desk_end(&d);
}

/* --- counts --------------------------------------------------------------- */

static pdr_rc finish_with(struct desk *d, int64_t slots, int64_t properties)
{
    pdr_head head = a_head();

    ASSERT_RC(PDR_OK, begin(d, &head));
    return pdr_plan_finish(&d->plan, &d->write, slots, properties, &d->err);
}

TEST(plan_finish, counts_slots_properties_and_the_inbox)
{
    static const uint64_t settled[] = {1, 2};
    struct desk d;

    desk_begin(&d);
    d.edit.revision = PDR_ANY_REVISION;
    d.edit.settle = settled;
    d.edit.settle_count = 2;
    ASSERT_RC(PDR_OK, finish_with(&d, 3, -2));
    ASSERT_SIZE(7, d.plan.next.slots);
    ASSERT_SIZE(0, d.plan.next.properties);
    ASSERT_SIZE(0, d.plan.next.inbox);
    ASSERT_RC(PDR_OK, finish_with(&d, -4, 0));
    ASSERT_SIZE(0, d.plan.next.slots);
    desk_end(&d);
}

TEST(plan_finish, refuses_counts_below_zero)
{
    static const uint64_t settled[] = {1, 2, 3};
    struct desk d;

    desk_begin(&d);
    d.edit.revision = PDR_ANY_REVISION;
    ASSERT_RC(PDR_ECORRUPT, finish_with(&d, -5, 0));
    ASSERT_STR("wrong_count", d.err.reason);
    ASSERT_STR("session 's1': its head counts 4 slots, and 5 of them were "
               "removed; verify the store and restore a backup",
               d.err.message);
    ASSERT_RC(PDR_ECORRUPT, finish_with(&d, INT64_MIN, 0));
    ASSERT_RC(PDR_ECORRUPT, finish_with(&d, 0, -3));
    ASSERT_STR("session 's1': its head counts 2 properties, and 3 of them were "
               "removed; verify the store and restore a backup",
               d.err.message);
    d.edit.settle = settled;
    d.edit.settle_count = 3;
    ASSERT_RC(PDR_ECORRUPT, finish_with(&d, 0, 0));
    ASSERT_STR("session 's1': its head counts 2 inbox rows, and 3 of them were "
               "removed; verify the store and restore a backup",
               d.err.message);
    desk_end(&d);
}

TEST(plan_finish, refuses_too_many_slots_and_properties)
{
    struct desk d;
    const int64_t slots = PDR_MAX_SLOTS - 4,
                  properties = PDR_MAX_PROPERTIES - 2;

    desk_begin(&d);
    d.edit.revision = PDR_ANY_REVISION;
    ASSERT_RC(PDR_OK, finish_with(&d, slots, properties));
    ASSERT_RC(PDR_ELIMIT, finish_with(&d, slots + 1, 0));
    ASSERT_STR("too_many_slots", d.err.reason);
    ASSERT_STR("a session has at most 100000 slots, this would be 100001",
               d.err.message);
    ASSERT_RC(PDR_ELIMIT, finish_with(&d, 0, properties + 1));
    ASSERT_STR("too_many_properties", d.err.reason);
    ASSERT_STR("a session has at most 1000 properties, this would be 1001",
               d.err.message);
    desk_end(&d);
}

/* One that came from a store with other limits can still get smaller. */
TEST(plan_finish, lets_a_bag_that_is_too_large_shrink)
{
    struct desk d;
    pdr_head head = a_head();

    desk_begin(&d);
    head.slots = PDR_MAX_SLOTS + 10;
    head.properties = PDR_MAX_PROPERTIES + 10;
    d.edit.revision = PDR_ANY_REVISION;
    ASSERT_RC(PDR_OK, begin(&d, &head));
    ASSERT_RC(PDR_OK, pdr_plan_finish(&d.plan, &d.write, -1, 0, &d.err));
    ASSERT_RC(PDR_OK, begin(&d, &head));
    ASSERT_RC(PDR_OK, pdr_plan_finish(&d.plan, &d.write, 0, -1, &d.err));
    desk_end(&d);
}

TEST(plan_begin, refuses_rows_that_an_inbox_has_no_room_for)
{
    static const pdr_work rows[3];
    struct desk d;
    const pdr_head head = a_head();

    desk_begin(&d);
    d.edit.revision = PDR_ANY_REVISION;
    d.edit.inbox = rows;
    d.edit.inbox_count = 3;
    d.edit.inbox_most = 4;
    assert_refused(&d, &head, PDR_ELIMIT, "inbox_full",
                   "session 's1': its inbox may have 4 rows, and this would be "
                   "5; send again later");
    d.edit.inbox_most = 5;
    plan_all(&d, &head);
    ASSERT_SIZE(5, d.plan.next.inbox);
    desk_end(&d);
}

/* --- completions ---------------------------------------------------------- */

/* Ask for one completion: named by the edit (`outcome` or none), or noted
 * because of entries 2 to 3 of the edit. */
static void ask(struct desk *d, bool named, pdr_str outcome, bool has_entries)
{
    static pdr_completion row;
    static pdr_entry entries[3];

    memset(&row, 0, sizeof(row));
    row.correlation_id = T("c1");
    row.outcome = outcome;
    d->edit.revision = 7;
    d->edit.completions = named ? &row : NULL;
    d->edit.completion_count = named ? 1 : 0;
    d->edit.entries = entries;
    d->edit.entry_count = has_entries ? 3 : 0;
    d->asked[0] = row;
    d->asked[0].first_seq = has_entries ? 2 : 0;
    d->asked[0].last_seq = has_entries ? 3 : 0;
    d->plan.completion_count = 1;
}

/* What the plan makes of a row that is there. */
static pdr_rc known(struct desk *d, const pdr_completion *row)
{
    pdr_head head = a_head();

    ASSERT_RC(PDR_OK, begin(d, &head));
    return pdr_plan_known(&d->plan, &d->write, 0, row, &d->err);
}

static void assert_places(const pdr_completion *row, uint64_t epoch,
                          uint64_t first, uint64_t last)
{
    ASSERT_SIZE(epoch, row->epoch);
    ASSERT_SIZE(first, row->first_seq);
    ASSERT_SIZE(last, row->last_seq);
}

TEST(plan_known, makes_a_row_for_an_id_that_is_new)
{
    struct desk d;
    const pdr_completion *row = d.completions;

    desk_begin(&d);
    ask(&d, true, NONE, false);
    ASSERT_RC(PDR_OK, known(&d, NULL));
    ASSERT_TEXT("c1", row->correlation_id);
    ASSERT(row->outcome.ptr == NULL && row->fingerprint.ptr == NULL);
    ASSERT_INT(1000, row->at_ms);
    assert_places(row, 0, 0, 0);
    ASSERT_SIZE(6, d.plan.next.completions);
    ASSERT_RC(PDR_OK, pdr_completion_check(&d.store, &d.plan.ref, row, NULL));
    ask(&d, true, T("{}"), false);
    ASSERT_RC(PDR_OK, known(&d, NULL));
    ASSERT_TEXT("{}", row->outcome);
    ask(&d, true, T("{}"), true);
    ASSERT_RC(PDR_OK, known(&d, NULL));
    assert_places(row, 3, 7, 8);
    ask(&d, false, NONE, true);
    ASSERT_RC(PDR_OK, known(&d, NULL));
    assert_places(row, 3, 7, 8);
    ASSERT_RC(PDR_OK, pdr_completion_check(&d.store, &d.plan.ref, row, NULL));
    desk_end(&d);
}

TEST(plan_known, ends_what_was_begun)
{
    struct desk d;
    const pdr_completion *row = d.completions;
    pdr_completion there = {.correlation_id = T("c1"),
                            .fingerprint = T("f1"),
                            .at_ms = 5,
                            .epoch = 3,
                            .first_seq = 4,
                            .last_seq = 5};

    desk_begin(&d);
    ask(&d, true, T("{}"), false);
    ASSERT_RC(PDR_OK, known(&d, &there));
    ASSERT_TEXT("{}", row->outcome);
    ASSERT_TEXT("f1", row->fingerprint);
    assert_places(row, 3, 4, 5);
    ASSERT_SIZE(5, d.plan.next.completions); /* it was counted before */
    ask(&d, true, T("{}"), true);
    d.asked[0].fingerprint = T("f2");
    ASSERT_RC(PDR_OK, known(&d, &there));
    ASSERT_TEXT("f2", row->fingerprint);
    assert_places(row, 3, 4, 8);
    desk_end(&d);
}

TEST(plan_known, extends_what_has_not_ended)
{
    struct desk d;
    const pdr_completion *row = d.completions;
    pdr_completion there = {.correlation_id = T("c1"),
                            .fingerprint = T("f1"),
                            .epoch = 3,
                            .first_seq = 4,
                            .last_seq = 5};

    desk_begin(&d);
    ask(&d, false, NONE, true);
    ASSERT_RC(PDR_OK, known(&d, &there));
    ASSERT_TEXT("f1", row->fingerprint);
    ASSERT(row->outcome.ptr == NULL);
    assert_places(row, 3, 4, 8);
    there.epoch = 2; /* its entries were of a state that was replaced */
    ASSERT_RC(PDR_OK, known(&d, &there));
    assert_places(row, 3, 7, 8);
    there.epoch = there.first_seq = there.last_seq = 0; /* it had none */
    ASSERT_RC(PDR_OK, known(&d, &there));
    assert_places(row, 3, 7, 8);
    desk_end(&d);
}

TEST(plan_known, refuses_what_was_begun_twice)
{
    struct desk d;
    pdr_completion there = {.correlation_id = T("c1")};

    desk_begin(&d);
    ask(&d, true, NONE, false);
    ASSERT_RC(PDR_EEXISTS, known(&d, &there));
    ASSERT_STR("completion_exists", d.err.reason);
    ASSERT_STR("correlation id 'c1' is known already, and has not ended",
               d.err.message);
    ask(&d, true, NONE, true);
    ASSERT_RC(PDR_EEXISTS, known(&d, &there));
    desk_end(&d);
}

/* I4 */
TEST(plan_known, never_ends_anything_twice)
{
    static const struct {
        bool has_outcome, has_entries;
    } cases[] = {{true, false}, {false, false}, {true, true}, {false, true}};
    struct desk d;
    pdr_completion there = {.correlation_id = T("c1"), .outcome = T("{}")};

    desk_begin(&d);
    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        ask(&d, true, cases[i].has_outcome ? T("[]") : NONE,
            cases[i].has_entries);
        ASSERT_RC(PDR_EEXISTS, known(&d, &there));
        ASSERT_STR("correlation id 'c1' is known already, and has ended",
                   d.err.message);
    }
    desk_end(&d);
}

TEST(plan_known, keeps_the_outcome_when_entries_come_later)
{
    struct desk d;
    pdr_completion there = {.correlation_id = T("c1"), .outcome = T("{}")};

    desk_begin(&d);
    ask(&d, false, NONE, true);
    ASSERT_RC(PDR_OK, known(&d, &there));
    ASSERT_TEXT("{}", d.completions[0].outcome);
    assert_places(&d.completions[0], 3, 7, 8);
    desk_end(&d);
}

/* --- again ---------------------------------------------------------------- */

/* I5: a group that is run again gives the same rows. */
TEST(plan, gives_the_same_when_it_is_run_again)
{
    static const uint64_t settled[] = {1};
    struct desk d, first;
    pdr_head head = a_head();
    pdr_completion there = {.correlation_id = T("c1"), .fingerprint = T("f")};
    pdr_work work = {.kind = T("k"), .body = T("1")};

    desk_begin(&d);
    ask(&d, true, T("{}"), true);
    d.edit.lease.verb = PDR_LEASE_TAKE;
    d.edit.lease.owner = T("w9");
    d.edit.journal = d.edit.inbox = &work;
    d.edit.journal_count = d.edit.inbox_count = 1;
    d.edit.journal_through = 4;
    d.edit.settle = settled;
    d.edit.settle_count = 1;
    for (int i = 0; i < 3; i++) {
        d.number = 60;
        ASSERT_RC(PDR_OK, begin(&d, &head));
        ASSERT_RC(PDR_OK, pdr_plan_known(&d.plan, &d.write, 0, &there, &d.err));
        ASSERT_RC(PDR_OK, pdr_plan_finish(&d.plan, &d.write, 1, 1, &d.err));
        if (i == 0)
            memcpy(&first, &d, sizeof(d));
        ASSERT_SIZE(first.number, d.number);
        assert_memory_equal(&first.plan, &d.plan, sizeof(d.plan));
        assert_memory_equal(first.entries, d.entries, sizeof(d.entries));
        assert_memory_equal(first.journal, d.journal, sizeof(d.journal));
        assert_memory_equal(first.inbox, d.inbox, sizeof(d.inbox));
        assert_memory_equal(first.completions, d.completions,
                            sizeof(d.completions));
        /* In between it is refused, or ends half-way. */
        head.revision++;
        ASSERT_RC(PDR_ECONFLICT, begin(&d, &head));
        head.revision--;
        ASSERT_RC(PDR_ENOTFOUND, begin(&d, NULL));
        ASSERT_RC(PDR_OK, begin(&d, &head));
    }
    desk_end(&d);
}

/* A backend may keep the head that it found where the plan has its copy. */
TEST(plan_begin, takes_a_head_that_stands_in_the_plan)
{
    struct desk d;

    desk_begin(&d);
    d.edit.revision = 7;
    d.edit.set_state = true;
    d.plan.now = a_head();
    plan_all(&d, &d.plan.now);
    ASSERT_SIZE(7, d.plan.now.revision);
    ASSERT_SIZE(8, d.plan.next.revision);
    desk_end(&d);
}

/* --- refusals and checks for backends ------------------------------------- */

TEST(plan_not_in_inbox, names_session_and_row)
{
    struct desk d;

    desk_begin(&d);
    ASSERT_RC(PDR_ECONFLICT, pdr_plan_not_in_inbox(&d.plan, 12, &d.err));
    ASSERT_STR("not_in_inbox", d.err.reason);
    ASSERT_STR("session 's1': inbox row 12 is not there; somebody else settled "
               "it",
               d.err.message);
    desk_end(&d);
}

TEST(head_check, finds_a_head_that_does_not_fit)
{
    struct desk d;
    pdr_head head = a_head();

    desk_begin(&d);
    ASSERT_RC(PDR_OK,
              pdr__seal_head(head.digest, &d.seal, &d.store, &head, NULL));
    ASSERT_RC(PDR_OK, pdr_head_check(&d.store, &head, &d.err));
    head.revision++;
    ASSERT_RC(PDR_ECORRUPT, pdr_head_check(&d.store, &head, &d.err));
    ASSERT_STR("bad_digest", d.err.reason);
    ASSERT_STR("session 's1': its head does not fit its digest; verify the "
               "store and restore a backup",
               d.err.message);
    head.revision--;
    head.digest[31] ^= 1;
    ASSERT_RC(PDR_ECORRUPT, pdr_head_check(&d.store, &head, NULL));
    trick_digest_fail(1);
    ASSERT_RC(PDR_EIO, pdr_head_check(&d.store, &head, &d.err));
    desk_end(&d);
}

TEST(completion_check, finds_a_row_that_does_not_fit)
{
    struct desk d;
    pdr_completion row = {.correlation_id = T("c1"), .outcome = T("{}")};

    desk_begin(&d);
    ASSERT_RC(PDR_OK, pdr__seal_completion(row.digest, &d.seal, &d.store,
                                           &d.plan.ref, &row, NULL));
    ASSERT_RC(PDR_OK,
              pdr_completion_check(&d.store, &d.plan.ref, &row, &d.err));
    row.last_seq++;
    ASSERT_RC(PDR_ECORRUPT,
              pdr_completion_check(&d.store, &d.plan.ref, &row, &d.err));
    ASSERT_STR("bad_digest", d.err.reason);
    ASSERT_STR("completion 'c1' does not fit its digest; verify the store and "
               "restore a backup",
               d.err.message);
    trick_digest_fail(1);
    ASSERT_RC(PDR_EIO,
              pdr_completion_check(&d.store, &d.plan.ref, &row, &d.err));
    desk_end(&d);
}

/* A file can be made so: no row may come of it that nobody can read. */
TEST(plan_begin, refuses_a_counter_that_is_at_its_end)
{
    struct desk d;
    pdr_head head = a_head(), sound = head;
    pdr_entry entry = {.body = T("1")};
    pdr_work work = {.kind = T("k"), .body = T("1")};
    uint64_t *const counters[] = {&head.revision,    &head.commits,
                                  &head.next_seq,    &head.journal_next,
                                  &head.stream_next, &head.inbox_next};

    desk_begin(&d);
    d.edit.entries = &entry;
    d.edit.entry_count = 1;
    d.edit.journal = d.edit.stream = d.edit.inbox = &work;
    d.edit.journal_count = d.edit.stream_count = d.edit.inbox_count = 1;
    for (size_t i = 0; i < PDR_COUNT(counters); i++) {
        for (uint64_t less = 0; less < 2; less++) {
            head = sound;
            *counters[i] = INT64_MAX - less;
            d.edit.revision = head.revision;
            ASSERT_RC(less == 0 ? PDR_ELIMIT : PDR_OK, begin(&d, &head));
            ASSERT(less != 0 || strcmp(d.err.reason, "counter_limit") == 0);
        }
    }
    d.number = INT64_MAX; /* of the store, for a new session */
    d.edit.revision = 0;
    ASSERT_RC(PDR_ELIMIT, begin(&d, NULL));
    ASSERT(d.number == INT64_MAX);
    desk_end(&d);
}

/* Whatever fails, it can be run again. */
TEST(plan, passes_on_that_a_digest_fails_at_any_step)
{
    struct desk d;
    pdr_head head = a_head();
    pdr_work work = {.kind = T("k"), .body = T("1")};
    size_t failures = 0;
    bool failed = true;

    desk_begin(&d);
    ask(&d, true, T("{}"), true);
    d.edit.journal = d.edit.stream = d.edit.inbox = &work;
    d.edit.journal_count = d.edit.stream_count = d.edit.inbox_count = 1;
    for (size_t n = 1; failed; n++) {
        const pdr_head *from = n % 2 == 0 ? &head : NULL;

        d.edit.revision = from != NULL ? 7 : 0;
        trick_digest_fail((n + 1) / 2);
        pdr_rc rc = begin(&d, from);
        if (rc == PDR_OK)
            rc = pdr_plan_known(&d.plan, &d.write, 0, NULL, &d.err);
        if (rc == PDR_OK)
            rc = finish(&d);
        failed = trick_digest_failed();
        trick_digest_fail(0);
        ASSERT_RC(failed ? PDR_EIO : PDR_OK, rc);
        failures += failed;
    }
    ASSERT(failures >= 2 * 3 * 8);
    desk_end(&d);
}
