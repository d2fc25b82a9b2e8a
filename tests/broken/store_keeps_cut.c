/* A store that says that it has removed the first entries, and has not. */
#include "store_broken.h"

static void break_edit(pdr_edit *edit)
{
    if (edit->entries_through == 0)
        return;
    edit->entries_through = 0;
    edit->set_state = true; /* the revision moves, as if it had been done */
}

static void broken_write(pdr_store *store, pdr_write *write)
{
    write_changed(store, write, break_edit);
}
