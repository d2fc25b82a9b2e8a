/*
 * group.c - commits of all threads, gathered by whoever comes first.
 *
 * WHY  A sync costs more than the rows of a turn. While one is under way, the
 *      commits of other threads gather, and the next sync is for all of them.
 *      There is no thread of our own: the first who waits is the leader and
 *      works for the others, so a lone commit is handed to nobody.
 *
 *          arrive ──► nobody leads? ──► LEADS ──► takes the lock, gathers,
 *             │                           ▲       runs, wakes, hands over
 *             └────► WAITS ── told to ────┘
 *                      │ └── its writes ended ──► leaves
 *                      └── its time is over ────► leaves, busy
 *
 * INVARIANTS, cited below as I1..I6
 *   I1  At most one thread leads. Only it touches the line and the writer.
 *   I2  A write is either in the queue, or with the leader, or ended. Who finds
 *       its time over takes out only what is in the queue.
 *   I3  If tickets are queued, somebody leads or was told to.
 *   I4  The mutex is never held while the lock is waited for, nor during a
 *       transaction.
 *   I5  A task, which is something else than commits (clearing, giving room
 *       back), waits in the same queue and is a batch of its own: so it has its
 *       turn, and takes one turn.
 *   I6  A ticket is in the queue if and only if a write of it is still to be
 *       taken. One that a leader took in part goes to the end, also if it is
 *       the leader's own: nobody waits for more than a batch of it. Its writes
 *       are taken in their order.
 */
#include <errno.h>
#include <time.h>

#include "sqlite.h"

/* The writes of one call. Lives on the caller's stack while it waits. One with
 * a task has a single write, without edits: its deadline, and how it ended. */
struct pdr__ticket {
    pdr_write *const *writes; /* borrowed */
    size_t count;
    pdr__leader_fn task; /* NULL: commits */
    void *arg;
    size_t queued;       /* the first that no leader has taken */
    size_t ended;        /* how many have ended */
    bool leads;          /* told to lead */
    pthread_cond_t wake; /* with the group's mutex */
    struct pdr__ticket *next;
};

/* What a leader takes at once. */
struct batch {
    pdr_write *writes[PDR_MAX_GROUP];
    struct pdr__ticket *owners[PDR_MAX_GROUP];
    size_t count;
    size_t bytes;
    bool is_task; /* of the one write that it has (I5) */
};

static int64_t now_ms(void)
{
    return pdr__monotonic_ms(pdr__clock_system());
}

/* --- the queue (with the mutex held) ------------------------------------- */

static void enqueue(struct pdr__group *group, struct pdr__ticket *ticket)
{
    if (group->last != NULL)
        group->last->next = ticket;
    else
        group->first = ticket;
    group->last = ticket;
}

static void unlink_ticket(struct pdr__group *group, struct pdr__ticket *ticket)
{
    struct pdr__ticket **link = &group->first, *before = NULL;

    while (*link != ticket) {
        before = *link;
        link = &before->next;
    }
    *link = ticket->next;
    if (group->last == ticket)
        group->last = before;
    ticket->next = NULL;
}

/* A write that has left the queue by itself points to itself. */
static bool has_left(const pdr_write *write)
{
    return write->link == write;
}

static bool fits(const struct batch *batch, const pdr_write *write)
{
    return batch->count < PDR_MAX_GROUP &&
           (batch->count == 0 ||
            batch->bytes + write->bytes <= PDR_MAX_GROUP_BYTES);
}

/* Take writes of a ticket; false if the batch is full. */
static bool take_from(struct batch *batch, struct pdr__ticket *ticket)
{
    for (; ticket->queued < ticket->count; ticket->queued++) {
        pdr_write *write = ticket->writes[ticket->queued];

        if (has_left(write))
            continue;
        if (!fits(batch, write))
            return false;
        batch->writes[batch->count] = write;
        batch->owners[batch->count++] = ticket;
        batch->bytes += write->bytes;
    }
    return true;
}

static void gather(struct batch *batch, struct pdr__group *group)
{
    struct pdr__ticket *ticket = group->first;
    bool has_room = true;

    batch->count = batch->bytes = 0;
    batch->is_task = ticket != NULL && ticket->task != NULL;
    while (has_room && ticket != NULL) {
        size_t count = batch->count;

        has_room = take_from(batch, ticket);
        if (!has_room && batch->count == count)
            return; /* it is the first of the next batch */
        unlink_ticket(group, ticket);
        if (!has_room)
            enqueue(group, ticket); /* I6 */
        ticket = group->first;
        if (batch->is_task || (ticket != NULL && ticket->task != NULL))
            return; /* I5 */
    }
}

/* Tell those whose writes have ended. */
static void tell(struct pdr__group *group, const struct batch *batch,
                 const struct pdr__ticket *mine)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct pdr__ticket *owner = batch->owners[i];

        group->commits += !batch->is_task && batch->writes[i]->rc == PDR_OK;
        owner->ended++;
        if (owner != mine && owner->ended == owner->count)
            pthread_cond_signal(&owner->wake);
    }
    group->groups += !batch->is_task;
}

static void hand_over(struct pdr__group *group)
{
    group->led = group->first != NULL;
    if (!group->led)
        return;
    group->first->leads = true; /* I3 */
    pthread_cond_signal(&group->first->wake);
}

/* --- time ---------------------------------------------------------------- */

/* End what is queued of this ticket and late (I2); gives the next deadline. */
static int64_t end_late(struct pdr__ticket *ticket)
{
    int64_t now = now_ms(), next = INT64_MAX;

    for (size_t i = ticket->queued; i < ticket->count; i++) {
        pdr_write *write = ticket->writes[i];

        if (has_left(write))
            continue;
        if (write->deadline_ms > now) {
            next = write->deadline_ms < next ? write->deadline_ms : next;
            continue;
        }
        write->rc = PDR_FAIL(&write->err, WRITER_BUSY, "%s",
                             "other commits, or another process, kept the "
                             "store busy for longer than the time-out; try "
                             "again");
        write->link = write;
        ticket->ended++;
    }
    return next;
}

static void wait_until(struct pdr__ticket *ticket, pthread_mutex_t *lock,
                       int64_t deadline_ms)
{
    struct timespec until = {(time_t)(deadline_ms / 1000),
                             (long)(deadline_ms % 1000) * 1000000};

    if (deadline_ms == INT64_MAX)
        (void)pthread_cond_wait(&ticket->wake, lock);
    else
        (void)pthread_cond_timedwait(&ticket->wake, lock, &until);
}

/* --- leading ------------------------------------------------------------- */

/* Until the lock is ours, or the leader's own writes are all late. */
static bool take_lock(struct pdr__sqlite *store, struct pdr__ticket *mine)
{
    struct pdr__group *group = &store->group;
    int64_t deadline = 0;

    while (!pdr__line_try(&store->line)) {
        if (now_ms() >= deadline) {
            pthread_mutex_lock(&group->lock);
            deadline = end_late(mine);
            pthread_mutex_unlock(&group->lock);
        }
        if (mine->ended == mine->count)
            return false;
        pdr__line_rest(&store->line);
    }
    return true;
}

static void run_task(struct pdr__sqlite *store, const struct batch *batch)
{
    pdr_write *write = batch->writes[0];
    const struct pdr__ticket *owner = batch->owners[0];

    write->rc = pdr__may_write(store, &write->err);
    if (write->rc == PDR_OK)
        write->rc = owner->task(store, owner->arg, &write->err);
}

static void run_batch(struct pdr__sqlite *store, struct pdr__ticket *mine)
{
    struct pdr__group *group = &store->group;
    struct batch batch;

    pthread_mutex_lock(&group->lock);
    gather(&batch, group);
    pthread_mutex_unlock(&group->lock);
    if (batch.is_task && batch.count > 0) /* I4 */
        run_task(store, &batch);
    else
        pdr__writer_run(store, batch.writes, batch.count);
    store->line.wrote = false;
    for (size_t i = 0; i < batch.count; i++)
        store->line.wrote |= batch.writes[i]->rc == PDR_OK;
    pthread_mutex_lock(&group->lock);
    tell(group, &batch, mine);
    pthread_mutex_unlock(&group->lock);
    if (!batch.is_task && pdr__may_write(store, NULL) == PDR_OK)
        pdr__sparse_after(store);
    if (pdr__may_write(store, NULL) == PDR_OK)
        pdr__checkpoint_after(store);
    pdr__line_leave(&store->line);
}

static void lead(struct pdr__sqlite *store, struct pdr__ticket *mine)
{
    struct pdr__group *group = &store->group;

    while (mine->ended < mine->count && take_lock(store, mine))
        run_batch(store, mine);
    pthread_mutex_lock(&group->lock);
    if (mine->queued < mine->count) /* all that is left was late */
        unlink_ticket(group, mine);
    hand_over(group);
    if (!group->led) /* nobody needs the place in the line */
        pdr__line_leave(&store->line);
    pthread_mutex_unlock(&group->lock);
}

/* --- one call ------------------------------------------------------------ */

/* True: the caller leads now. */
static bool arrive(struct pdr__group *group, struct pdr__ticket *ticket)
{
    bool leads = !group->led;

    enqueue(group, ticket);
    group->led = true;
    while (!leads && ticket->ended < ticket->count) {
        int64_t deadline = end_late(ticket);

        if (ticket->ended < ticket->count)
            wait_until(ticket, &group->lock, deadline);
        leads = ticket->leads;
    }
    if (!leads && ticket->queued < ticket->count)
        unlink_ticket(group, ticket); /* all that is left was late */
    return leads;
}

static void refuse_all(pdr_write *const *writes, size_t count, pdr_rc rc,
                       const pdr_err *err)
{
    for (size_t i = 0; i < count; i++) {
        writes[i]->rc = rc;
        writes[i]->err = *err;
    }
}

/* Conditions that know the monotonic clock. */
static void init_wake(pthread_cond_t *wake)
{
    pthread_condattr_t clock;

    (void)pthread_condattr_init(&clock);
    (void)pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    (void)pthread_cond_init(wake, &clock);
    (void)pthread_condattr_destroy(&clock);
}

static pdr_rc check_open(const struct pdr__sqlite *store, pdr_err *err)
{
    if (store->read_only)
        return PDR_FAIL(err, READ_ONLY, "%s",
                        "the store was opened for reading only; open it with "
                        "mode=rw to commit");
    return pdr__may_write(store, err);
}

/* Wait, or lead, until all writes of the ticket have ended. */
static void stay(struct pdr__sqlite *store, struct pdr__ticket *ticket)
{
    bool leads = false;

    init_wake(&ticket->wake);
    pthread_mutex_lock(&store->group.lock);
    leads = arrive(&store->group, ticket);
    pthread_mutex_unlock(&store->group.lock);
    if (leads)
        lead(store, ticket);
    (void)pthread_cond_destroy(&ticket->wake);
}

void pdr__sqlite_commit(pdr_store *self, pdr_write *const *writes, size_t count)
{
    struct pdr__sqlite *store =
        PDR_CONTAINER_OF(self, struct pdr__sqlite, base);
    struct pdr__ticket ticket = {.writes = writes, .count = count};
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = check_open(store, &err);

    if (rc != PDR_OK) {
        refuse_all(writes, count, rc, &err);
        return;
    }
    for (size_t i = 0; i < count; i++)
        writes[i]->link = NULL;
    stay(store, &ticket);
}

pdr_rc pdr__group_run(struct pdr__sqlite *store, int64_t deadline_ms,
                      pdr_err *err, pdr__leader_fn fn, void *arg)
{
    pdr_write write = {.deadline_ms = deadline_ms, .err = PDR_ERR_INIT};
    pdr_write *const writes[] = {&write};
    struct pdr__ticket ticket = {
        .writes = writes, .count = 1, .task = fn, .arg = arg};
    pdr_rc rc = check_open(store, err);

    if (rc != PDR_OK)
        return rc;
    stay(store, &ticket);
    if (write.rc != PDR_OK && err != NULL)
        *err = write.err;
    return write.rc;
}

/* --- the group ----------------------------------------------------------- */

pdr_rc pdr__group_init(struct pdr__group *group, pdr_err *err)
{
    memset(group, 0, sizeof(*group));
    if (pthread_mutex_init(&group->lock, NULL) != 0)
        return pdr__nomem(err);
    return PDR_OK;
}

void pdr__group_dispose(struct pdr__group *group)
{
    assert(group->first == NULL && !group->led);
    (void)pthread_mutex_destroy(&group->lock);
}
