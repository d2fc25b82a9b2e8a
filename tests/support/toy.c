/*
 * toy.c - see toy.h. Uses public headers only, on purpose: if a slot cannot be
 * filled from here, the interface for codecs lacks something.
 */
#include "toy.h"

#include <perdure/json.h>
#include <perdure/sys/codec.h>
#include <stdlib.h>

#define BEGIN_BYTE   '\xC1'
#define PIECE_BYTES  ((size_t)4096)
#define FLUSH_BYTES  ((size_t)4096)
#define MAX_DOCUMENT ((uint64_t)UINT32_MAX)

/* --- lines --------------------------------------------------------------- */

struct toy_walk {
    pdr_read_fn fn;
    void *arg;
    unsigned bare; /* PDR_BARE_TOKENS or 0 */
    bool sequence;
    uint64_t max_bytes; /* of a token */
    pdr_buf bytes;      /* of the stream, from `base` on */
    size_t at, next;    /* the line of the last event, and the one behind it */
    int64_t base;
    bool at_end;
    pdr_buf open; /* '{' or '[' for each open container */
    bool inside;  /* a document, before its root is complete */
    bool named;   /* a member's value comes next */
    uint64_t documents;
};

static pdr_rc refuse_for(const struct toy_walk *t, pdr_err *err,
                         const char *reason, const char *what)
{
    (void)pdr_err_set(err, PDR_EINVALID, reason, "%s", what);
    err->offset = t->base + (int64_t)t->at;
    return PDR_EINVALID;
}

static pdr_rc refuse(const struct toy_walk *t, pdr_err *err, const char *what)
{
    return refuse_for(t, err, "toy_syntax", what);
}

static pdr_rc fill(struct toy_walk *t, pdr_err *err)
{
    pdr_err detail = PDR_ERR_INIT;
    size_t got = 0;
    pdr_rc rc = pdr_buf_reserve(&t->bytes, PIECE_BYTES, err);

    if (rc != PDR_OK)
        return rc;
    rc = t->fn(&got, t->bytes.ptr + t->bytes.len, PIECE_BYTES, &detail, t->arg);
    if (rc != PDR_OK) {
        if (detail.code != rc)
            (void)pdr_err_set(&detail, rc, "stream_failed",
                              "the stream failed without saying why");
        *err = detail;
        return rc;
    }
    if (got > PIECE_BYTES)
        return pdr_err_set(err, PDR_EMISUSE, "broken_contract",
                           "the stream gave %zu bytes", got);
    t->bytes.len += got;
    t->at_end = got == 0;
    return PDR_OK;
}

/* The line behind the last one, without its end; an empty one with a NULL
 * pointer at the end of the stream. */
static pdr_rc next_line(pdr_str *out, struct toy_walk *t, pdr_err *err)
{
    size_t seen = t->next;
    const char *end = NULL;

    for (t->at = t->next; end == NULL;) {
        if (seen < t->bytes.len)
            end = memchr(t->bytes.ptr + seen, '\n', t->bytes.len - seen);
        seen = end != NULL ? (size_t)(end - t->bytes.ptr) : t->bytes.len;
        if (seen - t->at > t->max_bytes + 1) {
            (void)pdr_err_set(err, PDR_ELIMIT, "too_large", "a long line");
            err->offset = t->base + (int64_t)t->at;
            return PDR_ELIMIT;
        }
        if (end == NULL && t->at_end)
            break;
        pdr_rc rc = end == NULL ? fill(t, err) : PDR_OK;
        if (rc != PDR_OK)
            return rc;
    }
    if (end == NULL && seen > t->at)
        return refuse(t, err, "the last line has no end");
    *out = pdr_str_n(end != NULL ? t->bytes.ptr + t->at : NULL, seen - t->at);
    t->next = seen + (end != NULL);
    return PDR_OK;
}

/* Forget the bytes before the line that comes next. */
static void forget(struct toy_walk *t)
{
    if (t->next < PIECE_BYTES)
        return;
    memmove(t->bytes.ptr, t->bytes.ptr + t->next, t->bytes.len - t->next);
    t->bytes.len -= t->next;
    t->base += (int64_t)t->next;
    t->at = t->next = 0;
}

/* --- reading ------------------------------------------------------------- */

static pdr_rc walk_open(void **self, const pdr_read_opts *opts, pdr_err *err,
                        pdr_read_fn fn, void *arg)
{
    struct toy_walk *t = calloc(1, sizeof(*t));

    if (t == NULL)
        return pdr_err_set(err, PDR_ENOMEM, "no_memory", "no memory");
    t->fn = fn;
    t->arg = arg;
    t->bare = opts->flags & PDR_BARE_TOKENS;
    t->sequence = (opts->flags & PDR_SEQUENCE) != 0;
    t->max_bytes = opts->max_bytes != 0 ? opts->max_bytes : MAX_DOCUMENT;
    t->bytes.max = SIZE_MAX;
    t->open.max = SIZE_MAX;
    *self = t;
    return PDR_OK;
}

static void walk_close(void *self)
{
    struct toy_walk *t = self;

    pdr_buf_dispose(&t->bytes);
    pdr_buf_dispose(&t->open);
    free(t);
}

static int64_t walk_offset(const void *self)
{
    const struct toy_walk *t = self;

    return t->base + (int64_t)t->at;
}

static bool in_object(const struct toy_walk *t)
{
    return t->open.len > 0 && t->open.ptr[t->open.len - 1] == '{';
}

static void after_value(struct toy_walk *t)
{
    t->named = false;
    if (t->open.len > 0)
        return;
    t->inside = false;
    t->documents++;
}

/* A scalar or a name: what JSON reads, and not a space around it. */
static pdr_rc read_lexeme(pdr_value **out, const struct toy_walk *t,
                          pdr_str text, pdr_err *err)
{
    pdr_read_opts opts = {.flags = t->bare};
    pdr_str raw = {NULL, 0};
    pdr_rc rc = pdr_json_read(out, text, &opts, err);

    if (rc == PDR_EINVALID)
        err->offset += t->base + (int64_t)t->at + 1;
    if (rc != PDR_OK)
        return rc;
    bool scalar = pdr_value_kind(*out) < PDR_ARRAY;
    if (scalar && pdr_value_raw(&raw, *out) && pdr_str_equal(text, raw))
        return PDR_OK;
    pdr_value_free(*out);
    *out = NULL;
    return refuse(t, err, "a scalar alone was expected");
}

static pdr_rc read_name(pdr_value **out, struct toy_walk *t, pdr_str text,
                        pdr_err *err)
{
    if (!in_object(t) || t->named)
        return refuse(t, err, "no name can stand here");
    if (text.len == 0 || text.ptr[0] != '"')
        return refuse(t, err, "a name is a string");
    pdr_rc rc = read_lexeme(out, t, text, err);
    t->named = rc == PDR_OK;
    return rc;
}

static pdr_rc read_end(struct toy_walk *t, char c, pdr_err *err)
{
    if (t->open.len == 0 || t->named || in_object(t) != (c == '}'))
        return refuse(t, err, "nothing of this kind is to end");
    t->open.len--;
    after_value(t);
    return PDR_OK;
}

static pdr_rc read_value(pdr_event *event, pdr_value **value,
                         struct toy_walk *t, pdr_str line, pdr_err *err)
{
    char c = line.ptr[0];

    if (in_object(t) && !t->named)
        return refuse(t, err, "a value in an object needs a name");
    if (c == '=') {
        *event = PDR_SCALAR;
        pdr_rc rc =
            read_lexeme(value, t, pdr_str_n(line.ptr + 1, line.len - 1), err);
        if (rc == PDR_OK)
            after_value(t);
        return rc;
    }
    if ((c != '{' && c != '[') || line.len != 1)
        return refuse(t, err, "this line begins nothing");
    *event = c == '{' ? PDR_BEGIN_OBJECT : PDR_BEGIN_ARRAY;
    t->named = false;
    return pdr_buf_append(&t->open, line, err);
}

/* The line in front of a document, or the end of the input. */
static pdr_rc begin_document(bool *at_end, struct toy_walk *t, pdr_err *err)
{
    pdr_str line = {NULL, 0};
    pdr_rc rc = next_line(&line, t, err);

    *at_end = false;
    if (rc != PDR_OK)
        return rc;
    *at_end = line.ptr == NULL;
    if (*at_end)
        return t->documents > 0 || t->sequence
                   ? PDR_OK
                   : refuse_for(t, err, "empty_input", "there is no document");
    if (line.len != 1 || line.ptr[0] != BEGIN_BYTE)
        return refuse(t, err, "no document begins here");
    if (t->documents > 0 && !t->sequence)
        return refuse(t, err, "a second document");
    t->inside = true;
    return PDR_OK;
}

static pdr_rc walk_next(pdr_event *event, pdr_value **value, void *self,
                        pdr_err *err)
{
    struct toy_walk *t = self;
    pdr_str line = {NULL, 0};
    bool at_end = false;
    pdr_rc rc = PDR_OK;

    forget(t);
    if (!t->inside)
        rc = begin_document(&at_end, t, err);
    *event = PDR_END_OF_INPUT;
    if (rc == PDR_OK && !at_end)
        rc = next_line(&line, t, err);
    if (rc != PDR_OK || at_end)
        return rc;
    if (line.len == 0)
        return refuse(t, err, "the document is not complete");
    if (line.ptr[0] == ':') {
        *event = PDR_NAME;
        return read_name(value, t, pdr_str_n(line.ptr + 1, line.len - 1), err);
    }
    if (line.len == 1 && (line.ptr[0] == '}' || line.ptr[0] == ']')) {
        *event = PDR_END;
        return read_end(t, line.ptr[0], err);
    }
    return read_value(event, value, t, line, err);
}

/* --- writing ------------------------------------------------------------- */

struct toy_writer {
    pdr_write_fn fn;
    void *arg;
    unsigned bare; /* PDR_BARE_TOKENS or 0 */
    pdr_buf bytes; /* not handed out yet */
};

static pdr_rc writer_open(void **self, const pdr_write_opts *opts, pdr_err *err,
                          pdr_write_fn fn, void *arg)
{
    struct toy_writer *t = calloc(1, sizeof(*t));

    if (t == NULL)
        return pdr_err_set(err, PDR_ENOMEM, "no_memory", "no memory");
    t->fn = fn;
    t->arg = arg;
    t->bare = opts->flags & PDR_BARE_TOKENS;
    t->bytes.max = SIZE_MAX;
    *self = t;
    return PDR_OK;
}

static void writer_close(void *self)
{
    struct toy_writer *t = self;

    pdr_buf_dispose(&t->bytes);
    free(t);
}

static pdr_rc flush(struct toy_writer *t, pdr_err *err)
{
    pdr_err detail = PDR_ERR_INIT;

    if (t->bytes.len == 0)
        return PDR_OK;
    pdr_rc rc = t->fn(pdr_buf_str(&t->bytes), &detail, t->arg);
    if (rc != PDR_OK) {
        if (detail.code != rc)
            (void)pdr_err_set(&detail, rc, "stream_failed",
                              "the stream failed without saying why");
        *err = detail;
        return rc;
    }
    pdr_buf_clear(&t->bytes);
    return PDR_OK;
}

static pdr_rc put_line(struct toy_writer *t, char mark, const pdr_value *value,
                       pdr_err *err)
{
    pdr_write_opts opts = {.flags = t->bare};
    pdr_rc rc = pdr_buf_append(&t->bytes, pdr_str_n(&mark, 1), err);

    if (rc == PDR_OK && value != NULL)
        rc = pdr_json_write(&t->bytes, value, &opts, err);
    if (rc == PDR_OK)
        rc = pdr_buf_append(&t->bytes, pdr_str_c("\n"), err);
    return rc;
}

static pdr_rc put_value(struct toy_writer *t, const pdr_value *value,
                        pdr_err *err)
{
    bool object = pdr_value_kind(value) == PDR_OBJECT;
    pdr_iter it;

    if (!object && pdr_value_kind(value) != PDR_ARRAY)
        return put_line(t, '=', value, err);
    pdr_rc rc = put_line(t, object ? '{' : '[', NULL, err);
    pdr_iter_init(&it, value);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        if (it.name != NULL)
            rc = put_line(t, ':', it.name, err);
        if (rc == PDR_OK)
            rc = put_value(t, it.value, err);
    }
    return rc == PDR_OK ? put_line(t, object ? '}' : ']', NULL, err) : rc;
}

/* Any value. JSON knows the path of what cannot be written, so it is asked
 * first. */
static pdr_rc put_whole(struct toy_writer *t, const pdr_value *value,
                        pdr_err *err)
{
    pdr_write_opts opts = {.flags = t->bare};
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = pdr_json_write(&text, value, &opts, err);

    pdr_buf_dispose(&text);
    return rc == PDR_OK ? put_value(t, value, err) : rc;
}

static pdr_rc writer_put(void *self, const pdr_place *place, pdr_event event,
                         const pdr_value *value, pdr_err *err)
{
    struct toy_writer *t = self;
    pdr_rc rc = PDR_OK;

    if (place->depth == 0 && event != PDR_END)
        rc = put_line(t, BEGIN_BYTE, NULL, err);
    if (rc != PDR_OK)
        return rc;
    if (event == PDR_BEGIN_OBJECT || event == PDR_BEGIN_ARRAY)
        rc = put_line(t, event == PDR_BEGIN_OBJECT ? '{' : '[', NULL, err);
    else if (event == PDR_END)
        rc = put_line(t, place->in_object ? '}' : ']', NULL, err);
    else if (event == PDR_NAME)
        rc = put_line(t, ':', value, err);
    else
        rc = put_whole(t, value, err);
    return rc == PDR_OK && t->bytes.len >= FLUSH_BYTES ? flush(t, err) : rc;
}

static pdr_rc writer_finish(void *self, pdr_err *err)
{
    return flush(self, err);
}

/* --- the codec ----------------------------------------------------------- */

static const pdr_codec_form forms[] = {
    {"toy", "toy", 0},
    {"toys", "toys", PDR_SEQUENCE},
    {NULL, NULL, 0},
};

/* Which one it is shows only if a second document begins within these bytes. No
 * line but the first of a document begins with that byte. */
static const pdr_codec_form *guess(pdr_str beginning, bool whole)
{
    (void)whole;
    if (beginning.len == 0 || beginning.ptr[0] != BEGIN_BYTE)
        return NULL;
    for (size_t i = 1; i < beginning.len; i++)
        if (beginning.ptr[i] == BEGIN_BYTE && beginning.ptr[i - 1] == '\n')
            return &forms[1];
    return &forms[0];
}

const pdr_codec *toy_codec(void)
{
    static const pdr_codec codec = {
        .version = PDR_CODEC_VERSION,
        .title = "Toy",
        .forms = forms,
        .read_flags = PDR_BARE_TOKENS,
        .walk_flags = PDR_BARE_TOKENS | PDR_SEQUENCE,
        .write_flags = PDR_BARE_TOKENS | PDR_SEQUENCE,
        .walk_open = walk_open,
        .walk_next = walk_next,
        .walk_offset = walk_offset,
        .walk_close = walk_close,
        .writer_open = writer_open,
        .writer_put = writer_put,
        .writer_finish = writer_finish,
        .writer_close = writer_close,
        .guess = guess,
    };

    return &codec;
}
