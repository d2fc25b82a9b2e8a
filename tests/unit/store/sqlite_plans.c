/* How SQLite carries out the lists: from an index, without a sort. */
#include "sqlite_stock.h"

#include "sqlite/reader.h"

/* The functions of lists, which readers have. This one gives `*arg`. */
static void give_bool(sqlite3_context *context, int count,
                      sqlite3_value **values)
{
    const bool *arg = sqlite3_user_data(context);

    (void)count;
    (void)values;
    sqlite3_result_int(context, *arg);
}

/* And this one the first column of a head. */
static void give_first(sqlite3_context *context, int count,
                       sqlite3_value **values)
{
    ASSERT(count > PDR_SQLITE_HEAD_COUNT);
    sqlite3_result_value(context, values[0]);
}

/* A connection of our own that knows them. */
static sqlite3 *raw_of(struct stock *stock, bool *index_only)
{
    (void)stock_ask(stock, "SELECT 1");
    ASSERT_INT(SQLITE_OK, sqlite3_create_function(stock->raw, PDR_INDEX_ONLY, 0,
                                                  SQLITE_UTF8, index_only,
                                                  give_bool, NULL, NULL));
    ASSERT_INT(SQLITE_OK, sqlite3_create_function(stock->raw, PDR_TAKE_ROW, -1,
                                                  SQLITE_UTF8, NULL, give_first,
                                                  NULL, NULL));
    return stock->raw;
}

/* The plan of a statement, one line after the other. */
static const char *plan_of(struct stock *stock, const char *sql)
{
    static char plan[2000];
    char explain[4000];
    sqlite3_stmt *stmt = NULL;
    bool index_only = false;
    size_t used = 0;

    snprintf(explain, sizeof(explain), "EXPLAIN QUERY PLAN %s", sql);
    ASSERT_INT(SQLITE_OK, sqlite3_prepare_v2(raw_of(stock, &index_only),
                                             explain, -1, &stmt, NULL));
    plan[0] = '\0';
    while (sqlite3_step(stmt) == SQLITE_ROW)
        used += (size_t)snprintf(plan + used, sizeof(plan) - used, "%s\n",
                                 (const char *)sqlite3_column_text(stmt, 3));
    ASSERT_INT(SQLITE_OK, sqlite3_finalize(stmt));
    return plan;
}

/* A search of `index` alone, no sort, and no table or index from end to end:
 * "SCAN i" is the one that takes what the four searches give. */
static void assert_plan(struct stock *stock, unsigned slot, const char *index)
{
    const char *plan = plan_of(stock, pdr__list_sql(slot));
    char search[200];

    snprintf(search, sizeof(search), "USING COVERING INDEX %s (", index);
    if (strstr(plan, search) == NULL || strstr(plan, "TEMP B-TREE") != NULL ||
        strstr(plan, "MATERIALIZE") != NULL ||
        (strstr(plan, "SCAN") != NULL && slot != READER_BY_CHANGE))
        fail_msg("%s", plan);
}

TEST(sqlite_plan, of_each_list_is_a_search_of_its_index)
{
    struct stock stock;

    stock_open(&stock);
    stock_many(&stock, 12);
    stock_sql(&stock, "ANALYZE"); /* figures must not mislead it */
    assert_plan(&stock, READER_BY_CHANGE, "sessions_by_state");
    assert_plan(&stock, READER_BY_AGENT, "sessions_by_agent");
    assert_plan(&stock, READER_BY_STATE, "sessions_by_state");
    assert_plan(&stock, READER_BY_PROPERTY, "properties_by_match");
    assert_plan(&stock, READER_BY_PREFIX, "sessions_by_id");
    assert_plan(&stock, READER_BY_ID, "sessions_by_id");
    assert_plan(&stock, READER_BY_EXPIRY, "sessions_by_expiry");
    assert_plan(&stock, READER_BY_DUE, "parts_by_due");
    stock_close(&stock);
}

TEST(sqlite_plan, of_all_states_merges_four_searches_as_they_come)
{
    struct stock stock;
    const char *plan = NULL;
    size_t searches = 0;

    stock_open(&stock);
    plan = plan_of(&stock, pdr__list_sql(READER_BY_CHANGE));
    ASSERT(strstr(plan, "CO-ROUTINE i\n") != NULL);
    ASSERT(strstr(plan, "MERGE (UNION ALL)\n") != NULL);
    ASSERT(strstr(plan, "SCAN i\n") != NULL);
    ASSERT(strstr(plan, "SCAN sessions") == NULL);
    for (; (plan = strstr(plan, "changed>? AND (changed,id)<(?,?))")) != NULL;
         plan++)
        searches++;
    ASSERT_SIZE(4, searches);
    stock_close(&stock);
}

TEST(sqlite_plan, of_each_read_is_a_search)
{
    struct stock stock;

    stock_open(&stock);
    for (unsigned i = READER_HEAD; i < READER_BY_CHANGE; i++) {
        const char *plan = plan_of(&stock, pdr__read_sql(i));

        if (strstr(plan, "SEARCH ") == NULL || strstr(plan, "SCAN") != NULL ||
            strstr(plan, "TEMP B-TREE") != NULL)
            fail_msg("%s", plan);
    }
    stock_close(&stock);
}

/* Statements of the writer, in the order of sql.h. */
static const char *const writes[] = {
#define X(name, text) text,
#include "sqlite/sql.h"
#undef X
};

/* Those that change or find rows of one session have its number, and those of
 * one row all of its key. */
TEST(sqlite_plan, of_each_write_is_a_search)
{
    static const enum pdr__sqlite_sql whole_key[] = {
        PDR_SQL_SET_PART, PDR_SQL_REMOVE_PART, PDR_SQL_MOVE_WORK,
        PDR_SQL_SWEEP_PARTS};
    struct stock stock;
    size_t looked = 0;

    stock_open(&stock);
    for (size_t i = 0; i < PDR_COUNT(writes); i++) {
        const char *plan = plan_of(&stock, writes[i]);
        bool is_unseen = strstr(writes[i], " unseen") != NULL;

        looked += strstr(plan, "SEARCH ") != NULL;
        if (strstr(plan, "TEMP B-TREE") != NULL ||
            (strstr(plan, "SCAN") != NULL && !is_unseen))
            fail_msg("%s: %s", writes[i], plan);
    }
    ASSERT(looked > 15);
    for (size_t i = 0; i < PDR_COUNT(whole_key); i++)
        if (strstr(plan_of(&stock, writes[whole_key[i]]),
                   "(session=? AND part=? AND key=?)") == NULL)
            fail_msg("%s: %s", writes[whole_key[i]],
                     plan_of(&stock, writes[whole_key[i]]));
    if (strstr(plan_of(&stock, writes[PDR_SQL_SWEEP_PROPERTIES]),
               "(session=? AND key=?)") == NULL)
        fail_msg("%s", plan_of(&stock, writes[PDR_SQL_SWEEP_PROPERTIES]));
    stock_close(&stock);
}

/* Whatever a list is asked for, the steps that it takes do not grow with the
 * store. */
TEST(sqlite_plan, of_a_page_takes_the_same_steps_in_a_larger_store)
{
    struct stock stock;
    sqlite3_stmt *stmt = NULL;
    bool index_only = false;
    int steps[2] = {0, 0};

    stock_open(&stock);
    for (int round = 0; round < 2; round++) {
        stock_many(&stock, round == 0 ? 60 : 240);
        ASSERT_INT(SQLITE_OK,
                   sqlite3_prepare_v2(raw_of(&stock, &index_only),
                                      pdr__list_sql(READER_BY_CHANGE), -1,
                                      &stmt, NULL));
        sqlite3_bind_text(stmt, 1, "default", -1, SQLITE_STATIC);
        sqlite3_bind_int64(stmt, 2, 0);
        sqlite3_bind_int64(stmt, 3, INT64_MAX);
        sqlite3_bind_text(stmt, 4, "", -1, SQLITE_STATIC);
        for (int i = 0; i < 20; i++)
            ASSERT_INT(SQLITE_ROW, sqlite3_step(stmt));
        steps[round] = sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_VM_STEP, 1);
        sqlite3_finalize(stmt);
    }
    ASSERT(steps[1] <= steps[0] + steps[0] / 10);
    stock_close(&stock);
}

/* Where a page is full the next row is not looked up: its index is enough. */
TEST(sqlite_plan, of_a_list_leaves_out_the_row_behind_a_full_page)
{
    struct stock stock;
    sqlite3_stmt *stmt = NULL;
    bool index_only = false;

    stock_open(&stock);
    stock_many(&stock, 3);
    ASSERT_INT(SQLITE_OK, sqlite3_prepare_v2(raw_of(&stock, &index_only),
                                             pdr__list_sql(READER_BY_ID), -1,
                                             &stmt, NULL));
    sqlite3_bind_text(stmt, 1, "", -1, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 2, "", -1, SQLITE_STATIC);
    ASSERT_INT(SQLITE_ROW, sqlite3_step(stmt));
    ASSERT_INT(SQLITE_INTEGER, sqlite3_column_type(stmt, 0));
    index_only = true;
    ASSERT_INT(SQLITE_ROW, sqlite3_step(stmt));
    ASSERT_INT(SQLITE_NULL, sqlite3_column_type(stmt, 0));
    ASSERT_INT(SQLITE_OK, sqlite3_finalize(stmt));
    stock_close(&stock);
}
