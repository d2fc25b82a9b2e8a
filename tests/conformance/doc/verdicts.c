/*
 * verdicts.c - what the checks for other readers say, against what the readers
 * did: 254 small inputs that both were given, with what came out.
 */
#include "test.h"

#define VERDICTS "dotnet/durable/90-verdicts.jsonl"
#define INPUTS   254

static size_t complaints;

static bool expected(const pdr_value *line, const char *name)
{
    bool truth = false;

    ASSERT_RC(PDR_OK,
              pdr_value_bool(&truth, pdr_value_get_c(line, name), NULL));
    return truth;
}

static void compare(const pdr_value *line, const char *verdict, bool ours)
{
    pdr_buf scratch = PDR_BUF_INIT(1u << 20);
    pdr_str text = {NULL, 0};

    if (expected(line, verdict) != ours) {
        ASSERT_RC(PDR_OK, pdr_value_text(&text, pdr_value_get_c(line, "doc"),
                                         &scratch, NULL));
        print_error("%s is %s, we say the opposite: %.*s\n", verdict,
                    ours ? "false" : "true", (int)text.len, text.ptr);
        complaints++;
    }
    pdr_buf_dispose(&scratch);
}

static pdr_rc count_finding(const pdr_doc_finding *finding, pdr_err *err,
                            void *arg)
{
    (void)err;
    *(size_t *)arg += finding->severity == PDR_SEVERITY_ERROR;
    return PDR_OK;
}

static void check_line(const pdr_value *line)
{
    pdr_buf scratch = PDR_BUF_INIT(1u << 20);
    pdr_reader_verdict verdict = {false, false};
    pdr_str text = {NULL, 0};
    size_t errors = 0;

    ASSERT_RC(PDR_OK, pdr_value_text(&text, pdr_value_get_c(line, "doc"),
                                     &scratch, NULL));
    ASSERT_RC(PDR_OK, pdr_state_check_reader(&verdict, text, PDR_READER_DOTNET,
                                             NULL, count_finding, &errors));
    compare(line, "dotnet_load", verdict.loads);
    compare(line, "dotnet_run", verdict.runs);
    /* No verdict without a reason. */
    ASSERT(errors > 0 || (verdict.loads && verdict.runs));
    errors = 0;
    ASSERT_RC(PDR_OK, pdr_state_check_reader(&verdict, text, PDR_READER_PYTHON,
                                             NULL, count_finding, &errors));
    compare(line, "python_load", verdict.loads);
    compare(line, "python_run", verdict.runs);
    ASSERT(errors > 0 || (verdict.loads && verdict.runs));
    pdr_buf_dispose(&scratch);
}

TEST(reader_check, says_of_each_input_what_the_readers_did)
{
    size_t len = 0, lines = 0;
    char *all = test_read_data(VERDICTS, &len);
    const char *p = all, *end = all + len;

    COVERS("D-106");
    complaints = 0;
    while (p < end) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        size_t bytes = (size_t)((stop != NULL ? stop : end) - p);
        pdr_value *line = NULL;

        ASSERT_RC(PDR_OK,
                  pdr_json_read(&line, pdr_str_n(p, bytes), NULL, NULL));
        check_line(line);
        pdr_value_free(line);
        lines++;
        p += bytes + (stop != NULL);
    }
    free(all);
    ASSERT_SIZE(INPUTS, lines);
    if (complaints > 0)
        fail_msg("%zu complaints", complaints);
}
