/* Native chats: what they hold, and what proves that they are whole. */
#include "chat_trip.h"

#define ZEROS   "0000000000000000"
#define CHAIN_0 ZEROS ZEROS ZEROS ZEROS
/* Of the two messages of chat_trip.h, after the first and after both. */
#define CHAIN_1 \
    "bbdf0cd12de256b6d66099a5a8d6bfaac557b7d5ffda422c22b7a1996a38dd24"
#define CHAIN_2 \
    "fc9b79b60d12ea4f972b1ad3faf67630b81d3fe33605e07de548065846eaf839"

/* A document whose MAC is known, and what is before it. */
#define COVERED                                                            \
    "{\"format\":\"agentchat\",\"version\":1,\"id\":\"demo\",\"epoch\":1," \
    "\"rev\":3,\"encoding\":\"none\",\"participants\":[],\"history\":{"    \
    "\"count\":0,\"chain\":\"" CHAIN_0 "\",\"messages\":[]},"              \
    "\"channels\":[],\"turn\":{}"
#define MAC                                                \
    "{\"alg\":\"HMAC-SHA256\",\"kid\":\"k1\",\"value\":\"" \
    "i7pM6iWBucieeJxUKcc8dhNy5A3Shqa8ztiBSU6uZmI=\"}"
#define SIGNED COVERED ",\"mac\":" MAC "}"

#define BEGIN "{\"format\":\"agentchat\",\"version\":1"
#define NO_MESSAGES \
    "\"history\":{\"count\":0,\"chain\":\"" CHAIN_0 "\",\"messages\":[]}"
#define ENTRY(seq, message) "{\"seq\":" seq ",\"turn\":0,\"m\":" message "}"
#define HISTORY(count, chain, entries)                           \
    BEGIN ",\"history\":{\"count\":" count ",\"chain\":\"" chain \
          "\",\"messages\":[" entries "]}}"

static const pdr_chat_open_opts with_key = {
    .keys = &chat_key, .key_count = 1, .needs_mac = true};

static void assert_refused(pdr_str text, const pdr_chat_open_opts *opts,
                           const char *reason)
{
    pdr_chat_state *s = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = chat_open(&s, text, opts, &err);

    ASSERT(s == NULL && rc != PDR_OK);
    ASSERT_STR(reason, err.reason);
    ASSERT_RC(rc, chat_open(&s, text, opts, NULL));
}

TEST(chat_open_native, reads_every_member)
{
    static const char text[] = BEGIN
        ",\"id\":\"c-42\",\"epoch\":1,\"rev\":17,\"encoding\":\"none\","
        "\"participants\":[{\"id\":\"poet\",\"name\":\"Poet\",\"type\":"
        "\"chat-completion\",\"key2\":\"k2:x\",\"session\":{\"a\":1}}],"
        "\"history\":{\"count\":2,\"chain\":\"" CHAIN_2 "\",\"messages\":["
        "{\"seq\":1,\"turn\":0,\"origin\":null,\"m\":" CHAT_MESSAGE_1 "},"
        "{\"seq\":2,\"turn\":1,\"origin\":\"k2:x\",\"vis\":false,\"m\":" CHAT_MESSAGE_2
        "}]},"
        "\"channels\":[{\"key2\":\"k2:x\",\"key\":\"" CHAT_THREAD_KEY "\","
        "\"kind\":\"assistant-thread\",\"state_version\":3,\"cursor\":1,"
        "\"state\":{\"thread\":\"t\"}}],"
        "\"turn\":{\"complete\":true,\"iteration\":1,\"open\":{\"agent\":"
        "\"poet\"},\"selection\":{\"kind\":\"seq\"}}}";
    pdr_chat_state *s = chat_opened(pdr_str_c(text));
    pdr_chat_message m;
    pdr_chat_info info;

    ASSERT_INT(PDR_CHAT_NATIVE, pdr_chat_state_form(s));
    pdr_chat_state_info(&info, s);
    ASSERT_TEXT("c-42", info.id);
    ASSERT(info.epoch == 1 && info.revision == 17 && !s->is_encoded);
    ASSERT(info.turn == 1 && info.is_complete);
    ASSERT_TEXT("poet", s->participants[0].id);
    ASSERT_TEXT("k2:x", s->participants[0].key);
    ASSERT(s->participants[0].session != NULL);
    ASSERT(pdr_chat_state_message(&m, s, 1));
    ASSERT(m.turn == 0 && m.is_visible && m.origin.ptr == NULL);
    ASSERT(pdr_chat_state_message(&m, s, 2));
    ASSERT(m.turn == 1 && !m.is_visible);
    ASSERT_TEXT("k2:x", m.origin);
    ASSERT_TEXT(CHAT_THREAD_KEY, s->channels[0].sk_key);
    ASSERT_TEXT("assistant-thread", s->channels[0].kind);
    ASSERT(s->channels[0].has_cursor && s->channels[0].cursor == 1);
    ASSERT_INT(3, s->channels[0].state_version);
    ASSERT_INT(PDR_OBJECT, pdr_value_kind(s->channels[0].state));
    ASSERT(s->is_complete && s->turn == 1);
    ASSERT(s->open_turn != NULL && s->selection != NULL);
    pdr_chat_state_free(s);
}

/* --- the MAC ---------------------------------------------------------------
 */

TEST(chat_mac, covers_every_byte_before_it)
{
    COVERS("C-92");
    static const char text[] = SIGNED;
    char changed[sizeof(text)];
    pdr_chat_state *s = NULL;

    ASSERT_RC(PDR_OK, chat_open(&s, pdr_str_c(text), &with_key, NULL));
    pdr_chat_state_free(s);
    for (size_t i = 0; i < sizeof(text) - 1; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            memcpy(changed, text, sizeof(text));
            changed[i] = (char)((unsigned char)changed[i] ^ (1u << bit));
            ASSERT(chat_open(&s, pdr_str_n(changed, sizeof(text) - 1),
                             &with_key, NULL) != PDR_OK);
            ASSERT(s == NULL);
        }
    }
}

TEST(chat_mac, is_last_and_alone_and_of_a_known_key)
{
    COVERS("C-92");
    static const pdr_chat_key other = {{"k2", 2}, {"", 0}};
    static const struct {
        const char *text;
        pdr_chat_open_opts opts;
    } rows[] = {
        {COVERED ",\"mac\":" MAC ",\"x\":1}", {&chat_key, 1, false, 0, 0}},
        {COVERED ",\"mac\":" MAC ",\"mac\":" MAC "}",
         {&chat_key, 1, false, 0, 0}},
        {COVERED ",\"mac\":null}", {&chat_key, 1, false, 0, 0}},
        {COVERED ",\"mac\":{\"alg\":\"none\",\"kid\":\"k1\",\"value\":\"\"}}",
         {&chat_key, 1, false, 0, 0}},
        {COVERED ",\"mac\":{\"alg\":\"HMAC-SHA256\",\"kid\":\"k1\","
                 "\"value\":\"\"}}",
         {&chat_key, 1, false, 0, 0}},
        {COVERED ",\"mac\":{\"alg\":\"HMAC-SHA256\",\"kid\":\"k1\","
                 "\"value\":\"no base64\"}}",
         {&chat_key, 1, false, 0, 0}},
        {COVERED ",\"mac\":{\"alg\":\"HMAC-SHA256\",\"kid\":\"k1\"}}",
         {&chat_key, 1, false, 0, 0}},
        {COVERED "}", {&chat_key, 1, true, 0, 0}}, /* needed */
        {SIGNED, {&other, 1, false, 0, 0}},
        {SIGNED, {NULL, 0, false, 0, 0}},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++)
        assert_refused(pdr_str_c(rows[i].text), &rows[i].opts, "bad_mac");
}

TEST(chat_mac, does_not_cover_white_space_around_it)
{
    static const char *const texts[] = {
        COVERED ",\"mac\":" MAC "}",
        COVERED " ,\n \"mac\" : " MAC " } \n",
        "\xEF\xBB\xBF " COVERED ",\"m\\u0061c\":" MAC "}",
    };

    for (size_t i = 0; i < PDR_COUNT(texts); i++) {
        pdr_chat_state *s = NULL;

        ASSERT_RC(PDR_OK, chat_open(&s, pdr_str_c(texts[i]), &with_key, NULL));
        pdr_chat_state_free(s);
    }
    pdr_chat_state_free(chat_opened(pdr_str_c(COVERED "}")));
}

/* --- the chain -------------------------------------------------------------
 */

TEST(chat_chain, finds_messages_that_are_not_those_that_were_saved)
{
    COVERS("C-93");
    static const char *const good[] = {
        HISTORY("0", CHAIN_0, ""),
        HISTORY("1", CHAIN_1, ENTRY("1", CHAT_MESSAGE_1)),
        HISTORY("2", CHAIN_2,
                ENTRY("1", CHAT_MESSAGE_1) "," ENTRY("2", CHAT_MESSAGE_2)),
    };
    static const char *const bad[] = {
        /* swapped, with and without their numbers */
        HISTORY("2", CHAIN_2,
                ENTRY("1", CHAT_MESSAGE_2) "," ENTRY("2", CHAT_MESSAGE_1)),
        HISTORY("2", CHAIN_2,
                ENTRY("2", CHAT_MESSAGE_2) "," ENTRY("1", CHAT_MESSAGE_1)),
        /* removed, with and without the count */
        HISTORY("2", CHAIN_2, ENTRY("1", CHAT_MESSAGE_1)),
        HISTORY("1", CHAIN_2, ENTRY("1", CHAT_MESSAGE_1)),
        HISTORY("1", CHAIN_2, ENTRY("1", CHAT_MESSAGE_2)),
        HISTORY("2", CHAIN_1, ENTRY("1", CHAT_MESSAGE_1)),
        /* changed, be it a space only */
        HISTORY("1", CHAIN_1, ENTRY("1", "{}")),
        HISTORY("0", CHAIN_1, ""),
        HISTORY("0", "0", ""),
        /* numbers */
        HISTORY("1", CHAIN_1, ENTRY("0", CHAT_MESSAGE_1)),
        HISTORY("1", CHAIN_1, ENTRY("2", CHAT_MESSAGE_1)),
    };

    for (size_t i = 0; i < PDR_COUNT(good); i++)
        pdr_chat_state_free(chat_opened(pdr_str_c(good[i])));
    for (size_t i = 0; i < PDR_COUNT(bad); i++)
        assert_refused(pdr_str_c(bad[i]), NULL, "bad_chain");
}

/* --- members ---------------------------------------------------------------
 */

static const struct {
    const char *text;
    const char *reason;
} bad_rows[] = {
    {"{\"format\":\"agentchat\",\"version\":2}", "chat_version"},
    {"{\"format\":\"agentchat\",\"version\":2,\"mac\":1}", "chat_version"},
    {"{\"format\":\"agentchat\"," NO_MESSAGES "}", "bad_chat"},
    {"{\"format\":\"agentchat\",\"version\":0," NO_MESSAGES "}", "bad_chat"},
    {"{\"format\":\"agentchat\",\"version\":\"1\"," NO_MESSAGES "}",
     "bad_chat"},
    {"{\"format\":\"agentchat\",\"version\":1.5," NO_MESSAGES "}", "bad_chat"},
    {BEGIN ",\"version\":1," NO_MESSAGES "}", "bad_chat"},
    {BEGIN "}", "bad_chat"},
    {BEGIN ",\"history\":[]}", "bad_chat"},
    {BEGIN ",\"history\":{\"count\":0,\"messages\":[]}}", "bad_chat"},
    {BEGIN ",\"history\":{\"count\":0,\"chain\":\"" CHAIN_0 "\"}}", "bad_chat"},
    {BEGIN ",\"history\":{\"count\":-1,\"chain\":\"\",\"messages\":[]}}",
     "bad_chat"},
    {HISTORY("1", CHAIN_0, "1"), "bad_chat"},
    {HISTORY("1", CHAIN_0, "{\"seq\":1}"), "bad_chat"},
    {HISTORY("1", CHAIN_0, "{\"seq\":1,\"m\":[]}"), "bad_chat"},
    {HISTORY("1", CHAIN_0, "{\"seq\":\"1\",\"m\":{}}"), "bad_chat"},
    {HISTORY("1", CHAIN_0, "{\"seq\":1,\"turn\":-1,\"m\":{}}"), "bad_chat"},
    {HISTORY("1", CHAIN_0, "{\"seq\":1,\"origin\":1,\"m\":{}}"), "bad_chat"},
    {HISTORY("1", CHAIN_0, "{\"seq\":1,\"vis\":1,\"m\":{}}"), "bad_chat"},
    {BEGIN "," NO_MESSAGES ",\"encoding\":\"gzip\"}", "bad_chat"},
    {BEGIN "," NO_MESSAGES ",\"encoding\":\"base64\"}", "bad_chat"},
    {BEGIN ",\"history\":\"W10=\",\"encoding\":\"base64\"}", "bad_chat"},
    {BEGIN ",\"history\":\"e30=\"}", "bad_chat"},
    {BEGIN "," NO_MESSAGES ",\"id\":1}", "bad_chat"},
    {BEGIN "," NO_MESSAGES ",\"rev\":null}", "bad_chat"},
    {BEGIN "," NO_MESSAGES ",\"participants\":{}}", "bad_chat"},
    {BEGIN "," NO_MESSAGES ",\"participants\":[1]}", "bad_chat"},
    {BEGIN "," NO_MESSAGES ",\"participants\":[{\"key2\":1}]}", "bad_chat"},
    {BEGIN "," NO_MESSAGES ",\"channels\":1}", "bad_chat"},
    {BEGIN "," NO_MESSAGES ",\"channels\":[{\"kind\":\"x\"}]}", "bad_chat"},
    {BEGIN "," NO_MESSAGES ",\"channels\":[{\"key2\":\"a\"},{\"key2\":\"a\"}]}",
     "bad_chat"},
    {BEGIN "," NO_MESSAGES ",\"channels\":[{\"key\":\"a\"},{\"key\":\"a\"}]}",
     "bad_chat"},
    {BEGIN "," NO_MESSAGES ",\"channels\":[{\"key\":\"a\",\"cursor\":1}]}",
     "bad_chat"},
    {BEGIN "," NO_MESSAGES
           ",\"channels\":[{\"key\":\"a\",\"state_version\":4294967296}]}",
     "bad_chat"},
    {BEGIN "," NO_MESSAGES ",\"turn\":1}", "bad_chat"},
    {BEGIN "," NO_MESSAGES ",\"turn\":{\"complete\":1}}", "bad_chat"},
    {BEGIN "," NO_MESSAGES ",\"turn\":{\"iteration\":true}}", "bad_chat"},
    {BEGIN "," NO_MESSAGES ",\"turn\":{\"records\":1}}", "bad_chat"},
    {BEGIN "," NO_MESSAGES ",\"turn\":{\"run\":1}}", "bad_chat"},
    {BEGIN "," NO_MESSAGES ",\"turn\":{\"run\":{\"after\":-1}}}", "bad_chat"},
    {BEGIN "," NO_MESSAGES ",\"turn\":{\"run\":{\"turns\":[]}}}", "bad_chat"},
};

TEST(chat_open_native, refuses_newer_versions_and_wrong_members)
{
    COVERS("C-94");
    for (size_t i = 0; i < PDR_COUNT(bad_rows); i++)
        assert_refused(pdr_str_c(bad_rows[i].text), NULL, bad_rows[i].reason);
    assert_refused(pdr_str_c(HISTORY("1", CHAIN_1, ENTRY("1", CHAT_MESSAGE_1))),
                   &(pdr_chat_open_opts){.max_messages = 0, .max_bytes = 64},
                   "too_large");
}

TEST_OOM(chat_open_native, cleans_up_after_any_failed_allocation)
{
    static const char *const texts[] = {
        SIGNED,
        BEGIN
        ",\"encoding\":\"base64\",\"history\":"
        "\"eyJjb3VudCI6MCwiY2hhaW4iOiIwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMD"
        "AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwIiwibWVzc2FnZXMiOltdfQ==\",\"channels\":[{\"key2\":\"\\u00e9\",\"state\":"
        "\"IngiCg==\"}]}",
        HISTORY("1", CHAIN_1,
                "{\"seq\":1,\"origin\":\"\\u00e9\",\"m\":" CHAT_MESSAGE_1 "}"),
    };

    for (size_t i = 0; i < PDR_COUNT(texts); i++) {
        pdr_chat_open_opts opts = with_key;
        pdr_chat_state *s = NULL;

        opts.needs_mac = i == 0;
        opts.key_count = i == 0;
        pdr_rc rc = chat_open(&s, pdr_str_c(texts[i]), &opts, NULL);
        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
        ASSERT((s != NULL) == (rc == PDR_OK));
        pdr_chat_state_free(s);
    }
}
