/*
 * perdure store vacuum - give free room of a store back.
 *
 * First what no reader sees is cleared: sessions whose import was killed, and
 * what is left of removed ones. Then the file becomes smaller, in steps that
 * others' commits come between; an interrupt leaves it sound, and what was
 * given back stays given back.
 */
#include "session_parts.h"

struct vacuum {
    struct cli *cli;
    struct sto_from from;
    struct cli_progress progress;
    pdr_sweep_report swept;
    pdr_vacuum_report report;
};

static pdr_rc on_step(void *arg, const pdr_vacuum_report *report, pdr_err *err)
{
    struct vacuum *v = arg;
    uint64_t given = report->before_bytes > report->after_bytes
                         ? report->before_bytes - report->after_bytes
                         : 0;

    (void)err;
    if (given > v->progress.done)
        cli_progress_add(&v->progress, (size_t)(given - v->progress.done));
    return PDR_OK;
}

static pdr_rc vacuum(struct vacuum *v, pdr_store *store, pdr_err *err)
{
    pdr_store_info info = {.free_bytes = 0};
    pdr_rc rc = pdr_store_sweep(&v->swept, store, sto_now_ms(), err);

    if (rc == PDR_OK)
        rc = pdr_store_info_get(&info, store, err);
    if (rc != PDR_OK)
        return rc;
    cli_progress_begin(&v->progress, v->cli, sto_name(&v->from),
                       info.free_bytes);
    rc = pdr_store_vacuum(&v->report, store, err, on_step, v);
    cli_progress_end(&v->progress);
    return rc;
}

static uint64_t given_back(const struct vacuum *v)
{
    return v->report.before_bytes > v->report.after_bytes
               ? v->report.before_bytes - v->report.after_bytes
               : 0;
}

static void print_swept(const struct vacuum *v)
{
    char digits[32], rows[32];

    if (v->swept.sessions > 0)
        printf("cleared %s session%s that nobody sees, %s row%s\n",
               cli_number(digits, v->swept.sessions),
               v->swept.sessions == 1 ? "" : "s",
               cli_number(rows, v->swept.rows), v->swept.rows == 1 ? "" : "s");
    if (v->swept.left > 0)
        printf("%s session%s being imported; if that was given up, a later "
               "vacuum clears it\n",
               cli_number(digits, v->swept.left),
               v->swept.left == 1 ? " is" : "s are");
}

static void print_lines(const struct vacuum *v)
{
    pdr_buf name = PDR_BUF_INIT(SIZE_MAX);
    char given[32], after[32], room[32], steps[32];

    print_swept(v);
    cli_show(&name, pdr_str_c(sto_name(&v->from)), CLI_TEXT_LINE);
    printf("%.*s: %s given back; the file has %s, %s of it free\n",
           (int)name.len, name.ptr, cli_size(given, given_back(v)),
           cli_size(after, v->report.after_bytes),
           cli_size(room, v->report.free_bytes));
    if (v->report.steps > 0)
        printf("%s step%s, the longest held the writer lock for %.1f ms\n",
               cli_number(steps, v->report.steps),
               v->report.steps == 1 ? "" : "s",
               (double)v->report.longest_us / 1000);
    pdr_buf_dispose(&name);
}

static void print_object(const struct vacuum *v)
{
    pdr_builder *to = NULL;
    pdr_err err = PDR_ERR_INIT;

    cli_must(pdr_builder_new(&to, &err), &err);
    pdr_builder_object(to);
    cli_member_text(to, "store", pdr_str_c(sto_name(&v->from)));
    cli_member_count(to, "sweptSessions", v->swept.sessions);
    cli_member_count(to, "sweptRows", v->swept.rows);
    cli_member_count(to, "unseen", v->swept.left);
    cli_member_count(to, "beforeBytes", v->report.before_bytes);
    cli_member_count(to, "afterBytes", v->report.after_bytes);
    cli_member_count(to, "freeBytes", v->report.free_bytes);
    cli_member_count(to, "steps", v->report.steps);
    cli_member_count(to, "longestLockMicroseconds", v->report.longest_us);
    pdr_builder_end(to);
    ses_print_built(v->cli, stdout, to);
    pdr_builder_free(to);
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct vacuum v = {.cli = cli};
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;
    int status = 0;

    const struct cli_opt opts[] = {STO_ROWS(&v.from)};
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    status = sto_from_check(cli, &v.from);
    if (status != 0)
        return status;
    rc = sto_open(&store, &v.from, "rw", &err);
    if (rc == PDR_OK)
        rc = vacuum(&v, store, &err);
    pdr_store_close(store);
    if (rc != PDR_OK)
        return sto_fail(cli, &v.from, &err);
    if (cli_is_json(cli))
        print_object(&v);
    else if (!cli->quiet)
        print_lines(&v);
    return 0;
}

const struct cli_command cli_cmd_store_vacuum = {
    .name = "store vacuum",
    .summary = "give free room of a store back to the file system",
    .usage = "[OPTIONS] [STORE]",
    .run = run};
