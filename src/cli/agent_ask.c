/*
 * agent_ask.c - what is said to an agent, and what comes back.
 *
 * The answer goes to standard output as it comes, calls of tools and what waits
 * for approval to standard error: so that a pipe gets the answer alone.
 */
#include "agent_parts.h"

#define CALL_CELLS 160 /* of a call in its line */

void agt_print_text(struct agt_ask *ask, pdr_str text)
{
    if (text.len == 0 || cli_is_json(ask->cli))
        return;
    cli_print(ask->cli, text);
    ask->at_line_end = text.ptr[text.len - 1] == '\n';
    fflush(stdout);
}

void agt_put_call(pdr_buf *line, pdr_str name, pdr_str arguments)
{
    cli_show(line, name, CLI_TEXT_LINE);
    cli_put(line, "(");
    cli_show_cut(line, arguments, CLI_TEXT_LINE, CALL_CELLS);
    cli_put(line, ")");
}

void agt_tell_call(struct agt_ask *ask, pdr_str name, pdr_str arguments)
{
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);

    if (!ask->at_line_end)
        agt_print_text(ask, pdr_str_c("\n"));
    agt_put_call(&line, name, arguments);
    if (!ask->cli->quiet)
        cli_fprintf(stderr, "perdure: calls %.*s\n", (int)line.len, line.ptr);
    pdr_buf_dispose(&line);
}

void agt_tell_approvals(const pdr_approvals *approvals, bool waits)
{
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);

    for (size_t i = 0; i < approvals->count; i++) {
        const pdr_approval *a = &approvals->items[i];

        pdr_buf_clear(&line);
        if (waits) {
            cli_show(&line, a->id, CLI_TEXT_LINE);
            cli_put(&line, " waits for --approve or --reject: ");
        } else {
            cli_put(&line, "needs approval, and without --session it cannot "
                           "wait: ");
        }
        agt_put_call(&line, a->tool, a->arguments);
        cli_fprintf(stderr, "perdure: %.*s\n", (int)line.len, line.ptr);
    }
    pdr_buf_dispose(&line);
}

void agt_member_approvals(pdr_builder *to, const pdr_approvals *approvals)
{
    if (approvals->count == 0)
        return;
    pdr_builder_name(to, pdr_str_c("approvals"));
    pdr_builder_array(to);
    for (size_t i = 0; i < approvals->count; i++) {
        const pdr_approval *a = &approvals->items[i];

        pdr_builder_object(to);
        cli_member_text(to, "id", a->id);
        cli_member_text(to, "tool", a->tool);
        cli_member_text(to, "arguments", a->arguments);
        pdr_builder_end(to);
    }
    pdr_builder_end(to);
}

/* --- answers -------------------------------------------------------------- */

/* Does one option mean this call? An id counts more than the other's "all". */
static bool means(const char *said, const char *other, pdr_str id)
{
    if (said == NULL)
        return false;
    return pdr_str_equal(id, pdr_str_c(said)) ||
           (strcmp(said, "all") == 0 &&
            (other == NULL || !pdr_str_equal(id, pdr_str_c(other))));
}

pdr_rc agt_answers(pdr_answer **out, size_t *count, const struct agt_ask *ask,
                   const pdr_approvals *waiting, pdr_err *err)
{
    const char *said[] = {ask->approve, ask->reject};
    pdr_str reason = pdr_str_c(ask->reason != NULL ? ask->reason : "");

    *out = cli_realloc(NULL, waiting->count, sizeof(**out));
    *count = 0;
    for (size_t k = 0; k < 2; k++) {
        size_t before = *count;

        for (size_t i = 0; i < waiting->count; i++) {
            pdr_str id = waiting->items[i].id;

            if (means(said[k], said[1 - k], id))
                (*out)[(*count)++] = (pdr_answer){id, k == 0, reason};
        }
        if (said[k] == NULL || *count > before)
            continue;
        agt_tell_approvals(waiting, true);
        return pdr_err_set(err, PDR_ENOTFOUND, "no_approval",
                           waiting->count > 0
                               ? "no call '%.64s' waits for approval"
                               : "no call waits for approval",
                           said[k]);
    }
    return PDR_OK;
}
