/*
 * jsonschema_number.c - what JSON Schema asks about numbers, exactly.
 *
 * WHY  A number is a text of any length with an exponent of any size. Whether
 *      0.3 is a multiple of 0.1 must not hang on how a double is rounded, and
 *      1e1000000000 must not take a gigabyte to decide.
 *
 * HOW  A number is digits * 10^exponent with digits that do not end in zero. It
 *      is an integer if the exponent is not below zero. Of another number d *
 *      10^e it is a multiple, with k = exponent - e,
 *        if k < 0:   never: d * 10^-k would divide digits, which would then end
 *                    in zero;
 *        if k >= 0:  if d divides digits * 10^k. d has less than 64 bits, so a
 *                    power of ten above 64 brings in no factor that 64 has not.
 */
#include "jsonschema.h"

#include "number.h"

/* Exponents of multipleOf that a schema may have: far from where exponents are
 * cut (PDR__MAX_EXPONENT), so that k is exact or beyond doubt. */
#define MAX_DIVISOR_EXPONENT 1000000000

/* digits * 10^exponent */
struct decimal {
    struct pdr__number parts;
    struct pdr__significant digits; /* .first is NULL for zero */
    int64_t exponent;               /* of the last digit */
};

/* False for a bare token. */
static bool decimal_split(struct decimal *out, pdr_str number)
{
    if (!pdr__number_split(&out->parts, number))
        return false;
    pdr__number_significant(&out->digits, &out->parts);
    /* parts.exponent is that of the last digit of the head. */
    out->exponent = out->parts.exponent - (int64_t)out->parts.tail;
    return true;
}

bool pdr__schema_is_integer(const pdr_value *number)
{
    struct decimal n;
    pdr_str text;

    return pdr_value_raw(&text, number) && decimal_split(&n, text) &&
           n.exponent >= 0;
}

bool pdr__schema_divisor(struct divisor *out, pdr_str number)
{
    struct decimal n;
    const char *p = NULL;

    if (!decimal_split(&n, number) || n.digits.first == NULL ||
        n.parts.negative || n.digits.count > PDR__HEAD_DIGITS ||
        n.exponent > MAX_DIVISOR_EXPONENT || n.exponent < -MAX_DIVISOR_EXPONENT)
        return false;
    p = n.digits.first;
    out->digits = pdr__number_digits(&p, n.digits.count);
    out->exponent = n.exponent;
    return true;
}

/* The next digits and the power of ten that they need as room. */
static uint64_t next_digits(const char **p, size_t *left, uint64_t *room)
{
    size_t count = *left < 18 ? *left : 18;

    *left -= count;
    *room = 1;
    for (size_t i = 0; i < count; i++)
        *room *= 10;
    return pdr__number_digits(p, count);
}

static uint64_t remainder_of(const struct decimal *n, uint64_t divisor)
{
    const char *p = n->digits.first;
    size_t left = n->digits.count;
    pdr__u128 rest = 0;
    uint64_t room = 0;

    while (left > 0) {
        uint64_t digits = next_digits(&p, &left, &room);

        rest = (rest * room + digits) % divisor;
    }
    return (uint64_t)rest;
}

bool pdr__schema_is_multiple(pdr_str number, const struct divisor *divisor)
{
    struct decimal n;
    pdr__u128 rest = 0;
    int64_t power = 0;

    if (!decimal_split(&n, number))
        return false;
    if (n.digits.first == NULL)
        return true;
    power = n.exponent - divisor->exponent;
    if (power < 0)
        return false;
    rest = remainder_of(&n, divisor->digits);
    for (int64_t i = 0; i < power && i < 64 && rest != 0; i++)
        rest = rest * 10 % divisor->digits;
    return rest == 0;
}

/* An exponent for a hash. One that was cut is not exact, and equal numbers may
 * have been cut in different places. */
static uint64_t hashed_exponent(int64_t exponent)
{
    const int64_t far = PDR__MAX_EXPONENT / 2;

    if (exponent > far || exponent < -far)
        return exponent > 0 ? (uint64_t)far : (uint64_t)-far;
    return (uint64_t)exponent;
}

uint64_t pdr__schema_hash_number(pdr_str number)
{
    struct decimal n;
    uint64_t mixed[4] = {PDR_NUMBER, 0, 0, 0};
    const char *p = NULL;
    size_t left = 0;

    if (!decimal_split(&n, number))
        return pdr__hash(number); /* a bare token has one spelling */
    if (n.digits.first != NULL) {
        p = n.digits.first;
        left = n.digits.count;
        mixed[1] = n.parts.negative;
        mixed[2] = hashed_exponent(n.exponent);
    }
    while (left > 0) {
        uint64_t room = 0;
        uint64_t digits = next_digits(&p, &left, &room);

        mixed[3] = digits;
        mixed[0] = pdr__hash(pdr_str_n((const char *)mixed, sizeof(mixed)));
    }
    return mixed[0];
}
