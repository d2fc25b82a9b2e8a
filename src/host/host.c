/*
 * host.c - the agents of a process, by name.
 */
#include "host.h"

struct pdr_host {
    struct pdr__loaded **agents; /* owned, each alone: callers point at them */
    size_t count, cap;
};

pdr_rc pdr_host_new(pdr_host **out, pdr_err *err)
{
    PDR_REQUIRE(out != NULL);
    *out = pdr__calloc(1, sizeof(**out));
    return *out != NULL ? PDR_OK : pdr__nomem(err);
}

static void loaded_free(struct pdr__loaded *loaded)
{
    if (loaded != NULL)
        pdr__loaded_dispose(loaded);
    pdr__free(loaded);
}

void pdr_host_free(pdr_host *host)
{
    if (host == NULL)
        return;
    for (size_t i = 0; i < host->count; i++)
        loaded_free(host->agents[i]);
    pdr__free(host->agents);
    pdr__free(host);
}

pdr_rc pdr_host_load(const pdr_host_agent **out, pdr_host *host,
                     const pdr_definition *definition, pdr_err *err,
                     pdr_notice_fn fn, void *arg)
{
    struct pdr__loaded *loaded = NULL;
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(host != NULL && definition != NULL);
    if (out != NULL)
        *out = NULL;
    loaded = pdr__calloc(1, sizeof(*loaded));
    if (loaded == NULL)
        return pdr__nomem(err);
    PDR_TRY(pdr__definition_load(loaded, definition, err, fn, arg));
    if (pdr_host_find(host, loaded->view.name) != NULL) {
        rc = PDR_FAIL(err, AGENT_EXISTS, "there is an agent '%s' already",
                      pdr__shown(shown, loaded->view.name));
        goto done;
    }
    /* After the loading: `fn` may have loaded others. */
    PDR_TRY(pdr__grow((void **)&host->agents, &host->cap, host->count + 1,
                      sizeof(struct pdr__loaded *), err));
    host->agents[host->count++] = loaded;
    if (out != NULL)
        *out = &loaded->view;
    loaded = NULL;
done:
    loaded_free(loaded);
    return rc;
}

size_t pdr_host_count(const pdr_host *host)
{
    return host->count;
}

const pdr_host_agent *pdr_host_at(const pdr_host *host, size_t index)
{
    return index < host->count ? &host->agents[index]->view : NULL;
}

const pdr_host_agent *pdr_host_find(const pdr_host *host, pdr_str name)
{
    for (size_t i = 0; i < host->count; i++) {
        if (name.len > 0 && pdr_str_equal(host->agents[i]->view.name, name))
            return &host->agents[i]->view;
    }
    return NULL;
}
