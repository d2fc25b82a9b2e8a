/*
 * memory_files.h - a folder in memory, for fuzzers: no disk, no locks.
 */
#ifndef PDR_TEST_MEMORY_FILES_H
#define PDR_TEST_MEMORY_FILES_H

#include "files.h"

#define MEMORY_FILES 8

struct memory_file {
    char name[PDR_NAME_ROOM]; /* "" for none */
    pdr_buf bytes;
};

struct memory_folder {
    struct pdr__files table; /* hand this to pdr__folder_open_with() */
    struct memory_file files[MEMORY_FILES];
};

void memory_init(struct memory_folder *folder);
void memory_dispose(struct memory_folder *folder);
/* The file of this name, or NULL; made if it is asked for and there is room. */
struct memory_file *memory_find(struct memory_folder *folder, const char *name,
                                bool make);

#endif
