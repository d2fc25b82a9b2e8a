/* JSON Schema: schemas and values that somebody wrote to keep us busy. */
#include <pthread.h>

#include "test.h"

#include "base.h"

static pdr_value *read_deep(pdr_str text)
{
    pdr_value *value = NULL;
    pdr_read_opts opts = {.max_depth = PDR_MAX_DEPTH};

    ASSERT_RC(PDR_OK, pdr_json_read(&value, text, &opts, NULL));
    return value;
}

static pdr_schema *load(const char *text)
{
    pdr_value *source = read_deep(pdr_str_c(text));
    pdr_schema *schema = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_schema_new(&schema, source, NULL, &err) != PDR_OK)
        fail_msg("%s", err.message);
    pdr_value_free(source);
    return schema;
}

/* Check `text`; the verdict goes to *valid. */
static pdr_rc check(bool *valid, const char *schema_text, pdr_str text,
                    pdr_err *err)
{
    pdr_schema *schema = load(schema_text);
    pdr_value *value = read_deep(text);
    pdr_rc rc = pdr_schema_check(valid, schema, value, err, NULL, NULL);

    pdr_value_free(value);
    pdr_schema_free(schema);
    return rc;
}

static void repeat(pdr_buf *out, const char *text, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ASSERT_RC(PDR_OK, pdr_buf_append(out, pdr_str_c(text), NULL));
}

/* --- depth --------------------------------------------------------------- */

/* [[[...]]] against a schema that takes `frames` steps a level. */
static pdr_rc check_nested(bool *valid, const char *schema, size_t levels,
                           pdr_err *err)
{
    pdr_buf text = PDR_BUF_INIT(10000);

    repeat(&text, "[", levels);
    repeat(&text, "]", levels);
    pdr_rc rc = check(valid, schema, pdr_buf_str(&text), err);
    pdr_buf_dispose(&text);
    return rc;
}

TEST(schema_check, goes_as_deep_as_the_limit_and_no_deeper)
{
    const char *schema = "{\"type\":\"array\",\"items\":{\"$ref\":\"#\"}}";
    pdr_err err = PDR_ERR_INIT;
    bool valid = false;

    ASSERT_RC(PDR_OK,
              check_nested(&valid, schema, PDR_MAX_CHECK_DEPTH / 2 + 1, &err));
    ASSERT(valid);
    ASSERT_RC(PDR_ELIMIT,
              check_nested(&valid, schema, PDR_MAX_CHECK_DEPTH / 2 + 2, &err));
    ASSERT_STR("too_deep", err.reason);
    ASSERT(strstr(err.path, "/0/0/0") != NULL);
    ASSERT(!valid);
}

TEST(schema_new, loads_a_schema_of_any_depth)
{
    pdr_buf text = PDR_BUF_INIT(100000);
    pdr_schema *schema = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_value *source = NULL, *one = read_deep(PDR_LIT("1"));
    bool valid = false;

    repeat(&text, "{\"not\":", PDR_MAX_DEPTH - 1);
    repeat(&text, "{}", 1);
    repeat(&text, "}", PDR_MAX_DEPTH - 1);
    source = read_deep(pdr_buf_str(&text));
    ASSERT_RC(PDR_OK, pdr_schema_new(&schema, source, NULL, &err));
    ASSERT_RC(PDR_ELIMIT,
              pdr_schema_check(&valid, schema, one, &err, NULL, NULL));
    ASSERT_STR("too_deep", err.reason);
    pdr_schema_free(schema);
    pdr_value_free(one);
    pdr_value_free(source);
    pdr_buf_dispose(&text);
}

/* d0 -> d1 -> ... -> d<count-1>, which is true. */
static void write_chain(pdr_buf *text, size_t count)
{
    repeat(text, "{\"$defs\":{", 1);
    for (size_t i = 0; i + 1 < count; i++)
        ASSERT_RC(PDR_OK,
                  pdr_buf_printf(text, NULL,
                                 "\"d%zu\":{\"$ref\":\"#/$defs/d%zu\"},", i,
                                 i + 1));
    ASSERT_RC(PDR_OK, pdr_buf_printf(text, NULL, "\"d%zu\":{}}}", count - 1));
}

TEST(schema_new, refuses_a_row_of_references_that_no_check_could_follow)
{
    for (size_t more = 0; more < 2; more++) {
        pdr_buf text = PDR_BUF_INIT(1000000);
        pdr_schema *schema = NULL;
        pdr_err err = PDR_ERR_INIT;

        write_chain(&text, PDR_MAX_CHECK_DEPTH + more);
        pdr_value *source = read_deep(pdr_buf_str(&text));
        pdr_rc rc = pdr_schema_new(&schema, source, NULL, &err);
        ASSERT_RC(more == 0 ? PDR_OK : PDR_ELIMIT, rc);
        if (more == 1)
            ASSERT_STR("too_deep", err.reason);
        pdr_schema_free(schema);
        pdr_value_free(source);
        pdr_buf_dispose(&text);
    }
}

/* --- unknown keywords ---------------------------------------------------- */

static pdr_rc measure_note(const pdr_schema_note *note, pdr_err *err, void *arg)
{
    size_t *bytes = arg;

    (void)err;
    *bytes += note->pointer.len;
    return PDR_OK;
}

/* What nobody reads may be as deep and as long as a document can be. */
TEST(schema_new, does_not_look_into_unknown_keywords)
{
    pdr_buf text = PDR_BUF_INIT(20000000);
    size_t bytes = 0;
    pdr_schema_options options = {
        .lenient = true, .note = measure_note, .note_arg = &bytes};
    pdr_schema *schema = NULL;

    repeat(&text, "{\"type\":\"null\",\"", 1);
    repeat(&text, "long", 1000000);
    repeat(&text, "\":", 1);
    repeat(&text, "[", PDR_MAX_DEPTH - 1);
    repeat(&text, "]", PDR_MAX_DEPTH - 1);
    repeat(&text, ",\"wide\":[0", 1);
    repeat(&text, ",{\"type\":0}", 100000);
    repeat(&text, "]}", 1);
    pdr_value *source = read_deep(pdr_buf_str(&text));
    ASSERT_RC(PDR_OK, pdr_schema_new(&schema, source, &options, NULL));
    ASSERT_SIZE(1 + 4000000 + 1 + strlen("wide"), bytes);
    pdr_schema_free(schema);
    pdr_value_free(source);
    pdr_buf_dispose(&text);
}

/* A note without its place is no use, so there is none. */
TEST(schema_new, ends_where_a_note_has_a_pointer_that_is_too_long)
{
    pdr_buf text = PDR_BUF_INIT(40000000);
    size_t bytes = 0;
    pdr_schema_options options = {
        .lenient = true, .note = measure_note, .note_arg = &bytes};
    pdr_schema *schema = NULL;
    pdr_err err = PDR_ERR_INIT;

    repeat(&text, "{\"", 1);
    repeat(&text, "0123456789abcdef", PDR_MAX_POINTER_BYTES / 16);
    repeat(&text, "\":1}", 1);
    pdr_value *source = read_deep(pdr_buf_str(&text));
    ASSERT_RC(PDR_ELIMIT, pdr_schema_new(&schema, source, &options, &err));
    ASSERT(schema == NULL);
    options.note = NULL;
    ASSERT_RC(PDR_OK, pdr_schema_new(&schema, source, &options, NULL));
    pdr_schema_free(schema);
    pdr_value_free(source);
    pdr_buf_dispose(&text);
}

/* --- steps --------------------------------------------------------------- */

TEST(schema_check, ends_when_references_double_at_each_level)
{
    pdr_buf text = PDR_BUF_INIT(100000);
    pdr_err err = PDR_ERR_INIT;
    bool valid = true;

    repeat(&text, "{\"items\":{\"$ref\":\"#/$defs/d0\"},\"$defs\":{", 1);
    for (int i = 0; i < 40; i++)
        ASSERT_RC(PDR_OK,
                  pdr_buf_printf(&text, NULL,
                                 "\"d%d\":{\"allOf\":[{\"$ref\":\"#/$defs/"
                                 "d%d\"},{\"$ref\":\"#/$defs/d%d\"}]},",
                                 i, i + 1, i + 1));
    repeat(&text, "\"d40\":{\"type\":\"integer\"}}}", 1);
    ASSERT_RC(PDR_OK, pdr_buf_append(&text, pdr_str_n("", 1), NULL));
    ASSERT_RC(PDR_ELIMIT, check(&valid, text.ptr, PDR_LIT("[7]"), &err));
    ASSERT_STR("check_limit", err.reason);
    ASSERT(strcmp("/0", err.path) == 0);
    ASSERT(!valid);
    /* Nothing to apply it to: nothing to do. */
    ASSERT_RC(PDR_OK, check(&valid, text.ptr, PDR_LIT("[]"), &err));
    ASSERT(valid);
    pdr_buf_dispose(&text);
}

static pdr_rc count_finding(const pdr_schema_finding *finding, pdr_err *err,
                            void *arg)
{
    (void)finding;
    (void)err;
    ++*(size_t *)arg;
    return PDR_OK;
}

/* A schema that applies `leaf` 2^14 times to the value. */
static void write_doubling(pdr_buf *out, pdr_str leaf)
{
    repeat(out, "{\"$ref\":\"#/$defs/d0\",\"$defs\":{", 1);
    for (int i = 0; i < 14; i++)
        ASSERT_RC(PDR_OK,
                  pdr_buf_printf(out, NULL,
                                 "\"d%d\":{\"allOf\":[{\"$ref\":\"#/$defs/"
                                 "d%d\"},{\"$ref\":\"#/$defs/d%d\"}]},",
                                 i, i + 1, i + 1));
    repeat(out, "\"d14\":", 1);
    ASSERT_RC(PDR_OK, pdr_buf_append(out, leaf, NULL));
    repeat(out, "}}", 1);
    ASSERT_RC(PDR_OK, pdr_buf_append(out, pdr_str_n("", 1), NULL));
}

/* `count` times `part` between two other texts. */
static void write_between(pdr_buf *out, const char *before, const char *part,
                          size_t count, const char *behind)
{
    repeat(out, before, 1);
    repeat(out, part, count);
    repeat(out, behind, 1);
}

/* Each leaf looks at much of the schema or of the value. Were that one step,
 * none would reach the limit, and larger ones would take hours. */
TEST(schema_check, takes_steps_for_all_that_a_rule_looks_at)
{
    static const struct {
        const char *leaf[3], *value[3]; /* the one in the middle repeated */
    } rows[] = {
        {{"{\"maxLength\":9999999}", "", ""}, {"\"", "\\u00e9a", "\""}},
        {{"{\"maxLength\":9999999}", "", ""}, {"\"", "aaaaaaaa", "\""}},
        {{"{\"pattern\":\"^[^x]*$\"}", "", ""}, {"\"", "aaaaaaaa", "\""}},
        {{"{\"maxProperties\":999999}", "", ""}, {"{", "\"a\":1,", "\"z\":1}"}},
        {{"{\"properties\":{\"a\":{}},\"propertyNames\":true}", "", ""},
         {"{", "\"aaaa\":1,", "\"z\":1}"}},
        {{"{\"not\":{\"const\":\"", "aaaaaaaa", "b\"}}"},
         {"\"", "aaaaaaaa", "c\""}},
        {{"{\"not\":{\"const\":1", "00000000", "1}}"}, {"1", "00000000", "2"}},
        {{"{\"minimum\":1", "00000000", "}"}, {"1", "00000000", "1"}},
        {{"{\"minimum\":0}", "", ""}, {"1", "00000000", "1"}},
        {{"{\"multipleOf\":1}", "", ""}, {"1", "00000000", "1"}},
        {{"{\"type\":\"integer\"}", "", ""}, {"1", "00000000", ".0"}},
        {{"{\"uniqueItems\":true}", "", ""}, {"[\"", "aaaaaaaa", "\"]"}},
        {{"{\"uniqueItems\":true}", "", ""}, {"[1", "00000000", "]"}},
        {{"{\"not\":{\"uniqueItems\":true}}", "", ""}, {"[1,1", ",1", "]"}},
        {{"{\"required\":[\"", "aaaaaaaa", "\"]}"},
         {"{\"", "aaaaaaaa", "\":1}"}},
        {{"{\"dependentSchemas\":{\"", "aaaaaaaa", "\":{}}}"}, {"{", "", "}"}},
        {{"{\"dependentRequired\":{\"", "aaaaaaaa", "\":[]}}"}, {"{", "", "}"}},
        {{"{\"properties\":{\"", "aaaaaaaa", "\":{}}}"}, {"{", "", "}"}},
        {{"{\"patternProperties\":{\"^[^x]*$\":{}}}", "", ""},
         {"{\"", "aaaaaaaa", "\":1}"}},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_buf leaf = PDR_BUF_INIT(2000000), value = PDR_BUF_INIT(2000000);
        pdr_buf schema = PDR_BUF_INIT(3000000);
        pdr_err err = PDR_ERR_INIT;
        bool valid = true;

        write_between(&leaf, rows[i].leaf[0], rows[i].leaf[1], 20000,
                      rows[i].leaf[2]);
        write_between(&value, rows[i].value[0], rows[i].value[1], 20000,
                      rows[i].value[2]);
        write_doubling(&schema, pdr_buf_str(&leaf));
        pdr_rc rc = check(&valid, schema.ptr, pdr_buf_str(&value), &err);
        if (rc != PDR_ELIMIT)
            fail_msg("%s: %s", rows[i].leaf[0], pdr_rc_name(rc));
        ASSERT(strcmp("check_limit", err.reason) == 0 ||
               strcmp("pattern_limit", err.reason) == 0);
        pdr_buf_dispose(&schema);
        pdr_buf_dispose(&value);
        pdr_buf_dispose(&leaf);
    }
}

/* Counting the members of the value for each of them would be a square. */
TEST(schema_check, compares_many_objects_with_a_large_one)
{
    pdr_buf schema = PDR_BUF_INIT(1000000), value = PDR_BUF_INIT(1000000);
    bool valid = true;

    write_between(&schema, "{\"enum\":[", "{\"x\":0},", 20000, "{}]}");
    ASSERT_RC(PDR_OK, pdr_buf_append(&schema, pdr_str_n("", 1), NULL));
    repeat(&value, "{\"x\":0", 1);
    for (int i = 0; i < 20000; i++)
        ASSERT_RC(PDR_OK, pdr_buf_printf(&value, NULL, ",\"m%d\":1", i));
    repeat(&value, "}", 1);
    ASSERT_RC(PDR_OK, check(&valid, schema.ptr, pdr_buf_str(&value), NULL));
    ASSERT(!valid);
    pdr_buf_dispose(&value);
    pdr_buf_dispose(&schema);
}

TEST(schema_check, ends_when_pointers_of_findings_are_long)
{
    pdr_buf schema = PDR_BUF_INIT(1000000), value = PDR_BUF_INIT(1000000);
    pdr_err err = PDR_ERR_INIT;
    pdr_schema *loaded = NULL;
    bool valid = true;
    size_t count = 0;

    write_doubling(&schema, PDR_LIT("{\"additionalProperties\":false}"));
    write_between(&value, "{\"", "aaaaaaaa", 20000, "\":1}");
    pdr_value *source = read_deep(pdr_str_c(schema.ptr));
    pdr_value *object = read_deep(pdr_buf_str(&value));
    ASSERT_RC(PDR_OK, pdr_schema_new(&loaded, source, NULL, NULL));
    ASSERT_RC(PDR_ELIMIT, pdr_schema_check(&valid, loaded, object, &err,
                                           count_finding, &count));
    ASSERT_STR("check_limit", err.reason);
    ASSERT(count > 100 && count < 10000);
    pdr_schema_free(loaded);
    pdr_value_free(object);
    pdr_value_free(source);
    pdr_buf_dispose(&value);
    pdr_buf_dispose(&schema);
}

TEST(schema_check, ends_when_large_values_are_compared_again_and_again)
{
    pdr_buf schema = PDR_BUF_INIT(1000000), value = PDR_BUF_INIT(1000000);
    pdr_err err = PDR_ERR_INIT;
    bool valid = true;

    /* 10,000 steps to see that they differ at their end, 400 times. */
    repeat(&schema, "{\"$defs\":{\"e\":{\"const\":[", 1);
    repeat(&schema, "0,", 10000);
    repeat(&schema, "1]}},\"anyOf\":[{\"$ref\":\"#/$defs/e\"}", 1);
    repeat(&schema, ",{\"$ref\":\"#/$defs/e\"}", 399);
    repeat(&schema, "]}", 1);
    ASSERT_RC(PDR_OK, pdr_buf_append(&schema, pdr_str_n("", 1), NULL));
    repeat(&value, "[", 1);
    repeat(&value, "0,", 10000);
    repeat(&value, "2]", 1);
    ASSERT_RC(PDR_ELIMIT, check(&valid, schema.ptr, pdr_buf_str(&value), &err));
    ASSERT_STR("check_limit", err.reason);
    ASSERT(!valid);
    ASSERT_RC(PDR_OK, check(&valid, schema.ptr, PDR_LIT("[0]"), &err));
    ASSERT(!valid);
    pdr_buf_dispose(&value);
    pdr_buf_dispose(&schema);
}

/* `count` elements written by `format`, which takes the index. */
static void write_array(pdr_buf *out, size_t count, const char *before,
                        const char *behind)
{
    repeat(out, "[", 1);
    for (size_t i = 0; i < count; i++)
        ASSERT_RC(PDR_OK, pdr_buf_printf(out, NULL, "%s%s%zu%s",
                                         i > 0 ? "," : "", before, i, behind));
    repeat(out, "]", 1);
}

TEST(unique_items, of_a_large_array_takes_no_square_of_time)
{
    static const char *const forms[][2] = {
        {"", ""}, {"\"", "\""}, {"{\"a\":[", "]}"}, {"1e", ""}, {"[1,", "]"}};

    for (size_t i = 0; i < PDR_COUNT(forms); i++) {
        pdr_buf text = PDR_BUF_INIT(10000000);
        bool valid = false;

        write_array(&text, 100000, forms[i][0], forms[i][1]);
        ASSERT_RC(PDR_OK, check(&valid, "{\"uniqueItems\":true}",
                                pdr_buf_str(&text), NULL));
        ASSERT(valid);
        pdr_buf_dispose(&text);
    }
}

TEST(unique_items, ends_where_numbers_share_their_hash)
{
    pdr_buf text = PDR_BUF_INIT(10000000);
    pdr_err err = PDR_ERR_INIT;
    bool valid = false;

    /* Exponents beyond all machine numbers are one for a hash. */
    write_array(&text, 20000, "1e99999999999999999999", "");
    ASSERT_RC(PDR_ELIMIT, check(&valid, "{\"uniqueItems\":true}",
                                pdr_buf_str(&text), &err));
    ASSERT_STR("check_limit", err.reason);
    pdr_buf_dispose(&text);
}

TEST(schema_check, takes_a_large_object_with_many_rules)
{
    pdr_buf schema = PDR_BUF_INIT(10000000), value = PDR_BUF_INIT(10000000);
    bool valid = false;

    repeat(&schema, "{\"additionalProperties\":false,\"properties\":{", 1);
    repeat(&value, "{", 1);
    for (int i = 0; i < 20000; i++) {
        const char *between = i > 0 ? "," : "";
        ASSERT_RC(PDR_OK,
                  pdr_buf_printf(&schema, NULL,
                                 "%s\"m%d\":{\"const\":"
                                 "%d}",
                                 between, i * 7919 % 20000, i * 7919 % 20000));
        ASSERT_RC(PDR_OK,
                  pdr_buf_printf(&value, NULL, "%s\"m%d\":%d", between, i, i));
    }
    repeat(&schema, "}}", 1);
    repeat(&value, "}", 1);
    ASSERT_RC(PDR_OK, pdr_buf_append(&schema, pdr_str_n("", 1), NULL));
    ASSERT_RC(PDR_OK, check(&valid, schema.ptr, pdr_buf_str(&value), NULL));
    ASSERT(valid);
    pdr_buf_dispose(&value);
    pdr_buf_dispose(&schema);
}

/* --- patterns ------------------------------------------------------------ */

TEST(schema_check, ends_where_a_pattern_explodes)
{
    static const char *const schemas[] = {
        "{\"items\":{\"pattern\":\"^(a|aa)+$\"}}",
        "{\"items\":{\"patternProperties\":{\"^(a|aa)+$\":true}}}",
        "{\"items\":{\"propertyNames\":{\"pattern\":\"^(a|aa)+$\"}}}"};
    char text[200];

    for (size_t i = 0; i < PDR_COUNT(schemas); i++) {
        pdr_err err = PDR_ERR_INIT;
        bool valid = true;

        snprintf(text, sizeof(text), i == 0 ? "[0,\"%s!\"]" : "[0,{\"%s!\":1}]",
                 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
        ASSERT_RC(PDR_ELIMIT, check(&valid, schemas[i], pdr_str_c(text), &err));
        ASSERT_STR("pattern_limit", err.reason);
        ASSERT(strncmp("/1", err.path, 2) == 0);
        ASSERT(!valid);
    }
}

TEST(schema_check, searches_many_texts_for_a_cheap_pattern)
{
    pdr_buf text = PDR_BUF_INIT(10000000);
    bool valid = false;

    write_array(&text, 100000, "\"item-", "\"");
    ASSERT_RC(PDR_OK,
              check(&valid, "{\"items\":{\"pattern\":\"^item-[0-9]+$\"}}",
                    pdr_buf_str(&text), NULL));
    ASSERT(valid);
    pdr_buf_dispose(&text);
}

/* --- threads ------------------------------------------------------------- */

struct job {
    const pdr_schema *schema;
    const pdr_value *good, *bad;
    bool right;
};

static void *check_often(void *arg)
{
    struct job *job = arg;

    job->right = true;
    for (int i = 0; i < 200; i++) {
        bool good = false, bad = true;

        job->right = job->right &&
                     pdr_schema_check(&good, job->schema, job->good, NULL, NULL,
                                      NULL) == PDR_OK &&
                     pdr_schema_check(&bad, job->schema, job->bad, NULL, NULL,
                                      NULL) == PDR_OK &&
                     good && !bad;
    }
    return NULL;
}

TEST(schema_check, is_for_any_number_of_threads)
{
    pdr_schema *schema =
        load("{\"items\":{\"pattern\":\"^[a-z]+$\",\"enum\":[\"ab\",\"c\"]},"
             "\"uniqueItems\":true}");
    pdr_value *good = read_deep(PDR_LIT("[\"ab\",\"c\"]"));
    pdr_value *bad = read_deep(PDR_LIT("[\"ab\",\"d\"]"));
    struct job jobs[4];
    pthread_t threads[4];

    for (size_t i = 0; i < PDR_COUNT(jobs); i++) {
        jobs[i] = (struct job){schema, good, bad, false};
        ASSERT_INT(0, pthread_create(&threads[i], NULL, check_often, &jobs[i]));
    }
    for (size_t i = 0; i < PDR_COUNT(jobs); i++) {
        ASSERT_INT(0, pthread_join(threads[i], NULL));
        ASSERT(jobs[i].right);
    }
    pdr_value_free(bad);
    pdr_value_free(good);
    pdr_schema_free(schema);
}
