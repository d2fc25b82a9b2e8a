/*
 * http_serve.c - what does the server add to what it serves?
 *
 * 8 clients in this process, each with a connection that it keeps, ask for one
 * thing over and over, for a block of time; sides take turns.
 *
 *      health        GET /healthz, beside a bare libmicrohttpd that says "ok"
 *                    with the same threads
 *      health/go     the same, each in a process of its own, beside the server
 *                    of Go's library: what a request takes of the cores there
 *      session/get   the document of a session of 20 entries, beside as many
 *                    threads that have the library write it (pdr_export())
 *      run/N         N clients let a durable agent with an instant model
 *                    answer, beside the same engine called by N threads
 *                    (pdr_engine_call()): turns a second
 *      stream/first  from asking for the stream of a run that has ended to its
 *                    first event
 *
 * NAME/core is what a turn takes of the cores, with its client: that can be
 * compared on a machine where others work, too.
 */
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <perdure/archive.h>
#include <perdure/server.h>

#include "bench.h"
#include "count_vfs.h"
#include "crew.h"
#include "engine_host.h"
#include "machine.h"
#include "server.h"

#define CLIENTS  8u
#define RUNNERS  16u
#define ROUNDS   10u
#define BLOCK_NS UINT64_C(400000000)
#define QUICK_NS UINT64_C(50000000)
#define ENTRIES  20u
#define FIRSTS   101u
#define ROOM     (64u * 1024u)

static uint64_t block_ns(void)
{
    return bench_is_quick() ? QUICK_NS : BLOCK_NS;
}

/* --- clients ---------------------------------------------------------------
 */

/* Who asks the same over and over. */
struct asking {
    int port;
    size_t request_len;
    char request[1024]; /* "%zu" in it: the number of the client */
    struct asking_client {
        int socket; /* 0: not connected */
        char in[ROOM];
    } clients[CREW_MOST];
};

static int client_connect(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 ||
        connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
        bench_fail("a client cannot connect to port %d", port);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return fd;
}

static void client_send(int fd, const char *text)
{
    size_t len = strlen(text);

    if (send(fd, text, len, MSG_NOSIGNAL) != (ssize_t)len)
        bench_fail("a client cannot send");
}

/* Read until `len` bytes have `end` among them, or to the end of the body. */
static void client_read(struct asking_client *client)
{
    size_t got = 0, want = 0;

    while (want == 0 || got < want) {
        ssize_t n = recv(client->socket, client->in + got, ROOM - 1 - got, 0);
        const char *body = NULL, *length = NULL;

        if (n <= 0)
            bench_fail("a client got half of a reply");
        got += (size_t)n;
        client->in[got] = '\0';
        body = strstr(client->in, "\r\n\r\n");
        length = strstr(client->in, "Content-Length: ");
        if (want == 0 && body != NULL && length != NULL)
            want = (size_t)(body + 4 - client->in) +
                   strtoul(length + 16, NULL, 10);
    }
    if (strncmp(client->in, "HTTP/1.1 200", 12) != 0)
        bench_fail("a client was told: %.40s", client->in);
}

/* A crew_fn. */
static void client_turn(size_t member, void *arg)
{
    struct asking *asking = arg;
    struct asking_client *client = &asking->clients[member];
    char text[1100];

    if (client->socket == 0)
        client->socket = client_connect(asking->port);
    (void)snprintf(text, sizeof(text), "%.*s%zu%s", (int)asking->request_len,
                   asking->request, member,
                   asking->request + asking->request_len);
    client_send(client->socket, text);
    client_read(client);
}

/* The request; "#" in the path is the number of the client. */
static void asking_init(struct asking *asking, int port, const char *method,
                        const char *path, const char *body)
{
    const char *mark = NULL;

    asking->port = port;
    (void)snprintf(asking->request, sizeof(asking->request),
                   "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu"
                   "\r\nX-Member: #\r\n\r\n%s",
                   method, path, strlen(body), body);
    mark = strchr(asking->request, '#');
    asking->request_len = (size_t)(mark - asking->request);
    memmove(asking->request + asking->request_len, mark + 1, strlen(mark));
}

static void asking_end(struct asking *asking)
{
    for (size_t i = 0; i < CREW_MOST; i++) {
        if (asking->clients[i].socket != 0)
            (void)close(asking->clients[i].socket);
    }
}

/* --- a bare server ---------------------------------------------------------
 */

struct bare {
    struct MHD_Daemon *daemon;
    struct MHD_Response *response;
    int port;
};

static enum MHD_Result bare_answer(void *arg, struct MHD_Connection *connection,
                                   const char *url, const char *method,
                                   const char *version, const char *data,
                                   size_t *len, void **context)
{
    static int seen;
    const struct bare *bare = arg;

    (void)url;
    (void)method;
    (void)version;
    (void)data;
    (void)len;
    if (*context == NULL) {
        *context = &seen;
        return MHD_YES;
    }
    return MHD_queue_response(connection, 200, bare->response);
}

static void bare_start(struct bare *bare, size_t bytes)
{
    const union MHD_DaemonInfo *info = NULL;
    char *body = calloc(1, bytes);

    memset(body, 'o', bytes);
    bare->response =
        MHD_create_response_from_buffer(bytes, body, MHD_RESPMEM_MUST_FREE);
    bare->daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNALLY | MHD_USE_SUSPEND_RESUME | MHD_USE_TURBO, 0,
        NULL, NULL, bare_answer, bare, MHD_OPTION_THREAD_POOL_SIZE, 2u,
        MHD_OPTION_END);
    if (bare->daemon == NULL || bare->response == NULL)
        bench_fail("no bare server");
    info = MHD_get_daemon_info(bare->daemon, MHD_DAEMON_INFO_BIND_PORT);
    bare->port = info->port;
}

static void bare_stop(struct bare *bare)
{
    MHD_stop_daemon(bare->daemon);
    MHD_destroy_response(bare->response);
}

/* --- ours ------------------------------------------------------------------
 */

struct served {
    struct fill fill;
    struct host host; /* its store and agent; its engine stays idle */
    pdr_service *service;
    pdr_server *server;
    int port;
};

static void served_start(struct served *s, const char *file)
{
    static const char *const listen[] = {"127.0.0.1:0", NULL};
    const pdr_server_opts opts = {.listen = listen, .threads = RUNNERS};
    pdr_service_agent agent = {.type = "bench"};
    pdr_service_opts service = {.agents = &agent, .count = 1};
    pdr_err err = PDR_ERR_INIT;

    fill_place(&s->fill, file, 1);
    host_make(&s->host, &s->fill, NULL, HOST_ANSWERS, RUNNERS);
    agent.durable.agent = s->host.agent;
    service.store = s->host.store;
    service.engine.workers = RUNNERS;
    talk_must(pdr_service_new(&s->service, &service, &err), &err);
    talk_must(pdr_server_new(&s->server, s->service, &opts, &err), &err);
    talk_must(pdr_service_start(s->service, &err), &err);
    talk_must(pdr_server_start(s->server, &err), &err);
    s->port = (int)strtol(strrchr(pdr_server_address(s->server, 0), ':') + 1,
                          NULL, 10);
}

static void served_stop(struct served *s)
{
    pdr_server_free(s->server);
    pdr_service_free(s->service);
    host_stop(&s->host);
    fill_remove(&s->fill);
}

/* A turn of one session by HTTP. */
static void served_say(const struct served *s, const char *key)
{
    static struct asking asking;
    char path[200];
    pdr_str name = pdr_agent_name(s->host.agent);

    (void)snprintf(path, sizeof(path), "/api/agents/%.*s/run?session_id=%s",
                   (int)name.len, name.ptr, key);
    memset(&asking, 0, sizeof(asking));
    asking_init(&asking, s->port, "POST", path, "How is the weather?");
    client_turn(0, &asking);
    asking_end(&asking);
}

/* --- two sides in turn ------------------------------------------------------
 */

static void sides_race(const char *name, const char *baseline, double wanted,
                       size_t clients, crew_fn ours, void *our_arg,
                       crew_fn theirs, void *their_arg)
{
    static struct crew a, b;
    struct bench_blocks blocks = {.name = name,
                                  .unit = "1/s",
                                  .baseline = baseline,
                                  .more_is_better = true,
                                  .wanted = wanted};
    struct bench_blocks core = {
        .unit = "us", .baseline = baseline, .wanted = wanted};
    struct machine machine = {.counted = 0};
    char core_name[64];

    (void)snprintf(core_name, sizeof(core_name), "%s/core", name);
    core.name = core_name;
    crew_start(&a, clients, ours, our_arg);
    crew_start(&b, clients, theirs, their_arg);
    (void)crew_block(&a, block_ns());
    (void)crew_block(&b, block_ns());
    while (!machine_is_done(&machine, bench_is_quick() ? 1 : ROUNDS)) {
        machine_begin(&machine);
        struct crew_block one = crew_block(&a, block_ns());
        struct crew_block two = crew_block(&b, block_ns());
        if (machine_end(&machine)) {
            bench_blocks_add(&blocks, crew_rate(&one), crew_rate(&two));
            bench_blocks_add(&core, one.core_us, two.core_us);
        }
    }
    crew_end(&a);
    crew_end(&b);
    machine_note(&machine);
    bench_blocks_report(&blocks);
    bench_blocks_report(&core);
}

static void bare_race(const struct served *s, const char *name, double wanted,
                      const char *path, size_t bytes)
{
    static struct asking ours, theirs;
    struct bare bare;

    bare_start(&bare, bytes);
    memset(&ours, 0, sizeof(ours));
    memset(&theirs, 0, sizeof(theirs));
    asking_init(&ours, s->port, "GET", path, "");
    asking_init(&theirs, bare.port, "GET", path, "");
    sides_race(name, "bare libmicrohttpd", wanted, CLIENTS, client_turn, &ours,
               client_turn, &theirs);
    asking_end(&ours);
    asking_end(&theirs);
    bare_stop(&bare);
}

/* --- beside Go -------------------------------------------------------------
 */

/* Serve until the parent says that it is enough. Does not return. */
static void apart_serve(int out, pid_t parent)
{
    static struct served served;

    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(126);
    served_start(&served, "http-apart.db");
    if (write(out, &served.port, sizeof(served.port)) < 0)
        _exit(125);
    for (;;)
        (void)pause();
}

/* Before this process has threads. */
static pid_t apart_start(int *port)
{
    int ends[2];
    pid_t parent = getpid(), pid = 0;

    if (pipe(ends) != 0 || (pid = fork()) < 0)
        bench_fail("cannot start a server of our own");
    if (pid == 0)
        apart_serve(ends[1], parent);
    (void)close(ends[1]);
    if (read(ends[0], port, sizeof(*port)) != (ssize_t)sizeof(*port))
        bench_fail("the server of our own has ended");
    (void)close(ends[0]);
    return pid;
}

/* Needs no network: the program uses Go's own library alone. */
static bool go_build(void)
{
    char *const words[] = {"go",        "build",        "-o",
                           BENCH_HELLO, BENCH_HELLO_GO, NULL};
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        (void)setenv("GO111MODULE", "off", 1);
        (void)setenv("GOTOOLCHAIN", "local", 1);
        execvp(words[0], words);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        bench_fail("cannot start go");
    if (!WIFEXITED(status) || (status != 0 && WEXITSTATUS(status) != 127))
        bench_fail("go cannot build %s", BENCH_HELLO_GO);
    return status == 0;
}

struct apart {
    struct asking asking;
    struct crew crew;
    pid_t pid;
};

static void apart_join(struct apart *side, pid_t pid, int port)
{
    side->pid = pid;
    asking_init(&side->asking, port, "GET", "/healthz", "");
    crew_start(&side->crew, CLIENTS, client_turn, &side->asking);
    (void)crew_block(&side->crew, block_ns());
}

/* What a request takes of the cores in the process of the server. */
static double apart_block(struct apart *side)
{
    double before = server_core_ns(side->pid);
    struct crew_block block = crew_block(&side->crew, block_ns());

    return (server_core_ns(side->pid) - before) / 1e3 / block.turns;
}

static void apart_end(struct apart *side)
{
    crew_end(&side->crew);
    asking_end(&side->asking);
    server_stop(side->pid);
}

static void measure_go(void)
{
    static struct apart ours, go;
    struct bench_blocks blocks = {.name = "health/go",
                                  .unit = "us",
                                  .baseline = "Go's net/http",
                                  .wanted = 1};
    struct machine machine = {.counted = 0};
    struct fill fill;
    unsigned go_port = server_port();
    char text[16];
    const char *const words[] = {BENCH_HELLO, text, NULL};
    int port = 0;
    pid_t pid = 0, go_pid = 0;

    if (!go_build()) {
        (void)fprintf(stderr, "health/go is left out: there is no go\n");
        return;
    }
    (void)snprintf(text, sizeof(text), "%u", go_port);
    pid = apart_start(&port);
    go_pid = server_start("/", "http-go.log", words);
    server_await(go_port);
    apart_join(&ours, pid, port);
    apart_join(&go, go_pid, (int)go_port);
    while (!machine_is_done(&machine, bench_is_quick() ? 1 : ROUNDS)) {
        machine_begin(&machine);
        double one = apart_block(&ours), two = apart_block(&go);
        if (machine_end(&machine))
            bench_blocks_add(&blocks, one, two);
    }
    apart_end(&ours);
    apart_end(&go);
    fill_place(&fill, "http-apart.db", 1);
    fill_remove(&fill);
    machine_note(&machine);
    bench_blocks_report(&blocks);
}

/* --- sessions --------------------------------------------------------------
 */

/* A session, and where it is. */
struct exporting {
    pdr_store *store;
    char id[200];
};

/* A crew_fn. */
static void export_turn(size_t member, void *arg)
{
    const struct exporting *e = arg;
    pdr_buf document = {.max = SIZE_MAX};
    pdr_export_opts opts = {.ref.id = pdr_str_c(e->id), .bare = true};
    pdr_err err = PDR_ERR_INIT;

    (void)member;
    talk_must(pdr_export(NULL, e->store, &opts, &err, pdr_write_buf, &document),
              &err);
    pdr_buf_dispose(&document);
}

static void measure_get(const struct served *s)
{
    static struct asking asking;
    struct exporting exporting = {.store = s->host.store};
    char path[200];
    pdr_str name = pdr_agent_name(s->host.agent);

    for (size_t i = 0; i < ENTRIES / 2; i++)
        served_say(s, "get");
    (void)snprintf(exporting.id, sizeof(exporting.id), "@dafx-%.*s@get",
                   (int)name.len, name.ptr);
    (void)snprintf(path, sizeof(path), "/api/agents/%.*s/sessions/get",
                   (int)name.len, name.ptr);
    memset(&asking, 0, sizeof(asking));
    asking_init(&asking, s->port, "GET", path, "");
    sides_race("session/get", "pdr_export()", 0.5, CLIENTS, client_turn,
               &asking, export_turn, &exporting);
    asking_end(&asking);
}

static void measure_run(const struct served *s)
{
    static struct asking asking;
    struct fill fill;
    struct host host;
    char path[200];
    pdr_str name = pdr_agent_name(s->host.agent);

    fill_place(&fill, "http-engine.db", 1);
    host_start(&host, &fill, NULL, HOST_ANSWERS, RUNNERS);
    (void)snprintf(path, sizeof(path), "/api/agents/%.*s/run?session_id=#",
                   (int)name.len, name.ptr);
    memset(&asking, 0, sizeof(asking));
    asking_init(&asking, s->port, "POST", path, "How is the weather?");
    sides_race("run/16", "the engine alone", 0.6, RUNNERS, client_turn, &asking,
               host_turn, &host);
    asking_end(&asking);
    host_stop(&host);
    fill_remove(&fill);
}

static int compare_doubles(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void measure_first(const struct served *s)
{
    struct bench_figure figure = {.name = "stream/first", .unit = "us"};
    static double times[FIRSTS];
    size_t count = bench_is_quick() ? 3 : FIRSTS;
    pdr_str name = pdr_agent_name(s->host.agent);
    char text[300];

    served_say(s, "first");
    (void)snprintf(text, sizeof(text),
                   "GET /api/agents/%.*s/sessions/first/stream HTTP/1.1\r\n"
                   "Host: localhost\r\n\r\n",
                   (int)name.len, name.ptr);
    for (size_t i = 0; i < count; i++) {
        char in[4096] = "";
        size_t got = 0;
        int fd = client_connect(s->port);
        uint64_t begun = bench_now_ns();

        client_send(fd, text);
        while (strstr(in, "event: ") == NULL) {
            ssize_t n = recv(fd, in + got, sizeof(in) - 1 - got, 0);

            if (n <= 0)
                bench_fail("a stream ended before it began");
            got += (size_t)n;
            in[got] = '\0';
        }
        times[i] = (double)(bench_now_ns() - begun) / 1e3;
        (void)close(fd);
    }
    qsort(times, count, sizeof(times[0]), compare_doubles);
    figure.value = times[count / 2];
    bench_report(&figure);
}

int main(int argc, char **argv)
{
    static struct served served;

    bench_start_threads(argc, argv, "http");
    count_vfs_register();
    if (bench_wants("health/go"))
        measure_go();
    served_start(&served, "http-serve.db");
    if (bench_wants("health/core"))
        bare_race(&served, "health", 0.7, "/healthz", 3);
    if (bench_wants("session/get/core"))
        measure_get(&served);
    if (bench_wants("run/16/core"))
        measure_run(&served);
    if (bench_wants("stream/first"))
        measure_first(&served);
    served_stop(&served);
    return 0;
}
