/*
 * store_keeps_room.c - a vacuum that leaves rows where they are. Must fail: the
 * test of free room has to see that too little comes back, and too little is
 * used again.
 *
 * The linker puts the functions below in the place of the real ones.
 */
#include "space_harness.h"

#include "sqlite/sqlite.h"

#define SESSIONS 400
#define TURNS    8

int __wrap_pdr__sparse_take(struct pdr__writer *writer, int64_t first,
                            size_t most);
void __wrap_pdr__sparse_after(struct pdr__sqlite *store);

/* A vacuum looks, and takes nothing. */
int __wrap_pdr__sparse_take(struct pdr__writer *writer, int64_t first,
                            size_t most)
{
    (void)writer;
    (void)first;
    (void)most;
    return SQLITE_OK;
}

/* A commit does not even look. */
void __wrap_pdr__sparse_after(struct pdr__sqlite *store)
{
    (void)store;
}

TEST(space_harness, does_not_see_that_rows_stay_where_they_are)
{
    struct space space;
    pdr_vacuum_report report;
    uint64_t again = 0;

    space_init(&space, SESSIONS, TURNS);
    space_remove_half(&space, SPACE_EVERY_SECOND);
    ASSERT_RC(PDR_OK, pdr_store_vacuum(&report, space.store, NULL, NULL, NULL));
    space_check(&space, SESSIONS, SPACE_EVERY_SECOND);
    space_dispose(&space);
    space_init(&space, SESSIONS, TURNS);
    space_remove_half(&space, SPACE_EVERY_SECOND);
    space_write_again(&space);
    again = space_file(&space);
    if (report.after_bytes * 10 > space.bytes * 6 &&
        again * 100 > space.bytes * 115)
        fail_msg("caught: %.2f of the file left, %.2f after writing again",
                 (double)report.after_bytes / (double)space.bytes,
                 (double)again / (double)space.bytes);
    space_dispose(&space);
}
