/*
 * codec.h - what the files of this folder share. See README.md.
 */
#ifndef PDR_CODEC_H
#define PDR_CODEC_H

#include <perdure/json.h>
#include <perdure/sys/codec.h>

#include "core.h"

/* --- where a walk or a writer stands (route.c) --------------------------- */

struct level {
    bool object;
    uint64_t children; /* complete ones */
    size_t path_len;   /* of the text when it is innermost */
};

/* The open containers, and the pointer of the innermost one as it is printed.
 * Behind a name, the text has that too. */
struct route {
    struct level *levels; /* owned; `max` of them */
    uint32_t max, depth;
    pdr_buf text;
};

pdr_rc pdr__route_init(struct route *route, uint32_t max, pdr_err *err);
void pdr__route_dispose(struct route *route);

static inline bool pdr__route_in_object(const struct route *route)
{
    return route->depth > 0 && route->levels[route->depth - 1].object;
}

/* A container begins; there must be room for it. */
pdr_rc pdr__route_open(struct route *route, bool object, pdr_err *err);
pdr_rc pdr__route_name(struct route *route, const pdr_value *name,
                       pdr_err *err);
/* A container ends, without counting for what is around it. */
void pdr__route_close(struct route *route);
/* A child is complete. */
void pdr__route_child(struct route *route);
/* Put the route in front of the path of `err`. `inside`: it is about the child
 * that comes next, not about the container. */
void pdr__route_put(pdr_err *err, const struct route *route, bool inside);

/* --- reading JSON (json_read.c, json_core.h) ----------------------------- */

/* Options with the defaults filled in. */
struct read_limits {
    bool bare;     /* NaN, Infinity, -Infinity are numbers */
    bool trailing; /* stop behind the document */
    bool alone;    /* the text was cut to the document, as well as one can */
    uint32_t depth, nodes;
    size_t bytes;
    pdr_kernel kernel;
    bool *extended; /* borrowed; may be NULL */
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
pdr_rc pdr__read_limits(struct read_limits *out, const pdr_read_opts *opts,
                        pdr_err *err);

/* Refuse what is no UTF-8 by its first bytes: byte order marks, UTF-16. */
pdr_rc pdr__json_check_beginning(pdr_str text, pdr_err *err);

/* Append "/" and a name, given as it stands between its quotes, to a pointer
 * that is made to be printed. */
pdr_rc pdr__json_push_token(pdr_buf *path, pdr_str inner);

/* Read one document; `levels` containers are open around it. The value borrows
 * `text`. *used is the end of it. `has_nul`: a NUL stands behind the text. */
pdr_rc pdr__json_parse(pdr_value **out, size_t *used, pdr_str text,
                       bool has_nul, const struct read_limits *limits,
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

/* --- slots of the JSON codec (json_walk.c, json_writer.c) ------------------
 */

pdr_rc pdr__json_walk_open(void **self, const pdr_read_opts *opts, pdr_err *err,
                           pdr_read_fn fn, void *arg);
pdr_rc pdr__json_walk_next(pdr_event *event, pdr_value **value, void *self,
                           pdr_err *err);
pdr_rc pdr__json_walk_take(pdr_value **out, void *self, pdr_err *err);
int64_t pdr__json_walk_offset(const void *self);
struct window *pdr__json_walk_window(void *self);
void pdr__json_walk_close(void *self);

/* As pdr_json_write(), for a value that stands `level` containers deep; options
 * are checked, the output may have a part of it after a failure. */
pdr_rc pdr__json_write_at(pdr_buf *out, const pdr_value *value,
                          const pdr_write_opts *opts, uint32_t level,
                          pdr_err *err);

extern const pdr_codec pdr__json_codec;
extern const pdr_codec pdr__msgpack_codec;
extern const pdr_codec pdr__xml_codec;

/* --- all codecs (codec.c) --------------------------------------------------
 */

/* Is the table complete, and does it take these flags? */
pdr_rc pdr__codec_check(const pdr_codec *codec, unsigned flags,
                        unsigned allowed, pdr_err *err);
/* Read by walking. */
pdr_rc pdr__codec_read_by_walk(pdr_value **out, const pdr_codec *codec,
                               pdr_str input, const pdr_read_opts *opts,
                               pdr_err *err);
/* Check layout and indent. */
pdr_rc pdr__write_opts_check(const pdr_write_opts *opts, pdr_err *err);

/* Build what an event says. */
void pdr__builder_put(pdr_builder *b, pdr_event event, const pdr_value *value);

/* Put the path from `root` to a node in it into `err`. */
void pdr__value_place(pdr_err *err, const pdr_value *root,
                      const pdr_value *target);

/* A stream failed: was it said why? */
void pdr__stream_failed(pdr_err *err, pdr_rc rc);

/* --- input from a stream (window.c) ----------------------------------------
 */

/*
 *   stream ──►  [ ...... event ........ pos ........ ]  buf
 *                        `-- kept -----'
 */
struct window {
    pdr_buf buf;
    size_t event; /* in buf: where the last event begins; kept from there on */
    size_t pos;   /* in buf: what was passed */
    int64_t base; /* offset of buf in the stream */
    int64_t hold; /* offset from which on all is kept; -1: the event alone */
    bool at_end;  /* the stream has no more */
    pdr_read_fn fn;
    void *arg;
};

void pdr__window_init(struct window *window, pdr_read_fn fn, void *arg);
void pdr__window_dispose(struct window *window);
/* More bytes behind those in the window, or at_end. What lies before `event`
 * and `hold` may be dropped: then event, pos and base move. */
pdr_rc pdr__window_fill(struct window *window, pdr_err *err);

/* The window of a walk over JSON, for who wants its bytes and not only what
 * they mean. Set `hold` to an offset that was not dropped yet. */
struct window *pdr__walk_window(pdr_walk *walk);
/* The bytes from `from` up to `to`, which are held and were passed. Borrowed
 * until the walk goes on. */
pdr_str pdr__window_text(const struct window *window, int64_t from, int64_t to);
/* Byte behind the last event; of a name, behind its colon. */
static inline int64_t pdr__window_passed(const struct window *window)
{
    return window->base + (int64_t)window->pos;
}

/* --- output to a stream (sink.c) ---------------------------------------------
 */

/* Bytes on their way to a stream; handed out when there are enough. */
struct sink {
    pdr_buf buf;
    pdr_write_fn fn;
    void *arg;
};

void pdr__sink_init(struct sink *sink, pdr_write_fn fn, void *arg);
void pdr__sink_dispose(struct sink *sink);
/* Hand out what is there if it is much, or in any case. */
pdr_rc pdr__sink_ease(struct sink *sink, pdr_err *err);
pdr_rc pdr__sink_flush(struct sink *sink, pdr_err *err);

#endif
