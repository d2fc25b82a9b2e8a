/*
 * store_sample.c - see store_sample.h.
 */
#include "store_sample.h"

#include "base.h"
#include "test.h"

#define T0 INT64_C(1767225600000) /* 2026-01-01T00:00:00Z */

#define S(text)                  \
    {                            \
        (text), sizeof(text) - 1 \
    }

static const pdr_ref weather = {S("acme"), S("@dafx-weather@paris")};
static const pdr_ref plain = {{NULL, 0}, S("plain-1")};
static const pdr_ref gone = {{NULL, 0}, S("gone")};

static const pdr_entry turn[] = {
    {.kind = PDR_ROW_REQUEST,
     .created_ms = T0,
     .correlation_id = S("c-1"),
     .body = S("{\"$type\":\"request\",\"text\":\"Rain?\\u0000\"}")},
    {.kind = PDR_ROW_RESPONSE,
     .created_ms = T0 + 1,
     .correlation_id = S("c-1"),
     .separator = S(",\n  "),
     .body = S("{\"$type\":\"response\",\"n\":1.10}")},
    {.kind = PDR_ROW_REQUEST,
     .created_ms = T0 + 2,
     .correlation_id = S("c-2"),
     .body = S("{\"$type\":\"request\",\"text\":\"caf\xC3\xA9 \\ud800\"}")},
};
static const pdr_slot slots[] = {
    {.key = S("memory"), .value = S("{\"likes\":[\"tea\"]}")},
    {.key = S("odd \\u0000 \xF0\x9F\x8C\xA7"), .value = S("null")},
};
static const pdr_property properties[] = {
    {.key = S("team"), .value = S("\"north\""), .match = S("s:north")},
    {.key = S("tags"), .value = S("[1,2]")},
};
static const pdr_completion completions[] = {
    {.correlation_id = S("c-1"),
     .fingerprint = S("\x01\x02\x03\xFF"),
     .outcome = S("{\"ok\":true}")},
    {.correlation_id = S("c-3")},
};
static const pdr_work journal[] = {
    {.due_ms = PDR_NEVER, .kind = S("context"), .body = S("{\"step\":1}")},
    {.due_ms = PDR_NEVER, .kind = S("model"), .body = S("{\"step\":2}")},
};
static const pdr_work stream[] = {
    {.due_ms = PDR_NEVER, .kind = S("delta"), .body = S("\"Rai\"")},
};
static const pdr_work inbox[] = {
    {.due_ms = T0 + 60000,
     .kind = S("run"),
     .correlation_id = S("c-3"),
     .body = S("{\"message\":\"Snow?\"}")},
    {.due_ms = PDR_NEVER, .kind = S("wait"), .body = S("{}")},
};
static const pdr_entry messages[] = {
    {.kind = PDR_ROW_MESSAGE,
     .shape = PDR_ROW_PYTHON,
     .created_ms = T0,
     .body = S("{\"type\":\"message\",\"role\":\"user\"}")},
    {.kind = PDR_ROW_OTHER,
     .shape = PDR_ROW_DOTNET,
     .created_ms = T0,
     .body = S("{\"Role\":\"tool\"}")},
};

static void commit(pdr_store *store, const pdr_edit *edit, int64_t now_ms)
{
    pdr_commit_options options = {.now_ms = now_ms};
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_store_commit(NULL, store, edit, 1, &options, &err);

    if (rc != PDR_OK)
        fail_msg("not committed: %s", err.message);
}

void store_sample_fill(pdr_store *store)
{
    commit(store, &(pdr_edit){.ref = gone, .entries = turn, .entry_count = 1},
           T0);
    commit(store,
           &(pdr_edit){.ref = weather,
                       .agent = S("weather"),
                       .kind = S("durable"),
                       .schema_version = S("1.1.0"),
                       .frame = S("{\"prefix\":\"{\\n\",\"suffix\":\"}\"}"),
                       .entries = turn,
                       .entry_count = PDR_COUNT(turn),
                       .slots = slots,
                       .slot_count = PDR_COUNT(slots),
                       .properties = properties,
                       .property_count = PDR_COUNT(properties),
                       .completions = completions,
                       .completion_count = PDR_COUNT(completions),
                       .journal = journal,
                       .journal_count = PDR_COUNT(journal),
                       .stream = stream,
                       .stream_count = PDR_COUNT(stream),
                       .inbox = inbox,
                       .inbox_count = PDR_COUNT(inbox),
                       .expiry = PDR_EXPIRY_SET,
                       .expiry_ms = T0 + 86400000,
                       .lease.verb = PDR_LEASE_TAKE,
                       .lease.owner = S("worker 1"),
                       .lease.until_ms = T0 + 30000,
                       .set_state = true,
                       .state = PDR_SESSION_RUNNING},
           T0 + 1000);
    commit(store,
           &(pdr_edit){.ref = plain,
                       .kind = S("python"),
                       .entries = messages,
                       .entry_count = PDR_COUNT(messages)},
           T0 + 2000);
    commit(store, &(pdr_edit){.ref = gone, .revision = 1, .remove = true},
           T0 + 3000);
}

/* --- checking ------------------------------------------------------------ */

static pdr_page *page_of(pdr_store *store, pdr_read_what what,
                         const pdr_ref *ref)
{
    pdr_query query = {.what = what, .ref = *ref};
    pdr_err err = PDR_ERR_INIT;
    pdr_page *page = NULL;

    if (pdr_store_read(&page, store, &query, &err) != PDR_OK)
        fail_msg("not read: %s", err.message);
    return page;
}

static void same_text(pdr_str wanted, pdr_str got)
{
    ASSERT((wanted.ptr == NULL) == (got.ptr == NULL));
    ASSERT(pdr_str_equal(wanted, got));
}

static void check_entries(pdr_store *store, const pdr_ref *ref,
                          const pdr_entry *wanted, size_t count)
{
    pdr_page *page = page_of(store, PDR_READ_ENTRIES, ref);

    ASSERT_SIZE(count, page->count);
    for (size_t i = 0; i < count; i++) {
        ASSERT_SIZE(i + 1, page->entries[i].seq);
        ASSERT_INT(wanted[i].kind, page->entries[i].kind);
        ASSERT_INT(wanted[i].shape, page->entries[i].shape);
        ASSERT_INT(wanted[i].created_ms, page->entries[i].created_ms);
        same_text(wanted[i].correlation_id, page->entries[i].correlation_id);
        same_text(wanted[i].separator, page->entries[i].separator);
        same_text(wanted[i].body, page->entries[i].body);
    }
    pdr_page_free(page);
}

static void check_work(pdr_store *store, pdr_read_what what,
                       const pdr_work *wanted, size_t count)
{
    pdr_page *page = page_of(store, what, &weather);

    ASSERT_SIZE(count, page->count);
    for (size_t i = 0; i < count; i++) {
        ASSERT_SIZE(i + 1, page->work[i].n);
        ASSERT_INT(wanted[i].due_ms, page->work[i].due_ms);
        same_text(wanted[i].kind, page->work[i].kind);
        same_text(wanted[i].correlation_id, page->work[i].correlation_id);
        same_text(wanted[i].body, page->work[i].body);
    }
    pdr_page_free(page);
}

static void check_bag(pdr_store *store)
{
    pdr_page *page = page_of(store, PDR_READ_SLOTS, &weather);

    ASSERT_SIZE(PDR_COUNT(slots), page->count);
    for (size_t i = 0; i < page->count; i++) {
        same_text(slots[i].key, page->slots[i].key);
        same_text(slots[i].value, page->slots[i].value);
    }
    pdr_page_free(page);
    page = page_of(store, PDR_READ_PROPERTIES, &weather);
    ASSERT_SIZE(2, page->count);
    same_text(properties[1].key, page->properties[0].key);
    same_text(properties[1].match, page->properties[0].match);
    same_text(properties[0].value, page->properties[1].value);
    pdr_page_free(page);
    page = page_of(store, PDR_READ_FRAME, &weather);
    ASSERT_TEXT("{\"prefix\":\"{\\n\",\"suffix\":\"}\"}", page->frame);
    pdr_page_free(page);
}

static void check_completions(pdr_store *store)
{
    pdr_page *page = page_of(store, PDR_READ_COMPLETIONS, &weather);

    ASSERT_SIZE(3, page->count);
    same_text(completions[0].fingerprint, page->completions[0].fingerprint);
    same_text(completions[0].outcome, page->completions[0].outcome);
    ASSERT_SIZE(1, page->completions[0].first_seq);
    ASSERT_SIZE(2, page->completions[0].last_seq);
    ASSERT_SIZE(3, page->completions[1].first_seq);
    ASSERT_SIZE(0, page->completions[2].first_seq);
    pdr_page_free(page);
}

void store_sample_check(pdr_store *store)
{
    pdr_page *page = page_of(store, PDR_READ_HEAD, &weather);
    pdr_verify_report report;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_SIZE(1, page->head.revision);
    ASSERT_INT(PDR_SESSION_RUNNING, page->head.state);
    ASSERT_INT(T0 + 1000, page->head.changed_ms);
    ASSERT_INT(T0 + 86400000, page->head.expiry_ms);
    ASSERT_TEXT("weather", page->head.agent);
    ASSERT_TEXT("1.1.0", page->head.schema_version);
    ASSERT_TEXT("worker 1", page->head.lease.owner);
    pdr_page_free(page);
    check_entries(store, &weather, turn, PDR_COUNT(turn));
    check_entries(store, &plain, messages, PDR_COUNT(messages));
    check_bag(store);
    check_completions(store);
    check_work(store, PDR_READ_JOURNAL, journal, PDR_COUNT(journal));
    check_work(store, PDR_READ_STREAM, stream, PDR_COUNT(stream));
    check_work(store, PDR_READ_INBOX, inbox, PDR_COUNT(inbox));
    ASSERT_RC(PDR_OK, pdr_store_verify(&report, store, NULL, &err, NULL, NULL));
    ASSERT_SIZE(2, report.sessions);
    ASSERT_SIZE(5, report.entries);
}

void store_sample_go_on(pdr_store *store)
{
    const pdr_ref *refs[] = {&weather, &plain};

    for (size_t i = 0; i < PDR_COUNT(refs); i++) {
        pdr_page *page = page_of(store, PDR_READ_HEAD, refs[i]);
        pdr_edit edit = {.ref = *refs[i],
                         .revision = page->head.revision,
                         .entries = messages,
                         .entry_count = 1};

        pdr_page_free(page);
        commit(store, &edit, T0 + 4000);
        page = page_of(store, PDR_READ_ENTRIES, refs[i]);
        ASSERT_SIZE(page->head.next_seq, page->count + 1);
        pdr_page_free(page);
    }
}
