/*
 * folder_verdicts.c - odd files that the Python edition was given, and what we
 * make of them.
 *
 * Each line of verdicts.jsonl that is about a file store or a history file has
 * a row below. Where the other side loses a session for one value, or fails
 * with whatever error came up, ours reads it and tells; what nobody can read is
 * refused with its place.
 */
#include "folder_text.h"

#define NONE NULL

/* What we say to one input. */
static const struct row {
    const char *id;
    const char *reason; /* NULL: it is read */
    const char *place;  /* path of a refusal; what is told of a session; what
                           the text of a damaged record has in it */
    unsigned messages;  /* of a history that is read */
    unsigned tail;      /* bytes of its torn end */
} rows[] = {
    {"store-no-version", NONE, "", 0, 0},
    {"store-version-1.1", NONE, "newer-version /version;", 0, 0},
    {"store-version-null", "envelope", "/version", 0, 0},
    {"store-unknown-member", NONE, "", 0, 0},
    {"store-repeated-member", NONE, "", 0, 0},
    {"store-no-service-id", "envelope", "/service_session_id", 0, 0},
    {"store-numeric-service-id", "envelope", "/service_session_id", 0, 0},
    {"store-empty-id", NONE, "", 0, 0},
    {"store-other-type", "envelope", "/type", 0, 0},
    {"store-null-state", "envelope", "/state", 0, 0},
    {"store-empty-file", "damaged", "", 0, 0},
    {"store-truncated", "damaged", "", 0, 0},
    {"store-trailing", "damaged", "", 0, 0},
    {"store-bom", "damaged", "", 0, 0},
    {"store-root-null", "envelope", "", 0, 0},
    {"store-nan", NONE, "bare-token /state/k;", 0, 0},
    {"store-1e400", NONE, "", 0, 0},
    {"store-lone-surrogate", NONE, "lone-surrogate /state/k;", 0, 0},
    {"store-big-integer", NONE, "", 0, 0},
    {"store-trailing-comma", "damaged", "", 0, 0},
    {"store-comment", "damaged", "", 0, 0},
    {"store-tagged-data", NONE, "", 0, 0},
    {"store-depth-200", "too_deep", "...", 0, 0},
    {"store-depth-1500", "too_deep", "...", 0, 0},
    {"store-bad-utf8", "bad_utf8", "/state/k", 0, 0},
    {"msgpack-no-version", NONE, "", 0, 0},
    {"msgpack-truncated", "damaged", "", 0, 0},
    {"msgpack-trailing", "damaged", "", 0, 0},
    {"msgpack-bin", "binary_data", "/state/k", 0, 0},
    {"msgpack-timestamp", "timestamp", "/state/k", 0, 0},
    {"msgpack-integer-keys", "name_no_string", "/state/k", 0, 0},
    {"msgpack-float32", NONE, "", 0, 0},
    {"msgpack-array-root", "envelope", "", 0, 0},
    {"history-blank-lines", NONE, "", 1, 0},
    {"history-torn", NONE, "", 1, 30},
    {"history-non-object", "damaged_record", "line 2 of 'x.jsonl'", 0, 0},
    {"history-unknown-member", NONE, "", 1, 0},
    {"history-other-tag", NONE, "", 1, 0},
    {"history-non-finite", NONE, "", 1, 0},
    {"history-lone-surrogate", NONE, "", 1, 0},
    {"history-cr-only", NONE, "", 2, 0},
    {"history-glued-records", "damaged_record", "line 1 of 'x.jsonl'", 0, 0},
    {"history-length-0", "damaged_record", "record 1 of 'x.msgpack'", 0, 0},
    {"history-length-64MiB+1", "damaged_record", "record 1 of 'x.msgpack'", 0,
     0},
    {"history-short-header", NONE, "", 0, 2},
    {"history-short-body", NONE, "", 0, 6},
};

static const struct row *find_row(const pdr_value *id)
{
    for (size_t i = 0; i < PDR_COUNT(rows); i++)
        if (pdr_value_text_is(id, pdr_str_c(rows[i].id)))
            return &rows[i];
    return NULL;
}

/* The bytes of a line: `input`, or `input_hex`. */
static void read_input(pdr_buf *out, const pdr_value *line)
{
    const pdr_value *hex = pdr_value_get_c(line, "input_hex");
    pdr_buf scratch = PDR_BUF_INIT(1 << 20);
    pdr_str text = {0};

    ASSERT_RC(PDR_OK,
              pdr_value_text(&text,
                             hex != NULL ? hex : pdr_value_get_c(line, "input"),
                             &scratch, NULL));
    for (size_t i = 0; hex != NULL && i + 1 < text.len; i += 2) {
        char digits[3] = {text.ptr[i], text.ptr[i + 1], '\0'};
        char byte = (char)strtoul(digits, NULL, 16);
        ASSERT_RC(PDR_OK, pdr_buf_append(out, pdr_str_n(&byte, 1), NULL));
    }
    if (hex == NULL)
        ASSERT_RC(PDR_OK, pdr_buf_append(out, text, NULL));
    pdr_buf_dispose(&scratch);
}

static void check_place(const struct row *row, const pdr_err *err)
{
    if (strcmp(row->place, "...") == 0)
        ASSERT_INT(0, strncmp(err->path, "...", 3)); /* too long to show */
    else if (strcmp(row->reason, "damaged_record") == 0)
        ASSERT(strstr(err->message, row->place) != NULL);
    else
        ASSERT_STR(row->place, err->path);
}

/* What was read can be saved, and no byte of it changes. */
static void check_session(const struct row *row, pdr_folder *folder)
{
    pdr_buf told = PDR_BUF_INIT(4096);
    pdr_session *session = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_folder_get(&session, NULL, folder, pdr_str_c("x"), &err,
                               note_rule, &told);

    if ((rc == PDR_OK) != (row->reason == NULL))
        fail_msg("%s: %s", row->id, err.message);
    if (rc == PDR_OK) {
        ASSERT_TEXT(row->place, pdr_buf_str(&told));
        ASSERT_RC(PDR_OK, pdr_folder_set(NULL, folder, pdr_str_c("x"), NULL,
                                         session, &err, NULL, NULL));
    } else {
        ASSERT_STR(row->reason, err.reason);
        check_place(row, &err);
    }
    pdr_session_free(session);
    pdr_buf_dispose(&told);
}

static void check_messages(const struct row *row, pdr_folder *folder)
{
    pdr_history_report report;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc =
        pdr_folder_history(&report, folder, pdr_str_c("x"), &err, NULL, NULL);

    if ((rc == PDR_OK) != (row->reason == NULL))
        fail_msg("%s: %s", row->id, err.message);
    if (rc != PDR_OK) {
        ASSERT_STR(row->reason, err.reason);
        check_place(row, &err);
        return;
    }
    ASSERT_SIZE(row->messages, report.messages);
    ASSERT_SIZE(row->tail, report.tail_bytes);
}

static void check_line(const pdr_value *line, pdr_str reader)
{
    bool is_store = memcmp(reader.ptr, "store", 5) == 0;
    bool is_json = reader.ptr[reader.len - 1] != 'k';
    const char *name = !is_json ? "x.msgpack" : is_store ? "x.json" : "x.jsonl";
    const struct row *row = find_row(pdr_value_get_c(line, "id"));
    pdr_buf input = PDR_BUF_INIT(1 << 20);
    struct room room;
    pdr_folder *folder = NULL;
    size_t len = 0;
    char *after = NULL;

    ASSERT(row != NULL);
    room_enter(&room);
    folder =
        folder_of(&room, is_json ? PDR_FOLDER_JSON : PDR_FOLDER_MSGPACK, NULL);
    read_input(&input, line);
    room_put(&room, name, pdr_buf_str(&input));
    if (is_store)
        check_session(row, folder);
    else
        check_messages(row, folder);
    after = room_get(&room, name, &len);
    ASSERT_BYTES(pdr_buf_str(&input), pdr_str_n(after, len));
    free(after);
    if (row->reason != NULL && strcmp(row->reason, "damaged") == 0)
        assert_set_aside(NULL, &room, folder, "x");
    pdr_buf_dispose(&input);
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(folder_verdicts, keep_and_tell_where_others_lose)
{
    size_t len = 0, checked = 0;
    char *file = test_read_data("python/sessions/verdicts.jsonl", &len);
    pdr_read_opts opts = {.max_depth = 1024}; /* of what came out there */
    pdr_str rest = pdr_str_n(file, len);

    while (rest.len > 0) {
        const char *end = memchr(rest.ptr, '\n', rest.len);
        size_t line_len = end != NULL ? (size_t)(end - rest.ptr) : rest.len;
        pdr_value *line = NULL;
        pdr_str reader = {0};
        ASSERT_RC(PDR_OK, pdr_json_read(&line, pdr_str_n(rest.ptr, line_len),
                                        &opts, NULL));
        ASSERT_RC(PDR_OK,
                  pdr_value_text(&reader, pdr_value_get_c(line, "reader"), NULL,
                                 NULL));
        if (reader.ptr[0] != 'f') { /* from_dict reads no file */
            check_line(line, reader);
            checked++;
        }
        pdr_value_free(line);
        rest.ptr += line_len + (end != NULL);
        rest.len -= line_len + (end != NULL);
    }
    free(file);
    ASSERT_SIZE(PDR_COUNT(rows), checked);
}
