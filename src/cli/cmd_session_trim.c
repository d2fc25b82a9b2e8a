/*
 * perdure session trim - remove the oldest turns of a stored session.
 *
 * WHY  A conversation that runs for years is not to grow for ever. Whole turns
 *      go from its beginning, never a call without its result; bag and
 *      properties stay.
 *
 * A dry run trims a copy of the session in memory, so it tells what would be.
 */
#include "session_parts.h"

struct trim {
    struct cli *cli;
    struct sto_from from;
    const char *id, *older_than;
    bool dry_run;
    pdr_retain_opts how;
    pdr_retain_report report;
};

/* Trim the session; a dry run trims a copy of it, and tells the revision that
 * it has. */
static pdr_rc trim_session(struct trim *t, pdr_err *err)
{
    const pdr_copy_opts what = {.tenant = t->how.ref.tenant,
                                .id = t->how.ref.id,
                                .now_ms = t->how.now_ms};
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = t->how.ref};
    pdr_store *store = NULL, *copy = NULL;
    pdr_page *page = NULL;
    pdr_rc rc = PDR_OK;

    CLI_TRY(sto_open(&store, &t->from, t->dry_run ? "ro" : "rw", err));
    if (t->dry_run) {
        CLI_TRY(pdr_store_open(&copy, "memory:", err));
        CLI_TRY(pdr_copy(NULL, copy, store, &what, err, NULL, NULL));
        CLI_TRY(pdr_store_read(&page, copy, &query, err));
    }
    CLI_TRY(pdr_retain(&t->report, copy != NULL ? copy : store, &t->how, err));
    if (t->dry_run)
        t->report.revision = page->head.revision;
done:
    pdr_page_free(page);
    pdr_store_close(copy);
    pdr_store_close(store);
    return rc;
}

static int check_usage(struct trim *t)
{
    int64_t age = 0;

    if (t->how.keep_turns == 0 && t->older_than == NULL)
        return doc_usage(t->cli, "--keep-turns or --older-than",
                         "one of them is missing",
                         "say what stays: --keep-turns 100, or --older-than "
                         "30d for what goes");
    if (t->older_than != NULL && !sto_age(&age, t->older_than))
        return doc_usage(t->cli, "--older-than", "this is no age",
                         "write 90s, 15m, 12h, 30d or 2w");
    if (t->how.untimed_from_import && t->older_than == NULL)
        return doc_usage(t->cli, "--untimed", "is for --older-than",
                         "say the age, too: --older-than 30d --untimed");
    t->how.now_ms = sto_now_ms();
    if (t->older_than != NULL)
        t->how.before_ms = t->how.now_ms - age;
    return ses_store_check(t->cli, &t->from);
}

static void put_count(pdr_buf *out, const char *gap, uint64_t count,
                      const char *one, const char *many)
{
    char digits[32];

    cli_putf(out, "%s%s %s", gap, cli_number(digits, count),
             count == 1 ? one : many);
}

static void print_line(const struct trim *t)
{
    const pdr_retain_report *r = &t->report;
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);

    cli_show(&line, pdr_str_c(sto_name(&t->from)), CLI_TEXT_LINE);
    cli_put(&line, ", session '");
    cli_show_cut(&line, pdr_str_c(t->id), CLI_TEXT_LINE, 60);
    cli_put(&line, "': ");
    if (r->turns == 0) {
        cli_put(&line, "nothing to remove");
    } else {
        put_count(&line, "", r->turns, "turn", "turns");
        cli_put(&line, t->dry_run ? " would be removed" : " removed");
        put_count(&line, ", ", r->entries, "entry", "entries");
        if (r->completions > 0)
            put_count(&line, ", ", r->completions, "correlation id",
                      "correlation ids");
    }
    if (r->untimed_seq > 0)
        cli_putf(&line,
                 "\nthe time of entry %ju is not known, so it stays with all "
                 "that follows; --untimed counts it from the import",
                 (uintmax_t)r->untimed_seq);
    printf("%.*s\nrevision %ju\n", (int)line.len, line.ptr,
           (uintmax_t)r->revision);
    pdr_buf_dispose(&line);
}

static void print_object(const struct trim *t)
{
    pdr_builder *to = ses_object_new();

    cli_member_text(to, "store", pdr_str_c(sto_name(&t->from)));
    cli_member_text(to, "tenant", pdr_str_c(sto_tenant(&t->from)));
    cli_member_text(to, "session", pdr_str_c(t->id));
    cli_member_count(to, "turns", t->report.turns);
    cli_member_count(to, "entries", t->report.entries);
    cli_member_count(to, "completions", t->report.completions);
    cli_member_count(to, "revision", t->report.revision);
    if (t->report.untimed_seq > 0)
        cli_member_count(to, "untimedEntry", t->report.untimed_seq);
    cli_member_bool(to, "dryRun", t->dry_run);
    ses_object_print(t->cli, stdout, to);
}

static int run_trim(struct cli *cli, int argc, char **argv)
{
    struct trim t = {.cli = cli};
    pdr_err err = PDR_ERR_INIT;
    int status = 0;

    const struct cli_opt opts[] = {
        CLI_ARG("ID", &t.id, "session of the store"),
        CLI_U64(0, "keep-turns", "N", &t.how.keep_turns, 1, INT64_MAX,
                "the last N turns stay"),
        CLI_TEXT(0, "older-than", "AGE", &t.older_than,
                 "turns that are older go, as in 30d"),
        CLI_FLAG(0, "untimed", &t.how.untimed_from_import,
                 "entries without a time are as old as their import"),
        CLI_FLAG('n', "dry-run", &t.dry_run,
                 "say what would be removed, remove nothing"),
        SES_STORE_ROWS(&t.from),
    };
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    status = check_usage(&t);
    if (status != 0)
        return status;
    t.how.ref = sto_ref(&t.from, t.id);
    if (trim_session(&t, &err) != PDR_OK)
        return sto_fail(cli, &t.from, &err);
    if (cli_is_json(cli))
        print_object(&t);
    else if (!cli->quiet)
        print_line(&t);
    return 0;
}

const struct cli_command cli_cmd_session_trim = {
    .name = "session trim",
    .summary = "remove the oldest turns of a stored session",
    .usage = "[OPTIONS] [--store URI] ID",
    .run = run_trim};
