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
 *   R1  `p` never passes `end`, and *p may be read without asking: either a NUL
 *       stands at `end`, which no state takes, or the last byte of the text
 *       closes a container, which only `close` passes, and that one asks.
 *       Inside of strings and literals the end is checked.
 *   R2  An open container's node keeps in `link` the container around it and in
 *       `info` the number of children before the one that is open now. So
 *       there is no stack, and an error can name its path from the nodes alone.
 *   R3  `mask` belongs to the 64 bytes at `block`. It is kept from one string
 *       to the next: where the next quote stands then depends on a shift, not
 *       on loading and comparing again, which would make each string wait for
 *       the one before it.
 *   R4  `space` is the last white space between tokens that was passed; a
 *       container that began behind it has none inside (N3).
 */

/* Pass white space. Most often there is none, or one blank. */
#define SKIP_SPACE()                                  \
    do {                                              \
        if (*p == ' ')                                \
            space = ++p;                              \
        if (PDR_UNLIKELY((unsigned char)*p <= ' ')) { \
            const char *behind_ = pass_space(p, end); \
            if (behind_ != p)                         \
                space = p = behind_;                  \
        }                                             \
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

/* Room for `need` more nodes; `want_value` says what was to come. */
#define NEED_NODES(need, want_value)                  \
    do {                                              \
        if (PDR_UNLIKELY(node > room_end - (need))) { \
            r->count = (uint32_t)(own >> 32);         \
            if (!pdr__json_grow(r, (need))) {         \
                r->at_value = (want_value);           \
                goto fail;                            \
            }                                         \
            nodes = r->nodes;                         \
            node = nodes + r->count;                  \
            room_end = nodes + r->cap;                \
        }                                             \
    } while (0)

/* The node of a scalar from `from` to `to`. */
#define PUT_SCALAR(from, to, bits)                                          \
    do {                                                                    \
        node_put(node,                                                      \
                 (uint64_t)((from)-text) | (uint64_t)((to) - (from)) << 32, \
                 own | (bits));                                             \
        node++;                                                             \
        own += ONE_NODE;                                                    \
    } while (0)

#define ONE_NODE    (UINT64_C(1) << 32)
#define BLOCK_BYTES 64

/* The mask of a block of which the end of the input may be a part: bytes behind
 * the end count as control characters, so a search stops there. */
KERNEL_TARGET static inline uint64_t load_mask(const char *block,
                                               const char *end)
{
    if (PDR_LIKELY(end - block >= BLOCK_BYTES))
        return block_mask(block);
    char padded[BLOCK_BYTES] = {0};
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
            if (PDR_UNLIKELY(rest_ == 0)) {                                \
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

static __attribute__((noinline)) const char *pass_space(const char *p,
                                                        const char *end)
{
    static const char blanks[] = "        ";

    for (;;) {
        while (end - p >= 8 && memcmp(p, blanks, 8) == 0)
            p += 8; /* the beginning of an indented line */
        if (p == end || !json_is_space(*p))
            return p;
        p++;
    }
}

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* Behind the digits at p; NULL if there is none, then *bad is what is there. */
static inline const char *pass_digits(const char *p, const char **bad)
{
    if (PDR_UNLIKELY(!is_digit(*p))) {
        *bad = p;
        return NULL;
    }
    while (is_digit(*p))
        p++;
    return p;
}

/* Behind the number at p; NULL if it is none, then *bad is what is wrong. */
static inline const char *pass_number(const char *p, const char **bad)
{
    if (*p == '-')
        p++;
    p = *p == '0' ? p + 1 : pass_digits(p, bad);
    if (p != NULL && *p == '.')
        p = pass_digits(p + 1, bad);
    if (p != NULL && (*p | 0x20) == 'e')
        p = pass_digits(p[1] == '+' || p[1] == '-' ? p + 2 : p + 1, bad);
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

/* Long on purpose: a state machine whose states are labels. Cut into functions,
 * its dozen variables would travel through memory at every token. */
KERNEL_TARGET bool KERNEL(struct json_reader *r)
{
    const char *const text = r->text, *const end = r->end;
    const char *p = r->at;
    const char *space = text; /* R4 */
    const char *block = p;    /* R3 */
    uint64_t mask = load_mask(block, end);
    pdr_value *nodes = r->nodes, *room_end = nodes + r->cap;
    pdr_value *node = nodes; /* the next one to write */
    uint64_t own = 0;        /* its index, where a node keeps it */
    uint32_t open = JSON_NONE, children = 0;
    uint32_t depth = r->depth;
    bool in_object = false, in_name = false;
    uint32_t info = 0;
    const char *start = NULL, *bad = NULL;
    size_t len = 0;

    SKIP_SPACE();
    space = text; /* around the root it is nobody's */

element:
    NEED_NODES(1, true);
value:
    start = p;
    if (PDR_LIKELY(*p == '"')) {
        info = NODE_STRING;
        in_name = false;
        p++;
        SCAN_STRING();
        p++;
        PUT_SCALAR(start, p, info);
        goto next;
    }
    if (*p == '{' || *p == '[')
        goto container;
    if (is_digit(*p))
        goto number;
    switch (*p) {
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
        if (p[1] != 'I')
            goto number;
        len = pass_literal(p, end, "-Infinity", 9, &bad);
        if (len == 0 && !r->bare)
            goto number;
        goto bare;
    default:
        FAIL_VALUE(UNEXPECTED_BYTE);
    }

number:
    p = pass_number(p, &bad);
    if (PDR_UNLIKELY(p == NULL)) {
        p = bad;
        FAIL_VALUE(BAD_NUMBER);
    }
    PUT_SCALAR(start, p, NODE_NUMBER);
    goto next;

bare:
    if (PDR_UNLIKELY(!r->bare)) {
        if (len > 0)
            FAIL_VALUE(BARE_TOKEN);
        FAIL_VALUE(UNEXPECTED_BYTE);
    }
    info = NODE_NUMBER | NODE_FLAG;
    r->has_bare = true;
literal:
    if (PDR_UNLIKELY(len == 0)) {
        p = bad;
        FAIL_VALUE(UNEXPECTED_BYTE);
    }
    p += len;
    PUT_SCALAR(start, p, info);
    goto next;

container:
    if (PDR_UNLIKELY(depth == r->max_depth))
        FAIL_VALUE(TOO_DEEP);
    depth++;
    if (PDR_UNLIKELY(depth > r->height))
        r->height = depth;
    if (open != JSON_NONE) /* R2 */
        nodes[open].info = (in_object ? NODE_OBJECT : NODE_ARRAY) |
                           children << NODE_COUNT_SHIFT;
    in_object = *p == '{';
    node_put(node, (uint64_t)(p - text),
             (in_object ? NODE_OBJECT : NODE_ARRAY) | (uint64_t)open << 32);
    open = (uint32_t)(own >> 32);
    node++;
    own += ONE_NODE;
    children = 0;
    p++;
    SKIP_SPACE();
    if (in_object) {
        if (*p != '}')
            goto name;
    } else if (*p != ']') {
        goto element;
    }

close : {
    pdr_value *closed = &nodes[open];
    uint32_t around = closed->link;
    uint32_t from = closed->start;
    uint32_t spaced = space > text + from ? NODE_FLAG : 0;

    p++;
    node_put(closed, from | (uint64_t)((size_t)(p - text) - from) << 32,
             ((in_object ? NODE_OBJECT : NODE_ARRAY) | spaced |
              children << NODE_COUNT_SHIFT) |
                 (children > 0 ? own : (uint64_t)open << 32));
    r->large += children >= PDR_INDEX_MIN;
    depth--;
    open = around;
    if (open == JSON_NONE)
        goto done;
    in_object = node_kind(&nodes[open]) == NODE_OBJECT;
    children = nodes[open].info >> NODE_COUNT_SHIFT;
    if (PDR_UNLIKELY(p == end)) { /* R1 */
        children++;
        FAIL_HERE(UNEXPECTED_END);
    }
    goto next;
}

name:
    if (PDR_UNLIKELY(*p != '"')) {
        r->at_name = true;
        FAIL_HERE(UNEXPECTED_BYTE);
    }
    NEED_NODES(2, false);
    start = p;
    info = NODE_STRING;
    in_name = true;
    p++;
    SCAN_STRING();
    p++;
    PUT_SCALAR(start, p, info);
    SKIP_SPACE();
    if (PDR_UNLIKELY(*p != ':')) {
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
    if (PDR_LIKELY(*p == ',')) {
        p++;
        SKIP_SPACE();
        if (in_object)
            goto name;
        goto element;
    }
    if (PDR_LIKELY(*p == (in_object ? '}' : ']')))
        goto close;
    FAIL_HERE(UNEXPECTED_BYTE);

done:
    r->count = (uint32_t)(own >> 32);
    r->at = p;
    return true;

bad_string:
    r->at_value = !in_name;
    r->reason = pdr__json_why(&bad, p, end);
    p = bad;
fail:
    r->count = (uint32_t)(own >> 32);
    r->open = open;
    r->children = children;
    r->at = p;
    if (open != JSON_NONE) /* its count is not there yet */
        nodes[open].info = in_object ? NODE_OBJECT : NODE_ARRAY;
    return false;
}

#undef SKIP_SPACE
#undef SCAN_STRING
#undef PUT_SCALAR
#undef FAIL_VALUE
#undef FAIL_HERE
#undef NEED_NODES
