/*
 * processes.h - this program again, in a process of its own that plays a role
 * (see TEST_ROLE).
 *
 * No handle of the library may cross a fork, so a child begins anew with exec.
 * It dies with the process that started it, whatever ends that.
 */
#ifndef PDR_TEST_PROCESSES_H
#define PDR_TEST_PROCESSES_H

#include "test.h"

#include <sys/types.h>

/* Start one; `args` ends with NULL. Fails the test if it cannot be started. */
pid_t process_start(const char *role, const char *const *args);

/* A child that shows what is left of a handle behind fork(), or that needs
 * mounts or rights of its own: fork(), and the end of that child. It must end
 * so, and not with _exit(), for a build that counts what the tests reach. */
pid_t process_fork(void);
_Noreturn void process_leave(int status);

/* How it ended. */
enum process_end {
    PROCESS_RUNS, /* it has not */
    PROCESS_DONE, /* with status 0 */
    PROCESS_KILLED,
    PROCESS_FAILED /* in any other way */
};

/* Wait for it; or just look, if not `wait`. */
enum process_end process_end(pid_t process, bool wait);

/* SIGKILL, and wait. PROCESS_KILLED unless it had ended before. */
enum process_end process_kill(pid_t process);

/* Microseconds of a clock that all processes share. */
int64_t monotonic_us(void);
/* Milliseconds since 1970. */
int64_t wall_ms(void);
void sleep_us(int64_t us);

/* The next number of a row that its seed fixes. */
uint64_t next_random(uint64_t *state);
/* One of 0 to `below` - 1. */
unsigned random_below(uint64_t *state, unsigned below);

#endif
