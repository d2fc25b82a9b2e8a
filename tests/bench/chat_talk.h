/*
 * chat_talk.h - the chat that all benchmarks of chats have.
 *
 * Texts of 25 words, some 190 bytes, the same here and in the process of the
 * other library. Agents speak one after the other; the model of each answers
 * the same text at once.
 */
#ifndef PDR_BENCH_CHAT_TALK_H
#define PDR_BENCH_CHAT_TALK_H

#include <perdure.h>

#define CHAT_TEXT_ROOM  320u
#define CHAT_ANSWER     99999u /* number of the text that models answer */
#define CHAT_MAX_AGENTS 8u
#define CHAT_NOW        INT64_C(1780000000000)
#define CHAT_FILE       "chat.texts" /* in the data folder */

/* End the program if this is not PDR_OK. */
void chat_must(pdr_rc rc, const pdr_err *err);

/* What message n says. */
const char *chat_text(char out[CHAT_TEXT_ROOM], size_t n);

/* The first `count` texts and the answer, a line each, to CHAT_FILE. */
void chat_write_texts(size_t count);

/* --- agents --------------------------------------------------------------- */

/* What the model of all agents was asked. */
struct chat_model {
    uint64_t called_ns; /* when it was, last */
    size_t messages;    /* that it was sent then */
    bool sums;          /* also their texts, which takes time */
    size_t bytes;       /* of these */
};
extern struct chat_model chat_model;

/* Agent number `place`, whose model gets the last `window` messages, 0 for
 * all. The caller releases it. */
pdr_agent *chat_agent(size_t place, size_t window);

/* --- a chat --------------------------------------------------------------- */

struct desk {
    pdr_chat *chat;
    pdr_agent *agents[CHAT_MAX_AGENTS];
    size_t count;
};

/* The chat with this id of a store, made if it is not there. */
void desk_open(struct desk *desk, pdr_store *store, const char *id,
               size_t agents, size_t window);

/* Let it have `said` messages of people, and then `messages` in all: the rest
 * are turns. One that has them stays as it is. */
void desk_fill(struct desk *desk, size_t said, size_t messages);

/* So many turns, one call each. */
void desk_turns(struct desk *desk, size_t turns);

void desk_close(struct desk *desk);

#endif
