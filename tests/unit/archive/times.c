/*
 * Entries of which nobody knows the time: in a store of today, and in one of
 * the library that made times up.
 */
#include <sys/stat.h>

#include <perdure/archive.h>

#include "room.h"

#define DAY INT64_C(86400000)
#define JAN INT64_C(1767225600000) /* 2026-01-01, when all was imported */
#define DEC (JAN - 31 * DAY)       /* entries say 2025, if anything */
#define FEB (JAN + 31 * DAY)
#define MAR (JAN + 59 * DAY) /* what was appended later */
#define APR (JAN + 90 * DAY)

/* --- the sample ----------------------------------------------------------- */

/* ' for " */
static const struct {
    const char *id, *text;
} documents[] = {
    {"state",
     "{'schemaVersion':'1.1.0','data':{'conversationHistory':["
     "{'$type':'request','createdAt':'2025-06-01T00:00:00Z','messages':[]},"
     "{'$type':'note','createdAt':'2025-06-02T00:00:00Z'},"
     "{'$type':'request','createdAt':'2025-06-03T00:00:00Z','messages':[]},"
     "{'$type':'response','createdAt':'soon','messages':[]},"
     "{'$type':'request','createdAt':'2025-06-05T00:00:00Z','messages':[]}]}}"},
    {"dotnet", "{'stateBag':{'InMemoryChatHistoryProvider':{'messages':["
               "{'role':'user','createdAt':'2025-06-01T00:00:00Z'},"
               "{'role':'assistant','CreatedAt':'2025-06-02T00:00:00Z'},"
               "{'role':'user'},{'role':'user'}]}}}"},
    {"python",
     "{'type':'session','session_id':'p','state':{'in_memory':{'messages':["
     "{'role':'user','contents':[]},{'role':'assistant','contents':[]},"
     "{'role':'user','contents':[]}]}}}"},
    {"grown",
     "{'type':'session','session_id':'g','state':{'in_memory':{'messages':["
     "{'role':'user','contents':[]}]}}}"},
};

#define DOCUMENTS (sizeof(documents) / sizeof(documents[0]))

static char *quoted(const char *text)
{
    char *out = strdup(text);

    for (char *p = out; *p != '\0'; p++)
        *p = *p == '\'' ? '"' : *p;
    return out;
}

static pdr_rc append(pdr_store *store, const char *id, uint64_t revision,
                     int64_t created_ms, int64_t now_ms, pdr_err *err)
{
    const pdr_entry entry = {.kind = PDR_ROW_MESSAGE,
                             .shape = PDR_ROW_PYTHON,
                             .created_ms = created_ms,
                             .body = pdr_str_c("{\"role\":\"user\"}")};
    const pdr_edit edit = {.ref = {.id = pdr_str_c(id)},
                           .revision = revision,
                           .entries = &entry,
                           .entry_count = 1};
    const pdr_commit_options options = {.now_ms = now_ms};

    return pdr_store_commit(NULL, store, &edit, 1, &options, err);
}

/* The documents; an entry that "grown" got in March; and "made", which never
 * was a document. */
static pdr_rc fill(pdr_store *store, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < DOCUMENTS && rc == PDR_OK; i++) {
        const pdr_import_opts opts = {.ref = {.id = pdr_str_c(documents[i].id)},
                                      .now_ms = JAN};
        char *text = quoted(documents[i].text);
        pdr_str bytes = pdr_str_c(text);

        rc = pdr_import(NULL, store, &opts, err, pdr_read_str, &bytes);
        free(text);
    }
    if (rc == PDR_OK)
        rc = append(store, "grown", 1, MAR, MAR, err);
    if (rc == PDR_OK)
        rc = append(store, "made", 0, MAR, MAR, err);
    return rc;
}

/* archive-times FILE: write the sample, to be kept in tests/data/store. */
TEST_ROLE(make)
{
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_store_open(&store, argc > 0 ? argv[0] : "", &err);

    if (rc == PDR_OK)
        rc = fill(store, &err);
    if (rc != PDR_OK)
        fprintf(stderr, "%s\n", err.message);
    pdr_store_close(store);
    return rc == PDR_OK ? 0 : 1;
}

/* --- stores with the sample ------------------------------------------------
 */

enum where { IN_MEMORY, IN_SQLITE, OLD, PLACES };

static pdr_store *open_sample(const struct room *room, enum where where)
{
    const char *uri = where == IN_MEMORY ? "memory:" : room_path(room, "s.db");
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = PDR_OK;

    if (where == OLD) {
        size_t len = 0;
        char *bytes = test_read_data("store/version-2-imported.db", &len);

        room_put(room, "s.db", pdr_str_n(bytes, len));
        free(bytes);
        ASSERT_INT(0, chmod(uri, 0600));
        ASSERT_RC(PDR_OK, pdr_store_migrate(NULL, uri, NULL));
    }
    rc = pdr_store_open(&store, uri, &err);
    if (rc == PDR_OK && where != OLD)
        rc = fill(store, &err);
    if (rc != PDR_OK)
        fail_msg("%s", err.message);
    return store;
}

static pdr_page *read_entries(pdr_store *store, const char *id)
{
    const pdr_query query = {.what = PDR_READ_ENTRIES,
                             .ref = {.id = pdr_str_c(id)}};
    pdr_page *page = NULL;

    ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
    return page;
}

/* --- what goes ------------------------------------------------------------ */

/* A rule for a session of the sample: the first entry that stays, and the one
 * that ended the rule. */
static const struct {
    const char *id;
    uint64_t keep_turns;
    int64_t before_ms;
    bool from_import;
    uint64_t first, untimed;
} rules[] = {
    {"state", 0, DEC, false, 3, 4},  {"state", 0, APR, false, 3, 4},
    {"state", 0, DEC, true, 3, 0},   {"state", 0, FEB, true, 6, 0},
    {"dotnet", 0, DEC, false, 3, 3}, {"dotnet", 0, FEB, true, 5, 0},
    {"python", 0, APR, false, 1, 1}, {"python", 0, DEC, true, 1, 0},
    {"python", 0, FEB, true, 4, 0},  {"python", 1, APR, false, 3, 0},
    {"grown", 0, FEB, false, 1, 1},  {"grown", 0, FEB, true, 2, 0},
    {"grown", 0, APR, true, 3, 0},   {"made", 0, FEB, false, 1, 0},
    {"made", 0, APR, false, 2, 0},   {"made", 0, FEB, true, 1, 0},
};

TEST(times, that_nobody_wrote_remove_nothing)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        for (int where = 0; where < PLACES; where++) {
            const pdr_retain_opts opts = {.ref = {.id = pdr_str_c(rules[i].id)},
                                          .keep_turns = rules[i].keep_turns,
                                          .before_ms = rules[i].before_ms,
                                          .untimed_from_import =
                                              rules[i].from_import,
                                          .now_ms = APR};
            pdr_retain_report report;
            struct room room;

            room_enter(&room);
            pdr_store *store = open_sample(&room, (enum where)where);
            ASSERT_RC(PDR_OK, pdr_retain(&report, store, &opts, NULL));
            pdr_page *page = read_entries(store, rules[i].id);
            if (page->head.first_seq != rules[i].first ||
                report.untimed_seq != rules[i].untimed)
                fail_msg("rule %zu, place %d: from %d on, ended by %d", i,
                         where, (int)page->head.first_seq,
                         (int)report.untimed_seq);
            pdr_page_free(page);
            pdr_store_close(store);
            room_leave(&room);
        }
    }
}

TEST(times, that_nobody_wrote_are_in_no_row)
{
    static const struct {
        const char *id;
        uint64_t seq;
        int64_t time;
    } rows[] = {
        {"state", 2, INT64_C(1748822400000)},
        {"state", 4, PDR_NO_TIME},
        {"dotnet", 3, PDR_NO_TIME},
        {"python", 1, PDR_NO_TIME},
        {"grown", 1, PDR_NO_TIME},
        {"grown", 2, MAR},
    };
    struct room room;

    room_enter(&room);
    pdr_store *store = open_sample(&room, IN_SQLITE);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        pdr_page *page = read_entries(store, rows[i].id);
        ASSERT_INT(rows[i].time, page->entries[rows[i].seq - 1].created_ms);
        pdr_page_free(page);
    }
    ASSERT_RC(PDR_OK, pdr_store_verify(NULL, store, NULL, NULL, NULL, NULL));
    pdr_store_close(store);
    room_leave(&room);
}

TEST(times, do_not_change_what_is_exported)
{
    for (int where = 0; where < PLACES; where++) {
        struct room room;

        room_enter(&room);
        pdr_store *store = open_sample(&room, (enum where)where);
        for (size_t i = 0; i + 1 < DOCUMENTS; i++) { /* "grown" has grown */
            const pdr_export_opts opts = {
                .ref = {.id = pdr_str_c(documents[i].id)}};
            pdr_buf out = PDR_BUF_INIT(1u << 16);
            char *text = quoted(documents[i].text);

            ASSERT_RC(PDR_OK, pdr_export(NULL, store, &opts, NULL,
                                         pdr_write_buf, &out));
            ASSERT_TEXT(text, pdr_buf_str(&out));
            pdr_buf_dispose(&out);
            free(text);
        }
        pdr_store_close(store);
        room_leave(&room);
    }
}

/* Bodies of a kind that no model sees are read for their time alone. */
TEST_OOM(times, cleans_up_after_any_failed_allocation)
{
    const pdr_retain_opts opts = {
        .ref = {.id = pdr_str_c("state")}, .before_ms = DEC, .now_ms = APR};
    pdr_store *store = NULL;
    pdr_err err = PDR_ERR_INIT;

    test_pause_failures(true);
    store = open_sample(NULL, IN_MEMORY);
    test_pause_failures(false);
    pdr_rc rc = pdr_retain(NULL, store, &opts, &err);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT_RC(rc, err.code);
    pdr_store_close(store);
}
