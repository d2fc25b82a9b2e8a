/*
 * host_test.h - what the tests of definition files share.
 */
#ifndef PDR_HOST_TEST_H
#define PDR_HOST_TEST_H

#include "test.h"

#define SECRET "planted-7c1e"

/* A pdr_env_fn: what the tests have in their environment. */
static inline const char *test_env(const char *name, void *arg)
{
    (void)arg;
    return strcmp(name, "KEY") == 0     ? SECRET
           : strcmp(name, "URL") == 0   ? "http://localhost:1/" SECRET
           : strcmp(name, "EMPTY") == 0 ? ""
           : strcmp(name, "BAD") == 0   ? "\xFF"
                                        : NULL;
}

/* A pdr_notice_fn: append "line:column severity text\n" to a buffer. */
static inline pdr_rc note(const pdr_notice *notice, pdr_err *err, void *arg)
{
    return pdr_buf_printf(arg, err, "%zu:%zu %s %.*s\n", notice->line,
                          notice->column, pdr_severity_name(notice->severity),
                          (int)notice->text.len, notice->text.ptr);
}

static inline pdr_client *new_client(void)
{
    pdr_client *client = NULL;

    ASSERT_RC(PDR_OK,
              pdr_client_script(&client,
                                pdr_str_c("{\"replies\":[{\"text\":\"ok\"}]}"),
                                NULL));
    return client;
}

static inline pdr_rc tool_nothing(pdr_value **out, const pdr_tool_call *call,
                                  pdr_err *err, void *arg)
{
    (void)out;
    (void)call;
    (void)err;
    (void)arg;
    return PDR_OK;
}

#endif
