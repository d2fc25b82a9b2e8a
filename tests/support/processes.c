/* processes.c - this program again, in a process of its own. */
#include "processes.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_ARGS 16

pid_t process_start(const char *role, const char *const *args)
{
    const char *argv[MAX_ARGS + 3] = {"/proc/self/exe"};
    char option[64];
    size_t count = 0;
    pid_t parent = getpid(), child = 0;

    snprintf(option, sizeof(option), "--role=%s", role);
    argv[1] = option;
    for (; args[count] != NULL; count++) {
        ASSERT(count < MAX_ARGS);
        argv[count + 2] = args[count];
    }
    fflush(NULL);
    child = fork();
    ASSERT(child >= 0);
    if (child > 0)
        return child;
    /* The parent may have ended before we could ask to end with it. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent)
        execv(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

pid_t process_fork(void)
{
    pid_t child = 0;

    fflush(NULL); /* else the child would write it, too */
    child = fork();
    ASSERT(child >= 0);
    return child;
}

/* A sanitizer would look for leaks: what the parent holds is none. */
_Noreturn void process_leave(int status)
{
    if (TEST_SANITIZED)
        _exit(status);
    exit(status);
}

static enum process_end end_of(int status)
{
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        return PROCESS_KILLED;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return PROCESS_DONE;
    return PROCESS_FAILED;
}

enum process_end process_end(pid_t process, bool wait)
{
    int status = 0;
    pid_t ended = 0;

    do
        ended = waitpid(process, &status, wait ? 0 : WNOHANG);
    while (ended < 0 && errno == EINTR);
    ASSERT(ended >= 0);
    return ended == 0 ? PROCESS_RUNS : end_of(status);
}

enum process_end process_kill(pid_t process)
{
    ASSERT_INT(0, kill(process, SIGKILL));
    return process_end(process, true);
}

int64_t monotonic_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t wall_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void sleep_us(int64_t us)
{
    struct timespec rest = {us / 1000000, us % 1000000 * 1000};

    while (nanosleep(&rest, &rest) != 0 && errno == EINTR)
        continue;
}

uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9E3779B97F4A7C15);

    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

unsigned random_below(uint64_t *state, unsigned below)
{
    return (unsigned)(next_random(state) % below);
}
