/*
 * quick.c - which reads are carried out on the thread of their connection.
 *
 *      GET ─► what did it take the last time? ─┬─ a moment ─► here
 *                         ▲                    └─ more, or it is new ─► pool
 *                         └──── what it takes ◄────────┴────┘
 *
 * WHY  The way to the pool and back costs as much as a document of twenty
 *      entries. What a read takes cannot be told before: a head counts rows,
 *      and a row may have 64 MB; or the disk may be slow. But a target that is
 *      asked for again mostly takes what it took before, and clients ask for
 *      the same ones over and over.
 *
 * INVARIANTS
 *   Q1  A target that nobody has timed is read in the pool, as is one that took
 *       more than a moment the last time, wherever that was.
 *   Q2  After a read that was slow here, no other one is carried out here for a
 *       while, since the reason may concern all of them. So of a store that is
 *       busy each thread of connections feels one read, and not a queue.
 *   Q3  Only whole replies count: one that says that nothing changed takes
 *       less than the document that the next one asks for.
 */
#include "http.h"

#define SLOTS    8192u /* targets that are known; 64 KiB */
#define QUICK_MS 1     /* by a clock of whole ms: it took less than two */
#define SLOW_MS  20    /* on the thread of a connection, for all that it has */
#define PAUSE_MS 1000

struct pdr__quick {
    atomic_llong pause_ms;        /* monotonic; until then all go to the pool */
    atomic_ullong targets[SLOTS]; /* hash of one that was quick; 0: none */
};

struct pdr__quick *pdr__quick_new(void)
{
    return pdr__calloc(1, sizeof(struct pdr__quick));
}

void pdr__quick_free(struct pdr__quick *quick)
{
    pdr__free(quick);
}

/* Nobody outside can make two of them the same: the key is of this process. */
static uint64_t hash_of(const struct pdr__exchange *x)
{
    return pdr__hash(x->target) ^ (pdr__hash(x->tenant) << 1);
}

bool pdr__quick_knows(const struct pdr__exchange *x)
{
    struct pdr__quick *quick = x->server->quick;
    const uint64_t hash = hash_of(x);

    return x->verb == PDR_VERB_GET &&
           atomic_load(&quick->targets[hash % SLOTS]) == hash &&
           atomic_load(&quick->pause_ms) <= x->begun_ms; /* Q2 */
}

void pdr__quick_note(const struct pdr__exchange *x, int64_t begun_ms)
{
    struct pdr__quick *quick = x->server->quick;
    const int64_t now = pdr__monotonic_ms(pdr__clock_system());
    const uint64_t hash = hash_of(x);
    atomic_ullong *slot = &quick->targets[hash % SLOTS];

    if (x->is_here && now - begun_ms >= SLOW_MS)
        atomic_store(&quick->pause_ms, now + PAUSE_MS);
    if (now - begun_ms > QUICK_MS && atomic_load(slot) == hash)
        atomic_store(slot, 0);
    else if (now - begun_ms <= QUICK_MS && x->reply.status == 200) /* Q3 */
        atomic_store(slot, hash);
}
