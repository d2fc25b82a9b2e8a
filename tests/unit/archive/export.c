/* A session in a store, written as one document. */
#include "archive_hand.h"

#define MESSAGE(text)                                                       \
    "{\"role\":\"user\",\"contents\":[{\"$type\":\"text\",\"text\":\"" text \
    "\"}]}"

/* The frame of a .NET session, with its history between two members. */
#define DOTNET                                                            \
    "{\"frame\":1,\"shape\":\"dotnet\",\"pieces\":["                      \
    "\"{\\\"conversationId\\\":null, \",\"\\\"stateBag\\\": \","          \
    "{\"members\":{\"of\":\"bag\",\"list\":["                             \
    "{\"before\":\" \",\"name\":\"\\\"a\\\" : \",\"after\":\"\\t\","      \
    "\"key\":\"a\"},"                                                     \
    "{\"before\":\"\",\"name\":\"\\\"InMemoryChatHistoryProvider\\\":\"," \
    "\"after\":\"\",\"pieces\":[\"{\\\"messages\\\":\",{\"entries\":"     \
    "{\"open\":\"[ \",\"first\":\"\",\"usual\":\", \",\"close\":\"]\","   \
    "\"empty\":\"[ ]\"}},\"}\"]},"                                        \
    "{\"before\":\"\\n\",\"name\":\"\\\"z\\\":  \",\"after\":\"\\r\\n\"," \
    "\"key\":\"z\"}]}},"                                                  \
    "\", \\\"x\\\":1.50}\\n\"]}"

/* A state document. */
#define STATE                                                              \
    "{\"frame\":1,\"shape\":\"state\",\"pieces\":["                        \
    "\"{\\\"schemaVersion\\\":\\\"1.0\\\",\\\"data\\\":{"                  \
    "\\\"conversationHistory\\\":\",{\"entries\":{\"open\":\"[\","         \
    "\"first\":\"\",\"usual\":\",\",\"close\":\"]\",\"empty\":\"null\"}}," \
    "\"},\\\"more\\\":[]}\"]}"

/* A session of the Python shape in a wrapper, without properties so far. */
#define WRAPPER                                                              \
    "{\"frame\":1,\"shape\":\"python\",\"pieces\":["                         \
    "\"{ \\\"session\\\": \",{\"session\":["                                 \
    "\"{\\\"session_id\\\":\\\"p\\\",\\\"state\\\":\","                      \
    "{\"members\":{\"of\":\"bag\",\"blank\":\" \",\"list\":["                \
    "{\"before\":\"\",\"name\":\"\\\"in_memory\\\":\",\"after\":\"\","       \
    "\"pieces\":[{\"entries\":{\"open\":\"{\\\"messages\\\":[\","            \
    "\"first\":\"\",\"usual\":\",\",\"close\":\"]}\",\"empty\":\"\"}}]}]}}," \
    "\"}\"]},"                                                               \
    "{\"members\":{\"of\":\"properties\",\"open\":\","                       \
    "\\\"additionalProperties\\\":\",\"close\":\"\",\"empty\":\"\","         \
    "\"list\":[]}},"                                                         \
    "\" }\"]}"

/* A thread of the time before sessions had a bag. */
#define THREAD                                                        \
    "{\"frame\":1,\"shape\":\"dotnet\",\"pieces\":["                  \
    "\"{\\\"storeState\\\":{\\\"messages\\\":\",{\"entries\":"        \
    "{\"open\":\"[\",\"first\":\"\",\"usual\":\",\",\"close\":\"]\"," \
    "\"empty\":\"[]\"}},\"}}\"]}"

/* --- rows in their places ------------------------------------------------- */

static const struct hand dotnet = {
    .id = "d",
    .frame = DOTNET,
    .entries = {{MESSAGE("one"), PDR_ROW_MESSAGE, PDR_ROW_DOTNET, NULL},
                {MESSAGE("two"), PDR_ROW_MESSAGE, PDR_ROW_DOTNET, NULL},
                {MESSAGE("three"), PDR_ROW_MESSAGE, PDR_ROW_DOTNET, " ,\n"}},
    .slots = {{"z", "[ 1 ]"}, {"a", "{\"n\": 1e0}"}}};

TEST(export_frame, puts_rows_into_their_places)
{
    hand_expect("{\"conversationId\":null, \"stateBag\": { \"a\" : "
                "{\"n\": 1e0}\t,\"InMemoryChatHistoryProvider\":{\"messages\":"
                "[ " MESSAGE("one") ", " MESSAGE("two") " ,\n" MESSAGE(
                    "three") "]},\n\"z\":  [ 1 ]\r\n}, \"x\":1.50}\n",
                &dotnet);
}

TEST(export_frame, tells_what_it_wrote)
{
    pdr_store *store = hand_store(&dotnet);
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    pdr_export_report report = {0};

    ASSERT_RC(PDR_OK, hand_export(&out, store, "d", false, &report, NULL));
    ASSERT_INT(1, report.revision);
    ASSERT_INT(3, report.entries);
    ASSERT_INT(2, report.slots);
    ASSERT_INT(0, report.properties);
    ASSERT_INT(out.len, report.bytes);
    pdr_buf_dispose(&out);
    pdr_store_close(store);
}

/* A pdr_export_head_fn: only the revision that `arg` points to. */
static pdr_rc one_revision(const pdr_head *head, pdr_err *err, void *arg)
{
    const uint64_t *wanted = arg;

    (void)err;
    return head->revision == *wanted ? PDR_OK : PDR_EBUSY;
}

TEST(export_frame, shows_the_head_before_the_first_byte)
{
    pdr_store *store = hand_store(&dotnet);
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    uint64_t wanted = 2;
    const pdr_export_opts opts = {.ref.id = pdr_str_c("d"),
                                  .bare = true,
                                  .on_head = one_revision,
                                  .head_arg = &wanted};

    ASSERT_RC(PDR_EBUSY,
              pdr_export(NULL, store, &opts, NULL, pdr_write_buf, &out));
    ASSERT_INT(0, out.len);
    wanted = 1;
    ASSERT_RC(PDR_OK,
              pdr_export(NULL, store, &opts, NULL, pdr_write_buf, &out));
    ASSERT(out.len > 0);
    pdr_buf_dispose(&out);
    pdr_store_close(store);
}

TEST(export_frame, leaves_out_rows_that_are_gone)
{
    pdr_store *store = hand_store(&dotnet);
    const struct hand gone = {
        .id = "d", .revision = 1, .slots = {{"a", NULL}, {"z", NULL}}};

    hand_commit(store, &gone);
    hand_cut(store, "d", 2);
    hand_expect_in(
        "{\"conversationId\":null, \"stateBag\": {"
        "\"InMemoryChatHistoryProvider\":{\"messages\":[  \n" MESSAGE(
            "three") "]}\r\n}, \"x\":1.50}\n",
        store, "d");
    hand_cut(store, "d", 3);
    hand_expect_in("{\"conversationId\":null, \"stateBag\": {"
                   "\"InMemoryChatHistoryProvider\":{\"messages\":[ ]}\r\n}, "
                   "\"x\":1.50}\n",
                   store, "d");
    pdr_store_close(store);
}

TEST(export_frame, puts_new_rows_behind_in_the_order_of_keys)
{
    pdr_store *store = hand_store(&dotnet);
    const struct hand more = {
        .id = "d",
        .revision = 1,
        .slots = {{"zz", "true"}, {"b\\u0000", "2"}, {"a", NULL}}};

    hand_commit(store, &more);
    hand_cut(store, "d", 3);
    hand_expect_in("{\"conversationId\":null, \"stateBag\": {"
                   "\"InMemoryChatHistoryProvider\":{\"messages\":[ ]},\n"
                   "\"z\":  [ 1 ],\n\"b\\u0000\":  2,\n\"zz\":  true\r\n}, "
                   "\"x\":1.50}\n",
                   store, "d");
    pdr_store_close(store);
}

TEST(export_frame, puts_new_entries_behind_with_the_usual_separator)
{
    pdr_store *store = hand_store(&dotnet);
    const struct hand more = {
        .id = "d",
        .revision = 1,
        .entries = {{"{}", PDR_ROW_REQUEST, PDR_ROW_DOTNET, NULL},
                    {"{ }", PDR_ROW_RESPONSE, PDR_ROW_DOTNET, "\n"}},
        .slots = {{"a", NULL}, {"z", NULL}}};

    hand_commit(store, &more);
    hand_cut(store, "d", 2);
    hand_expect_in(
        "{\"conversationId\":null, \"stateBag\": {"
        "\"InMemoryChatHistoryProvider\":{\"messages\":[  \n" MESSAGE(
            "three") ", {},\n{ }]}\r\n}, \"x\":1.50}\n",
        store, "d");
    pdr_store_close(store);
}

TEST(export_frame, lets_older_values_of_a_name_go_with_its_row)
{
    static const char frame[] =
        "{\"frame\":1,\"shape\":\"dotnet\",\"pieces\":[\"{\\\"stateBag\\\":\","
        "{\"members\":{\"of\":\"bag\",\"list\":["
        "{\"before\":\"\",\"name\":\"\\\"a\\\":\",\"after\":\"\",\"key\":\"a\","
        "\"pieces\":[\"1\"]},"
        "{\"before\":\"\",\"name\":\"\\\"h\\\":\",\"after\":\"\","
        "\"pieces\":[{\"entries\":{\"open\":\"[\",\"first\":\"\",\"usual\":\","
        "\",\"close\":\"]\",\"empty\":\"\"}}]},"
        "{\"before\":\"\",\"name\":\"\\\"\\\\u0061\\\":\",\"after\":\"\","
        "\"key\":\"a\"}]}},\"}\"]}";
    const struct hand twice = {
        .id = "t", .frame = frame, .slots = {{"a", "2"}}};
    const struct hand gone = {.id = "t", .revision = 1, .slots = {{"a", NULL}}};
    const struct hand again = {.id = "t", .revision = 2, .slots = {{"a", "3"}}};
    pdr_store *store = hand_store(&twice);

    hand_expect_in("{\"stateBag\":{\"a\":1,\"\\u0061\":2}}", store, "t");
    hand_commit(store, &gone);
    hand_expect_in("{\"stateBag\":{}}", store, "t");
    hand_commit(store, &again);
    hand_expect_in("{\"stateBag\":{\"a\":1,\"\\u0061\":3}}", store, "t");
    pdr_store_close(store);
}

/* --- wrappers ------------------------------------------------------------- */

TEST(export_wrapper, comes_back_as_it_was)
{
    const struct hand plain = {.id = "p", .frame = WRAPPER};

    hand_expect("{ \"session\": {\"session_id\":\"p\",\"state\":{ }} }",
                &plain);
    hand_expect_bare("{\"session_id\":\"p\",\"state\":{ }}", &plain);
}

TEST(export_wrapper, takes_properties_and_a_bag_that_came_later)
{
    const struct hand full = {
        .id = "p",
        .frame = WRAPPER,
        .slots = {{"k", "1"}},
        .properties = {{"b\"\x01", "null"}, {"a", "\"v\""}}};

    hand_expect("{ \"session\": {\"session_id\":\"p\",\"state\":{\"k\":1}},"
                "\"additionalProperties\":{\"a\":\"v\",\"b\\\"\\u0001\":null}"
                " }",
                &full);
    hand_expect_bare("{\"session_id\":\"p\",\"state\":{\"k\":1}}", &full);
}

TEST(export_wrapper, is_made_for_properties_that_have_no_place)
{
    const struct hand wrapped = {
        .id = "w", .frame = THREAD, .properties = {{"n", "7"}}};

    hand_expect("{\"session\":{\"storeState\":{\"messages\":[]}},"
                "\"additionalProperties\":{\"n\":7}}",
                &wrapped);
    hand_expect_bare("{\"storeState\":{\"messages\":[]}}", &wrapped);
}

/* --- state documents ------------------------------------------------------ */

TEST(export_state, comes_back_as_it_was)
{
    const struct hand none = {.id = "@dafx-a@k", .frame = STATE};
    const struct hand some = {
        .id = "@dafx-a@k",
        .frame = STATE,
        .entries = {
            {"{\"$type\":\"request\"}", PDR_ROW_REQUEST, PDR_ROW_STATE, NULL},
            {"{ }", PDR_ROW_OTHER, PDR_ROW_STATE, ", "}}};

    hand_expect("{\"schemaVersion\":\"1.0\",\"data\":{"
                "\"conversationHistory\":null},\"more\":[]}",
                &none);
    hand_expect("{\"schemaVersion\":\"1.0\",\"data\":{"
                "\"conversationHistory\":[{\"$type\":\"request\"}, { }]},"
                "\"more\":[]}",
                &some);
}

TEST(export_state, stands_in_a_bundle_when_it_has_got_a_bag)
{
    const struct hand bag = {
        .id = "@dafx-a@k", .frame = STATE, .slots = {{"m", "1"}}};

    hand_expect("{\"perdure\":{\"version\":\"1.0.0\",\"kind\":\"durable\","
                "\"document\":{\"schemaVersion\":\"1.0\",\"data\":{"
                "\"conversationHistory\":null},\"more\":[]}},"
                "\"sessionId\":\"@dafx-a@k\",\"stateBag\":{\"m\":1}}",
                &bag);
    hand_expect_bare("{\"perdure\":{\"version\":\"1.0.0\",\"kind\":\"durable\","
                     "\"document\":{\"schemaVersion\":\"1.0\",\"data\":{"
                     "\"conversationHistory\":null},\"more\":[]}},"
                     "\"sessionId\":\"@dafx-a@k\",\"stateBag\":{\"m\":1}}",
                     &bag);
}

TEST(export_state, stands_in_a_bundle_and_a_wrapper_when_it_has_properties)
{
    const struct hand both = {
        .id = "@dafx-a@k", .frame = STATE, .properties = {{"p", "1"}}};

    hand_expect("{\"session\":{\"perdure\":{\"version\":\"1.0.0\","
                "\"kind\":\"durable\",\"document\":{\"schemaVersion\":\"1.0\","
                "\"data\":{\"conversationHistory\":null},\"more\":[]}},"
                "\"sessionId\":\"@dafx-a@k\",\"stateBag\":{}},"
                "\"additionalProperties\":{\"p\":1}}",
                &both);
    hand_expect_bare("{\"schemaVersion\":\"1.0\",\"data\":{"
                     "\"conversationHistory\":null},\"more\":[]}",
                     &both);
}

/* --- entries of another shape --------------------------------------------- */

#define REQUEST                                                              \
    "{\"$type\":\"request\",\"correlationId\":\"c\",\"createdAt\":"          \
    "\"2026-03-01T10:00:00+00:00\",\"messages\":[{\"contents\":[{\"$type\":" \
    "\"text\",\"text\":\"one\"}],\"role\":\"user\"},{\"contents\":[],"       \
    "\"role\":\"system\"}]}"

TEST(export_shape, makes_messages_of_an_entry)
{
    const struct hand net = {
        .id = "n",
        .frame = THREAD,
        .entries = {
            {REQUEST, PDR_ROW_REQUEST, PDR_ROW_STATE, " "},
            {"{\"messages\":null}", PDR_ROW_RESPONSE, PDR_ROW_STATE, NULL},
            {"{}", PDR_ROW_RESPONSE, PDR_ROW_STATE, NULL},
            {"{\"role\":\"user\",\"contents\":[]}", PDR_ROW_MESSAGE,
             PDR_ROW_DOTNET, NULL}}};
    const struct hand py = {
        .id = "p",
        .frame = WRAPPER,
        .entries = {{REQUEST, PDR_ROW_RESPONSE, PDR_ROW_STATE, NULL},
                    {"{\"role\":\"user\",\"contents\":[]}", PDR_ROW_MESSAGE,
                     PDR_ROW_DOTNET, NULL}}};

    hand_expect("{\"storeState\":{\"messages\":[ "
                "{\"role\":\"user\",\"contents\":[{\"$type\":\"text\","
                "\"text\":\"one\"}]},{\"role\":\"system\",\"contents\":[]},"
                "{\"role\":\"user\",\"contents\":[]}]}}",
                &net);
    hand_expect(
        "{ \"session\": {\"session_id\":\"p\",\"state\":{\"in_memory\":"
        "{\"messages\":[{\"role\":\"user\",\"contents\":[{\"type\":\"text\","
        "\"text\":\"one\",\"additional_properties\":{}}],"
        "\"additional_properties\":{},\"type\":\"message\"},"
        "{\"role\":\"system\",\"contents\":[],\"additional_properties\":{},"
        "\"type\":\"message\"},{\"role\":\"user\",\"contents\":[],"
        "\"additional_properties\":{},\"type\":\"message\"}]}}} }",
        &py);
}

static void refuse(const struct hand *hand, const char *says)
{
    pdr_store *store = hand_store(hand);
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID,
              hand_export(&out, store, hand->id, false, NULL, &err));
    ASSERT_STR("cannot_export", err.reason);
    if (strstr(err.message, says) == NULL)
        fail_msg("'%s' is not in '%s'", says, err.message);
    pdr_buf_dispose(&out);
    pdr_store_close(store);
}

TEST(export_shape, refuses_an_entry_that_has_no_form_there)
{
    const struct hand message = {
        .id = "@dafx-a@k",
        .frame = STATE,
        .entries = {{"{}", PDR_ROW_REQUEST, PDR_ROW_STATE, NULL},
                    {"{}", PDR_ROW_MESSAGE, PDR_ROW_DOTNET, NULL}}};
    const struct hand record = {
        .id = "t",
        .frame = THREAD,
        .entries = {{"{}", PDR_ROW_RECORD, PDR_ROW_STATE, NULL}}};
    const struct hand no_list = {
        .id = "t",
        .frame = THREAD,
        .entries = {
            {"{\"messages\":5}", PDR_ROW_REQUEST, PDR_ROW_STATE, NULL}}};
    const struct hand no_json = {
        .id = "t",
        .frame = THREAD,
        .entries = {
            {"{\"messages\" 5}", PDR_ROW_REQUEST, PDR_ROW_STATE, NULL}}};

    refuse(&message, "entry 2 is a message alone");
    refuse(&record, "entry 1 is neither a request nor a response");
    refuse(&no_list, "entry 1 has messages that are no list");
    refuse(&no_json, "entry 1 is no JSON");
}

TEST(export_shape, refuses_a_kind_that_has_no_form_there_in_the_same_shape)
{
    const struct hand record = {
        .id = "t",
        .frame = THREAD,
        .entries = {
            {MESSAGE("one"), PDR_ROW_MESSAGE, PDR_ROW_DOTNET, NULL},
            {"{\"turn\":\"begin\"}", PDR_ROW_RECORD, PDR_ROW_DOTNET, NULL}}};
    const struct hand other = {
        .id = "d",
        .frame = DOTNET,
        .entries = {{"{}", PDR_ROW_OTHER, PDR_ROW_DOTNET, NULL}}};
    const struct hand python = {
        .id = "p",
        .frame = WRAPPER,
        .entries = {{"{}", PDR_ROW_RECORD, PDR_ROW_PYTHON, NULL}}};
    const struct hand foreign = {
        .id = "p",
        .frame = WRAPPER,
        .entries = {{"{}", PDR_ROW_OTHER, PDR_ROW_DOTNET, NULL}}};
    const struct hand made = {
        .id = "c",
        .kind = "client",
        .entries = {{"{}", PDR_ROW_RECORD, PDR_ROW_DOTNET, NULL}}};
    const struct hand message = {
        .id = "@dafx-a@k",
        .frame = STATE,
        .entries = {{MESSAGE("one"), PDR_ROW_MESSAGE, PDR_ROW_STATE, NULL}}};

    refuse(&record, "entry 2 is neither a request nor a response");
    refuse(&other, "entry 1 is neither a request nor a response");
    refuse(&python, "entry 1 is neither a request nor a response");
    refuse(&foreign, "entry 1 is neither a request nor a response");
    refuse(&made, "entry 1 is neither a request nor a response");
    refuse(&message, "entry 1 is a message alone");
}

/* An item of so many levels that is no content; it is wrapped, and so gets
 * deeper. */
static pdr_rc export_deep(const char *frame, int levels, pdr_err *err)
{
    char item[256], body[1024];
    const struct hand hand = {
        .id = "t",
        .frame = frame,
        .entries = {{body, PDR_ROW_REQUEST, PDR_ROW_STATE, NULL}}};
    pdr_store *store = NULL;
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    memset(item, '[', (size_t)levels);
    memset(item + levels, ']', (size_t)levels);
    (void)snprintf(body, sizeof(body),
                   "{\"messages\":[{\"role\":\"user\",\"contents\":[%.*s]}]}",
                   2 * levels, item);
    store = hand_store(&hand);
    rc = hand_export(&out, store, "t", false, NULL, err);
    pdr_buf_dispose(&out);
    pdr_store_close(store);
    return rc;
}

TEST(export_shape, refuses_a_message_that_would_stand_too_deep)
{
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, export_deep(DOTNET, 119, &err));
    ASSERT_RC(PDR_ELIMIT, export_deep(DOTNET, 120, &err));
    ASSERT_STR("too_deep", err.reason);
}

TEST(export_shape, has_a_level_more_for_messages_of_a_thread)
{
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, export_deep(THREAD, 120, &err));
    ASSERT_RC(PDR_ELIMIT, export_deep(THREAD, 121, &err));
    ASSERT_STR("too_deep", err.reason);
}

/* --- what has no place ---------------------------------------------------- */

TEST(export_place, refuses_a_bag_in_a_document_without_one)
{
    const struct hand hand = {
        .id = "t", .frame = THREAD, .slots = {{"a", "1"}}};

    hand_refused("cannot_export", &hand);
}

TEST(export_place, refuses_a_slot_where_the_history_stands)
{
    const struct hand net = {.id = "d",
                             .frame = DOTNET,
                             .slots = {{"InMemoryChatHistoryProvider", "1"}}};
    const struct hand python = {
        .id = "p",
        .frame = WRAPPER,
        .entries = {{"{}", PDR_ROW_MESSAGE, PDR_ROW_PYTHON, NULL}},
        .slots = {{"in_memory", "1"}}};
    const struct hand quiet = {
        .id = "p", .frame = WRAPPER, .slots = {{"in_memory", "1"}}};

    hand_refused("cannot_export", &net);
    hand_refused("cannot_export", &python);
    hand_expect("{ \"session\": {\"session_id\":\"p\",\"state\":"
                "{\"in_memory\":1}} }",
                &quiet);
}

TEST(export_place, says_when_there_is_no_session)
{
    pdr_store *store = hand_store(&dotnet);
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_ENOTFOUND,
              hand_export(&out, store, "other", false, NULL, &err));
    ASSERT_STR("no_session", err.reason);
    ASSERT_SIZE(0, out.len);
    ASSERT_RC(PDR_EINVALID, hand_export(&out, store, "", false, NULL, &err));
    ASSERT_STR("bad_ref", err.reason);
    pdr_buf_dispose(&out);
    pdr_store_close(store);
}

/* --- failures ------------------------------------------------------------- */

TEST_OOM(export_frame, cleans_up_after_any_failed_allocation)
{
    static const struct hand hand = {
        .id = "p",
        .frame = WRAPPER,
        .entries = {{REQUEST, PDR_ROW_REQUEST, PDR_ROW_STATE, NULL}},
        .slots = {{"k", "1"}},
        .properties = {{"a\"", "\"v\""}}};
    pdr_store *store = NULL;
    char room[4096];
    pdr_buf out = {room, 0, sizeof(room), sizeof(room)};
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    store = hand_store(&hand);
    test_pause_failures(false);
    rc = hand_export(&out, store, "p", false, NULL, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    test_pause_failures(true);
    pdr_store_close(store);
    test_pause_failures(false);
}

TEST_OOM(export_native, cleans_up_after_any_failed_allocation)
{
    static const struct hand hand = {.id = "@dafx-a@k",
                                     .kind = "durable",
                                     .expiry_ms = 5,
                                     .slots = {{"k", "1"}},
                                     .properties = {{"a", "\"v\""}}};
    pdr_store *store = NULL;
    char room[4096];
    pdr_buf out = {room, 0, sizeof(room), sizeof(room)};
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    store = hand_store(&hand);
    test_pause_failures(false);
    rc = hand_export(&out, store, hand.id, false, NULL, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    test_pause_failures(true);
    pdr_store_close(store);
    test_pause_failures(false);
}
