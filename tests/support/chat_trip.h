/*
 * chat_trip.h - saved chats, opened and written by tests.
 */
#ifndef PDR_CHAT_TRIP_H
#define PDR_CHAT_TRIP_H

#include "test.h"

#include <perdure/chat.h>

#include "chat.h"

/* Open a text. */
pdr_rc chat_open(pdr_chat_state **out, pdr_str text,
                 const pdr_chat_open_opts *opts, pdr_err *err);
/* Open one that must be good. */
pdr_chat_state *chat_opened(pdr_str text);
/* A file of tests/data/dotnet/chat; `*text` is the caller's: free(). */
pdr_chat_state *chat_file(char **text, size_t *len, const char *name);

/* Let the state forget the document that it was read from, so that a writer has
 * only what is in its fields. */
void chat_forget(pdr_chat_state *state);

/* Append what is written. */
pdr_rc chat_write(pdr_buf *out, const pdr_chat_state *state,
                  const pdr_chat_save_opts *opts, pdr_err *err);
/* The same in a form, which must work; release with pdr_buf_dispose(). */
pdr_buf chat_written(const pdr_chat_state *state, pdr_chat_form form);

/* Is this text in what was written? */
bool chat_has(const pdr_buf *out, const char *text);

/* Do two chats have the same participants, messages and channels? Spelling does
 * not count. */
void chat_assert_equal(const pdr_chat_state *a, const pdr_chat_state *b);

/* A key of 32 bytes 00 to 1f, called "k1". */
extern const pdr_chat_key chat_key;

/* The messages of a small chat, in one line, as Semantic Kernel writes them. */
#define CHAT_MESSAGE_1                                    \
    "{\"AuthorName\":null,\"Role\":{\"Label\":\"user\"}," \
    "\"Items\":[{\"$type\":\"TextContent\",\"Text\":\"1\"}]}"
#define CHAT_MESSAGE_2                                                \
    "{\"AuthorName\":\"Counter\",\"Role\":{\"Label\":\"assistant\"}," \
    "\"Items\":[{\"$type\":\"TextContent\",\"Text\":\"2\"}]}"
#define CHAT_HISTORY     "[" CHAT_MESSAGE_1 "," CHAT_MESSAGE_2 "]"
#define CHAT_THREAD_KEY  "/RhzL9RuPraxoWEZdfQ57SRe+dlTT4MsDKYaTHGXz6I="
#define CHAT_HISTORY_KEY "Vdx37EnWT9BS+kkCkEgFCg9uHvHNw1+hXMA4sgNMKs4="

/* That chat in the forms of others: of Semantic Kernel, encoded, plain. */
extern const char chat_sk[], chat_encoded[], chat_plain[];

#endif
