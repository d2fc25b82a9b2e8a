/*
 * engine_wait.c - what does it cost to wait for an answer?
 *
 * 8 callers send a question to a session each, whose model thinks for 20 ms,
 * and wait until they have the answer: woken when it is stored, or asking every
 * 5 ms whether it is.
 *
 * wait/answer  What an answer takes beyond the time of the model.
 * wait/core    Time on the cores, of a turn.
 * send/delta   From sending to the first piece of an answer that a reader of
 * the events has, beyond the 20 ms that the model thinks before it; an engine
 *     gathers pieces for 20 ms before it stores them.
 */
#include <stdio.h>
#include <time.h>

#include <perdure/stream.h>

#include "bench.h"
#include "count_vfs.h"
#include "crew.h"
#include "engine_host.h"
#include "machine.h"

#define CALLERS  8u
#define ROUNDS   10u
#define BLOCK_NS UINT64_C(1000000000)
#define QUICK_NS UINT64_C(50000000)
#define POLL_NS  5000000L
#define DELTAS   101u

/* Sends, and asks again and again. A crew_fn. */
static void poll_turn(size_t session, void *arg)
{
    const struct timespec rest = {0, POLL_NS};
    struct host *host = arg;
    pdr_ending *ending = NULL;
    pdr_sent sent;
    pdr_err err = PDR_ERR_INIT;
    char id[HOST_ID_ROOM];
    const pdr_operation operation = host_question(host_id(id, session), NULL);
    pdr_rc rc = PDR_ETIMEOUT;

    talk_must(pdr_engine_send(&sent, host->engine, &operation, &err), &err);
    while (rc == PDR_ETIMEOUT) {
        (void)nanosleep(&rest, NULL);
        rc = pdr_engine_wait(&ending, host->engine, &operation.session,
                             pdr_str_c(sent.correlation_id), 0, &err);
    }
    talk_must(rc, &err);
    if (ending->state != PDR_OPERATION_COMPLETED)
        bench_fail("a run ended with %.*s", (int)ending->outcome.len,
                   ending->outcome.ptr);
    pdr_ending_free(ending);
}

/* Of one turn: how long a caller was busy with it, without the model. */
static double beyond_us(const struct crew_block *block)
{
    return block->seconds * 1e6 * CALLERS / block->turns - HOST_SLEEP_MS * 1e3;
}

static void measure_wait(struct bench_blocks *answer, struct bench_blocks *core)
{
    static struct crew woken, polling;
    uint64_t ns = bench_is_quick() ? QUICK_NS : BLOCK_NS;
    struct machine machine = {.counted = 0};
    struct fill fill;
    struct host host;

    fill_place(&fill, "engine-wait.db", 1);
    host_start(&host, &fill, NULL, HOST_SLEEPS, CALLERS);
    crew_start(&woken, CALLERS, host_turn, &host);
    crew_start(&polling, CALLERS, poll_turn, &host);
    (void)crew_block(&woken, ns); /* warm up */
    while (!machine_is_done(&machine, bench_is_quick() ? 1 : ROUNDS)) {
        machine_begin(&machine);
        struct crew_block a = crew_block(&woken, ns);
        struct crew_block b = crew_block(&polling, ns);
        if (!machine_end(&machine))
            continue;
        bench_blocks_add(answer, beyond_us(&a), beyond_us(&b));
        bench_blocks_add(core, a.core_us, b.core_us);
    }
    crew_end(&woken);
    crew_end(&polling);
    machine_note(&machine);
    host_stop(&host);
    fill_verify(&fill);
    fill_remove(&fill);
}

/* --- send/delta ----------------------------------------------------------- */

/* Send, and read events to the end; when the first piece came, in ns. */
static uint64_t delta_turn(struct host *host)
{
    pdr_stream_opts opts = {.after = 0};
    pdr_stream_event event = {.n = 0};
    pdr_stream *stream = NULL;
    pdr_sent sent;
    pdr_err err = PDR_ERR_INIT;
    char id[HOST_ID_ROOM];
    const pdr_operation operation = host_question(host_id(id, 0), NULL);
    uint64_t heard = 0;

    talk_must(pdr_engine_send(&sent, host->engine, &operation, &err), &err);
    opts.session = operation.session;
    opts.correlation_id = pdr_str_c(sent.correlation_id);
    talk_must(pdr_stream_open(&stream, host->store, &opts, &err), &err);
    do {
        talk_must(pdr_stream_next(&event, stream, HOST_WAIT_MS, &err), &err);
        if (heard == 0 && pdr_str_equal(event.kind, pdr_str_c("message")))
            heard = bench_now_ns();
    } while (event.kind.ptr != NULL);
    if (heard == 0)
        bench_fail("a run ended without a piece of its answer");
    pdr_stream_close(stream);
    return heard;
}

static void measure_delta(void)
{
    double us[DELTAS];
    size_t turns = bench_is_quick() ? 3 : DELTAS;
    struct fill fill;
    struct host host;

    fill_place(&fill, "engine-delta.db", 1);
    host_start(&host, &fill, NULL, HOST_SPEAKS, 0);
    for (size_t i = 0; i < turns; i++) {
        uint64_t begin = bench_now_ns();
        us[i] = (double)(delta_turn(&host) - begin) / 1e3 - HOST_SLEEP_MS * 1e3;
    }
    bench_report(&(struct bench_figure){
        .name = "send/delta", .value = bench_median(us, turns), .unit = "us"});
    host_stop(&host);
    fill_remove(&fill);
}

int main(int argc, char **argv)
{
    struct bench_blocks answer = {
        .name = "wait/answer", .unit = "us", .baseline = "polling"};
    struct bench_blocks core = answer;

    bench_start_threads(argc, argv, "engine");
    count_vfs_register();
    core.name = "wait/core";
    if (bench_wants("send/delta"))
        measure_delta();
    if (bench_wants(answer.name) || bench_wants(core.name)) {
        measure_wait(&answer, &core);
        bench_note_number("callers", CALLERS);
        bench_note_number("poll_ms", POLL_NS / 1e6);
        bench_blocks_report(&answer);
        bench_blocks_report(&core);
    }
    return 0;
}
