/*
 * The client for Chat Completions servers, as far as it needs no server;
 * tests/integration/openai.py has the rest.
 */
#include "agent.h"
#include "test.h"

#define URL "http://127.0.0.1/v1"
#define HEADERS(line)           \
    (const char *const[])       \
    {                           \
        "X-Good: g", line, NULL \
    }

TEST(client_openai, refuses_what_cannot_be_sent)
{
    const pdr_openai_opts wrong[] = {
        {.base_url = "", .model = "m"},
        {.base_url = "http://", .model = "m"},
        {.base_url = "file:///etc/passwd", .model = "m"},
        {.base_url = "ftp://host/v1", .model = "m"},
        {.base_url = "http://user:word@host/v1", .model = "m"},
        {.base_url = "http://host/v1?a=b", .model = "m"},
        {.base_url = "http://host/v1 x", .model = "m"},
        {.base_url = "http://host/\xC3\xA4", .model = "m"},
        {.base_url = URL, .model = ""},
        {.base_url = URL, .model = "\xFF"},
        {.base_url = URL, .model = "m", .api_key = ""},
        {.base_url = URL, .model = "m", .api_key = "sk-1\r\nX: y"},
        {.base_url = URL, .model = "m", .api_key = "sk-\xC3\xA4"},
        {.base_url = URL, .model = "m", .profile = "cloud"},
        {.base_url = URL, .model = "m", .instructions_role = "user"},
        {.base_url = URL, .model = "m", .token_limit_field = "limit"},
        {.base_url = URL, .model = "m", .reasoning_field = "thoughts"},
        {.base_url = URL,
         .model = "m",
         .headers = HEADERS("X-Key: sk-1\r\nA: b")},
        {.base_url = URL,
         .model = "m",
         .headers = HEADERS("X-Key: sk-\xC3\xA4")},
        {.base_url = URL, .model = "m", .headers = HEADERS("X-Key:  ")},
        {.base_url = URL, .model = "m", .headers = HEADERS("X-Key")},
        {.base_url = URL, .model = "m", .headers = HEADERS(": sk-1")},
        {.base_url = URL, .model = "m", .headers = HEADERS("X Key: sk-1")},
        {.base_url = URL,
         .model = "m",
         .headers = HEADERS("content-type: sk-1")},
        {.base_url = URL,
         .model = "m",
         .headers = HEADERS("Content-Length: 1")},
        {.base_url = URL,
         .model = "m",
         .api_key = "sk-1",
         .headers = HEADERS("Authorization: Bearer sk-2")},
    };

    for (size_t i = 0; i < PDR_COUNT(wrong); i++) {
        pdr_client *client = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID, pdr_client_openai(&client, &wrong[i], &err));
        ASSERT_STR("bad_client", err.reason);
        ASSERT(client == NULL);
        ASSERT(strstr(err.message, "sk-") == NULL &&
               strstr(err.message, "word") == NULL);
    }
}

TEST(client_openai, takes_either_scheme_in_any_case)
{
    static const char *const urls[] = {URL "/", "https://host",
                                       "HTTP://h:1/v1"};

    for (size_t i = 0; i < PDR_COUNT(urls); i++) {
        const pdr_openai_opts opts = {
            .base_url = urls[i],
            .model = "m",
            .max_retries = -1,
            .headers = HEADERS("Authorization: Basic c2stMQ==")};
        pdr_client *client = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_OK, pdr_client_openai(&client, &opts, &err));
        ASSERT_STR("openai", client->ops->name);
        pdr_client_free(client);
    }
}

TEST_OOM(client_openai, cleans_up_after_any_failed_allocation)
{
    const pdr_openai_opts opts = {.base_url = URL,
                                  .model = "m",
                                  .api_key = "sk-1",
                                  .headers =
                                      HEADERS("X-Key: one and another secret")};
    pdr_client *client = NULL;
    pdr_rc rc = pdr_client_openai(&client, &opts, NULL);

    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((client != NULL) == (rc == PDR_OK));
    pdr_client_free(client);
}
