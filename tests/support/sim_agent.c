/*
 * sim_agent.c - the agent of a simulated process: a model whose answer depends
 * on what it is asked and nothing else, and two tools.
 *
 *     user: "op3 lb,b"    first answer calls look and book, the second book,
 *                         the third says "done op3"
 *
 *     .   nothing: the first answer is the last
 *     l   look, which may be called again       f   look, and it fails
 *     b   book, which may not
 */
#include "sim.h"

#include "agent_stage.h"
#include "base.h"

#define SLICE_MS 50 /* after which a slow model looks whether it is to end */

/* --- the model ------------------------------------------------------------
 */

/* What a question is about. */
struct question {
    char text[64]; /* of the last message of the user */
    size_t step;   /* answers since */
    uint64_t hash; /* of all messages */
};

static void question_read(struct question *q, const pdr_client_request *request)
{
    pdr_buf one = PDR_BUF_INIT(SIZE_MAX);

    *q = (struct question){.hash = UINT64_C(0xCBF29CE484222325)};
    for (size_t i = 0; i < request->count; i++) {
        pdr_str text = {NULL, 0};

        pdr_buf_clear(&one);
        stage_describe(&one, request->messages[i].value,
                       request->messages[i].shape);
        text = pdr_buf_str(&one);
        for (size_t k = 0; k < text.len; k++)
            q->hash =
                (q->hash ^ (uint8_t)text.ptr[k]) * UINT64_C(0x100000001B3);
        if (text.len > 5 && memcmp(text.ptr, "user:", 5) == 0) {
            snprintf(q->text, sizeof(q->text), "%.*s", (int)text.len - 5,
                     text.ptr + 5);
            q->step = 0;
        } else if (text.len > 10 && memcmp(text.ptr, "assistant:", 10) == 0) {
            q->step++;
        }
    }
    pdr_buf_dispose(&one);
}

/* The letters of a step, and the number of its first call. NULL: it is past the
 * last one. */
static const char *step_find(size_t *first, const char *steps, size_t step)
{
    *first = 0;
    for (; step > 0; step--) {
        size_t len = strcspn(steps, ",");

        *first += len;
        if (steps[len] == '\0')
            return NULL;
        steps += len + 1;
    }
    return *steps != '.' ? steps : NULL;
}

static pdr_rc say(const char *text, const pdr_client_request *request,
                  pdr_err *err, pdr_update_fn fn, void *arg)
{
    pdr_value *content = NULL;
    pdr_update update = {.contents = (const pdr_value *const *)&content,
                         .content_count = 1,
                         .finish_reason = pdr_str_c("stop")};
    pdr_rc rc =
        pdr_content_new_text(&content, request->shape, pdr_str_c(text), err);

    if (rc == PDR_OK)
        rc = fn(&update, err, arg);
    pdr_value_free(content);
    return rc;
}

static pdr_rc call(const char *letters, size_t number,
                   const pdr_client_request *request, pdr_err *err,
                   pdr_update_fn fn, void *arg)
{
    pdr_value *calls[SIM_CALLS] = {NULL};
    pdr_update update = {.contents = (const pdr_value *const *)calls,
                         .finish_reason = pdr_str_c("tool_calls")};
    pdr_rc rc = PDR_OK;

    for (; *letters != '\0' && *letters != ','; letters++, number++) {
        char id[16];

        snprintf(id, sizeof(id), "c%zu", number);
        PDR_TRY(pdr_content_new_call(
            &calls[update.content_count++], request->shape, pdr_str_c(id),
            pdr_str_c(*letters == 'b' ? "book" : "look"),
            pdr_str_c(*letters == 'f' ? "{\"fail\":true}" : "{}"), err));
    }
    rc = fn(&update, err, arg);
done:
    for (size_t i = 0; i < update.content_count; i++)
        pdr_value_free(calls[i]);
    return rc;
}

/* Take a while. */
static pdr_rc model_think(struct sim_process *p,
                          const pdr_client_request *request, pdr_err *err)
{
    struct sim *sim = p->sim;
    int64_t end_ms = sim->now_ms + sim_random(sim, 40);

    if (sim_fault(sim, sim->plan.models)) {
        end_ms += sim->plan.lease_ms + sim_random(sim, 1000);
        sim_count(sim, SIM_MODEL_SLOW);
    }
    do {
        int64_t left_ms = end_ms - sim->now_ms;

        if (!p->is_cut && sim_fault(sim, sim->plan.crashes))
            sim_cut(p, SIM_CRASH_IN_MODEL);
        if (p->is_cut)
            return PDR_FAIL(err, FILE_FAILED, "%s", "the process crashed");
        if (pdr_cancel_is_set(request->cancel))
            return PDR_FAIL(err, RUN_CANCELLED, "%s", "the run was cancelled");
        sim_sleep(sim, left_ms < SLICE_MS ? left_ms : SLICE_MS);
    } while (sim->now_ms < end_ms);
    if (sim_fault(sim, sim->plan.models)) {
        sim_count(sim, SIM_MODEL_FAILS);
        return PDR_FAIL(err, FILE_FAILED, "%s", "the line is dead");
    }
    if (sim_fault(sim, sim->plan.models && sim_chance(sim, 2))) {
        sim_count(sim, SIM_MODEL_REFUSES);
        return pdr_err_set(err, PDR_EMODEL, "model_failed", "as planned");
    }
    return p->is_cut ? PDR_FAIL(err, FILE_FAILED, "%s", "the process crashed")
                     : PDR_OK;
}

static pdr_rc model_send(pdr_client *self, const pdr_client_request *request,
                         pdr_err *err, pdr_update_fn fn, void *arg)
{
    struct sim_process *p = PDR_CONTAINER_OF(self, struct sim_process, model);
    struct sim *sim = p->sim;
    struct sim_op *op = NULL;
    const char *letters = NULL;
    struct question q;
    char text[64];
    size_t first = 0;
    pdr_rc rc = PDR_OK;

    sim_step(sim, "model");
    if (p->is_cut)
        return PDR_FAIL(err, FILE_FAILED, "%s", "the process crashed");
    question_read(&q, request);
    op = sim_op_find(sim, pdr_str_n(q.text, strcspn(q.text, " ")));
    if (op == NULL || strchr(q.text, ' ') == NULL)
        sim_mistake(sim, "the model is asked '%s'", q.text);
    sim_check_asked(p, op, q.step, q.hash);
    rc = model_think(p, request, err);
    if (rc != PDR_OK)
        return rc;
    letters = step_find(&first, strchr(q.text, ' ') + 1, q.step);
    if (letters != NULL && request->tool_count > 0)
        return call(letters, first, request, err, fn, arg);
    snprintf(text, sizeof(text), "done %s %08x", op->id,
             (unsigned)(q.hash & 0xFFFFFFFFu));
    return say(text, request, err, fn, arg);
}

static void model_free(pdr_client *self)
{
    (void)self; /* the process has it */
}

static const pdr_client_ops model_ops = {PDR_CLIENT_OPS_VERSION, "sim",
                                         model_send, model_free};

/* --- the tools ------------------------------------------------------------
 */

static pdr_rc tool_work(pdr_value **out, const pdr_tool_call *about,
                        pdr_err *err, struct sim_process *p, bool is_repeatable)
{
    struct sim *sim = p->sim;
    struct sim_op *op = NULL;
    struct sim_call *call = NULL;
    size_t number = 0;
    char text[160];

    sim_stall(p);
    sim_step(sim, "tool");
    if (p->is_cut)
        return PDR_FAIL(err, RUN_CANCELLED, "%s", "the process crashed");
    snprintf(text, sizeof(text), "%.*s", (int)about->token.len,
             about->token.ptr);
    number = strtoul(strrchr(text, '/') + 2, NULL, 10);
    *strrchr(text, '/') = '\0';
    op = sim_op_find(sim, pdr_str_c(strrchr(text, '/') + 1));
    if (op == NULL || number >= SIM_CALLS)
        sim_mistake(sim, "a call has the token '%.*s'", (int)about->token.len,
                    about->token.ptr);
    sim_check_called(p, op, number, is_repeatable, about->token);
    call = &op->calls[number];
    call->began++;
    snprintf(text, sizeof(text), "%.*s %s/c%zu #%u", (int)about->name.len,
             about->name.ptr, op->id, number, call->began);
    sim_trace(sim, "%s", text);
    sim_sleep(sim, sim_random(sim, 20));
    sim_stall(p);
    if (sim_fault(sim, sim->plan.models)) {
        sim_count(sim, SIM_TOOL_SLOW);
        sim_sleep(sim, sim->plan.lease_ms + sim_random(sim, 1000));
    }
    if (!p->is_cut && sim_fault(sim, sim->plan.crashes))
        sim_cut(p, SIM_CRASH_IN_TOOL);
    if (p->is_cut)
        return PDR_FAIL(err, RUN_CANCELLED, "%s", "the process crashed");
    call->ended++;
    if (pdr_value_get_c(about->arguments, "fail") != NULL) {
        sim_count(sim, SIM_TOOL_FAILS);
        return pdr_err_set(err, PDR_EIO, "any", "as planned");
    }
    return pdr_value_new_string(out, pdr_str_c(text), err);
}

static pdr_rc look(pdr_value **out, const pdr_tool_call *call, pdr_err *err,
                   void *arg)
{
    return tool_work(out, call, err, arg, true);
}

static pdr_rc book(pdr_value **out, const pdr_tool_call *call, pdr_err *err,
                   void *arg)
{
    return tool_work(out, call, err, arg, false);
}

/* --- the agent ------------------------------------------------------------
 */

void sim_agent_begin(struct sim_process *p)
{
    const pdr_tool tools[] = {
        {.name = "look", .fn = look, .arg = p, .is_repeatable = true},
        {.name = "book", .fn = book, .arg = p}};
    const pdr_agent_parts parts = {.id = pdr_str_c("clerk"),
                                   .name = pdr_str_c("Clerk"),
                                   .client = &p->model,
                                   .tools = tools,
                                   .tool_count = PDR_COUNT(tools)};
    pdr_durable_agent agent = {.timeout_ms = 0};
    pdr_durable_opts opts = {
        .agents = &agent,
        .count = 1,
        .ttl_ms = p->sim->plan.ttl_ms > 0 ? p->sim->plan.ttl_ms : PDR_NEVER};

    if (pdr_client_init(&p->model, &model_ops, NULL) != PDR_OK ||
        pdr_agent_new(&p->agent, &parts, NULL) != PDR_OK)
        abort();
    agent.agent = p->agent;
    if (pdr_durable_new(&p->durable, &opts, NULL) != PDR_OK)
        abort();
}

void sim_agent_end(struct sim_process *p)
{
    pdr_durable_free(p->durable);
    pdr_agent_free(p->agent);
    p->durable = NULL;
    p->agent = NULL;
}
