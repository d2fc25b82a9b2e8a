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

static void *await_signal(void *arg)
{
    struct cli_signals *s = arg;
    int number = 0, state = 0;

    if (sigwait(&s->set, &number) == 0) {
        __atomic_store_n(&s->number, number, __ATOMIC_RELEASE);
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
        s->fn(s->arg);
        pthread_setcancelstate(state, NULL);
        if (sigwait(&s->set, &number) == 0)
            _exit(CLI_EXIT_SIGNAL + number);
    }
    return NULL;
}

void cli_signals_begin(struct cli_signals *s, void (*fn)(void *arg), void *arg)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction old;

    *s = (struct cli_signals){.fn = fn, .arg = arg};
    sigemptyset(&s->set);
    for (size_t i = 0; i < CLI_COUNT(ending); i++) /* as main.c leaves them */
        if (sigaction(ending[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaddset(&s->set, ending[i]);
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
    pthread_cancel(s->thread);
    pthread_join(s->thread, NULL);
    pthread_sigmask(SIG_SETMASK, &s->before, NULL);
    s->waits = false;
}
