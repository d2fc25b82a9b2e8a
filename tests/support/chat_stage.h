/*
 * chat_stage.h - a chat of agents that say what a test wrote down, and channels
 * that take notes, fail and forget.
 *
 * An agent is a name and the steps of its model (agent_stage.h). By default it
 * has the channel of chat agents; one whose name begins with "@" has a channel
 * of the kind "x-test.notes", whose key is the rest of the name up to a digit:
 * "@note1" and "@note2" share one. It answers "NAME n" to the n-th question.
 * "A:3" is a chat agent called "A" that is sent the last three messages. "+G"
 * is an aggregate, nested: an agent "in" of its inner chat says "G 1", "G 2",
 * ...
 */
#ifndef TESTS_CHAT_STAGE_H
#define TESTS_CHAT_STAGE_H

#include <perdure/sys/channel.h>

#include "agent_stage.h"
#include "test.h"

#define S           pdr_str_c
#define CHAT_AGENTS 10

/* What the channels of a test have to do with each other. */
struct chat_notes {
    int fail_at;       /* the message with this number is not taken */
    int fail_left;     /* so many times; -1: each time */
    bool keeps_failed; /* it is kept all the same: a mistake */
    int fail_create;   /* so many do not begin */
    int fail_reset;    /* so many are not cleared */
    int fail_restore;  /* so many are not restored */
    int received;      /* messages that were taken, by all */
    int tried;         /* those that were to be */
    /* Called before each step of a channel, which fails with it; may be NULL.
     */
    pdr_rc (*hook)(void *arg, pdr_cancel *cancel);
    void *hook_arg;
    int created, released;
    char asked[2000]; /* "key: text text | ...": what each saw when it spoke */
};

struct chat_stage {
    pdr_chat *chat;
    pdr_chat_opts opts; /* without `kinds`: that of the notes */
    pdr_cancel *cancel; /* of each call; may be NULL */
    struct chat_notes notes;
    struct chat_member {
        struct stage_model model;
        pdr_agent *agent;
        char name[20];
        char texts[4][40]; /* of the steps that it has by itself */
        const char *own[5];
        bool takes_notes;
        pdr_aggregate inside; /* without `make`: it is not an aggregate */
        const char *const *steps;
        pdr_reduction reduction;
        pdr_chat_adapter adapter;
    } members[CHAT_AGENTS];
    size_t count;
    int looked;       /* calls of the tool "look" */
    char heard[4000]; /* messages that the caller heard: "name:what | ..." */
    int pieces;       /* updates that it heard */
    pdr_rc stops;     /* what its listener returns */
    void (*on_event)(struct chat_stage *stage); /* called with each message */
    void (*on_piece)(struct chat_stage *stage); /* and with each piece of one */
};

extern const pdr_channel_kind chat_notes_kind;

/* A chat with these agents, "A B @note"; each says "NAME 1", "NAME 2", ... */
void chat_begin(struct chat_stage *stage, const char *names);
/* Steps for the next chat_begin(), of the agent at this place. */
void chat_steps(struct chat_stage *stage, size_t place,
                const char *const *steps);
/* Let them all join another chat. */
pdr_rc chat_join_all(pdr_chat *chat, struct chat_stage *stage, pdr_err *err);
void chat_end(struct chat_stage *stage);

void chat_says(struct chat_stage *stage, const char *text);
/* Fails the test if the turn, or the run, does. */
void chat_invokes(struct chat_stage *stage, const char *name);
void chat_runs(struct chat_stage *stage);
pdr_rc chat_invoke(struct chat_stage *stage, const char *name, pdr_err *err);
pdr_rc chat_run(struct chat_stage *stage, pdr_err *err);

/* The log is this: "user:Hi | A:A 1 | ...", "(...)" around what is not seen. */
void chat_is(const char *expected, struct chat_stage *stage);
/* What an agent sees, oldest first. */
void chat_sees(const char *expected, struct chat_stage *stage,
               const char *name);

/* Each channel has what the log says. Delivers what waits. */
void chat_agrees(struct chat_stage *stage);

/* Save, in this form; owned by the caller. */
void chat_save(pdr_buf *out, struct chat_stage *stage, pdr_chat_form form);
/* Put another text in the place of one, the first time that it is there. */
void chat_replace(pdr_buf *io, const char *old, const char *fresh);
/* Append a message: "name:what", or its role without a name. */
void chat_describe(pdr_buf *out, const pdr_value *message);
/* What a report says, as "case: what kind | ..."; nothing if it is NULL. */
void chat_report(pdr_buf *out, const pdr_chat_report *report);
/* Restore from text; `report` may be NULL. */
pdr_rc chat_restore(pdr_buf *report, struct chat_stage *stage, pdr_str text,
                    const pdr_chat_apply_opts *opts, pdr_err *err);

#endif
