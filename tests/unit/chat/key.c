/* Keys of channels: published values of both kinds. */
#include "test.h"

#include "chat.h"

#define SK "Microsoft.SemanticKernel.Agents."
/* Ten and two hundred. */
#define X10 "xxxxxxxxxx"
#define X200                                                                \
    X10 X10 X10 X10 X10 X10 X10 X10 X10 X10 X10 X10 X10 X10 X10 X10 X10 X10 \
        X10 X10

/* Parts of a key, each with its NUL. */
#define PARTS(literal)           \
    {                            \
        literal, sizeof(literal) \
    }

static const struct {
    pdr_str parts;
    const char *key;
} sk_rows[] = {
    {PARTS(SK "ChatHistoryChannel"),
     "Vdx37EnWT9BS+kkCkEgFCg9uHvHNw1+hXMA4sgNMKs4="},
    {PARTS(SK "AggregatorChannel\0Group"),
     "9hOXB1TWUj8A6pLqF+fndaYZCnCNRGd+sUAClZEUBrc="},
    {PARTS(SK "AggregatorChannel\0agent1"),
     "rWwDKVfmcdmJK3+3cd41CfDnN2av6iXSu99yxq3H5V8="},
    {PARTS(SK "Bedrock.BedrockAgentChannel"),
     "0Lr4GqQqpAFaYf0md7hJqY+K3ODjHcJucKiZcSio5L4="},
    {PARTS(SK "OpenAI.OpenAIAssistantChannel"),
     "pzfzbQ90ggloeDNIVS4Zh0YWavGS4kPbrhWtH5XzK7s="},
    {PARTS(SK "OpenAI.OpenAIAssistantChannel\0"
              "12345678"),
     "/RhzL9RuPraxoWEZdfQ57SRe+dlTT4MsDKYaTHGXz6I="},
    {PARTS(SK "OpenAI.OpenAIAssistantChannel\0https://contoso.example/"),
     "LadsxFKNFLK2+/6hRSN+jv5WczQFq27BAw25Z8DQ+Ck="},
    {PARTS("ChatHistoryChannel"),
     "fr6BCLq1QJaqCSUrtvW/ei/WBkg6qB/FWaJdwa6Ioro="},
    {PARTS("OpenAIAssistantAgent\0asst_1\0Counter\0https://api.openai.com/v1/"),
     "Z3iuPS8daJ5+lX/SZuOdvfyyFxn2MJVtEi5AmmvlLS8="},
    {{NULL, 0}, "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="},
    {PARTS(""), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="},
    {PARTS("a"), "ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs="},
    {PARTS("a\0b"), "Z4OjHqv2jMwGYPk1wIJigr3SJB86gKny0Q1Zrqnrtdg="},
    {PARTS("a:b"), "Z4OjHqv2jMwGYPk1wIJigr3SJB86gKny0Q1Zrqnrtdg="},
    {PARTS("a\0"), "v8Yi1KbUEPJr49ct1PBOR79DT3bGVRNK23b+86CDw6g="},
    {PARTS("\0a"), "tcXMH76PqGp4qJ1SRwEML74FYQyh1anp34tA5j1nXeY="},
    {PARTS("é\0日本"), "f86dWMR+oi1F07mHbbXLU/l2E3J1TuErZDYLlnvDhPo="},
    {PARTS(X200), "qiDCPjIBg0BQZ54diJQbmm/tBVfJpwXLLDFeLmP9SG0="},
};

static const struct {
    pdr_str parts;
    const char *key;
} our_rows[] = {
    {PARTS("chat-history"), "k2:5-GlugHHdTQr6TS8PcNamK1hA8_NCBxtSNPVCbZCCM4"},
    {PARTS("chat-history\0truncate\0"
           "10\0"
           "5"),
     "k2:V0TpzIjcwQRMFGyomTkZyjAg2m2KBfWuIAhWvSOgcII"},
    {PARTS("assistant-thread\0https://contoso.example/"),
     "k2:5ngpizDZ8Blx7YR0btH6kAUYZMoZ2bmnmlq3kbIWDiY"},
    {PARTS("aggregate\0Group"),
     "k2:tCUWTPGMzIXFeCKsmq-MYiGvqhaAOaBME-JuMe9FuXQ"},
    {PARTS("a\0b"), "k2:dpjlxtNYqtEiyNQgo0N5R6utlVRLgp22UcE0P7xZtu0"},
    {PARTS("a:b"), "k2:PSGO5MqE1YJiz0ibeBwPn5iwSHbCUKKfAXWN6DwIvZM"},
};

TEST(channel_sk_key, gives_the_keys_of_semantic_kernel)
{
    COVERS("C-1");
    COVERS("C-4");
    pdr_buf out = PDR_BUF_INIT(PDR_SK_KEY);

    for (size_t i = 0; i < PDR_COUNT(sk_rows); i++) {
        pdr_buf_clear(&out);
        ASSERT_RC(PDR_OK, pdr__channel_sk_key(&out, sk_rows[i].parts, NULL));
        ASSERT_TEXT(sk_rows[i].key, pdr_buf_str(&out));
        ASSERT_SIZE(PDR_SK_KEY, out.len);
    }
    pdr_buf_dispose(&out);
}

TEST(channel_key, tells_parts_apart_and_is_always_the_same)
{
    COVERS("C-2");
    COVERS("C-3");
    pdr_buf out = PDR_BUF_INIT(1 + 2 * PDR_CHANNEL_KEY);

    for (size_t i = 0; i < PDR_COUNT(our_rows); i++) {
        pdr_buf_clear(&out);
        ASSERT_RC(PDR_OK, pdr_buf_append(&out, pdr_str_c("-"), NULL));
        ASSERT_RC(PDR_OK, pdr__channel_key(&out, our_rows[i].parts, NULL));
        ASSERT_SIZE(1 + PDR_CHANNEL_KEY, out.len);
        ASSERT_TEXT(our_rows[i].key, pdr_str_n(out.ptr + 1, PDR_CHANNEL_KEY));
        ASSERT_RC(PDR_OK, pdr__channel_key(&out, our_rows[i].parts, NULL));
        ASSERT_TEXT(our_rows[i].key,
                    pdr_str_n(out.ptr + 1 + PDR_CHANNEL_KEY, PDR_CHANNEL_KEY));
    }
    pdr_buf_dispose(&out);
}

TEST(channel_key, leaves_a_buffer_that_is_too_small_as_it_was)
{
    pdr_buf out = PDR_BUF_INIT(PDR_SK_KEY - 1);

    ASSERT_RC(PDR_ELIMIT, pdr__channel_key(&out, our_rows[0].parts, NULL));
    ASSERT_SIZE(0, out.len);
    ASSERT_RC(PDR_ELIMIT, pdr__channel_sk_key(&out, sk_rows[0].parts, NULL));
    ASSERT_SIZE(0, out.len);
    pdr_buf_dispose(&out);
}

TEST_OOM(channel_key, fails_without_memory)
{
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = pdr__channel_key(&out, our_rows[0].parts, NULL);

    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT_SIZE(rc == PDR_OK ? PDR_CHANNEL_KEY : 0, out.len);
    pdr_buf_dispose(&out);
}
