/*
 * registry.c - sessions and their wrappers, kept together by id.
 *
 * WHY  A session does not know its wrapper, so somebody has to keep the two
 *      together. Who has many sessions keeps them here.
 *
 * The lock is held for a few steps, never across a callback or the end of a
 * session, so no other lock is ever taken below it. It guards the map, not the
 * wrappers in it: those belong to whoever asks, one at a time.
 */
#include "metadata.h"

struct pdr_registry {
    pthread_mutex_t lock;
    struct pdr__map map; /* guarded by lock; id to struct pdr_session_wrapper *,
                            owned */
};

static void lock(pdr_registry *registry)
{
    int failed = pthread_mutex_lock(&registry->lock);

    assert(failed == 0);
    (void)failed;
}

static void unlock(pdr_registry *registry)
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

static void free_wrapper(pdr_session_wrapper *wrapper)
{
    pdr_session_wrapper_dispose(wrapper);
    pdr__free(wrapper);
}

void pdr_registry_free(pdr_registry *registry)
{
    if (registry == NULL)
        return;
    PDR_MAP_EACH (entry, &registry->map)
        free_wrapper(entry->value);
    pdr__map_dispose(&registry->map);
    (void)pthread_mutex_destroy(&registry->lock);
    pdr__free(registry);
}

size_t pdr_registry_count(pdr_registry *registry)
{
    size_t count = 0;

    lock(registry);
    count = registry->map.count;
    unlock(registry);
    return count;
}

static pdr_rc check_id(pdr_str id, pdr_err *err)
{
    if (id.len == 0)
        return PDR_FAIL(err, BAD_ID, "%s",
                        "the session has no id of its own; give one");
    if (id.len > PDR_MAX_ID_BYTES)
        return PDR_FAIL(err, BAD_ID, "an id has at most %u bytes, not %zu",
                        PDR_MAX_ID_BYTES, id.len);
    return pdr__utf8_check(id, err);
}

/* `wrapper` is taken on success only. */
static pdr_rc enter(pdr_registry *registry, pdr_str id,
                    pdr_session_wrapper *wrapper, pdr_err *err)
{
    char shown[PDR_SHOWN];
    bool is_there = false;
    pdr_rc rc = PDR_OK;

    lock(registry);
    is_there = pdr__map_get(NULL, &registry->map, id);
    if (!is_there)
        rc = pdr__map_put(NULL, &registry->map, id, wrapper, err);
    unlock(registry);
    if (is_there)
        return PDR_FAIL(err, SESSION_REGISTERED,
                        "there is a session '%s' already; remove it first",
                        pdr__shown(shown, id));
    return rc;
}

pdr_rc pdr_registry_add(pdr_registry *registry, pdr_str id,
                        pdr_session_wrapper *wrapper, pdr_err *err)
{
    pdr_session_wrapper *kept = NULL;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(registry != NULL && wrapper != NULL &&
                wrapper->session != NULL);
    if (id.len == 0)
        id = pdr_session_id(wrapper->session);
    rc = check_id(id, err);
    if (rc == PDR_OK) {
        kept = pdr__alloc(sizeof(*kept));
        rc = kept != NULL ? PDR_OK : pdr__nomem(err);
    }
    if (rc == PDR_OK) {
        *kept = *wrapper;
        rc = enter(registry, id, kept, err);
    }
    if (rc == PDR_OK) {
        memset(wrapper, 0, sizeof(*wrapper));
        return PDR_OK;
    }
    pdr__free(kept);
    pdr_session_wrapper_dispose(wrapper);
    return rc;
}

pdr_session_wrapper *pdr_registry_find(pdr_registry *registry, pdr_str id)
{
    void *wrapper = NULL;

    lock(registry);
    (void)pdr__map_get(&wrapper, &registry->map, id);
    unlock(registry);
    return wrapper;
}

pdr_rc pdr_registry_remove(pdr_session_wrapper *out, pdr_registry *registry,
                           pdr_str id, pdr_err *err)
{
    char shown[PDR_SHOWN];
    void *removed = NULL;
    bool was_there = false;

    PDR_REQUIRE(registry != NULL);
    if (out != NULL)
        memset(out, 0, sizeof(*out));
    lock(registry);
    was_there = pdr__map_remove(&removed, &registry->map, id);
    unlock(registry);
    if (!was_there)
        return PDR_FAIL(err, NOT_REGISTERED, "there is no session '%s' here",
                        pdr__shown(shown, id));
    if (out == NULL) {
        free_wrapper(removed);
        return PDR_OK;
    }
    *out = *(pdr_session_wrapper *)removed;
    pdr__free(removed);
    return PDR_OK;
}

/* All wrappers at one point in time, with their ids. */
struct listed {
    char *id; /* owned */
    size_t len;
    pdr_session_wrapper *wrapper; /* borrowed */
};

static void free_list(struct listed *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pdr__free(list[i].id);
    pdr__free(list);
}

/* Whoever calls holds the lock. */
static pdr_rc list_all(struct listed **out, size_t *count,
                       const struct pdr__map *map, pdr_err *err)
{
    struct listed *list = pdr__calloc(map->count + 1, sizeof(*list));
    size_t used = 0;

    *out = NULL;
    *count = 0;
    if (list == NULL)
        return pdr__nomem(err);
    PDR_MAP_EACH (entry, map) {
        struct listed one = {pdr__strndup(entry->key), entry->key.len,
                             entry->value};

        if (one.id == NULL) {
            free_list(list, used);
            return pdr__nomem(err);
        }
        list[used++] = one;
    }
    *out = list;
    *count = used;
    return PDR_OK;
}

pdr_rc pdr_registry_each(pdr_registry *registry, pdr_err *err,
                         pdr_registry_fn fn, void *arg)
{
    struct listed *list = NULL;
    size_t count = 0;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(registry != NULL && fn != NULL);
    lock(registry);
    rc = list_all(&list, &count, &registry->map, err);
    unlock(registry);
    for (size_t i = 0; rc == PDR_OK && i < count; i++)
        rc = fn(pdr_str_n(list[i].id, list[i].len), list[i].wrapper, err, arg);
    free_list(list, count);
    return rc;
}
