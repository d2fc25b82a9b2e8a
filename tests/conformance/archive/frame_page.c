/* docs/formats/frame.md tells the truth: its example is a frame, and the frame
 * of the document that it speaks of. */
#include "archive_hand.h"

#define PAGE "../../docs/formats/frame.md"
#define MESSAGE \
    "{\"role\":\"user\",\"contents\":[{\"$type\":\"text\",\"text\":\"hi\"}]}"
#define DOCUMENT                                                          \
    "{\"conversationId\":null,\"stateBag\":{"                             \
    "\"InMemoryChatHistoryProvider\":{\"messages\":[" MESSAGE "," MESSAGE \
    "]},\"memory\":[ 1, 2 ]}}"

/* An example of the page; static. */
static const char *nth_example(size_t n)
{
    static char text[4096];
    size_t len = 0;
    char *page = test_read_data(PAGE, &len);
    char *from = page, *to = NULL;

    for (size_t i = 0; i <= n; i++) {
        from = strstr(from, "```json\n");
        ASSERT(from != NULL);
        from += strlen("```json\n");
    }
    to = strstr(from, "```");
    ASSERT(to != NULL && (size_t)(to - from) < sizeof(text));
    memcpy(text, from, (size_t)(to - from));
    text[to - from] = '\0';
    free(page);
    return text;
}

/* The first one is a whole frame. */
static const char *example(void)
{
    return nth_example(0);
}

TEST(frame_page, shows_a_frame_that_can_be_exported)
{
    const struct hand hand = {
        .id = "s",
        .frame = example(),
        .entries = {{MESSAGE, PDR_ROW_MESSAGE, PDR_ROW_DOTNET, NULL},
                    {MESSAGE, PDR_ROW_MESSAGE, PDR_ROW_DOTNET, NULL}},
        .slots = {{"memory", "[ 1, 2 ]"}}};
    const struct hand empty = {.id = "s", .frame = example()};

    hand_expect(DOCUMENT, &hand);
    hand_expect("{\"conversationId\":null,\"stateBag\":{"
                "\"InMemoryChatHistoryProvider\":{\"messages\":[]}}}",
                &empty);
}

static pdr_page *read_rows(pdr_store *store, pdr_read_what what)
{
    pdr_query query = {.what = what, .ref = {.id = pdr_str_c("s")}};
    pdr_page *page = NULL;

    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    return page;
}

TEST(frame_page, shows_what_an_import_makes)
{
    pdr_import_opts opts = {.ref = {.id = pdr_str_c("s")}, .now_ms = 1};
    pdr_str text = pdr_str_c(DOCUMENT);
    pdr_store *store = NULL;
    pdr_value *shown = NULL, *made = NULL;
    pdr_page *page = NULL;

    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    ASSERT_RC(PDR_OK,
              pdr_import(NULL, store, &opts, NULL, pdr_read_str, &text));
    page = read_rows(store, PDR_READ_FRAME);
    ASSERT_RC(PDR_OK, pdr_json_read(&made, page->frame, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_json_read(&shown, pdr_str_c(example()), NULL, NULL));
    ASSERT(
        pdr_value_text_is(pdr_value_get_c(made, "shape"), pdr_str_c("dotnet")));
    ASSERT_SIZE(pdr_value_count(shown), pdr_value_count(made));
    pdr_page_free(page);
    page = read_rows(store, PDR_READ_ENTRIES);
    ASSERT_SIZE(2, page->count);
    ASSERT_TEXT(MESSAGE, page->entries[1].body);
    pdr_page_free(page);
    page = read_rows(store, PDR_READ_SLOTS);
    ASSERT_SIZE(1, page->count);
    ASSERT_TEXT("memory", page->slots[0].key);
    ASSERT_TEXT("[ 1, 2 ]", page->slots[0].value);
    pdr_page_free(page);
    pdr_value_free(shown);
    pdr_value_free(made);
    hand_expect_in(DOCUMENT, store, "s");
    pdr_store_close(store);
}

/* The frame of a state document with this data has pieces as example `n`. */
static void check_expiry(size_t n, const char *data)
{
    pdr_import_opts opts = {.ref = {.id = pdr_str_c("s")}, .now_ms = 1};
    const char *shown = nth_example(n);
    char document[256], wanted[1024], made[1024];
    pdr_str text;
    pdr_store *store = NULL;
    pdr_page *page = NULL;
    size_t len = 0;

    (void)snprintf(document, sizeof(document),
                   "{\"schemaVersion\":\"1.1.0\",\"data\":%s}", data);
    for (; *shown != '\0' && len + 1 < sizeof(wanted); shown++) {
        if (*shown != ' ' && *shown != '\n')
            wanted[len++] = *shown;
    }
    wanted[len] = '\0';
    text = pdr_str_c(document);
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    ASSERT_RC(PDR_OK,
              pdr_import(NULL, store, &opts, NULL, pdr_read_str, &text));
    page = read_rows(store, PDR_READ_FRAME);
    ASSERT(page->frame.len < sizeof(made));
    memcpy(made, page->frame.ptr, page->frame.len);
    made[page->frame.len] = '\0';
    if (strstr(made, wanted) == NULL)
        fail_msg("%s is not in %s", wanted, made);
    pdr_page_free(page);
    pdr_store_close(store);
}

TEST(frame_page, shows_how_an_expiry_is_kept)
{
    check_expiry(1, "{\"expirationTimeUtc\":"
                    "\"2026-03-15T10:00:02.2500000Z\"}");
    check_expiry(2, "null");
}
