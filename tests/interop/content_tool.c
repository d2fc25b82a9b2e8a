/*
 * content_tool.c - the conversion of contents and messages, for scripts.
 *
 * Reads a line of JSON for each job and writes a line for each answer:
 *
 *     {"what":"content","from":"state","to":"python","value":{…}}
 *     {"value":{…}}    or    {"error":"reason: message"}
 *
 * "what" is "content", "message", or "kind": then the answer is the name of the
 * kind in the shape `to`, "" for none.
 */
#define _POSIX_C_SOURCE 200809L /* getline */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <perdure.h>

static bool read_shape(pdr_shape *out, const pdr_value *name)
{
    static const char *const names[] = {"state", "dotnet", "python", "sk"};

    for (int i = 0; i < 4; i++) {
        *out = (pdr_shape)i;
        if (pdr_value_text_is(name, pdr_str_c(names[i])))
            return true;
    }
    return false;
}

static pdr_rc run(pdr_value **out, const pdr_value *job, pdr_err *err)
{
    const pdr_value *what = pdr_value_get_c(job, "what");
    const pdr_value *value = pdr_value_get_c(job, "value");
    pdr_shape from = PDR_SHAPE_STATE, to = PDR_SHAPE_STATE;

    if (value == NULL || !read_shape(&from, pdr_value_get_c(job, "from")) ||
        !read_shape(&to, pdr_value_get_c(job, "to"))) {
        fprintf(stderr, "content_tool: a job needs from, to and value\n");
        exit(2);
    }
    if (pdr_value_text_is(what, pdr_str_c("message")))
        return pdr_message_convert(out, value, from, to, err);
    if (pdr_value_text_is(what, pdr_str_c("content")))
        return pdr_content_convert(out, value, from, to, err);
    return pdr_value_new_string(
        out,
        pdr_str_c(pdr_content_kind_name(pdr_content_kind_of(value, from), to)),
        err);
}

static void answer(pdr_rc rc, const pdr_value *value, const pdr_err *failed)
{
    pdr_write_opts opts = {PDR_BARE_TOKENS, PDR_COMPACT, 0, NULL};
    pdr_buf text = PDR_BUF_INIT(UINT32_MAX);

    if (rc == PDR_OK && pdr_json_write(&text, value, &opts, NULL) == PDR_OK)
        printf("{\"value\":%.*s}\n", (int)text.len, text.ptr);
    else
        printf("{\"error\":\"%s\"}\n", failed->reason);
    fflush(stdout);
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
        pdr_value *job = NULL, *value = NULL;
        pdr_err err = PDR_ERR_INIT;
        pdr_rc rc =
            pdr_json_read(&job, pdr_str_n(line, (size_t)len), &opts, &err);

        if (rc == PDR_OK)
            rc = run(&value, job, &err);
        answer(rc, value, &err);
        pdr_value_free(value);
        pdr_value_free(job);
    }
    free(line);
    return 0;
}
