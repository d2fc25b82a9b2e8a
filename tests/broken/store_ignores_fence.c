/* A store that lets in whoever lost the lease. */
#include "store_broken.h"

static void break_edit(pdr_edit *edit)
{
    edit->lease.fence = 0;
}

static void broken_write(pdr_store *store, pdr_write *write)
{
    write_changed(store, write, break_edit);
}
