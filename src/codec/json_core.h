/*
 * json_core.h - the reader's loop, compiled once per kernel.
 *
 * WHY  One pass validates the text and writes the nodes. What differs between
 *      processors is only how the end of a string is found. So this file is
 *      included by json_portable.c, json_sse2.c and json_avx2.c, each of which
 *      defines
 *
 *        KERNEL          the name of the function
 *        KERNEL_TARGET   attribute for the instruction set, or nothing
 *        block_mask(p)   one bit for each of the 64 bytes at p that ends a run
 *                        of plain ASCII in a string: a quote, a backslash, a
 *                        control character, a byte of 0x80 or more
 *
 *                  ,                 :
 *       name <--------- next       name ---> value
 *        ^               ^ \ ]}               |  scalar
 *        '{'             |  close <-----------+-> next
 *        value ----------+-----'  '[' -> value
 *
 * INVARIANTS
 *   R1  `p` never passes `end`; a byte is read only after that was checked.
 *   R2  An open container's node keeps in `link` the container around it and in
 *       `info` the number of children before the one that is open now. So there
 *       is no stack, and an error can name its path from the nodes alone.
 *   R3  `mask` belongs to the 64 bytes at `block`. It is kept from one string
 * to the next: where the next quote stands then depends on a shift, not on
 *       loading and comparing again, which would make each string wait for the
 *       one before it.
 *   R4  `space` is the last white space between tokens that was passed; a
 *       container that began behind it has none inside (N3).
 */

/* Pass white space. Most often there is none, or one blank. */
#define SKIP_SPACE()                                 \
    do {                                             \
        if (p < end && (unsigned char)*p <= ' ') {   \
            const char *from_ = p;                   \
            if (*p == ' ')                           \
                p++;                                 \
            if (p < end && (unsigned char)*p <= ' ') \
                p = pass_space(p, end);              \
            if (p != from_)                          \
                space = p;                           \
        }                                            \
    } while (0)

#define FAIL_HERE(why)                                             \
    do {                                                           \
        r->reason = p == end ? PDR_R_UNEXPECTED_END : PDR_R_##why; \
        goto fail;                                                 \
    } while (0)

#define FAIL_VALUE(why)     \
    do {                    \
        r->at_value = true; \
        FAIL_HERE(why);     \
    } while (0)

#define NEED_NODE(want_value)               \
    do {                                    \
        if (PDR_UNLIKELY(count == cap)) {   \
            if (!pdr__json_grow(r)) {       \
                r->at_value = (want_value); \
                goto fail;                  \
            }                               \
            nodes = r->nodes;               \
            cap = r->cap;                   \
        }                                   \
    } while (0)

#define BLOCK_BYTES 64

/* The mask of a block of which the end of the input may be a part: bytes behind
 * the end count as control characters, so a search stops there. */
KERNEL_TARGET static inline uint64_t load_mask(const char *block,
                                               const char *end)
{
    char padded[BLOCK_BYTES] = {0};

    if (PDR_LIKELY(end - block >= BLOCK_BYTES))
        return block_mask(block);
    memcpy(padded, block, (size_t)(end - block));
    return block_mask(padded);
}

/* Put p on the closing quote of the string that p is inside of, and its flags
 * into info. */
#define SCAN_STRING()                                                      \
    do {                                                                   \
        for (;;) {                                                         \
            size_t off_ = (size_t)(p - block);                             \
            if (off_ >= BLOCK_BYTES) {                                     \
                block += BLOCK_BYTES;                                      \
                off_ -= BLOCK_BYTES;                                       \
                if (PDR_UNLIKELY(off_ >= BLOCK_BYTES)) {                   \
                    block = p;                                             \
                    off_ = 0;                                              \
                }                                                          \
                mask = load_mask(block, end);                              \
            }                                                              \
            uint64_t rest_ = mask >> off_;                                 \
            if (rest_ == 0) {                                              \
                p = block + BLOCK_BYTES;                                   \
                continue;                                                  \
            }                                                              \
            p += __builtin_ctzll(rest_);                                   \
            if (PDR_UNLIKELY(p == end))                                    \
                goto bad_string;                                           \
            if (PDR_LIKELY(*p == '"'))                                     \
                break;                                                     \
            uint32_t taken_ = 2 | NODE_FLAG << 8;                          \
            if (*p != '\\' || end - p < 2 || (p[1] != '"' && p[1] != 'n')) \
                taken_ = pdr__json_special(p, end);                        \
            if (PDR_UNLIKELY(taken_ == 0))                                 \
                goto bad_string;                                           \
            p += taken_ & 0xFF;                                            \
            info |= taken_ >> 8;                                           \
        }                                                                  \
    } while (0)

static const char *pass_space(const char *p, const char *end)
{
    while (p < end && json_is_space(*p))
        p++;
    return p;
}

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* Behind the number at p; NULL if it is none, then *bad is what is wrong. */
static inline const char *pass_number(const char *p, const char *end,
                                      const char **bad)
{
    if (*p == '-')
        p++;
    if (p == end || !is_digit(*p)) {
        *bad = p;
        return NULL;
    }
    if (*p == '0')
        p++;
    else
        while (p < end && is_digit(*p))
            p++;
    if (p < end && *p == '.') {
        p++;
        if (p == end || !is_digit(*p)) {
            *bad = p;
            return NULL;
        }
        while (p < end && is_digit(*p))
            p++;
    }
    if (p < end && (*p | 0x20) == 'e') {
        p++;
        if (p < end && (*p == '+' || *p == '-'))
            p++;
        if (p == end || !is_digit(*p)) {
            *bad = p;
            return NULL;
        }
        while (p < end && is_digit(*p))
            p++;
    }
    return p;
}

/* Length of the literal at p that begins with the right letter, else 0; *bad is
 * the first byte that differs. */
static inline size_t pass_literal(const char *p, const char *end,
                                  const char *literal, size_t len,
                                  const char **bad)
{
    size_t same = 0;

    while (same < len && p + same < end && p[same] == literal[same])
        same++;
    *bad = p + same;
    return same == len ? len : 0;
}

static inline void put_node(pdr_value *node, size_t start, size_t len,
                            uint32_t info, uint32_t link)
{
    /* Two stores instead of four. */
    struct {
        uint64_t span, rest;
    } both = {(uint64_t)start | (uint64_t)len << 32,
              (uint64_t)info | (uint64_t)link << 32};

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    both.span = both.span << 32 | both.span >> 32;
    both.rest = both.rest << 32 | both.rest >> 32;
#endif
    memcpy(node, &both, sizeof(*node));
}

KERNEL_TARGET bool KERNEL(struct json_reader *r)
{
    const char *const text = r->text, *const end = r->end;
    const char *p = r->at;
    const char *space = text; /* R4 */
    const char *block = p;    /* R3 */
    uint64_t mask = load_mask(block, end);
    pdr_value *nodes = r->nodes;
    uint32_t cap = r->cap, count = 0;
    uint32_t open = JSON_NONE, children = 0;
    uint32_t depth = r->depth;
    bool in_object = false, name_next = false;
    uint32_t info = 0;
    const char *start = NULL, *bad = NULL;
    size_t len = 0;

    SKIP_SPACE();
    space = text; /* around the root it is nobody's */

value:
    if (PDR_UNLIKELY(p == end))
        FAIL_VALUE(UNEXPECTED_END);
    NEED_NODE(true);
    start = p;
    if (PDR_LIKELY(*p == '"')) {
        info = NODE_STRING;
        p++;
        name_next = false;
        SCAN_STRING();
        p++;
        put_node(&nodes[count], (size_t)(start - text), (size_t)(p - start),
                 info, count);
        count++;
        goto next;
    }
    switch (*p) {
    case '{':
    case '[':
        goto container;
    case 't':
        len = pass_literal(p, end, "true", 4, &bad);
        info = NODE_BOOL | NODE_FLAG;
        goto literal;
    case 'f':
        len = pass_literal(p, end, "false", 5, &bad);
        info = NODE_BOOL;
        goto literal;
    case 'n':
        len = pass_literal(p, end, "null", 4, &bad);
        info = NODE_NULL;
        goto literal;
    case 'I':
        len = pass_literal(p, end, "Infinity", 8, &bad);
        goto bare;
    case 'N':
        len = pass_literal(p, end, "NaN", 3, &bad);
        goto bare;
    case '-':
        if (end - p > 1 && p[1] == 'I') {
            len = pass_literal(p, end, "-Infinity", 9, &bad);
            goto bare;
        }
        goto number;
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        goto number;
    default:
        FAIL_VALUE(UNEXPECTED_BYTE);
    }

number:
    p = pass_number(p, end, &bad);
    if (PDR_UNLIKELY(p == NULL)) {
        p = bad;
        FAIL_VALUE(BAD_NUMBER);
    }
    put_node(&nodes[count], (size_t)(start - text), (size_t)(p - start),
             NODE_NUMBER, count);
    count++;
    goto next;

bare:
    if (len > 0 && !r->bare)
        FAIL_VALUE(BARE_TOKEN);
    info = NODE_NUMBER | NODE_FLAG;
    r->has_bare = true;
literal:
    if (PDR_UNLIKELY(len == 0)) {
        p = bad;
        FAIL_VALUE(UNEXPECTED_BYTE);
    }
    put_node(&nodes[count], (size_t)(start - text), len, info, count);
    count++;
    p += len;
    goto next;

container:
    if (PDR_UNLIKELY(depth == r->max_depth))
        FAIL_VALUE(TOO_DEEP);
    depth++;
    if (depth > r->height)
        r->height = depth;
    if (open != JSON_NONE) /* R2 */
        nodes[open].info = (in_object ? NODE_OBJECT : NODE_ARRAY) |
                           children << NODE_COUNT_SHIFT;
    in_object = *p == '{';
    put_node(&nodes[count], (size_t)(p - text), 0,
             in_object ? NODE_OBJECT : NODE_ARRAY, open);
    open = count++;
    children = 0;
    p++;
    SKIP_SPACE();
    if (p < end && *p == (in_object ? '}' : ']'))
        goto close;
    if (!in_object)
        goto value;

name:
    if (PDR_UNLIKELY(p == end || *p != '"')) {
        r->at_name = true;
        FAIL_HERE(UNEXPECTED_BYTE);
    }
    NEED_NODE(false);
    start = p;
    info = NODE_STRING;
    p++;
    name_next = true;
    SCAN_STRING();
    p++;
    put_node(&nodes[count], (size_t)(start - text), (size_t)(p - start), info,
             count);
    count++;
    SKIP_SPACE();
    if (PDR_UNLIKELY(p == end || *p != ':')) {
        r->at_colon = true;
        FAIL_HERE(UNEXPECTED_BYTE);
    }
    p++;
    SKIP_SPACE();
    goto value;

next:
    if (PDR_UNLIKELY(open == JSON_NONE))
        goto done;
    children++;
    SKIP_SPACE();
    if (PDR_LIKELY(p < end && *p == ',')) {
        p++;
        SKIP_SPACE();
        if (in_object)
            goto name;
        goto value;
    }
    if (PDR_UNLIKELY(p == end || *p != (in_object ? '}' : ']')))
        FAIL_HERE(UNEXPECTED_BYTE);

close : {
    pdr_value *node = &nodes[open];
    uint32_t around = node->link;
    uint32_t spaced = space > text + node->start ? NODE_FLAG : 0;

    p++;
    put_node(node, node->start, (size_t)(p - text) - node->start,
             (in_object ? NODE_OBJECT : NODE_ARRAY) | spaced |
                 children << NODE_COUNT_SHIFT,
             children > 0 ? count : open);
    r->large += children >= PDR_INDEX_MIN;
    depth--;
    open = around;
    if (open != JSON_NONE) {
        in_object = node_kind(&nodes[open]) == NODE_OBJECT;
        children = nodes[open].info >> NODE_COUNT_SHIFT;
    }
    goto next;
}

done:
    r->count = count;
    r->at = p;
    return true;

bad_string:
    r->at_value = !name_next;
    r->reason = pdr__json_why(&bad, p, end);
    p = bad;

fail:
    r->count = count;
    r->open = open;
    r->children = children;
    r->at = p;
    if (open != JSON_NONE) /* its count is not there yet */
        nodes[open].info = in_object ? NODE_OBJECT : NODE_ARRAY;
    return false;
}

#undef SKIP_SPACE
#undef FAIL_HERE
#undef SCAN_STRING
#undef FAIL_VALUE
#undef NEED_NODE
