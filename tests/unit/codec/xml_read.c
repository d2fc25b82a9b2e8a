/* XML to values: what is read, what is refused and where. */
#include "xml_text.h"

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
