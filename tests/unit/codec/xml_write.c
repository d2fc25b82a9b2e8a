/* Values to XML: layouts, spellings, pieces. */
#include "xml_text.h"

#include "corpus.h"

static const struct {
    const char *json, *xml;
} rows[] = {
    {"null", "<null " NS "/>"},
    {"true", "<boolean " NS ">true</boolean>"},
    {"false", "<boolean " NS ">false</boolean>"},
    {"1.10E5", "<number " NS ">1.10E5</number>"},
    {"\"\"", "<string " NS "/>"},
    {"[]", "<array " NS "/>"},
    {"{}", "<map " NS "/>"},
    {"{\"b\":[1,{}],\"a\":null,\"b\":\"\"}",
     "<map " NS "><array key=\"b\"><number>1</number><map/></array>"
     "<null key=\"a\"/><string key=\"b\"/></map>"},
    {"\"a<b>&\\\"'\\\\c\"", "<string " NS ">a&lt;b&gt;&amp;\"'\\c</string>"},
    {"\"\\t\\n\\r \"", "<string " NS ">\t\n&#13; </string>"},
    {"{\"<&>\\\"'\\t\\n\\r\":1}",
     "<map " NS "><number key=\"&lt;&amp;&gt;&quot;'&#9;&#10;&#13;\">1"
     "</number></map>"},
    /* spellings that are not ours, and what XML cannot hold */
    {"\"\\/\"", "<string " NS " escaped=\"true\">\\/</string>"},
    {"\"\\u00e9\"", "<string " NS " escaped=\"true\">\\u00e9</string>"},
    {"\"\\u000a<\"", "<string " NS " escaped=\"true\">\\u000a&lt;</string>"},
    {"\"\\u0000\"", "<string " NS " escaped=\"true\">\\u0000</string>"},
    {"\"\\b\"", "<string " NS " escaped=\"true\">\\b</string>"},
    {"\"\\f\"", "<string " NS " escaped=\"true\">\\f</string>"},
    {"\"\\u001f\"", "<string " NS " escaped=\"true\">\\u001f</string>"},
    {"\"\\ud800\"", "<string " NS " escaped=\"true\">\\ud800</string>"},
    {"\"\\ufffe\"", "<string " NS " escaped=\"true\">\\ufffe</string>"},
    {"\"\x7F\xC2\x80\"", "<string " NS ">\x7F\xC2\x80</string>"},
    {"{\"\\/\":\"\\/\"}",
     "<map " NS "><string key=\"\\/\" escaped-key=\"true\" escaped=\"true\">\\/"
     "</string></map>"},
    /* U+FFFE and U+FFFF as they are */
    {"\"\xEF\xBF\xBE\"",
     "<string " NS " escaped=\"true\" xmlns:p=\"urn:perdure:json\" "
     "p:raw=\"77++\">\\uFFFE</string>"},
    {"{\"\xEF\xBF\xBF\":\"\\u0041\xEF\xBF\xBFz\"}",
     "<map " NS "><string key=\"\\uFFFF\" escaped-key=\"true\" "
     "xmlns:p=\"urn:perdure:json\" p:raw-key=\"77+/\" escaped=\"true\" "
     "p:raw=\"XHUwMDQx77+/eg==\">\\u0041\\uFFFFz</string></map>"},
    {"{\"\xEF\xBF\xBF\":[\"\xEF\xBF\xBE\"]}",
     "<map " NS "><array key=\"\\uFFFF\" escaped-key=\"true\" "
     "xmlns:p=\"urn:perdure:json\" p:raw-key=\"77+/\"><string escaped=\"true\" "
     "xmlns:p=\"urn:perdure:json\" p:raw=\"77++\">\\uFFFE</string></array>"
     "</map>"},
};

TEST(xml_write, gives_exactly_this)
{
    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_value *v = value_of(rows[i].json), *back = NULL;
        pdr_buf xml = xml_of(v, PDR_COMPACT, 0);
        ASSERT_TEXT(rows[i].xml, pdr_buf_str(&xml));
        ASSERT_RC(PDR_OK, pdr_codec_read(&back, pdr_xml_codec(),
                                         pdr_buf_str(&xml), NULL, NULL));
        ASSERT_JSON(rows[i].json, back);
        pdr_buf_dispose(&xml);
        pdr_value_free(back);
        pdr_value_free(v);
    }
}

TEST(xml_write, puts_an_element_on_each_line_in_pretty_layout)
{
    pdr_value *v = value_of("{\"a\":[1,\" x\",{},[]],\"b\":{\"c\":\"\\n\"}}");
    pdr_buf xml = xml_of(v, PDR_PRETTY, 0);
    pdr_value *back = NULL;

    ASSERT_TEXT("<map " NS ">\n"
                "  <array key=\"a\">\n"
                "    <number>1</number>\n"
                "    <string> x</string>\n"
                "    <map/>\n"
                "    <array/>\n"
                "  </array>\n"
                "  <map key=\"b\">\n"
                "    <string key=\"c\">\n</string>\n"
                "  </map>\n"
                "</map>",
                pdr_buf_str(&xml));
    ASSERT_RC(PDR_OK, pdr_codec_read(&back, pdr_xml_codec(), pdr_buf_str(&xml),
                                     NULL, NULL));
    ASSERT(same_json(v, back));
    pdr_value_free(back);
    pdr_buf_dispose(&xml);
    pdr_value_free(v);
}

TEST(xml_write, indents_as_asked_and_takes_as_read_for_compact)
{
    pdr_value *v = value_of("[ 1 ]");
    pdr_write_opts opts = {.layout = PDR_PRETTY, .indent = 16};
    pdr_buf xml = PDR_BUF_INIT(SIZE_MAX);

    ASSERT_RC(PDR_OK, pdr_codec_write(&xml, pdr_xml_codec(), v, &opts, NULL));
    ASSERT_TEXT("<array " NS ">\n                <number>1</number>\n</array>",
                pdr_buf_str(&xml));
    pdr_buf_clear(&xml);
    opts.layout = PDR_AS_READ;
    ASSERT_RC(PDR_OK, pdr_codec_write(&xml, pdr_xml_codec(), v, &opts, NULL));
    ASSERT_TEXT("<array " NS "><number>1</number></array>", pdr_buf_str(&xml));
    pdr_buf_dispose(&xml);
    pdr_value_free(v);
}

TEST(xml_write, writes_changed_values)
{
    pdr_value *v = value_of("{\"a\":[1,2]}");
    pdr_buf xml = PDR_BUF_INIT(SIZE_MAX);

    ASSERT_RC(PDR_OK,
              pdr_value_set(&v, PDR_LIT("b\n"), pdr_value_new_null(), NULL));
    xml = xml_of(v, PDR_COMPACT, 0);
    ASSERT_TEXT("<map " NS "><array key=\"a\"><number>1</number><number>2"
                "</number></array><null key=\"b&#10;\"/></map>",
                pdr_buf_str(&xml));
    pdr_buf_dispose(&xml);
    pdr_value_free(v);
}

TEST(xml_write, refuses_bare_tokens_with_their_path)
{
    pdr_read_opts read = {.flags = PDR_BARE_TOKENS};
    pdr_value *v = NULL;
    pdr_buf xml = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK,
              pdr_json_read(&v, PDR_LIT("{\"a\":[1,NaN]}"), &read, NULL));
    ASSERT_RC(PDR_EINVALID,
              pdr_codec_write(&xml, pdr_xml_codec(), v, NULL, &err));
    ASSERT_STR("bare_token", err.reason);
    ASSERT_STR("/a/1", err.path);
    ASSERT_SIZE(0, xml.len);
    pdr_buf_dispose(&xml);
    xml = xml_of(v, PDR_COMPACT, PDR_BARE_TOKENS);
    ASSERT_TEXT("<map " NS "><array key=\"a\"><number>1</number><number>NaN"
                "</number></array></map>",
                pdr_buf_str(&xml));
    pdr_buf_dispose(&xml);
    pdr_value_free(v);
}

/* --- every document of the JSON corpus ----------------------------------- */

static void check_document(const struct corpus_case *c, pdr_layout layout)
{
    pdr_read_opts opts = {.flags = c->flags, .max_depth = PDR_MAX_DEPTH};
    pdr_write_opts flags = {.flags = c->flags & PDR_BARE_TOKENS};
    pdr_value *v = NULL, *back = NULL;
    pdr_buf json = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_json_read(&v, c->input, &opts, NULL));
    pdr_buf xml = xml_of(v, layout, flags.flags);
    opts.flags = flags.flags;
    if (pdr_codec_read(&back, pdr_xml_codec(), pdr_buf_str(&xml), &opts,
                       &err) != PDR_OK) {
        corpus_complain(c->name, "xml", "%s", err.message);
    } else {
        pdr__value_check(back);
        ASSERT_RC(PDR_OK, pdr_json_write(&json, back, &flags, NULL));
        if (!pdr_str_equal(c->expected, pdr_buf_str(&json)))
            corpus_complain(c->name, "xml", "comes back as another text");
    }
    pdr_buf_dispose(&json);
    pdr_buf_dispose(&xml);
    pdr_value_free(back);
    pdr_value_free(v);
}

TEST(xml_write, loses_nothing_of_the_json_corpus)
{
    struct corpus corpus;

    corpus_load(&corpus, "json/valid", "output");
    ASSERT(corpus.count > 150);
    for (size_t i = 0; i < corpus.count; i++) {
        check_document(&corpus.cases[i], PDR_COMPACT);
        check_document(&corpus.cases[i], PDR_PRETTY);
    }
    corpus_free(&corpus);
    corpus_assert_no_complaint();
}

/* --- piece by piece ------------------------------------------------------ */

/* Where a writer's bytes go; fails at `fail_at`. */
struct target {
    pdr_buf text;
    size_t fail_at;
};

static pdr_rc take(pdr_str bytes, pdr_err *err, void *arg)
{
    struct target *t = arg;

    if (t->text.len >= t->fail_at)
        return pdr_err_set(err, PDR_EIO, "disk_full", "the disk is full");
    return pdr_buf_append(&t->text, bytes, err);
}

static void put(pdr_writer *w, pdr_event event, const char *json)
{
    pdr_value *v = json != NULL ? value_of(json) : NULL;

    ASSERT_RC(PDR_OK, pdr_writer_put(w, event, v, NULL));
    pdr_value_free(v);
}

static void put_pieces(pdr_writer *w)
{
    put(w, PDR_BEGIN_OBJECT, NULL);
    put(w, PDR_NAME, "\"a\\/\"");
    put(w, PDR_BEGIN_ARRAY, NULL);
    put(w, PDR_SCALAR, "1");
    put(w, PDR_SCALAR, "{\"x\":[\"y\"]}");
    put(w, PDR_BEGIN_OBJECT, NULL);
    put(w, PDR_END, NULL);
    put(w, PDR_END, NULL);
    put(w, PDR_NAME, "\"b\"");
    put(w, PDR_SCALAR, "\"\"");
    put(w, PDR_END, NULL);
}

TEST(xml_writer, gives_what_writing_at_once_gives)
{
    static const pdr_layout layouts[] = {PDR_COMPACT, PDR_PRETTY};
    pdr_value *v = value_of("{\"a\\/\":[1,{\"x\":[\"y\"]},{}],\"b\":\"\"}");

    for (size_t i = 0; i < PDR_COUNT(layouts); i++) {
        struct target t = {PDR_BUF_INIT(SIZE_MAX), SIZE_MAX};
        pdr_write_opts opts = {.layout = layouts[i]};
        pdr_buf whole = xml_of(v, layouts[i], 0);
        pdr_writer *w = NULL;
        ASSERT_RC(PDR_OK,
                  pdr_writer_new(&w, pdr_xml_codec(), &opts, NULL, take, &t));
        put_pieces(w);
        ASSERT_RC(PDR_OK, pdr_writer_finish(w, NULL));
        ASSERT_BYTES(pdr_buf_str(&whole), pdr_buf_str(&t.text));
        pdr_writer_free(w);
        pdr_buf_dispose(&whole);
        pdr_buf_dispose(&t.text);
    }
    pdr_value_free(v);
}

TEST(xml_writer, ends_each_document_of_a_sequence_with_a_line_end)
{
    struct target t = {PDR_BUF_INIT(SIZE_MAX), SIZE_MAX};
    pdr_write_opts opts = {.flags = PDR_SEQUENCE};
    pdr_writer *w = NULL;

    ASSERT_RC(PDR_OK,
              pdr_writer_new(&w, pdr_xml_codec(), &opts, NULL, take, &t));
    put(w, PDR_BEGIN_ARRAY, NULL);
    put(w, PDR_SCALAR, "null");
    put(w, PDR_END, NULL);
    put(w, PDR_SCALAR, "2");
    ASSERT_RC(PDR_OK, pdr_writer_finish(w, NULL));
    ASSERT_TEXT("<array " NS "><null/></array>\n<number " NS ">2</number>\n",
                pdr_buf_str(&t.text));
    pdr_writer_free(w);
    pdr_buf_dispose(&t.text);
}

TEST(xml_writer, hands_out_a_large_value_in_pieces)
{
    struct target t = {PDR_BUF_INIT(SIZE_MAX), SIZE_MAX};
    pdr_builder *b = NULL;
    pdr_value *v = NULL;
    pdr_writer *w = NULL;

    ASSERT_RC(PDR_OK, pdr_builder_new(&b, NULL));
    pdr_builder_array(b);
    for (int i = 0; i < 100000; i++)
        pdr_builder_int64(b, i);
    pdr_builder_end(b);
    ASSERT_RC(PDR_OK, pdr_builder_finish(&v, b, NULL));
    pdr_builder_free(b);
    ASSERT_RC(PDR_OK, pdr_buf_reserve(&t.text, 4u << 20, NULL));
    ASSERT_RC(PDR_OK,
              pdr_writer_new(&w, pdr_xml_codec(), NULL, NULL, take, &t));
    test_reset_peak();
    size_t before = test_peak_bytes();
    ASSERT_RC(PDR_OK, pdr_writer_put(w, PDR_SCALAR, v, NULL));
    ASSERT(test_peak_bytes() - before < 3 * PDR_WALK_WINDOW_BYTES);
    ASSERT_RC(PDR_OK, pdr_writer_finish(w, NULL));
    pdr_writer_free(w);
    pdr_buf_dispose(&t.text);
    pdr_value_free(v);
}

TEST(xml_writer, gives_the_failure_of_the_stream)
{
    struct target t = {PDR_BUF_INIT(SIZE_MAX), 0};
    pdr_writer *w = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK,
              pdr_writer_new(&w, pdr_xml_codec(), NULL, NULL, take, &t));
    put(w, PDR_SCALAR, "1");
    ASSERT_RC(PDR_EIO, pdr_writer_finish(w, &err));
    ASSERT_STR("disk_full", err.reason);
    pdr_writer_free(w);
    pdr_buf_dispose(&t.text);
}

TEST(xml_writer, puts_the_path_in_front_of_a_refusal)
{
    struct target t = {PDR_BUF_INIT(SIZE_MAX), SIZE_MAX};
    pdr_read_opts read = {.flags = PDR_BARE_TOKENS};
    pdr_value *v = NULL;
    pdr_writer *w = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_json_read(&v, PDR_LIT("{\"x\":[NaN]}"), &read, NULL));
    ASSERT_RC(PDR_OK,
              pdr_writer_new(&w, pdr_xml_codec(), NULL, NULL, take, &t));
    put(w, PDR_BEGIN_ARRAY, NULL);
    ASSERT_RC(PDR_EINVALID, pdr_writer_put(w, PDR_SCALAR, v, &err));
    ASSERT_STR("/0/x/0", err.path);
    pdr_writer_free(w);
    pdr_buf_dispose(&t.text);
    pdr_value_free(v);
}

TEST_OOM(xml_write, cleans_up_after_any_failed_allocation)
{
    pdr_value *v = NULL;
    pdr_buf xml = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = pdr_json_read(
        &v,
        PDR_LIT("{\"\\/\":[\"a\\nb\",\"\\/\",\"\xEF\xBF\xBE z\",1,true],"
                "\"\xEF\xBF\xBF\":{}}"),
        NULL, NULL);
    pdr_write_opts opts = {.layout = PDR_PRETTY};

    if (rc == PDR_OK)
        rc = pdr_codec_write(&xml, pdr_xml_codec(), v, &opts, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((xml.len > 0) == (rc == PDR_OK));
    pdr_buf_dispose(&xml);
    pdr_value_free(v);
}

/* --- which format? ------------------------------------------------------- */

TEST(xml_guess, claims_what_begins_with_a_bracket)
{
    static const pdr_str yes[] = {{"<", 1},
                                  {"<map", 4},
                                  {" \t\r\n<", 5},
                                  {"\xEF\xBB\xBF<?xml", 8},
                                  {"\xEF\xBB\xBF\n<", 5},
                                  {"\xFF\xFE<\0", 4},
                                  {"\xFE\xFF\0<", 4},
                                  {"<\0m\0", 4}};
    static const pdr_str no[] = {{"", 0},
                                 {" ", 1},
                                 {"{", 1},
                                 {"a<", 2},
                                 {"\xEF\xBB\xBF", 3},
                                 {"\xFF\xFE", 2},
                                 {"\xFF\xFE\0<", 4}};
    const pdr_codec *codec = pdr_xml_codec();

    for (size_t i = 0; i < PDR_COUNT(yes); i++) {
        const pdr_codec_form *form = codec->guess(yes[i], false);
        ASSERT(form != NULL);
        ASSERT_STR("xml", form->name);
        ASSERT(codec->guess(yes[i], true) == form);
    }
    for (size_t i = 0; i < PDR_COUNT(no); i++)
        ASSERT(codec->guess(no[i], true) == NULL);
}

TEST(xml_codec, is_one_of_the_library)
{
    size_t count = 0;
    const pdr_codec *const *codecs = pdr_codecs(&count);
    pdr_format format;

    ASSERT_RC(PDR_OK, pdr_codec_find(&format, codecs, count, "xml", NULL));
    ASSERT(format.codec == pdr_xml_codec());
    ASSERT_RC(PDR_OK, pdr_codec_guess(&format, codecs, count, "a.XML",
                                      PDR_LIT(""), true, NULL));
    ASSERT(format.codec == pdr_xml_codec());
    ASSERT_RC(PDR_OK, pdr_codec_guess(&format, codecs, count, NULL,
                                      PDR_LIT("<map "), false, NULL));
    ASSERT(format.codec == pdr_xml_codec());
}
