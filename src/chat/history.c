/*
 * history.c - the channel of chat agents: what they see is the log.
 *
 *      insert   messages that stand before, or in place of, the log
 *      from     the first message of the log that counts
 *
 *      what the agents see = insert, then from ... the end of the log, less
 *      what no model can use
 *
 * WHY  A list of its own would be a second copy of the conversation: twice the
 *      memory, twice the document, and one day not the same. Two members say
 * how the view differs from the log, and mostly it does not.
 *
 *      A reducer moves `from`, and puts a summary into `insert`. A restored
 * list that is not what the log says is kept as it is, in `insert`.
 */
#include "chat.h"

#include <perdure/json.h>

#include "agent.h"

#define MARGIN                                                      \
    32 /* messages that are offered beyond twice a window: calls go \
          with their results */

#define PROVIDER "chat" /* its name in the marks of messages */

struct history {
    uint64_t from;
    pdr_value **insert; /* owned */
    size_t insert_count;
    pdr_chat_finding finding; /* of what was restored */
    uint64_t finding_seq;
};

static void history_release(void *self)
{
    struct history *h = self;

    for (size_t i = 0; i < h->insert_count; i++)
        pdr_value_free(h->insert[i]);
    pdr__free(h->insert);
    pdr__free(h);
}

/* --- keys -----------------------------------------------------------------
 */

static pdr_rc part_add(pdr_buf *out, pdr_str text, pdr_err *err)
{
    pdr_rc rc = pdr_buf_append(out, text, err);

    return rc == PDR_OK ? pdr_buf_append(out, pdr_str_n("", 1), err) : rc;
}

static bool adapter_is_plain(const pdr_chat_adapter *adapter)
{
    return adapter->traffic == PDR_TRAFFIC_KEEP && !adapter->others_as_user &&
           !adapter->has_names;
}

static pdr_rc history_key(pdr_buf *out, const pdr_chat_agent *agent,
                          pdr_err *err)
{
    static const char *const words[] = {"keep", "text-only", "drop"};
    const struct pdr__member *member = agent->arg;
    const pdr_reduction *reduction = &member->reduction;
    const pdr_chat_adapter *adapter = &member->adapter;
    uint8_t digest[PDR_SHA256_BYTES];
    char shown[2 * PDR_SHA256_BYTES + 1];
    pdr_rc rc = PDR_OK;

    if (reduction->target > 0) {
        PDR_TRY(part_add(out,
                         reduction->client != NULL ? PDR_LIT("summarize")
                                                   : PDR_LIT("truncate"),
                         err));
        PDR_TRY(pdr_buf_printf(out, err, "%u%c%u%c", reduction->target, 0,
                               reduction->threshold, 0));
    }
    if (reduction->target > 0 && reduction->client != NULL) {
        PDR_TRY(part_add(
            out, reduction->is_series ? PDR_LIT("series") : PDR_LIT("single"),
            err));
        PDR_TRY(pdr__sha256(digest, pdr_str_c(reduction->instructions), err));
        pdr__hex(shown, digest, sizeof(digest));
        PDR_TRY(part_add(out, pdr_str_c(shown), err));
    }
    if (adapter_is_plain(adapter))
        goto done;
    PDR_TRY(part_add(out, PDR_LIT("adapt"), err));
    PDR_TRY(part_add(out, pdr_str_c(words[adapter->traffic]), err));
    PDR_TRY(part_add(
        out, pdr_str_c(adapter->others_as_user ? "others-as-user" : "as-is"),
        err));
    PDR_TRY(part_add(out, pdr_str_c(adapter->has_names ? "names" : ""), err));
done:
    return rc;
}

/* With a reducer the real key holds a number of its process: nobody can know
 * it. There are no adapters, and two channels cannot have one key. */
static pdr_rc history_sk_key(pdr_buf *out, const pdr_chat_agent *agent,
                             pdr_err *err)
{
    const struct pdr__member *member = agent->arg;

    if (member->reduction.target > 0 || !adapter_is_plain(&member->adapter))
        return PDR_OK;
    return part_add(
        out, PDR_LIT("Microsoft.SemanticKernel.Agents.ChatHistoryChannel"),
        err);
}

/* --- what the agents see --------------------------------------------------
 */

/* Can a model use the message? One that has a text, a call, a result or a
 * picture. */
static bool is_usable(const pdr_value *message)
{
    pdr_iter it;

    pdr_iter_init(&it, pdr_message_contents(message, PDR_SHAPE_SK));
    while (pdr_iter_next(&it)) {
        pdr_content_kind kind = pdr_content_kind_of(it.value, PDR_SHAPE_SK);
        const pdr_value *text = NULL;

        if (kind == PDR_CONTENT_CALL || kind == PDR_CONTENT_RESULT)
            return true;
        if (kind == PDR_CONTENT_TEXT)
            text = pdr_content_get(it.value, PDR_SHAPE_SK, PDR_FIELD_TEXT);
        if (text != NULL ? !pdr_value_text_is(text, PDR_LIT(""))
                         : pdr__is_picture(it.value, PDR_SHAPE_SK))
            return true;
    }
    return false;
}

/* The list from its end: message `i` from there; NULL: there are no more. Moves
 * on in the log by `*at`, which begins as the end of it. */
static const pdr_value *view_before(const struct history *h,
                                    const pdr_chat_link *link, uint64_t *at,
                                    size_t *left, uint64_t *seq)
{
    while (*at > h->from && *at > 1) {
        const pdr_value *value = link->log[--*at - 1].value;

        *seq = *at;
        if (is_usable(value))
            return value;
    }
    *seq = 0;
    return *left > 0 ? h->insert[--*left] : NULL;
}

static pdr_rc history_read(void *self, const pdr_chat_link *link, pdr_err *err,
                           pdr_rc (*fn)(const pdr_value *message, pdr_err *err,
                                        void *arg),
                           void *arg)
{
    const struct history *h = self;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < h->insert_count; i++)
        PDR_TRY(fn(h->insert[i], err, arg));
    for (uint64_t seq = h->from; seq < link->end; seq++) {
        if (is_usable(link->log[seq - 1].value))
            PDR_TRY(fn(link->log[seq - 1].value, err, arg));
    }
done:
    return rc;
}

/* --- reducing -------------------------------------------------------------
 */

struct seen {
    const pdr_value *value;
    uint64_t seq; /* in the log; 0: it is inserted */
};

/* Let the view be what a reducer made of its list. */
static pdr_rc history_cut(struct history *h, const pdr_chat_link *link,
                          const struct seen *list, size_t count,
                          const struct pdr__cut *cut, pdr_err *err)
{
    pdr_value **insert =
        pdr__calloc(cut->before_count + h->insert_count + 1, sizeof(*insert));
    size_t kept = 0;

    if (insert == NULL)
        return pdr__nomem(err);
    for (; kept < cut->before_count; kept++)
        insert[kept] = pdr_value_ref(cut->before[kept]);
    for (size_t i = cut->index; i < h->insert_count; i++)
        insert[kept++] = pdr_value_ref(h->insert[i]);
    for (size_t i = 0; i < h->insert_count; i++)
        pdr_value_free(h->insert[i]);
    if (cut->index >= h->insert_count)
        h->from = cut->index < count ? list[cut->index].seq : link->end;
    pdr__free(h->insert);
    h->insert = insert;
    h->insert_count = kept;
    return PDR_OK;
}

static pdr_rc history_reduce(struct history *h, const pdr_chat_link *link,
                             const pdr_reduction *reduction, pdr_err *err)
{
    struct seen *list = NULL, one = {.seq = 0};
    const pdr_value **values = NULL;
    uint64_t at = link->end;
    size_t left = h->insert_count, count = 0, cap = 0;
    struct pdr__cut cut = {.index = 0};
    pdr_rc rc = PDR_OK;

    if (reduction->target == 0)
        return PDR_OK;
    while ((one.value = view_before(h, link, &at, &left, &one.seq)) != NULL) {
        PDR_TRY(pdr__grow((void **)&list, &cap, count + 1, sizeof(*list), err));
        list[count++] = one;
    }
    values = pdr__calloc(count + 1, sizeof(*values));
    if (values == NULL)
        PDR_TRY(pdr__nomem(err));
    for (size_t i = 0; i < count / 2; i++) { /* the oldest first */
        one = list[i];
        list[i] = list[count - 1 - i];
        list[count - 1 - i] = one;
    }
    for (size_t i = 0; i < count; i++)
        values[i] = list[i].value;
    PDR_TRY(pdr__reduce(&cut, values, count, reduction,
                        pdr_chat_link_cancel(link), err));
    if (cut.index > 0 || cut.before_count > 0)
        PDR_TRY(history_cut(h, link, list, count, &cut, err));
    if (cut.before_count > 0 && reduction->client != NULL)
        PDR_TRY(pdr__home_keep(link->chat, err)); /* a model made it */
done:
    pdr__cut_dispose(&cut);
    pdr__free(values);
    pdr__free(list);
    return rc;
}

/* --- speaking -------------------------------------------------------------
 */

#define INTERRUPTED                                                           \
    "Error: This call was interrupted, and its outcome is unknown. Find out " \
    "what happened before you make it again."

struct speaking {
    struct history *history;
    pdr_chat_link *link;
    const pdr_agent *agent;
    const pdr_chat_adapter *adapter;
    bool has_said; /* something is in the log */
};

/* A message that a model is given. */
struct given {
    const pdr_value *value;
    uint64_t seq;   /* in the log; 0: it is inserted, or was adapted */
    pdr_value *own; /* owned; `value` if it was adapted */
};

/* The message as agents take it, marked as one of a history. Kept beside the
 * log, so that it is made once. */
static pdr_rc message_ready(const pdr_value **out, pdr_value **made,
                            const struct speaking *s, const pdr_value *value,
                            uint64_t seq, pdr_err *err)
{
    const pdr_attribution_parts mark = {.source_type = PDR_LIT("ChatHistory"),
                                        .source_id = PDR_LIT(PROVIDER)};
    pdr_value **place =
        seq > 0 && s->link->ready != NULL ? &s->link->ready[seq - 1] : made;
    pdr_value *plain = NULL;
    pdr_rc rc = PDR_OK;

    if (*place == NULL) {
        PDR_TRY(pdr_message_convert(&plain, value, PDR_SHAPE_SK,
                                    PDR_SHAPE_DOTNET, err));
        PDR_TRY(
            pdr_message_attribute(place, plain, PDR_SHAPE_DOTNET, &mark, err));
    }
    *out = *place;
done:
    pdr_value_free(plain);
    return rc;
}

/* Has one of the messages the result of this call? */
static bool has_result(const struct given *list, size_t count,
                       const pdr_value *call_id)
{
    enum pdr__call_news news = PDR_CALL_NOTHING;

    for (size_t i = 0; i < count && news == PDR_CALL_NOTHING; i++)
        news = pdr__call_news(list[i].value, call_id);
    return news == PDR_CALL_ANSWERED;
}

/* A model refuses a call without a result. One whose turn was cut off gets one
 * that says so, each time it is sent; the log stays as it is. `list` begins
 * with the message of the calls. */
static pdr_rc interrupted_give(pdr_context *context, const struct given *list,
                               size_t count, pdr_err *err)
{
    const pdr_shape shape = PDR_SHAPE_DOTNET;
    pdr_message_parts parts = {.role = PDR_LIT("tool")};
    pdr_value *results = pdr_value_new_array(), *result = NULL;
    pdr_value *text = NULL, *message = NULL;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, pdr_message_contents(list[0].value, PDR_SHAPE_SK));
    while (pdr_iter_next(&it)) {
        const pdr_value *id =
            pdr_content_get(it.value, PDR_SHAPE_SK, PDR_FIELD_CALL_ID);

        if (pdr_content_kind_of(it.value, PDR_SHAPE_SK) != PDR_CONTENT_CALL ||
            id == NULL || has_result(list + 1, count - 1, id))
            continue;
        if (text == NULL)
            PDR_TRY(pdr_value_new_string(&text, PDR_LIT(INTERRUPTED), err));
        PDR_TRY(pdr_content_new(
            &result, shape, PDR_CONTENT_RESULT,
            (const pdr_content_part[]){{PDR_FIELD_CALL_ID, id},
                                       {PDR_FIELD_RESULT, text}},
            2, err));
        PDR_TRY(pdr_value_append(&results, result, err));
        pdr_value_free(result);
        result = NULL;
    }
    parts.contents = results;
    if (pdr_value_count(results) > 0) {
        PDR_TRY(pdr_message_new(&message, shape, &parts, err));
        PDR_TRY(pdr_context_add_message(context, message, shape, err));
    }
done:
    pdr_value_free(message);
    pdr_value_free(text);
    pdr_value_free(result);
    pdr_value_free(results);
    return rc;
}

/* A `before` of the history of a run: its last messages. */
static pdr_rc history_give(pdr_context *context, const pdr_run_info *run,
                           pdr_err *err, void *self)
{
    const struct speaking *s = self;
    size_t window = s->agent->window_messages;
    size_t most = window > 0 ? 2 * window + MARGIN : SIZE_MAX;
    size_t least = s->agent->history_filter == NULL ? window : most;
    struct given *list = NULL, swapped;
    size_t count = 0, cap = 0, left = s->history->insert_count;
    uint64_t at = s->link->end;
    pdr_value *made = NULL;
    pdr_rc rc = PDR_OK;

    (void)run;
    /* Calls go with their results, also if a window parts them. */
    while (count < most && (least == 0 || count < least ||
                            pdr__is_tool_traffic(list[count - 1].value))) {
        uint64_t seq = 0;
        const pdr_value *value =
            view_before(s->history, s->link, &at, &left, &seq);

        if (value == NULL)
            break;
        PDR_TRY(pdr__grow((void **)&list, &cap, count + 1, sizeof(*list), err));
        list[count] = (struct given){.value = value, .seq = seq};
        if (!adapter_is_plain(s->adapter)) {
            PDR_TRY(pdr__message_adapt(&list[count].own, value, s->adapter,
                                       pdr_agent_name(s->agent), err));
            if (list[count].own == NULL)
                continue;
            list[count].value = list[count].own;
            list[count].seq = list[count].own == value ? seq : 0;
        }
        value = list[count++].value;
        if (least > 0 && least < most &&
            pdr__has_role(value, PDR_LIT("system")))
            least++; /* it is not counted */
    }
    for (size_t i = 0; i < count / 2; i++) { /* the oldest first */
        swapped = list[i];
        list[i] = list[count - 1 - i];
        list[count - 1 - i] = swapped;
    }
    for (size_t i = 0; i < count; i++) {
        const pdr_value *ready = NULL;

        PDR_TRY(
            message_ready(&ready, &made, s, list[i].value, list[i].seq, err));
        PDR_TRY(pdr_context_add_message(context, ready, PDR_SHAPE_DOTNET, err));
        pdr_value_free(made);
        made = NULL;
        if (pdr__is_tool_traffic(list[i].value))
            PDR_TRY(interrupted_give(context, &list[i], count - i, err));
    }
done:
    for (size_t i = 0; i < count; i++)
        pdr_value_free(list[i].own);
    pdr_value_free(made);
    pdr__free(list);
    return rc;
}

/* A pdr_update_fn. */
static pdr_rc update_pass(const pdr_update *update, pdr_err *err, void *arg)
{
    return pdr_chat_link_update(arg, update, err);
}

/* A pdr_said_fn: into the log with it. */
static pdr_rc message_said(const pdr_value *message, pdr_shape shape,
                           pdr_err *err, void *arg)
{
    struct speaking *s = arg;
    pdr_value *said = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_message_convert(&said, message, shape, PDR_SHAPE_SK, err));
    s->has_said = true;
    PDR_TRY(pdr_chat_link_say(s->link, said, err));
done:
    pdr_value_free(said);
    return rc;
}

static pdr_rc history_invoke(void *self, const pdr_chat_agent *agent,
                             pdr_chat_link *link, pdr_err *err)
{
    const pdr_agent *inner = agent->agent;
    const struct pdr__member *member = agent->arg;
    struct speaking s = {
        .history = self, .link = link, .adapter = &member->adapter};
    const pdr_provider provider = {.name = PROVIDER,
                                   .kind = PDR_PROVIDER_HISTORY,
                                   .self = &s,
                                   .before = history_give};
    const pdr_run run = {.session = agent->session,
                         .shape = PDR_SHAPE_DOTNET,
                         .history = &provider,
                         .cancel = pdr_chat_link_cancel(link),
                         .now_ms = pdr_chat_link_now(link),
                         .fn = update_pass,
                         .arg = link,
                         .said = message_said,
                         .said_arg = &s};
    pdr_response *response = NULL;
    size_t unsaid = 0;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK, ran = PDR_OK;

    while (inner->inner != NULL)
        inner = inner->inner;
    s.agent = inner;
    PDR_TRY(history_reduce(self, link, &member->reduction, err));
    ran = pdr_agent_run(&response, agent->agent, &run, &why);
    /* A layer around the agent may answer in its place. */
    if (ran == PDR_OK && !s.has_said)
        unsaid = pdr_response_count(response);
    for (size_t i = 0; i < unsaid; i++)
        PDR_TRY(message_said(pdr_response_message(response, i),
                             pdr_response_shape(response), err, &s));
    if (ran != PDR_OK)
        rc = pdr__err_pass(err, &why);
done:
    pdr_response_free(response);
    return rc;
}

/* --- saving ---------------------------------------------------------------
 */

static pdr_rc history_save(pdr_value **out, void *self,
                           const pdr_chat_link *link, pdr_err *err)
{
    const struct history *h = self;
    pdr_value *state = pdr_value_new_object(), *list = pdr_value_new_array();
    pdr_value *from = NULL;
    pdr_rc rc = PDR_OK;

    (void)link;
    PDR_TRY(pdr_value_new_int64(&from, (int64_t)h->from, err));
    PDR_TRY(pdr_value_set(&state, PDR_LIT("from"), from, err));
    for (size_t i = 0; i < h->insert_count; i++)
        PDR_TRY(pdr_value_append(&list, h->insert[i], err));
    if (h->insert_count > 0)
        PDR_TRY(pdr_value_set(&state, PDR_LIT("insert"), list, err));
    *out = state;
    state = NULL;
done:
    pdr_value_free(from);
    pdr_value_free(list);
    pdr_value_free(state);
    return rc;
}

/* --- restoring ------------------------------------------------------------
 */

static pdr_rc insert_take(struct history *h, const pdr_value *list,
                          size_t count, pdr_err *err)
{
    h->insert = pdr__calloc(count + 1, sizeof(*h->insert));
    if (h->insert == NULL)
        return pdr__nomem(err);
    for (size_t i = 0; i < count; i++) {
        const pdr_value *message = pdr_value_at(list, i);

        if (pdr_value_kind(message) != PDR_OBJECT)
            return PDR_FAIL(err, BAD_CHANNEL_STATE,
                            "message %zu of a history is %s, not an object", i,
                            pdr__kind_phrase(message));
        h->insert[h->insert_count++] = pdr_value_ref(message);
    }
    return PDR_OK;
}

static bool is_same_part(const pdr_value *a, const pdr_value *b)
{
    return a == NULL || b == NULL ? a == b : pdr_value_equal(a, b);
}

/* In a plain document, messages of the log are written as "role" and "items",
 * and those of a state as "Role" and "Items". */
static bool is_same(const pdr_value *a, const pdr_value *b)
{
    const pdr_shape shape = PDR_SHAPE_SK;
    pdr_str left = {NULL, 0}, right = {NULL, 0};

    if (pdr_value_raw(&left, a) && pdr_value_raw(&right, b) &&
        pdr_str_equal(left, right))
        return true;
    if (pdr_value_equal(a, b))
        return true;
    return pdr_value_kind(b) == PDR_OBJECT &&
           (pdr_value_get_c(a, "role") == NULL) !=
               (pdr_value_get_c(b, "role") == NULL) &&
           is_same_part(pdr_message_role(a, shape),
                        pdr_message_role(b, shape)) &&
           is_same_part(pdr_message_author(a, shape),
                        pdr_message_author(b, shape)) &&
           is_same_part(pdr_message_contents(a, shape),
                        pdr_message_contents(b, shape));
}

static bool is_in_log(const pdr_chat_link *link, const pdr_value *message)
{
    for (uint64_t seq = 1; seq < link->end; seq++) {
        if (is_same(link->log[seq - 1].value, message))
            return true;
    }
    return false;
}

/* A list of messages: as much of its end as the log says is the log. What comes
 * before it is a summary in place of messages that were cut, unless it is a
 * message of the log itself: then some are doubled, lost or swapped. */
static pdr_rc list_match(struct history *h, const pdr_chat_link *link,
                         const pdr_value *list, pdr_err *err)
{
    uint64_t at = link->end, seq = 0, from = link->end;
    size_t count = pdr_value_count(list), no_insert = 0;
    struct history whole = {.from = 1};
    pdr_rc rc = PDR_OK;

    for (; count > 0; count--) {
        const pdr_value *value =
            view_before(&whole, link, &at, &no_insert, &seq);

        if (value == NULL || !is_same(value, pdr_value_at(list, count - 1)))
            break;
        from = seq;
    }
    h->from = from;
    h->finding = PDR_CHAT_RESTORED;
    if (count == 0) { /* all of it; is there more in the log? */
        no_insert = 0;
        if (view_before(&whole, link, &at, &no_insert, &seq) == NULL)
            h->from = 1;
        else
            h->finding = PDR_CHAT_SHORTENED;
        return PDR_OK;
    }
    PDR_TRY(insert_take(h, list, count, err));
    h->finding =
        from < link->end && seq > 0 &&
                (pdr__has_role(h->insert[count - 1], PDR_LIT("system")) ||
                 !is_in_log(link, h->insert[count - 1]))
            ? PDR_CHAT_SHORTENED
            : PDR_CHAT_OUT_OF_SYNC;
    h->finding_seq = seq > 0 ? seq : 1;
done:
    return rc;
}

static pdr_rc history_restore(void **self, const pdr_chat_agent *agent,
                              const pdr_chat_link *link, uint32_t state_version,
                              bool is_exchange, const pdr_value *state,
                              pdr_err *err)
{
    struct history *h = pdr__calloc(1, sizeof(*h));
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    const pdr_value *list = state, *insert = NULL;
    pdr_value *read = NULL;
    pdr_str text = {NULL, 0};
    pdr_rc rc = PDR_OK;

    (void)agent;
    (void)state_version;
    if (h == NULL)
        return pdr__nomem(err);
    h->from = 1;
    if (is_exchange && pdr_value_kind(state) == PDR_STRING) {
        PDR_TRY(pdr_value_text(&text, state, &scratch, err));
        PDR_TRY(pdr_json_read(&read, text, NULL, err));
        list = read;
    }
    if (is_exchange) {
        if (pdr_value_kind(list) != PDR_ARRAY)
            PDR_TRY(PDR_FAIL(err, BAD_CHANNEL_STATE,
                             "the state of a history is a list, this is %s",
                             pdr__kind_phrase(list)));
        PDR_TRY(list_match(h, link, list, err));
    } else {
        insert = pdr_value_kind(state) == PDR_OBJECT
                     ? pdr_value_get_c(state, "insert")
                     : NULL;
        if (pdr_value_kind(state) != PDR_OBJECT ||
            pdr_value_get_c(state, "from") == NULL ||
            pdr_value_uint64(&h->from, pdr_value_get_c(state, "from"), NULL) !=
                PDR_OK ||
            h->from == 0 || h->from > link->end ||
            (insert != NULL && pdr_value_kind(insert) != PDR_ARRAY))
            PDR_TRY(PDR_FAIL(err, BAD_CHANNEL_STATE, "%s",
                             "the state of a history says where in the log it "
                             "begins, and this does not"));
        if (insert != NULL)
            PDR_TRY(insert_take(h, insert, pdr_value_count(insert), err));
    }
    *self = h;
    h = NULL;
done:
    if (h != NULL)
        history_release(h);
    pdr_value_free(read);
    pdr_buf_dispose(&scratch);
    return rc;
}

pdr_chat_finding pdr__history_compare(uint64_t *seq, const void *self)
{
    const struct history *h = self;

    *seq = h->finding_seq;
    return h->finding;
}

/* Appends to the array `arg`. */
static pdr_rc list_add(const pdr_value *message, pdr_err *err, void *arg)
{
    return pdr_value_append(arg, message, err);
}

/* All that the agents see, as a list. */
static pdr_rc history_exchange(pdr_value **out, const pdr_value *state,
                               const pdr_chat_link *link, pdr_err *err)
{
    pdr_value *list = pdr_value_new_array();
    void *self = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(history_restore(&self, NULL, link, 1, false, state, err));
    PDR_TRY(history_read(self, link, err, list_add, &list));
    *out = list;
    list = NULL;
done:
    if (self != NULL)
        history_release(self);
    pdr_value_free(list);
    return rc;
}

/* --- the table ------------------------------------------------------------
 */

static pdr_rc history_create(void **self, const pdr_chat_agent *agent,
                             pdr_cancel *cancel, pdr_err *err)
{
    struct history *h = pdr__calloc(1, sizeof(*h));

    (void)agent;
    (void)cancel;
    if (h == NULL)
        return pdr__nomem(err);
    h->from = 1;
    *self = h;
    return PDR_OK;
}

/* It is in the log already. */
static pdr_rc history_receive(void *self, const pdr_chat_message *message,
                              pdr_cancel *cancel, pdr_err *err)
{
    (void)self;
    (void)message;
    (void)cancel;
    (void)err;
    return PDR_OK;
}

static pdr_rc history_reset(void *self, pdr_cancel *cancel, pdr_err *err)
{
    (void)self;
    (void)cancel;
    (void)err;
    return PDR_OK;
}

const pdr_channel_kind pdr__history_kind = {
    .version = PDR_CHANNEL_KIND_VERSION,
    .id = "chat-history",
    .state_version = 1,
    .key = history_key,
    .exchange_key = history_sk_key,
    .agent_type = "Microsoft.SemanticKernel.Agents.ChatCompletionAgent",
    .channel_type = "Microsoft.SemanticKernel.Agents.ChatHistoryChannel",
    .create = history_create,
    .restore = history_restore,
    .receive = history_receive,
    .invoke = history_invoke,
    .read = history_read,
    .save = history_save,
    .exchange = history_exchange,
    .reset = history_reset,
    .release = history_release,
};
