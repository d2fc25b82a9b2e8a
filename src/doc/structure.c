/*
 * structure.c - do state documents match the schema files?
 *
 * WHY  The two files in schemas/ say for everybody, in a language that other
 *      tools know, what we read and what we make. They are part of the library,
 *      so that the check and the files cannot disagree.
 *
 * The schema is loaded for each call: it takes less time than reading a small
 * document, and there is nothing to guard between threads.
 */
#include "doc.h"

#include "jsonschema.h"

#include "structure.h"

pdr_str pdr_state_schema_text(pdr_state_schema which)
{
    return which == PDR_STATE_STRICT
               ? pdr_str_n(pdr__schema_strict, pdr__schema_strict_len)
               : pdr_str_n(pdr__schema_tolerant, pdr__schema_tolerant_len);
}

/* Rules have static names: one per keyword. */
static const char *rule_name(const char *keyword)
{
    static const char *const names[] = {
#define RULE_NAME(name, text, load, kinds, skipped) "schema-" text,
        KEYWORD_MAP(RULE_NAME)
#undef RULE_NAME
    };

    for (size_t i = 0; i < PDR_COUNT(names); i++)
        if (strcmp(pdr__keyword_names[i], keyword) == 0)
            return names[i];
    return "schema-false";
}

struct telling {
    pdr_doc_finding_fn fn;
    void *arg;
};

static pdr_rc tell(const pdr_schema_finding *finding, pdr_err *err, void *arg)
{
    const struct telling *telling = arg;
    pdr_doc_finding doc = {.rule = rule_name(finding->keyword),
                           .severity = PDR_SEVERITY_ERROR,
                           .pointer = finding->instance,
                           .text = finding->text};

    return telling->fn(&doc, err, telling->arg);
}

pdr_rc pdr_state_check_structure(const pdr_value *value, pdr_state_schema which,
                                 pdr_err *err, pdr_doc_finding_fn fn, void *arg)
{
    struct telling telling = {fn, arg};
    pdr_value *text = NULL;
    pdr_schema *schema = NULL;
    bool valid = false;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(value != NULL);
    rc = pdr_json_read(&text, pdr_state_schema_text(which), NULL, err);
    if (rc == PDR_OK)
        rc = pdr_schema_new(&schema, text, NULL, err);
    if (rc == PDR_OK)
        rc = pdr_schema_check(&valid, schema, value, err,
                              fn != NULL ? tell : NULL, &telling);
    pdr_schema_free(schema);
    pdr_value_free(text);
    return rc;
}
