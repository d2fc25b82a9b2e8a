/*
 * jsonschema_dialects.c - schemas of other programs, loaded strictly and
 * leniently.
 *
 * tests/data/jsonschema/dialects/keywords.json has rows: a keyword, a schema,
 * what a strict and a lenient load make of it ("ok", the reason of a refusal,
 * or the kind of the one note), where, and values that match and do not. Each
 * row is loaded with each $schema of the file. programs.json has whole schemas
 * with all their notes. `make interop` compares the same files with validators
 * for each draft.
 */
#include "corpus.h"
#include "test.h"

#include "jsonschema.h"

static const char *const kind_names[] = {
    [PDR_SCHEMA_NOTE_ANNOTATION] = "annotation",
    [PDR_SCHEMA_NOTE_UNCHECKED] = "unchecked",
    [PDR_SCHEMA_NOTE_REREAD] = "reread",
};

/* A line for each note. */
static pdr_rc write_note(const pdr_schema_note *note, pdr_err *err, void *arg)
{
    ASSERT(note->text.len > 0);
    ASSERT(note->pointer.len > 0 && note->keyword.len > 0);
    return pdr_buf_printf(arg, err, "%s %.*s\n", kind_names[note->kind],
                          (int)note->pointer.len, note->pointer.ptr);
}

static pdr_value *read_file(const char *path)
{
    size_t len = 0;
    char *text = test_read_data(path, &len);
    pdr_value *value = NULL;

    ASSERT_RC(PDR_OK, pdr_json_read(&value, pdr_str_n(text, len), NULL, NULL));
    free(text);
    return value;
}

/* The text of a member, cut at `size`; "" if there is none. */
static const char *text_of(char *out, size_t size, const pdr_value *row,
                           const char *name)
{
    const pdr_value *member = pdr_value_get_c(row, name);
    pdr_buf scratch = PDR_BUF_INIT(10000);
    pdr_str text = {"", 0};

    if (member != NULL)
        ASSERT_RC(PDR_OK, pdr_value_text(&text, member, &scratch, NULL));
    snprintf(out, size, "%.*s", (int)text.len, text.ptr);
    pdr_buf_dispose(&scratch);
    return out;
}

/* One row with one $schema. */
struct trial {
    char name[200];   /* for complaints */
    char keyword[40]; /* of the row */
    char strict[32], lenient[32];
    char at[100], strict_at[100];
    const pdr_value *row;
    pdr_value *source; /* owned: the schema */
    bool is_old;       /* its $schema is not the one of 2020-12 */
};

static void trial_init(struct trial *t, const pdr_value *row,
                       const pdr_value *dialect)
{
    char uri[100], form[100], dialect_name[32];
    pdr_buf text = PDR_BUF_INIT(10000);
    pdr_str raw = {NULL, 0};

    *t = (struct trial){.row = row};
    text_of(t->keyword, sizeof(t->keyword), row, "keyword");
    text_of(t->strict, sizeof(t->strict), row, "strict");
    text_of(t->lenient, sizeof(t->lenient), row, "lenient");
    snprintf(t->at, sizeof(t->at), "/%s", t->keyword);
    if (pdr_value_get_c(row, "at") != NULL)
        text_of(t->at, sizeof(t->at), row, "at");
    snprintf(t->strict_at, sizeof(t->strict_at), "%s", t->at);
    if (pdr_value_get_c(row, "strict_at") != NULL)
        text_of(t->strict_at, sizeof(t->strict_at), row, "strict_at");
    snprintf(t->name, sizeof(t->name), "%s %s, $schema %s", t->keyword,
             text_of(form, sizeof(form), row, "form"),
             text_of(dialect_name, sizeof(dialect_name), dialect, "name"));

    /* As text, so that names stay repeated; $schema comes first. */
    ASSERT(pdr_value_raw(&raw, pdr_value_get_c(row, "schema")));
    text_of(uri, sizeof(uri), dialect, "uri");
    t->is_old = uri[0] != '\0' && strstr(uri, "2020-12") == NULL;
    if (uri[0] != '\0')
        ASSERT_RC(PDR_OK,
                  pdr_buf_printf(&text, NULL, "{\"$schema\":\"%s\",%.*s", uri,
                                 (int)raw.len - 1, raw.ptr + 1));
    else
        ASSERT_RC(PDR_OK, pdr_buf_append(&text, raw, NULL));
    ASSERT_RC(PDR_OK,
              pdr_json_read(&t->source, pdr_buf_str(&text), NULL, NULL));
    pdr_buf_dispose(&text);
}

/* Every value of the list has that verdict. */
static void check_values(const struct trial *t, const char *way,
                         const pdr_schema *schema, const char *list,
                         bool expected)
{
    const pdr_value *values = pdr_value_get_c(t->row, list);
    pdr_iter it;

    if (values == NULL)
        return;
    pdr_iter_init(&it, values);
    while (pdr_iter_next(&it)) {
        bool valid = !expected;

        ASSERT_RC(PDR_OK,
                  pdr_schema_check(&valid, schema, it.value, NULL, NULL, NULL));
        if (valid != expected)
            corpus_complain(t->name, way, "value %zu should be %s", it.index,
                            list);
    }
}

/* The outcome of a load must be `expected`: "ok", or a reason and a path. */
static void check_load(const struct trial *t, const char *way, pdr_rc rc,
                       const pdr_schema *schema, const pdr_err *err,
                       const char *expected, const char *at)
{
    const char *reason = rc == PDR_OK ? "ok" : err->reason;

    if (reason == NULL)
        reason = "no reason";
    ASSERT((schema != NULL) == (rc == PDR_OK));
    if (strcmp(reason, expected) != 0)
        corpus_complain(t->name, way, "%s, not %s", reason, expected);
    else if (rc != PDR_OK && strcmp(err->path, at) != 0)
        corpus_complain(t->name, way, "at '%s', not '%s'", err->path, at);
    if (rc == PDR_OK) {
        check_values(t, way, schema, "valid", true);
        check_values(t, way, schema, "invalid", false);
    }
}

static void load_strictly(const struct trial *t)
{
    pdr_schema *schema = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_schema_new(&schema, t->source, NULL, &err);

    check_load(t, "strict", rc, schema, &err,
               t->is_old ? "bad_schema" : t->strict,
               t->is_old ? "/$schema" : t->strict_at);
    pdr_schema_free(schema);
}

static void load_leniently(const struct trial *t)
{
    pdr_buf notes = PDR_BUF_INIT(10000), expected = PDR_BUF_INIT(10000);
    pdr_schema_options options = {
        .lenient = true, .note = write_note, .note_arg = &notes};
    pdr_schema *schema = NULL, *quiet = NULL;
    pdr_err err = PDR_ERR_INIT;
    bool is_noted = false;
    pdr_rc rc = pdr_schema_new(&schema, t->source, &options, &err);

    if (t->is_old)
        ASSERT_RC(PDR_OK, pdr_buf_printf(&expected, NULL, "reread /$schema\n"));
    for (size_t i = 0; i < PDR_COUNT(kind_names); i++)
        is_noted = is_noted || strcmp(t->lenient, kind_names[i]) == 0;
    if (is_noted)
        ASSERT_RC(PDR_OK, pdr_buf_printf(&expected, NULL, "%s %s\n", t->lenient,
                                         t->at));
    check_load(t, "lenient", rc, schema, &err, is_noted ? "ok" : t->lenient,
               t->at);
    if (rc == PDR_OK &&
        (notes.len != expected.len ||
         (notes.len > 0 && memcmp(notes.ptr, expected.ptr, notes.len) != 0)))
        corpus_complain(t->name, "lenient", "notes %.*s", (int)notes.len,
                        notes.ptr);

    options.note = NULL; /* nobody has to listen */
    ASSERT_RC(rc, pdr_schema_new(&quiet, t->source, &options, NULL));
    pdr_schema_free(quiet);
    pdr_schema_free(schema);
    pdr_buf_dispose(&expected);
    pdr_buf_dispose(&notes);
}

TEST(schema_new, reads_each_keyword_in_each_dialect)
{
    pdr_value *file = read_file("jsonschema/dialects/keywords.json");
    const pdr_value *dialects = pdr_value_get_c(file, "dialects");
    size_t trials = 0;
    pdr_iter row, dialect;

    pdr_iter_init(&row, pdr_value_get_c(file, "rows"));
    while (pdr_iter_next(&row)) {
        const pdr_value *schema = pdr_value_get_c(row.value, "schema");

        pdr_iter_init(&dialect, dialects);
        while (pdr_iter_next(&dialect)) {
            struct trial t;

            if (dialect.index > 0 && pdr_value_get_c(schema, "$schema") != NULL)
                break; /* it has one already */
            trial_init(&t, row.value, dialect.value);
            load_strictly(&t);
            load_leniently(&t);
            pdr_value_free(t.source);
            trials++;
        }
    }
    corpus_assert_no_complaint();
    ASSERT(trials > 600);
    pdr_value_free(file);
}

/* Not 0: a rule that is checked. */
static const unsigned rule_kinds[KW_COUNT] = {
#define RULE_KINDS(name, text, load, kinds, skipped) \
    (skipped) == ON_ANY ? 0 : (kinds),
    KEYWORD_MAP(RULE_KINDS)
#undef RULE_KINDS
};

TEST(keyword_rows, have_every_keyword_and_a_value_that_breaks_every_rule)
{
    pdr_value *file = read_file("jsonschema/dialects/keywords.json");
    bool has_row[KW_COUNT] = {false}, is_broken[KW_COUNT] = {false};
    pdr_iter row;

    pdr_iter_init(&row, pdr_value_get_c(file, "rows"));
    while (pdr_iter_next(&row)) {
        char name[40];

        text_of(name, sizeof(name), row.value, "keyword");
        for (size_t i = 0; i < KW_COUNT; i++) {
            if (strcmp(name, pdr__keyword_names[i]) != 0)
                continue;
            has_row[i] = true;
            if (pdr_value_get_c(row.value, "invalid") != NULL)
                is_broken[i] = true;
        }
    }
    for (size_t i = 0; i < KW_COUNT; i++)
        if (!has_row[i] || (rule_kinds[i] != 0 && !is_broken[i]))
            corpus_complain("keywords.json", pdr__keyword_names[i], "no row");
    corpus_assert_no_complaint();
    pdr_value_free(file);
}

static void load_program(const pdr_value *group)
{
    pdr_buf notes = PDR_BUF_INIT(10000), expected = PDR_BUF_INIT(10000);
    pdr_schema_options options = {
        .lenient = true, .note = write_note, .note_arg = &notes};
    const pdr_value *source = pdr_value_get_c(group, "schema");
    pdr_schema *schema = NULL;
    char of[100];
    pdr_iter it;

    text_of(of, sizeof(of), group, "description");
    ASSERT_RC(PDR_EINVALID, pdr_schema_new(&schema, source, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_schema_new(&schema, source, &options, NULL));
    pdr_iter_init(&it, pdr_value_get_c(group, "notes"));
    while (pdr_iter_next(&it)) {
        pdr_str line = {NULL, 0};

        ASSERT_RC(PDR_OK, pdr_value_text(&line, it.value, NULL, NULL));
        ASSERT_RC(PDR_OK, pdr_buf_printf(&expected, NULL, "%.*s\n",
                                         (int)line.len, line.ptr));
    }
    ASSERT_BYTES(pdr_buf_str(&expected), pdr_buf_str(&notes));
    pdr_iter_init(&it, pdr_value_get_c(group, "tests"));
    while (pdr_iter_next(&it)) {
        bool wanted = false, valid = false;

        ASSERT_RC(
            PDR_OK,
            pdr_value_bool(&wanted, pdr_value_get_c(it.value, "valid"), NULL));
        ASSERT_RC(PDR_OK, pdr_schema_check(&valid, schema,
                                           pdr_value_get_c(it.value, "data"),
                                           NULL, NULL, NULL));
        if (valid != wanted)
            corpus_complain(of, "lenient", "value %zu should be %s", it.index,
                            wanted ? "valid" : "invalid");
    }
    pdr_schema_free(schema);
    pdr_buf_dispose(&expected);
    pdr_buf_dispose(&notes);
}

TEST(schema_new, reports_all_that_programs_write_and_strict_refuses)
{
    pdr_value *file = read_file("jsonschema/dialects/programs.json");
    pdr_iter group;

    pdr_iter_init(&group, file);
    while (pdr_iter_next(&group))
        load_program(group.value);
    corpus_assert_no_complaint();
    ASSERT(pdr_value_count(file) > 5);
    pdr_value_free(file);
}
