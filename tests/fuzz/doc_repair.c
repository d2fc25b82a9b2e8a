/*
 * doc_repair.c - any bytes are refused, or repaired into a document that passes
 * the gate, that the reader takes, and that a second repair leaves alone. The
 * first byte chooses the reader, the rest is the document.
 */
#include <perdure.h>

#include "fuzz.h"

#define NOW (PDR_TICKS_UNIX_EPOCH + 1770106500 * PDR_TICKS_PER_SECOND)

static pdr_rc count(const pdr_doc_finding *finding, pdr_err *err, void *arg)
{
    (void)err;
    MUST(finding->text.len > 0 && finding->rule[0] != '\0');
    ++*(size_t *)arg;
    return PDR_OK;
}

/* Damage that the check of meaning must no longer find. */
static pdr_rc no_damage(const pdr_doc_finding *finding, pdr_err *err, void *arg)
{
    (void)err, (void)arg;
    MUST(strcmp(finding->rule, "call-without-result") != 0);
    MUST(strcmp(finding->rule, "result-without-call") != 0);
    MUST(strcmp(finding->rule, "result-before-call") != 0);
    MUST(strcmp(finding->rule, "result-twice") != 0);
    MUST(strcmp(finding->rule, "request-without-response") != 0);
    return PDR_OK;
}

static void check_reader(const pdr_value *value, pdr_reader reader)
{
    pdr_write_opts opts = {.layout = PDR_AS_READ};
    pdr_reader_verdict verdict = {false, false};
    pdr_buf text = PDR_BUF_INIT(UINT32_MAX);
    pdr_value *again = NULL;

    MUST(pdr_json_write(&text, value, &opts, NULL) == PDR_OK);
    MUST(pdr_state_read(&again, pdr_buf_str(&text), NULL, NULL) == PDR_OK);
    MUST(pdr_value_equal(value, again));
    if (reader != PDR_READER_ANY) {
        MUST(pdr_state_check_reader(&verdict, pdr_buf_str(&text), reader, NULL,
                                    NULL, NULL) == PDR_OK);
        MUST(verdict.loads && verdict.runs);
    }
    pdr_value_free(again);
    pdr_buf_dispose(&text);
}

static void repair(const pdr_value *value, pdr_reader reader)
{
    pdr_value *once = NULL, *twice = NULL;
    pdr_err err = PDR_ERR_INIT;
    size_t told = 0, dry = 0, again = 0;
    pdr_rc rc = pdr_state_repair(&once, value, reader, NOW, &err, count, &told);

    MUST(rc == pdr_state_repair(NULL, value, reader, NOW, NULL, count, &dry));
    MUST(told == dry);
    if (rc != PDR_OK) {
        MUST(once == NULL && told == 0 && err.message[0] != '\0');
        MUST(rc == PDR_EINVALID || rc == PDR_EVERSION || rc == PDR_ELIMIT);
        return;
    }
    MUST(pdr_value_equal(value, once) == (told == 0));
    MUST(pdr_state_gate(once, NULL) == PDR_OK);
    check_reader(once, reader);
    MUST(pdr_state_check_meaning(once, NULL, no_damage, NULL) == PDR_OK);
    MUST(pdr_state_repair(&twice, once, reader, NOW + 1, NULL, count, &again) ==
         PDR_OK);
    MUST(again == 0 && pdr_value_equal(once, twice));
    pdr_value_free(twice);
    pdr_value_free(once);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pdr_value *value = NULL;

    if (size < 1)
        return 0;
    pdr_str text = {(const char *)data + 1, size - 1};
    if (pdr_json_read(&value, text, NULL, NULL) == PDR_OK)
        repair(value, (pdr_reader)(data[0] % 3));
    pdr_value_free(value);
    return 0;
}
