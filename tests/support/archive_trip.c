/*
 * archive_trip.c - see archive_trip.h.
 */
#include "archive_trip.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOW_MS 1000

const struct archive_ops archive_ours = {pdr_import, pdr_export};

static bool wrong(struct roundtrip_report *report, const char *fmt, ...)
    PDR_PRINTF(2, 3);

static bool wrong(struct roundtrip_report *report, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(report->text, sizeof(report->text), fmt, args);
    va_end(args);
    return false;
}

/* --- in and out ----------------------------------------------------------- */

/* One document on its way. */
struct trip {
    struct roundtrip_report *report;
    const struct archive_ops *ops;
    pdr_store *store;
    pdr_str text;
    pdr_buf out;
};

static bool holds(pdr_str text, pdr_str part)
{
    for (size_t i = 0; i + part.len <= text.len; i++) {
        if (memcmp(text.ptr + i, part.ptr, part.len) == 0)
            return true;
    }
    return false;
}

/* "trip" or "back"; of a state document, as a durable id. */
static pdr_ref ref_of(const struct trip *t, const char *id)
{
    pdr_ref ref = {{NULL, 0}, pdr_str_c(id)};

    if (holds(t->text, pdr_str_c("\"schemaVersion\"")))
        ref.id = pdr_str_c(id[0] == 't' ? "@dafx-a@trip" : "@dafx-a@back");
    return ref;
}

static bool take_out(struct trip *t, const char *id)
{
    pdr_export_opts opts = {.ref = ref_of(t, id)};
    pdr_err err = PDR_ERR_INIT;

    pdr_buf_clear(&t->out);
    if (t->ops->export(NULL, t->store, &opts, &err, pdr_write_buf, &t->out) ==
        PDR_OK)
        return true;
    return wrong(t->report, "export: %s (%s)", err.message, err.reason);
}

static pdr_page *read_page(struct trip *t, const char *id, pdr_read_what what,
                           pdr_str after)
{
    pdr_query query = {
        .what = what, .ref = ref_of(t, id), .limit = 200, .after = after};
    pdr_page *page = NULL;

    return pdr_store_read(&page, t->store, &query, NULL) == PDR_OK ? page
                                                                   : NULL;
}

static bool commit(struct trip *t, const char *id, pdr_edit *edit)
{
    const pdr_str none = {NULL, 0};
    pdr_commit_options options = {.now_ms = NOW_MS};
    pdr_page *head = read_page(t, id, PDR_READ_HEAD, none);
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (head == NULL)
        return wrong(t->report, "there is no session %s", id);
    edit->ref = ref_of(t, id);
    edit->revision = head->head.revision;
    pdr_page_free(head);
    rc = pdr_store_commit(NULL, t->store, edit, 1, &options, &err);
    return rc == PDR_OK ? true : wrong(t->report, "commit: %s", err.message);
}

static void forget(struct trip *t, const char *id)
{
    struct roundtrip_report kept = *t->report;
    pdr_edit edit = {.remove = true};

    (void)commit(t, id, &edit);
    *t->report = kept;
}

static bool put_in(struct trip *t, const char *id, pdr_str text)
{
    pdr_import_opts opts = {.ref = ref_of(t, id), .now_ms = NOW_MS};
    pdr_err err = PDR_ERR_INIT;
    pdr_str rest = text;

    forget(t, id); /* replaced, it would keep its properties */
    if (t->ops->import(NULL, t->store, &opts, &err, pdr_read_str, &rest) ==
        PDR_OK)
        return true;
    return wrong(t->report, "import: %s (%s)", err.message, err.reason);
}

static struct trip begin(struct roundtrip_report *report,
                         const struct archive_ops *ops, pdr_store *store,
                         pdr_str text)
{
    struct trip t = {report, ops, store, text, PDR_BUF_INIT(SIZE_MAX)};

    report->text[0] = '\0';
    return t;
}

static bool end(struct trip *t, bool result)
{
    forget(t, "trip");
    forget(t, "back");
    pdr_buf_dispose(&t->out);
    return result;
}

/* How much of a text is shown from byte `i` on. */
static int shown(pdr_str text, size_t i)
{
    return text.len - i < 40 ? (int)(text.len - i) : 40;
}

/* Are these the same bytes? Says where they are not. */
static bool same(struct trip *t, const char *what, pdr_str a, pdr_str b)
{
    size_t i = 0;

    if (pdr_str_equal(a, b))
        return true;
    while (i < a.len && i < b.len && a.ptr[i] == b.ptr[i])
        i++;
    return wrong(t->report,
                 "%s: %zu and %zu bytes, other from byte %zu on: '%.*s' "
                 "became '%.*s'",
                 what, a.len, b.len, i, shown(a, i), a.ptr + i, shown(b, i),
                 b.ptr + i);
}

bool archive_check_unchanged(struct roundtrip_report *report,
                             const struct archive_ops *ops, pdr_store *store,
                             pdr_str text)
{
    struct trip t = begin(report, ops, store, text);

    return end(&t, put_in(&t, "trip", text) && take_out(&t, "trip") &&
                       same(&t, "the document", text, pdr_buf_str(&t.out)));
}

/* --- rows ----------------------------------------------------------------- */

static bool same_row(struct trip *t, const pdr_page *a, const pdr_page *b,
                     size_t i)
{
    if (a->entries != NULL)
        return a->entries[i].kind == b->entries[i].kind &&
               a->entries[i].shape == b->entries[i].shape &&
               pdr_str_equal(a->entries[i].correlation_id,
                             b->entries[i].correlation_id) &&
               same(t, "an entry", a->entries[i].body, b->entries[i].body);
    if (a->slots != NULL)
        return same(t, "a key", a->slots[i].key, b->slots[i].key) &&
               same(t, "a slot", a->slots[i].value, b->slots[i].value);
    return same(t, "a key", a->properties[i].key, b->properties[i].key) &&
           same(t, "a property", a->properties[i].value,
                b->properties[i].value);
}

/* Do the two sessions have the same rows of one kind? */
static bool same_rows(struct trip *t, pdr_read_what what)
{
    pdr_page *a = NULL, *b = NULL;
    bool result = true, more = true;

    while (result && more) {
        pdr_str none = {NULL, 0};
        pdr_page *next_a = read_page(t, "trip", what, a ? a->next : none);
        pdr_page *next_b = read_page(t, "back", what, b ? b->next : none);

        pdr_page_free(a);
        pdr_page_free(b);
        a = next_a;
        b = next_b;
        if (a == NULL || b == NULL || a->count != b->count) {
            result = wrong(t->report, "%zu and %zu rows", a ? a->count : 0,
                           b ? b->count : 0);
            break;
        }
        for (size_t i = 0; result && i < a->count; i++) {
            result = same_row(t, a, b, i);
            if (!result && t->report->text[0] == '\0')
                (void)wrong(t->report, "row %zu differs", i);
        }
        more = a->next.ptr != NULL;
    }
    pdr_page_free(a);
    pdr_page_free(b);
    return result;
}

static int64_t expiry_of(struct trip *t, const char *id)
{
    const pdr_str none = {NULL, 0};
    pdr_page *head = read_page(t, id, PDR_READ_HEAD, none);
    int64_t ms = head != NULL ? head->head.expiry_ms : PDR_NEVER;

    pdr_page_free(head);
    return ms;
}

static bool same_expiry(struct trip *t)
{
    int64_t a = expiry_of(t, "trip"), b = expiry_of(t, "back");

    return a == b ? true
                  : wrong(t->report, "expires at %lld, not at %lld",
                          (long long)b, (long long)a);
}

/* --- changes -------------------------------------------------------------- */

/* What a change may do to the bytes. */
enum splice {
    ADDS,     /* puts something in; an empty place may go for it */
    REPLACES, /* one value becomes another one */
    REDATES,  /* one date becomes another one, or null */
    REMOVES,  /* takes something out */
    WRAPS,    /* puts something around all of it */
    ANYHOW    /* takes several things out */
};

/* May this go when something comes in its place? */
static bool is_empty_place(pdr_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (strchr(" \t\r\n{}[]nul", text.ptr[i]) == NULL)
            return false;
    }
    return true;
}

static bool has_structure(pdr_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (strchr("{}[],", text.ptr[i]) != NULL)
            return true;
    }
    return false;
}

static pdr_str trimmed(pdr_str text)
{
    while (text.len > 0 && strchr(" \t\r\n", text.ptr[text.len - 1]) != NULL)
        text.len--;
    while (text.len > 0 && strchr(" \t\r\n", text.ptr[0]) != NULL) {
        text.ptr++;
        text.len--;
    }
    return text;
}

/* Does what came out differ from what went in at one place, as it should? */
static bool check_splice(struct trip *t, enum splice splice, const char *what)
{
    pdr_str old = t->text, now = pdr_buf_str(&t->out);
    size_t least = old.len < now.len ? old.len : now.len;
    size_t front = 0, back = 0;

    if (splice == ANYHOW)
        return true;
    if (splice == WRAPS)
        return holds(now, trimmed(old)) ||
               wrong(t->report, "%s: the document is not in its wrapper", what);
    while (front < least && old.ptr[front] == now.ptr[front])
        front++;
    while (back < least - front &&
           old.ptr[old.len - 1 - back] == now.ptr[now.len - 1 - back])
        back++;
    pdr_str went = {old.ptr + front, old.len - front - back};
    pdr_str came = {now.ptr + front, now.len - front - back};

    if (splice == ADDS && !is_empty_place(went))
        return wrong(t->report, "%s: '%.*s' went", what,
                     (int)(went.len < 80 ? went.len : 80), went.ptr);
    if (splice == REDATES && (has_structure(went) || has_structure(came)))
        return wrong(t->report, "%s: more than a date changed", what);
    if (splice == REMOVES && came.len != 0)
        return wrong(t->report, "%s: '%.*s' came", what,
                     (int)(came.len < 80 ? came.len : 80), came.ptr);
    return true;
}

/* The change is in session "trip": look at what comes out. */
static bool check_change(struct trip *t, enum splice splice, const char *what)
{
    pdr_read_opts deep = {.max_depth = 200};
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_buf once = PDR_BUF_INIT(SIZE_MAX);
    bool result = take_out(t, "trip");

    if (result &&
        pdr_json_read(&value, pdr_buf_str(&t->out), &deep, &err) != PDR_OK)
        result = wrong(t->report, "%s: no JSON: %s", what, err.message);
    pdr_value_free(value);
    result = result && check_splice(t, splice, what) &&
             pdr_buf_append(&once, pdr_buf_str(&t->out), NULL) == PDR_OK &&
             put_in(t, "back", pdr_buf_str(&once)) &&
             same_rows(t, PDR_READ_ENTRIES) && same_rows(t, PDR_READ_SLOTS) &&
             same_rows(t, PDR_READ_PROPERTIES) && same_expiry(t) &&
             take_out(t, "back") &&
             same(t, what, pdr_buf_str(&once), pdr_buf_str(&t->out));
    pdr_buf_dispose(&once);
    return result;
}

/* What the frame says of the document. */
struct about {
    pdr_row_shape shape;
    bool wrapper; /* it has a place for properties */
    bool bag;     /* it has a place for a bag */
    bool expiry;  /* and for an expiry */
};

static bool look(struct trip *t, struct about *out)
{
    const pdr_str none = {NULL, 0};
    pdr_page *page = read_page(t, "trip", PDR_READ_FRAME, none);

    if (page == NULL)
        return wrong(t->report, "there is no frame");
    out->shape =
        holds(page->frame, pdr_str_c("\"shape\":\"python\""))   ? PDR_ROW_PYTHON
        : holds(page->frame, pdr_str_c("\"shape\":\"dotnet\"")) ? PDR_ROW_DOTNET
                                                                : PDR_ROW_STATE;
    out->wrapper = holds(page->frame, pdr_str_c("\"of\":\"properties\""));
    out->bag = holds(page->frame, pdr_str_c("\"of\":\"bag\""));
    out->expiry = holds(page->frame, pdr_str_c("{\"expiry\":{"));
    pdr_page_free(page);
    return true;
}

static bool add_entry(struct trip *t, const struct about *about)
{
    bool state = about->shape == PDR_ROW_STATE;
    pdr_entry entry = {
        .kind = state ? PDR_ROW_REQUEST : PDR_ROW_MESSAGE,
        .shape = about->shape,
        .created_ms = NOW_MS,
        .correlation_id = state ? pdr_str_c("new") : pdr_str_n(NULL, 0),
        .body = pdr_str_c(state ? "{\"$type\":\"request\",\"correlationId\":"
                                  "\"new\",\"messages\":[]}"
                                : "{\"role\":\"user\",\"contents\":[]}")};
    pdr_edit edit = {.entries = &entry, .entry_count = 1};

    return commit(t, "trip", &edit) && check_change(t, ADDS, "an entry more");
}

/* Take the first entry away, if there is one. */
static bool cut_entry(struct trip *t, size_t *changes)
{
    const pdr_str none = {NULL, 0};
    pdr_page *head = read_page(t, "trip", PDR_READ_HEAD, none);
    pdr_edit edit = {.entries_through = 0};

    if (head == NULL)
        return wrong(t->report, "there is no session");
    if (head->head.first_seq < head->head.next_seq)
        edit.entries_through = head->head.first_seq;
    pdr_page_free(head);
    if (edit.entries_through == 0)
        return true;
    *changes += 1;
    return commit(t, "trip", &edit) && check_change(t, ANYHOW, "an entry gone");
}

static bool change_slot(struct trip *t, pdr_str key, pdr_str value,
                        enum splice splice, const char *what)
{
    pdr_slot slot = {.key = key, .value = value};
    pdr_edit edit = {.slots = &slot, .slot_count = 1};

    return put_in(t, "trip", t->text) && commit(t, "trip", &edit) &&
           check_change(t, splice, what);
}

static bool change_property(struct trip *t, pdr_str key, pdr_str value,
                            enum splice splice, const char *what)
{
    pdr_property property = {.key = key, .value = value};
    pdr_edit edit = {.properties = &property, .property_count = 1};

    return put_in(t, "trip", t->text) && commit(t, "trip", &edit) &&
           check_change(t, splice, what);
}

/* Is the name there several times? Then several places go with its row. */
static bool is_twice(pdr_str text, pdr_str key, const pdr_page *frame)
{
    size_t found = 0;

    (void)text;
    for (size_t i = 0; i + key.len + 8 <= frame->frame.len; i++) {
        if (memcmp(frame->frame.ptr + i, "\"key\":\"", 7) == 0 &&
            memcmp(frame->frame.ptr + i + 7, key.ptr, key.len) == 0)
            found++;
    }
    return found != 1;
}

/* Each row of one kind, set and removed. */
static bool change_rows(struct trip *t, bool slots, size_t *changes)
{
    const pdr_str none = {NULL, 0};
    const pdr_str set = pdr_str_c("[ \"another\", 1.50 ]");
    pdr_page *page = read_page(
        t, "trip", slots ? PDR_READ_SLOTS : PDR_READ_PROPERTIES, none);
    pdr_page *frame = read_page(t, "trip", PDR_READ_FRAME, none);
    bool result = page != NULL && frame != NULL;

    for (size_t i = 0; result && i < page->count && i < 8; i++) {
        pdr_str key = slots ? page->slots[i].key : page->properties[i].key;
        enum splice removes = is_twice(t->text, key, frame) ? ANYHOW : REMOVES;

        result =
            slots
                ? change_slot(t, key, set, REPLACES, "a slot set") &&
                      change_slot(t, key, none, removes, "a slot gone")
                : change_property(t, key, set, REPLACES, "a property set") &&
                      change_property(t, key, none, removes, "a property gone");
        *changes += 2;
    }
    pdr_page_free(page);
    pdr_page_free(frame);
    return result;
}

static bool expire(struct trip *t, int64_t ms)
{
    pdr_edit edit = {.expiry =
                         ms == PDR_NEVER ? PDR_EXPIRY_CLEAR : PDR_EXPIRY_SET,
                     .expiry_ms = ms};

    return commit(t, "trip", &edit);
}

/* The expiry set, moved, cleared, and given back: then nothing has changed. */
static bool change_expiry(struct trip *t, size_t *changes)
{
    const int64_t later = INT64_C(4102444800000);
    bool result = put_in(t, "trip", t->text);
    int64_t was = expiry_of(t, "trip");
    enum splice splice = was == PDR_NEVER ? ADDS : REDATES;

    *changes += 4;
    result = result && expire(t, later) &&
             check_change(t, splice, "an expiry set") &&
             expire(t, later + 123) &&
             check_change(t, splice, "an expiry moved");
    if (result &&
        !holds(pdr_buf_str(&t->out), pdr_str_c("\"2100-01-01T00:00:00.123Z\"")))
        return wrong(t->report, "the expiry that was set is not there");
    return result && expire(t, PDR_NEVER) &&
           check_change(t, REDATES, "an expiry cleared") && expire(t, was) &&
           take_out(t, "trip") &&
           same(t, "the expiry as it was", t->text, pdr_buf_str(&t->out));
}

bool archive_check_changes(struct roundtrip_report *report,
                           const struct archive_ops *ops, pdr_store *store,
                           pdr_str text, size_t *changes)
{
    struct trip t = begin(report, ops, store, text);
    struct about about = {PDR_ROW_STATE, false, false, false};
    const pdr_str one = pdr_str_c("{\"n\" : 1}");
    bool state = false;
    bool result = put_in(&t, "trip", text) && look(&t, &about) &&
                  change_rows(&t, true, changes) && put_in(&t, "trip", text) &&
                  change_rows(&t, false, changes) && put_in(&t, "trip", text) &&
                  cut_entry(&t, changes) && put_in(&t, "trip", text) &&
                  add_entry(&t, &about);

    if (result && about.expiry)
        result = change_expiry(&t, changes);
    if (!result)
        return end(&t, false);
    state = about.shape == PDR_ROW_STATE && !about.bag;
    *changes += 1;
    if (about.bag || state) {
        result = change_slot(&t, pdr_str_c("zz new\\u0000"), one,
                             state ? WRAPS : ADDS, "a slot more");
        *changes += 1;
    }
    if (result) {
        result =
            change_property(&t, pdr_str_c("zz new"), one,
                            about.wrapper ? ADDS : WRAPS, "a property more");
        *changes += 1;
    }
    return end(&t, result);
}
