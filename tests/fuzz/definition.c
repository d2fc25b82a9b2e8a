/* Whatever a definition file holds: it is loaded, or refused with a reason and
 * a place inside it; a variable's value shows up in no message, no notice and
 * not in what is kept; what is kept can be written down. */
#include "fuzz.h"

#include <perdure.h>

#define SECRET "planted-3b9d"

static const char *fuzz_env(const char *name, void *arg)
{
    (void)name;
    (void)arg;
    return SECRET;
}

static pdr_rc on_notice(const pdr_notice *notice, pdr_err *err, void *arg)
{
    (void)err;
    (void)arg;
    MUST(notice->line > 0 && notice->column > 0 && notice->text.len > 0);
    MUST(memmem(notice->text.ptr, notice->text.len, SECRET, strlen(SECRET)) ==
         NULL);
    return PDR_OK;
}

static pdr_rc tool_nothing(pdr_value **out, const pdr_tool_call *call,
                           pdr_err *err, void *arg)
{
    (void)out;
    (void)call;
    (void)err;
    (void)arg;
    return PDR_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char replies[] = "{\"replies\":[{\"text\":\"ok\"}]}";
    const pdr_tool tools[] = {{.name = "f", .fn = tool_nothing}};
    const pdr_host_agent *agent = NULL;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_client *client = NULL;
    pdr_host *host = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (memmem(data, size, SECRET, strlen(SECRET)) != NULL)
        return 0; /* the fuzzer has seen it, and writes it itself */
    MUST(pdr_client_script(&client, pdr_str_c(replies), NULL) == PDR_OK);
    MUST(pdr_host_new(&host, NULL) == PDR_OK);
    const pdr_definition definition = {.text = {(const char *)data, size},
                                       .folder = "/nowhere",
                                       .tools = tools,
                                       .tool_count = 1,
                                       .client = client,
                                       .env = fuzz_env};
    rc = pdr_host_load(&agent, host, &definition, &err, on_notice, NULL);
    MUST(rc == PDR_OK || rc == PDR_EINVALID || rc == PDR_ELIMIT);
    MUST((agent != NULL) == (rc == PDR_OK));
    if (rc != PDR_OK) {
        MUST(err.offset >= -1 && err.offset <= (int64_t)size);
        MUST(err.offset >= 0 || rc == PDR_ELIMIT);
        MUST(err.message[0] != '\0' && strstr(err.message, SECRET) == NULL);
    } else {
        MUST(pdr_json_write(&text, agent->definition, NULL, NULL) == PDR_OK);
        MUST(memmem(text.ptr, text.len, SECRET, strlen(SECRET)) == NULL);
    }
    pdr_buf_dispose(&text);
    pdr_host_free(host);
    pdr_client_free(client);
    return 0;
}
