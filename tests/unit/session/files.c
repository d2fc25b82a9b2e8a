/* The file calls of the system, as folders use them. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "room.h"

#include "files.h"

static int open_room(const struct room *room)
{
    int folder = -1;

    ASSERT_INT(
        0, pdr__files_system()->open_folder(NULL, &folder, room->path, false));
    return folder;
}

TEST(open_folder, makes_one_for_its_owner_only)
{
    const struct pdr__files *files = pdr__files_system();
    struct room room;
    struct stat info;
    char path[300];
    int folder = -1;

    room_enter(&room);
    snprintf(path, sizeof(path), "%s/new", room.path);
    ASSERT_INT(ENOENT, files->open_folder(NULL, &folder, path, false));
    ASSERT_INT(0, files->open_folder(NULL, &folder, path, true));
    files->close(NULL, folder);
    ASSERT_INT(0, stat(path, &info));
    ASSERT_INT(0700, info.st_mode & 0777);
    ASSERT_INT(0, files->open_folder(NULL, &folder, path, true));
    files->close(NULL, folder);
    snprintf(path, sizeof(path), "%s/no/such", room.path);
    ASSERT_INT(ENOENT, files->open_folder(NULL, &folder, path, true));
    ASSERT_INT(0, files->open_folder(NULL, &folder, "/", false));
    files->close(NULL, folder);
    room_leave(&room);
}

TEST(open_folder, makes_one_where_the_process_is)
{
    const struct pdr__files *files = pdr__files_system();
    struct room room;
    char before[600];
    int folder = -1;

    room_enter(&room);
    ASSERT(getcwd(before, sizeof(before)) != NULL);
    ASSERT_INT(0, chdir(room.path));
    ASSERT_INT(0, files->open_folder(NULL, &folder, "here//", true));
    files->close(NULL, folder);
    ASSERT_INT(0, chdir(before));
    ASSERT(room_has(&room, "here"));
    room_leave(&room);
}

TEST(open_folder, follows_no_link)
{
    struct room room;
    char path[300];
    int folder = -1;

    room_enter(&room);
    snprintf(path, sizeof(path), "%s/link", room.path);
    ASSERT_INT(0, symlink(room.path, path));
    ASSERT_INT(ELOOP,
               pdr__files_system()->open_folder(NULL, &folder, path, false));
    snprintf(path, sizeof(path), "%s/link/", room.path);
    ASSERT_INT(ELOOP,
               pdr__files_system()->open_folder(NULL, &folder, path, true));
    room_put_c(&room, "file", "x");
    snprintf(path, sizeof(path), "%s/file", room.path);
    ASSERT_INT(ENOTDIR,
               pdr__files_system()->open_folder(NULL, &folder, path, false));
    room_leave(&room);
}

TEST_OOM(open_folder, says_when_there_is_no_memory)
{
    struct room room;
    char path[300];
    int folder = -1, sys = 0;

    room_enter(&room);
    snprintf(path, sizeof(path), "%s/new", room.path);
    sys = pdr__files_system()->open_folder(NULL, &folder, path, true);
    ASSERT(sys == 0 || sys == ENOMEM);
    if (sys == 0)
        pdr__files_system()->close(NULL, folder);
    room_leave(&room);
}

TEST(file_calls, write_read_measure_cut_rename_and_remove)
{
    const struct pdr__files *files = pdr__files_system();
    struct pdr__file_info info;
    struct room room;
    char text[16] = {0};
    size_t got = 0;
    int folder = -1, file = -1;

    room_enter(&room);
    folder = open_room(&room);
    ASSERT_INT(0, files->open(NULL, &file, folder, "a", PDR_FILE_CREATE));
    ASSERT_INT(0, files->write(NULL, file, "hello", 5));
    ASSERT_INT(0, files->write(NULL, file, " you", 4));
    ASSERT_INT(0, files->sync(NULL, file));
    files->close(NULL, file);
    ASSERT_INT(0, files->open(NULL, &file, folder, "a", PDR_FILE_GROW));
    ASSERT_INT(0, files->read(NULL, &got, file, text, 15, 6));
    ASSERT_SIZE(3, got);
    ASSERT_STR("you", text);
    ASSERT_INT(0, files->cut(NULL, file, 5));
    ASSERT_INT(0, files->write(NULL, file, "!", 1));
    ASSERT_INT(0, files->measure(NULL, &info, file));
    ASSERT_INT(PDR_FILE_REGULAR, info.kind);
    ASSERT_SIZE(6, info.bytes);
    files->close(NULL, file);
    ASSERT_INT(0, files->rename(NULL, folder, "a", "b"));
    ASSERT_INT(0, files->sync(NULL, folder));
    room_assert(&room, "b", "hello!");
    ASSERT_INT(0, files->look(NULL, &info, folder, "a"));
    ASSERT_INT(PDR_FILE_ABSENT, info.kind);
    ASSERT_INT(0, files->remove(NULL, folder, "b"));
    files->close(NULL, folder);
    room_leave(&room);
}

TEST(file_calls, give_the_number_of_what_went_wrong)
{
    const struct pdr__files *files = pdr__files_system();
    struct pdr__file_info info;
    struct room room;
    size_t got = 7;
    char byte = 0;
    int folder = -1, file = -1;

    room_enter(&room);
    folder = open_room(&room);
    ASSERT_INT(ENOENT, files->open(NULL, &file, folder, "a", PDR_FILE_READ));
    ASSERT_INT(ENOENT, files->rename(NULL, folder, "a", "b"));
    ASSERT_INT(ENOENT, files->remove(NULL, folder, "a"));
    ASSERT_INT(ENOTDIR, files->look(NULL, &info, -1, "a") == EBADF
                            ? ENOTDIR
                            : files->look(NULL, &info, -1, "a"));
    ASSERT_INT(EBADF, files->measure(NULL, &info, -1));
    ASSERT_INT(EBADF, files->read(NULL, &got, -1, &byte, 1, 0));
    ASSERT_SIZE(0, got);
    ASSERT_INT(EBADF, files->write(NULL, -1, "x", 1));
    ASSERT_INT(EBADF, files->cut(NULL, -1, 0));
    ASSERT_INT(EBADF, files->sync(NULL, -1));
    ASSERT_INT(EBADF, files->lock(NULL, -1));
    ASSERT_INT(EBADF, files->list(NULL, -1, NULL, NULL));
    room_put_c(&room, "a", "x");
    ASSERT_INT(EEXIST, files->open(NULL, &file, folder, "a", PDR_FILE_CREATE));
    files->close(NULL, folder);
    room_leave(&room);
}

TEST(file_calls, follow_no_link_and_wait_for_no_pipe)
{
    const struct pdr__files *files = pdr__files_system();
    struct pdr__file_info info;
    struct room room;
    int folder = -1, file = -1;

    room_enter(&room);
    folder = open_room(&room);
    room_put_c(&room, "a", "x");
    ASSERT_INT(0, symlinkat("a", folder, "link"));
    ASSERT_INT(0, mkfifoat(folder, "pipe", 0600));
    ASSERT_INT(ELOOP, files->open(NULL, &file, folder, "link", PDR_FILE_READ));
    ASSERT_INT(ELOOP, files->open(NULL, &file, folder, "link", PDR_FILE_GROW));
    ASSERT_INT(0, files->look(NULL, &info, folder, "link"));
    ASSERT_INT(PDR_FILE_LINK, info.kind);
    ASSERT_INT(0, files->open(NULL, &file, folder, "pipe", PDR_FILE_READ));
    ASSERT_INT(0, files->measure(NULL, &info, file));
    ASSERT_INT(PDR_FILE_OTHER, info.kind);
    files->close(NULL, file);
    files->close(NULL, folder);
    room_leave(&room);
}

static int count_to(const char *name, void *arg)
{
    int *left = arg;

    ASSERT(name[0] == 'a' || name[0] == 'b');
    return --*left == 0 ? 77 : 0;
}

TEST(file_list, gives_each_name_until_it_is_told_to_stop)
{
    const struct pdr__files *files = pdr__files_system();
    struct room room;
    int folder = -1, left = 5;

    room_enter(&room);
    folder = open_room(&room);
    room_put_c(&room, "a", "x");
    room_put_c(&room, "b", "x");
    ASSERT_INT(0, files->list(NULL, folder, count_to, &left));
    ASSERT_INT(3, left);
    left = 1;
    ASSERT_INT(77, files->list(NULL, folder, count_to, &left));
    files->close(NULL, folder);
    room_leave(&room);
}

TEST(file_failed, says_what_which_and_why)
{
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EIO, pdr__file_failed(&err, ENOSPC, "write", "a.json"));
    ASSERT_STR("file_failed", err.reason);
    ASSERT_INT(ENOSPC, err.sys);
    ASSERT_STR("cannot write 'a.json': No space left on device", err.message);
    ASSERT_RC(PDR_EINVALID, pdr__file_failed(&err, ELOOP, "open", "a.json"));
    ASSERT_STR("file_link", err.reason);
    ASSERT_RC(PDR_EIO, pdr__file_failed(NULL, EIO, "open", "a.json"));
}
