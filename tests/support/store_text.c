/*
 * store_text.c - everything in a store as one text, to compare two of them.
 *
 * Read as a caller would, a few rows at a time, so that cursors are part of it.
 */
#include <inttypes.h>

#include "store_work.h"

#define PAGE     7 /* small, so that there are several */
#define MAX_PAGE 200u

/* Leave out what a copy in another store has of its own. */
static bool alike;
/* The same for rows of the inbox: a copy closes the gaps between them. */
static bool unnumbered;

static void put_digest(FILE *out, const uint8_t digest[PDR_DIGEST_BYTES])
{
    for (size_t i = 0; i < PDR_DIGEST_BYTES && !alike; i++)
        fprintf(out, "%02x", digest[i]);
    fputc('\n', out);
}

static void put_text(FILE *out, const char *name, pdr_str text)
{
    if (text.ptr == NULL)
        fprintf(out, " %s absent", name);
    else
        fprintf(out, " %s '%.*s'", name, (int)text.len, text.ptr);
}

static void put_head(FILE *out, const pdr_head *head)
{
    fprintf(out, "session");
    put_text(out, "tenant", head->ref.tenant);
    put_text(out, "id", head->ref.id);
    put_text(out, "agent", head->agent);
    put_text(out, "kind", head->kind);
    put_text(out, "schema", head->schema_version);
    fprintf(out,
            " state %d revision %" PRIu64 " commits %" PRIu64 " epoch %" PRIu64
            " created %" PRId64 " changed %" PRId64 " expiry %" PRId64
            " entries %" PRIu64 "-%" PRIu64 " slots %" PRIu64
            " properties %" PRIu64 " completions %" PRIu64 " journal %" PRIu64
            "-%" PRIu64 " stream %" PRIu64 "-%" PRIu64 " inbox %" PRIu64
            " next %" PRIu64 " frame %d ttl %d",
            (int)head->state, head->revision, head->commits,
            alike ? 0 : head->epoch, head->created_ms, head->changed_ms,
            head->expiry_ms, head->first_seq, head->next_seq, head->slots,
            head->properties, head->completions, head->journal_first,
            head->journal_next, head->stream_first, head->stream_next,
            head->inbox, head->inbox_next, head->has_frame, head->has_ttl);
    if (alike) {
        fputc('\n', out);
        return;
    }
    put_text(out, "owner", head->lease.owner);
    fprintf(out, " fence %" PRIu64 " until %" PRId64 " ", head->lease.fence,
            head->lease.until_ms);
    put_digest(out, head->digest);
}

static void put_entry(FILE *out, const pdr_entry *row)
{
    fprintf(out, "  entry %" PRIu64 " %d %d %" PRId64, row->seq, (int)row->kind,
            (int)row->shape, row->created_ms);
    put_text(out, "id", row->correlation_id);
    put_text(out, "separator", row->separator);
    put_text(out, "body", row->body);
    put_digest(out, row->digest);
}

static void put_completion(FILE *out, const pdr_completion *row)
{
    fprintf(out,
            "  completion at %" PRId64 " epoch %" PRIu64 " %" PRIu64
            "-%" PRIu64,
            row->at_ms, alike ? 0 : row->epoch, row->first_seq, row->last_seq);
    put_text(out, "id", row->correlation_id);
    put_text(out, "fingerprint", row->fingerprint);
    put_text(out, "outcome", row->outcome);
    put_digest(out, row->digest);
}

static void put_work(FILE *out, const pdr_work *row)
{
    fprintf(out, "  work %" PRIu64 " due %" PRId64, unnumbered ? 0 : row->n,
            row->due_ms);
    put_text(out, "kind", row->kind);
    put_text(out, "id", row->correlation_id);
    put_text(out, "body", row->body);
    put_digest(out, row->digest);
}

/* Slots and properties. */
static void put_pair(FILE *out, pdr_str key, pdr_str value, pdr_str match,
                     const uint8_t *digest)
{
    fprintf(out, "  pair");
    put_text(out, "key", key);
    put_text(out, "value", value);
    put_text(out, "match", match);
    put_digest(out, digest);
}

static void put_page(FILE *out, const pdr_page *page)
{
    for (size_t i = 0; i < page->count; i++) {
        if (page->entries != NULL)
            put_entry(out, &page->entries[i]);
        else if (page->slots != NULL)
            put_pair(out, page->slots[i].key, page->slots[i].value,
                     pdr_str_n(NULL, 0), page->slots[i].digest);
        else if (page->properties != NULL)
            put_pair(out, page->properties[i].key, page->properties[i].value,
                     page->properties[i].match, page->properties[i].digest);
        else if (page->completions != NULL)
            put_completion(out, &page->completions[i]);
        else if (page->work != NULL)
            put_work(out, &page->work[i]);
        else
            put_head(out, &page->sessions[i]);
    }
    if (page->frame.ptr != NULL)
        put_text(out, "frame", page->frame);
}

typedef pdr_rc (*page_fn)(FILE *out, pdr_store *store, const pdr_page *page,
                          pdr_err *err);

static pdr_rc put_rows(FILE *out, pdr_store *store, const pdr_page *page,
                       pdr_err *err)
{
    (void)store;
    (void)err;
    put_page(out, page);
    return PDR_OK;
}

/* All pages of a query. */
static pdr_rc walk(FILE *out, pdr_store *store, pdr_query query, page_fn fn,
                   pdr_err *err)
{
    pdr_page *page = NULL, *before = NULL;
    pdr_rc rc = PDR_OK;

    query.limit = PAGE;
    do {
        rc = pdr_store_read(&page, store, &query, err);
        pdr_page_free(before); /* the cursor was in it */
        before = page;
        if (rc == PDR_OK)
            rc = fn(out, store, page, err);
        if (rc == PDR_OK)
            query.after = page->next;
        query.limit *= query.limit * 3 <= MAX_PAGE ? 3 : 1; /* lists are long */
    } while (rc == PDR_OK && query.after.ptr != NULL);
    pdr_page_free(before);
    return rc;
}

static pdr_rc put_session(FILE *out, pdr_store *store, const pdr_head *head,
                          pdr_err *err)
{
    static const pdr_read_what parts[] = {
        PDR_READ_ENTRIES,     PDR_READ_SLOTS,   PDR_READ_PROPERTIES,
        PDR_READ_COMPLETIONS, PDR_READ_JOURNAL, PDR_READ_STREAM,
        PDR_READ_INBOX,       PDR_READ_FRAME};
    pdr_rc rc = PDR_OK;

    put_head(out, head);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && rc == PDR_OK;
         i++) {
        pdr_query query = {.what = parts[i], .ref = head->ref};
        if (parts[i] == PDR_READ_FRAME && !head->has_frame)
            break;
        unnumbered = alike && parts[i] == PDR_READ_INBOX;
        rc = walk(out, store, query, put_rows, err);
        unnumbered = false;
        fprintf(out, "  %d end\n", (int)parts[i]);
    }
    return rc;
}

static pdr_rc put_sessions(FILE *out, pdr_store *store, const pdr_page *page,
                           pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < page->count && rc == PDR_OK; i++)
        rc = put_session(out, store, &page->sessions[i], err);
    return rc;
}

/* The text, or nothing if it could not be read. */
static char *finish(FILE *out, char **text, pdr_rc rc)
{
    fclose(out);
    if (rc == PDR_OK)
        return *text;
    free(*text);
    return NULL;
}

char *work_text(pdr_store *store, pdr_err *err)
{
    pdr_query query = {.what = PDR_READ_ALL};
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    ASSERT(out != NULL);
    return finish(out, &text, walk(out, store, query, put_sessions, err));
}

char *work_alike_text(pdr_store *store, pdr_err *err)
{
    char *text = NULL;

    alike = true;
    text = work_text(store, err);
    alike = false;
    return text;
}

char *work_session_text(pdr_store *store, pdr_str id, pdr_err *err)
{
    pdr_query query = {.what = PDR_READ_HEAD, .ref.id = id};
    pdr_page *page = NULL;
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    pdr_rc rc = pdr_store_read(&page, store, &query, err);

    ASSERT(out != NULL);
    if (rc == PDR_OK)
        rc = put_session(out, store, &page->head, err);
    else if (rc == PDR_ENOTFOUND)
        rc = PDR_OK;
    pdr_page_free(page);
    return finish(out, &text, rc);
}

char *work_query_text(pdr_store *store, const pdr_query *query, pdr_err *err)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    ASSERT(out != NULL);
    return finish(out, &text, walk(out, store, *query, put_rows, err));
}

static pdr_rc count_rows(FILE *out, pdr_store *store, const pdr_page *page,
                         pdr_err *err)
{
    (void)store;
    (void)err;
    for (size_t i = 0; i < page->count; i++)
        fputc('.', out);
    return PDR_OK;
}

size_t work_entries(pdr_store *store, pdr_str id, pdr_str correlation_id)
{
    pdr_query query = {
        .what = PDR_READ_ENTRIES, .ref.id = id, .key = correlation_id};
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    ASSERT(out != NULL);
    pdr_rc rc = walk(out, store, query, count_rows, NULL);
    fclose(out);
    free(text);
    return rc == PDR_OK || rc == PDR_ENOTFOUND ? len : SIZE_MAX;
}
