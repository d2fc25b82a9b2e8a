/*
 * folder_text.h - sessions of a folder as texts, for tests.
 */
#ifndef PDR_TEST_FOLDER_TEXT_H
#define PDR_TEST_FOLDER_TEXT_H

#include "room.h"
#include "trick_files.h"

#include "folder.h"

/* A whole file with this state. */
#define FILE_OF(id, state)                       \
    "{\"type\":\"session\",\"session_id\":\"" id \
    "\",\"service_session_id\":null,\"state\":" state ",\"version\":\"1.0\"}"

/* NULL: the calls of the system. */
static inline pdr_folder *folder_of(const struct room *room,
                                    pdr_folder_format format,
                                    const struct trick *trick)
{
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr__folder_open_with(&folder, room->path, format, false,
                                            trick != NULL ? &trick->table
                                                          : pdr__files_system(),
                                            &err));
    return folder;
}

/* NULL without memory. */
static inline pdr_session *session_from(const char *json)
{
    pdr_read_opts opts = {.flags = PDR_BARE_TOKENS};
    pdr_session *session = NULL;
    pdr_value *value = NULL;
    pdr_rc rc = pdr_json_read(&value, pdr_str_c(json), &opts, NULL);

    if (rc == PDR_OK)
        rc = pdr_session_from_value_as(&session, value, PDR_SESSION_PYTHON,
                                       PDR_SESSION_KIND_UNSTATED, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_value_free(value);
    return session;
}

/* Set slot `k` of a session to this JSON. */
static inline pdr_rc slot_set(pdr_session *session, const char *json)
{
    pdr_read_opts opts = {.flags = PDR_BARE_TOKENS};
    pdr_value *value = NULL;
    pdr_rc rc = pdr_json_read(&value, pdr_str_c(json), &opts, NULL);

    if (rc == PDR_OK)
        rc = pdr_bag_set(pdr_session_bag(session), pdr_str_c("k"), value, NULL);
    pdr_value_free(value);
    return rc;
}

/* Save a session made from JSON. */
static inline pdr_rc folder_put(pdr_folder *folder, const char *key,
                                const char *json,
                                const pdr_generation *expected, pdr_err *err)
{
    pdr_session *session = session_from(json);
    pdr_rc rc = PDR_ENOMEM;

    if (session != NULL)
        rc = pdr_folder_set(NULL, folder, pdr_str_c(key), expected, session,
                            err, NULL, NULL);
    pdr_session_free(session);
    return rc;
}

/* Read a session as JSON text into `out`; "" on failure. */
static inline pdr_rc folder_text(pdr_buf *out, pdr_folder *folder,
                                 const char *key, pdr_err *err)
{
    pdr_write_opts opts = {PDR_BARE_TOKENS, PDR_AS_READ, 0, NULL};
    pdr_session *session = NULL;
    pdr_value *value = NULL;
    pdr_rc rc =
        pdr_folder_get(&session, NULL, folder, pdr_str_c(key), err, NULL, NULL);

    pdr_buf_clear(out);
    if (rc == PDR_OK)
        rc = pdr_session_to_value(&value, session, err);
    if (rc == PDR_OK)
        rc = pdr_json_write(out, value, &opts, err);
    pdr_value_free(value);
    pdr_session_free(session);
    return rc;
}

static inline void assert_folder(const char *expected, pdr_folder *folder,
                                 const char *key)
{
    pdr_buf text = PDR_BUF_INIT(1 << 24);
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = folder_text(&text, folder, key, &err);

    if (rc != PDR_OK)
        fail_msg("%s: %s", key, err.message);
    ASSERT_TEXT(expected, pdr_buf_str(&text));
    pdr_buf_dispose(&text);
}

static inline void assert_refused(pdr_rc rc, const char *reason,
                                  const char *path, pdr_folder *folder,
                                  const char *key)
{
    pdr_session *session = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(rc, pdr_folder_get(&session, NULL, folder, pdr_str_c(key), &err,
                                 NULL, NULL));
    ASSERT(session == NULL);
    ASSERT_STR(reason, err.reason);
    ASSERT_STR(path, err.path);
}

/* A writer meets a damaged file, and sets it aside: `aside`, which may be NULL,
 * gets its name, which the error has, too. */
static inline void assert_set_aside(char aside[256], const struct room *room,
                                    pdr_folder *folder, const char *key)
{
    pdr_err err = PDR_ERR_INIT;
    char name[256];

    ASSERT_RC(PDR_ECORRUPT, pdr_folder_set_aside(folder, pdr_str_c(key), &err));
    ASSERT_STR("quarantined", err.reason);
    ASSERT_SIZE(1, room_count(name, room, ".corrupt"));
    ASSERT(strstr(err.message, name) != NULL);
    assert_refused(PDR_ENOTFOUND, "no_session", "", folder, key);
    if (aside != NULL)
        memcpy(aside, name, sizeof(name));
}

/* Findings as "rule pointer;". */
static inline pdr_rc note_rule(const pdr_doc_finding *finding, pdr_err *err,
                               void *arg)
{
    ASSERT(finding->text.len > 0);
    return pdr_buf_printf(arg, err, "%s %.*s;", finding->rule,
                          (int)finding->pointer.len, finding->pointer.ptr);
}

static inline void assert_told(const char *expected, pdr_folder *folder,
                               const char *key)
{
    pdr_buf told = PDR_BUF_INIT(1 << 16);
    pdr_session *session = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_folder_get(&session, NULL, folder, pdr_str_c(key),
                                     &err, note_rule, &told));
    ASSERT_TEXT(expected, pdr_buf_str(&told));
    pdr_session_free(session);
    pdr_buf_dispose(&told);
}

/* Files of a list as "kind name key [old];". */
static inline pdr_rc note_file(const pdr_folder_entry *entry, pdr_err *err,
                               void *arg)
{
    static const char *const kinds[] = {"?", "session", "superseded", "corrupt",
                                        "leftover"};

    return pdr_buf_printf(arg, err, "%s %.*s %.*s%s;\n", kinds[entry->kind],
                          (int)entry->file.len, entry->file.ptr,
                          (int)entry->key.len, entry->key.ptr,
                          entry->has_old_name ? " old" : "");
}

static inline void assert_list(const char *expected, pdr_folder *folder)
{
    pdr_buf text = PDR_BUF_INIT(1 << 16);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_folder_list(folder, &err, note_file, &text));
    ASSERT_TEXT(expected, pdr_buf_str(&text));
    pdr_buf_dispose(&text);
}

#endif
