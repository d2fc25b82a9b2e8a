/* Files of messages: reading, appending, torn ends, failures on the way. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "room.h"
#include "trick_files.h"

#include "folder.h"

#define M(n) "{\"type\":\"message\",\"role\":\"user\",\"n\":" #n "}"

static pdr_folder *open_room(const struct room *room, pdr_folder_format format,
                             const struct pdr__files *files)
{
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (files == NULL)
        files = pdr__files_system();
    ASSERT_RC(PDR_OK, pdr__folder_open_with(&folder, room->path, format, false,
                                            files, &err));
    return folder;
}

static pdr_rc add_text(const pdr_value *message, pdr_err *err, void *arg)
{
    pdr_write_opts opts = {PDR_BARE_TOKENS, PDR_COMPACT, 0, NULL};
    pdr_buf *out = arg;
    pdr_rc rc = pdr_json_write(out, message, &opts, err);

    return rc == PDR_OK ? pdr_buf_append(out, pdr_str_c("|"), err) : rc;
}

/* All messages of `key`, each with a bar behind it. */
static void check_read(const char *expected, pdr_folder *folder,
                       const char *key, pdr_history_report *report)
{
    pdr_buf text = PDR_BUF_INIT(1 << 24);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_folder_history(report, folder, pdr_str_c(key), &err,
                                         add_text, &text));
    ASSERT_TEXT(expected, pdr_buf_str(&text));
    pdr_buf_dispose(&text);
}

static pdr_rc append_text(pdr_history_report *report, pdr_folder *folder,
                          const char *key, const char *json, pdr_err *err)
{
    pdr_read_opts opts = {.flags = PDR_BARE_TOKENS};
    pdr_value *message = NULL;
    const pdr_value *messages[1];
    pdr_rc rc = pdr_json_read(&message, pdr_str_c(json), &opts, err);

    messages[0] = message;
    if (rc == PDR_OK)
        rc = pdr_folder_history_append(report, folder, pdr_str_c(key), messages,
                                       1, err);
    pdr_value_free(message);
    return rc;
}

static void check_refusal(pdr_rc rc, const char *reason, const char *said,
                          pdr_folder *folder, const char *key)
{
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(
        rc, pdr_folder_history(NULL, folder, pdr_str_c(key), &err, NULL, NULL));
    ASSERT_STR(reason, err.reason);
    if (strstr(err.message, said) == NULL)
        fail_msg("'%s' is not in '%s'", said, err.message);
}

TEST(history_read, takes_each_kind_of_line_break)
{
    pdr_history_report report;
    struct room room;
    pdr_folder *folder = NULL;

    room_enter(&room);
    folder = open_room(&room, PDR_FOLDER_JSON, NULL);
    room_put_c(&room, "a.jsonl", "\n \r\n" M(1) "\r" M(2) "\r\n\r\v" M(3) "\n");
    check_read(M(1) "|" M(2) "|" M(3) "|", folder, "a", &report);
    ASSERT_SIZE(3, report.messages);
    ASSERT_SIZE(0, report.tail_bytes);
    ASSERT(!report.unterminated);
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(history_read, joins_lines_over_the_borders_of_what_is_read_at_once)
{
    struct room room;
    pdr_folder *folder = NULL;
    pdr_history_report report;
    pdr_buf text = PDR_BUF_INIT(1 << 24);
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    folder = open_room(&room, PDR_FOLDER_JSON, NULL);
    for (int i = 0; i < 700; i++)
        ASSERT_RC(PDR_OK,
                  pdr_buf_printf(&text, &err, "{\"n\":%d,\"t\":\"%0*d\"}%s", i,
                                 i * 3, 0, i % 3 == 0 ? "\r\n" : "\r"));
    room_put(&room, "a.jsonl", pdr_buf_str(&text));
    ASSERT_RC(PDR_OK, pdr_folder_history(&report, folder, pdr_str_c("a"), &err,
                                         NULL, NULL));
    ASSERT_SIZE(700, report.messages);
    pdr_buf_dispose(&text);
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(history_read, tells_of_a_torn_end_and_gives_the_rest)
{
    pdr_history_report report;
    struct room room;
    pdr_folder *folder = NULL;

    room_enter(&room);
    folder = open_room(&room, PDR_FOLDER_JSON, NULL);
    room_put_c(&room, "a.jsonl",
               M(1) "\n"
                    "{\"type\":\"mess");
    check_read(M(1) "|", folder, "a", &report);
    ASSERT_SIZE(13, report.tail_bytes);
    room_put_c(&room, "b.jsonl", M(1) "\n" M(2));
    check_read(M(1) "|" M(2) "|", folder, "b", &report);
    ASSERT(report.unterminated && report.tail_bytes == 0);
    room_put_c(&room, "c.jsonl", M(1) "\n5"); /* of 57, say */
    check_read(M(1) "|", folder, "c", &report);
    ASSERT_SIZE(1, report.tail_bytes);
    room_put_c(&room, "d.jsonl", M(1) "\n  \t");
    check_read(M(1) "|", folder, "d", &report);
    ASSERT_SIZE(0, report.tail_bytes);
    room_put_c(&room, "e.jsonl", M(1) "\n{\"t\":\"caf\xC3"); /* inside an é */
    check_read(M(1) "|", folder, "e", &report);
    ASSERT_SIZE(10, report.tail_bytes);
    room_put_c(&room, "f.jsonl", "");
    check_read("", folder, "f", &report);
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(history_read, names_the_line_that_is_bad)
{
    struct room room;
    pdr_folder *folder = NULL;

    room_enter(&room);
    folder = open_room(&room, PDR_FOLDER_JSON, NULL);
    room_put_c(&room, "a.jsonl", M(1) "\n\n{\"x\":}\n" M(2) "\n");
    check_refusal(PDR_ECORRUPT, "damaged_record", "line 3 of 'a.jsonl'", folder,
                  "a");
    room_put_c(&room, "b.jsonl", M(1) "\r5\n");
    check_refusal(PDR_ECORRUPT, "damaged_record", "line 2 of 'b.jsonl'", folder,
                  "b");
    room_put_c(&room, "c.jsonl", M(1) M(2) "\n");
    check_refusal(PDR_ECORRUPT, "damaged_record", "line 1 of 'c.jsonl'", folder,
                  "c");
    room_put_c(&room, "d.jsonl", M(1) "\n{\"a\":\"\xFF\"}\n");
    check_refusal(PDR_EINVALID, "bad_utf8", "line 2 of 'd.jsonl'", folder, "d");
    check_refusal(PDR_ENOTFOUND, "no_session", "'nobody'", folder, "nobody");
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(history_read, reads_nan_and_lone_surrogates)
{
    struct room room;
    pdr_folder *folder = NULL;

    room_enter(&room);
    folder = open_room(&room, PDR_FOLDER_JSON, NULL);
    room_put_c(&room, "a.jsonl",
               "{\"a\":NaN,\"b\":-Infinity,\"c\":\"\\ud800\"}\n");
    check_read("{\"a\":NaN,\"b\":-Infinity,\"c\":\"\\ud800\"}|", folder, "a",
               NULL);
    pdr_folder_close(folder);
    room_leave(&room);
}

static void move_to_new_name(void *arg)
{
    char old[600];

    snprintf(old, sizeof(old), "%s", room_path(arg, "Abc.jsonl"));
    ASSERT_INT(0, rename(old, room_path(arg, "~session-ifrgg.jsonl")));
}

static void remove_it(void *arg)
{
    (void)unlink(room_path(arg, "Abc.jsonl"));
}

TEST(history_read, looks_again_for_a_file_that_was_renamed_meanwhile)
{
    struct room room;
    struct trick trick;
    pdr_folder *folder = NULL;

    room_enter(&room);
    trick_init(&trick);
    trick.arg = &room;
    folder = open_room(&room, PDR_FOLDER_JSON, &trick.table);
    room_put_c(&room, "Abc.jsonl", M(1) "\n");
    trick.before = move_to_new_name;
    trick_arm(&trick, 4, false, 0); /* new, old, other case: then it opens */
    check_read(M(1) "|", folder, "Abc", NULL);
    ASSERT(trick_done(&trick));
    ASSERT_INT(0, unlink(room_path(&room, "~session-ifrgg.jsonl")));
    room_put_c(&room, "Abc.jsonl", M(1) "\n");
    trick.before = remove_it;
    trick_arm(&trick, 4, true, 0);
    check_refusal(PDR_ENOTFOUND, "no_session", "'Abc'", folder, "Abc");
    pdr_folder_close(folder);
    room_leave(&room);
}

static pdr_rc stop(const pdr_value *message, pdr_err *err, void *arg)
{
    int *calls = arg;

    (void)message;
    (void)err;
    ++*calls;
    return PDR_ECANCELLED;
}

TEST(history_read, ends_when_the_caller_says_so)
{
    struct room room;
    pdr_folder *folder = NULL;
    int calls = 0;

    room_enter(&room);
    folder = open_room(&room, PDR_FOLDER_JSON, NULL);
    room_put_c(&room, "a.jsonl", M(1) "\n" M(2) "\n");
    ASSERT_RC(PDR_ECANCELLED, pdr_folder_history(NULL, folder, pdr_str_c("a"),
                                                 NULL, stop, &calls));
    ASSERT_INT(1, calls);
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(history_read, follows_no_link_and_opens_no_pipe)
{
    struct room room;
    pdr_folder *folder = NULL;

    room_enter(&room);
    folder = open_room(&room, PDR_FOLDER_JSON, NULL);
    room_put_c(&room, "a.jsonl", M(1) "\n");
    ASSERT_INT(0, symlink("a.jsonl", room_path(&room, "b.jsonl")));
    check_refusal(PDR_EINVALID, "file_link", "'b.jsonl'", folder, "b");
    ASSERT_INT(0, mkdir(room_path(&room, "c.jsonl"), 0700));
    check_refusal(PDR_EIO, "file_failed", "'c.jsonl' is no regular file",
                  folder, "c");
    check_refusal(PDR_EINVALID, "folder_key", "UTF-8", folder, "\xFF");
    pdr_folder_close(folder);
    room_leave(&room);
}

/* --- records ------------------------------------------------------------- */

#define R1 "\0\0\0\x04\x81\xa1n\x01"
#define R2 "\0\0\0\x04\x81\xa1n\x02"

static void put_records(const struct room *room, const char *bytes, size_t len)
{
    room_put(room, "a.msgpack", pdr_str_n(bytes, len));
}

TEST(records_read, gives_all_and_tells_of_a_torn_end)
{
    pdr_history_report report;
    struct room room;
    pdr_folder *folder = NULL;

    room_enter(&room);
    folder = open_room(&room, PDR_FOLDER_MSGPACK, NULL);
    put_records(&room, R1 R2, 16);
    check_read("{\"n\":1}|{\"n\":2}|", folder, "a", &report);
    ASSERT_SIZE(0, report.tail_bytes);
    for (size_t cut = 9; cut < 16; cut++) {
        put_records(&room, R1 R2, cut);
        check_read("{\"n\":1}|", folder, "a", &report);
        ASSERT_SIZE(cut - 8, report.tail_bytes);
    }
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(records_read, names_the_record_that_is_bad)
{
    struct room room;
    pdr_folder *folder = NULL;

    room_enter(&room);
    folder = open_room(&room, PDR_FOLDER_MSGPACK, NULL);
    put_records(&room, R1 "\0\0\0\0", 12);
    check_refusal(PDR_ECORRUPT, "damaged_record",
                  "record 2 of 'a.msgpack' has the length 0", folder, "a");
    put_records(&room, "\x04\0\0\x01", 4);
    check_refusal(PDR_ECORRUPT, "damaged_record",
                  "record 1 of 'a.msgpack' has the length 67108865", folder,
                  "a");
    put_records(&room, R1 "\0\0\0\x01\xc1" R2, 21);
    check_refusal(PDR_ECORRUPT, "damaged_record", "record 2", folder, "a");
    put_records(&room, R1 "\0\0\0\x01\x05" R2, 21);
    check_refusal(PDR_ECORRUPT, "damaged_record", "is no object", folder, "a");
    put_records(&room, "\0\0\0\x05\x81\xa1n\xc4\x00", 9);
    check_refusal(PDR_EINVALID, "binary_data", "record 1", folder, "a");
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(records_append, mends_a_torn_end_and_keeps_it)
{
    pdr_history_report report;
    struct room room;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    for (size_t cut = 9; cut < 16; cut++) {
        char *kept = NULL;
        size_t len = 0;
        folder = open_room(&room, PDR_FOLDER_MSGPACK, NULL);
        put_records(&room, R1 R2, cut);
        ASSERT_RC(PDR_OK, append_text(&report, folder, "a", "{\"n\":3}", &err));
        ASSERT_SIZE(cut - 8, report.tail_bytes);
        kept = room_get(&room, report.aside, &len);
        ASSERT(kept != NULL);
        ASSERT_BYTES(pdr_str_n(R2, cut - 8), pdr_str_n(kept, len));
        free(kept);
        check_read("{\"n\":1}|{\"n\":3}|", folder, "a", &report);
        pdr_folder_close(folder);
    }
    room_leave(&room);
}

TEST(records_append, refuses_a_file_that_is_damaged_inside)
{
    struct room room;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    folder = open_room(&room, PDR_FOLDER_MSGPACK, NULL);
    put_records(&room, R1 "\0\0\0\0\0", 13);
    ASSERT_RC(PDR_ECORRUPT, append_text(NULL, folder, "a", "{}", &err));
    ASSERT_STR("damaged_record", err.reason);
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(records_append, sees_what_others_appended_meanwhile)
{
    struct room room;
    pdr_folder *one = NULL, *two = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    one = open_room(&room, PDR_FOLDER_MSGPACK, NULL);
    two = open_room(&room, PDR_FOLDER_MSGPACK, NULL);
    ASSERT_RC(PDR_OK, append_text(NULL, one, "a", "{\"n\":1}", &err));
    ASSERT_RC(PDR_OK, append_text(NULL, two, "a", "{\"n\":2}", &err));
    ASSERT_RC(PDR_OK, append_text(NULL, one, "a", "{\"n\":3}", &err));
    ASSERT_RC(PDR_OK, append_text(NULL, one, "b", "{\"n\":4}", &err));
    ASSERT_RC(PDR_OK, append_text(NULL, one, "a", "{\"n\":5}", &err));
    check_read("{\"n\":1}|{\"n\":2}|{\"n\":3}|{\"n\":5}|", two, "a", NULL);
    pdr_folder_close(one);
    pdr_folder_close(two);
    room_leave(&room);
}

TEST(records_append, sees_that_others_wrote_the_file_anew)
{
    static const char other[] = "\0\0\0\x03\x81\xA0\x01"
                                "\0\0\0\x04\x81\xA1n\x02";
    struct room room;
    pdr_folder *folder = NULL;
    pdr_history_report report;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    folder = open_room(&room, PDR_FOLDER_MSGPACK, NULL);
    ASSERT_RC(PDR_OK, append_text(NULL, folder, "a", "{\"n\":1}", &err));
    /* The first record ended at byte 8; now that is inside of a length. */
    room_put(&room, "a.msgpack", pdr_str_n(other, sizeof(other) - 1));
    ASSERT_RC(PDR_OK, append_text(&report, folder, "a", "{\"n\":3}", &err));
    ASSERT_SIZE(0, report.tail_bytes);
    check_read("{\"\":1}|{\"n\":2}|{\"n\":3}|", folder, "a", NULL);
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(records_append, finds_the_end_of_a_large_record)
{
    struct room room;
    pdr_folder *folder = NULL;
    pdr_history_report report;
    pdr_buf text = PDR_BUF_INIT(1 << 24);
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    for (int zeros = 4000; zeros < 3000000; zeros *= 9) {
        folder = open_room(&room, PDR_FOLDER_MSGPACK, NULL);
        pdr_buf_clear(&text);
        ASSERT_RC(PDR_OK, pdr_buf_printf(&text, &err, "{\"t\":\"%0*d\"}%c",
                                         zeros, 0, 0));
        ASSERT_RC(PDR_OK, append_text(NULL, folder, "a", text.ptr, &err));
        pdr_folder_close(folder);
    }
    folder = open_room(&room, PDR_FOLDER_MSGPACK, NULL);
    ASSERT_RC(PDR_OK, append_text(&report, folder, "a", "{\"n\":2}", &err));
    ASSERT_SIZE(0, report.tail_bytes);
    ASSERT_RC(PDR_OK, pdr_folder_history(&report, folder, pdr_str_c("a"), &err,
                                         NULL, NULL));
    ASSERT_SIZE(5, report.messages);
    pdr_buf_dispose(&text);
    pdr_folder_close(folder);
    room_leave(&room);
}

/* More records than an append goes over one by one. */
static void put_many(const struct room *room, pdr_str end)
{
    static const char record[] = "\0\0\0\x0b\x81\xa4role\xa4user";
    pdr_buf bytes = PDR_BUF_INIT(1 << 20);

    for (int i = 0; i < 5000; i++)
        ASSERT_RC(PDR_OK, pdr_buf_append(&bytes, pdr_str_n(record, 15), NULL));
    ASSERT_RC(PDR_OK, pdr_buf_append(&bytes, end, NULL));
    room_put(room, "a.msgpack", pdr_buf_str(&bytes));
    pdr_buf_dispose(&bytes);
}

static void check_many(pdr_rc expected, size_t count, size_t tail, pdr_str end)
{
    pdr_history_report report = {0};
    struct room room;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    put_many(&room, end);
    folder = open_room(&room, PDR_FOLDER_MSGPACK, NULL);
    ASSERT_RC(expected, append_text(&report, folder, "a", "{}", &err));
    ASSERT_SIZE(tail, report.tail_bytes);
    if (expected == PDR_OK) {
        ASSERT_RC(PDR_OK, pdr_folder_history(&report, folder, pdr_str_c("a"),
                                             &err, NULL, NULL));
        ASSERT_SIZE(count, report.messages);
    } else {
        ASSERT(strstr(err.message, "record 5001 ") != NULL);
    }
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(records_append, finds_the_end_of_very_many)
{
    check_many(PDR_OK, 5001, 0, pdr_str_n("", 0));
    check_many(PDR_OK, 5002, 0, pdr_str_n(R1, 8)); /* no message, but whole */
    check_many(PDR_OK, 5001, 7, pdr_str_n(R1, 7));
    check_many(PDR_ECORRUPT, 0, 0, pdr_str_n("\0\0\0\0\0", 5));
}

TEST(records_append, is_not_fooled_by_a_record_inside_a_torn_one)
{
    pdr_history_report report;
    struct room room;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    folder = open_room(&room, PDR_FOLDER_MSGPACK, NULL);
    put_records(&room, "\0\0\0\x63\x81\xa1n\x9f\0\0\0\x01\x80", 13);
    ASSERT_RC(PDR_OK, append_text(&report, folder, "a", "{\"n\":1}", &err));
    ASSERT_SIZE(13, report.tail_bytes);
    check_read("{\"n\":1}|", folder, "a", NULL);
    pdr_folder_close(folder);
    room_leave(&room);
}

/* --- appending ----------------------------------------------------------- */

TEST(history_append, ends_each_message_with_a_line_feed)
{
    struct room room;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    folder = open_room(&room, PDR_FOLDER_JSON, NULL);
    ASSERT_RC(PDR_OK, append_text(NULL, folder, "a", "{ \"a\" : NaN }", &err));
    ASSERT_RC(PDR_OK, append_text(NULL, folder, "a", "{\"b\":1.10}", &err));
    room_assert(&room, "a.jsonl", "{\"a\":NaN}\n{\"b\":1.10}\n");
    ASSERT_RC(PDR_OK, append_text(NULL, folder, "", "{\"c\":1}", &err));
    room_assert(&room, "default.jsonl", "{\"c\":1}\n");
    ASSERT_RC(PDR_OK, pdr_folder_history_append(NULL, folder, pdr_str_c("x"),
                                                NULL, 0, &err));
    ASSERT(!room_has(&room, "x.jsonl"));
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(history_append, mends_the_end_of_the_file_first)
{
    pdr_history_report report;
    struct room room;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    folder = open_room(&room, PDR_FOLDER_JSON, NULL);
    room_put_c(&room, "a.jsonl", M(1));
    ASSERT_RC(PDR_OK, append_text(&report, folder, "a", M(2), &err));
    ASSERT(report.unterminated && report.tail_bytes == 0);
    room_assert(&room, "a.jsonl", M(1) "\n" M(2) "\n");
    room_put_c(&room, "b.jsonl", M(1) "\n{\"typ");
    ASSERT_RC(PDR_OK, append_text(&report, folder, "b", M(2), &err));
    ASSERT_SIZE(5, report.tail_bytes);
    room_assert(&room, "b.jsonl", M(1) "\n" M(2) "\n");
    room_assert(&room, report.aside, "{\"typ");
    room_put_c(&room, "c.jsonl", M(1) "\r ");
    ASSERT_RC(PDR_OK, append_text(&report, folder, "c", M(2), &err));
    ASSERT(!report.unterminated && report.tail_bytes == 0);
    room_assert(&room, "c.jsonl", M(1) "\r " M(2) "\n");
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(history_append, finds_the_beginning_of_a_long_torn_line)
{
    pdr_history_report report;
    struct room room;
    pdr_folder *folder = NULL;
    pdr_buf text = PDR_BUF_INIT(1 << 24);
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    folder = open_room(&room, PDR_FOLDER_JSON, NULL);
    ASSERT_RC(PDR_OK,
              pdr_buf_printf(&text, &err, M(1) "\n{\"a\":\"%0200000d", 1));
    room_put(&room, "a.jsonl", pdr_buf_str(&text));
    room_put(&room, "b.jsonl",
             pdr_str_n(text.ptr + sizeof(M(1)), text.len - sizeof(M(1))));
    ASSERT_RC(PDR_OK, append_text(&report, folder, "a", M(2), &err));
    ASSERT_SIZE(200006, report.tail_bytes);
    room_assert(&room, "a.jsonl", M(1) "\n" M(2) "\n");
    ASSERT_RC(PDR_OK, append_text(&report, folder, "b", M(2), &err));
    room_assert(&room, "b.jsonl", M(2) "\n");
    pdr_buf_dispose(&text);
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(history_append, leaves_a_line_that_only_breaks_a_limit)
{
    pdr_history_report report;
    struct room room;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;
    char deep[600] = "{\"a\":";

    memset(deep + 5, '[', 200);
    memset(deep + 205, ']', 200);
    memcpy(deep + 405, "}", 2);
    room_enter(&room);
    folder = open_room(&room, PDR_FOLDER_JSON, NULL);
    room_put_c(&room, "a.jsonl", deep);
    ASSERT_RC(PDR_OK, append_text(&report, folder, "a", M(2), &err));
    ASSERT(report.unterminated && report.tail_bytes == 0);
    check_refusal(PDR_ELIMIT, "too_deep", "line 1 of 'a.jsonl'", folder, "a");
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(history_append, writes_nothing_of_what_it_refuses)
{
    const pdr_value *messages[2];
    struct room room;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_value *object = pdr_value_new_object(), *null = pdr_value_new_null();

    room_enter(&room);
    folder = open_room(&room, PDR_FOLDER_JSON, NULL);
    messages[0] = object;
    messages[1] = null;
    ASSERT_RC(PDR_EINVALID,
              pdr_folder_history_append(NULL, folder, pdr_str_c("a"), messages,
                                        2, &err));
    ASSERT_STR("wrong_kind", err.reason);
    ASSERT(strstr(err.message, "message 1") != NULL);
    ASSERT(!room_has(&room, "a.jsonl"));
    pdr_folder_close(folder);
    folder = open_room(&room, PDR_FOLDER_MSGPACK, NULL);
    ASSERT_RC(PDR_EINVALID,
              append_text(NULL, folder, "a", "{\"a\":\"\\ud800\"}", &err));
    ASSERT_STR("lone_surrogate", err.reason);
    ASSERT(!room_has(&room, "a.msgpack"));
    pdr_folder_close(folder);
    pdr_value_free(object);
    pdr_value_free(null);
    room_leave(&room);
}

TEST(history_append, gives_an_old_file_its_new_name)
{
    struct room room;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    folder = open_room(&room, PDR_FOLDER_JSON, NULL);
    room_put_c(&room, "Abc.jsonl", M(1) "\n");
    check_read(M(1) "|", folder, "Abc", NULL);
    ASSERT_RC(PDR_OK, append_text(NULL, folder, "Abc", M(2), &err));
    ASSERT(!room_has(&room, "Abc.jsonl"));
    room_assert(&room, "~session-ifrgg.jsonl", M(1) "\n" M(2) "\n");
    /* The old name of one key is the new name of another. */
    room_put_c(&room, "~session-fnteajdw.jsonl", M(1) "\n");
    check_read(M(1) "|", folder, "+f@$v", NULL);
    check_refusal(PDR_EINVALID, "key_collision", "'+f@$v'", folder, "~{^j7p");
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(history_append, says_when_a_name_is_too_long)
{
    struct room room;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;
    char key[301] = {0};

    memset(key, 'x', 300);
    room_enter(&room);
    folder = open_room(&room, PDR_FOLDER_JSON, NULL);
    ASSERT_RC(PDR_EIO, append_text(NULL, folder, key, M(1), &err));
    ASSERT_STR("file_failed", err.reason);
    ASSERT_INT(ENAMETOOLONG, err.sys);
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(history_append, mends_a_file_of_a_very_long_name)
{
    pdr_history_report report;
    struct room room;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;
    char key[250] = {0}, name[256];

    memset(key, 'x', 240);
    room_enter(&room);
    folder = open_room(&room, PDR_FOLDER_JSON, NULL);
    snprintf(name, sizeof(name), "%s.jsonl", key);
    room_put_c(&room, name, "{\"to");
    ASSERT_RC(PDR_OK, append_text(&report, folder, key, M(1), &err));
    ASSERT_INT(0, strncmp(report.aside, ".~long.jsonl.", 13));
    room_assert(&room, report.aside, "{\"to");
    room_assert(&room, name, M(1) "\n");
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST(history_append, keeps_a_torn_end_where_there_is_no_room_to_put_it)
{
    struct room room;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;
    char name[100];

    room_enter(&room);
    folder = open_room(&room, PDR_FOLDER_JSON, NULL);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), ".x.json.%032x.corrupt", i);
        room_put_c(&room, name, "");
    }
    room_put_c(&room, "a.jsonl", "{\"a\"");
    ASSERT_RC(PDR_ECORRUPT, append_text(NULL, folder, "a", M(1), &err));
    ASSERT_STR("quarantine_full", err.reason);
    room_assert(&room, "a.jsonl", "{\"a\"");
    pdr_folder_close(folder);
    room_leave(&room);
}

/* File calls of the second append of a handle to a file of `count` messages. */
static size_t calls_of_append(pdr_folder_format format, int count)
{
    struct room room;
    struct trick trick;
    pdr_folder *folder = NULL;
    pdr_buf bytes = PDR_BUF_INIT(1 << 24);
    pdr_err err = PDR_ERR_INIT;
    pdr_str record =
        format == PDR_FOLDER_JSON ? pdr_str_c(M(1) "\n") : pdr_str_n(R1, 8);

    for (int i = 0; i < count; i++)
        ASSERT_RC(PDR_OK, pdr_buf_append(&bytes, record, &err));
    room_enter(&room);
    room_put(&room, format == PDR_FOLDER_JSON ? "a.jsonl" : "a.msgpack",
             pdr_buf_str(&bytes));
    trick_init(&trick);
    folder = open_room(&room, format, &trick.table);
    ASSERT_RC(PDR_OK, append_text(NULL, folder, "a", "{}", &err));
    trick_arm(&trick, 0, false, 0);
    ASSERT_RC(PDR_OK, append_text(NULL, folder, "a", "{}", &err));
    pdr_folder_close(folder);
    pdr_buf_dispose(&bytes);
    room_leave(&room);
    return trick.calls;
}

TEST(history_append, costs_the_same_however_long_the_file_is)
{
    for (int format = 0; format < 2; format++) {
        pdr_folder_format as = (pdr_folder_format)format;
        ASSERT_SIZE(calls_of_append(as, 10), calls_of_append(as, 20000));
    }
}

/* Each call fails once, then for ever: what was there is there, and what is
 * there can be read; a torn end is the only trace. */
static void fail_each_call(pdr_folder_format format, bool for_ever,
                           const char *name, pdr_str before)
{
    struct room room;
    struct trick trick;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_EIO;

    for (size_t at = 1; rc != PDR_OK || trick_done(&trick); at++) {
        pdr_history_report report;
        room_enter(&room);
        room_put(&room, name, before);
        trick_init(&trick);
        folder = open_room(&room, format, &trick.table);
        trick_arm(&trick, at, for_ever, EIO);
        rc = append_text(NULL, folder, "a", "{\"n\":7}", &err);
        if (rc != PDR_OK)
            ASSERT(rc == PDR_EIO || rc == PDR_EUNKNOWN);
        pdr_folder_close(folder);
        folder = open_room(&room, format, NULL);
        ASSERT_RC(PDR_OK, pdr_folder_history(&report, folder, pdr_str_c("a"),
                                             &err, NULL, NULL));
        ASSERT(report.messages == 1 || report.messages == 2);
        ASSERT(rc != PDR_OK || report.messages == 2);
        ASSERT_RC(PDR_OK, append_text(NULL, folder, "a", "{\"n\":8}", &err));
        ASSERT_RC(PDR_OK, pdr_folder_history(&report, folder, pdr_str_c("a"),
                                             &err, NULL, NULL));
        ASSERT_SIZE(0, report.tail_bytes);
        pdr_folder_close(folder);
        room_leave(&room);
        ASSERT(at < 100);
    }
}

TEST(history_append, loses_nothing_when_a_file_call_fails)
{
    fail_each_call(PDR_FOLDER_JSON, false, "a.jsonl",
                   pdr_str_c(M(1) "\n{\"to"));
    fail_each_call(PDR_FOLDER_JSON, true, "a.jsonl", pdr_str_c(M(1) "\n{\"to"));
    fail_each_call(PDR_FOLDER_MSGPACK, false, "a.msgpack",
                   pdr_str_n(R1 R2, 12));
    fail_each_call(PDR_FOLDER_MSGPACK, true, "a.msgpack", pdr_str_n(R1 R2, 12));
}

TEST(history_read, says_when_a_file_call_fails)
{
    struct room room;
    struct trick trick;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_EIO;

    room_enter(&room);
    trick_init(&trick);
    for (int format = 0; format < 2; format++) {
        room_put_c(&room, "a.jsonl", M(1) "\n");
        put_records(&room, R1 R2, 16);
        folder = open_room(&room, (pdr_folder_format)format, &trick.table);
        rc = PDR_EIO;
        for (size_t at = 1; rc != PDR_OK; at++) {
            trick_arm(&trick, at, false, EIO);
            rc = pdr_folder_history(NULL, folder, pdr_str_c("a"), &err, NULL,
                                    NULL);
            ASSERT(rc == PDR_OK || rc == PDR_EIO);
        }
        trick_arm(&trick, 0, false, 0);
        pdr_folder_close(folder);
    }
    room_leave(&room);
}

TEST(history_append, says_when_nobody_knows_whether_it_is_on_the_disk)
{
    struct room room;
    struct trick trick;
    pdr_folder *folder = NULL;
    pdr_err err = PDR_ERR_INIT;
    bool unknown = false;

    for (size_t at = 1; at < 20; at++) {
        room_enter(&room);
        trick_init(&trick);
        folder = open_room(&room, PDR_FOLDER_JSON, &trick.table);
        trick_arm(&trick, at, false, EIO);
        if (append_text(NULL, folder, "a", M(1), &err) == PDR_EUNKNOWN) {
            ASSERT_STR("sync_failed", err.reason);
            unknown = true;
        }
        pdr_folder_close(folder);
        room_leave(&room);
    }
    ASSERT(unknown);
}

static void oom_both(pdr_folder_format format, const char *name, pdr_str before)
{
    struct room room;
    pdr_folder *folder = NULL;
    pdr_rc rc = PDR_OK;
    pdr_err err = PDR_ERR_INIT;

    room_enter(&room);
    room_put(&room, name, before);
    rc = pdr_folder_open(&folder, room.path, format, false, &err);
    if (rc == PDR_OK)
        rc = append_text(NULL, folder, "a", "{\"n\":7}", &err);
    if (rc == PDR_OK)
        rc = pdr_folder_history(NULL, folder, pdr_str_c("a"), &err, NULL, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_folder_close(folder);
    room_leave(&room);
}

TEST_OOM(history_append, cleans_up_after_any_failed_allocation)
{
    oom_both(PDR_FOLDER_JSON, "a.jsonl", pdr_str_c(M(1) "\n{\"to"));
    oom_both(PDR_FOLDER_MSGPACK, "a.msgpack", pdr_str_n(R1 R2, 12));
}
