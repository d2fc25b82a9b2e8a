/*
 * jsonschema_cases.c - every case of tests/data/jsonschema has its verdict.
 *
 * A file has a list of {description, schema, tests: [{description, data,
 * valid}]}; refused/schemas.json has schemas that are not loaded, with reason
 * and path; jsonschema_dialects.c reads dialects/. `make interop` compares the
 * same files with another validator.
 */
#include "corpus.h"
#include "test.h"

#include "jsonschema.h"

/* What the walk over the files counts. */
static size_t case_count;

static pdr_value *read_list(const char *path, pdr_str content)
{
    pdr_value *list = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_json_read(&list, content, NULL, &err) != PDR_OK)
        corpus_complain(path, "read", "%s", err.message);
    return list;
}

static const char *text_of(const pdr_value *string, pdr_buf *scratch)
{
    pdr_str text = {NULL, 0};

    ASSERT_RC(PDR_OK, pdr_value_text(&text, string, scratch, NULL));
    pdr_buf copy = PDR_BUF_INIT(10000);
    ASSERT_RC(PDR_OK, pdr_buf_append(&copy, text, NULL));
    ASSERT_RC(PDR_OK, pdr_buf_append(&copy, pdr_str_n("", 1), NULL));
    pdr_buf_dispose(scratch);
    *scratch = copy;
    return copy.ptr;
}

static pdr_rc count_finding(const pdr_schema_finding *finding, pdr_err *err,
                            void *arg)
{
    size_t *count = arg;

    (void)err;
    ASSERT(finding->keyword[0] != '\0');
    ASSERT(finding->text.len > 0);
    ASSERT(finding->value != NULL);
    (*count)++;
    return PDR_OK;
}

static void check_one(const char *path, const char *of,
                      const pdr_schema *schema, const pdr_value *row)
{
    const pdr_value *data = pdr_value_get_c(row, "data");
    pdr_buf scratch = PDR_BUF_INIT(10000);
    const char *name = text_of(pdr_value_get_c(row, "description"), &scratch);
    bool expected = false, quiet = false, loud = false;
    size_t findings = 0;

    ASSERT_RC(PDR_OK,
              pdr_value_bool(&expected, pdr_value_get_c(row, "valid"), NULL));
    ASSERT_RC(PDR_OK, pdr_schema_check(&quiet, schema, data, NULL, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_schema_check(&loud, schema, data, NULL, count_finding,
                                       &findings));
    if (quiet != expected)
        corpus_complain(path, of, "%s: should be %s", name,
                        expected ? "valid" : "invalid");
    if (loud != quiet || (findings == 0) != loud)
        corpus_complain(path, of, "%s: another verdict with findings", name);
    case_count++;
    pdr_buf_dispose(&scratch);
}

static void check_file(const char *path, pdr_str content)
{
    pdr_value *list = NULL;
    pdr_iter group, row;

    if (strstr(path, "/refused/") != NULL || strstr(path, "/dialects/") != NULL)
        return; /* of another form */
    list = read_list(path, content);
    pdr_iter_init(&group, list);
    while (pdr_iter_next(&group)) {
        pdr_buf scratch = PDR_BUF_INIT(10000);
        const char *of =
            text_of(pdr_value_get_c(group.value, "description"), &scratch);
        pdr_schema *schema = NULL;
        pdr_err err = PDR_ERR_INIT;

        if (pdr_schema_new(&schema, pdr_value_get_c(group.value, "schema"),
                           NULL, &err) != PDR_OK)
            corpus_complain(path, of, "refused: %s", err.message);
        pdr_iter_init(&row, pdr_value_get_c(group.value, "tests"));
        while (schema != NULL && pdr_iter_next(&row))
            check_one(path, of, schema, row.value);
        pdr_schema_free(schema);
        pdr_buf_dispose(&scratch);
    }
    pdr_value_free(list);
}

TEST(schema_check, gives_the_verdict_of_every_case)
{
    case_count = 0;
    ASSERT(corpus_each_file("jsonschema", ".json", check_file) > 30);
    corpus_assert_no_complaint();
    ASSERT(case_count > 350);
}

static void refuse_one(const pdr_value *row, size_t index)
{
    pdr_buf scratch = PDR_BUF_INIT(10000), place = PDR_BUF_INIT(10000);
    const char *reason = text_of(pdr_value_get_c(row, "reason"), &scratch);
    const char *path = text_of(pdr_value_get_c(row, "path"), &place);
    pdr_schema *schema = NULL;
    pdr_err err = PDR_ERR_INIT;
    char number[32];

    snprintf(number, sizeof(number), "schema %zu", index);
    pdr_rc rc =
        pdr_schema_new(&schema, pdr_value_get_c(row, "schema"), NULL, &err);
    if (rc != PDR_EINVALID || schema != NULL)
        corpus_complain("refused", number, "%s", pdr_rc_name(rc));
    else if (strcmp(reason, err.reason) != 0 || strcmp(path, err.path) != 0)
        corpus_complain("refused", number, "%s at '%s', not %s at '%s'",
                        err.reason, err.path, reason, path);
    pdr_schema_free(schema);
    pdr_buf_dispose(&scratch);
    pdr_buf_dispose(&place);
}

TEST(schema_new, refuses_every_bad_schema_with_reason_and_path)
{
    size_t len = 0;
    char *text = test_read_data("jsonschema/refused/schemas.json", &len);
    pdr_value *list = read_list("refused", pdr_str_n(text, len));
    pdr_iter it;

    pdr_iter_init(&it, list);
    while (pdr_iter_next(&it))
        refuse_one(it.value, it.index);
    corpus_assert_no_complaint();
    ASSERT(pdr_value_count(list) > 100);
    pdr_value_free(list);
    free(text);
}

/* Rows of keywords in a part of the page; each of the keywords has one. */
static size_t count_rows(const char *part, size_t first, size_t end)
{
    size_t rows = 0;

    for (size_t i = first; i < end; i++) {
        char row[64];

        snprintf(row, sizeof(row), "\n| `%s`", pdr__keyword_names[i]);
        if (strstr(part, row) == NULL)
            fail_msg("no row for %s", pdr__keyword_names[i]);
    }
    for (const char *at = part; (at = strstr(at, "\n| `")) != NULL; at++)
        rows++;
    return rows;
}

TEST(format_page, has_a_row_for_each_keyword_and_no_other)
{
    size_t len = 0;
    char *page = test_read_data("../../docs/formats/jsonschema.md", &len);
    char *end = strstr(page, "\nNot there: ");
    char *other = strstr(page, "\n## Schemas of other programs");

    ASSERT(end != NULL && other != NULL && end < other);
    *end = '\0';
    ASSERT_SIZE(KW_STRICT_COUNT, count_rows(page, 0, KW_STRICT_COUNT));
    (void)count_rows(other, KW_STRICT_COUNT, KW_COUNT);
    free(page);
}
