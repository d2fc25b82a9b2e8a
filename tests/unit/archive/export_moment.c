/* A document is one revision of a session, whoever writes meanwhile; and what
 * fails on the way fails the export. */
#include <pthread.h>

#include "archive_hand.h"
#include "fault_store.h"
#include "processes.h"
#include "sqlite_room.h"
#include "trick_store.h"

#define FRAME                                                                 \
    "{\"frame\":1,\"shape\":\"dotnet\",\"pieces\":[\"{\\\"stateBag\\\":\","   \
    "{\"members\":{\"of\":\"bag\",\"list\":[{\"before\":\"\",\"name\":"       \
    "\"\\\"z\\\":\",\"after\":\"\",\"key\":\"z\"},{\"before\":\"\",\"name\":" \
    "\"\\\"h\\\":\",\"after\":\"\",\"pieces\":[{\"entries\":{\"open\":\"[\"," \
    "\"first\":\"\",\"usual\":\",\",\"close\":\"]\",\"empty\":\"\"}}]}]}},"   \
    "\"}\"]}"

static const struct hand small = {
    .id = "s",
    .frame = FRAME,
    .entries = {{"{}", PDR_ROW_MESSAGE, PDR_ROW_DOTNET, NULL}},
    .slots = {{"a", "0"}, {"z", "0"}},
    .properties = {{"p", "0"}}};

#define SMALL(a, h, z)                                                     \
    "{\"session\":{\"stateBag\":{\"z\":" z ",\"h\":[" h "],\"a\":" a "}}," \
    "\"additionalProperties\":{\"p\":0}}"

/* --- somebody writes while we read ---------------------------------------- */

/* What happens behind our back, at which read. */
struct behind {
    pdr_store *store;
    size_t reads; /* so far */
    size_t at;    /* at this one; 0: at each */
    void (*does)(pdr_store *store, size_t read);
};

static void on_read(struct pdr__page *page, void *arg)
{
    struct behind *b = arg;

    (void)page;
    b->reads++;
    if (b->at != 0 && b->at != b->reads)
        return;
    trick_on_read(NULL, NULL);
    b->does(b->store, b->reads);
    trick_on_read(on_read, b);
}

static void sets_a(pdr_store *store, size_t read)
{
    char value[32];

    (void)snprintf(value, sizeof(value), "%zu", read);
    hand_set(store, "s", "a", pdr_str_c(value));
}

static void removes(pdr_store *store, size_t read)
{
    (void)read;
    hand_remove(store, "s");
}

/* Export while `does` happens at one read. */
static pdr_rc export_behind(pdr_buf *out, struct behind *b, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    b->store = trick_open("trick:");
    hand_commit(b->store, &small);
    trick_on_read(on_read, b);
    rc = hand_export(out, b->store, "s", false, NULL, err);
    trick_on_read(NULL, NULL);
    pdr_store_close(b->store);
    return rc;
}

TEST(export_moment, begins_anew_when_somebody_wrote)
{
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);

    /* Reads: 1 head, 2 frame, 3 slots, 4 properties, 5 entries. */
    for (size_t at = 1; at <= 3; at++) {
        struct behind b = {.at = at, .does = sets_a};
        pdr_err err = PDR_ERR_INIT;
        char expected[256];

        ASSERT_RC(PDR_OK, export_behind(&out, &b, &err));
        ASSERT_STR("", err.message);
        (void)snprintf(expected, sizeof(expected), SMALL("%zu", "{}", "0"), at);
        ASSERT_TEXT(expected, pdr_buf_str(&out));
        ASSERT(b.reads > 5);
    }
    for (size_t at = 4; at <= 5; at++) {
        struct behind b = {.at = at, .does = sets_a};

        ASSERT_RC(PDR_OK, export_behind(&out, &b, NULL));
        ASSERT_TEXT(SMALL("0", "{}", "0"), pdr_buf_str(&out));
        ASSERT_SIZE(5, b.reads);
    }
    pdr_buf_dispose(&out);
}

TEST(export_moment, gives_up_when_somebody_keeps_on_writing)
{
    struct behind b = {.does = sets_a};
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_ECONFLICT, export_behind(&out, &b, &err));
    ASSERT_STR("session_changed", err.reason);
    ASSERT_SIZE(0, out.len);
    ASSERT_SIZE(20, b.reads);
    pdr_buf_dispose(&out);
}

TEST(export_moment, says_that_the_session_has_gone)
{
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);

    for (size_t at = 1; at <= 5; at++) {
        struct behind b = {.at = at, .does = removes};
        pdr_err err = PDR_ERR_INIT;
        pdr_rc rc = export_behind(&out, &b, &err);

        /* The entries are one page here, and were read before it went. */
        if (at == 5) {
            ASSERT_RC(PDR_OK, rc);
        } else if (at == 4) {
            ASSERT_RC(PDR_ECONFLICT, rc);
            ASSERT_STR("session_changed", err.reason);
        } else {
            ASSERT_RC(PDR_ENOTFOUND, rc);
            ASSERT_STR("no_session", err.reason);
        }
    }
    pdr_buf_dispose(&out);
}

/* --- somebody writes while we write --------------------------------------- */

/* A stream that lets something happen at its first bytes. */
struct stream {
    pdr_store *store;
    void (*does)(pdr_store *store);
    bool done;
    uint64_t bytes;
    size_t calls;
    size_t fail_at;
    size_t largest;
};

static pdr_rc stream_write(pdr_str bytes, pdr_err *err, void *arg)
{
    struct stream *s = arg;

    s->calls++;
    s->bytes += bytes.len;
    if (bytes.len > s->largest)
        s->largest = bytes.len;
    if (s->calls == s->fail_at)
        return pdr_err_set(err, PDR_EIO, "pipe_broke", "%s", "no more");
    if (s->does != NULL && !s->done)
        s->does(s->store);
    s->done = true;
    return PDR_OK;
}

static pdr_rc export_to(struct stream *s, const char *id, pdr_err *err)
{
    pdr_export_opts opts = {.ref = {.id = pdr_str_c(id)}};
    pdr_export_report report = {0};
    pdr_rc rc = pdr_export(&report, s->store, &opts, err, stream_write, s);

    ASSERT_INT(rc == PDR_OK ? s->bytes : 0, report.bytes);
    return rc;
}

#define LONG 450 /* entries: three pages */

/* A session with some megabytes in entries, and nothing else. */
static pdr_store *long_store(const char *uri, size_t count, size_t len)
{
    char *body = malloc(len + 1);
    pdr_entry *entries = calloc(count, sizeof(*entries));
    pdr_store *store = NULL;
    pdr_edit edit = {.ref = {.id = pdr_str_c("l")},
                     .kind = pdr_str_c("client"),
                     .entries = entries,
                     .entry_count = count};
    pdr_commit_options options = {.now_ms = 1};

    memset(body, 'x', len);
    body[0] = body[len - 1] = '"';
    body[len] = '\0';
    for (size_t i = 0; i < count; i++) {
        entries[i].kind = PDR_ROW_MESSAGE;
        entries[i].shape = PDR_ROW_DOTNET;
        entries[i].body = pdr_str_n(body, len);
    }
    ASSERT_RC(PDR_OK, pdr_store_open(&store, uri, NULL));
    ASSERT_RC(PDR_OK, pdr_store_commit(NULL, store, &edit, 1, &options, NULL));
    free(entries);
    free(body);
    return store;
}

static const pdr_entry one_more = {
    .kind = PDR_ROW_MESSAGE, .shape = PDR_ROW_DOTNET, .body = {"{}", 2}};

static void appends(pdr_store *store)
{
    hand_append(store, "l", &one_more);
    hand_set(store, "l", "new", pdr_str_c("1"));
}

static void cuts(pdr_store *store)
{
    hand_cut(store, "l", LONG - 1);
}

static void makes_again(pdr_store *store)
{
    const struct hand again = {.id = "l"};

    hand_remove(store, "l");
    hand_commit(store, &again);
    for (size_t i = 0; i < LONG; i++)
        hand_append(store, "l", &one_more);
}

static void vanishes(pdr_store *store)
{
    hand_remove(store, "l");
}

#define LONG_HEAD                                                            \
    "{\"perdure\":{\"version\":\"1.0.0\",\"kind\":\"client\",\"id\":\"l\"}," \
    "\"stateBag\":{\"InMemoryChatHistoryProvider\":{\"messages\":["

TEST(export_moment, does_not_see_what_comes_while_it_writes)
{
    struct stream s = {.store = long_store("memory:", LONG, 9000),
                       .does = appends};

    ASSERT_RC(PDR_OK, export_to(&s, "l", NULL));
    ASSERT(s.done);
    ASSERT_INT(strlen(LONG_HEAD) + LONG * 9001 - 1 + strlen("]}}}"), s.bytes);
    pdr_store_close(s.store);
}

TEST(export_moment, ends_when_its_entries_are_taken_away)
{
    void (*const ways[])(pdr_store *) = {cuts, makes_again, vanishes};

    for (size_t i = 0; i < PDR_COUNT(ways); i++) {
        struct stream s = {.store = long_store("memory:", LONG, 9000),
                           .does = ways[i]};
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_ECONFLICT, export_to(&s, "l", &err));
        ASSERT_STR("session_changed", err.reason);
        ASSERT_STR("session 'l' was changed while it was exported: export it "
                   "again",
                   err.message);
        pdr_store_close(s.store);
    }
}

/* --- pieces --------------------------------------------------------------- */

TEST(export_stream, gathers_small_pieces)
{
    struct stream s = {.store = long_store("memory:", LONG, 100)};

    ASSERT_RC(PDR_OK, export_to(&s, "l", NULL));
    ASSERT_SIZE(1, s.calls);
    pdr_store_close(s.store);
}

TEST(export_stream, gives_a_large_piece_as_it_is)
{
    struct stream s = {.store = long_store("memory:", 3, 3000000)};

    ASSERT_RC(PDR_OK, export_to(&s, "l", NULL));
    ASSERT_SIZE(3000000, s.largest);
    ASSERT_SIZE(7, s.calls); /* before, between and behind them */
    pdr_store_close(s.store);
}

TEST(export_stream, ends_with_what_the_stream_says)
{
    struct stream whole = {.store = long_store("memory:", LONG, 9000)};

    ASSERT_RC(PDR_OK, export_to(&whole, "l", NULL));
    ASSERT(whole.calls > 10);
    for (size_t i = 1; i <= whole.calls; i++) {
        struct stream s = {.store = whole.store, .fail_at = i};
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_EIO, export_to(&s, "l", &err));
        ASSERT_STR("pipe_broke", err.reason);
        ASSERT_SIZE(i, s.calls);
    }
    pdr_store_close(whole.store);
}

TEST(export_store, passes_on_what_the_store_says)
{
    struct fault_plan plan = {.call = FAULT_READ};
    pdr_store *store = NULL;
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    size_t reads = 0;

    fault_store_register();
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "fault:memory:", NULL));
    hand_commit(store, &small);
    fault_store_set(&plan);
    ASSERT_RC(PDR_OK, hand_export(&out, store, "s", false, NULL, NULL));
    reads = fault_store_calls();
    ASSERT_SIZE(5, reads);
    for (plan.nth = 1; plan.nth <= reads; plan.nth++) {
        pdr_err err = PDR_ERR_INIT;

        fault_store_set(&plan);
        ASSERT_RC(PDR_EIO, hand_export(&out, store, "s", false, NULL, &err));
        ASSERT_RC(PDR_EIO, err.code);
        ASSERT_SIZE(1, fault_store_failed());
        fault_store_set(&plan);
        ASSERT_RC(PDR_EIO, hand_export(&out, store, "s", false, NULL, NULL));
    }
    plan.nth = 0;
    fault_store_set(&plan);
    pdr_buf_dispose(&out);
    pdr_store_close(store);
}

/* One byte of a row is another one when it is read. */
static void damage(struct pdr__page *page, void *arg)
{
    size_t *reads = arg;
    pdr_page *shown = &page->page;
    pdr_str row = {NULL, 0};

    if (--*reads != 0)
        return;
    if (shown->entries != NULL)
        row = shown->entries[0].body;
    else if (shown->slots != NULL)
        row = shown->slots[0].value;
    else if (shown->properties != NULL)
        row = shown->properties[0].value;
    else
        row = shown->frame.ptr != NULL ? shown->frame : shown->head.kind;
    ((char *)(uintptr_t)row.ptr)[0] ^= 1;
}

TEST(export_store, gives_nothing_that_was_not_committed)
{
    pdr_store *store = trick_open("trick:");
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);

    hand_commit(store, &small);
    for (size_t at = 1; at <= 5; at++) {
        pdr_err err = PDR_ERR_INIT;
        size_t reads = at;

        trick_on_read(damage, &reads);
        ASSERT_RC(PDR_ECORRUPT,
                  hand_export(&out, store, "s", false, NULL, &err));
        ASSERT(strcmp(err.reason, "bad_digest") == 0 ||
               strcmp(err.reason, "broken_chain") == 0);
    }
    trick_on_read(NULL, NULL);
    ASSERT_RC(PDR_OK, hand_export(&out, store, "s", false, NULL, NULL));
    pdr_buf_dispose(&out);
    pdr_store_close(store);
}

/* --- a bag that is too large to be kept ----------------------------------- */

#define BIG       40
#define BIG_BYTES ((size_t)512 * 1024)

/* Slots "a00" to "a39" of half a megabyte, and "z" which the frame names. */
static pdr_store *big_store_at(const char *uri)
{
    const struct hand first = {
        .id = "l", .frame = FRAME, .slots = {{"z", "0"}}};
    pdr_store *store = NULL;
    char *value = malloc(BIG_BYTES);

    ASSERT_RC(PDR_OK, pdr_store_open(&store, uri, NULL));
    hand_commit(store, &first);
    memset(value, '1', BIG_BYTES);
    for (int i = 0; i < BIG; i++) {
        char key[16];

        (void)snprintf(key, sizeof(key), "a%02d", i);
        hand_set(store, "l", key, pdr_str_n(value, BIG_BYTES));
    }
    free(value);
    return store;
}

static pdr_store *big_store(void)
{
    return big_store_at("memory:");
}

TEST(export_big_bag, comes_out_whole)
{
    struct stream s = {.store = big_store()};
    size_t peak = 0;

    test_reset_peak();
    peak = test_live_bytes();
    ASSERT_RC(PDR_OK, export_to(&s, "l", NULL));
    peak = test_peak_bytes() - peak;
    ASSERT_INT(strlen("{\"stateBag\":{\"z\":0}}") +
                   BIG * (BIG_BYTES + strlen(",\"a00\":")),
               s.bytes);
    ASSERT(peak < 20u * 1024 * 1024); /* what is kept, and a page */
    pdr_store_close(s.store);
}

static void changes_big(pdr_store *store)
{
    hand_set(store, "l", "a39", pdr_str_c("1"));
}

static void drops_big(pdr_store *store)
{
    hand_set(store, "l", "z", pdr_str_n(NULL, 0));
}

TEST(export_big_bag, ends_when_somebody_writes)
{
    void (*const ways[])(pdr_store *) = {changes_big, drops_big, vanishes};

    for (size_t i = 0; i < PDR_COUNT(ways); i++) {
        struct stream s = {.store = big_store(), .does = ways[i]};
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(PDR_ECONFLICT, export_to(&s, "l", &err));
        ASSERT_STR("session_changed", err.reason);
        pdr_store_close(s.store);
    }
}

TEST(export_big_bag, leaves_out_a_row_that_is_gone)
{
    struct stream s = {.store = big_store()};

    drops_big(s.store);
    ASSERT_RC(PDR_OK, export_to(&s, "l", NULL));
    ASSERT_INT(strlen("{\"stateBag\":{}}") +
                   BIG * (BIG_BYTES + strlen(",\"a00\":")) - 1,
               s.bytes);
    pdr_store_close(s.store);
}

TEST(export_big_bag, passes_on_what_the_store_says)
{
    struct fault_plan plan = {.call = FAULT_READ};
    struct stream s = {0};
    size_t reads = 0;

    fault_store_register();
    s.store = big_store_at("fault:memory:");
    fault_store_set(&plan);
    ASSERT_RC(PDR_OK, export_to(&s, "l", NULL));
    reads = fault_store_calls();
    ASSERT(reads > BIG / 2);
    for (plan.nth = 1; plan.nth <= reads; plan.nth++) {
        struct stream again = {.store = s.store};
        pdr_err err = PDR_ERR_INIT;

        fault_store_set(&plan);
        ASSERT_RC(PDR_EIO, export_to(&again, "l", &err));
        ASSERT_RC(PDR_EIO, err.code);
    }
    plan.nth = 0;
    fault_store_set(&plan);
    pdr_store_close(s.store);
}

/* --- writers beside it ---------------------------------------------------- */

#define TURNS 150

struct writer {
    pdr_store *store;
    atomic_bool done;
};

/* Each commit sets the slot "z", the property "p" and appends an entry, all of
 * the same number. */
static void *write_turns(void *arg)
{
    struct writer *w = arg;

    for (int i = 1; i <= TURNS; i++) {
        char n[16];
        pdr_str text = {n, 0};

        text.len = (size_t)snprintf(n, sizeof(n), "%d", i);
        pdr_entry entry = {
            .kind = PDR_ROW_MESSAGE, .shape = PDR_ROW_DOTNET, .body = text};
        pdr_slot slot = {.key = pdr_str_c("z"), .value = text};
        pdr_property property = {.key = pdr_str_c("p"), .value = text};
        pdr_edit edit = {.ref = {.id = pdr_str_c("s")},
                         .revision = (uint64_t)i,
                         .entries = &entry,
                         .entry_count = 1,
                         .slots = &slot,
                         .slot_count = 1,
                         .properties = &property,
                         .property_count = 1};
        pdr_commit_options options = {.now_ms = i};

        if (pdr_store_commit(NULL, w->store, &edit, 1, &options, NULL) !=
            PDR_OK)
            break;
        sleep_us(300);
    }
    atomic_store(&w->done, true);
    return NULL;
}

/* Does the document say the same number everywhere? Gives it. */
static int64_t read_number(pdr_str text)
{
    const pdr_value *bag = NULL, *list = NULL;
    pdr_value *value = NULL;
    int64_t p = -1, z = -1, last = 0;

    ASSERT_RC(PDR_OK, pdr_json_read(&value, text, NULL, NULL));
    bag = pdr_value_get_c(pdr_value_get_c(value, "session"), "stateBag");
    list = pdr_value_get_c(bag, "h");
    ASSERT_RC(PDR_OK, pdr_value_int64(&z, pdr_value_get_c(bag, "z"), NULL));
    ASSERT_RC(PDR_OK,
              pdr_value_int64(
                  &p,
                  pdr_value_get_c(
                      pdr_value_get_c(value, "additionalProperties"), "p"),
                  NULL));
    ASSERT_INT(z, p);
    ASSERT_SIZE(z, pdr_value_count(list));
    if (z > 0)
        ASSERT_RC(PDR_OK, pdr_value_int64(
                              &last, pdr_value_at(list, (size_t)z - 1), NULL));
    ASSERT_INT(z, last);
    pdr_value_free(value);
    return z;
}

static void export_beside_writer(pdr_store *store)
{
    const struct hand begin = {.id = "s",
                               .frame = FRAME,
                               .slots = {{"z", "0"}},
                               .properties = {{"p", "0"}}};
    struct writer w = {.store = store};
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    pthread_t thread;
    int64_t seen = 0, number = 0;
    size_t good = 0, changed = 0;
    bool last = false;

    hand_commit(store, &begin);
    ASSERT_INT(0, pthread_create(&thread, NULL, write_turns, &w));
    while (!last) {
        last = atomic_load(&w.done);
        pdr_rc rc = hand_export(&out, store, "s", false, NULL, NULL);

        ASSERT(rc == PDR_OK || rc == PDR_ECONFLICT);
        if (rc == PDR_ECONFLICT) {
            changed++;
            continue;
        }
        number = read_number(pdr_buf_str(&out));
        ASSERT(number >= seen);
        seen = number;
        good++;
    }
    ASSERT_INT(0, pthread_join(thread, NULL));
    ASSERT_INT(TURNS, seen);
    ASSERT(good > 1);
    print_message("%zu documents, %zu times changed\n", good, changed);
    pdr_buf_dispose(&out);
}

TEST(export_writers, leave_every_document_whole_in_memory)
{
    pdr_store *store = NULL;

    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    export_beside_writer(store);
    pdr_store_close(store);
}

TEST(export_writers, leave_every_document_whole_in_a_file)
{
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    export_beside_writer(store);
    pdr_store_close(store);
    room_leave(&room);
}

/* --- memory --------------------------------------------------------------- */

/* The most memory that this process has had, in kilobytes. Not getrusage():
 * that also tells of the process before exec. */
static long peak_kb(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    long kb = -1;

    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        if (strncmp(line, "VmHWM:", 6) == 0)
            kb = strtol(line + 6, NULL, 10);
    }
    if (f != NULL)
        (void)fclose(f);
    return kb;
}

#define PEAK_KB (TEST_SANITIZED ? 1024L * 1024 : 24L * 1024)

/* Export the session "l" of a store, and see how much memory that took. */
TEST_ROLE(exporter)
{
    struct stream s = {0};
    pdr_export_opts opts = {.ref = {.id = pdr_str_c("l")}};
    pdr_rc rc = PDR_OK;

    if (argc < 1 || pdr_store_open(&s.store, argv[0], NULL) != PDR_OK)
        return 2;
    rc = pdr_export(NULL, s.store, &opts, NULL, stream_write, &s);
    pdr_store_close(s.store);
    fprintf(stderr, "%llu bytes, %ld KB at most\n", (unsigned long long)s.bytes,
            peak_kb());
    return rc == PDR_OK && s.bytes > 64u * 1024 * 1024 && peak_kb() > 0 &&
                   peak_kb() < PEAK_KB
               ? 0
               : 1;
}

TEST(export_memory, does_not_grow_with_the_session)
{
    struct room room;
    const char *args[2] = {NULL, NULL};
    char uri[512];

    room_enter(&room);
    (void)snprintf(uri, sizeof(uri), "%s", store_uri(&room, "s.db", ""));
    pdr_store_close(long_store(uri, 1024, 65600));
    args[0] = uri;
    ASSERT_INT(PROCESS_DONE,
               process_end(process_start("exporter", args), true));
    room_leave(&room);
}
