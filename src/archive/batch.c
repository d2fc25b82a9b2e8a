/*
 * batch.c - rows on their way into commits.
 *
 * WHY  A small document is one commit. A large one comes in several that no
 *      reader sees, and the last one shows it: so nobody waits for a lock while
 *      a gigabyte is written, and nobody ever sees half of it.
 *
 *        few rows                     ─► one commit, of a new session
 *        many, or a session is there  ─► BEGIN, ADD, ADD, … SHOW
 *
 * INVARIANTS
 *   B1  Texts of rows that wait lie in the window of the source from `first`
 *       on, or in `memory`.
 *   B2  What is kept of a session that goes is read after its head, and SHOW
 *       names the revision of that head.
 */
#include "import.h"

enum what { ENTRY, SLOT, PROPERTY };

struct pdr__batch_row {
    enum what what;
    pdr_row_kind kind;
    pdr_row_shape shape;
    int64_t created_ms;
    int64_t value, separator; /* offsets in the stream */
    size_t value_len, separator_len;
    bool has_separator;
    pdr_str key; /* or correlation id; in memory, absent if there is none */
    pdr_str match;
};

/* The same rows as a commit wants them. */
struct carriage {
    pdr_entry *entries;
    pdr_slot *slots;
    pdr_property *properties;
    pdr_edit edit;
};

void pdr__batch_init(struct pdr__batch *batch, pdr_store *store,
                     const pdr_import_opts *opts,
                     const struct pdr__source *source)
{
    static const struct pdr__arena empty = PDR_ARENA_INIT(SIZE_MAX);

    memset(batch, 0, sizeof(*batch));
    batch->store = store;
    batch->opts = opts;
    batch->ref = opts->ref;
    batch->source = source;
    batch->first = INT64_MAX;
    batch->memory = empty;
    batch->began_ms = pdr__monotonic_ms(pdr__clock_system());
}

void pdr__batch_dispose(struct pdr__batch *batch)
{
    pdr__free(batch->rows);
    pdr__arena_dispose(&batch->memory);
}

/* --- commits ---------------------------------------------------------------
 */

int64_t pdr__stage_until(int64_t now_ms, int64_t began_ms)
{
    int64_t gone = pdr__monotonic_ms(pdr__clock_system()) - began_ms;
    int64_t until = 0;

    return __builtin_add_overflow(now_ms, gone + PDR_STAGE_LEASE_MS, &until)
               ? INT64_MAX
               : until;
}

static pdr_rc commit(struct pdr__batch *b, pdr_edit *edit, pdr_stage_verb stage,
                     pdr_err *err)
{
    const pdr_commit_options options = {b->opts->now_ms, b->opts->timeout_ms};
    pdr_rc rc = PDR_OK;

    edit->ref = b->ref;
    edit->stage = stage;
    if (stage == PDR_STAGE_NONE || stage == PDR_STAGE_BEGIN) {
        edit->agent = b->agent;
        edit->kind = b->kind;
        edit->schema_version = b->version;
    }
    if (stage == PDR_STAGE_ADD || stage == PDR_STAGE_SHOW)
        edit->epoch = b->epoch;
    if (stage == PDR_STAGE_ADD)
        edit->revision = PDR_ANY_REVISION;
    if (stage == PDR_STAGE_SHOW && b->replaces)
        edit->revision = b->old.revision;
    if (stage == PDR_STAGE_ADD || stage == PDR_STAGE_BEGIN)
        edit->lease_until_ms = pdr__stage_until(b->opts->now_ms, b->began_ms);
    rc = pdr_store_commit(&b->done, b->store, edit, 1, &options, err);
    if (rc != PDR_OK)
        return rc;
    b->commits++;
    b->epoch = b->done.epoch;
    b->staged = stage == PDR_STAGE_BEGIN || stage == PDR_STAGE_ADD;
    return PDR_OK;
}

static void unload(struct carriage *c)
{
    pdr__free(c->entries);
    pdr__free(c->slots);
    pdr__free(c->properties);
}

static void load_row(struct carriage *c, const struct pdr__batch *b,
                     const struct pdr__batch_row *row)
{
    const struct window *window = b->source->window;
    pdr_str value = pdr__window_text(window, row->value,
                                     row->value + (int64_t)row->value_len);

    if (row->what == ENTRY) {
        pdr_entry *entry = &c->entries[c->edit.entry_count++];

        entry->kind = row->kind;
        entry->shape = row->shape;
        entry->created_ms = row->created_ms;
        entry->correlation_id = row->key;
        entry->body = value;
        if (row->has_separator)
            entry->separator =
                pdr__window_text(window, row->separator,
                                 row->separator + (int64_t)row->separator_len);
    } else if (row->what == SLOT) {
        pdr_slot *slot = &c->slots[c->edit.slot_count++];

        slot->key = row->key;
        slot->value = value;
    } else {
        pdr_property *property = &c->properties[c->edit.property_count++];

        property->key = row->key;
        property->match = row->match;
        property->value = value;
    }
}

static pdr_rc load(struct carriage *c, const struct pdr__batch *b, pdr_err *err)
{
    size_t counts[3] = {0, 0, 0};

    memset(c, 0, sizeof(*c));
    for (size_t i = 0; i < b->count; i++)
        counts[b->rows[i].what]++;
    c->entries = pdr__calloc(counts[ENTRY] + 1, sizeof(*c->entries));
    c->slots = pdr__calloc(counts[SLOT] + 1, sizeof(*c->slots));
    c->properties = pdr__calloc(counts[PROPERTY] + 1, sizeof(*c->properties));
    if (c->entries == NULL || c->slots == NULL || c->properties == NULL) {
        unload(c);
        return pdr__nomem(err);
    }
    for (size_t i = 0; i < b->count; i++)
        load_row(c, b, &b->rows[i]);
    c->edit.entries = c->entries;
    c->edit.slots = c->slots;
    c->edit.properties = c->properties;
    return PDR_OK;
}

/* Commit the rows that wait, and forget them. */
static pdr_rc send(struct pdr__batch *b, pdr_stage_verb stage, pdr_str frame,
                   pdr_err *err)
{
    struct carriage c;
    pdr_rc rc = load(&c, b, err);

    if (rc != PDR_OK)
        return rc;
    c.edit.frame = frame;
    if (frame.ptr != NULL) { /* of a stage, only the last commit has it */
        c.edit.expiry = b->expiry;
        c.edit.expiry_ms = b->expiry_ms;
    }
    rc = commit(b, &c.edit, stage, err);
    unload(&c);
    b->count = 0;
    b->bytes = 0;
    b->first = INT64_MAX;
    pdr__arena_reset(&b->memory);
    return rc;
}

/* --- what is kept of a session that goes -----------------------------------
 */

/* Completions that are young enough, from one page. */
static pdr_rc keep_completions(struct pdr__batch *b, const pdr_page *page,
                               pdr_err *err)
{
    int64_t now = b->opts->now_ms;
    int64_t since = now < INT64_MIN + PDR_COMPLETION_KEEP_MS
                        ? INT64_MIN
                        : now - PDR_COMPLETION_KEEP_MS;
    pdr_edit edit = {.revision = 0};
    pdr_completion *rows = pdr__calloc(page->count + 1, sizeof(*rows));
    pdr_rc rc = PDR_OK;

    if (rows == NULL)
        return pdr__nomem(err);
    for (size_t i = 0; i < page->count; i++) {
        const pdr_completion *old = &page->completions[i];

        if (old->at_ms < since)
            continue;
        rows[edit.completion_count].correlation_id = old->correlation_id;
        rows[edit.completion_count].fingerprint = old->fingerprint;
        rows[edit.completion_count].at_ms = old->at_ms;
        rows[edit.completion_count++].outcome = old->outcome;
    }
    edit.completions = rows;
    if (edit.completion_count > 0)
        rc = commit(b, &edit, PDR_STAGE_ADD, err);
    pdr__free(rows);
    return rc;
}

static pdr_rc keep_properties(struct pdr__batch *b, const pdr_page *page,
                              pdr_err *err)
{
    pdr_edit edit = {.revision = 0};

    edit.properties = page->properties;
    edit.property_count = page->count;
    b->properties += page->count;
    return page->count > 0 ? commit(b, &edit, PDR_STAGE_ADD, err) : PDR_OK;
}

typedef pdr_rc (*keep_fn)(struct pdr__batch *b, const pdr_page *page,
                          pdr_err *err);

/* All pages of the session that goes. */
static pdr_rc keep(struct pdr__batch *b, pdr_read_what what, keep_fn fn,
                   pdr_err *err)
{
    pdr_query query = {.what = what, .ref = b->ref};
    pdr_page *page = NULL, *next = NULL;
    pdr_rc rc = PDR_OK;

    query.limit = PDR_MAX_PAGE_ROWS;
    query.max_bytes = PDR_STAGE_BYTES;
    do {
        rc = pdr_store_read(&next, b->store, &query, err);
        pdr_page_free(page); /* its cursor was in use until now */
        page = next;
        if (rc == PDR_OK)
            rc = fn(b, page, err);
        if (rc == PDR_OK)
            query.after = page->next;
    } while (rc == PDR_OK && query.after.ptr != NULL);
    pdr_page_free(page);
    return rc;
}

/* Begin the stage of a session that takes another one's place. Completions come
 * before entries, which extend what they find. */
static pdr_rc begin_replacing(struct pdr__batch *b, pdr_err *err)
{
    pdr_edit edit = {.revision = 0};
    pdr_rc rc = commit(b, &edit, PDR_STAGE_BEGIN, err);

    if (rc == PDR_OK && b->old.completions > 0)
        rc = keep(b, PDR_READ_COMPLETIONS, keep_completions, err);
    return rc;
}

/* --- rows ------------------------------------------------------------------
 */

static pdr_rc flush(struct pdr__batch *b, pdr_err *err)
{
    static const pdr_str no_frame = {NULL, 0};
    pdr_rc rc = PDR_OK;

    if (b->replaces && !b->staged)
        rc = begin_replacing(b, err);
    if (rc != PDR_OK || b->count == 0)
        return rc;
    return send(b, b->staged ? PDR_STAGE_ADD : PDR_STAGE_BEGIN, no_frame, err);
}

static pdr_rc copy_text(pdr_str *out, struct pdr__batch *b, pdr_str text,
                        pdr_err *err)
{
    char *copy = NULL;
    pdr_rc rc = pdr__arena_strndup(&copy, &b->memory, text, err);

    if (rc == PDR_OK)
        *out = pdr_str_n(copy, text.len);
    return rc;
}

static pdr_rc grow(struct pdr__batch *b, pdr_err *err)
{
    size_t cap = b->cap == 0 ? 64 : b->cap * 2;
    struct pdr__batch_row *rows = NULL;

    if (b->count < b->cap)
        return PDR_OK;
    rows = pdr__realloc(b->rows, cap * sizeof(*rows));
    if (rows == NULL)
        return pdr__nomem(err);
    b->rows = rows;
    b->cap = cap;
    return PDR_OK;
}

/* A new row for the bytes from `from` on, of which `bytes` count with all its
 * texts. `head` is where its first byte lies. */
static pdr_rc add_row(struct pdr__batch_row **out, struct pdr__batch *b,
                      enum what what, int64_t from, int64_t head, size_t bytes,
                      pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (bytes > PDR_MAX_ROW_BYTES)
        return PDR_FAIL(err, ROW_TOO_LARGE,
                        "this has %zu bytes with its name, and a store keeps "
                        "at most %zu in one row",
                        bytes, PDR_MAX_ROW_BYTES);
    if (b->count > 0 &&
        (b->bytes + bytes > PDR_STAGE_BYTES || b->count >= PDR_STAGE_ROWS))
        rc = flush(b, err);
    if (rc == PDR_OK)
        rc = grow(b, err);
    if (rc != PDR_OK)
        return rc;
    *out = &b->rows[b->count];
    memset(*out, 0, sizeof(**out));
    (*out)->what = what;
    (*out)->value = from;
    (*out)->value_len = (size_t)(b->source->end - from);
    b->bytes += bytes;
    if (b->first > head)
        b->first = head;
    return PDR_OK;
}

static size_t bytes_from(const struct pdr__batch *b, int64_t from)
{
    return (size_t)(b->source->end - from);
}

pdr_rc pdr__batch_entry(struct pdr__batch *batch,
                        const struct pdr__entry_note *note, int64_t separator,
                        int64_t from, pdr_err *err)
{
    struct pdr__batch *b = batch;
    struct pdr__batch_row *row = NULL;
    int64_t head = separator >= 0 ? separator : from;
    pdr_rc rc = add_row(&row, b, ENTRY, from, head,
                        bytes_from(b, head) + note->id_len, err);

    if (rc != PDR_OK)
        return rc;
    row->kind = pdr__entry_note_kind(note);
    row->shape = note->shape;
    row->created_ms = note->created_ms;
    row->has_separator = separator >= 0;
    row->separator = head;
    row->separator_len = (size_t)(from - head);
    if (note->id_len > 0)
        rc = copy_text(&row->key, b, pdr_str_n(note->id, note->id_len), err);
    if (rc != PDR_OK)
        return rc;
    b->count++;
    b->entries++;
    return PDR_OK;
}

pdr_rc pdr__batch_slot(struct pdr__batch *batch, pdr_str key, int64_t from,
                       pdr_err *err)
{
    struct pdr__batch *b = batch;
    struct pdr__batch_row *row = NULL;
    pdr_rc rc =
        add_row(&row, b, SLOT, from, from, bytes_from(b, from) + key.len, err);

    if (rc == PDR_OK)
        rc = copy_text(&row->key, b, key, err);
    if (rc != PDR_OK)
        return rc;
    b->count++;
    b->slots++;
    return PDR_OK;
}

pdr_rc pdr__batch_property(struct pdr__batch *batch, pdr_str key,
                           const pdr_value *scalar, int64_t from, pdr_err *err)
{
    struct pdr__batch *b = batch;
    struct pdr__batch_row *row = NULL;
    pdr_buf match = PDR_BUF_INIT(SIZE_MAX);
    bool found = false;
    pdr_rc rc = PDR_OK;

    if (scalar != NULL)
        rc = pdr_property_match(&match, &found, scalar, err);
    if (rc == PDR_OK)
        rc = add_row(&row, b, PROPERTY, from, from,
                     bytes_from(b, from) + key.len + match.len, err);
    if (rc == PDR_OK)
        rc = copy_text(&row->key, b, key, err);
    if (rc == PDR_OK && found)
        rc = copy_text(&row->match, b, pdr_buf_str(&match), err);
    pdr_buf_dispose(&match);
    if (rc != PDR_OK)
        return rc;
    b->count++;
    b->properties++;
    return PDR_OK;
}

/* --- beginning and end -----------------------------------------------------
 */

static pdr_rc check_old(struct pdr__batch *b, pdr_err *err)
{
    uint64_t wanted = b->opts->revision;
    char shown[PDR_SHOWN];

    if (!b->opts->replace)
        return PDR_FAIL(err, SESSION_EXISTS,
                        "session '%s' is there already; ask to replace it, or "
                        "import under another id",
                        pdr__shown(shown, b->ref.id));
    if (wanted == 0 || wanted == b->old.revision)
        return PDR_OK;
    return PDR_FAIL(err, REVISION_CHANGED,
                    "session '%s' has revision %llu, not %llu; look at it "
                    "again before it is replaced",
                    pdr__shown(shown, b->ref.id),
                    (unsigned long long)b->old.revision,
                    (unsigned long long)wanted);
}

pdr_rc pdr__batch_open(struct pdr__batch *batch, pdr_err *err)
{
    struct pdr__batch *b = batch;
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = b->ref};
    pdr_page *page = NULL;
    pdr_err why = PDR_ERR_INIT;
    char shown[PDR_SHOWN];
    pdr_rc rc = pdr_store_read(&page, b->store, &query, &why);

    if (rc == PDR_ENOTFOUND && b->opts->replace && b->opts->revision != 0)
        return PDR_FAIL(err, REVISION_CHANGED,
                        "session '%s' is not there any more",
                        pdr__shown(shown, b->ref.id));
    if (rc == PDR_ENOTFOUND)
        return PDR_OK;
    if (rc != PDR_OK) {
        if (err != NULL)
            *err = why;
        return rc;
    }
    b->old = page->head;
    b->replaces = true;
    pdr_page_free(page);
    return check_old(b, err);
}

pdr_rc pdr__batch_finish(struct pdr__batch *batch, pdr_str frame, pdr_err *err)
{
    struct pdr__batch *b = batch;
    pdr_rc rc = PDR_OK;

    if (b->replaces && !b->staged)
        rc = begin_replacing(b, err);
    if (rc == PDR_OK && b->replaces && !b->says_properties &&
        b->old.properties > 0)
        rc = keep(b, PDR_READ_PROPERTIES, keep_properties, err);
    if (rc == PDR_OK && b->count > 0 && b->bytes + frame.len > PDR_STAGE_BYTES)
        rc = flush(b, err);
    if (rc != PDR_OK)
        return rc;
    return send(b, b->staged ? PDR_STAGE_SHOW : PDR_STAGE_NONE, frame, err);
}

void pdr__batch_give_up(struct pdr__batch *batch)
{
    struct pdr__batch *b = batch;
    const pdr_commit_options options = {b->opts->now_ms, b->opts->timeout_ms};
    pdr_edit edit = {.revision = PDR_ANY_REVISION};

    if (!b->staged)
        return;
    edit.ref = b->ref;
    edit.stage = PDR_STAGE_ADD;
    edit.epoch = b->epoch;
    edit.lease_until_ms = INT64_MIN + 1; /* long ago */
    if (pdr_store_commit(NULL, b->store, &edit, 1, &options, NULL) == PDR_OK)
        (void)!pdr_store_sweep(NULL, b->store, b->opts->now_ms, NULL);
}
