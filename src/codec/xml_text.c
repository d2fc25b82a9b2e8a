/*
 * xml_text.c - strings as JSON spells them and as XML carries them.
 *
 * WHY  A value keeps how a string was spelled. XML has a place for that, the
 *      attribute `escaped`, and needs it also for characters that it cannot
 *      hold. U+FFFE and U+FFFF are the exception: JSON may have them as they
 *      are, XML only as escapes; then the exact spelling stands beside, in an
 *      attribute that other programs ignore.
 *
 *        JSON spelling                         XML
 *        the one that we would write           the text itself
 *        any other, or no text of XML          the spelling, escaped="true"
 *        U+FFFE or U+FFFF as they are          the same with \uFFFE, and p:raw
 */
#include "xml_core.h"

/* --- to XML -------------------------------------------------------------- */

/* The next U+FFFE or U+FFFF in UTF-8, or NULL. */
static const char *find_noncharacter(const char *p, const char *end)
{
    while (end - p >= 3) {
        p = memchr(p, 0xEF, (size_t)(end - p) - 2);
        if (p == NULL)
            return NULL;
        if ((unsigned char)p[1] == 0xBF && (unsigned char)p[2] >= 0xBE)
            return p;
        p++;
    }
    return NULL;
}

/* Can XML hold each character of this text, whose escapes are all ours? Ours
 * are short, but for control characters and halves of surrogate pairs. */
static bool is_xml_text(pdr_str inner)
{
    const char *p = inner.ptr, *end = inner.ptr + inner.len;

    while (p < end) {
        p = memchr(p, '\\', (size_t)(end - p));
        if (p == NULL)
            return true;
        if (p[1] == 'u' || p[1] == 'b' || p[1] == 'f')
            return false;
        p += 2;
    }
    return true;
}

/* The inside of a JSON string with escapes for what XML cannot hold. */
static pdr_rc escape_noncharacters(pdr_buf *out, pdr_str inner, pdr_err *err)
{
    const char *p = inner.ptr, *end = inner.ptr + inner.len;
    pdr_rc rc = PDR_OK;

    while (rc == PDR_OK && p < end) {
        const char *at = find_noncharacter(p, end);
        const char *stop = at != NULL ? at : end;
        rc = pdr_buf_append(out, pdr_str_n(p, (size_t)(stop - p)), err);
        if (rc != PDR_OK || at == NULL)
            break;
        rc = pdr_buf_append(out,
                            (unsigned char)at[2] == 0xBE ? PDR_LIT("\\uFFFE")
                                                         : PDR_LIT("\\uFFFF"),
                            err);
        p = at + 3;
    }
    return rc;
}

pdr_rc pdr__xml_spell(struct xml_spelling *out, const pdr_value *string,
                      pdr_err *err)
{
    pdr_str inner = string_inner(string);
    bool has_escapes = (string->info & NODE_FLAG) != 0;
    pdr_rc rc = PDR_OK;

    out->text = inner;
    out->escaped = false;
    out->raw = pdr_str_n(NULL, 0);
    if (find_noncharacter(inner.ptr, inner.ptr + inner.len) != NULL) {
        out->escaped = true;
        out->raw = inner;
        pdr_buf_clear(&out->scratch);
        rc = escape_noncharacters(&out->scratch, inner, err);
        out->text = pdr_buf_str(&out->scratch);
    } else if (has_escapes && is_xml_text(inner) && pdr__text_is_ours(inner)) {
        rc = pdr__value_name_bytes(&out->text, string, &out->scratch, err);
    } else {
        out->escaped = has_escapes;
    }
    return rc;
}

/* What stands for a byte in text, and in an attribute; NULL for most. */
static const char *const in_text[256] = {
    ['&'] = "&amp;",
    ['<'] = "&lt;",
    ['>'] = "&gt;",   /* at least behind "]]" */
    ['\r'] = "&#13;", /* else it is read as a line feed */
};
static const char *const in_attribute[256] = {
    ['&'] = "&amp;",  ['<'] = "&lt;",  ['>'] = "&gt;",   ['\r'] = "&#13;",
    ['"'] = "&quot;", ['\t'] = "&#9;", ['\n'] = "&#10;", /* else spaces */
};

pdr_rc pdr__xml_put_text(pdr_buf *out, pdr_str text, bool attribute,
                         pdr_err *err)
{
    const char *const *references = attribute ? in_attribute : in_text;
    size_t at = 0;

    while (at < text.len) {
        size_t from = at;
        while (at < text.len && references[(unsigned char)text.ptr[at]] == NULL)
            at++;
        pdr_rc rc =
            pdr_buf_append(out, pdr_str_n(text.ptr + from, at - from), err);
        if (rc == PDR_OK && at < text.len)
            rc = pdr_buf_append(
                out, pdr_str_c(references[(unsigned char)text.ptr[at++]]), err);
        if (rc != PDR_OK)
            return rc;
    }
    return PDR_OK;
}

/* --- from XML ------------------------------------------------------------ */

/* Escapes stay, all else is escaped as we do it. */
static pdr_rc keep_escapes(pdr_buf *out, uint32_t *info, pdr_str text,
                           pdr_err *err)
{
    const char *p = text.len > 0 ? text.ptr : ""; /* it may be NULL */
    const char *end = p + text.len;
    pdr_rc rc = PDR_OK;

    while (rc == PDR_OK && p < end) {
        const char *escape = memchr(p, '\\', (size_t)(end - p));
        const char *stop = escape != NULL ? escape : end;
        size_t plain = (size_t)(stop - p), before = out->len;
        rc = pdr__text_encode(out, pdr_str_n(p, plain), err);
        if (out->len - before != plain)
            *info |= NODE_FLAG;
        if (rc != PDR_OK || escape == NULL)
            break;
        size_t len = pdr__text_escape_len(escape, end, info);
        if (len == 0)
            return PDR_FAIL(err, BAD_ESCAPE,
                            "no escape: in escaped text a backslash stands "
                            "before one of \"\\/bfnrt or u and four hex "
                            "digits");
        *info |= NODE_FLAG;
        rc = pdr_buf_append(out, pdr_str_n(escape, len), err);
        p = escape + len;
    }
    return rc;
}

pdr_rc pdr__xml_read_text(pdr_buf *out, uint32_t *info, pdr_str text,
                          bool escaped, pdr_err *err)
{
    pdr_rc rc = pdr__buf_room(out, text.len + 2, err);

    *info = NODE_STRING;
    if (rc != PDR_OK)
        return rc;
    out->ptr[out->len++] = '"';
    size_t before = out->len;
    if (escaped)
        rc = keep_escapes(out, info, text, err);
    else
        rc = pdr__text_encode(out, text, err);
    if (!escaped && out->len - before != text.len)
        *info |= NODE_FLAG;
    if (rc == PDR_OK)
        rc = pdr__buf_room(out, 1, err);
    if (rc == PDR_OK)
        out->ptr[out->len++] = '"';
    return rc;
}

/* Decoded text of the inside of a string. */
static pdr_rc decode(pdr_buf *out, pdr_str inner, pdr_err *err)
{
    pdr_rc rc = pdr_buf_reserve(out, inner.len, err);

    if (rc == PDR_OK && inner.len > 0)
        out->len = pdr__text_decode(out->ptr, inner);
    return rc;
}

pdr_rc pdr__xml_restore(pdr_buf *span, uint32_t *info, pdr_str raw,
                        pdr_err *err)
{
    pdr_buf have = PDR_BUF_INIT(SIZE_MAX), want = PDR_BUF_INIT(SIZE_MAX);
    const char *p = raw.ptr;

    *info = NODE_STRING;
    if (raw.len > 0 && pdr__text_scan(&p, raw.ptr + raw.len, info) != TEXT_END)
        return PDR_FAIL(err, XML_ATTRIBUTE,
                        "the raw text is not the inside of a JSON string");
    pdr_rc rc = decode(&have, pdr_str_n(span->ptr + 1, span->len - 2), err);
    if (rc == PDR_OK)
        rc = decode(&want, raw, err);
    if (rc == PDR_OK && !pdr_str_equal(pdr_buf_str(&have), pdr_buf_str(&want)))
        rc = PDR_FAIL(err, XML_ATTRIBUTE,
                      "the raw text means something else than the text");
    pdr_buf_dispose(&want);
    pdr_buf_dispose(&have);
    span->len = 0;
    if (rc == PDR_OK)
        rc = pdr_buf_append(span, PDR_LIT("\""), err);
    if (rc == PDR_OK)
        rc = pdr_buf_append(span, raw, err);
    return rc == PDR_OK ? pdr_buf_append(span, PDR_LIT("\""), err) : rc;
}
