/* durable_actor.c - see durable_actor.h. */
#include "durable_actor.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "processes.h"

#define MAX_CALLS 8

/* --- what a text says ------------------------------------------------------
 */

size_t actor_steps(const char *text)
{
    size_t steps = 1;

    if (text == NULL || text[0] == '-' || text[0] == '~')
        return 0;
    for (; *text != '\0'; text++)
        steps += *text == '/';
    return steps;
}

size_t actor_calls_before(const char *text, size_t step)
{
    size_t at = 0, calls = 0;

    if (actor_steps(text) == 0)
        return 0;
    for (; *text != '\0' && at < step; text++) {
        at += *text == '/';
        calls += *text == '/' || *text == ' ';
    }
    return calls + (*text == '\0' && at < step);
}

const char *actor_call(char room[16], const char *text, size_t n)
{
    if (n >= actor_calls_before(text, SIZE_MAX))
        return NULL;
    for (; n > 0; n--)
        text += strcspn(text, " /") + 1;
    (void)snprintf(room, 16, "%.*s", (int)strcspn(text, " /"), text);
    return room;
}

bool actor_is_repeatable(const char *tool)
{
    return strcmp(tool, "look") == 0;
}

/* --- what happened ---------------------------------------------------------
 */

void actor_note(const struct actor *actor, const char *format, ...)
{
    char line[400];
    va_list args;
    int len = snprintf(line, sizeof(line), "%s ", actor->opts.part);

    va_start(args, format);
    len += vsnprintf(line + len, sizeof(line) - (size_t)len - 1, format, args);
    va_end(args);
    line[len++] = '\n';
    if (write(actor->events, line, (size_t)len) != len)
        abort();
}

/* A point_fn. */
static void note_commit(const pdr_edit *edit, void *arg)
{
    const struct actor *actor = arg;

    for (size_t i = 0; i < edit->completion_count; i++)
        actor_note(actor, "%s %.*s",
                   edit->completions[i].outcome.ptr != NULL ? "done" : "known",
                   (int)edit->completions[i].correlation_id.len,
                   edit->completions[i].correlation_id.ptr);
    for (size_t i = 0; i < edit->journal_count; i++) {
        const pdr_work *row = &edit->journal[i];
        char body[32], number[32] = "";
        size_t n = 0;

        (void)snprintf(body, sizeof(body), "%.*s", (int)row->body.len,
                       row->body.ptr);
        if (sscanf(body, "{\"call\":%zu", &n) == 1)
            (void)snprintf(number, sizeof(number), " %zu", n);
        actor_note(actor, "%.*s %.*s%s", (int)row->kind.len, row->kind.ptr,
                   (int)row->correlation_id.len, row->correlation_id.ptr,
                   number);
    }
}

static void stand_still(struct actor *actor)
{
    int64_t end = monotonic_us() + ACTOR_WAIT_MS * INT64_C(1000);

    while (actor->opts.goes_on != NULL && !actor->opts.goes_on(actor) &&
           monotonic_us() < end)
        sleep_us(1000);
}

/* --- the model -------------------------------------------------------------
 */

/* What the user said last, and how often the model has answered since. */
static pdr_rc read_request(char text[100], size_t *step,
                           const pdr_client_request *request, pdr_err *err)
{
    pdr_buf said = PDR_BUF_INIT(99);
    size_t i = request->count;
    pdr_rc rc = PDR_OK;

    *step = 0;
    while (i > 0 &&
           !pdr_value_text_is(pdr_message_role(request->messages[i - 1].value,
                                               request->messages[i - 1].shape),
                              pdr_str_c("user"))) {
        i--;
        *step += pdr_value_text_is(pdr_message_role(request->messages[i].value,
                                                    request->messages[i].shape),
                                   pdr_str_c("assistant"));
    }
    if (i > 0)
        rc = pdr_message_text(&said, request->messages[i - 1].value,
                              request->messages[i - 1].shape, err);
    (void)snprintf(text, 100, "%.*s", (int)said.len,
                   said.ptr != NULL ? said.ptr : "");
    pdr_buf_dispose(&said);
    return rc;
}

/* The last answer, in two pieces. */
static pdr_rc model_say(struct actor *actor, const char *text, pdr_shape shape,
                        pdr_err *err, pdr_update_fn fn, void *arg)
{
    static const char *const pieces[] = {"Do", "ne"};
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < 2 && rc == PDR_OK; i++) {
        pdr_value *content = NULL;
        pdr_update update = {.contents = (const pdr_value *const *)&content,
                             .content_count = 1,
                             .finish_reason = pdr_str_c(i == 1 ? "stop" : "")};

        rc = pdr_content_new_text(&content, shape, pdr_str_c(pieces[i]), err);
        if (rc == PDR_OK)
            rc = fn(&update, err, arg);
        pdr_value_free(content);
        if (i == 0 && text[0] == '~')
            stand_still(actor);
    }
    return rc;
}

static pdr_rc model_send(pdr_client *self, const pdr_client_request *request,
                         pdr_err *err, pdr_update_fn fn, void *arg)
{
    struct actor *actor = (struct actor *)self;
    pdr_value *contents[MAX_CALLS] = {NULL};
    pdr_update update = {.contents = (const pdr_value *const *)contents};
    size_t step = 0, n = 0, end = 0;
    char text[100], name[16], id[24];
    pdr_rc rc = read_request(text, &step, request, err);

    if (rc != PDR_OK)
        return rc;
    actor_note(actor, "asked %s %zu", text, step);
    n = actor_calls_before(text, step);
    end = actor_calls_before(text, step + 1);
    if (n == end)
        return model_say(actor, text, request->shape, err, fn, arg);
    for (; n < end && rc == PDR_OK && update.content_count < MAX_CALLS; n++) {
        (void)snprintf(id, sizeof(id), "c%zu", n);
        rc = pdr_content_new_call(
            &contents[update.content_count++], request->shape, pdr_str_c(id),
            pdr_str_c(actor_call(name, text, n)), pdr_str_c("{}"), err);
    }
    update.finish_reason = pdr_str_c("tool_calls");
    if (rc == PDR_OK)
        rc = fn(&update, err, arg);
    for (size_t i = 0; i < update.content_count; i++)
        pdr_value_free(contents[i]);
    return rc;
}

static void model_free(pdr_client *self)
{
    (void)self;
}

static const pdr_client_ops model_ops = {PDR_CLIENT_OPS_VERSION, "actor",
                                         model_send, model_free};

/* --- tools -----------------------------------------------------------------
 */

static pdr_rc tool_call(pdr_value **out, const pdr_tool_call *call,
                        pdr_err *err, void *arg)
{
    struct actor *actor = arg;
    char result[400];

    actor_note(actor, "begin %.*s", (int)call->token.len, call->token.ptr);
    point_reach(POINT_TOOL);
    if (actor->opts.tool_us > 0)
        sleep_us(actor->opts.tool_us);
    if (pdr_str_equal(call->name, pdr_str_c("wait")))
        stand_still(actor);
    actor_note(actor, "end %.*s", (int)call->token.len, call->token.ptr);
    (void)snprintf(result, sizeof(result), "did %.*s", (int)call->token.len,
                   call->token.ptr);
    return pdr_value_new_string(out, pdr_str_c(result), err);
}

/* --- the process -----------------------------------------------------------
 */

static pdr_rc agent_make(struct actor *a, pdr_err *err)
{
    const pdr_tool tools[] = {
        {.name = "look", .fn = tool_call, .arg = a, .is_repeatable = true},
        {.name = "book", .fn = tool_call, .arg = a},
        {.name = "wait", .fn = tool_call, .arg = a}};
    const pdr_agent_parts parts = {.id = pdr_str_c("the-clerk"),
                                   .name = pdr_str_c(ACTOR_AGENT),
                                   .client = &a->model,
                                   .tools = tools,
                                   .tool_count = 3,
                                   .parallel_calls = a->opts.parallel};
    pdr_durable_agent agents[] = {{.agent = NULL}};
    const pdr_durable_opts durable = {.agents = agents, .count = 1};
    pdr_rc rc = pdr_client_init(&a->model, &model_ops, err);

    if (rc == PDR_OK)
        rc = pdr_agent_new(&a->agent, &parts, err);
    agents[0].agent = a->agent;
    return rc == PDR_OK ? pdr_durable_new(&a->durable, &durable, err) : rc;
}

static pdr_rc engine_make(struct actor *a, pdr_err *err)
{
    const pdr_engine_opts opts = {.workers = a->opts.workers,
                                  .lease_ms = a->opts.lease_ms,
                                  .poll_ms = a->opts.poll_ms,
                                  .max_attempts = a->opts.max_attempts};
    char uri[600];
    pdr_rc rc = point_store_register(&a->opts.point, note_commit, a, err);

    (void)snprintf(uri, sizeof(uri), "point:sqlite:%s/a.db", a->opts.folder);
    if (rc == PDR_OK)
        rc = pdr_store_open(&a->store, uri, err);
    if (rc == PDR_OK)
        rc = pdr_engine_new(&a->engine, a->store, &opts, err);
    if (rc == PDR_OK)
        rc = pdr_durable_attach(a->engine, a->durable, err);
    return rc == PDR_OK && !a->opts.is_client ? pdr_engine_start(a->engine, err)
                                              : rc;
}

bool actor_begin(struct actor *a, const struct actor_opts *opts)
{
    pdr_err err = PDR_ERR_INIT;
    char path[600];
    pdr_rc rc = PDR_OK;

    memset(a, 0, sizeof(*a));
    a->opts = *opts;
    (void)snprintf(path, sizeof(path), "%s/events", opts->folder);
    a->events = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (a->events < 0) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return false;
    }
    rc = agent_make(a, &err);
    if (rc == PDR_OK)
        rc = engine_make(a, &err);
    if (rc != PDR_OK)
        fprintf(stderr, "part %s: %s\n", opts->part, err.message);
    return rc == PDR_OK;
}

void actor_end(struct actor *a)
{
    pdr_engine_free(a->engine);
    pdr_durable_free(a->durable);
    pdr_agent_free(a->agent);
    pdr_store_close(a->store);
    (void)close(a->events);
}

pdr_operation actor_operation(struct actor_room *room, const char *key,
                              const char *correlation_id, const char *text)
{
    (void)snprintf(room->id, sizeof(room->id), "@dafx-" ACTOR_AGENT "@%s", key);
    (void)snprintf(room->input, sizeof(room->input), "{\"message\":\"%s\"}",
                   text != NULL ? text : "");
    return (pdr_operation){.session = {.id = pdr_str_c(room->id)},
                           .name = pdr_str_c(text != NULL ? "run" : "reset"),
                           .input = text != NULL ? pdr_str_c(room->input)
                                                 : pdr_str_n(NULL, 0),
                           .correlation_id = pdr_str_c(correlation_id)};
}
