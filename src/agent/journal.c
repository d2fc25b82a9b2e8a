/*
 * journal.c - the steps of a durable run.
 *
 *      row        when it is written                 what it has
 *      context    with the first of the others       instructions, tools,
 *                                                     options, which messages
 *      bag        with the next of the others         slots that changed
 *      answer     with the first call in it           messages of the model
 *      started    before a tool is called             number of the call
 *      result     when it has ended                   what the model gets
 *
 * WHY  A process may die at any moment of a run. Whoever goes on with it must
 *      not ask the model again for what it has answered, nor call a tool again
 *      that has ended. So each of these is written when it has ended, and a run
 *      that goes on is the same loop, which takes from here what it has.
 *
 *      An answer without calls is the end of the run, and is stored by its last
 *      commit: a turn without tools writes no row at all.
 *
 * INVARIANTS
 *   J1  A tool is called after its `started` row is durable. So a call that has
 *       such a row and no result may have happened or not: it is made again
 *       only if the tool says that this does no harm.
 *   J2  Calls are numbered in the order in which the loop finds them, which is
 *       the same each time: it depends on what is in the journal alone.
 *   J3  After a commit that failed nothing more is written.
 */
#include <inttypes.h>

#include "journal.h"

#include <perdure/json.h>

#include "core.h"
#include "request.h"
#include "stored.h"

#define UNKNOWN_OUTCOME                                                     \
    "Error: The outcome of this call is unknown: the process that made it " \
    "ended before the tool did. Find out what happened before you call it " \
    "again."

/* --- reading --------------------------------------------------------------
 */

static const pdr_value *member_of(const pdr_value *object, const char *name)
{
    return object != NULL && pdr_value_kind(object) == PDR_OBJECT
               ? pdr_value_get_c(object, name)
               : NULL;
}

/* A number that we wrote; 0 if it is none. */
static uint64_t number_of(const pdr_value *value)
{
    uint64_t number = 0;

    if (value == NULL || pdr_value_uint64(&number, value, NULL) != PDR_OK)
        return 0;
    return number;
}

static bool truth_of(const pdr_value *value)
{
    bool truth = false;

    return value != NULL && pdr_value_bool(&truth, value, NULL) == PDR_OK &&
           truth;
}

/* What the journal has of a call, by its number. */
static pdr_rc call_noted(struct pdr__noted_call **out, struct pdr__journal *j,
                         const pdr_value *body, pdr_err *err)
{
    size_t n = (size_t)number_of(member_of(body, "call"));
    pdr_rc rc = PDR_OK;

    if (n > j->body_cap + j->call_count + PDR_MAX_PAGE_ROWS * 64)
        return PDR_FAIL(err, BAD_JOURNAL, "call %zu is in no order", n);
    PDR_TRY(pdr__grow((void **)&j->calls, &j->call_cap, n + 1,
                      sizeof(*j->calls), err));
    for (; j->call_count <= n; j->call_count++)
        j->calls[j->call_count] = (struct pdr__noted_call){.result = NULL};
    *out = &j->calls[n];
done:
    return rc;
}

static pdr_rc row_read(struct pdr__journal *j, const pdr_work *row,
                       pdr_err *err)
{
    const char *const kinds[] = {"context", "answer", "started", "result",
                                 "bag"};
    struct pdr__noted_call *call = NULL;
    const pdr_value *body = NULL;
    size_t kind = 0;
    pdr_rc rc = PDR_OK;

    while (kind < PDR_COUNT(kinds) &&
           !pdr_str_equal(row->kind, pdr_str_c(kinds[kind])))
        kind++;
    if (kind == PDR_COUNT(kinds))
        return PDR_OK; /* the engine's */
    PDR_TRY(pdr__grow((void **)&j->bodies, &j->body_cap, j->body_count + 1,
                      sizeof(*j->bodies), err));
    PDR_TRY(pdr_json_read(&j->bodies[j->body_count], row->body,
                          &pdr__stored_reading, err));
    body = j->bodies[j->body_count++];
    if (kind == 0) {
        j->context = body;
    } else if (kind == 1) {
        PDR_TRY(pdr__grow((void **)&j->answers, &j->answer_cap,
                          j->answer_count + 1, sizeof(*j->answers), err));
        j->answers[j->answer_count++] = body;
    } else if (kind == 2 || kind == 3) {
        PDR_TRY(call_noted(&call, j, body, err));
        call->is_started = true;
        if (kind == 3) {
            call->result = member_of(body, "result");
            call->failed = truth_of(member_of(body, "failed"));
        }
    }
done:
    return rc;
}

pdr_rc pdr__journal_open(struct pdr__journal *j, pdr_task *task,
                         const struct pdr__request *request,
                         uint32_t timeout_ms, pdr_err *err)
{
    const pdr_task_info *info = pdr_task_info_get(task);
    pdr_rc rc = PDR_OK;

    *j = (struct pdr__journal){
        .task = task, .request = request, .why = PDR_ERR_INIT};
    pdr__cancel_init(&j->cancel, NULL, timeout_ms);
    pdr__cancel_init(&j->leave, NULL, timeout_ms);
    (void)pthread_mutex_init(&j->lock, NULL);
    (void)pthread_cond_init(&j->written, NULL);
    j->call_ids = (struct pdr__map)PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES);
    for (size_t i = 0; i < info->journal_count; i++)
        PDR_TRY(row_read(j, &info->journal[i], err));
done:
    return rc;
}

void pdr__journal_dispose(struct pdr__journal *j)
{
    for (size_t i = 0; i < j->body_count; i++)
        pdr_value_free(j->bodies[i]);
    for (size_t i = 0; i < j->row_count; i++)
        pdr_buf_dispose(&j->rows[i].body);
    pdr__free(j->bodies);
    pdr__free(j->answers);
    pdr__free(j->calls);
    pdr__free(j->rows);
    pdr__map_dispose(&j->call_ids);
    pdr_value_free(j->bag);
    pdr__cancel_dispose(&j->cancel);
    pdr__cancel_dispose(&j->leave);
    (void)pthread_cond_destroy(&j->written);
    (void)pthread_mutex_destroy(&j->lock);
}

/* --- writing --------------------------------------------------------------
 */

/* Append a value as it is, or a text with its quotes. */
static pdr_rc write_value(pdr_buf *out, const pdr_value *value, pdr_err *err)
{
    const pdr_write_opts as_read = {.flags = PDR_BARE_TOKENS,
                                    .layout = PDR_AS_READ};

    return pdr_json_write(out, value, &as_read, err);
}

static pdr_rc write_text(pdr_buf *out, pdr_str text, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_buf_append(out, PDR_LIT("\""), err));
    PDR_TRY(pdr__text_encode(out, text, err));
    PDR_TRY(pdr_buf_append(out, PDR_LIT("\""), err));
done:
    return rc;
}

/* A member after others: `,"name":` and a value that may be NULL, a text that
 * may be empty. */
static pdr_rc write_member(pdr_buf *out, const char *name,
                           const pdr_value *value, pdr_str text, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (value == NULL && text.len == 0)
        return PDR_OK;
    PDR_TRY(pdr_buf_printf(out, err, ",\"%s\":", name));
    if (value != NULL)
        PDR_TRY(write_value(out, value, err));
    else
        PDR_TRY(write_text(out, text, err));
done:
    return rc;
}

/* Note a row, or an event; its body is taken, also on failure. */
static pdr_rc row_note(struct pdr__journal *j, const char *kind, bool is_event,
                       pdr_buf *body, pdr_err *err)
{
    const pdr_buf none = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    (void)pthread_mutex_lock(&j->lock);
    rc = pdr__grow((void **)&j->rows, &j->row_cap, j->row_count + 1,
                   sizeof(*j->rows), err);
    if (rc == PDR_OK) {
        j->rows[j->row_count++] =
            (struct pdr__journal_row){kind, *body, is_event};
        j->added++;
        *body = none;
    }
    (void)pthread_mutex_unlock(&j->lock);
    pdr_buf_dispose(body);
    return rc;
}

/* A pdr__slot_fn: what became of a slot, `"name":[value]` or `"name":[]`. */
static pdr_rc slot_note(pdr_str name, const pdr_value *value, pdr_err *err,
                        void *arg)
{
    pdr_buf *body = arg;
    pdr_rc rc = PDR_OK;

    PDR_TRY(
        pdr_buf_append(body, body->len > 0 ? PDR_LIT(",") : PDR_LIT("{"), err));
    PDR_TRY(write_text(body, name, err));
    PDR_TRY(pdr_buf_append(body, PDR_LIT(":["), err));
    if (value != NULL)
        PDR_TRY(write_value(body, value, err));
    PDR_TRY(pdr_buf_append(body, PDR_LIT("]"), err));
done:
    return rc;
}

/* Note what changed in the bag since it was noted last. */
static pdr_rc bag_note(struct pdr__run *w, pdr_err *err)
{
    struct pdr__journal *j = w->journal;
    pdr_value *now = pdr_bag_snapshot(pdr_session_bag(w->session));
    pdr_buf body = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__slots_compare(j->bag, now, err, slot_note, &body));
    if (body.len > 0) {
        PDR_TRY(pdr_buf_append(&body, PDR_LIT("}"), err));
        PDR_TRY(row_note(j, "bag", false, &body, err));
    }
    pdr_value_free(j->bag);
    j->bag = now;
    now = NULL;
done:
    pdr_value_free(now);
    pdr_buf_dispose(&body);
    return rc;
}

/* Commit these rows. */
static pdr_rc rows_commit(struct pdr__journal *j,
                          const struct pdr__journal_row *rows, size_t count,
                          pdr_err *err)
{
    const pdr_task_info *info = pdr_task_info_get(j->task);
    pdr_work *work = pdr__calloc(count + 1, sizeof(*work));
    pdr_edit edit = {.revision = PDR_ANY_REVISION, .journal = work};
    pdr_rc rc = PDR_OK;

    if (work == NULL)
        return pdr__nomem(err);
    for (int events = 0; events < 2; events++) { /* the others first */
        for (size_t i = 0; i < count; i++) {
            size_t at = edit.journal_count + edit.stream_count;

            if (rows[i].is_event != (events == 1))
                continue;
            work[at] = (pdr_work){.kind = pdr_str_c(rows[i].kind),
                                  .correlation_id = info->correlation_id,
                                  .body = pdr_buf_str(&rows[i].body)};
            edit.journal_count += events == 0;
            edit.stream_count += events == 1;
        }
    }
    edit.stream = work + edit.journal_count;
    rc = pdr_task_commit(NULL, j->task, &edit, err);
    pdr__free(work);
    return rc;
}

/* One of those who wait commits for all: so results of tools that end at the
 * same time share a commit. */
pdr_rc pdr__journal_write(struct pdr__run *w, pdr_err *err)
{
    struct pdr__journal *j = w->journal;
    uint64_t wanted = 0;
    pdr_rc rc = PDR_OK;

    (void)pthread_mutex_lock(&j->lock);
    wanted = j->added;
    while (j->rc == PDR_OK && j->stored < wanted) {
        if (j->is_writing) {
            (void)pthread_cond_wait(&j->written, &j->lock);
            continue;
        }
        j->is_writing = true;
        (void)pthread_mutex_unlock(&j->lock);
        pdr_err why = PDR_ERR_INIT;
        pdr_rc noted = bag_note(w, &why);
        (void)pthread_mutex_lock(&j->lock);
        struct pdr__journal_row *rows = j->rows;
        size_t count = j->row_count;
        uint64_t end = j->added;
        j->rows = NULL;
        j->row_count = j->row_cap = 0;
        (void)pthread_mutex_unlock(&j->lock);
        if (noted == PDR_OK)
            noted = rows_commit(j, rows, count, &why);
        for (size_t i = 0; i < count; i++)
            pdr_buf_dispose(&rows[i].body);
        pdr__free(rows);
        (void)pthread_mutex_lock(&j->lock);
        j->is_writing = false;
        j->stored = end;
        if (noted != PDR_OK) { /* J3 */
            j->rc = noted;
            j->why = why;
        }
        (void)pthread_cond_broadcast(&j->written);
    }
    if (j->rc != PDR_OK)
        rc = pdr__err_pass(err, &j->why);
    (void)pthread_mutex_unlock(&j->lock);
    return rc;
}

pdr_rc pdr__journal_events(pdr_work **out, size_t *count,
                           struct pdr__journal *j, const pdr_work *last,
                           struct pdr__arena *memory, pdr_err *err)
{
    void *room = NULL;
    pdr_rc rc = PDR_OK;

    *count = 0;
    PDR_TRY(pdr__arena_alloc(&room, memory, (j->row_count + 1) * sizeof(**out),
                             err));
    *out = room;
    for (size_t i = 0; i < j->row_count; i++) {
        if (j->rows[i].is_event)
            (*out)[(*count)++] =
                (pdr_work){.kind = pdr_str_c(j->rows[i].kind),
                           .correlation_id = last->correlation_id,
                           .body = pdr_buf_str(&j->rows[i].body)};
    }
    (*out)[(*count)++] = *last;
done:
    return rc;
}

/* --- what the model gets --------------------------------------------------
 */

/* Is the tool one of those that the request names? */
static bool tool_is_wanted(const struct pdr__request *request, pdr_str name)
{
    pdr_iter it;

    if (request->tool_names == NULL)
        return true;
    pdr_iter_init(&it, request->tool_names);
    while (pdr_iter_next(&it)) {
        if (pdr_value_text_is(it.value, name))
            return true;
    }
    return false;
}

pdr_rc pdr__journal_choose_tools(struct pdr__run *w)
{
    const struct pdr__request *request = w->journal->request;
    pdr_tool_info *infos = NULL;
    void *room = NULL;
    size_t count = 0;
    pdr_rc rc = PDR_OK;

    if (!request->no_tools && request->tool_names == NULL)
        return PDR_OK;
    PDR_TRY(pdr__arena_alloc(&room, &w->memory,
                             (w->info_count + 1) * sizeof(*infos), w->err));
    infos = room;
    for (size_t i = 0; i < w->info_count && !request->no_tools; i++) {
        if (tool_is_wanted(request, w->infos[i].name))
            infos[count++] = w->infos[i];
    }
    w->infos = infos;
    w->info_count = count;
done:
    return rc;
}

/* Where the messages of the history are, as "[seq,index,count]" each: numbers
 * that follow each other are one. */
static pdr_rc write_spans(pdr_buf *out, const struct pdr__history *history,
                          pdr_err *err)
{
    const pdr_stored_window *window = history->window;
    struct pdr__span span = {.count = 0};
    uint64_t number = 0, last = 0;
    const char *comma = "";
    size_t k = 0;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0;
         window != NULL && k < history->count && i < window->count; i++) {
        struct pdr__span one;

        if (window->messages[i].value != history->messages[k].value)
            continue;
        one = pdr__window_place(&number, window, i);
        k++;
        if (span.count > 0 && number == last + 1) {
            one.count = span.count + 1;
        } else if (span.count > 0) {
            PDR_TRY(pdr_buf_printf(out, err,
                                   "%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]",
                                   comma, span.seq, span.index, span.count));
            comma = ",";
        }
        span = one;
        last = number;
    }
    if (span.count > 0)
        PDR_TRY(pdr_buf_printf(out, err,
                               "%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", comma,
                               span.seq, span.index, span.count));
done:
    return rc;
}

static pdr_rc write_tools(pdr_buf *out, const struct pdr__run *w, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < w->info_count; i++) {
        const pdr_tool_info *info = &w->infos[i];

        PDR_TRY(pdr_buf_append(
            out, i > 0 ? PDR_LIT(",{\"name\":") : PDR_LIT("{\"name\":"), err));
        PDR_TRY(write_text(out, info->name, err));
        PDR_TRY(write_member(out, "description", NULL, info->description, err));
        PDR_TRY(write_member(out, "parameters", info->parameters, PDR_LIT(""),
                             err));
        PDR_TRY(pdr_buf_append(out, PDR_LIT("}"), err));
    }
done:
    return rc;
}

pdr_rc pdr__journal_note_context(struct pdr__run *w)
{
    pdr_buf body = PDR_BUF_INIT(SIZE_MAX);
    const char *comma = "";
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_buf_printf(&body, w->err,
                           "{\"max_calls\":%u,\"max_failures\":"
                           "%u,\"tools\":[",
                           w->max_calls, w->max_failures));
    PDR_TRY(write_tools(&body, w, w->err));
    PDR_TRY(pdr_buf_append(&body, PDR_LIT("],\"history\":["), w->err));
    PDR_TRY(write_spans(&body, &w->history, w->err));
    PDR_TRY(pdr_buf_append(&body, PDR_LIT("],\"messages\":["), w->err));
    for (size_t i = 0; i < w->context.count; i++) {
        PDR_TRY(pdr_buf_printf(&body, w->err, "%s", comma));
        PDR_TRY(write_value(&body, w->context.messages[i].value, w->err));
        comma = ",";
    }
    PDR_TRY(pdr_buf_append(&body, PDR_LIT("]"), w->err));
    PDR_TRY(write_member(&body, "instructions", NULL,
                         pdr_context_instructions(&w->context), w->err));
    PDR_TRY(write_member(&body, "options", w->options, PDR_LIT(""), w->err));
    PDR_TRY(write_member(&body, "output", w->sent_schema, PDR_LIT(""), w->err));
    PDR_TRY(pdr_buf_append(&body, PDR_LIT("}"), w->err));
    PDR_TRY(row_note(w->journal, "context", false, &body, w->err));
done:
    pdr_buf_dispose(&body);
    return rc;
}

/* A text of ours, as a text in arena. */
static pdr_rc text_restore(pdr_str *out, struct pdr__run *w,
                           const pdr_value *value)
{
    pdr_buf room = PDR_BUF_INIT(SIZE_MAX);
    char *copy = NULL;
    pdr_rc rc = PDR_OK;

    *out = PDR_LIT("");
    if (value == NULL || pdr_value_kind(value) != PDR_STRING)
        return PDR_OK;
    PDR_TRY(pdr__value_sound_text(out, value, &room, w->err));
    PDR_TRY(pdr__arena_strndup(&copy, &w->memory, *out, w->err));
    out->ptr = copy;
done:
    pdr_buf_dispose(&room);
    return rc;
}

static pdr_rc tools_restore(struct pdr__run *w, const pdr_value *tools)
{
    pdr_tool_info *infos = NULL;
    void *room = NULL;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__arena_alloc(&room, &w->memory,
                             (pdr_value_count(tools) + 1) * sizeof(*infos),
                             w->err));
    infos = room;
    w->infos = infos;
    w->info_count = 0;
    pdr_iter_init(&it, tools);
    while (pdr_iter_next(&it)) {
        pdr_tool_info *info = &infos[w->info_count++];

        info->parameters = member_of(it.value, "parameters");
        PDR_TRY(text_restore(&info->name, w, member_of(it.value, "name")));
        PDR_TRY(text_restore(&info->description, w,
                             member_of(it.value, "description")));
    }
done:
    return rc;
}

static pdr_rc history_restore(struct pdr__run *w, const pdr_value *list)
{
    struct pdr__history *history = &w->history;
    struct pdr__span *spans = NULL;
    void *room = NULL;
    size_t count = 0;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__arena_alloc(&room, &w->memory,
                             (pdr_value_count(list) + 1) * sizeof(*spans),
                             w->err));
    spans = room;
    pdr_iter_init(&it, list);
    while (pdr_iter_next(&it))
        spans[count++] =
            (struct pdr__span){number_of(pdr_value_at(it.value, 0)),
                               number_of(pdr_value_at(it.value, 1)),
                               number_of(pdr_value_at(it.value, 2))};
    PDR_TRY(pdr__stored_pick(&history->window, w->run->stored, spans, count,
                             w->err));
    for (size_t i = 0; i < history->window->count; i++)
        PDR_TRY(pdr__history_add(history, history->window->messages[i].value,
                                 w->shape, w->err));
done:
    return rc;
}

/* The bag has what was loaded, and what the journal changed. */
static pdr_rc bag_restore(struct pdr__run *w)
{
    const pdr_task_info *info = pdr_task_info_get(w->journal->task);
    pdr_bag *bag = pdr_session_bag(w->session);
    pdr_value *now = pdr_bag_snapshot(bag);
    pdr_buf room = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *body = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__slots_compare(now, w->run->stored->view->loaded, w->err,
                               pdr__slot_repeat, bag));
    for (size_t i = 0; i < info->journal_count; i++) {
        pdr_iter it;

        if (!pdr_str_equal(info->journal[i].kind, PDR_LIT("bag")))
            continue;
        PDR_TRY(pdr_json_read(&body, info->journal[i].body,
                              &pdr__stored_reading, w->err));
        pdr_iter_init(&it, body);
        while (pdr_iter_next(&it)) {
            const pdr_value *value = pdr_value_count(it.value) > 0
                                         ? pdr_value_at(it.value, 0)
                                         : NULL;
            pdr_str name = {NULL, 0};

            PDR_TRY(pdr__value_name_bytes(&name, it.name, &room, w->err));
            PDR_TRY(pdr__slot_repeat(name, value, w->err, bag));
        }
        pdr_value_free(body);
        body = NULL;
    }
done:
    pdr_value_free(body);
    pdr_value_free(now);
    pdr_buf_dispose(&room);
    return rc;
}

pdr_rc pdr__journal_restore_context(struct pdr__run *w)
{
    const pdr_value *row = w->journal->context;
    const pdr_value *options = member_of(row, "options");
    struct pdr_context *c = &w->context;
    pdr_str instructions = PDR_LIT("");
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    while (c->count > 0)
        pdr_value_free((pdr_value *)(uintptr_t)c->messages[--c->count].value);
    pdr_buf_clear(&c->instructions);
    PDR_TRY(text_restore(&instructions, w, member_of(row, "instructions")));
    PDR_TRY(pdr_buf_append(&c->instructions, instructions, w->err));
    PDR_TRY(tools_restore(w, member_of(row, "tools")));
    PDR_TRY(history_restore(w, member_of(row, "history")));
    pdr_iter_init(&it, member_of(row, "messages"));
    while (pdr_iter_next(&it)) {
        PDR_TRY(pdr__grow((void **)&c->messages, &c->cap, c->count + 1,
                          sizeof(*c->messages), w->err));
        c->messages[c->count++] = (pdr_request_message){
            pdr_value_ref(it.value), w->shape, PDR_ORIGIN_CONTEXT};
    }
    w->options = options != NULL ? pdr_value_ref(options) : NULL;
    w->sent_schema = member_of(row, "output");
    w->max_calls = (unsigned)number_of(member_of(row, "max_calls"));
    w->max_failures = (unsigned)number_of(member_of(row, "max_failures"));
    PDR_TRY(bag_restore(w));
done:
    return rc;
}

/* --- what readers get to see ----------------------------------------------
 */

/* How far readers may trust what they have: up to the last call or result,
 * which was stored with its step, or to the last attempt, or to where the run
 * began. */
static pdr_rc counts_find(uint64_t *out, const struct pdr__journal *j,
                          pdr_err *err)
{
    const pdr_task_info *info = pdr_task_info_get(j->task);
    pdr_query query = {.what = PDR_READ_STREAM,
                       .ref = info->session,
                       .backwards = true,
                       .limit = PDR_MAX_PAGE_ROWS};
    bool is_found = false;
    pdr_page *page = NULL;
    pdr_rc rc = PDR_OK;

    *out = 0;
    while (!is_found) {
        PDR_TRY(pdr_store_read(&page, info->store, &query, err));
        for (size_t i = 0; i < page->count && !is_found; i++) {
            const pdr_work *row = &page->work[i];

            is_found =
                !pdr_str_equal(row->correlation_id, info->correlation_id) ||
                pdr_str_equal(row->kind, PDR_LIT("tool_call")) ||
                pdr_str_equal(row->kind, PDR_LIT("tool_result")) ||
                pdr_str_equal(row->kind, PDR_LIT("attempt"));
            *out = is_found ? row->n : row->n - 1;
            query.from = row->n - 1;
        }
        if (page->next.ptr == NULL || query.from == 0)
            break;
        pdr_page_free(page);
        page = NULL;
    }
done:
    pdr_page_free(page);
    return rc;
}

pdr_rc pdr__journal_say_attempt(struct pdr__journal *j, pdr_err *err)
{
    const pdr_task_info *info = pdr_task_info_get(j->task);
    pdr_buf body = PDR_BUF_INIT(SIZE_MAX);
    uint64_t counts = 0;
    pdr_rc rc = PDR_OK;

    if (info->attempt < 2)
        return PDR_OK;
    PDR_TRY(counts_find(&counts, j, err));
    PDR_TRY(pdr_buf_printf(&body, err,
                           "{\"attempt\":%u,\"counts\":%" PRIu64 "}",
                           info->attempt, counts));
    PDR_TRY(pdr_task_stream(j->task, "attempt", pdr_buf_str(&body), err));
done:
    pdr_buf_dispose(&body);
    return rc;
}

pdr_rc pdr__journal_say(struct pdr__run *w, const pdr_update *update,
                        pdr_err *err)
{
    pdr_buf body = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < update->content_count; i++) {
        const pdr_value *content = update->contents[i];
        pdr_content_kind kind = pdr_content_kind_of(content, w->shape);
        const pdr_value *text =
            pdr_content_get(content, w->shape, PDR_FIELD_TEXT);

        if ((kind != PDR_CONTENT_TEXT && kind != PDR_CONTENT_REASONING) ||
            text == NULL)
            continue;
        pdr_buf_clear(&body);
        PDR_TRY(pdr_buf_append(&body, PDR_LIT("{\"text\":"), err));
        PDR_TRY(write_value(&body, text, err));
        PDR_TRY(pdr_buf_append(&body, PDR_LIT("}"), err));
        PDR_TRY(
            pdr_task_stream(w->journal->task,
                            kind == PDR_CONTENT_TEXT ? "message" : "reasoning",
                            pdr_buf_str(&body), err));
    }
done:
    pdr_buf_dispose(&body);
    return rc;
}

/* --- answers --------------------------------------------------------------
 */

size_t pdr__journal_injected(const struct pdr__run *w)
{
    const struct pdr__journal *j = w->journal;

    if (j == NULL || j->answer_next >= j->answer_count)
        return SIZE_MAX;
    return (size_t)number_of(member_of(j->answers[j->answer_next], "injected"));
}

pdr_rc pdr__journal_answer(bool *found, struct pdr__run *w)
{
    struct pdr__journal *j = w->journal;
    struct pdr__fold said;
    const pdr_value *row = NULL, *usage = NULL, *properties = NULL;
    pdr_str text = {NULL, 0};
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    *found = j->answer_next < j->answer_count;
    if (!*found)
        return PDR_OK;
    row = j->answers[j->answer_next++];
    pdr__fold_init(&said, w->shape);
    pdr_iter_init(&it, member_of(row, "messages"));
    while (pdr_iter_next(&it))
        PDR_TRY(pdr__answer_take(w, pdr_value_ref(it.value)));
    struct {
        const char *name;
        pdr_buf *to;
    } const texts[] = {{"finish_reason", &said.finish_reason},
                       {"response_id", &said.response_id},
                       {"agent_id", &said.agent_id},
                       {"model", &said.model}};
    for (size_t i = 0; i < PDR_COUNT(texts); i++) {
        PDR_TRY(text_restore(&text, w, member_of(row, texts[i].name)));
        PDR_TRY(pdr__text_set(texts[i].to, text, w->err));
    }
    said.created_at = (int64_t)number_of(member_of(row, "created_at"));
    usage = member_of(row, "usage");
    properties = member_of(row, "properties");
    said.usage = usage != NULL ? pdr_value_ref(usage) : NULL;
    said.properties = properties != NULL ? pdr_value_ref(properties) : NULL;
    PDR_TRY(pdr__response_add(w->response, &said, w->err));
done:
    pdr__fold_dispose(&said);
    return rc;
}

/* The calls in a message, for readers: stored with the answer, so that they
 * tell how far the run has come. */
static pdr_rc calls_say(struct pdr__run *w, const pdr_value *message)
{
    pdr_buf body = PDR_BUF_INIT(SIZE_MAX), arguments = PDR_BUF_INIT(SIZE_MAX);
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, pdr_message_contents(message, w->shape));
    while (pdr_iter_next(&it)) {
        if (!pdr__call_is_ours(it.value, w->shape))
            continue;
        pdr_buf_clear(&arguments);
        rc = pdr_content_arguments(&arguments, it.value, w->shape, w->err);
        if (rc != PDR_OK && rc != PDR_EINVALID)
            goto done;
        PDR_TRY(pdr_buf_append(&body, PDR_LIT("{\"arguments\":"), w->err));
        PDR_TRY(write_text(&body, pdr_buf_str(&arguments), w->err));
        PDR_TRY(
            write_member(&body, "call_id",
                         pdr_content_get(it.value, w->shape, PDR_FIELD_CALL_ID),
                         PDR_LIT(""), w->err));
        PDR_TRY(write_member(
            &body, "name", pdr_content_get(it.value, w->shape, PDR_FIELD_NAME),
            PDR_LIT(""), w->err));
        PDR_TRY(pdr_buf_append(&body, PDR_LIT("}"), w->err));
        PDR_TRY(row_note(w->journal, "tool_call", true, &body, w->err));
    }
done:
    pdr_buf_dispose(&arguments);
    pdr_buf_dispose(&body);
    return rc;
}

pdr_rc pdr__journal_note_answer(struct pdr__run *w, size_t first,
                                const struct pdr__fold *fold)
{
    const pdr_response *r = w->response;
    pdr_buf body = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_buf_append(&body, PDR_LIT("{\"messages\":["), w->err));
    for (size_t i = first; i < r->count; i++) {
        if (i > first)
            PDR_TRY(pdr_buf_append(&body, PDR_LIT(","), w->err));
        PDR_TRY(write_value(&body, r->messages[i], w->err));
    }
    PDR_TRY(pdr_buf_append(&body, PDR_LIT("]"), w->err));
    PDR_TRY(write_member(&body, "finish_reason", NULL,
                         pdr_buf_str(&fold->finish_reason), w->err));
    PDR_TRY(write_member(&body, "response_id", NULL,
                         pdr_buf_str(&fold->response_id), w->err));
    PDR_TRY(write_member(&body, "agent_id", NULL, pdr_buf_str(&fold->agent_id),
                         w->err));
    PDR_TRY(
        write_member(&body, "model", NULL, pdr_buf_str(&fold->model), w->err));
    PDR_TRY(write_member(&body, "usage", fold->usage, PDR_LIT(""), w->err));
    PDR_TRY(write_member(&body, "properties", fold->properties, PDR_LIT(""),
                         w->err));
    if (fold->created_at != 0)
        PDR_TRY(pdr_buf_printf(&body, w->err, ",\"created_at\":%" PRId64,
                               fold->created_at));
    PDR_TRY(pdr_buf_printf(&body, w->err, ",\"injected\":%zu}", w->injected));
    PDR_TRY(row_note(w->journal, "answer", false, &body, w->err));
    if (fold->usage != NULL) {
        PDR_TRY(write_value(&body, fold->usage, w->err));
        PDR_TRY(pdr_task_stream(w->journal->task, "usage", pdr_buf_str(&body),
                                w->err));
    }
    for (size_t i = first; i < r->count; i++)
        PDR_TRY(calls_say(w, r->messages[i]));
done:
    pdr_buf_dispose(&body);
    return rc;
}

/* --- calls ----------------------------------------------------------------
 */

static pdr_rc start_note(struct pdr__journal *j, struct pdr__job *job,
                         pdr_err *err)
{
    pdr_buf body = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_buf_printf(&body, err, "{\"call\":%zu}", job->number));
    PDR_TRY(row_note(j, "started", false, &body, err));
    job->is_noted = true;
done:
    pdr_buf_dispose(&body);
    return rc;
}

/* Nobody can know whether it happened (J1). */
static pdr_rc unknown_result(struct pdr__job *job, struct pdr__run *w)
{
    const pdr_value *id =
        pdr_content_get(job->call, w->shape, PDR_FIELD_CALL_ID);
    pdr_buf room = PDR_BUF_INIT(SIZE_MAX);
    pdr_str id_text = PDR_LIT("");
    pdr_value *text = NULL;
    pdr_rc rc = PDR_OK;

    if (id != NULL)
        PDR_TRY(pdr__value_sound_text(&id_text, id, &room, w->err));
    PDR_TRY(pdr_value_new_string(&text, PDR_LIT(UNKNOWN_OUTCOME), w->err));
    PDR_TRY(
        pdr_content_new_result(&job->result, w->shape, id_text, text, w->err));
    job->failed = true;
done:
    pdr_value_free(text);
    pdr_buf_dispose(&room);
    return rc;
}

/* Give a call its number, and note its id. */
static pdr_rc call_number(struct pdr__job *job, struct pdr__run *w)
{
    struct pdr__journal *j = w->journal;
    const pdr_value *id =
        pdr_content_get(job->call, w->shape, PDR_FIELD_CALL_ID);
    pdr_buf room = PDR_BUF_INIT(SIZE_MAX);
    pdr_str text = PDR_LIT("");
    pdr_rc rc = PDR_OK;

    job->number = j->call_next++;
    if (id != NULL)
        PDR_TRY(pdr__value_sound_text(&text, id, &room, w->err));
    job->is_namesake = pdr__map_get(NULL, &j->call_ids, text);
    PDR_TRY(pdr__map_put(NULL, &j->call_ids, text, NULL, w->err));
done:
    pdr_buf_dispose(&room);
    return rc;
}

pdr_rc pdr__journal_calls(struct pdr__jobs *jobs, struct pdr__run *w,
                          size_t at_once)
{
    struct pdr__journal *j = w->journal;
    bool is_new = false;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < jobs->count; i++) {
        struct pdr__job *job = &jobs->items[i];
        struct pdr__noted_call noted = {.result = NULL};

        PDR_TRY(call_number(job, w));
        if (job->number < j->call_count)
            noted = j->calls[job->number];
        if (job->result != NULL)
            continue; /* the caller rejected it */
        job->is_noted = noted.is_started;
        if (noted.result != NULL) {
            job->result = pdr_value_ref(noted.result);
            job->failed = noted.failed;
        } else if (noted.is_started &&
                   (job->tool == NULL || !job->tool->is_repeatable)) {
            PDR_TRY(unknown_result(job, w));
            PDR_TRY(pdr__journal_note_result(w, job, w->err));
        } else if (at_once > 0) {
            at_once--;
            is_new = true;
            if (!job->is_noted)
                PDR_TRY(start_note(j, job, w->err));
        }
    }
    if (is_new)
        PDR_TRY(pdr__journal_write(w, w->err));
done:
    return rc;
}

pdr_rc pdr__journal_start(struct pdr__run *w, struct pdr__job *job,
                          pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (job->is_noted)
        return PDR_OK;
    PDR_TRY(start_note(w->journal, job, err));
    PDR_TRY(pdr__journal_write(w, err));
done:
    return rc;
}

pdr_rc pdr__journal_note_result(struct pdr__run *w, const struct pdr__job *job,
                                pdr_err *err)
{
    pdr_buf body = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_buf_printf(&body, err, "{\"call\":%zu,\"failed\":%s",
                           job->number, job->failed ? "true" : "false"));
    PDR_TRY(write_member(&body, "result", job->result, PDR_LIT(""), err));
    PDR_TRY(pdr_buf_append(&body, PDR_LIT("}"), err));
    PDR_TRY(row_note(w->journal, "result", false, &body, err));
    PDR_TRY(pdr_buf_printf(&body, err, "{\"failed\":%s",
                           job->failed ? "true" : "false"));
    PDR_TRY(
        write_member(&body, "call_id",
                     pdr_content_get(job->result, w->shape, PDR_FIELD_CALL_ID),
                     PDR_LIT(""), err));
    PDR_TRY(
        write_member(&body, "result",
                     pdr_content_get(job->result, w->shape, PDR_FIELD_RESULT),
                     PDR_LIT(""), err));
    PDR_TRY(pdr_buf_append(&body, PDR_LIT("}"), err));
    PDR_TRY(row_note(w->journal, "tool_result", true, &body, err));
done:
    pdr_buf_dispose(&body);
    return rc;
}

pdr_rc pdr__journal_token(pdr_buf *out, const struct pdr__run *w,
                          const struct pdr__job *job, pdr_str call_id,
                          pdr_err *err)
{
    const pdr_task_info *info = pdr_task_info_get(w->journal->task);
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_buf_append(out, info->session.id, err));
    PDR_TRY(pdr_buf_append(out, PDR_LIT("/"), err));
    PDR_TRY(pdr_buf_append(out, info->correlation_id, err));
    PDR_TRY(pdr_buf_append(out, PDR_LIT("/"), err));
    PDR_TRY(pdr_buf_append(out, call_id, err));
    if (job->is_namesake) /* some models number the calls of each answer */
        PDR_TRY(pdr_buf_printf(out, err, "/%zu", job->number));
done:
    return rc;
}
