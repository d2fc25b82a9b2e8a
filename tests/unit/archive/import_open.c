/* A store that is opened when the first commit is about to be made. */
#include <perdure/archive.h>

#include "flow.h"
#include "test.h"

#define NOW INT64_C(1800000000000)

/* Who opens the store, and how often. */
struct opener {
    pdr_store *store; /* what it opens */
    size_t calls;
    bool fails;
};

static pdr_rc open_late(pdr_store **out, pdr_err *err, void *arg)
{
    struct opener *opener = arg;

    opener->calls++;
    if (opener->fails)
        return pdr_err_set(err, PDR_EDENIED, "closed_today", "closed");
    *out = opener->store;
    return PDR_OK;
}

static struct opener new_opener(void)
{
    struct opener opener = {NULL, 0, false};

    ASSERT_RC(PDR_OK, pdr_store_open(&opener.store, "memory:", NULL));
    return opener;
}

static pdr_import_opts opts_for(struct opener *opener, const char *id)
{
    pdr_import_opts opts = {
        .now_ms = NOW, .open = open_late, .open_arg = opener};

    if (id != NULL)
        opts.ref.id = pdr_str_c(id);
    return opts;
}

static pdr_rc import_late(struct opener *opener, const pdr_import_opts *opts,
                          const struct flow_piece *pieces, pdr_err *err)
{
    struct flow flow;

    opener->calls = 0;
    flow_init(&flow, pieces);
    return pdr_import(NULL, NULL, opts, err, flow_read, &flow);
}

static uint64_t count_entries(pdr_store *store, const char *id)
{
    const pdr_query query = {.what = PDR_READ_HEAD,
                             .ref = {.id = pdr_str_c(id)}};
    pdr_page *page = NULL;
    uint64_t count = 0;

    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    count = page->head.next_seq - page->head.first_seq;
    pdr_page_free(page);
    return count;
}

#define HISTORY \
    "{\"schemaVersion\":\"1.1.0\",\"data\":{\"conversationHistory\":["

static const struct flow_piece small[] = {{HISTORY "{}]}}", 1}, {NULL, 0}};

TEST(import_open, is_asked_once_for_any_document)
{
    /* Many rows, many bytes, one row that is larger than a commit. */
    static const struct flow_piece rows[] = {
        {HISTORY, 1}, {"{},", 60000}, {"{}]}}", 1}, {NULL, 0}};
    static const struct flow_piece bytes[] = {
        {HISTORY, 1},
        {"{\"text\":\"some words that are here to make it longer\"},", 200000},
        {"{}]}}", 1},
        {NULL, 0}};
    static const struct flow_piece large[] = {{HISTORY "{},{\"x\":\"", 1},
                                              {"0123456789", 500000},
                                              {"\"},{}]}}", 1},
                                              {NULL, 0}};
    static const struct flow_piece slots[] = {{"{\"stateBag\":{\"a\":\"", 1},
                                              {"0123456789", 419000},
                                              {"\",\"b\":\"", 1},
                                              {"0123456789", 400},
                                              {"\",\"c\":1}}", 1},
                                              {NULL, 0}};
    static const struct {
        const struct flow_piece *pieces;
        uint64_t entries;
    } cases[] = {
        {small, 1}, {rows, 60001}, {bytes, 200001}, {large, 3}, {slots, 0}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct opener opener = new_opener();
        const pdr_import_opts opts = opts_for(&opener, "s");

        ASSERT_RC(PDR_OK, import_late(&opener, &opts, cases[i].pieces, NULL));
        ASSERT_SIZE(1, opener.calls);
        ASSERT_INT(cases[i].entries, count_entries(opener.store, "s"));
        pdr_store_close(opener.store);
    }
}

TEST(import_open, is_not_asked_for_what_is_refused)
{
    static const struct {
        const char *reason, *text;
    } cases[] = {
        {"unexpected_end", "{\"session_id\":"},
        {"session_unknown_shape", "{\"a\":1}"},
        {"bag_not_object", "{\"stateBag\":5}"},
        {"history_shape", HISTORY "{},5]}}"},
        {"wrong_kind", "{\"session\":{},\"additionalProperties\":5}"},
        {"trailing_data", "{\"stateBag\":{\"a\":1}} 5"},
        {"schema_version_unsupported", "{\"schemaVersion\":\"2.0.0\","
                                       "\"data\":{}}"},
    };
    struct opener opener = new_opener();
    const pdr_import_opts opts = opts_for(&opener, "s");

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct flow_piece pieces[] = {{cases[i].text, 1}, {NULL, 0}};
        pdr_err err = PDR_ERR_INIT;

        ASSERT(import_late(&opener, &opts, pieces, &err) != PDR_OK);
        ASSERT_STR(cases[i].reason, err.reason);
        ASSERT_SIZE(0, opener.calls);
    }
    pdr_store_close(opener.store);
}

TEST(import_open, is_not_asked_for_a_name_that_no_store_can_have)
{
    static char longest[2000];
    struct opener opener = new_opener();
    pdr_import_opts opts[] = {opts_for(&opener, NULL), opts_for(&opener, "@x"),
                              opts_for(&opener, "s"), opts_for(&opener, "s")};
    static const char *const reasons[] = {"no_session_id", "bad_ref", "bad_ref",
                                          "bad_edit"};

    memset(longest, 'x', sizeof(longest));
    opts[2].ref.tenant = pdr_str_n(longest, sizeof(longest));
    opts[3].agent = pdr_str_n(longest, sizeof(longest));
    for (size_t i = 0; i < sizeof(opts) / sizeof(opts[0]); i++) {
        pdr_err err = PDR_ERR_INIT, usual = PDR_ERR_INIT;
        struct flow flow;

        ASSERT(import_late(&opener, &opts[i], small, &err) != PDR_OK);
        ASSERT_STR(reasons[i], err.reason);
        ASSERT_SIZE(0, opener.calls);
        /* With a store it is said in the same words. */
        flow_init(&flow, small);
        ASSERT(pdr_import(NULL, opener.store, &opts[i], &usual, flow_read,
                          &flow) != PDR_OK);
        ASSERT_STR(usual.message, err.message);
        ASSERT_STR(usual.path, err.path);
    }
    pdr_store_close(opener.store);
}

TEST(import_open, ends_the_import_if_it_fails)
{
    struct opener opener = new_opener();
    const pdr_import_opts opts = opts_for(&opener, "s");
    pdr_err err = PDR_ERR_INIT;

    opener.fails = true;
    ASSERT_RC(PDR_EDENIED, import_late(&opener, &opts, small, &err));
    ASSERT_STR("closed_today", err.reason);
    ASSERT_SIZE(1, opener.calls);
    pdr_store_close(opener.store);
}

TEST(import_open, may_find_the_session_there)
{
    struct opener opener = new_opener();
    pdr_import_opts opts = opts_for(&opener, "s");
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, import_late(&opener, &opts, small, NULL));
    ASSERT_RC(PDR_EEXISTS, import_late(&opener, &opts, small, &err));
    ASSERT_STR("session_exists", err.reason);
    opts.replace = true;
    ASSERT_RC(PDR_OK, import_late(&opener, &opts, small, NULL));
    pdr_store_close(opener.store);
}

TEST_OOM(import_open, survives_failed_allocations)
{
    struct opener opener = {NULL, 0, false};
    const pdr_import_opts opts = opts_for(&opener, "s");
    pdr_rc rc = pdr_store_open(&opener.store, "memory:", NULL);

    if (rc == PDR_OK)
        rc = import_late(&opener, &opts, small, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_store_close(opener.store);
}
