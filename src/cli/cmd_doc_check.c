/*
 * perdure doc check - is a state document sound, and who can work with it?
 *
 * WHY  A document can be valid JSON and yet end a session: a tool call without
 *      a result makes every model call fail, and what one program wrote,
 *      another may refuse, reset or cut. Each finding says where, what and what
 *      to do.
 *
 * LEVELS  Structure (a schema file) and meaning, for us; or with --for what
 *      another program would do with the very text, also one that we refuse.
 */
#include "doc_parts.h"

#define DEFAULT_FINDINGS 50         /* for people; programs get all */
#define NOT_SAID         UINT64_MAX /* no option gave the number */

struct check {
    struct cli *cli;
    struct doc_reading how;
    uint64_t max_findings; /* to show for a file; 0: all */
    uint64_t reader;       /* enum pdr_reader; PDR_READER_ANY: for us */
    bool strict;
    bool is_list; /* several files: a list in JSON output */
    size_t files, bad;
    size_t damaged; /* by the reader, of those that are not bad */
    int status;
};

/* What was found in one file. */
struct report {
    struct check *check;
    const char *name;
    uint64_t counts[PDR_SEVERITY_ERROR + 1];
    uint64_t total;
    pdr_builder *list; /* of findings, in JSON output */
    const char *hint;  /* "" if there is none */
    pdr_reader_verdict verdict;
    size_t our_errors; /* what the check for us would find, with --for */
    pdr_buf text;      /* bytes of the file */
    pdr_buf line;
};

static const char *const reader_words[] = {"dotnet", "python", NULL};
static const char *const reader_titles[] = {"", ".NET", "Python"};

/* --- findings ------------------------------------------------------------ */

static const char *severity_color(pdr_severity severity)
{
    if (severity == PDR_SEVERITY_ERROR)
        return CLI_RED;
    return severity == PDR_SEVERITY_WARNING ? CLI_YELLOW : CLI_CYAN;
}

/* "error: what [rule]" and the place below; of several files, with the name in
 * front. */
static void print_finding(struct report *r, const pdr_doc_finding *f)
{
    const struct cli *cli = r->check->cli;
    bool colored = cli->color_out;
    const char *severity = pdr_severity_name(f->severity);
    size_t used = strlen(severity) + 2;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

    pdr_buf_clear(&r->line);
    if (r->check->is_list) {
        cli_show(&r->line, pdr_str_c(r->name), CLI_TEXT_LINE);
        cli_put(&r->line, ": ");
        used += cli_cells(pdr_buf_str(&r->line), CLI_TEXT_LINE);
    }
    cli_putf(&r->line, "%s%s:%s ", cli_on(colored, severity_color(f->severity)),
             severity, cli_off(colored));
    cli_show(&text, f->text, CLI_TEXT_LINE);
    cli_putf(&text, " [%s]", f->rule);
    cli_flow(&r->line, pdr_buf_str(&text), used, 4,
             cli->tty_out ? cli->width : 0);
    cli_putf(&r->line, "\n    %s", cli_on(colored, CLI_DIM));
    if (f->pointer.len > 0)
        cli_show(&r->line, f->pointer, CLI_TEXT_JSON);
    else
        cli_put(&r->line, "(the whole document)");
    cli_putf(&r->line, "%s\n", cli_off(colored));
    fwrite(r->line.ptr, 1, r->line.len, stdout);
    pdr_buf_dispose(&text);
}

static void add_finding(pdr_builder *to, const pdr_doc_finding *f)
{
    pdr_builder_object(to);
    cli_member_text(to, "rule", pdr_str_c(f->rule));
    cli_member_text(to, "severity", pdr_str_c(pdr_severity_name(f->severity)));
    cli_member_text(to, "pointer", f->pointer);
    cli_member_text(to, "text", f->text);
    pdr_builder_end(to);
}

static pdr_rc on_finding(const pdr_doc_finding *finding, pdr_err *err,
                         void *arg)
{
    struct report *r = arg;
    const struct check *c = r->check;

    (void)err;
    r->counts[finding->severity]++;
    r->total++;
    if (c->max_findings != 0 && r->total > c->max_findings)
        return PDR_OK;
    if (r->list != NULL)
        add_finding(r->list, finding);
    else if (c->cli->output == CLI_OUTPUT_TABLE)
        print_finding(r, finding);
    return PDR_OK;
}

/* A refusal as a finding: its rule is the reason. */
static void refuse(struct report *r, pdr_str input, const pdr_err *err)
{
    char text[320];
    /* The end of a pointer is none. */
    bool is_cut = strncmp(err->path, "...", 3) == 0;
    pdr_doc_finding finding = {err->reason, PDR_SEVERITY_ERROR,
                               pdr_str_c(is_cut ? "" : err->path),
                               pdr_str_c(err->message)};
    size_t line = 0, column = 0;

    if (err->offset >= 0 && (uint64_t)err->offset <= input.len &&
        cli_is_text(input, err->offset)) {
        pdr_err_locate(&line, &column, input, err->offset);
        snprintf(text, sizeof(text), "line %zu, column %zu: %s", line, column,
                 cli_message(err, line, column));
        finding.text = pdr_str_c(text);
    }
    (void)!on_finding(&finding, NULL, r);
}

/* --- the verdict --------------------------------------------------------- */

static void put_counts(pdr_buf *out, const struct report *r)
{
    static const char *const names[] = {"", "info", "warning", "error"};
    const char *between = ": ";
    char digits[32];

    for (int i = PDR_SEVERITY_ERROR; i >= PDR_SEVERITY_INFO; i--) {
        if (r->counts[i] == 0)
            continue;
        cli_putf(out, "%s%s %s%s", between, cli_number(digits, r->counts[i]),
                 names[i], r->counts[i] == 1 ? "" : "s");
        between = ", ";
    }
    if (r->check->max_findings != 0 && r->total > r->check->max_findings)
        cli_putf(out, " (%ju shown)", (uintmax_t)r->check->max_findings);
}

static bool is_good(const struct report *r)
{
    return r->check->reader != PDR_READER_ANY
               ? r->verdict.loads && r->verdict.runs
               : r->counts[PDR_SEVERITY_ERROR] == 0;
}

/* Does the program work with it, and do harm to it? */
static bool is_damaged(const struct report *r)
{
    return r->check->reader != PDR_READER_ANY && is_good(r) &&
           r->counts[PDR_SEVERITY_ERROR] > 0;
}

static const char *verdict_text(const struct report *r)
{
    if (r->check->reader == PDR_READER_ANY)
        return is_good(r) ? "sound" : "not sound";
    if (!r->verdict.loads)
        return "does not load";
    if (!r->verdict.runs)
        return "loads, but every run fails";
    return is_damaged(r) ? "loads and runs, but with damage" : "loads and runs";
}

static const char *verdict_color(const struct report *r)
{
    if (is_damaged(r))
        return CLI_YELLOW;
    return is_good(r) ? CLI_GREEN : CLI_RED;
}

/* The program does not ask whether a model takes the conversation; we do. */
static void put_note(pdr_buf *out, const struct report *r)
{
    bool colored = r->check->cli->color_out;
    char digits[32];

    cli_putf(out,
             "    %snote:%s it is not sound: %s error%s; 'perdure doc check' "
             "without --for shows %s\n",
             cli_on(colored, CLI_CYAN), cli_off(colored),
             cli_number(digits, r->our_errors), r->our_errors == 1 ? "" : "s",
             r->our_errors == 1 ? "it" : "them");
}

/* "a.json: sound: 2 warnings", "a.json: Python: does not load: 1 error" */
static void print_verdict(struct report *r)
{
    const struct cli *cli = r->check->cli;
    bool colored = cli->color_out;

    if (r->hint[0] != '\0' && !cli->quiet)
        printf("    %shint:%s %s\n", cli_on(colored, CLI_CYAN),
               cli_off(colored), r->hint);
    if (cli->quiet)
        return;
    pdr_buf_clear(&r->line);
    cli_show(&r->line, pdr_str_c(r->name), CLI_TEXT_LINE);
    cli_put(&r->line, ": ");
    if (r->check->reader != PDR_READER_ANY)
        cli_putf(&r->line, "%s: ", reader_titles[r->check->reader]);
    cli_putf(&r->line, "%s%s%s", cli_on(colored, verdict_color(r)),
             verdict_text(r), cli_off(colored));
    put_counts(&r->line, r);
    cli_put(&r->line, "\n");
    if (r->our_errors > 0)
        put_note(&r->line, r);
    fwrite(r->line.ptr, 1, r->line.len, stdout);
}

static void add_verdict(pdr_builder *to, const struct report *r)
{
    uint64_t reader = r->check->reader;

    if (reader != PDR_READER_ANY) {
        cli_member_text(to, "reader", pdr_str_c(reader_words[reader - 1]));
        cli_member_bool(to, "loads", r->verdict.loads);
        cli_member_bool(to, "runs", r->verdict.runs);
        return;
    }
    cli_member_bool(to, "sound", is_good(r));
    cli_member_count(to, "errors", r->counts[PDR_SEVERITY_ERROR]);
    cli_member_count(to, "warnings", r->counts[PDR_SEVERITY_WARNING]);
    cli_member_count(to, "infos", r->counts[PDR_SEVERITY_INFO]);
}

static void print_object(struct report *r)
{
    const struct check *c = r->check;
    pdr_builder *to = NULL;
    pdr_value *list = NULL, *object = NULL;
    pdr_err err = PDR_ERR_INIT;

    pdr_builder_end(r->list);
    cli_must(pdr_builder_finish(&list, r->list, &err), &err);
    cli_must(pdr_builder_new(&to, &err), &err);
    pdr_builder_object(to);
    if (c->is_list || c->reader == PDR_READER_ANY)
        cli_member_text(to, "file", pdr_str_c(r->name));
    add_verdict(to, r);
    pdr_builder_name(to, pdr_str_c("findings"));
    pdr_builder_value(to, list);
    if (r->hint[0] != '\0')
        cli_member_text(to, "hint", pdr_str_c(r->hint));
    pdr_builder_end(to);
    cli_must(pdr_builder_finish(&object, to, &err), &err);
    if (c->is_list && c->cli->output == CLI_OUTPUT_JSON)
        fputs(c->files > 0 ? ",\n" : "[\n", stdout);
    cli_print_json(c->cli, object);
    if (!c->is_list || c->cli->output == CLI_OUTPUT_JSONL)
        puts("");
    pdr_value_free(object);
    pdr_value_free(list);
    pdr_builder_free(to);
}

/* --- one file ------------------------------------------------------------ */

/* A document that could be read: for us. */
static pdr_rc check_value(struct report *r, const pdr_value *value,
                          pdr_err *err)
{
    pdr_err refusal = PDR_ERR_INIT;
    pdr_rc gate = PDR_OK, rc = PDR_OK;

    if (pdr_value_kind(value) == PDR_NULL)
        return PDR_OK; /* a session that has no state yet */
    gate = pdr_state_gate(value, &refusal);
    if (gate == PDR_ENOMEM) {
        *err = refusal;
        return gate;
    }
    /* The gate's refusal is a finding of the meaning; what the schema says of
     * such a document would only repeat it. */
    if (gate == PDR_OK)
        rc = pdr_state_check_structure(
            value, r->check->strict ? PDR_STATE_STRICT : PDR_STATE_TOLERANT,
            err, on_finding, r);
    if (rc == PDR_OK)
        rc = pdr_state_check_meaning(value, err, on_finding, r);
    if (rc == PDR_OK && gate != PDR_OK) {
        if (r->counts[PDR_SEVERITY_ERROR] == 0)
            refuse(r, pdr_str_n(NULL, 0), &refusal);
        r->hint = doc_hint(value, &refusal);
    }
    return rc;
}

/* Is it a failure to read, and not a refusal of what was read? */
static bool is_failure(pdr_rc rc)
{
    return rc == PDR_EIO || rc == PDR_ENOTFOUND || rc == PDR_ENOMEM ||
           rc == PDR_EMISUSE;
}

static pdr_rc check_for_us(struct report *r, const char *path, pdr_err *err)
{
    const struct check *c = r->check;
    struct doc d = DOC_INIT;
    pdr_rc rc = doc_read(&d, c->cli, path, &c->how, err);

    if (rc == PDR_OK) {
        rc = check_value(r, d.value, err);
    } else if (!is_failure(rc)) {
        refuse(r, pdr_buf_str(&d.text), err);
        r->hint = cli_hint(err, pdr_buf_str(&d.text), 0);
        rc = PDR_OK;
    }
    r->text = d.text;
    d.text = (pdr_buf)PDR_BUF_INIT(SIZE_MAX);
    doc_free(&d);
    return rc;
}

/* The JSON text of a document in another format. */
static pdr_rc as_json(pdr_buf *json, pdr_str text, const struct cli_form *form,
                      const struct cli_limits *limits, pdr_err *err)
{
    const pdr_write_opts writing = {.flags = PDR_BARE_TOKENS};
    pdr_value *value = NULL;
    pdr_rc rc = cli_input_parse(&value, form, text, limits, err);

    if (rc == PDR_OK)
        rc = pdr_json_write(json, value, &writing, err);
    pdr_value_free(value);
    return rc;
}

/* The text that the other program would get: what is in the file, whatever it
 * is, unless it is of another format than JSON. */
static pdr_rc read_text(struct report *r, pdr_buf *json, const char *path,
                        pdr_err *err)
{
    const struct check *c = r->check;
    struct cli_form form;
    struct cli_input in;
    pdr_rc known = PDR_OK;
    pdr_rc rc = cli_input_open(&in, c->cli, path, err);

    if (rc != PDR_OK)
        return rc;
    known = cli_form_of_input(&form, &in, c->how.from, err);
    if (known == PDR_OK || known == PDR_EINVALID)
        rc = cli_input_rest(&r->text, &in, &c->how.limits, err);
    else
        rc = known;
    cli_input_close(&in);
    if (rc == PDR_OK && known == PDR_OK &&
        form.format.codec != pdr_json_codec())
        rc = as_json(json, pdr_buf_str(&r->text), &form, &c->how.limits, err);
    return rc;
}

/* What the check for us finds in a document that the program takes. */
static size_t find_our_errors(const struct check *c, pdr_str json)
{
    const pdr_read_opts opts = cli_read_opts(&c->how.limits);
    pdr_value *value = NULL;
    size_t count = 1;
    pdr_rc rc = pdr_json_read_borrowed(&value, json, &opts, NULL);

    if (rc == PDR_OK)
        count = doc_errors_of(value, PDR_READER_ANY).ours;
    else if (rc == PDR_ENOMEM)
        cli_must(rc, NULL);
    pdr_value_free(value);
    return count;
}

static pdr_rc check_for_reader(struct report *r, const char *path, pdr_err *err)
{
    const struct check *c = r->check;
    pdr_buf json = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = read_text(r, &json, path, err);
    pdr_str text = pdr_buf_str(json.len > 0 ? &json : &r->text);

    if (rc == PDR_OK)
        rc = pdr_state_check_reader(&r->verdict, text, (pdr_reader)c->reader,
                                    err, on_finding, r);
    if (rc == PDR_OK && is_good(r) && c->cli->output == CLI_OUTPUT_TABLE &&
        !c->cli->quiet)
        r->our_errors = find_our_errors(c, text);
    pdr_buf_dispose(&json);
    return rc;
}

/* The document as it is, if it is good. */
static void pass_on(struct report *r)
{
    pdr_err err = PDR_ERR_INIT;

    if (is_good(r)) {
        cli_print(r->check->cli, pdr_buf_str(&r->text));
        return;
    }
    pdr_buf_clear(&r->line);
    put_counts(&r->line, r);
    pdr_err_set(&err, PDR_EINVALID, "not_sound", "%s%.*s", verdict_text(r),
                (int)r->line.len, r->line.ptr);
    fflush(stdout);
    (void)cli_fail(r->check->cli,
                   &(struct cli_about){.name = r->name,
                                       .hint = "without -o raw, what was found "
                                               "is shown"},
                   &err);
}

static void conclude(struct report *r)
{
    struct check *c = r->check;
    int status = 0;

    if (!is_good(r))
        status = c->reader != PDR_READER_ANY ? CLI_EXIT_NEGATIVE
                                             : pdr_rc_exit_status(PDR_EINVALID);
    if (r->list != NULL)
        print_object(r);
    else if (c->cli->output == CLI_OUTPUT_RAW)
        pass_on(r);
    else
        print_verdict(r);
    c->files++;
    c->bad += status != 0;
    c->damaged += is_damaged(r);
    c->status = status > c->status ? status : c->status;
}

static void check_file(struct check *c, const char *path)
{
    struct report r = {.check = c,
                       .name = cli_input_name(path),
                       .hint = "",
                       .text = PDR_BUF_INIT(SIZE_MAX),
                       .line = PDR_BUF_INIT(SIZE_MAX)};
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;
    int status = 0;

    if (cli_is_json(c->cli)) {
        cli_must(pdr_builder_new(&r.list, &err), &err);
        pdr_builder_array(r.list);
    }
    rc = c->reader != PDR_READER_ANY ? check_for_reader(&r, path, &err)
                                     : check_for_us(&r, path, &err);
    if (rc == PDR_OK) {
        conclude(&r);
    } else {
        fflush(stdout); /* keep the order on a terminal */
        status = cli_fail(c->cli, &(struct cli_about){.name = r.name}, &err);
        c->status = status > c->status ? status : c->status;
    }
    pdr_builder_free(r.list);
    pdr_buf_dispose(&r.text);
    pdr_buf_dispose(&r.line);
}

/* --- the command --------------------------------------------------------- */

static void print_totals(const struct check *c)
{
    const struct cli *cli = c->cli;

    if (cli->output == CLI_OUTPUT_JSON && c->is_list)
        puts(c->files > 0 ? "\n]" : "[]");
    if (cli->output != CLI_OUTPUT_TABLE || c->files < 2 || cli->quiet)
        return;
    printf("%zu documents: %zu %s", c->files, c->files - c->bad,
           c->reader != PDR_READER_ANY ? "load and run" : "good");
    if (c->damaged > 0)
        printf(" (%zu with damage)", c->damaged);
    printf(", %zu not\n", c->bad);
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct check c = {.cli = cli, .max_findings = NOT_SAID};
    struct cli_args files = {NULL, 0};
    uint64_t reader = CLI_NO_FORM;
    const struct cli_opt opts[] = {
        CLI_ARGS("FILE", &files, "document to check; - is standard input"),
        CLI_WORD(0, "for", "READER", &reader, reader_words,
                 "what would dotnet or python do with it?"),
        CLI_FLAG(0, "strict", &c.strict,
                 "hold it against what we write, not what we read"),
        CLI_U64(0, "max-findings", "N", &c.max_findings, 0, UINT32_MAX,
                "findings to show for a file, 0 for all (default 50)"),
        DOC_READ_ROWS(&c.how),
    };

    doc_reading_init(&c.how);
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    if (c.max_findings == NOT_SAID)
        c.max_findings = cli_is_json(cli) ? 0 : DEFAULT_FINDINGS;
    if (reader != CLI_NO_FORM)
        c.reader = reader + 1;
    if (c.strict && c.reader != PDR_READER_ANY)
        return doc_usage(cli, "--strict", "does not go with --for", "");
    c.is_list = files.count > 1;
    for (size_t i = 0; i < files.count; i++)
        check_file(&c, files.items[i]);
    print_totals(&c);
    return c.status;
}

const struct cli_command cli_cmd_doc_check = {
    .name = "doc check",
    .summary = "is a document sound, and who can work with it?",
    .run = run};
