/* One folder, several threads: each call is whole, none is lost. */
#include <pthread.h>

#include "folder_text.h"

#define THREADS 4
#define ROUNDS  20

static pdr_rc raise_once(pdr_folder *folder)
{
    pdr_generation read;
    pdr_session *session = NULL;
    pdr_value *value = NULL;
    int64_t count = 0;
    char text[32];
    pdr_rc rc = pdr_folder_get(&session, &read, folder, pdr_str_c("a"), NULL,
                               NULL, NULL);

    if (rc == PDR_OK)
        rc =
            pdr_bag_get(&value, pdr_session_bag(session), pdr_str_c("k"), NULL);
    if (rc == PDR_OK)
        rc = pdr_value_int64(&count, value, NULL);
    snprintf(text, sizeof(text), "%lld", (long long)count + 1);
    if (rc == PDR_OK)
        rc = slot_set(session, text);
    if (rc == PDR_OK)
        rc = pdr_folder_set(NULL, folder, pdr_str_c("a"), &read, session, NULL,
                            NULL, NULL);
    pdr_value_free(value);
    pdr_session_free(session);
    return rc;
}

/* NULL if all went well. */
static void *work(void *arg)
{
    static char failed[] = "failed";
    pdr_folder *folder = arg;
    pdr_value *message = pdr_value_new_object();
    const pdr_value *messages[1] = {message};

    for (int i = 0; i < ROUNDS; i++) {
        pdr_rc rc = PDR_ECONFLICT;
        while (rc == PDR_ECONFLICT)
            rc = raise_once(folder);
        if (rc == PDR_OK)
            rc = pdr_folder_history_append(NULL, folder, pdr_str_c("h"),
                                           messages, 1, NULL);
        if (rc != PDR_OK)
            return failed;
    }
    return NULL;
}

TEST(folder_calls, are_safe_from_several_threads)
{
    pdr_history_report report;
    pthread_t threads[THREADS];
    struct room room;
    pdr_folder *folder = NULL;
    char expected[200];

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_MSGPACK, NULL);
    ASSERT_RC(PDR_OK,
              folder_put(folder, "a", FILE_OF("a", "{\"k\":0}"), NULL, NULL));
    for (int i = 0; i < THREADS; i++)
        ASSERT_INT(0, pthread_create(&threads[i], NULL, work, folder));
    for (int i = 0; i < THREADS; i++) {
        void *failed = NULL;
        ASSERT_INT(0, pthread_join(threads[i], &failed));
        ASSERT(failed == NULL);
    }
    snprintf(expected, sizeof(expected), FILE_OF("a", "{\"k\":%d}"),
             THREADS * ROUNDS);
    assert_folder(expected, folder, "a");
    ASSERT_RC(PDR_OK, pdr_folder_history(&report, folder, pdr_str_c("h"), NULL,
                                         NULL, NULL));
    ASSERT_SIZE(THREADS * ROUNDS, report.messages);
    pdr_folder_close(folder);
    room_leave(&room);
}
