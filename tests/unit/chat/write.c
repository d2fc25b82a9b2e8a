/* Saved chats in the forms of others: byte for byte, and what they leave out.
 */
#include "chat_trip.h"

#include <perdure/chat_store.h>
#include <perdure/json.h>

/* --- as Semantic Kernel writes them ----------------------------------------
 */

static const struct {
    const char *file;
    bool is_same; /* the usual options were used: what we spell is the same */
} real_files[] = {
    {"01-empty.json", true},
    {"02-history-only.json", true},
    {"03-one-channel-two-agents.json", true},
    {"04-history-and-thread.json", true},
    {"05-thread-only.json", true},
    {"06-tool-calls.json", true},
    {"07-contents.json", true},
    {"08-authors-and-roles.json", true},
    {"09-metadata.json", true},
    {"10-escapes.json", true},
    {"11-truncated-channel.json", true},
    {"12-summarised-channel.json", true},
    {"13-aggregator-nested.json", true},
    {"14-aggregator-flat.json", true},
    {"15-chat-in-chat-in-chat.json", true},
    {"16-after-streaming.json", true},
    {"17-state-forms.json", true},
    {"18-camel-compact.json", false},
    {"19-relaxed-encoder.json", false},
    {"20-saved-inside-a-turn.json", true},
    {"21-several-messages-in-a-turn.json", true},
};

TEST(chat_write, gives_the_bytes_of_semantic_kernel)
{
    COVERS("C-110");
    COVERS("C-111");
    for (size_t i = 0; i < PDR_COUNT(real_files); i++) {
        char *text = NULL;
        size_t len = 0;
        pdr_chat_state *s = chat_file(&text, &len, real_files[i].file);
        pdr_chat_state *back = NULL;
        pdr_buf whole = chat_written(s, PDR_CHAT_SK);

        ASSERT_BYTES(pdr_str_n(text, len), pdr_buf_str(&whole));
        pdr_buf_dispose(&whole);
        chat_forget(s);
        pdr_buf out = chat_written(s, PDR_CHAT_SK);
        if (real_files[i].is_same)
            ASSERT_BYTES(pdr_str_n(text, len), pdr_buf_str(&out));
        back = chat_opened(pdr_buf_str(&out));
        chat_assert_equal(s, back);
        pdr_chat_state_free(back);
        pdr_chat_state_free(s);
        pdr_buf_dispose(&out);
        free(text);
    }
}

TEST(chat_write, gives_the_bytes_of_semantic_kernel_after_a_store)
{
    const pdr_chat_save_opts opts = {.form = PDR_CHAT_SK};
    const pdr_ref ref = {.id = {"c", 1}};

    for (size_t i = 0; i < PDR_COUNT(real_files); i++) {
        char *text = NULL;
        size_t len = 0;
        pdr_chat_state *s = chat_file(&text, &len, real_files[i].file);
        pdr_chat_state *back = NULL;
        pdr_store *store = NULL;
        pdr_buf out = PDR_BUF_INIT(SIZE_MAX);

        ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
        ASSERT_RC(PDR_OK, pdr_chat_state_store(s, store, &ref, false,
                                               1700000000000, NULL));
        ASSERT_RC(PDR_OK, pdr_chat_load(&back, store, &ref, NULL));
        ASSERT_RC(PDR_OK,
                  pdr_chat_state_save(back, &opts, NULL, pdr_write_buf, &out));
        if (real_files[i].is_same)
            ASSERT_BYTES(pdr_str_n(text, len), pdr_buf_str(&out));
        pdr_chat_state_free(back);
        back = chat_opened(pdr_buf_str(&out));
        chat_assert_equal(s, back);
        pdr_chat_state_free(back);
        pdr_chat_state_free(s);
        pdr_store_close(store);
        pdr_buf_dispose(&out);
        free(text);
    }
}

/* Through our own form and back: equal values. The bytes differ where .NET
 * writes the same text in two ways. */
TEST(chat_write, keeps_what_semantic_kernel_wrote_in_every_form)
{
    COVERS("C-111");
    for (size_t i = 0; i < PDR_COUNT(real_files); i++) {
        char *text = NULL;
        size_t len = 0;
        pdr_chat_state *s = chat_file(&text, &len, real_files[i].file);
        pdr_buf native = chat_written(s, PDR_CHAT_NATIVE);
        pdr_chat_state *ours = chat_opened(pdr_buf_str(&native));
        pdr_buf again = chat_written(ours, PDR_CHAT_SK);
        pdr_chat_state *back = chat_opened(pdr_buf_str(&again));

        chat_assert_equal(s, ours);
        chat_assert_equal(s, back);
        pdr_chat_state_free(back);
        pdr_chat_state_free(ours);
        pdr_chat_state_free(s);
        pdr_buf_dispose(&again);
        pdr_buf_dispose(&native);
        free(text);
    }
}

/* --- chats that were made here ---------------------------------------------
 */

/* Add a message that was put together, not read. */
static void add_built(pdr_chat_state *s, const char *json)
{
    pdr_value *value = NULL;

    ASSERT_RC(PDR_OK, pdr_json_read(&value, pdr_str_c(json), NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_value_compact(&value, NULL));
    ASSERT_RC(PDR_OK, pdr__grow((void **)&s->log, &s->log_cap, s->log_count + 1,
                                sizeof(*s->log), NULL));
    s->log[s->log_count++] =
        (struct pdr__log_entry){.is_visible = true, .value = value};
}

static struct pdr__saved_channel *add_channel(pdr_chat_state *s,
                                              const char *sk_key,
                                              const char *state)
{
    ASSERT_RC(PDR_OK,
              pdr__grow((void **)&s->channels, &s->channel_cap,
                        s->channel_count + 1, sizeof(*s->channels), NULL));
    struct pdr__saved_channel *c = &s->channels[s->channel_count++];

    memset(c, 0, sizeof(*c));
    c->key = pdr_str_c("k2:x");
    c->sk_key = pdr_str_c(sk_key);
    if (state != NULL)
        ASSERT_RC(PDR_OK,
                  pdr_json_read(&c->state, pdr_str_c(state), NULL, NULL));
    return c;
}

static void add_participant(pdr_chat_state *s, const char *id, const char *name)
{
    ASSERT_RC(PDR_OK, pdr__grow((void **)&s->participants, &s->participant_cap,
                                s->participant_count + 1,
                                sizeof(*s->participants), NULL));
    s->participants[s->participant_count++] = (struct pdr__saved_participant){
        .id = pdr_str_c(id), .name = pdr_str_c(name), .type = PDR_LIT("T")};
}

static pdr_chat_state *made(void)
{
    pdr_chat_state *s = NULL;

    ASSERT_RC(PDR_OK, pdr__chat_state_new(&s, NULL));
    return s;
}

TEST(chat_write, writes_an_empty_chat_and_one_of_one_message)
{
    COVERS("C-72");
    COVERS("C-73");
    pdr_chat_state *s = made(), *back = NULL;
    pdr_buf out = chat_written(s, PDR_CHAT_SK);

    ASSERT_TEXT("{\n  \"Participants\": [],\n  \"History\": [],\n  "
                "\"Channels\": []\n}",
                pdr_buf_str(&out));
    pdr_buf_dispose(&out);
    add_built(s, CHAT_MESSAGE_1);
    out = chat_written(s, PDR_CHAT_SK);
    back = chat_opened(pdr_buf_str(&out));
    ASSERT(back->participant_count == 0 && back->log_count == 1);
    ASSERT_SIZE(0, back->channel_count);
    pdr_chat_state_free(back);
    pdr_chat_state_free(s);
    pdr_buf_dispose(&out);
}

TEST(chat_write, writes_two_agents_that_share_a_channel)
{
    COVERS("C-75");
    pdr_chat_state *s = made();

    add_participant(s, "agent-a", "A");
    add_participant(s, "agent-b", NULL);
    add_built(s, CHAT_MESSAGE_1);
    add_built(s, CHAT_MESSAGE_2);
    add_channel(s, CHAT_HISTORY_KEY, CHAT_HISTORY)->type = PDR_LIT("C");
    pdr_buf out = chat_written(s, PDR_CHAT_SK);
    ASSERT_TEXT(
        "{\n  \"Participants\": [\n"
        "    {\n      \"Id\": \"agent-a\",\n      \"Name\": \"A\",\n"
        "      \"Type\": \"T\"\n    },\n"
        "    {\n      \"Id\": \"agent-b\",\n      \"Type\": \"T\"\n"
        "    }\n  ],\n  \"History\": " CHAT_HISTORY ",\n"
        "  \"Channels\": [\n    {\n      \"ChannelKey\": "
        "\"Vdx37EnWT9BS\\u002BkkCkEgFCg9uHvHNw1\\u002BhXMA4sgNMKs4=\","
        "\n      \"ChannelType\": \"C\",\n      \"ChannelState\": " CHAT_HISTORY
        "\n    }\n  ]\n}",
        pdr_buf_str(&out));
    pdr_buf_dispose(&out);
    pdr_chat_state_free(s);
}

/* A message that was made here, and what Semantic Kernel gets. */
static const struct {
    const char *made, *written;
} message_rows[] = {
    {"{\"Role\":{\"Label\":\"user\"}}",
     "{\"AuthorName\":null,\"Role\":{\"Label\":\"user\"},\"Items\":[]}"},
    {"{\"Items\":[{\"Text\":\"a\",\"$type\":\"TextContent\"}],\"MimeType\":"
     "\"m\",\"ModelId\":\"n\",\"Metadata\":{\"k\":1},\"Role\":{\"Label\":"
     "\"tool\"},\"AuthorName\":\"B\"}",
     "{\"AuthorName\":\"B\",\"Role\":{\"Label\":\"tool\"},\"Items\":[{"
     "\"$type\":\"TextContent\",\"Text\":\"a\"}],\"ModelId\":\"n\","
     "\"MimeType\":\"m\"}"},
    {"{\"AuthorName\":null,\"Role\":{\"Label\":\"user\"},\"Items\":[],"
     "\"X\":\"\xC3\xA9\"}",
     "{\"AuthorName\":null,\"Role\":{\"Label\":\"user\"},\"Items\":[],"
     "\"X\":\"\\u00E9\"}"},
    /* every class of character */
    {"{\"AuthorName\":\"\\\"\\\\\\b\\t\\n\\f\\r\\u0000\\u001f/&'+<>`\x7F"
     "\xC3\xA9\xE6\x97\xA5\xF0\x9F\xA5\x90\\uD83E.\\u00e9\"}",
     "{\"AuthorName\":\"\\u0022\\\\\\b\\t\\n\\f\\r\\u0000\\u001F/\\u0026\\u0027"
     "\\u002B\\u003C\\u003E\\u0060\\u007F\\u00E9\\u65E5\\uD83E\\uDD50\\uFFFD."
     "\\u00E9\",\"Items\":[]}"},
    /* the base64 of data has a plain "+", nothing else has */
    {"{\"AuthorName\":null,\"Items\":[{\"$type\":\"BinaryContent\",\"Data\":"
     "\"a+b/\",\"Metadata\":{\"Data\":\"a+b\"}}]}",
     "{\"AuthorName\":null,\"Items\":[{\"$type\":\"BinaryContent\",\"Data\":"
     "\"a+b/\",\"Metadata\":{\"Data\":\"a\\u002Bb\"}}]}"},
    /* numbers are spelled as they are */
    {"{\"AuthorName\":null,\"Items\":[{\"$type\":\"TextContent\",\"n\":1.50,"
     "\"t\":[true,null]}]}",
     "{\"AuthorName\":null,\"Items\":[{\"$type\":\"TextContent\",\"n\":1.50,"
     "\"t\":[true,null]}]}"},
    /* a role that is a text */
    {"{\"Role\":\"user\"}",
     "{\"AuthorName\":null,\"Role\":{\"Label\":\"user\"},\"Items\":[]}"},
    {"{\"role\":\"a\",\"role\":\"b\"}",
     "{\"AuthorName\":null,\"Items\":[],\"role\":\"a\",\"role\":\"b\"}"},
    /* the sketch of the decision record */
    {"{\"role\":\"user\",\"name\":\"B\",\"items\":[{\"$type\":\"TextContent\"}],"
     "\"x\":1}",
     "{\"AuthorName\":\"B\",\"Role\":{\"Label\":\"user\"},\"Items\":[{"
     "\"$type\":\"TextContent\"}],\"x\":1}"},
};

TEST(chat_write, spells_messages_as_dotnet_does)
{
    COVERS("C-75");
    COVERS("C-110");
    for (size_t i = 0; i < PDR_COUNT(message_rows); i++) {
        pdr_chat_state *s = made();
        char expected[512];

        add_built(s, message_rows[i].made);
        pdr_buf out = chat_written(s, PDR_CHAT_SK);
        (void)snprintf(expected, sizeof(expected),
                       "{\n  \"Participants\": [],\n  \"History\": [%s],\n  "
                       "\"Channels\": []\n}",
                       message_rows[i].written);
        ASSERT_TEXT(expected, pdr_buf_str(&out));
        pdr_buf_dispose(&out);
        pdr_chat_state_free(s);
    }
}

/* A message that was read and changed has no text of its own. */
TEST(chat_write, writes_messages_and_states_that_were_changed)
{
    pdr_chat_state *s = chat_opened(pdr_str_c(chat_sk));
    pdr_value *name = NULL, *large = NULL;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

    ASSERT_RC(PDR_OK, pdr_buf_printf(&text, NULL, "%0*d", 200000, 7));
    ASSERT_RC(PDR_OK, pdr_value_new_string(&name, PDR_LIT("A+"), NULL));
    ASSERT_RC(PDR_OK, pdr_value_new_string(&large, pdr_buf_str(&text), NULL));
    ASSERT_RC(PDR_OK, pdr_value_set(&s->log[0].value, PDR_LIT("AuthorName"),
                                    name, NULL));
    ASSERT_RC(PDR_OK,
              pdr_value_set(&s->log[1].value, PDR_LIT("X"), large, NULL));
    ASSERT_RC(PDR_OK, pdr_value_append(&s->channels[1].state, name, NULL));
    for (pdr_chat_form f = PDR_CHAT_NATIVE; f <= PDR_CHAT_ENCODED; f++) {
        pdr_buf out = chat_written(s, f);
        pdr_chat_state *back = chat_opened(pdr_buf_str(&out));

        if (f == PDR_CHAT_NATIVE || f == PDR_CHAT_SK)
            chat_assert_equal(s, back);
        if (f == PDR_CHAT_SK)
            ASSERT(chat_has(&out, "}]},\"A\\u002B\"]\n"));
        if (f == PDR_CHAT_PLAIN)
            ASSERT(pdr_value_equal(large,
                                   pdr_value_get_c(back->log[1].value, "X")));
        pdr_chat_state_free(back);
        pdr_buf_dispose(&out);
    }
    pdr_value_free(name);
    pdr_value_free(large);
    pdr_buf_dispose(&text);
    pdr_chat_state_free(s);
}

/* --- plain and encoded -----------------------------------------------------
 */

TEST(chat_write, writes_the_forms_of_the_decision_record)
{
    static const struct {
        const char *from;
        pdr_chat_form form;
        const char *expected;
    } rows[] = {
        {chat_plain, PDR_CHAT_PLAIN, chat_plain},
        {chat_encoded, PDR_CHAT_ENCODED, chat_encoded},
        {chat_encoded, PDR_CHAT_PLAIN, chat_plain},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_chat_state *s = chat_opened(pdr_str_c(rows[i].from));
        pdr_buf out = chat_written(s, rows[i].form);

        ASSERT_TEXT(rows[i].expected, pdr_buf_str(&out));
        pdr_buf_dispose(&out);
        pdr_chat_state_free(s);
    }
}

TEST(chat_write, writes_states_as_text_where_the_form_wants_text)
{
    static const struct {
        const char *state, *sk, *plain, *encoded;
    } rows[] = {
        {"\"t1\"", "\"t1\"", "\"t1\"", "\"dDE=\""},
        {"\"a+\\\"\"", "\"a\\u002B\\u0022\"", "\"a+\\\"\"", "\"YSsi\""},
        {"\"\"", "\"\"", "\"\"", "\"\""},
        {"[1, 2]", "[1, 2]", "\"[1, 2]\"", "\"WzEsIDJd\""},
        {"{\"a\":\"b\"}", "{\"a\":\"b\"}", "\"{\\\"a\\\":\\\"b\\\"}\"",
         "\"eyJhIjoiYiJ9\""},
        {"\"[1]\"", "[1]", "\"[1]\"", "\"WzFd\""},
        {"\"[open\"", "\"[open\"", "\"[open\"", "\"W29wZW4=\""},
        {"\" [1]\"", "\" [1]\"", "\" [1]\"", "\"IFsxXQ==\""},
        {"\"[}\"", "\"[}\"", "\"[}\"", "\"W30=\""},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        const char *const expected[] = {[PDR_CHAT_SK] = rows[i].sk,
                                        [PDR_CHAT_PLAIN] = rows[i].plain,
                                        [PDR_CHAT_ENCODED] = rows[i].encoded};

        for (pdr_chat_form f = PDR_CHAT_SK; f <= PDR_CHAT_ENCODED; f++) {
            pdr_chat_state *s = made(), *back = NULL;
            char text[256];

            add_channel(s, "a", rows[i].state);
            pdr_buf out = chat_written(s, f);
            (void)snprintf(text, sizeof(text),
                           f == PDR_CHAT_SK ? "\"ChannelState\": %s\n"
                                            : "\"channelstate\":%s}",
                           expected[f]);
            ASSERT(chat_has(&out, text));
            back = chat_opened(pdr_buf_str(&out));
            ASSERT(back->channels[0].state != NULL);
            pdr_chat_state_free(back);
            pdr_chat_state_free(s);
            pdr_buf_dispose(&out);
        }
    }
}

TEST(chat_write, writes_our_key_where_there_is_no_other)
{
    pdr_chat_state *s = made(), *back = NULL;
    pdr_str key = PDR_LIT("k2:5-GlugHHdTQr6TS8PcNamK1hA8_NCBxtSNPVCbZCCM4");

    add_channel(s, NULL, NULL)->key = key;
    pdr_buf out = chat_written(s, PDR_CHAT_PLAIN);
    back = chat_opened(pdr_buf_str(&out));
    ASSERT_BYTES(key, back->channels[0].key);
    ASSERT(back->channels[0].state == NULL);
    pdr_chat_state_free(back);
    pdr_chat_state_free(s);
    pdr_buf_dispose(&out);
}

/* --- what is refused -------------------------------------------------------
 */

/* Not to be called. */
static pdr_rc write_never(pdr_str bytes, pdr_err *err, void *arg)
{
    (void)bytes;
    (void)err;
    (void)arg;
    fail_msg("%s", "bytes were written");
    return PDR_OK;
}

static void assert_refused(const pdr_chat_state *s,
                           const pdr_chat_save_opts *opts, pdr_rc rc,
                           const char *reason, const char *path)
{
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(rc, pdr__chat_write(s, opts, &err, write_never, NULL));
    ASSERT_STR(reason, err.reason);
    ASSERT_STR(path, err.path);
    ASSERT_RC(rc, pdr__chat_write(s, opts, NULL, write_never, NULL));
}

/* What the reader of Semantic Kernel would refuse, with the whole file. */
TEST(chat_write, refuses_messages_that_semantic_kernel_cannot_read)
{
    COVERS("C-110");
    COVERS("C-114");
    static const char *const rows[][2] = {
        {"{\"Role\":{}}", ""},
        {"{\"Role\":null}", ""},
        {"{\"Role\":{\"Label\":\" \"}}", ""},
        {"{\"role\":\"\"}", ""},
        {"{\"Items\":\"+\"}", ""},
        {"{\"Items\":[],\"Items\":[]}", ""},
        {"{\"Items\":[null]}", "/Items/0"},
        {"{\"Items\":[{\"$type\":\"TextContent\"},{}]}", "/Items/1"},
        {"{\"Items\":[{\"$type\":\"NewContent\"}]}", "/Items/0"},
        {"{\"Items\":[{\"$type\":\"textContent\"}]}", "/Items/0"},
        {"{\"Items\":[{\"$type\":\"FileReferenceContent\"}]}", "/Items/0"},
        {"{\"Items\":[{\"$type\":\"FunctionCallContent\",\"FunctionName\":"
         "null}]}",
         "/Items/0"},
        {"{\"Items\":[{\"$type\":\"AnnotationContent\",\"Label\":\"a\"}]}",
         "/Items/0"},
        {"{\"role\":\"user\",\"items\":[{\"$type\":\"X\"}]}", "/items/0"},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        const pdr_chat_save_opts opts = {.form = PDR_CHAT_SK};
        pdr_chat_state *s = made();
        char where[60];

        add_built(s, CHAT_MESSAGE_1);
        add_built(s, rows[i][0]);
        snprintf(where, sizeof(where), "/history/messages/1%s", rows[i][1]);
        assert_refused(s, &opts, PDR_EINVALID, "cannot_carry", where);
        for (pdr_chat_form f = PDR_CHAT_NATIVE; f <= PDR_CHAT_ENCODED; f++) {
            pdr_buf out = PDR_BUF_INIT(SIZE_MAX);

            if (f == PDR_CHAT_SK)
                continue;
            out = chat_written(s, f);
            pdr_buf_dispose(&out);
        }
        pdr_chat_state_free(s);
    }
}

/* JSON with so many levels, an object outside. */
static const char *nested(char out[512], size_t levels)
{
    (void)snprintf(out, 512, "{\"a\":%.*s%.*s}", (int)(levels - 1),
                   "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
                   "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
                   "[[[[[[[[[[",
                   (int)(levels - 1),
                   "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
                   "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
                   "]]]]]]]]]]");
    return out;
}

TEST(chat_write, writes_no_deeper_than_its_readers_read)
{
    COVERS("C-110");
    static const struct {
        pdr_chat_form form;
        size_t message, state; /* levels at most */
    } rows[] = {
        {PDR_CHAT_SK, 62, 61},
        {PDR_CHAT_PLAIN, 126, 125},
        {PDR_CHAT_ENCODED, 126, 125},
        {PDR_CHAT_NATIVE, 124, 125},
    };
    char json[512], text[520];

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_chat_save_opts opts = {.form = rows[i].form};
        pdr_chat_state *s = made(), *deep = made();

        add_built(s, nested(json, rows[i].message));
        add_channel(s, "a", nested(json, rows[i].state));
        pdr_buf out = chat_written(s, rows[i].form);
        pdr_chat_state_free(chat_opened(pdr_buf_str(&out)));
        add_built(s, nested(json, rows[i].message + 1));
        assert_refused(s, &opts, PDR_ELIMIT, "too_deep", "/history/messages/1");
        add_channel(deep, "a", nested(json, rows[i].state + 1));
        assert_refused(deep, &opts, PDR_ELIMIT, "too_deep", "/channels/0");
        pdr_chat_state_free(s);
        pdr_chat_state_free(deep);
        pdr_buf_dispose(&out);
    }
    /* Text that becomes JSON there. */
    (void)snprintf(text, sizeof(text), "\"[%s]\"",
                   "[[[[[[[[[[[[[[[[[[[[[[[[[[["
                   "[[[[[[[[[[[[[[[[[[[[[[[[[[["
                   "[[[[[[[[[[[[[[[[[[[[");
    pdr_chat_state *s = made();
    add_channel(s, "a", text);
    assert_refused(s, &(pdr_chat_save_opts){.form = PDR_CHAT_SK}, PDR_ELIMIT,
                   "too_deep", "/channels/0");
    pdr_chat_state_free(s);
}

TEST(chat_write, refuses_states_that_the_form_cannot_hold)
{
    COVERS("C-79");
    static const struct {
        const char *state;
        bool sk, plain, encoded; /* can they? */
    } rows[] = {
        {"\"[abc]\"", false, true, true},  {"\"{x}\"", false, true, true},
        {"\"[1][2]\"", false, true, true}, {"\"[1,]\"", false, true, true},
        {"42", false, false, false},       {"true", false, false, false},
        {"null", false, false, false},     {"\"\\uD800\"", true, true, false},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        const bool can[] = {[PDR_CHAT_NATIVE] = true,
                            [PDR_CHAT_SK] = rows[i].sk,
                            [PDR_CHAT_PLAIN] = rows[i].plain,
                            [PDR_CHAT_ENCODED] = rows[i].encoded};
        pdr_chat_state *s = made();

        add_channel(s, "a", rows[i].state);
        for (pdr_chat_form f = PDR_CHAT_NATIVE; f <= PDR_CHAT_ENCODED; f++) {
            pdr_chat_save_opts opts = {.form = f};

            if (!can[f]) {
                assert_refused(s, &opts, PDR_EINVALID, "bad_channel_state",
                               "/channels/0");
                continue;
            }
            pdr_buf out = chat_written(s, f);
            pdr_chat_state *back = chat_opened(pdr_buf_str(&out));
            if (f != PDR_CHAT_SK)
                ASSERT(pdr_value_equal(s->channels[0].state,
                                       back->channels[0].state));
            pdr_chat_state_free(back);
            pdr_buf_dispose(&out);
        }
        pdr_chat_state_free(s);
    }
}

TEST(chat_write, refuses_numbers_that_json_does_not_have)
{
    const pdr_read_opts opts = {.flags = PDR_BARE_TOKENS};
    pdr_chat_state *s = made();

    add_built(s, CHAT_MESSAGE_1);
    pdr_value_free(s->log[0].value);
    ASSERT_RC(PDR_OK, pdr_json_read(&s->log[0].value, PDR_LIT("{\"a\":[NaN]}"),
                                    &opts, NULL));
    for (pdr_chat_form f = PDR_CHAT_NATIVE; f <= PDR_CHAT_ENCODED; f++)
        assert_refused(s, &(pdr_chat_save_opts){.form = f}, PDR_EINVALID,
                       "bare_token", "/a/0");
    pdr_chat_state_free(s);
}

/* --- what is left out ------------------------------------------------------
 */

/* A line for each finding. */
static pdr_rc note(const pdr_doc_finding *finding, pdr_err *err, void *arg)
{
    pdr_buf *notes = arg;

    ASSERT_STR("not-carried", finding->rule);
    ASSERT_INT(PDR_SEVERITY_WARNING, finding->severity);
    ASSERT(finding->text.len > 0);
    return pdr_buf_printf(notes, err, "%.*s\n", (int)finding->pointer.len,
                          finding->pointer.ptr);
}

static pdr_rc note_and_fail(const pdr_doc_finding *finding, pdr_err *err,
                            void *arg)
{
    (void)finding;
    (void)arg;
    return pdr_err_set(err, PDR_ECANCELLED, "enough", "enough");
}

/* A native chat with everything that it can have. */
static const char everything[] =
    "{\"format\":\"agentchat\",\"version\":1,\"id\":\"c\",\"epoch\":1,\"rev\":"
    "2,\"participants\":[{\"id\":\"a\",\"session\":{},\"q\":1}],"
    "\"history\":{\"count\":1,\"chain\":"
    "\"bbdf0cd12de256b6d66099a5a8d6bfaac557b7d5ffda422c22b7a1996a38dd24\","
    "\"messages\":[{\"seq\":1,\"turn\":3,\"origin\":\"k2:x\",\"m\":" CHAT_MESSAGE_1
    "}]},"
    "\"channels\":[{\"key2\":\"k2:x\",\"key\":\"a\",\"type\":\"T\",\"cursor\":"
    "0,\"z~\":2},{\"key2\":\"k2:y\",\"cursor\":1}],"
    "\"turn\":{\"complete\":true,\"iteration\":3,\"open\":{},\"selection\":{\"kind\":\"x\"}}"
    ",\"x/y\":3}";

TEST(chat_write, reports_what_the_form_leaves_out)
{
    static const struct {
        pdr_chat_form form;
        const char *notes;
    } rows[] = {
        {PDR_CHAT_SK, "/participants/0/session\n/participants/0/q\n/history\n"
                      "/channels/0/cursor\n/channels/0/z~0\n/channels/1\n"
                      "/turn/complete\n/turn/open\n/turn/selection\n/x~1y\n"},
        {PDR_CHAT_PLAIN,
         "/participants\n/history\n/channels/0/cursor\n/channels/0/type\n"
         "/channels/0/z~0\n/turn/complete\n/turn/open\n/turn/selection\n"
         "/x~1y\n"},
        {PDR_CHAT_NATIVE, ""},
    };
    pdr_chat_state *s = chat_opened(pdr_str_c(everything));

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_buf notes = PDR_BUF_INIT(SIZE_MAX), out = PDR_BUF_INIT(SIZE_MAX);
        pdr_chat_save_opts opts = {
            .form = rows[i].form, .fn = note, .arg = &notes};

        ASSERT_RC(PDR_OK, chat_write(&out, s, &opts, NULL));
        ASSERT_TEXT(rows[i].notes, pdr_buf_str(&notes));
        opts.is_strict = true;
        if (rows[i].form == PDR_CHAT_NATIVE) {
            ASSERT_RC(PDR_OK, chat_write(&out, s, &opts, NULL));
        } else {
            assert_refused(s, &opts, PDR_EINVALID, "cannot_carry",
                           i == 0 ? "/participants/0/session"
                                  : "/participants");
            opts.fn = NULL;
            assert_refused(s, &opts, PDR_EINVALID, "cannot_carry",
                           i == 0 ? "/participants/0/session"
                                  : "/participants");
            opts.fn = note_and_fail;
            ASSERT_RC(PDR_ECANCELLED,
                      pdr__chat_write(s, &opts, NULL, write_never, NULL));
        }
        pdr_buf_dispose(&notes);
        pdr_buf_dispose(&out);
    }
    pdr_chat_state_free(s);
}

TEST(chat_write, reports_nothing_of_what_semantic_kernel_wrote)
{
    for (size_t i = 0; i < PDR_COUNT(real_files); i++) {
        pdr_chat_save_opts opts = {.form = PDR_CHAT_SK, .is_strict = true};
        pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
        char *text = NULL;
        size_t len = 0;
        pdr_chat_state *s = chat_file(&text, &len, real_files[i].file);

        ASSERT_RC(PDR_OK, chat_write(&out, s, &opts, NULL));
        pdr_chat_state_free(s);
        pdr_buf_dispose(&out);
        free(text);
    }
}

TEST(chat_write, names_the_first_thing_that_is_left_out)
{
    pdr_chat_save_opts opts = {.form = PDR_CHAT_PLAIN, .is_strict = true};
    pdr_chat_state *s =
        chat_opened(pdr_str_c("{\"history\":[],\"channels\":[],\"\\n/\":1}"));

    assert_refused(s, &opts, PDR_EINVALID, "cannot_carry", "/\\n~1");
    pdr_chat_state_free(s);
}

TEST(chat_write, reports_the_metadata_of_a_message)
{
    pdr_buf notes = PDR_BUF_INIT(SIZE_MAX), out = PDR_BUF_INIT(SIZE_MAX);
    pdr_chat_save_opts opts = {.form = PDR_CHAT_SK, .fn = note, .arg = &notes};
    pdr_chat_state *s = made();

    add_built(s, CHAT_MESSAGE_1);
    add_built(s, "{\"Metadata\":{}}");
    ASSERT_RC(PDR_OK, chat_write(&out, s, &opts, NULL));
    ASSERT_TEXT("/history/1/Metadata\n", pdr_buf_str(&notes));
    pdr_buf_dispose(&notes);
    pdr_buf_dispose(&out);
    pdr_chat_state_free(s);
}

TEST(chat_write, keeps_members_of_semantic_kernel_that_nobody_knows)
{
    static const char text[] =
        "{\n  \"Participants\": [\n    {\n      \"Id\": \"a\",\n      \"P\": "
        "[1]\n    }\n  ],\n  \"History\": [],\n  \"Channels\": [\n    {\n      "
        "\"ChannelKey\": \"k\",\n      \"ChannelType\": \"T\",\n      \"Q\": "
        "{}\n    }\n  ],\n  \"R\": null\n}";
    pdr_chat_state *s = chat_opened(pdr_str_c(text));
    pdr_buf out = chat_written(s, PDR_CHAT_SK);

    ASSERT_TEXT(text, pdr_buf_str(&out));
    pdr_buf_dispose(&out);
    pdr_chat_state_free(s);
}

/* --- streams ---------------------------------------------------------------
 */

struct pieces {
    size_t count, most, bytes;
    size_t left; /* until one fails; 0: none does */
};

static pdr_rc count_piece(pdr_str bytes, pdr_err *err, void *arg)
{
    struct pieces *p = arg;

    p->count++;
    p->bytes += bytes.len;
    p->most = bytes.len > p->most ? bytes.len : p->most;
    if (p->left > 0 && --p->left == 0)
        return pdr_err_set(err, PDR_EIO, "disk_is_full", "no room");
    return PDR_OK;
}

TEST(chat_write, goes_out_in_pieces_and_ends_when_one_fails)
{
    pdr_chat_state *s = made();

    for (size_t i = 0; i < 5000; i++)
        add_built(s, CHAT_MESSAGE_2);
    add_channel(s, "a", CHAT_HISTORY);
    for (pdr_chat_form f = PDR_CHAT_NATIVE; f <= PDR_CHAT_ENCODED; f++) {
        pdr_chat_save_opts opts = {.form = f};
        struct pieces all = {0, 0, 0, 0}, first = {0, 0, 0, 1};
        size_t before = test_live_bytes();

        test_reset_peak();
        ASSERT_RC(PDR_OK, pdr__chat_write(s, &opts, NULL, count_piece, &all));
        ASSERT(all.bytes > 400000 && all.most <= 256 * 1024);
        ASSERT(test_peak_bytes() - before < 512 * 1024);
        ASSERT_RC(PDR_EIO,
                  pdr__chat_write(s, &opts, NULL, count_piece, &first));
        ASSERT_SIZE(1, first.count);
    }
    pdr_chat_state_free(s);
}

TEST_OOM(chat_write, cleans_up_after_any_failed_allocation)
{
    pdr_chat_state *s = NULL;
    pdr_buf notes = PDR_BUF_INIT(SIZE_MAX);

    test_pause_failures(true);
    s = chat_opened(pdr_str_c(everything));
    add_built(s, message_rows[3].made);
    add_channel(s, "e", "\"\\u00e9 [\"");
    add_channel(s, "f", "\"[\\\"\\u00e9\\\"]\"");
    test_pause_failures(false);
    for (pdr_chat_form f = PDR_CHAT_NATIVE; f <= PDR_CHAT_ENCODED; f++) {
        pdr_chat_save_opts opts = {
            .form = f, .is_encoded = true, .fn = note, .arg = &notes};
        pdr_buf out = PDR_BUF_INIT(SIZE_MAX);

        if (f == PDR_CHAT_NATIVE)
            opts.key = chat_key;
        pdr_rc rc = chat_write(&out, s, &opts, NULL);
        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
        pdr_buf_dispose(&out);
    }
    pdr_buf_dispose(&notes);
    pdr_chat_state_free(s);
}
