/*
 * state_only.c - a program that knows sessions and formats and nothing else: no
 * agent, no model, no provider. It reads every shape, uses bag, ids and history
 * at once, and writes the session in every format of the library and in one
 * that the library does not know, through the same two functions.
 *
 * It is linked with the static library; state_only.py looks at its symbols.
 * Prints what is wrong; the status says whether anything was.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <perdure/json.h>
#include <perdure/msgpack.h>
#include <perdure/session.h>
#include <perdure/xml.h>

#include "toy.h"

struct row {
    const char *text;
    pdr_session_shape shape;
    const char *history; /* path of the messages */
};

#define SLOT "InMemoryChatHistoryProvider"

static const struct row rows[] = {
    {"{}", PDR_SESSION_DOTNET, "/stateBag/" SLOT "/messages"},
    {"{\"stateBag\":{\"" SLOT "\":{\"messages\":[{\"role\":\"user\"}]}}}",
     PDR_SESSION_DOTNET, "/stateBag/" SLOT "/messages"},
    {"{\"sessionId\":\"@dafx-desk@K1\",\"stateBag\":{},\"x\":1.0}",
     PDR_SESSION_DOTNET, "/stateBag/" SLOT "/messages"},
    {"{\"type\":\"session\",\"session_id\":\"s\",\"service_session_id\":null,"
     "\"state\":{}}",
     PDR_SESSION_PYTHON, "/state/in_memory/messages"},
    {"{\"perdure\":{\"version\":\"1.0.0\",\"kind\":\"unstated\",\"id\":\"n\"},"
     "\"stateBag\":{}}",
     PDR_SESSION_NATIVE, "/stateBag/" SLOT "/messages"},
    {"{\"storeState\":{\"messages\":[{\"role\":\"user\"}]}}",
     PDR_SESSION_DOTNET_THREAD, "/storeState/messages"},
    {"{\"type\":\"agent_thread_state\",\"service_thread_id\":\"t\","
     "\"chat_message_store_state\":{\"messages\":[{\"role\":\"user\"}]}}",
     PDR_SESSION_PYTHON_THREAD, "/chat_message_store_state/messages"},
};

static int complaints;

static void must(bool holds, const struct row *row, const char *what)
{
    if (!holds) {
        complaints++;
        printf("%s: %s\n", row->text, what);
    }
}

static pdr_value *json(const char *text)
{
    pdr_value *value = NULL;

    if (pdr_json_read(&value, pdr_str_c(text), NULL, NULL) != PDR_OK)
        exit(2);
    return value;
}

/* Write something everywhere at once, as far as the shape lets us. */
static void use(pdr_session *s, const struct row *row)
{
    pdr_value *id = json("\"conv_1\"");
    pdr_value *slot = json("{\"n\":1.50}");
    pdr_value *message = json("{\"role\":\"assistant\"}");
    const pdr_value *messages[] = {message};
    bool durable = pdr_session_durable_id(NULL, NULL, s);

    must(pdr_bag_set(pdr_session_bag(s), pdr_str_c("mine"), slot, NULL) ==
             PDR_OK,
         row, "the bag takes no slot");
    must(pdr_session_add_messages(s, messages, 1, NULL) == PDR_OK, row,
         "the history takes no message");
    must(durable == (pdr_session_set_service_id(s, id, NULL) != PDR_OK), row,
         "the id could not be set");
    pdr_value_free(id);
    pdr_value_free(slot);
    pdr_value_free(message);
}

/* Through one format and back. */
static void go_through(const pdr_codec *codec, pdr_session *s,
                       const struct row *row)
{
    pdr_buf bytes = PDR_BUF_INIT(1u << 20);
    pdr_value *out = NULL, *in = NULL, *back = NULL, *list = NULL;
    const pdr_value *there = NULL;
    pdr_session *again = NULL;

    must(pdr_session_to_value(&out, s, NULL) == PDR_OK &&
             pdr_codec_write(&bytes, codec, out, NULL, NULL) == PDR_OK &&
             pdr_codec_read(&in, codec, pdr_buf_str(&bytes), NULL, NULL) ==
                 PDR_OK &&
             pdr_session_from_value(&again, in, NULL) == PDR_OK,
         row, "it is not written and read");
    if (again != NULL) {
        must(pdr_session_to_value(&back, again, NULL) == PDR_OK &&
                 pdr_value_equal(out, back),
             row, "it comes back as another document");
        must(pdr_session_get_shape(again) == row->shape, row, "another shape");
        must(pdr_session_history(&list, again, NULL) == PDR_OK &&
                 list != NULL &&
                 pdr_pointer_get(&there, back, pdr_str_c(row->history), NULL) ==
                     PDR_OK &&
                 pdr_value_equal(list, there),
             row, "another history");
    }
    pdr_value_free(out);
    pdr_value_free(in);
    pdr_value_free(back);
    pdr_value_free(list);
    pdr_session_free(again);
    pdr_buf_dispose(&bytes);
}

int main(void)
{
    const pdr_codec *codecs[] = {pdr_json_codec(), pdr_msgpack_codec(),
                                 pdr_xml_codec(), toy_codec()};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        pdr_value *value = json(rows[i].text);
        pdr_session *s = NULL;

        must(pdr_session_from_value(&s, value, NULL) == PDR_OK &&
                 pdr_session_get_shape(s) == rows[i].shape,
             &rows[i], "it is not recognised");
        if (s != NULL && rows[i].shape <= PDR_SESSION_PYTHON)
            use(s, &rows[i]);
        for (size_t c = 0; s != NULL && c < 4; c++)
            go_through(codecs[c], s, &rows[i]);
        pdr_session_free(s);
        pdr_value_free(value);
    }
    return complaints > 0;
}
