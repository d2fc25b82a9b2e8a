/*
 * properties.c - a map of names to JSON values, and objects of C types in it.
 *
 * WHY  What is said about an agent or a session comes from many programs, and
 *      most of it nobody here understands. So the map is one immutable object
 *      value, and each change makes the next one: whatever was read stays as it
 *      was, spelling and duplicates included, and a copy costs nothing.
 *
 *      An object of a type is made when somebody asks for it, and kept beside
 *      the value that it was made of. It is never written back by itself: a
 *      property that was only read is written as it was.
 *
 * INVARIANTS
 *   I1  `members` is an object.
 *   I2  At most one object of each type is kept. It belongs to the value that
 *       is kept with it, and is given out only while that is the property.
 */
#include "metadata.h"

/* Levels that a value may have: below a wrapper and the map. */
#define PROPERTY_LEVELS (PDR_DEFAULT_DEPTH - 2)

/* An object that was decoded (I2). */
struct decoded {
    const pdr_state_type *type; /* borrowed */
    pdr_value *value;           /* owned; what it was made of */
    pdr_object *object;         /* owned */
};

struct pdr_properties {
    pdr_value *members;      /* owned (I1) */
    struct decoded *decoded; /* owned */
    size_t decoded_count;
};

/* --- the map as a whole -------------------------------------------------- */

/* `members` is taken, also on failure. */
static pdr_rc new_properties(pdr_properties **out, pdr_value *members,
                             pdr_err *err)
{
    *out = pdr__calloc(1, sizeof(**out));
    if (*out == NULL) {
        pdr_value_free(members);
        return pdr__nomem(err);
    }
    (*out)->members = members;
    return PDR_OK;
}

pdr_rc pdr_properties_new(pdr_properties **out, pdr_err *err)
{
    PDR_REQUIRE(out != NULL);
    return new_properties(out, pdr_value_new_object(), err);
}

pdr_rc pdr_properties_from_value(pdr_properties **out, const pdr_value *value,
                                 pdr_err *err)
{
    PDR_REQUIRE(out != NULL && value != NULL);
    *out = NULL;
    if (pdr_value_kind(value) != PDR_OBJECT)
        return PDR_FAIL(err, WRONG_KIND,
                        "additional properties are an object, these are %s",
                        pdr__kind_phrase(value));
    if (pdr_value_count(value) > PDR_MAX_PROPERTIES)
        return PDR_FAIL(err, TOO_MANY_PROPERTIES,
                        "there are %zu properties, and %u is the most; keep "
                        "the rest in the state bag",
                        pdr_value_count(value), PDR_MAX_PROPERTIES);
    return new_properties(out, pdr_value_ref(value), err);
}

pdr_value *pdr_properties_to_value(const pdr_properties *properties)
{
    return pdr_value_ref(properties->members);
}

pdr_rc pdr_properties_dup(pdr_properties **out,
                          const pdr_properties *properties, pdr_err *err)
{
    PDR_REQUIRE(out != NULL && properties != NULL);
    return new_properties(out, pdr_value_ref(properties->members), err);
}

static void dispose_decoded(struct decoded *decoded)
{
    pdr_value_free(decoded->value);
    pdr_object_free(decoded->object);
}

void pdr_properties_free(pdr_properties *properties)
{
    if (properties == NULL)
        return;
    for (size_t i = 0; i < properties->decoded_count; i++)
        dispose_decoded(&properties->decoded[i]);
    pdr__free(properties->decoded);
    pdr_value_free(properties->members);
    pdr__free(properties);
}

size_t pdr_properties_count(const pdr_properties *properties)
{
    return pdr_value_count(properties->members);
}

/* --- by name ------------------------------------------------------------- */

static pdr_rc find_property(struct property *out,
                            const pdr_properties *properties, pdr_str name,
                            pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    memset(out, 0, sizeof(*out));
    out->asked = name;
    PDR_TRY(pdr__key_check(name, err));
    PDR_TRY(pdr__property_find(&out->spelled, &out->value, properties->members,
                               name, err));
done:
    return rc;
}

/* The same where none is fine: then `value` is NULL, and `err` untouched. */
static pdr_rc find_if_there(struct property *out,
                            const pdr_properties *properties, pdr_str name,
                            pdr_err *err)
{
    pdr_rc rc = find_property(out, properties, name, NULL);

    if (rc == PDR_OK || rc == PDR_ENOTFOUND)
        return PDR_OK;
    return find_property(out, properties, name, err);
}

pdr_str pdr__property_name(char room[PROPERTY_ROOM],
                           const struct property *property)
{
    if (property->spelled == NULL)
        return property->asked;
    return pdr_str_n(room,
                     pdr__text_decode(room, string_inner(property->spelled)));
}

/* Drop the objects that were made of a value which is no longer there. */
static void forget_decoded(pdr_properties *properties, const pdr_value *value)
{
    size_t kept = 0;

    for (size_t i = 0; i < properties->decoded_count; i++) {
        if (properties->decoded[i].value == value)
            dispose_decoded(&properties->decoded[i]);
        else
            properties->decoded[kept++] = properties->decoded[i];
    }
    properties->decoded_count = kept;
}

/* Set the property that was found, or a new one. */
static pdr_rc write_property(pdr_properties *properties,
                             const struct property *found,
                             const pdr_value *value, pdr_err *err)
{
    char room[PROPERTY_ROOM], shown[PDR_SHOWN];
    const pdr_value *old = found->value;
    pdr_rc rc = PDR_OK;

    if (old == NULL && pdr_properties_count(properties) >= PDR_MAX_PROPERTIES)
        return PDR_FAIL(err, TOO_MANY_PROPERTIES,
                        "there are %u properties already, and that is the "
                        "most; remove one first",
                        PDR_MAX_PROPERTIES);
    if (pdr__value_height(value) > PROPERTY_LEVELS &&
        pdr__levels(value) > PROPERTY_LEVELS)
        return PDR_FAIL(err, TOO_DEEP,
                        "property '%s' has more than %d levels; nest it less",
                        pdr__shown(shown, found->asked), PROPERTY_LEVELS);
    rc = pdr_value_set(&properties->members, pdr__property_name(room, found),
                       value, err);
    if (rc == PDR_OK && old != NULL)
        forget_decoded(properties, old);
    return rc;
}

/* Whoever adds must not find one. */
static pdr_rc check_absent(const struct property *found, pdr_err *err)
{
    char room[PROPERTY_ROOM], shown[PDR_SHOWN];

    if (found->value == NULL)
        return PDR_OK;
    return PDR_FAIL(err, PROPERTY_EXISTS,
                    "there is a property '%s' already; set it to replace it",
                    pdr__shown(shown, pdr__property_name(room, found)));
}

static pdr_rc remove_property(pdr_properties *properties,
                              const struct property *found, pdr_err *err)
{
    char room[PROPERTY_ROOM];
    const pdr_value *old = found->value;
    pdr_rc rc = pdr_value_remove(&properties->members,
                                 pdr__property_name(room, found), err);

    if (rc == PDR_OK)
        forget_decoded(properties, old);
    return rc;
}

pdr_rc pdr_properties_get(const pdr_value **out,
                          const pdr_properties *properties, pdr_str name,
                          pdr_err *err)
{
    struct property found;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && properties != NULL);
    rc = find_property(&found, properties, name, err);
    *out = found.value;
    return rc;
}

bool pdr_properties_has(const pdr_properties *properties, pdr_str name)
{
    struct property found;

    return find_property(&found, properties, name, NULL) == PDR_OK;
}

pdr_rc pdr_properties_set(pdr_properties *properties, pdr_str name,
                          const pdr_value *value, pdr_err *err)
{
    struct property found;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(properties != NULL && value != NULL);
    PDR_TRY(find_if_there(&found, properties, name, err));
    PDR_TRY(write_property(properties, &found, value, err));
done:
    return rc;
}

pdr_rc pdr_properties_add(pdr_properties *properties, pdr_str name,
                          const pdr_value *value, pdr_err *err)
{
    struct property found;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(properties != NULL && value != NULL);
    PDR_TRY(find_if_there(&found, properties, name, err));
    PDR_TRY(check_absent(&found, err));
    PDR_TRY(write_property(properties, &found, value, err));
done:
    return rc;
}

pdr_rc pdr_properties_remove(pdr_properties *properties, pdr_str name,
                             pdr_err *err)
{
    struct property found;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(properties != NULL);
    PDR_TRY(find_property(&found, properties, name, err));
    PDR_TRY(remove_property(properties, &found, err));
done:
    return rc;
}

/* --- by type ------------------------------------------------------------- */

pdr_rc pdr__property_of_type(struct property *out,
                             const pdr_properties *properties,
                             const pdr_state_type *type, pdr_err *err)
{
    pdr_str name = pdr_str_c(type->name);
    const char *const *alias = type->aliases;
    pdr_rc rc = find_property(out, properties, name, NULL);

    if (rc == PDR_OK)
        return rc;
    while (rc == PDR_ENOTFOUND && alias != NULL && *alias != NULL) {
        if (find_property(out, properties, pdr_str_c(*alias++), NULL) == PDR_OK)
            return PDR_OK;
    }
    return find_property(out, properties, name, err);
}

/* Encode an object, over what is there, and write it. */
static pdr_rc write_typed(pdr_properties *properties,
                          const pdr_state_type *type, const void *object,
                          bool adds, pdr_err *err)
{
    char room[PROPERTY_ROOM], shown[PDR_SHOWN];
    struct property found;
    pdr_value *value = NULL;
    pdr_str own = {NULL, 0};
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(properties != NULL && type != NULL && object != NULL);
    rc = pdr__property_of_type(&found, properties, type, NULL);
    if (rc != PDR_OK && rc != PDR_ENOTFOUND)
        return pdr__property_of_type(&found, properties, type, err);
    if (adds)
        PDR_TRY(check_absent(&found, err));
    rc = pdr__typed_encode(&value, type, object, found.value, PDR_OVERLAY, err);
    if (rc != PDR_OK && rc != PDR_ENOMEM) {
        own = pdr__property_name(room, &found);
        pdr__path_below(err, own);
        return pdr__wrap(err, rc, "property '%s'", pdr__shown(shown, own));
    }
    if (rc == PDR_OK)
        rc = write_property(properties, &found, value, err);
done:
    pdr_value_free(value);
    return rc;
}

pdr_rc pdr_properties_add_typed(pdr_properties *properties,
                                const pdr_state_type *type, const void *object,
                                pdr_err *err)
{
    return write_typed(properties, type, object, true, err);
}

pdr_rc pdr_properties_set_typed(pdr_properties *properties,
                                const pdr_state_type *type, const void *object,
                                pdr_err *err)
{
    return write_typed(properties, type, object, false, err);
}

void pdr__path_below(pdr_err *err, pdr_str name)
{
    pdr_buf token = PDR_BUF_INIT(PDR_MAX_POINTER_BYTES);
    pdr_buf path = PDR_BUF_INIT(PDR_MAX_POINTER_BYTES);
    pdr_rc rc = PDR_OK;

    if (err == NULL || err->path[0] == '.') /* it was cut in front */
        return;
    PDR_TRY(pdr_pointer_push(&token, name, NULL));
    PDR_TRY(pdr__text_encode(&path, pdr_buf_str(&token), NULL));
    PDR_TRY(pdr_buf_append(&path, pdr_str_c(err->path), NULL));
    pdr__err_path(err, pdr_buf_str(&path));
done: /* without memory it is told with half of its place */
    pdr_buf_dispose(&token);
    pdr_buf_dispose(&path);
}

/* An object of a property that is not null. */
static pdr_rc decode_property(pdr_object **out, const struct property *property,
                              const pdr_state_type *type, pdr_err *err)
{
    char room[PROPERTY_ROOM], name[PDR_SHOWN], type_name[PDR_SHOWN];
    pdr_err inner = PDR_ERR_INIT;
    pdr_rc rc = pdr__typed_decode(out, type, property->value, &inner);

    if (rc == PDR_OK)
        return rc;
    if (rc == PDR_ENOMEM)
        return pdr__nomem(err);
    pdr_str own = pdr__property_name(room, property);
    rc = PDR_FAIL(err, META_DECODE, "property '%s' is not a %s: %s",
                  pdr__shown(name, own),
                  pdr__shown(type_name, pdr_str_c(type->name)), inner.message);
    pdr__err_path(err, pdr_str_c(inner.path));
    pdr__path_below(err, own);
    return rc;
}

static struct decoded *decoded_of(const pdr_properties *properties,
                                  const pdr_state_type *type)
{
    for (size_t i = 0; i < properties->decoded_count; i++) {
        if (properties->decoded[i].type == type)
            return &properties->decoded[i];
    }
    return NULL;
}

/* Keep an object for the next time (I2). */
static pdr_rc keep_decoded(pdr_properties *properties, const pdr_value *value,
                           const pdr_object *object, pdr_err *err)
{
    const pdr_state_type *type = pdr_object_type(object);
    struct decoded *place = decoded_of(properties, type);

    if (place != NULL) {
        dispose_decoded(place);
    } else {
        place = pdr__realloc(properties->decoded,
                             (properties->decoded_count + 1) * sizeof(*place));
        if (place == NULL)
            return pdr__nomem(err);
        properties->decoded = place;
        place += properties->decoded_count++;
    }
    *place =
        (struct decoded){type, pdr_value_ref(value), pdr_object_ref(object)};
    return PDR_OK;
}

pdr_rc pdr_properties_get_typed(pdr_object **out, pdr_properties *properties,
                                const pdr_state_type *type, pdr_err *err)
{
    struct property found;
    const struct decoded *kept = NULL;
    pdr_object *object = NULL;
    char name[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && properties != NULL && type != NULL);
    *out = NULL;
    PDR_TRY(pdr__property_of_type(&found, properties, type, err));
    if (pdr__is_nothing(found.value))
        return PDR_FAIL(err, NO_PROPERTY, "the property '%s' is null",
                        pdr__shown(name, found.asked));
    kept = decoded_of(properties, type);
    if (kept != NULL && kept->value == found.value) {
        *out = pdr_object_ref(kept->object);
        return PDR_OK;
    }
    PDR_TRY(decode_property(&object, &found, type, err));
    PDR_TRY(keep_decoded(properties, found.value, object, err));
    *out = object;
    object = NULL;
done:
    pdr_object_free(object);
    return rc;
}

bool pdr_properties_has_typed(const pdr_properties *properties,
                              const pdr_state_type *type)
{
    struct property found;

    return pdr__property_of_type(&found, properties, type, NULL) == PDR_OK;
}

pdr_rc pdr_properties_remove_typed(pdr_properties *properties,
                                   const pdr_state_type *type, pdr_err *err)
{
    struct property found;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(properties != NULL && type != NULL);
    PDR_TRY(pdr__property_of_type(&found, properties, type, err));
    PDR_TRY(remove_property(properties, &found, err));
done:
    return rc;
}

pdr_rc pdr_properties_try_get(pdr_object **out, bool *found,
                              pdr_properties *properties, pdr_str name,
                              const pdr_state_type *type, pdr_err *err)
{
    struct property there;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && found != NULL && properties != NULL &&
                type != NULL);
    *out = NULL;
    *found = false;
    PDR_TRY(find_if_there(&there, properties, name, err));
    if (pdr__is_nothing(there.value))
        return PDR_OK;
    rc = pdr__typed_decode(out, type, there.value, NULL);
    *found = rc == PDR_OK;
    return rc == PDR_ENOMEM ? pdr__nomem(err) : PDR_OK;
done:
    return rc;
}
