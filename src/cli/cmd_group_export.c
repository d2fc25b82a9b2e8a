/*
 * perdure group export - a chat of a store as a file, in the form of its
 * reader.
 *
 * What the form has no place for is told; with --strict nothing is written
 * then.
 */
#include "group_parts.h"

#define MOST_TOLD 10 /* losses; a long chat has one for each message */

struct export
{
    struct grp g;
    const char *out_path;
    uint64_t form; /* a pdr_chat_form */
    bool is_encoded, is_strict, yes;
    struct cli_output_file out;
    pdr_builder *findings; /* of JSON output; an array */
    uint64_t losses;
    bool out_failed;
};

/* A pdr_doc_finding_fn. */
static pdr_rc on_loss(const pdr_doc_finding *f, pdr_err *err, void *arg)
{
    struct export *e = arg;
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);
    bool colored = e->g.cli->color_err;

    (void)err;
    e->losses++;
    if (e->findings != NULL) {
        pdr_builder_object(e->findings);
        cli_member_text(e->findings, "rule", pdr_str_c(f->rule));
        cli_member_text(e->findings, "pointer", f->pointer);
        cli_member_text(e->findings, "text", f->text);
        pdr_builder_end(e->findings);
    } else if (e->losses <= MOST_TOLD) {
        cli_show(&line, f->pointer, CLI_TEXT_JSON);
        cli_put(&line, ": ");
        cli_show(&line, f->text, CLI_TEXT_LINE);
        cli_fprintf(stderr, "%s%s:%s %.*s [%s]\n", cli_on(colored, CLI_YELLOW),
                    pdr_severity_name(f->severity), cli_off(colored),
                    (int)line.len, line.ptr, f->rule);
    }
    pdr_buf_dispose(&line);
    return PDR_OK;
}

/* A pdr_write_fn. */
static pdr_rc write_out(pdr_str bytes, pdr_err *err, void *arg)
{
    struct export *e = arg;
    pdr_rc rc = cli_output_write(bytes, err, &e->out);

    e->out_failed = rc != PDR_OK;
    return rc;
}

static pdr_rc export_chat(struct export *e, pdr_err *err)
{
    pdr_chat_save_opts opts = {.form = (pdr_chat_form)e->form,
                               .is_encoded = e->is_encoded,
                               .is_strict = e->is_strict,
                               .fn = on_loss,
                               .arg = e};
    pdr_rc rc = PDR_OK;

    if (e->g.key_args.count > 0)
        opts.key = e->g.keys[0];
    CLI_TRY(grp_load(&e->g, err));
    rc = cli_output_open(&e->out, e->g.cli, e->out_path, e->yes, err);
    e->out_failed = rc != PDR_OK;
    if (rc != PDR_OK)
        goto done;
    rc = pdr_chat_state_save(e->g.state, &opts, err, write_out, e);
    if (rc == PDR_OK) {
        rc = cli_output_commit(&e->out, err);
        e->out_failed = rc != PDR_OK;
    } else {
        cli_output_abandon(&e->out);
    }
done:
    return rc;
}

static void print_summary(const struct export *e)
{
    pdr_buf name = PDR_BUF_INIT(SIZE_MAX);
    uint64_t count = pdr_chat_state_message_count(e->g.state);
    char digits[32], size[32];

    cli_show(&name, pdr_str_c(ses_out_name(e->out_path)), CLI_TEXT_LINE);
    cli_fprintf(stderr, "perdure: %.*s: %s, %s message%s, %s", (int)name.len,
                name.ptr, grp_form_words[e->form], cli_number(digits, count),
                count == 1 ? "" : "s", cli_size(size, e->out.bytes));
    if (e->losses > 0)
        fprintf(stderr, ", %s warning%s", cli_number(digits, e->losses),
                e->losses == 1 ? "" : "s");
    fputs("\n", stderr);
    pdr_buf_dispose(&name);
}

static void print_object(struct export *e)
{
    bool is_file = strcmp(e->out_path, "-") != 0;
    pdr_builder *to = ses_object_new();
    pdr_value *list = NULL;
    pdr_err err = PDR_ERR_INIT;

    pdr_builder_end(e->findings);
    cli_must(pdr_builder_finish(&list, e->findings, &err), &err);
    cli_member_text(to, "store", pdr_str_c(sto_name(&e->g.from)));
    cli_member_text(to, "session", pdr_str_c(e->g.id));
    cli_member_text(to, "out", pdr_str_c(ses_out_name(e->out_path)));
    cli_member_text(to, "form", pdr_str_c(grp_form_words[e->form]));
    cli_member_count(to, "messages", pdr_chat_state_message_count(e->g.state));
    cli_member_count(to, "bytes", e->out.bytes);
    cli_member_count(to, "warnings", e->losses);
    pdr_builder_name(to, pdr_str_c("findings"));
    pdr_builder_value(to, list);
    ses_object_print(e->g.cli, is_file ? stdout : stderr, to);
    pdr_value_free(list);
}

static int check_arguments(struct export *e)
{
    struct cli *cli = e->g.cli;

    if (e->form != PDR_CHAT_NATIVE && e->is_encoded)
        return doc_usage(cli, "--encoded", "is for --form native",
                         "--form encoded is a form of its own");
    if (e->form != PDR_CHAT_NATIVE && e->g.key_args.count > 0)
        return doc_usage(cli, "--key-file", "is for --form native",
                         "the other forms have no MAC");
    if (e->g.key_args.count > 1)
        return doc_usage(cli, "--key-file", "a file has one MAC",
                         "write it once");
    return ses_store_check(cli, &e->g.from);
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct export e = {.g.cli = cli, .out_path = "-"};
    struct cli_about about = {.name = NULL};
    pdr_err err = PDR_ERR_INIT;
    int status = 0;

    const struct cli_opt opts[] = {
        CLI_ARG("ID", &e.g.id, "session of the chat"),
        CLI_MAY("OUT", &e.out_path, "file to write; - is standard output"),
        CLI_WORD('f', "form", "FORM", &e.form, grp_form_words,
                 "native, sk, plain or encoded (default native)"),
        CLI_FLAG(0, "encoded", &e.is_encoded,
                 "native: history and states in base64"),
        CLI_FLAG(0, "strict", &e.is_strict,
                 "write nothing if anything is lost"),
        CLI_LIST(0, "key-file", "ID=FILE", &e.g.key_args,
                 "native: sign it with this key, called ID"),
        CLI_FLAG('y', "yes", &e.yes, "replace OUT if it exists"),
        SES_STORE_ROWS(&e.g.from),
    };
    if (cli_parse(cli, opts, CLI_COUNT(opts), argc, argv)) {
        about.name = ses_out_name(e.out_path);
        status = check_arguments(&e);
        if (status == 0)
            status = grp_keys_read(&e.g);
        if (cli_is_json(cli)) {
            cli_must(pdr_builder_new(&e.findings, &err), &err);
            pdr_builder_array(e.findings);
        }
        if (status == 0 && export_chat(&e, &err) != PDR_OK)
            status = grp_fail(&e.g, e.out_failed ? &about : NULL, &err);
        else if (status == 0 && e.findings != NULL)
            print_object(&e);
        else if (status == 0 && !cli->quiet)
            print_summary(&e);
    } else {
        status = cli->status;
    }
    pdr_builder_free(e.findings);
    grp_free(&e.g);
    return status;
}

const struct cli_command cli_cmd_group_export = {
    .name = "group export",
    .summary = "a chat as a file, for perdure or for Semantic Kernel",
    .usage = "[OPTIONS] [--store URI] ID [OUT]",
    .run = run};
