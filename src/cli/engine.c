/*
 * engine.c - an engine for one command, and how runs end.
 */
#include "engine_parts.h"

#include <stdlib.h>

/* --- an engine ------------------------------------------------------------ */

/* A pdr_log_fn: what went wrong, and will be tried again or not. */
static void on_event(pdr_log_level level, pdr_str event,
                     const pdr_log_field *fields, size_t count, void *arg)
{
    const struct cli *cli = arg;
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);

    if (level < PDR_LOG_WARNING || cli->quiet || cli_is_json(cli) ||
        pdr_str_equal(event, pdr_str_c("run_handed_back")))
        return;
    for (size_t i = 0; i < event.len; i++)
        cli_putf(&line, "%c", event.ptr[i] == '_' ? ' ' : event.ptr[i]);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(fields[i].name, "tenant") == 0 || fields[i].text.ptr == NULL)
            continue;
        cli_putf(&line, ", %s ", fields[i].name);
        cli_show_cut(&line, fields[i].text, CLI_TEXT_LINE, 80);
    }
    cli_fprintf(stderr, "perdure: %.*s\n", (int)line.len, line.ptr);
    pdr_buf_dispose(&line);
}

pdr_rc eng_open(struct eng *e, pdr_err *err)
{
    const pdr_engine_opts opts = {.lease_ms = (uint32_t)e->lease * 1000,
                                  .log = on_event,
                                  .log_arg = e->cli};
    const pdr_durable_agent agent = {.agent = e->agent};
    pdr_durable_opts durable = {
        .agents = &agent,
        .count = 1,
        .only = {.tenant = pdr_str_c(sto_tenant(e->from))}};
    pdr_rc rc = PDR_OK;

    CLI_TRY(sto_open(&e->store, e->from, e->mode, err));
    CLI_TRY(pdr_engine_new(&e->engine, e->store, &opts, err));
    if (e->agent == NULL)
        goto done;
    if (e->only != NULL)
        durable.only.id = pdr_str_c(e->only);
    CLI_TRY(pdr_durable_new(&e->durable, &durable, err));
    CLI_TRY(pdr_durable_attach(e->engine, e->durable, err));
done:
    return rc;
}

void eng_close(struct eng *e)
{
    pdr_engine_free(e->engine);
    pdr_durable_free(e->durable);
    pdr_store_close(e->store);
}

/* --- ids ------------------------------------------------------------------ */

pdr_rc eng_put_id(pdr_buf *out, const char *text, pdr_err *err)
{
    pdr_str agent = {NULL, 0}, key = {NULL, 0};
    pdr_rc rc = PDR_OK;

    CLI_TRY(pdr_durable_id_read(&agent, &key, NULL, pdr_str_c(text), err));
    if (key.len == 0) /* it would be a new one */
        return pdr_err_set(err, PDR_EINVALID, "bad_id",
                           "'%.120s' has no key behind the name of its agent",
                           text);
    CLI_TRY(pdr_durable_id_write(out, agent, key, err));
    cli_must(pdr_buf_append(out, pdr_str_n("", 1), NULL), NULL);
done:
    return rc;
}

int eng_take_id(pdr_buf *out, struct cli *cli, const char *text)
{
    pdr_err err = PDR_ERR_INIT;

    pdr_buf_clear(out);
    if (eng_put_id(out, text, &err) == PDR_OK)
        return 0;
    return doc_usage(cli, "ID", err.message,
                     "a durable session is called @dafx-NAME@KEY; 'perdure "
                     "session list' shows what is there");
}

void eng_put_word(pdr_buf *out, const char *text, const char *placeholder)
{
    char word[CLI_WORD_MAX];

    cli_putf(out, " %s", cli_word(word, text, placeholder));
}

void eng_put_command(pdr_buf *out, const struct sto_from *from,
                     const char *verb)
{
    cli_putf(out, "perdure %s", verb);
    if (!from->is_default) {
        cli_put(out, " --store");
        eng_put_word(out, from->uri, "STORE");
    }
    if (from->tenant != NULL) {
        cli_put(out, " --tenant");
        eng_put_word(out, from->tenant, "TENANT");
    }
    if (from->key != NULL) {
        cli_put(out, " --key");
        eng_put_word(out, from->key, "FILE");
    }
}

void eng_put_conversion(pdr_buf *out, const struct sto_from *from,
                        const char *id, const char *durable_id)
{
    bool is_same = strcmp(id, durable_id) == 0;

    /* In its own place it keeps its metadata, and must not lose the rest. */
    eng_put_command(out, from,
                    is_same ? "session export -q --bare" : "session export -q");
    eng_put_word(out, id, "ID");
    cli_putf(out, " - | perdure session convert -q --shape state%s - - | ",
             is_same ? " --strict" : "");
    eng_put_command(out, from, "session import");
    cli_put(out, is_same ? " --replace --id" : " --id");
    eng_put_word(out, durable_id, "@dafx-NAME@KEY");
    cli_put(out, " -");
}

/* --- how a run ended ------------------------------------------------------ */

const char *eng_state_name(pdr_operation_state state)
{
    static const char *const names[] = {"open", "completed", "failed",
                                        "cancelled"};

    return (size_t)state < CLI_COUNT(names) ? names[state] : "?";
}

pdr_rc eng_end_take(struct eng_end *out, pdr_ending *ending, pdr_err *err)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    out->state = ending->state;
    out->is_gone = ending->is_gone;
    if (ending->outcome.ptr != NULL)
        CLI_TRY(ses_store_value(&out->outcome, ending->outcome, err));
    if (ending->answer.ptr != NULL)
        CLI_TRY(ses_store_value(&out->answer, ending->answer, err));
    pdr_iter_init(&it, pdr_entry_messages(out->answer));
    while (out->answer != NULL && pdr_iter_next(&it)) {
        pdr_buf_clear(&text);
        CLI_TRY(pdr_message_text(&text, it.value, PDR_SHAPE_STATE, err));
        if (text.len > 0 && out->text.len > 0 &&
            out->text.ptr[out->text.len - 1] != '\n')
            cli_put(&out->text, "\n"); /* a tool was called between them */
        CLI_TRY(pdr_buf_append(&out->text, pdr_buf_str(&text), err));
    }
done:
    pdr_buf_dispose(&text);
    pdr_ending_free(ending);
    return rc;
}

void eng_end_free(struct eng_end *end)
{
    pdr_value_free(end->outcome);
    pdr_value_free(end->answer);
    pdr_buf_dispose(&end->text);
}

pdr_str eng_end_text(const struct eng_end *end, const char *name,
                     pdr_buf *scratch)
{
    const pdr_value *member =
        end->outcome != NULL && pdr_value_kind(end->outcome) == PDR_OBJECT
            ? pdr_value_get_c(end->outcome, name)
            : NULL;

    return doc_text(member, scratch);
}

void eng_end_members(pdr_builder *to, const struct eng_end *end)
{
    static const char *const texts[] = {"code", "message"};
    const pdr_value *messages = pdr_entry_messages(end->answer);
    const pdr_value *usage = pdr_entry_usage(end->answer);
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);

    cli_member_text(to, "state", pdr_str_c(eng_state_name(end->state)));
    for (size_t i = 0; i < CLI_COUNT(texts); i++) {
        pdr_str text = eng_end_text(end, texts[i], &scratch);

        if (text.len > 0)
            cli_member_text(to, texts[i], text);
    }
    if (end->is_gone)
        cli_member_bool(to, "answerRemoved", true);
    if (end->answer != NULL)
        cli_member_text(to, "text", pdr_buf_str(&end->text));
    if (messages != NULL) {
        pdr_builder_name(to, pdr_str_c("messages"));
        pdr_builder_value(to, messages);
    }
    if (usage != NULL) {
        pdr_builder_name(to, pdr_str_c("usage"));
        pdr_builder_value(to, usage);
    }
    pdr_buf_dispose(&scratch);
}

int eng_end_fail(const struct cli *cli, const char *run,
                 const struct eng_end *end)
{
    pdr_buf code = PDR_BUF_INIT(SIZE_MAX), message = code, name = code;
    struct cli_about about = {.hint = NULL};
    pdr_err err = PDR_ERR_INIT;
    pdr_str slug = eng_end_text(end, "code", &code);
    pdr_str text = eng_end_text(end, "message", &message);
    pdr_rc rc = pdr_reason_code(slug);
    char reason[64];
    int status = 0;

    snprintf(reason, sizeof(reason), "%.*s", (int)slug.len,
             slug.ptr != NULL ? slug.ptr : "");
    if (rc == PDR_OK) /* a reason that this version does not know */
        rc = end->state == PDR_OPERATION_CANCELLED ? PDR_ECANCELLED : (pdr_rc)1;
    if (text.len == 0)
        text =
            pdr_str_c(end->state == PDR_OPERATION_CANCELLED ? "it was cancelled"
                                                            : "it failed");
    pdr_err_set(&err, rc, reason, "%.*s", (int)text.len, text.ptr);
    cli_putf(&name, "run %.120s", run);
    cli_must(pdr_buf_append(&name, pdr_str_n("", 1), NULL), NULL);
    about.name = name.ptr;
    status = cli_fail(cli, &about, &err);
    pdr_buf_dispose(&name);
    pdr_buf_dispose(&message);
    pdr_buf_dispose(&code);
    return status;
}

/* --- failures ------------------------------------------------------------- */

/* What to do about it; false: only sto_hint() knows. */
static bool put_hint(pdr_buf *hint, const struct sto_from *from, const char *id,
                     const char *run, const pdr_err *err)
{
    const char *reason = err->reason;

    if (strcmp(reason, "no_completion") == 0) {
        cli_put(hint, "'");
        eng_put_command(hint, from, "run list");
        eng_put_word(hint, id, "ID");
        cli_put(hint, "' shows the runs of the session");
    } else if (strcmp(reason, "response_timeout") == 0) {
        cli_put(hint, "'");
        eng_put_command(hint, from, "run show");
        eng_put_word(hint, id, "ID");
        eng_put_word(hint, run, "RUN");
        cli_put(hint, "' shows whether somebody is at work on it");
    } else if (strcmp(reason, "session_kind") == 0) {
        cli_put(hint, "nothing was changed; this makes it durable: ");
        eng_put_conversion(hint, from, id, id);
    } else if (strcmp(reason, "correlation_reused") == 0) {
        cli_put(hint, "leave --correlation out, or write another id");
    } else if (strcmp(reason, "cursor_gone") == 0 ||
               strcmp(reason, "bad_cursor") == 0) {
        cli_put(hint, "leave --after out to begin with the first event that "
                      "is kept");
    } else if (strcmp(reason, "inbox_full") == 0) {
        cli_put(hint, "'");
        eng_put_command(hint, from, "run list");
        eng_put_word(hint, id, "ID");
        cli_put(hint, "' shows what waits");
    } else {
        return false;
    }
    return true;
}

int eng_fail(const struct cli *cli, const struct sto_from *from, const char *id,
             const char *run, const pdr_err *err)
{
    pdr_buf hint = PDR_BUF_INIT(SIZE_MAX);
    struct cli_about about = {.name = sto_name(from)};
    pdr_err shown = *err;
    int status = 0;

    if (strcmp(err->reason, "no_completion") == 0)
        pdr_err_set(&shown, err->code, "no_completion",
                    "session '%.80s' has no run '%.80s'", id,
                    run != NULL ? run : "");
    if (!put_hint(&hint, from, id, run, err))
        return sto_fail(cli, from, err);
    cli_must(pdr_buf_append(&hint, pdr_str_n("", 1), NULL), NULL);
    about.hint = hint.ptr;
    status = cli_fail(cli, &about, &shown);
    pdr_buf_dispose(&hint);
    return status;
}
