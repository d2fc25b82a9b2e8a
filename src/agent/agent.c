/*
 * agent.c - an agent: built once, checked when it is built, never changed.
 *
 * WHY  One agent serves all sessions and threads of a process. So everything
 *      that a caller hands in is copied or shared, and what could fail later
 *      for a reason that is known now (a tool's name, its schema) fails here.
 */
#include <stdio.h>

#include "agent.h"

#include "provider.h"

#define USUAL_MAX_CALLS 40
#define ID_BYTES        16

static pdr_rc text_copy(pdr_str *out, struct pdr__arena *memory, pdr_str text,
                        pdr_err *err)
{
    char *copy = NULL;
    pdr_rc rc = pdr__arena_strndup(&copy, memory, text, err);

    *out = pdr_str_n(copy, text.len);
    return rc;
}

/* The id that was given, or 32 hex digits. */
static pdr_rc make_id(pdr_str *out, struct pdr__arena *memory, pdr_str given,
                      pdr_err *err)
{
    uint8_t bytes[ID_BYTES];
    char digits[2 * ID_BYTES + 1];
    pdr_rc rc = PDR_OK;

    if (given.len > 0)
        return text_copy(out, memory, given, err);
    PDR_TRY(pdr__rand_fill(bytes, pdr__rand_system(), sizeof(bytes), err));
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(digits + 2 * i, 3, "%02x", bytes[i]);
    PDR_TRY(text_copy(out, memory, pdr_str_n(digits, 2 * ID_BYTES), err));
done:
    return rc;
}

/* Copy the tools; no two have one name. */
static pdr_rc make_tools(pdr_agent *agent, const pdr_agent_parts *parts,
                         pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (parts->tool_count == 0)
        return PDR_OK;
    agent->tools = pdr__calloc(parts->tool_count, sizeof(*agent->tools));
    agent->infos = pdr__calloc(parts->tool_count, sizeof(*agent->infos));
    if (agent->tools == NULL || agent->infos == NULL)
        return pdr__nomem(err);
    for (size_t i = 0; i < parts->tool_count; i++) {
        struct pdr__tool *tool = &agent->tools[i];

        PDR_TRY(pdr__tool_init(tool, &parts->tools[i], err));
        if (pdr__agent_tool(agent, pdr_str_c(tool->name)) != NULL) {
            rc = PDR_FAIL(err, TOOL_CLASH, "two tools are called '%s'",
                          tool->name);
            pdr__tool_dispose(tool);
            goto done;
        }
        agent->infos[i] = pdr__tool_info(tool);
        agent->tool_count++;
    }
done:
    return rc;
}

pdr_tool_info pdr__tool_info(const struct pdr__tool *tool)
{
    return (pdr_tool_info){
        .name = pdr_str_c(tool->name),
        .description =
            pdr_str_c(tool->description != NULL ? tool->description : ""),
        .parameters = tool->parameters};
}

const pdr_provider *pdr__history_of(const pdr_provider_set *set)
{
    for (size_t i = 0; i < pdr_provider_set_count(set); i++) {
        const pdr_provider *provider = pdr_provider_set_at(set, i);

        if (provider->kind == PDR_PROVIDER_HISTORY)
            return provider;
    }
    return NULL;
}

struct pdr__tool *pdr__agent_tool(const pdr_agent *agent, pdr_str name)
{
    for (size_t i = 0; i < agent->tool_count; i++) {
        if (pdr_str_equal(pdr_str_c(agent->tools[i].name), name))
            return &agent->tools[i];
    }
    return NULL;
}

pdr_rc pdr_agent_new(pdr_agent **out, const pdr_agent_parts *parts,
                     pdr_err *err)
{
    const struct pdr__arena no_memory = PDR_ARENA_INIT(SIZE_MAX);
    pdr_agent *agent = NULL;
    char *history_key = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && parts != NULL && parts->client != NULL);
    *out = NULL;
    if (parts->options != NULL && pdr_value_kind(parts->options) != PDR_OBJECT)
        return PDR_FAIL(err, WRONG_KIND, "%s",
                        "the options of an agent are an object");
    agent = pdr__calloc(1, sizeof(*agent));
    if (agent == NULL)
        return pdr__nomem(err);
    agent->holders = 1;
    agent->memory = no_memory;
    agent->window_messages = parts->window_messages;
    agent->window_bytes = parts->window_bytes;
    agent->window_turns = parts->window_turns;
    agent->history_filter = parts->history_filter;
    agent->history_arg = parts->history_arg;
    agent->max_calls =
        parts->max_calls > 0 ? parts->max_calls : USUAL_MAX_CALLS;
    PDR_TRY(make_id(&agent->id, &agent->memory, parts->id, err));
    PDR_TRY(text_copy(&agent->name, &agent->memory, parts->name, err));
    PDR_TRY(text_copy(&agent->description, &agent->memory, parts->description,
                      err));
    PDR_TRY(text_copy(&agent->instructions, &agent->memory, parts->instructions,
                      err));
    PDR_TRY(make_tools(agent, parts, err));
    PDR_TRY(pdr__provider_set_new(&agent->providers, parts->providers,
                                  parts->provider_count, parts->history_key,
                                  err));
    if (parts->history_key != NULL) {
        PDR_TRY(pdr__arena_strndup(&history_key, &agent->memory,
                                   pdr_str_c(parts->history_key), err));
        agent->history_key = history_key;
    }
    if (parts->options != NULL)
        agent->options = pdr_value_ref(parts->options);
    agent->client = pdr_client_ref(parts->client);
    *out = agent;
    agent = NULL;
done:
    pdr_agent_free(agent);
    return rc;
}

pdr_agent *pdr_agent_ref(const pdr_agent *agent)
{
    pdr_agent *out = (pdr_agent *)(uintptr_t)agent;

    if (out != NULL)
        __atomic_add_fetch(&out->holders, 1, __ATOMIC_RELAXED);
    return out;
}

void pdr_agent_free(pdr_agent *agent)
{
    if (agent == NULL ||
        __atomic_sub_fetch(&agent->holders, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (size_t i = 0; i < agent->tool_count; i++)
        pdr__tool_dispose(&agent->tools[i]);
    pdr__free(agent->tools);
    pdr__free(agent->infos);
    pdr_provider_set_free(agent->providers);
    pdr_value_free(agent->options);
    pdr_client_free(agent->client);
    pdr__arena_dispose(&agent->memory);
    pdr__free(agent);
}

pdr_str pdr_agent_id(const pdr_agent *agent)
{
    return agent->id;
}

pdr_str pdr_agent_name(const pdr_agent *agent)
{
    return agent->name;
}
