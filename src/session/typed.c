/*
 * typed.c - objects of C types: counted handles, from JSON and back.
 *
 * WHY  The functions of a type come from outside. What they give is checked
 *      here, once: a decoder that gives nothing, an encoder whose value nobody
 *      could write, a failure without a word. So the callers of this file meet
 *      only well-formed outcomes.
 */
#include "bag_core.h"
#include "codec.h"

struct pdr_object {
    atomic_size_t refs;
    const pdr_state_type *type; /* borrowed */
    void *object;               /* owned, through the type */
};

/* --- handles ------------------------------------------------------------- */

pdr_rc pdr__object_new(pdr_object **out, const pdr_state_type *type,
                       void *object, pdr_err *err)
{
    pdr_object *handle = pdr__alloc(sizeof(*handle));

    *out = handle;
    if (handle == NULL) {
        type->free(object, type->arg);
        return pdr__nomem(err);
    }
    atomic_init(&handle->refs, 1);
    handle->type = type;
    handle->object = object;
    return PDR_OK;
}

const void *pdr_object_get(const pdr_object *object)
{
    return object != NULL ? object->object : NULL;
}

const pdr_state_type *pdr_object_type(const pdr_object *object)
{
    return object->type;
}

pdr_object *pdr_object_ref(const pdr_object *object)
{
    pdr_object *handle = (pdr_object *)(uintptr_t)object;

    if (handle != NULL)
        atomic_fetch_add_explicit(&handle->refs, 1, memory_order_relaxed);
    return handle;
}

void pdr_object_free(pdr_object *object)
{
    if (object == NULL ||
        atomic_fetch_sub_explicit(&object->refs, 1, memory_order_acq_rel) != 1)
        return;
    object->type->free(object->object, object->type->arg);
    pdr__free(object);
}

/* --- from JSON and back -------------------------------------------------- */

/* What a function of a type said about its failure, or that it said nothing. */
static const char *said(const pdr_err *inner)
{
    return inner->message[0] != '\0' ? inner->message : "it does not say why";
}

pdr_rc pdr__typed_decode(pdr_object **out, const pdr_state_type *type,
                         const pdr_value *value, pdr_err *err)
{
    pdr_err inner = PDR_ERR_INIT;
    char name[PDR_SHOWN];
    void *object = NULL;

    *out = NULL;
    pdr_rc rc = type->decode(&object, value, &inner, type->arg);
    if (rc == PDR_ENOMEM)
        return pdr__nomem(err);
    if (rc == PDR_OK && object != NULL)
        return pdr__object_new(out, type, object, err);
    if (rc == PDR_OK)
        return PDR_FAIL(err, STATE_DECODE, "the decoder of %s gave no object",
                        pdr__shown(name, pdr_str_c(type->name)));
    (void)pdr_err_set(err, rc, "state_decode", "%s", said(&inner));
    pdr__err_path(err, pdr_str_c(inner.path));
    return rc;
}

/* The first NaN or infinity in a value, or NULL. Recurses into what was
 * changed only, which has at most PDR_MAX_DEPTH levels. */
static const pdr_value *find_bare(const pdr_value *value)
{
    const pdr_value *end = node_next(value);
    const pdr_value *found = NULL;
    pdr_iter it;

    if (node_is_changed(value)) {
        pdr_iter_init(&it, value);
        while (found == NULL && pdr_iter_next(&it))
            found = find_bare(it.value);
        return found;
    }
    if (!node_block(value)->has_bare)
        return NULL;
    for (; value < end; value++)
        if (node_kind(value) == NODE_NUMBER && (value->info & NODE_FLAG) != 0)
            return value;
    return NULL;
}

/* Can what an encoder gave be stored, and be decoded again? */
static pdr_rc check_encoded(const pdr_value *value, const char *name,
                            pdr_err *err)
{
    if (pdr__is_nothing(value))
        return PDR_FAIL(err, STATE_ENCODE, "the encoder of %s gave %s", name,
                        value == NULL ? "no value" : "null for an object");
    const pdr_value *bare = find_bare(value);
    if (bare == NULL)
        return PDR_OK;
    pdr_str token = node_span(bare);
    pdr_rc rc = PDR_FAIL(err, STATE_ENCODE,
                         "the encoder of %s gave %.*s, which is no JSON", name,
                         (int)token.len, token.ptr);
    pdr__value_place(err, value, bare);
    return rc;
}

/* Exactly what the type gives. */
static pdr_rc encode(pdr_value **out, const pdr_state_type *type,
                     const void *object, pdr_err *err)
{
    char name[PDR_SHOWN];
    pdr_err inner = PDR_ERR_INIT;

    *out = NULL;
    (void)pdr__shown(name, pdr_str_c(type->name));
    pdr_rc rc = type->encode(out, object, &inner, type->arg);
    if (rc == PDR_OK) {
        rc = check_encoded(*out, name, err);
        if (rc != PDR_OK) {
            pdr_value_free(*out);
            *out = NULL;
        }
        return rc;
    }
    *out = NULL;
    if (rc == PDR_ENOMEM)
        return pdr__nomem(err);
    rc = PDR_FAIL(err, STATE_ENCODE, "an object of %s cannot be encoded: %s",
                  name, said(&inner));
    pdr__err_path(err, pdr_str_c(inner.path));
    return rc;
}

/* What the type makes of `raw` without a change. *fits gets false if it is no
 * value of the type; *out is NULL also if the type cannot encode it. */
static pdr_rc encode_before(pdr_value **out, bool *fits,
                            const pdr_state_type *type, const pdr_value *raw,
                            const pdr_object *known, pdr_err *err)
{
    pdr_object *made = NULL;
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (known == NULL) {
        rc = pdr__typed_decode(&made, type, raw, NULL);
        known = made;
    }
    *fits = rc == PDR_OK;
    if (rc == PDR_OK)
        rc = encode(out, type, pdr_object_get(known), NULL);
    pdr_object_free(made);
    return rc == PDR_ENOMEM ? pdr__nomem(err) : PDR_OK;
}

pdr_rc pdr__typed_encode_over(pdr_value **out, const pdr_state_type *type,
                              const void *object, const pdr_value *raw,
                              const pdr_object *known, pdr_err *err)
{
    pdr_value *before = NULL, *after = NULL;
    bool fits = false;

    *out = NULL;
    pdr_rc rc = encode(&after, type, object, err);
    if (rc == PDR_OK && !pdr__is_nothing(raw))
        rc = encode_before(&before, &fits, type, raw, known, err);
    if (rc == PDR_OK && fits) {
        rc = pdr__overlay(out, raw, before, after, err);
    } else if (rc == PDR_OK) {
        *out = after;
        after = NULL;
    }
    pdr_value_free(before);
    pdr_value_free(after);
    return rc;
}

pdr_rc pdr__typed_encode(pdr_value **out, const pdr_state_type *type,
                         const void *object, const pdr_value *raw,
                         pdr_overlay how, pdr_err *err)
{
    if (how == PDR_REPLACE)
        raw = NULL;
    return pdr__typed_encode_over(out, type, object, raw, NULL, err);
}
