/*
 * verify.c - read everything, and say what is wrong.
 *
 * WHY  A read checks what it gives and no more. Here everything is read: each
 *      session in pages, like by any other reader, so that all of page.c's
 *      checks run; then the backend looks at what no read can see.
 *
 * INVARIANTS
 *   V1  A finding never ends the walk. What cannot be read (memory, files)
 *       does.
 *   V2  Others may write meanwhile. A session that was deleted after it was
 *       listed is no finding; one that is still listed and cannot be found is.
 *   V3  The list of sessions is taken without a check of its heads: a damaged
 *       head must not hide the sessions behind it. Each head is then read and
 *       checked by itself.
 */
#include <stdio.h>

#include "store.h"

#define TRIES 3u /* to find a session that is listed (V2) */

struct walk {
    pdr_store *store;
    pdr_verify_report report;
    pdr_verify_fn fn;
    void *arg;
    bool found; /* there is a first finding: */
    pdr_err first;
};

/* The parts of a session, and what their rows are called. */
static const struct part {
    pdr_read_what what;
    const char *table;
} parts[] = {
    {PDR_READ_ENTRIES, "entries"},       {PDR_READ_SLOTS, "slots"},
    {PDR_READ_PROPERTIES, "properties"}, {PDR_READ_COMPLETIONS, "completions"},
    {PDR_READ_JOURNAL, "journal"},       {PDR_READ_STREAM, "stream"},
    {PDR_READ_INBOX, "inbox"},           {PDR_READ_FRAME, "frames"},
};

static void tell(struct walk *w, const char *table, const pdr_ref *ref,
                 const pdr_err *detail)
{
    char row[3 * PDR_SHOWN], tenant[PDR_SHOWN], id[PDR_SHOWN];

    w->report.bad++;
    if (!w->found)
        w->first = *detail;
    w->found = true;
    if (w->fn == NULL)
        return;
    (void)snprintf(row, sizeof(row), "session '%s' of tenant '%s'",
                   pdr__shown(id, ref->id), pdr__shown(tenant, ref->tenant));
    w->fn(w->arg, table, row, detail->message);
}

/* --- one session -----------------------------------------------------------
 */

static void count(struct walk *w, const pdr_page *page, pdr_read_what what)
{
    if (what == PDR_READ_ENTRIES)
        w->report.entries += page->count;
    else
        w->report.rows += what == PDR_READ_FRAME ? 1 : page->count;
}

/* PDR_ENOTFOUND: the session is not there, or not any more. */
static pdr_rc check_part(struct walk *w, const pdr_ref *ref,
                         const struct part *part, pdr_err *err)
{
    pdr_query query = {
        .what = part->what, .ref = *ref, .limit = PDR_MAX_PAGE_ROWS};
    pdr_page *page = NULL, *next = NULL;
    pdr_rc rc = PDR_OK;

    do {
        query.after = page != NULL ? page->next : pdr_str_n(NULL, 0);
        rc = pdr_store_read(&next, w->store, &query, err);
        pdr_page_free(page); /* its cursor was needed until now */
        page = next;
        if (rc == PDR_OK)
            count(w, page, part->what);
    } while (rc == PDR_OK && page->next.ptr != NULL);
    pdr_page_free(page);
    if (rc == PDR_ECORRUPT) {
        tell(w, part->table, ref, err);
        rc = PDR_OK; /* V1 */
    }
    return rc;
}

static pdr_rc read_head(bool *has_frame, struct walk *w, const pdr_ref *ref,
                        pdr_err *err)
{
    pdr_query query = {.what = PDR_READ_HEAD, .ref = *ref};
    pdr_page *page = NULL;
    pdr_rc rc = pdr_store_read(&page, w->store, &query, err);

    if (rc == PDR_OK)
        *has_frame = page->head.has_frame;
    pdr_page_free(page);
    return rc;
}

/* PDR_ENOTFOUND: it is not there. */
static pdr_rc check_session(struct walk *w, const pdr_ref *ref, pdr_err *err)
{
    bool has_frame = false;
    pdr_rc rc = read_head(&has_frame, w, ref, err);

    if (rc == PDR_ENOTFOUND)
        return rc;
    w->report.sessions++;
    if (rc == PDR_EINVALID) { /* by its key nobody can ask for it */
        rc = PDR_FAIL(err, STORE_DAMAGED,
                      "the key of a session is none; restore a backup");
    }
    if (rc == PDR_ECORRUPT) { /* then every part fails in the same way */
        tell(w, "sessions", ref, err);
        return PDR_OK;
    }
    for (size_t i = 0; i < PDR_COUNT(parts) && rc == PDR_OK; i++) {
        if (parts[i].what != PDR_READ_FRAME || has_frame)
            rc = check_part(w, ref, &parts[i], err);
    }
    return rc == PDR_ENOTFOUND ? PDR_OK : rc; /* V2: deleted meanwhile */
}

/* --- all sessions ----------------------------------------------------------
 */

/* The sessions behind `after`, or from the first on; unchecked (V3). */
static pdr_rc list(struct pdr__page **out, struct walk *w, const pdr_ref *after,
                   pdr_err *err)
{
    const pdr_query asked = {.what = PDR_READ_ALL, .limit = PDR_MAX_PAGE_ROWS};
    struct pdr__page *page = NULL;
    pdr_query query;
    pdr_rc rc = pdr__query_check(&query, &asked, err);

    *out = NULL;
    if (rc == PDR_OK)
        rc = pdr__page_new(&page, &query, err);
    if (rc != PDR_OK)
        return rc;
    if (after != NULL) {
        page->place.begins = false;
        page->place.ref = *after;
    }
    rc = w->store->ops->read(w->store, &page->page, &query, err);
    page->query = NULL;
    if (rc == PDR_OK)
        *out = page;
    else
        pdr_page_free(&page->page);
    return rc;
}

static int compare_text(pdr_str a, pdr_str b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len > 0 ? memcmp(a.ptr, b.ptr, len) : 0;

    if (order != 0)
        return order;
    return a.len < b.len ? -1 : a.len > b.len;
}

static int compare_ref(const pdr_ref *a, const pdr_ref *b)
{
    int order = compare_text(a->tenant, b->tenant);

    return order != 0 ? order : compare_text(a->id, b->id);
}

static pdr_rc is_listed(bool *out, struct walk *w, const pdr_ref *ref,
                        const pdr_ref *before, pdr_err *err)
{
    struct pdr__page *page = NULL;
    pdr_rc rc = list(&page, w, before, err);

    *out = false;
    for (size_t i = 0; rc == PDR_OK && i < page->page.count; i++)
        *out = *out || compare_ref(&page->page.sessions[i].ref, ref) == 0;
    if (rc == PDR_OK)
        pdr_page_free(&page->page);
    return rc;
}

/* A session that was listed behind `before`. */
static pdr_rc check_listed(struct walk *w, const pdr_ref *ref,
                           const pdr_ref *before, pdr_err *err)
{
    char id[PDR_SHOWN];
    bool listed = true;

    for (unsigned i = 0; i < TRIES; i++) {
        pdr_rc rc = check_session(w, ref, err);

        if (rc != PDR_ENOTFOUND)
            return rc;
        rc = is_listed(&listed, w, ref, before, err);
        if (rc != PDR_OK || !listed) /* V2 */
            return rc;
    }
    (void)PDR_FAIL(err, WRONG_INDEX,
                   "session '%s' is in the list of sessions, and cannot be "
                   "found by its id; restore a backup",
                   pdr__shown(id, ref->id));
    w->report.sessions++;
    tell(w, "sessions", ref, err);
    return PDR_OK;
}

/* Whatever a damaged index says, the walk has an end. */
static pdr_rc check_order(const pdr_ref *before, const pdr_ref *ref,
                          pdr_err *err)
{
    char id[PDR_SHOWN];

    if (before == NULL || compare_ref(before, ref) < 0)
        return PDR_OK;
    return PDR_FAIL(err, WRONG_INDEX,
                    "session '%s' is out of order in the list of sessions; "
                    "those behind it were not looked at; restore a backup",
                    pdr__shown(id, ref->id));
}

static pdr_rc check_page(struct walk *w, const pdr_page *page,
                         const pdr_ref *before, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < page->count && rc == PDR_OK; i++) {
        const pdr_ref *ref = &page->sessions[i].ref;

        rc = check_order(before, ref, err);
        if (rc == PDR_OK)
            rc = check_listed(w, ref, before, err);
        before = ref;
    }
    return rc;
}

static pdr_rc check_all(struct walk *w, pdr_err *err)
{
    struct pdr__page *page = NULL, *next = NULL;
    const pdr_ref *before = NULL, start = {{NULL, 0}, {NULL, 0}};
    bool more = true;
    pdr_rc rc = PDR_OK;

    while (rc == PDR_OK && more) {
        rc = list(&next, w, before, err);
        if (rc == PDR_OK)
            rc = check_page(w, &next->page, before, err);
        if (rc != PDR_OK)
            break;
        more = next->more && next->page.count > 0;
        if (page != NULL)
            pdr_page_free(&page->page);
        page = next;
        next = NULL;
        if (more)
            before = &page->page.sessions[page->page.count - 1].ref;
    }
    if (rc == PDR_ECORRUPT) { /* of the list itself */
        tell(w, "sessions", before != NULL ? before : &start, err);
        rc = PDR_OK;
    }
    if (next != NULL)
        pdr_page_free(&next->page);
    if (page != NULL)
        pdr_page_free(&page->page);
    return rc;
}

/* --- the call --------------------------------------------------------------
 */

/* What no read can see. */
static pdr_rc check_backend(struct walk *w, const pdr_ref *ref, pdr_err *err)
{
    const pdr_store_ops *ops = w->store->ops;
    uint64_t bad = w->report.bad;
    pdr_rc rc = PDR_OK;

    if (ops->verify == NULL)
        return PDR_OK;
    rc = ops->verify(w->store, ref, &w->report, w->fn, w->arg, err);
    if (rc != PDR_ECORRUPT)
        return rc;
    if (w->report.bad == bad)
        w->report.bad++;
    if (!w->found)
        w->first = *err;
    w->found = true;
    return PDR_OK;
}

static pdr_rc verify(struct walk *w, const pdr_ref *ref, pdr_err *err)
{
    pdr_ref checked;
    pdr_rc rc = pdr__store_here(w->store, err);

    if (rc == PDR_OK && ref != NULL)
        rc = pdr__ref_check(&checked, ref, err);
    if (rc == PDR_OK)
        rc = ref != NULL ? check_session(w, &checked, err) : check_all(w, err);
    if (rc == PDR_OK)
        rc = check_backend(w, ref != NULL ? &checked : NULL, err);
    return rc;
}

pdr_rc pdr_store_verify(pdr_verify_report *out, pdr_store *store,
                        const pdr_ref *ref, pdr_err *err, pdr_verify_fn fn,
                        void *arg)
{
    struct walk w = {.store = store, .fn = fn, .arg = arg};
    pdr_err detail = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(store != NULL);
    rc = verify(&w, ref, &detail);
    if (rc == PDR_OK && w.found) {
        rc = PDR_ECORRUPT;
        detail = w.first;
    }
    if (rc != PDR_OK && err != NULL)
        *err = detail;
    if (out != NULL)
        *out = w.report;
    return rc;
}
