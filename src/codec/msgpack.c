/*
 * msgpack.c - the MessagePack codec: its table, its writer, its guess.
 *
 * WHY  MessagePack counts the children of a container in front of them. So a
 *      document that comes in pieces is put together as a value first, and then
 *      written like any other.
 */
#include "msgpack.h"

/* --- writing piece by piece ---------------------------------------------- */

struct mp_piecewise {
    struct sink sink;
    pdr_write_opts opts;
    pdr_builder *document; /* owned; what came of it so far */
};

static void writer_close(void *self)
{
    struct mp_piecewise *w = self;

    pdr__sink_dispose(&w->sink);
    pdr_builder_free(w->document);
    pdr__free(w);
}

static pdr_rc writer_open(void **self, const pdr_write_opts *opts, pdr_err *err,
                          pdr_write_fn fn, void *arg)
{
    struct mp_piecewise *w = pdr__calloc(1, sizeof(*w));

    if (w == NULL)
        return pdr__nomem(err);
    *self = w;
    pdr__sink_init(&w->sink, fn, arg);
    w->opts = *opts;
    return pdr_builder_new(&w->document, err);
}

/* The length of the record that begins at `before`. */
static pdr_rc put_length(pdr_buf *out, size_t before, pdr_err *err)
{
    size_t len = out->len - before - 4;

    if (len > PDR_MAX_RECORD_BYTES)
        return PDR_FAIL(err, TOO_LARGE, "a record of %zu bytes; %u can be", len,
                        PDR_MAX_RECORD_BYTES);
    mp_store32(out->ptr + before, (uint32_t)len);
    return PDR_OK;
}

/* One whole document, its length in front if there is to be one. */
static pdr_rc put_document(struct mp_piecewise *w, const pdr_value *value,
                           pdr_err *err)
{
    bool records = (w->opts.flags & PDR_RECORDS) != 0;
    pdr_buf *out = &w->sink.buf;
    size_t before = out->len;
    pdr_write_report report = {0, 0};
    pdr_write_opts opts = w->opts;
    pdr_rc rc = PDR_OK;

    opts.report = &report; /* counts only if the length is fine, too */
    if (records)
        rc = pdr_buf_append(out, PDR_LIT("\0\0\0\0"), err);
    if (rc == PDR_OK)
        rc = pdr__mp_write(out, value, &opts, err);
    if (rc == PDR_OK && records)
        rc = put_length(out, before, err);
    if (rc != PDR_OK)
        return rc;
    if (w->opts.report != NULL) {
        w->opts.report->numbers += report.numbers;
        w->opts.report->strings += report.strings;
    }
    return pdr__sink_ease(&w->sink, err);
}

static pdr_rc writer_put(void *self, const pdr_place *place, pdr_event event,
                         const pdr_value *value, pdr_err *err)
{
    struct mp_piecewise *w = self;
    pdr_value *whole = NULL;

    if (place->depth == 0 && event == PDR_SCALAR)
        return put_document(w, value, err);
    pdr__builder_put(w->document, event, value);
    if (place->depth > 0 || event != PDR_END)
        return PDR_OK;
    pdr_rc rc = pdr_builder_finish(&whole, w->document, err);
    if (rc == PDR_OK)
        rc = put_document(w, whole, err);
    pdr_value_free(whole);
    return rc;
}

static pdr_rc writer_finish(void *self, pdr_err *err)
{
    struct mp_piecewise *w = self;

    return pdr__sink_flush(&w->sink, err);
}

/* --- the codec ----------------------------------------------------------- */

static const pdr_codec_form forms[] = {
    {"msgpack", "msgpack mpk", PDR_SEQUENCE},
    {"records", "", PDR_SEQUENCE | PDR_RECORDS},
    {NULL, NULL, 0},
};

/* The length of a record, and a map behind it? As documents without lengths
 * these would be a few small integers, which nobody keeps in a file. */
static bool is_record(pdr_str beginning)
{
    const unsigned char *p = (const unsigned char *)beginning.ptr;

    if (beginning.len < 5)
        return false;
    uint32_t len = mp_load32(p);
    bool map =
        (p[4] & 0xF0u) == MP_FIXMAP || p[4] == MP_MAP16 || p[4] == MP_MAP32;
    return map && len > 0 && len <= PDR_MAX_RECORD_BYTES;
}

/* Text in other encodings begins with these marks; as MessagePack they would be
 * small negative integers. */
static bool has_text_mark(pdr_str beginning)
{
    return beginning.len >= 2 &&
           (memcmp(beginning.ptr, "\xFE\xFF", 2) == 0 ||
            memcmp(beginning.ptr, "\xFF\xFE", 2) == 0 ||
            (beginning.len >= 3 &&
             memcmp(beginning.ptr, "\xEF\xBB\xBF", 3) == 0));
}

static const pdr_codec_form *guess(pdr_str beginning, bool whole)
{
    if (beginning.len == 0)
        return NULL;
    unsigned char first = (unsigned char)beginning.ptr[0];
    if (is_record(beginning))
        return &forms[1];
    /* One small integer is one byte; with more behind it, it is text. */
    if (first <= MP_FIXINT_MAX)
        return whole && beginning.len == 1 ? &forms[0] : NULL;
    return first == MP_NEVER || has_text_mark(beginning) ? NULL : &forms[0];
}

const pdr_codec pdr__msgpack_codec = {
    .version = PDR_CODEC_VERSION,
    .title = "MessagePack",
    .forms = forms,
    .read_flags = PDR_BARE_TOKENS,
    .walk_flags = PDR_BARE_TOKENS | PDR_SEQUENCE | PDR_RECORDS,
    .write_flags = PDR_BARE_TOKENS | PDR_SEQUENCE | PDR_RECORDS | PDR_EXCHANGE,
    .walk_open = pdr__mp_walk_open,
    .walk_next = pdr__mp_walk_next,
    .walk_offset = pdr__mp_walk_offset,
    .walk_close = pdr__mp_walk_close,
    .writer_open = writer_open,
    .writer_put = writer_put,
    .writer_finish = writer_finish,
    .writer_close = writer_close,
    .guess = guess,
    .read = pdr__mp_read,
    .write = pdr__mp_write,
    .walk_take = pdr__mp_walk_take,
};

const pdr_codec *pdr_msgpack_codec(void)
{
    return &pdr__msgpack_codec;
}
