/*
 * perdure doc stats - what is in a document, in numbers.
 *
 * WHY  Why does this session cost so much, and why is it so large? Turns,
 *      tokens, tools and sizes answer that, and the largest contents with their
 *      pointers say where to look.
 */
#include "doc_parts.h"

#include <stdlib.h>

#define LARGEST   5 /* contents to show */
#define MOST      8 /* names to show in a line */
#define BAR_CELLS 24

/* --- counting by name ---------------------------------------------------- */

/* Names with a sum each. They come in any number and order: collected first,
 * put together when there are too many to keep apart. */
struct tally {
    struct tally_row {
        char *name; /* owned, not terminated */
        size_t len;
        int64_t sum;
        size_t order; /* when it came first */
    } * rows;
    size_t count, cap, next;
};

static int compare_names(const void *left, const void *right)
{
    const struct tally_row *a = left, *b = right;
    size_t len = a->len < b->len ? a->len : b->len;
    int order = memcmp(a->name, b->name, len);

    if (order == 0)
        order = (a->len > b->len) - (a->len < b->len);
    return order != 0 ? order : (a->order > b->order) - (a->order < b->order);
}

/* Most first; those that came first before others. */
static int compare_sums(const void *left, const void *right)
{
    const struct tally_row *a = left, *b = right;
    int order = (b->sum > a->sum) - (b->sum < a->sum);

    return order != 0 ? order : (a->order > b->order) - (a->order < b->order);
}

static int compare_orders(const void *left, const void *right)
{
    const struct tally_row *a = left, *b = right;

    return (a->order > b->order) - (a->order < b->order);
}

static int64_t add_counts(int64_t a, int64_t b)
{
    if (b > 0 && a > INT64_MAX - b)
        return INT64_MAX;
    return b < 0 && a < INT64_MIN - b ? INT64_MIN : a + b;
}

static bool same_name(const struct tally_row *a, const struct tally_row *b)
{
    return a->len == b->len && memcmp(a->name, b->name, a->len) == 0;
}

/* One row for each name, sorted by name. */
static void tally_merge(struct tally *t)
{
    size_t kept = 0;

    if (t->count > 1)
        qsort(t->rows, t->count, sizeof(t->rows[0]), compare_names);
    for (size_t i = 0; i < t->count; i++) {
        if (kept > 0 && same_name(&t->rows[kept - 1], &t->rows[i])) {
            t->rows[kept - 1].sum =
                add_counts(t->rows[kept - 1].sum, t->rows[i].sum);
            free(t->rows[i].name);
        } else {
            t->rows[kept++] = t->rows[i];
        }
    }
    t->count = kept;
}

/* Rows that stay apart need room; half of it free, so that merging is rare. */
static void tally_make_room(struct tally *t)
{
    tally_merge(t);
    if (t->count * 2 < t->cap)
        return;
    t->cap = t->cap > 0 ? t->cap * 2 : 64;
    t->rows = cli_realloc(t->rows, t->cap, sizeof(t->rows[0]));
}

static void tally_add(struct tally *t, pdr_str name, int64_t number)
{
    struct tally_row row = {cli_realloc(NULL, name.len, 1), name.len, number,
                            t->next++};

    if (t->count == t->cap)
        tally_make_room(t);
    if (name.len > 0)
        memcpy(row.name, name.ptr, name.len);
    t->rows[t->count++] = row;
}

static void tally_end(struct tally *t,
                      int (*compare)(const void *, const void *))
{
    tally_merge(t);
    if (t->count > 1)
        qsort(t->rows, t->count, sizeof(t->rows[0]), compare);
}

static void tally_free(struct tally *t)
{
    for (size_t i = 0; i < t->count; i++)
        free(t->rows[i].name);
    free(t->rows);
}

static uint64_t tally_total(const struct tally *t)
{
    int64_t sum = 0;

    for (size_t i = 0; i < t->count; i++)
        sum = add_counts(sum, t->rows[i].sum);
    return (uint64_t)sum;
}

/* --- collecting ---------------------------------------------------------- */

struct large {
    uint64_t bytes;
    size_t entry, message, content;
    const pdr_value *value; /* borrowed */
};

struct stats {
    struct cli *cli;
    const struct doc *doc;
    struct doc_turns turns;
    struct tally entries, roles, contents, tools, tokens;
    size_t failed, unfinished;
    size_t unknown_entries, unknown_contents;
    size_t set_aside; /* results, by a repair */
    uint64_t entry_bytes;
    bool has_time;
    pdr_datetime first, last;
    struct large largest[LARGEST]; /* most bytes first */
    size_t large_count;
    pdr_buf scratch, line;
};

static void note_size(struct stats *s, const struct large *one)
{
    size_t at = s->large_count;

    if (at == LARGEST && one->bytes <= s->largest[LARGEST - 1].bytes)
        return;
    at = at == LARGEST ? LARGEST - 1 : at;
    s->large_count = at + 1;
    for (; at > 0 && s->largest[at - 1].bytes < one->bytes; at--)
        s->largest[at] = s->largest[at - 1];
    s->largest[at] = *one;
}

/* The name of a content's kind as the document has it. */
static pdr_str kind_text(const pdr_value *content, pdr_buf *scratch)
{
    struct doc_content c = doc_content_of(content);
    const pdr_value *type = doc_type(c.value);

    return type != NULL ? doc_text(type, scratch) : pdr_str_c("(no type)");
}

static pdr_rc on_usage(pdr_str name, int64_t count, pdr_err *err, void *arg)
{
    (void)err;
    tally_add(arg, name, count);
    return PDR_OK;
}

static void add_content(struct stats *s, const struct large *place)
{
    struct doc_content c = doc_content_of(place->value);
    const pdr_value *name = NULL;

    tally_add(&s->contents, kind_text(place->value, &s->scratch), 1);
    s->unknown_contents += c.part == DOC_PART_UNKNOWN;
    note_size(s, place);
    if (c.part != DOC_PART_CALL)
        return;
    name = doc_field(&c, PDR_FIELD_NAME);
    tally_add(&s->tools,
              name != NULL ? doc_text(name, &s->scratch)
                           : pdr_str_c(pdr_content_kind_name(c.kind, c.shape)),
              1);
}

static void add_message(struct stats *s, const pdr_value *message, size_t entry,
                        size_t index)
{
    const pdr_value *role = pdr_message_role(message, PDR_SHAPE_STATE);
    pdr_iter it;

    s->set_aside += pdr_value_count(doc_set_aside(message));
    tally_add(
        &s->roles,
        role != NULL ? doc_text(role, &s->scratch) : pdr_str_c("(no role)"), 1);
    pdr_iter_init(&it, pdr_message_contents(message, PDR_SHAPE_STATE));
    while (pdr_iter_next(&it)) {
        const struct large place = {doc_bytes(it.value), entry, index, it.index,
                                    it.value};
        add_content(s, &place);
    }
}

static void add_time(struct stats *s, const pdr_value *entry)
{
    pdr_datetime when;

    if (!pdr_entry_created_at(&when, entry))
        return;
    if (!s->has_time || pdr_datetime_compare(&when, &s->first) < 0)
        s->first = when;
    if (!s->has_time || pdr_datetime_compare(&when, &s->last) > 0)
        s->last = when;
    s->has_time = true;
}

static void add_entry(struct stats *s, size_t index)
{
    const pdr_value *entry = s->turns.entries[index];
    pdr_entry_kind kind = pdr_entry_kind_of(entry);
    const pdr_value *type = doc_type(entry);
    pdr_str name =
        pdr_str_c(kind == PDR_ENTRY_REQUEST ? "request" : "response");
    pdr_err err = PDR_ERR_INIT;
    pdr_iter it;

    if (kind == PDR_ENTRY_OTHER) {
        name =
            type != NULL ? doc_text(type, &s->scratch) : pdr_str_c("(no type)");
        s->unknown_entries++;
    }
    tally_add(&s->entries, name, 1);
    s->entry_bytes += doc_bytes(entry);
    add_time(s, entry);
    cli_must(pdr_usage_each(pdr_entry_usage(entry), &err, on_usage, &s->tokens),
             &err);
    if (kind == PDR_ENTRY_OTHER)
        return;
    pdr_iter_init(&it, pdr_entry_messages(entry));
    while (pdr_iter_next(&it))
        add_message(s, it.value, index, it.index);
}

static void collect(struct stats *s)
{
    doc_turns_find(&s->turns, s->doc->value);
    for (size_t i = 0; i < s->turns.entry_count; i++)
        add_entry(s, i);
    for (size_t i = 0; i < s->turns.count; i++) {
        s->failed += s->turns.items[i].is_error;
        s->unfinished +=
            s->turns.items[i].number != 0 && !s->turns.items[i].has_response;
    }
    tally_end(&s->entries, compare_orders);
    tally_end(&s->roles, compare_sums);
    tally_end(&s->contents, compare_sums);
    tally_end(&s->tools, compare_sums);
    tally_end(&s->tokens, compare_orders);
}

static void stats_free(struct stats *s)
{
    tally_free(&s->entries);
    tally_free(&s->roles);
    tally_free(&s->contents);
    tally_free(&s->tools);
    tally_free(&s->tokens);
    doc_turns_free(&s->turns);
    pdr_buf_dispose(&s->scratch);
    pdr_buf_dispose(&s->line);
}

/* --- for people ---------------------------------------------------------- */

#define NAME_CELLS 11 /* where the numbers begin */

static void put_name(struct stats *s, const char *name)
{
    bool colored = s->cli->color_out;

    pdr_buf_clear(&s->line);
    cli_putf(&s->line, "%s%-*s%s", cli_on(colored, CLI_CYAN), NAME_CELLS, name,
             cli_off(colored));
}

static void end_line(struct stats *s)
{
    cli_put(&s->line, "\n");
    fwrite(s->line.ptr, 1, s->line.len, stdout);
}

static void put_count(pdr_buf *out, int64_t count)
{
    uint64_t size = count < 0 ? 0 - (uint64_t)count : (uint64_t)count;
    char digits[32];

    cli_putf(out, "%s%s", count < 0 ? "-" : "", cli_number(digits, size));
}

static size_t page_width(const struct cli *cli)
{
    return cli->tty_out && cli->width > 40 ? cli->width : 80;
}

/* Add a part to the line, on a new one if there is no room for it. */
static void put_item(struct stats *s, size_t *used, pdr_buf *item, bool last)
{
    size_t cells = cli_cells(pdr_buf_str(item), CLI_TEXT_LINE);

    if (*used + cells + 2 > page_width(s->cli) && *used > NAME_CELLS) {
        s->line.len--; /* the space in front */
        cli_putf(&s->line, "\n%*s", NAME_CELLS, "");
        *used = NAME_CELLS;
    }
    cli_must(pdr_buf_append(&s->line, pdr_buf_str(item), NULL), NULL);
    cli_put(&s->line, last ? "" : ", ");
    *used += cells + 2;
}

/* "Contents   12: 9 text, 3 functionCall and 4 more kinds" */
static void print_tally(struct stats *s, const char *name,
                        const struct tally *t, bool has_total)
{
    size_t shown = t->count > MOST ? MOST - 1 : t->count;
    size_t used = NAME_CELLS;
    pdr_buf item = PDR_BUF_INIT(SIZE_MAX);
    char digits[32];

    if (t->count == 0 && !has_total)
        return;
    put_name(s, name);
    if (has_total) {
        cli_number(digits, tally_total(t));
        cli_putf(&s->line, "%s%s", digits, t->count > 0 ? ": " : "");
        used += strlen(digits) + 2;
    }
    for (size_t i = 0; i < shown; i++) {
        pdr_str row = pdr_str_n(t->rows[i].name, t->rows[i].len);
        pdr_buf_clear(&item);
        put_count(&item, t->rows[i].sum);
        cli_put(&item, " ");
        cli_show_cut(&item, t == &s->tokens ? doc_count_name(row) : row,
                     CLI_TEXT_LINE, 40);
        put_item(s, &used, &item, i + 1 == t->count);
    }
    if (t->count > shown)
        cli_putf(&s->line, "%zu more", t->count - shown);
    end_line(s);
    pdr_buf_dispose(&item);
}

static void print_turns(struct stats *s)
{
    char digits[32];

    put_name(s, "Turns");
    cli_put(&s->line, cli_number(digits, s->turns.numbered));
    if (s->failed > 0)
        cli_putf(&s->line, ", %s failed", cli_number(digits, s->failed));
    if (s->unfinished > 0)
        cli_putf(&s->line, ", %s without a response",
                 cli_number(digits, s->unfinished));
    end_line(s);
}

static void print_sizes(struct stats *s)
{
    char size[32];

    put_name(s, "Size");
    cli_put(&s->line, cli_size(size, s->doc->text.len));
    if (s->turns.entry_count > 0)
        cli_putf(&s->line, "; %s an entry",
                 cli_size(size, s->entry_bytes / s->turns.entry_count));
    if (s->turns.numbered > 0)
        cli_putf(&s->line, ", %s a turn",
                 cli_size(size, s->entry_bytes / s->turns.numbered));
    end_line(s);
}

/* "2 days 3 h", "4 h 10 min", "12 s" */
static void put_span(pdr_buf *out, int64_t seconds)
{
    int64_t days = seconds / 86400, hours = seconds / 3600 % 24;
    int64_t minutes = seconds / 60 % 60;

    if (days > 0)
        cli_putf(out, "%jd day%s %jd h", (intmax_t)days, days == 1 ? "" : "s",
                 (intmax_t)hours);
    else if (hours > 0)
        cli_putf(out, "%jd h %jd min", (intmax_t)hours, (intmax_t)minutes);
    else if (minutes > 0)
        cli_putf(out, "%jd min %jd s", (intmax_t)minutes,
                 (intmax_t)(seconds % 60));
    else
        cli_putf(out, "%jd s", (intmax_t)seconds);
}

static int64_t span_seconds(const struct stats *s)
{
    return (s->last.ticks - s->first.ticks) / PDR_TICKS_PER_SECOND;
}

static void print_time(struct stats *s)
{
    pdr_datetime expires;
    char text[32];

    if (s->has_time) {
        put_name(s, "Time");
        cli_putf(&s->line, "%s", doc_time(text, &s->first));
        cli_putf(&s->line, " to %s UTC, ", doc_time(text, &s->last));
        put_span(&s->line, span_seconds(s));
        end_line(s);
    }
    if (pdr_state_expiration(&expires, s->doc->value)) {
        put_name(s, "Expires");
        cli_putf(&s->line, "%s UTC", doc_time(text, &expires));
        end_line(s);
    }
}

static void print_unknown(struct stats *s)
{
    if (s->unknown_entries + s->unknown_contents == 0)
        return;
    put_name(s, "Unknown");
    if (s->unknown_entries > 0)
        cli_putf(&s->line, "%zu entr%s", s->unknown_entries,
                 s->unknown_entries == 1 ? "y" : "ies");
    if (s->unknown_entries > 0 && s->unknown_contents > 0)
        cli_put(&s->line, ", ");
    if (s->unknown_contents > 0)
        cli_putf(&s->line, "%zu content%s", s->unknown_contents,
                 s->unknown_contents == 1 ? "" : "s");
    cli_put(&s->line, "; they are kept as they are");
    end_line(s);
}

static void print_set_aside(struct stats *s)
{
    char digits[32];

    if (s->set_aside == 0)
        return;
    put_name(s, "Set aside");
    cli_putf(&s->line, "%s result%s that no call waits for",
             cli_number(digits, s->set_aside), s->set_aside == 1 ? "" : "s");
    end_line(s);
}

/* As long as `bytes` is of `most`; eighths of a column where they can be
 * shown. */
static void put_bar(struct stats *s, uint64_t bytes, uint64_t most)
{
    static const char *const eighths[] = {"",  "▏", "▎", "▍",
                                          "▌", "▋", "▊", "▉"};
    double share = most > 0 ? (double)bytes / (double)most : 0;
    size_t steps = (size_t)(share * BAR_CELLS * 8 + 0.5);
    size_t cells = steps / 8, rest = steps % 8;

    if (!s->cli->utf8)
        rest = 0;
    else if (steps == 0)
        rest = 1;
    cli_put(&s->line, cli_on(s->cli->color_out, CLI_GREEN));
    for (size_t i = 0; i < cells; i++)
        cli_put(&s->line, s->cli->utf8 ? "█" : "#");
    cli_put(&s->line, eighths[rest]);
    cli_putf(&s->line, "%s%*s", cli_off(s->cli->color_out),
             (int)(BAR_CELLS - cells - (rest > 0)), "");
}

static void print_largest(struct stats *s)
{
    char size[32];

    if (s->large_count == 0)
        return;
    printf("\n%sLargest contents%s\n", cli_on(s->cli->color_out, CLI_BOLD),
           cli_off(s->cli->color_out));
    for (size_t i = 0; i < s->large_count; i++) {
        const struct large *l = &s->largest[i];
        pdr_buf_clear(&s->line);
        cli_putf(&s->line, "%10s  ", cli_size(size, l->bytes));
        put_bar(s, l->bytes, s->largest[0].bytes);
        cli_put(&s->line, "  ");
        cli_show_cut(&s->line, kind_text(l->value, &s->scratch), CLI_TEXT_LINE,
                     20);
        cli_putf(&s->line,
                 "\n%12s/data/conversationHistory/%zu/messages/%zu"
                 "/contents/%zu",
                 "", l->entry, l->message, l->content);
        end_line(s);
    }
}

static void print_table(struct stats *s)
{
    const pdr_value *version = pdr_value_get_c(s->doc->value, "schemaVersion");

    pdr_buf_clear(&s->line);
    cli_show(&s->line, pdr_str_c(s->doc->name), CLI_TEXT_LINE);
    cli_put(&s->line, ": version ");
    cli_show_cut(&s->line, doc_text(version, &s->scratch), CLI_TEXT_LINE, 20);
    end_line(s);
    print_turns(s);
    print_tally(s, "Entries", &s->entries, true);
    print_tally(s, "Messages", &s->roles, true);
    print_tally(s, "Contents", &s->contents, true);
    print_tally(s, "Tools", &s->tools, false);
    print_tally(s, "Tokens", &s->tokens, false);
    print_sizes(s);
    print_time(s);
    print_unknown(s);
    print_set_aside(s);
    print_largest(s);
}

/* --- for programs -------------------------------------------------------- */

static void add_tally(pdr_builder *to, const char *name, const struct tally *t)
{
    pdr_buf body = PDR_BUF_INIT(SIZE_MAX);

    pdr_builder_name(to, pdr_str_c(name));
    pdr_builder_object(to);
    for (size_t i = 0; i < t->count; i++) {
        pdr_buf_clear(&body);
        cli_show(&body, pdr_str_n(t->rows[i].name, t->rows[i].len),
                 CLI_TEXT_JSON);
        pdr_builder_escaped_name(to, pdr_buf_str(&body));
        pdr_builder_int64(to, t->rows[i].sum);
    }
    pdr_builder_end(to);
    pdr_buf_dispose(&body);
}

static void begin_part(pdr_builder *to, const char *name)
{
    pdr_builder_name(to, pdr_str_c(name));
    pdr_builder_object(to);
}

static void add_datetime(pdr_builder *to, const char *name,
                         const pdr_datetime *when)
{
    const pdr_datetime utc = pdr_datetime_utc(when->ticks);
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    cli_must(pdr_datetime_write(&text, &utc, PDR_DATETIME_OURS_Z, &err), &err);
    cli_member_text(to, name, pdr_buf_str(&text));
    pdr_buf_dispose(&text);
}

static void add_largest(pdr_builder *to, struct stats *s)
{
    char pointer[120];

    pdr_builder_name(to, pdr_str_c("largest"));
    pdr_builder_array(to);
    for (size_t i = 0; i < s->large_count; i++) {
        const struct large *l = &s->largest[i];
        pdr_builder_object(to);
        snprintf(pointer, sizeof(pointer),
                 "/data/conversationHistory/%zu/messages/%zu/contents/%zu",
                 l->entry, l->message, l->content);
        cli_member_text(to, "pointer", pdr_str_c(pointer));
        cli_member_text(to, "type", kind_text(l->value, &s->scratch));
        cli_member_count(to, "bytes", l->bytes);
        pdr_builder_end(to);
    }
    pdr_builder_end(to);
}

static void add_parts(pdr_builder *to, struct stats *s)
{
    begin_part(to, "turns");
    cli_member_count(to, "count", s->turns.numbered);
    cli_member_count(to, "failed", s->failed);
    cli_member_count(to, "unfinished", s->unfinished);
    pdr_builder_end(to);
    begin_part(to, "entries");
    cli_member_count(to, "count", s->turns.entry_count);
    cli_member_count(to, "bytes", s->entry_bytes);
    add_tally(to, "byKind", &s->entries);
    pdr_builder_end(to);
    begin_part(to, "messages");
    cli_member_count(to, "count", tally_total(&s->roles));
    add_tally(to, "byRole", &s->roles);
    pdr_builder_end(to);
    begin_part(to, "contents");
    cli_member_count(to, "count", tally_total(&s->contents));
    add_tally(to, "byType", &s->contents);
    pdr_builder_end(to);
    add_tally(to, "tools", &s->tools);
    add_tally(to, "tokens", &s->tokens);
    begin_part(to, "unknown");
    cli_member_count(to, "entries", s->unknown_entries);
    cli_member_count(to, "contents", s->unknown_contents);
    pdr_builder_end(to);
    cli_member_count(to, "setAside", s->set_aside);
}

static void print_object(struct stats *s)
{
    const pdr_value *version = pdr_value_get_c(s->doc->value, "schemaVersion");
    pdr_builder *to = NULL;
    pdr_value *object = NULL;
    pdr_datetime expires;
    pdr_err err = PDR_ERR_INIT;

    cli_must(pdr_builder_new(&to, &err), &err);
    pdr_builder_object(to);
    cli_member_text(to, "file", pdr_str_c(s->doc->name));
    cli_member_text(to, "version", doc_text(version, &s->scratch));
    cli_member_count(to, "bytes", s->doc->text.len);
    add_parts(to, s);
    if (s->has_time) {
        begin_part(to, "time");
        add_datetime(to, "first", &s->first);
        add_datetime(to, "last", &s->last);
        cli_member_count(to, "seconds", (uint64_t)span_seconds(s));
        pdr_builder_end(to);
    }
    if (pdr_state_expiration(&expires, s->doc->value))
        add_datetime(to, "expires", &expires);
    add_largest(to, s);
    pdr_builder_end(to);
    cli_must(pdr_builder_finish(&object, to, &err), &err);
    cli_print_json(s->cli, object);
    puts("");
    pdr_value_free(object);
    pdr_builder_free(to);
}

/* --- the command --------------------------------------------------------- */

static int run(struct cli *cli, int argc, char **argv)
{
    const char *path = NULL;
    struct doc d = DOC_INIT;
    struct doc_reading how;
    struct stats s = {.cli = cli,
                      .doc = &d,
                      .scratch = PDR_BUF_INIT(SIZE_MAX),
                      .line = PDR_BUF_INIT(SIZE_MAX)};
    int status = 0;
    const struct cli_opt opts[] = {
        CLI_ARG("FILE", &path, "state document; - is standard input"),
        DOC_READ_ROWS(&how),
    };

    doc_reading_init(&how);
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    status = doc_load(&d, cli, path, &how);
    if (status == 0) {
        collect(&s);
        if (cli_is_json(cli))
            print_object(&s);
        else
            print_table(&s);
        stats_free(&s);
    }
    doc_free(&d);
    return status;
}

const struct cli_command cli_cmd_doc_stats = {
    .name = "doc stats",
    .summary = "turns, tokens and sizes, and what is large",
    .run = run};
