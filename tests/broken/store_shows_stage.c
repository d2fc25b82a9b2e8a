/* A store whose readers see a session while it is being staged. */
#include "store_broken.h"

static void break_edit(pdr_edit *edit)
{
    if (edit->epoch != 0)
        edit->revision = PDR_ANY_REVISION; /* more of what is there */
}

static void broken_write(pdr_store *store, pdr_write *write)
{
    if (write->plans->stage == PDR_STAGE_SHOW) {
        pdr__memory_ops.commit(store, &write, 1);
        return;
    }
    write->plans->stage = PDR_STAGE_NONE;
    write_changed(store, write, break_edit);
}
