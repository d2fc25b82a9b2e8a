/*
 * serve_log.h - the log of a server, which nobody who writes to it waits for.
 */
#ifndef PDR_CLI_SERVE_LOG_H
#define PDR_CLI_SERVE_LOG_H

#include "cli.h"

struct srv_log {
    int fd;
    pthread_t thread;
    bool is_begun; /* there is a thread */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* there is something to write, or it ends */
    /* Guarded by lock. */
    pdr_buf lines;    /* that nobody writes yet */
    uint64_t dropped; /* that came when it was full */
    bool ends;
};

/* False: the system has no thread for it. */
bool srv_log_begin(struct srv_log *log, int fd);
/* Write it soon, with its end; or count it, if it is one of too many. From any
 * thread. */
void srv_log_put(struct srv_log *log, pdr_str line);
/* When all is written, or a second has brought nothing on: somebody may read
 * the log no more. */
void srv_log_end(struct srv_log *log);

#endif
