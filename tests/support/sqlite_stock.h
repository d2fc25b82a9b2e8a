/*
 * sqlite_stock.h - a store of SQLite on the disk with one of everything in it,
 * and a connection beside it that does what nobody may.
 */
#ifndef PDR_TEST_SQLITE_STOCK_H
#define PDR_TEST_SQLITE_STOCK_H

#include <sqlite3.h>

#include <perdure/store.h>

#include "room.h"
#include "test.h"

struct stock {
    struct room room;
    pdr_store *store;
    sqlite3 *raw; /* opened by stock_sql() */
};

void stock_open(struct stock *stock);
/* Close it and open it again, with what stands behind "?" in the URI. */
void stock_reopen(struct stock *stock, const char *parameters);
/* Close it, with all connections: the file stands alone. */
void stock_shut(struct stock *stock);
void stock_close(struct stock *stock);

/* A commit that must succeed: revision is the one that the session has. */
void stock_commit(struct stock *stock, pdr_edit *edit, int64_t now_ms);
/* Session "full" with two agents' turns, slots, properties, a frame, work and a
 * lease; "bare" with nothing. */
void stock_fill(struct stock *stock);
/* `count` sessions "s000"...: agent "even" or none, states in turn, changed at
 * 1000, 1001, ...; property "colour" of every third. */
void stock_many(struct stock *stock, size_t count);

/* Run SQL beside the store; it must succeed. */
void stock_sql(struct stock *stock, const char *sql);
/* The same, while an index is hidden from SQLite: it stays as it was. */
void stock_sql_without(struct stock *stock, const char *index, const char *sql);
/* The one number that a statement gives. */
int64_t stock_ask(struct stock *stock, const char *sql);

/* Read one page; the query needs no tenant, and has the id `id`. */
pdr_rc stock_read(pdr_page **out, struct stock *stock, pdr_query query,
                  const char *id, pdr_err *err);

#endif
