/*
 * suite.c - opens stores, commits and reads for the tests of the suite.
 *
 * A refusal must change nothing, and that is easily half checked. So each
 * refusal here hashes the whole store before and after, and each store is
 * verified when a test is through with it.
 */
#include "suite.h"

static const char *uri; /* of the store that is open */

/* --- stores --------------------------------------------------------------- */

static pdr_store *open_uri(const char *which)
{
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_store_open(&store, which, &err);

    if (rc != PDR_OK)
        fail_msg("%s: %s", which, err.message);
    return store;
}

pdr_store *suite_open(void)
{
    uri = suite_backend.place();
    return open_uri(uri);
}

pdr_store *suite_open_again(void)
{
    return open_uri(uri);
}

pdr_store *suite_open_read_only(void)
{
    return open_uri(suite_backend.read_only(uri));
}

pdr_store *suite_reopen(pdr_store *store)
{
    pdr_store_close(store);
    return open_uri(uri);
}

static void complain(void *arg, const char *table, const char *row,
                     const char *what)
{
    (void)arg;
    print_error("%s %s: %s\n", table, row, what);
}

void suite_close(pdr_store *store)
{
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_store_verify(NULL, store, NULL, &err, complain, NULL);

    if (rc != PDR_OK)
        fail_msg("%s: %s", uri, err.message);
    pdr_store_close(store);
    suite_backend.clear(uri);
}

/* --- writing -------------------------------------------------------------- */

/* A writer is told of the head as a reader has it, but for texts. */
static void check_told(pdr_store *store, const pdr_edit *edit,
                       const pdr_committed *done)
{
    const pdr_query query = {.what = PDR_READ_HEAD, .ref = edit->ref};
    pdr_page *page = NULL;

    if (pdr_store_read(&page, store, &query, NULL) == PDR_OK) {
        ASSERT(memcmp(page->head.digest, done->head.digest, /* of all of it */
                      sizeof(done->head.digest)) == 0);
        ASSERT_INT(page->head.commits, done->head.commits);
        ASSERT_INT(page->head.inbox, done->head.inbox);
        ASSERT(done->head.ref.id.ptr == NULL && done->head.kind.ptr == NULL);
    }
    pdr_page_free(page);
}

static pdr_committed must_request(pdr_store *store, const pdr_request *request)
{
    pdr_committed done = {0};
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = commit_request(&done, store, request, &err);

    if (rc != PDR_OK)
        fail_msg("refused: %s: %s (%s)", pdr_rc_name(rc), err.message,
                 err.path);
    if (request->stage == NULL && !request->edits->remove)
        check_told(store, request->edits, &done);
    return done;
}

pdr_committed must_commit_at(pdr_store *store, const pdr_edit *edit,
                             int64_t now_ms)
{
    const pdr_request request = {
        .edits = edit, .count = 1, .options = {.now_ms = now_ms}};

    return must_request(store, &request);
}

pdr_committed must_commit(pdr_store *store, const pdr_edit *edit)
{
    return must_commit_at(store, edit, NOW);
}

pdr_committed must_step_at(pdr_store *store, const struct store_step *step,
                           int64_t now_ms)
{
    const pdr_request request = step_request(step, now_ms);

    return must_request(store, &request);
}

pdr_committed must_step(pdr_store *store, const struct store_step *step)
{
    return must_step_at(store, step, NOW);
}

static void refuse_request(pdr_rc rc, const char *reason, pdr_store *store,
                           const pdr_request *request)
{
    uint64_t before = suite_hash(store);
    pdr_committed out[8];
    pdr_committed untouched[8];
    pdr_err err = PDR_ERR_INIT;

    ASSERT(request->count <= COUNT(out));
    memset(out, 0xA5, sizeof(out));
    memcpy(untouched, out, sizeof(out));
    ASSERT_RC(rc, commit_request(out, store, request, &err));
    ASSERT_STR(reason, err.reason);
    ASSERT_RC(rc, err.code);
    ASSERT(err.message[0] != '\0');
    assert_memory_equal(untouched, out, sizeof(out));
    ASSERT(before == suite_hash(store)); /* refused: nothing changed */
}

void must_refuse_at(pdr_rc rc, const char *reason, pdr_store *store,
                    const pdr_edit *edit, int64_t now_ms)
{
    const pdr_request request = {
        .edits = edit, .count = 1, .options = {.now_ms = now_ms}};

    refuse_request(rc, reason, store, &request);
}

void must_refuse(pdr_rc rc, const char *reason, pdr_store *store,
                 const pdr_edit *edit)
{
    must_refuse_at(rc, reason, store, edit, NOW);
}

void must_refuse_all(pdr_rc rc, const char *reason, pdr_store *store,
                     const pdr_edit *edits, size_t count)
{
    const pdr_request request = {
        .edits = edits, .count = count, .options = {.now_ms = NOW}};

    refuse_request(rc, reason, store, &request);
}

void must_refuse_step(pdr_rc rc, const char *reason, pdr_store *store,
                      const struct store_step *step)
{
    const pdr_request request = step_request(step, NOW);

    refuse_request(rc, reason, store, &request);
}

pdr_committed must_create(pdr_store *store, const char *id)
{
    const pdr_edit edit = {.ref = {.id = pdr_str_c(id)}};

    return must_commit(store, &edit);
}

pdr_committed must_append(pdr_store *store, const char *id, uint64_t revision,
                          size_t first, size_t count)
{
    pdr_entry *entries = calloc(count, sizeof(*entries));
    char(*bodies)[32] = calloc(count, sizeof(*bodies));
    pdr_edit edit = {.ref = {.id = pdr_str_c(id)},
                     .revision = revision,
                     .entries = entries,
                     .entry_count = count};

    for (size_t i = 0; i < count; i++) {
        snprintf(bodies[i], sizeof(bodies[i]), "{\"n\":%zu}", first + i);
        entries[i].kind =
            (first + i) % 2 == 1 ? PDR_ROW_REQUEST : PDR_ROW_RESPONSE;
        entries[i].created_ms = NOW + (int64_t)(first + i);
        entries[i].body = pdr_str_c(bodies[i]);
    }
    pdr_committed done = must_commit(store, &edit);
    free(bodies);
    free(entries);
    return done;
}

/* --- reading -------------------------------------------------------------- */

pdr_page *must_read(pdr_store *store, const pdr_query *query)
{
    pdr_page *page = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_store_read(&page, store, query, &err);

    if (rc != PDR_OK)
        fail_msg("not read: %s: %s", pdr_rc_name(rc), err.message);
    return page;
}

void must_not_read(pdr_rc rc, const char *reason, pdr_store *store,
                   const pdr_query *query)
{
    pdr_page *page = (pdr_page *)(void *)&page;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(rc, pdr_store_read(&page, store, query, &err));
    ASSERT_STR(reason, err.reason);
    ASSERT(page == NULL);
}

pdr_head head_of(pdr_store *store, const char *id)
{
    const pdr_query query = {.what = PDR_READ_HEAD,
                             .ref = {.id = pdr_str_c(id)}};
    pdr_page *page = must_read(store, &query);
    pdr_head head = page->head;

    head.ref = (pdr_ref){0};
    head.agent = head.kind = head.schema_version = pdr_str_n(NULL, 0);
    if (head.lease.owner.ptr != NULL)
        head.lease.owner = S("somebody");
    pdr_page_free(page);
    return head;
}

bool is_there(pdr_store *store, const char *id)
{
    const pdr_query query = {.what = PDR_READ_HEAD,
                             .ref = {.id = pdr_str_c(id)}};
    pdr_page *page = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_store_read(&page, store, &query, &err);

    ASSERT(rc == PDR_OK || rc == PDR_ENOTFOUND);
    pdr_page_free(page);
    return rc == PDR_OK;
}

size_t read_all(pdr_store *store, const pdr_query *query, size_t limit,
                suite_page_fn fn, void *arg)
{
    pdr_query next = *query;
    char *cursor = NULL;
    size_t rows = 0;

    next.limit = limit;
    for (;;) {
        pdr_page *page = must_read(store, &next);
        ASSERT(limit == 0 || page->count <= limit);
        rows += page->count;
        if (fn != NULL)
            fn(arg, page);
        free(cursor);
        if (page->next.ptr == NULL) {
            pdr_page_free(page);
            return rows;
        }
        ASSERT(page->count > 0);
        cursor = malloc(page->next.len + 1);
        memcpy(cursor, page->next.ptr, page->next.len);
        next.after = pdr_str_n(cursor, page->next.len);
        pdr_page_free(page);
    }
}

/* --- hashes --------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, const void *bytes, size_t len)
{
    const unsigned char *p = bytes;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ p[i]) * UINT64_C(1099511628211);
    return hash;
}

static uint64_t mix_n(uint64_t hash, uint64_t n)
{
    return mix(hash, &n, sizeof(n));
}

static uint64_t mix_text(uint64_t hash, pdr_str text)
{
    if (text.ptr == NULL)
        return mix_n(hash, UINT64_MAX); /* absent is not empty */
    return mix(mix_n(hash, text.len), text.ptr, text.len);
}

static uint64_t mix_head(uint64_t hash, const pdr_head *h)
{
    const pdr_str texts[] = {h->ref.tenant, h->ref.id,         h->agent,
                             h->kind,       h->schema_version, h->lease.owner};
    const uint64_t numbers[] = {(uint64_t)h->state,
                                h->revision,
                                h->commits,
                                h->epoch,
                                (uint64_t)h->created_ms,
                                (uint64_t)h->changed_ms,
                                (uint64_t)h->expiry_ms,
                                h->first_seq,
                                h->next_seq,
                                h->slots,
                                h->properties,
                                h->completions,
                                h->journal_first,
                                h->journal_next,
                                h->stream_first,
                                h->stream_next,
                                h->inbox,
                                h->inbox_next,
                                h->has_frame,
                                h->has_ttl,
                                h->lease.fence,
                                (uint64_t)h->lease.until_ms};

    for (size_t i = 0; i < COUNT(texts); i++)
        hash = mix_text(hash, texts[i]);
    hash = mix(hash, numbers, sizeof(numbers));
    hash = mix(hash, h->anchor, sizeof(h->anchor));
    hash = mix(hash, h->chain, sizeof(h->chain));
    return mix(hash, h->digest, sizeof(h->digest));
}

static uint64_t mix_entry(uint64_t hash, const pdr_entry *row)
{
    hash = mix_n(mix_n(hash, row->seq), (uint64_t)row->kind);
    hash = mix_n(mix_n(hash, (uint64_t)row->shape), (uint64_t)row->created_ms);
    hash = mix_text(mix_text(hash, row->correlation_id), row->separator);
    return mix(mix_text(hash, row->body), row->digest, sizeof(row->digest));
}

static uint64_t mix_work(uint64_t hash, const pdr_work *row)
{
    hash = mix_text(mix_text(hash, row->session.tenant), row->session.id);
    hash = mix_n(mix_n(hash, row->n), (uint64_t)row->due_ms);
    hash = mix_text(mix_text(hash, row->kind), row->correlation_id);
    return mix(mix_text(hash, row->body), row->digest, sizeof(row->digest));
}

static uint64_t mix_completion(uint64_t hash, const pdr_completion *row)
{
    hash = mix_text(mix_text(hash, row->correlation_id), row->fingerprint);
    hash = mix_n(mix_text(hash, row->outcome), (uint64_t)row->at_ms);
    hash = mix_n(mix_n(mix_n(hash, row->epoch), row->first_seq), row->last_seq);
    return mix(hash, row->digest, sizeof(row->digest));
}

uint64_t suite_hash_page(uint64_t hash, const pdr_page *page)
{
    hash = mix_n(mix_head(hash, &page->head), page->count);
    hash = mix_text(hash, page->frame);
    hash = mix_n(hash, page->next.ptr != NULL);
    for (size_t i = 0; i < page->count; i++) {
        if (page->entries != NULL)
            hash = mix_entry(hash, &page->entries[i]);
        if (page->slots != NULL) {
            const pdr_slot *row = &page->slots[i];
            hash = mix_text(mix_text(hash, row->key), row->value);
            hash = mix(hash, row->digest, sizeof(row->digest));
        }
        if (page->properties != NULL) {
            const pdr_property *row = &page->properties[i];
            hash = mix_text(mix_text(hash, row->key), row->value);
            hash = mix_text(hash, row->match);
            hash = mix(hash, row->digest, sizeof(row->digest));
        }
        if (page->completions != NULL)
            hash = mix_completion(hash, &page->completions[i]);
        if (page->work != NULL)
            hash = mix_work(hash, &page->work[i]);
        if (page->sessions != NULL)
            hash = mix_head(hash, &page->sessions[i]);
    }
    return hash;
}

struct hashing {
    pdr_store *store;
    uint64_t hash;
};

static void hash_page(void *arg, const pdr_page *page)
{
    uint64_t *hash = arg;

    *hash = suite_hash_page(*hash, page);
}

static void hash_session(struct hashing *h, const pdr_head *head)
{
    static const pdr_read_what tables[] = {
        PDR_READ_ENTRIES, PDR_READ_SLOTS,      PDR_READ_PROPERTIES,
        PDR_READ_JOURNAL, PDR_READ_STREAM,     PDR_READ_INBOX,
        PDR_READ_FRAME,   PDR_READ_COMPLETIONS};

    for (size_t i = 0; i < COUNT(tables); i++) {
        const pdr_query query = {.what = tables[i], .ref = head->ref};
        if (tables[i] == PDR_READ_FRAME && !head->has_frame)
            continue;
        (void)read_all(h->store, &query, 200, hash_page, &h->hash);
    }
}

static void hash_sessions(void *arg, const pdr_page *page)
{
    struct hashing *h = arg;

    h->hash = suite_hash_page(h->hash, page);
    for (size_t i = 0; i < page->count; i++)
        hash_session(h, &page->sessions[i]);
}

uint64_t suite_hash(pdr_store *store)
{
    struct hashing h = {store, SUITE_HASH_INIT};
    const pdr_query all = {.what = PDR_READ_ALL};
    const pdr_query list = {.what = PDR_READ_SESSIONS};
    const pdr_query expired = {.what = PDR_READ_EXPIRED, .now_ms = NOW * 2};
    const pdr_query due = {.what = PDR_READ_DUE, .now_ms = NOW * 2};

    (void)read_all(store, &all, 200, hash_sessions, &h);
    (void)read_all(store, &list, 200, hash_page, &h.hash);
    (void)read_all(store, &expired, 200, hash_page, &h.hash);
    (void)read_all(store, &due, 200, hash_page, &h.hash);
    return h.hash;
}
