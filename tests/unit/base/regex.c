/* Regular expressions: the dialect, and that every search ends. */
#include <time.h>

#include "test.h"

#include "base.h"

/* What a check of a small document has. */
#define CREDIT 1000000u

/* Does `pattern` match in `text`? */
static bool found_in(const char *pattern, pdr_str text)
{
    struct pdr__regex *regex = NULL;
    struct pdr__searcher *searcher = NULL;
    pdr_err err = PDR_ERR_INIT;
    uint64_t credit = CREDIT;
    bool found = false;

    ASSERT_RC(PDR_OK, pdr__regex_new(&regex, pdr_str_c(pattern), &err));
    ASSERT_RC(PDR_OK, pdr__searcher_new(&searcher, &err));
    ASSERT_RC(PDR_OK,
              pdr__regex_search(&found, searcher, regex, text, &credit, &err));
    pdr__searcher_free(searcher);
    pdr__regex_free(regex);
    return found;
}

TEST(regex_search, finds_a_match_anywhere)
{
    ASSERT(found_in("b", pdr_str_c("abc")));
    ASSERT(!found_in("^b", pdr_str_c("abc")));
    ASSERT(!found_in("d", pdr_str_c("abc")));
    ASSERT(found_in("", pdr_str_n(NULL, 0)));
    ASSERT(found_in("^$", pdr_str_c("")));
    ASSERT(!found_in("^$", pdr_str_c("a")));
    ASSERT(found_in("b", pdr_str_n("a\0b", 3)));
}

TEST(regex_search, keeps_to_the_dialect_of_json_schema)
{
    static const struct {
        const char *pattern, *text;
        bool found;
    } rows[] = {
        {"^a$", "a\n", false}, /* the end is the end */
        {"^.$", "\xF0\x9F\x98\x80", true},
        {"^\\u00e9$", "\xC3\xA9", true},
        {"^\\u{1F600}$", "\xF0\x9F\x98\x80", true},
        {"^\\x41$", "A", true},
        {"^\\d$", "\xD9\xA3", false}, /* an Arabic three */
        {"^\\w$", "\xC3\xA9", false},
        {"^\\p{L}$", "\xC3\xA9", true},
        {"[]", "a", false},
        {"^[^]$", "a", true},
        {"^(a)?\\1b$", "b", true}, /* a group that did not match */
        {"^.$", "\n", false},
        {"^.$", "\r", false},
        {"^[\\s\\S]$", "\n", true},
        {"^(?:a|b)+?c$", "abac", true},
        {"(?<year>\\d{4})-\\k<year>", "2026-2026", true},
        {"^(?=.*\\d)(?=.*[a-z]).{2,}$", "a1", true},
        {"A", "a", false},
        {"^\\{\\-\\/\\@\\.}]$", "{-/@.}]", true},
        {"^[[a]]$", "[]", true}, /* a class, then a character */
        {"^[\\b]$", "\b", true},
        {"^\\cJ\\x0b\\t\\f\\r\\0*$", "\n\v\t\f\r", true},
        {"^[\\x0b\\cJ]$", "\v", true},
        {"^\\p{Script=Greek}\\p{Lu}[\\p{Nd}\\u{400}]\\P{L}$",
         "\xCE\xB1"
         "A1!",
         true},
        {"^(?<a>x)(?<=x)(?<!y)\\k<a>$", "xx", true},
        {"^(a)(b)\\2\\1$", "abba", true},
        {"^a{2}b{1,}?c{0,3}$", "aabbc", true},
        {"^[\\w.-]+$", "a.b-c", true},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++)
        if (found_in(rows[i].pattern, pdr_str_c(rows[i].text)) != rows[i].found)
            fail_msg("%s", rows[i].pattern);
}

TEST(regex_new, refuses_what_is_no_pattern_with_its_place)
{
    static const char *const patterns[] = {
        "a(b",
        "[z-a]",
        "*",
        "a{3,2}",
        "x\\C",
        "(*UTF)a",
        "(*MARK:x)",
        "\xFF",
        "a\\",
        "(?P<n>a)(?P<n>b)",
        "((a{9999}){9999}){9999}",
    };

    for (size_t i = 0; i < PDR_COUNT(patterns); i++) {
        struct pdr__regex *regex = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID,
                  pdr__regex_new(&regex, pdr_str_c(patterns[i]), &err));
        ASSERT_STR("bad_pattern", err.reason);
        ASSERT(regex == NULL);
        ASSERT(err.offset >= 0 && err.offset <= (int64_t)strlen(patterns[i]));
    }
    pdr_err err = PDR_ERR_INIT;
    struct pdr__regex *regex = NULL;
    ASSERT_RC(PDR_EINVALID, pdr__regex_new(&regex, pdr_str_c("ab(c"), &err));
    ASSERT_INT(4, err.offset);
}

TEST(regex_new, refuses_one_that_is_too_long_or_too_deep)
{
    size_t len = PDR_MAX_PATTERN_BYTES;
    char *text = malloc(len + 1);
    struct pdr__regex *regex = NULL;
    pdr_err err = PDR_ERR_INIT;

    memset(text, 'a', len + 1);
    ASSERT_RC(PDR_OK, pdr__regex_new(&regex, pdr_str_n(text, len), &err));
    pdr__regex_free(regex);
    ASSERT_RC(PDR_EINVALID,
              pdr__regex_new(&regex, pdr_str_n(text, len + 1), &err));
    ASSERT_STR("bad_pattern", err.reason);

    memset(text, '(', PDR_MAX_PATTERN_NESTING + 1);
    memset(text + PDR_MAX_PATTERN_NESTING + 1, ')',
           PDR_MAX_PATTERN_NESTING + 1);
    ASSERT_RC(PDR_OK,
              pdr__regex_new(&regex,
                             pdr_str_n(text + 1, 2 * PDR_MAX_PATTERN_NESTING),
                             &err));
    pdr__regex_free(regex);
    ASSERT_RC(PDR_EINVALID,
              pdr__regex_new(&regex,
                             pdr_str_n(text, 2 * PDR_MAX_PATTERN_NESTING + 2),
                             &err));
    ASSERT_STR("bad_pattern", err.reason);
    free(text);
}

/* Long on purpose: a row per construct.
 * PCRE2 takes each of them, and means something else by it than ECMA-262, which
 * mostly refuses them. The rows of the table in docs/formats/jsonschema.md. */
TEST(regex_new, refuses_what_other_readers_would_take_for_something_else)
{
    static const char *const patterns[] = {
        /* flags, notes, callouts */
        "(?i)A",
        "a(?i:b)",
        "(?-i)a",
        "(?#note)a",
        "(?C1)a",
        "(?^)a",
        /* verbs */
        "a(*ACCEPT)b",
        "(*UTF)a",
        "a(*pla:b)",
        "(*",
        "a|(*F)",
        /* classes of POSIX */
        "[[:alpha:]]",
        "[a[:^digit:]]",
        "[[.a.]]",
        "[[=a=]]",
        /* escapes */
        "\\Qa\\E",
        "\\Aa",
        "a\\Z",
        "a\\z",
        "\\Ga",
        "a\\Kb",
        "\\R",
        "\\h",
        "\\H",
        "\\a",
        "\\e",
        "\\X",
        "\\N",
        "\\V",
        "\\v",
        "\\C",
        "\\o{101}",
        "\\g1",
        "\\g{-1}",
        "\\k{n}",
        "\\k'n'",
        "\\U0041",
        "\\L",
        "\\l",
        "\\ea",
        "\\y",
        "\\\xC3\xA9",
        "\\_",
        "\\ ",
        /* inside of a class too */
        "[\\R]",
        "[\\h]",
        "[\\v]",
        "[\\B]",
        "[\\1]",
        "[\\k<n>]",
        "[\\Qa\\E]",
        "[\\N{U+41}]",
        "[\\a]",
        /* numbers */
        "\\x4",
        "\\x{41}",
        "\\u41",
        "\\u{}",
        "\\u{41",
        "\\u{g}",
        "\\01",
        "\\08",
        "[\\012]",
        "\\c1",
        "\\c",
        "(a)\\2",
        "\\1",
        "(a)\\10",
        "\\ud83d\\ude00",
        "\\uD800",
        "[\\ud800-\\udbff]",
        "\\u{110000}",
        "\\u{D800}",
        /* properties */
        "\\pL",
        "\\p{^L}",
        "\\p{L&}",
        "\\p{Letter}",
        "\\p{Greek}",
        "\\p{Xan}",
        "\\p{lu}",
        "\\p{LU}",
        "\\p{}",
        "\\p",
        "\\p{Lu",
        "\\p{Emoji}",
        "\\p{gc=Lu}",
        "\\p{Script=}",
        "\\p{Qq}",
        "\\p{Script=Nobody}",
        /* atomic and possessive */
        "a++",
        "a*+",
        "a?+",
        "a{2}+",
        "(?>a)",
        "(?|a|b)",
        /* recursion and conditions */
        "(?R)",
        "a(?0)",
        "(a)(?1)",
        "(?&n)",
        "(?P>n)",
        "(a)?(?(1)b|c)",
        "(?(?=a)a|b)",
        "(?(DEFINE)a)",
        /* names of groups */
        "(?P<n>a)",
        "(?'n'a)",
        "(?P=n)",
        "(?<1a>b)",
        "(?<>a)",
        "(?<n",
        "(?<n!",
        "(?<n>a)(?<n>b)",
        "\\k<n>",
        "(?<n>a)\\k<n",
        "(?",
        /* counts */
        "a{,3}",
        "a{",
        "a{ 1,2 }",
        "a{1",
        "a{1,2",
        "{",
        "a**",
        "a{2}{3}",
        "a+*",
        "^*",
        "$?",
        "\\b+",
        "(?=a)*",
        "(?<!a){2}",
        "(*)",
        "a|*",
        "a{b}",
        /* what is closed and not open, and the other way */
        ")",
        "a)b",
        "(",
        "(a",
        "[",
        "[a",
        "[^",
        "[a\\",
        "\\",
    };

    for (size_t i = 0; i < PDR_COUNT(patterns); i++) {
        struct pdr__regex *regex = NULL;
        pdr_err err = PDR_ERR_INIT;

        if (pdr__regex_new(&regex, pdr_str_c(patterns[i]), &err) == PDR_OK)
            fail_msg("%s was taken", patterns[i]);
        ASSERT_STR("bad_pattern", err.reason);
        ASSERT(regex == NULL);
        ASSERT(err.offset >= 0 && err.offset <= (int64_t)strlen(patterns[i]));
    }
}

TEST(regex_new, says_which_byte_is_refused_and_why)
{
    struct pdr__regex *regex = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID, pdr__regex_new(&regex, pdr_str_c("ab(?i)c"), &err));
    ASSERT_INT(2, err.offset);
    ASSERT_STR("byte 2 of the pattern: no group of ECMA-262; see the format "
               "page jsonschema.md for what may stand there",
               err.message);
    ASSERT_RC(PDR_EINVALID, pdr__regex_new(&regex, pdr_str_c("(a)b\\7"), &err));
    ASSERT_INT(4, err.offset);
}

/* One search with a searcher of its own, and the credit that a document with
 * this text has. */
static pdr_rc search(bool *found, const char *pattern, pdr_str text,
                     pdr_err *err)
{
    struct pdr__regex *regex = NULL;
    struct pdr__searcher *searcher = NULL;
    uint64_t credit = CREDIT + PDR_CHECK_STEPS_PER_BYTE * text.len;

    ASSERT_RC(PDR_OK, pdr__regex_new(&regex, pdr_str_c(pattern), NULL));
    ASSERT_RC(PDR_OK, pdr__searcher_new(&searcher, NULL));
    pdr_rc rc = pdr__regex_search(found, searcher, regex, text, &credit, err);
    pdr__searcher_free(searcher);
    pdr__regex_free(regex);
    return rc;
}

TEST(regex_search, ends_where_backtracking_explodes)
{
    static const char *const patterns[] = {
        "^(a+)+$", "^(a|aa)+$",         "^(a|a?)+$",
        "(a*)*b",  "^(?:a?){40}a{40}$", "^(([a-z])+.)+[A-Z]([a-z])+$"};
    char text[64];

    memset(text, 'a', sizeof(text));
    text[sizeof(text) - 1] = '!';
    for (size_t i = 0; i < PDR_COUNT(patterns); i++) {
        pdr_err err = PDR_ERR_INIT;
        bool found = true;

        if (search(&found, patterns[i], pdr_str_n(text, sizeof(text)), &err) ==
            PDR_OK) {
            ASSERT(!found); /* this PCRE2 saw through it */
            continue;
        }
        ASSERT_STR("pattern_limit", err.reason);
        ASSERT(!found);
    }
    pdr_err err = PDR_ERR_INIT;
    bool found = true;
    ASSERT_RC(PDR_ELIMIT,
              search(&found, "^(a|aa)+$", pdr_str_n(text, sizeof(text)), &err));
}

TEST(regex_search, works_on_long_texts)
{
    static const struct {
        const char *pattern;
        size_t len;
        bool found;
    } rows[] = {
        {"^(a|b)*$", 100000, true},
        {"^[a-z]+$", 1000000, true},
        {"^[a-z]+[A-Z]$", 1000000, false},
        {"^[^\"]*\"", 1000000, false},
        {"^\\S*$", 1000000, true},
        {"b", 1000000, false},
        {"[0-9]", 1000000, false},
        {"[b-y]+", 100000, false},
        {".*b.*", 1000000, false},
        {"a", 1000000, true},
        {"^(?:[a-z]{4})*$", 400000, true},
        {"^[a-z]{8}-[a-z]{4}-[a-z]{4}-[a-z]{4}-[a-z]{12}$", 1000000, false},
        {"^(?=.*[0-9])(?=.*[a-z]).{8,}$", 4000, false},
        {"[a-z]+@[a-z]+", 4000, false},
        {"^(a+)\\1$", 4000, true},
    };
    char *text = malloc(1000000);

    memset(text, 'a', 1000000);
    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_err err = PDR_ERR_INIT;
        bool found = false;

        if (search(&found, rows[i].pattern, pdr_str_n(text, rows[i].len),
                   &err) != PDR_OK)
            fail_msg("%s: %s", rows[i].pattern, err.message);
        if (found != rows[i].found)
            fail_msg("%s: found %d", rows[i].pattern, found);
    }
    free(text);
}

/* Few steps, each over much text: the steps alone say nothing. */
TEST(regex_search, counts_the_text_that_one_step_runs_over)
{
    static const char *const patterns[] = {
        "^.*?[^xy]*[xy]",           ".{0,900}?[^xy]*[xy]",
        "^(?:(?=[^x]*)a)*x",        "^(?:(?![^x]*x)a)*x",
        "^(a*)(?:\\1?a)*?x",        "^.*?a{60000}[xy]",
        "^.*?(?:a{200}){200}[xy]",  "[a-z]+[xy]",
        "^.*?(?<=a{30000})[xy]",    "^.*?[\\u{400}-\\u{401}a]{30000}[xy]",
        "(?:a?a?a?a?a?){8}[xy]{9}",
    };
    size_t len = 1000000;
    char *text = malloc(len);

    memset(text, 'a', len);
    for (size_t i = 0; i < PDR_COUNT(patterns); i++) {
        pdr_err err = PDR_ERR_INIT;
        bool found = true;
        clock_t begin = clock();

        ASSERT_RC(PDR_ELIMIT,
                  search(&found, patterns[i], pdr_str_n(text, len), &err));
        ASSERT_STR("pattern_limit", err.reason);
        /* Far below a second; without the bound some take an hour. */
        if (clock() - begin > 10 * CLOCKS_PER_SEC)
            fail_msg("%s takes too long", patterns[i]);
    }
    free(text);
}

TEST(regex_search, takes_what_it_costs_from_the_credit)
{
    struct pdr__regex *regex = NULL;
    struct pdr__searcher *searcher = NULL;
    pdr_err err = PDR_ERR_INIT;
    char text[2000];
    uint64_t credit = CREDIT, cheap = 0;
    bool found = false;
    size_t done = 0;

    memset(text, 'a', sizeof(text));
    ASSERT_RC(PDR_OK, pdr__regex_new(&regex, pdr_str_c("^(a|b)*$"), NULL));
    ASSERT_RC(PDR_OK, pdr__searcher_new(&searcher, NULL));
    ASSERT_RC(PDR_OK, pdr__regex_search(&found, searcher, regex,
                                        pdr_str_c("ab"), &credit, &err));
    cheap = CREDIT - credit;
    ASSERT(cheap > 0 && cheap < 10);
    while (done < CREDIT && pdr__regex_search(&found, searcher, regex,
                                              pdr_str_n(text, sizeof(text)),
                                              &credit, &err) == PDR_OK)
        done++;
    ASSERT(done > 100 && done < 1000);
    ASSERT_STR("pattern_limit", err.reason);
    credit = cheap - 1;
    ASSERT_RC(PDR_ELIMIT, pdr__regex_search(&found, searcher, regex,
                                            pdr_str_c("ab"), &credit, &err));
    ASSERT(!found);
    pdr__searcher_free(searcher);
    pdr__regex_free(regex);
}

/* However much the caller could pay. */
TEST(regex_search, ends_also_with_any_credit)
{
    struct pdr__regex *regex = NULL;
    struct pdr__searcher *searcher = NULL;
    pdr_err err = PDR_ERR_INIT;
    uint64_t credit = UINT64_MAX;
    bool found = false;

    ASSERT_RC(PDR_OK, pdr__regex_new(&regex, pdr_str_c("^(a|aa)+$"), NULL));
    ASSERT_RC(PDR_OK, pdr__searcher_new(&searcher, NULL));
    ASSERT_RC(
        PDR_ELIMIT,
        pdr__regex_search(
            &found, searcher, regex,
            pdr_str_c("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"),
            &credit, &err));
    ASSERT_STR("pattern_limit", err.reason);
    pdr__searcher_free(searcher);
    pdr__regex_free(regex);
}

TEST_OOM(regex_new, cleans_up_after_any_failed_allocation)
{
    struct pdr__regex *regex = NULL;
    pdr_rc rc = pdr__regex_new(&regex, pdr_str_c("^(a|b)+[c-f]{2,7}$"), NULL);

    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((regex != NULL) == (rc == PDR_OK));
    pdr__regex_free(regex);
}

TEST_OOM(regex_search, cleans_up_after_any_failed_allocation)
{
    struct pdr__regex *regex = NULL;
    struct pdr__searcher *searcher = NULL;
    char text[3000];
    uint64_t credit = CREDIT;
    bool found = false;

    memset(text, 'a', sizeof(text));
    pdr_rc rc = pdr__regex_new(&regex, pdr_str_c("^(a|b)*$"), NULL);
    if (rc == PDR_OK)
        rc = pdr__searcher_new(&searcher, NULL);
    if (rc == PDR_OK)
        rc = pdr__regex_search(&found, searcher, regex,
                               pdr_str_n(text, sizeof(text)), &credit, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT(found == (rc == PDR_OK));
    pdr__searcher_free(searcher);
    pdr__regex_free(regex);
}
