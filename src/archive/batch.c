/*
 * batch.c - rows on their way into commits.
 *
 * WHY  A small document is one commit. A large one comes in several that no
 *      reader sees, and the last one shows it: so nobody waits for a lock while
 *      a gigabyte is written, and nobody ever sees half of it.
 *
 *        few rows                     ─► one commit, of a new session
 *        many, or a session is there  ─► begin, add, add, … show
 *
 * INVARIANTS
 *   B1  Texts of rows that wait lie in the window of the source from `first`
 *       on, or in `memory`.
 *   B2  What is kept of a session that goes is read after its head, and it
 *       is shown in the place of that revision.
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

static pdr_rc commit_rows(struct pdr__batch *b, const pdr_rows *rows,
                          bool shows, pdr_err *err)
{
    const pdr_commit_options options = {b->opts->now_ms, b->opts->timeout_ms};
    const pdr_show_opts show = {.revision = b->replaces ? b->old.revision : 0,
                                .expiry = b->expiry,
                                .expiry_ms = b->expiry_ms};
    pdr_stage *stage = &b->stage;
    pdr_rc rc = PDR_OK;

    stage->ref = b->ref;
    stage->agent = b->agent;
    stage->kind = b->kind;
    stage->schema_version = b->version;
    stage->until_ms = pdr__stage_until(b->opts->now_ms, b->began_ms);
    if (shows)
        rc = pdr_stage_show(&b->done, b->store, stage, rows, &show, &options,
                            err);
    else if (stage->epoch == 0)
        rc = pdr_stage_begin(&b->done, b->store, stage, rows, &options, err);
    else
        rc = pdr_stage_add(&b->done, b->store, stage, rows, &options, err);
    b->commits += rc == PDR_OK;
    return rc;
}

/* Commit the rows that wait, and forget them. */
static pdr_rc send_rows(struct pdr__batch *b, pdr_str frame, bool shows,
                        pdr_err *err)
{
    const struct window *window = b->source->window;
    size_t counts[3] = {1, 1, 1}; /* room for none is no room */
    pdr_entry *entries = NULL;
    pdr_slot *slots = NULL;
    pdr_property *properties = NULL;
    pdr_rows rows = {.frame = frame};
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < b->count; i++)
        counts[b->rows[i].what]++;
    rows.entries = entries = pdr__calloc(counts[ENTRY], sizeof(*entries));
    rows.slots = slots = pdr__calloc(counts[SLOT], sizeof(*slots));
    rows.properties = properties =
        pdr__calloc(counts[PROPERTY], sizeof(*properties));
    if (entries == NULL || slots == NULL || properties == NULL)
        PDR_TRY(pdr__nomem(err));
    for (size_t i = 0; i < b->count; i++) {
        const struct pdr__batch_row *row = &b->rows[i];
        pdr_str value = pdr__window_text(window, row->value,
                                         row->value + (int64_t)row->value_len);
        pdr_str separator = {NULL, 0};

        if (row->has_separator)
            separator =
                pdr__window_text(window, row->separator,
                                 row->separator + (int64_t)row->separator_len);
        if (row->what == ENTRY)
            entries[rows.entry_count++] =
                (pdr_entry){.kind = row->kind,
                            .shape = row->shape,
                            .created_ms = row->created_ms,
                            .correlation_id = row->key,
                            .separator = separator,
                            .body = value};
        else if (row->what == SLOT)
            slots[rows.slot_count++] =
                (pdr_slot){.key = row->key, .value = value};
        else
            properties[rows.property_count++] = (pdr_property){
                .key = row->key, .match = row->match, .value = value};
    }
    PDR_TRY(commit_rows(b, &rows, shows, err));
done:
    pdr__free(properties);
    pdr__free(slots);
    pdr__free(entries);
    b->count = 0;
    b->bytes = 0;
    b->first = INT64_MAX;
    pdr__arena_reset(&b->memory);
    return rc;
}

/* --- what is kept of a session that goes -----------------------------------
 */

/* Its properties, or those of its completions that are young enough. */
static pdr_rc keep_rows(struct pdr__batch *b, pdr_read_what what, pdr_err *err)
{
    int64_t now = b->opts->now_ms;
    int64_t since = now < INT64_MIN + PDR_COMPLETION_KEEP_MS
                        ? INT64_MIN
                        : now - PDR_COMPLETION_KEEP_MS;
    pdr_query query = {.what = what,
                       .ref = b->ref,
                       .limit = PDR_MAX_PAGE_ROWS,
                       .max_bytes = PDR_STAGE_BYTES};
    pdr_completion *young = pdr__calloc(PDR_MAX_PAGE_ROWS, sizeof(*young));
    pdr_page *page = NULL, *next = NULL;
    pdr_rc rc = PDR_OK;

    if (young == NULL)
        return pdr__nomem(err);
    do {
        pdr_rows rows = {.completions = young};

        PDR_TRY(pdr_store_read(&next, b->store, &query, err));
        pdr_page_free(page); /* its cursor was in use until now */
        page = next;
        if (what == PDR_READ_PROPERTIES) {
            rows.properties = page->properties;
            rows.property_count = page->count;
            b->properties += page->count;
        }
        for (size_t i = 0; i < page->count && page->completions != NULL; i++) {
            if (page->completions[i].at_ms >= since)
                young[rows.completion_count++] = page->completions[i];
        }
        if (rows.property_count + rows.completion_count > 0)
            PDR_TRY(commit_rows(b, &rows, false, err));
        query.after = page->next;
    } while (query.after.ptr != NULL);
done:
    pdr_page_free(page);
    pdr__free(young);
    return rc;
}

/* Begin the stage of a session that takes another one's place, unless that is
 * done. Completions come before entries, which extend what they find. */
static pdr_rc begin_replacing(struct pdr__batch *b, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (!b->replaces || b->stage.epoch != 0)
        return PDR_OK;
    PDR_TRY(commit_rows(b, NULL, false, err));
    if (b->old.completions > 0)
        PDR_TRY(keep_rows(b, PDR_READ_COMPLETIONS, err));
done:
    return rc;
}

/* --- rows ------------------------------------------------------------------
 */

static pdr_rc flush_rows(struct pdr__batch *b, pdr_err *err)
{
    static const pdr_str no_frame = {NULL, 0};
    pdr_rc rc = PDR_OK;

    PDR_TRY(begin_replacing(b, err));
    if (b->count > 0)
        PDR_TRY(send_rows(b, no_frame, false, err));
done:
    return rc;
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
    if (pdr__batch_is_full(b, bytes))
        PDR_TRY(flush_rows(b, err));
    PDR_TRY(pdr__grow((void **)&b->rows, &b->cap, b->count + 1,
                      sizeof(*b->rows), err));
    *out = &b->rows[b->count];
    memset(*out, 0, sizeof(**out));
    (*out)->what = what;
    (*out)->value = from;
    (*out)->value_len = (size_t)(b->source->end - from);
    b->bytes += bytes;
    if (b->first > head)
        b->first = head;
done:
    return rc;
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
    pdr_rc rc = PDR_OK;

    PDR_TRY(add_row(&row, b, ENTRY, from, head,
                    bytes_from(b, head) + note->id_len, err));
    row->kind = pdr__entry_note_kind(note);
    row->shape = note->shape;
    row->created_ms = note->created_ms;
    row->has_separator = separator >= 0;
    row->separator = head;
    row->separator_len = (size_t)(from - head);
    if (note->id_len > 0)
        PDR_TRY(
            copy_text(&row->key, b, pdr_str_n(note->id, note->id_len), err));
    b->count++;
    b->entries++;
done:
    return rc;
}

pdr_rc pdr__batch_slot(struct pdr__batch *batch, pdr_str key, int64_t from,
                       pdr_err *err)
{
    struct pdr__batch *b = batch;
    struct pdr__batch_row *row = NULL;
    pdr_rc rc = PDR_OK;

    PDR_TRY(
        add_row(&row, b, SLOT, from, from, bytes_from(b, from) + key.len, err));
    PDR_TRY(copy_text(&row->key, b, key, err));
    b->count++;
    b->slots++;
done:
    return rc;
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
        PDR_TRY(pdr_property_match(&match, &found, scalar, err));
    PDR_TRY(add_row(&row, b, PROPERTY, from, from,
                    bytes_from(b, from) + key.len + match.len, err));
    PDR_TRY(copy_text(&row->key, b, key, err));
    if (found)
        PDR_TRY(copy_text(&row->match, b, pdr_buf_str(&match), err));
    b->count++;
    b->properties++;
done:
    pdr_buf_dispose(&match);
    return rc;
}

/* --- beginning and end -----------------------------------------------------
 */

pdr_rc pdr__batch_open(struct pdr__batch *batch, pdr_err *err)
{
    struct pdr__batch *b = batch;
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = b->ref};
    uint64_t wanted = b->opts->revision;
    pdr_page *page = NULL;
    pdr_err why = PDR_ERR_INIT;
    char shown[PDR_SHOWN];
    pdr_rc rc = pdr_store_read(&page, b->store, &query, &why);

    if (rc == PDR_ENOTFOUND && b->opts->replace && wanted != 0)
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
    if (!b->opts->replace)
        return PDR_FAIL(err, SESSION_EXISTS,
                        "session '%s' is there already; ask to replace it, or "
                        "import under another id",
                        pdr__shown(shown, b->ref.id));
    if (wanted != 0 && wanted != b->old.revision)
        return PDR_FAIL(err, REVISION_CHANGED,
                        "session '%s' has revision %llu, not %llu; look at it "
                        "again before it is replaced",
                        pdr__shown(shown, b->ref.id),
                        (unsigned long long)b->old.revision,
                        (unsigned long long)wanted);
    if (b->opts->epoch != 0 && b->opts->epoch != b->old.epoch)
        return PDR_FAIL(err, EPOCH_CHANGED,
                        "session '%s' was made anew; look at it again before "
                        "it is replaced",
                        pdr__shown(shown, b->ref.id));
    return PDR_OK;
}

pdr_rc pdr__batch_finish(struct pdr__batch *batch, pdr_str frame, pdr_err *err)
{
    struct pdr__batch *b = batch;
    pdr_rc rc = PDR_OK;

    PDR_TRY(begin_replacing(b, err));
    if (b->replaces && !b->says_properties && b->old.properties > 0)
        PDR_TRY(keep_rows(b, PDR_READ_PROPERTIES, err));
    if (b->count > 0 && b->bytes + frame.len > PDR_STAGE_BYTES)
        PDR_TRY(flush_rows(b, err));
    PDR_TRY(send_rows(b, frame, true, err));
done:
    return rc;
}

void pdr__batch_give_up(struct pdr__batch *batch)
{
    const pdr_commit_options options = {batch->opts->now_ms,
                                        batch->opts->timeout_ms};

    if (batch->store != NULL)
        (void)!pdr_stage_abandon(batch->store, &batch->stage, &options, NULL);
}
