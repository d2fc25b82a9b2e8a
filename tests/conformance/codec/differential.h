/*
 * differential.h - our reader against another library, on documents that are
 * made and damaged from a seed.
 *
 * Both get the same bytes. The verdicts must be the same, and what both accept
 * must hold the same values. Where the other library differs, and the standard
 * is on our side, a rule says so: DIFFERENCES.md tells each in words. Any other
 * difference fails, and a rule that no document needs fails too.
 */
#ifndef PDR_TEST_DIFFERENTIAL_H
#define PDR_TEST_DIFFERENTIAL_H

#include "test.h"

/* One document and what became of it. */
struct differential_case {
    pdr_str text;
    const pdr_value *value; /* ours; NULL if we refuse it */
    pdr_err err;            /* our refusal */
};

/* A written difference. Exactly one of the two tests is set: */
struct differential_rule {
    const char *name; /* heading in DIFFERENCES.md */
    /* They refuse what we accept, because of something in the value. */
    bool (*they_refuse)(const struct differential_case *c);
    /* They accept what we refuse. */
    bool (*they_accept)(const struct differential_case *c);
    size_t used;
};

/* The other library. A `void *` is one of its values, and may be NULL. */
struct differential_other {
    const char *name;
    bool (*parse)(void **out, pdr_str text);
    void (*release)(void *value);
    pdr_kind (*kind)(void *value);
    size_t (*count)(void *value);
    void *(*at)(void *array, size_t index);
    /* False if there is no such member. */
    bool (*get)(void **out, void *object, pdr_str name);
    bool (*truth)(void *value);
    bool (*same_number)(void *value, const pdr_value *ours);
    bool (*same_text)(void *value, pdr_str ours);
    /* May these be different values? Asked before they are compared; such a
     * difference is counted in `different_values`. NULL: never. */
    bool (*may_differ)(const pdr_value *ours);
    size_t different_values;
    struct differential_rule *rules;
    size_t rule_count;
};

/* Run all documents; fails the test on the first difference without a rule. */
void differential_run(struct differential_other *other);

/* For rules: is there a name or value for which `is` holds? */
bool differential_any(const pdr_value *value,
                      bool (*is)(const pdr_value *part, bool is_name));
bool differential_is_lone_surrogate(const pdr_value *part, bool is_name);
bool differential_is_name_with_nul(const pdr_value *part, bool is_name);
bool differential_is_big_integer(const pdr_value *part, bool is_name);
bool differential_is_overflow(const pdr_value *part, bool is_name);

/* For rules: our reason, and the byte that we refused (-1 at the end). */
bool differential_reason_is(const struct differential_case *c,
                            const char *reason);
int differential_byte(const struct differential_case *c, int distance);
/* Do we refuse it because of a NUL byte? `at` is where; in the second place it
 * looks like UTF-16 to us. */
bool differential_is_nul(const struct differential_case *c, size_t *at);

#endif
