/*
 * fault_store.c - the store that fails on demand fails when it was asked to,
 * and is the store inside otherwise.
 */
#include "fault_store.h"

#include "hook_store.h"
#include "room.h"

static const pdr_commit_options at_noon = {.now_ms = 43200000};

static pdr_store *fault_over(const char *uri)
{
    pdr_store *store = NULL;
    char text[700];

    fault_store_register();
    fault_store_set(&(struct fault_plan){.call = FAULT_ANY});
    snprintf(text, sizeof(text), "fault:%s", uri);
    ASSERT_RC(PDR_OK, pdr_store_open(&store, text, NULL));
    return store;
}

static pdr_rc make_session(pdr_store *store, const char *id, pdr_err *err)
{
    pdr_edit edit = {.ref.id = pdr_str_c(id)};

    return pdr_store_commit(NULL, store, &edit, 1, &at_noon, err);
}

static pdr_rc look(pdr_store *store, const char *id, pdr_err *err)
{
    pdr_query query = {.what = PDR_READ_HEAD, .ref.id = pdr_str_c(id)};
    pdr_page *page = NULL;
    pdr_rc rc = pdr_store_read(&page, store, &query, err);

    pdr_page_free(page);
    return rc;
}

TEST(fault_store, is_the_store_inside_while_nothing_fails)
{
    pdr_store *store = fault_over("memory:");
    pdr_verify_report report;
    pdr_store_info info;
    pdr_watch *watch = NULL;

    ASSERT_RC(PDR_OK, make_session(store, "a", NULL));
    ASSERT_RC(PDR_OK, look(store, "a", NULL));
    ASSERT_RC(PDR_OK, pdr_store_verify(&report, store, NULL, NULL, NULL, NULL));
    ASSERT_SIZE(1, report.sessions);
    ASSERT_RC(PDR_OK, pdr_store_info_get(&info, store, NULL));
    ASSERT_STR("fault", info.backend);
    ASSERT(!info.in_doubt);
    ASSERT_RC(PDR_OK, pdr_watch_open(&watch, store, NULL, NULL));
    ASSERT_RC(PDR_ETIMEOUT, pdr_watch_wait(watch, 0, NULL));
    ASSERT_RC(PDR_OK, make_session(store, "b", NULL));
    ASSERT_RC(PDR_OK, pdr_watch_wait(watch, 0, NULL));
    pdr_watch_close(watch);
    ASSERT_SIZE(0, fault_store_failed());
    ASSERT(fault_store_calls() >= 5);
    pdr_store_close(store);
}

static pdr_rc clock_at_9000(pdr_store *store, int64_t *out, pdr_err *err)
{
    (void)store;
    (void)err;
    *out = 9000;
    return PDR_OK;
}

TEST(fault_store, passes_on_the_clock_of_the_store_inside)
{
    pdr_store *hooked = hook_open(NULL, NULL);
    pdr_store *without = fault_over("hook:");
    int64_t now = 0;

    ASSERT_RC(PDR_OK, pdr_store_now(&now, without, 5, NULL));
    ASSERT_INT(5, now);
    hook_now(clock_at_9000);
    pdr_store *store = fault_over("hook:");
    ASSERT_RC(PDR_OK, pdr_store_now(&now, store, 5, NULL));
    ASSERT_INT(9000, now);
    fault_store_set(&(struct fault_plan){.call = FAULT_INFO, .nth = 1});
    ASSERT_RC(PDR_EIO, pdr_store_now(&now, store, 5, NULL));
    pdr_store_close(store);
    pdr_store_close(without);
    pdr_store_close(hooked);
}

TEST(fault_store, fails_one_call_or_all_behind_it)
{
    pdr_store *store = fault_over("memory:");
    pdr_err err = PDR_ERR_INIT;

    fault_store_set(&(struct fault_plan){.call = FAULT_COMMIT, .nth = 2});
    ASSERT_RC(PDR_OK, make_session(store, "a", NULL));
    ASSERT_RC(PDR_EIO, make_session(store, "b", &err));
    ASSERT_STR("file_failed", err.reason);
    ASSERT_RC(PDR_ENOTFOUND, look(store, "b", NULL));
    ASSERT_RC(PDR_OK, make_session(store, "b", NULL));
    ASSERT_SIZE(3, fault_store_calls());
    ASSERT_SIZE(1, fault_store_failed());

    fault_store_set(
        &(struct fault_plan){.call = FAULT_ANY, .nth = 2, .for_ever = true});
    ASSERT_RC(PDR_OK, look(store, "a", NULL));
    ASSERT_RC(PDR_EIO, look(store, "a", NULL));
    ASSERT_RC(PDR_EIO, make_session(store, "c", NULL));
    ASSERT_SIZE(2, fault_store_failed());
    pdr_store_close(store);
}

TEST(fault_store, can_fail_each_kind_of_call)
{
    pdr_store *store = fault_over("memory:"), *other = NULL;
    pdr_store_info info;
    pdr_watch *watch = NULL;

    fault_store_set(&(struct fault_plan){.call = FAULT_OPEN, .nth = 1});
    ASSERT_RC(PDR_EIO, pdr_store_open(&other, "fault:memory:", NULL));
    fault_store_set(&(struct fault_plan){.call = FAULT_READ, .nth = 1});
    ASSERT_RC(PDR_EIO, look(store, "a", NULL));
    fault_store_set(&(struct fault_plan){.call = FAULT_INFO, .nth = 1});
    ASSERT_RC(PDR_EIO, pdr_store_info_get(&info, store, NULL));
    fault_store_set(&(struct fault_plan){.call = FAULT_VERIFY, .nth = 1});
    ASSERT_RC(PDR_EIO, pdr_store_verify(NULL, store, NULL, NULL, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_watch_open(&watch, store, NULL, NULL));
    fault_store_set(
        &(struct fault_plan){.call = FAULT_POLL, .nth = 1, .for_ever = true});
    ASSERT_RC(PDR_EIO, pdr_watch_wait(watch, 100, NULL));
    ASSERT(fault_store_failed() > 0);
    pdr_watch_close(watch);
    pdr_store_close(store);
}

TEST(fault_store, hands_vacuum_backup_and_migration_on_or_fails_them)
{
    struct room room;
    char uri[600], copy[600], outer[700];
    pdr_store *store = NULL;
    pdr_vacuum_report vacuumed;
    pdr_backup_report backed;
    pdr_migrate_report migrated;

    room_enter(&room);
    snprintf(uri, sizeof(uri), "sqlite:%s", room_path(&room, "a.db"));
    snprintf(outer, sizeof(outer), "fault:%s", uri);
    snprintf(copy, sizeof(copy), "%s", room_path(&room, "copy.db"));
    store = fault_over(uri);
    ASSERT_RC(PDR_OK, make_session(store, "a", NULL));
    ASSERT_RC(PDR_OK, pdr_store_vacuum(&vacuumed, store, NULL, NULL, NULL));
    ASSERT(vacuumed.steps > 0 && vacuumed.after_bytes > 0);

    fault_store_set(&(struct fault_plan){.call = FAULT_VACUUM, .nth = 1});
    ASSERT_RC(PDR_EIO, pdr_store_vacuum(NULL, store, NULL, NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_store_vacuum(NULL, store, NULL, NULL, NULL));
    fault_store_set(&(struct fault_plan){.call = FAULT_BACKUP, .nth = 1});
    ASSERT_RC(PDR_EIO,
              pdr_store_backup(NULL, store, copy, false, NULL, NULL, NULL));
    ASSERT(!room_has(&room, "copy.db"));
    ASSERT_RC(PDR_OK,
              pdr_store_backup(&backed, store, copy, false, NULL, NULL, NULL));
    ASSERT(backed.bytes > 0 && room_has(&room, "copy.db"));
    pdr_store_close(store);

    fault_store_set(&(struct fault_plan){.call = FAULT_MIGRATE, .nth = 1});
    ASSERT_RC(PDR_EIO, pdr_store_migrate(NULL, outer, NULL));
    ASSERT_RC(PDR_OK, pdr_store_migrate(&migrated, outer, NULL));
    ASSERT_INT(migrated.to, migrated.from);
    ASSERT_SIZE(2, fault_store_calls());
    ASSERT_SIZE(1, fault_store_failed());
    room_leave(&room);
}

TEST(fault_store, has_no_more_calls_than_the_store_inside)
{
    pdr_store *store = fault_over("memory:");

    ASSERT_RC(PDR_EUNSUPPORTED,
              pdr_store_vacuum(NULL, store, NULL, NULL, NULL));
    ASSERT_RC(PDR_EUNSUPPORTED,
              pdr_store_backup(NULL, store, "x", false, NULL, NULL, NULL));
    ASSERT_RC(PDR_EVERSION, pdr_store_migrate(NULL, "fault:memory:", NULL));
    pdr_store_close(store);
}

TEST(fault_store, is_in_doubt_after_an_unknown_commit_that_was_lost)
{
    pdr_store *store = fault_over("memory:");
    pdr_store_info info;
    pdr_err err = PDR_ERR_INIT;

    fault_store_set(&(struct fault_plan){
        .call = FAULT_COMMIT, .nth = 1, .way = FAULT_UNKNOWN_LOST});
    ASSERT_RC(PDR_EUNKNOWN, make_session(store, "a", &err));
    ASSERT_STR("commit_unknown", err.reason);
    ASSERT_RC(PDR_EIO, make_session(store, "b", &err));
    ASSERT_STR("in_doubt", err.reason);
    ASSERT_RC(PDR_EIO, pdr_store_vacuum(NULL, store, &err, NULL, NULL));
    ASSERT_STR("in_doubt", err.reason);
    ASSERT_RC(PDR_OK, pdr_store_info_get(&info, store, NULL));
    ASSERT(info.in_doubt);
    ASSERT_RC(PDR_ENOTFOUND, look(store, "a", NULL));
    pdr_store_close(store);
}

TEST(fault_store, is_there_when_it_is_opened_again_after_one_that_was_done)
{
    struct room room;
    char uri[600];
    pdr_store *store = NULL;

    room_enter(&room);
    snprintf(uri, sizeof(uri), "sqlite:%s", room_path(&room, "a.db"));
    store = fault_over(uri);
    fault_store_set(&(struct fault_plan){
        .call = FAULT_COMMIT, .nth = 1, .way = FAULT_UNKNOWN_DONE});
    ASSERT_RC(PDR_EUNKNOWN, make_session(store, "a", NULL));
    ASSERT_RC(PDR_EIO, make_session(store, "b", NULL));
    pdr_store_close(store);
    store = fault_over(uri);
    ASSERT_RC(PDR_OK, look(store, "a", NULL));
    ASSERT_RC(PDR_EEXISTS, make_session(store, "a", NULL));
    ASSERT_RC(PDR_OK, make_session(store, "b", NULL));
    /* What the store inside refuses stays refused. */
    fault_store_set(&(struct fault_plan){
        .call = FAULT_COMMIT, .nth = 1, .way = FAULT_UNKNOWN_DONE});
    ASSERT_RC(PDR_EEXISTS, make_session(store, "a", NULL));
    ASSERT_RC(PDR_OK, make_session(store, "c", NULL));
    pdr_store_close(store);
    room_leave(&room);
}

TEST(fault_store, gives_each_commit_of_a_group_its_own_end)
{
    pdr_store *store = fault_over("memory:");
    const char *ids[] = {"a", "b", "c"};
    pdr_edit edits[3];
    pdr_request requests[3];

    memset(edits, 0, sizeof(edits));
    memset(requests, 0, sizeof(requests));
    for (size_t i = 0; i < 3; i++) {
        edits[i].ref.id = pdr_str_c(ids[i]);
        requests[i].edits = &edits[i];
        requests[i].count = 1;
        requests[i].options = at_noon;
    }
    fault_store_set(&(struct fault_plan){.call = FAULT_COMMIT, .nth = 2});
    pdr_store_commit_all(store, requests, 3);
    ASSERT_RC(PDR_OK, requests[0].rc);
    ASSERT_RC(PDR_EIO, requests[1].rc);
    ASSERT_RC(PDR_OK, requests[2].rc);
    ASSERT_RC(PDR_ENOTFOUND, look(store, "b", NULL));
    pdr_store_close(store);
}

TEST_OOM(fault_store_open, cleans_up_after_any_failed_allocation)
{
    pdr_store *store = NULL;
    pdr_rc rc = PDR_OK;

    fault_store_register();
    fault_store_set(&(struct fault_plan){.call = FAULT_ANY});
    rc = pdr_store_open(&store, "fault:memory:", NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((store != NULL) == (rc == PDR_OK));
    pdr_store_close(store);
}
