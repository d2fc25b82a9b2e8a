/*
 * perdure run wait, perdure run cancel - the end of a durable run.
 *
 * Neither runs anything: the engine here is never started, it only looks at the
 * store and writes down a wish.
 */
#include "engine_parts.h"

#define FOR_EVER  3600000 /* ms; then it waits again */
#define CANCEL_MS 1000    /* for a run at work elsewhere to notice */

/* The run that a verb is about. */
struct one {
    struct cli *cli;
    struct sto_from from;
    struct eng eng;
    pdr_buf id; /* of the session, ended by NUL */
    const char *run;
};

/* Take the arguments and open the store; exit status. */
static int one_open(struct one *o, const char *id, const char *mode)
{
    pdr_err err = PDR_ERR_INIT;
    int status = ses_store_check(o->cli, &o->from);

    o->eng = (struct eng){.cli = o->cli, .from = &o->from, .mode = mode};
    if (status == 0)
        status = eng_take_id(&o->id, o->cli, id);
    if (status == 0 && eng_open(&o->eng, &err) != PDR_OK)
        status = sto_fail(o->cli, &o->from, &err);
    return status;
}

static void one_close(struct one *o)
{
    eng_close(&o->eng);
    pdr_buf_dispose(&o->id);
}

static void print_object(const struct one *o, const struct eng_end *end)
{
    pdr_builder *to = ses_object_new();

    cli_member_text(to, "store", pdr_str_c(sto_name(&o->from)));
    cli_member_text(to, "session", pdr_str_c(o->id.ptr));
    cli_member_text(to, "run", pdr_str_c(o->run));
    eng_end_members(to, end);
    ses_object_print(o->cli, stdout, to);
}

/* --- wait ----------------------------------------------------------------- */

/* Wait for the end; `seconds` 0: as long as it takes. */
static pdr_rc await_end(struct eng_end *end, const struct one *o,
                        uint64_t seconds, pdr_err *err)
{
    const pdr_ref ref = sto_ref(&o->from, o->id.ptr);
    pdr_ending *ending = NULL;
    pdr_rc rc = PDR_OK;

    do
        rc = pdr_engine_wait(&ending, o->eng.engine, &ref, pdr_str_c(o->run),
                             seconds > 0 ? (uint32_t)seconds * 1000 : FOR_EVER,
                             err);
    while (rc == PDR_ETIMEOUT && seconds == 0);
    return rc == PDR_OK ? eng_end_take(end, ending, err) : rc;
}

static int run_wait(struct cli *cli, int argc, char **argv)
{
    struct one o = {.cli = cli, .id = PDR_BUF_INIT(SIZE_MAX)};
    struct eng_end end = ENG_END_INIT;
    const char *id = NULL;
    uint64_t seconds = 0;
    pdr_err err = PDR_ERR_INIT;
    int status = 0;

    const struct cli_opt opts[] = {
        CLI_ARG("ID", &id, "session of the store"),
        CLI_ARG("RUN", &o.run, "correlation id of the run"),
        CLI_U64('t', "timeout", "SECONDS", &seconds, 1, 86400,
                "wait no longer than that"),
        SES_STORE_ROWS(&o.from),
    };
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    status = one_open(&o, id, "ro");
    if (status == 0 && await_end(&end, &o, seconds, &err) != PDR_OK) {
        status = eng_fail(cli, &o.from, o.id.ptr, o.run, &err);
    } else if (status == 0 && end.state != PDR_OPERATION_COMPLETED) {
        status = eng_end_fail(cli, o.run, &end);
    } else if (status == 0 && cli_is_json(cli)) {
        print_object(&o, &end);
    } else if (status == 0) {
        cli_print(cli, pdr_buf_str(&end.text));
        if (end.text.len > 0 && end.text.ptr[end.text.len - 1] != '\n')
            puts("");
        if (end.is_gone && !cli->quiet)
            fprintf(stderr, "perdure: its answer was removed since\n");
    }
    eng_end_free(&end);
    one_close(&o);
    return status;
}

const struct cli_command cli_cmd_run_wait = {
    .name = "run wait",
    .summary = "wait for the end of a durable run, and print its answer",
    .usage = "[OPTIONS] [--store URI] ID RUN",
    .run = run_wait};

/* --- cancel --------------------------------------------------------------- */

/* Say what came of it. */
static void tell_cancelled(const struct one *o, const struct eng_end *end)
{
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);

    if (cli_is_json(o->cli)) {
        print_object(o, end);
        return;
    }
    if (o->cli->quiet)
        return;
    cli_put(&line, "run ");
    cli_show_cut(&line, pdr_str_c(o->run), CLI_TEXT_LINE, 80);
    if (end->state == PDR_OPERATION_CANCELLED)
        cli_put(&line, " is cancelled");
    else if (end->state != PDR_OPERATION_OPEN)
        cli_putf(&line, " had ended before: %s", eng_state_name(end->state));
    else
        cli_put(&line, " will be cancelled by its worker, or by the next one");
    printf("%.*s\n", (int)line.len, line.ptr);
    pdr_buf_dispose(&line);
}

static pdr_rc cancel_one(struct eng_end *end, const struct one *o, pdr_err *err)
{
    const pdr_ref ref = sto_ref(&o->from, o->id.ptr);
    pdr_ending *ending = NULL;
    pdr_rc rc = PDR_OK;

    CLI_TRY(pdr_engine_cancel(o->eng.engine, &ref, pdr_str_c(o->run), err));
    rc = pdr_engine_wait(&ending, o->eng.engine, &ref, pdr_str_c(o->run),
                         CANCEL_MS, err);
    if (rc == PDR_OK)
        rc = eng_end_take(end, ending, err);
    else if (rc == PDR_ETIMEOUT)
        rc = PDR_OK; /* it will */
done:
    return rc;
}

static int run_cancel(struct cli *cli, int argc, char **argv)
{
    struct one o = {.cli = cli, .id = PDR_BUF_INIT(SIZE_MAX)};
    struct eng_end end = ENG_END_INIT;
    const char *id = NULL;
    pdr_err err = PDR_ERR_INIT;
    int status = 0;

    const struct cli_opt opts[] = {
        CLI_ARG("ID", &id, "session of the store"),
        CLI_ARG("RUN", &o.run, "correlation id of the run"),
        SES_STORE_ROWS(&o.from),
    };
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    status = one_open(&o, id, "rw");
    if (status == 0 && cancel_one(&end, &o, &err) != PDR_OK)
        status = eng_fail(cli, &o.from, o.id.ptr, o.run, &err);
    else if (status == 0)
        tell_cancelled(&o, &end);
    eng_end_free(&end);
    one_close(&o);
    return status;
}

const struct cli_command cli_cmd_run_cancel = {
    .name = "run cancel",
    .summary = "end a durable run, wherever it is",
    .usage = "[OPTIONS] [--store URI] ID RUN",
    .run = run_cancel};
