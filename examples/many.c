/*
 * many.c - one agent, 1,000 sessions, 8 threads.
 *
 *     many STORE
 *
 * An agent keeps nothing about any session, so that one of them serves all. The
 * threads take the sessions one after the other and say something in each; then
 * the program counts what the store has.
 */
#include <perdure.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { SESSIONS = 1000, THREADS = 8 };

struct work {
    pdr_agent *agent;
    pdr_store *store;
    atomic_int next, failed;
};

/* One run on one session. */
static pdr_rc say_hello(struct work *w, int n, pdr_err *err)
{
    const pdr_stored_opts create = {.create = true};
    pdr_run run = {.now_ms =
                       (pdr_now() - PDR_TICKS_UNIX_EPOCH) / PDR_TICKS_PER_MS,
                   .text = pdr_str_c("hello")};
    pdr_response *answer = NULL;
    char id[32];
    pdr_rc rc = PDR_OK;

    snprintf(id, sizeof(id), "session-%d", n);
    const pdr_ref ref = {.id = pdr_str_c(id)};
    rc = pdr_stored_open(&run.stored, w->store, &ref, &create, err);
    if (rc == PDR_OK)
        rc = pdr_agent_run(&answer, w->agent, &run, err);
    pdr_response_free(answer);
    pdr_stored_close(run.stored);
    return rc;
}

static void *work_on(void *arg)
{
    struct work *w = arg;
    pdr_err err = PDR_ERR_INIT;

    for (int n = w->next++; n < SESSIONS; n = w->next++) {
        if (say_hello(w, n, &err) != PDR_OK && w->failed++ == 0)
            fprintf(stderr, "many: session %d: %s\n", n, err.message);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static const char script[] =
        "{\"replies\":[{\"text\":[\"And \",\"hello to you.\"]}]}";
    pdr_agent_parts parts = {.name = pdr_str_c("greeter")};
    struct work w = {.agent = NULL};
    pdr_verify_report found = {0, 0, 0, 0};
    pthread_t threads[THREADS];
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;
    int started = 0;

    if (argc != 2)
        return fprintf(stderr, "usage: many STORE\n"), 2;
    rc = pdr_client_script(&parts.client, pdr_str_c(script), &err);
    if (rc == PDR_OK)
        rc = pdr_agent_new(&w.agent, &parts, &err);
    if (rc == PDR_OK)
        rc = pdr_store_open(&w.store, argv[1], &err);
    while (rc == PDR_OK && started < THREADS &&
           pthread_create(&threads[started], NULL, work_on, &w) == 0)
        started++;
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    if (rc == PDR_OK)
        rc = pdr_store_verify(&found, w.store, NULL, &err, NULL, NULL);
    if (rc == PDR_OK)
        printf("%llu sessions, %llu entries\n",
               (unsigned long long)found.sessions,
               (unsigned long long)found.entries);
    else
        fprintf(stderr, "many: %s\n", err.message);
    pdr_store_close(w.store);
    pdr_agent_free(w.agent);
    pdr_client_free(parts.client);
    return rc == PDR_OK && w.failed > 0 ? 1 : pdr_rc_exit_status(rc);
}
