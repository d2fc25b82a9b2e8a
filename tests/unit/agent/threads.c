/* One agent and one client, many sessions, several threads: nobody sees what
 * another session said. */
#include <pthread.h>
#include <stdatomic.h>

#include <perdure.h>

#include "test.h"

enum { THREADS = 8, SESSIONS = 96, RUNS = 3 };

struct work {
    pdr_agent *agent;
    pdr_store *store;
    atomic_int next;
};

static pdr_rc tool_echo(pdr_value **out, const pdr_tool_call *call,
                        pdr_err *err, void *arg)
{
    (void)arg;
    return pdr_value_new_string(out, pdr_session_id(call->session), err);
}

static void *work_on(void *arg)
{
    const pdr_stored_opts create = {.create = true};
    struct work *w = arg;

    for (int n = w->next++; n < SESSIONS; n = w->next++) {
        pdr_stored *stored = NULL;
        pdr_err err = PDR_ERR_INIT;
        char id[32];

        snprintf(id, sizeof(id), "s%d", n);
        const pdr_ref ref = {.id = pdr_str_c(id)};
        ASSERT_RC(PDR_OK,
                  pdr_stored_open(&stored, w->store, &ref, &create, &err));
        for (int i = 0; i < RUNS; i++) {
            const pdr_run run = {.stored = stored, .text = pdr_str_c(id)};
            pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
            pdr_response *response = NULL;
            char expected[80];

            ASSERT_RC(PDR_OK, pdr_agent_run(&response, w->agent, &run, &err));
            ASSERT_RC(PDR_OK, pdr_response_text(&text, response, &err));
            snprintf(expected, sizeof(expected), "%s is %s", id, id);
            ASSERT_TEXT(expected, pdr_buf_str(&text));
            pdr_buf_dispose(&text);
            pdr_response_free(response);
        }
        ASSERT_INT(4 * RUNS + 1, pdr_stored_head(stored)->next_seq);
        pdr_stored_close(stored);
    }
    return NULL;
}

TEST(agent, serves_many_sessions_in_many_threads)
{
    static const char script[] =
        "{\"replies\":[{\"after\":\"who\",\"text\":[\"{user} is \","
        "\"{result}\"]},{\"calls\":[{\"name\":\"who\"}]}]}";
    const pdr_tool tool = {.name = "who", .fn = tool_echo};
    pdr_agent_parts parts = {.tools = &tool, .tool_count = 1};
    struct work w = {.agent = NULL};
    pthread_t threads[THREADS];
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK,
              pdr_client_script(&parts.client, pdr_str_c(script), &err));
    ASSERT_RC(PDR_OK, pdr_agent_new(&w.agent, &parts, &err));
    ASSERT_RC(PDR_OK, pdr_store_open(&w.store, "memory:", &err));
    for (int i = 0; i < THREADS; i++)
        ASSERT_INT(0, pthread_create(&threads[i], NULL, work_on, &w));
    for (int i = 0; i < THREADS; i++)
        ASSERT_INT(0, pthread_join(threads[i], NULL));
    pdr_store_close(w.store);
    pdr_agent_free(w.agent);
    pdr_client_free(parts.client);
}
