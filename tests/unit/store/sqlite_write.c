/* Which rows a commit leaves in a file of SQLite. */
#include "sqlite_room.h"

static pdr_work work_of(const char *kind, const char *body, int64_t due_ms)
{
    pdr_work work;

    memset(&work, 0, sizeof(work));
    work.kind = pdr_str_c(kind);
    work.body = pdr_str_c(body);
    work.due_ms = due_ms;
    return work;
}

/* --- what a session is --------------------------------------------------- */

TEST(sqlite_write, keeps_a_head_with_every_column)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_edit edit = edit_of("trip", 0);
    pdr_committed done;

    room_enter(&room);
    store = store_open(&room, "");
    edit.agent = pdr_str_c("guide");
    edit.kind = pdr_str_c("durable");
    edit.schema_version = pdr_str_c("1.1.0");
    edit.set_state = true;
    edit.state = PDR_SESSION_RUNNING;
    edit.expiry = PDR_EXPIRY_SET;
    edit.expiry_ms = 77000;
    edit.lease.verb = PDR_LEASE_TAKE;
    edit.lease.owner = pdr_str_c("worker");
    edit.lease.until_ms = 9000;
    ASSERT_RC(PDR_OK, commit_one(store, &edit, &done, NULL));
    ASSERT_INT(1, done.revision);
    ASSERT_INT(1, done.epoch);
    ASSERT_INT(2, done.fence);
    ASSERT_STR("1|default|trip|guide|durable|1.1.0|running|1|1|1000|1000|77000",
               sql_text(&room, "SELECT no||'|'||tenant||'|'||id||'|'||agent||"
                               "'|'||kind||'|'||schema_version||'|'||state||"
                               "'|'||revision||'|'||commits||'|'||created||'|'"
                               "||changed||'|'||expiry FROM sessions"));
    ASSERT_STR("worker|2|9000",
               sql_text(&room, "SELECT lease_owner||'|'||fence||'|'||"
                               "lease_until FROM sessions"));
    ASSERT_INT(2, sql_int(&room, "SELECT number FROM store"));
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_write, appends_entries_that_the_view_shows)
{
    struct room room;
    pdr_store *store = NULL;

    room_enter(&room);
    store = store_open(&room, "");
    ASSERT_RC(PDR_OK, append_one(store, "a", 0, "c-1", "{\"n\":1}", NULL));
    ASSERT_RC(PDR_OK, append_one(store, "a", 1, "c-1", "{\"n\":2}", NULL));
    ASSERT_RC(PDR_OK, append_one(store, "a", 2, NULL, "{\"n\":3}", NULL));
    ASSERT_STR("default|a|1|request|1970-01-01T00:00:01.000Z|c-1|{\"n\":1}",
               sql_text(&room, "SELECT tenant||'|'||id||'|'||seq||'|'||kind||"
                               "'|'||created||'|'||correlation_id||'|'||body "
                               "FROM conversation"));
    ASSERT_STR("{\"n\":1},{\"n\":2},{\"n\":3}",
               sql_text(&room, "SELECT group_concat(body) FROM (SELECT body "
                               "FROM conversation ORDER BY seq)"));
    ASSERT_STR("c-1|1|2", sql_text(&room, "SELECT correlation_id||'|'||"
                                          "first_seq||'|'||last_seq FROM "
                                          "completions"));
    ASSERT_INT(1, sql_int(&room, "SELECT count(*) FROM completions"));
    ASSERT_STR("1|4|3", sql_text(&room, "SELECT first_seq||'|'||next_seq||'|'"
                                        "||revision FROM sessions"));
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_write, sets_and_removes_slots_properties_and_the_frame)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_slot slots[2];
    pdr_property property;
    pdr_edit edit = edit_of("a", 0);

    memset(slots, 0, sizeof(slots));
    memset(&property, 0, sizeof(property));
    room_enter(&room);
    store = store_open(&room, "");
    slots[0].key = pdr_str_c("x");
    slots[0].value = pdr_str_c("1");
    slots[1].key = pdr_str_c("y");
    slots[1].value = pdr_str_c("2");
    property.key = pdr_str_c("topic");
    property.value = pdr_str_c("\"sea\"");
    property.match = pdr_str_c("sea");
    edit.slots = slots;
    edit.slot_count = 2;
    edit.properties = &property;
    edit.property_count = 1;
    edit.frame = pdr_str_c("{\"f\":1}");
    ASSERT_RC(PDR_OK, commit_one(store, &edit, NULL, NULL));
    ASSERT_STR("x=1,y=2", sql_text(&room, "SELECT group_concat(key||'='||value)"
                                          " FROM bag"));
    ASSERT_STR("default|a|topic|\"sea\"|sea",
               sql_text(&room, "SELECT tenant||'|'||id||'|'||key||'|'||value||"
                               "'|'||match FROM properties"));
    ASSERT_STR("{\"f\":1}",
               sql_text(&room, "SELECT body FROM parts WHERE part=4"));
    ASSERT_STR("2|1|1", sql_text(&room, "SELECT slots||'|'||properties||'|'||"
                                        "has_frame FROM sessions"));

    edit = edit_of("a", 1);
    slots[0].value = pdr_str_c("3");
    slots[1].value = pdr_str_n(NULL, 0);
    property.value = pdr_str_n(NULL, 0);
    property.match = pdr_str_n(NULL, 0);
    edit.slots = slots;
    edit.slot_count = 2;
    edit.properties = &property;
    edit.property_count = 1;
    edit.frame = pdr_str_c("{\"f\":2}");
    ASSERT_RC(PDR_OK, commit_one(store, &edit, NULL, NULL));
    ASSERT_STR("x=3", sql_text(&room, "SELECT group_concat(key||'='||value)"
                                      " FROM bag"));
    ASSERT_INT(0, sql_int(&room, "SELECT count(*) FROM properties"));
    ASSERT_STR("{\"f\":2}",
               sql_text(&room, "SELECT body FROM parts WHERE part=4"));
    ASSERT_STR("1|0|1", sql_text(&room, "SELECT slots||'|'||properties||'|'||"
                                        "has_frame FROM sessions"));
    pdr_store_close(store);
    room_leave(&room);
}

/* --- work ---------------------------------------------------------------- */

static void check_list(const struct room *room, const char *view,
                       const char *expected)
{
    char sql[128];

    (void)snprintf(sql, sizeof(sql),
                   "SELECT group_concat(n||':'||body,' ') FROM (SELECT n,body "
                   "FROM %s ORDER BY n)",
                   view);
    ASSERT_STR(expected, sql_text(room, sql));
}

TEST(sqlite_write, exchanges_rows_of_the_journal_in_every_proportion)
{
    static const struct {
        uint64_t through;
        size_t count;
        const char *rows;
    } steps[] = {
        {0, 3, "1:0 2:1 3:2"},    {3, 3, "4:0 5:1 6:2"},
        {4, 1, "5:1 6:2 7:0"},    {6, 4, "7:0 8:0 9:1 10:2 11:3"},
        {9, 1, "10:2 11:3 12:0"}, {10, 0, "11:3 12:0"},
        {0, 1, "11:3 12:0 13:0"}, {99, 0, "(null)"},
        {0, 2, "14:0 15:1"},      {15, 5, "16:0 17:1 18:2 19:3 20:4"},
        {20, 1, "21:0"},
    };
    static const char *const bodies[] = {"0", "1", "2", "3", "4"};
    struct room room;
    pdr_store *store = NULL;
    pdr_work rows[5];

    for (size_t i = 0; i < 5; i++)
        rows[i] = work_of("step", bodies[i], PDR_NEVER);
    room_enter(&room);
    store = store_open(&room, "");
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        pdr_edit edit = edit_of("a", PDR_ANY_REVISION);

        edit.or_create = true;
        edit.journal_through = steps[i].through;
        edit.journal = rows;
        edit.journal_count = steps[i].count;
        edit.stream_through = steps[i].through;
        edit.stream = rows;
        edit.stream_count = steps[i].count;
        ASSERT_RC(PDR_OK, commit_one(store, &edit, NULL, NULL));
        check_list(&room, "journal", steps[i].rows);
        check_list(&room, "stream", steps[i].rows);
    }
    pdr_store_close(store);
    room_leave(&room);
}

TEST(sqlite_write, settles_and_adds_rows_of_the_inbox)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_work rows[3];
    const uint64_t first[] = {2}, both[] = {1, 3}, gone[] = {2};
    pdr_edit edit = edit_of("a", PDR_ANY_REVISION);
    pdr_err err = PDR_ERR_INIT;

    rows[0] = work_of("run", "\"p\"", 500);
    rows[1] = work_of("run", "\"q\"", PDR_NEVER);
    rows[2] = work_of("run", "\"r\"", 700);
    room_enter(&room);
    store = store_open(&room, "");
    edit.or_create = true;
    edit.inbox = rows;
    edit.inbox_count = 3;
    ASSERT_RC(PDR_OK, commit_one(store, &edit, NULL, NULL));
    check_list(&room, "inbox", "1:\"p\" 2:\"q\" 3:\"r\"");
    ASSERT_INT(2, sql_int(&room, "SELECT count(*) FROM parts WHERE due IS NOT "
                                 "NULL"));

    edit.inbox_count = 1;
    edit.settle = first;
    edit.settle_count = 1;
    ASSERT_RC(PDR_OK, commit_one(store, &edit, NULL, NULL));
    check_list(&room, "inbox", "1:\"p\" 3:\"r\" 4:\"p\"");

    edit.settle = gone;
    ASSERT_RC(PDR_ECONFLICT, commit_one(store, &edit, NULL, &err));
    ASSERT_STR("not_in_inbox", err.reason);
    edit.inbox_count = 0;
    ASSERT_RC(PDR_ECONFLICT, commit_one(store, &edit, NULL, &err));
    check_list(&room, "inbox", "1:\"p\" 3:\"r\" 4:\"p\"");

    edit.settle = both;
    edit.settle_count = 2;
    ASSERT_RC(PDR_OK, commit_one(store, &edit, NULL, NULL));
    check_list(&room, "inbox", "4:\"p\"");
    ASSERT_INT(1, sql_int(&room, "SELECT inbox FROM sessions"));
    pdr_store_close(store);
    room_leave(&room);
}

/* --- completions --------------------------------------------------------- */

TEST(sqlite_write, keeps_completions_and_refuses_to_end_one_twice)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_completion row;
    pdr_edit edit = edit_of("a", PDR_ANY_REVISION);
    pdr_err err = PDR_ERR_INIT;

    memset(&row, 0, sizeof(row));
    room_enter(&room);
    store = store_open(&room, "");
    row.correlation_id = pdr_str_c("c-1");
    row.fingerprint = pdr_str_c("f1");
    edit.or_create = true;
    edit.completions = &row;
    edit.completion_count = 1;
    ASSERT_RC(PDR_OK, commit_one(store, &edit, NULL, NULL));
    ASSERT_STR("f1|(none)",
               sql_text(&room, "SELECT fingerprint||'|'||ifnull(body,"
                               "'(none)') FROM log WHERE key='c-1'"));
    row.outcome = pdr_str_c("\"done\"");
    row.fingerprint = pdr_str_n(NULL, 0);
    ASSERT_RC(PDR_OK, commit_one(store, &edit, NULL, NULL));
    ASSERT_STR("f1|\"done\"",
               sql_text(&room, "SELECT fingerprint||'|'||body FROM log"));
    ASSERT_RC(PDR_EEXISTS, commit_one(store, &edit, NULL, &err));
    ASSERT_STR("completion_exists", err.reason);
    ASSERT_INT(1, sql_int(&room, "SELECT completions FROM sessions"));
    pdr_store_close(store);
    room_leave(&room);
}

/* --- deletion ------------------------------------------------------------ */

TEST(sqlite_write, deletes_every_row_of_a_session_and_no_other)
{
    struct room room;
    pdr_store *store = NULL;
    pdr_work row = work_of("run", "1", 500);
    pdr_slot slot;
    pdr_property property;
    pdr_edit edit;
    pdr_committed done;

    memset(&slot, 0, sizeof(slot));
    memset(&property, 0, sizeof(property));
    slot.key = property.key = pdr_str_c("k");
    slot.value = property.value = pdr_str_c("1");
    room_enter(&room);
    store = store_open(&room, "");
    for (int i = 0; i < 2; i++) {
        edit = edit_of(i == 0 ? "a" : "b", 0);
        edit.slots = &slot;
        edit.properties = &property;
        edit.inbox = edit.journal = edit.stream = &row;
        edit.slot_count = edit.property_count = 1;
        edit.inbox_count = edit.journal_count = edit.stream_count = 1;
        edit.frame = pdr_str_c("{}");
        ASSERT_RC(PDR_OK, commit_one(store, &edit, NULL, NULL));
        ASSERT_RC(PDR_OK,
                  append_one(store, i == 0 ? "a" : "b", 1, "c", "{}", NULL));
    }
    edit = edit_of("a", 2);
    edit.remove = true;
    ASSERT_RC(PDR_OK, commit_one(store, &edit, &done, NULL));
    ASSERT_INT(0, done.revision);
    ASSERT_STR("1|2|5|1",
               sql_text(&room, "SELECT (SELECT count(*) FROM sessions)||'|'||"
                               "(SELECT count(*) FROM log)||'|'||"
                               "(SELECT count(*) FROM parts)||'|'||"
                               "(SELECT count(*) FROM properties)"));
    ASSERT_STR("b", sql_text(&room, "SELECT id FROM sessions"));
    /* Made again, it is another one. */
    edit = edit_of("a", 0);
    ASSERT_RC(PDR_OK, commit_one(store, &edit, &done, NULL));
    ASSERT_INT(3, done.epoch);
    pdr_store_close(store);
    room_leave(&room);
}
