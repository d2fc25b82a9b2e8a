/*
 * differential.c - see differential.h. Documents come from one seed, so a
 * difference is found again by its number.
 */
#include "differential.h"

#include <ctype.h>

#define SEED         UINT64_C(0x70657264757265)
#define DOCUMENTS    100000u
#define MAX_DOCUMENT 8192
#define DEEP_ONE_IN  1000u
#define MAX_NAMES    64

/* --- randomness ---------------------------------------------------------- */

struct rng {
    uint64_t state;
};

/* splitmix64: every seed gives a good sequence. */
static uint64_t next(struct rng *rng)
{
    uint64_t x = rng->state += UINT64_C(0x9E3779B97F4A7C15);

    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

static size_t below(struct rng *rng, size_t n)
{
    return (size_t)(next(rng) % n);
}

static bool one_in(struct rng *rng, size_t n)
{
    return below(rng, n) == 0;
}

/* --- making documents ---------------------------------------------------- */

static void put(pdr_buf *out, const char *text)
{
    assert_int_equal(PDR_OK, pdr_buf_append(out, pdr_str_c(text), NULL));
}

static void put_byte(pdr_buf *out, char byte)
{
    assert_int_equal(PDR_OK, pdr_buf_append(out, pdr_str_n(&byte, 1), NULL));
}

static const char *pick(struct rng *rng, const char *const *list, size_t count)
{
    return list[below(rng, count)];
}
#define PICK(rng, list) pick(rng, list, sizeof(list) / sizeof((list)[0]))

static void make_space(pdr_buf *out, struct rng *rng)
{
    static const char *const kinds[] = {
        " ",  "\n",     "\t",
        "\r", "\r\n  ", "                                    "};

    while (one_in(rng, 6))
        put(out, PICK(rng, kinds));
}

static void make_string(pdr_buf *out, struct rng *rng)
{
    static const char *const usual[] = {"\\n",
                                        "\\\"",
                                        "\\\\",
                                        "\\/",
                                        "\\b",
                                        "\\f",
                                        "\\r",
                                        "\\t",
                                        "\\u00e9",
                                        "\\u0041",
                                        "\\uABCD",
                                        "\\ud83d\\ude00",
                                        "\\uDBFF\\uDFFF",
                                        "\xC3\xA9",
                                        "\xE6\xBC\xA2",
                                        "\xF0\x9F\x98\x80",
                                        "\x7f",
                                        "{",
                                        "]",
                                        ":",
                                        ",",
                                        "/",
                                        "\xEF\xBF\xBF",
                                        "\xF4\x8F\xBF\xBF",
                                        "a long run of plain letters"};
    static const char *const odd[] = {"\\u0000",
                                      "\\ud800",
                                      "\\udc00\\ud800",
                                      "\\uDFFFx",
                                      "\\ud83d\\ud83d\\ude00",
                                      "\\uDBF6\\uDFFF"};

    put(out, "\"");
    while (!one_in(rng, 8)) {
        if (one_in(rng, 400))
            put(out, PICK(rng, odd));
        else if (one_in(rng, 3))
            put(out, PICK(rng, usual));
        else
            put_byte(out, (char)('a' + (char)below(rng, 26)));
    }
    put(out, "\"");
}

static void make_name(pdr_buf *out, struct rng *rng)
{
    static const char *const usual[] = {"\"a\"",       "\"b\"", "\"\"",
                                        "\"\\u0061\"", "\"0\"", "\"a/b~c\""};

    if (one_in(rng, 4000))
        put(out, "'a'");
    else if (one_in(rng, 2))
        put(out, PICK(rng, usual)); /* few names: duplicates are frequent */
    else
        make_string(out, rng);
}

static void make_digits(pdr_buf *out, struct rng *rng, size_t most)
{
    for (size_t n = 1 + below(rng, most); n > 0; n--)
        put_byte(out, (char)('0' + (char)below(rng, 10)));
}

static void make_number(pdr_buf *out, struct rng *rng)
{
    static const char *const odd[] = {
        "-0",
        "0.0",
        "-0.0",
        "1.10",
        "1E400",
        "-1e400",
        "1e-400",
        "0e400",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "18446744073709551615",
        "18446744073709551616",
        "123456789012345678901234567890",
        "9007199254740993",
        "5e-324",
        "2.2250738585072014e-308",
        "2.2250738585072011e-308",
        "1.7976931348623157e308",
        "1.7976931348623159e308",
        "1e23",
        "0.1000000000000000055511151231257827021181583404541015625"};

    if (one_in(rng, 60)) {
        put(out, PICK(rng, odd));
        return;
    }
    if (one_in(rng, 3))
        put(out, "-");
    if (one_in(rng, 4))
        put(out, "0");
    else {
        put_byte(out, (char)('1' + (char)below(rng, 9)));
        if (one_in(rng, 2))
            make_digits(out, rng, 12);
    }
    if (one_in(rng, 3)) {
        put(out, ".");
        make_digits(out, rng, 20);
    }
    if (one_in(rng, 5)) {
        static const char *const marks[] = {"e", "E", "e+", "E-", "e-"};
        put(out, PICK(rng, marks));
        make_digits(out, rng, 2);
    }
}

static void make_value(pdr_buf *out, struct rng *rng, int depth);

static void make_container(pdr_buf *out, struct rng *rng, int depth,
                           bool is_object)
{
    size_t count = below(rng, 5);

    put(out, is_object ? "{" : "[");
    make_space(out, rng);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            put(out, ",");
        make_space(out, rng);
        if (is_object) {
            make_name(out, rng);
            make_space(out, rng);
            put(out, ":");
            make_space(out, rng);
        }
        make_value(out, rng, depth - 1);
        make_space(out, rng);
    }
    put(out, is_object ? "}" : "]");
}

static void make_value(pdr_buf *out, struct rng *rng, int depth)
{
    static const char *const literals[] = {"true", "false", "null"};
    size_t kind = below(rng, depth > 0 ? 10 : 5);

    if (kind >= 5)
        make_container(out, rng, depth, kind >= 7);
    else if (kind == 0)
        put(out, PICK(rng, literals));
    else if (kind <= 2)
        make_number(out, rng);
    else
        make_string(out, rng);
}

/* Around the depth that we allow. */
static void make_deep(pdr_buf *out, struct rng *rng)
{
    size_t depth = 120 + below(rng, 16);

    for (size_t i = 0; i < depth; i++)
        put(out, i % 2 == 0 ? "[" : "{\"a\":");
    put(out, "1");
    for (size_t i = depth; i > 0; i--)
        put(out, i % 2 == 1 ? "]" : "}");
}

static void make_document(pdr_buf *out, struct rng *rng)
{
    make_space(out, rng);
    if (one_in(rng, DEEP_ONE_IN))
        make_deep(out, rng);
    else if (one_in(rng, 8))
        make_value(out, rng, 0);
    else
        make_container(out, rng, 4, one_in(rng, 2));
    make_space(out, rng);
}

/* --- damaging documents -------------------------------------------------- */

static void replace(pdr_buf *io, size_t at, size_t removed, pdr_str with)
{
    char copy[MAX_DOCUMENT];
    size_t rest = io->len - at - removed;

    if (at + with.len + rest > MAX_DOCUMENT)
        return;
    memcpy(copy, io->ptr + at + removed, rest);
    io->len = at;
    assert_int_equal(PDR_OK, pdr_buf_append(io, with, NULL));
    assert_int_equal(PDR_OK, pdr_buf_append(io, pdr_str_n(copy, rest), NULL));
}

static void insert_token(pdr_buf *io, struct rng *rng, size_t at, size_t gone)
{
    static const char *const tokens[] = {"\"",
                                         "\\",
                                         "{",
                                         "}",
                                         "[",
                                         "]",
                                         ",",
                                         ":",
                                         "0",
                                         "1",
                                         "-",
                                         "+",
                                         ".",
                                         "e",
                                         "E",
                                         " ",
                                         "\n",
                                         "\t",
                                         "\f",
                                         "\v",
                                         "\x01",
                                         "\x1f",
                                         "\x7f",
                                         "\x80",
                                         "\xC3",
                                         "\xC0\x80",
                                         "\xE6\xBC",
                                         "\xED\xA0\x80",
                                         "\xEF\xBB\xBF",
                                         "\xF4\x90\x80\x80",
                                         "\xFF",
                                         "/",
                                         "/**/",
                                         "//",
                                         "'",
                                         "true",
                                         "nul",
                                         "null",
                                         "NaN",
                                         "Infinity",
                                         "-Infinity",
                                         "nan",
                                         "\\u",
                                         "\\u00",
                                         "\\x",
                                         "\\'",
                                         "\\u0000",
                                         "\\ud800",
                                         "00",
                                         "0x1",
                                         "1.",
                                         ".5",
                                         "1e",
                                         "-",
                                         "\"a\"",
                                         "\"a\":",
                                         "#",
                                         ";",
                                         "_",
                                         "'a'"};
    static const char nul = '\0';

    if (one_in(rng, 40))
        replace(io, at, gone, pdr_str_n(&nul, 1));
    else
        replace(io, at, gone, pdr_str_c(PICK(rng, tokens)));
}

static void damage_once(pdr_buf *io, struct rng *rng, pdr_str donor)
{
    size_t at = below(rng, io->len + 1);
    size_t left = io->len - at;
    size_t len = left > 0 ? 1 + below(rng, left < 12 ? left : 12) : 0;

    switch (below(rng, 8)) {
    case 0: /* flip a bit */
        if (left > 0)
            io->ptr[at] = (char)(io->ptr[at] ^ (char)(1 << below(rng, 7)));
        return;
    case 1: /* any byte */
        if (left > 0)
            io->ptr[at] = (char)(unsigned char)below(rng, 256);
        return;
    case 2: /* delete */
        replace(io, at, len, pdr_str_n("", 0));
        return;
    case 3: /* truncate */
        io->len = at;
        return;
    case 4: /* splice a piece of another document */
        if (donor.len > 0) {
            size_t from = below(rng, donor.len);
            size_t most = donor.len - from < 40 ? donor.len - from : 40;
            replace(io, at, one_in(rng, 2) ? len : 0,
                    pdr_str_n(donor.ptr + from, 1 + below(rng, most)));
        }
        return;
    case 5: /* a token in the place of a byte */
        insert_token(io, rng, at, left > 0 ? 1 : 0);
        return;
    default:
        insert_token(io, rng, at, 0);
        return;
    }
}

static void damage(pdr_buf *io, struct rng *rng, pdr_str donor)
{
    do
        damage_once(io, rng, donor);
    while (one_in(rng, 3));
}

/* --- comparing values ---------------------------------------------------- */

static bool same_value(struct differential_other *other, void *theirs,
                       const pdr_value *ours);

static bool same_array(struct differential_other *other, void *theirs,
                       const pdr_value *ours)
{
    pdr_iter it;

    if (other->count(theirs) != pdr_value_count(ours))
        return false;
    pdr_iter_init(&it, ours);
    while (pdr_iter_next(&it))
        if (!same_value(other, other->at(theirs, it.index), it.value))
            return false;
    return true;
}

/* They keep the last of several members with one name, as our look-up does. */
static bool same_object(struct differential_other *other, void *theirs,
                        const pdr_value *ours)
{
    pdr_buf scratch = PDR_BUF_INIT(MAX_DOCUMENT);
    size_t distinct = 0;
    bool same = true;
    pdr_iter it;

    pdr_iter_init(&it, ours);
    while (same && pdr_iter_next(&it)) {
        pdr_str name = {NULL, 0};
        void *member = NULL;

        if (pdr_value_text(&name, it.name, &scratch, NULL) != PDR_OK) {
            same = false;
            break;
        }
        const pdr_value *last = pdr_value_get(ours, name);
        same = other->get(&member, theirs, name) &&
               same_value(other, member, last);
        distinct += last == it.value;
    }
    pdr_buf_dispose(&scratch);
    return same && distinct == other->count(theirs);
}

static bool same_string(struct differential_other *other, void *theirs,
                        const pdr_value *ours)
{
    pdr_buf scratch = PDR_BUF_INIT(MAX_DOCUMENT);
    pdr_str text = {NULL, 0};
    bool same = pdr_value_text(&text, ours, &scratch, NULL) == PDR_OK &&
                other->same_text(theirs, text);

    pdr_buf_dispose(&scratch);
    return same;
}

static bool same_value(struct differential_other *other, void *theirs,
                       const pdr_value *ours)
{
    bool truth = false;

    if (other->may_differ != NULL && other->may_differ(ours)) {
        other->different_values++;
        return true;
    }
    if (other->kind(theirs) != pdr_value_kind(ours))
        return false;
    switch (pdr_value_kind(ours)) {
    case PDR_NULL:
        return true;
    case PDR_BOOL:
        return pdr_value_bool(&truth, ours, NULL) == PDR_OK &&
               truth == other->truth(theirs);
    case PDR_NUMBER:
        return other->same_number(theirs, ours);
    case PDR_STRING:
        return same_string(other, theirs, ours);
    case PDR_ARRAY:
        return same_array(other, theirs, ours);
    case PDR_OBJECT:
        return same_object(other, theirs, ours);
    }
    return false;
}

/* --- rules --------------------------------------------------------------- */

bool differential_any(const pdr_value *value,
                      bool (*is)(const pdr_value *part, bool is_name))
{
    pdr_iter it;

    if (is(value, false))
        return true;
    pdr_iter_init(&it, value);
    while (pdr_iter_next(&it))
        if ((it.name != NULL && is(it.name, true)) ||
            differential_any(it.value, is))
            return true;
    return false;
}

bool differential_is_lone_surrogate(const pdr_value *part, bool is_name)
{
    (void)is_name;
    return pdr_value_kind(part) == PDR_STRING &&
           pdr_value_has_lone_surrogate(part);
}

bool differential_is_name_with_nul(const pdr_value *part, bool is_name)
{
    pdr_buf scratch = PDR_BUF_INIT(MAX_DOCUMENT);
    pdr_str text = {NULL, 0};
    bool has = is_name &&
               pdr_value_text(&text, part, &scratch, NULL) == PDR_OK &&
               text.len > 0 && memchr(text.ptr, 0, text.len) != NULL;

    pdr_buf_dispose(&scratch);
    return has;
}

static bool is_integer_text(const pdr_value *part)
{
    pdr_str raw = {NULL, 0};

    if (pdr_value_kind(part) != PDR_NUMBER || !pdr_value_raw(&raw, part))
        return false;
    for (size_t i = 0; i < raw.len; i++)
        if (raw.ptr[i] != '-' && !isdigit((unsigned char)raw.ptr[i]))
            return false;
    return true;
}

bool differential_is_big_integer(const pdr_value *part, bool is_name)
{
    int64_t number = 0;

    (void)is_name;
    return is_integer_text(part) &&
           pdr_value_int64(&number, part, NULL) != PDR_OK;
}

bool differential_is_overflow(const pdr_value *part, bool is_name)
{
    double number = 0;

    (void)is_name;
    return pdr_value_kind(part) == PDR_NUMBER &&
           pdr_value_double(&number, part, NULL) != PDR_OK;
}

bool differential_reason_is(const struct differential_case *c,
                            const char *reason)
{
    return strcmp(c->err.reason, reason) == 0;
}

int differential_byte(const struct differential_case *c, int distance)
{
    int64_t at = c->err.offset + distance;

    if (at < 0 || (size_t)at >= c->text.len)
        return -1;
    return (unsigned char)c->text.ptr[at];
}

bool differential_is_nul(const struct differential_case *c, size_t *at)
{
    *at = differential_reason_is(c, "utf16_input") ? 1 : (size_t)c->err.offset;
    return *at < c->text.len && c->text.ptr[*at] == '\0';
}

static bool has_rule(struct differential_other *other,
                     const struct differential_case *c)
{
    for (size_t i = 0; i < other->rule_count; i++) {
        struct differential_rule *rule = &other->rules[i];
        bool applies = c->value != NULL
                           ? rule->they_refuse != NULL && rule->they_refuse(c)
                           : rule->they_accept != NULL && rule->they_accept(c);

        if (applies) {
            rule->used++;
            return true;
        }
    }
    return false;
}

/* --- running ------------------------------------------------------------- */

struct counts {
    size_t both, neither, by_rule;
};

static void complain(const struct differential_case *c, const char *what,
                     size_t number)
{
    print_error("document %zu: %s\n", number, what);
    if (c->value == NULL)
        print_error("we refuse it: %s at %lld, path '%s'\n", c->err.reason,
                    (long long)c->err.offset, c->err.path);
    for (size_t i = 0; i < c->text.len; i++) {
        unsigned char byte = (unsigned char)c->text.ptr[i];
        print_error(isprint(byte) ? "%c" : "\\x%02X", byte);
    }
    print_error("\n");
}

static bool compare(struct differential_other *other, struct counts *counts,
                    pdr_str text, size_t number)
{
    struct differential_case c = {.text = text, .err = PDR_ERR_INIT};
    pdr_value *ours = NULL;
    void *theirs = NULL;
    const char *wrong = NULL;
    bool we = pdr_json_read(&ours, text, NULL, &c.err) == PDR_OK;
    bool they = other->parse(&theirs, text);

    c.value = ours;
    if (we && they) {
        counts->both++;
        if (!same_value(other, theirs, ours))
            wrong = "both accept it, the values differ";
    } else if (!we && !they) {
        counts->neither++;
    } else if (has_rule(other, &c)) {
        counts->by_rule++;
    } else {
        wrong = we ? "we accept it, they do not" : "they accept it, we do not";
    }
    if (wrong != NULL)
        complain(&c, wrong, number);
    if (they)
        other->release(theirs);
    pdr_value_free(ours);
    return wrong == NULL;
}

static void report(const struct differential_other *other,
                   const struct counts *counts, size_t total)
{
    fprintf(stderr, "%s: both accept %zu, both refuse %zu, by a rule %zu",
            other->name, counts->both, counts->neither, counts->by_rule);
    fprintf(stderr, ", different values by a rule %zu\n",
            other->different_values);
    for (size_t i = 0; i < other->rule_count; i++)
        fprintf(stderr, "  %8zu  %s\n", other->rules[i].used,
                other->rules[i].name);
    for (size_t i = 0; i < other->rule_count; i++)
        if (other->rules[i].used == 0)
            fail_msg("no document needs the rule '%s'", other->rules[i].name);
    if (other->may_differ != NULL)
        assert_true(other->different_values > 0);
    /* A generator that only makes one kind of document tests nothing. */
    assert_true(counts->both > total / 4);
    assert_true(counts->neither > total / 4);
}

void differential_run(struct differential_other *other)
{
    struct rng rng = {SEED};
    struct counts counts = {0};
    pdr_buf texts[2] = {PDR_BUF_INIT(MAX_DOCUMENT * 4),
                        PDR_BUF_INIT(MAX_DOCUMENT * 4)};
    bool good = true;
    size_t total = test_times(DOCUMENTS, DOCUMENTS);

    for (size_t i = 0; i < total && good; i++) {
        pdr_buf *text = &texts[i % 2], *before = &texts[(i + 1) % 2];

        pdr_buf_clear(text);
        make_document(text, &rng);
        if (text->len > MAX_DOCUMENT)
            text->len = MAX_DOCUMENT;
        if (i % 5 >= 2)
            damage(text, &rng, pdr_buf_str(before));
        good = compare(other, &counts, pdr_buf_str(text), i);
    }
    pdr_buf_dispose(&texts[0]);
    pdr_buf_dispose(&texts[1]);
    if (!good)
        fail_msg("a difference from %s without a rule", other->name);
    report(other, &counts, total);
}
