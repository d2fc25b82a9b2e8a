/*
 * journal.h - the steps of a durable run: written as they end, and read again
 * when the run goes on after a crash. See journal.c.
 */
#ifndef PDR_AGENT_JOURNAL_H
#define PDR_AGENT_JOURNAL_H

#include <pthread.h>

#include <perdure/sys/engine.h>

#include "run.h"

/* What the journal has of a call of a tool. */
struct pdr__noted_call {
    bool is_started, failed;
    const pdr_value *result; /* borrowed; a content; NULL: it has none */
};

/* A row on its way to the store. */
struct pdr__journal_row {
    const char *kind; /* static */
    pdr_buf body;     /* owned; JSON */
    bool is_event;    /* for readers of the stream */
};

struct pdr__journal {
    pdr_task *task;                     /* borrowed */
    const struct pdr__request *request; /* borrowed; what is asked for */
    pdr_cancel cancel;                  /* ends the run at once */
    pdr_cancel leave;                   /* ends it at its next step */
    bool is_used;                       /* an agent has run on it */

    /* What the attempts before left. */
    pdr_value **bodies; /* owned; of their rows */
    size_t body_count, body_cap;
    const pdr_value *context;  /* NULL: they did not get that far */
    const pdr_value **answers; /* owned; of the model */
    size_t answer_count, answer_cap;
    struct pdr__noted_call *calls; /* owned; by number */
    size_t call_count, call_cap;

    /* This attempt. */
    size_t answer_next;       /* of the model */
    size_t call_next;         /* number of the next call of a tool */
    struct pdr__map call_ids; /* of calls so far */
    pdr_value *bag;           /* owned; as the journal has it */

    pthread_mutex_t lock;
    pthread_cond_t written;
    /* All guarded by lock. */
    struct pdr__journal_row *rows; /* owned; that are not written yet */
    size_t row_count, row_cap;
    uint64_t added, stored; /* rows so far */
    bool is_writing;        /* somebody commits for all */
    pdr_rc rc;              /* of a commit that failed: there is no other */
    pdr_err why;
};

/* Read what the attempts before left. Disposed in any case. Fails with
 * BAD_JOURNAL, NO_MEMORY. */
PDR_MUST_CHECK pdr_rc pdr__journal_open(struct pdr__journal *journal,
                                        pdr_task *task,
                                        const struct pdr__request *request,
                                        uint32_t timeout_ms, pdr_err *err);
void pdr__journal_dispose(struct pdr__journal *journal);

/* Let readers know that the run goes on here, after a crash. */
PDR_MUST_CHECK pdr_rc pdr__journal_say_attempt(struct pdr__journal *journal,
                                               pdr_err *err);
/* Let them know a piece of an answer. */
PDR_MUST_CHECK pdr_rc pdr__journal_say(struct pdr__run *w,
                                       const pdr_update *update, pdr_err *err);

/* Leave out the tools that the request does not want. */
PDR_MUST_CHECK pdr_rc pdr__journal_choose_tools(struct pdr__run *w);
/* Note what the model gets; to be written with the next row. */
PDR_MUST_CHECK pdr_rc pdr__journal_note_context(struct pdr__run *w);
/* The model gets what it got before, whatever agent and providers say now; so
 * has the bag what it had. */
PDR_MUST_CHECK pdr_rc pdr__journal_restore_context(struct pdr__run *w);

/* How many messages from outside went to the model with its next answer;
 * SIZE_MAX if it has not answered yet. */
size_t pdr__journal_injected(const struct pdr__run *w);
/* Take the next answer of the model, if the journal has it. */
PDR_MUST_CHECK pdr_rc pdr__journal_answer(bool *found, struct pdr__run *w);
/* Note an answer, the messages of the response from `first` on. */
PDR_MUST_CHECK pdr_rc pdr__journal_note_answer(struct pdr__run *w, size_t first,
                                               const struct pdr__fold *fold);

/* Give numbers to calls that are to run, and those their results that the
 * journal knows or cannot know. The first `at_once` of the others are noted as
 * started. */
PDR_MUST_CHECK pdr_rc pdr__journal_calls(struct pdr__jobs *jobs,
                                         struct pdr__run *w, size_t at_once);
/* A call is about to start; written when this returns. */
PDR_MUST_CHECK pdr_rc pdr__journal_start(struct pdr__run *w,
                                         struct pdr__job *job, pdr_err *err);
/* Note its result. */
PDR_MUST_CHECK pdr_rc pdr__journal_note_result(struct pdr__run *w,
                                               const struct pdr__job *job,
                                               pdr_err *err);
/* The events that were noted and not written, and after them `last`: for the
 * last commit. In arena of the caller; texts are borrowed. */
PDR_MUST_CHECK pdr_rc pdr__journal_events(pdr_work **out, size_t *count,
                                          struct pdr__journal *journal,
                                          const pdr_work *last,
                                          struct pdr__arena *memory,
                                          pdr_err *err);
/* Write what was noted. @thread any */
PDR_MUST_CHECK pdr_rc pdr__journal_write(struct pdr__run *w, pdr_err *err);
/* Append the token by which a tool knows a call that is made again. */
PDR_MUST_CHECK pdr_rc pdr__journal_token(pdr_buf *out, const struct pdr__run *w,
                                         const struct pdr__job *job,
                                         pdr_str call_id, pdr_err *err);

#endif
