/*
 * attribution.c - additional properties, and marks of who supplied a message.
 */
#include "content_table.h"
#include "content_text.h"

#define STATE  PDR_SHAPE_STATE
#define DOTNET PDR_SHAPE_DOTNET
#define PYTHON PDR_SHAPE_PYTHON

/* --- properties ---------------------------------------------------------- */

/* The property as JSON, or the reason why there is none. */
static void assert_property(const char *expected, const char *properties,
                            const char *name)
{
    pdr_value *value = properties == NULL ? NULL : json_value(properties);
    const pdr_value *found = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_property_get(&found, value, pdr_str_c(name), &err);

    ASSERT((found != NULL) == (rc == PDR_OK));
    if (rc == PDR_OK)
        assert_json(expected, pdr_value_ref(found));
    else
        ASSERT_STR(expected, err.reason);
    pdr_value_free(value);
}

TEST(property_get, takes_the_exact_name_first)
{
    assert_property("2", "{\"A\":1,\"a\":2}", "a");
    assert_property("1", "{\"A\":1,\"a\":2}", "A");
    assert_property("3", "{\"a\":1,\"A\":2,\"a\":3}", "a");
}

TEST(property_get, takes_a_name_that_differs_in_case)
{
    assert_property("1", "{\"Tenant-ID\":1}", "tenant-id");
    assert_property("1", "{\"tenant-id\":1}", "TENANT-ID");
    assert_property("2", "{\"Tenant\":1,\"Tenant\":2}", "tenant");
    assert_property("1", "{\"\\u0054\\u0065nant\":1}", "tENANT");
}

TEST(property_get, tells_other_characters_apart)
{
    assert_property("no_property", "{\"\\u00C4\":1}", "\xC3\xA4");
    assert_property("1", "{\"\\u00C4\\u0061\":1}",
                    "\xC3\x84"
                    "A");
    assert_property("no_property", "{\"[\":1}", "{");
    assert_property("no_property", "{\"@\":1}", "`");
    assert_property("no_property", "{\"\\u0041b\":1}", "a");
    assert_property("no_property", "{\"\\u0041\":1}", "ab");
    assert_property("no_property", "{\"\\uD83D\":1}", "x");
}

TEST(property_get, refuses_to_choose)
{
    pdr_value *value = doc_value("{'AB':1,'Ab':2}");
    const pdr_value *found = value;
    pdr_err err = PDR_ERR_INIT;

    assert_property("key_ambiguous", "{\"AB\":1,\"Ab\":2}", "ab");
    assert_property("key_ambiguous", "{\"AB\":1,\"\\u0041b\":2}", "ab");
    assert_property("1", "{\"AB\":1,\"Ab\":2}", "AB");
    ASSERT_RC(PDR_EINVALID,
              pdr_property_get(&found, value, pdr_str_c("ab"), &err));
    ASSERT_STR("several properties differ from 'ab' in case only; give the "
               "name as it is spelled there",
               err.message);
    ASSERT(found == NULL);
    pdr_value_free(value);
}

TEST(property_get, finds_nothing_in_what_is_no_object)
{
    assert_property("no_property", NULL, "a");
    assert_property("no_property", "[\"a\"]", "a");
    assert_property("no_property", "\"a\"", "a");
    assert_property("no_property", "{}", "a");
    assert_property("1", "{\"\":1}", "");
}

/* --- reading ------------------------------------------------------------- */

static void assert_part(const char *expected, const pdr_value *part)
{
    if (expected == NULL)
        ASSERT(part == NULL);
    else
        assert_quoted(expected, pdr_value_ref(part));
}

/* Expected parts of the mark in these properties, in every shape. */
static void assert_mark(const char *type, const char *id, const char *origins,
                        const char *properties)
{
    for (int s = 0; s < PDR_SHAPES; s++) {
        pdr_shape shape = (pdr_shape)s;
        char text[512];
        pdr_value *message = NULL;
        pdr_attribution mark;

        (void)snprintf(text, sizeof(text), "{'%s':%s}",
                       pdr__properties_name(shape), properties);
        message = doc_value(text);
        ASSERT_INT(type != NULL || id != NULL || origins != NULL,
                   pdr_message_attribution(&mark, message, shape));
        assert_part(type, mark.source_type);
        assert_part(id, mark.source_id);
        assert_part(origins, mark.origins);
        pdr_value_free(message);
    }
}

TEST(message_attribution, is_read_in_both_ways)
{
    assert_mark("'ChatHistory'", "'H'", NULL,
                "{'_attribution':{'sourceType':{'value':'ChatHistory'},"
                "'sourceId':'H'}}");
    assert_mark("'Tips'", "'tips'", "['a','b']",
                "{'_attribution':{'source_id':'tips','source_type':'Tips',"
                "'origin_session_ids':['a','b'],'x':1}}");
    assert_mark(NULL, "'tips'", NULL,
                "{'x':1,'_attribution':{'source_id':'tips'}}");
    assert_mark("'T'", NULL, NULL, "{'_attribution':{'sourceType':'T'}}");
    assert_mark(NULL, NULL, "['a']",
                "{'_attribution':{'origin_session_ids':['a']}}");
}

TEST(message_attribution, is_found_in_another_case)
{
    assert_mark(NULL, "'h'", NULL, "{'_ATTRIBUTION':{'sourceId':'h'}}");
    assert_mark(NULL, NULL, NULL,
                "{'_ATTRIBUTION':{'sourceId':'h'},'_Attribution':{'sourceId':"
                "'h'}}");
}

TEST(message_attribution, takes_the_way_of_the_shape_first)
{
    pdr_value *message = doc_value(
        "{'additionalProperties':{'_attribution':{'source_id':'p','sourceId':"
        "'n','source_type':'P','sourceType':{'value':'N'}}},"
        "'additional_properties':{'_attribution':{'source_id':'p','sourceId':"
        "'n','source_type':'P','sourceType':{'value':'N'}}}}");
    pdr_attribution mark;

    ASSERT(pdr_message_attribution(&mark, message, DOTNET));
    assert_part("'N'", mark.source_type);
    assert_part("'n'", mark.source_id);
    ASSERT(pdr_message_attribution(&mark, message, PYTHON));
    assert_part("'P'", mark.source_type);
    assert_part("'p'", mark.source_id);
    pdr_value_free(message);
}

TEST(message_attribution, is_not_there_in_what_is_no_mark)
{
    pdr_attribution mark;

    assert_mark(NULL, NULL, NULL, "{}");
    assert_mark(NULL, NULL, NULL, "null");
    assert_mark(NULL, NULL, NULL, "{'_attribution':'tips'}");
    assert_mark(NULL, NULL, NULL, "{'_attribution':null}");
    assert_mark(NULL, NULL, NULL,
                "{'_attribution':{'sourceType':{'value':1},'sourceId':2,"
                "'source_id':3,'source_type':[],'origin_session_ids':'x'}}");
    ASSERT(!pdr_message_attribution(&mark, NULL, STATE));
    ASSERT(mark.source_id == NULL);
}

/* --- marking ------------------------------------------------------------- */

static const pdr_str some_ids[] = {{"x", 1}, {"y", 1}, {"x", 1}};
static const pdr_attribution_parts some = {
    {"Tips", 4}, {"tips", 4}, some_ids, 3};
static const pdr_attribution_parts plain = {{NULL, 0}, {"tips", 4}, NULL, 0};

/* The message with a mark; it stays as it was itself. */
static void assert_marked(const char *expected, const char *message,
                          pdr_shape shape, const pdr_attribution_parts *parts)
{
    pdr_value *before = doc_value(message), *after = NULL;

    ASSERT_RC(PDR_OK,
              pdr_message_attribute(&after, before, shape, parts, NULL));
    assert_quoted(expected, after);
    assert_quoted(message, before);
}

TEST(message_attribute, writes_the_way_of_the_shape)
{
    assert_marked("{'role':'user','additionalProperties':{'_attribution':{"
                  "'sourceType':{'value':'Tips'},'sourceId':'tips',"
                  "'origin_session_ids':['x','y']}}}",
                  "{'role':'user'}", DOTNET, &some);
    assert_marked("{'additionalProperties':{'a':1,'_attribution':{'sourceId':"
                  "'tips'}}}",
                  "{'additionalProperties':{'a':1}}", STATE, &plain);
    assert_marked("{'additional_properties':{'_attribution':{'source_id':"
                  "'tips','source_type':'Tips','origin_session_ids':['x','y']}"
                  "},'type':'message'}",
                  "{'additional_properties':{},'type':'message'}", PYTHON,
                  &some);
    assert_marked("{'additional_properties':{'_attribution':{'source_id':"
                  "'tips'}}}",
                  "{'additional_properties':null}", PYTHON, &plain);
}

TEST(message_attribute, keeps_what_a_mark_says)
{
    assert_marked("{'additional_properties':{'_attribution':{'z':1,'sourceId':"
                  "'a','source_type':'Tips','origin_session_ids':['x','y']}}}",
                  "{'additional_properties':{'_attribution':{'z':1,'sourceId':"
                  "'a'}}}",
                  PYTHON, &some);
    assert_marked("{'additionalProperties':{'_attribution':{'source_type':null,"
                  "'sourceId':'tips','origin_session_ids':['x','y']}}}",
                  "{'additionalProperties':{'_attribution':{'source_type':null}"
                  "}}",
                  DOTNET, &some);
    assert_marked("{'additionalProperties':{'_attribution':{'source_id':5,"
                  "'sourceType':'T'}}}",
                  "{'additionalProperties':{'_attribution':{'source_id':5,"
                  "'sourceType':'T'}}}",
                  DOTNET, &plain);
}

TEST(message_attribute, joins_the_ids_of_sessions)
{
    assert_marked("{'additional_properties':{'_attribution':{'source_id':'s',"
                  "'origin_session_ids':['y','w',7,'y','x'],'source_type':"
                  "'Tips'}}}",
                  "{'additional_properties':{'_attribution':{'source_id':'s',"
                  "'origin_session_ids':['y','w',7,'y']}}}",
                  PYTHON, &some);
    assert_marked("{'additionalProperties':{'_attribution':{'sourceId':'s',"
                  "'origin_session_ids':['old','x','y'],'sourceType':{'value':"
                  "'Tips'}}}}",
                  "{'additionalProperties':{'_attribution':{'sourceId':'s',"
                  "'origin_session_ids':'old'}}}",
                  STATE, &some);
    assert_marked("{'additionalProperties':{'_attribution':{'sourceId':'s',"
                  "'origin_session_ids':['x','y'],'sourceType':{'value':'Tips'}"
                  "}}}",
                  "{'additionalProperties':{'_attribution':{'sourceId':'s',"
                  "'origin_session_ids':null}}}",
                  STATE, &some);
    assert_marked("{'additionalProperties':{'_attribution':{'sourceId':'s',"
                  "'origin_session_ids':'old'}}}",
                  "{'additionalProperties':{'_attribution':{'sourceId':'s',"
                  "'origin_session_ids':'old'}}}",
                  STATE, &plain);
}

TEST(message_attribute, marks_the_metadata_of_semantic_kernel)
{
    assert_marked("{'Role':{'Label':'user'},'Metadata':{'_attribution':{"
                  "'sourceId':'tips'}}}",
                  "{'Role':{'Label':'user'}}", PDR_SHAPE_SK, &plain);
}

TEST(message_attribute, leaves_alone_what_is_no_mark)
{
    assert_marked("{'additional_properties':{'_attribution':'mine'}}",
                  "{'additional_properties':{'_attribution':'mine'}}", PYTHON,
                  &some);
    assert_marked("{'additional_properties':{'_attribution':null}}",
                  "{'additional_properties':{'_attribution':null}}", PYTHON,
                  &some);
}

TEST(message_attribute, keeps_the_name_of_the_mark)
{
    assert_marked("{'additionalProperties':{'_Attribution':{'a':1,'sourceId':"
                  "'tips'}}}",
                  "{'additionalProperties':{'_Attribution':{'a':1}}}", DOTNET,
                  &plain);
    assert_marked(
        "{'additionalProperties':{'\\u005f\\u0041\\u0054\\u0054\\u0052"
        "\\u0049\\u0042\\u0055\\u0054\\u0049\\u004F\\u004E':{"
        "'sourceId':'tips'}}}",
        "{'additionalProperties':{'\\u005f\\u0041\\u0054\\u0054\\u0052"
        "\\u0049\\u0042\\u0055\\u0054\\u0049\\u004F\\u004E':{}}}",
        DOTNET, &plain);
    /* Nobody knows which of these to mark. */
    assert_marked("{'additionalProperties':{'_A':1,'_Attribution':{},"
                  "'_ATTRIBUTION':{},'_attribution':{'sourceId':'tips'}}}",
                  "{'additionalProperties':{'_A':1,'_Attribution':{},"
                  "'_ATTRIBUTION':{}}}",
                  DOTNET, &plain);
}

TEST(message_attribute, shares_a_message_that_says_it_all)
{
    pdr_value *message =
        doc_value("{'additionalProperties':{'_attribution':{'sourceId':'tips'}}"
                  "}");
    pdr_value *marked = NULL;

    ASSERT_RC(PDR_OK,
              pdr_message_attribute(&marked, message, DOTNET, &plain, NULL));
    ASSERT(marked == message);
    pdr_value_free(marked);
    pdr_value_free(message);
}

static void assert_refused(const char *reason, const char *message,
                           const pdr_attribution_parts *parts)
{
    pdr_value *before = doc_value(message), *after = before;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID,
              pdr_message_attribute(&after, before, DOTNET, parts, &err));
    ASSERT_STR(reason, err.reason);
    ASSERT(after == NULL);
    pdr_value_free(before);
}

TEST(message_attribute, refuses_what_it_cannot_mark)
{
    pdr_str bad = {"\xFF", 1};
    pdr_attribution_parts no_id = {{"T", 1}, {NULL, 0}, NULL, 0};
    pdr_attribution_parts bad_id = {{NULL, 0}, bad, NULL, 0};
    pdr_attribution_parts bad_type = {bad, {"a", 1}, NULL, 0};
    pdr_attribution_parts bad_origin = {{NULL, 0}, {"a", 1}, &bad, 1};

    assert_refused("wrong_kind", "[]", &plain);
    assert_refused("wrong_kind", "{'additionalProperties':[]}", &plain);
    assert_refused("field_missing", "{}", &no_id);
    assert_refused("bad_utf8", "{}", &bad_id);
    assert_refused("bad_utf8", "{}", &bad_type);
    assert_refused("bad_utf8", "{}", &bad_origin);
}

static void attribute_oom(const char *text, pdr_shape shape)
{
    pdr_value *message = NULL, *marked = NULL;
    pdr_rc rc = pdr_json_read(&message, pdr_str_c(text), NULL, NULL);

    if (rc == PDR_OK)
        rc = pdr_message_attribute(&marked, message, shape, &some, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((marked != NULL) == (rc == PDR_OK));
    pdr_value_free(marked);
    pdr_value_free(message);
}

TEST_OOM(message_attribute, cleans_up_after_a_new_mark)
{
    attribute_oom("{\"role\":\"user\"}", PYTHON);
}

TEST_OOM(message_attribute, cleans_up_after_a_mark_that_was_there)
{
    attribute_oom("{\"additionalProperties\":{\"_attribution\":{\"a\":1,"
                  "\"origin_session_ids\":\"b\"}}}",
                  DOTNET);
}
