/*
 * store_small_log.c - a store that copies its log into the main file often.
 *
 * WHY  A log of 48 MB is more than a harness writes before it is killed. The
 *      linker puts the function below in the place of the one that decides
 *      after each group, with the writer lock held: one group in a few is
 *      followed by a checkpoint, and some of these empty the log, which is when
 *      a writer that dies could take most with it.
 *
 *      Each leaves one byte in the file that PERDURE_CHECKPOINTS names, after
 *      the log was copied, so that a harness knows that it met some.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <perdure/errors.h>

#define ONE_IN       4 /* groups */
#define ONE_EMPTY_IN 3 /* checkpoints */

struct pdr__sqlite;

void __real_pdr__checkpoint_after(struct pdr__sqlite *store);
void __wrap_pdr__checkpoint_after(struct pdr__sqlite *store);
pdr_rc pdr__checkpoint_all(struct pdr__sqlite *store, bool empty_log,
                           pdr_err *err);

static void count(void)
{
    const char *path = getenv("PERDURE_CHECKPOINTS");
    int fd = path != NULL
                 ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)
                 : -1;

    if (fd < 0)
        return;
    if (write(fd, "c", 1) != 1)
        abort();
    close(fd);
}

/* Only who leads a group comes here, so it needs no lock. */
void __wrap_pdr__checkpoint_after(struct pdr__sqlite *store)
{
    static unsigned groups;
    pdr_rc rc = PDR_OK;

    __real_pdr__checkpoint_after(store);
    if (++groups % ONE_IN != (unsigned)getpid() % ONE_IN)
        return;
    rc = pdr__checkpoint_all(store, groups / ONE_IN % ONE_EMPTY_IN == 0, NULL);
    if (rc == PDR_OK)
        count();
    else if (rc != PDR_EBUSY) /* readers may be in the log */
        abort();
}
