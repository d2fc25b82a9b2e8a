/*
 * history.c - files of messages: one JSON object a line, or records of
 * MessagePack with the length in front.
 *
 * WHY  The file history provider of the Python edition appends to such files.
 *      One torn line blocks it for ever, and an append behind a line without a
 *      break glues two messages together. Here a torn end costs no message but
 *      the torn one: it is told when reading, and put aside before appending.
 *
 *     whole records │ tail
 *                   │ a whole object, but no line break: one is added
 *                   │ anything else: kept in a file of its own, and cut off
 *
 * INVARIANTS
 *   H1  An append reads the end of the file only. Of lines: back to the last
 *       line break. Of records, which can be told apart from the front only:
 *       the lengths of those behind the place where the file was whole last
 *       time; if there is none, or very many, the last record.
 *   H2  All messages of an append are one write behind a whole record. If that
 *       fails, the file is cut back to where it was.
 *   H3  What is cut off was put on the disk under another name before.
 *
 * A last record is told by its length, which must lead exactly to the end, and
 * by being a message. Bytes inside a torn record could look like that only if
 * somebody made them so; then the next reader gets an error, and all bytes.
 *
 * NOT HERE  Which messages are new: that is for whoever appends.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <perdure/json.h>
#include <perdure/msgpack.h>

#include "folder.h"

#define CHUNK_BYTES ((size_t)64 * 1024) /* that are read at once */
#define HEAD_BYTES  4                   /* the length of a record */
#define DEFAULT_KEY "default"           /* of sessions without id */
/* Lengths that an append goes over, a read each: some milliseconds at most. */
#define MAX_WALK     4096
#define MAX_ATTEMPTS 3 /* to open a file that is renamed meanwhile */

/* A file that is read or mended. */
struct log {
    pdr_folder *folder;
    const char *name;
    int file;
    uint64_t bytes; /* size when it was opened */
};

static const char *ending(pdr_folder_format format)
{
    return format == PDR_FOLDER_JSON ? ".jsonl" : ".msgpack";
}

static const char *unit(const struct log *log)
{
    return log->folder->format == PDR_FOLDER_JSON ? "line" : "record";
}

/* --- reading bytes ------------------------------------------------------- */

static pdr_rc read_at(size_t *got, const struct log *log, void *into,
                      size_t len, uint64_t at, pdr_err *err)
{
    const struct pdr__files *files = log->folder->files;
    int sys = files->read(files->ctx, got, log->file, into, len, at);

    return sys == 0 ? PDR_OK : pdr__file_failed(err, sys, "read", log->name);
}

/* Append `len` bytes from `at` on, or fewer at the end of the file. */
static pdr_rc read_span(pdr_buf *out, const struct log *log, uint64_t at,
                        size_t len, pdr_err *err)
{
    pdr_rc rc = pdr_buf_reserve(out, len, err);
    size_t got = 1;

    while (rc == PDR_OK && len > 0 && got > 0) {
        rc = read_at(&got, log, out->ptr + out->len, len, at, err);
        out->len += got;
        at += got;
        len -= got;
    }
    return rc;
}

/* --- one message --------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1C && c <= 0x1F);
}

static pdr_str strip(pdr_str line)
{
    while (line.len > 0 && is_blank(line.ptr[0])) {
        line.ptr++;
        line.len--;
    }
    while (line.len > 0 && is_blank(line.ptr[line.len - 1]))
        line.len--;
    return line;
}

static pdr_rc decode(pdr_value **out, const struct log *log, pdr_str bytes,
                     pdr_err *err)
{
    const pdr_read_opts opts = {.flags = PDR_BARE_TOKENS};

    return pdr_codec_read(out, pdr__folder_codec(log->folder->format), bytes,
                          &opts, err);
}

static pdr_rc damaged(pdr_err *err, const struct log *log, uint64_t number,
                      const char *why)
{
    char shown[PDR_SHOWN];

    return PDR_FAIL(err, DAMAGED_RECORD, "%s %llu of '%s' %s", unit(log),
                    (unsigned long long)number,
                    pdr__shown(shown, pdr_str_c(log->name)), why);
}

/* Say in which record it was that the codec failed. */
static pdr_rc tell_decode(pdr_err *err, const struct log *log, uint64_t number,
                          pdr_rc rc, const pdr_err *why)
{
    char shown[PDR_SHOWN];

    if (pdr__is_no_document(why, log->folder->format)) {
        rc = damaged(err, log, number, "is damaged");
        pdr__wrap(err, rc, "%s", why->message);
        return rc;
    }
    if (err != NULL)
        *err = *why;
    return pdr__wrap(err, rc, "%s %llu of '%s'", unit(log),
                     (unsigned long long)number,
                     pdr__shown(shown, pdr_str_c(log->name)));
}

/* Hand one record over. */
static pdr_rc give(const struct log *log, uint64_t number, pdr_str bytes,
                   pdr_err *err, pdr_history_fn fn, void *arg)
{
    pdr_err why = PDR_ERR_INIT;
    pdr_value *message = NULL;
    pdr_rc rc = decode(&message, log, bytes, &why);

    if (rc != PDR_OK)
        return tell_decode(err, log, number, rc, &why);
    if (pdr_value_kind(message) != PDR_OBJECT)
        rc = damaged(err, log, number, "is no message: it is no object");
    else if (fn != NULL)
        rc = fn(message, err, arg);
    pdr_value_free(message);
    return rc;
}

/* Is this end of a file a whole message? One that only breaks a limit was not
 * torn either. */
static pdr_rc is_whole(bool *out, const struct log *log, pdr_str bytes,
                       pdr_err *err)
{
    pdr_value *message = NULL;
    pdr_rc rc = decode(&message, log, bytes, err);

    *out = rc == PDR_ELIMIT ||
           (rc == PDR_OK && pdr_value_kind(message) == PDR_OBJECT);
    pdr_value_free(message);
    return rc == PDR_ENOMEM ? rc : PDR_OK;
}

/* --- reading lines ------------------------------------------------------- */

struct lines {
    const struct log *log;
    pdr_buf buf;     /* bytes of the file that were not handed over yet */
    size_t from;     /* the line begins here in `buf` */
    size_t scanned;  /* up to here there is no line break */
    uint64_t next;   /* the byte of the file that follows `buf` */
    uint64_t number; /* of the line, from 1 */
    bool after_cr;   /* a line feed here belongs to the line before */
    pdr_history_report *report;
};

/* More bytes; those before the line go. *end: there are none. */
static pdr_rc refill(struct lines *lines, bool *end, pdr_err *err)
{
    size_t before = 0;
    pdr_rc rc = PDR_OK;

    if (lines->from > 0) {
        memmove(lines->buf.ptr, lines->buf.ptr + lines->from,
                lines->buf.len - lines->from);
        lines->buf.len -= lines->from;
        lines->scanned -= lines->from;
        lines->from = 0;
    }
    before = lines->buf.len;
    rc = read_span(&lines->buf, lines->log, lines->next, CHUNK_BYTES, err);
    lines->next += lines->buf.len - before;
    *end = lines->buf.len == before;
    return rc;
}

/* Find the end of the line in what was read: false if it is not there. */
static bool find_break(struct lines *lines)
{
    const char *text = lines->buf.ptr;

    if (lines->after_cr && lines->from < lines->buf.len) {
        lines->after_cr = false;
        if (text[lines->from] == '\n')
            lines->scanned = ++lines->from;
    }
    while (lines->scanned < lines->buf.len && text[lines->scanned] != '\n' &&
           text[lines->scanned] != '\r')
        lines->scanned++;
    return lines->scanned < lines->buf.len;
}

static pdr_rc give_line(struct lines *lines, pdr_err *err, pdr_history_fn fn,
                        void *arg)
{
    pdr_str line = strip(
        pdr_str_n(lines->buf.ptr + lines->from, lines->scanned - lines->from));
    pdr_rc rc = PDR_OK;

    lines->number++;
    if (line.len > 0) {
        rc = give(lines->log, lines->number, line, err, fn, arg);
        lines->report->messages += rc == PDR_OK;
    }
    return rc;
}

/* What stands behind the last line break. */
static pdr_rc give_tail(struct lines *lines, pdr_err *err, pdr_history_fn fn,
                        void *arg)
{
    pdr_str tail =
        pdr_str_n(lines->buf.ptr + lines->from, lines->buf.len - lines->from);
    bool whole = false;
    pdr_rc rc = PDR_OK;

    if (strip(tail).len == 0)
        return PDR_OK;
    rc = is_whole(&whole, lines->log, strip(tail), err);
    if (rc != PDR_OK)
        return rc;
    if (!whole) {
        lines->report->tail_bytes = tail.len;
        return PDR_OK;
    }
    lines->report->unterminated = true;
    lines->scanned = lines->buf.len;
    return give_line(lines, err, fn, arg);
}

static pdr_rc read_lines(pdr_history_report *report, const struct log *log,
                         pdr_err *err, pdr_history_fn fn, void *arg)
{
    struct lines lines = {
        .log = log, .buf = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES), .report = report};
    bool end = false;
    pdr_rc rc = PDR_OK;

    while (rc == PDR_OK && !end) {
        if (!find_break(&lines)) {
            rc = refill(&lines, &end, err);
            continue;
        }
        rc = give_line(&lines, err, fn, arg);
        lines.after_cr = lines.buf.ptr[lines.scanned] == '\r';
        lines.from = ++lines.scanned;
    }
    if (rc == PDR_OK)
        rc = give_tail(&lines, err, fn, arg);
    pdr_buf_dispose(&lines.buf);
    return rc;
}

/* --- reading records ----------------------------------------------------- */

static uint32_t read_length(const unsigned char head[HEAD_BYTES])
{
    return (uint32_t)head[0] << 24 | (uint32_t)head[1] << 16 |
           (uint32_t)head[2] << 8 | head[3];
}

/* The record at `at`: its length, or *torn if the file ends inside it. */
static pdr_rc read_head(uint32_t *len, bool *torn, const struct log *log,
                        uint64_t at, uint64_t number, pdr_err *err)
{
    unsigned char head[HEAD_BYTES];
    char why[64];
    size_t got = 0;
    pdr_rc rc = PDR_OK;

    *torn = log->bytes - at < HEAD_BYTES;
    if (*torn)
        return PDR_OK;
    rc = read_at(&got, log, head, sizeof(head), at, err);
    if (rc != PDR_OK)
        return rc;
    *len = read_length(head);
    if (*len == 0 || *len > PDR_MAX_RECORD_BYTES) {
        snprintf(why, sizeof(why), "has the length %lu, and 1 to %lu can be",
                 (unsigned long)*len, (unsigned long)PDR_MAX_RECORD_BYTES);
        return damaged(err, log, number, why);
    }
    *torn = got < sizeof(head) || log->bytes - at - HEAD_BYTES < *len;
    return PDR_OK;
}

static pdr_rc read_records(pdr_history_report *report, const struct log *log,
                           pdr_err *err, pdr_history_fn fn, void *arg)
{
    pdr_buf body = PDR_BUF_INIT(PDR_MAX_RECORD_BYTES);
    uint64_t at = 0, number = 0;
    bool torn = false;
    uint32_t len = 0;
    pdr_rc rc = PDR_OK;

    while (rc == PDR_OK && at < log->bytes) {
        rc = read_head(&len, &torn, log, at, ++number, err);
        if (rc != PDR_OK || torn)
            break;
        pdr_buf_clear(&body);
        rc = read_span(&body, log, at + HEAD_BYTES, len, err);
        if (rc == PDR_OK)
            rc = give(log, number, pdr_buf_str(&body), err, fn, arg);
        report->messages += rc == PDR_OK;
        at += (uint64_t)HEAD_BYTES + len;
    }
    if (torn)
        report->tail_bytes = log->bytes - at;
    pdr_buf_dispose(&body);
    return rc;
}

/* --- opening ------------------------------------------------------------- */

static pdr_rc no_messages(pdr_err *err, pdr_str of)
{
    char shown[PDR_SHOWN];

    return PDR_FAIL(err, NO_SESSION, "there are no messages of '%s'",
                    pdr__shown(shown, of));
}

static pdr_rc open_log(struct log *out, pdr_folder *folder, const char *name,
                       enum pdr__file_use use, pdr_err *err)
{
    const struct pdr__files *files = folder->files;
    struct pdr__file_info info = {0};
    int sys = files->open(files->ctx, &out->file, folder->dir, name, use);

    if (sys == ENOENT)
        return no_messages(err, pdr_str_c(name));
    if (sys != 0)
        return pdr__file_failed(err, sys, "open", name);
    out->folder = folder;
    out->name = name;
    sys = files->measure(files->ctx, &info, out->file);
    if (sys == 0 && info.kind != PDR_FILE_REGULAR)
        sys = EINVAL;
    out->bytes = info.bytes;
    if (sys == 0)
        return PDR_OK;
    files->close(files->ctx, out->file);
    return pdr__file_failed(err, sys, "open", name);
}

/* Messages carry no session id, so an old name that is also another key's new
 * name tells nothing. */
static pdr_rc find_log(struct found *out, pdr_folder *folder, pdr_str key,
                       pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (key.len == 0)
        key = PDR_LIT(DEFAULT_KEY);
    rc = pdr__folder_find(out, folder, key, ending(folder->format), err);
    if (rc == PDR_OK && out->has_old_name && out->other.len > 0)
        rc = pdr__folder_collision(err, out->name, key,
                                   pdr_buf_str(&out->other));
    return rc;
}

/* Find a file and open it. Between the two another process may have renamed
 * it, so one that is gone is looked for again. */
static pdr_rc find_and_open(struct log *out, struct found *found,
                            pdr_folder *folder, pdr_str key, pdr_err *err)
{
    pdr_rc rc = PDR_ENOTFOUND;

    for (int i = 0; i < MAX_ATTEMPTS && rc == PDR_ENOTFOUND; i++) {
        pdr__found_dispose(found);
        rc = find_log(found, folder, key, err);
        if (rc == PDR_OK && !found->exists)
            return no_messages(err, key);
        if (rc == PDR_OK)
            rc = open_log(out, folder, found->name, PDR_FILE_READ, err);
    }
    return rc;
}

pdr_rc pdr_folder_history(pdr_history_report *report, pdr_folder *folder,
                          pdr_str key, pdr_err *err, pdr_history_fn fn,
                          void *arg)
{
    pdr_history_report all = {0};
    struct found found = {0};
    struct log log = {0};
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(folder != NULL);
    rc = find_and_open(&log, &found, folder, key, err);
    if (rc == PDR_OK) {
        rc = folder->format == PDR_FOLDER_JSON
                 ? read_lines(&all, &log, err, fn, arg)
                 : read_records(&all, &log, err, fn, arg);
        folder->files->close(folder->files->ctx, log.file);
    }
    if (report != NULL)
        *report = all;
    pdr__found_dispose(&found);
    return rc;
}

/* --- the end of a file --------------------------------------------------- */

/* Where the whole records end, and what has to be done about the rest. */
struct tail {
    uint64_t from;     /* the last whole record ends here */
    bool unterminated; /* it lacks its line break */
};

/* The bytes behind the last line break, `out`, and where they begin. */
static pdr_rc read_last_line(pdr_buf *out, uint64_t *from,
                             const struct log *log, pdr_err *err)
{
    uint64_t len = CHUNK_BYTES;
    pdr_rc rc = PDR_OK;

    for (;; len *= 2) {
        size_t at = 0;
        *from = log->bytes > len ? log->bytes - len : 0;
        pdr_buf_clear(out);
        rc = read_span(out, log, *from, (size_t)(log->bytes - *from), err);
        if (rc != PDR_OK)
            return rc;
        for (at = out->len; at > 0; at--)
            if (out->ptr[at - 1] == '\n' || out->ptr[at - 1] == '\r')
                break;
        if (at > 0 || *from == 0) {
            *from += at;
            memmove(out->ptr, out->ptr + at, out->len - at);
            out->len -= at;
            return PDR_OK;
        }
    }
}

static pdr_rc find_line_tail(struct tail *out, const struct log *log,
                             pdr_err *err)
{
    pdr_buf line = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    bool whole = false;
    char last = 0;
    size_t got = 0;
    pdr_rc rc = PDR_OK;

    out->from = log->bytes;
    if (log->bytes == 0)
        return PDR_OK;
    rc = read_at(&got, log, &last, 1, log->bytes - 1, err);
    if (rc != PDR_OK || last == '\n' || last == '\r')
        return rc;
    rc = read_last_line(&line, &out->from, log, err);
    if (rc == PDR_OK && strip(pdr_buf_str(&line)).len > 0)
        rc = is_whole(&whole, log, strip(pdr_buf_str(&line)), err);
    else
        out->from = log->bytes; /* nothing but white space */
    if (rc == PDR_OK && whole) {
        out->unterminated = true;
        out->from = log->bytes;
    }
    pdr_buf_dispose(&line);
    return rc;
}

/* Is this one message? */
static pdr_rc is_message(bool *out, const struct log *log, pdr_str bytes,
                         pdr_err *err)
{
    pdr_value *message = NULL;
    pdr_rc rc = decode(&message, log, bytes, err);

    *out = rc == PDR_OK && pdr__member(message, "role", PDR_STRING) != NULL;
    pdr_value_free(message);
    return rc == PDR_ENOMEM ? rc : PDR_OK;
}

/* Does a record that ends the file begin somewhere in its last bytes? */
static pdr_rc find_last_record(bool *out, const struct log *log, pdr_str end,
                               pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    *out = false;
    for (size_t at = end.len; rc == PDR_OK && !*out && at >= HEAD_BYTES; at--) {
        const unsigned char *head =
            (const unsigned char *)end.ptr + at - HEAD_BYTES;
        if (end.len > at && read_length(head) == end.len - at)
            rc = is_message(out, log, pdr_str_n(end.ptr + at, end.len - at),
                            err);
    }
    return rc;
}

static pdr_rc ends_with_record(bool *out, const struct log *log, pdr_err *err)
{
    pdr_buf end = PDR_BUF_INIT((size_t)2 * PDR_MAX_RECORD_BYTES);
    size_t len = CHUNK_BYTES / 16;
    pdr_rc rc = PDR_OK;

    for (*out = false; rc == PDR_OK && !*out; len *= 4) {
        bool all = log->bytes <= len;
        pdr_buf_clear(&end);
        rc = read_span(&end, log, all ? 0 : log->bytes - len,
                       all ? (size_t)log->bytes : len, err);
        if (rc == PDR_OK)
            rc = find_last_record(out, log, pdr_buf_str(&end), err);
        if (all || len >= CHUNK_BYTES * 16)
            break; /* a record so large: the walk costs no more */
    }
    pdr_buf_dispose(&end);
    return rc;
}

/* Where was the file whole when we saw it last? */
static uint64_t recall(const struct log *log, const struct pdr__file_info *info)
{
    pdr_folder *folder = log->folder;
    uint64_t end = 0;

    pthread_mutex_lock(&folder->lock);
    if (folder->mark.device == info->device &&
        folder->mark.inode == info->inode && folder->mark.end <= log->bytes)
        end = folder->mark.end;
    pthread_mutex_unlock(&folder->lock);
    return end;
}

static void remember(const struct log *log, const struct pdr__file_info *info,
                     uint64_t end)
{
    pdr_folder *folder = log->folder;

    pthread_mutex_lock(&folder->lock);
    folder->mark = (struct history_mark){info->device, info->inode, end};
    pthread_mutex_unlock(&folder->lock);
}

/* Go over the lengths of records from *end on, at most `most` of them. *end
 * gets where the whole ones end; *decided: is that the end of the file, or of
 * what is whole in it? */
static pdr_rc walk_records(uint64_t *end, bool *decided, const struct log *log,
                           uint64_t most, pdr_err *err)
{
    uint64_t number = 0;
    bool torn = false;
    uint32_t len = 0;
    pdr_rc rc = PDR_OK;

    while (*end < log->bytes && number < most) {
        rc = read_head(&len, &torn, log, *end, ++number, err);
        if (rc != PDR_OK || torn)
            break;
        *end += (uint64_t)HEAD_BYTES + len;
    }
    *decided = rc == PDR_OK && (torn || *end >= log->bytes);
    return rc;
}

static pdr_rc find_record_tail(struct tail *out, const struct log *log,
                               const struct pdr__file_info *info, pdr_err *err)
{
    uint64_t known = recall(log, info);
    bool decided = false, whole = false;
    pdr_rc rc = PDR_OK;

    out->from = known;
    rc = walk_records(&out->from, &decided, log, MAX_WALK, err);
    /* Somebody may have written the file anew since, so nothing is cut off for
     * what stands behind the place where it once was whole. */
    if ((decided && (known == 0 || out->from >= log->bytes)) ||
        (rc != PDR_OK && rc != PDR_ECORRUPT))
        return rc;
    if (rc == PDR_OK && !decided) {
        rc = ends_with_record(&whole, log, err);
        if (rc != PDR_OK)
            return rc;
    }
    if (whole) {
        out->from = log->bytes;
        return PDR_OK;
    }
    out->from = 0; /* so that a bad one is told by its number */
    return walk_records(&out->from, &decided, log, UINT64_MAX, err);
}

/* --- appending ----------------------------------------------------------- */

static pdr_rc encode_record(pdr_buf *out, const pdr_value *message,
                            pdr_err *err)
{
    pdr_write_opts opts = {PDR_BARE_TOKENS | PDR_EXCHANGE, PDR_COMPACT, 0,
                           NULL};
    size_t start = out->len, len = 0;
    pdr_rc rc = pdr_buf_append(out, pdr_str_n("\0\0\0\0", HEAD_BYTES), err);

    if (rc == PDR_OK)
        rc = pdr_codec_write(out, pdr_msgpack_codec(), message, &opts, err);
    if (rc != PDR_OK)
        return rc;
    len = out->len - start - HEAD_BYTES;
    if (len > PDR_MAX_RECORD_BYTES)
        return PDR_FAIL(err, TOO_LARGE,
                        "a message has %zu bytes, at most %lu can be", len,
                        (unsigned long)PDR_MAX_RECORD_BYTES);
    for (int i = 0; i < HEAD_BYTES; i++)
        out->ptr[start + (size_t)i] = (char)(len >> (24 - 8 * i) & 0xFFu);
    return PDR_OK;
}

static pdr_rc encode_line(pdr_buf *out, const pdr_value *message, pdr_err *err)
{
    pdr_write_opts opts = {PDR_BARE_TOKENS, PDR_COMPACT, 0, NULL};
    pdr_rc rc = pdr_json_write(out, message, &opts, err);

    return rc == PDR_OK ? pdr_buf_append(out, PDR_LIT("\n"), err) : rc;
}

static pdr_rc encode_all(pdr_buf *out, const pdr_value *const *messages,
                         size_t count, pdr_folder_format format, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; rc == PDR_OK && i < count; i++) {
        if (pdr_value_kind(messages[i]) != PDR_OBJECT)
            rc = PDR_FAIL(err, WRONG_KIND, "a message is an object, not %s",
                          pdr__kind_phrase(messages[i]));
        else if (format == PDR_FOLDER_JSON)
            rc = encode_line(out, messages[i], err);
        else
            rc = encode_record(out, messages[i], err);
        if (rc != PDR_OK)
            return pdr__wrap(err, rc, "message %zu", i);
    }
    return rc;
}

/* Put what is no whole record into a file of its own, and cut it off (H3). */
static pdr_rc put_aside(pdr_history_report *report, const struct log *log,
                        const struct tail *tail, pdr_err *err)
{
    const struct pdr__files *files = log->folder->files;
    pdr_buf bytes = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    char aside[PDR_NAME_ROOM];
    pdr_rc rc = pdr__folder_room_aside(log->folder, log->name, err);
    int sys = 0;

    if (rc == PDR_OK)
        rc = read_span(&bytes, log, tail->from,
                       (size_t)(log->bytes - tail->from), err);
    if (rc == PDR_OK)
        rc = pdr__folder_beside(aside, log->name, ".corrupt", err);
    if (rc == PDR_OK)
        rc = pdr__folder_make(log->folder, aside, pdr_buf_str(&bytes), err);
    if (rc == PDR_OK)
        rc = pdr__folder_sync(log->folder, err);
    if (rc == PDR_OK) {
        sys = files->cut(files->ctx, log->file, tail->from);
        if (sys != 0)
            rc = pdr__file_failed(err, sys, "cut", log->name);
    }
    if (rc == PDR_OK) {
        report->tail_bytes = bytes.len;
        memcpy(report->aside, aside, sizeof(aside));
    }
    pdr_buf_dispose(&bytes);
    return rc;
}

/* One write (H2). `start`: where the file ends. */
static pdr_rc write_end(const struct log *log, pdr_str bytes, uint64_t start,
                        pdr_err *err)
{
    const struct pdr__files *files = log->folder->files;
    pdr_rc rc = PDR_OK;
    int sys = files->write(files->ctx, log->file, bytes.ptr, bytes.len);

    if (sys != 0) {
        rc = pdr__file_failed(err, sys, "append to", log->name);
        /* If this fails too, the next append finds a torn end. */
        (void)files->cut(files->ctx, log->file, start);
        return rc;
    }
    sys = files->sync(files->ctx, log->file);
    if (sys == 0)
        return PDR_OK;
    rc = PDR_FAIL(err, SYNC_FAILED,
                  "messages were appended to '%s', but could not be put on the "
                  "disk: read it again (errno %d)",
                  log->name, sys);
    if (err != NULL)
        err->sys = sys;
    return rc;
}

static pdr_rc append_open(pdr_history_report *report, const struct log *log,
                          pdr_buf *bytes, pdr_err *err)
{
    const struct pdr__files *files = log->folder->files;
    struct pdr__file_info info = {0};
    struct tail tail = {0};
    pdr_str all = pdr_buf_str(bytes);
    int sys = files->measure(files->ctx, &info, log->file);
    pdr_rc rc = PDR_OK;

    if (sys != 0)
        return pdr__file_failed(err, sys, "look at", log->name);
    rc = log->folder->format == PDR_FOLDER_JSON
             ? find_line_tail(&tail, log, err)
             : find_record_tail(&tail, log, &info, err);
    if (rc == PDR_OK && tail.from < log->bytes)
        rc = put_aside(report, log, &tail, err);
    if (rc != PDR_OK)
        return rc;
    report->unterminated = tail.unterminated;
    if (!tail.unterminated) { /* the line break in front is for that case */
        all.ptr++;
        all.len--;
    }
    rc = write_end(log, all, tail.from, err);
    if (rc == PDR_OK)
        remember(log, &info, tail.from + all.len);
    return rc;
}

/* With the lock. */
static pdr_rc append(pdr_history_report *report, pdr_folder *folder,
                     pdr_str key, pdr_buf *bytes, pdr_err *err)
{
    const struct pdr__files *files = folder->files;
    struct found found = {0};
    struct log log = {0};
    int sys = 0;
    pdr_rc rc = find_log(&found, folder, key, err);

    if (rc == PDR_OK && found.has_old_name) {
        sys = files->rename(files->ctx, folder->dir, found.name, found.fresh);
        if (sys != 0)
            rc = pdr__file_failed(err, sys, "rename", found.name);
    }
    if (rc == PDR_OK)
        rc = open_log(&log, folder, found.fresh, PDR_FILE_GROW, err);
    if (rc == PDR_OK) {
        rc = append_open(report, &log, bytes, err);
        files->close(files->ctx, log.file);
        if (rc == PDR_OK && (!found.exists || found.has_old_name))
            rc = pdr__folder_sync(folder, err);
    }
    pdr__found_dispose(&found);
    return rc;
}

pdr_rc pdr_folder_history_append(pdr_history_report *report, pdr_folder *folder,
                                 pdr_str key, const pdr_value *const *messages,
                                 size_t count, pdr_err *err)
{
    pdr_buf bytes = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES);
    pdr_history_report mended = {0};
    int lock = -1;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(folder != NULL && (messages != NULL || count == 0));
    if (report != NULL)
        *report = mended;
    rc = pdr_buf_append(&bytes, PDR_LIT("\n"), err);
    if (rc == PDR_OK)
        rc = encode_all(&bytes, messages, count, folder->format, err);
    if (rc == PDR_OK && count > 0)
        rc = pdr__folder_lock(&lock, folder, err);
    if (rc == PDR_OK && count > 0) {
        rc = append(&mended, folder, key, &bytes, err);
        pdr__folder_unlock(folder, lock);
    }
    if (report != NULL)
        *report = mended;
    pdr_buf_dispose(&bytes);
    return rc;
}
