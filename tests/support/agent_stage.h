/*
 * agent_stage.h - a model that says what a test wrote down, and tools that
 * count.
 *
 * Unlike the client "script", this model is a list: the first question gets the
 * first step, and so on; then it begins again. It notes what it was asked.
 *
 *     "say TEXT"          a text; "/" parts it into pieces
 *     "call NAME ARGS"    one call, or several with ";" between them
 *     "half TEXT"         a text, and then the model fails
 *     "fail"              it fails at once
 */
#ifndef TESTS_AGENT_STAGE_H
#define TESTS_AGENT_STAGE_H

#include <perdure.h>
#include <perdure/sys/client.h>

#define STAGE_NOW INT64_C(1700000000000)

struct stage_model {
    pdr_client base;
    const char *const *steps; /* the last one NULL */
    size_t next;
    unsigned ids;            /* of calls: c1, c2, ... */
    size_t asked;            /* questions */
    size_t tools;            /* of the last question */
    const pdr_value *schema; /* of its answer; the agent's */
    pdr_buf seen;            /* its messages, as stage_describe() says them */
    pdr_buf all;             /* those of all questions, a line each */
    bool is_deaf;            /* notes nothing, for tests without memory */
    pdr_rc (*hook)(void *);  /* called with each question; may be NULL */
    void *hook_arg;
    void (*after_piece)(void *); /* called with `hook_arg` after each piece of
                                    a text; may be NULL */
};

/* A model; release with stage_model_free(). */
void stage_model_init(struct stage_model *model, const char *const *steps);
void stage_model_free(struct stage_model *model);

/* A tool "NAME" that counts in `*arg` (atomically) and gives "NAME did ARGS";
 * with the argument "fail" it fails, with "cancel" it ends the run. */
pdr_rc stage_tool(pdr_value **out, const pdr_tool_call *call, pdr_err *err,
                  void *arg);

pdr_value *stage_json(const char *text);
pdr_session *stage_session(pdr_session_shape shape);
pdr_session *stage_session_read(const char *path);

/* Append "role:what": texts as they are, "call NAME", "= RESULT", "ask NAME",
 * "yes NAME", "no NAME", with "+" between; "!" for an incomplete message. */
void stage_describe(pdr_buf *out, const pdr_value *message, pdr_shape shape);
/* Is the history that of `expected`? " | " stands between messages. */
void stage_history(const char *expected, pdr_session *session);
void stage_stored_history(const char *expected, pdr_stored *stored);

#endif
