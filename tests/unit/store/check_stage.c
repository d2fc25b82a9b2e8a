/* What may stand in a step of a stage, and in an edit that cuts entries or
 * drops completions: each rule with its path. */
#include "test.h"

#include "store.h"
#include "store_step.h"

static pdr_edit edit_at(uint64_t revision)
{
    pdr_edit edit = {.ref = {{NULL, 0}, PDR_LIT("trip-42")},
                     .revision = revision};

    return edit;
}

static struct store_step staging(pdr_stage_verb verb)
{
    return step_of("trip-42", verb, verb == PDR_STAGE_BEGIN ? 0 : 9, 1000);
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

static void good_step(pdr_edit *out, const struct store_step *step)
{
    const pdr_request request = step_request(step, 1);
    size_t bytes = 0;
    pdr_err err = PDR_ERR_INIT;

    if (pdr__step_check(out, &bytes, &request, &err) != PDR_OK)
        fail_msg("refused: %s at %s", err.message, err.path);
    ASSERT(bytes > 0);
}

static void bad_step(const struct store_step *step, const char *path)
{
    const pdr_request request = step_request(step, 1);
    pdr_edit edit;
    size_t bytes = 7;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID, pdr__step_check(&edit, &bytes, &request, &err));
    ASSERT_STR("bad_edit", err.reason);
    ASSERT_STR(path, err.path);
    ASSERT_SIZE(7, bytes);
}

static const pdr_stage_verb verbs[] = {PDR_STAGE_BEGIN, PDR_STAGE_ADD,
                                       PDR_STAGE_SHOW};

static const pdr_entry entry_row = {.body = {"1", 1}};
static const pdr_slot slot_row = {.key = {"k", 1}, .value = {"1", 1}};
static const pdr_property property_row = {.key = {"k", 1}, .value = {"1", 1}};
static const pdr_completion completion_row = {.correlation_id = {"c", 1}};
static const pdr_work work_row = {.kind = {"k", 1}, .body = {"1", 1}};
static const pdr_head a_copy = {.revision = 3,
                                .commits = 4,
                                .first_seq = 1,
                                .next_seq = 2,
                                .journal_first = 1,
                                .journal_next = 1,
                                .stream_first = 1,
                                .stream_next = 1,
                                .inbox_next = 1};

/* --- stages -------------------------------------------------------------- */

TEST(step_check, makes_an_edit_of_all_that_a_stage_is)
{
    for (size_t i = 0; i < PDR_COUNT(verbs); i++) {
        struct store_step step = staging(verbs[i]);
        pdr_edit edit;

        good_step(&edit, &step);
        step.rows = (pdr_rows){.frame = PDR_LIT("{}"),
                               .entries = &entry_row,
                               .entry_count = 1,
                               .slots = &slot_row,
                               .slot_count = 1,
                               .properties = &property_row,
                               .property_count = 1,
                               .completions = &completion_row,
                               .completion_count = 1};
        step.stage.agent = PDR_LIT("a");
        step.stage.kind = PDR_LIT("client");
        step.show.revision = PDR_ANY_REVISION;
        step.show.fence = 3;
        step.show.commits = 4;
        good_step(&edit, &step);
        ASSERT(edit.frame.len == 2 && edit.entries == &entry_row);
        ASSERT(edit.slots == &slot_row && edit.properties == &property_row);
        ASSERT(edit.completions == &completion_row && edit.kind.len == 6);
        ASSERT(edit.entry_count + edit.slot_count + edit.property_count +
                   edit.completion_count ==
               4);
        ASSERT_SIZE(step.stage.epoch, edit.epoch);
        bool shows = verbs[i] == PDR_STAGE_SHOW; /* only then it counts */
        ASSERT(edit.revision == (shows ? PDR_ANY_REVISION : 0));
        ASSERT_SIZE(shows ? 3 : 0, edit.lease.fence);
        ASSERT_SIZE(shows ? 4 : 0, edit.commits);
    }
}

TEST(step_check, leaves_the_rows_of_one_that_is_given_up)
{
    struct store_step step = staging(PDR_STAGE_ABANDON);
    pdr_edit edit;

    step.rows.entries = &entry_row;
    step.rows.entry_count = 1;
    good_step(&edit, &step);
    ASSERT(edit.entries == NULL && edit.entry_count == 0);
}

/* Each row breaks one rule that the types leave open. */
TEST(step_check, refuses_what_cannot_be)
{
    const pdr_head no_head = {.revision = 0};
    const struct {
        const char *path;
        struct store_step step;
    } rows[] = {
#define STEP(step_verb, number)    \
    .verb = PDR_STAGE_##step_verb, \
    .stage = {.ref.id = {"trip-42", 7}, .epoch = (number), .until_ms = 1}
#define COPY(step_verb, number)                                        \
    .verb = PDR_STAGE_##step_verb, .stage = {.ref.id = {"trip-42", 7}, \
                                             .epoch = (number),        \
                                             .until_ms = 1,            \
                                             .origin = &a_copy}
        {"/stage/epoch", {STEP(BEGIN, 1)}},
        {"/stage/epoch", {STEP(ADD, 0)}},
        {"/stage/epoch", {STEP(ABANDON, 0)}},
        {"/stage/revision", {STEP(SHOW, 0), .show = {.revision = 5}}},
        {"/stage/revision",
         {COPY(SHOW, 0), .show = {.revision = PDR_ANY_REVISION}}},
        {"/stage/until_ms",
         {.verb = PDR_STAGE_BEGIN,
          .stage = {.ref.id = {"s", 1}, .until_ms = INT64_MIN}}},
        {"/stage/until_ms",
         {.verb = PDR_STAGE_ADD,
          .stage = {.ref.id = {"s", 1}, .epoch = 9, .until_ms = INT64_MIN}}},
        {"/stage/journal",
         {STEP(ADD, 9), .rows = {.journal = &work_row, .journal_count = 1}}},
        {"/stage/stream",
         {STEP(BEGIN, 0), .rows = {.stream = &work_row, .stream_count = 1}}},
        {"/stage/inbox",
         {STEP(SHOW, 9), .rows = {.inbox = &work_row, .inbox_count = 1}}},
        {"/stage/origin",
         {.verb = PDR_STAGE_BEGIN,
          .stage = {.ref.id = {"s", 1}, .until_ms = 1, .origin = &no_head}}},
        {"/stage/state", {COPY(SHOW, 9), .show = {.set_state = true}}},
        {"/stage/expiry",
         {COPY(SHOW, 9), .show = {.expiry = PDR_EXPIRY_CLEAR}}},
        {"/stage/state",
         {STEP(SHOW, 9),
          .show = {.set_state = true, .state = (pdr_session_state)4}}},
        {"/stage/completions/0/last_seq",
         {COPY(ADD, 9),
          .rows = {.completions =
                       &(const pdr_completion){.correlation_id = {"c", 1},
                                               .first_seq = 1,
                                               .last_seq = 2},
                   .completion_count = 1}}},
        {"/stage/entries", {STEP(ADD, 9), .rows = {.entry_count = 1}}},
        {"/stage/slots/0/key",
         {STEP(ADD, 9), .rows = {.slots = &(const pdr_slot){.key = {NULL, 0}},
                                 .slot_count = 1}}},
#undef COPY
#undef STEP
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++)
        bad_step(&rows[i].step, rows[i].path);
}

TEST(step_check, takes_work_of_a_copy_and_a_time_that_does_not_count)
{
    struct store_step step = staging(PDR_STAGE_ADD);
    pdr_edit edit;

    step.stage.origin = &a_copy;
    step.rows = (pdr_rows){.journal = &work_row,
                           .journal_count = 1,
                           .stream = &work_row,
                           .stream_count = 1,
                           .inbox = &work_row,
                           .inbox_count = 1};
    good_step(&edit, &step);
    ASSERT(edit.journal == &work_row && edit.stream == &work_row &&
           edit.inbox == &work_row);
    step = staging(PDR_STAGE_SHOW);
    step.stage.until_ms = INT64_MIN;
    step.show.set_state = true;
    step.show.expiry = PDR_EXPIRY_CLEAR;
    good_step(&edit, &step);
    step = staging(PDR_STAGE_ABANDON);
    step.stage.until_ms = INT64_MIN;
    good_step(&edit, &step);
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
