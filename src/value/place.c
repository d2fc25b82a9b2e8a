/*
 * place.c - where a walk over a value is, as a JSON Pointer.
 *
 * WHY  A walk reports few places and visits many. So each level of it keeps a
 *      step on its stack, and the text of the pointer is only written when
 *      somebody asks. Each step is written at most once, and cut off when the
 *      walk leaves it: no pointer is built anew per element.
 *
 * INVARIANTS
 *   T1  On each side the steps that are written are the outermost ones,
 *       without a hole.
 *   T2  `mark` of a written step is the length of the text before it.
 */
#include "compare.h"

_Static_assert(PDR_MAX_POINTER_BYTES <= UINT32_MAX, "a mark has 32 bits");

void pdr__trail_init(struct pdr__trail *trail)
{
    for (int side = PDR__SIDE_A; side <= PDR__SIDE_B; side++)
        trail->pointer[side] = (pdr_buf)PDR_BUF_INIT(PDR_MAX_POINTER_BYTES);
    trail->scratch = (pdr_buf)PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
}

void pdr__trail_dispose(struct pdr__trail *trail)
{
    for (int side = PDR__SIDE_A; side <= PDR__SIDE_B; side++)
        pdr_buf_dispose(&trail->pointer[side]);
    pdr_buf_dispose(&trail->scratch);
}

static pdr_rc write_step(struct pdr__trail *trail, enum pdr__side side,
                         const struct pdr__place *place, pdr_err *err)
{
    pdr_buf *pointer = &trail->pointer[side];
    pdr_str name;

    if (place->name == NULL)
        return pdr_buf_printf(pointer, err, "/%zu", place->index[side]);
    pdr_rc rc = pdr__value_name_bytes(&name, place->name, &trail->scratch, err);
    if (rc != PDR_OK)
        return rc;
    return pdr_pointer_push(pointer, name, err);
}

/* Recursion: as deep as the value, and only a few words a level. */
static pdr_rc write_steps(struct pdr__trail *trail, enum pdr__side side,
                          struct pdr__place *place, pdr_err *err)
{
    if (place == NULL || place->is_written[side])
        return PDR_OK;
    pdr_rc rc = write_steps(trail, side, place->up, err); /* T1 */
    if (rc != PDR_OK)
        return rc;
    place->mark[side] = (uint32_t)trail->pointer[side].len;
    rc = write_step(trail, side, place, err);
    place->is_written[side] = rc == PDR_OK;
    return rc;
}

pdr_rc pdr__trail_pointer(pdr_str *out, struct pdr__trail *trail,
                          enum pdr__side side, struct pdr__place *place,
                          pdr_err *err)
{
    pdr_rc rc = write_steps(trail, side, place, err);

    *out = pdr_buf_str(&trail->pointer[side]);
    return rc;
}

void pdr__trail_leave(struct pdr__trail *trail, const struct pdr__place *place)
{
    for (int side = PDR__SIDE_A; side <= PDR__SIDE_B; side++)
        if (place->is_written[side])
            trail->pointer[side].len = place->mark[side]; /* T2 */
}
