/*
 * Retention while others write, and while calls fail; and random histories
 * against a model.
 */
#include <inttypes.h>

#include <perdure/archive.h>

#include "fault_store.h"
#include "hook_store.h"
#include "past.h"

#define NOW INT64_C(1700000000000)
#define DAY INT64_C(86400000)

static pdr_ref ref_of_s(void)
{
    return (pdr_ref){.id = pdr_str_c("s")};
}

static pdr_retain_opts keep(uint64_t turns)
{
    return (pdr_retain_opts){
        .ref = ref_of_s(), .keep_turns = turns, .now_ms = NOW + 3 * DAY};
}

static pdr_head head_of(pdr_store *store)
{
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = ref_of_s()};
    pdr_page *page = NULL;

    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    pdr_head head = page->head;
    pdr_page_free(page);
    return head;
}

static void check_whole(pdr_store *store)
{
    pdr_err err = PDR_ERR_INIT;

    if (pdr_store_verify(NULL, store, NULL, &err, NULL, NULL) != PDR_OK)
        fail_msg("not whole: %s", err.message);
}

/* --- what others do --------------------------------------------------------
 */

static void must_commit(pdr_store *store, const pdr_edit *edit, int64_t now_ms)
{
    const pdr_commit_options options = {.now_ms = now_ms};
    pdr_err err = PDR_ERR_INIT;

    if (pdr_store_commit(NULL, store, edit, 1, &options, &err) != PDR_OK)
        fail_msg("not committed: %s", err.message);
}

/* Append the entries of a text to what is there. */
static void append(pdr_store *store, const char *text)
{
    struct past past;
    pdr_edit edit = {.ref = ref_of_s(), .revision = head_of(store).revision};

    past_read(&past, text, PDR_ROW_PYTHON);
    edit.entries = past.rows;
    edit.entry_count = past.count;
    must_commit(store, &edit, NOW + 3 * DAY);
    past_dispose(&past);
}

static void cut(pdr_store *store, uint64_t through)
{
    const pdr_edit edit = {.ref = ref_of_s(),
                           .revision = head_of(store).revision,
                           .entries_through = through};

    must_commit(store, &edit, NOW);
}

static void remove_all(pdr_store *store)
{
    const pdr_edit edit = {
        .ref = ref_of_s(), .revision = head_of(store).revision, .remove = true};

    must_commit(store, &edit, NOW);
}

static void fill(pdr_store *store, const char *text)
{
    struct past past;

    past_read(&past, text, PDR_ROW_PYTHON);
    (void)past_commit(store, &past, NOW, 0);
    past_dispose(&past);
}

enum deed {
    APPEND,
    RESPOND,
    ANSWER,
    CUT,
    CUT_LITTLE,
    REPLACE,
    REMOVE,
    COMPLETE,
    FAIL
};

struct other {
    enum deed deed;
    size_t times; /* that it comes first */
    size_t seen;  /* commits that cut or drop */
};

/* What a request did that is repeated under its old correlation id. */
static void complete(pdr_store *store, const pdr_edit *edit)
{
    const pdr_completion row = {.correlation_id = edit->drop[0].correlation_id,
                                .outcome = pdr_str_c("{}")};
    const pdr_edit again = {.ref = ref_of_s(),
                            .revision = PDR_ANY_REVISION,
                            .completions = &row,
                            .completion_count = 1};

    must_commit(store, &again, NOW + 3 * DAY);
}

static pdr_rc do_first(pdr_store *store, const pdr_edit *edit, void *arg)
{
    struct other *other = arg;

    if (edit->entries_through == 0 && edit->drop_count == 0)
        return PDR_OK;
    if (other->seen++ >= other->times)
        return PDR_OK;
    switch (other->deed) {
    case APPEND:
        append(store, "u a");
        break;
    case RESPOND:
        append(store, "a");
        break;
    case ANSWER:
        append(store, "t-x");
        break;
    case CUT:
        cut(store, edit->entries_through);
        break;
    case CUT_LITTLE:
        cut(store, head_of(store).first_seq + 1);
        break;
    case REPLACE:
        remove_all(store);
        fill(store, "u a u a u a");
        break;
    case REMOVE:
        remove_all(store);
        break;
    case COMPLETE:
        complete(store, edit);
        break;
    case FAIL:
        return PDR_EIO;
    }
    return PDR_OK;
}

static pdr_store *open_with(const char *text, struct other *other)
{
    pdr_store *store = hook_open(do_first, other);

    fill(store, text);
    return store;
}

/* --- others come first -----------------------------------------------------
 */

TEST(retain, goes_on_when_others_append)
{
    struct other other = {APPEND, 9, 0};
    pdr_store *store = open_with("u a+x u a u a", &other);
    const pdr_retain_opts opts = keep(1);
    pdr_retain_report report;

    ASSERT_RC(PDR_OK, pdr_retain(&report, store, &opts, NULL));
    ASSERT_INT(2, report.turns);
    ASSERT_SIZE(10, other.seen);
    ASSERT_INT(5, head_of(store).first_seq);
    ASSERT_INT(7 + 18, head_of(store).next_seq);
    ASSERT_INT(head_of(store).revision, report.revision);
    check_whole(store);
    pdr_store_close(store);
}

/* All turns are old; then the last one gets its response, or another begins. */
TEST(retain, by_age_keeps_a_turn_that_goes_on_meanwhile)
{
    static const struct {
        enum deed deed;
        uint64_t turns, first;
    } cases[] = {{RESPOND, 1, 3}, {APPEND, 2, 4}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct other other = {cases[i].deed, 1, 0};
        pdr_store *store = open_with("u a u", &other);
        const pdr_retain_opts opts = {
            .ref = ref_of_s(), .before_ms = NOW + DAY, .now_ms = NOW + 3 * DAY};
        pdr_retain_report report;

        ASSERT_RC(PDR_OK, pdr_retain(&report, store, &opts, NULL));
        ASSERT_INT(cases[i].turns, report.turns);
        ASSERT_INT(cases[i].first, head_of(store).first_seq);
        check_whole(store);
        pdr_store_close(store);
    }
}

TEST(retain, gives_up_when_others_never_stop)
{
    struct other other = {APPEND, SIZE_MAX, 0};
    pdr_store *store = open_with("u a u a u a", &other);
    const pdr_retain_opts opts = keep(1);
    pdr_retain_report report;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_ECONFLICT, pdr_retain(&report, store, &opts, &err));
    ASSERT_STR("revision_changed", err.reason);
    ASSERT_SIZE(10, other.seen);
    ASSERT_INT(0, report.turns);
    ASSERT_INT(1, head_of(store).first_seq);
    check_whole(store);
    pdr_store_close(store);
}

/* More than a page of entries, whenever somebody reads. */
static void append_many(pdr_store *store, void *arg)
{
    struct other *other = arg;
    pdr_entry rows[250];
    pdr_edit edit = {.ref = ref_of_s(), .entries = rows};

    other->seen++;
    edit.revision = head_of(store).revision;
    edit.entry_count = sizeof(rows) / sizeof(rows[0]);
    for (size_t i = 0; i < edit.entry_count; i++)
        rows[i] = (pdr_entry){.kind = PDR_ROW_RECORD, .body = pdr_str_c("{}")};
    must_commit(store, &edit, NOW + 3 * DAY);
}

TEST(retain, gives_up_when_others_append_faster_than_it_reads)
{
    struct other other = {APPEND, 0, 0};
    pdr_store *store = open_with("u a+x u a u a", &other);
    const pdr_retain_opts opts = keep(1);
    pdr_err err = PDR_ERR_INIT;

    hook_reads(append_many);
    ASSERT_RC(PDR_ECONFLICT, pdr_retain(NULL, store, &opts, &err));
    ASSERT_STR("revision_changed", err.reason);
    ASSERT(other.seen > 10 && other.seen < 200);
    ASSERT_INT(1, head_of(store).first_seq);
    pdr_store_close(store);
}

TEST(retain, hears_of_a_result_that_comes_meanwhile)
{
    struct other other = {ANSWER, 1, 0};
    pdr_store *store = open_with("u a u a+x u a", &other);
    const pdr_retain_opts opts = keep(1);
    pdr_retain_report report;

    ASSERT_RC(PDR_OK, pdr_retain(&report, store, &opts, NULL));
    ASSERT_INT(1, report.turns);
    ASSERT_INT(3, head_of(store).first_seq);
    pdr_store_close(store);

    other = (struct other){ANSWER, 1, 0};
    store = open_with("u a+x u a u a", &other);
    ASSERT_RC(PDR_OK, pdr_retain(&report, store, &opts, NULL));
    ASSERT_INT(0, report.turns);
    ASSERT_SIZE(1, other.seen); /* nothing was left to try */
    pdr_store_close(store);
}

TEST(retain, begins_again_when_others_cut)
{
    struct other other = {CUT, 1, 0};
    pdr_store *store = open_with("u a u a u a", &other);
    const pdr_retain_opts opts = keep(1);
    pdr_retain_report report;

    ASSERT_RC(PDR_OK, pdr_retain(&report, store, &opts, NULL));
    ASSERT_INT(0, report.turns); /* the others did */
    ASSERT_INT(5, head_of(store).first_seq);
    pdr_store_close(store);

    other = (struct other){CUT_LITTLE, 1, 0};
    store = open_with("u a u a u a u a", &other);
    ASSERT_RC(PDR_OK, pdr_retain(&report, store, &opts, NULL));
    ASSERT_INT(2, report.turns);
    ASSERT_INT(4, report.entries);
    ASSERT_INT(7, head_of(store).first_seq);
    pdr_store_close(store);
}

TEST(retain, gives_up_when_others_cut_all_the_time)
{
    struct other other = {CUT_LITTLE, SIZE_MAX, 0};
    pdr_store *store = open_with(
        "u a u a u a u a u a u a u a u a u a u a u a u a u a u a", &other);
    const pdr_retain_opts opts = keep(1);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_ECONFLICT, pdr_retain(NULL, store, &opts, &err));
    ASSERT_STR("revision_changed", err.reason);
    check_whole(store);
    pdr_store_close(store);
}

TEST(retain, begins_again_when_others_replace_the_session)
{
    struct other other = {REPLACE, 1, 0};
    pdr_store *store = open_with("u a u a u a u a u a", &other);
    const pdr_retain_opts opts = keep(2);
    pdr_retain_report report;

    ASSERT_RC(PDR_OK, pdr_retain(&report, store, &opts, NULL));
    ASSERT_INT(1, report.turns);
    ASSERT_INT(3, head_of(store).first_seq);
    ASSERT_INT(7, head_of(store).next_seq);
    pdr_store_close(store);
}

TEST(retain, ends_when_others_remove_the_session)
{
    struct other other = {REMOVE, 1, 0};
    pdr_store *store = open_with("u a u a u a", &other);
    const pdr_retain_opts opts = keep(2);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_ENOTFOUND, pdr_retain(NULL, store, &opts, &err));
    ASSERT_STR("no_session", err.reason);
    pdr_store_close(store);
}

TEST(retain, keeps_a_completion_that_others_write_meanwhile)
{
    struct other other = {COMPLETE, 1, 0};
    pdr_store *store = open_with("q#a r#a q#b r#b", &other);
    const pdr_retain_opts opts = keep(1);
    pdr_retain_report report;

    ASSERT_RC(PDR_OK, pdr_retain(&report, store, &opts, NULL));
    ASSERT_INT(2, report.entries);
    ASSERT_INT(0, report.completions);
    ASSERT_INT(2, head_of(store).completions);
    ASSERT_SIZE(2, other.seen);
    pdr_store_close(store);
}

/* Entries go while their completions are young: three of them are left, and one
 * entry. */
static pdr_store *open_with_leftovers(struct other *other)
{
    pdr_store *store = open_with("q#a q#b q#c q#d", other);
    pdr_retain_opts opts = keep(1);
    size_t times = other->times;

    other->times = 0;
    opts.now_ms = NOW + 1;
    ASSERT_RC(PDR_OK, pdr_retain(NULL, store, &opts, NULL));
    ASSERT_INT(4, head_of(store).completions);
    other->times = times;
    other->seen = 0;
    return store;
}

TEST(retain, leaves_completions_that_others_are_at_for_the_next_time)
{
    struct other other = {COMPLETE, 1, 0};
    pdr_store *store = open_with_leftovers(&other);
    const pdr_retain_opts opts = keep(1);
    pdr_retain_report report;

    ASSERT_RC(PDR_OK, pdr_retain(&report, store, &opts, NULL));
    ASSERT_INT(0, report.completions);
    ASSERT_RC(PDR_OK, pdr_retain(&report, store, &opts, NULL));
    ASSERT_INT(2, report.completions);
    check_whole(store);
    pdr_store_close(store);
}

TEST(retain, says_when_completions_cannot_be_cleared)
{
    struct other other = {FAIL, 1, 0};
    pdr_store *store = open_with_leftovers(&other);
    const pdr_retain_opts opts = keep(1);

    ASSERT_RC(PDR_EIO, pdr_retain(NULL, store, &opts, NULL));
    ASSERT_RC(PDR_OK, pdr_retain(NULL, store, &opts, NULL));
    ASSERT_INT(1, head_of(store).completions);
    pdr_store_close(store);
}

/* --- one commit after the other --------------------------------------------
 */

#define TURNS 2500

struct steps {
    const struct past *past;
    uint64_t fail_at; /* step that fails; 0: none */
    uint64_t count;
    size_t longest;
    uint64_t from;
};

/* Is the session whole after this step, whatever becomes of the next one? */
static pdr_rc look_at_step(pdr_store *store, const pdr_edit *edit, void *arg)
{
    struct steps *steps = arg;

    (void)store;
    if (edit->entries_through == 0)
        return PDR_OK;
    if (++steps->count == steps->fail_at)
        return PDR_EIO;
    if (past_long_is_torn(steps->past, edit->entries_through))
        fail_msg("torn at entry %" PRIu64, edit->entries_through);
    if (edit->entries_through - steps->from > steps->longest)
        steps->longest = (size_t)(edit->entries_through - steps->from);
    steps->from = edit->entries_through;
    return PDR_OK;
}

TEST(retain, leaves_a_whole_session_after_each_commit)
{
    struct past past;
    struct steps steps = {.past = &past};
    pdr_store *store = hook_open(look_at_step, &steps);
    const pdr_retain_opts opts = keep(3);
    pdr_retain_report report;

    past_long(&past, TURNS);
    (void)past_commit(store, &past, NOW, 0);
    ASSERT_RC(PDR_OK, pdr_retain(&report, store, &opts, NULL));
    ASSERT(steps.count >= 7 && steps.count <= 9);
    ASSERT(steps.longest <= 1000);
    ASSERT_INT(steps.from, report.entries);
    check_whole(store);
    past_dispose(&past);
    pdr_store_close(store);
}

TEST(retain, can_end_between_any_two_commits)
{
    struct past past;

    past_long(&past, TURNS);
    for (uint64_t at = 1; at <= 8; at++) {
        struct steps steps = {.past = &past, .fail_at = at};
        pdr_store *store = hook_open(look_at_step, &steps);
        const pdr_retain_opts opts = keep(3);
        pdr_retain_report first, second;
        (void)past_commit(store, &past, NOW, 0);
        pdr_rc rc = pdr_retain(&first, store, &opts, NULL);
        ASSERT(rc == PDR_EIO || at == 8);
        ASSERT_INT(first.entries + 1, head_of(store).first_seq);
        ASSERT_INT(head_of(store).revision, first.revision);
        check_whole(store);
        ASSERT_RC(PDR_OK, pdr_retain(&second, store, &opts, NULL));
        ASSERT_INT(first.entries + second.entries + 1,
                   head_of(store).first_seq);
        ASSERT(first.turns + second.turns >= TURNS - 8);
        check_whole(store);
        pdr_store_close(store);
    }
    past_dispose(&past);
}

/* --- calls that fail -------------------------------------------------------
 */

TEST(retain, passes_on_what_the_store_says)
{
    const struct fault_plan kinds[] = {{.call = FAULT_READ},
                                       {.call = FAULT_COMMIT}};
    const pdr_retain_opts opts = keep(2);

    fault_store_register();
    for (size_t k = 0; k < 2; k++) {
        size_t failed = 0;
        for (size_t nth = 1; nth < 100; nth++) {
            struct fault_plan plan = kinds[k];
            pdr_store *store = NULL;
            pdr_err err = PDR_ERR_INIT;
            fault_store_set(&(struct fault_plan){0});
            ASSERT_RC(PDR_OK, pdr_store_open(&store, "fault:memory:", NULL));
            fill(store, "q#a r+x q-x#b r#b q#c r+y q r-y q r");
            plan.nth = nth;
            fault_store_set(&plan);
            pdr_rc rc = pdr_retain(NULL, store, &opts, &err);
            bool done = fault_store_failed() == 0;
            fault_store_set(&(struct fault_plan){0});
            ASSERT(done ? rc == PDR_OK : rc == PDR_EIO && err.code == PDR_EIO);
            failed += !done;
            check_whole(store);
            ASSERT_RC(PDR_OK, pdr_retain(NULL, store, &opts, NULL));
            ASSERT_INT(5, head_of(store).first_seq);
            pdr_store_close(store);
            if (done)
                break;
        }
        ASSERT(failed >= (k == 0 ? 3 : 1));
    }
}

static void run_out_of_memory(const char *text, int64_t before_ms)
{
    pdr_store *store = NULL;
    pdr_retain_opts opts = keep(2);
    pdr_err err = PDR_ERR_INIT;

    opts.before_ms = before_ms;
    test_pause_failures(true);
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    fill(store, text);
    test_pause_failures(false);
    pdr_rc rc = pdr_retain(NULL, store, &opts, &err);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT_RC(rc, err.code);
    test_pause_failures(true);
    check_whole(store);
    pdr_store_close(store);
    test_pause_failures(false);
}

TEST_OOM(retain, cleans_up_after_any_failed_allocation)
{
    run_out_of_memory("q#a r#a+x q-x#b r#b q#c r+y u a t-y u q r", 0);
}

TEST_OOM(retain, cleans_up_when_it_goes_by_age)
{
    run_out_of_memory("u@1 a@2 u@3 a@4?x q@5#1 r@5 q@6!x r@7", 100);
}

/* --- a model ---------------------------------------------------------------
 */

TEST(retain, leaves_what_a_simple_model_leaves)
{
    ASSERT_SIZE(0, past_try_random(1, 1500, true));
}

TEST(retain, model_has_cases_of_every_kind)
{
    size_t nothing = 0, something = 0, everything = 0, corrected = 0;

    for (uint64_t seed = 1; seed <= 1500; seed++) {
        static char text[8192];
        struct past_rule rule;
        struct past past;
        uint64_t turns = 0;
        past_random(text, sizeof(text), &rule, seed);
        past_read(&past, text, PDR_ROW_DOTNET);
        size_t first = past_expected(&turns, &past, &rule);
        past.item_count = 0; /* without calls */
        corrected += first != past_expected(&turns, &past, &rule);
        nothing += first == 0;
        everything += first == past.count;
        something += first > 0 && first < past.count;
        past_dispose(&past);
    }
    print_message("%zu nothing, %zu something, %zu everything, %zu corrected\n",
                  nothing, something, everything, corrected);
    ASSERT(nothing > 100 && something > 300 && everything > 50 &&
           corrected > 100);
}
