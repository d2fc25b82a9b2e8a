/*
 * Streams of durable runs: what readers get to see, from the beginning, from
 * the middle, after a crash, and long afterwards.
 */
#include "agent.h"
#include "durable_stage.h"
#include "fault_store.h"
#include "room.h"

/* --- reading --------------------------------------------------------------
 */

static pdr_stream *stream_open(pdr_store *store, const char *run,
                               uint64_t after)
{
    const pdr_stream_opts opts = {.session = durable_session,
                                  .correlation_id =
                                      run != NULL ? S(run) : (pdr_str){NULL, 0},
                                  .after = after};
    pdr_stream *stream = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_stream_open(&stream, store, &opts, &err) != PDR_OK)
        fail_msg("stream: %s", err.message);
    return stream;
}

/* Append an event as "kind data", with a line break. */
static void event_describe(pdr_buf *out, const pdr_stream_event *event)
{
    ASSERT_RC(PDR_OK, pdr_buf_printf(out, NULL, "%.*s %.*s\n",
                                     (int)event->kind.len, event->kind.ptr,
                                     (int)event->data.len, event->data.ptr));
}

/* All events that are there, or until the end of the run; the numbers go to
 * `numbers`, which may be NULL. */
static size_t stream_drain(pdr_buf *out, uint64_t *numbers, pdr_store *store,
                           const char *run, uint64_t after)
{
    pdr_stream *stream = stream_open(store, run, after);
    pdr_stream_event event;
    size_t count = 0;

    while (pdr_stream_next(&event, stream, 0, NULL) == PDR_OK &&
           event.kind.ptr != NULL) {
        if (numbers != NULL)
            numbers[count] = event.n;
        count++;
        event_describe(out, &event);
    }
    pdr_stream_close(stream);
    return count;
}

static void stream_is(const char *expected, pdr_store *store, const char *run,
                      uint64_t after)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

    (void)stream_drain(&text, NULL, store, run, after);
    ASSERT_TEXT(expected, pdr_buf_str(&text));
    pdr_buf_dispose(&text);
}

static void stream_refused(const char *reason, pdr_store *store,
                           const char *run, uint64_t after)
{
    const pdr_stream_opts opts = {.session = durable_session,
                                  .correlation_id =
                                      run != NULL ? S(run) : (pdr_str){NULL, 0},
                                  .after = after};
    pdr_stream *stream = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT(pdr_stream_open(&stream, store, &opts, &err) != PDR_OK);
    ASSERT_STR(reason, err.reason);
    ASSERT(stream == NULL);
}

#define TURN(id, text) "{\"message\":\"" text "\",\"correlationId\":\"" id "\"}"

/* --- what is in it --------------------------------------------------------
 */

TEST(stream, is_that_of_one_run_or_of_the_session)
{
    COVERS("D-92");
    COVERS("R-1");
    const char *const steps[] = {"say Hel/lo", "say By/e", NULL};
    struct durable_process p = {.store = NULL};
    pdr_store *store = durable_store();

    durable_begin(&p, store, steps);
    durable_says("Hello", &p, TURN("c1", "Hi"));
    durable_says("Bye", &p, TURN("c2", "Ho"));
    stream_is(
        "message {\"text\":\"Hel\"}\nmessage {\"text\":\"lo\"}\ndone {}\n",
        store, "c1", 0);
    stream_is("message {\"text\":\"By\"}\nmessage {\"text\":\"e\"}\ndone {}\n",
              store, "c2", 0);
    stream_is("message {\"text\":\"Hel\"}\nmessage {\"text\":\"lo\"}\ndone {}\n"
              "message {\"text\":\"By\"}\nmessage {\"text\":\"e\"}\ndone {}\n",
              store, NULL, 0);
    durable_end(&p);
    pdr_store_close(store);
}

/* Whoever has read the last event need not wait for the end. */
TEST(stream, that_has_ended_is_of_a_run_that_has)
{
    const char *const steps[] = {"say Hello", NULL};
    struct durable_process p = {.store = NULL};
    pdr_store *store = durable_store();

    durable_begin(&p, store, steps);
    for (int i = 0; i < 50; i++) {
        const pdr_operation operation = {.session = durable_session,
                                         .name = S("run"),
                                         .input = S("{\"message\":\"Hi\"}")};
        pdr_stream_event event = {.kind = S("")};
        pdr_ending *ending = NULL;
        pdr_stream *stream = NULL;
        pdr_sent sent;

        ASSERT_RC(PDR_OK, pdr_engine_send(&sent, p.engine, &operation, NULL));
        stream = stream_open(store, sent.correlation_id, 0);
        while (!pdr_str_equal(event.kind, S("done")))
            ASSERT_RC(PDR_OK, pdr_stream_next(&event, stream, 60000, NULL));
        ASSERT_RC(PDR_OK, pdr_engine_wait(&ending, p.engine, &durable_session,
                                          S(sent.correlation_id), 0, NULL));
        ASSERT_INT(PDR_OPERATION_COMPLETED, ending->state);
        pdr_ending_free(ending);
        pdr_stream_close(stream);
    }
    durable_end(&p);
    pdr_store_close(store);
}

TEST(stream, tells_of_tools_and_failures)
{
    COVERS("R-2");
    const char *const steps[] = {"call look {\"n\":1}", "fail", NULL};
    struct durable_process p = {.store = NULL};
    pdr_store *store = durable_store();
    pdr_ending *ending = NULL;
    uint64_t numbers[8];
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    size_t count = 0;

    durable_begin(&p, store, steps);
    ASSERT_RC(PDR_OK,
              durable_call(&ending, NULL, &p, "run", TURN("c", "Hi"), NULL));
    ASSERT_INT(PDR_OPERATION_FAILED, ending->state);
    pdr_ending_free(ending);
    count = stream_drain(&text, numbers, store, "c", 0);
    ASSERT_TEXT(
        "tool_call {\"arguments\":\"{\\\"n\\\":1}\",\"call_id\":\"c1\","
        "\"name\":\"look\"}\n"
        "tool_result {\"failed\":false,\"call_id\":\"c1\",\"result\":"
        "\"look did {\\\"n\\\":1}\"}\n"
        "error {\"code\":\"model_failed\",\"message\":\"as planned\"}\n",
        pdr_buf_str(&text));
    for (size_t i = 1; i < count; i++)
        ASSERT(numbers[i] > numbers[i - 1]);
    pdr_buf_dispose(&text);
    durable_end(&p);
    pdr_store_close(store);
}

/* --- cursors --------------------------------------------------------------
 */

TEST(cursor, gives_exactly_the_rest)
{
    COVERS("D-90");
    COVERS("R-3");
    COVERS("R-10");
    const char *const steps[] = {"say a/b/c/d", "call look {}", "say e/f",
                                 NULL};
    struct durable_process p = {.store = NULL};
    pdr_store *store = durable_store();
    pdr_buf all = PDR_BUF_INIT(SIZE_MAX);
    uint64_t numbers[32];
    size_t count = 0;

    durable_begin(&p, store, steps);
    durable_says("abcd", &p, TURN("c1", "Hi"));
    durable_says("ef", &p, TURN("c2", "Ho"));
    count = stream_drain(&all, numbers, store, NULL, 0);
    ASSERT_SIZE(5 + 5, count);
    for (size_t i = 0; i < count; i++) {
        const char *rest = all.ptr;

        for (size_t k = 0; k <= i; k++)
            rest = strchr(rest, '\n') + 1;
        stream_is(rest, store, NULL, numbers[i]);
    }
    /* What is not a cursor, and a run or session that nobody knows. */
    stream_refused("bad_cursor", store, NULL, numbers[count - 1] + 1);
    stream_refused("no_completion", store, "c3", 0);
    /* Of one run, too; who has had its end gets that alone, and no text. */
    pdr_buf_clear(&all);
    count = stream_drain(&all, numbers, store, "c1", 0);
    ASSERT_SIZE(5, count);
    for (size_t i = 0; i < count; i++) {
        const char *rest = all.ptr;

        for (size_t k = 0; k <= i; k++)
            rest = strchr(rest, '\n') + 1;
        stream_is(i + 1 < count ? rest : "done {}\n", store, "c1", numbers[i]);
    }
    durable_end(&p);
    pdr_store_close(store);
    pdr_buf_dispose(&all);
    store = durable_store();
    stream_refused("no_session", store, NULL, 0);
    stream_refused("no_session", store, "c1", 0);
    pdr_store_close(store);
}

TEST(stream, ends_when_the_response_is_there)
{
    COVERS("D-94");
    COVERS("R-4");
    const char *const steps[] = {"say a/b", NULL};
    const pdr_operation operation = {.session = durable_session,
                                     .name = S("run"),
                                     .input = S(TURN("c", "Hi"))};
    const pdr_query query = {
        .what = PDR_READ_ENTRIES, .ref = durable_session, .key = S("c")};
    struct durable_process p = {.store = NULL};
    pdr_store *store = durable_store();
    pdr_stream_event event = {.n = 0};
    pdr_stream *stream = NULL;
    pdr_page *page = NULL;
    struct gate gate;
    bool is_done = false;

    gate_init(&gate);
    durable_begin(&p, store, steps);
    p.model.hook = gate_pass;
    p.model.hook_arg = &gate;
    ASSERT_RC(PDR_OK, pdr_engine_send(NULL, p.engine, &operation, NULL));
    gate_await(&gate, 1);
    stream = stream_open(store, "c", 0);
    ASSERT_RC(PDR_ETIMEOUT, pdr_stream_next(&event, stream, 0, NULL));
    gate_open(&gate);
    while (!is_done) {
        ASSERT_RC(PDR_OK, pdr_stream_next(&event, stream, 60000, NULL));
        is_done = pdr_str_equal(event.kind, S("done"));
        ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
        if (is_done)
            ASSERT_SIZE(2, page->count);
        pdr_page_free(page);
    }
    ASSERT_RC(PDR_OK, pdr_stream_next(&event, stream, 60000, NULL));
    ASSERT(event.kind.ptr == NULL);
    pdr_stream_close(stream);
    durable_end(&p);
    pdr_store_close(store);
}

TEST(reader, that_sleeps_holds_up_nobody)
{
    COVERS("D-97");
    const char *const steps[] = {"say a/b", NULL};
    struct durable_process p = {.store = NULL};
    pdr_store *store = durable_store();
    pdr_stream *asleep = NULL, *awake = NULL;
    pdr_stream_event event;

    durable_begin(&p, store, steps);
    durable_says("ab", &p, TURN("c0", "Hi"));
    asleep = stream_open(store, NULL, 0);
    awake = stream_open(store, NULL, 0);
    ASSERT_RC(PDR_OK, pdr_stream_next(&event, asleep, 60000, NULL));
    for (int i = 0; i < 50; i++) {
        char input[80];

        snprintf(input, sizeof(input), TURN("c%d", "Hi"), i + 1);
        durable_says("ab", &p, input);
    }
    for (int i = 0; i < 51 * 3; i++)
        ASSERT_RC(PDR_OK, pdr_stream_next(&event, awake, 60000, NULL));
    for (int i = 1; i < 51 * 3; i++)
        ASSERT_RC(PDR_OK, pdr_stream_next(&event, asleep, 60000, NULL));
    pdr_stream_close(asleep);
    pdr_stream_close(awake);
    durable_end(&p);
    pdr_store_close(store);
}

static void *stop_it(void *arg)
{
    pdr_stream_stop(arg);
    return NULL;
}

TEST(reader, can_be_stopped_and_hears_of_a_deletion)
{
    const char *const steps[] = {"say a", NULL};
    struct durable_process p = {.store = NULL};
    pdr_store *store = durable_store();
    pdr_stream *stream = NULL;
    pdr_stream_event event;
    pdr_ending *ending = NULL;
    pdr_err err = PDR_ERR_INIT;
    pthread_t thread;

    durable_begin(&p, store, steps);
    durable_says("a", &p, TURN("c", "Hi"));
    stream = stream_open(store, NULL, 2);
    pthread_create(&thread, NULL, stop_it, stream);
    ASSERT_RC(PDR_ECANCELLED, pdr_stream_next(&event, stream, 60000, &err));
    ASSERT_STR("watch_stopped", err.reason);
    pthread_join(thread, NULL);
    pdr_stream_close(stream);
    stream = stream_open(store, NULL, 2);
    ASSERT_RC(PDR_OK, durable_call(&ending, NULL, &p, "delete", NULL, NULL));
    pdr_ending_free(ending);
    ASSERT_RC(PDR_ENOTFOUND, pdr_stream_next(&event, stream, 60000, &err));
    ASSERT_STR("no_session", err.reason);
    pdr_stream_close(stream);
    durable_end(&p);
    pdr_store_close(store);
}

/* --- long afterwards ------------------------------------------------------
 */

TEST(retention, leaves_the_whole_text)
{
    COVERS("D-95");
    COVERS("R-5");
    COVERS("R-6");
    const char *const steps[] = {"say Hel/lo", "say Bye", "fail", NULL};
    struct durable_process p = {.now_ms = STAGE_NOW};
    pdr_store *store = durable_store();
    pdr_ending *ending = NULL;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    uint64_t numbers[8];
    size_t count = 0;

    durable_begin(&p, store, steps); /* ten minutes */
    durable_says("Hello", &p, TURN("c1", "Hi"));
    durable_pass(&p, 9 * 60000);
    durable_says("Bye", &p, TURN("c2", "Ho"));
    count = stream_drain(&text, numbers, store, "c1", 0);
    ASSERT_SIZE(3, count); /* they are kept */
    durable_pass(&p, 11 * 60000);
    ASSERT_RC(PDR_OK,
              durable_call(&ending, NULL, &p, "run", TURN("c3", "Ha"), NULL));
    pdr_ending_free(ending);
    stream_is("message {\"text\":\"Hello\"}\ndone {}\n", store, "c1", 0);
    stream_is("message {\"text\":\"Bye\"}\ndone {}\n", store, "c2", 0);
    stream_refused("cursor_gone", store, "c1", numbers[0]);
    stream_refused("cursor_gone", store, NULL, numbers[0]);
    /* A session without another turn: the keeper of the house sees to it. */
    durable_pass(&p, 11 * 60000);
    for (int i = 0; i < 2000 && count > 0; i++) {
        const struct timespec pause = {0, 2000000};

        pdr_buf_clear(&text);
        count = stream_drain(&text, numbers, store, NULL, 0);
        nanosleep(&pause, NULL);
    }
    ASSERT_SIZE(0, count);
    stream_is(
        "error {\"state\":\"failed\",\"code\":\"model_failed\",\"message\":"
        "\"as planned\"}\n",
        store, "c3", 0);
    pdr_buf_dispose(&text);
    durable_end(&p);
    pdr_store_close(store);
}

/* --- after a crash --------------------------------------------------------
 */

struct crash {
    pdr_stream *stream; /* of another process */
    size_t pieces;      /* that it has seen */
};

/* Called after each piece: wait until it is stored, and with the second let no
 * commit pass any more. */
static void piece_crash(void *arg)
{
    const struct fault_plan plan = {.call = FAULT_COMMIT,
                                    .nth = 1,
                                    .for_ever = true,
                                    .way = FAULT_UNKNOWN_LOST};
    struct crash *c = arg;
    pdr_stream_event event = {.n = 0};

    while (c->pieces < 2 && !pdr_str_equal(event.kind, S("message")))
        (void)!pdr_stream_next(&event, c->stream, 60000, NULL);
    if (++c->pieces == 2)
        fault_store_set(&plan);
}

/* The text that a reader builds of pieces that count. */
static void text_build(pdr_buf *out, pdr_store *store)
{
    uint64_t ends[32] = {0};
    pdr_stream *stream = stream_open(store, "c", 0);
    pdr_stream_event event;
    size_t pieces = 0, lens[32] = {0};

    while (pdr_stream_next(&event, stream, 0, NULL) == PDR_OK &&
           event.kind.ptr != NULL) {
        pdr_value *data = NULL;
        pdr_str text = {NULL, 0};
        uint64_t counts = 0;

        ASSERT_RC(PDR_OK, pdr_json_read(&data, event.data, NULL, NULL));
        if (pdr_str_equal(event.kind, S("message"))) {
            ASSERT_RC(PDR_OK,
                      pdr_value_text(&text, pdr_value_get_c(data, "text"), NULL,
                                     NULL));
            ends[pieces] = event.n;
            lens[pieces++] = text.len;
            ASSERT_RC(PDR_OK, pdr_buf_append(out, text, NULL));
        } else if (pdr_str_equal(event.kind, S("attempt"))) {
            ASSERT_RC(PDR_OK,
                      pdr_value_uint64(&counts, pdr_value_get_c(data, "counts"),
                                       NULL));
            while (pieces > 0 && ends[pieces - 1] > counts)
                out->len -= lens[--pieces];
        }
        pdr_value_free(data);
    }
    pdr_stream_close(stream);
}

TEST(crash, makes_a_new_attempt_whose_pieces_count)
{
    COVERS("D-93");
    const char *const first[] = {"say Let me see. ", "say Hel/lo/!", NULL};
    const char *const second[] = {"say Good/bye", NULL};
    const struct fault_plan none = {.nth = 0};
    const pdr_operation operation = {.session = durable_session,
                                     .name = S("run"),
                                     .input = S(TURN("c", "Hi"))};
    struct durable_process p = {.lease_ms = 200}, q = {.lease_ms = 200};
    struct crash crash = {.pieces = 0};
    struct room room;
    char uri[700];
    pdr_store *broken = NULL, *store = NULL;
    pdr_ending *ending = NULL;
    pdr_stream_event event;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

    room_enter(&room);
    snprintf(uri, sizeof(uri), "fault:sqlite:%s", room_path(&room, "s.db"));
    fault_store_register();
    fault_store_set(&none);
    ASSERT_RC(PDR_OK, pdr_store_open(&broken, uri, NULL));
    ASSERT_RC(PDR_OK, pdr_store_open(&store, room_path(&room, "s.db"), NULL));
    durable_begin(&p, broken, first);
    durable_says("Let me", &p, TURN("c0", "First"));
    crash.stream = stream_open(store, NULL, 0);
    for (int i = 0; i < 2; i++) /* of the first turn */
        ASSERT_RC(PDR_OK, pdr_stream_next(&event, crash.stream, 60000, NULL));
    p.model.hook_arg = &crash;
    p.model.after_piece = piece_crash;
    ASSERT_RC(PDR_EUNKNOWN, pdr_engine_call(&ending, NULL, p.engine, &operation,
                                            60000, NULL));
    pdr_stream_close(crash.stream);
    durable_end(&p);
    fault_store_set(&none);
    pdr_store_close(broken);
    durable_begin(&q, store, second);
    ASSERT_RC(PDR_OK, pdr_engine_wait(&ending, q.engine, &durable_session,
                                      S("c"), 60000, NULL));
    pdr_ending_free(ending);
    stream_is("message {\"text\":\"Hel\"}\nmessage {\"text\":\"lo\"}\n"
              "attempt {\"attempt\":2,\"counts\":2}\n"
              "message {\"text\":\"Good\"}\nmessage {\"text\":\"bye\"}\n"
              "done {}\n",
              store, "c", 0);
    text_build(&text, store);
    ASSERT_TEXT("Goodbye", pdr_buf_str(&text));
    /* Who asks for it does not get what is void, from wherever it goes on. */
    for (uint64_t after = 0; after < 5; after++) {
        crash.stream = stream_open(store, "c", after);
        pdr__stream_skip_void(crash.stream);
        pdr_buf_clear(&text);
        while (pdr_stream_next(&event, crash.stream, 0, NULL) == PDR_OK &&
               event.kind.ptr != NULL)
            event_describe(&text, &event);
        ASSERT_TEXT("attempt {\"attempt\":2,\"counts\":2}\n"
                    "message {\"text\":\"Good\"}\n"
                    "message {\"text\":\"bye\"}\ndone {}\n",
                    pdr_buf_str(&text));
        pdr_stream_close(crash.stream);
    }
    durable_history("user:First | assistant:Let me see.  | user:Hi | "
                    "assistant:Goodbye",
                    store);
    pdr_buf_dispose(&text);
    durable_end(&q);
    pdr_store_close(store);
    room_leave(&room);
}
