/*
 * run.c - one run of an agent: from what the caller says to what is stored.
 *
 *      history ─┐                          ┌─► no calls: the end
 *      input  ──┼─► messages ─► model ─────┼─► a call needs approval: the end
 *      context ─┘      ▲                   │
 *                      └── results ◄─ tools┘
 *
 *      the end: input and all that came of it into the history, in one step
 *
 * INVARIANTS
 *   R1  Messages are borrowed where they are: a run does not copy a history.
 *   R2  Nothing is stored before the run has succeeded, or each call of the
 *       model has where the agent stores each call. So a run that fails leaves
 *       the history as it was, but for what the caller wants to keep.
 *   R3  Every call of the model has a result before the model is asked again.
 *   R4  One run at a time on a session: a second one is refused.
 *
 * NOT HERE  What is sent (gather.c), how pieces become messages (fold.c), what
 *           tools do (tool.c, call.c), what may run (approve.c), what stays
 *           (keep.c).
 */
#include "journal.h"
#include "session.h"
#include "stored.h"

/* --- one call of the model -------------------------------------------------
 */

/* A pdr_update_fn: fold the piece, then let the caller hear of it. */
static pdr_rc on_update(const pdr_update *update, pdr_err *err, void *arg)
{
    struct pdr__run *w = arg;
    pdr_update ours = *update;
    pdr_rc rc = PDR_OK;

    ours.agent_id = w->agent->id;
    rc = pdr__fold_add(w->fold, &ours, err);
    if (rc == PDR_OK && w->journal != NULL)
        rc = pdr__journal_say(w, &ours, err);
    if (rc != PDR_OK || w->run->fn == NULL)
        return rc;
    return w->run->fn(&ours, err, w->run->arg);
}

/* Ask the model once; its messages are the last ones of the response. The fold
 * of an answer that was cut off stays. */
static pdr_rc model_ask(struct pdr__run *w, bool with_tools)
{
    const pdr_agent *agent = w->agent;
    const pdr_client_request request = {
        .messages = w->messages,
        .count = w->count,
        .instructions = pdr_context_instructions(&w->context),
        .tools = w->infos,
        .tool_count = with_tools ? w->info_count : 0,
        .options = w->options,
        .output_schema = w->sent_schema,
        .shape = w->shape,
        .cancel = w->journal != NULL ? &w->journal->leave : w->cancel,
        .log = &agent->log};
    int64_t since = pdr__event_time(&agent->log);
    size_t first = w->response->count;
    pdr_value *message = NULL;
    bool is_known = false;
    pdr_rc rc = PDR_OK;

    if (w->journal != NULL)
        rc = pdr__journal_answer(&is_known, w);
    if (is_known || rc != PDR_OK)
        return rc;
    pdr__fold_init(&w->folds, w->shape);
    w->fold = &w->folds;
    pdr__event_model_asked(&request);
    rc = pdr_client_send(agent->client, &request, w->err, on_update, w);
    pdr__event_model_answered(&agent->log, since, w->fold->usage, rc, w->err);
    if (rc != PDR_OK)
        return rc;
    w->fold = NULL; /* it is whole */
    for (size_t i = 0; i < w->folds.count; i++) {
        PDR_TRY(pdr__fold_message(&message, &w->folds, i, agent->name, w->err));
        PDR_TRY(pdr__answer_take(w, message));
    }
    PDR_TRY(pdr__response_add(w->response, &w->folds, w->err));
    if (w->journal != NULL)
        PDR_TRY(pdr__journal_note_answer(w, first, &w->folds));
done:
    pdr__fold_dispose(&w->folds);
    return rc;
}

/* Run the calls, and put their results where the model finds them. Those of a
 * run that ends there are kept, too. */
static pdr_rc tools_run(struct pdr__jobs *jobs, struct pdr__run *w)
{
    pdr_value *message = NULL;
    size_t failed = 0;
    pdr_rc rc = PDR_OK, ran = pdr__jobs_run(jobs, w);

    PDR_TRY(pdr__jobs_message(&message, jobs, w));
    if (message != NULL)
        PDR_TRY(pdr__answer_take(w, message));
    for (size_t i = 0; i < jobs->count; i++)
        failed += jobs->items[i].failed;
    w->failures = failed == jobs->count ? w->failures + 1 : 0;
done:
    return rc != PDR_OK ? rc : ran;
}

/* Tell providers of the messages up to now, of which those from `split` on are
 * answers, and store them. */
static pdr_rc settle(struct pdr__run *w, size_t split)
{
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__providers_tell(w, split, NULL));
    w->is_told = true;
    PDR_TRY(pdr__story_store(w, w->story.count));
done:
    return rc;
}

/* One answer of the model, and the calls in it. `*goes_on`: it has to be asked
 * again. */
static pdr_rc step(bool *goes_on, struct pdr__run *w, bool with_tools)
{
    struct pdr__jobs jobs = {NULL, 0, 0};
    size_t first = w->response->count, split = 0;
    pdr_rc rc = PDR_OK;

    *goes_on = false;
    PDR_TRY(pdr__injected_take(w));
    split = w->story.count;
    PDR_TRY(model_ask(w, with_tools));
    if (with_tools)
        PDR_TRY(pdr__jobs_find(&jobs, w, first));
    for (size_t i = first; w->run->said != NULL && i < w->response->count; i++)
        PDR_TRY(w->run->said(w->response->messages[i], w->shape, w->err,
                             w->run->said_arg));
    if (w->agent->stores_each_call) {
        PDR_TRY(settle(w, split));
        w->is_told = jobs.count == 0;
    }
    if (jobs.count > 0) {
        PDR_TRY(tools_run(&jobs, w));
        *goes_on = w->record.asked == NULL && !w->has_open_call;
    }
done:
    pdr__jobs_dispose(&jobs);
    return rc;
}

/* --- a run as a whole ------------------------------------------------------
 */

/* From the first question to the last answer. The last one is asked for without
 * tools, so that there is one. */
static pdr_rc run_steps(struct pdr__run *w)
{
    const pdr_agent *agent = w->agent;
    bool goes_on = true;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__slots_load(w));
    if (w->session != NULL)
        pdr__record_load(&w->record, w->session, w->shape);
    PDR_TRY(pdr__input_load(w));
    PDR_TRY(pdr__gather(w));
    PDR_TRY(pdr__approved_run(w));
    for (unsigned i = 0; goes_on && i <= w->max_calls; i++)
        PDR_TRY(step(&goes_on, w,
                     i < w->max_calls && w->failures < w->max_failures));
    PDR_TRY(pdr__approvals_new(&w->response->approvals, w->record.asked,
                               w->record.shape, w->err));
    if (w->story.stored < w->story.count || !agent->stores_each_call)
        PDR_TRY(settle(w, agent->stores_each_call ? w->story.stored
                                                  : w->story.inputs));
done:
    return rc;
}

/* Nothing waits on a run that is over: say why it is. */
static pdr_rc run_fail(struct pdr__run *w, pdr_rc rc)
{
    pdr_err why = PDR_ERR_INIT;

    if (rc == PDR_ECANCELLED && pdr_cancel_is_set(w->cancel) &&
        !pdr_cancel_is_set(w->run->cancel))
        rc = PDR_FAIL(w->err, RUN_TIMEOUT, "the run took longer than %u ms",
                      w->run->timeout_ms);
    w->err->code = rc; /* whoever failed may not have said more */
    why = *w->err;
    if (w->is_told)
        return rc; /* it could not be stored */
    (void)!pdr__providers_tell(
        w, w->agent->stores_each_call ? w->story.count : w->story.inputs, &why);
    pdr__story_rescue(w);
    return rc;
}

/* What the run needs before it begins. */
static pdr_rc run_begin(struct pdr__run *w)
{
    const pdr_run *run = w->run;
    const struct pdr__output *output = NULL;
    pdr_rc rc = PDR_OK;

    w->session =
        run->stored != NULL ? pdr_stored_session(run->stored) : run->session;
    w->shape = run->stored != NULL  ? pdr_stored_shape(run->stored)
               : w->session != NULL ? pdr_session_message_shape(w->session)
                                    : PDR_SHAPE_DOTNET;
    w->record.shape =
        w->shape == PDR_SHAPE_PYTHON ? w->shape : PDR_SHAPE_DOTNET;
    pdr__event_run_started(w->agent, w->session);
    if (w->session != NULL)
        PDR_TRY(pdr__agent_accepts(w->agent, w->session, run->stored != NULL,
                                   w->err));
    if (run->options != NULL && pdr_value_kind(run->options) != PDR_OBJECT)
        PDR_TRY(PDR_FAIL(w->err, WRONG_KIND,
                         "the options of a run are an object, these are %s",
                         pdr__kind_phrase(run->options)));
    PDR_TRY(pdr__response_new(&w->response, w->shape, w->agent->id, w->err));
    w->response->agent = pdr_agent_ref(w->agent);
    if (run->output_schema != NULL)
        PDR_TRY(
            pdr__output_new(&w->response->output, run->output_schema, w->err));
    output =
        w->response->output != NULL ? w->response->output : w->agent->output;
    w->sent_schema = output != NULL ? output->sent : NULL;
    w->max_calls = w->agent->max_calls;
    w->max_failures = w->agent->max_failures;
    PDR_TRY(pdr__providers_choose(w));
    PDR_TRY(pdr__context_init(&w->context, w->agent, w->shape, w->err));
    if (w->session != NULL && !pdr__session_begin_run(w->session))
        PDR_TRY(PDR_FAIL(w->err, SESSION_BUSY, "%s",
                         "another run is at work on this session: wait for "
                         "it"));
    w->is_begun = true;
    if (run->stored != NULL)
        w->journal = run->stored->journal;
    if (w->journal != NULL && w->journal->is_used)
        PDR_TRY(PDR_FAIL(w->err, BAD_AGENT, "%s",
                         "a layer of a durable agent can run the agent inside "
                         "once"));
    if (w->journal != NULL)
        w->journal->is_used = true;
done:
    return rc;
}

static void run_dispose(struct pdr__run *w)
{
    if (w->is_begun && w->session != NULL)
        pdr__session_end_run(w->session);
    if (w->fold != NULL)
        pdr__fold_dispose(w->fold);
    pdr_response_free(w->response);
    pdr__history_dispose(&w->history);
    pdr__story_dispose(&w->story);
    pdr__record_dispose(&w->record);
    pdr__free(w->messages);
    pdr_value_free(w->replies);
    pdr_value_free(w->dropped);
    pdr_value_free(w->options);
    pdr__context_dispose(&w->context);
    pdr_provider_set_free(w->own_providers);
    pdr__arena_dispose(&w->memory);
}

pdr_rc pdr_agent_run(pdr_response **out, pdr_agent *agent, const pdr_run *run,
                     pdr_err *err)
{
    pdr_err own_err = PDR_ERR_INIT; /* providers are told what went wrong */
    struct pdr__run w = {.agent = agent,
                         .run = run,
                         .err = err != NULL ? err : &own_err,
                         .memory = PDR_ARENA_INIT(SIZE_MAX)};
    pdr_cancel timer;
    int64_t since = 0;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && agent != NULL && run != NULL &&
                (run->session == NULL || run->stored == NULL) &&
                (run->messages != NULL || run->count == 0) &&
                (run->answers != NULL || run->answer_count == 0));
    *out = NULL;
    if (agent->inner != NULL)
        return agent->layer.run(out, agent->inner, run, err, agent->layer.arg);
    since = pdr__event_time(&agent->log);
    w.cancel = run->cancel;
    if (run->timeout_ms > 0) {
        pdr__cancel_init(&timer, run->cancel, run->timeout_ms);
        w.cancel = &timer;
    }
    PDR_TRY(run_begin(&w));
    rc = run_steps(&w);
    if (rc != PDR_OK)
        rc = run_fail(&w, rc);
    if (rc == PDR_OK || w.response->count > 0) {
        *out = w.response;
        w.response = NULL;
    }
done:
    pdr__event_run_ended(agent, w.session, since, rc, w.err);
    run_dispose(&w);
    if (run->timeout_ms > 0)
        pdr__cancel_dispose(&timer);
    return rc;
}
