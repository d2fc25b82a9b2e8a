/*
 * chats.c - messages of the saved chats that Semantic Kernel itself wrote.
 *
 * Each goes into every other shape and comes back as it was, members in their
 * order. What can be made from parts is made again, and is what the real
 * serializer wrote.
 */
#include "content_table.h"
#include "content_text.h"
#include "content_trip.h"
#include "corpus.h"

static struct {
    const char *path;
    size_t messages, made_contents;
    size_t kinds[PDR_CONTENT_MESSAGE + 1]; /* contents made, by kind */
} seen;

/* Saved chats; the last four files are what else the serializer can write. */
static bool is_chat(const char *path)
{
    return strstr(path, "-direct-") == NULL;
}

static void check_trip(const pdr_value *message)
{
    for (int to = 0; to < PDR_SHAPE_SK; to++) {
        pdr_value *there = NULL, *back = NULL;

        ASSERT_RC(PDR_OK, pdr_message_convert(&there, message, PDR_SHAPE_SK,
                                              (pdr_shape)to, NULL));
        ASSERT_RC(PDR_OK, pdr_message_convert(&back, there, (pdr_shape)to,
                                              PDR_SHAPE_SK, NULL));
        if (!pdr_value_equal(message, back))
            corpus_complain(seen.path, "trip", "message %zu by way of %s",
                            seen.messages, pdr__shape_name((pdr_shape)to));
        pdr_value_free(back);
        pdr_value_free(there);
    }
}

/* Make the content again from its fields. It is the same if it has nothing
 * else, as a model id or null for a text. */
static pdr_value *remake_content(const pdr_value *content)
{
    pdr_content_kind kind = pdr_content_kind_of(content, PDR_SHAPE_SK);
    pdr_content_part parts[PDR_FIELD_DATA];
    pdr_value *made = NULL;
    size_t count = 0;
    pdr_rc rc = PDR_OK;

    for (int f = PDR_FIELD_TEXT; f <= PDR_FIELD_DATA; f++) {
        const pdr_value *value =
            pdr_content_get(content, PDR_SHAPE_SK, (pdr_field)f);

        if (value != NULL)
            parts[count++] = (pdr_content_part){(pdr_field)f, value};
    }
    if (pdr_value_count(content) != count + 1)
        return pdr_value_ref(content);
    rc = pdr_content_new(&made, PDR_SHAPE_SK, kind, parts, count, NULL);
    if (rc != PDR_OK || !pdr_value_equal(content, made))
        corpus_complain(seen.path, "made", "a %s is not the same",
                        pdr_content_kind_name(kind, PDR_SHAPE_SK));
    seen.made_contents++;
    seen.kinds[kind]++;
    return made;
}

static pdr_str text_or_none(const pdr_value *text, pdr_buf *scratch)
{
    pdr_str out = {NULL, 0};

    if (text != NULL)
        ASSERT_RC(PDR_OK, pdr_value_text(&out, text, scratch, NULL));
    return out;
}

static void check_made(const pdr_value *message)
{
    pdr_buf scratch[4] = {PDR_BUF_INIT(1000), PDR_BUF_INIT(1000),
                          PDR_BUF_INIT(1000), PDR_BUF_INIT(1000)};
    pdr_value *contents = pdr_value_new_array(), *made = NULL;
    pdr_message_parts parts = {
        .role =
            text_or_none(pdr_message_role(message, PDR_SHAPE_SK), &scratch[0]),
        .author = text_or_none(pdr_message_author(message, PDR_SHAPE_SK),
                               &scratch[1]),
        .model_id =
            text_or_none(pdr_value_get_c(message, "ModelId"), &scratch[2]),
        .media_type =
            text_or_none(pdr_value_get_c(message, "MimeType"), &scratch[3]),
        .properties = pdr_message_properties(message, PDR_SHAPE_SK),
    };
    pdr_iter it;

    pdr_iter_init(&it, pdr_message_contents(message, PDR_SHAPE_SK));
    while (pdr_iter_next(&it)) {
        pdr_value *content = remake_content(it.value);

        ASSERT_RC(PDR_OK, pdr_value_append(&contents, content, NULL));
        pdr_value_free(content);
    }
    parts.contents = contents;
    ASSERT_RC(PDR_OK, pdr_message_new(&made, PDR_SHAPE_SK, &parts, NULL));
    if (!pdr_value_equal(message, made))
        corpus_complain(seen.path, "made", "message %zu", seen.messages);
    pdr_value_free(made);
    pdr_value_free(contents);
    for (size_t i = 0; i < 4; i++)
        pdr_buf_dispose(&scratch[i]);
}

static void check_each(const pdr_value *value, bool message, void *arg)
{
    (void)arg;
    /* A message that is a content belongs to the message around it. */
    if (!message || pdr_value_get_c(value, "$type") != NULL)
        return;
    seen.messages++;
    check_trip(value);
    check_made(value);
}

static void check_chat(const char *path, pdr_str content)
{
    pdr_value *document = NULL;

    seen.path = path;
    if (!is_chat(path))
        return;
    ASSERT_RC(PDR_OK, pdr_json_read(&document, content, NULL, NULL));
    content_trip_each(document, check_each, NULL);
    pdr_value_free(document);
}

TEST(chats, keep_every_message_on_the_way_through_each_shape)
{
    static const pdr_content_kind kinds[] = {
        PDR_CONTENT_TEXT,   PDR_CONTENT_REASONING, PDR_CONTENT_CALL,
        PDR_CONTENT_RESULT, PDR_CONTENT_FILE,      PDR_CONTENT_IMAGE,
        PDR_CONTENT_AUDIO,  PDR_CONTENT_BINARY,    PDR_CONTENT_ACTION,
    };

    ASSERT_SIZE(25, corpus_each_file("dotnet/chat", ".json", check_chat));
    ASSERT(seen.messages > 150);
    ASSERT(seen.made_contents > 100);
    for (size_t i = 0; i < PDR_COUNT(kinds); i++)
        ASSERT(seen.kinds[kinds[i]] > 0);
    corpus_assert_no_complaint();
}
