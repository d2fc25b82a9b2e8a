/*
 * prompt.c - what a model is asked about a conversation.
 *
 *      "Who is next of {{$_agents_}}? {{$_history_}}"
 *        │ taken apart, once
 *        ▼
 *      text, agents, text, history ──► one message ──► model ──► text
 *
 * WHY  A template that cannot be filled in is a mistake of the program, so it
 *      is found when the chat is made. What is filled in is not looked into: a
 *      message that says "{{$_agents_}}" is told as it is.
 *
 * NOT HERE  What the answer means (select.c, terminate.c).
 */
#include "document.h"

#include "chat.h"

struct piece {
    enum { PIECE_TEXT, PIECE_AGENTS, PIECE_HISTORY } kind;
    pdr_str text; /* in arena */
};

struct pdr__prompt {
    struct pdr__arena memory;
    struct piece *pieces; /* owned */
    size_t count, cap;
    pdr_client *client; /* owned */
    bool has_names_only;
    pdr_reduction reduction; /* its client is owned */
};

/* --- names ----------------------------------------------------------------
 */

pdr_str pdr__agent_called(const pdr_agent *agent)
{
    pdr_str name = pdr_agent_name(agent);

    return name.len > 0 ? name : pdr_agent_id(agent);
}

bool pdr__is_same_name(pdr_str a, pdr_str b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++) {
        if (pdr__ascii_lower(a.ptr[i]) != pdr__ascii_lower(b.ptr[i]))
            return false;
    }
    return true;
}

/* --- templates ------------------------------------------------------------
 */

/* What `inner`, which was between braces, stands for. */
static pdr_rc piece_find(struct piece *out, pdr_str inner,
                         const pdr_chat_prompt *parts, const char *agent,
                         const char *history, pdr_err *err)
{
    char shown[PDR_SHOWN];
    pdr_str name = inner;

    while (name.len > 0 && strchr(" \t\r\n", name.ptr[0]) != NULL)
        name = pdr_str_n(name.ptr + 1, name.len - 1);
    while (name.len > 0 && strchr(" \t\r\n", name.ptr[name.len - 1]) != NULL)
        name.len--;
    if (name.len > 0 && name.ptr[0] == '$') {
        name = pdr_str_n(name.ptr + 1, name.len - 1);
        out->kind = PIECE_AGENTS;
        if (pdr__is_same_name(name, pdr_str_c(agent)))
            return PDR_OK;
        out->kind = PIECE_HISTORY;
        if (pdr__is_same_name(name, pdr_str_c(history)))
            return PDR_OK;
        out->kind = PIECE_TEXT;
        for (size_t i = 0; i < parts->argument_count; i++) {
            out->text = pdr_str_c(parts->arguments[i].value);
            if (pdr__is_same_name(name, pdr_str_c(parts->arguments[i].name)))
                return PDR_OK;
        }
    }
    return PDR_FAIL(err, BAD_PROMPT,
                    "a template has {{%s}}, which is neither {{$%s}}, {{$%s}} "
                    "nor an argument",
                    pdr__shown(shown, inner), agent, history);
}

static pdr_rc piece_add(struct pdr__prompt *prompt, struct piece piece,
                        pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__utf8_check(piece.text, err));
    PDR_TRY(pdr__arena_keep(&piece.text, &prompt->memory, err));
    PDR_TRY(pdr__grow((void **)&prompt->pieces, &prompt->cap, prompt->count + 1,
                      sizeof(*prompt->pieces), err));
    prompt->pieces[prompt->count++] = piece;
done:
    return rc;
}

static pdr_rc template_take(struct pdr__prompt *prompt,
                            const pdr_chat_prompt *parts, const char *agent,
                            const char *history, pdr_err *err)
{
    const char *at = parts->text, *open = NULL, *close = NULL;
    struct piece piece = {.kind = PIECE_TEXT};
    pdr_rc rc = PDR_OK;

    while ((open = strstr(at, "{{")) != NULL) {
        close = strstr(open, "}}");
        if (close == NULL)
            return PDR_FAIL(err, BAD_PROMPT,
                            "a template has '{{' at byte %zu, and no '}}' "
                            "after it",
                            (size_t)(open - parts->text));
        piece = (struct piece){PIECE_TEXT, pdr_str_n(at, (size_t)(open - at))};
        PDR_TRY(piece_add(prompt, piece, err));
        PDR_TRY(piece_find(&piece,
                           pdr_str_n(open + 2, (size_t)(close - open) - 2),
                           parts, agent, history, err));
        PDR_TRY(piece_add(prompt, piece, err));
        at = close + 2;
    }
    piece = (struct piece){PIECE_TEXT, pdr_str_c(at)};
    PDR_TRY(piece_add(prompt, piece, err));
done:
    return rc;
}

pdr_rc pdr__prompt_new(struct pdr__prompt **out, const pdr_chat_prompt *parts,
                       const char *agent, pdr_err *err)
{
    const char *history = "_history_";
    struct pdr__prompt *prompt = NULL;
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (parts->client == NULL || parts->text == NULL)
        return PDR_FAIL(err, MISSING_SLOT, "%s",
                        "a prompt lacks its client or its template");
    if (parts->agent_variable != NULL)
        agent = parts->agent_variable;
    if (parts->history_variable != NULL)
        history = parts->history_variable;
    for (size_t i = 0; i < parts->argument_count; i++) {
        const pdr_chat_argument *argument = &parts->arguments[i];

        if (argument->name == NULL || argument->value == NULL)
            return PDR_FAIL(err, BAD_PROMPT,
                            "argument %zu of a prompt has no name or no value",
                            i);
        if (pdr__is_same_name(pdr_str_c(argument->name), pdr_str_c(agent)) ||
            pdr__is_same_name(pdr_str_c(argument->name), pdr_str_c(history)))
            return PDR_FAIL(err, BAD_PROMPT,
                            "an argument of a prompt is called '%s', and so is "
                            "what the chat fills in",
                            argument->name);
    }
    prompt = pdr__calloc(1, sizeof(*prompt));
    if (prompt == NULL)
        return pdr__nomem(err);
    prompt->memory = (struct pdr__arena)PDR_ARENA_INIT(SIZE_MAX);
    prompt->client = pdr_client_ref(parts->client);
    prompt->has_names_only = parts->has_names_only;
    PDR_TRY(pdr__reduction_check(&parts->reduction, err));
    PDR_TRY(pdr__reduction_copy(&prompt->reduction, &parts->reduction,
                                &prompt->memory, err));
    PDR_TRY(template_take(prompt, parts, agent, history, err));
    *out = prompt;
    prompt = NULL;
done:
    pdr__prompt_free(prompt);
    return rc;
}

void pdr__prompt_free(struct pdr__prompt *prompt)
{
    if (prompt == NULL)
        return;
    pdr_client_free(prompt->client);
    pdr_client_free(prompt->reduction.client);
    pdr__free(prompt->pieces);
    pdr__arena_dispose(&prompt->memory);
    pdr__free(prompt);
}

/* --- what was said --------------------------------------------------------
 */

bool pdr__text_is_blank(const pdr_value *text)
{
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_str bytes = {NULL, 0};
    bool is_blank = true;

    if (pdr_value_text(&bytes, text, &scratch, NULL) != PDR_OK)
        is_blank = false;
    for (size_t i = 0; i < bytes.len; i++)
        is_blank &= bytes.ptr[i] == ' ' || bytes.ptr[i] == '\t' ||
                    bytes.ptr[i] == '\n' || bytes.ptr[i] == '\r';
    pdr_buf_dispose(&scratch);
    return is_blank;
}

static void put_member(struct out *out, const char *name, const pdr_value *text)
{
    pdr__put_c(out, name);
    if (text == NULL)
        pdr__put_c(out, "\"\"");
    else
        pdr__put_net_string(out, text, false);
}

pdr_rc pdr__history_text(pdr_buf *out, const pdr_value *const *messages,
                         size_t count, bool has_names_only, pdr_err *err)
{
    const char *gap = "\n";
    struct out to;
    pdr_rc rc = PDR_OK;

    pdr__out_init(&to, err, pdr_write_buf, out);
    pdr__put_c(&to, "[");
    for (size_t i = 0; i < count; i++) {
        const pdr_value *text = pdr__first_text(messages[i]);
        const pdr_value *role = pdr_message_role(messages[i], PDR_SHAPE_SK);
        const pdr_value *name = pdr_message_author(messages[i], PDR_SHAPE_SK);

        if (text == NULL || pdr__text_is_blank(text))
            continue;
        pdr__put_c(&to, gap);
        gap = ",\n";
        if (has_names_only) {
            if (name != NULL && pdr_value_text_is(name, PDR_LIT("")))
                name = NULL;
            put_member(&to, "  ", name != NULL ? name : role);
            continue;
        }
        put_member(&to, "  {\n    \"Role\": ", role);
        if (name != NULL)
            put_member(&to, ",\n    \"Name\": ", name);
        put_member(&to, ",\n    \"Content\": ", text);
        pdr__put_c(&to, "\n  }");
    }
    pdr__put_c(&to, gap[0] == ',' ? "\n]" : "]");
    pdr__out_flush(&to);
    rc = to.rc;
    pdr__out_dispose(&to);
    return rc;
}

/* Append what was said, as far as the model is to hear of it. */
static pdr_rc history_put(pdr_buf *out, const struct pdr__prompt *prompt,
                          const pdr_chat_view *view, pdr_err *err)
{
    size_t count = (size_t)view->message_count, kept = 0;
    const pdr_value **all = pdr__calloc(2 * count + 2, sizeof(*all));
    const pdr_value **list = NULL; /* what stays of them */
    struct pdr__cut cut = {.index = 0};
    pdr_chat_message message;
    pdr_rc rc = PDR_OK;

    if (all == NULL)
        return pdr__nomem(err);
    list = all + count;
    for (size_t i = 0; i < count; i++) {
        if (pdr_chat_message_at(&message, view->chat, i + 1))
            all[i] = message.value;
    }
    PDR_TRY(
        pdr__reduce(&cut, all, count, &prompt->reduction, view->cancel, err));
    for (; kept < cut.before_count; kept++)
        list[kept] = cut.before[kept];
    for (size_t i = cut.index; i < count; i++)
        list[kept++] = all[i];
    PDR_TRY(pdr__history_text(out, list, kept, prompt->has_names_only, err));
done:
    pdr__cut_dispose(&cut);
    pdr__free(all);
    return rc;
}

/* --- asking ---------------------------------------------------------------
 */

pdr_rc pdr__prompt_ask(pdr_buf *out, const struct pdr__prompt *prompt,
                       const pdr_chat_view *view, pdr_str agents, pdr_err *err)
{
    const pdr_shape shape = PDR_SHAPE_DOTNET;
    pdr_buf text = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_value *message = NULL;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < prompt->count; i++) {
        const struct piece *piece = &prompt->pieces[i];

        if (piece->kind == PIECE_HISTORY)
            PDR_TRY(history_put(&text, prompt, view, err));
        else
            PDR_TRY(pdr_buf_append(
                &text, piece->kind == PIECE_AGENTS ? agents : piece->text,
                err));
    }
    PDR_TRY(pdr_message_new_text(&message, shape, PDR_LIT("user"),
                                 pdr_buf_str(&text), err));
    const pdr_request_message asked = {message, shape, PDR_ORIGIN_CALLER};
    PDR_TRY(pdr__model_ask(out, prompt->client, &asked, 1, view->cancel, err));
done:
    pdr_value_free(message);
    pdr_buf_dispose(&text);
    return rc;
}
