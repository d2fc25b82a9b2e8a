/* How often an import walks over its input. */
#include <perdure/archive.h>

#include "base.h"
#include "flow.h"
#include "test.h"

/* What walks asked for, and what they were given. */
static struct {
    size_t walks;
    uint64_t bytes;
    pdr_read_fn fn; /* of the last one */
    void *arg;
} counted;

static pdr_rc count_bytes(size_t *got, void *into, size_t cap, pdr_err *err,
                          void *arg)
{
    pdr_rc rc = counted.fn(got, into, cap, err, counted.arg);

    (void)arg;
    if (rc == PDR_OK)
        counted.bytes += *got;
    return rc;
}

/* The linker puts it in the place of the real one. */
pdr_rc __real_pdr_walk_new(pdr_walk **out, const pdr_codec *codec,
                           const pdr_read_opts *opts, pdr_err *err,
                           pdr_read_fn fn, void *arg);
pdr_rc __wrap_pdr_walk_new(pdr_walk **out, const pdr_codec *codec,
                           const pdr_read_opts *opts, pdr_err *err,
                           pdr_read_fn fn, void *arg);
pdr_rc __wrap_pdr_walk_new(pdr_walk **out, const pdr_codec *codec,
                           const pdr_read_opts *opts, pdr_err *err,
                           pdr_read_fn fn, void *arg)
{
    counted.walks++;
    counted.fn = fn;
    counted.arg = arg;
    return __real_pdr_walk_new(out, codec, opts, err, count_bytes, NULL);
}

/* Import a document; gives its bytes, each of which was read once. */
static uint64_t import_counted(const struct flow_piece *pieces)
{
    const pdr_import_opts opts = {.ref = {.id = PDR_LIT("s")}, .now_ms = 1};
    pdr_store *store = NULL;
    pdr_import_report report;
    struct flow flow;

    memset(&counted, 0, sizeof(counted));
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    flow_init(&flow, pieces);
    ASSERT_RC(PDR_OK,
              pdr_import(&report, store, &opts, NULL, flow_read, &flow));
    ASSERT_INT(2, counted.walks);
    pdr_store_close(store);
    return report.bytes;
}

TEST(import, walks_over_a_document_twice)
{
    static const struct flow_piece small[] = {
        {"{\"session_id\":\"a\",\"state\":{\"k\":1,\"k\":2}}", 1}, {NULL, 0}};
    static const struct flow_piece staged[] = {
        {"{\"schemaVersion\":\"1.1.0\",\"data\":{\"conversationHistory\":[", 1},
        {"{\"$type\":\"note\",\"text\":\"some words\"},", 150000},
        {"{\"$type\":\"note\"}]}}", 1},
        {NULL, 0}};
    uint64_t bytes = import_counted(small);

    ASSERT_INT(2 * bytes, counted.bytes);
    bytes = import_counted(staged);
    ASSERT_INT(2 * bytes, counted.bytes);
}

TEST(import, walks_over_the_rest_of_a_long_document_once)
{
    static const struct flow_piece pieces[] = {
        {"{\"schemaVersion\":\"1.1.0\",\"data\":{\"conversationHistory\":[", 1},
        {"{\"$type\":\"note\",\"text\":\"some words\"},", 400000},
        {"{\"$type\":\"note\"}]}}", 1},
        {NULL, 0}};
    uint64_t bytes = import_counted(pieces);

    ASSERT(bytes > PDR_LOOK_BYTES);
    ASSERT_INT(bytes + PDR_LOOK_BYTES, counted.bytes);
}
