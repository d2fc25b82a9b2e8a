/*
 * set.c - the providers of an agent: which ones, in which order, and that no
 * two of them want the same slot.
 *
 * WHY  Two providers under one key destroy each other's state, slowly and
 *      without a word. When an agent is built, all keys are known, so that is
 *      when it is found, with both names. Some keys are not any provider's:
 *      programs of the other editions write them beside the providers.
 */
#include "provider.h"

#include "session.h"

struct pdr_provider_set {
    pdr_provider *items; /* owned, with all that they point to but `self` */
    size_t count;
};

/* Keys that are used outside of the system of providers. */
static const struct {
    const char *key;
    const char *owner;
} reserved[] = {
    /* .NET */
    {"_pendingApprovalRequests", "the approval requests that wait"},
    {"_autoApprovedFunctionCalls", "calls that were approved by a rule"},
    {"_bypassedInvocableFunctionCalls", "calls that wait for an approval"},
    {"MessageInjectingChatClient.PendingInjectedMessages",
     "messages that wait to be injected"},
    {"toolApprovalState", "the tool-approval agent"},
    {"Microsoft.Agents.AI.Foundry.Hosting.HostedSessionContext",
     "hosting in Foundry"},
    {"Microsoft.Agents.AI.Foundry.Hosting.ToolApprovalIdMap",
     "hosting in Foundry"},
    /* Python */
    {"message_injection.pending_messages", "messages that wait to be injected"},
    {"tool_approval", "the approvals of tools"},
    {"_function_invocation_budget_state", "the budget of tool calls"},
    {"workflow.defer_computer_function_results", "workflows"},
    {"__agent_framework_fides_security__", "the security labels"},
};

/* Keys of the history in the session, which stands in where no provider of
 * history is given. */
static const char *const history_keys[] = {"InMemoryChatHistoryProvider",
                                           "in_memory"};
static const char history_name[] = "the history in the session";

/* --- keys ---------------------------------------------------------------- */

static pdr_rc clash(const char *key, const char *first, const char *second,
                    pdr_err *err)
{
    char shown[PDR_SHOWN], one[PDR_SHOWN], two[PDR_SHOWN];

    return PDR_FAIL(err, STATE_KEY_CLASH,
                    "%s has the key '%s', which %s uses; give it another one",
                    pdr__shown(two, pdr_str_c(second)),
                    pdr__shown(shown, pdr_str_c(key)),
                    pdr__shown(one, pdr_str_c(first)));
}

/* Note whose key it is. `name` must outlive `owners`. */
static pdr_rc take_key(struct pdr__map *owners, const char *key,
                       const char *name, pdr_err *err)
{
    void *there = NULL;

    if (pdr__map_get(&there, owners, pdr_str_c(key)))
        return clash(key, there, name, err);
    return pdr__map_put(NULL, owners, pdr_str_c(key), (void *)(uintptr_t)name,
                        err);
}

static pdr_rc take_keys(struct pdr__map *owners, const pdr_provider *provider,
                        pdr_err *err)
{
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    if (provider->keys == NULL)
        return PDR_OK;
    for (size_t i = 0; rc == PDR_OK && provider->keys[i] != NULL; i++) {
        rc = pdr__key_check(pdr_str_c(provider->keys[i]), err);
        if (rc != PDR_OK)
            return pdr__wrap(err, rc, "provider %s",
                             pdr__shown(shown, pdr_str_c(provider->name)));
        rc = take_key(owners, provider->keys[i], provider->name, err);
    }
    return rc;
}

/* What is taken before any provider. */
static pdr_rc take_reserved(struct pdr__map *owners, bool has_history,
                            const char *history_key, pdr_err *err)
{
    const char *const *keys = history_key != NULL ? &history_key : history_keys;
    size_t count = history_key != NULL ? 1 : PDR_COUNT(history_keys);
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; rc == PDR_OK && i < PDR_COUNT(reserved); i++)
        rc = take_key(owners, reserved[i].key, reserved[i].owner, err);
    if (rc == PDR_OK && history_key != NULL)
        rc = pdr__key_check(pdr_str_c(history_key), err);
    for (size_t i = 0; rc == PDR_OK && !has_history && i < count; i++)
        rc = take_key(owners, keys[i], history_name, err);
    return rc;
}

/* --- checks -------------------------------------------------------------- */

static pdr_rc find_history(bool *out, const pdr_provider *providers,
                           size_t count, const char *history_key, pdr_err *err)
{
    const char *found = history_key != NULL ? history_name : NULL;
    char one[PDR_SHOWN], two[PDR_SHOWN];

    *out = false;
    for (size_t i = 0; i < count; i++) {
        if (providers[i].kind != PDR_PROVIDER_HISTORY)
            continue;
        if (found != NULL)
            return PDR_FAIL(err, TWO_HISTORIES,
                            "both %s and %s keep the history, only one can",
                            pdr__shown(one, pdr_str_c(found)),
                            pdr__shown(two, pdr_str_c(providers[i].name)));
        found = providers[i].name;
        *out = true;
    }
    return PDR_OK;
}

static pdr_rc check(const pdr_provider *providers, size_t count,
                    const char *history_key, pdr_err *err)
{
    struct pdr__map owners = PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES);
    bool has_history = false;

    for (size_t i = 0; i < count; i++)
        PDR_REQUIRE(providers[i].name != NULL &&
                    (providers[i].kind == PDR_PROVIDER_CONTEXT ||
                     providers[i].kind == PDR_PROVIDER_HISTORY));
    pdr_rc rc = find_history(&has_history, providers, count, history_key, err);
    if (rc == PDR_OK)
        rc = take_reserved(&owners, has_history, history_key, err);
    for (size_t i = 0; rc == PDR_OK && i < count; i++)
        rc = take_keys(&owners, &providers[i], err);
    pdr__map_dispose(&owners);
    return rc;
}

/* --- copies -------------------------------------------------------------- */

static void keys_free(const char *const *keys)
{
    for (size_t i = 0; keys != NULL && keys[i] != NULL; i++)
        pdr__free((void *)(uintptr_t)keys[i]);
    pdr__free((void *)(uintptr_t)keys);
}

/* An owned copy; NULL without memory. */
static const char *const *keys_dup(const char *const *keys)
{
    size_t count = 0;

    while (keys[count] != NULL)
        count++;
    const char **copy = pdr__calloc(count + 1, sizeof(*copy));
    for (size_t i = 0; copy != NULL && i < count; i++) {
        copy[i] = pdr__strdup(keys[i]);
        if (copy[i] == NULL) {
            keys_free(copy);
            return NULL;
        }
    }
    return copy;
}

/* False without memory; what is there is freed with the set. */
static bool item_init(pdr_provider *item, const pdr_provider *provider)
{
    *item = *provider;
    item->keys = NULL;
    item->name = pdr__strdup(provider->name);
    if (item->name == NULL)
        return false;
    if (provider->keys != NULL)
        item->keys = keys_dup(provider->keys);
    return item->keys != NULL || provider->keys == NULL;
}

/* --- the set ------------------------------------------------------------- */

/* False without memory; what is there is freed with the set. */
static bool set_init(pdr_provider_set *set, const pdr_provider *providers,
                     size_t count)
{
    if (count == 0)
        return true;
    set->items = pdr__calloc(count, sizeof(*set->items));
    if (set->items == NULL)
        return false;
    set->count = count;
    for (size_t i = 0; i < count; i++)
        if (!item_init(&set->items[i], &providers[i]))
            return false;
    return true;
}

pdr_rc pdr__provider_set_new(pdr_provider_set **out,
                             const pdr_provider *providers, size_t count,
                             const char *history_key, pdr_err *err)
{
    PDR_REQUIRE(out != NULL && (providers != NULL || count == 0));
    *out = NULL;
    pdr_rc rc = check(providers, count, history_key, err);
    if (rc != PDR_OK)
        return rc;
    pdr_provider_set *set = pdr__calloc(1, sizeof(*set));
    if (set == NULL)
        return pdr__nomem(err);
    if (!set_init(set, providers, count)) {
        pdr_provider_set_free(set);
        return pdr__nomem(err);
    }
    *out = set;
    return PDR_OK;
}

pdr_rc pdr_provider_set_new(pdr_provider_set **out,
                            const pdr_provider *providers, size_t count,
                            pdr_err *err)
{
    return pdr__provider_set_new(out, providers, count, NULL, err);
}

void pdr_provider_set_free(pdr_provider_set *set)
{
    if (set == NULL)
        return;
    for (size_t i = 0; i < set->count; i++) {
        pdr__free((void *)(uintptr_t)set->items[i].name);
        keys_free(set->items[i].keys);
    }
    pdr__free(set->items);
    pdr__free(set);
}

size_t pdr_provider_set_count(const pdr_provider_set *set)
{
    return set->count;
}

const pdr_provider *pdr_provider_set_at(const pdr_provider_set *set,
                                        size_t index)
{
    return index < set->count ? &set->items[index] : NULL;
}

const pdr_provider *pdr_provider_set_find(const pdr_provider_set *set,
                                          const char *name)
{
    for (size_t i = 0; name != NULL && i < set->count; i++)
        if (strcmp(set->items[i].name, name) == 0)
            return &set->items[i];
    return NULL;
}
