/*
 * session_ways.h - our side of the session benchmark: each way from objects to
 * bytes and back is one function, which a race times. Each frees what it made.
 */
#ifndef PDR_BENCH_SESSION_WAYS_H
#define PDR_BENCH_SESSION_WAYS_H

#include "ours.h"
#include "session_types.h"

/* One format, and all that its calls need. */
struct way {
    const char *name; /* "json", "msgpack" */
    const pdr_codec *codec;
    pdr_write_opts opts;                /* as for other programs */
    struct bench_text text;             /* the golden session */
    const struct work_objects *objects; /* the same, never read from it */
    pdr_folder *folder;
    pdr_buf out; /* the last document that was written */
};

/* Objects to bytes, all encoded anew. */
void way_encode(void *way);
/* Bytes to objects, all of them. */
void way_decode(void *way);
/* Both, through the bytes that were written. */
void way_roundtrip(void *way);
/* Bytes to objects, all of them; nothing is changed; and back to bytes. */
void way_touched(void *way);
/* Bytes to a session of which nothing is read, and back to bytes. */
void way_lazy(void *way);
/* As way_roundtrip(), through a file of a snapshot folder, synced. */
void way_disk(void *way);

/* A session with a history of some length, and one turn to add. */
struct turn {
    pdr_value *document;
    pdr_session *session; /* made anew by turn_begin() */
    struct bind_arena arena;
    struct work_message messages[2];
    pdr_buf out; /* the bytes of the turn */
};

void turn_init(struct turn *turn, size_t messages);
/* The session as it was before the turn. */
void turn_begin(void *turn);
/* Both messages, from objects: added to the session, and their bytes, a line
 * each, ready to be stored. */
void turn_append(void *turn);
void turn_dispose(struct turn *turn);

/* End the program if a way does not lead to the golden session. */
void way_check(struct way *way);
void turn_check(struct turn *turn, size_t messages);

#endif
