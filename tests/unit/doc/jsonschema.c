/* JSON Schema: what is told about a value that does not match. Verdicts alone
 * are in tests/conformance/doc/jsonschema_cases.c. */
#include "test.h"

#include "base.h"

static pdr_value *json(const char *text)
{
    pdr_value *value = NULL;
    pdr_read_opts opts = {.flags = PDR_BARE_TOKENS, .max_depth = PDR_MAX_DEPTH};

    ASSERT_RC(PDR_OK, pdr_json_read(&value, pdr_str_c(text), &opts, NULL));
    return value;
}

static pdr_schema *load(const char *text)
{
    pdr_value *source = json(text);
    pdr_schema *schema = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_schema_new(&schema, source, NULL, &err) != PDR_OK)
        fail_msg("%s", err.message);
    pdr_value_free(source);
    return schema;
}

static pdr_rc write_finding(const pdr_schema_finding *finding, pdr_err *err,
                            void *arg)
{
    pdr_buf *out = arg;

    ASSERT(finding->value != NULL);
    return pdr_buf_printf(
        out, err, "%.*s|%s|%.*s|%.*s\n", (int)finding->instance.len,
        finding->instance.ptr, finding->keyword, (int)finding->schema.len,
        finding->schema.ptr, (int)finding->text.len, finding->text.ptr);
}

/* All findings must be these lines: pointer|keyword|pointer|text. */
static void assert_findings(const char *expected, const char *schema_text,
                            const char *value_text)
{
    pdr_schema *schema = load(schema_text);
    pdr_value *value = json(value_text);
    pdr_buf lines = PDR_BUF_INIT(10000);
    bool valid = true;

    ASSERT_RC(PDR_OK, pdr_schema_check(&valid, schema, value, NULL,
                                       write_finding, &lines));
    ASSERT_TEXT(expected, pdr_buf_str(&lines));
    ASSERT(valid == (lines.len == 0));
    ASSERT_RC(PDR_OK,
              pdr_schema_check(&valid, schema, value, NULL, NULL, NULL));
    ASSERT(valid == (lines.len == 0));
    pdr_buf_dispose(&lines);
    pdr_value_free(value);
    pdr_schema_free(schema);
}

static bool matches(const char *schema_text, const char *value_text)
{
    pdr_schema *schema = load(schema_text);
    pdr_value *value = json(value_text);
    bool valid = false;

    ASSERT_RC(PDR_OK,
              pdr_schema_check(&valid, schema, value, NULL, NULL, NULL));
    pdr_value_free(value);
    pdr_schema_free(schema);
    return valid;
}

/* --- what is told -------------------------------------------------------- */

/* Long on purpose: a row per keyword. */
TEST(schema_findings, say_what_is_wrong_and_what_to_do)
{
    static const char *const rows[][3] = {
        {"{\"type\":\"string\"}", "1",
         "|type|/type|this is number, where a string must stand: change it\n"},
        {"{\"type\":[\"null\",\"integer\",\"array\"]}", "1.5",
         "|type|/type|this is a number with a fraction, where null or an "
         "integer or an array must stand: change it\n"},
        {"{\"type\":[\"boolean\",\"number\",\"object\"]}", "[]",
         "|type|/type|this is array, where a boolean or a number or an object "
         "must stand: change it\n"},
        {"{\"enum\":[1,2]}", "3",
         "|enum|/enum|none of the 2 values that may stand here: use one of "
         "[1,2]\n"},
        {"{\"const\":\"a\"}", "3", "|const|/const|only \"a\" may stand here\n"},
        {"{\"minimum\":2.50}", "2",
         "|minimum|/minimum|the number must be at least 2.50\n"},
        {"{\"maximum\":2}", "3",
         "|maximum|/maximum|the number must be at most 2\n"},
        {"{\"exclusiveMinimum\":2}", "2",
         "|exclusiveMinimum|/exclusiveMinimum|the number must be above 2\n"},
        {"{\"exclusiveMaximum\":2}", "2",
         "|exclusiveMaximum|/exclusiveMaximum|the number must be below 2\n"},
        {"{\"multipleOf\":0.10}", "0.25",
         "|multipleOf|/multipleOf|the number must be a multiple of 1e-1\n"},
        {"{\"minLength\":2}", "\"\\u00e9\"",
         "|minLength|/minLength|1 characters, where there must be at least 2\n"},
        {"{\"maxLength\":1}", "\"abc\"",
         "|maxLength|/maxLength|3 characters, where there must be at most 1\n"},
        {"{\"minItems\":2}", "[1]",
         "|minItems|/minItems|1 elements, where there must be at least 2\n"},
        {"{\"maxItems\":0}", "[1]",
         "|maxItems|/maxItems|1 elements, where there must be at most 0\n"},
        {"{\"minProperties\":1}", "{}",
         "|minProperties|/minProperties|0 members, where there must be at "
         "least 1\n"},
        {"{\"maxProperties\":1}", "{\"a\":1,\"b\":2}",
         "|maxProperties|/maxProperties|2 members, where there must be at most "
         "1\n"},
        {"{\"pattern\":\"^a\"}", "\"b\"",
         "|pattern|/pattern|the text does not match the pattern ^a\n"},
        {"{\"pattern\":\"^\\u0061\\n*$\"}", "\"b\"",
         "|pattern|/pattern|the text does not match the pattern ^a?*$\n"},
        {"{\"enum\":[\"0123456789\",\"0123456789\",{\"a\":\"0123456789\"},"
         "\"0123456789\",7]}",
         "3",
         "|enum|/enum|none of the 5 values that may stand here: use one of "
         "[\"0123456789\",\"0123456789\",{\"a\":\"0123456789\"},\"0123456789\",7...\n"},
        {"{\"uniqueItems\":true}", "[0,5,5.0]",
         "|uniqueItems|/uniqueItems|elements 1 and 2 are equal: remove one\n"},
        {"{\"contains\":{\"const\":1}}", "[2]",
         "|contains|/contains|0 of the elements match, where at least 1 "
         "must\n"},
        {"{\"contains\":true,\"minContains\":3}", "[2]",
         "|minContains|/minContains|1 of the elements match, where at least 3 "
         "must\n"},
        {"{\"contains\":true,\"maxContains\":1}", "[2,2]",
         "|maxContains|/maxContains|2 of the elements match, where at most 1 "
         "must\n"},
        {"{\"required\":[\"a\",\"b\"]}", "{}",
         "|required|/required|the member 'a' is missing: add it\n"
         "|required|/required|the member 'b' is missing: add it\n"},
        {"{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"a\":1}",
         "|dependentRequired|/dependentRequired|the member 'b' is missing: add "
         "it\n"},
        {"{\"anyOf\":[false,{\"type\":\"null\"}]}", "1",
         "|anyOf|/anyOf|none of the 2 alternatives matches: make it match "
         "one\n"},
        {"{\"oneOf\":[false]}", "1",
         "|oneOf|/oneOf|none of the 1 alternatives matches: make it match "
         "one\n"},
        {"{\"oneOf\":[true,true,{}]}", "1",
         "|oneOf|/oneOf|more than one of the alternatives matches, where only "
         "one may\n"},
        {"{\"not\":{}}", "1",
         "|not|/not|the value matches what it must not match: {}\n"},
        {"{\"not\":{\"not\": {\"type\":\"null\"}}}", "null", ""},
        {"{\"not\":{\"required\":[\"a\"]}}", "{\"a\":1}",
         "|not|/not|the value matches what it must not match: "
         "{\"required\":[\"a\"]}\n"},
        {"{\"additionalProperties\":false}", "{\"a\":1}",
         "/a|additionalProperties|/additionalProperties|nothing may stand "
         "here: remove it\n"},
        {"false", "1", "|false||nothing may stand here: remove it\n"},
        {"true", "1", ""},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++)
        assert_findings(rows[i][2], rows[i][0], rows[i][1]);
}

TEST(schema_findings, point_into_the_value_and_by_way_of_refs_into_the_schema)
{
    assert_findings(
        "/a~1b/0/c|type|/properties/a~1b/$ref/items/properties/c/type|this is "
        "number, where null must stand: change it\n",
        "{\"properties\":{\"a/b\":{\"$ref\":\"#/$defs/l\"}},\"$defs\":{\"l\":"
        "{\"items\":{\"properties\":{\"c\":{\"type\":\"null\"}}}}}}",
        "{\"a/b\":[{\"c\":1}]}");
    assert_findings(
        "/1|const|/prefixItems/1/allOf/1/const|only 2 may stand here\n"
        "/2|items|/items|nothing may stand here: remove it\n",
        "{\"prefixItems\":[true,{\"allOf\":[true,{\"const\":2}]}],"
        "\"items\":false}",
        "[0,1,2]");
    assert_findings(
        "/x-1|minimum|/patternProperties/^x-/minimum|the number must be at "
        "least 5\n",
        "{\"patternProperties\":{\"^x-\":{\"minimum\":5}}}",
        "{\"x-1\":3,\"y\":1}");
    assert_findings("/y|type|/then/additionalProperties/type|this is number, "
                    "where null must stand: change it\n",
                    "{\"if\":true,\"then\":{\"additionalProperties\":{"
                    "\"type\":\"null\"}},\"else\":false}",
                    "{\"y\":1}");
    assert_findings("|else|/else|nothing may stand here: remove it\n",
                    "{\"if\":false,\"then\":true,\"else\":false}", "1");
    assert_findings("|type|/dependentSchemas/a/type|this is object, where null "
                    "must stand: change it\n",
                    "{\"dependentSchemas\":{\"b\":false,\"a\":{\"type\":"
                    "\"null\"}}}",
                    "{\"a\":1}");
    /* Of a name, the member is named. */
    assert_findings("/ab|maxLength|/propertyNames/maxLength|2 characters, "
                    "where there must be at most 1\n",
                    "{\"propertyNames\":{\"maxLength\":1}}",
                    "{\"ab\":1,\"c\":1}");
}

TEST(schema_findings, come_in_the_order_of_the_document)
{
    assert_findings(
        "|required|/required|the member 'z' is missing: add it\n"
        "/b|const|/properties/b/const|only 2 may stand here\n"
        "/q|additionalProperties|/additionalProperties|nothing may stand here: "
        "remove it\n"
        "/a|const|/properties/a/const|only 1 may stand here\n",
        "{\"properties\":{\"a\":{\"const\":1},\"b\":{\"const\":2},\"z\":true},"
        "\"required\":[\"z\"],\"additionalProperties\":false}",
        "{\"b\":0,\"q\":0,\"a\":0}");
}

static pdr_rc stop_at_second(const pdr_schema_finding *finding, pdr_err *err,
                             void *arg)
{
    int *count = arg;

    (void)finding;
    if (++*count < 2)
        return PDR_OK;
    return pdr_err_set(err, PDR_ECANCELLED, "enough", "%s", "two are enough");
}

TEST(schema_check, ends_with_what_the_callback_returns)
{
    pdr_schema *schema = load("{\"items\":false}");
    pdr_value *value = json("[1,2,3]");
    pdr_err err = PDR_ERR_INIT;
    int count = 0;
    bool valid = true;

    ASSERT_RC(PDR_ECANCELLED, pdr_schema_check(&valid, schema, value, &err,
                                               stop_at_second, &count));
    ASSERT_INT(2, count);
    ASSERT_STR("enough", err.reason);
    ASSERT(!valid);
    pdr_value_free(value);
    pdr_schema_free(schema);
}

/* --- values that are special --------------------------------------------- */

TEST(schema_check, takes_half_a_surrogate_pair_as_one_character)
{
    ASSERT(matches("{\"minLength\":1,\"maxLength\":1}", "\"\\ud800\""));
    ASSERT(matches("{\"maxLength\":3}", "\"a\\udc00b\""));
    ASSERT(!matches("{\"maxLength\":2}", "\"a\\udc00b\""));
    ASSERT(matches("{\"pattern\":\"^a.b$\"}", "\"a\\udc00b\""));
    ASSERT(matches("{\"pattern\":\"^..$\"}", "\"\\ud800\\ud800\""));
    ASSERT(matches("{\"pattern\":\"^\\\\uFFFD$\"}", "\"\\udfff\""));
    ASSERT(!matches("{\"pattern\":\"[a-z]\"}", "\"\\udfff\""));
    ASSERT(matches("{\"enum\":[\"\\ud800\"]}", "\"\\uD800\""));
    ASSERT(!matches("{\"enum\":[\"\\ud800\"]}", "\"\\ufffd\""));
    ASSERT(!matches("{\"uniqueItems\":true}", "[\"\\ud800\",\"\\uD800\"]"));
    ASSERT(!matches("{\"properties\":{\"\\ud800\":false}}", "{\"\\uD800\":1}"));
    ASSERT(matches("{\"required\":[\"\\ud800\"]}", "{\"\\uD800\":1}"));
    ASSERT(
        matches("{\"patternProperties\":{\"^a\":false}}", "{\"\\ud800\":1}"));
    assert_findings("/\xED\xA0\x80|additionalProperties|/additionalProperties|"
                    "nothing may stand here: remove it\n",
                    "{\"additionalProperties\":false}", "{\"\\ud800\":1}");
}

TEST(schema_check, compares_numbers_exactly_however_they_are_spelled)
{
    ASSERT(matches("{\"multipleOf\":0.1}", "0.3"));
    ASSERT(matches("{\"multipleOf\":0.01}", "4.35"));
    ASSERT(matches("{\"multipleOf\":0.01}", "1e1000000000"));
    ASSERT(!matches("{\"multipleOf\":0.01}", "1e-1000000000"));
    ASSERT(!matches("{\"multipleOf\":3}", "1e1000000000"));
    ASSERT(matches("{\"multipleOf\":3}", "3e99999999999999999999"));
    ASSERT(matches("{\"multipleOf\":1844674407370955161e-1}",
                   "1844674407370955161"));
    ASSERT(matches("{\"multipleOf\":9999999999999999999}",
                   "99999999999999999990000000000000000000"));
    ASSERT(!matches("{\"multipleOf\":9999999999999999999}",
                    "99999999999999999990000000000000000001"));
    ASSERT(matches("{\"multipleOf\":7}", "0.0e5"));
    ASSERT(matches("{\"multipleOf\":1e-5}", "-12.00345"));
    ASSERT(!matches("{\"multipleOf\":1e-4}", "-12.00345"));
    ASSERT(matches("{\"type\":\"integer\"}", "1e99999999999999999999"));
    ASSERT(!matches("{\"type\":\"integer\"}", "1e-99999999999999999999"));
    ASSERT(matches("{\"maximum\":1e99999999999999999999}",
                   "9e99999999999999999998"));
    ASSERT(!matches("{\"maximum\":1e99999999999999999998}",
                    "1e99999999999999999999"));
    ASSERT(matches("{\"const\":1e99999999999999999999}",
                   "10e99999999999999999998"));
    ASSERT(matches("{\"maxLength\":1e30}", "\"abc\""));
    ASSERT(!matches("{\"minLength\":18446744073709551616}", "\"abc\""));
    ASSERT(!matches("{\"uniqueItems\":true}",
                    "[1e99999999999999999999,10e99999999999999999998]"));
    ASSERT(matches("{\"uniqueItems\":true}",
                   "[1e99999999999999999999,1e99999999999999999998,"
                   "12345678901234567890123,12345678901234567890124,"
                   "-12345678901234567890124]"));
}

TEST(schema_check, takes_nan_for_a_number_that_keeps_no_bound)
{
    ASSERT(matches("{\"type\":\"number\"}", "NaN"));
    ASSERT(!matches("{\"type\":\"integer\"}", "Infinity"));
    ASSERT(!matches("{\"minimum\":0}", "NaN"));
    ASSERT(!matches("{\"maximum\":0}", "NaN"));
    ASSERT(matches("{\"minimum\":0}", "Infinity"));
    ASSERT(!matches("{\"multipleOf\":1}", "Infinity"));
    ASSERT(!matches("{\"uniqueItems\":true}", "[NaN,NaN]"));
    ASSERT(!matches("{\"enum\":[1,2]}", "NaN"));
}

TEST(schema_new, refuses_nan_as_a_bound)
{
    static const char *const texts[] = {
        "{\"minimum\":NaN}", "{\"multipleOf\":Infinity}", "{\"minItems\":NaN}"};

    for (size_t i = 0; i < PDR_COUNT(texts); i++) {
        pdr_value *source = json(texts[i]);
        pdr_schema *schema = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID, pdr_schema_new(&schema, source, NULL, &err));
        ASSERT_STR("bad_schema", err.reason);
        pdr_value_free(source);
    }
}

/* The whole list of refusals is in tests/data/jsonschema/refused. */
TEST(schema_new, says_why_and_where_a_schema_is_refused)
{
    static const char *const rows[][4] = {
        {"{\"items\":{\"tpye\":\"string\"}}", "unknown_keyword", "/items/tpye",
         "'tpye' is no keyword that is checked here: remove it, or see the "
         "format page jsonschema.md for those that are"},
        {"{\"items\":{\"minItems\":-1}}", "bad_schema", "/items/minItems",
         "minItems of a schema must be an integer of 0 or more"},
        {"{\"$ref\":\"http://x/y\"}", "no_definition", "/$ref",
         "a reference begins with '#': nothing outside of this schema is "
         "looked up"},
        {"{\"allOf\":[{\"$ref\":\"#\"}]}", "no_definition", "/allOf/0/$ref",
         "this reference leads back to itself without going down in the "
         "value"},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_value *source = json(rows[i][0]);
        pdr_schema *schema = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EINVALID, pdr_schema_new(&schema, source, NULL, &err));
        ASSERT(schema == NULL);
        ASSERT_STR(rows[i][1], err.reason);
        ASSERT_STR(rows[i][2], err.path);
        ASSERT_STR(rows[i][3], err.message);
        pdr_value_free(source);
    }
}

TEST(schema_new, keeps_nothing_of_what_it_was_given)
{
    pdr_value *source = json("{\"type\": \"string\"}");
    pdr_value *limit = json("2"), *value = json("\"abc\"");
    pdr_schema *schema = NULL;
    bool valid = true;

    ASSERT_RC(PDR_OK,
              pdr_value_set(&source, PDR_LIT("maxLength"), limit, NULL));
    ASSERT_RC(PDR_OK, pdr_schema_new(&schema, source, NULL, NULL));
    pdr_value_free(source);
    pdr_value_free(limit);
    ASSERT_RC(PDR_OK,
              pdr_schema_check(&valid, schema, value, NULL, NULL, NULL));
    ASSERT(!valid);
    pdr_value_free(value);
    pdr_schema_free(schema);
    pdr_schema_free(NULL);
}

TEST(schema_check, sees_what_was_changed_in_a_value)
{
    pdr_schema *schema = load("{\"properties\":{\"a\":{\"items\":{\"type\":"
                              "\"integer\"},\"uniqueItems\":true}}}");
    pdr_value *value = json("{\"a\":[1,2]}"), *three = json("3");
    bool valid = false;

    ASSERT_RC(PDR_OK, pdr_pointer_set(&value, PDR_LIT("/a/-"), three, NULL));
    ASSERT_RC(PDR_OK,
              pdr_schema_check(&valid, schema, value, NULL, NULL, NULL));
    ASSERT(valid);
    ASSERT_RC(PDR_OK, pdr_pointer_set(&value, PDR_LIT("/a/0"), three, NULL));
    ASSERT_RC(PDR_OK,
              pdr_schema_check(&valid, schema, value, NULL, NULL, NULL));
    ASSERT(!valid);
    pdr_value_free(three);
    pdr_value_free(value);
    pdr_schema_free(schema);
}

TEST(schema_check, sees_only_the_last_of_a_name_in_a_changed_object)
{
    pdr_schema *schema = load("{\"maxProperties\":1,\"additionalProperties\":"
                              "{\"const\":5}}");
    pdr_value *value = json("{\"a\":3,\"a\":4}"), *five = json("5");
    bool valid = false;

    ASSERT_RC(PDR_OK, pdr_value_set(&value, PDR_LIT("a"), five, NULL));
    ASSERT_RC(PDR_OK,
              pdr_schema_check(&valid, schema, value, NULL, NULL, NULL));
    ASSERT(valid);
    ASSERT_RC(PDR_OK, pdr_value_set(&value, PDR_LIT("b"), five, NULL));
    ASSERT_RC(PDR_OK,
              pdr_schema_check(&valid, schema, value, NULL, NULL, NULL));
    ASSERT(!valid);
    pdr_value_free(five);
    pdr_value_free(value);
    pdr_schema_free(schema);
}

/* --- lenient loads: rows for each keyword are in jsonschema_dialects.c ---- */

static pdr_rc write_note(const pdr_schema_note *note, pdr_err *err, void *arg)
{
    static const char *const kinds[] = {"annotation", "unchecked", "reread"};

    return pdr_buf_printf(arg, err, "%s|%.*s|%.*s|%.*s\n", kinds[note->kind],
                          (int)note->keyword.len, note->keyword.ptr,
                          (int)note->pointer.len, note->pointer.ptr,
                          (int)note->text.len, note->text.ptr);
}

/* Long on purpose: a row per text. */
TEST(schema_notes, say_what_becomes_of_a_keyword_and_where)
{
    static const char *const rows[][2] = {
        {"{\"items\":{\"x\":1}}",
         "annotation|x|/items/x|unknown keyword: it has no effect\n"},
        {"{\"title\":null}", "annotation|title|/title|a value of an unusual "
                             "type: it has no effect\n"},
        {"{\"nullable\":false}",
         "annotation|nullable|/nullable|it has no effect\n"},
        {"{\"nullable\":true}", "reread|nullable|/nullable|null matches this "
                                "schema, whatever else it says\n"},
        {"{\"definitions\":{\"a\":{\"definitions\":{}}}}",
         "reread|definitions|/definitions|read as $defs\n"
         "reread|definitions|/definitions/a/definitions|read as $defs\n"},
        {"{\"$schema\":\"\"}",
         "reread|$schema|/$schema|read as draft 2020-12\n"},
        {"{\"not\":{\"$id\":\"a\"}}",
         "reread|$id|/not/$id|references still start at the root of the "
         "document\n"},
        {"{\"items\":[]}",
         "unchecked|items|/items|a list of schemas is not checked: rename it "
         "to prefixItems\n"},
        {"{\"exclusiveMinimum\":false}",
         "unchecked|exclusiveMinimum|/exclusiveMinimum|a boolean is not "
         "checked: write the bound itself\n"},
        {"{\"exclusiveMaximum\":true}",
         "unchecked|exclusiveMaximum|/exclusiveMaximum|a boolean is not "
         "checked: write the bound itself\n"},
        {"{\"additionalItems\":{}}",
         "unchecked|additionalItems|/additionalItems|not checked: use items "
         "beside prefixItems\n"},
        {"{\"dependencies\":{}}",
         "unchecked|dependencies|/dependencies|not checked: use "
         "dependentRequired or dependentSchemas\n"},
        {"{\"$dynamicRef\":7}",
         "unchecked|$dynamicRef|/$dynamicRef|not checked\n"},
        /* However the name is spelled, and whatever it is. */
        {"{\"null\\u0061ble\":true,\"\":1,\"a~\\/\\ud800\":1}",
         "reread|nullable|/nullable|null matches this schema, whatever else it "
         "says\n"
         "annotation||/|unknown keyword: it has no effect\n"
         "annotation|a~/\xED\xA0\x80|/a~0~1\xED\xA0\x80|unknown keyword: it "
         "has no effect\n"},
        {"{\"$schema\":\"https://json-schema.org/draft/2020-12/schema#\"}", ""},
        {"true", ""},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_buf lines = PDR_BUF_INIT(10000);
        pdr_schema_options options = {
            .lenient = true, .note = write_note, .note_arg = &lines};
        pdr_value *source = json(rows[i][0]);
        pdr_schema *schema = NULL;

        ASSERT_RC(PDR_OK, pdr_schema_new(&schema, source, &options, NULL));
        ASSERT_TEXT(rows[i][1], pdr_buf_str(&lines));
        pdr_schema_free(schema);
        pdr_value_free(source);
        pdr_buf_dispose(&lines);
    }
}

static pdr_rc stop_at_second_note(const pdr_schema_note *note, pdr_err *err,
                                  void *arg)
{
    int *count = arg;

    (void)note;
    if (++*count < 2)
        return PDR_OK;
    return pdr_err_set(err, PDR_ECANCELLED, "enough", "%s", "two are enough");
}

/* In every place that reports. */
TEST(schema_new, ends_with_what_the_note_callback_returns)
{
    static const char *const texts[] = {
        "{\"x\":1,\"y\":1,\"z\":1}",
        "{\"x\":1,\"title\":1,\"z\":1}",
        "{\"x\":1,\"items\":[],\"z\":1}",
        "{\"x\":1,\"not\":{\"$schema\":\"a\"},\"z\":1}",
        "{\"x\":1,\"not\":{\"$id\":\"a\"},\"z\":1}",
        "{\"x\":1,\"definitions\":{\"a\":{\"z\":1}}}",
        "{\"x\":1,\"nullable\":true,\"z\":1}",
        "{\"x\":1,\"nullable\":false,\"z\":1}",
    };

    for (size_t i = 0; i < PDR_COUNT(texts); i++) {
        int count = 0;
        pdr_schema_options options = {
            .lenient = true, .note = stop_at_second_note, .note_arg = &count};
        pdr_value *source = json(texts[i]);
        pdr_schema *schema = NULL;
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_ECANCELLED,
                  pdr_schema_new(&schema, source, &options, &err));
        ASSERT(schema == NULL);
        ASSERT_INT(2, count);
        ASSERT_STR("enough", err.reason);
        pdr_value_free(source);
    }
}

TEST(schema_new, says_how_to_mend_a_reference_into_what_is_not_read)
{
    pdr_schema_options options = {.lenient = true};
    pdr_value *source = json("{\"x\":{\"a\":{}},\"$ref\":\"#/x/a\"}");
    pdr_schema *schema = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID, pdr_schema_new(&schema, source, &options, &err));
    ASSERT_STR("no_definition", err.reason);
    ASSERT_STR("this leads to a value that is not read as a schema: move it to "
               "$defs",
               err.message);
    pdr_value_free(source);
}

/* --- allocation failures ------------------------------------------------- */

/* Has everything that needs memory: escapes, patterns, refs, anchors, lists. */
/* clang-format off */
#define LARGE_SCHEMA                                                         \
    "{\"$defs\":{\"a\\n\":{\"$anchor\":\"x\",\"pattern\":\"^a(b|c)\"}},"     \
    "\"properties\":{\"k\\u0041\":{\"$ref\":\"#x\"},"                        \
    "\"l\":{\"uniqueItems\":true},\"m\":{\"$ref\":\"#/$defs/a%0A\"},"        \
    "\"n\":{\"enum\":[{\"\\u0061\":1,\"b\":2}]}},"                           \
    "\"patternProperties\":{\"^\\\\w\":{\"not\":false}},"                    \
    "\"required\":[\"k\\u0041\",\"q\"],"                                     \
    "\"dependentRequired\":{\"l\":[\"z\"]},"                                 \
    "\"maxProperties\":1,\"propertyNames\":{\"maxLength\":2}}"
#define LARGE_VALUE                                                          \
    "{\"k\\u0041\":\"ad\\u0061\",\"l\":[\"\\u0061\",{\"\\u0061\":1},\"a\"]," \
    "\"m\":\"\\ud800\",\"n\":{\"b\":2,\"\\u0061\":3},\"long\":1}"
/* clang-format on */

TEST_OOM(schema_new, cleans_up_after_any_failed_allocation)
{
    pdr_value *source = NULL;
    pdr_schema *schema = NULL;
    pdr_rc rc = pdr_json_read(&source, pdr_str_c(LARGE_SCHEMA), NULL, NULL);

    if (rc == PDR_OK)
        rc = pdr_schema_new(&schema, source, NULL, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((schema != NULL) == (rc == PDR_OK));
    pdr_schema_free(schema);
    pdr_value_free(source);
}

/* Has every kind of note, and names that are decoded to report them. */
TEST_OOM(schema_new, cleans_up_a_lenient_load_after_any_failed_allocation)
{
    static const char text[] =
        "{\"$schema\":\"a\",\"definitions\":{\"a\\n\":{\"nullable\":true,"
        "\"$id\":\"b\",\"items\":[{}]}},\"title\":5,\"x\\u0000\":[],"
        "\"not\":{\"properties\":{\"\\ud800\":{\"y\\ud800\":1,"
        "\"$ref\":\"#/definitions/a%0A\"}}}}";
    pdr_buf lines = PDR_BUF_INIT(10000);
    pdr_schema_options options = {
        .lenient = true, .note = write_note, .note_arg = &lines};
    pdr_value *source = NULL;
    pdr_schema *schema = NULL;
    pdr_rc rc = pdr_json_read(&source, pdr_str_c(text), NULL, NULL);

    if (rc == PDR_OK)
        rc = pdr_schema_new(&schema, source, &options, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((schema != NULL) == (rc == PDR_OK));
    pdr_schema_free(schema);
    pdr_value_free(source);
    pdr_buf_dispose(&lines);
}

/* Also where a failure is to be told with its path. */
TEST_OOM(schema_new, reports_bad_schemas_without_memory)
{
    static const char *const texts[] = {
        "{\"not\":{\"ty\\u0000e\":1}}", "{\"not\":{\"type\":5}}",
        "{\"properties\":{\"\\u0061\":{\"pattern\":\"(\"}}}",
        "{\"items\":{\"$ref\":\"#/~0\"}}"};

    for (size_t i = 0; i < PDR_COUNT(texts); i++) {
        pdr_value *source = NULL;
        pdr_schema *schema = NULL;
        pdr_err err = PDR_ERR_INIT;
        pdr_rc rc = pdr_json_read(&source, pdr_str_c(texts[i]), NULL, NULL);

        if (rc == PDR_OK)
            rc = pdr_schema_new(&schema, source, NULL, &err);
        ASSERT(rc == PDR_EINVALID || rc == PDR_ENOMEM);
        ASSERT(schema == NULL);
        pdr_value_free(source);
    }
}

static pdr_rc ignore_finding(const pdr_schema_finding *finding, pdr_err *err,
                             void *arg)
{
    size_t *count = arg;

    (void)finding;
    (void)err;
    (*count)++;
    return PDR_OK;
}

TEST_OOM(schema_check, cleans_up_after_any_failed_allocation)
{
    pdr_value *source = NULL, *value = NULL;
    pdr_schema *schema = NULL;
    size_t findings = 0;
    bool valid = true;
    pdr_rc rc = pdr_json_read(&source, pdr_str_c(LARGE_SCHEMA), NULL, NULL);

    if (rc == PDR_OK)
        rc = pdr_json_read(&value, pdr_str_c(LARGE_VALUE), NULL, NULL);
    if (rc == PDR_OK)
        rc = pdr_schema_new(&schema, source, NULL, NULL);
    if (rc == PDR_OK)
        rc = pdr_schema_check(&valid, schema, value, NULL, ignore_finding,
                              &findings);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    if (rc == PDR_OK) {
        ASSERT(!valid);
        ASSERT_SIZE(8, findings);
    }
    pdr_schema_free(schema);
    pdr_value_free(value);
    pdr_value_free(source);
}

/* Memory is needed inside of every keyword that holds schemas. */
TEST_OOM(schema_check, passes_a_failure_up_through_every_keyword)
{
    static const char *const rows[][2] = {
        {"{\"allOf\":[{\"pattern\":\"a\"}]}", "\"a\""},
        {"{\"anyOf\":[{\"pattern\":\"a\"}]}", "\"a\""},
        {"{\"oneOf\":[{\"pattern\":\"a\"}]}", "\"a\""},
        {"{\"not\":{\"pattern\":\"b\"}}", "\"a\""},
        {"{\"if\":{\"pattern\":\"a\"},\"then\":true}", "\"a\""},
        {"{\"dependentSchemas\":{\"k\":{\"required\":[\"k\"],"
         "\"propertyNames\":{\"pattern\":\"k\"}}}}",
         "{\"k\":1}"},
        {"{\"contains\":{\"pattern\":\"a\"}}", "[\"a\"]"},
        {"{\"prefixItems\":[{\"pattern\":\"a\"}]}", "[\"a\"]"},
        {"{\"additionalProperties\":{\"pattern\":\"a\"}}", "{\"k\":\"a\"}"},
        {"{\"patternProperties\":{\"k\":{\"minLength\":1}}}",
         "{\"k\":\"\\u0061\"}"},
        {"{\"minProperties\":1}", "{\"\\u0061\":1}"},
        {"{\"const\":{\"\\u0061\":[{\"\\u0062\":1}]}}",
         "{\"\\u0061\":[{\"\\u0062\":1}]}"},
        {"{\"uniqueItems\":true}",
         "[{\"\\u0061\":{\"\\u0062\":1}},[\"\\u0061\"]]"},
        {"{\"$defs\":{\"d\":{\"maxLength\":1}},\"$ref\":\"#/$defs/d\"}",
         "\"\\u0061\""},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_value *source = NULL, *value = NULL;
        pdr_schema *schema = NULL;
        bool valid = false;
        pdr_rc rc = pdr_json_read(&source, pdr_str_c(rows[i][0]), NULL, NULL);

        if (rc == PDR_OK)
            rc = pdr_json_read(&value, pdr_str_c(rows[i][1]), NULL, NULL);
        if (rc == PDR_OK)
            rc = pdr_schema_new(&schema, source, NULL, NULL);
        if (rc == PDR_OK)
            rc = pdr_schema_check(&valid, schema, value, NULL, NULL, NULL);
        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
        ASSERT(valid == (rc == PDR_OK));
        pdr_schema_free(schema);
        pdr_value_free(value);
        pdr_value_free(source);
    }
}
