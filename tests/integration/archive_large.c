/*
 * archive_large.c - a session that is much larger than the memory that it may
 * take: imported, exported, verified and copied to another store as a stream,
 * each in a process of its own that tells how much it used.
 *
 * 160 MB at scale 1, 1 GB at most. Memory is not counted under a sanitizer,
 * which has memory of its own.
 */
#include <inttypes.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base.h"
#include "processes.h"
#include "room.h"
#include "test.h"

#define NOW_MS      INT64_C(1700000000000)
#define LARGEST     ((size_t)8 * 1024 * 1024)
#define MAY_TAKE_KB (64 * 1024 + 2 * (long)(LARGEST / 1024))
#define USUAL_BYTES ((size_t)160 << 20)
#define LEAST_BYTES ((size_t)16 << 20)
#define MOST_BYTES  ((size_t)1 << 30)

/* --- the document ----------------------------------------------------------
 */

/* One that is made while it is read. */
struct maker {
    uint64_t wanted; /* bytes, more or less */
    uint64_t given;
    uint64_t random;
    uint64_t entries;
    bool has_large, ended;
    char *piece; /* what is being given */
    size_t len, at;
};

static size_t entry_size(struct maker *maker)
{
    if (!maker->has_large && maker->given > maker->wanted / 2) {
        maker->has_large = true;
        return LARGEST;
    }
    return 400 + (size_t)(next_random(&maker->random) % 4000);
}

static void make_entry(struct maker *maker)
{
    uint64_t n = maker->entries++;
    size_t size = entry_size(maker);
    int len = snprintf(
        maker->piece, 400,
        "%s\n    {\"$type\": \"%s\", \"correlationId\": \"turn-%" PRIu64
        "\", \"createdAt\": \"2026-01-01T00:00:00Z\", \"messages\": [{"
        "\"role\": \"user\", \"contents\": [{\"$type\": \"text\", \"text\": \"",
        n == 0 ? "" : ",", n % 2 == 0 ? "request" : "response", n / 2);

    memset(maker->piece + len, 'a' + (int)(n % 26), size);
    maker->len = (size_t)len + size;
    memcpy(maker->piece + maker->len, "\"}]}]}", 6);
    maker->len += 6;
}

static void take_text(struct maker *maker, const char *text)
{
    maker->len = strlen(text);
    memcpy(maker->piece, text, maker->len);
}

static void make_piece(struct maker *maker)
{
    maker->at = 0;
    if (maker->given == 0)
        take_text(maker, "{\n  \"schemaVersion\": \"1.1.0\",\n  \"data\": {\n"
                         "   \"conversationHistory\": [");
    else if (maker->given < maker->wanted)
        make_entry(maker);
    else if (!maker->ended)
        take_text(maker, "\n   ],\n   \"other\": 1.50\n  }\n}\n");
    else
        maker->len = 0;
    maker->ended = maker->given >= maker->wanted;
}

static pdr_rc give(size_t *got, void *into, size_t cap, pdr_err *err, void *arg)
{
    struct maker *maker = arg;

    (void)err;
    if (maker->at == maker->len)
        make_piece(maker);
    *got = maker->len - maker->at < cap ? maker->len - maker->at : cap;
    if (*got > 0)
        memcpy(into, maker->piece + maker->at, *got);
    maker->at += *got;
    maker->given += *got;
    return PDR_OK;
}

static bool maker_init(struct maker *maker, uint64_t bytes)
{
    *maker = (struct maker){.wanted = bytes, .random = 42};
    maker->piece = malloc(LARGEST + 1000);
    return maker->piece != NULL;
}

/* --- parts of the work, each in its own process ----------------------------
 */

static int complain(const pdr_err *err)
{
    fprintf(stderr, "%s: %s\n", err->path, err->message);
    return 1;
}

static const pdr_ref session = {{"default", 7}, {"@dafx-large@1", 13}};

static pdr_rc import_all(pdr_store *store, uint64_t bytes, pdr_err *err)
{
    pdr_import_opts opts = {.ref = session, .now_ms = NOW_MS};
    pdr_import_report report;
    struct maker maker;
    pdr_rc rc = PDR_ENOMEM;

    if (maker_init(&maker, bytes))
        rc = pdr_import(&report, store, &opts, err, give, &maker);
    if (rc == PDR_OK)
        printf("  %" PRIu64 " bytes, %" PRIu64 " entries, %" PRIu64
               " commits\n",
               report.bytes, report.entries, report.commits);
    free(maker.piece);
    return rc;
}

/* What comes out is compared with what the maker gives, as it comes. */
struct comparer {
    struct maker maker;
    char room[4096];
    uint64_t same;
};

static pdr_rc compare(pdr_str bytes, pdr_err *err, void *arg)
{
    struct comparer *comparer = arg;

    for (size_t at = 0; at < bytes.len;) {
        size_t cap = bytes.len - at, got = 0;

        if (cap > sizeof(comparer->room))
            cap = sizeof(comparer->room);
        (void)give(&got, comparer->room, cap, err, &comparer->maker);
        if (got == 0 || memcmp(comparer->room, bytes.ptr + at, got) != 0)
            return PDR_ECANCELLED;
        at += got;
        comparer->same += got;
    }
    return PDR_OK;
}

static pdr_rc export_all(pdr_store *store, uint64_t bytes, pdr_err *err)
{
    static struct comparer comparer;
    pdr_export_opts opts = {.ref = session};
    size_t got = 0;
    pdr_rc rc = PDR_ENOMEM;

    if (maker_init(&comparer.maker, bytes))
        rc = pdr_export(NULL, store, &opts, err, compare, &comparer);
    if (rc == PDR_ECANCELLED)
        fprintf(stderr, "another byte behind %" PRIu64 "\n", comparer.same);
    if (rc == PDR_OK)
        (void)give(&got, comparer.room, 1, err, &comparer.maker);
    free(comparer.maker.piece);
    return rc == PDR_OK && got > 0 ? PDR_ECANCELLED : rc;
}

/* Into another file beside it. */
static pdr_rc copy_all(pdr_store *store, const char *uri, pdr_err *err)
{
    const pdr_copy_opts opts = {.now_ms = NOW_MS};
    char name[700];
    pdr_store *to = NULL;
    pdr_rc rc = PDR_OK;

    snprintf(name, sizeof(name), "%s.copy", uri);
    rc = pdr_store_open(&to, name, err);
    if (rc == PDR_OK)
        rc = pdr_copy(NULL, to, store, &opts, err, NULL, NULL);
    pdr_store_close(to);
    return rc;
}

/* Arguments: what to do, the store, bytes. Tells the most memory that it had,
 * in kilobytes, into the file that is named last. */
TEST_ROLE(large_worker)
{
    uint64_t bytes = strtoull(argv[2], NULL, 10);
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    struct rusage used;
    FILE *told = NULL;
    pdr_rc rc = argc < 4 ? PDR_EINVALID : pdr_store_open(&store, argv[1], &err);

    if (rc == PDR_OK && strcmp(argv[0], "import") == 0)
        rc = import_all(store, bytes, &err);
    else if (rc == PDR_OK && strcmp(argv[0], "export") == 0)
        rc = export_all(store, bytes, &err);
    else if (rc == PDR_OK && strcmp(argv[0], "copy") == 0)
        rc = copy_all(store, argv[1], &err);
    else if (rc == PDR_OK)
        rc = pdr_store_verify(NULL, store, NULL, &err, NULL, NULL);
    pdr_store_close(store);
    if (rc != PDR_OK)
        return complain(&err);
    told = fopen(argv[3], "w");
    if (told == NULL || getrusage(RUSAGE_SELF, &used) != 0)
        return 1;
    fprintf(told, "%ld\n", used.ru_maxrss);
    return fclose(told) == 0 ? 0 : 1;
}

static long run(const struct room *room, const char *what, const char *uri,
                const char *bytes)
{
    char told[600];
    const char *args[] = {what, uri, bytes, told, NULL};
    int64_t begin = monotonic_us();
    long kb = 0;
    char *text = NULL;
    size_t len = 0;

    snprintf(told, sizeof(told), "%s", room_path(room, "told"));
    ASSERT_INT(PROCESS_DONE,
               process_end(process_start("large_worker", args), true));
    text = room_get(room, "told", &len);
    ASSERT(text != NULL);
    kb = strtol(text, NULL, 10);
    free(text);
    print_message("large: %s of %s bytes: %ld KB at most, %.1f s\n", what,
                  bytes, kb, (double)(monotonic_us() - begin) / 1e6);
    return kb;
}

TEST(large_session, comes_and_goes_as_a_stream)
{
    static const char *const steps[] = {"import", "export", "verify", "copy"};
    size_t size = test_times(USUAL_BYTES, LEAST_BYTES);
    struct room room;
    char uri[600], bytes[24];

    snprintf(bytes, sizeof(bytes), "%zu",
             size < MOST_BYTES ? size : MOST_BYTES);
    room_enter(&room);
    snprintf(uri, sizeof(uri), "sqlite:%s", room_path(&room, "a.db"));
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        long kb = run(&room, steps[i], uri, bytes);

        if (!TEST_SANITIZED && kb > MAY_TAKE_KB)
            fail_msg("%s took %ld KB, more than %ld", steps[i], kb,
                     MAY_TAKE_KB);
    }
    snprintf(uri, sizeof(uri), "sqlite:%s", room_path(&room, "a.db.copy"));
    (void)run(&room, "export", uri, bytes); /* what was copied is the same */
    room_leave(&room);
}
