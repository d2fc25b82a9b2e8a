/* memory_files.c - a folder in memory, for fuzzers. */
#include "memory_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_BYTES ((size_t)1 << 24)

struct memory_file *memory_find(struct memory_folder *folder, const char *name,
                                bool make)
{
    struct memory_file *empty = NULL;

    for (int i = 0; i < MEMORY_FILES; i++) {
        struct memory_file *file = &folder->files[i];
        if (strcmp(file->name, name) == 0)
            return file;
        if (file->name[0] == '\0' && empty == NULL)
            empty = file;
    }
    if (!make || empty == NULL)
        return NULL;
    snprintf(empty->name, sizeof(empty->name), "%s", name);
    empty->bytes.max = MAX_BYTES;
    return empty;
}

static int memory_open_folder(void *ctx, int *out, const char *path,
                              bool create)
{
    (void)ctx;
    (void)path;
    (void)create;
    *out = MEMORY_FILES;
    return 0;
}

static void fill(struct pdr__file_info *out, struct memory_folder *folder,
                 const struct memory_file *file)
{
    memset(out, 0, sizeof(*out));
    if (file == NULL)
        return;
    out->kind = PDR_FILE_REGULAR;
    out->bytes = file->bytes.len;
    out->inode = (uint64_t)(file - folder->files) + 1;
}

static int memory_look(void *ctx, struct pdr__file_info *out, int folder,
                       const char *name)
{
    (void)folder;
    fill(out, ctx, memory_find(ctx, name, false));
    return 0;
}

static int memory_open(void *ctx, int *out, int folder, const char *name,
                       enum pdr__file_use use)
{
    struct memory_folder *all = ctx;
    struct memory_file *file = memory_find(all, name, use != PDR_FILE_READ);

    (void)folder;
    if (file == NULL)
        return use == PDR_FILE_READ ? ENOENT : ENOSPC;
    *out = (int)(file - all->files);
    return 0;
}

static struct memory_file *at(void *ctx, int file)
{
    return &((struct memory_folder *)ctx)->files[file];
}

static int memory_measure(void *ctx, struct pdr__file_info *out, int file)
{
    fill(out, ctx, at(ctx, file));
    return 0;
}

static int memory_read(void *ctx, size_t *got, int file, void *into, size_t len,
                       uint64_t from)
{
    const pdr_buf *bytes = &at(ctx, file)->bytes;

    *got = from >= bytes->len        ? 0
           : bytes->len - from < len ? bytes->len - (size_t)from
                                     : len;
    if (*got > 0)
        memcpy(into, bytes->ptr + from, *got);
    return 0;
}

static int memory_write(void *ctx, int file, const void *bytes, size_t len)
{
    return pdr_buf_append(&at(ctx, file)->bytes, pdr_str_n(bytes, len), NULL) ==
                   PDR_OK
               ? 0
               : ENOSPC;
}

static int memory_cut(void *ctx, int file, uint64_t bytes)
{
    at(ctx, file)->bytes.len = (size_t)bytes;
    return 0;
}

static int memory_nothing(void *ctx, int file)
{
    (void)ctx;
    (void)file;
    return 0;
}

static int memory_remove(void *ctx, int folder, const char *name)
{
    struct memory_file *file = memory_find(ctx, name, false);

    (void)folder;
    if (file == NULL)
        return ENOENT;
    pdr_buf_dispose(&file->bytes);
    file->name[0] = '\0';
    return 0;
}

static int memory_rename(void *ctx, int folder, const char *from,
                         const char *to)
{
    struct memory_file *file = memory_find(ctx, from, false);

    if (file == NULL)
        return ENOENT;
    (void)memory_remove(ctx, folder, to);
    snprintf(file->name, sizeof(file->name), "%s", to);
    return 0;
}

static int memory_list(void *ctx, int folder, pdr__file_name_fn fn, void *arg)
{
    struct memory_folder *all = ctx;
    int sys = 0;

    (void)folder;
    for (int i = 0; sys == 0 && i < MEMORY_FILES; i++)
        if (all->files[i].name[0] != '\0')
            sys = fn(all->files[i].name, arg);
    return sys;
}

static void memory_close(void *ctx, int file)
{
    (void)ctx;
    (void)file;
}

void memory_init(struct memory_folder *folder)
{
    memset(folder, 0, sizeof(*folder));
    folder->table = (struct pdr__files){
        folder,         memory_open_folder, memory_look,   memory_open,
        memory_measure, memory_read,        memory_write,  memory_cut,
        memory_nothing, memory_rename,      memory_remove, memory_list,
        memory_nothing, memory_close};
}

void memory_dispose(struct memory_folder *folder)
{
    for (int i = 0; i < MEMORY_FILES; i++)
        pdr_buf_dispose(&folder->files[i].bytes);
}
