/*
 * perdure agent run - say something to an agent, and see what it answers.
 *
 * WHY  The shortest way to try an agent: its answer is printed as it comes, and
 *      with a store the conversation goes on with the next call. Calls of tools
 *      go to standard error, so that a pipe gets the answer alone. A call that
 *      needs approval ends the run; the next one brings the answer.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent_parts.h"
#include "session_parts.h"

#define CALL_CELLS 160 /* of a call in its line */

struct agent_run {
    struct cli *cli;
    const char *agent, *text, *session, *key_env;
    const char *approve, *reject, *reason;
    bool trusts_record;
    struct sto_from from;
    pdr_buf said; /* TEXT, or standard input */
    pdr_client *client;
    pdr_host *host; /* of an agent from a file */
    pdr_agent *made;
    pdr_store *store;
    pdr_stored *stored;
    pdr_shape shape;
    pdr_approvals *waiting; /* before the run; NULL: nobody answers */
    pdr_answer *answers;
    size_t answer_count;
    pdr_cancel *cancel;
    int signal;       /* that ended the run; 0: none */
    bool at_line_end; /* of what was printed */
};

/* --- what comes ---------------------------------------------------------- */

/* "NAME(ARGUMENTS)" */
static void put_call(pdr_buf *line, pdr_str name, pdr_str arguments)
{
    cli_show(line, name, CLI_TEXT_LINE);
    cli_put(line, "(");
    cli_show_cut(line, arguments, CLI_TEXT_LINE, CALL_CELLS);
    cli_put(line, ")");
}

static void print_call(const struct agent_run *r, const pdr_value *call)
{
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX), arguments = PDR_BUF_INIT(SIZE_MAX);
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    const pdr_value *name = pdr_content_get(call, r->shape, PDR_FIELD_NAME);

    if (pdr_content_arguments(&arguments, call, r->shape, NULL) != PDR_OK)
        pdr_buf_clear(&arguments);
    cli_put(&line, "calls ");
    put_call(&line, doc_text(name, &scratch), pdr_buf_str(&arguments));
    if (!r->cli->quiet)
        cli_fprintf(stderr, "perdure: %.*s\n", (int)line.len, line.ptr);
    pdr_buf_dispose(&scratch);
    pdr_buf_dispose(&arguments);
    pdr_buf_dispose(&line);
}

/* What waits for a word, and how to give it. */
static void print_approvals(const struct agent_run *r,
                            const pdr_approvals *approvals)
{
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);

    for (size_t i = 0; i < approvals->count; i++) {
        const pdr_approval *a = &approvals->items[i];

        pdr_buf_clear(&line);
        if (r->stored != NULL) {
            cli_show(&line, a->id, CLI_TEXT_LINE);
            cli_put(&line, " waits for --approve or --reject: ");
        } else {
            cli_put(&line, "needs approval, and without --session it cannot "
                           "wait: ");
        }
        put_call(&line, a->tool, a->arguments);
        cli_fprintf(stderr, "perdure: %.*s\n", (int)line.len, line.ptr);
    }
    pdr_buf_dispose(&line);
}

/* All that waits after the run, also what an earlier one asked. */
static void print_waiting(const struct agent_run *r,
                          const pdr_response *response)
{
    pdr_approvals *all = NULL;

    if (r->stored != NULL)
        cli_must(pdr_approvals_pending(&all, NULL, r->stored, NULL), NULL);
    print_approvals(r, all != NULL ? all : pdr_response_approvals(response));
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
        pdr_str text = {NULL, 0};

        if (kind == PDR_CONTENT_CALL)
            print_call(r, content);
        if (kind != PDR_CONTENT_TEXT || cli_is_json(r->cli))
            continue;
        text = doc_text(pdr_content_get(content, r->shape, PDR_FIELD_TEXT),
                        &scratch);
        if (text.len == 0)
            continue;
        cli_print(r->cli, text);
        r->at_line_end = text.ptr[text.len - 1] == '\n';
        fflush(stdout);
    }
    pdr_buf_dispose(&scratch);
    return PDR_OK;
}

static void build_approvals(pdr_builder *to, const pdr_approvals *approvals)
{
    if (approvals->count == 0)
        return;
    pdr_builder_name(to, pdr_str_c("approvals"));
    pdr_builder_array(to);
    for (size_t i = 0; i < approvals->count; i++) {
        const pdr_approval *a = &approvals->items[i];

        pdr_builder_object(to);
        cli_member_text(to, "id", a->id);
        cli_member_text(to, "tool", a->tool);
        cli_member_text(to, "arguments", a->arguments);
        pdr_builder_end(to);
    }
    pdr_builder_end(to);
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
    cli_member_text(to, "agent", pdr_agent_name(r->made));
    if (r->stored != NULL) {
        cli_member_text(to, "store", pdr_str_c(sto_name(&r->from)));
        cli_member_text(to, "session", pdr_str_c(r->session));
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
    build_approvals(to, pdr_response_approvals(response));
    pdr_builder_end(to);
    ses_print_built(r->cli, stdout, to);
    pdr_builder_free(to);
    pdr_buf_dispose(&text);
}

/* --- making it ----------------------------------------------------------- */

static pdr_rc read_all(pdr_buf *out, const struct agent_run *r,
                       const char *path, pdr_err *err)
{
    const struct cli_limits limits = {.max_bytes = 0};
    struct cli_input in;
    pdr_rc rc = cli_input_open(&in, r->cli, path, err);

    if (rc != PDR_OK)
        return rc;
    rc = cli_input_rest(out, &in, &limits, err);
    cli_input_close(&in);
    return rc;
}

/* The part of SPEC behind "NAME=" and a scheme; NULL if it has another one. */
static const char *spec_rest(const char *spec, const char *scheme)
{
    const char *equals = spec != NULL ? strchr(spec, '=') : NULL;

    if (equals == NULL || equals == spec ||
        strncmp(equals + 1, scheme, strlen(scheme)) != 0 ||
        equals[1 + strlen(scheme)] == '\0')
        return NULL;
    return equals + 1 + strlen(scheme);
}

/* A client for "URL#MODEL"; exit status. */
static int make_openai(struct agent_run *r, const char *rest)
{
    const char *mark = strrchr(rest, '#');
    const struct cli_about about = {.name = "--agent"};
    pdr_openai_opts opts = {.model = mark != NULL ? mark + 1 : ""};
    pdr_buf url = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;
    int status = 0;

    if (opts.model[0] == '\0')
        return doc_usage(r->cli, "--agent", "names no model",
                         "write --agent helper=openai:http://localhost:11434/"
                         "v1#qwen3:8b");
    if (r->key_env != NULL) {
        opts.api_key = getenv(r->key_env);
        if (opts.api_key == NULL || opts.api_key[0] == '\0')
            return doc_usage(r->cli, "--key-env",
                             "names a variable that is not set",
                             "set and export it, or leave the option out");
    }
    cli_must(pdr_buf_append(&url, pdr_str_n(rest, (size_t)(mark - rest)), &err),
             &err);
    cli_must(pdr_buf_append(&url, pdr_str_n("", 1), &err), &err);
    opts.base_url = url.ptr;
    if (pdr_client_openai(&r->client, &opts, &err) != PDR_OK)
        status = cli_fail(r->cli, &about, &err);
    pdr_buf_dispose(&url);
    return status;
}

/* A client for a file of replies; exit status. */
static int make_script(struct agent_run *r, const char *file)
{
    struct cli_about about = {.name = file};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;
    int status = 0;

    CLI_TRY(read_all(&text, r, file, &err));
    about.input = pdr_buf_str(&text);
    CLI_TRY(pdr_client_script(&r->client, pdr_buf_str(&text), &err));
done:
    if (rc != PDR_OK)
        status = cli_fail(r->cli, &about, &err);
    pdr_buf_dispose(&text);
    return status;
}

/* A pdr_notice_fn: what is not as it was perhaps meant. */
static pdr_rc on_notice(const pdr_notice *notice, pdr_err *err, void *arg)
{
    const struct agent_run *r = arg;
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);

    (void)err;
    if (notice->severity == PDR_SEVERITY_WARNING && !r->cli->quiet) {
        agt_put_place(&line, spec_rest(r->agent, ""), notice);
        cli_show(&line, notice->text, CLI_TEXT_LINE);
        cli_fprintf(stderr, "perdure: %.*s\n", (int)line.len, line.ptr);
    }
    pdr_buf_dispose(&line);
    return PDR_OK;
}

/* The agent of a definition file; exit status. */
static int make_defined(struct agent_run *r, const char *file, pdr_str name)
{
    const pdr_host_agent *agent = NULL;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;
    int status = 0;

    if (r->key_env != NULL)
        return doc_usage(r->cli, "--key-env", "is not for a definition file",
                         "the file names it: apiKey: =Env.VAR");
    cli_must(pdr_host_new(&r->host, &err), &err);
    if (agt_load(&agent, r->host, &text, r->cli, file, name, &err, on_notice,
                 r) == PDR_OK)
        r->made = pdr_agent_ref(agent->agent);
    else
        status = agt_fail(r->cli, file, pdr_buf_str(&text), &err);
    pdr_buf_dispose(&text);
    return status;
}

/* The agent of SPEC; exit status. */
static int make_agent(struct agent_run *r)
{
    const char *script = spec_rest(r->agent, "script:");
    const char *server = spec_rest(r->agent, "openai:");
    const char *file = spec_rest(r->agent, "");
    const struct cli_about about = {.name = "--agent"};
    pdr_agent_parts parts = {.name = {NULL, 0}};
    pdr_err err = PDR_ERR_INIT;
    int status = 0;

    if (file == NULL || strcmp(file, "script:") == 0 ||
        strcmp(file, "openai:") == 0)
        return doc_usage(r->cli, "--agent",
                         r->agent == NULL ? "is missing"
                                          : "is not NAME=FILE, "
                                            "NAME=script:FILE or "
                                            "NAME=openai:URL#MODEL",
                         "write --agent helper=helper.yaml");
    parts.name = pdr_str_n(r->agent, (size_t)(file - 1 - r->agent));
    if (script == NULL && server == NULL)
        return make_defined(r, file, parts.name);
    status = script != NULL ? make_script(r, script) : make_openai(r, server);
    if (status != 0)
        return status;
    parts.client = r->client;
    if (pdr_agent_new(&r->made, &parts, &err) != PDR_OK)
        status = cli_fail(r->cli, &about, &err);
    return status;
}

static pdr_rc open_session(struct agent_run *r, pdr_err *err)
{
    const pdr_stored_opts opts = {.create = true,
                                  .agent = pdr_agent_name(r->made)};
    pdr_ref ref = {.id = {NULL, 0}};
    pdr_rc rc = PDR_OK;

    if (r->session == NULL)
        return PDR_OK;
    CLI_TRY(sto_open(&r->store, &r->from, "rwc", err));
    ref = sto_ref(&r->from, r->session);
    CLI_TRY(pdr_stored_open(&r->stored, r->store, &ref, &opts, err));
    r->shape = pdr_stored_shape(r->stored);
done:
    return rc;
}

/* --- answers -------------------------------------------------------------- */

/* Does one option mean this call? An id counts more than the other's "all". */
static bool means(const char *said, const char *other, pdr_str id)
{
    if (said == NULL)
        return false;
    return pdr_str_equal(id, pdr_str_c(said)) ||
           (strcmp(said, "all") == 0 &&
            (other == NULL || !pdr_str_equal(id, pdr_str_c(other))));
}

/* What --approve and --reject say. Each has to mean a call. */
static pdr_rc take_answers(struct agent_run *r, pdr_err *err)
{
    const char *said[] = {r->approve, r->reject};
    pdr_str reason = pdr_str_c(r->reason != NULL ? r->reason : "");
    pdr_rc rc = PDR_OK;

    if (r->approve == NULL && r->reject == NULL)
        return PDR_OK;
    CLI_TRY(pdr_approvals_pending(&r->waiting, NULL, r->stored, err));
    r->answers = cli_realloc(NULL, r->waiting->count, sizeof(*r->answers));
    for (size_t k = 0; k < 2; k++) {
        size_t before = r->answer_count;

        for (size_t i = 0; i < r->waiting->count; i++) {
            pdr_str id = r->waiting->items[i].id;

            if (means(said[k], said[1 - k], id))
                r->answers[r->answer_count++] =
                    (pdr_answer){id, k == 0, reason};
        }
        if (said[k] == NULL || r->answer_count > before)
            continue;
        print_approvals(r, r->waiting);
        return pdr_err_set(err, PDR_ENOTFOUND, "no_approval",
                           r->waiting->count > 0
                               ? "no call '%.64s' waits for approval"
                               : "no call waits for approval",
                           said[k]);
    }
done:
    return rc;
}

/* --- signals -------------------------------------------------------------- */

static const int ending[] = {SIGINT, SIGTERM, SIGHUP};

/* The first signal ends the run in order, so that its tools end, too; the
 * second ends the process. */
static void *await_signal(void *arg)
{
    struct agent_run *r = arg;
    sigset_t set;
    int number = 0;

    sigemptyset(&set);
    for (size_t i = 0; i < CLI_COUNT(ending); i++)
        sigaddset(&set, ending[i]);
    if (sigwait(&set, &number) == 0) {
        __atomic_store_n(&r->signal, number, __ATOMIC_RELEASE);
        pdr_cancel_set(r->cancel);
        if (sigwait(&set, &number) == 0)
            _exit(CLI_EXIT_SIGNAL + number);
    }
    return NULL;
}

/* Run, and be done when a signal comes. */
static pdr_rc run_until_signal(pdr_response **out, struct agent_run *r,
                               pdr_run *run, pdr_err *err)
{
    pthread_t thread;
    sigset_t set, before;
    bool waits = false;
    pdr_rc rc = PDR_OK;

    CLI_TRY(pdr_cancel_new(&r->cancel, err));
    run->cancel = r->cancel;
    sigemptyset(&set);
    for (size_t i = 0; i < CLI_COUNT(ending); i++)
        sigaddset(&set, ending[i]);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    waits = pthread_create(&thread, NULL, await_signal, r) == 0;
    if (!waits)
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    rc = pdr_agent_run(out, r->made, run, err);
    if (waits) {
        pthread_cancel(thread);
        pthread_join(thread, NULL);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
done:
    return rc;
}

/* --- all of it ------------------------------------------------------------ */

static int run_once(struct agent_run *r)
{
    pdr_run run = {.now_ms = sto_now_ms(),
                   .trusts_record = r->trusts_record,
                   .fn = on_update,
                   .arg = r};
    pdr_response *response = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;
    int status = 0;

    CLI_TRY(open_session(r, &err));
    CLI_TRY(take_answers(r, &err));
    run.text = pdr_buf_str(&r->said);
    run.stored = r->stored;
    run.answers = r->answers;
    run.answer_count = r->answer_count;
    CLI_TRY(run_until_signal(&response, r, &run, &err));
    if (cli_is_json(r->cli))
        print_object(r, response);
done:
    if (!r->at_line_end && !cli_is_json(r->cli))
        puts("");
    fflush(stdout);
    if (rc == PDR_OK)
        print_waiting(r, response);
    if (rc == PDR_ECANCELLED && r->signal != 0) {
        status = CLI_EXIT_SIGNAL + r->signal;
    } else if (rc != PDR_OK) {
        const struct cli_about about = {
            .name = r->session != NULL && rc != PDR_EMODEL ? sto_name(&r->from)
                                                           : r->agent};

        status = cli_fail(r->cli, &about, &err);
    }
    pdr_response_free(response);
    pdr_approvals_free(r->waiting);
    pdr_cancel_free(r->cancel);
    free(r->answers);
    return status;
}

/* What to say, which may be nothing if there is an answer; exit status. */
static int read_text(struct agent_run *r)
{
    const struct cli_about about = {.name = cli_input_name("-")};
    pdr_err err = PDR_ERR_INIT;

    if (r->text != NULL && strcmp(r->text, "-") != 0)
        cli_put(&r->said, r->text);
    else if (r->text != NULL && read_all(&r->said, r, "-", &err) != PDR_OK)
        return cli_fail(r->cli, &about, &err);
    if (r->said.len == 0 && r->approve == NULL && r->reject == NULL)
        return doc_usage(r->cli, "TEXT",
                         r->text == NULL ? "is missing" : "is empty",
                         "say something to the agent, or answer it: --approve "
                         "ID, --reject ID");
    return 0;
}

/* Are the arguments such that there is something to do? Exit status. */
static int check_arguments(struct agent_run *r)
{
    bool answers = r->approve != NULL || r->reject != NULL;

    if (r->approve != NULL && r->reject != NULL &&
        strcmp(r->approve, r->reject) == 0)
        return doc_usage(r->cli, "--reject", "says the opposite of --approve",
                         "write one of them, or another id");
    if (r->session == NULL && (r->from.uri != NULL || answers))
        return doc_usage(r->cli, "--session", "is missing",
                         "a conversation in a store has an id: --session ID");
    if (r->session != NULL && r->from.uri == NULL && !sto_use_default(&r->from))
        return ses_store_check(r->cli, &r->from);
    return 0;
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct agent_run r = {.cli = cli,
                          .shape = PDR_SHAPE_DOTNET,
                          .said = PDR_BUF_INIT(SIZE_MAX),
                          .at_line_end = true};
    int status = 0;

    const struct cli_opt opts[] = {
        CLI_MAY("TEXT", &r.text, "what to say; - reads standard input"),
        CLI_TEXT(0, "agent", "SPEC", &r.agent,
                 "NAME=FILE, NAME=script:FILE, NAME=openai:URL#MODEL"),
        CLI_TEXT(0, "key-env", "VAR", &r.key_env,
                 "environment variable with the server's key"),
        CLI_TEXT(0, "session", "ID", &r.session,
                 "session of the store; made if it is not there"),
        CLI_TEXT(0, "approve", "ID", &r.approve,
                 "let a call run that waits for approval; or: all"),
        CLI_TEXT(0, "reject", "ID", &r.reject, "refuse such a call; or: all"),
        CLI_TEXT(0, "reason", "TEXT", &r.reason,
                 "what the model hears about it"),
        CLI_FLAG(0, "trust-record", &r.trusts_record,
                 "act on approvals that the session came with"),
        SES_STORE_ROWS(&r.from),
    };
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    status = check_arguments(&r);
    if (status == 0)
        status = read_text(&r);
    if (status == 0)
        status = make_agent(&r);
    if (status == 0)
        status = run_once(&r);
    pdr_buf_dispose(&r.said);
    pdr_stored_close(r.stored);
    pdr_store_close(r.store);
    pdr_agent_free(r.made);
    pdr_host_free(r.host);
    pdr_client_free(r.client);
    return status;
}

const struct cli_command cli_cmd_agent_run = {
    .name = "agent run",
    .summary = "say something to an agent, on a session or without one",
    .usage = "[OPTIONS] --agent SPEC [--session ID] [TEXT]",
    .run = run};
