/*
 * purge.c - remove sessions that nobody needs any more.
 *
 * WHY  Sessions end without a word: nobody says that he will not come back. So
 *      they go by age, or when their expiry is over.
 *
 *      by age, of a tenant     the list by last change, up to that time
 *      expired                 the list by expiry
 *      by age, of all          all sessions, one after the other
 *
 * INVARIANTS, cited below as I1..I3
 *   I1  A session goes as it was read: no commit came since, not even one of
 *       work. Who wrote meanwhile keeps it.
 *   I2  We take its lease first, and remove the session under it: nobody works
 *       on a session while it goes, and a lease that somebody holds spares it.
 *   I3  The next page is read before the sessions of this one go: a list by
 *       expiry finds its place by the last session of a page.
 */
#include "archive.h"
#include "store.h"

/* Milliseconds for which we hold a session that is about to go. Should we be
 * killed in between, others wait as long. */
#define PURGE_LEASE_MS 10000

/* Sessions that are handed to the store together, and become durable together.
 * Each may have PDR_REMOVE_ROWS rows, and others wait while they go. */
#define BATCH 16

struct batch {
    const pdr_head *heads[BATCH]; /* borrowed from the page */
    pdr_edit edits[BATCH];
    pdr_committed done[BATCH];
    pdr_request requests[BATCH];
    size_t count;
};

struct purge {
    pdr_store *store;
    const pdr_purge_opts *opts;
    pdr_str tenant; /* absent: of all */
    pdr_query query;
    pdr_purge_report report;
    struct batch batch;
    pdr_rc rc; /* the first failure, with */
    pdr_err err;
};

/* --- one session --------------------------------------------------------- */

static bool is_meant(const struct purge *p, const pdr_head *head)
{
    const pdr_purge_opts *opts = p->opts;

    if (p->tenant.ptr != NULL && !pdr_str_equal(p->tenant, head->ref.tenant))
        return false;
    if (opts->changed_before_ms != 0 &&
        head->changed_ms >= opts->changed_before_ms)
        return false;
    return !opts->expired ||
           (head->expiry_ms != PDR_NEVER && head->expiry_ms <= opts->now_ms);
}

/* --- some sessions -------------------------------------------------------- */

static void hand_over(struct purge *p)
{
    struct batch *batch = &p->batch;

    for (size_t i = 0; i < batch->count; i++)
        batch->requests[i] = (pdr_request){
            .edits = &batch->edits[i],
            .count = 1,
            .options = {p->opts->now_ms, p->opts->timeout_ms},
            .committed = &batch->done[i],
        };
    pdr_store_commit_all(p->store, batch->requests, batch->count);
}

/* A request was refused: somebody came first, or it failed. Of a session that
 * is gone there is nothing to say. */
static void note_refusal(struct purge *p, const pdr_request *request)
{
    if (request->rc == PDR_ECONFLICT || request->rc == PDR_EFENCED ||
        pdr__err_is(&request->err, PDR_R_LEASE_HELD)) {
        p->report.spared++;
    } else if (request->rc != PDR_ENOTFOUND && p->rc == PDR_OK) {
        p->rc = request->rc;
        p->err = request->err;
    }
}

/* Leave only those in the batch whose lease is ours. */
static void take_leases(struct purge *p)
{
    struct batch *batch = &p->batch;
    int64_t until_ms = 0;
    size_t kept = 0;

    if (__builtin_add_overflow(p->opts->now_ms, PURGE_LEASE_MS, &until_ms))
        until_ms = INT64_MAX;
    for (size_t i = 0; i < batch->count; i++)
        batch->edits[i] = (pdr_edit){
            .ref = batch->heads[i]->ref,
            .revision = batch->heads[i]->revision,
            .epoch = batch->heads[i]->epoch,
            .commits = batch->heads[i]->commits, /* I1 */
            .lease = {.verb = PDR_LEASE_TAKE,
                      .owner = PDR_LIT("purge"),
                      .until_ms = until_ms},
        };
    hand_over(p);
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->requests[i].rc != PDR_OK) {
            note_refusal(p, &batch->requests[i]);
            continue;
        }
        batch->heads[kept] = batch->heads[i];
        batch->done[kept++].fence = batch->done[i].fence;
    }
    batch->count = kept;
}

/* Under our leases. Leave only those in the batch that did not go. */
static void remove_held(struct purge *p)
{
    struct batch *batch = &p->batch;
    size_t kept = 0;

    for (size_t i = 0; i < batch->count; i++)
        batch->edits[i] = (pdr_edit){
            .ref = batch->heads[i]->ref,
            .revision = batch->heads[i]->revision,
            .epoch = batch->heads[i]->epoch,
            .commits = batch->heads[i]->commits + 1, /* I1: the lease, I2 */
            .lease = {.fence = batch->done[i].fence},
            .remove = true,
        };
    hand_over(p);
    for (size_t i = 0; i < batch->count; i++) {
        const pdr_head *head = batch->heads[i];

        if (batch->requests[i].rc == PDR_OK) {
            p->report.removed++;
            p->report.entries += head->next_seq - head->first_seq;
            continue;
        }
        note_refusal(p, &batch->requests[i]);
        batch->heads[kept] = head;
        batch->edits[kept++].lease.fence = batch->edits[i].lease.fence;
    }
    batch->count = kept;
}

static void remove_batch(struct purge *p)
{
    struct batch *batch = &p->batch;

    if (batch->count > 0)
        take_leases(p);
    if (batch->count > 0)
        remove_held(p);
    /* Somebody wrote between the two commits: give the lease back. If this
     * fails it lapses. */
    for (size_t i = 0; i < batch->count; i++)
        batch->edits[i] = (pdr_edit){
            .ref = batch->heads[i]->ref,
            .revision = PDR_ANY_REVISION,
            .lease = {.verb = PDR_LEASE_RELEASE,
                      .fence = batch->edits[i].lease.fence},
        };
    if (batch->count > 0)
        hand_over(p);
    batch->count = 0;
}

/* Does work wait that came due since the time that counts? Work moves no time
 * of change. What is due later, a timer, does not count. */
static bool has_work(struct purge *p, const pdr_head *head)
{
    pdr_query query = {
        .what = PDR_READ_INBOX, .ref = head->ref, .limit = PDR_MAX_PAGE_ROWS};
    pdr_page *page = NULL, *before = NULL;
    bool found = false;
    pdr_rc rc = PDR_OK;

    if (p->opts->changed_before_ms == 0 || head->inbox == 0)
        return false;
    do {
        PDR_TRY(pdr_store_read(&page, p->store, &query, &p->err));
        pdr_page_free(before); /* it had the cursor */
        before = page;
        for (size_t i = 0; i < page->count; i++)
            found |= page->work[i].due_ms >= p->opts->changed_before_ms &&
                     page->work[i].due_ms <= p->opts->now_ms;
        query.after = page->next;
    } while (!found && query.after.ptr != NULL);
done:
    pdr_page_free(before);
    if (rc != PDR_OK && rc != PDR_ENOTFOUND)
        p->rc = rc;
    return found;
}

/* Take a session that is meant into the batch; a dry run names it. */
static void purge_one(struct purge *p, const pdr_head *head)
{
    const pdr_purge_opts *opts = p->opts;
    bool is_held =
        head->lease.owner.ptr != NULL && head->lease.until_ms > opts->now_ms;

    if (is_held || has_work(p, head)) {
        p->report.spared++;
    } else if (p->rc == PDR_OK && opts->dry_run) {
        p->report.removed++;
        p->report.entries += head->next_seq - head->first_seq;
        if (opts->fn != NULL)
            p->rc = opts->fn(opts->arg, head, &p->err);
    } else if (p->rc == PDR_OK) {
        p->batch.heads[p->batch.count++] = head;
    }
}

static pdr_rc purge_page(struct purge *p, const pdr_page *page)
{
    for (size_t i = 0; i < page->count && p->rc == PDR_OK; i++) {
        if (is_meant(p, &page->sessions[i]))
            purge_one(p, &page->sessions[i]);
        if (p->batch.count == BATCH)
            remove_batch(p);
    }
    if (p->rc == PDR_OK)
        remove_batch(p);
    return p->rc;
}

/* --- all of them --------------------------------------------------------- */

static pdr_rc purge_all(struct purge *p)
{
    pdr_page *page = NULL, *next = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_store_read(&page, p->store, &p->query, &p->err));
    while (page != NULL) {
        p->query.after = page->next;
        if (page->next.ptr != NULL) /* I3 */
            PDR_TRY(pdr_store_read(&next, p->store, &p->query, &p->err));
        PDR_TRY(purge_page(p, page));
        pdr_page_free(page);
        page = next;
        next = NULL;
    }
done:
    pdr_page_free(next);
    pdr_page_free(page);
    return rc;
}

pdr_rc pdr_purge(pdr_purge_report *out, pdr_store *store,
                 const pdr_purge_opts *opts, pdr_err *err)
{
    struct purge p = {.store = store, .opts = opts, .err = PDR_ERR_INIT};
    pdr_ref ref = {.id = PDR_LIT("-")};
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(store != NULL && opts != NULL);
    if (out != NULL)
        *out = p.report;
    if (opts->changed_before_ms == 0 && !opts->expired)
        return PDR_FAIL(err, BAD_RETENTION, "%s",
                        "nothing says which sessions to remove; set "
                        "changed_before_ms or expired");
    p.tenant = ref.tenant = opts->tenant;
    if (ref.tenant.ptr != NULL)
        PDR_TRY(pdr__ref_check(&ref, &ref, &p.err));
    /* The list that has the fewest sessions that are not meant. */
    p.query =
        (pdr_query){.what = opts->expired ? PDR_READ_EXPIRED : PDR_READ_ALL,
                    .limit = PDR_MAX_PAGE_ROWS,
                    .now_ms = opts->now_ms};
    if (opts->changed_before_ms != 0 && p.tenant.ptr != NULL) {
        p.query.what = PDR_READ_SESSIONS;
        p.query.ref.tenant = p.tenant;
        p.query.filter.changed_from_ms = INT64_MIN;
        p.query.filter.changed_to_ms = opts->changed_before_ms;
    }
    PDR_TRY(purge_all(&p));
done:
    if (rc != PDR_OK)
        (void)pdr__err_pass(err, &p.err);
    if (out != NULL)
        *out = p.report;
    return rc;
}
