/* Stores of this version and of older ones hold the sample. */
#include "store_sample.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "room.h"

/* A file of tests/data/store, copied so that a test may change it. */
static void copy_in(const struct room *room, const char *name)
{
    char *bytes = NULL;
    size_t len = 0;
    struct room data;

    snprintf(data.path, sizeof(data.path), "%s/store", test_data_folder());
    bytes = room_get(&data, name, &len);
    assert_non_null(bytes);
    room_put(room, name, pdr_str_n(bytes, len));
    free(bytes);
    ASSERT_INT(0, chmod(room_path(room, name), 0600));
}

static pdr_store *open_in(const struct room *room, const char *rest)
{
    char uri[600];
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    snprintf(uri, sizeof(uri), "sqlite:%s", room_path(room, rest));
    if (pdr_store_open(&store, uri, &err) != PDR_OK)
        fail_msg("%s: %s", uri, err.message);
    return store;
}

/* Every read of an old version works, and nothing else. */
static void check_old(const struct room *room, const char *rest)
{
    char more[720], uri[1000];
    pdr_store *store = NULL;
    pdr_store_info info;
    pdr_err err = PDR_ERR_INIT;

    snprintf(more, sizeof(more), "%s%smode=ro", rest,
             strchr(rest, '?') != NULL ? "&" : "?");
    store = open_in(room, more);
    store_sample_check(store);
    ASSERT_RC(PDR_OK, pdr_store_info_get(&info, store, &err));
    ASSERT(info.schema < 3);
    ASSERT_SIZE(0, info.unseen);
    pdr_store_close(store);
    snprintf(uri, sizeof(uri), "sqlite:%s", room_path(room, rest));
    ASSERT_RC(PDR_EVERSION, pdr_store_open(&store, uri, &err));
    ASSERT_STR("store_version", err.reason);
    assert_non_null(strstr(err.message,
                           ", this library writes version 3; bring it there "
                           "with 'perdure store migrate FILE' or "
                           "pdr_store_migrate(), or read it with mode=ro"));
}

static void check_and_go_on(const struct room *room, const char *rest)
{
    pdr_store *store = open_in(room, rest);

    store_sample_check(store);
    store_sample_go_on(store);
    ASSERT_RC(PDR_OK, pdr_store_verify(NULL, store, NULL, NULL, NULL, NULL));
    pdr_store_close(store);
}

/* Read as it was written; no writer takes it before it was migrated; and then
 * it goes on. */
static void check_version(const char *file, const char *key, uint32_t version)
{
    struct room room;
    char rest[700], uri[1000];
    pdr_migrate_report report;
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    copy_in(&room, file);
    copy_in(&room, "key");
    snprintf(rest, sizeof(rest), key != NULL ? "%s?key=%s/%s" : "%s", file,
             room.path, key);
    check_old(&room, rest);
    if (key != NULL) {
        ASSERT_RC(PDR_EDENIED,
                  pdr_store_open(&store, room_path(&room, file), &err));
        ASSERT_STR("wrong_key", err.reason);
    }
    snprintf(uri, sizeof(uri), "sqlite:%s", room_path(&room, rest));
    ASSERT_RC(PDR_OK, pdr_store_migrate(&report, uri, NULL));
    ASSERT_INT(version, report.from);
    ASSERT_INT(3, report.to);
    check_and_go_on(&room, rest);
    room_leave(&room);
}

TEST(store_of_version_1, is_read_and_goes_on_when_it_was_migrated)
{
    check_version("version-1.db", NULL, 1);
    check_version("version-1-keyed.db", "key", 1);
}

TEST(store_of_version_2, is_read_and_goes_on_when_it_was_migrated)
{
    check_version("version-2.db", NULL, 2);
    check_version("version-2-keyed.db", "key", 2);
}

TEST(store_of_version_3, reads_as_it_was_written_and_goes_on)
{
    struct room room;
    char rest[600];

    room_enter(&room);
    copy_in(&room, "version-3.db");
    copy_in(&room, "version-3-keyed.db");
    copy_in(&room, "key");
    check_and_go_on(&room, "version-3.db");
    snprintf(rest, sizeof(rest), "version-3-keyed.db?key=%s/key", room.path);
    check_and_go_on(&room, rest);
    room_leave(&room);
}

TEST(store_of_today, holds_the_sample)
{
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    store = open_in(&room, "new.db");
    store_sample_fill(store);
    store_sample_check(store);
    pdr_store_close(store);
    check_and_go_on(&room, "new.db");
    room_leave(&room);
}

TEST(store_in_memory, holds_the_sample)
{
    pdr_store *store = NULL;

    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    store_sample_fill(store);
    store_sample_check(store);
    store_sample_go_on(store);
    pdr_store_close(store);
}

/* The sample in FILE [KEY]; NULL after a message. */
static pdr_store *make(int argc, char **argv)
{
    char uri[1200];
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    snprintf(uri, sizeof(uri), argc > 1 ? "sqlite:%s?key=%s" : "sqlite:%s",
             argv[0], argc > 1 ? argv[1] : "");
    if (pdr_store_open(&store, uri, &err) != PDR_OK)
        fprintf(stderr, "%s\n", err.message);
    else
        store_sample_fill(store);
    return store;
}

/* store-sample FILE [KEY]: write the sample, to be kept in tests/data/store
 * when a version of the tables is new. */
TEST_ROLE(make)
{
    pdr_store *store = make(argc, argv);

    pdr_store_close(store);
    return store != NULL ? 0 : 1;
}

/* The same, and die: all of it stands in the log. */
TEST_ROLE(leave)
{
    _exit(make(argc, argv) != NULL ? 0 : 1);
}
