/*
 * perdure store copy - sessions of one store, as they are, into another.
 *
 * The first store is only read. The second one is made if it is not there.
 * Interrupted, what was copied stays, and the same command goes on from there.
 */
#include "session_parts.h"

#include <perdure/archive.h>

struct copy {
    struct cli *cli;
    struct sto_from from, to;
    const char *id; /* or NULL */
    bool yes, skip_damaged, skip_others;
    struct cli_progress progress;
    pdr_copy_report report;
    pdr_builder *left_out; /* of JSON output; an array, owned */
};

/* A session was left out: say which, and why. */
static void tell_left_out(struct copy *c, const pdr_copy_report *report)
{
    const pdr_ref *ref = report->left_out;
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);

    if (cli_is_json(c->cli)) {
        pdr_builder_object(c->left_out);
        cli_member_text(c->left_out, "tenant", ref->tenant);
        cli_member_text(c->left_out, "session", ref->id);
        cli_member_text(c->left_out, "reason", pdr_str_c(report->why->reason));
        cli_member_text(c->left_out, "message",
                        pdr_str_c(report->why->message));
        pdr_builder_end(c->left_out);
        return;
    }
    cli_putf(&line, "%swarning:%s session '",
             cli_on(c->cli->color_err, CLI_YELLOW), cli_off(c->cli->color_err));
    cli_show(&line, ref->id, CLI_TEXT_LINE);
    cli_put(&line, "' of tenant '");
    cli_show(&line, ref->tenant, CLI_TEXT_LINE);
    cli_put(&line, "' was left out: ");
    cli_show(&line, pdr_str_c(report->why->message), CLI_TEXT_LINE);
    cli_progress_end(&c->progress); /* it shares the line */
    cli_fprintf(stderr, "%.*s\n", (int)line.len, line.ptr);
    pdr_buf_dispose(&line);
}

static pdr_rc on_commit(void *arg, const pdr_copy_report *report, pdr_err *err)
{
    struct copy *c = arg;

    (void)err;
    if (report->left_out != NULL)
        tell_left_out(c, report);
    if (report->bytes > c->progress.done)
        cli_progress_add(&c->progress,
                         (size_t)(report->bytes - c->progress.done));
    return PDR_OK;
}

static pdr_rc copy(struct copy *c, pdr_store *to, pdr_store *from, pdr_err *err)
{
    pdr_copy_opts opts = {.replace = c->yes,
                          .skip_damaged = c->skip_damaged,
                          .skip_others = c->skip_others,
                          .now_ms = sto_now_ms()};
    pdr_rc rc = PDR_OK;

    if (c->from.tenant != NULL)
        opts.tenant = pdr_str_c(c->from.tenant);
    if (c->id != NULL)
        opts.id = pdr_str_c(c->id);
    /* How much of the file is bodies nobody knows before. */
    cli_progress_begin(&c->progress, c->cli, sto_name(&c->to), 0);
    rc = pdr_copy(&c->report, to, from, &opts, err, on_commit, c);
    cli_progress_end(&c->progress);
    return rc;
}

/* --- what is told ----------------------------------------------------------
 */

static void print_line(const struct copy *c)
{
    pdr_buf name = PDR_BUF_INIT(SIZE_MAX);
    char sessions[32], replaced[32], same[32], entries[32], bytes[32];
    char damaged[32], others[32];

    cli_show(&name, pdr_str_c(sto_name(&c->to)), CLI_TEXT_LINE);
    printf("%.*s: %s session%s copied", (int)name.len, name.ptr,
           cli_number(sessions, c->report.sessions),
           c->report.sessions == 1 ? "" : "s");
    if (c->report.replaced > 0)
        printf(", %s of them replaced",
               cli_number(replaced, c->report.replaced));
    if (c->report.damaged > 0)
        printf(", %s damaged and left out",
               cli_number(damaged, c->report.damaged));
    if (c->report.others > 0)
        printf(", %s left out for what stands there",
               cli_number(others, c->report.others));
    if (c->report.same > 0)
        printf(", %s there already", cli_number(same, c->report.same));
    printf("; %s entr%s, %s\n", cli_number(entries, c->report.entries),
           c->report.entries == 1 ? "y" : "ies",
           cli_size(bytes, c->report.bytes));
    pdr_buf_dispose(&name);
}

static void print_object(struct copy *c)
{
    pdr_builder *to = NULL;
    pdr_value *left_out = NULL;
    pdr_err err = PDR_ERR_INIT;

    pdr_builder_end(c->left_out);
    cli_must(pdr_builder_finish(&left_out, c->left_out, &err), &err);
    cli_must(pdr_builder_new(&to, &err), &err);
    pdr_builder_object(to);
    cli_member_text(to, "from", pdr_str_c(sto_name(&c->from)));
    cli_member_text(to, "to", pdr_str_c(sto_name(&c->to)));
    cli_member_count(to, "sessions", c->report.sessions);
    cli_member_count(to, "replaced", c->report.replaced);
    cli_member_count(to, "same", c->report.same);
    cli_member_count(to, "damaged", c->report.damaged);
    cli_member_count(to, "others", c->report.others);
    pdr_builder_name(to, pdr_str_c("leftOut"));
    pdr_builder_value(to, left_out);
    cli_member_count(to, "entries", c->report.entries);
    cli_member_count(to, "rows", c->report.rows);
    cli_member_count(to, "bytes", c->report.bytes);
    cli_member_count(to, "commits", c->report.commits);
    pdr_builder_end(to);
    ses_print_built(c->cli, stdout, to);
    pdr_builder_free(to);
    pdr_value_free(left_out);
}

static int fail(const struct copy *c, const pdr_err *err)
{
    const struct sto_from *store = c->report.to_failed ? &c->to : &c->from;
    char room[STO_HINT_MAX], hint[2 * STO_HINT_MAX], digits[32];
    struct cli_about about = {.name = sto_name(store),
                              .hint = sto_hint(room, store, err)};

    if (strcmp(err->reason, "session_exists") == 0)
        about.hint = "--yes brings copies up to date that are there, "
                     "--skip-others leaves such sessions out";
    if (strcmp(err->reason, "ahead_of_origin") == 0)
        about.hint = "--skip-others leaves such sessions out, and goes on";
    if (strcmp(err->reason, "store_damaged") == 0 && !c->report.to_failed)
        about.hint = "where a page is damaged, sums=off reads what is left, as "
                     "in 'sqlite:FROM?mode=ro&sums=off', into a new store";
    if (c->report.sessions > 0) {
        snprintf(hint, sizeof(hint), "%s%s%s session%s copied and stay%s there",
                 about.hint != NULL ? about.hint : "",
                 about.hint != NULL ? "; " : "",
                 cli_number(digits, c->report.sessions),
                 c->report.sessions == 1 ? " was" : "s were",
                 c->report.sessions == 1 ? "s" : "");
        about.hint = hint;
    }
    return cli_fail(c->cli, &about, err);
}

/* --- the verb --------------------------------------------------------------
 */

/* Look whether the one session is there, and whether a tenant can be called so:
 * no store is made for nothing. */
static pdr_rc check_names(const struct copy *c, pdr_store *from, pdr_err *err)
{
    pdr_query query = {.what = PDR_READ_SESSIONS, .limit = 1};
    pdr_err why = PDR_ERR_INIT;
    pdr_page *page = NULL;
    pdr_rc rc = PDR_OK;

    if (c->id != NULL)
        query =
            (pdr_query){.what = PDR_READ_HEAD, .ref = sto_ref(&c->from, c->id)};
    else
        query.ref.tenant = pdr_str_c(sto_tenant(&c->from));
    rc = pdr_store_read(&page, from, &query, &why);
    pdr_page_free(page);
    if (rc == PDR_OK || (rc == PDR_ECORRUPT && c->id == NULL))
        return PDR_OK; /* others of its sessions may be sound */
    *err = why;
    return rc;
}

static pdr_rc open_from(pdr_store **out, const struct copy *c, pdr_err *err)
{
    pdr_rc rc = sto_open(out, &c->from, "ro", err);

    if (rc != PDR_OK || (c->id == NULL && c->from.tenant == NULL))
        return rc;
    return check_names(c, *out, err);
}

static pdr_rc open_to(pdr_store **out, const struct copy *c, pdr_err *err)
{
    pdr_rc rc = sto_open(out, &c->to, "rwc", err);

    return rc == PDR_OK ? sto_check_lasting(*out, err) : rc;
}

static int copy_stores(struct copy *c)
{
    pdr_store *from = NULL, *to = NULL;
    pdr_err err = PDR_ERR_INIT;
    int status = 0;

    if (sto_is_same(&c->from, &c->to))
        status = doc_usage(c->cli, "TO", "is the store that is read", "");
    else if (open_from(&from, c, &err) != PDR_OK)
        status = sto_fail(c->cli, &c->from, &err);
    else if (open_to(&to, c, &err) != PDR_OK)
        status = sto_fail(c->cli, &c->to, &err);
    else if (copy(c, to, from, &err) != PDR_OK)
        status = fail(c, &err);
    pdr_store_close(to);
    pdr_store_close(from);
    return status;
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct copy c = {.cli = cli, .to.key_option = "--to-key"};
    pdr_err err = PDR_ERR_INIT;
    int status = 0;

    const struct cli_opt opts[] = {
        CLI_ARG("FROM", &c.from.uri, "the store to read"),
        CLI_ARG("TO", &c.to.uri, "the store to write; made if not there"),
        CLI_TEXT(0, "tenant", "T", &c.from.tenant, "only sessions of T"),
        CLI_TEXT(0, "id", "ID", &c.id, "only this session"),
        CLI_FLAG('y', "yes", &c.yes,
                 "bring sessions up to date that are there"),
        CLI_FLAG(0, "skip-damaged", &c.skip_damaged,
                 "leave out sessions that cannot be read"),
        CLI_FLAG(0, "skip-others", &c.skip_others,
                 "leave out what stands in TO as something else"),
        CLI_TEXT(0, "key", "FILE", &c.from.key, "key of the digests of FROM"),
        CLI_TEXT(0, "to-key", "FILE", &c.to.key, "key of the digests of TO"),
    };
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    cli_must(pdr_builder_new(&c.left_out, &err), &err);
    pdr_builder_array(c.left_out);
    status = copy_stores(&c);
    if (status == 0 && cli_is_json(cli))
        print_object(&c);
    else if (status == 0 && !cli->quiet)
        print_line(&c);
    pdr_builder_free(c.left_out);
    if (status != 0)
        return status;
    return c.report.damaged + c.report.others > 0 ? CLI_EXIT_NEGATIVE : 0;
}

const struct cli_command cli_cmd_store_copy = {
    .name = "store copy",
    .summary = "copy sessions of a store into another one",
    .usage = "[OPTIONS] FROM TO",
    .run = run};
