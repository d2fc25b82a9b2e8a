/*
 * The client for model servers where a command line is not enough: small time
 * limits, several requests of one client, tools, more headers, options.
 *
 * The server is a thread of this program that listens on the loopback. It has
 * an answer for each request, the last one for all that follow, and keeps what
 * it was sent.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base.h"
#include "test.h"

#define MOST_REQUESTS 8

struct answer {
    const char *text;  /* headers and body */
    int comments;      /* sent after it, 50 ms apart */
    const char *after; /* sent then; NULL: nothing */
    bool stalls;       /* does not hang up */
};

struct server {
    int socket;
    pthread_t thread;
    const struct answer *answers;
    size_t count;
    int stalled;                   /* a connection; -1: none */
    char *requests[MOST_REQUESTS]; /* owned */
    size_t seen;                   /* read it after server_close() */
};

/* All of one request, owned. */
static char *read_request(int fd)
{
    size_t len = 0, cap = 65536;
    char *bytes = calloc(1, cap);
    const char *end = NULL, *length = NULL;

    while (bytes != NULL && len + 1 < cap) {
        ssize_t got = read(fd, bytes + len, cap - len - 1);

        if (got <= 0)
            break;
        len += (size_t)got;
        bytes[len] = '\0';
        end = strstr(bytes, "\r\n\r\n");
        length = strcasestr(bytes, "content-length:");
        if (end != NULL && length != NULL &&
            len >= (size_t)(end - bytes) + 4 + strtoul(length + 15, NULL, 10))
            break;
    }
    return bytes;
}

static void send_text(int fd, const char *text)
{
    (void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
}

static void *serve(void *arg)
{
    struct server *s = arg;

    for (;;) {
        const struct answer *answer = NULL;
        char *request = NULL;
        int fd = accept(s->socket, NULL, NULL);

        if (fd < 0)
            return NULL; /* shut down */
        answer = &s->answers[s->seen < s->count ? s->seen : s->count - 1];
        request = read_request(fd);
        if (s->seen < MOST_REQUESTS)
            s->requests[s->seen++] = request;
        else
            free(request);
        send_text(fd, answer->text);
        for (int i = 0; i < answer->comments; i++) {
            (void)pdr_cancel_wait(NULL, 50);
            send_text(fd, i % 2 == 0 ? ": still here\n" : ":\n\n");
        }
        if (answer->after != NULL)
            send_text(fd, answer->after);
        if (answer->stalls)
            s->stalled = fd;
        else
            close(fd);
    }
}

/* `opts` gets the address; `client` is of it. */
static void server_open(struct server *s, pdr_client **client,
                        pdr_openai_opts opts, const struct answer *answers,
                        size_t count)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t len = sizeof(address);
    char url[64];
    pdr_err err = PDR_ERR_INIT;

    *s = (struct server){.answers = answers, .count = count, .stalled = -1};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    s->socket = socket(AF_INET, SOCK_STREAM, 0);
    ASSERT(s->socket >= 0);
    ASSERT_INT(0, bind(s->socket, (struct sockaddr *)&address, len));
    ASSERT_INT(0, listen(s->socket, 16));
    ASSERT_INT(0, getsockname(s->socket, (struct sockaddr *)&address, &len));
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/v1",
             ntohs(address.sin_port));
    ASSERT_INT(0, setenv("no_proxy", "*", 1));
    ASSERT_INT(0, pthread_create(&s->thread, NULL, serve, s));
    opts.base_url = url;
    opts.model = "m";
    ASSERT_RC(PDR_OK, pdr_client_openai(client, &opts, &err));
}

static void server_close(struct server *s, pdr_client *client)
{
    pdr_client_free(client);
    shutdown(s->socket, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->socket);
    if (s->stalled >= 0)
        close(s->stalled);
}

static void server_forget(struct server *s)
{
    for (size_t i = 0; i < s->seen; i++)
        free(s->requests[i]);
}

#define STREAM                                               \
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" \
    "Connection: close\r\n\r\n"
#define FAILED(status)                                                      \
    "HTTP/1.1 " status " X\r\nContent-Type: application/json\r\nConnection" \
    ": close\r\n"
#define DATA(json) "data: " json "\n\n"
#define TEXT(text) \
    DATA("{\"choices\":[{\"delta\":{\"content\":\"" text "\"}}]}")
#define FINISH(reason) \
    DATA("{\"choices\":[{\"delta\":{},\"finish_reason\":\"" reason "\"}]}")
#define DONE "data: [DONE]\n\n"
#define GOOD STREAM TEXT("Hello") FINISH("stop") DONE
#define CALL(args)                                                         \
    DATA("{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":"  \
         "\"c1\",\"function\":{\"name\":\"f\",\"arguments\":\"" args "\"}" \
         "}]}}]}")

/* A pdr_update_fn: the texts of an answer, one after the other. */
static pdr_rc on_update(const pdr_update *update, pdr_err *err, void *arg)
{
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_str text = {NULL, 0};
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; rc == PDR_OK && i < update->content_count; i++) {
        const pdr_value *value = pdr_content_get(
            update->contents[i], PDR_SHAPE_DOTNET, PDR_FIELD_TEXT);

        if (value == NULL)
            continue;
        rc = pdr_value_text(&text, value, &scratch, err);
        if (rc == PDR_OK)
            rc = pdr_buf_append(arg, text, err);
    }
    pdr_buf_dispose(&scratch);
    return rc;
}

static const pdr_client_request nothing = {.shape = PDR_SHAPE_DOTNET};

/* --- time ----------------------------------------------------------------- */

/* Comments for two seconds, and a limit of one. */
TEST(client_openai, waits_as_long_as_comments_come)
{
    COVERS("P-2");
    static const struct answer answers[] = {
        {STREAM, 40, TEXT("Hello") DONE, false},
        {STREAM TEXT("Hel"), 2, NULL, true},
    };
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    struct server s;
    pdr_client *client = NULL;
    pdr_err err = PDR_ERR_INIT;

    server_open(&s, &client, (pdr_openai_opts){.idle_timeout_ms = 1000},
                answers, 2);
    ASSERT_RC(PDR_OK,
              pdr_client_send(client, &nothing, &err, on_update, &text));
    ASSERT_TEXT("Hello", pdr_buf_str(&text));
    /* Silence is another thing; what came before it was handed over. */
    pdr_buf_clear(&text);
    ASSERT_RC(PDR_EMODEL,
              pdr_client_send(client, &nothing, &err, on_update, &text));
    ASSERT_STR("model_truncated", err.reason);
    ASSERT(strstr(err.message, "nothing came for too long") != NULL);
    ASSERT_TEXT("Hel", pdr_buf_str(&text));
    server_close(&s, client);
    ASSERT_SIZE(2, s.seen);
    server_forget(&s);
    pdr_buf_dispose(&text);
}

TEST(client_openai, tries_no_more_when_the_time_for_it_is_over)
{
    static const struct answer answers[] = {
        {FAILED("503") "Retry-After: 30\r\n\r\n", 0, NULL, false}};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    struct server s;
    pdr_client *client = NULL;
    pdr_err err = PDR_ERR_INIT;

    server_open(&s, &client,
                (pdr_openai_opts){.retry_budget_ms = 20000, .max_retries = 5},
                answers, 1);
    ASSERT_RC(PDR_EMODEL,
              pdr_client_send(client, &nothing, &err, on_update, &text));
    ASSERT_STR("model_server", err.reason);
    server_close(&s, client);
    ASSERT_SIZE(1, s.seen);
    server_forget(&s);
    pdr_buf_dispose(&text);
}

/* --- the end of a stream -------------------------------------------------- */

TEST(client_openai, knows_a_whole_answer_from_half_of_one)
{
    COVERS("P-3");
    static const struct {
        struct answer answer;
        const char *reason; /* NULL: it is whole */
    } rows[] = {
        {{STREAM TEXT("Hel") TEXT("lo") DONE, 0, NULL, false}, NULL},
        {{STREAM TEXT("Hel") TEXT("lo") FINISH("stop"), 0, NULL, false}, NULL},
        {{STREAM TEXT("Hel") TEXT("lo"), 0, NULL, false}, "model_truncated"},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
        struct server s;
        pdr_client *client = NULL;
        pdr_err err = PDR_ERR_INIT;
        pdr_rc rc = PDR_OK;

        server_open(&s, &client, (pdr_openai_opts){.model = NULL},
                    &rows[i].answer, 1);
        rc = pdr_client_send(client, &nothing, &err, on_update, &text);
        ASSERT_RC(rows[i].reason == NULL ? PDR_OK : PDR_EMODEL, rc);
        if (rows[i].reason != NULL)
            ASSERT_STR(rows[i].reason, err.reason);
        ASSERT_TEXT("Hello", pdr_buf_str(&text)); /* half of one, too */
        server_close(&s, client);
        ASSERT_SIZE(1, s.seen);
        server_forget(&s);
        pdr_buf_dispose(&text);
    }
}

/* --- what a server does not take ------------------------------------------ */

TEST(client_openai, remembers_that_a_server_refuses_stream_options)
{
    COVERS("P-12");
    static const struct answer answers[] = {
        {FAILED("400") "\r\n{\"error\":{\"message\":\"Unknown parameter: "
                       "'stream_options'\"}}",
         0, NULL, false},
        {GOOD, 0, NULL, false},
        {GOOD, 0, NULL, false},
        /* Once more would not help: it was sent without them. */
        {FAILED("400") "\r\n{\"error\":\"stream_options\"}", 0, NULL, false},
    };
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    struct server s;
    pdr_client *client = NULL;
    pdr_err err = PDR_ERR_INIT;

    server_open(&s, &client, (pdr_openai_opts){.max_retries = -1}, answers, 4);
    for (int i = 0; i < 2; i++)
        ASSERT_RC(PDR_OK,
                  pdr_client_send(client, &nothing, &err, on_update, &text));
    ASSERT_INT(PDR_OK, err.code); /* although a try failed */
    ASSERT_RC(PDR_EMODEL,
              pdr_client_send(client, &nothing, &err, on_update, &text));
    ASSERT_STR("model_request", err.reason);
    ASSERT_TEXT("HelloHello", pdr_buf_str(&text));
    server_close(&s, client);
    ASSERT_SIZE(4, s.seen);
    for (size_t i = 0; i < s.seen; i++)
        ASSERT((strstr(s.requests[i], "stream_options") != NULL) == (i == 0));
    server_forget(&s);
    pdr_buf_dispose(&text);
}

/* --- tools ---------------------------------------------------------------- */

static pdr_rc tool_count(pdr_value **out, const pdr_tool_call *call,
                         pdr_err *err, void *arg)
{
    (void)call;
    *(int *)arg += 1;
    return pdr_value_new_string(out, pdr_str_c("done"), err);
}

TEST(client_openai, has_calls_that_run_only_when_their_arguments_are_whole)
{
    COVERS("P-8");
    COVERS("P-9");
    static const struct {
        struct answer answers[2];
        int runs;
        const char *result; /* that the model is told */
    } rows[] = {
        {{{STREAM CALL("{\\\"a\\\":") FINISH("tool_calls") DONE, 0, NULL,
           false},
          {GOOD, 0, NULL, false}},
         0,
         "\"content\":\"Error: "},
        {{{STREAM CALL("{\\\"a\\\":1}") FINISH("stop") DONE, 0, NULL, false},
          {GOOD, 0, NULL, false}},
         1,
         "\"content\":\"done\""},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        int runs = 0;
        const pdr_tool tool = {.name = "f", .fn = tool_count, .arg = &runs};
        pdr_agent_parts parts = {
            .name = pdr_str_c("clerk"), .tools = &tool, .tool_count = 1};
        const pdr_run run = {.text = pdr_str_c("go"), .now_ms = 1};
        struct server s;
        pdr_agent *agent = NULL;
        pdr_client *client = NULL;
        pdr_response *response = NULL;
        pdr_err err = PDR_ERR_INIT;

        server_open(&s, &client, (pdr_openai_opts){.model = NULL},
                    rows[i].answers, 2);
        parts.client = client;
        ASSERT_RC(PDR_OK, pdr_agent_new(&agent, &parts, &err));
        ASSERT_RC(PDR_OK, pdr_agent_run(&response, agent, &run, &err));
        ASSERT_INT(rows[i].runs, runs);
        pdr_response_free(response);
        pdr_agent_free(agent);
        server_close(&s, client);
        ASSERT_SIZE(2, s.seen);
        ASSERT(strstr(s.requests[1], rows[i].result) != NULL);
        server_forget(&s);
    }
}

/* --- secrets -------------------------------------------------------------- */

#define KEY     "sk-planted-in-the-key"
#define TOKEN   "planted-in-a-header"
#define OPTION  "planted-in-an-option"
#define SECRETS KEY " " TOKEN

static const char *const ends[] = {"", "-wal", "-shm", "-lock"};

static void remove_store(const char *path)
{
    char name[256];

    for (size_t i = 0; i < PDR_COUNT(ends); i++) {
        snprintf(name, sizeof(name), "%s%s", path, ends[i]);
        (void)unlink(name);
    }
}

/* Is the text in a file of the store? */
static bool files_have(const char *path, const char *text)
{
    bool found = false;

    for (size_t i = 0; i < PDR_COUNT(ends); i++) {
        char name[256], *bytes = malloc(1u << 22);
        FILE *file = NULL;
        size_t len = 0;

        snprintf(name, sizeof(name), "%s%s", path, ends[i]);
        file = fopen(name, "rb");
        ASSERT(bytes != NULL && (file != NULL || i > 0));
        len = file != NULL ? fread(bytes, 1, 1u << 22, file) : 0;
        found |= memmem(bytes, len, text, strlen(text)) != NULL;
        if (file != NULL)
            fclose(file);
        free(bytes);
    }
    return found;
}

TEST(client_openai, keeps_secrets_out_of_the_store_and_of_errors)
{
    static const struct answer answers[] = {
        {GOOD, 0, NULL, false},
        {FAILED("401") "\r\n{\"error\":{\"message\":\"" SECRETS "\"}}", 0, NULL,
         false},
        {FAILED("400") "\r\nBearer:" SECRETS, 0, NULL, false},
        {STREAM DATA("{\"error\":{\"message\":\"" SECRETS "\",\"code\":400}}"),
         0, NULL, false},
        {"HTTP/1.1 200 OK\r\nContent-Type: x/" TOKEN KEY "\r\n\r\n{}", 0, NULL,
         false},
    };
    static const char *const planted[] = {KEY, TOKEN, OPTION};
    const char *const headers[] = {"X-Key: Token " TOKEN, NULL};
    pdr_value *options = NULL;
    pdr_agent_parts parts = {.name = pdr_str_c("clerk")};
    const pdr_ref ref = {.id = pdr_str_c("s"), .tenant = pdr_str_c("default")};
    const pdr_stored_opts create = {.create = true};
    char folder[] = "/tmp/perdure-openai-XXXXXX", path[64], uri[80];
    struct server s;
    pdr_agent *agent = NULL;
    pdr_client *client = NULL;
    pdr_store *store = NULL;
    pdr_stored *stored = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT(mkdtemp(folder) != NULL);
    snprintf(path, sizeof(path), "%s/desk.db", folder);
    snprintf(uri, sizeof(uri), "sqlite:%s", path);
    ASSERT_RC(PDR_OK,
              pdr_json_read(&options, pdr_str_c("{\"user\":\"" OPTION "\"}"),
                            NULL, &err));
    server_open(&s, &client,
                (pdr_openai_opts){
                    .api_key = KEY, .headers = headers, .max_retries = -1},
                answers, PDR_COUNT(answers));
    parts.client = client;
    parts.options = options;
    ASSERT_RC(PDR_OK, pdr_agent_new(&agent, &parts, &err));
    ASSERT_RC(PDR_OK, pdr_store_open(&store, uri, &err));
    ASSERT_RC(PDR_OK, pdr_stored_open(&stored, store, &ref, &create, &err));
    for (size_t i = 0; i < PDR_COUNT(answers); i++) {
        const pdr_run run = {
            .stored = stored, .text = pdr_str_c("hello there"), .now_ms = 1};
        pdr_response *response = NULL;

        ASSERT_RC(i == 0 ? PDR_OK : PDR_EMODEL,
                  pdr_agent_run(&response, agent, &run, &err));
        ASSERT_INT(1, pdr_stored_head(stored)->revision);
        pdr_response_free(response);
        for (size_t k = 0; k < PDR_COUNT(planted); k++) {
            ASSERT(strstr(err.message, planted[k]) == NULL);
            ASSERT(!files_have(path, planted[k]));
        }
    }
    ASSERT(
        files_have(path, "hello there")); /* the search finds what is there */
    pdr_stored_close(stored);
    pdr_store_close(store);
    pdr_agent_free(agent);
    pdr_value_free(options);
    server_close(&s, client);
    ASSERT_SIZE(PDR_COUNT(answers), s.seen);
    for (size_t k = 0; k < PDR_COUNT(planted); k++)
        ASSERT(strstr(s.requests[0], planted[k]) != NULL); /* they were sent */
    server_forget(&s);
    remove_store(path);
    ASSERT_INT(0, rmdir(folder));
}

/* --- memory --------------------------------------------------------------- */

TEST_OOM(client_openai, cleans_up_after_any_failed_allocation_of_a_request)
{
    static const struct answer answers[] = {
        {STREAM CALL("{}") FINISH("stop") DONE, 0, NULL, false}};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    struct server s;
    pdr_client *client = NULL;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    server_open(&s, &client, (pdr_openai_opts){.connect_timeout_ms = 60000},
                answers, 1);
    test_pause_failures(false);
    rc = pdr_client_send(client, &nothing, NULL, on_update, &text);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_buf_dispose(&text);
    server_close(&s, client);
    server_forget(&s);
}
