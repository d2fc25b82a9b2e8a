/*
 * msgpack.h - what the files of the MessagePack codec share. The format is
 * described in docs/formats/msgpack.md.
 */
#ifndef PDR_CODEC_MSGPACK_H
#define PDR_CODEC_MSGPACK_H

#include <perdure/msgpack.h>

#include "codec.h"

/* First bytes. A fixed one has its number or length in its lower bits. */
enum {
    MP_FIXINT_MAX = 0x7F,
    MP_FIXMAP = 0x80,
    MP_FIXARRAY = 0x90,
    MP_FIXSTR = 0xA0,
    MP_NIL = 0xC0,
    MP_NEVER = 0xC1,
    MP_FALSE = 0xC2,
    MP_TRUE = 0xC3,
    MP_BIN8 = 0xC4,
    MP_BIN32 = 0xC6,
    MP_EXT8 = 0xC7,
    MP_EXT16 = 0xC8,
    MP_EXT32 = 0xC9,
    MP_FLOAT32 = 0xCA,
    MP_FLOAT64 = 0xCB,
    MP_UINT8 = 0xCC,
    MP_UINT16 = 0xCD,
    MP_UINT32 = 0xCE,
    MP_UINT64 = 0xCF,
    MP_INT8 = 0xD0,
    MP_INT16 = 0xD1,
    MP_INT32 = 0xD2,
    MP_INT64 = 0xD3,
    MP_FIXEXT1 = 0xD4,
    MP_FIXEXT16 = 0xD8,
    MP_STR8 = 0xD9,
    MP_STR16 = 0xDA,
    MP_STR32 = 0xDB,
    MP_ARRAY16 = 0xDC,
    MP_ARRAY32 = 0xDD,
    MP_MAP16 = 0xDE,
    MP_MAP32 = 0xDF,
    MP_NEGATIVE = 0xE0
};

/* Extension types of ours. */
#define MP_EXT_NUMBER    1    /* the text of a number */
#define MP_EXT_STRING    2    /* what stands between the quotes in JSON */
#define MP_EXT_TIMESTAMP (-1) /* of the format itself; refused */

enum mp_kind {
    MP_KIND_NIL,
    MP_KIND_BOOL,
    MP_KIND_INT,  /* `number` as int64_t */
    MP_KIND_UINT, /* `number` */
    MP_KIND_DOUBLE,
    MP_KIND_STR, /* `size` bytes follow */
    MP_KIND_BIN,
    MP_KIND_EXT,   /* of type `type` */
    MP_KIND_ARRAY, /* `size` elements follow */
    MP_KIND_MAP,   /* `size` members follow */
    MP_KIND_NEVER
};

/* What the head of a token says. */
struct mp_token {
    enum mp_kind kind;
    bool truth;
    int8_t type;
    uint32_t size;
    uint64_t number;
    double real;
};

/* Bytes of the head of a token that begins so: 1 to 9. */
size_t pdr__mp_head_len(unsigned char first);

/* Read the head at p, all of whose bytes are there. */
void pdr__mp_head(struct mp_token *out, const unsigned char *p);

/* Big-endian numbers. */
static inline uint16_t mp_load16(const unsigned char *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t mp_load32(const unsigned char *p)
{
    uint32_t n;

    memcpy(&n, p, 4);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    n = __builtin_bswap32(n);
#endif
    return n;
}

static inline uint64_t mp_load64(const unsigned char *p)
{
    uint64_t n;

    memcpy(&n, p, 8);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    n = __builtin_bswap64(n);
#endif
    return n;
}

static inline void mp_store32(char *p, uint32_t n)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    n = __builtin_bswap32(n);
#endif
    memcpy(p, &n, 4);
}

static inline double mp_double(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, 8);
    return x;
}

static inline double mp_float(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, 4);
    return (double)x;
}

static inline bool mp_is_finite(double x)
{
    return x - x == 0;
}

/* --- reading a document in memory (msgpack_read.c, msgpack_core.h) ------- */

#define MP_NONE       UINT32_MAX
#define MP_TEXT_SLACK 128

/* One document being read. */
struct mp_reader {
    const unsigned char *p, *end;
    char *text;          /* owned */
    char *to;            /* behind what was written */
    char *room;          /* `to` may be here when an item begins (M1) */
    struct block *block; /* owned */
    pdr_value *nodes;    /* of block */
    uint32_t cap, count;
    uint32_t depth, height, large;
    struct read_limits limits;
    bool has_bare;
    bool no_memory;
};

/* Read one whole document; NULL if anything is wrong with it, or memory is
 * lacking. */
pdr_value *pdr__mp_read_quickly(pdr_str input, const struct read_limits *limits,
                                bool *no_memory);

/* Read the whole document; false if anything is wrong with it. */
bool pdr__mp_kernel(struct mp_reader *r); /* SSE2 where it can be expected */
bool pdr__mp_kernel_portable(struct mp_reader *r);
bool pdr__mp_kernel_avx2(struct mp_reader *r);

/* Bytes to allocate where `need` must be and `cap` would be good, within what a
 * node can point at (M6); 0 if that is not enough. */
size_t pdr__mp_text_cap(size_t cap, size_t need);

/* Room for `size` bytes of text behind `to`, and the slack. */
bool pdr__mp_grow_text(struct mp_reader *r, size_t size);

static inline bool mp_room_for_text(struct mp_reader *r, size_t size)
{
    return PDR_LIKELY(r->room - r->to >= (ptrdiff_t)size) ||
           pdr__mp_grow_text(r, size);
}

/* Room for two more nodes: a name and its value. */
bool pdr__mp_grow_nodes(struct mp_reader *r);

/* A token that the loop does not handle where it meets it, and that is no name
 * unless it is a string: its head, then its text and flags. Strings and
 * containers are left to the loop, behind their head. */
bool pdr__mp_put_token(struct mp_reader *r, struct mp_token *token,
                       uint32_t *info, bool name);

/* --- slots of the codec -----------------------------------------------------
 */

pdr_rc pdr__mp_read(pdr_value **out, pdr_str input, const pdr_read_opts *opts,
                    pdr_err *err);
pdr_rc pdr__mp_write(pdr_buf *out, const pdr_value *value,
                     const pdr_write_opts *opts, pdr_err *err);
pdr_rc pdr__mp_walk_open(void **self, const pdr_read_opts *opts, pdr_err *err,
                         pdr_read_fn fn, void *arg);
pdr_rc pdr__mp_walk_next(pdr_event *event, pdr_value **value, void *self,
                         pdr_err *err);
pdr_rc pdr__mp_walk_take(pdr_value **out, void *self, pdr_err *err);
int64_t pdr__mp_walk_offset(const void *self);
void pdr__mp_walk_close(void *self);

#endif
