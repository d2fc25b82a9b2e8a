/* Frames that cannot be used are refused as a whole, before the first byte. */
#include "archive_hand.h"

/* What has to stand around a list of pieces. */
#define FRAME(shape, pieces) \
    "{\"frame\":1,\"shape\":\"" shape "\",\"pieces\":[" pieces "]}"
#define ENTRIES                                                              \
    "{\"entries\":{\"open\":\"[\",\"first\":\"\",\"usual\":\",\",\"close\":" \
    "\"]\",\"empty\":\"\"}}"
#define MEMBERS(of, list) \
    "{\"members\":{\"of\":\"" of "\",\"list\":[" list "]}}"
#define MEMBER(value) \
    "{\"before\":\"\",\"name\":\"\\\"a\\\":\",\"after\":\"\"," value "}"
#define EXPIRY(ms)                                                            \
    "{\"expiry\":{\"text\":\"\",\"open\":\"\",\"close\":\"\",\"never\":\"\"," \
    "\"ms\":" ms "}}"
#define BAG(list) FRAME("dotnet", ENTRIES "," MEMBERS("bag", list))

static void refused(const char *frame, const char *says)
{
    const struct hand hand = {.id = "s", .frame = frame, .slots = {{"a", "1"}}};
    pdr_store *store = hand_store(&hand);
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_ECORRUPT, hand_export(&out, store, "s", false, NULL, &err));
    ASSERT_STR("bad_frame", err.reason);
    if (strstr(err.message, says) == NULL)
        fail_msg("'%s' is not in '%s'", says, err.message);
    ASSERT(err.offset >= 0 && (size_t)err.offset <= strlen(frame));
    ASSERT_SIZE(0, out.len);
    pdr_buf_dispose(&out);
    pdr_store_close(store);
}

TEST(export_frame, must_be_of_this_format)
{
    refused("{\"frame\" 1}", "is no JSON");
    refused("[1]", "stands no version");
    refused("{\"frame\":\"1\",\"shape\":\"state\",\"pieces\":[]}",
            "stands no version");
    refused("{\"frame\":2,\"shape\":\"state\",\"pieces\":[]}",
            "a version that is not 1: a newer library may know it");
    refused("{\"frame\":1,\"pieces\":[]}", "the shape of the entries");
    refused(FRAME("java", ENTRIES), "the shape of the entries");
    refused("{\"frame\":1,\"shape\":\"state\"}", "pieces are missing");
    refused("{\"frame\":1,\"shape\":\"state\",\"pieces\":[],\"more\":1}",
            "or there is more");
    refused("{\"frame\":1,\"shape\":\"state\",\"pieces\":{}}",
            "the pieces are no list");
}

TEST(export_frame, must_have_pieces_that_are_known)
{
    refused(FRAME("state", "1"), "stands no piece");
    refused(FRAME("state", "{}"), "stands no piece");
    refused(FRAME("state", "{\"entries\":{},\"members\":{}}"),
            "stands no piece");
    refused(FRAME("state", "{\"rows\":{}}"), "a piece that is unknown");
    refused(FRAME("state", "\"\\ud800\""), "something else than a text");
}

TEST(export_frame, must_have_the_entries_once)
{
    refused(FRAME("state", "\"{}\""), "the entries are missing");
    refused(FRAME("state", ENTRIES "," ENTRIES), "a second time");
    refused(FRAME("state", "{\"entries\":{\"open\":\"[\"}}"),
            "a member is missing");
    refused(FRAME("state", "{\"entries\":5}"), "a member is missing");
    refused(FRAME("state",
                  "{\"entries\":{\"open\":5,\"first\":\"\",\"usual\":\",\","
                  "\"close\":\"\",\"empty\":\"\"}}"),
            "something else than a text");
    refused(FRAME("state",
                  "{\"entries\":{\"open\":\"\",\"first\":\"\",\"usual\":\",\","
                  "\"close\":\"\",\"empty\":\"\",\"x\":\"\"}}"),
            "a member that nobody knows");
    refused(FRAME("state",
                  "{\"entries\":{\"open\":\"\",\"first\":\",\",\"usual\":\",\","
                  "\"close\":\"\",\"empty\":\"\"}}"),
            "a separator that is none");
    refused(FRAME("state",
                  "{\"entries\":{\"open\":\"\",\"first\":\"\",\"usual\":\" \","
                  "\"close\":\"\",\"empty\":\"\"}}"),
            "a separator that is none");
    refused(FRAME("state",
                  "{\"entries\":{\"open\":\"\",\"first\":\"x\",\"usual\":\",\","
                  "\"close\":\"\",\"empty\":\"\"}}"),
            "a separator that is none");
}

TEST(export_frame, must_have_an_expiry_that_can_be_told)
{
    refused(FRAME("state", ENTRIES "," EXPIRY("null") "," EXPIRY("5")),
            "the expiry stands a second time");
    refused(FRAME("dotnet", ENTRIES "," EXPIRY("null")), "unknown there");
    refused(BAG(MEMBER("\"pieces\":[" EXPIRY("null") "]")), "unknown there");
    refused(FRAME("state", ENTRIES
                  "," MEMBERS("bag", MEMBER("\"pieces\":[" EXPIRY("1") "]"))),
            "unknown there");
    refused(FRAME("state", "{\"session\":[" ENTRIES "]}," EXPIRY("5")),
            "or outside");
    refused(FRAME("state", EXPIRY("5") ",{\"session\":[" ENTRIES "]}"),
            "behind parts of it");
    refused(FRAME("state", EXPIRY("\"5\"")), "an expiry without a time");
    refused(FRAME("state", EXPIRY("1e300")), "an expiry without a time");
    refused(FRAME("state", "{\"expiry\":5}"), "an expiry without a time");
    refused(FRAME("state", "{\"expiry\":{\"ms\":5}}"), "a member is missing");
    refused(FRAME("state", EXPIRY("5,\"last\":\"\"")),
            "a member that nobody knows");
    refused(FRAME("state", EXPIRY("5,\"first\":1")),
            "something else than a text");
}

TEST(export_frame, must_have_members_of_something_once)
{
    refused(FRAME("state", MEMBERS("box", "")), "members of something unknown");
    refused(FRAME("state", "{\"members\":[]}"), "members of something unknown");
    refused(FRAME("state", MEMBERS("bag", "") "," MEMBERS("bag", "")),
            "members stand a second time");
    refused(FRAME("state", "{\"members\":{\"of\":\"bag\"}}"),
            "the members are missing");
    refused(FRAME("state", "{\"members\":{\"of\":\"bag\",\"list\":{}}}"),
            "the members are no list");
    refused(FRAME("state",
                  "{\"members\":{\"of\":\"bag\",\"list\":[],\"blank\":\"x\"}}"),
            "an empty object has something in it");
    refused(FRAME("state",
                  "{\"members\":{\"of\":\"bag\",\"list\":[],\"x\":\"x\"}}"),
            "a member that nobody knows");
}

TEST(export_frame, must_have_members_that_rows_fit_between)
{
    refused(BAG("5"), "a member is missing");
    refused(BAG("{\"before\":\"\",\"name\":\"\\\"a\\\":\",\"after\":\"\"}"),
            "a member has no value");
    refused(BAG(MEMBER("\"key\":5")), "something else than a text");
    refused(BAG(MEMBER("\"pieces\":5")), "the pieces are no list");
    refused(BAG(MEMBER("\"key\":\"a\"") "," MEMBER("\"key\":\"a\"")),
            "a row stands a second time");
    refused(BAG(MEMBER("\"pieces\":[" MEMBERS("bag", "") "]")),
            "unknown there");
    refused(BAG("{\"before\":\",\",\"name\":\"\\\"a\\\":\",\"after\":\"\","
                "\"key\":\"a\"}"),
            "a name that is none");
    refused(BAG("{\"before\":\"\",\"name\":\"\\\"a\\\":\",\"after\":\"]\","
                "\"key\":\"a\"}"),
            "a name that is none");
}

TEST(export_frame, must_have_names_with_quotes_and_a_colon)
{
    static const char *const names[] = {"",
                                        "a:",
                                        "\\\"a",
                                        "\\\"a\\\"",
                                        "\\\"a\\\" ",
                                        "\\\"a\\\":1",
                                        "\\\"a\\\\",
                                        "\\\"a\\\\\\\":",
                                        "\\\"\\n\\\":",
                                        "\\\"a\\\"::"};
    char frame[512];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)snprintf(frame, sizeof(frame),
                       FRAME("dotnet", ENTRIES "," MEMBERS("bag", "%s")),
                       "{\"before\":\"\",\"name\":\"NAME\",\"after\":\"\","
                       "\"key\":\"a\"}");
        char *at = strstr(frame, "NAME");
        char rest[256];

        (void)snprintf(rest, sizeof(rest), "%s", at + 4);
        (void)snprintf(at, sizeof(frame) - (size_t)(at - frame), "%s%s",
                       names[i], rest);
        refused(frame, "a name that is none");
    }
}

TEST(export_frame, must_have_its_session_whole)
{
    refused(FRAME("state", "{\"session\":[" ENTRIES "]},{\"session\":[]}"),
            "the session stands a second time");
    refused(FRAME("state", ENTRIES ",{\"session\":[]}"),
            "the session begins behind parts of it");
    refused(FRAME("state", MEMBERS("bag", "") ",{\"session\":[]}"),
            "the session begins behind parts of it");
    refused(FRAME("state", "{\"session\":[]}," ENTRIES), "or outside");
    refused(FRAME("state", "{\"session\":[]}," MEMBERS("bag", "")),
            "or outside");
    refused(FRAME("state", "{\"session\":5}"), "the pieces are no list");
    refused(FRAME("state", "{\"session\":[{\"session\":[]}]}"),
            "unknown there");
    refused(FRAME("state", "{\"session\":[" MEMBERS("properties", "") "]}"),
            "members of something unknown");
    refused(FRAME("state", "{\"session\":[" ENTRIES "]}"),
            "a wrapper without its session or properties");
    refused(FRAME("state", ENTRIES "," MEMBERS("properties", "")),
            "a wrapper without its session or properties");
    refused(
        FRAME("state", "{\"session\":[]}," MEMBERS(
                           "properties", MEMBER("\"pieces\":[" ENTRIES "]"))),
        "unknown there");
}

TEST(export_frame, may_have_members_with_texts_only)
{
    const struct hand hand = {
        .id = "s",
        .frame = FRAME(
            "dotnet",
            "{\"session\":[\"{\\\"stateBag\\\":\"," MEMBERS(
                "bag",
                MEMBER(
                    "\"pieces\":[" ENTRIES
                    "]")) ",\"}\"]},\",\\\"x\\\":\"," MEMBERS("proper"
                                                              "ties",
                                                              MEMBER(
                                                                  "\"pieces\":[\"[]\"]"))),
        .slots = {{"", "1"}}};

    hand_expect("{\"stateBag\":{\"\":1}},\"x\":{\"a\":[]}", &hand);
}

TEST_OOM(export_frame, cleans_up_after_any_failed_allocation)
{
    static const struct hand hand = {
        .id = "s", .frame = BAG("5"), .slots = {{"a", "1"}}};
    char room[256];
    pdr_buf out = {room, 0, sizeof(room), sizeof(room)};
    pdr_store *store = NULL;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    store = hand_store(&hand);
    test_pause_failures(false);
    rc = hand_export(&out, store, "s", false, NULL, NULL);
    ASSERT(rc == PDR_ECORRUPT || rc == PDR_ENOMEM);
    test_pause_failures(true);
    pdr_store_close(store);
    test_pause_failures(false);
}
