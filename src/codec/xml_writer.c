/*
 * xml_writer.c - values and events to XML, and the table of the codec.
 *
 * INVARIANTS
 *   T1  While `tag_open`, the last thing written is a begin tag that lacks its
 *       end: "/>" if nothing comes into it, ">" if something does.
 *   T2  `attributes` has the key of the element that comes next; it is empty
 *       outside of maps.
 */
#include "xml_core.h"

struct xml_writer {
    struct sink sink;
    pdr_write_opts opts;
    bool tag_open;                /* T1 */
    pdr_buf attributes;           /* T2 */
    bool declared;                /* our prefix, in `attributes` */
    struct xml_spelling spelling; /* of the string at hand */
    const pdr_value *bad;         /* that cannot be written */
    pdr_rc rc;                    /* first failure of this event */
    pdr_err *err;                 /* borrowed for this event */
};

static pdr_rc writer_open(void **self, const pdr_write_opts *opts, pdr_err *err,
                          pdr_write_fn fn, void *arg)
{
    static const struct xml_spelling none = XML_SPELLING_INIT;
    struct xml_writer *w = pdr__calloc(1, sizeof(*w));

    if (w == NULL)
        return pdr__nomem(err);
    pdr__sink_init(&w->sink, fn, arg);
    w->opts = *opts;
    w->attributes.max = SIZE_MAX;
    w->spelling = none;
    *self = w;
    return PDR_OK;
}

static void writer_close(void *self)
{
    struct xml_writer *w = self;

    pdr_buf_dispose(&w->spelling.scratch);
    pdr_buf_dispose(&w->attributes);
    pdr__sink_dispose(&w->sink);
    pdr__free(w);
}

/* --- pieces -------------------------------------------------------------- */

static const pdr_str tags[] = {
    [ELEMENT_NULL] = {"null", 4},     [ELEMENT_BOOLEAN] = {"boolean", 7},
    [ELEMENT_NUMBER] = {"number", 6}, [ELEMENT_STRING] = {"string", 6},
    [ELEMENT_ARRAY] = {"array", 5},   [ELEMENT_MAP] = {"map", 3},
};

static void put(struct xml_writer *w, pdr_str text)
{
    if (w->rc == PDR_OK)
        w->rc = pdr_buf_append(&w->sink.buf, text, w->err);
}

static void new_line(struct xml_writer *w, size_t level)
{
    int spaces = (int)(level * (w->opts.indent != 0 ? w->opts.indent : 2));

    if (w->opts.layout == PDR_PRETTY && w->rc == PDR_OK)
        w->rc = pdr_buf_printf(&w->sink.buf, w->err, "\n%*s", spaces, "");
}

/* ` key="`, as `name` has it, the text, and the quote. */
static void put_attribute(struct xml_writer *w, pdr_buf *to, pdr_str name,
                          pdr_str text)
{
    if (w->rc == PDR_OK)
        w->rc = pdr_buf_append(to, name, w->err);
    if (w->rc == PDR_OK)
        w->rc = pdr__xml_put_text(to, text, true, w->err);
    if (w->rc == PDR_OK)
        w->rc = pdr_buf_append(to, PDR_LIT("\""), w->err);
}

/* The exact spelling, for what `text` of the spelling does not tell. */
static void put_raw(struct xml_writer *w, pdr_buf *to, pdr_str name)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

    if (w->spelling.raw.len == 0 || w->rc != PDR_OK)
        return;
    if (!w->declared)
        put_attribute(w, to, PDR_LIT(" xmlns:p=\""),
                      PDR_LIT(XML_OWN_NAMESPACE));
    w->declared = true;
    if (w->rc == PDR_OK)
        w->rc = pdr__base64_encode(&text, w->spelling.raw, PDR_BASE64, true,
                                   w->err);
    put_attribute(w, to, name, pdr_buf_str(&text));
    pdr_buf_dispose(&text);
}

/* Keep the attributes that a name becomes (T2). */
static void put_name(struct xml_writer *w, const pdr_value *name)
{
    w->declared = false;
    if (w->rc == PDR_OK)
        w->rc = pdr__xml_spell(&w->spelling, name, w->err);
    put_attribute(w, &w->attributes, PDR_LIT(" key=\""), w->spelling.text);
    if (w->spelling.escaped)
        put_attribute(w, &w->attributes, PDR_LIT(" escaped-key=\""),
                      PDR_LIT("true"));
    put_raw(w, &w->attributes, PDR_LIT(" p:raw-key=\""));
}

/* A begin tag without its end (T1). */
static void open_tag(struct xml_writer *w, enum xml_element element,
                     size_t level)
{
    if (w->tag_open)
        put(w, PDR_LIT(">"));
    if (level > 0)
        new_line(w, level);
    put(w, PDR_LIT("<"));
    put(w, tags[element]);
    if (level == 0)
        put(w, PDR_LIT(" xmlns=\"" XML_NAMESPACE "\""));
    put(w, pdr_buf_str(&w->attributes));
    w->declared = w->declared && w->attributes.len > 0;
    pdr_buf_clear(&w->attributes);
    w->tag_open = true;
}

static void close_tag(struct xml_writer *w, enum xml_element element)
{
    if (w->tag_open) {
        put(w, PDR_LIT("/>"));
    } else {
        put(w, PDR_LIT("</"));
        put(w, tags[element]);
        put(w, PDR_LIT(">"));
    }
    w->tag_open = false;
}

static void close_container(struct xml_writer *w, bool object, size_t level)
{
    if (!w->tag_open)
        new_line(w, level);
    close_tag(w, object ? ELEMENT_MAP : ELEMENT_ARRAY);
}

/* --- values -------------------------------------------------------------- */

static void put_content(struct xml_writer *w, pdr_str text)
{
    if (text.len == 0)
        return;
    put(w, PDR_LIT(">"));
    w->tag_open = false;
    if (w->rc == PDR_OK)
        w->rc = pdr__xml_put_text(&w->sink.buf, text, false, w->err);
}

static void put_string(struct xml_writer *w, const pdr_value *value)
{
    if (w->rc == PDR_OK)
        w->rc = pdr__xml_spell(&w->spelling, value, w->err);
    if (w->rc != PDR_OK)
        return;
    if (w->spelling.escaped)
        put_attribute(w, &w->sink.buf, PDR_LIT(" escaped=\""), PDR_LIT("true"));
    put_raw(w, &w->sink.buf, PDR_LIT(" p:raw=\""));
    put_content(w, w->spelling.text);
}

static void put_number(struct xml_writer *w, const pdr_value *value)
{
    bool bare = (value->info & NODE_FLAG) != 0;
    pdr_str text = node_span(value);

    if (w->rc == PDR_OK && bare && (w->opts.flags & PDR_BARE_TOKENS) == 0) {
        w->rc = PDR_FAIL_AT(w->err, value->start, BARE_TOKEN,
                            "%.*s is no JSON; it is written only when asked "
                            "for",
                            (int)text.len, text.ptr);
        w->bad = value;
    }
    put_content(w, text);
}

static void put_value(struct xml_writer *w, const pdr_value *value,
                      size_t level);

static void put_children(struct xml_writer *w, const pdr_value *value,
                         size_t level)
{
    pdr_iter it;

    pdr_iter_init(&it, value);
    while (w->rc == PDR_OK && pdr_iter_next(&it)) {
        if (it.name != NULL)
            put_name(w, it.name);
        put_value(w, it.value, level + 1);
        if (w->rc == PDR_OK)
            w->rc = pdr__sink_ease(&w->sink, w->err);
    }
}

static void put_value(struct xml_writer *w, const pdr_value *value,
                      size_t level)
{
    enum xml_element element = (enum xml_element)pdr_value_kind(value);

    open_tag(w, element, level);
    switch (pdr_value_kind(value)) {
    case PDR_NULL:
        break;
    case PDR_BOOL:
        put_content(w, node_span(value));
        break;
    case PDR_NUMBER:
        put_number(w, value);
        break;
    case PDR_STRING:
        put_string(w, value);
        break;
    case PDR_ARRAY:
    case PDR_OBJECT:
        put_children(w, value, level);
        close_container(w, element == ELEMENT_MAP, level);
        return;
    }
    close_tag(w, element);
}

/* --- events -------------------------------------------------------------- */

static void put_event(struct xml_writer *w, const pdr_place *place,
                      pdr_event event, const pdr_value *value)
{
    switch (event) {
    case PDR_BEGIN_OBJECT:
        open_tag(w, ELEMENT_MAP, place->depth);
        break;
    case PDR_BEGIN_ARRAY:
        open_tag(w, ELEMENT_ARRAY, place->depth);
        break;
    case PDR_END:
        close_container(w, place->in_object, place->depth);
        break;
    case PDR_NAME:
        put_name(w, value);
        break;
    case PDR_SCALAR:
        put_value(w, value, place->depth);
        break;
    case PDR_END_OF_INPUT:
        break;
    }
}

static pdr_rc writer_put(void *self, const pdr_place *place, pdr_event event,
                         const pdr_value *value, pdr_err *err)
{
    struct xml_writer *w = self;
    bool complete =
        place->depth == 0 && (event == PDR_SCALAR || event == PDR_END);

    w->rc = PDR_OK;
    w->err = err;
    put_event(w, place, event, value);
    if (complete && (w->opts.flags & PDR_SEQUENCE) != 0)
        put(w, PDR_LIT("\n"));
    if (w->rc == PDR_OK)
        w->rc = pdr__sink_ease(&w->sink, err);
    if (w->bad != NULL)
        pdr__value_place(err, value, w->bad);
    return w->rc;
}

static pdr_rc writer_finish(void *self, pdr_err *err)
{
    struct xml_writer *w = self;

    return pdr__sink_flush(&w->sink, err);
}

/* --- the codec ----------------------------------------------------------- */

static const pdr_codec_form forms[] = {
    {"xml", "xml", 0},
    {NULL, NULL, 0},
};

/* A document begins with "<", behind white space. */
static const pdr_codec_form *guess(pdr_str beginning, bool whole)
{
    const char *p = beginning.ptr;
    size_t at = 0, len = beginning.len;

    (void)whole;
    if (len >= 4 &&
        (memcmp(p, "\xFF\xFE<", 4) == 0 || memcmp(p, "\xFE\xFF\0<", 4) == 0))
        return &forms[0];
    if (len >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0)
        at = 3;
    while (at < len && xml_is_space(p[at]))
        at++;
    return at < len && p[at] == '<' ? &forms[0] : NULL;
}

const pdr_codec pdr__xml_codec = {
    .version = PDR_CODEC_VERSION,
    .title = "XML",
    .forms = forms,
    .read_flags = PDR_BARE_TOKENS | PDR_TRAILING,
    .walk_flags = PDR_BARE_TOKENS | PDR_SEQUENCE,
    .write_flags = PDR_BARE_TOKENS | PDR_SEQUENCE,
    .has_paths = true,
    .walk_open = pdr__xml_walk_open,
    .walk_next = pdr__xml_walk_next,
    .walk_offset = pdr__xml_walk_offset,
    .walk_close = pdr__xml_walk_close,
    .writer_open = writer_open,
    .writer_put = writer_put,
    .writer_finish = writer_finish,
    .writer_close = writer_close,
    .guess = guess,
    .read = pdr__xml_read,
};

const pdr_codec *pdr_xml_codec(void)
{
    return &pdr__xml_codec;
}
