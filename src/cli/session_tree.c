/*
 * session_tree.c - a bag as a tree, with the size of every branch.
 *
 * WHY  Which provider keeps so much, and where? Each line has the bytes of all
 *      that is below it, as the document spells it. Lines are collected first,
 *      because the longest name decides where the sizes are.
 */
#include "session_parts.h"

#include <stdlib.h>

#define MOST_SLOTS 100          /* of a bag, to show */
#define MOST_PARTS 10           /* of a value in it */
#define NAME_CELLS 40           /* of a name */
#define MIN_NAME   ((size_t)8)  /* of a name, however narrow */
#define SIZE_CELLS ((size_t)14) /* of a size and the spaces around it */
#define MIN_TEXT   ((size_t)20) /* columns of a value, however narrow */

struct line {
    size_t name, text, end; /* in the text of the tree; the name has guides */
    uint64_t bytes;
    bool has_size;
};

struct tree {
    const struct ses_tree *how;
    pdr_buf text;
    struct line *lines;
    size_t count, cap;
    pdr_buf guides; /* of the levels above */
    size_t name_cells, size_cells;
    pdr_buf scratch;
};

/* --- lines --------------------------------------------------------------- */

static struct line *add_line(struct tree *t, bool last)
{
    bool utf8 = t->how->cli->utf8;

    if (t->count == t->cap) {
        t->cap = t->cap > 0 ? t->cap * 2 : 64;
        t->lines = cli_realloc(t->lines, t->cap, sizeof(t->lines[0]));
    }
    t->lines[t->count] = (struct line){.name = t->text.len};
    cli_must(pdr_buf_append(&t->text, pdr_buf_str(&t->guides), NULL), NULL);
    if (last)
        cli_put(&t->text, utf8 ? "└─ " : "`- ");
    else
        cli_put(&t->text, utf8 ? "├─ " : "|- ");
    return &t->lines[t->count++];
}

/* The name, in columns that leave room for a value beside it. */
static void put_name(struct tree *t, const pdr_iter *it)
{
    size_t used = cli_cells(pdr_buf_str(&t->guides), CLI_TEXT_LINE) + 3 +
                  SIZE_CELLS + MIN_TEXT;
    size_t room = t->how->width > used ? t->how->width - used : 0;
    size_t before = t->text.len;

    if (t->how->full || room > NAME_CELLS)
        room = NAME_CELLS;
    if (it->name == NULL)
        cli_putf(&t->text, "%zu", it->index);
    else
        cli_show_cut(&t->text, doc_text(it->name, &t->scratch), CLI_TEXT_LINE,
                     room > MIN_NAME ? room : MIN_NAME);
    if (t->text.len == before)
        cli_put(&t->text, "\"\"");
}

static void add_parts(struct tree *t, const pdr_value *value, size_t level,
                      size_t most)
{
    size_t count = pdr_value_count(value), guides = t->guides.len;
    pdr_iter it;

    if (level > t->how->depth && !t->how->full)
        return;
    pdr_iter_init(&it, value);
    while (pdr_iter_next(&it)) {
        bool is_rest = it.index == most && count > most + 1 && !t->how->full;
        bool last = is_rest || it.index + 1 == count;
        size_t parts = pdr_value_count(it.value);
        pdr_kind kind = pdr_value_kind(it.value);
        struct line *line = add_line(t, last);

        if (is_rest) {
            cli_putf(&t->text, "(%zu more; --full shows them)", count - most);
            line->text = line->end = t->text.len;
            return;
        }
        line->has_size = true;
        line->bytes = doc_bytes(it.value);
        put_name(t, &it);
        line->text = t->text.len;
        if (parts > 0) /* how much is there; else the one thing */
            cli_putf(&t->text, "%s, %zu %s%s", pdr_kind_name(kind), parts,
                     kind == PDR_ARRAY ? "element" : "member",
                     parts == 1 ? "" : "s");
        else
            cli_show(&t->text, doc_json(it.value, &t->scratch), CLI_TEXT_LINE);
        line->end = t->text.len;
        cli_put(&t->guides, last ? "   " : t->how->cli->utf8 ? "│  " : "|  ");
        add_parts(t, it.value, level + 1, MOST_PARTS);
        t->guides.len = guides;
    }
}

/* --- printing ------------------------------------------------------------ */

static pdr_str name_of(const struct tree *t, const struct line *line)
{
    return pdr_str_n(t->text.ptr + line->name, line->text - line->name);
}

static void print_line(const struct tree *t, const struct line *line)
{
    bool colored = t->how->cli->color_out;
    pdr_str name = name_of(t, line);
    pdr_str text = {t->text.ptr + line->text, line->end - line->text};
    size_t used = t->name_cells + 2 + t->size_cells + 2;
    size_t room =
        t->how->width > used + MIN_TEXT ? t->how->width - used : MIN_TEXT;
    pdr_buf shown = PDR_BUF_INIT(SIZE_MAX);
    char size[32];

    if (!line->has_size) {
        fprintf(t->how->out, "%.*s\n", (int)name.len, name.ptr);
        return;
    }
    if (t->how->full)
        room = SIZE_MAX;
    cli_show_cut(&shown, text, CLI_TEXT_LINE, room);
    fprintf(t->how->out, "%.*s%*s  %s%*s%s  %.*s\n", (int)name.len, name.ptr,
            (int)(t->name_cells - cli_cells(name, CLI_TEXT_LINE)), "",
            cli_on(colored, CLI_CYAN), (int)t->size_cells,
            cli_size(size, line->bytes), cli_off(colored), (int)shown.len,
            shown.ptr);
    pdr_buf_dispose(&shown);
}

void ses_tree_print(const struct ses_tree *how, const pdr_value *bag)
{
    struct tree t = {.how = how,
                     .text = PDR_BUF_INIT(SIZE_MAX),
                     .guides = PDR_BUF_INIT(SIZE_MAX),
                     .scratch = PDR_BUF_INIT(SIZE_MAX)};
    char size[32];

    add_parts(&t, bag, 1, MOST_SLOTS);
    /* Columns of the longest name that has a size beside it, and of sizes. */
    for (size_t i = 0; i < t.count; i++) {
        size_t name = cli_cells(name_of(&t, &t.lines[i]), CLI_TEXT_LINE);
        size_t bytes = strlen(cli_size(size, t.lines[i].bytes));

        if (!t.lines[i].has_size)
            continue;
        t.name_cells = name > t.name_cells ? name : t.name_cells;
        t.size_cells = bytes > t.size_cells ? bytes : t.size_cells;
    }
    for (size_t i = 0; i < t.count && !ferror(how->out); i++)
        print_line(&t, &t.lines[i]);
    free(t.lines);
    pdr_buf_dispose(&t.text);
    pdr_buf_dispose(&t.guides);
    pdr_buf_dispose(&t.scratch);
}

/* --- for programs -------------------------------------------------------- */

void ses_tree_build(pdr_builder *to, const pdr_value *bag, size_t depth)
{
    pdr_iter it;

    pdr_builder_array(to);
    pdr_iter_init(&it, bag);
    while (pdr_iter_next(&it)) {
        pdr_kind kind = pdr_value_kind(it.value);
        pdr_str raw = {NULL, 0};

        pdr_builder_object(to);
        /* The raw text of a name is fit for any name. */
        if (it.name != NULL && pdr_value_raw(&raw, it.name)) {
            pdr_builder_name(to, pdr_str_c("key"));
            pdr_builder_escaped(to, pdr_str_n(raw.ptr + 1, raw.len - 2));
        }
        cli_member_text(to, "kind", pdr_str_c(pdr_kind_name(kind)));
        cli_member_count(to, "bytes", doc_bytes(it.value));
        if (kind == PDR_ARRAY || kind == PDR_OBJECT)
            cli_member_count(to, "count", pdr_value_count(it.value));
        if (depth > 1 && pdr_value_count(it.value) > 0) {
            pdr_builder_name(to, pdr_str_c("parts"));
            ses_tree_build(to, it.value, depth - 1);
        }
        pdr_builder_end(to);
    }
    pdr_builder_end(to);
}
