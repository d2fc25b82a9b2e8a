/*
 * events.c - what a listener hears of runs: what was done, how long it took,
 * how it ended.
 *
 * WHY  Logs outlive conversations and are read by others. So fields are counts,
 *      times, ids and names that the program gave; never what anybody said, nor
 *      what a tool got or gave. A name that a model made up is such a text,
 * too.
 *
 * INVARIANTS
 *   E1  Where nobody listens, no clock is read.
 */
#include "agent.h"

#include <perdure/doc.h>

#define EMIT(log, level, event, fields) \
    pdr_log_emit(log, level, event, fields, PDR_COUNT(fields))

int64_t pdr__event_time(const pdr_log *log)
{
    return log != NULL && log->fn != NULL
               ? pdr__monotonic_ms(pdr__clock_system())
               : 0;
}

/* "ok", or the reason of a failure. */
static pdr_str outcome_of(pdr_rc rc, const pdr_err *err)
{
    if (rc == PDR_OK)
        return PDR_LIT("ok");
    return pdr_str_c(err != NULL && err->reason != NULL && err->reason[0] != 0
                         ? err->reason
                         : pdr_rc_name(rc));
}

static pdr_str id_of(const pdr_session *session)
{
    return session != NULL && pdr_session_id(session).len > 0
               ? pdr_session_id(session)
               : PDR_LIT("");
}

void pdr__event_run_started(const pdr_agent *agent, const pdr_session *session)
{
    const pdr_log_field fields[] = {
        {.name = "agent", .text = agent->id},
        {.name = "session", .text = id_of(session)}};

    EMIT(&agent->log, PDR_LOG_INFO, "run_started", fields);
}

void pdr__event_run_ended(const pdr_agent *agent, const pdr_session *session,
                          int64_t since_ms, pdr_rc rc, const pdr_err *err)
{
    const pdr_log *log = &agent->log;
    const pdr_log_field fields[] = {
        {.name = "agent", .text = agent->id},
        {.name = "session", .text = id_of(session)},
        {.name = "ms", .number = pdr__event_time(log) - since_ms},
        {.name = "outcome", .text = outcome_of(rc, err)}};

    EMIT(log, rc == PDR_OK ? PDR_LOG_INFO : PDR_LOG_ERROR, "run_ended", fields);
}

void pdr__event_model_asked(const pdr_client_request *request)
{
    const pdr_log_field fields[] = {
        {.name = "messages", .number = (int64_t)request->count},
        {.name = "tools", .number = (int64_t)request->tool_count}};

    EMIT(request->log, PDR_LOG_DEBUG, "model_asked", fields);
}

void pdr__event_model_answered(const pdr_log *log, int64_t since_ms,
                               const pdr_value *usage, pdr_rc rc,
                               const pdr_err *err)
{
    int64_t in = 0, out = 0;

    (void)pdr_usage_count(&in, usage, PDR_LIT("inputTokenCount"));
    (void)pdr_usage_count(&out, usage, PDR_LIT("outputTokenCount"));
    const pdr_log_field fields[] = {
        {.name = "ms", .number = pdr__event_time(log) - since_ms},
        {.name = "input_tokens", .number = in},
        {.name = "output_tokens", .number = out},
        {.name = "outcome", .text = outcome_of(rc, err)}};

    EMIT(log, PDR_LOG_DEBUG, "model_answered", fields);
}

void pdr__event_request_retried(const pdr_log *log, int64_t wait_ms,
                                const pdr_err *err)
{
    const pdr_log_field fields[] = {
        {.name = "wait_ms", .number = wait_ms},
        {.name = "reason", .text = outcome_of(err->code, err)}};

    EMIT(log, PDR_LOG_WARNING, "request_retried", fields);
}

void pdr__event_tool_called(const pdr_log *log, int64_t since_ms,
                            const struct pdr__tool *tool, bool failed)
{
    const pdr_log_field fields[] = {
        {.name = "tool", .text = pdr_str_c(tool != NULL ? tool->name : "?")},
        {.name = "ms", .number = pdr__event_time(log) - since_ms},
        {.name = "outcome",
         .text = tool == NULL ? PDR_LIT("unknown")
                 : failed     ? PDR_LIT("failed")
                              : PDR_LIT("ok")}};

    EMIT(log, PDR_LOG_INFO, "tool_called", fields);
}
