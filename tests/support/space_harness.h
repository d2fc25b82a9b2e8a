/*
 * space_harness.h - sessions that were written in turns, half of which are
 * removed: how much of the file comes back, and how much is used again.
 */
#ifndef PDR_TEST_SPACE_HARNESS_H
#define PDR_TEST_SPACE_HARNESS_H

#include "room.h"
#include "test.h"

#include <perdure/store.h>

/* Which half is removed. */
enum space_half {
    SPACE_EVERY_SECOND, /* the one and the other share each page */
    SPACE_ANY           /* by a seed */
};

struct space {
    struct room room;
    pdr_store *store; /* open, owned */
    size_t sessions;  /* numbers 0 to this were made */
    size_t turns;     /* that each of them has */
    uint64_t bytes;   /* of the main file when all were written */
};

/* Write them, one turn of each after the other, and copy the log. */
void space_init(struct space *space, size_t sessions, size_t turns);
void space_dispose(struct space *space);
/* Remove half of them. */
void space_remove_half(struct space *space, enum space_half half);
/* Move all rows of the log up by so many places: as if those before them had
 * been removed. */
void space_shift(struct space *space, unsigned places);
/* Write as many new ones as were removed. */
void space_write_again(struct space *space);
/* Write new ones until SQLite's log has so many bytes; gives how many it has.
 */
uint64_t space_fill_log(struct space *space, uint64_t bytes);
/* Close it, so that all is in the main file; its bytes; open it again. */
uint64_t space_file(struct space *space);
/* Of the `first` sessions half was removed; all others must be there, with all
 * their rows, and nothing else. */
void space_check(struct space *space, size_t first, enum space_half half);

#endif
