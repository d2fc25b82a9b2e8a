/*
 * folder_crash.c - folders when processes die, run at the same time, or find
 * the disk full.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "folder_harness.h"
#include "folder_text.h"

TEST(folder_set, leaves_the_old_session_or_the_new_one_wherever_it_is_killed)
{
    COVERS("S-107");
    for (int old_name = 0; old_name < 2; old_name++) {
        struct kill_report report;
        folder_kill_each(&report, old_name == 1, false);
        ASSERT(report.kills >= 10);
        ASSERT_SIZE(0, report.missing);
        ASSERT_SIZE(0, report.back);
        ASSERT(report.ended_old && report.ended_new);
        ASSERT(report.leftovers > 0); /* listed, so that they can be removed */
    }
}

TEST(folder_set, lets_one_of_several_processes_win_each_time)
{
    ASSERT_SIZE(0, folder_race_sets(false));
}

TEST(history_append, keeps_the_messages_of_several_processes)
{
    ASSERT_SIZE(0, folder_race_appends());
}

/* --- a full disk --------------------------------------------------------- */

/* In a process of its own: 0 if all is well. */
static int save_too_much(const char *path)
{
    pdr_buf text = PDR_BUF_INIT(1 << 22);
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;
    struct room room;
    int verdict = 0;

    snprintf(room.path, sizeof(room.path), "%s", path);
    if (pdr_folder_open(&folder, path, PDR_FOLDER_JSON, true, &err) != PDR_OK ||
        folder_put(folder, "a", FILE_OF("a", "{\"k\":1}"), NULL, &err) !=
            PDR_OK ||
        pdr_buf_printf(&text, &err, FILE_OF("a", "{\"k\":\"%0*d\"}") "%c",
                       1000000, 1, 0) != PDR_OK)
        return 10;
    if (folder_put(folder, "a", text.ptr, NULL, &err) != PDR_EIO ||
        strcmp(err.reason, "file_failed") != 0 ||
        (err.sys != ENOSPC && err.sys != EFBIG) ||
        strstr(err.message, "cannot write") == NULL)
        verdict = 11;
    else if (folder_text(&text, folder, "a", &err) != PDR_OK ||
             text.len != sizeof(FILE_OF("a", "{\"k\":1}")) - 1)
        verdict = 12;
    else if (room_count(NULL, &room, ".tmp") != 0)
        verdict = 13;
    pdr_folder_close(folder);
    pdr_buf_dispose(&text);
    return verdict;
}

#define NO_MOUNT 77

/* On a file system of 64 KiB, if this process may have one. */
static int save_on_small_disk(const char *path)
{
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return NO_MOUNT;
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", path, "tmpfs", 0, "size=65536") != 0)
        return NO_MOUNT;
    return save_too_much(path);
}

/* With files of at most 64 KiB. */
static int save_with_limit(const char *path)
{
    struct rlimit limit = {65536, 65536};

    signal(SIGXFSZ, SIG_IGN);
    return setrlimit(RLIMIT_FSIZE, &limit) == 0 ? save_too_much(path) : 14;
}

static int run_apart(int (*fn)(const char *path), const char *path)
{
    int status = 1;
    pid_t child = 0;

    fflush(NULL);
    child = fork();
    ASSERT(child >= 0);
    if (child == 0)
        _exit(fn(path));
    ASSERT_INT(child, waitpid(child, &status, 0));
    ASSERT(WIFEXITED(status));
    return WEXITSTATUS(status);
}

TEST(folder_set, keeps_the_session_when_the_disk_is_full)
{
    struct room room;
    int verdict = 0;

    room_enter(&room);
    verdict = run_apart(save_on_small_disk, room.path);
    print_message("full disk: %s\n",
                  verdict == NO_MOUNT
                      ? "no right to mount a small one, a limit instead"
                      : "a tmpfs of 64 KiB");
    ASSERT(verdict == 0 || verdict == NO_MOUNT);
    ASSERT_INT(0, run_apart(save_with_limit, room.path));
    room_leave(&room);
}

/* The same through the table, so that it holds where neither is to be had. */
TEST(folder_set, says_that_there_is_no_space)
{
    struct room room;
    struct trick trick;
    pdr_folder *folder = NULL;
    bool seen = false;

    for (size_t at = 1; at < 30; at++) {
        pdr_err err = PDR_ERR_INIT;
        room_enter(&room);
        trick_init(&trick);
        folder = folder_of(&room, PDR_FOLDER_JSON, &trick);
        room_put_c(&room, "a.json", FILE_OF("a", "{}"));
        trick_arm(&trick, at, false, ENOSPC);
        if (folder_put(folder, "a", FILE_OF("a", "{\"k\":1}"), NULL, &err) ==
                PDR_EIO &&
            strstr(err.message, "cannot write") != NULL) {
            ASSERT(strstr(err.message, "No space left") != NULL);
            assert_folder(FILE_OF("a", "{}"), folder, "a");
            seen = true;
        }
        pdr_folder_close(folder);
        room_leave(&room);
    }
    ASSERT(seen);
}
