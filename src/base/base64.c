/*
 * base64.c - base64 and base64url of RFC 4648, strict when reading.
 *
 * Strict means that what was read can be written again as it was: no white
 * space, no other letters, no bits that the bytes do not need, padding as
 * base.h says. An error names the first byte that is wrong.
 */
#include "base.h"

static const char alphabets[2][65] = {
    [PDR_BASE64] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    [PDR_BASE64_URL] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"};

/* Six bits of a letter, and two that say in which alphabet it is. */
#define IN_PLAIN 0x40u
#define IN_URL   0x80u
#define BOTH(n)  (IN_PLAIN | IN_URL | (n))

/* clang-format off */
static const uint8_t letters[256] = {
    ['A'] = BOTH(0),  ['B'] = BOTH(1),  ['C'] = BOTH(2),  ['D'] = BOTH(3),
    ['E'] = BOTH(4),  ['F'] = BOTH(5),  ['G'] = BOTH(6),  ['H'] = BOTH(7),
    ['I'] = BOTH(8),  ['J'] = BOTH(9),  ['K'] = BOTH(10), ['L'] = BOTH(11),
    ['M'] = BOTH(12), ['N'] = BOTH(13), ['O'] = BOTH(14), ['P'] = BOTH(15),
    ['Q'] = BOTH(16), ['R'] = BOTH(17), ['S'] = BOTH(18), ['T'] = BOTH(19),
    ['U'] = BOTH(20), ['V'] = BOTH(21), ['W'] = BOTH(22), ['X'] = BOTH(23),
    ['Y'] = BOTH(24), ['Z'] = BOTH(25), ['a'] = BOTH(26), ['b'] = BOTH(27),
    ['c'] = BOTH(28), ['d'] = BOTH(29), ['e'] = BOTH(30), ['f'] = BOTH(31),
    ['g'] = BOTH(32), ['h'] = BOTH(33), ['i'] = BOTH(34), ['j'] = BOTH(35),
    ['k'] = BOTH(36), ['l'] = BOTH(37), ['m'] = BOTH(38), ['n'] = BOTH(39),
    ['o'] = BOTH(40), ['p'] = BOTH(41), ['q'] = BOTH(42), ['r'] = BOTH(43),
    ['s'] = BOTH(44), ['t'] = BOTH(45), ['u'] = BOTH(46), ['v'] = BOTH(47),
    ['w'] = BOTH(48), ['x'] = BOTH(49), ['y'] = BOTH(50), ['z'] = BOTH(51),
    ['0'] = BOTH(52), ['1'] = BOTH(53), ['2'] = BOTH(54), ['3'] = BOTH(55),
    ['4'] = BOTH(56), ['5'] = BOTH(57), ['6'] = BOTH(58), ['7'] = BOTH(59),
    ['8'] = BOTH(60), ['9'] = BOTH(61),
    ['+'] = IN_PLAIN | 62, ['/'] = IN_PLAIN | 63,
    ['-'] = IN_URL | 62,   ['_'] = IN_URL | 63,
};
/* clang-format on */

/* The last one or two bytes; gives the end of what was written. */
static char *encode_rest(char *to, const unsigned char *from, size_t len,
                         const char *alphabet, bool padded)
{
    unsigned second = len == 2 ? from[1] : 0;

    *to++ = alphabet[from[0] >> 2];
    *to++ = alphabet[(from[0] & 0x03u) << 4 | second >> 4];
    if (len == 2)
        *to++ = alphabet[(second & 0x0Fu) << 2];
    for (size_t i = len; padded && i < 3; i++)
        *to++ = '=';
    return to;
}

pdr_rc pdr__base64_encode(pdr_buf *out, pdr_str bytes, enum pdr__base64 kind,
                          bool padded, pdr_err *err)
{
    const unsigned char *from = (const unsigned char *)bytes.ptr;
    const char *alphabet = alphabets[kind];
    size_t groups = bytes.len / 3 + (bytes.len % 3 > 0);
    size_t room = 0;

    PDR_REQUIRE(out != NULL);
    if (!pdr__mul_size(&room, groups, 4))
        room = SIZE_MAX; /* refused below */
    else if (!padded && bytes.len % 3 > 0)
        room -= 3 - bytes.len % 3;
    pdr_rc rc = pdr__buf_room(out, room, err);
    if (rc != PDR_OK || room == 0)
        return rc;
    char *to = out->ptr + out->len;
    size_t left = bytes.len;
    for (; left >= 3; left -= 3, from += 3) {
        *to++ = alphabet[from[0] >> 2];
        *to++ = alphabet[(from[0] & 0x03u) << 4 | from[1] >> 4];
        *to++ = alphabet[(from[1] & 0x0Fu) << 2 | from[2] >> 6];
        *to++ = alphabet[from[2] & 0x3Fu];
    }
    if (left > 0)
        to = encode_rest(to, from, left, alphabet, padded);
    out->len += room;
    assert(to == out->ptr + out->len);
    return PDR_OK;
}

/* Padding and the bits after the last byte. `len` letters are all good. */
static pdr_rc check_end(pdr_str text, size_t len, enum pdr__base64 kind,
                        pdr_err *err)
{
    static const unsigned unused_bits[] = {0, 0, 0x0Fu, 0x03u};
    size_t rest = len % 4;
    size_t wanted = rest == 0 ? 0 : 4 - rest;
    size_t padding = text.len - len;

    if (rest == 1)
        return PDR_FAIL_AT(err, len, BAD_BASE64,
                           "one letter after the last group of four");
    if (len > 0 &&
        (letters[(unsigned char)text.ptr[len - 1]] & unused_bits[rest]) != 0)
        return PDR_FAIL_AT(err, len - 1, BAD_BASE64,
                           "the last letter has bits that belong to no byte");
    if (padding > wanted)
        return PDR_FAIL_AT(err, len + wanted, BAD_BASE64,
                           "%zu times '=' where %zu belong", padding, wanted);
    if (padding < wanted && (padding > 0 || kind == PDR_BASE64))
        return PDR_FAIL_AT(err, text.len, BAD_BASE64,
                           "%zu times '=' where %zu belong", padding, wanted);
    return PDR_OK;
}

/* First of `len` bytes that is no letter of the alphabet, or `len`. */
static size_t letters_len(const char *text, size_t len, unsigned alphabet)
{
    size_t at = 0;

    while (at < len && (letters[(unsigned char)text[at]] & alphabet) != 0)
        at++;
    return at;
}

/* All letters are good. Gives the end of what was written. */
static char *decode_letters(char *to, const char *text, size_t len)
{
    uint32_t bits = 0;

    for (size_t at = 0; at < len; at++) {
        bits = bits << 6 | (letters[(unsigned char)text[at]] & 0x3Fu);
        if (at % 4 == 0)
            continue;
        *to++ = (char)(bits >> (6 - 2 * (at % 4)) & 0xFFu);
    }
    return to;
}

pdr_rc pdr__base64_decode(pdr_buf *out, pdr_str text, enum pdr__base64 kind,
                          pdr_err *err)
{
    size_t len = text.len;

    PDR_REQUIRE(out != NULL);
    while (len > 0 && text.ptr[len - 1] == '=')
        len--;
    size_t good =
        letters_len(text.ptr, len, kind == PDR_BASE64 ? IN_PLAIN : IN_URL);
    if (good < len)
        return PDR_FAIL_AT(err, good, BAD_BASE64,
                           "byte 0x%02X is no letter of %s",
                           (unsigned)(unsigned char)text.ptr[good],
                           kind == PDR_BASE64 ? "base64" : "base64url");
    pdr_rc rc = check_end(text, len, kind, err);
    if (rc != PDR_OK || len == 0)
        return rc;
    size_t room = len / 4 * 3 + (len % 4 > 0 ? len % 4 - 1 : 0);
    rc = pdr__buf_room(out, room, err);
    if (rc != PDR_OK)
        return rc;
    char *end = decode_letters(out->ptr + out->len, text.ptr, len);
    out->len += room;
    assert(end == out->ptr + out->len);
    (void)end;
    return PDR_OK;
}
