/*
 * jsonschema_assert.c - rules that look at one value and no other schema.
 *
 * Lengths of strings count code points. Half a surrogate pair is one, and a
 * pattern sees U+FFFD in its place: it has no UTF-8 form, and "any character"
 * must match it.
 */
#include <stdio.h>

#include "jsonschema_check.h"

#include "number.h"

/* One rule at one value. */
struct assertion {
    struct schema_check *check;
    const struct rule *rule;
    const struct frame *frame;
};

/* It is broken: tell. */
#define BROKEN(a, ...)                      \
    pdr__check_tell((a)->check, (a)->frame, \
                    pdr__keyword_names[(a)->rule->keyword], err, __VA_ARGS__)

/* A limit was reached: say at which value. */
static pdr_rc placed(const struct assertion *a, pdr_rc rc, pdr_err *err)
{
    return rc == PDR_ELIMIT ? pdr__check_place(a->check, a->frame, rc, err)
                            : rc;
}

/* --- types and values ---------------------------------------------------- */

/* "a string or null" for bits of types. */
static void type_words(char out[96], unsigned types)
{
    static const struct {
        const char *text;
        unsigned bits;
    } words[] = {
        {"null", KIND_BIT(PDR_NULL)},        {"a boolean", KIND_BIT(PDR_BOOL)},
        {"an integer", KIND_INTEGER},        {"a number", KIND_BIT(PDR_NUMBER)},
        {"a string", KIND_BIT(PDR_STRING)},  {"an array", KIND_BIT(PDR_ARRAY)},
        {"an object", KIND_BIT(PDR_OBJECT)},
    };
    size_t len = 0;

    for (size_t i = 0; i < PDR_COUNT(words); i++) {
        if ((types & words[i].bits) == 0)
            continue;
        const char *between = len > 0 ? " or " : "";
        int n = snprintf(out + len, 96 - len, "%s%s", between, words[i].text);
        len += (size_t)n;
    }
}

static pdr_rc assert_type(bool *valid, const struct assertion *a, pdr_err *err)
{
    unsigned types = a->rule->of.types;
    pdr_kind kind = pdr_value_kind(a->frame->value);
    char wanted[96];

    *valid = (types & KIND_BIT(kind)) != 0 ||
             (kind == PDR_NUMBER && (types & KIND_INTEGER) != 0 &&
              pdr__schema_is_integer(a->frame->value));
    if (*valid || !check_is_loud(a->check))
        return PDR_OK;
    type_words(wanted, types);
    return BROKEN(a, "this is %s, where %s must stand: change it",
                  kind == PDR_NUMBER && (types & KIND_INTEGER) != 0
                      ? "a number with a fraction"
                      : pdr_kind_name(kind),
                  wanted);
}

static pdr_rc assert_enum(bool *valid, const struct assertion *a, pdr_err *err)
{
    pdr_str raw = {NULL, 0};
    char shown[PDR_SHOWN];
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    *valid = false;
    pdr_iter_init(&it, a->rule->of.value);
    while (!*valid && rc == PDR_OK && pdr_iter_next(&it))
        rc = pdr__schema_equal(valid, &a->check->work, it.value,
                               a->frame->value, err);
    if (rc != PDR_OK || *valid || !check_is_loud(a->check))
        return placed(a, rc, err);
    (void)pdr_value_raw(&raw, a->rule->of.value); /* flat: it has its text */
    return BROKEN(a,
                  "none of the %zu values that may stand here: use one of %s",
                  pdr_value_count(a->rule->of.value), pdr__shown(shown, raw));
}

static pdr_rc assert_const(bool *valid, const struct assertion *a, pdr_err *err)
{
    pdr_str raw = {NULL, 0};
    char shown[PDR_SHOWN];
    pdr_rc rc = pdr__schema_equal(valid, &a->check->work, a->rule->of.value,
                                  a->frame->value, err);

    if (rc != PDR_OK || *valid || !check_is_loud(a->check))
        return placed(a, rc, err);
    (void)pdr_value_raw(&raw, a->rule->of.value);
    return BROKEN(a, "only %s may stand here", pdr__shown(shown, raw));
}

/* --- numbers ------------------------------------------------------------- */

/* The digits of a number, and of the one that it is compared with, are read. */
static pdr_rc pay_digits(const struct assertion *a, pdr_err *err)
{
    pdr_str number = {NULL, 0};
    size_t bound = 0;
    pdr_rc rc = PDR_OK;

    if (pdr_value_kind(a->frame->value) != PDR_NUMBER)
        return PDR_OK;
    (void)pdr_value_raw(&number, a->frame->value);
    if (a->rule->keyword != KW_TYPE && a->rule->keyword != KW_MULTIPLE)
        bound = a->rule->of.number.len;
    rc = pdr__schema_step(
        &a->check->work,
        number.len / SCHEMA_STEP_BYTES + bound / SCHEMA_STEP_BYTES, err);
    return placed(a, rc, err);
}

static pdr_rc assert_bound(bool *valid, const struct assertion *a, pdr_err *err)
{
    pdr_str number = {NULL, 0};
    char shown[PDR_SHOWN];
    const char *words = NULL;
    int order = 0;

    (void)pdr_value_raw(&number, a->frame->value);
    order = pdr__number_compare(number, a->rule->of.number);
    if (a->rule->keyword == KW_MINIMUM) {
        *valid = order >= 0;
        words = "at least";
    } else if (a->rule->keyword == KW_MAXIMUM) {
        *valid = order <= 0;
        words = "at most";
    } else if (a->rule->keyword == KW_ABOVE) {
        *valid = order > 0;
        words = "above";
    } else {
        *valid = order < 0;
        words = "below";
    }
    *valid = *valid && !pdr_str_equal(number, PDR_LIT("NaN"));
    if (*valid || !check_is_loud(a->check))
        return PDR_OK;
    return BROKEN(a, "the number must be %s %s", words,
                  pdr__shown(shown, a->rule->of.number));
}

static pdr_rc assert_multiple(bool *valid, const struct assertion *a,
                              pdr_err *err)
{
    pdr_str number = {NULL, 0};

    (void)pdr_value_raw(&number, a->frame->value);
    *valid = pdr__schema_is_multiple(number, &a->rule->of.divisor);
    if (*valid)
        return PDR_OK;
    return BROKEN(a, "the number must be a multiple of %llue%lld",
                  (unsigned long long)a->rule->of.divisor.digits,
                  (long long)a->rule->of.divisor.exponent);
}

/* --- counts -------------------------------------------------------------- */

/* Code points of a decoded text: bytes that begin one. */
static uint64_t code_points(pdr_str text)
{
    uint64_t count = 0;

    for (size_t i = 0; i < text.len; i++)
        count += ((unsigned char)text.ptr[i] & 0xC0u) != 0x80u;
    return count;
}

static pdr_rc length_of(uint64_t *out, struct schema_check *check,
                        const pdr_value *string, pdr_err *err)
{
    pdr_str text = {NULL, 0};
    pdr_rc rc = pdr__schema_text(&text, &check->work, string, err);

    *out = code_points(text);
    return rc;
}

static pdr_rc assert_count(bool *valid, const struct assertion *a, bool least,
                           pdr_err *err)
{
    const pdr_value *value = a->frame->value;
    pdr_kind kind = pdr_value_kind(value);
    const char *things = "elements";
    uint64_t count = pdr_value_count(value), limit = a->rule->of.count;
    pdr_rc rc = PDR_OK;

    if (kind == PDR_STRING) {
        rc = length_of(&count, a->check, value, err);
        things = "characters";
    } else if (kind == PDR_OBJECT) {
        rc = pdr__schema_count_names(&count, &a->check->work, value, UINT64_MAX,
                                     err);
        things = "members";
    }
    *valid = rc == PDR_OK && (least ? count >= limit : count <= limit);
    if (rc != PDR_OK || *valid)
        return placed(a, rc, err);
    return BROKEN(a, "%llu %s, where there must be %s %llu",
                  (unsigned long long)count, things,
                  least ? "at least" : "at most", (unsigned long long)limit);
}

static pdr_rc assert_unique(bool *valid, const struct assertion *a,
                            pdr_err *err)
{
    bool repeated = false;
    size_t first = 0, second = 0;
    pdr_rc rc = PDR_OK;

    if (a->rule->of.truth)
        rc = pdr__schema_repeated(&repeated, &first, &second, &a->check->work,
                                  a->frame->value, err);
    *valid = !repeated;
    if (rc != PDR_OK || *valid)
        return placed(a, rc, err);
    return BROKEN(a, "elements %zu and %zu are equal: remove one", first,
                  second);
}

/* --- patterns ------------------------------------------------------------ */

pdr_rc pdr__check_search(bool *found, struct schema_check *check,
                         const struct pdr__regex *regex,
                         const pdr_value *string, pdr_err *err)
{
    pdr_str text = {NULL, 0};
    pdr_rc rc = PDR_OK;

    *found = false;
    if (check->searcher == NULL)
        PDR_TRY(pdr__searcher_new(&check->searcher, err));
    PDR_TRY(pdr__schema_text(&text, &check->work, string, err));
    if (pdr_value_has_lone_surrogate(string))
        PDR_TRY(pdr__value_sound_text(&text, string, &check->text, err));
    PDR_TRY(pdr__regex_search(found, check->searcher, regex, text,
                              &check->work.steps, err));
done:
    return rc;
}

static pdr_rc assert_pattern(bool *valid, const struct assertion *a,
                             pdr_err *err)
{
    char shown[PDR_SHOWN];
    pdr_rc rc = pdr__check_search(valid, a->check, a->rule->of.pattern.regex,
                                  a->frame->value, err);

    if (rc != PDR_OK || *valid || !check_is_loud(a->check))
        return placed(a, rc, err);
    return BROKEN(a, "the text does not match the pattern %s",
                  pdr__shown(shown, a->rule->of.pattern.text));
}

/* --- members ------------------------------------------------------------- */

/* Has the object a member of that name? */
static pdr_rc look_up(bool *there, const struct assertion *a, pdr_str name,
                      pdr_err *err)
{
    pdr_rc rc = pdr__schema_step(&a->check->work,
                                 1 + name.len / SCHEMA_STEP_BYTES, err);

    *there = rc == PDR_OK && pdr_value_get(a->frame->value, name) != NULL;
    return placed(a, rc, err);
}

static pdr_rc need_names(bool *valid, const struct assertion *a,
                         const pdr_str *names, size_t count, pdr_err *err)
{
    char shown[PDR_SHOWN];
    bool there = false;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; rc == PDR_OK && i < count; i++) {
        rc = look_up(&there, a, names[i], err);
        if (rc != PDR_OK || there)
            continue;
        *valid = false;
        if (!check_is_loud(a->check))
            return PDR_OK;
        rc = BROKEN(a, "the member '%s' is missing: add it",
                    pdr__shown(shown, names[i]));
    }
    return rc;
}

static pdr_rc assert_dependent(bool *valid, const struct assertion *a,
                               pdr_err *err)
{
    bool there = false;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; rc == PDR_OK && i < a->rule->of.members.count; i++) {
        const struct schema_member *member = &a->rule->of.members.at[i];

        rc = look_up(&there, a, member->text, err);
        if (rc == PDR_OK && there)
            rc = need_names(valid, a, member->needs, member->need_count, err);
    }
    return rc;
}

pdr_rc pdr__check_assertion(bool *valid, struct schema_check *check,
                            const struct rule *rule, const struct frame *frame,
                            pdr_err *err)
{
    struct assertion a = {check, rule, frame};
    pdr_rc rc = PDR_OK;

    *valid = true;
    switch ((int)rule->keyword) {
    case KW_TYPE:
        rc = pay_digits(&a, err);
        return rc == PDR_OK ? assert_type(valid, &a, err) : rc;
    case KW_ENUM:
        return assert_enum(valid, &a, err);
    case KW_CONST:
        return assert_const(valid, &a, err);
    case KW_MINIMUM:
    case KW_MAXIMUM:
    case KW_ABOVE:
    case KW_BELOW:
        rc = pay_digits(&a, err);
        return rc == PDR_OK ? assert_bound(valid, &a, err) : rc;
    case KW_MULTIPLE:
        rc = pay_digits(&a, err);
        return rc == PDR_OK ? assert_multiple(valid, &a, err) : rc;
    case KW_MIN_LENGTH:
    case KW_MIN_ITEMS:
    case KW_MIN_PROPERTIES:
        return assert_count(valid, &a, true, err);
    case KW_MAX_LENGTH:
    case KW_MAX_ITEMS:
    case KW_MAX_PROPERTIES:
        return assert_count(valid, &a, false, err);
    case KW_PATTERN:
        return assert_pattern(valid, &a, err);
    case KW_UNIQUE:
        return assert_unique(valid, &a, err);
    case KW_REQUIRED:
        return need_names(valid, &a, rule->of.names.at, rule->of.names.count,
                          err);
    case KW_NEEDS_NAMES:
        return assert_dependent(valid, &a, err);
    default:
        return PDR_OK; /* it is checked together with others */
    }
}
