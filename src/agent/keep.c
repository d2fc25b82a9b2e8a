/*
 * keep.c - what stays of a run: told to the providers, put into the history.
 *
 *      story   input | call, result | answer, ...
 *                    ▲ inputs       ▲ sure          ▲ count
 *
 * WHY  A run tells a story: what the caller said and all that came of it, in
 *      the order of the history. Usually it is stored as a whole when the run
 *      has succeeded. Some of it may have to stay although the run failed: the
 *      result of a tool that ran because somebody approved it, or as much as
 *      the caller asked for. An agent that stores each call of the model stores
 *      the story piece by piece. In each case a piece is stored as a whole or
 *      not at all, together with what it changed in the bag.
 */
#include <perdure/doc.h>

#include "journal.h"
#include "session.h"
#include "stored.h"

/* --- the story -------------------------------------------------------------
 */

pdr_rc pdr__story_add(struct pdr__run *w, const pdr_value *message,
                      bool is_answer)
{
    struct pdr__story *s = &w->story;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__grow((void **)&s->messages, &s->cap, s->count + 1,
                      sizeof(*s->messages), w->err));
    PDR_TRY(pdr__grow((void **)&s->is_answer, &s->flag_cap, s->count + 1,
                      sizeof(*s->is_answer), w->err));
    s->messages[s->count] = pdr_value_ref(message);
    s->is_answer[s->count++] = is_answer;
done:
    return rc;
}

void pdr__story_dispose(struct pdr__story *story)
{
    for (size_t i = 0; i < story->count; i++)
        pdr_value_free(story->messages[i]);
    pdr__free(story->messages);
    pdr__free(story->is_answer);
}

pdr_rc pdr__answer_take(struct pdr__run *w, pdr_value *message)
{
    pdr_response *r = w->response;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__grow((void **)&r->messages, &r->cap, r->count + 1,
                      sizeof(*r->messages), w->err));
    PDR_TRY(pdr__story_add(w, message, true));
    r->messages[r->count++] = pdr_value_ref(message);
    PDR_TRY(pdr__send_add(w, message, PDR_ORIGIN_MODEL));
done:
    pdr_value_free(message);
    return rc;
}

void pdr__answers_drop(struct pdr__run *w)
{
    pdr_response *r = w->response;

    while (r->count > 0)
        pdr_value_free(r->messages[--r->count]);
    while (w->story.count > w->story.inputs)
        pdr_value_free(w->story.messages[--w->story.count]);
}

/* --- telling ---------------------------------------------------------------
 */

/* The messages from `at` on; NULL if there are none at all. */
static const pdr_value *const *story_at(const struct pdr__story *s, size_t at)
{
    return s->messages != NULL ? (const pdr_value *const *)s->messages + at
                               : NULL;
}

pdr_run_info pdr__run_info(const struct pdr__run *w, size_t from, size_t end)
{
    return (pdr_run_info){.agent_id = w->agent->id,
                          .agent_name = w->agent->name,
                          .session = w->session,
                          .input = story_at(&w->story, from),
                          .input_count = end - from,
                          .shape = w->shape,
                          .now_ms = w->run->now_ms};
}

/* Tell one provider of the messages from `stored` to `end`. */
static pdr_rc tell(struct pdr__run *w, const pdr_provider *provider,
                   size_t split, size_t end, const pdr_err *error, pdr_err *err)
{
    const pdr_run_info info = pdr__run_info(w, w->story.stored, split);
    const pdr_run_outcome outcome = {.answers = story_at(&w->story, split),
                                     .answer_count =
                                         error == NULL ? end - split : 0,
                                     .error = error};

    if (provider->after == NULL)
        return PDR_OK;
    return provider->after(&info, &outcome, err, provider->self);
}

pdr_rc pdr__providers_tell(struct pdr__run *w, size_t split,
                           const pdr_err *error)
{
    /* Whoever keeps the history comes last: what it has is stored, and nobody
     * may object any more. */
    for (size_t i = pdr_provider_set_count(w->providers) + 1; i > 0; i--) {
        const pdr_provider *provider =
            i > 1 ? pdr_provider_set_at(w->providers, i - 2) : w->keeper;
        pdr_err why = PDR_ERR_INIT;
        pdr_rc rc = PDR_OK;

        if (provider == NULL || (i > 1 && provider == w->keeper))
            continue;
        rc = tell(w, provider, split, w->story.count, error, &why);
        if (rc != PDR_OK && error == NULL) {
            *w->err = why;
            return rc;
        }
    }
    return PDR_OK;
}

/* --- storing ---------------------------------------------------------------
 */

/* A turn of a durable session: what was asked, and what came of it. */
static pdr_rc store_turn(struct pdr__run *w, size_t end)
{
    const struct pdr__story *s = &w->story;
    const pdr_run *run = w->run;
    /* The request of a durable run was stored when it was claimed. */
    const bool is_durable = w->journal != NULL;
    int64_t now_ms = is_durable ? pdr_task_now(w->journal->task) : run->now_ms;
    struct pdr__uuid uuid;
    char id[PDR_UUID_TEXT];
    pdr_entry_parts parts = {.correlation_id = run->correlation_id,
                             .created_at = PDR_TICKS_UNIX_EPOCH +
                                           now_ms * PDR_TICKS_PER_MS};
    pdr_value *list = NULL, *entry = NULL;
    pdr_rc rc = PDR_OK;

    if (parts.correlation_id.len == 0) {
        PDR_TRY(pdr__uuid_v4(&uuid, pdr__rand_system(), w->err));
        pdr__uuid_write(id, &uuid);
        parts.correlation_id = pdr_str_c(id);
    }
    for (int i = is_durable ? 1 : 0; i < 2; i++) {
        list = pdr_value_new_array();
        for (size_t k = i == 0 ? 0 : s->inputs; k < (i == 0 ? s->inputs : end);
             k++)
            PDR_TRY(pdr_value_append(&list, s->messages[k], w->err));
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

static pdr_rc store_messages(struct pdr__run *w, size_t end)
{
    const struct pdr__story *s = &w->story;
    const pdr_value *const *list = story_at(s, s->stored);
    size_t count = end - s->stored;

    if (w->keeper != NULL || count == 0)
        return PDR_OK; /* a provider has them */
    if (w->run->stored == NULL)
        return pdr_session_add_messages_at(w->session, w->agent->history_key,
                                           list, count, w->err);
    if (w->shape == PDR_SHAPE_STATE)
        return store_turn(w, end);
    return pdr_stored_add_messages(w->run->stored, w->run->correlation_id, list,
                                   count, w->err);
}

/* A session that runs here has its history here; it need not say so. */
static pdr_rc drop_sentinel(struct pdr__run *w)
{
    const char *member = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__session_drop_sentinel(&member, w->session, w->err));
    if (member != NULL && w->run->stored != NULL)
        PDR_TRY(pdr__stored_clear_sentinel(w->run->stored, member, w->err));
done:
    return rc;
}

/* Put them into the session with what changed in the bag; all of it, or
 * nothing: else the next run would store the rest. */
static pdr_rc store_in_session(struct pdr__run *w, size_t end)
{
    const pdr_commit_options now = {.now_ms = w->run->now_ms};
    pdr_stored *stored = w->run->stored;
    size_t waiting = stored != NULL ? stored->changes.entry_count : 0;
    pdr_rc rc = PDR_OK;

    PDR_TRY(drop_sentinel(w));
    PDR_TRY(pdr__record_save(w));
    PDR_TRY(pdr__injected_drop(w));
    PDR_TRY(store_messages(w, end));
    if (stored != NULL && w->journal == NULL) /* else the entity commits */
        PDR_TRY(pdr_stored_commit(stored, &now, w->err));
    pdr__record_note(&w->record, w->session);
    pdr__injected_forget(w);
    w->injected = 0;
done:
    if (rc != PDR_OK) {
        if (stored != NULL)
            pdr__changes_cut(&stored->changes, waiting);
        pdr__record_restore(w);
        pdr__injected_restore(w);
    }
    return rc;
}

pdr_rc pdr__story_store(struct pdr__run *w, size_t end)
{
    struct pdr__story *s = &w->story;
    bool has_place = w->session != NULL || w->keeper != NULL;
    pdr_rc rc = PDR_OK;

    if (w->session != NULL)
        PDR_TRY(store_in_session(w, end));
    for (size_t i = s->stored; has_place && i < end; i++)
        w->response->stored += s->is_answer[i];
    s->stored = end;
done:
    return rc;
}

/* --- a run that failed -----------------------------------------------------
 */

/* The unfinished answer, with a mark. */
static pdr_rc take_unfinished(struct pdr__run *w)
{
    struct pdr__fold *fold = w->fold;
    pdr_value *truth = pdr_value_new_bool(true), *message = NULL;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < fold->count; i++) {
        pdr_value **properties = &fold->messages[i].properties;

        if (*properties == NULL)
            *properties = pdr_value_new_object();
        PDR_TRY(
            pdr_value_set(properties, PDR_LIT("_incomplete"), truth, w->err));
        PDR_TRY(pdr__fold_message(&message, fold, i, w->agent->name, w->err));
        PDR_TRY(pdr__answer_take(w, message));
    }
done:
    pdr_value_free(truth);
    return rc;
}

void pdr__story_rescue(struct pdr__run *w)
{
    struct pdr__story *s = &w->story;
    size_t end = s->sure, split = s->inputs > s->stored ? s->inputs : s->stored;
    pdr_err why = PDR_ERR_INIT, *first = w->err;

    w->err = &why; /* the caller gets the first error */
    if (w->run->on_partial == PDR_PARTIAL_ALL && w->fold != NULL)
        (void)!take_unfinished(w);
    if (w->run->on_partial != PDR_PARTIAL_DISCARD && s->count > s->inputs)
        end = s->count;
    if (end <= s->sure) { /* what came after that is gone */
        w->injected = 0;
        pdr__record_unask(w);
    }
    if (end > s->stored && (w->keeper == NULL || tell(w, w->keeper, split, end,
                                                      NULL, &why) == PDR_OK))
        (void)!pdr__story_store(w, end);
    w->err = first;
}
