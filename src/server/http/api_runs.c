/*
 * api_runs.c - runs of durable sessions: start one, ask for it, end it.
 *
 *      start ─┬─► 202, if nobody waits
 *             └─► look ─► over? ─► what came of it
 *                  ▲       │ no
 *                  └─ wait ┘        until the time is over: 202
 *
 * A run is known by its correlation id, which is the idempotency key of the
 * request that starts it. So a request that is sent again finds its run, and
 * what it gets is made of what is stored: it is the same.
 */
#include <perdure/json.h>

#include "http.h"

#include "core.h"

#define MAX_WAIT_S 300

/* A run that somebody waits for. All texts are in the arena of its exchange. */
struct waiting {
    pdr_ref ref;
    pdr_str run;
    bool is_start;  /* it is the request that sent it */
    bool is_asked;  /* how far it is: that is an answer in any case */
    int64_t due_ms; /* monotonic */
    struct pdr__ending_wait wait;
};

static void waiting_free(void *state)
{
    struct waiting *w = state;

    pdr__ending_leave(&w->wait);
    pdr__free(w);
}

static struct waiting *waiting_new(struct pdr__exchange *x)
{
    struct waiting *w = pdr__calloc(1, sizeof(*w));

    if (w == NULL)
        return NULL;
    w->ref = pdr__api_ref(x);
    w->run = x->args[1];
    x->state = w;
    x->state_free = waiting_free;
    return w;
}

/* --- replies ---------------------------------------------------------------
 */

/* What a run that has not ended is about to do. */
static pdr_rc open_state(const char **out, struct pdr__exchange *x,
                         const struct waiting *w, pdr_err *err)
{
    const pdr_query query = {
        .what = PDR_READ_INBOX, .ref = w->ref, .limit = 200};
    const int64_t now_ms = pdr__wall_ms();
    pdr_page *page = NULL;
    pdr_rc rc = PDR_OK;

    *out = "running";
    PDR_TRY(pdr_store_read(&page, pdr__api_store(x), &query, err));
    for (size_t i = 0; i < page->count; i++) {
        const pdr_work *row = &page->work[i];

        if (pdr_str_equal(row->kind, PDR_LIT("operation")) &&
            pdr_str_equal(row->correlation_id, w->run))
            *out = row->due_ms <= now_ms ? "queued" : "delayed";
    }
done:
    pdr_page_free(page);
    return rc;
}

/* What failed, as a request that waited for it is told. */
static pdr_rc failure_reply(struct pdr__exchange *x, const pdr_ending *ending,
                            pdr_err *err)
{
    pdr_buf scratch[2] = {PDR_BUF_INIT(PDR_MAX_TEXT_BYTES),
                          PDR_BUF_INIT(PDR_MAX_TEXT_BYTES)};
    pdr_str code = PDR_LIT("run_cancelled");
    pdr_str text = PDR_LIT("the run was cancelled");
    pdr_value *outcome = NULL;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__outcome_read(&outcome, ending, err));
    PDR_TRY(pdr__outcome_text(&code, outcome, "code", &scratch[0], err));
    PDR_TRY(pdr__outcome_text(&text, outcome, "message", &scratch[1], err));
    PDR_TRY(pdr__arena_keep(&code, &x->memory, err));
    why.code = pdr_reason_code(code);
    if (why.code == PDR_OK || why.code == PDR_EINVALID)
        why.code = PDR_EIO; /* nothing of the request was wrong */
    why.reason = code.ptr;
    while (text.len >= sizeof(why.message) ||
           pdr__utf8_valid_len(text) != text.len)
        text.len--;
    memcpy(why.message, text.ptr, text.len);
    pdr__reply_error(x, &why);
done:
    pdr_value_free(outcome);
    pdr_buf_dispose(&scratch[0]);
    pdr_buf_dispose(&scratch[1]);
    return rc;
}

/* The run as it is; `ending` NULL: it has not ended. */
static pdr_rc run_reply(struct pdr__exchange *x, const struct waiting *w,
                        unsigned status, const pdr_ending *ending, pdr_err *err)
{
    static const char *const states[] = {"", "completed", "failed",
                                         "cancelled"};
    struct pdr__json j = {.out = &x->reply.body, .err = err};
    pdr_value *answer = NULL;
    pdr_buf text = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES), path = text;
    const char *state = "";
    pdr_rc rc = PDR_OK;

    if (ending == NULL)
        PDR_TRY(open_state(&state, x, w, err));
    else
        state = states[ending->state];
    if (ending != NULL && ending->answer.ptr != NULL) {
        PDR_TRY(pdr_json_read(&answer, ending->answer, NULL, err));
        PDR_TRY(pdr__answer_text(&text, answer, err));
    }
    pdr__json_begin(&j, NULL, '{');
    pdr__json_text(&j, "id", w->run);
    pdr__json_text(&j, "session", w->ref.id);
    pdr__json_text(&j, "state", pdr_str_c(state));
    if (answer != NULL) {
        pdr__json_text(&j, "text",
                       text.len > 0 ? pdr_buf_str(&text) : PDR_LIT(""));
        pdr__json_raw(&j, "response", ending->answer);
    }
    if (ending != NULL && ending->state != PDR_OPERATION_COMPLETED)
        pdr__json_raw(&j, "outcome", ending->outcome);
    pdr__json_end(&j, '}');
    PDR_TRY(pdr__json_send(&j, x, status));
    PDR_TRY(pdr__api_path(&path, w->ref.id, w->run, err));
    pdr__reply_header(x, "Location", pdr_buf_str(&path));
done:
    pdr_value_free(answer);
    pdr_buf_dispose(&text);
    pdr_buf_dispose(&path);
    return rc;
}

/* Has it ended? Then the reply is made. */
static pdr_rc look(struct pdr__exchange *x, struct waiting *w, pdr_err *err)
{
    pdr_ending *ending = NULL;
    pdr_rc rc = pdr__ending_look(&ending, x, &w->wait, &w->ref, w->due_ms, err);

    if (rc != PDR_OK || x->wait.is_set)
        return rc;
    if (ending == NULL)
        rc = run_reply(x, w, w->is_asked ? 200 : 202, NULL, err);
    else if (w->is_start && ending->state != PDR_OPERATION_COMPLETED)
        rc = failure_reply(x, ending, err);
    else
        rc = run_reply(x, w, 200, ending, err);
    pdr_ending_free(ending);
    return rc;
}

/* As it is now, or at the end if that comes within this time. */
static pdr_rc look_first(struct pdr__exchange *x, struct waiting *w,
                         int64_t wait_ms, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    w->due_ms = pdr__monotonic_ms(pdr__clock_system()) + wait_ms;
    x->wait.is_due = wait_ms == 0;
    PDR_TRY(pdr__ending_join(&w->wait, x, &w->ref, w->run, err));
    PDR_TRY(look(x, w, err));
done:
    return rc;
}

/* --- starting --------------------------------------------------------------
 */

/* Is there an agent for this session, and may the run begin now? Else a reply
 * says so. */
static pdr_rc start_check(struct pdr__exchange *x, const struct waiting *w,
                          pdr_err *err)
{
    const pdr_str busy = pdr__query_get(x, "busy");
    pdr_query query = {.what = PDR_READ_INBOX, .ref = w->ref, .limit = 1};
    pdr_str agent = {NULL, 0}, key = {NULL, 0};
    pdr_page *page = NULL;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (pdr_durable_id_read(&agent, &key, NULL, w->ref.id, NULL) == PDR_OK &&
        pdr_service_find(x->server->service, agent) == NULL) {
        pdr__reply_refuse(x, 404, "the agent of this session is not here");
        return PDR_OK;
    }
    rc = pdr_store_read(&page, pdr__api_store(x), &query, &why);
    if (rc != PDR_OK && rc != PDR_ENOTFOUND)
        return pdr__err_pass(err, &why);
    if (pdr__precondition(x, page != NULL ? &page->head : NULL) &&
        pdr_str_equal(busy, PDR_LIT("fail")) && page != NULL &&
        (page->count > 0 || page->head.state == PDR_SESSION_RUNNING))
        pdr__reply_problem(x, 409, "session-busy",
                           "the session has a run that has not ended");
    pdr_page_free(page);
    return PDR_OK;
}

static pdr_rc start_send(struct pdr__exchange *x, const struct waiting *w,
                         const pdr_value *body, bool *is_new, pdr_err *err)
{
    pdr_value *id = NULL, *input = pdr_value_ref(body);
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_operation operation = {
        .session = w->ref, .name = PDR_LIT("run"), .correlation_id = w->run};
    pdr_sent sent = {.is_repeated = false};
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_value_new_string(&id, w->run, err));
    PDR_TRY(pdr_value_set(&input, PDR_LIT("correlationId"), id, err));
    PDR_TRY(pdr_json_write(&text, input, NULL, err));
    operation.input = pdr_buf_str(&text);
    PDR_TRY(pdr_engine_send(&sent, pdr_service_engine(x->server->service),
                            &operation, err));
    *is_new = !sent.is_repeated;
    if (sent.is_repeated && sent.state == PDR_OPERATION_OPEN) {
        pdr__reply_header(x, "Retry-After", PDR_LIT("1"));
        pdr__reply_problem(x, 409, "idempotency-in-progress",
                           "the run of this key has not ended");
    } else if (sent.is_repeated) {
        pdr__reply_header(x, "Idempotency-Replayed", PDR_LIT("true"));
    }
done:
    pdr_value_free(id);
    pdr_value_free(input);
    pdr_buf_dispose(&text);
    return rc;
}

/* "Prefer: respond-async, wait=5" */
bool pdr__wants_async(const struct pdr__exchange *x)
{
    pdr_str prefer = pdr__header(x, "Prefer");

    return prefer.ptr != NULL &&
           memmem(prefer.ptr, prefer.len, "respond-async", 13) != NULL;
}

pdr_rc pdr__api_run_start(struct pdr__exchange *x, pdr_err *err)
{
    struct waiting *w = x->state;
    pdr_value *body = NULL;
    pdr_str said = {NULL, 0};
    bool is_new = false;
    pdr_rc rc = PDR_OK;

    if (w != NULL)
        return look(x, w, err);
    w = waiting_new(x);
    if (w == NULL)
        return pdr__nomem(err);
    w->is_start = true;
    PDR_TRY(pdr__body_read(&body, x, NULL, err));
    if (x->reply.status == 0)
        PDR_TRY(pdr__body_text(&said, x, body, "correlationId", err));
    if (x->reply.status == 0)
        PDR_TRY(pdr__run_key(&w->run, x, said, err));
    if (x->reply.status == 0)
        PDR_TRY(start_check(x, w, err));
    if (x->reply.status == 0)
        PDR_TRY(start_send(x, w, body, &is_new, err));
    if (x->reply.status != 0)
        goto done;
    if (is_new && pdr__wants_async(x)) {
        pdr__reply_header(x, "Preference-Applied", PDR_LIT("respond-async"));
        PDR_TRY(run_reply(x, w, 202, NULL, err));
    } else {
        PDR_TRY(look_first(x, w, x->server->opts.wait_ms, err));
    }
done:
    pdr_value_free(body);
    return rc;
}

/* --- asking and ending -----------------------------------------------------
 */

/* With ?wait=SECONDS for its end. */
pdr_rc pdr__api_run_show(struct pdr__exchange *x, pdr_err *err)
{
    struct waiting *w = x->state;
    uint64_t seconds = 0;

    if (w != NULL)
        return look(x, w, err);
    if (!pdr__query_number(&seconds, x, "wait"))
        return PDR_OK;
    w = waiting_new(x);
    if (w == NULL)
        return pdr__nomem(err);
    w->is_asked = true;
    return look_first(
        x, w, (int64_t)(seconds < MAX_WAIT_S ? seconds : MAX_WAIT_S) * 1000,
        err);
}

/* What the run is now; 202 as long as it has not ended. */
static pdr_rc run_touch(struct pdr__exchange *x, bool cancels, pdr_err *err)
{
    struct waiting *w = waiting_new(x);
    pdr_rc rc = PDR_OK;

    if (w == NULL)
        return pdr__nomem(err);
    if (cancels)
        PDR_TRY(pdr_engine_cancel(pdr_service_engine(x->server->service),
                                  &w->ref, w->run, err));
    PDR_TRY(look_first(x, w, 0, err));
done:
    return rc;
}

pdr_rc pdr__api_run_cancel(struct pdr__exchange *x, pdr_err *err)
{
    return run_touch(x, true, err);
}

/* The engine takes over by itself what others left; so there is nothing to do
 * but to say how far it is. */
pdr_rc pdr__api_run_resume(struct pdr__exchange *x, pdr_err *err)
{
    return run_touch(x, false, err);
}
