/*
 * perdure group import - a saved chat, of whatever form, into a store.
 *
 * A file is read as a whole and checked before a store is touched.
 */
#include "group_parts.h"

struct import {
    struct grp g;
    bool replace, is_dry;
};

static pdr_rc import_chat(struct import *m, pdr_err *err)
{
    const pdr_ref ref = grp_ref(&m->g);
    pdr_rc rc = PDR_OK;

    if (m->is_dry)
        return PDR_OK;
    CLI_TRY(sto_open(&m->g.store, &m->g.from, "rwc", err));
    CLI_TRY(sto_check_lasting(m->g.store, err));
    CLI_TRY(pdr_chat_state_store(m->g.state, m->g.store, &ref, m->replace,
                                 sto_now_ms(), err));
done:
    return rc;
}

static void print_result(const struct import *m)
{
    const pdr_chat_state *state = m->g.state;
    const char *form = grp_form_name(&m->g);
    uint64_t count = pdr_chat_state_message_count(state);
    size_t channels = pdr_chat_state_channel_count(state);
    pdr_buf name = PDR_BUF_INIT(SIZE_MAX);
    pdr_builder *to = NULL;
    char digits[32];

    if (cli_is_json(m->g.cli)) {
        to = ses_object_new();
        cli_member_text(to, "file", pdr_str_c(cli_input_name(m->g.file)));
        if (!m->is_dry)
            cli_member_text(to, "store", pdr_str_c(sto_name(&m->g.from)));
        if (m->g.id != NULL)
            cli_member_text(to, "session", pdr_str_c(m->g.id));
        cli_member_text(to, "form", pdr_str_c(form));
        cli_member_count(to, "messages", count);
        cli_member_count(to, "channels", channels);
        cli_member_bool(to, "dryRun", m->is_dry);
        ses_object_print(m->g.cli, stdout, to);
        return;
    }
    cli_show_cut(
        &name, pdr_str_c(m->g.id != NULL ? m->g.id : cli_input_name(m->g.file)),
        CLI_TEXT_LINE, 80);
    printf("%.*s: a chat of form %s, %s message%s, %zu channel%s%s\n",
           (int)name.len, name.ptr, form, cli_number(digits, count),
           count == 1 ? "" : "s", channels, channels == 1 ? "" : "s",
           m->is_dry ? "; nothing was written" : "");
    pdr_buf_dispose(&name);
}

/* The id that the file says, if there is none else. */
static int take_id(struct import *m, pdr_buf *room)
{
    pdr_chat_info info;

    pdr_chat_state_info(&info, m->g.state);
    if (m->g.id != NULL || m->is_dry)
        return 0;
    if (info.id.len == 0 || memchr(info.id.ptr, '\0', info.id.len) != NULL)
        return ses_missing(m->g.cli, "--id",
                           "the file does not say what the chat is called; "
                           "write --id ID");
    cli_putf(room, "%.*s%c", (int)info.id.len, info.id.ptr, 0);
    m->g.id = room->ptr;
    return 0;
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct import m = {.g.cli = cli};
    struct grp *g = &m.g;
    pdr_buf room = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;
    int status = 0;

    const struct cli_opt opts[] = {
        CLI_ARG("FILE", &g->file, "a saved chat; - is standard input"),
        CLI_TEXT(0, "id", "ID", &g->id, "session that it becomes"),
        CLI_FLAG('y', "replace", &m.replace,
                 "take the place of a session that is there"),
        CLI_FLAG('n', "dry-run", &m.is_dry, "only read and check the file"),
        GRP_KEY_ROWS(g),
        SES_STORE_ROWS(&g->from),
    };
    if (cli_parse(cli, opts, CLI_COUNT(opts), argc, argv)) {
        if (!m.is_dry && g->from.uri == NULL && !sto_use_default(&g->from))
            status = ses_store_check(cli, &g->from);
        if (status == 0)
            status = grp_file_open(g);
        if (status == 0)
            status = take_id(&m, &room);
        if (status == 0 && import_chat(&m, &err) != PDR_OK)
            status = grp_fail(g, NULL, &err);
        else if (status == 0)
            print_result(&m);
    } else {
        status = cli->status;
    }
    pdr_buf_dispose(&room);
    grp_free(g);
    return status;
}

const struct cli_command cli_cmd_group_import = {
    .name = "group import",
    .summary = "a saved chat, of whatever form, into a store",
    .usage = "[OPTIONS] [--store URI] FILE",
    .run = run};
