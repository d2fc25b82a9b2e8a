/*
 * store_copies_files.c - backups with a mistake: a program that copies the main
 * file, one that copies the log, too, one whose copy has its name from the
 * beginning, a disk that syncs nothing. Must fail: the harness of backups has
 * to catch each of them.
 */
#include "backup_harness.h"

#include <fcntl.h>
#include <unistd.h>

#include "sqlite/target.h"

#define ROUNDS 200 /* copies until one is caught, at most */

sqlite3_backup *__real_sqlite3_backup_init(sqlite3 *to, const char *to_name,
                                           sqlite3 *from,
                                           const char *from_name);
sqlite3_backup *__wrap_sqlite3_backup_init(sqlite3 *to, const char *to_name,
                                           sqlite3 *from,
                                           const char *from_name);
pdr_rc __real_pdr__target_place(struct pdr__target *target, pdr_err *err);
pdr_rc __wrap_pdr__target_place(struct pdr__target *target, pdr_err *err);

static bool is_named_at_once(void)
{
    return getenv("PERDURE_NAMED_AT_ONCE") != NULL;
}

/* The copy gets its name before anything is in it ... */
sqlite3_backup *__wrap_sqlite3_backup_init(sqlite3 *to, const char *to_name,
                                           sqlite3 *from, const char *from_name)
{
    const char *part = sqlite3_db_filename(to, "main");
    const char *end = strstr(part, "-unfinished");
    char path[600];

    if (is_named_at_once()) {
        snprintf(path, sizeof(path), "%.*s", (int)(end - part), part);
        ASSERT_INT(0, rename(part, path));
    }
    return __real_sqlite3_backup_init(to, to_name, from, from_name);
}

/* ... and not afterwards. */
pdr_rc __wrap_pdr__target_place(struct pdr__target *target, pdr_err *err)
{
    if (!is_named_at_once())
        return __real_pdr__target_place(target, err);
    (void)sqlite3_close(target->db);
    target->db = NULL;
    return PDR_OK;
}

static bool copy_file(const char *from, const char *to, const char *suffix)
{
    char name[700], bytes[65536];
    int in = -1, out = -1;
    ssize_t got = 0;

    snprintf(name, sizeof(name), "%s%s", from, suffix);
    in = open(name, O_RDONLY | O_CLOEXEC);
    snprintf(name, sizeof(name), "%s%s", to, suffix);
    (void)unlink(name);
    out = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ASSERT(in >= 0 && out >= 0);
    while ((got = read(in, bytes, sizeof(bytes))) > 0)
        ASSERT_INT(got, write(out, bytes, (size_t)got));
    close(in);
    close(out);
    return true;
}

static bool copy_main(struct backup_harness *harness, const char *from,
                      const char *to, size_t round)
{
    (void)harness;
    (void)round;
    return copy_file(from, to, "");
}

static bool copy_both(struct backup_harness *harness, const char *from,
                      const char *to, size_t round)
{
    (void)harness;
    (void)round;
    return copy_file(from, to, "") && copy_file(from, to, "-wal");
}

static size_t mistakes_of_copies(size_t rounds, backup_copy_fn copy)
{
    struct backup_harness harness;
    size_t count = 0;

    backup_moments(&harness, rounds, copy);
    backup_print(&harness, "beside writers");
    count = harness.mistakes;
    backup_dispose(&harness);
    return count;
}

static size_t mistakes_of_kills(void)
{
    struct backup_harness harness;
    size_t count = 0;

    backup_init(&harness);
    backup_kill(&harness, 50);
    backup_print(&harness, "killed");
    count = harness.mistakes;
    backup_dispose(&harness);
    return count;
}

static size_t mistakes_of_power(bool swallow)
{
    struct backup_harness harness;
    size_t count = 0;

    backup_init(&harness);
    backup_lose_power(&harness, swallow);
    backup_print(&harness, "power loss");
    count = harness.mistakes;
    backup_dispose(&harness);
    return count;
}

TEST(backup_harness, does_not_see_what_is_wrong_with_copies)
{
    size_t caught = 0;

    /* If good code does not pass, this failure would prove nothing. */
    if (mistakes_of_copies(3, backup_copy) > 0 || mistakes_of_kills() > 0 ||
        mistakes_of_power(false) > 0)
        return;
    caught += mistakes_of_copies(ROUNDS, copy_main) > 0;
    caught += mistakes_of_copies(ROUNDS, copy_both) > 0;
    caught += mistakes_of_power(true) > 0;
    setenv("PERDURE_NAMED_AT_ONCE", "1", 1);
    caught += mistakes_of_kills() > 0;
    unsetenv("PERDURE_NAMED_AT_ONCE");
    if (caught > 0)
        fail_msg("caught %zu of 4", caught);
}
