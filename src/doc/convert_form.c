/*
 * convert_form.c - an object in another shape, with a note of what got lost.
 *
 * WHY  No two shapes hold the same. Instead of a rule for each difference there
 *      is one: go there, go back, and write down what did not come back.
 *
 *      source ──project──► result ──project──► what would come back
 *         └──────────── compare ───────────────────┘
 *                          │
 *            note in the result's properties:
 *            "perdure": {"python": {"members": {…}, "absent": […]}}
 *
 * What Python or Semantic Kernel has no place for, though .NET and state
 * documents have one name for it, is no loss: it stands in "perdure":
 * {"members": {…}}.
 *
 * The note is under the name of the source's shape. "members" are those of the
 * source that would come back otherwise or not at all, "absent" the names that
 * would come back though the source had none, "single" the names of lists that
 * were one content, "type" a discriminator of an older .NET, or one of Semantic
 * Kernel that the media type does not give.
 *
 * On the way back the note is used up: its members stand where they stood, if
 * they still mean what the rest of the object says. If somebody changed that
 * since, only those that the table does not know come back.
 *
 * INVARIANTS
 *   F1  What is nested is converted once, never compared: so the time is linear
 *       in the size, times the depth. That holds for the number of members too:
 *       what a projection gives has names of the table only, so that anything
 *       is looked up in a short list, or in a set of the names of the table.
 *   F2  Notes for a third shape are carried along.
 *   F3  What F1 and damaged notes leave open is found by convert.c, which goes
 *       back for real and keeps the whole source if it has to.
 *   F4  A note changes nothing that the source says, as the readers of the
 *       target take the result: .NET reads names in any case, and the last one
 *       (pdr__name_is()). What is nested comes from no note, as F1 would not
 *       find out.
 */
#include <assert.h>

#include "convert.h"

struct note {
    struct content_items members; /* of the source */
    struct content_items absent;  /* names; the values are null */
    struct content_items single;  /* names; the values are null */
    const char *type;             /* NULL: none */
};

struct forming {
    const struct form *form;
    const pdr_value *source;
    struct trip trip;
    const pdr_value *properties; /* of the source; NULL: none that we can use */
    const pdr_value *perdure;    /* in them; NULL as well */
    const pdr_value *more;       /* what `from` has no place for; NULL as well
                                  */
    const pdr_value *used;       /* the note for `to` in it; NULL as well */
    struct projection there;     /* the result */
    struct content_items nested; /* of it: contents, converted once (F1) */
    bool has_nested;             /* they are known */
    uint64_t once;   /* sets of known(): names that the source has once, */
    uint64_t made;   /* rows that the result has, made and not restored, */
    uint64_t full;   /* and those with something in it */
    pdr_value *core; /* owned: the result without properties */
    pdr_value *back; /* owned: what would come back of it */
    struct note note;
};

static bool same_name(const pdr_value *name, const char *text)
{
    return pdr_value_text_is(name, pdr_str_c(text));
}

/* The only member of that name, else NULL. */
static const pdr_value *sole(const pdr_value *object, const char *name,
                             pdr_kind kind)
{
    const pdr_value *found = NULL;
    pdr_iter it;

    pdr_iter_init(&it, object);
    while (pdr_iter_next(&it)) {
        if (!same_name(it.name, name))
            continue;
        if (found != NULL || pdr_value_kind(it.value) != kind)
            return NULL;
        found = it.value;
    }
    return found;
}

static bool has_member(const pdr_value *object, const pdr_value *name)
{
    pdr_iter it;

    pdr_iter_init(&it, object);
    while (pdr_iter_next(&it)) {
        if (pdr__value_same_text(it.name, name))
            return true;
    }
    return false;
}

static bool lists(const pdr_value *names, const char *name)
{
    pdr_iter it;

    pdr_iter_init(&it, names);
    while (pdr_iter_next(&it)) {
        if (same_name(it.value, name))
            return true;
    }
    return false;
}

/* --- restoring ----------------------------------------------------------- */

/* Names of the table that belong to no row of their own. */
static const char *const partners[][PDR_SHAPES] = {
    {"argumentsText", NULL, NULL},
    {"detailsJson", NULL, NULL},
    {NULL, NULL, "items"},
};

/* The number of a name that the table knows: that of its row, or one behind all
 * rows; PDR_NONE for others. */
static size_t known(const struct form *form, pdr_shape shape,
                    const pdr_value *name)
{
    size_t rows = pdr__form_rows(form);

    for (size_t i = 0; i < rows; i++) {
        const char *own = pdr__form_row(form, i)->names[shape];

        if (own != NULL && pdr__name_is(name, own, shape))
            return i;
    }
    for (size_t i = 0; i < PDR_COUNT(partners); i++) {
        if (partners[i][shape] != NULL &&
            pdr__name_is(name, partners[i][shape], shape))
            return rows + i;
    }
    return PDR_NONE;
}

static bool is_in(uint64_t set, size_t number)
{
    return number != PDR_NONE && (set >> number & 1u) != 0;
}

/* The row of that number; NULL if it has none. */
static const struct content_member *row_at(const struct form *form,
                                           size_t number)
{
    return number < pdr__form_rows(form) ? pdr__form_row(form, number) : NULL;
}

static void count_source(struct forming *f)
{
    uint64_t seen = 0, again = 0;
    pdr_iter it;

    assert(pdr__form_rows(f->form) + PDR_COUNT(partners) <= 64);
    pdr_iter_init(&it, f->source);
    while (pdr_iter_next(&it)) {
        size_t number = known(f->form, f->trip.from, it.name);

        if (number == PDR_NONE)
            continue;
        again |= seen & (UINT64_C(1) << number);
        seen |= UINT64_C(1) << number;
    }
    f->once = seen & ~again;
}

/* A member that was made, not restored; NULL if there is none. */
static const pdr_value *item_of(const struct content_items *items,
                                const char *name)
{
    for (size_t i = 0; i < items->count; i++) {
        if (items->at[i].name != NULL && strcmp(items->at[i].name, name) == 0)
            return items->at[i].value;
    }
    return NULL;
}

static const pdr_value *result_of(const struct forming *f, const char *name)
{
    return item_of(&f->there.members, name);
}

static void count_made(struct forming *f)
{
    f->made = f->full = 0;
    for (size_t i = 0; i < pdr__form_rows(f->form); i++) {
        const char *name = pdr__form_row(f->form, i)->names[f->trip.to];
        const pdr_value *value = name == NULL ? NULL : result_of(f, name);

        f->made |= (uint64_t)(value != NULL) << i;
        f->full |= (uint64_t)(pdr_value_count(value) > 0) << i;
    }
}

/* Does a noted member give way to what is nested in the result? Contents do so
 * also where the result has none: the source would have said so (F4). */
static bool gives_way(const struct forming *f, size_t number,
                      const pdr_value *noted)
{
    const struct content_member *row = row_at(f->form, number);

    if (row == NULL || !pdr__is_nested(row))
        return false;
    return is_in(f->full, number) ||
           (row->way != WAY_CITATIONS && row->names[f->trip.from] != NULL &&
            pdr_value_count(noted) > 0);
}

/* Where a member with the name that somebody wrote belongs. */
static size_t place_of(const struct form *form, pdr_shape shape,
                       const pdr_value *name)
{
    struct content_order order = pdr__form_order(form, shape);

    for (size_t i = 0; i < order.count; i++) {
        if (same_name(name, order.names[i]))
            return i;
    }
    for (size_t i = 0; i < pdr__form_rows(form); i++) {
        const char *own = pdr__form_row(form, i)->names[shape];

        if (own != NULL && pdr__name_is(name, own, shape))
            return pdr__form_place(form, shape, own);
    }
    return pdr__form_place(form, shape, "");
}

/* Put the noted members into the result. `all` takes those of the table too. */
static pdr_rc restore_members(struct forming *f, bool all, pdr_err *err)
{
    const pdr_value *members = pdr__member(f->used, "members", PDR_OBJECT);
    const char *properties = pdr__properties_name(f->trip.to);
    pdr_shape to = f->trip.to;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, members);
    while (pdr_iter_next(&it)) {
        if (!all || gives_way(f, known(f->form, to, it.name), it.value))
            continue;
        pdr__items_drop(&f->there.members, it.name, to);
        pdr__items_drop(&f->there.more, it.name, to);
    }
    pdr_iter_init(&it, members);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        size_t number = known(f->form, to, it.name);

        if (pdr__name_is(it.name, properties, to) ||
            (f->form->types[to] != NULL &&
             same_name(it.name, pdr__type_name(to))) ||
            (!all && number != PDR_NONE) || gives_way(f, number, it.value))
            continue;
        rc = pdr__items_add_spelled(&f->there.members, it.name,
                                    place_of(f->form, to, it.name),
                                    pdr_value_ref(it.value), err);
    }
    return rc;
}

static void restore_absent(struct forming *f)
{
    const pdr_value *absent = pdr__member(f->used, "absent", PDR_ARRAY);
    pdr_shape to = f->trip.to;
    pdr_iter it;

    pdr_iter_init(&it, absent);
    while (pdr_iter_next(&it)) {
        if (pdr_value_kind(it.value) == PDR_STRING &&
            !gives_way(f, known(f->form, to, it.value), NULL))
            pdr__items_drop(&f->there.members, it.value, to);
    }
}

/* Lists of one that were no list. */
static void restore_single(struct forming *f)
{
    const pdr_value *single = pdr__member(f->used, "single", PDR_ARRAY);

    for (size_t i = 0; i < f->there.members.count; i++) {
        struct content_item *item = &f->there.members.at[i];
        pdr_value *one = NULL;

        if (item->name == NULL || !lists(single, item->name) ||
            pdr_value_kind(item->value) != PDR_ARRAY ||
            pdr_value_count(item->value) != 1)
            continue;
        one = pdr_value_ref(pdr_value_at(item->value, 0));
        pdr_value_free(item->value);
        item->value = one;
    }
}

/* --- there and back ------------------------------------------------------ */

static pdr_rc add_type(struct forming *f, pdr_err *err)
{
    const char *name = pdr__type_name(f->trip.to);
    const char *text = f->form->types[f->trip.to];
    pdr_value *type = NULL;
    pdr_rc rc = PDR_OK;

    if (text == NULL)
        return PDR_OK;
    rc = pdr_value_new_string(&type, pdr_str_c(text), err);
    if (rc != PDR_OK)
        return rc;
    return pdr__items_add(&f->there.members, name,
                          pdr__form_place(f->form, f->trip.to, name), type,
                          err);
}

/* What would come back of the result. */
static pdr_rc go_back(struct forming *f, pdr_err *err)
{
    struct projection back = {{NULL, 0, 0}, {NULL, 0, 0}, true};
    pdr_value *more = NULL;
    pdr_rc rc = pdr__items_object(&f->core, &f->there.members, err);

    if (rc == PDR_OK && f->there.more.count > 0)
        rc = pdr__items_object(&more, &f->there.more, err);
    if (rc == PDR_OK)
        rc = pdr__project(&back, f->form, f->core, more, trip_back(f->trip),
                          true, err);
    if (rc == PDR_OK)
        rc = pdr__items_object(&f->back, &back.members, err);
    pdr__projection_dispose(&back);
    pdr_value_free(more);
    return rc;
}

/* What leads to other contents, as it was made the first time: a note on each
 * level of a deep content would double the work on each. */
static pdr_rc share_nested(struct content_items *to,
                           const struct content_items *from,
                           const struct forming *f, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; rc == PDR_OK && i < pdr__form_rows(f->form); i++) {
        const struct content_member *row = pdr__form_row(f->form, i);
        const char *name = row->names[f->trip.to];
        const pdr_value *value =
            pdr__is_nested(row) && name != NULL ? item_of(from, name) : NULL;

        if (value != NULL)
            rc = pdr__items_add(to, name,
                                pdr__form_place(f->form, f->trip.to, name),
                                pdr_value_ref(value), err);
    }
    return rc;
}

static pdr_rc project(struct forming *f, pdr_err *err)
{
    bool again = f->has_nested;
    pdr_rc rc = pdr__project(&f->there, f->form, f->source, f->more, f->trip,
                             again, err);

    if (rc != PDR_OK)
        return rc;
    f->has_nested = true;
    return again ? share_nested(&f->there.members, &f->nested, f, err)
                 : share_nested(&f->nested, &f->there.members, f, err);
}

/* Make the result and what would come back of it. */
static pdr_rc go(struct forming *f, bool all, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    pdr__projection_dispose(&f->there);
    pdr_value_free(f->core);
    pdr_value_free(f->back);
    f->core = f->back = NULL;
    rc = project(f, err);
    if (rc != PDR_OK || !f->there.possible)
        return rc;
    rc = add_type(f, err);
    if (rc == PDR_OK && f->used != NULL) {
        count_made(f);
        if (all)
            restore_absent(f);
        restore_single(f);
        count_made(f);
        rc = restore_members(f, all, err);
    }
    if (rc == PDR_OK)
        rc = go_back(f, err);
    count_made(f);
    return rc;
}

/* Does the result still say what the source says, where both can? */
static bool is_fresh(const struct forming *f)
{
    pdr_shape from = f->trip.from;

    for (size_t i = 0; i < pdr__form_rows(f->form); i++) {
        const struct content_member *row = pdr__form_row(f->form, i);
        const char *name = row->names[from];

        if (name != NULL && !pdr__is_nested(row) &&
            !pdr_value_equal(pdr__find_member(f->source, name, from),
                             pdr_value_get_c(f->back, name)))
            return false;
    }
    for (size_t i = 0; i < PDR_COUNT(partners); i++) {
        const char *name = partners[i][from];

        if (name != NULL && !pdr_value_equal(pdr_value_get_c(f->source, name),
                                             pdr_value_get_c(f->back, name)))
            return false;
    }
    return true;
}

/* --- the note ------------------------------------------------------------ */

static pdr_rc note_absent(struct forming *f, const char *name, pdr_err *err)
{
    return pdr__items_add(&f->note.absent, name, 0, pdr_value_new_null(), err);
}

/* A member that leads to other contents: converted, or kept as it is. */
static pdr_rc note_nested(struct forming *f, size_t number,
                          const pdr_value *name, const pdr_value *value,
                          pdr_err *err)
{
    const struct content_member *row = row_at(f->form, number);
    const char *to = row->names[f->trip.to];
    bool kept = is_in(f->made, number) && is_in(f->once, number);

    /* An empty list that only stands there because it must. */
    if (row->way == WAY_CONTENTS && row->made[f->trip.from] != NULL &&
        to != NULL && !is_in(f->made, number) &&
        pdr_value_kind(value) == PDR_ARRAY && pdr_value_count(value) == 0)
        return PDR_OK;
    if (kept && row->way == WAY_CITATIONS)
        kept = pdr_value_kind(value) == PDR_ARRAY;
    if (kept && row->made[f->trip.to] != NULL)
        kept = pdr_value_kind(value) ==
               (row->way == WAY_CONTENT ? PDR_OBJECT : PDR_ARRAY);
    if (!kept)
        return pdr__items_add_spelled(&f->note.members, name, 0,
                                      pdr_value_ref(value), err);
    if (row->way == WAY_CONTENTS && pdr_value_kind(value) == PDR_OBJECT)
        return pdr__items_add(&f->note.single, row->names[f->trip.from], 0,
                              pdr_value_new_null(), err);
    return PDR_OK;
}

/* Would the member come back as it is? */
static bool comes_back(const struct forming *f, size_t number,
                       const pdr_value *name, const pdr_value *value)
{
    pdr_iter it;

    if (!is_in(f->once, number))
        return false;
    pdr_iter_init(&it, f->back);
    while (pdr_iter_next(&it)) {
        if (pdr__value_same_text(it.name, name))
            return pdr_value_equal(it.value, value);
    }
    return false;
}

static pdr_rc note_members(struct forming *f, pdr_err *err)
{
    const char *type = f->form->types[f->trip.from];
    const char *properties = pdr__properties_name(f->trip.from);
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, f->source);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        size_t number = known(f->form, f->trip.from, it.name);
        const struct content_member *row = row_at(f->form, number);

        if (type != NULL && same_name(it.name, pdr__type_name(f->trip.from)))
            continue;
        if (pdr__name_is(it.name, properties, f->trip.from))
            continue;
        if (row != NULL && pdr__is_nested(row))
            rc = note_nested(f, number, it.name, it.value, err);
        else if (!comes_back(f, number, it.name, it.value))
            rc = pdr__items_add_spelled(&f->note.members, it.name, 0,
                                        pdr_value_ref(it.value), err);
    }
    return rc;
}

/* Names that would come back though the source has none of them. */
static pdr_rc note_missing(struct forming *f, pdr_err *err)
{
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, f->back);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        if (!has_member(f->source, it.name))
            rc = pdr__items_add_spelled(&f->note.absent, it.name, 0,
                                        pdr_value_new_null(), err);
    }
    for (size_t i = 0; rc == PDR_OK && i < pdr__form_rows(f->form); i++) {
        const struct content_member *row = pdr__form_row(f->form, i);
        const char *from = row->names[f->trip.from];
        const char *to = row->names[f->trip.to];

        if (pdr__is_nested(row) && from != NULL && to != NULL &&
            pdr__find_member(f->source, from, f->trip.from) == NULL &&
            result_of(f, to) != NULL)
            rc = note_absent(f, from, err);
    }
    return rc;
}

/* --- properties ---------------------------------------------------------- */

/* Python writes the properties of contents and messages always. */
static bool always(const struct form *form, pdr_shape shape)
{
    return shape == PDR_SHAPE_PYTHON && form->what != FORM_CITATION;
}

static pdr_rc note_properties(struct forming *f, pdr_err *err)
{
    const char *name = pdr__properties_name(f->trip.from);
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    if (f->properties != NULL &&
        (pdr_value_count(f->properties) > 0 || always(f->form, f->trip.from) ||
         !always(f->form, f->trip.to)))
        return PDR_OK;
    if (pdr__find_member(f->source, name, f->trip.from) == NULL)
        return always(f->form, f->trip.from) ? note_absent(f, name, err)
                                             : PDR_OK;
    pdr_iter_init(&it, f->source);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        if (pdr__name_is(it.name, name, f->trip.from))
            rc = pdr__items_add_spelled(&f->note.members, it.name, 0,
                                        pdr_value_ref(it.value), err);
    }
    return rc;
}

static bool has_note(const struct note *note)
{
    return note->members.count > 0 || note->absent.count > 0 ||
           note->single.count > 0 || note->type != NULL;
}

/* Has the result something to say under "perdure"? */
static bool has_perdure(const struct forming *f)
{
    return has_note(&f->note) || f->there.more.count > 0;
}

static void put_names(pdr_builder *to, const char *name,
                      const struct content_items *names)
{
    if (names->count == 0)
        return;
    pdr_builder_name(to, pdr_str_c(name));
    pdr_builder_array(to);
    for (size_t i = 0; i < names->count; i++) {
        if (names->at[i].name != NULL)
            pdr_builder_string(to, pdr_str_c(names->at[i].name));
        else
            pdr_builder_value(to, names->at[i].spelled);
    }
    pdr_builder_end(to);
}

static void put_note(pdr_builder *to, const struct forming *f)
{
    if (f->there.more.count > 0) {
        pdr_builder_name(to, PDR_LIT("members"));
        pdr_builder_object(to);
        pdr__items_put(to, &f->there.more);
        pdr_builder_end(to);
    }
    if (!has_note(&f->note))
        return;
    pdr_builder_name(to, pdr_str_c(pdr__shape_name(f->trip.from)));
    pdr_builder_object(to);
    if (f->note.type != NULL) {
        pdr_builder_name(to, PDR_LIT("type"));
        pdr_builder_string(to, pdr_str_c(f->note.type));
    }
    if (f->note.members.count > 0) {
        pdr_builder_name(to, PDR_LIT("members"));
        pdr_builder_object(to);
        pdr__items_put(to, &f->note.members);
        pdr_builder_end(to);
    }
    put_names(to, "absent", &f->note.absent);
    put_names(to, "single", &f->note.single);
    pdr_builder_end(to);
}

/* A part of "perdure" that goes on to the result. */
static bool is_carried(const struct forming *f, const pdr_value *name)
{
    if (f->used != NULL && same_name(name, pdr__shape_name(f->trip.to)))
        return false;
    if (same_name(name, "members") &&
        (f->more != NULL || f->there.more.count > 0))
        return false;
    return !has_note(&f->note) ||
           !same_name(name, pdr__shape_name(f->trip.from));
}

/* A property that goes on to the result. */
static bool is_property(const struct forming *f, const pdr_iter *it)
{
    if (same_name(it->name, "perdure"))
        return f->perdure == NULL && !has_perdure(f);
    /* Python refuses a content with such a label. */
    return f->trip.to != PDR_SHAPE_PYTHON ||
           !same_name(it->name, "server_label") ||
           pdr_value_kind(it->value) == PDR_STRING ||
           pdr_value_kind(it->value) == PDR_NULL;
}

static void put_perdure(pdr_builder *to, const struct forming *f)
{
    pdr_iter it;
    size_t carried = 0;

    pdr_iter_init(&it, f->perdure);
    while (pdr_iter_next(&it))
        carried += is_carried(f, it.name);
    if (carried == 0 && !has_perdure(f) &&
        (f->perdure == NULL || pdr_value_count(f->perdure) > 0))
        return;
    pdr_builder_name(to, PDR_LIT("perdure"));
    pdr_builder_object(to);
    pdr_iter_init(&it, f->perdure);
    while (pdr_iter_next(&it)) {
        if (!is_carried(f, it.name))
            continue;
        pdr__builder_name_value(to, it.name);
        pdr_builder_value(to, it.value);
    }
    put_note(to, f);
    pdr_builder_end(to);
}

static pdr_rc make_properties(pdr_value **out, const struct forming *f,
                              pdr_err *err)
{
    pdr_builder *to = NULL;
    pdr_iter it;
    pdr_rc rc = pdr_builder_new(&to, err);

    if (rc != PDR_OK)
        return rc;
    pdr_builder_object(to);
    pdr_iter_init(&it, f->properties);
    while (pdr_iter_next(&it)) {
        if (!is_property(f, &it))
            continue;
        pdr__builder_name_value(to, it.name);
        pdr_builder_value(to, it.value);
    }
    put_perdure(to, f);
    pdr_builder_end(to);
    rc = pdr_builder_finish(out, to, err);
    pdr_builder_free(to);
    return rc;
}

/* Empty properties: as the note says, else as the shape has them. */
static pdr_rc add_empty(struct forming *f, size_t place, pdr_err *err)
{
    const char *name = pdr__properties_name(f->trip.to);
    const pdr_value *absent = pdr__member(f->used, "absent", PDR_ARRAY);
    bool noted = false;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, pdr__member(f->used, "members", PDR_OBJECT));
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        if (!pdr__name_is(it.name, name, f->trip.to) ||
            pdr_value_count(it.value) > 0)
            continue;
        noted = true;
        rc = pdr__items_add_spelled(&f->there.members, it.name, place,
                                    pdr_value_ref(it.value), err);
    }
    if (rc != PDR_OK || noted || lists(absent, name))
        return rc;
    if (!always(f->form, f->trip.to) &&
        (f->properties == NULL || pdr_value_count(f->properties) > 0 ||
         always(f->form, f->trip.from)))
        return PDR_OK;
    return pdr__items_add(&f->there.members, name, place,
                          pdr_value_new_object(), err);
}

static pdr_rc add_properties(struct forming *f, pdr_err *err)
{
    const char *name = pdr__properties_name(f->trip.to);
    size_t place = pdr__form_place(f->form, f->trip.to, name);
    pdr_value *made = NULL;
    pdr_rc rc = PDR_OK;

    if (!has_perdure(f) && pdr_value_count(f->properties) == 0)
        return add_empty(f, place, err);
    rc = make_properties(&made, f, err);
    if (rc != PDR_OK)
        return rc;
    if (pdr_value_count(made) > 0)
        return pdr__items_add(&f->there.members, name, place, made, err);
    pdr_value_free(made);
    return add_empty(f, place, err);
}

/* --- all of it ----------------------------------------------------------- */

/* Note what would get lost, and put all together. */
static pdr_rc finish(pdr_value **out, struct forming *f, pdr_err *err)
{
    size_t members = f->there.members.count;
    pdr_rc rc = note_members(f, err);

    if (rc == PDR_OK)
        rc = note_missing(f, err);
    if (rc == PDR_OK)
        rc = note_properties(f, err);
    if (rc == PDR_OK)
        rc = add_properties(f, err);
    if (rc != PDR_OK)
        return rc;
    if (f->there.members.count > members)
        return pdr__items_object(out, &f->there.members, err);
    *out = pdr_value_ref(f->core); /* no properties came to it */
    return PDR_OK;
}

static void dispose(struct forming *f)
{
    pdr__projection_dispose(&f->there);
    pdr__items_dispose(&f->nested);
    pdr__items_dispose(&f->note.members);
    pdr__items_dispose(&f->note.absent);
    pdr__items_dispose(&f->note.single);
    pdr_value_free(f->core);
    pdr_value_free(f->back);
}

pdr_rc pdr__form_convert(pdr_value **out, const struct form *form,
                         const pdr_value *object, struct trip trip,
                         pdr_err *err)
{
    struct forming f = {.form = form, .source = object, .trip = trip};
    pdr_rc rc = PDR_OK;

    *out = NULL;
    f.properties = pdr__find_member_of(object, pdr__properties_name(trip.from),
                                       trip.from, PDR_OBJECT);
    f.perdure = sole(f.properties, "perdure", PDR_OBJECT);
    f.used = sole(f.perdure, pdr__shape_name(trip.to), PDR_OBJECT);
    if (pdr__has_more(trip.from))
        f.more = sole(f.perdure, "members", PDR_OBJECT);
    f.note.type = form->note;
    count_source(&f);
    rc = go(&f, true, err);
    if (rc == PDR_OK && f.there.possible && f.used != NULL && !is_fresh(&f))
        rc = go(&f, false, err);
    if (rc == PDR_OK && f.there.possible)
        rc = finish(out, &f, err);
    dispose(&f);
    return rc;
}
