/*
 * perdure store info - what a store says of itself.
 *
 * WHY  May this file be copied as it is? Why does its log grow? How much of it
 *      is free room? Opened for reading only: looking changes nothing.
 */
#include "session_parts.h"

#define NEW_SCHEMA 3 /* what this release writes; it reads older ones */

static void line(const struct cli *cli, const char *label, const char *text)
{
    ses_label(stdout, cli, 80, label, pdr_str_c(text));
}

static void print_file(const struct cli *cli, const pdr_store_info *info)
{
    char text[160], size[32], room[32];

    snprintf(text, sizeof(text), "%s, %s of it free to be used again",
             cli_size(size, info->file_bytes),
             cli_size(room, info->free_bytes));
    line(cli, "file", text);
    if (info->log_bytes == 0)
        snprintf(text, sizeof(text), "empty: the file stands alone");
    else
        snprintf(text, sizeof(text),
                 "%s that are not in the file yet: it does not stand alone",
                 cli_size(size, info->log_bytes));
    line(cli, "log", text);
    if (info->pinned_by == 0)
        return;
    snprintf(text, sizeof(text),
             "process %jd reads, and keeps the log from shrinking",
             (intmax_t)info->pinned_by);
    line(cli, "pinned", text);
}

static void print_table(const struct cli *cli, const struct sto_from *s,
                        const pdr_store_info *info)
{
    bool colored = cli->color_out;
    pdr_buf name = PDR_BUF_INIT(SIZE_MAX);
    char text[160], digits[32];

    cli_show(&name, pdr_str_c(sto_name(s)), CLI_TEXT_LINE);
    printf("%s%.*s%s\n", cli_on(colored, CLI_BOLD), (int)name.len, name.ptr,
           cli_off(colored));
    pdr_buf_dispose(&name);
    snprintf(text, sizeof(text), "%s, schema version %u", info->backend,
             (unsigned)info->schema);
    line(cli, "backend", info->schema > 0 ? text : info->backend);
    if (info->schema > 0 && info->schema < NEW_SCHEMA)
        line(cli, "version",
             "is read, not written; 'perdure store migrate' brings it to "
             "version 3");
    if ((info->capabilities & PDR_CAN_PERSIST) != 0)
        print_file(cli, info);
    line(cli, "digests",
         info->keyed ? "with a key: they show tampering"
                     : "without a key: they show damage, not tampering");
    if (info->unseen == 0)
        return;
    snprintf(text, sizeof(text),
             "%s session%s being imported, or being cleared; 'perdure store "
             "vacuum' clears what is left over",
             cli_number(digits, info->unseen), info->unseen == 1 ? "" : "s");
    line(cli, "unseen", text);
}

static void print_object(const struct cli *cli, const struct sto_from *s,
                         const pdr_store_info *info)
{
    pdr_builder *to = NULL;
    pdr_err err = PDR_ERR_INIT;

    cli_must(pdr_builder_new(&to, &err), &err);
    pdr_builder_object(to);
    cli_member_text(to, "store", pdr_str_c(sto_name(s)));
    cli_member_text(to, "backend", pdr_str_c(info->backend));
    cli_member_count(to, "schema", info->schema);
    cli_member_bool(to, "keyed", info->keyed);
    cli_member_count(to, "fileBytes", info->file_bytes);
    cli_member_count(to, "freeBytes", info->free_bytes);
    cli_member_count(to, "logBytes", info->log_bytes);
    cli_member_bool(to, "standsAlone", info->log_bytes == 0);
    if (info->pinned_by > 0)
        cli_member_count(to, "pinnedBy", (uint64_t)info->pinned_by);
    cli_member_count(to, "unseen", info->unseen);
    pdr_builder_end(to);
    ses_print_built(cli, stdout, to);
    pdr_builder_free(to);
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct sto_from from = {.uri = NULL};
    pdr_store_info info = {.backend = NULL};
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;
    int status = 0;

    const struct cli_opt opts[] = {STO_ROWS(&from)};
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    status = sto_from_check(cli, &from);
    if (status != 0)
        return status;
    rc = sto_open(&store, &from, "ro", &err);
    if (rc == PDR_OK)
        rc = pdr_store_info_get(&info, store, &err);
    pdr_store_close(store);
    if (rc != PDR_OK)
        return sto_fail(cli, &from, &err);
    if (cli_is_json(cli))
        print_object(cli, &from, &info);
    else
        print_table(cli, &from, &info);
    return 0;
}

const struct cli_command cli_cmd_store_info = {
    .name = "store info",
    .summary = "what a store says of itself: version, sizes, log",
    .usage = "[OPTIONS] [STORE]",
    .run = run};
