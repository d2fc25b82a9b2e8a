/*
 * run.c - one run of an agent: from what the caller says to what is stored.
 *
 *      history ─┐
 *      input  ──┴─► messages ─► model ─► answer ──┬─► no calls: the end
 *                      ▲                          │
 *                      └── results ◄── tools ◄────┘
 *
 *      the end: input and answers into the history, in one step
 *
 * INVARIANTS
 *   R1  Messages are borrowed where they are: a run does not copy a history.
 *   R2  Nothing is stored before the run has succeeded. So a run that fails, at
 *       whatever step, leaves the history as it was.
 *   R3  Every call of the model has a result before the model is asked again.
 *   R4  One run at a time on a session: a second one is refused.
 *
 * NOT HERE  How pieces become messages (fold.c), what tools do (tool.c), what
 *           is sent of a history (choose.c).
 */
#include "agent.h"

#include <perdure/doc.h>

#include "session.h"
#include "stored.h"

/* A run at work. */
struct work {
    pdr_agent *agent;
    const pdr_run *run;
    pdr_err *err;
    pdr_shape shape;               /* of what is made and stored */
    pdr_session *session;          /* borrowed; NULL: none */
    struct pdr__history history;   /* what the model gets of it */
    pdr_request_message *messages; /* owned; what the model gets */
    size_t count, cap;
    pdr_value **input; /* owned; what is stored before the answers */
    size_t input_count, input_cap;
    const pdr_provider_set *providers; /* borrowed */
    pdr_provider_set *own_providers;   /* owned; of a run with a history of its
                                          own */
    const pdr_provider *keeper; /* of the history; NULL: it is in the session */
    struct pdr_context context; /* what providers added */
    struct pdr__arena memory;
    const pdr_tool_info *infos; /* in arena, or the agent's */
    size_t info_count;
    pdr_value *options;     /* owned; NULL: none */
    pdr_response *response; /* owned */
    struct pdr__fold *fold; /* of the call that is under way */
};

/* --- messages --------------------------------------------------------------
 */

static pdr_rc message_add(struct work *w, const pdr_value *value,
                          pdr_shape shape, pdr_origin origin)
{
    pdr_rc rc = pdr__grow((void **)&w->messages, &w->cap, w->count + 1,
                          sizeof(*w->messages), w->err);

    if (rc == PDR_OK)
        w->messages[w->count++] = (pdr_request_message){value, shape, origin};
    return rc;
}

/* Keep a message of the caller, in the shape of the session; taken, also on
 * failure. */
static pdr_rc input_take(struct work *w, pdr_value *message)
{
    pdr_rc rc = pdr__grow((void **)&w->input, &w->input_cap, w->input_count + 1,
                          sizeof(*w->input), w->err);

    if (rc != PDR_OK) {
        pdr_value_free(message);
        return rc;
    }
    w->input[w->input_count++] = message;
    return PDR_OK;
}

static pdr_rc input_load(struct work *w)
{
    const pdr_run *run = w->run;
    pdr_value *message = NULL;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < run->count; i++) {
        if (pdr_value_kind(run->messages[i]) != PDR_OBJECT)
            return PDR_FAIL(w->err, WRONG_KIND,
                            "a message is an object, message %zu is %s", i,
                            pdr__kind_phrase(run->messages[i]));
        if (run->shape == w->shape)
            message = pdr_value_ref(run->messages[i]);
        else
            PDR_TRY(pdr_message_convert(&message, run->messages[i], run->shape,
                                        w->shape, w->err));
        PDR_TRY(input_take(w, message));
    }
    if (run->text.len > 0) {
        PDR_TRY(pdr_message_new_text(&message, w->shape, PDR_LIT("user"),
                                     run->text, w->err));
        PDR_TRY(input_take(w, message));
    }
done:
    return rc;
}

/* --- providers -------------------------------------------------------------
 */

static pdr_run_info run_info(const struct work *w)
{
    return (pdr_run_info){.agent_id = w->agent->id,
                          .agent_name = w->agent->name,
                          .session = w->session,
                          .input = (const pdr_value *const *)w->input,
                          .input_count = w->input_count,
                          .shape = w->shape,
                          .now_ms = w->run->now_ms};
}

/* Which providers the run has: those of the agent, or with another history. */
static pdr_rc providers_choose(struct work *w)
{
    const pdr_provider_set *set = w->agent->providers;
    size_t count = pdr_provider_set_count(set), kept = 0;
    pdr_provider *list = NULL;
    pdr_rc rc = PDR_OK;

    w->providers = set;
    if (w->run->history != NULL) {
        list = pdr__calloc(count + 1, sizeof(*list));
        if (list == NULL)
            return pdr__nomem(w->err);
        for (size_t i = 0; i < count; i++) {
            const pdr_provider *provider = pdr_provider_set_at(set, i);

            if (provider->kind != PDR_PROVIDER_HISTORY)
                list[kept++] = *provider;
        }
        list[kept++] = *w->run->history;
        PDR_TRY(pdr_provider_set_new(&w->own_providers, list, kept, w->err));
        w->providers = w->own_providers;
    }
    w->keeper = pdr__history_of(w->providers);
done:
    pdr__free(list);
    return rc;
}

/* Load the state of all providers, and let them add. */
static pdr_rc providers_ask(struct work *w)
{
    const pdr_run_info info = run_info(w);
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < pdr_provider_set_count(w->providers); i++) {
        const pdr_provider *provider = pdr_provider_set_at(w->providers, i);

        for (size_t k = 0; w->run->stored != NULL && provider->keys != NULL &&
                           provider->keys[k] != NULL;
             k++) {
            const pdr_str key = pdr_str_c(provider->keys[k]);

            PDR_TRY(pdr_stored_load(w->run->stored, &key, 1, w->err));
        }
        PDR_TRY(pdr__context_ask(&w->context, provider, &info, w->err));
    }
    PDR_TRY(pdr__context_infos(&w->infos, &w->info_count, &w->context,
                               &w->memory, w->err));
done:
    return rc;
}

/* Tell all providers how the run ended, in reverse order. After a failure what
 * they return is not looked at: the caller gets the first error. */
static pdr_rc providers_tell(struct work *w, const pdr_err *error)
{
    const pdr_run_info info = run_info(w);
    const pdr_run_outcome outcome = {
        .answers = (const pdr_value *const *)w->response->messages,
        .answer_count = error == NULL ? w->response->count : 0,
        .error = error};

    for (size_t i = pdr_provider_set_count(w->providers); i > 0; i--) {
        const pdr_provider *provider = pdr_provider_set_at(w->providers, i - 1);
        pdr_err why = PDR_ERR_INIT;
        pdr_rc rc = PDR_OK;

        if (provider->after != NULL)
            rc = provider->after(&info, &outcome, &why, provider->self);
        if (rc != PDR_OK && error == NULL) {
            if (w->err != NULL)
                *w->err = why;
            return rc;
        }
    }
    return PDR_OK;
}

/* All that is sent: history, what the caller says, what providers added. */
static pdr_rc messages_gather(struct work *w)
{
    const struct pdr_context *c = &w->context;
    const struct pdr__history *history = &w->history;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__context_history(&w->history, c, w->err));
    for (size_t i = 0; i < history->count; i++)
        PDR_TRY(message_add(w, history->messages[i].value, w->shape,
                            PDR_ORIGIN_HISTORY));
    for (size_t i = 0; i < w->input_count; i++)
        PDR_TRY(message_add(w, w->input[i], w->shape, PDR_ORIGIN_CALLER));
    for (size_t i = 0; i < c->count; i++) {
        if (c->messages[i].origin == PDR_ORIGIN_CONTEXT)
            PDR_TRY(message_add(w, c->messages[i].value, w->shape,
                                PDR_ORIGIN_CONTEXT));
    }
done:
    return rc;
}

/* The options of the run over those of the agent. */
static pdr_rc options_merge(struct work *w)
{
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (w->agent->options != NULL)
        w->options = pdr_value_ref(w->agent->options);
    if (w->run->options == NULL)
        return PDR_OK;
    if (w->options == NULL) {
        w->options = pdr_value_ref(w->run->options);
        return PDR_OK;
    }
    pdr_iter_init(&it, w->run->options);
    while (pdr_iter_next(&it)) {
        pdr_str name = {NULL, 0};

        PDR_TRY(pdr__value_sound_text(&name, it.name, &scratch, w->err));
        PDR_TRY(pdr_value_set(&w->options, name, it.value, w->err));
    }
done:
    pdr_buf_dispose(&scratch);
    return rc;
}

/* --- one call of the model -------------------------------------------------
 */

/* A pdr_update_fn: fold the piece, then let the caller hear of it. */
static pdr_rc on_update(const pdr_update *update, pdr_err *err, void *arg)
{
    struct work *w = arg;
    pdr_rc rc = pdr__fold_add(w->fold, update, err);

    if (rc != PDR_OK || w->run->fn == NULL)
        return rc;
    return w->run->fn(update, err, w->run->arg);
}

/* A message that the run made goes to the model next time, and into the
 * response; taken, also on failure. */
static pdr_rc answer_take(struct work *w, pdr_value *message)
{
    pdr_response *r = w->response;
    pdr_rc rc = pdr__grow((void **)&r->messages, &r->cap, r->count + 1,
                          sizeof(*r->messages), w->err);

    if (rc != PDR_OK) {
        pdr_value_free(message);
        return rc;
    }
    r->messages[r->count++] = message;
    return message_add(w, message, w->shape, PDR_ORIGIN_MODEL);
}

/* Ask the model once; its messages are the last ones of the response. */
static pdr_rc model_ask(struct work *w, bool with_tools)
{
    const pdr_agent *agent = w->agent;
    const pdr_client_request request = {
        .messages = w->messages,
        .count = w->count,
        .instructions = pdr_context_instructions(&w->context),
        .tools = w->infos,
        .tool_count = with_tools ? w->info_count : 0,
        .options = w->options,
        .shape = w->shape,
        .cancel = w->run->cancel};
    struct pdr__fold fold;
    pdr_value *message = NULL;
    pdr_rc rc = PDR_OK;

    pdr__fold_init(&fold, w->shape);
    w->fold = &fold;
    PDR_TRY(pdr_client_send(agent->client, &request, w->err, on_update, w));
    for (size_t i = 0; i < fold.count; i++) {
        PDR_TRY(pdr__fold_message(&message, &fold, i, agent->name, w->err));
        PDR_TRY(answer_take(w, message));
    }
    PDR_TRY(pdr__usage_add(&w->response->usage, fold.usage, w->err));
    pdr_buf_clear(&w->response->finish_reason);
    PDR_TRY(pdr_buf_append(&w->response->finish_reason,
                           pdr_buf_str(&fold.finish_reason), w->err));
done:
    w->fold = NULL;
    pdr__fold_dispose(&fold);
    return rc;
}

/* --- tools -----------------------------------------------------------------
 */

bool pdr__call_is_ours(const pdr_value *content, pdr_shape shape)
{
    const char *const flags[] = {"informationalOnly", "informational_only",
                                 "hosted"};

    if (pdr_content_kind_of(content, shape) != PDR_CONTENT_CALL)
        return false;
    for (size_t i = 0; i < PDR_COUNT(flags); i++) {
        const pdr_value *flag = pdr_value_get_c(content, flags[i]);
        bool truth = false;

        if (flag != NULL && pdr_value_bool(&truth, flag, NULL) == PDR_OK &&
            truth)
            return false;
    }
    return true;
}

/* Run the calls in the messages from `first` on: one message with all results
 * (R3). `*called`: there were some. */
static pdr_rc tools_run(bool *called, struct work *w, size_t first)
{
    const pdr_response *r = w->response;
    pdr_run run = *w->run;
    pdr_message_parts parts = {.role = PDR_LIT("tool"),
                               .author = w->agent->name};
    pdr_value *results = pdr_value_new_array(), *one = NULL, *message = NULL;
    pdr_buf name_room = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    *called = false;
    run.session = w->session;
    for (size_t i = first; i < r->count; i++) {
        pdr_iter it;

        pdr_iter_init(&it, pdr_message_contents(r->messages[i], w->shape));
        while (pdr_iter_next(&it)) {
            const pdr_value *name = NULL;
            pdr_str text = PDR_LIT("");

            if (!pdr__call_is_ours(it.value, w->shape))
                continue;
            if (pdr_cancel_is_set(run.cancel))
                PDR_TRY(PDR_FAIL(w->err, RUN_CANCELLED, "%s",
                                 "the run was cancelled"));
            name = pdr_content_get(it.value, w->shape, PDR_FIELD_NAME);
            if (name != NULL)
                PDR_TRY(pdr__value_sound_text(&text, name, &name_room, w->err));
            PDR_TRY(pdr__tool_call(&one, pdr__context_tool(&w->context, text),
                                   it.value, w->shape, &run, w->err));
            PDR_TRY(pdr_value_append(&results, one, w->err));
            pdr_value_free(one);
            one = NULL;
            *called = true;
        }
    }
    if (!*called)
        goto done;
    parts.contents = results;
    PDR_TRY(pdr_message_new(&message, w->shape, &parts, w->err));
    PDR_TRY(answer_take(w, message));
done:
    pdr_buf_dispose(&name_room);
    pdr_value_free(one);
    pdr_value_free(results);
    return rc;
}

/* --- the end ---------------------------------------------------------------
 */

/* A turn of a durable session: what was asked, and what came of it. */
static pdr_rc store_turn(struct work *w)
{
    const pdr_run *run = w->run;
    struct pdr__uuid uuid;
    char id[PDR_UUID_TEXT];
    pdr_entry_parts parts = {.correlation_id = run->correlation_id,
                             .created_at = PDR_TICKS_UNIX_EPOCH +
                                           run->now_ms * PDR_TICKS_PER_MS};
    pdr_value *list = NULL, *entry = NULL;
    pdr_rc rc = PDR_OK;

    if (parts.correlation_id.len == 0) {
        PDR_TRY(pdr__uuid_v4(&uuid, pdr__rand_system(), w->err));
        pdr__uuid_write(id, &uuid);
        parts.correlation_id = pdr_str_c(id);
    }
    for (int i = 0; i < 2; i++) {
        pdr_value *const *from = i == 0 ? w->input : w->response->messages;
        size_t count = i == 0 ? w->input_count : w->response->count;

        list = pdr_value_new_array();
        for (size_t k = 0; k < count; k++)
            PDR_TRY(pdr_value_append(&list, from[k], w->err));
        parts.kind = i == 0 ? PDR_ENTRY_REQUEST : PDR_ENTRY_RESPONSE;
        parts.messages = list;
        parts.usage = i == 0 ? NULL : w->response->usage;
        PDR_TRY(pdr_entry_new(&entry, &parts, w->err));
        PDR_TRY(pdr_stored_add_entry(run->stored, entry, w->err));
        pdr_value_free(entry);
        pdr_value_free(list);
        entry = list = NULL;
    }
done:
    pdr_value_free(entry);
    pdr_value_free(list);
    return rc;
}

static pdr_rc store_messages(struct work *w, pdr_value *const *messages,
                             size_t count)
{
    const pdr_value *const *list = (const pdr_value *const *)messages;

    if (w->run->stored != NULL)
        return pdr_stored_add_messages(w->run->stored, w->run->correlation_id,
                                       list, count, w->err);
    return pdr_session_add_messages_at(w->session, w->agent->history_key, list,
                                       count, w->err);
}

/* Input and answers into the history, in one step (R2). */
static pdr_rc run_store(struct work *w)
{
    const pdr_commit_options now = {.now_ms = w->run->now_ms};
    pdr_stored *stored = w->run->stored;
    pdr_value **all = NULL;
    size_t count = w->input_count + w->response->count;
    size_t waiting = stored != NULL ? stored->changes.entry_count : 0;
    pdr_rc rc = PDR_OK;

    if (w->session == NULL)
        return PDR_OK;
    if (w->keeper != NULL) {
        count = 0; /* it has stored them */
    } else if (w->shape == PDR_SHAPE_STATE) {
        PDR_TRY(store_turn(w));
    } else if (count > 0) {
        all = pdr__calloc(count, sizeof(*all));
        if (all == NULL)
            return pdr__nomem(w->err);
        for (size_t i = 0; i < count; i++)
            all[i] = i < w->input_count
                         ? w->input[i]
                         : w->response->messages[i - w->input_count];
        PDR_TRY(store_messages(w, all, count));
    }
    if (stored != NULL)
        PDR_TRY(pdr_stored_commit(stored, &now, w->err));
done:
    if (rc != PDR_OK && stored != NULL) /* or the next run would store them */
        pdr__changes_cut(&stored->changes, waiting);
    pdr__free(all);
    return rc;
}

/* Can this agent work on the session? */
static pdr_rc session_check(struct work *w)
{
    pdr_session_kind kind = PDR_SESSION_KIND_UNSTATED;
    pdr_session_shape shape = PDR_SESSION_NATIVE;
    pdr_value *service = NULL;
    pdr_rc rc = PDR_OK;

    if (w->session == NULL)
        return PDR_OK;
    kind = pdr_session_get_kind(w->session);
    shape = pdr_session_get_shape(w->session);
    if ((kind != PDR_SESSION_KIND_UNSTATED && kind != PDR_SESSION_KIND_CLIENT &&
         kind != PDR_SESSION_KIND_PYTHON &&
         (kind != PDR_SESSION_KIND_DURABLE || w->run->stored == NULL)) ||
        shape == PDR_SESSION_DOTNET_THREAD ||
        shape == PDR_SESSION_PYTHON_THREAD)
        return PDR_FAIL(w->err, SESSION_KIND,
                        "this agent cannot use a session of kind %s, shape %s",
                        pdr_session_kind_name(kind),
                        pdr_session_shape_name(shape));
    PDR_TRY(pdr_session_service_id(&service, w->session, w->err));
    if (service != NULL)
        rc = PDR_FAIL(w->err, SESSION_KIND, "%s",
                      "the history of this session is kept by a service, which "
                      "this agent cannot ask");
done:
    pdr_value_free(service);
    return rc;
}

static pdr_rc run_work(struct work *w)
{
    pdr_err why = PDR_ERR_INIT;
    bool called = true, told = false;
    pdr_rc rc = PDR_OK;

    PDR_TRY(input_load(w));
    if (w->keeper == NULL)
        PDR_TRY(pdr__history_load(&w->history, w->agent, w->session,
                                  w->run->stored, w->err));
    PDR_TRY(providers_ask(w));
    PDR_TRY(messages_gather(w));
    PDR_TRY(options_merge(w));
    /* The last answer is asked for without tools, so that there is one. */
    for (unsigned i = 0; called && i <= w->agent->max_calls; i++) {
        bool is_last = i == w->agent->max_calls;
        size_t first = w->response->count;

        PDR_TRY(model_ask(w, !is_last));
        called = false;
        if (!is_last)
            PDR_TRY(tools_run(&called, w, first));
    }
    PDR_TRY(providers_tell(w, NULL));
    told = true;
    PDR_TRY(run_store(w));
done:
    if (rc != PDR_OK && !told) {
        why = *w->err;
        why.code = rc; /* whoever failed may not have said more */
        (void)!providers_tell(w, &why);
    }
    return rc;
}

pdr_rc pdr_agent_run(pdr_response **out, pdr_agent *agent, const pdr_run *run,
                     pdr_err *err)
{
    const pdr_buf none = PDR_BUF_INIT(SIZE_MAX);
    pdr_err own_err = PDR_ERR_INIT; /* providers are told what went wrong */
    struct work w = {.agent = agent,
                     .run = run,
                     .err = err != NULL ? err : &own_err,
                     .memory = PDR_ARENA_INIT(SIZE_MAX)};
    bool busy = false;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && agent != NULL && run != NULL &&
                (run->session == NULL || run->stored == NULL));
    *out = NULL;
    w.session =
        run->stored != NULL ? pdr_stored_session(run->stored) : run->session;
    w.shape = run->stored != NULL ? pdr_stored_shape(run->stored)
              : w.session != NULL ? pdr_session_message_shape(w.session)
                                  : PDR_SHAPE_DOTNET;
    rc = session_check(&w);
    if (rc != PDR_OK)
        return rc;
    w.response = pdr__calloc(1, sizeof(*w.response));
    if (w.response == NULL)
        return pdr__nomem(err);
    w.response->shape = w.shape;
    w.response->finish_reason = none;
    PDR_TRY(providers_choose(&w));
    PDR_TRY(pdr__context_init(&w.context, agent, w.shape, w.err));
    busy = w.session != NULL && !pdr__session_begin_run(w.session);
    if (busy)
        rc = PDR_FAIL(w.err, SESSION_BUSY, "%s",
                      "another run is at work on this session: wait for it");
    else
        rc = run_work(&w);
    if (w.session != NULL && !busy)
        pdr__session_end_run(w.session);
    if (rc == PDR_OK || rc == PDR_ECONFLICT) {
        *out = w.response;
        w.response = NULL;
    }
done:
    pdr_response_free(w.response);
    pdr__history_dispose(&w.history);
    for (size_t i = 0; i < w.input_count; i++)
        pdr_value_free(w.input[i]);
    pdr__free(w.input);
    pdr__free(w.messages);
    pdr_value_free(w.options);
    pdr__context_dispose(&w.context);
    pdr_provider_set_free(w.own_providers);
    pdr__arena_dispose(&w.memory);
    return rc;
}

/* --- responses -------------------------------------------------------------
 */

void pdr_response_free(pdr_response *response)
{
    if (response == NULL)
        return;
    for (size_t i = 0; i < response->count; i++)
        pdr_value_free(response->messages[i]);
    pdr__free(response->messages);
    pdr_value_free(response->usage);
    pdr_buf_dispose(&response->finish_reason);
    pdr__free(response);
}

size_t pdr_response_count(const pdr_response *response)
{
    return response->count;
}

const pdr_value *pdr_response_message(const pdr_response *response,
                                      size_t index)
{
    return index < response->count ? response->messages[index] : NULL;
}

pdr_shape pdr_response_shape(const pdr_response *response)
{
    return response->shape;
}

pdr_rc pdr_response_text(pdr_buf *out, const pdr_response *response,
                         pdr_err *err)
{
    pdr_buf text = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    bool any = false;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && response != NULL);
    for (size_t i = 0; i < response->count; i++) {
        pdr_buf_clear(&text);
        PDR_TRY(pdr_message_text(&text, response->messages[i], response->shape,
                                 err));
        if (text.len == 0)
            continue;
        if (any)
            PDR_TRY(pdr_buf_append(out, PDR_LIT("\n"), err));
        PDR_TRY(pdr_buf_append(out, pdr_buf_str(&text), err));
        any = true;
    }
done:
    pdr_buf_dispose(&text);
    return rc;
}

const pdr_value *pdr_response_usage(const pdr_response *response)
{
    return response->usage;
}

pdr_str pdr_response_finish_reason(const pdr_response *response)
{
    return pdr_buf_str(&response->finish_reason);
}
