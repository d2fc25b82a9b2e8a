/*
 * doc_readers.c - whatever the bytes are, the checks for other readers answer:
 * no verdict without a finding, each finding at a place that there is, and the
 * same again when asked again.
 *
 * A pointer cannot name what stands inside a member that a later one of the
 * same name replaces, so places count in documents without such members.
 */
#include <perdure.h>

#include "fuzz.h"

struct told {
    const pdr_value *document; /* NULL if the text is no JSON */
    bool unique;               /* no name occurs twice in an object */
    size_t findings, errors;
};

static pdr_rc look(const pdr_doc_finding *finding, pdr_err *err, void *arg)
{
    struct told *told = arg;
    const pdr_value *place = NULL;

    (void)err;
    MUST(finding->rule[0] != '\0' && finding->text.len > 0);
    MUST(finding->severity >= PDR_SEVERITY_INFO &&
         finding->severity <= PDR_SEVERITY_ERROR);
    if (told->document == NULL)
        MUST(finding->pointer.len == 0);
    else if (told->unique)
        MUST(pdr_pointer_get(&place, told->document, finding->pointer, NULL) ==
             PDR_OK);
    told->findings++;
    told->errors += finding->severity == PDR_SEVERITY_ERROR;
    return PDR_OK;
}

static pdr_rc see(const pdr_finding *finding, pdr_err *err, void *arg)
{
    (void)err;
    if (finding->kind == PDR_FOUND_DUPLICATE)
        *(bool *)arg = false;
    return PDR_OK;
}

static void check(pdr_str text, const pdr_value *document, pdr_reader reader)
{
    struct told first = {document, true, 0, 0}, second;
    pdr_reader_verdict verdict, again;
    bool object = document != NULL && pdr_value_kind(document) == PDR_OBJECT;

    if (document != NULL)
        MUST(pdr_value_inspect(document, NULL, see, &first.unique) == PDR_OK);
    second = first;
    MUST(pdr_state_check_reader(&verdict, text, reader, NULL, look, &first) ==
         PDR_OK);
    MUST((verdict.loads && verdict.runs) || first.errors > 0);
    /* Only what is no object can run and not load, and in Python only. */
    MUST(verdict.loads || !verdict.runs ||
         (reader == PDR_READER_PYTHON && !object));
    MUST(pdr_state_check_reader(&again, text, reader, NULL, look, &second) ==
         PDR_OK);
    MUST(verdict.loads == again.loads && verdict.runs == again.runs);
    MUST(first.findings == second.findings && first.errors == second.errors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const pdr_read_opts opts = {.flags = PDR_BARE_TOKENS, .max_depth = 1024};
    pdr_str text = {(const char *)data, size};
    pdr_value *document = NULL;
    pdr_rc rc = pdr_json_read(&document, text, &opts, NULL);

    MUST(rc == PDR_OK || rc == PDR_EINVALID || rc == PDR_ELIMIT);
    check(text, document, PDR_READER_DOTNET);
    check(text, document, PDR_READER_PYTHON);
    pdr_value_free(document);
    return 0;
}
