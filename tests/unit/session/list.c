/*
 * list.c - lists of sessions in memory.
 */
#include "session_text.h"

static pdr_session_list *list_of(const char *text)
{
    pdr_value *value = doc_value(text);
    pdr_session_list *list = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_session_list_from_value(&list, value, false, &err, NULL, NULL) !=
        PDR_OK)
        fail_msg("%s: %s", text, err.message);
    pdr_value_free(value);
    return list;
}

static void assert_list(const char *expected, pdr_session_list *list)
{
    pdr_value *value = NULL;

    ASSERT_RC(PDR_OK, pdr_session_list_to_value(&value, list, NULL));
    assert_value(expected, value, PDR_AS_READ);
    pdr_value_free(value);
}

TEST(session_list, holds_sessions_of_all_kinds_and_nulls)
{
    static const char text[] =
        "[ {'conversationId':'c'} , null, {'session_id':'s','state':{}},{}]";
    pdr_session_list *list = list_of(text);

    ASSERT_SIZE(4, pdr_session_list_count(list));
    ASSERT_INT(PDR_SESSION_KIND_CLIENT,
               pdr_session_get_kind(pdr_session_list_at(list, 0)));
    ASSERT(pdr_session_list_at(list, 1) == NULL);
    ASSERT_TEXT("s", pdr_session_id(pdr_session_list_at(list, 2)));
    ASSERT(pdr_session_list_at(list, 3) != NULL);
    ASSERT(pdr_session_list_at(list, 4) == NULL);
    ASSERT(pdr_session_list_name(list, 0) == NULL);
    ASSERT(pdr_session_list_name(list, 4) == NULL);
    assert_list(text, list);
    pdr_session_list_free(list);
}

TEST(session_list, changes_only_the_session_that_changed)
{
    pdr_session_list *list =
        list_of("[ {'stateBag':{ 'a' : 1.0 }} ,\n {'stateBag':{'a':2} } ]");

    bag_put(pdr_session_bag(pdr_session_list_at(list, 1)), "a", "3");
    assert_list("[ {'stateBag':{ 'a' : 1.0 }} ,\n {'stateBag':{'a':3} } ]",
                list);
    bag_put(pdr_session_bag(pdr_session_list_at(list, 0)), "b", "4");
    assert_list(
        "[ {'stateBag':{ 'a' : 1.0,'b' : 4 }} ,\n {'stateBag':{'a':3} } ]",
        list);
    pdr_session_list_free(list);
}

TEST(session_list, may_be_an_object_of_sessions)
{
    pdr_session_list *list =
        list_of("{'Ann': {'stateBag':{}},'b\\u006fb':{'session_id':'s'}}");

    ASSERT_SIZE(2, pdr_session_list_count(list));
    assert_value("'Ann'", pdr_session_list_name(list, 0), PDR_COMPACT);
    assert_value("'b\\u006fb'", pdr_session_list_name(list, 1), PDR_COMPACT);
    bag_put(pdr_session_bag(pdr_session_list_at(list, 1)), "k", "1");
    assert_list("{'Ann': {'stateBag':{}},'b\\u006fb':{'session_id':'s','state'"
                ":{'k':1}}}",
                list);
    pdr_session_list_free(list);
}

TEST(session_list, tells_members_of_one_name_apart)
{
    pdr_session_list *list =
        list_of("{'a':{'stateBag':{}},'\\ud800':{},'a':{'stateBag':{'k':0}}}");

    bag_put(pdr_session_bag(pdr_session_list_at(list, 0)), "k", "1");
    assert_list("{'a':{'stateBag':{'k':1}},'\\ud800':{},'a':{'stateBag':{'k':0"
                "}}}",
                list);
    bag_put(pdr_session_bag(pdr_session_list_at(list, 2)), "k", "2");
    bag_put(pdr_session_bag(pdr_session_list_at(list, 1)), "k", "3");
    assert_list("{'a':{'stateBag':{'k':1}},'\\ud800':{'stateBag':{'k':3}},'a':{"
                "'stateBag':{'k':2}}}",
                list);
    pdr_session_list_free(list);
}

TEST(session_list, keeps_white_space_beside_names_of_any_kind)
{
    pdr_session_list *list = list_of("{ 'a' : {'stateBag':{ }} ,\n '\\ud800': "
                                     "{'stateBag':{}}, 'a' :{ } }");

    bag_put(pdr_session_bag(pdr_session_list_at(list, 0)), "k", "1");
    assert_list("{ 'a' : {'stateBag':{'k':1}} ,\n '\\ud800': {'stateBag':{}},"
                " 'a' :{ } }",
                list);
    bag_put(pdr_session_bag(pdr_session_list_at(list, 1)), "k", "2");
    assert_list("{ 'a' : {'stateBag':{'k':1}} ,\n '\\ud800': {'stateBag':{'k'"
                ":2}}, 'a' :{ } }",
                list);
    pdr_session_list_free(list);
}

static void assert_no_list(const char *reason, const char *path,
                           const char *said, const char *text)
{
    pdr_value *value = doc_value(text);
    pdr_session_list *list = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT(pdr_session_list_from_value(&list, value, false, &err, NULL, NULL) !=
           PDR_OK);
    ASSERT(list == NULL);
    ASSERT_STR(reason, err.reason);
    ASSERT_STR(path, err.path);
    if (strstr(err.message, said) == NULL)
        fail_msg("'%s' is not in '%s'", said, err.message);
    ASSERT(pdr_session_list_from_value(&list, value, false, NULL, NULL, NULL) !=
           PDR_OK);
    pdr_value_free(value);
}

TEST(session_list, refuses_the_whole_for_one_bad_element_and_names_it)
{
    assert_no_list("session_not_object", "/2", "element 2: a session",
                   "[{'stateBag':{}},{},7]");
    assert_no_list("bag_not_object", "/1/state", "element 1: state",
                   "[{},{'session_id':'s','state':7}]");
    assert_no_list("session_unknown_shape", "", "a list of messages",
                   "[{'role':'user','contents':[]}]");
    assert_no_list("session_unknown_shape", "", "an array without any session",
                   "[null]");
    assert_no_list("session_unknown_shape", "", "a session", "{}");
    assert_no_list("session_unknown_shape", "", "a single text", "'x'");
    assert_no_list("session_member", "/a~1b\\n/conversationId",
                   "member 'a~1b\\n': conversationId",
                   "{'a/b\\n':{'conversationId':7}}");
}

TEST(session_list, keeps_and_reports_bad_elements_if_it_is_tolerant)
{
    static const char text[] =
        "[7,{'session_id':'s'},null,{'a': 1},{'perdure':{'version':'9.0'}}]";
    pdr_value *value = doc_value(text);
    pdr_session_list *list = NULL;
    pdr_buf told = PDR_BUF_INIT(1000);

    ASSERT_RC(PDR_OK, pdr_session_list_from_value(&list, value, true, NULL,
                                                  note_finding, &told));
    ASSERT_TEXT("warning not-a-session /0\n"
                "warning not-a-session /3\n"
                "warning not-a-session /4\n",
                pdr_buf_str(&told));
    ASSERT_SIZE(5, pdr_session_list_count(list));
    ASSERT(pdr_session_list_at(list, 0) == NULL);
    bag_put(pdr_session_bag(pdr_session_list_at(list, 1)), "k", "1");
    assert_list("[7,{'session_id':'s','state':{'k':1}},null,{'a': 1},{"
                "'perdure':{'version':'9.0'}}]",
                list);
    pdr_buf_dispose(&told);
    pdr_session_list_free(list);
    pdr_value_free(value);
}

TEST(session_list, names_bad_members_of_an_object_too)
{
    pdr_value *value = doc_value("{'a':{'conversationId':7},'b':{}}");
    pdr_session_list *list = NULL;
    pdr_buf told = PDR_BUF_INIT(1000);

    ASSERT_RC(PDR_OK, pdr_session_list_from_value(&list, value, true, NULL,
                                                  note_finding, &told));
    ASSERT_TEXT("warning not-a-session /a\n", pdr_buf_str(&told));
    pdr_buf_dispose(&told);
    pdr_session_list_free(list);
    pdr_value_free(value);
}

static pdr_rc stop(const pdr_doc_finding *finding, pdr_err *err, void *arg)
{
    (void)finding;
    (void)arg;
    return pdr_err_set(err, PDR_ECANCELLED, "enough", "enough");
}

TEST(session_list, tells_what_else_stands_in_an_object_of_sessions)
{
    pdr_value *value = doc_value("{'s':{'stateBag':{}},'d':{'schemaVersion':"
                                 "'1','data':{}},'w':{'session':{}}}");
    pdr_session_list *list = NULL;
    pdr_buf told = PDR_BUF_INIT(1000);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID, pdr_session_list_from_value(&list, value, false,
                                                        &err, NULL, NULL));
    ASSERT_STR("session_unknown_shape", err.reason);
    ASSERT_STR("/d", err.path);
    ASSERT(list == NULL);
    ASSERT_RC(PDR_OK, pdr_session_list_from_value(&list, value, true, NULL,
                                                  note_finding, &told));
    ASSERT_TEXT("warning not-a-session /d\nwarning not-a-session /w\n",
                pdr_buf_str(&told));
    ASSERT(pdr_session_list_at(list, 0) != NULL);
    ASSERT(pdr_session_list_at(list, 1) == NULL);
    pdr_buf_dispose(&told);
    pdr_session_list_free(list);
    pdr_value_free(value);
}

TEST(session_list, ends_if_the_one_who_is_told_wants_it)
{
    pdr_value *value = doc_value("[{},7]");
    pdr_session_list *list = NULL;

    ASSERT_RC(PDR_ECANCELLED, pdr_session_list_from_value(&list, value, true,
                                                          NULL, stop, NULL));
    ASSERT_RC(PDR_OK, pdr_session_list_from_value(&list, value, true, NULL,
                                                  NULL, NULL));
    pdr_session_list_free(list);
    pdr_value_free(value);
}

TEST(session_list, grows_at_the_end)
{
    pdr_session_list *list = NULL;
    pdr_session_list *object = list_of("{'a':{}}");
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_session_list_new(&list, NULL));
    assert_list("[]", list);
    for (int i = 0; i < 5; i++)
        ASSERT_RC(PDR_OK, pdr_session_list_add(
                              list, session_new(PDR_SESSION_DOTNET, 0), NULL));
    ASSERT_RC(PDR_OK, pdr_session_list_add(list, NULL, NULL));
    bag_put(pdr_session_bag(pdr_session_list_at(list, 0)), "k", "1");
    assert_list("[{'stateBag':{'k':1}},{'stateBag':{}},{'stateBag':{}},{"
                "'stateBag':{}},{'stateBag':{}},null]",
                list);
    ASSERT_RC(
        PDR_EINVALID,
        pdr_session_list_add(object, session_new(PDR_SESSION_DOTNET, 0), &err));
    ASSERT_STR("wrong_kind", err.reason);
    pdr_session_list_free(list);
    pdr_session_list_free(object);

    list = list_of("[]");
    ASSERT_RC(PDR_OK, pdr_session_list_add(list, NULL, NULL));
    assert_list("[null]", list);
    pdr_session_list_free(list);
    pdr_session_list_free(NULL);
}

TEST(session_list, counts_levels_from_the_root_of_each_session)
{
    pdr_buf text = TEXT_INIT;
    pdr_session_list *list = NULL;

    PUT(&text, "[{\"stateBag\":{\"k\":");
    for (int i = 0; i < 126; i++)
        PUT(&text, "[");
    for (int i = 0; i < 126; i++)
        PUT(&text, "]");
    PUT(&text, "}}]");
    pdr_value *value = json_take(&text);
    ASSERT_RC(PDR_OK, pdr_session_list_from_value(&list, value, false, NULL,
                                                  NULL, NULL));
    pdr_session_list_free(list);
    pdr_value_free(value);
}

TEST_OOM(session_list, is_read_changed_and_written_or_out_of_memory)
{
    static const char *const texts[] = {
        "[{\"stateBag\":{}},7]",
        "{\"a\":{},\"\\u0041\":{\"conversationId\":7},\"a\":{}}",
        "{\"a\\n\":{\"conversationId\":7}}",
    };

    for (size_t i = 0; i < 3; i++) {
        pdr_value *value = json(texts[i]);
        pdr_value *back = NULL, *slot = pdr_value_new_null();
        pdr_session_list *list = NULL;
        pdr_session *first = NULL;
        pdr_err err = PDR_ERR_INIT;

        if (value != NULL &&
            pdr_session_list_from_value(&list, value, i < 2, &err, NULL,
                                        NULL) == PDR_OK) {
            first = pdr_session_list_at(list, 0);
            if (pdr_bag_set(pdr_session_bag(first), KEY("k"), slot, NULL) ==
                    PDR_OK &&
                pdr_session_list_to_value(&back, list, NULL) == PDR_OK)
                ASSERT(back != NULL);
        }
        pdr_value_free(back);
        pdr_value_free(value);
        pdr_session_list_free(list);
    }
}

TEST_OOM(session_list_add, adds_or_frees_the_session)
{
    pdr_session_list *list = NULL;
    pdr_session_parts parts = {.shape = PDR_SESSION_DOTNET};

    if (pdr_session_list_new(&list, NULL) == PDR_OK) {
        for (size_t i = 0; i < 5; i++) {
            pdr_session *s = NULL;
            size_t before = pdr_session_list_count(list);

            if (pdr_session_new(&s, &parts, NULL) != PDR_OK)
                continue;
            if (pdr_session_list_add(list, s, NULL) == PDR_OK)
                before++;
            ASSERT_SIZE(before, pdr_session_list_count(list));
        }
    }
    pdr_session_list_free(list);
}
