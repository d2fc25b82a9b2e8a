/*
 * home.c - a chat that lives in a store: each step of it is committed.
 *
 *      begin ─► message ─► message ─► ... ─► end          of a turn
 *        │         │                          │
 *      takes     a call or a result at      gives the lease back, or holds it
 *      the       once, an answer with       for the next turn of the run
 *      lease     what comes next
 *
 * WHY  A crash leaves what was committed. So a call of a model is in the log
 *      before its tools run, and each result when its tool has ended: whoever
 *      goes on finds them there, and nothing that has ended is done again. So
 *      is a summary in its channel before its agent is asked, and a chat inside
 *      of a channel with each of its steps. An answer is committed with the end
 *      of its turn: two commits for a turn without tools.
 *
 * INVARIANTS
 *   H1  The store has a prefix of what the chat has. Nobody outside hears of
 *       what it does not have.
 *   H2  Who changes a chat does so at the revision that it knows. A turn holds
 *       the lease, so nobody else begins one.
 *   H3  A chat whose commit failed inside a turn has more than the store: it is
 *       of no more use, and says so.
 *
 * NOT HERE  What the rows are (rows.c).
 */
#include <time.h>

#include "agent.h"
#include "document.h"
#include "engine.h"

#define DEFAULT_LEASE_MS 30000
#define MIN_LEASE_MS     100

struct pdr__home {
    pdr_store *store;         /* borrowed */
    struct pdr__arena memory; /* of `ref` */
    pdr_ref ref;
    char owner[PDR_MAX_OWNER_BYTES + 1];
    uint32_t lease_ms;
    /* Of who has the token. */
    uint64_t revision, epoch;
    uint64_t last_seq;     /* of its entries; 0: none */
    size_t stored;         /* messages of the log that are in the store */
    struct pdr__map slots; /* key to its text, owned; NULL: unknown */
    bool is_stale;         /* H3 */
    pdr_cancel cancel;     /* of the operation that is under way */
    bool has_cancel;

    pthread_mutex_t lock; /* held for each commit */
    pthread_cond_t changed;
    /* Guarded by lock. */
    int64_t base_ms, base_monotonic_ms; /* the time of the caller, and ours */
    uint64_t fence;                     /* of the lease; 0: it is not held */
    int64_t renewed_ms;                 /* monotonic */
    bool is_lost, is_ending, has_keeper;
    pthread_t keeper;
};

static int64_t monotonic_ms(void)
{
    return pdr__monotonic_ms(pdr__clock_system());
}

/* The time by which leases go. With the lock held. */
static pdr_rc time_now(int64_t *out, const struct pdr__home *h, pdr_err *err)
{
    return pdr_store_now(
        out, h->store, h->base_ms + monotonic_ms() - h->base_monotonic_ms, err);
}

static void time_set(struct pdr__home *h, int64_t now_ms)
{
    if (now_ms == 0)
        now_ms = (pdr__now_ticks(pdr__clock_system()) - PDR_TICKS_UNIX_EPOCH) /
                 PDR_TICKS_PER_MS;
    (void)pthread_mutex_lock(&h->lock);
    h->base_ms = now_ms;
    h->base_monotonic_ms = monotonic_ms();
    (void)pthread_mutex_unlock(&h->lock);
}

/* --- the lease -------------------------------------------------------------
 */

/* Renew it, with the lock held. */
static void lease_renew(struct pdr__home *h)
{
    pdr_edit edit = {.ref = h->ref,
                     .revision = PDR_ANY_REVISION,
                     .epoch = h->epoch,
                     .lease = {.verb = PDR_LEASE_RENEW, .fence = h->fence}};
    pdr_commit_options options = {.now_ms = 0};
    pdr_rc rc = time_now(&options.now_ms, h, NULL);

    edit.lease.until_ms = options.now_ms + h->lease_ms;
    if (rc == PDR_OK)
        rc = pdr_store_commit(NULL, h->store, &edit, 1, &options, NULL);
    if (rc == PDR_OK) {
        h->renewed_ms = monotonic_ms();
    } else if (rc == PDR_EFENCED || rc == PDR_ENOTFOUND ||
               rc == PDR_ECONFLICT) {
        h->is_lost = true; /* others go on with the chat */
        if (h->has_cancel)
            pdr_cancel_set(&h->cancel);
    } /* else it is tried again */
}

/* Renews the lease while a turn takes long. */
static void *keeper_work(void *arg)
{
    struct pdr__home *h = arg;

    (void)pthread_mutex_lock(&h->lock);
    while (!h->is_ending) {
        int64_t due = h->renewed_ms + h->lease_ms / 3, now = monotonic_ms();

        if (h->fence == 0 || h->is_lost) {
            (void)pthread_cond_wait(&h->changed, &h->lock);
        } else if (due > now) {
            const struct timespec until = {.tv_sec = due / 1000,
                                           .tv_nsec = due % 1000 * 1000000};

            (void)pthread_cond_timedwait(&h->changed, &h->lock, &until);
        } else {
            h->renewed_ms = now; /* not again at once, if it fails */
            lease_renew(h);
        }
    }
    (void)pthread_mutex_unlock(&h->lock);
    return NULL;
}

/* With the lock held. */
static pdr_rc keeper_start(struct pdr__home *h, pdr_err *err)
{
    const struct pdr__world *world = pdr__world_system();

    if (h->has_keeper)
        return PDR_OK;
    h->has_keeper = world->start(world->ctx, &h->keeper, keeper_work, h);
    return h->has_keeper ? PDR_OK
                         : PDR_FAIL(err, NO_THREAD, "%s",
                                    "there is no thread to keep the lease of "
                                    "the chat");
}

/* --- making ----------------------------------------------------------------
 */

static pdr_rc home_new(struct pdr__home **out, const pdr_chat_home *home,
                       pdr_err *err)
{
    struct pdr__home *h = pdr__calloc(1, sizeof(*h));
    pthread_condattr_t attributes;
    pdr_rc rc = PDR_OK;

    if (h == NULL)
        return pdr__nomem(err);
    h->store = home->store;
    h->memory = (struct pdr__arena)PDR_ARENA_INIT(SIZE_MAX);
    h->slots = (struct pdr__map)PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES);
    h->lease_ms = home->lease_ms != 0 ? home->lease_ms : DEFAULT_LEASE_MS;
    (void)pthread_mutex_init(&h->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&h->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    if (h->lease_ms < MIN_LEASE_MS ||
        (home->owner != NULL &&
         (home->owner[0] == '\0' || strlen(home->owner) > PDR_MAX_OWNER_BYTES)))
        PDR_TRY(PDR_FAIL(err, BAD_OPTION,
                         "a lease has at least %d ms, and its owner a name of "
                         "1 to %d bytes",
                         MIN_LEASE_MS, PDR_MAX_OWNER_BYTES));
    PDR_TRY(pdr__owner_name(h->owner, home->owner, err));
    h->ref = home->ref;
    PDR_TRY(pdr__arena_keep(&h->ref.tenant, &h->memory, err));
    PDR_TRY(pdr__arena_keep(&h->ref.id, &h->memory, err));
    *out = h;
    h = NULL;
done:
    pdr__home_free(h);
    return rc;
}

static void slots_forget(struct pdr__home *h)
{
    PDR_MAP_EACH (entry, &h->slots) {
        pdr__free(entry->value);
    }
    pdr__map_dispose(&h->slots);
}

void pdr__home_free(struct pdr__home *h)
{
    if (h == NULL)
        return;
    if (h->has_keeper) {
        (void)pthread_mutex_lock(&h->lock);
        h->is_ending = true;
        (void)pthread_cond_broadcast(&h->changed);
        (void)pthread_mutex_unlock(&h->lock);
        (void)pthread_join(h->keeper, NULL);
    }
    slots_forget(h);
    (void)pthread_cond_destroy(&h->changed);
    (void)pthread_mutex_destroy(&h->lock);
    pdr__arena_dispose(&h->memory);
    pdr__free(h);
}

/* --- commits ---------------------------------------------------------------
 */

/* The rows of a commit. */
struct rows {
    struct pdr__arena memory; /* of their texts */
    pdr_entry *entries;       /* in arena */
    size_t entry_count;
    struct pdr__home *home;
    pdr_slot *slots; /* owned */
    size_t slot_count, slot_cap;
    struct pdr__map now; /* of the slots that the chat has now, to NULL */
};

static void rows_dispose(struct rows *rows)
{
    pdr__map_dispose(&rows->now);
    pdr__free(rows->slots);
    pdr__arena_dispose(&rows->memory);
}

static pdr_rc message_row(struct rows *rows, const pdr_value *value,
                          pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_str text = {NULL, 0};
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__value_json(&text, value, &scratch, err));
    if (scratch.len > 0) /* it is of our making */
        PDR_TRY(pdr__arena_keep(&text, &rows->memory, err));
    rows->entries[rows->entry_count++] =
        (pdr_entry){.kind = PDR_ROW_MESSAGE, .shape = PDR_ROW_SK, .body = text};
done:
    pdr_buf_dispose(&scratch);
    return rc;
}

static pdr_rc record_row(struct rows *rows, const struct pdr__turn_record *turn,
                         pdr_str origin, pdr_err *err)
{
    pdr_buf body = PDR_BUF_INIT(SIZE_MAX);
    pdr_str text = {NULL, 0};
    pdr_rc rc = PDR_OK;

    if (turn == NULL)
        return PDR_OK;
    PDR_TRY(pdr__record_write(&body, turn, origin, err));
    text = pdr_buf_str(&body);
    PDR_TRY(pdr__arena_keep(&text, &rows->memory, err));
    rows->entries[rows->entry_count++] =
        (pdr_entry){.kind = PDR_ROW_RECORD, .shape = PDR_ROW_SK, .body = text};
done:
    pdr_buf_dispose(&body);
    return rc;
}

/* A pdr__chat_slot_fn: one that is not as it is stored. */
static pdr_rc slot_row(pdr_str key, pdr_str value, pdr_err *err, void *arg)
{
    struct rows *rows = arg;
    void *known = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__map_put(NULL, &rows->now, key, NULL, err));
    if (!pdr__map_get(&known, &rows->home->slots, key))
        PDR_TRY(pdr__map_put(NULL, &rows->home->slots, key, NULL, err));
    else if (known != NULL && pdr_str_equal(pdr_str_c(known), value))
        return PDR_OK;
    PDR_TRY(pdr__grow((void **)&rows->slots, &rows->slot_cap,
                      rows->slot_count + 1, sizeof(*rows->slots), err));
    PDR_TRY(pdr__arena_keep(&key, &rows->memory, err));
    PDR_TRY(pdr__arena_keep(&value, &rows->memory, err));
    rows->slots[rows->slot_count++] = (pdr_slot){.key = key, .value = value};
done:
    return rc;
}

/* The slots that differ from those of the store, and those that go. */
static pdr_rc slot_rows(struct rows *rows, pdr_chat *chat,
                        const struct pdr__boundary *boundary, bool clears,
                        pdr_err *err)
{
    pdr_chat_state *state = NULL;
    pdr_rc rc = PDR_OK;

    if (boundary == NULL)
        return PDR_OK;
    PDR_TRY(pdr__chat_state_new(&state, err));
    PDR_TRY(pdr__state_fill(state, chat, boundary, err));
    if (clears) {
        state->epoch++;
        while (state->participant_count > boundary->member_count) {
            struct pdr__saved_participant *p =
                &state->participants[--state->participant_count];

            pdr_value_free(p->session);
            pdr_value_free(p->source);
        }
    }
    PDR_TRY(pdr__states_check(chat, state, err));
    PDR_TRY(pdr__slots_write(state, err, slot_row, rows));
    PDR_MAP_EACH (entry, &rows->home->slots) {
        if (pdr__map_get(NULL, &rows->now, entry->key))
            continue;
        PDR_TRY(pdr__grow((void **)&rows->slots, &rows->slot_cap,
                          rows->slot_count + 1, sizeof(*rows->slots), err));
        rows->slots[rows->slot_count++] = (pdr_slot){.key = entry->key};
    }
done:
    pdr_chat_state_free(state);
    return rc;
}

static pdr_rc rows_make(struct rows *rows, pdr_chat *chat,
                        const struct pdr__step *step, pdr_err *err)
{
    struct pdr__home *h = chat->home;
    size_t first = step->clears ? chat->log_count : h->stored;
    void *room = NULL;
    pdr_rc rc = PDR_OK;

    rows->home = h;
    PDR_TRY(pdr__arena_alloc(&room, &rows->memory,
                             (chat->log_count - first + step->add_count + 2) *
                                 sizeof(pdr_entry),
                             err));
    rows->entries = room;
    PDR_TRY(record_row(rows, step->begins, step->origin, err));
    for (size_t i = first; i < chat->log_count; i++)
        PDR_TRY(message_row(rows, chat->log[i].value, err));
    for (size_t i = 0; i < step->add_count; i++)
        PDR_TRY(message_row(rows, step->adds[i], err));
    PDR_TRY(record_row(rows, step->ends, step->origin, err));
    PDR_TRY(slot_rows(rows, chat, step->boundary, step->clears, err));
done:
    return rc;
}

/* The slots that were committed; their keys are known already. A text that
 * cannot be remembered is written again next time. */
static void slots_note(struct pdr__home *h, const struct rows *rows)
{
    for (size_t i = 0; i < rows->slot_count; i++) {
        const pdr_slot *slot = &rows->slots[i];
        char *text = NULL;
        void *old = NULL;

        if (slot->value.ptr == NULL) {
            (void)pdr__map_remove(&old, &h->slots, slot->key);
        } else {
            text = pdr__strndup(slot->value);
            (void)!pdr__map_put(&old, &h->slots, slot->key, text, NULL);
        }
        pdr__free(old);
    }
}

/* What a refused commit means. */
static pdr_rc commit_refused(struct pdr__home *h, pdr_rc rc, const pdr_err *why,
                             pdr_err *err)
{
    if (rc == PDR_EBUSY && pdr__err_is(why, PDR_R_LEASE_HELD))
        return PDR_FAIL(err, CHAT_BUSY, "%s",
                        "another process is at work on the chat: wait for it");
    h->is_stale |= rc == PDR_ECONFLICT || rc == PDR_EFENCED ||
                   rc == PDR_ENOTFOUND || rc == PDR_EUNKNOWN || h->fence != 0;
    if (rc == PDR_ECONFLICT || rc == PDR_EFENCED || rc == PDR_ENOTFOUND)
        return PDR_FAIL(err, CHAT_CHANGED, "%s",
                        "somebody else has changed the chat in the store: "
                        "attach a new one");
    return pdr__err_pass(err, why);
}

pdr_rc pdr__home_check(pdr_chat *chat, pdr_err *err)
{
    if (chat->home == NULL || !chat->home->is_stale)
        return PDR_OK;
    return PDR_FAIL(err, CHAT_CHANGED, "%s",
                    "this chat is not what the store has: attach a new one");
}

void pdr__home_spoil(pdr_chat *chat)
{
    if (chat->home != NULL)
        chat->home->is_stale = true;
}

bool pdr__home_waits(const pdr_chat *chat)
{
    return chat->home != NULL && chat->home->stored < chat->log_count;
}

static const pdr_lease_verb verbs[] = {
    [PDR_STEP_PLAIN] = PDR_LEASE_KEEP,
    [PDR_STEP_TAKE] = PDR_LEASE_TAKE,
    [PDR_STEP_HOLD] = PDR_LEASE_RENEW,
    [PDR_STEP_GIVE] = PDR_LEASE_RELEASE,
};

/* With the lock held. */
static pdr_rc rows_commit(struct pdr__home *h, const struct rows *rows,
                          const struct pdr__step *step, pdr_err *err)
{
    /* What is held is renewed, what is not need not be given back. */
    enum pdr__lease_step lease = step->lease;
    if (h->fence != 0 && lease == PDR_STEP_TAKE)
        lease = PDR_STEP_HOLD;
    if (h->fence == 0 && lease == PDR_STEP_GIVE)
        lease = PDR_STEP_PLAIN;
    pdr_edit edit = {.ref = h->ref,
                     .revision = h->revision,
                     .epoch = h->epoch,
                     .kind = PDR_LIT("chat"),
                     .lease = {.verb = verbs[lease],
                               .fence = h->fence,
                               .owner = pdr_str_c(h->owner)},
                     .set_state =
                         lease == PDR_STEP_TAKE || lease == PDR_STEP_GIVE,
                     .state = lease == PDR_STEP_TAKE ? PDR_SESSION_RUNNING
                                                     : PDR_SESSION_IDLE,
                     .entries_through = step->clears ? h->last_seq : 0,
                     .entries = rows->entries,
                     .entry_count = rows->entry_count,
                     .slots = rows->slots,
                     .slot_count = rows->slot_count};
    pdr_commit_options options = {.now_ms = 0};
    pdr_committed done;
    pdr_rc rc = PDR_OK;

    PDR_TRY(time_now(&options.now_ms, h, err));
    edit.lease.until_ms = options.now_ms + h->lease_ms;
    if (lease == PDR_STEP_TAKE)
        PDR_TRY(keeper_start(h, err));
    PDR_TRY(pdr_store_commit(&done, h->store, &edit, 1, &options, err));
    h->revision = done.revision;
    h->epoch = done.epoch;
    h->last_seq = done.head.next_seq - 1;
    h->renewed_ms = monotonic_ms();
    if (lease == PDR_STEP_TAKE || lease == PDR_STEP_GIVE) {
        h->fence = lease == PDR_STEP_TAKE ? done.fence : 0;
        (void)pthread_cond_broadcast(&h->changed);
    }
done:
    return rc;
}

pdr_rc pdr__home_commit(pdr_chat *chat, const struct pdr__step *step,
                        pdr_err *err)
{
    struct pdr__home *h = chat->home;
    struct rows rows = {.memory = PDR_ARENA_INIT(SIZE_MAX),
                        .now = PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES)};
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (h == NULL)
        return step->begins == NULL ? pdr__home_keep(chat, err) : PDR_OK;
    rc = pdr__home_check(chat, err);
    if (rc != PDR_OK)
        return rc;
    rc = rows_make(&rows, chat, step, &why);
    if (rc == PDR_OK) {
        (void)pthread_mutex_lock(&h->lock);
        rc = rows_commit(h, &rows, step, &why);
        (void)pthread_mutex_unlock(&h->lock);
    }
    if (rc == PDR_OK) {
        h->stored = step->clears ? 0 : chat->log_count + step->add_count;
        slots_note(h, &rows);
    } else {
        rc = commit_refused(h, rc, &why, err);
    }
    rows_dispose(&rows);
    return rc;
}

pdr_rc pdr__home_keep(pdr_chat *chat, pdr_err *err)
{
    struct pdr__boundary *now = NULL;
    struct pdr__step hold = {.lease = PDR_STEP_HOLD};
    pdr_rc rc = PDR_OK;

    if (chat->home == NULL)
        return chat->around != NULL ? pdr__home_keep(chat->around, err)
                                    : PDR_OK;
    PDR_TRY(pdr__boundary_new(&now, chat, err));
    hold.boundary = now;
    PDR_TRY(pdr__home_commit(chat, &hold, err));
done:
    pdr__boundary_free(now);
    return rc;
}

/* --- operations ------------------------------------------------------------
 */

const pdr_chat_call *pdr__home_enter(pdr_chat *chat, pdr_chat_call *room,
                                     const pdr_chat_call *call)
{
    struct pdr__home *h = chat->home;

    if (h == NULL)
        return call;
    time_set(h, call != NULL ? call->now_ms : 0);
    pdr__cancel_init(&h->cancel, call != NULL ? call->cancel : NULL, 0);
    h->has_cancel = true;
    *room = call != NULL ? *call : (pdr_chat_call){.cancel = NULL};
    room->cancel = &h->cancel;
    if (room->now_ms == 0)
        room->now_ms = h->base_ms;
    return room;
}

pdr_rc pdr__home_leave(pdr_chat *chat, pdr_rc rc, pdr_err *err)
{
    struct pdr__home *h = chat->home;
    const struct pdr__step give = {.lease = PDR_STEP_GIVE};
    pdr_err why = PDR_ERR_INIT;
    pdr_rc given = PDR_OK;
    bool is_lost = false;

    if (h == NULL)
        return rc;
    if (h->fence != 0 && !h->is_stale)
        given = pdr__home_commit(chat, &give, &why);
    (void)pthread_mutex_lock(&h->lock);
    is_lost = h->is_lost;
    h->fence = 0;
    (void)pthread_mutex_unlock(&h->lock);
    if (h->has_cancel)
        pdr__cancel_dispose(&h->cancel);
    h->has_cancel = false;
    if (is_lost && rc == PDR_ECANCELLED) {
        h->is_stale = true;
        return PDR_FAIL(err, CHAT_CHANGED, "%s",
                        "another process took the chat over: attach a new one");
    }
    if (rc == PDR_OK && given != PDR_OK)
        rc = pdr__err_pass(err, &why);
    return rc;
}

/* --- attaching -------------------------------------------------------------
 */

struct attaching {
    pdr_chat *chat;
    struct pdr__home *home;
    pdr_head head;
    pdr_chat_state *state;
};

/* A pdr__chat_slot_fn: as it is stored. */
static pdr_rc slot_known(pdr_str key, pdr_str value, pdr_err *err, void *arg)
{
    struct pdr__home *h = arg;
    char *text = pdr__strndup(value);
    pdr_rc rc = PDR_OK;

    if (text == NULL)
        return pdr__nomem(err);
    rc = pdr__map_put(NULL, &h->slots, key, text, err);
    if (rc != PDR_OK)
        pdr__free(text);
    return rc;
}

/* Nobody may be at work on it. */
static pdr_rc lease_check(const struct attaching *a, pdr_err *err)
{
    int64_t now_ms = 0;
    pdr_rc rc = PDR_OK;

    PDR_TRY(time_now(&now_ms, a->home, err));
    if (a->head.lease.fence != 0 && a->head.lease.until_ms > now_ms)
        rc = PDR_FAIL(err, CHAT_BUSY, "%s",
                      "another process is at work on the chat: wait for it");
done:
    return rc;
}

/* Called when the state can be put into the chat: a turn that nobody finished
 * is given up, in the store first. */
static pdr_rc home_move_in(pdr_err *err, void *arg)
{
    struct attaching *a = arg;
    const pdr_chat_state *state = a->state;
    struct pdr__turn_record record = {.end = PDR_TURN_ABORTED,
                                      .why = PDR_LIT(PDR_INTERRUPTED)};
    const struct pdr__step take = {.lease = PDR_STEP_TAKE, .ends = &record};
    const struct pdr__step give = {.lease = PDR_STEP_GIVE};
    pdr_rc rc = PDR_OK;

    a->home->revision = a->head.revision;
    a->home->epoch = a->head.epoch;
    a->home->last_seq = a->head.next_seq - 1;
    if (state->turn_count > 0 &&
        state->turns[state->turn_count - 1].end == PDR_TURN_OPEN) {
        record.turn = state->turns[state->turn_count - 1].turn;
        a->chat->home = a->home;
        rc = pdr__home_commit(a->chat, &take, err);
        if (rc == PDR_OK)
            rc = pdr__home_commit(a->chat, &give, err);
        a->chat->home = NULL;
    }
    a->home->stored = state->log_count;
    return rc;
}

/* A session of its own. */
static pdr_rc home_make(pdr_chat *chat, struct pdr__home *home, pdr_err *err)
{
    struct pdr__boundary *boundary = NULL;
    struct pdr__step step = {.lease = PDR_STEP_PLAIN};
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__boundary_new(&boundary, chat, err));
    step.boundary = boundary;
    chat->home = home;
    rc = pdr__home_commit(chat, &step, err);
    chat->home = NULL;
done:
    pdr__boundary_free(boundary);
    return rc;
}

pdr_rc pdr_chat_attach(pdr_chat_report **out, pdr_chat *chat,
                       const pdr_chat_home *home,
                       const pdr_chat_apply_opts *opts, pdr_err *err)
{
    struct attaching a = {.chat = chat};
    const bool is_dry = opts != NULL && opts->is_dry;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(chat != NULL && home != NULL && home->store != NULL);
    if (out != NULL)
        *out = NULL;
    rc = pdr__chat_enter(chat, true, err);
    if (rc != PDR_OK)
        return rc;
    PDR_TRY(pdr__chat_is_new(chat, err));
    PDR_TRY(home_new(&a.home, home, err));
    time_set(a.home, opts != NULL ? opts->now_ms : 0);
    rc = pdr__chat_load(&a.state, &a.head, home->store, &a.home->ref, &why);
    if (rc == PDR_ENOTFOUND && home->create) {
        rc = is_dry ? PDR_OK : home_make(chat, a.home, &why);
        if (rc == PDR_EEXISTS) /* somebody was faster */
            rc = pdr__chat_load(&a.state, &a.head, home->store, &a.home->ref,
                                &why);
    }
    if (rc != PDR_OK)
        rc = pdr__err_pass(err, &why);
    if (a.state != NULL) {
        PDR_TRY(lease_check(&a, err));
        PDR_TRY(pdr__slots_write(a.state, err, slot_known, a.home));
        PDR_TRY(
            pdr__chat_apply(out, chat, a.state, opts, err, home_move_in, &a));
    }
    if (rc == PDR_OK && !is_dry) {
        chat->home = a.home;
        a.home = NULL;
    }
done:
    pdr_chat_state_free(a.state);
    pdr__home_free(a.home);
    pdr__chat_leave(chat);
    return rc;
}
