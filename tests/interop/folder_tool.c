/*
 * folder_tool.c - folders of session files, for scripts.
 *
 * Reads a line of JSON for each job and writes a line for each answer:
 *
 *     {"do":"get","folder":"…","format":"json","key":"…"}
 *     {"value":{…},"generation":"…","told":["old-name",…]}
 *
 * "do" is "get"; "set" with the document in "value", or with a slot "name" to
 * put it into, and maybe the "generation" that was read; "remove"; "list";
 * "history"; "append" with messages in "value". What fails is answered with
 * {"error":"reason"}.
 */
#define _POSIX_C_SOURCE 200809L /* getline */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <perdure.h>
#include <perdure/snapshot.h>

static pdr_value *text_value(pdr_str text)
{
    pdr_value *value = NULL;

    if (pdr_value_new_string(&value, text, NULL) != PDR_OK)
        exit(2);
    return value;
}

static void put(pdr_value **io, const char *name, pdr_value *value)
{
    if (pdr_value_set(io, pdr_str_c(name), value, NULL) != PDR_OK)
        exit(2);
    pdr_value_free(value);
}

static void push(pdr_value **io, pdr_value *value)
{
    if (pdr_value_append(io, value, NULL) != PDR_OK)
        exit(2);
    pdr_value_free(value);
}

/* The text of a member; static for each `slot`. "" if there is none. */
static const char *member(const pdr_value *job, const char *name, int slot)
{
    static char texts[4][4096];
    pdr_buf scratch = PDR_BUF_INIT(1 << 16);
    const pdr_value *value = pdr_value_get_c(job, name);
    pdr_str text = {NULL, 0};

    if (value != NULL && pdr_value_text(&text, value, &scratch, NULL) != PDR_OK)
        exit(2);
    snprintf(texts[slot], sizeof(texts[slot]), "%.*s", (int)text.len,
             text.len > 0 ? text.ptr : "");
    pdr_buf_dispose(&scratch);
    return texts[slot];
}

static pdr_value *hex_value(const pdr_generation *generation)
{
    char hex[65];

    for (size_t i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", generation->sha256[i]);
    return text_value(pdr_str_c(hex));
}

static void read_hex(pdr_generation *out, const char *hex)
{
    out->exists = true;
    for (size_t i = 0; i < 32; i++) {
        char digits[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        out->sha256[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
}

static pdr_rc note(const pdr_doc_finding *finding, pdr_err *err, void *arg)
{
    (void)err;
    push(arg, text_value(pdr_str_c(finding->rule)));
    return PDR_OK;
}

static pdr_rc get(pdr_value **answer, pdr_folder *folder, const pdr_value *job,
                  pdr_err *err)
{
    pdr_value *told = pdr_value_new_array(), *value = NULL;
    pdr_generation generation;
    pdr_session *session = NULL;
    pdr_rc rc =
        pdr_folder_get(&session, &generation, folder,
                       pdr_str_c(member(job, "key", 0)), err, note, &told);

    if (rc == PDR_OK)
        rc = pdr_session_to_value(&value, session, err);
    if (rc == PDR_OK) {
        put(answer, "value", value);
        put(answer, "generation", hex_value(&generation));
        put(answer, "told", told);
    } else {
        pdr_value_free(told);
    }
    pdr_session_free(session);
    return rc;
}

/* The session to save: what is there with one slot changed, or a new one. */
static pdr_rc find_session(pdr_session **out, pdr_folder *folder,
                           const pdr_value *job, pdr_err *err)
{
    const char *name = member(job, "name", 1);
    const pdr_value *value = pdr_value_get_c(job, "value");
    pdr_rc rc = PDR_OK;

    if (name[0] == '\0')
        return pdr_session_from_value(out, value, err);
    rc = pdr_folder_get(out, NULL, folder, pdr_str_c(member(job, "key", 0)),
                        err, NULL, NULL);
    if (rc == PDR_OK)
        rc = pdr_bag_set(pdr_session_bag(*out), pdr_str_c(name), value, err);
    return rc;
}

static pdr_rc set(pdr_value **answer, pdr_folder *folder, const pdr_value *job,
                  pdr_err *err)
{
    const char *hex = member(job, "generation", 2);
    pdr_generation expected, written;
    pdr_session *session = NULL;
    pdr_rc rc = find_session(&session, folder, job, err);

    if (hex[0] != '\0')
        read_hex(&expected, hex);
    if (rc == PDR_OK)
        rc = pdr_folder_set(&written, folder, pdr_str_c(member(job, "key", 0)),
                            hex[0] != '\0' ? &expected : NULL, session, err,
                            NULL, NULL);
    if (rc == PDR_OK)
        put(answer, "generation", hex_value(&written));
    pdr_session_free(session);
    return rc;
}

static pdr_rc note_file(const pdr_folder_entry *entry, pdr_err *err, void *arg)
{
    static const char *const kinds[] = {"", "session", "superseded", "corrupt",
                                        "leftover"};
    pdr_value *file = pdr_value_new_object();

    (void)err;
    put(&file, "kind", text_value(pdr_str_c(kinds[entry->kind])));
    put(&file, "file", text_value(entry->file));
    put(&file, "key", text_value(entry->key));
    push(arg, file);
    return PDR_OK;
}

static pdr_rc note_message(const pdr_value *message, pdr_err *err, void *arg)
{
    (void)err;
    push(arg, pdr_value_ref(message));
    return PDR_OK;
}

static pdr_rc append(pdr_folder *folder, const pdr_value *job, pdr_err *err)
{
    const pdr_value *value = pdr_value_get_c(job, "value");
    const pdr_value *messages[100];
    size_t count = pdr_value_count(value);

    for (size_t i = 0; i < count && i < 100; i++)
        messages[i] = pdr_value_at(value, i);
    return pdr_folder_history_append(
        NULL, folder, pdr_str_c(member(job, "key", 0)), messages, count, err);
}

static pdr_rc run(pdr_value **answer, const pdr_value *job, pdr_err *err)
{
    pdr_folder_format format = strcmp(member(job, "format", 3), "json") == 0
                                   ? PDR_FOLDER_JSON
                                   : PDR_FOLDER_MSGPACK;
    pdr_value *list = pdr_value_new_array();
    pdr_folder *folder = NULL;
    pdr_rc rc =
        pdr_folder_open(&folder, member(job, "folder", 3), format, true, err);
    const char *what = member(job, "do", 3);

    if (rc == PDR_OK && strcmp(what, "get") == 0)
        rc = get(answer, folder, job, err);
    else if (rc == PDR_OK && strcmp(what, "set") == 0)
        rc = set(answer, folder, job, err);
    else if (rc == PDR_OK && strcmp(what, "remove") == 0)
        rc = pdr_folder_remove(folder, pdr_str_c(member(job, "key", 0)), NULL,
                               err);
    else if (rc == PDR_OK && strcmp(what, "append") == 0)
        rc = append(folder, job, err);
    else if (rc == PDR_OK && strcmp(what, "list") == 0)
        rc = pdr_folder_list(folder, err, note_file, &list);
    else if (rc == PDR_OK && strcmp(what, "history") == 0)
        rc = pdr_folder_history(NULL, folder, pdr_str_c(member(job, "key", 0)),
                                err, note_message, &list);
    put(answer, "list", list);
    pdr_folder_close(folder);
    return rc;
}

int main(void)
{
    pdr_write_opts write = {PDR_BARE_TOKENS, PDR_COMPACT, 0, NULL};
    pdr_read_opts read = {0};
    char *line = NULL;
    size_t room = 0;
    ssize_t len = 0;

    read.flags = PDR_BARE_TOKENS;
    while ((len = getline(&line, &room, stdin)) > 0) {
        pdr_buf text = PDR_BUF_INIT(UINT32_MAX);
        pdr_value *job = NULL, *answer = pdr_value_new_object();
        pdr_err err = PDR_ERR_INIT;
        pdr_rc rc =
            pdr_json_read(&job, pdr_str_n(line, (size_t)len), &read, &err);

        if (rc == PDR_OK)
            rc = run(&answer, job, &err);
        if (rc == PDR_OK)
            rc = pdr_json_write(&text, answer, &write, &err);
        if (rc == PDR_OK)
            printf("%.*s\n", (int)text.len, text.ptr);
        else
            printf("{\"error\":\"%s\"}\n", err.reason);
        fflush(stdout);
        pdr_value_free(job);
        pdr_value_free(answer);
        pdr_buf_dispose(&text);
    }
    free(line);
    return 0;
}
