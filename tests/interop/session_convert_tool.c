/*
 * session_convert_tool.c - the conversion of sessions, for scripts.
 *
 * Reads a line of JSON for each job and writes a line for each answer:
 *
 *     {"to":"python-1.21","value":{…}}
 *     {"value":{…},"findings":["info id-minted ",…]}    or
 *     {"error":"reason"}
 */
#define _POSIX_C_SOURCE 200809L /* getline */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <perdure.h>

static bool read_shape(pdr_session_shape *out, const pdr_value *name)
{
    for (int i = PDR_SESSION_NATIVE; i <= PDR_SESSION_PYTHON_OLD; i++) {
        *out = (pdr_session_shape)i;
        if (pdr_value_text_is(name, pdr_str_c(pdr_session_shape_name(*out))))
            return true;
    }
    return false;
}

/* Adds "severity rule pointer" to a list. */
static pdr_rc add_finding(const pdr_doc_finding *finding, pdr_err *err,
                          void *arg)
{
    pdr_value **list = arg;
    pdr_buf text = PDR_BUF_INIT(UINT32_MAX);
    pdr_value *line = NULL;
    pdr_rc rc = pdr_buf_printf(
        &text, err, "%s %s %.*s", pdr_severity_name(finding->severity),
        finding->rule, (int)finding->pointer.len, finding->pointer.ptr);

    if (rc == PDR_OK)
        rc = pdr_value_new_string(&line, pdr_buf_str(&text), err);
    if (rc == PDR_OK)
        rc = pdr_value_append(list, line, err);
    pdr_value_free(line);
    pdr_buf_dispose(&text);
    return rc;
}

static pdr_rc run(pdr_value **out, pdr_value **findings, const pdr_value *job,
                  pdr_err *err)
{
    const pdr_value *value = pdr_value_get_c(job, "value");
    pdr_session_convert_opts opts = {PDR_SESSION_NATIVE, {NULL, 0}, {NULL, 0}};
    pdr_session *session = NULL, *made = NULL;
    pdr_rc rc = PDR_OK;

    if (value == NULL || !read_shape(&opts.to, pdr_value_get_c(job, "to"))) {
        fprintf(stderr, "session_convert_tool: a job needs to and value\n");
        exit(2);
    }
    rc = pdr_session_from_value(&session, value, err);
    if (rc == PDR_OK)
        rc = pdr_session_convert(&made, session, &opts, err, add_finding,
                                 findings);
    if (rc == PDR_OK)
        rc = pdr_session_to_value(out, made, err);
    pdr_session_free(made);
    pdr_session_free(session);
    return rc;
}

static void print(const char *before, const pdr_value *value)
{
    pdr_write_opts opts = {PDR_BARE_TOKENS, PDR_COMPACT, 0, NULL};
    pdr_buf text = PDR_BUF_INIT(UINT32_MAX);

    if (pdr_json_write(&text, value, &opts, NULL) != PDR_OK)
        exit(2);
    printf("%s%.*s", before, (int)text.len, text.ptr);
    pdr_buf_dispose(&text);
}

int main(void)
{
    pdr_read_opts opts = {0};
    char *line = NULL;
    size_t room = 0;
    ssize_t len = 0;

    opts.flags = PDR_BARE_TOKENS;
    opts.max_depth = 1024;
    while ((len = getline(&line, &room, stdin)) > 0) {
        pdr_value *job = NULL, *value = NULL, *told = pdr_value_new_array();
        pdr_err err = PDR_ERR_INIT;
        pdr_rc rc =
            pdr_json_read(&job, pdr_str_n(line, (size_t)len), &opts, &err);

        if (rc == PDR_OK)
            rc = run(&value, &told, job, &err);
        if (rc == PDR_OK) {
            print("{\"value\":", value);
            print(",\"findings\":", told);
            printf("}\n");
        } else {
            printf("{\"error\":\"%s\"}\n", err.reason);
        }
        fflush(stdout);
        pdr_value_free(told);
        pdr_value_free(value);
        pdr_value_free(job);
    }
    free(line);
    return 0;
}
