/*
 * bag.c - slots of raw values, and the bag as a whole.
 *
 * WHY  A bag must give back what it was given, byte for byte, and be written
 *      while others change it. So its truth is one counted value that shares
 *      its parts (B1 in bag_core.h): a snapshot is one more owner, and a bag
 *      that nobody changed hands out the very value that it was made from.
 *
 * NOT HERE  Claims (bag_lock.c), objects of types (bag_typed.c).
 */
#include "bag_core.h"

/* A document has 128 levels; the session and the bag itself are two. */
#define SLOT_LEVELS (PDR_DEFAULT_DEPTH - 2)

/* --- making -------------------------------------------------------------- */

pdr_rc pdr_bag_new(pdr_bag **out, pdr_err *err)
{
    return pdr_bag_from_value(out, NULL, err);
}

/* The height of a value is known at once but may be too large; only then is it
 * counted. */
static bool has_more_levels(const pdr_value *value, size_t levels)
{
    return pdr__value_height(value) > levels && pdr__levels(value) > levels;
}

static pdr_rc check_bag(const pdr_value *value, pdr_err *err)
{
    if (pdr_value_kind(value) != PDR_OBJECT)
        return PDR_FAIL(err, BAG_NOT_OBJECT, "a bag is an object, this is %s",
                        pdr__kind_phrase(value));
    if (pdr_value_count(value) > PDR_MAX_SLOTS)
        return PDR_FAIL(err, TOO_MANY_SLOTS,
                        "a bag has at most %u slots, this one has %zu",
                        PDR_MAX_SLOTS, pdr_value_count(value));
    if (has_more_levels(value, SLOT_LEVELS + 1))
        return PDR_FAIL(err, TOO_DEEP,
                        "a value in a bag may have at most %d levels",
                        SLOT_LEVELS);
    return PDR_OK;
}

pdr_rc pdr_bag_from_value(pdr_bag **out, const pdr_value *value, pdr_err *err)
{
    static const struct pdr__map no_entries = PDR_MAP_INIT(PDR_MAX_SLOTS);

    PDR_REQUIRE(out != NULL);
    *out = NULL;
    if (!pdr__is_nothing(value)) {
        pdr_rc rc = check_bag(value, err);
        if (rc != PDR_OK)
            return rc;
    }
    pdr_bag *bag = pdr__calloc(1, sizeof(*bag));
    if (bag == NULL)
        return pdr__nomem(err);
    /* These two only fail for attributes, and there are none. */
    (void)pthread_mutex_init(&bag->lock, NULL);
    (void)pthread_cond_init(&bag->released, NULL);
    bag->value =
        pdr__is_nothing(value) ? pdr_value_new_object() : pdr_value_ref(value);
    bag->views = no_entries;
    bag->owners = no_entries;
    bag->owners.max = PDR_MAX_MAP_ENTRIES; /* slots may go, owners stay */
    bag->levels = SLOT_LEVELS;
    *out = bag;
    return PDR_OK;
}

void pdr__views_free(struct view *view)
{
    while (view != NULL) {
        struct view *next = view->next;

        pdr_object_free(view->object);
        pdr__free(view);
        view = next;
    }
}

void pdr__leftovers_free(struct leftovers *left)
{
    pdr_value_free(left->value);
    pdr__views_free(left->views);
}

static void free_views_of_all(struct pdr__map *views)
{
    PDR_MAP_EACH (entry, views)
        pdr__views_free(entry->value);
    pdr__map_dispose(views);
}

void pdr_bag_free(pdr_bag *bag)
{
    if (bag == NULL)
        return;
    assert(!bag->is_claimed);
    free_views_of_all(&bag->views);
    PDR_MAP_EACH (entry, &bag->owners)
        pdr__free(entry->value);
    pdr__map_dispose(&bag->owners);
    pdr_value_free(bag->value);
    (void)pthread_cond_destroy(&bag->released);
    (void)pthread_mutex_destroy(&bag->lock);
    pdr__free(bag);
}

/* --- the bag as a whole -------------------------------------------------- */

void pdr__bag_seal(pdr_bag *bag, const char *why)
{
    pdr__bag_lock(bag);
    bag->sealed = why;
    pdr__bag_unlock(bag);
}

void pdr__bag_set_levels(pdr_bag *bag, size_t levels)
{
    bag->levels = levels;
}

pdr_value *pdr__bag_value_locked(const pdr_bag *bag)
{
    return pdr_value_ref(bag->value);
}

pdr_value *pdr_bag_snapshot(pdr_bag *bag)
{
    pdr__bag_lock(bag);
    pdr_value *value = pdr__bag_value_locked(bag);
    pdr__bag_unlock(bag);
    return value;
}

size_t pdr_bag_count(pdr_bag *bag)
{
    pdr__bag_lock(bag);
    size_t count = pdr_value_count(bag->value);
    pdr__bag_unlock(bag);
    return count;
}

uint64_t pdr_bag_generation(pdr_bag *bag)
{
    pdr__bag_lock(bag);
    uint64_t generation = bag->generation;
    pdr__bag_unlock(bag);
    return generation;
}

pdr_rc pdr_bag_clear(pdr_bag *bag, pdr_err *err)
{
    struct pdr__map views = PDR_MAP_INIT(PDR_MAX_SLOTS);
    pdr_value *old = NULL;

    PDR_REQUIRE(bag != NULL);
    pdr_rc rc = pdr__bag_begin(bag, err);
    if (rc != PDR_OK)
        return rc;
    if (pdr_value_count(bag->value) > 0) {
        struct pdr__map none = views;

        old = bag->value;
        views = bag->views;
        bag->value = pdr_value_new_object();
        bag->views = none;
        bag->generation++;
    }
    pdr__bag_unlock(bag);
    free_views_of_all(&views);
    pdr_value_free(old);
    return PDR_OK;
}

/* The lock is held, and nobody has the key yet. */
static pdr_rc note_owner(pdr_bag *bag, pdr_str key, const char *owner,
                         pdr_err *err)
{
    char *copy = pdr__strdup(owner);

    if (copy == NULL)
        return pdr__nomem(err);
    pdr_rc rc = pdr__map_put(NULL, &bag->owners, key, copy, err);
    if (rc != PDR_OK)
        pdr__free(copy);
    return rc;
}

pdr_rc pdr__bag_own(pdr_bag *bag, pdr_str key, const char *owner, pdr_err *err)
{
    char shown[PDR_SHOWN], first[PDR_SHOWN], second[PDR_SHOWN];
    void *there = NULL;
    pdr_rc rc = PDR_OK;

    pdr__bag_lock(bag);
    if (!pdr__map_get(&there, &bag->owners, key)) {
        rc = note_owner(bag, key, owner, err);
    } else if (strcmp(there, owner) != 0) {
        rc = PDR_FAIL(
            err, STATE_KEY_CLASH,
            "the key '%s' is used by %s in this session, so %s cannot have it",
            pdr__shown(shown, key), pdr__shown(first, pdr_str_c(there)),
            pdr__shown(second, pdr_str_c(owner)));
        pdr__slot_path(err, key, "");
    }
    pdr__bag_unlock(bag);
    return rc;
}

/* --- reading slots ------------------------------------------------------- */

bool pdr_bag_has(pdr_bag *bag, pdr_str key)
{
    if (pdr__key_check(key, NULL) != PDR_OK)
        return false;
    pdr__bag_lock(bag);
    bool has = pdr_value_get(bag->value, key) != NULL;
    pdr__bag_unlock(bag);
    return has;
}

static pdr_rc no_slot(pdr_str key, pdr_err *err)
{
    char shown[PDR_SHOWN];

    return PDR_FAIL(err, NO_SLOT, "the bag has no slot '%s'",
                    pdr__shown(shown, key));
}

/* One more owner of what a slot holds; NULL if there is none. */
static pdr_value *take_slot(pdr_bag *bag, pdr_str key)
{
    pdr__bag_lock(bag);
    pdr_value *value = pdr_value_ref(pdr_value_get(bag->value, key));
    pdr__bag_unlock(bag);
    return value;
}

pdr_rc pdr_bag_get(pdr_value **out, pdr_bag *bag, pdr_str key, pdr_err *err)
{
    PDR_REQUIRE(out != NULL && bag != NULL);
    *out = NULL;
    pdr_rc rc = pdr__key_check(key, err);
    if (rc != PDR_OK)
        return rc;
    *out = take_slot(bag, key);
    return *out != NULL ? PDR_OK : no_slot(key, err);
}

/* --- changing slots ------------------------------------------------------ */

pdr_rc pdr__slot_check(const pdr_bag *bag, pdr_str key, const pdr_value *value,
                       pdr_err *err)
{
    char shown[PDR_SHOWN];

    if (!has_more_levels(value, bag->levels))
        return PDR_OK;
    pdr_rc rc =
        PDR_FAIL(err, TOO_DEEP,
                 "the value of '%s' has %zu levels, at most %zu can be "
                 "written in this session",
                 pdr__shown(shown, key), pdr__levels(value), bag->levels);
    pdr__slot_path(err, key, "");
    return rc;
}

/* Give the slot the views that it had before. */
static void put_views_back(pdr_bag *bag, pdr_str key, struct view *old)
{
    pdr_rc rc = PDR_OK;

    if (old == NULL)
        (void)pdr__map_remove(NULL, &bag->views, key);
    else
        rc = pdr__map_put(NULL, &bag->views, key, old, NULL);
    assert(rc == PDR_OK); /* the key is there, so it needs no memory */
    (void)rc;
}

pdr_rc pdr__slot_put(struct leftovers *left, pdr_bag *bag, pdr_str key,
                     const pdr_value *value, struct view *view, pdr_err *err)
{
    const pdr_value *there = pdr_value_get(bag->value, key);
    void *views = NULL;

    if (there == NULL && pdr_value_count(bag->value) >= PDR_MAX_SLOTS)
        return PDR_FAIL(err, TOO_MANY_SLOTS, "a bag has at most %u slots",
                        PDR_MAX_SLOTS);
    if (view != NULL) {
        pdr_rc rc = pdr__map_put(&views, &bag->views, key, view, err);
        if (rc != PDR_OK)
            return rc;
    }
    left->value = pdr_value_ref(there);
    pdr_rc rc = pdr_value_set(&bag->value, key, value, err);
    if (rc != PDR_OK) {
        if (view != NULL)
            put_views_back(bag, key, views);
        return rc;
    }
    if (view == NULL)
        (void)pdr__map_remove(&views, &bag->views, key);
    left->views = views;
    bag->generation++;
    return PDR_OK;
}

/* The lock is held: remove a slot that is there. */
static pdr_rc take_out(struct leftovers *left, pdr_bag *bag, pdr_str key,
                       pdr_err *err)
{
    void *views = NULL;

    left->value = pdr_value_ref(pdr_value_get(bag->value, key));
    pdr_rc rc = pdr_value_remove(&bag->value, key, err);
    if (rc != PDR_OK)
        return rc;
    (void)pdr__map_remove(&views, &bag->views, key);
    left->views = views;
    bag->generation++;
    return PDR_OK;
}

/* `generation` is the one that the bag must have; NULL: any. */
static pdr_rc set_slot(pdr_bag *bag, const uint64_t *generation, pdr_str key,
                       const pdr_value *value, pdr_err *err)
{
    struct leftovers left = {NULL, NULL};

    pdr_rc rc = pdr__key_check(key, err);
    if (rc == PDR_OK)
        rc = pdr__slot_check(bag, key, value, err);
    if (rc == PDR_OK)
        rc = pdr__bag_begin(bag, err);
    if (rc != PDR_OK)
        return rc;
    if (generation != NULL && *generation != bag->generation)
        rc = PDR_FAIL(err, BAG_CHANGED,
                      "the bag is at generation %llu, not at %llu: read it "
                      "again",
                      (unsigned long long)bag->generation,
                      (unsigned long long)*generation);
    else
        rc = pdr__slot_put(&left, bag, key, value, NULL, err);
    pdr__bag_unlock(bag);
    pdr__leftovers_free(&left);
    return rc;
}

pdr_rc pdr_bag_set(pdr_bag *bag, pdr_str key, const pdr_value *value,
                   pdr_err *err)
{
    PDR_REQUIRE(bag != NULL && value != NULL);
    return set_slot(bag, NULL, key, value, err);
}

pdr_rc pdr_bag_set_if(pdr_bag *bag, uint64_t generation, pdr_str key,
                      const pdr_value *value, pdr_err *err)
{
    PDR_REQUIRE(bag != NULL && value != NULL);
    return set_slot(bag, &generation, key, value, err);
}

pdr_rc pdr_bag_remove(pdr_bag *bag, pdr_str key, pdr_err *err)
{
    struct leftovers left = {NULL, NULL};

    PDR_REQUIRE(bag != NULL);
    pdr_rc rc = pdr__key_check(key, err);
    if (rc == PDR_OK)
        rc = pdr__bag_begin(bag, err);
    if (rc != PDR_OK)
        return rc;
    rc = pdr_value_get(bag->value, key) == NULL
             ? no_slot(key, err)
             : take_out(&left, bag, key, err);
    pdr__bag_unlock(bag);
    pdr__leftovers_free(&left);
    return rc;
}

/* Write what an update made of `before`. Both may be NULL. */
static pdr_rc write_update(pdr_bag *bag, pdr_str key, const pdr_value *before,
                           const pdr_value *after, pdr_err *err)
{
    struct leftovers left = {NULL, NULL};
    pdr_rc rc = PDR_OK;

    if (before == after)
        return PDR_OK; /* no change: views and generation stay */
    if (after != NULL)
        rc = pdr__slot_check(bag, key, after, err);
    if (rc != PDR_OK)
        return rc;
    pdr__bag_lock(bag);
    rc = after == NULL ? take_out(&left, bag, key, err)
                       : pdr__slot_put(&left, bag, key, after, NULL, err);
    pdr__bag_unlock(bag);
    pdr__leftovers_free(&left);
    return rc;
}

pdr_rc pdr_bag_update(pdr_bag *bag, pdr_str key, pdr_err *err,
                      pdr_bag_update_fn fn, void *arg)
{
    PDR_REQUIRE(bag != NULL && fn != NULL);
    pdr_rc rc = pdr__key_check(key, err);
    if (rc == PDR_OK)
        rc = pdr__bag_claim(bag, err);
    if (rc != PDR_OK)
        return rc;
    pdr_value *before = take_slot(bag, key);
    pdr_value *after = pdr_value_ref(before);
    rc = fn(&after, err, arg);
    if (rc == PDR_OK)
        rc = write_update(bag, key, before, after, err);
    pdr__bag_release(bag);
    pdr_value_free(before);
    pdr_value_free(after);
    return rc;
}

void pdr__bag_swap(pdr_bag *one, pdr_bag *two)
{
    const pdr_bag was = *one;

    one->value = two->value;
    one->views = two->views;
    one->owners = two->owners;
    one->generation = two->generation;
    one->sealed = two->sealed;
    one->levels = two->levels;
    two->value = was.value;
    two->views = was.views;
    two->owners = was.owners;
    two->generation = was.generation;
    two->sealed = was.sealed;
    two->levels = was.levels;
}
