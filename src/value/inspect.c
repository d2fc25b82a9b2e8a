/*
 * inspect.c - what is valid JSON and yet not read alike by everybody.
 *
 * WHY  RFC 8259 allows two members of one name and escapes that are half a
 *      surrogate pair. We keep both, other programs drop, merge or refuse them.
 *      Whoever hands a document on wants to know before.
 *
 * COST  One visit per node. Small objects compare each name with those before
 *      it, mostly by length; large ones find repeated names through a table
 *      (members.c), which is gone before the walk goes down; a bit per member
 *      stays.
 *
 * RECURSION  As deep as the value, which PDR_MAX_DEPTH bounds.
 */
#include "compare.h"

struct inspection {
    struct pdr__trail trail;
    pdr_err *err;      /* borrowed; may be NULL */
    pdr_finding_fn fn; /* borrowed with `arg` */
    void *arg;
};

static pdr_rc inspect_value(struct inspection *in, struct pdr__place *place,
                            const pdr_value *value);

/* A scalar about which there is nothing to say: most nodes are one. */
static bool is_quiet(const pdr_value *v)
{
    return !node_is_container(v) &&
           (node_kind(v) != NODE_STRING || (v->info & NODE_LONE) == 0);
}

static pdr_rc report(struct inspection *in, pdr_finding_kind kind,
                     struct pdr__place *place, const pdr_value *value)
{
    pdr_finding finding = {.kind = kind, .value = value};

    pdr_rc rc = pdr__trail_pointer(&finding.pointer, &in->trail, PDR__SIDE_A,
                                   place, in->err);
    if (rc != PDR_OK)
        return rc;
    return in->fn(&finding, in->err, in->arg);
}

static pdr_rc inspect_string(struct inspection *in, struct pdr__place *place,
                             const pdr_value *string)
{
    if (!pdr_value_has_lone_surrogate(string))
        return PDR_OK;
    return report(in, PDR_FOUND_LONE_SURROGATE, place, string);
}

/* --- objects ------------------------------------------------------------- */

/* Most names are told apart by their length. */
static bool is_same_name(const pdr_value *a, const pdr_value *b)
{
    bool escaped = ((a->info | b->info) & NODE_FLAG) != 0;

    return (escaped || a->len == b->len) && pdr__value_same_text(a, b);
}

_Static_assert(PDR_INDEX_MIN <= 32, "a bit for each member");

/* Which members of a small object have a name that occurred before? A bit
 * each. */
static uint32_t small_repeats(const pdr_value *object)
{
    const pdr_value *names[PDR_INDEX_MIN];
    uint32_t bits = 0;
    pdr_iter it;

    pdr_iter_init(&it, object);
    while (pdr_iter_next(&it)) {
        size_t i = 0;
        while (i < it.index && !is_same_name(names[i], it.name))
            i++;
        bits |= (uint32_t)(i < it.index) << it.index;
        names[it.index] = it.name;
    }
    return bits;
}

static bool has_bit(const uint8_t *bits, size_t at)
{
    return ((unsigned)bits[at / 8] >> (at % 8) & 1u) != 0;
}

static pdr_rc inspect_member(struct inspection *in, struct pdr__place *up,
                             const pdr_iter *it, bool repeated)
{
    struct pdr__place place = {.up = up, .name = it->name};
    pdr_rc rc = PDR_OK;

    if (repeated)
        rc = report(in, PDR_FOUND_DUPLICATE, &place, it->name);
    if (rc == PDR_OK)
        rc = inspect_string(in, &place, it->name);
    if (rc == PDR_OK)
        rc = inspect_value(in, &place, it->value);
    pdr__trail_leave(&in->trail, &place);
    return rc;
}

static pdr_rc inspect_object(struct inspection *in, struct pdr__place *up,
                             const pdr_value *object)
{
    uint8_t *bits = NULL; /* NULL for small objects */
    uint32_t few = 0;     /* the bits of these */
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (pdr_value_count(object) > PDR_INDEX_MIN)
        rc = pdr__repeated_names(&bits, object, &in->trail.scratch, in->err);
    else
        few = small_repeats(object);
    pdr_iter_init(&it, object);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        bool repeated = bits != NULL ? has_bit(bits, it.index)
                                     : (few >> it.index & 1u) != 0;
        if (repeated || !is_quiet(it.name) || !is_quiet(it.value))
            rc = inspect_member(in, up, &it, repeated);
    }
    pdr__free(bits);
    return rc;
}

/* --- everything ---------------------------------------------------------- */

static pdr_rc inspect_array(struct inspection *in, struct pdr__place *up,
                            const pdr_value *array)
{
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, array);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        struct pdr__place place = {.up = up, .index = {it.index}};
        if (is_quiet(it.value))
            continue;
        rc = inspect_value(in, &place, it.value);
        pdr__trail_leave(&in->trail, &place);
    }
    return rc;
}

static pdr_rc inspect_value(struct inspection *in, struct pdr__place *place,
                            const pdr_value *value)
{
    switch (pdr_value_kind(value)) {
    case PDR_STRING:
        return inspect_string(in, place, value);
    case PDR_ARRAY:
        return inspect_array(in, place, value);
    case PDR_OBJECT:
        return inspect_object(in, place, value);
    case PDR_NULL:
    case PDR_BOOL:
    case PDR_NUMBER:
        break;
    }
    return PDR_OK;
}

pdr_rc pdr_value_inspect(const pdr_value *value, pdr_err *err,
                         pdr_finding_fn fn, void *arg)
{
    struct inspection in = {.err = err, .fn = fn, .arg = arg};

    PDR_REQUIRE(value != NULL && fn != NULL);
    pdr__trail_init(&in.trail);
    pdr_rc rc = inspect_value(&in, NULL, value);
    pdr__trail_dispose(&in.trail);
    return rc;
}
