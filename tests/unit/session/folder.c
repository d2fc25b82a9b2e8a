/* Folders of session files: what goes wrong, and what must not. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder_text.h"

/* The old name of the first key is the new name of the second. */
#define OLD_KEY   "~{^j7p"
#define NEW_KEY   "+f@$v"
#define TWO_NAMES "~session-fnteajdw.json"
/* The new name of the first one. */
#define FRESH_NAME "~session-pz5v42rxoa.json"

#define ONE  FILE_OF("a", "{\"k\":1}")
#define TWO  FILE_OF("a", "{\"k\":2}")
#define NANS FILE_OF("a", "{\"k\":NaN}")

TEST(folder_open, says_what_is_wrong_with_the_path)
{
    struct room room;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;
    char path[300];

    room_enter(&room);
    snprintf(path, sizeof(path), "%s/new", room.path);
    ASSERT_RC(PDR_ENOTFOUND,
              pdr_folder_open(&folder, path, PDR_FOLDER_JSON, false, &err));
    ASSERT_STR("no_folder", err.reason);
    ASSERT(folder == NULL);
    ASSERT_RC(PDR_OK,
              pdr_folder_open(&folder, path, PDR_FOLDER_JSON, true, &err));
    pdr_folder_close(folder);
    pdr_folder_close(NULL);
    room_put_c(&room, "file", "");
    snprintf(path, sizeof(path), "%s/file", room.path);
    ASSERT_RC(PDR_ENOTFOUND,
              pdr_folder_open(&folder, path, PDR_FOLDER_JSON, false, &err));
    ASSERT_INT(0, symlink(room.path, room_path(&room, "link")));
    snprintf(path, sizeof(path), "%s/link/", room.path);
    ASSERT_RC(PDR_EINVALID,
              pdr_folder_open(&folder, path, PDR_FOLDER_JSON, true, &err));
    ASSERT_STR("file_link", err.reason);
    room_leave(&room);
}

TEST(folder_open, passes_on_what_the_system_says)
{
    struct room room;
    struct trick trick;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    trick_init(&trick);
    trick_arm(&trick, 1, false, EACCES);
    ASSERT_RC(PDR_EIO,
              pdr__folder_open_with(&folder, room.path, PDR_FOLDER_JSON, false,
                                    &trick.table, &err));
    ASSERT_STR("file_failed", err.reason);
    ASSERT_INT(EACCES, err.sys);
    ASSERT(folder == NULL);
    room_leave(&room);
}

/* --- get ----------------------------------------------------------------- */

TEST(folder_get, gives_nothing_for_what_is_not_there)
{
    struct room room;
    pdr_folder *folder = NULL;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    assert_refused(PDR_ENOTFOUND, "no_session", "", folder, "a");
    assert_refused(PDR_EINVALID, "folder_key", "", folder, "");
    assert_refused(PDR_EINVALID, "folder_key", "", folder, "\xFF");
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_get, refuses_documents_that_are_no_sessions_and_keeps_them)
{
    static const struct {
        const char *text, *reason, *path;
    } cases[] = {
        {"null", "envelope", ""},
        {"[]", "envelope", ""},
        {"{}", "envelope", "/type"},
        {"{\"type\":\"Session\",\"session_id\":\"a\","
         "\"service_session_id\":null,\"state\":{}}",
         "envelope", "/type"},
        {"{\"type\":\"session\",\"session_id\":7,"
         "\"service_session_id\":null,\"state\":{}}",
         "envelope", "/session_id"},
        {"{\"type\":\"session\",\"session_id\":\"a\",\"state\":{}}", "envelope",
         "/service_session_id"},
        {"{\"type\":\"session\",\"session_id\":\"a\","
         "\"service_session_id\":5,\"state\":{}}",
         "envelope", "/service_session_id"},
        {"{\"type\":\"session\",\"session_id\":\"a\","
         "\"service_session_id\":null}",
         "envelope", "/state"},
        {"{\"type\":\"session\",\"session_id\":\"a\","
         "\"service_session_id\":null,\"state\":null}",
         "envelope", "/state"},
        {"{\"type\":\"session\",\"session_id\":\"a\","
         "\"service_session_id\":null,\"state\":{},\"version\":null}",
         "envelope", "/version"},
        {"{\"type\":\"session\",\"session_id\":\"a\","
         "\"service_session_id\":null,\"state\":{},\"version\":\"2.0\"}",
         "session_version", "/version"},
        {"{\"type\":\"session\",\"session_id\":\"a\","
         "\"service_session_id\":null,\"state\":{},\"version\":\"new\"}",
         "session_version", "/version"},
        {"{\"type\":\"session\",\"session_id\":\"a\","
         "\"service_session_id\":null,\"state\":{\"k\":\"\xFF\"}}",
         "bad_utf8", "/state/k"},
    };
    struct room room;
    pdr_folder *folder = NULL;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        pdr_rc rc = strcmp(cases[i].reason, "session_version") == 0
                        ? PDR_EVERSION
                        : PDR_EINVALID;
        room_put_c(&room, "a.json", cases[i].text);
        assert_refused(rc, cases[i].reason, cases[i].path, folder, "a");
        room_assert(&room, "a.json", cases[i].text);
    }
    ASSERT_SIZE(0, room_count(NULL, &room, ".corrupt"));
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_set_aside, takes_what_is_no_document_of_the_format)
{
    static const char *const texts[] = {
        "",
        "{",
        "{} x",
        "\xEF\xBB\xBF{}",
        "{\"a\":[1,]}",
        "{/**/}",
        "{\"a\":\"\\q\"}",
        "{\"a\" 1}",
        "{\"a\":01}",
    };
    struct room room;
    pdr_folder *folder = NULL;
    char aside[256];

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    for (size_t i = 0; i < PDR_COUNT(texts); i++) {
        room_put_c(&room, "a.json", texts[i]);
        assert_refused(PDR_ECORRUPT, "damaged", "", folder, "a");
        room_assert(&room, "a.json", texts[i]);
        assert_set_aside(aside, &room, folder, "a");
        ASSERT_SIZE(strlen(".a.json.") + 32 + strlen(".corrupt"),
                    strlen(aside));
        room_assert(&room, aside, texts[i]);
        ASSERT_INT(0, unlink(room_path(&room, aside)));
    }
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_set_aside, leaves_every_other_file_alone)
{
    static const char *const texts[] = {
        ONE,
        FILE_OF("a", "{\"k\":NaN}"),
        "[]",
        "{\"type\":\"session\",\"session_id\":\"a\",\"state\":\"\xff\"}",
    };
    struct room room;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    for (size_t i = 0; i < PDR_COUNT(texts); i++) {
        room_put_c(&room, "a.json", texts[i]);
        ASSERT_RC(PDR_OK, pdr_folder_set_aside(folder, pdr_str_c("a"), &err));
        room_assert(&room, "a.json", texts[i]);
    }
    ASSERT_RC(PDR_OK, pdr_folder_set_aside(folder, pdr_str_c("b"), &err));
    ASSERT_RC(PDR_EINVALID, pdr_folder_set_aside(folder, pdr_str_c(""), &err));
    ASSERT_STR("folder_key", err.reason);
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_set, sets_a_damaged_file_aside_whatever_was_expected)
{
    struct room room;
    pdr_folder *folder = NULL;
    pdr_generation read = {.exists = true};
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    room_put_c(&room, "a.json", "{\"a\":[1,]}");
    ASSERT_RC(PDR_ECORRUPT, folder_put(folder, "a", ONE, &read, &err));
    ASSERT_STR("quarantined", err.reason);
    ASSERT_INT(8, err.offset);
    ASSERT(strstr(err.message, "'a.json' is damaged and was renamed to "
                               "'.a.json.") != NULL);
    ASSERT_RC(PDR_ECONFLICT, folder_put(folder, "a", ONE, &read, &err));
    ASSERT_RC(PDR_OK, folder_put(folder, "a", ONE, NULL, &err));
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_set_aside, keeps_damaged_files_where_they_are_beyond_a_hundred)
{
    struct room room;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;
    char name[100];

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    for (int i = 0; i < 99; i++) {
        snprintf(name, sizeof(name), ".x.json.%032x.corrupt", i);
        room_put_c(&room, name, "");
    }
    room_put_c(&room, ".x.json.zzz.corrupt", ""); /* somebody else's */
    room_put_c(&room, "a.json", "{");
    room_put_c(&room, "b.json", "{");
    ASSERT_RC(PDR_ECORRUPT, pdr_folder_set_aside(folder, pdr_str_c("a"), &err));
    ASSERT_STR("quarantined", err.reason);
    ASSERT_RC(PDR_ECORRUPT, pdr_folder_set_aside(folder, pdr_str_c("b"), &err));
    ASSERT_STR("quarantine_full", err.reason);
    room_assert(&room, "b.json", "{");
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_get, keeps_files_with_values_that_it_does_not_take)
{
    static const struct {
        const char *tail;
        size_t len;
        const char *reason;
    } cases[] = {
        {"\xc4\x02"
         "ab",
         4, "binary_data"},
        {"\xd6\xff\0\0\0\0", 6, "timestamp"},
        {"\xd4\x05\x00", 3, "unknown_extension"},
        {"\xd4\x01\x78", 3, "bad_number"},
        {"\xa1\xff", 2, "bad_utf8"},
    };
    static const char head[] =
        "\x84\xa4type\xa7session\xaasession_id\xa1v\xb2service_session_id\xc0"
        "\xa5state\x81\xa1k";
    struct room room;
    pdr_folder *folder = NULL;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_MSGPACK, NULL);
    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        char file[100];
        size_t len = sizeof(head) - 1;
        memcpy(file, head, len);
        memcpy(file + len, cases[i].tail, cases[i].len);
        room_put(&room, "v.msgpack", pdr_str_n(file, len + cases[i].len));
        assert_refused(PDR_EINVALID, cases[i].reason, "/state/k", folder, "v");
        ASSERT(room_has(&room, "v.msgpack"));
    }
    ASSERT_SIZE(0, room_count(NULL, &room, ".corrupt"));
    room_put(&room, "v.msgpack", pdr_str_n("\x81\xc1", 2));
    assert_refused(PDR_ECORRUPT, "damaged", "", folder, "v");
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_get, leaves_files_of_messages_alone)
{
    struct room room;
    pdr_folder *folder = NULL;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_MSGPACK, NULL);
    room_put(&room, "a.msgpack", pdr_str_n("\0\0\0\x01\x80", 5));
    assert_refused(PDR_EINVALID, "envelope", "", folder, "a");
    ASSERT(room_has(&room, "a.msgpack"));
    assert_list("", folder);
    room_put(&room, "a.msgpack", pdr_str_n("\0\0\0\x03\xde\0\0", 7));
    assert_refused(PDR_EINVALID, "envelope", "", folder, "a");
    room_put(&room, "a.msgpack", pdr_str_n("\0\0\0\x01\x05", 5));
    assert_refused(PDR_ECORRUPT, "damaged", "", folder, "a");
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_set_aside, keeps_the_file_where_there_is_no_lock_to_be_had)
{
    struct room room;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    room_put_c(&room, "a.json", "{");
    /* As in a folder that can only be read. */
    ASSERT_INT(0, mkdir(room_path(&room, ".perdure.lock"), 0700));
    assert_refused(PDR_ECORRUPT, "damaged", "", folder, "a");
    ASSERT_RC(PDR_EIO, pdr_folder_set_aside(folder, pdr_str_c("a"), &err));
    ASSERT_STR("file_failed", err.reason);
    room_assert(&room, "a.json", "{");
    ASSERT_INT(0, rmdir(room_path(&room, ".perdure.lock")));
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_list, tells_of_a_file_that_a_crash_left_full_of_zeros)
{
    struct room room;
    pdr_folder *folder = NULL;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_MSGPACK, NULL);
    room_put(&room, "a.msgpack", pdr_str_n("\0\0\0\0\0\0\0\0", 8));
    assert_list("session a.msgpack a;\n", folder);
    assert_refused(PDR_ECORRUPT, "damaged", "", folder, "a");
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_set, leaves_files_of_messages_alone)
{
    struct room room;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_MSGPACK, NULL);
    room_put(&room, "a.msgpack", pdr_str_n("\0\0\0\x01\x80", 5));
    ASSERT_RC(PDR_EINVALID, folder_put(folder, "a", ONE, NULL, &err));
    ASSERT_STR("envelope", err.reason);
    ASSERT_RC(PDR_EINVALID,
              pdr_folder_remove(folder, pdr_str_c("a"), NULL, &err));
    ASSERT_STR("envelope", err.reason);
    ASSERT(room_has(&room, "a.msgpack"));
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_get, tells_what_is_strange)
{
    struct room room;
    pdr_folder *folder = NULL;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    room_put_c(&room, "a.json", ONE);
    assert_told("", folder, "a");
    room_put_c(&room, "a.json",
               "{\"type\":\"session\",\"session_id\":\"a\","
               "\"service_session_id\":null,\"state\":{\"k\":[1,NaN,"
               "{\"x/y\":-Infinity}],\"t\":\"\\udc00\"},\"version\":\"1.7\"}");
    assert_told("newer-version /version;bare-token /state/k/1;"
                "bare-token /state/k/2/x~1y;lone-surrogate /state/t;",
                folder, "a");
    room_put_c(&room, "Abc.json", FILE_OF("Abc", "{}"));
    assert_told("old-name ;", folder, "Abc");
    room_put_c(&room, "~session-ifrgg.json", FILE_OF("Abc", "{}"));
    assert_told("superseded-file ;", folder, "Abc");
    pdr_folder_close(folder);
    room_leave(&room);
}

static pdr_rc refuse(const pdr_doc_finding *finding, pdr_err *err, void *arg)
{
    (void)finding;
    (void)err;
    (void)arg;
    return PDR_ECANCELLED;
}

TEST(folder_get, ends_when_the_one_who_is_told_says_so)
{
    static const char newer[] =
        "{\"type\":\"session\",\"session_id\":\"a\",\"service_session_id\":"
        "null,\"state\":{},\"version\":\"1.1\"}";
    const char *const texts[] = {FILE_OF("a", "{\"k\":NaN}"),
                                 FILE_OF("a", "{\"k\":\"\\ud800\"}"), newer};
    struct room room;
    pdr_folder *folder = NULL;
    pdr_session *session = NULL;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    for (size_t i = 0; i < PDR_COUNT(texts); i++) {
        room_put_c(&room, "a.json", texts[i]);
        ASSERT_RC(PDR_ECANCELLED,
                  pdr_folder_get(&session, NULL, folder, pdr_str_c("a"), NULL,
                                 refuse, NULL));
        ASSERT(session == NULL);
    }
    room_put_c(&room, "Abc.json", FILE_OF("Abc", "{}"));
    ASSERT_RC(PDR_ECANCELLED,
              pdr_folder_get(&session, NULL, folder, pdr_str_c("Abc"), NULL,
                             refuse, NULL));
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_get, opens_nothing_but_regular_files)
{
    struct room room;
    pdr_folder *folder = NULL;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    ASSERT_INT(0, mkfifo(room_path(&room, "a.json"), 0600));
    assert_refused(PDR_EIO, "file_failed", "", folder, "a");
    ASSERT_INT(0, unlink(room_path(&room, "a.json")));
    room_put_c(&room, "a.json", ONE);
    ASSERT_INT(0, symlink("a.json", room_path(&room, "Abc.json")));
    assert_refused(PDR_EINVALID, "file_link", "", folder, "Abc");
    /* Beside a file of the new name it is in nobody's way. */
    room_put_c(&room, "~session-ifrgg.json", FILE_OF("Abc", "{}"));
    assert_folder(FILE_OF("Abc", "{}"), folder, "Abc");
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_get, refuses_files_beyond_four_gibibytes)
{
    struct room room;
    pdr_folder *folder = NULL;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    room_put_c(&room, "a.json", "");
    ASSERT_INT(0, truncate(room_path(&room, "a.json"), 4294967296)); /* holes */
    assert_refused(PDR_ELIMIT, "too_large", "", folder, "a");
    ASSERT(room_has(&room, "a.json"));
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_names, say_when_a_call_fails_while_twins_are_told_apart)
{
    struct room room;
    struct trick trick;
    pdr_folder *folder = NULL;

    room_enter(&room);
    room_put_c(&room, "Abc.json", ONE);
    trick_init(&trick);
    trick.fold = true;
    folder = folder_of(&room, PDR_FOLDER_JSON, &trick);
    for (size_t at = 1; at <= 3; at++) { /* name, other case, list */
        trick_arm(&trick, at, false, EIO);
        assert_refused(PDR_EIO, "file_failed", "", folder, "abc");
    }
    trick_arm(&trick, 0, false, 0);
    assert_refused(PDR_EINVALID, "key_collision", "", folder, "abc");
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST_OOM(folder_names, clean_up_where_twins_are_told_apart)
{
    struct room room;
    struct trick trick;
    pdr_folder *folder = NULL;
    pdr_buf text = PDR_BUF_INIT(4096);
    pdr_rc rc = PDR_OK;

    room_enter(&room);
    room_put_c(&room, "~session-ySA.json", ONE);
    trick_init(&trick);
    trick.fold = true;
    rc = pdr__folder_open_with(&folder, room.path, PDR_FOLDER_JSON, false,
                               &trick.table, NULL);
    if (rc == PDR_OK)
        rc = folder_text(&text, folder, "a ", NULL);
    ASSERT(rc == PDR_EINVALID || rc == PDR_ENOMEM);
    pdr_buf_dispose(&text);
    pdr_folder_close(folder);
    room_leave(&room);
}

/* --- two keys, one name -------------------------------------------------- */

TEST(folder_names, take_an_old_file_only_if_it_says_whose_it_is)
{
    struct room room;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    room_put_c(&room, TWO_NAMES, FILE_OF(OLD_KEY, "{}"));
    assert_folder(FILE_OF(OLD_KEY, "{}"), folder, OLD_KEY);
    assert_list("session " TWO_NAMES " " OLD_KEY " old;\n", folder);
    room_put_c(&room, TWO_NAMES, FILE_OF(NEW_KEY, "{}"));
    assert_list("session " TWO_NAMES " " NEW_KEY ";\n", folder);
    assert_folder(FILE_OF(NEW_KEY, "{}"), folder, NEW_KEY);
    assert_refused(PDR_EINVALID, "key_collision", "", folder, OLD_KEY);
    ASSERT_RC(PDR_EINVALID, folder_put(folder, OLD_KEY, ONE, NULL, &err));
    ASSERT_STR("key_collision", err.reason);
    ASSERT(strstr(err.message, "'" OLD_KEY "'") != NULL);
    ASSERT(strstr(err.message, "'" NEW_KEY "'") != NULL);
    ASSERT_RC(PDR_EINVALID,
              pdr_folder_remove(folder, pdr_str_c(OLD_KEY), NULL, &err));
    ASSERT_STR("key_collision", err.reason);
    room_put_c(&room, TWO_NAMES, "{"); /* damaged: it is not ours to rename */
    assert_refused(PDR_EINVALID, "key_collision", "", folder, OLD_KEY);
    ASSERT_RC(PDR_EINVALID,
              pdr_folder_set_aside(folder, pdr_str_c(OLD_KEY), &err));
    room_assert(&room, TWO_NAMES, "{");
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_names, put_a_damaged_file_aside_whatever_stands_beside_it)
{
    struct room room;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    ASSERT_RC(PDR_OK,
              folder_put(folder, OLD_KEY, FILE_OF(OLD_KEY, "{}"), NULL, &err));
    room_put_c(&room, TWO_NAMES, FILE_OF(NEW_KEY, "{}"));
    room_put_c(&room, FRESH_NAME, "{");
    assert_refused(PDR_ECORRUPT, "damaged", "", folder, OLD_KEY);
    ASSERT_RC(PDR_ECORRUPT,
              pdr_folder_set_aside(folder, pdr_str_c(OLD_KEY), &err));
    ASSERT(!room_has(&room, FRESH_NAME));
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_names, leave_an_old_file_to_the_key_that_it_names)
{
    struct room room;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    room_put_c(&room, TWO_NAMES, FILE_OF(OLD_KEY, "{}"));
    assert_refused(PDR_EINVALID, "key_collision", "", folder, NEW_KEY);
    ASSERT_RC(PDR_EINVALID,
              folder_put(folder, NEW_KEY, FILE_OF(NEW_KEY, "{}"), NULL, &err));
    ASSERT_STR("key_collision", err.reason);
    ASSERT(strstr(err.message, "'" OLD_KEY "'") != NULL);
    ASSERT(strstr(err.message, "'" NEW_KEY "'") != NULL);
    ASSERT_RC(PDR_EINVALID,
              pdr_folder_remove(folder, pdr_str_c(NEW_KEY), NULL, &err));
    ASSERT_STR("key_collision", err.reason);
    assert_folder(FILE_OF(OLD_KEY, "{}"), folder, OLD_KEY);
    /* The id inside need not be the key. */
    room_put_c(&room, TWO_NAMES, FILE_OF("z", "{}"));
    assert_folder(FILE_OF("z", "{}"), folder, NEW_KEY);
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_names, move_an_old_file_out_of_the_way_of_its_twin)
{
    struct room room;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    room_put_c(&room, TWO_NAMES, FILE_OF(OLD_KEY, "{}"));
    ASSERT_RC(PDR_OK, folder_put(folder, OLD_KEY, FILE_OF(OLD_KEY, "{\"k\":1}"),
                                 NULL, &err));
    ASSERT(!room_has(&room, TWO_NAMES));
    ASSERT_RC(PDR_OK,
              folder_put(folder, NEW_KEY, FILE_OF(NEW_KEY, "{}"), NULL, &err));
    assert_folder(FILE_OF(OLD_KEY, "{\"k\":1}"), folder, OLD_KEY);
    assert_told("", folder, OLD_KEY); /* the other file is not superseded */
    ASSERT_RC(PDR_OK,
              pdr_folder_remove(folder, pdr_str_c(OLD_KEY), NULL, &err));
    assert_folder(FILE_OF(NEW_KEY, "{}"), folder, NEW_KEY);
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_remove, leaves_no_older_file_to_come_back)
{
    struct room room;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    room_put_c(&room, "Abc.json", FILE_OF("Abc", "{\"k\":0}"));
    room_put_c(&room, "~session-ifrgg.json", FILE_OF("Abc", "{\"k\":1}"));
    ASSERT_RC(PDR_OK, pdr_folder_remove(folder, pdr_str_c("Abc"), NULL, &err));
    assert_refused(PDR_ENOTFOUND, "no_session", "", folder, "Abc");
    /* The same where the old name is also that of another key. */
    ASSERT_RC(PDR_OK,
              folder_put(folder, OLD_KEY, FILE_OF(OLD_KEY, "{}"), NULL, &err));
    room_put_c(&room, TWO_NAMES, FILE_OF(OLD_KEY, "{}"));
    ASSERT_RC(PDR_OK,
              pdr_folder_remove(folder, pdr_str_c(OLD_KEY), NULL, &err));
    assert_list("", folder);
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_remove, compares_the_generation)
{
    struct room room;
    pdr_folder *folder = NULL;
    pdr_session *session = NULL;
    pdr_generation none = {0}, read;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    ASSERT_RC(PDR_OK, pdr_folder_remove(folder, pdr_str_c("a"), NULL, &err));
    ASSERT_RC(PDR_OK, pdr_folder_remove(folder, pdr_str_c("a"), &none, &err));
    room_put_c(&room, "a.json", ONE);
    ASSERT_RC(PDR_ECONFLICT,
              pdr_folder_remove(folder, pdr_str_c("a"), &none, &err));
    ASSERT_STR("generation_changed", err.reason);
    ASSERT_RC(PDR_OK, pdr_folder_get(&session, &read, folder, pdr_str_c("a"),
                                     &err, NULL, NULL));
    pdr_session_free(session);
    room_put_c(&room, "a.json", TWO);
    ASSERT_RC(PDR_ECONFLICT,
              pdr_folder_remove(folder, pdr_str_c("a"), &read, &err));
    room_put_c(&room, "a.json", ONE);
    ASSERT_RC(PDR_OK, pdr_folder_remove(folder, pdr_str_c("a"), &read, &err));
    ASSERT(!room_has(&room, "a.json"));
    ASSERT_RC(PDR_ECONFLICT,
              pdr_folder_remove(folder, pdr_str_c("a"), &read, &err));
    ASSERT_RC(PDR_EINVALID,
              pdr_folder_remove(folder, pdr_str_c(""), NULL, &err));
    pdr_folder_close(folder);
    room_leave(&room);
}

/* --- set ----------------------------------------------------------------- */

TEST(folder_set, writes_what_is_missing_and_the_version_last)
{
    struct room room;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    ASSERT_RC(PDR_OK, folder_put(folder, "a", "{\"session_id\":\"a\",\"x\":1}",
                                 NULL, &err));
    room_assert(
        &room, "a.json",
        "{\"session_id\":\"a\",\"x\":1,\"type\":\"session\","
        "\"service_session_id\":null,\"state\":{},\"version\":\"1.0\"}");
    ASSERT_RC(PDR_OK,
              folder_put(folder, "b",
                         "{\"type\":\"session\",\"session_id\":\"b\","
                         "\"service_session_id\":\"s\",\"state\":{\"k\":1.0},"
                         "\"perdure\":{\"version\":\"1.0.0\"}}",
                         NULL, &err));
    room_assert(&room, "b.json",
                "{\"type\":\"session\",\"session_id\":\"b\","
                "\"service_session_id\":\"s\",\"state\":{\"k\":1.0},"
                "\"version\":\"1.0\"}");
    pdr_folder_close(folder);
    room_leave(&room);
}

/* Save a session with this member `perdure`; what is told of it. */
static void assert_left_out(const char *expected, pdr_folder *folder,
                            const char *perdure)
{
    char json[200];
    pdr_buf told = PDR_BUF_INIT(1 << 16);
    pdr_session *session = NULL;

    snprintf(json, sizeof(json),
             "{\"type\":\"session\",\"session_id\":\"a\","
             "\"service_session_id\":null,\"state\":{},\"perdure\":%s}",
             perdure);
    session = session_from(json);
    ASSERT_RC(PDR_OK, pdr_folder_set(NULL, folder, pdr_str_c("a"), NULL,
                                     session, NULL, note_rule, &told));
    ASSERT_TEXT(expected, pdr_buf_str(&told));
    pdr_session_free(session);
    pdr_buf_dispose(&told);
}

TEST(folder_set, tells_that_the_note_of_a_conversion_is_left_out)
{
    pdr_folder *folder = NULL;
    struct room room;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    assert_left_out("note-left-out /perdure;", folder,
                    "{\"dotnet\":{\"patch\":[]}}");
    assert_left_out("note-left-out /perdure;", folder, "{\"kind\":\"client\"}");
    assert_left_out("", folder, "{}");
    assert_left_out("", folder, "null");
    pdr_folder_close(folder);
    room_leave(&room);
}

static pdr_rc refuse_note(const pdr_doc_finding *finding, pdr_err *err,
                          void *arg)
{
    (void)arg;
    return pdr_err_set(err, PDR_ECANCELLED, finding->rule, "not this one");
}

TEST(folder_set, writes_nothing_if_the_callback_refuses)
{
    pdr_session *session = session_from(
        "{\"session_id\":\"a\",\"state\":{},\"perdure\":{\"dotnet\":{}}}");
    pdr_err err = PDR_ERR_INIT;
    pdr_folder *folder = NULL;
    pdr_session *there = NULL;
    struct room room;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    ASSERT_RC(PDR_ECANCELLED, pdr_folder_set(NULL, folder, pdr_str_c("a"), NULL,
                                             session, &err, refuse_note, NULL));
    ASSERT_STR("note-left-out", err.reason);
    ASSERT_RC(PDR_ENOTFOUND, pdr_folder_get(&there, NULL, folder,
                                            pdr_str_c("a"), NULL, NULL, NULL));
    pdr_folder_close(folder);
    room_leave(&room);
    pdr_session_free(session);
}

TEST(folder_set, refuses_what_no_python_program_could_read)
{
    struct room room;
    pdr_folder *folder = NULL;
    pdr_session *session = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    ASSERT_RC(PDR_OK, pdr_session_new(&session, NULL, &err));
    ASSERT_RC(PDR_EINVALID, pdr_folder_set(NULL, folder, pdr_str_c("a"), NULL,
                                           session, &err, NULL, NULL));
    ASSERT_STR("session_kind", err.reason);
    pdr_session_free(session);
    ASSERT_RC(PDR_EINVALID,
              folder_put(folder, "a", "{\"session_id\":\"a\",\"type\":\"x\"}",
                         NULL, &err));
    ASSERT_STR("envelope", err.reason);
    ASSERT_RC(PDR_EVERSION,
              folder_put(folder, "a",
                         "{\"session_id\":\"a\",\"version\":\"2.0\"}", NULL,
                         &err));
    ASSERT_STR("session_version", err.reason);
    ASSERT_RC(PDR_EINVALID, folder_put(folder, "", ONE, NULL, &err));
    assert_list("", folder);
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_set, writes_nothing_where_nothing_changed)
{
    static const char odd[] = " {\"session_id\":\"a\" ,\"type\":\"session\","
                              "\"service_session_id\":null,\"state\":{\"k\":"
                              "NaN,\"t\":\"\\/\\ud800\"}}\n";
    struct room room;
    pdr_folder *folder = NULL;
    pdr_session *session = NULL;
    pdr_generation read, written;
    struct stat before, after;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    room_put_c(&room, "a.json", odd);
    ASSERT_INT(0, stat(room_path(&room, "a.json"), &before));
    ASSERT_RC(PDR_OK, pdr_folder_get(&session, &read, folder, pdr_str_c("a"),
                                     &err, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_folder_set(&written, folder, pdr_str_c("a"), &read,
                                     session, &err, NULL, NULL));
    ASSERT_INT(0, memcmp(&read, &written, sizeof(read)));
    ASSERT_INT(0, stat(room_path(&room, "a.json"), &after));
    ASSERT(before.st_ino == after.st_ino);
    room_assert(&room, "a.json", odd);
    /* Under another key the same is refused. */
    ASSERT_RC(PDR_EINVALID, pdr_folder_set(NULL, folder, pdr_str_c("b"), NULL,
                                           session, &err, NULL, NULL));
    ASSERT_STR("bare_token", err.reason);
    ASSERT_STR("/state/k", err.path);
    /* And so it is once it has changed. */
    ASSERT_RC(PDR_OK, slot_set(session, "1"));
    ASSERT_RC(PDR_OK, pdr_folder_set(&written, folder, pdr_str_c("a"), &read,
                                     session, &err, NULL, NULL));
    room_assert(&room, "a.json",
                " {\"session_id\":\"a\" ,\"type\":\"session\","
                "\"service_session_id\":null,\"state\":{\"k\":1,"
                "\"t\":\"\\/\\ud800\"} ,\"version\":\"1.0\"}\n");
    pdr_session_free(session);
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_set, keeps_foreign_messagepack_that_did_not_change)
{
    static const char file[] =
        "\x84\xa4type\xa7session\xaasession_id\xa1v\xb2service_session_id\xc0"
        "\xa5state\x82\xa1k\xca\x3f\xc0\0\0\xa1n\xcb\x7f\xf8\0\0\0\0\0\0";
    pdr_str bytes = pdr_str_n(file, sizeof(file) - 1);
    struct room room;
    pdr_folder *folder = NULL;
    pdr_session *session = NULL;
    pdr_err err = PDR_ERR_INIT;
    char *there = NULL;
    size_t len = 0;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_MSGPACK, NULL);
    room_put(&room, "v.msgpack", bytes);
    ASSERT_RC(PDR_OK, pdr_folder_get(&session, NULL, folder, pdr_str_c("v"),
                                     &err, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_folder_set(NULL, folder, pdr_str_c("v"), NULL,
                                     session, &err, NULL, NULL));
    there = room_get(&room, "v.msgpack", &len);
    ASSERT_BYTES(bytes, pdr_str_n(there, len));
    free(there);
    ASSERT_RC(PDR_OK, slot_set(session, "2"));
    ASSERT_RC(PDR_EINVALID, pdr_folder_set(NULL, folder, pdr_str_c("v"), NULL,
                                           session, &err, NULL, NULL));
    ASSERT_STR("bare_token", err.reason);
    ASSERT_STR("/state/n", err.path);
    pdr_session_free(session);
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_set, compares_the_generation)
{
    struct room room;
    pdr_folder *folder = NULL;
    pdr_generation none = {0}, bad = {.exists = true};
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    ASSERT_RC(PDR_ECONFLICT, folder_put(folder, "a", ONE, &bad, &err));
    ASSERT_STR("generation_changed", err.reason);
    ASSERT(!room_has(&room, "a.json"));
    ASSERT_RC(PDR_OK, folder_put(folder, "a", ONE, &none, &err));
    ASSERT_RC(PDR_ECONFLICT, folder_put(folder, "a", TWO, &none, &err));
    ASSERT_RC(PDR_ECONFLICT, folder_put(folder, "a", TWO, &bad, &err));
    room_assert(&room, "a.json", ONE);
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_set, takes_one_generation_for_both)
{
    struct room room;
    pdr_folder *folder = NULL;
    pdr_session *session = NULL;
    pdr_generation now = {0};
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    session = session_from(ONE);
    for (int i = 0; i < 3; i++) {
        char json[] = {(char)('0' + i), '\0'};
        ASSERT_RC(PDR_OK, slot_set(session, json));
        ASSERT_RC(PDR_OK, pdr_folder_set(&now, folder, pdr_str_c("a"), &now,
                                         session, &err, NULL, NULL));
        ASSERT(now.exists);
    }
    room_put_c(&room, "a.json", ONE);
    ASSERT_RC(PDR_ECONFLICT, pdr_folder_set(&now, folder, pdr_str_c("a"), &now,
                                            session, &err, NULL, NULL));
    ASSERT(!now.exists);
    pdr_session_free(session);
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_set, makes_files_for_their_owner_only)
{
    struct room room;
    struct stat info;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    ASSERT_RC(PDR_OK, folder_put(folder, "a", ONE, NULL, &err));
    ASSERT_INT(0, stat(room_path(&room, "a.json"), &info));
    ASSERT_INT(0600, info.st_mode & 0777);
    ASSERT_INT(0, stat(room_path(&room, ".perdure.lock"), &info));
    ASSERT_INT(0600, info.st_mode & 0777);
    ASSERT_INT(0, unlink(room_path(&room, ".perdure.lock")));
    ASSERT_INT(0, symlink("a.json", room_path(&room, ".perdure.lock")));
    ASSERT_RC(PDR_EINVALID, folder_put(folder, "a", TWO, NULL, &err));
    ASSERT_STR("file_link", err.reason);
    pdr_folder_close(folder);
    room_leave(&room);
}

/* --- failures of file calls ---------------------------------------------- */

enum deed { SET_NEW, SET_OLD_NAME, SET_SAME, REMOVE, QUARANTINE, GET, LIST };

static pdr_rc do_deed(enum deed deed, pdr_folder *folder, pdr_err *err)
{
    pdr_buf text = PDR_BUF_INIT(1 << 16);
    pdr_rc rc = PDR_OK;

    switch (deed) {
    case SET_NEW:
    case SET_OLD_NAME:
        rc = folder_put(folder, "Abc", TWO, NULL, err);
        break;
    case SET_SAME:
        rc = folder_put(folder, "Abc", ONE, NULL, err);
        break;
    case REMOVE:
        rc = pdr_folder_remove(folder, pdr_str_c("Abc"), NULL, err);
        break;
    case QUARANTINE:
        rc = pdr_folder_set_aside(folder, pdr_str_c("Abc"), err);
        break;
    case GET:
        rc = folder_text(&text, folder, "Abc", err);
        break;
    case LIST:
        rc = pdr_folder_list(folder, err, note_file, &text);
        break;
    }
    pdr_buf_dispose(&text);
    return rc;
}

static void prepare(enum deed deed, const struct room *room)
{
    room_put_c(room, deed == SET_OLD_NAME ? "Abc.json" : "~session-ifrgg.json",
               deed == QUARANTINE ? "{" : ONE);
    if (deed == LIST || deed == REMOVE)
        room_put_c(room, "Abc.json", ONE);
    if (deed == LIST) {
        room_put_c(room, TWO_NAMES, ONE);
        room_put_c(room,
                   "~session-sha256-e42dd264fd5cf1bc947505b995dceb9ae0a2d2a4c99"
                   "b4ce5ea02f36526819280.json",
                   ONE);
    }
}

static bool is_text(const pdr_buf *buf, const char *text)
{
    return buf->len == strlen(text) && memcmp(buf->ptr, text, buf->len) == 0;
}

/* After any failure one of the two documents is there, whole. */
static void check_after(enum deed deed, const struct room *room, pdr_rc rc)
{
    pdr_folder *folder = folder_of(room, PDR_FOLDER_JSON, NULL);
    pdr_buf text = PDR_BUF_INIT(1 << 16);
    pdr_err err = PDR_ERR_INIT;
    pdr_rc got = folder_text(&text, folder, "Abc", &err);

    if (deed == QUARANTINE) {
        ASSERT_SIZE(1, room_count(NULL, room, ".corrupt") +
                           room_has(room, "~session-ifrgg.json"));
    } else if (deed == REMOVE) {
        ASSERT(got == PDR_OK || (got == PDR_ENOTFOUND && rc != PDR_EIO));
    } else {
        ASSERT_RC(PDR_OK, got);
        ASSERT(is_text(&text, ONE) || is_text(&text, TWO));
        ASSERT(rc != PDR_EIO || is_text(&text, ONE));
    }
    pdr_buf_dispose(&text);
    pdr_folder_close(folder);
}

static void fail_each_call(enum deed deed, bool for_ever)
{
    struct room room;
    struct trick trick;
    bool done = false;

    for (size_t at = 1; !done; at++) {
        pdr_err err = PDR_ERR_INIT;
        pdr_folder *folder = NULL;
        pdr_rc rc = PDR_OK;
        room_enter(&room);
        prepare(deed, &room);
        trick_init(&trick);
        folder = folder_of(&room, PDR_FOLDER_JSON, &trick);
        trick_arm(&trick, at, for_ever, EIO);
        rc = do_deed(deed, folder, &err);
        done = !trick_done(&trick);
        if (!done && rc != PDR_OK && rc != PDR_ECORRUPT) {
            ASSERT(rc == PDR_EIO || rc == PDR_EUNKNOWN);
            ASSERT_STR(rc == PDR_EIO ? "file_failed" : "sync_failed",
                       err.reason);
            ASSERT_INT(EIO, err.sys);
        }
        pdr_folder_close(folder);
        check_after(deed, &room, done ? PDR_OK : rc);
        ASSERT(for_ever || room_count(NULL, &room, ".tmp") == 0);
        room_leave(&room);
        ASSERT(at < 100);
    }
}

TEST(folder_calls, lose_nothing_when_one_fails)
{
    for (int deed = SET_NEW; deed <= LIST; deed++) {
        fail_each_call((enum deed)deed, false);
        fail_each_call((enum deed)deed, true);
    }
}

/* --- other processes in between ------------------------------------------ */

static void move_to_new_name(void *arg)
{
    const struct room *room = arg;
    char old[600];

    snprintf(old, sizeof(old), "%s", room_path(room, "Abc.json"));
    ASSERT_INT(0, rename(old, room_path(room, "~session-ifrgg.json")));
}

static void remove_it(void *arg)
{
    (void)unlink(room_path(arg, "Abc.json"));
}

TEST(folder_get, looks_again_for_a_file_that_was_renamed_meanwhile)
{
    struct room room;
    struct trick trick;
    pdr_folder *folder = NULL;

    room_enter(&room);
    trick_init(&trick);
    folder = folder_of(&room, PDR_FOLDER_JSON, &trick);
    room_put_c(&room, "Abc.json", ONE);
    trick.before = move_to_new_name;
    trick.arg = &room;
    trick_arm(&trick, 4, false, 0); /* new, old, other case: then it opens */
    assert_folder(ONE, folder, "Abc");
    ASSERT(trick_done(&trick));
    room_put_c(&room, "Abc.json", ONE);
    ASSERT_INT(0, unlink(room_path(&room, "~session-ifrgg.json")));
    trick.before = remove_it;
    trick_arm(&trick, 4, true, 0);
    assert_refused(PDR_ENOTFOUND, "no_session", "", folder, "Abc");
    pdr_folder_close(folder);
    room_leave(&room);
}

/* --- lists --------------------------------------------------------------- */

TEST(folder_list, tells_what_each_file_is)
{
    struct room room;
    pdr_folder *folder = NULL;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    room_put_c(&room, "a.json", ONE);
    room_put_c(&room, "b.msgpack", ONE);      /* another format */
    room_put_c(&room, "a.jsonl", "");         /* messages */
    room_put_c(&room, "two words.json", ONE); /* nobody writes that */
    room_put_c(&room, ".hidden.json", ONE);   /* nor that */
    room_put_c(&room, ".perdure.lock", "");
    room_put_c(&room, "Abc.json", ONE);
    room_put_c(&room, "Def.json", ONE);
    room_put_c(&room, "~session-irswm.json", ONE); /* the new name of Def */
    room_put_c(&room, ".a.json.00000000000000000000000000000000.tmp", "");
    room_put_c(&room, ".Abc.json.00000000000000000000000000000000.corrupt", "");
    room_put_c(&room, ".a.jsonl.00000000000000000000000000000000.corrupt", "");
    room_put_c(&room, ".b.msgpack.00000000000000000000000000000000.tmp", "");
    room_put_c(&room, ".? .json.00000000000000000000000000000000.tmp", "");
    ASSERT_INT(0, symlink("a.json", room_path(&room, "link.json")));
    assert_list("leftover .? .json.00000000000000000000000000000000.tmp ;\n"
                "corrupt .Abc.json.00000000000000000000000000000000.corrupt "
                "Abc old;\n"
                "leftover .a.json.00000000000000000000000000000000.tmp a;\n"
                "corrupt .a.jsonl.00000000000000000000000000000000.corrupt a;\n"
                "session Abc.json Abc old;\n"
                "superseded Def.json Def old;\n"
                "session a.json a;\n"
                "session ~session-irswm.json Def;\n",
                folder);
    pdr_folder_close(folder);
    room_leave(&room);
}

#define HASH                                                                 \
    "~session-sha256-e42dd264fd5cf1bc947505b995dceb9ae0a2d2a4c99b4ce5ea02f3" \
    "6526819280"

TEST(folder_list, looks_inside_where_the_name_is_a_hash)
{
    struct room room;
    pdr_folder *folder = NULL;
    pdr_buf file = PDR_BUF_INIT(4096);
    pdr_buf expected = PDR_BUF_INIT(4096);
    char key[257];

    for (size_t i = 0; i < 256; i += 2)
        memcpy(key + i, "é", 2);
    key[256] = '\0';
    ASSERT_RC(PDR_OK, pdr_buf_printf(&file, NULL, FILE_OF("%s", "{}"), key));
    ASSERT_RC(PDR_OK, pdr_buf_printf(&expected, NULL,
                                     "session " HASH ".json %s;\n%c", key, 0));
    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    room_put(&room, HASH ".json", pdr_buf_str(&file));
    assert_list(expected.ptr, folder);
    /* Kept under a key that is not its id, or damaged: nobody knows. */
    room_put_c(&room, HASH ".json", ONE);
    assert_list("session " HASH ".json ;\n", folder);
    room_put_c(&room, HASH ".json", "{");
    assert_list("session " HASH ".json ;\n", folder);
    room_put_c(&room, HASH ".json", "{\"session_id\":\"\\ud800\"}");
    assert_list("session " HASH ".json ;\n", folder);
    pdr_buf_dispose(&file);
    pdr_buf_dispose(&expected);
    pdr_folder_close(folder);
    room_leave(&room);
}

static pdr_rc count_file(const pdr_folder_entry *entry, pdr_err *err, void *arg)
{
    (void)err;
    ASSERT(entry->bytes == 1);
    ++*(int *)arg;
    return PDR_OK;
}

TEST(folder_list, takes_any_number_of_files)
{
    struct room room;
    pdr_folder *folder = NULL;
    int count = 0;
    char name[100];

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    for (int i = 0; i < 70; i++) {
        snprintf(name, sizeof(name), "s%d.json", i);
        room_put_c(&room, name, "{");
    }
    /* No hexadecimal digits: somebody else's. */
    room_put_c(&room, ".a.json.zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz.tmp", "");
    ASSERT_RC(PDR_OK, pdr_folder_list(folder, NULL, count_file, &count));
    ASSERT_INT(70, count);
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_list, says_when_a_file_cannot_be_read)
{
    struct room room;
    struct trick trick;
    pdr_folder *folder = NULL;
    int count = 0;
    pdr_rc rc = PDR_EIO;

    room_enter(&room);
    trick_init(&trick);
    folder = folder_of(&room, PDR_FOLDER_MSGPACK, &trick);
    room_put_c(&room, "a.msgpack", "\x80");
    for (size_t at = 1; rc != PDR_OK; at++) {
        pdr_err err = PDR_ERR_INIT;
        trick_arm(&trick, at, false, EIO);
        rc = pdr_folder_list(folder, &err, count_file, &count);
        ASSERT(rc == PDR_OK || rc == PDR_EIO);
    }
    ASSERT_INT(1, count);
    trick_arm(&trick, 0, false, 0);
    room_put_c(&room, "b.msgpack", ""); /* damaged, but a session's */
    assert_list("session a.msgpack a;\nsession b.msgpack b;\n", folder);
    pdr_folder_close(folder);
    room_leave(&room);
}

static pdr_rc stop(const pdr_folder_entry *entry, pdr_err *err, void *arg)
{
    (void)entry;
    (void)err;
    ++*(int *)arg;
    return PDR_ECANCELLED;
}

TEST(folder_list, ends_when_the_caller_says_so)
{
    struct room room;
    pdr_folder *folder = NULL;
    int calls = 0;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    room_put_c(&room, "a.json", ONE);
    room_put_c(&room, "b.json", ONE);
    ASSERT_RC(PDR_ECANCELLED, pdr_folder_list(folder, NULL, stop, &calls));
    ASSERT_INT(1, calls);
    pdr_folder_close(folder);
    room_leave(&room);
}

/* --- memory -------------------------------------------------------------- */

TEST_OOM(folder_calls, clean_up_after_any_failed_allocation)
{
    for (int deed = SET_NEW; deed <= LIST; deed++) {
        struct room room;
        pdr_folder *folder = NULL;
        pdr_rc rc = PDR_OK;
        pdr_err err = PDR_ERR_INIT;
        room_enter(&room);
        prepare((enum deed)deed, &room);
        rc = pdr_folder_open(&folder, room.path, PDR_FOLDER_JSON, false, &err);
        if (rc == PDR_OK)
            rc = do_deed((enum deed)deed, folder, &err);
        if (deed == QUARANTINE)
            ASSERT(rc == PDR_ECORRUPT || rc == PDR_ENOMEM || rc == PDR_EIO);
        else
            ASSERT(rc == PDR_OK || rc == PDR_ENOMEM || rc == PDR_EIO);
        pdr_folder_close(folder);
        room_leave(&room);
    }
}

static pdr_rc save_odd(pdr_folder *folder, pdr_session **session, pdr_err *err)
{
    pdr_buf told = PDR_BUF_INIT(4096);
    pdr_rc rc = pdr_folder_get(session, NULL, folder, pdr_str_c("a"), err,
                               note_rule, &told);

    if (rc == PDR_OK)
        rc = pdr_folder_set(NULL, folder, pdr_str_c("a"), NULL, *session, err,
                            NULL, NULL);
    pdr_buf_dispose(&told);
    return rc;
}

TEST_OOM(folder_set, cleans_up_after_telling_what_is_left_out)
{
    pdr_session *session = session_from(
        "{\"session_id\":\"a\",\"state\":{},\"perdure\":{\"dotnet\":{}}}");
    pdr_buf told = PDR_BUF_INIT(4096);
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;
    struct room room;
    pdr_rc rc = PDR_OK;

    room_enter(&room);
    rc = pdr_folder_open(&folder, room.path, PDR_FOLDER_JSON, false, &err);
    if (rc == PDR_OK && session != NULL)
        rc = pdr_folder_set(NULL, folder, pdr_str_c("a"), NULL, session, &err,
                            note_rule, &told);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM || rc == PDR_EIO);
    pdr_buf_dispose(&told);
    pdr_folder_close(folder);
    room_leave(&room);
    pdr_session_free(session);
}

TEST_OOM(folder_set, cleans_up_where_nothing_changed)
{
    static const char packed[] =
        "\x84\xa4type\xa7session\xaasession_id\xa1v\xb2service_session_id\xc0"
        "\xa5state\x81\xa1k\xcb\x7f\xf8\0\0\0\0\0\0";

    for (int format = 0; format < 2; format++) {
        struct room room;
        pdr_folder *folder = NULL;
        pdr_session *session = NULL;
        pdr_rc rc = PDR_OK;
        pdr_err err = PDR_ERR_INIT;
        room_enter(&room);
        room_put_c(&room, "a.json", NANS);
        room_put(&room, "a.msgpack", pdr_str_n(packed, sizeof(packed) - 1));
        rc = pdr_folder_open(&folder, room.path, (pdr_folder_format)format,
                             false, &err);
        if (rc == PDR_OK)
            rc = save_odd(folder, &session, &err);
        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM || rc == PDR_EIO);
        pdr_session_free(session);
        pdr_folder_close(folder);
        room_leave(&room);
    }
}
