/*
 * convert_usage.c - counts of tokens, from shape to shape.
 *
 * .NET has a fixed set of names and "additionalCounts" for the rest, Python one
 * flat object, a state document the names of .NET with further counts beside
 * them or, if Python wrote it, in "extensionData". What does not come back the
 * same is kept beside (convert_form.c), so nothing here has to be exact.
 */
#include "convert.h"

static const struct {
    const char *dotnet, *python;
} pairs[] = {
    {"inputTokenCount", "input_token_count"},
    {"outputTokenCount", "output_token_count"},
    {"totalTokenCount", "total_token_count"},
    {"cachedInputTokenCount", "cache_read_input_token_count"},
    {"reasoningTokenCount", "reasoning_output_token_count"},
    {"inputAudioTokenCount", ""},
    {"inputTextTokenCount", ""},
    {"outputAudioTokenCount", ""},
    {"outputTextTokenCount", ""},
};

#define NEST "additionalCounts"

struct counts {
    struct content_items own;  /* members of the result */
    struct content_items nest; /* members of its NEST */
    struct trip trip;
};

static bool is_taken(const struct content_items *items, const pdr_value *name)
{
    for (size_t i = 0; i < items->count; i++) {
        if (items->at[i].name != NULL
                ? pdr_value_text_is(name, pdr_str_c(items->at[i].name))
                : pdr__value_same_text(name, items->at[i].spelled))
            return true;
    }
    return false;
}

/* One of the names that everybody knows? */
static bool find_pair(size_t *out, const pdr_value *name)
{
    for (size_t i = 0; i < PDR_COUNT(pairs); i++) {
        *out = i;
        if (pdr_value_text_is(name, pdr_str_c(pairs[i].dotnet)) ||
            (pairs[i].python[0] != '\0' &&
             pdr_value_text_is(name, pdr_str_c(pairs[i].python))))
            return true;
    }
    return false;
}

static bool has_name(const struct content_items *items, const char *name)
{
    for (size_t i = 0; i < items->count; i++) {
        if (items->at[i].name != NULL && strcmp(items->at[i].name, name) == 0)
            return true;
    }
    return false;
}

static pdr_rc add_count(struct counts *counts, const pdr_value *name,
                        const pdr_value *value, pdr_err *err)
{
    bool python = counts->trip.to == PDR_SHAPE_PYTHON;
    struct content_items *to = &counts->own;
    const char *known = NULL;
    size_t pair = 0;
    int64_t number = 0;

    if (pdr_value_kind(value) != PDR_NUMBER ||
        pdr_value_int64(&number, value, NULL) != PDR_OK)
        return PDR_OK; /* no count: stays beside */
    if (find_pair(&pair, name))
        known = python && pairs[pair].python[0] != '\0' ? pairs[pair].python
                                                        : pairs[pair].dotnet;
    if (known != NULL)
        return has_name(to, known)
                   ? PDR_OK
                   : pdr__items_add(to, known, pair, pdr_value_ref(value), err);
    if (counts->trip.to == PDR_SHAPE_DOTNET)
        to = &counts->nest;
    return is_taken(to, name)
               ? PDR_OK
               : pdr__items_add_spelled(to, name, PDR_COUNT(pairs),
                                        pdr_value_ref(value), err);
}

static pdr_rc add_counts(struct counts *counts, const pdr_value *object,
                         bool nested, pdr_err *err)
{
    pdr_iter it;
    pdr_rc rc = PDR_OK;

    pdr_iter_init(&it, object);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        bool nest = pdr_value_text_is(it.name, PDR_LIT(NEST)) ||
                    pdr_value_text_is(it.name, PDR_LIT("extensionData"));

        if (!nested && nest && pdr_value_kind(it.value) == PDR_OBJECT)
            rc = add_counts(counts, it.value, true, err);
        else
            rc = add_count(counts, it.name, it.value, err);
    }
    return rc;
}

pdr_rc pdr__usage_convert(pdr_value **out, const pdr_value *usage,
                          struct trip trip, pdr_err *err)
{
    struct counts counts = {{NULL, 0, 0}, {NULL, 0, 0}, trip};
    pdr_value *nest = NULL;
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (trip.from == PDR_SHAPE_DOTNET && trip.to == PDR_SHAPE_STATE) {
        *out = pdr_value_ref(usage); /* readers of a state know both */
        return PDR_OK;
    }
    rc = add_counts(&counts, usage, false, err);
    if (rc == PDR_OK && counts.nest.count > 0) {
        rc = pdr__items_object(&nest, &counts.nest, err);
        if (rc == PDR_OK)
            rc = pdr__items_add(&counts.own, NEST, PDR_COUNT(pairs), nest, err);
    }
    if (rc == PDR_OK)
        rc = pdr__items_object(out, &counts.own, err);
    pdr__items_dispose(&counts.nest);
    pdr__items_dispose(&counts.own);
    return rc;
}
