/*
 * session_entry.c - entries of a stored session, a line each.
 *
 * WHY  An entry is a document of its own, in the shape of whoever wrote it. For
 *      people, a line says when it came, what it is and how it begins; programs
 *      get all of it.
 */
#include "session_parts.h"

#define BATCH      64  /* rows that decide how wide the columns are */
#define TEXT_CELLS 200 /* of what an entry says, where nothing is narrower */

static const struct ses_column columns[] = {{"SEQ", true, 0},
                                            {"TIME", false, 0},
                                            {"KIND", false, 0},
                                            {"TURN", false, 8},
                                            {"TEXT", false, 20}};

static const char *kind_name(pdr_row_kind kind)
{
    static const char *const names[] = {"request", "response", "message",
                                        "record", "other"};

    return (size_t)kind < CLI_COUNT(names) ? names[kind] : "?";
}

static const char *shape_name(pdr_row_shape shape)
{
    static const char *const names[] = {"state", "dotnet", "python", "sk"};

    return (size_t)shape < CLI_COUNT(names) ? names[shape] : "?";
}

static pdr_shape shape_of(const pdr_entry *entry)
{
    return entry->shape <= PDR_ROW_SK ? (pdr_shape)entry->shape
                                      : PDR_SHAPE_STATE;
}

/* --- what it says -------------------------------------------------------- */

static void put_str(pdr_buf *out, pdr_str text)
{
    cli_must(pdr_buf_append(out, text, NULL), NULL);
}

/* "NAME(ARGUMENTS)" */
static void put_call(pdr_buf *out, const struct doc_content *call,
                     pdr_buf *scratch)
{
    const pdr_value *name = doc_field(call, PDR_FIELD_NAME);

    put_str(out, name != NULL ? doc_text(name, scratch) : pdr_str_c("call"));
    cli_put(out, "(");
    put_str(out, doc_arguments(call, scratch));
    cli_put(out, ")");
}

/* The question and the answer name the call; it waits only while there is no
 * answer, which is another entry. */
static void put_approval(pdr_buf *out, const struct doc_content *c,
                         pdr_buf *scratch)
{
    const pdr_value *call = doc_field(c, PDR_FIELD_TOOL_CALL);
    const pdr_value *reason = doc_field(c, PDR_FIELD_REASON);
    struct doc_content inner = doc_content_in(call, c->shape);
    bool yes = false;

    if (doc_is_asking(c))
        cli_put(out, "asks for approval: ");
    else if (pdr_value_bool(&yes, doc_field(c, PDR_FIELD_APPROVED), NULL) ==
                 PDR_OK &&
             yes)
        cli_put(out, "approved: ");
    else
        cli_put(out, "refused: ");
    if (call != NULL)
        put_call(out, &inner, scratch);
    if (reason != NULL) {
        cli_put(out, ": ");
        put_str(out, doc_text(reason, scratch));
    }
}

void ses_put_content(pdr_buf *out, const pdr_value *content, pdr_shape shape,
                     pdr_buf *scratch)
{
    struct doc_content c = shape == PDR_SHAPE_STATE
                               ? doc_content_of(content)
                               : doc_content_in(content, shape);
    const pdr_value *name = NULL;

    if (c.part == DOC_PART_USAGE ||
        (c.part == DOC_PART_TEXT && c.kind == PDR_CONTENT_REASONING))
        return;
    cli_put(out, out->len > 0 ? " " : "");
    switch (c.part) {
    case DOC_PART_TEXT:
        put_str(out, doc_text(doc_field(&c, PDR_FIELD_TEXT), scratch));
        return;
    case DOC_PART_CALL:
        put_call(out, &c, scratch);
        return;
    case DOC_PART_RESULT:
        cli_put(out, "= ");
        put_str(out, doc_result(&c, scratch));
        return;
    case DOC_PART_ERROR:
        cli_put(out, "error: ");
        put_str(out, doc_text(doc_field(&c, PDR_FIELD_MESSAGE), scratch));
        return;
    case DOC_PART_APPROVAL:
        put_approval(out, &c, scratch);
        return;
    case DOC_PART_USAGE:
    case DOC_PART_UNKNOWN:
    case DOC_PART_DATA:
    case DOC_PART_REFERENCE:
        name = doc_type(c.value);
        cli_put(out, "[");
        put_str(out, name != NULL ? doc_text(name, scratch) : pdr_str_c("?"));
        cli_put(out, "]");
        return;
    }
}

static void put_message(pdr_buf *out, const pdr_value *message, pdr_shape shape,
                        pdr_buf *scratch)
{
    pdr_iter it;

    if (message == NULL || pdr_value_kind(message) != PDR_OBJECT)
        return;
    pdr_iter_init(&it, pdr_message_contents(message, shape));
    while (pdr_iter_next(&it) && out->len < 4 * TEXT_CELLS)
        ses_put_content(out, it.value, shape, scratch);
}

void ses_put_excerpt(pdr_buf *out, const pdr_stored_entry *entry)
{
    const pdr_entry *row = entry->row;
    const pdr_value *body = entry->body, *role = NULL;
    pdr_shape shape = shape_of(row);
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX), text = PDR_BUF_INIT(SIZE_MAX);
    pdr_iter it;

    if (body != NULL && row->kind <= PDR_ROW_RESPONSE &&
        shape == PDR_SHAPE_STATE) {
        pdr_iter_init(&it, pdr_value_get_c(body, "messages"));
        while (pdr_iter_next(&it))
            put_message(&text, it.value, shape, &scratch);
    } else if (body != NULL && row->kind <= PDR_ROW_MESSAGE) {
        if (row->kind == PDR_ROW_MESSAGE && pdr_value_kind(body) == PDR_OBJECT)
            role = pdr_message_role(body, shape);
        if (role != NULL) { /* "user: Is the valve open?" */
            put_str(&text, doc_text(role, &scratch));
            cli_put(&text, ":");
        }
        put_message(&text, body, shape, &scratch);
    }
    if (text.len == 0) /* nothing that we know: how it begins */
        put_str(&text,
                body != NULL ? doc_json_spaced(body, &scratch) : row->body);
    cli_show_cut(out, pdr_buf_str(&text), CLI_TEXT_LINE, TEXT_CELLS);
    pdr_buf_dispose(&text);
    pdr_buf_dispose(&scratch);
}

/* --- printing ------------------------------------------------------------ */

void ses_entries_init(struct ses_entries *e, struct cli *cli, FILE *out)
{
    memset(e, 0, sizeof(*e));
    e->cli = cli;
    e->out = out;
    e->width = cli->tty_out ? cli->width : 0;
    ses_grid_init(&e->grid, columns, CLI_COUNT(columns));
}

static void add_json(struct ses_entries *e, const pdr_stored_entry *entry)
{
    const pdr_entry *row = entry->row;
    pdr_builder *to = ses_object_new();

    cli_member_count(to, "seq", row->seq);
    if (e->epoch > 0)
        cli_member_count(to, "epoch", e->epoch);
    sto_member_time(to, "time", row->created_ms);
    cli_member_text(to, "kind", pdr_str_c(kind_name(row->kind)));
    cli_member_text(to, "shape", pdr_str_c(shape_name(row->shape)));
    if (row->correlation_id.ptr != NULL)
        cli_member_text(to, "correlationId", row->correlation_id);
    if (entry->body != NULL) {
        pdr_builder_name(to, pdr_str_c("body"));
        pdr_builder_value(to, entry->body);
    } else { /* a store counts brackets, and no more */
        cli_member_text(to, "bodyText", row->body);
    }
    fputs(!e->as_lines && e->count > 0 ? "," : "", e->out);
    ses_object_print(e->cli, e->out, to);
}

static void add_row(struct ses_entries *e, const pdr_stored_entry *entry)
{
    const pdr_entry *row = entry->row;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    char time[40];

    ses_grid_putf(&e->grid, "%ju", (uintmax_t)row->seq);
    ses_grid_put(&e->grid, pdr_str_c(sto_time(time, row->created_ms)));
    ses_grid_put(&e->grid, pdr_str_c(kind_name(row->kind)));
    ses_grid_put(&e->grid, row->correlation_id);
    ses_put_excerpt(&text, entry);
    ses_grid_put(&e->grid, pdr_buf_str(&text));
    pdr_buf_dispose(&text);
    if (ses_grid_rows(&e->grid) == BATCH)
        ses_entries_flush(e);
}

void ses_entries_add(struct ses_entries *e, const pdr_stored_entry *entry)
{
    if (cli_is_json(e->cli)) {
        add_json(e, entry);
    } else if (e->cli->output == CLI_OUTPUT_RAW) {
        cli_print(e->cli, entry->row->body);
        fputs("\n", stdout);
    } else {
        add_row(e, entry);
    }
    e->count++;
}

void ses_entries_flush(struct ses_entries *e)
{
    if (ses_grid_rows(&e->grid) > 0)
        ses_grid_flush(&e->grid, e->out, e->cli->color_out, e->width);
    fflush(e->out);
}

void ses_entries_free(struct ses_entries *e)
{
    ses_grid_free(&e->grid);
}
