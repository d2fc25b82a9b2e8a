/*
 * perdure serve - durable agents over HTTP.
 *
 *      store ─► agents ─► service ─► server ... signal ─► stopped in order
 */
#include "engine_parts.h"
#include "serve_log.h"

#include <errno.h>
#include <inttypes.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <perdure/server.h>

#define CHECK_MS 500 /* how often it looks whether the store is in doubt */

struct serve {
    struct cli *cli;
    struct sto_from from;
    struct cli_args specs, listen, hosts;
    const char *key_env, *first, *base, *keys, *ui_dir;
    bool preconditions;
    uint64_t mode, profile, wait, lease, grace, keep, ping_ms, head, max_body,
        connections;
    struct agt_made *made;     /* owned; of each of `specs` */
    pdr_service_agent *agents; /* owned; the same */
    pdr_store *store;          /* owned, as the next two */
    pdr_service *service;
    pdr_server *server;
    struct cli_signals signals;
    struct srv_log log;
    bool hangs; /* SIGHUP came; by another thread */
    sem_t came; /* a signal did */
};

/* --- what is told ----------------------------------------------------------
 */

/* What conversations are called is not for logs that others read. */
static bool is_told(const pdr_log_field *field)
{
    static const char *const hidden[] = {"session", "correlation_id", "tenant"};

    for (size_t i = 0; i < CLI_COUNT(hidden); i++) {
        if (strcmp(field->name, hidden[i]) == 0)
            return false;
    }
    return true;
}

/* A pdr_log_fn: requests, and what went wrong; a line each. Who calls it must
 * not wait for whoever reads the log. */
static void on_event(pdr_log_level level, pdr_str event,
                     const pdr_log_field *fields, size_t count, void *arg)
{
    struct serve *s = arg;
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);
    struct timespec now = {.tv_sec = 0};
    struct tm tm;

    if (s->cli->quiet || (level < PDR_LOG_WARNING &&
                          !pdr_str_equal(event, pdr_str_c("request_ended")) &&
                          !pdr_str_equal(event, pdr_str_c("keys_reloaded"))))
        return;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &tm);
    cli_putf(&line, "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ %.*s",
             tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
             tm.tm_min, tm.tm_sec, now.tv_nsec / 1000000, (int)event.len,
             event.ptr);
    for (size_t i = 0; i < count; i++) {
        if (!is_told(&fields[i]))
            continue;
        cli_putf(&line, " %s=", fields[i].name);
        if (fields[i].text.ptr != NULL)
            cli_show_cut(&line, fields[i].text, CLI_TEXT_LINE, 80);
        else
            cli_putf(&line, "%" PRId64, fields[i].number);
    }
    cli_putf(&line, "\n");
    srv_log_put(&s->log, pdr_buf_str(&line));
    pdr_buf_dispose(&line);
}

/* --- making ----------------------------------------------------------------
 */

static int agents_make(struct serve *s)
{
    s->made = cli_realloc(NULL, s->specs.count + 1, sizeof(*s->made));
    s->agents = cli_realloc(NULL, s->specs.count + 1, sizeof(*s->agents));
    memset(s->agents, 0, (s->specs.count + 1) * sizeof(*s->agents));
    for (size_t i = 0; i < s->specs.count; i++)
        s->made[i] = (struct agt_made){.spec = s->specs.items[i]};
    for (size_t i = 0; i < s->specs.count; i++) {
        struct agt_made *made = &s->made[i];
        const pdr_properties *about = NULL;
        int status = 0;

        made->key_env = s->key_env;
        made->is_served = true;
        status = agt_make(made, s->cli);
        if (status != 0)
            return status;
        if (made->host != NULL && pdr_host_count(made->host) > 0)
            about = pdr_host_at(made->host, 0)->wrapper.properties;
        s->agents[i] = (pdr_service_agent){
            .durable = {.agent = made->agent},
            .type = made->host != NULL ? "file" : "agent",
            .metadata = about != NULL ? pdr_properties_to_value(about) : NULL};
    }
    return 0;
}

/* A list of texts that ends with NULL; to be released with free(). */
static const char **texts_end(const struct cli_args *args)
{
    const char **list = cli_realloc(NULL, args->count + 1, sizeof(*list));

    for (size_t i = 0; i < args->count; i++)
        list[i] = args->items[i];
    list[args->count] = NULL;
    return list;
}

/* Each connection is a descriptor: as many as the system lets us have. */
static void files_raise(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return;
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
}

/* Who may connect to a unix socket: its owner, its group too, or everybody. */
static const char *const modes[] = {"600", "660", "666", NULL};
static const unsigned socket_modes[] = {0600, 0660, 0666};

static pdr_rc service_make(struct serve *s, pdr_err *err)
{
    pdr_service_opts opts = {
        .agents = s->agents,
        .count = s->specs.count,
        .first = pdr_str_c(s->first),
        .engine = {.lease_ms = (uint32_t)s->lease * 1000,
                   .stream_keep_ms = s->keep > 0 ? (uint32_t)s->keep * 1000 : 1,
                   .log = on_event,
                   .log_arg = s},
        /* With keys, each has a tenant of its own. */
        .only = {.tenant =
                     pdr_str_c(s->keys == NULL ? sto_tenant(&s->from) : NULL)}};
    const char **listen = texts_end(&s->listen), **hosts = texts_end(&s->hosts);
    const pdr_server_opts server = {.listen = listen,
                                    .socket_mode = socket_modes[s->mode],
                                    .hosts = hosts,
                                    .keys = s->keys,
                                    .base = s->base,
                                    .tenant = sto_tenant(&s->from),
                                    .profile = (pdr_profile)s->profile,
                                    .ui_dir = s->ui_dir,
                                    .preconditions = s->preconditions,
                                    .wait_ms = (uint32_t)s->wait * 1000,
                                    .max_body_bytes = (size_t)s->max_body,
                                    .max_connections = (unsigned)s->connections,
                                    .ping_ms = (uint32_t)s->ping_ms,
                                    .head_ms = (uint32_t)s->head * 1000,
                                    .log = on_event,
                                    .log_arg = s};
    pdr_rc rc = PDR_OK;

    files_raise();
    for (size_t i = 0; i < s->listen.count; i++) /* before a store is made */
        CLI_TRY(pdr_server_address_check(listen[i], s->keys != NULL, err));
    CLI_TRY(sto_open(&s->store, &s->from, "rwc", err));
    opts.store = s->store;
    CLI_TRY(pdr_service_new(&s->service, &opts, err));
    CLI_TRY(pdr_server_new(&s->server, s->service, &server, err));
    CLI_TRY(pdr_service_start(s->service, err));
    CLI_TRY(pdr_server_start(s->server, err));
done:
    free(listen);
    free(hosts);
    return rc;
}

static void serve_free(struct serve *s)
{
    pdr_server_free(s->server);
    pdr_service_free(s->service);
    pdr_store_close(s->store);
    for (size_t i = 0; s->made != NULL && i < s->specs.count; i++)
        agt_made_free(&s->made[i]);
    for (size_t i = 0; s->agents != NULL && i < s->specs.count; i++)
        pdr_value_free((pdr_value *)(uintptr_t)s->agents[i].metadata);
    free(s->made);
    free(s->agents);
    free(s->specs.items);
    free(s->listen.items);
    free(s->hosts.items);
}

/* --- at work ---------------------------------------------------------------
 */

/* Where it is; for a program the only lines of standard output. */
static void addresses_tell(struct serve *s)
{
    const char *address = NULL;

    for (size_t i = 0; (address = pdr_server_address(s->server, i)) != NULL;
         i++)
        cli_fprintf(stdout, "%s%s\n",
                    strncmp(address, "unix:", 5) == 0 ? "" : "http://",
                    address);
    (void)fflush(stdout);
    if (!s->cli->quiet && s->keys == NULL)
        srv_log_put(&s->log,
                    pdr_str_c("perdure: everybody on this machine may use it: "
                              "loopback addresses need no key\n"));
}

static void on_signal(void *arg)
{
    struct serve *s = arg;

    (void)sem_post(&s->came);
}

static void on_hangup(void *arg)
{
    struct serve *s = arg;

    __atomic_store_n(&s->hangs, true, __ATOMIC_RELEASE);
    (void)sem_post(&s->came);
}

/* A server goes on with the keys that it has, if the new ones are broken. */
static void keys_reload(struct serve *s)
{
    pdr_err err = PDR_ERR_INIT;
    const bool is_done = pdr_server_reload_keys(s->server, &err) == PDR_OK;
    const pdr_log_field why = {.name = "reason",
                               .text = pdr_str_c(err.message)};

    on_event(is_done ? PDR_LOG_INFO : PDR_LOG_ERROR,
             pdr_str_c(is_done ? "keys_reloaded" : "keys_not_reloaded"), &why,
             is_done ? 0 : 1, s);
}

/* Until a signal comes, or the engine ends itself: its store is in doubt then.
 */
static pdr_rc end_await(struct serve *s, pdr_err *err)
{
    pdr_engine *engine = pdr_service_engine(s->service);

    while (true) {
        struct timespec until;
        pdr_rc rc = PDR_OK;

        (void)clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += CHECK_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        (void)sem_clockwait(&s->came, CLOCK_MONOTONIC, &until);
        if (__atomic_exchange_n(&s->hangs, false, __ATOMIC_ACQ_REL))
            keys_reload(s);
        if (cli_signals_number(&s->signals) != 0)
            return pdr_server_stop(s->server, PDR_STOP_FINISH,
                                   (uint32_t)s->grace * 1000, err);
        rc = pdr_engine_check(engine, err);
        if (rc != PDR_OK)
            return rc;
    }
}

static int serve_fail(struct serve *s, const pdr_err *err)
{
    struct cli_about about = {.name = "--listen"};

    if (strcmp(err->reason, "open_address") == 0 ||
        strcmp(err->reason, "bad_address") == 0)
        return doc_usage(s->cli, "--listen", err->message,
                         "write --listen 127.0.0.1:7717");
    if (strcmp(err->reason, "cannot_listen") == 0)
        return cli_fail(s->cli, &about, err);
    return sto_fail(s->cli, &s->from, err);
}

/* Before a store is made, whose key has the same reasons. */
static int keys_check(struct serve *s)
{
    struct cli_about about = {.name = s->keys, .hint = ""};
    pdr_keys *keys = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = s->keys != NULL ? pdr_keys_read(&keys, s->keys, &err) : PDR_OK;

    pdr_keys_free(keys);
    if (rc == PDR_ENOTFOUND)
        about.hint = "'perdure key create --keys FILE' makes it";
    return rc == PDR_OK ? 0 : cli_fail(s->cli, &about, &err);
}

static int folder_check(struct serve *s)
{
    struct stat info;
    char why[120];

    if (s->ui_dir == NULL ||
        (stat(s->ui_dir, &info) == 0 && S_ISDIR(info.st_mode)))
        return 0;
    (void)snprintf(why, sizeof(why), "'%.100s' is not a folder", s->ui_dir);
    return doc_usage(s->cli, "--ui-dir", why,
                     "leave it out for the page that is built in");
}

/* Serve until the end; exit status. */
static int serve(struct serve *s)
{
    struct cli *cli = s->cli;
    pdr_err err = PDR_ERR_INIT;
    int status = 0;

    status = ses_store_check(cli, &s->from);
    if (status == 0)
        status = keys_check(s);
    if (status == 0)
        status = folder_check(s);
    if (status == 0)
        status = agents_make(s);
    cli_signals_begin_service(&s->signals, on_signal,
                              s->keys != NULL ? on_hangup : NULL, s);
    if (status == 0 && !srv_log_begin(&s->log, STDERR_FILENO))
        status = CLI_EXIT_INTERNAL;
    if (status == 0 && service_make(s, &err) != PDR_OK)
        status = serve_fail(s, &err);
    if (status == 0) {
        addresses_tell(s);
        if (end_await(s, &err) != PDR_OK)
            status = sto_fail(cli, &s->from, &err);
    }
    serve_free(s);
    srv_log_end(&s->log);
    cli_signals_end(&s->signals);
    return status;
}

static const char *const profiles[] = {"python-1", "dotnet-1", NULL};

static int run_serve(struct cli *cli, int argc, char **argv)
{
    struct serve s = {.cli = cli, .grace = 30, .keep = 600};
    int status = 0;

    const struct cli_opt opts[] = {
        CLI_LIST(0, "agent", "SPEC", &s.specs,
                 "an agent, as in agent run; may be repeated"),
        CLI_TEXT(0, "key-env", "VAR", &s.key_env,
                 "environment variable with the server's key"),
        CLI_TEXT(0, "default-agent", "NAME", &s.first,
                 "whom routes without a name mean"),
        CLI_LIST(0, "listen", "ADDR", &s.listen,
                 "HOST:PORT or unix:PATH (default " PDR_SERVER_ADDRESS ")"),
        CLI_WORD(0, "socket-mode", "MODE", &s.mode, modes,
                 "of unix sockets: 600 (default), 660 or 666"),
        CLI_LIST(0, "host", "NAME", &s.hosts,
                 "a name that requests may be meant for; may be repeated"),
        CLI_TEXT(0, "keys", "FILE", &s.keys,
                 "keys that requests need; SIGHUP reads them again"),
        CLI_TEXT(0, "base", "PATH", &s.base,
                 "of the routes of agents (default /api)"),
        CLI_TEXT(0, "ui-dir", "FOLDER", &s.ui_dir,
                 "files of the dashboard, read each time; to work on them"),
        CLI_WORD(0, "profile", "PROFILE", &s.profile, profiles,
                 "whose replies: python-1 (default) or dotnet-1"),
        CLI_FLAG(0, "preconditions", &s.preconditions,
                 "changes over /api/v1 need If-Match or If-None-Match"),
        CLI_U64(0, "wait", "SECONDS", &s.wait, 1, 86400,
                "that a request waits for its run (default 30 or 230)"),
        CLI_U64(0, "grace", "SECONDS", &s.grace, 0, 86400,
                "that runs get to end when it stops (default 30)"),
        CLI_U64(0, "keep-events", "SECONDS", &s.keep, 0, 86400,
                "that events of a run are kept (default 600)"),
        CLI_BYTES(0, "max-body", "BYTES", &s.max_body, 1, (uint64_t)1 << 40,
                  "that the body of a request may have (default 64M)"),
        CLI_U64(0, "max-connections", "COUNT", &s.connections, 1, 1000000,
                "at once; more wait (default 20000)"),
        CLI_U64(0, "head-time", "SECONDS", &s.head, 1, 3600,
                "in which a request has to be there (default 10)"),
        CLI_U64(0, "ping", "MILLISECONDS", &s.ping_ms, 10, 3600000,
                "between two signs of life of a stream (default 15000)"),
        ENG_LEASE_ROW(&s.lease),
        SES_STORE_ROWS(&s.from),
    };
    if (sem_init(&s.came, 0, 0) != 0)
        return CLI_EXIT_INTERNAL;
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv)) {
        serve_free(&s);
        (void)sem_destroy(&s.came);
        return cli->status;
    }
    status = serve(&s);
    (void)sem_destroy(&s.came);
    return status;
}

const struct cli_command cli_cmd_serve = {
    .name = "serve",
    .summary = "durable agents over HTTP, with streams",
    .usage = "[OPTIONS] [--store URI] --agent SPEC...",
    .run = run_serve};
