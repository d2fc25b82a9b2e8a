/* The version gate: which texts are versions, and which documents pass. */
#include "test.h"
#include "values.h"

#include "base.h"

TEST(schema_version_read, takes_two_to_four_numbers)
{
    static const struct {
        const char *text;
        uint32_t parts[4];
        unsigned count;
    } cases[] = {
        {"1.0", {1, 0, 0, 0}, 2},
        {"1.1.0", {1, 1, 0, 0}, 3},
        {"01.002.0", {1, 2, 0, 0}, 3},
        {"1.99.99", {1, 99, 99, 0}, 3},
        {"1.2.3.4", {1, 2, 3, 4}, 4},
        {"2147483647.0", {2147483647, 0, 0, 0}, 2},
        {"1.0000000000000000000000000", {1, 0, 0, 0}, 2},
    };
    pdr_schema_version version;

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        ASSERT_RC(PDR_OK, pdr_schema_version_read(
                              &version, pdr_str_c(cases[i].text), NULL));
        ASSERT_INT(cases[i].count, version.count);
        for (size_t k = 0; k < 4; k++)
            ASSERT_INT(cases[i].parts[k], version.parts[k]);
    }
}

TEST(schema_version_read, refuses_everything_else)
{
    static const char *const texts[] = {"",
                                        "1",
                                        "hello",
                                        "v1.0.0",
                                        "1.2.0-beta",
                                        "1.",
                                        "1.0.",
                                        ".1",
                                        "1..0",
                                        "1.0.0.0.0",
                                        "1.0.0.0.",
                                        " 1.0.0",
                                        "1.0.0 ",
                                        "1. 0.0",
                                        "+1.0.0",
                                        "-1.0",
                                        "1,0",
                                        "1.0x",
                                        "2147483648.0",
                                        "1.2147483648",
                                        "99999999999999999999.0",
                                        "1.0\n"};
    pdr_schema_version version;

    for (size_t i = 0; i < PDR_COUNT(texts); i++) {
        pdr_err err = PDR_ERR_INIT;
        ASSERT_RC(PDR_EINVALID,
                  pdr_schema_version_read(&version, pdr_str_c(texts[i]), &err));
        ASSERT_STR("schema_version_invalid", err.reason);
    }
    ASSERT_RC(PDR_EINVALID,
              pdr_schema_version_read(&version, pdr_str_n("1.0\0", 4), NULL));
    ASSERT_RC(PDR_EINVALID,
              pdr_schema_version_read(&version, pdr_str_n(NULL, 0), NULL));
}

static int compare(const char *a, const char *b)
{
    pdr_schema_version x, y;

    ASSERT_RC(PDR_OK, pdr_schema_version_read(&x, pdr_str_c(a), NULL));
    ASSERT_RC(PDR_OK, pdr_schema_version_read(&y, pdr_str_c(b), NULL));
    return pdr_schema_version_compare(&x, &y);
}

TEST(schema_version_compare, goes_by_numbers_and_fills_up_with_zeros)
{
    ASSERT_INT(0, compare("1.1.0", "1.1"));
    ASSERT_INT(0, compare("1.0.0.0", "01.0"));
    ASSERT(compare("1.0.0", "1.1.0") < 0);
    ASSERT(compare("1.10.0", "1.9.9") > 0);
    ASSERT(compare("2.0", "1.99.99.99") > 0);
    ASSERT(compare("1.1.0.1", "1.1.0") > 0);
}

/* --- the gate ------------------------------------------------------------- */

static void check_gate(const char *json, pdr_rc rc, const char *reason,
                       const char *path)
{
    pdr_value *value = value_of(json);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(rc, pdr_state_gate(value, &err));
    if (rc != PDR_OK) {
        ASSERT_STR(reason, err.reason);
        ASSERT_STR(path, err.path);
        ASSERT(err.message[0] != '\0');
        ASSERT_RC(rc, pdr_state_gate(value, NULL));
    }
    ASSERT_JSON(json, value); /* it is as it was */
    pdr_value_free(value);
}

TEST(state_gate, says_what_is_wrong_and_where)
{
    check_gate("[]", PDR_EINVALID, "state_not_json", "");
    check_gate("null", PDR_EINVALID, "state_not_json", "");
    check_gate("\"{}\"", PDR_EINVALID, "state_not_json", "");
    check_gate("{}", PDR_EINVALID, "schema_version_missing", "");
    check_gate("{\"data\":{}}", PDR_EINVALID, "schema_version_missing", "");
    check_gate("{\"schemaversion\":\"1.1.0\",\"data\":{}}", PDR_EINVALID,
               "schema_version_missing", "");
    check_gate("{\"schemaVersion\":null,\"data\":{}}", PDR_EINVALID,
               "schema_version_invalid", "/schemaVersion");
    check_gate("{\"schemaVersion\":1.1,\"data\":{}}", PDR_EINVALID,
               "schema_version_invalid", "/schemaVersion");
    check_gate("{\"schemaVersion\":\"1.1.\\ud800\",\"data\":{}}", PDR_EINVALID,
               "schema_version_invalid", "/schemaVersion");
    check_gate("{\"schemaVersion\":\"2.0.0\",\"data\":{}}", PDR_EVERSION,
               "schema_version_unsupported", "/schemaVersion");
    check_gate("{\"schemaVersion\":\"0.9.0\"}", PDR_EVERSION,
               "schema_version_unsupported", "/schemaVersion");
    check_gate("{\"schemaVersion\":\"1.1.0\"}", PDR_EINVALID, "data_missing",
               "");
    check_gate("{\"schemaVersion\":\"1.1.0\",\"data\":[]}", PDR_EINVALID,
               "data_invalid", "/data");
    check_gate("{\"schemaVersion\":\"1.1.0\",\"data\":\"\"}", PDR_EINVALID,
               "data_invalid", "/data");
    check_gate("{\"schemaVersion\":\"1.1.0\",\"data\":null}", PDR_OK, "", "");
    check_gate("{\"schemaVersion\":\"1.0\",\"data\":{}}", PDR_OK, "", "");
    check_gate("{\"data\":{},\"schemaVersion\":\"\\u0031.7\"}", PDR_OK, "", "");
}

TEST(state_gate, refuses_a_version_longer_than_any_can_be)
{
    char json[700] = "{\"schemaVersion\":\"1.";
    pdr_err err = PDR_ERR_INIT;

    memset(json + strlen(json), '0', 500);
    memcpy(json + strlen(json), "\",\"data\":{}}", 13);
    pdr_value *value = value_of(json);
    ASSERT_RC(PDR_EINVALID, pdr_state_gate(value, &err));
    ASSERT_STR("schema_version_invalid", err.reason);
    pdr_value_free(value);
}

TEST(state_gate, goes_by_the_last_of_several_versions)
{
    check_gate("{\"schemaVersion\":\"2.0\",\"schemaVersion\":\"1.0\","
               "\"data\":{}}",
               PDR_OK, "", "");
    check_gate("{\"schemaVersion\":\"1.0\",\"schemaVersion\":\"2.0\","
               "\"data\":{}}",
               PDR_EVERSION, "schema_version_unsupported", "/schemaVersion");
}

TEST(state_version, gives_the_numbers_also_without_data)
{
    pdr_value *value = value_of("{\"schemaVersion\":\"1.7.3\"}");
    pdr_schema_version version;

    ASSERT_RC(PDR_OK, pdr_state_version(&version, value, NULL));
    ASSERT_INT(7, version.parts[1]);
    ASSERT_INT(3, version.parts[2]);
    ASSERT_INT(3, version.count);
    pdr_value_free(value);
    value = value_of("{\"schemaVersion\":\"1.1.0\"}");
    ASSERT_RC(PDR_OK, pdr_state_version(&version, value, NULL));
    ASSERT_INT(1, version.parts[1]);
    ASSERT_INT(3, version.count);
    pdr_value_free(value);
}

TEST_OOM(state_gate, needs_no_memory)
{
    pdr_value *value = NULL;
    size_t before = 0;

    if (pdr_json_read(
            &value, pdr_str_c("{\"schemaVersion\":\"\\u0031.1\",\"data\":{}}"),
            NULL, NULL) != PDR_OK)
        return;
    before = test_allocations();
    ASSERT_RC(PDR_OK, pdr_state_gate(value, NULL));
    ASSERT_SIZE(before, test_allocations());
    pdr_value_free(value);
}
