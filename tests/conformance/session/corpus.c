/*
 * The session documents of both editions, as the real programs wrote them: each
 * is recognised, comes back byte for byte, goes through every format, and a
 * changed slot changes its own bytes and no other. What is close to a session
 * is refused and kept as a value.
 */
#include <dirent.h>

#include <perdure/msgpack.h>
#include <perdure/xml.h>

#include "corpus.h"
#include "session_keep.h"
#include "session_text.h"
#include "toy.h"

/* --- what the documents are ---------------------------------------------- */

/* Documents that are no sessions, and what a refusal says. */
static const char *const others[][2] = {
    {"dotnet/sessions/chat-response.json", "a chat response"},
    {"dotnet/sessions/continuation-token-decoded.json",
     "the inside of a continuation token"},
    {"dotnet/sessions/messages-default-serializer.json",
     "a list of messages with names in PascalCase"},
    {"dotnet/sessions/response-folded.json", "an agent response"},
    {"dotnet/sessions/response-updates.json", "a list of response updates"},
    {"dotnet/sessions/response.json", "an agent response"},
    {"dotnet/sessions/state-bag-null-values.json", "a state bag"},
    {"dotnet/sessions/updates-continuation.json", "a list of response updates"},
    {"dotnet/sessions/updates-streamed.json", "a list of response updates"},
    {"python/sessions/chat-response.json", "a chat response"},
    {"python/sessions/response-folded.json", "an agent response"},
    {"python/sessions/response-merge-modes.json", "an agent response"},
    {"python/sessions/response-updates.json", "a list of response updates"},
    {"python/sessions/response.json", "an agent response"},
    {"python/sessions/updates-merge-modes.json", "a list of response updates"},
    {"python/sessions/updates-streamed.json", "a list of response updates"},
};

/* What a refusal must say about the document at `path`; NULL if it is one of
 * sessions. */
static const char *refusal_of(const char *path)
{
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        size_t len = strlen(others[i][0]), all = strlen(path);

        if (all >= len && strcmp(path + all - len, others[i][0]) == 0)
            return others[i][1];
    }
    return NULL;
}

/* Documents that were seen, by what they are. */
static struct {
    size_t sessions, lists, maps, others;
} seen;

static pdr_value *read_json(const char *path, pdr_str text)
{
    pdr_read_opts opts = {.flags = PDR_BARE_TOKENS, .max_depth = 1024};
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_json_read(&value, text, &opts, &err) != PDR_OK)
        corpus_complain(path, "read", "%s", err.message);
    return value;
}

static void assert_bytes_are(const char *path, const char *way, pdr_str text,
                             const pdr_value *value)
{
    pdr_write_opts opts = {PDR_BARE_TOKENS, PDR_AS_READ, 0, NULL};
    pdr_buf bytes = PDR_BUF_INIT(1u << 26);

    if (pdr_json_write(&bytes, value, &opts, NULL) != PDR_OK ||
        !pdr_str_equal(text, pdr_buf_str(&bytes)))
        corpus_complain(path, way, "other bytes");
    pdr_buf_dispose(&bytes);
}

/* --- one session --------------------------------------------------------- */

static void check_session(const char *path, pdr_str text)
{
    const pdr_codec *codecs[] = {pdr_json_codec(), pdr_msgpack_codec(),
                                 pdr_xml_codec(), toy_codec()};
    struct roundtrip_report report;
    bool bare = strstr(path, "roundtrip-numbers.out") != NULL;

    if (!session_check_unchanged(&report, &session_ours, text))
        corpus_complain(path, "unchanged", "%s", report.text);
    if (!session_check_slots(&report, &session_ours, roundtrip_root(text)))
        corpus_complain(path, "slots", "%s", report.text);
    /* Infinity is no JSON, and no format takes it unasked. */
    for (size_t i = 0; !bare && i < 4; i++) {
        if (!session_check_format(&report, &session_ours, text, codecs[i]))
            corpus_complain(path, "format", "%zu: %s", i, report.text);
    }
}

/* --- lists --------------------------------------------------------------- */

static void check_list(const char *path, pdr_str text, const pdr_value *value)
{
    pdr_session_list *list = NULL;
    pdr_value *back = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_session_list_from_value(&list, value, false, &err, NULL, NULL) !=
        PDR_OK) {
        corpus_complain(path, "list", "%s", err.message);
        return;
    }
    ASSERT_RC(PDR_OK, pdr_session_list_to_value(&back, list, NULL));
    assert_bytes_are(path, "list", text, back);
    pdr_value_free(back);
    for (size_t i = 0; i < pdr_session_list_count(list); i++) {
        pdr_session *s = pdr_session_list_at(list, i);
        pdr_buf one = PDR_BUF_INIT(1u << 26);

        ASSERT_RC(PDR_OK, pdr_session_to_value(&back, s, NULL));
        ASSERT_RC(PDR_OK, pdr_json_write(&one, back, NULL, NULL));
        check_session(path, pdr_buf_str(&one));
        pdr_buf_dispose(&one);
        pdr_value_free(back);
    }
    pdr_session_list_free(list);
}

/* The same elements from a stream, with the bytes that they have there. */
static void check_stream(const char *path, pdr_str text, const pdr_value *value)
{
    pdr_session_reader *reader = NULL;
    pdr_str left = text;
    bool end = false;
    pdr_iter it;

    ASSERT_RC(PDR_OK, pdr_session_reader_new(&reader, pdr_json_codec(), NULL,
                                             false, NULL, pdr_read_str, &left));
    pdr_iter_init(&it, value);
    while (pdr_iter_next(&it)) {
        pdr_session_item item;
        pdr_session *s = NULL;
        pdr_value *one = NULL;
        pdr_str raw = {NULL, 0};

        ASSERT_RC(PDR_OK,
                  pdr_session_reader_next(&s, &item, &end, reader, NULL));
        ASSERT(s != NULL && pdr_value_raw(&raw, it.value));
        ASSERT((item.name != NULL) == (it.name != NULL));
        ASSERT_RC(PDR_OK, pdr_session_to_value(&one, s, NULL));
        assert_bytes_are(path, "stream", raw, one);
        pdr_value_free(one);
        pdr_session_free(s);
    }
    pdr_session_reader_free(reader);
}

/* --- what is no session -------------------------------------------------- */

static void check_refused(const char *path, pdr_str text,
                          const pdr_value *value)
{
    const char *said = refusal_of(path);
    pdr_session *s = NULL;
    pdr_session_list *list = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (said == NULL) {
        corpus_complain(path, "looks", "%s", pdr_session_looks_text(value));
        return;
    }
    seen.others++;
    if (pdr_session_from_value(&s, value, &err) != PDR_EINVALID ||
        strstr(err.message, said) == NULL)
        corpus_complain(path, "refusal", "%s", err.message);
    if (pdr_session_list_from_value(&list, value, false, &err, NULL, NULL) !=
            PDR_EINVALID ||
        strstr(err.message, said) == NULL)
        corpus_complain(path, "refusal as a list", "%s", err.message);
    assert_bytes_are(path, "as a value", text, value);
}

/* --- all of them --------------------------------------------------------- */

static void check_document(const char *path, pdr_str text)
{
    pdr_value *value = read_json(path, text);

    switch (pdr_session_looks(value)) {
    case PDR_LOOKS_SESSION:
        seen.sessions++;
        check_session(path, text);
        break;
    case PDR_LOOKS_LIST:
    case PDR_LOOKS_MAP:
        seen.lists += pdr_session_looks(value) == PDR_LOOKS_LIST;
        seen.maps += pdr_session_looks(value) == PDR_LOOKS_MAP;
        check_list(path, text, value);
        check_stream(path, text, value);
        break;
    case PDR_LOOKS_OTHER:
    case PDR_LOOKS_WRAPPER:
    case PDR_LOOKS_WRAPPERS:
    case PDR_LOOKS_STATE:
    case PDR_LOOKS_MESSAGES:
    case PDR_LOOKS_TOKEN:
        check_refused(path, text, value);
        break;
    }
    pdr_value_free(value);
}

TEST(dotnet_documents, come_back_byte_for_byte_and_change_where_asked)
{
    COVERS("S-141");
    memset(&seen, 0, sizeof(seen));
    ASSERT_SIZE(44,
                corpus_each_file("dotnet/sessions", ".json", check_document));
    corpus_assert_no_complaint();
    ASSERT_SIZE(30, seen.sessions);
    ASSERT_SIZE(4, seen.lists);
    ASSERT_SIZE(1, seen.maps);
    ASSERT_SIZE(9, seen.others);
}

/* --- MessagePack and history files --------------------------------------- */

static void check_msgpack(const char *path, pdr_str bytes)
{
    pdr_value *value = NULL, *back = NULL;
    pdr_session *s = NULL;
    pdr_buf again = PDR_BUF_INIT(1u << 26);
    pdr_err err = PDR_ERR_INIT;

    if (strstr(path, "/history/") != NULL)
        return;
    seen.sessions++;
    if (pdr_codec_read(&value, pdr_msgpack_codec(), bytes, NULL, &err) !=
            PDR_OK ||
        pdr_session_from_value(&s, value, &err) != PDR_OK ||
        pdr_session_to_value(&back, s, &err) != PDR_OK ||
        pdr_codec_write(&again, pdr_msgpack_codec(), back, NULL, &err) !=
            PDR_OK)
        corpus_complain(path, "MessagePack", "%s", err.message);
    else if (!pdr_str_equal(bytes, pdr_buf_str(&again)))
        corpus_complain(path, "MessagePack", "other bytes");
    pdr_value_free(value);
    pdr_value_free(back);
    pdr_session_free(s);
    pdr_buf_dispose(&again);
}

static void check_lines(const char *path, pdr_str text)
{
    while (text.len > 0) {
        const char *end = memchr(text.ptr, '\n', text.len);
        size_t len = end != NULL ? (size_t)(end - text.ptr) : text.len;
        pdr_str line = pdr_str_n(text.ptr, len);
        pdr_value *value = read_json(path, line);

        seen.others++;
        ASSERT(end != NULL);
        if (value != NULL)
            assert_bytes_are(path, "line", line, value);
        pdr_value_free(value);
        text = pdr_str_n(end + 1, text.len - len - 1);
    }
}

static void check_records(const char *path, pdr_str bytes)
{
    pdr_read_opts from = {.flags = PDR_SEQUENCE | PDR_RECORDS};
    pdr_write_opts to = {.flags = PDR_SEQUENCE | PDR_RECORDS};
    pdr_buf again = PDR_BUF_INIT(1u << 26);
    pdr_walk *walk = NULL;
    pdr_writer *writer = NULL;
    pdr_str left = bytes;
    pdr_event event = PDR_END_OF_INPUT;

    if (strstr(path, "/history/") == NULL)
        return;
    ASSERT_RC(PDR_OK, pdr_walk_new(&walk, pdr_msgpack_codec(), &from, NULL,
                                   pdr_read_str, &left));
    ASSERT_RC(PDR_OK, pdr_writer_new(&writer, pdr_msgpack_codec(), &to, NULL,
                                     pdr_write_buf, &again));
    ASSERT_RC(PDR_OK, pdr_walk_next(&event, walk, NULL));
    while (event != PDR_END_OF_INPUT) {
        pdr_value *message = NULL;

        ASSERT_RC(PDR_OK, pdr_walk_take(&message, walk, NULL));
        ASSERT_INT(PDR_LOOKS_MESSAGES, pdr_session_looks(message));
        ASSERT_RC(PDR_OK, pdr_writer_put(writer, PDR_SCALAR, message, NULL));
        ASSERT_RC(PDR_OK, pdr_walk_next(&event, walk, NULL));
        pdr_value_free(message);
        seen.others++;
    }
    ASSERT_RC(PDR_OK, pdr_writer_finish(writer, NULL));
    ASSERT_BYTES(bytes, pdr_buf_str(&again));
    pdr_walk_free(walk);
    pdr_writer_free(writer);
    pdr_buf_dispose(&again);
}

TEST(python_documents, come_back_byte_for_byte_and_change_where_asked)
{
    COVERS("S-143");
    memset(&seen, 0, sizeof(seen));
    ASSERT_SIZE(68,
                corpus_each_file("python/sessions", ".json", check_document));
    corpus_assert_no_complaint();
    ASSERT_SIZE(60, seen.sessions);
    ASSERT_SIZE(1, seen.lists);
    ASSERT_SIZE(7, seen.others);
    memset(&seen, 0, sizeof(seen));
    (void)corpus_each_file("python/sessions", ".msgpack", check_msgpack);
    ASSERT_SIZE(8, seen.sessions);
    ASSERT_SIZE(4, corpus_each_file("python/sessions", ".jsonl", check_lines));
    (void)corpus_each_file("python/sessions", ".msgpack", check_records);
    ASSERT(seen.others > 78);
    corpus_assert_no_complaint();
}

/* --- what their own programs lose ---------------------------------------- */

static void check_pair(const char *path, pdr_str text)
{
    char name[300];
    const char *data = strstr(path, "python/sessions/");
    size_t len = 0;
    char *out = NULL;
    pdr_value *in = read_json(path, text), *lossy = NULL, *now = NULL;
    pdr_session *s = NULL;

    ASSERT(data != NULL && snprintf(name, sizeof(name), "%s", data) > 0);
    memcpy(strstr(name, ".in.json"), ".out.json", sizeof(".out.json"));
    out = test_read_data(name, &len);
    lossy = read_json(name, pdr_str_n(out, len));
    seen.sessions++;
    ASSERT_RC(PDR_OK, pdr_session_from_value(&s, in, NULL));
    bag_put(pdr_session_bag(s), "one more", "1");
    ASSERT_RC(PDR_OK,
              pdr_bag_remove(pdr_session_bag(s), KEY("one more"), NULL));
    ASSERT_RC(PDR_OK, pdr_session_to_value(&now, s, NULL));
    if (!pdr_value_equal(in, now))
        corpus_complain(path, "pair", "something was lost");
    if (pdr_value_equal(in, lossy))
        corpus_complain(path, "pair", "their program loses nothing of it");
    pdr_session_free(s);
    pdr_value_free(in);
    pdr_value_free(now);
    pdr_value_free(lossy);
    free(out);
}

TEST(python_documents, keep_what_their_own_program_loses)
{
    COVERS("S-143");
    memset(&seen, 0, sizeof(seen));
    (void)corpus_each_file("python/sessions", ".in.json", check_pair);
    ASSERT_SIZE(8, seen.sessions);
    corpus_assert_no_complaint();
}

/* A document of .NET as a session. */
static pdr_session *open_file(const char *name, char **text)
{
    pdr_session *s = NULL;
    pdr_value *value = NULL;
    size_t len = 0;

    *text = test_read_data(name, &len);
    value = read_json(name, pdr_str_n(*text, len));
    ASSERT_RC(PDR_OK, pdr_session_from_value(&s, value, NULL));
    pdr_value_free(value);
    return s;
}

static bool has_bytes(pdr_session *s, const char *part)
{
    pdr_buf bytes = PDR_BUF_INIT(1u << 26);
    pdr_value *value = NULL;
    bool found = false;

    ASSERT_RC(PDR_OK, pdr_session_to_value(&value, s, NULL));
    ASSERT_RC(PDR_OK, pdr_json_write(&bytes, value, NULL, NULL));
    found = memmem(bytes.ptr, bytes.len, part, strlen(part)) != NULL;
    pdr_value_free(value);
    pdr_buf_dispose(&bytes);
    return found;
}

TEST(list_of_sessions, keeps_the_ids_that_a_list_of_the_base_type_loses)
{
    size_t len = 0;
    char *text = test_read_data("dotnet/sessions/list-mixed-kinds.json", &len);
    pdr_value *value = read_json("list", pdr_str_n(text, len)), *back = NULL;
    pdr_session_list *list = NULL, *again = NULL;

    ASSERT_RC(PDR_OK, pdr_session_list_from_value(&list, value, false, NULL,
                                                  NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_session_list_new(&again, NULL));
    for (size_t i = 0; i < pdr_session_list_count(list); i++) {
        pdr_value *one = NULL;
        pdr_session *s = NULL;

        ASSERT_RC(PDR_OK, pdr_session_to_value(
                              &one, pdr_session_list_at(list, i), NULL));
        ASSERT_RC(PDR_OK, pdr_session_from_value(&s, one, NULL));
        ASSERT_RC(PDR_OK, pdr_session_list_add(again, s, NULL));
        pdr_value_free(one);
    }
    ASSERT_RC(PDR_OK, pdr_session_list_to_value(&back, again, NULL));
    assert_bytes_are("list", "built anew", pdr_str_n(text, len), back);
    corpus_assert_no_complaint();
    pdr_session_list_free(list);
    pdr_session_list_free(again);
    pdr_value_free(value);
    pdr_value_free(back);
    free(text);
}

TEST(unread_slots, keep_their_escapes_when_another_one_is_written)
{
    char *escaped = NULL, *relaxed = NULL;
    pdr_session *a =
        open_file("dotnet/sessions/session-escapes-default.json", &escaped);
    pdr_session *b =
        open_file("dotnet/sessions/session-escapes-relaxed.json", &relaxed);

    bag_put(pdr_session_bag(a), "other", "1");
    bag_put(pdr_session_bag(b), "other", "1");
    ASSERT(strstr(escaped, "\\u003Cb") != NULL && has_bytes(a, "\\u003Cb"));
    ASSERT(strstr(relaxed, "<b>") != NULL && has_bytes(b, "<b>"));
    ASSERT(!has_bytes(a, "<b>") && !has_bytes(b, "\\u003C"));
    pdr_session_free(a);
    pdr_session_free(b);
    free(escaped);
    free(relaxed);
}

TEST(null_slot, can_be_read_set_removed_and_written)
{
    char *text = NULL;
    pdr_session *s =
        open_file("dotnet/sessions/session-null-values.json", &text);
    pdr_bag *bag = pdr_session_bag(s);

    assert_slot("null", bag, "lastPing");
    bag_put(bag, "lastPing", "'now'");
    ASSERT_RC(PDR_OK, pdr_bag_remove(bag, KEY("note"), NULL));
    ASSERT_SESSION("{'stateBag':{'lastPing':'now','booking':null}}", s);
    ASSERT_RC(PDR_OK, pdr_bag_remove(bag, KEY("booking"), NULL));
    ASSERT_SESSION("{'stateBag':{'lastPing':'now'}}", s);
    pdr_session_free(s);
    free(text);
}

TEST(lone_surrogate, can_be_saved)
{
    static const char before[] =
        "{'stateBag':{'a':'x\\uD800y','\\udc00':1,'b':2}}";
    pdr_session *s = session_of(before);

    ASSERT_SESSION(before, s);
    bag_put(pdr_session_bag(s), "b", "3");
    ASSERT_SESSION("{'stateBag':{'a':'x\\uD800y','\\udc00':1,'b':3}}", s);
    pdr_session_free(s);
}

/* --- odd documents of Python --------------------------------------------- */

/* What we say to documents that its reader gets after json.loads(): "" if the
 * document is kept as it is, else reason and path. Where theirs fails, loses or
 * rewrites, ours keeps; what is refused is what nobody can work with. */
static const char *const verdicts[][3] = {
    {"no-id", "session_unknown_shape", ""},
    {"empty-id", "", ""},
    {"numeric-id", "session_member", "/session_id"},
    {"other-type", "", ""},
    {"no-state", "", ""},
    {"null-state", "bag_not_object", "/state"},
    {"array-state", "bag_not_object", "/state"},
    {"numeric-service-id", "", ""},
    {"root-array", "session_not_object", ""},
    {"tagged-application-data", "", ""},
    {"tag-at-slot-level", "", ""},
    {"registered-type-broken", "", ""},
    {"message-without-role", "", ""},
    {"message-with-time", "", ""},
    {"message-properties-array", "", ""},
    {"message-contents-object", "", ""},
    {"message-without-tag-in-state", "", ""},
    {"null-message", "", ""},
    {"content-unknown-member", "", ""},
    {"content-unknown-type", "", ""},
    {"content-without-type", "", ""},
    {"content-number", "", ""},
    {"content-numeric-type", "", ""},
    {"call-hosted-null", "", ""},
    {"text-hosted", "", ""},
    {"server-label-number", "", ""},
    {"server-name-conflict", "", ""},
    {"merge-mode-on-data", "", ""},
    {"data-as-base64-text", "", ""},
    {"annotations-number", "", ""},
    {"empty-uri", "", ""},
    {"reserved-member-self", "", ""},
};

static void check_verdict(const char *id, pdr_str input, const char *reason,
                          const char *path)
{
    struct roundtrip_report report;
    pdr_value *value = read_json(id, input);
    pdr_session *s = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_session_from_value(&s, value, &err);

    if (rc == PDR_OK && reason[0] == '\0') {
        if (!session_check_unchanged(&report, &session_ours, input) ||
            !session_check_slots(&report, &session_ours, input))
            corpus_complain(id, "kept", "%s", report.text);
    } else if (rc == PDR_OK || strcmp(reason, err.reason) != 0 ||
               strcmp(path, err.path) != 0 || err.offset < 0) {
        corpus_complain(id, "verdict", "%s at %s, byte %d", err.reason,
                        err.path, (int)err.offset);
    }
    pdr_session_free(s);
    pdr_value_free(value);
}

/* One line of the file; true if it is about a session by itself. */
static bool check_line(pdr_str line, size_t row)
{
    pdr_value *value = read_json("verdicts", line);
    pdr_buf scratch = PDR_BUF_INIT(1u << 20);
    pdr_str input = {NULL, 0};
    bool ours = pdr_value_text_is(pdr_value_get_c(value, "reader"),
                                  pdr_str_c("from_dict"));

    if (ours) {
        ASSERT(row < sizeof(verdicts) / sizeof(verdicts[0]));
        ASSERT(pdr_value_text_is(pdr_value_get_c(value, "id"),
                                 pdr_str_c(verdicts[row][0])));
        ASSERT_RC(PDR_OK,
                  pdr_value_text(&input, pdr_value_get_c(value, "input"),
                                 &scratch, NULL));
        check_verdict(verdicts[row][0], input, verdicts[row][1],
                      verdicts[row][2]);
    }
    pdr_buf_dispose(&scratch);
    pdr_value_free(value);
    return ours;
}

TEST(odd_python_documents, are_kept_or_refused_with_their_place)
{
    size_t len = 0, rows = 0;
    char *file = test_read_data("python/sessions/verdicts.jsonl", &len);
    pdr_str left = pdr_str_n(file, len);

    while (left.len > 0) {
        const char *end = memchr(left.ptr, '\n', left.len);

        ASSERT(end != NULL);
        rows += check_line(pdr_str_n(left.ptr, (size_t)(end - left.ptr)), rows);
        left = pdr_str_n(end + 1, left.len - (size_t)(end + 1 - left.ptr));
    }
    ASSERT_SIZE(sizeof(verdicts) / sizeof(verdicts[0]), rows);
    corpus_assert_no_complaint();
    free(file);
}
