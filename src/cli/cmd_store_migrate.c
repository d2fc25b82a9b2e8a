/*
 * perdure store migrate - bring a store to the version of this library.
 *
 * WHY  A store that an older library made can be read and not written. Changing
 *      it is a decision: older programs cannot open it afterwards. --dry-run
 *      looks whether there is anything to do.
 */
#include "session_parts.h"

struct migration {
    struct cli *cli;
    struct sto_from from;
    bool dry_run;
    bool is_needed;
    pdr_migrate_report report;
};

/* A store that can be read but not written, because of its version. */
static pdr_rc look(struct migration *m, pdr_err *err)
{
    pdr_store_info info = {.backend = NULL};
    pdr_store *store = NULL;
    pdr_rc rc = sto_open(&store, &m->from, "ro", err);

    if (rc == PDR_OK)
        rc = pdr_store_info_get(&info, store, err);
    pdr_store_close(store);
    if (rc != PDR_OK)
        return rc;
    m->report.from = info.schema;
    rc = sto_open(&store, &m->from, "rw", err);
    pdr_store_close(store);
    m->is_needed = rc == PDR_EVERSION;
    return m->is_needed ? PDR_OK : rc;
}

static pdr_rc migrate(struct migration *m, pdr_err *err)
{
    pdr_buf uri = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    sto_put_uri(&uri, &m->from, "rw");
    rc = pdr_store_migrate(&m->report, uri.ptr, err);
    if (rc != PDR_OK)
        sto_shorten(err);
    m->is_needed = m->report.from != m->report.to;
    pdr_buf_dispose(&uri);
    return rc;
}

static void print_object(const struct migration *m)
{
    pdr_builder *to = NULL;
    pdr_err err = PDR_ERR_INIT;

    cli_must(pdr_builder_new(&to, &err), &err);
    pdr_builder_object(to);
    cli_member_text(to, "store", pdr_str_c(sto_name(&m->from)));
    cli_member_bool(to, "dryRun", m->dry_run);
    cli_member_bool(to, m->dry_run ? "needed" : "changed", m->is_needed);
    cli_member_count(to, "from", m->report.from);
    if (!m->dry_run)
        cli_member_count(to, "to", m->report.to);
    pdr_builder_end(to);
    ses_print_built(m->cli, stdout, to);
    pdr_builder_free(to);
}

static void print_line(const struct migration *m)
{
    pdr_buf name = PDR_BUF_INIT(SIZE_MAX);
    unsigned from = (unsigned)m->report.from;

    cli_show(&name, pdr_str_c(sto_name(&m->from)), CLI_TEXT_LINE);
    printf("%.*s: ", (int)name.len, name.ptr);
    if (!m->is_needed)
        printf("schema version %u, nothing to do\n", from);
    else if (m->dry_run)
        printf("schema version %u would be migrated, nothing was changed\n",
               from);
    else
        printf("migrated from schema version %u to %u\n", from,
               (unsigned)m->report.to);
    pdr_buf_dispose(&name);
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct migration m = {.cli = cli};
    pdr_err err = PDR_ERR_INIT;
    int status = 0;

    const struct cli_opt opts[] = {
        STO_ROWS(&m.from),
        CLI_FLAG('n', "dry-run", &m.dry_run,
                 "say whether it is needed, change nothing"),
    };
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    status = sto_from_check(cli, &m.from);
    if (status != 0)
        return status;
    if ((m.dry_run ? look(&m, &err) : migrate(&m, &err)) != PDR_OK)
        return sto_fail(cli, &m.from, &err);
    if (cli_is_json(cli))
        print_object(&m);
    else if (!cli->quiet)
        print_line(&m);
    return 0;
}

const struct cli_command cli_cmd_store_migrate = {
    .name = "store migrate",
    .summary = "bring a store of an older version to this one",
    .usage = "[OPTIONS] [STORE]",
    .run = run};
