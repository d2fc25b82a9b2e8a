/* Regular expressions: the dialect, and that every search ends. */
#include "test.h"

#include "base.h"

/* Does `pattern` match in `text`? */
static bool found_in(const char *pattern, pdr_str text)
{
    struct pdr__regex *regex = NULL;
    struct pdr__searcher *searcher = NULL;
    pdr_err err = PDR_ERR_INIT;
    bool found = false;

    ASSERT_RC(PDR_OK, pdr__regex_new(&regex, pdr_str_c(pattern), &err));
    ASSERT_RC(PDR_OK, pdr__searcher_new(&searcher, &err));
    ASSERT_RC(PDR_OK, pdr__regex_search(&found, searcher, regex, text, &err));
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

/* One search with a searcher of its own. */
static pdr_rc search(bool *found, const char *pattern, pdr_str text,
                     pdr_err *err)
{
    struct pdr__regex *regex = NULL;
    struct pdr__searcher *searcher = NULL;

    ASSERT_RC(PDR_OK, pdr__regex_new(&regex, pdr_str_c(pattern), NULL));
    ASSERT_RC(PDR_OK, pdr__searcher_new(&searcher, NULL));
    pdr_rc rc = pdr__regex_search(found, searcher, regex, text, err);
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
    size_t len = 100000;
    char *text = malloc(len);
    bool found = false;

    memset(text, 'a', len);
    ASSERT_RC(PDR_OK, search(&found, "^(a|b)*$", pdr_str_n(text, len), NULL));
    ASSERT(found);
    ASSERT_RC(PDR_OK, search(&found, "^[a-z]+$", pdr_str_n(text, len), NULL));
    ASSERT(found);
    ASSERT_RC(PDR_OK, search(&found, "b", pdr_str_n(text, len), NULL));
    ASSERT(!found);
    free(text);
}

TEST(regex_search, bounds_the_text_of_a_pattern_that_may_begin_anywhere)
{
    size_t len = PDR_MAX_SEARCHED_BYTES;
    char *text = malloc(len + 1);
    pdr_err err = PDR_ERR_INIT;
    bool found = false;

    memset(text, 'a', len + 1);
    ASSERT_RC(PDR_OK, search(&found, "a", pdr_str_n(text, len), &err));
    ASSERT(found);
    ASSERT_RC(PDR_ELIMIT, search(&found, "a", pdr_str_n(text, len + 1), &err));
    ASSERT_STR("pattern_limit", err.reason);
    ASSERT_RC(PDR_OK, search(&found, "^a", pdr_str_n(text, len + 1), &err));
    ASSERT(found);
    free(text);
}

TEST(regex_search, lets_dear_searches_share_one_credit)
{
    struct pdr__regex *regex = NULL;
    struct pdr__searcher *searcher = NULL;
    pdr_err err = PDR_ERR_INIT;
    char text[2000];
    bool found = false;
    size_t done = 0;

    /* More than the first steps, far less than all. */
    memset(text, 'a', sizeof(text));
    ASSERT_RC(PDR_OK, pdr__regex_new(&regex, pdr_str_c("^(a|b)*$"), NULL));
    ASSERT_RC(PDR_OK, pdr__searcher_new(&searcher, NULL));
    while (done < 100 &&
           pdr__regex_search(&found, searcher, regex,
                             pdr_str_n(text, sizeof(text)), &err) == PDR_OK)
        done++;
    ASSERT_SIZE(PDR_PATTERN_CREDIT / PDR_PATTERN_STEPS, done);
    ASSERT_STR("pattern_limit", err.reason);
    /* A cheap one costs nothing and still works. */
    ASSERT_RC(PDR_OK, pdr__regex_search(&found, searcher, regex,
                                        pdr_str_c("ab"), &err));
    ASSERT(found);
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
    bool found = false;

    memset(text, 'a', sizeof(text));
    pdr_rc rc = pdr__regex_new(&regex, pdr_str_c("^(a|b)*$"), NULL);
    if (rc == PDR_OK)
        rc = pdr__searcher_new(&searcher, NULL);
    if (rc == PDR_OK)
        rc = pdr__regex_search(&found, searcher, regex,
                               pdr_str_n(text, sizeof(text)), NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT(found == (rc == PDR_OK));
    pdr__searcher_free(searcher);
    pdr__regex_free(regex);
}
