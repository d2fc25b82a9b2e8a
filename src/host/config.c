/*
 * config.c - an agent from a definition file.
 *
 * WHY  An agent without a compiler. The file is the one that Agent Framework
 *      reads, so a user of both needs one file; where the two differ, a notice
 *      says so. What is known to be wrong is refused here, with its place, and
 *      not when a model is asked.
 *
 *      text ─► tree ─► members ─► model ─► client ┐
 *                          ├────► tools ──────────┼─► agent
 *                          └────► metadata ───────┴─► wrapper
 *
 * SECRETS  A key is named, never written: a variable or a file has it. The
 *      value of a variable goes into the part that needs it and nowhere else:
 *      no notice, no error, not the definition that the host keeps.
 *
 * NOT HERE  YAML (yaml.c), the parts (config_*.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "host.h"

static const struct pdr__member root_members[] = {
    {"kind", PDR_USE_BOTH},          {"name", PDR_USE_BOTH},
    {"description", PDR_USE_BOTH},   {"instructions", PDR_USE_BOTH},
    {"model", PDR_USE_BOTH},         {"outputSchema", PDR_USE_BOTH},
    {"tools", PDR_USE_BOTH},         {"metadata", PDR_USE_HERE},
    {"displayName", PDR_USE_NOBODY}, {"additionalInstructions", PDR_USE_NOBODY},
    {"inputSchema", PDR_USE_NOBODY}, {"template", PDR_USE_NOBODY},
    {NULL, PDR_USE_UNKNOWN}};

/* --- members -------------------------------------------------------------- */

pdr_rc pdr__load_notice(const struct pdr__load *load,
                        const struct pdr__node *node, pdr_severity severity,
                        const char *what, pdr_err *err)
{
    pdr_notice notice = {
        .severity = severity, .line = node->line, .column = node->column};
    char line[PDR_ERR_MESSAGE], shown[PDR_SHOWN];

    if (load->fn == NULL)
        return PDR_OK;
    (void)snprintf(line, sizeof(line), "'%s': %s",
                   pdr__shown(shown, node->text), what);
    notice.text = pdr_str_c(line);
    return load->fn(&notice, err, load->arg);
}

pdr_rc pdr__load_members(const struct pdr__load *load,
                         const struct pdr__node *map,
                         const struct pdr__member *known, pdr_err *err)
{
    static const char *const texts[] = {
        [PDR_USE_OURS] = "the Python loader refuses it",
        [PDR_USE_HERE] = "the Python loader ignores it",
        [PDR_USE_NOBODY] = "not used, nor by the Python loader",
        [PDR_USE_THERE] = "not used here",
        [PDR_USE_UNKNOWN] = "not used, and the Python loader refuses it"};
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    for (const struct pdr__node *n = map->first; n != NULL; n = n->next) {
        const struct pdr__member *m = known;

        while (m->name != NULL && strcmp(m->name, n->name->text.ptr) != 0)
            m++;
        if (m->use == PDR_USE_REFUSED)
            return PDR_FAIL_NODE(load, n->name, err, BAD_DEFINITION,
                                 "'%s' is not known here",
                                 pdr__shown(shown, n->name->text));
        if (m->use != PDR_USE_BOTH)
            PDR_TRY(pdr__load_notice(load, n->name,
                                     m->use >= PDR_USE_NOBODY
                                         ? PDR_SEVERITY_WARNING
                                         : PDR_SEVERITY_INFO,
                                     texts[m->use], err));
    }
done:
    return rc;
}

pdr_rc pdr__load_kind(const struct pdr__node **out,
                      const struct pdr__load *load, const struct pdr__node *map,
                      const char *name, enum pdr__node_kind kind, pdr_err *err)
{
    *out = pdr__node_get(map, name);
    if (*out == NULL || (*out)->kind == kind)
        return PDR_OK;
    return PDR_FAIL_NODE(load, *out, err, BAD_DEFINITION, "'%s' must be a %s",
                         name, kind == PDR_NODE_MAP ? "map" : "list");
}

/* No key is written out, wherever it is: `apiKey`, or `key` of a connection. */
static pdr_rc refuse_secrets(const struct pdr__load *load,
                             const struct pdr__node *node, pdr_err *err)
{
    const bool is_connection =
        node->name != NULL && strcmp(node->name->text.ptr, "connection") == 0;
    pdr_rc rc = PDR_OK;

    for (const struct pdr__node *n = node->first; n != NULL; n = n->next) {
        const char *name = n->name != NULL ? n->name->text.ptr : "";

        if (n->kind != PDR_NODE_SCALAR)
            PDR_TRY(refuse_secrets(load, n, err));
        else if ((strcasecmp(name, "apiKey") == 0 ||
                  (is_connection && strcmp(name, "key") == 0)) &&
                 pdr__scalar_of(n) != PDR_SCALAR_NULL &&
                 pdr__node_variable(n) == NULL)
            return PDR_FAIL_NODE(load, n, err, LITERAL_SECRET,
                                 "a key is not written into the file: write "
                                 "%s: =Env.NAME, or keyFile: FILE",
                                 name);
    }
done:
    return rc;
}

/* --- texts and values ----------------------------------------------------- */

/* The value of a variable, in arena. */
static pdr_rc look_up(pdr_str *out, const struct pdr__load *load,
                      const struct pdr__node *node, const char *variable,
                      pdr_err *err)
{
    const pdr_definition *from = load->from;
    const char *value = from->env != NULL ? from->env(variable, from->env_arg)
                                          : getenv(variable);
    char *copy = NULL;
    pdr_rc rc = PDR_OK;

    if (value == NULL || value[0] == '\0' ||
        pdr__utf8_check(pdr_str_c(value), NULL) != PDR_OK)
        return PDR_FAIL_NODE(load, node, err, NO_VARIABLE,
                             "the variable '%.64s' is %s", variable,
                             value == NULL || value[0] == '\0' ? "not set"
                                                               : "not UTF-8");
    PDR_TRY(pdr__arena_strndup(&copy, load->memory, pdr_str_c(value), err));
    *out = pdr_str_c(copy);
done:
    return rc;
}

pdr_rc pdr__load_text(pdr_str *out, const struct pdr__load *load,
                      const struct pdr__node *node, pdr_err *err)
{
    const char *variable = pdr__node_variable(node);

    *out = node->text;
    if (node->kind != PDR_NODE_SCALAR)
        return PDR_FAIL_NODE(load, node, err, BAD_DEFINITION, "%s",
                             "a text is expected here");
    if (variable != NULL && load->is_shown)
        return PDR_FAIL_NODE(load, node, err, BAD_DEFINITION, "%s",
                             "this may be shown, so it may not come from a "
                             "variable: write it out");
    if (variable != NULL)
        return look_up(out, load, node, variable, err);
    if (pdr__scalar_of(node) == PDR_SCALAR_TEXT)
        return PDR_OK;
    return pdr__load_notice(load, node, PDR_SEVERITY_WARNING,
                            "a text here, but not in YAML 1.1, and the Python "
                            "loader refuses it: put quotes around it",
                            err);
}

pdr_rc pdr__load_member(pdr_str *out, const struct pdr__load *load,
                        const struct pdr__node *map, const char *name,
                        enum pdr__source source, pdr_err *err)
{
    const struct pdr__node *node = pdr__node_get(map, name);
    struct pdr__load how = *load;

    *out = PDR_LIT("");
    how.is_shown = how.is_shown || source == PDR_WRITTEN;
    return node != NULL ? pdr__load_text(out, &how, node, err) : PDR_OK;
}

pdr_rc pdr__load_path(const char **out, const struct pdr__load *load,
                      const struct pdr__node *node, pdr_err *err)
{
    const char *folder = load->from->folder;
    pdr_buf whole = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_str path = {NULL, 0};
    char *copy = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__load_text(&path, load, node, err));
    if (folder != NULL && path.ptr[0] != '/')
        PDR_TRY(pdr_buf_printf(&whole, err, "%s/", folder));
    PDR_TRY(pdr_buf_append(&whole, path, err));
    PDR_TRY(pdr__arena_strndup(&copy, load->memory, pdr_buf_str(&whole), err));
    *out = copy;
done:
    pdr_buf_dispose(&whole);
    return rc;
}

static pdr_rc build_scalar(pdr_builder *to, const struct pdr__load *load,
                           const struct pdr__node *node, pdr_err *err)
{
    pdr_str text = node->text;
    pdr_rc rc = PDR_OK;

    switch (pdr__scalar_of(node)) {
    case PDR_SCALAR_NULL:
        pdr_builder_null(to);
        break;
    case PDR_SCALAR_FALSE:
        pdr_builder_bool(to, false);
        break;
    case PDR_SCALAR_TRUE:
        pdr_builder_bool(to, true);
        break;
    case PDR_SCALAR_NUMBER:
        pdr_builder_number(to, text);
        break;
    case PDR_SCALAR_OTHER:
    case PDR_SCALAR_TEXT:
        if (load != NULL)
            PDR_TRY(pdr__load_text(&text, load, node, err));
        pdr_builder_string(to, text);
        break;
    }
done:
    return rc;
}

pdr_rc pdr__load_value(pdr_builder *to, const struct pdr__load *load,
                       const struct pdr__node *node, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (node->kind == PDR_NODE_SCALAR)
        return build_scalar(to, load, node, err);
    if (node->kind == PDR_NODE_MAP)
        pdr_builder_object(to);
    else
        pdr_builder_array(to);
    for (const struct pdr__node *n = node->first; n != NULL; n = n->next) {
        if (n->name != NULL)
            pdr_builder_name(to, n->name->text);
        PDR_TRY(pdr__load_value(to, load, n, err));
    }
    pdr_builder_end(to);
done:
    return rc;
}

/* --- the agent ------------------------------------------------------------ */

static pdr_rc check_kind(const struct pdr__load *load,
                         const struct pdr__node *root, pdr_err *err)
{
    const struct pdr__node *node = pdr__node_get(root, "kind");
    char shown[PDR_SHOWN];
    pdr_str kind = {NULL, 0};
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__load_member(&kind, load, root, "kind", PDR_WRITTEN, err));
    if (node == NULL)
        rc = PDR_FAIL_NODE(load, root, err, BAD_DEFINITION, "%s",
                           "'kind' is missing: write kind: Prompt");
    else if (strcasecmp(kind.ptr, "Prompt") != 0 &&
             strcmp(kind.ptr, "Agent") != 0)
        rc = PDR_FAIL_NODE(load, node, err, BAD_DEFINITION,
                           "a definition is of kind Prompt, not '%s'",
                           pdr__shown(shown, kind));
done:
    return rc;
}

static pdr_rc get_name(pdr_str *out, const struct pdr__load *load,
                       const struct pdr__node *root, pdr_err *err)
{
    const struct pdr__node *place = pdr__node_get(root, "name");
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__load_member(out, load, root, "name", PDR_WRITTEN, err));
    if (load->from->name.len > 0)
        *out = load->from->name;
    if (out->len > PDR_MAX_AGENT_BYTES)
        rc = PDR_FAIL_NODE(
            load, place != NULL ? place : root, err, BAD_DEFINITION,
            "the name of an agent has at most %u bytes", PDR_MAX_AGENT_BYTES);
done:
    return rc;
}

/* Keep the file as it is written, and its metadata. */
static pdr_rc keep_definition(struct pdr__loaded *out,
                              const struct pdr__load *load,
                              const struct pdr__node *root, pdr_err *err)
{
    const struct pdr__node *metadata = NULL;
    pdr_builder *to = NULL;
    pdr_value *value = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(
        pdr__load_kind(&metadata, load, root, "metadata", PDR_NODE_MAP, err));
    PDR_TRY(pdr_builder_new(&to, err));
    PDR_TRY(pdr__load_value(to, NULL, root, err));
    PDR_TRY(pdr_builder_finish(&value, to, err));
    out->view.definition = value;
    if (metadata != NULL) {
        rc = pdr_properties_from_value(&out->view.wrapper.properties,
                                       pdr_value_get_c(value, "metadata"), err);
        rc = pdr__yaml_at(load->from->text, metadata, rc, err);
    }
done:
    pdr_builder_free(to);
    return rc;
}

static pdr_rc make_agent(struct pdr__loaded *out, struct pdr__load *load,
                         const struct pdr__node *root, pdr_err *err)
{
    const struct pdr__node *model = NULL, *options = NULL, *tools = NULL;
    const struct pdr__node *schema = pdr__node_get(root, "outputSchema");
    pdr_agent_parts parts = {.client = NULL};
    pdr_value *model_options = NULL, *output_schema = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(check_kind(load, root, err));
    PDR_TRY(refuse_secrets(load, root, err));
    PDR_TRY(pdr__load_members(load, root, root_members, err));
    PDR_TRY(keep_definition(out, load, root, err));
    parts.id = load->from->id;
    PDR_TRY(get_name(&parts.name, load, root, err));
    PDR_TRY(pdr__load_member(&parts.description, load, root, "description",
                             PDR_WRITTEN_OR_VARIABLE, err));
    PDR_TRY(pdr__load_member(&parts.instructions, load, root, "instructions",
                             PDR_WRITTEN_OR_VARIABLE, err));
    PDR_TRY(pdr__load_kind(&model, load, root, "model", PDR_NODE_MAP, err));
    PDR_TRY(pdr__load_client(&parts.client, load, model, root, err));
    PDR_TRY(
        pdr__load_kind(&options, load, model, "options", PDR_NODE_MAP, err));
    if (options != NULL)
        PDR_TRY(pdr__load_options(&model_options, load, options, err));
    if (schema != NULL)
        PDR_TRY(pdr__load_schema(&output_schema, load, schema, err));
    PDR_TRY(pdr__load_kind(&tools, load, root, "tools", PDR_NODE_LIST, err));
    if (tools != NULL)
        PDR_TRY(pdr__load_tools(load, tools, err));
    parts.options = model_options;
    parts.output_schema = output_schema;
    parts.tools = load->tools;
    parts.tool_count = load->tool_count;
    PDR_TRY(pdr_agent_new(&out->view.agent, &parts, err));
    out->view.wrapper.agent = out->view.agent;
    out->view.name = pdr_agent_name(out->view.agent);
done:
    pdr_value_free(output_schema);
    pdr_value_free(model_options);
    pdr_client_free(parts.client);
    return rc;
}

pdr_rc pdr__definition_load(struct pdr__loaded *out,
                            const pdr_definition *definition, pdr_err *err,
                            pdr_notice_fn fn, void *arg)
{
    const struct pdr__arena no_memory = PDR_ARENA_INIT(SIZE_MAX);
    struct pdr__load load = {
        .from = definition, .memory = &out->memory, .fn = fn, .arg = arg};
    struct pdr__node *root = NULL;
    pdr_rc rc = PDR_OK;

    out->memory = no_memory;
    PDR_TRY(pdr__yaml_read(&root, &out->memory, definition->text, err));
    PDR_TRY(make_agent(out, &load, root, err));
done:
    for (size_t i = 0; i < load.tool_count; i++)
        pdr_value_free((pdr_value *)(uintptr_t)load.tools[i].parameters);
    pdr__free(load.tools);
    return rc;
}

void pdr__loaded_dispose(struct pdr__loaded *loaded)
{
    pdr_agent_free(loaded->view.agent);
    pdr_properties_free(loaded->view.wrapper.properties);
    pdr_value_free((pdr_value *)(uintptr_t)loaded->view.definition);
    pdr__arena_dispose(&loaded->memory);
}
