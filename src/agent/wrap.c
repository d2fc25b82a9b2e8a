/*
 * wrap.c - an agent around another one.
 *
 *      pdr_agent_run(outer) ─► layer ─► pdr_agent_run(inner) ─► ... ─► model
 *
 * WHY  To log runs, to filter what goes in, to ask somebody before an answer
 *      goes out: such things belong around any agent, not into one. So a layer
 *      is a function that runs the agent inside, and what carries it is an
 *      agent again. It has no client, tools or providers of its own.
 */
#include "agent.h"

pdr_rc pdr_agent_wrap(pdr_agent **out, pdr_agent *inner,
                      const pdr_agent_layer *layer, pdr_err *err)
{
    const struct pdr__arena no_memory = PDR_ARENA_INIT(SIZE_MAX);
    pdr_agent *agent = NULL;
    char *name = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && inner != NULL && layer != NULL &&
                layer->name != NULL && layer->run != NULL);
    *out = NULL;
    agent = pdr__calloc(1, sizeof(*agent));
    if (agent == NULL)
        return pdr__nomem(err);
    agent->holders = 1;
    agent->memory = no_memory;
    PDR_TRY(
        pdr__arena_strndup(&name, &agent->memory, pdr_str_c(layer->name), err));
    agent->layer = *layer;
    agent->layer.name = name;
    agent->inner = pdr_agent_ref(inner);
    agent->id = inner->id;
    agent->name = inner->name;
    agent->description = inner->description;
    *out = agent;
    agent = NULL;
done:
    pdr_agent_free(agent);
    return rc;
}
