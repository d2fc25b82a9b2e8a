/*
 * registry.c - wrappers by the id of their session.
 */
#include <pthread.h>

#include "metadata.h"

#include "values.h"

/* A wrapper of a Python session with this id. */
static pdr_session_wrapper wrapper_of(const char *id)
{
    pdr_session_wrapper wrapper = PDR_SESSION_WRAPPER_INIT;
    pdr_session_parts parts = {0};

    parts.shape = PDR_SESSION_PYTHON;
    parts.id = pdr_str_c(id);
    ASSERT_RC(PDR_OK, pdr_session_new(&wrapper.session, &parts, NULL));
    ASSERT_RC(PDR_OK, pdr_properties_new(&wrapper.properties, NULL));
    return wrapper;
}

static pdr_registry *registry_with(const char *const *ids, size_t count)
{
    pdr_registry *registry = NULL;

    ASSERT_RC(PDR_OK, pdr_registry_new(&registry, NULL));
    for (size_t i = 0; i < count; i++) {
        pdr_session_wrapper wrapper = wrapper_of(ids[i]);

        ASSERT_RC(PDR_OK, pdr_registry_add(registry, pdr_str_n(NULL, 0),
                                           &wrapper, NULL));
        ASSERT(wrapper.session == NULL && wrapper.properties == NULL);
    }
    return registry;
}

static const char *const three[] = {"b", "a", "c"};

TEST(registry, keeps_session_and_properties_together)
{
    pdr_registry *registry = registry_with(three, 3);
    pdr_session_wrapper *found = pdr_registry_find(registry, pdr_str_c("a"));
    pdr_session_wrapper out = PDR_SESSION_WRAPPER_INIT;

    ASSERT_SIZE(3, pdr_registry_count(registry));
    ASSERT(found != NULL && found->properties != NULL);
    ASSERT_TEXT("a", pdr_session_id(found->session));
    ASSERT(pdr_registry_find(registry, pdr_str_c("d")) == NULL);
    ASSERT_RC(PDR_OK,
              pdr_registry_remove(&out, registry, pdr_str_c("a"), NULL));
    ASSERT_TEXT("a", pdr_session_id(out.session));
    ASSERT(pdr_registry_find(registry, pdr_str_c("a")) == NULL);
    ASSERT_RC(PDR_OK,
              pdr_registry_remove(NULL, registry, pdr_str_c("b"), NULL));
    ASSERT_SIZE(1, pdr_registry_count(registry));
    pdr_session_wrapper_dispose(&out);
    pdr_registry_free(registry);
    pdr_registry_free(NULL);
}

TEST(registry_remove, says_that_there_is_none)
{
    pdr_registry *registry = registry_with(three, 1);
    pdr_session_wrapper out = {(pdr_session *)1, NULL, NULL};
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_ENOTFOUND,
              pdr_registry_remove(&out, registry, pdr_str_c("x"), &err));
    ASSERT_STR("not_registered", err.reason);
    ASSERT(out.session == NULL);
    pdr_registry_free(registry);
}

static void assert_not_added(const char *reason, pdr_rc rc,
                             pdr_registry *registry, pdr_str id)
{
    pdr_session_wrapper wrapper = wrapper_of("b");
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(rc, pdr_registry_add(registry, id, &wrapper, &err));
    ASSERT_STR(reason, err.reason);
    ASSERT(wrapper.session == NULL && wrapper.properties == NULL);
    ASSERT_SIZE(1, pdr_registry_count(registry));
}

TEST(registry_add, refuses_an_id_twice_and_what_is_none)
{
    static char longest[1025];
    pdr_registry *registry = registry_with(three, 1);

    memset(longest, 'x', sizeof(longest));
    assert_not_added("session_registered", PDR_EEXISTS, registry,
                     pdr_str_n(NULL, 0));
    assert_not_added("session_registered", PDR_EEXISTS, registry,
                     pdr_str_c("b"));
    assert_not_added("bad_id", PDR_EINVALID, registry,
                     pdr_str_n(longest, 1025));
    assert_not_added("bad_utf8", PDR_EINVALID, registry, pdr_str_c("\xFF"));
    pdr_registry_free(registry);
}

TEST(registry_add, takes_the_longest_id)
{
    static char longest[1024];
    pdr_registry *registry = registry_with(three, 1);
    pdr_session_wrapper wrapper = wrapper_of("b");

    memset(longest, 'x', sizeof(longest));
    ASSERT_RC(PDR_OK, pdr_registry_add(registry, pdr_str_n(longest, 1024),
                                       &wrapper, NULL));
    ASSERT(pdr_registry_find(registry, pdr_str_n(longest, 1024)) != NULL);
    pdr_registry_free(registry);
}

TEST(registry_add, needs_an_id_for_a_session_without_one)
{
    pdr_registry *registry = registry_with(three, 0);
    pdr_value *value = value_of("{\"stateBag\":{}}");
    pdr_session_wrapper wrapper = PDR_SESSION_WRAPPER_INIT;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_session_from_value(&wrapper.session, value, NULL));
    ASSERT_RC(PDR_EINVALID,
              pdr_registry_add(registry, pdr_str_n(NULL, 0), &wrapper, &err));
    ASSERT_STR("bad_id", err.reason);
    ASSERT(wrapper.session == NULL);
    ASSERT_RC(PDR_OK, pdr_session_from_value(&wrapper.session, value, NULL));
    ASSERT_RC(PDR_OK,
              pdr_registry_add(registry, pdr_str_c("mine"), &wrapper, NULL));
    ASSERT(pdr_registry_find(registry, pdr_str_c("mine")) != NULL);
    pdr_value_free(value);
    pdr_registry_free(registry);
}

struct visit {
    pdr_registry *registry;
    char ids[16];
    size_t stop_at; /* visits before it stops; 0: never */
};

/* Notes the ids, and asks the registry while it is walked. */
static pdr_rc visit(pdr_str id, pdr_session_wrapper *wrapper, pdr_err *err,
                    void *arg)
{
    struct visit *seen = arg;
    size_t len = strlen(seen->ids);

    ASSERT(pdr_registry_find(seen->registry, id) == wrapper);
    memcpy(seen->ids + len, id.ptr, id.len);
    if (seen->stop_at == len + 1)
        return pdr_err_set(err, PDR_ECANCELLED, "enough", "enough");
    return PDR_OK;
}

TEST(registry_each, goes_in_the_order_in_which_they_came)
{
    pdr_registry *registry = registry_with(three, 3);
    struct visit all = {registry, "", 0}, some = {registry, "", 2};
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_registry_each(registry, &err, visit, &all));
    ASSERT_STR("bac", all.ids);
    ASSERT_RC(PDR_ECANCELLED, pdr_registry_each(registry, &err, visit, &some));
    ASSERT_STR("ba", some.ids);
    ASSERT_STR("enough", err.reason);
    pdr_registry_free(registry);
}

/* Removes what it stands at. */
static pdr_rc take_out(pdr_str id, pdr_session_wrapper *wrapper, pdr_err *err,
                       void *arg)
{
    (void)wrapper;
    return pdr_registry_remove(NULL, arg, id, err);
}

TEST(registry_each, lets_the_visitor_remove_what_it_stands_at)
{
    pdr_registry *registry = registry_with(three, 3);

    ASSERT_RC(PDR_OK, pdr_registry_each(registry, NULL, take_out, registry));
    ASSERT_SIZE(0, pdr_registry_count(registry));
    pdr_registry_free(registry);
}

/* --- threads ------------------------------------------------------------- */

#define THREADS 4
#define ROUNDS  200

struct worker {
    pdr_registry *registry;
    int number;
    size_t added; /* of the ids that all fight for */
};

/* Adds, finds and removes sessions of its own, and tries to add one that the
 * others want, too. */
static void *work(void *arg)
{
    struct worker *worker = arg;

    for (int i = 0; i < ROUNDS; i++) {
        char own[32], shared[32];
        pdr_session_wrapper one, two;

        (void)snprintf(own, sizeof(own), "own-%d-%d", worker->number, i);
        (void)snprintf(shared, sizeof(shared), "shared-%d", i);
        one = wrapper_of(own);
        two = wrapper_of(shared);
        ASSERT_RC(PDR_OK, pdr_registry_add(worker->registry, pdr_str_n(NULL, 0),
                                           &one, NULL));
        if (pdr_registry_add(worker->registry, pdr_str_n(NULL, 0), &two,
                             NULL) == PDR_OK)
            worker->added++;
        ASSERT(pdr_registry_find(worker->registry, pdr_str_c(own)) != NULL);
        ASSERT(pdr_registry_find(worker->registry, pdr_str_c(shared)) != NULL);
        ASSERT_RC(PDR_OK, pdr_registry_remove(NULL, worker->registry,
                                              pdr_str_c(own), NULL));
    }
    return NULL;
}

TEST(registry, takes_each_id_once_from_many_threads)
{
    pdr_registry *registry = registry_with(three, 0);
    pthread_t threads[THREADS];
    struct worker workers[THREADS];
    size_t added = 0;

    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){registry, i, 0};
        ASSERT_INT(0, pthread_create(&threads[i], NULL, work, &workers[i]));
    }
    for (int i = 0; i < THREADS; i++) {
        ASSERT_INT(0, pthread_join(threads[i], NULL));
        added += workers[i].added;
    }
    ASSERT_SIZE(ROUNDS, added);
    ASSERT_SIZE(ROUNDS, pdr_registry_count(registry));
    pdr_registry_free(registry);
}

/* --- memory -------------------------------------------------------------- */

static pdr_rc nothing(pdr_str id, pdr_session_wrapper *wrapper, pdr_err *err,
                      void *arg)
{
    (void)id;
    (void)wrapper;
    (void)err;
    (void)arg;
    return PDR_OK;
}

TEST_OOM(registry, cleans_up)
{
    pdr_registry *registry = NULL;
    pdr_session_wrapper wrapper = PDR_SESSION_WRAPPER_INIT;
    pdr_value *value = NULL;
    pdr_rc rc = pdr_registry_new(&registry, NULL);

    ASSERT((registry != NULL) == (rc == PDR_OK));
    if (rc == PDR_OK)
        rc = pdr_json_read(&value, pdr_str_c("{\"session_id\":\"s\"}"), NULL,
                           NULL);
    if (rc == PDR_OK)
        rc = pdr_session_from_value(&wrapper.session, value, NULL);
    if (rc == PDR_OK)
        rc = pdr_properties_new(&wrapper.properties, NULL);
    if (rc == PDR_OK) {
        rc = pdr_registry_add(registry, pdr_str_n(NULL, 0), &wrapper, NULL);
        ASSERT(wrapper.session == NULL);
    }
    if (rc == PDR_OK)
        rc = pdr_registry_each(registry, NULL, nothing, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_session_wrapper_dispose(&wrapper);
    pdr_value_free(value);
    pdr_registry_free(registry);
}
