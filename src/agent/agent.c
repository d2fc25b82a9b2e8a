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

#define USUAL_MAX_CALLS    40
#define USUAL_MAX_FAILURES 3
#define ID_BYTES           16

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
    agent->max_failures =
        parts->max_failures > 0 ? parts->max_failures : USUAL_MAX_FAILURES;
    agent->parallel_calls = parts->parallel_calls < PDR_MAX_PARALLEL_CALLS
                                ? parts->parallel_calls
                                : PDR_MAX_PARALLEL_CALLS;
    agent->stores_each_call = parts->stores_each_call;
    agent->tells_errors = parts->tells_errors;
    agent->log = (pdr_log){parts->log, parts->log_arg};
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
    if (parts->output_schema != NULL)
        PDR_TRY(pdr__output_new(&agent->output, parts->output_schema, err));
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
    pdr__output_free(agent->output);
    pdr_client_free(agent->client);
    pdr_agent_free(agent->inner);
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

pdr_str pdr_agent_description(const pdr_agent *agent)
{
    return agent->description;
}

/* Is the provider of this kind or name, and has it state under `key`? */
static bool provider_matches(const pdr_provider *provider, const char *kind,
                             const char *key)
{
    const char *own =
        provider->kind == PDR_PROVIDER_HISTORY ? "history" : "context";

    if (strcmp(kind, own) != 0 && strcmp(kind, provider->name) != 0)
        return false;
    if (key == NULL)
        return true;
    for (size_t i = 0; provider->keys != NULL && provider->keys[i] != NULL; i++)
        if (strcmp(key, provider->keys[i]) == 0)
            return true;
    return false;
}

void *pdr_agent_get_service(const pdr_agent *agent, const char *kind,
                            const char *key)
{
    if (key == NULL && strcmp(kind, "agent") == 0)
        return (void *)(uintptr_t)agent;
    for (; agent->inner != NULL; agent = agent->inner) {
        if (key == NULL && agent->layer.arg != NULL &&
            strcmp(kind, agent->layer.name) == 0)
            return agent->layer.arg;
    }
    if (strcmp(kind, "client") == 0 ||
        strcmp(kind, agent->client->ops->name) == 0)
        return agent->client;
    for (size_t i = 0; i < pdr_provider_set_count(agent->providers); i++) {
        const pdr_provider *provider = pdr_provider_set_at(agent->providers, i);

        if (provider->self != NULL && provider_matches(provider, kind, key))
            return provider->self;
    }
    return NULL;
}

/* --- sessions --------------------------------------------------------------
 */

pdr_rc pdr__agent_accepts(const pdr_agent *agent, pdr_session *session,
                          bool has_store, pdr_err *err)
{
    pdr_session_kind kind = pdr_session_get_kind(session);
    pdr_session_shape shape = pdr_session_get_shape(session);
    pdr_value *service = NULL;
    pdr_rc rc = PDR_OK;

    while (agent->inner != NULL)
        agent = agent->inner;
    if ((kind != PDR_SESSION_KIND_UNSTATED && kind != PDR_SESSION_KIND_CLIENT &&
         kind != PDR_SESSION_KIND_PYTHON &&
         (kind != PDR_SESSION_KIND_DURABLE || !has_store)) ||
        shape == PDR_SESSION_DOTNET_THREAD ||
        shape == PDR_SESSION_PYTHON_THREAD)
        return PDR_FAIL(err, SESSION_KIND,
                        "this agent cannot use a session of kind %s, shape %s",
                        pdr_session_kind_name(kind),
                        pdr_session_shape_name(shape));
    if (kind == PDR_SESSION_KIND_DURABLE && agent->stores_each_call)
        return PDR_FAIL(err, SESSION_KIND, "%s",
                        "a durable session is stored turn by turn, and this "
                        "agent stores each call of the model");
    PDR_TRY(pdr_session_service_id(&service, session, err));
    if (service != NULL)
        rc = PDR_FAIL(err, SESSION_KIND, "%s",
                      "the history of this session is kept by a service, which "
                      "this agent cannot ask");
done:
    pdr_value_free(service);
    return rc;
}

pdr_rc pdr_agent_create_session(pdr_session **out, const pdr_agent *agent,
                                const pdr_session_parts *parts, pdr_err *err)
{
    pdr_session_parts own = {.kind = PDR_SESSION_KIND_UNSTATED};
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && agent != NULL);
    *out = NULL;
    if (parts != NULL)
        own = *parts;
    if (own.kind == PDR_SESSION_KIND_UNSTATED &&
        own.shape != PDR_SESSION_PYTHON)
        own.kind = PDR_SESSION_KIND_CLIENT;
    PDR_TRY(pdr_session_new(out, &own, err));
    rc = pdr__agent_accepts(agent, *out, true, err);
    if (rc != PDR_OK) {
        pdr_session_free(*out);
        *out = NULL;
    }
done:
    return rc;
}

/* Does all that has a type fit it? An absent slot or property does. */
static pdr_rc types_check(const pdr_session_wrapper *wrapper,
                          const pdr_session_types *types, pdr_err *err)
{
    pdr_bag *bag = pdr_session_bag(wrapper->session);
    size_t slots = types->slot_count;
    size_t all =
        slots + (wrapper->properties != NULL ? types->properties.count : 0);

    for (size_t i = 0; i < all; i++) {
        pdr_object *object = NULL;
        pdr_err why = PDR_ERR_INIT;
        pdr_rc rc = i < slots
                        ? pdr_bag_get_typed(&object, bag, types->slots[i].key,
                                            types->slots[i].type, &why)
                        : pdr_properties_get_typed(
                              &object, wrapper->properties,
                              types->properties.types[i - slots], &why);

        pdr_object_free(object);
        if (rc != PDR_OK && rc != PDR_ENOTFOUND)
            return pdr__err_pass(err, &why);
    }
    return PDR_OK;
}

pdr_rc pdr_agent_serialize(pdr_value **out, const pdr_agent *agent,
                           const pdr_session_wrapper *wrapper,
                           const pdr_session_types *types, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && agent != NULL && wrapper != NULL &&
                wrapper->session != NULL);
    *out = NULL;
    PDR_TRY(pdr__agent_accepts(agent, wrapper->session, true, err));
    if (types != NULL)
        PDR_TRY(types_check(wrapper, types, err));
    if (wrapper->properties == NULL && wrapper->frame == NULL)
        rc = pdr_session_to_value(out, wrapper->session, err);
    else
        rc = pdr_session_wrapper_to_value(out, wrapper, err);
done:
    return rc;
}

pdr_rc pdr_agent_deserialize(pdr_session_wrapper *out, const pdr_agent *agent,
                             const pdr_value *value,
                             const pdr_session_types *types, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && agent != NULL && value != NULL);
    PDR_TRY(pdr_session_wrapper_from_value(out, value, NULL, err, NULL, NULL));
    PDR_TRY(pdr__agent_accepts(agent, out->session, true, err));
    if (types != NULL)
        PDR_TRY(types_check(out, types, err));
done:
    if (rc != PDR_OK)
        pdr_session_wrapper_dispose(out);
    return rc;
}
