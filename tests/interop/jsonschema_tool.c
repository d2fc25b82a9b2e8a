/*
 * jsonschema_tool.c - our verdicts for a script.
 *
 * Reads lines of JSON: {"schema": S} loads a schema, {"lenient": S} loads one
 * leniently, {"instance": V} checks a value against the one loaded last. Writes
 * a line for each: "loaded", "refused REASON PATH", "valid", "failed REASON",
 * or "invalid" and for each finding a tab, the pointer into the value, a tab,
 * the keyword.
 */
#include <stdio.h>
#include <stdlib.h>

#include <perdure.h>

static pdr_rc print_finding(const pdr_schema_finding *finding, pdr_err *err,
                            void *arg)
{
    (void)err;
    (void)arg;
    printf("\t%.*s\t%s", (int)finding->instance.len, finding->instance.ptr,
           finding->keyword);
    return PDR_OK;
}

static void load(pdr_schema **schema, const pdr_value *line)
{
    const pdr_value *source = pdr_value_get_c(line, "schema");
    pdr_schema_options options = {.lenient = source == NULL};
    pdr_err err = PDR_ERR_INIT;

    if (source == NULL)
        source = pdr_value_get_c(line, "lenient");
    pdr_schema_free(*schema);
    *schema = NULL;
    if (pdr_schema_new(schema, source, &options, &err) == PDR_OK)
        puts("loaded");
    else
        printf("refused %s %s\n", err.reason, err.path);
}

static void check(const pdr_schema *schema, const pdr_value *instance)
{
    pdr_err err = PDR_ERR_INIT;
    bool valid = false;
    pdr_rc rc = pdr_schema_check(&valid, schema, instance, &err, NULL, NULL);

    if (rc != PDR_OK) {
        printf("failed %s\n", err.reason);
        return;
    }
    printf("%s", valid ? "valid" : "invalid");
    if (pdr_schema_check(&valid, schema, instance, &err, print_finding, NULL) !=
        PDR_OK)
        printf(" and then failed %s", err.reason);
    putchar('\n');
}

static void answer(pdr_schema **schema, pdr_str line)
{
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;
    const pdr_value *instance = NULL;

    if (pdr_json_read(&value, line, NULL, &err) != PDR_OK) {
        printf("failed %s\n", err.reason);
        return;
    }
    instance = pdr_value_get_c(value, "instance");
    if (instance == NULL)
        load(schema, value);
    else if (*schema == NULL)
        puts("failed no_schema");
    else
        check(*schema, instance);
    pdr_value_free(value);
}

int main(void)
{
    pdr_schema *schema = NULL;
    char *line = NULL;
    size_t room = 0;
    ssize_t len = 0;

    while ((len = getline(&line, &room, stdin)) > 0)
        answer(&schema, pdr_str_n(line, (size_t)len));
    free(line);
    pdr_schema_free(schema);
    return 0;
}
