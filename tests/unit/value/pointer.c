/* JSON Pointer: finding, changing, errors, and what a change leaves alone. */
#include "test.h"

#include "core.h"
#include "json_text.h"

/* --- finding ------------------------------------------------------------- */

TEST(pointer_get, finds_every_part_of_the_example_in_the_rfc)
{
    static const char document[] =
        "{\"foo\":[\"bar\",\"baz\"],\"\":0,\"a/b\":1,\"c%d\":2,\"e^f\":3,"
        "\"g|h\":4,\"i\\\\j\":5,\"k\\\"l\":6,\" \":7,\"m~n\":8}";
    static const struct {
        const char *pointer, *expected;
    } cases[] = {
        {"/foo", "[\"bar\",\"baz\"]"},
        {"/foo/0", "\"bar\""},
        {"/", "0"},
        {"/a~1b", "1"},
        {"/c%d", "2"},
        {"/e^f", "3"},
        {"/g|h", "4"},
        {"/i\\j", "5"},
        {"/k\"l", "6"},
        {"/ ", "7"},
        {"/m~0n", "8"},
    };
    pdr_value *root = json(document);
    const pdr_value *part = NULL;

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        ASSERT_RC(PDR_OK, pdr_pointer_get(&part, root,
                                          pdr_str_c(cases[i].pointer), NULL));
        ASSERT_JSON(cases[i].expected, part);
    }
    ASSERT_RC(PDR_OK, pdr_pointer_get(&part, root, pdr_str_n(NULL, 0), NULL));
    ASSERT(part == root);
    pdr_value_free(root);
}

TEST(pointer_get, undoes_escapes_in_the_order_of_the_rfc)
{
    pdr_value *root = json("{\"~1\":1,\"/\":2,\"~01\":3,\"\\u0000\":4}");
    const pdr_value *part = NULL;

    ASSERT_RC(PDR_OK, pdr_pointer_get(&part, root, pdr_str_c("/~01"), NULL));
    ASSERT_JSON("1", part);
    ASSERT_RC(PDR_OK, pdr_pointer_get(&part, root, pdr_str_c("/~1"), NULL));
    ASSERT_JSON("2", part);
    ASSERT_RC(PDR_OK, pdr_pointer_get(&part, root, pdr_str_c("/~001"), NULL));
    ASSERT_JSON("3", part);
    ASSERT_RC(PDR_OK, pdr_pointer_get(&part, root, pdr_str_n("/\0", 2), NULL));
    ASSERT_JSON("4", part);
    pdr_value_free(root);
}

TEST(pointer_get, gives_the_last_of_several_members_of_one_name)
{
    pdr_value *root = json("{\"a\":1,\"a\":2}");
    const pdr_value *part = NULL;

    ASSERT_RC(PDR_OK, pdr_pointer_get(&part, root, pdr_str_c("/a"), NULL));
    ASSERT_JSON("2", part);
    pdr_value_free(root);
}

TEST(pointer_get, finds_a_name_with_half_a_surrogate_pair)
{
    pdr_value *root = json("{\"\\ud800\":[7]}");
    const pdr_value *part = NULL;

    ASSERT_RC(PDR_OK,
              pdr_pointer_get(&part, root, pdr_str_c("/\xED\xA0\x80/0"), NULL));
    ASSERT_JSON("7", part);
    pdr_value_free(root);
}

/* --- what is not there --------------------------------------------------- */

struct failure {
    const char *pointer;
    pdr_rc rc;
    const char *reason, *path;
    int offset;
};

static void check_failure(const struct failure *f, pdr_rc rc,
                          const pdr_err *err)
{
    if (f->rc != rc || strcmp(f->reason, err->reason) != 0 ||
        strcmp(f->path, err->path) != 0 || f->offset != err->offset)
        fail_msg("%s: %s %s path '%s' offset %d", f->pointer, pdr_rc_name(rc),
                 err->reason, err->path, (int)err->offset);
}

TEST(pointer_get, says_which_part_is_not_there)
{
    static const struct failure cases[] = {
        {"/x", PDR_ENOTFOUND, "no_member", "/x", -1},
        {"/x/y/z", PDR_ENOTFOUND, "no_member", "/x", -1},
        {"/o/p/q", PDR_ENOTFOUND, "no_member", "/o/p", -1},
        {"/n/a", PDR_ENOTFOUND, "no_member", "/n/a", -1},
        {"/l/2", PDR_ENOTFOUND, "no_element", "/l/2", -1},
        {"/l/2/a", PDR_ENOTFOUND, "no_element", "/l/2", -1},
        {"/l/-", PDR_ENOTFOUND, "no_element", "/l/-", -1},
        {"/l/", PDR_ENOTFOUND, "no_element", "/l/", -1},
        {"/l/00", PDR_ENOTFOUND, "no_element", "/l/00", -1},
        {"/l/01", PDR_ENOTFOUND, "no_element", "/l/01", -1},
        {"/l/+1", PDR_ENOTFOUND, "no_element", "/l/+1", -1},
        {"/l/1 ", PDR_ENOTFOUND, "no_element", "/l/1 ", -1},
        {"/l/1e0", PDR_ENOTFOUND, "no_element", "/l/1e0", -1},
        /* 2^64, and 2^64 + 1, which is 1 in 64 bits */
        {"/l/18446744073709551616", PDR_ENOTFOUND, "no_element",
         "/l/18446744073709551616", -1},
        {"/l/18446744073709551617", PDR_ENOTFOUND, "no_element",
         "/l/18446744073709551617", -1},
        {"/l/18446744073709551615", PDR_ENOTFOUND, "no_element",
         "/l/18446744073709551615", -1},
        {"/l/99999999999999999999999", PDR_ENOTFOUND, "no_element",
         "/l/99999999999999999999999", -1},
        {"/~0~1", PDR_ENOTFOUND, "no_member", "/~0~1", -1},
        {"/\"\\\n\x01", PDR_ENOTFOUND, "no_member", "/\\\"\\\\\\n\\u0001", -1},
        {"/\xED\xBF\xBF", PDR_ENOTFOUND, "no_member", "/\\udfff", -1},
        {"/\xC3\xA9\xFF", PDR_ENOTFOUND, "no_member", "/\xC3\xA9\\ufffd", -1},
        {"x", PDR_EINVALID, "bad_pointer", "", 0},
        {"#/x", PDR_EINVALID, "bad_pointer", "", 0},
        {"/x~", PDR_EINVALID, "bad_pointer", "", 2},
        {"/x~2", PDR_EINVALID, "bad_pointer", "", 2},
        {"/none/here~/x", PDR_EINVALID, "bad_pointer", "", 10},
    };
    pdr_value *root = json("{\"o\":{},\"n\":1,\"l\":[5,6]}");
    const pdr_value *part = NULL;

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        pdr_err err = PDR_ERR_INIT;
        part = root;
        pdr_rc rc =
            pdr_pointer_get(&part, root, pdr_str_c(cases[i].pointer), &err);
        check_failure(&cases[i], rc, &err);
        ASSERT(part == NULL);
    }
    pdr_value_free(root);
}

TEST(pointer_get, says_in_words_what_is_not_there)
{
    pdr_value *root = json("{\"n\":1,\"l\":[5,6]}");
    const pdr_value *part = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_ENOTFOUND,
              pdr_pointer_get(&part, root, pdr_str_c("/l/2"), &err));
    ASSERT_STR("the pointer names none of the 2 elements", err.message);
    ASSERT_RC(PDR_ENOTFOUND,
              pdr_pointer_get(&part, root, pdr_str_c("/x"), &err));
    ASSERT_STR("the object has no such member", err.message);
    ASSERT_RC(PDR_ENOTFOUND,
              pdr_pointer_get(&part, root, pdr_str_c("/n/a"), &err));
    ASSERT_STR("a number has no members", err.message);
    ASSERT_RC(PDR_ENOTFOUND,
              pdr_pointer_get(&part, root, pdr_str_c("/n/a"), NULL));
    pdr_value_free(root);
}

TEST(pointer_get, cuts_a_long_path_at_its_front_between_characters)
{
    char pointer[400];
    pdr_value *root = json("{}");
    const pdr_value *part = NULL;
    pdr_err err = PDR_ERR_INIT;

    /* 127 bytes fit as they are. */
    memset(pointer, 'x', sizeof(pointer));
    pointer[0] = '/';
    ASSERT_RC(PDR_ENOTFOUND,
              pdr_pointer_get(&part, root, pdr_str_n(pointer, 127), &err));
    ASSERT_BYTES(pdr_str_n(pointer, 127), pdr_str_c(err.path));
    ASSERT_RC(PDR_ENOTFOUND,
              pdr_pointer_get(&part, root, pdr_str_n(pointer, 128), &err));
    ASSERT_SIZE(127, strlen(err.path));
    ASSERT(strncmp("...xxx", err.path, 6) == 0);
    /* Each is six bytes when printed: 20 of them fit behind the dots. */
    memset(pointer + 1, 1, 100);
    ASSERT_RC(PDR_ENOTFOUND,
              pdr_pointer_get(&part, root, pdr_str_n(pointer, 101), &err));
    ASSERT_SIZE(3 + 20 * 6, strlen(err.path));
    ASSERT(strncmp("...\\u0001", err.path, 9) == 0);
    pdr_value_free(root);
}

/* --- changing ------------------------------------------------------------ */

struct edit_case {
    const char *document, *pointer, *expected;
};

static void check_edits(const struct edit_case *cases, size_t count,
                        pdr_rc (*edit)(pdr_value **, pdr_str, const pdr_value *,
                                       pdr_err *))
{
    pdr_value *value = json("\"new\"");

    for (size_t i = 0; i < count; i++) {
        pdr_value *root = json(cases[i].document);
        pdr_err err = PDR_ERR_INIT;
        pdr_rc rc = edit(&root, pdr_str_c(cases[i].pointer), value, &err);
        if (rc != PDR_OK)
            fail_msg("%s: %s", cases[i].pointer, err.message);
        ASSERT_JSON(cases[i].expected, root);
        pdr_value_free(root);
    }
    pdr_value_free(value);
}

TEST(pointer_set, replaces_or_adds)
{
    static const struct edit_case cases[] = {
        {"[1]", "", "\"new\""},
        {"{\"a\":1}", "/a", "{\"a\":\"new\"}"},
        {"{\"a\":1,\"a\":2}", "/a", "{\"a\":1,\"a\":\"new\"}"},
        {"{\"a\":1}", "/b", "{\"a\":1,\"b\":\"new\"}"},
        {"{}", "/", "{\"\":\"new\"}"},
        {"{}", "/m~0n~1o", "{\"m~n/o\":\"new\"}"},
        {"{\"\\ud800\":1}", "/\xED\xA0\x80", "{\"\\ud800\":\"new\"}"},
        {"[1,2]", "/0", "[\"new\",2]"},
        {"[1,2]", "/2", "[1,2,\"new\"]"},
        {"[1,2]", "/-", "[1,2,\"new\"]"},
        {"{\"-\":1}", "/-", "{\"-\":\"new\"}"},
        {"{\"a\":[1,{\"b\":[2,3]}],\"c\":1.10}", "/a/1/b/1",
         "{\"a\":[1,{\"b\":[2,\"new\"]}],\"c\":1.10}"},
        {"{\"m~n\":{\"o/p\":[[1]]}}", "/m~0n/o~1p/0/0",
         "{\"m~n\":{\"o/p\":[[\"new\"]]}}"},
    };

    check_edits(cases, PDR_COUNT(cases), pdr_pointer_set);
}

TEST(pointer_insert, puts_an_element_before_the_one_there)
{
    static const struct edit_case cases[] = {
        {"[1]", "", "\"new\""},
        {"{\"a\":1}", "/a", "{\"a\":\"new\"}"},
        {"{\"a\":1}", "/b", "{\"a\":1,\"b\":\"new\"}"},
        {"[1,2]", "/0", "[\"new\",1,2]"},
        {"[1,2]", "/1", "[1,\"new\",2]"},
        {"[1,2]", "/2", "[1,2,\"new\"]"},
        {"[1,2]", "/-", "[1,2,\"new\"]"},
        {"[]", "/0", "[\"new\"]"},
        {"[[],{\"a\":[0]}]", "/1/a/0", "[[],{\"a\":[\"new\",0]}]"},
    };

    check_edits(cases, PDR_COUNT(cases), pdr_pointer_insert);
}

static pdr_rc remove_part(pdr_value **io, pdr_str pointer,
                          const pdr_value *value, pdr_err *err)
{
    (void)value;
    return pdr_pointer_remove(io, pointer, err);
}

TEST(pointer_remove, takes_away_what_is_named)
{
    static const struct edit_case cases[] = {
        {"{\"a\":1,\"b\":2}", "/a", "{\"b\":2}"},
        {"{\"a\":1,\"b\":2,\"a\":3}", "/a", "{\"b\":2}"},
        {"[1,2,3]", "/1", "[1,3]"},
        {"[1]", "/0", "[]"},
        {"{\"a\":[1,{\"b\":2}]}", "/a/1/b", "{\"a\":[1,{}]}"},
        {"{\"a\":[1,{\"b\":2}]}", "/a/1", "{\"a\":[1]}"},
    };

    check_edits(cases, PDR_COUNT(cases), remove_part);
}

static void check_failures(const struct failure *cases, size_t count,
                           pdr_rc (*edit)(pdr_value **, pdr_str,
                                          const pdr_value *, pdr_err *))
{
    static const char document[] = "{\"o\":{},\"n\":1,\"l\":[5,6]}";
    pdr_value *value = json("\"new\"");

    for (size_t i = 0; i < count; i++) {
        pdr_value *root = json(document), *before = root;
        pdr_err err = PDR_ERR_INIT;
        pdr_rc rc = edit(&root, pdr_str_c(cases[i].pointer), value, &err);
        check_failure(&cases[i], rc, &err);
        ASSERT(before == root);
        ASSERT_JSON(document, root);
        pdr_value_free(root);
    }
    pdr_value_free(value);
}

TEST(pointer_set, refuses_what_has_no_holder_and_changes_nothing)
{
    static const struct failure cases[] = {
        {"/x/y", PDR_ENOTFOUND, "no_member", "/x", -1},
        {"/o/x/y", PDR_ENOTFOUND, "no_member", "/o/x", -1},
        {"/n/a/b", PDR_ENOTFOUND, "no_member", "/n/a", -1},
        {"/n/a", PDR_EINVALID, "wrong_kind", "/n", -1},
        {"/l/3", PDR_ENOTFOUND, "no_element", "/l/3", -1},
        {"/l/02", PDR_ENOTFOUND, "no_element", "/l/02", -1},
        {"/l/x", PDR_ENOTFOUND, "no_element", "/l/x", -1},
        {"/l/-/a", PDR_ENOTFOUND, "no_element", "/l/-", -1},
        {"/l/2/a", PDR_ENOTFOUND, "no_element", "/l/2", -1},
        {"n", PDR_EINVALID, "bad_pointer", "", 0},
        {"/n~", PDR_EINVALID, "bad_pointer", "", 2},
    };

    check_failures(cases, PDR_COUNT(cases), pdr_pointer_set);
    check_failures(cases, PDR_COUNT(cases), pdr_pointer_insert);
}

TEST(pointer_remove, refuses_what_is_not_there_and_changes_nothing)
{
    static const struct failure cases[] = {
        {"", PDR_EINVALID, "bad_pointer", "", 0},
        {"/x", PDR_ENOTFOUND, "no_member", "/x", -1},
        {"/x/y", PDR_ENOTFOUND, "no_member", "/x", -1},
        {"/n/a", PDR_ENOTFOUND, "no_member", "/n/a", -1},
        {"/l/2", PDR_ENOTFOUND, "no_element", "/l/2", -1},
        {"/l/-", PDR_ENOTFOUND, "no_element", "/l/-", -1},
        {"/~", PDR_EINVALID, "bad_pointer", "", 1},
    };

    check_failures(cases, PDR_COUNT(cases), remove_part);
}

TEST(pointer_set, refuses_a_new_name_that_is_no_text)
{
    pdr_value *root = json("{\"a\":{}}"), *value = json("1");
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID, pdr_pointer_set(&root, pdr_str_c("/a/\xED\xA0\x80"),
                                            value, &err));
    ASSERT_STR("bad_utf8", err.reason);
    ASSERT_STR("/a/\\ud800", err.path);
    ASSERT_JSON("{\"a\":{}}", root);
    pdr_value_free(root);
    pdr_value_free(value);
}

/* --- owners -------------------------------------------------------------- */

TEST(pointer_set, leaves_what_others_hold_as_it_was)
{
    pdr_value *root = json("{\"a\":{\"b\":[1,2]}}");
    pdr_value *other = pdr_value_ref(root), *later = NULL;
    pdr_value *value = json("9");

    ASSERT_RC(PDR_OK, pdr_pointer_set(&root, pdr_str_c("/a/b/0"), value, NULL));
    later = pdr_value_ref(root);
    ASSERT_RC(PDR_OK, pdr_pointer_set(&root, pdr_str_c("/a/b/1"), value, NULL));
    ASSERT_RC(PDR_OK, pdr_pointer_remove(&root, pdr_str_c("/a/b/0"), NULL));
    ASSERT_JSON("{\"a\":{\"b\":[1,2]}}", other);
    ASSERT_JSON("{\"a\":{\"b\":[9,2]}}", later);
    ASSERT_JSON("{\"a\":{\"b\":[9]}}", root);
    pdr_value_free(root);
    pdr_value_free(other);
    pdr_value_free(later);
    pdr_value_free(value);
}

TEST(pointer_set, takes_a_part_of_the_document_itself)
{
    pdr_value *root = json("{\"a\":{\"b\":{\"c\":1}}}");
    const pdr_value *part = NULL;

    ASSERT_RC(PDR_OK, pdr_pointer_get(&part, root, pdr_str_c("/a/b"), NULL));
    ASSERT_RC(PDR_OK, pdr_pointer_set(&root, pdr_str_c("/a"), part, NULL));
    ASSERT_JSON("{\"a\":{\"c\":1}}", root);
    ASSERT_RC(PDR_OK, pdr_pointer_get(&part, root, pdr_str_c("/a/c"), NULL));
    ASSERT_RC(PDR_OK, pdr_pointer_set(&root, pdr_str_c(""), part, NULL));
    ASSERT_JSON("1", root);
    pdr_value_free(root);
}

TEST(pointer_set, puts_a_copy_of_what_holds_the_place_into_it)
{
    pdr_value *root = json("{\"a\":{\"b\":{}}}"), *one = json("1");
    const pdr_value *part = NULL;

    /* Once changed, each level has one owner and could be changed in place. */
    ASSERT_RC(PDR_OK, pdr_pointer_set(&root, pdr_str_c("/a/b/c"), one, NULL));
    ASSERT_RC(PDR_OK, pdr_pointer_get(&part, root, pdr_str_c("/a"), NULL));
    ASSERT_RC(PDR_OK, pdr_pointer_set(&root, pdr_str_c("/a/b/d"), part, NULL));
    ASSERT_JSON("{\"a\":{\"b\":{\"c\":1,\"d\":{\"b\":{\"c\":1}}}}}", root);
    ASSERT_RC(PDR_OK, pdr_pointer_set(&root, pdr_str_c("/a/b"), root, NULL));
    ASSERT_JSON("{\"a\":{\"b\":{\"a\":{\"b\":{\"c\":1,\"d\":{\"b\":{\"c\":1}}}}"
                "}}}",
                root);
    pdr_value_free(root);
    pdr_value_free(one);
}

TEST(pointer_set, does_not_copy_when_the_handle_is_the_only_owner)
{
    pdr_value *root = json("{\"a\":[{\"b\":[1,2]}]}"), *value = json("9");

    /* An edit in a second place is the last one that makes room. */
    ASSERT_RC(PDR_OK,
              pdr_pointer_set(&root, pdr_str_c("/a/0/b/0"), value, NULL));
    ASSERT_RC(PDR_OK,
              pdr_pointer_set(&root, pdr_str_c("/a/0/b/1"), value, NULL));
    size_t before = test_allocations();
    for (int i = 0; i < 1000; i++)
        ASSERT_RC(PDR_OK,
                  pdr_pointer_set(&root, pdr_str_c("/a/0/b/1"), value, NULL));
    ASSERT_SIZE(before, test_allocations());
    ASSERT_JSON("{\"a\":[{\"b\":[9,9]}]}", root);
    pdr_value_free(root);
    pdr_value_free(value);
}

TEST(pointer_set, costs_little_in_an_array_of_a_million)
{
    enum { COUNT = 1000000 };
    pdr_buf text = TEXT_INIT;
    char pointer[32];
    pdr_value *value = json("9");

    for (size_t i = 0; i < COUNT; i++)
        PUT(&text, "%s", i == 0 ? "[1" : ",1");
    PUT(&text, "]");
    pdr_value *root = json_take(&text);
    ASSERT_RC(PDR_OK, pdr_pointer_set(&root, pdr_str_c("/0"), value, NULL));
    ASSERT_RC(PDR_OK, pdr_pointer_set(&root, pdr_str_c("/9"), value, NULL));
    size_t before = test_allocations();
    for (size_t i = 0; i < COUNT; i += 1000) {
        snprintf(pointer, sizeof(pointer), "/%zu", i);
        ASSERT_RC(PDR_OK,
                  pdr_pointer_set(&root, pdr_str_c(pointer), value, NULL));
    }
    ASSERT(test_allocations() - before < 10);
    ASSERT_SIZE(COUNT, pdr_value_count(root));
    pdr_value_free(root);
    pdr_value_free(value);
}

/* --- depth --------------------------------------------------------------- */

/* `levels` arrays, one in the other. */
static pdr_value *nest(size_t levels)
{
    pdr_buf text = TEXT_INIT;

    for (size_t i = 0; i < levels; i++)
        PUT(&text, "[");
    for (size_t i = 0; i < levels; i++)
        PUT(&text, "]");
    return json_take(&text);
}

TEST(pointer_set, refuses_what_would_become_too_deep)
{
    pdr_value *root = json("[[[0]]]");
    pdr_value *fits = nest(PDR_MAX_DEPTH - 3), *deep = nest(PDR_MAX_DEPTH - 2);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_ELIMIT,
              pdr_pointer_set(&root, pdr_str_c("/0/0/0"), deep, &err));
    ASSERT_STR("too_deep", err.reason);
    ASSERT_STR("/0/0/0", err.path);
    ASSERT_RC(PDR_ELIMIT,
              pdr_pointer_insert(&root, pdr_str_c("/0/0/-"), deep, NULL));
    ASSERT_JSON("[[[0]]]", root);
    ASSERT_RC(PDR_OK,
              pdr_pointer_insert(&root, pdr_str_c("/0/0/-"), fits, NULL));
    ASSERT_SIZE(2, pdr_value_count(pdr_value_at(pdr_value_at(root, 0), 0)));
    pdr_value_free(root);
    pdr_value_free(fits);
    pdr_value_free(deep);
}

/* --- writing ------------------------------------------------------------- */

TEST(pointer_push, escapes_what_a_pointer_needs_escaped)
{
    pdr_buf pointer = PDR_BUF_INIT(100);

    ASSERT_RC(PDR_OK, pdr_pointer_push(&pointer, pdr_str_c("a/b"), NULL));
    ASSERT_RC(PDR_OK, pdr_pointer_push(&pointer, pdr_str_c("~1"), NULL));
    ASSERT_RC(PDR_OK, pdr_pointer_push(&pointer, pdr_str_n(NULL, 0), NULL));
    ASSERT_RC(PDR_OK, pdr_pointer_push(&pointer, pdr_str_n("x\0y", 3), NULL));
    ASSERT_BYTES(pdr_str_n("/a~1b/~01//x\0y", 14), pdr_buf_str(&pointer));
    pdr_buf_dispose(&pointer);
}

TEST(pointer_push, keeps_the_pointer_when_it_does_not_fit)
{
    pdr_buf pointer = PDR_BUF_INIT(5);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_pointer_push(&pointer, pdr_str_c("a"), NULL));
    ASSERT_RC(PDR_ELIMIT, pdr_pointer_push(&pointer, pdr_str_c("~b"), &err));
    ASSERT_STR("buffer_full", err.reason);
    ASSERT_TEXT("/a", pdr_buf_str(&pointer));
    ASSERT_RC(PDR_OK, pdr_pointer_push(&pointer, pdr_str_c("~"), NULL));
    ASSERT_TEXT("/a/~0", pdr_buf_str(&pointer));
    pdr_buf_dispose(&pointer);
}

/* --- without memory ------------------------------------------------------ */

TEST_OOM(pointer_get, reports_that_memory_ran_out)
{
    pdr_value *root = json("{\"m~n\":{\"o/p\":7}}");
    const pdr_value *part = NULL;

    if (root == NULL)
        return;
    pdr_rc rc = pdr_pointer_get(&part, root, pdr_str_c("/m~0n/o~1p"), NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((part != NULL) == (rc == PDR_OK));
    pdr_value_free(root);
}

static void edit_without_memory(const char *pointer, const char *after,
                                pdr_rc (*edit)(pdr_value **, pdr_str,
                                               const pdr_value *, pdr_err *))
{
    static const char before[] = "{\"m~n\":[{\"o\":1}],\"k\":2}";
    pdr_value *root = json(before), *value = json("[9]");
    pdr_value *kept = json(before), *changed = json(after);

    if (root != NULL && value != NULL && kept != NULL && changed != NULL) {
        pdr_rc rc = edit(&root, pdr_str_c(pointer), value, NULL);
        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
        ASSERT(pdr_value_equal(rc == PDR_OK ? changed : kept, root));
    }
    pdr_value_free(root);
    pdr_value_free(value);
    pdr_value_free(kept);
    pdr_value_free(changed);
}

TEST_OOM(pointer_set, keeps_the_document_when_memory_runs_out)
{
    edit_without_memory("/m~0n/0/o~0",
                        "{\"m~n\":[{\"o\":1,\"o~\":[9]}],\"k\":2}",
                        pdr_pointer_set);
}

TEST_OOM(pointer_insert, keeps_the_document_when_memory_runs_out)
{
    edit_without_memory("/m~0n/0", "{\"m~n\":[[9],{\"o\":1}],\"k\":2}",
                        pdr_pointer_insert);
}

TEST_OOM(pointer_remove, keeps_the_document_when_memory_runs_out)
{
    edit_without_memory("/m~0n/0/o", "{\"m~n\":[{}],\"k\":2}", remove_part);
}

TEST_OOM(pointer_push, keeps_the_pointer_when_memory_runs_out)
{
    pdr_buf pointer = PDR_BUF_INIT(10);

    pdr_rc rc = pdr_pointer_push(&pointer, pdr_str_c("a"), NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT_SIZE(rc == PDR_OK ? 2 : 0, pointer.len);
    pdr_buf_dispose(&pointer);
}
