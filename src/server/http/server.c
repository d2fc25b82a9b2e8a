/*
 * server.c - a server as a whole: where it listens, how it begins and ends.
 *
 *      stop:  not ready ─► no new runs and turns ─► these end ─► no new
 * requests ─► what waits is told, streams end ─► replies are read ─► the
 *             library is stopped
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "http.h"

#include "engine.h"

#define DEFAULT_BODY        ((size_t)64 << 20)
#define DEFAULT_CONNECTIONS 20000
#define DEFAULT_THREADS     16
#define DEFAULT_MODE        0600 /* of a unix socket */
#define DEFAULT_QUEUE       4096
#define DEFAULT_PING_MS     15000
#define DEFAULT_HEAD_MS     10000
#define IDLE_HEADS          6    /* times the time for a head, see glue.c */
#define CONNECTION_BYTES    6144 /* of the library for each */
#define GLUE_THREADS        2
#define REAP_MS             500
#define BACKLOG             1024
#define LINGER_MS           2000 /* in which the last replies have to be read */
#define SPARE_FILES         256  /* for the store, and for tools */

/* --- threads and time ------------------------------------------------------
 */

bool pdr__thread_start(pthread_t *out, void *(*fn)(void *), void *arg)
{
    const struct pdr__world *world = pdr__world_system();

    return world->start(world->ctx, out, fn, arg);
}

void pdr__nap(unsigned ms)
{
    const struct timespec time = {.tv_sec = ms / 1000,
                                  .tv_nsec = (long)(ms % 1000) * 1000000};

    (void)nanosleep(&time, NULL);
}

/* --- listening -------------------------------------------------------------
 */

static pdr_rc listen_fail(int fd, const char *text, int code, pdr_err *err)
{
    if (fd >= 0)
        (void)close(fd);
    (void)PDR_FAIL(err, CANNOT_LISTEN, "cannot listen on '%s': %s", text,
                   strerror(code));
    if (err != NULL)
        err->sys = code;
    return PDR_EIO;
}

static pdr_rc listen_unix(int *out, const char *path, unsigned mode,
                          pdr_err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat st;
    mode_t old = 0;
    int fd = -1, code = 0;

    if (strlen(path) == 0 || strlen(path) >= sizeof(address.sun_path))
        return PDR_FAIL(err, BAD_ADDRESS,
                        "the path of a socket has 1 to %zu bytes",
                        sizeof(address.sun_path) - 1);
    memcpy(address.sun_path, path, strlen(path));
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return listen_fail(fd, path, errno, err);
    /* What a server left that was killed: nobody listens there. */
    if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) &&
        connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 &&
        errno == ECONNREFUSED)
        (void)unlink(path);
    old = umask(~(mode_t)mode & 0777); /* it has them from the beginning */
    code =
        bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 ? 0 : errno;
    (void)umask(old);
    if (code == 0 && listen(fd, BACKLOG) != 0)
        code = errno;
    if (code != 0)
        return listen_fail(fd, path, code, err);
    *out = fd;
    return PDR_OK;
}

/* Only this machine can reach it. */
static bool is_loopback(const struct sockaddr *address)
{
    const struct sockaddr_in *v4 = (const void *)address;
    const struct sockaddr_in6 *v6 = (const void *)address;

    if (address->sa_family == AF_INET)
        return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

/* Can others reach what comes to this socket? */
static bool is_open(int listener)
{
    struct sockaddr_storage bound;
    socklen_t size = sizeof(bound);

    return getsockname(listener, (struct sockaddr *)&bound, &size) == 0 &&
           bound.ss_family != AF_UNIX &&
           !is_loopback((struct sockaddr *)&bound);
}

/* "HOST:PORT" or "[HOST]:PORT" into its parts. */
static bool address_split(char host[256], char port[16], const char *text)
{
    const char *colon = strrchr(text, ':');
    size_t len = colon != NULL ? (size_t)(colon - text) : 0;

    if (colon == NULL || len == 0 || len >= 256 || strlen(colon + 1) == 0 ||
        strlen(colon + 1) >= 16)
        return false;
    if (text[0] == '[' && text[len - 1] == ']') {
        text++;
        len -= 2;
    } else if (memchr(text, ':', len) != NULL) {
        return false;
    }
    memcpy(host, text, len);
    host[len] = '\0';
    memcpy(port, colon + 1, strlen(colon + 1) + 1);
    return len > 0;
}

/* The address, to be released with freeaddrinfo(). */
static pdr_rc address_find(struct addrinfo **out, char host[256],
                           const char *text, bool has_keys, pdr_err *err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    char port[16];

    *out = NULL;
    if (!address_split(host, port, text) ||
        getaddrinfo(host, port, &hints, out) != 0)
        return PDR_FAIL(err, BAD_ADDRESS,
                        "'%.200s' is not HOST:PORT, [IPV6]:PORT or unix:PATH",
                        text);
    if (has_keys || is_loopback((*out)->ai_addr))
        return PDR_OK;
    freeaddrinfo(*out);
    *out = NULL;
    return PDR_FAIL(err, OPEN_ADDRESS,
                    "others can reach '%.200s', and they would need no key: "
                    "name a file of keys (--keys), or listen on 127.0.0.1",
                    text);
}

pdr_rc pdr_server_address_check(const char *address, bool has_keys,
                                pdr_err *err)
{
    struct addrinfo *found = NULL;
    char host[256];
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(address != NULL);
    if (strncmp(address, "unix:", 5) == 0)
        return PDR_OK;
    rc = address_find(&found, host, address, has_keys, err);
    if (rc == PDR_OK)
        freeaddrinfo(found);
    return rc;
}

static pdr_rc listen_tcp(int *out, char shown[300], const char *text,
                         bool has_keys, pdr_err *err)
{
    struct addrinfo *found = NULL;
    struct sockaddr_storage bound;
    socklen_t size = sizeof(bound);
    char host[256];
    const int on = 1;
    int fd = -1, code = 0;
    pdr_rc rc = address_find(&found, host, text, has_keys, err);

    if (rc != PDR_OK)
        return rc;
    fd =
        socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        bind(fd, found->ai_addr, found->ai_addrlen) != 0 ||
        listen(fd, BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)&bound, &size) != 0)
        code = errno;
    if (code != 0) {
        rc = listen_fail(fd, text, code, err);
        goto done;
    }
    if (found->ai_family == AF_INET6)
        (void)snprintf(
            shown, 300, "[%s]:%u", host,
            ntohs(((struct sockaddr_in6 *)(void *)&bound)->sin6_port));
    else
        (void)snprintf(shown, 300, "%s:%u", host,
                       ntohs(((struct sockaddr_in *)(void *)&bound)->sin_port));
    *out = fd;
done:
    freeaddrinfo(found);
    return rc;
}

static pdr_rc listen_all(pdr_server *server, pdr_err *err)
{
    static const char *const usual[] = {PDR_SERVER_ADDRESS, NULL};
    const char *const *listen = server->opts.listen;
    pdr_rc rc = PDR_OK;
    size_t count = 0;

    if (listen == NULL || listen[0] == NULL)
        listen = usual;
    while (listen[count] != NULL)
        count++;
    server->listeners = pdr__calloc(count, sizeof(*server->listeners));
    server->glue = pdr__calloc(count, sizeof(struct pdr__glue *));
    server->addresses = pdr__calloc(count, sizeof(*server->addresses));
    if (server->listeners == NULL || server->glue == NULL ||
        server->addresses == NULL)
        return pdr__nomem(err);
    for (size_t i = 0; i < count; i++) {
        char shown[300];
        pdr_str kept = {NULL, 0};

        server->listeners[i] = -1;
        (void)snprintf(shown, sizeof(shown), "%s", listen[i]);
        server->glue_count++;
        if (strncmp(listen[i], "unix:", 5) == 0)
            PDR_TRY(listen_unix(&server->listeners[i], listen[i] + 5,
                                server->opts.socket_mode, err));
        else
            PDR_TRY(listen_tcp(&server->listeners[i], shown, listen[i],
                               server->auth != NULL, err));
        kept = pdr_str_c(shown);
        PDR_TRY(pdr__arena_keep(&kept, &server->memory, err));
        server->addresses[i] = kept.ptr;
    }
done:
    return rc;
}

/* --- making ----------------------------------------------------------------
 */

static pdr_rc list_keep(const char *const **io, pdr_server *server,
                        pdr_err *err)
{
    const char *const *from = *io;
    const char **list = NULL;
    void *room = NULL;
    size_t count = 0;
    pdr_rc rc = PDR_OK;

    if (from == NULL)
        return PDR_OK;
    while (from[count] != NULL)
        count++;
    PDR_TRY(pdr__arena_alloc(&room, &server->memory,
                             (count + 1) * sizeof(*list), err));
    list = room;
    for (size_t i = 0; i < count; i++) {
        pdr_str text = pdr_str_c(from[i]);

        PDR_TRY(pdr__arena_keep(&text, &server->memory, err));
        list[i] = text.ptr;
    }
    list[count] = NULL;
    *io = list;
done:
    return rc;
}

static pdr_rc opts_keep(pdr_server *server, const pdr_server_opts *opts,
                        pdr_err *err)
{
    pdr_server_opts *o = &server->opts;
    pdr_str tenant = PDR_LIT(PDR_DEFAULT_TENANT);
    pdr_rc rc = PDR_OK;

    if (opts != NULL)
        *o = *opts;
    PDR_TRY(list_keep(&o->listen, server, err));
    PDR_TRY(list_keep(&o->hosts, server, err));
    server->base = o->base != NULL ? pdr_str_c(o->base) : PDR_LIT("/api");
    if (server->base.len == 1) /* "/" alone */
        server->base.len = 0;
    PDR_TRY(pdr__arena_keep(&server->base, &server->memory, err));
    if (o->tenant != NULL)
        tenant = pdr_str_c(o->tenant);
    PDR_TRY(pdr__arena_keep(&tenant, &server->memory, err));
    o->tenant = tenant.ptr;
    if (o->ui_dir != NULL) {
        pdr_str folder = pdr_str_c(o->ui_dir);

        PDR_TRY(pdr__ui_folder_check(o->ui_dir, err));
        PDR_TRY(pdr__arena_keep(&folder, &server->memory, err));
        o->ui_dir = folder.ptr;
    }
    if (o->wait_ms == 0)
        o->wait_ms = o->profile == PDR_PROFILE_DOTNET ? 230000 : 30000;
    o->max_body_bytes =
        o->max_body_bytes != 0 ? o->max_body_bytes : DEFAULT_BODY;
    o->max_connections =
        o->max_connections != 0 ? o->max_connections : DEFAULT_CONNECTIONS;
    o->threads = o->threads != 0 ? o->threads : DEFAULT_THREADS;
    o->socket_mode = o->socket_mode != 0 ? o->socket_mode : DEFAULT_MODE;
    o->max_queue = o->max_queue != 0 ? o->max_queue : DEFAULT_QUEUE;
    o->ping_ms = o->ping_ms != 0 ? o->ping_ms : DEFAULT_PING_MS;
    o->head_ms = o->head_ms != 0 ? o->head_ms : DEFAULT_HEAD_MS;
done:
    return rc;
}

/* How the runs of each agent end, for the figures. */
static pdr_rc endings_follow(pdr_server *server, pdr_err *err)
{
    pdr_engine *engine = pdr_service_engine(server->service);
    pdr_buf name = PDR_BUF_INIT(PDR_MAX_ID_BYTES + 1);
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__endings_follow(engine, pdr_str_n(NULL, 0), err));
    for (size_t i = 0; i < pdr_service_count(server->service); i++) {
        pdr_buf_clear(&name);
        PDR_TRY(pdr__entity_write(
            &name, pdr_service_at(server->service, i)->durable.agent, err));
        PDR_TRY(pdr__endings_follow(engine, pdr_buf_str(&name), err));
    }
done:
    pdr_buf_dispose(&name);
    return rc;
}

pdr_rc pdr_server_new(pdr_server **out, pdr_service *service,
                      const pdr_server_opts *opts, pdr_err *err)
{
    pdr_server *server = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && service != NULL);
    *out = NULL;
    server = pdr__calloc(1, sizeof(*server));
    if (server == NULL)
        return pdr__nomem(err);
    server->service = service;
    server->begun_ms = pdr__wall_ms();
    server->memory = (struct pdr__arena)PDR_ARENA_INIT(SIZE_MAX);
    PDR_TRY(opts_keep(server, opts, err));
    if (server->opts.keys != NULL)
        PDR_TRY(pdr__auth_new(&server->auth, server->opts.keys, err));
    server->opts.keys = NULL; /* the caller's */
    PDR_TRY(endings_follow(server, err));
    PDR_TRY(pdr__metrics_new(&server->metrics, err));
    server->quick = pdr__quick_new();
    server->documents = pdr__documents_new();
    if (server->quick == NULL || server->documents == NULL)
        PDR_TRY(pdr__nomem(err));
    PDR_TRY(listen_all(server, err));
    *out = server;
    server = NULL;
done:
    pdr_server_free(server);
    return rc;
}

/* Ends connections that are too slow. */
static void *reaper_work(void *arg)
{
    pdr_server *server = arg;

    struct timespec until;

    do {
        int64_t now = pdr__monotonic_ms(pdr__clock_system());

        for (size_t i = 0; i < server->glue_count; i++)
            pdr__glue_reap(server->glue[i], now);
        (void)clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += REAP_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
    } while (sem_clockwait(&server->ends, CLOCK_MONOTONIC, &until) != 0);
    return NULL;
}

/* As many as there are descriptors for, at each address. */
static unsigned connections_allowed(const pdr_server *server)
{
    unsigned most = server->opts.max_connections;
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0 &&
        files.rlim_cur != RLIM_INFINITY) {
        rlim_t spare =
            files.rlim_cur / 2 < SPARE_FILES ? files.rlim_cur / 2 : SPARE_FILES;

        if (files.rlim_cur - spare < most)
            most = (unsigned)(files.rlim_cur - spare);
    }
    most /= (unsigned)server->glue_count;
    return most > GLUE_THREADS ? most : GLUE_THREADS;
}

pdr_rc pdr_server_start(pdr_server *server, pdr_err *err)
{
    struct pdr__glue_opts opts = {.threads = GLUE_THREADS,
                                  .max_connections =
                                      connections_allowed(server),
                                  .connection_bytes = CONNECTION_BYTES,
                                  .head_ms = server->opts.head_ms,
                                  .idle_ms = server->opts.head_ms * IDLE_HEADS};
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__live_new(&server->live, server, server->opts.threads, err));
    PDR_TRY(pdr__notices_new(&server->notices, server, err));
    PDR_TRY(pdr__crew_new(&server->crew, server->live, err));
    for (size_t i = 0; i < server->glue_count; i++) {
        opts.is_local = strncmp(server->addresses[i], "unix:", 5) == 0;
        opts.is_open = is_open(server->listeners[i]);
        PDR_TRY(pdr__glue_new(&server->glue[i], server, server->listeners[i],
                              &opts, err));
        server->listeners[i] = -1;
    }
    (void)sem_init(&server->ends, 0, 0);
    server->has_reaper =
        pdr__thread_start(&server->reaper, reaper_work, server);
    if (!server->has_reaper)
        rc = PDR_FAIL(err, NO_THREAD, "%s",
                      "the system has no thread for the server");
done:
    return rc;
}

const char *pdr_server_address(const pdr_server *server, size_t index)
{
    return index < server->glue_count ? server->addresses[index] : NULL;
}

pdr_rc pdr_server_reload_keys(pdr_server *server, pdr_err *err)
{
    return server->auth != NULL ? pdr__auth_reload(server->auth, err) : PDR_OK;
}

pdr_rc pdr_server_stop(pdr_server *server, pdr_stop how, uint32_t timeout_ms,
                       pdr_err *err)
{
    const int64_t due_ms = pdr__monotonic_ms(pdr__clock_system()) +
                           (how == PDR_STOP_FINISH ? timeout_ms : 0);
    pdr_rc rc = PDR_OK;

    atomic_store(&server->is_stopping, true);
    if (server->crew != NULL)
        pdr__crew_close(server->crew);
    rc = pdr_engine_stop(pdr_service_engine(server->service), how, timeout_ms,
                         err);
    if (server->crew != NULL)
        pdr__crew_stop(server->crew, due_ms);
    atomic_store(&server->is_closed, true);
    if (server->live != NULL)
        pdr__live_stop(server->live);
    while (atomic_load(&server->under_way) > 0)
        pdr__nap(1);
    for (int ms = 0; ms < LINGER_MS && atomic_load(&server->replying) > 0; ms++)
        pdr__nap(1);
    server->is_stopped = true;
    return rc;
}

void pdr_server_free(pdr_server *server)
{
    if (server == NULL)
        return;
    if (server->live != NULL && !server->is_stopped)
        (void)!pdr_server_stop(server, PDR_STOP_HAND_BACK, 0, NULL);
    if (server->has_reaper) {
        (void)sem_post(&server->ends);
        (void)pthread_join(server->reaper, NULL);
        (void)sem_destroy(&server->ends);
    }
    for (size_t i = 0; i < server->glue_count; i++) {
        const char *address = server->addresses[i];

        pdr__glue_free(server->glue[i]);
        if (server->listeners[i] >= 0)
            (void)close(server->listeners[i]);
        if (address != NULL && strncmp(address, "unix:", 5) == 0)
            (void)unlink(address + 5);
    }
    pdr__notices_free(server->notices);
    pdr__crew_free(server->crew);
    pdr__live_free(server->live);
    pdr__quick_free(server->quick);
    pdr__documents_free(server->documents);
    pdr__metrics_free(server->metrics);
    pdr__auth_free(server->auth);
    pdr__free(server->glue);
    pdr__free(server->listeners);
    pdr__free(server->addresses);
    pdr__arena_dispose(&server->memory);
    pdr__free(server);
}

/* --- what is told of requests ----------------------------------------------
 */

void pdr__exchange_ended(struct pdr__exchange *x)
{
    pdr_server *server = x->server;
    const pdr_log log = {server->opts.log, server->opts.log_arg};
    int64_t took_ms = pdr__monotonic_ms(pdr__clock_system()) - x->begun_ms;
    const pdr_log_field fields[] = {
        {.name = "request", .number = (int64_t)x->number},
        {.name = "route",
         .text = pdr_str_c(x->route != NULL ? x->route->name : "none")},
        {.name = "status", .number = x->reply.status},
        {.name = "bytes", .number = (int64_t)x->sent},
        {.name = "ms", .number = took_ms}};

    pdr__metrics_note(server->metrics, x, took_ms);
    pdr_log_emit(&log, PDR_LOG_INFO, "request_ended", fields,
                 PDR_COUNT(fields));
}
