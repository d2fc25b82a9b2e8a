/*
 * events.c - what a listener hears of an engine. docs/guide/durable-agents.md
 * has the list.
 */
#include "engine.h"

void pdr__engine_event(pdr_engine *e, pdr_log_level level, const char *event,
                       const pdr_ref *session, pdr_str correlation_id,
                       const pdr_err *err)
{
    pdr_log_field fields[5];
    size_t count = 0;

    if (e->log.fn == NULL)
        return;
    if (session != NULL) {
        fields[count++] = (pdr_log_field){
            .name = "tenant",
            .text = session->tenant.ptr != NULL ? session->tenant
                                                : PDR_LIT(PDR_DEFAULT_TENANT)};
        fields[count++] =
            (pdr_log_field){.name = "session", .text = session->id};
    }
    if (correlation_id.ptr != NULL)
        fields[count++] =
            (pdr_log_field){.name = "correlation_id", .text = correlation_id};
    if (err != NULL && err->reason != NULL)
        fields[count++] =
            (pdr_log_field){.name = "reason", .text = pdr_str_c(err->reason)};
    pdr_log_emit(&e->log, level, event, fields, count);
}
