/*
 * Every document that the tests have, imported into every kind of store: what
 * the library reads as a session or a state document is taken and comes back
 * byte for byte, however it is spelled; all else is refused and changes
 * nothing.
 */
#include <perdure/archive.h>
#include <perdure/json.h>
#include <perdure/metadata.h>

#include "corpus.h"
#include "frame_model.h"
#include "room.h"

#define NOW INT64_C(1800000000000)

static struct room room;
static pdr_store *stores[2];
static uint64_t taken, refused;

static void open_stores(void)
{
    char uri[300];

    room_enter(&room);
    (void)snprintf(uri, sizeof(uri), "sqlite:%s", room_path(&room, "a.db"));
    ASSERT_RC(PDR_OK, pdr_store_open(&stores[0], "memory:", NULL));
    ASSERT_RC(PDR_OK, pdr_store_open(&stores[1], uri, NULL));
    taken = refused = 0;
}

static void close_stores(void)
{
    for (size_t i = 0; i < 2; i++) {
        ASSERT_RC(PDR_OK,
                  pdr_store_verify(NULL, stores[i], NULL, NULL, NULL, NULL));
        pdr_store_close(stores[i]);
    }
    room_leave(&room);
}

/* Is it nothing, or a list of objects? */
static bool is_history(const pdr_value *list)
{
    pdr_iter it;

    if (list == NULL || pdr_value_kind(list) == PDR_NULL)
        return true;
    if (pdr_value_kind(list) != PDR_ARRAY)
        return false;
    pdr_iter_init(&it, list);
    while (pdr_iter_next(&it)) {
        if (pdr_value_kind(it.value) != PDR_OBJECT)
            return false;
    }
    return true;
}

static bool is_good_state(const pdr_value *value)
{
    return pdr_state_gate(value, NULL) == PDR_OK &&
           is_history(
               pdr_value_get_c(pdr_state_data(value), "conversationHistory"));
}

/* Does the library read it? */
static bool is_readable(pdr_str text)
{
    pdr_session_wrapper wrapper;
    pdr_value *value = NULL, *messages = NULL;
    bool readable = false;

    if (pdr_json_read(&value, text, NULL, NULL) != PDR_OK)
        return false;
    if (pdr_session_looks(value) == PDR_LOOKS_STATE) {
        readable = is_good_state(value);
    } else if (pdr_session_wrapper_from_value(&wrapper, value, NULL, NULL, NULL,
                                              NULL) == PDR_OK) {
        readable =
            pdr_session_history(&messages, wrapper.session, NULL) == PDR_OK &&
            is_history(messages);
        pdr_value_free(messages);
        pdr_session_wrapper_dispose(&wrapper);
    }
    pdr_value_free(value);
    return readable;
}

static pdr_rc import_into(pdr_store *store, const char *id, pdr_str text,
                          pdr_err *err)
{
    const pdr_import_opts opts = {.ref = {.id = pdr_str_c(id)}, .now_ms = NOW};

    return pdr_import(NULL, store, &opts, err, pdr_read_str, &text);
}

static void try_text(const char *path, const char *way, pdr_str text)
{
    bool wanted = is_readable(text);
    char id[64];

    (void)snprintf(id, sizeof(id), "s-%llu",
                   (unsigned long long)(taken + refused));
    for (size_t i = 0; i < 2; i++) {
        const pdr_ref ref = {.id = pdr_str_c(id)};
        pdr_err err = PDR_ERR_INIT;
        pdr_rc rc = import_into(stores[i], id, text, &err);
        char *back = NULL;
        size_t len = 0;

        if ((rc == PDR_OK) != wanted)
            corpus_complain(path, way, "%s: %s", pdr_rc_name(rc), err.message);
        if (rc != PDR_OK)
            continue;
        back = frame_model_document(&len, stores[i], &ref);
        if (!pdr_str_equal(text, pdr_str_n(back, len)))
            corpus_complain(path, way, "came back as %s", back);
        free(back);
    }
    taken += wanted;
    refused += !wanted;
}

/* As it is, on many lines, and without white space. */
static void try_file(const char *path, pdr_str content)
{
    static const pdr_write_opts layouts[] = {
        {.layout = PDR_PRETTY},
        {.layout = PDR_PRETTY, .indent = 1},
        {.layout = PDR_COMPACT}};
    pdr_value *value = NULL;

    try_text(path, "as it is", content);
    if (pdr_json_read(&value, content, NULL, NULL) != PDR_OK)
        return;
    for (size_t i = 0; i < 3; i++) {
        pdr_buf out = PDR_BUF_INIT(SIZE_MAX);

        ASSERT_RC(PDR_OK, pdr_json_write(&out, value, &layouts[i], NULL));
        try_text(path, i < 2 ? "pretty" : "compact",
                 pdr_str_n(out.ptr, out.len));
        pdr_buf_dispose(&out);
    }
    pdr_value_free(value);
}

TEST(import, takes_every_session_that_the_library_reads)
{
    open_stores();
    ASSERT(corpus_each_file("dotnet/sessions", ".json", try_file) > 30);
    ASSERT(corpus_each_file("python/sessions", ".json", try_file) > 30);
    print_message("%llu taken, %llu refused\n", (unsigned long long)taken,
                  (unsigned long long)refused);
    ASSERT(taken > 100 && refused > 20);
    close_stores();
    corpus_assert_no_complaint();
}

TEST(import, takes_every_state_document_that_the_library_reads)
{
    open_stores();
    ASSERT(corpus_each_file("dotnet/durable", ".json", try_file) > 10);
    ASSERT(corpus_each_file("python/durable", ".json", try_file) > 10);
    ASSERT(corpus_each_file("state", ".json", try_file) > 10);
    print_message("%llu taken, %llu refused\n", (unsigned long long)taken,
                  (unsigned long long)refused);
    ASSERT(taken > 100 && refused > 20);
    close_stores();
    corpus_assert_no_complaint();
}

/* What is inside of a wrapper, with properties beside it. */
static void try_wrapped(const char *path, pdr_str content)
{
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);

    ASSERT_RC(PDR_OK,
              pdr_buf_append(&out, pdr_str_c("{ \"session\" :\t"), NULL));
    ASSERT_RC(PDR_OK, pdr_buf_append(&out, content, NULL));
    ASSERT_RC(PDR_OK,
              pdr_buf_append(&out,
                             pdr_str_c(",\"additionalProperties\":{\"n\":1e3, "
                                       "\"tags\" : [ \"a\" ] }}\n"),
                             NULL));
    try_text(path, "wrapped", pdr_str_n(out.ptr, out.len));
    pdr_buf_dispose(&out);
}

TEST(import, takes_every_session_with_metadata)
{
    open_stores();
    ASSERT(corpus_each_file("dotnet/sessions", ".json", try_wrapped) > 30);
    ASSERT(corpus_each_file("python/sessions", ".json", try_wrapped) > 30);
    ASSERT(taken > 30 && refused > 5);
    close_stores();
    corpus_assert_no_complaint();
}

/* All that is no session is refused, whatever it is. */
static void try_json(const char *path, pdr_str content)
{
    try_text(path, "as it is", content);
}

TEST(import, refuses_what_is_no_session)
{
    open_stores();
    ASSERT(corpus_each_file("json", "input", try_json) > 300);
    ASSERT(refused > 300);
    close_stores();
    corpus_assert_no_complaint();
}
