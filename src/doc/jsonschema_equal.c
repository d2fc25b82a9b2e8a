/*
 * jsonschema_equal.c - when JSON Schema calls two values equal.
 *
 * WHY  `enum`, `const` and `uniqueItems` compare by meaning: 1.0 is 1, members
 *      stand in any order, and of several members with one name the last
 *      counts, as everywhere in this library. pdr_value_equal() asks whether
 *      something got lost, which is another question.
 *
 * COST  Each pair of values that is compared, each value that is hashed and
 *      each name that is looked up is one step of the budget, and so are 64
 *      bytes of text. To find equal elements of an array all are hashed, with
 *      the key of the process, and only those with one hash are compared:
 *      linear, also for a million elements.
 */
#include "jsonschema.h"

#include "number.h"

pdr_rc pdr__schema_step(struct schema_work *work, uint64_t steps, pdr_err *err)
{
    if (work->steps < steps)
        return PDR_FAIL(err, CHECK_LIMIT, "%s",
                        "checking takes too many steps: the schema applies to "
                        "the same value again and again; simplify its "
                        "references");
    work->steps -= steps;
    return PDR_OK;
}

pdr_rc pdr__schema_text(pdr_str *out, struct schema_work *work,
                        const pdr_value *string, pdr_err *err)
{
    pdr_rc rc = pdr__schema_step(
        work, 1 + string_inner(string).len / SCHEMA_STEP_BYTES, err);

    *out = (pdr_str){NULL, 0};
    return rc == PDR_OK
               ? pdr__value_name_bytes(out, string, &work->scratch, err)
               : rc;
}

/* --- equality ------------------------------------------------------------ */

static pdr_rc equal_scalars(bool *out, struct schema_work *work,
                            const pdr_value *a, const pdr_value *b,
                            pdr_err *err)
{
    bool is_text = pdr_value_kind(a) == PDR_STRING;
    pdr_str raw_a = {NULL, 0}, raw_b = {NULL, 0};
    size_t looked_at = 0;
    pdr_rc rc = PDR_OK;

    (void)pdr_value_raw(&raw_a, a); /* a scalar has its text */
    (void)pdr_value_raw(&raw_b, b);
    /* Texts end where they differ; numbers are read to their end. */
    looked_at = raw_a.len < raw_b.len ? raw_a.len : raw_b.len;
    if (!is_text)
        looked_at = raw_a.len + raw_b.len;
    rc = pdr__schema_step(work, looked_at / SCHEMA_STEP_BYTES, err);
    if (rc != PDR_OK)
        return rc;
    if (is_text)
        *out = pdr__value_same_text(a, b);
    else if (pdr_value_kind(a) == PDR_NUMBER)
        *out = pdr__number_equal_value(raw_a, raw_b);
    else
        *out = pdr_str_equal(raw_a, raw_b);
    return PDR_OK;
}

static pdr_rc equal_arrays(bool *out, struct schema_work *work,
                           const pdr_value *a, const pdr_value *b, pdr_err *err)
{
    pdr_iter at, bt;
    pdr_rc rc = PDR_OK;

    *out = pdr_value_count(a) == pdr_value_count(b);
    pdr_iter_init(&at, a);
    pdr_iter_init(&bt, b);
    while (*out && rc == PDR_OK && pdr_iter_next(&at) && pdr_iter_next(&bt))
        rc = pdr__schema_equal(out, work, at.value, bt.value, err);
    return rc;
}

pdr_rc pdr__schema_count_names(uint64_t *out, struct schema_work *work,
                               const pdr_value *object, uint64_t enough,
                               pdr_err *err)
{
    pdr_iter it;
    pdr_str name = {NULL, 0};
    pdr_rc rc = PDR_OK;

    *out = 0;
    pdr_iter_init(&it, object);
    while (*out < enough && rc == PDR_OK && pdr_iter_next(&it)) {
        rc = pdr__schema_text(&name, work, it.name, err);
        *out += rc == PDR_OK && pdr__iter_is_last(&it, name);
    }
    return rc;
}

/* Members of `b` are counted last and only as far as needed: most pairs differ
 * before that. */
static pdr_rc equal_objects(bool *out, struct schema_work *work,
                            const pdr_value *a, const pdr_value *b,
                            pdr_err *err)
{
    uint64_t names = 0, matched = 0;
    pdr_str name = {NULL, 0};
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    *out = true;
    pdr_iter_init(&it, a);
    while (*out && rc == PDR_OK && pdr_iter_next(&it)) {
        const pdr_value *other = NULL;

        rc = pdr__schema_text(&name, work, it.name, err);
        if (rc != PDR_OK || !pdr__iter_is_last(&it, name))
            continue;
        other = pdr_value_get(b, name);
        *out = other != NULL;
        if (other != NULL)
            rc = pdr__schema_equal(out, work, it.value, other, err);
        matched++;
    }
    if (*out && rc == PDR_OK)
        rc = pdr__schema_count_names(&names, work, b, matched + 1, err);
    *out = *out && matched == names;
    return rc;
}

pdr_rc pdr__schema_equal(bool *out, struct schema_work *work,
                         const pdr_value *a, const pdr_value *b, pdr_err *err)
{
    pdr_rc rc = pdr__schema_step(work, 1, err);

    *out = a == b;
    if (rc != PDR_OK || *out || pdr_value_kind(a) != pdr_value_kind(b))
        return rc;
    switch (pdr_value_kind(a)) {
    case PDR_ARRAY:
        return equal_arrays(out, work, a, b, err);
    case PDR_OBJECT:
        return equal_objects(out, work, a, b, err);
    case PDR_NULL:
    case PDR_BOOL:
    case PDR_NUMBER:
    case PDR_STRING:
        break;
    }
    return equal_scalars(out, work, a, b, err);
}

/* --- hashes -------------------------------------------------------------- */

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t both[2] = {a, b};

    return pdr__hash(pdr_str_n((const char *)both, sizeof(both)));
}

static pdr_rc hash_value(uint64_t *out, struct schema_work *work,
                         const pdr_value *value, pdr_err *err);

static pdr_rc hash_array(uint64_t *out, struct schema_work *work,
                         const pdr_value *array, pdr_err *err)
{
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    *out = PDR_ARRAY;
    pdr_iter_init(&it, array);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        uint64_t element = 0;

        rc = hash_value(&element, work, it.value, err);
        *out = mix(*out, element);
    }
    return rc;
}

/* A sum: the order of members does not count. */
static pdr_rc hash_object(uint64_t *out, struct schema_work *work,
                          const pdr_value *object, pdr_err *err)
{
    pdr_str name = {NULL, 0};
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    *out = PDR_OBJECT;
    pdr_iter_init(&it, object);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        uint64_t member = 0, key = 0;

        rc = pdr__schema_text(&name, work, it.name, err);
        if (rc != PDR_OK || !pdr__iter_is_last(&it, name))
            continue;
        key = pdr__hash(name);
        rc = hash_value(&member, work, it.value, err);
        *out += mix(key, member);
    }
    return rc;
}

static pdr_rc hash_value(uint64_t *out, struct schema_work *work,
                         const pdr_value *value, pdr_err *err)
{
    pdr_kind kind = pdr_value_kind(value);
    pdr_str text = {NULL, 0};
    pdr_rc rc = pdr__schema_step(work, 1, err);

    if (rc != PDR_OK)
        return rc;
    if (kind == PDR_ARRAY)
        return hash_array(out, work, value, err);
    if (kind == PDR_OBJECT)
        return hash_object(out, work, value, err);
    if (kind == PDR_STRING) {
        rc = pdr__schema_text(&text, work, value, err);
        *out = mix(PDR_STRING, pdr__hash(text));
        return rc;
    }
    (void)pdr_value_raw(&text, value);
    rc = pdr__schema_step(work, text.len / SCHEMA_STEP_BYTES, err);
    if (rc != PDR_OK)
        return rc;
    *out = kind == PDR_NUMBER ? pdr__schema_hash_number(text) : pdr__hash(text);
    return PDR_OK;
}

/* --- equal elements ------------------------------------------------------ */

struct seen {
    const pdr_value *value; /* NULL: free */
    uint64_t hash;
    size_t index;
};

/* Is one equal to `value` in the table? If not, put it there. */
static pdr_rc look_up(bool *out, size_t *first, struct seen *table, size_t mask,
                      struct schema_work *work, struct seen seen, pdr_err *err)
{
    size_t i = (size_t)seen.hash & mask;
    pdr_rc rc = PDR_OK;

    *out = false;
    for (; table[i].value != NULL; i = (i + 1) & mask) {
        if (table[i].hash != seen.hash)
            continue;
        rc = pdr__schema_equal(out, work, table[i].value, seen.value, err);
        *first = table[i].index;
        if (rc != PDR_OK || *out)
            return rc;
    }
    table[i] = seen;
    return PDR_OK;
}

pdr_rc pdr__schema_repeated(bool *out, size_t *first, size_t *second,
                            struct schema_work *work, const pdr_value *array,
                            pdr_err *err)
{
    struct seen *table = NULL;
    size_t slots = 4;
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    *out = false;
    while (slots / 2 < pdr_value_count(array))
        slots *= 2;
    rc = pdr__schema_step(work, slots, err); /* they are cleared */
    if (rc != PDR_OK)
        return rc;
    table = pdr__calloc(slots, sizeof(*table));
    if (table == NULL)
        return pdr__nomem(err);
    pdr_iter_init(&it, array);
    while (!*out && rc == PDR_OK && pdr_iter_next(&it)) {
        struct seen seen = {it.value, 0, it.index};

        rc = hash_value(&seen.hash, work, it.value, err);
        if (rc == PDR_OK)
            rc = look_up(out, first, table, slots - 1, work, seen, err);
        *second = it.index;
    }
    pdr__free(table);
    return rc;
}
