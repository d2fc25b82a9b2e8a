/* What the children of a process have of the stores that it has open. */
#include "sqlite_room.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "processes.h"

static int wait_for(pid_t child)
{
    int status = 0;

    if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return 9;
    return WEXITSTATUS(status);
}

/* --- files --------------------------------------------------------------- */

#define FORKS 3000

struct opener {
    const struct room *room;
    atomic_bool stop;
};

static void *open_and_close(void *arg)
{
    struct opener *opener = arg;

    while (!atomic_load(&opener->stop))
        pdr_store_close(store_open(opener->room, ""));
    return NULL;
}

/* Has this process a file with locks open? One that is only read has none. */
static int has_side_file(void)
{
    DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry = NULL;
    int found = 0;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        char name[600];
        ssize_t len =
            readlinkat(dirfd(folder), entry->d_name, name, sizeof(name) - 1);

        name[len > 0 ? len : 0] = '\0';
        if (len > 5 && strcmp(name + len - 5, "-lock") == 0 &&
            (fcntl((int)strtol(entry->d_name, NULL, 10), F_GETFL) &
             O_ACCMODE) == O_RDWR)
            found = 1;
    }
    return found;
}

/* A thread opens and closes a store all the time, so that some of the forks
 * come in the middle of that. */
TEST(sqlite_opened, leaves_no_child_a_file_with_locks)
{
    struct room room;
    struct opener opener = {.room = &room};
    pthread_t thread;
    int kept = 0;

    room_enter(&room);
    pdr_store_close(store_open(&room, ""));
    ASSERT_INT(0, pthread_create(&thread, NULL, open_and_close, &opener));
    for (size_t i = 0, forks = test_times(FORKS, FORKS / 10); i < forks; i++) {
        int status = 0;
        pid_t child = fork();

        if (child == 0)
            _exit(has_side_file());
        ASSERT(waitpid(child, &status, 0) == child && WIFEXITED(status));
        kept += WEXITSTATUS(status);
    }
    atomic_store(&opener.stop, true);
    ASSERT_INT(0, pthread_join(thread, NULL));
    ASSERT_INT(0, kept);
    room_leave(&room);
}

/* --- other stores -------------------------------------------------------- */

/* The number of what went wrong; 0: nothing. */
static int use_others(const struct room *room, pdr_store *inherited)
{
    pdr_store *own = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_store_open(&own, store_uri(room, "s.db", ""), &err) !=
            PDR_EMISUSE ||
        strcmp(err.reason, "after_fork") != 0)
        return 1;
    if (pdr_store_open(&own, store_uri(room, "other.db", ""), NULL) != PDR_OK ||
        append_one(own, "a", 0, NULL, "{}", NULL) != PDR_OK)
        return 2;
    pdr_store_close(own);
    pdr_store_close(inherited); /* which the parent goes on to use */
    return 0;
}

TEST(sqlite_opened, keeps_a_child_from_no_other_store)
{
    struct room room;
    pdr_store *store = NULL;
    pid_t child = 0;

    room_enter(&room);
    store = store_open(&room, "");
    child = process_fork();
    if (child == 0)
        process_leave(use_others(&room, store));
    ASSERT_INT(0, wait_for(child));
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, NULL, "{}", NULL));
    pdr_store_close(store);
    room_leave(&room);
}

/* --- numbers of processes ------------------------------------------------ */

#define NOT_ALLOWED 77

/* The first process of a container of its own, like its parent. */
static int be_child(const struct room *room, pdr_store *inherited)
{
    const pdr_query query = {.what = PDR_READ_ALL};
    pdr_store *own = NULL;
    pdr_page *page = NULL;

    if (getpid() != 1)
        return 1;
    if (pdr_store_read(&page, inherited, &query, NULL) != PDR_EMISUSE)
        return 2;
    if (pdr_store_open(&own, store_uri(room, "s.db", ""), NULL) != PDR_EMISUSE)
        return 3;
    pdr_store_close(inherited);
    return 0;
}

static int be_parent(const struct room *room)
{
    pdr_store *store = NULL;
    pid_t child = 0;

    if (getpid() != 1)
        return 4;
    store = store_open(room, "");
    if (unshare(CLONE_NEWPID) != 0)
        return NOT_ALLOWED;
    child = process_fork();
    if (child == 0)
        process_leave(be_child(room, store));
    return wait_for(child);
}

TEST(sqlite_opened, knows_a_child_that_has_the_number_of_its_parent)
{
    struct room room;
    pid_t child = 0;
    int status = 0;

    room_enter(&room);
    child = process_fork();
    if (child == 0) {
        pid_t parent = 0;

        if (unshare(CLONE_NEWPID) != 0)
            _exit(NOT_ALLOWED);
        parent = process_fork();
        if (parent == 0)
            _exit(be_parent(&room));
        _exit(wait_for(parent));
    }
    status = wait_for(child);
    room_leave(&room);
    if (status == NOT_ALLOWED)
        test_skip("this user may not make a container");
    ASSERT_INT(0, status);
}
