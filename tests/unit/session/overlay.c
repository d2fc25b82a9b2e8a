/* What a type writes over what was stored: members, elements, duplicates. */
#include "bag_text.h"

#include "session.h"

/* `raw`, seen as `before` and written as `after`, gives `expected`. */
static void check_layout(const char *raw, const char *before, const char *after,
                         const char *expected, pdr_layout layout)
{
    pdr_value *r = doc_value(raw), *b = NULL, *a = doc_value(after);
    pdr_value *out = NULL;

    if (before != NULL)
        b = doc_value(before);
    ASSERT_RC(PDR_OK, pdr__overlay(&out, r, b, a, NULL));
    assert_value(expected, out, layout);
    pdr_value_free(out);
    pdr_value_free(r);
    pdr_value_free(b);
    pdr_value_free(a);
}

static void check(const char *raw, const char *before, const char *after,
                  const char *expected)
{
    check_layout(raw, before, after, expected, PDR_COMPACT);
}

/* --- members ------------------------------------------------------------- */

TEST(overlay, keeps_unknown_members_in_their_places)
{
    check("{'x':1,'a':1,'y':{},'b':2,'z':null}", "{'a':1,'b':2}",
          "{'a':5,'b':2}", "{'x':1,'a':5,'y':{},'b':2,'z':null}");
}

TEST(overlay, keeps_the_spelling_of_what_did_not_change)
{
    check("{'a':1.0,'t':'\\u0041','b':2e0}", "{'a':1,'t':'A','b':2}",
          "{'a':1,'t':'A','b':3}", "{'a':1.0,'t':'\\u0041','b':3}");
}

TEST(overlay, removes_what_the_type_left_out)
{
    check("{'a':1,'x':2,'b':3}", "{'a':1,'b':3}", "{'b':3}", "{'x':2,'b':3}");
    check("{'a':1}", "{'a':1}", "{}", "{}");
}

TEST(overlay, adds_new_members_at_the_end)
{
    check("{'a':1,'x':2}", "{'a':1}", "{'n':7,'a':1,'m':8}",
          "{'a':1,'x':2,'n':7,'m':8}");
    check("{}", "{}", "{'n':{'m':[]}}", "{'n':{'m':[]}}");
}

TEST(overlay, gives_the_very_value_where_nothing_changed)
{
    pdr_value *raw = doc_value("{'a':1.0,'x':{'y':[2]}}");
    pdr_value *seen = doc_value("{'a':1}");
    pdr_value *out = NULL;

    ASSERT_RC(PDR_OK, pdr__overlay(&out, raw, seen, seen, NULL));
    ASSERT(out == raw);
    pdr_value_free(out);
    pdr_value_free(raw);
    pdr_value_free(seen);
}

TEST(overlay, does_not_mind_another_order_of_members)
{
    check("{'a':1.0,'x':2,'b':2.0}", "{'a':1,'b':2}", "{'b':2,'a':1}",
          "{'a':1.0,'x':2,'b':2.0}");
}

TEST(overlay, goes_into_objects_at_every_level)
{
    check("{'o':{'x':1,'p':{'a':1.0,'y':2,'b':2}}}",
          "{'o':{'p':{'a':1,'b':2}}}", "{'o':{'p':{'a':1,'b':9}}}",
          "{'o':{'x':1,'p':{'a':1.0,'y':2,'b':9}}}");
}

TEST(overlay, touches_no_other_byte)
{
    check_layout("{ 'a' : 1 ,\n  'x' : [ 1 ] , 'b' : { 'c' : 2 } }",
                 "{'a':1,'b':{'c':2}}", "{'a':1,'b':{'c':3}}",
                 "{ 'a' : 1 ,\n  'x' : [ 1 ] , 'b' : { 'c' : 3 } }",
                 PDR_AS_READ);
}

TEST(overlay, takes_another_kind_as_it_is)
{
    check("{'a':{'x':1}}", "{'a':{}}", "{'a':[1]}", "{'a':[1]}");
    check("{'a':[1]}", "{'a':[1]}", "{'a':{'x':1}}", "{'a':{'x':1}}");
    check("{'a':1}", "{'a':1}", "{'a':'s'}", "{'a':'s'}");
    check("[1]", "[1]", "7", "7");
    check("7", "7", "[1]", "[1]");
    /* What the type reads in another kind than it is stored. */
    check("{'a':'12','x':1}", "{'a':12}", "{'a':13}", "{'a':13,'x':1}");
    check("{'a':[{'x':1}]}", "{'a':{'0':1}}", "{'a':{'0':2}}", "{'a':{'0':2}}");
}

TEST(overlay, keeps_all_it_can_if_nobody_knows_what_the_type_knew)
{
    check("{'a':1,'x':{'y':2,'b':1}}", NULL, "{'a':5,'x':{'b':2}}",
          "{'a':5,'x':{'y':2,'b':2}}");
    check("[1,2]", NULL, "[1]", "[1]");
    check("1", NULL, "2", "2");
}

/* --- names --------------------------------------------------------------- */

TEST(overlay, changes_the_last_of_several_members_of_a_name)
{
    check("{'a':1,'x':0,'a':2}", "{'a':2}", "{'a':3}", "{'a':1,'x':0,'a':3}");
    check("{'a':1,'x':0,'a':2.0,'b':1}", "{'a':2,'b':1}", "{'a':2,'b':2}",
          "{'a':1,'x':0,'a':2.0,'b':2}");
    check("{'a':1,'x':0,'a':2}", "{'a':2}", "{}", "{'x':0}");
    check("{'x':1,'a':0,'x':2}", "{'a':0}", "{'a':1}", "{'x':1,'a':1,'x':2}");
}

TEST(overlay, writes_a_name_twice_if_the_type_does)
{
    check("{'a':1,'x':0,'b':2}", "{'a':1,'b':2}", "{'a':7,'a':8,'b':2}",
          "{'x':0,'b':2,'a':7,'a':8}");
    check("{'x':0}", "{}", "{'a':7,'a':8}", "{'x':0,'a':7,'a':8}");
    check("{'a':1,'a':2}", "{'a':1,'a':2}", "{'a':1,'a':2}", "{'a':1,'a':2}");
}

TEST(overlay, compares_names_by_their_text)
{
    check("{'\\u0061':1,'\\ud800':2,'\\n\\u00e9':{'x':1,'b':1}}",
          "{'a':1,'\\n\xC3\xA9':{'b':1}}", "{'a':2,'\\n\xC3\xA9':{'b':2}}",
          "{'\\u0061':2,'\\ud800':2,'\\n\\u00e9':{'x':1,'b':2}}");
    check("{'\\ud800':{'x':1,'\\ud801':1}}", "{'\\ud800':{'\\ud801':1}}",
          "{'\\ud800':{'\\ud801':2}}", "{'\\ud800':{'x':1,'\\ud801':2}}");
    check("{'x':1}", "{}", "{'\\ud800':1}", "{'x':1,'\\ud800':1}");
}

/* --- elements ------------------------------------------------------------ */

#define ONE   "{'id':1,'x':1,'t':'a'}"
#define TWO   "{'id':2,'x':2,'t':'b'}"
#define THREE "{'id':3,'x':3,'t':'c'}"
#define S1    "{'id':1,'t':'a'}"
#define S2    "{'id':2,'t':'b'}"
#define S3    "{'id':3,'t':'c'}"

TEST(overlay, keeps_elements_that_did_not_change)
{
    check("[1.0,2.0,3.0]", "[1,2,3]", "[1,2,3,4]", "[1.0,2.0,3.0,4]");
    check("[1.0,2.0,3.0]", "[1,2,3]", "[0,1,2,3]", "[0,1.0,2.0,3.0]");
    check("[1.0,2.0,3.0]", "[1,2,3]", "[1,3]", "[1.0,3.0]");
    check("[1.0,2.0,3.0]", "[1,2,3]", "[1,9,3]", "[1.0,9,3.0]");
    check("[1.0,2.0,3.0]", "[1,2,3]", "[1,7,8,3]", "[1.0,7,8,3.0]");
    check("[1.0,2.0,3.0]", "[1,2,3]", "[]", "[]");
    check("[]", "[]", "[1]", "[1]");
    check("[1.0]", "[1]", "[5,6,1,7]", "[5,6,1.0,7]");
}

TEST(overlay, changes_members_inside_elements)
{
    check("[" ONE "," TWO "]", "[" S1 "," S2 "]", "[" S1 ",{'id':2,'t':'z'}]",
          "[" ONE ",{'id':2,'x':2,'t':'z'}]");
}

TEST(overlay, finds_elements_again_when_others_came_or_went)
{
    /* one changed and one added */
    check("[" ONE "," TWO "]", "[" S1 "," S2 "]",
          "[{'id':1,'t':'a','done':true}," S2 "," S3 "]",
          "[{'id':1,'x':1,'t':'a','done':true}," TWO "," S3 "]");
    /* the first went, the second changed */
    check("[" ONE "," TWO "," THREE "]", "[" S1 "," S2 "," S3 "]",
          "[{'id':2,'t':'b','done':true}," S3 "]",
          "[{'id':2,'x':2,'t':'b','done':true}," THREE "]");
    /* one between, and its neighbour changed beyond likeness */
    check("[" ONE "," TWO "," THREE "]", "[" S1 "," S2 "," S3 "]",
          "[{'id':9,'t':'q'}," S2 ",{'id':8,'t':'r'}," S3 "]",
          "[{'id':9,'x':1,'t':'q'}," TWO ",{'id':8,'t':'r'}," THREE "]");
}

TEST(overlay, does_not_give_what_is_unknown_to_a_neighbour)
{
    /* a window that moved up */
    check("[" ONE "," TWO "]", "[" S1 "," S2 "]", "[" S2 "," S3 "]",
          "[" TWO "," S3 "]");
    check("[" ONE "," TWO "," THREE "]", "[" S1 "," S2 "," S3 "]",
          "[{'id':0,'t':'z'}," S1 "," S2 "]",
          "[{'id':0,'t':'z'}," ONE "," TWO "]");
    /* two that changed in their places */
    check("[" ONE "," TWO "," THREE "]", "[" S1 "," S2 "," S3 "]",
          "[{'id':1,'t':'p'}," S2 ",{'id':3,'t':'q'}]",
          "[{'id':1,'x':1,'t':'p'}," TWO ",{'id':3,'x':3,'t':'q'}]");
}

TEST(overlay, takes_a_list_as_it_is_if_the_type_left_elements_out)
{
    check("[" ONE ",7," TWO "]", "[" S1 "," S2 "]", "[" S1 "]", "[" S1 "]");
}

/* --- large ones ---------------------------------------------------------- */

/* [{"id":0,...},...] or {"n0":...}: with unknown members or without; every
 * `step`-th is `changed`. Owned. */
static pdr_value *large(bool is_list, size_t first, size_t count, bool unknown,
                        size_t step)
{
    pdr_buf text = PDR_BUF_INIT(1u << 28);
    pdr_value *value = NULL;

    ASSERT_RC(PDR_OK, pdr_buf_printf(&text, NULL, is_list ? "[" : "{"));
    for (size_t i = first; i < count; i++) {
        const char *comma = i > first ? "," : "";

        if (is_list)
            ASSERT_RC(PDR_OK, pdr_buf_printf(&text, NULL, "%s", comma));
        else
            ASSERT_RC(PDR_OK,
                      pdr_buf_printf(&text, NULL, "%s\"n%zu\":", comma, i));
        ASSERT_RC(PDR_OK,
                  pdr_buf_printf(&text, NULL, "{\"id\":%zu,\"t\":\"t%zu\"%s%s}",
                                 i, i, unknown ? ",\"x\":1.0" : "",
                                 step > 0 && i % step == 0 ? ",\"c\":1" : ""));
    }
    ASSERT_RC(PDR_OK, pdr_buf_printf(&text, NULL, is_list ? "]" : "}"));
    ASSERT_RC(PDR_OK, pdr_json_read_take(&value, &text, NULL, NULL));
    return value;
}

/* All elements kept their unknown member. */
static void check_large(bool is_list, size_t drop, size_t step)
{
    const size_t count = 50000;
    pdr_value *raw = large(is_list, 0, count, true, 0);
    pdr_value *before = large(is_list, 0, count, false, 0);
    pdr_value *after = large(is_list, drop, count, false, step);
    pdr_value *out = NULL, *expected = large(is_list, drop, count, true, step);

    ASSERT_RC(PDR_OK, pdr__overlay(&out, raw, before, after, NULL));
    ASSERT(pdr_value_equal(expected, out));
    pdr_value_free(raw);
    pdr_value_free(before);
    pdr_value_free(after);
    pdr_value_free(expected);
    pdr_value_free(out);
}

TEST(overlay, takes_long_lists_and_large_objects_in_its_stride)
{
    check_large(true, 0, 7);
    check_large(true, 1, 0);
    check_large(true, 3, 1000);
    check_large(false, 0, 7);
    check_large(false, 5, 3);
}

TEST(overlay, takes_a_list_that_has_nothing_in_common)
{
    pdr_value *raw = large(true, 0, 20000, true, 0);
    pdr_value *before = large(true, 0, 20000, false, 0);
    pdr_value *after = large(true, 30000, 45000, false, 0);
    pdr_value *out = NULL;

    ASSERT_RC(PDR_OK, pdr__overlay(&out, raw, before, after, NULL));
    ASSERT(pdr_value_equal(after, out));
    pdr_value_free(raw);
    pdr_value_free(before);
    pdr_value_free(after);
    pdr_value_free(out);
}

/* --- failures ------------------------------------------------------------ */

static void check_oom(const char *raw, const char *before, const char *after,
                      const char *expected)
{
    pdr_value *r = doc_value(raw), *b = doc_value(before);
    pdr_value *a = doc_value(after), *out = NULL;
    pdr_rc rc = pdr__overlay(&out, r, b, a, NULL);

    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((out != NULL) == (rc == PDR_OK));
    if (out != NULL)
        assert_value(expected, out, PDR_COMPACT);
    pdr_value_free(r);
    pdr_value_free(b);
    pdr_value_free(a);
    pdr_value_free(out);
}

TEST_OOM(overlay, cleans_up_members_after_any_failed_allocation)
{
    check_oom("{'\\n':{'x':1,'\\t':1},'g':1,'a':1}",
              "{'\\n':{'\\t':1},'g':1,'a':1}",
              "{'\\n':{'\\t':2},'a':7,'a':8,'new':1}",
              "{'\\n':{'x':1,'\\t':2},'a':7,'a':8,'new':1}");
}

TEST_OOM(overlay, cleans_up_elements_after_any_failed_allocation)
{
    check_oom("{'l':[1.0,2.0,{'a':1,'x':1}],'m':[[1]],'n':[1]}",
              "{'l':[1,2,{'a':1}],'m':[[1]],'n':[1]}",
              "{'l':[2,{'a':1}],'m':[[1],[2]],'n':[2]}",
              "{'l':[2.0,{'a':1,'x':1}],'m':[[1],[2]],'n':[2]}");
}
