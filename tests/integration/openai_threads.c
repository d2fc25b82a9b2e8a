/*
 * The client for model servers where one request is not enough: several
 * threads on one client, a server that is silent, a run that is cancelled.
 *
 * The server is a thread of this program that listens on the loopback.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test.h"

#define THREADS  4
#define REQUESTS 25

static const char answer[] =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    "Content-Length: 111\r\n\r\n"
    "data: {\"choices\":[{\"delta\":{\"content\":\"Hello\"}}]}\n\n"
    "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\n"
    "data: [DONE]\n\n";

struct loopback {
    int socket;
    pthread_t thread;
    size_t connections; /* read it after loopback_close() */
    pdr_client *client; /* of its address */
};

/* Answer the requests of one connection until it is closed. */
static void *serve_connection(void *arg)
{
    int fd = (int)(intptr_t)arg;
    char bytes[4096];
    size_t len = 0;

    for (;;) {
        ssize_t got = read(fd, bytes + len, sizeof(bytes) - 1 - len);

        if (got <= 0)
            break;
        len += (size_t)got;
        bytes[len] = '\0';
        if (strstr(bytes, "\"include_usage\":true}}") == NULL)
            continue; /* not the end of a body yet */
        len = 0;
        if (write(fd, answer, sizeof(answer) - 1) < 0)
            break;
    }
    close(fd);
    return NULL;
}

static void *serve(void *arg)
{
    struct loopback *l = arg;

    for (;;) {
        pthread_t thread;
        int fd = accept(l->socket, NULL, NULL);

        if (fd < 0)
            return NULL; /* shut down */
        l->connections++;
        if (pthread_create(&thread, NULL, serve_connection,
                           (void *)(intptr_t)fd) == 0)
            pthread_detach(thread);
    }
}

/* Listen; with `answers`, somebody is there who answers. */
static void loopback_open(struct loopback *l, bool answers,
                          uint32_t first_byte_ms)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    pdr_openai_opts opts = {.model = "m",
                            .first_byte_timeout_ms = first_byte_ms,
                            .max_retries = -1};
    socklen_t len = sizeof(address);
    char url[64];
    pdr_err err = PDR_ERR_INIT;

    l->connections = 0;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    l->socket = socket(AF_INET, SOCK_STREAM, 0);
    ASSERT(l->socket >= 0);
    ASSERT_INT(0, bind(l->socket, (struct sockaddr *)&address, len));
    ASSERT_INT(0, listen(l->socket, 64));
    ASSERT_INT(0, getsockname(l->socket, (struct sockaddr *)&address, &len));
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/v1",
             ntohs(address.sin_port));
    ASSERT_INT(0, setenv("no_proxy", "*", 1));
    if (answers)
        ASSERT_INT(0, pthread_create(&l->thread, NULL, serve, l));
    opts.base_url = url;
    ASSERT_RC(PDR_OK, pdr_client_openai(&l->client, &opts, &err));
}

static void loopback_close(struct loopback *l, bool answers)
{
    pdr_client_free(l->client);
    shutdown(l->socket, SHUT_RDWR);
    if (answers)
        pthread_join(l->thread, NULL);
    close(l->socket);
}

/* A pdr_update_fn: how many pieces came. */
static pdr_rc on_update(const pdr_update *update, pdr_err *err, void *arg)
{
    (void)update;
    (void)err;
    (*(size_t *)arg)++;
    return PDR_OK;
}

static pdr_rc on_update_refuse(const pdr_update *update, pdr_err *err,
                               void *arg)
{
    (void)update;
    (void)err;
    (*(size_t *)arg)++;
    return PDR_ELIMIT;
}

/* Requests of one thread: how many were answered well. */
static void *ask_often(void *arg)
{
    const pdr_client_request request = {.shape = PDR_SHAPE_DOTNET};
    size_t good = 0;

    for (size_t i = 0; i < REQUESTS; i++) {
        size_t pieces = 0;

        if (pdr_client_send(arg, &request, NULL, on_update, &pieces) ==
                PDR_OK &&
            pieces == 2)
            good++;
    }
    return (void *)(uintptr_t)good;
}

TEST(client_openai, serves_several_threads_at_once)
{
    struct loopback l;
    pthread_t threads[THREADS];

    loopback_open(&l, true, 60000);
    for (size_t i = 0; i < THREADS; i++)
        ASSERT_INT(0, pthread_create(&threads[i], NULL, ask_often, l.client));
    for (size_t i = 0; i < THREADS; i++) {
        void *good = NULL;

        pthread_join(threads[i], &good);
        ASSERT_SIZE(REQUESTS, (uintptr_t)good);
    }
    loopback_close(&l, true);
    ASSERT(l.connections <= THREADS); /* they are used again */
}

TEST(client_openai, ends_with_what_the_callers_function_returned)
{
    const pdr_client_request request = {.shape = PDR_SHAPE_DOTNET};
    size_t pieces = 0;
    struct loopback l;

    loopback_open(&l, true, 60000);
    ASSERT_RC(PDR_ELIMIT, pdr_client_send(l.client, &request, NULL,
                                          on_update_refuse, &pieces));
    ASSERT_SIZE(1, pieces);
    loopback_close(&l, true);
}

TEST(client_openai, gives_up_on_a_server_that_is_silent)
{
    const pdr_client_request request = {.shape = PDR_SHAPE_DOTNET};
    size_t pieces = 0;
    struct loopback l;
    pdr_err err = PDR_ERR_INIT;

    loopback_open(&l, false, 200);
    ASSERT_RC(PDR_EMODEL,
              pdr_client_send(l.client, &request, &err, on_update, &pieces));
    ASSERT_STR("model_network", err.reason);
    ASSERT_SIZE(0, pieces);
    loopback_close(&l, false);
}

static void *cancel_soon(void *arg)
{
    (void)pdr_cancel_wait(NULL, 50);
    pdr_cancel_set(arg);
    return NULL;
}

TEST(client_openai, ends_at_once_when_the_run_is_cancelled)
{
    pdr_client_request request = {.shape = PDR_SHAPE_DOTNET};
    pdr_openai_opts opts = {
        .base_url = "http://127.0.0.1:1/v1", .model = "m", .max_retries = 1000};
    pdr_client *nobody = NULL;
    size_t pieces = 0;
    struct loopback l;
    pthread_t thread;
    pdr_err err = PDR_ERR_INIT;

    loopback_open(&l, false, 600000);
    ASSERT_RC(PDR_OK, pdr_client_openai(&nobody, &opts, &err));
    for (int i = 0; i < 2; i++) { /* in a request, and between two of them */
        ASSERT_RC(PDR_OK, pdr_cancel_new(&request.cancel, &err));
        ASSERT_INT(0,
                   pthread_create(&thread, NULL, cancel_soon, request.cancel));
        ASSERT_RC(PDR_ECANCELLED,
                  pdr_client_send(i == 0 ? l.client : nobody, &request, &err,
                                  on_update, &pieces));
        ASSERT_STR("run_cancelled", err.reason);
        pthread_join(thread, NULL);
        pdr_cancel_free(request.cancel);
    }
    pdr_client_free(nobody);
    loopback_close(&l, false);
}
