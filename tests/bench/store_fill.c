/*
 * store_fill.c - makes stores to measure in. See store_fill.h.
 *
 * WHY  What a turn costs depends on where the pages of its session lie. In a
 *      store with one session everything is in one place. So there are many,
 *      and those at work are spread over the file by a seeded shuffle.
 */
#include "store_fill.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "bench.h"
#include "count_vfs.h"

#define BATCH 64u /* turns in one call */

static struct turn batch[BATCH];

static void remove_beside(const char *path)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-lock"};
    char name[sizeof(((struct fill *)0)->path) + 8];

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        snprintf(name, sizeof(name), "%s%s", path, ends[i]);
        if (unlink(name) != 0 && errno != ENOENT)
            bench_fail("%s: cannot be removed: %s", name, strerror(errno));
    }
}

static void place_at(struct fill *fill, const char *name, size_t count)
{
    bench_path(fill->path, sizeof(fill->path), name);
    if (strpbrk(fill->path, "%?") != NULL)
        bench_fail("%s: the folder may have no '%%' or '?'", fill->path);
    remove_beside(fill->path);
    fill->count = count;
    fill->sessions = calloc(count, sizeof(fill->sessions[0]));
    fill->order = calloc(count, sizeof(fill->order[0]));
    if (fill->sessions == NULL || fill->order == NULL)
        bench_fail("no memory for %zu sessions", count);
}

pdr_store *fill_open(const struct fill *fill)
{
    char uri[sizeof(fill->path) + 32];
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    snprintf(uri, sizeof(uri), "sqlite:%s?vfs=" COUNT_VFS, fill->path);
    if (pdr_store_open(&store, uri, &err) != PDR_OK)
        bench_fail("%s: %s", uri, err.message);
    return store;
}

static void make_sessions(struct fill *fill, pdr_store *store)
{
    struct turn_session *sessions[BATCH];

    for (size_t at = 0; at < fill->count; at += BATCH) {
        size_t count = fill->count - at < BATCH ? fill->count - at : BATCH;
        for (size_t i = 0; i < count; i++) {
            sessions[i] = &fill->sessions[at + i];
            turn_session_init(sessions[i], at + i);
            turn_first(&batch[i], sessions[i]);
        }
        turn_commit_all(sessions, batch, count, store);
    }
}

uint64_t fill_turns(struct turn_session *const *sessions, size_t count,
                    size_t turns, pdr_store *store)
{
    size_t *order = calloc(count, sizeof(order[0]));
    struct turn_session *chosen[BATCH];
    uint64_t bytes = 0;

    if (order == NULL)
        bench_fail("no memory for %zu sessions", count);
    for (size_t turn = 0; turn < turns; turn++) {
        turn_shuffle(order, count, turn + 1);
        for (size_t at = 0; at < count; at += BATCH) {
            size_t now = count - at < BATCH ? count - at : BATCH;
            for (size_t i = 0; i < now; i++) {
                chosen[i] = sessions[order[at + i]];
                turn_next(&batch[i], chosen[i]);
                bytes += batch[i].entry_bytes;
            }
            turn_commit_all(chosen, batch, now, store);
        }
    }
    free(order);
    return bytes;
}

void fill_one(struct turn_session *session, size_t turns, pdr_store *store)
{
    for (size_t i = 0; i < turns; i++) {
        turn_next(&batch[0], session);
        turn_commit(session, &batch[0], store);
    }
}

void fill_entries(struct turn_session *session, size_t entries,
                  pdr_store *store)
{
    enum { AT_ONCE = 1000 };
    static pdr_entry rows[AT_ONCE];
    struct turn *turn = &batch[0];

    while (entries > 0) {
        size_t now = entries < AT_ONCE ? entries : AT_ONCE;
        turn_next(turn, session);
        for (size_t i = 0; i < now; i++) {
            rows[i] = turn->entries[i % 2];
            rows[i].correlation_id = (pdr_str){NULL, 0};
        }
        turn->edit.entries = rows;
        turn->edit.entry_count = now;
        turn_commit(session, turn, store);
        entries -= now;
    }
}

struct turn_session *fill_pick(const struct fill *fill, size_t place)
{
    return &fill->sessions[fill->order[place % fill->count]];
}

void fill_place(struct fill *fill, const char *name, size_t count)
{
    place_at(fill, name, count);
    turn_shuffle(fill->order, count, 20260101);
}

void fill_make(struct fill *fill, const char *name, size_t count, size_t turns)
{
    fill_place(fill, name, count);
    struct turn_session **all = calloc(count, sizeof(all[0]));
    if (all == NULL)
        bench_fail("no memory for %zu sessions", count);
    for (size_t i = 0; i < count; i++)
        all[i] = &fill->sessions[i];
    pdr_store *store = fill_open(fill);
    make_sessions(fill, store);
    (void)fill_turns(all, count, turns, store);
    pdr_store_close(store);
    free(all);
}

/* The log must be empty, or the copy of the main file would lack its rows. */
static void need_empty_log(const char *path)
{
    char name[sizeof(((struct fill *)0)->path) + 8];
    struct stat stat_of;

    snprintf(name, sizeof(name), "%s-wal", path);
    if (stat(name, &stat_of) == 0 && stat_of.st_size > 0)
        bench_fail("%s: not empty after the store was closed", name);
}

void fill_copy(struct fill *to, const struct fill *from, const char *name)
{
    static char block[1 << 20];
    size_t len = 0;

    need_empty_log(from->path);
    place_at(to, name, from->count);
    memcpy(to->sessions, from->sessions,
           from->count * sizeof(from->sessions[0]));
    memcpy(to->order, from->order, from->count * sizeof(from->order[0]));
    FILE *in = fopen(from->path, "rb"), *out = fopen(to->path, "wb");
    if (in == NULL || out == NULL || chmod(to->path, 0600) != 0)
        bench_fail("%s: cannot be copied: %s", from->path, strerror(errno));
    while ((len = fread(block, 1, sizeof(block), in)) > 0)
        if (fwrite(block, 1, len, out) != len)
            bench_fail("%s: cannot be written", to->path);
    if (ferror(in) || fflush(out) != 0 || fsync(fileno(out)) != 0)
        bench_fail("%s: cannot be copied: %s", from->path, strerror(errno));
    fclose(in);
    fclose(out);
}

void fill_remove(struct fill *fill)
{
    remove_beside(fill->path);
    free(fill->sessions);
    free(fill->order);
}

void fill_verify(const struct fill *fill)
{
    pdr_store *store = fill_open(fill);
    pdr_err err = PDR_ERR_INIT;

    if (pdr_store_verify(NULL, store, NULL, &err, NULL, NULL) != PDR_OK)
        bench_fail("%s: %s", fill->path, err.message);
    pdr_store_close(store);
}

uint64_t fill_bytes(const struct fill *fill)
{
    struct stat stat_of;

    need_empty_log(fill->path);
    if (stat(fill->path, &stat_of) != 0)
        bench_fail("%s: %s", fill->path, strerror(errno));
    return (uint64_t)stat_of.st_size;
}

void fill_note(const struct fill *fill)
{
    bench_note("sqlite", sqlite3_libversion());
    bench_note_number("sessions", (double)fill->count);
    bench_note_number("cores", (double)sysconf(_SC_NPROCESSORS_ONLN));
}
