/*
 * session_bind.c - C structs from values and back, by tables.
 *
 * WHY  The workload decodes ten kinds of structs. One table each says all that
 *      decode, encode and copy have to know, so that the three cannot disagree.
 *
 * INVARIANTS
 *   I1  Members that the table does not name are skipped: the bag keeps them.
 *       Those that the document lacks are not in `has` and are not written.
 *   I2  A decoded object points into no value.
 */
#include "session_bind.h"

#include <stdlib.h>

#define FIRST_CHUNK ((size_t)4096)
#define LAST_CHUNK  ((size_t)1 << 20)
#define ALIGN       16u
#define KEY_BYTES   ALIGN /* a name and the padding behind it */

_Static_assert(sizeof(pdr_str) == KEY_BYTES, "an item follows its name");

const struct bind_shape bind_text = {BIND_TEXT, sizeof(pdr_str), NULL, 0, NULL};
const struct bind_shape bind_int = {BIND_INT, sizeof(int64_t), NULL, 0, NULL};
const struct bind_shape bind_double = {BIND_DOUBLE, sizeof(double), NULL, 0,
                                       NULL};
const struct bind_shape bind_bool = {BIND_BOOL, sizeof(bool), NULL, 0, NULL};
const struct bind_shape bind_flag = {BIND_FLAG, 1, NULL, 0, NULL};

/* --- memory ----------------------------------------------------------------
 */

struct bind_chunk {
    struct bind_chunk *before;
    size_t size;
};

static void *alloc_unaligned(struct bind_arena *arena, size_t size)
{
    if ((size_t)(arena->end - arena->next) < size) {
        size_t room =
            arena->chunks == NULL ? FIRST_CHUNK : arena->chunks->size * 2;
        room = room > LAST_CHUNK ? LAST_CHUNK : room;
        room = room < size ? size : room;
        struct bind_chunk *chunk = malloc(sizeof(*chunk) + room);
        if (chunk == NULL)
            return NULL;
        *chunk = (struct bind_chunk){arena->chunks, room};
        arena->chunks = chunk;
        arena->next = (char *)(chunk + 1);
        arena->end = arena->next + room;
    }
    char *found = arena->next;
    arena->next += size;
    return found;
}

void *bind_alloc(struct bind_arena *arena, size_t size)
{
    size_t over = (uintptr_t)arena->next % ALIGN;

    if (over != 0 && (size_t)(arena->end - arena->next) >= ALIGN - over)
        arena->next += ALIGN - over;
    else if (over != 0)
        arena->next = arena->end = NULL; /* too full: another chunk */
    return alloc_unaligned(arena, size);
}

pdr_str bind_copy_text(struct bind_arena *arena, pdr_str text)
{
    char *to = alloc_unaligned(arena, text.len > 0 ? text.len : 1);

    if (to != NULL && text.len > 0)
        memcpy(to, text.ptr, text.len);
    return pdr_str_n(to, text.len);
}

void bind_dispose(struct bind_arena *arena)
{
    while (arena->chunks != NULL) {
        struct bind_chunk *before = arena->chunks->before;
        free(arena->chunks);
        arena->chunks = before;
    }
}

static pdr_rc no_memory(pdr_err *err)
{
    return pdr_err_set(err, PDR_ENOMEM, "no_memory", "no memory for an object");
}

/* --- objects ---------------------------------------------------------------
 */

_Static_assert(sizeof(struct bind_object) <= 2 * ALIGN, "head of an object");
#define HEAD_BYTES ((size_t)2 * ALIGN)

void *bind_new(const struct bind_shape *shape)
{
    char *head = calloc(1, HEAD_BYTES + shape->size);

    return head == NULL ? NULL : head + HEAD_BYTES;
}

struct bind_arena *bind_arena_of(void *object)
{
    return &((struct bind_object *)(void *)((char *)object - HEAD_BYTES))
                ->arena;
}

void bind_free(void *object)
{
    if (object == NULL)
        return;
    bind_dispose(bind_arena_of(object));
    free((char *)object - HEAD_BYTES);
}

void bind_release(void *object, void *shape)
{
    (void)shape;
    bind_free(object);
}

/* Bytes from one item of a list or map to the next. */
static size_t stride_of(const struct bind_shape *list)
{
    size_t size = list->item->size;

    if (list->kind == BIND_LIST)
        return size;
    return KEY_BYTES + (size + ALIGN - 1) / ALIGN * ALIGN;
}

static size_t key_bytes(const struct bind_shape *list)
{
    return list->kind == BIND_MAP ? KEY_BYTES : 0;
}

/* --- decode ----------------------------------------------------------------
 */

struct decoder {
    struct bind_arena *arena;
    pdr_buf scratch;
    pdr_err *err;
};

static pdr_rc decode(struct decoder *d, const struct bind_shape *shape,
                     void *to, const pdr_value *value);

static pdr_rc decode_text(struct decoder *d, pdr_str *to,
                          const pdr_value *value)
{
    pdr_str text = {NULL, 0};
    pdr_rc rc = pdr_value_text(&text, value, &d->scratch, d->err);

    if (rc != PDR_OK)
        return rc;
    *to = bind_copy_text(d->arena, text);
    return to->ptr != NULL ? PDR_OK : no_memory(d->err);
}

static pdr_rc wrong_kind(struct decoder *d, pdr_kind wanted,
                         const pdr_value *value)
{
    return pdr_err_set(d->err, PDR_EINVALID, "wrong_kind", "%s wanted, not %s",
                       pdr_kind_name(wanted),
                       pdr_kind_name(pdr_value_kind(value)));
}

/* Which member is it? Documents mostly have the order of the table, so look
 * behind the last one first. The count if there is none. */
static size_t find_member(const struct bind_shape *shape, size_t from,
                          const pdr_value *name)
{
    for (size_t k = 0; k < shape->member_count; k++) {
        size_t i = from + k < shape->member_count
                       ? from + k
                       : from + k - shape->member_count;
        const struct bind_member *m = &shape->members[i];
        if (pdr_value_text_is(name, pdr_str_n(m->name, m->name_len)))
            return i;
    }
    return shape->member_count;
}

static pdr_rc decode_object(struct decoder *d, const struct bind_shape *shape,
                            char *to, const pdr_value *value)
{
    pdr_iter it;
    size_t next = 0;
    pdr_rc rc = PDR_OK;
    uint32_t has = 0;

    if (pdr_value_kind(value) != PDR_OBJECT)
        return wrong_kind(d, PDR_OBJECT, value);
    memset(to, 0, shape->size);
    pdr_iter_init(&it, value);
    while (rc == PDR_OK && pdr_iter_next(&it)) {
        size_t i = find_member(shape, next, it.name);
        if (i == shape->member_count)
            continue; /* I1 */
        const struct bind_member *m = &shape->members[i];
        rc = decode(d, m->shape, to + m->offset, it.value);
        has |= (uint32_t)1 << i;
        next = i + 1;
    }
    memcpy(to, &has, sizeof(has));
    return rc;
}

static pdr_rc decode_list(struct decoder *d, const struct bind_shape *shape,
                          struct bind_list *to, const pdr_value *value)
{
    pdr_kind wanted = shape->kind == BIND_MAP ? PDR_OBJECT : PDR_ARRAY;
    size_t stride = stride_of(shape), key = key_bytes(shape);
    pdr_rc rc = PDR_OK;
    pdr_iter it;

    if (pdr_value_kind(value) != wanted)
        return wrong_kind(d, wanted, value);
    to->count = pdr_value_count(value);
    to->items = NULL;
    if (to->count == 0)
        return PDR_OK;
    char *item = bind_alloc(d->arena, to->count * stride);
    if (item == NULL)
        return no_memory(d->err);
    to->items = item;
    pdr_iter_init(&it, value);
    for (; rc == PDR_OK && pdr_iter_next(&it); item += stride) {
        if (key > 0)
            rc = decode_text(d, (pdr_str *)(void *)item, it.name);
        if (rc == PDR_OK)
            rc = decode(d, shape->item, item + key, it.value);
    }
    return rc;
}

static pdr_rc decode_flag(struct decoder *d, signed char *to,
                          const pdr_value *value)
{
    bool truth = false;

    *to = -1;
    if (pdr_value_kind(value) == PDR_NULL)
        return PDR_OK;
    pdr_rc rc = pdr_value_bool(&truth, value, d->err);
    *to = truth ? 1 : 0;
    return rc;
}

static pdr_rc decode(struct decoder *d, const struct bind_shape *shape,
                     void *to, const pdr_value *value)
{
    switch (shape->kind) {
    case BIND_TEXT:
        return decode_text(d, to, value);
    case BIND_INT:
        return pdr_value_int64(to, value, d->err);
    case BIND_DOUBLE:
        return pdr_value_double(to, value, d->err);
    case BIND_BOOL:
        return pdr_value_bool(to, value, d->err);
    case BIND_FLAG:
        return decode_flag(d, to, value);
    case BIND_OBJECT:
        return decode_object(d, shape, to, value);
    case BIND_LIST:
    case BIND_MAP:
        break;
    }
    return decode_list(d, shape, to, value);
}

pdr_rc bind_decode(void **out, const pdr_value *value, pdr_err *err,
                   void *shape)
{
    struct decoder d = {.scratch = PDR_BUF_INIT(SIZE_MAX), .err = err};
    void *object = bind_new(shape);
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (object == NULL)
        return no_memory(err);
    d.arena = bind_arena_of(object);
    rc = decode(&d, shape, object, value);
    pdr_buf_dispose(&d.scratch);
    if (rc == PDR_OK)
        *out = object;
    else
        bind_free(object);
    return rc;
}

/* --- encode ----------------------------------------------------------------
 */

static void put_object(pdr_builder *b, const struct bind_shape *shape,
                       const char *from)
{
    uint32_t has = 0;

    memcpy(&has, from, sizeof(has));
    pdr_builder_object(b);
    for (size_t i = 0; i < shape->member_count; i++) {
        const struct bind_member *m = &shape->members[i];
        if ((has >> i & 1) == 0)
            continue;
        pdr_builder_name(b, pdr_str_n(m->name, m->name_len));
        bind_put(b, m->shape, from + m->offset);
    }
    pdr_builder_end(b);
}

static void put_list(pdr_builder *b, const struct bind_shape *shape,
                     const struct bind_list *from)
{
    size_t stride = stride_of(shape), key = key_bytes(shape);
    const char *item = from->items;

    if (key > 0)
        pdr_builder_object(b);
    else
        pdr_builder_array(b);
    for (size_t i = 0; i < from->count; i++, item += stride) {
        if (key > 0)
            pdr_builder_name(b, *(const pdr_str *)(const void *)item);
        bind_put(b, shape->item, item + key);
    }
    pdr_builder_end(b);
}

void bind_put(pdr_builder *builder, const struct bind_shape *shape,
              const void *part)
{
    switch (shape->kind) {
    case BIND_TEXT:
        pdr_builder_string(builder, *(const pdr_str *)part);
        break;
    case BIND_INT:
        pdr_builder_int64(builder, *(const int64_t *)part);
        break;
    case BIND_DOUBLE:
        pdr_builder_double(builder, *(const double *)part);
        break;
    case BIND_BOOL:
        pdr_builder_bool(builder, *(const bool *)part);
        break;
    case BIND_FLAG:
        if (*(const signed char *)part < 0)
            pdr_builder_null(builder);
        else
            pdr_builder_bool(builder, *(const signed char *)part > 0);
        break;
    case BIND_OBJECT:
        put_object(builder, shape, part);
        break;
    case BIND_LIST:
    case BIND_MAP:
        put_list(builder, shape, part);
        break;
    }
}

pdr_rc bind_encode(pdr_value **out, const void *object, pdr_err *err,
                   void *shape)
{
    pdr_builder *builder = NULL;
    pdr_rc rc = pdr_builder_new(&builder, err);

    *out = NULL;
    if (rc != PDR_OK)
        return rc;
    bind_put(builder, shape, object);
    rc = pdr_builder_finish(out, builder, err);
    pdr_builder_free(builder);
    return rc;
}

/* --- copy ------------------------------------------------------------------
 */

/* Let the texts and lists of a part, which was copied as it is, point to copies
 * of their own. False without memory. */
static bool own(struct bind_arena *arena, const struct bind_shape *shape,
                void *part);

static bool own_list(struct bind_arena *arena, const struct bind_shape *shape,
                     struct bind_list *list)
{
    size_t stride = stride_of(shape), key = key_bytes(shape);
    bool done = true;

    if (list->count == 0)
        return true;
    char *items = bind_alloc(arena, list->count * stride);
    if (items == NULL)
        return false;
    memcpy(items, list->items, list->count * stride);
    list->items = items;
    for (size_t i = 0; done && i < list->count; i++, items += stride)
        done = (key == 0 || own(arena, &bind_text, items)) &&
               own(arena, shape->item, items + key);
    return done;
}

static bool own(struct bind_arena *arena, const struct bind_shape *shape,
                void *part)
{
    bool done = true;

    switch (shape->kind) {
    case BIND_TEXT:
        if (((pdr_str *)part)->ptr != NULL)
            *(pdr_str *)part = bind_copy_text(arena, *(pdr_str *)part);
        else
            return true; /* a member that is not there */
        return ((pdr_str *)part)->ptr != NULL;
    case BIND_OBJECT:
        for (size_t i = 0; done && i < shape->member_count; i++)
            done = own(arena, shape->members[i].shape,
                       (char *)part + shape->members[i].offset);
        return done;
    case BIND_LIST:
    case BIND_MAP:
        return own_list(arena, shape, part);
    case BIND_INT:
    case BIND_DOUBLE:
    case BIND_BOOL:
    case BIND_FLAG:
        break;
    }
    return true;
}

pdr_rc bind_copy(void **out, const void *object, pdr_err *err, void *shape)
{
    void *copy = bind_new(shape);

    *out = NULL;
    if (copy == NULL)
        return no_memory(err);
    memcpy(copy, object, ((const struct bind_shape *)shape)->size);
    if (!own(bind_arena_of(copy), shape, copy)) {
        bind_free(copy);
        return no_memory(err);
    }
    *out = copy;
    return PDR_OK;
}
