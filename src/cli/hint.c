/*
 * hint.c - what to do about a failure.
 *
 * WHY  A wrong hint is worse than none: `iconv -f UTF-16` on a text without a
 *      byte order mark guesses the order of bytes, and the text is lost. So
 *      where the reason does not decide alone, the bytes of the document do,
 *      and where these do not decide either, no command is given.
 */
#include "cli.h"

/* --- encodings ----------------------------------------------------------- */

#define ICONV(from) "'iconv -f " from " -t UTF-8 FILE' does it"
#define NO_ENCODING \
    "its first bytes do not tell which; ask the program that wrote it"

static bool begins_with(pdr_str text, const char *bytes, size_t len)
{
    return text.len >= len && memcmp(text.ptr, bytes, len) == 0;
}

/* With a byte order mark iconv finds the order itself, and drops the mark. The
 * one of UTF-32 may begin like the one of UTF-16. NULL if there is none. */
static const char *marked_encoding(pdr_str text)
{
    if (begins_with(text, "\xFF\xFE\0\0", 4) ||
        begins_with(text, "\0\0\xFE\xFF", 4))
        return ICONV("UTF-32");
    if (begins_with(text, "\xFF\xFE", 2) || begins_with(text, "\xFE\xFF", 2))
        return ICONV("UTF-16");
    return NULL;
}

/* Most JSON begins with two characters of ASCII, and these have zero bytes in
 * places that give the encoding away. */
static const char *encoding_hint(pdr_str text)
{
    static const struct {
        const char *zeros, *hint; /* 'z' is a zero byte, '-' another */
    } patterns[] = {
        {"-zzz", ICONV("UTF-32LE")},
        {"zzz-", ICONV("UTF-32BE")},
        {"-z-z", ICONV("UTF-16LE")},
        {"z-z-", ICONV("UTF-16BE")},
    };
    const char *marked = marked_encoding(text);
    char zeros[5] = "";

    if (marked != NULL)
        return marked;
    for (size_t i = 0; i < 4 && i < text.len; i++)
        zeros[i] = text.ptr[i] == '\0' ? 'z' : '-';
    for (size_t i = 0; i < CLI_COUNT(patterns); i++)
        if (strcmp(patterns[i].zeros, zeros) == 0)
            return patterns[i].hint;
    return NO_ENCODING;
}

/* --- bytes --------------------------------------------------------------- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* No name told the format, and the first bytes did not either. */
static const char *format_hint(pdr_str text)
{
    static char hint[CLI_LIST_MAX];
    const char *encoding = encoding_hint(text);

    if (text.len > 0 && strcmp(encoding, NO_ENCODING) != 0)
        snprintf(hint, sizeof(hint), "if it is text that is not UTF-8, %s",
                 encoding);
    else
        cli_form_list(hint, sizeof(hint), "choose one with --from: ", 0, 0);
    return hint;
}

/* Three bytes as some programs write half of a surrogate pair. */
static bool is_surrogate(pdr_str rest)
{
    const unsigned char *p = (const unsigned char *)rest.ptr;

    return rest.len >= 3 && p[0] == 0xED && p[1] >= 0xA0 && p[1] <= 0xBF &&
           (p[2] & 0xC0) == 0x80;
}

static const char *utf8_hint(pdr_str rest, bool is_text)
{
    if (is_surrogate(rest))
        return "a surrogate written as three bytes is no UTF-8";
    if (!is_text) /* iconv would break what is around the strings */
        return "strings are UTF-8; have the program that wrote it encode them";
    return "text is UTF-8 here; if this is Latin-1, "
           "'iconv -f LATIN1 -t UTF-8 FILE' converts it";
}

/* Several documents, or one and something else? */
static const char *trailing_hint(pdr_str rest)
{
    if (rest.len == 0 || rest.ptr[0] == '\0' ||
        strchr("{[\"-0123456789tfn", rest.ptr[0]) == NULL)
        return "";
    return "a file holds one document; several, as in JSON Lines, need "
           "'perdure check --lines'";
}

#define LITERALS "the literals are true, false and null"

/* Where the letters that end at byte `at` begin; further back than any literal
 * goes does not matter. */
static size_t word_begin(pdr_str input, size_t at)
{
    size_t begin = at;

    while (begin > 0 && at - begin < 5 && input.ptr[begin - 1] >= 'a' &&
           input.ptr[begin - 1] <= 'z')
        begin--;
    return begin;
}

/* Are the bytes from `begin` to `at` the front of a literal, and not all? */
static bool is_literal_front(pdr_str input, size_t begin, size_t at)
{
    static const char *const literals[] = {"true", "false", "null"};
    size_t len = at - begin;

    for (size_t i = 0; len > 0 && i < CLI_COUNT(literals); i++)
        if (len < strlen(literals[i]) &&
            memcmp(input.ptr + begin, literals[i], len) == 0)
            return true;
    return false;
}

static const char *byte_hint(pdr_str input, int64_t at)
{
    if (at < 0 || (uint64_t)at > input.len)
        return "";
    return is_literal_front(input, word_begin(input, (size_t)at), (size_t)at)
               ? LITERALS
               : "";
}

/* A document that is nothing but the front of a literal was hardly cut off; in
 * a longer one, the letters may as well belong to a string. */
static const char *end_hint(pdr_str input, int64_t base)
{
    size_t end = input.len, begin = 0;

    while (end > 0 && is_space(input.ptr[end - 1]))
        end--;
    while (begin < end && is_space(input.ptr[begin]))
        begin++;
    if (base == 0 && is_literal_front(input, begin, end))
        return LITERALS;
    return "the end is missing: was the file cut off while it was written?";
}

/* --- reasons ------------------------------------------------------------- */

#define WITHOUT_EXCHANGE "without --exchange it is kept as it is"

/* For reasons that are enough to know. */
static const char *reason_hint(const char *reason)
{
    static const struct {
        const char *reason, *hint;
    } hints[] = {
        {"no_file", "check the name; '-' reads standard input"},
        {"cannot_read", "name a file or a pipe that you may read"},
        {"cannot_write", "what was printed is not complete"},
        {"empty_input", "there is no value here, not even null"},
        {"byte_order_mark", "'tail -c +4 FILE' gives the file without it"},
        {"missing_separator", "put a line end between two documents"},
        {"control_in_string", "inside a string write it as an escape: \\n, "
                              "\\t or \\u and four digits"},
        {"bad_number", "digits stand before and after a point; no plus sign, "
                       "no leading zeros"},
        {"bare_token", "Python writes these; --bare-tokens accepts them"},
        {"too_deep", "--max-depth sets the limit, 1024 is the highest"},
        {"too_large", "--max-bytes sets the limit; of many documents in one "
                      "file, as in JSON Lines, each may have as much"},
        {"too_many_nodes", "--max-nodes sets the limit"},
        {"file_exists", "--yes replaces it"},
        {"no_folder", "make the folder first, or name another OUT"},
        {"no_space", "OUT is as it was; make room, or name another place"},
        {"cannot_create", "OUT is as it was; name a file that you may write"},
        {"not_an_array", "without --spread it stays one document"},
        {"reserved_byte", "is the file damaged, or of another format? --from "
                          "says which"},
        {"binary_data", "have it written as a string, such as Base64"},
        {"timestamp", "have it written as a string or a number"},
        {"unknown_extension", "have it written in plain values"},
        {"name_no_string", "have it written with strings as names"},
        {"bad_record", "a length stands in front of each document; if this "
                       "file has none, choose another --from"},
        {"inexact_number", WITHOUT_EXCHANGE},
        {"number_range", WITHOUT_EXCHANGE},
        {"duplicate_name", WITHOUT_EXCHANGE},
        {"lone_surrogate", WITHOUT_EXCHANGE},
        {"bad_xml", "was it changed by hand, or put together from pieces?"},
        {"xml_forbidden", "this is never read, for safety; have it written "
                          "without"},
        {"xml_element", "the elements are map, array, string, number, boolean "
                        "and null"},
        {"model_auth", "--key-env VAR, or apiKey: =Env.VAR in a definition "
                       "file, names the variable with the key"},
        {"model_protocol", "is it the address of the API, without "
                           "/chat/completions, as in "
                           "http://localhost:11434/v1?"},
        {"xml_attribute", "the attributes of XPath 3.1 are key, escaped-key "
                          "and escaped"},
    };

    for (size_t i = 0; i < CLI_COUNT(hints); i++)
        if (strcmp(hints[i].reason, reason) == 0)
            return hints[i].hint;
    return "";
}

/* What stands at the place of the error and behind it. */
static pdr_str from_offset(pdr_str input, int64_t at)
{
    if (at < 0 || (uint64_t)at >= input.len)
        return pdr_str_n(NULL, 0);
    return pdr_str_n(input.ptr + at, input.len - (size_t)at);
}

const char *cli_hint(const pdr_err *err, pdr_str input, int64_t base)
{
    pdr_str rest = from_offset(input, err->offset - base);

    if (strcmp(err->reason, "utf16_input") == 0)
        return base == 0 ? encoding_hint(input) : NO_ENCODING;
    if (strcmp(err->reason, "bad_utf8") == 0)
        return utf8_hint(rest, cli_is_text(input, err->offset - base));
    if (strcmp(err->reason, "unknown_format") == 0 ||
        strcmp(err->reason, "ambiguous_format") == 0)
        return format_hint(input);
    if (strcmp(err->reason, "trailing_data") == 0)
        return trailing_hint(rest);
    if (strcmp(err->reason, "unexpected_byte") == 0)
        return byte_hint(input, err->offset - base);
    if (strcmp(err->reason, "unexpected_end") == 0)
        return end_hint(input, base);
    return reason_hint(err->reason);
}
