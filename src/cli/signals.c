/*
 * signals.c - an end in order.
 *
 * WHY  A run has tools, a lease, and threads that know of them. A signal ends
 *      it as whoever asks says, on a thread of its own; the second one ends the
 *      process.
 */
#include "cli.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#define WAKE SIGUSR2 /* of the thread: it is not needed any more */

static bool is_over(const struct cli_signals *s)
{
    return __atomic_load_n(&s->is_over, __ATOMIC_ACQUIRE);
}

static void *await_signal(void *arg)
{
    struct cli_signals *s = arg;
    int number = 0;

    while (sigwait(&s->set, &number) == 0 && !is_over(s)) {
        if (number == WAKE)
            continue; /* somebody else's */
        if (number == SIGHUP && s->hangup != NULL) {
            s->hangup(s->arg);
            continue;
        }
        if (cli_signals_number(s) != 0)
            _exit(CLI_EXIT_SIGNAL + number);
        __atomic_store_n(&s->number, number, __ATOMIC_RELEASE);
        s->fn(s->arg);
    }
    return NULL;
}

void cli_signals_begin(struct cli_signals *s, void (*fn)(void *arg), void *arg)
{
    cli_signals_begin_service(s, fn, NULL, arg);
}

void cli_signals_begin_service(struct cli_signals *s, void (*fn)(void *arg),
                               void (*hangup)(void *arg), void *arg)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction old;

    *s = (struct cli_signals){.fn = fn, .hangup = hangup, .arg = arg};
    sigemptyset(&s->set);
    sigaddset(&s->set, WAKE);
    for (size_t i = 0; i < CLI_COUNT(ending); i++) /* as main.c leaves them */
        if (sigaction(ending[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaddset(&s->set, ending[i]);
    if (hangup != NULL)
        sigaddset(&s->set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &s->set, &s->before);
    s->waits = pthread_create(&s->thread, NULL, await_signal, s) == 0;
    if (!s->waits)
        pthread_sigmask(SIG_SETMASK, &s->before, NULL);
}

int cli_signals_number(const struct cli_signals *s)
{
    return __atomic_load_n(&s->number, __ATOMIC_ACQUIRE);
}

void cli_signals_end(struct cli_signals *s)
{
    if (!s->waits)
        return;
    __atomic_store_n(&s->is_over, true, __ATOMIC_RELEASE);
    pthread_kill(s->thread, WAKE);
    pthread_join(s->thread, NULL);
    pthread_sigmask(SIG_SETMASK, &s->before, NULL);
    s->waits = false;
}
