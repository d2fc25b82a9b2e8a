/*
 * session_file.c - sessions in a file: one, many, or documents one after
 * another.
 *
 * WHY  A change of one value must not touch anything else in the file, must not
 *      get lost between two writers, and must not leave half a file. So the
 *      file is read whole, one document of it is written anew, and the rest is
 *      copied.
 *
 *        lock -> read -> change -> written beside -> same as read? -> rename
 *
 * INVARIANTS
 *   F1  The lock is on the file itself and holds until the rename, after which
 *       the name belongs to another file. So who got the lock looks whether the
 *       name still leads there, and begins anew if not.
 *   F2  Programs that take no lock are caught by a last look at the bytes, just
 *       before the rename. Between the two they can still come.
 *   F3  MessagePack without extension types of ours belongs to other programs,
 *       unless all of its sessions have our shape. It gets none: what would
 *       need one is refused.
 */
#include "session_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOCK_WAIT_MS 10000 /* a change takes milliseconds */
#define LOCK_STEP_MS 10

/* --- the lock ------------------------------------------------------------ */

/* Take the lock; errno, 0 if all is well. */
static int take_lock(int fd)
{
    const struct timespec step = {0, LOCK_STEP_MS * 1000000L};

    for (int waited = 0;; waited += LOCK_STEP_MS) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return 0;
        if (errno != EINTR && errno != EWOULDBLOCK)
            return errno;
        if (waited >= LOCK_WAIT_MS)
            return EWOULDBLOCK;
        nanosleep(&step, NULL);
    }
}

/* Is the open file the one that the path leads to? */
static bool is_named(int fd, const char *path)
{
    struct stat open_one, named;

    return fstat(fd, &open_one) == 0 && stat(path, &named) == 0 &&
           open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

/* May it be read, but not written? Where no writing is allowed at all, root
 * asks for it on purpose too. */
static bool is_read_only(int fd, const char *path)
{
    struct stat info = {.st_mode = 0};

    if (fd < 0)
        return (errno == EACCES || errno == EROFS) && access(path, R_OK) == 0;
    return fstat(fd, &info) == 0 && (info.st_mode & 0222) == 0;
}

/* F1. A network file system locks only what is open for writing. What may not
 * be written is not replaced either, though its folder would allow it. */
static pdr_rc lock_file(int *out, const char *path, pdr_err *err)
{
    bool read_only = false, absent = false;
    int number = 0;

    while (number == 0 && !read_only) {
        int fd = open(path, O_RDWR | O_CLOEXEC);

        number = fd < 0 ? errno : 0;
        read_only = is_read_only(fd, path);
        if (number == 0 && !read_only)
            number = take_lock(fd);
        if (number == 0 && !read_only && is_named(fd, path)) {
            *out = fd;
            return PDR_OK;
        }
        if (fd >= 0)
            close(fd);
    }
    if (read_only)
        return pdr_err_set(err, PDR_EIO, "read_only",
                           "the file may be read, but not written");
    if (number == EWOULDBLOCK)
        return pdr_err_set(err, PDR_EBUSY, "file_locked",
                           "another program holds the lock of the file");
    absent = number == ENOENT || number == ENOTDIR;
    (void)pdr_err_set(err, absent ? PDR_ENOTFOUND : PDR_EIO,
                      absent ? "no_file" : "cannot_read", "%s",
                      strerror(number));
    err->sys = number;
    return err->code;
}

/* --- documents ----------------------------------------------------------- */

static void add_doc(struct ses_file *f, pdr_value *value, int64_t offset)
{
    if ((f->doc_count & (f->doc_count - 1)) == 0)
        f->docs = cli_realloc(f->docs, f->doc_count > 0 ? f->doc_count * 2 : 1,
                              sizeof(f->docs[0]));
    f->docs[f->doc_count++] =
        (struct ses_doc){.value = value, .offset = offset};
}

static pdr_rc open_doc(struct ses_doc *d, pdr_err *err)
{
    pdr_looks looks = pdr_session_looks(d->value);
    bool is_empty =
        pdr_value_kind(d->value) == PDR_ARRAY && pdr_value_count(d->value) == 0;
    pdr_rc rc = PDR_OK;

    if (looks == PDR_LOOKS_LIST || looks == PDR_LOOKS_MAP || is_empty) {
        rc = pdr_session_list_from_value(&d->list, d->value, true, err, NULL,
                                         NULL);
        d->count = rc == PDR_OK ? pdr_session_list_count(d->list) : 0;
        return rc;
    }
    if (looks == PDR_LOOKS_WRAPPERS) {
        d->is_array = true;
        return pdr_session_wrappers_from_value(&d->wrappers, &d->count,
                                               d->value, NULL, err, NULL, NULL);
    }
    d->count = 1;
    if (looks != PDR_LOOKS_WRAPPER)
        return pdr_session_from_value(&d->one, d->value, err);
    d->wrappers = cli_realloc(NULL, 1, sizeof(d->wrappers[0]));
    d->wrappers[0] = (pdr_session_wrapper)PDR_SESSION_WRAPPER_INIT;
    return pdr_session_wrapper_from_value(d->wrappers, d->value, NULL, err,
                                          NULL, NULL);
}

static void free_doc(struct ses_doc *d)
{
    pdr_session_free(d->one);
    pdr_session_list_free(d->list);
    if (d->is_array) {
        pdr_session_wrappers_free(d->wrappers, d->count);
    } else if (d->wrappers != NULL) {
        pdr_session_wrapper_dispose(d->wrappers);
        free(d->wrappers);
    }
    pdr_value_free(d->value);
}

static pdr_rc read_docs(struct ses_file *f, const struct doc_reading *how,
                        pdr_err *err)
{
    pdr_read_opts opts = cli_form_walk_opts(&f->form.format, &how->limits);
    pdr_str text = pdr_buf_str(&f->text);
    pdr_walk *walk = NULL;
    pdr_value *value = NULL;
    pdr_event event = PDR_END_OF_INPUT;
    pdr_rc rc = PDR_OK;

    if (!cli_form_is_sequence(&f->form.format)) {
        CLI_TRY(cli_input_parse(&value, &f->form, text, &how->limits, err));
        add_doc(f, value, 0);
        goto done;
    }
    opts.extended = &f->extended;
    CLI_TRY(pdr_walk_new(&walk, f->form.format.codec, &opts, err, pdr_read_str,
                         &text));
    for (;;) {
        int64_t offset = 0;

        CLI_TRY(pdr_walk_next(&event, walk, err));
        if (event == PDR_END_OF_INPUT)
            break;
        offset = pdr_walk_offset(walk);
        CLI_TRY(pdr_walk_take(&value, walk, err));
        add_doc(f, value, offset);
    }
done:
    pdr_walk_free(walk);
    return rc;
}

/* --- reading ------------------------------------------------------------- */

static pdr_rc read_text(struct ses_file *f, const struct doc_reading *how,
                        pdr_err *err)
{
    struct cli_input in;
    pdr_rc rc = cli_input_open(&in, f->cli, f->path, err);

    if (rc != PDR_OK)
        return rc;
    rc = cli_form_of_input(&f->form, &in, how->from, err);
    if (rc != PDR_OK)
        f->form.format.codec = NULL;
    if (rc == PDR_OK)
        rc = cli_input_rest(&f->text, &in, &how->limits, err);
    else
        cli_must(
            pdr_buf_append(&f->text, pdr_str_n(in.first, in.first_len), NULL),
            NULL);
    cli_input_close(&in);
    return rc;
}

pdr_rc ses_file_read(struct ses_file *f, const struct cli *cli,
                     const char *path, const struct doc_reading *how, bool lock,
                     pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    f->cli = cli;
    f->path = path;
    if (lock)
        CLI_TRY(lock_file(&f->lock, path, err));
    CLI_TRY(read_text(f, how, err));
    CLI_TRY(pdr_generation_of(&f->generation, pdr_buf_str(&f->text), err));
    CLI_TRY(read_docs(f, how, err));
    for (size_t i = 0; i < f->doc_count; i++) {
        rc = open_doc(&f->docs[i], err);
        if (rc == PDR_OK)
            continue;
        f->wrong = f->docs[i].value;
        /* Where it is, if there are several. */
        if (err->offset < 0 && f->doc_count > 1)
            err->offset = f->docs[i].offset;
        goto done;
    }
done:
    return rc;
}

void ses_file_free(struct ses_file *f)
{
    for (size_t i = 0; i < f->doc_count; i++)
        free_doc(&f->docs[i]);
    free(f->docs);
    pdr_buf_dispose(&f->text);
    if (f->lock >= 0)
        close(f->lock);
    *f = (struct ses_file)SES_FILE_INIT;
}

/* --- sessions ------------------------------------------------------------ */

pdr_session *ses_doc_session(const struct ses_doc *doc, size_t index)
{
    if (doc->list != NULL)
        return pdr_session_list_at(doc->list, index);
    if (index >= doc->count)
        return NULL;
    return doc->wrappers != NULL ? doc->wrappers[index].session : doc->one;
}

const pdr_value *ses_doc_name(const struct ses_doc *doc, size_t index)
{
    return doc->list != NULL ? pdr_session_list_name(doc->list, index) : NULL;
}

const pdr_properties *ses_doc_properties(const struct ses_doc *doc,
                                         size_t index)
{
    return doc->wrappers != NULL && index < doc->count
               ? doc->wrappers[index].properties
               : NULL;
}

pdr_rc ses_doc_value(pdr_value **out, const struct ses_doc *doc, pdr_err *err)
{
    if (doc->list != NULL)
        return pdr_session_list_to_value(out, doc->list, err);
    if (doc->is_array)
        return pdr_session_wrappers_to_value(out, doc->wrappers, doc->count,
                                             err);
    if (doc->wrappers != NULL)
        return pdr_session_wrapper_to_value(out, doc->wrappers, err);
    return pdr_session_to_value(out, doc->one, err);
}

size_t ses_file_count(const struct ses_file *f)
{
    size_t count = 0;

    for (size_t d = 0; d < f->doc_count; d++)
        for (size_t i = 0; i < f->docs[d].count; i++)
            count += ses_doc_session(&f->docs[d], i) != NULL;
    return count;
}

/* --- finding one --------------------------------------------------------- */

/* "/12" -> 12; UINT64_MAX for what is not a place. */
static uint64_t place_of(const char *id)
{
    char *end = NULL;
    unsigned long long number = 0;

    if (id == NULL || id[0] != '/' || id[1] < '0' || id[1] > '9' ||
        (id[1] == '0' && id[2] != '\0'))
        return UINT64_MAX;
    errno = 0;
    number = strtoull(id + 1, &end, 10);
    return errno == 0 && *end == '\0' ? number : UINT64_MAX;
}

static bool is_called(const struct ses_pick *p, const char *id)
{
    pdr_session *session = ses_doc_session(p->doc, p->index);
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    bool found = false;

    if (id == NULL)
        return true;
    if (pdr_value_text_is(ses_doc_name(p->doc, p->index), pdr_str_c(id)))
        return true;
    found =
        id[0] != '\0' && pdr_str_equal(pdr_session_id(session), pdr_str_c(id));
    if (!found) {
        ses_put_durable_id(&text, session);
        found =
            text.len > 0 && pdr_str_equal(pdr_buf_str(&text), pdr_str_c(id));
    }
    pdr_buf_dispose(&text);
    return found;
}

pdr_rc ses_file_find(struct ses_pick *out, const struct ses_file *f,
                     const char *id, pdr_err *err)
{
    uint64_t place = place_of(id);
    size_t count = 0; /* of those called so */
    struct ses_pick p = {.at = 0}, called[2] = {{.at = 0}}, at_place = p;

    for (size_t d = 0; d < f->doc_count; d++) {
        p.doc = &f->docs[d];
        for (p.index = 0; p.index < p.doc->count; p.index++, p.at++) {
            if (ses_doc_session(p.doc, p.index) == NULL)
                continue;
            if (p.at == place)
                at_place = p;
            if (is_called(&p, id) && ++count <= 2)
                called[count - 1] = p;
        }
    }
    *out = count > 0 ? called[0] : at_place;
    if (count <= 1 && out->doc != NULL)
        return PDR_OK;
    if (count > 1 && id != NULL)
        return pdr_err_set(err, PDR_EINVALID, "several_sessions",
                           "%zu sessions are called '%.100s', %sat /%ju and "
                           "/%ju",
                           count, id, count > 2 ? "the first two " : "",
                           (uintmax_t)called[0].at, (uintmax_t)called[1].at);
    if (count > 1)
        return pdr_err_set(err, PDR_EINVALID, "several_sessions",
                           "there are %zu sessions: which one?", count);
    if (id == NULL)
        return pdr_err_set(err, PDR_ENOTFOUND, "no_session",
                           "there is no session in it");
    return pdr_err_set(err, PDR_ENOTFOUND, "no_session",
                       "no session is called '%.160s'", id);
}

/* --- writing ------------------------------------------------------------- */

/* All documents anew, with another value for one of them. */
static pdr_rc write_rows(pdr_buf *out, const struct ses_file *f,
                         const struct ses_doc *changed, const pdr_value *value,
                         const pdr_write_opts *opts, pdr_err *err)
{
    pdr_writer *writer = NULL;
    pdr_rc rc = PDR_OK;

    CLI_TRY(pdr_writer_new(&writer, f->form.format.codec, opts, err,
                           pdr_write_buf, out));
    for (size_t i = 0; i < f->doc_count; i++)
        CLI_TRY(pdr_writer_put(
            writer, PDR_SCALAR,
            &f->docs[i] == changed ? value : f->docs[i].value, err));
    CLI_TRY(pdr_writer_finish(writer, err));
done:
    pdr_writer_free(writer);
    return rc;
}

/* The bytes that a document has in the file; empty if they are not the text of
 * its value, as in MessagePack. */
static pdr_str doc_span(const struct ses_file *f, const struct ses_doc *d)
{
    pdr_str raw = {NULL, 0};

    if (d->offset < 0 || !pdr_value_raw(&raw, d->value) ||
        (uint64_t)d->offset + raw.len > f->text.len ||
        memcmp(f->text.ptr + d->offset, raw.ptr, raw.len) != 0)
        return pdr_str_n(NULL, 0);
    return pdr_str_n(f->text.ptr + d->offset, raw.len);
}

/* The file with other text in the place of one document. */
static pdr_rc write_spliced(pdr_buf *out, const struct ses_file *f,
                            pdr_str span, const pdr_value *value,
                            const pdr_write_opts *opts, pdr_err *err)
{
    pdr_write_opts one = *opts;
    size_t before = (size_t)(span.ptr - f->text.ptr);
    size_t after = before + span.len;
    pdr_rc rc = PDR_OK;

    one.flags &= ~PDR_SEQUENCE;
    one.layout = PDR_AS_READ;
    CLI_TRY(pdr_buf_append(out, pdr_str_n(f->text.ptr, before), err));
    CLI_TRY(pdr_codec_write(out, f->form.format.codec, value, &one, err));
    CLI_TRY(pdr_buf_append(
        out, pdr_str_n(f->text.ptr + after, f->text.len - after), err));
done:
    return rc;
}

/* F3 */
static bool is_for_others(const struct ses_file *f)
{
    bool others = false;

    for (size_t d = 0; d < f->doc_count; d++)
        for (size_t i = 0; i < f->docs[d].count; i++)
            others |= ses_is_foreign(ses_doc_session(&f->docs[d], i));
    return others && !f->extended &&
           cli_form_can_write(&f->form.format, PDR_EXCHANGE);
}

static pdr_rc write_all(pdr_buf *out, struct ses_file *f,
                        const struct ses_doc *changed, const pdr_value *value,
                        bool bare_tokens, pdr_err *err)
{
    const pdr_format *format = &f->form.format;
    pdr_write_opts opts = {.flags = format->flags, .report = &f->lost};
    pdr_str span = doc_span(f, changed);

    if (bare_tokens && cli_form_can_write(format, PDR_BARE_TOKENS))
        opts.flags |= PDR_BARE_TOKENS;
    f->exchange = is_for_others(f);
    if (f->exchange)
        opts.flags |= PDR_EXCHANGE;
    if (!cli_form_is_sequence(format)) {
        opts.layout = PDR_AS_READ;
        return pdr_codec_write(out, format->codec, value, &opts, err);
    }
    return span.ptr != NULL ? write_spliced(out, f, span, value, &opts, err)
                            : write_rows(out, f, changed, value, &opts, err);
}

/* F2 */
static pdr_rc check_unchanged(pdr_err *err, void *arg)
{
    const struct ses_file *f = arg;
    const struct cli_limits limits = {.max_bytes = 0};
    pdr_generation now = {.exists = false};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    struct cli_input in;
    pdr_rc rc = PDR_OK;

    CLI_TRY(cli_input_open(&in, f->cli, f->path, err));
    rc = cli_input_rest(&text, &in, &limits, err);
    cli_input_close(&in);
    if (rc == PDR_OK)
        rc = pdr_generation_of(&now, pdr_buf_str(&text), err);
done:
    pdr_buf_dispose(&text);
    if (rc != PDR_OK && rc != PDR_ENOTFOUND)
        return rc;
    if (pdr_generation_equal(&now, &f->generation))
        return PDR_OK;
    return pdr_err_set(err, PDR_ECONFLICT, "generation_changed",
                       "another program changed the file meanwhile");
}

pdr_rc ses_file_save(struct ses_file *f, const struct ses_doc *changed,
                     const struct doc_reading *how, pdr_err *err)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *value = NULL;
    struct cli_output_file out;
    pdr_rc rc = PDR_OK;

    CLI_TRY(ses_doc_value(&value, changed, err));
    CLI_TRY(write_all(&text, f, changed, value, how->limits.bare_tokens, err));
    if (f->dry_run)
        goto done;
    CLI_TRY(cli_output_open(&out, f->cli, f->path, true, err));
    out.before = check_unchanged;
    out.before_arg = f;
    rc = cli_output_write(pdr_buf_str(&text), err, &out);
    if (rc != PDR_OK)
        cli_output_abandon(&out);
    else
        rc = cli_output_commit(&out, err);
    if (rc == PDR_OK)
        rc = pdr_generation_of(&f->generation, pdr_buf_str(&text), err);
done:
    pdr_value_free(value);
    pdr_buf_dispose(&text);
    return rc;
}
