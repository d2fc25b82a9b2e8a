/*
 * shim_disk.c - what a disk holds after power loss.
 *
 * WHY  The system may write back what it was given in any order, a sector at a
 *      time, or not at all, until a sync has come back. So a file is what is
 *      surely on the disk, and a list of changes behind it of which any may be
 *      there. The names in the folder are a file of their own in that respect.
 *
 *     write, truncate ──► OPEN ── sync ──► SURE ──► part of the bytes
 *                           └── sync failed ──► DOUBTFUL, for ever
 *
 * INVARIANTS
 *   I1  A sync makes sure what is OPEN; what a failed sync has left in doubt
 *       stays so: the system believes that it was written, and does not try
 *       again.
 *   I2  Changes are put down in their order. That is no restriction: of the
 *       same sector the disk has one of its versions, and each can be had by
 *       leaving the later ones out.
 *   I3  A sector of 512 bytes is old or new, never half.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim_log.h"

#define SECTOR 512

enum fate { OPEN, DOUBTFUL, SURE };

struct change {
    const struct shim_event *event; /* borrowed from the log */
    enum fate fate;
};

struct file {
    uint8_t *bytes; /* owned: surely on the disk */
    size_t len, room;
    bool is_main;
    struct change *changes; /* owned */
    size_t count, change_room;
};

/* A name of the folder: which file it means now, and surely; -1: none. */
struct entry {
    const char *name; /* borrowed from the log */
    int now, sure;
};

struct shim_disk {
    const struct shim_log *log; /* borrowed */
    size_t next;                /* event to play */
    bool stopped;               /* in front of the sync that comes next */
    struct file *files;         /* owned; as many as the log has */
    struct entry *entries;      /* owned; at most as many as the log has */
    size_t entry_count;
    size_t acknowledged, possible;
};

/* --- bytes ---------------------------------------------------------------
 */

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static bool coin(uint64_t *state)
{
    return (next_random(state) >> 32 & 1) != 0;
}

/* Make it at least so long. What is between is zero, or with `garbage`
 * anything. */
static void lengthen(struct file *file, size_t len, uint64_t *garbage)
{
    if (len <= file->len)
        return;
    if (len > file->room) {
        file->room = len * 2;
        file->bytes = shim_memory(file->bytes, file->room);
    }
    for (size_t i = file->len; i < len; i++)
        file->bytes[i] = garbage != NULL ? (uint8_t)next_random(garbage) : 0;
    file->len = len;
}

static void put(struct file *file, const struct shim_event *event, size_t from,
                size_t to, uint64_t *garbage)
{
    size_t at = (size_t)event->offset;

    lengthen(file, at + from, garbage);
    lengthen(file, at + to, NULL);
    if (to > from)
        memcpy(file->bytes + at + from, event->bytes + from, to - from);
}

static void apply(struct file *file, const struct shim_event *event,
                  uint64_t *garbage)
{
    if (event->kind != EVENT_TRUNCATE)
        put(file, event, 0, event->len, garbage);
    else if ((size_t)event->offset < file->len)
        file->len = (size_t)event->offset;
    else
        lengthen(file, (size_t)event->offset, NULL);
}

/* --- playing ---------------------------------------------------------------
 */

static void add_change(struct file *file, const struct shim_event *event)
{
    if (file->count == file->change_room) {
        file->change_room = file->change_room > 0 ? file->change_room * 2 : 64;
        file->changes = shim_memory(file->changes,
                                    file->change_room * sizeof(*file->changes));
    }
    file->changes[file->count++] = (struct change){event, OPEN};
}

/* Sure changes behind a doubtful one have to wait for it, or they would be
 * overwritten where it is put down. */
static void fold(struct file *file)
{
    size_t done = 0;

    while (done < file->count && file->changes[done].fate == SURE)
        apply(file, file->changes[done++].event, NULL);
    if (done == 0)
        return;
    file->count -= done;
    memmove(file->changes, file->changes + done,
            file->count * sizeof(*file->changes));
}

static void settle(struct file *file, enum fate fate)
{
    for (size_t i = 0; i < file->count; i++)
        if (file->changes[i].fate == OPEN)
            file->changes[i].fate = fate;
    fold(file);
}

static struct entry *entry_of(struct shim_disk *disk, const char *name)
{
    for (size_t i = 0; i < disk->entry_count; i++)
        if (strcmp(disk->entries[i].name, name) == 0)
            return &disk->entries[i];
    disk->entries[disk->entry_count] = (struct entry){name, -1, -1};
    return &disk->entries[disk->entry_count++];
}

static void sync_folder(struct shim_disk *disk)
{
    for (size_t i = 0; i < disk->entry_count; i++)
        disk->entries[i].sure = disk->entries[i].now;
}

static void play(struct shim_disk *disk, const struct shim_event *event)
{
    struct file *file = &disk->files[event->file];

    switch (event->kind) {
    case EVENT_LOAD:
        apply(file, event, NULL);
        entry_of(disk, event->name)->sure = event->file;
        entry_of(disk, event->name)->now = event->file;
        break;
    case EVENT_CREATE:
        entry_of(disk, event->name)->now = event->file;
        break;
    case EVENT_WRITE:
    case EVENT_TRUNCATE:
        add_change(file, event);
        break;
    case EVENT_SYNC:
        settle(file, SURE);
        break;
    case EVENT_SYNC_FAILED:
        settle(file, DOUBTFUL);
        break;
    case EVENT_DELETE:
        entry_of(disk, event->name)->now = -1;
        break;
    case EVENT_MARK:
        disk->acknowledged = event->acknowledged;
        disk->possible = event->possible;
        return;
    }
    file->is_main = event->is_main || file->is_main;
    if (event->folder)
        sync_folder(disk);
}

struct shim_disk *shim_disk_new(const struct shim *shim)
{
    struct shim_disk *disk = shim_memory(NULL, sizeof(*disk));
    const struct shim_log *log = shim_log_of(shim);
    size_t files = (size_t)log->files + 1;

    memset(disk, 0, sizeof(*disk));
    disk->log = log;
    disk->files = shim_memory(NULL, files * sizeof(*disk->files));
    memset(disk->files, 0, files * sizeof(*disk->files));
    disk->entries = shim_memory(NULL, files * sizeof(*disk->entries));
    return disk;
}

void shim_disk_free(struct shim_disk *disk)
{
    if (disk == NULL)
        return;
    for (int i = 0; i < disk->log->files; i++) {
        free(disk->files[i].bytes);
        free(disk->files[i].changes);
    }
    free(disk->files);
    free(disk->entries);
    free(disk);
}

enum shim_point shim_disk_next(struct shim_disk *disk, bool changes)
{
    while (disk->next < disk->log->count) {
        const struct shim_event *event = &disk->log->events[disk->next];
        bool syncs =
            event->kind == EVENT_SYNC || event->kind == EVENT_SYNC_FAILED;
        size_t before = disk->acknowledged;

        if (syncs && !disk->stopped) {
            disk->stopped = true;
            return SHIM_POINT_SYNC;
        }
        disk->stopped = false;
        disk->next++;
        play(disk, event);
        if (syncs)
            return SHIM_POINT_SYNCED;
        if (event->kind == EVENT_MARK && disk->acknowledged > before)
            return SHIM_POINT_MARK;
        if (changes && event->kind != EVENT_MARK)
            return SHIM_POINT_CHANGE;
    }
    return SHIM_POINT_END;
}

size_t shim_disk_acknowledged(const struct shim_disk *disk)
{
    return disk->acknowledged;
}

size_t shim_disk_possible(const struct shim_disk *disk)
{
    return disk->possible;
}

size_t shim_disk_unsynced(const struct shim_disk *disk)
{
    size_t count = 0;

    for (int i = 0; i < disk->log->files; i++)
        for (size_t k = 0; k < disk->files[i].count; k++)
            count += disk->files[i].changes[k].fate != SURE;
    return count;
}

/* --- losing ----------------------------------------------------------------
 */

struct loss {
    enum shim_loss kind;
    uint64_t random;
    const struct shim_event *first, *last; /* of what is not sure */
    uint64_t kept; /* sectors of a write that is cut off */
};

static void find_ends(struct loss *loss, const struct shim_disk *disk)
{
    for (int i = 0; i < disk->log->files; i++) {
        const struct file *file = &disk->files[i];
        for (size_t k = 0; k < file->count; k++) {
            const struct shim_event *event = file->changes[k].event;
            if (file->changes[k].fate == SURE)
                continue;
            if (loss->first == NULL || event < loss->first)
                loss->first = event;
            if (loss->last == NULL || event > loss->last)
                loss->last = event;
        }
    }
}

/* Some sectors of a write. Those that are lost may leave the file as long as
 * if they were there. */
static void apply_sectors(struct file *file, const struct shim_event *event,
                          struct loss *loss, bool (*keeps)(struct loss *))
{
    uint64_t *garbage = loss->kind == SHIM_LOSS_GARBAGE ? &loss->random : NULL;
    size_t offset = (size_t)event->offset, from = 0;

    while (from < event->len) {
        size_t to = from + SECTOR - (offset + from) % SECTOR;
        to = to < event->len ? to : event->len;
        if (keeps(loss))
            put(file, event, from, to, garbage);
        else if (coin(&loss->random))
            lengthen(file, offset + to, garbage);
        from = to;
    }
}

static bool keeps_half(struct loss *loss)
{
    return coin(&loss->random);
}

static bool keeps_most(struct loss *loss)
{
    return next_random(&loss->random) % 8 != 0;
}

/* The first ones, up to somewhere. */
static bool keeps_first(struct loss *loss)
{
    if (loss->kept == 0)
        return false;
    loss->kept--;
    return true;
}

static void apply_torn(struct file *file, const struct shim_event *event,
                       struct loss *loss)
{
    bool (*const ways[])(struct loss *) = {keeps_half, keeps_most, keeps_first};

    if (event->kind == EVENT_TRUNCATE) {
        if (coin(&loss->random))
            apply(file, event, NULL);
    } else {
        loss->kept = next_random(&loss->random) % (event->len / SECTOR + 2);
        apply_sectors(file, event, loss, ways[next_random(&loss->random) % 3]);
    }
}

/* One change that is not sure, as this loss will have it. */
static void apply_lossy(struct file *file, const struct shim_event *event,
                        struct loss *loss)
{
    bool keep = false;

    switch (loss->kind) {
    case SHIM_LOSS_ALL:
    case SHIM_LOSSES:
        break;
    case SHIM_LOSS_NONE:
        keep = true;
        break;
    case SHIM_LOSS_MAIN:
        keep = !file->is_main;
        break;
    case SHIM_LOSS_REST:
        keep = file->is_main;
        break;
    case SHIM_KEEP_LAST:
        keep = event == loss->last;
        break;
    case SHIM_KEEP_FIRST:
        keep = event == loss->first;
        break;
    case SHIM_LOSS_SOME:
        keep = coin(&loss->random);
        break;
    case SHIM_TEAR_LAST:
        keep = event != loss->last;
        if (!keep)
            apply_torn(file, event, loss);
        break;
    case SHIM_LOSS_SECTORS:
    case SHIM_LOSS_GARBAGE:
        apply_torn(file, event, loss);
        break;
    }
    if (keep)
        apply(file, event, NULL);
}

/* Which file a name means afterwards; -1: none. */
static int choose_file(const struct entry *entry, struct loss *loss)
{
    uint64_t pick = next_random(&loss->random) % 3;

    switch (loss->kind) {
    case SHIM_LOSS_ALL:
        return entry->sure;
    case SHIM_LOSS_NONE:
    case SHIM_LOSS_MAIN:
    case SHIM_LOSS_REST:
    case SHIM_TEAR_LAST:
        return entry->now;
    case SHIM_KEEP_LAST:
    case SHIM_KEEP_FIRST:
    case SHIM_LOSS_SOME:
    case SHIM_LOSS_SECTORS:
    case SHIM_LOSS_GARBAGE:
    case SHIM_LOSSES:
        break;
    }
    /* Deleted and made again: it may also be just deleted. */
    if (pick == 2 && entry->now != entry->sure)
        return -1;
    return pick == 0 ? entry->now : entry->sure;
}

static void remove_files(const char *folder)
{
    DIR *stream = opendir(folder);
    const struct dirent *entry = NULL;
    char path[1024];

    while (stream != NULL && (entry = readdir(stream)) != NULL) {
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            (void)unlink(path);
    }
    if (stream != NULL)
        closedir(stream);
}

static void write_file(const char *folder, const char *name,
                       const struct file *file)
{
    char path[1024];
    FILE *stream = NULL;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    stream = fopen(path, "wb");
    if (stream == NULL || fchmod(fileno(stream), 0600) != 0 ||
        (file->len > 0 &&
         fwrite(file->bytes, 1, file->len, stream) != file->len) ||
        fclose(stream) != 0) {
        fprintf(stderr, "shim: cannot write '%s'\n", path);
        abort();
    }
}

static void put_down(const char *folder, const char *name,
                     const struct file *from, struct loss *loss)
{
    struct file file = {.is_main = from->is_main};
    struct shim_event sure = {.len = from->len, .bytes = from->bytes};

    put(&file, &sure, 0, from->len, NULL);
    for (size_t i = 0; i < from->count; i++) {
        if (from->changes[i].fate == SURE)
            apply(&file, from->changes[i].event, NULL);
        else
            apply_lossy(&file, from->changes[i].event, loss);
    }
    write_file(folder, name, &file);
    free(file.bytes);
}

void shim_disk_image(const struct shim_disk *disk, const char *folder,
                     enum shim_loss kind, uint64_t seed)
{
    struct loss loss = {.kind = kind, .random = seed};

    find_ends(&loss, disk);
    remove_files(folder);
    for (size_t i = 0; i < disk->entry_count; i++) {
        int file = choose_file(&disk->entries[i], &loss);
        if (file >= 0)
            put_down(folder, disk->entries[i].name, &disk->files[file], &loss);
    }
}

void shim_power_loss(const struct shim *shim, const char *folder, uint64_t seed)
{
    struct shim_disk *disk = shim_disk_new(shim);

    while (shim_disk_next(disk, false) != SHIM_POINT_END)
        continue;
    shim_disk_image(disk, folder, (enum shim_loss)(seed % SHIM_LOSSES), seed);
    shim_disk_free(disk);
}
