/*
 * held.c - the slots or properties of a session, as they were at one revision.
 *
 * WHY  A store gives a page of one moment, and a bag may have more than a page.
 *      Up to a limit all pages are read before the first byte is written; then
 *      it does not matter who writes meanwhile. A larger bag is read again row
 *      by row in the order of the document, and whoever writes meanwhile ends
 *      the export.
 *
 * INVARIANTS
 *   R1  Every row that is given has the revision of `head`.
 *   R2  What is kept in memory is taken from the credit of the caller, or is
 *       one page.
 */
#include "export.h"

/* Bytes of a page after which it ends. */
#define PAGE_BYTES ((size_t)1024 * 1024)

pdr_rc pdr__session_changed(const pdr_ref *ref, pdr_err *err)
{
    char shown[PDR_SHOWN];

    return PDR_FAIL(err, SESSION_CHANGED,
                    "session '%s' was changed while it was exported: export it "
                    "again",
                    pdr__shown(shown, ref->id));
}

static struct pdr__pair row_at(const struct pdr__held *rows,
                               const pdr_page *page, size_t i)
{
    struct pdr__pair row;

    if (rows->what == PDR_READ_SLOTS) {
        row.key = page->slots[i].key;
        row.value = page->slots[i].value;
    } else {
        row.key = page->properties[i].key;
        row.value = page->properties[i].value;
    }
    return row;
}

static void drop_pages(struct pdr__held *rows)
{
    for (size_t i = 0; i < rows->page_count; i++)
        pdr_page_free(rows->pages[i]);
    rows->page_count = 0;
}

void pdr__held_dispose(struct pdr__held *rows)
{
    drop_pages(rows);
    pdr__free(rows->pages);
    rows->pages = NULL;
}

/* The page becomes the last one; taken, also on failure. */
static pdr_rc add_page(struct pdr__held *rows, pdr_page *page, pdr_err *err)
{
    size_t bytes = 0;
    void *grown = NULL;

    if (pdr__add_size(&bytes, rows->page_count, 1) &&
        pdr__mul_size(&bytes, bytes, sizeof(*rows->pages)))
        grown = pdr__realloc(rows->pages, bytes);
    if (grown == NULL) {
        pdr_page_free(page);
        return pdr__nomem(err);
    }
    rows->pages = grown;
    rows->pages[rows->page_count++] = page;
    return PDR_OK;
}

/* Read a page: `moved` if there is none of this revision any more. */
static pdr_rc read_page(pdr_page **out, bool *moved, struct pdr__held *rows,
                        pdr_str after, pdr_str key, pdr_err *err)
{
    pdr_query query = {.what = rows->what,
                       .ref = rows->ref,
                       .limit = PDR_MAX_PAGE_ROWS,
                       .max_bytes = PAGE_BYTES,
                       .after = after,
                       .key = key};
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = pdr_store_read(out, rows->store, &query, &why);

    *moved = rc == PDR_ENOTFOUND && strcmp(why.reason, "no_session") == 0;
    if (*moved)
        return PDR_OK;
    if (rc != PDR_OK) {
        if (err != NULL)
            *err = why;
        return rc;
    }
    *moved = (*out)->head.revision != rows->revision;
    if (*moved) {
        pdr_page_free(*out);
        *out = NULL;
    }
    return PDR_OK;
}

static size_t bytes_of(const struct pdr__held *rows, const pdr_page *page)
{
    size_t bytes = 0;

    for (size_t i = 0; i < page->count; i++) {
        struct pdr__pair row = row_at(rows, page, i);

        bytes += row.key.len + row.value.len;
    }
    return bytes;
}

pdr_rc pdr__held_hold(struct pdr__held *out, bool *moved, pdr_store *store,
                      pdr_read_what what, const pdr_head *head, size_t *credit,
                      pdr_err *err)
{
    const pdr_str none = {NULL, 0};
    size_t bytes = 0;
    pdr_str after = none;
    pdr_rc rc = PDR_OK;

    *out = (struct pdr__held){.store = store,
                              .ref = head->ref,
                              .what = what,
                              .revision = head->revision,
                              .held = true};
    *moved = false;
    if ((what == PDR_READ_SLOTS ? head->slots : head->properties) == 0)
        return PDR_OK;
    do {
        pdr_page *page = NULL;

        rc = read_page(&page, moved, out, after, none, err);
        if (rc != PDR_OK || *moved)
            return rc;
        after = page->next;
        bytes += bytes_of(out, page);
        rc = add_page(out, page, err);
    } while (rc == PDR_OK && after.ptr != NULL && bytes <= *credit);
    out->held = bytes <= *credit;
    if (out->held)
        *credit -= bytes;
    else
        drop_pages(out);
    return rc;
}

/* --- by key ---------------------------------------------------------------
 */

/* As the store orders keys: by bytes, then by length. */
static int compare(pdr_str a, pdr_str b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len > 0 ? memcmp(a.ptr, b.ptr, len) : 0;

    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

/* The last page that begins at or before the key; the first if none does. */
static const pdr_page *page_of(const struct pdr__held *rows, pdr_str key)
{
    size_t low = 0, high = rows->page_count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (compare(row_at(rows, rows->pages[middle], 0).key, key) <= 0)
            low = middle;
        else
            high = middle;
    }
    return rows->pages[low];
}

static void find_held(struct pdr__pair *out, bool *found,
                      const struct pdr__held *rows, pdr_str key)
{
    const pdr_page *page = NULL;
    size_t low = 0, high = 0;

    if (rows->page_count == 0)
        return;
    page = page_of(rows, key);
    high = page->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare(row_at(rows, page, middle).key, key);

        if (order == 0) {
            *out = row_at(rows, page, middle);
            *found = true;
            return;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
}

/* Read one page in place of the one before. */
static pdr_rc read_again(struct pdr__held *rows, pdr_str after, pdr_str key,
                         pdr_err *err)
{
    pdr_page *page = NULL;
    bool moved = false;
    pdr_rc rc = read_page(&page, &moved, rows, after, key, err);

    if (rc == PDR_OK && moved)
        rc = pdr__session_changed(&rows->ref, err);
    if (rc != PDR_OK)
        return rc;
    drop_pages(rows);
    return add_page(rows, page, err);
}

pdr_rc pdr__held_find(struct pdr__pair *out, bool *found,
                      struct pdr__held *rows, pdr_str key, pdr_err *err)
{
    const pdr_str none = {NULL, 0};
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    *found = false;
    if (rows->held) {
        find_held(out, found, rows, key);
        return PDR_OK;
    }
    rc = read_again(rows, none, key, &why);
    if (rc == PDR_ENOTFOUND)
        return PDR_OK; /* its head is checked by the next row that is read */
    if (rc != PDR_OK) {
        if (err != NULL)
            *err = why;
        return rc;
    }
    *out = row_at(rows, rows->pages[0], 0);
    *found = true;
    return PDR_OK;
}

/* --- in order -------------------------------------------------------------
 */

void pdr__held_begin(struct pdr__held *rows)
{
    rows->next_page = 0;
    rows->next_row = 0;
    rows->walk_ended = rows->held && rows->page_count == 0;
    if (!rows->held)
        drop_pages(rows);
}

/* Go to the page that holds the next row, if there is one. */
static pdr_rc turn_page(struct pdr__held *rows, pdr_err *err)
{
    const pdr_str none = {NULL, 0};
    pdr_page *last = NULL;

    if (rows->held) {
        rows->next_page++;
        rows->next_row = 0;
        rows->walk_ended = rows->next_page == rows->page_count;
        return PDR_OK;
    }
    if (rows->page_count > 0) {
        last = rows->pages[0];
        rows->walk_ended = last->next.ptr == NULL;
    }
    rows->next_row = 0;
    if (rows->walk_ended)
        return PDR_OK;
    return read_again(rows, last != NULL ? last->next : none, none, err);
}

pdr_rc pdr__held_next(struct pdr__pair *out, bool *found,
                      struct pdr__held *rows, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    *found = false;
    while (rc == PDR_OK && !rows->walk_ended) {
        if (rows->page_count > rows->next_page &&
            rows->next_row < rows->pages[rows->next_page]->count) {
            *out = row_at(rows, rows->pages[rows->next_page], rows->next_row);
            rows->next_row++;
            *found = true;
            return PDR_OK;
        }
        rc = turn_page(rows, err);
    }
    return rc;
}
