/*
 * compat_text.c - texts as .NET takes them: versions, dates, URIs, media types.
 *
 * WHY  .NET reads some members of a document into types of its own. What those
 *      refuse decides whether a document loads or a run succeeds, so it is
 *      written down here, apart from the members.
 *
 * All functions look at the text only and need no memory.
 */
#include <strings.h>

#include "compat.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_alpha(char c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

/* White space of numbers: tab to carriage return, space. */
static bool is_number_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static pdr_str cut_front(pdr_str text, size_t count)
{
    return pdr_str_n(text.ptr + count, text.len - count);
}

/* The first `c`, or NULL. */
static const char *text_find(pdr_str text, char c)
{
    return text.len > 0 ? memchr(text.ptr, c, text.len) : NULL;
}

/* What stands before the first `c`, which goes too; all of it without one. */
static pdr_str cut_at(pdr_str *rest, char c)
{
    const char *at = text_find(*rest, c);
    pdr_str part = *rest;

    if (at == NULL) {
        *rest = pdr_str_n(rest->ptr + rest->len, 0);
        return part;
    }
    part.len = (size_t)(at - part.ptr);
    *rest = cut_front(*rest, part.len + 1);
    return part;
}

/* --- versions ------------------------------------------------------------ */

/* One number: white space and a sign may stand around it, NULs behind it. */
static bool read_component(uint32_t *out, pdr_str text)
{
    uint64_t value = 0;
    bool negative = false;

    while (text.len > 0 && is_number_space(text.ptr[0]))
        text = cut_front(text, 1);
    if (text.len > 0 && (text.ptr[0] == '+' || text.ptr[0] == '-')) {
        negative = text.ptr[0] == '-';
        text = cut_front(text, 1);
    }
    if (text.len == 0 || !is_digit(text.ptr[0]))
        return false;
    while (text.len > 0 && is_digit(text.ptr[0])) {
        value = value * 10 + (uint64_t)(text.ptr[0] - '0');
        if (value > INT32_MAX)
            return false;
        text = cut_front(text, 1);
    }
    while (text.len > 0 && is_number_space(text.ptr[0]))
        text = cut_front(text, 1);
    while (text.len > 0 && text.ptr[0] == '\0')
        text = cut_front(text, 1);
    *out = (uint32_t)value;
    return text.len == 0 && (value == 0 || !negative);
}

bool pdr__dotnet_version(pdr_schema_version *out, pdr_str text)
{
    pdr_schema_version version = {{0, 0, 0, 0}, 0};

    while (version.count < 4) {
        bool last = text_find(text, '.') == NULL;
        pdr_str part = cut_at(&text, '.');

        if (!read_component(&version.parts[version.count], part))
            return false;
        version.count++;
        if (last) {
            *out = version;
            return version.count >= 2;
        }
    }
    return false;
}

/* --- dates --------------------------------------------------------------- */

/* Does the text begin like this? A digit in `form` stands for one from 0 to it,
 * so that "59" takes 0 to 59. */
static bool begins(pdr_str text, const char *form)
{
    size_t len = strlen(form);

    if (text.len < len)
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = text.ptr[i];

        if (is_digit(form[i]) ? !is_digit(c) || c > form[i] : c != form[i])
            return false;
    }
    return true;
}

/* Seconds and their fraction, which may have up to 16 digits. */
static bool pass_seconds(pdr_str *text)
{
    size_t digits = 0;

    if (text->len == 0 || text->ptr[0] != ':')
        return true;
    if (!begins(*text, ":59"))
        return false;
    *text = cut_front(*text, 3);
    if (text->len == 0 || text->ptr[0] != '.')
        return true;
    *text = cut_front(*text, 1);
    while (text->len > 0 && is_digit(text->ptr[0])) {
        *text = cut_front(*text, 1);
        digits++;
    }
    return digits <= 16;
}

/* Nothing, Z, or an offset of at most 14 hours. */
static bool is_zone(pdr_str text)
{
    unsigned hours = 0, minutes = 0;

    if (text.len == 0 || pdr_str_equal(text, PDR_LIT("Z")))
        return true;
    if (text.ptr[0] != '+' && text.ptr[0] != '-')
        return false;
    text = cut_front(text, 1);
    if (!begins(text, "19"))
        return false;
    hours = (unsigned)(text.ptr[0] - '0') * 10 + (unsigned)(text.ptr[1] - '0');
    if (text.len == 5 && begins(cut_front(text, 2), ":59"))
        minutes =
            (unsigned)(text.ptr[3] - '0') * 10 + (unsigned)(text.ptr[4] - '0');
    else if (text.len != 2)
        return false;
    return hours * 60 + minutes <= 14 * 60;
}

bool pdr__dotnet_date(pdr_str text)
{
    pdr_datetime date;
    pdr_str rest = text;

    if (!begins(rest, "9999-19-39"))
        return false;
    rest = cut_front(rest, 10);
    if (rest.len > 0) {
        if (!begins(rest, "T29:59"))
            return false;
        rest = cut_front(rest, 6);
        if (!pass_seconds(&rest) || !is_zone(rest))
            return false;
    }
    /* The calendar, the hour, and whether the instant is in range. */
    return pdr_datetime_read(&date, text, NULL) == PDR_OK;
}

/* --- media types --------------------------------------------------------- */

static bool is_token_char(char c)
{
    return is_alpha(c) || is_digit(c) ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static size_t token_len(pdr_str text)
{
    size_t len = 0;

    while (len < text.len && is_token_char(text.ptr[len]))
        len++;
    return len;
}

static pdr_str skip_blanks(pdr_str text)
{
    while (text.len > 0 && (text.ptr[0] == ' ' || text.ptr[0] == '\t'))
        text = cut_front(text, 1);
    return text;
}

/* Bytes of a quoted text, 0 if there is none. */
static size_t quoted_len(pdr_str text)
{
    if (text.len == 0 || text.ptr[0] != '"')
        return 0;
    for (size_t i = 1; i < text.len; i++) {
        if (text.ptr[i] == '"')
            return i + 1;
        if (text.ptr[i] == '\\')
            i++;
    }
    return 0;
}

/* `name=value` behind a semicolon; the value may be missing. */
static bool pass_parameter(pdr_str *text)
{
    size_t len = 0;

    *text = skip_blanks(*text);
    len = token_len(*text);
    if (len == 0)
        return text->len == 0 || text->ptr[0] == ';';
    *text = skip_blanks(cut_front(*text, len));
    if (text->len == 0 || text->ptr[0] != '=')
        return true;
    *text = skip_blanks(cut_front(*text, 1));
    len = token_len(*text);
    if (len == 0)
        len = quoted_len(*text);
    *text = skip_blanks(cut_front(*text, len));
    return len > 0;
}

bool pdr__dotnet_media_type(pdr_str text)
{
    size_t len = 0;

    text = skip_blanks(text);
    len = token_len(text);
    text = skip_blanks(cut_front(text, len));
    if (len == 0 || text.len == 0 || text.ptr[0] != '/')
        return false;
    text = skip_blanks(cut_front(text, 1));
    len = token_len(text);
    text = skip_blanks(cut_front(text, len));
    if (len == 0)
        return false;
    while (text.len > 0) {
        if (text.ptr[0] != ';')
            return false;
        text = cut_front(text, 1);
        if (!pass_parameter(&text))
            return false;
    }
    return true;
}

/* --- URIs ---------------------------------------------------------------- */

static int base64_value(char c)
{
    if (is_alpha(c))
        return (c >= 'a' ? c - 'a' + 26 : c - 'A');
    if (is_digit(c))
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool pdr__is_base64(pdr_str text)
{
    size_t pads = 0;
    int last = 0;

    if (text.len % 4 != 0)
        return false;
    while (pads < 2 && text.len > 0 && text.ptr[text.len - 1] == '=') {
        text.len--;
        pads++;
    }
    for (size_t i = 0; i < text.len; i++) {
        last = base64_value(text.ptr[i]);
        if (last < 0)
            return false;
    }
    return (last & (pads == 2 ? 15 : pads == 1 ? 3 : 0)) == 0;
}

/* Does it end, or begin, with `part`, in either case of the letters? */
static bool ends_alike(pdr_str text, pdr_str part)
{
    return text.len >= part.len && strncasecmp(text.ptr + (text.len - part.len),
                                               part.ptr, part.len) == 0;
}

static bool begins_alike(pdr_str text, pdr_str part)
{
    return text.len >= part.len &&
           strncasecmp(text.ptr, part.ptr, part.len) == 0;
}

bool pdr__dotnet_data_uri(pdr_str text)
{
    pdr_str head;

    if (!begins_alike(text, PDR_LIT("data:")) || text_find(text, ',') == NULL)
        return false;
    text = cut_front(text, 5);
    head = cut_at(&text, ',');
    if (ends_alike(head, PDR_LIT(";base64"))) {
        head.len -= 7;
        if (!pdr__is_base64(text))
            return false;
    }
    head = skip_blanks(head);
    return head.len == 0 || pdr__dotnet_media_type(head);
}

static bool is_port(pdr_str text)
{
    unsigned port = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (!is_digit(text.ptr[i]))
            return false;
        port = port * 10 + (unsigned)(text.ptr[i] - '0');
        if (port > 65535)
            return false;
    }
    return true;
}

static bool is_host_char(char c)
{
    return is_alpha(c) || is_digit(c) || c == '-' || c == '_' || c == '.' ||
           (unsigned char)c >= 0x80;
}

/* The host of a URI, with a port perhaps. */
static bool is_host(pdr_str text)
{
    size_t len = 0;

    if (text.len > 0 && text.ptr[0] == '[') {
        const char *end = text_find(text, ']');

        if (end == NULL || end == text.ptr + 1)
            return false;
        len = (size_t)(end - text.ptr) + 1;
    } else {
        while (len < text.len && is_host_char(text.ptr[len]))
            len++;
    }
    if (len == 0 || (len < text.len && text.ptr[len] != ':'))
        return false;
    return len == text.len || is_port(cut_front(text, len + 1));
}

/* Schemes whose URIs must have a host. */
static const char *const host_schemes[] = {"http", "https", "ftp", "ws", "wss"};

bool pdr__dotnet_uri(pdr_str text)
{
    pdr_str scheme, host;
    bool needs_host = false;
    const char *at = NULL;

    if (text_find(text, ':') == NULL)
        return true; /* relative: anything goes */
    scheme = cut_at(&text, ':');
    for (size_t i = 0; i < PDR_COUNT(host_schemes); i++) {
        if (scheme.len == strlen(host_schemes[i]) &&
            begins_alike(scheme, pdr_str_c(host_schemes[i])))
            needs_host = true;
    }
    if (!needs_host || !begins_alike(text, PDR_LIT("//")))
        return true;
    host = cut_front(text, 2);
    for (size_t i = 0; i < host.len; i++) {
        if (strchr("/\\?#", host.ptr[i]) != NULL) {
            host.len = i; /* a NUL ends it as well */
            break;
        }
    }
    at = text_find(host, '@');
    if (at != NULL)
        host = cut_front(host, (size_t)(at - host.ptr) + 1);
    return is_host(host);
}

/* --- blank texts --------------------------------------------------------- */

static bool is_space(uint32_t c)
{
    return c == ' ' || (c >= 0x09 && c <= 0x0D) || c == 0x85 || c == 0xA0 ||
           c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
           c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool pdr__dotnet_blank(pdr_str text)
{
    while (text.len > 0) {
        uint32_t c = 0;
        size_t len = pdr__utf8_decode(&c, text);

        if (len == 0 || !is_space(c))
            return false;
        text = cut_front(text, len);
    }
    return true;
}
