/*
 * regex.c - does a text hold a pattern? The only file that knows PCRE2.
 *
 * WHY  JSON Schema has regular expressions, and both the pattern and the text
 *      may come from somebody who wants us to wait. PCRE2 backtracks: there are
 *      patterns that take longer than anybody lives. So a search counts, and
 *      ends with PATTERN_LIMIT instead.
 *
 * DIALECT  ECMA-262 with its flag `u`: regex_syntax.c refuses what is not, and
 *      the options make PCRE2 read the rest alike: `$` is only the end of the
 *      text, `\d` and `\w` are ASCII, `[]` matches nothing, `\u{1F600}` is a
 *      character. No JIT: it would count in another way, and the same document
 *      must get the same answer anywhere.
 *
 * COUNTING  PCRE2 counts steps from each start position on its own, and runs
 *      over repeated single characters without counting. So the bound is
 *
 *          positions x steps x what one step can cost
 *
 *   R1  Positions are the bytes with which a match can begin, which PCRE2
 *       knows; one for an anchored pattern.
 *   R2  A greedy repeat that fails steps back over each character that it ran
 *       over: PCRE2_NO_AUTO_POSSESS sees to that. So a step costs one character
 *       run over, and those of the least counts and the literal text, which are
 *       in the pattern. Where a pattern looks around or refers back to a group,
 *       what was run over is forgotten: a step may cost the whole text.
 *   R3  A search begins with few steps and has more with each try. Each try is
 *       paid before it runs, as if it took all of them: many cheap searches are
 *       linear, many dear ones end.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base.h"

struct pdr__regex {
    pcre2_code *code; /* owned */
    bool is_anchored; /* can only match at the start */
    bool starts[256]; /* can a match begin with, or behind, this byte? (R1) */
    size_t reach;     /* characters that a step runs over at most (R2) */
    size_t width;     /* what one of them costs; 1 is usual */
    size_t state;     /* steps that copying the state of one costs */
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
    const uint32_t options = PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C |
                             PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_BSUX |
                             PCRE2_MATCH_UNSET_BACKREF |
                             PCRE2_ALLOW_EMPTY_CLASS | PCRE2_NO_AUTO_POSSESS;
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

static pdr_rc check_pattern(struct pdr__regex_shape *shape, pdr_str pattern,
                            pdr_err *err)
{
    if (pattern.len > PDR_MAX_PATTERN_BYTES)
        return PDR_FAIL(err, BAD_PATTERN,
                        "a pattern of %zu bytes, at most %u: split it",
                        pattern.len, PDR_MAX_PATTERN_BYTES);
    return pdr__regex_scan(shape, pattern, err);
}

/* With which bytes can a match begin (R1)? */
static void find_starts(struct pdr__regex *regex)
{
    const uint8_t *bits = NULL;
    uint32_t type = 0, first = 0;

    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_FIRSTCODETYPE, &type);
    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_FIRSTCODEUNIT, &first);
    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_FIRSTBITMAP, &bits);
    for (size_t i = 0; i < 256; i++) {
        if (type == 1)
            regex->starts[i] = i == first;
        else if (type == 2) /* only at the start of a line */
            regex->starts[i] = i == '\n' || i == '\r';
        else
            regex->starts[i] =
                bits == NULL || (bits[i / 8] & (1u << (i % 8))) != 0;
    }
}

static void measure(struct pdr__regex *regex,
                    const struct pdr__regex_shape *shape, pdr_str pattern)
{
    uint32_t options = 0;
    size_t frame = 0;

    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_ALLOPTIONS, &options);
    (void)pcre2_pattern_info(regex->code, PCRE2_INFO_FRAMESIZE, &frame);
    regex->is_anchored = (options & PCRE2_ANCHORED) != 0;
    regex->state = frame / PDR_PATTERN_STATE_BYTES;
    regex->width = 1 + shape->wide_class / PDR_PATTERN_CLASS_BYTES;
    if (shape->has_long_steps ||
        !pdr__mul_size(&regex->reach, shape->copies, pattern.len))
        regex->reach = SIZE_MAX;
    find_starts(regex);
}

pdr_rc pdr__regex_new(struct pdr__regex **out, pdr_str pattern, pdr_err *err)
{
    pcre2_general_context *memory = NULL;
    pcre2_compile_context *context = NULL;
    struct pdr__regex *regex = NULL;
    struct pdr__regex_shape shape;
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (pattern.ptr == NULL)
        pattern.ptr = "";
    rc = check_pattern(&shape, pattern, err);
    if (rc != PDR_OK)
        return rc;
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
    measure(regex, &shape, pattern);
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

/* Places where PCRE2 tries to match, at most (R1). */
static uint64_t count_positions(const struct pdr__regex *regex, pdr_str text)
{
    uint64_t count = 1;

    if (regex->is_anchored)
        return count;
    for (size_t i = 0; i < text.len; i++)
        count += regex->starts[(unsigned char)text.ptr[i]];
    return count;
}

/* What one step costs, in steps; at least one (R2). A text has 32 bits of
 * length and a class 16 KB, so nothing overflows. */
static uint64_t step_cost(const struct pdr__regex *regex, pdr_str text)
{
    uint64_t run = regex->reach < text.len ? regex->reach : text.len;

    return 1 + regex->state + (1 + run) * regex->width / PDR_PATTERN_RUN_CHARS;
}

/* Pay for one try (R3). `floor` is for running over the text once. */
static bool pay(uint64_t *credit, uint64_t floor, uint64_t positions,
                uint64_t cost, uint32_t steps)
{
    uint64_t units = 0;

    /* Divided, because the product may be larger than anything. */
    if (cost > UINT64_MAX / 4 / steps ||
        positions > UINT64_MAX / 4 / steps / cost)
        return false;
    units = 1 + (floor + positions * cost * steps) / PDR_PATTERN_UNIT_STEPS;
    if (units > PDR_PATTERN_WORK || units > *credit)
        return false;
    *credit -= units;
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
                         uint64_t *credit, pdr_err *err)
{
    uint64_t floor = text.len * regex->width / PDR_PATTERN_RUN_CHARS;
    uint64_t positions = 0, cost = 0;
    int code = PCRE2_ERROR_MATCHLIMIT;

    *found = false;
    if (text.ptr == NULL)
        text.ptr = "";
    positions = count_positions(regex, text);
    cost = step_cost(regex, text);
    for (uint32_t steps = PDR_PATTERN_FIRST_STEPS;
         code == PCRE2_ERROR_MATCHLIMIT; steps *= PDR_PATTERN_MORE_STEPS) {
        if (!pay(credit, floor, positions, cost, steps))
            return too_dear(err);
        code = match(s, regex, text, steps);
    }
    *found = code >= 0;
    if (code >= 0 || code == PCRE2_ERROR_NOMATCH)
        return PDR_OK;
    return code == PCRE2_ERROR_NOMEMORY ? pdr__nomem(err) : too_dear(err);
}
