/*
 * engine_event.c - what runs say while they are at work.
 *
 *      message      text, as it comes
 *      the others   a line each
 *
 * The store has them for some minutes; of a run that ended earlier there is its
 * answer and its end.
 */
#include "engine_parts.h"

#include <poll.h>
#include <unistd.h>

#define WAIT_MS    200 /* until an interrupt or a closed pipe is noticed */
#define TEXT_CELLS 160 /* of what an event says in its line */

/* --- one event ------------------------------------------------------------ */

pdr_rc eng_event_read(struct eng_event *out, const pdr_stream_event *event,
                      pdr_err *err)
{
    return ses_store_value(&out->data, event->data, err);
}

static const pdr_value *member_of(const struct eng_event *event,
                                  const char *name)
{
    return pdr_value_kind(event->data) == PDR_OBJECT
               ? pdr_value_get_c(event->data, name)
               : NULL;
}

pdr_str eng_event_text(struct eng_event *event, const char *name)
{
    const pdr_value *value = member_of(event, name);

    if (value == NULL)
        return pdr_str_c("");
    return pdr_value_kind(value) == PDR_STRING ? doc_text(value, &event->room)
                                               : doc_json(value, &event->room);
}

uint64_t eng_event_count(const struct eng_event *event, const char *name)
{
    const pdr_value *value = member_of(event, name);
    uint64_t count = 0;

    if (value == NULL || pdr_value_uint64(&count, value, NULL) != PDR_OK)
        return 0;
    return count;
}

void eng_event_free(struct eng_event *event)
{
    pdr_value_free(event->data);
    pdr_buf_dispose(&event->room);
}

/* --- one after the other -------------------------------------------------- */

static volatile sig_atomic_t is_over;

static void on_interrupt(int number)
{
    (void)number;
    is_over = 1;
}

struct tail {
    struct eng_tail *how;
    pdr_store *store;
    pdr_stream *stream;
    pdr_buf run;        /* whose events were printed last */
    uint64_t last_text; /* the last event whose text was printed */
    bool at_line_end;   /* of the text */
    bool has_run;       /* `run` is set */
    bool has_ended, has_failed;
};

/* What an event other than a text says, in a line. */
static void put_line(pdr_buf *line, const pdr_stream_event *event,
                     struct eng_event *e, uint64_t last_text)
{
    cli_show(line, event->kind, CLI_TEXT_LINE);
    cli_put(line, " ");
    if (eng_event_is(event, "tool_call")) {
        cli_show(line, eng_event_text(e, "name"), CLI_TEXT_LINE);
        cli_put(line, "(");
        cli_show_cut(line, eng_event_text(e, "arguments"), CLI_TEXT_LINE,
                     TEXT_CELLS);
        cli_put(line, ")");
    } else if (eng_event_is(event, "tool_result")) {
        cli_show_cut(line, eng_event_text(e, "result"), CLI_TEXT_LINE,
                     TEXT_CELLS);
    } else if (eng_event_is(event, "reasoning")) {
        cli_show(line, eng_event_text(e, "text"), CLI_TEXT_LINE);
    } else if (eng_event_is(event, "attempt")) {
        cli_putf(line, "%ju%s", (uintmax_t)eng_event_count(e, "attempt"),
                 last_text > eng_event_count(e, "counts")
                     ? ": the unfinished text above does not count"
                     : "");
    } else if (eng_event_is(event, "error")) {
        cli_show(line, eng_event_text(e, "code"), CLI_TEXT_LINE);
        cli_put(line, ": ");
        cli_show(line, eng_event_text(e, "message"), CLI_TEXT_LINE);
    } else if (!eng_event_is(event, "done")) {
        cli_show_cut(line, event->data, CLI_TEXT_LINE, TEXT_CELLS);
    }
}

static void print_line(struct tail *t, const pdr_buf *line)
{
    const struct cli *cli = t->how->cli;

    if (!t->at_line_end)
        puts("");
    printf("%s%.*s%s\n", cli_on(cli->color_out, CLI_DIM), (int)line->len,
           line->ptr, cli_off(cli->color_out));
    t->at_line_end = true;
}

/* Where the events of all runs are printed, a line says whose they are. */
static void print_run(struct tail *t, pdr_str run)
{
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);

    if (t->how->run != NULL ||
        (t->has_run && pdr_str_equal(run, pdr_buf_str(&t->run))))
        return;
    t->has_run = true;
    pdr_buf_clear(&t->run);
    cli_must(pdr_buf_append(&t->run, run, NULL), NULL);
    cli_put(&line, "run ");
    cli_show(&line, run, CLI_TEXT_LINE);
    print_line(t, &line);
    pdr_buf_dispose(&line);
}

static void print_object(const struct tail *t, const pdr_stream_event *event,
                         const struct eng_event *e)
{
    pdr_builder *to = ses_object_new();

    if (event->n > 0)
        cli_member_count(to, "n", event->n);
    cli_member_text(to, "event", event->kind);
    cli_member_text(to, "run", event->correlation_id);
    pdr_builder_name(to, pdr_str_c("data"));
    pdr_builder_value(to, e->data);
    ses_object_print(t->how->cli, stdout, to);
}

static pdr_rc print_event(struct tail *t, const pdr_stream_event *event,
                          pdr_err *err)
{
    struct eng_event e = ENG_EVENT_INIT;
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);
    pdr_str text = {NULL, 0};
    pdr_rc rc = PDR_OK;

    CLI_TRY(eng_event_read(&e, event, err));
    t->has_failed = eng_event_is(event, "error");
    if (event->n == 0 && t->how->after > 0)
        goto done; /* the reader has had the end */
    if (cli_is_json(t->how->cli)) {
        print_object(t, event, &e);
        goto done;
    }
    print_run(t, event->correlation_id);
    if (eng_event_is(event, "message")) {
        text = eng_event_text(&e, "text");
        cli_print(t->how->cli, text);
        if (text.len > 0)
            t->at_line_end = text.ptr[text.len - 1] == '\n';
        t->last_text = event->n;
    } else {
        put_line(&line, event, &e, t->last_text);
        while (line.len > 0 && line.ptr[line.len - 1] == ' ')
            line.len--;
        print_line(t, &line);
    }
done:
    fflush(stdout);
    pdr_buf_dispose(&line);
    eng_event_free(&e);
    return rc;
}

/* Would nobody read what comes? */
static bool is_closed(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};

    return poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP)) != 0;
}

static pdr_rc follow_all(struct tail *t, pdr_err *err)
{
    const struct eng_tail *how = t->how;
    pdr_stream_opts opts = {.session = sto_ref(how->from, how->id),
                            .after = how->after};
    pdr_stream_event event = {.n = 0};
    pdr_rc rc = PDR_OK;

    if (how->run != NULL)
        opts.correlation_id = pdr_str_c(how->run);
    CLI_TRY(sto_open(&t->store, how->from, "ro", err));
    CLI_TRY(pdr_stream_open(&t->stream, t->store, &opts, err));
    while (rc == PDR_OK && !is_over && !t->has_ended && !is_closed()) {
        rc = pdr_stream_next(&event, t->stream, WAIT_MS, err);
        if (rc == PDR_ETIMEOUT)
            rc = PDR_OK;
        else if (rc == PDR_OK && event.kind.ptr == NULL)
            t->has_ended = true;
        else if (rc == PDR_OK)
            rc = print_event(t, &event, err);
    }
done:
    return rc;
}

int eng_tail(struct eng_tail *how)
{
    struct sigaction action = {.sa_handler = on_interrupt};
    struct tail t = {
        .how = how, .run = PDR_BUF_INIT(SIZE_MAX), .at_line_end = true};
    pdr_err err = PDR_ERR_INIT;
    int status = 0;

    sigaction(SIGINT, &action, NULL);
    if (follow_all(&t, &err) != PDR_OK)
        status = eng_fail(how->cli, how->from, how->id, how->run, &err);
    else if (t.has_ended && t.has_failed)
        status = CLI_EXIT_NEGATIVE;
    if (!t.at_line_end && !cli_is_json(how->cli))
        puts("");
    pdr_buf_dispose(&t.run);
    pdr_stream_close(t.stream);
    pdr_store_close(t.store);
    if (status == 0 && !is_over && !t.has_ended)
        raise(SIGPIPE); /* as if there had been something to write */
    return status;
}
