/*
 * xml_text.h - short ways to read and write XML in tests.
 */
#ifndef PDR_TEST_XML_TEXT_H
#define PDR_TEST_XML_TEXT_H

#include "pieces.h"
#include "values.h"

#include "codec.h"

/* A root element needs the namespace. */
#define NS "xmlns=\"http://www.w3.org/2005/xpath-functions\""

/* Put a document together from the events of a walk. */
static inline pdr_rc xml_read_by_walk(pdr_value **out, pdr_str text,
                                      size_t step, const pdr_read_opts *opts,
                                      pdr_err *err)
{
    struct source source = source_of(text, step);
    pdr_walk *walk = NULL;
    pdr_event event = PDR_END_OF_INPUT;

    *out = NULL;
    pdr_rc rc = pdr_walk_new(&walk, pdr_xml_codec(), opts, err, give, &source);
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
