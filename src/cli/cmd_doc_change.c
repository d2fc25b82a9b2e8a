/*
 * perdure doc migrate, perdure doc repair - a changed document in a new file.
 *
 * WHY  Both change what somebody stored, so both do it where it can be looked
 *      at first: never in place, with a line for every change, and with a dry
 *      run that says the same and writes nothing.
 *
 * SHAPE  FILE --> value --> library --> value --> temporary file --> OUT
 *                              |
 *                              +--> changes: standard output, or standard error
 *                                   if that is OUT
 */
#include "doc_parts.h"

#include <sys/stat.h>
#include <unistd.h>

struct change {
    struct cli *cli;
    struct doc_reading how;
    const char *in_path, *out_path; /* out_path is NULL in a dry run */
    bool yes, dry_run;
    bool takes_stdout; /* the document goes to standard output */
    /* migrate */
    const char *to;
    bool force;
    /* repair */
    uint64_t reader; /* enum pdr_reader */
    int64_t now;     /* ticks */
    /* what was done */
    uint64_t changes;
    uint64_t bytes;         /* written */
    struct doc_errors left; /* in what a repair made */
    pdr_builder *list;      /* of changes, in JSON output */
    pdr_builder *steps;     /* of a migration, in JSON output */
    pdr_buf report; /* of changes, for people; shown when all went well */
};

static const char *out_name(const struct change *c)
{
    return strcmp(c->out_path, "-") == 0 ? "standard output" : c->out_path;
}

/* Standard output may be taken by the document. */
static FILE *report_stream(const struct change *c)
{
    return c->takes_stdout ? stderr : stdout;
}

/* --- the report ---------------------------------------------------------- */

static const char *const reader_words[] = {"dotnet", "python", NULL};
static const char *const reader_titles[] = {"", ".NET", "Python"};

/* Steps, and that there was nothing to do, are told too, but change nothing. */
static bool is_step(const char *rule)
{
    return strcmp(rule, "migration-step") == 0;
}

static bool is_change(const char *rule)
{
    return !is_step(rule) && strcmp(rule, "migration-not-needed") != 0;
}

static void put_change(struct change *c, const pdr_doc_finding *f)
{
    bool is_out = report_stream(c) == stdout;
    bool colored = is_out ? c->cli->color_out : c->cli->color_err;
    bool terminal = is_out && c->cli->tty_out;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

    cli_put(&c->report, cli_on(colored, CLI_YELLOW));
    if (f->pointer.len > 0)
        cli_show(&c->report, f->pointer, CLI_TEXT_JSON);
    else
        cli_put(&c->report, "(the whole document)");
    cli_putf(&c->report, "%s\n    ", cli_off(colored));
    cli_show(&text, f->text, CLI_TEXT_LINE);
    cli_putf(&text, " [%s]", f->rule);
    cli_flow(&c->report, pdr_buf_str(&text), 4, 4,
             terminal ? c->cli->width : 0);
    cli_put(&c->report, "\n");
    pdr_buf_dispose(&text);
}

/* A line above the changes that belong to it. */
static void put_step(struct change *c, const pdr_doc_finding *f)
{
    if (c->steps != NULL) {
        pdr_builder_string(c->steps, f->text);
        return;
    }
    cli_show(&c->report, f->text, CLI_TEXT_LINE);
    cli_put(&c->report, "\n");
}

static pdr_rc on_change(const pdr_doc_finding *finding, pdr_err *err, void *arg)
{
    struct change *c = arg;

    (void)err;
    if (is_step(finding->rule))
        put_step(c, finding);
    if (!is_change(finding->rule))
        return PDR_OK;
    c->changes++;
    if (c->list != NULL) {
        pdr_builder_object(c->list);
        cli_member_text(c->list, "rule", pdr_str_c(finding->rule));
        cli_member_text(c->list, "pointer", finding->pointer);
        cli_member_text(c->list, "text", finding->text);
        pdr_builder_end(c->list);
    } else {
        put_change(c, finding);
    }
    return PDR_OK;
}

static void print_summary(const struct change *c)
{
    char digits[32], size[32];
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);

    if (c->changes == 0)
        cli_put(&line, "nothing to change");
    else
        cli_putf(&line, "%s change%s", cli_number(digits, c->changes),
                 c->changes == 1 ? "" : "s");
    if (c->dry_run) {
        cli_put(&line, "; a dry run, nothing was written");
    } else {
        cli_put(&line, "; ");
        cli_show(&line, pdr_str_c(out_name(c)), CLI_TEXT_LINE);
        cli_putf(&line, " has %s", cli_size(size, c->bytes));
    }
    cli_put(&line, "\n");
    cli_fprintf(report_stream(c), "%.*s", (int)line.len, line.ptr);
    pdr_buf_dispose(&line);
}

/* "1 error is left for Python; 'perdure doc check --for python b.json' shows
 * it" */
static void warn_left(const struct change *c, size_t count, uint64_t reader)
{
    bool to_file = !c->dry_run && strcmp(c->out_path, "-") != 0;
    bool one = count == 1;
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);
    char digits[32];

    if (count == 0)
        return;
    cli_putf(&line, "%swarning:%s %s error%s %s left",
             cli_on(c->cli->color_err, CLI_YELLOW), cli_off(c->cli->color_err),
             cli_number(digits, count), one ? "" : "s",
             c->dry_run ? "would be" : (one ? "is" : "are"));
    if (reader != PDR_READER_ANY)
        cli_putf(&line, " for %s", reader_titles[reader]);
    if (to_file) {
        cli_put(&line, "; 'perdure doc check ");
        if (reader != PDR_READER_ANY)
            cli_putf(&line, "--for %s ", reader_words[reader - 1]);
        cli_show(&line, pdr_str_c(c->out_path), CLI_TEXT_LINE);
        cli_putf(&line, "' shows %s", one ? "it" : "them");
    }
    cli_put(&line, "\n");
    fflush(stdout);
    cli_fprintf(stderr, "%.*s", (int)line.len, line.ptr);
    pdr_buf_dispose(&line);
}

/* Close a list and add it to the report. */
static void add_list(pdr_builder *to, const char *name, pdr_builder *list)
{
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;

    pdr_builder_end(list);
    cli_must(pdr_builder_finish(&value, list, &err), &err);
    pdr_builder_name(to, pdr_str_c(name));
    pdr_builder_value(to, value);
    pdr_value_free(value);
}

static void print_report(struct change *c)
{
    pdr_builder *to = NULL;
    pdr_value *object = NULL;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    cli_must(pdr_builder_new(&to, &err), &err);
    pdr_builder_object(to);
    cli_member_text(to, "in", pdr_str_c(cli_input_name(c->in_path)));
    if (!c->dry_run) {
        cli_member_text(to, "out", pdr_str_c(out_name(c)));
        cli_member_count(to, "bytes", c->bytes);
    }
    cli_member_bool(to, "dryRun", c->dry_run);
    if (c->to != NULL)
        add_list(to, "steps", c->steps);
    else
        cli_member_count(to, "errorsLeft", c->left.ours + c->left.readers);
    add_list(to, "changes", c->list);
    pdr_builder_end(to);
    cli_must(pdr_builder_finish(&object, to, &err), &err);
    cli_must(pdr_json_write(&text, object, NULL, &err), &err);
    cli_fprintf(report_stream(c), "%.*s\n", (int)text.len, text.ptr);
    pdr_buf_dispose(&text);
    pdr_value_free(object);
    pdr_builder_free(to);
}

/* --- writing ------------------------------------------------------------- */

/* A form for many documents has one layout, and is written by a writer. */
static pdr_rc write_text(pdr_buf *out, const pdr_format *format,
                         const pdr_value *value, pdr_write_opts *opts,
                         pdr_err *err)
{
    pdr_writer *writer = NULL;
    pdr_rc rc = PDR_OK;

    if (!cli_form_is_sequence(format)) {
        opts->layout = PDR_AS_READ;
        return pdr_codec_write(out, format->codec, value, opts, err);
    }
    rc = pdr_writer_new(&writer, format->codec, opts, err, pdr_write_buf, out);
    if (rc == PDR_OK)
        rc = pdr_writer_put(writer, PDR_SCALAR, value, err);
    if (rc == PDR_OK)
        rc = pdr_writer_finish(writer, err);
    pdr_writer_free(writer);
    return rc;
}

static pdr_rc write_file(const struct change *c, pdr_str text, pdr_err *err)
{
    struct cli_output_file out;
    pdr_rc rc = cli_output_open(&out, c->cli, c->out_path, c->yes, err);

    if (rc != PDR_OK)
        return rc;
    rc = cli_output_write(text, err, &out);
    if (rc == PDR_OK)
        return cli_output_commit(&out, err);
    cli_output_abandon(&out);
    return rc;
}

/* In the format that the name of OUT tells, else in that of FILE. */
static pdr_rc write_out(struct change *c, const struct doc *d,
                        const pdr_value *value, pdr_err *err)
{
    struct cli_form form;
    pdr_write_opts opts = {.layout = PDR_COMPACT};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    if (!cli_form_of_name(&form, c->out_path, CLI_NO_FORM))
        form = d->form;
    opts.flags = form.format.flags;
    if (c->how.limits.bare_tokens &&
        cli_form_can_write(&form.format, PDR_BARE_TOKENS))
        opts.flags |= PDR_BARE_TOKENS;
    rc = write_text(&text, &form.format, value, &opts, err);
    if (rc == PDR_OK)
        rc = write_file(c, pdr_buf_str(&text), err);
    c->bytes = text.len;
    pdr_buf_dispose(&text);
    return rc;
}

/* --- the changes --------------------------------------------------------- */

static const char *hint_for(const char *reason)
{
    static const struct {
        const char *reason, *hint;
    } hints[] = {
        {"cannot_carry", "--force leaves out what that version has no place "
                         "for; nothing was written"},
        {"no_migration", "the versions are 1.0.0 and 1.1.0; nothing was "
                         "written"},
        {"cannot_repair", "decide that by hand, then repair it; nothing was "
                          "written"},
    };

    for (size_t i = 0; i < CLI_COUNT(hints); i++)
        if (strcmp(hints[i].reason, reason) == 0)
            return hints[i].hint;
    return NULL;
}

static pdr_rc change_value(pdr_value **out, struct change *c,
                           const pdr_value *value, pdr_err *err)
{
    if (c->to != NULL)
        return pdr_state_migrate(out, value, pdr_str_c(c->to), c->force, err,
                                 on_change, c);
    return pdr_state_repair(out, value, (pdr_reader)c->reader, c->now, err,
                            on_change, c);
}

static int change_doc(struct change *c, const struct doc *d)
{
    struct cli_about about = {.name = d->name, .input = pdr_buf_str(&d->text)};
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = change_value(&value, c, d->value, &err);

    if (rc == PDR_OK && c->to == NULL)
        c->left = doc_errors_of(value, (pdr_reader)c->reader);
    if (rc == PDR_OK && !c->dry_run) {
        rc = write_out(c, d, value, &err);
        about = (struct cli_about){.name = out_name(c)};
    }
    pdr_value_free(value);
    if (rc != PDR_OK) {
        about.hint = hint_for(err.reason);
        fflush(stdout);
        return cli_fail(c->cli, &about, &err);
    }
    if (c->list != NULL) {
        print_report(c);
        return 0;
    }
    if (c->report.len > 0)
        cli_fprintf(report_stream(c), "%.*s", (int)c->report.len,
                    c->report.ptr);
    if (!c->cli->quiet)
        print_summary(c);
    warn_left(c, c->left.ours, PDR_READER_ANY);
    warn_left(c, c->left.readers, c->reader);
    return 0;
}

/* --- the commands -------------------------------------------------------- */

static bool is_dash(const char *path)
{
    return strcmp(path, "-") == 0;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* By its name, or as /dev/stdout and the like; a device such as /dev/null has
 * room for both. */
static bool is_stdout(const struct change *c)
{
    struct stat out, standard;

    if (is_dash(c->out_path))
        return true;
    return stat(c->out_path, &out) == 0 &&
           fstat(STDOUT_FILENO, &standard) == 0 && is_same(&out, &standard) &&
           (!S_ISCHR(out.st_mode) || c->cli->tty_out);
}

static int run_change(struct change *c)
{
    const struct cli_usage missing = {"missing_argument", "OUT",
                                      "an argument is missing",
                                      "name a new file, or say --dry-run"};
    struct doc d = DOC_INIT;
    pdr_err err = PDR_ERR_INIT;
    int status = 0;

    if (c->out_path == NULL && !c->dry_run)
        return cli_usage_fail(c->cli, &missing);
    if (!c->dry_run && cli_same_file(c->in_path, c->out_path))
        return doc_usage(c->cli, c->out_path, "is the very file that is read",
                         "name a new file; the old one stays as it was");
    c->takes_stdout = !c->dry_run && is_stdout(c);
    if (cli_is_json(c->cli)) {
        cli_must(pdr_builder_new(&c->list, &err), &err);
        pdr_builder_array(c->list);
        cli_must(pdr_builder_new(&c->steps, &err), &err);
        pdr_builder_array(c->steps);
    }
    status = doc_load(&d, c->cli, c->in_path, &c->how);
    if (status == 0)
        status = change_doc(c, &d);
    doc_free(&d);
    pdr_builder_free(c->list);
    pdr_builder_free(c->steps);
    pdr_buf_dispose(&c->report);
    return status;
}

#define CHANGE_ROWS(c)                                                       \
    CLI_ARG("FILE", &(c)->in_path, "document to read; - is standard input"), \
        CLI_MAY("OUT", &(c)->out_path,                                       \
                "new file to write; - is standard output"),                  \
        CLI_FLAG('n', "dry-run", &(c)->dry_run,                              \
                 "say what would be changed, write nothing"),                \
        CLI_FLAG('y', "yes", &(c)->yes, "replace OUT if it exists")

static int run_migrate(struct cli *cli, int argc, char **argv)
{
    struct change c = {.cli = cli, .report = PDR_BUF_INIT(SIZE_MAX)};
    pdr_schema_version version;
    const struct cli_opt opts[] = {
        CHANGE_ROWS(&c),
        CLI_TEXT(0, "to", "VERSION", &c.to,
                 "version to bring it to: 1.0.0 or 1.1.0"),
        CLI_FLAG('f', "force", &c.force,
                 "leave out what that version has no place for"),
        DOC_READ_ROWS(&c.how),
    };

    doc_reading_init(&c.how);
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    if (c.to == NULL)
        return doc_usage(cli, "--to", "the version is missing",
                         "write --to 1.1.0 or --to 1.0.0");
    if (pdr_schema_version_read(&version, pdr_str_c(c.to), NULL) != PDR_OK)
        return doc_usage(cli, "--to", "this is no version",
                         "write --to 1.1.0 or --to 1.0.0");
    return run_change(&c);
}

/* The time that was given, else the clock's. False for what is no time. */
static bool find_now(int64_t *out, const char *text)
{
    pdr_datetime when;

    if (text == NULL) {
        *out = pdr_now();
        return true;
    }
    if (pdr_datetime_read(&when, pdr_str_c(text), NULL) != PDR_OK)
        return false;
    *out = when.ticks;
    return true;
}

static int run_repair(struct cli *cli, int argc, char **argv)
{
    struct change c = {.cli = cli, .report = PDR_BUF_INIT(SIZE_MAX)};
    uint64_t reader = CLI_NO_FORM;
    const char *at = NULL;
    const struct cli_opt opts[] = {
        CHANGE_ROWS(&c),
        CLI_WORD(0, "for", "READER", &reader, reader_words,
                 "so that dotnet or python can work with it"),
        CLI_TEXT(0, "at", "TIME", &at, "time of what is added (default now)"),
        DOC_READ_ROWS(&c.how),
    };

    doc_reading_init(&c.how);
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    if (!find_now(&c.now, at))
        return doc_usage(cli, "--at", "this is no time",
                         "write it as in 2026-02-03T08:15:00Z");
    if (reader != CLI_NO_FORM)
        c.reader = reader + 1;
    return run_change(&c);
}

const struct cli_command cli_cmd_doc_migrate = {
    .name = "doc migrate",
    .summary = "bring a document to another version, in a new file",
    .usage = "--to VERSION [OPTIONS] FILE OUT | --dry-run FILE",
    .run = run_migrate};

const struct cli_command cli_cmd_doc_repair = {
    .name = "doc repair",
    .summary = "make a document usable again, in a new file",
    .usage = "[OPTIONS] FILE OUT | --dry-run FILE",
    .run = run_repair};
