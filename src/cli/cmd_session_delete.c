/*
 * perdure session delete - remove sessions from a store.
 *
 * WHY  One goes as a whole, and only as it was looked at: with --expect a
 *      session that somebody changed since stays. Many go by age, or because
 *      their time is over; who is at work on one keeps it. Before many go,
 *      somebody says yes to their number: on a terminal, or with --yes.
 */
#include "session_parts.h"

#include <unistd.h>

#define MAX_TRIES 20 /* without --expect */

struct deletion {
    struct cli *cli;
    struct sto_from from;
    const char *id;  /* NULL: many */
    uint64_t expect; /* revision; 0: whichever */
    const char *older_than;
    bool expired, all_tenants;
    bool dry_run, yes;
    int64_t age_ms;        /* of `older_than` */
    uint64_t revision;     /* of the one that went */
    pdr_purge_report done; /* one, too, is a report */
    pdr_builder *named;    /* owned; what a dry run would delete; an array */
};

/* --- one: the commit ----------------------------------------------------- */

/* One try, on the revision that it has now. */
static pdr_rc delete_once(struct deletion *d, pdr_store *store, pdr_err *err)
{
    const pdr_query query = {.what = PDR_READ_HEAD,
                             .ref = sto_ref(&d->from, d->id)};
    const pdr_commit_options options = {.now_ms = sto_now_ms()};
    pdr_edit edit = {.ref = query.ref, .remove = true};
    pdr_page *page = NULL;
    pdr_rc rc = pdr_store_read(&page, store, &query, err);

    if (rc != PDR_OK)
        return rc;
    d->revision = page->head.revision;
    d->done.removed = 1;
    d->done.entries = page->head.next_seq - page->head.first_seq;
    edit.revision = page->head.revision;
    edit.epoch = page->head.epoch;
    pdr_page_free(page);
    if (d->expect > 0 && d->expect != d->revision)
        return pdr_err_set(err, PDR_ECONFLICT, "revision_changed",
                           "the session has revision %ju, --expect says %ju",
                           (uintmax_t)d->revision, (uintmax_t)d->expect);
    if (d->dry_run)
        return PDR_OK;
    return pdr_store_commit(NULL, store, &edit, 1, &options, err);
}

static pdr_rc delete_one(struct deletion *d, pdr_err *err)
{
    int tries = d->expect > 0 ? 1 : MAX_TRIES;
    pdr_store *store = NULL;
    pdr_rc rc = PDR_OK;

    CLI_TRY(sto_open(&store, &d->from, d->dry_run ? "ro" : "rw", err));
    do
        rc = delete_once(d, store, err);
    while (rc == PDR_ECONFLICT && --tries > 0);
done:
    pdr_store_close(store);
    return rc;
}

/* --- many ---------------------------------------------------------------- */

/* Name a session that would go. */
static pdr_rc name_one(void *arg, const pdr_head *head, pdr_err *err)
{
    struct deletion *d = arg;
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);

    (void)err;
    if (cli_is_json(d->cli)) {
        pdr_builder_object(d->named);
        cli_member_text(d->named, "tenant", head->ref.tenant);
        cli_member_text(d->named, "session", head->ref.id);
        pdr_builder_end(d->named);
        return PDR_OK;
    }
    if (d->all_tenants) {
        cli_show(&line, head->ref.tenant, CLI_TEXT_LINE);
        cli_put(&line, "\t");
    }
    cli_show(&line, head->ref.id, CLI_TEXT_LINE);
    printf("%.*s\n", (int)line.len, line.ptr);
    pdr_buf_dispose(&line);
    return PDR_OK;
}

/* The hint of who was not asked: the same command, and what it lacks. */
static int refuse_many(const struct deletion *d, const char *count)
{
    const struct {
        const char *option, *value;
    } options[] = {{"--store", d->from.is_default ? NULL : d->from.uri},
                   {"--key", d->from.key},
                   {"--tenant", d->from.tenant},
                   {"--older-than", d->older_than}};
    const struct cli_problem problem = {"USAGE", "the arguments are wrong",
                                        "not_confirmed", CLI_EXIT_USAGE, NULL};
    pdr_buf hint = PDR_BUF_INIT(SIZE_MAX);
    char why[120], word[CLI_WORD_MAX];

    snprintf(why, sizeof(why),
             "deleting %s needs --yes where nobody can be asked", count);
    cli_put(&hint, "'perdure session delete");
    for (size_t i = 0; i < CLI_COUNT(options); i++)
        if (options[i].value != NULL)
            cli_putf(&hint, " %s %s", options[i].option,
                     cli_word(word, options[i].value, "VALUE"));
    cli_putf(&hint, "%s%s --yes' deletes them; -n in place of --yes lists them",
             d->expired ? " --expired" : "",
             d->all_tenants ? " --all-tenants" : "");
    cli_must(pdr_buf_append(&hint, pdr_str_n("", 1), NULL), NULL);
    cli_report(d->cli, sto_name(&d->from), why, hint.ptr, &problem);
    pdr_buf_dispose(&hint);
    return CLI_EXIT_USAGE;
}

/* May so many go? 0, or the exit status of a refusal. */
static int confirm_many(const struct deletion *d, uint64_t number)
{
    pdr_buf name = PDR_BUF_INIT(SIZE_MAX);
    char digits[32], count[48], answer[256] = "";
    bool is_yes = false;

    snprintf(count, sizeof(count), "%s session%s", cli_number(digits, number),
             number == 1 ? "" : "s");
    if (!d->cli->tty_err || isatty(STDIN_FILENO) != 1)
        return refuse_many(d, count);
    cli_show(&name, pdr_str_c(sto_name(&d->from)), CLI_TEXT_LINE);
    cli_fprintf(stderr, "delete %s%s from %.*s? [y/N] ", count,
                d->all_tenants ? " of all tenants" : "", (int)name.len,
                name.ptr);
    if (fgets(answer, sizeof(answer), stdin) == NULL)
        fputs("\n", stderr);
    answer[strcspn(answer, "\r\n")] = '\0';
    is_yes = strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0;
    if (!is_yes && !d->cli->quiet)
        cli_fprintf(stderr, "perdure: %.*s: nothing was deleted\n",
                    (int)name.len, name.ptr);
    pdr_buf_dispose(&name);
    return is_yes ? 0 : CLI_EXIT_NEGATIVE;
}

/* Count what would go, ask, and delete by the same rule. `refused` gets the
 * exit status if somebody said no. */
static pdr_rc delete_many(struct deletion *d, int *refused, pdr_err *err)
{
    pdr_purge_opts how = {.expired = d->expired,
                          .dry_run = d->dry_run || !d->yes,
                          .now_ms = sto_now_ms(),
                          .fn = d->dry_run ? name_one : NULL,
                          .arg = d};
    pdr_store *store = NULL;
    pdr_rc rc = PDR_OK;

    if (!d->all_tenants)
        how.tenant = pdr_str_c(sto_tenant(&d->from));
    if (d->older_than != NULL)
        how.changed_before_ms = how.now_ms - d->age_ms;
    CLI_TRY(sto_open(&store, &d->from, d->dry_run ? "ro" : "rw", err));
    CLI_TRY(pdr_purge(&d->done, store, &how, err));
    if (!how.dry_run || d->dry_run || d->done.removed == 0)
        goto done;
    *refused = confirm_many(d, d->done.removed);
    if (*refused != 0)
        goto done;
    /* Work that came while the question waited spares a session. What expired
     * since then was not asked about. */
    if (d->older_than != NULL)
        how.now_ms = sto_now_ms();
    how.dry_run = false;
    CLI_TRY(pdr_purge(&d->done, store, &how, err));
done:
    pdr_store_close(store);
    return rc;
}

/* --- what was done -------------------------------------------------------- */

static void print_line(const struct deletion *d)
{
    const pdr_purge_report *r = &d->done;
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);
    char digits[32];

    cli_show(&line, pdr_str_c(sto_name(&d->from)), CLI_TEXT_LINE);
    if (d->id != NULL) {
        cli_put(&line, ", session '");
        cli_show_cut(&line, pdr_str_c(d->id), CLI_TEXT_LINE, 60);
        cli_put(&line, "':");
    } else {
        cli_putf(&line, ": %s session%s", cli_number(digits, r->removed),
                 r->removed == 1 ? "" : "s");
    }
    cli_put(&line, d->dry_run ? " would be deleted" : " deleted");
    if (r->removed > 0)
        cli_putf(&line, ", with %s entr%s", cli_number(digits, r->entries),
                 r->entries == 1 ? "y" : "ies");
    if (r->spared > 0)
        cli_putf(&line, "; %s spared, somebody works on %s or has work for %s",
                 cli_number(digits, r->spared), r->spared == 1 ? "it" : "them",
                 r->spared == 1 ? "it" : "them");
    printf("%.*s\n", (int)line.len, line.ptr);
    pdr_buf_dispose(&line);
}

static void print_object(const struct deletion *d)
{
    pdr_builder *to = ses_object_new();
    pdr_value *named = NULL;
    pdr_err err = PDR_ERR_INIT;

    pdr_builder_end(d->named);
    cli_must(pdr_builder_finish(&named, d->named, &err), &err);
    cli_member_text(to, "store", pdr_str_c(sto_name(&d->from)));
    if (!d->all_tenants)
        cli_member_text(to, "tenant", pdr_str_c(sto_tenant(&d->from)));
    if (d->id != NULL) {
        cli_member_text(to, "session", pdr_str_c(d->id));
        cli_member_count(to, "revision", d->revision);
    } else {
        cli_member_count(to, "sessions", d->done.removed);
    }
    cli_member_count(to, "entries", d->done.entries);
    if (d->id == NULL)
        cli_member_count(to, "spared", d->done.spared);
    cli_member_bool(to, "dryRun", d->dry_run);
    if (d->id == NULL && d->dry_run) {
        pdr_builder_name(to, pdr_str_c("named"));
        pdr_builder_value(to, named);
    }
    ses_object_print(d->cli, stdout, to);
    pdr_value_free(named);
}

static int check_usage(struct deletion *d)
{
    bool is_many = d->older_than != NULL || d->expired;

    if (d->id == NULL && !is_many)
        return doc_usage(d->cli, "ID", "an argument is missing",
                         "--older-than AGE and --expired delete many");
    if (d->id != NULL && (is_many || d->all_tenants))
        return doc_usage(d->cli, "ID",
                         "stands beside an option that deletes many",
                         "name one session, or say which go by age");
    if (d->id == NULL && d->expect > 0)
        return doc_usage(d->cli, "--expect", "is for one session", "");
    if (d->all_tenants && d->from.tenant != NULL)
        return doc_usage(d->cli, "--tenant and --all-tenants",
                         "only one of them can be given", "");
    if (d->older_than != NULL && !sto_age(&d->age_ms, d->older_than))
        return doc_usage(d->cli, "--older-than", "this is no age",
                         "write 90s, 15m, 12h, 30d or 2w");
    return ses_store_check(d->cli, &d->from);
}

static int run_delete(struct cli *cli, int argc, char **argv)
{
    struct deletion d = {.cli = cli};
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;
    int status = 0;

    const struct cli_opt opts[] = {
        CLI_MAY("ID", &d.id, "session of the store"),
        CLI_TEXT(0, "older-than", "AGE", &d.older_than,
                 "all that were not changed since, as in 30d"),
        CLI_FLAG(0, "expired", &d.expired, "all whose expiry is over"),
        CLI_FLAG(0, "all-tenants", &d.all_tenants,
                 "with these two: of every tenant"),
        CLI_U64(0, "expect", "REVISION", &d.expect, 1, INT64_MAX,
                "only if it has this revision"),
        CLI_FLAG('n', "dry-run", &d.dry_run,
                 "say what would be deleted, delete nothing"),
        CLI_FLAG('y', "yes", &d.yes, "delete many without a question"),
        SES_STORE_ROWS(&d.from),
    };
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    status = check_usage(&d);
    if (status != 0)
        return status;
    cli_must(pdr_builder_new(&d.named, &err), &err);
    pdr_builder_array(d.named);
    rc = d.id != NULL ? delete_one(&d, &err) : delete_many(&d, &status, &err);
    if (rc != PDR_OK)
        status = sto_fail(cli, &d.from, &err);
    else if (status == 0 && cli_is_json(cli))
        print_object(&d);
    else if (status == 0 && !cli->quiet)
        print_line(&d);
    pdr_builder_free(d.named);
    return status;
}

const struct cli_command cli_cmd_session_delete = {
    .name = "session delete",
    .summary = "remove sessions from a store: one, or by age",
    .usage = "[OPTIONS] [--store URI] ID | "
             "[OPTIONS] [--store URI] --older-than AGE | "
             "[OPTIONS] [--store URI] --expired",
    .run = run_delete};
