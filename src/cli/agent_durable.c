/*
 * agent_durable.c - a run that outlives the process that began it.
 *
 *      send ──► engine ──► events ──► standard output
 *                 │
 *      signal ──► hand back: another process goes on, see `perdure run`
 *
 * WHY  What is printed is what was stored: the events of the run, read back. So
 *      whoever looks on elsewhere sees the same.
 */
#include "agent_parts.h"
#include "engine_parts.h"

#include <stdlib.h>

#define WAIT_MS 500 /* until it is noticed that the engine has ended */

struct durable_run {
    struct agt_ask *ask;
    struct eng eng;
    pdr_buf id; /* of the session, ended by NUL */
    pdr_sent sent;
    pdr_stream *stream;    /* owned; the thread of signals stops it */
    uint64_t last_text;    /* the last event whose text was printed */
    bool is_sent, is_over; /* stored; its last event was read */
    struct cli_signals signals;
};

/* --- which session -------------------------------------------------------- */

/* Is there a session with the id that was given? */
static bool is_there(const struct agt_ask *ask)
{
    const pdr_query query = {.what = PDR_READ_HEAD,
                             .ref = sto_ref(&ask->from, ask->session)};
    pdr_store *store = NULL;
    pdr_page *page = NULL;
    pdr_err err = PDR_ERR_INIT;
    bool found = sto_open(&store, &ask->from, "ro", &err) == PDR_OK &&
                 pdr_store_read(&page, store, &query, &err) == PDR_OK;

    pdr_page_free(page);
    pdr_store_close(store);
    return found;
}

/* A session of this kind has another id, or another agent. Exit status. */
static int refuse_id(const struct agt_ask *ask, pdr_str key, const char *why)
{
    const struct cli_about about = {.name = "--agent"};
    pdr_buf id = PDR_BUF_INIT(SIZE_MAX), hint = id;
    pdr_err err = PDR_ERR_INIT;
    int status = 0;

    if (pdr_durable_id_write(&id, pdr_agent_name(ask->made.agent), key, &err) !=
        PDR_OK) { /* the agent itself cannot have one */
        status = cli_fail(ask->cli, &about, &err);
    } else {
        cli_must(pdr_buf_append(&id, pdr_str_n("", 1), NULL), NULL);
        cli_put(&hint, "write --session");
        eng_put_word(&hint, id.ptr, "@dafx-NAME@KEY");
        if (ask->session[0] != '@' && is_there(ask)) {
            cli_put(&hint, "; to take that conversation along, run first: ");
            eng_put_conversion(&hint, &ask->from, ask->session, id.ptr);
        }
        cli_must(pdr_buf_append(&hint, pdr_str_n("", 1), NULL), NULL);
        status = doc_usage(ask->cli, "--session", why, hint.ptr);
    }
    pdr_buf_dispose(&hint);
    pdr_buf_dispose(&id);
    return status;
}

/* The id as stores have it, of a session of this agent. Nothing is stored, nor
 * opened, before that is sure. Exit status. */
static int check_id(struct durable_run *d)
{
    const struct agt_ask *ask = d->ask;
    pdr_str agent = {NULL, 0}, key = {NULL, 0};
    pdr_buf own = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;
    char why[160];
    int status = 0;

    if (pdr_durable_id_read(&agent, &key, NULL, pdr_str_c(ask->session),
                            &err) != PDR_OK ||
        eng_put_id(&d->id, ask->session, &err) != PDR_OK) {
        snprintf(why, sizeof(why),
                 "'%.60s' is not the id of a durable session, which has the "
                 "name of its agent",
                 ask->session);
        return refuse_id(
            ask,
            pdr_str_c(ask->session[0] != '@' && ask->session[0] != '\0'
                          ? ask->session
                          : "KEY"),
            why);
    }
    snprintf(why, sizeof(why),
             "'%.60s' is a session of agent '%.*s', not of "
             "'%.*s'",
             ask->session, agent.len < 40 ? (int)agent.len : 40, agent.ptr,
             (int)strcspn(ask->made.spec, "="), ask->made.spec);
    if (pdr_durable_id_write(&own, pdr_agent_name(ask->made.agent), key,
                             &err) != PDR_OK ||
        !pdr_str_equal(pdr_buf_str(&own), pdr_str_c(d->id.ptr)))
        status = refuse_id(ask, key, why);
    pdr_buf_dispose(&own);
    return status;
}

/* --- what is sent --------------------------------------------------------- */

/* One answer to a call that waits, as a content. */
static pdr_rc add_answer(pdr_value **contents, const pdr_answer *answer,
                         const pdr_approvals *waiting, pdr_err *err)
{
    pdr_content_part parts[4] = {{.field = PDR_FIELD_REQUEST_ID},
                                 {.field = PDR_FIELD_APPROVED},
                                 {.field = PDR_FIELD_TOOL_CALL},
                                 {.field = PDR_FIELD_REASON}};
    pdr_value *made[4] = {NULL}, *content = NULL;
    size_t i = 0;
    pdr_rc rc = PDR_OK;

    while (!pdr_str_equal(waiting->items[i].id, answer->id))
        i++;
    CLI_TRY(pdr_value_new_string(&made[0], answer->id, err));
    made[1] = pdr_value_new_bool(answer->approved);
    CLI_TRY(pdr_content_new_call(
        &made[2], PDR_SHAPE_DOTNET, waiting->items[i].call_id,
        waiting->items[i].tool, waiting->items[i].arguments, err));
    CLI_TRY(pdr_value_new_string(&made[3], answer->reason, err));
    for (i = 0; i < CLI_COUNT(parts); i++)
        parts[i].value = made[i];
    CLI_TRY(pdr_content_new(&content, PDR_SHAPE_DOTNET,
                            PDR_CONTENT_APPROVAL_RESPONSE, parts,
                            answer->reason.len > 0 ? 4 : 3, err));
    CLI_TRY(pdr_value_append(contents, content, err));
done:
    for (i = 0; i < CLI_COUNT(made); i++)
        pdr_value_free(made[i]);
    pdr_value_free(content);
    return rc;
}

/* What --approve and --reject say, in a message. */
static pdr_rc add_answers(pdr_value **messages, struct durable_run *d,
                          pdr_err *err)
{
    const pdr_ref ref = sto_ref(&d->ask->from, d->id.ptr);
    pdr_message_parts parts = {.role = pdr_str_c("user")};
    pdr_value *contents = pdr_value_new_array(), *message = NULL;
    pdr_approvals *waiting = NULL;
    pdr_stored *stored = NULL;
    pdr_answer *answers = NULL;
    size_t count = 0;
    pdr_rc rc = PDR_OK;

    if (d->ask->approve == NULL && d->ask->reject == NULL)
        goto done;
    CLI_TRY(pdr_stored_open(&stored, d->eng.store, &ref, NULL, err));
    CLI_TRY(pdr_approvals_pending(&waiting, NULL, stored, err));
    CLI_TRY(agt_answers(&answers, &count, d->ask, waiting, err));
    for (size_t i = 0; i < count; i++)
        CLI_TRY(add_answer(&contents, &answers[i], waiting, err));
    parts.contents = contents;
    CLI_TRY(pdr_message_new(&message, PDR_SHAPE_DOTNET, &parts, err));
    CLI_TRY(pdr_value_append(messages, message, err));
done:
    free(answers);
    pdr_value_free(message);
    pdr_value_free(contents);
    pdr_approvals_free(waiting);
    pdr_stored_close(stored);
    return rc;
}

/* A session that is there is a durable one. */
static pdr_rc check_kind(const struct durable_run *d, pdr_err *err)
{
    const pdr_query query = {.what = PDR_READ_HEAD,
                             .ref = sto_ref(&d->ask->from, d->id.ptr)};
    pdr_page *page = NULL;
    pdr_rc rc = pdr_store_read(&page, d->eng.store, &query, err);

    if (rc == PDR_ENOTFOUND)
        rc = PDR_OK; /* it is made */
    else if (rc == PDR_OK && page->head.kind.ptr != NULL &&
             !pdr_str_equal(page->head.kind, pdr_str_c("durable")))
        rc = pdr_err_set(err, PDR_EINVALID, "session_kind",
                         "session '%.80s' is of kind '%.*s', and a durable run "
                         "needs a durable one",
                         d->id.ptr, (int)page->head.kind.len,
                         page->head.kind.ptr);
    pdr_page_free(page);
    return rc;
}

static pdr_rc send_run(struct durable_run *d, pdr_err *err)
{
    const struct agt_ask *ask = d->ask;
    pdr_operation operation = {.session = sto_ref(&ask->from, d->id.ptr),
                               .name = pdr_str_c("run")};
    pdr_value *messages = pdr_value_new_array(), *message = NULL, *input = NULL;
    pdr_builder *to = ses_object_new();
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    CLI_TRY(check_kind(d, err));
    CLI_TRY(add_answers(&messages, d, err));
    if (ask->said.len > 0) {
        CLI_TRY(pdr_message_new_text(&message, PDR_SHAPE_STATE,
                                     pdr_str_c("user"), pdr_buf_str(&ask->said),
                                     err));
        CLI_TRY(pdr_value_append(&messages, message, err));
    }
    pdr_builder_name(to, pdr_str_c("messages"));
    pdr_builder_value(to, messages);
    pdr_builder_end(to);
    CLI_TRY(pdr_builder_finish(&input, to, err));
    CLI_TRY(pdr_json_write(&text, input, NULL, err));
    operation.input = pdr_buf_str(&text);
    if (ask->correlation != NULL)
        operation.correlation_id = pdr_str_c(ask->correlation);
    CLI_TRY(pdr_engine_start(d->eng.engine, err));
    CLI_TRY(pdr_engine_send(&d->sent, d->eng.engine, &operation, err));
    d->is_sent = true;
done:
    pdr_buf_dispose(&text);
    pdr_value_free(input);
    pdr_value_free(message);
    pdr_value_free(messages);
    pdr_builder_free(to);
    return rc;
}

/* --- what comes ----------------------------------------------------------- */

static pdr_rc print_event(struct durable_run *d, const pdr_stream_event *event,
                          pdr_err *err)
{
    struct eng_event e = ENG_EVENT_INIT, more = e;
    pdr_rc rc = PDR_OK;

    CLI_TRY(eng_event_read(&e, event, err));
    if (eng_event_is(event, "message")) {
        agt_print_text(d->ask, eng_event_text(&e, "text"));
        d->last_text = event->n;
    } else if (eng_event_is(event, "tool_call")) {
        more.data = pdr_value_ref(e.data);
        agt_tell_call(d->ask, eng_event_text(&e, "name"),
                      eng_event_text(&more, "arguments"));
    } else if (eng_event_is(event, "attempt") &&
               d->last_text > eng_event_count(&e, "counts") &&
               !cli_is_json(d->ask->cli)) {
        if (!d->ask->at_line_end)
            agt_print_text(d->ask, pdr_str_c("\n"));
        cli_fprintf(stderr,
                    "perdure: attempt %ju: the unfinished text above does "
                    "not count\n",
                    (uintmax_t)eng_event_count(&e, "attempt"));
    }
done:
    eng_event_free(&more);
    eng_event_free(&e);
    return rc;
}

/* Print what is stored of the run until it has ended, or a signal came. */
static pdr_rc print_events(struct durable_run *d, pdr_err *err)
{
    pdr_stream_event event = {.n = 0};
    pdr_rc rc = PDR_OK;

    while (rc == PDR_OK && !d->is_over) {
        rc = pdr_stream_next(&event, d->stream, WAIT_MS, err);
        if (rc == PDR_ETIMEOUT)
            rc = pdr_engine_check(d->eng.engine, err);
        else if (rc == PDR_OK && event.kind.ptr == NULL)
            d->is_over = true;
        else if (rc == PDR_OK)
            rc = print_event(d, &event, err);
    }
    return rc;
}

/* A command on a line of its own. */
static void tell_command(const struct durable_run *d, const char *what,
                         const char *verb, const char *before, bool has_run)
{
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);

    cli_putf(&line, "  %-16s ", what);
    eng_put_command(&line, &d->ask->from, verb);
    if (strcmp(verb, "run resume") == 0) {
        cli_put(&line, " --agent");
        eng_put_word(&line, d->ask->made.spec, "SPEC");
        if (d->ask->made.key_env != NULL)
            cli_putf(&line, " --key-env %s", d->ask->made.key_env);
    }
    if (has_run && before[0] != '\0') {
        cli_putf(&line, " %s", before);
        eng_put_word(&line, d->sent.correlation_id, "RUN");
    }
    eng_put_word(&line, d->id.ptr, "ID");
    if (has_run && before[0] == '\0')
        eng_put_word(&line, d->sent.correlation_id, "RUN");
    cli_fprintf(stderr, "%.*s\n", (int)line.len, line.ptr);
    pdr_buf_dispose(&line);
}

/* A signal came: leave the run to others. */
static pdr_rc hand_back(struct durable_run *d, pdr_err *err)
{
    bool tells = !cli_is_json(d->ask->cli);
    pdr_rc rc = PDR_OK;

    if (!d->ask->at_line_end)
        agt_print_text(d->ask, pdr_str_c("\n"));
    if (tells)
        fprintf(stderr, "perdure: interrupted; the run is handed back when a "
                        "tool that is at work has ended\n");
    CLI_TRY(pdr_engine_stop(d->eng.engine, PDR_STOP_HAND_BACK, 0, err));
    rc = print_events(d, err); /* what was stored until then */
    if (rc == PDR_ECANCELLED)
        rc = PDR_OK;
    if (rc != PDR_OK || d->is_over || !tells)
        goto done;
    fprintf(stderr, "perdure: the run has not ended, and waits for a worker\n");
    tell_command(d, "to go on:", "run resume", "", false);
    tell_command(d, "for its answer:", "run wait", "", true);
    tell_command(d, "as it comes:", "session tail", "--stream --run", true);
done:
    return rc;
}

/* --- how it ended --------------------------------------------------------- */

static pdr_rc read_waiting(pdr_approvals **out, const struct durable_run *d,
                           pdr_err *err)
{
    const pdr_ref ref = sto_ref(&d->ask->from, d->id.ptr);
    pdr_stored *stored = NULL;
    pdr_rc rc = PDR_OK;

    CLI_TRY(pdr_stored_open(&stored, d->eng.store, &ref, NULL, err));
    CLI_TRY(pdr_approvals_pending(out, NULL, stored, err));
done:
    pdr_stored_close(stored);
    return rc;
}

static void print_object(const struct durable_run *d, const struct eng_end *end,
                         const pdr_approvals *waiting)
{
    pdr_builder *to = ses_object_new();

    cli_member_text(to, "agent", pdr_agent_name(d->ask->made.agent));
    cli_member_text(to, "store", pdr_str_c(sto_name(&d->ask->from)));
    cli_member_text(to, "session", pdr_str_c(d->id.ptr));
    cli_member_text(to, "correlationId", pdr_str_c(d->sent.correlation_id));
    eng_end_members(to, end);
    if (waiting != NULL)
        agt_member_approvals(to, waiting);
    ses_object_print(d->ask->cli, stdout, to);
}

/* Say how it ended; exit status. */
static int tell_end(struct durable_run *d)
{
    const pdr_ref ref = sto_ref(&d->ask->from, d->id.ptr);
    struct eng_end end = ENG_END_INIT;
    pdr_approvals *waiting = NULL;
    pdr_ending *ending = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;
    int status = 0;

    if (!d->ask->at_line_end)
        agt_print_text(d->ask, pdr_str_c("\n"));
    if (d->is_over) {
        CLI_TRY(pdr_engine_wait(&ending, d->eng.engine, &ref,
                                pdr_str_c(d->sent.correlation_id), 0, &err));
        CLI_TRY(eng_end_take(&end, ending, &err));
        CLI_TRY(read_waiting(&waiting, d, &err));
    }
    if (end.state == PDR_OPERATION_FAILED ||
        end.state == PDR_OPERATION_CANCELLED) {
        fflush(stdout);
        status = eng_end_fail(d->ask->cli, d->sent.correlation_id, &end);
    } else if (cli_is_json(d->ask->cli)) {
        print_object(d, &end, waiting);
    }
    if (waiting != NULL && !cli_is_json(d->ask->cli))
        agt_tell_approvals(waiting, true);
    if (!d->is_over)
        status = CLI_EXIT_SIGNAL + cli_signals_number(&d->signals);
done:
    if (rc != PDR_OK)
        status = eng_fail(d->ask->cli, &d->ask->from, d->id.ptr,
                          d->sent.correlation_id, &err);
    pdr_approvals_free(waiting);
    eng_end_free(&end);
    return status;
}

/* --- all of it ------------------------------------------------------------ */

static void on_signal(void *arg)
{
    struct durable_run *d = arg;
    pdr_stream *stream = __atomic_load_n(&d->stream, __ATOMIC_ACQUIRE);

    if (stream != NULL)
        pdr_stream_stop(stream);
}

static pdr_rc run_all(struct durable_run *d, pdr_err *err)
{
    pdr_stream_opts opts = {.session = sto_ref(&d->ask->from, d->id.ptr)};
    pdr_stream *stream = NULL;
    pdr_rc rc = PDR_OK;

    CLI_TRY(eng_open(&d->eng, err));
    CLI_TRY(send_run(d, err));
    opts.correlation_id = pdr_str_c(d->sent.correlation_id);
    CLI_TRY(pdr_stream_open(&stream, d->eng.store, &opts, err));
    __atomic_store_n(&d->stream, stream, __ATOMIC_RELEASE);
    if (cli_signals_number(&d->signals) != 0) /* it came before */
        pdr_stream_stop(stream);
    rc = print_events(d, err);
    if (rc == PDR_ECANCELLED && cli_signals_number(&d->signals) != 0)
        rc = hand_back(d, err);
done:
    return rc;
}

int agt_run_durable(struct agt_ask *ask)
{
    struct durable_run d = {.ask = ask,
                            .eng = {.cli = ask->cli,
                                    .from = &ask->from,
                                    .mode = "rwc",
                                    .agent = ask->made.agent,
                                    .lease = ask->lease},
                            .id = PDR_BUF_INIT(SIZE_MAX)};
    pdr_err err = PDR_ERR_INIT;
    int status = check_id(&d);

    if (status == 0) {
        d.eng.only = d.id.ptr;
        cli_signals_begin(&d.signals, on_signal, &d);
        if (run_all(&d, &err) == PDR_OK)
            status = tell_end(&d);
        else
            status = eng_fail(ask->cli, &ask->from, d.id.ptr,
                              d.is_sent ? d.sent.correlation_id : NULL, &err);
        fflush(stdout);
        pdr_engine_free(d.eng.engine); /* a second signal still ends it */
        d.eng.engine = NULL;
        cli_signals_end(&d.signals);
        pdr_stream_close(d.stream);
        eng_close(&d.eng);
    }
    pdr_buf_dispose(&d.id);
    return status;
}
