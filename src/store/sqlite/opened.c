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
 *       closed, and a line from the moment that it has a file until it has
 * none. O2  Nobody holds the lock while a process forks, so that the child can
 * take it; nor does anybody open or close the file of a line in that moment.
 *
 * These lists are the one thing here that all stores of a process share.
 */
#include <fcntl.h>
#include <unistd.h>

#include "sqlite.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pdr__opened *stores; /* guarded by lock */
static struct pdr__line *lines;    /* guarded by lock */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* --- forks --------------------------------------------------------------- */

static void before_fork(void)
{
    (void)pthread_mutex_lock(&lock); /* O2 */
}

static void after_fork(void)
{
    (void)pthread_mutex_unlock(&lock);
}

/* A number of a process may be that of its parent, if the child is the first of
 * a container: so a store is told here that it is not the child's. */
static void after_fork_in_child(void)
{
    for (; lines != NULL; lines = lines->next) {
        (void)close(lines->fd);
        lines->fd = -1;
    }
    for (struct pdr__opened *it = stores; it != NULL; it = it->next) {
        it->is_inherited = true;
        PDR_CONTAINER_OF(it, struct pdr__sqlite, opened)->base.process = 0;
    }
    (void)pthread_mutex_unlock(&lock);
}

static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

static void enter(void)
{
    (void)pthread_once(&once, watch_forks);
    (void)pthread_mutex_lock(&lock);
}

static void leave(void)
{
    (void)pthread_mutex_unlock(&lock);
}

/* --- stores -------------------------------------------------------------- */

static bool is_inherited(const char *path)
{
    bool found = false;

    for (const struct pdr__opened *it = stores; it != NULL && !found;
         it = it->next)
        found = it->is_inherited && strcmp(it->path, path) == 0;
    return found;
}

pdr_rc pdr__opened_add(struct pdr__opened *self, const char *path, pdr_err *err)
{
    bool inherited = false;

    enter();
    inherited = is_inherited(path);
    if (!inherited) {
        *self = (struct pdr__opened){path, false, stores};
        stores = self;
    }
    leave();
    if (!inherited)
        return PDR_OK;
    return PDR_FAIL(err, AFTER_FORK, "%s",
                    "the process was forked while its parent had the store "
                    "open, and cannot open it; close it before fork(), or "
                    "exec() behind it");
}

void pdr__opened_remove(struct pdr__opened *self)
{
    struct pdr__opened **link = &stores;

    if (self->path == NULL)
        return;
    enter();
    while (*link != self)
        link = &(*link)->next;
    *link = self->next;
    leave();
    self->path = NULL;
}

/* --- files --------------------------------------------------------------- */

bool pdr__opened_file(struct pdr__line *line, const char *path, int flags)
{
    enter();
    line->fd = open(path, flags, 0600);
    if (line->fd >= 0) {
        line->next = lines;
        lines = line;
    }
    leave();
    return line->fd >= 0;
}

void pdr__opened_close(struct pdr__line *line)
{
    struct pdr__line **link = &lines;

    enter();
    while (*link != line)
        link = &(*link)->next;
    *link = line->next;
    (void)close(line->fd);
    line->fd = -1;
    leave();
}
