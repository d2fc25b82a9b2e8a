/*
 * json_differential_jsonc.c - our reader against json-c in its strict mode.
 *
 * json-c is the more forgiving of the two: what it accepts beyond the standard
 * is in DIFFERENCES.md, section json-c.
 */
#include <json-c/json.h>

#include "differential.h"

#define DEPTH 256 /* deeper than any document here; the default is 32 */

static bool parse(void **out, pdr_str text)
{
    struct json_tokener *tokener = json_tokener_new_ex(DEPTH);
    enum json_tokener_error verdict;

    json_tokener_set_flags(tokener,
                           JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    *out = json_tokener_parse_ex(tokener, text.ptr, (int)text.len);
    verdict = json_tokener_get_error(tokener);
    if (verdict == json_tokener_continue) { /* a number may end here */
        *out = json_tokener_parse_ex(tokener, "", 1);
        verdict = json_tokener_get_error(tokener);
    }
    json_tokener_free(tokener);
    return verdict == json_tokener_success;
}

static void release(void *value)
{
    json_object_put(value);
}

static pdr_kind kind(void *value)
{
    switch (json_object_get_type(value)) {
    case json_type_null:
        break;
    case json_type_boolean:
        return PDR_BOOL;
    case json_type_double:
    case json_type_int:
        return PDR_NUMBER;
    case json_type_object:
        return PDR_OBJECT;
    case json_type_array:
        return PDR_ARRAY;
    case json_type_string:
        return PDR_STRING;
    }
    return PDR_NULL;
}

static size_t count(void *value)
{
    return json_object_is_type(value, json_type_array)
               ? json_object_array_length(value)
               : (size_t)json_object_object_length(value);
}

static void *at(void *array, size_t index)
{
    return json_object_array_get_idx(array, index);
}

static bool get(void **out, void *object, pdr_str name)
{
    char key[8192];
    struct json_object *member = NULL;

    assert_true(name.len < sizeof(key));
    if (name.len > 0)
        memcpy(key, name.ptr, name.len);
    key[name.len] = '\0';
    bool found = json_object_object_get_ex(object, key, &member) != 0;
    *out = member;
    return found;
}

static bool truth(void *value)
{
    return json_object_get_boolean(value) != 0;
}

static bool same_number(void *value, const pdr_value *ours)
{
    int64_t whole = 0;
    double real = 0;

    if (json_object_is_type(value, json_type_int))
        return pdr_value_int64(&whole, ours, NULL) == PDR_OK &&
               whole == json_object_get_int64(value);
    double theirs = json_object_get_double(value);
    return pdr_value_double(&real, ours, NULL) == PDR_OK &&
           memcmp(&real, &theirs, sizeof(real)) == 0;
}

static bool same_text(void *value, pdr_str ours)
{
    return pdr_str_equal(pdr_str_n(json_object_get_string(value),
                                   (size_t)json_object_get_string_len(value)),
                         ours);
}

/* An escaped pair for a character whose lower 16 bits look like a surrogate,
 * as U+1D800: json-c takes what it decoded for half a pair. */
static bool is_misread_pair(const pdr_value *string)
{
    pdr_buf scratch = PDR_BUF_INIT(65536);
    pdr_str text = {NULL, 0};
    bool found = false;

    if (pdr_value_kind(string) == PDR_STRING &&
        pdr_value_text(&text, string, &scratch, NULL) == PDR_OK)
        for (size_t i = 0; i + 3 < text.len && !found; i++) {
            const unsigned char *p = (const unsigned char *)text.ptr + i;
            found = p[0] >= 0xF0 && (p[1] & 0x0F) == 0x0D && p[2] >= 0xA0;
        }
    pdr_buf_dispose(&scratch);
    return found;
}

static bool is_unfit_name(const pdr_value *name)
{
    return differential_is_name_with_nul(name, true) ||
           differential_is_lone_surrogate(name, true) || is_misread_pair(name);
}

/* json-c gives U+FFFD for half a pair, cuts names at U+0000, puts the nearest
 * 64-bit number in the place of a larger one, and infinity where a double ends.
 */
static bool may_differ(const pdr_value *ours)
{
    pdr_iter it;

    if (differential_is_lone_surrogate(ours, false) ||
        differential_is_big_integer(ours, false) ||
        differential_is_overflow(ours, false) || is_misread_pair(ours))
        return true;
    pdr_iter_init(&it, ours);
    while (pdr_iter_next(&it))
        if (it.name != NULL && is_unfit_name(it.name))
            return true;
    return false;
}

/* --- rules --------------------------------------------------------------- */

static bool too_deep(const struct differential_case *c)
{
    return differential_reason_is(c, "too_deep");
}

static bool bare_token(const struct differential_case *c)
{
    return differential_reason_is(c, "bare_token");
}

static bool control(const struct differential_case *c)
{
    return differential_reason_is(c, "control_in_string") &&
           differential_byte(c, 0) != 0;
}

static bool loose_utf8(const struct differential_case *c)
{
    return differential_reason_is(c, "bad_utf8");
}

static bool quoted_name(const struct differential_case *c)
{
    return differential_reason_is(c, "unexpected_byte") &&
           differential_byte(c, 0) == '\'';
}

/* Whatever stands behind the NUL, before it is a whole document. */
static bool nul_behind(const struct differential_case *c)
{
    pdr_value *value = NULL;
    size_t at = 0;
    bool whole =
        differential_is_nul(c, &at) &&
        pdr_json_read(&value, pdr_str_n(c->text.ptr, at), NULL, NULL) == PDR_OK;

    pdr_value_free(value);
    return whole;
}

static bool is_digit(int byte)
{
    return byte >= '0' && byte <= '9';
}

/* 007, -01, 01.5 */
static bool leading_zero(const struct differential_case *c)
{
    return differential_byte(c, -1) == '0' && is_digit(differential_byte(c, 0));
}

/* 1. and 1.e5 */
static bool point_without_digits(const struct differential_case *c)
{
    return differential_byte(c, -1) == '.' &&
           is_digit(differential_byte(c, -2));
}

/* -.5 */
static bool point_after_minus(const struct differential_case *c)
{
    return differential_byte(c, -1) == '-' && differential_byte(c, 0) == '.';
}

static struct differential_rule rules[] = {
    {"depth", NULL, too_deep, 0},
    {"NaN and infinities", NULL, bare_token, 0},
    {"control bytes in strings", NULL, control, 0},
    {"UTF-8 that is overlong, a surrogate or too high", NULL, loose_utf8, 0},
    {"names in single quotes", NULL, quoted_name, 0},
    {"a NUL byte behind the document", NULL, nul_behind, 0},
    {"leading zeros", NULL, leading_zero, 0},
    {"a point without digits behind it", NULL, point_without_digits, 0},
    {"a point right behind a minus", NULL, point_after_minus, 0},
};

TEST(json_read, agrees_with_json_c_but_for_the_written_differences)
{
    struct differential_other other = {.name = "json-c",
                                       .parse = parse,
                                       .release = release,
                                       .kind = kind,
                                       .count = count,
                                       .at = at,
                                       .get = get,
                                       .truth = truth,
                                       .same_number = same_number,
                                       .same_text = same_text,
                                       .may_differ = may_differ,
                                       .rules = rules,
                                       .rule_count =
                                           sizeof(rules) / sizeof(rules[0])};

    differential_run(&other);
}
