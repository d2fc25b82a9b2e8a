/* toy_engine.c - see toy_engine.h. */
#include "toy_engine.h"

#include <inttypes.h>
#include <poll.h>

struct waiting {
    struct waiting *next;
    pthread_cond_t *cond;
};

static struct {
    atomic_llong now_ms;
    atomic_uint runs;
    struct toy processes[3]; /* of the test, made by its thread alone */
    size_t count;
    pdr_store *store;
    const pdr_store_ops *real; /* of the store */
    pdr_store_ops ops;         /* with hooks */
    toys_commit_fn hook;
    void *hook_arg;
    atomic_llong ahead_ms;
} toys;

static _Thread_local bool in_hook;

/* --- the world -------------------------------------------------------------
 */

static int64_t world_now(void *ctx)
{
    const struct toy *p = ctx;

    return p->ahead_ms + (p->is_played ? atomic_load(&toys.now_ms)
                                       : pdr__world_system()->now_ms(NULL));
}

/* Of played time: until somebody wakes it, or toys_move() does. */
static void wait_played(struct toy *p, pthread_cond_t *cond,
                        pthread_mutex_t *lock, int64_t until_ms)
{
    struct waiting self = {p->waits, cond}, **at = &p->waits;

    if (until_ms <= world_now(p))
        return;
    p->waits = &self;
    (void)pthread_cond_wait(cond, lock);
    for (at = &p->waits; *at != &self;)
        at = &(*at)->next;
    *at = self.next;
}

static void world_wait(void *ctx, pthread_cond_t *cond, pthread_mutex_t *lock,
                       int64_t until_ms)
{
    struct toy *p = ctx;
    const pdr_engine *e = p->engine;
    bool is_turn = e != NULL && until_ms == PDR_NEVER && cond != &e->work &&
                   cond != &e->tick && cond != &e->quiet;

    if (e != NULL && cond == &e->tick)
        atomic_store(&p->keeper_until, until_ms);
    atomic_fetch_add(&p->turns, is_turn);
    if (p->is_played)
        wait_played(p, cond, lock, until_ms);
    else
        pdr__world_system()->wait(NULL, cond, lock, until_ms);
    atomic_fetch_sub(&p->turns, is_turn);
    while (e != NULL && cond == &e->work && atomic_load(&p->is_frozen)) {
        (void)pthread_mutex_unlock(lock);
        (void)poll(NULL, 0, 1);
        (void)pthread_mutex_lock(lock);
    }
}

static void world_wake(void *ctx, pthread_cond_t *cond)
{
    (void)ctx;
    pdr__world_system()->wake(NULL, cond);
}

static void world_wake_one(void *ctx, pthread_cond_t *cond)
{
    (void)ctx;
    pdr__world_system()->wake_one(NULL, cond);
}

static bool world_start(void *ctx, pthread_t *out, void *(*fn)(void *),
                        void *arg)
{
    struct toy *p = ctx;

    if (atomic_load(&p->fail_start) > 0 &&
        atomic_fetch_sub(&p->start_after, 1) <= 0) {
        atomic_fetch_sub(&p->fail_start, 1);
        return false;
    }
    return pdr__world_system()->start(NULL, out, fn, arg);
}

static void world_join(void *ctx, pthread_t thread)
{
    (void)ctx;
    pdr__world_system()->join(NULL, thread);
}

int64_t toys_now(void)
{
    return atomic_load(&toys.now_ms);
}

void toys_move(int64_t ms)
{
    atomic_fetch_add(&toys.now_ms, ms);
    for (size_t i = 0; i < toys.count; i++) {
        struct toy *p = &toys.processes[i];

        if (p->engine == NULL)
            continue;
        (void)pthread_mutex_lock(&p->engine->lock);
        for (struct waiting *w = p->waits; w != NULL; w = w->next)
            (void)pthread_cond_broadcast(w->cond);
        (void)pthread_mutex_unlock(&p->engine->lock);
    }
}

bool toys_waits(int64_t *began_ms)
{
    int64_t now_ms = pdr__monotonic_ms(pdr__clock_system());

    if (*began_ms == 0)
        *began_ms = now_ms;
    (void)poll(NULL, 0, 1);
    return now_ms - *began_ms < TOYS_LONG;
}

void toys_end(void)
{
    for (size_t i = 0; i < toys.count; i++)
        toy_end(&toys.processes[i]);
    toys.count = 0;
    pdr_store_close(toys.store);
    toys.store = NULL;
}

pdr_store *toys_take(pdr_store *store)
{
    toys_end();
    atomic_store(&toys.now_ms, TOYS_NOW);
    atomic_store(&toys.runs, 0);
    toys.store = store;
    return store;
}

pdr_store *toys_begin(const char *uri)
{
    pdr_store *store = NULL;

    ASSERT_RC(PDR_OK, pdr_store_open(&store, uri, NULL));
    return toys_take(store);
}

/* --- hooks -----------------------------------------------------------------
 */

static void hook_commit(pdr_store *store, pdr_write *const *writes,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        pdr_write *write = writes[i];
        pdr_rc rc = PDR_OK;

        if (toys.hook != NULL && !in_hook) {
            in_hook = true;
            rc = toys.hook(store, write->plans[0].edit, toys.hook_arg);
            in_hook = false;
        }
        if (rc == PDR_OK)
            toys.real->commit(store, &write, 1);
        else
            write->rc = pdr_err_set(&write->err, rc, "hooked", "by the hook");
    }
}

static pdr_rc hook_now(pdr_store *store, int64_t *out, pdr_err *err)
{
    (void)store;
    if (atomic_load(&toys.ahead_ms) == INT64_MAX)
        return pdr_err_set(err, PDR_EIO, "toy_failed", "no time");
    *out = toys_now() + atomic_load(&toys.ahead_ms);
    return PDR_OK;
}

static pdr_store_ops *ops_own(void)
{
    if (toys.store->ops != &toys.ops) {
        toys.real = toys.store->ops;
        toys.ops = *toys.real;
        toys.store->ops = &toys.ops;
    }
    return &toys.ops;
}

void toys_hook(toys_commit_fn fn, void *arg)
{
    toys.hook = fn;
    toys.hook_arg = arg;
    ops_own()->commit = hook_commit;
}

void toys_skew(int64_t ahead_ms)
{
    atomic_store(&toys.ahead_ms, ahead_ms);
    if (toys.store->ops->now != hook_now)
        ops_own()->now = hook_now;
}

/* --- runs ------------------------------------------------------------------
 */

static void toy_changed(struct toy *p)
{
    (void)pthread_mutex_lock(&p->lock);
    (void)pthread_cond_broadcast(&p->changed);
    (void)pthread_mutex_unlock(&p->lock);
}

static void end_heard(pdr_task_end end, void *arg)
{
    struct toy *p = arg;

    atomic_fetch_add(&p->heard[end], 1);
    toy_changed(p);
}

void toy_open(struct toy *p)
{
    atomic_store(&p->is_open, true);
    toy_changed(p);
}

pdr_task_end toy_hold(struct toy *p, pdr_task *task)
{
    pdr_task_end end = PDR_TASK_GOES_ON;

    pdr_task_on_end(task, end_heard, p);
    for (;;) {
        unsigned before[2];

        (void)pthread_mutex_lock(&p->lock);
        before[0] = atomic_load(&p->heard[1]) + atomic_load(&p->heard[2]) +
                    atomic_load(&p->heard[3]);
        (void)pthread_mutex_unlock(&p->lock);
        end = pdr_task_ends(task);
        if (atomic_load(&p->is_open) ||
            (end != PDR_TASK_GOES_ON && !atomic_load(&p->is_stubborn)))
            break;
        (void)pthread_mutex_lock(&p->lock);
        before[1] = atomic_load(&p->heard[1]) + atomic_load(&p->heard[2]) +
                    atomic_load(&p->heard[3]);
        if (before[0] == before[1] && !atomic_load(&p->is_open))
            (void)pthread_cond_wait(&p->changed, &p->lock);
        (void)pthread_mutex_unlock(&p->lock);
    }
    pdr_task_on_end(task, NULL, NULL);
    return end;
}

pdr_rc toy_step(pdr_task *task, pdr_err *err)
{
    const pdr_work row = {.kind = S("step"), .body = S("{}")};
    const pdr_edit edit = {
        .revision = PDR_ANY_REVISION, .journal = &row, .journal_count = 1};

    return pdr_task_commit(NULL, task, &edit, err);
}

/* Finish with a response, at whatever revision the session has. With the commit
 * the run is over: the next one may begin before this function returns. */
static pdr_rc run_finish(struct toy *p, pdr_task *task,
                         pdr_operation_state state, const char *more,
                         unsigned run, pdr_err *err)
{
    const pdr_task_info *info = pdr_task_info_get(task);
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = info->session};
    char body[40];
    const pdr_entry entry = {.kind = PDR_ROW_RESPONSE,
                             .correlation_id = info->correlation_id,
                             .body = {body, 0}};
    pdr_entry response = entry;
    pdr_edit edit = {.entries = &response, .entry_count = 1};
    pdr_page *head = NULL;
    pdr_rc rc = PDR_ECONFLICT;

    response.body.len =
        (size_t)snprintf(body, sizeof(body), "{\"run\":%u}", run);
    for (int i = 0; i < 10 && rc == PDR_ECONFLICT; i++) {
        rc = pdr_store_read(&head, info->store, &query, err);
        if (rc != PDR_OK)
            break;
        edit.revision = head->head.revision;
        pdr_page_free(head);
        atomic_fetch_sub(&p->at_work, 1);
        rc = pdr_task_finish(NULL, task, &edit, state,
                             more != NULL ? S(more) : pdr_str_n(NULL, 0), err);
        atomic_fetch_add(&p->at_work, rc != PDR_OK);
    }
    return rc;
}

pdr_rc toy_answer(struct toy *p, pdr_task *task, pdr_err *err)
{
    return run_finish(p, task, PDR_OPERATION_COMPLETED, NULL,
                      atomic_fetch_add(&toys.runs, 1) + 1, err);
}

pdr_rc toy_late(struct toy *p, pdr_task *task, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    (void)toy_hold(p, task);
    rc = toy_step(task, err);
    atomic_store(&p->rc_seen, rc);
    atomic_store(&p->end_seen, pdr_task_ends(task));
    if (rc == PDR_OK)
        return toy_answer(p, task, err);
    return toy_answer(p, task, err) == rc ? rc : PDR_EMISUSE;
}

pdr_rc toy_claims(pdr_task **out, struct toy *p, const char *session,
                  pdr_err *err)
{
    const pdr_ref ref = ref_of(session);
    pdr_engine *e = p->engine;
    char room[PDR_KEY_BYTES];
    pdr_str key = pdr__session_key(room, &ref);
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (!pdr__seat_take(e, &ref, key))
        return pdr__nomem(err);
    rc = pdr__claim_due(out, e, &ref, NULL, err);
    if (*out != NULL)
        pdr__seat_set(e, *out);
    else
        pdr__seat_leave(e, &ref, key);
    return rc;
}

void toy_leaves(struct toy *p, pdr_task *task)
{
    if (task != NULL && !task->is_left)
        pdr__seat_leave(p->engine, &task->info.session, task->key);
    pdr__task_free(task);
}

static pdr_rc run_usual(struct toy *p, pdr_task *task, pdr_err *err)
{
    pdr_str name = pdr_task_info_get(task)->name;
    pdr_rc rc = PDR_OK;

    if (pdr_str_equal(name, S("hold"))) {
        pdr_task_end end = toy_hold(p, task);

        if (end == PDR_TASK_CANCELLED && !atomic_load(&p->is_open))
            return run_finish(p, task, PDR_OPERATION_CANCELLED, NULL, 0, err);
        if (end != PDR_TASK_GOES_ON && !atomic_load(&p->is_open))
            return PDR_OK;
    } else if (pdr_str_equal(name, S("end"))) {
        return run_finish(p, task, PDR_OPERATION_FAILED, "\"code\":\"toy\"", 0,
                          err);
    } else if (pdr_str_equal(name, S("fail"))) {
        return pdr_err_set(err, PDR_EIO, "toy_failed", "it failed for now");
    } else if (pdr_str_equal(name, S("steps")) && !atomic_load(&p->is_open)) {
        rc = toy_step(task, err);
        return rc != PDR_OK ? rc
                            : pdr_err_set(err, PDR_EIO, "toy_failed",
                                          "one step further");
    }
    return toy_answer(p, task, err);
}

/* --- the kind of session ---------------------------------------------------
 */

static pdr_rc toy_admit(pdr_admission *out, const pdr_operation *operation,
                        pdr_err *err, void *self)
{
    static const char *const names[] = {"answer", "hold", "end",  "fail",
                                        "steps",  "done", "peek", "must"};

    (void)self;
    for (size_t i = 0; i < PDR_COUNT(names); i++) {
        if (!pdr_str_equal(operation->name, S(names[i])))
            continue;
        *out = (pdr_admission){
            .name = operation->name,
            .input = operation->input,
            .fingerprint = operation->name,
            .kind = S("toy"),
            .needs_session = pdr_str_equal(operation->name, S("must")),
            .at_once = pdr_str_equal(operation->name, S("peek"))};
        if (pdr_str_equal(operation->input, S("\"named\"")))
            out->correlation_id = S("from-input");
        out->memory = pdr__alloc(1);
        return out->memory != NULL ? PDR_OK : pdr__nomem(err);
    }
    return pdr_err_set(err, PDR_EINVALID, "toy_refused", "not admitted");
}

static bool toy_can_run(const pdr_ref *session, void *self)
{
    struct toy *p = self;

    (void)session;
    return !atomic_load(&p->is_shy);
}

static pdr_rc toy_claim(pdr_claim *claim, pdr_err *err, void *self)
{
    struct toy *p = self;
    pdr_entry *entry = NULL;

    atomic_fetch_add(&p->claims, 1);
    if (atomic_load(&p->fail_claims) > 0) {
        atomic_fetch_sub(&p->fail_claims, 1);
        return pdr_err_set(err, PDR_EIO, "toy_failed", "no claim");
    }
    if (claim->gives_up || claim->cancelled ||
        pdr_str_equal(claim->name, S("done"))) {
        claim->is_done = true;
        claim->state = claim->gives_up    ? PDR_OPERATION_FAILED
                       : claim->cancelled ? PDR_OPERATION_CANCELLED
                                          : PDR_OPERATION_COMPLETED;
        if (claim->gives_up)
            claim->more = S("\"code\":\"gave_up\"");
        return PDR_OK;
    }
    if (claim->is_known)
        return PDR_OK; /* its request is there */
    entry = pdr__calloc(1, sizeof(*entry));
    if (entry == NULL)
        return pdr__nomem(err);
    *entry = (pdr_entry){.kind = PDR_ROW_REQUEST,
                         .correlation_id = claim->correlation_id,
                         .body = S("{}")};
    claim->edit->entries = entry;
    claim->edit->entry_count = 1;
    claim->memory = entry;
    return PDR_OK;
}

static void toy_release(void *memory, void *self)
{
    (void)self;
    pdr__free(memory);
}

static pdr_rc toy_run(pdr_task *task, pdr_err *err, void *self)
{
    struct toy *p = self;
    pdr_str id = pdr_task_info_get(task)->correlation_id;
    unsigned now = atomic_fetch_add(&p->at_work, 1) + 1;
    size_t len = 0;
    pdr_rc rc = PDR_OK;

    atomic_fetch_add(&p->runs, 1);
    (void)pthread_mutex_lock(&p->lock);
    if (now > atomic_load(&p->most_at_work))
        atomic_store(&p->most_at_work, now);
    len = strlen(p->order);
    snprintf(p->order + len, sizeof(p->order) - len, "%s%.*s",
             len > 0 ? " " : "", (int)id.len, id.ptr);
    (void)pthread_mutex_unlock(&p->lock);
    rc = p->run != NULL ? p->run(p, task, err) : run_usual(p, task, err);
    atomic_fetch_sub(&p->at_work, !task->is_finished);
    return rc;
}

static pdr_rc toy_at_once(pdr_buf *answer, pdr_store *store,
                          const pdr_operation *operation, int64_t now_ms,
                          pdr_err *err, void *self)
{
    (void)store;
    (void)now_ms;
    (void)self;
    if (pdr_str_equal(operation->input, S("\"fail\"")))
        return pdr_err_set(err, PDR_EIO, "toy_failed", "at once");
    return pdr_buf_append(answer, S("{\"peek\":1}"), err);
}

static void toy_forget(void *memo, void *self)
{
    ((struct toy *)self)->forget(memo);
}

const pdr_entity_ops *toy_ops(const char *prefix)
{
#define TOY_OPS(begins)                                                 \
    {                                                                   \
        .version = PDR_ENTITY_OPS_VERSION, .prefix = (begins),          \
        .admit = toy_admit, .can_run = toy_can_run, .claim = toy_claim, \
        .release = toy_release, .run = toy_run, .at_once = toy_at_once, \
        .forget = toy_forget                                            \
    }
    static const pdr_entity_ops tables[] = {TOY_OPS("toy-"), TOY_OPS("@dafx-")};
#undef TOY_OPS

    return &tables[strcmp(prefix, "toy-") != 0];
}

/* --- processes -------------------------------------------------------------
 */

static void toy_log(pdr_log_level level, pdr_str event,
                    const pdr_log_field *fields, size_t count, void *arg)
{
    struct toy *p = arg;
    pdr_str reason = S("");
    size_t len = 0;

    (void)level;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(fields[i].name, "reason") == 0)
            reason = fields[i].text;
    }
    (void)pthread_mutex_lock(&p->lock);
    len = strlen(p->log);
    if (len + event.len + reason.len + 3 < sizeof(p->log)) /* whole lines */
        snprintf(p->log + len, sizeof(p->log) - len, "%.*s %.*s\n",
                 (int)event.len, event.ptr, (int)reason.len, reason.ptr);
    (void)pthread_mutex_unlock(&p->lock);
}

struct toy *toy_new(void)
{
    struct toy *p = &toys.processes[toys.count];

    ASSERT(toys.count < PDR_COUNT(toys.processes));
    memset(p, 0, sizeof(*p));
    toys.count++;
    return p;
}

void toy_make(struct toy *p, pdr_store *store)
{
    pdr_engine_opts opts = p->opts;

    (void)pthread_mutex_init(&p->lock, NULL);
    (void)pthread_cond_init(&p->changed, NULL);
    p->world = (struct pdr__world){.now_ms = world_now,
                                   .wait = world_wait,
                                   .wake = world_wake,
                                   .start = world_start,
                                   .join = world_join,
                                   .ctx = p,
                                   .wake_one = world_wake_one};
    if (opts.log == NULL) {
        opts.log = toy_log;
        opts.log_arg = p;
    }
    ASSERT_RC(PDR_OK,
              pdr__engine_new(&p->engine, store, &opts, &p->world, NULL));
    ASSERT_RC(PDR_OK, pdr_engine_add(p->engine, toy_ops("toy-"), p, NULL));
    ASSERT_RC(PDR_OK, pdr_engine_add(p->engine, toy_ops("@dafx-"), p, NULL));
}

void toy_start(struct toy *p)
{
    ASSERT_RC(PDR_OK, pdr_engine_start(p->engine, NULL));
}

void toy_begin(struct toy *p, pdr_store *store)
{
    toy_make(p, store);
    toy_start(p);
}

void toy_end(struct toy *p)
{
    if (p->engine == NULL)
        return;
    toy_open(p);
    atomic_store(&p->is_frozen, false);
    pdr_engine_free(p->engine);
    p->engine = NULL;
    (void)pthread_cond_destroy(&p->changed);
    (void)pthread_mutex_destroy(&p->lock);
}

void toy_stop(struct toy *p, pdr_stop how)
{
    ASSERT_RC(PDR_OK, pdr_engine_stop(p->engine, how, TOYS_LONG, NULL));
}

pdr_engine_counts toy_counts(struct toy *p)
{
    pdr_engine_counts counts;

    pdr_engine_counts_get(&counts, p->engine);
    return counts;
}

pdr_engine_counts toy_rested(struct toy *p)
{
    AWAIT(toy_counts(p).at_work == 0);
    return toy_counts(p);
}

unsigned toy_heard(struct toy *p, const char *event)
{
    size_t len = strlen(event);
    unsigned count = 0;

    (void)pthread_mutex_lock(&p->lock);
    for (const char *at = p->log; at != NULL && *at != '\0';
         at = strchr(at, '\n') + 1)
        count += strncmp(at, event, len) == 0;
    (void)pthread_mutex_unlock(&p->lock);
    return count;
}

void toy_ordered(const char *expected, struct toy *p)
{
    char order[sizeof(p->order)];

    (void)pthread_mutex_lock(&p->lock);
    memcpy(order, p->order, sizeof(order));
    (void)pthread_mutex_unlock(&p->lock);
    ASSERT_STR(expected, order);
}

/* --- operations ------------------------------------------------------------
 */

pdr_ref ref_of(const char *name)
{
    const char *slash = strchr(name, '/');
    pdr_ref ref = {{NULL, 0}, S(slash != NULL ? slash + 1 : name)};

    if (slash != NULL)
        ref.tenant = pdr_str_n(name, (size_t)(slash - name));
    return ref;
}

pdr_operation op_of(const char *session, const char *name, const char *id)
{
    return (pdr_operation){.session = ref_of(session),
                           .name = S(name),
                           .correlation_id =
                               id != NULL ? S(id) : pdr_str_n(NULL, 0)};
}

pdr_sent sends(struct toy *p, const char *session, const char *name,
               const char *id)
{
    const pdr_operation operation = op_of(session, name, id);
    pdr_err err = PDR_ERR_INIT;
    pdr_sent sent;

    if (pdr_engine_send(&sent, p->engine, &operation, &err) != PDR_OK)
        fail_msg("%s %s: %s", session, name, err.message);
    return sent;
}

void ends(pdr_operation_state state, char out[100], struct toy *p,
          const char *session, const char *id)
{
    const pdr_ref ref = ref_of(session);
    pdr_ending *ending = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_engine_wait(&ending, p->engine, &ref, S(id), TOYS_LONG, &err) !=
        PDR_OK)
        fail_msg("%s %s: %s", session, id, err.message);
    ASSERT_INT(state, ending->state);
    if (out != NULL)
        snprintf(out, 100, "%.*s", (int)ending->answer.len,
                 ending->answer.ptr != NULL ? ending->answer.ptr : "");
    pdr_ending_free(ending);
}

void wait_fails(const char *reason, struct toy *p, const char *session,
                const char *id)
{
    const pdr_ref ref = ref_of(session);
    pdr_ending *ending = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT(pdr_engine_wait(&ending, p->engine, &ref, S(id), 0, &err) != PDR_OK);
    ASSERT(ending == NULL);
    ASSERT_STR(reason, err.reason);
}

bool has_ended(struct toy *p, const char *session, const char *id)
{
    const pdr_ref ref = ref_of(session);
    pdr_ending *ending = NULL;
    pdr_rc rc = pdr__ending_read(&ending, p->engine, &ref, S(id), NULL);
    bool ended = rc == PDR_OK && ending != NULL;

    pdr_ending_free(ending);
    return ended;
}

static void *wait_work(void *arg)
{
    struct caller *c = arg;
    const pdr_ref ref = ref_of(c->session);
    pdr_ending *ending = NULL;
    pdr_err err = PDR_ERR_INIT;

    c->rc = pdr_engine_wait(&ending, c->p->engine, &ref, S(c->id),
                            10 * TOYS_LONG, &err);
    if (c->rc == PDR_OK)
        c->state = ending->state;
    else
        snprintf(c->reason, sizeof(c->reason), "%s", err.reason);
    pdr_ending_free(ending);
    return NULL;
}

static void *send_work(void *arg)
{
    struct caller *c = arg;
    const pdr_operation operation = op_of(c->session, "answer", c->id);

    c->rc = pdr_engine_send(NULL, c->p->engine, &operation, NULL);
    return NULL;
}

static void *stop_work(void *arg)
{
    struct caller *c = arg;

    c->rc = pdr_engine_stop(c->p->engine, c->how, TOYS_LONG, NULL);
    return NULL;
}

void caller_waits(struct caller *caller)
{
    uint64_t before = toy_counts(caller->p).waiting;

    ASSERT_INT(0, pthread_create(&caller->thread, NULL, wait_work, caller));
    AWAIT(toy_counts(caller->p).waiting == before + 1);
}

void caller_sends(struct caller *caller)
{
    ASSERT_INT(0, pthread_create(&caller->thread, NULL, send_work, caller));
}

void caller_stops(struct caller *caller)
{
    ASSERT_INT(0, pthread_create(&caller->thread, NULL, stop_work, caller));
}

void caller_end(struct caller *caller)
{
    ASSERT_INT(0, pthread_join(caller->thread, NULL));
}

/* --- what is stored --------------------------------------------------------
 */

static void add_word(char *out, size_t size, pdr_str word)
{
    size_t len = strlen(out);

    snprintf(out + len, size - len, " %.*s", (int)word.len, word.ptr);
}

/* Kinds of the rows of one list. False: there is no such session. */
static bool add_rows(char *out, size_t size, pdr_store *store,
                     const char *session, pdr_read_what what)
{
    static const char *const kinds[] = {"request", "response", "message",
                                        "record", "other"};
    static const char *const states[] = {"idle", "running", "waiting",
                                         "expired"};
    const pdr_query query = {
        .what = what, .ref = ref_of(session), .limit = PDR_MAX_PAGE_ROWS};
    pdr_page *page = NULL;

    if (pdr_store_read(&page, store, &query, NULL) != PDR_OK)
        return false;
    if (what == PDR_READ_HEAD)
        snprintf(out, size, "%s", states[page->head.state]);
    else
        add_word(out, size, S("|"));
    for (size_t i = 0; i < page->count; i++)
        add_word(out, size,
                 what == PDR_READ_ENTRIES ? S(kinds[page->entries[i].kind])
                                          : page->work[i].kind);
    pdr_page_free(page);
    return true;
}

static void session_text(char *out, size_t size, pdr_store *store,
                         const char *session)
{
    static const pdr_read_what parts[] = {PDR_READ_HEAD, PDR_READ_INBOX,
                                          PDR_READ_JOURNAL, PDR_READ_ENTRIES};

    for (size_t i = 0; i < PDR_COUNT(parts); i++) {
        if (!add_rows(out, size, store, session, parts[i])) {
            snprintf(out, size, "none");
            break;
        }
    }
}

void session_is(const char *expected, pdr_store *store, const char *session)
{
    char text[2000] = "";

    session_text(text, sizeof(text), store, session);
    ASSERT_STR(expected, text);
}

bool session_looks(const char *expected, pdr_store *store, const char *session)
{
    char text[2000] = "";

    session_text(text, sizeof(text), store, session);
    return strcmp(expected, text) == 0;
}

void session_touch(pdr_store *store, const char *session)
{
    const pdr_slot slot = {.key = S("k"), .value = S("1")};
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = ref_of(session)};
    const pdr_commit_options now = {.now_ms = TOYS_NOW};
    pdr_edit edit = {.ref = ref_of(session), .slots = &slot, .slot_count = 1};
    pdr_page *page = NULL;

    if (pdr_store_read(&page, store, &query, NULL) == PDR_OK) {
        edit.revision = page->head.revision;
        pdr_page_free(page);
    }
    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &now, NULL));
}

void session_replace(pdr_store *store, const char *session, bool known)
{
    const pdr_entry entries[] = {
        {.kind = PDR_ROW_REQUEST, .correlation_id = S("old"), .body = S("{}")},
        {.kind = PDR_ROW_RESPONSE,
         .correlation_id = S("old"),
         .body = S("{\"old\":1}")},
        {.kind = PDR_ROW_REQUEST, .correlation_id = S("c1"), .body = S("{}")}};
    const pdr_rows rows = {.entries = entries, .entry_count = known ? 3 : 2};
    const pdr_show_opts show = {.revision = PDR_ANY_REVISION};
    const pdr_commit_options now = {.now_ms = toys_now()};
    pdr_stage stage = {.ref = ref_of(session),
                       .until_ms = toys_now() + 60000,
                       .kind = S("toy")};
    pdr_err err = PDR_ERR_INIT;

    if (pdr_stage_begin(NULL, store, &stage, NULL, &now, &err) != PDR_OK ||
        pdr_stage_show(NULL, store, &stage, &rows, &show, &now, &err) != PDR_OK)
        fail_msg("%s", err.message);
}

void session_delete(pdr_store *store, const char *session)
{
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = ref_of(session)};
    const pdr_commit_options now = {.now_ms = toys_now()};
    pdr_edit edit = {.ref = ref_of(session), .remove = true};
    pdr_page *page = NULL;

    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    edit.revision = page->head.revision;
    pdr_page_free(page);
    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &now, NULL));
}

void session_streams(const char *expected, pdr_store *store,
                     const char *session)
{
    const pdr_query query = {.what = PDR_READ_STREAM,
                             .ref = ref_of(session),
                             .limit = PDR_MAX_PAGE_ROWS};
    char text[2000] = "";
    pdr_page *page = NULL;

    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    for (size_t i = 0; i < page->count; i++)
        add_word(text, sizeof(text), page->work[i].body);
    pdr_page_free(page);
    ASSERT_STR(expected, text[0] == ' ' ? text + 1 : text);
}

size_t toys_sessions(pdr_store *store)
{
    const pdr_query query = {.what = PDR_READ_ALL, .limit = PDR_MAX_PAGE_ROWS};
    pdr_page *page = NULL;
    size_t count = 0;

    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    count = page->count;
    pdr_page_free(page);
    return count;
}
