/*
 * glue.c - sockets and HTTP/1.1, by libmicrohttpd; nobody else knows of it.
 *
 *      target ─► exchange    on_target
 *      head   ─► route       on_request, first call
 *      body   ─► bytes       on_request, while it comes
 *      end    ─► step        on_request; here, or suspended and in the pool
 *      reply  ─► pull ...    on_pull, suspended while there is nothing
 *      over                  on_completed
 *
 * WHY  Version 0.9.75, which Debian has, is met as it is:
 *      - It takes requests whose end is told twice. exchange.c refuses them.
 *      - It takes names with blanks before the colon, ends lines at any CR or
 *        LF, and texts at a NUL: another reader would see another request. So
 *        what it shows has to have as many bytes as there were. One case has:
 *        a NUL in the place of a CR. The lines are the same for every reader
 *        that ends them at an LF, so none sees another request.
 *      - It takes a bare CR for the end of a line between chunks, and shows
 *        nothing of these lines. So a request with chunks is the last one of
 *        its connection: what follows it is never taken for another one.
 *      - It does not look at a suspended connection: that its client has left
 *        is noticed when a ping is sent, or, by a stream that has none, when we
 *        look at the socket.
 *      - Its time-out begins anew with each byte. So the time in which a
 *        request has to be there is kept here, and a socket whose client is too
 *        slow is shut down; the library sees its end then. Its own time-out is
 *        for clients that do not read a reply, or stop in a body.
 *      - It must not be stopped while a connection is suspended, and must not
 *        be asked to take no more of them: when it has as many as it may, its
 *        threads and the one that asks both remove the socket, and the second
 *        one ends the process. So it takes them, and they get 503.
 *      - It sends the head of a refusal of its own twice, so what we can refuse
 *        ourselves, as a missing Host, is left to us.
 *      - A stream that is broken off when its connection goes on after a pause
 *        stays open until something happens at the socket. So that of a request
 *        which did not end well is shut down.
 *      - It forgets a request whose query does not fit into its memory: nobody
 *        hears that it is over. So the connection knows its exchange.
 *
 * INVARIANTS
 *   G1  A connection is suspended before anybody else gets its exchange.
 *   G2  What waits, or may take long, is a step in the pool. A callback takes
 *       locks that are held for moments, and reads the store in two cases: a
 *       read that took a moment the last time (quick.c), which waits for a
 *       reader at most as long as somebody reads one page; and, when the server
 *       stops and nothing may be suspended any more, what a reply still has.
 *   G3  A socket is shut down while the library has it, under the lock that it
 *       needs to close it.
 *   G4  A request is counted before it looks whether the server is closed: so
 *       whoever closes it sees each that goes on.
 *   G5  An exchange is over once: when the library says so, or, if it forgets,
 *       when its connection ends.
 */
#include <microhttpd.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http.h"

/* That a body has to bring in a second, or its connection is in the way of
 * others: what the slowest lines have, and twice what Apache asks for. */
#define BODY_RATE 1024

/* A connection, from its first byte to its last. */
struct connection {
    struct pdr__glue *glue;
    struct connection *before, *after; /* in the list */
    int socket;
    struct pdr__exchange *exchange; /* owned; NULL between two requests */
    atomic_llong due_ms; /* monotonic: then its request has to be there;
                            INT64_MAX: one is under way */
};

struct pdr__glue {
    pdr_server *server;
    struct MHD_Daemon *daemon;
    uint32_t head_ms, idle_ms;
    bool is_local, is_open;
    pthread_mutex_t lock;
    struct connection *first; /* guarded by lock */
};

/* --- connections -----------------------------------------------------------
 */

static int64_t now_ms(void)
{
    return pdr__monotonic_ms(pdr__clock_system());
}

/* It is one of these now; NULL: of none. */
static void exchange_count(struct pdr__exchange *x, atomic_uint *among)
{
    if (among != NULL)
        atomic_fetch_add(among, 1);
    if (x->counted != NULL)
        atomic_fetch_sub(x->counted, 1);
    x->counted = among;
}

static void exchange_over(struct connection *c)
{
    struct pdr__exchange *x = c->exchange;

    c->exchange = NULL; /* G5 */
    if (x == NULL)
        return;
    exchange_count(x, NULL);
    pdr__exchange_ended(x);
    pdr__exchange_free(x);
}

/* An MHD_NotifyConnectionCallback. */
static void on_connection(void *arg, struct MHD_Connection *connection,
                          void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct pdr__glue *glue = arg;
    struct connection *c = *context;

    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(
            connection, MHD_CONNECTION_INFO_CONNECTION_FD);

        c = pdr__calloc(1, sizeof(*c));
        if (c == NULL || info == NULL) {
            pdr__free(c);
            return;
        }
        c->glue = glue;
        c->socket = info->connect_fd;
        atomic_init(&c->due_ms, now_ms() + glue->head_ms);
        *context = c;
        (void)pthread_mutex_lock(&glue->lock);
        c->after = glue->first;
        if (c->after != NULL)
            c->after->before = c;
        glue->first = c;
        (void)pthread_mutex_unlock(&glue->lock);
        return;
    }
    if (c == NULL)
        return;
    exchange_over(c);
    (void)pthread_mutex_lock(&glue->lock);
    if (c->before != NULL)
        c->before->after = c->after;
    else
        glue->first = c->after;
    if (c->after != NULL)
        c->after->before = c->before;
    (void)pthread_mutex_unlock(&glue->lock);
    pdr__free(c);
    *context = NULL;
}

/* NULL: there was no memory for it. */
static struct connection *connection_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info != NULL ? info->socket_context : NULL;
}

/* The time in which its client has to do something. */
static void connection_due(struct MHD_Connection *connection, int64_t due_ms)
{
    struct connection *c = connection_of(connection);

    if (c != NULL)
        atomic_store(&c->due_ms, due_ms);
}

void pdr__glue_reap(struct pdr__glue *glue, int64_t now)
{
    (void)pthread_mutex_lock(&glue->lock);
    for (struct connection *c = glue->first; c != NULL; c = c->after) {
        if (atomic_load(&c->due_ms) > now)
            continue;
        (void)shutdown(c->socket, SHUT_RDWR); /* G3 */
        atomic_store(&c->due_ms, INT64_MAX);
    }
    (void)pthread_mutex_unlock(&glue->lock);
}

bool pdr__glue_has_left(const struct pdr__exchange *x)
{
    const struct connection *c = connection_of(x->connection);
    struct pollfd one = {.fd = c != NULL ? c->socket : -1, .events = POLLRDHUP};

    return poll(&one, 1, 0) > 0;
}

/* --- headers ---------------------------------------------------------------
 */

pdr_str pdr__header(const struct pdr__exchange *x, const char *name)
{
    const char *value =
        MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);

    return value != NULL ? pdr_str_c(value) : pdr_str_n(NULL, 0);
}

/* Bytes that methods and names of headers have. */
static bool is_token(const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        if (!(*c >= '0' && *c <= '9') && !(*c >= 'a' && *c <= 'z') &&
            !(*c >= 'A' && *c <= 'Z') && strchr("!#$%&'*+-.^_`|~", *c) == NULL)
            return false;
    }
    return *text != '\0';
}

/* No control character but tabs? */
static bool is_field(const char *text)
{
    for (const unsigned char *c = (const void *)text; *c != '\0'; c++) {
        if ((*c < 0x20 && *c != '\t') || *c == 0x7F)
            return false;
    }
    return true;
}

/* An MHD_KeyValueIterator. */
static enum MHD_Result on_header(void *arg, enum MHD_ValueKind kind,
                                 const char *name, const char *value)
{
    struct pdr__framing *f = arg;
    const size_t name_len = strlen(name);

    (void)kind;
    if (strcasecmp(name, "Host") == 0)
        f->hosts++;
    else if (strcasecmp(name, "Content-Length") == 0)
        f->lengths++;
    else if (strcasecmp(name, "Transfer-Encoding") == 0)
        f->encodings++;
    else if (strcasecmp(name, "Authorization") == 0)
        f->keys++;
    if (!is_token(name) || value == NULL || !is_field(value) ||
        (uintptr_t)value <= (uintptr_t)name + name_len) {
        f->is_odd = true;
        return MHD_NO;
    }
    /* Name, colon, blanks, value and line end lie behind each other. */
    f->bytes += (uintptr_t)value - (uintptr_t)name + strlen(value) + 2;
    return MHD_YES;
}

struct pdr__framing pdr__glue_framing(const struct pdr__exchange *x,
                                      pdr_str method)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(
        x->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    struct pdr__framing f = {.bytes = method.len + x->target.len +
                                      sizeof("  HTTP/1.1\r\n\r\n") - 1};

    (void)MHD_get_connection_values(x->connection, MHD_HEADER_KIND, on_header,
                                    &f);
    f.is_odd |=
        !is_token(method.ptr) || info == NULL || info->header_size != f.bytes;
    return f;
}

/* --- replies ---------------------------------------------------------------
 */

/* An MHD_ContentReaderCallback. */
static ssize_t on_pull(void *arg, uint64_t at, char *out, size_t room)
{
    struct pdr__exchange *x = arg;
    ssize_t count = 0;

    (void)at;
    if (!pdr__auth_holds(x)) { /* the key was revoked */
        pdr__metrics_dropped(x->server->metrics);
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    while (count == 0) {
        x->wait.is_set = false;
        count = x->reply.pull(x, out, room);
        if (count == 0 && pdr__live_hold(x->server->live, x))
            return 0;
        if (count == 0 && x->reply.fill != NULL) /* it stops (G2) */
            (void)x->reply.fill(x);
    }
    if (count == -1)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (count < 0)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    x->sent += (uint64_t)count;
    return count;
}

#define PULL_BYTES 1024 /* of a stream at once: it is memory of each */

/* Of every reply, unless its handler says something else: what browsers may do
 * with it. No header lets a page of another origin read it. */
static const struct {
    const char *name, *value;
} usual[] = {
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cache-Control", "no-store"},
    {"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"}};

static void headers_add(struct MHD_Response *response,
                        const struct pdr__exchange *x)
{
    const char *at = x->reply.headers.ptr;
    const char *end = at != NULL ? at + x->reply.headers.len : NULL;

    while (at < end) {
        const char *value = at + strlen(at) + 1;

        (void)MHD_add_response_header(response, at, value);
        at = value + strlen(value) + 1;
    }
    if (x->reply.type != NULL)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                      x->reply.type);
    for (size_t i = 0; i < PDR_COUNT(usual); i++) {
        if (MHD_get_response_header(response, usual[i].name) == NULL)
            (void)MHD_add_response_header(response, usual[i].name,
                                          usual[i].value);
    }
    if (x->reply.closes || x->is_last || atomic_load(&x->server->is_stopping))
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION,
                                      "close");
}

static enum MHD_Result reply_send(struct pdr__exchange *x)
{
    struct MHD_Response *response = NULL;
    enum MHD_Result result = MHD_NO;

    x->stage = PDR_STAGE_SENT;
    exchange_count(x, &x->server->replying);
    if (x->reply.pull != NULL && !x->is_head)
        response = MHD_create_response_from_callback(
            MHD_SIZE_UNKNOWN, PULL_BYTES, on_pull, x, NULL);
    else
        response = MHD_create_response_from_buffer(
            x->reply.body.len, x->reply.body.ptr, MHD_RESPMEM_PERSISTENT);
    if (response == NULL)
        return MHD_NO;
    x->sent += x->reply.pull == NULL ? x->reply.body.len : 0;
    headers_add(response, x);
    result = MHD_queue_response(x->connection, x->reply.status, response);
    MHD_destroy_response(response);
    return result;
}

void pdr__glue_resume(struct pdr__exchange *x)
{
    MHD_resume_connection(x->connection);
}

void pdr__glue_suspend(struct pdr__exchange *x)
{
    MHD_suspend_connection(x->connection); /* G1 */
}

/* --- requests --------------------------------------------------------------
 */

/* Called with the target as it came; gives the exchange. */
static void *on_target(void *arg, const char *target,
                       struct MHD_Connection *connection)
{
    struct pdr__glue *glue = arg;
    pdr_server *server = glue->server;
    const size_t len = strlen(target);
    struct connection *c = connection_of(connection);
    struct pdr__exchange *x =
        c != NULL ? pdr__calloc(1, sizeof(*x) + len + 1) : NULL;
    const pdr_buf none = PDR_BUF_INIT(SIZE_MAX);

    if (x == NULL)
        return NULL;
    exchange_over(c);
    c->exchange = x;
    x->server = server;
    x->connection = connection;
    x->is_local = glue->is_local;
    x->is_open = glue->is_open;
    x->number = atomic_fetch_add(&server->requests, 1) + 1;
    x->begun_ms = now_ms();
    x->memory = (struct pdr__arena)PDR_ARENA_SMALL;
    x->body = (pdr_buf)PDR_BUF_INIT(server->opts.max_body_bytes);
    x->reply.body = x->reply.headers = none;
    x->tenant = pdr_str_c(server->opts.tenant);
    memcpy(x->room, target, len + 1);
    x->target = pdr_str_n(x->room, len);
    return x;
}

static enum MHD_Result head_take(struct pdr__exchange *x, const char *method)
{
    const bool is_begun = pdr__exchange_begin(x, pdr_str_c(method));

    x->stage = PDR_STAGE_BODY;
    if (is_begun && x->route->max_body != 0)
        x->body = (pdr_buf)PDR_BUF_INIT(x->route->max_body);
    if (is_begun || (!x->reply.closes && pdr__header(x, "Expect").ptr == NULL))
        return MHD_YES; /* a refusal goes when the body is there */
    connection_due(x->connection, INT64_MAX);
    return reply_send(x);
}

static enum MHD_Result body_take(struct pdr__exchange *x, const char *bytes,
                                 size_t *count)
{
    /* What comes after a refusal is read and dropped: a client that still
     * sends would not read it. */
    if (x->reply.status == 0 &&
        pdr_buf_append(&x->body, pdr_str_n(bytes, *count), NULL) != PDR_OK) {
        pdr_buf_dispose(&x->body);
        pdr__reply_refuse(x, 413, "the body of the request is too large");
        x->reply.closes = true;
    }
    if (x->reply.status == 0)
        connection_due(x->connection,
                       x->begun_ms + x->server->opts.head_ms +
                           (int64_t)(x->body.len * 1000 / BODY_RATE));
    *count = 0;
    return MHD_YES;
}

/* All of it is there: carry it out. */
static enum MHD_Result request_run(struct pdr__exchange *x)
{
    struct pdr__live *live = x->server->live;

    connection_due(x->connection, INT64_MAX);
    exchange_count(x, &x->server->under_way); /* G4 */
    if (x->reply.status == 0 && atomic_load(&x->server->is_closed))
        pdr__reply_refuse(x, 503, "the server stops");
    if (x->reply.status != 0)
        return reply_send(x);
    x->stage = PDR_STAGE_AWAY;
    x->is_here =
        !x->route->is_away || (!x->route->is_long && pdr__quick_knows(x));
    if (!x->is_here) {
        pdr__glue_suspend(x);
        if (pdr__live_work(live, x))
            return MHD_YES;
        pdr__reply_refuse(x, 429, "too many requests are under way");
        MHD_resume_connection(x->connection);
        return MHD_YES;
    }
    if (pdr__exchange_step(x))
        return reply_send(x);
    x->is_here = false; /* what follows is a step in the pool */
    pdr__glue_suspend(x);
    pdr__live_wait(live, x);
    return MHD_YES;
}

/* An MHD_AccessHandlerCallback. */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection,
                                  const char *url, const char *method,
                                  const char *version, const char *bytes,
                                  size_t *count, void **context)
{
    struct pdr__exchange *x = *context;

    (void)arg;
    (void)connection;
    (void)url;
    (void)version;
    if (x == NULL)
        return MHD_NO; /* no memory */
    switch (x->stage) {
    case PDR_STAGE_HEAD:
        return head_take(x, method);
    case PDR_STAGE_BODY:
        if (*count > 0)
            return body_take(x, bytes, count);
        return request_run(x);
    case PDR_STAGE_AWAY:
        return x->reply.status != 0 ? reply_send(x) : MHD_YES;
    case PDR_STAGE_SENT:
        break;
    }
    return MHD_NO;
}

/* An MHD_RequestCompletedCallback. */
static void on_completed(void *arg, struct MHD_Connection *connection,
                         void **context, enum MHD_RequestTerminationCode code)
{
    struct pdr__glue *glue = arg;
    struct connection *c = connection_of(connection);

    *context = NULL;
    if (c == NULL)
        return;
    if (code == MHD_REQUEST_TERMINATED_TIMEOUT_REACHED && c->exchange != NULL &&
        c->exchange->reply.pull != NULL) /* its client reads nothing */
        pdr__metrics_dropped(glue->server->metrics);
    atomic_store(&c->due_ms, code == MHD_REQUEST_TERMINATED_COMPLETED_OK
                                 ? now_ms() + glue->idle_ms
                                 : 0);
    exchange_over(c);
}

/* Parts of the path are decoded later, one by one. */
static size_t on_unescape(void *arg, struct MHD_Connection *connection,
                          char *text)
{
    (void)arg;
    (void)connection;
    return strlen(text);
}

/* --- the daemon ------------------------------------------------------------
 */

pdr_rc pdr__glue_new(struct pdr__glue **out, pdr_server *server, int listener,
                     const struct pdr__glue_opts *opts, pdr_err *err)
{
    struct pdr__glue *glue = pdr__calloc(1, sizeof(*glue));
    const unsigned flags =
        MHD_USE_EPOLL_INTERNALLY | MHD_USE_SUSPEND_RESUME | MHD_USE_TURBO;

    *out = NULL;
    if (glue == NULL)
        return pdr__nomem(err);
    glue->server = server;
    glue->head_ms = opts->head_ms;
    glue->idle_ms = opts->idle_ms;
    glue->is_local = opts->is_local;
    glue->is_open = opts->is_open;
    (void)pthread_mutex_init(&glue->lock, NULL);
    glue->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, glue, MHD_OPTION_LISTEN_SOCKET,
        listener, MHD_OPTION_CONNECTION_LIMIT, opts->max_connections,
        MHD_OPTION_CONNECTION_TIMEOUT, (opts->idle_ms + 999) / 1000,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, opts->connection_bytes,
        MHD_OPTION_THREAD_POOL_SIZE, opts->threads, MHD_OPTION_URI_LOG_CALLBACK,
        on_target, glue, MHD_OPTION_UNESCAPE_CALLBACK, on_unescape, NULL,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, glue,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, glue, MHD_OPTION_END);
    if (glue->daemon == NULL) {
        (void)pthread_mutex_destroy(&glue->lock);
        pdr__free(glue);
        return PDR_FAIL(err, CANNOT_LISTEN, "%s",
                        "the server cannot be started: are there enough file "
                        "descriptors and threads?");
    }
    *out = glue;
    return PDR_OK;
}

void pdr__glue_free(struct pdr__glue *glue)
{
    if (glue == NULL)
        return;
    MHD_stop_daemon(glue->daemon);
    (void)pthread_mutex_destroy(&glue->lock);
    pdr__free(glue);
}
