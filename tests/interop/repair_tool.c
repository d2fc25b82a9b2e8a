/*
 * repair_tool.c - repairs for Python, for scripts.
 *
 * Reads lines that are each a JSON string with the text of a document, and
 * writes for each a line: the text of the repaired one as a JSON string, or
 * null if the repair is refused.
 */
#include <stdio.h>
#include <stdlib.h>

#include <perdure.h>

#define MAX_LINE (64u << 20)
#define NOW      (PDR_TICKS_UNIX_EPOCH + 1770106500 * PDR_TICKS_PER_SECOND)

static void stop(const char *what, const pdr_err *err)
{
    fprintf(stderr, "repair-tool: %s: %s\n", what, err->message);
    exit(1);
}

/* The repaired text; false if there is none. */
static bool repair(pdr_buf *out, pdr_str text, pdr_err *err)
{
    pdr_write_opts opts = {.layout = PDR_AS_READ};
    pdr_value *before = NULL, *after = NULL;
    pdr_rc rc = pdr_json_read(&before, text, NULL, err);

    if (rc == PDR_OK)
        rc = pdr_state_repair(&after, before, PDR_READER_PYTHON, NOW, err, NULL,
                              NULL);
    if (rc == PDR_OK)
        rc = pdr_json_write(out, after, &opts, err);
    pdr_value_free(after);
    pdr_value_free(before);
    if (rc != PDR_OK && rc != PDR_EINVALID && rc != PDR_EVERSION)
        stop("no repair", err);
    return rc == PDR_OK;
}

static void serve(pdr_str input)
{
    pdr_buf out = PDR_BUF_INIT(MAX_LINE), scratch = PDR_BUF_INIT(MAX_LINE);
    pdr_buf line = PDR_BUF_INIT(MAX_LINE);
    pdr_value *value = NULL, *reply = NULL;
    pdr_str text = {NULL, 0};
    pdr_err err = PDR_ERR_INIT;

    if (pdr_json_read(&value, input, NULL, &err) != PDR_OK ||
        pdr_value_text(&text, value, &scratch, &err) != PDR_OK)
        stop("no JSON string", &err);
    if (!repair(&out, text, &err))
        reply = pdr_value_new_null();
    else if (pdr_value_new_string(&reply, pdr_buf_str(&out), &err) != PDR_OK)
        stop("no text", &err);
    if (pdr_json_write(&line, reply, NULL, &err) != PDR_OK)
        stop("no reply", &err);
    fwrite(line.ptr, 1, line.len, stdout);
    putchar('\n');
    pdr_value_free(reply);
    pdr_value_free(value);
    pdr_buf_dispose(&line);
    pdr_buf_dispose(&scratch);
    pdr_buf_dispose(&out);
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t len = 0;

    while ((len = getline(&line, &room, stdin)) > 0)
        serve(pdr_str_n(line, (size_t)len));
    free(line);
    return 0;
}
