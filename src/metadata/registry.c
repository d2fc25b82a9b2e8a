/*
 * registry.c - sessions and their wrappers, kept together by id.
 *
 * WHY  A session does not know its wrapper, so somebody has to keep the two
 *      together. Who has many sessions keeps them here, for several threads.
 *
 *        map ── id ──► wrapper ── counted ──► session ◄── counted ── a caller's
 *                         └─ properties, copied ─────────────────────► wrapper
 *
 * INVARIANTS
 *   R1  A wrapper in the map is reached under the lock only, and never given
 *       out: callers get copies, which share the session. Sessions lock for
 *       themselves, and properties belong to one wrapper.
 *   R2  The lock is held for a few steps, never across a callback or the end of
 *       a session, so no other lock is ever taken below it.
 */
#include "metadata.h"

struct pdr_registry {
    pthread_mutex_t lock;
    struct pdr__map map; /* guarded by lock; id to struct pdr_session_wrapper *,
                            owned (R1) */
};

static void lock_map(pdr_registry *registry)
{
    int failed = pthread_mutex_lock(&registry->lock);

    assert(failed == 0);
    (void)failed;
}

static void unlock_map(pdr_registry *registry)
{
    int failed = pthread_mutex_unlock(&registry->lock);

    assert(failed == 0);
    (void)failed;
}

pdr_rc pdr_registry_new(pdr_registry **out, pdr_err *err)
{
    PDR_REQUIRE(out != NULL);
    *out = pdr__alloc(sizeof(**out));
    if (*out == NULL)
        return pdr__nomem(err);
    if (pthread_mutex_init(&(*out)->lock, NULL) != 0) {
        pdr__free(*out);
        *out = NULL;
        return pdr__nomem(err);
    }
    (*out)->map = (struct pdr__map)PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES);
    return PDR_OK;
}

void pdr_registry_free(pdr_registry *registry)
{
    if (registry == NULL)
        return;
    PDR_MAP_EACH (entry, &registry->map)
        pdr_session_wrappers_free(entry->value, 1);
    pdr__map_dispose(&registry->map);
    (void)pthread_mutex_destroy(&registry->lock);
    pdr__free(registry);
}

size_t pdr_registry_count(pdr_registry *registry)
{
    size_t count = 0;

    lock_map(registry);
    count = registry->map.count;
    unlock_map(registry);
    return count;
}

static pdr_rc not_registered(pdr_str id, pdr_err *err)
{
    char shown[PDR_SHOWN];

    return PDR_FAIL(err, NOT_REGISTERED, "there is no session '%s' here",
                    pdr__shown(shown, id));
}

pdr_rc pdr_registry_add(pdr_registry *registry, pdr_str id,
                        pdr_session_wrapper *wrapper, pdr_err *err)
{
    pdr_session_wrapper *kept = NULL;
    bool is_there = false;
    char shown[PDR_SHOWN];
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(registry != NULL && wrapper != NULL &&
                wrapper->session != NULL);
    if (id.len == 0)
        id = pdr_session_id(wrapper->session);
    if (id.len == 0)
        PDR_TRY(PDR_FAIL(err, BAD_ID, "%s",
                         "the session has no id of its own; give one"));
    if (id.len > PDR_MAX_ID_BYTES)
        PDR_TRY(PDR_FAIL(err, BAD_ID, "an id has at most %u bytes, not %zu",
                         PDR_MAX_ID_BYTES, id.len));
    PDR_TRY(pdr__utf8_check(id, err));
    kept = pdr__alloc(sizeof(*kept));
    if (kept == NULL)
        PDR_TRY(pdr__nomem(err));
    *kept = *wrapper;
    lock_map(registry);
    is_there = pdr__map_get(NULL, &registry->map, id);
    if (!is_there)
        rc = pdr__map_put(NULL, &registry->map, id, kept, err);
    unlock_map(registry);
    if (is_there)
        rc = PDR_FAIL(err, SESSION_REGISTERED,
                      "there is a session '%s' already; remove it first",
                      pdr__shown(shown, id));
    if (rc != PDR_OK)
        goto done;
    memset(wrapper, 0, sizeof(*wrapper)); /* moved */
    kept = NULL;
done:
    pdr__free(kept);
    pdr_session_wrapper_dispose(wrapper);
    return rc;
}

pdr_rc pdr_registry_replace(pdr_registry *registry, pdr_str id,
                            pdr_session_wrapper *wrapper, pdr_err *err)
{
    pdr_session_wrapper old = PDR_SESSION_WRAPPER_INIT;
    void *found = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(registry != NULL && wrapper != NULL &&
                wrapper->session != NULL);
    if (id.len == 0)
        id = pdr_session_id(wrapper->session);
    lock_map(registry);
    if (pdr__map_get(&found, &registry->map, id)) {
        old = *(pdr_session_wrapper *)found;
        *(pdr_session_wrapper *)found = *wrapper;
    }
    unlock_map(registry);
    if (found == NULL)
        rc = not_registered(id, err); /* before the id goes with the session */
    else
        *wrapper = old;
    pdr_session_wrapper_dispose(wrapper);
    return rc;
}

/* A wrapper of the same session for somebody else. The lock is held. */
static pdr_rc share_wrapper(pdr_session_wrapper *out,
                            const pdr_session_wrapper *kept, pdr_err *err)
{
    if (kept->properties != NULL) {
        pdr_rc rc = pdr_properties_dup(&out->properties, kept->properties, err);

        if (rc != PDR_OK)
            return rc;
    }
    out->session = pdr__session_ref(kept->session);
    out->frame = kept->frame != NULL ? pdr_value_ref(kept->frame) : NULL;
    return PDR_OK;
}

pdr_rc pdr_registry_find(pdr_session_wrapper *out, pdr_registry *registry,
                         pdr_str id, pdr_err *err)
{
    void *found = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(out != NULL && registry != NULL);
    memset(out, 0, sizeof(*out));
    lock_map(registry);
    if (pdr__map_get(&found, &registry->map, id))
        rc = share_wrapper(out, found, err);
    unlock_map(registry);
    return found != NULL ? rc : not_registered(id, err);
}

pdr_rc pdr_registry_remove(pdr_session_wrapper *out, pdr_registry *registry,
                           pdr_str id, pdr_err *err)
{
    void *removed = NULL;

    PDR_REQUIRE(registry != NULL);
    if (out != NULL)
        memset(out, 0, sizeof(*out));
    lock_map(registry);
    (void)pdr__map_remove(&removed, &registry->map, id);
    unlock_map(registry);
    if (removed == NULL)
        return not_registered(id, err);
    if (out == NULL) {
        pdr_session_wrappers_free(removed, 1);
        return PDR_OK;
    }
    *out = *(pdr_session_wrapper *)removed;
    pdr__free(removed);
    return PDR_OK;
}

/* One of all wrappers that were there at one moment. */
struct listed {
    char *id; /* owned */
    size_t len;
    pdr_session_wrapper wrapper; /* owned */
};

pdr_rc pdr_registry_each(pdr_registry *registry, pdr_err *err,
                         pdr_registry_fn fn, void *arg)
{
    struct listed *list = NULL;
    size_t count = 0;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(registry != NULL && fn != NULL);
    lock_map(registry);
    list = pdr__calloc(registry->map.count + 1, sizeof(*list));
    if (list == NULL)
        rc = pdr__nomem(err);
    PDR_MAP_EACH (entry, &registry->map) {
        if (rc != PDR_OK)
            break;
        list[count].len = entry->key.len;
        list[count].id = pdr__strndup(entry->key);
        rc = list[count].id == NULL
                 ? pdr__nomem(err)
                 : share_wrapper(&list[count].wrapper, entry->value, err);
        count++;
    }
    unlock_map(registry);
    for (size_t i = 0; rc == PDR_OK && i < count; i++)
        rc = fn(pdr_str_n(list[i].id, list[i].len), &list[i].wrapper, err, arg);
    for (size_t i = 0; i < count; i++) {
        pdr__free(list[i].id);
        pdr_session_wrapper_dispose(&list[i].wrapper);
    }
    pdr__free(list);
    return rc;
}
