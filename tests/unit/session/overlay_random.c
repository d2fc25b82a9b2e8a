/*
 * Overlays of random values. A type knows the members whose names begin with
 * "k", and spells all numbers alike. Whatever it changes: read through the type
 * again, the result is what it wrote; and no unknown member is lost from an
 * object that is still there.
 */
#include "test.h"

#include "session.h"

#define CASES 4000
#define DEPTH 4

static uint64_t state;

static unsigned draw(unsigned below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 11) % below;
}

/* --- random values ------------------------------------------------------- */

static void put_scalar(pdr_builder *b)
{
    static const char *const numbers[] = {"0", "1", "2", "1.0", "2.0", "2e0"};

    if (draw(4) == 0)
        pdr_builder_bool(b, draw(2) == 0);
    else
        pdr_builder_number(b, pdr_str_c(numbers[draw(6)]));
}

static void put_random(pdr_builder *b, unsigned depth, bool unknown)
{
    static const char *const names[] = {"k0", "u0", "k1", "k2", "u1", "k3"};
    unsigned kind = depth > 0 ? draw(6) : 5;

    if (kind > 3) {
        put_scalar(b);
    } else if (kind > 1) {
        pdr_builder_array(b);
        for (unsigned i = draw(5); i > 0; i--)
            put_random(b, depth - 1, unknown);
        pdr_builder_end(b);
    } else {
        pdr_builder_object(b);
        for (unsigned i = 0; i < 6; i++) {
            if (draw(2) == 0 || (names[i][0] == 'u' && !unknown))
                continue;
            pdr_builder_name(b, pdr_str_c(names[i]));
            put_random(b, depth - 1, unknown);
        }
        pdr_builder_end(b);
    }
}

/* --- the type ------------------------------------------------------------ */

static bool is_known(const pdr_value *name)
{
    pdr_str text = {NULL, 0};

    ASSERT_RC(PDR_OK, pdr_value_text(&text, name, NULL, NULL));
    return text.ptr[0] == 'k';
}

static void put_name(pdr_builder *b, const pdr_value *name)
{
    pdr_str text = {NULL, 0};

    ASSERT_RC(PDR_OK, pdr_value_text(&text, name, NULL, NULL));
    pdr_builder_name(b, text);
}

/* What the type makes of a value; `changes`: with some changes. */
static void put_typed(pdr_builder *b, const pdr_value *value, bool changes)
{
    int64_t number = 0;
    pdr_iter it;

    pdr_iter_init(&it, value);
    switch (pdr_value_kind(value)) {
    case PDR_OBJECT:
        pdr_builder_object(b);
        while (pdr_iter_next(&it)) {
            if (!is_known(it.name) || (changes && draw(8) == 0))
                continue;
            put_name(b, it.name);
            if (changes && draw(8) == 0)
                put_random(b, 2, false);
            else
                put_typed(b, it.value, changes);
        }
        if (changes && draw(8) == 0) {
            pdr_builder_name(b, pdr_str_c("knew"));
            put_random(b, 2, false);
        }
        pdr_builder_end(b);
        break;
    case PDR_ARRAY:
        pdr_builder_array(b);
        while (pdr_iter_next(&it)) {
            if (changes && draw(8) == 0)
                put_random(b, 2, false);
            if (!changes || draw(8) > 0)
                put_typed(b, it.value, changes);
        }
        pdr_builder_end(b);
        break;
    case PDR_NUMBER:
        ASSERT_RC(PDR_OK, pdr_value_int64(&number, value, NULL));
        pdr_builder_int64(b, number);
        break;
    case PDR_NULL:
    case PDR_BOOL:
    case PDR_STRING:
        pdr_builder_value(b, value);
        break;
    }
}

static pdr_value *finish(pdr_builder *b)
{
    pdr_value *value = NULL;

    ASSERT_RC(PDR_OK, pdr_builder_finish(&value, b, NULL));
    return value;
}

static pdr_value *typed(pdr_builder *b, const pdr_value *value, bool changes)
{
    put_typed(b, value, changes);
    return finish(b);
}

/* --- what must hold ------------------------------------------------------ */

/* Where both are objects, `out` has each unknown member of `raw`, and so at
 * every level. */
static void check_unknown(const pdr_value *raw, const pdr_value *out)
{
    pdr_iter it;

    if (out == NULL || pdr_value_kind(raw) != PDR_OBJECT ||
        pdr_value_kind(out) != PDR_OBJECT)
        return;
    pdr_iter_init(&it, raw);
    while (pdr_iter_next(&it)) {
        pdr_str name = {NULL, 0};

        ASSERT_RC(PDR_OK, pdr_value_text(&name, it.name, NULL, NULL));
        const pdr_value *there = pdr_value_get(out, name);
        if (is_known(it.name))
            check_unknown(it.value, there);
        else
            ASSERT(pdr_value_equal(it.value, there));
    }
}

static void check_case(pdr_builder *b)
{
    put_random(b, DEPTH, true);
    pdr_value *raw = finish(b), *out = NULL;
    pdr_value *before = typed(b, raw, false);
    pdr_value *after = typed(b, before, true);

    ASSERT_RC(PDR_OK, pdr__overlay(&out, raw, before, after, NULL));
    pdr_value *again = typed(b, out, false);
    pdr_value *wanted = typed(b, after, false);
    bool same = false;
    ASSERT_RC(PDR_OK, pdr_value_equal_unordered(&same, wanted, again, NULL));
    ASSERT(same);
    check_unknown(raw, out);
    pdr__value_check(out);
    pdr_value_free(raw);
    pdr_value_free(before);
    pdr_value_free(after);
    pdr_value_free(out);
    pdr_value_free(again);
    pdr_value_free(wanted);
}

TEST(overlay, reads_as_what_was_written_and_loses_nothing_unknown)
{
    pdr_builder *b = NULL;

    ASSERT_RC(PDR_OK, pdr_builder_new(&b, NULL));
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        state = seed * 0x9E3779B97F4A7C15u;
        check_case(b);
    }
    pdr_builder_free(b);
}
