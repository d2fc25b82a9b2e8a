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
 *      A reducer moves `from`. A restored list that is not what the log says is
 *      kept as it is, in `insert`.
 */
#include "chat.h"

#include <perdure/json.h>

#include "agent.h"

#define MARGIN                                                      \
    32 /* messages that are offered beyond twice a window: calls go \
          with their results */

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

static pdr_rc history_key(pdr_buf *out, const pdr_chat_agent *agent,
                          pdr_err *err)
{
    const pdr_reduction *reduction = agent->arg;
    pdr_rc rc = PDR_OK;

    if (reduction->target == 0)
        return PDR_OK;
    PDR_TRY(part_add(out, PDR_LIT("truncate"), err));
    PDR_TRY(pdr_buf_printf(out, err, "%u%c%u%c", reduction->target, 0,
                           reduction->threshold, 0));
done:
    return rc;
}

/* With a reducer the real key holds a number of its process: nobody can know
 * it. */
static pdr_rc history_sk_key(pdr_buf *out, const pdr_chat_agent *agent,
                             pdr_err *err)
{
    const pdr_reduction *reduction = agent->arg;

    if (reduction->target > 0)
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
        if ((kind == PDR_CONTENT_DATA || kind == PDR_CONTENT_URI) &&
            pdr__is_picture(it.value, PDR_SHAPE_SK))
            return true;
        if (kind == PDR_CONTENT_TEXT)
            text = pdr_content_get(it.value, PDR_SHAPE_SK, PDR_FIELD_TEXT);
        if (text != NULL && !pdr_value_text_is(text, PDR_LIT("")))
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

/* Let the view begin with message `index` of its list; `keeps_first`: with the
 * system message before it. */
static pdr_rc history_cut(struct history *h, const pdr_chat_link *link,
                          const struct seen *list, size_t count, size_t index,
                          bool keeps_first, pdr_err *err)
{
    pdr_value **insert = pdr__calloc(h->insert_count + 2, sizeof(*insert));
    size_t kept = 0;

    if (insert == NULL)
        return pdr__nomem(err);
    if (keeps_first)
        insert[kept++] = pdr_value_ref(list[0].value);
    for (size_t i = index; i < h->insert_count; i++)
        insert[kept++] = pdr_value_ref(h->insert[i]);
    for (size_t i = 0; i < h->insert_count; i++)
        pdr_value_free(h->insert[i]);
    if (index >= h->insert_count)
        h->from = index < count ? list[index].seq : link->end;
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
    bool has_system = false;
    long index = 0;
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
    index = pdr__reduce_find(&has_system, values, count, reduction);
    if (index > 0)
        PDR_TRY(
            history_cut(h, link, list, count, (size_t)index, has_system, err));
done:
    pdr__free(values);
    pdr__free(list);
    return rc;
}

/* --- speaking -------------------------------------------------------------
 */

struct speaking {
    struct history *history;
    pdr_chat_link *link;
    const pdr_agent *agent;
};

/* The message as agents take it. Kept beside the log, so that it is made
 * once. */
static pdr_rc message_ready(const pdr_value **out, pdr_value **made,
                            const struct speaking *s, const pdr_value *value,
                            uint64_t seq, pdr_err *err)
{
    pdr_value **place =
        seq > 0 && s->link->ready != NULL ? &s->link->ready[seq - 1] : made;
    pdr_rc rc = PDR_OK;

    if (*place == NULL)
        PDR_TRY(pdr_message_convert(place, value, PDR_SHAPE_SK,
                                    PDR_SHAPE_DOTNET, err));
    *out = *place;
done:
    return rc;
}

/* A `before` of the history of a run: its last messages. */
static pdr_rc history_give(pdr_context *context, const pdr_run_info *run,
                           pdr_err *err, void *self)
{
    const struct speaking *s = self;
    size_t window = s->agent->window_messages;
    size_t most = window > 0 ? 2 * window + MARGIN : SIZE_MAX;
    struct {
        const pdr_value *value;
        uint64_t seq;
    } *list = NULL;
    size_t count = 0, cap = 0, left = s->history->insert_count;
    uint64_t at = s->link->end;
    pdr_value *made = NULL;
    pdr_rc rc = PDR_OK;

    (void)run;
    while (count < most) {
        uint64_t seq = 0;
        const pdr_value *value =
            view_before(s->history, s->link, &at, &left, &seq);

        if (value == NULL)
            break;
        PDR_TRY(pdr__grow((void **)&list, &cap, count + 1, sizeof(*list), err));
        list[count].value = value;
        list[count++].seq = seq;
    }
    for (size_t i = count; i > 0; i--) {
        const pdr_value *ready = NULL;

        PDR_TRY(message_ready(&ready, &made, s, list[i - 1].value,
                              list[i - 1].seq, err));
        PDR_TRY(pdr_context_add_message(context, ready, PDR_SHAPE_DOTNET, err));
        pdr_value_free(made);
        made = NULL;
    }
done:
    pdr_value_free(made);
    pdr__free(list);
    return rc;
}

/* A pdr_update_fn. */
static pdr_rc update_pass(const pdr_update *update, pdr_err *err, void *arg)
{
    return pdr_chat_link_update(arg, update, err);
}

static pdr_rc history_invoke(void *self, const pdr_chat_agent *agent,
                             pdr_chat_link *link, pdr_err *err)
{
    const pdr_agent *inner = agent->agent;
    struct speaking s = {.history = self, .link = link};
    const pdr_provider provider = {.name = "chat",
                                   .kind = PDR_PROVIDER_HISTORY,
                                   .self = &s,
                                   .before = history_give};
    const pdr_run run = {.session = agent->session,
                         .shape = PDR_SHAPE_DOTNET,
                         .history = &provider,
                         .cancel = pdr_chat_link_cancel(link),
                         .now_ms = pdr_chat_link_now(link),
                         .fn = update_pass,
                         .arg = link};
    pdr_response *response = NULL;
    pdr_value *message = NULL;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK, ran = PDR_OK;

    while (inner->inner != NULL)
        inner = inner->inner;
    s.agent = inner;
    PDR_TRY(history_reduce(self, link, agent->arg, err));
    ran = pdr_agent_run(&response, agent->agent, &run, &why);
    for (size_t i = 0; response != NULL && i < pdr_response_count(response);
         i++) {
        PDR_TRY(pdr_message_convert(&message, pdr_response_message(response, i),
                                    pdr_response_shape(response), PDR_SHAPE_SK,
                                    err));
        PDR_TRY(pdr_chat_link_say(link, message, err));
        pdr_value_free(message);
        message = NULL;
    }
    if (ran != PDR_OK)
        rc = pdr__err_pass(err, &why);
done:
    pdr_value_free(message);
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

static bool is_same(const pdr_value *a, const pdr_value *b)
{
    pdr_str left = {NULL, 0}, right = {NULL, 0};

    if (pdr_value_raw(&left, a) && pdr_value_raw(&right, b) &&
        pdr_str_equal(left, right))
        return true;
    return pdr_value_equal(a, b);
}

/* A list of messages: as much of its end as the log says is the log. */
static pdr_rc list_match(struct history *h, const pdr_chat_link *link,
                         const pdr_value *list, pdr_err *err)
{
    uint64_t at = link->end, seq = 0, from = link->end;
    size_t count = pdr_value_count(list), no_insert = 0;
    struct history whole = {.from = 1};

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
    h->finding = from < link->end ? PDR_CHAT_SHORTENED : PDR_CHAT_OUT_OF_SYNC;
    h->finding_seq = seq;
    return insert_take(h, list, count, err);
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
