/*
 * json_write.c - values to JSON text.
 *
 * WHY  Every lexeme is written as it stands in memory, so nothing is respelled.
 *      A part that nobody changed is one copy of its span, if the layout allows
 *      it: always as it was read, and compact if it has no white space.
 *
 *      In the layout AS_READ a changed container keeps the white space of the
 *      container that it began as:
 *
 *        [ 1,  2 , 3 ]      the gap in front of an item that was there is taken
 *         ^ ^^^  ^^^^ ^     from the text around it, else the gap behind the
 *         | gaps     |      item before it, else the first gap of the
 *        lead       trail   container, else a bare comma.
 *
 *      Children that stand side by side as they were read are one copy, with
 *      the gaps between them. So one edit in a large document costs little more
 *      than copying it.
 */
#include "codec.h"

struct writer {
    pdr_buf *out;
    pdr_layout layout;
    uint32_t indent;
    bool bare;
    const pdr_value *bad; /* the number that was refused, or NULL */
    pdr_rc rc;
    pdr_err *err;
};

static void put(struct writer *w, pdr_str text)
{
    if (w->rc == PDR_OK)
        w->rc = pdr_buf_append(w->out, text, w->err);
}

static void put_char(struct writer *w, char c)
{
    put(w, pdr_str_n(&c, 1));
}

/* --- bare tokens --------------------------------------------------------- */

static bool is_bare(const pdr_value *v)
{
    return node_kind(v) == NODE_NUMBER && (v->info & NODE_FLAG) != 0;
}

/* The first NaN or infinity in a flat value, or NULL. */
static const pdr_value *find_bare(const pdr_value *v)
{
    const pdr_value *end = node_next(v);

    if (!node_block(v)->has_bare)
        return NULL;
    for (; v < end; v++)
        if (is_bare(v))
            return v;
    return NULL;
}

/* May this flat value be written? */
static bool allowed(struct writer *w, const pdr_value *v)
{
    const pdr_value *bare = w->bare ? NULL : find_bare(v);

    if (w->rc != PDR_OK)
        return false;
    if (bare == NULL)
        return true;
    pdr_str text = node_span(bare);
    w->rc = PDR_FAIL_AT(w->err, bare->start, BARE_TOKEN,
                        "%.*s is no JSON; it is written only when asked for",
                        (int)text.len, text.ptr);
    w->bad = bare;
    return false;
}

/* --- compact and pretty -------------------------------------------------- */

static void write_value(struct writer *w, const pdr_value *v, uint32_t level);

static void new_line(struct writer *w, uint32_t level)
{
    size_t spaces = (size_t)level * w->indent;

    if (w->layout != PDR_PRETTY || w->rc != PDR_OK)
        return;
    w->rc = pdr_buf_reserve(w->out, spaces + 1, w->err);
    if (w->rc != PDR_OK)
        return;
    w->out->ptr[w->out->len] = '\n';
    memset(w->out->ptr + w->out->len + 1, ' ', spaces);
    w->out->len += spaces + 1;
}

static void write_children(struct writer *w, const pdr_value *v, uint32_t level)
{
    bool object = pdr_value_kind(v) == PDR_OBJECT;
    pdr_iter it;

    put_char(w, object ? '{' : '[');
    pdr_iter_init(&it, v);
    while (w->rc == PDR_OK && pdr_iter_next(&it)) {
        if (it.index > 0)
            put_char(w, ',');
        new_line(w, level + 1);
        if (object) {
            put(w, node_span(it.name));
            put(w, w->layout == PDR_PRETTY ? PDR_LIT(": ") : PDR_LIT(":"));
        }
        write_value(w, it.value, level + 1);
    }
    if (pdr_value_count(v) > 0)
        new_line(w, level);
    put_char(w, object ? '}' : ']');
}

/* --- changed containers
 * ------------------------------------------------------------- */

/* The text around the children of a flat container. */
struct gaps {
    const struct block *block; /* NULL if there is nothing to take from */
    pdr_str lead, trail;       /* behind and before the brackets */
    pdr_str comma, colon;      /* what stands between, if nothing else says */
};

static bool is_gap(char c)
{
    return json_is_space(c) || c == ',' || c == ':';
}

/* The gap in front of / behind a flat node, up to the token next to it. */
static pdr_str gap_before(const pdr_value *v)
{
    const char *text = node_block(v)->text;
    uint32_t from = v->start;

    while (from > 0 && is_gap(text[from - 1]))
        from--;
    return pdr_str_n(text + from, v->start - from);
}

static pdr_str gap_behind(const pdr_value *v)
{
    const struct block *block = node_block(v);
    size_t from = (size_t)v->start + v->len, to = from;

    while (to < block->text_len && is_gap(block->text[to]))
        to++;
    return pdr_str_n(block->text + from, to - from);
}

static struct gaps gaps_of(const struct writer *w, const pdr_value *base)
{
    struct gaps gaps = {NULL, {"", 0}, {"", 0}, {",", 1}, {":", 1}};
    pdr_iter it;

    if (base == NULL ||
        (w->layout == PDR_COMPACT && (base->info & NODE_FLAG) != 0))
        return gaps;
    gaps.block = node_block(base);
    pdr_str span = node_span(base);
    const char *last = span.ptr + span.len - 1, *p = last;
    while (json_is_space(p[-1]))
        p--;
    gaps.trail = pdr_str_n(p, (size_t)(last - p));
    if (node_count(base) == 0) {
        gaps.trail.len = 0; /* `[ ]` that got a child */
        return gaps;
    }
    pdr_iter_init(&it, base);
    (void)pdr_iter_next(&it);
    gaps.lead = gap_before(it.name != NULL ? it.name : it.value);
    if (it.name != NULL)
        gaps.colon = gap_before(it.value);
    if (pdr_iter_next(&it))
        gaps.comma = gap_before(it.name != NULL ? it.name : it.value);
    if (gaps.comma.len > PDR_MAX_GAP_BYTES)
        gaps.comma = PDR_LIT(",");
    if (gaps.colon.len > PDR_MAX_GAP_BYTES)
        gaps.colon = PDR_LIT(":");
    return gaps;
}

static bool is_base_child(const struct gaps *gaps, const pdr_value *v)
{
    return v != NULL && gaps->block != NULL && node_block(v) == gaps->block;
}

/* Does the gap separate two children, or is it next to a bracket? */
static bool has_comma(pdr_str gap)
{
    return gap.len > 0 && memchr(gap.ptr, ',', gap.len) != NULL;
}

/* Where a child stood in the base: a container that was changed there still
 * knows. */
static const pdr_value *anchor(const pdr_value *v)
{
    const pdr_value *base = node_is_changed(v) ? pdr__changed_base(v) : NULL;

    return base != NULL ? base : v;
}

/* What to write between two neighbours. Members are represented by name in
 * front and by value behind. */
static pdr_str gap_between(const struct gaps *gaps, const pdr_value *before,
                           const pdr_value *after)
{
    before = anchor(before);
    after = anchor(after);
    if (is_base_child(gaps, after) && has_comma(gap_before(after)))
        return gap_before(after);
    if (is_base_child(gaps, before) && has_comma(gap_behind(before)))
        return gap_behind(before);
    return gaps->comma;
}

/* What stands between name and value. */
static pdr_str colon_of(const struct gaps *gaps, const pdr_value *name)
{
    return is_base_child(gaps, name) ? gap_behind(name) : gaps->colon;
}

/* Neighbours in the base that are written together. */
struct together {
    const pdr_value *first, *last; /* names and values; NULL if there is none */
};

static void put_together(struct writer *w, const struct gaps *gaps,
                         struct together *t)
{
    if (t->first == NULL)
        return;
    size_t end = (size_t)t->last->start + t->last->len;
    put(w,
        pdr_str_n(gaps->block->text + t->first->start, end - t->first->start));
    t->first = NULL;
}

/* Can this member or element be copied from the base as it is? */
static bool stands_in_base(const struct writer *w, const struct gaps *gaps,
                           const pdr_iter *it)
{
    return is_base_child(gaps, it->value) &&
           (it->name == NULL || it->value == it->name + 1) &&
           (w->bare || !gaps->block->has_bare);
}

/* One member or element, where it cannot be copied. */
static void write_child(struct writer *w, const struct gaps *gaps,
                        const pdr_iter *it, uint32_t level)
{
    if (it->name != NULL) {
        put(w, node_span(it->name));
        put(w, colon_of(gaps, it->name));
    }
    write_value(w, it->value, level + 1);
}

/* What stands before the suffix when it does not come first: the first child
 * of the base has no comma in front. */
static pdr_str suffix_gap(const struct gaps *gaps, const pdr_value *after)
{
    pdr_str gap = gap_before(after);

    return has_comma(gap) ? gap : gaps->comma;
}

/* Bytes of the base's text. */
static void put_base(struct writer *w, const struct gaps *gaps, size_t from,
                     size_t to)
{
    put(w, pdr_str_n(gaps->block->text + from, to - from));
}

/* Where the last child of a flat container with children ends. */
static size_t children_end(const struct gaps *gaps, const pdr_value *base)
{
    return (size_t)base->start + base->len - 1 - gaps->trail.len;
}

/* The elements before the chunks, without looking at them; gives the gap that
 * follows them. */
static pdr_str put_prefix(struct writer *w, const struct gaps *gaps,
                          const pdr_value *base,
                          const struct changed_parts *parts)
{
    pdr_str gap = gaps->comma;
    size_t end = children_end(gaps, base);

    put(w, gaps->lead);
    if (parts->split != NULL) {
        gap = gap_before(parts->split);
        end = parts->split->start - gap.len;
    }
    put_base(w, gaps, base[1].start, end);
    return gap;
}

/* Members or elements from `it` on; `gap` is what stands before the first.
 * Returns whether there was any. */
static bool write_items(struct writer *w, const struct gaps *gaps, pdr_iter *it,
                        pdr_str gap, uint32_t level)
{
    struct together t = {NULL, NULL};
    const pdr_value *before = NULL;

    while (w->rc == PDR_OK && pdr_iter_next(it)) {
        const pdr_value *first = it->name != NULL ? it->name : it->value;
        bool copy = stands_in_base(w, gaps, it);
        bool joins = copy && t.first != NULL && first == node_next(t.last);
        if (!joins) {
            put_together(w, gaps, &t);
            put(w, before == NULL ? gap : gap_between(gaps, before, first));
        }
        if (!copy)
            write_child(w, gaps, it, level);
        else if (!joins)
            t.first = first;
        t.last = before = it->value;
    }
    put_together(w, gaps, &t);
    return before != NULL;
}

static void write_changed(struct writer *w, const pdr_value *v, uint32_t level)
{
    bool object = pdr_value_kind(v) == PDR_OBJECT;
    const pdr_value *base = pdr__changed_base(v);
    struct gaps gaps = gaps_of(w, base);
    struct changed_parts parts = {0, 0, NULL, NULL};
    pdr_str gap = gaps.lead;
    pdr_iter it;

    put_char(w, object ? '{' : '[');
    pdr_iter_init(&it, v);
    if (gaps.block != NULL && (w->bare || !gaps.block->has_bare)) {
        pdr__changed_parts(&parts, v);
        if (parts.prefix + parts.suffix > 0)
            pdr__changed_iter_chunks(&it, v);
    }
    if (parts.prefix > 0)
        gap = put_prefix(w, &gaps, base, &parts);
    bool any = write_items(w, &gaps, &it, gap, level) || parts.prefix > 0;
    if (parts.suffix > 0) {
        put(w, any ? suffix_gap(&gaps, parts.after) : gaps.lead);
        put_base(w, &gaps, parts.after->start, children_end(&gaps, base));
    }
    if (pdr_value_count(v) > 0)
        put(w, gaps.trail);
    put_char(w, object ? '}' : ']');
}

/* --- all layouts --------------------------------------------------------- */

/* Is the span of this flat value what the layout wants? */
static bool span_fits(const struct writer *w, const pdr_value *v)
{
    if (!node_is_container(v) || w->layout == PDR_AS_READ)
        return true;
    if (w->layout == PDR_PRETTY)
        return node_count(v) == 0 && v->len == 2;
    return (v->info & NODE_FLAG) == 0;
}

static void write_value(struct writer *w, const pdr_value *v, uint32_t level)
{
    if (node_is_changed(v)) {
        if (w->layout == PDR_PRETTY)
            write_children(w, v, level);
        else
            write_changed(w, v, level);
    } else if (span_fits(w, v)) {
        if (allowed(w, v))
            put(w, node_span(v));
    } else {
        write_children(w, v, level);
    }
}

/* The white space around a document, if `v` is a whole one or began as one. */
static void put_around(struct writer *w, const pdr_value *v, bool behind)
{
    const pdr_value *root = node_is_changed(v) ? pdr__changed_base(v) : v;

    if (w->layout != PDR_AS_READ || root == NULL || node_index(root) != 0)
        return;
    const struct block *block = node_block(root);
    size_t end = (size_t)root->start + root->len;
    put(w, behind ? pdr_str_n(block->text + end, block->text_len - end)
                  : pdr_str_n(block->text, root->start));
}

pdr_rc pdr__json_write_at(pdr_buf *out, const pdr_value *value,
                          const pdr_write_opts *opts, uint32_t level,
                          pdr_err *err)
{
    struct writer w = {.out = out, .rc = PDR_OK, .err = err};

    w.layout = opts->layout;
    w.indent = opts->indent != 0 ? opts->indent : 2;
    w.bare = (opts->flags & PDR_BARE_TOKENS) != 0;
    put_around(&w, value, false);
    write_value(&w, value, level);
    put_around(&w, value, true);
    if (w.bad != NULL)
        pdr__value_place(err, value, w.bad);
    return w.rc;
}

pdr_rc pdr_json_write(pdr_buf *out, const pdr_value *value,
                      const pdr_write_opts *opts, pdr_err *err)
{
    static const pdr_write_opts none;

    PDR_REQUIRE(out != NULL && value != NULL);
    if (opts == NULL)
        opts = &none;
    pdr_rc rc =
        pdr__codec_check(&pdr__json_codec, opts->flags, PDR_BARE_TOKENS, err);
    if (rc == PDR_OK)
        rc = pdr__write_opts_check(opts, err);
    if (rc != PDR_OK)
        return rc;
    size_t before = out->len;
    rc = pdr__json_write_at(out, value, opts, 0, err);
    if (rc != PDR_OK)
        out->len = before;
    return rc;
}
