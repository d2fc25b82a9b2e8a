/* Native chats: written, and read again. */
#include "chat_trip.h"

#define ZEROS   "0000000000000000"
#define CHAIN_0 ZEROS ZEROS ZEROS ZEROS

TEST(chat_write_native, gives_the_known_mac)
{
    COVERS("C-92");
    pdr_chat_save_opts opts = {.key = chat_key};
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    pdr_chat_state *s = NULL;

    ASSERT_RC(PDR_OK, pdr__chat_state_new(&s, NULL));
    s->id = pdr_str_c("demo");
    s->epoch = 1;
    s->revision = 3;
    ASSERT_RC(PDR_OK, chat_write(&out, s, &opts, NULL));
    ASSERT_TEXT("{\"format\":\"agentchat\",\"version\":1,\"id\":\"demo\","
                "\"epoch\":1,\"rev\":3,\"encoding\":\"none\",\"participants\":"
                "[],\"history\":{\"count\":0,\"chain\":\"" CHAIN_0 "\","
                "\"messages\":[]},\"channels\":[],\"turn\":{},\"mac\":{"
                "\"alg\":\"HMAC-SHA256\",\"kid\":\"k1\",\"value\":"
                "\"i7pM6iWBucieeJxUKcc8dhNy5A3Shqa8ztiBSU6uZmI=\"}}",
                pdr_buf_str(&out));
    pdr_chat_state_free(s);
    pdr_buf_dispose(&out);
}

TEST(chat_write_native, gives_the_known_chain)
{
    COVERS("C-93");
    pdr_chat_state *s = chat_opened(pdr_str_c(chat_encoded));
    pdr_buf out = chat_written(s, PDR_CHAT_NATIVE);

    ASSERT_TEXT(
        "{\"format\":\"agentchat\",\"version\":1,\"epoch\":0,\"rev\":0,"
        "\"encoding\":\"none\",\"participants\":[],\"history\":{\"count\":2,"
        "\"chain\":"
        "\"fc9b79b60d12ea4f972b1ad3faf67630b81d3fe33605e07de548065846eaf839\","
        "\"messages\":[{\"seq\":1,\"turn\":0,\"origin\":null,\"vis\":true,"
        "\"m\":" CHAT_MESSAGE_1 "},{\"seq\":2,\"turn\":0,\"origin\":null,"
        "\"vis\":true,\"m\":" CHAT_MESSAGE_2
        "}]},\"channels\":[{\"key\":\"" CHAT_THREAD_KEY
        "\",\"state\":\"thread_demo01\"}],\"turn\":{}}",
        pdr_buf_str(&out));
    pdr_chat_state_free(s);
    pdr_buf_dispose(&out);
}

/* With members that nobody knows, spaces and numbers of their own. */
static const char whole[] =
    "{\"format\":\"agentchat\",\"version\":1,\"id\":\"c\\u002B\",\"epoch\":1,"
    "\"rev\":2,\"encoding\":\"none\",\"participants\":[{\"id\":\"a\",\"name\":"
    "\"\",\"type\":\"t\",\"key2\":\"k2:x\",\"session\":{\"n\":1.50},\"q\":[ 1 ]"
    "}],\"history\":{\"count\":1,\"chain\":"
    "\"bbdf0cd12de256b6d66099a5a8d6bfaac557b7d5ffda422c22b7a1996a38dd24\","
    "\"messages\":[{\"seq\":1,\"turn\":3,\"origin\":\"k2:x\",\"vis\":false,"
    "\"m\":" CHAT_MESSAGE_1 "}]},\"channels\":[{\"key2\":\"k2:x\",\"key\":"
    "\"a\",\"kind\":\"x-kind\",\"type\":\"T\",\"state_version\":7,\"cursor\":0,"
    "\"state\":\"[abc]\",\"z\":2},{\"key2\":\"k2:y\",\"state\":{ \"a\" : 1E400 "
    "}},{\"key2\":\"k2:z\",\"state\":null}],\"turn\":{\"complete\":true,"
    "\"iteration\":3,\"open\":{},\"selection\":{\"kind\":\"seq\"},\"records\":"
    "[{\"turn\":2,\"agent\":\"a\",\"end\":\"ended\"},{\"turn\":3,\"agent\":\"a\","
    "\"end\":\"aborted\",\"why\":\"w\",\"chosen\":true}],\"run\":{\"after\":1,\"said\":1,"
    "\"turns\":2}},\"x\":3,\"x\":{\"y\": 4}}";

TEST(chat_write_native, writes_again_what_it_read)
{
    COVERS("C-94");
    COVERS("C-79");
    pdr_chat_state *s = chat_opened(pdr_str_c(whole));
    pdr_buf out = chat_written(s, PDR_CHAT_NATIVE);
    pdr_str id = PDR_LIT("c\\u002B");
    pdr_str text = pdr_buf_str(&out);
    const char *at = strstr(whole, id.ptr);

    /* The same but for the spelling of a text that was decoded. */
    ASSERT(at != NULL);
    size_t before = (size_t)(at - whole);
    ASSERT_BYTES(pdr_str_n(whole, before), pdr_str_n(text.ptr, before));
    ASSERT_TEXT(at + id.len,
                pdr_str_n(text.ptr + before + 2, text.len - before - 2));
    pdr_chat_state_free(s);
    pdr_buf_dispose(&out);
}

TEST(chat_write_native, brings_everything_back_from_base64)
{
    pdr_chat_open_opts reading = {
        .keys = &chat_key, .key_count = 1, .needs_mac = true};
    pdr_chat_save_opts opts = {.is_encoded = true, .key = chat_key};
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    pdr_chat_state *s = chat_opened(pdr_str_c(whole)), *back = NULL;

    ASSERT_RC(PDR_OK, chat_write(&out, s, &opts, NULL));
    ASSERT_RC(PDR_OK, chat_open(&back, pdr_buf_str(&out), &reading, NULL));
    ASSERT(back->is_encoded);
    pdr_buf plain = chat_written(s, PDR_CHAT_NATIVE);
    pdr_buf again = chat_written(back, PDR_CHAT_NATIVE);
    ASSERT_BYTES(pdr_buf_str(&plain), pdr_buf_str(&again));
    pdr_chat_state_free(back);
    pdr_chat_state_free(s);
    pdr_buf_dispose(&out);
    pdr_buf_dispose(&plain);
    pdr_buf_dispose(&again);
}

/* Pieces of base64 fit together, wherever they are cut. */
TEST(chat_write_native, encodes_histories_that_are_larger_than_a_piece)
{
    pdr_chat_save_opts opts = {.is_encoded = true};

    for (size_t size = 49000; size < 49300; size += 7) {
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX), out = PDR_BUF_INIT(SIZE_MAX);
        pdr_chat_state *s = NULL, *back = NULL;

        ASSERT_RC(PDR_OK, pdr_buf_printf(&text, NULL,
                                         "{\"history\":[{\"role\":\"%0*d\"},"
                                         "{\"x\":\"%0*d\"}],\"channels\":[]}",
                                         (int)size, 7, 100000, 7));
        s = chat_opened(pdr_buf_str(&text));
        ASSERT_RC(PDR_OK, chat_write(&out, s, &opts, NULL));
        back = chat_opened(pdr_buf_str(&out));
        chat_assert_equal(s, back);
        pdr_chat_state_free(back);
        pdr_chat_state_free(s);
        pdr_buf_dispose(&out);
        pdr_buf_dispose(&text);
    }
}

TEST(chat_write_native, writes_no_deeper_than_it_reads)
{
    pdr_chat_state *s = chat_opened(pdr_str_c(whole));
    struct {
        pdr_value **value;
        const char *path;
    } rows[] = {{&s->participants[0].session, "/participants/0"},
                {&s->open_turn, "/turn/open"},
                {&s->selection, "/turn/selection"}};
    char text[2 * 126 + 1];
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);

    memset(text, '[', 126);
    memset(text + 126, ']', 126);
    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_value *before = *rows[i].value;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_OK, pdr_json_read(rows[i].value, pdr_str_n(text + 1, 250),
                                        NULL, NULL));
        ASSERT_RC(PDR_OK, chat_write(&out, s, NULL, NULL));
        pdr_chat_state_free(chat_opened(pdr_buf_str(&out)));
        pdr_buf_clear(&out);
        pdr_value_free(*rows[i].value);
        ASSERT_RC(PDR_OK, pdr_json_read(rows[i].value, pdr_str_n(text, 252),
                                        NULL, NULL));
        ASSERT_RC(PDR_ELIMIT, chat_write(&out, s, NULL, &err));
        ASSERT_STR("too_deep", err.reason);
        ASSERT_STR(rows[i].path, err.path);
        ASSERT_SIZE(0, out.len);
        pdr_value_free(*rows[i].value);
        *rows[i].value = before;
    }
    pdr_buf_dispose(&out);
    pdr_chat_state_free(s);
}

TEST(chat_write_native, refuses_keys_that_are_none)
{
    static const char bytes[] = "0123456789abcdef0123456789abcdef";
    char long_id[130];
    const struct {
        pdr_chat_form form;
        pdr_chat_key key;
    } rows[] = {
        {PDR_CHAT_SK, chat_key},
        {PDR_CHAT_NATIVE, {{"k", 1}, {bytes, 31}}},
        {PDR_CHAT_NATIVE, {{"", 0}, {bytes, 32}}},
        {PDR_CHAT_NATIVE, {{"\xFF", 1}, {bytes, 32}}},
        {PDR_CHAT_NATIVE, {{long_id, 129}, {bytes, 32}}},
    };
    pdr_chat_state *s = chat_opened(pdr_str_c(chat_plain));

    memset(long_id, 'k', sizeof(long_id));
    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_chat_save_opts opts = {.form = rows[i].form, .key = rows[i].key};
        pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EMISUSE, chat_write(&out, s, &opts, &err));
        ASSERT_STR("bad_option", err.reason);
        ASSERT_SIZE(0, out.len);
    }
    pdr_chat_state_free(s);
}
