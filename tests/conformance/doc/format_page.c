/*
 * format_page.c - docs/formats/state.md tells the truth: its examples are what
 * they are marked as, every member that we write has a place there, and every
 * reason stands in its table with its code.
 */
#include "json_text.h"
#include "state_trip.h"
#include "test.h"

#include "base.h"

#define PAGE "../../docs/formats/state.md"

static pdr_rc count_findings(const pdr_doc_finding *finding, pdr_err *err,
                             void *arg)
{
    (void)err;
    ++*(size_t *)arg;
    print_error("%s at %.*s\n", finding->rule, (int)finding->pointer.len,
                finding->pointer.ptr);
    return PDR_OK;
}

static void check_schema(const pdr_value *state, pdr_state_schema which)
{
    size_t findings = 0;

    ASSERT_RC(PDR_OK, pdr_state_check_structure(state, which, NULL,
                                                count_findings, &findings));
    ASSERT_SIZE(0, findings);
}

/* One example; `mark` is what stands behind "```state ". */
static void check_example(const char *mark, pdr_str text)
{
    struct roundtrip_report report = {""};
    pdr_value *state = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_state_read(&state, text, NULL, &err);

    if (strncmp(mark, "refused ", 8) == 0) {
        ASSERT(rc != PDR_OK);
        ASSERT_STR(mark + 8, err.reason);
        return;
    }
    if (rc != PDR_OK)
        fail_msg("%s: %s", mark, err.message);
    if (strcmp(mark, "made") == 0)
        check_schema(state, PDR_STATE_STRICT);
    else
        ASSERT_STR("read", mark);
    if (!state_check(&report, &state_ours, text))
        fail_msg("%s", report.text);
    pdr_value_free(state);
}

TEST(state_page, has_examples_that_hold)
{
    size_t len = 0, count = 0;
    char *page = test_read_data(PAGE, &len), *rest = page;

    for (char *at = NULL; (at = strstr(rest, "\n```state ")) != NULL; count++) {
        char *mark = at + 10, *text = strchr(mark, '\n') + 1;
        char *end = strstr(text, "\n```");
        assert_non_null(end);
        text[-1] = '\0';
        check_example(mark, pdr_str_n(text, (size_t)(end - text)));
        rest = end + 1;
    }
    ASSERT(count >= 11);
    free(page);
}

/* --- members -------------------------------------------------------------- */

static void check_name(const char *page, const pdr_value *name)
{
    pdr_str text = {NULL, 0};
    char wanted[100];

    ASSERT_RC(PDR_OK, pdr_value_text(&text, name, NULL, NULL));
    snprintf(wanted, sizeof(wanted), "`%.*s`", (int)text.len, text.ptr);
    if (strstr(page, wanted) == NULL)
        fail_msg("the page does not tell of %s", wanted);
}

/* Is every name that a schema has under "properties" on the page? What is in
 * "$defs" and in "properties" are names of others, not keywords. */
static void check_names(const char *page, const pdr_value *value,
                        bool is_schema)
{
    pdr_iter it, name;

    pdr_iter_init(&it, value);
    while (pdr_iter_next(&it)) {
        bool keyword = is_schema && it.name != NULL;
        bool properties =
            keyword && pdr_value_text_is(it.name, pdr_str_c("properties"));
        bool defs = keyword && pdr_value_text_is(it.name, pdr_str_c("$defs"));

        check_names(page, it.value, !properties && !defs);
        if (!properties)
            continue;
        pdr_iter_init(&name, it.value);
        while (pdr_iter_next(&name))
            check_name(page, name.name);
    }
}

TEST(state_page, tells_of_every_member_that_we_write)
{
    size_t len = 0;
    char *page = test_read_data(PAGE, &len);
    pdr_value *schema = NULL;

    ASSERT_RC(PDR_OK,
              pdr_json_read(&schema, pdr_state_schema_text(PDR_STATE_STRICT),
                            NULL, NULL));
    check_names(page, schema, true);
    pdr_value_free(schema);
    free(page);
}

TEST(state_page, lists_every_reason_with_its_code)
{
    static const enum pdr__reason listed[] = {
        PDR_R_STATE_NOT_JSON,
        PDR_R_SCHEMA_VERSION_MISSING,
        PDR_R_SCHEMA_VERSION_INVALID,
        PDR_R_SCHEMA_VERSION_UNSUPPORTED,
        PDR_R_DATA_MISSING,
        PDR_R_DATA_INVALID,
        PDR_R_WRONG_KIND,
        PDR_R_TOO_DEEP,
        PDR_R_TOO_LARGE,
    };
    size_t len = 0;
    char *page = test_read_data(PAGE, &len);

    for (size_t i = 0; i < PDR_COUNT(listed); i++) {
        char row[100];
        snprintf(row, sizeof(row), "\n| `%s` | %s |",
                 pdr__reason_slug(listed[i]),
                 pdr_rc_name(pdr__reason_rc(listed[i])));
        if (strstr(page, row) == NULL)
            fail_msg("the table has no row %s", row + 1);
    }
    free(page);
}
