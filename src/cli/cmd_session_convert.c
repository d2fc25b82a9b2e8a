/*
 * perdure session convert - sessions in the shape of another program.
 *
 * WHY  A session of one edition is to go on in another. The shape changes, the
 *      conversation does not; what the other shape has no place for is told,
 *      thing by thing, before anybody relies on it.
 *
 * A file keeps its form: a list stays a list, metadata stays around its
 * session. What cannot be converted at all fails, and nothing is written.
 *
 * Shape "state" is the exception: of one session it makes the document of a
 * durable agent, which is no session and holds its conversation alone.
 */
#include "session_parts.h"

static const char *const shape_words[] = {"native",      "dotnet", "python",
                                          "python-1.21", "state",  NULL};
static const pdr_session_shape shapes[] = {
    PDR_SESSION_NATIVE, PDR_SESSION_DOTNET, PDR_SESSION_PYTHON,
    PDR_SESSION_PYTHON_OLD}; /* "state" is behind them */

/* A long history gives the same line for each message: after a few of them,
 * people only want to know how many there are. */
#define MAX_RULES 32 /* that are counted; more than there are */
#define MOST_TOLD 3  /* lines of a rule that is not a warning */

struct told {
    const char *rule; /* static */
    uint64_t count;
};

struct conversion {
    struct cli *cli;
    struct ses_from from; /* of IN */
    const char *out_path;
    uint64_t shape, to; /* places in the lists of words, CLI_NO_FORM */
    const char *id, *provider_key;
    bool strict, pretty, yes;
    struct ses_file file;
    struct cli_form form; /* of OUT */
    uint64_t at;          /* of the session in work */
    uint64_t sessions, warnings, bytes;
    pdr_builder *list; /* of findings; NULL: they are printed */
    pdr_buf report;    /* for people */
    struct told told[MAX_RULES];
    bool out_failed;
    uint64_t document;     /* of OUT that is written, from 1 */
    bool exchange;         /* OUT is for other programs */
    pdr_write_report lost; /* spellings that were given up for them */
};

static bool is_state(const struct conversion *c)
{
    return c->shape == CLI_COUNT(shapes);
}

/* --- the report ---------------------------------------------------------- */

static bool is_many(const struct conversion *c)
{
    return c->file.doc_count != 1 || c->file.docs[0].count != 1;
}

/* Is it one of the first with this rule? Counts it. */
static bool is_news(struct conversion *c, const char *rule)
{
    struct told *t = c->told;

    while (t->rule != NULL && strcmp(t->rule, rule) != 0)
        if (++t == c->told + MAX_RULES)
            return true;
    t->rule = rule;
    return ++t->count <= MOST_TOLD;
}

static void put_rest(struct conversion *c)
{
    bool colored = c->cli->color_err;
    char digits[32];

    for (size_t i = 0; i < MAX_RULES && c->told[i].rule != NULL; i++)
        if (c->told[i].count > MOST_TOLD)
            cli_putf(&c->report, "%sinfo:%s %s more like that [%s]\n",
                     cli_on(colored, CLI_CYAN), cli_off(colored),
                     cli_number(digits, c->told[i].count - MOST_TOLD),
                     c->told[i].rule);
}

/* "warning: session /1, /stateBag/x: the text [rule]" */
static void put_finding(struct conversion *c, const pdr_doc_finding *f)
{
    bool colored = c->cli->color_err;
    bool is_info = f->severity == PDR_SEVERITY_INFO;
    pdr_buf *out = &c->report;

    if (is_info && (c->cli->quiet || !is_news(c, f->rule)))
        return;
    cli_putf(out, "%s%s:%s ", cli_on(colored, is_info ? CLI_CYAN : CLI_YELLOW),
             pdr_severity_name(f->severity), cli_off(colored));
    if (is_many(c))
        cli_putf(out, "session /%ju%s ", (uintmax_t)c->at,
                 f->pointer.len > 0 ? "," : ":");
    if (f->pointer.len > 0) {
        cli_show(out, f->pointer, CLI_TEXT_JSON);
        cli_put(out, ": ");
    }
    cli_show(out, f->text, CLI_TEXT_LINE);
    cli_putf(out, " [%s]\n", f->rule);
}

static pdr_rc on_finding(const pdr_doc_finding *finding, pdr_err *err,
                         void *arg)
{
    struct conversion *c = arg;

    (void)err;
    c->warnings += finding->severity != PDR_SEVERITY_INFO;
    if (c->list == NULL) {
        put_finding(c, finding);
        return PDR_OK;
    }
    pdr_builder_object(c->list);
    cli_member_count(c->list, "index", c->at);
    cli_member_text(c->list, "severity",
                    pdr_str_c(pdr_severity_name(finding->severity)));
    cli_member_text(c->list, "rule", pdr_str_c(finding->rule));
    cli_member_text(c->list, "pointer", finding->pointer);
    cli_member_text(c->list, "text", finding->text);
    pdr_builder_end(c->list);
    return PDR_OK;
}

static void print_summary(const struct conversion *c)
{
    char digits[32], size[32];
    pdr_buf name = PDR_BUF_INIT(SIZE_MAX);

    cli_show(&name, pdr_str_c(ses_out_name(c->out_path)), CLI_TEXT_LINE);
    cli_fprintf(stderr, "perdure: %.*s: %s, %s session%s, %s", (int)name.len,
                name.ptr, shape_words[c->shape],
                cli_number(digits, c->sessions), c->sessions == 1 ? "" : "s",
                cli_size(size, c->bytes));
    if (c->warnings > 0)
        fprintf(stderr, ", %s warning%s", cli_number(digits, c->warnings),
                c->warnings == 1 ? "" : "s");
    fputs("\n", stderr);
    cli_tell_respelled(ses_out_name(c->out_path), &c->lost);
    pdr_buf_dispose(&name);
}

/* On standard output, unless that is taken by the sessions. */
static void print_object(struct conversion *c)
{
    bool is_file = strcmp(c->out_path, "-") != 0;
    pdr_builder *to = ses_object_new();
    pdr_value *findings = NULL;
    pdr_err err = PDR_ERR_INIT;

    pdr_builder_end(c->list);
    cli_must(pdr_builder_finish(&findings, c->list, &err), &err);
    cli_member_text(to, "in", pdr_str_c(ses_from_name(&c->from)));
    cli_member_text(to, "out", pdr_str_c(ses_out_name(c->out_path)));
    cli_member_text(to, "shape", pdr_str_c(shape_words[c->shape]));
    cli_member_text(to, "format", pdr_str_c(c->form.format.name));
    cli_member_count(to, "sessions", c->sessions);
    cli_member_count(to, "bytes", c->bytes);
    cli_member_count(to, "warnings", c->warnings);
    if (c->exchange)
        cli_member_respelled(to, &c->lost);
    pdr_builder_name(to, pdr_str_c("findings"));
    pdr_builder_value(to, findings);
    ses_object_print(c->cli, is_file ? stdout : stderr, to);
    pdr_value_free(findings);
}

/* --- sessions ------------------------------------------------------------ */

static pdr_rc convert_one(pdr_session **out, struct conversion *c,
                          pdr_session *session, pdr_err *err)
{
    const pdr_session_convert_opts opts = {.to = shapes[c->shape],
                                           .id = pdr_str_c(c->id),
                                           .provider_key =
                                               pdr_str_c(c->provider_key)};

    c->sessions++;
    return pdr_session_convert(out, session, &opts, err, on_finding, c);
}

/* The document of a converted session, into a builder. */
static pdr_rc build_one(pdr_builder *to, struct conversion *c,
                        pdr_session *session, pdr_err *err)
{
    pdr_session *made = NULL;
    pdr_value *value = NULL;
    pdr_rc rc = PDR_OK;

    CLI_TRY(convert_one(&made, c, session, err));
    CLI_TRY(pdr_session_to_value(&value, made, err));
    pdr_builder_value(to, value);
done:
    pdr_value_free(value);
    pdr_session_free(made);
    return rc;
}

/* A list of sessions and nulls, or an object of sessions. */
static pdr_rc build_list(pdr_builder *to, struct conversion *c,
                         const struct ses_doc *d, pdr_err *err)
{
    pdr_session *none = NULL;
    pdr_str raw = {NULL, 0};
    pdr_rc rc = PDR_OK;
    pdr_iter it;

    if (pdr_value_kind(d->value) == PDR_OBJECT)
        pdr_builder_object(to);
    else
        pdr_builder_array(to);
    pdr_iter_init(&it, d->value);
    for (; pdr_iter_next(&it); c->at++) {
        pdr_session *session = ses_doc_session(d, it.index);

        if (it.name != NULL && pdr_value_raw(&raw, it.name))
            pdr_builder_escaped_name(to, pdr_str_n(raw.ptr + 1, raw.len - 2));
        if (session != NULL)
            CLI_TRY(build_one(to, c, session, err));
        else if (pdr_value_kind(it.value) == PDR_NULL)
            pdr_builder_null(to);
        else /* this says why it is not a session */
            CLI_TRY(pdr_session_from_value(&none, it.value, err));
    }
    pdr_builder_end(to);
done:
    return rc;
}

/* Metadata stays as it is, around another session. */
static pdr_rc convert_wrappers(struct conversion *c, struct ses_doc *d,
                               pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < d->count; i++, c->at++) {
        pdr_session *made = NULL;

        if (d->wrappers[i].session == NULL)
            continue;
        CLI_TRY(convert_one(&made, c, d->wrappers[i].session, err));
        pdr_session_free(d->wrappers[i].session);
        d->wrappers[i].session = made;
    }
done:
    return rc;
}

static pdr_rc convert_doc(pdr_value **out, struct conversion *c,
                          struct ses_doc *d, pdr_err *err)
{
    pdr_builder *to = NULL;
    pdr_rc rc = PDR_OK;

    if (d->wrappers != NULL) {
        CLI_TRY(convert_wrappers(c, d, err));
        return ses_doc_value(out, d, err);
    }
    CLI_TRY(pdr_builder_new(&to, err));
    CLI_TRY(d->list != NULL ? build_list(to, c, d, err)
                            : build_one(to, c, d->one, err));
    CLI_TRY(pdr_builder_finish(out, to, err));
    c->at += d->list == NULL;
done:
    pdr_builder_free(to);
    return rc;
}

/* The state document of the one session that there is. */
static pdr_rc convert_state(pdr_value **out, struct conversion *c, pdr_err *err)
{
    const pdr_doc_finding lost = {
        "not-carried", PDR_SEVERITY_WARNING, pdr_str_c("/additionalProperties"),
        pdr_str_c("a state document has no place for this: it is lost")};
    const pdr_properties *properties = NULL;
    struct ses_pick pick = {.at = 0};
    pdr_rc rc = PDR_OK;

    CLI_TRY(ses_file_find(&pick, &c->file, NULL, err));
    c->at = pick.at;
    properties = ses_doc_properties(pick.doc, pick.index);
    if (properties != NULL && pdr_properties_count(properties) > 0)
        CLI_TRY(on_finding(&lost, err, c));
    CLI_TRY(pdr_session_to_state(out, ses_doc_session(pick.doc, pick.index),
                                 pdr_now(), err, on_finding, c));
    c->sessions++;
done:
    return rc;
}

/* --- from file to file --------------------------------------------------- */

static pdr_rc write_docs(pdr_buf *out, struct conversion *c, pdr_err *err)
{
    pdr_write_opts opts = {.flags = c->form.format.flags,
                           .layout = c->pretty ? PDR_PRETTY : PDR_COMPACT,
                           .report = &c->lost};
    pdr_writer *writer = NULL;
    pdr_value *value = NULL;
    pdr_rc rc = PDR_OK;

    if (c->from.how.limits.bare_tokens &&
        cli_form_can_write(&c->form.format, PDR_BARE_TOKENS))
        opts.flags |= PDR_BARE_TOKENS;
    c->exchange = (is_state(c) || shapes[c->shape] != PDR_SESSION_NATIVE) &&
                  cli_form_can_write(&c->form.format, PDR_EXCHANGE);
    if (c->exchange)
        opts.flags |= PDR_EXCHANGE;
    CLI_TRY(pdr_writer_new(&writer, c->form.format.codec, &opts, err,
                           pdr_write_buf, out));
    for (size_t i = 0; i < (is_state(c) ? 1 : c->file.doc_count); i++) {
        CLI_TRY(is_state(c) ? convert_state(&value, c, err)
                            : convert_doc(&value, c, &c->file.docs[i], err));
        c->document = i + 1;
        c->out_failed = true;
        CLI_TRY(pdr_writer_put(writer, PDR_SCALAR, value, err));
        c->out_failed = false;
        pdr_value_free(value);
        value = NULL;
    }
    CLI_TRY(pdr_writer_finish(writer, err));
done:
    pdr_value_free(value);
    pdr_writer_free(writer);
    return rc;
}

static pdr_rc write_out(struct conversion *c, pdr_str text, pdr_err *err)
{
    struct cli_output_file out;
    pdr_rc rc = PDR_OK;

    c->out_failed = true;
    c->bytes = text.len;
    CLI_TRY(cli_output_open(&out, c->cli, c->out_path, c->yes, err));
    rc = cli_output_write(text, err, &out);
    if (rc == PDR_OK)
        return cli_output_commit(&out, err);
    cli_output_abandon(&out);
done:
    return rc;
}

static pdr_rc convert_file(struct conversion *c, pdr_err *err)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    bool takes_one = false;
    size_t count = 0;
    pdr_rc rc = PDR_OK;

    CLI_TRY(ses_file_read(&c->file, c->cli, c->from.file, &c->from.how, false,
                          err));
    /* The format of OUT: said, told by its name, else that of IN. */
    if (!cli_form_of_name(&c->form, c->out_path, c->to))
        c->form = c->file.form;
    takes_one = is_state(c) || !cli_form_is_sequence(&c->form.format);
    count = is_state(c) ? ses_file_count(&c->file) : c->file.doc_count;
    if (takes_one && count == 0)
        CLI_TRY(pdr_err_set(err, PDR_EINVALID, "no_document",
                            "there is no session in it"));
    if (takes_one && count > 1 && is_state(c))
        CLI_TRY(pdr_err_set(err, PDR_EINVALID, "several_sessions",
                            "there are %zu sessions, and a state document has "
                            "the conversation of one",
                            count));
    if (takes_one && count > 1)
        CLI_TRY(pdr_err_set(err, PDR_EINVALID, "several_documents",
                            "there are %zu documents, and %s holds one", count,
                            c->form.format.name));
    CLI_TRY(write_docs(&text, c, err));
    if (c->strict && c->warnings > 0)
        CLI_TRY(pdr_err_set(err, PDR_EINVALID, "cannot_carry",
                            "--strict: %ju warning%s; nothing was written",
                            (uintmax_t)c->warnings,
                            c->warnings == 1 ? "" : "s"));
    CLI_TRY(write_out(c, pdr_buf_str(&text), err));
done:
    pdr_buf_dispose(&text);
    return rc;
}

static int fail_conversion(const struct conversion *c, const pdr_err *err)
{
    struct cli_about about = {.name = ses_out_name(c->out_path)};
    char name[320], room[SES_HINT_MAX];

    if (c->out_failed && c->exchange && err->code == PDR_EINVALID) {
        about.document = c->file.doc_count > 1 ? c->document : 0;
        about.hint = "--to json keeps it as it is";
    }
    if (c->out_failed)
        return cli_fail(c->cli, &about, err);
    about.name = ses_from_name(&c->from);
    about.input = pdr_buf_str(&c->file.text);
    if (c->sessions > 0 && is_many(c)) {
        snprintf(name, sizeof(name), "%.250s: session /%ju",
                 ses_from_name(&c->from), (uintmax_t)c->at);
        about.name = name;
    }
    about.hint = ses_hint(room, &c->from, c->file.wrong, err);
    if (strcmp(err->reason, "several_documents") == 0)
        about.hint = "choose a format for many, as in --to jsonl, or gather "
                     "them with 'perdure session export'";
    if (strcmp(err->reason, "several_sessions") == 0)
        about.hint = "import them into a store, and export the one that you "
                     "mean: 'perdure session export ID'";
    if (strcmp(err->reason, "cannot_carry") == 0)
        about.hint = "the report above says what the shape cannot hold";
    return cli_fail(c->cli, &about, err);
}

/* --- the command --------------------------------------------------------- */

static int run_convert(struct cli *cli, int argc, char **argv)
{
    struct conversion c = {.cli = cli,
                           .shape = CLI_NO_FORM,
                           .to = CLI_NO_FORM,
                           .file = SES_FILE_INIT,
                           .report = PDR_BUF_INIT(SIZE_MAX)};
    char to_help[CLI_LIST_MAX];
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;
    int status = 0;

    ses_from_init(&c.from);
    cli_form_list(to_help, sizeof(to_help), "OUT is ", 0, 0);
    const struct cli_opt opts[] = {
        CLI_ARG("IN", &c.from.file, "file with sessions; - is standard input"),
        CLI_ARG("OUT", &c.out_path, "file to write; - is standard output"),
        CLI_WORD('s', "shape", "SHAPE", &c.shape, shape_words,
                 "native, dotnet, python, python-1.21 or state"),
        CLI_WORD(0, "to", "FORMAT", &c.to, cli_form_words(), to_help),
        CLI_TEXT(0, "id", "ID", &c.id, "for a session that has no id"),
        CLI_TEXT(0, "provider-key", "KEY", &c.provider_key,
                 "slot for the provider state of old threads"),
        CLI_FLAG(0, "strict", &c.strict, "write nothing if something is lost"),
        CLI_FLAG(0, "pretty", &c.pretty, "a line for each element and member"),
        CLI_FLAG('y', "yes", &c.yes, "replace OUT if it exists"),
        DOC_READ_ROWS(&c.from.how),
    };
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    if (c.shape == CLI_NO_FORM)
        return doc_usage(cli, "--shape", "the shape is missing",
                         "'perdure convert' changes the format alone");
    if (is_state(&c) && c.id != NULL)
        return doc_usage(cli, "--id", "a state document has no id",
                         "'perdure session import --id ID' gives it one");
    if (cli_same_file(c.from.file, c.out_path))
        return doc_usage(cli, c.out_path, "is the very file that is read",
                         "name a new file; the old one stays as it was");
    if (cli_is_json(cli)) {
        cli_must(pdr_builder_new(&c.list, &err), &err);
        pdr_builder_array(c.list);
    }
    rc = convert_file(&c, &err);
    put_rest(&c);
    if (c.report.len > 0)
        cli_fprintf(stderr, "%.*s", (int)c.report.len, c.report.ptr);
    if (rc != PDR_OK)
        status = fail_conversion(&c, &err);
    else if (c.list != NULL)
        print_object(&c);
    else if (!cli->quiet)
        print_summary(&c);
    ses_file_free(&c.file);
    pdr_builder_free(c.list);
    pdr_buf_dispose(&c.report);
    return status;
}

const struct cli_command cli_cmd_session_convert = {
    .name = "session convert",
    .summary = "sessions in the shape of another program",
    .usage = "--shape SHAPE [OPTIONS] IN OUT",
    .run = run_convert};
