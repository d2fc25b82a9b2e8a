/* store_variants.c - stores with one mistake each. */
#include "store_variants.h"

#include <fcntl.h>
#include <perdure/sys/store.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NAME         "PERDURE_STORE_VARIANT"
#define DROP_ONE_OUT 6
#define LATE_US      1000

pdr_rc __real_pdr_store_commit(pdr_committed *out, pdr_store *store,
                               const pdr_edit *edits, size_t count,
                               const pdr_commit_options *options, pdr_err *err);
pdr_rc __wrap_pdr_store_commit(pdr_committed *out, pdr_store *store,
                               const pdr_edit *edits, size_t count,
                               const pdr_commit_options *options, pdr_err *err);
pdr_rc __real_pdr_plan_begin(pdr_plan *plan, const pdr_write *write,
                             const pdr_head *head, uint64_t *number,
                             pdr_err *err);
pdr_rc __wrap_pdr_plan_begin(pdr_plan *plan, const pdr_write *write,
                             const pdr_head *head, uint64_t *number,
                             pdr_err *err);
pdr_rc __real_pdr_plan_known(pdr_plan *plan, const pdr_write *write, size_t k,
                             const pdr_completion *known, pdr_err *err);
pdr_rc __wrap_pdr_plan_known(pdr_plan *plan, const pdr_write *write, size_t k,
                             const pdr_completion *known, pdr_err *err);

/* The name that fcntl() has where files may be large. */
int __real_fcntl64(int fd, int command, ...);
int __wrap_fcntl64(int fd, int command, ...);

void store_variant_choose(enum store_variant variant)
{
    char text[8];

    snprintf(text, sizeof(text), "%d", (int)variant);
    (void)setenv(NAME, text, 1);
}

static enum store_variant variant(void)
{
    const char *text = getenv(NAME);

    return text != NULL ? (enum store_variant)strtol(text, NULL, 10)
                        : STORE_SOUND;
}

/* --- acknowledging
 * ------------------------------------------------------------ */

static pdr_rc pretend(pdr_committed *out, const pdr_edit *edits, size_t count)
{
    for (size_t i = 0; out != NULL && i < count; i++)
        out[i] = (pdr_committed){.revision = edits[i].revision + 1,
                                 .epoch = edits[i].epoch};
    return PDR_OK;
}

static pdr_rc split(pdr_committed *out, pdr_store *store, const pdr_edit *edits,
                    size_t count, const pdr_commit_options *options,
                    pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < count && rc == PDR_OK; i++)
        rc = __real_pdr_store_commit(out != NULL ? &out[i] : NULL, store,
                                     &edits[i], 1, options, err);
    return rc;
}

pdr_rc __wrap_pdr_store_commit(pdr_committed *out, pdr_store *store,
                               const pdr_edit *edits, size_t count,
                               const pdr_commit_options *options, pdr_err *err)
{
    static _Thread_local unsigned calls;
    pdr_rc rc = PDR_OK;

    if (variant() == STORE_DROPS && ++calls % DROP_ONE_OUT == 0)
        return pretend(out, edits, count);
    if (variant() == STORE_SPLITS)
        return split(out, store, edits, count, options, err);
    rc = __real_pdr_store_commit(out, store, edits, count, options, err);
    if (variant() == STORE_DOUBLES && rc == PDR_OK &&
        ++calls % DROP_ONE_OUT == 0)
        return PDR_ECONFLICT; /* so its writer tries again */
    if (variant() == STORE_FORGETS)
        usleep(LATE_US); /* a kill comes between more often than not */
    return rc;
}

/* --- deciding
 * ------------------------------------------------------------------ */

/* The plan keeps the changed edit, so it is never released: these processes do
 * not live long. */
static void change_edit(pdr_plan *plan, const pdr_head *head)
{
    pdr_edit *edit = malloc(sizeof(*edit));

    if (edit == NULL)
        abort();
    *edit = *plan->edit;
    if (variant() == STORE_IGNORES_REVISION && edit->revision != 0 &&
        edit->revision != PDR_ANY_REVISION)
        edit->revision = head->revision;
    if (variant() == STORE_IGNORES_FENCE && edit->lease.verb == PDR_LEASE_KEEP)
        edit->lease.fence = 0;
    plan->edit = edit;
}

pdr_rc __wrap_pdr_plan_begin(pdr_plan *plan, const pdr_write *write,
                             const pdr_head *head, uint64_t *number,
                             pdr_err *err)
{
    if (head != NULL && (variant() == STORE_IGNORES_REVISION ||
                         variant() == STORE_IGNORES_FENCE))
        change_edit(plan, head);
    return __real_pdr_plan_begin(plan, write, head, number, err);
}

/* It writes over what it does not see, and counts that as one row. */
pdr_rc __wrap_pdr_plan_known(pdr_plan *plan, const pdr_write *write, size_t k,
                             const pdr_completion *known, pdr_err *err)
{
    if (variant() != STORE_FORGETS || known == NULL)
        return __real_pdr_plan_known(plan, write, k, known, err);
    plan->next.completions--;
    return __real_pdr_plan_known(plan, write, k, NULL, err);
}

/* --- waiting
 * -------------------------------------------------------------------- */

/* Who pushes sees nobody in line and believes to be the first. The bytes of the
 * line come behind byte 0, which says who has the store open. */
static bool is_left_out(int command, const struct flock *bytes)
{
    return (command == F_OFD_SETLK || command == F_OFD_GETLK) &&
           variant() == STORE_LETS_PUSH && getpid() % 2 == 0 &&
           bytes->l_start > 0;
}

int __wrap_fcntl64(int fd, int command, ...)
{
    void *argument = NULL;
    va_list more;

    va_start(more, command);
    argument = va_arg(more, void *);
    va_end(more);
    if (is_left_out(command, argument)) {
        ((struct flock *)argument)->l_type = F_UNLCK;
        return 0;
    }
    return __real_fcntl64(fd, command, argument);
}
