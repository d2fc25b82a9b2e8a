/*
 * watch_world.h - a store in memory for those who watch. What "another process"
 * does comes through a second handle that tells nobody, and a number that the
 * test lets `poll` see.
 */
#ifndef PDR_TEST_WATCH_WORLD_H
#define PDR_TEST_WATCH_WORLD_H

#include <stdatomic.h>

#include "store.h"

struct watch_world {
    pdr_store *store;
    pdr_store_ops ops, other_ops;
    pdr_store other; /* what another process would have */
    const pdr_store_ops *real;
    _Atomic uint64_t number;         /* what poll says */
    atomic_uint polls, reads, lists; /* calls; lists are reads, too */
    atomic_bool poll_fails, read_fails, list_fails;
    atomic_int polling, together; /* most calls of poll at one time */
};
extern struct watch_world world;

pdr_store *world_open(bool with_poll);
void world_close(void);

pdr_ref world_ref(const char *id);
/* A commit that moves nothing but the count of commits; makes the session if it
 * is not there. */
void commit_to(pdr_store *store, const char *id);
void commit_here(const char *id);
void commit_elsewhere(const char *id);
/* The same with a state. */
void state_elsewhere(const char *id, pdr_session_state state);

#endif
