/*
 * usage.c - how many tokens, by whatever name.
 *
 * WHY  Three names are everybody's. For the others .NET writes members beside
 *      them or in "additionalCounts", Python writes them into "extensionData"
 *      with names of its own. A reader who wants the cached tokens should not
 *      have to know who wrote the document.
 */
#include "doc.h"

/* The counts that both editions have, by either name. */
static const struct {
    const char *dotnet, *python;
} names[] = {
    {"inputTokenCount", "input_token_count"},
    {"outputTokenCount", "output_token_count"},
    {"totalTokenCount", "total_token_count"},
    {"cachedInputTokenCount", "cache_read_input_token_count"},
    {"reasoningTokenCount", "reasoning_output_token_count"},
};

/* Objects inside a usage object that hold further counts. */
static const char *const nests[] = {"extensionData", "additionalCounts"};

/* The other edition's name of a count, "" if it has none. */
static const char *other_name(pdr_str name)
{
    for (size_t i = 0; i < PDR_COUNT(names); i++) {
        if (pdr_str_equal(name, pdr_str_c(names[i].dotnet)))
            return names[i].python;
    }
    return "";
}

static bool count_in(int64_t *out, const pdr_value *object, pdr_str name)
{
    const pdr_value *member = pdr_value_get(object, name);

    return member != NULL && pdr_value_int64(out, member, NULL) == PDR_OK;
}

bool pdr_usage_count(int64_t *out, const pdr_value *usage, pdr_str name)
{
    pdr_str python = pdr_str_c(other_name(name));

    if (count_in(out, usage, name))
        return true;
    for (size_t i = 0; i < PDR_COUNT(nests); i++) {
        const pdr_value *nest = pdr_value_get_c(usage, nests[i]);

        if (count_in(out, nest, name) ||
            (python.len > 0 && count_in(out, nest, python)))
            return true;
    }
    return false;
}

/* --- all of them --------------------------------------------------------- */

struct each {
    const pdr_value *usage; /* the whole */
    pdr_usage_fn fn;
    void *arg;
    pdr_buf scratch;
};

/* The name to report: that of .NET if it is Python's of the same count. */
static pdr_str told_name(pdr_str name)
{
    for (size_t i = 0; i < PDR_COUNT(names); i++) {
        if (pdr_str_equal(name, pdr_str_c(names[i].python)))
            return pdr_str_c(names[i].dotnet);
    }
    return name;
}

/* Tell of one member. Of several with one name only the last counts. */
static pdr_rc each_count(struct each *each, const pdr_iter *it, pdr_err *err)
{
    pdr_str name = {NULL, 0};
    int64_t count = 0, beside = 0;
    pdr_rc rc = PDR_OK;

    if (pdr_value_int64(&count, it->value, NULL) != PDR_OK)
        return PDR_OK;
    rc = pdr_value_text(&name, it->name, &each->scratch, err);
    if (rc == PDR_EINVALID)
        return PDR_OK; /* a name without a UTF-8 form is no count's */
    if (rc != PDR_OK || pdr_value_get(it->container, name) != it->value)
        return rc;
    name = told_name(name);
    /* A count beside the nest is the one that pdr_usage_count() gives. */
    if (it->container != each->usage && count_in(&beside, each->usage, name))
        return PDR_OK;
    return each->fn(name, count, err, each->arg);
}

/* Is it the object that holds further counts, the last one of its name? */
static bool is_counted_nest(const pdr_iter *it)
{
    for (size_t i = 0; i < PDR_COUNT(nests); i++) {
        if (pdr_value_text_is(it->name, pdr_str_c(nests[i])))
            return pdr__member(it->container, nests[i], PDR_OBJECT) ==
                   it->value;
    }
    return false;
}

static pdr_rc each_in(struct each *each, const pdr_value *object, bool nested,
                      pdr_err *err)
{
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, object);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        if (!nested && is_counted_nest(&it))
            rc = each_in(each, it.value, true, err);
        else
            rc = each_count(each, &it, err);
    }
    return rc;
}

pdr_rc pdr_usage_each(const pdr_value *usage, pdr_err *err, pdr_usage_fn fn,
                      void *arg)
{
    struct each each = {usage, fn, arg, PDR_BUF_INIT(PDR_MAX_TEXT_BYTES)};
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(fn != NULL);
    if (usage == NULL || pdr_value_kind(usage) != PDR_OBJECT)
        return PDR_OK;
    rc = each_in(&each, usage, false, err);
    pdr_buf_dispose(&each.scratch);
    return rc;
}
