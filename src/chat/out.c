/*
 * out.c - the bytes of a document on their way out.
 *
 * WHY  A chat may be much larger than the memory that a save should need. So a
 *      document goes out in pieces of some 64 KiB. Its MAC sees each piece as
 *      it leaves, and what is in base64 is encoded piece by piece, three bytes
 *      at a time, so that the pieces fit together.
 *
 *        put ──► plain ──► base64 ──┐
 *         └─────────────────────────┴──► window ──► MAC, fn
 *
 * NOT HERE  What is written (write.c, write_native.c).
 */
#include <stdio.h>

#include <perdure/json.h>

#include "document.h"

#define WINDOW_BYTES ((size_t)64 * 1024)
#define PLAIN_BYTES  ((size_t)48 * 1024) /* a multiple of three */

void pdr__out_init(struct out *out, pdr_err *err, pdr_write_fn fn, void *arg)
{
    *out = (struct out){.fn = fn,
                        .arg = arg,
                        .err = err,
                        .window = PDR_BUF_INIT(4 * WINDOW_BYTES),
                        .plain = PDR_BUF_INIT(PLAIN_BYTES),
                        .scratch = PDR_BUF_INIT(PDR_MAX_TEXT_BYTES)};
}

void pdr__out_dispose(struct out *out)
{
    pdr_buf_dispose(&out->window);
    pdr_buf_dispose(&out->plain);
    pdr_buf_dispose(&out->scratch);
}

static void emit(struct out *out, pdr_str bytes)
{
    if (out->rc == PDR_OK && bytes.len > 0 && out->mac != NULL)
        out->rc = pdr__hmac_update(out->mac, bytes, out->err);
    if (out->rc == PDR_OK && bytes.len > 0)
        out->rc = out->fn(bytes, out->err, out->arg);
}

void pdr__out_flush(struct out *out)
{
    emit(out, pdr_buf_str(&out->window));
    pdr_buf_clear(&out->window);
}

static void encode_plain(struct out *out)
{
    if (out->rc == PDR_OK)
        out->rc = pdr__base64_encode(&out->window, pdr_buf_str(&out->plain),
                                     PDR_BASE64, true, out->err);
    pdr_buf_clear(&out->plain);
    if (out->window.len >= WINDOW_BYTES)
        pdr__out_flush(out);
}

void pdr__put(struct out *out, pdr_str bytes)
{
    while (out->is_base64 && bytes.len > 0 && out->rc == PDR_OK) {
        size_t room = PLAIN_BYTES - out->plain.len;
        size_t part = bytes.len < room ? bytes.len : room;

        out->rc =
            pdr_buf_append(&out->plain, pdr_str_n(bytes.ptr, part), out->err);
        bytes = pdr_str_n(bytes.ptr + part, bytes.len - part);
        if (out->plain.len == PLAIN_BYTES)
            encode_plain(out);
    }
    if (bytes.len == 0 || out->rc != PDR_OK)
        return;
    if (out->window.len + bytes.len > WINDOW_BYTES)
        pdr__out_flush(out);
    if (bytes.len > WINDOW_BYTES)
        emit(out, bytes);
    else if (out->rc == PDR_OK)
        out->rc = pdr_buf_append(&out->window, bytes, out->err);
}

void pdr__put_base64_begin(struct out *out)
{
    pdr__put_c(out, "\"");
    out->is_base64 = true;
}

void pdr__put_base64_end(struct out *out)
{
    encode_plain(out);
    out->is_base64 = false;
    pdr__put_c(out, "\"");
}

void pdr__put_c(struct out *out, const char *text)
{
    pdr__put(out, pdr_str_c(text));
}

void pdr__put_number(struct out *out, uint64_t number)
{
    char digits[24];
    int len =
        snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);

    pdr__put(out, pdr_str_n(digits, (size_t)len));
}

void pdr__put_text(struct out *out, pdr_str text)
{
    if (out->rc != PDR_OK)
        return;
    pdr_buf_clear(&out->scratch);
    out->rc = pdr__text_encode(&out->scratch, text, out->err);
    pdr__put_c(out, "\"");
    pdr__put(out, pdr_buf_str(&out->scratch));
    pdr__put_c(out, "\"");
}

pdr_rc pdr__value_json(pdr_str *text, const pdr_value *value, pdr_buf *scratch,
                       pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    /* Of a value with a NaN the writer of JSON says where it is. */
    if (pdr_value_raw(text, value) && node_block(value)->has_bare == 0)
        return PDR_OK;
    pdr_buf_clear(scratch);
    rc = pdr_json_write(scratch, value, NULL, err);
    *text = pdr_buf_str(scratch);
    return rc;
}

void pdr__put_value(struct out *out, const pdr_value *value)
{
    pdr_str text;

    if (out->rc == PDR_OK)
        out->rc = pdr__value_json(&text, value, &out->scratch, out->err);
    if (out->rc == PDR_OK)
        pdr__put(out, text);
}

/* --- the spelling of .NET --------------------------------------------------
 */

/* Does .NET leave this byte as it is? */
static bool is_plain(unsigned char c, bool has_plus)
{
    if (c == '+')
        return has_plus;
    return c >= 0x20 && c < 0x7F && memchr("\"&'<>`\\", c, 7) == NULL;
}

static void put_unit(struct out *out, unsigned unit)
{
    char escape[8];
    int len = snprintf(escape, sizeof(escape), "\\u%04X", unit);

    pdr__put(out, pdr_str_n(escape, (size_t)len));
}

/* The escape of what `text` begins with; gives its bytes. */
static size_t put_escape(struct out *out, pdr_str text)
{
    static const char names[][2] = {{'\\', '\\'}, {'\b', 'b'}, {'\t', 't'},
                                    {'\n', 'n'},  {'\f', 'f'}, {'\r', 'r'}};
    uint32_t point = 0xFFFD; /* half a surrogate pair */
    size_t len = pdr__utf8_decode(&point, text);

    for (size_t i = 0; i < PDR_COUNT(names); i++) {
        if (text.ptr[0] == names[i][0]) {
            char escape[2] = {'\\', names[i][1]};

            pdr__put(out, pdr_str_n(escape, 2));
            return 1;
        }
    }
    if (len == 0) {
        put_unit(out, 0xFFFD);
        return text.len < 3 ? text.len : 3;
    }
    if (point < 0x10000) {
        put_unit(out, point);
        return len;
    }
    put_unit(out, 0xD800 + ((point - 0x10000) >> 10));
    put_unit(out, 0xDC00 + ((point - 0x10000) & 0x3FFu));
    return len;
}

void pdr__put_net_text(struct out *out, pdr_str text, bool has_plus)
{
    pdr__put_c(out, "\"");
    while (text.len > 0 && out->rc == PDR_OK) {
        size_t len = 0;

        while (len < text.len &&
               is_plain((unsigned char)text.ptr[len], has_plus))
            len++;
        pdr__put(out, pdr_str_n(text.ptr, len));
        text = pdr_str_n(text.ptr + len, text.len - len);
        if (text.len == 0)
            break;
        len = put_escape(out, text);
        text = pdr_str_n(text.ptr + len, text.len - len);
    }
    pdr__put_c(out, "\"");
}

void pdr__put_net_string(struct out *out, const pdr_value *string,
                         bool has_plus)
{
    pdr_str text;

    if (out->rc == PDR_OK)
        out->rc = pdr__value_name_bytes(&text, string, &out->scratch, out->err);
    if (out->rc == PDR_OK)
        pdr__put_net_text(out, text, has_plus);
}

void pdr__put_net_value(struct out *out, const pdr_value *value)
{
    pdr_kind kind = pdr_value_kind(value);
    pdr_iter it;

    if (kind == PDR_STRING) {
        pdr__put_net_string(out, value, false);
        return;
    }
    if (kind != PDR_ARRAY && kind != PDR_OBJECT) {
        pdr__put_value(out, value);
        return;
    }
    pdr__put_c(out, kind == PDR_ARRAY ? "[" : "{");
    pdr_iter_init(&it, value);
    while (pdr_iter_next(&it)) {
        if (it.index > 0)
            pdr__put_c(out, ",");
        if (it.name != NULL) {
            pdr__put_net_string(out, it.name, false);
            pdr__put_c(out, ":");
        }
        pdr__put_net_value(out, it.value);
    }
    pdr__put_c(out, kind == PDR_ARRAY ? "]" : "}");
}
