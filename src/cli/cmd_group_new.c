/*
 * perdure group new - make a chat in a store.
 *
 * An empty chat is saved and stored as any other: so one that is there is never
 * touched, whoever makes it at the same time.
 */
#include "group_parts.h"

static pdr_rc make(struct grp *g, pdr_err *err)
{
    pdr_chat_opts opts = {.max_turns = 1};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    const pdr_ref ref = grp_ref(g);
    pdr_str rest = {NULL, 0};
    pdr_rc rc = PDR_OK;

    CLI_TRY(sto_open(&g->store, &g->from, "rwc", err));
    CLI_TRY(sto_check_lasting(g->store, err));
    CLI_TRY(grp_chat_make(g, &opts, err));
    CLI_TRY(pdr_chat_save(g->chat, NULL, err, pdr_write_buf, &text));
    rest = pdr_buf_str(&text);
    CLI_TRY(pdr_chat_open(&g->state, NULL, err, pdr_read_str, &rest));
    CLI_TRY(pdr_chat_state_store(g->state, g->store, &ref, false, sto_now_ms(),
                                 err));
done:
    pdr_buf_dispose(&text);
    return rc;
}

static void tell(const struct grp *g)
{
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);
    pdr_builder *to = NULL;

    if (cli_is_json(g->cli)) {
        to = ses_object_new();
        cli_member_text(to, "store", pdr_str_c(sto_name(&g->from)));
        cli_member_text(to, "tenant", pdr_str_c(sto_tenant(&g->from)));
        cli_member_text(to, "session", pdr_str_c(g->id));
        ses_object_print(g->cli, stdout, to);
        return;
    }
    cli_show_cut(&line, pdr_str_c(g->id), CLI_TEXT_LINE, 80);
    printf("%.*s: a new chat\n", (int)line.len, line.ptr);
    pdr_buf_dispose(&line);
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct grp g = {.cli = cli};
    pdr_err err = PDR_ERR_INIT;
    int status = 0;

    const struct cli_opt opts[] = {
        CLI_ARG("ID", &g.id, "what the chat is to be called"),
        SES_STORE_ROWS(&g.from),
    };
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    if (g.from.uri == NULL && !sto_use_default(&g.from))
        status = ses_store_check(cli, &g.from);
    if (status == 0 && make(&g, &err) != PDR_OK)
        status = grp_fail(&g, NULL, &err);
    else if (status == 0)
        tell(&g);
    grp_free(&g);
    return status;
}

const struct cli_command cli_cmd_group_new = {
    .name = "group new",
    .summary = "make a chat in a store",
    .usage = "[OPTIONS] [--store URI] ID",
    .run = run};
