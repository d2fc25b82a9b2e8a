/*
 * input.c - files and standard input.
 *
 * A document that is shown or compared is read whole; a stream of documents is
 * read piece by piece. Both show progress, and both begin with the bytes that
 * were looked at to tell the format: a pipe gives them only once.
 *
 *     stream   |--------|----------------------......
 *     first    |--------|    what was peeked, or passed by, and stays
 *              ^ given       what of it was handed out
 */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_BYTES   ((size_t)1024 * 1024) /* between two looks at the clock */
#define LOCATE_BYTES 65536                 /* at once, to count lines */

pdr_read_opts cli_read_opts(const struct cli_limits *limits)
{
    return (pdr_read_opts){.flags = limits->bare_tokens ? PDR_BARE_TOKENS : 0,
                           .max_depth = (uint32_t)limits->max_depth,
                           .max_bytes = limits->max_bytes,
                           .max_nodes = limits->max_nodes};
}

const char *cli_input_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

static pdr_rc open_failed(int number, pdr_err *err)
{
    bool absent = number == ENOENT || number == ENOTDIR;
    pdr_rc rc =
        pdr_err_set(err, absent ? PDR_ENOTFOUND : PDR_EIO,
                    absent ? "no_file" : "cannot_read", "%s", strerror(number));

    err->sys = number;
    return rc;
}

pdr_rc cli_input_open(struct cli_input *in, const struct cli *cli,
                      const char *path, pdr_err *err)
{
    struct stat info = {.st_mode = 0};

    memset(in, 0, sizeof(*in));
    in->path = path;
    in->fd = STDIN_FILENO;
    if (strcmp(path, "-") != 0)
        in->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (in->fd < 0)
        return open_failed(errno, err);
    if (fstat(in->fd, &info) == 0 && S_ISDIR(info.st_mode)) {
        cli_input_close(in);
        return open_failed(EISDIR, err);
    }
    if (S_ISREG(info.st_mode) && info.st_size > 0)
        in->size = (uint64_t)info.st_size;
    cli_progress_begin(&in->progress, cli, cli_input_name(path), in->size);
    return PDR_OK;
}

void cli_input_close(struct cli_input *in)
{
    cli_progress_end(&in->progress);
    if (in->fd > STDIN_FILENO)
        close(in->fd);
    in->fd = -1;
}

static pdr_rc read_some(size_t *got, struct cli_input *in, void *into,
                        size_t cap, pdr_err *err)
{
    ssize_t count = 0;

    do
        count = read(in->fd, into, cap);
    while (count < 0 && errno == EINTR);
    *got = count > 0 ? (size_t)count : 0;
    if (count < 0)
        return open_failed(errno, err);
    in->ended = count == 0;
    cli_progress_add(&in->progress, *got);
    return PDR_OK;
}

pdr_rc cli_input_peek(struct cli_input *in, pdr_err *err)
{
    while (in->first_len < sizeof(in->first) && !in->ended) {
        size_t got = 0;
        pdr_rc rc = read_some(&got, in, in->first + in->first_len,
                              sizeof(in->first) - in->first_len, err);
        if (rc != PDR_OK)
            return rc;
        in->first_len += got;
    }
    return PDR_OK;
}

/* Keep the first bytes that pass by. */
static void remember(struct cli_input *in, const void *bytes, size_t count)
{
    size_t room = sizeof(in->first) - in->first_len;
    size_t kept = count < room ? count : room;

    memcpy(in->first + in->first_len, bytes, kept);
    in->first_len += kept;
    in->given = in->first_len;
}

pdr_rc cli_input_some(size_t *got, void *into, size_t cap, pdr_err *err,
                      void *arg)
{
    struct cli_input *in = arg;
    size_t peeked = in->first_len - in->given;
    pdr_rc rc = PDR_OK;

    *got = 0;
    if (peeked > 0) {
        *got = peeked < cap ? peeked : cap;
        memcpy(into, in->first + in->given, *got);
        in->given += *got;
    } else if (!in->ended) {
        rc = read_some(got, in, into, cap, err);
        remember(in, into, *got);
    }
    in->bytes += *got;
    return rc;
}

/* Move line and column behind `text`, and give the bytes of it that counted:
 * not the front of a character or of a line end, which may go on. */
static size_t count_lines(size_t *line, size_t *column, pdr_str text, bool last)
{
    size_t lines = 0, columns = 0, len = text.len;

    if (!last && len > 0)
        len -= text.ptr[len - 1] == '\r' ? 1 : cli_cut_len(text);
    pdr_err_locate(&lines, &columns, pdr_str_n(text.ptr, len), (int64_t)len);
    *column = lines == 1 ? *column + columns - 1 : columns;
    *line += lines - 1;
    return len;
}

/* As cli_input_locate(), by reading the file from its beginning to `end`. */
static bool locate_in_file(size_t *line, size_t *column, int fd, int64_t end)
{
    char text[LOCATE_BYTES];
    size_t len = 0;

    *line = *column = 1;
    for (int64_t at = 0; at < end;) {
        size_t room = sizeof(text) - len;
        size_t want = end - at < (int64_t)room ? (size_t)(end - at) : room;
        ssize_t got = pread(fd, text + len, want, at);
        if (got <= 0)
            return false;
        at += got;
        len += (size_t)got;
        size_t used =
            count_lines(line, column, pdr_str_n(text, len), at == end);
        len -= used;
        memmove(text, text + used, len);
    }
    return true;
}

bool cli_input_locate(size_t *line, size_t *column, const struct cli_input *in,
                      int64_t offset)
{
    pdr_str first = {in->first, in->first_len};

    if (offset < 0 || !cli_is_text(first, offset))
        return false;
    if ((uint64_t)offset > first.len)
        return in->size > 0 && in->fd > STDIN_FILENO &&
               locate_in_file(line, column, in->fd, offset);
    pdr_err_locate(line, column, first, offset);
    return true;
}

static pdr_rc too_large(uint64_t max, pdr_err *err)
{
    return pdr_err_set(err, PDR_ELIMIT, "too_large",
                       "the input has more than %ju bytes", (uintmax_t)max);
}

static pdr_rc read_all(pdr_buf *out, struct cli_input *in, uint64_t max,
                       pdr_err *err)
{
    for (;;) {
        size_t got = 0;
        pdr_rc rc = PDR_OK;
        /* One byte more than known, so that the end shows without growing. */
        if (out->cap - out->len < 2)
            rc = pdr_buf_reserve(out, READ_BYTES, err);
        size_t room = out->cap - out->len;
        if (rc == PDR_OK)
            rc = cli_input_some(&got, out->ptr + out->len,
                                room < READ_BYTES ? room : READ_BYTES, err, in);
        if (rc != PDR_OK || got == 0)
            return rc;
        out->len += got;
        if (out->len > max)
            return too_large(max, err);
    }
}

pdr_rc cli_input_rest(pdr_buf *out, struct cli_input *in,
                      const struct cli_limits *limits, pdr_err *err)
{
    uint64_t max = limits->max_bytes != 0 ? limits->max_bytes : UINT32_MAX;
    pdr_rc rc = PDR_OK;

    if (in->size > max)
        return too_large(max, err);
    rc = pdr_buf_reserve(out, in->size > 0 ? (size_t)in->size + 2 : READ_BYTES,
                         err);
    return rc == PDR_OK ? read_all(out, in, max, err) : rc;
}

/* --- one document -------------------------------------------------------- */

/* Take the first document and find no other. */
static pdr_rc take_only(pdr_value **out, pdr_walk *walk, pdr_err *err)
{
    pdr_event event = PDR_END_OF_INPUT;
    pdr_rc rc = pdr_walk_next(&event, walk, err);

    if (rc == PDR_OK && event == PDR_END_OF_INPUT)
        return pdr_err_set(err, PDR_EINVALID, "no_document",
                           "there is no document");
    if (rc == PDR_OK)
        rc = pdr_walk_take(out, walk, err);
    if (rc == PDR_OK)
        rc = pdr_walk_next(&event, walk, err);
    if (rc != PDR_OK || event == PDR_END_OF_INPUT)
        return rc;
    rc = pdr_err_set(err, PDR_EINVALID, "several_documents",
                     "there is another document");
    err->offset = pdr_walk_offset(walk);
    return rc;
}

static pdr_rc read_sequence(pdr_value **out, const pdr_format *format,
                            pdr_str text, const struct cli_limits *limits,
                            pdr_err *err)
{
    const pdr_read_opts opts = cli_form_walk_opts(format, limits);
    pdr_walk *walk = NULL;
    pdr_rc rc =
        pdr_walk_new(&walk, format->codec, &opts, err, pdr_read_str, &text);

    if (rc == PDR_OK)
        rc = take_only(out, walk, err);
    if (rc != PDR_OK) {
        pdr_value_free(*out);
        *out = NULL;
    }
    pdr_walk_free(walk);
    return rc;
}

static pdr_rc read_whole(pdr_value **out, const pdr_format *format,
                         pdr_str text, const struct cli_limits *limits,
                         pdr_err *err)
{
    const pdr_read_opts opts = cli_form_read_opts(format, limits);

    return pdr_codec_read(out, format->codec, text, &opts, err);
}

pdr_rc cli_input_parse(pdr_value **out, const struct cli_form *form,
                       pdr_str text, const struct cli_limits *limits,
                       pdr_err *err)
{
    *out = NULL;
    return cli_form_is_sequence(&form->format)
               ? read_sequence(out, &form->format, text, limits, err)
               : read_whole(out, &form->format, text, limits, err);
}

pdr_rc cli_input_value(pdr_value **out, pdr_buf *text, struct cli_form *form,
                       const struct cli *cli, const char *path, uint64_t word,
                       const struct cli_limits *limits, pdr_err *err)
{
    struct cli_input in;
    pdr_rc rc = cli_input_open(&in, cli, path, err);

    *out = NULL;
    form->format.codec = NULL;
    if (rc != PDR_OK)
        return rc;
    rc = cli_form_of_input(form, &in, word, err);
    if (rc == PDR_OK)
        rc = cli_input_rest(text, &in, limits, err);
    else
        form->format.codec = NULL;
    cli_input_close(&in);
    return rc == PDR_OK
               ? cli_input_parse(out, form, pdr_buf_str(text), limits, err)
               : rc;
}
