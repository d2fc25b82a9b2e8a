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
    rows->page_cap = 0;
}

/* Read a page after the others, or in place of the one before if they are not
 * held. One of another revision (R1) is not taken: `moved`, or SESSION_CHANGED
 * if they are not held. */
static pdr_rc read_page(struct pdr__held *rows, bool *moved, pdr_str after,
                        pdr_str key, pdr_err *err)
{
    const pdr_query query = {.what = rows->what,
                             .ref = rows->ref,
                             .limit = PDR_MAX_PAGE_ROWS,
                             .max_bytes = PAGE_BYTES,
                             .after = after,
                             .key = key};
    pdr_page *page = NULL;
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__grow((void **)&rows->pages, &rows->page_cap,
                      rows->page_count + 1, sizeof(*rows->pages), err));
    rc = pdr_store_read(&page, rows->store, &query, &why);
    *moved = pdr__err_is(&why, PDR_R_NO_SESSION) ||
             (rc == PDR_OK && page->head.revision != rows->revision);
    if (*moved)
        rc = rows->held ? PDR_OK : pdr__session_changed(&rows->ref, err);
    else if (rc != PDR_OK)
        rc = pdr__err_pass(err, &why);
    if (*moved || rc != PDR_OK)
        goto done;
    if (!rows->held)
        drop_pages(rows);
    rows->pages[rows->page_count++] = page;
    page = NULL;
done:
    pdr_page_free(page);
    return rc;
}

pdr_rc pdr__held_hold(struct pdr__held *out, bool *moved, pdr_store *store,
                      pdr_read_what what, const pdr_head *head, size_t *credit,
                      pdr_err *err)
{
    const pdr_str none = {NULL, 0};
    const pdr_page *page = NULL;
    size_t bytes = 0;
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
        PDR_TRY(
            read_page(out, moved, page != NULL ? page->next : none, none, err));
        if (*moved)
            goto done;
        page = out->pages[out->page_count - 1];
        for (size_t i = 0; i < page->count; i++) {
            struct pdr__pair row = row_at(out, page, i);

            bytes += row.key.len + row.value.len;
        }
    } while (page->next.ptr != NULL && bytes <= *credit);
    out->held = bytes <= *credit;
    if (out->held)
        *credit -= bytes;
    else
        drop_pages(out);
done:
    return rc;
}

/* --- by key ---------------------------------------------------------------
 */

/* As the store orders keys: by bytes, then by length. */
static int key_order(pdr_str a, pdr_str b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len > 0 ? memcmp(a.ptr, b.ptr, len) : 0;

    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

static bool find_held(struct pdr__pair *out, const struct pdr__held *rows,
                      pdr_str key)
{
    size_t low = 0, high = rows->page_count;
    const pdr_page *page = NULL;

    while (high - low > 1) { /* the last page that begins at or before it */
        size_t middle = low + (high - low) / 2;

        if (key_order(row_at(rows, rows->pages[middle], 0).key, key) <= 0)
            low = middle;
        else
            high = middle;
    }
    page = high > 0 ? rows->pages[low] : NULL;
    low = 0;
    high = page != NULL ? page->count : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = 0;

        *out = row_at(rows, page, middle);
        order = key_order(out->key, key);
        if (order == 0)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

pdr_rc pdr__held_find(struct pdr__pair *out, bool *found,
                      struct pdr__held *rows, pdr_str key, pdr_err *err)
{
    const pdr_str none = {NULL, 0};
    pdr_err why = PDR_ERR_INIT;
    bool moved = false;
    pdr_rc rc = PDR_OK;

    *found = rows->held && find_held(out, rows, key);
    if (rows->held)
        return PDR_OK;
    rc = read_page(rows, &moved, none, key, &why);
    if (rc == PDR_ENOTFOUND)
        return PDR_OK; /* its head is checked by the next row that is read */
    if (rc != PDR_OK)
        return pdr__err_pass(err, &why);
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
    if (!rows->held)
        drop_pages(rows);
}

pdr_rc pdr__held_next(struct pdr__pair *out, bool *found,
                      struct pdr__held *rows, pdr_err *err)
{
    pdr_str after = {NULL, 0};
    const pdr_str none = {NULL, 0};
    bool moved = false;
    pdr_rc rc = PDR_OK;

    *found = false;
    for (;;) {
        if (rows->next_page < rows->page_count) {
            const pdr_page *page = rows->pages[rows->next_page];

            if (rows->next_row < page->count) {
                *out = row_at(rows, page, rows->next_row++);
                *found = true;
                return PDR_OK;
            }
            after = page->next;
            if (after.ptr == NULL)
                return PDR_OK;
        } else if (rows->held) {
            return PDR_OK; /* there was no row at all */
        }
        rows->next_row = 0;
        if (rows->held)
            rows->next_page++;
        else
            PDR_TRY(read_page(rows, &moved, after, none, err));
    }
done:
    return rc;
}
