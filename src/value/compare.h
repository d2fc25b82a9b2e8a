/*
 * compare.h - what the files that compare and inspect values share.
 */
#ifndef PDR_VALUE_COMPARE_H
#define PDR_VALUE_COMPARE_H

#include "core.h"

#define PDR__NONE SIZE_MAX /* no position, no mate */

/* --- where a walk is (place.c) ------------------------------------------- */

/* A walk goes over one value, or over two side by side. */
enum pdr__side { PDR__SIDE_A = 0, PDR__SIDE_B = 1 };

/* One step of a walk; they form a list from the innermost to the root, on the
 * stack of the walk. */
struct pdr__place {
    struct pdr__place *up; /* borrowed; NULL for a child of the root */
    const pdr_value *name; /* borrowed; the member's name, NULL in an array */
    size_t index[2];       /* of an element, per side */
    uint32_t mark[2];      /* length of the pointer before this step */
    bool is_written[2];    /* the pointer holds this step */
};

/* The pointers of the walk, written only as far as somebody asked for them. */
struct pdr__trail {
    pdr_buf pointer[2];
    pdr_buf scratch; /* decoded names; also for other uses between two calls */
};

void pdr__trail_init(struct pdr__trail *trail);
void pdr__trail_dispose(struct pdr__trail *trail);

/* The pointer of `place` on one side, NULL being the root. `out` is valid until
 * the next call on `trail`. */
pdr_rc pdr__trail_pointer(pdr_str *out, struct pdr__trail *trail,
                          enum pdr__side side, struct pdr__place *place,
                          pdr_err *err);

/* The walk leaves `place`, which must be the innermost one. */
void pdr__trail_leave(struct pdr__trail *trail, const struct pdr__place *place);

/* --- members by name (members.c) ----------------------------------------- */

struct pdr__member {
    const pdr_value *name;  /* borrowed */
    const pdr_value *value; /* borrowed */
    uint64_t hash;          /* of the name; 0 where none was needed */
    size_t next;            /* the next one of the same name, or PDR__NONE */
    bool is_taken;          /* has a mate */
};

/* Which members of two objects belong together: the k-th of a name in `a` to
 * the k-th of that name in `b`. Positions count from `first`. */
struct pdr__match {
    size_t count_a, count_b;
    size_t *mate;          /* owned; per member of a: position in b */
    struct pdr__member *b; /* owned */
    size_t matched;        /* pairs */
    bool is_reordered;     /* the pairs stand in another order in b */
};

/* Members at the front that have the same names on both sides. */
size_t pdr__same_names(const pdr_value *a, const pdr_value *b);

/* Match all members from position `first` on. */
pdr_rc pdr__match_members(struct pdr__match *out, const pdr_value *a,
                          const pdr_value *b, size_t first, pdr_buf *scratch,
                          pdr_err *err);
void pdr__match_dispose(struct pdr__match *match);

/* A walk that has gone over `count` members or elements already. */
void pdr__iter_skip(pdr_iter *it, const pdr_value *container, size_t count);

/* One bit per member of an object: has an earlier one the same name?
 * `out` is owned: release with pdr__free(). */
pdr_rc pdr__repeated_names(uint8_t **out, const pdr_value *object,
                           pdr_buf *scratch, pdr_err *err);

/* --- likeness (likeness.c) ----------------------------------------------- */

/* How much two elements must have in common for the same hash. */
enum pdr__likeness {
    PDR__LIKE_SAME = 0,  /* equal but for the order of members */
    PDR__LIKE_CLOSE = 1, /* objects: two scalars at the front; others: equal */
    PDR__LIKE_LOOSE = 2  /* objects: the first member; others: the kind */
};

/* Hashes of containers inside others, so that each is computed once. */
struct pdr__likes {
    struct pdr__like {
        const pdr_value *container; /* borrowed; NULL if free */
        uint64_t hash;
    } * slot;     /* owned */
    size_t count; /* slots in use */
    size_t cap;   /* a power of two, or 0 */
    pdr_buf *scratch;
};

void pdr__likes_init(struct pdr__likes *likes, pdr_buf *scratch);
void pdr__likes_dispose(struct pdr__likes *likes);

/* The hash of each element of `array`; `out` has room for them. */
pdr_rc pdr__likes_hash(uint64_t *out, struct pdr__likes *likes,
                       const pdr_value *array, enum pdr__likeness likeness,
                       pdr_err *err);

/* --- alignment (align.c) ------------------------------------------------- */

/*
 * Pair equal keys of two sequences so that pairs do not cross. `mate` holds per
 * key of `a` a position in `b` or PDR__NONE; pairs that are there stay, and
 * only what lies between them is aligned. `credit` is the number of table cells
 * that may still be filled; it is lowered.
 */
pdr_rc pdr__align(size_t *mate, const uint64_t *a, size_t count_a,
                  const uint64_t *b, size_t count_b, size_t *credit,
                  pdr_err *err);

/* Pair what still has no mate by position, between the pairs that are there. */
void pdr__align_rest(size_t *mate, size_t count_a, size_t count_b);

/* Is there a place where both sides still have something without a mate? */
bool pdr__align_has_rest(const size_t *mate, size_t count_a, size_t count_b);

#endif
