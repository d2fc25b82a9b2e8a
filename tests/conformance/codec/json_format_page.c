/*
 * json_format_page.c - the examples and the table of docs/formats/json.md hold.
 *
 * An example is a block fenced as `json-example` with lines `key: text`. A text
 * of several lines stands below its key, each line behind "| ".
 */
#include "base.h"
#include "test.h"

#define PAGE      "../../docs/formats/json.md"
#define MAX_FIELD 2048

struct example {
    int line; /* of the page */
    unsigned flags;
    char input[MAX_FIELD], compact[MAX_FIELD], pretty[MAX_FIELD];
    char as_read[MAX_FIELD], error[MAX_FIELD];
    size_t input_len;
    char *open; /* field that lines with "| " belong to */
};

static char page[100000];

static void load_page(void)
{
    size_t len = 0;
    char *text = test_read_data(PAGE, &len);

    assert_true(len < sizeof(page));
    memcpy(page, text, len + 1);
    free(text);
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

static char *field(struct example *e, const char *key)
{
    if (strcmp(key, "input") == 0)
        return e->input;
    if (strcmp(key, "compact") == 0)
        return e->compact;
    if (strcmp(key, "pretty") == 0)
        return e->pretty;
    if (strcmp(key, "as-read") == 0)
        return e->as_read;
    if (strcmp(key, "error") == 0)
        return e->error;
    return NULL;
}

static void add_line(struct example *e, const char *line)
{
    size_t len = strlen(e->open);
    const char *text = line[1] == ' ' ? line + 2 : line + 1;

    snprintf(e->open + len, MAX_FIELD - len, "%s%s", len > 0 ? "\n" : "", text);
}

static void parse_line(struct example *e, const char *line)
{
    char key[32] = "";
    int used = 0;

    if (line[0] == '|' && e->open != NULL) {
        add_line(e, line);
        return;
    }
    if (sscanf(line, "%31[a-z-]:%n", key, &used) != 1 || used == 0)
        fail_msg("line %d: an example has no '%s'", e->line, line);
    const char *text = line + used + (line[used] == ' ' ? 1 : 0);
    if (strcmp(key, "options") == 0) {
        assert_string_equal("bare_tokens", text);
        e->flags = PDR_BARE_TOKENS;
    } else if (strcmp(key, "input-hex") == 0) {
        e->input_len = decode_hex(e->input, text);
    } else {
        e->open = field(e, key);
        if (e->open == NULL)
            fail_msg("line %d: unknown key %s", e->line, key);
        snprintf(e->open, MAX_FIELD, "%s", text);
    }
}

/* --- checking ------------------------------------------------------------ */

static void check_layout(const struct example *e, const pdr_value *value,
                         pdr_layout layout, const char *expected)
{
    pdr_write_opts opts = {.flags = e->flags, .layout = layout};
    pdr_buf text = PDR_BUF_INIT(MAX_FIELD);

    if (expected[0] == '\0')
        return;
    ASSERT_RC(PDR_OK, pdr_json_write(&text, value, &opts, NULL));
    ASSERT_TEXT(expected, pdr_buf_str(&text));
    pdr_buf_dispose(&text);
}

static void check_example(struct example *e)
{
    pdr_read_opts opts = {.flags = e->flags};
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;
    size_t len = e->input_len > 0 ? e->input_len : strlen(e->input);
    pdr_rc rc = pdr_json_read(&value, pdr_str_n(e->input, len), &opts, &err);

    if (e->error[0] != '\0') {
        char actual[400];
        snprintf(actual, sizeof(actual), "%s %lld%s%s", err.reason,
                 (long long)err.offset, err.path[0] != '\0' ? " " : "",
                 err.path);
        if (rc == PDR_OK || strcmp(e->error, actual) != 0)
            fail_msg("line %d: expected %s, got %s", e->line, e->error, actual);
        return;
    }
    if (rc != PDR_OK)
        fail_msg("line %d: refused: %s", e->line, err.reason);
    check_layout(e, value, PDR_COMPACT, e->compact);
    check_layout(e, value, PDR_PRETTY, e->pretty);
    check_layout(e, value, PDR_AS_READ, e->as_read);
    pdr_value_free(value);
}

TEST(json_page, has_examples_that_hold)
{
    static struct example e;
    bool inside = false;
    int number = 0, count = 0;
    char *next = NULL;

    load_page();
    for (char *line = page; line != NULL; line = next) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        number++;
        if (!inside && strcmp(line, "```json-example") == 0) {
            memset(&e, 0, sizeof(e));
            e.line = number;
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
    ASSERT(count >= 15);
}

/* Every reason that the reader and writer give, with its code. */
TEST(json_page, lists_every_reason_with_its_code)
{
    static const enum pdr__reason listed[] = {
        PDR_R_BAD_UTF8,          PDR_R_TOO_DEEP,          PDR_R_TOO_LARGE,
        PDR_R_TOO_MANY_NODES,    PDR_R_EMPTY_INPUT,       PDR_R_BYTE_ORDER_MARK,
        PDR_R_UTF16_INPUT,       PDR_R_UNEXPECTED_END,    PDR_R_UNEXPECTED_BYTE,
        PDR_R_TRAILING_DATA,     PDR_R_MISSING_SEPARATOR, PDR_R_BAD_NUMBER,
        PDR_R_CONTROL_IN_STRING, PDR_R_BAD_ESCAPE,        PDR_R_BARE_TOKEN,
        PDR_R_NO_KERNEL,         PDR_R_BAD_OPTION,        PDR_R_WALK_ORDER};

    load_page();
    for (size_t i = 0; i < PDR_COUNT(listed); i++) {
        char row[100];
        snprintf(row, sizeof(row), "\n| `%s` | %s |",
                 pdr__reason_slug(listed[i]),
                 pdr_rc_name(pdr__reason_rc(listed[i])));
        if (strstr(page, row) == NULL)
            fail_msg("the table has no row %s", row + 1);
    }
}
