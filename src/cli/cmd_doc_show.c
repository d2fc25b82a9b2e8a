/*
 * perdure doc show - a conversation that a person wants to read.
 *
 * WHY  The document is made for programs: a question, the calls that it took
 *      and the answer stand far apart, between ids and escapes. Here a turn is
 *      told as it went: who said what and when, each tool call with what came
 *      of it, what it cost. What nobody knows is marked, not left out.
 *
 *      turns (doc_turns.c) --+--> here, for people --> pager or output
 *                            +--> doc_project.c, for programs
 *
 * All text of a document goes through cli_wrap() or cli_show(): no control
 * character of it reaches a terminal.
 */
#include "doc_parts.h"

#define MAX_WIDTH   ((size_t)120) /* longer lines are hard to read */
#define MIN_WIDTH   ((size_t)24)
#define INDENT      ((size_t)4)
#define SHORT_LINES 6 /* of arguments, results and foreign parts */

struct show {
    const struct cli *cli;
    FILE *out;
    size_t width;
    bool colored, full;
    const struct doc_turns *turns;
    struct doc_results results; /* of the turn in progress */
    char day[32];    /* its date and time, as doc_time() gives them; or "" */
    pdr_buf line;    /* scratch */
    pdr_buf scratch; /* scratch of values */
};

/* --- lines --------------------------------------------------------------- */

static const char *sign(const struct show *s, const char *utf8,
                        const char *ascii)
{
    return s->cli->utf8 ? utf8 : ascii;
}

static void put_line(struct show *s, const char *color, size_t indent,
                     const char *lead)
{
    fprintf(s->out, "%*s%s%s", (int)indent, "", cli_on(s->colored, color),
            lead);
    if (s->line.len > 0)
        fwrite(s->line.ptr, 1, s->line.len, s->out);
    fprintf(s->out, "%s\n", cli_off(s->colored));
}

/* A text in lines, `lead` (ours) in front of the first. At most `max` of them,
 * 0 for all. */
static void put_text(struct show *s, const char *color, const char *lead,
                     pdr_str text, size_t max)
{
    size_t indent = INDENT + cli_cells(pdr_str_c(lead), CLI_TEXT_LINE);
    size_t room = s->width > indent + MIN_WIDTH ? s->width - indent : MIN_WIDTH;
    size_t at = 0, lines = 0;
    char size[32];

    do {
        pdr_buf_clear(&s->line);
        at = cli_wrap(&s->line, text, at, room);
        if (lines++ == 0)
            put_line(s, color, INDENT, lead);
        else
            put_line(s, color, s->line.len > 0 ? indent : 0, "");
    } while (at < text.len && (max == 0 || lines < max));
    if (at == text.len)
        return;
    pdr_buf_clear(&s->line);
    cli_putf(&s->line, "(%s more; --full shows it)",
             cli_size(size, text.len - at));
    put_line(s, CLI_DIM, indent, "");
}

/* What is in `line`, which is ours or was made fit to be shown, in as many
 * lines as it takes. */
static void put_flow(struct show *s, const char *color, size_t indent)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

    cli_flow(&text, pdr_buf_str(&s->line), indent, indent, s->width);
    if (text.len > 0)
        fprintf(s->out, "%*s%s%.*s%s\n", (int)indent, "",
                cli_on(s->colored, color), (int)text.len, text.ptr,
                cli_off(s->colored));
    pdr_buf_dispose(&text);
}

/* A line of ours. */
static void put_mark(struct show *s, const char *color, const char *text)
{
    put_text(s, color, "", pdr_str_c(text), 0);
}

static size_t short_lines(const struct show *s)
{
    return s->full ? 0 : SHORT_LINES;
}

/* --- contents ------------------------------------------------------------ */

/* "[image/png, 12.3 kB, chart.png]" */
static void show_data(struct show *s, const struct doc_content *c)
{
    const pdr_value *uri = doc_field(c, PDR_FIELD_URI);
    const pdr_value *name = doc_field(c, PDR_FIELD_NAME);
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_str media = {NULL, 0};
    uint64_t bytes = 0;
    char size[32];

    cli_put(&text, "[");
    if (pdr_content_media_type(&media, c->value, c->shape, &s->scratch, NULL) ==
        PDR_OK)
        cli_show(&text, media, CLI_TEXT_LINE);
    cli_put(&text, media.len > 0 ? "" : "data");
    if (doc_data_bytes(&bytes, doc_text(uri, &s->scratch)))
        cli_putf(&text, ", %s", cli_size(size, bytes));
    else if (uri != NULL) {
        cli_put(&text, ", ");
        cli_show_cut(&text, doc_text(uri, &s->scratch), CLI_TEXT_LINE, 200);
    }
    if (name != NULL) {
        cli_put(&text, ", ");
        cli_show(&text, doc_text(name, &s->scratch), CLI_TEXT_LINE);
    }
    cli_put(&text, "]");
    put_text(s, CLI_YELLOW, "", pdr_buf_str(&text), 0);
    pdr_buf_dispose(&text);
}

/* "[hosted file file-1]" */
static void show_reference(struct show *s, const struct doc_content *c)
{
    bool is_file = c->kind == PDR_CONTENT_FILE;
    const pdr_value *id =
        doc_field(c, is_file ? PDR_FIELD_FILE_ID : PDR_FIELD_VECTOR_STORE_ID);
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

    cli_put(&text, is_file ? "[hosted file " : "[vector store ");
    cli_show(&text, doc_text(id, &s->scratch), CLI_TEXT_LINE);
    cli_put(&text, "]");
    put_text(s, CLI_YELLOW, "", pdr_buf_str(&text), 0);
    pdr_buf_dispose(&text);
}

/* "message [code]", then the details. */
static void show_error(struct show *s, const struct doc_content *c)
{
    const pdr_value *code = doc_field(c, PDR_FIELD_ERROR_CODE);
    const pdr_value *details = doc_field(c, PDR_FIELD_DETAILS);
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

    cli_show(&text, doc_text(doc_field(c, PDR_FIELD_MESSAGE), &s->scratch),
             CLI_TEXT_PAGE);
    if (code != NULL) {
        cli_put(&text, " [");
        cli_show(&text, doc_text(code, &s->scratch), CLI_TEXT_LINE);
        cli_put(&text, "]");
    }
    put_text(s, CLI_RED, "error: ", pdr_buf_str(&text), 0);
    if (details != NULL)
        put_text(s, CLI_RED, "       ",
                 pdr_value_kind(details) == PDR_STRING
                     ? doc_text(details, &s->scratch)
                     : doc_json_spaced(details, &s->scratch),
                 short_lines(s));
    pdr_buf_dispose(&text);
}

/* "server.tool {arguments}"; a call without a name has that of its kind. */
static void put_call(pdr_buf *out, struct show *s, const struct doc_content *c)
{
    const pdr_value *server = doc_field(c, PDR_FIELD_SERVER_NAME);
    const pdr_value *name = doc_field(c, PDR_FIELD_NAME);
    pdr_str arguments = {NULL, 0};

    if (server != NULL) {
        cli_show(out, doc_text(server, &s->scratch), CLI_TEXT_LINE);
        cli_put(out, ".");
    }
    if (name != NULL)
        cli_show(out, doc_text(name, &s->scratch), CLI_TEXT_LINE);
    else
        cli_put(out, pdr_content_kind_name(c->kind, c->shape));
    arguments = doc_arguments(c, &s->scratch);
    cli_put(out, arguments.len > 0 ? " " : "");
    cli_show(out, arguments, CLI_TEXT_LINE);
}

static void show_result(struct show *s, const pdr_value *content,
                        const char *lead)
{
    const char *color = s->colored ? CLI_DIM : "";
    struct doc_content c = doc_content_of(content);
    pdr_str text = doc_result(&c, &s->scratch);

    put_text(s, color, lead, text.len > 0 ? text : pdr_str_c("(nothing)"),
             short_lines(s));
}

static void show_call(struct show *s, const struct doc_content *c)
{
    const char *back = sign(s, "← ", "<- ");
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    const pdr_value *result = NULL;

    put_call(&text, s, c);
    put_text(s, CLI_YELLOW, sign(s, "→ ", "-> "), pdr_buf_str(&text),
             short_lines(s));
    result = doc_results_take(&s->results, doc_field(c, PDR_FIELD_CALL_ID));
    if (result != NULL)
        show_result(s, result, back);
    else if (doc_results_is_asked(&s->results, doc_field(c, PDR_FIELD_CALL_ID)))
        put_text(s, CLI_YELLOW, back, pdr_str_c("(waits for approval)"), 0);
    else
        put_text(s, CLI_YELLOW, back, pdr_str_c("(no result in this turn)"), 0);
    pdr_buf_dispose(&text);
}

/* A result that no call of the turn took. */
static void show_lone_result(struct show *s, const struct doc_content *c,
                             const pdr_value *content, const char *why)
{
    const pdr_value *id = doc_field(c, PDR_FIELD_CALL_ID);
    pdr_buf lead = PDR_BUF_INIT(SIZE_MAX);

    cli_put(&lead, "of ");
    cli_show_cut(&lead, id != NULL ? doc_text(id, &s->scratch) : pdr_str_c("?"),
                 CLI_TEXT_LINE, 40);
    cli_put(&lead, why);
    put_text(s, CLI_YELLOW, sign(s, "← ", "<- "), pdr_buf_str(&lead), 0);
    show_result(s, content, sign(s, "  ", "   "));
    pdr_buf_dispose(&lead);
}

static void show_approval(struct show *s, const struct doc_content *c)
{
    const pdr_value *call = doc_field(c, PDR_FIELD_TOOL_CALL);
    const pdr_value *approved = doc_field(c, PDR_FIELD_APPROVED);
    const pdr_value *reason = doc_field(c, PDR_FIELD_REASON);
    struct doc_content inner = doc_content_in(call, c->shape);
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    bool yes = false;

    if (doc_is_asking(c) &&
        doc_results_has_call(&s->results, doc_field(&inner, PDR_FIELD_CALL_ID)))
        return; /* was told with the call */
    if (approved != NULL)
        (void)!pdr_value_bool(&yes, approved, NULL);
    if (call != NULL)
        put_call(&text, s, &inner);
    if (reason != NULL) {
        cli_put(&text, ": ");
        cli_show(&text, doc_text(reason, &s->scratch), CLI_TEXT_LINE);
    }
    put_text(s, approved == NULL || yes ? CLI_YELLOW : CLI_RED,
             approved == NULL ? "waits for approval: "
             : yes            ? "approved: "
                              : "refused: ",
             pdr_buf_str(&text), short_lines(s));
    pdr_buf_dispose(&text);
}

/* "[unknown: hologram] {…}" */
static void show_unknown(struct show *s, const struct doc_content *c)
{
    const pdr_value *type = doc_type(c->value);
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

    cli_put(&text, "[unknown content");
    if (type != NULL) {
        cli_put(&text, ": ");
        cli_show_cut(&text, doc_text(type, &s->scratch), CLI_TEXT_LINE, 40);
    }
    cli_put(&text, "] ");
    cli_show(&text, doc_json_spaced(c->value, &s->scratch), CLI_TEXT_LINE);
    put_text(s, CLI_YELLOW, "", pdr_buf_str(&text), short_lines(s));
    pdr_buf_dispose(&text);
}

struct usage_line {
    pdr_buf text;
    const struct show *show;
};

/* "510 in": the .NET names, without what they all have. */
static pdr_rc add_usage(pdr_str name, int64_t count, pdr_err *err, void *arg)
{
    struct usage_line *line = arg;
    char digits[32];

    (void)err;
    cli_putf(
        &line->text, "%s%s%s ", line->text.len > 0 ? ", " : "",
        count < 0 ? "-" : "",
        cli_number(digits, count < 0 ? 0 - (uint64_t)count : (uint64_t)count));
    cli_show_cut(&line->text, doc_count_name(name), CLI_TEXT_LINE, 40);
    return PDR_OK;
}

static void show_usage(struct show *s, const pdr_value *usage)
{
    struct usage_line line = {PDR_BUF_INIT(SIZE_MAX), s};
    pdr_err err = PDR_ERR_INIT;

    cli_must(pdr_usage_each(usage, &err, add_usage, &line), &err);
    if (line.text.len > 0)
        put_text(s, CLI_DIM, "tokens: ", pdr_buf_str(&line.text), 0);
    pdr_buf_dispose(&line.text);
}

static void show_text(struct show *s, const struct doc_content *c)
{
    const pdr_value *value = doc_field(c, PDR_FIELD_TEXT);
    pdr_str text = doc_text(value, &s->scratch);
    bool thinks = c->kind == PDR_CONTENT_REASONING;

    if (value == NULL && !thinks)
        show_unknown(s, c); /* such as a number in the place of the text */
    else if (text.len == 0)
        put_mark(s, CLI_DIM, thinks ? "thinks: (hidden)" : "(no text)");
    else
        put_text(s, thinks ? CLI_DIM : "", thinks ? "thinks: " : "", text, 0);
}

static void show_content(struct show *s, const pdr_value *content)
{
    struct doc_content c = doc_content_of(content);

    switch (c.part) {
    case DOC_PART_UNKNOWN:
        show_unknown(s, &c);
        break;
    case DOC_PART_TEXT:
        show_text(s, &c);
        break;
    case DOC_PART_DATA:
        show_data(s, &c);
        break;
    case DOC_PART_ERROR:
        show_error(s, &c);
        break;
    case DOC_PART_CALL:
        show_call(s, &c);
        break;
    case DOC_PART_RESULT:
        if (!doc_results_pass(&s->results))
            show_lone_result(s, &c, content,
                             doc_results_has_call(
                                 &s->results, doc_field(&c, PDR_FIELD_CALL_ID))
                                 ? ", which has a result already:"
                                 : ", which was not called in this turn:");
        break;
    case DOC_PART_REFERENCE:
        show_reference(s, &c);
        break;
    case DOC_PART_USAGE:
        show_usage(s, doc_field(&c, PDR_FIELD_USAGE));
        break;
    case DOC_PART_APPROVAL:
        show_approval(s, &c);
        break;
    }
}

/* --- messages ------------------------------------------------------------ */

/* Is there anything to tell that was not told beside a call? */
static bool has_news(const struct show *s, const pdr_value *contents)
{
    size_t results = 0;
    pdr_iter it;

    pdr_iter_init(&it, contents);
    while (pdr_iter_next(&it)) {
        struct doc_content c = doc_content_of(it.value);
        if (c.part != DOC_PART_RESULT ||
            !s->results.items[s->results.passed + results].is_told)
            return true;
        results++;
    }
    return results == 0;
}

/* The time alone on the day of the turn, else with the date. */
static void put_time(pdr_buf *out, const struct show *s,
                     const pdr_datetime *when)
{
    char text[32];

    doc_time(text, when);
    cli_put(out, strncmp(text, s->day, 10) == 0 ? text + 11 : text);
}

static const char *role_color(pdr_str role)
{
    if (pdr_str_equal(role, pdr_str_c("user")))
        return CLI_GREEN;
    if (pdr_str_equal(role, pdr_str_c("assistant")))
        return CLI_CYAN;
    return CLI_YELLOW;
}

/* "assistant Harbour 07:31:44" */
static void show_message_head(struct show *s, const pdr_value *message)
{
    const pdr_value *role = pdr_message_role(message, PDR_SHAPE_STATE);
    const pdr_value *author = pdr_message_author(message, PDR_SHAPE_STATE);
    pdr_datetime when;

    pdr_buf_clear(&s->line);
    cli_put(&s->line, cli_on(s->colored, CLI_BOLD));
    cli_put(&s->line,
            cli_on(s->colored, role_color(doc_text(role, &s->scratch))));
    if (role != NULL)
        cli_show_cut(&s->line, doc_text(role, &s->scratch), CLI_TEXT_LINE, 40);
    else
        cli_put(&s->line, "(no role)");
    cli_put(&s->line, cli_off(s->colored));
    if (author != NULL) {
        cli_put(&s->line, " ");
        cli_show_cut(&s->line, doc_text(author, &s->scratch), CLI_TEXT_LINE,
                     40);
    }
    if (pdr_message_created_at(&when, message, PDR_SHAPE_STATE)) {
        cli_putf(&s->line, "  %s", cli_on(s->colored, CLI_DIM));
        put_time(&s->line, s, &when);
        cli_put(&s->line, cli_off(s->colored));
    }
    put_line(s, "", 2, "");
}

/* Results that no call waits for, which a repair keeps out of the contents. */
static void show_set_aside(struct show *s, const pdr_value *results)
{
    pdr_iter it;

    pdr_iter_init(&it, results);
    while (pdr_iter_next(&it)) {
        struct doc_content c = doc_content_of(it.value);
        if (c.part == DOC_PART_RESULT)
            show_lone_result(s, &c, it.value, ", set aside by a repair:");
        else
            show_unknown(s, &c);
    }
}

static void show_message(struct show *s, const pdr_value *message)
{
    const pdr_value *contents = pdr_message_contents(message, PDR_SHAPE_STATE);
    const pdr_value *aside = doc_set_aside(message);
    pdr_iter it;

    if (has_news(s, contents) || aside != NULL)
        show_message_head(s, message);
    pdr_iter_init(&it, contents);
    while (pdr_iter_next(&it))
        show_content(s, it.value);
    if (pdr_value_count(contents) == 0 && aside == NULL)
        put_mark(s, CLI_DIM, "(no contents)");
    show_set_aside(s, aside);
}

/* --- turns --------------------------------------------------------------- */

static void put_rule(struct show *s, size_t used)
{
    const char *dash = sign(s, "─", "-");

    for (; used < s->width; used++)
        cli_put(&s->line, dash);
}

/* A part of a heading, between two dashes. */
static void put_part(struct show *s, size_t *used, pdr_str text)
{
    size_t room = s->width > *used + 8 ? s->width - *used - 4 : 8;
    size_t before = s->line.len;

    cli_put(&s->line, " ");
    cli_show_cut(&s->line, text, CLI_TEXT_LINE, room);
    cli_put(&s->line, " ");
    *used += cli_cells(pdr_str_n(s->line.ptr + before, s->line.len - before),
                       CLI_TEXT_LINE);
    cli_put(&s->line, sign(s, "──", "--"));
    *used += 2;
}

/* "── turn 2 ── 2026-05-06 07:31:40 ── r-102 ─────" */
static void show_heading(struct show *s, const char *color, const char *what,
                         const pdr_value *entry)
{
    const pdr_value *id = pdr_entry_correlation_id(entry);
    size_t used = 2;
    pdr_datetime when;
    char time[40];

    s->day[0] = '\0';
    pdr_buf_clear(&s->line);
    cli_put(&s->line, sign(s, "──", "--"));
    put_part(s, &used, pdr_str_c(what));
    if (pdr_entry_created_at(&when, entry)) {
        snprintf(time, sizeof(time), "%s UTC", doc_time(s->day, &when));
        put_part(s, &used, pdr_str_c(time));
    }
    if (id != NULL)
        put_part(s, &used, doc_text(id, &s->scratch));
    put_rule(s, used);
    fputs("\n", s->out);
    put_line(s, color, 0, "");
}

/* What a request asks for beside its messages. */
static void show_request(struct show *s, const pdr_value *entry)
{
    const pdr_value *orchestration = pdr_entry_orchestration_id(entry);
    const pdr_value *type = pdr_entry_response_type(entry);
    bool has_schema = pdr_entry_response_schema(entry) != NULL;

    pdr_buf_clear(&s->line);
    if (orchestration != NULL) {
        cli_put(&s->line, "orchestration ");
        cli_show_cut(&s->line, doc_text(orchestration, &s->scratch),
                     CLI_TEXT_LINE, 200);
    }
    if (has_schema ||
        (type != NULL && !pdr_value_text_is(type, pdr_str_c("text")))) {
        cli_put(&s->line, s->line.len > 0 ? ", wants " : "wants ");
        cli_show_cut(&s->line, doc_text(type, &s->scratch), CLI_TEXT_LINE, 20);
        cli_put(&s->line, has_schema ? " by a schema" : "");
    }
    put_flow(s, CLI_DIM, 2);
}

static void show_entry(struct show *s, const pdr_value *entry)
{
    const pdr_value *messages = pdr_entry_messages(entry);
    pdr_iter it;

    if (pdr_entry_kind_of(entry) == PDR_ENTRY_REQUEST)
        show_request(s, entry);
    pdr_iter_init(&it, messages);
    while (pdr_iter_next(&it))
        show_message(s, it.value);
    if (pdr_value_count(messages) == 0)
        put_mark(s, CLI_DIM,
                 pdr_entry_kind_of(entry) == PDR_ENTRY_REQUEST
                     ? "(a request without messages)"
                     : "(a response without messages)");
    show_usage(s, pdr_entry_usage(entry));
}

static void show_turn(struct show *s, const struct doc_turn *turn)
{
    char what[48];

    snprintf(what, sizeof(what), "turn %zu%s", turn->number,
             turn->is_error ? " failed" : "");
    show_heading(s, turn->is_error ? CLI_RED : CLI_BOLD, what,
                 s->turns->entries[turn->first]);
    doc_results_find(&s->results, s->turns, turn);
    for (size_t i = turn->first; i != DOC_NONE; i = s->turns->next[i])
        show_entry(s, s->turns->entries[i]);
    if (!turn->has_response)
        put_mark(s, CLI_RED, "(no response)");
    if (!turn->has_request)
        put_mark(s, CLI_RED, "(a response to no request)");
    doc_results_free(&s->results);
}

/* An entry of a kind that nobody knows. */
static void show_other(struct show *s, const struct doc_turn *turn)
{
    const pdr_value *entry = s->turns->entries[turn->first];
    const pdr_value *type = doc_type(entry);
    pdr_buf what = PDR_BUF_INIT(SIZE_MAX);

    cli_put(&what, "unknown entry");
    if (type != NULL) {
        cli_put(&what, ": ");
        cli_show_cut(&what, doc_text(type, &s->scratch), CLI_TEXT_LINE, 40);
    }
    cli_must(pdr_buf_append(&what, pdr_str_n("", 1), NULL), NULL);
    show_heading(s, CLI_YELLOW, what.ptr, entry);
    put_text(s, CLI_YELLOW, "", doc_json_spaced(entry, &s->scratch),
             short_lines(s));
    pdr_buf_dispose(&what);
}

/* --- the whole ----------------------------------------------------------- */

/* Which turns. */
struct choice {
    uint64_t last, turn; /* 0: not asked for */
    const char *id;
    size_t from, count; /* found: places in the list of turns */
};

static bool has_id(const struct doc_turns *t, const struct doc_turn *turn,
                   const char *id)
{
    for (size_t i = turn->first; i != DOC_NONE; i = t->next[i])
        if (pdr_value_text_is(pdr_entry_correlation_id(t->entries[i]),
                              pdr_str_c(id)))
            return true;
    return false;
}

static bool is_chosen(const struct choice *choice, const struct doc_turns *t,
                      const struct doc_turn *turn)
{
    if (choice->turn != 0)
        return turn->number == choice->turn;
    return choice->id == NULL || has_id(t, turn, choice->id);
}

/* The place from which on the last `count` turns are. */
static size_t last_turns(const struct doc_turns *t, uint64_t count)
{
    size_t from = t->count;

    while (from > 0 && count > 0) {
        from--;
        count -= t->items[from].number != 0;
    }
    return count > 0 ? 0 : from;
}

static void show_head(struct show *s, const struct doc *d)
{
    const pdr_value *version = pdr_value_get_c(d->value, "schemaVersion");
    pdr_datetime expires;
    char text[32];

    pdr_buf_clear(&s->line);
    cli_show(&s->line, pdr_str_c(d->name), CLI_TEXT_LINE);
    put_line(s, CLI_BOLD, 0, "");
    pdr_buf_clear(&s->line);
    cli_put(&s->line, "version ");
    cli_show_cut(&s->line, doc_text(version, &s->scratch), CLI_TEXT_LINE, 20);
    cli_putf(&s->line, ", %s turn%s", cli_number(text, s->turns->numbered),
             s->turns->numbered == 1 ? "" : "s");
    cli_putf(&s->line, ", %s entr%s", cli_number(text, s->turns->entry_count),
             s->turns->entry_count == 1 ? "y" : "ies");
    if (pdr_state_expiration(&expires, d->value))
        cli_putf(&s->line, ", expires %s UTC", doc_time(text, &expires));
    put_flow(s, "", 0);
}

static void print_table(struct show *s, const struct doc *d,
                        const struct choice *choice)
{
    show_head(s, d);
    for (size_t i = choice->from; i < s->turns->count; i++) {
        const struct doc_turn *turn = &s->turns->items[i];
        if (!is_chosen(choice, s->turns, turn))
            continue;
        if (ferror(s->out)) /* the reader of a pager has seen enough */
            break;
        if (turn->number != 0)
            show_turn(s, turn);
        else
            show_other(s, turn);
    }
}

/* Entries as they stand in the document. */
static void print_raw(struct show *s, const struct doc_turn *turn)
{
    for (size_t i = turn->first; i != DOC_NONE; i = s->turns->next[i]) {
        const pdr_value *entry = s->turns->entries[i];
        pdr_str raw = {NULL, 0};
        if (!pdr_value_raw(&raw, entry))
            raw = doc_json(entry, &s->scratch);
        cli_print(s->cli, raw);
        fputs("\n", s->out);
    }
}

static void print_object(struct show *s, const struct doc_turn *turn)
{
    pdr_builder *to = NULL;
    pdr_value *object = NULL;
    pdr_err err = PDR_ERR_INIT;

    cli_must(pdr_builder_new(&to, &err), &err);
    doc_project_turn(to, s->turns, turn);
    cli_must(pdr_builder_finish(&object, to, &err), &err);
    cli_print_json(s->cli, object);
    pdr_value_free(object);
    pdr_builder_free(to);
}

static void print_json_head(struct show *s, const struct doc *d)
{
    pdr_datetime expires;
    pdr_str raw = {NULL, 0};

    pdr_buf_clear(&s->line);
    cli_put(&s->line, "{\"file\":\"");
    cli_show(&s->line, pdr_str_c(d->name), CLI_TEXT_JSON);
    cli_put(&s->line, "\",\"version\":");
    if (pdr_value_raw(&raw, pdr_value_get_c(d->value, "schemaVersion")))
        cli_must(pdr_buf_append(&s->line, raw, NULL), NULL);
    if (pdr_state_expiration(&expires, d->value) &&
        pdr_value_raw(&raw, pdr_value_get_c(pdr_state_data(d->value),
                                            "expirationTimeUtc"))) {
        cli_put(&s->line, ",\"expires\":");
        cli_must(pdr_buf_append(&s->line, raw, NULL), NULL);
    }
    cli_putf(&s->line, ",\"entryCount\":%zu,\"turnCount\":%zu,\"turns\":[\n",
             s->turns->entry_count, s->turns->numbered);
    cli_print(s->cli, pdr_buf_str(&s->line));
}

static void print_data(struct show *s, const struct doc *d,
                       const struct choice *choice)
{
    bool is_document = s->cli->output == CLI_OUTPUT_JSON;
    size_t given = 0;

    if (is_document)
        print_json_head(s, d);
    for (size_t i = choice->from; i < s->turns->count; i++) {
        const struct doc_turn *turn = &s->turns->items[i];
        if (!is_chosen(choice, s->turns, turn))
            continue;
        if (s->cli->output == CLI_OUTPUT_RAW) {
            print_raw(s, turn);
            continue;
        }
        fputs(is_document && given++ > 0 ? ",\n" : "", s->out);
        print_object(s, turn);
        fputs(is_document ? "" : "\n", s->out);
    }
    fputs(is_document ? "\n]}\n" : "", s->out);
}

/* Find the turns that were asked for; the status of a failure, else 0. */
static int choose(struct choice *choice, const struct doc_turns *t,
                  const struct doc *d, const struct cli *cli)
{
    struct cli_about about = {.name = d->name, .hint = ""};
    pdr_err err = PDR_ERR_INIT;

    if (choice->last != 0)
        choice->from = last_turns(t, choice->last);
    if (choice->turn == 0 && choice->id == NULL)
        return 0;
    for (size_t i = 0; i < t->count; i++)
        if (is_chosen(choice, t, &t->items[i]))
            return 0;
    if (choice->turn != 0)
        pdr_err_set(&err, PDR_ENOTFOUND, "no_turn",
                    "there is no turn %ju, only %zu", (uintmax_t)choice->turn,
                    t->numbered);
    else
        pdr_err_set(&err, PDR_ENOTFOUND, "no_turn",
                    "no entry has the correlation id '%.160s'", choice->id);
    if (choice->turn == 0)
        about.hint = "without --id every turn is shown, with its id";
    return cli_fail(cli, &about, &err);
}

static size_t page_width(const struct cli *cli)
{
    size_t width = cli->tty_out ? cli->width : 80;

    if (width > MAX_WIDTH)
        return MAX_WIDTH;
    return width > MIN_WIDTH ? width : MIN_WIDTH;
}

static int show(struct show *s, const struct doc *d, struct choice *choice,
                bool paged)
{
    struct doc_turns turns;
    struct cli_pager pager;
    int status = 0;

    doc_turns_find(&turns, d->value);
    s->turns = &turns;
    s->width = page_width(s->cli);
    s->colored = s->cli->color_out;
    status = choose(choice, &turns, d, s->cli);
    if (status == 0) {
        cli_pager_begin(&pager, s->cli, paged);
        s->out = pager.out;
        if (s->cli->output == CLI_OUTPUT_TABLE)
            print_table(s, d, choice);
        else
            print_data(s, d, choice);
        status = cli_pager_end(&pager, s->cli, 0);
    }
    doc_turns_free(&turns);
    pdr_buf_dispose(&s->line);
    pdr_buf_dispose(&s->scratch);
    return status;
}

static int run(struct cli *cli, int argc, char **argv)
{
    const char *path = NULL;
    struct show s = {.cli = cli,
                     .line = PDR_BUF_INIT(SIZE_MAX),
                     .scratch = PDR_BUF_INIT(SIZE_MAX)};
    struct choice choice = {.last = 0};
    struct doc_reading how;
    struct doc d = DOC_INIT;
    bool no_pager = false;
    int status = 0;
    const struct cli_opt opts[] = {
        CLI_ARG("FILE", &path, "state document; - is standard input"),
        CLI_U64('n', "last", "N", &choice.last, 1, UINT32_MAX,
                "only the last N turns"),
        CLI_U64(0, "turn", "N", &choice.turn, 1, UINT32_MAX,
                "only turn N, as this command counts them"),
        CLI_TEXT(0, "id", "ID", &choice.id,
                 "only what has this correlation id"),
        CLI_FLAG('f', "full", &s.full,
                 "long arguments and results to their end"),
        CLI_FLAG(0, "no-pager", &no_pager, "print it directly"),
        DOC_READ_ROWS(&how),
    };

    doc_reading_init(&how);
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    if ((choice.last != 0) + (choice.turn != 0) + (choice.id != NULL) > 1)
        return doc_usage(cli, "--last, --turn and --id",
                         "only one of them can be given", "");
    status = doc_load(&d, cli, path, &how);
    if (status == 0)
        status = show(&s, &d, &choice, !no_pager);
    doc_free(&d);
    return status;
}

const struct cli_command cli_cmd_doc_show = {
    .name = "doc show",
    .summary = "a conversation, for people to read",
    .run = run};
