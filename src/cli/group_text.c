/*
 * group_text.c - messages and reports of chats, for people and for programs.
 */
#include "group_parts.h"

#include <stdarg.h>

/* --- messages ------------------------------------------------------------- */

void grp_put_who(pdr_buf *out, const pdr_value *message)
{
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_str text =
        doc_text(pdr_message_author(message, PDR_SHAPE_SK), &scratch);

    if (text.len == 0)
        text = doc_text(pdr_message_role(message, PDR_SHAPE_SK), &scratch);
    cli_must(pdr_buf_append(out, text, NULL), NULL);
    pdr_buf_dispose(&scratch);
}

static const pdr_value *member_of(const pdr_value *object, const char *name)
{
    return object != NULL && pdr_value_kind(object) == PDR_OBJECT
               ? pdr_value_get_c(object, name)
               : NULL;
}

/* What Semantic Kernel has no kind for, as a question for approval, is inside
 * of an empty text, see docs/formats/contents.md. */
void grp_put_content(pdr_buf *out, const pdr_value *content, pdr_buf *scratch)
{
    const pdr_value *inner = member_of(
        member_of(member_of(content, "Metadata"), "perdure"), "content");

    if (inner != NULL && pdr_value_kind(inner) == PDR_OBJECT)
        ses_put_content(out, inner, PDR_SHAPE_DOTNET, scratch);
    else
        ses_put_content(out, content, PDR_SHAPE_SK, scratch);
}

pdr_str grp_short_name(pdr_str name)
{
    for (size_t i = name.len; i > 0; i--)
        if (name.ptr[i - 1] == '.')
            return pdr_str_n(name.ptr + i, name.len - i);
    return name;
}

static void member_text(pdr_builder *to, const char *name,
                        const pdr_value *value)
{
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);

    if (value != NULL && pdr_value_kind(value) == PDR_STRING)
        cli_member_text(to, name, doc_text(value, &scratch));
    pdr_buf_dispose(&scratch);
}

void grp_member_message(pdr_builder *to, const pdr_chat_message *m)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    cli_must(pdr_message_text(&text, m->value, PDR_SHAPE_SK, &err), &err);
    cli_member_count(to, "seq", m->seq);
    cli_member_count(to, "turn", m->turn);
    if (m->origin.ptr != NULL)
        cli_member_text(to, "channel", m->origin);
    cli_member_bool(to, "visible", m->is_visible);
    member_text(to, "role", pdr_message_role(m->value, PDR_SHAPE_SK));
    member_text(to, "author", pdr_message_author(m->value, PDR_SHAPE_SK));
    cli_member_text(to, "text", pdr_buf_str(&text));
    pdr_builder_name(to, pdr_str_c("message"));
    pdr_builder_value(to, m->value);
    pdr_buf_dispose(&text);
}

void grp_tell(const struct grp *g, const char *fmt, ...)
{
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);
    char text[400];
    va_list args;

    if (g->cli->quiet || cli_is_json(g->cli))
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    cli_show_cut(&line, pdr_str_c(g->id), CLI_TEXT_LINE, 80);
    cli_put(&line, ": ");
    cli_show(&line, pdr_str_c(text), CLI_TEXT_LINE);
    cli_fprintf(stderr, "perdure: %.*s\n", (int)line.len, line.ptr);
    pdr_buf_dispose(&line);
}

/* --- reports -------------------------------------------------------------- */

static const char *const cases[] = {
    [PDR_CHAT_EQUIVALENT] = "the agents need the channels that were saved",
    [PDR_CHAT_ENHANCED] = "all channels are there, and others begin anew",
    [PDR_CHAT_REDUCED] = "some channels have no agent; they are kept",
    [PDR_CHAT_MIXED] = "some channels have no agent and are kept, others begin "
                       "anew",
};

static const char *const findings[] = {
    [PDR_CHAT_RESTORED] = "",
    [PDR_CHAT_MATCHED_BY_KIND] = "its key is another one, its kind is not",
    [PDR_CHAT_TO_CREATE] = "it begins when its agent speaks",
    [PDR_CHAT_PARKED] = "its agent is missing; it is kept as it is",
    [PDR_CHAT_REBUILT] = "",
    [PDR_CHAT_OUT_OF_SYNC] = "it is not what the log says; it is kept",
    [PDR_CHAT_SHORTENED] = "its beginning was left out before",
    [PDR_CHAT_DANGLING_CALL] = "it has no result",
    [PDR_CHAT_NO_AGENT] = "nobody is this one now",
    [PDR_CHAT_OPEN_TURN] = "it had not ended; what was said in it stays",
};

void grp_report_print(const struct grp *g, const pdr_chat_report *report)
{
    static const struct ses_column columns[] = {{"FINDING", false, 0},
                                                {"ABOUT", false, 12},
                                                {"AT", true, 0},
                                                {"NOTE", false, 24}};
    struct ses_grid grid;

    printf("%s%s%s: %s\n\n", cli_on(g->cli->color_out, CLI_BOLD),
           pdr_chat_case_name(report->which), cli_off(g->cli->color_out),
           cases[report->which]);
    ses_grid_init(&grid, columns, CLI_COUNT(columns));
    for (size_t i = 0; i < report->count; i++) {
        const pdr_chat_report_row *row = &report->rows[i];

        ses_grid_putf(&grid, "%s%s", pdr_chat_finding_name(row->what),
                      row->inside.len > 0 ? " (inside)" : "");
        ses_grid_put(&grid,
                     row->kind.len > 0 ? grp_short_name(row->kind) : row->key);
        if (row->seq > 0)
            ses_grid_putf(&grid, "%ju", (uintmax_t)row->seq);
        else
            ses_grid_put(&grid, pdr_str_c(""));
        ses_grid_put(&grid, row->why.len > 0 ? row->why
                                             : pdr_str_c(findings[row->what]));
    }
    ses_grid_print(&grid, g->cli);
    ses_grid_free(&grid);
}

void grp_report_members(pdr_builder *to, const pdr_chat_report *report)
{
    cli_member_text(to, "case", pdr_str_c(pdr_chat_case_name(report->which)));
    pdr_builder_name(to, pdr_str_c("findings"));
    pdr_builder_array(to);
    for (size_t i = 0; i < report->count; i++) {
        const pdr_chat_report_row *row = &report->rows[i];

        pdr_builder_object(to);
        cli_member_text(to, "what",
                        pdr_str_c(pdr_chat_finding_name(row->what)));
        cli_member_text(to, "key", row->key);
        if (row->kind.len > 0)
            cli_member_text(to,
                            row->what == PDR_CHAT_NO_AGENT ? "name" : "kind",
                            row->kind);
        if (row->seq > 0)
            cli_member_count(
                to, row->what == PDR_CHAT_OPEN_TURN ? "turn" : "seq", row->seq);
        if (row->why.len > 0)
            cli_member_text(to, "why", row->why);
        if (row->inside.len > 0)
            cli_member_text(to, "inside", row->inside);
        pdr_builder_end(to);
    }
    pdr_builder_end(to);
}
