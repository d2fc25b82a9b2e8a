/*
 * target.h - the file that a copy of a store becomes.
 *
 *     pdr__target_open ──► written through `db` ──► pdr__target_place
 *                                               └─► pdr__target_close
 */
#ifndef PDR_SQLITE_TARGET_H
#define PDR_SQLITE_TARGET_H

#include "sqlite.h"

struct pdr__target {
    const struct pdr__sqlite *store; /* borrowed: what is copied */
    char *path;                      /* owned: the real one */
    char *part;                      /* owned: its name until it is whole */
    char *side;                      /* owned: of the file with its locks */
    bool replace;
    sqlite3 *db; /* owned: of the unfinished file; NULL: none was made */
};

/* What a file beside a store is called has such an ending: neither a store nor
 * a copy may have that name. NULL: it has none. Static. */
const char *pdr__target_ending(const char *path);

/* Find the place for a copy, and make the file under its other name, empty and
 * locked. Dispose of it in any case with pdr__target_close(). */
PDR_MUST_CHECK pdr_rc pdr__target_open(struct pdr__target *target,
                                       const struct pdr__sqlite *store,
                                       const char *file, bool replace,
                                       pdr_err *err);
/* Give it its name. It must be whole, and on the disk. */
PDR_MUST_CHECK pdr_rc pdr__target_place(struct pdr__target *target,
                                        pdr_err *err);
/* Remove what was not given its name. One that is all zero is fine. */
void pdr__target_close(struct pdr__target *target);

#endif
