/* Saved chats of others: which form they have, what they hold, what is refused.
 */
#include "chat_trip.h"

#define EMPTY_LISTS         "\"History\":[],\"Channels\":[]"
#define PLAIN_WITH(channel) "{\"history\":[],\"channels\":[" channel "]}"

/* --- what opens ------------------------------------------------------------
 */

static const struct {
    const char *file;
    pdr_chat_form form;
    size_t participants, messages, channels;
} real_files[] = {
    {"01-empty.json", PDR_CHAT_SK, 0, 0, 0},
    {"02-history-only.json", PDR_CHAT_SK, 2, 2, 0},
    {"03-one-channel-two-agents.json", PDR_CHAT_SK, 2, 5, 1},
    {"04-history-and-thread.json", PDR_CHAT_SK, 2, 5, 2},
    {"05-thread-only.json", PDR_CHAT_SK, 1, 3, 1},
    {"06-tool-calls.json", PDR_CHAT_SK, 1, 8, 1},
    {"07-contents.json", PDR_CHAT_SK, 1, 4, 1},
    {"08-authors-and-roles.json", PDR_CHAT_SK, 4, 11, 1},
    {"09-metadata.json", PDR_CHAT_SK, 1, 2, 1},
    {"10-escapes.json", PDR_CHAT_SK, 1, 3, 1},
    {"11-truncated-channel.json", PDR_CHAT_SK, 2, 10, 2},
    {"12-summarised-channel.json", PDR_CHAT_SK, 1, 9, 1},
    {"13-aggregator-nested.json", PDR_CHAT_SK, 2, 4, 2},
    {"14-aggregator-flat.json", PDR_CHAT_SK, 2, 5, 2},
    {"15-chat-in-chat-in-chat.json", PDR_CHAT_SK, 1, 2, 1},
    {"16-after-streaming.json", PDR_CHAT_SK, 1, 6, 1},
    {"17-state-forms.json", PDR_CHAT_SK, 9, 9, 9},
    {"18-camel-compact.json", PDR_CHAT_SK, 2, 3, 2},
    {"19-relaxed-encoder.json", PDR_CHAT_SK, 2, 3, 2},
    {"20-saved-inside-a-turn.json", PDR_CHAT_SK, 2, 3, 2},
    {"21-several-messages-in-a-turn.json", PDR_CHAT_SK, 1, 6, 1},
};

TEST(chat_open, reads_what_semantic_kernel_wrote)
{
    for (size_t i = 0; i < PDR_COUNT(real_files); i++) {
        char *text = NULL;
        size_t len = 0;
        pdr_chat_state *s = chat_file(&text, &len, real_files[i].file);
        pdr_buf out = PDR_BUF_INIT(SIZE_MAX);

        pdr_chat_info info;

        pdr_chat_state_info(&info, s);
        ASSERT(info.id.ptr == NULL && info.turn == 0 && !info.is_complete);
        ASSERT_INT(real_files[i].form, pdr_chat_state_form(s));
        ASSERT_SIZE(real_files[i].participants,
                    pdr_chat_state_participant_count(s));
        ASSERT_SIZE(real_files[i].messages, pdr_chat_state_message_count(s));
        ASSERT_SIZE(real_files[i].channels, s->channel_count);
        ASSERT_RC(PDR_OK, pdr_chat_state_write(s, NULL, pdr_write_buf, &out));
        ASSERT_BYTES(pdr_str_n(text, len), pdr_buf_str(&out));
        pdr_buf_dispose(&out);
        pdr_chat_state_free(s);
        free(text);
    }
}

/* The text of a member, or of a member of it. */
static void assert_member(const char *expected, const pdr_value *object,
                          const char *name, const char *inner)
{
    const pdr_value *value = pdr_value_get_c(object, name);

    if (inner != NULL && pdr_value_kind(value) == PDR_OBJECT)
        value = pdr_value_get_c(value, inner);
    if (expected == NULL)
        ASSERT(value == NULL || pdr_value_kind(value) == PDR_NULL);
    else
        ASSERT(pdr_value_text_is(value, pdr_str_c(expected)));
}

TEST(chat_open, tells_the_forms_apart_and_reads_one_history_from_all)
{
    COVERS("C-90");
    const struct {
        const char *text;
        pdr_chat_form form;
        const char *author, *role, *items;
    } rows[] = {
        {chat_sk, PDR_CHAT_SK, "AuthorName", "Role", "Items"},
        {chat_encoded, PDR_CHAT_ENCODED, "AuthorName", "Role", "Items"},
        {chat_plain, PDR_CHAT_PLAIN, "name", "role", "items"},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_chat_state *s = chat_opened(pdr_str_c(rows[i].text));
        pdr_chat_message m;

        ASSERT_INT(rows[i].form, pdr_chat_state_form(s));
        ASSERT_SIZE(2, pdr_chat_state_message_count(s));
        ASSERT(!pdr_chat_state_message(&m, s, 0));
        ASSERT(!pdr_chat_state_message(&m, s, 3));
        for (uint64_t seq = 1; seq <= 2; seq++) {
            const char digit[] = {(char)('0' + seq), '\0'};

            ASSERT(pdr_chat_state_message(&m, s, seq));
            ASSERT(m.seq == seq && m.turn == 0 && m.is_visible);
            ASSERT(m.origin.ptr == NULL);
            assert_member(seq == 1 ? NULL : "Counter", m.value, rows[i].author,
                          NULL);
            assert_member(seq == 1 ? "user" : "assistant", m.value,
                          rows[i].role, "Label");
            assert_member(
                digit, pdr_value_at(pdr_value_get_c(m.value, rows[i].items), 0),
                "Text", NULL);
        }
        ASSERT_TEXT(CHAT_THREAD_KEY, s->channels[0].sk_key);
        ASSERT(pdr_value_text_is(s->channels[0].state,
                                 pdr_str_c("thread_demo01")));
        pdr_chat_state_free(s);
    }
}

TEST(chat_open, reads_the_chat_inside_of_a_channel)
{
    COVERS("C-90");
    char *text = NULL;
    size_t len = 0;
    pdr_chat_state *outer =
        chat_file(&text, &len, "15-chat-in-chat-in-chat.json");
    pdr_str inside;

    for (size_t level = 0; level < 2; level++) {
        pdr_chat_state *inner = NULL;

        ASSERT_SIZE(1, outer->channel_count);
        ASSERT(pdr_value_raw(&inside, outer->channels[0].state));
        inner = chat_opened(inside);
        ASSERT_INT(PDR_CHAT_SK, pdr_chat_state_form(inner));
        ASSERT(pdr_chat_state_message_count(inner) > 0);
        pdr_chat_state_free(outer);
        outer = inner;
    }
    ASSERT_SIZE(2, outer->channel_count);
    pdr_chat_state_free(outer);
    free(text);
}

static const struct {
    const char *text;
    pdr_chat_form form;
} form_rows[] = {
    {"{" EMPTY_LISTS "}", PDR_CHAT_SK},
    {"{\"HISTORY\":[],\"channels\":[]}", PDR_CHAT_SK},
    {"{\"history\":[],\"channels\":[]}", PDR_CHAT_PLAIN},
    {"{\"participants\":null,\"history\":[],\"channels\":[]}", PDR_CHAT_PLAIN},
    {"{\"participants\":[{\"id\":\"a\"}],\"history\":[],\"channels\":[]}",
     PDR_CHAT_PLAIN},
    {"{\"participants\":[{\"Id\":\"a\"}],\"history\":[],\"channels\":[]}",
     PDR_CHAT_SK},
    {PLAIN_WITH("{\"channelKey\":\"a\"}"), PDR_CHAT_SK},
    {PLAIN_WITH("{\"channelkey\":\"a\",\"channeltype\":\"T\"}"), PDR_CHAT_SK},
    {PLAIN_WITH("{\"channelkey\":\"a\"}"), PDR_CHAT_PLAIN},
    /* unknown members decide nothing */
    {"{\"Format\":\"x\",\"format\":1,\"history\":[],\"channels\":[]}",
     PDR_CHAT_PLAIN},
    /* lists as text, and in base64 */
    {"{\"history\":\" [] \",\"channels\":[]}", PDR_CHAT_PLAIN},
    {"{\"history\":\"\\u005B{\\\"role\\\":\\\"\\u00e9\\\"}]\","
     "\"channels\":[]}",
     PDR_CHAT_PLAIN},
    {"{\"History\":\"[]\",\"Channels\":[]}", PDR_CHAT_SK},
    {"{\"history\":\"W10=\",\"channels\":[]}", PDR_CHAT_ENCODED},
    {"{\"History\":\"W10=\",\"Channels\":[]}", PDR_CHAT_ENCODED},
    {"{\"history\":\"W10=\",\"channels\":[],\"participants\":"
     "\"W3siaWQiOiJhIn1d\"}",
     PDR_CHAT_ENCODED},
    /* around the document */
    {" \t\r\n{\"history\":[],\"channels\":[]} \n", PDR_CHAT_PLAIN},
    {"\xEF\xBB\xBF\n{\"history\":[],\"channels\":[]}\n", PDR_CHAT_PLAIN},
};

TEST(chat_open, decides_the_form_once)
{
    for (size_t i = 0; i < PDR_COUNT(form_rows); i++) {
        pdr_str text = pdr_str_c(form_rows[i].text);
        pdr_chat_state *s = chat_opened(text);
        pdr_buf out = PDR_BUF_INIT(SIZE_MAX);

        ASSERT_INT(form_rows[i].form, pdr_chat_state_form(s));
        ASSERT_RC(PDR_OK, pdr_chat_state_write(s, NULL, pdr_write_buf, &out));
        ASSERT_BYTES(text, pdr_buf_str(&out));
        pdr_buf_dispose(&out);
        pdr_chat_state_free(s);
    }
}

TEST(chat_open, reads_participants_that_are_in_base64_too)
{
    pdr_chat_state *s = chat_opened(
        pdr_str_c("{\"history\":\"W10=\",\"channels\":[],\"participants\":"
                  "\"W3siaWQiOiJhIn1d\"}"));
    pdr_chat_participant p;

    ASSERT(pdr_chat_state_participant(&p, s, 0));
    ASSERT_TEXT("a", p.id);
    ASSERT(p.name.ptr == NULL && p.type.ptr == NULL);
    ASSERT(!pdr_chat_state_participant(&p, s, 1));
    pdr_chat_state_free(s);
}

TEST(chat_open, keeps_an_empty_name_and_one_that_is_not_there_apart)
{
    char *text = NULL;
    size_t len = 0;
    pdr_chat_state *s = chat_file(&text, &len, "08-authors-and-roles.json");
    size_t absent = 0, empty = 0;

    for (size_t i = 0; i < s->participant_count; i++) {
        pdr_chat_participant p;

        ASSERT(pdr_chat_state_participant(&p, s, i));
        absent += p.name.ptr == NULL;
        empty += p.name.ptr != NULL && p.name.len == 0;
    }
    ASSERT(absent == 1 && empty == 1);
    pdr_chat_state_free(s);
    free(text);
}

/* --- keys and states of channels -------------------------------------------
 */

TEST(chat_open, decodes_keys_and_never_a_state)
{
    COVERS("C-76");
    COVERS("C-91");
    COVERS("C-112");
    pdr_chat_state *s = chat_opened(pdr_str_c(PLAIN_WITH(
        "{\"channelkey\":\"Vdx37EnWT9BS\\u002BkkCkEgFCg9uHvHNw1\\u002BhXMA4sgNM"
        "Ks4=\",\"channelstate\":\"abcd1234\"},"
        "{\"channelkey\":\"not a key\"},"
        "{\"channelkey\":\"k2:5-GlugHHdTQr6TS8PcNamK1hA8_NCBxtSNPVCbZCCM4\","
        "\"channelstate\":[1]}")));

    ASSERT_SIZE(3, s->channel_count);
    ASSERT_TEXT(CHAT_HISTORY_KEY, s->channels[0].sk_key);
    ASSERT(pdr_value_text_is(s->channels[0].state, pdr_str_c("abcd1234")));
    ASSERT_TEXT("not a key", s->channels[1].sk_key);
    ASSERT(s->channels[1].state == NULL);
    ASSERT(s->channels[2].sk_key.ptr == NULL);
    ASSERT_TEXT("k2:5-GlugHHdTQr6TS8PcNamK1hA8_NCBxtSNPVCbZCCM4",
                s->channels[2].key);
    ASSERT_INT(PDR_ARRAY, pdr_value_kind(s->channels[2].state));
    ASSERT(!s->channels[0].has_cursor);
    pdr_chat_state_free(s);
}

TEST(chat_open, makes_up_no_role)
{
    COVERS("C-114");
    static const char *const messages[] = {"{\"Items\":[]}",
                                           "{\"Role\":{\"Label\":null}}", "{}",
                                           "{\"role\":null}"};

    for (size_t i = 0; i < PDR_COUNT(messages); i++) {
        char text[128];
        pdr_str raw;
        int len = snprintf(text, sizeof(text),
                           "{\"History\":[%s],\"Channels\":[]}", messages[i]);
        pdr_chat_state *s = chat_opened(pdr_str_n(text, (size_t)len));
        pdr_buf out = chat_written(s, PDR_CHAT_SK);

        ASSERT(pdr_value_raw(&raw, s->log[0].value));
        ASSERT_TEXT(messages[i], raw);
        ASSERT(chat_has(&out, messages[i]));
        pdr_buf_dispose(&out);
        pdr_chat_state_free(s);
    }
}

/* --- what is refused -------------------------------------------------------
 */

static const struct {
    const char *text;
    pdr_rc rc;
    const char *reason, *path;
} bad_rows[] = {
    /* not JSON, or more than one document */
    {"", PDR_EINVALID, "empty_input", ""},
    {"{\"history\":[],", PDR_EINVALID, "unexpected_end", ""},
    {"{\"history\":[],\"channels\":[]} x", PDR_EINVALID, "trailing_data", ""},
    {"{\"history\":[],\"channels\":[],}", PDR_EINVALID, "unexpected_byte", ""},
    {"{/* no */}", PDR_EINVALID, "unexpected_byte", ""},
    /* not an object */
    {"null", PDR_EINVALID, "bad_chat", ""},
    {"[]", PDR_EINVALID, "bad_chat", ""},
    {"42", PDR_EINVALID, "bad_chat", ""},
    {"\"agentchat\"", PDR_EINVALID, "bad_chat", ""},
    {"{}", PDR_EINVALID, "bad_chat", ""},
    /* the history */
    {"{\"channels\":[]}", PDR_EINVALID, "bad_chat", ""},
    {"{\"history\":null,\"channels\":[]}", PDR_EINVALID, "bad_chat",
     "/history"},
    {"{\"History\":42,\"Channels\":[]}", PDR_EINVALID, "bad_chat", "/History"},
    {"{\"history\":{},\"channels\":[]}", PDR_EINVALID, "bad_chat", "/history"},
    {"{\"history\":\"\",\"channels\":[]}", PDR_EINVALID, "empty_input",
     "/history"},
    {"{\"history\":\"W10\",\"channels\":[]}", PDR_EINVALID, "bad_chat",
     "/history"},
    {"{\"history\":\"W1\\n0=\",\"channels\":[]}", PDR_EINVALID, "bad_chat",
     "/history"},
    {"{\"history\":\"\\uD800\",\"channels\":[]}", PDR_EINVALID, "bad_chat",
     "/history"},
    {"{\"history\":\"e30=\",\"channels\":[]}", PDR_EINVALID, "bad_chat",
     "/history"},
    {"{\"history\":\"eA==\",\"channels\":[]}", PDR_EINVALID, "unexpected_byte",
     "/history"},
    {"{\"history\":\"[1,\",\"channels\":[]}", PDR_EINVALID, "unexpected_end",
     "/history"},
    {"{\"History\":[{},null],\"Channels\":[]}", PDR_EINVALID, "bad_chat",
     "/History/1"},
    {"{\"history\":[[]],\"channels\":[]}", PDR_EINVALID, "bad_chat",
     "/history/0"},
    {"{\"history\":\"WzFd\",\"channels\":[]}", PDR_EINVALID, "bad_chat",
     "/history/0"},
    /* a name twice, in any case */
    {"{\"history\":[],\"history\":[],\"channels\":[]}", PDR_EINVALID,
     "bad_chat", "/history"},
    {"{\"history\":[],\"History\":[],\"channels\":[]}", PDR_EINVALID,
     "bad_chat", "/history"},
    {PLAIN_WITH("{\"channelkey\":\"a\",\"ChannelKey\":\"b\"}"), PDR_EINVALID,
     "bad_chat", "/channels/0/channelkey"},
    {"{\"participants\":[{\"id\":\"a\",\"\\u0049d\":\"b\"}]," EMPTY_LISTS "}",
     PDR_EINVALID, "bad_chat", "/participants/0/id"},
    /* participants */
    {"{\"participants\":{}," EMPTY_LISTS "}", PDR_EINVALID, "bad_chat",
     "/participants"},
    {"{\"Participants\":[7]," EMPTY_LISTS "}", PDR_EINVALID, "bad_chat",
     "/Participants/0"},
    {"{\"participants\":[{\"id\":7}]," EMPTY_LISTS "}", PDR_EINVALID,
     "bad_chat", "/participants/0/id"},
    {"{\"participants\":\"W10=\"," EMPTY_LISTS "}", PDR_EINVALID, "bad_chat",
     "/participants"},
    {"{\"participants\":[{\"name\":\"\\uD800\"}]," EMPTY_LISTS "}",
     PDR_EINVALID, "bad_chat", "/participants/0/name"},
    /* channels */
    {"{\"history\":[]}", PDR_EINVALID, "bad_chat", "/channels"},
    {"{\"history\":[],\"channels\":null}", PDR_EINVALID, "bad_chat",
     "/channels"},
    {PLAIN_WITH("{\"channelkey\":\"a\"},null"), PDR_EINVALID, "bad_chat",
     "/channels/1"},
    {PLAIN_WITH("{}"), PDR_EINVALID, "bad_chat", "/channels/0"},
    {PLAIN_WITH("{\"channelkey\":null}"), PDR_EINVALID, "bad_chat",
     "/channels/0"},
    {PLAIN_WITH("{\"channelkey\":1}"), PDR_EINVALID, "bad_chat",
     "/channels/0/channelkey"},
    {PLAIN_WITH("{\"channelkey\":\"a+\"},{\"channelkey\":\"a\\u002B\"}"),
     PDR_EINVALID, "bad_chat", "/channels/1"},
    {PLAIN_WITH("{\"channelkey\":\"a\",\"channelstate\":null}"), PDR_EINVALID,
     "bad_chat", "/channels/0/channelstate"},
    {PLAIN_WITH("{\"channelkey\":\"a\",\"channelstate\":1}"), PDR_EINVALID,
     "bad_chat", "/channels/0/channelstate"},
    {PLAIN_WITH("{\"channelkey\":\"a\",\"channelstate\":true}"), PDR_EINVALID,
     "bad_chat", "/channels/0/channelstate"},
    {"{\"history\":\"W10=\",\"channels\":[{\"channelkey\":\"a\","
     "\"channelstate\":\"thread\"}]}",
     PDR_EINVALID, "bad_chat", "/channels/0/channelstate"},
    {"{\"history\":\"W10=\",\"channels\":[{\"channelkey\":\"a\","
     "\"channelstate\":[]}]}",
     PDR_EINVALID, "bad_chat", "/channels/0/channelstate"},
    {"{\"history\":\"W10=\",\"channels\":[{\"channelkey\":\"a\","
     "\"channelstate\":\"/w==\"}]}",
     PDR_EINVALID, "bad_chat", "/channels/0/channelstate"},
};

static void assert_refused(pdr_str text, const pdr_chat_open_opts *opts,
                           pdr_rc rc, const char *reason, const char *path)
{
    pdr_chat_state *s = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(rc, chat_open(&s, text, opts, &err));
    ASSERT(s == NULL);
    ASSERT_STR(reason, err.reason);
    if (strcmp(reason, "bad_chat") == 0)
        ASSERT_STR(path, err.path);
    ASSERT_RC(rc, chat_open(&s, text, opts, NULL));
}

TEST(chat_open, refuses_what_is_not_a_saved_chat)
{
    COVERS("C-89");
    for (size_t i = 0; i < PDR_COUNT(bad_rows); i++)
        assert_refused(pdr_str_c(bad_rows[i].text), NULL, bad_rows[i].rc,
                       bad_rows[i].reason, bad_rows[i].path);
}

TEST(chat_open, says_what_a_file_seems_to_be)
{
    static const struct {
        const char *file, *says;
    } rows[] = {
        {"22-direct-message.json", "one message"},
        {"23-direct-history.json", "a history without a chat around it"},
        {"24-direct-contents.json", "a list of contents"},
        {"25-direct-fragments.json", "a list of fragments of a stream"},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        char path[128];
        pdr_chat_state *s = NULL;
        pdr_err err = PDR_ERR_INIT;
        char *text = NULL;
        size_t len = 0;

        (void)snprintf(path, sizeof(path), "dotnet/chat/%s", rows[i].file);
        text = test_read_data(path, &len);
        ASSERT_RC(PDR_EINVALID,
                  chat_open(&s, pdr_str_n(text, len), NULL, &err));
        ASSERT_STR("bad_chat", err.reason);
        ASSERT(strstr(err.message, rows[i].says) != NULL);
        free(text);
    }
}

/* A history of one message with so many levels below it; the document has two
 * more. */
static pdr_str deep(char out[1024], const char *before, size_t levels,
                    const char *after)
{
    size_t len = strlen(before);

    memcpy(out, before, len);
    memset(out + len, '[', levels);
    memset(out + len + levels, ']', levels);
    len += 2 * levels;
    memcpy(out + len, after, strlen(after));
    return pdr_str_n(out, len + strlen(after));
}

TEST(chat_open, reads_128_levels_and_not_129)
{
    COVERS("C-89");
    static const char before[] = "{\"history\":[{\"x\":";
    static const char after[] = "}],\"channels\":[]}";
    char text[1024];

    pdr_chat_state_free(chat_opened(deep(text, before, 125, after)));
    assert_refused(deep(text, before, 126, after), NULL, PDR_ELIMIT, "too_deep",
                   "");
    /* A list as text has the levels that it would have in its place. */
    static const char as_text[] = "{\"history\":\"[{\\\"x\\\":";
    static const char text_end[] = "}]\",\"channels\":[]}";
    pdr_chat_state_free(chat_opened(deep(text, as_text, 125, text_end)));
    assert_refused(deep(text, as_text, 126, text_end), NULL, PDR_ELIMIT,
                   "too_deep", "");
}

TEST(chat_open, obeys_the_limits_of_the_caller)
{
    pdr_str text = pdr_str_c(chat_sk);
    pdr_chat_open_opts opts = {.max_bytes = text.len, .max_messages = 2};
    pdr_chat_state *s = NULL;

    ASSERT_RC(PDR_OK, chat_open(&s, text, &opts, NULL));
    pdr_chat_state_free(s);
    opts.max_bytes = text.len - 1;
    assert_refused(text, &opts, PDR_ELIMIT, "too_large", "");
    opts.max_bytes = 0;
    opts.max_messages = 1;
    assert_refused(text, &opts, PDR_ELIMIT, "too_large", "");
    opts = (pdr_chat_open_opts){.needs_mac = true};
    assert_refused(text, &opts, PDR_ECORRUPT, "bad_mac", "");
}

/* A stream of one byte at a time, which breaks in the end. */
static pdr_rc read_slowly(size_t *got, void *into, size_t cap, pdr_err *err,
                          void *arg)
{
    pdr_str *left = arg;

    ASSERT(cap > 0);
    if (left->len == 0)
        return pdr_err_set(err, PDR_EIO, "stream_broke", "the stream broke");
    memcpy(into, left->ptr, 1);
    *got = 1;
    *left = pdr_str_n(left->ptr + 1, left->len - 1);
    return PDR_OK;
}

TEST(chat_open, gives_what_the_stream_gave)
{
    pdr_str left = pdr_str_c(chat_plain);
    pdr_chat_state *s = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EIO, pdr_chat_open(&s, NULL, &err, read_slowly, &left));
    ASSERT(s == NULL && left.len == 0);
    ASSERT_STR("stream_broke", err.reason);
}

TEST(chat_open, counts_a_byte_order_mark_in_the_place_of_an_error)
{
    pdr_chat_state *s = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID,
              chat_open(&s, pdr_str_c("\xEF\xBB\xBF{]"), NULL, &err));
    ASSERT_INT(4, err.offset);
}

TEST_OOM(chat_open, cleans_up_after_any_failed_allocation)
{
    const char *const texts[] = {
        chat_sk, chat_encoded, chat_plain,
        "{\"history\":\"\\u005B{\\\"role\\\":\\\"\\u00e9\\\"}]\",\"channels\":"
        "[],\"participants\":[{\"id\":\"\\u00e9\"}]}",
        "{\"history\":\"W10=\",\"channels\":[],\"participants\":"
        "\"W3siaWQiOiJhIn1d\"}"};

    for (size_t i = 0; i < PDR_COUNT(texts); i++) {
        pdr_chat_state *s = NULL;
        pdr_rc rc = chat_open(&s, pdr_str_c(texts[i]), NULL, NULL);

        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
        ASSERT((s != NULL) == (rc == PDR_OK));
        pdr_chat_state_free(s);
    }
    pdr_chat_state_free(NULL);
}
