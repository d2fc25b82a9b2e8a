/* Any bytes as a file of messages: what is read before an append is read after
 * it, and the new message behind; a torn end is told, cut off and kept. A file
 * that is damaged inside stays as it is damaged. The first byte says in which
 * format. */
#include "fuzz.h"

#include "folder.h"
#include "memory_files.h"

#define MAX_BYTES ((size_t)1 << 26)

static pdr_rc note(const pdr_value *message, pdr_err *err, void *arg)
{
    pdr_write_opts opts = {PDR_BARE_TOKENS, PDR_COMPACT, 0, NULL};
    pdr_buf *text = arg;

    MUST(pdr_value_kind(message) == PDR_OBJECT);
    MUST(pdr_json_write(text, message, &opts, err) == PDR_OK);
    return pdr_buf_append(text, pdr_str_c("\n"), err);
}

static pdr_rc read_all(pdr_history_report *report, pdr_buf *text,
                       pdr_folder *folder, pdr_err *err)
{
    return pdr_folder_history(report, folder, pdr_str_c("a"), err, note, text);
}

/* The end of the input is in the file that was told of. */
static void check_aside(struct memory_folder *memory,
                        const pdr_history_report *report, pdr_str input)
{
    const struct memory_file *aside = memory_find(memory, report->aside, false);

    MUST(aside != NULL && aside->bytes.len == report->tail_bytes);
    MUST(report->tail_bytes <= input.len);
    MUST(memcmp(aside->bytes.ptr, input.ptr + input.len - report->tail_bytes,
                report->tail_bytes) == 0);
}

static void check_append(struct memory_folder *memory, pdr_folder *folder,
                         pdr_str input)
{
    pdr_buf before = PDR_BUF_INIT(MAX_BYTES), after = PDR_BUF_INIT(MAX_BYTES);
    pdr_value *message = pdr_value_new_object();
    const pdr_value *messages[1] = {message};
    pdr_history_report read = {0}, mended = {0}, again = {0};
    pdr_err err = PDR_ERR_INIT, later = PDR_ERR_INIT;
    pdr_rc rc = read_all(&read, &before, folder, &err);
    pdr_rc appended = pdr_folder_history_append(&mended, folder, pdr_str_c("a"),
                                                messages, 1, NULL);
    pdr_rc then = read_all(&again, &after, folder, &later);

    if (rc == PDR_OK) {
        MUST(appended == PDR_OK && then == PDR_OK);
        MUST(read.tail_bytes == mended.tail_bytes && again.tail_bytes == 0);
        MUST(again.messages == read.messages + 1 && !again.unterminated);
        MUST(pdr_buf_append(&before, pdr_str_c("{}\n"), NULL) == PDR_OK);
    } else {
        MUST(then == rc && strcmp(err.reason, later.reason) == 0);
        MUST(again.messages == read.messages);
    }
    MUST(pdr_str_equal(pdr_buf_str(&before), pdr_buf_str(&after)));
    if (mended.tail_bytes > 0)
        check_aside(memory, &mended, input);
    pdr_value_free(message);
    pdr_buf_dispose(&before);
    pdr_buf_dispose(&after);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"a.jsonl", "a.msgpack"};
    struct memory_folder memory;
    pdr_folder *folder = NULL;
    pdr_str input;
    int format = 0;

    if (size == 0)
        return 0;
    format = data[0] & 1;
    input = pdr_str_n((const char *)data + 1, size - 1);
    memory_init(&memory);
    MUST(pdr_buf_append(&memory_find(&memory, names[format], true)->bytes,
                        input, NULL) == PDR_OK);
    MUST(pdr__folder_open_with(&folder, "", (pdr_folder_format)format, false,
                               &memory.table, NULL) == PDR_OK);
    check_append(&memory, folder, input);
    pdr_folder_close(folder);
    memory_dispose(&memory);
    return 0;
}
