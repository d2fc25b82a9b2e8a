/*
 * power_harness.c - the work of store_work.c on a disk that loses power.
 *
 * The work runs once and is written down by shim_vfs.c. Then it is played
 * again: in front of each sync, behind it, and behind each acknowledgement the
 * disk is put down in a folder as it might be, and opened as a store would be
 * after a restart.
 */
#include "power_harness.h"

#include "room.h"
#include "shim_vfs.h"

/* Ways of losing part of it, without tearing, that are tried at a point. */
#define SOME_LOSSES 2
#define PARTS       5 /* of these in all */
#define TEARS       3 /* ways that tear */
/* Of so many points, one where it is lost twice. */
#define SOME_POINTS 7

/* --- images ----------------------------------------------------------------
 */

size_t image_mistakes(const struct image_report *report)
{
    return report->lost + report->damaged + report->stuck;
}

void image_complain(struct image_report *report, size_t *count,
                    const char *format, ...)
{
    va_list args;

    if (image_mistakes(report) == 0) {
        va_start(args, format);
        vsnprintf(report->first, sizeof(report->first), format, args);
        va_end(args);
    }
    ++*count;
}

/* Which of the states it is; most + 1 if none. */
static size_t find_state(const char *text, const struct work *work,
                         size_t least, size_t most)
{
    size_t i = least;

    while (i <= most &&
           (i > work->commits || strcmp(text, work->states[i]) != 0))
        i++;
    return i;
}

/* Where two texts part, for people. */
static const char *part_of(const char *text, const char *other)
{
    size_t i = 0;

    while (text[i] != '\0' && text[i] == other[i])
        i++;
    return text + (i > 40 ? i - 40 : 0);
}

/* The state that it is in; most + 1 if none. */
static size_t check_text(struct image_report *report, pdr_store *store,
                         const struct work *work, size_t least, size_t most)
{
    pdr_err err = PDR_ERR_INIT;
    char *text = work_text(store, &err);
    size_t state = 0;

    if (text == NULL) {
        image_complain(report, &report->damaged, "cannot be read: %s",
                       err.message);
        return most + 1;
    }
    state = find_state(text, work, least, most);
    if (state > most)
        image_complain(report, &report->lost,
                       "it is none of the states %zu to %zu: '%.200s'", least,
                       most, part_of(text, work->states[least]));
    else if (least < most && state == least)
        report->absent++;
    else if (least < most)
        report->whole++;
    free(text);
    return state;
}

/* What was acknowledged of a session that is being staged is there, too. */
static void check_stage(struct image_report *report, pdr_store *store,
                        const struct work *work, size_t least, size_t most)
{
    for (size_t i = least; i <= most && i <= work->commits; i++)
        if (work_is_staged(work, i, store))
            return;
    image_complain(report, &report->lost,
                   "what is staged is none of the states %zu to %zu", least,
                   most);
}

static void check_verify(struct image_report *report, pdr_store *store,
                         const char *what)
{
    pdr_err err = PDR_ERR_INIT;

    if (pdr_store_verify(NULL, store, NULL, &err, NULL, NULL) != PDR_OK)
        image_complain(report, &report->damaged, "%s: %s", what, err.message);
}

/* What no reader sees can be cleared, and is gone then. */
static void check_sweep(struct image_report *report, pdr_store *store)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_store_info info = {.unseen = 0};
    pdr_sweep_report swept;
    pdr_rc rc = pdr_store_sweep(&swept, store, PDR_NEVER, &err);

    if (rc == PDR_OK)
        rc = pdr_store_info_get(&info, store, &err);
    if (rc != PDR_OK || info.unseen != 0)
        image_complain(report, &report->stuck, "sweep: %s; %d are left",
                       err.message, (int)info.unseen);
    if (swept.sessions > 0)
        check_verify(report, store, "verify, swept");
}

static void check_on(struct image_report *report, pdr_store *store)
{
    pdr_edit edit = {.ref.id = pdr_str_c("one more")};
    pdr_commit_options options = {.now_ms = INT64_C(1800000000000)};
    pdr_err err = PDR_ERR_INIT;

    if (pdr_store_commit(NULL, store, &edit, 1, &options, &err) != PDR_OK)
        image_complain(report, &report->stuck, "takes no commit: %s",
                       err.message);
    check_verify(report, store, "verify");
}

void image_check(struct image_report *report, const char *path,
                 const struct work *work, size_t least, size_t most)
{
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    char uri[700];

    report->images++;
    snprintf(uri, sizeof(uri), "sqlite:%s", path);
    if (pdr_store_open(&store, uri, &err) != PDR_OK) {
        image_complain(report, &report->damaged, "cannot be opened: %s",
                       err.message);
        return;
    }
    if (check_text(report, store, work, least, most) <= most)
        check_stage(report, store, work, least, most);
    check_on(report, store);
    check_sweep(report, store);
    pdr_store_close(store);
}

/* --- the work --------------------------------------------------------------
 */

static pdr_store *open_again(pdr_store *store, const struct room *room)
{
    char uri[700];
    pdr_err err = PDR_ERR_INIT;

    pdr_store_close(store);
    snprintf(uri, sizeof(uri), "sqlite:%s?vfs=shim", room_path(room, "a.db"));
    if (pdr_store_open(&store, uri, &err) != PDR_OK)
        fail_msg("the store cannot be opened: %s", err.message);
    return store;
}

static void do_work(struct work *work, struct shim *shim,
                    const struct room *room)
{
    pdr_store *store = open_again(NULL, room);

    while (work->next < work_steps()) {
        struct work_step step;
        work_make(&step, work);
        if (step.reopens)
            store = open_again(store, room);
        if (step.copies)
            (void)work_checkpoint(store);
        shim_mark(shim, work->commits, work->commits + work_possible(&step));
        if (!work_try(work, &step, store))
            work_explain(&step);
        shim_mark(shim, work->commits, work->commits);
        work_end(work, &step);
    }
    pdr_store_close(store);
}

/* --- losing power ----------------------------------------------------------
 */

static void lose(struct power_report *out, const struct shim_disk *disk,
                 const struct room *room, const struct work *work,
                 enum shim_loss loss)
{
    size_t before = image_mistakes(&out->images);

    shim_disk_image(disk, room->path, loss, out->images.images);
    image_check(&out->images, room_path(room, "a.db"), work,
                shim_disk_acknowledged(disk), shim_disk_possible(disk));
    if (image_mistakes(&out->images) > before && before == 0)
        print_message("first mistake: point %zu, loss %d: %s\n", out->points,
                      (int)loss, out->images.first);
}

/* In front of a sync there is something that it has to make sure. */
static bool has_to_sync(const struct shim_disk *disk, enum shim_point point)
{
    return point == SHIM_POINT_SYNC && shim_disk_unsynced(disk) > 0;
}

/* Writes that are torn, sector by sector. */
static void lose_torn(struct power_report *out, const struct shim_disk *disk,
                      const struct room *room, const struct work *work,
                      size_t nth)
{
    static const enum shim_loss tears[] = {SHIM_LOSS_SECTORS, SHIM_TEAR_LAST,
                                           SHIM_LOSS_GARBAGE};

    out->torn += shim_disk_unsynced(disk) > 0;
    lose(out, disk, room, work, tears[nth % TEARS]);
}

static void lose_part(struct power_report *out, const struct shim_disk *disk,
                      const struct room *room, const struct work *work,
                      size_t nth)
{
    static const enum shim_loss parts[] = {SHIM_LOSS_MAIN, SHIM_LOSS_REST,
                                           SHIM_KEEP_LAST, SHIM_KEEP_FIRST,
                                           SHIM_LOSS_SOME};

    lose(out, disk, room, work, parts[nth % PARTS]);
}

/* Everything, nothing and a torn loss at each point, the others in turn; with
 * `all`, each. */
static void lose_at(struct power_report *out, const struct shim_disk *disk,
                    const struct room *room, const struct work *work, bool all)
{
    size_t tears = all ? TEARS : 1, parts = all ? PARTS : SOME_LOSSES;

    lose(out, disk, room, work, SHIM_LOSS_ALL);
    lose(out, disk, room, work, SHIM_LOSS_NONE);
    for (size_t i = 0; i < tears; i++)
        lose_torn(out, disk, room, work, out->points * tears + i);
    for (size_t i = 0; i < parts; i++)
        lose_part(out, disk, room, work, out->points * parts + i);
}

static void lose_everywhere(struct power_report *out, const struct shim *shim,
                            const struct work *work, bool all)
{
    struct shim_disk *disk = shim_disk_new(shim);
    enum shim_point point = SHIM_POINT_END;
    struct room room;

    work_room(&room);
    while ((point = shim_disk_next(disk, all)) != SHIM_POINT_END) {
        out->points++;
        out->unsynced += has_to_sync(disk, point);
        if (point == SHIM_POINT_MARK)
            lose(out, disk, &room, work, SHIM_LOSS_ALL);
        else
            lose_at(out, disk, &room, work, all);
    }
    ASSERT_SIZE(work->commits, shim_disk_acknowledged(disk));
    lose(out, disk, &room, work, SHIM_LOSS_ALL);
    shim_disk_free(disk);
    room_leave(&room);
}

/* The work, written down. */
static void record(struct power_report *out, struct shim *shim,
                   struct work *work, const struct room *room)
{
    memset(out, 0, sizeof(*out));
    work_init(work, true);
    shim_beside = shim;
    shim_record(shim);
    do_work(work, shim, room);
    shim_beside = NULL;
    out->syncs = shim_count(shim, SHIM_SYNC);
    out->commits = work->commits;
    out->conflicts = work->conflicts;
    out->refusals = work->refusals;
}

void power_run(struct power_report *out, enum power_variant variant, bool all)
{
    struct shim *shim = shim_new("shim");
    struct work work;
    struct room room;

    work_room(&room);
    shim_swallow_syncs(shim, variant == POWER_NO_SYNCS);
    record(out, shim, &work, &room);
    lose_everywhere(out, shim, &work, all);
    work_dispose(&work);
    shim_free(shim);
    room_leave(&room);
}

/* --- losing it twice -------------------------------------------------------
 */

/* The last state that no read tells from this one: what is staged is not seen.
 */
static size_t last_alike(const struct work *work, size_t state, size_t most)
{
    size_t last = state;

    while (last < most && last < work->commits &&
           strcmp(work->states[last + 1], work->states[state]) == 0)
        last++;
    return last;
}

/* Open an image, look which state it is, close it; all of it written down. */
static void open_image(struct power_report *out, struct shim *shim,
                       const char *path, const struct work *work, size_t least,
                       size_t most)
{
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    char uri[700];
    size_t state = 0;

    snprintf(uri, sizeof(uri), "sqlite:%s?vfs=again", path);
    shim_mark(shim, least, most);
    if (pdr_store_open(&store, uri, &err) != PDR_OK) {
        image_complain(&out->images, &out->images.damaged,
                       "cannot be opened: %s", err.message);
        return;
    }
    state = check_text(&out->images, store, work, least, most);
    if (state <= most)
        shim_mark(shim, state, last_alike(work, state, most));
    pdr_store_close(store);
}

static void lose_again(struct power_report *out, const struct shim_disk *first,
                       const struct work *work, enum shim_loss loss)
{
    struct shim *shim = shim_new("again");
    struct shim_disk *disk = NULL;
    enum shim_point point = SHIM_POINT_END;
    struct room before, after;

    work_room(&before);
    work_room(&after);
    shim_disk_image(first, before.path, loss, out->points);
    shim_record_folder(shim, before.path);
    shim_beside = shim;
    open_image(out, shim, room_path(&before, "a.db"), work,
               shim_disk_acknowledged(first), shim_disk_possible(first));
    shim_beside = NULL;
    disk = shim_disk_new(shim);
    while ((point = shim_disk_next(disk, false)) != SHIM_POINT_END) {
        out->points++;
        out->unsynced += has_to_sync(disk, point);
        lose(out, disk, &after, work, SHIM_LOSS_ALL);
        if (has_to_sync(disk, point))
            lose_torn(out, disk, &after, work, out->points);
        lose(out, disk, &after, work,
             (enum shim_loss)(out->points % SHIM_LOSSES));
    }
    lose(out, disk, &after, work, SHIM_LOSS_ALL);
    shim_disk_free(disk);
    shim_free(shim);
    room_leave(&after);
    room_leave(&before);
}

void power_run_twice(struct power_report *out, bool all)
{
    struct shim *shim = shim_new("shim");
    struct shim_disk *disk = NULL;
    struct work work;
    struct room room;
    size_t point = 0;

    work_room(&room);
    record(out, shim, &work, &room);
    disk = shim_disk_new(shim);
    for (; shim_disk_next(disk, false) != SHIM_POINT_END; point++)
        if (all || point % SOME_POINTS == 0)
            lose_again(out, disk, &work,
                       (enum shim_loss)(point / SOME_POINTS % SHIM_LOSSES));
    shim_disk_free(disk);
    work_dispose(&work);
    shim_free(shim);
    room_leave(&room);
}

void power_print(const struct power_report *report)
{
    const struct image_report *images = &report->images;

    print_message(
        "power loss: %zu commits, %zu conflicts, %zu refusals, %zu syncs, %zu "
        "points (%zu with unsynced writes), %zu images, %zu torn; unknown: "
        "%zu whole, %zu absent; lost %zu, damaged %zu, stuck %zu\n",
        report->commits, report->conflicts, report->refusals, report->syncs,
        report->points, report->unsynced, images->images, report->torn,
        images->whole, images->absent, images->lost, images->damaged,
        images->stuck);
}
