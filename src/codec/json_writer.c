/*
 * json_writer.c - JSON text event by event, and the table of the codec.
 */
#include "codec.h"

struct json_writer {
    struct sink sink;
    pdr_write_opts opts;
};

static pdr_rc writer_open(void **self, const pdr_write_opts *opts, pdr_err *err,
                          pdr_write_fn fn, void *arg)
{
    struct json_writer *w = pdr__calloc(1, sizeof(*w));

    if (w == NULL)
        return pdr__nomem(err);
    pdr__sink_init(&w->sink, fn, arg);
    w->opts = *opts;
    *self = w;
    return PDR_OK;
}

static void writer_close(void *self)
{
    struct json_writer *w = self;

    pdr__sink_dispose(&w->sink);
    pdr__free(w);
}

static pdr_rc put(struct json_writer *w, pdr_str text, pdr_err *err)
{
    return pdr_buf_append(&w->sink.buf, text, err);
}

static pdr_rc new_line(struct json_writer *w, size_t level, pdr_err *err)
{
    int spaces = (int)(level * (w->opts.indent != 0 ? w->opts.indent : 2));

    if (w->opts.layout != PDR_PRETTY)
        return PDR_OK;
    return pdr_buf_printf(&w->sink.buf, err, "\n%*s", spaces, "");
}

/* What stands between this child and what is before it. */
static pdr_rc put_gap(struct json_writer *w, const pdr_place *place,
                      bool is_name, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (place->depth == 0)
        return PDR_OK;
    if (place->in_object && !is_name)
        return put(w,
                   w->opts.layout == PDR_PRETTY ? PDR_LIT(": ") : PDR_LIT(":"),
                   err);
    if (place->index > 0)
        rc = put(w, PDR_LIT(","), err);
    return rc == PDR_OK ? new_line(w, place->depth, err) : rc;
}

static pdr_rc put_end(struct json_writer *w, const pdr_place *place,
                      pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (place->index > 0)
        rc = new_line(w, place->depth, err);
    if (rc == PDR_OK)
        rc = put(w, place->in_object ? PDR_LIT("}") : PDR_LIT("]"), err);
    return rc;
}

static pdr_rc writer_put(void *self, const pdr_place *place, pdr_event event,
                         const pdr_value *value, pdr_err *err)
{
    struct json_writer *w = self;
    pdr_rc rc = PDR_OK;

    if (event != PDR_END)
        rc = put_gap(w, place, event == PDR_NAME, err);
    if (rc == PDR_OK && event == PDR_BEGIN_OBJECT)
        rc = put(w, PDR_LIT("{"), err);
    if (rc == PDR_OK && event == PDR_BEGIN_ARRAY)
        rc = put(w, PDR_LIT("["), err);
    if (rc == PDR_OK && event == PDR_END)
        rc = put_end(w, place, err);
    if (rc == PDR_OK && value != NULL)
        rc = pdr__json_write_at(&w->sink.buf, value, &w->opts,
                                (uint32_t)place->depth, err);
    bool complete =
        place->depth == 0 && (event == PDR_SCALAR || event == PDR_END);
    if (rc == PDR_OK && complete && (w->opts.flags & PDR_SEQUENCE) != 0)
        rc = put(w, PDR_LIT("\n"), err);
    return rc == PDR_OK ? pdr__sink_ease(&w->sink, err) : rc;
}

static pdr_rc writer_finish(void *self, pdr_err *err)
{
    struct json_writer *w = self;

    return pdr__sink_flush(&w->sink, err);
}

/* --- the codec ----------------------------------------------------------- */

static const pdr_codec_form forms[] = {
    {"json", "json", 0},
    {"jsonl", "jsonl ndjson", PDR_SEQUENCE},
    {NULL, NULL, 0},
};

/* A document begins with one of these, behind white space. A byte order mark
 * is refused later, with its own reason. */
static const pdr_codec_form *guess(pdr_str beginning, bool whole)
{
    static const char mark[] = "\xEF\xBB\xBF";
    size_t at = 0;

    (void)whole;
    if (beginning.len >= 3 && memcmp(beginning.ptr, mark, 3) == 0)
        at = 3;
    while (at < beginning.len && json_is_space(beginning.ptr[at]))
        at++;
    if (at == beginning.len)
        return NULL;
    char c = beginning.ptr[at];
    return c != '\0' && strchr("{[\"-0123456789tfnNI", c) != NULL ? &forms[0]
                                                                  : NULL;
}

const pdr_codec pdr__json_codec = {
    .version = PDR_CODEC_VERSION,
    .title = "JSON",
    .forms = forms,
    .read_flags = PDR_BARE_TOKENS | PDR_TRAILING,
    .walk_flags = PDR_BARE_TOKENS | PDR_SEQUENCE,
    .write_flags = PDR_BARE_TOKENS | PDR_SEQUENCE,
    .has_paths = true,
    .walk_open = pdr__json_walk_open,
    .walk_next = pdr__json_walk_next,
    .walk_offset = pdr__json_walk_offset,
    .walk_close = pdr__json_walk_close,
    .writer_open = writer_open,
    .writer_put = writer_put,
    .writer_finish = writer_finish,
    .writer_close = writer_close,
    .guess = guess,
    .read = pdr_json_read,
    .write = pdr_json_write,
    .walk_take = pdr__json_walk_take,
};

const pdr_codec *pdr_json_codec(void)
{
    return &pdr__json_codec;
}
