/* sqlite_stock.c - see sqlite_stock.h. */
#include "sqlite_stock.h"

#define LIT(text) pdr_str_n((text), sizeof(text) - 1)

void stock_open(struct stock *stock)
{
    memset(stock, 0, sizeof(*stock));
    room_enter(&stock->room);
    stock_reopen(stock, "");
}

void stock_reopen(struct stock *stock, const char *parameters)
{
    pdr_err err = PDR_ERR_INIT;
    char uri[700];

    pdr_store_close(stock->store);
    stock->store = NULL;
    snprintf(uri, sizeof(uri), "sqlite:%s%s",
             room_path(&stock->room, "stock.db"), parameters);
    if (pdr_store_open(&stock->store, uri, &err) != PDR_OK)
        fail_msg("%s", err.message);
}

void stock_shut(struct stock *stock)
{
    ASSERT_INT(SQLITE_OK, sqlite3_close(stock->raw));
    stock->raw = NULL;
    pdr_store_close(stock->store);
    stock->store = NULL;
}

void stock_close(struct stock *stock)
{
    stock_shut(stock);
    room_leave(&stock->room);
}

void stock_commit(struct stock *stock, pdr_edit *edit, int64_t now_ms)
{
    pdr_commit_options options = {.now_ms = now_ms};
    pdr_query query = {.what = PDR_READ_HEAD, .ref = edit->ref};
    pdr_page *page = NULL;
    pdr_err err = PDR_ERR_INIT;

    edit->revision = 0;
    if (pdr_store_read(&page, stock->store, &query, NULL) == PDR_OK)
        edit->revision = page->head.revision;
    pdr_page_free(page);
    if (pdr_store_commit(NULL, stock->store, edit, 1, &options, &err) != PDR_OK)
        fail_msg("%s", err.message);
}

/* Request and response of one turn, or of two that were mixed up. */
static void add_turns(struct stock *stock)
{
    const pdr_entry entries[] = {
        {.kind = PDR_ROW_REQUEST,
         .created_ms = 10,
         .correlation_id = LIT("one"),
         .body = LIT("{\"n\":1}")},
        {.kind = PDR_ROW_REQUEST,
         .created_ms = 11,
         .correlation_id = LIT("two"),
         .separator = LIT(",\n"),
         .body = LIT("{\"n\":2}")},
        {.kind = PDR_ROW_RESPONSE,
         .created_ms = 12,
         .correlation_id = LIT("one"),
         .body = LIT("{\"n\":3}")},
        {.kind = PDR_ROW_MESSAGE,
         .shape = PDR_ROW_PYTHON,
         .created_ms = 13,
         .body = LIT("{\"n\":4}")},
        {.kind = PDR_ROW_RESPONSE,
         .shape = PDR_ROW_DOTNET,
         .created_ms = 14,
         .correlation_id = LIT("two"),
         .body = LIT("{\"n\":5}")},
    };
    const pdr_completion done[] = {
        {.correlation_id = LIT("one"),
         .fingerprint = LIT("\x01\x02\x03"),
         .outcome = LIT("{\"ok\":true}")},
        {.correlation_id = LIT("alone"), .fingerprint = LIT("f")},
    };
    pdr_edit edit = {.ref = {.id = LIT("full")},
                     .agent = LIT("helper"),
                     .kind = LIT("durable"),
                     .schema_version = LIT("1.1.0"),
                     .set_state = true,
                     .state = PDR_SESSION_RUNNING,
                     .expiry = PDR_EXPIRY_SET,
                     .expiry_ms = 500,
                     .frame = LIT("{\"frame\":0}"),
                     .entries = entries,
                     .entry_count = 5,
                     .completions = done,
                     .completion_count = 2};

    stock_commit(stock, &edit, 100);
}

static void add_rest(struct stock *stock)
{
    const pdr_slot slots[] = {
        {.key = LIT("b"), .value = LIT("2")},
        {.key = LIT("a"), .value = LIT("{\"x\":1}")},
        {.key = LIT("\\u0000"), .value = LIT("\"\\u0000\"")},
    };
    const pdr_property properties[] = {
        {.key = LIT("colour"), .value = LIT("\"red\""), .match = LIT("sred")},
        {.key = LIT("big"), .value = LIT("[1]")},
    };
    const pdr_work journal[] = {
        {.due_ms = PDR_NEVER, .kind = LIT("step"), .body = LIT("1")},
        {.due_ms = PDR_NEVER,
         .kind = LIT("step"),
         .correlation_id = LIT("one"),
         .body = LIT("2")},
        {.due_ms = PDR_NEVER, .kind = LIT("step"), .body = LIT("3")},
    };
    const pdr_work inbox[] = {
        {.due_ms = 200, .kind = LIT("run"), .body = LIT("1")},
        {.due_ms = PDR_NEVER, .kind = LIT("get"), .body = LIT("2")},
        {.due_ms = 150, .kind = LIT("run"), .body = LIT("3")},
    };
    pdr_edit edit = {.ref = {.id = LIT("full")},
                     .slots = slots,
                     .slot_count = 3,
                     .properties = properties,
                     .property_count = 2,
                     .journal = journal,
                     .journal_count = 3,
                     .stream = journal,
                     .stream_count = 2,
                     .inbox = inbox,
                     .inbox_count = 3,
                     .lease.verb = PDR_LEASE_TAKE,
                     .lease.owner = LIT("worker"),
                     .lease.until_ms = 900};

    stock_commit(stock, &edit, 101);
}

void stock_fill(struct stock *stock)
{
    pdr_edit bare = {.ref = {.id = LIT("bare")}};

    add_turns(stock);
    add_rest(stock);
    stock_commit(stock, &bare, 102);
}

void stock_many(struct stock *stock, size_t count)
{
    const pdr_property colour = {
        .key = LIT("colour"), .value = LIT("\"red\""), .match = LIT("sred")};

    for (size_t i = 0; i < count; i++) {
        char id[16];
        pdr_edit edit = {.ref = {.id = {id, 4}},
                         .set_state = true,
                         .state = (pdr_session_state)(i % 4),
                         .expiry = i % 2 ? PDR_EXPIRY_SET : PDR_EXPIRY_KEEP,
                         .expiry_ms = 5000 + (int64_t)(i / 4),
                         .properties = &colour,
                         .property_count = i % 3 == 0};

        if (i % 2 == 0)
            edit.agent = LIT("even");
        snprintf(id, sizeof(id), "s%03zu", i % 1000);
        stock_commit(stock, &edit, 1000 + (int64_t)i);
    }
}

/* --- beside it ----------------------------------------------------------- */

static void open_raw(struct stock *stock)
{
    if (stock->raw != NULL)
        return;
    ASSERT_INT(SQLITE_OK,
               sqlite3_open(room_path(&stock->room, "stock.db"), &stock->raw));
    ASSERT_INT(SQLITE_OK,
               sqlite3_db_config(stock->raw, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE,
                                 1, (int *)NULL));
    stock_sql(stock, "PRAGMA wal_autocheckpoint=0;PRAGMA synchronous=OFF");
}

void stock_sql(struct stock *stock, const char *sql)
{
    open_raw(stock);
    if (sqlite3_exec(stock->raw, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(stock->raw));
}

static void close_raw(struct stock *stock)
{
    ASSERT_INT(SQLITE_OK, sqlite3_close(stock->raw));
    stock->raw = NULL;
}

void stock_sql_without(struct stock *stock, const char *index, const char *sql)
{
    char text[600];

    snprintf(text, sizeof(text),
             "PRAGMA writable_schema=ON;UPDATE sqlite_schema SET type='table',"
             "name='hidden',tbl_name='hidden',sql='CREATE TABLE hidden(x)'||"
             "' /*'||tbl_name||'|'||sql||'*/' WHERE name='%s'",
             index);
    stock_sql(stock, text);
    close_raw(stock); /* the next one reads the tables anew */
    stock_sql(stock, sql);
    snprintf(text, sizeof(text),
             "PRAGMA writable_schema=ON;UPDATE sqlite_schema SET type='index',"
             "name='%s',tbl_name=substr(sql,26,instr(sql,'|')-26),"
             "sql=substr(sql,instr(sql,'|')+1,length(sql)-instr(sql,'|')-2)"
             " WHERE name='hidden'",
             index);
    stock_sql(stock, text);
    close_raw(stock);
}

int64_t stock_ask(struct stock *stock, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    int64_t number = 0;

    open_raw(stock);
    ASSERT_INT(SQLITE_OK, sqlite3_prepare_v2(stock->raw, sql, -1, &stmt, NULL));
    ASSERT_INT(SQLITE_ROW, sqlite3_step(stmt));
    number = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return number;
}

pdr_rc stock_read(pdr_page **out, struct stock *stock, pdr_query query,
                  const char *id, pdr_err *err)
{
    query.ref.id = pdr_str_c(id);
    return pdr_store_read(out, stock->store, &query, err);
}
