/*
 * doubt_harness.c - see doubt_harness.h.
 *
 * One commit changes many sessions, so that it has many pages. The sync of it
 * fails: the system has the bytes and takes them for written, the disk may have
 * none of them. Whoever opens the store next copies them into the main file,
 * and is recorded while doing so.
 */
#include "doubt_harness.h"

#include <perdure/store.h>

#include "room.h"
#include "shim_vfs.h"
#include "store_work.h"

#define SESSIONS 60u
#define BODY     3000u
#define APART    6u /* changes between two points, besides all syncs */
#define SEEDS    3u /* for losses that are drawn */

static pdr_store *open_in(const struct room *room, const char *parameters)
{
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    char uri[700];

    snprintf(uri, sizeof(uri), "sqlite:%s%s", room_path(room, "a.db"),
             parameters);
    if (pdr_store_open(&store, uri, &err) != PDR_OK)
        fail_msg("%s", err.message);
    return store;
}

/* An entry more for each session, in one commit. */
static pdr_rc append_to_all(pdr_store *store, uint64_t revision, pdr_err *err)
{
    static char body[BODY], ids[SESSIONS][16];
    static pdr_entry entries[SESSIONS];
    static pdr_edit edits[SESSIONS];
    const pdr_commit_options options = {.now_ms = 1000};

    memset(body, '1', sizeof(body));
    for (size_t i = 0; i < SESSIONS; i++) {
        snprintf(ids[i], sizeof(ids[i]), "s%zu", i);
        entries[i] = (pdr_entry){.body = pdr_str_n(body, sizeof(body))};
        edits[i] = (pdr_edit){.ref.id = pdr_str_c(ids[i]),
                              .revision = revision,
                              .entries = &entries[i],
                              .entry_count = 1};
    }
    return pdr_store_commit(NULL, store, edits, SESSIONS, &options, err);
}

/* The header of the log is synced with its first commit. */
static void begin_log(pdr_store *store)
{
    const pdr_edit edit = {.ref.id = pdr_str_c("first")};
    const pdr_commit_options options = {.now_ms = 1000};

    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &options, NULL));
}

/* How many sessions have the second entry. */
static size_t count_second(pdr_store *store)
{
    size_t there = 0;

    for (size_t i = 0; i < SESSIONS; i++) {
        char id[16];
        pdr_query query = {.what = PDR_READ_HEAD};
        pdr_page *page = NULL;

        snprintf(id, sizeof(id), "s%zu", i);
        query.ref.id = pdr_str_c(id);
        if (pdr_store_read(&page, store, &query, NULL) != PDR_OK)
            return SIZE_MAX;
        there += page->head.next_seq == 3;
        pdr_page_free(page);
    }
    return there;
}

static void judge(struct doubt_report *out, const struct room *room)
{
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    size_t there = SIZE_MAX;
    pdr_rc rc = pdr_store_open(&store, room_path(room, "a.db"), &err);

    if (rc == PDR_OK)
        there = count_second(store);
    if (rc == PDR_OK)
        rc = pdr_store_verify(NULL, store, NULL, &err, NULL, NULL);
    pdr_store_close(store);
    out->images++;
    out->whole += rc == PDR_OK && there == SESSIONS;
    out->absent += rc == PDR_OK && there == 0;
    if (rc == PDR_OK && (there == 0 || there == SESSIONS))
        return;
    if (out->bad++ == 0)
        snprintf(out->first, sizeof(out->first), "point %zu: %zu of %u: %.200s",
                 out->points, there, SESSIONS, err.message);
}

static void lose(struct doubt_report *out, const struct shim_disk *disk,
                 const struct room *room)
{
    out->points++;
    for (int loss = 0; loss < SHIM_LOSSES; loss++) {
        size_t seeds = loss >= SHIM_LOSS_SOME ? SEEDS : 1;

        for (size_t i = 0; i < seeds; i++) {
            shim_disk_image(disk, room->path, (enum shim_loss)loss,
                            out->points * SEEDS + i + 1);
            judge(out, room);
        }
    }
}

static void lose_everywhere(struct doubt_report *out, const struct shim *shim)
{
    struct shim_disk *disk = shim_disk_new(shim);
    enum shim_point point = SHIM_POINT_CHANGE;
    struct room room;
    size_t seen = 0;

    work_room(&room);
    while (point != SHIM_POINT_END) {
        point = shim_disk_next(disk, true);
        if (shim_disk_possible(disk) == 2 &&
            (point != SHIM_POINT_CHANGE || seen++ % APART == 0))
            lose(out, disk, &room);
    }
    shim_disk_free(disk);
    room_leave(&room);
}

void doubt_run(struct doubt_report *out)
{
    const struct shim_fault fault = {.op = SHIM_SYNC, .nth = 1};
    const struct shim_fault none = {.op = SHIM_ANY, .nth = 0};
    struct shim *shim = shim_new("doubt");
    pdr_store *store = NULL;
    struct room room;

    memset(out, 0, sizeof(*out));
    work_room(&room);
    store = open_in(&room, "");
    ASSERT_RC(PDR_OK, append_to_all(store, 0, NULL));
    pdr_store_close(store);
    shim_record_folder(shim, room.path);
    store = open_in(&room, "?vfs=doubt");
    begin_log(store);
    shim_mark(shim, 1, 1);
    shim_fail(shim, &fault);
    ASSERT_RC(PDR_EUNKNOWN, append_to_all(store, 1, NULL));
    pdr_store_close(store);
    shim_fail(shim, &none);
    shim_mark(shim, 1, 2); /* it may be there, from here on */
    store = open_in(&room, "?vfs=doubt");
    ASSERT_SIZE(SESSIONS, count_second(store));
    pdr_store_close(store);
    lose_everywhere(out, shim);
    room_leave(&room);
    shim_free(shim);
}
