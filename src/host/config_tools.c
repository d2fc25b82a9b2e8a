/*
 * config_tools.c - the tools of a definition.
 *
 *     function   code of the program that loads the file, found by its name
 *     command    a program that is started for each call; a kind of our own
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host.h"

#include "../value/number.h"

#define MAX_TIMEOUT_S 86400u /* a day; what takes longer is not a tool */

static const struct pdr__member function_members[] = {
    {"kind", PDR_USE_BOTH},         {"name", PDR_USE_BOTH},
    {"description", PDR_USE_BOTH},  {"parameters", PDR_USE_BOTH},
    {"bindings", PDR_USE_BOTH},     {"strict", PDR_USE_THERE},
    {"approvalMode", PDR_USE_OURS}, {"repeatable", PDR_USE_OURS},
    {NULL, PDR_USE_UNKNOWN}};

/* All of it is ours; a notice about the kind says so. Whoever writes approval
 * for approvalMode means it. */
static const struct pdr__member command_members[] = {
    {"kind", PDR_USE_BOTH},        {"name", PDR_USE_BOTH},
    {"description", PDR_USE_BOTH}, {"parameters", PDR_USE_BOTH},
    {"command", PDR_USE_BOTH},     {"folder", PDR_USE_BOTH},
    {"timeout", PDR_USE_BOTH},     {"maxBytes", PDR_USE_BOTH},
    {"environment", PDR_USE_BOTH}, {"approvalMode", PDR_USE_BOTH},
    {"repeatable", PDR_USE_BOTH},  {NULL, PDR_USE_REFUSED}};

/* --- functions ------------------------------------------------------------ */

/* The function of the program with this name. */
static const pdr_tool *find_function(const struct pdr__load *load,
                                     const struct pdr__node *name)
{
    for (size_t i = 0; name != NULL && i < load->from->tool_count; i++) {
        if (pdr_str_equal(name->text, pdr_str_c(load->from->tools[i].name)))
            return &load->from->tools[i];
    }
    return NULL;
}

/* `bindings` name the function: a list of {name: ...}, or a map whose names
 * they are. The name of the tool itself comes last. */
static pdr_rc bind_function(pdr_tool *tool, const struct pdr__load *load,
                            const struct pdr__node *node, pdr_err *err)
{
    const struct pdr__node *bindings = pdr__node_get(node, "bindings");
    const struct pdr__node *n = bindings != NULL ? bindings->first : NULL;
    const struct pdr__node *place = pdr__node_get(node, "name");
    const pdr_tool *found = NULL;
    pdr_rc rc = PDR_OK;

    if (place == NULL)
        place = node;
    PDR_TRY(pdr__load_members(load, node, function_members, err));
    if (bindings != NULL && bindings->kind == PDR_NODE_SCALAR)
        return PDR_FAIL_NODE(load, bindings, err, BAD_DEFINITION, "%s",
                             "'bindings' must be a list or a map");
    for (; n != NULL && found == NULL; n = n->next)
        found = find_function(load, n->name != NULL ? n->name
                                                    : pdr__node_get(n, "name"));
    if (found == NULL)
        found = find_function(load, pdr__node_get(node, "name"));
    if (found == NULL)
        return pdr__load_notice(load, place, PDR_SEVERITY_WARNING,
                                "this program has no such function: a call of "
                                "it ends the run, for the caller to answer",
                                err);
    tool->fn = found->fn;
    tool->arg = found->arg;
    tool->needs_approval = tool->needs_approval || found->needs_approval;
    tool->is_repeatable = tool->is_repeatable || found->is_repeatable;
    if (tool->description == NULL)
        tool->description = found->description;
    if (tool->parameters == NULL)
        tool->parameters = pdr_value_ref(found->parameters);
done:
    return rc;
}

/* --- commands ------------------------------------------------------------- */

/* The texts of a list, or "NAME=VALUE" of a map, in arena, with a final NULL.
 */
static pdr_rc make_texts(const char *const **out, const struct pdr__load *load,
                         const struct pdr__node *node, pdr_err *err)
{
    pdr_buf pair = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    size_t count = 1;
    void *room = NULL;
    char **list = NULL;
    pdr_rc rc = PDR_OK;

    for (const struct pdr__node *n = node->first; n != NULL; n = n->next)
        count++;
    PDR_TRY(pdr__arena_alloc(&room, load->memory, count * sizeof(char *), err));
    list = room;
    *out = (const char *const *)room;
    for (const struct pdr__node *n = node->first; n != NULL; n = n->next) {
        pdr_str text = {NULL, 0};

        PDR_TRY(pdr__load_text(&text, load, n, err));
        pair.len = 0;
        if (n->name != NULL)
            PDR_TRY(pdr_buf_printf(&pair, err, "%s=", n->name->text.ptr));
        PDR_TRY(pdr_buf_append(&pair, text, err));
        PDR_TRY(
            pdr__arena_strndup(list++, load->memory, pdr_buf_str(&pair), err));
    }
    *list = NULL;
done:
    pdr_buf_dispose(&pair);
    return rc;
}

/* A number of 1 to `max`; 0 if the member is not there. */
static pdr_rc get_count(uint64_t *out, const struct pdr__load *load,
                        const struct pdr__node *map, const char *name,
                        uint64_t max, pdr_err *err)
{
    const struct pdr__node *node = pdr__node_get(map, name);

    *out = 0;
    if (node == NULL || (pdr__scalar_of(node) == PDR_SCALAR_NUMBER &&
                         pdr__number_uint64(out, node->text, NULL) == PDR_OK &&
                         *out > 0 && *out <= max))
        return PDR_OK;
    return PDR_FAIL_NODE(load, node, err, BAD_DEFINITION,
                         "'%s' must be a whole number from 1 to %ju", name,
                         (uintmax_t)max);
}

/* Would a program of this name be found, by a process in this folder? */
static bool is_program(const char *name, const char *folder)
{
    const char *list = getenv("PATH");
    bool is_there = false;
    char path[4096];

    if (strchr(name, '/') != NULL) {
        (void)snprintf(path, sizeof(path), "%s/%s",
                       name[0] == '/' ? "" : folder, name);
        return access(path, X_OK) == 0;
    }
    for (list = list != NULL ? list : "/bin:/usr/bin"; !is_there; list++) {
        size_t len = strcspn(list, ":");

        (void)snprintf(path, sizeof(path), "%.*s/%s", (int)len, list, name);
        is_there = access(path, X_OK) == 0;
        list += len;
        if (*list == '\0')
            break;
    }
    return is_there;
}

/* What a call would need, while the place in the file is known. */
static pdr_rc check_command(const struct pdr__load *load,
                            const struct pdr__node *program,
                            const struct pdr__node *folder,
                            const pdr_command *command, pdr_err *err)
{
    char shown[PDR_SHOWN];
    struct stat info;

    if (pdr__node_variable(program) != NULL)
        return PDR_FAIL_NODE(load, program, err, BAD_DEFINITION, "%s",
                             "the program may be shown, so it may not come "
                             "from a variable: write it out");
    if (stat(command->folder, &info) != 0 || !S_ISDIR(info.st_mode))
        return PDR_FAIL_NODE(load, folder, err, BAD_DEFINITION,
                             "there is no folder '%s'",
                             pdr__shown(shown, folder->text));
    if (!is_program(command->argv[0], command->folder))
        return PDR_FAIL_NODE(load, program, err, BAD_DEFINITION,
                             "there is no program '%s'",
                             pdr__shown(shown, program->text));
    return PDR_OK;
}

static pdr_rc make_command(pdr_tool *tool, const struct pdr__load *load,
                           const struct pdr__node *node, pdr_err *err)
{
    const struct pdr__node here = {.text = PDR_LIT(".")};
    const struct pdr__node *folder = pdr__node_get(node, "folder");
    const struct pdr__node *words = NULL, *environment = NULL;
    uint64_t timeout = 0, max_bytes = 0;
    pdr_command *command = NULL;
    void *room = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__load_notice(load, pdr__node_get(node, "kind"),
                             PDR_SEVERITY_INFO, "the Python loader refuses it",
                             err));
    PDR_TRY(pdr__load_members(load, node, command_members, err));
    PDR_TRY(pdr__load_kind(&words, load, node, "command", PDR_NODE_LIST, err));
    PDR_TRY(pdr__load_kind(&environment, load, node, "environment",
                           PDR_NODE_MAP, err));
    PDR_TRY(get_count(&timeout, load, node, "timeout", MAX_TIMEOUT_S, err));
    PDR_TRY(
        get_count(&max_bytes, load, node, "maxBytes", PDR_MAX_TEXT_BYTES, err));
    if (words == NULL || words->first == NULL)
        return PDR_FAIL_NODE(load, words != NULL ? words : node, err,
                             BAD_DEFINITION, "%s",
                             "a command is a list: [program, argument, ...]");
    PDR_TRY(pdr__arena_alloc(&room, load->memory, sizeof(*command), err));
    command = room;
    *command = (pdr_command){.timeout_ms = (uint32_t)timeout * 1000,
                             .max_bytes = (size_t)max_bytes};
    PDR_TRY(make_texts(&command->argv, load, words, err));
    if (environment != NULL)
        PDR_TRY(make_texts(&command->env, load, environment, err));
    if (folder == NULL)
        folder = &here;
    PDR_TRY(pdr__load_path(&command->folder, load, folder, err));
    PDR_TRY(check_command(load, words->first, folder, command, err));
    tool->fn =
        load->from->command != NULL ? load->from->command : pdr_command_run;
    tool->arg = command;
done:
    return rc;
}

/* --- all ------------------------------------------------------------------ */

/* `approvalMode: always` or `never`, or a map with that as its kind. */
static pdr_rc get_approval(bool *out, const struct pdr__load *load,
                           const struct pdr__node *tool, pdr_err *err)
{
    const struct pdr__node *mode = pdr__node_get(tool, "approvalMode");
    const struct pdr__node *kind = mode != NULL && mode->kind == PDR_NODE_MAP
                                       ? pdr__node_get(mode, "kind")
                                       : mode;

    *out = kind != NULL && pdr_str_equal(kind->text, PDR_LIT("always"));
    if (mode == NULL || *out ||
        (kind != NULL && pdr_str_equal(kind->text, PDR_LIT("never"))))
        return PDR_OK;
    return PDR_FAIL_NODE(load, mode, err, BAD_DEFINITION, "%s",
                         "'approvalMode' must be always or never");
}

/* `repeatable: true`: a call may be made again with the same token. */
static pdr_rc get_repeatable(bool *out, const struct pdr__load *load,
                             const struct pdr__node *tool, pdr_err *err)
{
    const struct pdr__node *node = pdr__node_get(tool, "repeatable");
    enum pdr__scalar scalar =
        node != NULL ? pdr__scalar_of(node) : PDR_SCALAR_FALSE;

    *out = scalar == PDR_SCALAR_TRUE;
    if (*out || scalar == PDR_SCALAR_FALSE)
        return PDR_OK;
    return PDR_FAIL_NODE(load, node, err, BAD_DEFINITION, "%s",
                         "'repeatable' must be true or false");
}

/* Check a tool as pdr_agent_new() will, while its place is known. */
static pdr_rc check_tool(const struct pdr__load *load,
                         const struct pdr__node *node, const pdr_tool *tool,
                         pdr_err *err)
{
    struct pdr__tool tried;
    pdr_rc rc = pdr__yaml_at(load->from->text, node,
                             pdr__tool_init(&tried, tool, err), err);

    if (rc != PDR_OK)
        return rc;
    pdr__tool_dispose(&tried);
    for (size_t i = 0; i < load->tool_count; i++) {
        if (strcmp(load->tools[i].name, tool->name) == 0)
            return PDR_FAIL_NODE(load, node, err, TOOL_CLASH,
                                 "two tools are called '%s'", tool->name);
    }
    return PDR_OK;
}

static pdr_rc add_tool(struct pdr__load *load, const struct pdr__node *node,
                       bool is_command, pdr_err *err)
{
    const struct pdr__node *parameters = pdr__node_get(node, "parameters");
    pdr_str name = {NULL, 0}, description = {NULL, 0};
    pdr_value *schema = NULL;
    pdr_tool tool = {.name = NULL};
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__load_member(&name, load, node, "name", PDR_WRITTEN, err));
    PDR_TRY(pdr__load_member(&description, load, node, "description",
                             PDR_WRITTEN_OR_VARIABLE, err));
    tool.name = name.ptr;
    tool.description = description.len > 0 ? description.ptr : NULL;
    PDR_TRY(get_approval(&tool.needs_approval, load, node, err));
    PDR_TRY(get_repeatable(&tool.is_repeatable, load, node, err));
    if (parameters != NULL)
        PDR_TRY(pdr__load_schema(&schema, load, parameters, err));
    tool.parameters = schema;
    PDR_TRY(is_command ? make_command(&tool, load, node, err)
                       : bind_function(&tool, load, node, err));
    schema = (pdr_value *)(uintptr_t)tool.parameters;
    PDR_TRY(check_tool(load, node, &tool, err));
    PDR_TRY(pdr__grow((void **)&load->tools, &load->tool_cap,
                      load->tool_count + 1, sizeof(tool), err));
    load->tools[load->tool_count++] = tool;
    schema = NULL;
done:
    pdr_value_free(schema);
    return rc;
}

pdr_rc pdr__load_tools(struct pdr__load *load, const struct pdr__node *list,
                       pdr_err *err)
{
    /* Kinds of Agent Framework that are not here. */
    static const char *const others[] = {"mcp",         "web_search",
                                         "file_search", "code_interpreter",
                                         "openapi",     "custom"};
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    for (const struct pdr__node *n = list->first; n != NULL; n = n->next) {
        const struct pdr__node *place = pdr__node_get(n, "kind");
        bool is_other = false;
        pdr_str kind = {NULL, 0};

        PDR_TRY(pdr__load_member(&kind, load, n, "kind", PDR_WRITTEN, err));
        for (size_t i = 0; i < PDR_COUNT(others); i++)
            is_other = is_other || strcmp(kind.ptr, others[i]) == 0;
        if (is_other) {
            PDR_TRY(pdr__load_notice(load, place, PDR_SEVERITY_WARNING,
                                     "tools of this kind are not offered here: "
                                     "the agent goes without it",
                                     err));
            continue;
        }
        if (strcmp(kind.ptr, "function") != 0 &&
            strcmp(kind.ptr, "command") != 0)
            return PDR_FAIL_NODE(
                load, place != NULL ? place : n, err, BAD_DEFINITION,
                place != NULL ? "a tool is of kind function or "
                                "command, not '%s'"
                              : "a tool is a map, with kind: function "
                                "or kind: command%s",
                pdr__shown(shown, kind));
        PDR_TRY(add_tool(load, n, strcmp(kind.ptr, "command") == 0, err));
    }
done:
    return rc;
}
