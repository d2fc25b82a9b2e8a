/* The golden session as C objects: 2,000 messages, 550 objects, plain data. */
#include "test.h"

#include "../../bench/session_types.h"
#include "base.h"

#define GOLDEN_BYTES 1646296
static const char golden_digest[] =
    "62ac3b0eb8a7dfce81b555bc955d8468fee471b742a4dc825838bd9d9bed224a";

/* --- helpers ---------------------------------------------------------------
 */

static pdr_session *session_of(const struct work_objects *objects)
{
    pdr_session *session = NULL;

    ASSERT_RC(PDR_OK, work_session(&session, NULL));
    ASSERT_RC(PDR_OK, work_encode(session, objects, PDR_REPLACE, NULL));
    return session;
}

static pdr_session *session_from(pdr_str text)
{
    pdr_value *value = NULL;
    pdr_session *session = NULL;

    ASSERT_RC(PDR_OK, pdr_json_read(&value, text, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_session_from_value(&session, value, NULL));
    pdr_value_free(value);
    return session;
}

static pdr_buf written(pdr_session *session)
{
    pdr_value *value = NULL;
    pdr_buf out = PDR_BUF_INIT(1u << 24);

    ASSERT_RC(PDR_OK, pdr_session_to_value(&value, session, NULL));
    ASSERT_RC(PDR_OK, pdr_json_write(&out, value, NULL, NULL));
    pdr_value_free(value);
    return out;
}

/* The document of a small session of the same kind. */
static pdr_buf small_text(void)
{
    struct work_objects objects;
    pdr_session *session = NULL;

    ASSERT(work_build(&objects, 40, 20));
    session = session_of(&objects);
    pdr_buf text = written(session);
    pdr_session_free(session);
    work_free(&objects);
    return text;
}

/* `text` with the first `from` replaced. */
static pdr_buf replaced(pdr_str text, const char *from, const char *to)
{
    pdr_buf out = PDR_BUF_INIT(1u << 24);
    const char *at = memmem(text.ptr, text.len, from, strlen(from));

    ASSERT(at != NULL);
    size_t before = (size_t)(at - text.ptr), behind = before + strlen(from);
    ASSERT_RC(PDR_OK, pdr_buf_append(&out, pdr_str_n(text.ptr, before), NULL));
    ASSERT_RC(PDR_OK, pdr_buf_append(&out, pdr_str_c(to), NULL));
    ASSERT_RC(PDR_OK,
              pdr_buf_append(
                  &out, pdr_str_n(text.ptr + behind, text.len - behind), NULL));
    return out;
}

/* Write each slot as the object that was read from it. */
static void write_back(pdr_session *session)
{
    pdr_object *handles[WORK_SLOTS];
    pdr_bag *bag = pdr_session_bag(session);

    ASSERT_RC(PDR_OK, work_decode(handles, session, NULL));
    for (int slot = 0; slot < WORK_SLOTS; slot++)
        ASSERT_RC(PDR_OK,
                  pdr_bag_set_typed(bag, pdr_str_c(work_slots[slot].key),
                                    &work_slots[slot].type,
                                    pdr_object_get(handles[slot]), PDR_OVERLAY,
                                    NULL));
    work_release(handles);
}

/* --- tests -----------------------------------------------------------------
 */

TEST(workload, encodes_objects_to_the_golden_document)
{
    struct work_objects objects;
    uint8_t digest[PDR_SHA256_BYTES];
    char hex[2 * PDR_SHA256_BYTES + 1];

    ASSERT(work_build(&objects, WORK_MESSAGES, WORK_OBJECTS));
    ASSERT(work_check((const void *const *)objects.of) == NULL);
    pdr_session *session = session_of(&objects);
    pdr_buf text = written(session);
    ASSERT_SIZE(GOLDEN_BYTES, text.len);
    ASSERT_RC(PDR_OK, pdr__sha256(digest, pdr_buf_str(&text), NULL));
    for (size_t i = 0; i < sizeof(digest); i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    ASSERT_STR(golden_digest, hex);
    pdr_buf_dispose(&text);
    pdr_session_free(session);
    work_free(&objects);
}

TEST(workload, decodes_the_document_to_the_objects_it_was_made_from)
{
    struct work_objects objects;
    pdr_object *handles[WORK_SLOTS];
    const void *found[WORK_SLOTS];

    ASSERT(work_build(&objects, WORK_MESSAGES, WORK_OBJECTS));
    pdr_session *first = session_of(&objects);
    pdr_buf text = written(first);
    pdr_session *second = session_from(pdr_buf_str(&text));
    ASSERT_RC(PDR_OK, work_decode(handles, second, NULL));
    for (int slot = 0; slot < WORK_SLOTS; slot++)
        found[slot] = pdr_object_get(handles[slot]);
    const char *wrong = work_check(found);
    ASSERT_STR("", wrong != NULL ? wrong : "");
    work_release(handles);
    pdr_session_free(second);
    pdr_session_free(first);
    pdr_buf_dispose(&text);
    work_free(&objects);
}

/* Everything was read as objects and written as objects, and yet nothing that
 * the types do not know, and no spelling, got lost. */
TEST(workload, comes_back_byte_for_byte_if_no_object_changed)
{
    pdr_buf plain = small_text();
    pdr_buf spelled =
        replaced(pdr_buf_str(&plain), "\"scores\":[0.1,", "\"scores\":[1e-1,");
    pdr_buf unknown = replaced(pdr_buf_str(&spelled), "\"role\":\"user\",",
                               "\"mood\":[ 1,\"\\u0041\"],\"role\":\"user\",");
    pdr_session *session = session_from(pdr_buf_str(&unknown));

    write_back(session);
    pdr_buf text = written(session);
    /* White space is not kept by a compact writer; nothing else changes. */
    pdr_buf expected =
        replaced(pdr_buf_str(&unknown), "[ 1,\"\\u0041\"]", "[1,\"\\u0041\"]");
    ASSERT_BYTES(pdr_buf_str(&expected), pdr_buf_str(&text));
    pdr_buf_dispose(&expected);
    pdr_buf_dispose(&text);
    pdr_session_free(session);
    pdr_buf_dispose(&unknown);
    pdr_buf_dispose(&spelled);
    pdr_buf_dispose(&plain);
}

static pdr_rc rename_author(void **io, pdr_err *err, void *arg)
{
    struct work_history *history = *io;
    struct work_message *messages = history->messages.items;

    (void)err;
    (void)arg;
    messages[7].author_name = pdr_str_c("nobody");
    return PDR_OK;
}

TEST(workload, changes_only_what_changed_in_an_object)
{
    pdr_buf plain = small_text();
    pdr_buf before =
        replaced(pdr_buf_str(&plain), "\"author_name\":\"participant-0\",",
                 "\"author_name\":\"participant-0\",\"x\":1.0,");
    pdr_session *session = session_from(pdr_buf_str(&before));
    const struct work_slot_type *slot = &work_slots[WORK_HISTORY];

    ASSERT_RC(PDR_OK, pdr_bag_update_typed(pdr_session_bag(session),
                                           pdr_str_c(slot->key), &slot->type,
                                           NULL, rename_author, NULL));
    pdr_buf text = written(session);
    pdr_buf expected = replaced(pdr_buf_str(&before),
                                "\"participant-0\",\"additional_properties\":"
                                "{\"sequence\":7,",
                                "\"nobody\",\"additional_properties\":"
                                "{\"sequence\":7,");
    ASSERT_BYTES(pdr_buf_str(&expected), pdr_buf_str(&text));
    pdr_buf_dispose(&expected);
    pdr_buf_dispose(&text);
    pdr_session_free(session);
    pdr_buf_dispose(&before);
    pdr_buf_dispose(&plain);
}

TEST(workload, refuses_a_slot_that_is_no_such_object)
{
    static const char *const wrong[][2] = {
        {"\"in_memory\":{", "\"in_memory\":[],\"old\":{"},
        {"\"flags\":[true,", "\"flags\":[1,"},
        {"\"scores\":[", "\"scores\":7,\"old\":["},
        {"\"counters\":[0,", "\"counters\":[0.5,"},
        {"\"sampled\":true", "\"sampled\":\"yes\""}};
    pdr_buf text = small_text();

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        pdr_buf bad = replaced(pdr_buf_str(&text), wrong[i][0], wrong[i][1]);
        pdr_session *session = session_from(pdr_buf_str(&bad));
        pdr_object *handles[WORK_SLOTS];
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID, work_decode(handles, session, &err));
        ASSERT_STR("state_decode", err.reason);
        pdr_session_free(session);
        pdr_buf_dispose(&bad);
    }
    pdr_buf_dispose(&text);
}
