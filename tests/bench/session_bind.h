/*
 * session_bind.h - C structs from values and back, by tables.
 *
 * A program that keeps typed state says once what its structs look like, and
 * gets decode, encode, copy and free for a pdr_state_type from it. An object
 * and all that it points to lie in memory of their own: nothing is shared with
 * the value it came from.
 */
#ifndef PDR_BENCH_SESSION_BIND_H
#define PDR_BENCH_SESSION_BIND_H

#include <perdure.h>

enum bind_kind {
    BIND_TEXT,   /* pdr_str */
    BIND_INT,    /* int64_t */
    BIND_DOUBLE, /* double */
    BIND_BOOL,   /* bool */
    BIND_FLAG,   /* signed char: 1, 0, or -1 for null */
    BIND_OBJECT, /* a struct that begins with `uint32_t has` */
    BIND_LIST,   /* struct bind_list of items */
    BIND_MAP     /* struct bind_list of items that begin with their name, a
                    pdr_str; the item itself lies behind it */
};

struct bind_list {
    void *items;
    size_t count;
};

struct bind_shape {
    enum bind_kind kind;
    size_t size; /* of the C type */
    const struct bind_member *members;
    size_t member_count;           /* at most 32 */
    const struct bind_shape *item; /* of a list or map */
};

/* Members are written in the order of the table. Bit i of `has` says whether
 * member i is there. */
struct bind_member {
    const char *name;
    size_t name_len;
    size_t offset;
    const struct bind_shape *shape;
};

#define BIND_MEMBER(type, name, shape)                           \
    {                                                            \
#name, sizeof(#name) - 1, offsetof(type, name), &(shape) \
    }
#define BIND_STRUCT(type, table)                                              \
    {                                                                         \
        BIND_OBJECT, sizeof(type), table, sizeof(table) / sizeof((table)[0]), \
            NULL                                                              \
    }
#define BIND_LIST_OF(shape)                                    \
    {                                                          \
        BIND_LIST, sizeof(struct bind_list), NULL, 0, &(shape) \
    }
#define BIND_MAP_OF(shape)                                    \
    {                                                         \
        BIND_MAP, sizeof(struct bind_list), NULL, 0, &(shape) \
    }

extern const struct bind_shape bind_text, bind_int, bind_double, bind_bool,
    bind_flag;

/* --- memory ----------------------------------------------------------------
 */

/* Pieces that are freed together. Zero is one without pieces. */
struct bind_arena {
    struct bind_chunk *chunks; /* the last one first */
    char *next, *end;          /* room in the last one */
};

/* `size` bytes for anything; NULL without memory. */
void *bind_alloc(struct bind_arena *arena, size_t size);
/* A copy of a text; its pointer is NULL without memory. */
pdr_str bind_copy_text(struct bind_arena *arena, pdr_str text);
void bind_dispose(struct bind_arena *arena);

/* --- objects ---------------------------------------------------------------
 */

/* An object: what stands first in its memory. The C type follows. */
struct bind_object {
    struct bind_arena arena; /* holds all that it points to */
};

/* An empty object of a shape, all zero; NULL without memory. */
void *bind_new(const struct bind_shape *shape);
/* The memory that belongs to an object. */
struct bind_arena *bind_arena_of(void *object);
void bind_free(void *object);

/* For a pdr_state_type whose `arg` is its shape. */
pdr_rc bind_decode(void **out, const pdr_value *value, pdr_err *err,
                   void *shape);
pdr_rc bind_encode(pdr_value **out, const void *object, pdr_err *err,
                   void *shape);
pdr_rc bind_copy(void **out, const void *object, pdr_err *err, void *shape);
void bind_release(void *object, void *shape);

/* A part of an object, with a builder that stands where it belongs. */
void bind_put(pdr_builder *builder, const struct bind_shape *shape,
              const void *part);

#endif
