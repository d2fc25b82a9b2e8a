/* What may stand in an edit that stages a session, cuts entries or drops
 * completions: each rule with its path. */
#include "test.h"

#include "store.h"

static pdr_edit edit_at(uint64_t revision)
{
    pdr_edit edit = {.ref = {{NULL, 0}, PDR_LIT("trip-42")},
                     .revision = revision};

    return edit;
}

static pdr_edit staging(pdr_stage_verb verb)
{
    pdr_edit edit = edit_at(verb == PDR_STAGE_ADD ? PDR_ANY_REVISION : 0);

    edit.stage = verb;
    edit.epoch = verb == PDR_STAGE_BEGIN ? 0 : 9;
    edit.lease_until_ms = 1000;
    return edit;
}

static void good(const pdr_edit *edit)
{
    size_t bytes = 0;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr__edits_check(&bytes, edit, 1, &err);

    if (rc != PDR_OK)
        fail_msg("refused: %s at %s", err.message, err.path);
    ASSERT(bytes > 0);
}

static void bad(const pdr_edit *edit, const char *path)
{
    size_t bytes = 7;
    pdr_err err = PDR_ERR_INIT;

    ASSERT(pdr__edits_check(&bytes, edit, 1, &err) != PDR_OK);
    ASSERT_STR("bad_edit", err.reason);
    ASSERT_STR(path, err.path);
    ASSERT_SIZE(7, bytes);
}

static const pdr_stage_verb verbs[] = {PDR_STAGE_BEGIN, PDR_STAGE_ADD,
                                       PDR_STAGE_SHOW};

/* --- stages -------------------------------------------------------------- */

TEST(edits_check, takes_what_a_session_is_while_it_is_staged)
{
    const pdr_entry entry = {.body = {"1", 1}};
    const pdr_slot slot = {.key = {"k", 1}, .value = {"1", 1}};
    const pdr_property property = {.key = {"k", 1}, .value = {"1", 1}};
    const pdr_completion completion = {.correlation_id = {"c", 1}};

    for (size_t i = 0; i < PDR_COUNT(verbs); i++) {
        pdr_edit edit = staging(verbs[i]);

        good(&edit);
        edit.frame = PDR_LIT("{}");
        edit.entries = &entry;
        edit.slots = &slot;
        edit.properties = &property;
        edit.completions = &completion;
        edit.entry_count = edit.slot_count = edit.property_count =
            edit.completion_count = 1;
        edit.agent = PDR_LIT("a");
        edit.kind = PDR_LIT("client");
        good(&edit);
    }
}

TEST(edits_check, names_a_verb_of_stages_that_is_none)
{
    pdr_edit edit = staging(PDR_STAGE_SHOW);

    edit.stage = (pdr_stage_verb)4;
    bad(&edit, "/edits/0/stage");
}

TEST(edits_check, refuses_work_and_leases_for_what_is_staged)
{
    static const uint64_t settle = 1;
    const pdr_work work = {.kind = {"k", 1}, .body = {"1", 1}};
    const pdr_completion drop = {.correlation_id = {"c", 1}};
    static const char *const paths[] = {
        "/edits/0/remove",         "/edits/0/or_create",
        "/edits/0/lease",          "/edits/0/entries_through",
        "/edits/0/drop",           "/edits/0/journal_through",
        "/edits/0/stream_through", "/edits/0/settle",
        "/edits/0/journal",        "/edits/0/stream",
        "/edits/0/inbox",
    };

    for (size_t i = 0; i < PDR_COUNT(verbs); i++) {
        for (size_t way = 0; way < PDR_COUNT(paths); way++) {
            pdr_edit edit = staging(verbs[i]);

            edit.remove = way == 0;
            edit.or_create = way == 1;
            edit.lease = way == 2 ? PDR_LEASE_TAKE : PDR_LEASE_KEEP;
            edit.entries_through = way == 3;
            edit.drop = &drop;
            edit.drop_count = way == 4;
            edit.journal_through = way == 5;
            edit.stream_through = way == 6;
            edit.settle = &settle;
            edit.settle_count = way == 7;
            edit.journal = edit.stream = edit.inbox = &work;
            edit.journal_count = way == 8;
            edit.stream_count = way == 9;
            edit.inbox_count = way == 10;
            bad(&edit, paths[way]);
        }
    }
}

TEST(edits_check, takes_state_expiry_and_fence_when_it_is_shown)
{
    static const char *const paths[] = {"/edits/0/state", "/edits/0/expiry",
                                        "/edits/0/fence", "/edits/0/commits"};

    for (size_t i = 0; i < PDR_COUNT(verbs); i++) {
        for (size_t way = 0; way < PDR_COUNT(paths); way++) {
            pdr_edit edit = staging(verbs[i]);

            edit.set_state = way == 0;
            edit.expiry = way == 1 ? PDR_EXPIRY_CLEAR : PDR_EXPIRY_KEEP;
            edit.fence = way == 2;
            edit.commits = way == 3;
            if (verbs[i] == PDR_STAGE_SHOW)
                good(&edit);
            else
                bad(&edit, paths[way]);
        }
    }
}

TEST(edits_check, wants_the_epoch_of_what_is_staged)
{
    pdr_edit edit = staging(PDR_STAGE_BEGIN);

    edit.epoch = 1;
    bad(&edit, "/edits/0/epoch");
    edit = staging(PDR_STAGE_ADD);
    edit.epoch = 0;
    bad(&edit, "/edits/0/epoch");
    edit = staging(PDR_STAGE_SHOW);
    edit.epoch = 0;
    bad(&edit, "/edits/0/epoch");
}

TEST(edits_check, wants_the_revision_of_what_stands_there_alone)
{
    pdr_edit edit = staging(PDR_STAGE_BEGIN);

    edit.revision = 1;
    bad(&edit, "/edits/0/revision");
    edit.revision = PDR_ANY_REVISION;
    bad(&edit, "/edits/0/revision");
    edit = staging(PDR_STAGE_ADD);
    edit.revision = 0;
    bad(&edit, "/edits/0/revision");
    edit = staging(PDR_STAGE_SHOW);
    edit.revision = 5;
    good(&edit);
    edit.revision = PDR_ANY_REVISION;
    good(&edit);
}

TEST(edits_check, wants_a_time_until_which_a_stage_is_kept)
{
    pdr_edit edit = staging(PDR_STAGE_BEGIN);

    edit.lease_until_ms = INT64_MIN;
    bad(&edit, "/edits/0/lease_until_ms");
    edit = staging(PDR_STAGE_ADD);
    edit.lease_until_ms = INT64_MIN;
    bad(&edit, "/edits/0/lease_until_ms");
    edit = staging(PDR_STAGE_SHOW);
    edit.lease_until_ms = INT64_MIN; /* it does not count */
    good(&edit);
}

/* --- cuts ---------------------------------------------------------------- */

TEST(edits_check, wants_a_revision_for_a_cut)
{
    pdr_edit edit = edit_at(4);

    edit.entries_through = 9;
    good(&edit);
    edit.revision = PDR_ANY_REVISION;
    bad(&edit, "/edits/0/revision");
    edit.revision = 0;
    bad(&edit, "/edits/0/entries_through");
    edit.revision = 4;
    edit.remove = true;
    bad(&edit, "/edits/0/remove");
}

/* --- drops --------------------------------------------------------------- */

TEST(edits_check, takes_completions_to_drop)
{
    static char longest[PDR_MAX_ID_BYTES + 1];
    pdr_completion drop[2] = {{.correlation_id = {"a", 1}},
                              {.correlation_id = {"b", 1}}};
    pdr_edit edit = edit_at(PDR_ANY_REVISION);

    memset(longest, 'x', sizeof(longest));
    edit.drop = drop;
    edit.drop_count = 2;
    good(&edit);
    drop[1].correlation_id = pdr_str_n(longest, PDR_MAX_ID_BYTES);
    good(&edit);
    drop[1].correlation_id = pdr_str_n(longest, PDR_MAX_ID_BYTES + 1);
    bad(&edit, "/edits/0/drop/1/correlation_id");
    drop[1].correlation_id = pdr_str_n("", 0);
    bad(&edit, "/edits/0/drop/1/correlation_id");
    drop[1].correlation_id = pdr_str_n(NULL, 0);
    bad(&edit, "/edits/0/drop/1/correlation_id");
    drop[1].correlation_id = drop[0].correlation_id;
    bad(&edit, "/edits/0/drop/1");
    edit.drop = NULL;
    bad(&edit, "/edits/0/drop");
    edit = edit_at(4);
    edit.remove = true;
    edit.drop = drop;
    edit.drop_count = 1;
    bad(&edit, "/edits/0/remove");
}

TEST(edits_check, refuses_to_drop_what_the_same_edit_writes)
{
    const pdr_completion drop[] = {{.correlation_id = {"a", 1}},
                                   {.correlation_id = {"b", 1}}};
    pdr_entry entries[2] = {{.body = {"1", 1}}, {.body = {"1", 1}}};
    pdr_completion completion = {.correlation_id = {"c", 1}};
    pdr_edit edit = edit_at(4);

    edit.drop = drop;
    edit.drop_count = 2;
    edit.entries = entries;
    edit.entry_count = 2;
    edit.completions = &completion;
    edit.completion_count = 1;
    good(&edit);
    entries[1].correlation_id = PDR_LIT("b");
    bad(&edit, "/edits/0/entries/1/correlation_id");
    entries[1].correlation_id = PDR_LIT("c");
    good(&edit);
    completion.correlation_id = PDR_LIT("a");
    bad(&edit, "/edits/0/completions/0/correlation_id");
}

TEST_OOM(edits_check, of_drops_cleans_up_after_any_failed_allocation)
{
    const pdr_completion drop = {.correlation_id = {"a", 1}};
    const pdr_entry entry = {.correlation_id = {"b", 1}, .body = {"1", 1}};
    pdr_edit edit = edit_at(4);
    size_t bytes = 0;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    edit.drop = &drop;
    edit.drop_count = 1;
    edit.entries = &entry;
    edit.entry_count = 1;
    rc = pdr__edits_check(&bytes, &edit, 1, &err);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
}
