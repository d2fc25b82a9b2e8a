/*
 * agent_talk.h - the conversation that all benchmarks of agents have.
 *
 * Message n says the same here and in the processes of other libraries, which
 * read the texts from a file. A run asks talk_text(TALK_QUESTION), and its
 * model answers talk_text(TALK_ANSWER) at once.
 */
#ifndef PDR_BENCH_AGENT_TALK_H
#define PDR_BENCH_AGENT_TALK_H

#include <perdure.h>

#define TALK_MESSAGES  5000u
#define TALK_QUESTION  TALK_MESSAGES
#define TALK_ANSWER    (TALK_MESSAGES + 1)
#define TALK_TEXT_ROOM 640u
#define TALK_NOW       INT64_C(1780000000000)
#define TALK_PIECES    200u
#define TALK_FILE      "agent.texts" /* in the data folder */

/* End the program if this is not PDR_OK. */
void talk_must(pdr_rc rc, const pdr_err *err);

/* What message n says: 100 to 600 bytes. */
const char *talk_text(char out[TALK_TEXT_ROOM], size_t n);

/* Message n: users' are even, answers are odd. */
pdr_value *talk_message(size_t n, pdr_shape shape);

/* All texts, a line each, to TALK_FILE. */
void talk_write(void);

/* An agent whose model is a script; `window` messages of history, 0 for all;
 * `pieces` of the answer, 0 for one that is said at once. */
pdr_agent *talk_agent(size_t window, size_t pieces);

/* Make a session in a store with so many messages, an entry each. */
void talk_make(pdr_store *store, const char *kind, size_t n, size_t messages);

/* Open the session of a kind with this number. */
pdr_stored *talk_open(pdr_store *store, const char *kind, size_t n);

/* One run: the question, and the answer that talk_agent() gives. */
void talk_run(pdr_agent *agent, const pdr_run *where);

/* Messages, and bytes of their text. */
struct talk_sum {
    size_t count, bytes;
};

/* What a model is sent on such a run. Adds the question and some answer to the
 * session, as each run does. */
struct talk_sum talk_sent(const pdr_run *where);

/* What a list of messages holds. */
struct talk_sum talk_list(const pdr_value *list, pdr_shape shape);

#endif
