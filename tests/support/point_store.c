/* point_store.c - see point_store.h. */
#include "point_store.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "base.h"

#define MISTAKE  "PERDURE_POINT_MISTAKE"
#define MAX_ROWS 64

struct point_store {
    pdr_store base; /* first */
    pdr_store *inner;
};

static struct {
    pthread_mutex_t lock;
    /* Held from before a commit until it was told, so that nobody dies between
     * the two; only where somebody is to die. */
    pthread_mutex_t turn;
    struct point_plan plan;
    enum point_mistake mistake;
    point_fn fn;
    void *arg;
    size_t counts[POINT_KINDS], fenced; /* guarded by lock */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .turn = PTHREAD_MUTEX_INITIALIZER};

const char *point_kind_word(enum point_kind kind)
{
    static const char *const words[] = {"commit", "renewal", "held step",
                                        "stream", "tool"};

    return words[kind];
}

/* --- the point -------------------------------------------------------------
 */

/* Count one; is it the point? */
static bool is_point(enum point_kind kind)
{
    bool is_it = false;

    pthread_mutex_lock(&state.lock);
    is_it = ++state.counts[kind] == state.plan.nth && kind == state.plan.kind;
    pthread_mutex_unlock(&state.lock);
    return is_it;
}

static void die(void)
{
    (void)kill(getpid(), SIGKILL);
    for (;;)
        (void)pause();
}

static void turn_take(void)
{
    if (state.plan.nth > 0)
        pthread_mutex_lock(&state.turn);
}

static void turn_leave(void)
{
    if (state.plan.nth > 0)
        pthread_mutex_unlock(&state.turn);
}

void point_reach(enum point_kind kind)
{
    turn_take();
    if (is_point(kind))
        die();
    turn_leave();
}

size_t point_count(enum point_kind kind)
{
    pthread_mutex_lock(&state.lock);
    size_t count = state.counts[kind];
    pthread_mutex_unlock(&state.lock);
    return count;
}

size_t point_fenced(void)
{
    pthread_mutex_lock(&state.lock);
    size_t count = state.fenced;
    pthread_mutex_unlock(&state.lock);
    return count;
}

/* --- mistakes --------------------------------------------------------------
 */

void point_mistake_choose(enum point_mistake mistake)
{
    char text[8];

    (void)snprintf(text, sizeof(text), "%d", (int)mistake);
    (void)setenv(MISTAKE, text, 1);
}

/* An edit with a mistake; what it points to lives as long as this. */
struct mistaken {
    pdr_edit edit;
    pdr_work journal[MAX_ROWS];
};

static void forget_rows(struct mistaken *m, const char *kind)
{
    if (m->edit.journal_count > MAX_ROWS)
        return;
    for (size_t i = 0; i < m->edit.journal_count; i++) {
        m->journal[i] = m->edit.journal[i];
        if (pdr_str_equal(m->journal[i].kind, pdr_str_c(kind)))
            m->journal[i].kind = pdr_str_c("nothing");
    }
    m->edit.journal = m->journal;
}

/* The fence that the session has now. */
static void take_fence(struct mistaken *m, pdr_store *inner)
{
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = m->edit.ref};
    pdr_page *page = NULL;

    if (m->edit.lease.fence != 0 &&
        pdr_store_read(&page, inner, &query, NULL) == PDR_OK)
        m->edit.lease.fence = page->head.lease.fence;
    pdr_page_free(page);
}

static void mistake_make(struct mistaken *m, pdr_store *inner)
{
    static const char *const kinds[POINT_MISTAKES] = {
        [POINT_FORGETS_STARTED] = "started",
        [POINT_FORGETS_RESULT] = "result",
        [POINT_FORGETS_ANSWER] = "answer"};

    if (kinds[state.mistake] != NULL)
        forget_rows(m, kinds[state.mistake]);
    if (state.mistake == POINT_IGNORES_FENCE)
        take_fence(m, inner);
}

/* --- the backend -----------------------------------------------------------
 */

static pdr_store *inner_of(pdr_store *store)
{
    return ((struct point_store *)store)->inner;
}

static enum point_kind kind_of(const pdr_edit *edit)
{
    if (edit->lease.verb == PDR_LEASE_RENEW)
        return edit->entry_count + edit->slot_count + edit->journal_count > 0
                   ? POINT_HELD
                   : POINT_RENEWAL;
    return edit->stream_count > 0 && edit->lease.verb == PDR_LEASE_KEEP &&
                   edit->journal_count == 0
               ? POINT_STREAM
               : POINT_STEP;
}

static void commit_one(pdr_store *inner, pdr_write *write)
{
    const pdr_edit *edit = write->plans[0].edit;
    bool is_it = is_point(kind_of(edit));
    struct mistaken mistaken = {.edit = *edit};

    if (is_it && !state.plan.after)
        die();
    mistake_make(&mistaken, inner);
    if (state.mistake != POINT_SOUND)
        write->plans[0].edit = &mistaken.edit;
    inner->ops->commit(inner, &write, 1);
    write->plans[0].edit = edit;
    if (write->rc == PDR_OK && state.fn != NULL)
        state.fn(edit, state.arg);
    if (is_it && state.plan.after)
        die();
    pthread_mutex_lock(&state.lock);
    state.fenced += write->rc == PDR_EFENCED;
    pthread_mutex_unlock(&state.lock);
}

/* One after the other, so that there is a point between them. */
static void point_commit(pdr_store *store, pdr_write *const *writes,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        turn_take();
        commit_one(inner_of(store), writes[i]);
        turn_leave();
    }
}

static pdr_rc point_read(pdr_store *store, pdr_page *page,
                         const pdr_query *query, pdr_err *err)
{
    pdr_store *inner = inner_of(store);

    return inner->ops->read(inner, page, query, err);
}

static pdr_rc point_info(pdr_store *store, pdr_store_info *out, pdr_err *err)
{
    pdr_store *inner = inner_of(store);

    return inner->ops->info(inner, out, err);
}

static pdr_rc point_poll(pdr_store *store, uint64_t *out, pdr_err *err)
{
    pdr_store *inner = inner_of(store);

    return inner->ops->poll(inner, out, err);
}

static void point_close(pdr_store *store)
{
    pdr_store_close(inner_of(store));
    pdr__free(store);
}

/* Digests are made with the key of the store that the caller has. */
static pdr_rc point_open(pdr_store **out, const char *rest, pdr_err *err);

static const pdr_store_ops point_ops = {.version = PDR_STORE_OPS_VERSION,
                                        .name = "point",
                                        .open = point_open,
                                        .close = point_close,
                                        .commit = point_commit,
                                        .read = point_read,
                                        .info = point_info,
                                        .poll = point_poll};

static pdr_rc point_open(pdr_store **out, const char *rest, pdr_err *err)
{
    struct point_store *self = pdr__calloc(1, sizeof(*self));
    pdr_rc rc = PDR_OK;

    if (self == NULL)
        return pdr__nomem(err);
    rc = pdr_store_open(&self->inner, rest, err);
    if (rc != PDR_OK) {
        pdr__free(self);
        return rc;
    }
    self->base.ops = &point_ops;
    self->base.capabilities = self->inner->capabilities;
    self->base.key = self->inner->key;
    self->base.key_len = self->inner->key_len;
    *out = &self->base;
    return PDR_OK;
}

pdr_rc point_store_register(const struct point_plan *plan, point_fn fn,
                            void *arg, pdr_err *err)
{
    const char *mistake = getenv(MISTAKE);

    state.plan = *plan;
    state.fn = fn;
    state.arg = arg;
    if (mistake != NULL)
        state.mistake = (enum point_mistake)strtol(mistake, NULL, 10);
    return pdr_store_register(&point_ops, err);
}
