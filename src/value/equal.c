/*
 * equal.c - are two values the same?
 *
 * WHY  Two questions are asked. "Did anything get lost?" wants the same members
 *      in the same order and numbers spelled alike: pdr_value_equal(). "Do they
 *      mean the same?" lets members stand in any order:
 *      pdr_value_equal_unordered(). Neither looks at white space or at how a
 *      string is escaped.
 *
 * COST  Both visit each node once. The ordered comparison needs no memory. The
 *      unordered one needs some only for objects whose names differ in order,
 *      and for the time in which it is inside them.
 *
 * RECURSION  As deep as the values, which PDR_MAX_DEPTH bounds.
 *
 * NOT HERE  Comparing the text of strings (text.c), members by name
 *           (members.c).
 */
#include "compare.h"

static bool same_scalar(const pdr_value *a, const pdr_value *b)
{
    pdr_str raw_a, raw_b;

    if (pdr_value_kind(a) == PDR_STRING)
        return pdr__value_same_text(a, b);
    return pdr_value_raw(&raw_a, a) && pdr_value_raw(&raw_b, b) &&
           pdr_str_equal(raw_a, raw_b);
}

static bool same_shape(const pdr_value *a, const pdr_value *b)
{
    return pdr_value_kind(a) == pdr_value_kind(b) &&
           pdr_value_count(a) == pdr_value_count(b);
}

static bool is_container(const pdr_value *value)
{
    pdr_kind kind = pdr_value_kind(value);

    return kind == PDR_ARRAY || kind == PDR_OBJECT;
}

static bool equal_parts(const pdr_value *a, const pdr_value *b)
{
    pdr_iter at, bt;

    if (a == b)
        return true;
    if (!same_shape(a, b))
        return false;
    if (!is_container(a))
        return same_scalar(a, b);
    pdr_iter_init(&at, a);
    pdr_iter_init(&bt, b);
    while (pdr_iter_next(&at) && pdr_iter_next(&bt)) {
        if (at.name != NULL && !pdr__value_same_text(at.name, bt.name))
            return false;
        if (!equal_parts(at.value, bt.value))
            return false;
    }
    return true;
}

bool pdr_value_equal(const pdr_value *a, const pdr_value *b)
{
    pdr_str raw_a, raw_b;

    if (a == NULL || b == NULL)
        return a == b;
    /* The same text is the same value. Asked once, at the top: below, a text
     * that differs at its end would be read again at each level. */
    if (pdr_value_raw(&raw_a, a) && pdr_value_raw(&raw_b, b) &&
        pdr_str_equal(raw_a, raw_b))
        return true;
    return equal_parts(a, b);
}

/* --- in any order -------------------------------------------------------- */

static pdr_rc equal_any(bool *out, const pdr_value *a, const pdr_value *b,
                        pdr_buf *scratch, pdr_err *err);

/* The first `count` members or elements, each with the one at its position. */
static pdr_rc equal_in_step(bool *out, const pdr_value *a, const pdr_value *b,
                            size_t count, pdr_buf *scratch, pdr_err *err)
{
    pdr_iter at, bt;
    pdr_rc rc = PDR_OK;

    *out = true;
    pdr_iter_init(&at, a);
    pdr_iter_init(&bt, b);
    for (size_t i = 0; i < count && *out && rc == PDR_OK; i++) {
        if (!pdr_iter_next(&at) || !pdr_iter_next(&bt))
            break;
        rc = equal_any(out, at.value, bt.value, scratch, err);
    }
    return rc;
}

/* Members from `first` on, where the names begin to differ. Not inline: each
 * level of the usual way would carry its variables on the stack. */
static __attribute__((noinline)) pdr_rc equal_by_name(
    bool *out, const pdr_value *a, const pdr_value *b, size_t first,
    pdr_buf *scratch, pdr_err *err)
{
    struct pdr__match match = {0};
    pdr_iter at;

    pdr_rc rc = pdr__match_members(&match, a, b, first, scratch, err);
    if (rc != PDR_OK)
        return rc;
    *out = match.matched == match.count_a;
    pdr__iter_skip(&at, a, first);
    for (size_t i = 0; i < match.count_a && *out && rc == PDR_OK; i++) {
        if (!pdr_iter_next(&at))
            break;
        rc = equal_any(out, at.value, match.b[match.mate[i]].value, scratch,
                       err);
    }
    pdr__match_dispose(&match);
    return rc;
}

static pdr_rc equal_any(bool *out, const pdr_value *a, const pdr_value *b,
                        pdr_buf *scratch, pdr_err *err)
{
    *out = a == b;
    if (*out || !same_shape(a, b))
        return PDR_OK;
    if (!is_container(a)) {
        *out = same_scalar(a, b);
        return PDR_OK;
    }
    size_t count = pdr_value_count(a);
    if (pdr_value_kind(a) == PDR_ARRAY)
        return equal_in_step(out, a, b, count, scratch, err);
    size_t in_step = pdr__same_names(a, b);
    if (in_step < count) {
        pdr_rc rc = equal_by_name(out, a, b, in_step, scratch, err);
        if (rc != PDR_OK || !*out)
            return rc;
    }
    return equal_in_step(out, a, b, in_step, scratch, err);
}

pdr_rc pdr_value_equal_unordered(bool *out, const pdr_value *a,
                                 const pdr_value *b, pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    bool is_equal = false;

    PDR_REQUIRE(out != NULL && a != NULL && b != NULL);
    pdr_rc rc = equal_any(&is_equal, a, b, &scratch, err);
    *out = rc == PDR_OK && is_equal;
    pdr_buf_dispose(&scratch);
    return rc;
}
