/* folder_harness.c - killed processes, and processes at the same time. */
#include "folder_harness.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "folder_text.h"

#define ONE FILE_OF("Abc", "{\"k\":1}")
#define TWO FILE_OF("Abc", "{\"k\":2}")

/* --- kills --------------------------------------------------------------- */

/* In a process of its own; no assertion may fail there. */
static void save_and_die(const struct room *room, size_t at, bool slow_rename)
{
    pdr_folder *folder = NULL;
    struct trick trick;

    trick_init(&trick);
    trick.kill = true;
    trick.slow_rename = slow_rename;
    trick_arm(&trick, at, false, 0);
    if (pdr__folder_open_with(&folder, room->path, PDR_FOLDER_JSON, false,
                              &trick.table, NULL) != PDR_OK ||
        folder_put(folder, "Abc", TWO, NULL, NULL) != PDR_OK)
        _exit(2);
    _exit(0);
}

static pdr_rc count_leftover(const pdr_folder_entry *entry, pdr_err *err,
                             void *arg)
{
    struct kill_report *report = arg;

    (void)err;
    report->leftovers += entry->kind == PDR_FOLDER_LEFTOVER;
    return PDR_OK;
}

static void look_after_kill(struct kill_report *out, const struct room *room)
{
    pdr_folder *folder = folder_of(room, PDR_FOLDER_JSON, NULL);
    pdr_buf text = PDR_BUF_INIT(4096);
    bool is_old = false, is_new = false;

    if (folder_text(&text, folder, "Abc", NULL) == PDR_OK) {
        is_old =
            text.len == sizeof(ONE) - 1 && memcmp(text.ptr, ONE, text.len) == 0;
        is_new =
            text.len == sizeof(TWO) - 1 && memcmp(text.ptr, TWO, text.len) == 0;
    }
    out->missing += !is_old && !is_new;
    out->back += is_old && out->ended_new;
    out->ended_old |= is_old;
    out->ended_new |= is_new;
    ASSERT_RC(PDR_OK, pdr_folder_list(folder, NULL, count_leftover, out));
    pdr_buf_dispose(&text);
    pdr_folder_close(folder);
}

void folder_kill_each(struct kill_report *out, bool old_name, bool slow_rename)
{
    int status = 1;

    memset(out, 0, sizeof(*out));
    for (size_t at = 1; status != 0; at++) {
        struct room room;
        pid_t child = 0;
        room_enter(&room);
        room_put_c(&room, old_name ? "Abc.json" : "~session-ifrgg.json", ONE);
        fflush(NULL);
        child = fork();
        ASSERT(child >= 0);
        if (child == 0)
            save_and_die(&room, at, slow_rename);
        ASSERT_INT(child, waitpid(child, &status, 0));
        if (WIFSIGNALED(status)) {
            ASSERT_INT(SIGKILL, WTERMSIG(status));
            out->kills++;
        } else {
            ASSERT_INT(0, WEXITSTATUS(status));
        }
        look_after_kill(out, &room);
        room_leave(&room);
        ASSERT(at < 100);
    }
}

/* --- at the same time ---------------------------------------------------- */

static pdr_rc raise_once(pdr_folder *folder)
{
    pdr_generation read;
    pdr_session *session = NULL;
    pdr_value *value = NULL;
    int64_t count = 0;
    char text[32];
    pdr_rc rc = pdr_folder_get(&session, &read, folder, pdr_str_c("Abc"), NULL,
                               NULL, NULL);

    if (rc == PDR_OK)
        rc =
            pdr_bag_get(&value, pdr_session_bag(session), pdr_str_c("k"), NULL);
    if (rc == PDR_OK)
        rc = pdr_value_int64(&count, value, NULL);
    snprintf(text, sizeof(text), "%lld", (long long)count + 1);
    if (rc == PDR_OK)
        rc = slot_set(session, text);
    if (rc == PDR_OK)
        rc = pdr_folder_set(NULL, folder, pdr_str_c("Abc"), &read, session,
                            NULL, NULL, NULL);
    pdr_value_free(value);
    pdr_session_free(session);
    return rc;
}

static void raise_often(const struct room *room, bool no_lock)
{
    pdr_folder *folder = NULL;
    struct trick trick;

    trick_init(&trick);
    trick.no_lock = no_lock;
    if (pdr__folder_open_with(&folder, room->path, PDR_FOLDER_JSON, false,
                              &trick.table, NULL) != PDR_OK)
        _exit(2);
    for (int i = 0; i < RACER_ROUNDS; i++) {
        pdr_rc rc = PDR_ECONFLICT;
        while (rc == PDR_ECONFLICT)
            rc = raise_once(folder);
        if (rc != PDR_OK)
            _exit(3);
    }
    _exit(0);
}

static void append_often(const struct room *room)
{
    pdr_value *message = pdr_value_new_object();
    const pdr_value *messages[1] = {message};
    pdr_folder *folder = NULL;

    if (pdr_folder_open(&folder, room->path, PDR_FOLDER_MSGPACK, false, NULL) !=
        PDR_OK)
        _exit(2);
    for (int i = 0; i < RACER_ROUNDS; i++)
        if (pdr_folder_history_append(NULL, folder, pdr_str_c("a"), messages, 1,
                                      NULL) != PDR_OK)
            _exit(3);
    _exit(0);
}

/* Let all run; all must end well. */
static void race(const struct room *room, bool appends, bool no_lock)
{
    pid_t racers[RACERS];

    fflush(NULL);
    for (int i = 0; i < RACERS; i++) {
        racers[i] = fork();
        ASSERT(racers[i] >= 0);
        if (racers[i] == 0 && appends)
            append_often(room);
        if (racers[i] == 0)
            raise_often(room, no_lock);
    }
    for (int i = 0; i < RACERS; i++) {
        int status = 1;
        ASSERT_INT(racers[i], waitpid(racers[i], &status, 0));
        ASSERT_INT(0, status);
    }
}

size_t folder_race_sets(bool no_lock)
{
    pdr_buf text = PDR_BUF_INIT(4096);
    pdr_folder *folder = NULL;
    struct room room;
    const char *count = NULL;
    long reached = 0;

    room_enter(&room);
    room_put_c(&room, "~session-ifrgg.json", FILE_OF("Abc", "{\"k\":0}"));
    race(&room, false, no_lock);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    ASSERT_RC(PDR_OK, folder_text(&text, folder, "Abc", NULL));
    ASSERT_RC(PDR_OK, pdr_buf_append(&text, pdr_str_n("", 1), NULL));
    count = strstr(text.ptr, "\"k\":");
    ASSERT(count != NULL);
    reached = strtol(count + 4, NULL, 10);
    ASSERT_SIZE(0, room_count(NULL, &room, ".tmp"));
    pdr_buf_dispose(&text);
    pdr_folder_close(folder);
    room_leave(&room);
    return (size_t)(RACERS * RACER_ROUNDS - reached);
}

size_t folder_race_appends(void)
{
    pdr_history_report report;
    pdr_folder *folder = NULL;
    struct room room;

    room_enter(&room);
    race(&room, true, false);
    folder = folder_of(&room, PDR_FOLDER_MSGPACK, NULL);
    ASSERT_RC(PDR_OK, pdr_folder_history(&report, folder, pdr_str_c("a"), NULL,
                                         NULL, NULL));
    ASSERT_SIZE(0, report.tail_bytes);
    pdr_folder_close(folder);
    room_leave(&room);
    return (size_t)(RACERS * RACER_ROUNDS) - report.messages;
}
