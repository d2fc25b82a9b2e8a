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

static bool is_registered(pdr_registry *registry, pdr_str id)
{
    pdr_session_wrapper found = PDR_SESSION_WRAPPER_INIT;
    pdr_rc rc = pdr_registry_find(&found, registry, id, NULL);

    ASSERT((found.session != NULL) == (rc == PDR_OK));
    pdr_session_wrapper_dispose(&found);
    return rc == PDR_OK;
}

/* Say `number` under "n". */
static void set_number(pdr_properties *properties, int64_t number)
{
    pdr_value *value = NULL;

    ASSERT_RC(PDR_OK, pdr_value_new_int64(&value, number, NULL));
    ASSERT_RC(PDR_OK,
              pdr_properties_set(properties, pdr_str_c("n"), value, NULL));
    pdr_value_free(value);
}

/* What is said under "n"; -1: nothing. */
static int64_t said_number(const pdr_properties *properties)
{
    const pdr_value *value = NULL;
    int64_t number = -1;

    if (pdr_properties_get(&value, properties, pdr_str_c("n"), NULL) == PDR_OK)
        ASSERT_RC(PDR_OK, pdr_value_int64(&number, value, NULL));
    return number;
}

TEST(registry, keeps_session_and_properties_together)
{
    pdr_registry *registry = registry_with(three, 3);
    pdr_session_wrapper found = PDR_SESSION_WRAPPER_INIT;
    pdr_session_wrapper out = PDR_SESSION_WRAPPER_INIT;

    ASSERT_SIZE(3, pdr_registry_count(registry));
    ASSERT_RC(PDR_OK,
              pdr_registry_find(&found, registry, pdr_str_c("a"), NULL));
    ASSERT(found.properties != NULL);
    ASSERT_TEXT("a", pdr_session_id(found.session));
    pdr_session_wrapper_dispose(&found);
    ASSERT(!is_registered(registry, pdr_str_c("d")));
    ASSERT_RC(PDR_OK,
              pdr_registry_remove(&out, registry, pdr_str_c("a"), NULL));
    ASSERT_TEXT("a", pdr_session_id(out.session));
    ASSERT(!is_registered(registry, pdr_str_c("a")));
    ASSERT_RC(PDR_OK,
              pdr_registry_remove(NULL, registry, pdr_str_c("b"), NULL));
    ASSERT_SIZE(1, pdr_registry_count(registry));
    pdr_session_wrapper_dispose(&out);
    pdr_registry_free(registry);
    pdr_registry_free(NULL);
}

TEST(registry_find, gives_a_wrapper_that_outlives_the_registered_one)
{
    pdr_registry *registry = registry_with(three, 3);
    pdr_session_wrapper a = PDR_SESSION_WRAPPER_INIT, b = a, c = a;

    ASSERT_RC(PDR_OK, pdr_registry_find(&a, registry, pdr_str_c("a"), NULL));
    ASSERT_RC(PDR_OK, pdr_registry_find(&b, registry, pdr_str_c("b"), NULL));
    ASSERT_RC(PDR_OK, pdr_registry_find(&c, registry, pdr_str_c("c"), NULL));
    ASSERT_RC(PDR_OK,
              pdr_registry_remove(NULL, registry, pdr_str_c("a"), NULL));
    pdr_session_wrapper_dispose(&c); /* the registry still has it */
    pdr_registry_free(registry);
    ASSERT_TEXT("a", pdr_session_id(a.session));
    ASSERT_TEXT("b", pdr_session_id(b.session));
    ASSERT_SIZE(0, pdr_properties_count(b.properties));
    pdr_session_wrapper_dispose(&a);
    pdr_session_wrapper_dispose(&b);
}

TEST(registry_find, shares_the_session_and_copies_the_properties)
{
    pdr_registry *registry = registry_with(three, 1);
    pdr_session_wrapper one = PDR_SESSION_WRAPPER_INIT, two = one, late = one;

    ASSERT_RC(PDR_OK, pdr_registry_find(&one, registry, pdr_str_c("b"), NULL));
    ASSERT_RC(PDR_OK, pdr_registry_find(&two, registry, pdr_str_c("b"), NULL));
    ASSERT(one.session == two.session && one.properties != two.properties);
    set_number(one.properties, 7);
    ASSERT_INT(-1, said_number(two.properties));
    ASSERT_RC(PDR_OK,
              pdr_registry_replace(registry, pdr_str_c("b"), &one, NULL));
    ASSERT(one.session == NULL && one.properties == NULL);
    ASSERT_RC(PDR_OK, pdr_registry_find(&late, registry, pdr_str_c("b"), NULL));
    ASSERT(late.session == two.session);
    ASSERT_INT(7, said_number(late.properties));
    ASSERT_INT(-1, said_number(two.properties));
    pdr_session_wrapper_dispose(&two);
    pdr_session_wrapper_dispose(&late);
    pdr_registry_free(registry);
}

TEST(registry_find, keeps_what_stood_beside_the_session)
{
    static const char text[] = "{\"x\":1,\"session\":{\"session_id\":\"b\"}}";
    pdr_registry *registry = registry_with(three, 0);
    pdr_value *value = value_of(text), *back = NULL;
    pdr_session_wrapper wrapper = PDR_SESSION_WRAPPER_INIT;

    ASSERT_RC(PDR_OK, pdr_session_wrapper_from_value(&wrapper, value, NULL,
                                                     NULL, NULL, NULL));
    ASSERT_RC(PDR_OK,
              pdr_registry_add(registry, pdr_str_n(NULL, 0), &wrapper, NULL));
    ASSERT_RC(PDR_OK,
              pdr_registry_find(&wrapper, registry, pdr_str_c("b"), NULL));
    ASSERT(wrapper.properties == NULL);
    ASSERT_RC(PDR_OK, pdr_session_wrapper_to_value(&back, &wrapper, NULL));
    ASSERT_JSON(text, back);
    pdr_value_free(back);
    pdr_value_free(value);
    pdr_session_wrapper_dispose(&wrapper);
    pdr_registry_free(registry);
}

TEST(registry, says_that_there_is_none)
{
    pdr_registry *registry = registry_with(three, 1);
    pdr_session_wrapper found = {(pdr_session *)1, NULL, NULL}, removed = found;
    pdr_session_wrapper other = wrapper_of("x");
    pdr_err errs[3] = {PDR_ERR_INIT, PDR_ERR_INIT, PDR_ERR_INIT};

    ASSERT_RC(PDR_ENOTFOUND, pdr_registry_remove(&removed, registry,
                                                 pdr_str_c("x"), &errs[0]));
    ASSERT_RC(PDR_ENOTFOUND,
              pdr_registry_find(&found, registry, pdr_str_c("x"), &errs[1]));
    ASSERT_RC(PDR_ENOTFOUND, pdr_registry_replace(registry, pdr_str_n(NULL, 0),
                                                  &other, &errs[2]));
    for (size_t i = 0; i < 3; i++) {
        ASSERT_STR("not_registered", errs[i].reason);
        ASSERT_STR("there is no session 'x' here", errs[i].message);
    }
    ASSERT(removed.session == NULL && found.session == NULL);
    ASSERT(other.session == NULL && other.properties == NULL);
    ASSERT_SIZE(1, pdr_registry_count(registry));
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
    ASSERT(is_registered(registry, pdr_str_n(longest, 1024)));
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
    ASSERT(is_registered(registry, pdr_str_c("mine")));
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
    pdr_session_wrapper found = PDR_SESSION_WRAPPER_INIT;

    ASSERT_RC(PDR_OK, pdr_registry_find(&found, seen->registry, id, NULL));
    ASSERT(found.session == wrapper->session);
    pdr_session_wrapper_dispose(&found);
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

struct removal {
    pdr_registry *registry;
    size_t visits;
};

/* Removes all three at the first visit, and uses what it is given. */
static pdr_rc take_out(pdr_str id, pdr_session_wrapper *wrapper, pdr_err *err,
                       void *arg)
{
    struct removal *removal = arg;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; removal->visits == 0 && rc == PDR_OK && i < 3; i++)
        rc = pdr_registry_remove(NULL, removal->registry, pdr_str_c(three[i]),
                                 err);
    ASSERT(pdr_str_equal(id, pdr_session_id(wrapper->session)));
    set_number(wrapper->properties, 1);
    removal->visits++;
    return rc;
}

TEST(registry_each, lets_the_visitor_remove_what_is_still_to_come)
{
    pdr_registry *registry = registry_with(three, 3);
    struct removal removal = {registry, 0};

    ASSERT_RC(PDR_OK, pdr_registry_each(registry, NULL, take_out, &removal));
    ASSERT_SIZE(3, removal.visits);
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
        ASSERT(is_registered(worker->registry, pdr_str_c(own)));
        ASSERT(is_registered(worker->registry, pdr_str_c(shared)));
        ASSERT_RC(PDR_OK, pdr_registry_remove(NULL, worker->registry,
                                              pdr_str_c(own), NULL));
    }
    return NULL;
}

/* Run `fn` in as many threads, on one registry; gives what they added. */
static size_t run_threads(pdr_registry *registry, void *(*fn)(void *))
{
    pthread_t threads[THREADS];
    struct worker workers[THREADS];
    size_t added = 0;

    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){registry, i, 0};
        ASSERT_INT(0, pthread_create(&threads[i], NULL, fn, &workers[i]));
    }
    for (int i = 0; i < THREADS; i++) {
        ASSERT_INT(0, pthread_join(threads[i], NULL));
        added += workers[i].added;
    }
    return added;
}

TEST(registry, takes_each_id_once_from_many_threads)
{
    pdr_registry *registry = registry_with(three, 0);

    ASSERT_SIZE(ROUNDS, run_threads(registry, work));
    ASSERT_SIZE(ROUNDS, pdr_registry_count(registry));
    pdr_registry_free(registry);
}

static pdr_rc use_wrapper(pdr_str id, pdr_session_wrapper *wrapper,
                          pdr_err *err, void *arg)
{
    (void)id;
    (void)err;
    (void)arg;
    set_number(wrapper->properties, said_number(wrapper->properties) + 1);
    return PDR_OK;
}

/* All threads work at the same three wrappers: one removes them and puts them
 * back, one changes what is said, two use what they find, and the session in
 * it. */
static void *fight(void *arg)
{
    struct worker *worker = arg;

    for (int i = 0; i < ROUNDS; i++) {
        pdr_str id = pdr_str_c(three[i % 3]);
        pdr_session_wrapper found = PDR_SESSION_WRAPPER_INIT;
        pdr_value *document = NULL;

        if (worker->number == 0) {
            ASSERT_RC(PDR_OK,
                      pdr_registry_remove(&found, worker->registry, id, NULL));
            ASSERT_RC(PDR_OK,
                      pdr_registry_add(worker->registry, id, &found, NULL));
            continue;
        }
        if (worker->number == 1)
            ASSERT_RC(PDR_OK, pdr_registry_each(worker->registry, NULL,
                                                use_wrapper, NULL));
        if (pdr_registry_find(&found, worker->registry, id, NULL) != PDR_OK)
            continue;
        ASSERT(pdr_str_equal(id, pdr_session_id(found.session)));
        set_number(found.properties, i);
        ASSERT_RC(PDR_OK, pdr_session_to_value(&document, found.session, NULL));
        pdr_value_free(document);
        if (worker->number == 2 &&
            pdr_registry_replace(worker->registry, id, &found, NULL) == PDR_OK)
            worker->added++;
        pdr_session_wrapper_dispose(&found);
    }
    return NULL;
}

TEST(registry, keeps_what_was_found_while_others_replace_and_remove_it)
{
    pdr_registry *registry = registry_with(three, 3);

    (void)run_threads(registry, fight);
    ASSERT_SIZE(3, pdr_registry_count(registry));
    for (size_t i = 0; i < 3; i++)
        ASSERT(is_registered(registry, pdr_str_c(three[i])));
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
    if (rc == PDR_OK) {
        rc = pdr_registry_find(&wrapper, registry, pdr_str_c("s"), NULL);
        ASSERT((wrapper.session != NULL) == (rc == PDR_OK));
        ASSERT((wrapper.properties != NULL) == (rc == PDR_OK));
    }
    if (rc == PDR_OK)
        rc = pdr_registry_replace(registry, pdr_str_n(NULL, 0), &wrapper, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_session_wrapper_dispose(&wrapper);
    pdr_value_free(value);
    pdr_registry_free(registry);
}
