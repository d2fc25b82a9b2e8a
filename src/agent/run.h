/*
 * run.h - a run at work: what its steps share. See run.c for the whole.
 */
#ifndef PDR_AGENT_RUN_H
#define PDR_AGENT_RUN_H

#include "agent.h"

/* Messages in the order of the history: first what the caller said, then all
 * that came of it. */
struct pdr__story {
    pdr_value **messages; /* owned */
    bool *is_answer;      /* made by the run; beside `messages` */
    size_t count, cap, flag_cap;
    size_t inputs; /* the first ones, of the caller */
    size_t stored; /* are in the history */
    size_t sure;   /* have to be, whatever becomes of the run */
};

/* A call of the model that is to be run. */
struct pdr__job {
    struct pdr__tool *tool;   /* borrowed; NULL: there is none of that name */
    pdr_value *call;          /* owned; a content */
    pdr_value *result;        /* owned; a content; NULL: not run */
    const pdr_value *request; /* borrowed; that was approved, or NULL */
    bool failed;
    /* Of a durable run. */
    size_t number;    /* among the calls of the run */
    bool is_noted;    /* the journal knows that it starts */
    bool is_namesake; /* another call of the run had its id */
};

struct pdr__jobs {
    struct pdr__job *items; /* owned */
    size_t count, cap;
};

/* What a session knows of calls that wait for approval (approve.c). */
#define PDR_RECORD_KEYS 3 /* slots, at most */

struct pdr__record {
    pdr_shape shape;                   /* of its contents: .NET or Python */
    pdr_value *slots[PDR_RECORD_KEYS]; /* owned; as they were loaded or stored,
                                          NULL: none */
    pdr_value *waiting;                /* owned; an array of requests */
    pdr_value *left;                   /* owned; those of them that still do */
    pdr_value *asked; /* owned; those that this run adds; NULL: none */
    bool has_changed;
    bool ran_hidden; /* what waited for others ran, too */
};

struct pdr__run {
    pdr_agent *agent;
    const pdr_run *run;
    pdr_err *err;
    pdr_shape shape;               /* of what is made and stored */
    pdr_session *session;          /* borrowed; NULL: none */
    pdr_cancel *cancel;            /* borrowed; NULL: none */
    struct pdr__history history;   /* what the model gets of it */
    pdr_request_message *messages; /* owned; what the model gets */
    size_t count, cap;
    struct pdr__story story;
    const pdr_provider_set *providers; /* borrowed */
    pdr_provider_set *own_providers;   /* owned; of a run with a history of its
                                          own */
    const pdr_provider *keeper; /* of the history; NULL: it is in the session */
    struct pdr_context context; /* what providers added */
    struct pdr__arena memory;
    const pdr_tool_info *infos; /* in arena, or the agent's */
    size_t info_count;
    pdr_value *options;               /* owned; NULL: none */
    const pdr_value *sent_schema;     /* borrowed; of the answer; NULL: any text
                                         will do */
    unsigned max_calls, max_failures; /* as in pdr_agent_parts */
    struct pdr__journal *journal;     /* borrowed; of a durable run, or NULL */
    struct pdr__record record;
    pdr_value *replies;     /* owned; what the caller said to requests; NULL:
                               nothing */
    size_t injected;        /* messages of the queue that were sent */
    pdr_value *dropped;     /* owned; removed from the queue; NULL: none */
    bool has_open_call;     /* of a tool that is the caller's */
    unsigned failures;      /* answers in a row of which every call failed */
    pdr_response *response; /* owned */
    struct pdr__fold folds;
    struct pdr__fold *fold; /* of the call that is under way; NULL: none */
    bool is_begun;          /* the session is ours */
    bool is_told;           /* providers know how the last call ended */
};

/* --- what is sent (gather.c) -----------------------------------------------
 */

/* One more message for the model; borrowed. */
PDR_MUST_CHECK pdr_rc pdr__send_add(struct pdr__run *w, const pdr_value *value,
                                    pdr_origin origin);
/* Which providers the run has: the agent's, or with another history. */
PDR_MUST_CHECK pdr_rc pdr__providers_choose(struct pdr__run *w);
/* Put the slots that providers and the run itself need into the bag of a stored
 * session, with one read. */
PDR_MUST_CHECK pdr_rc pdr__slots_load(struct pdr__run *w);
/* What the caller says, into the story. */
PDR_MUST_CHECK pdr_rc pdr__input_load(struct pdr__run *w);
/* History, what providers add, options: all that the model gets with the first
 * call. */
PDR_MUST_CHECK pdr_rc pdr__gather(struct pdr__run *w);
/* Messages that were put in from outside since the last call. */
PDR_MUST_CHECK pdr_rc pdr__injected_take(struct pdr__run *w);
/* Remove the delivered messages from the queue; undo that. */
PDR_MUST_CHECK pdr_rc pdr__injected_drop(struct pdr__run *w);
void pdr__injected_restore(struct pdr__run *w);
/* Those that were dropped are in the history. */
void pdr__injected_forget(struct pdr__run *w);

/* --- tools (tool.c, call.c)
 * --------------------------------------------------------
 */

/* Could the tool be called with these arguments? */
PDR_MUST_CHECK pdr_rc pdr__tool_takes(bool *out, const struct pdr__tool *tool,
                                      const pdr_value *call, pdr_shape shape,
                                      pdr_err *err);
/* Run a call of a model, whatever becomes of it: it has a result then. Fails
 * with NO_MEMORY, or as a tool that ends the run. */
PDR_MUST_CHECK pdr_rc pdr__tool_call(struct pdr__job *job, struct pdr__run *w,
                                     pdr_err *err);
/* One more call to run; shared. */
PDR_MUST_CHECK pdr_rc pdr__jobs_add(struct pdr__jobs *jobs, struct pdr__run *w,
                                    const pdr_value *call);
void pdr__jobs_dispose(struct pdr__jobs *jobs);
/* The calls in the messages of the response from `first` on; those that need
 * approval become requests there. */
PDR_MUST_CHECK pdr_rc pdr__jobs_find(struct pdr__jobs *jobs, struct pdr__run *w,
                                     size_t first);
/* Run those that have no result yet, several at once if the agent says so.
 * Fails as a tool that ends the run: then some may have their results. */
PDR_MUST_CHECK pdr_rc pdr__jobs_run(struct pdr__jobs *jobs, struct pdr__run *w);
/* A message with all results; NULL if there are none. */
PDR_MUST_CHECK pdr_rc pdr__jobs_message(pdr_value **out,
                                        const struct pdr__jobs *jobs,
                                        const struct pdr__run *w);

/* --- approvals (approve.c) -------------------------------------------------
 */

/* The slots that the record is in; how many. */
size_t pdr__record_keys(pdr_str keys[PDR_RECORD_KEYS], pdr_shape shape);
void pdr__record_load(struct pdr__record *record, pdr_session *session,
                      pdr_shape shape);
void pdr__record_dispose(struct pdr__record *record);
/* What waits now, into the bag; or what was there when it was noted last. */
PDR_MUST_CHECK pdr_rc pdr__record_save(struct pdr__run *w);
void pdr__record_restore(struct pdr__run *w);
/* The slots are what they have to be. */
void pdr__record_note(struct pdr__record *record, pdr_session *session);
/* What this run asked for does not wait after all. */
void pdr__record_unask(struct pdr__run *w);
/* The caller's `answers` as a message; NULL if none of them is awaited. */
PDR_MUST_CHECK pdr_rc pdr__answers_message(pdr_value **out,
                                           const struct pdr__run *w);
/* Note the answers that a message of the caller has. */
PDR_MUST_CHECK pdr_rc pdr__replies_take(struct pdr__run *w,
                                        const pdr_value *message);
/* Is everything in this message an answer? */
bool pdr__is_replies_only(const pdr_value *message, pdr_shape shape);
/* Run what the caller approved, and tell the model of it. */
PDR_MUST_CHECK pdr_rc pdr__approved_run(struct pdr__run *w);
/* Is the caller to be asked before this call? */
bool pdr__approval_needed(const struct pdr__run *w,
                          const struct pdr__tool *tool, const pdr_value *call);
/* A request for a call, in the shape of the run; it waits from now on. Python
 * calls get an id: `*call` is replaced. */
PDR_MUST_CHECK pdr_rc pdr__approval_ask(pdr_value **out, pdr_value **call,
                                        struct pdr__run *w);
/* Requests as the caller gets to see them. */
PDR_MUST_CHECK pdr_rc pdr__approvals_new(pdr_approvals **out,
                                         const pdr_value *requests,
                                         pdr_shape shape, pdr_err *err);

/* --- the history (keep.c) --------------------------------------------------
 */

/* One more message of the history; shared. */
PDR_MUST_CHECK pdr_rc pdr__story_add(struct pdr__run *w,
                                     const pdr_value *message, bool is_answer);
void pdr__story_dispose(struct pdr__story *story);
/* A message that the run made goes into story and response, and to the model
 * with its next call; taken, also on failure. */
PDR_MUST_CHECK pdr_rc pdr__answer_take(struct pdr__run *w, pdr_value *message);
/* Those of a run that has not asked the model yet are gone. */
void pdr__answers_drop(struct pdr__run *w);
/* What hooks are told of the run; `input` are the messages from `from` to
 * `end`. */
pdr_run_info pdr__run_info(const struct pdr__run *w, size_t from, size_t end);
/* Tell all providers of what is not stored yet, in reverse order: messages
 * before `split` are input, the others answers. After a failure what they
 * return is not looked at: the caller gets the first error. */
PDR_MUST_CHECK pdr_rc pdr__providers_tell(struct pdr__run *w, size_t split,
                                          const pdr_err *error);
/* Put the messages before `end` into the history, in one step. */
PDR_MUST_CHECK pdr_rc pdr__story_store(struct pdr__run *w, size_t end);
/* The run failed: store what has to stay of it. */
void pdr__story_rescue(struct pdr__run *w);

#endif
