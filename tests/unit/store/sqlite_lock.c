/* The line in front of the writer lock. */
#include "room.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sqlite/sqlite.h"

#define LINES 4

struct lines {
    struct room room;
    struct pdr__line line[LINES];
};

static void lines_enter(struct lines *lines)
{
    room_enter(&lines->room);
    for (size_t i = 0; i < LINES; i++)
        ASSERT_RC(PDR_OK,
                  pdr__line_open(&lines->line[i],
                                 room_path(&lines->room, "lock"), NULL));
}

static void lines_leave(struct lines *lines)
{
    for (size_t i = 0; i < LINES; i++)
        pdr__line_close(&lines->line[i]);
    room_leave(&lines->room);
}

TEST(sqlite_line, gives_the_lock_to_one_at_a_time)
{
    struct lines lines;

    lines_enter(&lines);
    ASSERT(pdr__line_try(&lines.line[0]));
    ASSERT(!pdr__line_try(&lines.line[1]));
    pdr__line_leave(&lines.line[0]);
    ASSERT(pdr__line_try(&lines.line[1]));
    ASSERT(!pdr__line_try(&lines.line[0]));
    pdr__line_leave(&lines.line[1]);
    lines_leave(&lines);
}

TEST(sqlite_line, serves_those_who_wait_in_the_order_they_came)
{
    struct lines lines;
    struct pdr__line *line = lines.line;

    lines_enter(&lines);
    ASSERT(pdr__line_try(&line[0]));
    for (size_t i = 1; i < LINES; i++)
        ASSERT(!pdr__line_try(&line[i]));
    for (size_t i = 1; i < LINES; i++) {
        pdr__line_leave(&line[i - 1]);
        for (size_t k = LINES - 1; k > i; k--)
            ASSERT(!pdr__line_try(&line[k]));
        ASSERT(!pdr__line_try(&line[0])); /* back at the end */
        ASSERT(pdr__line_try(&line[i]));
    }
    pdr__line_leave(&line[LINES - 1]);
    ASSERT(pdr__line_try(&line[0]));
    pdr__line_leave(&line[0]);
    lines_leave(&lines);
}

TEST(sqlite_line, lets_nobody_pass_who_waits_shortly)
{
    struct lines lines;
    struct pdr__line *line = lines.line;

    lines_enter(&lines);
    ASSERT(pdr__line_try(&line[0]));
    ASSERT(!pdr__line_try(&line[1]));
    ASSERT(!pdr__line_try(&line[2]));
    pdr__line_leave(&line[0]);
    ASSERT(!pdr__line_try(&line[2])); /* the lock is free, the line is not */
    line[2].moved_ms -= 1000;         /* but not for ever */
    ASSERT(!pdr__line_try(&line[2])); /* who is in front may be asleep */
    line[2].free_ms -= 1000;          /* and did not wake up */
    ASSERT(pdr__line_try(&line[2]));
    ASSERT(!pdr__line_try(&line[1]));
    pdr__line_leave(&line[2]);
    ASSERT(pdr__line_try(&line[1]));
    pdr__line_leave(&line[1]);
    lines_leave(&lines);
}

/* A lock that was held for long is free for a moment before the first in line
 * looks again. */
TEST(sqlite_line, lets_nobody_pass_who_only_sleeps)
{
    struct lines lines;
    struct pdr__line *line = lines.line;

    lines_enter(&lines);
    ASSERT(pdr__line_try(&line[0]));
    ASSERT(!pdr__line_try(&line[1]));
    ASSERT(!pdr__line_try(&line[2]));
    line[2].moved_ms -= 1000;
    ASSERT(!pdr__line_try(&line[2]));
    pdr__line_leave(&line[0]);
    ASSERT(!pdr__line_try(&line[2]));
    ASSERT(line[2].free_ms != 0);
    ASSERT(pdr__line_try(&line[1])); /* awake */
    ASSERT(!pdr__line_try(&line[2]));
    ASSERT_INT(0, line[2].place);
    ASSERT_INT(0, line[2].free_ms);
    pdr__line_leave(&line[1]);
    ASSERT(pdr__line_try(&line[2]));
    pdr__line_leave(&line[2]);
    lines_leave(&lines);
}

/* line[1] stands in front and does not look; line[2] passes it, which takes a
 * while. Gives the lock back. */
static void pass_one_that_is_stopped(struct pdr__line *line)
{
    ASSERT(pdr__line_try(&line[0]));
    ASSERT(!pdr__line_try(&line[1]));
    pdr__line_leave(&line[0]);
    ASSERT(!pdr__line_try(&line[2]));
    line[2].moved_ms -= 1000;
    ASSERT(!pdr__line_try(&line[2]));
    line[2].free_ms -= 1000;
    ASSERT(pdr__line_try(&line[2]));
    pdr__line_leave(&line[2]);
}

TEST(sqlite_line, waits_once_for_one_that_stays_stopped)
{
    struct lines lines;
    struct pdr__line *line = lines.line;

    lines_enter(&lines);
    pass_one_that_is_stopped(line);
    for (size_t turn = 0; turn < 100; turn++) {
        ASSERT(pdr__line_try(&line[2])); /* at the first look */
        ASSERT(!pdr__line_try(&line[3]));
        pdr__line_leave(&line[2]);
        ASSERT(!pdr__line_try(&line[3])); /* it has to find out by itself */
        pdr__line_leave(&line[3]);
    }
    lines_leave(&lines);
}

TEST(sqlite_line, keeps_the_order_behind_one_that_stays_stopped)
{
    struct lines lines;
    struct pdr__line *line = lines.line;

    lines_enter(&lines);
    pass_one_that_is_stopped(line);
    ASSERT(pdr__line_try(&line[2]));
    ASSERT(!pdr__line_try(&line[3]));
    pdr__line_leave(&line[2]);
    ASSERT(!pdr__line_try(&line[2])); /* behind line[3], which is awake */
    ASSERT_INT(2, line[2].place);
    line[3].moved_ms -= 1000;
    ASSERT(!pdr__line_try(&line[3]));
    line[3].free_ms -= 1000;
    ASSERT(pdr__line_try(&line[3]));
    pdr__line_leave(&line[3]);
    ASSERT(pdr__line_try(&line[2]));
    pdr__line_leave(&line[2]);
    lines_leave(&lines);
}

TEST(sqlite_line, waits_again_for_one_that_looks_again)
{
    struct lines lines;
    struct pdr__line *line = lines.line;

    lines_enter(&lines);
    pass_one_that_is_stopped(line);
    ASSERT(pdr__line_try(&line[2]));
    line[1].moved_ms -= 1000; /* as long as it was stopped */
    ASSERT(!pdr__line_try(&line[1]));
    pdr__line_leave(&line[2]);
    ASSERT(!pdr__line_try(&line[2]));
    ASSERT(pdr__line_try(&line[1]));
    pdr__line_leave(&line[1]);
    ASSERT(pdr__line_try(&line[2]));
    pdr__line_leave(&line[2]);
    lines_leave(&lines);
}

/* The first of two that were stopped goes on: only the second stands directly
 * in front of those who passed both. */
TEST(sqlite_line, waits_again_when_any_of_those_in_front_looks)
{
    struct lines lines;
    struct pdr__line *line = lines.line;

    lines_enter(&lines);
    ASSERT(pdr__line_try(&line[0]));
    for (size_t i = 1; i < LINES; i++)
        ASSERT(!pdr__line_try(&line[i]));
    pdr__line_leave(&line[0]);
    line[3].moved_ms -= 1000;
    ASSERT(!pdr__line_try(&line[3]));
    line[3].free_ms -= 1000;
    ASSERT(pdr__line_try(&line[3]));
    pdr__line_leave(&line[3]);
    ASSERT(pdr__line_try(&line[3]));
    line[1].moved_ms -= 1000;
    ASSERT(!pdr__line_try(&line[1]));
    pdr__line_leave(&line[3]);
    ASSERT(!pdr__line_try(&line[3]));
    ASSERT(pdr__line_try(&line[1]));
    pdr__line_leave(&line[1]);
    lines_leave(&lines);
}

TEST(sqlite_line, waits_for_another_one_in_the_place_of_one_that_was_stopped)
{
    struct lines lines;
    struct pdr__line *line = lines.line;

    lines_enter(&lines);
    pass_one_that_is_stopped(line);
    ASSERT(pdr__line_try(&line[2]));
    pdr__line_leave(&line[1]); /* killed, say */
    ASSERT(!pdr__line_try(&line[3]));
    ASSERT_INT(0, line[3].place);
    pdr__line_leave(&line[2]);
    ASSERT(!pdr__line_try(&line[2]));
    ASSERT(pdr__line_try(&line[3]));
    pdr__line_leave(&line[3]);
    lines_leave(&lines);
}

/* How often one in this place looks until that time. */
static size_t count_looks(int place, int64_t until_ms)
{
    struct pdr__line line = PDR_LINE_INIT;
    int64_t us = 0;
    size_t looks = 0;

    line.place = place;
    line.moved_ms = 7000;
    for (; us < until_ms * 1000; looks++)
        us += pdr__line_pause_us(&line, 7000 + us / 1000);
    return looks;
}

TEST(sqlite_line, looks_often_at_first_and_seldom_in_the_end)
{
    ASSERT_SIZE(200, count_looks(0, 20)); /* of 100 us */
    ASSERT_SIZE(20, count_looks(63, 20));
    ASSERT(count_looks(0, 10000) < 1200);
    for (int place = 1; place < 64; place++)
        ASSERT(count_looks(place, 10000) <= count_looks(place - 1, 10000));
}

TEST(sqlite_line, looks_often_again_when_the_line_moves)
{
    struct pdr__line line = PDR_LINE_INIT;

    line.place = 1;
    line.moved_ms = 1000;
    ASSERT_INT(20000, pdr__line_pause_us(&line, 9000));
    line.place = 0;
    line.moved_ms = 9000;
    ASSERT_INT(100, pdr__line_pause_us(&line, 9000));
    line.place = -1; /* not in line */
    ASSERT_INT(1000, pdr__line_pause_us(&line, 90000));
}

TEST(sqlite_line, gives_up_at_the_deadline_and_leaves)
{
    struct lines lines;
    struct pdr__line *line = lines.line;
    pdr_err err = PDR_ERR_INIT;
    int64_t now = pdr__monotonic_ms(pdr__clock_system());

    lines_enter(&lines);
    ASSERT(pdr__line_try(&line[0]));
    ASSERT_RC(PDR_EBUSY, pdr__line_wait(&line[1], now + 5, &err));
    ASSERT_STR("writer_busy", err.reason);
    ASSERT_INT(-1, line[1].place);
    ASSERT(!pdr__line_try(&line[2]));
    ASSERT_INT(0, line[2].place);
    pdr__line_leave(&line[0]);
    ASSERT_RC(PDR_OK, pdr__line_wait(&line[2], now + 60000, &err));
    pdr__line_leave(&line[2]);
    lines_leave(&lines);
}

TEST(sqlite_line, has_room_behind_its_last_place)
{
    struct room room;
    static struct pdr__line line[70];

    room_enter(&room);
    for (size_t i = 0; i < 70; i++) {
        ASSERT_RC(PDR_OK,
                  pdr__line_open(&line[i], room_path(&room, "lock"), NULL));
        ASSERT_INT(i == 0, pdr__line_try(&line[i]));
    }
    ASSERT_INT(63, line[64].place);
    ASSERT_INT(-1, line[69].place);
    pdr__line_rest(&line[69]);
    pdr__line_rest(&line[64]);
    pdr__line_rest(&line[1]);
    for (size_t i = 0; i < 69; i++)
        pdr__line_close(&line[i]);
    ASSERT(pdr__line_try(&line[69]));
    pdr__line_close(&line[69]);
    room_leave(&room);
}

TEST(sqlite_line, takes_the_lock_back_from_a_process_that_dies)
{
    struct lines lines;
    const char *path = NULL;
    int status = 0;
    pid_t child = 0;

    lines_enter(&lines);
    path = room_path(&lines.room, "lock");
    child = fork();
    if (child == 0) {
        struct pdr__line own;

        _exit(pdr__line_open(&own, path, NULL) == PDR_OK && pdr__line_try(&own)
                  ? 0
                  : 1);
    }
    ASSERT(child > 0 && waitpid(child, &status, 0) == child);
    ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ASSERT(pdr__line_try(&lines.line[0]));
    pdr__line_leave(&lines.line[0]);
    lines_leave(&lines);
}

TEST(sqlite_line, knows_who_is_the_last)
{
    struct lines lines;
    struct pdr__line *line = lines.line;

    lines_enter(&lines);
    for (size_t i = 0; i < 2; i++) {
        ASSERT(pdr__line_try(&line[i]));
        ASSERT_INT(i == 0, pdr__line_is_last(&line[i]));
        ASSERT_RC(PDR_OK, pdr__line_enter(&line[i], NULL));
        pdr__line_leave(&line[i]);
    }
    ASSERT(pdr__line_try(&line[0]));
    ASSERT(!pdr__line_is_last(&line[0]));
    pdr__line_close(&line[0]);
    ASSERT(pdr__line_try(&line[1]));
    ASSERT(pdr__line_is_last(&line[1]));
    pdr__line_leave(&line[1]);
    lines_leave(&lines);
}

TEST(sqlite_line, notices_that_its_file_is_gone)
{
    struct lines lines;
    char path[512];

    lines_enter(&lines);
    (void)snprintf(path, sizeof(path), "%s", room_path(&lines.room, "lock"));
    ASSERT(pdr__line_is_there(&lines.line[0], path));
    ASSERT_INT(0, unlink(path));
    ASSERT(!pdr__line_is_there(&lines.line[0], path));
    room_put_c(&lines.room, "lock", "");
    ASSERT(!pdr__line_is_there(&lines.line[0], path));
    lines_leave(&lines);
}

/* In a process of its own: it waits for a lock on a file that goes away. */
static int wait_for(const char *path)
{
    struct pdr__line line = PDR_LINE_INIT;
    int64_t deadline = pdr__monotonic_ms(pdr__clock_system()) + 5000;
    pdr_rc rc = pdr__line_take(&line, path, deadline, NULL);

    return rc == PDR_OK && line.held && pdr__line_is_there(&line, path) ? 0 : 1;
}

TEST(sqlite_line, opens_another_file_if_its_own_was_removed_meanwhile)
{
    const struct timespec moment = {0, 2000000};
    struct room room;
    char path[512];

    room_enter(&room);
    (void)snprintf(path, sizeof(path), "%s", room_path(&room, "new"));
    for (int i = 0; i < 20; i++) {
        struct pdr__line line = PDR_LINE_INIT;
        pid_t child = 0;
        int status = 0;

        ASSERT_RC(PDR_OK, pdr__line_take(&line, path, INT64_MAX, NULL));
        ASSERT(line.made);
        child = fork();
        if (child == 0) {
            (void)close(line.fd); /* it shares the lock with us */
            _exit(wait_for(path));
        }
        ASSERT(child > 0);
        (void)nanosleep(&moment, NULL);
        pdr__line_undo(&line, path);
        ASSERT(!pdr__line_is_there(&line, path));
        pdr__line_leave(&line);
        pdr__line_close(&line);
        ASSERT(waitpid(child, &status, 0) == child);
        ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        ASSERT_INT(0, unlink(path));
    }
    room_leave(&room);
}

TEST(sqlite_line, removes_no_file_that_is_not_its_own_or_in_use)
{
    struct room room;
    struct pdr__line first = PDR_LINE_INIT, second = PDR_LINE_INIT;
    char path[512];

    room_enter(&room);
    (void)snprintf(path, sizeof(path), "%s", room_path(&room, "new"));
    ASSERT_RC(PDR_OK, pdr__line_take(&first, path, INT64_MAX, NULL));
    ASSERT_RC(PDR_OK, pdr__line_open(&second, path, NULL));
    ASSERT(first.made && !second.made);
    pdr__line_leave(&first);
    ASSERT(pdr__line_try(&second));
    pdr__line_undo(&second, path); /* it did not make it */
    ASSERT(room_has(&room, "new"));
    ASSERT_RC(PDR_OK, pdr__line_enter(&second, NULL));
    pdr__line_leave(&second);
    ASSERT(pdr__line_try(&first));
    pdr__line_undo(&first, path); /* somebody has the store open */
    ASSERT(room_has(&room, "new"));
    pdr__line_close(&second);
    pdr__line_undo(&first, path);
    ASSERT(!room_has(&room, "new"));
    pdr__line_close(&first);
    room_leave(&room);
}

TEST(sqlite_line, refuses_what_is_no_plain_file)
{
    struct room room;
    struct pdr__line line;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    ASSERT_INT(0, mkfifo(room_path(&room, "lock"), 0600));
    ASSERT_RC(PDR_EDENIED,
              pdr__line_open(&line, room_path(&room, "lock"), &err));
    ASSERT_STR("unsafe_file", err.reason);
    ASSERT_INT(-1, line.fd);
    ASSERT_INT(0, mkdir(room_path(&room, "folder"), 0700));
    ASSERT_RC(PDR_EIO, pdr__line_open(&line, room_path(&room, "folder"), &err));
    ASSERT_STR("file_failed", err.reason);
    ASSERT(err.sys != 0);
    room_leave(&room);
}
