/* Text of strangers, made fit to be shown. */
#include "test.h"

#include "cli.h"

static const char *shown(const char *text, size_t len, enum cli_text_mode mode)
{
    static char out[256];
    pdr_buf buf = PDR_BUF_INIT(sizeof(out) - 1);

    cli_show(&buf, pdr_str_n(text, len), mode);
    snprintf(out, sizeof(out), "%.*s", (int)buf.len, buf.ptr);
    pdr_buf_dispose(&buf);
    return out;
}

#define SHOWN(text, mode) shown(text, sizeof(text) - 1, mode)

TEST(show, keeps_text_and_escapes_controls)
{
    ASSERT_STR("Grüße 日本 😀", SHOWN("Grüße 日本 😀", CLI_TEXT_LINE));
    ASSERT_STR("\\u001b[31m\\u0007\\u0000\\u007f",
               SHOWN("\033[31m\a\0\177", CLI_TEXT_LINE));
    /* C1 CSI does on some terminals what ESC [ does. */
    ASSERT_STR("\\u009b31m", SHOWN("\xC2\x9B"
                                   "31m",
                                   CLI_TEXT_PAGE));
    ASSERT_STR("\\u202eabc\\u2066", SHOWN("\u202Eabc\u2066", CLI_TEXT_PAGE));
}

/* A code point as UTF-8; ended by NUL. */
static const char *utf8(uint32_t point)
{
    static char out[5];
    size_t len = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;

    memset(out, 0, sizeof(out));
    for (size_t i = len; i-- > 1; point >>= 6)
        out[i] = (char)(0x80 | (point & 0x3F));
    out[0] = (char)(len == 1 ? point : (0xF00u >> len) | point);
    return out;
}

/* Is it shown as an escape that JSON reads as the same character? */
static bool is_escaped(uint32_t point, enum cli_text_mode mode)
{
    const char *text = utf8(point);
    char expected[16];

    if (point < 0x10000)
        snprintf(expected, sizeof(expected), "\\u%04x", (unsigned)point);
    else
        snprintf(expected, sizeof(expected), "\\u%04x\\u%04x",
                 0xD7C0u + (unsigned)(point >> 10),
                 0xDC00u + (unsigned)(point & 0x3FF));
    if (strcmp(shown(text, strlen(text), mode), expected) == 0)
        return true;
    ASSERT_STR(text, shown(text, strlen(text), mode));
    return false;
}

/* Default_Ignorable_Code_Point; U+2028 and U+2029 are escaped anyway. */
static const struct {
    uint32_t below, first, last, above;
} invisible[] = {
    {0xAC, 0xAD, 0xAD, 0xAE},
    {0x34E, 0x34F, 0x34F, 0x350},
    {0x61B, 0x61C, 0x61C, 0x61D},
    {0x115E, 0x115F, 0x1160, 0x1161},
    {0x17B3, 0x17B4, 0x17B5, 0x17B6},
    {0x180A, 0x180B, 0x180F, 0x1810},
    {0x200A, 0x200B, 0x200F, 0x2010},
    {0x2027, 0x202A, 0x202E, 0x202F},
    {0x205F, 0x2060, 0x206F, 0x2070},
    {0x3163, 0x3164, 0x3164, 0x3165},
    {0xFDFF, 0xFE00, 0xFE0F, 0xFE10},
    {0xFEFE, 0xFEFF, 0xFEFF, 0xFF00},
    {0xFF9F, 0xFFA0, 0xFFA0, 0xFFA1},
    {0xFFEF, 0xFFF0, 0xFFF8, 0xFFF9},
    {0x1BC9F, 0x1BCA0, 0x1BCA3, 0x1BCA4},
    {0x1D172, 0x1D173, 0x1D17A, 0x1D17B},
    {0xDFFFF, 0xE0000, 0xE0FFF, 0xE1000},
};

TEST(show, escapes_what_is_invisible_on_a_terminal_only)
{
    static const enum cli_text_mode modes[] = {CLI_TEXT_LINE, CLI_TEXT_JSON,
                                               CLI_TEXT_SOURCE, CLI_TEXT_PAGE,
                                               CLI_TEXT_TERMINAL};

    for (int terminal = 0; terminal <= 1; terminal++) {
        cli_text_setup(terminal == 1, false);
        for (size_t i = 0; i < CLI_COUNT(invisible) * CLI_COUNT(modes); i++) {
            enum cli_text_mode mode = modes[i % CLI_COUNT(modes)];
            bool hides = terminal == 1 || mode == CLI_TEXT_TERMINAL;
            size_t at = i / CLI_COUNT(modes);
            bool is_bidi = invisible[at].first == 0x202A;

            ASSERT(!is_escaped(invisible[at].below, mode));
            ASSERT(is_escaped(invisible[at].first, mode) == (hides || is_bidi));
            ASSERT(is_escaped(invisible[at].last, mode) == (hides || is_bidi));
            ASSERT(!is_escaped(invisible[at].above, mode));
        }
    }
    ASSERT_SIZE(13, cli_cells(pdr_str_c("a\U000E0041"), CLI_TEXT_LINE));
    ASSERT_SIZE(7, cli_cells(pdr_str_c("a\u200B"), CLI_TEXT_LINE));
    cli_text_setup(false, false);
    ASSERT_SIZE(1, cli_cells(pdr_str_c("a\u200B"), CLI_TEXT_LINE));
}

TEST(show, treats_line_ends_and_tabs_by_mode)
{
    ASSERT_STR("a\\nb\\tc\\rd", SHOWN("a\nb\tc\rd", CLI_TEXT_LINE));
    ASSERT_STR("a\nb\tc\\rd", SHOWN("a\nb\tc\rd", CLI_TEXT_PAGE));
    ASSERT_STR("a\\nb    c", SHOWN("a\nb\tc", CLI_TEXT_SOURCE));
    ASSERT_STR("a\\nb\\tc\\\"\\\\", SHOWN("a\nb\tc\"\\", CLI_TEXT_JSON));
    ASSERT_STR("\"\\", SHOWN("\"\\", CLI_TEXT_LINE));
}

TEST(show, marks_what_is_no_utf8)
{
    ASSERT_STR("a\\xff\\xc3", SHOWN("a\xFF\xC3", CLI_TEXT_LINE));
    ASSERT_STR("a\\ufffd", SHOWN("a\xFF", CLI_TEXT_JSON));
    ASSERT_STR("\\xc0\\x80", SHOWN("\xC0\x80", CLI_TEXT_LINE));
    ASSERT_STR("\\xe0\\x80\\x80", SHOWN("\xE0\x80\x80", CLI_TEXT_LINE));
    ASSERT_STR("\\xf4\\x90\\x80\\x80",
               SHOWN("\xF4\x90\x80\x80", CLI_TEXT_LINE));
    /* A lone surrogate in a pointer has three bytes. */
    ASSERT_STR("\\ud800", SHOWN("\xED\xA0\x80", CLI_TEXT_JSON));
    ASSERT_STR("\\xed\\xa0\\x80", SHOWN("\xED\xA0\x80", CLI_TEXT_SOURCE));
    ASSERT_STR("\\xed\\xbf\\xbf", SHOWN("\xED\xBF\xBF", CLI_TEXT_LINE));
    ASSERT_STR("\xED\x9F\xBF", SHOWN("\xED\x9F\xBF", CLI_TEXT_LINE));
}

static const char *word(const char *text)
{
    static char out[CLI_WORD_MAX];

    return cli_word(out, text, "WORD");
}

TEST(word, has_the_quotes_that_a_shell_needs)
{
    ASSERT_STR("desk.db", word("desk.db"));
    ASSERT_STR("@dafx-a@b:1,2=%+", word("@dafx-a@b:1,2=%+"));
    ASSERT_STR("Grüße", word("Grüße"));
    ASSERT_STR("\"\"", word(""));
    ASSERT_STR("\"a b\"", word("a b"));
    ASSERT_STR("\"~a\"", word("~a"));
    ASSERT_STR("\"it's; *\"", word("it's; *"));
    ASSERT_STR("'$HOME'", word("$HOME"));
    ASSERT_STR("'a'\\''b`c'", word("a'b`c"));
    ASSERT_STR("$'a\\u001b[7m\\nb'", word("a\033[7m\nb"));
    ASSERT_STR("$'\\'\\\\\\xff'", word("'\\\xFF"));
    cli_text_setup(true, false);
    ASSERT_STR("$'a\\u200bb\\U000e0041'", word("a\u200Bb\U000E0041"));
    cli_text_setup(false, false);
}

TEST(word, is_not_cut_but_left_out)
{
    char text[CLI_WORD_MAX + 1] = "";

    memset(text, 'x', CLI_WORD_MAX - 1);
    ASSERT_STR(text, word(text));
    memset(text, 'x', CLI_WORD_MAX);
    ASSERT_STR("WORD", word(text));
}

static const char *cut(const char *text, size_t cells)
{
    static char out[256];
    pdr_buf buf = PDR_BUF_INIT(sizeof(out) - 1);

    cli_show_cut(&buf, pdr_str_c(text), CLI_TEXT_LINE, cells);
    snprintf(out, sizeof(out), "%.*s", (int)buf.len, buf.ptr);
    pdr_buf_dispose(&buf);
    return out;
}

TEST(show_cut, counts_columns_and_not_bytes)
{
    ASSERT_STR("abcd", cut("abcd", 4));
    ASSERT_STR("abc…", cut("abcde", 4));
    ASSERT_STR("äöüß", cut("äöüß", 4));
    ASSERT_STR("日本", cut("日本", 4));
    ASSERT_STR("日…", cut("日本語", 4));
    ASSERT_STR("e\u0301e\u0301", cut("e\u0301e\u0301", 2));
    ASSERT_STR("a…", cut("a\001b", 4));
    ASSERT_STR("…", cut("abc", 1));
}

/* The excerpt, then the line with the caret. */
static const char *excerpt(const char *input, size_t offset, size_t cells)
{
    static char out[512];
    pdr_buf buf = PDR_BUF_INIT(sizeof(out) - 1);
    size_t caret = cli_excerpt(&buf, pdr_str_c(input), offset, cells);

    snprintf(out, sizeof(out), "%.*s\n%*s^", (int)buf.len, buf.ptr, (int)caret,
             "");
    pdr_buf_dispose(&buf);
    return out;
}

TEST(excerpt, shows_the_line_and_points_at_the_byte)
{
    ASSERT_STR("  bad,\n  ^", excerpt("{\n  bad,\n}", 4, 40));
    ASSERT_STR("first\n^", excerpt("first\r\nsecond", 0, 40));
    ASSERT_STR("second\n ^", excerpt("first\rsecond", 7, 40));
    ASSERT_STR("last\n    ^", excerpt("one\nlast", 8, 40));
    ASSERT_STR("last\n    ^", excerpt("one\nlast", 99, 40));
    ASSERT_STR("\n^", excerpt("", 0, 40));
    ASSERT_STR("    \"ü\": x\n         ^", excerpt("\t\"ü\": x", 7, 40));
}

TEST(excerpt, cuts_long_lines_around_the_byte)
{
    char line[4001];

    memset(line, 'a', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\0';
    line[2000] = 'X';
    ASSERT_STR("…aaaaaaaaaaaaaaaaaaaXaaaaaaaa…\n                    ^",
               excerpt(line, 2000, 30));
    ASSERT_STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaa…\n^", excerpt(line, 0, 30));
    ASSERT_STR(
        "…aaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n                              ^",
        excerpt(line, 4000, 30));
}

TEST(excerpt, cuts_no_line_that_fits)
{
    ASSERT_STR("012345678901234567890123456789\n                             ^",
               excerpt("012345678901234567890123456789", 29, 30));
    ASSERT_STR(
        "012345678901234567890123456789\n                              ^",
        excerpt("012345678901234567890123456789", 30, 30));
}

TEST(excerpt, never_begins_inside_a_character)
{
    char line[1501];

    for (size_t i = 0; i < 1500; i += 3)
        memcpy(line + i, "日", 3);
    line[1500] = '\0';
    for (size_t offset = 1200; offset < 1206; offset++)
        ASSERT(strstr(excerpt(line, offset - offset % 3, 31), "\\x") == NULL);
}

static bool is_text(const char *bytes, size_t len, int64_t at)
{
    return cli_is_text(pdr_str_n(bytes, len), at);
}

TEST(is_text, looks_at_what_stands_before_the_place)
{
    ASSERT(is_text("[1, x]", 6, 4));
    ASSERT(is_text("\t\r\n\f \xC3\xA4", 7, 7));
    ASSERT(is_text("[\"\x1B", 3, 2)); /* a text with a wrong byte */
    ASSERT(is_text("[\"\xFF", 3, 2));
    ASSERT(!is_text("[\"\x1B ?", 5, 4));
    ASSERT(!is_text("\x92\x01\xC1", 3, 2));
    ASSERT(!is_text("\xED\xA0\x80 ?", 5, 4)); /* a surrogate */
    ASSERT(!is_text("\xC2\xC3", 2, 1));
    ASSERT(!is_text("a\0b", 3, 2));
}

TEST(is_text, looks_at_the_beginning_if_nothing_stands_before)
{
    ASSERT(is_text("", 0, 0));
    ASSERT(is_text("x]", 2, 0));
    ASSERT(!is_text("\xC1", 1, 0));
    ASSERT(is_text("0123456789abcdef\xFF", 17, 0)); /* far enough */
    ASSERT(!is_text("0123456789abcde\xFF", 16, 0));
    ASSERT(is_text("0123456789abcde\xC3\xA4", 17, 0)); /* cut by us */
}

TEST(is_text, forgives_what_was_cut_before_the_place)
{
    ASSERT(is_text("a\xC3", 2, 3)); /* the rest is not known */
    ASSERT(!is_text("a\xC3", 2, 2));
    ASSERT(!is_text("\xFF\xC3", 2, 3));
}

TEST(is_text, does_not_look_further_than_it_needs)
{
    static char bytes[5001];

    memset(bytes, 'a', sizeof(bytes) - 1);
    bytes[4096] = '\xFF';
    ASSERT(is_text(bytes, 5000, 5000));
    bytes[4095] = '\xFF';
    ASSERT(!is_text(bytes, 5000, 5000));
    ASSERT(is_text(bytes, 5000, 4095));
}

TEST(cut_len, finds_the_front_of_a_character)
{
    ASSERT_SIZE(0, cli_cut_len(pdr_str_c("")));
    ASSERT_SIZE(0, cli_cut_len(pdr_str_c("abc")));
    ASSERT_SIZE(0, cli_cut_len(pdr_str_c("a\xC3\xA4")));
    ASSERT_SIZE(1, cli_cut_len(pdr_str_c("a\xC3")));
    ASSERT_SIZE(2, cli_cut_len(pdr_str_c("a\xE6\x97")));
    ASSERT_SIZE(3, cli_cut_len(pdr_str_c("\xF0\x9F\x98")));
    ASSERT_SIZE(0, cli_cut_len(pdr_str_c("\xF0\x9F\x98\x80")));
    ASSERT_SIZE(0, cli_cut_len(pdr_str_c("\x80\x80\x80\x80"))); /* no front */
    ASSERT_SIZE(0, cli_cut_len(pdr_str_c("\xFF")));
}

/* All lines of a text, with a bar behind each. */
static const char *wrapped(const char *text, size_t len, size_t cells)
{
    static char out[512];
    pdr_buf buf = PDR_BUF_INIT(sizeof(out) - 1);

    for (size_t at = 0; at < len;) {
        size_t next = cli_wrap(&buf, pdr_str_n(text, len), at, cells);
        ASSERT(next > at);
        at = next;
        cli_put(&buf, "|");
    }
    snprintf(out, sizeof(out), "%.*s", (int)buf.len, buf.ptr);
    pdr_buf_dispose(&buf);
    return out;
}

#define WRAPPED(text, cells) wrapped(text, sizeof(text) - 1, cells)

TEST(wrap, breaks_between_words)
{
    ASSERT_STR("the quick|brown fox|jumps|",
               WRAPPED("the quick brown fox jumps", 10));
    ASSERT_STR("exactly ten|next|", WRAPPED("exactly ten next", 11));
    ASSERT_STR("a|b|", WRAPPED("a     b", 3));
    ASSERT_STR("a b|", WRAPPED("a b", 3));
    ASSERT_STR("", WRAPPED("", 3));
}

TEST(wrap, breaks_a_word_that_is_too_long)
{
    ASSERT_STR("abcde|fghij|k|", WRAPPED("abcdefghijk", 5));
    ASSERT_STR("ab|cdefg|h|", WRAPPED("ab cdefgh", 5));
    ASSERT_STR("日|本|", WRAPPED("日本", 3));
    ASSERT_STR("日|本|", WRAPPED("日本", 1)); /* wider than the line */
}

TEST(wrap, keeps_line_ends_and_the_layout_of_lines)
{
    ASSERT_STR("a||b|", WRAPPED("a\n\nb", 9));
    ASSERT_STR("a|b|", WRAPPED("a\r\nb\r\n", 9));
    ASSERT_STR("a\\rb|", WRAPPED("a\rb", 9));
    ASSERT_STR("  - one|two|", WRAPPED("  - one two", 8));
    ASSERT_STR("    x|", WRAPPED("\tx", 9));
    ASSERT_STR("ab|c|", WRAPPED("ab \nc", 2));
}

TEST(wrap, lets_no_control_character_through)
{
    ASSERT_STR("\\u001b[|31m|", WRAPPED("\033[31m", 7));
    ASSERT_STR("\\u0000|", WRAPPED("\0", 2));
    ASSERT_STR("\\xff|", WRAPPED("\xFF", 9));
}

static const char *flowed(const char *text, size_t used, size_t indent,
                          size_t width)
{
    static char out[256];
    pdr_buf buf = PDR_BUF_INIT(sizeof(out) - 1);

    cli_flow(&buf, pdr_str_c(text), used, indent, width);
    snprintf(out, sizeof(out), "%.*s", (int)buf.len, buf.ptr);
    pdr_buf_dispose(&buf);
    return out;
}

TEST(flow, indents_what_goes_on_and_stays_in_one_line_without_a_width)
{
    ASSERT_STR("some words to\n    read in peace",
               flowed("some words to read in peace", 7, 4, 24));
    ASSERT_STR("some words to read", flowed("some words to read", 7, 4, 0));
    ASSERT_STR("a\\nb", flowed("a\nb", 0, 4, 0));
    ASSERT_STR("sixteen columns\n  at least",
               flowed("sixteen columns at least", 90, 2, 1));
}

TEST(number, is_grouped_by_thousands)
{
    char out[32];

    ASSERT_STR("0", cli_number(out, 0));
    ASSERT_STR("999", cli_number(out, 999));
    ASSERT_STR("1,000", cli_number(out, 1000));
    ASSERT_STR("12,345,678", cli_number(out, 12345678));
    ASSERT_STR("18,446,744,073,709,551,615", cli_number(out, UINT64_MAX));
}

TEST(size, has_a_unit_and_one_digit)
{
    char out[32];

    ASSERT_STR("1 byte", cli_size(out, 1));
    ASSERT_STR("999 bytes", cli_size(out, 999));
    ASSERT_STR("1.0 kB", cli_size(out, 1000));
    ASSERT_STR("999.9 kB", cli_size(out, 999949));
    ASSERT_STR("1.0 MB", cli_size(out, 999950));
    ASSERT_STR("4.3 GB", cli_size(out, 4294967295));
}
