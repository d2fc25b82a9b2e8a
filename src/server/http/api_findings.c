/*
 * api_findings.c - what a check of the document of a session finds, and which
 * parts of it no edition knows.
 */
#include <perdure/archive.h>
#include <perdure/doc.h>
#include <perdure/json.h>

#include "http.h"

#include "session.h"

#define MOST_FINDINGS 1000 /* that are told of; more are counted */
#define MAX_TRIES     20   /* of what other writers came between */

struct findings {
    struct pdr__json json;
    uint64_t count;
};

/* Is it about a part that is kept, and that nobody knows? */
static bool is_unknown(const char *rule)
{
    return strcmp(rule, "schema-additionalProperties") == 0 ||
           strcmp(rule, "content-kind-unknown") == 0 ||
           strcmp(rule, "member-unknown") == 0 ||
           strcmp(rule, "entry-kind-unknown") == 0;
}

/* A pdr_doc_finding_fn. */
static pdr_rc finding_tell(const pdr_doc_finding *finding, pdr_err *err,
                           void *arg)
{
    struct findings *f = arg;
    bool is_kept = is_unknown(finding->rule);

    (void)err;
    /* The strict schema is for what we make: of others, only unknown members
     * are of interest. */
    if (!is_kept && strncmp(finding->rule, "schema-", 7) == 0)
        return PDR_OK;
    if (f->count++ >= MOST_FINDINGS)
        return PDR_OK;
    pdr__json_begin(&f->json, NULL, '{');
    pdr__json_text(&f->json, "pointer", finding->pointer);
    pdr__json_text(&f->json, "rule", pdr_str_c(finding->rule));
    pdr__json_text(&f->json, "severity",
                   pdr_str_c(pdr_severity_name(is_kept ? PDR_SEVERITY_INFO
                                                       : finding->severity)));
    pdr__json_bool(&f->json, "unknown", is_kept);
    pdr__json_text(&f->json, "text",
                   is_kept ? PDR_LIT("no edition knows this; it is kept")
                           : finding->text);
    pdr__json_end(&f->json, '}');
    return f->json.rc;
}

/* The document, appended. */
static pdr_rc document_read(pdr_buf *out, struct pdr__exchange *x, pdr_err *err)
{
    const pdr_export_opts opts = {.ref = pdr__api_ref(x), .bare = true};
    pdr_export_report report = {.revision = 0};
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_ECONFLICT;

    for (int i = 0; rc == PDR_ECONFLICT && i < MAX_TRIES; i++) {
        pdr_buf_clear(out);
        rc = pdr_export(&report, pdr__api_store(x), &opts, &why, pdr_write_buf,
                        out);
    }
    return rc == PDR_OK ? PDR_OK : pdr__err_pass(err, &why);
}

/* For a state document, everything that a check finds; for other sessions, the
 * members that no edition knows. `*checked` is false if no rules apply. */
static pdr_rc document_check(bool *checked, const pdr_value *value,
                             struct findings *f, pdr_err *err)
{
    pdr_err why = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    *checked = true;
    if (pdr_state_gate(value, NULL) == PDR_OK) {
        PDR_TRY(pdr_state_check_structure(value, PDR_STATE_STRICT, err,
                                          finding_tell, f));
        PDR_TRY(pdr_state_check_meaning(value, err, finding_tell, f));
        return PDR_OK;
    }
    rc = pdr__session_check_members(value, &why, finding_tell, f);
    *checked = rc == PDR_OK;
    if (rc == PDR_EINVALID || rc == PDR_EVERSION)
        return PDR_OK;
    if (rc != PDR_OK)
        return pdr__err_pass(err, &why);
done:
    return rc;
}

/* {"items":[...],"checked":BOOL,"count":N} */
pdr_rc pdr__api_findings(struct pdr__exchange *x, pdr_err *err)
{
    struct findings f = {.json = {.out = &x->reply.body, .err = err}};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *value = NULL;
    bool checked = false;
    pdr_rc rc = PDR_OK;

    PDR_TRY(document_read(&text, x, err));
    PDR_TRY(pdr_json_read_borrowed(&value, pdr_buf_str(&text), NULL, err));
    pdr__json_begin(&f.json, NULL, '{');
    pdr__json_begin(&f.json, "items", '[');
    PDR_TRY(document_check(&checked, value, &f, err));
    pdr__json_end(&f.json, ']');
    pdr__json_bool(&f.json, "checked", checked);
    pdr__json_number(&f.json, "count", f.count);
    pdr__json_end(&f.json, '}');
    PDR_TRY(pdr__json_send(&f.json, x, 200));
done:
    pdr_value_free(value);
    pdr_buf_dispose(&text);
    return rc;
}
