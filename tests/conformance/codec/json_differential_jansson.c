/*
 * json_differential_jansson.c - our reader against jansson.
 *
 * jansson checks UTF-8 and the grammar as strictly as we do. What differs is
 * what it cannot hold: DIFFERENCES.md, section jansson.
 */
#include <ctype.h>

#include <jansson.h>

#include "differential.h"

static bool parse(void **out, pdr_str text)
{
    json_t *value =
        json_loadb(text.ptr, text.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

    *out = value;
    return value != NULL;
}

static void release(void *value)
{
    json_decref(value);
}

static pdr_kind kind(void *value)
{
    switch (json_typeof((json_t *)value)) {
    case JSON_OBJECT:
        return PDR_OBJECT;
    case JSON_ARRAY:
        return PDR_ARRAY;
    case JSON_STRING:
        return PDR_STRING;
    case JSON_INTEGER:
    case JSON_REAL:
        return PDR_NUMBER;
    case JSON_TRUE:
    case JSON_FALSE:
        return PDR_BOOL;
    case JSON_NULL:
        break;
    }
    return PDR_NULL;
}

static size_t count(void *value)
{
    return json_is_array((json_t *)value) ? json_array_size(value)
                                          : json_object_size(value);
}

static void *at(void *array, size_t index)
{
    return json_array_get(array, index);
}

static bool get(void **out, void *object, pdr_str name)
{
    *out = json_object_getn(object, name.ptr != NULL ? name.ptr : "", name.len);
    return *out != NULL;
}

static bool truth(void *value)
{
    return json_is_true((json_t *)value);
}

static bool same_number(void *value, const pdr_value *ours)
{
    int64_t whole = 0;
    double real = 0;

    if (json_is_integer((json_t *)value))
        return pdr_value_int64(&whole, ours, NULL) == PDR_OK &&
               whole == json_integer_value(value);
    double theirs = json_real_value(value);
    return pdr_value_double(&real, ours, NULL) == PDR_OK &&
           memcmp(&real, &theirs, sizeof(real)) == 0;
}

static bool same_text(void *value, pdr_str ours)
{
    return pdr_str_equal(
        pdr_str_n(json_string_value(value), json_string_length(value)), ours);
}

/* --- rules --------------------------------------------------------------- */

static bool lone_surrogate(const struct differential_case *c)
{
    return differential_any(c->value, differential_is_lone_surrogate);
}

static bool nul_in_name(const struct differential_case *c)
{
    return differential_any(c->value, differential_is_name_with_nul);
}

static bool big_integer(const struct differential_case *c)
{
    return differential_any(c->value, differential_is_big_integer);
}

static bool overflow(const struct differential_case *c)
{
    return differential_any(c->value, differential_is_overflow);
}

static bool too_deep(const struct differential_case *c)
{
    return differential_reason_is(c, "too_deep");
}

/* It reads one byte too many behind numbers and words, and cannot put a NUL
 * back. */
static bool nul_after_token(const struct differential_case *c)
{
    size_t at = 0;

    return differential_is_nul(c, &at) && at > 0 &&
           isalnum((unsigned char)c->text.ptr[at - 1]);
}

static struct differential_rule rules[] = {
    {"lone surrogates", lone_surrogate, NULL, 0},
    {"U+0000 in a name", nul_in_name, NULL, 0},
    {"integers beyond 64 bits", big_integer, NULL, 0},
    {"numbers beyond the range of a double", overflow, NULL, 0},
    {"depth", NULL, too_deep, 0},
    {"a NUL byte behind a number or word", NULL, nul_after_token, 0},
};

TEST(json_read, agrees_with_jansson_but_for_the_written_differences)
{
    struct differential_other other = {.name = "jansson",
                                       .parse = parse,
                                       .release = release,
                                       .kind = kind,
                                       .count = count,
                                       .at = at,
                                       .get = get,
                                       .truth = truth,
                                       .same_number = same_number,
                                       .same_text = same_text,
                                       .rules = rules,
                                       .rule_count =
                                           sizeof(rules) / sizeof(rules[0])};

    differential_run(&other);
}
