/*
 * perdure diff - how two documents differ, by JSON Pointer.
 *
 * Compares what documents say, not how they are laid out: white space and
 * optional escapes make no difference, the spelling of a number does; nor does
 * the format, which is told for each of the two. A change is printed when it is
 * found, so memory does not grow with their number.
 */
#include "cli.h"

struct diff {
    const struct cli *cli;
    pdr_buf line;     /* scratch */
    pdr_buf value;    /* scratch */
    size_t counts[5]; /* by pdr_change_kind */
    size_t total;
};

static const struct {
    const char *mark, *word, *color;
} looks[] = {[PDR_ADDED] = {"+", "added", CLI_GREEN},
             [PDR_REMOVED] = {"-", "removed", CLI_RED},
             [PDR_CHANGED] = {"~", "changed", CLI_YELLOW},
             [PDR_REORDERED] = {"=", "reordered", CLI_CYAN}};

/* --- readable lines ------------------------------------------------------ */

/* Least columns for a value that is cut; fewer would say nothing. */
#define MIN_CELLS ((size_t)12)

/* The text of a value in `d->value`: compact, or as it stands in raw output. */
static pdr_str value_text(struct diff *d, const pdr_value *value)
{
    const pdr_write_opts opts = {.flags = PDR_BARE_TOKENS};
    pdr_err err = PDR_ERR_INIT;
    pdr_str raw = {NULL, 0};

    pdr_buf_clear(&d->value);
    if (d->cli->output == CLI_OUTPUT_RAW && pdr_value_raw(&raw, value))
        return raw;
    cli_must(pdr_json_write(&d->value, value, &opts, &err), &err);
    return pdr_buf_str(&d->value);
}

static void put_value(struct diff *d, const pdr_value *value, size_t cells)
{
    pdr_str text = value_text(d, value);
    pdr_err err = PDR_ERR_INIT;

    if (d->cli->output == CLI_OUTPUT_RAW)
        cli_must(pdr_buf_append(&d->line, text, &err), &err);
    else if (d->cli->tty_out)
        cli_show_cut(&d->line, text, CLI_TEXT_LINE, cells);
    else
        cli_show(&d->line, text, CLI_TEXT_LINE);
}

/* Columns for the value or values behind `used` columns. A short first one
 * leaves its rest to the second. */
static void share(size_t cells[2], struct diff *d, const pdr_change *change,
                  size_t used)
{
    size_t left =
        d->cli->width > used + MIN_CELLS ? d->cli->width - used : MIN_CELLS;

    cells[0] = cells[1] = left;
    if (change->before == NULL || change->after == NULL || !d->cli->tty_out)
        return;
    left = left > 4 + 2 * MIN_CELLS ? left - 4 : 2 * MIN_CELLS; /* " -> " */
    size_t before = cli_cells(value_text(d, change->before), CLI_TEXT_LINE);
    size_t after = cli_cells(value_text(d, change->after), CLI_TEXT_LINE);
    cells[0] = after < left / 2 ? left - after : left / 2;
    cells[1] = before < left / 2 ? left - before : left - left / 2;
}

static void put_pointer(struct diff *d, pdr_str pointer)
{
    if (pointer.len == 0)
        cli_put(&d->line, "(root)");
    else
        cli_show(&d->line, pointer, CLI_TEXT_JSON);
}

static void print_line(struct diff *d, const pdr_change *change)
{
    bool colored = d->cli->color_out;
    size_t cells[2];
    size_t used = 4 + cli_cells(change->pointer, CLI_TEXT_JSON);

    pdr_buf_clear(&d->line);
    cli_putf(&d->line, "%s%s ", cli_on(colored, looks[change->kind].color),
             looks[change->kind].mark);
    if (change->kind == PDR_REORDERED)
        cli_put(&d->line, "order ");
    put_pointer(d, change->pointer);
    cli_put(&d->line, cli_off(colored));
    share(cells, d, change, used);
    if (change->kind != PDR_REORDERED) {
        cli_put(&d->line, "  ");
        if (change->before != NULL)
            put_value(d, change->before, cells[0]);
        if (change->before != NULL && change->after != NULL)
            cli_put(&d->line, " -> ");
        if (change->after != NULL)
            put_value(d, change->after, cells[1]);
    }
    cli_put(&d->line, "\n");
    fwrite(d->line.ptr, 1, d->line.len, stdout);
}

static void print_summary(const struct diff *d)
{
    const char *between = ": ";

    if (d->total == 0) {
        fputs("no differences\n", stderr);
        return;
    }
    fprintf(stderr, "%zu difference%s", d->total, d->total == 1 ? "" : "s");
    for (size_t kind = PDR_ADDED; kind <= PDR_REORDERED; kind++) {
        if (d->counts[kind] == 0)
            continue;
        fprintf(stderr, "%s%zu %s", between, d->counts[kind], looks[kind].word);
        between = ", ";
    }
    fputs("\n", stderr);
}

/* --- JSON ---------------------------------------------------------------- */

static void print_member(struct diff *d, const char *name,
                         const pdr_value *value)
{
    if (value == NULL)
        return;
    pdr_buf_clear(&d->line);
    cli_putf(&d->line, ",\"%s\":", name);
    fwrite(d->line.ptr, 1, d->line.len, stdout);
    cli_print(d->cli, value_text(d, value));
}

static void print_object(struct diff *d, const pdr_change *change)
{
    pdr_buf_clear(&d->line);
    if (d->cli->output == CLI_OUTPUT_JSON)
        cli_put(&d->line, d->total > 1 ? ",\n" : "\n");
    cli_putf(&d->line, "{\"op\":\"%s\",\"pointer\":\"",
             looks[change->kind].word);
    cli_show(&d->line, change->pointer, CLI_TEXT_JSON);
    cli_put(&d->line, "\"");
    fwrite(d->line.ptr, 1, d->line.len, stdout);
    if (change->kind != PDR_REORDERED) {
        print_member(d, "before", change->before);
        print_member(d, "after", change->after);
    }
    fputs(d->cli->output == CLI_OUTPUT_JSON ? "}" : "}\n", stdout);
}

static void print_totals(const struct diff *d)
{
    printf("%s],\"equal\":%s", d->total > 0 ? "\n" : "",
           d->total == 0 ? "true" : "false");
    for (size_t kind = PDR_ADDED; kind <= PDR_REORDERED; kind++)
        printf(",\"%s\":%zu", looks[kind].word, d->counts[kind]);
    puts("}");
}

/* --- the command --------------------------------------------------------- */

static pdr_rc on_change(const pdr_change *change, pdr_err *err, void *arg)
{
    struct diff *d = arg;

    (void)err;
    d->total++;
    d->counts[change->kind]++;
    if (cli_is_json(d->cli))
        print_object(d, change);
    else
        print_line(d, change);
    return PDR_OK;
}

/* Compare two values; the exit status of a failure, else 0. */
static int compare(struct diff *d, const pdr_value *a, const pdr_value *b)
{
    const struct cli *cli = d->cli;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (cli->output == CLI_OUTPUT_JSON)
        fputs("{\"changes\":[", stdout);
    rc = pdr_value_diff(a, b, &err, on_change, d);
    if (cli->output == CLI_OUTPUT_JSON)
        print_totals(d);
    else if (cli->output == CLI_OUTPUT_TABLE && cli->tty_out && !cli->quiet)
        print_summary(d);
    pdr_buf_dispose(&d->value);
    pdr_buf_dispose(&d->line);
    return rc == PDR_OK
               ? 0
               : cli_fail(cli, &(struct cli_about){.name = "diff"}, &err);
}

/* How to read the two. */
struct reading {
    struct cli_limits limits;
    uint64_t from; /* place in cli_form_words(), or CLI_NO_FORM */
};

/* One of the two documents; the exit status of a failure, else 0. */
static int load(pdr_value **out, pdr_buf *text, const struct cli *cli,
                const char *path, const struct reading *how)
{
    pdr_err err = PDR_ERR_INIT;
    struct cli_form form;
    pdr_format other;
    char hint[CLI_LIST_MAX];

    if (cli_input_value(out, text, &form, cli, path, how->from, &how->limits,
                        &err) == PDR_OK)
        return 0;
    struct cli_about about = {.name = cli_input_name(path),
                              .input = pdr_buf_str(text)};
    if (err.code == PDR_EINVALID && form.format.codec != NULL &&
        cli_form_differs(&other, &form.format, about.input, true)) {
        /* --from would be for both. */
        snprintf(hint, sizeof(hint),
                 "it looks like %s: give it a name that says so, or convert it",
                 cli_form_title(&other));
        about.hint = hint;
    } else if (strcmp(err.reason, "trailing_data") == 0 ||
               strcmp(err.reason, "several_documents") == 0) {
        about.hint = "diff takes one document a file; 'perdure convert "
                     "--gather' makes one of several";
    }
    return cli_fail(cli, &about, &err);
}

static int diff_files(const struct cli *cli, const char *a_path,
                      const char *b_path, const struct reading *how,
                      bool exit_code)
{
    struct diff d = {.cli = cli,
                     .line = PDR_BUF_INIT(SIZE_MAX),
                     .value = PDR_BUF_INIT(SIZE_MAX)};
    pdr_value *a = NULL, *b = NULL;
    pdr_buf a_text = PDR_BUF_INIT(SIZE_MAX), b_text = PDR_BUF_INIT(SIZE_MAX);
    int status = load(&a, &a_text, cli, a_path, how);

    if (status == 0)
        status = load(&b, &b_text, cli, b_path, how);
    if (status == 0)
        status = compare(&d, a, b);
    if (status == 0 && exit_code && d.total > 0)
        status = CLI_EXIT_NEGATIVE;
    pdr_value_free(b);
    pdr_value_free(a);
    pdr_buf_dispose(&b_text);
    pdr_buf_dispose(&a_text);
    return status;
}

static int run(struct cli *cli, int argc, char **argv)
{
    const char *a = NULL, *b = NULL;
    bool exit_code = false;
    struct reading how = {.from = CLI_NO_FORM};
    char from_help[CLI_LIST_MAX];
    const struct cli_opt opts[] = {
        CLI_ARG("A", &a, "document before; - is standard input"),
        CLI_ARG("B", &b, "document after; - is standard input"),
        CLI_FLAG('e', "exit-code", &exit_code,
                 "exit with 1 if the documents differ"),
        CLI_FROM(&how.from, from_help),
        CLI_READ_ROWS(&how.limits),
    };
    const struct cli_usage twice = {
        "bad_value", "-", "standard input can be only one of the two", ""};

    cli_form_list(from_help, sizeof(from_help), "both are ", 0, 0);
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    if (strcmp(a, "-") == 0 && strcmp(b, "-") == 0)
        return cli_usage_fail(cli, &twice);
    return diff_files(cli, a, b, &how, exit_code);
}

const struct cli_command cli_cmd_diff = {
    .name = "diff",
    .summary = "how two documents differ, by JSON Pointer",
    .run = run};
