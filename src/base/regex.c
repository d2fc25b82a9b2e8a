/*
 * regex.c - does a text hold a pattern? The only file that knows PCRE2.
 *
 * WHY  JSON Schema has regular expressions, and both the pattern and the text
 *      may come from somebody who wants us to wait. PCRE2 backtracks: there are
 *      patterns that take longer than anybody lives. So a search counts, and
 *      ends with PATTERN_LIMIT instead.
 *
 * DIALECT  As near to ECMA-262 with its flag `u` as PCRE2 comes: `$` is only
 *      the end of the text, `\d` and `\w` are ASCII, `[]` matches nothing,
 *      `\u{1F600}` is a character. docs/formats/jsonschema.md has the list of
 *      differences. `\C`, which cuts characters, is off, and so are the options
 *      that a pattern can set for itself at its start. No JIT: it would count
 *      in another way, and the same document must get the same answer anywhere.
 *
 * COUNTING  PCRE2 counts the steps from each start position on its own, and
 *      runs over repeated single characters without counting.
 *   R1  A first try has few steps a position. Only if they do not suffice a
 *       second one has many, and pays for them from the credit of its caller:
 *       many cheap searches are linear, many dear ones end.
 *   R2  A pattern that is not anchored is tried at each position, so what a
 *       position may cost shrinks as the text grows, the square of its length
 *       is paid too, and a text above PDR_MAX_SEARCHED_BYTES is refused.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base.h"

struct pdr__regex {
    pcre2_code *code; /* owned */
    bool is_anchored; /* can only match at the start */
};

static void *regex_alloc(size_t size, void *arg)
{
    (void)arg;
    return pdr__alloc(size);
}

static void regex_release(void *ptr, void *arg)
{
    (void)arg;
    pdr__free(ptr);
}

static pcre2_general_context *memory_context(void)
{
    return pcre2_general_context_create(regex_alloc, regex_release, NULL);
}

/* --- patterns ------------------------------------------------------------ */

static pdr_rc bad_pattern(int code, size_t offset, pdr_err *err)
{
    PCRE2_UCHAR text[128];

    if (code == PCRE2_ERROR_NOMEMORY || code == PCRE2_ERROR_HEAP_FAILED)
        return pdr__nomem(err);
    if (pcre2_get_error_message(code, text, sizeof(text)) < 0)
        text[0] = '\0'; /* cut: the place is enough */
    return PDR_FAIL_AT(err, offset, BAD_PATTERN,
                       "byte %zu of the pattern: %s; see the format page "
                       "jsonschema.md for what may stand there",
                       offset, (const char *)text);
}

static pdr_rc compile(pcre2_code **out, pdr_str pattern,
                      pcre2_compile_context *context, pdr_err *err)
{
    const uint32_t options =
        PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_DOLLAR_ENDONLY |
        PCRE2_ALT_BSUX | PCRE2_MATCH_UNSET_BACKREF | PCRE2_ALLOW_EMPTY_CLASS;
    size_t offset = 0;
    int code = 0;

    if (pcre2_set_compile_extra_options(context, PCRE2_EXTRA_ALT_BSUX) != 0 ||
        pcre2_set_newline(context, PCRE2_NEWLINE_ANYCRLF) != 0 ||
        pcre2_set_parens_nest_limit(context, PDR_MAX_PATTERN_NESTING) != 0)
        return PDR_FAIL(err, BAD_PATTERN, "%s",
                        "the installed PCRE2 lacks an option");
    *out = pcre2_compile((PCRE2_SPTR)pattern.ptr, pattern.len, options, &code,
                         &offset, context);
    return *out != NULL ? PDR_OK : bad_pattern(code, offset, err);
}

static pdr_rc check_pattern(pdr_str pattern, pdr_err *err)
{
    if (pattern.len > PDR_MAX_PATTERN_BYTES)
        return PDR_FAIL(err, BAD_PATTERN,
                        "a pattern of %zu bytes, at most %u: split it",
                        pattern.len, PDR_MAX_PATTERN_BYTES);
    if (pattern.len >= 2 && memcmp(pattern.ptr, "(*", 2) == 0)
        return PDR_FAIL_AT(err, 0, BAD_PATTERN, "%s",
                           "a pattern cannot begin with '(*': there is nothing "
                           "to repeat, and no options can be set");
    return PDR_OK;
}

pdr_rc pdr__regex_new(struct pdr__regex **out, pdr_str pattern, pdr_err *err)
{
    pcre2_general_context *memory = NULL;
    pcre2_compile_context *context = NULL;
    struct pdr__regex *regex = NULL;
    uint32_t options = 0;
    pdr_rc rc = check_pattern(pattern, err);

    *out = NULL;
    if (rc != PDR_OK)
        return rc;
    if (pattern.ptr == NULL)
        pattern.ptr = "";
    regex = pdr__calloc(1, sizeof(*regex));
    memory = memory_context();
    if (memory != NULL)
        context = pcre2_compile_context_create(memory);
    if (regex == NULL || context == NULL)
        rc = pdr__nomem(err);
    else
        rc = compile(&regex->code, pattern, context, err);
    pcre2_compile_context_free(context);
    pcre2_general_context_free(memory);
    if (rc != PDR_OK) {
        pdr__free(regex);
        return rc;
    }
    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_ALLOPTIONS, &options);
    regex->is_anchored = (options & PCRE2_ANCHORED) != 0;
    *out = regex;
    return PDR_OK;
}

void pdr__regex_free(struct pdr__regex *regex)
{
    if (regex == NULL)
        return;
    pcre2_code_free(regex->code);
    pdr__free(regex);
}

/* --- searching ----------------------------------------------------------- */

struct pdr__searcher {
    pcre2_general_context *memory; /* owned, as the others */
    pcre2_match_context *context;
    pcre2_match_data *data;
    uint64_t credit; /* steps that dear searches may still take */
};

pdr_rc pdr__searcher_new(struct pdr__searcher **out, pdr_err *err)
{
    struct pdr__searcher *s = pdr__calloc(1, sizeof(*s));

    *out = NULL;
    if (s == NULL)
        return pdr__nomem(err);
    s->memory = memory_context();
    if (s->memory != NULL) {
        s->context = pcre2_match_context_create(s->memory);
        s->data = pcre2_match_data_create(1, s->memory);
    }
    if (s->context == NULL || s->data == NULL) {
        pdr__searcher_free(s);
        return pdr__nomem(err);
    }
    s->credit = PDR_PATTERN_CREDIT;
    pcre2_set_depth_limit(s->context, PDR_PATTERN_DEPTH);
    pcre2_set_heap_limit(s->context, PDR_PATTERN_HEAP_KIB);
    *out = s;
    return PDR_OK;
}

void pdr__searcher_free(struct pdr__searcher *s)
{
    if (s == NULL)
        return;
    pcre2_match_data_free(s->data);
    pcre2_match_context_free(s->context);
    pcre2_general_context_free(s->memory);
    pdr__free(s);
}

/* Steps from one position, when few do not suffice (R2). */
static uint32_t dear_steps(const struct pdr__regex *regex, size_t len)
{
    size_t share = PDR_PATTERN_STEPS;

    if (!regex->is_anchored)
        share = share / (len / PDR_PATTERN_FIRST_STEPS + 1);
    return share > PDR_PATTERN_FIRST_STEPS ? (uint32_t)share
                                           : PDR_PATTERN_FIRST_STEPS;
}

static bool pay(struct pdr__searcher *s, uint64_t steps)
{
    if (s->credit < steps)
        return false;
    s->credit -= steps;
    return true;
}

static int match(struct pdr__searcher *s, const struct pdr__regex *regex,
                 pdr_str text, uint32_t steps)
{
    pcre2_set_match_limit(s->context, steps);
    /* The text was checked, and checking it again is most of a short search. */
    return pcre2_match(regex->code, (PCRE2_SPTR)text.ptr, text.len, 0,
                       PCRE2_NO_UTF_CHECK, s->data, s->context);
}

static pdr_rc too_dear(pdr_err *err)
{
    return PDR_FAIL(err, PATTERN_LIMIT, "%s",
                    "searching for the pattern takes too long: anchor it with "
                    "'^', do not repeat what is repeated, or shorten the text");
}

pdr_rc pdr__regex_search(bool *found, struct pdr__searcher *s,
                         const struct pdr__regex *regex, pdr_str text,
                         pdr_err *err)
{
    uint64_t square = text.len / 64 * (text.len / 64);
    int code = 0;

    *found = false;
    if (text.ptr == NULL)
        text.ptr = "";
    if (!regex->is_anchored &&
        (text.len > PDR_MAX_SEARCHED_BYTES || !pay(s, square)))
        return too_dear(err);
    code = match(s, regex, text, PDR_PATTERN_FIRST_STEPS);
    if (code == PCRE2_ERROR_MATCHLIMIT) {
        uint32_t steps = dear_steps(regex, text.len);

        if (!pay(s, PDR_PATTERN_STEPS))
            return too_dear(err);
        code = match(s, regex, text, steps);
    }
    *found = code >= 0;
    if (code >= 0 || code == PCRE2_ERROR_NOMATCH)
        return PDR_OK;
    return code == PCRE2_ERROR_NOMEMORY ? pdr__nomem(err) : too_dear(err);
}
