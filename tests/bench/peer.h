/*
 * peer.h - a Python program in a process of its own, on the same core.
 *
 * It works while we wait for its line; a line through a pipe takes
 * microseconds, its work milliseconds. It comes from build/interop/venv, or
 * from what BENCH_PYTHON names.
 */
#ifndef PDR_BENCH_PEER_H
#define PDR_BENCH_PEER_H

#include <stdio.h>
#include <sys/types.h>

#include "bench.h"

struct peer {
    FILE *to, *from;
    pid_t pid;
};

/* Start a script with two words; `second` may be NULL. Ends the program on
 * failure, as all do here. */
void peer_start(struct peer *peer, const char *script, const char *first,
                const char *second);

/* The same with any number of words; the last one is NULL. */
void peer_start_words(struct peer *peer, const char *script,
                      const char *const *words);

/* Its next line, without the line end. */
void peer_hear(struct peer *peer, char *line, size_t cap);

/* Say a line, and hear what it answers. */
void peer_ask(struct peer *peer, const char *work, char *line, size_t cap);

void peer_stop(struct peer *peer);

#endif
