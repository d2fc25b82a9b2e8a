/*
 * compat_tool.c - the checks for other readers, for scripts.
 *
 * Reads lines {"reader":"python","doc":"<text>"} and writes for each a line
 * {"loads","runs","findings":[{"rule","severity","pointer","text"}]}.
 */
#include <stdio.h>
#include <stdlib.h>

#include <perdure.h>

#define MAX_LINE (64u << 20)

static void stop(const char *what, const pdr_err *err)
{
    fprintf(stderr, "compat-tool: %s: %s\n", what, err->message);
    exit(1);
}

static pdr_rc add_finding(const pdr_doc_finding *finding, pdr_err *err,
                          void *arg)
{
    pdr_builder *to = arg;

    (void)err;
    pdr_builder_object(to);
    pdr_builder_name(to, pdr_str_c("rule"));
    pdr_builder_string(to, pdr_str_c(finding->rule));
    pdr_builder_name(to, pdr_str_c("severity"));
    pdr_builder_string(to, pdr_str_c(pdr_severity_name(finding->severity)));
    pdr_builder_name(to, pdr_str_c("pointer"));
    pdr_builder_string(to, finding->pointer);
    pdr_builder_name(to, pdr_str_c("text"));
    pdr_builder_string(to, finding->text);
    pdr_builder_end(to);
    return PDR_OK;
}

static pdr_rc answer(pdr_builder *to, const pdr_value *line, pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(MAX_LINE);
    pdr_reader reader =
        pdr_value_text_is(pdr_value_get_c(line, "reader"), pdr_str_c("dotnet"))
            ? PDR_READER_DOTNET
            : PDR_READER_PYTHON;
    pdr_reader_verdict verdict = {false, false};
    pdr_str text = {NULL, 0};
    pdr_rc rc =
        pdr_value_text(&text, pdr_value_get_c(line, "doc"), &scratch, err);

    pdr_builder_object(to);
    pdr_builder_name(to, pdr_str_c("findings"));
    pdr_builder_array(to);
    if (rc == PDR_OK)
        rc = pdr_state_check_reader(&verdict, text, reader, err, add_finding,
                                    to);
    pdr_builder_end(to);
    pdr_builder_name(to, pdr_str_c("loads"));
    pdr_builder_bool(to, verdict.loads);
    pdr_builder_name(to, pdr_str_c("runs"));
    pdr_builder_bool(to, verdict.runs);
    pdr_builder_end(to);
    pdr_buf_dispose(&scratch);
    return rc;
}

static void serve(pdr_builder *to, pdr_str input)
{
    pdr_buf out = PDR_BUF_INIT(MAX_LINE);
    pdr_value *line = NULL, *reply = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_json_read(&line, input, NULL, &err) != PDR_OK)
        stop("no JSON line", &err);
    if (answer(to, line, &err) != PDR_OK)
        stop("no verdict", &err);
    if (pdr_builder_finish(&reply, to, &err) != PDR_OK ||
        pdr_json_write(&out, reply, NULL, &err) != PDR_OK)
        stop("no reply", &err);
    fwrite(out.ptr, 1, out.len, stdout);
    putchar('\n');
    pdr_buf_dispose(&out);
    pdr_value_free(reply);
    pdr_value_free(line);
}

int main(void)
{
    pdr_builder *to = NULL;
    pdr_err err = PDR_ERR_INIT;
    char *line = NULL;
    size_t room = 0;
    ssize_t len = 0;

    if (pdr_builder_new(&to, &err) != PDR_OK)
        stop("no builder", &err);
    while ((len = getline(&line, &room, stdin)) > 0)
        serve(to, pdr_str_n(line, (size_t)len));
    free(line);
    pdr_builder_free(to);
    return 0;
}
