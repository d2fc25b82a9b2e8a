/*
 * call.c - the calls in an answer of a model: found, shown or run.
 *
 *      answer ─► call a, call b ─┬─► needs approval: a request for the caller
 *                                └─► else a job ─► result
 */
#include <pthread.h>
#include <signal.h>

#include "journal.h"

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

/* Has the model heard of the tool? A durable run may leave some out. */
static bool tool_is_told(const struct pdr__run *w, pdr_str name)
{
    bool is_told = w->journal == NULL;

    for (size_t i = 0; i < w->info_count && !is_told; i++)
        is_told = pdr_str_equal(w->infos[i].name, name);
    return is_told;
}

/* The tool that a call names; NULL: there is none. */
static pdr_rc tool_of(struct pdr__tool **out, struct pdr__run *w,
                      const pdr_value *call)
{
    const pdr_value *name = pdr_content_get(call, w->shape, PDR_FIELD_NAME);
    pdr_buf room = PDR_BUF_INIT(SIZE_MAX);
    pdr_str text = PDR_LIT("");
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (name != NULL)
        PDR_TRY(pdr__value_sound_text(&text, name, &room, w->err));
    *out = tool_is_told(w, text) ? pdr__context_tool(&w->context, text) : NULL;
done:
    pdr_buf_dispose(&room);
    return rc;
}

/* --- jobs ------------------------------------------------------------------
 */

pdr_rc pdr__jobs_add(struct pdr__jobs *jobs, struct pdr__run *w,
                     const pdr_value *call)
{
    struct pdr__job job = {.tool = NULL};
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__grow((void **)&jobs->items, &jobs->cap, jobs->count + 1,
                      sizeof(*jobs->items), w->err));
    PDR_TRY(tool_of(&job.tool, w, call));
    job.call = pdr_value_ref(call);
    jobs->items[jobs->count++] = job;
done:
    return rc;
}

void pdr__jobs_dispose(struct pdr__jobs *jobs)
{
    for (size_t i = 0; i < jobs->count; i++) {
        pdr_value_free(jobs->items[i].call);
        pdr_value_free(jobs->items[i].result);
    }
    pdr__free(jobs->items);
}

/* Threads that take one job after the other. */
struct crew {
    struct pdr__run *w;
    struct pdr__jobs *jobs;
    pthread_mutex_t lock;
    size_t next;    /* guarded by lock */
    pdr_rc rc;      /* guarded by lock; of the first job that ended the run */
    pdr_err reason; /* guarded by lock; its detail */
};

/* The next job that has no result; NULL if there is none, or the run is over.
 */
static struct pdr__job *crew_next(struct crew *crew)
{
    struct pdr__job *job = NULL;

    pthread_mutex_lock(&crew->lock);
    while (crew->rc == PDR_OK && job == NULL &&
           crew->next < crew->jobs->count) {
        job = &crew->jobs->items[crew->next++];
        if (job->result != NULL)
            job = NULL;
    }
    if (job != NULL && (pdr_cancel_is_set(crew->w->cancel) ||
                        (crew->w->journal != NULL &&
                         pdr_cancel_is_set(&crew->w->journal->leave)))) {
        crew->rc = PDR_FAIL(&crew->reason, RUN_CANCELLED, "%s",
                            "the run was cancelled");
        job = NULL;
    }
    pthread_mutex_unlock(&crew->lock);
    return job;
}

/* A message of the results that some jobs have; NULL if they have none. */
static pdr_rc results_message(pdr_value **out, const struct pdr__job *jobs,
                              size_t count, const struct pdr__run *w,
                              pdr_err *err)
{
    pdr_message_parts parts = {.role = PDR_LIT("tool"),
                               .author = w->agent->name};
    pdr_value *results = pdr_value_new_array();
    pdr_rc rc = PDR_OK;

    *out = NULL;
    for (size_t i = 0; i < count; i++) {
        if (jobs[i].result != NULL)
            PDR_TRY(pdr_value_append(&results, jobs[i].result, err));
    }
    parts.contents = results;
    if (pdr_value_count(results) > 0)
        PDR_TRY(pdr_message_new(out, w->shape, &parts, err));
done:
    pdr_value_free(results);
    return rc;
}

/* Let the caller hear of one result. */
static pdr_rc result_say(const struct pdr__job *job, const struct pdr__run *w,
                         pdr_err *err)
{
    pdr_value *message = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(results_message(&message, job, 1, w, err));
    if (message != NULL)
        PDR_TRY(w->run->said(message, w->shape, err, w->run->said_arg));
done:
    pdr_value_free(message);
    return rc;
}

static void *crew_work(void *arg)
{
    struct crew *crew = arg;
    const bool is_durable = crew->w->journal != NULL;
    struct pdr__job *job = NULL;
    pdr_err last = PDR_ERR_INIT;
    pdr_rc written = PDR_OK;

    while ((job = crew_next(crew)) != NULL) {
        const pdr_log *log = &crew->w->agent->log;
        int64_t since = pdr__event_time(log);
        pdr_err why = PDR_ERR_INIT;
        pdr_rc rc = PDR_OK;

        if (is_durable)
            rc = pdr__journal_start(crew->w, job, &why);
        if (rc == PDR_OK) {
            rc = pdr__tool_call(job, crew->w, &why);
            pdr__event_tool_called(log, since, job->tool,
                                   job->failed || rc != PDR_OK);
        }
        if (rc == PDR_OK && is_durable)
            rc = pdr__journal_note_result(crew->w, job, &why);
        pthread_mutex_lock(&crew->lock);
        if (rc == PDR_OK && crew->w->run->said != NULL)
            rc = result_say(job, crew->w, &why);
        if (rc != PDR_OK && crew->rc == PDR_OK) {
            crew->rc = rc;
            crew->reason = why;
        }
        pthread_mutex_unlock(&crew->lock);
    }
    if (is_durable) /* what was noted last, also of a run that ends here */
        written = pdr__journal_write(crew->w, &last);
    pthread_mutex_lock(&crew->lock);
    if (written != PDR_OK && crew->rc == PDR_OK) {
        crew->rc = written;
        crew->reason = last;
    }
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

/* Start a thread that gets no signals: they are the program's. */
static bool thread_start(pthread_t *out, struct crew *crew)
{
    sigset_t all, before;
    int code = 0;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    code = pthread_create(out, NULL, crew_work, crew);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code == 0;
}

pdr_rc pdr__jobs_run(struct pdr__jobs *jobs, struct pdr__run *w)
{
    struct crew crew = {.w = w, .jobs = jobs, .reason = PDR_ERR_INIT};
    pthread_t threads[PDR_MAX_PARALLEL_CALLS];
    size_t count = 0, wanted = w->agent->parallel_calls;

    if (wanted > jobs->count)
        wanted = jobs->count;
    if (w->journal != NULL) {
        pdr_rc rc = pdr__journal_calls(jobs, w, wanted);

        if (rc != PDR_OK)
            return rc;
    }
    (void)pthread_mutex_init(&crew.lock, NULL);
    /* This thread works, too; without enough threads it just takes longer. */
    while (count + 1 < wanted && thread_start(&threads[count], &crew))
        count++;
    (void)crew_work(&crew);
    for (size_t i = 0; i < count; i++)
        (void)pthread_join(threads[i], NULL);
    (void)pthread_mutex_destroy(&crew.lock);
    return crew.rc == PDR_OK ? PDR_OK : pdr__err_pass(w->err, &crew.reason);
}

pdr_rc pdr__jobs_message(pdr_value **out, const struct pdr__jobs *jobs,
                         const struct pdr__run *w)
{
    return results_message(out, jobs->items, jobs->count, w, w->err);
}

/* --- finding ---------------------------------------------------------------
 */

/* A message of the response has other contents from now on; so have its copies,
 * but for a history that has calls in place of requests. */
static pdr_rc replace_contents(struct pdr__run *w, size_t at,
                               const pdr_value *contents)
{
    const pdr_value *old = w->response->messages[at];
    pdr_value *message = pdr_value_ref(old);
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_value_set(&message, PDR_LIT("contents"), contents, w->err));
    for (size_t i = w->count; i > 0; i--) {
        if (w->messages[i - 1].value == old)
            w->messages[i - 1].value = message;
    }
    for (size_t i = w->story.count; i > 0 && !w->agent->stores_each_call; i--) {
        if (w->story.messages[i - 1] != old)
            continue;
        w->story.messages[i - 1] = pdr_value_ref(message);
        pdr_value_free((pdr_value *)(uintptr_t)old);
        break;
    }
    pdr_value_free(w->response->messages[at]);
    w->response->messages[at] = message;
    message = NULL;
done:
    pdr_value_free(message);
    return rc;
}

/* The calls of one message. Those that need approval become requests: in the
 * place of the call, or in a Python message after all calls, as these editions
 * have it. */
static pdr_rc find_in(struct pdr__jobs *jobs, struct pdr__run *w, size_t at)
{
    const bool is_python = w->shape == PDR_SHAPE_PYTHON;
    pdr_value *contents = pdr_value_new_array(),
              *requests = pdr_value_new_array();
    pdr_value *call = NULL, *request = NULL;
    bool has_asked = false;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it,
                  pdr_message_contents(w->response->messages[at], w->shape));
    while (pdr_iter_next(&it)) {
        struct pdr__tool *tool = NULL;
        bool is_ours = pdr__call_is_ours(it.value, w->shape), asks = false;

        pdr_value_free(call);
        call = pdr_value_ref(it.value);
        if (is_ours)
            PDR_TRY(tool_of(&tool, w, call));
        /* Nobody is asked about a call that cannot be made. */
        if (is_ours && pdr__approval_needed(w, tool, call))
            PDR_TRY(pdr__tool_takes(&asks, tool, call, w->shape, w->err));
        if (asks) {
            has_asked = true;
            PDR_TRY(pdr__approval_ask(&request, &call, w));
            PDR_TRY(pdr_value_append(is_python ? &requests : &contents, request,
                                     w->err));
            pdr_value_free(request);
            request = NULL;
            if (!is_python)
                continue;
        } else if (is_ours && tool != NULL && tool->fn == NULL) {
            w->has_open_call = true;
        } else if (is_ours) {
            PDR_TRY(pdr__jobs_add(jobs, w, call));
        }
        PDR_TRY(pdr_value_append(&contents, call, w->err));
    }
    pdr_iter_init(&it, requests);
    while (pdr_iter_next(&it))
        PDR_TRY(pdr_value_append(&contents, it.value, w->err));
    if (has_asked)
        PDR_TRY(replace_contents(w, at, contents));
done:
    pdr_value_free(request);
    pdr_value_free(call);
    pdr_value_free(requests);
    pdr_value_free(contents);
    return rc;
}

pdr_rc pdr__jobs_find(struct pdr__jobs *jobs, struct pdr__run *w, size_t first)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = first; i < w->response->count; i++)
        PDR_TRY(find_in(jobs, w, i));
done:
    return rc;
}
