/*
 * room.h - an empty folder on the disk for a test, and what is in it.
 */
#ifndef PDR_TEST_ROOM_H
#define PDR_TEST_ROOM_H

#include "test.h"

struct room {
    char path[256];
};

/* Made below TMPDIR; removed with all that is in it. */
void room_enter(struct room *room);
void room_leave(struct room *room);

/* Files by their names in it. */
void room_put(const struct room *room, const char *name, pdr_str bytes);
void room_put_c(const struct room *room, const char *name, const char *text);
/* A copy, owned by the caller: release with free(); NULL if there is none. */
char *room_get(const struct room *room, const char *name, size_t *len);
bool room_has(const struct room *room, const char *name);
/* Is the file there, with this text? */
void room_assert(const struct room *room, const char *name, const char *text);
/* Names that end so, and their number; the first one in `out`, which may be
 * NULL. */
size_t room_count(char out[256], const struct room *room, const char *ending);
/* Copy a folder of tests/data into it. */
void room_fill(const struct room *room, const char *folder);
/* The path of a name in it; static, until the next call. */
const char *room_path(const struct room *room, const char *name);

#endif
