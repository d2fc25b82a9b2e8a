/*
 * doc_text.h - documents for tests: ' stands for ", and findings as lines.
 */
#ifndef PDR_DOC_TEXT_H
#define PDR_DOC_TEXT_H

#include "test.h"

/* The text with " for each '. Owned: release with free(). */
static inline char *quoted(const char *text)
{
    size_t len = strlen(text);
    char *out = malloc(len + 1);

    ASSERT(out != NULL);
    for (size_t i = 0; i <= len; i++)
        out[i] = (char)(text[i] == '\'' ? '"' : text[i]);
    return out;
}

/* A value from such a text; never fails. */
static inline pdr_value *doc_value(const char *text)
{
    char *copy = quoted(text);
    pdr_value *value = NULL;

    test_pause_failures(true);
    ASSERT_RC(PDR_OK, pdr_json_read(&value, pdr_str_c(copy), NULL, NULL));
    test_pause_failures(false);
    free(copy);
    return value;
}

/* A document with these entries. */
static inline pdr_value *doc_of(const char *entries)
{
    size_t size = strlen(entries) + 100;
    char *text = malloc(size);
    pdr_value *value = NULL;

    ASSERT(text != NULL);
    (void)snprintf(text, size,
                   "{'schemaVersion':'1.1.0','data':"
                   "{'conversationHistory':[%s]}}",
                   entries);
    value = doc_value(text);
    free(text);
    return value;
}

/* Appends "severity rule pointer" and a line end to the pdr_buf. */
static inline pdr_rc note_finding(const pdr_doc_finding *finding, pdr_err *err,
                                  void *arg)
{
    pdr_buf *out = arg;
    pdr_rc rc =
        pdr_buf_printf(out, err, "%s %s ", pdr_severity_name(finding->severity),
                       finding->rule);

    ASSERT(finding->text.len > 0);
    if (rc == PDR_OK)
        rc = pdr_buf_append(out, finding->pointer, err);
    if (rc == PDR_OK)
        rc = pdr_buf_append(out, pdr_str_c("\n"), err);
    return rc;
}

/* Is the value, written as it was read, this text? */
static inline void assert_written(const char *expected, const pdr_value *value)
{
    pdr_write_opts opts = {.layout = PDR_AS_READ};
    pdr_buf text = PDR_BUF_INIT(UINT32_MAX);
    char *wanted = quoted(expected);

    ASSERT_RC(PDR_OK, pdr_json_write(&text, value, &opts, NULL));
    ASSERT_TEXT(wanted, pdr_buf_str(&text));
    free(wanted);
    pdr_buf_dispose(&text);
}

#endif
