/* Commits that are handed over together: each stands alone. */
#include <inttypes.h>

#include "suite.h"

#define GROUP 9

enum mistake { CONFLICTS, IS_FENCED, IS_TOO_LARGE, IS_MALFORMED, MISTAKES };

static const struct {
    pdr_rc rc;
    const char *reason;
} expected[MISTAKES] = {
    [CONFLICTS] = {PDR_ECONFLICT, "revision_changed"},
    [IS_FENCED] = {PDR_EFENCED, "lease_lost"},
    [IS_TOO_LARGE] = {PDR_ELIMIT, "row_too_large"},
    [IS_MALFORMED] = {PDR_EINVALID, "bad_body"},
};

/* More than a row may have; zero pages, so it costs no memory. */
static pdr_str large_text(void)
{
    static char *text;
    size_t size = (size_t)64 * 1024 * 1024 + 1;

    if (text == NULL)
        text = calloc(1, size);
    assert_non_null(text);
    return pdr_str_n(text, size);
}

struct group {
    pdr_store *store;
    char ids[GROUP][8];
    pdr_entry entries[GROUP];
    pdr_edit edits[GROUP];
    pdr_committed done[GROUP];
    pdr_request requests[GROUP];
};

/* A group that appends one entry to each of GROUP sessions. */
static void fill(struct group *group, pdr_store *store, uint64_t revision)
{
    memset(group, 0, sizeof(*group));
    group->store = store;
    for (size_t i = 0; i < GROUP; i++) {
        snprintf(group->ids[i], sizeof(group->ids[i]), "s%zu", i);
        group->entries[i].body = S("{\"n\":1}");
        group->edits[i] = (pdr_edit){.ref = {.id = pdr_str_c(group->ids[i])},
                                     .revision = revision,
                                     .entries = &group->entries[i],
                                     .entry_count = 1};
        group->requests[i] = (pdr_request){.edits = &group->edits[i],
                                           .count = 1,
                                           .options = {.now_ms = NOW},
                                           .committed = &group->done[i]};
    }
}

static void spoil(struct group *group, size_t at, enum mistake mistake)
{
    pdr_edit *edit = &group->edits[at];

    if (mistake == CONFLICTS)
        edit->revision += 5;
    else if (mistake == IS_FENCED)
        edit->lease.fence = 12345;
    else if (mistake == IS_TOO_LARGE)
        group->entries[at].body = large_text();
    else
        group->entries[at].body = S("{\"n\":[}");
}

/* The spoilt one is refused, all others are done. */
static void check(struct group *group, size_t bad, enum mistake mistake,
                  uint64_t revision)
{
    for (size_t i = 0; i < GROUP; i++) {
        const pdr_request *request = &group->requests[i];
        pdr_head head = head_of(group->store, group->ids[i]);
        if (i == bad) {
            ASSERT_RC(expected[mistake].rc, request->rc);
            ASSERT_STR(expected[mistake].reason, request->err.reason);
            ASSERT_INT(revision, head.revision);
            ASSERT_INT(revision, head.commits);
            ASSERT_INT(0, group->done[i].revision); /* untouched */
        } else {
            ASSERT_RC(PDR_OK, request->rc);
            ASSERT_INT(revision + 1, head.revision);
            ASSERT_INT(revision + 1, group->done[i].revision);
        }
    }
}

static void try_mistake(enum mistake mistake)
{
    static const size_t places[] = {0, GROUP / 2, GROUP - 1};

    for (size_t p = 0; p < COUNT(places); p++) {
        pdr_store *store = suite_open();
        struct group group;
        fill(&group, store, 0);
        pdr_store_commit_all(store, group.requests, GROUP);
        for (size_t i = 0; i < GROUP; i++)
            ASSERT_RC(PDR_OK, group.requests[i].rc);
        fill(&group, store, 1);
        spoil(&group, places[p], mistake);
        pdr_store_commit_all(store, group.requests, GROUP);
        check(&group, places[p], mistake, 1);
        suite_close(store);
    }
}

TEST(group, goes_on_without_the_one_that_conflicts)
{
    try_mistake(CONFLICTS);
}

TEST(group, goes_on_without_the_one_that_is_fenced)
{
    try_mistake(IS_FENCED);
}

TEST(group, goes_on_without_the_one_that_is_too_large)
{
    try_mistake(IS_TOO_LARGE);
}

TEST(group, goes_on_without_the_one_that_is_malformed)
{
    try_mistake(IS_MALFORMED);
}

TEST(group, goes_on_if_one_is_refused_after_its_first_rows)
{
    pdr_store *store = suite_open();
    const uint64_t settle[] = {1};
    const pdr_slot slot = {.key = S("k"), .value = S("1")};
    const pdr_completion known = {.correlation_id = S("c"), .outcome = S("1")};
    struct group group;

    fill(&group, store, 0);
    group.edits[6].completions = &known;
    group.edits[6].completion_count = 1;
    pdr_store_commit_all(store, group.requests, GROUP);
    fill(&group, store, 1);
    for (size_t i = 0; i < GROUP; i++) {
        group.edits[i].slots = &slot;
        group.edits[i].slot_count = 1;
    }
    group.edits[2].settle = settle; /* found missing when rows are written */
    group.edits[2].settle_count = 1;
    group.edits[6].completions = &known;
    group.edits[6].completion_count = 1;
    pdr_store_commit_all(store, group.requests, GROUP);
    for (size_t i = 0; i < GROUP; i++) {
        bool bad = i == 2 || i == 6;
        pdr_head head = head_of(store, group.ids[i]);
        ASSERT(bad == (group.requests[i].rc != PDR_OK));
        ASSERT_INT(bad ? 1 : 2, head.revision);
        ASSERT_INT(bad ? 0 : 1, head.slots);
    }
    ASSERT_STR("not_in_inbox", group.requests[2].err.reason);
    ASSERT_STR("completion_exists", group.requests[6].err.reason);
    suite_close(store);
}

TEST(group, may_be_refused_as_a_whole_one_by_one)
{
    pdr_store *store = suite_open();
    struct group group;

    fill(&group, store, 0);
    for (size_t i = 0; i < GROUP; i++)
        spoil(&group, i, (enum mistake)(i % MISTAKES));
    uint64_t before = suite_hash(store);
    pdr_store_commit_all(store, group.requests, GROUP);
    for (size_t i = 0; i < GROUP; i++)
        ASSERT(group.requests[i].rc != PDR_OK);
    ASSERT(before == suite_hash(store));
    suite_close(store);
}

TEST(group, of_commits_to_one_session_runs_in_order)
{
    pdr_store *store = suite_open();
    struct group group;

    fill(&group, store, 0);
    for (size_t i = 0; i < GROUP; i++) {
        group.edits[i].ref.id = S("s");
        group.edits[i].revision = i;
    }
    group.edits[4].revision = 1; /* late; so are all behind it by one */
    pdr_store_commit_all(store, group.requests, GROUP);
    for (size_t i = 0; i < GROUP; i++) {
        ASSERT_RC(i < 4 ? PDR_OK : PDR_ECONFLICT, group.requests[i].rc);
        ASSERT_INT(i < 4 ? i + 1 : 0, group.done[i].revision);
        ASSERT_INT(i < 4 ? i + 1 : 0, group.done[i].first_seq);
    }
    ASSERT_INT(4, head_of(store, "s").revision);
    suite_close(store);
}

TEST(group, keeps_commits_of_several_sessions_whole)
{
    pdr_store *store = suite_open();
    struct group group;
    pdr_edit pairs[3][2] = {{EDIT("a", 0), EDIT("b", 0)},
                            {EDIT("c", 0), EDIT("b", 0)},
                            {EDIT("d", 0), EDIT("e", 0)}};

    fill(&group, store, 0);
    for (size_t i = 0; i < 3; i++) {
        group.requests[i].edits = pairs[i];
        group.requests[i].count = 2;
        group.requests[i].committed = NULL;
    }
    pdr_store_commit_all(store, group.requests, 3);
    ASSERT_RC(PDR_OK, group.requests[0].rc);
    ASSERT_RC(PDR_EEXISTS, group.requests[1].rc);
    ASSERT_RC(PDR_OK, group.requests[2].rc);
    ASSERT(is_there(store, "a") && is_there(store, "b"));
    ASSERT(!is_there(store, "c"));
    ASSERT(is_there(store, "d") && is_there(store, "e"));
    suite_close(store);
}

TEST(group, gives_the_same_rows_as_one_commit_after_the_other)
{
    pdr_store *store = suite_open();
    struct group group;

    fill(&group, store, 0);
    spoil(&group, 3, CONFLICTS);
    pdr_store_commit_all(store, group.requests, GROUP);
    uint64_t together = suite_hash(store);
    suite_close(store);

    store = suite_open();
    fill(&group, store, 0);
    spoil(&group, 3, CONFLICTS);
    for (size_t i = 0; i < GROUP; i++) {
        const pdr_commit_options options = {.now_ms = NOW};
        pdr_rc rc =
            pdr_store_commit(NULL, store, &group.edits[i], 1, &options, NULL);
        ASSERT((i == 3) == (rc != PDR_OK));
    }
    ASSERT(together == suite_hash(store)); /* refused ones use nothing up */
    suite_close(store);
}

TEST(group, of_none_does_nothing)
{
    pdr_store *store = suite_open();
    pdr_request none;

    pdr_store_commit_all(store, &none, 0);
    suite_close(store);
}
