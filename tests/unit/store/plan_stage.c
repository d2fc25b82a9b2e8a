/* What a commit means for sessions that no reader sees, and for what is taken
 * away: stages, cuts, drops, long sessions. */
#include "test.h"

#include "trick_digest.h"

#include "store.h"

#define T(text) pdr_str_c(text)
#define ROOM    4

static pdr_rc no_sweep(pdr_store *store, int64_t now_ms,
                       pdr_sweep_report *report, bool *more, pdr_err *err)
{
    (void)store;
    (void)now_ms;
    (void)report;
    (void)more;
    (void)err;
    return PDR_OK;
}

static const pdr_store_ops can_sweep = {.name = "desk", .sweep = no_sweep};
static const pdr_store_ops cannot_sweep = {.name = "desk"};

/* A plan on a desk: what the library prepares for a backend. */
struct desk {
    pdr_store store;
    struct pdr__seal seal;
    pdr_write write;
    pdr_edit edit;
    pdr_seals seals;
    pdr_plan plan;
    pdr_digest own[ROOM], entries[ROOM];
    uint64_t number;
    pdr_err err;
};

static void desk_begin(struct desk *d)
{
    memset(d, 0, sizeof(*d));
    d->err = (pdr_err)PDR_ERR_INIT;
    d->store.ops = &can_sweep;
    d->write.store = &d->store;
    d->write.seal = &d->seal;
    d->write.now_ms = 1000;
    d->edit.ref.id = T("s1");
    d->seals.entries = (const pdr_digest *)d->own;
    d->plan.edit = &d->edit;
    d->plan.ref = (pdr_ref){T("default"), T("s1")};
    d->plan.seals = &d->seals;
    d->plan.entries = d->entries;
    d->number = 40;
}

static void desk_end(struct desk *d)
{
    pdr__seal_dispose(&d->seal);
}

/* A session that stands there. */
static pdr_head a_head(void)
{
    pdr_head head = {.ref = {T("default"), T("s1")},
                     .kind = T("unstated"),
                     .state = PDR_SESSION_RUNNING,
                     .revision = 7,
                     .commits = 9,
                     .epoch = 3,
                     .expiry_ms = 77,
                     .first_seq = 2,
                     .next_seq = 6,
                     .completions = 5,
                     .journal_first = 3,
                     .journal_next = 6,
                     .stream_first = 1,
                     .stream_next = 4,
                     .inbox = 2,
                     .inbox_next = 9,
                     .lease = {T("w"), 12, 5000}};

    memset(head.anchor, 1, sizeof(head.anchor));
    memset(head.chain, 2, sizeof(head.chain));
    return head;
}

/* One that is being staged. */
static pdr_head a_stage(void)
{
    pdr_head head = {.ref = {T("default"), T("s1")},
                     .kind = T("client"),
                     .state = PDR_SESSION_UNSEEN,
                     .revision = 2,
                     .commits = 2,
                     .epoch = 30,
                     .expiry_ms = PDR_NEVER,
                     .first_seq = 1,
                     .next_seq = 5,
                     .journal_first = 1,
                     .journal_next = 1,
                     .stream_first = 1,
                     .stream_next = 1,
                     .inbox_next = 1,
                     .lease = {{NULL, 0}, 0, 2000}};

    return head;
}

static void set_verb(struct desk *d, pdr_stage_verb verb)
{
    d->plan.stage = verb;
    d->plan.until_ms = 3000;
    d->edit.epoch = verb == PDR_STAGE_BEGIN ? 0 : 30;
}

static pdr_rc begin(struct desk *d, const pdr_head *head)
{
    return pdr_plan_begin(&d->plan, &d->write, head, &d->number, &d->err);
}

static pdr_rc show(struct desk *d, const pdr_head *head)
{
    return pdr_plan_show(&d->plan, &d->write, head, &d->err);
}

static pdr_rc finish(struct desk *d)
{
    return pdr_plan_finish(&d->plan, &d->write, 0, 0, &d->err);
}

/* --- staging ------------------------------------------------------------- */

TEST(plan_stage, begins_with_an_unseen_head_and_a_number)
{
    struct desk d;

    desk_begin(&d);
    set_verb(&d, PDR_STAGE_BEGIN);
    ASSERT_RC(PDR_OK, begin(&d, NULL));
    ASSERT_RC(PDR_OK, finish(&d));
    ASSERT(d.plan.creates && d.plan.unseen && d.plan.changes_head);
    ASSERT(!d.plan.shows && !d.plan.replaces && !d.plan.hides);
    ASSERT_INT(PDR_SESSION_UNSEEN, d.plan.next.state);
    ASSERT_INT(3000, d.plan.next.lease.until_ms);
    ASSERT(d.plan.next.lease.owner.ptr == NULL);
    ASSERT_SIZE(41, d.number);
    ASSERT_SIZE(41, d.plan.committed.epoch);
    ASSERT_SIZE(0, d.plan.committed.fence);
    ASSERT_RC(PDR_OK, pdr_head_check(&d.store, &d.plan.next, NULL));
    desk_end(&d);
}

TEST(plan_stage, is_extended_and_kept_longer)
{
    const pdr_entry rows[2] = {{.body = {"1", 1}}, {.body = {"2", 1}}};
    pdr_head stage = a_stage();
    struct desk d;

    desk_begin(&d);
    set_verb(&d, PDR_STAGE_ADD);
    d.edit.entries = rows;
    d.edit.entry_count = 2;
    ASSERT_RC(PDR_OK, begin(&d, &stage));
    ASSERT_RC(PDR_OK, finish(&d));
    ASSERT(!d.plan.creates && d.plan.unseen && !d.plan.shows);
    ASSERT_INT(PDR_SESSION_UNSEEN, d.plan.next.state);
    ASSERT_INT(3000, d.plan.next.lease.until_ms);
    ASSERT_SIZE(7, d.plan.next.next_seq);
    ASSERT_SIZE(5, d.plan.committed.first_seq);
    ASSERT_SIZE(30, d.plan.committed.epoch);
    ASSERT_SIZE(40, d.number);
    desk_end(&d);
}

static void assert_no_stage(const pdr_head *head)
{
    static const pdr_stage_verb verbs[] = {PDR_STAGE_ADD, PDR_STAGE_SHOW,
                                           PDR_STAGE_ABANDON};
    struct desk d;

    for (size_t i = 0; i < PDR_COUNT(verbs); i++) {
        desk_begin(&d);
        set_verb(&d, verbs[i]);
        ASSERT_RC(PDR_ENOTFOUND, begin(&d, head));
        ASSERT_STR("no_stage", d.err.reason);
        ASSERT_STR("session 's1': nothing is staged under epoch 30; it was "
                   "shown, or cleared when its time was over: stage it again",
                   d.err.message);
        desk_end(&d);
    }
}

TEST(plan_stage, is_refused_where_nothing_is_staged)
{
    pdr_head head = a_stage();

    assert_no_stage(NULL);
    head.state = PDR_SESSION_IDLE;
    assert_no_stage(&head);
    head = a_stage();
    head.epoch = 31;
    assert_no_stage(&head);
    head = a_stage();
    head.ref.id = T("s2");
    assert_no_stage(&head);
    head = a_stage();
    head.ref.tenant = T("t");
    assert_no_stage(&head);
    head = a_stage();
    head.lease.until_ms = INT64_MIN; /* it is being cleared */
    assert_no_stage(&head);
}

TEST(plan_stage, is_no_session_for_an_edit_without_a_verb)
{
    pdr_head stage = a_stage();
    struct desk d;

    desk_begin(&d);
    d.edit.revision = 2;
    ASSERT_RC(PDR_ENOTFOUND, begin(&d, &stage));
    ASSERT_STR("no_session", d.err.reason);
    desk_end(&d);
}

TEST(plan_stage, is_gone_when_it_is_given_up)
{
    pdr_head stage = a_stage();
    struct desk d;

    desk_begin(&d);
    set_verb(&d, PDR_STAGE_ABANDON);
    ASSERT_RC(PDR_OK, begin(&d, &stage));
    ASSERT_RC(PDR_OK, finish(&d));
    ASSERT(d.plan.unseen && d.plan.changes_head && !d.plan.creates);
    ASSERT(!d.plan.shows && !d.plan.removes && !d.plan.hides);
    ASSERT_INT(PDR_SESSION_UNSEEN, d.plan.next.state);
    ASSERT(d.plan.next.lease.until_ms == INT64_MIN);
    ASSERT_SIZE(2, d.plan.next.revision);
    ASSERT_SIZE(40, d.number);
    ASSERT_RC(PDR_OK, pdr_head_check(&d.store, &d.plan.next, NULL));
    desk_end(&d);
}

/* --- showing ------------------------------------------------------------- */

TEST(plan_show, makes_a_session_at_revision_one)
{
    pdr_head stage = a_stage();
    struct desk d;

    desk_begin(&d);
    set_verb(&d, PDR_STAGE_SHOW);
    ASSERT_RC(PDR_OK, begin(&d, &stage));
    ASSERT_RC(PDR_OK, show(&d, NULL));
    ASSERT_RC(PDR_OK, finish(&d));
    const pdr_head *next = &d.plan.next;
    ASSERT(d.plan.shows && !d.plan.unseen && !d.plan.replaces);
    ASSERT(!d.plan.creates && !d.plan.hides);
    ASSERT_INT(PDR_SESSION_IDLE, next->state);
    ASSERT_SIZE(1, next->revision);
    ASSERT_SIZE(1, next->commits);
    ASSERT_SIZE(30, next->epoch);
    ASSERT_INT(1000, next->changed_ms);
    ASSERT_INT(0, next->lease.until_ms);
    ASSERT_INT(PDR_NEVER, next->expiry_ms);
    ASSERT_SIZE(1, d.plan.committed.revision);
    desk_end(&d);
}

TEST(plan_show, goes_on_where_the_old_session_stood)
{
    pdr_head stage = a_stage(), old = a_head();
    struct desk d;

    desk_begin(&d);
    set_verb(&d, PDR_STAGE_SHOW);
    d.edit.revision = 7;
    d.edit.lease.fence = 12;
    d.edit.set_state = true;
    d.edit.state = PDR_SESSION_WAITING;
    for (int again = 0; again < 2; again++) { /* a group may run again */
        ASSERT_RC(PDR_OK, begin(&d, &stage));
        ASSERT_RC(PDR_OK, show(&d, &old));
        ASSERT_RC(PDR_OK, finish(&d));
    }
    const pdr_head *next = &d.plan.next;
    ASSERT(d.plan.replaces && !d.plan.hides);
    ASSERT_SIZE(3, d.plan.replaced.epoch);
    ASSERT_INT(PDR_SESSION_WAITING, next->state);
    ASSERT_SIZE(8, next->revision);
    ASSERT_SIZE(10, next->commits);
    ASSERT_SIZE(6, next->journal_first);
    ASSERT_SIZE(6, next->journal_next);
    ASSERT_SIZE(4, next->stream_first);
    ASSERT_SIZE(4, next->stream_next);
    ASSERT_SIZE(2, next->inbox);
    ASSERT_SIZE(9, next->inbox_next);
    ASSERT_INT(77, next->expiry_ms);
    ASSERT(next->lease.owner.ptr == NULL);
    ASSERT_SIZE(12, next->lease.fence);
    ASSERT_SIZE(6, d.plan.committed.journal_n);
    ASSERT_SIZE(4, d.plan.committed.stream_n);
    ASSERT_SIZE(9, d.plan.committed.inbox_n);
    ASSERT_SIZE(0, d.plan.committed.fence);
    desk_end(&d);
}

TEST(plan_show, keeps_the_expiry_that_it_sets)
{
    pdr_head stage = a_stage(), old = a_head();
    struct desk d;

    desk_begin(&d);
    set_verb(&d, PDR_STAGE_SHOW);
    d.edit.revision = PDR_ANY_REVISION;
    d.edit.expiry = PDR_EXPIRY_CLEAR;
    ASSERT_RC(PDR_OK, begin(&d, &stage));
    ASSERT_RC(PDR_OK, show(&d, &old));
    ASSERT_INT(PDR_NEVER, d.plan.next.expiry_ms);
    desk_end(&d);
}

static void assert_not_shown(uint64_t revision, uint64_t fence,
                             const pdr_head *old, pdr_rc rc, const char *reason)
{
    pdr_head stage = a_stage();
    struct desk d;

    desk_begin(&d);
    set_verb(&d, PDR_STAGE_SHOW);
    d.edit.revision = revision;
    d.edit.lease.fence = fence;
    ASSERT_RC(PDR_OK, begin(&d, &stage));
    ASSERT_RC(rc, show(&d, old));
    ASSERT_STR(reason, d.err.reason);
    desk_end(&d);
}

TEST(plan_show, is_bound_by_what_stands_there)
{
    pdr_head old = a_head();

    assert_not_shown(0, 0, &old, PDR_EEXISTS, "session_exists");
    assert_not_shown(6, 0, &old, PDR_ECONFLICT, "revision_changed");
    assert_not_shown(7, 11, &old, PDR_EFENCED, "lease_lost");
    assert_not_shown(7, 0, NULL, PDR_ENOTFOUND, "no_session");
    assert_not_shown(PDR_ANY_REVISION, 0, NULL, PDR_ENOTFOUND, "no_session");
    assert_not_shown(0, 12, NULL, PDR_EFENCED, "lease_lost");
}

/* --- long sessions ------------------------------------------------------- */

static pdr_head a_long_head(void)
{
    pdr_head head = a_head();

    head.next_seq = 2 + PDR_REMOVE_ROWS;
    return head;
}

TEST(plan_remove, hides_a_session_with_many_rows)
{
    pdr_head head = a_long_head();
    struct desk d;

    desk_begin(&d);
    d.edit.revision = 7;
    d.edit.remove = true;
    ASSERT_RC(PDR_OK, begin(&d, &head));
    ASSERT_RC(PDR_OK, finish(&d));
    ASSERT(d.plan.removes && d.plan.hides);
    ASSERT_INT(PDR_SESSION_UNSEEN, d.plan.gone.state);
    ASSERT(d.plan.gone.lease.until_ms == INT64_MIN);
    ASSERT(d.plan.gone.lease.owner.ptr == NULL);
    ASSERT_SIZE(3, d.plan.gone.epoch);
    ASSERT_SIZE(2, d.plan.gone.inbox);
    ASSERT_RC(PDR_OK, pdr_head_check(&d.store, &d.plan.gone, NULL));
    ASSERT_SIZE(0, d.plan.committed.revision);
    desk_end(&d);
}

/* Every kind of row counts, and the last that goes at once is the thousandth.
 */
TEST(plan_remove, takes_few_rows_at_once)
{
    pdr_head head = {.ref = {T("default"), T("s1")},
                     .revision = 7,
                     .first_seq = 5,
                     .next_seq = 5 + 400,
                     .completions = 100,
                     .slots = 100,
                     .properties = 100,
                     .journal_first = 7,
                     .journal_next = 107,
                     .stream_first = 3,
                     .stream_next = 103,
                     .inbox = 100,
                     .inbox_next = 200};
    struct desk d;

    desk_begin(&d);
    d.edit.revision = 7;
    d.edit.remove = true;
    ASSERT_RC(PDR_OK, begin(&d, &head));
    ASSERT(d.plan.removes && !d.plan.hides);
    head.inbox++;
    ASSERT_RC(PDR_OK, begin(&d, &head));
    ASSERT(d.plan.hides);
    d.store.ops = &cannot_sweep; /* then they all go at once */
    ASSERT_RC(PDR_OK, begin(&d, &head));
    ASSERT(!d.plan.hides);
    d.store.ops = NULL;
    ASSERT_RC(PDR_OK, begin(&d, &head));
    ASSERT(!d.plan.hides);
    desk_end(&d);
}

TEST(plan_show, hides_an_old_session_with_many_rows)
{
    pdr_head stage = a_stage(), old = a_long_head();
    struct desk d;

    desk_begin(&d);
    set_verb(&d, PDR_STAGE_SHOW);
    d.edit.revision = 7;
    ASSERT_RC(PDR_OK, begin(&d, &stage));
    ASSERT_RC(PDR_OK, show(&d, &old));
    ASSERT_RC(PDR_OK, finish(&d));
    ASSERT(d.plan.replaces && d.plan.hides && !d.plan.removes);
    ASSERT_SIZE(3, d.plan.gone.epoch);
    ASSERT_SIZE(0, d.plan.gone.inbox); /* went over */
    ASSERT_RC(PDR_OK, pdr_head_check(&d.store, &d.plan.gone, NULL));
    desk_end(&d);
}

/* --- cutting ------------------------------------------------------------- */

TEST(plan_cut, moves_the_beginning_and_the_anchor)
{
    const pdr_entry row = {.body = {"1", 1}};
    pdr_head head = a_head();
    pdr_digest digest;
    struct desk d;

    memset(digest, 9, sizeof(digest));
    desk_begin(&d);
    d.edit.revision = 7;
    d.edit.entries_through = 4;
    d.edit.entries = &row;
    d.edit.entry_count = 1;
    ASSERT_RC(PDR_OK, begin(&d, &head));
    ASSERT(d.plan.cuts);
    pdr_plan_cut(&d.plan, digest);
    ASSERT_RC(PDR_OK, finish(&d));
    ASSERT_SIZE(5, d.plan.next.first_seq);
    ASSERT_SIZE(7, d.plan.next.next_seq);
    assert_memory_equal(digest, d.plan.next.anchor, sizeof(digest));
    assert_memory_equal(d.entries[0], d.plan.next.chain, sizeof(digest));
    ASSERT_SIZE(6, d.plan.committed.first_seq);
    ASSERT_SIZE(8, d.plan.next.revision);
    desk_end(&d);
}

/* A head that counts no entry any more must agree with itself, whatever a row
 * said. */
TEST(plan_cut, takes_the_chain_as_anchor_when_all_go)
{
    pdr_head head = a_head();
    pdr_digest damaged;
    struct desk d;

    memset(damaged, 9, sizeof(damaged));
    desk_begin(&d);
    d.edit.revision = 7;
    d.edit.entries_through = 5;
    ASSERT_RC(PDR_OK, begin(&d, &head));
    pdr_plan_cut(&d.plan, damaged);
    ASSERT_SIZE(6, d.plan.next.first_seq);
    assert_memory_equal(head.chain, d.plan.next.anchor, sizeof(damaged));
    desk_end(&d);
}

TEST(plan_cut, knows_what_is_gone_and_what_is_not_there)
{
    pdr_head head = a_head();
    struct desk d;

    desk_begin(&d);
    d.edit.revision = 7;
    d.edit.entries_through = 1;
    ASSERT_RC(PDR_OK, begin(&d, &head));
    ASSERT(!d.plan.cuts);
    ASSERT_SIZE(8, d.plan.next.revision);
    ASSERT_SIZE(2, d.plan.next.first_seq);
    d.edit.entries_through = 6;
    ASSERT_RC(PDR_EINVALID, begin(&d, &head));
    ASSERT_STR("bad_edit", d.err.reason);
    ASSERT_STR("session 's1': entries cannot be removed through 6, the next "
               "one is 6",
               d.err.message);
    desk_end(&d);
}

/* --- dropping ------------------------------------------------------------ */

static void assert_drop(pdr_rc rc, const char *reason, int64_t at_ms,
                        const pdr_completion *known, uint64_t through)
{
    const pdr_completion drop = {.correlation_id = T("c"), .at_ms = at_ms};
    pdr_head head = a_head();
    struct desk d;

    desk_begin(&d);
    d.edit.revision = 7;
    d.edit.drop = &drop;
    d.edit.drop_count = 1;
    d.edit.entries_through = through;
    ASSERT_RC(PDR_OK, begin(&d, &head));
    ASSERT(d.plan.changes_head);
    ASSERT_RC(rc, pdr_plan_drop(&d.plan, 0, known, &d.err));
    if (rc != PDR_OK)
        ASSERT_STR(reason, d.err.reason);
    ASSERT_SIZE(rc == PDR_OK ? 4 : 5, d.plan.next.completions);
    desk_end(&d);
}

TEST(plan_drop, takes_a_completion_as_it_was_read)
{
    pdr_completion known = {.correlation_id = T("c"), .at_ms = 50};

    assert_drop(PDR_OK, NULL, 50, &known, 0);
    assert_drop(PDR_ECONFLICT, "completion_changed", 51, &known, 0);
    assert_drop(PDR_ECONFLICT, "completion_changed", 50, NULL, 0);
}

TEST(plan_drop, leaves_a_completion_to_its_entries)
{
    pdr_completion known = {.correlation_id = T("c"),
                            .at_ms = 50,
                            .epoch = 3,
                            .first_seq = 1,
                            .last_seq = 3};

    assert_drop(PDR_EINVALID, "bad_edit", 50, &known, 0);
    assert_drop(PDR_EINVALID, "bad_edit", 50, &known, 2);
    assert_drop(PDR_OK, NULL, 50, &known, 3);
    known.last_seq = 1; /* cut before */
    assert_drop(PDR_OK, NULL, 50, &known, 0);
}

TEST(plan_drop, finds_a_head_that_counts_no_completion)
{
    const pdr_completion drop = {.correlation_id = T("c"), .at_ms = 50};
    pdr_head head = a_head();
    struct desk d;

    head.completions = 0;
    desk_begin(&d);
    d.edit.revision = 7;
    d.edit.drop = &drop;
    d.edit.drop_count = 1;
    ASSERT_RC(PDR_OK, begin(&d, &head));
    ASSERT_RC(PDR_ECORRUPT, pdr_plan_drop(&d.plan, 0, &drop, &d.err));
    ASSERT_STR("wrong_count", d.err.reason);
    desk_end(&d);
}

/* --- failures ------------------------------------------------------------ */

TEST(plan_finish, fails_if_the_head_that_goes_cannot_be_sealed)
{
    pdr_head head = a_long_head();
    struct desk d;

    desk_begin(&d);
    d.edit.revision = 7;
    d.edit.remove = true;
    ASSERT_RC(PDR_OK, begin(&d, &head));
    trick_digest_fail(1);
    ASSERT(finish(&d) != PDR_OK);
    ASSERT_STR("digest_failed", d.err.reason);
    trick_digest_fail(0);
    desk_end(&d);
}
