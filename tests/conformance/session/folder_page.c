/* folder_page.c - the examples of docs/formats/snapshots.md are true. */
#include "folder_text.h"

static char *page;

static char *read_page(void)
{
    size_t len = 0;

    return test_read_data("../../docs/formats/snapshots.md", &len);
}

/* The next text between back quotes, NUL-terminated in place; NULL if the line
 * has no more. */
static char *next_code(char **line)
{
    char *begin = strchr(*line, '`'), *end = NULL;

    if (begin == NULL)
        return NULL;
    end = strchr(begin + 1, '`');
    ASSERT(end != NULL);
    *end = '\0';
    *line = end + 1;
    return begin + 1;
}

static void check_stem(const char *expected, const char *key, bool old)
{
    pdr_buf stem = PDR_BUF_INIT(1024);

    ASSERT_RC(PDR_OK, pdr_folder_stem(&stem, pdr_str_c(key), old, NULL));
    ASSERT_TEXT(expected, pdr_buf_str(&stem));
    pdr_buf_dispose(&stem);
}

TEST(folder_page, shows_the_names_that_files_have)
{
    size_t rows = 0;
    char *rest = NULL, *line = NULL;

    page = read_page();
    for (line = strtok_r(page, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char *key = NULL, *stem = NULL, *old = NULL;
        if (strncmp(line, "| `", 3) != 0)
            continue;
        key = next_code(&line);
        stem = next_code(&line);
        old = next_code(&line);
        check_stem(stem, key, false);
        check_stem(old, key, true);
        rows++;
    }
    ASSERT(rows >= 9);
    free(page);
}

/* Both formats of one example that is read: the same document comes back. */
static void check_read(const char *key, const char *text)
{
    struct room room;
    pdr_folder *json = NULL, *packed = NULL;
    pdr_session *session = NULL;
    char name[300];

    room_enter(&room);
    json = folder_of(&room, PDR_FOLDER_JSON, NULL);
    packed = folder_of(&room, PDR_FOLDER_MSGPACK, NULL);
    snprintf(name, sizeof(name), "%s.json", key);
    room_put_c(&room, name, text);
    ASSERT_RC(PDR_OK, pdr_folder_get(&session, NULL, json, pdr_str_c(key), NULL,
                                     NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_folder_set(NULL, json, pdr_str_c(key), NULL, session,
                                     NULL, NULL, NULL));
    room_assert(&room, name, text);
    if (strcmp(key, "demo-7") == 0) {
        size_t len = 0;
        ASSERT_RC(PDR_OK, pdr_folder_set(NULL, packed, pdr_str_c(key), NULL,
                                         session, NULL, NULL, NULL));
        free(room_get(&room, "demo-7.msgpack", &len));
        ASSERT_SIZE(87, len);
    }
    pdr_session_free(session);
    pdr_folder_close(json);
    pdr_folder_close(packed);
    room_leave(&room);
}

static void check_refused(const char *key, const char *reason, const char *path,
                          const char *text)
{
    pdr_rc rc = strcmp(reason, "damaged") == 0           ? PDR_ECORRUPT
                : strcmp(reason, "session_version") == 0 ? PDR_EVERSION
                                                         : PDR_EINVALID;
    struct room room;
    pdr_folder *folder = NULL;
    char name[300];

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    snprintf(name, sizeof(name), "%s.json", key);
    room_put_c(&room, name, text);
    assert_refused(rc, reason, path, folder, key);
    room_assert(&room, name, text);
    if (rc == PDR_ECORRUPT)
        assert_set_aside(NULL, &room, folder, key);
    pdr_folder_close(folder);
    room_leave(&room);
}

static void check_history(unsigned messages, unsigned tail, const char *text)
{
    pdr_history_report report;
    struct room room;
    pdr_folder *folder = NULL;

    room_enter(&room);
    folder = folder_of(&room, PDR_FOLDER_JSON, NULL);
    room_put_c(&room, "a.jsonl", text);
    ASSERT_RC(PDR_OK, pdr_folder_history(&report, folder, pdr_str_c("a"), NULL,
                                         NULL, NULL));
    ASSERT_SIZE(messages, report.messages);
    ASSERT_SIZE(tail, report.tail_bytes);
    room_assert(&room, "a.jsonl", text);
    ASSERT_SIZE(0, room_count(NULL, &room, ".corrupt"));
    pdr_folder_close(folder);
    room_leave(&room);
}

static void check_block(const char *head, const char *text)
{
    char word[4][64] = {{0}};
    unsigned messages = 0, tail = 0;

    if (sscanf(head, "history %u %u", &messages, &tail) == 2) {
        check_history(messages, tail, text);
        return;
    }
    ASSERT(sscanf(head, "snapshot %63s %63s %63s %63s", word[0], word[1],
                  word[2], word[3]) >= 2);
    if (strcmp(word[0], "read") == 0)
        check_read(word[1], text);
    else if (strcmp(word[0], "damaged") == 0)
        check_refused(word[1], "damaged", "", text);
    else
        check_refused(word[1], word[2], word[3], text);
}

TEST(folder_page, shows_files_as_they_are_read_and_refused)
{
    size_t blocks = 0;
    char *at = NULL;

    page = read_page();
    at = page;
    while ((at = strstr(at, "\n```")) != NULL) {
        char *head = at + 4, *text = strchr(head, '\n'), *end = NULL;
        ASSERT(text != NULL);
        end = strstr(text, "\n```");
        ASSERT(end != NULL);
        *text++ = '\0';
        *end = '\0';
        check_block(head, text);
        at = end + 4;
        blocks++;
    }
    ASSERT(blocks >= 9);
    free(page);
}
