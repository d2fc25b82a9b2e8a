/*
 * Durable agents: what is asked, stored and answered; and what happens when a
 * process ends in the middle of it.
 */
#include <perdure/durable.h>

#include "agent_stage.h"
#include "fault_store.h"
#include "hook_store.h"
#include "test.h"

/* --- a process ------------------------------------------------------------
 * An engine with one agent, on a store that outlives it.
 */

struct process {
    struct stage_model model;
    pdr_agent *agent;
    pdr_durable *durable;
    pdr_engine *engine;
    int looked, booked; /* calls of the tools */
};

#define ID "@dafx-clerk@k1"

static const pdr_ref session = {{NULL, 0}, {ID, sizeof(ID) - 1}};

static void process_begin(struct process *p, pdr_store *store,
                          const char *const *steps)
{
    pdr_err err = PDR_ERR_INIT;

    memset(p, 0, sizeof(*p));
    stage_model_init(&p->model, steps);
    const pdr_tool tools[] = {{.name = "look",
                               .fn = stage_tool,
                               .arg = &p->looked,
                               .is_repeatable = true},
                              {.name = "book",
                               .fn = stage_tool,
                               .arg = &p->booked}};
    const pdr_agent_parts parts = {.name = pdr_str_c("Clerk"),
                                   .instructions = pdr_str_c("Be brief."),
                                   .client = &p->model.base,
                                   .tools = tools,
                                   .tool_count = 2};
    ASSERT_RC(PDR_OK, pdr_agent_new(&p->agent, &parts, &err));
    const pdr_durable_agent agents[] = {{.agent = p->agent}};
    const pdr_durable_opts opts = {.agents = agents, .count = 1};
    ASSERT_RC(PDR_OK, pdr_durable_new(&p->durable, &opts, &err));
    const pdr_engine_opts engine = {.workers = 4, .lease_ms = 1000};
    ASSERT_RC(PDR_OK, pdr_engine_new(&p->engine, store, &engine, &err));
    ASSERT_RC(PDR_OK, pdr_durable_attach(p->engine, p->durable, &err));
    ASSERT_RC(PDR_OK, pdr_engine_start(p->engine, &err));
}

static void process_end(struct process *p)
{
    pdr_engine_free(p->engine);
    pdr_durable_free(p->durable);
    pdr_agent_free(p->agent);
    stage_model_free(&p->model);
}

static pdr_operation asking(const char *text)
{
    return (pdr_operation){.session = session,
                           .name = pdr_str_c("run"),
                           .input = pdr_str_c(text)};
}

static void call(struct process *p, const char *input, const char *answer)
{
    pdr_operation op = asking(input);
    pdr_ending *ending = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_engine_call(&ending, NULL, p->engine, &op, 20000, &err);

    if (rc != PDR_OK)
        fail_msg("call: %s", err.message);
    ASSERT_INT(PDR_OPERATION_COMPLETED, ending->state);
    ASSERT(memmem(ending->answer.ptr, ending->answer.len, answer,
                  strlen(answer)) != NULL);
    pdr_ending_free(ending);
}

static void history_is(const char *expected, pdr_store *store)
{
    pdr_stored *stored = NULL;

    ASSERT_RC(PDR_OK, pdr_stored_open(&stored, store, &session, NULL, NULL));
    stage_stored_history(expected, stored);
    pdr_stored_close(stored);
}

TEST(run, answers_and_stores_a_turn)
{
    const char *const steps[] = {"say Hello", "say Again", NULL};
    struct process p;
    pdr_store *store = NULL;

    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    process_begin(&p, store, steps);
    call(&p, "{\"message\":\"Hi\"}", "Hello");
    call(&p, "{\"message\":\"Ho\"}", "Again");
    history_is("user:Hi | assistant:Hello | user:Ho | assistant:Again", store);
    process_end(&p);
    pdr_store_close(store);
}

TEST(run, calls_tools)
{
    const char *const steps[] = {"call look {};book {\"n\":2}", "call book {\"n\":3}",
                                 "say Done",
                                 NULL};
    struct process p;
    pdr_store *store = NULL;

    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    process_begin(&p, store, steps);
    call(&p, "{\"message\":\"Hi\"}", "Done");
    history_is("user:Hi | assistant:call look+call book | tool:= look did "
               "{}+= book did {\"n\":2} | assistant:call book | tool:= book did "
               "{\"n\":3} | assistant:Done",
               store);
    ASSERT_INT(1, p.looked);
    ASSERT_INT(2, p.booked);
    process_end(&p);
    pdr_store_close(store);
}
