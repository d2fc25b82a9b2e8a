/*
 * perdure convert - the same documents in another format.
 *
 * WHY  What one program stores, another has to read. Values go through the
 *      codecs as they are: nothing is dropped, rounded or reordered on the way,
 *      and what a format cannot hold is refused with its place.
 *
 * SHAPE  One document at a time is taken from a walk and put into a writer, so
 *      memory holds the largest document and not the file:
 *
 *        IN --> walk --> value --> writer --> temporary file --> OUT
 *
 *      Whatever fails, OUT stays as it was (output.c).
 */
#include "cli.h"

/* One conversion. */
struct convert {
    const struct cli *cli;
    /* what was asked for */
    const char *in_path, *out_path;
    uint64_t from_word, to_word; /* places in cli_form_words(), CLI_NO_FORM */
    bool pretty, exchange, gather, spread, yes;
    struct cli_limits limits;
    /* what is there */
    struct cli_form from, to;
    struct cli_input in;
    struct cli_output_file out;
    /* what was done */
    uint64_t documents_in, documents_out;
    pdr_write_report lost; /* by --exchange */
    bool out_failed;       /* a failure is about OUT, else about IN */
};

static const char *out_name(const struct convert *c)
{
    return strcmp(c->out_path, "-") == 0 ? "standard output" : c->out_path;
}

static const char *plural(uint64_t number)
{
    return number == 1 ? "" : "s";
}

/* --- documents ----------------------------------------------------------- */

static pdr_rc put(struct convert *c, pdr_writer *writer, pdr_event event,
                  const pdr_value *value, pdr_err *err)
{
    pdr_rc rc = pdr_writer_put(writer, event, value, err);

    c->out_failed = rc != PDR_OK;
    return rc;
}

/* One more document for OUT: does it take one? */
static pdr_rc check_room(const struct convert *c, pdr_err *err)
{
    if (c->documents_out == 0 || cli_form_is_sequence(&c->to.format))
        return PDR_OK;
    return pdr_err_set(err, PDR_EINVALID, "several_documents",
                       "there is another document, and %s holds one",
                       c->to.format.name);
}

/* The value that the walk has come to, as a document or an element. */
static pdr_rc copy_value(struct convert *c, pdr_walk *walk, pdr_writer *writer,
                         pdr_err *err)
{
    pdr_value *value = NULL;
    pdr_rc rc = c->gather ? PDR_OK : check_room(c, err);

    if (rc == PDR_OK)
        rc = pdr_walk_take(&value, walk, err);
    if (rc == PDR_OK)
        rc = put(c, writer, PDR_SCALAR, value, err);
    if (rc == PDR_OK && !c->gather)
        c->documents_out++;
    pdr_value_free(value);
    return rc;
}

static pdr_rc copy_documents(struct convert *c, pdr_walk *walk,
                             pdr_writer *writer, pdr_err *err)
{
    for (;;) {
        pdr_event event = PDR_END_OF_INPUT;
        pdr_rc rc = pdr_walk_next(&event, walk, err);
        if (rc != PDR_OK || event == PDR_END_OF_INPUT)
            return rc;
        rc = copy_value(c, walk, writer, err);
        if (rc != PDR_OK)
            return rc;
        c->documents_in++;
    }
}

/* All documents as the elements of one. */
static pdr_rc gather(struct convert *c, pdr_walk *walk, pdr_writer *writer,
                     pdr_err *err)
{
    pdr_rc rc = put(c, writer, PDR_BEGIN_ARRAY, NULL, err);

    if (rc == PDR_OK)
        rc = copy_documents(c, walk, writer, err);
    if (rc == PDR_OK)
        rc = put(c, writer, PDR_END, NULL, err);
    c->documents_out += rc == PDR_OK;
    return rc;
}

static pdr_rc spread_elements(struct convert *c, pdr_walk *walk,
                              pdr_writer *writer, pdr_err *err)
{
    for (;;) {
        pdr_event event = PDR_END;
        pdr_rc rc = pdr_walk_next(&event, walk, err);
        if (rc != PDR_OK || event == PDR_END)
            return rc;
        rc = copy_value(c, walk, writer, err);
        if (rc != PDR_OK)
            return rc;
    }
}

/* The elements of the one document, each as a document. */
static pdr_rc spread(struct convert *c, pdr_walk *walk, pdr_writer *writer,
                     pdr_err *err)
{
    pdr_event event = PDR_END_OF_INPUT;
    pdr_rc rc = pdr_walk_next(&event, walk, err);

    if (rc != PDR_OK)
        return rc;
    if (event != PDR_BEGIN_ARRAY)
        return pdr_err_set(err, PDR_EINVALID, "not_an_array",
                           "--spread needs a document that is an array");
    rc = spread_elements(c, walk, writer, err);
    c->documents_in += rc == PDR_OK;
    if (rc == PDR_OK)
        rc = pdr_walk_next(&event, walk, err);
    if (rc == PDR_OK && event != PDR_END_OF_INPUT)
        rc = pdr_err_set(err, PDR_EINVALID, "several_documents",
                         "there is another document, and --spread takes one");
    return rc;
}

static pdr_rc copy(struct convert *c, pdr_walk *walk, pdr_writer *writer,
                   pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (c->gather)
        rc = gather(c, walk, writer, err);
    else if (c->spread)
        rc = spread(c, walk, writer, err);
    else
        rc = copy_documents(c, walk, writer, err);
    if (rc == PDR_OK && c->documents_out == 0 &&
        !cli_form_is_sequence(&c->to.format))
        rc = pdr_err_set(err, PDR_EINVALID, "no_document",
                         "there is no document, and %s holds one",
                         c->to.format.name);
    return rc;
}

/* --- from file to file --------------------------------------------------- */

static pdr_write_opts write_opts(struct convert *c)
{
    pdr_write_opts opts = {.flags = c->to.format.flags,
                           .layout = c->pretty ? PDR_PRETTY : PDR_COMPACT,
                           .report = &c->lost};

    if (c->limits.bare_tokens &&
        cli_form_can_write(&c->to.format, PDR_BARE_TOKENS))
        opts.flags |= PDR_BARE_TOKENS;
    if (c->exchange)
        opts.flags |= PDR_EXCHANGE;
    return opts;
}

static pdr_rc pump(struct convert *c, pdr_err *err)
{
    const pdr_read_opts reading =
        cli_form_walk_opts(&c->from.format, &c->limits);
    const pdr_write_opts writing = write_opts(c);
    pdr_walk *walk = NULL;
    pdr_writer *writer = NULL;
    pdr_rc rc = pdr_walk_new(&walk, c->from.format.codec, &reading, err,
                             cli_input_some, &c->in);

    if (rc == PDR_OK)
        rc = pdr_writer_new(&writer, c->to.format.codec, &writing, err,
                            cli_output_write, &c->out);
    if (rc == PDR_OK)
        rc = copy(c, walk, writer, err);
    if (rc == PDR_OK) {
        rc = pdr_writer_finish(writer, err);
        c->out_failed = rc != PDR_OK;
    }
    pdr_writer_free(writer);
    pdr_walk_free(walk);
    return rc;
}

static void say_guess(const struct convert *c)
{
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);

    if (c->from.by == CLI_BY_OPTION || c->cli->quiet || cli_is_json(c->cli))
        return;
    cli_show(&line, pdr_str_c(cli_input_name(c->in_path)), CLI_TEXT_LINE);
    cli_progress_wipe();
    cli_fprintf(stderr, "perdure: %.*s: %s (%s), %s\n", (int)line.len, line.ptr,
                cli_form_title(&c->from.format), c->from.format.name,
                cli_by_text(c->from.by));
    pdr_buf_dispose(&line);
}

static pdr_rc convert_open(struct convert *c, pdr_err *err)
{
    pdr_rc rc = cli_form_of_input(&c->from, &c->in, c->from_word, err);

    if (rc != PDR_OK)
        return rc;
    say_guess(c);
    c->out_failed = true;
    rc = cli_output_open(&c->out, c->cli, c->out_path, c->yes, err);
    if (rc != PDR_OK)
        return rc;
    c->out_failed = false;
    rc = pump(c, err);
    if (rc != PDR_OK) {
        cli_output_abandon(&c->out);
        return rc;
    }
    c->out_failed = true;
    return cli_output_commit(&c->out, err);
}

/* A hint if IN looks like another format than the one it is read as; else "".
 */
static void doubt(char *out, size_t cap, const struct convert *c)
{
    cli_form_doubt(out, cap, &c->from.format,
                   pdr_str_n(c->in.first, c->in.first_len),
                   c->in.bytes <= c->in.first_len);
}

/* --- what was done ------------------------------------------------------- */

static void put_documents(pdr_buf *out, const struct convert *c)
{
    char number[32];

    cli_putf(out, "%s document%s", cli_number(number, c->documents_in),
             plural(c->documents_in));
    if (c->documents_in != c->documents_out)
        cli_putf(out, " as %s", cli_number(number, c->documents_out));
}

static void print_summary(const struct convert *c)
{
    char number[32], hint[CLI_LIST_MAX] = "";
    pdr_buf name = PDR_BUF_INIT(SIZE_MAX), line = PDR_BUF_INIT(SIZE_MAX);

    cli_show(&name, pdr_str_c(out_name(c)), CLI_TEXT_LINE);
    cli_putf(&line, "perdure: %.*s: %s, ", (int)name.len, name.ptr,
             c->to.format.name);
    put_documents(&line, c);
    cli_putf(&line, ", %s in", cli_size(number, c->in.bytes));
    cli_fprintf(stderr, "%.*s, %s out\n", (int)line.len, line.ptr,
                cli_size(number, c->out.bytes));
    cli_tell_respelled(out_name(c), &c->lost);
    /* Any text is valid MessagePack, number by number. */
    if (c->from.by != CLI_BY_OPTION)
        doubt(hint, sizeof(hint), c);
    if (hint[0] != '\0')
        cli_fprintf(stderr, "%shint:%s %s\n",
                    cli_on(c->cli->color_err, CLI_CYAN),
                    cli_off(c->cli->color_err), hint);
    pdr_buf_dispose(&line);
    pdr_buf_dispose(&name);
}

static void add_side(pdr_builder *to, const char *name, const char *file,
                     const struct cli_form *form, uint64_t documents,
                     uint64_t bytes)
{
    pdr_builder_name(to, pdr_str_c(name));
    pdr_builder_object(to);
    cli_member_text(to, "file", pdr_str_c(file));
    cli_member_text(to, "format", pdr_str_c(form->format.name));
    cli_member_text(to, "formatBy", pdr_str_c(cli_by_slug(form->by)));
    cli_member_count(to, "documents", documents);
    cli_member_count(to, "bytes", bytes);
    pdr_builder_end(to);
}

static void print_report(const struct convert *c)
{
    bool is_file = strcmp(c->out_path, "-") != 0;
    pdr_builder *to = NULL;
    pdr_value *object = NULL;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    cli_must(pdr_builder_new(&to, &err), &err);
    pdr_builder_object(to);
    add_side(to, "in", cli_input_name(c->in_path), &c->from, c->documents_in,
             c->in.bytes);
    add_side(to, "out", out_name(c), &c->to, c->documents_out, c->out.bytes);
    if (c->exchange)
        cli_member_respelled(to, &c->lost);
    pdr_builder_end(to);
    cli_must(pdr_builder_finish(&object, to, &err), &err);
    cli_must(pdr_json_write(&text, object, NULL, &err), &err);
    /* Standard output may be taken by the documents. */
    cli_fprintf(is_file ? stdout : stderr, "%.*s\n", (int)text.len, text.ptr);
    pdr_buf_dispose(&text);
    pdr_value_free(object);
    pdr_builder_free(to);
}

/* --- failures ------------------------------------------------------------ */

/* A hint that depends on the formats at hand; "" if there is none. */
static void advise(char *out, size_t cap, const struct convert *c,
                   const char *reason)
{
    const char *many = cli_form_for_many(&c->from.format);

    out[0] = '\0';
    if (strcmp(reason, "several_documents") == 0)
        cli_form_list(out, cap,
                      c->spread ? "several documents fit into "
                                : "--gather makes one array of them; or write ",
                      PDR_SEQUENCE, 0);
    else if (strcmp(reason, "trailing_data") == 0 && many != NULL &&
             !cli_form_is_sequence(&c->from.format))
        snprintf(out, cap, "for several documents in one file say --from %s",
                 many);
    else if (strcmp(reason, "no_document") == 0)
        snprintf(out, cap, "%s",
                 c->spread ? "the array is empty"
                           : "--gather would make an empty array of it");
}

/* The number of the document in a sequence; 0 if it is not about one. */
static uint64_t document_of(const struct convert *c, const pdr_err *err)
{
    const struct cli_form *form = c->out_failed ? &c->to : &c->from;
    uint64_t done = c->out_failed ? c->documents_out : c->documents_in;

    if (form->format.codec == NULL || !cli_form_is_sequence(&form->format))
        return 0;
    return err->code == PDR_EINVALID || err->code == PDR_ELIMIT ? done + 1 : 0;
}

static int fail(const struct convert *c, pdr_err *err)
{
    char hint[240] = "";
    struct cli_about about = {
        .name = c->out_failed ? out_name(c) : cli_input_name(c->in_path),
        .document = document_of(c, err)};

    /* A stream that breaks has no place in a document. */
    if (err->code == PDR_EIO || err->code == PDR_ENOMEM) {
        err->path[0] = '\0';
        err->offset = -1;
    }
    if (!c->out_failed && err->code == PDR_EINVALID)
        doubt(hint, sizeof(hint), c);
    if (!c->out_failed && c->from.format.codec != NULL && hint[0] == '\0')
        advise(hint, sizeof(hint), c, err->reason);
    about.hint = hint;
    if (hint[0] == '\0')
        about.hint = cli_hint(err, pdr_str_n(c->in.first, c->in.first_len), 0);
    if (!c->out_failed)
        (void)cli_input_locate(&about.line, &about.column, &c->in, err->offset);
    return cli_fail(c->cli, &about, err);
}

static int convert(struct convert *c)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = cli_input_open(&c->in, c->cli, c->in_path, &err);

    int status = 0;

    if (rc == PDR_OK)
        rc = convert_open(c, &err);
    cli_progress_end(&c->in.progress);
    if (rc != PDR_OK)
        status = fail(c, &err);
    cli_input_close(&c->in);
    if (rc != PDR_OK)
        return status;
    if (cli_is_json(c->cli))
        print_report(c);
    else if (!c->cli->quiet)
        print_summary(c);
    return 0;
}

/* --- the command --------------------------------------------------------- */

static bool usage(struct cli_usage *bad, const char *what, const char *why)
{
    bad->reason = "bad_value";
    snprintf(bad->what, sizeof(bad->what), "%s", what);
    snprintf(bad->why, sizeof(bad->why), "%s", why);
    return false;
}

/* Do the options go together? Also finds the format of OUT. */
static bool check_options(struct cli_usage *bad, struct convert *c)
{
    memset(bad, 0, sizeof(*bad));
    if (!cli_form_of_name(&c->to, c->out_path, c->to_word)) {
        cli_form_list(bad->hint, sizeof(bad->hint), "say --to ", 0, 0);
        return usage(bad, out_name(c),
                     strcmp(c->out_path, "-") == 0
                         ? "it has no name that tells a format"
                         : "its name tells no format");
    }
    if (c->gather && c->spread)
        return usage(bad, "--gather", "does not go with --spread");
    if (c->pretty && cli_form_is_sequence(&c->to.format))
        return usage(bad, "--pretty",
                     "a format for several documents has one layout");
    if (c->exchange && !cli_form_can_write(&c->to.format, PDR_EXCHANGE)) {
        cli_form_list(bad->hint, sizeof(bad->hint), "it is for ", 0,
                      PDR_EXCHANGE);
        snprintf(bad->why, sizeof(bad->why), "%s has no use for it",
                 cli_form_title(&c->to.format));
        bad->reason = "bad_value";
        snprintf(bad->what, sizeof(bad->what), "--exchange");
        return false;
    }
    return true;
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct convert c = {
        .cli = cli, .from_word = CLI_NO_FORM, .to_word = CLI_NO_FORM};
    char from_help[CLI_LIST_MAX], to_help[CLI_LIST_MAX];
    struct cli_usage bad;
    const struct cli_opt opts[] = {
        CLI_ARG("IN", &c.in_path, "file to read; - is standard input"),
        CLI_ARG("OUT", &c.out_path, "file to write; - is standard output"),
        CLI_FROM(&c.from_word, from_help),
        CLI_WORD(0, "to", "FORMAT", &c.to_word, cli_form_words(), to_help),
        CLI_FLAG(0, "pretty", &c.pretty, "a line for each element and member"),
        CLI_FLAG(0, "exchange", &c.exchange,
                 "write for other programs: give up spellings"),
        CLI_FLAG(0, "gather", &c.gather, "all documents into one array"),
        CLI_FLAG(0, "spread", &c.spread, "each element of an array apart"),
        CLI_FLAG('y', "yes", &c.yes, "replace OUT if it exists"),
        CLI_READ_ROWS(&c.limits),
    };

    cli_form_list(from_help, sizeof(from_help), "IN is ", 0, 0);
    cli_form_list(to_help, sizeof(to_help), "OUT is to be ", 0, 0);
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    if (!check_options(&bad, &c))
        return cli_usage_fail(cli, &bad);
    return convert(&c);
}

const struct cli_command cli_cmd_convert = {
    .name = "convert",
    .summary = "the same documents in another format",
    .run = run};
