/*
 * bag_typed.c - slots as objects of C types.
 *
 * WHY  Reading a slot as a type must not change it: the raw value stays the
 *      truth, and the object is a view beside it. So several types can read one
 *      slot, nothing is lost by reading, and only a write through a type makes
 *      a new raw value, laid over the old one (overlay.c).
 *
 *        get      look; decode without the lock; publish, if the slot is still
 *                 the same and nobody else was faster
 *        write    claim; look; copy, call back, encode, overlay without the
 *                 lock; put value and view in one step
 *
 * Three answers are kept apart: no slot, a value that does not fit the type,
 * and one that does not fit because somebody used the slot as another type.
 */
#include "bag_core.h"

/* What a look at a slot found. */
struct found {
    pdr_value *raw;              /* owned; NULL if there is no slot */
    pdr_object *object;          /* owned; its view as the type, or NULL */
    const pdr_state_type *other; /* of a view as another type, or NULL */
};

static void found_dispose(struct found *found)
{
    pdr_value_free(found->raw);
    pdr_object_free(found->object);
}

/* The lock is held. */
static struct view *views_of(const pdr_bag *bag, pdr_str key)
{
    void *views = NULL;

    (void)pdr__map_get(&views, &bag->views, key);
    return views;
}

static struct view *view_as(struct view *view, const pdr_state_type *type)
{
    while (view != NULL && pdr_object_type(view->object) != type)
        view = view->next;
    return view;
}

static void look(struct found *found, pdr_bag *bag, pdr_str key,
                 const pdr_state_type *type)
{
    pdr__bag_lock(bag);
    struct view *views = views_of(bag, key);
    struct view *mine = view_as(views, type);
    found->raw = pdr_value_ref(pdr_value_get(bag->value, key));
    found->object = mine != NULL ? pdr_object_ref(mine->object) : NULL;
    found->other = views != NULL ? pdr_object_type(views->object) : NULL;
    pdr__bag_unlock(bag);
}

/* --- errors -------------------------------------------------------------- */

/* Say in which slot a failure was. */
static pdr_rc in_slot(pdr_rc rc, pdr_str key, pdr_err *err)
{
    char inside[PDR_ERR_PATH], shown[PDR_SHOWN];

    if (rc == PDR_OK || rc == PDR_ENOMEM || err == NULL)
        return rc;
    memcpy(inside, err->path, sizeof(inside));
    pdr__slot_path(err, key, inside);
    return pdr__wrap(err, rc, "slot '%s'", pdr__shown(shown, key));
}

static pdr_rc does_not_fit(const struct found *found, pdr_str key,
                           const pdr_state_type *type, const pdr_err *inner,
                           pdr_err *err)
{
    char shown[PDR_SHOWN], wanted[PDR_SHOWN], other[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    (void)pdr__shown(shown, key);
    (void)pdr__shown(wanted, pdr_str_c(type->name));
    if (found->other == NULL)
        rc = PDR_FAIL(err, STATE_DECODE,
                      "slot '%s' does not fit the type %s: %s", shown, wanted,
                      inner->message);
    else
        rc = PDR_FAIL(err, STATE_TYPE_MISMATCH,
                      "slot '%s' is in use as %s, and does not fit %s: %s",
                      shown, pdr__shown(other, pdr_str_c(found->other->name)),
                      wanted, inner->message);
    pdr__slot_path(err, key, inner->path);
    return rc;
}

/* --- reading ------------------------------------------------------------- */

/* The object of a slot that is not null: its view, or a new one. */
static pdr_rc object_of(pdr_object **out, const struct found *found,
                        pdr_str key, const pdr_state_type *type, pdr_err *err)
{
    pdr_err inner = PDR_ERR_INIT;

    *out = pdr_object_ref(found->object);
    if (*out != NULL)
        return PDR_OK;
    pdr_rc rc = pdr__typed_decode(out, type, found->raw, &inner);
    if (rc == PDR_ENOMEM)
        return pdr__nomem(err);
    return rc == PDR_OK ? rc : does_not_fit(found, key, type, &inner, err);
}

/* The lock is held: put `view` first, unless another thread published an object
 * of the type (which becomes *io) or changed the slot. True if it was taken. */
static bool publish(pdr_object **io, pdr_bag *bag, pdr_str key,
                    const pdr_value *raw, struct view *view, pdr_rc *rc,
                    pdr_err *err)
{
    const pdr_state_type *type = pdr_object_type(*io);
    struct view *views = views_of(bag, key);
    struct view *there = view_as(views, type);

    if (pdr_value_get(bag->value, key) != raw)
        return false;
    if (there != NULL) {
        *io = pdr_object_ref(there->object); /* the old one is the view's */
        return false;
    }
    view->next = views;
    *rc = pdr__map_put(NULL, &bag->views, key, view, err);
    if (*rc == PDR_OK)
        return true;
    view->next = NULL;
    return false;
}

/* A view of an object, which gets one more owner; NULL without memory. */
static struct view *view_new(const pdr_object *object)
{
    struct view *view = pdr__alloc(sizeof(*view));

    if (view == NULL)
        return NULL;
    view->next = NULL;
    view->object = pdr_object_ref(object);
    return view;
}

/* Let later reads get the object that was decoded. */
static pdr_rc keep_view(pdr_object **io, pdr_bag *bag, pdr_str key,
                        const pdr_value *raw, pdr_err *err)
{
    struct view *view = view_new(*io);
    pdr_object *mine = *io;
    pdr_rc rc = PDR_OK;

    if (view == NULL)
        return pdr__nomem(err);
    pdr__bag_lock(bag);
    bool is_taken = publish(io, bag, key, raw, view, &rc, err);
    pdr__bag_unlock(bag);
    if (!is_taken)
        pdr__views_free(view);
    if (*io != mine)
        pdr_object_free(mine);
    return rc;
}

/* As pdr_bag_get_typed(), after a look that found something. */
static pdr_rc read_found(pdr_object **out, pdr_bag *bag, pdr_str key,
                         const pdr_state_type *type, const struct found *found,
                         pdr_err *err)
{
    *out = NULL;
    if (pdr_value_kind(found->raw) == PDR_NULL)
        return PDR_OK;
    pdr_rc rc = object_of(out, found, key, type, err);
    if (rc == PDR_OK && found->object == NULL)
        rc = keep_view(out, bag, key, found->raw, err);
    if (rc != PDR_OK) {
        pdr_object_free(*out);
        *out = NULL;
    }
    return rc;
}

pdr_rc pdr_bag_get_typed(pdr_object **out, pdr_bag *bag, pdr_str key,
                         const pdr_state_type *type, pdr_err *err)
{
    struct found found = {NULL, NULL, NULL};
    char shown[PDR_SHOWN];

    PDR_REQUIRE(out != NULL && bag != NULL && type != NULL);
    *out = NULL;
    pdr_rc rc = pdr__key_check(key, err);
    if (rc != PDR_OK)
        return rc;
    look(&found, bag, key, type);
    if (found.raw == NULL)
        rc = PDR_FAIL(err, NO_SLOT, "the bag has no slot '%s'",
                      pdr__shown(shown, key));
    else
        rc = read_found(out, bag, key, type, &found, err);
    found_dispose(&found);
    return rc;
}

/* --- writing ------------------------------------------------------------- */

/* The claim is held: set a slot to a value with its object; without object, to
 * null. */
static pdr_rc put_typed(pdr_bag *bag, pdr_str key, const pdr_value *value,
                        const pdr_object *object, pdr_err *err)
{
    struct leftovers left = {NULL, NULL};
    struct view *view = NULL;

    pdr_rc rc = pdr__slot_check(bag, key, value, err);
    if (rc != PDR_OK)
        return rc;
    if (object != NULL) {
        view = view_new(object);
        if (view == NULL)
            return pdr__nomem(err);
    }
    pdr__bag_lock(bag);
    rc = pdr__slot_put(&left, bag, key, value, view, err);
    pdr__bag_unlock(bag);
    if (rc != PDR_OK)
        pdr__views_free(view);
    pdr__leftovers_free(&left);
    return rc;
}

/* The claim is held, and the object is what the slot has: nothing is written,
 * and the slot is one of this type from now on. */
static pdr_rc keep_unchanged(pdr_bag *bag, pdr_str key, const pdr_value *raw,
                             const pdr_object *object, pdr_err *err)
{
    pdr_object *view = pdr_object_ref(object);
    pdr_rc rc = keep_view(&view, bag, key, raw, err);

    pdr_object_free(view);
    return rc;
}

/* The claim is held: write an object over what was found. */
static pdr_rc write_object(pdr_bag *bag, pdr_str key, const struct found *found,
                           const pdr_object *object, pdr_overlay how,
                           pdr_err *err)
{
    const pdr_value *raw = how == PDR_OVERLAY ? found->raw : NULL;
    pdr_value *value = NULL;

    if (object == NULL)
        return put_typed(bag, key, pdr_value_new_null(), NULL, err);
    pdr_rc rc =
        pdr__typed_encode_over(&value, pdr_object_type(object),
                               pdr_object_get(object), raw, found->object, err);
    rc = in_slot(rc, key, err);
    if (rc == PDR_OK && value == found->raw)
        rc = keep_unchanged(bag, key, value, object, err);
    else if (rc == PDR_OK)
        rc = put_typed(bag, key, value, object, err);
    pdr_value_free(value);
    return rc;
}

/* A copy of an object of the caller; NULL for NULL. */
static pdr_rc copy_object(void **out, const pdr_state_type *type,
                          const void *object, pdr_str key, pdr_err *err)
{
    pdr_err inner = PDR_ERR_INIT;
    char shown[PDR_SHOWN], name[PDR_SHOWN];

    *out = NULL;
    if (object == NULL)
        return PDR_OK;
    pdr_rc rc = type->copy(out, object, &inner, type->arg);
    if (rc == PDR_ENOMEM)
        return pdr__nomem(err);
    if (rc == PDR_OK && *out != NULL)
        return PDR_OK;
    *out = NULL;
    rc = PDR_FAIL(
        err, STATE_ENCODE, "slot '%s': an object of %s cannot be copied: %s",
        pdr__shown(shown, key), pdr__shown(name, pdr_str_c(type->name)),
        inner.message[0] != '\0' ? inner.message : "it does not say why");
    pdr__slot_path(err, key, "");
    return rc;
}

/* A handle for an object that is taken; NULL for NULL. */
static pdr_rc hold(pdr_object **out, const pdr_state_type *type, void *object,
                   pdr_err *err)
{
    *out = NULL;
    return object != NULL ? pdr__object_new(out, type, object, err) : PDR_OK;
}

pdr_rc pdr_bag_set_typed(pdr_bag *bag, pdr_str key, const pdr_state_type *type,
                         const void *object, pdr_overlay how, pdr_err *err)
{
    struct found found = {NULL, NULL, NULL};
    pdr_object *handle = NULL;
    void *copy = NULL;

    PDR_REQUIRE(bag != NULL && type != NULL);
    pdr_rc rc = pdr__key_check(key, err);
    if (rc == PDR_OK)
        rc = pdr__bag_claim(bag, err);
    if (rc != PDR_OK)
        return rc;
    look(&found, bag, key, type);
    rc = copy_object(&copy, type, object, key, err);
    if (rc == PDR_OK)
        rc = hold(&handle, type, copy, err);
    if (rc == PDR_OK)
        rc = write_object(bag, key, &found, handle, how, err);
    pdr__bag_release(bag);
    found_dispose(&found);
    pdr_object_free(handle);
    return rc;
}

/* The claim is held: let the callback change a copy, and write it. */
static pdr_rc update_found(pdr_bag *bag, pdr_str key,
                           const pdr_state_type *type, struct found *found,
                           pdr_err *err, pdr_bag_typed_fn fn, void *arg)
{
    pdr_object *before = NULL, *after = NULL;
    void *io = NULL;
    pdr_rc rc = PDR_OK;

    if (!pdr__is_nothing(found->raw))
        rc = object_of(&before, found, key, type, err);
    if (rc == PDR_OK)
        rc = copy_object(&io, type, pdr_object_get(before), key, err);
    if (rc == PDR_OK) {
        rc = fn(&io, err, arg);
        if (rc == PDR_OK)
            rc = hold(&after, type, io, err);
        else if (io != NULL)
            type->free(io, type->arg);
    }
    if (rc == PDR_OK) {
        if (found->object == NULL)
            found->object = pdr_object_ref(before); /* spares a decoding */
        rc = write_object(bag, key, found, after, PDR_OVERLAY, err);
    }
    pdr_object_free(before);
    pdr_object_free(after);
    return rc;
}

pdr_rc pdr_bag_update_typed(pdr_bag *bag, pdr_str key,
                            const pdr_state_type *type, pdr_err *err,
                            pdr_bag_typed_fn fn, void *arg)
{
    struct found found = {NULL, NULL, NULL};

    PDR_REQUIRE(bag != NULL && type != NULL && fn != NULL);
    pdr_rc rc = pdr__key_check(key, err);
    if (rc == PDR_OK)
        rc = pdr__bag_claim(bag, err);
    if (rc != PDR_OK)
        return rc;
    look(&found, bag, key, type);
    rc = update_found(bag, key, type, &found, err, fn, arg);
    pdr__bag_release(bag);
    found_dispose(&found);
    return rc;
}

/* The claim is held and the slot holds nothing: make its first object. */
static pdr_rc init_slot(pdr_object **out, pdr_bag *bag, pdr_str key,
                        const pdr_state_type *type, const struct found *found,
                        pdr_err *err, pdr_bag_init_fn fn, void *arg)
{
    void *object = NULL;

    pdr_rc rc = fn(&object, err, arg);
    if (rc != PDR_OK) {
        if (object != NULL)
            type->free(object, type->arg);
        return rc;
    }
    rc = hold(out, type, object, err);
    if (rc != PDR_OK || (*out == NULL && found->raw != NULL))
        return rc; /* a null stays a null */
    return write_object(bag, key, found, *out, PDR_OVERLAY, err);
}

pdr_rc pdr_bag_get_or_init(pdr_object **out, pdr_bag *bag, pdr_str key,
                           const pdr_state_type *type, pdr_err *err,
                           pdr_bag_init_fn fn, void *arg)
{
    struct found found = {NULL, NULL, NULL};

    PDR_REQUIRE(out != NULL && bag != NULL && type != NULL && fn != NULL);
    *out = NULL;
    pdr_rc rc = pdr__key_check(key, err);
    if (rc != PDR_OK)
        return rc;
    look(&found, bag, key, type);
    if (pdr__is_nothing(found.raw)) {
        rc = pdr__bag_claim(bag, err);
        if (rc != PDR_OK)
            goto done;
        found_dispose(&found); /* another thread may have made it by now */
        look(&found, bag, key, type);
        if (pdr__is_nothing(found.raw)) {
            rc = init_slot(out, bag, key, type, &found, err, fn, arg);
            pdr__bag_release(bag);
            goto done;
        }
        pdr__bag_release(bag);
    }
    rc = read_found(out, bag, key, type, &found, err);
done:
    if (rc != PDR_OK) {
        pdr_object_free(*out);
        *out = NULL;
    }
    found_dispose(&found);
    return rc;
}
