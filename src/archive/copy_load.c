/*
 * copy_load.c - a session, read into memory as it was at one moment.
 *
 * WHY  Others go on writing to a session while it is copied, and a store gives
 *      no view of one moment that lasts over many pages: so we look, read, and
 *      look whether it is still the same.
 *
 *          head ─► entries that are missing ─► all the rest ─► whole
 *           ▲ ▲              │                      │
 *           │ └──────────────┴── somebody wrote: ───┘
 *           │                    entries stay, the rest is read again
 *           └─ it was cut, replaced, or rows that changed are staged already:
 *              begin again with nothing
 *
 *      Pages that are too much for memory are handed to copy.c, which stages
 *      them (C2).
 *
 * INVARIANTS  C1..C3 in copy.h.
 */
#include "copy.h"

/* Bytes after which a page ends: small beside PDR_STAGE_BYTES, so that commits
 * come close to that. */
#define PAGE_BYTES ((size_t)512 * 1024)

/* Times that a session is read which somebody keeps on writing to. */
#define ATTEMPTS 100u

/* --- pages ---------------------------------------------------------------- */

static void drop_pages(struct pdr__load *load, size_t from)
{
    while (load->count > from)
        pdr_page_free(load->pages[--load->count].page);
    if (from == 0)
        load->bytes = load->rows = 0;
}

void pdr__load_clear(struct pdr__load *load)
{
    drop_pages(load, 0);
    load->entry_pages = 0;
}

void pdr__load_dispose(struct pdr__load *load)
{
    drop_pages(load, 0);
    pdr__free(load->pages);
    pdr_page_free(load->moment);
    memset(load, 0, sizeof(*load));
}

static size_t bytes_of(pdr_read_what what, const pdr_page *page)
{
    size_t bytes = page->frame.len;

    for (size_t i = 0; i < page->count; i++) {
        if (what == PDR_READ_ENTRIES)
            bytes += page->entries[i].body.len;
        else if (what == PDR_READ_SLOTS)
            bytes += page->slots[i].key.len + page->slots[i].value.len;
        else if (what == PDR_READ_PROPERTIES)
            bytes += page->properties[i].value.len;
        else if (what == PDR_READ_COMPLETIONS)
            bytes += page->completions[i].outcome.len;
        else
            bytes += page->work[i].body.len;
    }
    return bytes;
}

/* The page becomes the last one; taken, also on failure. */
static pdr_rc add_page(struct pdr__copier *c, struct pdr__load *load,
                       pdr_read_what what, pdr_page *page, pdr_err *err)
{
    size_t bytes = bytes_of(what, page);
    pdr_rc rc = PDR_OK;

    if (load->count > 0 && (load->bytes + bytes > PDR_STAGE_BYTES ||
                            load->rows + page->count > PDR_STAGE_ROWS))
        PDR_TRY(pdr__copy_flush(c, load, err)); /* C2 */
    if (load->count == load->cap) {
        size_t cap = load->cap == 0 ? 8 : 2 * load->cap;
        void *grown = pdr__realloc(load->pages, cap * sizeof(*load->pages));

        if (grown == NULL)
            PDR_TRY(pdr__nomem(err));
        load->pages = grown;
        load->cap = cap;
    }
    load->pages[load->count++] = (struct pdr__held_page){what, page};
    load->bytes += bytes;
    load->rows += page->count + (what == PDR_READ_FRAME);
    page = NULL;
done:
    pdr_page_free(page);
    return rc;
}

/* --- rows ----------------------------------------------------------------- */

/* Is the session that a page is of still the one whose entries were read, cut
 * at the same place? */
static bool is_same_history(const pdr_head *a, const pdr_head *b)
{
    return a->epoch == b->epoch && a->first_seq == b->first_seq;
}

/* A page of the session; `*moved`: it was replaced, cut, or is gone. */
static pdr_rc read_page(pdr_page **out, bool *moved, struct pdr__copier *c,
                        struct pdr__load *load, const pdr_query *query,
                        pdr_err *err)
{
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = pdr_store_read(out, c->from, query, &why);

    *moved = rc == PDR_ENOTFOUND;
    if (*moved)
        return PDR_OK;
    if (rc != PDR_OK) {
        if (err != NULL)
            *err = why;
        return rc;
    }
    *moved = !is_same_history(&(*out)->head, pdr__load_head(load));
    if ((*out)->head.commits != pdr__load_head(load)->commits)
        load->is_still = false;
    return PDR_OK;
}

/* Entries that came since the last look. */
static pdr_rc read_entries(bool *moved, struct pdr__copier *c,
                           struct pdr__load *load, pdr_err *err)
{
    pdr_query query = {.what = PDR_READ_ENTRIES,
                       .ref = pdr__load_head(load)->ref,
                       .limit = PDR_MAX_PAGE_ROWS,
                       .max_bytes = PAGE_BYTES};
    pdr_page *page = NULL;
    pdr_rc rc = PDR_OK;

    while (load->next_seq < pdr__load_head(load)->next_seq) {
        query.from = load->next_seq;
        PDR_TRY(read_page(&page, moved, c, load, &query, err));
        *moved = *moved || page->count == 0;
        if (*moved)
            break;
        load->next_seq += page->count;
        rc = add_page(c, load, PDR_READ_ENTRIES, page, err);
        page = NULL; /* taken */
        PDR_TRY(rc);
    }
done:
    pdr_page_free(page);
    return rc;
}

/* All rows of a kind, as of `moment`. */
static pdr_rc read_kind(bool *moved, struct pdr__copier *c,
                        struct pdr__load *load, pdr_read_what what,
                        pdr_err *err)
{
    pdr_query query = {.what = what,
                       .ref = pdr__load_head(load)->ref,
                       .limit = PDR_MAX_PAGE_ROWS,
                       .max_bytes = PAGE_BYTES};
    pdr_buf after = PDR_BUF_INIT(SIZE_MAX);
    pdr_page *page = NULL;
    pdr_rc rc = PDR_OK;

    do {
        PDR_TRY(read_page(&page, moved, c, load, &query, err));
        *moved = *moved || !load->is_still; /* C1 */
        if (*moved)
            break;
        pdr_buf_clear(&after); /* the page may be gone when it is used */
        query.after = pdr_str_n(NULL, 0);
        if (page->next.ptr != NULL) {
            PDR_TRY(pdr_buf_append(&after, page->next, err));
            query.after = pdr_buf_str(&after);
        }
        rc = add_page(c, load, what, page, err);
        page = NULL; /* taken */
        PDR_TRY(rc);
    } while (query.after.ptr != NULL);
done:
    pdr_page_free(page);
    pdr_buf_dispose(&after);
    return rc;
}

/* What can change: all but entries. */
static pdr_rc read_rest(bool *moved, struct pdr__copier *c,
                        struct pdr__load *load, pdr_err *err)
{
    const pdr_head *head = pdr__load_head(load);
    const struct {
        pdr_read_what what;
        bool is_there;
    } kinds[] = {
        {PDR_READ_FRAME, head->has_frame},
        {PDR_READ_SLOTS, head->slots > 0},
        {PDR_READ_PROPERTIES, head->properties > 0},
        {PDR_READ_COMPLETIONS, head->completions > 0},
        {PDR_READ_JOURNAL, head->journal_next > head->journal_first},
        {PDR_READ_STREAM, head->stream_next > head->stream_first},
        {PDR_READ_INBOX, head->inbox > 0},
    };
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < PDR_COUNT(kinds) && rc == PDR_OK && !*moved; i++) {
        if (kinds[i].is_there)
            rc = read_kind(moved, c, load, kinds[i].what, err);
    }
    return rc;
}

/* --- one moment ----------------------------------------------------------- */

pdr_rc pdr__load_read_head(pdr_page **out, pdr_store *store, const pdr_ref *ref,
                           pdr_err *err)
{
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = *ref};

    return pdr_store_read(out, store, &query, err);
}

/* Look at the session anew. What was read of it stays if it is that. */
static pdr_rc take_moment(bool *moved, struct pdr__copier *c,
                          struct pdr__load *load, const pdr_ref *ref,
                          pdr_err *err)
{
    pdr_page *page = NULL;
    pdr_rc rc = pdr__load_read_head(&page, c->from, ref, err);

    if (rc != PDR_OK)
        return rc;
    *moved = load->moment != NULL &&
             !is_same_history(&page->head, &load->moment->head);
    pdr_page_free(load->moment);
    load->moment = page;
    load->is_still = true;
    if (load->next_seq == 0)
        load->next_seq = page->head.first_seq;
    return PDR_OK;
}

/* Rows that were read before somebody wrote go; entries stay. */
static void forget_rest(struct pdr__load *load)
{
    size_t bytes = 0, rows = 0;

    drop_pages(load, load->entry_pages);
    for (size_t i = 0; i < load->count; i++) {
        bytes += bytes_of(PDR_READ_ENTRIES, load->pages[i].page);
        rows += load->pages[i].page->count;
    }
    load->bytes = bytes;
    load->rows = rows;
}

/* One look: all that is missing is read, unless it `*moved` away. `*whole`: it
 * is all there, and of one moment. */
static pdr_rc look_once(bool *moved, bool *whole, struct pdr__copier *c,
                        struct pdr__load *load, const pdr_ref *ref,
                        pdr_err *err)
{
    bool changed = false;
    pdr_rc rc = PDR_OK;

    load->reads_rest = false;
    PDR_TRY(take_moment(moved, c, load, ref, err));
    if (!*moved)
        PDR_TRY(read_entries(moved, c, load, err));
    if (*moved || !load->is_still)
        return PDR_OK;
    load->reads_rest = true;
    load->entry_pages = load->count;
    PDR_TRY(read_rest(&changed, c, load, err));
    *whole = !changed;
    *moved = changed && load->staged_the_rest;
    if (changed && !*moved)
        forget_rest(load);
done:
    return rc;
}

pdr_rc pdr__load_session(struct pdr__copier *c, struct pdr__load *load,
                         const pdr_ref *ref, pdr_err *err)
{
    uint64_t old = load->old;
    char shown[PDR_SHOWN];

    for (unsigned i = 0; i < ATTEMPTS; i++) {
        bool moved = false, whole = false;
        pdr_rc rc = look_once(&moved, &whole, c, load, ref, err);

        if (rc != PDR_OK || whole)
            return rc;
        if (moved) { /* begin again with nothing */
            pdr__copy_give_up(c, load);
            pdr__load_dispose(load);
            load->old = old;
        }
    }
    return PDR_FAIL(err, SESSION_CHANGED,
                    "session '%s' was changed again and again while it was "
                    "copied: copy it when it is idle",
                    pdr__shown(shown, ref->id));
}
