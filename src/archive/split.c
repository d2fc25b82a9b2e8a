/*
 * split.c - from a stream to a frame and rows.
 *
 * WHY  Most of a document is values that become rows as they are; the rest has
 *      to come back byte for byte. So the stream is gone over once, and each of
 *      its bytes goes to one of two places: into a row, or into the frame.
 *
 *        bytes:   {"a":1,"stateBag":{ "k" : 5 , … }}
 *                  `- text ---------' |  |    |
 *                          `before`, `name`   row of "k"
 *
 *      What the layout knows and the document lacks gets a place in the frame,
 *      so that rows which come later can be written.
 *
 * INVARIANTS
 *   S1  All bytes before `mark` are in the frame or in rows. The window holds
 *       what lies behind it, and the rows that wait.
 *   S2  A function that goes over a value is entered with its first event, and
 *       left behind its last one.
 */
#include <stdio.h>

#include "import.h"

/* Bytes of text that may wait in the window before they go into the frame. */
#define TEXT_WAITS ((int64_t)64 * 1024)

/* The name of the expiry, behind another member and as the first one. */
#define EXPIRY_FIRST  PDR_LIT("\"expirationTimeUtc\":")
#define EXPIRY_BEHIND PDR_LIT(",\"expirationTimeUtc\":")

static pdr_rc split_spot(struct pdr__split *s, size_t spot, pdr_err *err);

/* --- places ----------------------------------------------------------------
 */

/* Say where it went wrong; gives `rc`. */
static pdr_rc here(const struct pdr__split *s, pdr_rc rc, pdr_err *err)
{
    pdr__err_path(err, pdr_buf_str(&s->path));
    return rc;
}

/* Go down to a member; `*before` is for go_up(). */
static pdr_rc go_down(size_t *before, struct pdr__split *s, pdr_str name,
                      pdr_err *err)
{
    pdr_buf token = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = pdr_pointer_push(&token, name, err);

    *before = s->path.len;
    if (rc == PDR_OK)
        rc = pdr__text_encode(&s->path, pdr_buf_str(&token), err);
    pdr_buf_dispose(&token);
    return rc;
}

static void go_up(struct pdr__split *s, size_t before)
{
    s->path.len = before;
}

/* --- events and bytes ------------------------------------------------------
 */

static pdr_str text_of(const struct pdr__split *s, int64_t from, int64_t to)
{
    return pdr__source_text(s->source, from, to);
}

/* The next event, with what must be kept for later. */
static pdr_rc advance(struct pdr__split *s, pdr_err *err)
{
    int64_t first = s->batch->first;
    pdr_rc rc = PDR_OK;

    s->source->window->hold = s->mark < first ? s->mark : first; /* S1 */
    rc = pdr__source_next(s->source, err);
    if (rc == PDR_OK && pdr__source_begins(s->source) &&
        s->source->depth > s->deepest)
        rc = here(s,
                  PDR_FAIL_AT(err, (size_t)s->source->begin, TOO_DEEP,
                              "a document may have at most %u levels of "
                              "objects and arrays",
                              PDR_DEFAULT_DEPTH),
                  err);
    return rc;
}

/* All up to `to` is text. */
static void to_frame(struct pdr__split *s, int64_t to)
{
    pdr__framer_text(s->frame, text_of(s, s->mark, to));
    s->mark = to;
}

/* Go over a value that is text. */
static pdr_rc pass_text(struct pdr__split *s, pdr_err *err)
{
    size_t outside = s->source->depth - 1;
    pdr_str frame = {NULL, 0};
    pdr_rc rc = PDR_OK;

    if (!pdr__source_begins(s->source))
        return PDR_OK;
    while (rc == PDR_OK && s->source->depth > outside) {
        rc = advance(s, err);
        if (rc != PDR_OK || s->source->begin - s->mark < TEXT_WAITS)
            continue;
        to_frame(s, s->source->begin);
        if (s->frame->rc != PDR_OK)
            rc = here(s, pdr__framer_finish(&frame, s->frame, err), err);
    }
    return rc;
}

/* What was read of it, or more: of a long text the end was not looked for. */
static pdr_rc row_too_large(const struct pdr__split *s, int64_t from,
                            pdr_err *err)
{
    int64_t bytes = s->source->end - from;

    if (bytes < (int64_t)PDR_MAX_ROW_BYTES)
        bytes = (int64_t)PDR_MAX_ROW_BYTES;
    return here(s,
                PDR_FAIL_AT(err, (size_t)from, ROW_TOO_LARGE,
                            "this has more than %lld bytes, and a store keeps "
                            "at most %zu in one row",
                            (long long)bytes, PDR_MAX_ROW_BYTES),
                err);
}

/* The next event, of a row that begins at `from` or behind it. */
static pdr_rc advance_to(struct pdr__split *s, int64_t from, pdr_err *err)
{
    pdr_err cause = PDR_ERR_INIT;
    pdr_rc rc = advance(s, &cause);

    if (rc == PDR_ELIMIT && strcmp(cause.reason, "too_large") == 0)
        return row_too_large(s, from, err);
    if (rc != PDR_OK && err != NULL)
        *err = cause;
    return rc;
}

/* The next event inside of a row that began at `from`. */
static pdr_rc advance_row(struct pdr__split *s, int64_t from, pdr_err *err)
{
    pdr_rc rc = advance_to(s, from, err);

    if (rc == PDR_OK && s->source->end - from > (int64_t)PDR_MAX_ROW_BYTES)
        return row_too_large(s, from, err);
    return rc;
}

/* Go over a value that is a row. It stands where it will be exported, so that
 * its levels are those of the document. */
static pdr_rc pass_row(struct pdr__split *s, struct pdr__entry_note *note,
                       pdr_err *err)
{
    size_t outside = s->source->depth - 1;
    int64_t from = s->source->begin;
    pdr_rc rc = PDR_OK;

    if (!pdr__source_begins(s->source))
        return PDR_OK;
    while (rc == PDR_OK && s->source->depth > outside) {
        rc = advance_row(s, from, err);
        if (rc == PDR_OK && note != NULL)
            rc = pdr__entry_note_feed(note, s->source, err);
    }
    return rc;
}

/* --- what is not there -----------------------------------------------------
 */

/* Texts around entries that come later, inside of objects that are not there
 * either. */
static pdr_rc around(pdr_buf *open, pdr_buf *close, const struct pdr__split *s,
                     size_t spot, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (s->layout->spots[spot].kind == PDR_SPOT_OBJECT) {
        size_t child = pdr__layout_only(s->layout, spot);

        rc =
            pdr_buf_printf(open, err, "{\"%s\":", s->layout->spots[child].name);
        if (rc == PDR_OK)
            rc = around(open, close, s, child, err);
        return rc == PDR_OK ? pdr_buf_append(close, PDR_LIT("}"), err) : rc;
    }
    rc = pdr_buf_append(open, PDR_LIT("["), err);
    return rc == PDR_OK ? pdr_buf_append(close, PDR_LIT("]"), err) : rc;
}

/* A place for entries. `lead` stands in front of them, `empty` in their place.
 */
static pdr_rc place_entries(struct pdr__split *s, size_t spot, pdr_str lead,
                            pdr_str empty, pdr_err *err)
{
    pdr_buf open = PDR_BUF_INIT(SIZE_MAX), close = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = pdr_buf_append(&open, lead, err);

    if (rc == PDR_OK)
        rc = around(&open, &close, s, spot, err);
    if (rc == PDR_OK) {
        const struct pdr__framer_entries texts = {
            pdr_buf_str(&open),  PDR_LIT(""), PDR_LIT(","),
            pdr_buf_str(&close), empty,
        };
        pdr__framer_entries(s->frame, &texts);
    }
    pdr_buf_dispose(&open);
    pdr_buf_dispose(&close);
    return rc;
}

/* A member for the history in a bag that has none. */
static pdr_rc place_history(struct pdr__split *s, size_t spot, pdr_str before,
                            pdr_str after, pdr_err *err)
{
    pdr_buf name = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc =
        pdr_buf_printf(&name, err, "\"%s\":", s->layout->spots[spot].name);

    if (rc == PDR_OK) {
        pdr__framer_member(s->frame, before, pdr_buf_str(&name));
        pdr__framer_pieces(s->frame);
        rc = place_entries(s, spot, PDR_LIT(""), PDR_LIT(""), err);
        pdr__framer_pieces_end(s->frame);
        pdr__framer_member_end(s->frame, after);
    }
    pdr_buf_dispose(&name);
    return rc;
}

static const char *rows_of(const struct pdr__split *s, size_t spot)
{
    return s->layout->spots[spot].kind == PDR_SPOT_BAG ? "bag" : "properties";
}

/* The spot of the expiry in spot `parent`, or PDR_NO_SPOT. */
static size_t expiry_in(const struct pdr__split *s, size_t parent)
{
    const struct pdr__spot *spots = s->layout->spots;

    for (size_t i = 1; i < s->layout->count; i++) {
        if (spots[i].kind == PDR_SPOT_EXPIRY && spots[i].parent == parent)
            return i;
    }
    return PDR_NO_SPOT;
}

/* A place for an expiry that is set later, as the last member; `any`: there are
 * others, else only entries may come before it. */
static void place_expiry(struct pdr__split *s, bool any)
{
    struct pdr__framer_expiry texts = {.ms = PDR_NEVER,
                                       .text = PDR_LIT(""),
                                       .open = EXPIRY_BEHIND,
                                       .close = PDR_LIT(""),
                                       .never = PDR_LIT("")};

    if (!any)
        texts.first = EXPIRY_FIRST;
    pdr__framer_expiry(s->frame, &texts);
}

/* Places for entries and expiry where the object of both is not there. */
static pdr_rc place_both(struct pdr__split *s, size_t spot, pdr_str lead,
                         pdr_str empty, pdr_err *err)
{
    struct pdr__framer_entries entries = {
        PDR_LIT(""), PDR_LIT(""), PDR_LIT(","), PDR_LIT("]"), PDR_LIT("")};
    struct pdr__framer_expiry expiry = {.ms = PDR_NEVER,
                                        .text = PDR_LIT("}"),
                                        .open = EXPIRY_BEHIND,
                                        .close = PDR_LIT("}"),
                                        .never = PDR_LIT("}"),
                                        .empty = empty};
    pdr_buf open = PDR_BUF_INIT(SIZE_MAX), first = PDR_BUF_INIT(SIZE_MAX);
    pdr_buf close = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = pdr_buf_append(&open, lead, err);

    if (rc == PDR_OK)
        rc = around(&open, &close, s, spot, err);
    if (rc == PDR_OK)
        rc = pdr_buf_append(&first, lead, err);
    if (rc == PDR_OK)
        rc = pdr_buf_append(&first, PDR_LIT("{"), err);
    if (rc == PDR_OK)
        rc = pdr_buf_append(&first, EXPIRY_FIRST, err);
    if (rc == PDR_OK) {
        entries.open = pdr_buf_str(&open);
        expiry.first = pdr_buf_str(&first);
        pdr__framer_entries(s->frame, &entries);
        pdr__framer_expiry(s->frame, &expiry);
    }
    pdr_buf_dispose(&open);
    pdr_buf_dispose(&close);
    pdr_buf_dispose(&first);
    return rc;
}

/* A place for a spot that is not there, or null. */
static pdr_rc place_spot(struct pdr__split *s, size_t spot, pdr_str lead,
                         pdr_str empty, pdr_err *err)
{
    const struct pdr__framer_edges edges = {
        .open = lead, .close = PDR_LIT(""), .empty = empty};
    enum pdr__spot_kind kind = s->layout->spots[spot].kind;
    size_t child = pdr__layout_only(s->layout, spot);
    pdr_rc rc = PDR_OK;

    if (expiry_in(s, spot) != PDR_NO_SPOT)
        return place_both(s, spot, lead, empty, err);
    if (kind == PDR_SPOT_OBJECT || kind == PDR_SPOT_ENTRIES)
        return place_entries(s, spot, lead, empty, err);
    pdr__framer_members(s->frame, rows_of(s, spot));
    if (child != PDR_NO_SPOT)
        rc = place_history(s, child, PDR_LIT(""), PDR_LIT(""), err);
    pdr__framer_members_end(s->frame, &edges);
    return rc;
}

/* --- entries ---------------------------------------------------------------
 */

/* What is between entries, as far as it is known. */
struct gaps {
    uint64_t count;  /* entries so far */
    int64_t behind;  /* offset behind the last one, or behind the bracket */
    pdr_buf first;   /* in front of the first one */
    pdr_buf usual;   /* in front of the second one */
    int64_t bracket; /* offset of the first one */
};

/* Where the separator of the next entry begins if the entry must keep it, or
 * -1. */
static pdr_rc gap_before(int64_t *out, struct gaps *gaps, struct pdr__split *s,
                         pdr_err *err)
{
    pdr_str gap = text_of(s, gaps->behind, s->source->begin);

    *out = -1;
    if (gaps->count == 0)
        return pdr_buf_append(&gaps->first, gap, err);
    if (gaps->count == 1)
        return pdr_buf_append(&gaps->usual, gap, err);
    if (!pdr_str_equal(gap, pdr_buf_str(&gaps->usual)))
        *out = gaps->behind;
    return PDR_OK;
}

static pdr_rc not_an_object(struct pdr__split *s, pdr_err *err)
{
    return here(s,
                PDR_FAIL_AT(err, (size_t)s->source->begin, HISTORY_SHAPE,
                            "an entry of a history is an object, this is %s",
                            s->source->event == PDR_BEGIN_ARRAY
                                ? "an array"
                                : pdr__kind_phrase(s->source->value)),
                err);
}

static pdr_rc split_entry(struct pdr__split *s, struct gaps *gaps, pdr_err *err)
{
    struct pdr__entry_note note;
    int64_t from = s->source->begin, separator = -1;
    char index[24];
    size_t before = 0;
    int len =
        snprintf(index, sizeof(index), "%llu", (unsigned long long)gaps->count);
    pdr_rc rc = go_down(&before, s, pdr_str_n(index, (size_t)len), err);

    if (rc == PDR_OK && s->source->event != PDR_BEGIN_OBJECT)
        rc = not_an_object(s, err);
    if (rc == PDR_OK)
        rc = gap_before(&separator, gaps, s, err);
    if (rc != PDR_OK)
        return rc;
    pdr__entry_note_init(&note, s->layout->shape, s->source->depth);
    rc = pass_row(s, &note, err);
    if (rc == PDR_OK)
        rc = pdr__batch_entry(s->batch, &note, separator, from, err);
    if (rc == PDR_ELIMIT && err != NULL && err->path[0] == '\0')
        (void)here(s, rc, err);
    gaps->count++;
    gaps->behind = s->source->end;
    s->mark = s->source->end;
    go_up(s, before);
    return rc;
}

/* Behind the last entry: write down what was around them. */
static pdr_rc close_entries(struct pdr__split *s, struct gaps *gaps,
                            pdr_err *err)
{
    struct pdr__framer_entries texts = {
        PDR_LIT("["), pdr_buf_str(&gaps->first), PDR_LIT(","),
        text_of(s, gaps->behind, s->source->end), PDR_LIT("[]")};
    pdr_rc rc = PDR_OK;

    if (gaps->count == 0) {
        texts.empty = text_of(s, gaps->bracket, s->source->end);
        texts.close = PDR_LIT("]");
    } else if (gaps->count == 1) { /* as the first one, with a comma */
        rc = pdr_buf_append(&gaps->usual, PDR_LIT(","), err);
        if (rc == PDR_OK)
            rc = pdr_buf_append(&gaps->usual, texts.first, err);
    }
    if (gaps->count > 0)
        texts.usual = pdr_buf_str(&gaps->usual);
    pdr__framer_entries(s->frame, &texts);
    s->mark = s->source->end;
    return rc;
}

static pdr_rc split_entries(struct pdr__split *s, pdr_err *err)
{
    struct gaps gaps = {0, s->source->end, PDR_BUF_INIT(SIZE_MAX),
                        PDR_BUF_INIT(SIZE_MAX), s->source->begin};
    pdr_rc rc = PDR_OK;

    to_frame(s, s->source->begin);
    rc = advance(s, err);
    while (rc == PDR_OK && s->source->event != PDR_END) {
        rc = split_entry(s, &gaps, err);
        if (rc == PDR_OK)
            rc = advance(s, err);
    }
    if (rc == PDR_OK)
        rc = close_entries(s, &gaps, err);
    pdr_buf_dispose(&gaps.first);
    pdr_buf_dispose(&gaps.usual);
    return rc;
}

/* --- members that are rows -------------------------------------------------
 */

/* One object whose members are rows. */
struct rows {
    size_t spot;
    int64_t container; /* offset of its brace */
    int64_t behind;    /* offset behind the last value, or behind the brace */
    bool any;          /* there was a member */
    bool history;      /* the spot in it was there */
    pdr_buf before;    /* of the last member */
    pdr_buf key;       /* of its row; empty and `rowless`: it has none */
    bool rowless;
};

/* The bytes between two members: those before the comma and those behind it. */
static void cut_at_comma(pdr_str *after, pdr_str *before, pdr_str gap)
{
    const char *comma = memchr(gap.ptr, ',', gap.len);
    size_t len = (size_t)(comma - gap.ptr);

    *after = pdr_str_n(gap.ptr, len);
    *before = pdr_str_n(comma + 1, gap.len - len - 1);
}

/* The key of the row that a member is. */
static pdr_rc make_key(struct rows *r, const struct pdr__split *s,
                       const pdr_value *name, pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
    pdr_str text = {NULL, 0};
    pdr_rc rc = pdr__value_name_bytes(&text, name, &scratch, err);

    pdr_buf_clear(&r->key);
    r->rowless = false;
    if (rc == PDR_OK && s->layout->spots[r->spot].kind == PDR_SPOT_BAG) {
        rc = pdr__text_encode(&r->key, text, err);
    } else if (rc == PDR_OK) {
        r->rowless = text.len == 0 || text.len > PDR_MAX_KEY_BYTES ||
                     pdr_value_has_lone_surrogate(name) ||
                     memchr(text.ptr, '\0', text.len) != NULL;
        rc = pdr_buf_append(&r->key, text, err);
    }
    pdr_buf_dispose(&scratch);
    return rc;
}

/* Begin a member in the frame; its name is the last event. The texts of the
 * window are good until the next one. */
static pdr_rc begin_member(struct rows *r, struct pdr__split *s, pdr_err *err)
{
    pdr_str gap = text_of(s, r->behind, s->source->begin);
    pdr_str before = gap, after = {"", 0};

    if (r->any) {
        cut_at_comma(&after, &before, gap);
        pdr__framer_member_end(s->frame, after);
    }
    r->any = true;
    pdr_buf_clear(&r->before);
    return pdr_buf_append(&r->before, before, err);
}

static pdr_rc count_row(struct rows *r, struct pdr__split *s, pdr_err *err)
{
    if (s->layout->spots[r->spot].kind == PDR_SPOT_BAG) {
        if (++s->slots <= PDR_MAX_SLOTS)
            return PDR_OK;
        return PDR_FAIL(err, TOO_MANY_SLOTS, "a session has at most %u slots",
                        PDR_MAX_SLOTS);
    }
    if (++s->properties <= PDR_MAX_PROPERTIES)
        return PDR_OK;
    return PDR_FAIL(err, TOO_MANY_PROPERTIES,
                    "a session has at most %u properties", PDR_MAX_PROPERTIES);
}

/* A value that becomes a row. */
static pdr_rc split_row(struct rows *r, struct pdr__split *s, pdr_err *err)
{
    int64_t from = s->source->begin;
    const pdr_value *scalar =
        s->source->event == PDR_SCALAR ? s->source->value : NULL;
    pdr_str key = pdr_buf_str(&r->key);
    pdr_rc rc = pass_row(s, NULL, err);

    if (rc == PDR_OK && s->layout->spots[r->spot].kind == PDR_SPOT_BAG)
        rc = pdr__batch_slot(s->batch, key, from, err);
    else if (rc == PDR_OK)
        rc = pdr__batch_property(s->batch, key, scalar, from, err);
    if (rc == PDR_ELIMIT && err != NULL && err->path[0] == '\0')
        (void)here(s, rc, err);
    pdr__framer_key(s->frame, key);
    return rc;
}

/* A value that is text, or holds entries: `child`. */
static pdr_rc split_pieces(struct rows *r, struct pdr__split *s, size_t child,
                           pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (child == PDR_NO_SPOT && !r->rowless)
        pdr__framer_key(s->frame, pdr_buf_str(&r->key));
    pdr__framer_pieces(s->frame);
    rc = child != PDR_NO_SPOT ? split_spot(s, child, err) : pass_text(s, err);
    if (rc == PDR_OK)
        to_frame(s, s->source->end);
    pdr__framer_pieces_end(s->frame);
    return rc;
}

/* The value of a member; its name was read, and is the last event. */
static pdr_rc split_member(struct rows *r, struct pdr__split *s, pdr_err *err)
{
    size_t child = pdr__layout_child(s->layout, r->spot, s->source->value);
    int64_t name = s->source->begin;
    bool early = false;
    pdr_rc rc = pdr__twice_ask(&early, s->twice, r->container, s->source->value,
                               name, err);

    if (rc == PDR_EUNSUPPORTED)
        (void)here(s, rc, err);
    if (rc == PDR_OK)
        rc = make_key(r, s, s->source->value, err);
    if (rc == PDR_OK)
        rc = begin_member(r, s, err);
    if (rc != PDR_OK)
        return rc;
    s->mark = name;
    rc = advance_to(s, s->source->end, err); /* a text may be all of a row */
    if (rc != PDR_OK)
        return rc;
    pdr__framer_member(s->frame, pdr_buf_str(&r->before),
                       text_of(s, name, s->source->begin));
    s->mark = s->source->begin;
    if (early && child != PDR_NO_SPOT)
        r->rowless = true; /* a history has no row; this stays as it is */
    r->history = r->history || (child != PDR_NO_SPOT && !early);
    if (early || r->rowless)
        return split_pieces(r, s, PDR_NO_SPOT, err);
    if (child != PDR_NO_SPOT)
        return split_pieces(r, s, child, err);
    rc = count_row(r, s, err);
    return rc == PDR_OK ? split_row(r, s, err) : rc;
}

/* At the closing brace. */
static pdr_rc close_members(struct rows *r, struct pdr__split *s, pdr_err *err)
{
    pdr_str gap = text_of(s, r->behind, s->source->begin);
    size_t child = pdr__layout_only(s->layout, r->spot);
    bool adds = child != PDR_NO_SPOT && !r->history;
    struct pdr__framer_edges edges = {.blank = r->any ? PDR_LIT("") : gap};
    pdr_rc rc = PDR_OK;

    if (r->any)
        pdr__framer_member_end(s->frame, adds ? PDR_LIT("") : gap);
    if (adds)
        rc = place_history(s, child,
                           r->any ? pdr_buf_str(&r->before) : PDR_LIT(""),
                           r->any ? gap : PDR_LIT(""), err);
    pdr__framer_members_end(s->frame, &edges);
    s->mark = s->source->end;
    return rc;
}

static pdr_rc split_members(struct pdr__split *s, size_t spot, pdr_err *err)
{
    struct rows r = {.spot = spot,
                     .container = s->source->begin,
                     .behind = s->source->end,
                     .before = PDR_BUF_INIT(SIZE_MAX),
                     .key = PDR_BUF_INIT(SIZE_MAX)};
    pdr_rc rc = PDR_OK;

    if (s->layout->spots[spot].kind == PDR_SPOT_PROPERTIES)
        s->batch->says_properties = true;
    to_frame(s, s->source->begin);
    pdr__framer_members(s->frame, rows_of(s, spot));
    s->mark = s->source->end;
    rc = advance(s, err);
    while (rc == PDR_OK && s->source->event == PDR_NAME) {
        size_t before = 0;
        pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX);
        pdr_str name = {NULL, 0};

        rc = pdr__value_name_bytes(&name, s->source->value, &scratch, err);
        if (rc == PDR_OK)
            rc = go_down(&before, s, name, err);
        pdr_buf_dispose(&scratch);
        if (rc == PDR_OK)
            rc = split_member(&r, s, err);
        go_up(s, before);
        if (rc == PDR_ELIMIT && err != NULL && err->path[0] == '\0')
            (void)here(s, rc, err); /* there are too many */
        if (rc != PDR_OK)
            break;
        r.behind = s->source->end;
        s->mark = s->source->end;
        rc = advance(s, err);
    }
    if (rc == PDR_OK)
        rc = close_members(&r, s, err);
    pdr_buf_dispose(&r.before);
    pdr_buf_dispose(&r.key);
    return rc;
}

/* --- objects around --------------------------------------------------------
 */

/* Places for spots of an object that it does not have, behind its last member.
 * `there` has a bit for each that it has. */
static pdr_rc place_missing(struct pdr__split *s, size_t spot, unsigned there,
                            bool any, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 1; i < s->layout->count && rc == PDR_OK; i++) {
        pdr_buf lead = PDR_BUF_INIT(SIZE_MAX);

        if (s->layout->spots[i].parent != spot || (there & (1u << i)) != 0)
            continue;
        if (s->layout->spots[i].kind == PDR_SPOT_EXPIRY) {
            place_expiry(s, any);
            continue;
        }
        rc = pdr_buf_printf(&lead, err, "%s\"%s\":", any ? "," : "",
                            s->layout->spots[i].name);
        if (rc == PDR_OK)
            rc = place_spot(s, i, pdr_buf_str(&lead), PDR_LIT(""), err);
        pdr_buf_dispose(&lead);
    }
    return rc;
}

/* One member of an object around; its name is the last event. */
static pdr_rc split_around(struct pdr__split *s, size_t spot, int64_t container,
                           unsigned *there, pdr_err *err)
{
    size_t child = pdr__layout_child(s->layout, spot, s->source->value);
    bool early = false;
    pdr_rc rc = PDR_OK;

    if (child != PDR_NO_SPOT)
        rc = pdr__twice_ask(&early, s->twice, container, s->source->value,
                            s->source->begin, err);
    if (rc == PDR_OK)
        rc = advance(s, err);
    if (rc != PDR_OK)
        return rc;
    if (child == PDR_NO_SPOT || early)
        return pass_text(s, err);
    *there |= 1u << child;
    return split_spot(s, child, err);
}

static pdr_rc split_object(struct pdr__split *s, size_t spot, pdr_err *err)
{
    int64_t container = s->source->begin, behind = s->source->end;
    unsigned there = 0;
    bool any = false;
    pdr_rc rc = advance(s, err);

    while (rc == PDR_OK && s->source->event == PDR_NAME) {
        any = true;
        rc = split_around(s, spot, container, &there, err);
        if (rc != PDR_OK)
            break;
        behind = s->source->end;
        to_frame(s, behind);
        rc = advance(s, err);
    }
    if (rc != PDR_OK)
        return rc;
    to_frame(s, behind);
    return place_missing(s, spot, there, any, err);
}

/* --- spots -----------------------------------------------------------------
 */

static pdr_rc wrong_kind(struct pdr__split *s, size_t spot, pdr_err *err)
{
    const char *what = s->source->value != NULL
                           ? pdr__kind_phrase(s->source->value)
                       : s->source->event == PDR_BEGIN_ARRAY ? "an array"
                                                             : "an object";
    size_t at = (size_t)s->source->begin;

    switch (s->layout->spots[spot].kind) {
    case PDR_SPOT_BAG:
        return PDR_FAIL_AT(err, at, BAG_NOT_OBJECT,
                           "the state bag must be an object, this is %s", what);
    case PDR_SPOT_PROPERTIES:
        return PDR_FAIL_AT(err, at, WRONG_KIND,
                           "properties are an object, this is %s", what);
    case PDR_SPOT_OBJECT:
        return PDR_FAIL_AT(err, at, HISTORY_SHAPE,
                           "what holds a history is an object, this is %s",
                           what);
    case PDR_SPOT_ENTRIES:
    case PDR_SPOT_EXPIRY: /* of any kind */
        break;
    }
    return PDR_FAIL_AT(err, at, HISTORY_SHAPE,
                       "a history is a list of entries, this is %s", what);
}

/* The expiry is the head's while it can be told; else it is text. */
static pdr_rc split_expiry(struct pdr__split *s, pdr_err *err)
{
    struct pdr__framer_expiry texts = {.ms = PDR_NEVER,
                                       .open = PDR_LIT(""),
                                       .close = PDR_LIT(""),
                                       .never = PDR_LIT("null")};
    const pdr_value *value =
        s->source->event == PDR_SCALAR ? s->source->value : NULL;
    pdr_datetime at;

    if (value != NULL && pdr_value_kind(value) == PDR_NULL) {
        s->batch->expiry = PDR_EXPIRY_CLEAR;
    } else if (value != NULL && pdr__read_datetime(&at, value)) {
        texts.ms = (at.ticks - PDR_TICKS_UNIX_EPOCH) / PDR_TICKS_PER_MS;
        s->batch->expiry = PDR_EXPIRY_SET;
        s->batch->expiry_ms = texts.ms;
    } else {
        return pass_text(s, err);
    }
    to_frame(s, s->source->begin);
    texts.text = text_of(s, s->source->begin, s->source->end);
    pdr__framer_expiry(s->frame, &texts);
    s->mark = s->source->end;
    return PDR_OK;
}

static pdr_rc split_value(struct pdr__split *s, size_t spot, pdr_err *err)
{
    enum pdr__spot_kind kind = s->layout->spots[spot].kind;
    pdr_event wanted =
        kind == PDR_SPOT_ENTRIES ? PDR_BEGIN_ARRAY : PDR_BEGIN_OBJECT;
    pdr_rc rc = PDR_OK;

    if (kind == PDR_SPOT_EXPIRY)
        return split_expiry(s, err);
    if (s->source->event == PDR_SCALAR &&
        pdr_value_kind(s->source->value) == PDR_NULL) {
        to_frame(s, s->source->begin);
        rc = place_spot(s, spot, PDR_LIT(""), PDR_LIT("null"), err);
        s->mark = s->source->end;
        return rc;
    }
    if (s->source->event != wanted)
        return here(s, wrong_kind(s, spot, err), err);
    if (kind == PDR_SPOT_ENTRIES)
        return split_entries(s, err);
    return kind == PDR_SPOT_OBJECT ? split_object(s, spot, err)
                                   : split_members(s, spot, err);
}

/* Go over the value of a spot. */
static pdr_rc split_spot(struct pdr__split *s, size_t spot, pdr_err *err)
{
    size_t deepest = s->deepest, before = s->path.len;
    bool wrapped = s->layout->wrapped && spot == s->layout->session;
    pdr_rc rc = PDR_OK;

    /* In a bag the member is there already. */
    if (spot != 0 &&
        s->layout->spots[s->layout->spots[spot].parent].kind == PDR_SPOT_OBJECT)
        rc = go_down(&before, s, pdr_str_c(s->layout->spots[spot].name), err);
    if (rc != PDR_OK)
        return rc;
    /* The root of a session or document is its first level. */
    if (spot == s->layout->session || spot == s->layout->document)
        s->deepest = s->source->depth - 1 + PDR_DEFAULT_DEPTH;
    if (wrapped) {
        to_frame(s, s->source->begin);
        pdr__framer_session(s->frame);
    }
    rc = split_value(s, spot, err);
    if (rc == PDR_OK && wrapped) {
        to_frame(s, s->source->end);
        pdr__framer_session_end(s->frame);
    }
    s->deepest = deepest;
    go_up(s, before);
    return rc;
}

pdr_rc pdr__split_run(struct pdr__split *split, pdr_err *err)
{
    struct pdr__split *s = split;
    pdr_rc rc = PDR_OK;

    s->mark = 0;
    s->deepest = PDR_DEFAULT_DEPTH;
    rc = advance(s, err);
    if (rc == PDR_OK)
        rc = split_spot(s, 0, err);
    if (rc == PDR_OK)
        rc = advance(s, err); /* the end, or what should not be there */
    if (rc == PDR_OK)
        to_frame(s, s->source->end);
    return rc;
}
