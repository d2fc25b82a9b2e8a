/*
 * serve_log.c - lines of a log, written by a thread of its own.
 *
 *      line ─► those that wait ─► the thread ─► file
 *               └─ too many: counted, and told when there is room
 *
 * WHY  What a server tells goes to standard error, which may be a pipe that
 *      nobody reads. A write waits then, and with it the thread of a hundred
 *      connections. So who has a line to tell leaves it here.
 *
 * INVARIANTS
 *   W1  The lock is held for a copy of a line, and never for a write.
 *   W2  Each line is written once and whole, in order, or counted as dropped.
 *   W3  Only the thread waits for the file. It asks first whether there is room
 *       for a piece, so that it can still be told to end.
 */
#include "serve_log.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#define LOG_BYTES ((size_t)256 << 10) /* that wait: some 3,000 lines */
#define LOOK_MS   100 /* how often it looks whether it has to end */
#define LAST_MS   1000

static bool ends(struct srv_log *log)
{
    bool is_over = false;

    (void)pthread_mutex_lock(&log->lock);
    is_over = log->ends;
    (void)pthread_mutex_unlock(&log->lock);
    return is_over;
}

/* False: nobody reads it any more. */
static bool write_all(struct srv_log *log, pdr_str text)
{
    struct pollfd one = {.fd = log->fd, .events = POLLOUT};
    int waited_ms = 0;

    while (text.len > 0) {
        const size_t piece = text.len < PIPE_BUF ? text.len : PIPE_BUF;
        ssize_t written = 0;

        if (poll(&one, 1, LOOK_MS) == 0) { /* W3 */
            waited_ms = ends(log) ? waited_ms + LOOK_MS : 0;
            if (waited_ms > LAST_MS)
                return false;
            continue;
        }
        written = write(log->fd, text.ptr, piece);
        if (written < 0 && errno != EINTR && errno != EAGAIN)
            return false;
        if (written > 0) {
            text.ptr += written;
            text.len -= (size_t)written;
            waited_ms = 0;
        }
    }
    return true;
}

static void *log_work(void *arg)
{
    struct srv_log *log = arg;
    const pdr_buf none = PDR_BUF_INIT(LOG_BYTES);
    pdr_buf lines = PDR_BUF_INIT(SIZE_MAX);
    bool is_there = true, is_over = false;

    while (!is_over) {
        uint64_t dropped = 0;

        (void)pthread_mutex_lock(&log->lock);
        while (log->lines.len == 0 && log->dropped == 0 && !log->ends)
            (void)pthread_cond_wait(&log->changed, &log->lock);
        is_over = log->ends && log->lines.len == 0 && log->dropped == 0;
        lines = log->lines;
        log->lines = none;
        dropped = log->dropped;
        log->dropped = 0;
        (void)pthread_mutex_unlock(&log->lock);
        if (is_there && lines.len > 0)
            is_there = write_all(log, pdr_buf_str(&lines));
        pdr_buf_clear(&lines);
        lines.max = SIZE_MAX;
        if (dropped > 0)
            cli_putf(&lines, "log_dropped lines=%" PRIu64 "\n", dropped);
        if (is_there && lines.len > 0)
            is_there = write_all(log, pdr_buf_str(&lines));
        pdr_buf_dispose(&lines);
    }
    return NULL;
}

bool srv_log_begin(struct srv_log *log, int fd)
{
    sigset_t all, before;

    *log = (struct srv_log){.fd = fd, .lines = PDR_BUF_INIT(LOG_BYTES)};
    (void)pthread_mutex_init(&log->lock, NULL);
    (void)pthread_cond_init(&log->changed, NULL);
    /* Other threads handle signals, and a closed pipe must not end the server.
     */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    log->is_begun = pthread_create(&log->thread, NULL, log_work, log) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return log->is_begun;
}

void srv_log_put(struct srv_log *log, pdr_str line)
{
    (void)pthread_mutex_lock(&log->lock);
    if (log->dropped > 0 || /* W2: that is told first */
        pdr_buf_append(&log->lines, line, NULL) != PDR_OK)
        log->dropped++;
    (void)pthread_cond_signal(&log->changed);
    (void)pthread_mutex_unlock(&log->lock);
}

void srv_log_end(struct srv_log *log)
{
    if (!log->is_begun)
        return;
    (void)pthread_mutex_lock(&log->lock);
    log->ends = true;
    (void)pthread_cond_signal(&log->changed);
    (void)pthread_mutex_unlock(&log->lock);
    (void)pthread_join(log->thread, NULL);
    (void)pthread_cond_destroy(&log->changed);
    (void)pthread_mutex_destroy(&log->lock);
    pdr_buf_dispose(&log->lines);
}
