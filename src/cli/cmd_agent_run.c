/*
 * perdure agent run - say something to an agent, and see what it answers.
 *
 * WHY  The shortest way to try an agent: its answer is printed as it comes, and
 *      with a store the conversation goes on with the next call. Calls of tools
 *      go to standard error, so that a pipe gets the answer alone. A call that
 *      needs approval ends the run; the next one brings the answer.
 *
 * A durable run is carried out by an engine: see agent_durable.c.
 */
#include "agent_parts.h"

#include <stdlib.h>

struct agent_run {
    struct agt_ask ask;
    bool is_durable, trusts_record;
    pdr_store *store;
    pdr_stored *stored;
    pdr_shape shape;
    pdr_approvals *waiting; /* before the run; NULL: nobody answers */
    pdr_answer *answers;
    size_t answer_count;
    pdr_cancel *cancel;
};

/* --- what comes ---------------------------------------------------------- */

static void tell_call(struct agent_run *r, const pdr_value *call)
{
    pdr_buf arguments = PDR_BUF_INIT(SIZE_MAX), scratch = arguments;
    const pdr_value *name = pdr_content_get(call, r->shape, PDR_FIELD_NAME);

    if (pdr_content_arguments(&arguments, call, r->shape, NULL) != PDR_OK)
        pdr_buf_clear(&arguments);
    agt_tell_call(&r->ask, doc_text(name, &scratch), pdr_buf_str(&arguments));
    pdr_buf_dispose(&scratch);
    pdr_buf_dispose(&arguments);
}

/* All that waits after the run, also what an earlier one asked. */
static void tell_waiting(const struct agent_run *r,
                         const pdr_response *response)
{
    pdr_approvals *all = NULL;

    if (r->stored != NULL)
        cli_must(pdr_approvals_pending(&all, NULL, r->stored, NULL), NULL);
    agt_tell_approvals(all != NULL ? all : pdr_response_approvals(response),
                       r->stored != NULL);
    pdr_approvals_free(all);
}

/* A pdr_update_fn: text as it comes. */
static pdr_rc on_update(const pdr_update *update, pdr_err *err, void *arg)
{
    struct agent_run *r = arg;
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);

    (void)err;
    for (size_t i = 0; i < update->content_count; i++) {
        const pdr_value *content = update->contents[i];
        pdr_content_kind kind = pdr_content_kind_of(content, r->shape);

        if (kind == PDR_CONTENT_CALL)
            tell_call(r, content);
        else if (kind == PDR_CONTENT_TEXT)
            agt_print_text(&r->ask, doc_text(pdr_content_get(content, r->shape,
                                                             PDR_FIELD_TEXT),
                                             &scratch));
    }
    pdr_buf_dispose(&scratch);
    return PDR_OK;
}

static void print_object(const struct agent_run *r,
                         const pdr_response *response)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_builder *to = NULL;
    pdr_err err = PDR_ERR_INIT;

    cli_must(pdr_response_text(&text, response, &err), &err);
    cli_must(pdr_builder_new(&to, &err), &err);
    pdr_builder_object(to);
    cli_member_text(to, "agent", pdr_agent_name(r->ask.made.agent));
    if (r->stored != NULL) {
        cli_member_text(to, "store", pdr_str_c(sto_name(&r->ask.from)));
        cli_member_text(to, "session", pdr_str_c(r->ask.session));
        cli_member_count(to, "revision", pdr_stored_head(r->stored)->revision);
    }
    cli_member_text(to, "text", pdr_buf_str(&text));
    pdr_builder_name(to, pdr_str_c("messages"));
    pdr_builder_array(to);
    for (size_t i = 0; i < pdr_response_count(response); i++)
        pdr_builder_value(to, pdr_response_message(response, i));
    pdr_builder_end(to);
    if (pdr_response_usage(response) != NULL) {
        pdr_builder_name(to, pdr_str_c("usage"));
        pdr_builder_value(to, pdr_response_usage(response));
    }
    cli_member_text(to, "finishReason", pdr_response_finish_reason(response));
    agt_member_approvals(to, pdr_response_approvals(response));
    pdr_builder_end(to);
    ses_print_built(r->ask.cli, stdout, to);
    pdr_builder_free(to);
    pdr_buf_dispose(&text);
}

/* --- all of it ------------------------------------------------------------ */

static pdr_rc open_session(struct agent_run *r, pdr_err *err)
{
    const pdr_stored_opts opts = {.create = true,
                                  .agent = pdr_agent_name(r->ask.made.agent)};
    pdr_ref ref = {.id = {NULL, 0}};
    pdr_rc rc = PDR_OK;

    if (r->ask.session == NULL)
        return PDR_OK;
    CLI_TRY(sto_open(&r->store, &r->ask.from, "rwc", err));
    ref = sto_ref(&r->ask.from, r->ask.session);
    CLI_TRY(pdr_stored_open(&r->stored, r->store, &ref, &opts, err));
    r->shape = pdr_stored_shape(r->stored);
    if (r->ask.approve == NULL && r->ask.reject == NULL)
        goto done;
    CLI_TRY(pdr_approvals_pending(&r->waiting, NULL, r->stored, err));
    CLI_TRY(
        agt_answers(&r->answers, &r->answer_count, &r->ask, r->waiting, err));
done:
    return rc;
}

/* Ends the run in order, so that its tools end, too. */
static void on_signal(void *arg)
{
    pdr_cancel_set(arg);
}

static pdr_rc run_until_signal(pdr_response **out, struct agent_run *r,
                               int *number, pdr_err *err)
{
    const pdr_run run = {.now_ms = sto_now_ms(),
                         .text = pdr_buf_str(&r->ask.said),
                         .stored = r->stored,
                         .answers = r->answers,
                         .answer_count = r->answer_count,
                         .trusts_record = r->trusts_record,
                         .cancel = r->cancel,
                         .fn = on_update,
                         .arg = r};
    struct cli_signals signals;
    pdr_rc rc = PDR_OK;

    cli_signals_begin(&signals, on_signal, r->cancel);
    rc = pdr_agent_run(out, r->ask.made.agent, &run, err);
    cli_signals_end(&signals);
    *number = cli_signals_number(&signals);
    return rc;
}

static int run_once(struct agent_run *r)
{
    pdr_response *response = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;
    int status = 0, number = 0;

    CLI_TRY(open_session(r, &err));
    CLI_TRY(pdr_cancel_new(&r->cancel, &err));
    CLI_TRY(run_until_signal(&response, r, &number, &err));
    if (cli_is_json(r->ask.cli))
        print_object(r, response);
done:
    if (!r->ask.at_line_end)
        agt_print_text(&r->ask, pdr_str_c("\n"));
    fflush(stdout);
    if (rc == PDR_OK)
        tell_waiting(r, response);
    if (rc == PDR_ECANCELLED && number != 0) {
        status = CLI_EXIT_SIGNAL + number;
    } else if (rc != PDR_OK) {
        const struct cli_about about = {.name = r->ask.session != NULL &&
                                                        rc != PDR_EMODEL
                                                    ? sto_name(&r->ask.from)
                                                    : r->ask.made.spec};

        status = cli_fail(r->ask.cli, &about, &err);
    }
    pdr_response_free(response);
    pdr_approvals_free(r->waiting);
    pdr_cancel_free(r->cancel);
    free(r->answers);
    return status;
}

/* What to say, which may be nothing if there is an answer; exit status. */
static int read_text(struct agt_ask *ask)
{
    const struct cli_about about = {.name = cli_input_name("-")};
    pdr_err err = PDR_ERR_INIT;

    if (ask->text != NULL && strcmp(ask->text, "-") != 0)
        cli_put(&ask->said, ask->text);
    else if (ask->text != NULL &&
             agt_read(&ask->said, ask->cli, "-", &err) != PDR_OK)
        return cli_fail(ask->cli, &about, &err);
    if (ask->said.len == 0 && ask->approve == NULL && ask->reject == NULL)
        return doc_usage(ask->cli, "TEXT",
                         ask->text == NULL ? "is missing" : "is empty",
                         "say something to the agent, or answer it: --approve "
                         "ID, --reject ID");
    return 0;
}

/* Are the arguments such that there is something to do? Exit status. */
static int check_arguments(struct agent_run *r)
{
    struct agt_ask *ask = &r->ask;
    bool answers = ask->approve != NULL || ask->reject != NULL;
    const char *alone = ask->correlation != NULL ? "--correlation"
                        : ask->lease > 0         ? "--lease"
                                                 : NULL;

    if (ask->approve != NULL && ask->reject != NULL &&
        strcmp(ask->approve, ask->reject) == 0)
        return doc_usage(ask->cli, "--reject", "says the opposite of --approve",
                         "write one of them, or another id");
    if (!r->is_durable && alone != NULL)
        return doc_usage(ask->cli, alone, "is for durable runs",
                         "write --durable, too");
    if (r->is_durable && r->trusts_record)
        return doc_usage(ask->cli, "--trust-record", "is not for durable runs",
                         "leave it out, or --durable");
    if (ask->session == NULL && (ask->from.uri != NULL || answers))
        return doc_usage(ask->cli, "--session", "is missing",
                         "a conversation in a store has an id: --session ID");
    if (ask->session == NULL && r->is_durable)
        return doc_usage(ask->cli, "--session", "is missing",
                         "a durable session has the name of its agent and a "
                         "key: --session @dafx-NAME@KEY");
    if (ask->session != NULL && ask->from.uri == NULL &&
        !sto_use_default(&ask->from))
        return ses_store_check(ask->cli, &ask->from);
    return 0;
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct agent_run r = {.ask = {.cli = cli,
                                  .said = PDR_BUF_INIT(SIZE_MAX),
                                  .at_line_end = true},
                          .shape = PDR_SHAPE_DOTNET};
    struct agt_ask *ask = &r.ask;
    int status = 0;

    const struct cli_opt opts[] = {
        CLI_MAY("TEXT", &ask->text, "what to say; - reads standard input"),
        AGT_ROWS(&ask->made),
        CLI_TEXT(0, "session", "ID", &ask->session,
                 "session of the store; made if it is not there"),
        CLI_FLAG(0, "durable", &r.is_durable,
                 "a run that outlives this process, on a durable session"),
        CLI_TEXT(0, "correlation", "ID", &ask->correlation,
                 "id of a durable run; sent again it is not run again"),
        CLI_TEXT(0, "approve", "ID", &ask->approve,
                 "let a call run that waits for approval; or: all"),
        CLI_TEXT(0, "reject", "ID", &ask->reject,
                 "refuse such a call; or: all"),
        CLI_TEXT(0, "reason", "TEXT", &ask->reason,
                 "what the model hears about it"),
        CLI_FLAG(0, "trust-record", &r.trusts_record,
                 "act on approvals that the session came with"),
        ENG_LEASE_ROW(&ask->lease),
        SES_STORE_ROWS(&ask->from),
    };
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    status = check_arguments(&r);
    if (status == 0)
        status = read_text(ask);
    if (status == 0)
        status = agt_make(&ask->made, cli);
    if (status == 0)
        status = r.is_durable ? agt_run_durable(ask) : run_once(&r);
    pdr_buf_dispose(&ask->said);
    pdr_stored_close(r.stored);
    pdr_store_close(r.store);
    agt_made_free(&ask->made);
    return status;
}

const struct cli_command cli_cmd_agent_run = {
    .name = "agent run",
    .summary = "say something to an agent, on a session or without one",
    .usage = "[OPTIONS] --agent SPEC [--session ID] [TEXT]",
    .run = run};
