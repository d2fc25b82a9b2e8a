/*
 * watch.h - what the two kinds of watches of a store share. See README.md.
 *
 *     watch.c      the hub: who waits, and who of them looks at other
 * processes; watches of one session, or of all watcher.c    watchers of any
 * number of sessions
 */
#ifndef PDR_STORE_WATCH_H
#define PDR_STORE_WATCH_H

#include <pthread.h>

#include "store.h"

/* A link of a ring; all zero: it is in none. Whoever has the ring points to its
 * first one, or to none. */
struct pdr__ring {
    struct pdr__ring *next, *before;
};

/* To the end. */
static inline void pdr__ring_put(struct pdr__ring **first,
                                 struct pdr__ring *link)
{
    if (*first == NULL)
        *first = link->next = link->before = link;
    link->next = *first;
    link->before = (*first)->before;
    link->next->before = link->before->next = link;
}

/* One that is in none is fine. */
static inline void pdr__ring_take(struct pdr__ring **first,
                                  struct pdr__ring *link)
{
    if (link->next == NULL)
        return;
    if (*first == link)
        *first = link->next != link ? link->next : NULL;
    link->before->next = link->next;
    link->next->before = link->before;
    link->next = link->before = NULL;
}

/* A thread that waits, now or later. */
struct pdr__waiter {
    pthread_cond_t woken;
    struct pdr__ring ring; /* of those that wait; guarded by lock */
    bool is_watcher;       /* never changes */
};

/* What watchers watch (watcher.c). All guarded by lock. */
struct pdr__board {
    struct pdr__map spots;   /* sessions, by tenant, NUL, id */
    struct pdr__map tenants; /* that have a spot or a feed, by name */
    uint64_t marks;          /* that spots were given */
    struct pdr__ring *ring;  /* all spots: the one to be looked at next */
    size_t unlooked;         /* spots not looked at since others committed */
    struct pdr__ring *tenant_ring;
    size_t unlisted;  /* tenants whose running sessions were not listed since */
    bool is_listing;  /* somebody lists right now */
    uint64_t looks;   /* lists that were begun */
    int64_t after_ms; /* no list before then */
};

/* The watches of one store. */
struct pdr__hub {
    pthread_mutex_t lock;
    atomic_size_t count;    /* of watches and watchers; read without the lock */
    struct pdr__map by_key; /* first watch of a session; guarded by lock */
    pdr_watch *all;         /* the first of all; guarded by lock */
    struct pdr__ring *waiting; /* those that wait; guarded by lock */
    size_t waiting_count;
    struct pdr__waiter *poller; /* who looks next, or NULL; guarded by lock */
    bool polling;               /* somebody looks right now; guarded by lock */
    uint64_t polled;            /* what poll said last; guarded by lock */
    int64_t next_ms;            /* time of the next look; guarded by lock */
    struct pdr__board board;
};

#define PDR_WATCH_KEY_ROOM (PDR_MAX_TENANT_BYTES + 1 + PDR_MAX_ID_BYTES)

/* Tenant, NUL, id. `room` has PDR_WATCH_KEY_ROOM bytes. */
pdr_str pdr__watch_key(char *room, const pdr_ref *ref);
int64_t pdr__watch_now_ms(void);

/* --- waiting (watch.c) -----------------------------------------------------
 * Under the lock, but for what is said about one.
 */

/* Without the lock, these two. */
void pdr__waiter_init(struct pdr__waiter *waiter, bool is_watcher);
void pdr__waiter_dispose(struct pdr__waiter *waiter);
void pdr__waiter_wake(struct pdr__waiter *waiter);
/* What others did so far is known; takes the lock. */
PDR_MUST_CHECK pdr_rc pdr__hub_settle(struct pdr__hub *hub, pdr_store *store,
                                      pdr_err *err);
/* The thread begins to wait, and ends. */
void pdr__hub_enter(struct pdr__hub *hub, struct pdr__waiter *waiter);
void pdr__hub_leave(struct pdr__hub *hub, const pdr_store *store,
                    struct pdr__waiter *waiter);
/* Ask for commits of other processes, if it is time; gives the lock up
 * meanwhile. `polled`: it was. */
PDR_MUST_CHECK pdr_rc pdr__hub_poll(bool *polled, struct pdr__hub *hub,
                                    pdr_store *store, int64_t now,
                                    pdr_err *err);
/* Sleep until woken, until the end, or until it is time to ask. */
void pdr__hub_rest(struct pdr__hub *hub, const pdr_store *store,
                   struct pdr__waiter *waiter, int64_t now, int64_t end);

/* --- watchers (watcher.c) --------------------------------------------------
 * Under the lock.
 */

void pdr__board_init(struct pdr__board *board);
void pdr__board_dispose(struct pdr__board *board);
/* This was committed here, or may have been. */
void pdr__board_fire(struct pdr__hub *hub, const pdr_write *write, size_t i);
/* Somebody asked for commits of other processes; `moved`: there were some. */
void pdr__board_polled(struct pdr__hub *hub, bool moved);

#endif
