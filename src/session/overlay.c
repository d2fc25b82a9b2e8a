/*
 * overlay.c - what a type writes, laid over what was stored.
 *
 * WHY  A type knows some members of a value; another program put others beside
 *      them. Writing the object alone would lose those, and would respell what
 *      it did not change: 1.0 as 1, a date in another form. The stored value
 *      and the new one do not tell what the type knows. So there are three:
 *
 *        raw      {"a":1.0, "x":7, "b":2}   as it is stored
 *        before   {"a":1, "b":2}            the same, through the type
 *        after    {"a":1, "c":3}            the changed object
 *        ─────────────────────────────────
 *        result   {"a":1.0, "x":7, "c":3}
 *
 *      Not in `before`: unknown to the type, stays. The same in `before` and
 *      `after`: not changed, keeps its spelling in `raw`. Gone in `after`:
 *      removed. The rest is new.
 *
 * ELEMENTS have no names. Equal ones are paired, then like ones (align.c), and
 *      where as many are left between two pairs before as after, these one by
 *      one. What has no mate is taken as the type gave it. So what is unknown
 *      of one element does not go to its neighbour when the list moves up.
 *
 * DUPLICATES  A type reads the last member of a name, so that is the one that
 *      changes, and earlier ones stay; a name that is removed goes with all of
 *      them. A type that itself writes a name twice gets what it wrote, at the
 *      end.
 */
#include "bag_core.h"
#include "compare.h"

/* One overlay. */
struct overlay {
    pdr_buf scratch; /* a decoded name */
    size_t credit;   /* see pdr__align() */
    pdr_err *err;    /* borrowed; may be NULL */
};

/* Recurses where all of them are objects or arrays, so not deeper than the
 * value with the fewest levels. `before` may be NULL: nobody knows what the
 * type knew, so what `after` lacks stays. */
static pdr_rc merge(pdr_value **out, struct overlay *o, const pdr_value *raw,
                    const pdr_value *before, const pdr_value *after);

/* --- objects ------------------------------------------------------------- */

/* A member of `raw` that is the last of its name; *io is the result so far. */
static pdr_rc merge_member(pdr_value **io, struct overlay *o,
                           const pdr_iter *member, const pdr_value *before,
                           const pdr_value *after)
{
    pdr_value *merged = NULL;
    pdr_str name = {NULL, 0};

    pdr_rc rc = merge(&merged, o, member->value, before, after);
    if (rc == PDR_OK && merged != member->value) {
        /* Deeper levels used the scratch for their names. */
        rc = pdr__value_name_bytes(&name, member->name, &o->scratch, o->err);
        if (rc == PDR_OK)
            rc = pdr_value_set(io, name, merged, o->err);
    }
    pdr_value_free(merged);
    return rc;
}

/* Names that `after` has twice: *io gives up its own. */
static pdr_rc drop_repeated(pdr_value **io, struct overlay *o,
                            const pdr_value *after)
{
    pdr_rc rc = PDR_OK;
    pdr_str name = {NULL, 0};
    pdr_iter it;

    pdr_iter_init(&it, after);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        rc = pdr__value_name_bytes(&name, it.name, &o->scratch, o->err);
        if (rc == PDR_OK && !pdr__iter_is_last(&it, name) &&
            pdr_value_get(*io, name) != NULL)
            rc = pdr_value_remove(io, name, o->err);
    }
    return rc;
}

static pdr_rc merge_known(pdr_value **io, struct overlay *o,
                          const pdr_value *raw, const pdr_value *before,
                          const pdr_value *after)
{
    pdr_rc rc = PDR_OK;
    pdr_str name = {NULL, 0};
    pdr_iter it;

    pdr_iter_init(&it, raw);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        rc = pdr__value_name_bytes(&name, it.name, &o->scratch, o->err);
        if (rc != PDR_OK || !pdr__iter_is_last(&it, name) ||
            pdr_value_get(*io, name) == NULL)
            continue;
        const pdr_value *was = pdr_value_get(before, name);
        const pdr_value *is = pdr_value_get(after, name);
        if (is != NULL)
            rc = merge_member(io, o, &it, was, is);
        else if (was != NULL)
            rc = pdr_value_remove(io, name, o->err);
    }
    return rc;
}

/* Members of `after` that `kept`, a value without them, does not have. */
static pdr_rc add_new(pdr_value **io, struct overlay *o, const pdr_value *kept,
                      const pdr_value *after)
{
    pdr_rc rc = PDR_OK;
    pdr_str name = {NULL, 0};
    pdr_iter it;

    pdr_iter_init(&it, after);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        rc = pdr__value_name_bytes(&name, it.name, &o->scratch, o->err);
        if (rc == PDR_OK && pdr_value_get(kept, name) == NULL)
            rc = pdr__value_add_member(io, it.name, it.value, o->err);
    }
    return rc;
}

static pdr_rc merge_objects(pdr_value **out, struct overlay *o,
                            const pdr_value *raw, const pdr_value *before,
                            const pdr_value *after)
{
    pdr_value *result = pdr_value_ref(raw), *kept = NULL;

    pdr_rc rc = drop_repeated(&result, o, after);
    if (rc == PDR_OK)
        rc = merge_known(&result, o, raw, before, after);
    kept = pdr_value_ref(result);
    if (rc == PDR_OK)
        rc = add_new(&result, o, kept, after);
    pdr_value_free(kept);
    if (rc == PDR_OK) {
        *out = result;
        result = NULL;
    }
    pdr_value_free(result);
    return rc;
}

/* --- arrays -------------------------------------------------------------- */

/* Elements from `first` to before `end` of all three, one by one; they go to
 * their place in *io. */
static pdr_rc merge_places(pdr_value **io, struct overlay *o,
                           const pdr_value *raw, const pdr_value *before,
                           const pdr_value *after, size_t first, size_t end)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = first; rc == PDR_OK && i < end; i++) {
        const pdr_value *old = pdr_value_at(raw, i);
        pdr_value *merged = NULL;

        rc = merge(&merged, o, old, pdr_value_at(before, i),
                   pdr_value_at(after, i));
        if (rc == PDR_OK && merged != old)
            rc = pdr_value_replace(io, i, merged, o->err);
        pdr_value_free(merged);
    }
    return rc;
}

static pdr_rc append_from(pdr_value **io, struct overlay *o,
                          const pdr_value *after, size_t first)
{
    pdr_rc rc = PDR_OK;
    pdr_iter it;

    pdr__iter_skip(&it, after, first);
    while (rc == PDR_OK && pdr_iter_next(&it))
        rc = pdr_value_append(io, it.value, o->err);
    return rc;
}

/* Two arrays that are aligned: which element of `before` is which of `after`.
 */
struct pairs {
    const pdr_value *before, *after; /* borrowed */
    size_t *mate;                    /* owned; per element of `before` */
    uint64_t *key_before;            /* owned; hashes */
    uint64_t *key_after;             /* owned */
};

static pdr_rc pair_by(struct pairs *p, struct overlay *o,
                      struct pdr__likes *likes, enum pdr__likeness likeness)
{
    pdr_rc rc =
        pdr__likes_hash(p->key_before, likes, p->before, likeness, o->err);

    if (rc == PDR_OK)
        rc = pdr__likes_hash(p->key_after, likes, p->after, likeness, o->err);
    if (rc == PDR_OK)
        rc = pdr__align(p->mate, p->key_before, pdr_value_count(p->before),
                        p->key_after, pdr_value_count(p->after), &o->credit,
                        o->err);
    return rc;
}

/* Between two pairs with as many elements before as after: one by one. */
static void pair_gaps(struct pairs *p)
{
    size_t count = pdr_value_count(p->before),
           total = pdr_value_count(p->after);
    size_t from = 0, next = 0;

    for (size_t i = 0; i <= count; i++) {
        size_t mate = i < count ? p->mate[i] : total;

        if (mate == PDR__NONE)
            continue;
        for (size_t k = from; i - from == mate - next && k < i; k++)
            p->mate[k] = next + (k - from);
        from = i + 1;
        next = mate + 1;
    }
}

static void pairs_dispose(struct pairs *p)
{
    pdr__free(p->mate);
    pdr__free(p->key_before);
    pdr__free(p->key_after);
}

static pdr_rc pair(struct pairs *p, struct overlay *o, const pdr_value *before,
                   const pdr_value *after)
{
    size_t count = pdr_value_count(before), total = pdr_value_count(after);
    struct pdr__likes likes;

    p->before = before;
    p->after = after;
    p->mate = pdr__calloc(count + 1, sizeof(*p->mate));
    p->key_before = pdr__calloc(count + 1, sizeof(*p->key_before));
    p->key_after = pdr__calloc(total + 1, sizeof(*p->key_after));
    if (p->mate == NULL || p->key_before == NULL || p->key_after == NULL)
        return pdr__nomem(o->err);
    for (size_t i = 0; i < count; i++)
        p->mate[i] = PDR__NONE;
    o->credit += PDR_DIFF_CELLS_PER_ELEMENT * (count + total);
    pdr__likes_init(&likes, &o->scratch);
    pdr_rc rc = pair_by(p, o, &likes, PDR__LIKE_SAME);
    if (rc == PDR_OK)
        rc = pair_by(p, o, &likes, PDR__LIKE_CLOSE);
    pdr__likes_dispose(&likes);
    if (rc == PDR_OK)
        pair_gaps(p);
    return rc;
}

/* The elements of `after`, each over its mate. */
static pdr_rc join_pairs(pdr_value **io, struct overlay *o,
                         const struct pairs *p, const pdr_value *raw)
{
    size_t count = pdr_value_count(p->before), at = 0;
    pdr_rc rc = PDR_OK;
    pdr_iter it;

    pdr_iter_init(&it, p->after);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        pdr_value *merged = NULL;

        while (at < count &&
               (p->mate[at] == PDR__NONE || p->mate[at] < it.index))
            at++;
        if (at < count && p->mate[at] == it.index)
            rc = merge(&merged, o, pdr_value_at(raw, at),
                       pdr_value_at(p->before, at), it.value);
        else
            merged = pdr_value_ref(it.value);
        if (rc == PDR_OK)
            rc = pdr_value_append(io, merged, o->err);
        pdr_value_free(merged);
    }
    return rc;
}

/* Elements at the front that are equal. */
static size_t same_at_front(const pdr_value *a, const pdr_value *b)
{
    size_t same = 0;
    pdr_iter at, bt;

    pdr_iter_init(&at, a);
    pdr_iter_init(&bt, b);
    while (pdr_iter_next(&at) && pdr_iter_next(&bt) &&
           pdr_value_equal(at.value, bt.value))
        same++;
    return same;
}

/* Do elements behind `first` differ in two lists of the same length? */
static bool differs_behind(const pdr_value *a, const pdr_value *b, size_t first)
{
    bool same = true;
    pdr_iter at, bt;

    pdr__iter_skip(&at, a, first + 1);
    pdr__iter_skip(&bt, b, first + 1);
    while (same && pdr_iter_next(&at) && pdr_iter_next(&bt))
        same = pdr_value_equal(at.value, bt.value);
    return !same;
}

/* Does each element have the one at its own place as its mate? */
static bool is_in_place(const struct pairs *p)
{
    size_t count = pdr_value_count(p->before);

    if (count != pdr_value_count(p->after))
        return false;
    for (size_t i = 0; i < count; i++)
        if (p->mate[i] != i)
            return false;
    return true;
}

/* Elements that came, went or moved, beside those that changed. */
static pdr_rc merge_paired(pdr_value **out, struct overlay *o,
                           const pdr_value *raw, const pdr_value *before,
                           const pdr_value *after)
{
    struct pairs pairs = {NULL, NULL, NULL, NULL, NULL};
    pdr_rc rc = pair(&pairs, o, before, after);

    if (rc == PDR_OK && is_in_place(&pairs)) {
        *out = pdr_value_ref(raw);
        rc = merge_places(out, o, raw, before, after, 0,
                          pdr_value_count(before));
    } else if (rc == PDR_OK) {
        *out = pdr_value_new_array();
        rc = join_pairs(out, o, &pairs, raw);
    }
    pairs_dispose(&pairs);
    return rc;
}

/* `before` and `after` differ; `raw` has as many elements as `before`. */
static pdr_rc merge_arrays(pdr_value **out, struct overlay *o,
                           const pdr_value *raw, const pdr_value *before,
                           const pdr_value *after)
{
    size_t count = pdr_value_count(before);
    size_t front = same_at_front(before, after);
    pdr_rc rc = PDR_OK;

    if (front == count) { /* it only grew */
        *out = pdr_value_ref(raw);
        rc = append_from(out, o, after, front);
    } else if (count == pdr_value_count(after) &&
               !differs_behind(before, after, front)) {
        *out = pdr_value_ref(raw);
        rc = merge_places(out, o, raw, before, after, front, front + 1);
    } else {
        rc = merge_paired(out, o, raw, before, after);
    }
    if (rc != PDR_OK) {
        pdr_value_free(*out);
        *out = NULL;
    }
    return rc;
}

/* --- any value ----------------------------------------------------------- */

static bool are(pdr_kind kind, const pdr_value *raw, const pdr_value *after)
{
    return pdr_value_kind(raw) == kind && pdr_value_kind(after) == kind;
}

static pdr_rc merge(pdr_value **out, struct overlay *o, const pdr_value *raw,
                    const pdr_value *before, const pdr_value *after)
{
    *out = NULL;
    if (before != NULL && pdr_value_equal(before, after)) {
        *out = pdr_value_ref(raw);
        return PDR_OK;
    }
    if (are(PDR_OBJECT, raw, after) &&
        (before == NULL || pdr_value_kind(before) == PDR_OBJECT))
        return merge_objects(out, o, raw, before, after);
    if (are(PDR_ARRAY, raw, after) && before != NULL &&
        pdr_value_kind(before) == PDR_ARRAY &&
        pdr_value_count(raw) == pdr_value_count(before))
        return merge_arrays(out, o, raw, before, after);
    *out = pdr_value_ref(after);
    return PDR_OK;
}

pdr_rc pdr__overlay(pdr_value **out, const pdr_value *raw,
                    const pdr_value *before, const pdr_value *after,
                    pdr_err *err)
{
    struct overlay o = {PDR_BUF_INIT(SIZE_MAX), PDR_DIFF_TABLE_CELLS, err};
    pdr_rc rc = merge(out, &o, raw, before, after);

    pdr_buf_dispose(&o.scratch);
    return rc;
}
