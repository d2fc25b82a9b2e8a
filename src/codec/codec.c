/*
 * codec.c - what all codecs have in common: checks, whole documents, guessing.
 */
#include <ctype.h>

#include "codec.h"

/* --- checks ----------------------------------------------------------------
 */

static bool is_complete(const pdr_codec *c)
{
    return c->title != NULL && c->forms != NULL && c->forms[0].name != NULL &&
           c->walk_open != NULL && c->walk_next != NULL &&
           c->walk_offset != NULL && c->walk_close != NULL &&
           c->writer_open != NULL && c->writer_put != NULL &&
           c->writer_finish != NULL && c->writer_close != NULL &&
           c->guess != NULL;
}

pdr_rc pdr__codec_check(const pdr_codec *codec, unsigned flags,
                        unsigned allowed, pdr_err *err)
{
    if (codec->version > PDR_CODEC_VERSION || codec->version == 0)
        return PDR_FAIL(err, TABLE_VERSION,
                        "a codec of version %u; this library knows %u",
                        (unsigned)codec->version, PDR_CODEC_VERSION);
    if (!is_complete(codec))
        return PDR_FAIL(err, MISSING_SLOT,
                        "the codec lacks something that is required");
    if ((flags & ~allowed) != 0)
        return PDR_FAIL(err, BAD_OPTION, "%s does not take flags 0x%x here",
                        codec->title, flags & ~allowed);
    return PDR_OK;
}

pdr_rc pdr__write_opts_check(const pdr_write_opts *opts, pdr_err *err)
{
    if ((unsigned)opts->layout > PDR_AS_READ || opts->indent > PDR_MAX_INDENT)
        return PDR_FAIL(err, BAD_OPTION, "layout or indent not known");
    return PDR_OK;
}

void pdr__stream_failed(pdr_err *err, pdr_rc rc)
{
    if (err->code != rc)
        (void)pdr_err_set(err, rc, "stream_failed",
                          "the stream failed without saying why");
}

void pdr__builder_put(pdr_builder *b, pdr_event event, const pdr_value *value)
{
    switch (event) {
    case PDR_BEGIN_OBJECT:
        pdr_builder_object(b);
        break;
    case PDR_BEGIN_ARRAY:
        pdr_builder_array(b);
        break;
    case PDR_END:
        pdr_builder_end(b);
        break;
    case PDR_NAME:
        pdr__builder_name_value(b, value);
        break;
    case PDR_SCALAR:
        pdr_builder_value(b, value);
        break;
    case PDR_END_OF_INPUT:
        break;
    }
}

/* --- places -------------------------------------------------------------- */

/* Append the path from `v` to the flat node `target`; false if it is not in. */
static bool path_to(pdr_buf *path, const pdr_value *v, const pdr_value *target)
{
    pdr_iter it;

    if (v == target)
        return true;
    pdr_iter_init(&it, v);
    while (pdr_iter_next(&it)) {
        const pdr_value *child = it.value;
        bool inside = node_is_changed(child) ||
                      (target >= child && target < node_next(child));
        size_t before = path->len;
        if (!inside)
            continue;
        pdr_rc rc = it.name != NULL
                        ? pdr__json_push_token(path, string_inner(it.name))
                        : pdr_buf_printf(path, NULL, "/%zu", it.index);
        if (rc == PDR_OK && path_to(path, child, target))
            return true;
        path->len = before;
    }
    return false;
}

void pdr__value_place(pdr_err *err, const pdr_value *root,
                      const pdr_value *target)
{
    pdr_buf path = PDR_BUF_INIT(SIZE_MAX);

    if (path_to(&path, root, target))
        pdr__err_path(err, pdr_buf_str(&path));
    pdr_buf_dispose(&path);
}

/* --- whole documents ----------------------------------------------------- */

pdr_rc pdr_read_str(size_t *got, void *into, size_t cap, pdr_err *err,
                    void *arg)
{
    pdr_str *rest = arg;

    (void)err;
    *got = cap < rest->len ? cap : rest->len;
    if (*got == 0)
        return PDR_OK; /* its pointer may be NULL */
    memcpy(into, rest->ptr, *got);
    rest->ptr += *got;
    rest->len -= *got;
    return PDR_OK;
}

/* A walk counts what it takes from one event to the next; all bytes of the
 * document can be counted here only. */
static pdr_rc check_bytes(pdr_str input, const pdr_read_opts *opts,
                          pdr_err *err)
{
    uint64_t limit =
        opts->max_bytes != 0 ? opts->max_bytes : PDR_MAX_TEXT_BYTES;

    if (input.len <= limit)
        return PDR_OK;
    return PDR_FAIL_AT(err, (size_t)limit, TOO_LARGE,
                       "%zu bytes, the limit is %zu", input.len, (size_t)limit);
}

/* The one document of a walk, and nothing behind it. */
static pdr_rc take_document(pdr_value **out, pdr_walk *walk, pdr_err *err)
{
    pdr_event event = PDR_END_OF_INPUT;
    pdr_rc rc = pdr_walk_next(&event, walk, err);

    if (rc == PDR_OK && event == PDR_END_OF_INPUT)
        return PDR_FAIL_AT(err, 0, EMPTY_INPUT, "the document is empty");
    if (rc == PDR_OK)
        rc = pdr_walk_take(out, walk, err);
    if (rc == PDR_OK)
        rc = pdr_walk_next(&event, walk, err);
    if (rc == PDR_OK && event != PDR_END_OF_INPUT)
        rc = PDR_FAIL_AT(err, (size_t)pdr_walk_offset(walk), TRAILING_DATA,
                         "there is more behind the document");
    return rc;
}

pdr_rc pdr__codec_read_by_walk(pdr_value **out, const pdr_codec *codec,
                               pdr_str input, const pdr_read_opts *opts,
                               pdr_err *err)
{
    pdr_str rest = input;
    pdr_walk *walk = NULL;
    pdr_rc rc = pdr_walk_new(&walk, codec, opts, err, pdr_read_str, &rest);

    if (rc == PDR_OK)
        rc = check_bytes(input, opts, err);
    if (rc == PDR_OK)
        rc = take_document(out, walk, err);
    if (rc == PDR_OK && opts->used != NULL)
        *opts->used = input.len;
    if (rc != PDR_OK) {
        pdr_value_free(*out);
        *out = NULL;
    }
    pdr_walk_free(walk);
    return rc;
}

pdr_rc pdr_codec_read(pdr_value **out, const pdr_codec *codec, pdr_str input,
                      const pdr_read_opts *opts, pdr_err *err)
{
    static const pdr_read_opts none;

    PDR_REQUIRE(out != NULL && codec != NULL);
    *out = NULL;
    if (opts == NULL)
        opts = &none;
    pdr_rc rc = pdr__codec_check(codec, opts->flags, codec->read_flags, err);
    if (rc != PDR_OK)
        return rc;
    return codec->read != NULL
               ? codec->read(out, input, opts, err)
               : pdr__codec_read_by_walk(out, codec, input, opts, err);
}

pdr_rc pdr_write_buf(pdr_str bytes, pdr_err *err, void *arg)
{
    return pdr_buf_append(arg, bytes, err);
}

/* Write with a writer, for codecs without a function of their own. */
static pdr_rc write_by_writer(pdr_buf *out, const pdr_codec *codec,
                              const pdr_value *value,
                              const pdr_write_opts *opts, pdr_err *err)
{
    pdr_writer *writer = NULL;
    pdr_rc rc = pdr_writer_new(&writer, codec, opts, err, pdr_write_buf, out);

    if (rc == PDR_OK)
        rc = pdr_writer_put(writer, PDR_SCALAR, value, err);
    if (rc == PDR_OK)
        rc = pdr_writer_finish(writer, err);
    pdr_writer_free(writer);
    return rc;
}

pdr_rc pdr_codec_write(pdr_buf *out, const pdr_codec *codec,
                       const pdr_value *value, const pdr_write_opts *opts,
                       pdr_err *err)
{
    static const pdr_write_opts none;

    PDR_REQUIRE(out != NULL && codec != NULL && value != NULL);
    if (opts == NULL)
        opts = &none;
    pdr_rc rc = pdr__codec_check(
        codec, opts->flags, codec->write_flags & ~(PDR_SEQUENCE | PDR_RECORDS),
        err);
    if (rc == PDR_OK)
        rc = pdr__write_opts_check(opts, err);
    if (rc != PDR_OK)
        return rc;
    size_t before = out->len;
    rc = codec->write != NULL ? codec->write(out, value, opts, err)
                              : write_by_writer(out, codec, value, opts, err);
    if (rc != PDR_OK)
        out->len = before;
    return rc;
}

/* --- which format? ------------------------------------------------------- */

const pdr_codec *const *pdr_codecs(size_t *count)
{
    static const pdr_codec *const list[] = {
        &pdr__json_codec,
        &pdr__msgpack_codec,
        &pdr__xml_codec,
    };

    *count = PDR_COUNT(list);
    return list;
}

static pdr_format format_of(const pdr_codec *codec, const pdr_codec_form *form)
{
    pdr_format format = {codec, form->name, form->flags};

    return format;
}

static pdr_rc check_all(const pdr_codec *const *codecs, size_t count,
                        pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < count && rc == PDR_OK; i++)
        rc = pdr__codec_check(codecs[i], 0, 0, err);
    return rc;
}

pdr_rc pdr_codec_find(pdr_format *out, const pdr_codec *const *codecs,
                      size_t count, const char *name, pdr_err *err)
{
    PDR_REQUIRE(out != NULL && codecs != NULL && name != NULL);
    pdr_rc rc = check_all(codecs, count, err);
    if (rc != PDR_OK)
        return rc;
    for (size_t i = 0; i < count; i++)
        for (const pdr_codec_form *f = codecs[i]->forms; f->name != NULL; f++)
            if (strcmp(f->name, name) == 0) {
                *out = format_of(codecs[i], f);
                return PDR_OK;
            }
    return PDR_FAIL(err, NO_FORMAT, "no format is called '%s'",
                    pdr__shown((char[PDR_SHOWN]){0}, pdr_str_c(name)));
}

/* Is `extension` one of the words, whatever its case? */
static bool has_word(const char *words, const char *extension)
{
    size_t len = strlen(extension);

    for (const char *p = words; *p != '\0' && len > 0;) {
        size_t word = strcspn(p, " "), same = 0;
        while (same < word && same < len &&
               tolower((unsigned char)extension[same]) == p[same])
            same++;
        if (same == word && same == len)
            return true;
        p += word;
        p += strspn(p, " ");
    }
    return false;
}

/* The form that the extension of a path names; NULL if it names none. */
static const pdr_codec_form *form_of_path(const pdr_codec *codec,
                                          const char *path)
{
    const char *name = strrchr(path, '/');
    const char *dot = strrchr(name != NULL ? name + 1 : path, '.');

    if (dot == NULL)
        return NULL;
    for (const pdr_codec_form *f = codec->forms; f->name != NULL; f++)
        if (has_word(f->extensions, dot + 1))
            return f;
    return NULL;
}

/* By the extension. One that names the usual form of a codec leaves the choice
 * among its forms to the bytes. */
static bool guess_by_path(pdr_format *out, const pdr_codec *const *codecs,
                          size_t count, const char *path, pdr_str beginning,
                          bool whole)
{
    for (size_t i = 0; path != NULL && i < count; i++) {
        const pdr_codec_form *form = form_of_path(codecs[i], path);
        if (form == NULL)
            continue;
        if (form == codecs[i]->forms) {
            const pdr_codec_form *seen = codecs[i]->guess(beginning, whole);
            form = seen != NULL ? seen : form;
        }
        *out = format_of(codecs[i], form);
        return true;
    }
    return false;
}

pdr_rc pdr_codec_guess(pdr_format *out, const pdr_codec *const *codecs,
                       size_t count, const char *path, pdr_str beginning,
                       bool whole, pdr_err *err)
{
    pdr_format found = {NULL, NULL, 0};

    PDR_REQUIRE(out != NULL && codecs != NULL);
    pdr_rc rc = check_all(codecs, count, err);
    if (rc != PDR_OK)
        return rc;
    if (guess_by_path(out, codecs, count, path, beginning, whole))
        return PDR_OK;
    for (size_t i = 0; i < count; i++) {
        const pdr_codec_form *form = codecs[i]->guess(beginning, whole);
        if (form == NULL)
            continue;
        if (found.codec != NULL)
            return PDR_FAIL(err, AMBIGUOUS_FORMAT,
                            "it could be %s or %s; say which one it is",
                            found.codec->title, codecs[i]->title);
        found = format_of(codecs[i], form);
    }
    if (found.codec == NULL)
        return PDR_FAIL(err, UNKNOWN_FORMAT,
                        beginning.len == 0
                            ? "it is empty, so its format cannot be told"
                            : "its first bytes are of no format known here");
    *out = found;
    return PDR_OK;
}
