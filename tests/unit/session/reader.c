/*
 * reader.c - sessions from a stream, one after the other.
 */
#include "session_text.h"
#include "toy.h"

/* A stream that comes in pieces of `piece` bytes. */
struct pieces {
    pdr_str left;
    size_t piece;
};

static pdr_rc read_piece(size_t *got, void *into, size_t cap, pdr_err *err,
                         void *arg)
{
    struct pieces *p = arg;
    size_t len = p->piece < cap ? p->piece : cap;

    (void)err;
    *got = len < p->left.len ? len : p->left.len;
    if (*got > 0)
        memcpy(into, p->left.ptr, *got);
    p->left = pdr_str_n(p->left.ptr + *got, p->left.len - *got);
    return PDR_OK;
}

/* What a reader gives, as text: "name=" in front of what has one, "!" in front
 * of what is no session, "." between; then the reason of a failure. */
static void gather(pdr_buf *out, pdr_session_reader *reader, pdr_err *err)
{
    pdr_write_opts as_read = {PDR_BARE_TOKENS, PDR_AS_READ, 0, NULL};
    bool end = false;
    uint64_t expected = 0;

    while (!end) {
        pdr_session *s = NULL;
        pdr_session_item item;
        pdr_value *value = NULL;
        pdr_rc rc = pdr_session_reader_next(&s, &item, &end, reader, err);

        ASSERT_INT(expected, item.index);
        if (rc != PDR_OK) {
            pdr_err again = PDR_ERR_INIT;

            ASSERT(s == NULL && item.value == NULL);
            ASSERT_RC(rc,
                      pdr_session_reader_next(&s, NULL, &end, reader, &again));
            ASSERT_STR(err->message, again.message);
            ASSERT_RC(PDR_OK, pdr_buf_printf(out, NULL, "%s at %s", err->reason,
                                             err->path));
            return;
        }
        if (end)
            return;
        expected++;
        if (item.name != NULL) {
            ASSERT_RC(PDR_OK, pdr_json_write(out, item.name, NULL, NULL));
            ASSERT_RC(PDR_OK, pdr_buf_append(out, pdr_str_c("="), NULL));
        }
        if (s == NULL) {
            ASSERT_RC(PDR_OK, pdr_buf_append(out, pdr_str_c("!"), NULL));
            value = item.value;
        } else {
            ASSERT(item.value == NULL);
            ASSERT_RC(PDR_OK, pdr_session_to_value(&value, s, NULL));
        }
        ASSERT_RC(PDR_OK, pdr_json_write(out, value, &as_read, NULL));
        ASSERT_RC(PDR_OK, pdr_buf_append(out, pdr_str_c("."), NULL));
        pdr_value_free(value);
        pdr_session_free(s);
    }
}

static void assert_reads(const char *expected, const char *text, unsigned flags,
                         bool tolerant)
{
    char *input = quoted(text), *wanted = quoted(expected);

    for (size_t piece = 1; piece < 4000; piece = piece * 3 + 1) {
        struct pieces pieces = {pdr_str_c(input), piece};
        pdr_read_opts opts = {.flags = flags};
        pdr_session_reader *reader = NULL;
        pdr_buf got = PDR_BUF_INIT(1u << 20);
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_OK,
                  pdr_session_reader_new(&reader, pdr_json_codec(), &opts,
                                         tolerant, NULL, read_piece, &pieces));
        gather(&got, reader, &err);
        ASSERT_TEXT(wanted, pdr_buf_str(&got));
        pdr_buf_dispose(&got);
        pdr_session_reader_free(reader);
    }
    free(input);
    free(wanted);
}

TEST(session_reader, gives_the_elements_of_an_array)
{
    assert_reads("", " [ ] ", 0, false);
    assert_reads("{'stateBag': {}}.!null.{ 'session_id':'s' }.",
                 "[{'stateBag': {}} ,null, { 'session_id':'s' }]", 0, false);
}

TEST(session_reader, gives_a_single_session_with_its_white_space)
{
    assert_reads("{ 'type': 'session', 'session_id': 's' }.",
                 "{ 'type': 'session', 'session_id': 's' }", 0, false);
    assert_reads("{ }.", "{ }", 0, false);
    assert_reads("{'x':{'y':{}}, 'stateBag':{}}.",
                 "{'x':{'y':{}}, 'stateBag':{}}", 0, false);
    assert_reads("!null.", "null", 0, false);
}

TEST(session_reader, gives_the_members_of_an_object_of_sessions)
{
    assert_reads("'Ann'={ 'stateBag':{}}.'b\\u006f'={}.",
                 "{'Ann':{ 'stateBag':{}} , 'b\\u006f':{}}", 0, false);
    /* Nothing tells before the end that it is one. */
    assert_reads("'Ann'={}.'Bob'={'type':1,'session_id':'s'}.",
                 "{'Ann':{},'Bob':{'type':1,'session_id':'s'}}", 0, false);
    assert_reads("'Ann'={'a':{'b':[1]},'c':2,'stateBag':{}}.",
                 "{'Ann':{'a':{'b':[1]},'c':2,'stateBag':{}}}", 0, false);
}

TEST(session_reader, gives_what_else_stands_in_an_object_of_sessions)
{
    assert_reads("'a'=!{'schemaVersion':'1', 'data':{}}.'b'={'stateBag':{}}.",
                 "{'a':{'schemaVersion':'1', 'data':{}},'b':{'stateBag':{}}}",
                 0, true);
    assert_reads("'a'=!{'session':{}}.'b'=!{'data':1,'schemaVersion':2}.",
                 "{'a':{'session':{}},'b':{'data':1,'schemaVersion':2}}", 0,
                 true);
    assert_reads("'a'=!{'data':{},'schemaVersion':2}."
                 "'b'=!{'schemaVersion':1,'data':{}}.",
                 "{'a':{'data':{},'schemaVersion':2}}\n"
                 "{'b':{'schemaVersion':1,'data':{}}}",
                 PDR_SEQUENCE, true);
    assert_reads("session_unknown_shape at /a",
                 "{'a':{'schemaVersion':'1','data':{}}}", 0, false);
    assert_reads("!{'a':{'schemaVersion':'1','data':{}},'data':{},"
                 "'schemaVersion':'1'}.",
                 "{'a':{'schemaVersion':'1','data':{}},'data':{},"
                 "'schemaVersion':'1'}",
                 0, true);
    assert_reads("!{'a':{'session':{},'other':1}}.",
                 "{'a':{'session':{},'other':1}}", 0, true);
    assert_reads("'a'=!{'schemaVersion':'1','data':{}}.'b'=!1."
                 "session_unknown_shape at ",
                 "{'a':{'schemaVersion':'1','data':{}},'b':1,"
                 "'schemaVersion':'1','data':{}}",
                 0, true);
}

/* Long values push what the walk holds out of its window. */
TEST(session_reader, gives_the_names_of_long_elements)
{
    pdr_buf text = PDR_BUF_INIT(1u << 24);
    pdr_session_reader *reader = NULL;
    pdr_session_item item;
    bool end = false;
    pdr_str input;

    for (int i = 0; i < 4; i++)
        ASSERT_RC(PDR_OK, pdr_buf_printf(&text, NULL,
                                         "%s\"name %d\":{\"session_id\":\"%d\","
                                         "\"state\":{\"x\":\"%0*d\"}}",
                                         i == 0 ? "{" : ",", i, i, 1 << 20, 0));
    ASSERT_RC(PDR_OK, pdr_buf_append(&text, pdr_str_c("}"), NULL));
    input = pdr_buf_str(&text);
    ASSERT_RC(PDR_OK,
              pdr_session_reader_new(&reader, pdr_json_codec(), NULL, false,
                                     NULL, pdr_read_str, &input));
    for (int i = 0; i < 4; i++) {
        char name[16];
        pdr_session *s = NULL;

        snprintf(name, sizeof(name), "name %d", i);
        ASSERT_RC(PDR_OK,
                  pdr_session_reader_next(&s, &item, &end, reader, NULL));
        ASSERT(s != NULL && pdr_value_text_is(item.name, pdr_str_c(name)));
        pdr_session_free(s);
    }
    pdr_session_reader_free(reader);
    pdr_buf_dispose(&text);
}

TEST(session_reader, goes_from_document_to_document)
{
    assert_reads("{'stateBag':{}}.{}.'a'={'stateBag':{}}.!null.{'x':1,"
                 "'conversationId':'c'}.",
                 "{'stateBag':{}}\n[{}]\n{'a':{'stateBag':{}}}\nnull\n[]\n"
                 "{'x':1,'conversationId':'c'}\n",
                 PDR_SEQUENCE, false);
    assert_reads("", "", PDR_SEQUENCE, false);
}

TEST(session_reader, refuses_what_is_no_session_with_its_place)
{
    assert_reads("{}.{}.session_not_object at /2", "[{},{},7,{}]", 0, false);
    assert_reads("session_unknown_shape at ", "{'a':1}", 0, false);
    assert_reads("session_unknown_shape at ",
                 "{'session':{'stateBag':{}},'additionalProperties':{}}", 0,
                 false);
    assert_reads("session_not_object at ", "7", 0, false);
    assert_reads("{}.bag_not_object at /1/state",
                 "[{},{'session_id':'s','state':[]}]", 0, false);
    assert_reads("'a'={'stateBag':{}}.session_not_object at /b",
                 "{'a':{'stateBag':{}},'b':7}", 0, false);
    assert_reads("{}.bag_not_object at /0/stateBag", "{} [{'stateBag':7}]",
                 PDR_SEQUENCE, false);
    assert_reads("session_member at /a/conversationId",
                 "{'a':{'conversationId':7}}", 0, false);
    assert_reads("session_member at /a/conversationId",
                 "{'a':{'conversationId':7},'b':{}}", 0, false);
    assert_reads("{}.unexpected_end at /1", "[{},{", 0, false);
}

TEST(session_reader, says_at_which_session_of_the_stream_it_stopped)
{
    static const char *const rows[][2] = {
        {"[{},7]", "element 1: a session is an object, this is a number"},
        {"{} [{},7]", "session 2 of the stream: element 1: a session is an "
                      "object, this is a number"},
        {"{} 7", "session 1 of the stream: a session is an object, this is a "
                 "number"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        pdr_str left = pdr_str_c(rows[i][0]);
        pdr_read_opts opts = {.flags = PDR_SEQUENCE};
        pdr_session_reader *reader = NULL;
        pdr_buf got = PDR_BUF_INIT(1000);
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_OK,
                  pdr_session_reader_new(&reader, pdr_json_codec(), &opts,
                                         false, NULL, pdr_read_str, &left));
        gather(&got, reader, &err);
        ASSERT_STR(rows[i][1], err.message);
        ASSERT_INT((int64_t)strcspn(rows[i][0], "7"), err.offset);
        pdr_buf_dispose(&got);
        pdr_session_reader_free(reader);
    }
}

TEST(session_reader, gives_other_elements_as_values_if_it_is_tolerant)
{
    assert_reads("{}.!7.!{'a': 1}.!{'stateBag':[]}.{}.",
                 "[{},7,{'a': 1},{'stateBag':[]},{}]", 0, true);
    assert_reads("'a'={'stateBag':{}}.'b'=!7.", "{'a':{'stateBag':{}},'b':7}",
                 0, true);
    assert_reads("!{'a':1}.", "{'a':1}", 0, true);
    assert_reads("{}.unexpected_byte at /1", "[{},}", 0, true);
}

TEST(session_reader, takes_a_session_whole_whatever_its_first_member_is)
{
    assert_reads("{'a':{'stateBag':{}},'stateBag':{}}.",
                 "{'a':{'stateBag':{}},'stateBag':{}}", 0, false);
    assert_reads("{'audit': {'x':[{}],'sessionId':5},'session_id':'s'}.",
                 "{'audit': {'x':[{}],'sessionId':5},'session_id':'s'}", 0,
                 false);
    assert_reads("'a'={'stateBag':{}}.unexpected_end at ",
                 "{'a':{'stateBag':{}}", 0, false);
}

TEST(session_reader, refuses_an_object_that_turns_out_to_be_a_session)
{
    assert_reads("'a'={'stateBag':{}}.'b'={}.session_unknown_shape at ",
                 "{'a':{'stateBag':{}},'b':{},'stateBag':{}}", 0, false);
}

TEST(session_reader, gives_newer_and_deep_elements_as_values_too)
{
    assert_reads("!{'perdure':{'version':'2.0'}}.{}.",
                 "[{'perdure':{'version':'2.0'}},{}]", 0, true);
    assert_reads("session_version at /0/perdure/version",
                 "[{'perdure':{'version':'2.0'}},{}]", 0, false);
}

TEST(session_reader, needs_no_detail_of_a_failure)
{
    pdr_str left = pdr_str_c("[7]");
    pdr_session_reader *reader = NULL;
    pdr_session *s = NULL;
    bool end = false;

    ASSERT_RC(PDR_OK, pdr_session_reader_new(&reader, pdr_json_codec(), NULL,
                                             false, NULL, pdr_read_str, &left));
    for (int i = 0; i < 2; i++)
        ASSERT_RC(PDR_EINVALID,
                  pdr_session_reader_next(&s, NULL, &end, reader, NULL));
    pdr_session_reader_free(reader);
}

TEST(session_reader, takes_no_item)
{
    pdr_str left = pdr_str_c("[7,null,{}]");
    pdr_session_reader *reader = NULL;
    pdr_session *s = NULL;
    bool end = false;

    ASSERT_RC(PDR_OK, pdr_session_reader_new(&reader, pdr_json_codec(), NULL,
                                             true, NULL, pdr_read_str, &left));
    for (int i = 0; i < 3; i++) {
        ASSERT(s == NULL);
        ASSERT_RC(PDR_OK,
                  pdr_session_reader_next(&s, NULL, &end, reader, NULL));
        ASSERT(!end);
    }
    ASSERT(s != NULL);
    pdr_session_free(s);
    ASSERT_RC(PDR_OK, pdr_session_reader_next(&s, NULL, &end, reader, NULL));
    ASSERT(end && s == NULL);
    ASSERT_RC(PDR_OK, pdr_session_reader_next(&s, NULL, &end, reader, NULL));
    ASSERT(end);
    pdr_session_reader_free(reader);
    pdr_session_reader_free(NULL);
}

TEST(session_reader, takes_the_options_of_a_walk)
{
    pdr_session_reader *reader = NULL;
    pdr_read_opts opts = {.flags = PDR_TRAILING};
    pdr_str left = {NULL, 0};
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EMISUSE,
              pdr_session_reader_new(&reader, pdr_json_codec(), &opts, false,
                                     &err, pdr_read_str, &left));
    ASSERT_STR("bad_option", err.reason);
    ASSERT(reader == NULL);
    assert_reads("{'stateBag':{'k':NaN}}.", "[{'stateBag':{'k':NaN}}]",
                 PDR_BARE_TOKENS, false);
}

static pdr_rc fail_to_read(size_t *got, void *into, size_t cap, pdr_err *err,
                           void *arg)
{
    int *calls = arg;

    (void)cap;
    if (--*calls < 0)
        return pdr_err_set(err, PDR_EIO, "test", "the disk is gone");
    memcpy(into, "{", 1);
    *got = 1;
    return PDR_OK;
}

TEST(session_reader, gives_the_failure_of_the_stream)
{
    for (int calls = 0; calls < 2; calls++) {
        int left = calls;
        pdr_session_reader *reader = NULL;
        pdr_session *s = NULL;
        bool end = false;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_OK,
                  pdr_session_reader_new(&reader, pdr_json_codec(), NULL, false,
                                         NULL, fail_to_read, &left));
        ASSERT_RC(PDR_EIO,
                  pdr_session_reader_next(&s, NULL, &end, reader, &err));
        ASSERT_STR("test", err.reason);
        pdr_session_reader_free(reader);
    }
}

/* A session with `levels` levels, in a list or alone. */
static void put_deep(pdr_buf *text, int levels, bool alone)
{
    PUT(text, "%s{\"stateBag\":{\"k\":", alone ? "" : "[");
    for (int i = 2; i < levels; i++)
        PUT(text, "[");
    for (int i = 2; i < levels; i++)
        PUT(text, "]");
    PUT(text, "}}%s", alone ? "" : "]");
}

static const char *read_deep(int levels, uint32_t max_depth, bool alone)
{
    pdr_buf text = TEXT_INIT;
    pdr_read_opts opts = {.max_depth = max_depth};
    pdr_session_reader *reader = NULL;
    pdr_session *s = NULL;
    bool end = false;
    pdr_err err = PDR_ERR_INIT;

    put_deep(&text, levels, alone);
    pdr_str left = pdr_buf_str(&text);
    ASSERT_RC(PDR_OK, pdr_session_reader_new(&reader, pdr_json_codec(), &opts,
                                             false, NULL, pdr_read_str, &left));
    pdr_rc rc = pdr_session_reader_next(&s, NULL, &end, reader, &err);
    ASSERT((rc == PDR_OK) == (s != NULL));
    pdr_session_free(s);
    pdr_session_reader_free(reader);
    pdr_buf_dispose(&text);
    return rc == PDR_OK ? "" : err.reason;
}

TEST(session_reader, counts_levels_from_the_root_of_each_session)
{
    ASSERT_STR("", read_deep(128, 0, false));
    ASSERT_STR("too_deep", read_deep(129, 0, false));
    ASSERT_STR("too_deep", read_deep(129, 1024, false));
    ASSERT_STR("", read_deep(10, 10, false));
    ASSERT_STR("too_deep", read_deep(11, 10, false));
    ASSERT_STR("", read_deep(10, 10, true));
    ASSERT_STR("too_deep", read_deep(11, 10, true));
    ASSERT_STR("", read_deep(128, 0, true));
    ASSERT_STR("too_deep", read_deep(129, 0, true));
}

/* What the first element of a stream is: "session", "value" or a reason. The
 * stream has `levels` brackets between two texts. */
static const char *read_around(const char *head, int levels, const char *tail,
                               uint32_t max_depth, bool tolerant)
{
    pdr_buf text = TEXT_INIT;
    const pdr_read_opts opts = {.max_depth = max_depth};
    pdr_session_reader *reader = NULL;
    pdr_session *s = NULL;
    pdr_session_item item = {0};
    bool end = false;
    pdr_err err = PDR_ERR_INIT;
    const char *what = NULL;

    ASSERT_RC(PDR_OK, pdr_buf_append(&text, pdr_str_c(head), NULL));
    for (int i = 0; i < levels; i++)
        PUT(&text, "[");
    for (int i = 0; i < levels; i++)
        PUT(&text, "]");
    PUT(&text, "%s", tail);
    pdr_str left = pdr_buf_str(&text);
    ASSERT_RC(PDR_OK,
              pdr_session_reader_new(&reader, pdr_json_codec(), &opts, tolerant,
                                     NULL, pdr_read_str, &left));
    if (pdr_session_reader_next(&s, &item, &end, reader, &err) != PDR_OK)
        what = err.reason;
    else
        what = s != NULL ? "session" : "value";
    pdr_session_free(s);
    pdr_value_free(item.value);
    pdr_session_reader_free(reader);
    pdr_buf_dispose(&text);
    return what;
}

#define BUNDLE                                                             \
    "{\"perdure\":{\"version\":\"1.0.0\",\"document\":{\"schemaVersion\":" \
    "\"1.0\",\"data\":"

TEST(session_reader, counts_no_level_around_a_session_or_document)
{
    static const struct {
        const char *head, *tail, *what;
        int levels; /* that are left inside */
    } cases[] = {
        {"[{\"session\":{\"stateBag\":{\"k\":", "}}}]", "value", 126},
        {"{\"a\":{\"session\":{\"stateBag\":{\"k\":", "}}}}", "value", 126},
        {"{\"session\":{\"stateBag\":{\"k\":", "}}}", "value", 126},
        {"[{\"session\":{},\"additionalProperties\":{\"k\":", "}}]", "value",
         126},
        {"[" BUNDLE, "}},\"sessionId\":\"@dafx-a@k\"}]", "session", 127},
        {"{\"a\":" BUNDLE, "}},\"stateBag\":{}}}", "session", 127},
        {BUNDLE, "}}}", "session", 127},
        {"[{\"perdure\":{\"version\":\"1.0.0\",\"x\":", "}}]", "session", 126},
        {"[{\"session\":" BUNDLE, "}}}}]", "value", 127},
        {"{\"a\":{\"session\":" BUNDLE, "}}}}}", "value", 127},
        {"[{\"session_id\":\"s\",\"perdure\":{\"document\":", "}}]", "session",
         126},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *head = cases[i].head, *tail = cases[i].tail;
        int levels = cases[i].levels;

        ASSERT_STR(cases[i].what, read_around(head, levels, tail, 0, true));
        ASSERT_STR("too_deep", read_around(head, levels + 1, tail, 0, true));
        ASSERT_STR(cases[i].what,
                   read_around(head, levels - 118, tail, 10, true));
        ASSERT_STR("too_deep", read_around(head, levels - 117, tail, 10, true));
        if (strcmp(cases[i].what, "session") == 0)
            ASSERT_STR("session", read_around(head, levels, tail, 0, false));
    }
}

/* --- memory -------------------------------------------------------------- */

/* A list of many sessions that is never in memory as a whole. */
struct endless {
    pdr_writer *writer;
    pdr_buf bytes;
    size_t at, left;
    bool by_name, sequence, is_open;
};

static void write_session(struct endless *e)
{
    pdr_value *s = doc_value("{'type':'session','session_id':'s','state':{'k':"
                             "'0123456789012345678901234567890123456789'}}");
    pdr_value *name = doc_value("'somebody'");

    if (e->by_name)
        ASSERT_RC(PDR_OK, pdr_writer_put(e->writer, PDR_NAME, name, NULL));
    ASSERT_RC(PDR_OK, pdr_writer_put(e->writer, PDR_SCALAR, s, NULL));
    pdr_value_free(s);
    pdr_value_free(name);
}

/* The next bytes of the list, from a writer that gets one session at a time. */
static void refill(struct endless *e)
{
    pdr_buf_clear(&e->bytes);
    e->at = 0;
    if (!e->is_open && !e->sequence)
        ASSERT_RC(PDR_OK, pdr_writer_put(e->writer,
                                         e->by_name ? PDR_BEGIN_OBJECT
                                                    : PDR_BEGIN_ARRAY,
                                         NULL, NULL));
    e->is_open = true;
    while (e->bytes.len == 0 && e->left > 0) {
        write_session(e);
        e->left--;
        if (e->left == 0 && !e->sequence)
            ASSERT_RC(PDR_OK, pdr_writer_put(e->writer, PDR_END, NULL, NULL));
        if (e->left == 0)
            ASSERT_RC(PDR_OK, pdr_writer_finish(e->writer, NULL));
    }
}

static pdr_rc read_endless(size_t *got, void *into, size_t cap, pdr_err *err,
                           void *arg)
{
    struct endless *e = arg;

    (void)err;
    if (e->at == e->bytes.len)
        refill(e);
    *got = e->bytes.len - e->at;
    if (*got > cap)
        *got = cap;
    if (*got > 0)
        memcpy(into, e->bytes.ptr + e->at, *got);
    e->at += *got;
    return PDR_OK;
}

/* The most that is in memory while `count` sessions are read. */
static size_t peak_of(const pdr_codec *codec, size_t count, bool by_name,
                      bool sequence)
{
    struct endless e = {
        NULL, PDR_BUF_INIT(1u << 30), 0, count, by_name, sequence, false};
    pdr_write_opts to = {.flags = sequence ? PDR_SEQUENCE : 0};
    pdr_read_opts from = {.flags = sequence ? PDR_SEQUENCE : 0};
    pdr_session_reader *reader = NULL;
    bool end = false;
    size_t seen = 0;

    ASSERT_RC(PDR_OK, pdr_writer_new(&e.writer, codec, &to, NULL, pdr_write_buf,
                                     &e.bytes));
    ASSERT_RC(PDR_OK, pdr_session_reader_new(&reader, codec, &from, false, NULL,
                                             read_endless, &e));
    test_reset_peak();
    while (!end) {
        pdr_session *s = NULL;

        ASSERT_RC(PDR_OK,
                  pdr_session_reader_next(&s, NULL, &end, reader, NULL));
        seen += s != NULL;
        pdr_session_free(s);
    }
    ASSERT_SIZE(count, seen);
    size_t peak = test_peak_bytes();
    pdr_session_reader_free(reader);
    pdr_writer_free(e.writer);
    pdr_buf_dispose(&e.bytes);
    return peak;
}

static void assert_bounded(const pdr_codec *codec, bool by_name, bool sequence)
{
    size_t few = peak_of(codec, 2000, by_name, sequence);
    size_t many = peak_of(codec, 20000, by_name, sequence);

    if (many > few + few / 10)
        fail_msg("%zu bytes for 2,000 sessions, %zu for 20,000", few, many);
}

TEST(session_reader, holds_one_session_whatever_the_length_of_the_stream)
{
    assert_bounded(pdr_json_codec(), false, false);
    assert_bounded(pdr_json_codec(), true, false);
    assert_bounded(pdr_json_codec(), false, true);
    assert_bounded(pdr_xml_codec(), false, false);
    assert_bounded(pdr_xml_codec(), true, false);
    assert_bounded(pdr_msgpack_codec(), false, true);
    assert_bounded(toy_codec(), false, false);
    assert_bounded(toy_codec(), false, true);
}

TEST_OOM(session_reader, reads_or_is_out_of_memory)
{
    static const char *const texts[] = {
        "[{},{\"stateBag\":{}}]", "{\"a\":{\"stateBag\":{}},\"b\":{}}",
        "{\"a\":{},\"b\":{}}", "[{\"stateBag\":7}]"};

    for (size_t i = 0; i < 8; i++) {
        pdr_str left = pdr_str_c(texts[i / 2]);
        pdr_session_reader *reader = NULL;
        bool end = false;
        pdr_rc rc =
            pdr_session_reader_new(&reader, pdr_json_codec(), NULL, i % 2 == 1,
                                   NULL, pdr_read_str, &left);

        while (rc == PDR_OK && !end) {
            pdr_session *s = NULL;

            rc = pdr_session_reader_next(&s, NULL, &end, reader, NULL);
            pdr_session_free(s);
        }
        pdr_session_reader_free(reader);
    }
}

/* Bytes in memory once a walk has taken the document. */
static size_t bytes_of_walk(pdr_str text)
{
    size_t before = test_live_bytes();
    pdr_event event = PDR_END_OF_INPUT;
    pdr_value *value = NULL;
    pdr_walk *walk = NULL;

    ASSERT_RC(PDR_OK, pdr_walk_new(&walk, pdr_json_codec(), NULL, NULL,
                                   pdr_read_str, &text));
    ASSERT_RC(PDR_OK, pdr_walk_next(&event, walk, NULL));
    ASSERT_RC(PDR_OK, pdr_walk_take(&value, walk, NULL));
    size_t bytes = test_live_bytes() - before;
    pdr_value_free(value);
    pdr_walk_free(walk);
    return bytes;
}

TEST(session_reader, keeps_no_bytes_of_a_session_that_it_gave)
{
    pdr_buf text = TEXT_INIT;
    pdr_session_reader *reader = NULL;
    pdr_session *s = NULL;
    bool end = false;

    PUT(&text, "{\"stateBag\":{\"k\":\"");
    for (int i = 0; i < 100000; i++)
        PUT(&text, "0123456789");
    PUT(&text, "\"}}");
    pdr_str left = pdr_buf_str(&text);
    size_t walk = bytes_of_walk(left), before = test_live_bytes();
    ASSERT_RC(PDR_OK, pdr_session_reader_new(&reader, pdr_json_codec(), NULL,
                                             false, NULL, pdr_read_str, &left));
    ASSERT_RC(PDR_OK, pdr_session_reader_next(&s, NULL, &end, reader, NULL));
    size_t now = test_live_bytes() - before;
    if (now > walk + text.len / 4)
        fail_msg("%zu bytes, the walk alone has %zu", now, walk);
    pdr_session_free(s);
    pdr_session_reader_free(reader);
    pdr_buf_dispose(&text);
}

/* A stream that must not be asked again once it has ended. */
static pdr_rc read_once(size_t *got, void *into, size_t cap, pdr_err *err,
                        void *arg)
{
    int *calls = arg;

    (void)cap;
    (void)err;
    ASSERT(++*calls <= 2);
    *got = *calls == 1 ? 2 : 0;
    memcpy(into, "{}", *got);
    return PDR_OK;
}

TEST(session_reader, asks_a_stream_that_ended_no_more)
{
    for (unsigned flags = 0; flags <= PDR_SEQUENCE; flags += PDR_SEQUENCE) {
        pdr_read_opts opts = {.flags = flags};
        pdr_session_reader *reader = NULL;
        pdr_session *s = NULL;
        bool end = false;
        int calls = 0;

        ASSERT_RC(PDR_OK,
                  pdr_session_reader_new(&reader, pdr_json_codec(), &opts,
                                         false, NULL, read_once, &calls));
        ASSERT_RC(PDR_OK,
                  pdr_session_reader_next(&s, NULL, &end, reader, NULL));
        pdr_session_free(s);
        ASSERT_RC(PDR_OK,
                  pdr_session_reader_next(&s, NULL, &end, reader, NULL));
        ASSERT(end);
        pdr_session_reader_free(reader);
    }
}

/* A stream that fails once, in the middle of a first member, and then says that
 * it has ended. */
static pdr_rc fail_once(size_t *got, void *into, size_t cap, pdr_err *err,
                        void *arg)
{
    static const char text[] = "{\"a\":{\"k";
    int *calls = arg;

    (void)cap;
    *got = 0;
    if (++*calls == 2)
        return pdr_err_set(err, PDR_EIO, "test", "the disk is gone");
    if (*calls > 1)
        return PDR_OK;
    *got = sizeof(text) - 1;
    memcpy(into, text, *got);
    return PDR_OK;
}

TEST(session_reader, gives_a_failure_that_came_while_it_looked_ahead)
{
    pdr_session_reader *reader = NULL;
    pdr_session *s = NULL;
    bool end = false;
    int calls = 0;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_session_reader_new(&reader, pdr_json_codec(), NULL,
                                             false, NULL, fail_once, &calls));
    ASSERT_RC(PDR_EIO, pdr_session_reader_next(&s, NULL, &end, reader, &err));
    ASSERT_STR("test", err.reason);
    ASSERT(strstr(err.message, "the disk is gone") != NULL);
    ASSERT_INT(2, calls);
    pdr_session_reader_free(reader);
}

TEST(session_reader, looks_ahead_without_taking_anything)
{
    static const struct {
        const char *text;
        bool by_name;
        size_t sessions;
    } cases[] = {{"{\"a\":{\"stateBag\":{}},\"b\":{}}", true, 2},
                 {"{\"session_id\":\"a\",\"state\":{}}", false, 1},
                 {"[{\"stateBag\":{}}]", false, 1},
                 {"[]", false, 0}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pdr_str left = pdr_str_c(cases[i].text);
        pdr_session_reader *reader = NULL;
        size_t count = 0;
        bool by_name = false, end = false;

        ASSERT_RC(PDR_OK,
                  pdr_session_reader_new(&reader, pdr_json_codec(), NULL, false,
                                         NULL, pdr_read_str, &left));
        for (int again = 0; again < 2; again++) {
            ASSERT_RC(PDR_OK, pdr_session_reader_look(&by_name, reader, NULL));
            ASSERT_INT(cases[i].by_name, by_name);
        }
        while (!end) {
            pdr_session *s = NULL;

            ASSERT_RC(PDR_OK,
                      pdr_session_reader_next(&s, NULL, &end, reader, NULL));
            count += !end;
            pdr_session_free(s);
            ASSERT_RC(PDR_OK, pdr_session_reader_look(&by_name, reader, NULL));
            ASSERT_INT(cases[i].by_name && !end, by_name);
        }
        ASSERT_SIZE(cases[i].sessions, count);
        pdr_session_reader_free(reader);
    }
}

TEST(session_reader, fails_as_it_failed_when_it_looked)
{
    pdr_str left = pdr_str_c("]");
    pdr_session_reader *reader = NULL;
    pdr_session *s = NULL;
    bool by_name = false, end = false;
    pdr_err first = PDR_ERR_INIT, then = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_session_reader_new(&reader, pdr_json_codec(), NULL,
                                             true, NULL, pdr_read_str, &left));
    ASSERT_RC(PDR_EINVALID, pdr_session_reader_look(&by_name, reader, &first));
    ASSERT_RC(PDR_EINVALID,
              pdr_session_reader_next(&s, NULL, &end, reader, &then));
    ASSERT_STR(first.message, then.message);
    ASSERT_RC(PDR_EINVALID, pdr_session_reader_look(&by_name, reader, NULL));
    pdr_session_reader_free(reader);
}

/* The first member of an object goes on and on. */
static pdr_rc read_on_and_on(size_t *got, void *into, size_t cap, pdr_err *err,
                             void *arg)
{
    static const char first[] = "{\"x\":{\"a\":[1";
    size_t *given = arg;

    (void)err;
    *got = *given == 0 ? sizeof(first) - 1 : cap - cap % 2;
    for (size_t i = 0; *given > 0 && i < *got; i++)
        ((char *)into)[i] = ",1"[i % 2];
    if (*given == 0)
        memcpy(into, first, *got);
    *given += *got;
    if (*given > 4u << 20)
        *got = 0; /* so that the test ends, whatever happens */
    return PDR_OK;
}

TEST(session_reader, looks_ahead_no_further_than_a_value_may_be_long)
{
    pdr_read_opts opts = {.max_bytes = 1000};
    pdr_session_reader *reader = NULL;
    pdr_session *s = NULL;
    size_t given = 0;
    bool end = false;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK,
              pdr_session_reader_new(&reader, pdr_json_codec(), &opts, false,
                                     NULL, read_on_and_on, &given));
    ASSERT_RC(PDR_ELIMIT,
              pdr_session_reader_next(&s, NULL, &end, reader, &err));
    ASSERT(given < 1u << 20);
    pdr_session_reader_free(reader);
}
