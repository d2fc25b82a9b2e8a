/*
 * service.c - a store, an engine and agents, put together once.
 */
#include <perdure/service.h>

#include "base.h"

struct pdr_service {
    pdr_store *store;     /* borrowed */
    pdr_durable *durable; /* owned, as the engine */
    pdr_engine *engine;
    struct pdr__map by_name; /* in small letters; to one of `agents` */
    struct pdr__arena memory;
    const pdr_service_agent *first;
    size_t count;
    pdr_service_agent agents[]; /* owned, with agents and metadata */
};

static pdr_rc name_fold(pdr_str *io, struct pdr__arena *memory, pdr_err *err)
{
    char *text = NULL;
    pdr_rc rc = pdr__arena_strndup(&text, memory, *io, err);

    if (rc != PDR_OK)
        return rc;
    for (size_t i = 0; i < io->len; i++)
        text[i] = pdr__ascii_lower(text[i]);
    io->ptr = text;
    return PDR_OK;
}

static pdr_rc agents_take(pdr_service *s, const pdr_service_opts *opts,
                          pdr_err *err)
{
    pdr_durable_agent *list = pdr__calloc(opts->count + 1, sizeof(*list));
    pdr_durable_opts durable = {.agents = list,
                                .count = opts->count,
                                .ttl_ms = opts->ttl_ms,
                                .only = opts->only,
                                .log = opts->engine.log,
                                .log_arg = opts->engine.log_arg};
    pdr_rc rc = PDR_OK;

    if (list == NULL)
        return pdr__nomem(err);
    for (size_t i = 0; i < opts->count; i++) {
        pdr_service_agent *agent = &s->agents[i];
        pdr_str name = pdr_agent_name(opts->agents[i].durable.agent);
        pdr_str type = pdr_str_c(opts->agents[i].type);

        list[i] = opts->agents[i].durable;
        *agent = opts->agents[i];
        agent->durable.agent = pdr_agent_ref(list[i].agent);
        if (agent->metadata != NULL)
            agent->metadata = pdr_value_ref(agent->metadata);
        s->count++;
        if (agent->type == NULL)
            type = PDR_LIT("agent");
        PDR_TRY(pdr__arena_keep(&type, &s->memory, err));
        agent->type = type.ptr;
        PDR_TRY(name_fold(&name, &s->memory, err));
        PDR_TRY(pdr__map_put(NULL, &s->by_name, name, agent, err));
    }
    PDR_TRY(pdr_durable_new(&s->durable, &durable, err));
done:
    pdr__free(list);
    return rc;
}

pdr_rc pdr_service_new(pdr_service **out, const pdr_service_opts *opts,
                       pdr_err *err)
{
    pdr_service *s = NULL;
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && opts != NULL && opts->store != NULL);
    *out = NULL;
    s = pdr__calloc(1, sizeof(*s) + opts->count * sizeof(s->agents[0]));
    if (s == NULL)
        return pdr__nomem(err);
    s->store = opts->store;
    s->by_name = (struct pdr__map)PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES);
    s->memory = (struct pdr__arena)PDR_ARENA_INIT(SIZE_MAX);
    PDR_TRY(agents_take(s, opts, err));
    s->first = s->count == 1 ? &s->agents[0] : NULL;
    if (opts->first.ptr != NULL) {
        s->first = pdr_service_find(s, opts->first);
        if (s->first == NULL)
            PDR_TRY(PDR_FAIL(err, NO_AGENT, "there is no agent '%s'",
                             pdr__shown(shown, opts->first)));
    }
    PDR_TRY(pdr_engine_new(&s->engine, s->store, &opts->engine, err));
    if (s->count > 0)
        PDR_TRY(pdr_durable_attach(s->engine, s->durable, err));
    *out = s;
    s = NULL;
done:
    pdr_service_free(s);
    return rc;
}

void pdr_service_free(pdr_service *s)
{
    if (s == NULL)
        return;
    pdr_engine_free(s->engine);
    pdr_durable_free(s->durable);
    for (size_t i = 0; i < s->count; i++) {
        pdr_agent_free(s->agents[i].durable.agent);
        pdr_value_free((pdr_value *)(uintptr_t)s->agents[i].metadata);
    }
    pdr__map_dispose(&s->by_name);
    pdr__arena_dispose(&s->memory);
    pdr__free(s);
}

pdr_rc pdr_service_start(pdr_service *s, pdr_err *err)
{
    return pdr_engine_start(s->engine, err);
}

pdr_store *pdr_service_store(const pdr_service *s)
{
    return s->store;
}

pdr_engine *pdr_service_engine(const pdr_service *s)
{
    return s->engine;
}

size_t pdr_service_count(const pdr_service *s)
{
    return s->count;
}

const pdr_service_agent *pdr_service_at(const pdr_service *s, size_t index)
{
    return index < s->count ? &s->agents[index] : NULL;
}

const pdr_service_agent *pdr_service_find(const pdr_service *s, pdr_str name)
{
    char folded[PDR_MAX_AGENT_BYTES];
    void *found = NULL;

    if (name.len > sizeof(folded))
        return NULL;
    for (size_t i = 0; i < name.len; i++)
        folded[i] = pdr__ascii_lower(name.ptr[i]);
    return pdr__map_get(&found, &s->by_name, pdr_str_n(folded, name.len))
               ? found
               : NULL;
}

const pdr_service_agent *pdr_service_first(const pdr_service *s)
{
    return s->first;
}
