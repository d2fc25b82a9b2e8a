/*
 * log.c - events for whoever listens, without secrets.
 *
 * WHY  A listener writes what it gets to files and screens. So a value that is
 *      marked secret is taken out here, in the one place that all events pass,
 *      and not by each listener.
 */
#include <perdure/log.h>

#include "base.h"

#define MAX_FIELDS 16 /* more than any event of ours has */

void pdr_log_emit(const pdr_log *log, pdr_log_level level, const char *event,
                  const pdr_log_field *fields, size_t count)
{
    pdr_log_field clean[MAX_FIELDS];

    if (log == NULL || log->fn == NULL)
        return;
    if (count > MAX_FIELDS)
        count = MAX_FIELDS;
    for (size_t i = 0; i < count; i++) {
        clean[i] = fields[i];
        if (fields[i].is_secret) {
            clean[i].text = PDR_LIT("***");
            clean[i].number = 0;
        }
    }
    log->fn(level, pdr_str_c(event), clean, count, log->arg);
}
