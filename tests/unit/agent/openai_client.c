/*
 * The client for Chat Completions servers, as far as it needs no server;
 * tests/integration/openai.py has the rest.
 */
#include "agent.h"
#include "fake_clock.h"
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

/* The clock says 2023-11-14 22:13:20.250. */
TEST(client_openai, waits_as_long_as_a_server_says)
{
    COVERS("P-13");
    static const struct {
        const char *value;
        int64_t unit, delay;
    } rows[] = {
        {"250", 1, 250},
        {"0.5", 1000, 500},
        {"0", 1000, 0},
        {"2", 1000, 2000},
        {"1.", 1000, 1000},
        {"0.250999", 1000, 250},
        {"999999999999999999999", 1000, INT64_C(9999999999000)},
        {"Tue, 14 Nov 2023 22:13:22 GMT", 1000, 1750},
        {"Tue, 14 Nov 2023 22:13:20 GMT", 1000, 0},
        {"Tue, 14 Nov 1993 22:13:20 GMT", 1000, 0},
        {"", 1000, -1},
        {".5", 1000, -1},
        {"1.5s", 1000, -1},
        {"5 minutes", 1000, -1},
        {"-1", 1000, -1},
        {"Tue, 14 Nov 2023 22:13:22 GMT, or a little later than that, perhaps",
         1000, -1},
    };
    struct fake_clock clock;

    fake_clock_init(&clock, PDR_TICKS_UNIX_EPOCH +
                                INT64_C(1700000000250) * PDR_TICKS_PER_MS);
    for (size_t i = 0; i < PDR_COUNT(rows); i++)
        ASSERT_INT(rows[i].delay, pdr__retry_delay(pdr_str_c(rows[i].value),
                                                   rows[i].unit, &clock.base));
}

static void wake_count(void *arg)
{
    ++*(int *)arg;
}

TEST(cancel, wakes_those_who_still_watch)
{
    int woken[3] = {0, 0, 0};
    struct pdr__cancel_watch watch[] = {{wake_count, &woken[0], NULL},
                                        {wake_count, &woken[1], NULL},
                                        {wake_count, &woken[2], NULL}};
    pdr_cancel *cancel = NULL;

    ASSERT_RC(PDR_OK, pdr_cancel_new(&cancel, NULL));
    for (size_t i = 0; i < 3; i++)
        pdr__cancel_watch(cancel, &watch[i]);
    pdr__cancel_unwatch(cancel, &watch[0]);
    pdr_cancel_set(cancel);
    ASSERT_INT(0, woken[0]);
    ASSERT_INT(1, woken[1]);
    ASSERT_INT(1, woken[2]);
    pdr__cancel_unwatch(cancel, &watch[2]);
    pdr__cancel_unwatch(cancel, &watch[1]);
    pdr_cancel_free(cancel);
    pdr__cancel_watch(NULL, &watch[0]);
    pdr__cancel_unwatch(NULL, &watch[0]);
}

/* A tool may run another agent with what it was given: deadlines in a row. */
TEST(cancel, counts_for_all_that_stand_before_it)
{
    struct pdr__cancel_watch watch = {wake_count, NULL, NULL};
    pdr_cancel *root = NULL, outer, inner;
    int woken = 0;

    ASSERT_RC(PDR_OK, pdr_cancel_new(&root, NULL));
    pdr__cancel_init(&outer, root, 20);
    pdr__cancel_init(&inner, &outer, 600000);
    ASSERT(pdr__cancel_left_ms(&inner, 1000) <= 20);
    ASSERT(pdr_cancel_wait(&inner, 600000));
    ASSERT(pdr__cancel_left_ms(&inner, 1000) == 0);
    watch.arg = &woken;
    pdr__cancel_watch(&inner, &watch);
    pdr_cancel_set(root);
    ASSERT_INT(1, woken);
    pdr__cancel_unwatch(&inner, &watch);
    pdr__cancel_dispose(&inner);
    pdr__cancel_dispose(&outer);
    pdr_cancel_free(root);
}

/* --- any client ----------------------------------------------------------- */

static pdr_rc send_nothing(pdr_client *self, const pdr_client_request *request,
                           pdr_err *err, pdr_update_fn fn, void *arg)
{
    (void)self, (void)request, (void)err, (void)fn, (void)arg;
    return PDR_OK;
}

static void free_nothing(pdr_client *self)
{
    self->ops = NULL;
}

TEST(client, needs_a_table_that_is_whole_and_not_too_new)
{
    static const struct {
        pdr_client_ops ops;
        pdr_rc rc;
        const char *reason;
    } rows[] = {
        {{0, "x", send_nothing, free_nothing}, PDR_EVERSION, "table_version"},
        {{PDR_CLIENT_OPS_VERSION + 1, NULL, send_nothing, free_nothing},
         PDR_EVERSION,
         "table_version"},
        {{1, NULL, send_nothing, free_nothing}, PDR_EMISUSE, "missing_slot"},
        {{1, "x", NULL, free_nothing}, PDR_EMISUSE, "missing_slot"},
        {{1, "x", send_nothing, NULL}, PDR_EMISUSE, "missing_slot"},
        {{1, "x", send_nothing, free_nothing}, PDR_OK, ""},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_client client = {.ops = NULL};
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(rows[i].rc, pdr_client_init(&client, &rows[i].ops, &err));
        if (rows[i].rc != PDR_OK) {
            ASSERT_STR(rows[i].reason, err.reason);
            continue;
        }
        ASSERT(pdr_client_ref(&client) == &client);
        pdr_client_free(&client);
        ASSERT(client.ops != NULL); /* there is another holder */
        pdr_client_free(&client);
        ASSERT(client.ops == NULL);
    }
    ASSERT(pdr_client_ref(NULL) == NULL);
    pdr_client_free(NULL);
}

TEST_OOM(cancel, cleans_up_after_any_failed_allocation)
{
    pdr_cancel *cancel = NULL;
    pdr_rc rc = pdr_cancel_new(&cancel, NULL);

    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((cancel != NULL) == (rc == PDR_OK));
    pdr_cancel_free(cancel);
}
