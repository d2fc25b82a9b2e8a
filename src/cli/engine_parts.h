/*
 * engine_parts.h - durable runs on the command line.
 *
 * `perdure agent run --durable`, the verbs of `perdure run` and `perdure
 * session tail --stream` name a session and a run alike, and tell of both
 * alike.
 */
#ifndef PDR_CLI_ENGINE_PARTS_H
#define PDR_CLI_ENGINE_PARTS_H

#include "agent_parts.h"

extern const struct cli_command cli_cmd_run_list, cli_cmd_run_show,
    cli_cmd_run_wait, cli_cmd_run_cancel, cli_cmd_run_resume;

/* --- an engine (engine.c) ------------------------------------------------- */

/* The engine of one command, on its store. */
struct eng {
    struct cli *cli;
    const struct sto_from *from; /* borrowed */
    const char *mode;            /* of the store, as in sto_open() */
    pdr_agent *agent;            /* borrowed; NULL: it runs nothing */
    const char *only; /* session to run alone; NULL: all of a tenant */
    uint64_t lease;   /* seconds; 0: the usual */
    pdr_store *store; /* owned, as the next two */
    pdr_durable *durable;
    pdr_engine *engine;
};

/* Open the store and make the engine, which is not started. */
pdr_rc eng_open(struct eng *e, pdr_err *err);
void eng_close(struct eng *e);

/* --- ids ------------------------------------------------------------------ */

/* The id of a durable session as stores have it, ended by NUL: "@Name@key" is
 * "@dafx-name@key". PDR_EINVALID (reason "bad_id"). */
pdr_rc eng_put_id(pdr_buf *out, const char *text, pdr_err *err);
/* The same for the argument of a verb, into `out`; exit status. */
int eng_take_id(pdr_buf *out, struct cli *cli, const char *text);

/* "perdure VERB --store URI", for hints; appended. */
void eng_put_command(pdr_buf *out, const struct sto_from *from,
                     const char *verb);
/* " WORD" as a shell needs it; appended. */
void eng_put_word(pdr_buf *out, const char *text, const char *placeholder);

/* The commands that make durable session `durable_id` of stored session `id`,
 * or make that one durable if they are the same; appended. */
void eng_put_conversion(pdr_buf *out, const struct sto_from *from,
                        const char *id, const char *durable_id);

/* --- how a run ended ------------------------------------------------------ */

struct eng_end {
    pdr_operation_state state;
    pdr_value *outcome; /* owned; NULL: an import brought it */
    pdr_value *answer;  /* owned; its entry, or NULL */
    pdr_buf text;       /* what the answer says */
    bool is_gone;       /* its answer was removed */
};

#define ENG_END_INIT                   \
    {                                  \
        .text = PDR_BUF_INIT(SIZE_MAX) \
    }

/* Fill it from an ending, which is released. */
pdr_rc eng_end_take(struct eng_end *out, pdr_ending *ending, pdr_err *err);
void eng_end_free(struct eng_end *end);
/* "open", "completed", "failed", "cancelled". */
const char *eng_state_name(pdr_operation_state state);
/* A text of the outcome, as "code" or "message"; empty if there is none. */
pdr_str eng_end_text(const struct eng_end *end, const char *name,
                     pdr_buf *scratch);
/* Members: state, code and message of a failure, text, messages, usage. */
void eng_end_members(pdr_builder *to, const struct eng_end *end);
/* Report a run that failed or was cancelled; gives its exit status. */
int eng_end_fail(const struct cli *cli, const char *run,
                 const struct eng_end *end);

/* --- runs in a store (engine_run.c) --------------------------------------- */

/* "queued", "delayed", "running" or "interrupted"; NULL: the row of an inbox is
 * of another kind. */
const char *eng_work_state(const pdr_work *row, int64_t now_ms);

struct eng_run {
    const char *state; /* static; as above, or that of its end, or "open" */
    int64_t due_ms;    /* of what has not ended: of its row in the inbox */
    pdr_page *page;    /* owned; its completion, and the head */
    struct eng_end end;
};

#define ENG_RUN_INIT        \
    {                       \
        .end = ENG_END_INIT \
    }

/* Look for it. PDR_ENOTFOUND (reasons "no_session", "no_completion"). */
pdr_rc eng_run_read(struct eng_run *out, const struct eng *e,
                    const pdr_ref *session, pdr_str run, pdr_err *err);
void eng_run_free(struct eng_run *run);
/* Who is at work on it; without a pointer: nobody. */
pdr_str eng_run_owner(const struct eng_run *run);
/* Members: session, run, state unless it has ended, since, due, owner. */
void eng_run_members(pdr_builder *to, const pdr_ref *session, pdr_str id,
                     const struct eng_run *run);

/* --- failures ------------------------------------------------------------- */

/* Report what is wrong with a run, or with the store; gives the exit status. */
int eng_fail(const struct cli *cli, const struct sto_from *from, const char *id,
             const char *run, const pdr_err *err);

/* --- events (engine_event.c) ---------------------------------------------- */

/* Members of what an event says. */
struct eng_event {
    pdr_value *data; /* owned */
    pdr_buf room;    /* of a text */
};

#define ENG_EVENT_INIT                 \
    {                                  \
        .room = PDR_BUF_INIT(SIZE_MAX) \
    }

pdr_rc eng_event_read(struct eng_event *out, const pdr_stream_event *event,
                      pdr_err *err);
/* A text in it; borrowed until the next call. */
pdr_str eng_event_text(struct eng_event *event, const char *name);
uint64_t eng_event_count(const struct eng_event *event, const char *name);
void eng_event_free(struct eng_event *event);
static inline bool eng_event_is(const pdr_stream_event *event, const char *kind)
{
    return pdr_str_equal(event->kind, pdr_str_c(kind));
}

/* Print the events of a session as they come: text inline, the others as lines;
 * or JSON. Exit status. */
struct eng_tail {
    struct cli *cli;
    const struct sto_from *from;
    const char *id, *run; /* run: NULL for all */
    uint64_t after;
};
int eng_tail(struct eng_tail *t);

#endif
