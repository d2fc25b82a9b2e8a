/*
 * codec.h - what the files of this folder share. See README.md.
 */
#ifndef PDR_CODEC_H
#define PDR_CODEC_H

#include <perdure/json.h>

#include "core.h"

/* --- reading JSON (json_read.c, json_core.h) ----------------------------- */

/* Options with the defaults filled in. */
struct json_limits {
    bool bare;     /* NaN, Infinity, -Infinity are numbers */
    bool trailing; /* stop behind the document */
    bool alone;    /* the text was cut to the document, as well as one can */
    uint32_t depth, nodes;
    size_t bytes;
    pdr_json_kernel kernel;
};

/* One document being read. A kernel fills nodes until it is done or fails. */
struct json_reader {
    const char *text, *end;
    struct block *block; /* owned */
    pdr_value *nodes;    /* of block */
    uint32_t cap;        /* nodes that fit */
    uint32_t count;      /* nodes so far */
    uint32_t open;       /* innermost open container, or JSON_NONE */
    uint32_t children;   /* of it, so far */
    uint32_t depth, height;
    uint32_t levels; /* open containers around the document */
    uint32_t large;
    uint32_t max_depth, max_nodes;
    bool bare, has_bare;
    /* The result: where it stopped, and why. */
    const char *at;
    size_t used;                      /* bytes up to there */
    enum pdr__reason reason;          /* if the kernel returned false */
    bool at_value, at_name, at_colon; /* what was to come there */
};

#define JSON_NONE UINT32_MAX

/* Reads one value at r->at, white space in front allowed. True: r->at is behind
 * it. */
typedef bool (*json_kernel_fn)(struct json_reader *r);

bool pdr__json_kernel_portable(struct json_reader *r);
bool pdr__json_kernel_sse2(struct json_reader *r);
bool pdr__json_kernel_avx2(struct json_reader *r);

/* Room for `need` more nodes; false with a reason set. */
bool pdr__json_grow(struct json_reader *r, uint32_t need);

/* Check options and fill in the defaults. */
pdr_rc pdr__json_limits(struct json_limits *out, const pdr_json_read_opts *opts,
                        pdr_err *err);

/* Refuse what is no UTF-8 by its first bytes: byte order marks, UTF-16. */
pdr_rc pdr__json_check_beginning(pdr_str text, pdr_err *err);

/* Append "/" and a name, given as it stands between its quotes, to a pointer
 * that is made to be printed. */
pdr_rc pdr__json_push_token(pdr_buf *path, pdr_str inner);

/* Read one document; `levels` containers are open around it. The value borrows
 * `text`. *used is the end of it. `has_nul`: a NUL stands behind the text. */
pdr_rc pdr__json_parse(pdr_value **out, size_t *used, pdr_str text,
                       bool has_nul, const struct json_limits *limits,
                       uint32_t levels, pdr_err *err);

/* Bytes of the escape or of the UTF-8 sequences at p (inside a string, p < end,
 * no quote) in the lower 8 bits, NODE_FLAG and NODE_LONE from bit 8 on; 0 if it
 * is wrong, then pdr__json_why() tells. */
uint32_t pdr__json_special(const char *p, const char *end);

/* What is wrong at p inside a string; *at is the byte to name. */
enum pdr__reason pdr__json_why(const char **at, const char *p, const char *end);

static inline bool json_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

#endif
