/*
 * perdure group restore - bring agents to a saved chat, and say what becomes of
 * it.
 *
 *      ID                  attach ─────────────────────────────► report
 *      ID, --to NEW        read ──┐
 *      --file FILE         open ──┴► try ─► store as NEW ─► attach ─► report
 *      with --dry-run                 └───────────────────────────► report
 *
 * WHY  Agents come and go. Before a chat goes on with others, one wants to know
 *      which channels they get, and what waits for those who are missing. Only
 *      what can be restored is stored.
 */
#include "group_parts.h"

struct restore {
    struct grp g;
    const char *to; /* id of the new session, or NULL */
    bool rebuilds, is_dry;
    pdr_chat_report *report;
};

/* Let it live in the store, and store who takes part now. */
static pdr_rc attach(struct restore *r, const pdr_chat_apply_opts *how,
                     pdr_err *err)
{
    const pdr_chat_home home = {.store = r->g.store, .ref = grp_ref(&r->g)};
    pdr_rc rc = PDR_OK;

    pdr_chat_report_free(r->report);
    CLI_TRY(pdr_chat_attach(&r->report, r->g.chat, &home, how, err));
    if (!how->is_dry)
        CLI_TRY(pdr_chat_set_complete(r->g.chat,
                                      pdr_chat_is_complete(r->g.chat), err));
done:
    return rc;
}

static pdr_rc restore(struct restore *r, pdr_err *err)
{
    pdr_chat_apply_opts how = {
        .rebuilds = r->rebuilds, .is_dry = true, .now_ms = sto_now_ms()};
    pdr_chat_opts opts = {.max_turns = 1};
    struct grp *g = &r->g;
    pdr_ref ref;
    pdr_rc rc = PDR_OK;

    if (r->to != NULL)
        opts.id = pdr_str_c(r->to);
    CLI_TRY(grp_chat_make(g, &opts, err));
    if (g->from.uri != NULL)
        CLI_TRY(sto_open(&g->store, &g->from,
                         r->is_dry         ? "ro"
                         : g->file != NULL ? "rwc"
                                           : "rw",
                         err));
    if (g->file == NULL && r->to != NULL)
        CLI_TRY(grp_load(g, err));
    if (g->state != NULL)
        CLI_TRY(pdr_chat_apply(&r->report, g->chat, g->state, &how, err));
    if (r->is_dry && g->state != NULL)
        goto done;
    if (g->state != NULL) {
        g->id = r->to;
        ref = grp_ref(g);
        CLI_TRY(pdr_chat_state_store(g->state, g->store, &ref, false,
                                     sto_now_ms(), err));
    }
    how.is_dry = r->is_dry;
    CLI_TRY(attach(r, &how, err));
done:
    return rc;
}

static void print_result(const struct restore *r)
{
    const struct grp *g = &r->g;
    pdr_builder *to = NULL;

    if (!cli_is_json(g->cli)) {
        grp_report_print(g, r->report);
        if (r->is_dry && !g->cli->quiet)
            fputs("perdure: nothing was changed\n", stderr);
        return;
    }
    to = ses_object_new();
    if (g->from.uri != NULL)
        cli_member_text(to, "store", pdr_str_c(sto_name(&g->from)));
    if (g->id != NULL)
        cli_member_text(to, "session", pdr_str_c(g->id));
    if (g->file != NULL)
        cli_member_text(to, "file", pdr_str_c(cli_input_name(g->file)));
    cli_member_bool(to, "dryRun", r->is_dry);
    grp_report_members(to, r->report);
    ses_object_print(g->cli, stdout, to);
}

/* Where it comes from, and where it goes. */
static int check_arguments(struct restore *r)
{
    struct grp *g = &r->g;
    int status = grp_place_check(g);

    if (status == 0 && g->file != NULL && r->is_dry)
        g->from.uri = NULL; /* it is not needed */
    else if (status == 0 && g->file != NULL && r->to == NULL)
        status = ses_missing(g->cli, "--to",
                             "name the session that the file becomes; "
                             "--dry-run only says what would be");
    else if (status == 0)
        status = ses_store_check(g->cli, &g->from);
    return status;
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct restore r = {.g.cli = cli};
    struct grp *g = &r.g;
    struct cli_about about = {.name = NULL};
    pdr_err err = PDR_ERR_INIT;
    int status = 0;

    const struct cli_opt opts[] = {
        CLI_MAY("ID", &g->id, "session of the chat"),
        CLI_TEXT(0, "file", "FILE", &g->file,
                 "a saved chat in its place; - is standard input"),
        CLI_TEXT(0, "to", "ID", &r.to, "session that it becomes; a new one"),
        GRP_AGENT_ROWS(g),
        CLI_FLAG(0, "rebuild", &r.rebuilds,
                 "channels that cannot be restored begin anew"),
        CLI_FLAG('n', "dry-run", &r.is_dry, "only say what would be"),
        GRP_KEY_ROWS(g),
        SES_STORE_ROWS(&g->from),
    };
    if (cli_parse(cli, opts, CLI_COUNT(opts), argc, argv)) {
        about.name = g->file != NULL ? cli_input_name(g->file) : NULL;
        status = check_arguments(&r);
        if (status == 0)
            status = grp_agents_make(g);
        if (status == 0 && g->file != NULL)
            status = grp_file_open(g);
        if (status == 0 && restore(&r, &err) != PDR_OK)
            status = grp_fail(
                g, g->file != NULL && g->id == NULL ? &about : NULL, &err);
        else if (status == 0)
            print_result(&r);
    } else {
        status = cli->status;
    }
    pdr_chat_report_free(r.report);
    grp_free(g);
    return status;
}

const struct cli_command cli_cmd_group_restore = {
    .name = "group restore",
    .summary = "bring agents to a saved chat, and say what becomes of it",
    .usage = "[OPTIONS] [--store URI] --agent SPEC... ID | "
             "[OPTIONS] --agent SPEC... --file FILE --to ID",
    .run = run};
