/*
 * perdure doc diff - how two conversations differ, entry by entry.
 *
 * WHY  To the plain diff an entry is an element of an array. Here entries have
 *      names: an entry of B is the one of A with the same kind and correlation
 *      id, and if there are several, the first is the first. So a turn that was
 *      removed in the middle is one line, and what changed inside of another is
 *      told below it.
 *
 * SHAPE  Both lists are sorted by key and taken from each other; what is left
 *      was added or removed. An entry without a correlation id has all of its
 *      text for a key. What surrounds the entries, the frame, is compared as a
 *      document whose history is empty.
 */
#include "doc_parts.h"

#include <stdlib.h>

enum { ENTRY_ADDED, ENTRY_REMOVED, ENTRY_CHANGED, ENTRY_MOVED, ENTRY_OPS };

static const struct {
    const char *mark, *word, *color;
} looks[] = {[ENTRY_ADDED] = {"+", "added", CLI_GREEN},
             [ENTRY_REMOVED] = {"-", "removed", CLI_RED},
             [ENTRY_CHANGED] = {"~", "changed", CLI_YELLOW},
             [ENTRY_MOVED] = {"=", "moved", CLI_CYAN}};

static const char *const change_marks[] = {[PDR_ADDED] = "+",
                                           [PDR_REMOVED] = "-",
                                           [PDR_CHANGED] = "~",
                                           [PDR_REORDERED] = "= order"};
static const char *const change_words[] = {[PDR_ADDED] = "added",
                                           [PDR_REMOVED] = "removed",
                                           [PDR_CHANGED] = "changed",
                                           [PDR_REORDERED] = "reordered"};
static const char *const change_colors[] = {[PDR_ADDED] = CLI_GREEN,
                                            [PDR_REMOVED] = CLI_RED,
                                            [PDR_CHANGED] = CLI_YELLOW,
                                            [PDR_REORDERED] = CLI_CYAN};

/* One of the two documents. */
struct side {
    struct doc doc;
    const pdr_value **entries; /* borrowed */
    size_t count;
    size_t *other; /* by entry: its place on the other side, or DOC_NONE */
    struct doc_keys keys;
};

struct diff {
    const struct cli *cli;
    struct side a, b;
    bool *moved; /* by entry of a: it stands elsewhere among those of both */
    size_t counts[ENTRY_OPS];
    size_t frame;   /* differences outside of the entries */
    size_t printed; /* objects of the list in progress */
    bool is_inside; /* of an entry; else of the frame */
    pdr_buf line, scratch;
};

/* --- aligning ------------------------------------------------------------ */

static const char *kind_word(const pdr_value *entry)
{
    static const char *const words[] = {[PDR_ENTRY_OTHER] = "entry",
                                        [PDR_ENTRY_REQUEST] = "request",
                                        [PDR_ENTRY_RESPONSE] = "response"};

    return words[pdr_entry_kind_of(entry)];
}

/* Kind and id; without an id, the whole entry. No two forms are alike. */
static void put_key(pdr_buf *key, const pdr_value *entry, pdr_buf *scratch)
{
    const pdr_value *id = pdr_entry_correlation_id(entry);
    pdr_str text =
        id != NULL ? doc_text(id, scratch) : doc_json(entry, scratch);
    pdr_err err = PDR_ERR_INIT;

    pdr_buf_clear(key);
    cli_putf(key, "%s %s ", kind_word(entry), id != NULL ? "id" : "all");
    cli_must(pdr_buf_append(key, text, &err), &err);
}

static void side_init(struct side *s)
{
    pdr_buf key = PDR_BUF_INIT(SIZE_MAX), scratch = PDR_BUF_INIT(SIZE_MAX);
    const pdr_value *list = pdr_state_entries(s->doc.value);
    pdr_iter it;

    s->count = pdr_value_count(list);
    s->entries = cli_realloc(NULL, s->count, sizeof(s->entries[0]));
    s->other = cli_realloc(NULL, s->count, sizeof(s->other[0]));
    pdr_iter_init(&it, list);
    while (pdr_iter_next(&it)) {
        s->entries[it.index] = it.value;
        s->other[it.index] = DOC_NONE;
        put_key(&key, it.value, &scratch);
        doc_keys_add(&s->keys, pdr_buf_str(&key), it.index);
    }
    doc_keys_sort(&s->keys);
    pdr_buf_dispose(&scratch);
    pdr_buf_dispose(&key);
}

static void align(struct diff *d)
{
    for (size_t i = 0; i < d->a.keys.count; i++) {
        const struct doc_key *key = &d->a.keys.items[i];
        const struct doc_key *found = doc_keys_take(&d->b.keys, key->text);
        if (found == NULL)
            continue;
        d->a.other[key->order] = found->order;
        d->b.other[found->order] = key->order;
    }
}

/* Where a longest row of places that only grow can go on with `place`. */
static size_t row_of(const size_t *ends, size_t rows, size_t place)
{
    size_t low = 0, high = rows;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ends[middle] < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* What is not part of a longest common order was moved. */
static void find_moved(struct diff *d)
{
    size_t *ends = cli_realloc(NULL, d->a.count, sizeof(ends[0]));
    size_t *at = cli_realloc(NULL, d->a.count, sizeof(at[0]));
    size_t rows = 0;

    for (size_t i = 0; i < d->a.count; i++) {
        d->moved[i] = d->a.other[i] != DOC_NONE;
        if (!d->moved[i])
            continue;
        at[i] = row_of(ends, rows, d->a.other[i]);
        ends[at[i]] = d->a.other[i];
        rows += at[i] == rows;
    }
    for (size_t i = d->a.count, limit = DOC_NONE; i > 0 && rows > 0; i--) {
        if (!d->moved[i - 1] || at[i - 1] != rows - 1 ||
            d->a.other[i - 1] >= limit)
            continue;
        d->moved[i - 1] = false;
        limit = d->a.other[i - 1];
        rows--;
    }
    free(at);
    free(ends);
}

/* --- readable lines ------------------------------------------------------ */

#define MIN_CELLS ((size_t)12)

static void put_value(struct diff *d, const pdr_value *value, size_t cells)
{
    pdr_str text = doc_json(value, &d->scratch);

    if (d->cli->tty_out)
        cli_show_cut(&d->line, text, CLI_TEXT_LINE, cells);
    else
        cli_show(&d->line, text, CLI_TEXT_LINE);
}

static void print_change(struct diff *d, const pdr_change *change)
{
    bool colored = d->cli->color_out;
    size_t used = 12 + cli_cells(change->pointer, CLI_TEXT_JSON);
    size_t room = d->cli->width > used + 2 * MIN_CELLS ? d->cli->width - used
                                                       : 2 * MIN_CELLS;

    if (change->before != NULL && change->after != NULL)
        room /= 2;
    pdr_buf_clear(&d->line);
    cli_putf(&d->line, "%s%s%s ", d->is_inside ? "    " : "",
             cli_on(colored, change_colors[change->kind]),
             change_marks[change->kind]);
    if (change->pointer.len == 0)
        cli_put(&d->line, "(all of it)");
    cli_show(&d->line, change->pointer, CLI_TEXT_JSON);
    cli_putf(&d->line, "%s", cli_off(colored));
    if (change->kind != PDR_REORDERED) {
        cli_put(&d->line, "  ");
        if (change->before != NULL)
            put_value(d, change->before, room);
        if (change->before != NULL && change->after != NULL)
            cli_put(&d->line, " -> ");
        if (change->after != NULL)
            put_value(d, change->after, room);
    }
    cli_put(&d->line, "\n");
    fwrite(d->line.ptr, 1, d->line.len, stdout);
}

/* The first words of an entry, to know it by. */
static void put_words(struct diff *d, const pdr_value *entry)
{
    const pdr_value *message = pdr_value_at(pdr_entry_messages(entry), 0);
    pdr_iter it;

    pdr_iter_init(&it, pdr_message_contents(message, PDR_SHAPE_STATE));
    while (pdr_iter_next(&it)) {
        struct doc_content c = doc_content_of(it.value);
        const pdr_value *text = doc_field(&c, PDR_FIELD_TEXT);
        if (c.kind != PDR_CONTENT_TEXT || text == NULL)
            continue;
        cli_put(&d->line, "  \"");
        cli_show_cut(&d->line, doc_text(text, &d->scratch), CLI_TEXT_LINE, 40);
        cli_put(&d->line, "\"");
        return;
    }
}

/* "~ response r-102, entry 3 (was 1)" */
static void print_entry(struct diff *d, int op, size_t before, size_t after)
{
    const pdr_value *entry =
        after != DOC_NONE ? d->b.entries[after] : d->a.entries[before];
    const pdr_value *id = pdr_entry_correlation_id(entry);
    bool colored = d->cli->color_out;

    pdr_buf_clear(&d->line);
    cli_putf(&d->line, "%s%s %s", cli_on(colored, looks[op].color),
             looks[op].mark, kind_word(entry));
    if (id != NULL) {
        cli_put(&d->line, " ");
        cli_show_cut(&d->line, doc_text(id, &d->scratch), CLI_TEXT_LINE, 48);
    }
    cli_putf(&d->line, "%s, %s entry %zu", cli_off(colored), looks[op].word,
             after != DOC_NONE ? after : before);
    if (before != DOC_NONE && after != DOC_NONE && before != after)
        cli_putf(&d->line, ", was %zu", before);
    if (op == ENTRY_ADDED || op == ENTRY_REMOVED)
        put_words(d, entry);
    cli_put(&d->line, "\n");
    fwrite(d->line.ptr, 1, d->line.len, stdout);
}

/* --- JSON ---------------------------------------------------------------- */

static void add_change(struct diff *d, const pdr_change *change)
{
    cli_putf(&d->line, "{\"op\":\"%s\",\"pointer\":\"",
             change_words[change->kind]);
    cli_show(&d->line, change->pointer, CLI_TEXT_JSON);
    cli_put(&d->line, "\"");
    if (change->before != NULL && change->kind != PDR_REORDERED) {
        pdr_str text = doc_json(change->before, &d->scratch);
        cli_put(&d->line, ",\"before\":");
        cli_must(pdr_buf_append(&d->line, text, NULL), NULL);
    }
    if (change->after != NULL && change->kind != PDR_REORDERED) {
        pdr_str text = doc_json(change->after, &d->scratch);
        cli_put(&d->line, ",\"after\":");
        cli_must(pdr_buf_append(&d->line, text, NULL), NULL);
    }
    cli_put(&d->line, "}");
}

static void print_line(struct diff *d)
{
    cli_print(d->cli, pdr_buf_str(&d->line));
    pdr_buf_clear(&d->line);
}

/* Separate objects: lines, or elements of a list. */
static void begin_object(struct diff *d)
{
    pdr_buf_clear(&d->line);
    if (d->cli->output == CLI_OUTPUT_JSON)
        cli_put(&d->line, d->printed++ > 0 ? ",\n" : "\n");
}

static void begin_entry(struct diff *d, int op, size_t before, size_t after)
{
    const pdr_value *entry =
        after != DOC_NONE ? d->b.entries[after] : d->a.entries[before];
    const pdr_value *id = pdr_entry_correlation_id(entry);

    begin_object(d);
    cli_putf(&d->line, "{\"op\":\"%s\",\"kind\":\"%s\"", looks[op].word,
             kind_word(entry));
    if (id != NULL) {
        pdr_str text = doc_json(id, &d->scratch);
        cli_put(&d->line, ",\"correlationId\":");
        cli_must(pdr_buf_append(&d->line, text, NULL), NULL);
    }
    if (before != DOC_NONE)
        cli_putf(&d->line, ",\"entryBefore\":%zu", before);
    if (after != DOC_NONE)
        cli_putf(&d->line, ",\"entryAfter\":%zu", after);
}

/* --- telling ------------------------------------------------------------- */

static pdr_rc on_change(const pdr_change *change, pdr_err *err, void *arg)
{
    struct diff *d = arg;
    bool is_json = cli_is_json(d->cli);

    (void)err;
    if (!d->is_inside)
        d->frame++;
    if (!is_json) {
        print_change(d, change);
        return PDR_OK;
    }
    if (d->is_inside) {
        pdr_buf_clear(&d->line);
        cli_put(&d->line, d->printed++ > 0 ? "," : "");
    } else {
        begin_object(d);
    }
    add_change(d, change);
    if (!d->is_inside && d->cli->output == CLI_OUTPUT_JSONL)
        cli_put(&d->line, "\n");
    print_line(d);
    return PDR_OK;
}

static int fail(const struct diff *d, const pdr_err *err)
{
    return cli_fail(d->cli, &(struct cli_about){.name = "doc diff"}, err);
}

/* What changed inside of an entry. */
static int tell_inside(struct diff *d, size_t before, size_t after)
{
    pdr_err err = PDR_ERR_INIT;
    size_t outer = d->printed;
    bool is_json = cli_is_json(d->cli);
    pdr_rc rc = PDR_OK;

    if (is_json) {
        cli_put(&d->line, ",\"changes\":[");
        print_line(d);
    }
    d->printed = 0;
    d->is_inside = true;
    rc = pdr_value_diff(d->a.entries[before], d->b.entries[after], &err,
                        on_change, d);
    d->is_inside = false;
    d->printed = outer;
    if (is_json) {
        pdr_buf_clear(&d->line);
        cli_put(&d->line, "]");
    }
    return rc == PDR_OK ? 0 : fail(d, &err);
}

static int tell_entry(struct diff *d, int op, size_t before, size_t after)
{
    int status = 0;

    d->counts[op]++;
    if (cli_is_json(d->cli))
        begin_entry(d, op, before, after);
    else
        print_entry(d, op, before, after);
    if (op == ENTRY_CHANGED)
        status = tell_inside(d, before, after);
    if (!cli_is_json(d->cli))
        return status;
    if (op == ENTRY_ADDED || op == ENTRY_REMOVED) {
        pdr_str text = doc_json(op == ENTRY_ADDED ? d->b.entries[after]
                                                  : d->a.entries[before],
                                &d->scratch);
        cli_put(&d->line, ",\"value\":");
        cli_must(pdr_buf_append(&d->line, text, NULL), NULL);
    }
    cli_put(&d->line, d->cli->output == CLI_OUTPUT_JSONL ? "}\n" : "}");
    print_line(d);
    return status;
}

static int tell_pair(struct diff *d, size_t before, size_t after)
{
    int status = 0;

    if (d->moved[before])
        status = tell_entry(d, ENTRY_MOVED, before, after);
    if (status == 0 &&
        !pdr_value_equal(d->a.entries[before], d->b.entries[after]))
        status = tell_entry(d, ENTRY_CHANGED, before, after);
    return status;
}

/* In the order of B; what B has not comes where it stood in A. */
static int tell_entries(struct diff *d)
{
    size_t before = 0;
    int status = 0;

    for (size_t after = 0; after <= d->b.count && status == 0; after++) {
        size_t pair = after < d->b.count ? d->b.other[after] : DOC_NONE;
        size_t end = after == d->b.count ? d->a.count : before;

        if (pair != DOC_NONE && !d->moved[pair])
            end = pair;
        for (; before < end && status == 0; before++)
            if (d->a.other[before] == DOC_NONE)
                status = tell_entry(d, ENTRY_REMOVED, before, DOC_NONE);
        if (after == d->b.count || status != 0)
            break;
        status = pair == DOC_NONE ? tell_entry(d, ENTRY_ADDED, DOC_NONE, after)
                                  : tell_pair(d, pair, after);
    }
    return status;
}

/* A document with an empty history; owned. */
static pdr_value *frame_of(const pdr_value *state)
{
    pdr_value *frame = pdr_value_ref(state), *none = pdr_value_new_array();
    pdr_err err = PDR_ERR_INIT;

    if (pdr_state_entries(state) != NULL)
        cli_must(pdr_pointer_set(&frame, pdr_str_c("/data/conversationHistory"),
                                 none, &err),
                 &err);
    pdr_value_free(none);
    return frame;
}

static int tell_frame(struct diff *d)
{
    pdr_value *a = frame_of(d->a.doc.value), *b = frame_of(d->b.doc.value);
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_value_diff(a, b, &err, on_change, d);

    pdr_value_free(b);
    pdr_value_free(a);
    return rc == PDR_OK ? 0 : fail(d, &err);
}

static size_t total(const struct diff *d)
{
    size_t sum = d->frame;

    for (int op = 0; op < ENTRY_OPS; op++)
        sum += d->counts[op];
    return sum;
}

static void print_summary(const struct diff *d)
{
    const char *between = "";

    if (total(d) == 0) {
        fputs("no differences\n", stderr);
        return;
    }
    for (int op = 0; op < ENTRY_OPS; op++) {
        if (d->counts[op] == 0)
            continue;
        fprintf(stderr, "%s%zu entr%s %s", between, d->counts[op],
                d->counts[op] == 1 ? "y" : "ies", looks[op].word);
        between = ", ";
    }
    if (d->frame > 0)
        fprintf(stderr, "%s%zu difference%s outside of the entries", between,
                d->frame, d->frame == 1 ? "" : "s");
    fputs("\n", stderr);
}

static void print_totals(const struct diff *d)
{
    printf("%s],\"equal\":%s", d->printed > 0 ? "\n" : "",
           total(d) == 0 ? "true" : "false");
    for (int op = 0; op < ENTRY_OPS; op++)
        printf(",\"%s\":%zu", looks[op].word, d->counts[op]);
    puts("}");
}

static int compare(struct diff *d)
{
    const struct cli *cli = d->cli;
    bool is_document = cli->output == CLI_OUTPUT_JSON;
    int status = 0;

    fputs(is_document ? "{\"frame\":[" : "", stdout);
    status = tell_frame(d);
    if (is_document)
        printf("%s],\"entries\":[", d->printed > 0 ? "\n" : "");
    d->printed = 0;
    if (status == 0)
        status = tell_entries(d);
    if (is_document)
        print_totals(d);
    else if (cli->output == CLI_OUTPUT_TABLE && cli->tty_out && !cli->quiet)
        print_summary(d);
    return status;
}

/* --- the command --------------------------------------------------------- */

static void side_free(struct side *s)
{
    free(s->entries);
    free(s->other);
    doc_keys_free(&s->keys);
    doc_free(&s->doc);
}

static int diff_files(struct diff *d, const char *a, const char *b,
                      const struct doc_reading *how, bool exit_code)
{
    int status = doc_load(&d->a.doc, d->cli, a, how);

    if (status == 0)
        status = doc_load(&d->b.doc, d->cli, b, how);
    if (status == 0) {
        side_init(&d->a);
        side_init(&d->b);
        d->moved = cli_realloc(NULL, d->a.count, sizeof(d->moved[0]));
        align(d);
        find_moved(d);
        status = compare(d);
    }
    if (status == 0 && exit_code && total(d) > 0)
        status = CLI_EXIT_NEGATIVE;
    free(d->moved);
    side_free(&d->a);
    side_free(&d->b);
    pdr_buf_dispose(&d->line);
    pdr_buf_dispose(&d->scratch);
    return status;
}

static int run(struct cli *cli, int argc, char **argv)
{
    const char *a = NULL, *b = NULL;
    bool exit_code = false;
    struct doc_reading how;
    struct diff d = {.cli = cli,
                     .a = {.doc = DOC_INIT, .keys = DOC_KEYS_INIT},
                     .b = {.doc = DOC_INIT, .keys = DOC_KEYS_INIT},
                     .line = PDR_BUF_INIT(SIZE_MAX),
                     .scratch = PDR_BUF_INIT(SIZE_MAX)};
    const struct cli_opt opts[] = {
        CLI_ARG("A", &a, "document before; - is standard input"),
        CLI_ARG("B", &b, "document after; - is standard input"),
        CLI_FLAG('e', "exit-code", &exit_code,
                 "exit with 1 if the documents differ"),
        DOC_READ_ROWS(&how),
    };

    doc_reading_init(&how);
    if (!cli_parse(cli, opts, CLI_COUNT(opts), argc, argv))
        return cli->status;
    if (strcmp(a, "-") == 0 && strcmp(b, "-") == 0)
        return doc_usage(cli, "-", "standard input can be only one of the two",
                         "");
    return diff_files(&d, a, b, &how, exit_code);
}

const struct cli_command cli_cmd_doc_diff = {
    .name = "doc diff",
    .summary = "how two conversations differ, entry by entry",
    .run = run};
