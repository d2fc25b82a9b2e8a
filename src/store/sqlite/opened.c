/*
 * opened.c - which stores this process has open, for its children.
 *
 * WHY  A child of fork() has what the parent had in memory, and neither its
 *      threads nor the locks that belong to a process:
 *      - SQLite believes in the child that it holds the locks of the parent. A
 *        connection to the same file takes none of its own, and when the parent
 *        is gone others cut off shared memory that the child is using. So a
 *        store that the parent had open cannot be opened in the child.
 *      - The locks of the side file (lock.c) belong to the open file, of which
 *        the child has a copy: the parent could not give them back, by closing
 *        it or by dying, as long as the child lives. So the child closes its
 *        copies before anything else.
 *
 *      A program that is started by exec() has nothing of this.
 *
 * INVARIANTS
 *   O1  A store is in the list from before its files are opened until they are
 *       closed.
 *   O2  Nobody holds the lock while a process forks, so that the child can take
 *       it.
 *
 * The list is the one thing here that all stores of a process share.
 */
#include <unistd.h>

#include "sqlite.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pdr__opened *first; /* guarded by lock */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void before_fork(void)
{
    (void)pthread_mutex_lock(&lock); /* O2 */
}

static void after_fork(void)
{
    (void)pthread_mutex_unlock(&lock);
}

static void after_fork_in_child(void)
{
    for (struct pdr__opened *it = first; it != NULL; it = it->next) {
        if (it->line != NULL && it->line->fd >= 0)
            (void)close(it->line->fd);
        it->line = NULL; /* it may be another file from now on */
    }
    (void)pthread_mutex_unlock(&lock);
}

static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

static bool is_inherited(const char *path)
{
    bool found = false;

    for (const struct pdr__opened *it = first; it != NULL && !found;
         it = it->next)
        found = it->process != (int64_t)getpid() && strcmp(it->path, path) == 0;
    return found;
}

pdr_rc pdr__opened_add(struct pdr__opened *self, const char *path,
                       const struct pdr__line *line, pdr_err *err)
{
    bool inherited = false;

    (void)pthread_once(&once, watch_forks);
    (void)pthread_mutex_lock(&lock);
    inherited = is_inherited(path);
    if (!inherited) {
        *self = (struct pdr__opened){path, line, (int64_t)getpid(), first};
        first = self;
    }
    (void)pthread_mutex_unlock(&lock);
    if (!inherited)
        return PDR_OK;
    return PDR_FAIL(err, AFTER_FORK, "%s",
                    "the process was forked while its parent had the store "
                    "open, and cannot open it; close it before fork(), or "
                    "exec() behind it");
}

void pdr__opened_remove(struct pdr__opened *self)
{
    struct pdr__opened **link = &first;

    if (self->path == NULL)
        return;
    (void)pthread_mutex_lock(&lock);
    while (*link != self)
        link = &(*link)->next;
    *link = self->next;
    (void)pthread_mutex_unlock(&lock);
    self->path = NULL;
}
