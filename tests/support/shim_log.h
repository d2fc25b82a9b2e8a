/*
 * shim_log.h - what shim_vfs.c writes down and shim_disk.c plays again.
 */
#ifndef PDR_TEST_SHIM_LOG_H
#define PDR_TEST_SHIM_LOG_H

#include "shim_vfs.h"

enum shim_event_kind {
    EVENT_LOAD,        /* a file that was there before: name, bytes */
    EVENT_CREATE,      /* a file that is new: name */
    EVENT_WRITE,       /* bytes at offset */
    EVENT_TRUNCATE,    /* to offset */
    EVENT_SYNC,        /* `folder`: the folder too */
    EVENT_SYNC_FAILED, /* nobody knows what reached the disk, and it will not
                          be tried again */
    EVENT_DELETE,      /* a name; `folder`: and the folder was synced */
    EVENT_MARK
};

/* One change. Files have numbers, as names can be used again. */
struct shim_event {
    enum shim_event_kind kind;
    int file;
    bool is_main;
    bool folder;
    char *name; /* owned; without its folder */
    int64_t offset;
    size_t len;
    uint8_t *bytes; /* owned */
    size_t acknowledged, possible;
};

struct shim_log {
    struct shim_event *events; /* owned */
    size_t count, room;
    int files; /* numbers given so far */
};

const struct shim_log *shim_log_of(const struct shim *shim);

/* Memory, or the end of the program. */
void *shim_memory(void *old, size_t size);

#endif
