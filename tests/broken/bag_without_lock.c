/*
 * bag_without_lock.c - a bag whose lock is left out, and one whose claim is.
 * Must fail: the stress of eight threads has to see both.
 *
 * The linker puts the functions below in the place of the real ones. A bag
 * without its lock is likely to crash, so each try is a process of its own:
 * whatever ends it other than well counts.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bag_stress.h"

#define TRIES 20

static enum { WHOLE, WITHOUT_LOCK, WITHOUT_CLAIM } variant;

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __real_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
pdr_rc __real_pdr__bag_claim(pdr_bag *bag, pdr_err *err);
pdr_rc __wrap_pdr__bag_claim(pdr_bag *bag, pdr_err *err);
void __real_pdr__bag_release(pdr_bag *bag);
void __wrap_pdr__bag_release(pdr_bag *bag);

/* The lock is the first member of a bag. */
static bool is_left_out(const pthread_mutex_t *mutex)
{
    return variant == WITHOUT_LOCK &&
           (const void *)mutex == (const void *)bag_under_stress;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    return is_left_out(mutex) ? 0 : __real_pthread_mutex_lock(mutex);
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    return is_left_out(mutex) ? 0 : __real_pthread_mutex_unlock(mutex);
}

int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    return is_left_out(mutex) ? sched_yield()
                              : __real_pthread_cond_wait(cond, mutex);
}

pdr_rc __wrap_pdr__bag_claim(pdr_bag *bag, pdr_err *err)
{
    return variant == WITHOUT_CLAIM ? PDR_OK : __real_pdr__bag_claim(bag, err);
}

void __wrap_pdr__bag_release(pdr_bag *bag)
{
    if (variant != WITHOUT_CLAIM)
        __real_pdr__bag_release(bag);
}

static bool is_sound(unsigned seed)
{
    struct bag_verdict order, counts;

    bag_check_order(&order, 50, seed);
    if (!order.is_sound)
        return false;
    bag_check_counts(&counts, 150);
    return counts.is_sound;
}

/* Does a process of its own find it sound? */
static bool passes(unsigned seed)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        (void)alarm(20); /* a broken bag may hang */
        _exit(is_sound(seed) ? 0 : 1);
    }
    ASSERT(child > 0);
    ASSERT(child == waitpid(child, &status, 0));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* One try may be lucky. */
static bool is_caught(void)
{
    unsigned seed = 1;

    while (seed <= TRIES && passes(seed))
        seed++;
    return seed <= TRIES;
}

TEST(bag_stress, does_not_see_that_the_lock_is_left_out)
{
    variant = WHOLE;
    if (!passes(1))
        return; /* then a failure below would prove nothing */
    variant = WITHOUT_LOCK;
    bool lock = is_caught();
    variant = WITHOUT_CLAIM;
    bool claim = is_caught();
    if (lock && claim)
        fail_msg("caught 2 of 2");
}
