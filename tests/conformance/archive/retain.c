/*
 * Retention on every store: what stays, what goes, and that each step leaves a
 * whole session.
 */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include <perdure/archive.h>

#include "../store/suite.h"
#include "past.h"

#define DAY INT64_C(86400000)

static const pdr_ref ref = {.id = S_INIT("s")};

static pdr_retain_report must_retain(pdr_store *store, uint64_t keep_turns,
                                     int64_t before_ms, int64_t now_ms)
{
    const pdr_retain_opts opts = {.ref = ref,
                                  .keep_turns = keep_turns,
                                  .before_ms = before_ms,
                                  .now_ms = now_ms};
    pdr_retain_report report;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_retain(&report, store, &opts, &err);

    if (rc != PDR_OK)
        fail_msg("not retained: %s: %s", pdr_rc_name(rc), err.message);
    return report;
}

static pdr_store *open_with(const char *text, pdr_row_shape shape)
{
    pdr_store *store = suite_open();
    struct past past;

    past_read(&past, text, shape);
    (void)past_commit(store, &past, NOW, 3);
    past_dispose(&past);
    return store;
}

/* Are entries first <= seq < next there, and no others? */
static void check_entries(pdr_store *store, uint64_t first, uint64_t next)
{
    const pdr_query query = {.what = PDR_READ_ENTRIES, .ref = ref};
    pdr_head head = head_of(store, "s");

    ASSERT_INT(first, head.first_seq);
    ASSERT_INT(next, head.next_seq);
    ASSERT_SIZE(next - first, read_all(store, &query, 200, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_store_verify(NULL, store, &ref, NULL, NULL, NULL));
}

static bool has_completion(pdr_store *store, const char *id)
{
    const pdr_query query = {
        .what = PDR_READ_COMPLETIONS, .ref = ref, .key = pdr_str_c(id)};
    pdr_page *page = NULL;
    pdr_rc rc = pdr_store_read(&page, store, &query, NULL);

    ASSERT(rc == PDR_OK || rc == PDR_ENOTFOUND);
    pdr_page_free(page);
    return rc == PDR_OK;
}

/* --- turns ---------------------------------------------------------------- */

TEST(retain, keeps_the_last_turns)
{
    pdr_store *store = open_with("q r q r q r q r q r", PDR_ROW_STATE);
    uint64_t revision = head_of(store, "s").revision;
    pdr_retain_report report = must_retain(store, 2, 0, NOW + 1);

    ASSERT_INT(3, report.turns);
    ASSERT_INT(6, report.entries);
    ASSERT_INT(0, report.completions);
    ASSERT_INT(revision + 1, report.revision);
    check_entries(store, 7, 11);
    ASSERT_INT(NOW + 1, head_of(store, "s").changed_ms);
    suite_close(store);
}

TEST(retain, keeps_all_if_there_are_no_more)
{
    pdr_store *store = open_with("s u a u a", PDR_ROW_PYTHON);
    uint64_t before = suite_hash(store);
    pdr_retain_report report = must_retain(store, 2, 0, NOW + 1);

    ASSERT_INT(0, report.turns);
    ASSERT_INT(0, report.entries);
    ASSERT_INT(head_of(store, "s").revision, report.revision);
    (void)must_retain(store, 3, 0, NOW + 1);
    (void)must_retain(store, UINT64_MAX, 0, NOW + 1);
    (void)must_retain(store, 0, INT64_MIN, NOW + 1);
    ASSERT(before == suite_hash(store));
    suite_close(store);
}

TEST(retain, keeps_a_session_without_entries)
{
    pdr_store *store = suite_open();

    (void)must_create(store, "s");
    ASSERT_INT(0, must_retain(store, 1, 0, NOW).entries);
    ASSERT_INT(1, must_retain(store, 1, INT64_MAX, NOW).revision);
    suite_close(store);
}

TEST(retain, leaves_the_last_turn_alone)
{
    static const char *const pasts[] = {"q r q r q r c", "u a u a t u a t",
                                        "u a q r u"};
    static const uint64_t first[] = {5, 6, 5}, next[] = {8, 9, 6};

    for (size_t i = 0; i < COUNT(pasts); i++) {
        pdr_store *store = open_with(pasts[i], (pdr_row_shape)i);
        ASSERT_INT(2, must_retain(store, 1, 0, NOW).turns);
        check_entries(store, first[i], next[i]);
        suite_close(store);
    }
}

TEST(retain, removes_turns_that_are_older)
{
    pdr_store *store =
        open_with("q@1 r@2 q@3 r@9 q@4 r@5 q@20 r@21", PDR_ROW_STATE);

    ASSERT_INT(1, must_retain(store, 0, 9, NOW).turns);
    check_entries(store, 3, 9);
    ASSERT_INT(2, must_retain(store, 0, 10, NOW).turns);
    check_entries(store, 7, 9);
    suite_close(store);
}

TEST(retain, may_remove_all_by_age_and_goes_on)
{
    pdr_store *store = open_with("u@1 a@2 u@3 a@4", PDR_ROW_DOTNET);

    pdr_retain_report report = must_retain(store, 0, 100, NOW);
    ASSERT_INT(2, report.turns);
    ASSERT_INT(4, report.entries);
    check_entries(store, 5, 5);
    ASSERT_INT(5, must_append(store, "s", report.revision, 5, 2).first_seq);
    check_entries(store, 5, 7);
    suite_close(store);
}

TEST(retain, touches_nothing_but_entries)
{
    const pdr_slot slot = {.key = S("memory"), .value = S("{\"a\":1}")};
    const pdr_property property = {
        .key = S("team"), .value = S("\"blue\""), .match = S("\"blue\"")};
    const pdr_work work = {.kind = S("k"), .due_ms = 7, .body = S("{}")};
    pdr_store *store = open_with("q r q r q r", PDR_ROW_STATE);
    pdr_edit edit = EDIT("s", head_of(store, "s").revision);

    edit.frame = S("{\"frame\":1}");
    edit.slots = &slot;
    edit.properties = &property;
    edit.journal = edit.stream = edit.inbox = &work;
    edit.slot_count = edit.property_count = 1;
    edit.journal_count = edit.stream_count = edit.inbox_count = 1;
    edit.set_state = true;
    edit.state = PDR_SESSION_WAITING;
    edit.expiry = PDR_EXPIRY_SET;
    edit.expiry_ms = NOW * 2;
    (void)must_commit(store, &edit);
    pdr_head before = head_of(store, "s");
    ASSERT_INT(4, must_retain(store, 1, 0, NOW).entries);
    pdr_head after = head_of(store, "s");
    ASSERT(after.has_frame && after.slots == 1 && after.properties == 1);
    ASSERT_INT(before.inbox, after.inbox);
    ASSERT_INT(before.journal_next, after.journal_next);
    ASSERT_INT(before.stream_first, after.stream_first);
    ASSERT_INT(before.state, after.state);
    ASSERT_INT(before.expiry_ms, after.expiry_ms);
    ASSERT_INT(before.epoch, after.epoch);
    suite_close(store);
}

/* --- calls ---------------------------------------------------------------- */

TEST(retain, never_tears_a_result_from_its_call)
{
    for (int shape = PDR_ROW_STATE; shape <= PDR_ROW_SK; shape++) {
        pdr_store *store =
            open_with("u a u a+x u t-x+y u t-y u a", (pdr_row_shape)shape);
        ASSERT_INT(1, must_retain(store, 2, 0, NOW).turns);
        check_entries(store, 3, 11);
        ASSERT_INT(3, must_retain(store, 1, 0, NOW).turns);
        check_entries(store, 9, 11);
        suite_close(store);
    }
}

TEST(retain, is_not_held_up_by_what_is_alone)
{
    pdr_store *store = open_with("u a+x u t-y u a?z u t-y u a", PDR_ROW_DOTNET);

    ASSERT_INT(4, must_retain(store, 1, 0, NOW).turns);
    check_entries(store, 9, 11);
    suite_close(store);
}

/* --- completions -----------------------------------------------------------
 */

/* A turn of correlation id "ID" with an outcome, at a time. */
static void add_turn(pdr_store *store, const char *id, int64_t now_ms)
{
    const pdr_completion ended = {.correlation_id = pdr_str_c(id),
                                  .outcome = S("{\"ok\":true}")};
    const pdr_entry rows[] = {
        {.kind = PDR_ROW_REQUEST,
         .created_ms = now_ms,
         .correlation_id = pdr_str_c(id),
         .body = S("{\"$type\":\"request\",\"messages\":[]}")},
        {.kind = PDR_ROW_RESPONSE,
         .created_ms = now_ms,
         .correlation_id = pdr_str_c(id),
         .body = S("{\"$type\":\"response\",\"messages\":[]}")}};
    pdr_edit edit =
        EDIT("s", is_there(store, "s") ? head_of(store, "s").revision : 0);

    edit.entries = rows;
    edit.entry_count = COUNT(rows);
    edit.completions = &ended;
    edit.completion_count = 1;
    (void)must_commit_at(store, &edit, now_ms);
}

TEST(retain, keeps_completions_of_the_last_day)
{
    pdr_store *store = suite_open();

    add_turn(store, "old", NOW);
    add_turn(store, "edge", NOW + 5);
    add_turn(store, "young", NOW + 6);
    add_turn(store, "kept", NOW + 7);
    pdr_retain_report report = must_retain(store, 1, 0, NOW + 5 + DAY);
    ASSERT_INT(3, report.turns);
    ASSERT_INT(1, report.completions);
    ASSERT(!has_completion(store, "old"));
    ASSERT(has_completion(store, "edge"));
    ASSERT(has_completion(store, "young"));
    ASSERT(has_completion(store, "kept"));
    ASSERT_INT(3, head_of(store, "s").completions);
    suite_close(store);
}

TEST(retain, lets_a_repeated_request_find_its_outcome)
{
    const pdr_completion again = {.correlation_id = S("a"), .outcome = S("{}")};
    const pdr_query query = {
        .what = PDR_READ_COMPLETIONS, .ref = ref, .key = S("a")};
    pdr_store *store = suite_open();

    add_turn(store, "a", NOW);
    add_turn(store, "b", NOW + 1);
    ASSERT_INT(2, must_retain(store, 1, 0, NOW + 2).entries);
    pdr_edit edit = EDIT("s", head_of(store, "s").revision);
    edit.completions = &again;
    edit.completion_count = 1;
    must_refuse_at(PDR_EEXISTS, "completion_exists", store, &edit, NOW + DAY);
    pdr_page *page = must_read(store, &query);
    ASSERT_TEXT("{\"ok\":true}", page->completions[0].outcome);
    pdr_page_free(page);
    suite_close(store);
}

TEST(retain, keeps_completions_that_still_have_entries)
{
    pdr_store *store = suite_open();

    add_turn(store, "a", NOW);
    add_turn(store, "b", NOW);
    const pdr_entry late = {
        .kind = PDR_ROW_RESPONSE, .correlation_id = S("a"), .body = S("{}")};
    pdr_edit edit = EDIT("s", 2);
    edit.entries = &late;
    edit.entry_count = 1;
    (void)must_commit(store, &edit);
    pdr_retain_report report = must_retain(store, 1, 0, NOW + 2 * DAY);
    ASSERT_INT(2, report.entries);
    ASSERT_INT(0, report.completions);
    ASSERT(has_completion(store, "a"));
    suite_close(store);
}

TEST(retain, removes_later_what_was_too_young)
{
    pdr_store *store = suite_open();

    for (int i = 0; i < 250; i++) { /* more than a page of them */
        char id[16];
        snprintf(id, sizeof(id), "turn-%d", i);
        add_turn(store, id, NOW + i);
    }
    pdr_retain_report report = must_retain(store, 1, 0, NOW + 300);
    ASSERT_INT(249, report.turns);
    ASSERT_INT(0, report.completions);
    ASSERT_INT(250, head_of(store, "s").completions);
    /* Nothing to cut, and still something to clear. */
    report = must_retain(store, 1, 0, NOW + DAY + 100);
    ASSERT_INT(0, report.entries);
    ASSERT_INT(100, report.completions);
    report = must_retain(store, 1, 0, NOW + 3 * DAY);
    ASSERT_INT(149, report.completions);
    ASSERT_INT(1, head_of(store, "s").completions);
    ASSERT(has_completion(store, "turn-249"));
    suite_close(store);
}

TEST(retain, keeps_completions_without_entries_until_they_ended_long_ago)
{
    const pdr_completion bare[] = {
        {.correlation_id = S("x"), .outcome = S("{}")},
        {.correlation_id = S("y"), .outcome = S("{}")},
        {.correlation_id = S("waits")}};
    pdr_store *store = suite_open();
    pdr_edit edit = EDIT("s", 0);

    edit.completions = bare;
    edit.completion_count = COUNT(bare);
    (void)must_commit(store, &edit);
    ASSERT_INT(0, must_retain(store, 1, 0, NOW + DAY).completions);
    ASSERT_INT(3, head_of(store, "s").completions);
    ASSERT_INT(2, must_retain(store, 1, 0, NOW + 9 * DAY).completions);
    ASSERT(has_completion(store, "waits"));
    suite_close(store);
}

/* --- long histories --------------------------------------------------------
 */

#define TURNS 5000

/* A history of that many turns; every 7th call is answered two turns later. */
static void make_long(struct past *past)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    for (int i = 0; i < TURNS; i++)
        fprintf(out, " q#%d%s%d r%s%d", i, i >= 2 && i % 7 == 2 ? "-" : "+w",
                i >= 2 && i % 7 == 2 ? i - 2 : i, "+", i);
    fclose(out);
    past_read(past, text, PDR_ROW_STATE);
    free(text);
}

TEST(retain, cuts_a_long_history_in_several_commits)
{
    pdr_store *store = suite_open();
    struct past past;

    make_long(&past);
    (void)past_commit(store, &past, NOW, 0);
    uint64_t commits = head_of(store, "s").commits;
    pdr_retain_report report = must_retain(store, 10, 0, NOW + 2 * DAY);
    commits = head_of(store, "s").commits - commits;
    ASSERT_INT(TURNS - 10, report.turns);
    ASSERT_INT(2 * (TURNS - 10), report.entries);
    ASSERT_INT(TURNS - 10, report.completions);
    ASSERT(commits >= 10 && commits <= 11);
    check_entries(store, 2 * (TURNS - 10) + 1, 2 * TURNS + 1);
    past_dispose(&past);
    suite_close(store);
}

TEST(retain, cuts_a_long_turn_at_once)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    for (int i = 0; i < 3; i++) {
        fputs(" u", out);
        for (int k = 0; k < (i == 1 ? 2500 : 2); k++)
            fputs(" a", out);
    }
    fclose(out);
    pdr_store *store = suite_open();
    struct past past;
    past_read(&past, text, PDR_ROW_PYTHON);
    (void)past_commit(store, &past, NOW, 0);
    uint64_t commits = head_of(store, "s").commits;
    ASSERT_INT(2504, must_retain(store, 1, 0, NOW).entries);
    ASSERT_INT(commits + 2, head_of(store, "s").commits);
    check_entries(store, 2505, 2508);
    past_dispose(&past);
    free(text);
    suite_close(store);
}

struct writer {
    pdr_store *store;
    atomic_bool stop;
    atomic_int turns;
    pdr_rc rc;
};

/* Turns that it appends at most: a store in memory takes them faster than
 * anybody reads them. */
#define MOST_TURNS (2 * TURNS)

/* Appends turns until told to stop; others may come first. */
static void *write_on(void *arg)
{
    struct writer *w = arg;
    const pdr_commit_options options = {.now_ms = NOW + 3 * DAY};
    const pdr_query head = {.what = PDR_READ_HEAD, .ref = ref};
    const pdr_entry rows[] = {{.kind = PDR_ROW_REQUEST, .body = S("{}")},
                              {.kind = PDR_ROW_RESPONSE, .body = S("{}")}};

    while (!atomic_load(&w->stop)) {
        pdr_edit edit = EDIT("s", 0);
        pdr_page *page = NULL;
        (void)sched_yield();
        if (atomic_load(&w->turns) == MOST_TURNS)
            continue;
        w->rc = pdr_store_read(&page, w->store, &head, NULL);
        if (w->rc != PDR_OK)
            return NULL;
        edit.revision = page->head.revision;
        pdr_page_free(page);
        edit.entries = rows;
        edit.entry_count = COUNT(rows);
        w->rc = pdr_store_commit(NULL, w->store, &edit, 1, &options, NULL);
        if (w->rc == PDR_OK)
            atomic_fetch_add(&w->turns, 1);
        else if (w->rc != PDR_ECONFLICT)
            return NULL;
    }
    w->rc = PDR_OK;
    return NULL;
}

TEST(retain, lets_others_write_meanwhile)
{
    const pdr_retain_opts opts = {
        .ref = ref, .keep_turns = 10, .now_ms = NOW + 2 * DAY};
    pdr_store *store = suite_open();
    struct writer writer = {.store = store};
    pthread_t thread;
    struct past past;
    uint64_t removed = 0;

    make_long(&past);
    (void)past_commit(store, &past, NOW, 0);
    ASSERT_INT(0, pthread_create(&thread, NULL, write_on, &writer));
    for (int i = 0; i < 50 && removed < TURNS - 10; i++) {
        pdr_retain_report report;
        pdr_rc rc = pdr_retain(&report, store, &opts, NULL);
        ASSERT(rc == PDR_OK || rc == PDR_ECONFLICT);
        removed += report.turns;
    }
    while (atomic_load(&writer.turns) == 0)
        (void)sched_yield();
    atomic_store(&writer.stop, true);
    ASSERT_INT(0, pthread_join(thread, NULL));
    ASSERT_RC(PDR_OK, writer.rc);
    ASSERT(removed >= TURNS - 10);
    check_entries(store, 2 * removed + 1,
                  2 * (TURNS + (uint64_t)atomic_load(&writer.turns)) + 1);
    past_dispose(&past);
    suite_close(store);
}

/* --- documents -------------------------------------------------------------
 */

/* A document with two parts of a history, ' for ". */
static const struct document {
    const char *open, *goes, *between, *stays, *close;
} documents[] = {
    {"{'schemaVersion':'1.1.0','data':{'conversationHistory':[\n  ",
     "{'$type':'request','correlationId':'1','messages':[]},\n  "
     "{'$type':'response','correlationId':'1','messages':[]}",
     ",\n  ",
     "{'$type':'request','correlationId':'2','messages':[]},\n  "
     "{'$type':'response','correlationId':'2','messages':[{'role':'assistant',"
     "'contents':[{'$type':'functionCall','callId':'c'}]}]},\n  "
     "{'$type':'request','correlationId':'3','messages':[{'role':'tool',"
     "'contents':[{'$type':'functionResult','callId':'c'}]}]}",
     "\n],'x': 1}}"},
    {"{'conversationId':null,'stateBag':{'InMemoryChatHistoryProvider':"
     "{'messages':[",
     "{'role':'user','contents':[]}", ",",
     "{'role':'user','contents':[]},{'role':'assistant','contents':["
     "{'$type':'functionCall','callId':'c'}]},{'role':'user','contents':[]},"
     "{'role':'tool','contents':[{'$type':'functionResult','callId':'c'}]}",
     "]},'m':7}}"},
    {"{'type':'session','session_id':'s','state':{'in_memory':{'messages':[",
     "{'role':'system','contents':[]}, {'role':'user','contents':[]}", ", ",
     "{'role':'user','contents':[{'type':'function_call','call_id':'c'}]}, "
     "{'role':'user','contents':[{'type':'function_result','call_id':'c'}]}",
     "]}}}"},
};

static void put_document(char *out, size_t room, const struct document *from,
                         bool whole)
{
    int len =
        snprintf(out, room, "%s%s%s%s%s", from->open, whole ? from->goes : "",
                 whole ? from->between : "", from->stays, from->close);

    ASSERT(len > 0 && (size_t)len < room);
    for (char *p = out; *p != '\0'; p++)
        *p = *p == '\'' ? '"' : *p;
}

TEST(retain, leaves_documents_without_their_beginning)
{
    const pdr_import_opts import = {.ref = ref, .now_ms = NOW};
    const pdr_export_opts export = {.ref = ref};

    for (size_t i = 0; i < COUNT(documents); i++) {
        char before[2000], after[2000];
        pdr_store *store = suite_open();
        pdr_buf out = PDR_BUF_INIT(1u << 16);
        pdr_err err = PDR_ERR_INIT;
        put_document(before, sizeof(before), &documents[i], true);
        put_document(after, sizeof(after), &documents[i], false);
        pdr_str text = pdr_str_c(before);
        if (pdr_import(NULL, store, &import, &err, pdr_read_str, &text) !=
            PDR_OK)
            fail_msg("%zu: %s", i, err.message);
        ASSERT_INT(1, must_retain(store, 1, 0, NOW).turns);
        if (pdr_export(NULL, store, &export, &err, pdr_write_buf, &out) !=
            PDR_OK)
            fail_msg("%zu: %s", i, err.message);
        ASSERT_TEXT(after, pdr_buf_str(&out));
        pdr_buf_dispose(&out);
        suite_close(store);
    }
}

/* --- refusals --------------------------------------------------------------
 */

static void must_not_retain(pdr_rc rc, const char *reason, pdr_store *store,
                            const pdr_retain_opts *opts)
{
    pdr_retain_report report;
    pdr_err err = PDR_ERR_INIT;

    memset(&report, 0xA5, sizeof(report));
    ASSERT_RC(rc, pdr_retain(&report, store, opts, &err));
    ASSERT_STR(reason, err.reason);
    ASSERT_RC(rc, err.code);
    ASSERT_INT(0, report.entries);
    ASSERT_RC(rc, pdr_retain(NULL, store, opts, NULL));
}

TEST(retain, refuses_what_it_cannot_do)
{
    pdr_store *store = suite_open();
    pdr_retain_opts opts = {.ref = ref};

    must_not_retain(PDR_EINVALID, "bad_retention", store, &opts);
    opts.keep_turns = 1;
    must_not_retain(PDR_ENOTFOUND, "no_session", store, &opts);
    opts.keep_turns = 0;
    opts.before_ms = 1;
    must_not_retain(PDR_ENOTFOUND, "no_session", store, &opts);
    opts.ref.id = S("");
    must_not_retain(PDR_EINVALID, "bad_ref", store, &opts);
    suite_close(store);
}

TEST(retain, needs_a_store_that_can_be_written)
{
    if ((suite_backend.capabilities & PDR_CAN_READ_ONLY) == 0)
        return;
    pdr_store *store = open_with("u a u a", PDR_ROW_PYTHON);
    pdr_store *reader = suite_open_read_only();
    const pdr_retain_opts opts = {.ref = ref, .keep_turns = 1};
    must_not_retain(PDR_EDENIED, "read_only", reader, &opts);
    pdr_store_close(reader);
    check_entries(store, 1, 5);
    suite_close(store);
}
