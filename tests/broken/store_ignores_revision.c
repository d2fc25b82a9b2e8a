/* A store that lets in whoever is late. */
#include "store_broken.h"

static void break_edit(pdr_edit *edit)
{
    if (edit->revision != 0)
        edit->revision = PDR_ANY_REVISION;
}

static void broken_write(pdr_store *store, pdr_write *write)
{
    write_changed(store, write, break_edit);
}
