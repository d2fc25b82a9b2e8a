/*
 * Rows of operations: what is written reads back, and nothing else is taken.
 */
#include "test.h"

#include "engine.h"

#define TEXT_16  "0123456789abcdef"
#define TEXT_128 TEXT_16 TEXT_16 TEXT_16 TEXT_16 TEXT_16 TEXT_16 TEXT_16 TEXT_16

/* Absent for NULL. */
static pdr_str maybe(const char *text)
{
    return text != NULL ? pdr_str_c(text) : pdr_str_n(NULL, 0);
}

TEST(opbody, reads_back_what_it_wrote)
{
    static const struct {
        const char *name, *trace, *input;
        bool is_known;
        const char *text;
    } cases[] = {
        {"run", NULL, NULL, false, "{\"name\":\"run\"}"},
        {"run", NULL, NULL, true, "{\"name\":\"run\",\"known\":true}"},
        {"run", "t-1", NULL, false, "{\"name\":\"run\",\"trace\":\"t-1\"}"},
        {"run", NULL, "{}", false, "{\"name\":\"run\",\"input\":{}}"},
        {"run", NULL, "\"}\"", false, "{\"name\":\"run\",\"input\":\"}\"}"},
        {"r", "t", "[1,{\"input\":2}]", true,
         "{\"name\":\"r\",\"known\":true,\"trace\":\"t\",\"input\":[1,"
         "{\"input\":2}]}"},
        {"two words, and more: {}", "~ !", "null", false,
         "{\"name\":\"two words, and more: {}\",\"trace\":\"~ !\","
         "\"input\":null}"},
        {TEXT_128, TEXT_128, NULL, false,
         "{\"name\":\"" TEXT_128 "\",\"trace\":\"" TEXT_128 "\"}"},
    };

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        const struct pdr__opbody body = {.name = maybe(cases[i].name),
                                         .trace = maybe(cases[i].trace),
                                         .input = maybe(cases[i].input),
                                         .is_known = cases[i].is_known};
        struct pdr__opbody back;
        pdr_buf text = PDR_BUF_INIT(4096);

        ASSERT_RC(PDR_OK, pdr__opbody_check(&body, NULL));
        ASSERT_RC(PDR_OK, pdr__opbody_write(&text, &body, NULL));
        ASSERT_TEXT(cases[i].text, pdr_buf_str(&text));
        ASSERT_RC(PDR_OK, pdr__opbody_read(&back, pdr_buf_str(&text), NULL));
        ASSERT_BYTES(body.name, back.name);
        ASSERT_BYTES(body.trace, back.trace);
        ASSERT_BYTES(body.input, back.input);
        ASSERT((body.input.ptr == NULL) == (back.input.ptr == NULL));
        ASSERT(body.is_known == back.is_known);
        pdr_buf_dispose(&text);
    }
}

TEST(opbody_check, refuses_names_and_traces_that_are_not_plain)
{
    static const struct {
        const char *name, *trace;
    } cases[] = {
        {NULL, NULL},          {"", NULL},      {"a\"b", NULL},
        {"a\\b", NULL},        {"a\nb", NULL},  {"caf\xC3\xA9", NULL},
        {"\x7F", NULL},        {"run", "a\"b"}, {"run", "a\\b"},
        {"run", "\t"},         {"run", "\xFF"}, {TEXT_128 "x", NULL},
        {"run", TEXT_128 "x"},
    };

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        const struct pdr__opbody body = {.name = maybe(cases[i].name),
                                         .trace = maybe(cases[i].trace)};
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID, pdr__opbody_check(&body, &err));
        ASSERT_STR("bad_operation", err.reason);
    }
}

TEST(opbody_read, refuses_what_it_did_not_write)
{
    static const char *const cases[] = {
        "",
        "{}",
        "null",
        "{\"name\":",
        "{\"name\":\"run",
        "{\"name\":\"run\"",
        "{\"name\":\"run\"}x",
        "{\"name\":1}",
        " {\"name\":\"run\"}",
        "{\"name\": \"run\"}",
        "{\"name\":\"run\",\"known\":false}",
        "{\"name\":\"run\",\"trace\":\"t}",
        "{\"name\":\"run\",\"trace\":\"t\",\"known\":true}",
        "{\"name\":\"run\",\"input\":",
        "{\"name\":\"run\",\"input\":}",
        "{\"name\":\"run\",\"input\":12",
        "{\"input\":{},\"name\":\"run\"}",
    };

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        struct pdr__opbody back;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID,
                  pdr__opbody_read(&back, pdr_str_c(cases[i]), &err));
        ASSERT_STR("bad_operation", err.reason);
    }
}

TEST(outcome, has_a_word_for_each_state)
{
    static const struct {
        pdr_operation_state state;
        const char *more, *text;
    } cases[] = {
        {PDR_OPERATION_COMPLETED, NULL, "{\"state\":\"completed\"}"},
        {PDR_OPERATION_FAILED, "\"code\":\"x\",\"n\":1",
         "{\"state\":\"failed\",\"code\":\"x\",\"n\":1}"},
        {PDR_OPERATION_CANCELLED, "", "{\"state\":\"cancelled\"}"},
    };

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        pdr_buf text = PDR_BUF_INIT(400);

        ASSERT_RC(PDR_OK, pdr__outcome_write(&text, cases[i].state,
                                             maybe(cases[i].more), NULL));
        ASSERT_TEXT(cases[i].text, pdr_buf_str(&text));
        ASSERT_INT(cases[i].state, pdr__outcome_state(pdr_buf_str(&text)));
        pdr_buf_dispose(&text);
    }
}

TEST(outcome_state, takes_an_unknown_word_for_an_end)
{
    static const char *const cases[] = {"{\"state\":\"expired\"}",
                                        "{\"state\":\"", "{}", "null", ""};

    for (size_t i = 0; i < PDR_COUNT(cases); i++)
        ASSERT_INT(PDR_OPERATION_COMPLETED,
                   pdr__outcome_state(pdr_str_c(cases[i])));
}

TEST(work_is, compares_kinds)
{
    const pdr_work row = {.kind = pdr_str_n("guarded", 5)};

    ASSERT(pdr__work_is(&row, PDR_WORK_GUARD));
    ASSERT(!pdr__work_is(&row, PDR_WORK_CANCEL));
    ASSERT(!pdr__work_is(&row, "guarded"));
}

TEST_OOM(opbody_write, fails_cleanly_without_memory)
{
    const struct pdr__opbody body = {.name = pdr_str_c("run"),
                                     .trace = pdr_str_c("t"),
                                     .input = pdr_str_c("{}")};
    pdr_buf text = PDR_BUF_INIT(4096);
    pdr_rc rc = pdr__opbody_write(&text, &body, NULL);

    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    rc = pdr__outcome_write(&text, PDR_OPERATION_FAILED,
                            pdr_str_c("\"code\":\"x\""), NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_buf_dispose(&text);
}

TEST(opbody_write, fails_where_there_is_no_room)
{
    const struct pdr__opbody body = {.name = pdr_str_c("run"),
                                     .trace = pdr_str_c("t-1"),
                                     .input = pdr_str_c("[1]"),
                                     .is_known = true};
    static const char text[] =
        "{\"name\":\"run\",\"known\":true,\"trace\":\"t-1\",\"input\":[1]}";

    for (size_t max = 0; max < sizeof(text); max++) {
        pdr_buf out = PDR_BUF_INIT(max);
        pdr_rc rc = pdr__opbody_write(&out, &body, NULL);

        ASSERT_RC(max < sizeof(text) - 1 ? PDR_ELIMIT : PDR_OK, rc);
        pdr_buf_dispose(&out);
    }
}
