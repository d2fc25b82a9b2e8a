/*
 * perdure check - is it valid, and where not?
 *
 * WHY  A document that was cut off, pasted together or written by a program
 *      with its own idea of the format has to be found before it is stored,
 *      with the exact place. What is valid and yet not read alike by everybody
 *      (a name twice in one object, half a surrogate pair) is a warning.
 *
 * SHAPE  Each file gets one struct report. One that holds one document is read
 *      whole and becomes a value; a sequence is walked document by document, so
 *      that memory holds the largest document and not the file. Both end in
 *      conclude().
 *
 * PLACES  A line means something in a text only, and only a value that still
 *      has the bytes it was read from knows where it stands. Both are told by
 *      looking at the bytes, not by the name of a format.
 *
 * NOT HERE  Whether a document is a session: that is for the commands that know
 *      sessions.
 */
#include "cli.h"

#define DEFAULT_WARNINGS 20 /* a screen; more is only scrolled past */

/* What was asked for. */
struct check {
    const struct cli *cli;
    struct cli_limits limits;
    uint64_t from;         /* place in cli_form_words(), or CLI_NO_FORM */
    uint64_t max_warnings; /* shown per file; 0 is all */
    /* so far, over all files */
    size_t files;
    size_t invalid, unchecked, unread;
    uint64_t warnings;
    int status; /* the highest */
};

/* A place that is found from the last one, since findings come in order. */
struct place {
    pdr_str input;       /* borrowed */
    int64_t base;        /* offset of the first byte of `input` */
    int64_t offset;      /* of the last place */
    size_t line, column; /* of the last place */
};

/* What is known about one file. */
struct report {
    const struct check *check;
    const char *name;
    struct cli_input in;
    struct cli_form form;     /* no codec while it is not known */
    char doubt[CLI_LIST_MAX]; /* hint that it looks like another; "" if not */
    bool sequence;
    struct place place;
    bool has_line;      /* the place of the error is one in a text */
    int64_t origin;     /* offset of the document's first byte */
    pdr_builder *list;  /* owned; the warnings of JSON output, else NULL */
    uint64_t documents; /* of a sequence: begun so far */
    uint64_t document;  /* of a sequence: being looked at, from 1; else 0 */
    uint64_t values;
    size_t depth;
    uint64_t warnings;
};

/* Is it about the text? Else it could not be read. */
static bool is_verdict(pdr_rc rc)
{
    return rc == PDR_OK || rc == PDR_EINVALID || rc == PDR_ELIMIT;
}

/* Is it known whether the file is valid? Behind a limit nobody looked. */
static bool is_known(const struct report *r, pdr_rc rc)
{
    return rc == PDR_OK || (rc == PDR_EINVALID && r->form.format.codec != NULL);
}

/* The verdict in words. */
static void put_verdict(pdr_buf *out, const struct report *r, pdr_rc rc)
{
    if (is_known(r, rc))
        cli_putf(out, "%s %s", rc == PDR_OK ? "valid" : "not valid",
                 cli_form_title(&r->form.format));
    else
        cli_putf(out, "not checked: %s",
                 rc == PDR_ELIMIT ? "a limit was reached"
                                  : "its format is not known");
}

/* --- places -------------------------------------------------------------- */

static void place_begin(struct place *p, pdr_str input, int64_t base)
{
    *p = (struct place){input, base, base, 1, 1};
}

/* Move to `offset`. Going on from the last place keeps many findings in one
 * long file cheap; it is a character boundary, so columns add up. */
static void place_move(struct place *p, int64_t offset)
{
    size_t line = 0, column = 0;
    int64_t skip = p->offset - p->base;

    if (offset <= p->offset)
        return;
    pdr_err_locate(&line, &column,
                   pdr_str_n(p->input.ptr + skip, p->input.len - (size_t)skip),
                   offset - p->offset);
    p->column = line == 1 ? p->column + column - 1 : column;
    p->line += line - 1;
    p->offset = offset;
}

/* --- warnings ------------------------------------------------------------ */

static const char *finding_reason(const pdr_finding *finding)
{
    return finding->kind == PDR_FOUND_DUPLICATE ? "duplicate_name"
                                                : "lone_surrogate";
}

static const char *finding_text(const pdr_finding *finding)
{
    return finding->kind == PDR_FOUND_DUPLICATE
               ? "name occurs again in this object"
               : "half of a surrogate pair";
}

static void list_finding(struct report *r, const pdr_finding *finding,
                         bool placed)
{
    pdr_builder_object(r->list);
    cli_member_text(r->list, "reason", pdr_str_c(finding_reason(finding)));
    cli_member_text(r->list, "message", pdr_str_c(finding_text(finding)));
    if (r->sequence)
        cli_member_count(r->list, "document", r->document);
    cli_member_text(r->list, "pointer", finding->pointer);
    if (placed) {
        cli_member_count(r->list, "offset", (uint64_t)r->place.offset);
        cli_member_count(r->list, "line", r->place.line);
        cli_member_count(r->list, "column", r->place.column);
    }
    pdr_builder_end(r->list);
}

/* The beginning of a line about a place: "file:3:7: ". */
static void put_place(pdr_buf *out, const struct report *r, const char *color,
                      const char *kind, bool has_line)
{
    bool colored = r->check->cli->color_out;

    cli_put(out, cli_on(colored, CLI_BOLD));
    cli_show(out, pdr_str_c(r->name), CLI_TEXT_LINE);
    if (has_line)
        cli_putf(out, ":%zu:%zu", r->place.line, r->place.column);
    cli_putf(out, ":%s %s%s:%s ", cli_off(colored), cli_on(colored, color),
             kind, cli_off(colored));
}

/* The same place in other words: "document 3, byte 17, /a/0". `path` is fit to
 * be shown, an offset of -1 not known. Nothing if there is nothing to say. */
static void put_position(pdr_buf *out, const struct report *r, int64_t offset,
                         pdr_str path)
{
    const char *gap = "    ";

    if (r->document > 0) {
        cli_putf(out, "%sdocument %ju", gap, (uintmax_t)r->document);
        gap = ", ";
    }
    if (offset >= 0) {
        cli_putf(out, "%sbyte %jd", gap, (intmax_t)offset);
        gap = ", ";
    }
    if (path.len > 0)
        cli_putf(out, "%s%.*s", gap, (int)path.len, path.ptr);
    if (r->document > 0 || offset >= 0 || path.len > 0)
        cli_put(out, "\n");
}

static void print_finding(const struct report *r, const pdr_finding *finding,
                          bool placed)
{
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX), path = PDR_BUF_INIT(SIZE_MAX);

    put_place(&line, r, CLI_YELLOW, "warning", placed);
    cli_putf(&line, "%s [%s]\n", finding_text(finding),
             finding_reason(finding));
    cli_show(&path, finding->pointer, CLI_TEXT_JSON);
    put_position(&line, r, placed ? r->place.offset : -1, pdr_buf_str(&path));
    cli_progress_wipe(); /* of a sequence it may stand on the same terminal */
    fwrite(line.ptr, 1, line.len, stdout);
    pdr_buf_dispose(&path);
    pdr_buf_dispose(&line);
}

/* Move the place to a value of the document. False if that does not stand in
 * the input as it is, because it was built from something else. */
static bool place_value(struct report *r, const pdr_value *value)
{
    int64_t offset = r->origin + pdr_value_offset(value);
    int64_t at = offset - r->place.base;
    pdr_str raw = {NULL, 0}, input = r->place.input;

    if (at < 0 || (uint64_t)at > input.len || !pdr_value_raw(&raw, value) ||
        raw.len > input.len - (size_t)at ||
        memcmp(input.ptr + at, raw.ptr, raw.len) != 0)
        return false;
    place_move(&r->place, offset);
    return true;
}

static pdr_rc on_finding(const pdr_finding *finding, pdr_err *err, void *arg)
{
    struct report *r = arg;
    uint64_t max = r->check->max_warnings;

    (void)err;
    r->warnings++;
    if (max != 0 && r->warnings > max)
        return PDR_OK;
    bool placed = place_value(r, finding->value);
    if (r->list != NULL)
        list_finding(r, finding, placed);
    else if (r->check->cli->output == CLI_OUTPUT_TABLE)
        print_finding(r, finding, placed);
    return PDR_OK;
}

/* --- sizes --------------------------------------------------------------- */

/* Values below and including `value`, and the deepest level. Recursion ends at
 * the depth that reading allows, 1,024. */
static void measure(struct report *r, const pdr_value *value, size_t level)
{
    pdr_iter it;

    r->values++;
    if (pdr_value_kind(value) < PDR_ARRAY)
        return;
    if (level > r->depth)
        r->depth = level;
    pdr_iter_init(&it, value);
    while (pdr_iter_next(&it))
        measure(r, it.value, level + 1);
}

static pdr_rc inspect(struct report *r, const pdr_value *value, pdr_err *err)
{
    measure(r, value, 1);
    return pdr_value_inspect(value, err, on_finding, r);
}

/* --- a file as one document ---------------------------------------------- */

static pdr_rc check_whole(struct report *r, pdr_buf *text, pdr_err *err)
{
    const struct cli_limits *limits = &r->check->limits;
    pdr_read_opts opts = cli_form_read_opts(&r->form.format, limits);
    pdr_value *value = NULL;
    pdr_rc rc = cli_input_rest(text, &r->in, limits, err);

    cli_progress_end(&r->in.progress);
    place_begin(&r->place, pdr_buf_str(text), 0);
    if (rc == PDR_OK)
        rc = pdr_codec_read(&value, r->form.format.codec, pdr_buf_str(text),
                            &opts, err);
    if (rc == PDR_OK)
        rc = inspect(r, value, err);
    pdr_value_free(value);
    return rc;
}

/* --- a file as a sequence ------------------------------------------------ */

/*
 * The walk asks for bytes. `text` keeps them from the document in progress on,
 * so that an error can be placed and shown:
 *
 *     stream   ....................................
 *     text               |------------------------|
 *                      base    ^ begin
 *
 * S1  The report's place is never before `base`.
 * S2  With -o raw everything is kept, to be passed on once it is valid.
 */
struct stream {
    struct report *report;
    pdr_buf *text; /* borrowed */
    int64_t base;  /* offset in the stream of the first byte of `text` */
    size_t begin;  /* in `text`: what lies before is not needed any more */
    bool is_text;  /* the last document stood in the stream as JSON text */
};

/* Move the report's place; `text` may have moved in memory since. */
static void stream_place(struct stream *s, int64_t offset)
{
    s->report->place.input = pdr_buf_str(s->text);
    s->report->place.base = s->base;
    place_move(&s->report->place, offset);
}

/* White space at the front of `text`. A CR at the very end does not count yet:
 * a place between it and its LF would count the line twice. */
static bool is_space(pdr_str text)
{
    if (text.len == 0)
        return false;
    if (text.ptr[0] == '\r')
        return text.len > 1;
    return text.ptr[0] == ' ' || text.ptr[0] == '\t' || text.ptr[0] == '\n';
}

/* Forget what is not needed. White space behind a text is not, however much
 * there is. Moving once per read, not once per document, keeps it linear. */
static void stream_drop(struct stream *s)
{
    pdr_buf *text = s->text;

    if (s->report->check->cli->output == CLI_OUTPUT_RAW)
        return; /* S2 */
    while (s->is_text &&
           is_space(pdr_str_n(text->ptr + s->begin, text->len - s->begin)))
        s->begin++;
    if (s->begin == 0 || s->begin < text->len / 2)
        return;
    stream_place(s, s->base + (int64_t)s->begin); /* S1 */
    text->len -= s->begin;
    memmove(text->ptr, text->ptr + s->begin, text->len);
    s->base += (int64_t)s->begin;
    s->begin = 0;
}

static pdr_rc on_read(size_t *got, void *into, size_t cap, pdr_err *err,
                      void *arg)
{
    struct stream *s = arg;
    pdr_rc rc = cli_input_some(got, into, cap, err, &s->report->in);

    if (rc != PDR_OK)
        return rc;
    if (s->text->len > 0)
        stream_drop(s);
    return pdr_buf_append(s->text, pdr_str_n(into, *got), err);
}

/* Behind the document that begins at `begin`, if its own text shows where that
 * is; else it stays until the next one begins. */
static void stream_pass(struct stream *s, const pdr_value *value)
{
    pdr_str raw = {NULL, 0};
    const char *at = s->text->ptr + s->begin;

    s->is_text = pdr_value_raw(&raw, value) &&
                 raw.len <= s->text->len - s->begin &&
                 memcmp(at, raw.ptr, raw.len) == 0;
    if (s->is_text)
        s->begin += raw.len;
}

/* The document that the walk has come to. */
static pdr_rc check_document(struct stream *s, pdr_walk *walk, pdr_err *err)
{
    struct report *r = s->report;
    int64_t offset = pdr_walk_offset(walk);
    pdr_value *value = NULL;
    pdr_rc rc = PDR_OK;

    r->documents++;
    if (offset > s->base)
        s->begin = (size_t)(offset - s->base);
    s->is_text = false;
    rc = pdr_walk_take(&value, walk, err);
    if (rc != PDR_OK)
        return rc;
    stream_place(s, offset);
    r->origin = offset - pdr_value_offset(value);
    rc = inspect(r, value, err);
    stream_pass(s, value);
    pdr_value_free(value);
    return rc;
}

static pdr_rc walk_all(struct stream *s, pdr_walk *walk, pdr_err *err)
{
    for (;;) {
        pdr_event event = PDR_END_OF_INPUT;
        s->report->document = s->report->documents + 1;
        pdr_rc rc = pdr_walk_next(&event, walk, err);
        if (rc == PDR_OK && event != PDR_END_OF_INPUT)
            rc = check_document(s, walk, err);
        if (rc != PDR_OK || event == PDR_END_OF_INPUT)
            return rc;
    }
}

static pdr_rc check_sequence(struct report *r, pdr_buf *text, pdr_err *err)
{
    struct stream s = {.report = r, .text = text};
    const pdr_format *format = &r->form.format;
    pdr_read_opts opts = cli_form_walk_opts(format, &r->check->limits);
    pdr_walk *walk = NULL;
    pdr_rc rc = pdr_walk_new(&walk, format->codec, &opts, err, on_read, &s);

    place_begin(&r->place, pdr_str_n(NULL, 0), 0);
    if (rc == PDR_OK)
        rc = walk_all(&s, walk, err);
    cli_progress_end(&r->in.progress);
    stream_place(&s, r->place.offset);
    pdr_walk_free(walk);
    return rc;
}

/* --- verdicts as lines --------------------------------------------------- */

static void print_excerpt(const struct report *r)
{
    const struct cli *cli = r->check->cli;
    size_t at = (size_t)(r->place.offset - r->place.base);
    size_t cells = cli->tty_out && cli->width > 40 ? cli->width - 12 : 68;
    bool colored = cli->color_out;
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);
    size_t caret = cli_excerpt(&line, r->place.input, at, cells);

    printf("%s%6zu |%s %.*s\n%s       |%s %*s%s^%s\n", cli_on(colored, CLI_DIM),
           r->place.line, cli_off(colored), (int)line.len, line.ptr,
           cli_on(colored, CLI_DIM), cli_off(colored), (int)caret, "",
           cli_on(colored, CLI_RED), cli_off(colored));
    pdr_buf_dispose(&line);
}

/* What to do. Read as the wrong format, nothing else helps. */
static const char *hint_for(const struct report *r, const pdr_err *err)
{
    return err->code == PDR_EINVALID && r->doubt[0] != '\0'
               ? r->doubt
               : cli_hint(err, r->place.input, r->place.base);
}

static void print_hint(const struct report *r, const char *hint)
{
    bool colored = r->check->cli->color_out;

    if (hint[0] != '\0' && !r->check->cli->quiet)
        printf("    %shint:%s %s\n", cli_on(colored, CLI_CYAN),
               cli_off(colored), hint);
}

/* The place in other words, and what to do. */
static void print_advice(const struct report *r, const pdr_err *err)
{
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);

    put_position(&line, r, err->offset, pdr_str_c(err->path));
    cli_fprintf(stdout, "%.*s", (int)line.len, line.ptr);
    pdr_buf_dispose(&line);
    print_hint(r, hint_for(r, err));
}

static const char *message_of(const struct report *r, const pdr_err *err)
{
    return r->has_line ? cli_message(err, r->place.line, r->place.column)
                       : err->message;
}

static void print_invalid(const struct report *r, const pdr_err *err)
{
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);

    put_place(&line, r, CLI_RED, "error", r->has_line);
    cli_show(&line, pdr_str_c(message_of(r, err)), CLI_TEXT_LINE);
    printf("%.*s [%s]\n", (int)line.len, line.ptr, err->reason);
    if (r->has_line)
        print_excerpt(r);
    print_advice(r, err);
    pdr_buf_dispose(&line);
}

static const char *plural(uint64_t number)
{
    return number == 1 ? "" : "s";
}

static void print_summary(const struct report *r, pdr_rc rc)
{
    const struct check *c = r->check;
    bool valid = rc == PDR_OK;
    bool colored = c->cli->color_out;
    char number[32];
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);

    cli_show(&line, pdr_str_c(r->name), CLI_TEXT_LINE);
    cli_putf(&line, ": %s", cli_on(colored, valid ? CLI_GREEN : CLI_RED));
    put_verdict(&line, r, rc);
    cli_put(&line, cli_off(colored));
    if (r->sequence && !valid && r->document > 1)
        cli_putf(&line, " behind %s valid document%s",
                 cli_number(number, r->document - 1), plural(r->document - 1));
    if (r->sequence && valid)
        cli_putf(&line, ", %s document%s", cli_number(number, r->documents),
                 plural(r->documents));
    if (valid) {
        cli_putf(&line, ", %s", cli_size(number, r->in.bytes));
        cli_putf(&line, ", %s value%s", cli_number(number, r->values),
                 plural(r->values));
        cli_putf(&line, ", %s level%s deep", cli_number(number, r->depth),
                 plural(r->depth));
    }
    if (r->warnings > 0)
        cli_putf(&line, ", %s%s warning%s%s", cli_on(colored, CLI_YELLOW),
                 cli_number(number, r->warnings), plural(r->warnings),
                 cli_off(colored));
    if (c->max_warnings != 0 && r->warnings > c->max_warnings)
        cli_putf(&line, " (%s shown)", cli_number(number, c->max_warnings));
    printf("%.*s\n", (int)line.len, line.ptr);
    pdr_buf_dispose(&line);
}

/* --- verdicts as JSON ---------------------------------------------------- */

static void add_error(pdr_builder *to, const struct report *r,
                      const pdr_err *err)
{
    const struct cli_place place = {err->path, r->document, err->offset,
                                    r->has_line ? r->place.line : 0,
                                    r->place.column};
    const char *hint = hint_for(r, err);

    pdr_builder_name(to, pdr_str_c("error"));
    pdr_builder_object(to);
    cli_member_text(to, "code", pdr_str_c(pdr_rc_name(err->code)));
    cli_member_text(to, "reason", pdr_str_c(err->reason));
    cli_member_text(to, "message", pdr_str_c(message_of(r, err)));
    if (err->offset >= 0 || err->path[0] != '\0')
        cli_member_place(to, &place);
    if (hint[0] != '\0')
        cli_member_text(to, "hint", pdr_str_c(hint));
    pdr_builder_end(to);
}

/* Valid, and yet hardly what it was meant to be? Who said the format knows. */
static bool has_doubt(const struct report *r)
{
    return r->form.by != CLI_BY_OPTION && r->doubt[0] != '\0';
}

static void add_sizes(pdr_builder *to, const struct report *r)
{
    cli_member_count(to, "bytes", r->in.bytes);
    if (r->sequence)
        cli_member_count(to, "documents", r->documents);
    cli_member_count(to, "values", r->values);
    cli_member_count(to, "depth", r->depth);
}

static void print_object(struct report *r, pdr_rc rc, const pdr_err *err)
{
    pdr_builder *to = NULL;
    pdr_value *list = NULL, *object = NULL;
    pdr_err bug = PDR_ERR_INIT;

    pdr_builder_end(r->list);
    cli_must(pdr_builder_finish(&list, r->list, &bug), &bug);
    cli_must(pdr_builder_new(&to, &bug), &bug);
    pdr_builder_object(to);
    cli_member_text(to, "file", pdr_str_c(r->name));
    if (r->form.format.codec != NULL)
        cli_member_text(to, "format", pdr_str_c(r->form.format.name));
    pdr_builder_name(to, pdr_str_c("valid"));
    if (is_known(r, rc))
        pdr_builder_bool(to, rc == PDR_OK);
    else
        pdr_builder_null(to); /* nobody knows */
    if (rc == PDR_OK)
        add_sizes(to, r);
    else
        add_error(to, r, err);
    if (rc == PDR_OK && has_doubt(r))
        cli_member_text(to, "hint", pdr_str_c(r->doubt));
    cli_member_count(to, "warningCount", r->warnings);
    pdr_builder_name(to, pdr_str_c("warnings"));
    pdr_builder_value(to, list);
    pdr_builder_end(to);
    cli_must(pdr_builder_finish(&object, to, &bug), &bug);
    cli_print_json(r->check->cli, object);
    pdr_value_free(object);
    pdr_value_free(list);
    pdr_builder_free(to);
}

/* --- one file ------------------------------------------------------------ */

/* The verdict as readable lines. Only what was read has one. */
static void print_verdict(const struct report *r, pdr_rc rc, const pdr_err *err)
{
    const struct cli *cli = r->check->cli;

    if (cli->output != CLI_OUTPUT_TABLE || !is_verdict(rc))
        return;
    if (rc != PDR_OK)
        print_invalid(r, err);
    if (!cli->quiet)
        print_summary(r, rc);
    if (rc == PDR_OK && has_doubt(r))
        print_hint(r, r->doubt);
}

/* Is what stands before the offset a text? */
static bool has_text(const struct report *r, int64_t offset)
{
    return cli_is_text(pdr_str_n(r->in.first, r->in.first_len), offset);
}

static void conclude(struct check *c, struct report *r, pdr_rc rc,
                     const pdr_err *err)
{
    const struct cli *cli = c->cli;
    bool refused = is_verdict(rc) && rc != PDR_OK;
    int status = pdr_rc_exit_status(rc);

    r->has_line = refused && err->offset >= 0 && has_text(r, err->offset);
    if (r->has_line)
        place_move(&r->place, err->offset);
    if (cli->output == CLI_OUTPUT_JSON)
        fputs(c->files > 0 ? ",\n" : "{\"files\":[\n", stdout);
    if (cli_is_json(cli))
        print_object(r, rc, err);
    if (cli->output == CLI_OUTPUT_JSONL)
        puts("");
    print_verdict(r, rc, err);
    /* A verdict is data, a file that cannot be read is a failure. */
    if (rc != PDR_OK && (!refused || cli->output == CLI_OUTPUT_RAW)) {
        const struct cli_about about = {
            .name = r->name, .input = r->place.input, .document = r->document};
        fflush(stdout); /* keep the order on a terminal */
        cli_fail(cli, &about, err);
    }
    c->files++;
    c->invalid += refused && is_known(r, rc);
    c->unchecked += refused && !is_known(r, rc);
    c->unread += !is_verdict(rc);
    c->warnings += r->warnings;
    c->status = status > c->status ? status : c->status;
}

static pdr_rc check_input(struct report *r, pdr_buf *text, pdr_err *err)
{
    const struct check *c = r->check;
    pdr_rc rc = cli_form_of_input(&r->form, &r->in, c->from, err);

    if (rc != PDR_OK) {
        place_begin(&r->place, pdr_str_n(r->in.first, r->in.first_len), 0);
        return rc;
    }
    r->sequence = cli_form_is_sequence(&r->form.format);
    rc = r->sequence ? check_sequence(r, text, err) : check_whole(r, text, err);
    cli_form_doubt(r->doubt, sizeof(r->doubt), &r->form.format,
                   pdr_str_n(r->in.first, r->in.first_len),
                   r->in.bytes <= r->in.first_len);
    if (rc == PDR_OK && c->cli->output == CLI_OUTPUT_RAW)
        cli_print(c->cli, pdr_buf_str(text));
    return rc;
}

static void check_file(struct check *c, const char *path)
{
    struct report r = {.check = c, .name = cli_input_name(path)};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (cli_is_json(c->cli)) {
        cli_must(pdr_builder_new(&r.list, &err), &err);
        pdr_builder_array(r.list);
    }
    rc = cli_input_open(&r.in, c->cli, path, &err);
    if (rc == PDR_OK) {
        rc = check_input(&r, &text, &err);
        cli_input_close(&r.in);
    }
    conclude(c, &r, rc, &err);
    pdr_builder_free(r.list);
    pdr_buf_dispose(&text);
}

/* --- the command --------------------------------------------------------- */

static void print_totals(const struct check *c)
{
    size_t valid = c->files - c->invalid - c->unchecked - c->unread;

    if (c->cli->output == CLI_OUTPUT_JSON)
        printf("\n],\"valid\":%zu,\"invalid\":%zu,\"unchecked\":%zu,"
               "\"unread\":%zu,\"warningCount\":%ju,\"exit\":%d}\n",
               valid, c->invalid, c->unchecked, c->unread,
               (uintmax_t)c->warnings, c->status);
    if (c->cli->output != CLI_OUTPUT_TABLE || c->files < 2 || c->cli->quiet)
        return;
    printf("%zu files: %zu valid, %zu not valid", c->files, valid, c->invalid);
    if (c->unchecked > 0)
        printf(", %zu not checked", c->unchecked);
    if (c->unread > 0)
        printf(", %zu not read", c->unread);
    puts("");
}

/* --lines is short for one form. False if the two options disagree. */
static bool apply_lines(struct check *c)
{
    const char *const *words = cli_form_words();
    uint64_t said = c->from;

    for (c->from = 0; words[c->from] != NULL; c->from++)
        if (strcmp(words[c->from], cli_lines_form()) == 0)
            return said == CLI_NO_FORM || said == c->from;
    return false;
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct check c = {
        .cli = cli, .from = CLI_NO_FORM, .max_warnings = DEFAULT_WARNINGS};
    struct cli_args files = {NULL, 0};
    bool lines = false;
    char from_help[CLI_LIST_MAX];
    const struct cli_opt opts[] = {
        CLI_ARGS("FILE", &files, "file to check; - is standard input"),
        CLI_FROM(&c.from, from_help),
        CLI_FLAG('l', "lines", &lines,
                 "many documents, one after another (JSON Lines)"),
        CLI_U64(0, "max-warnings", "N", &c.max_warnings, 0, UINT32_MAX,
                "warnings to show for a file, 0 for all (default 20)"),
        CLI_READ_ROWS(&c.limits),
    };
    const struct cli_usage both = {"bad_value", "--lines",
                                   "does not go with this --from", ""};

    cli_form_list(from_help, sizeof(from_help), "the files are ", 0, 0);
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    if (lines && !apply_lines(&c))
        return cli_usage_fail(cli, &both);
    for (size_t i = 0; i < files.count; i++)
        check_file(&c, files.items[i]);
    print_totals(&c);
    return c.status;
}

const struct cli_command cli_cmd_check = {
    .name = "check", .summary = "is it valid, and where not?", .run = run};
