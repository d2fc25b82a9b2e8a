/*
 * watcher.c - one thread that waits for news of any number of sessions.
 *
 * WHY  A server streams ten thousand sessions to its clients and has a few
 *      threads. What it pays must depend on what changed: a commit of this
 *      process finds those who watch its session, and nothing else is looked
 *      at. Commits of other processes leave no word of which session they
 *      changed, so somebody has to look, but never at all of them at once.
 *
 *      commit here ──► spot of the session ──► its subs ──► queues of watchers
 *                                                ▲              │
 *      poll: others committed ─┬─ list of those  │              ▼ pdr_watcher_
 *                              │  that run ──────┤                wait()
 *                              └─ a slice of the ┘
 *                                 ring, each poll
 *
 *      A spot is a watched session, a sub one who watches it, a feed one who
 *      follows a tenant. The list of running sessions of a tenant is one query
 *      on an index; it finds who runs elsewhere, and who no longer does. What
 *      else others may do (a deletion, a command, a run shorter than a poll) is
 *      found by the ring: after a commit of others every spot is looked at
 *      once, PDR_WATCH_SLICE at each poll.
 *
 * INVARIANTS, cited below as I1..I5
 *   I1  A spot that may have moved is suspect, and all its subs are in their
 *       queues. `suspect` is cleared before its head is read: what comes in
 *       between sets it again. Nothing is told of one that is suspect.
 *   I2  Commits of one epoch are ordered by their number, so a later one
 *       needs no read. Between epochs there is no order (a staged session may
 *       be older than the one it replaces): the head is read, and read again
 *       if the spot became suspect meanwhile.
 *   I3  A sub is told what its spot is at, not what happened, and only if it
 *       has not seen that: nothing is told twice, nothing is missed, several
 *       commits are one.
 *   I4  No lock is held across a call of the backend. What was found before
 *       is looked for again: others may have taken it away.
 *   I5  A feed that forgot what it has to tell says so (PDR_NEWS_LIST).
 */
#include "watch.h"

/* What stands in the queue of a watcher, once. Guarded by lock, as all that
 * comes behind it. */
struct item {
    pdr_watcher *watcher; /* never changes, as tag and is_feed */
    uint64_t tag;
    bool is_feed;
    struct item *same; /* the next one of the same spot or tenant */
    struct pdr__ring queue, own;
};

/* One who watches a session. */
struct sub {
    struct item item; /* first */
    struct pdr__spot *spot;
    pdr_seen seen;
};

/* One who follows a tenant. */
struct feed {
    struct item item; /* first */
    struct pdr__tenant *tenant;
    struct pdr__map ids; /* of sessions that changed, without values */
    bool list;           /* there was more */
};

/* A watched session. */
struct pdr__spot {
    struct pdr__ring ring, running; /* not in the second: it did not run */
    struct pdr__tenant *tenant;
    struct item *subs;
    pdr_seen now; /* what it is at, as far as we know */
    uint64_t revision, stream_next;
    pdr_rc rc;     /* of the last look at its head */
    uint64_t look; /* of the list that had it last */
    bool suspect;
    uint64_t mark; /* another one each time that it becomes suspect (I2) */
    struct pdr__board *board;
    size_t key_len;
    char key[]; /* tenant, NUL, id */
};

struct pdr__tenant {
    struct pdr__ring ring;
    struct pdr__ring *running; /* spots, those of the last list in front */
    struct item *feeds;
    size_t spots;
    size_t len;
    char name[];
};

struct pdr_watcher {
    struct pdr__waiter waiter;
    pdr_store *store;        /* borrowed, see pdr_watcher_open() */
    struct pdr__ring *queue; /* guarded by lock, as the next two */
    struct pdr__ring *own;   /* all that it has */
    bool woken;
    struct pdr__arena
        told; /* refs of the last news; of the thread that waits */
};

void pdr__board_init(struct pdr__board *board)
{
    board->spots = (struct pdr__map)PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES);
    board->tenants = (struct pdr__map)PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES);
}

void pdr__board_dispose(struct pdr__board *board)
{
    assert(board->spots.count == 0 && board->tenants.count == 0);
    pdr__map_dispose(&board->spots);
    pdr__map_dispose(&board->tenants);
}

#define SPOT(link, member) PDR_CONTAINER_OF(link, struct pdr__spot, member)

static pdr_str key_of(const struct pdr__spot *spot)
{
    return pdr_str_n(spot->key, spot->key_len);
}

static bool is_at(const struct pdr__spot *spot, pdr_seen seen)
{
    return spot->now.epoch == seen.epoch && spot->now.commits == seen.commits;
}

/* --- queues ----------------------------------------------------------------
 */

static void enqueue(struct item *item)
{
    if (item->queue.next != NULL)
        return;
    pdr__ring_put(&item->watcher->queue, &item->queue);
    pdr__waiter_wake(&item->watcher->waiter);
}

static void dequeue(struct item *item)
{
    pdr__ring_take(&item->watcher->queue, &item->queue);
}

/* --- what a session is at --------------------------------------------------
 */

/* I1 */
static void suspect(struct pdr__spot *spot)
{
    spot->suspect = true;
    spot->mark = ++spot->board->marks;
    for (struct item *item = spot->subs; item != NULL; item = item->same)
        enqueue(item);
}

static void stop_running(struct pdr__spot *spot)
{
    pdr__ring_take(&spot->tenant->running, &spot->running);
}

/* In front of all others. */
static void start_running(struct pdr__spot *spot)
{
    stop_running(spot);
    pdr__ring_put(&spot->tenant->running, &spot->running);
    spot->tenant->running = &spot->running;
}

/* It has this head, or is not there. What a commit said meanwhile may be later
 * (I2). */
static void see_head(struct pdr__spot *spot, const pdr_head *head)
{
    spot->rc = PDR_OK;
    if (head != NULL && head->epoch == spot->now.epoch &&
        head->commits < spot->now.commits)
        return;
    spot->now = head != NULL ? (pdr_seen){head->epoch, head->commits}
                             : (pdr_seen){0, 0};
    spot->revision = head != NULL ? head->revision : 0;
    spot->stream_next = head != NULL ? head->stream_next : 0;
    if (head != NULL && head->state == PDR_SESSION_RUNNING)
        start_running(spot);
    else
        stop_running(spot);
    for (struct item *item = spot->subs; item != NULL; item = item->same)
        if (!is_at(spot, ((struct sub *)item)->seen)) /* I3 */
            enqueue(item);
}

static struct pdr__spot *find_spot(const struct pdr__hub *hub, pdr_str key)
{
    void *spot = NULL;

    (void)pdr__map_get(&spot, &hub->board.spots, key);
    return spot;
}

/* Read the head of a suspect one. A failure is told to those who watch it, and
 * not to all. */
static pdr_rc read_spot(struct pdr__hub *hub, pdr_store *store,
                        struct pdr__spot *spot, pdr_err *err)
{
    pdr_query query = {.what = PDR_READ_HEAD};
    char room[PDR_WATCH_KEY_ROOM];
    pdr_str key = pdr_str_n(room, spot->key_len);
    uint64_t mark = spot->mark;
    pdr_page *page = NULL;
    pdr_rc rc = PDR_OK;

    memcpy(room, spot->key, spot->key_len);
    query.ref.tenant = pdr_str_n(room, spot->tenant->len);
    query.ref.id = pdr_str_n(room + spot->tenant->len + 1,
                             spot->key_len - spot->tenant->len - 1);
    spot->suspect = false; /* I1 */
    (void)pthread_mutex_unlock(&hub->lock);
    rc = pdr_store_read(&page, store, &query, err);
    (void)pthread_mutex_lock(&hub->lock);
    spot = find_spot(hub, key); /* I4 */
    if (spot != NULL && (rc == PDR_ENOMEM || spot->mark != mark))
        suspect(spot);
    else if (spot != NULL && (rc == PDR_OK || rc == PDR_ENOTFOUND))
        see_head(spot, page != NULL ? &page->head : NULL);
    else if (spot != NULL) {
        spot->rc = rc;
        for (struct item *item = spot->subs; item != NULL; item = item->same)
            enqueue(item);
    }
    pdr_page_free(page);
    return rc == PDR_ENOMEM ? rc : PDR_OK;
}

/* --- commits of this process -----------------------------------------------
 */

static void feed_forget(struct feed *feed)
{
    pdr__map_dispose(&feed->ids);
    feed->ids = (struct pdr__map)PDR_MAP_INIT(PDR_MAX_FEED_IDS);
}

void pdr__board_fire(struct pdr__hub *hub, const pdr_write *write, size_t i)
{
    const pdr_plan *plan = &write->plans[i];
    const pdr_head *head = &plan->committed.head;
    char room[PDR_WATCH_KEY_ROOM];
    pdr_str key = pdr__watch_key(room, &plan->ref);
    size_t tenant_len = key.len - plan->ref.id.len - 1;
    struct pdr__spot *spot = find_spot(hub, key);
    void *found = NULL;

    if (spot != NULL && write->rc == PDR_OK && !plan->removes &&
        !spot->suspect && spot->now.epoch == head->epoch) /* I2 */
        see_head(spot, head);
    else if (spot != NULL)
        suspect(spot);
    if (!pdr__map_get(&found, &hub->board.tenants, pdr_str_n(room, tenant_len)))
        return;
    for (struct item *item = ((struct pdr__tenant *)found)->feeds; item != NULL;
         item = item->same) {
        struct feed *feed = (struct feed *)item;

        if (pdr__map_put(NULL, &feed->ids, plan->ref.id, NULL, NULL) !=
            PDR_OK) { /* full, or no memory: I5 */
            feed->list = true;
            feed_forget(feed);
        }
        enqueue(item);
    }
}

/* --- commits of other processes --------------------------------------------
 */

/* I5 */
static void tell_to_list(struct pdr__tenant *tenant)
{
    for (struct item *item = tenant->feeds; item != NULL; item = item->same) {
        ((struct feed *)item)->list = true;
        enqueue(item);
    }
}

void pdr__board_polled(struct pdr__hub *hub, bool moved)
{
    struct pdr__board *board = &hub->board;
    struct pdr__ring *waiter = hub->waiting;

    if (moved) {
        board->unlooked = board->spots.count;
        board->unlisted =
            board->unlooked > PDR_WATCH_SLICE ? board->tenants.count : 0;
        PDR_MAP_EACH (entry, &board->tenants)
            tell_to_list(entry->value);
    }
    for (size_t i = 0; i < PDR_WATCH_SLICE && board->unlooked > 0; i++) {
        suspect(SPOT(board->ring, ring));
        board->ring = board->ring->next;
        board->unlooked--;
    }
    for (size_t i = 0; board->unlisted > 0 && i < hub->waiting_count; i++) {
        struct pdr__waiter *other =
            PDR_CONTAINER_OF(waiter, struct pdr__waiter, ring);

        if (other->is_watcher)
            pdr__waiter_wake(other); /* one of them lists */
        waiter = waiter->next;
    }
}

/* The heads of a page of running sessions. */
static void see_page(struct pdr__hub *hub, const pdr_page *page, uint64_t look)
{
    char room[PDR_WATCH_KEY_ROOM];

    for (size_t i = 0; i < page->count; i++) {
        const pdr_head *head = &page->sessions[i];
        struct pdr__spot *spot =
            find_spot(hub, pdr__watch_key(room, &head->ref));

        if (spot == NULL)
            continue;
        if (spot->now.epoch == head->epoch)
            see_head(spot, head);
        else
            suspect(spot); /* I2 */
        if (spot->running.next != NULL)
            start_running(spot); /* in front of those without this look */
        spot->look = look;
    }
}

/* List the running sessions of the next tenant: those that moved are told, and
 * those that are no longer among them are read. A list that fails is left out,
 * since the ring comes to each of them and finds out which one is in the way.
 * At most a tenth of the time goes into lists. */
static void list_running(struct pdr__hub *hub, pdr_store *store)
{
    struct pdr__board *board = &hub->board;
    struct pdr__tenant *tenant =
        PDR_CONTAINER_OF(board->tenant_ring, struct pdr__tenant, ring);
    char name[PDR_MAX_TENANT_BYTES];
    pdr_query query = {
        .what = PDR_READ_SESSIONS,
        .ref.tenant = pdr_str_n(name, tenant->len),
        .limit = PDR_MAX_PAGE_ROWS,
        .filter = {.by_state = true, .state = PDR_SESSION_RUNNING}};
    uint64_t look = ++board->looks;
    int64_t began = pdr__watch_now_ms(), ended = 0;
    pdr_page *page = NULL, *before = NULL;
    bool more = false;
    void *found = NULL;

    memcpy(name, tenant->name, tenant->len);
    board->tenant_ring = tenant->ring.next;
    board->unlisted--;
    board->is_listing = true;
    more = tenant->spots > 0;
    while (more) {
        (void)pthread_mutex_unlock(&hub->lock);
        pdr_rc rc = pdr_store_read(&page, store, &query, NULL);
        (void)pthread_mutex_lock(&hub->lock);
        if (rc == PDR_OK)
            see_page(hub, page, look);
        pdr_page_free(before);
        before = page; /* has the cursor */
        more = rc == PDR_OK && page->next.ptr != NULL;
        if (more)
            query.after = page->next;
    }
    pdr_page_free(before);
    board->is_listing = false;
    ended = pdr__watch_now_ms();
    board->after_ms = ended + 9 * (ended - began);
    if (!pdr__map_get(&found, &board->tenants, query.ref.tenant))
        return; /* I4 */
    tenant = found;
    while (tenant->running != NULL &&
           SPOT(tenant->running->before, running)->look != look) {
        struct pdr__spot *spot = SPOT(tenant->running->before, running);

        stop_running(spot);
        suspect(spot);
    }
}

/* --- what is watched -------------------------------------------------------
 */

static pdr_rc take_tenant(struct pdr__tenant **out, struct pdr__board *board,
                          pdr_str name, pdr_err *err)
{
    struct pdr__tenant *tenant = NULL;
    void *found = NULL;
    pdr_rc rc = PDR_OK;

    if (pdr__map_get(&found, &board->tenants, name)) {
        *out = found;
        return PDR_OK;
    }
    tenant = pdr__calloc(1, sizeof(*tenant) + name.len);
    if (tenant == NULL)
        return pdr__nomem(err);
    rc = pdr__map_put(NULL, &board->tenants, name, tenant, err);
    if (rc != PDR_OK) {
        pdr__free(tenant);
        return rc;
    }
    memcpy(tenant->name, name.ptr, name.len);
    tenant->len = name.len;
    pdr__ring_put(&board->tenant_ring, &tenant->ring);
    *out = tenant;
    return PDR_OK;
}

/* Nobody watches a session of it any more, or follows it? Then it goes. */
static void give_tenant(struct pdr__board *board, struct pdr__tenant *tenant)
{
    if (tenant->spots > 0 || tenant->feeds != NULL)
        return;
    (void)pdr__map_remove(NULL, &board->tenants,
                          pdr_str_n(tenant->name, tenant->len));
    pdr__ring_take(&board->tenant_ring, &tenant->ring);
    if (board->unlisted > board->tenants.count)
        board->unlisted = board->tenants.count;
    pdr__free(tenant);
}

static pdr_rc take_spot(struct pdr__spot **out, struct pdr__board *board,
                        struct pdr__tenant *tenant, pdr_str key, pdr_err *err)
{
    struct pdr__spot *spot = NULL;
    void *found = NULL;
    pdr_rc rc = PDR_OK;

    if (pdr__map_get(&found, &board->spots, key)) {
        *out = found;
        return PDR_OK;
    }
    spot = pdr__calloc(1, sizeof(*spot) + key.len);
    if (spot == NULL)
        return pdr__nomem(err);
    rc = pdr__map_put(NULL, &board->spots, key, spot, err);
    if (rc != PDR_OK) {
        pdr__free(spot);
        return rc;
    }
    memcpy(spot->key, key.ptr, key.len);
    spot->key_len = key.len;
    spot->tenant = tenant;
    spot->board = board;
    spot->suspect = true;
    spot->mark = ++board->marks;
    tenant->spots++;
    pdr__ring_put(&board->ring, &spot->ring);
    *out = spot;
    return PDR_OK;
}

static void give_spot(struct pdr__board *board, struct pdr__spot *spot)
{
    if (spot->subs != NULL)
        return;
    stop_running(spot);
    (void)pdr__map_remove(NULL, &board->spots, key_of(spot));
    pdr__ring_take(&board->ring, &spot->ring);
    if (board->unlooked > board->spots.count)
        board->unlooked = board->spots.count;
    spot->tenant->spots--;
    pdr__free(spot);
}

/* One of `same`, which stand for a session or a tenant. */
static void item_join(struct item *item, pdr_watcher *watcher, uint64_t tag,
                      struct item **same)
{
    item->watcher = watcher;
    item->tag = tag;
    item->same = *same;
    *same = item;
    pdr__ring_put(&watcher->own, &item->own);
}

/* With what it stands for, if nobody else needs that. */
static void item_free(struct pdr__board *board, struct item *item)
{
    struct sub *sub = item->is_feed ? NULL : (struct sub *)item;
    struct feed *feed = item->is_feed ? (struct feed *)item : NULL;
    struct pdr__tenant *tenant = sub != NULL ? sub->spot->tenant : feed->tenant;
    struct item **from = sub != NULL ? &sub->spot->subs : &tenant->feeds;

    dequeue(item);
    pdr__ring_take(&item->watcher->own, &item->own);
    while (*from != item)
        from = &(*from)->same;
    *from = item->same;
    if (sub != NULL)
        give_spot(board, sub->spot);
    else
        pdr__map_dispose(&feed->ids);
    give_tenant(board, tenant);
    pdr__free(item);
}

static struct item *find_item(struct item *same, const pdr_watcher *watcher,
                              uint64_t tag)
{
    while (same != NULL && (same->watcher != watcher || same->tag != tag))
        same = same->same;
    return same;
}

/* Under the lock. What is not known of the session is read by who waits. */
static pdr_rc watch_session(pdr_watcher *watcher, struct pdr__tenant *tenant,
                            pdr_str key, pdr_seen seen, uint64_t tag,
                            pdr_err *err)
{
    struct pdr__hub *hub = watcher->store->watches;
    struct pdr__spot *spot = NULL;
    struct sub *sub = NULL;
    struct item *item = NULL;
    pdr_rc rc = take_spot(&spot, &hub->board, tenant, key, err);

    if (rc != PDR_OK)
        return rc;
    item = find_item(spot->subs, watcher, tag);
    sub = (struct sub *)item;
    if (item == NULL) {
        sub = pdr__calloc(1, sizeof(*sub));
        if (sub == NULL) {
            give_spot(&hub->board, spot);
            return pdr__nomem(err);
        }
        sub->spot = spot;
        item_join(&sub->item, watcher, tag, &spot->subs);
    }
    sub->seen = seen;
    if (spot->suspect || spot->rc != PDR_OK || !is_at(spot, seen))
        suspect(spot);
    return PDR_OK;
}

static pdr_rc follow_tenant(pdr_watcher *watcher, struct pdr__tenant *tenant,
                            uint64_t tag, pdr_err *err)
{
    struct feed *feed = NULL;

    if (find_item(tenant->feeds, watcher, tag) != NULL)
        return PDR_OK;
    feed = pdr__calloc(1, sizeof(*feed));
    if (feed == NULL)
        return pdr__nomem(err);
    feed->item.is_feed = true;
    feed->tenant = tenant;
    feed_forget(feed);
    item_join(&feed->item, watcher, tag, &tenant->feeds);
    return PDR_OK;
}

/* Is it about a session, or about a tenant? An id may stand in for the one that
 * is not there: no id is needed to check a tenant. */
static pdr_rc check_ref(pdr_ref *out, const pdr_ref *ref, pdr_err *err)
{
    pdr_ref whole = *ref;
    pdr_rc rc = PDR_OK;

    if (ref->id.ptr == NULL)
        whole.id = PDR_LIT("-");
    rc = pdr__ref_check(out, &whole, err);
    if (rc == PDR_OK && ref->id.ptr == NULL)
        out->id = pdr_str_n(NULL, 0);
    return rc;
}

pdr_rc pdr_watcher_add(pdr_watcher *watcher, const pdr_ref *ref,
                       const pdr_seen *seen, uint64_t tag, pdr_err *err)
{
    pdr_seen none = {0, 0};
    char room[PDR_WATCH_KEY_ROOM];
    struct pdr__tenant *tenant = NULL;
    struct pdr__hub *hub = NULL;
    pdr_ref checked;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(watcher != NULL && ref != NULL);
    rc = pdr__store_here(watcher->store, err);
    if (rc == PDR_OK)
        rc = check_ref(&checked, ref, err);
    if (rc != PDR_OK)
        return rc;
    hub = watcher->store->watches;
    (void)pthread_mutex_lock(&hub->lock);
    rc = take_tenant(&tenant, &hub->board, checked.tenant, err);
    if (rc == PDR_OK) {
        rc =
            checked.id.ptr == NULL
                ? follow_tenant(watcher, tenant, tag, err)
                : watch_session(watcher, tenant, pdr__watch_key(room, &checked),
                                seen != NULL ? *seen : none, tag, err);
        give_tenant(&hub->board, tenant);
    }
    (void)pthread_mutex_unlock(&hub->lock);
    return rc;
}

void pdr_watcher_remove(pdr_watcher *watcher, const pdr_ref *ref, uint64_t tag)
{
    char room[PDR_WATCH_KEY_ROOM];
    struct pdr__hub *hub = NULL;
    struct pdr__spot *spot = NULL;
    struct item *item = NULL;
    void *tenant = NULL;
    pdr_ref checked;

    if (pdr__store_here(watcher->store, NULL) != PDR_OK ||
        check_ref(&checked, ref, NULL) != PDR_OK)
        return;
    hub = watcher->store->watches;
    (void)pthread_mutex_lock(&hub->lock);
    if (checked.id.ptr != NULL) {
        spot = find_spot(hub, pdr__watch_key(room, &checked));
        item = spot != NULL ? spot->subs : NULL;
    } else if (pdr__map_get(&tenant, &hub->board.tenants, checked.tenant)) {
        item = ((struct pdr__tenant *)tenant)->feeds;
    }
    item = find_item(item, watcher, tag);
    if (item != NULL)
        item_free(&hub->board, item);
    (void)pthread_mutex_unlock(&hub->lock);
}

/* --- watchers --------------------------------------------------------------
 */

pdr_rc pdr_watcher_open(pdr_watcher **out, pdr_store *store, pdr_err *err)
{
    pdr_watcher *watcher = NULL;
    struct pdr__hub *hub = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && store != NULL);
    *out = NULL;
    rc = pdr__store_here(store, err);
    if (rc == PDR_OK)
        rc = pdr__hub_settle(store->watches, store, err);
    if (rc != PDR_OK)
        return rc;
    watcher = pdr__calloc(1, sizeof(*watcher));
    if (watcher == NULL)
        return pdr__nomem(err);
    hub = store->watches;
    watcher->store = store;
    watcher->told = (struct pdr__arena)PDR_ARENA_INIT(SIZE_MAX);
    pdr__waiter_init(&watcher->waiter, true);
    atomic_fetch_add(&hub->count, 1);
    *out = watcher;
    return PDR_OK;
}

/* In a child of the process that opened it nothing is touched, here and below:
 * a thread of the parent may have held the lock. */
void pdr_watcher_close(pdr_watcher *watcher)
{
    struct pdr__hub *hub = NULL;

    if (watcher == NULL || pdr__store_here(watcher->store, NULL) != PDR_OK)
        return;
    hub = watcher->store->watches;
    (void)pthread_mutex_lock(&hub->lock);
    while (watcher->own != NULL)
        item_free(&hub->board,
                  PDR_CONTAINER_OF(watcher->own, struct item, own));
    (void)pthread_mutex_unlock(&hub->lock);
    atomic_fetch_sub(&hub->count, 1);
    pdr__waiter_dispose(&watcher->waiter);
    pdr__arena_dispose(&watcher->told);
    pdr__free(watcher);
}

void pdr_watcher_wake(pdr_watcher *watcher)
{
    struct pdr__hub *hub = watcher->store->watches;

    if (pdr__store_here(watcher->store, NULL) != PDR_OK)
        return;
    (void)pthread_mutex_lock(&hub->lock);
    watcher->woken = true;
    pdr__waiter_wake(&watcher->waiter);
    (void)pthread_mutex_unlock(&hub->lock);
}

/* --- waiting ---------------------------------------------------------------
 * All under the lock, which is given up while the backend works.
 */

static pdr_rc copy_ref(pdr_ref *out, pdr_watcher *watcher, pdr_str tenant,
                       pdr_str id, pdr_err *err)
{
    char *copy = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__arena_strndup(&copy, &watcher->told, tenant, err));
    out->tenant = pdr_str_n(copy, tenant.len);
    out->id = id;
    if (id.ptr != NULL) {
        PDR_TRY(pdr__arena_strndup(&copy, &watcher->told, id, err));
        out->id.ptr = copy;
    }
done:
    return rc;
}

/* `told`: there is a row of news in `out`. */
static pdr_rc tell_sub(pdr_news *out, bool *told, struct pdr__hub *hub,
                       struct sub *sub, pdr_err *err)
{
    struct pdr__spot *spot = sub->spot;
    size_t tenant_len = spot->tenant->len;
    pdr_rc rc = PDR_OK;

    if (spot->suspect)
        return read_spot(hub, sub->item.watcher->store, spot, err);
    *told = spot->rc != PDR_OK || !is_at(spot, sub->seen); /* I3 */
    if (*told)
        rc = copy_ref(&out->ref, sub->item.watcher,
                      pdr_str_n(spot->key, tenant_len),
                      pdr_str_n(spot->key + tenant_len + 1,
                                spot->key_len - tenant_len - 1),
                      err);
    if (rc != PDR_OK)
        return rc;
    out->kind = PDR_NEWS_SESSION;
    out->rc = spot->rc;
    out->seen = spot->now;
    out->revision = spot->revision;
    out->stream_next = spot->stream_next;
    if (spot->rc == PDR_OK)
        sub->seen = spot->now;
    dequeue(&sub->item);
    return PDR_OK;
}

/* It stays in the queue, at the end, until all of it is told. */
static pdr_rc tell_feed(pdr_news *out, bool *told, struct feed *feed,
                        pdr_err *err)
{
    struct pdr__map_entry *entry = pdr__map_first(&feed->ids);
    pdr_str id = {NULL, 0};
    pdr_rc rc = PDR_OK;

    dequeue(&feed->item);
    *told = feed->list || entry != NULL;
    if (!*told)
        return PDR_OK;
    enqueue(&feed->item);
    if (!feed->list)
        id = entry->key;
    rc = copy_ref(&out->ref, feed->item.watcher,
                  pdr_str_n(feed->tenant->name, feed->tenant->len), id, err);
    if (rc != PDR_OK)
        return rc;
    out->kind = feed->list ? PDR_NEWS_LIST : PDR_NEWS_TENANT;
    if (!feed->list)
        (void)pdr__map_remove(NULL, &feed->ids, entry->key);
    feed->list = false;
    return PDR_OK;
}

/* The first of the queue, which may have to be read, or turn out to be no
 * news. */
static pdr_rc tell_first(pdr_news *out, size_t *count, struct pdr__hub *hub,
                         pdr_watcher *watcher, pdr_err *err)
{
    struct item *item = PDR_CONTAINER_OF(watcher->queue, struct item, queue);
    pdr_news news = {.tag = item->tag};
    bool told = false;
    pdr_rc rc = item->is_feed
                    ? tell_feed(&news, &told, (struct feed *)item, err)
                    : tell_sub(&news, &told, hub, (struct sub *)item, err);

    if (rc == PDR_OK && told)
        out[(*count)++] = news;
    return rc;
}

static pdr_rc wait_for_news(pdr_news *out, size_t room, size_t *count,
                            struct pdr__hub *hub, pdr_watcher *watcher,
                            int64_t end, pdr_err *err)
{
    struct pdr__board *board = &hub->board;
    pdr_rc rc = PDR_OK;

    while (rc == PDR_OK && *count < room) {
        int64_t now = pdr__watch_now_ms();
        bool polled = false;

        rc = pdr__hub_poll(&polled, hub, watcher->store, now, err);
        if (rc != PDR_OK)
            break;
        if (board->unlisted > 0 && !board->is_listing && now >= board->after_ms)
            list_running(hub, watcher->store);
        else if (watcher->queue != NULL)
            rc = tell_first(out, count, hub, watcher, err);
        else if (*count > 0 || watcher->woken)
            break;
        else if (!polled && now >= end)
            return PDR_FAIL(err, NOTHING_CHANGED,
                            "nothing was committed in the given time");
        else if (!polled)
            pdr__hub_rest(hub, watcher->store, &watcher->waiter, now, end);
    }
    watcher->woken = false;
    return *count > 0 ? PDR_OK : rc; /* what failed will fail again */
}

pdr_rc pdr_watcher_wait(pdr_news *out, size_t room, size_t *count,
                        pdr_watcher *watcher, uint32_t timeout_ms, pdr_err *err)
{
    pdr_err detail = PDR_ERR_INIT;
    struct pdr__hub *hub = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && room > 0 && count != NULL && watcher != NULL);
    *count = 0;
    rc = pdr__store_here(watcher->store, err);
    if (rc != PDR_OK)
        return rc;
    hub = watcher->store->watches;
    pdr__arena_reset(&watcher->told);
    (void)pthread_mutex_lock(&hub->lock);
    pdr__hub_enter(hub, &watcher->waiter);
    rc = wait_for_news(out, room, count, hub, watcher,
                       pdr__watch_now_ms() + (int64_t)timeout_ms, &detail);
    pdr__hub_leave(hub, watcher->store, &watcher->waiter);
    (void)pthread_mutex_unlock(&hub->lock);
    if (rc != PDR_OK && err != NULL)
        *err = detail;
    return rc;
}
