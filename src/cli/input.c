/*
 * input.c - files and standard input.
 *
 * A document is read whole, because its value points into its text; a stream of
 * documents is read piece by piece (cmd_check.c). Both show progress.
 */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_BYTES ((size_t)1024 * 1024) /* between two looks at the clock */

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

pdr_rc cli_input_open(int *fd_out, uint64_t *size_out, const char *path,
                      pdr_err *err)
{
    struct stat info = {.st_mode = 0};
    int fd = STDIN_FILENO;

    *fd_out = -1;
    *size_out = 0;
    if (strcmp(path, "-") != 0)
        fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return open_failed(errno, err);
    if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
        cli_input_close(fd);
        return open_failed(EISDIR, err);
    }
    if (S_ISREG(info.st_mode) && info.st_size > 0)
        *size_out = (uint64_t)info.st_size;
    *fd_out = fd;
    return PDR_OK;
}

void cli_input_close(int fd)
{
    if (fd > STDIN_FILENO)
        close(fd);
}

pdr_rc cli_input_some(size_t *got, int fd, void *into, size_t cap, pdr_err *err)
{
    ssize_t count = 0;

    do
        count = read(fd, into, cap);
    while (count < 0 && errno == EINTR);
    *got = count > 0 ? (size_t)count : 0;
    return count < 0 ? open_failed(errno, err) : PDR_OK;
}

static pdr_rc too_large(uint64_t max, pdr_err *err)
{
    return pdr_err_set(err, PDR_ELIMIT, "too_large",
                       "the input has more than %ju bytes", (uintmax_t)max);
}

static pdr_rc read_all(pdr_buf *out, int fd, uint64_t max,
                       struct cli_progress *progress, pdr_err *err)
{
    for (;;) {
        size_t got = 0;
        pdr_rc rc = PDR_OK;
        /* One byte more than known, so that the end shows without growing. */
        if (out->cap - out->len < 2)
            rc = pdr_buf_reserve(out, READ_BYTES, err);
        size_t room = out->cap - out->len;
        if (rc == PDR_OK)
            rc = cli_input_some(&got, fd, out->ptr + out->len,
                                room < READ_BYTES ? room : READ_BYTES, err);
        if (rc != PDR_OK || got == 0)
            return rc;
        out->len += got;
        if (out->len > max)
            return too_large(max, err);
        cli_progress_add(progress, got);
    }
}

pdr_rc cli_input_read(pdr_buf *out, const struct cli *cli, const char *path,
                      const struct cli_limits *limits, pdr_err *err)
{
    uint64_t max = limits->max_bytes != 0 ? limits->max_bytes : UINT32_MAX;
    struct cli_progress progress;
    uint64_t size = 0;
    int fd = -1;
    pdr_rc rc = cli_input_open(&fd, &size, path, err);

    if (rc != PDR_OK)
        return rc;
    cli_progress_begin(&progress, cli, cli_input_name(path), size);
    if (size > max)
        rc = too_large(max, err);
    if (rc == PDR_OK)
        rc =
            pdr_buf_reserve(out, size > 0 ? (size_t)size + 2 : READ_BYTES, err);
    if (rc == PDR_OK)
        rc = read_all(out, fd, max, &progress, err);
    cli_progress_end(&progress);
    cli_input_close(fd);
    return rc;
}

pdr_rc cli_input_value(pdr_value **out, pdr_buf *text, const struct cli *cli,
                       const char *path, const struct cli_limits *limits,
                       pdr_err *err)
{
    pdr_read_opts opts = cli_read_opts(limits);
    pdr_rc rc = cli_input_read(text, cli, path, limits, err);

    *out = NULL;
    if (rc == PDR_OK)
        rc = pdr_json_read_borrowed(out, pdr_buf_str(text), &opts, err);
    return rc;
}
