/* XML to values: what is read, what is refused and where. */
#include "xml_text.h"

#include "corpus.h"

static pdr_rc read_xml(pdr_value **out, const char *xml, unsigned flags,
                       pdr_err *err)
{
    pdr_read_opts opts = {.flags = flags};

    return pdr_codec_read(out, pdr_xml_codec(), pdr_str_c(xml), &opts, err);
}

/* --- what is read -------------------------------------------------------- */

static const struct {
    const char *xml, *json;
} good[] = {
    {"<map " NS "/>", "{}"},
    {"<array " NS "></array>", "[]"},
    {"<null " NS "/>", "null"},
    {"<null " NS "></null>", "null"},
    {"<string " NS "/>", "\"\""},
    {"<string " NS ">x</string>", "\"x\""},
    {"<number " NS "> 1.10\n</number>", "1.10"},
    {"<number " NS ">1<!-- and -->2</number>", "12"},
    {"<number " NS ">-0E+400</number>", "-0E+400"},
    {"<boolean " NS ">true</boolean>", "true"},
    {"<boolean " NS "> 1 </boolean>", "true"},
    {"<boolean " NS ">false</boolean>", "false"},
    {"<boolean " NS ">\t0</boolean>", "false"},
    /* order, repeated names, nesting */
    {"<map " NS "><number key='b'>1</number><null key='a'/>"
     "<number key='b'>2</number></map>",
     "{\"b\":1,\"a\":null,\"b\":2}"},
    {"<array " NS
     ">\n <array>\r\n\t<map/> </array><!-- c --> <string> </string>"
     "</array>",
     "[[{}],\" \"]"},
    {"<map " NS "><map key=''><array key='x'><null/></array></map></map>",
     "{\"\":{\"x\":[null]}}"},
    /* text */
    {"<string " NS ">&lt;&amp;&gt;&quot;&apos;&#233;&#x1F600;</string>",
     "\"<&>\\\"'\xC3\xA9\xF0\x9F\x98\x80\""},
    {"<string " NS "><![CDATA[a<b]]>]]&gt;</string>", "\"a<b]]>\""},
    {"<string " NS ">a\r\nb\rc&#13;d\te\\</string>",
     "\"a\\nb\\nc\\rd\\te\\\\\""},
    {"<string " NS ">a<!-- not a part -->b</string>", "\"ab\""},
    {"<map " NS "><null key='a&#10;&#9;&#13;b\n\"\\'/></map>",
     "{\"a\\n\\t\\rb \\\"\\\\\":null}"},
    {"<string " NS ">\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBD</string>",
     "\"\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBD\""},
    /* escapes */
    {"<string " NS " escaped='true'>\\u0000\\/\\ud800\\n</string>",
     "\"\\u0000\\/\\ud800\\n\""},
    {"<string " NS " escaped=' 1 '>a\"b\nc\\\"d</string>",
     "\"a\\\"b\\nc\\\"d\""},
    {"<string " NS " escaped='true'>\"</string>", "\"\\\"\""},
    {"<string " NS " escaped='true'/>", "\"\""},
    {"<string " NS " escaped='0'>\\u0000</string>", "\"\\\\u0000\""},
    {"<string " NS " escaped='false'>\\</string>", "\"\\\\\""},
    {"<string " NS " escaped='true'>\\ud83d<!-- -->\\ude00</string>",
     "\"\\ud83d\\ude00\""},
    {"<map " NS "><null key='\\u0000' escaped-key='true'/>"
     "<null key='\\u0000' escaped-key='false'/>"
     "<string key='\\t' escaped-key='1' escaped='true'>\\t</string></map>",
     "{\"\\u0000\":null,\"\\\\u0000\":null,\"\\t\":\"\\t\"}"},
    /* prefixes, other namespaces, declarations */
    {"<?xml version='1.0' encoding='UTF-8' standalone='yes'?>\n<j:map "
     "xmlns:j='http://www.w3.org/2005/xpath-functions'><j:null key='a'/>"
     "<null xmlns='http://www.w3.org/2005/xpath-functions' key='b'/></j:map>",
     "{\"a\":null,\"b\":null}"},
    {"<map " NS " xmlns:o='urn:other' o:key='1' o:any='2' xml:lang='en'>"
     "<number key='a' o:key='b'>1</number></map>",
     "{\"a\":1}"},
    {"\xEF\xBB\xBF<!-- first -->\n<null " NS "/>\n<!-- last -->\n", "null"},
    {"<?xml version='1.0' encoding='ISO-8859-1'?><string " NS ">\xE9</string>",
     "\"\xC3\xA9\""},
    {"<?xml version='1.0' encoding='US-ASCII'?><string " NS ">e</string>",
     "\"e\""},
    /* the exact spelling beside */
    {"<string " NS " xmlns:p='urn:perdure:json' escaped='true' "
     "p:raw='77++'>\\uFFFE</string>",
     "\"\xEF\xBF\xBE\""},
    {"<map " NS " xmlns:p='urn:perdure:json'><null key='\\uFFFF' "
     "escaped-key='true' p:raw-key='77+/'/></map>",
     "{\"\xEF\xBF\xBF\":null}"},
    {"<string " NS " xmlns:p='urn:perdure:json' p:raw='XHUwMDQx'>A</string>",
     "\"\\u0041\""},
    {"<string " NS " xmlns:p='urn:perdure:json' p:raw=''/>", "\"\""},
    {"<number " NS " xmlns:p='urn:perdure:json' p:raw='?'>1</number>", "1"},
};

TEST(xml_read, gives_the_value_that_a_document_means)
{
    for (size_t i = 0; i < PDR_COUNT(good); i++) {
        pdr_value *v = NULL;
        pdr_err err = PDR_ERR_INIT;
        if (read_xml(&v, good[i].xml, 0, &err) != PDR_OK)
            fail_msg("%s: %s", good[i].xml, err.message);
        ASSERT_JSON(good[i].json, v);
        pdr__value_check(v);
        pdr_value *same = value_of(good[i].json);
        ASSERT(pdr_value_equal(same, v));
        pdr_value_free(same);
        pdr_value_free(v);
    }
}

TEST(xml_read, and_a_walk_with_any_cut_of_the_stream_give_the_same)
{
    for (size_t i = 0; i < PDR_COUNT(good); i++)
        for (size_t step = 1; step <= strlen(good[i].xml); step++) {
            pdr_value *v = NULL;
            pdr_err err = PDR_ERR_INIT;
            if (xml_read_by_walk(&v, pdr_str_c(good[i].xml), step, NULL,
                                 &err) != PDR_OK)
                fail_msg("%s: %s", good[i].xml, err.message);
            ASSERT_JSON(good[i].json, v);
            pdr_value_free(v);
        }
}

/* --- what is refused ----------------------------------------------------- */

/* The offset is where `at` stands last in the text; its end if that is NULL. */
static const struct {
    const char *xml, *reason, *at, *path;
} bad[] = {
    {"", "empty_input", NULL, ""},
    {" \n\t", "empty_input", NULL, ""},
    {"\xEF\xBB\xBF", "empty_input", NULL, ""},
    {"<!-- only -->", "unexpected_end", NULL, ""},
    {"<?xml version='1.0'?>", "unexpected_end", NULL, ""},
    {"<map " NS ">", "unexpected_end", NULL, ""},
    {"<map " NS "><string key='a'>x", "unexpected_end", NULL, "/a"},
    {"<array " NS "><null/><array><null", "unexpected_end", NULL, "/1"},
    {"<string " NS "><![CDATA[x", "unexpected_end", NULL, ""},
    {"<string " NS ">\xC3", "unexpected_end", NULL, ""},
    {"<null " NS "/>x", "trailing_data", "x", ""},
    {"<null " NS "/>\n<!-- c -->\nname:/path", "trailing_data", "name", ""},
    {"<null " NS "/> \x01", "trailing_data", "\x01", ""},
    {"<array " NS ">\n x]]></array>", "xml_text", "x]", ""},
    {"<array " NS ">\n ]]]></array>", "xml_text", "]]]", ""},
    {"<array " NS ">\n ]]></array>", "bad_xml", "></array", ""},
    {"<null " NS "/><null " NS "/>", "trailing_data", "<null " NS "/>", ""},
    /* not well-formed */
    {"{}", "bad_xml", "{", ""},
    {"<map " NS "></array>", "bad_xml", "array", ""},
    {"<map " NS "><null key='a' key='b'/></map>", "bad_xml", "key='b'", ""},
    {"<array " NS "><string>a\x01</string></array>", "bad_xml", "\x01", "/0"},
    {"<string " NS ">\xFF</string>", "bad_xml", "\xFF", ""},
    {"<string " NS ">\xED\xA0\x80</string>", "bad_xml", "\xED", ""},
    {"<string " NS ">\xEF\xBF\xBE</string>", "bad_xml", "\xEF", ""},
    {"<string " NS ">&#0;</string>", "bad_xml", "&#0;", ""},
    {"<string " NS ">&#xFFFE;</string>", "bad_xml", "&#xFFFE;", ""},
    {"<string " NS ">&#xD800;</string>", "bad_xml", "&#xD800;", ""},
    {"<string " NS ">]]></string>", "bad_xml", "></string", ""},
    {"<j:map/>", "bad_xml", "<j:map", ""},
    {"<?xml version='1.0' encoding='KOI8-R'?><null " NS "/>", "bad_xml",
     "KOI8-R", ""},
    {" <?xml version='1.0'?><null " NS "/>", "bad_xml", "<?xml", ""},
    /* DTDs, entities, processing instructions */
    {"<!DOCTYPE map><map " NS "/>", "xml_forbidden", "><map", ""},
    {"<!DOCTYPE map SYSTEM 'file:///etc/passwd'><map " NS "/>", "xml_forbidden",
     "><map", ""},
    {"<!DOCTYPE map PUBLIC 'a' 'b' [<!ENTITY a 'b'>]><string " NS
     ">&a;</string>",
     "xml_forbidden", "[<!", ""},
    {"<!DOCTYPE m [<!ENTITY % p SYSTEM 'x'> %p;]><map " NS "/>",
     "xml_forbidden", "[<!", ""},
    {"<string " NS ">&nbsp;</string>", "xml_forbidden", "&nbsp;", ""},
    {"<map " NS "><null key='&a;'/></map>", "xml_forbidden", "<null", ""},
    {"<?pi x?><map " NS "/>", "xml_forbidden", "<?pi", ""},
    {"<array " NS "><null/><?pi?></array>", "xml_forbidden", "<?pi", ""},
    {"<null " NS "/><?pi?>", "xml_forbidden", "<?pi", ""},
    /* elements */
    {"<map/>", "xml_element", "<map", ""},
    {"<map xmlns='urn:other'/>", "xml_element", "<map", ""},
    {"<maps " NS "/>", "xml_element", "<maps", ""},
    {"<Map " NS "/>", "xml_element", "<Map", ""},
    {"<array " NS "><null/><x/></array>", "xml_element", "<x", "/1"},
    {"<map " NS "><x key='a'/></map>", "xml_element", "<x", ""},
    {"<map " NS "><null xmlns='' key='a'/></map>", "xml_element", "<null", ""},
    {"<map " NS "><string key='a'>x<null/></string></map>", "xml_element",
     "<null", "/a"},
    {"<null " NS "><null/></null>", "xml_element", "<null/", ""},
    /* attributes */
    {"<map " NS " key='a'/>", "xml_attribute", "<map", ""},
    {"<map " NS " escaped-key='false'/>", "xml_attribute", "<map", ""},
    {"<array " NS "><null key='a'/></array>", "xml_attribute", "<null", "/0"},
    {"<map " NS "><map key='a'><null/></map></map>", "xml_attribute", "<null",
     "/a"},
    {"<map " NS "><null Key='a'/></map>", "xml_attribute", "<null", ""},
    {"<map " NS " id='a'/>", "xml_attribute", "<map", ""},
    {"<number " NS " escaped='true'>1</number>", "xml_attribute", "<number",
     ""},
    {"<string " NS " escaped='yes'/>", "xml_attribute", "<string", ""},
    {"<string " NS " escaped=''/>", "xml_attribute", "<string", ""},
    {"<map " NS "><null key='a' escaped-key='TRUE'/></map>", "xml_attribute",
     "<null", ""},
    {"<f:map xmlns:f='http://www.w3.org/2005/xpath-functions'>"
     "<f:null f:key='a'/></f:map>",
     "xml_attribute", "<f:null", ""},
    {"<string " NS " xmlns:p='urn:perdure:json' p:raw='7'>a</string>",
     "xml_attribute", "<string", ""},
    {"<string " NS " xmlns:p='urn:perdure:json' p:raw='Yg=='>a</string>",
     "xml_attribute", "</string", ""},
    {"<string " NS " xmlns:p='urn:perdure:json' p:raw='Ig=='>\"</string>",
     "xml_attribute", "</string", ""},
    {"<map " NS " xmlns:p='urn:perdure:json'><null key='a' p:raw-key='Yg=='/>"
     "</map>",
     "xml_attribute", "<null", ""},
    {"<map " NS " xmlns:p='urn:perdure:json'><null key='a' p:raw-key='!'/>"
     "</map>",
     "xml_attribute", "<null", ""},
    /* text */
    {"<map " NS ">\n  junk</map>", "xml_text", "junk", ""},
    {"<array " NS "><null/>&#32;x</array>", "xml_text", "x<", ""},
    {"<array " NS "><![CDATA[ , ]]></array>", "xml_text", ",", ""},
    {"<null " NS "> </null>", "xml_text", " </", ""},
    {"<boolean " NS ">True</boolean>", "xml_text", "</", ""},
    {"<boolean " NS ">t rue</boolean>", "xml_text", "</", ""},
    {"<array " NS "><boolean/></array>", "xml_text", "</array", "/0"},
    {"<map " NS "><number key='n'>1.</number></map>", "bad_number", "</n",
     "/n"},
    {"<number " NS ">1 2</number>", "bad_number", "</", ""},
    {"<number " NS "/>", "bad_number", NULL, ""},
    {"<number " NS ">+1</number>", "bad_number", "</", ""},
    {"<number " NS ">nan</number>", "bad_number", "</", ""},
    {"<array " NS "><number>NaN</number></array>", "bare_token", "</n", "/0"},
    {"<array " NS "><number>-Infinity</number></array>", "bare_token", "</n",
     "/0"},
    {"<string " NS " escaped='true'>\\x</string>", "bad_escape", "</", ""},
    {"<string " NS " escaped='true'>\\u12</string>", "bad_escape", "</", ""},
    {"<string " NS " escaped='true'>a\\</string>", "bad_escape", "</", ""},
    {"<map " NS "><null key='\\' escaped-key='true'/></map>", "bad_escape",
     "<null", ""},
};

/* Where `part` stands last in `text`; the end if there is no part. */
static size_t place_of(const char *text, const char *part)
{
    const char *at = text + strlen(text);

    for (const char *p = text; part != NULL; at = p, p++) {
        p = strstr(p, part);
        if (p == NULL)
            break;
    }
    return (size_t)(at - text);
}

static void check_bad(size_t i, const char *way, pdr_rc rc, const pdr_value *v,
                      const pdr_err *err)
{
    size_t offset = place_of(bad[i].xml, bad[i].at);

    if (rc == PDR_OK || v != NULL || strcmp(bad[i].reason, err->reason) != 0 ||
        err->offset != (int64_t)offset || strcmp(bad[i].path, err->path) != 0)
        corpus_complain(bad[i].xml, way, "expected %s %zu %s, got %s %lld %s",
                        bad[i].reason, offset, bad[i].path,
                        rc == PDR_OK ? "success" : err->reason,
                        (long long)err->offset, err->path);
}

TEST(xml_read, refuses_what_is_wrong_with_place_and_path)
{
    for (size_t i = 0; i < PDR_COUNT(bad); i++) {
        pdr_value *v = NULL;
        pdr_err err = PDR_ERR_INIT;
        check_bad(i, "read", read_xml(&v, bad[i].xml, 0, &err), v, &err);
    }
    corpus_assert_no_complaint();
}

TEST(xml_walk, refuses_the_same_at_the_same_place_for_any_cut)
{
    for (size_t i = 0; i < PDR_COUNT(bad); i++)
        for (size_t step = 1; step <= strlen(bad[i].xml) + 1; step++) {
            pdr_value *v = NULL;
            pdr_err err = PDR_ERR_INIT;
            pdr_rc rc =
                xml_read_by_walk(&v, pdr_str_c(bad[i].xml), step, NULL, &err);
            check_bad(i, "walk", rc, v, &err);
        }
    corpus_assert_no_complaint();
}

TEST(xml_read, tells_line_and_column)
{
    pdr_value *v = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(
        PDR_EINVALID,
        read_xml(&v, "<map " NS ">\n <null key='a'/>\n  <x/></map>", 0, &err));
    ASSERT_STR("line 3, column 3: 'x' is no element of the namespace "
               "http://www.w3.org/2005/xpath-functions",
               err.message);
    ASSERT_RC(PDR_EINVALID,
              read_xml(&v, "<map " NS ">\n\xC3\xA9</map>", 0, &err));
    ASSERT_STR("line 2, column 1: text stands only in string, number and "
               "boolean",
               err.message);
    ASSERT_RC(PDR_EINVALID,
              read_xml(&v, "<map " NS ">\n <a></b></map>", 0, &err));
    ASSERT_STR("xml_element", err.reason);
    ASSERT_RC(PDR_EINVALID, read_xml(&v, "<map " NS ">\n</b></map>", 0, &err));
    ASSERT_STR("line 2, column 3: no XML: mismatched tag", err.message);
}

TEST(xml_read, gives_paths_through_maps_and_arrays)
{
    pdr_value *v = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID,
              read_xml(&v,
                       "<map " NS "><null key='z'/><map key='a/b'>"
                       "<array key='~'><null/><array><map key='no'/>",
                       0, &err));
    ASSERT_STR("/a~1b/~0/1/0", err.path);
    ASSERT_RC(PDR_EINVALID,
              read_xml(&v,
                       "<map " NS "><map key='a'><map key='b'><null key='x'/>"
                       "</map><map key='c'><number key='&#xE9;'>?</number>",
                       0, &err));
    ASSERT_STR("/a/c/\xC3\xA9", err.path);
    ASSERT_RC(PDR_EINVALID,
              read_xml(&v,
                       "<map " NS "><map key='a'><map key='b'/></map>"
                       "<map key='c'>text",
                       0, &err));
    ASSERT_STR("/c", err.path);
}

/* Only the end of a long name fits into a path, and it is cut between escapes.
 */
TEST(xml_read, cuts_paths_of_long_names)
{
    enum { COUNT = 1000 };
    pdr_buf xml = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *v = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK,
              pdr_buf_append(&xml, PDR_LIT("<map " NS "><map key='"), NULL));
    for (int i = 0; i < COUNT; i++)
        ASSERT_RC(PDR_OK,
                  pdr_buf_append(&xml, PDR_LIT("\xE2\x82\xAC\\"), NULL));
    ASSERT_RC(PDR_OK, pdr_buf_append(&xml, PDR_LIT("end'><x/>"), NULL));
    ASSERT_RC(PDR_EINVALID, pdr_codec_read(&v, pdr_xml_codec(),
                                           pdr_buf_str(&xml), NULL, &err));
    ASSERT_STR("xml_element", err.reason);
    ASSERT(strncmp("...", err.path, 3) == 0);
    ASSERT_STR("\xE2\x82\xAC\\\\end", err.path + strlen(err.path) - 8);
    pdr_buf_dispose(&xml);
}

/* --- options and limits -------------------------------------------------- */

TEST(xml_read, takes_bare_tokens_when_asked_for)
{
    static const char xml[] = "<array " NS "><number>NaN</number><number> "
                              "Infinity</number><number>-Infinity</number>"
                              "</array>";
    pdr_value *v = NULL;
    pdr_write_opts opts = {.flags = PDR_BARE_TOKENS};
    pdr_buf json = PDR_BUF_INIT(SIZE_MAX);

    ASSERT_RC(PDR_OK, read_xml(&v, xml, PDR_BARE_TOKENS, NULL));
    ASSERT_RC(PDR_EINVALID, pdr_json_write(&json, v, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_json_write(&json, v, &opts, NULL));
    ASSERT_TEXT("[NaN,Infinity,-Infinity]", pdr_buf_str(&json));
    pdr_buf_dispose(&json);
    pdr_value_free(v);
}

TEST(xml_read, stops_behind_the_document_when_asked_for)
{
    static const char xml[] = " <map " NS "> </map > \x01 whatever";
    size_t used = 0;
    pdr_read_opts opts = {.flags = PDR_TRAILING, .used = &used};
    pdr_value *v = NULL;

    ASSERT_RC(PDR_OK,
              pdr_codec_read(&v, pdr_xml_codec(), pdr_str_c(xml), &opts, NULL));
    ASSERT_JSON("{}", v);
    ASSERT_SIZE(strlen(xml) - strlen(" \x01 whatever"), used);
    pdr_value_free(v);
    opts.flags = 0;
    used = 0;
    ASSERT_RC(PDR_OK,
              pdr_codec_read(&v, pdr_xml_codec(), PDR_LIT("<null " NS "/> \n"),
                             &opts, NULL));
    ASSERT_SIZE(strlen("<null " NS "/>"), used);
    pdr_value_free(v);
}

TEST(xml_read, refuses_options_that_it_has_no_use_for)
{
    pdr_value *v = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_read_opts opts = {.max_depth = PDR_MAX_DEPTH + 1};

    ASSERT_RC(PDR_EMISUSE, read_xml(&v, "<map " NS "/>", PDR_SEQUENCE, &err));
    ASSERT_STR("bad_option", err.reason);
    ASSERT_RC(PDR_EMISUSE,
              pdr_codec_read(&v, pdr_xml_codec(), PDR_LIT("<map " NS "/>"),
                             &opts, &err));
    ASSERT_STR("bad_option", err.reason);
}

TEST(xml_read, keeps_its_limits)
{
    static const char xml[] = "<array " NS "><map><number key='a'>1</number>"
                              "</map></array>";
    pdr_value *v = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_read_opts opts = {
        .max_depth = 2, .max_nodes = 4, .max_bytes = sizeof(xml) - 1};

    ASSERT_RC(PDR_OK,
              pdr_codec_read(&v, pdr_xml_codec(), pdr_str_c(xml), &opts, &err));
    pdr_value_free(v);
    opts.max_depth = 1;
    ASSERT_RC(PDR_ELIMIT,
              pdr_codec_read(&v, pdr_xml_codec(), pdr_str_c(xml), &opts, &err));
    ASSERT_STR("too_deep", err.reason);
    ASSERT_STR("/0", err.path);
    ASSERT_INT(place_of(xml, "<map"), err.offset);
    opts.max_depth = 0;
    opts.max_nodes = 3;
    ASSERT_RC(PDR_ELIMIT,
              pdr_codec_read(&v, pdr_xml_codec(), pdr_str_c(xml), &opts, &err));
    ASSERT_STR("too_many_nodes", err.reason);
    ASSERT_STR("/0/a", err.path);
    opts.max_nodes = 0;
    opts.max_bytes = sizeof(xml) - 2;
    ASSERT_RC(PDR_ELIMIT,
              pdr_codec_read(&v, pdr_xml_codec(), pdr_str_c(xml), &opts, &err));
    ASSERT_STR("too_large", err.reason);
    ASSERT_INT(sizeof(xml) - 2, err.offset);
    ASSERT(v == NULL);
}

/* --- encodings ----------------------------------------------------------- */

/* ASCII and U+00E9 (as 0xE9) to UTF-16. */
static pdr_buf utf16_of(const char *text, bool mark, bool big)
{
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);

    if (mark)
        ASSERT_RC(PDR_OK, pdr_buf_append(&out,
                                         big ? PDR_LIT("\xFE\xFF")
                                             : PDR_LIT("\xFF\xFE"),
                                         NULL));
    for (; *text != '\0'; text++) {
        char unit[2] = {big ? '\0' : *text, big ? *text : '\0'};
        ASSERT_RC(PDR_OK, pdr_buf_append(&out, pdr_str_n(unit, 2), NULL));
    }
    return out;
}

TEST(xml_read, takes_utf16_with_and_without_a_mark)
{
    for (int way = 0; way < 4; way++) {
        pdr_buf xml = utf16_of("<map " NS ">\n<string key='a'>caf\xE9</string>"
                               "</map>",
                               way & 1, way & 2);
        pdr_value *v = NULL;
        ASSERT_RC(PDR_OK, pdr_codec_read(&v, pdr_xml_codec(), pdr_buf_str(&xml),
                                         NULL, NULL));
        ASSERT_JSON("{\"a\":\"caf\xC3\xA9\"}", v);
        pdr_value_free(v);
        for (size_t step = 1; step < 9; step++) {
            ASSERT_RC(PDR_OK, xml_read_by_walk(&v, pdr_buf_str(&xml), step,
                                               NULL, NULL));
            ASSERT_JSON("{\"a\":\"caf\xC3\xA9\"}", v);
            pdr_value_free(v);
        }
        pdr_buf_dispose(&xml);
    }
}

TEST(xml_read, counts_bytes_of_utf16)
{
    static const char text[] = "<map " NS ">\n  junk</map>";
    pdr_buf xml = utf16_of(text, true, true);
    pdr_value *v = NULL;
    pdr_err err = PDR_ERR_INIT;

    for (size_t step = 1; step < 30; step++) {
        ASSERT_RC(PDR_EINVALID,
                  xml_read_by_walk(&v, pdr_buf_str(&xml), step, NULL, &err));
        ASSERT_STR("xml_text", err.reason);
        ASSERT_INT(2 + 2 * place_of(text, "junk"), err.offset);
        ASSERT(strncmp("line 2, column 3: ", err.message, 18) == 0);
    }
    pdr_buf_dispose(&xml);
}

/* --- hostile input ------------------------------------------------------- */

/* Every beginning of a document is refused, as its end or as nothing. */
TEST(xml_read, refuses_a_document_that_is_cut)
{
    static const char xml[] =
        "<?xml version='1.0'?><!-- c --><map " NS ">\n<string key='a' "
        "escaped='true'>x\\n&amp;<![CDATA[y]]></string><array key='b'><null/>"
        "<number>1</number></array></map>";

    for (size_t len = 0; len + 1 < sizeof(xml); len++) {
        pdr_value *v = NULL;
        pdr_err err = PDR_ERR_INIT, again = PDR_ERR_INIT;
        pdr_str text = pdr_str_n(xml, len);
        ASSERT_RC(PDR_EINVALID,
                  pdr_codec_read(&v, pdr_xml_codec(), text, NULL, &err));
        ASSERT_STR(len == 0 ? "empty_input" : "unexpected_end", err.reason);
        ASSERT_INT(len, err.offset);
        ASSERT_RC(PDR_EINVALID, xml_read_by_walk(&v, text, 7, NULL, &again));
        ASSERT_STR(err.reason, again.reason);
        ASSERT_INT(err.offset, again.offset);
        ASSERT_STR(err.path, again.path);
    }
}

TEST(xml_read, refuses_entity_bombs_before_they_are_lit)
{
    static const char *const bombs[] = {
        "<!DOCTYPE b [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;'>"
        "<!ENTITY c '&b;&b;&b;&b;&b;&b;&b;&b;'>]><string " NS ">&c;</string>",
        "<!DOCTYPE b [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><string " NS
        ">&a;</string>",
        "<!DOCTYPE b [<!ENTITY % a SYSTEM 'http://example.org/'> %a;]><string " NS
        "/>",
        "<!DOCTYPE b SYSTEM 'http://example.org/b.dtd'><string " NS "/>"};

    for (size_t i = 0; i < PDR_COUNT(bombs); i++) {
        pdr_value *v = NULL;
        pdr_err err = PDR_ERR_INIT;
        test_reset_peak();
        size_t before = test_peak_bytes();
        ASSERT_RC(PDR_EINVALID, read_xml(&v, bombs[i], 0, &err));
        ASSERT_STR("xml_forbidden", err.reason);
        ASSERT(test_peak_bytes() - before < 100000);
    }
}

TEST(xml_read, refuses_100000_levels)
{
    enum { LEVELS = 100000 };
    pdr_buf xml = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *v = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_buf_append(&xml, PDR_LIT("<array " NS ">"), NULL));
    for (int i = 1; i < LEVELS; i++)
        ASSERT_RC(PDR_OK, pdr_buf_append(&xml, PDR_LIT("<array>"), NULL));
    ASSERT_RC(PDR_ELIMIT, pdr_codec_read(&v, pdr_xml_codec(), pdr_buf_str(&xml),
                                         NULL, &err));
    ASSERT_STR("too_deep", err.reason);
    test_reset_peak();
    size_t before = test_peak_bytes();
    ASSERT_RC(PDR_ELIMIT,
              xml_read_by_walk(&v, pdr_buf_str(&xml), SIZE_MAX, NULL, &err));
    ASSERT_STR("too_deep", err.reason);
    ASSERT(test_peak_bytes() - before < 500000);
    pdr_buf_dispose(&xml);
}

/* Takes a day if a tag is tried again for each bracket in it. */
TEST(xml_read, reads_brackets_in_long_tags_in_linear_time)
{
    static const char *const frames[][2] = {
        {"<map " NS "><null key='", "'/></map>"},
        {"<map " NS "><!--", "--><null key='x'/></map>"},
        {"<map " NS "><string key='x'><![CDATA[", "]]></string></map>"}};
    enum { COUNT = 4000000 };

    for (size_t i = 0; i < PDR_COUNT(frames); i++) {
        pdr_buf xml = PDR_BUF_INIT(SIZE_MAX);
        pdr_value *v = NULL;
        ASSERT_RC(PDR_OK, pdr_buf_append(&xml, pdr_str_c(frames[i][0]), NULL));
        for (int n = 0; n < COUNT; n++)
            ASSERT_RC(PDR_OK, pdr_buf_append(&xml, PDR_LIT("]>"), NULL));
        ASSERT_RC(PDR_OK, pdr_buf_append(&xml, pdr_str_c(frames[i][1]), NULL));
        ASSERT_RC(PDR_OK, pdr_codec_read(&v, pdr_xml_codec(), pdr_buf_str(&xml),
                                         NULL, NULL));
        pdr_value_free(v);
        ASSERT_RC(PDR_OK, xml_read_by_walk(&v, pdr_buf_str(&xml), SIZE_MAX,
                                           NULL, NULL));
        pdr_value_free(v);
        pdr_buf_dispose(&xml);
    }
}

/* --- memory -------------------------------------------------------------- */

/* More than a buffer has at first. */
#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"
#define LONG  ZEROS ZEROS "&amp;" ZEROS

static const char everything[] =
    "<?xml version='1.0' encoding='UTF-8'?><j:map xmlns:j='"
    "http://www.w3.org/2005/xpath-functions' xmlns:p='urn:perdure:json'>"
    "<j:string key='a\"' >a\"b</j:string><!-- c --><j:string key='\\n' "
    "escaped-key='1' escaped='true'>\\u0000\"</j:string><j:map key='m'>"
    "<j:string key='long'>" LONG "</j:string><j:number key='number'>1" ZEROS
    "</j:number><j:array key='l'><j:number> 1 </j:number><j:boolean>0</j:boolean>"
    "<j:null/><j:string escaped='true' p:raw='77++'>\\uFFFE</j:string>"
    "</j:array></j:map><j:null key='\\uFFFF' escaped-key='true' "
    "p:raw-key='77+/'/></j:map>";

TEST_OOM(xml_read, cleans_up_after_any_failed_allocation)
{
    pdr_value *v = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = read_xml(&v, everything, 0, &err);

    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((v != NULL) == (rc == PDR_OK));
    ASSERT(rc == PDR_OK || strcmp("no_memory", err.reason) == 0);
    pdr_value_free(v);
}

TEST_OOM(xml_read, cleans_up_after_a_refusal_without_memory)
{
    pdr_value *v = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc =
        read_xml(&v, "<map " NS "><map key='a'><map key='b'><x/>", 0, &err);

    ASSERT(rc == PDR_EINVALID || rc == PDR_ENOMEM);
    ASSERT(v == NULL);
}

TEST_OOM(xml_walk, cleans_up_after_any_failed_allocation)
{
    pdr_value *v = NULL;
    pdr_rc rc = xml_read_by_walk(&v, pdr_str_c(everything), 50, NULL, NULL);

    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((v != NULL) == (rc == PDR_OK));
    pdr_value_free(v);
}
