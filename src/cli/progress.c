/*
 * progress.c - how far a long read has come, on standard error.
 *
 * WHY  Silence for a minute looks like a hang. On a terminal one line is
 *      redrawn from half a second on; into a file or a log, a line comes every
 *      ten seconds. The line is wiped with spaces and a carriage return, not
 *      with an escape sequence, so that NO_COLOR needs no exception.
 *
 * NOT HERE  A clock for tests: cli_progress_text() gets the time as an
 *           argument. The command asks the system, since no public function of
 *           the library tells the time.
 */
#include "cli.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#define FIRST_MS  500
#define REDRAW_MS 100
#define LOG_MS    10000

#define WIPE                                                     \
    "\r                                                        " \
    "                       \r"

/* Read by the signal handler; set while a line stands on the terminal. */
static volatile sig_atomic_t line_is_drawn;

static int64_t now_ms(void)
{
    struct timespec now = {0, 0};

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void cli_progress_begin(struct cli_progress *p, const struct cli *cli,
                        const char *what, uint64_t total)
{
    memset(p, 0, sizeof(*p));
    p->what = cli->quiet ? NULL : what;
    p->total = total;
    p->terminal = cli->tty_err;
    p->every_ms = p->terminal ? REDRAW_MS : LOG_MS;
    p->start_ms = now_ms();
    p->next_ms = p->start_ms + (p->terminal ? FIRST_MS : LOG_MS);
}

static void put_time(char *out, size_t cap, int64_t seconds)
{
    if (seconds < 60)
        snprintf(out, cap, "%d s", (int)seconds);
    else
        snprintf(out, cap, "%d:%02d min", (int)(seconds / 60),
                 (int)(seconds % 60));
}

void cli_progress_text(char *out, size_t cap, const struct cli_progress *p,
                       int64_t elapsed_ms)
{
    uint64_t ms = elapsed_ms > 0 ? (uint64_t)elapsed_ms : 1;
    double rate = (double)p->done * 1000 / (double)ms;
    char done[32], total[32], speed[32], left[32];
    pdr_buf name = PDR_BUF_INIT(SIZE_MAX);

    cli_show_cut(&name, pdr_str_c(p->what), CLI_TEXT_LINE, 24);
    cli_size(done, p->done);
    cli_size(speed, (uint64_t)rate);
    if (p->total > p->done && p->done > 0) {
        uint64_t rest = p->total - p->done;
        put_time(left, sizeof(left), (int64_t)((double)rest / rate + 0.5));
        snprintf(out, cap, "%.*s: %d %% of %s, %s/s, %s left", (int)name.len,
                 name.ptr, (int)((double)p->done * 100 / (double)p->total),
                 cli_size(total, p->total), speed, left);
    } else {
        snprintf(out, cap, "%.*s: %s, %s/s", (int)name.len, name.ptr, done,
                 speed);
    }
    pdr_buf_dispose(&name);
}

void cli_progress_add(struct cli_progress *p, size_t bytes)
{
    char text[160];
    int64_t now = 0;

    p->done += bytes;
    if (p->what == NULL)
        return;
    now = now_ms();
    if (now < p->next_ms)
        return;
    p->next_ms = now + p->every_ms;
    cli_progress_text(text, sizeof(text), p, now - p->start_ms);
    if (p->terminal) {
        fputs(WIPE, stderr);
        cli_fprintf(stderr, "%s", text);
        line_is_drawn = 1;
    } else {
        cli_fprintf(stderr, "perdure: %s\n", text);
    }
}

void cli_progress_end(struct cli_progress *p)
{
    if (line_is_drawn)
        fputs(WIPE, stderr);
    line_is_drawn = 0;
    p->what = NULL;
}

void cli_progress_wipe(void)
{
    if (line_is_drawn && write(STDERR_FILENO, WIPE, sizeof(WIPE) - 1) < 0)
        return; /* nobody looks any more */
}
