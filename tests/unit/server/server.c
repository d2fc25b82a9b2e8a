/* Servers: where they listen, and whom they let. */
#include "hook_store.h"
#include "http_place.h"
#include "room.h"
#include "test.h"

#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <perdure/server.h>

#include "http.h"

static const char key[] =
    "{\"id\":\"a\",\"sha256\":"
    "\"00000000000000000000000000000000000000000000000000000000000000ff\","
    "\"scopes\":[\"read\"],\"tenant\":\"t\",\"created\":\"2026-01-02\"}\n";

struct bench {
    struct room room;
    pdr_store *store;
    pdr_service *service;
    pdr_server *server;
    pdr_err err;
};

static void bench_begin(struct bench *b)
{
    pdr_service_opts opts = {.count = 0};

    *b = (struct bench){.err = PDR_ERR_INIT};
    room_enter(&b->room);
    room_put_c(&b->room, "keys", key);
    ASSERT_INT(0, chmod(room_path(&b->room, "keys"), 0600));
    ASSERT_RC(PDR_OK, pdr_store_open(&b->store, "memory:", &b->err));
    opts.store = b->store;
    ASSERT_RC(PDR_OK, pdr_service_new(&b->service, &opts, &b->err));
}

static void bench_end(struct bench *b)
{
    pdr_server_free(b->server);
    pdr_service_free(b->service);
    pdr_store_close(b->store);
    room_leave(&b->room);
}

static pdr_rc server_make(struct bench *b, const char *address, bool has_keys)
{
    const char *listen[] = {address, NULL};
    char keys[600];
    const pdr_server_opts opts = {.listen = listen,
                                  .keys = has_keys ? keys : NULL};

    snprintf(keys, sizeof(keys), "%s", room_path(&b->room, "keys"));
    return pdr_server_new(&b->server, b->service, &opts, &b->err);
}

static const struct {
    const char *address, *reason; /* why not; NULL: it can */
    bool has_keys;
} addresses[] = {
    {"127.0.0.1:0", NULL, false},
    {"127.9.9.9:0", NULL, false},
    {"localhost:0", NULL, false},
    {"0.0.0.0:0", "open_address", false},
    {"0.0.0.0:0", NULL, true},
    {"[::]:0", "open_address", false},
    {"192.0.2.1:0", "open_address", false},
    {"127.0.0.1", "bad_address", false},
    {"127.0.0.1:", "bad_address", false},
    {":80", "bad_address", true},
    {"::1:80", "bad_address", true},
    {"127.0.0.1:http", "bad_address", true},
    {"", "bad_address", true},
};

TEST(server_new, listens_where_others_cannot_unless_it_has_keys)
{
    struct bench b;

    bench_begin(&b);
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
        pdr_rc rc = pdr_server_address_check(addresses[i].address,
                                             addresses[i].has_keys, &b.err);

        ASSERT((rc == PDR_OK) == (addresses[i].reason == NULL));
        if (rc != PDR_OK)
            ASSERT_STR(addresses[i].reason, b.err.reason);
        ASSERT_RC(rc,
                  server_make(&b, addresses[i].address, addresses[i].has_keys));
        if (rc == PDR_OK)
            ASSERT(strcmp(":0",
                          strrchr(pdr_server_address(b.server, 0), ':')) != 0);
        pdr_server_free(b.server);
        b.server = NULL;
    }
    bench_end(&b);
}

TEST(server_new, has_the_limits_that_its_header_promises)
{
    struct bench b;
    const pdr_server_opts *opts = NULL;

    bench_begin(&b);
    ASSERT_RC(PDR_OK, server_make(&b, "127.0.0.1:0", false));
    opts = &b.server->opts;
    ASSERT_INT(15000, opts->ping_ms);
    ASSERT_INT(10000, opts->head_ms);
    ASSERT_INT(30000, opts->wait_ms);
    ASSERT_INT(64 << 20, opts->max_body_bytes);
    ASSERT_INT(20000, opts->max_connections);
    ASSERT_INT(16, opts->threads);
    ASSERT_INT(4096, opts->max_queue);
    bench_end(&b);
}

TEST(server_new, says_where_it_cannot_listen)
{
    struct bench b;
    char address[700];

    bench_begin(&b);
    snprintf(address, sizeof(address), "unix:%s",
             room_path(&b.room, "none/socket"));
    ASSERT_RC(PDR_EIO, server_make(&b, address, false));
    ASSERT_STR("cannot_listen", b.err.reason);
    bench_end(&b);
}

TEST(server_keys, stay_when_the_file_is_broken)
{
    struct bench b;

    bench_begin(&b);
    ASSERT_RC(PDR_OK, server_make(&b, "127.0.0.1:0", true));
    ASSERT_RC(PDR_OK, pdr_server_reload_keys(b.server, &b.err));
    room_put_c(&b.room, "keys", "{}");
    ASSERT_RC(PDR_EINVALID, pdr_server_reload_keys(b.server, &b.err));
    ASSERT_STR("bad_key_file", b.err.reason);
    pdr_server_free(b.server);
    b.server = NULL;
    ASSERT_RC(PDR_EINVALID, server_make(&b, "127.0.0.1:0", true));
    ASSERT_RC(PDR_OK, server_make(&b, "127.0.0.1:0", false));
    ASSERT_RC(PDR_OK, pdr_server_reload_keys(b.server, &b.err));
    bench_end(&b);
}

TEST(server_run, that_took_longer_than_it_may_is_told_as_a_timeout)
{
    static const char request[] =
        "POST /api/v1/sessions/%40dafx-harbour%40k/runs HTTP/1.1\r\n"
        "Host: localhost\r\nConnection: close\r\nContent-Length: 16\r\n\r\n"
        "{\"message\":\"Hi\"}";
    struct http_place place;
    pdr_err err = PDR_ERR_INIT;
    char text[4000];
    int fd = -1;

    ASSERT_RC(PDR_OK, http_place_begin(&place,
                                       "{\"replies\":[{\"text\":[\"a\",\"b\"],"
                                       "\"delay_ms\":60000}]}",
                                       1, &err));
    fd = http_place_connect(&place);
    ASSERT(fd >= 0 && http_send(fd, request, sizeof(request) - 1));
    (void)http_receive(fd, text, sizeof(text), 60000);
    ASSERT(strncmp(text, "HTTP/1.1 504 ", 13) == 0);
    ASSERT(strstr(text, "\"/problems/timeout\"") != NULL);
    ASSERT(strstr(text, "\"run_timeout\"") != NULL);
    (void)close(fd);
    http_place_end(&place);
}

/* --- a pool that is at its limit -------------------------------------------
 */

/* Commits wait there. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_shut;
    unsigned waiting;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .changed = PTHREAD_COND_INITIALIZER};

/* A hook_fn. */
static pdr_rc gate_pass(pdr_store *store, const pdr_edit *edit, void *arg)
{
    (void)store;
    (void)edit;
    (void)arg;
    (void)pthread_mutex_lock(&gate.lock);
    gate.waiting++;
    (void)pthread_cond_broadcast(&gate.changed);
    while (gate.is_shut)
        (void)pthread_cond_wait(&gate.changed, &gate.lock);
    gate.waiting--;
    (void)pthread_mutex_unlock(&gate.lock);
    return PDR_OK;
}

static void gate_set(bool is_shut)
{
    (void)pthread_mutex_lock(&gate.lock);
    gate.is_shut = is_shut;
    (void)pthread_cond_broadcast(&gate.changed);
    (void)pthread_mutex_unlock(&gate.lock);
}

static void gate_await(void)
{
    (void)pthread_mutex_lock(&gate.lock);
    while (gate.waiting == 0)
        (void)pthread_cond_wait(&gate.changed, &gate.lock);
    (void)pthread_mutex_unlock(&gate.lock);
}

static int ask(const struct http_place *place, const char *what)
{
    char text[200];
    int fd = http_place_connect(place);

    snprintf(text, sizeof(text),
             "%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
             "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
             what);
    ASSERT(fd >= 0 && http_send(fd, text, strlen(text)));
    return fd;
}

/* The status of a reply, whose text goes to `text`. */
static int told(char text[4000], int fd)
{
    int status = 0;

    (void)http_receive(fd, text, 4000, 60000);
    ASSERT_INT(1, sscanf(text, "HTTP/1.1 %d ", &status));
    (void)close(fd);
    return status;
}

#define QUEUE 2 /* that wait for the one thread */
#define OVER  3 /* more than that */

TEST(server_queue, refuses_what_is_more_than_may_wait_and_says_when_to_come)
{
    struct http_place place;
    struct pollfd asked[QUEUE + OVER];
    pdr_err err = PDR_ERR_INIT;
    static const char make[] = "POST /api/v1/sessions";
    char text[4000];
    int first = -1, refused = 0;

    ASSERT_RC(PDR_OK, http_place_begin_on(&place, hook_open(gate_pass, NULL),
                                          "{\"replies\":[{\"text\":\"a\"}]}",
                                          &(const pdr_server_opts){
                                              .threads = 1, .max_queue = QUEUE},
                                          &err));
    gate_set(true);
    first = ask(&place, make);
    gate_await();
    for (size_t i = 0; i < QUEUE + OVER; i++)
        asked[i] = (struct pollfd){.fd = ask(&place, make), .events = POLLIN};
    while (refused < OVER) {
        ASSERT(poll(asked, QUEUE + OVER, 60000) > 0);
        for (size_t i = 0; i < QUEUE + OVER; i++) {
            if ((asked[i].revents & POLLIN) == 0)
                continue;
            ASSERT_INT(429, told(text, asked[i].fd));
            ASSERT(strstr(text, "\r\nRetry-After: 1\r\n") != NULL);
            ASSERT(strstr(text, "\"/problems/quota\"") != NULL);
            asked[i].fd = -1; /* poll() leaves it out */
            refused++;
        }
    }
    /* Who needs no thread of the pool does not wait for one. */
    ASSERT_INT(200, told(text, ask(&place, "GET /healthz")));
    gate_set(false);
    ASSERT_INT(201, told(text, first));
    for (size_t i = 0; i < QUEUE + OVER; i++)
        if (asked[i].fd >= 0)
            ASSERT_INT(201, told(text, asked[i].fd));
    http_place_end(&place);
}

TEST_OOM(server_new, cleans_up_after_any_failed_allocation)
{
    struct bench b;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    bench_begin(&b);
    test_pause_failures(false);
    rc = server_make(&b, "127.0.0.1:0", true);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((b.server != NULL) == (rc == PDR_OK));
    if (rc == PDR_OK)
        rc = pdr_server_reload_keys(b.server, &b.err);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    bench_end(&b);
}
