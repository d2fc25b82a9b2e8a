/*
 * state.c - the way from a provider to its state in any session.
 *
 * WHY  A provider serves many sessions at once, so it must not keep anything of
 *      one in itself. It keeps this instead: key, type and initialiser. The
 *      state is in the bag of the session at hand, with whatever that has of
 *      threads, overlays and errors.
 *
 *      Two providers under one key would overwrite each other. Sets find most
 *      of that when an agent is built (set.c); what comes in by another way is
 *      found here: the bag remembers who used a key first.
 */
#include <perdure/provider.h>

#include "session.h"

struct pdr_provider_state {
    char *owner;                /* owned */
    char *key;                  /* owned */
    const pdr_state_type *type; /* borrowed */
    pdr_provider_init_fn init;  /* borrowed with `arg` */
    void *arg;
};

/* One call, for the callbacks of the bag. */
struct call {
    const pdr_provider_state *state;
    pdr_session *session;
    pdr_bag_typed_fn fn; /* the caller's, with `arg` */
    void *arg;
};

pdr_rc pdr_provider_state_new(pdr_provider_state **out, const char *owner,
                              const char *key, const pdr_state_type *type,
                              pdr_err *err, pdr_provider_init_fn init,
                              void *arg)
{
    char shown[PDR_SHOWN];

    PDR_REQUIRE(out != NULL && owner != NULL && type != NULL);
    *out = NULL;
    if (init == NULL)
        return PDR_FAIL(err, NO_INITIALISER,
                        "the state of %s needs a function that makes it",
                        pdr__shown(shown, pdr_str_c(owner)));
    pdr_rc rc = pdr__key_check(pdr_str_c(key), err);
    if (rc != PDR_OK)
        return pdr__wrap(err, rc, "the state of %s",
                         pdr__shown(shown, pdr_str_c(owner)));
    pdr_provider_state *state = pdr__calloc(1, sizeof(*state));
    if (state == NULL)
        return pdr__nomem(err);
    state->owner = pdr__strdup(owner);
    state->key = pdr__strdup(key);
    state->type = type;
    state->init = init;
    state->arg = arg;
    if (state->owner == NULL || state->key == NULL) {
        pdr_provider_state_free(state);
        return pdr__nomem(err);
    }
    *out = state;
    return PDR_OK;
}

void pdr_provider_state_free(pdr_provider_state *state)
{
    if (state == NULL)
        return;
    pdr__free(state->owner);
    pdr__free(state->key);
    pdr__free(state);
}

const char *pdr_provider_state_key(const pdr_provider_state *state)
{
    return state->key;
}

static pdr_rc first_state(void **out, pdr_err *err, void *arg)
{
    const struct call *call = arg;

    return call->state->init(out, call->session, err, call->state->arg);
}

/* The bag of a session, in which the key is ours. */
static pdr_rc own_key(pdr_bag **out, const pdr_provider_state *state,
                      pdr_session *session, pdr_err *err)
{
    *out = pdr_session_bag(session);
    return pdr__bag_own(*out, pdr_str_c(state->key), state->owner, err);
}

/* A state that is kept nowhere. */
static pdr_rc make_state(void **out, const pdr_provider_state *state,
                         pdr_err *err)
{
    *out = NULL;
    pdr_rc rc = state->init(out, NULL, err, state->arg);
    if (rc != PDR_OK && *out != NULL) {
        state->type->free(*out, state->type->arg);
        *out = NULL;
    }
    return rc;
}

pdr_rc pdr_provider_state_get(pdr_object **out, const pdr_provider_state *state,
                              pdr_session *session, pdr_err *err)
{
    struct call call = {state, session, NULL, NULL};
    pdr_bag *bag = NULL;
    void *made = NULL;

    PDR_REQUIRE(out != NULL && state != NULL);
    *out = NULL;
    if (session != NULL) {
        pdr_rc rc = own_key(&bag, state, session, err);
        if (rc != PDR_OK)
            return rc;
        return pdr_bag_get_or_init(out, bag, pdr_str_c(state->key), state->type,
                                   err, first_state, &call);
    }
    pdr_rc rc = make_state(&made, state, err);
    if (rc != PDR_OK || made == NULL)
        return rc;
    return pdr__object_new(out, state->type, made, err);
}

pdr_rc pdr_provider_state_save(const pdr_provider_state *state,
                               pdr_session *session, const void *object,
                               pdr_err *err)
{
    pdr_bag *bag = NULL;

    PDR_REQUIRE(state != NULL);
    if (session == NULL)
        return PDR_OK;
    pdr_rc rc = own_key(&bag, state, session, err);
    if (rc != PDR_OK)
        return rc;
    return pdr_bag_set_typed(bag, pdr_str_c(state->key), state->type, object,
                             PDR_OVERLAY, err);
}

static pdr_rc make_and_change(void **io, pdr_err *err, void *arg)
{
    const struct call *call = arg;

    if (*io == NULL) {
        pdr_rc rc = first_state(io, err, arg);
        if (rc != PDR_OK)
            return rc;
    }
    return call->fn(io, err, call->arg);
}

pdr_rc pdr_provider_state_update(const pdr_provider_state *state,
                                 pdr_session *session, pdr_err *err,
                                 pdr_bag_typed_fn fn, void *arg)
{
    struct call call = {state, session, fn, arg};
    pdr_bag *bag = NULL;
    void *made = NULL;

    PDR_REQUIRE(state != NULL && fn != NULL);
    if (session != NULL) {
        pdr_rc rc = own_key(&bag, state, session, err);
        if (rc != PDR_OK)
            return rc;
        return pdr_bag_update_typed(bag, pdr_str_c(state->key), state->type,
                                    err, make_and_change, &call);
    }
    pdr_rc rc = make_state(&made, state, err);
    if (rc == PDR_OK)
        rc = fn(&made, err, arg);
    if (made != NULL)
        state->type->free(made, state->type->arg);
    return rc;
}
