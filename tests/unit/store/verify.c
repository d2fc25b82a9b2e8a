/* Verify: it counts what is there, finds what is wrong, and goes on after it.
 * The store is the one in memory; a hand between it and the library changes
 * what it gives. */
#include <stdatomic.h>

#include "test.h"

#include "store.h"

/* --- a store that can be damaged ------------------------------------------
 */

enum hand {
    HAND_OFF,
    HAND_FLIPS,   /* a byte of the first row, or of the head */
    HAND_DROPS,   /* the last row, and says nothing */
    HAND_LOSES,   /* the session: not found */
    HAND_FAILS,   /* to read */
    HAND_CORRUPT, /* says the backend itself */
    HAND_RENAMES, /* the first session of a list: no key at all */
    HAND_REPEATS, /* the first session of a list, for ever */
    HAND_DELETES  /* the session, before it is read */
};

static struct {
    pdr_store *store;
    const pdr_store_ops *real;
    pdr_store_ops ops;
    enum hand hand;
    pdr_read_what what; /* where the hand is */
    const char *id;     /* whose; NULL: of anybody */
    unsigned skip;      /* reads that it lets pass */
    unsigned times;     /* that it does it; 0: always */
    unsigned verifies;  /* calls of the backend's own part */
    pdr_rc verify_rc;
    bool verify_counts;
    pdr_str verify_id;
} world;

static void flip(pdr_str text)
{
    char *bytes = NULL;

    memcpy(&bytes, &text.ptr, sizeof(bytes)); /* the page's own memory */
    assert_true(text.len > 0);
    bytes[0] ^= 1;
}

static void flip_row(pdr_page *page, pdr_read_what what)
{
    if (what == PDR_READ_HEAD)
        page->head.commits++;
    else if (what == PDR_READ_ENTRIES)
        flip(page->entries[0].body);
    else if (what == PDR_READ_SLOTS)
        flip(page->slots[0].value);
    else if (what == PDR_READ_PROPERTIES)
        flip(page->properties[0].value);
    else if (what == PDR_READ_COMPLETIONS)
        flip(page->completions[0].outcome);
    else if (what == PDR_READ_FRAME)
        flip(page->frame);
    else
        flip(page->work[0].body);
}

static void delete_session(const char *id);

static bool hand_is_there(const pdr_query *query)
{
    if (world.hand == HAND_OFF || query->what != world.what ||
        (world.id != NULL &&
         !pdr_str_equal(query->ref.id, pdr_str_c(world.id))))
        return false;
    if (world.skip > 0) {
        world.skip--;
        return false;
    }
    return true;
}

static void once_less(void)
{
    if (world.times > 0 && --world.times == 0)
        world.hand = HAND_OFF;
}

static void change(pdr_page *page, enum hand hand)
{
    pdr_head *sessions = NULL;

    memcpy(&sessions, &page->sessions, sizeof(pdr_head *));
    if (hand == HAND_FLIPS)
        flip_row(page, world.what);
    if (hand == HAND_DROPS)
        page->count--;
    if (hand == HAND_RENAMES)
        sessions[0].ref.id = PDR_LIT("\xFF");
    if (hand == HAND_REPEATS)
        pdr_page_more(page);
}

static pdr_rc hand_read(pdr_store *self, pdr_page *page, const pdr_query *query,
                        pdr_err *err)
{
    static const pdr_list_place beginning = {.begins = true};
    enum hand hand = hand_is_there(query) ? world.hand : HAND_OFF;

    if (hand != HAND_OFF)
        once_less();
    if (hand == HAND_LOSES)
        return PDR_FAIL(err, NO_SESSION, "it is lost");
    if (hand == HAND_FAILS)
        return PDR_FAIL(err, FILE_FAILED, "the read failed");
    if (hand == HAND_CORRUPT)
        return PDR_FAIL(err, STORE_DAMAGED, "the file is damaged");
    if (hand == HAND_DELETES)
        delete_session(world.id);
    if (hand == HAND_REPEATS)
        ((struct pdr__page *)(void *)page)->place = beginning;
    pdr_rc rc = world.real->read(self, page, query, err);
    if (rc == PDR_OK && hand != HAND_OFF)
        change(page, hand);
    return rc;
}

static pdr_rc own_verify(pdr_store *self, const pdr_ref *ref,
                         pdr_verify_report *report, pdr_verify_fn fn, void *arg,
                         pdr_err *err)
{
    (void)self;
    world.verifies++;
    world.verify_id = ref != NULL ? ref->id : pdr_str_n(NULL, 0);
    if (world.verify_rc == PDR_OK)
        return PDR_OK;
    if (world.verify_rc == PDR_EIO)
        return PDR_FAIL(err, FILE_FAILED, "the index cannot be read");
    if (world.verify_counts)
        report->bad++;
    if (fn != NULL)
        fn(arg, "index", "row 7", "is in no table");
    return PDR_FAIL(err, WRONG_INDEX, "an index is wrong");
}

static void hand_on(enum hand hand, pdr_read_what what, const char *id)
{
    world.hand = hand;
    world.what = what;
    world.id = id;
    world.skip = 0;
    world.times = 0;
}

static void open_world(void)
{
    pdr_err err = PDR_ERR_INIT;

    memset(&world, 0, sizeof(world));
    ASSERT_RC(PDR_OK, pdr_store_open(&world.store, "memory:", &err));
    world.real = world.store->ops;
    world.ops = *world.real;
    world.ops.read = hand_read;
    world.ops.verify = own_verify;
    world.store->ops = &world.ops;
}

static void close_world(void)
{
    pdr_store_close(world.store);
}

static pdr_ref ref_of(const char *id)
{
    pdr_ref ref = {{NULL, 0}, pdr_str_c(id)};

    return ref;
}

static void commit(const pdr_edit *edit)
{
    pdr_commit_options options = {.now_ms = 1};
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_store_commit(NULL, world.store, edit, 1, &options, &err);

    ASSERT_STR("", err.message);
    ASSERT_RC(PDR_OK, rc);
}

/* Two rows of everything, and a frame: 2 entries and 13 other rows. */
static void fill_session(const char *id)
{
    pdr_entry entries[2] = {{.body = PDR_LIT("{\"n\":1}")},
                            {.body = PDR_LIT("{\"n\":2}")}};
    pdr_slot slots[2] = {{.key = PDR_LIT("a"), .value = PDR_LIT("1")},
                         {.key = PDR_LIT("b"), .value = PDR_LIT("2")}};
    pdr_property properties[2] = {
        {.key = PDR_LIT("p"), .value = PDR_LIT("1")},
        {.key = PDR_LIT("q"), .value = PDR_LIT("2"), .match = PDR_LIT("2")}};
    pdr_completion completions[2] = {
        {.correlation_id = PDR_LIT("c"), .outcome = PDR_LIT("{}")},
        {.correlation_id = PDR_LIT("d"), .outcome = PDR_LIT("{}")}};
    pdr_work work[2] = {
        {.kind = PDR_LIT("k"), .body = PDR_LIT("{}"), .due_ms = PDR_NEVER},
        {.kind = PDR_LIT("k"), .body = PDR_LIT("[]"), .due_ms = PDR_NEVER}};
    pdr_edit edit = {.ref = ref_of(id),
                     .frame = PDR_LIT("{}"),
                     .entries = entries,
                     .entry_count = 2,
                     .slots = slots,
                     .slot_count = 2,
                     .properties = properties,
                     .property_count = 2,
                     .completions = completions,
                     .completion_count = 2,
                     .journal = work,
                     .journal_count = 2,
                     .stream = work,
                     .stream_count = 2,
                     .inbox = work,
                     .inbox_count = 2};

    commit(&edit);
}

static void delete_session(const char *id)
{
    pdr_edit edit = {.ref = ref_of(id), .revision = 1, .remove = true};

    commit(&edit);
}

/* Sessions a, b and c. */
static void open_filled(void)
{
    open_world();
    fill_session("a");
    fill_session("b");
    fill_session("c");
}

/* --- what was found --------------------------------------------------------
 */

struct findings {
    unsigned count;
    char table[32], row[200], what[PDR_ERR_MESSAGE]; /* of the last */
};

static void note(void *arg, const char *table, const char *row,
                 const char *what)
{
    struct findings *findings = arg;

    findings->count++;
    (void)snprintf(findings->table, sizeof(findings->table), "%s", table);
    (void)snprintf(findings->row, sizeof(findings->row), "%s", row);
    (void)snprintf(findings->what, sizeof(findings->what), "%s", what);
}

static pdr_verify_report verify_all(pdr_rc wanted, struct findings *findings,
                                    pdr_err *err)
{
    pdr_verify_report report = {0, 0, 0, 0};

    memset(findings, 0, sizeof(*findings));
    *err = (pdr_err)PDR_ERR_INIT;
    ASSERT_RC(wanted, pdr_store_verify(&report, world.store, NULL, err, note,
                                       findings));
    return report;
}

TEST(store_verify, counts_what_is_there)
{
    struct findings findings;
    pdr_err err;

    open_filled();
    pdr_verify_report report = verify_all(PDR_OK, &findings, &err);
    ASSERT_INT(3, report.sessions);
    ASSERT_INT(6, report.entries);
    ASSERT_INT(39, report.rows);
    ASSERT_INT(0, report.bad);
    ASSERT_INT(0, findings.count);
    ASSERT_INT(1, world.verifies);
    ASSERT_STR("", err.message);
    ASSERT_RC(PDR_OK,
              pdr_store_verify(NULL, world.store, NULL, NULL, NULL, NULL));
    close_world();
}

TEST(store_verify, has_nothing_to_say_of_an_empty_store)
{
    struct findings findings;
    pdr_err err;

    open_world();
    ASSERT_INT(0, verify_all(PDR_OK, &findings, &err).sessions);
    world.ops.verify = NULL; /* it need not have a part of its own */
    ASSERT_INT(0, verify_all(PDR_OK, &findings, &err).bad);
    close_world();
}

TEST(store_verify, looks_at_one_session_when_asked)
{
    pdr_ref ref = ref_of("b");
    pdr_verify_report report;
    pdr_err err = PDR_ERR_INIT;

    open_filled();
    hand_on(HAND_FLIPS, PDR_READ_SLOTS, "a"); /* somebody else's trouble */
    ASSERT_RC(PDR_OK,
              pdr_store_verify(&report, world.store, &ref, &err, NULL, NULL));
    ASSERT_INT(1, report.sessions);
    ASSERT_INT(2, report.entries);
    ASSERT_INT(13, report.rows);
    ASSERT_TEXT("b", world.verify_id);
    close_world();
}

TEST(store_verify, refuses_a_session_that_is_none_or_not_there)
{
    pdr_ref ref = ref_of("x");
    pdr_err err = PDR_ERR_INIT;

    open_filled();
    ASSERT_RC(PDR_ENOTFOUND,
              pdr_store_verify(NULL, world.store, &ref, &err, NULL, NULL));
    ASSERT_STR("no_session", err.reason);
    ref = ref_of("");
    ASSERT_RC(PDR_EINVALID,
              pdr_store_verify(NULL, world.store, &ref, &err, NULL, NULL));
    ASSERT_STR("bad_ref", err.reason);
    ASSERT_INT(0, world.verifies);
    close_world();
}

/* Every part, its table, and what the session still counts. */
static const struct damage {
    pdr_read_what what;
    const char *table;
    unsigned entries, rows;
} damages[] = {
    {PDR_READ_HEAD, "sessions", 4, 26},
    {PDR_READ_ENTRIES, "entries", 4, 39},
    {PDR_READ_SLOTS, "slots", 6, 37},
    {PDR_READ_PROPERTIES, "properties", 6, 37},
    {PDR_READ_COMPLETIONS, "completions", 6, 37},
    {PDR_READ_JOURNAL, "journal", 6, 37},
    {PDR_READ_STREAM, "stream", 6, 37},
    {PDR_READ_INBOX, "inbox", 6, 37},
    {PDR_READ_FRAME, "frames", 6, 38},
};

TEST(store_verify, finds_a_changed_byte_and_goes_on)
{
    const char *const ids[] = {"a", "b", "c"};
    struct findings findings;
    pdr_err err;

    open_filled();
    for (size_t i = 0; i < PDR_COUNT(damages) * 3; i++) {
        const struct damage *damage = &damages[i / 3];
        char row[64];

        hand_on(HAND_FLIPS, damage->what, ids[i % 3]);
        pdr_verify_report report = verify_all(PDR_ECORRUPT, &findings, &err);
        ASSERT_INT(3, report.sessions);
        ASSERT_INT(damage->entries, report.entries);
        ASSERT_INT(damage->rows, report.rows);
        ASSERT_INT(1, report.bad);
        ASSERT_INT(1, findings.count);
        ASSERT_STR(damage->table, findings.table);
        (void)snprintf(row, sizeof(row), "session '%s' of tenant 'default'",
                       ids[i % 3]);
        ASSERT_STR(row, findings.row);
        ASSERT_STR(findings.what, err.message);
        ASSERT(strcmp(err.reason, "bad_digest") == 0 ||
               strcmp(err.reason, "broken_chain") == 0);
    }
    ASSERT_INT(27, world.verifies);
    close_world();
}

TEST(store_verify, finds_a_row_that_is_gone)
{
    struct findings findings;
    pdr_err err;

    open_filled();
    for (size_t i = 1; i + 1 < PDR_COUNT(damages); i++) {
        hand_on(HAND_DROPS, damages[i].what, "b");
        ASSERT_INT(1, verify_all(PDR_ECORRUPT, &findings, &err).bad);
        ASSERT_STR(damages[i].table, findings.table);
    }
    close_world();
}

TEST(store_verify, tells_every_finding_and_keeps_the_first)
{
    struct findings findings;
    pdr_err err;

    open_filled();
    hand_on(HAND_FLIPS, PDR_READ_STREAM, NULL);
    pdr_verify_report report = verify_all(PDR_ECORRUPT, &findings, &err);
    ASSERT_INT(3, report.bad);
    ASSERT_INT(3, findings.count);
    ASSERT_STR("session 'c' of tenant 'default'", findings.row);
    ASSERT(strstr(err.message, "session 'a'") != NULL);
    close_world();
}

TEST(store_verify, finds_what_the_backend_calls_damaged)
{
    struct findings findings;
    pdr_err err;

    open_filled();
    hand_on(HAND_CORRUPT, PDR_READ_HEAD, "b");
    ASSERT_INT(1, verify_all(PDR_ECORRUPT, &findings, &err).bad);
    ASSERT_STR("store_damaged", err.reason);
    ASSERT_STR("sessions", findings.table);
    hand_on(HAND_CORRUPT, PDR_READ_INBOX, "b");
    ASSERT_INT(1, verify_all(PDR_ECORRUPT, &findings, &err).bad);
    ASSERT_STR("inbox", findings.table);
    close_world();
}

/* --- the list --------------------------------------------------------------
 */

TEST(store_verify, finds_a_session_whose_key_is_none)
{
    struct findings findings;
    pdr_err err;

    open_filled();
    hand_on(HAND_RENAMES, PDR_READ_ALL, NULL);
    pdr_verify_report report = verify_all(PDR_ECORRUPT, &findings, &err);
    ASSERT_STR("store_damaged", err.reason);
    /* The sessions behind it stand before it now, so the walk ends there. */
    ASSERT_INT(2, report.bad);
    ASSERT_INT(1, world.verifies);
    close_world();
}

TEST(store_verify, finds_a_session_that_is_listed_and_cannot_be_found)
{
    struct findings findings;
    pdr_err err;

    open_filled();
    hand_on(HAND_LOSES, PDR_READ_HEAD, "b");
    pdr_verify_report report = verify_all(PDR_ECORRUPT, &findings, &err);
    ASSERT_INT(1, report.bad);
    ASSERT_INT(3, report.sessions);
    ASSERT_STR("wrong_index", err.reason);
    ASSERT_STR("sessions", findings.table);
    close_world();
}

TEST(store_verify, looks_again_for_a_session_that_was_not_found_once)
{
    struct findings findings;
    pdr_err err;

    open_filled();
    hand_on(HAND_LOSES, PDR_READ_HEAD, "b");
    world.times = 2;
    ASSERT_INT(3, verify_all(PDR_OK, &findings, &err).sessions);
    close_world();
}

TEST(store_verify, does_not_mind_a_session_that_is_deleted_meanwhile)
{
    const pdr_read_what places[] = {PDR_READ_HEAD, PDR_READ_SLOTS,
                                    PDR_READ_FRAME};

    for (size_t i = 0; i < PDR_COUNT(places); i++) {
        struct findings findings;
        pdr_err err;

        open_filled();
        hand_on(HAND_DELETES, places[i], "b");
        world.times = 1;
        pdr_verify_report report = verify_all(PDR_OK, &findings, &err);
        ASSERT_INT(0, findings.count);
        ASSERT_INT(places[i] == PDR_READ_HEAD ? 2 : 3, report.sessions);
        close_world();
    }
}

TEST(store_verify, ends_when_the_list_turns_back)
{
    struct findings findings;
    pdr_err err;

    open_filled();
    hand_on(HAND_REPEATS, PDR_READ_ALL, NULL);
    pdr_verify_report report = verify_all(PDR_ECORRUPT, &findings, &err);
    ASSERT_INT(3, report.sessions);
    ASSERT_INT(1, report.bad);
    ASSERT_STR("wrong_index", err.reason);
    ASSERT_INT(1, world.verifies);
    close_world();
}

TEST(store_verify, finds_a_list_that_cannot_be_read)
{
    struct findings findings;
    pdr_err err;

    open_filled();
    hand_on(HAND_CORRUPT, PDR_READ_ALL, NULL);
    pdr_verify_report report = verify_all(PDR_ECORRUPT, &findings, &err);
    ASSERT_INT(0, report.sessions);
    ASSERT_INT(1, report.bad);
    ASSERT_STR("store_damaged", err.reason);
    ASSERT_INT(1, world.verifies); /* the backend may find out more */
    close_world();
}

TEST(store_verify, reads_page_by_page)
{
    struct findings findings;
    pdr_err err;
    char id[16];

    open_world();
    for (unsigned i = 0; i < 410; i++) {
        pdr_edit edit = {.ref = {PDR_LIT("t"), {NULL, 0}}};

        (void)snprintf(id, sizeof(id), "s%03u", i);
        edit.ref.id = pdr_str_c(id);
        edit.ref.tenant = i % 2 == 0 ? PDR_LIT("t") : PDR_LIT("u");
        commit(&edit);
    }
    for (unsigned i = 0; i < 410; i++) {
        pdr_entry entry = {.body = PDR_LIT("{}")};
        pdr_edit edit = {.ref = ref_of("long"),
                         .revision = i,
                         .entries = &entry,
                         .entry_count = 1};

        commit(&edit);
    }
    pdr_verify_report report = verify_all(PDR_OK, &findings, &err);
    ASSERT_INT(411, report.sessions);
    ASSERT_INT(410, report.entries);
    hand_on(HAND_FLIPS, PDR_READ_ENTRIES, "long");
    world.skip = 2; /* the third page */
    report = verify_all(PDR_ECORRUPT, &findings, &err);
    ASSERT_INT(400, report.entries);
    ASSERT_INT(1, report.bad);
    hand_on(HAND_REPEATS, PDR_READ_ALL, NULL);
    world.skip = 1; /* the second page is the first one again */
    report = verify_all(PDR_ECORRUPT, &findings, &err);
    ASSERT_INT(200, report.sessions);
    ASSERT_STR("wrong_index", err.reason);
    close_world();
}

/* --- failures --------------------------------------------------------------
 */

TEST(store_verify, ends_when_the_store_cannot_be_read)
{
    const pdr_read_what places[] = {PDR_READ_ALL, PDR_READ_HEAD,
                                    PDR_READ_ENTRIES, PDR_READ_FRAME};

    for (size_t i = 0; i < PDR_COUNT(places); i++) {
        struct findings findings;
        pdr_err err;

        open_filled();
        hand_on(HAND_FAILS, places[i], places[i] == PDR_READ_ALL ? NULL : "b");
        pdr_verify_report report = verify_all(PDR_EIO, &findings, &err);
        ASSERT_STR("the read failed", err.message);
        ASSERT_INT(0, report.bad);
        ASSERT_INT(places[i] == PDR_READ_ALL ? 0 : 2, report.sessions);
        ASSERT_INT(0, world.verifies);
        close_world();
    }
}

TEST(store_verify, takes_over_what_the_backend_finds)
{
    struct findings findings;
    pdr_err err;

    open_filled();
    world.verify_rc = PDR_ECORRUPT;
    for (unsigned counts = 0; counts < 2; counts++) {
        world.verify_counts = counts == 1;
        ASSERT_INT(1, verify_all(PDR_ECORRUPT, &findings, &err).bad);
        ASSERT_INT(1, findings.count);
        ASSERT_STR("index", findings.table);
        ASSERT_STR("wrong_index", err.reason);
    }
    hand_on(HAND_FLIPS, PDR_READ_SLOTS, "a");
    ASSERT_INT(2, verify_all(PDR_ECORRUPT, &findings, &err).bad);
    ASSERT_STR("bad_digest", err.reason); /* the first one */
    world.verify_rc = PDR_EIO;
    ASSERT_INT(1, verify_all(PDR_EIO, &findings, &err).bad);
    ASSERT_STR("the index cannot be read", err.message);
    close_world();
}

TEST(store_verify, is_misuse_in_another_process)
{
    struct findings findings;
    pdr_err err;

    open_filled();
    world.store->process++;
    (void)verify_all(PDR_EMISUSE, &findings, &err);
    ASSERT_STR("after_fork", err.reason);
    world.store->process--;
    close_world();
}

TEST_OOM(store_verify, cleans_up_after_any_failed_allocation)
{
    pdr_verify_report report;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    open_world();
    fill_session("a");
    test_pause_failures(false);
    rc = pdr_store_verify(&report, world.store, NULL, NULL, NULL, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM || rc == PDR_EIO);
    close_world();
}
