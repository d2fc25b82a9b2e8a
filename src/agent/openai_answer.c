/*
 * openai_answer.c - what a Chat Completions server answers, as pieces.
 *
 * WHY  Servers agree on the shape of a chunk and on little else: calls come in
 *      fragments that are told apart by an index, by an id, by both or by
 *      neither; indexes are used twice, ids are missing. Texts are handed over
 *      at once. Calls are put together in slots and handed over at the end,
 *      when nothing can be added to one any more.
 *
 *      chunk ─► text, reasoning ─────────────────────► update
 *        └────► fragment ─► locate_slot() ─► slot ─┐
 *      end ────────────────────────────────────────┴─► calls, usage, finish
 *
 * A whole answer (chat.completion) is a chunk whose choice has a `message` in
 * the place of `delta`, so one function reads both.
 *
 * NOT HERE  Bytes and events (net/sse.c), HTTP and retries (client_http.c).
 */
#include <stdio.h>

#include "agent.h"

/* --- errors of servers -----------------------------------------------------
 */

static const struct {
    enum pdr__reason reason;
    const char *phrase;
} classes[] = {
    {PDR_R_MODEL_REQUEST, "the model server refused the request"},
    {PDR_R_MODEL_CONTEXT, "the conversation is too long for the model"},
    {PDR_R_MODEL_AUTH, "the model server did not accept the key"},
    {PDR_R_MODEL_QUOTA, "the account at the model server has no quota left"},
    {PDR_R_MODEL_RATE_LIMIT, "the model server asks to slow down"},
    {PDR_R_MODEL_TRANSIENT, "the model server asks to try again"},
    {PDR_R_MODEL_SERVER, "the model server failed"},
    {PDR_R_MODEL_PROTOCOL, "the model server answered with an error"},
};

static bool text_has(pdr_str text, const char *part)
{
    return text.len > 0 && memmem(text.ptr, text.len, part, strlen(part));
}

/* The row of `classes` for a status and what the server says of it. */
static size_t classify(int status, pdr_str code, pdr_str type, pdr_str message)
{
    if (status == 400 || status == 413 || status == 200)
        if (text_has(code, "context_length") ||
            text_has(type, "context_size") ||
            text_has(message, "context length") ||
            text_has(message, "context size"))
            return 1;
    if ((status == 429 || status == 200) &&
        (text_has(code, "insufficient_quota") ||
         text_has(type, "insufficient_quota") || text_has(type, "billing")))
        return 3;
    switch (status) {
    case 401:
    case 403:
        return 2;
    case 408:
    case 409:
    case 425:
        return 5;
    case 429:
        return 4;
    case 501:
        return 0;
    default:
        return status >= 500 ? 6 : status >= 300 ? 0 : 7;
    }
}

/* The length of the longest secret that begins here; 0: none does. */
static size_t secret_len(pdr_str rest, const struct pdr__secrets *secrets)
{
    size_t len = 0;

    for (size_t i = 0; i < secrets->count; i++) {
        pdr_str secret = secrets->texts[i];

        if (secret.len > len && secret.len <= rest.len &&
            memcmp(rest.ptr, secret.ptr, secret.len) == 0)
            len = secret.len;
    }
    return len;
}

const char *pdr__openai_shown(char out[PDR_SERVER_TEXT], pdr_str text,
                              const struct pdr__secrets *secrets)
{
    size_t len = 0;

    for (size_t at = 0; at < text.len;) {
        pdr_str rest = pdr_str_n(text.ptr + at, text.len - at);
        size_t hidden = secret_len(rest, secrets);
        size_t one = pdr__utf8_len(rest.ptr, rest.ptr + rest.len);
        unsigned char c = (unsigned char)rest.ptr[0];
        pdr_str put = pdr_str_n(rest.ptr, one);

        if (hidden > 0)
            put = PDR_LIT("***");
        else if (one == 0 || c < 0x20 || c == 0x7F)
            put = c == '\n' ? PDR_LIT(" ") : PDR_LIT("?");
        if (len + put.len >= PDR_SERVER_TEXT)
            break;
        memcpy(out + len, put.ptr, put.len);
        len += put.len;
        at += hidden > 0 ? hidden : one > 0 ? one : 1;
    }
    out[len] = '\0';
    return out;
}

/* The text of a member, or empty. */
static pdr_str member_text(const pdr_value *object, const char *name,
                           pdr_buf *room)
{
    const pdr_value *member = pdr__member(object, name, PDR_STRING);
    pdr_str text = PDR_LIT("");

    if (member != NULL &&
        pdr__value_sound_text(&text, member, room, NULL) != PDR_OK)
        text = PDR_LIT("");
    return text;
}

/* Fail with what an answer says; `raw` is for a body that is not JSON: text, or
 * a page of a proxy. */
static pdr_rc answer_fail(int status, const pdr_value *body, pdr_str raw,
                          const struct pdr__secrets *secrets, pdr_err *err)
{
    const pdr_value *error = pdr_value_get_c(body, "error");
    const pdr_value *number = pdr_value_get_c(error, "code");
    pdr_buf rooms[3] = {PDR_BUF_INIT(SIZE_MAX), PDR_BUF_INIT(SIZE_MAX),
                        PDR_BUF_INIT(SIZE_MAX)};
    pdr_str code = member_text(error, "code", &rooms[0]);
    pdr_str type = member_text(error, "type", &rooms[1]);
    pdr_str message = member_text(error, "message", &rooms[2]);
    char shown[PDR_SERVER_TEXT], where[24] = "";
    int64_t own = 0;
    size_t row = 0;

    /* An error in a stream has its status inside. */
    if (status == 200 && number != NULL &&
        pdr_value_int64(&own, number, NULL) == PDR_OK && own >= 400 &&
        own <= 599)
        status = (int)own;
    if (message.len == 0)
        message = member_text(body, "error", &rooms[2]);
    if (message.len == 0)
        message = member_text(body, "detail", &rooms[2]);
    if (message.len == 0)
        message = member_text(body, "message", &rooms[2]);
    if (message.len == 0)
        message = raw;
    row = classify(status, code, type, message);
    (void)pdr__openai_shown(shown, message, secrets);
    if (status != 200)
        snprintf(where, sizeof(where), " (HTTP %d)", status);
    pdr__fail(err, classes[row].reason, PDR__WHERE, "%s%s%s%s",
              classes[row].phrase, where, shown[0] != '\0' ? ": " : "", shown);
    for (size_t i = 0; i < PDR_COUNT(rooms); i++)
        pdr_buf_dispose(&rooms[i]);
    return PDR_EMODEL;
}

pdr_rc pdr__openai_fail(int status, pdr_str body,
                        const struct pdr__secrets *secrets, pdr_err *err)
{
    pdr_value *value = NULL;
    pdr_rc rc = pdr_json_read(&value, body, NULL, NULL);

    rc = answer_fail(status, value, rc == PDR_OK ? PDR_LIT("") : body, secrets,
                     err);
    pdr_value_free(value);
    return rc;
}

/* --- pieces ----------------------------------------------------------------
 */

void pdr__openai_answer_init(struct pdr__openai_answer *a,
                             const pdr_client_request *request,
                             const struct pdr__secrets *secrets,
                             pdr_update_fn fn, void *arg)
{
    *a = (struct pdr__openai_answer){
        .request = request,
        .secrets = secrets,
        .fn = fn,
        .arg = arg,
        .rand = pdr__rand_system(),
        .finish = PDR_BUF_INIT(PDR_MAX_ANSWER_BYTES),
        .id = PDR_BUF_INIT(PDR_MAX_ANSWER_BYTES),
        .model = PDR_BUF_INIT(PDR_MAX_ANSWER_BYTES),
        .refusal = PDR_BUF_INIT(PDR_MAX_ANSWER_BYTES),
        .scratch = PDR_BUF_INIT(PDR_MAX_ANSWER_BYTES)};
}

void pdr__openai_answer_dispose(struct pdr__openai_answer *a)
{
    for (size_t i = 0; i < a->count; i++) {
        pdr_buf_dispose(&a->slots[i].id);
        pdr_buf_dispose(&a->slots[i].name);
        pdr_buf_dispose(&a->slots[i].arguments);
    }
    pdr__free(a->slots);
    pdr_value_free(a->usage);
    pdr_buf_dispose(&a->finish);
    pdr_buf_dispose(&a->id);
    pdr_buf_dispose(&a->model);
    pdr_buf_dispose(&a->refusal);
    pdr_buf_dispose(&a->scratch);
}

/* Hand over one content (taken, also on failure; NULL: none). */
static pdr_rc give_content(struct pdr__openai_answer *a, pdr_value *content,
                           pdr_str finish, pdr_err *err)
{
    const pdr_value *const contents[] = {content};
    const pdr_update update = {.role = PDR_LIT("assistant"),
                               .message_id = pdr_buf_str(&a->id),
                               .response_id = pdr_buf_str(&a->id),
                               .model = pdr_buf_str(&a->model),
                               .created_at = a->created_at,
                               .contents = contents,
                               .content_count = content != NULL,
                               .finish_reason = finish};
    pdr_rc rc = PDR_OK;

    a->has_given = true;
    rc = a->fn(&update, err, a->arg);
    pdr_value_free(content);
    return rc;
}

/* Hand over the text of a member, if it has one. */
static pdr_rc give_text(struct pdr__openai_answer *a, const pdr_value *delta,
                        const char *name, pdr_content_kind kind, pdr_err *err)
{
    const pdr_value *member = pdr__member(delta, name, PDR_STRING);
    pdr_content_part part = {PDR_FIELD_TEXT, NULL};
    pdr_value *string = NULL, *content = NULL;
    pdr_str text = PDR_LIT("");
    pdr_rc rc = PDR_OK;

    if (member == NULL)
        return PDR_OK;
    PDR_TRY(pdr__value_sound_text(&text, member, &a->scratch, err));
    if (text.len == 0)
        goto done;
    PDR_TRY(pdr_value_new_string(&string, text, err));
    part.value = string;
    PDR_TRY(pdr_content_new(&content, a->request->shape, kind, &part, 1, err));
    rc = give_content(a, content, PDR_LIT(""), err);
done:
    pdr_value_free(string);
    return rc;
}

/* Append the text of a string; to `once` only if it is empty so far. */
static pdr_rc add_text(pdr_buf *to, struct pdr__openai_answer *a,
                       const pdr_value *string, bool once, pdr_err *err)
{
    pdr_str text = PDR_LIT("");
    pdr_rc rc = PDR_OK;

    if (string == NULL || (once && to->len > 0))
        return PDR_OK;
    PDR_TRY(pdr__value_sound_text(&text, string, &a->scratch, err));
    rc = pdr_buf_append(to, text, err);
done:
    return rc;
}

/* --- calls -----------------------------------------------------------------
 */

static pdr_rc slot_new(struct pdr__openai_slot **out,
                       struct pdr__openai_answer *a, pdr_err *err)
{
    const pdr_buf none = PDR_BUF_INIT(PDR_MAX_ANSWER_BYTES);
    pdr_rc rc = PDR_OK;

    if (a->count == PDR_MAX_ANSWER_CALLS)
        return PDR_FAIL(err, MODEL_PROTOCOL,
                        "the answer of the model has more than %u calls",
                        PDR_MAX_ANSWER_CALLS);
    rc = pdr__grow((void **)&a->slots, &a->cap, a->count + 1, sizeof(*a->slots),
                   err);
    if (rc != PDR_OK)
        return rc;
    *out = &a->slots[a->count++];
    **out = (struct pdr__openai_slot){none, none, none};
    return PDR_OK;
}

/* The slot that a fragment belongs to: by its id, by its index, a new one for
 * a name, else the slot of the fragment before it. */
static pdr_rc locate_slot(struct pdr__openai_slot **out,
                          struct pdr__openai_answer *a,
                          const pdr_value *fragment, const pdr_value *id,
                          bool has_name, pdr_err *err)
{
    const pdr_value *number = pdr_value_get_c(fragment, "index");
    uint64_t index = 0;
    bool has_index = number != NULL &&
                     pdr_value_uint64(&index, number, NULL) == PDR_OK &&
                     index < PDR_COUNT(a->by_index);
    size_t at = a->last;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; id != NULL && i < a->count; i++) {
        if (pdr_value_text_is(id, pdr_buf_str(&a->slots[i].id))) {
            at = i;
            goto found;
        }
    }
    if (has_index && a->by_index[index] != 0) {
        at = a->by_index[index] - 1u;
        /* An id and a name of its own: the index of another call again. An id
         * alone: some servers put a fresh one on every fragment. */
        if (id == NULL || a->slots[at].id.len == 0 || !has_name)
            goto found;
    } else if (!has_index && !has_name && a->count > 0) {
        goto found;
    }
    rc = slot_new(out, a, err);
    if (rc != PDR_OK)
        return rc;
    at = a->count - 1;
    if (has_index)
        a->by_index[index] = (uint16_t)a->count;
found:
    a->last = at;
    *out = &a->slots[at];
    return PDR_OK;
}

static pdr_rc take_fragment(struct pdr__openai_answer *a,
                            const pdr_value *fragment, pdr_err *err)
{
    const pdr_value *id = pdr__member(fragment, "id", PDR_STRING);
    const pdr_value *function = pdr_value_get_c(fragment, "function");
    const pdr_value *name = pdr__member(function, "name", PDR_STRING);
    const pdr_value *arguments = pdr_value_get_c(function, "arguments");
    struct pdr__openai_slot *slot = NULL;
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(fragment) != PDR_OBJECT)
        return PDR_OK;
    if (pdr_value_text_is(id, PDR_LIT("")))
        id = NULL;
    if (pdr_value_text_is(name, PDR_LIT("")))
        name = NULL;
    PDR_TRY(locate_slot(&slot, a, fragment, id, name != NULL, err));
    PDR_TRY(add_text(&slot->id, a, id, true, err));
    PDR_TRY(add_text(&slot->name, a, name, true, err));
    if (arguments != NULL && pdr_value_kind(arguments) == PDR_STRING) {
        PDR_TRY(add_text(&slot->arguments, a, arguments, false, err));
    } else if (arguments != NULL && pdr_value_kind(arguments) == PDR_OBJECT) {
        pdr_buf_clear(&slot->arguments);
        PDR_TRY(pdr_json_write(&slot->arguments, arguments, NULL, err));
    }
done:
    return rc;
}

/* An id for a call that has none: "call_" and 24 characters. */
static pdr_rc make_id(pdr_buf *out, const struct pdr__rand *source,
                      pdr_err *err)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned char bytes[24];
    char id[24];
    pdr_rc rc = pdr__rand_fill(bytes, source, sizeof(bytes), err);

    if (rc != PDR_OK)
        return rc;
    for (size_t i = 0; i < sizeof(id); i++)
        id[i] = letters[bytes[i] % 64u];
    rc = pdr_buf_append(out, PDR_LIT("call_"), err);
    return rc != PDR_OK ? rc : pdr_buf_append(out, pdr_str_n(id, 24), err);
}

static pdr_rc give_call(struct pdr__openai_answer *a,
                        struct pdr__openai_slot *slot, pdr_err *err)
{
    pdr_value *content = NULL;
    pdr_rc rc = PDR_OK;

    if (slot->id.len == 0)
        PDR_TRY(make_id(&slot->id, a->rand, err));
    PDR_TRY(pdr_content_new_call(
        &content, a->request->shape, pdr_buf_str(&slot->id),
        pdr_buf_str(&slot->name),
        slot->arguments.len > 0 ? pdr_buf_str(&slot->arguments) : PDR_LIT("{}"),
        err));
    rc = give_content(a, content, PDR_LIT(""), err);
done:
    return rc;
}

/* --- chunks ----------------------------------------------------------------
 */

static pdr_rc take_choice(struct pdr__openai_answer *a, const pdr_value *choice,
                          pdr_err *err)
{
    const pdr_value *number = pdr_value_get_c(choice, "index");
    const pdr_value *delta = pdr_value_get_c(choice, "delta");
    const pdr_value *finish = pdr__member(choice, "finish_reason", PDR_STRING);
    int64_t index = 0;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(choice) != PDR_OBJECT ||
        (number != NULL && pdr_value_int64(&index, number, NULL) == PDR_OK &&
         index != 0))
        return PDR_OK;
    a->has_choice = true;
    if (pdr__is_nothing(delta))
        delta = pdr_value_get_c(choice, "message");
    PDR_TRY(
        give_text(a, delta,
                  pdr__member(delta, "reasoning_content", PDR_STRING) != NULL
                      ? "reasoning_content"
                      : "reasoning",
                  PDR_CONTENT_REASONING, err));
    PDR_TRY(give_text(a, delta, "content", PDR_CONTENT_TEXT, err));
    PDR_TRY(add_text(&a->refusal, a, pdr__member(delta, "refusal", PDR_STRING),
                     false, err));
    pdr_iter_init(&it, pdr__member(delta, "tool_calls", PDR_ARRAY));
    while (pdr_iter_next(&it))
        PDR_TRY(take_fragment(a, it.value, err));
    if (finish != NULL) {
        pdr_buf_clear(&a->finish);
        PDR_TRY(add_text(&a->finish, a, finish, false, err));
    }
done:
    return rc;
}

/* The .NET name of a count, and where it is. */
static const struct {
    const char *name, *group, *member;
} counts[] = {
    {"inputTokenCount", NULL, "prompt_tokens"},
    {"outputTokenCount", NULL, "completion_tokens"},
    {"totalTokenCount", NULL, "total_tokens"},
    {"cachedInputTokenCount", "prompt_tokens_details", "cached_tokens"},
    {"reasoningTokenCount", "completion_tokens_details", "reasoning_tokens"},
};

/* The last usage wins; servers that send several send sums. */
static pdr_rc take_usage(struct pdr__openai_answer *a, const pdr_value *usage,
                         pdr_err *err)
{
    pdr_value *made = pdr_value_new_object(), *number = NULL;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < PDR_COUNT(counts); i++) {
        const pdr_value *group = counts[i].group == NULL
                                     ? usage
                                     : pdr_value_get_c(usage, counts[i].group);
        const pdr_value *count = pdr_value_get_c(group, counts[i].member);
        int64_t tokens = 0;

        if (count == NULL || pdr_value_int64(&tokens, count, NULL) != PDR_OK ||
            tokens < 0)
            continue;
        PDR_TRY(pdr_value_new_int64(&number, tokens, err));
        PDR_TRY(pdr_value_set(&made, pdr_str_c(counts[i].name), number, err));
        pdr_value_free(number);
        number = NULL;
    }
    pdr_value_free(a->usage);
    a->usage = made;
    made = NULL;
done:
    pdr_value_free(number);
    pdr_value_free(made);
    return rc;
}

/* What cannot be read: the rest is missing, or the server is wrong. */
static pdr_rc chunk_bad(bool is_cut, const pdr_err *why, pdr_err *err)
{
    if (why->code == PDR_ENOMEM)
        return pdr__err_pass(err, why);
    if (is_cut)
        return PDR_FAIL(err, MODEL_TRUNCATED, "%s",
                        "the answer of the model ends in the middle");
    return PDR_FAIL(err, MODEL_PROTOCOL,
                    "the answer of the model is not valid JSON: %s",
                    why->reason != NULL ? why->reason : "?");
}

pdr_rc pdr__openai_chunk(struct pdr__openai_answer *a, pdr_str text,
                         bool is_cut, pdr_err *err)
{
    const pdr_value *usage = NULL, *error = NULL, *created = NULL;
    pdr_err why = PDR_ERR_INIT;
    pdr_value *chunk = NULL;
    int64_t seconds = 0;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (a->is_done || pdr_str_equal(text, PDR_LIT("[DONE]"))) {
        a->is_done = true;
        return PDR_OK;
    }
    if (pdr_json_read(&chunk, text, NULL, &why) != PDR_OK)
        return chunk_bad(is_cut, &why, err);
    error = pdr_value_get_c(chunk, "error");
    if (!pdr__is_nothing(error))
        PDR_TRY(answer_fail(200, chunk, PDR_LIT(""), a->secrets, err));
    PDR_TRY(
        add_text(&a->id, a, pdr__member(chunk, "id", PDR_STRING), true, err));
    PDR_TRY(add_text(&a->model, a, pdr__member(chunk, "model", PDR_STRING),
                     true, err));
    created = pdr_value_get_c(chunk, "created");
    if (a->created_at == 0 && created != NULL &&
        pdr_value_int64(&seconds, created, NULL) == PDR_OK && seconds > 0 &&
        seconds < INT64_C(253402300800)) /* the year 10,000 */
        a->created_at = PDR_TICKS_UNIX_EPOCH + seconds * PDR_TICKS_PER_SECOND;
    usage = pdr__member(chunk, "usage", PDR_OBJECT);
    if (usage != NULL)
        PDR_TRY(take_usage(a, usage, err));
    pdr_iter_init(&it, pdr__member(chunk, "choices", PDR_ARRAY));
    while (pdr_iter_next(&it))
        PDR_TRY(take_choice(a, it.value, err));
done:
    pdr_value_free(chunk);
    return rc;
}

/* Why the answer ended. Servers say "stop" although there are calls, or words
 * of their own: then the contents decide. */
static pdr_str finish_of(const struct pdr__openai_answer *a)
{
    const pdr_str known[] = {PDR_LIT("length"), PDR_LIT("content_filter")};
    pdr_str finish = pdr_buf_str(&a->finish);

    for (size_t i = 0; i < PDR_COUNT(known); i++)
        if (pdr_str_equal(finish, known[i]))
            return known[i];
    return a->count > 0 ? PDR_LIT("tool_calls") : PDR_LIT("stop");
}

pdr_rc pdr__openai_end(struct pdr__openai_answer *a, pdr_err *err)
{
    const pdr_content_part part = {PDR_FIELD_USAGE, a->usage};
    pdr_value *content = NULL;
    pdr_rc rc = PDR_OK;

    if (!a->has_choice)
        return PDR_FAIL(err, MODEL_PROTOCOL, "%s",
                        "the answer of the model has no choices");
    if (!a->is_done && a->finish.len == 0)
        return PDR_FAIL(err, MODEL_TRUNCATED, "%s",
                        "the answer of the model ends in the middle");
    for (size_t i = 0; i < a->count; i++)
        PDR_TRY(give_call(a, &a->slots[i], err));
    if (a->refusal.len > 0) {
        PDR_TRY(pdr_content_new_error(&content, a->request->shape,
                                      pdr_buf_str(&a->refusal),
                                      PDR_LIT("Refusal"), NULL, err));
        PDR_TRY(give_content(a, content, PDR_LIT(""), err));
        content = NULL;
    }
    if (a->usage != NULL)
        PDR_TRY(pdr_content_new(&content, a->request->shape, PDR_CONTENT_USAGE,
                                &part, 1, err));
    rc = give_content(a, content, finish_of(a), err);
done:
    return rc;
}
