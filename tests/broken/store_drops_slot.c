/* A store that forgets the last slot of a commit, and counts without it. */
#include "store_broken.h"

static void break_edit(pdr_edit *edit)
{
    if (edit->slot_count > 0)
        edit->slot_count--;
}

static void broken_write(pdr_store *store, pdr_write *write)
{
    write_changed(store, write, break_edit);
}
