/*
 * xml_core.h - what the files of the XML codec share.
 *
 *   xml.c         expat: documents and streams to values and events
 *   xml_text.c    strings as JSON spells them and as XML carries them
 *   xml_writer.c  the way back, and the table of the codec
 */
#ifndef PDR_XML_CORE_H
#define PDR_XML_CORE_H

#include <perdure/xml.h>

#include "codec.h"

/* Of the elements, and of the attributes that only we know. */
#define XML_NAMESPACE     "http://www.w3.org/2005/xpath-functions"
#define XML_OWN_NAMESPACE "urn:perdure:json"

/* The kinds of elements, in the order of pdr_kind. */
enum xml_element {
    ELEMENT_NULL = PDR_NULL,
    ELEMENT_BOOLEAN = PDR_BOOL,
    ELEMENT_NUMBER = PDR_NUMBER,
    ELEMENT_STRING = PDR_STRING,
    ELEMENT_ARRAY = PDR_ARRAY,
    ELEMENT_MAP = PDR_OBJECT,
    ELEMENT_NONE
};

/* White space of XML. */
static inline bool xml_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* --- strings (xml_text.c) ------------------------------------------------ */

/* How a string is written. */
struct xml_spelling {
    pdr_str text; /* the content; XML escapes are still to be put */
    bool escaped; /* `text` has JSON escapes */
    pdr_str raw;  /* the exact inside of the JSON string, if `text` does not
                     tell it; else empty */
    /* owned, behind the views; PDR_XML_SPELLING_INIT */
    pdr_buf scratch;
};

/* clang-format off */
#define XML_SPELLING_INIT {{NULL, 0}, false, {NULL, 0}, PDR_BUF_INIT(SIZE_MAX)}
/* clang-format on */

/* The views are good until the next call, or until value or scratch go. */
pdr_rc pdr__xml_spell(struct xml_spelling *out, const pdr_value *string,
                      pdr_err *err);

/* Append text with the escapes that XML needs, in content or in an attribute
 * in double quotes. */
pdr_rc pdr__xml_put_text(pdr_buf *out, pdr_str text, bool attribute,
                         pdr_err *err);

/* Append the JSON string, with quotes, that this text means; *info gets what
 * its node has. Fails with BAD_ESCAPE, without a place. */
pdr_rc pdr__xml_read_text(pdr_buf *out, uint32_t *info, pdr_str text,
                          bool escaped, pdr_err *err);

/* Put the exact inside of a JSON string in place of the one in `span`, which
 * must have the same code points. Fails with XML_ATTRIBUTE. */
pdr_rc pdr__xml_restore(pdr_buf *span, uint32_t *info, pdr_str raw,
                        pdr_err *err);

/* --- slots of the codec (xml.c) ------------------------------------------ */

pdr_rc pdr__xml_read(pdr_value **out, pdr_str input, const pdr_read_opts *opts,
                     pdr_err *err);
pdr_rc pdr__xml_walk_open(void **self, const pdr_read_opts *opts, pdr_err *err,
                          pdr_read_fn fn, void *arg);
pdr_rc pdr__xml_walk_next(pdr_event *event, pdr_value **value, void *self,
                          pdr_err *err);
int64_t pdr__xml_walk_offset(const void *self);
void pdr__xml_walk_close(void *self);

#endif
