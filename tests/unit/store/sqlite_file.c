/* Which files a store may live in, and what is said of the others. */
#include "sqlite/file.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "room.h"
#include "sqlite/reader.h"

static void not_reached(const char *path, const char *reason)
{
    pdr_err err = PDR_ERR_INIT;
    char *real = NULL;
    bool found = false;
    pdr_rc rc = pdr__file_real_path(&real, &found, path, &err);

    ASSERT(rc != PDR_OK);
    ASSERT_STR(reason, err.reason);
    ASSERT_RC(rc, pdr__file_real_path(&real, &found, path, NULL));
    assert_null(real);
}

TEST(sqlite_file, says_why_a_path_cannot_be_reached)
{
    struct room room;
    pdr_err err = PDR_ERR_INIT;
    char path[5000], *real = NULL;
    bool found = false;

    room_enter(&room);
    room_put_c(&room, "plain", "x");
    not_reached(room_path(&room, "plain/s.db"), "no_store");
    not_reached(room_path(&room, "nowhere/s.db"), "no_store");
    ASSERT_RC(PDR_ENOTFOUND,
              pdr__file_real_path(&real, &found,
                                  room_path(&room, "nowhere/s.db"), &err));
    ASSERT(strstr(err.message, "make the folder first") != NULL);
    memset(path, 'x', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    not_reached(path, "file_failed");
    room_leave(&room);
}

TEST(sqlite_file, in_the_root_has_one_slash)
{
    char *real = NULL;
    bool found = true;

    ASSERT_RC(PDR_OK, pdr__file_real_path(&real, &found,
                                          "/perdure-is-not-here.db", NULL));
    ASSERT(!found);
    ASSERT_STR("/perdure-is-not-here.db", real);
    pdr__free(real);
}

TEST(sqlite_file, that_is_gone_is_told_wherever_it_is_looked_for)
{
    struct room room;
    pdr_err err = PDR_ERR_INIT;
    const char *path = NULL;

    room_enter(&room);
    path = room_path(&room, "gone.db");
    ASSERT_RC(PDR_ENOTFOUND, pdr__file_check(path, &err));
    ASSERT_STR("no_store", err.reason);
    ASSERT_RC(PDR_ENOTFOUND, pdr__file_check(path, NULL));
    ASSERT_SIZE(0, pdr__file_bytes(path));
    ASSERT(!pdr__file_is_on_read_only_system(path));
    room_leave(&room);
}

TEST(sqlite_file, is_made_once_and_then_stays)
{
    struct room room;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    ASSERT_RC(PDR_OK, pdr__file_make(room_path(&room, "s.db"), &err));
    room_put_c(&room, "s.db", "kept");
    ASSERT_RC(PDR_OK, pdr__file_make(room_path(&room, "s.db"), &err));
    room_assert(&room, "s.db", "kept");
    ASSERT_RC(PDR_ENOTFOUND,
              pdr__file_make(room_path(&room, "nowhere/s.db"), &err));
    ASSERT_STR("no_store", err.reason);
    room_leave(&room);
}

TEST(sqlite_file, with_a_key_that_is_no_file_is_refused_without_a_detail)
{
    struct room room;
    uint8_t *key = NULL;
    size_t len = 0;

    room_enter(&room);
    ASSERT_RC(PDR_ENOTFOUND,
              pdr__file_read_key(&key, &len, room_path(&room, "gone"), NULL));
    ASSERT_RC(PDR_EINVALID, pdr__file_read_key(&key, &len, room.path, NULL));
    assert_null(key);
    room_leave(&room);
}

/* The same inode on other devices is another file; of two readers the one that
 * is not this process is named. */
TEST(sqlite_pinned_by, tells_files_of_other_devices_apart)
{
    struct room room;
    struct stat file;
    char lines[600];
    unsigned a = 0, b = 0;

    room_enter(&room);
    room_put_c(&room, "shm", "x");
    ASSERT_INT(0, stat(room_path(&room, "shm"), &file));
    a = major(file.st_dev);
    b = minor(file.st_dev);
    snprintf(lines, sizeof(lines),
             "1: POSIX  ADVISORY  READ 11 %02x:%02x:%ju 124 124\n"
             "2: POSIX  ADVISORY  READ 12 %02x:%02x:%ju 124 124\n"
             "3: POSIX  ADVISORY  READ %d %02x:%02x:%ju 124 124\n"
             "4: POSIX  ADVISORY  READ 14 %02x:%02x:%ju 124 124\n"
             "5: POSIX  ADVISORY  READ 15 %02x:%02x:%ju 124 124\n",
             a + 1, b, (uintmax_t)file.st_ino, a, b + 1, (uintmax_t)file.st_ino,
             (int)getpid(), a, b, (uintmax_t)file.st_ino, a, b,
             (uintmax_t)file.st_ino, a, b, (uintmax_t)file.st_ino);
    room_put_c(&room, "locks", lines);
    {
        char shm[300];

        snprintf(shm, sizeof(shm), "%s", room_path(&room, "shm"));
        ASSERT_INT(14, pdr__sqlite_pinned_by(shm, room_path(&room, "locks")));
    }
    room_leave(&room);
}
