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
    bool has[PDR_COUNT(pairs)]; /* those that everybody knows */
    struct pdr__map others;     /* names of those that nobody knows */
    pdr_buf scratch;
};

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

static pdr_rc add_known(struct counts *counts, size_t pair,
                        const pdr_value *value, pdr_err *err)
{
    bool python = counts->trip.to == PDR_SHAPE_PYTHON;

    if (counts->has[pair])
        return PDR_OK;
    counts->has[pair] = true;
    return pdr__items_add(&counts->own,
                          python && pairs[pair].python[0] != '\0'
                              ? pairs[pair].python
                              : pairs[pair].dotnet,
                          pair, pdr_value_ref(value), err);
}

static pdr_rc add_other(struct counts *counts, const pdr_value *name,
                        const pdr_value *value, pdr_err *err)
{
    bool nest = counts->trip.to == PDR_SHAPE_DOTNET;
    pdr_str key = {NULL, 0};
    pdr_rc rc = pdr__value_name_bytes(&key, name, &counts->scratch, err);

    if (rc != PDR_OK || pdr__map_get(NULL, &counts->others, key))
        return rc;
    rc = pdr__map_put(NULL, &counts->others, key, NULL, err);
    if (rc != PDR_OK)
        return rc;
    return pdr__items_add_spelled(nest ? &counts->nest : &counts->own, name,
                                  PDR_COUNT(pairs), pdr_value_ref(value), err);
}

static pdr_rc add_count(struct counts *counts, const pdr_value *name,
                        const pdr_value *value, pdr_err *err)
{
    size_t pair = 0;
    int64_t number = 0;

    if (pdr_value_kind(value) != PDR_NUMBER ||
        pdr_value_int64(&number, value, NULL) != PDR_OK)
        return PDR_OK; /* no count: stays beside */
    return find_pair(&pair, name) ? add_known(counts, pair, value, err)
                                  : add_other(counts, name, value, err);
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
    struct counts counts = {
        .trip = trip,
        .others = PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES),
        .scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES),
    };
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
    pdr_buf_dispose(&counts.scratch);
    pdr__map_dispose(&counts.others);
    pdr__items_dispose(&counts.nest);
    pdr__items_dispose(&counts.own);
    return rc;
}
