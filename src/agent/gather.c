/*
 * gather.c - what a model gets to see: history, what the caller says, what
 * providers add, options.
 *
 *      slots of the bag ─► history ─► before hooks ─► messages, options
 *
 * Messages are borrowed where they are: a run does not copy a history.
 */
#include <perdure/doc.h>

#include "journal.h"
#include "stored.h"

pdr_rc pdr__send_add(struct pdr__run *w, const pdr_value *value,
                     pdr_origin origin)
{
    pdr_rc rc = pdr__grow((void **)&w->messages, &w->cap, w->count + 1,
                          sizeof(*w->messages), w->err);

    if (rc == PDR_OK)
        w->messages[w->count++] =
            (pdr_request_message){value, w->shape, origin};
    return rc;
}

/* The slot in which messages from outside wait. */
static pdr_str injected_key(pdr_shape shape)
{
    return shape == PDR_SHAPE_PYTHON
               ? PDR_LIT("message_injection.pending_messages")
               : PDR_LIT("MessageInjectingChatClient.PendingInjectedMessages");
}

/* --- what the caller says --------------------------------------------------
 */

/* Take a message of the caller, also on failure. Where each call of the model
 * is stored, the history has calls in place of requests for approval; so it has
 * no answers to them either. */
static pdr_rc input_take(struct pdr__run *w, pdr_value *message)
{
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__replies_take(w, message));
    if (!w->agent->stores_each_call || !pdr__is_replies_only(message, w->shape))
        PDR_TRY(pdr__story_add(w, message, false));
    w->story.inputs = w->story.count;
done:
    pdr_value_free(message);
    return rc;
}

pdr_rc pdr__input_load(struct pdr__run *w)
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
    PDR_TRY(pdr__answers_message(&message, w));
    if (message != NULL)
        PDR_TRY(input_take(w, message));
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

pdr_rc pdr__providers_choose(struct pdr__run *w)
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

/* Put the slots that providers and the run itself need into the bag, with one
 * read. */
pdr_rc pdr__slots_load(struct pdr__run *w)
{
    pdr_stored *stored = w->run->stored;
    pdr_str *keys = NULL;
    void *room = NULL;
    size_t count = 0;
    pdr_rc rc = PDR_OK;

    if (stored == NULL || pdr_stored_head(stored)->slots == 0)
        return PDR_OK;
    for (size_t i = 0; i < pdr_provider_set_count(w->providers); i++) {
        const pdr_provider *provider = pdr_provider_set_at(w->providers, i);

        for (size_t k = 0; provider->keys != NULL && provider->keys[k] != NULL;
             k++)
            count++;
    }
    PDR_TRY(pdr__arena_alloc(&room, &w->memory,
                             (count + PDR_RECORD_KEYS + 1) * sizeof(*keys),
                             w->err));
    keys = room;
    count = pdr__record_keys(keys, w->shape);
    keys[count++] = injected_key(w->shape);
    for (size_t i = 0; i < pdr_provider_set_count(w->providers); i++) {
        const pdr_provider *provider = pdr_provider_set_at(w->providers, i);

        for (size_t k = 0; provider->keys != NULL && provider->keys[k] != NULL;
             k++)
            keys[count++] = pdr_str_c(provider->keys[k]);
    }
    PDR_TRY(pdr_stored_load(stored, keys, count, w->err));
done:
    return rc;
}

/* Let all providers add. */
static pdr_rc providers_ask(struct pdr__run *w)
{
    const pdr_run_info info = pdr__run_info(w, 0, w->story.inputs);
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < pdr_provider_set_count(w->providers); i++)
        PDR_TRY(pdr__context_ask(
            &w->context, pdr_provider_set_at(w->providers, i), &info, w->err));
    PDR_TRY(pdr__context_infos(&w->infos, &w->info_count, &w->context,
                               &w->memory, w->err));
done:
    return rc;
}

/* --- all of it -------------------------------------------------------------
 */

/* The options of the run over those of the agent. */
static pdr_rc options_merge(struct pdr__run *w)
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

pdr_rc pdr__gather(struct pdr__run *w)
{
    const struct pdr_context *c = &w->context;
    const struct pdr__history *history = &w->history;
    pdr_rc rc = PDR_OK;

    bool goes_on = w->journal != NULL && w->journal->context != NULL;

    if (w->journal != NULL)
        w->journal->bag = pdr_value_ref(w->run->stored->view->loaded);
    if (w->keeper == NULL && !goes_on)
        PDR_TRY(pdr__history_load(&w->history, w->agent, w->session,
                                  w->run->stored, w->err));
    PDR_TRY(providers_ask(w)); /* of a run that goes on, for their tools */
    if (goes_on)
        PDR_TRY(pdr__journal_restore_context(w));
    else
        PDR_TRY(pdr__context_history(&w->history, c, w->err));
    for (size_t i = 0; i < history->count; i++)
        PDR_TRY(
            pdr__send_add(w, history->messages[i].value, PDR_ORIGIN_HISTORY));
    for (size_t i = 0; i < w->story.inputs; i++)
        PDR_TRY(pdr__send_add(w, w->story.messages[i], PDR_ORIGIN_CALLER));
    for (size_t i = 0; i < c->count; i++) {
        if (c->messages[i].origin == PDR_ORIGIN_CONTEXT)
            PDR_TRY(pdr__send_add(w, c->messages[i].value, PDR_ORIGIN_CONTEXT));
    }
    if (!goes_on)
        PDR_TRY(options_merge(w));
    if (w->journal != NULL && !goes_on) {
        PDR_TRY(pdr__journal_choose_tools(w));
        PDR_TRY(pdr__journal_note_context(w));
    }
done:
    return rc;
}

/* --- messages from outside -------------------------------------------------
 * They wait in a slot of the bag, an array. A run takes them from there with
 * each call of the model, and removes them when they are in the history: so a
 * run that fails loses none.
 */

/* The shape of what waits there. */
static pdr_shape injected_shape(pdr_shape shape)
{
    return shape == PDR_SHAPE_PYTHON ? shape : PDR_SHAPE_DOTNET;
}

pdr_rc pdr__injected_take(struct pdr__run *w)
{
    pdr_shape shape = injected_shape(w->shape);
    pdr_value *queue = NULL, *message = NULL;
    size_t most = pdr__journal_injected(w);
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (w->session == NULL ||
        !pdr_bag_has(pdr_session_bag(w->session), injected_key(w->shape)))
        return PDR_OK;
    PDR_TRY(pdr_bag_get(&queue, pdr_session_bag(w->session),
                        injected_key(w->shape), w->err));
    if (queue == NULL || pdr_value_kind(queue) != PDR_ARRAY)
        goto done; /* whatever it is, no message waits there */
    pdr_iter_init(&it, queue);
    while (pdr_iter_next(&it)) {
        if (it.index < w->injected)
            continue;
        if (w->injected >= most) /* the others came later */
            break;
        if (pdr_value_kind(it.value) == PDR_OBJECT) {
            PDR_TRY(pdr_message_convert(&message, it.value, shape, w->shape,
                                        w->err));
            PDR_TRY(pdr__story_add(w, message, false));
        }
        w->injected++;
        if (message != NULL)
            PDR_TRY(pdr__send_add(w, message, PDR_ORIGIN_CALLER));
        pdr_value_free(message);
        message = NULL;
    }
done:
    pdr_value_free(message);
    pdr_value_free(queue);
    return rc;
}

/* A pdr_bag_update_fn: the first ones go to `dropped`. */
static pdr_rc queue_drop(pdr_value **io, pdr_err *err, void *arg)
{
    struct pdr__run *w = arg;
    pdr_value *rest = pdr_value_new_array();
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, *io);
    while (pdr_iter_next(&it))
        PDR_TRY(pdr_value_append(it.index < w->injected ? &w->dropped : &rest,
                                 it.value, err));
    pdr_value_free(*io);
    *io = rest;
    rest = NULL;
done:
    pdr_value_free(rest);
    return rc;
}

/* A pdr_bag_update_fn: they are the first ones again. */
static pdr_rc queue_restore(pdr_value **io, pdr_err *err, void *arg)
{
    struct pdr__run *w = arg;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, *io);
    while (pdr_iter_next(&it))
        PDR_TRY(pdr_value_append(&w->dropped, it.value, err));
    pdr_value_free(*io);
    *io = w->dropped;
    w->dropped = NULL;
done:
    return rc;
}

pdr_rc pdr__injected_drop(struct pdr__run *w)
{
    pdr_rc rc = PDR_OK;

    if (w->injected == 0)
        return PDR_OK;
    w->dropped = pdr_value_new_array();
    rc = pdr_bag_update(pdr_session_bag(w->session), injected_key(w->shape),
                        w->err, queue_drop, w);
    if (rc != PDR_OK)
        pdr__injected_forget(w); /* they are still there */
    return rc;
}

void pdr__injected_forget(struct pdr__run *w)
{
    pdr_value_free(w->dropped);
    w->dropped = NULL;
}

void pdr__injected_restore(struct pdr__run *w)
{
    if (w->dropped != NULL)
        (void)!pdr_bag_update(pdr_session_bag(w->session),
                              injected_key(w->shape), NULL, queue_restore, w);
    pdr__injected_forget(w);
}

struct injection {
    const pdr_value *const *messages;
    size_t count;
    pdr_shape from, to;
};

/* A pdr_bag_update_fn: add them at the end. */
static pdr_rc queue_add(pdr_value **io, pdr_err *err, void *arg)
{
    const struct injection *in = arg;
    pdr_value *all = NULL, *one = NULL;
    pdr_rc rc = PDR_OK;

    if (*io != NULL && pdr_value_kind(*io) != PDR_ARRAY &&
        pdr_value_kind(*io) != PDR_NULL)
        return PDR_FAIL(err, WRONG_KIND,
                        "messages that wait are an array, the slot has %s",
                        pdr__kind_phrase(*io));
    all = *io != NULL && pdr_value_kind(*io) == PDR_ARRAY
              ? pdr_value_ref(*io)
              : pdr_value_new_array();
    for (size_t i = 0; i < in->count; i++) {
        PDR_TRY(
            pdr_message_convert(&one, in->messages[i], in->from, in->to, err));
        PDR_TRY(pdr_value_append(&all, one, err));
        pdr_value_free(one);
        one = NULL;
    }
    pdr_value_free(*io);
    *io = all;
    all = NULL;
done:
    pdr_value_free(one);
    pdr_value_free(all);
    return rc;
}

pdr_rc pdr_inject(pdr_session *session, pdr_stored *stored,
                  const pdr_value *const *messages, size_t count,
                  pdr_shape shape, pdr_err *err)
{
    struct injection in = {.messages = messages, .count = count, .from = shape};
    pdr_str key = PDR_LIT("");
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE((session == NULL) != (stored == NULL) &&
                (messages != NULL || count == 0));
    for (size_t i = 0; i < count; i++) {
        if (pdr_value_kind(messages[i]) != PDR_OBJECT)
            return PDR_FAIL(err, WRONG_KIND,
                            "a message is an object, message %zu is %s", i,
                            pdr__kind_phrase(messages[i]));
    }
    if (stored != NULL)
        session = pdr_stored_session(stored);
    in.to = injected_shape(pdr_session_message_shape(session));
    key = injected_key(in.to);
    if (stored != NULL)
        PDR_TRY(pdr_stored_load(stored, &key, 1, err));
    PDR_TRY(pdr_bag_update(pdr_session_bag(session), key, err, queue_add, &in));
done:
    return rc;
}
