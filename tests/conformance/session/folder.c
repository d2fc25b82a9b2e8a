/*
 * folder.c - what a snapshot folder promises, seen through the public API.
 *
 * Only the tests that need another file system, or another process in between,
 * reach for the table of file calls.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "folder_text.h"

#define DATA "python/sessions/"

/* Eight times eight, and twice that. */
#define E8   "éééééééé"
#define E128 E8 E8 E8 E8 E8 E8 E8 E8 E8 E8 E8 E8 E8 E8 E8 E8
#define X8   "XXXXXXXX"
#define X128 X8 X8 X8 X8 X8 X8 X8 X8 X8 X8 X8 X8 X8 X8 X8 X8
#define L8   "xxxxxxxx"
#define L128 L8 L8 L8 L8 L8 L8 L8 L8 L8 L8 L8 L8 L8 L8 L8 L8

static const struct {
    const char *key, *stem, *old; /* NULL: the key itself */
} names[] = {
    {"abc", NULL, NULL},
    {"session.id", NULL, NULL},
    {L128, NULL, NULL},
    {"Abc", "~session-ifrgg", NULL},
    {"two words", "~session-or3w6idxn5zgi4y", "~session-dHdvIHdvcmRz"},
    {"telegram:123:456", "~session-orswyzlhojqw2orrgiztunbvgy",
     "~session-dGVsZWdyYW06MTIzOjQ1Ng"},
    {"CON", "~session-inhu4", "~session-Q09O"},
    {"con.txt", "~session-mnxw4ltupb2a", "~session-Y29uLnR4dA"},
    {"café", "~session-mnqwnq5j", "~session-Y2Fmw6k"},
    {"..", "~session-fyxa", "~session-Li4"},
    {"../x", "~session-fyxc66a", "~session-Li4veA"},
    {".hidden", "~session-fzugszdemvxa", "~session-LmhpZGRlbg"},
    {"a.", "~session-mexa", "~session-YS4"},
    {"~session-abc", "~session-pzzwk43tnfxw4llbmjrq",
     "~session-fnNlc3Npb24tYWJj"},
    {E128,
     "~session-sha256-e42dd264fd5cf1bc947505b995dceb9ae0a2d2a4c99b4ce5ea02f3652"
     "6819280",
     "~session-sha256-e42dd264fd5cf1bc947505b995dceb9ae0a2d2a4c99b4ce5ea02f3652"
     "6819280"},
    {X128,
     "~session-sha256-64531077024b8fe57566a3d556ef54fd598bab2e0ca49b43185f765a6"
     "a86cb5d",
     NULL},
};

static void check_stem(const char *expected, const char *key, bool old)
{
    pdr_buf stem = PDR_BUF_INIT(1024);

    ASSERT_RC(PDR_OK, pdr_folder_stem(&stem, pdr_str_c(key), old, NULL));
    ASSERT_TEXT(expected != NULL ? expected : key, pdr_buf_str(&stem));
    pdr_buf_dispose(&stem);
}

static pdr_session *new_session(const char *id)
{
    pdr_session_parts parts = {.shape = PDR_SESSION_PYTHON};
    pdr_session *session = NULL;

    parts.id = pdr_str_c(id);
    ASSERT_RC(PDR_OK, pdr_session_new(&session, &parts, NULL));
    return session;
}

static void check_bad_key(pdr_folder *folder, pdr_str key)
{
    pdr_session *session = new_session("a"), *got = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID,
              pdr_folder_get(&got, NULL, folder, key, &err, NULL, NULL));
    ASSERT_STR("folder_key", err.reason);
    ASSERT_RC(PDR_EINVALID, pdr_folder_set(NULL, folder, key, NULL, session,
                                           &err, NULL, NULL));
    ASSERT_STR("folder_key", err.reason);
    ASSERT_RC(PDR_EINVALID, pdr_folder_remove(folder, key, NULL, &err));
    ASSERT_STR("folder_key", err.reason);
    pdr_session_free(session);
}

TEST(folder_names, are_those_of_the_python_edition)
{
    COVERS("S-99");
    struct room room;
    pdr_folder *folder = NULL;
    char name[300];

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    for (size_t i = 0; i < PDR_COUNT(names); i++) {
        pdr_session *session = new_session("x");
        check_stem(names[i].stem, names[i].key, false);
        check_stem(names[i].old, names[i].key, true);
        ASSERT_RC(PDR_OK, pdr_folder_set(NULL, folder, pdr_str_c(names[i].key),
                                         NULL, session, NULL, NULL, NULL));
        snprintf(name, sizeof(name), "%s.json",
                 names[i].stem != NULL ? names[i].stem : names[i].key);
        ASSERT(room_has(&room, name));
        pdr_session_free(session);
    }
    ASSERT_SIZE(PDR_COUNT(names), room_count(NULL, &room, ".json"));
    check_bad_key(folder, pdr_str_c(L128 "x"));
    check_bad_key(folder, pdr_str_c(E128 "é"));
    check_bad_key(folder, pdr_str_c(""));
    pdr_folder_close(folder);
    room_leave(&room);
}

static void check_sample(pdr_folder_format format, const char *name,
                         pdr_str expected)
{
    struct room room;
    pdr_folder *folder = NULL;
    pdr_session *session = new_session("demo-7");
    pdr_value *notes = NULL;
    size_t len = 0;
    char *bytes = NULL;

    room_enter(&room);
    folder = folder_of(&room, format, NULL);
    ASSERT_RC(PDR_OK,
              pdr_json_read(&notes, pdr_str_c("{\"n\":300,\"ok\":true}"), NULL,
                            NULL));
    ASSERT_RC(PDR_OK, pdr_bag_set(pdr_session_bag(session), pdr_str_c("notes"),
                                  notes, NULL));
    ASSERT_RC(PDR_OK, pdr_folder_set(NULL, folder, pdr_str_c("demo-7"), NULL,
                                     session, NULL, NULL, NULL));
    bytes = room_get(&room, name, &len);
    ASSERT_BYTES(expected, pdr_str_n(bytes, len));
    free(bytes);
    pdr_value_free(notes);
    pdr_session_free(session);
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_set, writes_the_sample_in_its_size)
{
    COVERS("S-98");
    static const char json[] = FILE_OF("demo-7", "{\"notes\":{\"n\":300,"
                                                 "\"ok\":true}}");
    static const char packed[] =
        "\x85\xa4type\xa7session\xaasession_id\xa6"
        "demo-7\xb2service_session_id\xc0\xa5state\x81\xa5notes\x82\xa1n\xcd"
        "\x01\x2c\xa2ok\xc3\xa7version\xa3"
        "1.0";

    ASSERT_SIZE(120, sizeof(json) - 1);
    ASSERT_SIZE(87, sizeof(packed) - 1);
    check_sample(PDR_FOLDER_JSON, "demo-7.json", pdr_str_c(json));
    check_sample(PDR_FOLDER_MSGPACK, "demo-7.msgpack",
                 pdr_str_n(packed, sizeof(packed) - 1));
}

TEST(folder_set, keeps_what_the_caller_does_to_the_session_afterwards_out)
{
    COVERS("S-100");
    struct room room;
    pdr_folder *folder = NULL;
    pdr_session *given = session_from(FILE_OF("a", "{\"k\":1}")), *got = NULL;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    ASSERT_RC(PDR_OK, pdr_folder_set(NULL, folder, pdr_str_c("a"), NULL, given,
                                     NULL, NULL, NULL));
    ASSERT_RC(PDR_OK, slot_set(given, "2"));
    assert_folder(FILE_OF("a", "{\"k\":1}"), folder, "a");
    ASSERT_RC(PDR_OK, pdr_folder_get(&got, NULL, folder, pdr_str_c("a"), NULL,
                                     NULL, NULL));
    ASSERT_RC(PDR_OK, slot_set(got, "3"));
    assert_folder(FILE_OF("a", "{\"k\":1}"), folder, "a");
    pdr_session_free(given);
    pdr_session_free(got);
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_set, replaces_all_of_a_session_or_nothing)
{
    COVERS("S-101");
    struct room room;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_MSGPACK, NULL);
    ASSERT_RC(PDR_OK,
              folder_put(folder, "a", FILE_OF("a", "{\"k\":1}"), NULL, &err));
    ASSERT_RC(PDR_OK,
              folder_put(folder, "a", FILE_OF("a", "{\"k\":2}"), NULL, &err));
    assert_folder(FILE_OF("a", "{\"k\":2}"), folder, "a");
    ASSERT_SIZE(0, room_count(NULL, &room, ".tmp"));
    ASSERT_RC(PDR_EINVALID,
              folder_put(folder, "a",
                         FILE_OF("a", "{\"k\":123456789012345678901}"), NULL,
                         &err));
    ASSERT_STR("number_range", err.reason);
    ASSERT_STR("/state/k", err.path);
    assert_folder(FILE_OF("a", "{\"k\":2}"), folder, "a");
    ASSERT_SIZE(0, room_count(NULL, &room, ".tmp"));
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_get, leaves_a_damaged_file_untouched_and_says_which_byte)
{
    COVERS("S-102");
    struct room room;
    pdr_folder *folder = NULL;
    pdr_session *session = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    room_put_c(&room, "a.json", "{not-json");
    ASSERT_RC(PDR_ECORRUPT, pdr_folder_get(&session, NULL, folder,
                                           pdr_str_c("a"), &err, NULL, NULL));
    ASSERT_STR("damaged", err.reason);
    ASSERT_INT(1, err.offset);
    room_assert(&room, "a.json", "{not-json");
    assert_list("session a.json a;\n", folder);
    room_assert(&room, "a.json", "{not-json");
    ASSERT(!room_has(&room, ".perdure.lock"));
    pdr_folder_close(folder);
    room_leave(&room);
}

enum writer { SETS, SETS_NEW, REMOVES, SETS_ASIDE, WRITERS };

static pdr_rc write_as(enum writer writer, pdr_folder *folder, pdr_err *err)
{
    const pdr_generation none = {.exists = false};

    if (writer == REMOVES)
        return pdr_folder_remove(folder, pdr_str_c("a"), NULL, err);
    if (writer == SETS_ASIDE)
        return pdr_folder_set_aside(folder, pdr_str_c("a"), err);
    return folder_put(folder, "a", FILE_OF("a", "{\"k\":2}"),
                      writer == SETS_NEW ? &none : NULL, err);
}

TEST(folder_writers, set_a_damaged_file_aside_and_say_so)
{
    COVERS("S-102");
    for (int writer = SETS; writer < WRITERS; writer++) {
        struct room room;
        pdr_folder *folder = NULL;
        pdr_err err = PDR_ERR_INIT;
        char aside[256];

        room_enter(&room);
        folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
        room_put_c(&room, "a.json", "{not-json");
        ASSERT_RC(PDR_ECORRUPT, write_as((enum writer)writer, folder, &err));
        ASSERT_STR("quarantined", err.reason);
        ASSERT_INT(1, err.offset);
        ASSERT_SIZE(1, room_count(aside, &room, ".corrupt"));
        ASSERT_INT(0, strncmp(aside, ".a.json.", 8));
        ASSERT(strstr(err.message, aside) != NULL);
        room_assert(&room, aside, "{not-json");
        ASSERT(!room_has(&room, "a.json"));
        assert_refused(PDR_ENOTFOUND, "no_session", "", folder, "a");
        ASSERT_RC(PDR_OK, write_as((enum writer)writer, folder, &err));
        room_assert(&room, aside, "{not-json");
        pdr_folder_close(folder);
        room_leave(&room);
    }
}

#define VERSION_OF(id, version)                                                \
    "{\"type\":\"session\",\"session_id\":" id ",\"service_session_id\":null," \
    "\"state\":{\"k\":1},\"version\":\"" version "\"}"

TEST(folder_get, refuses_other_versions_and_kinds_and_keeps_the_file)
{
    COVERS("S-103");
    struct room room;
    pdr_folder *folder = NULL;
    pdr_session *session = NULL;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    room_put_c(&room, "a.json", VERSION_OF("\"a\"", "2.0"));
    assert_refused(PDR_EVERSION, "session_version", "/version", folder, "a");
    room_assert(&room, "a.json", VERSION_OF("\"a\"", "2.0"));
    room_put_c(&room, "a.json", VERSION_OF("7", "1.0"));
    assert_refused(PDR_EINVALID, "envelope", "/session_id", folder, "a");
    room_assert(&room, "a.json", VERSION_OF("7", "1.0"));
    room_put_c(&room, "a.json", VERSION_OF("\"a\"", "1.1"));
    assert_told("newer-version /version;", folder, "a");
    ASSERT_RC(PDR_OK, pdr_folder_get(&session, NULL, folder, pdr_str_c("a"),
                                     NULL, NULL, NULL));
    ASSERT_RC(PDR_OK, slot_set(session, "2"));
    ASSERT_RC(PDR_OK, pdr_folder_set(NULL, folder, pdr_str_c("a"), NULL,
                                     session, NULL, NULL, NULL));
    assert_folder("{\"type\":\"session\",\"session_id\":\"a\","
                  "\"service_session_id\":null,\"state\":{\"k\":2},"
                  "\"version\":\"1.1\"}",
                  folder, "a");
    pdr_session_free(session);
    pdr_folder_close(folder);
    room_leave(&room);
}

static pdr_rc decode_badly(void **out, const pdr_value *value, pdr_err *err,
                           void *arg)
{
    (void)value;
    (void)arg;
    *out = NULL;
    pdr_err_set(err, PDR_EINVALID, "bad_thing", "no such thing");
    return PDR_EINVALID;
}

static pdr_rc encode_badly(pdr_value **out, const void *object, pdr_err *err,
                           void *arg)
{
    (void)object;
    (void)err;
    (void)arg;
    *out = pdr_value_new_null();
    return PDR_OK;
}

static void free_nothing(void *object, void *arg)
{
    (void)object;
    (void)arg;
}

TEST(folder_get, loads_a_session_with_a_slot_that_its_type_cannot_read)
{
    COVERS("S-103");
    static const pdr_state_type type = {.name = "thing",
                                        .decode = decode_badly,
                                        .encode = encode_badly,
                                        .free = free_nothing};
    struct room room;
    pdr_folder *folder = NULL;
    pdr_session *session = NULL;
    pdr_object *object = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    room_put_c(&room, "a.json", FILE_OF("a", "{\"k\":1}"));
    ASSERT_RC(PDR_OK, pdr_folder_get(&session, NULL, folder, pdr_str_c("a"),
                                     &err, NULL, NULL));
    ASSERT_RC(PDR_EINVALID, pdr_bag_get_typed(&object, pdr_session_bag(session),
                                              pdr_str_c("k"), &type, &err));
    ASSERT_STR("state_decode", err.reason);
    room_assert(&room, "a.json", FILE_OF("a", "{\"k\":1}"));
    pdr_session_free(session);
    pdr_folder_close(folder);
    room_leave(&room);
}

static void put_good_file(void *arg)
{
    room_put_c(arg, "a.json", FILE_OF("a", "{\"k\":1}"));
}

TEST(folder_set_aside, takes_no_good_file_that_came_meanwhile)
{
    COVERS("S-104");
    struct room room;
    struct trick trick;
    pdr_folder *folder = NULL;
    bool changed = false;

    room_enter(&room);
    for (size_t at = 1; at < 20; at++) {
        pdr_err err = PDR_ERR_INIT;
        pdr_rc rc = PDR_OK;
        room_put_c(&room, "a.json", "{");
        trick_init(&trick);
        trick.before = put_good_file;
        trick.arg = &room;
        folder = folder_of(&room, PDR_FOLDER_JSON, &trick);
        trick_arm(&trick, at, false, 0);
        rc = pdr_folder_set_aside(folder, pdr_str_c("a"), &err);
        changed |= rc != PDR_OK && strcmp("file_changed", err.reason) == 0;
        pdr_folder_close(folder);
        if (trick_done(&trick))
            room_assert(&room, "a.json", FILE_OF("a", "{\"k\":1}"));
    }
    ASSERT(changed);
    room_leave(&room);
}

TEST(folder_calls, follow_no_links)
{
    COVERS("S-105");
    struct room room;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    room_put_c(&room, "a.json", FILE_OF("a", "{}"));
    ASSERT_INT(0, symlink("a.json", room_path(&room, "b.json")));
    assert_refused(PDR_EINVALID, "file_link", "", folder, "b");
    ASSERT_RC(PDR_EINVALID,
              folder_put(folder, "b", FILE_OF("b", "{}"), NULL, &err));
    ASSERT_STR("file_link", err.reason);
    ASSERT_RC(PDR_EINVALID,
              pdr_folder_remove(folder, pdr_str_c("b"), NULL, &err));
    room_assert(&room, "a.json", FILE_OF("a", "{}"));
    pdr_folder_close(folder);
    room_leave(&room);
}

#define UPPER FILE_OF("Abc", "{\"k\":\"upper\"}")
#define LOWER FILE_OF("abc", "{\"k\":\"lower\"}")

TEST(folder_names, keep_twins_apart_where_case_is_folded)
{
    COVERS("S-106");
    struct room room;
    struct trick trick;
    pdr_folder *folder = NULL;

    room_enter(&room);
    trick_init(&trick);
    trick.fold = true;
    folder = folder_of(&room, PDR_FOLDER_JSON, &trick);
    ASSERT_RC(PDR_OK, folder_put(folder, "abc", LOWER, NULL, NULL));
    assert_refused(PDR_ENOTFOUND, "no_session", "", folder, "Abc");
    ASSERT_RC(PDR_OK, folder_put(folder, "Abc", UPPER, NULL, NULL));
    assert_folder(LOWER, folder, "abc");
    assert_folder(UPPER, folder, "Abc");
    ASSERT_RC(PDR_OK, pdr_folder_remove(folder, pdr_str_c("Abc"), NULL, NULL));
    assert_folder(LOWER, folder, "abc");
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_names, keep_an_old_file_from_its_twin_where_case_is_folded)
{
    COVERS("S-106");
    struct room room;
    struct trick trick;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    trick_init(&trick);
    trick.fold = true;
    folder = folder_of(&room, PDR_FOLDER_JSON, &trick);
    room_put_c(&room, "Abc.json", UPPER);
    assert_folder(UPPER, folder, "Abc");
    assert_refused(PDR_EINVALID, "key_collision", "", folder, "abc");
    ASSERT_RC(PDR_EINVALID, folder_put(folder, "abc", LOWER, NULL, &err));
    ASSERT_STR("key_collision", err.reason);
    ASSERT(strstr(err.message, "'Abc'") && strstr(err.message, "'abc'"));
    ASSERT_RC(PDR_EINVALID,
              pdr_folder_remove(folder, pdr_str_c("abc"), NULL, &err));
    room_assert(&room, "Abc.json", UPPER);
    /* As the text says: saved once, it has a name of its own. */
    ASSERT_RC(PDR_OK, folder_put(folder, "Abc", UPPER, NULL, &err));
    ASSERT_RC(PDR_OK, folder_put(folder, "abc", LOWER, NULL, &err));
    assert_folder(UPPER, folder, "Abc");
    assert_folder(LOWER, folder, "abc");
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_names, keep_old_twins_in_base64_apart_where_case_is_folded)
{
    COVERS("S-106");
    struct room room;
    struct trick trick;
    pdr_folder *folder = NULL;

    room_enter(&room);
    trick_init(&trick);
    trick.fold = true;
    folder = folder_of(&room, PDR_FOLDER_JSON, &trick);
    /* The names of "a " and "i " in base64 are YSA and aSA. */
    room_put_c(&room, "~session-ySA.json", FILE_OF("?", "{}"));
    assert_refused(PDR_EINVALID, "key_collision", "", folder, "a ");
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_set, refuses_a_writer_who_is_late)
{
    COVERS("S-108");
    struct room room;
    pdr_folder *folder = NULL;
    pdr_session *session = NULL;
    pdr_generation read;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    ASSERT_RC(PDR_OK,
              folder_put(folder, "a", FILE_OF("a", "{\"k\":1}"), NULL, &err));
    ASSERT_RC(PDR_OK, pdr_folder_get(&session, &read, folder, pdr_str_c("a"),
                                     &err, NULL, NULL));
    ASSERT_RC(PDR_OK,
              folder_put(folder, "a", FILE_OF("a", "{\"k\":2}"), NULL, &err));
    ASSERT_RC(PDR_ECONFLICT, pdr_folder_set(NULL, folder, pdr_str_c("a"), &read,
                                            session, &err, NULL, NULL));
    ASSERT_STR("generation_changed", err.reason);
    assert_folder(FILE_OF("a", "{\"k\":2}"), folder, "a");
    pdr_session_free(session);
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_set, refuses_nan_with_its_path)
{
    COVERS("S-111");
    struct room room;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    for (int format = 0; format < 2; format++) {
        folder = folder_of(&room, (pdr_folder_format)format, NULL);
        ASSERT_RC(PDR_EINVALID,
                  folder_put(folder, "a", FILE_OF("a", "{\"value\":NaN}"), NULL,
                             &err));
        ASSERT_STR("bare_token", err.reason);
        ASSERT_STR("/state/value", err.path);
        assert_refused(PDR_ENOTFOUND, "no_session", "", folder, "a");
        pdr_folder_close(folder);
    }
    room_leave(&room);
}

/* --- folders that others filled ------------------------------------------ */

static const char *const old_keys[] = {
    "demo-7", "Guest-Ana", "telegram:123:456", "café", "con.txt", E128};

TEST(folder_names, of_older_releases_are_found_and_replaced)
{
    COVERS("S-145");
    struct room room;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    room_fill(&room, DATA "store-json-1.17");
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    for (size_t i = 0; i < PDR_COUNT(old_keys); i++) {
        pdr_session *session = NULL;
        pdr_str key = pdr_str_c(old_keys[i]);
        ASSERT_RC(PDR_OK, pdr_folder_get(&session, NULL, folder, key, &err,
                                         NULL, NULL));
        ASSERT(pdr_session_id(session).len > 0); /* seldom the key */
        if (i % 2 == 0)
            ASSERT_RC(PDR_OK, slot_set(session, "\"changed\""));
        ASSERT_RC(PDR_OK, pdr_folder_set(NULL, folder, key, NULL, session, &err,
                                         NULL, NULL));
        pdr_session_free(session);
        ASSERT_SIZE(PDR_COUNT(old_keys), room_count(NULL, &room, ".json"));
        assert_told("", folder, old_keys[i]); /* no old name, none beside */
    }
    ASSERT(!room_has(&room, "Guest-Ana.json"));
    ASSERT(room_has(&room, "~session-i52wk43ufvaw4yi.json"));
    pdr_folder_close(folder);
    room_leave(&room);
}

/* Get and set change no byte, also when each slot is set anew. */
static pdr_rc save_again(const pdr_folder_entry *entry, pdr_err *err, void *arg)
{
    struct room *room = arg;
    pdr_folder_format format = entry->file.ptr[entry->file.len - 1] == 'n'
                                   ? PDR_FOLDER_JSON
                                   : PDR_FOLDER_MSGPACK;
    pdr_folder *folder = folder_of(room, format, NULL);
    /* The name that is a hash does not tell its key. */
    pdr_str key = entry->key.len > 0 ? entry->key : pdr_str_c(E128);
    pdr_session *session = NULL;
    size_t before_len = 0, after_len = 0;
    char name[300], *before = NULL, *after = NULL;

    snprintf(name, sizeof(name), "%.*s", (int)entry->file.len, entry->file.ptr);
    before = room_get(room, name, &before_len);
    ASSERT_RC(PDR_OK,
              pdr_folder_get(&session, NULL, folder, key, err, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_folder_set(NULL, folder, key, NULL, session, err,
                                     NULL, NULL));
    ASSERT_RC(PDR_OK, slot_set(session, "1")); /* there and back again */
    ASSERT_RC(PDR_OK, pdr_folder_set(NULL, folder, key, NULL, session, err,
                                     NULL, NULL));
    ASSERT_RC(PDR_OK,
              pdr_bag_remove(pdr_session_bag(session), pdr_str_c("k"), err));
    ASSERT_RC(PDR_OK, pdr_folder_set(NULL, folder, key, NULL, session, err,
                                     NULL, NULL));
    after = room_get(room, name, &after_len);
    ASSERT_BYTES(pdr_str_n(before, before_len), pdr_str_n(after, after_len));
    free(before);
    free(after);
    pdr_session_free(session);
    pdr_folder_close(folder);
    return PDR_OK;
}

TEST(folder_set, writes_the_bytes_that_the_python_edition_writes)
{
    COVERS("S-143");
    static const char *const folders[] = {"store-json", "store-msgpack"};

    for (int i = 0; i < 2; i++) {
        struct room room;
        pdr_folder *folder = NULL;
        char path[100];
        room_enter(&room);
        snprintf(path, sizeof(path), DATA "%s", folders[i]);
        room_fill(&room, path);
        folder = folder_of(&room, (pdr_folder_format)i, NULL);
        ASSERT_RC(PDR_OK, pdr_folder_list(folder, NULL, save_again, &room));
        ASSERT_SIZE(7, room_count(NULL, &room,
                                  pdr__folder_extension((pdr_folder_format)i)));
        pdr_folder_close(folder);
        room_leave(&room);
    }
}

TEST(folder_list, knows_the_keys_of_what_the_python_edition_wrote)
{
    struct room room;
    pdr_folder *folder = NULL;

    room_enter(&room);
    room_fill(&room, DATA "store-json");
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    assert_list("session demo-7.json demo-7;\n"
                "session guest-ana.json guest-ana;\n"
                "session ~session-i52wk43ufvaw4yi.json Guest-Ana;\n"
                "session ~session-mnqwnq5j.json café;\n"
                "session ~session-mnxw4ltupb2a.json con.txt;\n"
                "session ~session-orswyzlhojqw2orrgiztunbvgy.json "
                "telegram:123:456;\n"
                /* The session inside has another id than the key. */
                "session ~session-sha256-e42dd264fd5cf1bc947505b995dceb9ae0a2d2"
                "a4c99b4ce5ea02f36526819280.json ;\n",
                folder);
    pdr_folder_close(folder);
    room_leave(&room);
}

/* --- history files ------------------------------------------------------- */

#define M(n) "{\"type\":\"message\",\"role\":\"user\",\"n\":" #n "}"

static pdr_rc append_again(const pdr_value *message, pdr_err *err, void *arg)
{
    return pdr_folder_history_append(NULL, arg, pdr_str_c("copy"), &message, 1,
                                     err);
}

/* Read one file and append each message to another: the same bytes. */
static void check_history(pdr_folder_format format, const char *key,
                          const char *name, size_t count)
{
    pdr_history_report report;
    struct room room;
    pdr_folder *folder = NULL;
    size_t before_len = 0, after_len = 0;
    char *before = NULL, *after = NULL;

    room_enter(&room);
    room_fill(&room, DATA "history");
    folder = folder_of(&room, format, NULL);
    ASSERT_RC(PDR_OK, pdr_folder_history(&report, folder, pdr_str_c(key), NULL,
                                         append_again, folder));
    ASSERT_SIZE(count, report.messages);
    ASSERT_SIZE(0, report.tail_bytes);
    before = room_get(&room, name, &before_len);
    after = room_get(&room,
                     format == PDR_FOLDER_JSON ? "copy.jsonl" : "copy.msgpack",
                     &after_len);
    ASSERT_BYTES(pdr_str_n(before, before_len), pdr_str_n(after, after_len));
    free(before);
    free(after);
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(history, comes_back_byte_for_byte)
{
    COVERS("S-143");
    check_history(PDR_FOLDER_JSON, "desk-0026", "desk-0026.jsonl", 4);
    check_history(PDR_FOLDER_MSGPACK, "desk-0026", "desk-0026.msgpack", 4);
    check_history(PDR_FOLDER_JSON, "", "default.jsonl", 1);
    check_history(PDR_FOLDER_JSON, "Night/Shift",
                  "~session-jzuwo2duf5jwq2lgoq.jsonl", 1);
}

TEST(history, gives_all_messages_before_a_torn_one)
{
    COVERS("S-109");
    pdr_history_report report;
    struct room room;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    room_put_c(&room, "a.jsonl", M(1) "\n" M(2) "\n{\"type\":\"me");
    ASSERT_RC(PDR_OK, pdr_folder_history(&report, folder, pdr_str_c("a"), &err,
                                         NULL, NULL));
    ASSERT_SIZE(2, report.messages);
    ASSERT_SIZE(11, report.tail_bytes);
    room_put_c(&room, "a.jsonl", M(1) "\n{\"type\":\"me\n" M(3) "\n");
    ASSERT_RC(PDR_ECORRUPT, pdr_folder_history(&report, folder, pdr_str_c("a"),
                                               &err, NULL, NULL));
    ASSERT_STR("damaged_record", err.reason);
    ASSERT(strstr(err.message, "line 2 of 'a.jsonl'") != NULL);
    pdr_folder_close(folder);
    folder = folder_of(&room, PDR_FOLDER_MSGPACK, NULL);
    room_put(&room, "a.msgpack", pdr_str_n("\0\0\0\x01\x80\0\0\0\x05\x81", 10));
    ASSERT_RC(PDR_OK, pdr_folder_history(&report, folder, pdr_str_c("a"), &err,
                                         NULL, NULL));
    ASSERT_SIZE(1, report.messages);
    ASSERT_SIZE(5, report.tail_bytes);
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(history, refuses_a_length_that_cannot_be)
{
    COVERS("S-110");
    static const char *const lengths[] = {"\0\0\0\0", "\x04\0\0\x01"};
    static const char *const said[] = {"record 2 of 'a.msgpack' has the "
                                       "length 0",
                                       "length 67108865"};
    struct room room;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_MSGPACK, NULL);
    for (int i = 0; i < 2; i++) {
        char file[9] = {0, 0, 0, 1, (char)0x80};
        memcpy(file + 5, lengths[i], 4);
        room_put(&room, "a.msgpack", pdr_str_n(file, sizeof(file)));
        ASSERT_RC(PDR_ECORRUPT, pdr_folder_history(NULL, folder, pdr_str_c("a"),
                                                   &err, NULL, NULL));
        ASSERT_STR("damaged_record", err.reason);
        ASSERT(strstr(err.message, said[i]) != NULL);
    }
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(history, ends_a_line_before_it_appends)
{
    COVERS("S-146");
    pdr_history_report report;
    struct room room;
    pdr_folder *folder = NULL;
    pdr_value *message = NULL;
    const pdr_value *messages[2];

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    ASSERT_RC(PDR_OK, pdr_json_read(&message, pdr_str_c(M(2)), NULL, NULL));
    messages[0] = messages[1] = message;
    room_put_c(&room, "a.jsonl", M(1));
    ASSERT_RC(PDR_OK, pdr_folder_history_append(&report, folder, pdr_str_c("a"),
                                                messages, 2, NULL));
    ASSERT(report.unterminated);
    room_assert(&room, "a.jsonl", M(1) "\n" M(2) "\n" M(2) "\n");
    ASSERT_RC(PDR_OK, pdr_folder_history(&report, folder, pdr_str_c("a"), NULL,
                                         NULL, NULL));
    ASSERT_SIZE(3, report.messages);
    pdr_value_free(message);
    pdr_folder_close(folder);
    room_leave(&room);
}
