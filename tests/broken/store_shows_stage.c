/* A store whose readers see a session while it is being staged. */
#include "store_broken.h"

static void break_edit(pdr_edit *edit)
{
    if (edit->stage != PDR_STAGE_SHOW)
        edit->stage = PDR_STAGE_NONE;
}

static void broken_write(pdr_store *store, pdr_write *write)
{
    write_changed(store, write, break_edit);
}
