/* Documents that were asked for before. */
#include "hook_store.h"
#include "test.h"

#include <perdure/archive.h>

#include "http.h"

struct bench {
    pdr_store *store;
    struct pdr__documents *documents;
    pdr_buf out;
    pdr_export_report report;
    pdr_err err;
};

static size_t reads;
static const char *news; /* imported before the next read; NULL: nothing */

static const pdr_ref one = {.id = {"one", 3}};

/* Put a session with this document in the place of what is there. */
static void put(pdr_store *store, const pdr_ref *ref, pdr_str text)
{
    const pdr_import_opts opts = {.ref = *ref, .replace = true, .now_ms = 1};
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK,
              pdr_import(NULL, store, &opts, &err, pdr_read_str, &text));
}

static void on_read(pdr_store *store, void *arg)
{
    const char *text = news;

    (void)arg;
    reads++;
    news = NULL;
    if (text != NULL)
        put(store, &one, pdr_str_c(text));
}

static void bench_begin(struct bench *b)
{
    *b = (struct bench){.out = PDR_BUF_INIT(SIZE_MAX), .err = PDR_ERR_INIT};
    news = NULL;
    b->store = hook_open(NULL, NULL);
    hook_reads(on_read);
    b->documents = pdr__documents_new();
    ASSERT(b->documents != NULL);
}

static void bench_end(struct bench *b)
{
    pdr_buf_dispose(&b->out);
    pdr__documents_free(b->documents);
    pdr_store_close(b->store);
}

static pdr_rc ask(struct bench *b, const pdr_ref *ref)
{
    reads = 0;
    return pdr__document_read(&b->report, &b->out, b->documents, b->store, ref,
                              &b->err, NULL, NULL);
}

#define SAYS(b, ref, text)                           \
    do {                                             \
        ASSERT_RC(PDR_OK, ask((b), (ref)));          \
        ASSERT_TEXT((text), pdr_buf_str(&(b)->out)); \
    } while (0)

static const char a[] = "{\"stateBag\":{\"n\":1}}";
static const char z[] = "{\"stateBag\":{\"n\":2}}";

TEST(document_read, reads_the_head_alone_of_what_has_not_changed)
{
    struct bench b;
    uint64_t revision = 0;
    size_t whole = 0;

    bench_begin(&b);
    put(b.store, &one, pdr_str_c(a));
    SAYS(&b, &one, a);
    whole = reads;
    revision = b.report.revision;
    ASSERT(whole > 1);
    SAYS(&b, &one, a);
    ASSERT_SIZE(1, reads);
    ASSERT(b.report.revision == revision);
    ASSERT(b.report.epoch > 0);
    put(b.store, &one, pdr_str_c(z));
    SAYS(&b, &one, z);
    ASSERT_SIZE(whole, reads);
    bench_end(&b);
}

TEST(document_read, keeps_what_was_written_if_somebody_writes_meanwhile)
{
    struct bench b;

    bench_begin(&b);
    put(b.store, &one, pdr_str_c(a));
    SAYS(&b, &one, a);
    news = z; /* after the question, before its head is read */
    SAYS(&b, &one, z);
    SAYS(&b, &one, z);
    ASSERT_SIZE(1, reads);
    bench_end(&b);
}

TEST(document_read, tells_sessions_and_tenants_apart)
{
    const pdr_ref other = {.tenant = PDR_LIT("t"), .id = PDR_LIT("one")};
    struct bench b;
    char id[32];

    bench_begin(&b);
    put(b.store, &one, pdr_str_c(a));
    put(b.store, &other, pdr_str_c(z));
    for (int i = 0; i < 2; i++) {
        SAYS(&b, &one, a);
        SAYS(&b, &other, z);
    }
    /* More than there are places, so that some share one. */
    for (int i = 0; i < 200; i++) {
        const pdr_ref ref = {
            .id =
                pdr_str_n(id, (size_t)snprintf(id, sizeof(id), "s%d", i / 2))};
        char text[64];

        snprintf(text, sizeof(text), "{\"stateBag\":{\"n\":%d}}", i / 2);
        if (i % 2 == 0)
            put(b.store, &ref, pdr_str_c(text));
        SAYS(&b, &ref, text);
    }
    SAYS(&b, &one, a);
    bench_end(&b);
}

TEST(document_read, finds_nothing_where_a_session_was_deleted)
{
    const pdr_commit_options now = {.now_ms = 2};
    pdr_edit edit = {.ref = one, .remove = true};
    struct bench b;

    bench_begin(&b);
    put(b.store, &one, pdr_str_c(a));
    SAYS(&b, &one, a);
    edit.revision = b.report.revision;
    edit.epoch = b.report.epoch;
    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, b.store, &edit, 1, &now, &b.err));
    ASSERT_RC(PDR_ENOTFOUND, ask(&b, &one));
    put(b.store, &one, pdr_str_c(z)); /* again the first revision of its id */
    SAYS(&b, &one, z);
    bench_end(&b);
}

/* A session whose document has so many bytes and some more. */
static void put_large(struct bench *b, const pdr_ref *ref, size_t bytes)
{
    static const char head[] = "{\"stateBag\":{\"n\":\"", end[] = "\"}}";
    const size_t start = sizeof(head) - 1;
    char *text = malloc(start + bytes + sizeof(end));

    ASSERT(text != NULL);
    memcpy(text, head, start);
    memset(text + start, 'x', bytes);
    memcpy(text + start + bytes, end, sizeof(end));
    put(b->store, ref, pdr_str_c(text));
    free(text);
}

TEST(document_read, forgets_others_before_it_takes_too_much_memory)
{
    enum { COUNT = 9, FIT = 6 };
    const pdr_ref refs[COUNT] = {
        {.id = PDR_LIT("1")}, {.id = PDR_LIT("2")}, {.id = PDR_LIT("3")},
        {.id = PDR_LIT("4")}, {.id = PDR_LIT("5")}, {.id = PDR_LIT("6")},
        {.id = PDR_LIT("7")}, {.id = PDR_LIT("8")}, {.id = PDR_LIT("9")}};
    struct bench b;
    int kept = 0;

    bench_begin(&b);
    for (int i = 0; i < COUNT; i++) {
        put_large(&b, &refs[i], 5u << 20);
        ASSERT_RC(PDR_OK, ask(&b, &refs[i]));
    }
    for (int i = 0; i < COUNT; i++) {
        ASSERT_RC(PDR_OK, ask(&b, &refs[i]));
        kept += reads == 1;
    }
    ASSERT(kept <= FIT);
    put_large(&b, &one, 9u << 20);
    for (int i = 0; i < 2; i++) {
        ASSERT_RC(PDR_OK, ask(&b, &one));
        ASSERT(reads > 1);
    }
    bench_end(&b);
}

/* A pdr_export_head_fn. */
static pdr_rc on_head(const pdr_head *head, pdr_err *err, void *arg)
{
    (void)head;
    (void)arg;
    return PDR_FAIL(err, BAD_REF, "%s", "not this one");
}

TEST(document_read, gives_nothing_that_the_caller_refuses)
{
    struct bench b;

    bench_begin(&b);
    put(b.store, &one, pdr_str_c(a));
    SAYS(&b, &one, a);
    ASSERT_RC(PDR_EINVALID,
              pdr__document_read(&b.report, &b.out, b.documents, b.store, &one,
                                 &b.err, on_head, NULL));
    ASSERT_SIZE(0, b.out.len);
    bench_end(&b);
}

TEST_OOM(document_read, gives_all_or_nothing)
{
    struct bench b;
    pdr_rc rc = PDR_OK;

    b = (struct bench){.out = PDR_BUF_INIT(SIZE_MAX), .err = PDR_ERR_INIT};
    news = NULL;
    if (pdr_store_open(&b.store, "memory:", NULL) == PDR_OK &&
        (b.documents = pdr__documents_new()) != NULL) {
        const pdr_import_opts opts = {.ref = one, .now_ms = 1};
        pdr_str text = pdr_str_c(a);

        rc = pdr_import(NULL, b.store, &opts, NULL, pdr_read_str, &text);
        for (int i = 0; rc == PDR_OK && i < 2; i++) {
            rc = ask(&b, &one);
            if (rc == PDR_OK)
                ASSERT_TEXT(a, pdr_buf_str(&b.out));
        }
        ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    }
    bench_end(&b);
}
