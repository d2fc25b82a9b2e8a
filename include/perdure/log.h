/*
 * perdure/log.h - what happens, told to a function of the program.
 *
 * An event has a name and fields: "model_answered" with "ms" and "tokens". The
 * library tells what was done and how it ended, never what was said: no texts
 * of messages, arguments, results or keys. docs/guide/agents.md has the list.
 */
#ifndef PERDURE_LOG_H
#define PERDURE_LOG_H

#include <perdure/types.h>

PDR_BEGIN_DECLS

typedef enum pdr_log_level {
    PDR_LOG_DEBUG = 0,   /* each step */
    PDR_LOG_INFO = 1,    /* what was asked for and done */
    PDR_LOG_WARNING = 2, /* went wrong, and the work goes on */
    PDR_LOG_ERROR = 3    /* went wrong for good */
} pdr_log_level;

/* One field: a text, or a number if the text has no pointer. */
typedef struct pdr_log_field {
    const char *name;
    pdr_str text;
    int64_t number;
    bool is_secret; /* a listener gets "***" instead */
} pdr_log_field;

/* Hears of an event, on the thread on which it happens; several at once from
 * several threads. All borrowed for the call. It must not run agents. */
typedef void (*pdr_log_fn)(pdr_log_level level, pdr_str event,
                           const pdr_log_field *fields, size_t count,
                           void *arg);

/* Who listens. */
typedef struct pdr_log {
    pdr_log_fn fn; /* NULL: nobody */
    void *arg;
} pdr_log;

/** Tell of an event. Secrets stop here, whoever listens; so does what comes
 * after field 16.
 * @param log    borrowed for the call; NULL: nobody listens.
 * @param event  a C string, as in "model_asked". @thread any @since 0.1 */
PDR_API void pdr_log_emit(const pdr_log *log, pdr_log_level level,
                          const char *event, const pdr_log_field *fields,
                          size_t count);

PDR_END_DECLS

#endif
