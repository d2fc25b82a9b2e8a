/*
 * jsonschema.c - any bytes as a schema and a value: a clean verdict, and the
 * same one with and without somebody who is told. The input is the schema, a
 * byte 0xFF, and the value.
 *
 * What is also true of every schema S and every value v:
 *   - v matches {"not": S} if and only if it does not match S;
 *   - v matches {"const": v}, and {"enum": [S, v]};
 *   - a value that was written and read again gets the same verdict;
 *   - S loads strictly if and only if it loads leniently without a note, and
 *     both give the same verdict;
 *   - null matches S with "nullable": true, loaded leniently, and a scalar that
 *     is not null gets the verdict that it gets without.
 */
#include <perdure.h>

#include "fuzz.h"

struct verdict {
    pdr_rc rc;
    bool valid;
};

static pdr_rc count_finding(const pdr_schema_finding *finding, pdr_err *err,
                            void *arg)
{
    size_t *count = arg;

    (void)err;
    MUST(finding->keyword[0] != '\0' && finding->text.len > 0);
    MUST(finding->instance.len == 0 || finding->instance.ptr[0] == '/');
    MUST(finding->schema.len == 0 || finding->schema.ptr[0] == '/');
    (*count)++;
    return PDR_OK;
}

static struct verdict verdict_of(const pdr_schema *schema,
                                 const pdr_value *value)
{
    struct verdict quiet = {PDR_OK, false}, loud = {PDR_OK, false};
    size_t findings = 0;

    quiet.rc = pdr_schema_check(&quiet.valid, schema, value, NULL, NULL, NULL);
    loud.rc = pdr_schema_check(&loud.valid, schema, value, NULL, count_finding,
                               &findings);
    MUST(quiet.rc == PDR_OK || quiet.rc == PDR_ELIMIT);
    MUST(loud.rc == PDR_OK || loud.rc == PDR_ELIMIT);
    if (loud.rc == PDR_OK) {
        /* Who stops at the first broken rule does not get further. */
        MUST(quiet.rc == PDR_OK && quiet.valid == loud.valid);
        MUST(loud.valid == (findings == 0));
    }
    return loud;
}

/* A schema with one keyword. */
static struct verdict verdict_with(const char *keyword, const pdr_value *of,
                                   const pdr_value *value)
{
    pdr_value *source = pdr_value_new_object();
    pdr_schema *schema = NULL;
    struct verdict verdict = {PDR_ELIMIT, false};

    if (pdr_value_set(&source, pdr_str_c(keyword), of, NULL) == PDR_OK &&
        pdr_schema_new(&schema, source, NULL, NULL) == PDR_OK)
        verdict = verdict_of(schema, value);
    pdr_schema_free(schema);
    pdr_value_free(source);
    return verdict;
}

static void check_equality(const pdr_value *source, const pdr_value *value)
{
    pdr_value *list = pdr_value_new_array();
    struct verdict verdict = verdict_with("const", value, value);

    MUST(verdict.rc != PDR_OK || verdict.valid);
    MUST(pdr_value_append(&list, source, NULL) == PDR_OK);
    MUST(pdr_value_append(&list, value, NULL) == PDR_OK);
    verdict = verdict_with("enum", list, value);
    MUST(verdict.rc != PDR_OK || verdict.valid);
    pdr_value_free(list);
}

static void check_again(const pdr_schema *schema, const pdr_value *value,
                        struct verdict before)
{
    pdr_buf text = PDR_BUF_INIT(UINT32_MAX);
    pdr_value *again = NULL;

    MUST(pdr_json_write(&text, value, NULL, NULL) == PDR_OK);
    MUST(pdr_json_read(&again, pdr_buf_str(&text), NULL, NULL) == PDR_OK);
    struct verdict after = verdict_of(schema, again);
    if (before.rc == PDR_OK && after.rc == PDR_OK)
        MUST(before.valid == after.valid);
    pdr_value_free(again);
    pdr_buf_dispose(&text);
}

static pdr_rc count_note(const pdr_schema_note *note, pdr_err *err, void *arg)
{
    size_t *count = arg;

    (void)err;
    MUST(note->pointer.len > 0 && note->pointer.ptr[0] == '/');
    MUST(note->keyword.len < note->pointer.len && note->text.len > 0);
    (*count)++;
    return PDR_OK;
}

/* `source` loads leniently and gives `plain`. */
static void check_nullable(const pdr_value *source, const pdr_value *value,
                           struct verdict plain)
{
    const pdr_schema_options options = {.lenient = true};
    pdr_value *nullable = pdr_value_ref(source);
    pdr_value *yes = pdr_value_new_bool(true), *null = pdr_value_new_null();
    pdr_schema *schema = NULL;
    pdr_kind kind = pdr_value_kind(value);
    struct verdict verdict = {PDR_OK, false};

    MUST(pdr_value_set(&nullable, pdr_str_c("nullable"), yes, NULL) == PDR_OK);
    MUST(pdr_schema_new(&schema, nullable, &options, NULL) == PDR_OK);
    verdict = verdict_of(schema, null);
    MUST(verdict.rc == PDR_OK && verdict.valid);
    if (kind != PDR_NULL && kind != PDR_ARRAY && kind != PDR_OBJECT) {
        verdict = verdict_of(schema, value);
        MUST(verdict.rc == plain.rc && verdict.valid == plain.valid);
    }
    pdr_schema_free(schema);
    pdr_value_free(null);
    pdr_value_free(yes);
    pdr_value_free(nullable);
}

/* `strict` is what a strict load gave, or NULL. */
static void check_lenient(const pdr_value *source, const pdr_value *value,
                          const pdr_schema *strict)
{
    size_t notes = 0;
    const pdr_schema_options options = {
        .lenient = true, .note = count_note, .note_arg = &notes};
    pdr_schema *schema = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_schema_new(&schema, source, &options, &err);

    MUST((strict != NULL) == (rc == PDR_OK && notes == 0));
    if (rc == PDR_OK) {
        struct verdict verdict = verdict_of(schema, value);

        if (strict != NULL) {
            struct verdict other = verdict_of(strict, value);

            MUST(verdict.rc == other.rc && verdict.valid == other.valid);
        }
        if (pdr_value_kind(source) == PDR_OBJECT)
            check_nullable(source, value, verdict);
    } else {
        MUST(rc == PDR_EINVALID || rc == PDR_ELIMIT);
        MUST(err.code == rc && err.message[0] != '\0');
    }
    pdr_schema_free(schema);
}

static void check_both(const pdr_value *source, const pdr_value *value)
{
    pdr_schema *schema = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_schema_new(&schema, source, NULL, &err);

    check_lenient(source, value, schema);
    if (rc == PDR_OK) {
        struct verdict plain = verdict_of(schema, value);
        struct verdict negated = verdict_with("not", source, value);

        /* References are from the root, so below `not` they may lead nowhere;
         * verdict_with() says LIMIT then. */
        if (plain.rc == PDR_OK && negated.rc == PDR_OK)
            MUST(plain.valid != negated.valid);
        check_again(schema, value, plain);
    } else {
        MUST(rc == PDR_EINVALID || rc == PDR_ELIMIT);
        MUST(err.code == rc && err.message[0] != '\0');
    }
    pdr_schema_free(schema);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const char *cut = size > 0 ? memchr(text, 0xFF, size) : NULL;
    pdr_value *source = NULL, *value = NULL;

    if (cut == NULL)
        return 0;
    size_t first = (size_t)(cut - text);
    if (pdr_json_read(&source, pdr_str_n(text, first), NULL, NULL) == PDR_OK &&
        pdr_json_read(&value, pdr_str_n(cut + 1, size - first - 1), NULL,
                      NULL) == PDR_OK) {
        check_both(source, value);
        check_equality(source, value);
    }
    pdr_value_free(value);
    pdr_value_free(source);
    return 0;
}
