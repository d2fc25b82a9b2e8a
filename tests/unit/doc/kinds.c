/*
 * Wrong kinds at every member: each part of a rich document is removed, and
 * replaced by a value of every JSON kind. Nothing that reads may fall over, the
 * gate says what the table of versions says, and a change is done, with
 * everything else as it was, or refused.
 */
#include "json_text.h"
#include "state_trip.h"
#include "test.h"

#include "base.h"

static const char rich[] =
    "{\"schemaVersion\":\"1.0.0\",\"tenant\":\"blue\",\"data\":{"
    "\"conversationHistory\":[{\"$type\":\"request\",\"orchestrationId\":"
    "\"o-1\",\"responseType\":\"json\",\"responseSchema\":{\"type\":\"object\"}"
    ",\"correlationId\":\"c1\",\"createdAt\":\"2026-01-01T00:00:00+00:00\","
    "\"messages\":[{\"authorName\":\"a\",\"createdAt\":\"2026-01-01T00:00:00Z\""
    ",\"contents\":[{\"$type\":\"text\",\"text\":\"t\"},{\"$type\":"
    "\"functionCall\",\"arguments\":{\"a\":1},\"callId\":\"k\",\"name\":\"f\"},"
    "{\"$type\":\"functionResult\",\"callId\":\"k\",\"result\":1.10}],\"role\":"
    "\"user\"}]},{\"json_type\":\"response\",\"usage\":{\"inputTokenCount\":1,"
    "\"extensionData\":{\"cache_read_input_token_count\":2},"
    "\"additionalCounts\":{\"x\":3}},\"isError\":true,\"correlationId\":\"c1\","
    "\"createdAt\":\"2026-01-01\",\"messages\":[{\"contents\":[{\"$type\":"
    "\"error\",\"message\":\"m\"}],\"role\":\"assistant\"}]},{\"$type\":"
    "\"note\",\"by\":\"ops\"}],\"expirationTimeUtc\":\"2026-01-02T00:00:00Z\","
    "\"pinned\":true}}";

/* In the place of a part; NULL removes it. */
static const char *const kinds[] = {NULL,    "null",      "true",
                                    "-7",    "1e400",     "\"\"",
                                    "\"x\"", "[]",        "[null,\"x\",{}]",
                                    "{}",    "{\"x\":[]}"};

/* What the gate says if `kind` stands at `pointer`, "" if it lets it pass. */
static const char *expected_reason(const char *pointer, const char *kind)
{
    bool object = kind != NULL && kind[0] == '{';

    if (pointer[0] == '\0')
        return object ? "schema_version_missing" : "state_not_json";
    if (strcmp(pointer, "/schemaVersion") == 0)
        return kind == NULL ? "schema_version_missing"
                            : "schema_version_invalid";
    if (strcmp(pointer, "/data") == 0)
        return kind == NULL                          ? "data_missing"
               : object || strcmp(kind, "null") == 0 ? ""
                                                     : "data_invalid";
    return "";
}

/* --- reading everything --------------------------------------------------- */

static pdr_rc count_usage(pdr_str name, int64_t count, pdr_err *err, void *arg)
{
    (void)name;
    (void)count;
    (void)err;
    ++*(size_t *)arg;
    return PDR_OK;
}

/* Look at whatever is there; what is given back belongs to the right kind. */
static void read_entry(const pdr_value *entry)
{
    const pdr_value *id = pdr_entry_correlation_id(entry);
    const pdr_value *usage = pdr_entry_usage(entry);
    pdr_iter message, content;
    pdr_datetime at;
    int64_t count = 0;
    size_t counts = 0;

    ASSERT(id == NULL || pdr_value_kind(id) == PDR_STRING);
    ASSERT(usage == NULL || pdr_value_kind(usage) == PDR_OBJECT);
    (void)pdr_entry_created_at(&at, entry);
    (void)pdr_entry_orchestration_id(entry);
    (void)pdr_entry_response_type(entry);
    (void)pdr_entry_response_schema(entry);
    (void)pdr_entry_is_error(entry);
    (void)pdr_usage_count(&count, usage, pdr_str_c("cachedInputTokenCount"));
    ASSERT_RC(PDR_OK, pdr_usage_each(usage, NULL, count_usage, &counts));
    pdr_iter_init(&message, pdr_entry_messages(entry));
    while (pdr_iter_next(&message)) {
        (void)pdr_message_role(message.value, PDR_SHAPE_STATE);
        (void)pdr_message_author(message.value, PDR_SHAPE_STATE);
        (void)pdr_message_created_at(&at, message.value, PDR_SHAPE_STATE);
        pdr_iter_init(&content,
                      pdr_message_contents(message.value, PDR_SHAPE_STATE));
        while (pdr_iter_next(&content))
            (void)pdr_content_kind_of(content.value, PDR_SHAPE_STATE);
    }
}

static void read_everything(const pdr_value *state)
{
    pdr_datetime at;
    pdr_iter it;

    (void)pdr_state_expiration(&at, state);
    (void)pdr_state_find_response(NULL, state, pdr_str_c("c1"));
    pdr_iter_init(&it, pdr_state_entries(state));
    while (pdr_iter_next(&it))
        read_entry(it.value);
}

/* --- every part ----------------------------------------------------------- */

static void check_variant(const char *pointer, const char *kind,
                          const pdr_value *variant)
{
    const char *expected = expected_reason(pointer, kind);
    struct roundtrip_report report = {""};
    pdr_buf text = PDR_BUF_INIT(10000);
    pdr_err err = PDR_ERR_INIT;
    bool passes = pdr_state_gate(variant, &err) == PDR_OK;

    if (strcmp(expected, passes ? "" : err.reason) != 0)
        fail_msg("%s with %s: expected '%s', got '%s'", pointer,
                 kind != NULL ? kind : "nothing", expected, err.reason);
    read_everything(variant);
    ASSERT_RC(PDR_OK, pdr_json_write(&text, variant, NULL, NULL));
    if (passes && !state_check(&report, &state_ours, pdr_buf_str(&text)))
        fail_msg("%s with %s: %s", pointer, kind != NULL ? kind : "nothing",
                 report.text);
    pdr_buf_dispose(&text);
}

static size_t variants;

static void check_part(const char *pointer)
{
    for (size_t i = 0; i < PDR_COUNT(kinds); i++) {
        pdr_value *variant = json(rich);
        pdr_value *put = kinds[i] != NULL ? json(kinds[i]) : NULL;
        pdr_str place = pdr_str_c(pointer);

        if (put != NULL)
            ASSERT_RC(PDR_OK, pdr_pointer_set(&variant, place, put, NULL));
        else if (place.len > 0)
            ASSERT_RC(PDR_OK, pdr_pointer_remove(&variant, place, NULL));
        if (put != NULL || place.len > 0) {
            check_variant(pointer, kinds[i], variant);
            variants++;
        }
        pdr_value_free(put);
        pdr_value_free(variant);
    }
}

static void check_parts(pdr_buf *pointer, const pdr_value *value)
{
    pdr_buf name = PDR_BUF_INIT(100);
    size_t len = pointer->len;
    pdr_iter it;

    check_part(pointer->ptr != NULL ? pointer->ptr : "");
    pdr_iter_init(&it, value);
    while (pdr_iter_next(&it)) {
        pdr_str token = {NULL, 0};
        pdr_buf_clear(&name);
        if (it.name != NULL) {
            ASSERT_RC(PDR_OK, pdr_value_text(&token, it.name, &name, NULL));
        } else {
            ASSERT_RC(PDR_OK, pdr_buf_printf(&name, NULL, "%zu", it.index));
            token = pdr_buf_str(&name);
        }
        ASSERT_RC(PDR_OK, pdr_pointer_push(pointer, token, NULL));
        ASSERT_RC(PDR_OK, pdr_buf_reserve(pointer, 1, NULL));
        pointer->ptr[pointer->len] = '\0';
        check_parts(pointer, it.value);
        pointer->len = len;
        pointer->ptr[len] = '\0';
    }
    pdr_buf_dispose(&name);
}

TEST(state, stands_wrong_kinds_at_every_member)
{
    pdr_value *document = json(rich);
    pdr_buf pointer = PDR_BUF_INIT(1000);

    variants = 0;
    check_parts(&pointer, document);
    ASSERT(variants > 500);
    pdr_buf_dispose(&pointer);
    pdr_value_free(document);
}
