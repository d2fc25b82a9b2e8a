/*
 * perdure group send - say something in a chat, and let its agents speak.
 *
 * WHY  A chat goes on in any process that has the store and the agents. Each
 *      message is in the store before it is printed; a process that dies loses
 *      nothing that was seen.
 *
 *      On a terminal an answer is printed as it comes. In a pipe there are
 *      whole messages, each with its author; calls of tools go to standard
 *      error.
 */
#include "group_parts.h"

#include <stdlib.h>

struct send {
    struct grp g;
    const char *text, *as, *to, *first, *until;
    uint64_t max_turns, lease;
    bool no_answer;
    struct agt_ask said; /* TEXT, and where its printing stands */
    pdr_chat_report *report;
    pdr_cancel *cancel;
    pdr_builder *told; /* of JSON output; an array of messages */
    bool is_open;      /* pieces of a message were printed */
    uint64_t messages; /* so far */
};

static bool is_live(const struct send *s)
{
    const struct cli *cli = s->g.cli;

    return cli->tty_out && cli->output == CLI_OUTPUT_TABLE;
}

/* --- what comes ----------------------------------------------------------- */

static void print_who(struct send *s, pdr_str who)
{
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);

    cli_show_cut(&line, who, CLI_TEXT_LINE, 40);
    printf("%s%.*s:%s ", cli_on(s->g.cli->color_out, CLI_CYAN), (int)line.len,
           line.ptr, cli_off(s->g.cli->color_out));
    s->said.at_line_end = false;
    pdr_buf_dispose(&line);
}

static void end_line(struct send *s)
{
    if (!s->said.at_line_end)
        agt_print_text(&s->said, pdr_str_c("\n"));
    s->is_open = false;
}

/* The members of an event that are the same for all. */
static pdr_builder *line_begin(const char *kind, const pdr_chat_event *event)
{
    pdr_builder *to = ses_object_new();

    cli_member_text(to, "event", pdr_str_c(kind));
    cli_member_text(to, "agent", event->agent_id);
    return to;
}

static void on_text(struct send *s, const pdr_chat_event *event, pdr_str text)
{
    if (s->g.cli->output == CLI_OUTPUT_JSONL && text.len > 0) {
        pdr_builder *to = line_begin("text", event);

        cli_member_count(to, "turn", event->turn);
        cli_member_text(to, "text", text);
        ses_object_print(s->g.cli, stdout, to);
        fflush(stdout);
    }
    if (!is_live(s) || text.len == 0)
        return;
    if (!s->is_open)
        print_who(s, event->agent_id);
    s->is_open = true;
    agt_print_text(&s->said, text);
}

static void on_call(struct send *s, const pdr_chat_event *event,
                    const pdr_value *call)
{
    struct doc_content c = doc_content_in(call, PDR_SHAPE_DOTNET);
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX), room = PDR_BUF_INIT(SIZE_MAX);
    pdr_str name = doc_text(doc_field(&c, PDR_FIELD_NAME), &scratch);
    pdr_str arguments = doc_arguments(&c, &room);
    pdr_builder *to = NULL;

    if (s->g.cli->output == CLI_OUTPUT_JSONL) {
        to = line_begin("call", event);
        cli_member_count(to, "turn", event->turn);
        cli_member_text(to, "name", name);
        cli_member_text(to, "arguments", arguments);
        ses_object_print(s->g.cli, stdout, to);
        fflush(stdout);
    } else if (!cli_is_json(s->g.cli)) {
        end_line(s);
        agt_tell_call(&s->said, name, arguments);
    }
    pdr_buf_dispose(&room);
    pdr_buf_dispose(&scratch);
}

static void on_update(struct send *s, const pdr_chat_event *event)
{
    const pdr_update *update = event->update;
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);

    for (size_t i = 0; i < update->content_count; i++) {
        const pdr_value *content = update->contents[i];
        pdr_content_kind kind = pdr_content_kind_of(content, PDR_SHAPE_DOTNET);

        if (kind == PDR_CONTENT_CALL)
            on_call(s, event, content);
        else if (kind == PDR_CONTENT_TEXT)
            on_text(s, event,
                    doc_text(pdr_content_get(content, PDR_SHAPE_DOTNET,
                                             PDR_FIELD_TEXT),
                             &scratch));
    }
    pdr_buf_dispose(&scratch);
}

/* A message for people: all of it, unless its pieces were printed. */
static void print_message(struct send *s, const pdr_chat_event *event)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX), scratch = PDR_BUF_INIT(SIZE_MAX);
    bool is_raw = s->g.cli->output == CLI_OUTPUT_RAW;
    pdr_iter it;

    if (!s->is_open) {
        pdr_iter_init(
            &it, pdr_message_contents(event->message->value, PDR_SHAPE_SK));
        while (pdr_iter_next(&it))
            grp_put_content(&text, it.value, &scratch);
        if (!is_raw)
            print_who(s, event->agent_id);
        agt_print_text(&s->said, pdr_buf_str(&text));
    }
    end_line(s);
    pdr_buf_dispose(&scratch);
    pdr_buf_dispose(&text);
}

static pdr_rc on_event(const pdr_chat_event *event, pdr_err *err, void *arg)
{
    struct send *s = arg;
    pdr_builder *to = NULL;

    (void)err;
    if (event->update != NULL) {
        on_update(s, event);
        return PDR_OK;
    }
    s->messages++;
    if (s->g.cli->output == CLI_OUTPUT_JSONL) {
        to = line_begin("message", event);
        grp_member_message(to, event->message);
        ses_object_print(s->g.cli, stdout, to);
        fflush(stdout);
    } else if (s->told != NULL) {
        pdr_builder_object(s->told);
        cli_member_text(s->told, "agent", event->agent_id);
        grp_member_message(s->told, event->message);
        pdr_builder_end(s->told);
    } else {
        print_message(s, event);
    }
    return PDR_OK;
}

/* --- sending -------------------------------------------------------------- */

/* What another process left undone. */
static void tell_findings(const struct send *s)
{
    for (size_t i = 0; s->report != NULL && i < s->report->count; i++) {
        const pdr_chat_report_row *row = &s->report->rows[i];

        if (row->what == PDR_CHAT_OPEN_TURN)
            grp_tell(&s->g,
                     "turn %ju of %.*s was interrupted; what was said in it "
                     "stays",
                     (uintmax_t)row->seq, (int)row->key.len, row->key.ptr);
    }
}

static pdr_rc attach(struct send *s, pdr_err *err)
{
    const char *patterns[] = {s->until, NULL};
    pdr_chat_opts opts = {.resets_complete = s->text != NULL,
                          .max_turns = (unsigned)s->max_turns};
    pdr_chat_home home = {.lease_ms = (uint32_t)s->lease * 1000};
    const pdr_chat_apply_opts how = {.now_ms = sto_now_ms()};
    pdr_rc rc = PDR_OK;

    if (s->first != NULL)
        opts.first = pdr_str_c(s->first);
    if (s->until != NULL) {
        opts.ends.kind = PDR_TERMINATE_REGEX;
        opts.ends.patterns = patterns;
    } else if (s->max_turns == 0) { /* each speaks once */
        opts.max_turns = (unsigned)s->g.specs.count;
    }
    CLI_TRY(grp_chat_make(&s->g, &opts, err));
    CLI_TRY(sto_open(&s->g.store, &s->g.from, "rw", err));
    home.store = s->g.store;
    home.ref = grp_ref(&s->g);
    CLI_TRY(pdr_chat_attach(&s->report, s->g.chat, &home, &how, err));
    tell_findings(s);
    if (s->text == NULL && s->to == NULL && pdr_chat_is_complete(s->g.chat))
        rc = pdr_err_set(err, PDR_ECONFLICT, "chat_complete",
                         "the conversation is over");
done:
    return rc;
}

static void on_signal(void *arg)
{
    pdr_cancel_set(arg);
}

static pdr_rc speak(struct send *s, pdr_err *err)
{
    const pdr_chat_call call = {
        .cancel = s->cancel, .now_ms = sto_now_ms(), .fn = on_event, .arg = s};

    if (s->no_answer)
        return PDR_OK;
    return s->to != NULL
               ? pdr_chat_invoke(s->g.chat, pdr_str_c(s->to), &call, err)
               : pdr_chat_run(s->g.chat, &call, err);
}

static pdr_rc send_all(struct send *s, int *number, pdr_err *err)
{
    const char *as = s->as != NULL ? s->as : "";
    struct cli_signals signals = {.waits = false};
    pdr_rc rc = PDR_OK;

    CLI_TRY(pdr_cancel_new(&s->cancel, err));
    cli_signals_begin(&signals, on_signal, s->cancel);
    CLI_TRY(attach(s, err)); /* which may start a thread */
    if (s->text != NULL)
        CLI_TRY(pdr_chat_add_text(s->g.chat, pdr_buf_str(&s->said.said),
                                  pdr_str_c(as), err));
    CLI_TRY(speak(s, err));
done:
    cli_signals_end(&signals);
    *number = cli_signals_number(&signals);
    return rc;
}

/* --- what came of it ------------------------------------------------------ */

static void print_object(struct send *s)
{
    pdr_builder *to = ses_object_new();
    pdr_value *list = NULL;
    pdr_err err = PDR_ERR_INIT;

    pdr_builder_end(s->told);
    cli_must(pdr_builder_finish(&list, s->told, &err), &err);
    cli_member_text(to, "store", pdr_str_c(sto_name(&s->g.from)));
    cli_member_text(to, "session", pdr_str_c(s->g.id));
    cli_member_count(to, "count", pdr_chat_message_count(s->g.chat));
    cli_member_bool(to, "complete", pdr_chat_is_complete(s->g.chat));
    pdr_builder_name(to, pdr_str_c("messages"));
    pdr_builder_value(to, list);
    ses_object_print(s->g.cli, stdout, to);
    pdr_value_free(list);
}

/* Whose turn it was that failed, as the store has it. */
static int fail_turn(struct send *s, const pdr_err *err)
{
    struct cli_about about = {.name = sto_name(&s->g.from)};
    pdr_buf name = PDR_BUF_INIT(SIZE_MAX);
    pdr_chat_turn turn = {.number = 0};
    size_t count = 0;
    int status = 0;

    if (err->code != PDR_EMODEL || grp_load(&s->g, NULL) != PDR_OK)
        return grp_fail(&s->g, NULL, err);
    count = pdr_chat_state_turn_count(s->g.state);
    if (count > 0 && pdr_chat_state_turn(&turn, s->g.state, count - 1) &&
        turn.end == PDR_TURN_ABORTED) {
        cli_putf(&name, "%.80s: turn %ju of %.*s%c", s->g.id,
                 (uintmax_t)turn.number, (int)turn.agent_id.len,
                 turn.agent_id.ptr, 0);
        about.name = name.ptr;
    }
    status = cli_fail(s->g.cli, &about, err);
    pdr_buf_dispose(&name);
    return status;
}

static int send_message(struct send *s)
{
    pdr_err err = PDR_ERR_INIT;
    int number = 0, status = 0;
    pdr_rc rc = PDR_OK;

    if (s->g.cli->output == CLI_OUTPUT_JSON) {
        cli_must(pdr_builder_new(&s->told, &err), &err);
        pdr_builder_array(s->told);
    }
    rc = send_all(s, &number, &err);
    end_line(s);
    if (s->told != NULL && (rc == PDR_OK || s->messages > 0))
        print_object(s);
    fflush(stdout);
    if (rc == PDR_ECANCELLED && number != 0)
        status = CLI_EXIT_SIGNAL + number;
    else if (rc != PDR_OK)
        status = fail_turn(s, &err);
    else if (s->no_answer)
        grp_tell(&s->g, "message %ju is added",
                 (uintmax_t)pdr_chat_message_count(s->g.chat));
    else if (pdr_chat_is_complete(s->g.chat))
        grp_tell(&s->g, "the conversation is over");
    pdr_builder_free(s->told);
    pdr_cancel_free(s->cancel);
    pdr_chat_report_free(s->report);
    return status;
}

/* --- the command ---------------------------------------------------------- */

static int read_text(struct send *s)
{
    const struct cli_about about = {.name = cli_input_name("-")};
    pdr_buf *said = &s->said.said;
    pdr_err err = PDR_ERR_INIT;

    if (s->text == NULL)
        return 0;
    if (strcmp(s->text, "-") != 0)
        cli_put(said, s->text);
    else if (agt_read(said, s->g.cli, "-", &err) != PDR_OK)
        return cli_fail(s->g.cli, &about, &err);
    else if (said->len > 0 && said->ptr[said->len - 1] == '\n')
        said->len--;
    return said->len > 0 ? 0
                         : doc_usage(s->g.cli, "TEXT", "is empty",
                                     "leave it out to let the agents go on");
}

static int check_arguments(struct send *s)
{
    const char *alone = s->max_turns > 0   ? "--max-turns"
                        : s->first != NULL ? "--first"
                        : s->until != NULL ? "--until"
                                           : NULL;
    int status = ses_store_check(s->g.cli, &s->g.from);

    if (status != 0)
        return status;
    if (s->no_answer && s->text == NULL)
        return doc_usage(s->g.cli, "TEXT", "is missing",
                         "with --no-answer there is nothing else to do");
    if (s->text == NULL && s->as != NULL)
        return doc_usage(s->g.cli, "--as", "is for TEXT",
                         "write what is to be said, too");
    if (s->no_answer && s->to != NULL)
        return doc_usage(s->g.cli, "--to", "does not go with --no-answer", "");
    if ((s->no_answer || s->to != NULL) && alone != NULL)
        return doc_usage(s->g.cli, alone, "is for a run of several turns",
                         s->to != NULL ? "with --to one agent speaks, once"
                                       : "with --no-answer nobody speaks");
    status = read_text(s);
    if (status == 0)
        status = grp_agent_check(&s->g, "--to", s->to);
    return status != 0 ? status : grp_agent_check(&s->g, "--first", s->first);
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct send s = {.g.cli = cli,
                     .said = {.cli = cli,
                              .said = PDR_BUF_INIT(SIZE_MAX),
                              .at_line_end = true}};
    int status = 0;

    const struct cli_opt opts[] = {
        CLI_ARG("ID", &s.g.id, "session of the chat"),
        CLI_MAY("TEXT", &s.text, "what to say; - reads standard input"),
        GRP_AGENT_ROWS(&s.g),
        CLI_TEXT(0, "as", "NAME", &s.as, "who says it"),
        CLI_TEXT(0, "to", "NAME", &s.to, "let this agent speak, once"),
        CLI_U64(0, "max-turns", "N", &s.max_turns, 1, 100000,
                "turns at most (default each agent once)"),
        CLI_TEXT(0, "first", "NAME", &s.first,
                 "who speaks first, if nobody has spoken yet"),
        CLI_TEXT(0, "until", "REGEX", &s.until,
                 "it is over when a message has this in it"),
        CLI_FLAG(0, "no-answer", &s.no_answer, "only add TEXT"),
        CLI_U64(0, "lease", "SECONDS", &s.lease, 1, 3600,
                "after which a dead process loses its turn (default 30)"),
        SES_STORE_ROWS(&s.g.from),
    };
    if (cli_parse(cli, opts, CLI_COUNT(opts), argc, argv)) {
        status = check_arguments(&s);
        if (status == 0)
            status = grp_agents_make(&s.g);
        if (status == 0)
            status = send_message(&s);
    } else {
        status = cli->status;
    }
    pdr_buf_dispose(&s.said.said);
    grp_free(&s.g);
    return status;
}

const struct cli_command cli_cmd_group_send = {
    .name = "group send",
    .summary = "say something in a chat, and let its agents speak",
    .usage = "[OPTIONS] [--store URI] --agent SPEC... ID [TEXT]",
    .run = run};
