/*
 * What holds for every state document that we read, change and write: nothing
 * gets lost, and what we add can be read by everybody.
 */
#include "json_text.h"
#include "state_trip.h"
#include "test.h"

#include "base.h"

/* --- helpers -------------------------------------------------------------- */

/* A document of tests/data/state; `text` is what it was read from. */
struct document {
    char *text;
    size_t len;
    pdr_value *state;
};

static struct document load(const char *name)
{
    struct document out = {NULL, 0, NULL};
    char path[100];
    pdr_err err = PDR_ERR_INIT;

    snprintf(path, sizeof(path), "state/%s", name);
    out.text = test_read_data(path, &out.len);
    if (pdr_state_read(&out.state, pdr_str_n(out.text, out.len), NULL, &err) !=
        PDR_OK)
        fail_msg("%s: %s", name, err.message);
    return out;
}

static void unload(struct document *document)
{
    pdr_value_free(document->state);
    free(document->text);
}

static pdr_value *new_entry(pdr_entry_kind kind, const char *id,
                            int64_t created_at)
{
    pdr_value *messages = json("[{\"contents\":[{\"$type\":\"text\",\"text\":"
                               "\"hello\"}],\"role\":\"user\"}]");
    pdr_entry_parts parts = {.kind = kind,
                             .correlation_id = pdr_str_c(id),
                             .created_at = created_at,
                             .messages = messages};
    pdr_value *entry = NULL;

    ASSERT_RC(PDR_OK, pdr_entry_new(&entry, &parts, NULL));
    pdr_value_free(messages);
    return entry;
}

/* A request and its response at the end of the document. */
static void add_turn(pdr_value **io, const char *id)
{
    pdr_value *request = new_entry(PDR_ENTRY_REQUEST, id, PDR_TICKS_UNIX_EPOCH);
    pdr_value *response =
        new_entry(PDR_ENTRY_RESPONSE, id, PDR_TICKS_UNIX_EPOCH + 1);

    ASSERT_RC(PDR_OK, pdr_state_append(io, request, NULL));
    ASSERT_RC(PDR_OK, pdr_state_append(io, response, NULL));
    pdr_value_free(response);
    pdr_value_free(request);
}

/* The turn that add_turn() made stands from `first` on. */
static void check_turn(const pdr_value *state, size_t first, const char *id)
{
    pdr_value *request = new_entry(PDR_ENTRY_REQUEST, id, PDR_TICKS_UNIX_EPOCH);
    pdr_value *response =
        new_entry(PDR_ENTRY_RESPONSE, id, PDR_TICKS_UNIX_EPOCH + 1);
    const pdr_value *entries = pdr_state_entries(state);

    ASSERT(pdr_value_equal(request, pdr_value_at(entries, first)));
    ASSERT(pdr_value_equal(response, pdr_value_at(entries, first + 1)));
    pdr_value_free(response);
    pdr_value_free(request);
}

/* Store and load: the text is written and read again. */
static void store_and_load(pdr_value **io)
{
    pdr_write_opts opts = {.layout = PDR_AS_READ};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *again = NULL;

    ASSERT_RC(PDR_OK, pdr_json_write(&text, *io, &opts, NULL));
    ASSERT_RC(PDR_OK, pdr_state_read(&again, pdr_buf_str(&text), NULL, NULL));
    pdr_value_free(*io);
    *io = again;
    pdr_buf_dispose(&text);
}

static const pdr_value *part(const pdr_value *root, const char *pointer)
{
    const pdr_value *out = NULL;

    if (pdr_pointer_get(&out, root, pdr_str_c(pointer), NULL) != PDR_OK)
        fail_msg("there is no %s", pointer);
    return out;
}

static bool text_at(const pdr_value *root, const char *pointer,
                    const char *text)
{
    return pdr_value_text_is(part(root, pointer), pdr_str_c(text));
}

#define HISTORY "/data/conversationHistory"

/* --- new documents and what is kept --------------------------------------- */

TEST(new_session, has_the_version_first_and_data_second)
{
    COVERS("D-1");
    pdr_value *state = NULL;
    pdr_iter it;

    ASSERT_RC(PDR_OK, pdr_state_new(&state, NULL));
    add_turn(&state, "c");
    store_and_load(&state);
    pdr_iter_init(&it, state);
    ASSERT(pdr_iter_next(&it));
    ASSERT(pdr_value_text_is(it.name, pdr_str_c("schemaVersion")));
    ASSERT(pdr_value_text_is(it.value, pdr_str_c("1.1.0")));
    ASSERT(pdr_iter_next(&it));
    ASSERT(pdr_value_text_is(it.name, pdr_str_c("data")));
    ASSERT(!pdr_iter_next(&it));
    pdr_value_free(state);
}

TEST(newer_minor, is_kept_with_all_that_nobody_knows)
{
    COVERS("D-2");
    struct document c = load("sample-c.json");
    pdr_value *changed = pdr_value_ref(c.state);
    const char *const same[] = {
        "/schemaVersion", "/tenant",    "/data/pinned",           HISTORY "/0",
        HISTORY "/1",     HISTORY "/2", "/data/expirationTimeUtc"};

    add_turn(&changed, "c2");
    store_and_load(&changed);
    for (size_t i = 0; i < PDR_COUNT(same); i++)
        ASSERT(pdr_value_equal(part(c.state, same[i]), part(changed, same[i])));
    ASSERT(text_at(changed, "/schemaVersion", "1.7.3"));
    ASSERT_SIZE(5, pdr_value_count(pdr_state_entries(changed)));
    check_turn(changed, 3, "c2");
    ASSERT_SIZE(3, pdr_value_count(changed));
    ASSERT_SIZE(3, pdr_value_count(pdr_state_data(changed)));
    pdr_value_free(changed);
    unload(&c);
}

TEST(extra_counts_and_spelling, survive_a_turn)
{
    COVERS("D-3");
    COVERS("D-4");
    COVERS("D-5");
    pdr_value *state = json(
        "{\"schemaVersion\":\"1.1.0\",\"data\":{\"conversationHistory\":[{"
        "\"$type\":\"response\",\"usage\":{\"cachedInputTokenCount\":4},"
        "\"correlationId\":\"r\",\"createdAt\":\"2026-02-03T08:20:01.1234567Z\""
        ",\"messages\":[{\"role\":\"tool\",\"contents\":[{\"$type\":"
        "\"functionResult\",\"callId\":\"k\",\"result\":"
        "12345678901234567890.10}]}]}]}}");
    int64_t count = 0;

    add_turn(&state, "c");
    store_and_load(&state);
    const pdr_value *entry = part(state, HISTORY "/0");
    ASSERT(pdr_usage_count(&count, pdr_entry_usage(entry),
                           pdr_str_c("cachedInputTokenCount")));
    ASSERT_INT(4, count);
    ASSERT_JSON("{\"cachedInputTokenCount\":4}", pdr_entry_usage(entry));
    ASSERT_JSON("12345678901234567890.10",
                part(entry, "/messages/0/contents/0/result"));
    ASSERT_JSON("\"2026-02-03T08:20:01.1234567Z\"", part(entry, "/createdAt"));
    pdr_value_free(state);
}

TEST(orchestration_id, stays_null_and_is_not_added)
{
    COVERS("D-6");
    struct document a = load("sample-a.json");

    add_turn(&a.state, "c");
    store_and_load(&a.state);
    ASSERT_JSON("null", part(a.state, HISTORY "/0/orchestrationId"));
    ASSERT(pdr_value_get_c(part(a.state, HISTORY "/2"), "orchestrationId") ==
           NULL);
    unload(&a);
}

/* Name of the first member. */
static bool first_is_type(const pdr_value *object)
{
    pdr_iter it;

    pdr_iter_init(&it, object);
    return pdr_iter_next(&it) && pdr_value_text_is(it.name, pdr_str_c("$type"));
}

TEST(type, comes_first_in_what_we_make_and_stays_in_what_we_read)
{
    COVERS("D-7");
    struct document late = load("hostile-type-last.json");
    pdr_value *content = NULL;

    ASSERT_RC(PDR_OK, pdr_content_new_text(&content, PDR_SHAPE_STATE,
                                           pdr_str_c("new"), NULL));
    ASSERT(first_is_type(content));
    pdr_value *before = pdr_value_ref(pdr_state_entries(late.state));
    pdr_value *entry = new_entry(PDR_ENTRY_REQUEST, "n", 1);
    ASSERT(first_is_type(entry));
    ASSERT_RC(PDR_OK, pdr_state_append(&late.state, entry, NULL));
    store_and_load(&late.state);
    ASSERT(pdr_value_equal(pdr_value_at(before, 0),
                           part(late.state, HISTORY "/0")));
    ASSERT(!first_is_type(part(late.state, HISTORY "/0")));
    ASSERT(
        !first_is_type(part(late.state, HISTORY "/0/messages/0/contents/0")));
    ASSERT_INT(PDR_ENTRY_REQUEST,
               pdr_entry_kind_of(part(late.state, HISTORY "/0")));
    ASSERT_INT(PDR_CONTENT_TEXT,
               pdr_content_kind_of(
                   part(late.state, HISTORY "/0/messages/0/contents/0"),
                   PDR_SHAPE_STATE));
    pdr_value_free(entry);
    pdr_value_free(before);
    pdr_value_free(content);
    unload(&late);
}

/* --- dates ---------------------------------------------------------------- */

/* Is this `YYYY-MM-DDThh:mm:ss(.f{1,6})?` and `zone`, without a zero at the end
 * of the fraction? */
static bool is_our_date(const pdr_value *value, const char *zone)
{
    pdr_str text = {NULL, 0};
    const char *pattern = "dddd-dd-ddTdd:dd:dd";
    size_t at = strlen(pattern), digits = 0, end = 0;

    ASSERT_RC(PDR_OK, pdr_value_text(&text, value, NULL, NULL));
    end = text.len - strlen(zone);
    for (size_t i = 0; i < at; i++)
        if (pattern[i] == 'd' ? text.ptr[i] < '0' || text.ptr[i] > '9'
                              : text.ptr[i] != pattern[i])
            return false;
    if (at < end) {
        if (text.ptr[at++] != '.' || text.ptr[end - 1] == '0')
            return false;
        while (at < end && text.ptr[at] >= '0' && text.ptr[at] <= '9')
            at++, digits++;
        if (digits < 1 || digits > 6)
            return false;
    }
    return at == end && memcmp(text.ptr + end, zone, strlen(zone)) == 0;
}

TEST(date_of_ours, has_at_most_six_digits_and_no_zero_at_the_end)
{
    COVERS("D-16");
    COVERS("D-17");
    static const int64_t ticks[] = {
        10,           1,        9,
        10,           10000000, 12345670,
        99999999,     5000000,  INT64_C(638970000000000001),
        PDR_MAX_TICKS};

    for (size_t i = 0; i < PDR_COUNT(ticks); i++) {
        pdr_value *entry = new_entry(PDR_ENTRY_RESPONSE, "d", ticks[i]);
        pdr_value *state = NULL;

        ASSERT_RC(PDR_OK, pdr_state_new(&state, NULL));
        ASSERT_RC(PDR_OK, pdr_state_append(&state, entry, NULL));
        ASSERT_RC(PDR_OK, pdr_state_set_expiration(&state, ticks[i], NULL));
        store_and_load(&state);
        ASSERT(is_our_date(part(state, HISTORY "/0/createdAt"), "+00:00"));
        ASSERT(is_our_date(part(state, "/data/expirationTimeUtc"), "Z"));
        pdr_value_free(state);
        pdr_value_free(entry);
    }
}

TEST(date_in_a_document, is_read_in_every_usual_spelling)
{
    COVERS("D-18");
    static const struct {
        const char *text, *utc;
    } dates[] = {
        {"2025-11-04t19:33:05z", "2025-11-04T19:33:05Z"},
        {"2025-11-04 19:33", "2025-11-04T19:33:00Z"},
        {"2025-11-04T19:33:05.1234567890Z", "2025-11-04T19:33:05.123456Z"},
        {"2025-11-04T19:33:05+0530", "2025-11-04T14:03:05Z"},
    };

    for (size_t i = 0; i < PDR_COUNT(dates); i++) {
        char text[300], expected[100];
        pdr_datetime at;
        pdr_buf utc = PDR_BUF_INIT(100);
        snprintf(text, sizeof(text),
                 "{\"schemaVersion\":\"1.1.0\",\"data\":{"
                 "\"conversationHistory\":[{\"$type\":\"request\",\"createdAt\""
                 ":\"%s\"}],\"expirationTimeUtc\":\"%s\"}}",
                 dates[i].text, dates[i].text);
        pdr_value *state = json(text);
        add_turn(&state, "c");
        store_and_load(&state);
        ASSERT(pdr_entry_created_at(&at, part(state, HISTORY "/0")));
        ASSERT_RC(PDR_OK,
                  pdr_datetime_write(&utc, &at, PDR_DATETIME_OURS_Z, NULL));
        ASSERT_TEXT(dates[i].utc, pdr_buf_str(&utc));
        ASSERT(pdr_state_expiration(&at, state));
        snprintf(expected, sizeof(expected), "\"%s\"", dates[i].text);
        ASSERT_JSON(expected, part(state, HISTORY "/0/createdAt"));
        pdr_value_free(state);
        pdr_buf_dispose(&utc);
    }
}

TEST(date_that_cannot_be_read, fails_nothing_and_stays)
{
    COVERS("D-32");
    pdr_value *state =
        json("{\"schemaVersion\":\"1.1.0\",\"data\":{\"conversationHistory\":[{"
             "\"$type\":\"request\",\"createdAt\":\"last Tuesday\",\"messages\""
             ":[]}]}}");
    pdr_datetime at;

    add_turn(&state, "c");
    store_and_load(&state);
    ASSERT(!pdr_entry_created_at(&at, part(state, HISTORY "/0")));
    ASSERT_JSON("\"last Tuesday\"", part(state, HISTORY "/0/createdAt"));
    pdr_value_free(state);
}

/* --- the published sample ------------------------------------------------- */

struct tally {
    size_t calls, results;
    const pdr_value *call_id, *result_id;
};

static void tally_contents(struct tally *tally, const pdr_value *message)
{
    pdr_iter it;

    pdr_iter_init(&it, pdr_message_contents(message, PDR_SHAPE_STATE));
    while (pdr_iter_next(&it)) {
        pdr_content_kind kind = pdr_content_kind_of(it.value, PDR_SHAPE_STATE);
        const pdr_value *id =
            pdr_content_get(it.value, PDR_SHAPE_STATE, PDR_FIELD_CALL_ID);

        if (kind == PDR_CONTENT_CALL) {
            tally->calls++;
            tally->call_id = id;
        } else if (kind == PDR_CONTENT_RESULT) {
            tally->results++;
            tally->result_id = id;
        }
    }
}

TEST(published_sample, is_read_with_all_that_it_says)
{
    COVERS("D-19");
    struct document sample = load("published-sample.json");
    const pdr_value *entries = pdr_state_entries(sample.state);
    const pdr_value *ids[4];
    struct tally tally = {0, 0, NULL, NULL};
    int64_t first = 0, second = 0;
    pdr_iter entry, message;

    ASSERT_SIZE(4, pdr_value_count(entries));
    pdr_iter_init(&entry, entries);
    while (pdr_iter_next(&entry)) {
        ids[entry.index] = pdr_entry_correlation_id(entry.value);
        pdr_iter_init(&message, pdr_entry_messages(entry.value));
        while (pdr_iter_next(&message))
            tally_contents(&tally, message.value);
    }
    ASSERT(pdr_value_equal(ids[0], ids[1]) && pdr_value_equal(ids[2], ids[3]));
    ASSERT(!pdr_value_equal(ids[0], ids[2]));
    ASSERT(pdr_usage_count(&first, pdr_entry_usage(pdr_value_at(entries, 1)),
                           pdr_str_c("totalTokenCount")));
    ASSERT(pdr_usage_count(&second, pdr_entry_usage(pdr_value_at(entries, 3)),
                           pdr_str_c("totalTokenCount")));
    ASSERT_INT(658, first);
    ASSERT_INT(444, second);
    ASSERT_SIZE(1, tally.calls);
    ASSERT_SIZE(1, tally.results);
    ASSERT(pdr_value_equal(tally.call_id, tally.result_id));
    unload(&sample);
}

TEST(text_with_every_kind_of_escape, is_kept_through_load_and_store)
{
    COVERS("D-20");
    static const char expected[] =
        "' \" \" \xE2\x80\x99 \xE2\x80\x99 \xF0\x9F\x99\x82 "
        "\xF0\x9F\x99\x82 \0 / /";
    struct document doc = load("escapes.json");
    pdr_buf scratch = PDR_BUF_INIT(1000);
    pdr_str text = {NULL, 0}, before = {NULL, 0}, after = {NULL, 0};

    pdr_value *old = pdr_value_ref(part(doc.state, HISTORY "/0"));
    add_turn(&doc.state, "c");
    store_and_load(&doc.state);
    const pdr_value *now = part(doc.state, HISTORY "/0");
    ASSERT(pdr_value_raw(&before, old) && pdr_value_raw(&after, now));
    ASSERT_BYTES(before, after);
    ASSERT_RC(PDR_OK,
              pdr_value_text(&text, part(now, "/messages/0/contents/0/text"),
                             &scratch, NULL));
    ASSERT_BYTES(pdr_str_n(expected, sizeof(expected) - 1), text);
    pdr_buf_dispose(&scratch);
    pdr_value_free(old);
    unload(&doc);
}

/* --- what nobody knows ---------------------------------------------------- */

TEST(unknown_members, survive_ten_turns_at_every_level)
{
    COVERS("D-33");
    static const char *const extras[] = {
        "/rootExtra",
        "/data/dataExtra",
        HISTORY "/0/entryExtra",
        HISTORY "/0/messages/0/messageExtra",
        HISTORY "/0/messages/0/contents/0/contentExtra",
        HISTORY "/0/usage/usageExtra",
    };
    struct document doc = load("unknown-members.json");
    pdr_value *before = pdr_value_ref(doc.state);

    for (int i = 0; i < 10; i++) {
        add_turn(&doc.state, "c");
        ASSERT_RC(PDR_OK, pdr_state_set_expiration(&doc.state, i, NULL));
        store_and_load(&doc.state);
    }
    ASSERT_SIZE(22, pdr_value_count(pdr_state_entries(doc.state)));
    for (size_t i = 0; i < PDR_COUNT(extras); i++) {
        pdr_str old = {NULL, 0}, now = {NULL, 0};
        ASSERT(pdr_value_raw(&old, part(before, extras[i])));
        ASSERT(pdr_value_raw(&now, part(doc.state, extras[i])));
        ASSERT_BYTES(old, now);
    }
    pdr_value_free(before);
    unload(&doc);
}

TEST(unknown_entry_and_content, stay_where_they_are)
{
    COVERS("D-29");
    COVERS("D-30");
    struct document c = load("sample-c.json");

    add_turn(&c.state, "c2");
    store_and_load(&c.state);
    const pdr_value *note = part(c.state, HISTORY "/1");
    ASSERT_INT(PDR_ENTRY_OTHER, pdr_entry_kind_of(note));
    ASSERT_JSON(
        "{\"$type\":\"annotation\",\"by\":\"ops\",\"note\":\"checked\"}", note);
    const pdr_value *contents = pdr_message_contents(
        part(c.state, HISTORY "/0/messages/0"), PDR_SHAPE_STATE);
    ASSERT_INT(PDR_CONTENT_OTHER,
               pdr_content_kind_of(pdr_value_at(contents, 0), PDR_SHAPE_STATE));
    ASSERT_JSON("{\"$type\":\"hologram\",\"frames\":12}",
                pdr_value_at(contents, 0));
    ASSERT(pdr_value_text_is(pdr_content_get(pdr_value_at(contents, 1),
                                             PDR_SHAPE_STATE, PDR_FIELD_TEXT),
                             pdr_str_c("look")));
    unload(&c);
}

TEST(entry_of_an_older_edition, is_found_by_its_correlation_id)
{
    COVERS("D-31");
    struct document doc = load("hostile-json-type.json");
    size_t index = 9;

    ASSERT(pdr_state_find_response(&index, doc.state, pdr_str_c("j")) != NULL);
    ASSERT_SIZE(0, index);
    ASSERT(pdr_state_find_response(&index, doc.state, pdr_str_c("m")) != NULL);
    ASSERT_SIZE(2, index);
    ASSERT(pdr_state_find_response(&index, doc.state, pdr_str_c("k")) == NULL);
    unload(&doc);
}

TEST(lists_that_are_absent_or_null, read_as_empty_and_stay)
{
    COVERS("D-102");
    struct document lists = load("hostile-null-lists.json");
    struct document absent = load("data-empty.json");
    pdr_value *bare = json("{\"schemaVersion\":\"1.1.0\",\"data\":{"
                           "\"conversationHistory\":[{\"$type\":\"request\"},"
                           "{\"messages\":[{\"role\":\"user\"}]}]}}");
    struct document null = load("history-null.json");
    const pdr_value *entry = part(lists.state, HISTORY "/1");

    ASSERT_SIZE(0, pdr_value_count(pdr_entry_messages(entry)));
    ASSERT_SIZE(
        0, pdr_value_count(pdr_message_contents(
               part(lists.state, HISTORY "/2/messages/1"), PDR_SHAPE_STATE)));
    ASSERT_SIZE(0, pdr_value_count(pdr_state_entries(absent.state)));
    ASSERT_SIZE(0, pdr_value_count(pdr_state_entries(null.state)));
    add_turn(&lists.state, "c");
    store_and_load(&lists.state);
    ASSERT_JSON("null", part(lists.state, HISTORY "/1/messages"));
    ASSERT_JSON("null", part(lists.state, HISTORY "/2/messages/1/contents"));
    add_turn(&bare, "c");
    store_and_load(&bare);
    ASSERT_JSON("{\"$type\":\"request\"}", part(bare, HISTORY "/0"));
    ASSERT_JSON("{\"messages\":[{\"role\":\"user\"}]}",
                part(bare, HISTORY "/1"));
    pdr_value_free(bare);
    add_turn(&absent.state, "c");
    add_turn(&null.state, "c");
    ASSERT_SIZE(2, pdr_value_count(pdr_state_entries(absent.state)));
    ASSERT_SIZE(2, pdr_value_count(pdr_state_entries(null.state)));
    unload(&null);
    unload(&absent);
    unload(&lists);
}

TEST(version, is_raised_for_a_turn_that_an_orchestration_started)
{
    COVERS("D-28");
    struct document client = load("version-1.0.0.json");
    struct document orchestration = load("version-1.0.0.json");
    pdr_value *entry = json(state_orchestration_turn);

    add_turn(&client.state, "c");
    store_and_load(&client.state);
    ASSERT(text_at(client.state, "/schemaVersion", "1.0.0"));
    ASSERT_RC(PDR_OK, pdr_state_append(&orchestration.state, entry, NULL));
    store_and_load(&orchestration.state);
    ASSERT(text_at(orchestration.state, "/schemaVersion", "1.1.0"));
    pdr_value_free(entry);
    unload(&orchestration);
    unload(&client);
}
