/* One bag and one session from eight threads. */
#include <pthread.h>
#include <stdatomic.h>

#include "bag_stress.h"
#include "bag_text.h"

static void check(const struct bag_verdict *verdict)
{
    if (!verdict->is_sound)
        fail_msg("%s", verdict->text);
}

TEST(bag, does_each_operation_in_one_step)
{
    struct bag_verdict verdict;

    for (uint64_t seed = 1; seed <= 4; seed++) {
        bag_check_order(&verdict, 200, seed);
        check(&verdict);
    }
}

TEST(bag, loses_no_update)
{
    struct bag_verdict verdict;

    bag_check_counts(&verdict, 600);
    check(&verdict);
}

TEST(bag, shows_one_point_in_time)
{
    struct bag_verdict verdict;

    bag_check_snapshots(&verdict, 600);
    check(&verdict);
}

/* --- sessions ------------------------------------------------------------ */

#define THREADS  8
#define MESSAGES 200

struct worker {
    pthread_t thread;
    pdr_session *session;
    unsigned number;
    unsigned wrong;
};

static pdr_value *message_of(unsigned thread, unsigned number)
{
    char text[80];
    pdr_value *value = NULL;

    (void)snprintf(text, sizeof(text),
                   "{\"role\":\"user\",\"contents\":[],\"n\":[%u,%u]}", thread,
                   number);
    if (pdr_json_read(&value, pdr_str_c(text), NULL, NULL) != PDR_OK)
        return NULL;
    return value;
}

/* The document is whole: its history is as long as the slot says, at least as
 * long as before. */
static bool is_whole(size_t *count, pdr_session *session)
{
    pdr_value *document = NULL;
    const pdr_value *list = NULL;

    if (pdr_session_to_value(&document, session, NULL) != PDR_OK)
        return false;
    bool found = pdr_pointer_get(&list, document,
                                 pdr_str_c("/stateBag/"
                                           "InMemoryChatHistoryProvider/"
                                           "messages"),
                                 NULL) == PDR_OK;
    size_t now = pdr_value_count(list);
    bool whole = found && now >= *count;
    *count = now;
    pdr_value_free(document);
    return whole;
}

static void *talk(void *arg)
{
    struct worker *worker = arg;
    size_t count = 0;

    for (unsigned i = 0; i < MESSAGES; i++) {
        pdr_value *message = message_of(worker->number, i), *id = NULL;
        const pdr_value *const messages[] = {message};

        worker->wrong += pdr_session_add_messages(worker->session, messages, 1,
                                                  NULL) != PDR_OK;
        worker->wrong += !is_whole(&count, worker->session);
        if (i % 10 == 0) {
            worker->wrong +=
                pdr_value_new_string(&id, pdr_str_c("conversation"), NULL) !=
                    PDR_OK ||
                pdr_session_set_service_id(worker->session, id, NULL) != PDR_OK;
            pdr_value_free(id);
        }
        pdr_value_free(message);
    }
    return NULL;
}

/* All messages are there, those of each thread in order. */
static void check_history(pdr_session *session)
{
    int64_t next[THREADS] = {0};
    pdr_value *history = NULL;
    pdr_iter it;

    ASSERT_RC(PDR_OK, pdr_session_history(&history, session, NULL));
    ASSERT_SIZE(THREADS * MESSAGES, pdr_value_count(history));
    pdr_iter_init(&it, history);
    while (pdr_iter_next(&it)) {
        const pdr_value *n = pdr_value_get_c(it.value, "n");
        int64_t thread = 0, number = 0;

        ASSERT_RC(PDR_OK, pdr_value_int64(&thread, pdr_value_at(n, 0), NULL));
        ASSERT_RC(PDR_OK, pdr_value_int64(&number, pdr_value_at(n, 1), NULL));
        ASSERT_INT(next[thread]++, number);
    }
    pdr_value_free(history);
}

TEST(session, keeps_what_eight_threads_say)
{
    pdr_session_parts parts = {.shape = PDR_SESSION_DOTNET};
    struct worker workers[THREADS];
    pdr_session *session = NULL;

    ASSERT_RC(PDR_OK, pdr_session_new(&session, &parts, NULL));
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.session = session, .number = i};
        ASSERT_INT(0,
                   pthread_create(&workers[i].thread, NULL, talk, &workers[i]));
    }
    for (unsigned i = 0; i < THREADS; i++) {
        ASSERT_INT(0, pthread_join(workers[i].thread, NULL));
        ASSERT_INT(0, workers[i].wrong);
    }
    check_history(session);
    pdr_session_free(session);
}
