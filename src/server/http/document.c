/*
 * document.c - the document of a session, and those that were asked for last.
 *
 *      head ─┬─ as it was when the document was kept ─► the same bytes
 *            └─ another one ─► pdr_export() ─► kept for the next request
 *
 * WHY  Clients poll. Most polls return the same document, which costs more to
 *      compose the longer the session is. The head tells whether it changed.
 *
 * INVARIANTS
 *   D1  A kept document is given only if the head that was read for this very
 *       request has its epoch and its revision: no two documents of a session
 *       have the same ones.
 *   D2  All of them together take KEPT_BYTES at most.
 */
#include "http.h"

#define SLOTS      64u                /* sessions whose document is kept */
#define KEPT_BYTES ((size_t)32 << 20) /* of all of them */
#define MOST_BYTES (KEPT_BYTES / 4)   /* of one; a larger one is not kept */
#define MAX_TRIES  20                 /* if other writers come between */

struct kept {
    atomic_uint holders;
    uint64_t epoch, revision;
    pdr_str tenant, id, text; /* in room */
    char room[];
};

struct pdr__documents {
    pthread_mutex_t lock;
    struct kept *slots[SLOTS]; /* guarded by lock; held; NULL: free */
    size_t bytes;              /* guarded by lock; of their texts */
    unsigned next;             /* guarded by lock; to be forgotten */
};

struct pdr__documents *pdr__documents_new(void)
{
    struct pdr__documents *d = pdr__calloc(1, sizeof(*d));

    if (d != NULL)
        (void)pthread_mutex_init(&d->lock, NULL);
    return d;
}

static void kept_leave(struct kept *kept)
{
    if (kept != NULL && atomic_fetch_sub(&kept->holders, 1) == 1)
        pdr__free(kept);
}

void pdr__documents_free(struct pdr__documents *d)
{
    if (d == NULL)
        return;
    for (size_t i = 0; i < SLOTS; i++)
        kept_leave(d->slots[i]);
    (void)pthread_mutex_destroy(&d->lock);
    pdr__free(d);
}

static struct kept **slot_of(struct pdr__documents *d, const pdr_ref *ref)
{
    const uint64_t hash = pdr__hash(ref->id) ^ (pdr__hash(ref->tenant) << 1);

    return &d->slots[hash % SLOTS];
}

/* The document of the session as this head has it, to be left; or NULL. */
static struct kept *kept_find(struct pdr__documents *d, const pdr_ref *ref,
                              const pdr_head *head)
{
    struct kept *kept = NULL;

    (void)pthread_mutex_lock(&d->lock);
    kept = *slot_of(d, ref);
    if (kept != NULL &&
        (kept->epoch != head->epoch || kept->revision != head->revision ||
         !pdr_str_equal(kept->id, ref->id) ||
         !pdr_str_equal(kept->tenant, ref->tenant)))
        kept = NULL;
    if (kept != NULL)
        atomic_fetch_add(&kept->holders, 1);
    (void)pthread_mutex_unlock(&d->lock);
    return kept;
}

/* With the lock. */
static void slot_clear(struct pdr__documents *d, struct kept **slot)
{
    if (*slot != NULL)
        d->bytes -= (*slot)->text.len;
    kept_leave(*slot);
    *slot = NULL;
}

static pdr_str room_put(char **at, pdr_str text)
{
    const pdr_str copy = pdr_str_n(*at, text.len);

    if (text.len > 0)
        memcpy(*at, text.ptr, text.len);
    *at += text.len;
    return copy;
}

/* Without memory it is not kept. */
static void kept_put(struct pdr__documents *d, const pdr_ref *ref,
                     const pdr_export_report *report, pdr_str text)
{
    struct kept **slot = slot_of(d, ref);
    struct kept *kept = NULL;
    char *at = NULL;

    if (text.len > MOST_BYTES)
        return;
    kept = pdr__alloc(sizeof(*kept) + ref->tenant.len + ref->id.len + text.len);
    if (kept == NULL)
        return;
    atomic_init(&kept->holders, 1);
    kept->epoch = report->epoch;
    kept->revision = report->revision;
    at = kept->room;
    kept->tenant = room_put(&at, ref->tenant);
    kept->id = room_put(&at, ref->id);
    kept->text = room_put(&at, text);
    (void)pthread_mutex_lock(&d->lock);
    slot_clear(d, slot);
    while (d->bytes + text.len > KEPT_BYTES) /* D2 */
        slot_clear(d, &d->slots[d->next++ % SLOTS]);
    *slot = kept;
    d->bytes += text.len;
    (void)pthread_mutex_unlock(&d->lock);
}

/* --- a request ------------------------------------------------------------
 */

struct asking {
    struct pdr__documents *documents;
    const pdr_ref *ref;
    pdr_export_head_fn fn; /* or NULL */
    void *arg;
    struct kept *found; /* held */
};

/* A pdr_export_head_fn: nothing has to be written if it is kept. */
static pdr_rc on_head(const pdr_head *head, pdr_err *err, void *arg)
{
    struct asking *asking = arg;
    pdr_rc rc = PDR_OK;

    if (asking->fn != NULL)
        PDR_TRY(asking->fn(head, err, asking->arg));
    asking->found = kept_find(asking->documents, asking->ref, head);
    if (asking->found != NULL) /* not an error; it ends the export */
        rc = PDR_FAIL(err, BAD_REF, "%s", "the document is kept");
done:
    return rc;
}

pdr_rc pdr__document_read(pdr_export_report *report, pdr_buf *out,
                          struct pdr__documents *documents, pdr_store *store,
                          const pdr_ref *ref, pdr_err *err,
                          pdr_export_head_fn fn, void *arg)
{
    struct asking asking = {
        .documents = documents, .ref = ref, .fn = fn, .arg = arg};
    const pdr_export_opts opts = {
        .ref = *ref, .bare = true, .on_head = on_head, .head_arg = &asking};
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_ECONFLICT;

    for (int i = 0; rc == PDR_ECONFLICT && i < MAX_TRIES; i++) {
        pdr_buf_clear(out);
        rc = pdr_export(report, store, &opts, &why, pdr_write_buf, out);
    }
    if (asking.found != NULL) {
        report->epoch = asking.found->epoch;
        report->revision = asking.found->revision;
        rc = pdr_buf_append(out, asking.found->text, err);
        kept_leave(asking.found);
        return rc;
    }
    if (rc != PDR_OK)
        return pdr__err_pass(err, &why);
    kept_put(documents, ref, report, pdr_buf_str(out));
    return PDR_OK;
}
