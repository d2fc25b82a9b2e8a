/*
 * regex_syntax.c - is a pattern one of ECMA-262, and what can it cost?
 *
 * WHY  JSON Schema means the regular expressions of ECMA-262. PCRE2 knows more:
 *      flags, verbs, POSIX classes, recursion. A schema that uses them would
 *      mean something else to every other reader, and nobody would be told. So
 *      what is not in the grammar of ECMA-262 with its flag `u` is refused
 *      here, before PCRE2 sees it, and so is what both have with two meanings.
 *      docs/formats/jsonschema.md has the list.
 *
 *      Three things are taken that the flag `u` refuses, because no reader
 *      takes them for something else: an escaped punctuation character, and a
 *      '}' or ']' that closes nothing.
 *
 * The scan also sees what the bound of a search rests on (regex.c): how much
 * text can be run over in one step.
 */
#include "base.h"

struct scan {
    const char *at, *begin, *end;
    struct pdr__regex_shape *shape;
    unsigned groups;   /* that keep what they match */
    unsigned highest;  /* number of a group that is referred to */
    size_t highest_at; /* where */
    unsigned depth;
    bool looks_around[PDR_MAX_PATTERN_NESTING + 1]; /* group of each level */
    bool can_repeat;                                /* may a count follow? */
    pdr_err *err;
};

static pdr_rc refuse(const struct scan *s, const char *at, const char *why)
{
    size_t offset = (size_t)(at - s->begin);

    return PDR_FAIL_AT(s->err, offset, BAD_PATTERN,
                       "byte %zu of the pattern: %s; see the format page "
                       "jsonschema.md for what may stand there",
                       offset, why);
}

static bool follows(const struct scan *s, const char *text)
{
    size_t len = strlen(text);

    return (size_t)(s->end - s->at) >= len && memcmp(s->at, text, len) == 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Are there `count` hexadecimal digits? Goes behind them. */
static bool skip_hex(struct scan *s, size_t count)
{
    for (size_t i = 0; i < count; i++, s->at++)
        if (s->at == s->end || !is_hex(*s->at))
            return false;
    return true;
}

/* A number in decimal digits, at least one; too large ones stay large. */
static bool skip_number(unsigned *out, struct scan *s)
{
    const char *begin = s->at;

    *out = 0;
    for (; s->at < s->end && is_digit(*s->at); s->at++)
        if (*out < 100000000)
            *out = *out * 10 + (unsigned)(*s->at - '0');
    return s->at > begin;
}

/* --- escapes ------------------------------------------------------------- */

/* "name>": behind "(?<" and "\k<". */
static bool skip_name(struct scan *s)
{
    const char *begin = s->at;

    while (s->at < s->end && (is_letter(*s->at) || *s->at == '_' ||
                              (s->at > begin && is_digit(*s->at))))
        s->at++;
    if (s->at == begin || s->at == s->end || *s->at != '>')
        return false;
    s->at++;
    return true;
}

/* "{L}", "{Lu}", "{Script=Greek}": what both spell alike. */
static bool skip_property(struct scan *s)
{
    static const char *const tables[] = {
        "{Script=", "{sc=", "{Script_Extensions=", "{scx="};
    bool is_script = false;
    size_t len = 0;

    for (size_t i = 0; i < PDR_COUNT(tables) && !is_script; i++) {
        is_script = follows(s, tables[i]);
        if (is_script)
            s->at += strlen(tables[i]) - 1;
    }
    if (s->at == s->end || *s->at++ != (is_script ? '=' : '{'))
        return false;
    if (s->at == s->end || *s->at < 'A' || *s->at > 'Z')
        return false;
    while (s->at + len < s->end &&
           (is_letter(s->at[len]) || (is_script && s->at[len] == '_')))
        len++;
    if (!is_script && (len > 2 || (len == 2 && s->at[1] < 'a')))
        return false;
    s->at += len;
    return s->at < s->end && *s->at++ == '}';
}

/* Behind "\u". */
static pdr_rc scan_unicode(struct scan *s, const char *from)
{
    if (s->at < s->end && *s->at == '{') {
        s->at++;
        while (s->at < s->end && is_hex(*s->at))
            s->at++;
        if (s->at == s->end || *s->at != '}' || s->at[-1] == '{')
            return refuse(s, from, "\\u{ needs hexadecimal digits and '}'");
        s->at++;
        return PDR_OK;
    }
    if (!skip_hex(s, 4))
        return refuse(s, from, "\\u needs four hexadecimal digits");
    if ((s->at[-4] | 0x20) == 'd' && (is_letter(s->at[-3]) || s->at[-3] > '7'))
        return refuse(s, from,
                      "half a surrogate pair: write the character, or \\u{...} "
                      "with its number");
    return PDR_OK;
}

/* Escapes that mean one character or one class of them, anywhere. `c` stands
 * behind the backslash, and the scan behind it. */
static pdr_rc scan_character(struct scan *s, const char *from, char c)
{
    switch (c) {
    case 'x':
        return skip_hex(s, 2)
                   ? PDR_OK
                   : refuse(s, from, "\\x needs two hexadecimal digits");
    case 'u':
        return scan_unicode(s, from);
    case 'p':
    case 'P':
        return skip_property(s) ? PDR_OK
                                : refuse(s, from,
                                         "no property as in \\p{L}, \\p{Lu} or "
                                         "\\p{Script=Greek}");
    case 'c':
        if (s->at == s->end || !is_letter(*s->at))
            return refuse(s, from, "\\c needs a letter");
        s->at++;
        return PDR_OK;
    case '0':
        return s->at == s->end || !is_digit(*s->at)
                   ? PDR_OK
                   : refuse(s, from, "octal numbers are not taken: use \\x");
    case 'v':
        return refuse(s, from, "\\v is not the same everywhere: use \\x0B");
    default:
        break;
    }
    if (strchr("dDsSwWtnrf", c) != NULL && c != '\0')
        return PDR_OK;
    if (c > ' ' && c <= '~' && !is_letter(c) && !is_digit(c) && c != '_')
        return PDR_OK;
    return refuse(s, from, "no escape of ECMA-262");
}

/* Behind a backslash that stands outside of a class. */
static pdr_rc scan_escape(struct scan *s, const char *from)
{
    unsigned number = 0;
    char c = '\0';

    if (s->at == s->end)
        return refuse(s, from, "nothing follows the backslash");
    c = *s->at;
    s->can_repeat = c != 'b' && c != 'B';
    if (c >= '1' && c <= '9') {
        s->shape->has_long_steps = true;
        (void)skip_number(&number, s);
        if (number > s->highest) {
            s->highest = number;
            s->highest_at = (size_t)(from - s->begin);
        }
        return PDR_OK;
    }
    s->at++;
    if (!s->can_repeat)
        return PDR_OK;
    if (c != 'k')
        return scan_character(s, from, c);
    s->shape->has_long_steps = true;
    if (s->at == s->end || *s->at++ != '<' || !skip_name(s))
        return refuse(s, from, "\\k needs a name as in \\k<name>");
    return PDR_OK;
}

/* --- classes ------------------------------------------------------------- */

static pdr_rc scan_class_escape(struct scan *s, bool *is_wide)
{
    const char *from = s->at - 1;
    char c = '\0';

    if (s->at == s->end)
        return refuse(s, from, "nothing follows the backslash");
    c = *s->at++;
    *is_wide = *is_wide || c == 'u' || c == 'p' || c == 'P';
    return c == 'b' ? PDR_OK : scan_character(s, from, c);
}

/* Behind '['. */
static pdr_rc scan_class(struct scan *s)
{
    const char *begin = s->at;
    bool is_wide = false;
    pdr_rc rc = PDR_OK;

    while (rc == PDR_OK && s->at < s->end && *s->at != ']') {
        char c = *s->at++;

        is_wide = is_wide || (unsigned char)c >= 0x80;
        if (c == '\\')
            rc = scan_class_escape(s, &is_wide);
        else if (c == '[' &&
                 (follows(s, ":") || follows(s, ".") || follows(s, "=")))
            rc = refuse(s, s->at - 1,
                        "no class of ECMA-262: use \\[ for the character");
    }
    if (rc == PDR_OK && s->at == s->end)
        return refuse(s, begin - 1, "this '[' has no ']'");
    if (is_wide && (size_t)(s->at - begin) > s->shape->wide_class)
        s->shape->wide_class = (size_t)(s->at - begin);
    s->at++;
    s->can_repeat = true;
    return rc;
}

/* --- groups and counts --------------------------------------------------- */

/* Behind '('. */
static pdr_rc open_group(struct scan *s)
{
    static const struct {
        const char *text;
        bool looks_around;
    } kinds[] = {{"?:", false},
                 {"?=", true},
                 {"?!", true},
                 {"?<=", true},
                 {"?<!", true}};
    const char *from = s->at - 1;
    bool looks_around = false, is_plain = true;

    s->can_repeat = false;
    if (s->depth == PDR_MAX_PATTERN_NESTING)
        return refuse(s, from, "too many groups inside each other");
    for (size_t i = 0; i < PDR_COUNT(kinds) && is_plain; i++) {
        if (!follows(s, kinds[i].text))
            continue;
        s->at += strlen(kinds[i].text);
        looks_around = kinds[i].looks_around;
        is_plain = false;
    }
    s->looks_around[s->depth++] = looks_around;
    s->shape->has_long_steps = s->shape->has_long_steps || looks_around;
    if (!is_plain)
        return PDR_OK;
    s->groups++;
    if (follows(s, "?<")) {
        s->at += 2;
        return skip_name(s) ? PDR_OK
                            : refuse(s, from, "a group has no such name");
    }
    if (follows(s, "?") || follows(s, "*"))
        return refuse(s, from, "no group of ECMA-262");
    return PDR_OK;
}

static pdr_rc close_group(struct scan *s)
{
    if (s->depth == 0)
        return refuse(s, s->at - 1, "this ')' has no '('");
    s->can_repeat = !s->looks_around[--s->depth];
    return PDR_OK;
}

/* Behind '{': "2}", "2,}" or "2,3}". */
static bool skip_count(struct scan *s)
{
    unsigned least = 0, most = 0;

    if (!skip_number(&least, s))
        return false;
    if (s->at < s->end && *s->at == ',') {
        s->at++;
        (void)skip_number(&most, s);
    }
    if (least > 1 && !pdr__mul_size(&s->shape->copies, s->shape->copies, least))
        s->shape->copies = SIZE_MAX;
    return s->at < s->end && *s->at++ == '}';
}

/* Behind the first character of a count. */
static pdr_rc scan_count(struct scan *s, char c)
{
    const char *from = s->at - 1;

    if (c == '{' && !skip_count(s))
        return refuse(s, from,
                      "no count as in {2,3}: use \\{ for the "
                      "character");
    if (!s->can_repeat)
        return refuse(s, from, "there is nothing to repeat");
    if (s->at < s->end && *s->at == '?')
        s->at++;
    else if (s->at < s->end && *s->at == '+')
        return refuse(s, s->at, "possessive counts are not taken");
    s->can_repeat = false;
    return PDR_OK;
}

static pdr_rc scan_next(struct scan *s)
{
    char c = *s->at++;

    switch (c) {
    case '\\':
        return scan_escape(s, s->at - 1);
    case '[':
        return scan_class(s);
    case '(':
        return open_group(s);
    case ')':
        return close_group(s);
    case '*':
    case '+':
    case '?':
    case '{':
        return scan_count(s, c);
    case '|':
    case '^':
    case '$':
        s->can_repeat = false;
        return PDR_OK;
    default:
        s->can_repeat = true;
        return PDR_OK;
    }
}

pdr_rc pdr__regex_scan(struct pdr__regex_shape *out, pdr_str pattern,
                       pdr_err *err)
{
    struct scan s = {.at = pattern.ptr,
                     .begin = pattern.ptr,
                     .end = pattern.ptr + pattern.len,
                     .shape = out,
                     .err = err};
    pdr_rc rc = PDR_OK;

    *out = (struct pdr__regex_shape){.copies = 1};
    while (rc == PDR_OK && s.at < s.end)
        rc = scan_next(&s);
    if (rc != PDR_OK)
        return rc;
    if (s.depth > 0)
        return refuse(&s, s.end, "a '(' has no ')'");
    if (s.highest > s.groups)
        return refuse(&s, s.begin + s.highest_at, "there is no such group");
    return PDR_OK;
}
