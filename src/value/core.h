/*
 * core.h - how a value lies in memory. See README.md in this folder.
 *
 *   block ──► text   {"a":[1,2.50],"b":"x"}         counted or borrowed
 *     │
 *     └─ nodes   0 object  1 "a"  2 array  3 1  4 2.50  5 "b"  6 "x"
 *
 * A `pdr_value *` points at a node. Whatever was read or built is *flat*: the
 * nodes of a document stand in document order, children behind their parent,
 * each with the span of the text that it came from. An array or object that
 * somebody changed is a node alone, in a block of its own kind (overlay.c).
 *
 * INVARIANTS, asserted by pdr__value_check()
 *   N1  A scalar, an empty container and a changed container hold their own
 *       index in `link`; a flat container with children holds the index behind
 *       its last descendant. So the block of any node is found by going down
 *       first children: a few steps, no pointer in the node.
 *   N2  The span of a flat node lies inside the span of its parent, in order.
 *   N3  NODE_FLAG of a flat container says that its span has white space
 *       outside of strings; without it the span is the compact text.
 *   N4  Nothing in a block changes once a second owner can see it, save the
 *       count of owners and the indexes, which are atomic.
 */
#ifndef PDR_VALUE_CORE_H
#define PDR_VALUE_CORE_H

#include <perdure/value.h>

#include "base.h"

/* Kinds of a node: those of pdr_kind, and two for changed containers. */
enum node_kind {
    NODE_NULL = PDR_NULL,
    NODE_BOOL = PDR_BOOL,
    NODE_NUMBER = PDR_NUMBER,
    NODE_STRING = PDR_STRING,
    NODE_ARRAY = PDR_ARRAY,
    NODE_OBJECT = PDR_OBJECT,
    NODE_CHANGED_ARRAY = 6,
    NODE_CHANGED_OBJECT = 7
};

#define NODE_KIND_MASK 7u
/* BOOL: true. NUMBER: NaN or an infinity. STRING: has escapes. Flat container:
 * has white space. */
#define NODE_FLAG 8u
/* STRING: has half a surrogate pair. */
#define NODE_LONE 16u
/* Containers: the number of elements or members stands above these bits. */
#define NODE_COUNT_SHIFT 4

struct pdr_value {
    uint32_t start; /* first byte of the span in the block's text */
    uint32_t len;   /* bytes of the span: quotes and brackets included */
    uint32_t info;  /* kind, flags, number of children */
    uint32_t link;  /* N1 */
};

enum block_kind { BLOCK_FLAT, BLOCK_CHANGED, BLOCK_STATIC };

struct index_table;

/* What is counted: the nodes follow behind it. 64 bytes. */
struct block {
    atomic_size_t refs;
    const char *text; /* what the nodes point into */
    char *owned;      /* the text, if it is freed with the block; else NULL */
    _Atomic(struct index_table *) indexes; /* index.c; built when asked for */
    size_t text_len;
    uint32_t node_count;
    uint32_t large;   /* containers that may get an index */
    uint32_t height;  /* levels of containers, at most */
    uint8_t kind;     /* enum block_kind */
    uint8_t has_bare; /* some number is NaN or an infinity */
    uint8_t is_built; /* put together here: the spelling is ours */
    uint8_t pad;
    uint64_t reserved;
};

static inline pdr_value *block_nodes(const struct block *block)
{
    return (pdr_value *)(void *)((char *)(uintptr_t)block + sizeof(*block));
}

static inline enum node_kind node_kind(const pdr_value *v)
{
    return (enum node_kind)(v->info & NODE_KIND_MASK);
}

static inline bool node_is_container(const pdr_value *v)
{
    return (v->info & NODE_KIND_MASK) >= NODE_ARRAY;
}

static inline bool node_is_changed(const pdr_value *v)
{
    return (v->info & NODE_KIND_MASK) >= NODE_CHANGED_ARRAY;
}

static inline uint32_t node_count(const pdr_value *v)
{
    return v->info >> NODE_COUNT_SHIFT;
}

/* A flat container with children: its link is an end, not its own index. */
static inline bool node_is_filled(const pdr_value *v)
{
    uint32_t kind = v->info & NODE_KIND_MASK;

    return (kind == NODE_ARRAY || kind == NODE_OBJECT) && node_count(v) > 0;
}

static inline struct block *node_block(const pdr_value *v)
{
    while (node_is_filled(v))
        v++; /* the first child stands right behind */
    return (struct block *)(void *)((char *)(uintptr_t)(v - v->link) -
                                    sizeof(struct block));
}

static inline uint32_t node_index(const pdr_value *v)
{
    uint32_t down = 0;

    while (node_is_filled(v)) {
        v++;
        down++;
    }
    return v->link - down;
}

/* The flat node behind `v` and all that is in it, which is one of `nodes`. */
static inline const pdr_value *node_behind(const pdr_value *v,
                                           const pdr_value *nodes)
{
    return node_is_filled(v) ? nodes + v->link : v + 1;
}

/* The same, where the nodes have to be found first. */
static inline const pdr_value *node_next(const pdr_value *v)
{
    if (!node_is_filled(v))
        return v + 1;
    return v + (v->link - node_index(v));
}

static inline pdr_str node_span(const pdr_value *v)
{
    return pdr_str_n(node_block(v)->text + v->start, v->len);
}

/* Fill a node with two stores instead of four: start and length in `span`,
 * flags and link in `rest`, the first of each in the lower half. */
static inline void node_put(pdr_value *node, uint64_t span, uint64_t rest)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    span = span << 32 | span >> 32;
    rest = rest << 32 | rest >> 32;
#endif
    memcpy(node, &span, 8);
    memcpy((char *)node + 8, &rest, 8);
}

/* Is it spelled as somebody else wrote it, and not put together here? */
static inline bool value_was_read(const pdr_value *v)
{
    return !node_is_changed(v) && !node_block(v)->is_built;
}

/* --- value.c ------------------------------------------------------------- */

/* A flat block with room for `nodes` nodes and `inline_bytes` of text behind
 * them; NULL without memory. The text is set by the caller. */
struct block *pdr__block_new(uint32_t nodes, size_t inline_bytes);

/* Grow or shrink the room for nodes; NULL without memory, then as it was. */
struct block *pdr__block_resize(struct block *block, uint32_t nodes);

/* Add or take away `n` owners at once. */
void pdr__block_ref(struct block *block, size_t n);
void pdr__block_unref(struct block *block, size_t n);

/* Levels of containers in `v`, v included; 0 for a scalar. Not less than the
 * truth: exact in deep blocks, else the height of the block, and of a changed
 * container the greatest it ever had. */
uint32_t pdr__value_height(const pdr_value *v);

/* A scalar from a span that was checked, as pdr__builder_span(). */
pdr_rc pdr__value_new_span(pdr_value **out, pdr_str span, uint32_t info,
                           pdr_err *err);

/* Is the member that `it` stands at the last one of its name? `name` is its
 * decoded name. The value alone does not tell: several members may share one.
 */
bool pdr__iter_is_last(const pdr_iter *it, pdr_str name);
/* Assert N1 to N3 for a whole value. */
void pdr__value_check(const pdr_value *v);

/* --- index.c ------------------------------------------------------------- */

/* Child `position` of a flat array; member of that name of a flat object, its
 * name node; NULL if there is none. Constant time from the second call on. */
const pdr_value *pdr__index_element(const pdr_value *array, uint32_t position);
const pdr_value *pdr__index_member(const pdr_value *object, pdr_str name);
void pdr__index_free(struct block *block);
size_t pdr__index_bytes(const struct block *block);

/* Names and where they stand; for changed objects. A position may have been
 * given up since it was put: the caller compares. */
struct names;
struct names *pdr__names_new(size_t expected);
/* One more owner; give up one. NULL is fine. */
struct names *pdr__names_ref(struct names *names);
void pdr__names_free(struct names *names);
/* Make *names one that can be changed: a copy, if others own it too. */
bool pdr__names_own(struct names **names);
/* Remember that a name of this hash stands at `position`; false without
 * memory. */
bool pdr__names_put(struct names **names, uint64_t hash, uint32_t position);
/* The next candidate for a name of this hash; *probe is 0 at first. */
bool pdr__names_next(uint32_t *position, size_t *probe,
                     const struct names *names, uint64_t hash);
/* Let the candidate that was given last stand at another position; `repeated`:
 * its name occurs more than once. */
void pdr__names_move(struct names *names, size_t probe, uint64_t hash,
                     uint32_t position, bool repeated);
/* Was the candidate that was given last marked so? */
bool pdr__names_is_repeated(const struct names *names, size_t probe,
                            uint64_t hash);
/* Hash of the decoded text of a string; false without memory. */
bool pdr__names_hash(uint64_t *out, const pdr_value *name);
size_t pdr__names_bytes(const struct names *names);

/* --- overlay.c ----------------------------------------------------------- */

/* A changed container; see overlay.c. */
struct changed;

const pdr_value *pdr__changed_element(const pdr_value *v, size_t position);
const pdr_value *pdr__changed_member(const pdr_value *v, pdr_str name);
/* The name node of that member. */
const pdr_value *pdr__changed_name(const pdr_value *v, pdr_str name);
void pdr__changed_iter_init(pdr_iter *it, const pdr_value *v);
bool pdr__changed_iter_next(pdr_iter *it);

/* What of a changed array still lies in its base: `prefix` children before and
 * `suffix` children behind those in chunks. `split` is the child of the base
 * that followed the prefix (NULL if none did), `after` the first of the suffix.
 */
struct changed_parts {
    uint32_t prefix, suffix;
    const pdr_value *split, *after;
};
void pdr__changed_parts(struct changed_parts *out, const pdr_value *v);
/* Walk only over the elements in chunks. */
void pdr__changed_iter_chunks(pdr_iter *it, const pdr_value *v);
void pdr__changed_destroy(struct block *block);
/* The flat container that a changed one began as, or NULL. */
const pdr_value *pdr__changed_base(const pdr_value *v);
size_t pdr__changed_bytes(const pdr_value *v);
void pdr__changed_check(const pdr_value *v);

/* Make *parent a changed container that only its handle owns, and give the
 * address of the owned handle of one child: element `index`, or the value of
 * the last member called `name`. What is put there becomes the child; it must
 * never be NULL. `levels` is the height that the child is going to have. */
pdr_rc pdr__value_edit_element(pdr_value ***slot, pdr_value **parent,
                               size_t index, uint32_t levels, pdr_err *err);
pdr_rc pdr__value_edit_member(pdr_value ***slot, pdr_value **parent,
                              pdr_str name, uint32_t levels, pdr_err *err);

/* Add a member at the end of the object *io, also if there is one of that name.
 * Both are shared, the spelling of the name included, which is a string. Fails
 * as pdr_value_set(). */
PDR_MUST_CHECK pdr_rc pdr__value_add_member(pdr_value **io,
                                            const pdr_value *name,
                                            const pdr_value *value,
                                            pdr_err *err);

/* Put `value` in the place of member `index` of the object *io, which is there,
 * whatever its name is. Fails as pdr_value_set(). */
PDR_MUST_CHECK pdr_rc pdr__value_set_member(pdr_value **io, size_t index,
                                            const pdr_value *value,
                                            pdr_err *err);

/* --- builder.c ----------------------------------------------------------- */

/* A flat copy of a value or of a part of one, without white space. */
pdr_rc pdr__value_copy(pdr_value **out, const pdr_value *v, pdr_err *err);

/* The name of the next member, spelled as this string is. */
void pdr__builder_name_value(pdr_builder *builder, const pdr_value *name);

/* Before the first node: make room for so many nodes and bytes of text. Without
 * memory nothing happens; it grows as it goes. */
void pdr__builder_expect(pdr_builder *builder, uint32_t nodes, size_t bytes);

/* A scalar, or the name of the next member, from a span that was checked: for a
 * string with its quotes. `info` is that of its node. */
void pdr__builder_span(pdr_builder *builder, pdr_str span, uint32_t info);
void pdr__builder_name_span(pdr_builder *builder, pdr_str span, uint32_t info);

/* One of the bare tokens NaN, Infinity and -Infinity. */
void pdr__builder_bare(pdr_builder *builder, pdr_str token);

/* --- text.c -------------------------------------------------------------- */

/* What stands between the quotes of a string. It is no container, so its block
 * is found in one step. */
static inline pdr_str string_inner(const pdr_value *v)
{
    const struct block *block =
        (const struct block *)(const void *)((const char *)(v - v->link) -
                                             sizeof(struct block));

    return pdr_str_n(block->text + v->start + 1, v->len - 2);
}

/* Result of looking over the inside of a JSON string. */
enum text_stop {
    TEXT_QUOTE,   /* at a quote */
    TEXT_END,     /* at the end of the input */
    TEXT_CONTROL, /* at a control character */
    TEXT_ESCAPE,  /* at a backslash that begins no escape */
    TEXT_UTF8     /* at a byte that begins no UTF-8 sequence */
};

/* Go on from *p to the closing quote; *info gets NODE_FLAG and NODE_LONE.
 * Where it stops, *p stands. */
enum text_stop pdr__text_scan(const char **p, const char *end, uint32_t *info);

/* Bytes of the escape at p, which is a backslash: 2, 6 or 12 (a pair); 0 if it
 * is none. *info gets NODE_LONE for half a pair. */
size_t pdr__text_escape_len(const char *p, const char *end, uint32_t *info);

/* Decode what stands between quotes; `out` has room for inner.len bytes.
 * Lone surrogates become three bytes. Returns the length. */
size_t pdr__text_decode(char *out, pdr_str inner);

/* Append `text` with JSON escapes, without quotes. It is UTF-8, or has lone
 * surrogates as three bytes, which become escapes. */
pdr_rc pdr__text_encode(pdr_buf *out, pdr_str text, pdr_err *err);

/* The escape of one byte that cannot stand in a string as it is; returns its
 * length. */
size_t pdr__text_encode_byte(char out[6], unsigned char c);

/* Is what stands between the quotes spelled as pdr__text_encode() would? */
bool pdr__text_is_ours(pdr_str inner);

/* Decoded text of a string; lone surrogates as three bytes. Borrowed from the
 * value or from `scratch`. */
pdr_rc pdr__value_name_bytes(pdr_str *out, const pdr_value *string,
                             pdr_buf *scratch, pdr_err *err);

/* The same as UTF-8: U+FFFD, which is as long, for each half of a pair. */
pdr_rc pdr__value_sound_text(pdr_str *out, const pdr_value *string,
                             pdr_buf *scratch, pdr_err *err);

/* Do two strings have the same code points? */
bool pdr__value_same_text(const pdr_value *a, const pdr_value *b);

/* Does the string have this decoded text (lone surrogates as three bytes)? For
 * one without escapes, see below. */
bool pdr__value_has_text(const pdr_value *string, pdr_str text);

/* The same, here so that most names are told apart by their length, without a
 * call and without touching any text. */
static inline bool string_is(const pdr_value *string, pdr_str text)
{
    if ((string->info & NODE_FLAG) != 0)
        return pdr__value_has_text(string, text);
    return (size_t)string->len == text.len + 2 &&
           (text.len == 0 ||
            memcmp(string_inner(string).ptr, text.ptr, text.len) == 0);
}

#endif
