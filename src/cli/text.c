/*
 * text.c - text of strangers, made fit to be shown.
 *
 * WHY  Documents and file names come from anywhere. A control character in one
 *      of them could move the cursor, colour the screen or fake a line of our
 *      own output. So whatever is shown goes through cli_glyph_at(), which
 *      escapes it the way JSON does, and knows how many columns it takes.
 *
 * INVARIANTS
 *   T1  What cli_glyph_at() gives holds no C0 or C1 control, no DEL and no
 *       bidirectional override, except LF and TAB in CLI_TEXT_PAGE; for a
 *       terminal, no character either that is invisible there.
 *   T2  Escaping what stands in a JSON string does not change its meaning:
 *       CLI_TEXT_JSON and CLI_TEXT_PAGE text of valid JSON is the same JSON.
 */
#include "cli.h"

#include <stdarg.h>
#include <stdlib.h>

/* --- code points --------------------------------------------------------- */

#define NOT_UTF8 UINT32_MAX

static bool continues(pdr_str text, size_t at)
{
    return at < text.len && ((unsigned char)text.ptr[at] & 0xC0) == 0x80;
}

/* Bytes of the sequence that a lead byte announces; 0 for no lead byte. */
static size_t sequence_len(unsigned char lead)
{
    if (lead < 0x80)
        return 1;
    if (lead >= 0xC2 && lead <= 0xDF)
        return 2;
    if (lead >= 0xE0 && lead <= 0xEF)
        return 3;
    return lead >= 0xF0 && lead <= 0xF4 ? 4 : 0;
}

/* Decode one code point, a surrogate in three bytes included. What is no UTF-8
 * is one byte long. */
static uint32_t decode(size_t *len, pdr_str text, size_t at)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char lead = (unsigned char)text.ptr[at];
    size_t need = sequence_len(lead);
    uint32_t point = need > 1 ? lead & (0x7Fu >> need) : lead;

    *len = 1;
    if (need == 0)
        return NOT_UTF8;
    for (size_t i = 1; i < need; i++) {
        if (!continues(text, at + i))
            return NOT_UTF8;
        point = (point << 6) | ((unsigned char)text.ptr[at + i] & 0x3Fu);
    }
    if (point < least[need] || point > 0x10FFFF)
        return NOT_UTF8;
    *len = need;
    return point;
}

struct range {
    uint32_t first, last;
};

/* `ranges` are sorted. */
static bool is_in(const struct range *ranges, size_t count, uint32_t point)
{
    for (size_t i = 0; i < count && point >= ranges[i].first; i++)
        if (point <= ranges[i].last)
            return true;
    return false;
}

/* Characters that take no column, or two. The broad blocks are enough: an
 * error shifts a caret or cuts a line early, no more. */
static size_t cells_of(uint32_t point)
{
    static const struct range none[] = {{0x0300, 0x036F}, {0x200B, 0x200F},
                                        {0x20D0, 0x20FF}, {0xFE00, 0xFE0F},
                                        {0xFEFF, 0xFEFF}, {0x1F3FB, 0x1F3FF}};
    static const struct range two[] = {
        {0x1100, 0x115F}, {0x2E80, 0xA4CF},   {0xAC00, 0xD7A3},
        {0xF900, 0xFAFF}, {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},
        {0xFFE0, 0xFFE6}, {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFD}};

    if (point < 0x300)
        return 1;
    if (is_in(none, CLI_COUNT(none), point))
        return 0;
    return is_in(two, CLI_COUNT(two), point) ? 2 : 1;
}

/* T1: what must never reach a terminal as it is. */
static bool is_unsafe(uint32_t point)
{
    static const struct range unsafe[] = {{0x00, 0x1F},
                                          {0x7F, 0x9F},
                                          {0x2028, 0x202E},
                                          {0x2066, 0x2069},
                                          {0xD800, 0xDFFF}};

    return is_in(unsafe, CLI_COUNT(unsafe), point);
}

/* Default_Ignorable_Code_Point of Unicode 14.0: a reader does not see them, and
 * a program or a model does. */
static bool is_invisible(uint32_t point)
{
    static const struct range invisible[] = {
        {0x00AD, 0x00AD},   {0x034F, 0x034F},  {0x061C, 0x061C},
        {0x115F, 0x1160},   {0x17B4, 0x17B5},  {0x180B, 0x180F},
        {0x200B, 0x200F},   {0x202A, 0x202E},  {0x2060, 0x206F},
        {0x3164, 0x3164},   {0xFE00, 0xFE0F},  {0xFEFF, 0xFEFF},
        {0xFFA0, 0xFFA0},   {0xFFF0, 0xFFF8},  {0x1BCA0, 0x1BCA3},
        {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}};

    return is_in(invisible, CLI_COUNT(invisible), point);
}

static bool terminal_out, terminal_err; /* is the stream a terminal? */

void cli_text_setup(bool out, bool err)
{
    terminal_out = out;
    terminal_err = err;
}

/* --- glyphs -------------------------------------------------------------- */

static void glyph_set(struct cli_glyph *g, const char *text)
{
    g->text_len = strlen(text);
    memcpy(g->text, text, g->text_len);
    g->cells = g->text_len;
}

static void glyph_escape(struct cli_glyph *g, uint32_t point)
{
    static const char names[] = "\bb\ff\nn\rr\tt";
    char text[16];

    if (point > 0xFFFF)
        snprintf(text, sizeof(text), "\\u%04x\\u%04x",
                 0xD7C0u + (unsigned)(point >> 10),
                 0xDC00u + (unsigned)(point & 0x3FFu));
    else
        snprintf(text, sizeof(text), "\\u%04x", (unsigned)point);
    for (size_t i = 0; i + 1 < sizeof(names); i += 2)
        if ((uint32_t)names[i] == point)
            snprintf(text, sizeof(text), "\\%c", names[i + 1]);
    glyph_set(g, text);
}

static void glyph_bad_byte(struct cli_glyph *g, unsigned char byte,
                           enum cli_text_mode mode)
{
    char text[12];

    snprintf(text, sizeof(text), "\\x%02x", byte);
    glyph_set(g, mode == CLI_TEXT_JSON ? "\\ufffd" : text);
}

static bool is_surrogate(uint32_t point)
{
    return point >= 0xD800 && point <= 0xDFFF;
}

struct cli_glyph cli_glyph_at(pdr_str text, size_t at, enum cli_text_mode mode)
{
    struct cli_glyph g = {.text_len = 0};
    uint32_t point = decode(&g.len, text, at);

    /* Pointers of the library hold surrogates as three bytes, and stand for an
     * escape. In any other text these bytes are a mistake. */
    if (is_surrogate(point) && mode != CLI_TEXT_JSON) {
        point = NOT_UTF8;
        g.len = 1;
    }
    if (point == NOT_UTF8) {
        glyph_bad_byte(&g, (unsigned char)text.ptr[at], mode);
    } else if (mode == CLI_TEXT_SOURCE && point == '\t') {
        glyph_set(&g, "    ");
    } else if (mode >= CLI_TEXT_PAGE && (point == '\n' || point == '\t')) {
        glyph_set(&g, point == '\n' ? "\n" : "\t");
    } else if (is_unsafe(point) ||
               ((terminal_out || mode == CLI_TEXT_TERMINAL) &&
                is_invisible(point))) {
        glyph_escape(&g, point);
    } else if (mode == CLI_TEXT_JSON && (point == '"' || point == '\\')) {
        glyph_set(&g, point == '"' ? "\\\"" : "\\\\");
    } else {
        memcpy(g.text, text.ptr + at, g.len);
        g.text_len = g.len;
        g.cells = cells_of(point);
    }
    return g;
}

static void put_glyph(pdr_buf *out, const struct cli_glyph *g)
{
    pdr_err err = PDR_ERR_INIT;

    cli_must(pdr_buf_append(out, pdr_str_n(g->text, g->text_len), &err), &err);
}

/* --- text or not --------------------------------------------------------- */

#define TEXT_BYTES                                                        \
    ((size_t)4096)             /* what these show, the rest will not deny \
                                */
#define TEXT_LEAD ((size_t)16) /* to look at where nothing stands before */

size_t cli_cut_len(pdr_str text)
{
    for (size_t back = 1; back <= 3 && back <= text.len; back++) {
        unsigned char byte = (unsigned char)text.ptr[text.len - back];
        if ((byte & 0xC0) != 0x80)
            return sequence_len(byte) > back ? back : 0;
    }
    return 0;
}

/* What stands before a mistake tells more than what comes behind: a text with a
 * wrong byte in it is a text. */
bool cli_is_text(pdr_str input, int64_t at)
{
    size_t len = at > 0 && (uint64_t)at < input.len ? (size_t)at : input.len;
    size_t max = at > 0 ? TEXT_BYTES : TEXT_LEAD;
    pdr_str front = pdr_str_n(input.ptr, len < max ? len : max);

    if (len > max || at > (int64_t)input.len)
        front.len -= cli_cut_len(front);
    for (size_t i = 0; i < front.len;) {
        size_t step = 0;
        uint32_t point = decode(&step, front, i);
        bool control = point < 0x20 && point != '\t' && point != '\n' &&
                       point != '\r' && point != '\f';
        if (point == NOT_UTF8 || is_surrogate(point) || control)
            return false;
        i += step;
    }
    return true;
}

/* --- showing ------------------------------------------------------------- */

void cli_show(pdr_buf *out, pdr_str text, enum cli_text_mode mode)
{
    for (size_t at = 0; at < text.len;) {
        struct cli_glyph g = cli_glyph_at(text, at, mode);
        put_glyph(out, &g);
        at += g.len;
    }
}

/* Columns of `text`; no further than needed to know that they are more than
 * `most`. */
static size_t count_cells(pdr_str text, enum cli_text_mode mode, size_t most)
{
    size_t cells = 0;

    for (size_t at = 0; at < text.len && cells <= most;) {
        struct cli_glyph g = cli_glyph_at(text, at, mode);
        cells += g.cells;
        at += g.len;
    }
    return cells;
}

size_t cli_cells(pdr_str text, enum cli_text_mode mode)
{
    return count_cells(text, mode, SIZE_MAX);
}

void cli_show_cut(pdr_buf *out, pdr_str text, enum cli_text_mode mode,
                  size_t cells)
{
    size_t used = 0;

    if (count_cells(text, mode, cells) <= cells) {
        cli_show(out, text, mode);
        return;
    }
    for (size_t at = 0; at < text.len;) {
        struct cli_glyph g = cli_glyph_at(text, at, mode);
        if (used + g.cells + 1 > cells)
            break;
        put_glyph(out, &g);
        used += g.cells;
        at += g.len;
    }
    cli_put(out, "…");
}

/* --- words of a shell ---------------------------------------------------- */

enum quotes { BARE, DOUBLE, SINGLE, ESCAPED };

/* What a word needs around it: the least that keeps all of its bytes. */
static enum quotes quotes_for(pdr_str text)
{
    enum quotes need = text.len > 0 && text.ptr[0] != '~' ? BARE : DOUBLE;
    size_t at = 0;

    while (at < text.len) {
        struct cli_glyph g = cli_glyph_at(text, at, CLI_TEXT_LINE);
        unsigned char c = (unsigned char)text.ptr[at];
        if (g.text_len != g.len || memcmp(g.text, text.ptr + at, g.len) != 0)
            return ESCAPED;
        if (c < 0x80 && strchr("$`\\\"!", c) != NULL)
            need = SINGLE;
        else if (c < 0x80 && strchr(" '#&*()|;<>?[]{}", c) != NULL &&
                 need == BARE)
            need = DOUBLE;
        at += g.len;
    }
    return need;
}

static void put_quoted(pdr_buf *out, pdr_str text, enum quotes quotes)
{
    for (size_t at = 0; at < text.len;) {
        struct cli_glyph g = cli_glyph_at(text, at, CLI_TEXT_LINE);
        bool is_quote = text.ptr[at] == '\'';
        if (quotes == SINGLE && is_quote)
            cli_put(out, "'\\''");
        else if (quotes == ESCAPED && (is_quote || text.ptr[at] == '\\'))
            cli_putf(out, "\\%c", text.ptr[at]);
        else if (quotes == ESCAPED && g.text_len > 6) /* a pair of escapes */
            cli_putf(out, "\\U%08x", (unsigned)decode(&g.len, text, at));
        else
            put_glyph(out, &g);
        at += g.len;
    }
}

const char *cli_word(char out[CLI_WORD_MAX], const char *text,
                     const char *placeholder)
{
    static const char *const begins[] = {"", "\"", "'", "$'"};
    static const char *const ends[] = {"", "\"", "'", "'"};
    enum quotes quotes = quotes_for(pdr_str_c(text));
    pdr_buf word = PDR_BUF_INIT(SIZE_MAX);

    cli_put(&word, begins[quotes]);
    put_quoted(&word, pdr_str_c(text), quotes);
    cli_put(&word, ends[quotes]);
    if (word.len < CLI_WORD_MAX)
        snprintf(out, CLI_WORD_MAX, "%.*s", (int)word.len, word.ptr);
    else
        snprintf(out, CLI_WORD_MAX, "%s", placeholder);
    pdr_buf_dispose(&word);
    return out;
}

/* --- wrapping ------------------------------------------------------------ */

/* Behind the spaces that a line break takes the place of. */
static size_t skip_spaces(pdr_str text, size_t at)
{
    while (at < text.len && text.ptr[at] == ' ')
        at++;
    return at;
}

/* Behind the line end at `at`, LF or CR LF; `at` if there is none. */
static size_t skip_line_end(pdr_str text, size_t at)
{
    bool has_cr =
        at + 1 < text.len && text.ptr[at] == '\r' && text.ptr[at + 1] == '\n';

    if (at < text.len && text.ptr[at] == '\n')
        return at + 1;
    return has_cr ? at + 2 : at;
}

size_t cli_wrap(pdr_buf *out, pdr_str text, size_t at, size_t cells)
{
    size_t used = 0, begin = at;
    size_t gap = 0, gap_len = 0; /* behind the last space; `out` before it */

    while (at < text.len && skip_line_end(text, at) == at) {
        struct cli_glyph g = cli_glyph_at(text, at, CLI_TEXT_SOURCE);
        if (used + g.cells > cells && at > begin)
            break;
        /* Spaces at the beginning are the layout of the text. */
        if (text.ptr[at] == ' ' && at > begin && text.ptr[at - 1] != ' ' &&
            used > 0)
            gap_len = out->len;
        put_glyph(out, &g);
        used += g.cells;
        at += g.len;
        if (gap_len > 0 && text.ptr[at - 1] == ' ')
            gap = at;
    }
    if (at == text.len || skip_line_end(text, at) > at)
        return skip_line_end(text, at);
    if (text.ptr[at] == ' ') { /* the words fit */
        if (gap == at)
            out->len = gap_len;
        return skip_line_end(text, skip_spaces(text, at));
    }
    if (gap == 0)
        return at;
    out->len = gap_len;
    return gap;
}

#define MIN_FLOW ((size_t)16) /* columns; narrower is not read, but spelled */

void cli_flow(pdr_buf *out, pdr_str text, size_t used, size_t indent,
              size_t width)
{
    size_t at = 0;

    if (width == 0) {
        cli_show(out, text, CLI_TEXT_LINE);
        return;
    }
    while (at < text.len) {
        size_t room = width > used + MIN_FLOW ? width - used : MIN_FLOW;
        at = cli_wrap(out, text, at, room);
        used = indent;
        if (at < text.len)
            cli_putf(out, "\n%*s", (int)indent, "");
    }
}

/* --- excerpts ------------------------------------------------------------ */

/* A line may have gigabytes: look for its ends in this range only. */
#define EXCERPT_REACH_BYTES 512

static bool ends_line(char c)
{
    return c == '\n' || c == '\r';
}

/* The first byte that is looked at, and whether the line begins before it. */
static size_t reach_back(bool *cut, pdr_str input, size_t offset)
{
    size_t at = offset;

    while (at > 0 && offset - at < EXCERPT_REACH_BYTES &&
           !ends_line(input.ptr[at - 1]))
        at--;
    *cut = at > 0 && !ends_line(input.ptr[at - 1]);
    while (*cut && at < offset && continues(input, at))
        at++;
    return at;
}

/* First byte to show so that what stands before `offset` takes at most `cells`
 * columns, one of them for the mark if the line is cut. */
static size_t excerpt_start(bool *cut, pdr_str input, size_t offset,
                            size_t cells)
{
    size_t at = reach_back(cut, input, offset);
    size_t used =
        cli_cells(pdr_str_n(input.ptr + at, offset - at), CLI_TEXT_SOURCE);

    while (at < offset && used + *cut > cells) {
        struct cli_glyph g = cli_glyph_at(input, at, CLI_TEXT_SOURCE);
        used -= g.cells;
        at += g.len;
        *cut = true;
    }
    return at;
}

size_t cli_excerpt(pdr_buf *out, pdr_str input, size_t offset, size_t cells)
{
    bool cut = false;
    size_t end = 0, start = 0, behind = 0;

    if (offset > input.len)
        offset = input.len;
    end = offset;
    while (end < input.len && end - offset < EXCERPT_REACH_BYTES &&
           !ends_line(input.ptr[end]))
        end++;
    /* A third of the room is for what follows, if so much follows. */
    behind =
        cli_cells(pdr_str_n(input.ptr + offset, end - offset), CLI_TEXT_SOURCE);
    if (behind > cells / 3)
        behind = cells / 3;
    start = excerpt_start(&cut, input, offset, cells - behind);
    if (cut)
        cli_put(out, "…");
    cli_show_cut(out, pdr_str_n(input.ptr + start, end - start),
                 CLI_TEXT_SOURCE, cells - cut);
    return cut + cli_cells(pdr_str_n(input.ptr + start, offset - start),
                           CLI_TEXT_SOURCE);
}

/* --- building ------------------------------------------------------------ */

void cli_put(pdr_buf *out, const char *text)
{
    pdr_err err = PDR_ERR_INIT;

    cli_must(pdr_buf_append(out, pdr_str_c(text), &err), &err);
}

PDR_PRINTF(2, 0)
static void put_args(pdr_buf *out, const char *fmt, va_list args)
{
    pdr_err err = PDR_ERR_INIT;
    char *text = NULL;
    int len = vasprintf(&text, fmt, args);

    if (len < 0)
        cli_must(PDR_ENOMEM, NULL);
    cli_must(pdr_buf_append(out, pdr_str_n(text, (size_t)len), &err), &err);
    free(text);
}

void cli_putf(pdr_buf *out, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    put_args(out, fmt, args);
    va_end(args);
}

void cli_fprintf(FILE *out, const char *fmt, ...)
{
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    bool terminal = out == stderr ? terminal_err : terminal_out;
    size_t from = 0; /* what was not written yet */
    va_list args;

    va_start(args, fmt);
    put_args(&text, fmt, args);
    va_end(args);
    for (size_t at = 0; terminal && at < text.len;) {
        struct cli_glyph g = {.len = 1};
        uint32_t point = decode(&g.len, pdr_buf_str(&text), at);
        if (is_invisible(point)) {
            glyph_escape(&g, point);
            fwrite(text.ptr + from, 1, at - from, out);
            fwrite(g.text, 1, g.text_len, out);
            from = at + g.len;
        }
        at += g.len;
    }
    if (from < text.len)
        fwrite(text.ptr + from, 1, text.len - from, out);
    pdr_buf_dispose(&text);
}

const char *cli_number(char *out, uint64_t number)
{
    char digits[24];
    size_t len =
        (size_t)snprintf(digits, sizeof(digits), "%ju", (uintmax_t)number);
    size_t at = 0;

    for (size_t i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}

static void put_counted(pdr_buf *out, uint64_t count, const char *what)
{
    char number[32];

    cli_putf(out, "%s %s%s", cli_number(number, count), what,
             count == 1 ? "" : "s");
}

void cli_put_respelled(pdr_buf *out, const pdr_write_report *lost)
{
    if (lost->numbers > 0)
        put_counted(out, lost->numbers, "number");
    if (lost->numbers > 0 && lost->strings > 0)
        cli_put(out, " and ");
    if (lost->strings > 0)
        put_counted(out, lost->strings, "string");
    cli_put(out, " lost the spelling, no value");
}

void cli_tell_respelled(const char *name, const pdr_write_report *lost)
{
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);

    if (lost->numbers == 0 && lost->strings == 0)
        return;
    cli_show(&line, pdr_str_c(name), CLI_TEXT_LINE);
    cli_put(&line, ": ");
    cli_put_respelled(&line, lost);
    cli_fprintf(stderr, "perdure: %.*s\n", (int)line.len, line.ptr);
    pdr_buf_dispose(&line);
}

const char *cli_size(char *out, uint64_t bytes)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB"};
    double size = (double)bytes / 1000;
    size_t unit = 0;

    if (bytes < 1000) {
        snprintf(out, 32, "%u byte%s", (unsigned)bytes, bytes == 1 ? "" : "s");
        return out;
    }
    /* 999.95 would be shown as "1000.0". */
    while (size >= 999.95 && unit + 1 < CLI_COUNT(units)) {
        size /= 1000;
        unit++;
    }
    snprintf(out, 32, "%.1f %s", size, units[unit]);
    return out;
}

void cli_member_text(pdr_builder *to, const char *name, pdr_str text)
{
    pdr_buf body = PDR_BUF_INIT(SIZE_MAX);

    cli_show(&body, text, CLI_TEXT_JSON);
    pdr_builder_name(to, pdr_str_c(name));
    pdr_builder_escaped(to, pdr_buf_str(&body));
    pdr_buf_dispose(&body);
}

void cli_member_count(pdr_builder *to, const char *name, uint64_t number)
{
    pdr_builder_name(to, pdr_str_c(name));
    pdr_builder_uint64(to, number);
}

void cli_member_bool(pdr_builder *to, const char *name, bool truth)
{
    pdr_builder_name(to, pdr_str_c(name));
    pdr_builder_bool(to, truth);
}

void cli_member_respelled(pdr_builder *to, const pdr_write_report *lost)
{
    pdr_builder_name(to, pdr_str_c("respelled"));
    pdr_builder_object(to);
    cli_member_count(to, "numbers", lost->numbers);
    cli_member_count(to, "strings", lost->strings);
    pdr_builder_end(to);
}
