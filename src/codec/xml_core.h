/*
 * xml_core.h - what the files of the XML codec share.
 *
 *   xml.c         expat, and nothing of JSON
 *   xml_rules.c   what the W3C's representation of JSON allows
 *   xml_text.c    strings as JSON spells them and as XML carries them
 *   xml_read.c    documents in memory
 *   xml_walk.c    streams
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

/* --- a document that is being read ---------------------------------------- */

struct xml_level {
    bool object;
    uint64_t children; /* complete ones */
    size_t names_len;  /* of `names` without its own name */
};

struct xml_event {
    pdr_event event;
    pdr_str span; /* NAME, SCALAR: borrowed from `key` or `text` */
    uint32_t info;
    int64_t offset;
};

struct xml_parser {
    struct XML_ParserStruct *expat; /* owned */
    struct read_limits limits;
    size_t max_scalar;    /* bytes of a name or scalar as JSON */
    size_t max_tag;       /* bytes of a tag or comment */
    bool one;             /* stop behind the root element */
    pdr_builder *builder; /* borrowed; NULL: events go to `pending` */
    /* where we are */
    int64_t base;             /* of the document in the stream */
    size_t fed;               /* bytes of it that expat got */
    size_t unfinished;        /* of these: a tag or comment without an end */
    size_t retried;           /* bytes of it that expat went over again */
    size_t line, column;      /* where it begins, from 1 and from 0 */
    bool moved;               /* some handler ran */
    bool wide;                /* it is UTF-16 */
    struct xml_level *levels; /* owned; limits.depth of them */
    uint32_t depth;
    pdr_buf names;    /* of open containers in maps, one behind another */
    uint64_t nodes;   /* names and values so far */
    bool inside;      /* what is read stands in a child that has a place */
    bool seen;        /* something but white space */
    bool begun, done; /* the root element */
    int64_t end;      /* behind the root element */
    int64_t tail;     /* behind white space and comments after that */
    /* the element at hand */
    int64_t begin, at; /* first byte of its begin tag; of the tag at hand */
    enum xml_element scalar; /* open inside of the container; or NONE */
    bool escaped, has_raw, gap;
    pdr_buf key, text, raw, spelled;
    uint32_t key_info;
    /* for walks */
    struct xml_event pending[3]; /* of one tag */
    unsigned pending_count;
    pdr_rc rc; /* first failure; then nothing happens any more */
    pdr_err err;
};

#define XML_FAIL(x, reason, ...)                         \
    ((x)->rc = PDR_FAIL(&(x)->err, reason, __VA_ARGS__), \
     pdr__xml_refuse_at((x), 0))

/* What became of the bytes that expat got. */
enum xml_status { XML_GOES_ON, XML_SUSPENDED_AT_EVENT, XML_STOPPED };

/* --- expat (xml.c) ------------------------------------------------------- */

/* Dispose also after a failure. */
pdr_rc pdr__xml_init(struct xml_parser *x, const pdr_read_opts *opts,
                     pdr_err *err);
void pdr__xml_dispose(struct xml_parser *x);
/* Before the first bytes of a document; as many of them as there are. */
void pdr__xml_begin(struct xml_parser *x, const char *text, size_t len);
/* Behind a document: be ready for the next one. */
void pdr__xml_reset(struct xml_parser *x);
/* How many of these bytes are given to expat at once. */
size_t pdr__xml_piece(const struct xml_parser *x, const char *from, size_t len);
/* Let expat work on bytes, the last ones or not. */
enum xml_status pdr__xml_feed(struct xml_parser *x, const char *from,
                              size_t len, bool last);
/* Let it go on after an event. */
enum xml_status pdr__xml_resume(struct xml_parser *x);
/* Stop for an event. */
void pdr__xml_suspend(struct xml_parser *x);
/* Put place and path into the failure, `ahead` characters behind the beginning
 * of the token at hand, and stop. */
void pdr__xml_refuse_at(struct xml_parser *x, size_t ahead);
/* expat stopped: fail, if that was not the end of a sequence. */
void pdr__xml_refuse(struct xml_parser *x);
/* Did it stop because there was no document? */
bool pdr__xml_has_nothing(const struct xml_parser *x);
pdr_rc pdr__xml_give_failure(const struct xml_parser *x, pdr_err *err);

/* --- the rules for elements (xml_rules.c) -------------------------------- */

/* A begin tag, its attributes as names and texts in turn, up to NULL. */
void pdr__xml_start(struct xml_parser *x, const char *name,
                    const char *const *pairs);
void pdr__xml_text(struct xml_parser *x, const char *text, size_t len);
void pdr__xml_end(struct xml_parser *x);
void pdr__xml_put_path(struct xml_parser *x);

/* Between a namespace and a name, as expat gives them: no character of XML. */
#define XML_SEPARATOR "\x01"

/* --- strings (xml_text.c) ------------------------------------------------ */

/* How a string is written. */
struct xml_spelling {
    pdr_str text; /* the content; XML escapes are still to be put */
    bool escaped; /* `text` has JSON escapes */
    pdr_str raw;  /* the exact inside of the JSON string, if `text` does not
                     tell it; else empty */
    /* owned, behind the views; XML_SPELLING_INIT */
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

/* --- slots of the codec (xml_read.c, xml_walk.c) ------------------------- */

pdr_rc pdr__xml_read(pdr_value **out, pdr_str input, const pdr_read_opts *opts,
                     pdr_err *err);
pdr_rc pdr__xml_walk_open(void **self, const pdr_read_opts *opts, pdr_err *err,
                          pdr_read_fn fn, void *arg);
pdr_rc pdr__xml_walk_next(pdr_event *event, pdr_value **value, void *self,
                          pdr_err *err);
int64_t pdr__xml_walk_offset(const void *self);
void pdr__xml_walk_close(void *self);

#endif
