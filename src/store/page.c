/*
 * page.c - one page of rows, while a backend fills it.
 *
 * WHY  A backend hands back rows whose texts it is about to forget. A page
 *      copies them, tells the backend when to stop, and knows where the list
 *      goes on. All of its memory is one arena.
 *
 * NOT HERE  Whether the rows are what was committed: page_check.c.
 */
#include "store.h"

#define PAGE_BYTES                                            \
    SIZE_MAX /* rows are limited one by one when they come in \
              */

static struct pdr__page *inside(const pdr_page *page)
{
    return PDR_CONTAINER_OF(page, struct pdr__page, page);
}

/* --- making and releasing ------------------------------------------------ */

static size_t row_bytes(pdr_read_what what)
{
    switch (what) {
    case PDR_READ_HEAD:
    case PDR_READ_FRAME:
        return 0;
    case PDR_READ_ENTRIES:
        return sizeof(pdr_entry);
    case PDR_READ_SLOTS:
        return sizeof(pdr_slot);
    case PDR_READ_PROPERTIES:
        return sizeof(pdr_property);
    case PDR_READ_COMPLETIONS:
        return sizeof(pdr_completion);
    case PDR_READ_JOURNAL:
    case PDR_READ_STREAM:
    case PDR_READ_INBOX:
    case PDR_READ_DUE:
        return sizeof(pdr_work);
    case PDR_READ_SESSIONS:
    case PDR_READ_EXPIRED:
    case PDR_READ_ALL:
        return sizeof(pdr_head);
    }
    return 0;
}

/* Show the array under the name that the query has for it. */
static void show_rows(struct pdr__page *page)
{
    pdr_page *shown = &page->page;

    switch (page->query->what) {
    case PDR_READ_HEAD:
    case PDR_READ_FRAME:
        break;
    case PDR_READ_ENTRIES:
        shown->entries = page->rows;
        break;
    case PDR_READ_SLOTS:
        shown->slots = page->rows;
        break;
    case PDR_READ_PROPERTIES:
        shown->properties = page->rows;
        break;
    case PDR_READ_COMPLETIONS:
        shown->completions = page->rows;
        break;
    case PDR_READ_JOURNAL:
    case PDR_READ_STREAM:
    case PDR_READ_INBOX:
    case PDR_READ_DUE:
        shown->work = page->rows;
        break;
    case PDR_READ_SESSIONS:
    case PDR_READ_EXPIRED:
    case PDR_READ_ALL:
        shown->sessions = page->rows;
        break;
    }
}

static pdr_rc make_before(struct pdr__page *page, pdr_err *err)
{
    size_t bytes = page->query->limit * sizeof(*page->before);
    void *memory = NULL;
    pdr_rc rc = pdr__arena_alloc(&memory, &page->memory, bytes, err);

    if (rc == PDR_OK)
        memset(memory, 0, bytes);
    page->before = memory;
    return rc;
}

static pdr_rc prepare(struct pdr__page *page, pdr_err *err)
{
    size_t bytes = row_bytes(page->query->what) * page->query->limit;
    pdr_rc rc = PDR_OK;

    if (bytes > 0)
        rc = pdr__arena_alloc(&page->rows, &page->memory, bytes, err);
    if (rc == PDR_OK && page->query->what == PDR_READ_ENTRIES)
        rc = make_before(page, err);
    if (rc == PDR_OK)
        rc = pdr__cursor_read(&page->place, &page->memory, page->query, err);
    if (rc == PDR_OK)
        show_rows(page);
    return rc;
}

pdr_rc pdr__page_new(struct pdr__page **out, const pdr_query *query,
                     pdr_err *err)
{
    struct pdr__page *page = pdr__calloc(1, sizeof(*page));
    pdr_rc rc = PDR_OK;

    *out = NULL;
    if (page == NULL)
        return pdr__nomem(err);
    page->memory = (struct pdr__arena)PDR_ARENA_INIT(PAGE_BYTES);
    page->query = query;
    rc = prepare(page, err);
    if (rc == PDR_OK)
        *out = page;
    else
        pdr_page_free(&page->page);
    return rc;
}

void pdr_page_free(pdr_page *page)
{
    struct pdr__page *whole = NULL;

    if (page == NULL)
        return;
    whole = inside(page);
    pdr__arena_dispose(&whole->memory);
    pdr__free(whole);
}

/* --- filling ------------------------------------------------------------- */

const pdr_list_place *pdr_page_place(const pdr_page *page)
{
    return &inside(page)->place;
}

bool pdr_page_has_room(const pdr_page *page)
{
    const struct pdr__page *whole = inside(page);

    return page->count < whole->query->limit &&
           (page->count == 0 || whole->bytes < whole->query->max_bytes);
}

void pdr_page_more(pdr_page *page)
{
    inside(page)->more = true;
}

void pdr_page_before(pdr_page *page, const pdr_digest digest)
{
    struct pdr__before *before = NULL;

    assert(page->count > 0 && page->entries != NULL);
    before = &inside(page)->before[page->count - 1];
    memcpy(before->digest, digest, PDR_DIGEST_BYTES);
    before->known = true;
}

/* Make the texts of a row the page's own, all in one piece of memory. Each ends
 * with a NUL. */
static pdr_rc keep_all(pdr_str *const *texts, size_t count,
                       struct pdr__page *page, pdr_err *err)
{
    size_t size = 0;
    void *memory = NULL;
    char *to = NULL;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < count; i++)
        if (texts[i]->ptr != NULL &&
            (!pdr__add_size(&size, size, 1) ||
             !pdr__add_size(&size, size, texts[i]->len)))
            return pdr__nomem(err);
    rc = pdr__arena_alloc(&memory, &page->memory, size, err);
    if (rc != PDR_OK)
        return rc;
    to = memory;
    for (size_t i = 0; i < count; i++) {
        if (texts[i]->ptr == NULL)
            continue;
        memcpy(to, texts[i]->ptr, texts[i]->len);
        texts[i]->ptr = to;
        to += texts[i]->len;
        *to++ = '\0';
        page->bytes += texts[i]->len;
    }
    return PDR_OK;
}

static pdr_rc keep_head(pdr_head *head, struct pdr__page *page, pdr_err *err)
{
    pdr_str *const texts[] = {&head->ref.tenant,     &head->ref.id,
                              &head->agent,          &head->kind,
                              &head->schema_version, &head->lease.owner};

    return keep_all(texts, PDR_COUNT(texts), page, err);
}

pdr_rc pdr_page_head(pdr_page *page, const pdr_head *head, pdr_err *err)
{
    struct pdr__page *whole = inside(page);
    pdr_rc rc = PDR_OK;

    page->head = *head;
    rc = keep_head(&page->head, whole, err);
    whole->has_head = rc == PDR_OK;
    whole->bytes = 0;
    return rc;
}

pdr_rc pdr_page_add_entry(pdr_page *page, const pdr_entry *row, pdr_err *err)
{
    struct pdr__page *whole = inside(page);
    pdr_entry *to = (pdr_entry *)whole->rows + page->count;
    pdr_str *const texts[] = {&to->correlation_id, &to->separator, &to->body};
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(page->entries != NULL && page->count < whole->query->limit);
    *to = *row;
    rc = keep_all(texts, PDR_COUNT(texts), whole, err);
    page->count += rc == PDR_OK;
    return rc;
}

pdr_rc pdr_page_add_slot(pdr_page *page, const pdr_slot *row, pdr_err *err)
{
    struct pdr__page *whole = inside(page);
    pdr_slot *to = (pdr_slot *)whole->rows + page->count;
    pdr_str *const texts[] = {&to->key, &to->value};
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(page->slots != NULL && page->count < whole->query->limit);
    *to = *row;
    rc = keep_all(texts, PDR_COUNT(texts), whole, err);
    page->count += rc == PDR_OK;
    return rc;
}

pdr_rc pdr_page_add_property(pdr_page *page, const pdr_property *row,
                             pdr_err *err)
{
    struct pdr__page *whole = inside(page);
    pdr_property *to = (pdr_property *)whole->rows + page->count;
    pdr_str *const texts[] = {&to->key, &to->value, &to->match};
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(page->properties != NULL && page->count < whole->query->limit);
    *to = *row;
    rc = keep_all(texts, PDR_COUNT(texts), whole, err);
    page->count += rc == PDR_OK;
    return rc;
}

pdr_rc pdr_page_add_completion(pdr_page *page, const pdr_completion *row,
                               pdr_err *err)
{
    struct pdr__page *whole = inside(page);
    pdr_completion *to = (pdr_completion *)whole->rows + page->count;
    pdr_str *const texts[] = {&to->correlation_id, &to->fingerprint,
                              &to->outcome};
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(page->completions != NULL && page->count < whole->query->limit);
    *to = *row;
    rc = keep_all(texts, PDR_COUNT(texts), whole, err);
    page->count += rc == PDR_OK;
    return rc;
}

pdr_rc pdr_page_add_work(pdr_page *page, const pdr_work *row, pdr_err *err)
{
    struct pdr__page *whole = inside(page);
    pdr_work *to = (pdr_work *)whole->rows + page->count;
    pdr_str *const texts[] = {&to->session.tenant, &to->session.id, &to->kind,
                              &to->correlation_id, &to->body};
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(page->work != NULL && page->count < whole->query->limit);
    *to = *row;
    rc = keep_all(texts, PDR_COUNT(texts), whole, err);
    if (to->session.id.ptr == NULL) {
        to->session = page->head.ref;
        to->epoch = page->head.epoch;
    }
    page->count += rc == PDR_OK;
    return rc;
}

pdr_rc pdr_page_add_session(pdr_page *page, const pdr_head *row, pdr_err *err)
{
    struct pdr__page *whole = inside(page);
    pdr_head *to = (pdr_head *)whole->rows + page->count;
    pdr_rc rc = PDR_OK;

    PDR_REQUIRE(page->sessions != NULL && page->count < whole->query->limit);
    *to = *row;
    rc = keep_head(to, whole, err);
    page->count += rc == PDR_OK;
    return rc;
}

pdr_rc pdr_page_set_frame(pdr_page *page, pdr_str frame,
                          const pdr_digest digest, pdr_err *err)
{
    struct pdr__page *whole = inside(page);
    pdr_str *const texts[] = {&page->frame};

    page->frame = frame;
    memcpy(whole->frame, digest, PDR_DIGEST_BYTES);
    return keep_all(texts, PDR_COUNT(texts), whole, err);
}
