/*
 * diff.c - how one value differs from another, as a list of places.
 *
 * WHY  A person wants to see what happened to a document: few changes, at the
 *      places where they happened, in the order of the document. A program
 *      wants to apply them. Neither is helped by text lines.
 *
 * DECISIONS
 *   Members belong together by name, the k-th of a name with the k-th. Order is
 *   no change of a member: objects whose common members stand in another order
 *   are reported once, as REORDERED, before their members.
 *   Elements have no names, so arrays are aligned (align.c) by the hashes of
 *   likeness.c, in four steps: equal elements; objects that begin with the same
 *   two scalars; objects with the same first member, others of the same kind;
 *   and what is left between these by position. Each step only fills what the
 *   one before left open. A pair that is not equal is descended into; what has
 *   no partner was added or removed.
 *   A moved element is one removed and one added. A report of moves was
 *   refused: nobody can apply it without rules about the order of indexes.
 *   Hashes only propose. Every pair is compared afterwards, so a collision can
 *   make a report longer but never wrong.
 *
 * ORDER  Members and elements of `a` as they stand; what was added comes where
 *      it stands in `b` between the common ones, behind what was removed at
 *      that place.
 *
 * COST  Each node is hashed once (likeness.c) and compared at most twice: as a
 *      part of an element that looks equal, and if it was not after all, once
 *      more on the way down; no element is compared as a whole that does not
 *      look equal. Aligning takes n log n per array. Pointers are written
 *      only where something is reported (place.c), so equal documents need no
 *      memory at all.
 *
 * RECURSION  As deep as the values, which PDR_MAX_DEPTH bounds. What a level
 *      has to remember is large, so it lies on the heap and is used again.
 *
 * INVARIANT
 *   D1  What is reported for a pair is nothing if and only if the two are
 *       equal (pdr_value_equal()).
 */
#include "compare.h"

/* Two arrays side by side. */
struct sides {
    const pdr_value *a, *b; /* borrowed */
    size_t count_a, count_b;
    size_t *mate;    /* owned; per element of a, see pdr__align() */
    uint64_t *key_a; /* owned; hash per element, LIKE_SAME */
    uint64_t *key_b; /* owned */
};

/* What the walk remembers of one pair of containers that it is in. */
struct level {
    struct level *deeper;    /* owned; NULL if nobody was there yet */
    pdr_iter at, bt;         /* where it is in a and b */
    struct pdr__place place; /* the member or element that is compared */
    struct pdr__match match; /* of two objects */
    struct sides sides;      /* of two arrays */
};

struct diff {
    struct pdr__trail trail;
    struct pdr__likes likes;
    struct level *levels; /* owned; the outermost */
    struct level **next;  /* where the level below the current one hangs */
    size_t credit;        /* table cells, see pdr__align() */
    pdr_err *err;         /* borrowed; may be NULL */
    pdr_change_fn fn;     /* borrowed with `arg` */
    void *arg;
};

/* `is_alike`: the two look equal but for the order of members, so elements need
 * no alignment. */
static pdr_rc diff_values(struct diff *d, struct pdr__place *place,
                          const pdr_value *a, const pdr_value *b,
                          bool is_alike);

static pdr_rc report(struct diff *d, pdr_change_kind kind,
                     struct pdr__place *place, const pdr_value *before,
                     const pdr_value *after)
{
    pdr_change change = {.kind = kind, .before = before, .after = after};
    enum pdr__side side = kind == PDR_ADDED ? PDR__SIDE_B : PDR__SIDE_A;

    pdr_rc rc =
        pdr__trail_pointer(&change.pointer, &d->trail, side, place, d->err);
    if (rc != PDR_OK)
        return rc;
    return d->fn(&change, d->err, d->arg);
}

/* Report a member or element that only one side has. */
static pdr_rc report_single(struct diff *d, struct pdr__place *up,
                            pdr_change_kind kind, const pdr_value *name,
                            size_t index, const pdr_value *value)
{
    struct pdr__place place = {.up = up, .name = name, .index = {index, index}};

    pdr_rc rc = report(d, kind, &place, kind == PDR_REMOVED ? value : NULL,
                       kind == PDR_ADDED ? value : NULL);
    pdr__trail_leave(&d->trail, &place);
    return rc;
}

/* --- levels -------------------------------------------------------------- */

static pdr_rc enter_level(struct level **out, struct diff *d)
{
    if (*d->next == NULL)
        *d->next = pdr__calloc(1, sizeof(**d->next));
    *out = *d->next;
    if (*out == NULL)
        return pdr__nomem(d->err);
    d->next = &(*out)->deeper;
    return PDR_OK;
}

static void free_levels(struct level *level)
{
    while (level != NULL) {
        struct level *deeper = level->deeper;
        pdr__free(level);
        level = deeper;
    }
}

/* Compare where `level` is in `a` with its partner in b, which is element
 * `index_b` if it is one. */
static pdr_rc diff_pair(struct diff *d, struct pdr__place *up,
                        struct level *level, const pdr_value *b, size_t index_b,
                        bool is_alike)
{
    level->place = (struct pdr__place){
        .up = up, .name = level->at.name, .index = {level->at.index, index_b}};
    pdr_rc rc = diff_values(d, &level->place, level->at.value, b, is_alike);
    pdr__trail_leave(&d->trail, &level->place);
    return rc;
}

/* The first `count` members or elements, each with the one at its position. */
static pdr_rc diff_in_step(struct diff *d, struct pdr__place *place,
                           struct level *level, size_t count, bool is_alike)
{
    pdr_rc rc = PDR_OK;

    while (rc == PDR_OK && count-- > 0 && pdr_iter_next(&level->at) &&
           pdr_iter_next(&level->bt))
        rc = diff_pair(d, place, level, level->bt.value, level->bt.index,
                       is_alike);
    return rc;
}

/* --- objects ------------------------------------------------------------- */

/* Report the members of b from `*j` on that are new, up to one that is not. */
static pdr_rc report_added(struct diff *d, struct pdr__place *place,
                           const struct pdr__match *match, size_t *j)
{
    pdr_rc rc = PDR_OK;

    for (; rc == PDR_OK && *j < match->count_b; ++*j) {
        const struct pdr__member *member = &match->b[*j];
        if (member->is_taken)
            break;
        rc = report_single(d, place, PDR_ADDED, member->name, 0, member->value);
    }
    return rc;
}

/* Members from where the names begin to differ. Common ones are counted off on
 * both sides, so that what is new comes at its place even where the order
 * differs. */
static pdr_rc diff_matched(struct diff *d, struct pdr__place *place,
                           struct level *level, bool is_alike)
{
    const struct pdr__match *match = &level->match;
    size_t j = 0;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; rc == PDR_OK && i < match->count_a; i++) {
        if (!pdr_iter_next(&level->at))
            break;
        if (match->mate[i] == PDR__NONE) {
            rc = report_single(d, place, PDR_REMOVED, level->at.name, 0,
                               level->at.value);
            continue;
        }
        rc = report_added(d, place, match, &j);
        j++;
        if (rc == PDR_OK)
            rc = diff_pair(d, place, level, match->b[match->mate[i]].value, 0,
                           is_alike);
    }
    return rc == PDR_OK ? report_added(d, place, match, &j) : rc;
}

static pdr_rc diff_objects(struct diff *d, struct pdr__place *place,
                           struct level *level, const pdr_value *a,
                           const pdr_value *b, bool is_alike)
{
    size_t in_step = pdr__same_names(a, b);

    pdr_iter_init(&level->at, a);
    pdr_iter_init(&level->bt, b);
    if (in_step == pdr_value_count(a) && in_step == pdr_value_count(b))
        return diff_in_step(d, place, level, in_step, is_alike);
    pdr_rc rc = pdr__match_members(&level->match, a, b, in_step,
                                   &d->trail.scratch, d->err);
    if (rc == PDR_OK && level->match.is_reordered)
        rc = report(d, PDR_REORDERED, place, a, b);
    if (rc == PDR_OK)
        rc = diff_in_step(d, place, level, in_step, is_alike);
    if (rc == PDR_OK)
        rc = diff_matched(d, place, level, is_alike);
    pdr__match_dispose(&level->match);
    return rc;
}

/* --- arrays -------------------------------------------------------------- */

static void sides_dispose(struct sides *sides)
{
    pdr__free(sides->mate);
    pdr__free(sides->key_a);
    pdr__free(sides->key_b);
}

static pdr_rc sides_init(struct sides *sides, const pdr_value *a,
                         const pdr_value *b, pdr_err *err)
{
    *sides = (struct sides){.a = a,
                            .b = b,
                            .count_a = pdr_value_count(a),
                            .count_b = pdr_value_count(b)};
    sides->mate = pdr__calloc(sides->count_a, sizeof(*sides->mate));
    sides->key_a = pdr__calloc(sides->count_a, sizeof(*sides->key_a));
    sides->key_b = pdr__calloc(sides->count_b, sizeof(*sides->key_b));
    if (sides->mate == NULL || sides->key_a == NULL || sides->key_b == NULL) {
        sides_dispose(sides);
        return pdr__nomem(err);
    }
    for (size_t i = 0; i < sides->count_a; i++)
        sides->mate[i] = PDR__NONE;
    return PDR_OK;
}

static pdr_rc align_by(struct diff *d, const struct sides *sides,
                       uint64_t *key_a, uint64_t *key_b,
                       enum pdr__likeness likeness)
{
    pdr_rc rc = pdr__likes_hash(key_a, &d->likes, sides->a, likeness, d->err);

    if (rc == PDR_OK)
        rc = pdr__likes_hash(key_b, &d->likes, sides->b, likeness, d->err);
    if (rc == PDR_OK)
        rc = pdr__align(sides->mate, key_a, sides->count_a, key_b,
                        sides->count_b, &d->credit, d->err);
    return rc;
}

static bool has_rest(const struct sides *sides)
{
    return pdr__align_has_rest(sides->mate, sides->count_a, sides->count_b);
}

/* Pair what is alike but not equal, then what is left. */
static pdr_rc align_unequal(struct diff *d, const struct sides *sides)
{
    uint64_t *key_a = pdr__calloc(sides->count_a, sizeof(*key_a));
    uint64_t *key_b = pdr__calloc(sides->count_b, sizeof(*key_b));
    pdr_rc rc = PDR_OK;

    if (key_a == NULL || key_b == NULL)
        rc = pdr__nomem(d->err);
    if (rc == PDR_OK)
        rc = align_by(d, sides, key_a, key_b, PDR__LIKE_CLOSE);
    if (rc == PDR_OK && has_rest(sides))
        rc = align_by(d, sides, key_a, key_b, PDR__LIKE_LOOSE);
    if (rc == PDR_OK)
        pdr__align_rest(sides->mate, sides->count_a, sides->count_b);
    pdr__free(key_a);
    pdr__free(key_b);
    return rc;
}

static pdr_rc align_sides(struct diff *d, const struct sides *sides)
{
    d->credit += PDR_DIFF_CELLS_PER_ELEMENT * (sides->count_a + sides->count_b);
    pdr_rc rc = align_by(d, sides, sides->key_a, sides->key_b, PDR__LIKE_SAME);
    if (rc != PDR_OK || !has_rest(sides))
        return rc;
    return align_unequal(d, sides);
}

/* Report the elements of b before position `end`. */
static pdr_rc report_inserted(struct diff *d, struct pdr__place *place,
                              pdr_iter *bt, size_t *j, size_t end)
{
    pdr_rc rc = PDR_OK;

    for (; rc == PDR_OK && *j < end && pdr_iter_next(bt); ++*j)
        rc = report_single(d, place, PDR_ADDED, NULL, *j, bt->value);
    return rc;
}

/* Descend into a pair, unless it looks equal and is. */
static pdr_rc diff_elements(struct diff *d, struct pdr__place *place,
                            struct level *level, bool is_alike)
{
    if (is_alike && pdr_value_equal(level->at.value, level->bt.value))
        return PDR_OK;
    return diff_pair(d, place, level, level->bt.value, level->bt.index,
                     is_alike);
}

static pdr_rc diff_aligned(struct diff *d, struct pdr__place *place,
                           struct level *level)
{
    const struct sides *sides = &level->sides;
    pdr_iter *at = &level->at, *bt = &level->bt;
    size_t j = 0;
    pdr_rc rc = PDR_OK;

    while (rc == PDR_OK && pdr_iter_next(at)) {
        size_t mate = sides->mate[at->index];
        if (mate == PDR__NONE) {
            rc = report_single(d, place, PDR_REMOVED, NULL, at->index,
                               at->value);
            continue;
        }
        rc = report_inserted(d, place, bt, &j, mate);
        if (rc != PDR_OK || !pdr_iter_next(bt))
            break;
        j++;
        rc = diff_elements(d, place, level,
                           sides->key_a[at->index] == sides->key_b[mate]);
    }
    return rc == PDR_OK ? report_inserted(d, place, bt, &j, sides->count_b)
                        : rc;
}

static pdr_rc diff_arrays(struct diff *d, struct pdr__place *place,
                          struct level *level, const pdr_value *a,
                          const pdr_value *b, bool is_alike)
{
    pdr_iter_init(&level->at, a);
    pdr_iter_init(&level->bt, b);
    if (is_alike && pdr_value_count(a) == pdr_value_count(b))
        return diff_in_step(d, place, level, pdr_value_count(a), true);
    pdr_rc rc = sides_init(&level->sides, a, b, d->err);
    if (rc != PDR_OK)
        return rc;
    if (level->sides.count_a > 0 && level->sides.count_b > 0)
        rc = align_sides(d, &level->sides);
    if (rc == PDR_OK)
        rc = diff_aligned(d, place, level);
    sides_dispose(&level->sides);
    return rc;
}

/* --- everything ---------------------------------------------------------- */

static pdr_rc diff_containers(struct diff *d, struct pdr__place *place,
                              const pdr_value *a, const pdr_value *b,
                              bool is_alike)
{
    struct level **here = d->next, *level = NULL;
    pdr_rc rc = enter_level(&level, d);

    if (rc != PDR_OK)
        return rc;
    rc = pdr_value_kind(a) == PDR_OBJECT
             ? diff_objects(d, place, level, a, b, is_alike)
             : diff_arrays(d, place, level, a, b, is_alike);
    d->next = here;
    return rc;
}

static pdr_rc diff_values(struct diff *d, struct pdr__place *place,
                          const pdr_value *a, const pdr_value *b, bool is_alike)
{
    pdr_kind kind = pdr_value_kind(a);
    bool is_container = kind == PDR_OBJECT || kind == PDR_ARRAY;

    if (a == b)
        return PDR_OK;
    if (kind != pdr_value_kind(b))
        return report(d, PDR_CHANGED, place, a, b);
    if (is_container)
        return diff_containers(d, place, a, b, is_alike);
    return pdr_value_equal(a, b) ? PDR_OK : report(d, PDR_CHANGED, place, a, b);
}

pdr_rc pdr_value_diff(const pdr_value *a, const pdr_value *b, pdr_err *err,
                      pdr_change_fn fn, void *arg)
{
    struct diff d = {
        .credit = PDR_DIFF_TABLE_CELLS, .err = err, .fn = fn, .arg = arg};

    PDR_REQUIRE(a != NULL && b != NULL && fn != NULL);
    if (pdr_value_equal(a, b)) /* the usual case, without memory */
        return PDR_OK;
    d.next = &d.levels;
    pdr__trail_init(&d.trail);
    pdr__likes_init(&d.likes, &d.trail.scratch);
    pdr_rc rc = diff_values(&d, NULL, a, b, false);
    free_levels(d.levels);
    pdr__likes_dispose(&d.likes);
    pdr__trail_dispose(&d.trail);
    return rc;
}
