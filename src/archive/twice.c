/*
 * twice.c - names that occur twice where rows are made of members.
 *
 * WHY  Of two members with one name the last counts, and becomes a row; those
 *      before it are text in the frame. A stream tells that too late. So the
 *      beginning of a document is searched for such names, in the same walk
 *      that finds out what it is: names are noted wherever they could matter in
 *      any document. A name that comes again after the beginning is refused.
 *
 * INVARIANTS
 *   T1  `seen` has each name of each container of a spot once, with the place
 *       where it was last. A place is never 0: the root begins before it.
 *   T2  Each spot of a layout is one of `every`. What was noted elsewhere is
 *       never asked for, and does not get a document refused.
 */
#include <stdlib.h>

#include "import.h"

/* Names in spots of one path: those of the bag and a few more. In all: five of
 * them have rows, the others a few names that may come again and again. */
#define MAX_NAMES (PDR_MAX_SLOTS + 2000u)
#define MAX_SEEN  (6u * MAX_NAMES)

void pdr__twice_init(struct pdr__twice *twice)
{
    memset(twice, 0, sizeof(*twice));
    twice->seen.max = MAX_SEEN;
    pdr__layout_every(&twice->every);
}

void pdr__twice_dispose(struct pdr__twice *twice)
{
    pdr__map_dispose(&twice->seen);
    pdr__free(twice->early);
    twice->early = NULL;
}

static pdr_rc too_many_names(pdr_err *err)
{
    return PDR_FAIL(err, TOO_MANY_SLOTS, "a session has at most %u slots",
                    PDR_MAX_SLOTS);
}

/* Note the place of a name; `*before` is where it was before, or 0. */
static pdr_rc note_name(int64_t *before, struct pdr__twice *t,
                        int64_t container, const pdr_value *name, int64_t at,
                        pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX), key = PDR_BUF_INIT(SIZE_MAX);
    pdr_str text = {NULL, 0};
    void *old = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__value_name_bytes(&text, name, &scratch, err));
    PDR_TRY(pdr_buf_append(
        &key, pdr_str_n((const char *)&container, sizeof(container)), err));
    PDR_TRY(pdr_buf_append(&key, text, err));
    PDR_TRY(pdr__map_put(&old, &t->seen, pdr_buf_str(&key),
                         (void *)(intptr_t)at, err));
    *before = (int64_t)(intptr_t)old;
done:
    pdr_buf_dispose(&scratch);
    pdr_buf_dispose(&key);
    return rc == PDR_ELIMIT ? too_many_names(err) : rc;
}

static bool has_too_many(const struct pdr__twice *t, size_t spot)
{
    return t->tally[spot].names > MAX_NAMES ||
           t->tally[spot].early > PDR_MAX_SLOTS;
}

/* Note the name that is the last event, in a spot that may get too many. */
static pdr_rc take_name(struct pdr__twice *t, size_t spot, int64_t container,
                        const struct pdr__source *source, pdr_err *err)
{
    int64_t before = 0;
    pdr_rc rc = PDR_OK;

    if (has_too_many(t, spot))
        return PDR_OK; /* pdr__twice_check() says so, if it matters */
    rc = note_name(&before, t, container, source->value, source->begin, err);
    if (rc != PDR_OK)
        return rc;
    t->tally[spot].names += before == 0;
    t->tally[spot].early += before != 0;
    if (before == 0 || has_too_many(t, spot))
        return PDR_OK;
    if (t->count == t->cap) {
        size_t cap = t->cap == 0 ? 16 : t->cap * 2;
        int64_t *grown = pdr__realloc(t->early, cap * sizeof(*grown));

        if (grown == NULL)
            return pdr__nomem(err);
        t->early = grown;
        t->cap = cap;
    }
    t->early[t->count++] = before;
    return PDR_OK;
}

/* Walk over a value that has just begun; `spot` is PDR_NO_SPOT if its names do
 * not matter. */
static pdr_rc find_names(struct pdr__twice *t, struct pdr__source *source,
                         size_t spot, pdr_err *err)
{
    size_t outside = source->depth - 1;
    int64_t container = source->begin;
    pdr_rc rc = PDR_OK;

    if (!pdr__source_begins(source))
        return PDR_OK;
    if (spot == PDR_NO_SPOT || source->event != PDR_BEGIN_OBJECT) {
        while (source->depth > outside)
            PDR_TRY(pdr__source_next(source, err));
        return PDR_OK;
    }
    PDR_TRY(pdr__source_next(source, err));
    while (source->event == PDR_NAME) {
        enum pdr__spot_kind kind = t->every.spots[spot].kind;
        size_t child = pdr__layout_child(&t->every, spot, source->value);

        if (child != PDR_NO_SPOT || kind == PDR_SPOT_BAG ||
            kind == PDR_SPOT_PROPERTIES)
            PDR_TRY(take_name(t, spot, container, source, err));
        PDR_TRY(pdr__source_next(source, err));
        PDR_TRY(find_names(t, source, child, err));
        PDR_TRY(pdr__source_next(source, err));
    }
done:
    return rc;
}

static int compare_places(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

pdr_rc pdr__twice_find(struct pdr__twice *twice, struct pdr__source *source,
                       pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    twice->looked = INT64_MAX;
    PDR_TRY(pdr__source_start(source, true, err));
    PDR_TRY(pdr__source_next(source, err));
    PDR_TRY(find_names(twice, source, 0, err));
    while (source->event != PDR_END_OF_INPUT)
        PDR_TRY(pdr__source_next(source, err));
done:
    if (source->cut) {
        rc = PDR_OK;
        twice->looked = source->begin + 1; /* of the last event */
    }
    if (twice->count > 0)
        qsort(twice->early, twice->count, sizeof(*twice->early),
              compare_places);
    return rc;
}

pdr_rc pdr__twice_check(const struct pdr__twice *twice,
                        const struct pdr__layout *layout, pdr_err *err)
{
    const struct pdr__layout *every = &twice->every;
    size_t same[PDR_SPOTS] = {0}; /* the spot of `every` that a spot is */

    for (size_t i = 0; i < layout->count; i++) {
        const struct pdr__spot *spot = &layout->spots[i];
        size_t k = i > 0 ? 1 : 0;

        while (k > 0 && k < every->count &&
               (every->spots[k].parent != same[spot->parent] ||
                strcmp(every->spots[k].name, spot->name) != 0))
            k++;
        assert(k < every->count); /* T2 */
        same[i] = k;
        if (twice->tally[k].early > PDR_MAX_SLOTS)
            return PDR_FAIL(err, TOO_MANY_SLOTS,
                            "more than %u names occur here a second time",
                            PDR_MAX_SLOTS);
        if (has_too_many(twice, k))
            return too_many_names(err);
    }
    return PDR_OK;
}

pdr_rc pdr__twice_ask(bool *early, struct pdr__twice *twice, int64_t container,
                      const pdr_value *name, int64_t at, pdr_err *err)
{
    int64_t before = 0;
    pdr_rc rc = PDR_OK;

    *early = twice->count > 0 && bsearch(&at, twice->early, twice->count,
                                         sizeof(at), compare_places) != NULL;
    if (*early || at < twice->looked)
        return PDR_OK;
    rc = note_name(&before, twice, container, name, at, err);
    if (rc == PDR_OK && before != 0 && before != at)
        rc = PDR_FAIL_AT(err, (size_t)at, MEMBER_LATE,
                         "this name occurs here a second time, after the "
                         "first %zu bytes; leave one of the two members out",
                         PDR_LOOK_BYTES);
    return rc;
}
