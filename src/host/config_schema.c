/*
 * config_schema.c - the schemas of definition files, as JSON Schema.
 *
 * WHY  Agent Framework has a form of its own for parameters and outputs: a list
 *      or map of properties, each of which says itself that it is required.
 *      People write JSON Schema there as well. Both go through one rule, of
 *      which JSON Schema comes out as it went in:
 *
 *          a list              ─► {type: object, properties: of the list}
 *          properties          ─► by name; their `required: true` is collected
 *          kind, example       ─► type, examples
 *          strict, name        ─► left out
 */
#include "host.h"

enum word { WORD_OTHER, WORD_SKIP, WORD_BOTH, WORD_TYPE, WORD_EXAMPLE };

/* What a member of a schema becomes. Those that are not here are of JSON Schema
 * alone. */
static enum word word_of(const struct pdr__node *member)
{
    static const struct {
        const char *name;
        enum word word;
    } words[] = {{"name", WORD_SKIP},      {"strict", WORD_SKIP},
                 {"type", WORD_BOTH},      {"description", WORD_BOTH},
                 {"enum", WORD_BOTH},      {"default", WORD_BOTH},
                 {"examples", WORD_BOTH},  {"kind", WORD_TYPE},
                 {"example", WORD_EXAMPLE}};

    for (size_t i = 0; i < PDR_COUNT(words); i++) {
        if (strcmp(member->name->text.ptr, words[i].name) == 0)
            return words[i].word;
    }
    return WORD_OTHER;
}

static pdr_rc build_schema(pdr_builder *to, const struct pdr__load *load,
                           const struct pdr__node *node, pdr_err *err);

/* Is it `required: true`, and not the list of JSON Schema? */
static bool is_flag(const struct pdr__node *required)
{
    enum pdr__scalar scalar = pdr__scalar_of(required);

    return scalar == PDR_SCALAR_TRUE || scalar == PDR_SCALAR_FALSE;
}

/* The name of a property of a map, or of a list. */
static const struct pdr__node *property_name(const struct pdr__node *property)
{
    return property->name != NULL ? property->name
                                  : pdr__node_get(property, "name");
}

static pdr_rc build_properties(pdr_builder *to, const struct pdr__load *load,
                               const struct pdr__node *node, pdr_err *err)
{
    struct pdr__map names = PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES);
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    if (node->kind == PDR_NODE_SCALAR)
        return PDR_FAIL_NODE(load, node, err, BAD_DEFINITION, "%s",
                             "properties are a map or a list");
    pdr_builder_object(to);
    for (const struct pdr__node *n = node->first; n != NULL; n = n->next) {
        const struct pdr__node *name = property_name(n);

        if (name == NULL || name->kind != PDR_NODE_SCALAR) {
            rc = PDR_FAIL_NODE(load, n, err, BAD_DEFINITION, "%s",
                               "a property has no name");
            goto done;
        }
        if (pdr__map_get(NULL, &names, name->text)) {
            rc = PDR_FAIL_NODE(load, name, err, DUPLICATE_NAME,
                               "'%s' is there twice",
                               pdr__shown(shown, name->text));
            goto done;
        }
        PDR_TRY(pdr__map_put(NULL, &names, name->text, NULL, err));
        pdr_builder_name(to, name->text);
        PDR_TRY(build_schema(to, load, n, err));
    }
    pdr_builder_end(to);
done:
    pdr__map_dispose(&names);
    return rc;
}

/* The names of those that say that they are required, if there are any. */
static void build_required(pdr_builder *to, const struct pdr__node *properties)
{
    bool is_first = true;

    for (const struct pdr__node *n = properties->first; n != NULL;
         n = n->next) {
        const struct pdr__node *flag = pdr__node_get(n, "required");

        if (flag == NULL || pdr__scalar_of(flag) != PDR_SCALAR_TRUE)
            continue;
        if (is_first) {
            pdr_builder_name(to, PDR_LIT("required"));
            pdr_builder_array(to);
        }
        is_first = false;
        pdr_builder_string(to, property_name(n)->text);
    }
    if (!is_first)
        pdr_builder_end(to);
}

static pdr_rc build_member(pdr_builder *to, const struct pdr__load *load,
                           const struct pdr__node *n, pdr_err *err)
{
    const enum word word = word_of(n);
    const bool has_schemas = strcmp(n->name->text.ptr, "properties") == 0;
    pdr_rc rc = PDR_OK;

    if (word == WORD_SKIP ||
        (strcmp(n->name->text.ptr, "required") == 0 && is_flag(n)))
        return PDR_OK;
    pdr_builder_name(to, word == WORD_TYPE      ? PDR_LIT("type")
                         : word == WORD_EXAMPLE ? PDR_LIT("examples")
                                                : n->name->text);
    if (has_schemas)
        return build_properties(to, load, n, err);
    if (strcmp(n->name->text.ptr, "items") == 0)
        return build_schema(to, load, n, err);
    if (word == WORD_OTHER)
        PDR_TRY(pdr__load_notice(load, n->name, PDR_SEVERITY_INFO,
                                 "the Python loader refuses it in a schema",
                                 err));
    if (word == WORD_EXAMPLE)
        pdr_builder_array(to);
    PDR_TRY(pdr__load_value(to, load, n, err));
    if (word == WORD_EXAMPLE)
        pdr_builder_end(to);
done:
    return rc;
}

static pdr_rc build_schema(pdr_builder *to, const struct pdr__load *load,
                           const struct pdr__node *node, pdr_err *err)
{
    const struct pdr__node *properties =
        node->kind == PDR_NODE_LIST ? node : pdr__node_get(node, "properties");
    pdr_rc rc = PDR_OK;

    if (node->kind == PDR_NODE_SCALAR) /* `true` is a schema, too */
        return pdr__load_value(to, load, node, err);
    pdr_builder_object(to);
    if (properties != NULL && pdr__node_get(node, "type") == NULL &&
        pdr__node_get(node, "kind") == NULL) {
        pdr_builder_name(to, PDR_LIT("type"));
        pdr_builder_string(to, PDR_LIT("object"));
    }
    if (properties == node) {
        pdr_builder_name(to, PDR_LIT("properties"));
        PDR_TRY(build_properties(to, load, node, err));
    } else {
        for (const struct pdr__node *n = node->first; n != NULL; n = n->next)
            PDR_TRY(build_member(to, load, n, err));
    }
    if (properties != NULL && (pdr__node_get(node, "required") == NULL ||
                               is_flag(pdr__node_get(node, "required"))))
        build_required(to, properties);
    pdr_builder_end(to);
done:
    return rc;
}

pdr_rc pdr__load_schema(pdr_value **out, const struct pdr__load *load,
                        const struct pdr__node *node, pdr_err *err)
{
    const pdr_schema_options lenient = {.lenient = true};
    struct pdr__load shown = *load;
    pdr_schema *schema = NULL;
    pdr_builder *to = NULL;
    pdr_rc rc = PDR_OK;

    *out = NULL;
    shown.is_shown = true; /* errors about schemas and arguments show parts */
    PDR_TRY(pdr_builder_new(&to, err));
    PDR_TRY(build_schema(to, &shown, node, err));
    PDR_TRY(pdr_builder_finish(out, to, err));
    rc = pdr_schema_new(&schema, *out, &lenient, err);
    if (rc != PDR_OK) {
        (void)pdr__yaml_at(load->from->text, node, rc, err);
        pdr_value_free(*out);
        *out = NULL;
    }
done:
    pdr_schema_free(schema);
    pdr_builder_free(to);
    return rc;
}
