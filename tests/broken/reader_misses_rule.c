/*
 * reader_misses_rule.c - a check for readers with one rule switched off, that
 * about blank texts. Linked with the recorded verdicts in the place of
 * pdr_state_check_reader(); must fail there.
 */
#include <string.h>

#include <perdure.h>

struct filter {
    pdr_doc_finding_fn fn;
    void *arg;
    size_t muted, errors;
};

pdr_rc __real_pdr_state_check_reader(pdr_reader_verdict *out, pdr_str text,
                                     pdr_reader reader, pdr_err *err,
                                     pdr_doc_finding_fn fn, void *arg);
pdr_rc __wrap_pdr_state_check_reader(pdr_reader_verdict *out, pdr_str text,
                                     pdr_reader reader, pdr_err *err,
                                     pdr_doc_finding_fn fn, void *arg);

static pdr_rc pass_others(const pdr_doc_finding *finding, pdr_err *err,
                          void *arg)
{
    struct filter *filter = arg;

    if (strcmp(finding->rule, "dotnet-blank-member") == 0) {
        filter->muted++;
        return PDR_OK;
    }
    filter->errors += finding->severity == PDR_SEVERITY_ERROR;
    return filter->fn(finding, err, filter->arg);
}

pdr_rc __wrap_pdr_state_check_reader(pdr_reader_verdict *out, pdr_str text,
                                     pdr_reader reader, pdr_err *err,
                                     pdr_doc_finding_fn fn, void *arg)
{
    struct filter filter = {fn, arg, 0, 0};
    pdr_rc rc = __real_pdr_state_check_reader(out, text, reader, err,
                                              pass_others, &filter);

    /* Without its finding the rule has no effect either. */
    if (filter.muted > 0 && filter.errors == 0)
        out->runs = true;
    return rc;
}
