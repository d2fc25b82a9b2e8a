/*
 * output.c - an answer that is a value: what the model is told, and what is
 * made of its text.
 *
 * WHY  Model servers take a schema of an object only. So any other schema is
 *      wrapped into an object with one member, "data". Models are not that
 *      strict: some leave the wrapper out, some say the same twice. The first
 *      JSON value of the text counts, with the wrapper or without.
 */
#include "agent.h"

#include <perdure/json.h>

/* Is it the schema of an object? */
static bool is_object_schema(const pdr_value *schema)
{
    return pdr_value_kind(schema) == PDR_OBJECT &&
           pdr_value_text_is(pdr_value_get_c(schema, "type"),
                             PDR_LIT("object"));
}

static pdr_rc wrap(pdr_value **out, const pdr_value *schema, pdr_err *err)
{
    static const char *const shared[] = {"$defs", "definitions"};
    pdr_builder *to = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_builder_new(&to, err));
    pdr_builder_object(to);
    pdr_builder_name(to, PDR_LIT("$schema"));
    pdr_builder_string(to,
                       PDR_LIT("https://json-schema.org/draft/2020-12/schema"));
    pdr_builder_name(to, PDR_LIT("type"));
    pdr_builder_string(to, PDR_LIT("object"));
    pdr_builder_name(to, PDR_LIT("properties"));
    pdr_builder_object(to);
    pdr_builder_name(to, PDR_LIT("data"));
    pdr_builder_value(to, schema);
    pdr_builder_end(to);
    pdr_builder_name(to, PDR_LIT("required"));
    pdr_builder_array(to);
    pdr_builder_string(to, PDR_LIT("data"));
    pdr_builder_end(to);
    pdr_builder_name(to, PDR_LIT("additionalProperties"));
    pdr_builder_bool(to, false);
    /* References in it begin at the root, which is another one now. */
    for (size_t i = 0; i < PDR_COUNT(shared); i++) {
        const pdr_value *parts = pdr_value_kind(schema) == PDR_OBJECT
                                     ? pdr_value_get_c(schema, shared[i])
                                     : NULL;

        if (parts == NULL)
            continue;
        pdr_builder_name(to, pdr_str_c(shared[i]));
        pdr_builder_value(to, parts);
    }
    pdr_builder_end(to);
    PDR_TRY(pdr_builder_finish(out, to, err));
done:
    pdr_builder_free(to);
    return rc;
}

pdr_rc pdr__output_new(struct pdr__output **out, const pdr_value *schema,
                       pdr_err *err)
{
    const pdr_schema_options lenient = {.lenient = true};
    struct pdr__output *output = pdr__calloc(1, sizeof(*output));
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (output == NULL)
        return pdr__nomem(err);
    rc = pdr_schema_new(&output->schema, schema, &lenient, err);
    if (rc != PDR_OK) {
        rc = pdr__wrap(err, rc, "%s", "the schema of the output");
        goto done;
    }
    output->is_wrapped = !is_object_schema(schema);
    if (output->is_wrapped)
        PDR_TRY(wrap(&output->sent, schema, err));
    else
        output->sent = pdr_value_ref(schema);
    *out = output;
    output = NULL;
done:
    pdr__output_free(output);
    return rc;
}

void pdr__output_free(struct pdr__output *output)
{
    if (output == NULL)
        return;
    pdr_schema_free(output->schema);
    pdr_value_free(output->sent);
    pdr__free(output);
}

/* A pdr_schema_finding_fn: fail with the first one. */
static pdr_rc fail_finding(const pdr_schema_finding *finding, pdr_err *err,
                           void *arg)
{
    (void)arg;
    return PDR_FAIL(err, BAD_OUTPUT,
                    "the answer does not fit its schema at '%.*s': %.*s",
                    (int)finding->instance.len, finding->instance.ptr,
                    (int)finding->text.len, finding->text.ptr);
}

pdr_rc pdr__output_read(pdr_value **out, const struct pdr__output *output,
                        pdr_str text, pdr_err *err)
{
    const pdr_read_opts first = {.flags = PDR_TRAILING};
    const pdr_value *data = NULL;
    pdr_value *root = NULL;
    pdr_err why = PDR_ERR_INIT;
    bool is_valid = false;
    pdr_rc rc = pdr_json_read(&root, text, &first, &why);

    *out = NULL;
    if (rc == PDR_ENOMEM)
        return pdr__err_pass(err, &why);
    if (rc != PDR_OK)
        return PDR_FAIL(err, BAD_OUTPUT, "the answer is not JSON: %s",
                        text.len > 0 ? why.message : "it is empty");
    data = output->is_wrapped && pdr_value_kind(root) == PDR_OBJECT
               ? pdr_value_get_c(root, "data")
               : NULL;
    if (data == NULL)
        data = root;
    if (pdr_value_kind(data) == PDR_NULL)
        PDR_TRY(PDR_FAIL(err, BAD_OUTPUT, "%s", "the answer is null"));
    PDR_TRY(pdr_schema_check(&is_valid, output->schema, data, err, fail_finding,
                             NULL));
    *out = pdr_value_ref(data);
done:
    pdr_value_free(root);
    return rc;
}
