/*
 * A client for agent_litellm.py: sends one request, and prints what comes, a
 * line of JSON for each content, then a line with the finish reason.
 *
 *     openai-tool URL MODEL OPTIONS TEXT
 *
 * OPTIONS is an object; the key is in MODEL_KEY.
 */
#include <stdio.h>
#include <stdlib.h>

#include <perdure.h>

static pdr_rc on_update(const pdr_update *update, pdr_err *err, void *arg)
{
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    (void)arg;
    for (size_t i = 0; rc == PDR_OK && i < update->content_count; i++) {
        pdr_buf_clear(&line);
        rc = pdr_json_write(&line, update->contents[i], NULL, err);
        if (rc == PDR_OK)
            printf("%.*s\n", (int)line.len, line.ptr);
    }
    if (rc == PDR_OK && update->finish_reason.len > 0)
        printf("\"%.*s\"\n", (int)update->finish_reason.len,
               update->finish_reason.ptr);
    pdr_buf_dispose(&line);
    return rc;
}

int main(int argc, char **argv)
{
    pdr_openai_opts opts = {.api_key = getenv("MODEL_KEY")};
    pdr_client_request request = {.shape = PDR_SHAPE_DOTNET, .count = 1};
    pdr_request_message message = {.shape = PDR_SHAPE_DOTNET};
    pdr_value *options = NULL, *said = NULL;
    pdr_client *client = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (argc != 5)
        return 2;
    opts.base_url = argv[1];
    opts.model = argv[2];
    rc = pdr_client_openai(&client, &opts, &err);
    if (rc == PDR_OK)
        rc = pdr_json_read(&options, pdr_str_c(argv[3]), NULL, &err);
    if (rc == PDR_OK)
        rc = pdr_message_new_text(&said, PDR_SHAPE_DOTNET, pdr_str_c("user"),
                                  pdr_str_c(argv[4]), &err);
    if (rc == PDR_OK) {
        message.value = said;
        request.messages = &message;
        request.options = options;
        rc = pdr_client_send(client, &request, &err, on_update, NULL);
    }
    if (rc != PDR_OK)
        fprintf(stderr, "%s: %s\n", err.reason, err.message);
    pdr_value_free(said);
    pdr_value_free(options);
    pdr_client_free(client);
    return rc == PDR_OK ? 0 : 1;
}
