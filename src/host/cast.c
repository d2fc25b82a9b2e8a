/*
 * cast.c - agents of a service that take part in a chat.
 *
 * Who took part is known by its id, else by its name: a file of another program
 * has ids of its own.
 */
#include "cast.h"

#include <perdure/chat_store.h>

#include "engine.h"

const pdr_service_agent *pdr__service_knows(const pdr_service *service,
                                            const pdr_chat_participant *p)
{
    for (size_t i = 0; i < pdr_service_count(service); i++) {
        const pdr_service_agent *agent = pdr_service_at(service, i);

        if (pdr_str_equal(pdr_agent_id(agent->durable.agent), p->id))
            return agent;
    }
    return p->name.len > 0 ? pdr_service_find(service, p->name) : NULL;
}

static pdr_rc agent_join(pdr_chat *chat, const pdr_service_agent *agent,
                         pdr_err *err)
{
    const pdr_chat_joining joining = {.agent = agent->durable.agent};

    return pdr_chat_join(chat, &joining, err);
}

pdr_rc pdr__service_join(pdr_chat *chat, const pdr_service *service,
                         pdr_str name, pdr_err *err)
{
    const pdr_service_agent *agent = pdr_service_find(service, name);
    char shown[PDR_SHOWN];

    if (agent == NULL)
        return PDR_FAIL(err, NO_AGENT, "there is no agent '%s' here",
                        pdr__shown(shown, name));
    return agent_join(chat, agent, err);
}

pdr_rc pdr__service_join_known(pdr_chat *chat, const pdr_service *service,
                               const pdr_chat_state *state, pdr_err *err)
{
    pdr_chat_participant p;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; pdr_chat_state_participant(&p, state, i); i++) {
        const pdr_service_agent *agent = pdr__service_knows(service, &p);

        if (agent != NULL)
            PDR_TRY(agent_join(chat, agent, err));
    }
done:
    return rc;
}

pdr_rc pdr__service_join_all(pdr_chat *chat, const pdr_service *service,
                             pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < pdr_service_count(service); i++)
        PDR_TRY(agent_join(chat, pdr_service_at(service, i), err));
done:
    return rc;
}

pdr_rc pdr__chat_same(pdr_chat **out, const pdr_chat *cast,
                      const pdr_chat_opts *opts, pdr_err *err)
{
    pdr_chat *chat = NULL;
    pdr_rc rc = PDR_OK;

    *out = NULL;
    PDR_TRY(pdr_chat_new(&chat, opts, err));
    for (size_t i = 0; i < pdr_chat_agent_count(cast); i++) {
        const pdr_chat_joining joining = {.agent = pdr_chat_agent_at(cast, i)};

        PDR_TRY(pdr_chat_join(chat, &joining, err));
    }
    *out = chat;
    chat = NULL;
done:
    pdr_chat_free(chat);
    return rc;
}

pdr_rc pdr__service_attach(pdr_chat *chat, const pdr_service *service,
                           const pdr_ref *ref, int64_t now_ms, pdr_err *err)
{
    const pdr_chat_home home = {.store = pdr_service_store(service),
                                .ref = *ref,
                                .lease_ms =
                                    pdr_service_engine(service)->opts.lease_ms};
    const pdr_chat_apply_opts now = {.now_ms = now_ms};

    return pdr_chat_attach(NULL, chat, &home, &now, err);
}
