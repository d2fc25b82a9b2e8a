/*
 * state.c - the statements about the state of providers.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "bag_text.h"
#include "state_types.h"

static atomic_uint made; /* states that the initialiser made */

static pdr_rc make_counter(void **out, pdr_session *session, pdr_err *err,
                           void *arg)
{
    (void)session;
    (void)arg;
    return counter_new(out, (int64_t)atomic_fetch_add(&made, 1) + 1, err);
}

static pdr_provider_state *new_state(const char *key)
{
    pdr_provider_state *state = NULL;

    atomic_store(&made, 0);
    ASSERT_RC(PDR_OK,
              pdr_provider_state_new(&state, "counting", key, &counter_type,
                                     NULL, make_counter, NULL));
    return state;
}

static pdr_session *new_session(void)
{
    pdr_session *session = NULL;

    ASSERT_RC(PDR_OK, pdr_session_new(&session, NULL, NULL));
    return session;
}

static int64_t counter_of(const pdr_provider_state *state, pdr_session *session)
{
    pdr_object *object = NULL;

    ASSERT_RC(PDR_OK, pdr_provider_state_get(&object, state, session, NULL));
    int64_t count = ((const struct counter *)pdr_object_get(object))->a;
    pdr_object_free(object);
    return count;
}

TEST(provider_state, is_made_once)
{
    COVERS("S-23");
    pdr_provider_state *state = new_state("k");
    pdr_session *session = new_session();
    pdr_object *first = NULL, *second = NULL;

    ASSERT_RC(PDR_OK, pdr_provider_state_get(&first, state, session, NULL));
    ASSERT_RC(PDR_OK, pdr_provider_state_get(&second, state, session, NULL));
    ASSERT_INT(1, atomic_load(&made));
    ASSERT(pdr_object_get(first) == pdr_object_get(second));
    pdr_object_free(first);
    pdr_object_free(second);
    pdr_provider_state_free(state);
    pdr_session_free(session);
}

TEST(provider_state, is_another_in_another_session)
{
    COVERS("S-24");
    pdr_provider_state *state = new_state("k");
    pdr_session *one = new_session(), *two = new_session();
    struct counter nine = {9, 0};

    ASSERT_INT(1, counter_of(state, one));
    ASSERT_INT(2, counter_of(state, two));
    ASSERT_INT(2, atomic_load(&made));
    ASSERT_RC(PDR_OK, pdr_provider_state_save(state, one, &nine, NULL));
    ASSERT_INT(9, counter_of(state, one));
    ASSERT_INT(2, counter_of(state, two));
    pdr_provider_state_free(state);
    pdr_session_free(one);
    pdr_session_free(two);
}

TEST(provider_state, is_made_each_time_without_a_session)
{
    COVERS("S-25");
    pdr_provider_state *state = new_state("k");
    struct counter nine = {9, 0};

    ASSERT_INT(1, counter_of(state, NULL));
    ASSERT_INT(2, counter_of(state, NULL));
    ASSERT_RC(PDR_OK, pdr_provider_state_save(state, NULL, &nine, NULL));
    ASSERT_INT(3, counter_of(state, NULL));
    pdr_provider_state_free(state);
}

static void check_refused(const char *key, pdr_provider_init_fn init,
                          const char *reason)
{
    pdr_provider_state *state = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID,
              pdr_provider_state_new(&state, "counting", key, &counter_type,
                                     &err, init, NULL));
    ASSERT_STR(reason, err.reason);
    ASSERT(state == NULL);
}

TEST(provider_state, needs_a_key_and_an_initialiser)
{
    COVERS("S-26");
    check_refused("k", NULL, "no_initialiser");
    check_refused(NULL, make_counter, "key_null");
    check_refused("", make_counter, "key_blank");
    check_refused("  ", make_counter, "key_blank");
}

TEST(provider_state, does_not_mix_with_that_of_another_key)
{
    COVERS("S-27");
    pdr_provider_state *one = new_state("one"), *two = new_state("two");
    pdr_session *session = new_session();
    struct counter nine = {9, 0};

    ASSERT_INT(1, counter_of(one, session));
    ASSERT_INT(2, counter_of(two, session));
    ASSERT_RC(PDR_OK, pdr_provider_state_save(one, session, &nine, NULL));
    ASSERT_INT(9, counter_of(one, session));
    ASSERT_INT(2, counter_of(two, session));
    assert_bag("{'one':{'a':9},'two':{'a':2}}", pdr_session_bag(session));
    pdr_provider_state_free(one);
    pdr_provider_state_free(two);
    pdr_session_free(session);
}

TEST(provider_state, does_not_overwrite_another_type)
{
    COVERS("S-28");
    pdr_provider_state *state = new_state("k");
    pdr_session *session = new_session();
    pdr_object *object = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_bag_set_typed(pdr_session_bag(session), KEY("k"),
                                        &text_type, "mine", PDR_OVERLAY, NULL));
    ASSERT_RC(PDR_EINVALID,
              pdr_provider_state_get(&object, state, session, &err));
    ASSERT_STR("state_type_mismatch", err.reason);
    ASSERT(object == NULL);
    ASSERT_INT(0, atomic_load(&made));
    assert_bag("{'k':'mine'}", pdr_session_bag(session));
    pdr_provider_state_free(state);
    pdr_session_free(session);
}

#define THREADS 16

struct worker {
    pthread_t thread;
    pthread_barrier_t *start;
    const pdr_provider_state *state;
    pdr_session *session;
    pdr_object *object;
};

static void *get_state(void *arg)
{
    struct worker *worker = arg;

    (void)pthread_barrier_wait(worker->start);
    if (pdr_provider_state_get(&worker->object, worker->state, worker->session,
                               NULL) != PDR_OK)
        worker->object = NULL;
    return NULL;
}

/* One round of all threads on an empty slot. */
static void race(const pdr_provider_state *state)
{
    struct worker workers[THREADS];
    pdr_session *session = new_session();
    pthread_barrier_t start;

    ASSERT_INT(0, pthread_barrier_init(&start, NULL, THREADS));
    for (size_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){
            .start = &start, .state = state, .session = session};
        ASSERT_INT(0, pthread_create(&workers[i].thread, NULL, get_state,
                                     &workers[i]));
    }
    for (size_t i = 0; i < THREADS; i++) {
        ASSERT_INT(0, pthread_join(workers[i].thread, NULL));
        ASSERT(workers[i].object != NULL);
        ASSERT(workers[i].object == workers[0].object);
    }
    for (size_t i = 0; i < THREADS; i++)
        pdr_object_free(workers[i].object);
    ASSERT_INT(0, pthread_barrier_destroy(&start));
    pdr_session_free(session);
}

TEST(provider_state, is_made_once_by_16_threads)
{
    COVERS("S-29");
    pdr_provider_state *state = new_state("k");

    for (unsigned i = 1; i <= 50; i++) {
        race(state);
        ASSERT_INT(i, atomic_load(&made));
    }
    pdr_provider_state_free(state);
}
