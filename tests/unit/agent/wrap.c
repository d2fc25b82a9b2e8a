/*
 * Agents around agents: a layer that counts, one that changes what is said, one
 * that asks again; nested, freed in any order, shared by threads.
 */
#include <pthread.h>
#include <stdatomic.h>

#include <perdure.h>

#include "test.h"

#define ECHO "{\"replies\":[{\"text\":\"You said: {user}\"}]}"

/* --- three layers -----------------------------------------------------------
 */

struct counter {
    atomic_int runs, failures;
};

/* log: counts runs, and those that failed. */
static pdr_rc log_run(pdr_response **out, pdr_agent *inner, const pdr_run *run,
                      pdr_err *err, void *arg)
{
    struct counter *counter = arg;
    pdr_rc rc = pdr_agent_run(out, inner, run, err);

    counter->runs++;
    if (rc != PDR_OK)
        counter->failures++;
    return rc;
}

/* filter: the model does not hear what comes after a '#'. */
static pdr_rc filter_run(pdr_response **out, pdr_agent *inner,
                         const pdr_run *run, pdr_err *err, void *arg)
{
    const char *hash = memchr(run->text.ptr, '#', run->text.len);
    pdr_run changed = *run;

    (void)arg;
    if (hash != NULL)
        changed.text.len = (size_t)(hash - run->text.ptr);
    return pdr_agent_run(out, inner, &changed, err);
}

/* approve: an answer with "psst" in it is not let through; asks once more. */
static pdr_rc approve_run(pdr_response **out, pdr_agent *inner,
                          const pdr_run *run, pdr_err *err, void *arg)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_run again = *run;
    pdr_rc rc = pdr_agent_run(out, inner, run, err);

    (void)arg;
    if (rc != PDR_OK)
        return rc;
    rc = pdr_response_text(&text, *out, err);
    if (rc == PDR_OK && memmem(text.ptr, text.len, "psst", 4) != NULL) {
        pdr_response_free(*out);
        again.text = pdr_str_c("without the secret, please");
        rc = pdr_agent_run(out, inner, &again, err);
    }
    pdr_buf_dispose(&text);
    return rc;
}

/* --- a stage ----------------------------------------------------------------
 */

struct stage {
    pdr_client *client;
    struct counter counter;
    int helper; /* a provider of the agent inside */
    pdr_agent *inner, *counted, *filtered, *outer;
};

static void stage_begin(struct stage *s, const char *script)
{
    const pdr_agent_layer layers[] = {
        {.name = "log", .run = log_run, .arg = &s->counter},
        {.name = "filter", .run = filter_run},
        {.name = "approve", .run = approve_run, .arg = s}};
    const pdr_provider provider = {
        .name = "helper", .kind = PDR_PROVIDER_CONTEXT, .self = &s->helper};
    pdr_agent_parts parts = {.id = pdr_str_c("a-1"),
                             .name = pdr_str_c("clerk"),
                             .description = pdr_str_c("door"),
                             .providers = &provider,
                             .provider_count = 1};
    pdr_err err = PDR_ERR_INIT;

    memset(s, 0, sizeof(*s));
    ASSERT_RC(PDR_OK, pdr_client_script(&s->client, pdr_str_c(script), &err));
    parts.client = s->client;
    ASSERT_RC(PDR_OK, pdr_agent_new(&s->inner, &parts, &err));
    ASSERT_RC(PDR_OK, pdr_agent_wrap(&s->counted, s->inner, &layers[0], &err));
    ASSERT_RC(PDR_OK,
              pdr_agent_wrap(&s->filtered, s->counted, &layers[1], &err));
    ASSERT_RC(PDR_OK, pdr_agent_wrap(&s->outer, s->filtered, &layers[2], &err));
}

static void stage_end(struct stage *s)
{
    pdr_agent_free(s->outer);
    pdr_agent_free(s->filtered);
    pdr_agent_free(s->counted);
    pdr_agent_free(s->inner);
    pdr_client_free(s->client);
}

static void expect_answer(const char *expected, pdr_agent *agent,
                          pdr_session *session, const char *text)
{
    const pdr_run run = {.session = session, .text = pdr_str_c(text)};
    pdr_buf said = PDR_BUF_INIT(SIZE_MAX);
    pdr_response *response = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_agent_run(&response, agent, &run, &err) != PDR_OK)
        fail_msg("%s", err.message);
    ASSERT_RC(PDR_OK, pdr_response_text(&said, response, &err));
    ASSERT_TEXT(expected, pdr_buf_str(&said));
    ASSERT_TEXT("a-1", pdr_response_agent_id(response));
    pdr_buf_dispose(&said);
    pdr_response_free(response);
}

TEST(agent_wrap, runs_each_layer_from_the_outside_in)
{
    struct stage s;

    stage_begin(&s, ECHO);
    expect_answer("You said: hello", s.counted, NULL, "hello");
    expect_answer("You said: hello ", s.filtered, NULL, "hello #x");
    ASSERT_INT(2, s.counter.runs);
    expect_answer("You said: hello ", s.outer, NULL, "hello #psst");
    ASSERT_INT(3, s.counter.runs);
    expect_answer("You said: without the secret, please", s.outer, NULL,
                  "psst");
    ASSERT_INT(5, s.counter.runs);
    expect_answer("You said: psst", s.inner, NULL, "psst");
    ASSERT_INT(5, s.counter.runs);
    stage_end(&s);
}

TEST(agent_wrap, passes_failures_on)
{
    pdr_response *response = NULL;
    struct stage s;
    pdr_err err = PDR_ERR_INIT;

    stage_begin(&s, "{\"replies\":[{\"fail\":\"no server\"}]}");
    ASSERT_RC(PDR_EMODEL,
              pdr_agent_run(&response, s.outer,
                            &(pdr_run){.text = pdr_str_c("hi")}, &err));
    ASSERT(response == NULL);
    ASSERT_STR("model_failed", err.reason);
    ASSERT_INT(1, s.counter.failures);
    stage_end(&s);
}

TEST(agent_wrap, is_the_agent_inside_for_all_else)
{
    pdr_session_wrapper made = PDR_SESSION_WRAPPER_INIT,
                        read = PDR_SESSION_WRAPPER_INIT;
    pdr_value *value = NULL;
    struct stage s;
    pdr_err err = PDR_ERR_INIT;

    stage_begin(&s, ECHO);
    ASSERT_TEXT("a-1", pdr_agent_id(s.outer));
    ASSERT_TEXT("clerk", pdr_agent_name(s.outer));
    ASSERT_TEXT("door", pdr_agent_description(s.outer));
    ASSERT(pdr_agent_get_service(s.outer, "agent", NULL) == s.outer);
    ASSERT(pdr_agent_get_service(s.outer, "approve", NULL) == &s);
    ASSERT(pdr_agent_get_service(s.outer, "approve", "k") == NULL);
    ASSERT(pdr_agent_get_service(s.outer, "filter", NULL) == NULL);
    ASSERT(pdr_agent_get_service(s.outer, "log", NULL) == &s.counter);
    ASSERT(pdr_agent_get_service(s.outer, "client", NULL) == s.client);
    ASSERT(pdr_agent_get_service(s.outer, "helper", NULL) == &s.helper);
    ASSERT(pdr_agent_get_service(s.outer, "history", NULL) == NULL);
    ASSERT_RC(PDR_OK,
              pdr_agent_create_session(&made.session, s.outer, NULL, &err));
    expect_answer("You said: one", s.outer, made.session, "one");
    ASSERT_RC(PDR_OK, pdr_agent_serialize(&value, s.outer, &made, NULL, &err));
    ASSERT_RC(PDR_OK, pdr_agent_deserialize(&read, s.outer, value, NULL, &err));
    expect_answer("You said: two", s.inner, read.session, "two");
    pdr_session_wrapper_dispose(&read);
    pdr_session_wrapper_dispose(&made);
    pdr_value_free(value);
    stage_end(&s);
}

TEST(agent_wrap, keeps_the_agents_inside_alive)
{
    struct stage s;

    stage_begin(&s, ECHO);
    pdr_agent_free(s.inner);
    pdr_agent_free(s.filtered);
    pdr_agent_free(s.counted);
    pdr_client_free(s.client);
    s.inner = s.filtered = s.counted = NULL;
    s.client = NULL;
    expect_answer("You said: hello", s.outer, NULL, "hello");
    ASSERT_TEXT("clerk", pdr_agent_name(s.outer));
    stage_end(&s);
}

static void *work_on(void *arg)
{
    struct stage *s = arg;
    pdr_agent *own = pdr_agent_ref(s->outer);

    for (int i = 0; i < 50; i++)
        expect_answer("You said: hello ", own, NULL, "hello #x");
    pdr_agent_free(own);
    return NULL;
}

TEST(agent_wrap, serves_several_threads)
{
    pthread_t threads[4];
    struct stage s;

    stage_begin(&s, ECHO);
    for (int i = 0; i < 4; i++)
        ASSERT_INT(0, pthread_create(&threads[i], NULL, work_on, &s));
    for (int i = 0; i < 4; i++)
        ASSERT_INT(0, pthread_join(threads[i], NULL));
    ASSERT_INT(200, s.counter.runs);
    stage_end(&s);
}

TEST_OOM(agent_wrap, cleans_up_after_any_failed_allocation)
{
    const pdr_agent_layer layer = {.name = "log", .run = log_run};
    pdr_agent *agent = NULL;
    struct stage s;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    stage_begin(&s, ECHO);
    test_pause_failures(false);
    rc = pdr_agent_wrap(&agent, s.outer, &layer, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((agent != NULL) == (rc == PDR_OK));
    test_pause_failures(true);
    pdr_agent_free(agent);
    stage_end(&s);
    test_pause_failures(false);
}
