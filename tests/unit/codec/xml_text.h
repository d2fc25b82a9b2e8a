/*
 * xml_text.h - short ways to read and write XML in tests.
 */
#ifndef PDR_TEST_XML_TEXT_H
#define PDR_TEST_XML_TEXT_H

#include "values.h"

#include "codec.h"

/* A root element needs the namespace. */
#define NS "xmlns=\"http://www.w3.org/2005/xpath-functions\""

/* A stream over a text, some bytes at a time; fails at `fail_at`. */
struct xml_source {
    pdr_str text;
    size_t at, step;
    size_t fail_at; /* SIZE_MAX: never */
};

static inline pdr_rc xml_give(size_t *got, void *into, size_t cap, pdr_err *err,
                              void *arg)
{
    struct xml_source *s = arg;
    size_t n = s->text.len - s->at;

    if (s->at >= s->fail_at)
        return pdr_err_set(err, PDR_EIO, "line_cut", "the line was cut");
    if (n > s->step)
        n = s->step;
    if (n > cap)
        n = cap;
    if (n > 0)
        memcpy(into, s->text.ptr + s->at, n);
    s->at += n;
    *got = n;
    return PDR_OK;
}

static inline struct xml_source xml_source_of(pdr_str text, size_t step)
{
    struct xml_source s = {text, 0, step, SIZE_MAX};

    return s;
}

/* Put a document together from the events of a walk. */
static inline pdr_rc xml_read_by_walk(pdr_value **out, pdr_str text,
                                      size_t step, const pdr_read_opts *opts,
                                      pdr_err *err)
{
    struct xml_source source = xml_source_of(text, step);
    pdr_walk *walk = NULL;
    pdr_event event = PDR_END_OF_INPUT;

    *out = NULL;
    pdr_rc rc =
        pdr_walk_new(&walk, pdr_xml_codec(), opts, err, xml_give, &source);
    if (rc == PDR_OK)
        rc = pdr_walk_next(&event, walk, err);
    if (rc == PDR_OK)
        rc = pdr_walk_take(out, walk, err);
    if (rc == PDR_OK)
        rc = pdr_walk_next(&event, walk, err);
    if (rc != PDR_OK) {
        pdr_value_free(*out);
        *out = NULL;
    }
    pdr_walk_free(walk);
    return rc;
}

/* XML of a value; the caller disposes. */
static inline pdr_buf xml_of(const pdr_value *value, pdr_layout layout,
                             unsigned flags)
{
    pdr_write_opts opts = {.layout = layout, .flags = flags};
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);

    ASSERT_RC(PDR_OK,
              pdr_codec_write(&out, pdr_xml_codec(), value, &opts, NULL));
    return out;
}

#endif
