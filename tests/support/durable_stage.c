/* durable_stage.c - a process with one durable agent, for tests. */
#include "durable_stage.h"

#include <time.h>

#include "engine.h"

/* --- a process ------------------------------------------------------------
 * An engine with one agent, on a store that outlives it.
 */

const pdr_ref durable_session = {{NULL, 0}, {ID, sizeof(ID) - 1}};

pdr_store *durable_store(void)
{
    pdr_store *store = NULL;

    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    return store;
}

/* A pdr_tool_fn: the tool of the stage, and its token is noted. */
static pdr_rc tool_book(pdr_value **out, const pdr_tool_call *call,
                        pdr_err *err, void *arg)
{
    struct durable_process *p = arg;

    snprintf(p->token, sizeof(p->token), "%.*s", (int)call->token.len,
             call->token.ptr);
    return stage_tool(out, call, err, &p->booked);
}

/* Time as the test has it. Whoever waits looks at it every millisecond. */
static int64_t own_now(void *ctx)
{
    return __atomic_load_n(&((struct durable_process *)ctx)->now_ms,
                           __ATOMIC_SEQ_CST);
}

static void own_wait(void *ctx, pthread_cond_t *cond, pthread_mutex_t *lock,
                     int64_t until_ms)
{
    struct timespec end;

    if (until_ms <= own_now(ctx))
        return;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += 1000000;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    pthread_cond_clockwait(cond, lock, CLOCK_MONOTONIC, &end);
}

/* The fields that say what kind of process it is are set before. */
void durable_begin(struct durable_process *p, pdr_store *store,
                   const char *const *steps)
{
    const pdr_engine_opts opts = {.workers = 4,
                                  .lease_ms = p->lease_ms,
                                  .stream_keep_ms = p->stream_keep_ms,
                                  .min_delay_ms = p->min_delay_ms,
                                  .keep_bytes = p->keep_bytes};

    p->store = store;
    stage_model_init(&p->model, steps);
    const pdr_tool tools[] = {{.name = "look",
                               .fn = stage_tool,
                               .arg = &p->looked,
                               .is_repeatable = true},
                              {.name = "book",
                               .fn = tool_book,
                               .arg = p,
                               .needs_approval = p->needs_approval}};
    const pdr_agent_parts parts = {
        .name = S(p->name != NULL ? p->name : "Clerk"),
        .instructions =
            S(p->instructions != NULL ? p->instructions : "Be brief."),
        .client = &p->model.base,
        .window_messages = p->window,
        .tools = tools,
        .tool_count = p->lacks_book ? 1 : 2};
    ASSERT_RC(PDR_OK, pdr_agent_new(&p->agent, &parts, NULL));
    if (p->layer.run != NULL) {
        pdr_agent *inner = p->agent;

        ASSERT_RC(PDR_OK, pdr_agent_wrap(&p->agent, inner, &p->layer, NULL));
        pdr_agent_free(inner);
    }
    const pdr_durable_agent agents[] = {
        {.agent = p->agent, .ttl_ms = p->agent_ttl_ms}};
    const pdr_durable_opts durable = {
        .agents = agents, .count = 1, .ttl_ms = p->ttl_ms, .only = p->only};
    ASSERT_RC(PDR_OK, pdr_durable_new(&p->durable, &durable, NULL));
    p->world = calloc(1, sizeof(*p->world));
    *p->world = *pdr__world_system();
    if (p->now_ms != 0) {
        p->world->ctx = p;
        p->world->now_ms = own_now;
        p->world->wait = own_wait;
    }
    ASSERT_RC(PDR_OK,
              pdr__engine_new(&p->engine, store, &opts, p->world, NULL));
    ASSERT_RC(PDR_OK, pdr_durable_attach(p->engine, p->durable, NULL));
    ASSERT_RC(PDR_OK, pdr_engine_start(p->engine, NULL));
}

void durable_end(struct durable_process *p)
{
    pdr_engine_free(p->engine);
    pdr_durable_free(p->durable);
    pdr_agent_free(p->agent);
    stage_model_free(&p->model);
    free(p->world);
}

void durable_pass(struct durable_process *p, int64_t ms)
{
    __atomic_add_fetch(&p->now_ms, ms, __ATOMIC_SEQ_CST);
}

pdr_rc durable_call(pdr_ending **out, pdr_sent *sent, struct durable_process *p,
                    const char *name, const char *input, pdr_err *err)
{
    const pdr_operation operation = {
        .session = durable_session,
        .name = S(name),
        .input = input != NULL ? S(input) : (pdr_str){NULL, 0}};

    return pdr_engine_call(out, sent, p->engine, &operation, 60000, err);
}

/* Run, and have this in the answer. */
void durable_says(const char *expected, struct durable_process *p,
                  const char *input)
{
    pdr_ending *ending = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (durable_call(&ending, NULL, p, "run", input, &err) != PDR_OK)
        fail_msg("%s: %s", input, err.message);
    ASSERT_INT(PDR_OPERATION_COMPLETED, ending->state);
    if (memmem(ending->answer.ptr, ending->answer.len, expected,
               strlen(expected)) == NULL)
        fail_msg("'%s' is not in %.*s", expected, (int)ending->answer.len,
                 ending->answer.ptr);
    pdr_ending_free(ending);
}

void durable_history(const char *expected, pdr_store *store)
{
    pdr_stored *stored = NULL;

    ASSERT_RC(PDR_OK,
              pdr_stored_open(&stored, store, &durable_session, NULL, NULL));
    stage_stored_history(expected, stored);
    pdr_stored_close(stored);
}

/* The document, as the operation "get" gives it. */
pdr_value *durable_document(struct durable_process *p)
{
    pdr_ending *ending = NULL;
    pdr_value *out = NULL;

    ASSERT_RC(PDR_OK, durable_call(&ending, NULL, p, "get", NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_json_read(&out, ending->answer, NULL, NULL));
    pdr_ending_free(ending);
    return out;
}

/* A part of it as JSON. */
void durable_document_has(const char *expected, struct durable_process *p,
                          const char *pointer)
{
    pdr_value *state = durable_document(p);
    const pdr_value *part = NULL;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

    if (pdr_pointer_get(&part, state, S(pointer), NULL) == PDR_OK)
        ASSERT_RC(PDR_OK, pdr_json_write(&text, part, NULL, NULL));
    ASSERT_TEXT(expected, pdr_buf_str(&text));
    pdr_buf_dispose(&text);
    pdr_value_free(state);
}

bool durable_is_there(pdr_store *store)
{
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = durable_session};
    pdr_page *page = NULL;
    bool found = pdr_store_read(&page, store, &query, NULL) == PDR_OK;

    pdr_page_free(page);
    return found;
}

pdr_session_state durable_state(pdr_store *store)
{
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = durable_session};
    pdr_session_state state = PDR_SESSION_EXPIRED;
    pdr_page *page = NULL;

    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    state = page->head.state;
    pdr_page_free(page);
    return state;
}

/* A model that waits until the test lets it go on, or the run is to end. */

void gate_init(struct gate *gate)
{
    memset(gate, 0, sizeof(*gate));
    pthread_mutex_init(&gate->lock, NULL);
    pthread_cond_init(&gate->changed, NULL);
}

pdr_rc gate_pass(void *arg)
{
    struct gate *gate = arg;

    pthread_mutex_lock(&gate->lock);
    gate->waiting++;
    pthread_cond_broadcast(&gate->changed);
    while (!gate->is_open)
        pthread_cond_wait(&gate->changed, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
    return PDR_OK;
}

void gate_await(struct gate *gate, int count)
{
    pthread_mutex_lock(&gate->lock);
    while (gate->waiting < count)
        pthread_cond_wait(&gate->changed, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

void gate_open(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->is_open = true;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

void durable_import(pdr_store *store, const char *path)
{
    const pdr_import_opts opts = {.ref = durable_session, .now_ms = STAGE_NOW};
    size_t len = 0;
    char *text = test_read_data(path, &len);
    pdr_str source = pdr_str_n(text, len);
    pdr_err err = PDR_ERR_INIT;

    if (pdr_import(NULL, store, &opts, &err, pdr_read_str, &source) != PDR_OK)
        fail_msg("%s: %s", path, err.message);
    free(text);
}

int64_t durable_expiry(pdr_store *store)
{
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = durable_session};
    pdr_page *page = NULL;
    int64_t out = 0;

    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    out = page->head.expiry_ms;
    pdr_page_free(page);
    return out;
}
