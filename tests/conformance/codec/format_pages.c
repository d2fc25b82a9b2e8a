/*
 * format_pages.c - the examples and the tables of docs/formats hold.
 *
 * An example is a block fenced as `<format>-example` with lines `key: text`. A
 * text of several lines stands below its key, each line behind "| ".
 *
 *   input             what is read, in the format of the page
 *   from              or a value, as JSON
 *   options           words of `option_words` below
 *   json              the value as compact JSON
 *   compact, pretty, as-read   the value in the format of the page
 *   error             reason, offset, path of the refusal
 *
 * Behind the key `-hex` says that the text is bytes.
 */
#include "base.h"
#include "test.h"

#include "codec.h"

#define MAX_FIELD 4096
#define PAGE      "../../docs/formats/%s.md"

enum field { INPUT, FROM, JSON, COMPACT, PRETTY, AS_READ, ERROR, FIELDS };

static const char *const field_names[FIELDS] = {
    "input", "from", "json", "compact", "pretty", "as-read", "error"};

struct example {
    const char *format; /* borrowed; of the page */
    int line;           /* of the page */
    unsigned flags;
    bool given[FIELDS];
    char text[FIELDS][MAX_FIELD];
    size_t len[FIELDS];
    int open; /* field that lines with "| " belong to, or -1 */
};

static char page[100000];

static void load_page(const char *format)
{
    char path[100];
    size_t len = 0;

    snprintf(path, sizeof(path), PAGE, format);
    char *text = test_read_data(path, &len);
    assert_true(len < sizeof(page));
    memcpy(page, text, len + 1);
    free(text);
}

static const pdr_codec *codec_of(const char *format)
{
    size_t count = 0;
    const pdr_codec *const *codecs = pdr_codecs(&count);
    pdr_format found;

    ASSERT_RC(PDR_OK, pdr_codec_find(&found, codecs, count, format, NULL));
    return found.codec;
}

/* --- parsing ------------------------------------------------------------- */

static size_t decode_hex(char *out, const char *text)
{
    size_t len = 0;
    unsigned byte = 0;
    int used = 0;

    while (sscanf(text, " %2x%n", &byte, &used) == 1) {
        out[len++] = (char)(unsigned char)byte;
        text += used;
    }
    return len;
}

static void add_line(struct example *e, const char *line)
{
    char *to = e->text[e->open];
    size_t len = strlen(to);
    const char *text = line[1] == ' ' ? line + 2 : line + 1;

    snprintf(to + len, MAX_FIELD - len, "%s%s", len > 0 ? "\n" : "", text);
    e->len[e->open] = strlen(to);
}

static void add_options(struct example *e, const char *text)
{
    static const struct {
        const char *word;
        unsigned flag;
    } option_words[] = {{"bare_tokens", PDR_BARE_TOKENS},
                        {"trailing", PDR_TRAILING},
                        {"sequence", PDR_SEQUENCE},
                        {"records", PDR_RECORDS},
                        {"exchange", PDR_EXCHANGE}};

    for (size_t i = 0; i < PDR_COUNT(option_words); i++)
        if (strcmp(option_words[i].word, text) == 0) {
            e->flags |= option_words[i].flag;
            return;
        }
    fail_msg("line %d: no option %s", e->line, text);
}

static int field_of(const char *key)
{
    for (int i = 0; i < FIELDS; i++)
        if (strcmp(field_names[i], key) == 0)
            return i;
    return -1;
}

static void parse_line(struct example *e, const char *line)
{
    char key[32] = "";
    int used = 0;

    if (line[0] == '|' && e->open >= 0) {
        add_line(e, line);
        return;
    }
    if (sscanf(line, "%31[a-z-]:%n", key, &used) != 1 || used == 0)
        fail_msg("line %d: an example has no '%s'", e->line, line);
    const char *text = line + used + (line[used] == ' ' ? 1 : 0);
    if (strcmp(key, "options") == 0) {
        add_options(e, text);
        return;
    }
    char *hex = strstr(key, "-hex");
    if (hex != NULL)
        *hex = '\0';
    int field = field_of(key);
    if (field < 0)
        fail_msg("line %d: unknown key %s", e->line, key);
    e->given[field] = true;
    e->open = hex == NULL ? field : -1;
    if (hex != NULL) {
        e->len[field] = decode_hex(e->text[field], text);
    } else {
        snprintf(e->text[field], MAX_FIELD, "%s", text);
        e->len[field] = strlen(e->text[field]);
    }
}

/* --- checking ------------------------------------------------------------ */

static pdr_str field_text(const struct example *e, enum field field)
{
    return pdr_str_n(e->text[field], e->len[field]);
}

static void check_written(const struct example *e, const pdr_codec *codec,
                          const pdr_value *value, pdr_layout layout,
                          enum field field)
{
    pdr_write_opts opts = {.flags = e->flags & ~PDR_TRAILING, .layout = layout};
    pdr_buf text = PDR_BUF_INIT(MAX_FIELD);
    pdr_err err = PDR_ERR_INIT;

    if (!e->given[field])
        return;
    if (pdr_codec_write(&text, codec, value, &opts, &err) != PDR_OK)
        fail_msg("line %d: not written: %s", e->line, err.reason);
    ASSERT_BYTES(field_text(e, field), pdr_buf_str(&text));
    pdr_buf_dispose(&text);
}

static void check_error(const struct example *e, pdr_rc rc, const pdr_err *err)
{
    char actual[400];

    snprintf(actual, sizeof(actual), "%s %lld%s%s", err->reason,
             (long long)err->offset, err->path[0] != '\0' ? " " : "",
             err->path);
    if (rc == PDR_OK || strcmp(e->text[ERROR], actual) != 0)
        fail_msg("line %d: expected %s, got %s", e->line, e->text[ERROR],
                 rc == PDR_OK ? "success" : actual);
}

/* The value of an example, if it is to be read. */
static pdr_value *read_example(const struct example *e, pdr_err *err)
{
    pdr_read_opts opts = {.flags = e->flags & ~PDR_EXCHANGE};
    const pdr_codec *codec =
        e->given[FROM] ? pdr_json_codec() : codec_of(e->format);
    pdr_str input = field_text(e, e->given[FROM] ? FROM : INPUT);
    pdr_value *value = NULL;
    bool refused = e->given[ERROR] && !e->given[FROM];
    pdr_rc rc = pdr_codec_read(&value, codec, input, &opts, err);

    assert_true(e->given[INPUT] != e->given[FROM]);
    if (refused)
        check_error(e, rc, err);
    else if (rc != PDR_OK)
        fail_msg("line %d: refused: %s", e->line, err->reason);
    return value;
}

/* --- sequences ----------------------------------------------------------- */

static pdr_rc give(size_t *got, void *into, size_t cap, pdr_err *err, void *arg)
{
    pdr_str *rest = arg;

    (void)err;
    *got = cap < rest->len ? cap : rest->len;
    if (*got > 0)
        memcpy(into, rest->ptr, *got);
    rest->ptr += *got;
    rest->len -= *got;
    return PDR_OK;
}

/* The documents of a stream, a line each. */
static pdr_rc walk_documents(pdr_buf *out, pdr_walk *walk, pdr_err *err)
{
    for (;;) {
        pdr_event event = PDR_END_OF_INPUT;
        pdr_value *value = NULL;
        pdr_rc rc = pdr_walk_next(&event, walk, err);

        if (rc != PDR_OK || event == PDR_END_OF_INPUT)
            return rc;
        rc = pdr_walk_take(&value, walk, err);
        if (rc != PDR_OK)
            return rc;
        if (out->len > 0)
            ASSERT_RC(PDR_OK, pdr_buf_append(out, PDR_LIT("\n"), NULL));
        ASSERT_RC(PDR_OK, pdr_json_write(out, value, NULL, NULL));
        pdr_value_free(value);
    }
}

static void check_sequence(const struct example *e)
{
    pdr_read_opts opts = {.flags = e->flags};
    pdr_str rest = field_text(e, INPUT);
    pdr_buf text = PDR_BUF_INIT(MAX_FIELD);
    pdr_walk *walk = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_walk_new(&walk, codec_of(e->format), &opts, NULL,
                                   give, &rest));
    pdr_rc rc = walk_documents(&text, walk, &err);
    if (e->given[ERROR])
        check_error(e, rc, &err);
    else
        ASSERT_BYTES(field_text(e, JSON), pdr_buf_str(&text));
    pdr_walk_free(walk);
    pdr_buf_dispose(&text);
}

/* --- all ----------------------------------------------------------------- */

static void check_example(const struct example *e)
{
    const pdr_codec *codec = codec_of(e->format);
    pdr_err err = PDR_ERR_INIT;
    bool says_something = false;

    for (int i = JSON; i < FIELDS; i++)
        says_something = says_something || e->given[i];
    if (!says_something)
        fail_msg("line %d: an example without a result", e->line);
    if (e->flags & (PDR_SEQUENCE | PDR_RECORDS)) {
        check_sequence(e);
        return;
    }
    pdr_value *value = read_example(e, &err);
    if (value == NULL)
        return;
    if (e->given[ERROR]) {
        pdr_write_opts opts = {.flags = e->flags};
        pdr_buf text = PDR_BUF_INIT(MAX_FIELD);
        pdr_rc rc = pdr_codec_write(&text, codec, value, &opts, &err);
        check_error(e, rc, &err);
        pdr_buf_dispose(&text);
    }
    check_written(e, pdr_json_codec(), value, PDR_COMPACT, JSON);
    check_written(e, codec, value, PDR_COMPACT, COMPACT);
    check_written(e, codec, value, PDR_PRETTY, PRETTY);
    check_written(e, codec, value, PDR_AS_READ, AS_READ);
    pdr_value_free(value);
}

/* Check all examples of a page; returns how many. */
static int check_page(const char *format)
{
    static struct example e;
    bool inside = false;
    int number = 0, count = 0;
    char *next = NULL, fence[40];

    snprintf(fence, sizeof(fence), "```%s-example", format);
    load_page(format);
    for (char *line = page; line != NULL; line = next) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        number++;
        if (!inside && strcmp(line, fence) == 0) {
            memset(&e, 0, sizeof(e));
            e.format = format;
            e.line = number;
            e.open = -1;
            inside = true;
        } else if (inside && strcmp(line, "```") == 0) {
            check_example(&e);
            inside = false;
            count++;
        } else if (inside) {
            parse_line(&e, line);
        }
    }
    ASSERT(!inside);
    return count;
}

/* Does the table of a page have a row for each reason, with its code? */
static void check_reasons(const char *format, const enum pdr__reason *reasons,
                          size_t count)
{
    load_page(format);
    for (size_t i = 0; i < count; i++) {
        char row[100];
        snprintf(row, sizeof(row), "\n| `%s` | %s |",
                 pdr__reason_slug(reasons[i]),
                 pdr_rc_name(pdr__reason_rc(reasons[i])));
        if (strstr(page, row) == NULL)
            fail_msg("the table has no row %s", row + 1);
    }
}

/* --- the pages ----------------------------------------------------------- */

TEST(json_page, has_examples_that_hold)
{
    ASSERT(check_page("json") >= 15);
}

TEST(json_page, lists_every_reason_with_its_code)
{
    static const enum pdr__reason listed[] = {
        PDR_R_BAD_UTF8,          PDR_R_TOO_DEEP,          PDR_R_TOO_LARGE,
        PDR_R_TOO_MANY_NODES,    PDR_R_EMPTY_INPUT,       PDR_R_BYTE_ORDER_MARK,
        PDR_R_UTF16_INPUT,       PDR_R_UNEXPECTED_END,    PDR_R_UNEXPECTED_BYTE,
        PDR_R_TRAILING_DATA,     PDR_R_MISSING_SEPARATOR, PDR_R_BAD_NUMBER,
        PDR_R_CONTROL_IN_STRING, PDR_R_BAD_ESCAPE,        PDR_R_BARE_TOKEN,
        PDR_R_NO_KERNEL,         PDR_R_BAD_OPTION,        PDR_R_WALK_ORDER};

    check_reasons("json", listed, PDR_COUNT(listed));
}

TEST(xml_page, has_examples_that_hold)
{
    ASSERT(check_page("xml") >= 20);
}

TEST(xml_page, lists_every_reason_with_its_code)
{
    static const enum pdr__reason listed[] = {
        PDR_R_EMPTY_INPUT, PDR_R_UNEXPECTED_END, PDR_R_TRAILING_DATA,
        PDR_R_BAD_XML,     PDR_R_XML_FORBIDDEN,  PDR_R_XML_ELEMENT,
        PDR_R_XML_TEXT,    PDR_R_XML_ATTRIBUTE,  PDR_R_BAD_NUMBER,
        PDR_R_BAD_ESCAPE,  PDR_R_BARE_TOKEN,     PDR_R_TOO_DEEP,
        PDR_R_TOO_LARGE,   PDR_R_TOO_MANY_NODES, PDR_R_BAD_OPTION};

    check_reasons("xml", listed, PDR_COUNT(listed));
}

TEST(msgpack_page, has_examples_that_hold)
{
    ASSERT(check_page("msgpack") >= 25);
}

TEST(msgpack_page, lists_every_reason_with_its_code)
{
    static const enum pdr__reason listed[] = {
        PDR_R_EMPTY_INPUT,       PDR_R_UNEXPECTED_END, PDR_R_TRAILING_DATA,
        PDR_R_RESERVED_BYTE,     PDR_R_BINARY_DATA,    PDR_R_TIMESTAMP,
        PDR_R_UNKNOWN_EXTENSION, PDR_R_NAME_NO_STRING, PDR_R_BAD_UTF8,
        PDR_R_BAD_NUMBER,        PDR_R_BAD_ESCAPE,     PDR_R_CONTROL_IN_STRING,
        PDR_R_BARE_TOKEN,        PDR_R_BAD_RECORD,     PDR_R_NUMBER_RANGE,
        PDR_R_INEXACT_NUMBER,    PDR_R_LONE_SURROGATE, PDR_R_DUPLICATE_NAME,
        PDR_R_TOO_DEEP,          PDR_R_TOO_LARGE,      PDR_R_TOO_MANY_NODES,
        PDR_R_BUFFER_FULL,       PDR_R_NO_KERNEL,      PDR_R_BAD_OPTION,
        PDR_R_WALK_ORDER,        PDR_R_WRITER_ORDER};

    check_reasons("msgpack", listed, PDR_COUNT(listed));
}
