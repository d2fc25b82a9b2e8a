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
