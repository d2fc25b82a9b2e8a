/*
 * server.h - servers of other libraries: start and stop one, ask it over HTTP,
 * and see what it used of the cores.
 *
 * All of it ends the program on failure. A server that is started here ends
 * with this program, however that ends.
 */
#ifndef PDR_BENCH_SERVER_H
#define PDR_BENCH_SERVER_H

#include <sys/types.h>

#include "bench.h"

/* Start a program in a folder; the last word is NULL. What it prints goes to a
 * file of the data folder. */
pid_t server_start(const char *folder, const char *log,
                   const char *const *words);

void server_stop(pid_t pid);

/* Let it rest, or go on: a server syncs now and then even if nobody asks. */
void server_pause(pid_t pid, bool rests);

/* A port of this machine that nobody listens on. */
unsigned server_port(void);

/* Wait until somebody listens there. */
void server_await(unsigned port);

/* Time on cores so far, all its threads, in nanoseconds. */
double server_core_ns(pid_t pid);

/* Remove a folder with everything in it. */
void server_remove(const char *folder);

/* A connection that is kept open; one thread at a time. */
struct server_line {
    int fd; /* -1: none yet */
    unsigned port;
    char *room; /* owned; of an answer */
};

void server_line_init(struct server_line *line, unsigned port);
void server_line_end(struct server_line *line);

/* POST a JSON text. The body of the answer is borrowed until the next call;
 * another status than 2xx ends the program. */
const char *server_post(struct server_line *line, const char *path,
                        const char *json);

#endif
