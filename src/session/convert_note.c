/*
 * convert_note.c - what would not come back of a converted session.
 *
 * WHY  No two shapes hold the same: one writes nulls where the other leaves out
 *      the member, names mean something here and nothing there. As with
 *      contents there is one rule instead of many: go there, go back, and write
 *      down how the source differs.
 *
 *      {"patch":[{"at":["conversationId"],"is":null},      was not there
 *                {"at":["perdure","id"],"was":"…"},        must not be there
 *                {"at":["x"],"was":1,"is":2},              is another
 *                {"at":[],"order":["stateBag","x"]}],      stands elsewhere
 *       "whole":"…"}                                 the source as JSON text
 *
 * INVARIANTS
 *   N1  A change is made only where the document still is what it was when the
 *       note was written: who changed a member in between sees his change.
 *   N2  Only the root, `perdure` and the bag are compared, slots as a whole:
 *       messages carry their own notes, which move with them.
 *   N3  "whole" is there only if the patch could not do it. It is text, so that
 *       it takes no level of the document.
 *   N4  A patch has no more than MAX_CHANGES. Each costs as much as the object
 *       has members, and a note may come from anybody.
 *   N5  No change of the root is made under a name that .NET would take for one
 *       of its own: it reads names in any case, so that the document would say
 *       there what it says nowhere else. "whole" brings such a name back.
 */
#include "convert.h"

#define MAX_CHANGES 256

/* --- objects ------------------------------------------------------------- */

pdr_rc pdr__put_member(pdr_value **io, const char *name, const pdr_value *value,
                       pdr_err *err)
{
    return pdr_value_set(io, pdr_str_c(name), value, err);
}

pdr_rc pdr__with_member(pdr_value **io, const pdr_value *name,
                        const pdr_value *value, pdr_err *err)
{
    pdr_value *made = pdr_value_new_object();
    bool done = value == NULL;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, *io);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        if (!pdr__value_same_text(it.name, name)) {
            rc = pdr__value_add_member(&made, it.name, it.value, err);
        } else if (!done) {
            rc = pdr__value_add_member(&made, it.name, value, err);
            done = true;
        }
    }
    if (rc == PDR_OK && !done)
        rc = pdr__value_add_member(&made, name, value, err);
    if (rc != PDR_OK) {
        pdr_value_free(made);
        return rc;
    }
    pdr_value_free(*io);
    *io = made;
    return PDR_OK;
}

pdr_rc pdr__with_member_c(pdr_value **io, const char *name,
                          const pdr_value *value, pdr_err *err)
{
    pdr_value *text = NULL;
    pdr_rc rc = pdr_value_new_string(&text, pdr_str_c(name), err);

    if (rc == PDR_OK)
        rc = pdr__with_member(io, text, value, err);
    pdr_value_free(text);
    return rc;
}

pdr_rc pdr__finder_member(size_t *mark, struct finder *finder,
                          const pdr_value *name, pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_str text = {NULL, 0};
    pdr_rc rc = pdr__value_name_bytes(&text, name, &scratch, err);

    if (rc == PDR_OK)
        *mark = pdr__finder_name(finder, text);
    pdr_buf_dispose(&scratch);
    return rc;
}

/* Member of that name, the last one; NULL without one, or without memory. */
static pdr_rc member_of(const pdr_value **out, const pdr_value *object,
                        const pdr_value *name, pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_str text = {NULL, 0};
    pdr_rc rc = pdr__value_name_bytes(&text, name, &scratch, err);

    *out = rc == PDR_OK ? pdr_value_get(object, text) : NULL;
    pdr_buf_dispose(&scratch);
    return rc;
}

static bool is_object(const pdr_value *value)
{
    return value != NULL && pdr_value_kind(value) == PDR_OBJECT;
}

/* --- applying ------------------------------------------------------------ */

/* Make one change in an object, if it is still as it was. */
static pdr_rc change_member(pdr_value **io, const pdr_value *name,
                            const pdr_value *was, const pdr_value *is,
                            pdr_err *err)
{
    const pdr_value *now = NULL;
    pdr_rc rc = member_of(&now, *io, name, err);

    if (rc != PDR_OK || !pdr_value_equal(now, was) ||
        (was == NULL && is == NULL))
        return rc;
    return pdr__with_member(io, name, is, err);
}

/* The members in this order, if they are just these. */
static pdr_rc reorder(pdr_value **io, const pdr_value *names, pdr_err *err)
{
    pdr_value *made = pdr_value_new_object();
    const pdr_value *value = NULL;
    bool fits = pdr_value_kind(names) == PDR_ARRAY &&
                pdr_value_count(names) == pdr_value_count(*io);
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, names);
    while (fits && rc == PDR_OK && pdr_iter_next(&it)) {
        fits = pdr_value_kind(it.value) == PDR_STRING;
        if (fits)
            rc = member_of(&value, *io, it.value, err);
        fits = fits && rc == PDR_OK && value != NULL;
        if (fits)
            rc = member_of(&value, made, it.value, err);
        fits = fits && rc == PDR_OK && value == NULL; /* named once */
        if (fits)
            rc = member_of(&value, *io, it.value, err);
        if (fits && rc == PDR_OK)
            rc = pdr__value_add_member(&made, it.value, value, err);
    }
    if (rc == PDR_OK && fits) {
        pdr_value_free(*io);
        *io = made;
        return PDR_OK;
    }
    pdr_value_free(made);
    return rc;
}

static pdr_rc apply_to(pdr_value **io, const pdr_value *name,
                       const pdr_value *change, pdr_err *err)
{
    const pdr_value *order = pdr_value_get_c(change, "order");

    if (name == NULL)
        return order != NULL ? reorder(io, order, err) : PDR_OK;
    if (pdr_value_kind(name) != PDR_STRING)
        return PDR_OK;
    return change_member(io, name, pdr_value_get_c(change, "was"),
                         pdr_value_get_c(change, "is"), err);
}

/* A change of the root, or of the object that is its member `at[0]`. */
static pdr_rc apply_change(pdr_value **io, const pdr_value *change,
                           pdr_session_shape shape, pdr_err *err)
{
    const pdr_value *at = pdr__member(change, "at", PDR_ARRAY);
    const pdr_value *first = pdr_value_at(at, 0), *child = NULL;
    bool ordering = pdr_value_get_c(change, "order") != NULL;
    pdr_value *changed = NULL;
    size_t count = pdr_value_count(at);
    pdr_rc rc = PDR_OK;

    if (at == NULL || count > 2 || pdr__is_odd_name(first, shape))
        return PDR_OK; /* not one of ours, or N5 */
    if (count == 0 || (count == 1 && !ordering))
        return apply_to(io, first, change, err);
    if (pdr_value_kind(first) != PDR_STRING)
        return PDR_OK;
    rc = member_of(&child, *io, first, err);
    if (rc != PDR_OK || (child != NULL && !is_object(child)) ||
        (child == NULL && !pdr_value_text_is(first, PDR_LIT("perdure"))))
        return rc;
    changed = child != NULL ? pdr_value_ref(child) : pdr_value_new_object();
    rc = apply_to(&changed, pdr_value_at(at, 1), change, err);
    if (rc == PDR_OK && (child != NULL || pdr_value_count(changed) > 0))
        rc = pdr__with_member(io, first, changed, err);
    pdr_value_free(changed);
    return rc;
}

/* An empty `perdure` says nothing. */
static pdr_rc drop_empty(pdr_value **io, pdr_err *err)
{
    const pdr_value *perdure = pdr__member(*io, "perdure", PDR_OBJECT);

    if (perdure == NULL || pdr_value_count(perdure) > 0)
        return PDR_OK;
    return pdr__with_member_c(io, "perdure", NULL, err);
}

/* The changes of members, or those of orders. */
static pdr_rc apply_all(pdr_value **io, const pdr_value *patch,
                        pdr_session_shape shape, bool orders, pdr_err *err)
{
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, patch);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        if ((pdr_value_get_c(it.value, "order") != NULL) == orders)
            rc = apply_change(io, it.value, shape, err);
    }
    return rc;
}

pdr_rc pdr__note_apply(pdr_value **io, const pdr_value *note,
                       pdr_session_shape shape, pdr_err *err)
{
    const pdr_value *patch = pdr__member(note, "patch", PDR_ARRAY);
    pdr_rc rc = PDR_OK;

    if (pdr_value_count(patch) > MAX_CHANGES)
        return PDR_OK; /* not one of ours (N4) */
    rc = apply_all(io, patch, shape, false, err);
    if (rc == PDR_OK)
        rc = drop_empty(io, err);
    return rc == PDR_OK ? apply_all(io, patch, shape, true, err) : rc;
}

/* --- making -------------------------------------------------------------- */

struct noting {
    pdr_value *patch; /* owned */
    const char *bag;  /* name of the member that holds it */
    bool changed;     /* there is something in it */
    bool too_much;    /* but not all (N4) */
};

static pdr_rc at_path(pdr_value **out, const char *parent,
                      const pdr_value *name, pdr_err *err)
{
    pdr_value *first = NULL;
    pdr_rc rc = PDR_OK;

    *out = pdr_value_new_array();
    if (parent != NULL) {
        rc = pdr_value_new_string(&first, pdr_str_c(parent), err);
        if (rc == PDR_OK)
            rc = pdr_value_append(out, first, err);
        pdr_value_free(first);
    }
    if (rc == PDR_OK && name != NULL)
        rc = pdr_value_append(out, name, err);
    return rc;
}

static pdr_rc add_change(struct noting *n, const char *parent,
                         const pdr_value *name, const pdr_value *was,
                         const pdr_value *is, pdr_err *err)
{
    pdr_value *change = NULL, *at = NULL;
    pdr_rc rc = PDR_OK;

    n->too_much = n->too_much || pdr_value_count(n->patch) == MAX_CHANGES;
    if (n->too_much)
        return PDR_OK;
    change = pdr_value_new_object();
    rc = at_path(&at, parent, name, err);
    if (rc == PDR_OK)
        rc = pdr__put_member(&change, "at", at, err);
    if (rc == PDR_OK && was != NULL)
        rc = pdr__put_member(&change, "was", was, err);
    if (rc == PDR_OK && is != NULL)
        rc = pdr__put_member(&change, name == NULL ? "order" : "is", is, err);
    if (rc == PDR_OK)
        rc = pdr_value_append(&n->patch, change, err);
    n->changed = true;
    pdr_value_free(at);
    pdr_value_free(change);
    return rc;
}

static pdr_rc compare(struct noting *n, const char *parent,
                      const pdr_value *back, const pdr_value *source,
                      pdr_err *err);

/* Is it an object whose members are compared one by one? */
static const char *inner_name(const struct noting *n, const char *parent,
                              const pdr_value *name, const pdr_value *back,
                              const pdr_value *source)
{
    bool fits = (back == NULL || is_object(back)) &&
                (source == NULL || is_object(source));

    if (parent != NULL || !fits)
        return NULL;
    if (pdr_value_text_is(name, PDR_LIT("perdure")))
        return "perdure";
    return back != NULL && source != NULL &&
                   pdr_value_text_is(name, pdr_str_c(n->bag))
               ? n->bag
               : NULL;
}

static pdr_rc compare_member(struct noting *n, const char *parent,
                             const pdr_value *name, const pdr_value *back,
                             const pdr_value *source, pdr_err *err)
{
    const char *inner = inner_name(n, parent, name, back, source);

    if (pdr_value_equal(back, source))
        return PDR_OK;
    if (inner != NULL)
        return compare(n, inner, back, source, err);
    /* A slot that is another needs the whole: a copy of it, and of what it
     * became, says no less. */
    if (parent == n->bag && back != NULL && source != NULL)
        return PDR_OK;
    return add_change(n, parent, name, back, source, err);
}

static pdr_rc compare(struct noting *n, const char *parent,
                      const pdr_value *back, const pdr_value *source,
                      pdr_err *err)
{
    const pdr_value *other = NULL;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, source);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        rc = member_of(&other, source, it.name, err);
        if (rc != PDR_OK || other != it.value)
            continue; /* one that counts for nothing: see "whole" */
        rc = member_of(&other, back, it.name, err);
        if (rc == PDR_OK)
            rc = compare_member(n, parent, it.name, other, it.value, err);
    }
    pdr_iter_init(&it, back);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        rc = member_of(&other, source, it.name, err);
        if (rc == PDR_OK && other == NULL)
            rc = compare_member(n, parent, it.name, it.value, NULL, err);
    }
    return rc;
}

static bool same_order(const pdr_value *a, const pdr_value *b)
{
    pdr_iter left, right;

    pdr_iter_init(&left, a);
    pdr_iter_init(&right, b);
    while (pdr_iter_next(&left)) {
        if (!pdr_iter_next(&right) ||
            !pdr__value_same_text(left.name, right.name))
            return false;
    }
    return true;
}

static pdr_rc compare_order(struct noting *n, const char *parent,
                            const pdr_value *now, const pdr_value *source,
                            pdr_err *err)
{
    pdr_value *names = NULL;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (!is_object(now) || !is_object(source) ||
        pdr_value_count(now) != pdr_value_count(source) ||
        same_order(now, source))
        return PDR_OK;
    names = pdr_value_new_array();
    pdr_iter_init(&it, source);
    while (rc == PDR_OK && pdr_iter_next(&it))
        rc = pdr_value_append(&names, it.name, err);
    if (rc == PDR_OK)
        rc = add_change(n, parent, NULL, NULL, names, err);
    pdr_value_free(names);
    return rc;
}

static pdr_rc compare_orders(struct noting *n, const pdr_value *now,
                             const pdr_value *source, pdr_err *err)
{
    const char *const parents[] = {NULL, "perdure", n->bag};
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; rc == PDR_OK && i < PDR_COUNT(parents); i++) {
        const char *name = parents[i];

        rc = compare_order(
            n, name, name == NULL ? now : pdr_value_get_c(now, name),
            name == NULL ? source : pdr_value_get_c(source, name), err);
    }
    return rc;
}

pdr_rc pdr__note_make(pdr_value **out, const pdr_value *back,
                      const pdr_value *source, pdr_session_shape shape,
                      pdr_err *err)
{
    struct noting n = {pdr_value_new_array(), pdr__shape_names(shape)->bag,
                       false, false};
    pdr_value *now = pdr_value_ref(back);
    pdr_rc rc = compare(&n, NULL, back, source, err);

    *out = NULL;
    if (rc == PDR_OK && !n.too_much)
        rc = apply_all(&now, n.patch, shape, false, err);
    if (rc == PDR_OK)
        rc = drop_empty(&now, err);
    if (rc == PDR_OK)
        rc = compare_orders(&n, now, source, err);
    if (rc == PDR_OK && n.changed && !n.too_much) {
        *out = pdr_value_new_object();
        rc = pdr__put_member(out, "patch", n.patch, err);
    }
    pdr_value_free(now);
    pdr_value_free(n.patch);
    if (rc != PDR_OK) {
        pdr_value_free(*out);
        *out = NULL;
    }
    return rc;
}

/* --- the whole ----------------------------------------------------------- */

pdr_rc pdr__note_add_whole(pdr_value **note, const pdr_value *source,
                           pdr_err *err)
{
    pdr_write_opts opts = {PDR_BARE_TOKENS, PDR_COMPACT, 0, NULL};
    pdr_buf text = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_value *whole = NULL;
    pdr_rc rc = pdr_json_write(&text, source, &opts, err);

    if (rc == PDR_OK)
        rc = pdr_value_new_string(&whole, pdr_buf_str(&text), err);
    if (rc == PDR_OK)
        rc = pdr__put_member(note, "whole", whole, err);
    pdr_value_free(whole);
    pdr_buf_dispose(&text);
    return rc;
}

pdr_rc pdr__note_whole(pdr_value **out, const pdr_value *note, pdr_err *err)
{
    const pdr_value *whole = pdr__member(note, "whole", PDR_STRING);
    pdr_read_opts opts = {.flags = PDR_BARE_TOKENS};
    pdr_buf scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_str text = {NULL, 0};
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (whole == NULL || pdr_value_has_lone_surrogate(whole))
        return PDR_OK;
    rc = pdr_value_text(&text, whole, &scratch, err);
    if (rc == PDR_OK)
        rc = pdr_json_read(out, text, &opts, NULL);
    pdr_buf_dispose(&scratch);
    /* What somebody put there in its place says nothing. */
    return rc == PDR_ENOMEM ? pdr__nomem(err) : PDR_OK;
}
