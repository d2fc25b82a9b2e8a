/*
 * uri.c - "PATH?NAME=VALUE&..." behind the scheme of a store.
 *
 * A backend takes the parameters that it knows out, one by one, and asks at the
 * end whether one is left: so a parameter that was misspelled is refused, and
 * never ignored. "%41" stands for "A" in the path and in values; names are
 * plain.
 */
#include "store.h"

static int hex_value(char c)
{
    char small = pdr__ascii_lower(c);

    if (c >= '0' && c <= '9')
        return c - '0';
    if (small >= 'a' && small <= 'f')
        return small - 'a' + 10;
    return -1;
}

/* The text with its escapes replaced, owned by the caller. */
static pdr_rc decode(char **out, pdr_str text, pdr_err *err)
{
    char *to = pdr__alloc(text.len + 1); /* a part of a C string: no overflow */
    size_t used = 0;

    *out = NULL;
    if (to == NULL)
        return pdr__nomem(err);
    for (size_t i = 0; i < text.len; i++) {
        int high = -1, low = -1;

        if (text.ptr[i] != '%') {
            to[used++] = text.ptr[i];
            continue;
        }
        if (text.len - i > 2) {
            high = hex_value(text.ptr[i + 1]);
            low = hex_value(text.ptr[i + 2]);
        }
        if (high < 0 || low < 0 || (high == 0 && low == 0)) {
            pdr__free(to);
            return PDR_FAIL(err, BAD_URI,
                            "in a URI, '%%' needs two hex digits behind it, "
                            "and not 00; write %%25 for the sign itself");
        }
        to[used++] = (char)(high * 16 + low);
        i += 2;
    }
    to[used] = '\0';
    *out = to;
    return PDR_OK;
}

/* The parameter at the beginning of `rest`, without its '&'. */
static pdr_str first_parameter(const char *rest)
{
    return pdr_str_n(rest, strcspn(rest, "&"));
}

static size_t name_len(pdr_str parameter)
{
    const char *equals = memchr(parameter.ptr, '=', parameter.len);

    return equals == NULL ? 0 : (size_t)(equals - parameter.ptr);
}

static pdr_rc check_parameters(const char *rest, pdr_err *err)
{
    char shown[PDR_SHOWN];

    for (;;) {
        pdr_str parameter = first_parameter(rest);

        if (name_len(parameter) == 0)
            return PDR_FAIL(err, BAD_URI,
                            "'%s' in a URI is no parameter; they are written "
                            "?NAME=VALUE&NAME=VALUE",
                            pdr__shown(shown, parameter));
        if (rest[parameter.len] == '\0')
            return PDR_OK;
        rest += parameter.len + 1;
    }
}

pdr_rc pdr__uri_read(struct pdr__uri *out, const char *text, pdr_err *err)
{
    size_t path_len = strcspn(text, "?");
    pdr_rc rc = PDR_OK;

    out->path = NULL;
    out->rest = NULL;
    if (path_len == 0)
        return PDR_FAIL(err, BAD_URI,
                        "the URI names no file; write sqlite:FILE");
    if (text[path_len] == '?')
        rc = check_parameters(text + path_len + 1, err);
    if (rc == PDR_OK)
        rc = decode(&out->path, pdr_str_n(text, path_len), err);
    if (rc != PDR_OK)
        return rc;
    out->rest = pdr__strdup(text[path_len] == '?' ? text + path_len + 1 : "");
    if (out->rest == NULL) {
        pdr__uri_dispose(out);
        return pdr__nomem(err);
    }
    return PDR_OK;
}

/* The parameter called `name` at or behind `rest`; without a pointer if there
 * is none. */
static pdr_str find(const char *rest, const char *name)
{
    while (*rest != '\0') {
        pdr_str parameter = first_parameter(rest);

        if (pdr_str_equal(pdr_str_c(name),
                          pdr_str_n(rest, name_len(parameter))))
            return parameter;
        rest += parameter.len;
        rest += *rest == '&' ? 1 : 0;
    }
    return pdr_str_n(NULL, 0);
}

pdr_rc pdr__uri_take(char **out, struct pdr__uri *uri, const char *name,
                     pdr_err *err)
{
    pdr_str found = find(uri->rest, name);
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (found.ptr == NULL)
        return PDR_OK;
    char *at = uri->rest + (found.ptr - uri->rest);
    const char *behind = at + found.len;
    if (find(behind + (*behind == '&' ? 1 : 0), name).ptr != NULL)
        return PDR_FAIL(err, BAD_URI, "the URI has two parameters '%s'", name);
    size_t skip = strlen(name) + 1;
    rc = decode(out, pdr_str_n(at + skip, found.len - skip), err);
    if (rc != PDR_OK)
        return rc;
    if (*behind == '&')
        behind++;
    else if (at > uri->rest)
        at--; /* the last of several leaves no '&' behind */
    memmove(at, behind, strlen(behind) + 1);
    return PDR_OK;
}

pdr_rc pdr__uri_end(const struct pdr__uri *uri, pdr_err *err)
{
    char shown[PDR_SHOWN];
    pdr_str first = first_parameter(uri->rest);

    if (first.len == 0)
        return PDR_OK;
    first.len = name_len(first);
    return PDR_FAIL(err, BAD_URI,
                    "the URI has a parameter '%s', which this store does not "
                    "know",
                    pdr__shown(shown, first));
}

void pdr__uri_dispose(struct pdr__uri *uri)
{
    pdr__free(uri->path);
    pdr__free(uri->rest);
    uri->path = NULL;
    uri->rest = NULL;
}
