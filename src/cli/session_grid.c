/*
 * session_grid.c - rows under titles, as wide as they have to be.
 *
 * WHY  Thousands of sessions are listed without keeping them: rows come in
 *      batches, and the first batch sets the columns. Where a later one fills a
 *      column that was empty until then, the titles are printed again. On a
 *      terminal that is too narrow, texts are cut and numbers are not.
 */
#include "session_parts.h"

#include <stdarg.h>
#include <stdlib.h>

#define GAP      2 /* spaces between two columns */
#define SQUEEZED 4 /* columns of a text, where the page is far too narrow */

void ses_grid_init(struct ses_grid *g, const struct ses_column *columns,
                   size_t count)
{
    memset(g, 0, sizeof(*g));
    g->columns = columns;
    g->count = count;
    g->text = (pdr_buf)PDR_BUF_INIT(SIZE_MAX);
}

void ses_grid_put(struct ses_grid *g, pdr_str text)
{
    if (g->cells == g->cap) {
        g->cap = g->cap > 0 ? g->cap * 2 : 256;
        g->ends = cli_realloc(g->ends, g->cap, sizeof(g->ends[0]));
    }
    cli_show(&g->text, text, CLI_TEXT_LINE);
    g->ends[g->cells++] = g->text.len;
}

void ses_grid_putf(struct ses_grid *g, const char *fmt, ...)
{
    char text[160];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    ses_grid_put(g, pdr_str_c(text));
}

size_t ses_grid_rows(const struct ses_grid *g)
{
    return g->cells / g->count;
}

static pdr_str cell_at(const struct ses_grid *g, size_t index)
{
    size_t begin = index > 0 ? g->ends[index - 1] : 0;

    return pdr_str_n(g->text.ptr + begin, g->ends[index] - begin);
}

/* A column without a text has no title either, unless somebody asked
 * for it. */
static void widen_columns(struct ses_grid *g)
{
    for (size_t i = 0; i < g->cells; i++) {
        size_t cells = cli_cells(cell_at(g, i), CLI_TEXT_LINE);
        size_t *width = &g->widths[i % g->count];
        if (*width == 0 && cells > 0)
            g->has_head = false;
        *width = cells > *width ? cells : *width;
    }
    for (size_t i = 0; i < g->count && !g->has_head; i++) {
        size_t title = strlen(g->columns[i].title);
        if ((g->widths[i] > 0 || g->keeps_empty) && g->widths[i] < title)
            g->widths[i] = title;
    }
}

/* The widest column that may still be cut; `count` if there is none. */
static size_t widest_column(const struct ses_grid *g, bool squeeze)
{
    size_t found = g->count;

    for (size_t i = 0; i < g->count; i++) {
        size_t min = g->columns[i].min;
        if (squeeze && min > SQUEEZED)
            min = SQUEEZED;
        if (min > 0 && g->widths[i] > min &&
            (found == g->count || g->widths[i] > g->widths[found]))
            found = i;
    }
    return found;
}

/* Texts lose columns as long as rows can be told apart; below that only where
 * the page has no room otherwise. */
static void fit_page(struct ses_grid *g, size_t width)
{
    size_t used = 0;

    for (size_t i = 0; i < g->count; i++)
        used += g->widths[i] + (used > 0 && g->widths[i] > 0 ? GAP : 0);
    while (used > width) {
        size_t column = widest_column(g, false);
        if (column == g->count)
            column = widest_column(g, true);
        if (column == g->count)
            return;
        g->widths[column]--;
        used--;
    }
}

static void put_cell(pdr_buf *line, const struct ses_grid *g, size_t column,
                     pdr_str text, bool cut)
{
    size_t width = g->widths[column], cells = 0;
    pdr_buf shown = PDR_BUF_INIT(SIZE_MAX);

    if (width == 0)
        return;
    cli_show_cut(&shown, text, CLI_TEXT_LINE, cut ? width : SIZE_MAX);
    cells = cli_cells(pdr_buf_str(&shown), CLI_TEXT_LINE);
    if (g->columns[column].is_right && cells < width)
        cli_putf(line, "%*s", (int)(width - cells), "");
    cli_must(pdr_buf_append(line, pdr_buf_str(&shown), NULL), NULL);
    if (!g->columns[column].is_right && cells < width)
        cli_putf(line, "%*s", (int)(width - cells), "");
    if (column + 1 < g->count)
        cli_putf(line, "%*s", GAP, "");
    pdr_buf_dispose(&shown);
}

/* Nobody needs spaces at the end of a line. */
static void end_row(FILE *out, pdr_buf *line, const char *before,
                    const char *after)
{
    while (line->len > 0 && line->ptr[line->len - 1] == ' ')
        line->len--;
    fprintf(out, "%s%.*s%s\n", before, (int)line->len, line->ptr, after);
    pdr_buf_clear(line);
}

void ses_grid_flush(struct ses_grid *g, FILE *out, bool colored, size_t width)
{
    pdr_buf line = PDR_BUF_INIT(SIZE_MAX);

    widen_columns(g);
    if (width > 0)
        fit_page(g, width);
    for (size_t i = 0; i < g->count && !g->has_head; i++)
        put_cell(&line, g, i, pdr_str_c(g->columns[i].title),
                 width > 0 && g->columns[i].min > 0);
    if (!g->has_head)
        end_row(out, &line, cli_on(colored, CLI_BOLD), cli_off(colored));
    g->has_head = true;
    for (size_t i = 0; i < g->cells; i++) {
        put_cell(&line, g, i % g->count, cell_at(g, i),
                 width > 0 && g->columns[i % g->count].min > 0);
        if ((i + 1) % g->count == 0)
            end_row(out, &line, "", "");
    }
    g->cells = 0;
    pdr_buf_clear(&g->text);
    pdr_buf_dispose(&line);
}

void ses_grid_print(struct ses_grid *g, const struct cli *cli)
{
    if (g->cells > 0)
        ses_grid_flush(g, stdout, cli->color_out,
                       cli->tty_out ? cli->width : 0);
}

void ses_grid_free(struct ses_grid *g)
{
    free(g->ends);
    pdr_buf_dispose(&g->text);
}
