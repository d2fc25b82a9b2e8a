/*
 * twice.c - names that occur twice where rows are made of members.
 *
 * WHY  Of two members with one name the last counts, and becomes a row; those
 *      before are text in the frame. A stream tells that too late. So what is
 *      looked at in the beginning is gone through for such names; a name that
 *      comes again behind that is refused.
 *
 * INVARIANT
 *   T1  `seen` has each name of each container of a spot once, with the place
 *       where it stood last. A place is never 0: the root begins before it.
 */
#include <stdlib.h>

#include "import.h"

/* Names of the bag, of properties and of a few objects. */
#define MAX_NAMES (PDR_MAX_SLOTS + PDR_MAX_PROPERTIES + 1000u)

void pdr__twice_init(struct pdr__twice *twice)
{
    memset(twice, 0, sizeof(*twice));
    twice->seen.max = MAX_NAMES;
}

void pdr__twice_dispose(struct pdr__twice *twice)
{
    pdr__map_dispose(&twice->seen);
    pdr__free(twice->early);
    twice->early = NULL;
}

/* The key of a name in `seen`: its container, and its text. */
static pdr_rc make_key(pdr_buf *out, int64_t container, const pdr_value *name,
                       pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_str text = {NULL, 0};
    pdr_rc rc = pdr__value_name_bytes(&text, name, &scratch, err);

    if (rc == PDR_OK)
        rc = pdr_buf_append(
            out, pdr_str_n((const char *)&container, sizeof(container)), err);
    if (rc == PDR_OK)
        rc = pdr_buf_append(out, text, err);
    pdr_buf_dispose(&scratch);
    return rc;
}

/* Note the place of a name; `*before` is where it stood before, or 0. */
static pdr_rc note(int64_t *before, struct pdr__twice *t, int64_t container,
                   const pdr_value *name, int64_t at, pdr_err *err)
{
    pdr_buf key = PDR_BUF_INIT(SIZE_MAX);
    void *old = NULL;
    pdr_rc rc = make_key(&key, container, name, err);

    if (rc == PDR_OK)
        rc = pdr__map_put(&old, &t->seen, pdr_buf_str(&key),
                          (void *)(intptr_t)at, err);
    pdr_buf_dispose(&key);
    *before = (int64_t)(intptr_t)old;
    if (rc == PDR_ELIMIT)
        rc = PDR_FAIL(err, TOO_MANY_SLOTS, "a session has at most %u slots",
                      PDR_MAX_SLOTS);
    return rc;
}

static pdr_rc add_early(struct pdr__twice *t, int64_t at, pdr_err *err)
{
    if (t->count == PDR_MAX_SLOTS)
        return PDR_FAIL(err, TOO_MANY_SLOTS,
                        "names stand here a second time more than %u times",
                        PDR_MAX_SLOTS);
    if (t->count == t->cap) {
        size_t cap = t->cap == 0 ? 16 : t->cap * 2;
        int64_t *grown = pdr__realloc(t->early, cap * sizeof(*grown));

        if (grown == NULL)
            return pdr__nomem(err);
        t->early = grown;
        t->cap = cap;
    }
    t->early[t->count++] = at;
    return PDR_OK;
}

static pdr_rc pass(struct pdr__source *source, pdr_err *err)
{
    size_t outside = source->depth - 1;
    pdr_rc rc = PDR_OK;

    if (!pdr__source_begins(source))
        return PDR_OK;
    while (rc == PDR_OK && source->depth > outside)
        rc = pdr__source_next(source, err);
    return rc;
}

/* Go over the value of a spot; it has just begun. */
static pdr_rc look(struct pdr__twice *t, struct pdr__source *source,
                   const struct pdr__layout *layout, size_t spot, pdr_err *err)
{
    int64_t container = source->begin, before = 0;
    bool rows = layout->spots[spot].kind == PDR_SPOT_BAG ||
                layout->spots[spot].kind == PDR_SPOT_PROPERTIES;
    pdr_rc rc = PDR_OK;

    if (source->event != PDR_BEGIN_OBJECT)
        return pass(source, err);
    rc = pdr__source_next(source, err);
    while (rc == PDR_OK && source->event == PDR_NAME) {
        size_t child = pdr__layout_child(layout, spot, source->value);

        if (rows || child != PDR_NO_SPOT)
            rc = note(&before, t, container, source->value, source->begin, err);
        if (rc == PDR_OK && before != 0)
            rc = add_early(t, before, err);
        before = 0;
        if (rc == PDR_OK)
            rc = pdr__source_next(source, err);
        if (rc == PDR_OK)
            rc = child != PDR_NO_SPOT ? look(t, source, layout, child, err)
                                      : pass(source, err);
        if (rc == PDR_OK)
            rc = pdr__source_next(source, err);
    }
    return rc;
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

pdr_rc pdr__twice_find(struct pdr__twice *twice, struct pdr__source *source,
                       const struct pdr__layout *layout, pdr_err *err)
{
    pdr_rc rc = pdr__source_start(source, true, err);

    if (rc == PDR_OK)
        rc = pdr__source_next(source, err);
    if (rc == PDR_OK)
        rc = look(twice, source, layout, 0, err);
    twice->looked = INT64_MAX;
    if (source->cut) {
        rc = PDR_OK;
        twice->looked = source->begin + 1; /* of the last event */
    }
    if (twice->count > 0)
        qsort(twice->early, twice->count, sizeof(*twice->early), ascending);
    return rc;
}

pdr_rc pdr__twice_ask(bool *early, struct pdr__twice *twice, int64_t container,
                      const pdr_value *name, int64_t at, pdr_err *err)
{
    int64_t before = 0;
    pdr_rc rc = PDR_OK;

    *early = twice->count > 0 && bsearch(&at, twice->early, twice->count,
                                         sizeof(at), ascending) != NULL;
    if (*early || at < twice->looked)
        return PDR_OK;
    rc = note(&before, twice, container, name, at, err);
    if (rc == PDR_OK && before != 0 && before != at)
        rc = PDR_FAIL_AT(err, (size_t)at, MEMBER_LATE,
                         "this name stands here a second time, behind the "
                         "first %zu bytes; leave one of the two members out",
                         PDR_LOOK_BYTES);
    return rc;
}
