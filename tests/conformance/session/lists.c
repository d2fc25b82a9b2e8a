/*
 * Statements about lists of sessions, by what a caller sees of them.
 */
#include <perdure/msgpack.h>
#include <perdure/xml.h>

#include "session_text.h"
#include "toy.h"

/* One session of each kind and shape. */
static const char every_kind[] =
    "[{'stateBag':{}},"
    "{'conversationId':'c','stateBag':{'k':1.50}},"
    "{'sessionId':'@dafx-desk@K1','stateBag':{}},"
    "{'contextId':'c','taskId':'t','stateBag':{}},"
    "{'serviceSessionId':'svc','stateBag':{}},"
    "{'sessionId':'gh','stateBag':{}},"
    "{'sessionId':'w','lastCheckpoint':{'n':1},'stateBag':{}},"
    "{'type':'session','session_id':'s','service_session_id':null,'state':{}},"
    "{'type':'session','session_id':'d','service_session_id':null,'state':{},"
    "'durable_session_id':'@Desk@K1'},"
    "{'perdure':{'version':'1.0.0','kind':'chat','id':'n'},'stateBag':{}},"
    "{'conversationId':'old','storeState':{'messages':[]}},"
    "{'type':'agent_thread_state','service_thread_id':'t',"
    "'chat_message_store_state':null},"
    "null]";

static pdr_session_list *open_list(const pdr_value *value)
{
    pdr_session_list *list = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_session_list_from_value(&list, value, false, &err, NULL, NULL) !=
        PDR_OK)
        fail_msg("%s", err.message);
    return list;
}

/* Write the list in a format, read it back, and compare session by session. */
static void go_through(const pdr_codec *codec)
{
    pdr_value *value = doc_value(every_kind), *back = NULL, *written = NULL;
    pdr_session_list *list = open_list(value), *again = NULL;
    pdr_buf bytes = PDR_BUF_INIT(1u << 20);

    ASSERT_RC(PDR_OK, pdr_session_list_to_value(&written, list, NULL));
    ASSERT_RC(PDR_OK, pdr_codec_write(&bytes, codec, written, NULL, NULL));
    ASSERT_RC(PDR_OK,
              pdr_codec_read(&back, codec, pdr_buf_str(&bytes), NULL, NULL));
    again = open_list(back);
    ASSERT_SIZE(13, pdr_session_list_count(again));
    for (size_t i = 0; i < 12; i++) {
        pdr_session *a = pdr_session_list_at(list, i);
        pdr_session *b = pdr_session_list_at(again, i);

        ASSERT_INT(pdr_session_get_shape(a), pdr_session_get_shape(b));
        ASSERT_INT(pdr_session_get_kind(a), pdr_session_get_kind(b));
    }
    ASSERT(pdr_session_list_at(again, 12) == NULL);
    ASSERT(pdr_value_equal(value, back));
    assert_value(every_kind, back, PDR_COMPACT);
    pdr_buf_dispose(&bytes);
    pdr_session_list_free(list);
    pdr_session_list_free(again);
    pdr_value_free(value);
    pdr_value_free(back);
    pdr_value_free(written);
}

TEST(session_list, goes_through_every_format_in_order)
{
    COVERS("S-96");
    go_through(pdr_json_codec());
    go_through(pdr_msgpack_codec());
    go_through(pdr_xml_codec());
    go_through(toy_codec());
}

TEST(session_list, names_a_bad_element_or_keeps_it)
{
    pdr_value *value = doc_value("[{'stateBag':{}},{'session_id':'s'},7]");
    pdr_session_list *list = NULL;
    pdr_buf told = PDR_BUF_INIT(1000);
    pdr_err err = PDR_ERR_INIT;

    COVERS("S-97");
    ASSERT_RC(PDR_EINVALID, pdr_session_list_from_value(&list, value, false,
                                                        &err, NULL, NULL));
    ASSERT_STR("/2", err.path);
    ASSERT(strstr(err.message, "element 2") != NULL);
    ASSERT_RC(PDR_OK, pdr_session_list_from_value(&list, value, true, NULL,
                                                  note_finding, &told));
    ASSERT_TEXT("warning not-a-session /2\n", pdr_buf_str(&told));
    ASSERT_SIZE(3, pdr_session_list_count(list));
    ASSERT(pdr_session_list_at(list, 0) != NULL);
    ASSERT_TEXT("s", pdr_session_id(pdr_session_list_at(list, 1)));
    ASSERT(pdr_session_list_at(list, 2) == NULL);
    pdr_buf_dispose(&told);
    pdr_session_list_free(list);
    pdr_value_free(value);
}

/* The same list from memory and from a stream, in every format. */
static void assert_same_stream(const pdr_codec *codec)
{
    pdr_value *value = doc_value(every_kind);
    pdr_session_list *list = open_list(value);
    pdr_buf bytes = PDR_BUF_INIT(1u << 20);
    pdr_session_reader *reader = NULL;
    bool end = false;

    ASSERT_RC(PDR_OK, pdr_codec_write(&bytes, codec, value, NULL, NULL));
    pdr_str left = pdr_buf_str(&bytes);
    ASSERT_RC(PDR_OK, pdr_session_reader_new(&reader, codec, NULL, false, NULL,
                                             pdr_read_str, &left));
    for (size_t i = 0; i < pdr_session_list_count(list); i++) {
        pdr_session *s = NULL, *other = pdr_session_list_at(list, i);
        pdr_value *a = NULL, *b = NULL;

        ASSERT_RC(PDR_OK,
                  pdr_session_reader_next(&s, NULL, &end, reader, NULL));
        ASSERT(!end && (s == NULL) == (other == NULL));
        if (s != NULL) {
            ASSERT_RC(PDR_OK, pdr_session_to_value(&a, s, NULL));
            ASSERT_RC(PDR_OK, pdr_session_to_value(&b, other, NULL));
            ASSERT(pdr_value_equal(a, b));
        }
        pdr_value_free(a);
        pdr_value_free(b);
        pdr_session_free(s);
    }
    pdr_session *none = NULL;
    ASSERT_RC(PDR_OK, pdr_session_reader_next(&none, NULL, &end, reader, NULL));
    ASSERT(end);
    pdr_session_reader_free(reader);
    pdr_buf_dispose(&bytes);
    pdr_session_list_free(list);
    pdr_value_free(value);
}

TEST(session_reader, gives_what_the_list_has)
{
    assert_same_stream(pdr_json_codec());
    assert_same_stream(pdr_msgpack_codec());
    assert_same_stream(pdr_xml_codec());
    assert_same_stream(toy_codec());
}
