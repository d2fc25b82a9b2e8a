/* The state of a provider: made, found again, saved, changed, and clashes. */
#include "bag_text.h"
#include "state_types.h"

/* A provider that keeps a counter. */
struct keeper {
    int64_t first; /* what it makes; INT64_MIN: nothing */
    pdr_rc rc;     /* what its initialiser returns */
    bool is_empty; /* it makes nothing */
    unsigned calls;
    pdr_session *session; /* that it was called with last */
    pdr_rc wrote;         /* what a write from the initialiser gave */
};

static pdr_rc make_counter(void **out, pdr_session *session, pdr_err *err,
                           void *arg)
{
    struct keeper *keeper = arg;

    keeper->calls++;
    keeper->session = session;
    if (session != NULL)
        keeper->wrote = pdr_bag_set(pdr_session_bag(session), KEY("other"),
                                    pdr_value_new_null(), NULL);
    if (!keeper->is_empty) {
        pdr_rc rc = counter_new(out, keeper->first, err);
        if (rc != PDR_OK)
            return rc;
    }
    if (keeper->rc != PDR_OK)
        return pdr_err_set(err, keeper->rc, "mine", "not now");
    return PDR_OK;
}

static pdr_session *new_session(void)
{
    pdr_session *session = NULL;

    ASSERT_RC(PDR_OK, pdr_session_new(&session, NULL, NULL));
    return session;
}

static pdr_provider_state *new_state(struct keeper *keeper, const char *owner,
                                     const char *key)
{
    pdr_provider_state *state = NULL;

    ASSERT_RC(PDR_OK, pdr_provider_state_new(&state, owner, key, &counter_type,
                                             NULL, make_counter, keeper));
    return state;
}

static int64_t counter_of(const pdr_object *object)
{
    return ((const struct counter *)pdr_object_get(object))->a;
}

/* --- making -------------------------------------------------------------- */

TEST(provider_state_new, copies_its_key)
{
    struct keeper keeper = {0};
    char key[] = "todo";
    pdr_provider_state *state = new_state(&keeper, "todo", key);

    key[0] = 'x';
    ASSERT_STR("todo", pdr_provider_state_key(state));
    pdr_provider_state_free(state);
    pdr_provider_state_free(NULL);
}

static void check_refused(const char *key, pdr_provider_init_fn init,
                          const char *reason)
{
    pdr_provider_state *state = (pdr_provider_state *)(uintptr_t)reason;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID,
              pdr_provider_state_new(&state, "todo", key, &counter_type, &err,
                                     init, NULL));
    ASSERT_STR(reason, err.reason);
    ASSERT(strstr(err.message, "todo") != NULL);
    ASSERT(state == NULL);
}

TEST(provider_state_new, refuses_what_cannot_work)
{
    char longest[1026];

    memset(longest, 'k', sizeof(longest));
    longest[1025] = '\0';
    check_refused("k", NULL, "no_initialiser");
    check_refused(NULL, make_counter, "key_null");
    check_refused("", make_counter, "key_blank");
    check_refused("\xC2\xA0 ", make_counter, "key_blank");
    check_refused(longest, make_counter, "key_too_long");
    check_refused("\xFF", make_counter, "bad_utf8");
}

TEST_OOM(provider_state_new, cleans_up_after_any_failed_allocation)
{
    pdr_provider_state *state = NULL;
    pdr_rc rc = pdr_provider_state_new(&state, "o", "k", &counter_type, NULL,
                                       make_counter, NULL);

    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((state != NULL) == (rc == PDR_OK));
    pdr_provider_state_free(state);
}

/* --- with a session ------------------------------------------------------ */

TEST(provider_state_get, makes_a_state_once)
{
    struct keeper keeper = {.first = 7};
    pdr_provider_state *state = new_state(&keeper, "todo", "k");
    pdr_session *session = new_session();
    pdr_object *first = NULL, *second = NULL;

    ASSERT_RC(PDR_OK, pdr_provider_state_get(&first, state, session, NULL));
    ASSERT_RC(PDR_OK, pdr_provider_state_get(&second, state, session, NULL));
    ASSERT(first == second);
    ASSERT_INT(7, counter_of(first));
    ASSERT_INT(1, keeper.calls);
    ASSERT(session == keeper.session);
    ASSERT_RC(PDR_EMISUSE, keeper.wrote);
    assert_bag("{'k':{'a':7}}", pdr_session_bag(session));
    pdr_object_free(first);
    pdr_object_free(second);
    pdr_provider_state_free(state);
    pdr_session_free(session);
}

TEST(provider_state_get, passes_failures_on)
{
    struct keeper keeper = {.first = 7, .rc = PDR_EBUSY};
    pdr_provider_state *state = new_state(&keeper, "todo", "k");
    pdr_session *session = new_session();
    pdr_object *object = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EBUSY, pdr_provider_state_get(&object, state, session, &err));
    ASSERT_STR("mine", err.reason);
    ASSERT(object == NULL);
    assert_bag("{}", pdr_session_bag(session));
    bag_put(pdr_session_bag(session), "k", "'x'");
    ASSERT_RC(PDR_EINVALID,
              pdr_provider_state_get(&object, state, session, &err));
    ASSERT_STR("state_decode", err.reason);
    assert_bag("{'k':'x'}", pdr_session_bag(session));
    pdr_provider_state_free(state);
    pdr_session_free(session);
}

TEST(provider_state_save, writes_over_what_is_there)
{
    struct keeper keeper = {.first = 7};
    pdr_provider_state *state = new_state(&keeper, "todo", "k");
    pdr_session *session = new_session();
    struct counter counter = {9, 0};

    bag_put(pdr_session_bag(session), "k", "{'x':1.0,'a':1}");
    ASSERT_RC(PDR_OK, pdr_provider_state_save(state, session, &counter, NULL));
    assert_bag("{'k':{'x':1.0,'a':9}}", pdr_session_bag(session));
    ASSERT_RC(PDR_OK, pdr_provider_state_save(state, session, NULL, NULL));
    assert_bag("{'k':null}", pdr_session_bag(session));
    pdr_provider_state_free(state);
    pdr_session_free(session);
}

/* Adds *arg; fails if the sum is 13. */
static pdr_rc add(void **io, pdr_err *err, void *arg)
{
    struct counter *counter = *io;

    if (counter == NULL)
        return counter_new(io, -1, err);
    counter->a += *(int *)arg;
    return counter->a == 13 ? PDR_ECANCELLED : PDR_OK;
}

TEST(provider_state_update, makes_and_changes_in_one_step)
{
    struct keeper keeper = {.first = 7};
    pdr_provider_state *state = new_state(&keeper, "todo", "k");
    pdr_session *session = new_session();
    pdr_bag *bag = pdr_session_bag(session);
    int two = 2, four = 4;

    ASSERT_RC(PDR_OK,
              pdr_provider_state_update(state, session, NULL, add, &two));
    ASSERT_SIZE(1, pdr_bag_generation(bag));
    assert_bag("{'k':{'a':9}}", bag);
    ASSERT_RC(PDR_ECANCELLED,
              pdr_provider_state_update(state, session, NULL, add, &four));
    assert_bag("{'k':{'a':9}}", bag);
    ASSERT_INT(1, keeper.calls);
    bag_put(bag, "k", "null");
    ASSERT_RC(PDR_OK,
              pdr_provider_state_update(state, session, NULL, add, &two));
    ASSERT_INT(2, keeper.calls);
    assert_bag("{'k':{'a':9}}", bag);
    pdr_provider_state_free(state);
    pdr_session_free(session);
}

TEST(provider_state_update, passes_the_failure_of_the_initialiser_on)
{
    struct keeper keeper = {.first = 7, .rc = PDR_EBUSY};
    pdr_provider_state *state = new_state(&keeper, "todo", "k");
    pdr_session *session = new_session();
    int two = 2;

    ASSERT_RC(PDR_EBUSY,
              pdr_provider_state_update(state, session, NULL, add, &two));
    ASSERT_RC(PDR_EBUSY,
              pdr_provider_state_update(state, NULL, NULL, add, &two));
    keeper.is_empty = true;
    keeper.rc = PDR_OK;
    ASSERT_RC(PDR_OK,
              pdr_provider_state_update(state, session, NULL, add, &two));
    assert_bag("{'k':{'a':-1}}", pdr_session_bag(session));
    pdr_provider_state_free(state);
    pdr_session_free(session);
}

/* --- without one --------------------------------------------------------- */

TEST(provider_state, is_kept_nowhere_without_a_session)
{
    struct keeper keeper = {.first = 7};
    pdr_provider_state *state = new_state(&keeper, "todo", "k");
    pdr_object *first = NULL, *second = NULL;
    struct counter counter = {1, 0};
    int two = 2, six = 6;

    ASSERT_RC(PDR_OK, pdr_provider_state_get(&first, state, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_provider_state_get(&second, state, NULL, NULL));
    ASSERT(first != second);
    ASSERT_INT(2, keeper.calls);
    ASSERT(keeper.session == NULL);
    ASSERT_RC(PDR_OK, pdr_provider_state_save(state, NULL, &counter, NULL));
    ASSERT_RC(PDR_OK, pdr_provider_state_update(state, NULL, NULL, add, &two));
    ASSERT_INT(3, keeper.calls);
    ASSERT_RC(PDR_ECANCELLED,
              pdr_provider_state_update(state, NULL, NULL, add, &six));
    pdr_object_free(first);
    pdr_object_free(second);
    pdr_provider_state_free(state);
}

TEST(provider_state_get, gives_what_the_initialiser_gives_without_a_session)
{
    struct keeper keeper = {.first = 7, .rc = PDR_EBUSY};
    pdr_provider_state *state = new_state(&keeper, "todo", "k");
    pdr_object *object = NULL;

    ASSERT_RC(PDR_EBUSY, pdr_provider_state_get(&object, state, NULL, NULL));
    keeper.is_empty = true;
    ASSERT_RC(PDR_EBUSY, pdr_provider_state_get(&object, state, NULL, NULL));
    keeper.rc = PDR_OK;
    ASSERT_RC(PDR_OK, pdr_provider_state_get(&object, state, NULL, NULL));
    ASSERT(object == NULL);
    pdr_provider_state_free(state);
}

/* --- owners -------------------------------------------------------------- */

TEST(provider_state, refuses_a_key_that_another_provider_used)
{
    struct keeper keeper = {.first = 7};
    pdr_provider_state *todo = new_state(&keeper, "todo", "k");
    pdr_provider_state *same = new_state(&keeper, "todo", "k");
    pdr_provider_state *mode = new_state(&keeper, "mode", "k");
    pdr_session *session = new_session(), *other = new_session();
    pdr_object *object = NULL;
    struct counter counter = {1, 0};
    pdr_err err = PDR_ERR_INIT;
    int two = 2;

    ASSERT_RC(PDR_OK, pdr_provider_state_save(todo, session, &counter, NULL));
    ASSERT_RC(PDR_OK, pdr_provider_state_save(same, session, &counter, NULL));
    ASSERT_RC(PDR_EINVALID,
              pdr_provider_state_get(&object, mode, session, &err));
    ASSERT_STR("state_key_clash", err.reason);
    ASSERT(strstr(err.message, "todo") != NULL);
    ASSERT(strstr(err.message, "mode") != NULL);
    ASSERT_RC(PDR_EINVALID,
              pdr_provider_state_save(mode, session, &counter, NULL));
    ASSERT_RC(PDR_EINVALID,
              pdr_provider_state_update(mode, session, NULL, add, &two));
    assert_bag("{'k':{'a':1}}", pdr_session_bag(session));
    ASSERT_RC(PDR_OK, pdr_provider_state_save(mode, other, &counter, NULL));
    pdr_provider_state_free(todo);
    pdr_provider_state_free(same);
    pdr_provider_state_free(mode);
    pdr_session_free(session);
    pdr_session_free(other);
}

/* --- failures of memory -------------------------------------------------- */

TEST_OOM(provider_state_get, gives_nothing_without_memory)
{
    struct keeper keeper = {.first = 7};
    pdr_provider_state *state = NULL;
    pdr_session *session = NULL;
    pdr_object *kept = NULL, *loose = NULL;
    int two = 2;

    if (pdr_provider_state_new(&state, "o", "k", &counter_type, NULL,
                               make_counter, &keeper) == PDR_OK &&
        pdr_session_new(&session, NULL, NULL) == PDR_OK) {
        pdr_rc rc = pdr_provider_state_get(&kept, state, session, NULL);

        ASSERT((kept != NULL) == (rc == PDR_OK));
        rc = pdr_provider_state_get(&loose, state, NULL, NULL);
        ASSERT((loose != NULL) == (rc == PDR_OK));
        rc = pdr_provider_state_update(state, session, NULL, add, &two);
        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    }
    pdr_object_free(kept);
    pdr_object_free(loose);
    pdr_provider_state_free(state);
    pdr_session_free(session);
}
