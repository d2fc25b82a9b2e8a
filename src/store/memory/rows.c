/*
 * rows.c - rows that never change, and sorted tables of them.
 *
 * WHY  A commit is all or nothing, also when memory runs out in the middle. So
 *      it never changes a table that somebody can see: it makes a copy, works
 *      on that, and throws it away if anything fails. Copies are cheap since
 *      they share the rows.
 *
 * INVARIANTS
 *   R1  Nothing of a row but `users` changes after pdr__row_new().
 *   R2  `users` is the number of places in tables and sessions that point to
 *       the row.
 *   R3  The rows of a table are in strictly rising order of (n, key).
 */
#include "memory_core.h"

/* Where the texts of each kind stand in its cells. */
#define MAX_TEXTS        6
#define AT(member, text) offsetof(union cells, member.text)

static const struct {
    size_t count;
    size_t at[MAX_TEXTS];
} texts_of[] = {
    [CELLS_HEAD] = {6,
                    {AT(head, ref.tenant), AT(head, ref.id), AT(head, agent),
                     AT(head, kind), AT(head, schema_version),
                     AT(head, lease.owner)}},
    [CELLS_FRAME] = {1, {AT(frame, text)}},
    [CELLS_ENTRY] = {3,
                     {AT(entry, correlation_id), AT(entry, separator),
                      AT(entry, body)}},
    [CELLS_SLOT] = {2, {AT(slot, key), AT(slot, value)}},
    [CELLS_PROPERTY] = {3,
                        {AT(property, key), AT(property, value),
                         AT(property, match)}},
    [CELLS_COMPLETION] = {3,
                          {AT(completion, correlation_id),
                           AT(completion, fingerprint),
                           AT(completion, outcome)}},
    [CELLS_WORK] = {3,
                    {AT(work, kind), AT(work, correlation_id), AT(work, body)}},
};

static pdr_str *text_at(union cells *cells, enum cells_kind kind, size_t i)
{
    return (pdr_str *)(void *)((char *)cells + texts_of[kind].at[i]);
}

/* Set what the row is found by. */
static void row_index(struct row *row, enum cells_kind kind)
{
    row->n = 0;
    row->key = pdr_str_n(NULL, 0);
    switch (kind) {
    case CELLS_ENTRY:
        row->n = row->is.entry.seq;
        break;
    case CELLS_WORK:
        row->n = row->is.work.n;
        break;
    case CELLS_SLOT:
        row->key = row->is.slot.key;
        break;
    case CELLS_PROPERTY:
        row->key = row->is.property.key;
        break;
    case CELLS_COMPLETION:
        row->key = row->is.completion.correlation_id;
        break;
    case CELLS_HEAD:
    case CELLS_FRAME:
        break; /* each has a place of its own */
    }
}

pdr_rc pdr__row_new(struct row **out, const union cells *cells,
                    enum cells_kind kind, pdr_err *err)
{
    union cells copy = *cells;
    size_t size = sizeof(struct row);

    *out = NULL;
    for (size_t i = 0; i < texts_of[kind].count; i++) {
        if (!pdr__add_size(&size, size, text_at(&copy, kind, i)->len))
            return pdr__nomem(err);
    }
    struct row *row = pdr__alloc(size);
    if (row == NULL)
        return pdr__nomem(err);

    char *to = (char *)(row + 1);
    for (size_t i = 0; i < texts_of[kind].count; i++) {
        pdr_str *text = text_at(&copy, kind, i);
        if (text->ptr == NULL)
            continue; /* absent, which an empty one is not */
        memcpy(to, text->ptr, text->len);
        text->ptr = to;
        to += text->len;
    }
    row->users = 1;
    row->is = copy;
    row_index(row, kind);
    *out = row;
    return PDR_OK;
}

void pdr__row_drop(struct row *row)
{
    if (row == NULL)
        return;
    row->users--;
    if (row->users == 0)
        pdr__free(row);
}

int pdr__str_order(pdr_str a, pdr_str b)
{
    size_t both = a.len < b.len ? a.len : b.len;
    int order = both == 0 ? 0 : memcmp(a.ptr, b.ptr, both);

    if (order != 0)
        return order;
    return (a.len > b.len) - (a.len < b.len);
}

int pdr__ref_order(const pdr_ref *a, const pdr_ref *b)
{
    int order = pdr__str_order(a->tenant, b->tenant);

    return order != 0 ? order : pdr__str_order(a->id, b->id);
}

/* How many rows stand before (n, key)? */
static size_t rows_before(const struct rows *rows, uint64_t n, pdr_str key)
{
    size_t low = 0, high = rows->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct row *row = rows->at[middle];
        if (row->n < n || (row->n == n && pdr__str_order(row->key, key) < 0))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool stands_at(const struct rows *rows, size_t at, uint64_t n,
                      pdr_str key)
{
    return at < rows->count && rows->at[at]->n == n &&
           pdr_str_equal(rows->at[at]->key, key);
}

/* Take out `count` rows from `at` on. */
static void rows_cut(struct rows *rows, size_t at, size_t count)
{
    for (size_t i = at; i < at + count; i++)
        pdr__row_drop(rows->at[i]);
    for (size_t i = at + count; i < rows->count; i++)
        rows->at[i - count] = rows->at[i];
    rows->count -= count;
}

pdr_rc pdr__rows_copy(struct rows *out, const struct rows *from, size_t extra,
                      pdr_err *err)
{
    size_t room = 0, size = 0;

    *out = (struct rows){0};
    if (!pdr__add_size(&room, from->count, extra) ||
        !pdr__mul_size(&size, room, sizeof(*out->at)))
        return pdr__nomem(err);
    if (room == 0)
        return PDR_OK;
    out->at = pdr__alloc(size);
    if (out->at == NULL)
        return pdr__nomem(err);
    for (size_t i = 0; i < from->count; i++) {
        out->at[i] = from->at[i];
        out->at[i]->users++;
    }
    out->count = from->count;
    out->room = room;
    return PDR_OK;
}

void pdr__rows_dispose(struct rows *rows)
{
    rows_cut(rows, 0, rows->count);
    pdr__free(rows->at);
    *rows = (struct rows){0};
}

struct row *pdr__rows_find(const struct rows *rows, uint64_t n, pdr_str key)
{
    size_t at = rows_before(rows, n, key);

    return stands_at(rows, at, n, key) ? rows->at[at] : NULL;
}

bool pdr__rows_put(struct rows *rows, struct row *row)
{
    size_t at = rows_before(rows, row->n, row->key);

    if (stands_at(rows, at, row->n, row->key)) {
        pdr__row_drop(rows->at[at]);
        rows->at[at] = row;
        return false;
    }
    assert(rows->count < rows->room);
    for (size_t i = rows->count; i > at; i--)
        rows->at[i] = rows->at[i - 1];
    rows->at[at] = row;
    rows->count++;
    return true;
}

bool pdr__rows_remove(struct rows *rows, uint64_t n, pdr_str key)
{
    size_t at = rows_before(rows, n, key);

    if (!stands_at(rows, at, n, key))
        return false;
    rows_cut(rows, at, 1);
    return true;
}

void pdr__rows_remove_through(struct rows *rows, uint64_t n)
{
    size_t count = 0;

    while (count < rows->count && rows->at[count]->n <= n)
        count++;
    rows_cut(rows, 0, count);
}

size_t pdr__rows_shorten(struct rows *rows, size_t most)
{
    size_t count = rows->count < most ? rows->count : most;

    rows_cut(rows, rows->count - count, count);
    return count;
}
