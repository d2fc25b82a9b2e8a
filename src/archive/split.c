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
 *       what comes after it, and the rows that wait.
 *   S2  A function that goes over a value is entered with its first event, and
 *       left after its last one.
 *   S3  The store is open before the batch can commit.
 */
#include <stdio.h>

#include "import.h"

/* Bytes of text that may wait in the window before they go into the frame. */
#define TEXT_WAITS ((int64_t)64 * 1024)

/* The name of the expiry, as the first member and after another one. */
#define EXPIRY_FIRST PDR_LIT("\"expirationTimeUtc\":")
#define EXPIRY_NEXT  PDR_LIT(",\"expirationTimeUtc\":")

static pdr_rc split_spot(struct pdr__split *s, size_t spot, pdr_err *err);

/* --- places ----------------------------------------------------------------
 */

/* Say where it went wrong; gives `rc`. */
static pdr_rc fail_here(const struct pdr__split *s, pdr_rc rc, pdr_err *err)
{
    pdr__err_path(err, pdr_buf_str(&s->path));
    return rc;
}

/* The same for a limit, unless its place is known. */
static pdr_rc limit_here(const struct pdr__split *s, pdr_rc rc, pdr_err *err)
{
    bool is_placed = err == NULL || err->path[0] != '\0';

    return rc == PDR_ELIMIT && !is_placed ? fail_here(s, rc, err) : rc;
}

/* Add a member to the path; who goes up again sets the length back. */
static pdr_rc enter_member(struct pdr__split *s, pdr_str name, pdr_err *err)
{
    pdr_buf token = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_pointer_push(&token, name, err));
    PDR_TRY(pdr__text_encode(&s->path, pdr_buf_str(&token), err));
done:
    pdr_buf_dispose(&token);
    return rc;
}

static bool spot_is(const struct pdr__split *s, size_t spot,
                    enum pdr__spot_kind kind)
{
    return s->layout->spots[spot].kind == kind;
}

/* --- events and bytes ------------------------------------------------------
 */

static pdr_str window_text(const struct pdr__split *s, int64_t from, int64_t to)
{
    return pdr__source_text(s->source, from, to);
}

/* The next event, with what must be kept for later. */
static pdr_rc next_event(struct pdr__split *s, pdr_err *err)
{
    int64_t first = s->batch->first;
    pdr_rc rc = PDR_OK;

    s->source->window->hold = s->mark < first ? s->mark : first; /* S1 */
    rc = pdr__source_next(s->source, err);
    if (rc == PDR_OK && pdr__source_begins(s->source) &&
        s->source->depth > s->deepest)
        rc = fail_here(s,
                       PDR_FAIL_AT(err, (size_t)s->source->begin, TOO_DEEP,
                                   "a document may have at most %u levels of "
                                   "objects and arrays",
                                   PDR_DEFAULT_DEPTH),
                       err);
    return rc;
}

/* All up to `to` is text. */
static void frame_text(struct pdr__split *s, int64_t to)
{
    pdr__framer_text(s->frame, window_text(s, s->mark, to));
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
    while (s->source->depth > outside) {
        PDR_TRY(next_event(s, err));
        if (s->source->begin - s->mark < TEXT_WAITS)
            continue;
        frame_text(s, s->source->begin);
        if (s->frame->rc != PDR_OK)
            return fail_here(s, pdr__framer_finish(&frame, s->frame, err), err);
    }
done:
    return rc;
}

/* What was read of it, or more: of a long text the end was not looked for. */
static pdr_rc row_too_large(const struct pdr__split *s, int64_t from,
                            pdr_err *err)
{
    int64_t bytes = s->source->end - from;

    if (bytes < (int64_t)PDR_MAX_ROW_BYTES)
        bytes = (int64_t)PDR_MAX_ROW_BYTES;
    return fail_here(s,
                     PDR_FAIL_AT(err, (size_t)from, ROW_TOO_LARGE,
                                 "this has more than %lld bytes, and a store "
                                 "keeps at most %zu in one row",
                                 (long long)bytes, PDR_MAX_ROW_BYTES),
                     err);
}

/* The next event, of a row that begins at `from` or later. */
static pdr_rc next_event_of_row(struct pdr__split *s, int64_t from,
                                pdr_err *err)
{
    pdr_err cause = PDR_ERR_INIT;
    pdr_rc rc = next_event(s, &cause);

    if (rc != PDR_OK && pdr__err_is(&cause, PDR_R_TOO_LARGE))
        return row_too_large(s, from, err);
    if (rc != PDR_OK && err != NULL)
        *err = cause;
    return rc;
}

/* Go over a value that is a row. It is exported in the same place, so its
 * levels are those of the document. */
static pdr_rc pass_row(struct pdr__split *s, struct pdr__entry_note *note,
                       pdr_err *err)
{
    size_t outside = s->source->depth - 1;
    int64_t from = s->source->begin;
    pdr_rc rc = PDR_OK;

    if (!pdr__source_begins(s->source))
        return PDR_OK;
    while (s->source->depth > outside) {
        PDR_TRY(next_event_of_row(s, from, err));
        if (s->source->end - from > (int64_t)PDR_MAX_ROW_BYTES)
            return row_too_large(s, from, err);
        if (note != NULL)
            PDR_TRY(pdr__entry_note_feed(note, s->source, err));
    }
done:
    return rc;
}

/* --- what is not there -----------------------------------------------------
 */

/* Texts around entries that come later, inside of objects that are not there
 * either. */
static pdr_rc append_around(pdr_buf *open, pdr_buf *close,
                            const struct pdr__split *s, size_t spot,
                            pdr_err *err)
{
    size_t child = pdr__layout_only(s->layout, spot);
    pdr_rc rc = PDR_OK;

    if (s->layout->spots[spot].kind != PDR_SPOT_OBJECT) {
        PDR_TRY(pdr_buf_append(open, PDR_LIT("["), err));
        return pdr_buf_append(close, PDR_LIT("]"), err);
    }
    PDR_TRY(
        pdr_buf_printf(open, err, "{\"%s\":", s->layout->spots[child].name));
    PDR_TRY(append_around(open, close, s, child, err));
    PDR_TRY(pdr_buf_append(close, PDR_LIT("}"), err));
done:
    return rc;
}

/* A place for entries, with `lead` in front of them. Without entries there is
 * `empty`. */
static pdr_rc place_entries(struct pdr__split *s, size_t spot, pdr_str lead,
                            pdr_str empty, pdr_err *err)
{
    struct pdr__framer_entries texts = {
        .usual = PDR_LIT(","), .first = PDR_LIT(""), .empty = empty};
    pdr_buf open = PDR_BUF_INIT(SIZE_MAX), close = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_buf_append(&open, lead, err));
    PDR_TRY(append_around(&open, &close, s, spot, err));
    texts.open = pdr_buf_str(&open);
    texts.close = pdr_buf_str(&close);
    pdr__framer_entries(s->frame, &texts);
done:
    pdr_buf_dispose(&open);
    pdr_buf_dispose(&close);
    return rc;
}

/* A member for the history in a bag that has none. */
static pdr_rc place_history(struct pdr__split *s, size_t spot, pdr_str before,
                            pdr_str after, pdr_err *err)
{
    pdr_buf name = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_buf_printf(&name, err, "\"%s\":", s->layout->spots[spot].name));
    pdr__framer_member(s->frame, before, pdr_buf_str(&name));
    pdr__framer_pieces(s->frame);
    PDR_TRY(place_entries(s, spot, PDR_LIT(""), PDR_LIT(""), err));
    pdr__framer_pieces_end(s->frame);
    pdr__framer_member_end(s->frame, after);
done:
    pdr_buf_dispose(&name);
    return rc;
}

static const char *rows_name(const struct pdr__split *s, size_t spot)
{
    return spot_is(s, spot, PDR_SPOT_BAG) ? "bag" : "properties";
}

/* Places for entries and expiry where the object of both is not there. */
static pdr_rc place_both(struct pdr__split *s, size_t spot, pdr_str lead,
                         pdr_str empty, pdr_err *err)
{
    struct pdr__framer_entries entries = {.first = PDR_LIT(""),
                                          .usual = PDR_LIT(","),
                                          .close = PDR_LIT("]"),
                                          .empty = PDR_LIT("")};
    struct pdr__framer_expiry expiry = {.ms = PDR_NEVER,
                                        .text = PDR_LIT("}"),
                                        .open = EXPIRY_NEXT,
                                        .close = PDR_LIT("}"),
                                        .never = PDR_LIT("}"),
                                        .empty = empty};
    pdr_buf open = PDR_BUF_INIT(SIZE_MAX), first = PDR_BUF_INIT(SIZE_MAX);
    pdr_buf close = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr_buf_append(&open, lead, err));
    PDR_TRY(append_around(&open, &close, s, spot, err));
    PDR_TRY(pdr_buf_append(&first, lead, err));
    PDR_TRY(pdr_buf_append(&first, PDR_LIT("{"), err));
    PDR_TRY(pdr_buf_append(&first, EXPIRY_FIRST, err));
    entries.open = pdr_buf_str(&open);
    expiry.first = pdr_buf_str(&first);
    pdr__framer_entries(s->frame, &entries);
    pdr__framer_expiry(s->frame, &expiry);
done:
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
    const struct pdr__spot *spots = s->layout->spots;
    size_t child = pdr__layout_only(s->layout, spot);
    pdr_rc rc = PDR_OK;

    for (size_t i = 1; i < s->layout->count; i++) {
        if (spots[i].kind == PDR_SPOT_EXPIRY && spots[i].parent == spot)
            return place_both(s, spot, lead, empty, err);
    }
    if (spots[spot].kind == PDR_SPOT_OBJECT ||
        spots[spot].kind == PDR_SPOT_ENTRIES)
        return place_entries(s, spot, lead, empty, err);
    pdr__framer_members(s->frame, rows_name(s, spot));
    if (child != PDR_NO_SPOT)
        rc = place_history(s, child, PDR_LIT(""), PDR_LIT(""), err);
    pdr__framer_members_end(s->frame, &edges);
    return rc;
}

/* --- entries ---------------------------------------------------------------
 */

/* What is between entries, as far as it is known. */
struct gaps {
    uint64_t count; /* entries so far */
    int64_t after;  /* offset after the last one, or after the bracket */
    pdr_buf first;  /* in front of the first one */
    pdr_buf usual;  /* in front of the second one */
};

/* A row of so many bytes, with its texts, is next (S3). */
static pdr_rc open_for_row(struct pdr__split *s, size_t bytes, pdr_err *err)
{
    return pdr__batch_is_full(s->batch, bytes) ? pdr__import_open(s->batch, err)
                                               : PDR_OK;
}

static pdr_rc split_entry(struct pdr__split *s, struct gaps *gaps, pdr_err *err)
{
    int64_t from = s->source->begin, separator = -1;
    pdr_str gap = window_text(s, gaps->after, from);
    size_t path_len = s->path.len;
    struct pdr__entry_note note;
    char index[24];
    int len =
        snprintf(index, sizeof(index), "%llu", (unsigned long long)gaps->count);
    pdr_rc rc = PDR_OK;

    PDR_TRY(enter_member(s, pdr_str_n(index, (size_t)len), err));
    if (s->source->event != PDR_BEGIN_OBJECT)
        return fail_here(
            s,
            PDR_FAIL_AT(err, (size_t)from, HISTORY_SHAPE,
                        "an entry of a history is an object, this is %s",
                        s->source->event == PDR_BEGIN_ARRAY
                            ? "an array"
                            : pdr__kind_phrase(s->source->value)),
            err);
    if (gaps->count == 0)
        PDR_TRY(pdr_buf_append(&gaps->first, gap, err));
    else if (gaps->count == 1)
        PDR_TRY(pdr_buf_append(&gaps->usual, gap, err));
    else if (!pdr_str_equal(gap, pdr_buf_str(&gaps->usual)))
        separator = gaps->after; /* the entry must keep it */
    pdr__entry_note_init(&note, s->layout->shape, s->source->depth);
    PDR_TRY(pass_row(s, &note, err));
    PDR_TRY(open_for_row(
        s, (size_t)(s->source->end - gaps->after) + note.id_len, err));
    PDR_TRY(pdr__batch_entry(s->batch, &note, separator, from, err));
    gaps->count++;
    gaps->after = s->source->end;
    s->mark = s->source->end;
    s->path.len = path_len;
done:
    return limit_here(s, rc, err);
}

static pdr_rc split_entries(struct pdr__split *s, pdr_err *err)
{
    struct gaps gaps = {0, s->source->end, PDR_BUF_INIT(SIZE_MAX),
                        PDR_BUF_INIT(SIZE_MAX)};
    struct pdr__framer_entries texts = {PDR_LIT("["), PDR_LIT(""), PDR_LIT(","),
                                        PDR_LIT("]"), PDR_LIT("[]")};
    int64_t bracket = s->source->begin;
    pdr_rc rc = PDR_OK;

    frame_text(s, bracket);
    PDR_TRY(next_event(s, err));
    while (s->source->event != PDR_END) {
        PDR_TRY(split_entry(s, &gaps, err));
        PDR_TRY(next_event(s, err));
    }
    if (gaps.count == 0) {
        texts.empty = window_text(s, bracket, s->source->end);
    } else {
        texts.first = pdr_buf_str(&gaps.first);
        texts.close = window_text(s, gaps.after, s->source->end);
        if (gaps.count == 1) { /* as the first one, with a comma */
            PDR_TRY(pdr_buf_append(&gaps.usual, PDR_LIT(","), err));
            PDR_TRY(pdr_buf_append(&gaps.usual, texts.first, err));
        }
        texts.usual = pdr_buf_str(&gaps.usual);
    }
    pdr__framer_entries(s->frame, &texts);
    s->mark = s->source->end;
done:
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
    int64_t after;     /* offset after the last value, or after the brace */
    bool any;          /* there was a member */
    bool history;      /* the spot in it was there */
    pdr_buf before;    /* of the last member */
};

/* A value that is text, or holds entries: `child`. */
static pdr_rc split_pieces(struct pdr__split *s, size_t child, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    pdr__framer_pieces(s->frame);
    PDR_TRY(child != PDR_NO_SPOT ? split_spot(s, child, err)
                                 : pass_text(s, err));
    frame_text(s, s->source->end);
    pdr__framer_pieces_end(s->frame);
done:
    return rc;
}

/* A value that becomes a row. */
static pdr_rc split_row(struct rows *r, struct pdr__split *s, pdr_str key,
                        pdr_err *err)
{
    bool is_slot = spot_is(s, r->spot, PDR_SPOT_BAG);
    int64_t from = s->source->begin;
    const pdr_value *scalar =
        s->source->event == PDR_SCALAR ? s->source->value : NULL;
    pdr_rc rc = PDR_OK;

    if (is_slot && ++s->slots > PDR_MAX_SLOTS)
        return PDR_FAIL(err, TOO_MANY_SLOTS, "a session has at most %u slots",
                        PDR_MAX_SLOTS);
    if (!is_slot && ++s->properties > PDR_MAX_PROPERTIES)
        return PDR_FAIL(err, TOO_MANY_PROPERTIES,
                        "a session has at most %u properties",
                        PDR_MAX_PROPERTIES);
    PDR_TRY(pass_row(s, NULL, err));
    PDR_TRY(open_for_row(
        s, (size_t)(s->source->end - from) + key.len + 2 * PDR_MAX_MATCH_BYTES,
        err));
    PDR_TRY(is_slot ? pdr__batch_slot(s->batch, key, from, err)
                    : pdr__batch_property(s->batch, key, scalar, from, err));
    pdr__framer_key(s->frame, key);
done:
    return limit_here(s, rc, err);
}

/* One member; its name is the last event. */
static pdr_rc split_member(struct rows *r, struct pdr__split *s, pdr_err *err)
{
    size_t child = pdr__layout_child(s->layout, r->spot, s->source->value);
    pdr_buf scratch = PDR_BUF_INIT(SIZE_MAX), key = PDR_BUF_INIT(SIZE_MAX);
    size_t path_len = s->path.len;
    int64_t begin = s->source->begin;
    pdr_str name = {NULL, 0}, gap = window_text(s, r->after, begin);
    bool early = false, rowless = false;
    pdr_rc rc = PDR_OK;

    PDR_TRY(pdr__value_name_bytes(&name, s->source->value, &scratch, err));
    PDR_TRY(enter_member(s, name, err));
    rc = pdr__twice_ask(&early, s->twice, r->container, s->source->value, begin,
                        err);
    if (rc == PDR_EUNSUPPORTED)
        (void)fail_here(s, rc, err);
    if (rc != PDR_OK)
        goto done;

    /* The key of its row, if there can be one. */
    if (spot_is(s, r->spot, PDR_SPOT_BAG)) {
        PDR_TRY(pdr__text_encode(&key, name, err));
    } else {
        rowless = name.len == 0 || name.len > PDR_MAX_KEY_BYTES ||
                  pdr_value_has_lone_surrogate(s->source->value) ||
                  memchr(name.ptr, '\0', name.len) != NULL;
        PDR_TRY(pdr_buf_append(&key, name, err));
    }

    /* Between two members, what is before the comma belongs to the first. The
     * texts of the window are good until the next event. */
    if (r->any) {
        const char *comma = memchr(gap.ptr, ',', gap.len);
        size_t len = (size_t)(comma - gap.ptr);

        pdr__framer_member_end(s->frame, pdr_str_n(gap.ptr, len));
        gap = pdr_str_n(comma + 1, gap.len - len - 1);
    }
    r->any = true;
    pdr_buf_clear(&r->before);
    PDR_TRY(pdr_buf_append(&r->before, gap, err));
    s->mark = begin;
    PDR_TRY(next_event_of_row(s, s->source->end,
                              err)); /* a text may be all of a row */
    pdr__framer_member(s->frame, pdr_buf_str(&r->before),
                       window_text(s, begin, s->source->begin));
    s->mark = s->source->begin;

    if (child != PDR_NO_SPOT && !early) {
        r->history = true;
        PDR_TRY(split_pieces(s, child, err));
    } else if (early || rowless) {
        /* A history has no row: an early one stays as it is. */
        if (child == PDR_NO_SPOT && !rowless)
            pdr__framer_key(s->frame, pdr_buf_str(&key));
        PDR_TRY(split_pieces(s, PDR_NO_SPOT, err));
    } else {
        PDR_TRY(split_row(r, s, pdr_buf_str(&key), err));
    }
    r->after = s->source->end;
    s->mark = s->source->end;
done:
    s->path.len = path_len;
    pdr_buf_dispose(&scratch);
    pdr_buf_dispose(&key);
    return limit_here(s, rc, err); /* there are too many */
}

static pdr_rc split_members(struct pdr__split *s, size_t spot, pdr_err *err)
{
    struct rows r = {.spot = spot,
                     .container = s->source->begin,
                     .after = s->source->end,
                     .before = PDR_BUF_INIT(SIZE_MAX)};
    size_t child = pdr__layout_only(s->layout, spot);
    struct pdr__framer_edges edges = {.blank = PDR_LIT("")};
    pdr_str gap = {NULL, 0};
    pdr_rc rc = PDR_OK;

    if (spot_is(s, spot, PDR_SPOT_PROPERTIES))
        s->batch->says_properties = true;
    frame_text(s, s->source->begin);
    pdr__framer_members(s->frame, rows_name(s, spot));
    s->mark = s->source->end;
    PDR_TRY(next_event(s, err));
    while (s->source->event == PDR_NAME) {
        PDR_TRY(split_member(&r, s, err));
        PDR_TRY(next_event(s, err));
    }
    gap = window_text(s, r.after, s->source->begin);
    if (child == PDR_NO_SPOT || r.history) {
        if (r.any)
            pdr__framer_member_end(s->frame, gap);
    } else if (r.any) { /* a place for the history, after the last member */
        pdr__framer_member_end(s->frame, PDR_LIT(""));
        PDR_TRY(place_history(s, child, pdr_buf_str(&r.before), gap, err));
    } else {
        PDR_TRY(place_history(s, child, PDR_LIT(""), PDR_LIT(""), err));
    }
    if (!r.any)
        edges.blank = gap;
    pdr__framer_members_end(s->frame, &edges);
    s->mark = s->source->end;
done:
    pdr_buf_dispose(&r.before);
    return rc;
}

/* --- objects around --------------------------------------------------------
 */

/* A place for a spot that the object around it does not have, after its last
 * member; `any`: it has one. */
static pdr_rc place_missing(struct pdr__split *s, size_t spot, bool any,
                            pdr_err *err)
{
    struct pdr__framer_expiry expiry = {.ms = PDR_NEVER,
                                        .text = PDR_LIT(""),
                                        .open = EXPIRY_NEXT,
                                        .close = PDR_LIT(""),
                                        .never = PDR_LIT("")};
    pdr_buf lead = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    if (s->layout->spots[spot].kind == PDR_SPOT_EXPIRY) {
        if (!any) /* only entries may come before it */
            expiry.first = EXPIRY_FIRST;
        pdr__framer_expiry(s->frame, &expiry);
        return PDR_OK;
    }
    PDR_TRY(pdr_buf_printf(&lead, err, "%s\"%s\":", any ? "," : "",
                           s->layout->spots[spot].name));
    PDR_TRY(place_spot(s, spot, pdr_buf_str(&lead), PDR_LIT(""), err));
done:
    pdr_buf_dispose(&lead);
    return rc;
}

static pdr_rc split_object(struct pdr__split *s, size_t spot, pdr_err *err)
{
    int64_t container = s->source->begin, after = s->source->end;
    unsigned there = 0; /* a bit for each spot that is */
    bool any = false;
    pdr_rc rc = PDR_OK;

    PDR_TRY(next_event(s, err));
    while (s->source->event == PDR_NAME) {
        size_t child = pdr__layout_child(s->layout, spot, s->source->value);
        bool early = false;

        any = true;
        if (child != PDR_NO_SPOT)
            PDR_TRY(pdr__twice_ask(&early, s->twice, container,
                                   s->source->value, s->source->begin, err));
        PDR_TRY(next_event(s, err));
        if (child == PDR_NO_SPOT || early) {
            PDR_TRY(pass_text(s, err));
        } else {
            there |= 1u << child;
            PDR_TRY(split_spot(s, child, err));
        }
        after = s->source->end;
        frame_text(s, after);
        PDR_TRY(next_event(s, err));
    }
    frame_text(s, after);
    for (size_t i = 1; i < s->layout->count; i++) {
        if (s->layout->spots[i].parent == spot && (there & (1u << i)) == 0)
            PDR_TRY(place_missing(s, i, any, err));
    }
done:
    return rc;
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
    frame_text(s, s->source->begin);
    texts.text = window_text(s, s->source->begin, s->source->end);
    pdr__framer_expiry(s->frame, &texts);
    s->mark = s->source->end;
    return PDR_OK;
}

/* Go over the value of a spot. */
static pdr_rc split_spot(struct pdr__split *s, size_t spot, pdr_err *err)
{
    const struct pdr__layout *layout = s->layout;
    enum pdr__spot_kind kind = layout->spots[spot].kind;
    size_t deepest = s->deepest, path_len = s->path.len;
    bool wrapped = layout->wrapped && spot == layout->session;
    pdr_rc rc = PDR_OK;

    /* In a bag the path has the member already. */
    if (spot != 0 && spot_is(s, layout->spots[spot].parent, PDR_SPOT_OBJECT))
        PDR_TRY(enter_member(s, pdr_str_c(layout->spots[spot].name), err));
    /* The root of a session or document is its first level. */
    if (spot == layout->session || spot == layout->document)
        s->deepest = s->source->depth - 1 + PDR_DEFAULT_DEPTH;
    if (wrapped) {
        frame_text(s, s->source->begin);
        pdr__framer_session(s->frame);
    }
    if (kind == PDR_SPOT_EXPIRY) {
        PDR_TRY(split_expiry(s, err));
    } else if (s->source->event == PDR_SCALAR &&
               pdr_value_kind(s->source->value) == PDR_NULL) {
        frame_text(s, s->source->begin);
        PDR_TRY(place_spot(s, spot, PDR_LIT(""), PDR_LIT("null"), err));
        s->mark = s->source->end;
    } else if (s->source->event != (kind == PDR_SPOT_ENTRIES
                                        ? PDR_BEGIN_ARRAY
                                        : PDR_BEGIN_OBJECT)) {
        return fail_here(s, wrong_kind(s, spot, err), err);
    } else if (kind == PDR_SPOT_ENTRIES) {
        PDR_TRY(split_entries(s, err));
    } else if (kind == PDR_SPOT_OBJECT) {
        PDR_TRY(split_object(s, spot, err));
    } else {
        PDR_TRY(split_members(s, spot, err));
    }
    if (wrapped) {
        frame_text(s, s->source->end);
        pdr__framer_session_end(s->frame);
    }
    s->deepest = deepest;
    s->path.len = path_len;
done:
    return rc;
}

pdr_rc pdr__split_run(struct pdr__split *split, pdr_err *err)
{
    struct pdr__split *s = split;
    pdr_rc rc = PDR_OK;

    s->mark = 0;
    s->deepest = PDR_DEFAULT_DEPTH;
    PDR_TRY(next_event(s, err));
    PDR_TRY(split_spot(s, 0, err));
    PDR_TRY(next_event(s, err)); /* the end, or what should not be there */
    frame_text(s, s->source->end);
done:
    return rc;
}
