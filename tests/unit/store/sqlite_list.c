/* Lists of sessions, what has expired and what is due, read from SQLite. */
#include "sqlite_stock.h"

/* Read pages to the end: ids, "|" between pages. */
static const char *list(struct stock *stock, pdr_query query)
{
    static char text[4000];
    pdr_page *page = NULL, *next = NULL;
    size_t used = 0;
    pdr_err err = PDR_ERR_INIT;

    text[0] = '\0';
    do {
        if (page != NULL)
            query.after = page->next;
        if (pdr_store_read(&next, stock->store, &query, &err) != PDR_OK)
            fail_msg("%s", err.message);
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s",
                                 page != NULL ? "| " : "");
        pdr_page_free(page);
        page = next;
        for (size_t i = 0; i < page->count; i++) {
            pdr_str id = page->sessions != NULL ? page->sessions[i].ref.id
                                                : page->work[i].session.id;

            used += (size_t)snprintf(text + used, sizeof(text) - used, "%.*s ",
                                     (int)id.len, id.ptr);
        }
    } while (page->next.ptr != NULL && used < 3000);
    pdr_page_free(page);
    return text;
}

TEST(sqlite_list, gives_the_last_changed_first_in_pages)
{
    struct stock stock;
    pdr_query query = {.what = PDR_READ_SESSIONS};
    pdr_edit edit = {.ref = {.id = {"s002", 4}}, .set_state = true};

    stock_open(&stock);
    stock_many(&stock, 9);
    ASSERT_STR("s008 s007 s006 s005 s004 s003 s002 s001 s000 ",
               list(&stock, query));
    query.limit = 4;
    ASSERT_STR("s008 s007 s006 s005 | s004 s003 s002 s001 | s000 ",
               list(&stock, query));
    stock_commit(&stock, &edit, 5000);
    ASSERT_STR("s002 s008 s007 s006 | s005 s004 s003 s001 | s000 ",
               list(&stock, query));
    query.ref.tenant = pdr_str_c("other");
    ASSERT_STR("", list(&stock, query));
    stock_close(&stock);
}

TEST(sqlite_list, orders_ids_of_one_moment_downwards)
{
    struct stock stock;
    pdr_query query = {.what = PDR_READ_SESSIONS, .limit = 1};
    pdr_edit edit = {.set_state = true};

    stock_open(&stock);
    for (int i = 0; i < 4; i++) {
        edit.ref.id = pdr_str_n(&"bdac"[i], 1);
        edit.state = (pdr_session_state)i;
        stock_commit(&stock, &edit, 7);
    }
    ASSERT_STR("d | c | b | a ", list(&stock, query));
    stock_close(&stock);
}

TEST(sqlite_list, filters_by_agent_state_and_time)
{
    struct stock stock;
    pdr_query query = {.what = PDR_READ_SESSIONS, .limit = 2};
    pdr_filter *filter = &query.filter;

    stock_open(&stock);
    stock_many(&stock, 12);
    filter->agent = pdr_str_c("even");
    ASSERT_STR("s010 s008 | s006 s004 | s002 s000 ", list(&stock, query));
    filter->by_state = true;
    filter->state = PDR_SESSION_WAITING; /* 2, 6, 10 */
    ASSERT_STR("s010 s006 | s002 ", list(&stock, query));
    filter->state = PDR_SESSION_RUNNING;
    ASSERT_STR("", list(&stock, query));
    filter->agent = pdr_str_n(NULL, 0);
    ASSERT_STR("s009 s005 | s001 ", list(&stock, query));
    filter->changed_from_ms = 1001;
    filter->changed_to_ms = 1009;
    ASSERT_STR("s005 s001 ", list(&stock, query));
    filter->by_state = false;
    ASSERT_STR("s008 s007 | s006 s005 | s004 s003 | s002 s001 ",
               list(&stock, query));
    filter->agent = pdr_str_c("even");
    ASSERT_STR("s008 s006 | s004 s002 ", list(&stock, query));
    stock_close(&stock);
}

TEST(sqlite_list, filters_by_property_in_the_order_of_ids)
{
    struct stock stock;
    pdr_query query = {.what = PDR_READ_SESSIONS, .limit = 2};
    pdr_filter *filter = &query.filter;

    stock_open(&stock);
    stock_many(&stock, 12); /* of 0, 3, 6, 9 */
    filter->property = pdr_str_c("colour");
    filter->match = pdr_str_c("sred");
    ASSERT_STR("s000 s003 | s006 s009 ", list(&stock, query));
    filter->agent = pdr_str_c("even");
    ASSERT_STR("s000 s006 ", list(&stock, query));
    filter->by_state = true;
    filter->state = PDR_SESSION_WAITING;
    ASSERT_STR("s006 ", list(&stock, query));
    filter->changed_from_ms = 1007;
    filter->changed_to_ms = 2000;
    ASSERT_STR("", list(&stock, query));
    filter->match = pdr_str_c("sblue");
    ASSERT_STR("", list(&stock, query));
    stock_close(&stock);
}

TEST(sqlite_list, gives_what_has_expired_the_first_first)
{
    struct stock stock;
    pdr_query query = {.what = PDR_READ_EXPIRED, .limit = 2, .now_ms = 5001};

    stock_open(&stock);
    stock_many(&stock, 12); /* 1, 3 at 5000; 5, 7 at 5001; 9, 11 at 5002 */
    ASSERT_STR("s001 s003 | s005 s007 ", list(&stock, query));
    query.limit = 3;
    ASSERT_STR("s001 s003 s005 | s007 ", list(&stock, query));
    query.now_ms = 4999;
    ASSERT_STR("", list(&stock, query));
    stock_close(&stock);
}

TEST(sqlite_list, goes_on_where_the_last_one_was_deleted)
{
    struct stock stock;
    pdr_query query = {.what = PDR_READ_EXPIRED, .limit = 3, .now_ms = 6000};
    pdr_edit gone = {.ref = {.id = {"s005", 4}}, .remove = true};
    pdr_page *page = NULL, *next = NULL;

    stock_open(&stock);
    stock_many(&stock, 12);
    ASSERT_RC(PDR_OK, pdr_store_read(&page, stock.store, &query, NULL));
    ASSERT_TEXT("s005", page->sessions[2].ref.id);
    stock_commit(&stock, &gone, 9000);
    query.after = page->next;
    ASSERT_RC(PDR_OK, pdr_store_read(&next, stock.store, &query, NULL));
    ASSERT_TEXT("s007", next->sessions[0].ref.id);
    ASSERT_SIZE(3, next->count);
    pdr_page_free(next);
    pdr_page_free(page);
    stock_close(&stock);
}

TEST(sqlite_list, gives_what_is_due_of_all_tenants)
{
    struct stock stock;
    const pdr_work inbox = {
        .due_ms = 150, .kind = {"run", 3}, .body = {"1", 1}};
    pdr_edit edit = {.ref = {.tenant = {"acme", 4}, .id = {"theirs", 6}},
                     .inbox = &inbox,
                     .inbox_count = 1};
    pdr_query query = {.what = PDR_READ_DUE, .limit = 2, .now_ms = 1000};
    pdr_page *page = NULL;

    stock_open(&stock);
    stock_fill(&stock); /* 200 and 150, of "full" */
    stock_commit(&stock, &edit, 400);
    ASSERT_STR("full theirs | full ", list(&stock, query));
    query.limit = 1;
    ASSERT_STR("full | theirs | full ", list(&stock, query));
    query.now_ms = 199;
    ASSERT_STR("full | theirs ", list(&stock, query));
    ASSERT_RC(PDR_OK, pdr_store_read(&page, stock.store, &query, NULL));
    ASSERT_INT(3, page->work[0].n);
    ASSERT_TEXT("default", page->work[0].session.tenant);
    pdr_page_free(page);
    stock_close(&stock);
}

TEST(sqlite_list, walks_all_tenants_in_order)
{
    struct stock stock;
    pdr_edit edit = {.ref = {.tenant = {"acme", 4}, .id = {"z", 1}}};
    pdr_query query = {.what = PDR_READ_ALL, .limit = 2};

    stock_open(&stock);
    stock_many(&stock, 4);
    stock_commit(&stock, &edit, 1);
    ASSERT_STR("z s000 | s001 s002 | s003 ", list(&stock, query));
    stock_close(&stock);
}

/* --- damage -------------------------------------------------------------- */

/* The index says what the row said before `back` brought it to rights. */
static void shift(struct stock *stock, const char *index, const char *change,
                  const char *back)
{
    stock_sql(stock, change);
    stock_sql_without(stock, index, back);
}

static void assert_wrong_index(struct stock *stock, pdr_query query)
{
    pdr_page *page = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_ECORRUPT, pdr_store_read(&page, stock->store, &query, &err));
    ASSERT_STR("wrong_index", err.reason);
    ASSERT(page == NULL);
}

TEST(sqlite_list, refuses_an_index_of_states_that_tells_another_time)
{
    struct stock stock;
    pdr_query query = {.what = PDR_READ_SESSIONS};

    stock_open(&stock);
    stock_many(&stock, 6);
    shift(&stock, "sessions_by_state",
          "UPDATE sessions SET changed=9 WHERE id='s002'",
          "UPDATE sessions SET changed=1002 WHERE id='s002'");
    assert_wrong_index(&stock, query);
    query.filter.by_state = true;
    query.filter.state = PDR_SESSION_WAITING;
    assert_wrong_index(&stock, query);
    stock_close(&stock);
}

TEST(sqlite_list, refuses_an_index_of_states_that_tells_another_state)
{
    struct stock stock;
    pdr_query query = {.what = PDR_READ_SESSIONS};

    stock_open(&stock);
    stock_many(&stock, 6);
    shift(&stock, "sessions_by_state",
          "UPDATE sessions SET state='expired' WHERE id='s002'",
          "UPDATE sessions SET state='waiting' WHERE id='s002'");
    assert_wrong_index(&stock, query);
    query.filter.by_state = true;
    query.filter.state = PDR_SESSION_EXPIRED;
    assert_wrong_index(&stock, query);
    stock_close(&stock);
}

TEST(sqlite_list, refuses_an_index_of_agents_that_tells_another_agent)
{
    struct stock stock;
    pdr_query query = {.what = PDR_READ_SESSIONS};

    stock_open(&stock);
    stock_many(&stock, 6);
    shift(&stock, "sessions_by_agent",
          "UPDATE sessions SET agent='odd' WHERE id='s002'",
          "UPDATE sessions SET agent='even' WHERE id='s002'");
    query.filter.agent = pdr_str_c("odd");
    assert_wrong_index(&stock, query);
    stock_close(&stock);
}

TEST(sqlite_list, refuses_an_index_that_leads_nowhere)
{
    struct stock stock;
    pdr_query query = {.what = PDR_READ_SESSIONS};

    stock_open(&stock);
    stock_many(&stock, 6);
    shift(&stock, "sessions_by_state",
          "UPDATE sessions SET no=99 WHERE id='s002'",
          "UPDATE sessions SET no=3 WHERE id='s002'");
    assert_wrong_index(&stock, query);
    shift(&stock, "sessions_by_expiry",
          "UPDATE sessions SET expiry=1 WHERE id='s003'",
          "UPDATE sessions SET expiry=5000 WHERE id='s003'");
    query.what = PDR_READ_EXPIRED;
    query.now_ms = 100;
    assert_wrong_index(&stock, query);
    stock_close(&stock);
}

TEST(sqlite_list, refuses_an_index_of_properties_that_tells_another_one)
{
    struct stock stock;
    pdr_query query = {.what = PDR_READ_SESSIONS};

    stock_open(&stock);
    stock_many(&stock, 6);
    query.filter.property = pdr_str_c("colour");
    query.filter.match = pdr_str_c("sblue");
    shift(&stock, "properties_by_match",
          "UPDATE properties SET match='sblue' WHERE id='s000'",
          "UPDATE properties SET match='sred' WHERE id='s000'");
    assert_wrong_index(&stock, query);
    query.filter.match = pdr_str_c("sgreen");
    shift(&stock, "properties_by_match",
          "UPDATE properties SET id='s001',match='sgreen' WHERE id='s003'",
          "UPDATE properties SET id='s003',match='sred' WHERE id='s001'");
    assert_wrong_index(&stock, query);
    stock_close(&stock);
}

TEST(sqlite_list, refuses_an_index_of_due_rows_that_tells_another_time)
{
    struct stock stock;
    pdr_query query = {.what = PDR_READ_DUE, .now_ms = 100};

    stock_open(&stock);
    stock_fill(&stock);
    shift(&stock, "parts_by_due", "UPDATE parts SET due=9 WHERE due=150",
          "UPDATE parts SET due=150 WHERE due=9");
    assert_wrong_index(&stock, query);
    query.now_ms = 8;
    shift(&stock, "parts_by_due", "UPDATE parts SET due=7,key=44 WHERE due=200",
          "UPDATE parts SET due=200,key=1 WHERE due=7");
    assert_wrong_index(&stock, query);
    stock_close(&stock);
}

TEST(sqlite_list, refuses_due_rows_of_a_session_that_is_gone)
{
    struct stock stock;
    pdr_query query = {.what = PDR_READ_DUE, .now_ms = 1000};
    pdr_page *page = NULL;
    pdr_err err = PDR_ERR_INIT;

    stock_open(&stock);
    stock_fill(&stock);
    stock_sql(&stock, "DELETE FROM sessions WHERE id='full'");
    ASSERT_RC(PDR_ECORRUPT, pdr_store_read(&page, stock.store, &query, &err));
    ASSERT_STR("store_damaged", err.reason);
    stock_close(&stock);
}

/* A filter that looks at rows one by one must not take damage for another
 * value. */
TEST(sqlite_list, refuses_to_pass_over_a_damaged_head)
{
    struct stock stock;
    pdr_query query = {.what = PDR_READ_SESSIONS};
    pdr_page *page = NULL;
    pdr_err err = PDR_ERR_INIT;

    stock_open(&stock);
    stock_many(&stock, 6);
    stock_sql(&stock, "UPDATE sessions SET state='idle' WHERE id='s002'");
    query.filter.agent = pdr_str_c("even");
    query.filter.by_state = true;
    query.filter.state = PDR_SESSION_WAITING;
    ASSERT_RC(PDR_ECORRUPT, pdr_store_read(&page, stock.store, &query, &err));
    ASSERT_STR("bad_digest", err.reason);
    stock_close(&stock);
}

TEST(sqlite_list, refuses_a_head_that_its_property_does_not_fit)
{
    struct stock stock;
    pdr_query query = {.what = PDR_READ_SESSIONS};
    pdr_page *page = NULL;
    pdr_err err = PDR_ERR_INIT;

    stock_open(&stock);
    stock_many(&stock, 6);
    query.filter.property = pdr_str_c("colour");
    query.filter.match = pdr_str_c("sred");
    stock_sql(&stock, "UPDATE properties SET digest=NULL WHERE id='s003'");
    ASSERT_RC(PDR_ECORRUPT, pdr_store_read(&page, stock.store, &query, &err));
    ASSERT_STR("store_damaged", err.reason);
    stock_sql(&stock, "UPDATE properties SET value='9',digest=(SELECT digest"
                      " FROM properties WHERE id='s000') WHERE id='s003'");
    assert_wrong_index(&stock, query);
    stock_close(&stock);
}

/* What is shown is whole; the row behind it is the next page's. */
TEST(sqlite_list, shows_a_page_in_front_of_a_damaged_head)
{
    struct stock stock;
    pdr_query query = {.what = PDR_READ_SESSIONS, .limit = 3};
    pdr_page *page = NULL, *next = NULL;
    pdr_err err = PDR_ERR_INIT;

    stock_open(&stock);
    stock_many(&stock, 6);
    stock_sql(&stock, "UPDATE sessions SET kind=NULL WHERE id='s002'");
    ASSERT_RC(PDR_OK, pdr_store_read(&page, stock.store, &query, &err));
    ASSERT_TEXT("s003", page->sessions[2].ref.id);
    query.after = page->next;
    ASSERT_RC(PDR_ECORRUPT, pdr_store_read(&next, stock.store, &query, &err));
    ASSERT_STR("store_damaged", err.reason);
    pdr_page_free(page);
    stock_close(&stock);
}

/* Whether that row is wanted stands in the row itself, so it is looked at. */
TEST(sqlite_list, says_more_only_if_a_filter_lets_the_next_row_through)
{
    struct stock stock;
    pdr_query query = {.what = PDR_READ_SESSIONS, .limit = 1};
    pdr_page *page = NULL;

    stock_open(&stock);
    stock_many(&stock, 4); /* s000 and s003 are red */
    query.filter.property = pdr_str_c("colour");
    query.filter.match = pdr_str_c("sred");
    query.filter.changed_from_ms = 1000;
    query.filter.changed_to_ms = 1003;
    ASSERT_RC(PDR_OK, pdr_store_read(&page, stock.store, &query, NULL));
    ASSERT_TEXT("s000", page->sessions[0].ref.id);
    ASSERT(page->next.ptr == NULL);
    pdr_page_free(page);
    query.filter.changed_to_ms = 1004;
    ASSERT_RC(PDR_OK, pdr_store_read(&page, stock.store, &query, NULL));
    ASSERT(page->next.ptr != NULL);
    pdr_page_free(page);
    stock_close(&stock);
}

TEST(sqlite_list, refuses_all_sessions_when_one_is_damaged)
{
    struct stock stock;
    pdr_query query = {.what = PDR_READ_ALL};
    pdr_page *page = NULL;
    pdr_err err = PDR_ERR_INIT;

    stock_open(&stock);
    stock_many(&stock, 6);
    stock_sql(&stock, "UPDATE sessions SET state='gone' WHERE id='s002'");
    ASSERT_RC(PDR_ECORRUPT, pdr_store_read(&page, stock.store, &query, &err));
    ASSERT_STR("bad_digest", err.reason);
    stock_close(&stock);
}

/* --- memory -------------------------------------------------------------- */

TEST_OOM(sqlite_list, cleans_up_after_any_failed_allocation)
{
    struct stock stock;
    pdr_query query = {.what = PDR_READ_SESSIONS};
    pdr_page *page = NULL;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    stock_open(&stock);
    stock_many(&stock, 3);
    query.filter.agent = pdr_str_c("even");
    test_pause_failures(false);
    rc = pdr_store_read(&page, stock.store, &query, NULL);
    test_pause_failures(true);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((page != NULL) == (rc == PDR_OK));
    pdr_page_free(page);
    stock_close(&stock);
    test_pause_failures(false);
}
