/*
 * store_verify.c - what is damaged in a store, or in one session of it.
 *
 * Each finding is a row, so that a script can count them. That something was
 * found is an answer, not a failure: the exit status is 1.
 */
#include "session_parts.h"

#define BATCH 200 /* rows that decide how wide the columns are */

struct findings {
    struct cli *cli;
    struct ses_grid grid;
    pdr_builder *to; /* NULL: they are printed as they come */
};

static void flush(struct findings *f)
{
    if (ses_grid_rows(&f->grid) > 0)
        ses_grid_flush(&f->grid, stdout, f->cli->color_out,
                       f->cli->tty_out ? f->cli->width : 0);
}

static void print_raw(const struct findings *f, const char *const *texts)
{
    for (size_t i = 0; i < 3; i++) {
        cli_print(f->cli, pdr_str_c(texts[i]));
        fputs(i < 2 ? "\t" : "\n", stdout);
    }
}

static void on_finding(void *arg, const char *table, const char *row,
                       const char *what)
{
    struct findings *f = arg;
    const char *const texts[] = {table, row, what};

    if (f->cli->output == CLI_OUTPUT_RAW) {
        print_raw(f, texts);
        return;
    }
    if (f->to != NULL) {
        pdr_builder_object(f->to);
        cli_member_text(f->to, "table", pdr_str_c(table));
        cli_member_text(f->to, "row", pdr_str_c(row));
        cli_member_text(f->to, "what", pdr_str_c(what));
        pdr_builder_end(f->to);
        return;
    }
    for (size_t i = 0; i < CLI_COUNT(texts); i++)
        ses_grid_put(&f->grid, pdr_str_c(texts[i]));
    if (ses_grid_rows(&f->grid) == BATCH)
        flush(f);
}

static void begin_object(struct findings *f, const struct sto_from *s,
                         const pdr_ref *ref)
{
    pdr_err err = PDR_ERR_INIT;

    cli_must(pdr_builder_new(&f->to, &err), &err);
    pdr_builder_object(f->to);
    cli_member_text(f->to, "store", pdr_str_c(sto_name(s)));
    if (ref != NULL) {
        cli_member_text(f->to, "tenant", ref->tenant);
        cli_member_text(f->to, "session", ref->id);
    }
    pdr_builder_name(f->to, pdr_str_c("findings"));
    pdr_builder_array(f->to);
}

static void end_object(struct findings *f, const pdr_verify_report *r)
{
    pdr_builder_end(f->to);
    cli_member_count(f->to, "sessions", r->sessions);
    cli_member_count(f->to, "entries", r->entries);
    cli_member_count(f->to, "rows", r->rows);
    cli_member_count(f->to, "bad", r->bad);
    pdr_builder_end(f->to);
    ses_print_built(f->cli, stdout, f->to);
}

/* "desk.db: sound; 3 sessions, 12 entries, 40 other rows" */
static void print_summary(const struct findings *f, const struct sto_from *s,
                          const pdr_ref *ref, const pdr_verify_report *r)
{
    bool colored = f->cli->color_out;
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);
    char digits[32];

    cli_show(&line, pdr_str_c(sto_name(s)), CLI_TEXT_LINE);
    if (ref != NULL) {
        cli_put(&line, ", session '");
        cli_show_cut(&line, ref->id, CLI_TEXT_LINE, 60);
        cli_put(&line, "'");
    }
    cli_putf(&line, ": %s", cli_on(colored, r->bad > 0 ? CLI_RED : CLI_GREEN));
    if (r->bad > 0)
        cli_putf(&line, "damaged, %s finding%s", cli_number(digits, r->bad),
                 r->bad == 1 ? "" : "s");
    else
        cli_put(&line, "sound");
    cli_putf(&line, "%s; ", cli_off(colored));
    if (ref == NULL)
        cli_putf(&line, "%s session%s, ", cli_number(digits, r->sessions),
                 r->sessions == 1 ? "" : "s");
    cli_putf(&line, "%s %s, ", cli_number(digits, r->entries),
             r->entries == 1 ? "entry" : "entries");
    cli_putf(&line, "%s other row%s", cli_number(digits, r->rows),
             r->rows == 1 ? "" : "s");
    printf("%.*s\n", (int)line.len, line.ptr);
    pdr_buf_dispose(&line);
}

static void begin(struct findings *f, const struct sto_from *s,
                  const pdr_ref *ref)
{
    static const struct ses_column columns[] = {
        {"TABLE", false, 0}, {"ROW", false, 12}, {"WHAT", false, 24}};

    ses_grid_init(&f->grid, columns, CLI_COUNT(columns));
    if (cli_is_json(f->cli))
        begin_object(f, s, ref);
}

static void end(struct findings *f, const struct sto_from *s,
                const pdr_ref *ref, const pdr_verify_report *report)
{
    if (f->to != NULL)
        end_object(f, report);
    else if (!f->cli->quiet && f->cli->output == CLI_OUTPUT_TABLE)
        print_summary(f, s, ref, report);
}

static void release(struct findings *f)
{
    pdr_builder_free(f->to);
    ses_grid_free(&f->grid);
}

/* What cannot even be opened is damaged as a whole. */
static int tell_all(struct cli *cli, const struct sto_from *s,
                    const pdr_ref *ref, const pdr_err *err)
{
    const pdr_verify_report report = {.bad = 1};
    struct findings f = {.cli = cli};

    begin(&f, s, ref);
    on_finding(&f, "file", "all", err->message);
    flush(&f);
    end(&f, s, ref, &report);
    release(&f);
    return CLI_EXIT_NEGATIVE;
}

static int verify(struct cli *cli, const struct sto_from *s, pdr_store *store,
                  const pdr_ref *ref)
{
    struct findings f = {.cli = cli};
    pdr_verify_report report = {.bad = 0};
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;
    int status = 0;

    begin(&f, s, ref);
    rc = pdr_store_verify(&report, store, ref, &err, on_finding, &f);
    flush(&f);
    if (rc != PDR_OK && report.bad == 0)
        status = sto_fail(cli, s, &err);
    else
        end(&f, s, ref, &report);
    release(&f);
    return report.bad > 0 ? CLI_EXIT_NEGATIVE : status;
}

int sto_verify(struct cli *cli, const struct sto_from *s, const pdr_ref *ref)
{
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = sto_open(&store, s, "ro", &err);
    int status = 0;

    if (rc == PDR_ECORRUPT)
        return tell_all(cli, s, ref, &err);
    if (rc != PDR_OK)
        return sto_fail(cli, s, &err);
    status = verify(cli, s, store, ref);
    pdr_store_close(store);
    return status;
}
