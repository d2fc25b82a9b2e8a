/*
 * chat_sim.h - chats in a world that a seed makes.
 *
 *      callers ──► chat ──► channels ──► agents      note what they were given
 *                   │                    service     has what it was sent
 *                   └──► store           sees what was committed
 *
 * WHY  What a chat gets wrong it gets wrong after a failure, a crash or a
 *      restore: a message that a channel has twice, or never. So a seed plays a
 *      conversation in which these happen, and a model that is a list of words
 *      says what each agent must be given then. What an agent was given it
 *      notes itself; nothing is read from the chat that is tested.
 *
 * Each message has one word for each of its contents, which is said once in a
 * world: "m5" a text, "c6" a call, "r6" its result. The list grows with what
 * callers added and agents said; of a chat in a store, with what was committed.
 * So at any moment an agent must be given exactly this list, or the part of it
 * that its kind takes.
 *
 * Everything is on one thread. A second process is a second chat on the same
 * store, which does something while the first one is inside of its model, its
 * tool or its listener. A process that crashes is cut off: its commits fail,
 * and what it does reaches nobody.
 *
 * A mistake is printed with the command that plays its seed alone, and ends the
 * program: so seeds are played by a role (see TEST_ROLE).
 */
#ifndef PDR_TEST_CHAT_SIM_H
#define PDR_TEST_CHAT_SIM_H

#include <inttypes.h>

#include <perdure/chat_store.h>
#include <perdure/sys/channel.h>
#include <perdure/sys/client.h>
#include <perdure/sys/store.h>

#include "base.h"
#include "test.h"

/* --- what may happen ------------------------------------------------------
 * One seed meets a few of these; all seeds together must meet each.
 */
#define CSIM_EVENTS(X)                                                     \
    X(ADDED, "messages are added")                                         \
    X(TURN, "an agent speaks")                                             \
    X(TOOL, "a tool is at work")                                           \
    X(REDUCED_VIEW, "an agent is given the end of the conversation")       \
    X(SEVERAL, "an agent says several things in a turn")                   \
    X(MODEL_FAILS, "the model fails at once")                              \
    X(MODEL_FAILS_LATE, "the model fails after calls of tools")            \
    X(MODEL_BREAKS_OFF, "the model fails in its answer")                   \
    X(CANCELLED, "an operation is cancelled")                              \
    X(LISTENER_STOPS, "the listener ends a turn")                          \
    X(LISTENER_STOPS_LAST, "the listener ends a turn that has ended")      \
    X(RECEIVE_FAILS, "a channel does not take a message")                  \
    X(CREATE_FAILS, "a channel cannot be made")                            \
    X(RESTORE_FAILS, "a channel cannot be restored")                       \
    X(RESTORE_REBUILT, "a channel that cannot be restored begins anew")    \
    X(INVOKE_FAILS, "an agent that is no model fails")                     \
    X(SENT_UNSURE, "a service takes a message and does not say so")        \
    X(SENT_FOUND, "a message that is unsure is found at the service")      \
    X(THREAD_GONE, "a service forgets a thread")                           \
    X(READ, "the history of an agent is read")                             \
    X(SYNCED, "all channels are brought up to date")                       \
    X(JOINED, "an agent joins a chat that goes on")                        \
    X(REJOINED, "an agent joins whose channel is parked")                  \
    X(COMPLETE, "a conversation that is over is refused")                  \
    X(RESET, "a chat is reset")                                            \
    X(RESET_LEAVES, "a reset leaves a thread at its service")              \
    X(SAVED_NATIVE, "a chat goes on from a native document")               \
    X(SAVED_BASE64, "a chat goes on from a native document in base64")     \
    X(SAVED_MAC, "a chat goes on from a native document with a MAC")       \
    X(SAVED_SK, "a chat goes on from a file of Semantic Kernel")           \
    X(SAVED_PLAIN, "a chat goes on from a plain document")                 \
    X(SAVED_ENCODED, "a chat goes on from an encoded document")            \
    X(SAVED_INSIDE, "a chat goes on from what was saved inside of a turn") \
    X(ROLLED_BACK, "a chat goes on from an older document")                \
    X(CASE_EQUIVALENT, "a restore: the agents that were saved")            \
    X(CASE_ENHANCED, "a restore: more agents")                             \
    X(CASE_REDUCED, "a restore: fewer agents")                             \
    X(CASE_MIXED, "a restore: other agents")                               \
    X(CASE_EMPTY, "a restore: no agents")                                  \
    X(CASE_INVALID, "a restore: into a chat that has begun")               \
    X(NEVER_SPOKEN, "a restore: of a chat in which nobody spoke")          \
    X(OTHER_ORDER, "a restore: agents in another order")                   \
    X(LAST_MISSING, "a restore: the agent that spoke last is missing")     \
    X(ATTACHED, "a process goes on with a chat of a store")                \
    X(DANGLING, "a call without a result at the end is reported")          \
    X(INTERRUPTED, "an agent is told that a call was interrupted")         \
    X(OPEN_TURN, "a turn that nobody finished is given up")                \
    X(CRASH, "a process crashes between operations")                       \
    X(CRASH_BEFORE_COMMIT, "a process crashes before a commit")            \
    X(CRASH_AFTER_COMMIT, "a process crashes after a commit")              \
    X(CRASH_IN_MODEL, "a process crashes while the model is asked")        \
    X(CRASH_IN_TOOL, "a process crashes while a tool is at work")          \
    X(CRASH_IN_RECEIVE, "a process crashes after a message was taken")     \
    X(CRASH_IN_SERVICE, "a process crashes while a service speaks")        \
    X(COMMIT_FAILS, "a commit fails")                                      \
    X(COMMIT_UNKNOWN_LOST, "a commit ends unknown and is not there")       \
    X(COMMIT_UNKNOWN_DONE, "a commit ends unknown and is there")           \
    X(READ_FAILS, "a read of the store fails")                             \
    X(BUSY, "a chat is busy: another process is at work on it")            \
    X(CHANGED, "a chat has changed: a process is late")                    \
    X(TAKEN_OVER, "the turn of a process that sleeps is taken over")       \
    X(REPLACED, "a chat in a store is replaced by a document")

enum csim_event {
#define X(name, words) CSIM_##name,
    CSIM_EVENTS(X)
#undef X
        CSIM_EVENT_COUNT
};

const char *csim_event_words(enum csim_event event);

struct csim_result {
    uint64_t counts[CSIM_EVENT_COUNT];
    uint64_t operations, turns, commits;
    uint64_t hash; /* of what was played */
};

#define CSIM_STATUS 3 /* of a program that ends with a mistake */

/* What is played. */
struct csim_seed {
    uint64_t seed;
    bool skips;          /* channels skip a message that they did not take */
    const char *command; /* that plays it alone */
    FILE *told;          /* a mistake is written there; NULL: to standard error,
                            with the command */
};

/* Play a seed; adds to `out`, but for the hash. A mistake ends the program. */
void csim_play(struct csim_result *out, const struct csim_seed *seed);

/* --- words (chat_sim.c) ---------------------------------------------------
 */

#define CSIM_WORDS   400
#define CSIM_THREADS 40
#define CSIM_AGENTS  8

struct csim_word {
    char text[8];
    bool begins; /* a message */
};

struct csim_words {
    struct csim_word at[CSIM_WORDS];
    size_t count;
};

/* Whom the order goes on after. */
struct csim_selection {
    char last[8]; /* an agent */
    bool has_selected;
};

/* What must be, of the chat of a world. */
struct csim_truth {
    struct csim_words log;
    struct csim_selection selection;
    bool is_complete;
    bool has_open; /* a turn has begun and not ended */
    char open[8];  /* whose */
};

struct csim;
struct csim_process;

/* One agent of a process, and its model. */
struct csim_member {
    pdr_client base; /* first */
    struct csim_process *process;
    const char *name; /* "a0", see csim_agents */
    pdr_agent *agent;
    pdr_remote remote;
    bool is_asked; /* in this turn */
    unsigned calls;
};

enum csim_doing { CSIM_OTHER, CSIM_RUN, CSIM_INVOKE };

/* A process with a chat. */
struct csim_process {
    struct csim *world;
    unsigned number;
    bool is_cut;      /* it crashed */
    bool is_in_doubt; /* a commit ended unknown */
    pdr_store *store; /* NULL: the chat is in memory alone */
    pdr_chat *chat;
    pdr_tool tool;
    struct csim_member members[CSIM_AGENTS];
    size_t member_count;
    uint64_t known;  /* commits of the world, when it was up to date */
    unsigned parked; /* letters of agents whose channels may be parked */
    size_t turns;    /* of the chat, so far; in memory alone */
    struct csim_selection selection; /* as this process has it */
    /* Of the operation under way. */
    enum csim_doing doing;
    bool is_excused;  /* something of it was let fail */
    bool has_stopped; /* its listener has */
    pdr_cancel *cancel;
    struct csim_selection next;
    struct csim_truth boundary; /* when the last turn began */
    size_t spoken;              /* agents, so far */
    struct csim_words said; /* that may not be in the log; in memory alone */
};

/* A conversation at the service. */
struct csim_thread {
    struct csim_words words;
    char tokens[CSIM_WORDS][96];
    size_t token_count;
    bool is_gone;
};

struct csim {
    uint64_t seed, random, hash;
    bool skips;
    const char *command;
    FILE *told;
    struct csim_result *result;
    bool is_traced;
    bool is_stored;    /* the chat is in a store */
    bool is_calm;      /* no more faults */
    bool is_nested;    /* another process does something meanwhile */
    bool is_replacing; /* another document takes the place of the chat */
    unsigned faults, rate, max_turns;
    unsigned number; /* of words */
    int64_t now_ms;

    struct csim_truth truth;
    struct csim_process *processes[2];
    const char *names[CSIM_AGENTS]; /* who took part last */
    size_t name_count;
    unsigned process_count; /* so far */
    uint64_t commits;       /* that changed something */
    uint64_t revision;
    unsigned lease_of; /* number of the process that has it; 0: nobody */
    int64_t lease_until_ms;
    pdr_store *raw;
    struct csim_thread *threads[CSIM_THREADS];
    size_t thread_count;

    pdr_buf saved; /* an older document, and what was true then */
    struct csim_truth saved_truth;
    bool is_saved_inside;            /* of a turn */
    struct csim_words called, heard; /* calls of tools; what listeners heard */
};

unsigned csim_random(struct csim *w, unsigned below);
bool csim_chance(struct csim *w, unsigned one_of);
/* Something that the seed lets go wrong; the operation may fail then. */
bool csim_fault(struct csim_process *p, enum csim_event event);
void csim_count(struct csim *w, enum csim_event event);
void csim_trace(struct csim *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
_Noreturn void csim_mistake(struct csim *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void csim_word_add(struct csim *w, struct csim_words *words, const char *text,
                   bool begins);
bool csim_word_has(const struct csim_words *words, const char *text);
/* Append those of a message. */
void csim_words_of(struct csim *w, struct csim_words *out,
                   const pdr_value *message, pdr_shape shape);
/* Are they the same? Else a mistake of `who`, who was given `actual`. */
void csim_words_check(struct csim *w, const struct csim_words *expected,
                      const struct csim_words *actual, const char *who);
/* A new word: "m5". */
void csim_word_new(struct csim *w, char out[8], char letter);
/* An agent has said it, or its words are in the log by now (memory alone). */
void csim_said(struct csim_process *p, const struct csim_words *words);
void csim_said_all(struct csim_process *p);
/* A message came to the listener, or to another place outside: the log must
 * have it. */
void csim_must_have(struct csim_process *p, const struct csim_words *words,
                    const char *who);

/* --- agents (chat_sim_agent.c) --------------------------------------------
 */

/* Those that there are. The letter of a name is its kind: "a" and "b" have the
 * channel of chat agents, "b" with a reducer; "n" and "p" take notes; "r" and
 * "s" are at a service. */
extern const char *const csim_agents[CSIM_AGENTS];
#define CSIM_TARGET    4
#define CSIM_THRESHOLD 2

extern const pdr_channel_kind *const csim_kinds[];

void csim_member_begin(struct csim_process *p, const char *name);
void csim_members_end(struct csim_process *p);
/* A pdr_chat_call fn; `arg` is the process. */
pdr_rc csim_hear(const pdr_chat_event *event, pdr_err *err, void *arg);

/* --- the store (chat_sim_store.c) -----------------------------------------
 */

pdr_store *csim_store_open(struct csim_process *p);
void csim_cut(struct csim_process *p, enum csim_event why);

/* --- the play (chat_sim_play.c) -------------------------------------------
 */

/* The place of an agent; SIZE_MAX: it does not take part. */
size_t csim_place(const struct csim_process *p, const char *name);
/* The other process does something, perhaps. */
void csim_meanwhile(struct csim_process *p);

#endif
