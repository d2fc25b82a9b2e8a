/*
 * sqlite_room.h - a store of SQLite in a folder of a test, commits to it, and
 * its rows as the sqlite3 tool would show them.
 */
#ifndef PDR_TEST_SQLITE_ROOM_H
#define PDR_TEST_SQLITE_ROOM_H

#include <perdure/sys/store.h>

#include "room.h"

/* "sqlite:ROOM/name" and what follows; static, until the next call. */
const char *store_uri(const struct room *room, const char *name,
                      const char *parameters);
/* Open "s.db" of the room; fails the test if it cannot be. */
pdr_store *store_open(const struct room *room, const char *parameters);

/* One commit on one session; `err` may be NULL. */
pdr_rc commit_one(pdr_store *store, const pdr_edit *edit, pdr_committed *out,
                  pdr_err *err);
/* An edit of session `id` at `revision`. */
pdr_edit edit_of(const char *id, uint64_t revision);
/* Append one entry with a correlation id, which may be NULL. */
pdr_rc append_one(pdr_store *store, const char *id, uint64_t revision,
                  const char *correlation_id, const char *body, pdr_err *err);

/* The first column of the first row that a statement on "s.db" gives, by a
 * connection of its own. */
int64_t sql_int(const struct room *room, const char *sql);
/* Static, until the next call; "(null)" for NULL. */
const char *sql_text(const struct room *room, const char *sql);
/* Run statements; fails the test if SQLite does not like them. */
void sql_run(const struct room *room, const char *sql);

#endif
