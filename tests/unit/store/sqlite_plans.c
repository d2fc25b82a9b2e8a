/* How SQLite carries out the lists: from an index, without a sort. */
#include "sqlite_stock.h"

#include "sqlite/reader.h"

/* The plan of a statement, one line after the other. */
static const char *plan_of(struct stock *stock, const char *sql)
{
    static char plan[2000];
    char explain[4000];
    sqlite3_stmt *stmt = NULL;
    size_t used = 0;

    snprintf(explain, sizeof(explain), "EXPLAIN QUERY PLAN %s", sql);
    (void)stock_ask(stock, "SELECT 1");
    ASSERT_INT(SQLITE_OK,
               sqlite3_prepare_v2(stock->raw, explain, -1, &stmt, NULL));
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

/* Whatever a list is asked for, the steps that it takes do not grow with the
 * store. */
TEST(sqlite_plan, of_a_page_takes_the_same_steps_in_a_larger_store)
{
    struct stock stock;
    sqlite3_stmt *stmt = NULL;
    int steps[2] = {0, 0};

    stock_open(&stock);
    for (int round = 0; round < 2; round++) {
        stock_many(&stock, round == 0 ? 60 : 240);
        ASSERT_INT(SQLITE_OK,
                   sqlite3_prepare_v2(
                       stock.raw != NULL ? stock.raw
                                         : (stock_sql(&stock, ""), stock.raw),
                       pdr__list_sql(READER_BY_CHANGE), -1, &stmt, NULL));
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
