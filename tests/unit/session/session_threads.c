/*
 * session_threads.c - ids, bag, history and document of one session from eight
 * threads. What each thread sees must be one point in time, and nothing that
 * was written may be missing in the end.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "session_text.h"

#define PAIRS  2u /* threads of each kind */
#define ROUNDS 300u

struct shared {
    pdr_session *session;
    atomic_uint wrong;   /* things that must not be */
    atomic_uint writing; /* threads that still write */
};

struct worker {
    struct shared *shared;
    unsigned number;
    pthread_t thread;
};

static void must(struct shared *shared, bool holds)
{
    if (!holds)
        (void)atomic_fetch_add(&shared->wrong, 1);
}

static pdr_value *value_from(const char *text)
{
    pdr_value *value = NULL;

    return pdr_json_read(&value, pdr_str_c(text), NULL, NULL) == PDR_OK ? value
                                                                        : NULL;
}

/* Sets ids "c-1", "c-2", ...; the kind is stated from then on. */
static void *write_ids(void *arg)
{
    struct worker *w = arg;

    for (unsigned i = 1; i <= ROUNDS; i++) {
        char text[32];
        pdr_value *id = NULL;

        (void)snprintf(text, sizeof(text), "\"c-%u\"", i);
        id = value_from(text);
        must(w->shared, pdr_session_set_service_id(w->shared->session, id,
                                                   NULL) == PDR_OK);
        must(w->shared, pdr_session_get_kind(w->shared->session) ==
                            PDR_SESSION_KIND_CLIENT);
        pdr_value_free(id);
    }
    (void)atomic_fetch_sub(&w->shared->writing, 1);
    return NULL;
}

/* Counts in a slot of its own. */
static void *write_slots(void *arg)
{
    struct worker *w = arg;
    pdr_bag *bag = pdr_session_bag(w->shared->session);
    char key[16];

    (void)snprintf(key, sizeof(key), "slot-%u", w->number);
    for (unsigned i = 1; i <= ROUNDS; i++) {
        pdr_value *number = NULL;

        must(w->shared, pdr_value_new_int64(&number, i, NULL) == PDR_OK);
        must(w->shared,
             pdr_bag_set(bag, pdr_str_c(key), number, NULL) == PDR_OK);
        pdr_value_free(number);
    }
    (void)atomic_fetch_sub(&w->shared->writing, 1);
    return NULL;
}

static void *add_messages(void *arg)
{
    struct worker *w = arg;

    for (unsigned i = 0; i < ROUNDS; i++) {
        pdr_value *message = value_from("{\"role\":\"user\",\"contents\":[]}");
        const pdr_value *two[] = {message, message};

        must(w->shared, pdr_session_add_messages(w->shared->session, two, 2,
                                                 NULL) == PDR_OK);
        pdr_value_free(message);
    }
    (void)atomic_fetch_sub(&w->shared->writing, 1);
    return NULL;
}

/* What a document says, to compare it with a later one. */
struct view {
    int64_t slots[PAIRS];
    size_t messages;
    bool has_id;
};

static void look(struct view *out, struct shared *shared,
                 const pdr_value *document)
{
    const pdr_value *bag = pdr_value_get_c(document, "stateBag");
    const pdr_value *id = pdr_value_get_c(document, "conversationId");
    const pdr_value *slot = pdr_value_get_c(bag, "InMemoryChatHistoryProvider");

    for (unsigned i = 0; i < PAIRS; i++) {
        char key[16];
        const pdr_value *number = NULL;

        (void)snprintf(key, sizeof(key), "slot-%u", i);
        number = pdr_value_get_c(bag, key);
        out->slots[i] = 0;
        if (number != NULL)
            must(shared,
                 pdr_value_int64(&out->slots[i], number, NULL) == PDR_OK);
    }
    out->messages = pdr_value_count(pdr_value_get_c(slot, "messages"));
    out->has_id = id != NULL;
    must(shared, out->messages % 2 == 0); /* both of a call, or none */
    must(shared, pdr_value_get_c(document, "unknown") != NULL);
}

static void *read_documents(void *arg)
{
    struct worker *w = arg;
    struct view before = {{0, 0}, 0, false}, now = before;
    bool last = false;

    while (!last) {
        pdr_value *document = NULL, *list = NULL, *id = NULL;

        last = atomic_load(&w->shared->writing) == 0;
        must(w->shared, pdr_session_to_value(&document, w->shared->session,
                                             NULL) == PDR_OK);
        look(&now, w->shared, document);
        for (unsigned i = 0; i < PAIRS; i++)
            must(w->shared, now.slots[i] >= before.slots[i]);
        must(w->shared, now.messages >= before.messages);
        must(w->shared, now.has_id || !before.has_id);
        must(w->shared,
             pdr_session_history(&list, w->shared->session, NULL) == PDR_OK);
        must(w->shared, pdr_value_count(list) >= now.messages);
        must(w->shared,
             pdr_session_service_id(&id, w->shared->session, NULL) == PDR_OK);
        must(w->shared, id != NULL || !now.has_id);
        before = now;
        pdr_value_free(document);
        pdr_value_free(list);
        pdr_value_free(id);
    }
    return NULL;
}

TEST(session, is_one_point_in_time_for_eight_threads)
{
    static void *(*const jobs[])(void *) = {write_ids, write_slots,
                                            add_messages, read_documents};
    struct shared shared = {session_of("{'unknown':1,'stateBag':{}}"), 0,
                            3 * PAIRS};
    struct worker workers[4 * PAIRS];
    struct view end;
    pdr_value *document = NULL;

    for (unsigned i = 0; i < 4 * PAIRS; i++) {
        workers[i].shared = &shared;
        workers[i].number = i % PAIRS;
        ASSERT_INT(0, pthread_create(&workers[i].thread, NULL, jobs[i / PAIRS],
                                     &workers[i]));
    }
    for (unsigned i = 0; i < 4 * PAIRS; i++)
        ASSERT_INT(0, pthread_join(workers[i].thread, NULL));
    ASSERT_INT(0, atomic_load(&shared.wrong));
    ASSERT_RC(PDR_OK, pdr_session_to_value(&document, shared.session, NULL));
    look(&end, &shared, document);
    ASSERT_INT(0, atomic_load(&shared.wrong));
    ASSERT_INT(ROUNDS, end.slots[0]);
    ASSERT_INT(ROUNDS, end.slots[1]);
    ASSERT_SIZE(2 * PAIRS * ROUNDS, end.messages);
    assert_service_id("'c-300'", shared.session);
    pdr_value_free(document);
    pdr_session_free(shared.session);
}
