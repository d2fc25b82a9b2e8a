/* What verify finds in a file of SQLite, and what reads do about it. */
#include "sqlite_stock.h"

#include "sqlite/reader.h"
#include "sqlite/vfs.h"

/* --- what was heard ------------------------------------------------------ */

struct heard {
    char text[8000]; /* "table|row|what" lines */
    size_t used;
};

static void hear(void *arg, const char *table, const char *row,
                 const char *what)
{
    struct heard *heard = arg;

    if (heard->used < sizeof(heard->text) - 700)
        heard->used += (size_t)snprintf(heard->text + heard->used, 700,
                                        "%s|%s|%s\n", table, row, what);
}

static void assert_clean(struct stock *stock)
{
    struct heard heard = {"", 0};
    pdr_verify_report report;
    pdr_rc rc =
        pdr_store_verify(&report, stock->store, NULL, NULL, hear, &heard);

    if (rc != PDR_OK || report.bad != 0)
        fail_msg("%s %s", pdr_rc_name(rc), heard.text);
}

/* Is there a finding with this text? */
static void assert_found(struct stock *stock, const char *text)
{
    struct heard heard = {"", 0};
    pdr_verify_report report;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_ECORRUPT, pdr_store_verify(&report, stock->store, NULL, &err,
                                             hear, &heard));
    ASSERT(report.bad > 0);
    ASSERT(err.message[0] != '\0');
    if (strstr(heard.text, text) == NULL)
        fail_msg("'%s' is not in: %s", text, heard.text);
}

/* --- every column of every table ----------------------------------------- */

#define QUERIES 18

struct answer {
    char text[3000];
    pdr_rc rc;
};

static void add(struct answer *answer, const char *fmt, ...)
{
    size_t used = strlen(answer->text);
    va_list args;

    va_start(args, fmt);
    vsnprintf(answer->text + used, sizeof(answer->text) - used, fmt, args);
    va_end(args);
}

static void add_text(struct answer *answer, pdr_str text)
{
    add(answer, "%.*s;", (int)text.len, text.ptr != NULL ? text.ptr : "-");
}

static void add_head(struct answer *answer, const pdr_head *head)
{
    add_text(answer, head->ref.tenant);
    add_text(answer, head->ref.id);
    add_text(answer, head->agent);
    add_text(answer, head->lease.owner);
    add(answer, "%d,%d,%d,%d,%d;", (int)head->revision, (int)head->state,
        (int)head->changed_ms, (int)head->epoch, (int)head->lease.fence);
}

static void add_page(struct answer *answer, const pdr_page *page)
{
    for (size_t i = 0; i < page->count; i++) {
        if (page->entries != NULL) {
            add(answer, "%d,", (int)page->entries[i].seq);
            add_text(answer, page->entries[i].correlation_id);
            add_text(answer, page->entries[i].body);
        } else if (page->work != NULL) {
            add(answer, "%d,", (int)page->work[i].n);
            add_text(answer, page->work[i].session.id);
            add_text(answer, page->work[i].body);
        } else if (page->slots != NULL) {
            add_text(answer, page->slots[i].key);
            add_text(answer, page->slots[i].value);
        } else if (page->properties != NULL) {
            add_text(answer, page->properties[i].key);
            add_text(answer, page->properties[i].value);
        } else if (page->completions != NULL) {
            add_text(answer, page->completions[i].correlation_id);
            add_text(answer, page->completions[i].outcome);
        } else {
            add_head(answer, &page->sessions[i]);
        }
    }
}

static pdr_query query_of(size_t i)
{
    pdr_query query = {.ref = {.id = pdr_str_c("full")}, .now_ms = 1000};

    query.what =
        i <= (size_t)PDR_READ_ALL ? (pdr_read_what)i : PDR_READ_SESSIONS;
    if (i == 13)
        query.filter.agent = pdr_str_c("helper");
    if (i == 14) {
        query.filter.by_state = true;
        query.filter.state = PDR_SESSION_RUNNING;
    }
    if (i == 15) {
        query.filter.property = pdr_str_c("colour");
        query.filter.match = pdr_str_c("sred");
    }
    if (i >= 16) {
        query.what = i == 16 ? PDR_READ_ENTRIES : PDR_READ_SLOTS;
        query.key = pdr_str_c(i == 16 ? "two" : "a");
    }
    if (query.what >= PDR_READ_SESSIONS)
        query.ref = (pdr_ref){{NULL, 0}, {NULL, 0}};
    return query;
}

static void ask(struct answer answers[QUERIES], struct stock *stock)
{
    for (size_t i = 0; i < QUERIES; i++) {
        pdr_query query = query_of(i);
        pdr_page *page = NULL;

        answers[i].text[0] = '\0';
        answers[i].rc = pdr_store_read(&page, stock->store, &query, NULL);
        if (answers[i].rc == PDR_OK)
            add_head(&answers[i], &page->head);
        if (answers[i].rc == PDR_OK)
            add_page(&answers[i], page);
        pdr_page_free(page);
    }
}

/* Each answer is the one from before or an error. With a damaged key it may be
 * that something is not found. */
static void compare(const struct answer *before, const struct answer *after,
                    bool is_key, const char *sql)
{
    for (size_t i = 0; i < QUERIES; i++) {
        if (after[i].rc == PDR_ECORRUPT)
            continue;
        if (is_key && (after[i].rc == PDR_ENOTFOUND ||
                       (after[i].rc == PDR_OK &&
                        strlen(after[i].text) < strlen(before[i].text))))
            continue;
        if (after[i].rc != before[i].rc ||
            strcmp(before[i].text, after[i].text) != 0)
            fail_msg("%s: query %zu: %s '%s', before '%s'", sql, i,
                     pdr_rc_name(after[i].rc), after[i].text, before[i].text);
    }
}

static bool is_key(const char *column)
{
    static const char *const keys[] = {
        "no",     "tenant", "id",  "state", "changed", "agent",
        "expiry", "key",    "due", "match", "part",    "session"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (strcmp(keys[i], column) == 0)
            return true;
    return false;
}

/* Change one column of one row, look, and put the table back. */
static bool damage(struct stock *stock, const struct answer *before,
                   const char *table, const char *column, const char *where,
                   const char *value)
{
    static struct answer after[QUERIES];
    struct heard heard = {"", 0};
    char sql[1500], back[200];

    snprintf(sql, sizeof(sql), "UPDATE %s SET %s=%s WHERE %s", table, column,
             value, where);
    stock_sql(stock, "SAVEPOINT s"); /* opens the connection, too */
    if (sqlite3_exec(stock->raw, sql, NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_changes(stock->raw) != 1) {
        stock_sql(stock, "ROLLBACK TO s;RELEASE s");
        return false;
    }
    stock_sql(stock, "RELEASE s");
    ask(after, stock);
    compare(before, after, is_key(column), sql);
    if (pdr_store_verify(NULL, stock->store, NULL, NULL, hear, &heard) !=
        PDR_ECORRUPT)
        fail_msg("%s: verify found nothing", sql);
    ASSERT(heard.used > 0);
    snprintf(back, sizeof(back),
             "BEGIN;DELETE FROM %s;INSERT INTO %s SELECT * FROM keep;COMMIT",
             table, table);
    stock_sql(stock, back);
    return true;
}

/* `text` with the name of the column for each "$". */
static void put_column(char out[300], const char *text, const char *column)
{
    size_t used = 0;

    for (; *text != '\0'; text++)
        used += (size_t)snprintf(out + used, 300 - used, "%.*s",
                                 *text == '$' ? 100 : 1,
                                 *text == '$' ? column : text);
}

static size_t damage_column(struct stock *stock, const struct answer *before,
                            const char *table, const char *column,
                            const char *where)
{
    static const char *const values[] = {
        ("CASE typeof($) WHEN 'integer' THEN $+1 WHEN 'text' THEN $||'x'"
         " WHEN 'blob' THEN zeroblob(32) ELSE 1 END"),
        "NULL",
        "CASE WHEN $ IS NULL THEN x'00' ELSE CAST($ AS BLOB) END",
        "CASE WHEN typeof($)='integer' THEN -$-1 ELSE $||'y' END",
        "1.5",
    };
    char differs[900], value[300];
    size_t count = 0;

    for (size_t i = 0; i < 4; i++) {
        put_column(value, values[i], column);
        snprintf(differs, sizeof(differs),
                 "%s AND (%s IS NOT (%s) OR typeof(%s)<>typeof(%s))", where,
                 column, value, column, value);
        count += damage(stock, before, table, column, differs, value);
    }
    return count;
}

/* Row by row, column by column. */
static size_t damage_table(struct stock *stock, const char *table,
                           const char *key)
{
    static struct answer before[QUERIES];
    sqlite3_stmt *rows = NULL, *columns = NULL;
    char sql[300], where[200];
    size_t count = 0;

    ask(before, stock);
    for (size_t i = 0; i < QUERIES; i++)
        ASSERT_RC(PDR_OK, before[i].rc);
    snprintf(sql, sizeof(sql), "CREATE TEMP TABLE keep AS SELECT * FROM %s",
             table);
    stock_sql(stock, sql);
    snprintf(sql, sizeof(sql), "SELECT quote(%s) FROM keep", key);
    ASSERT_INT(SQLITE_OK, sqlite3_prepare_v2(stock->raw, sql, -1, &rows, NULL));
    /* `n` means nothing: the index moves along. */
    snprintf(sql, sizeof(sql),
             "SELECT name FROM pragma_table_info('%s') WHERE name<>'n'", table);
    ASSERT_INT(SQLITE_OK,
               sqlite3_prepare_v2(stock->raw, sql, -1, &columns, NULL));
    while (sqlite3_step(rows) == SQLITE_ROW) {
        snprintf(where, sizeof(where), "(%s)=%s", key,
                 (const char *)sqlite3_column_text(rows, 0));
        while (sqlite3_step(columns) == SQLITE_ROW)
            count += damage_column(
                stock, before, table,
                (const char *)sqlite3_column_text(columns, 0), where);
        sqlite3_reset(columns);
    }
    sqlite3_finalize(columns);
    sqlite3_finalize(rows);
    stock_sql(stock, "DROP TABLE keep");
    assert_clean(stock);
    return count;
}

TEST(sqlite_verify, finds_each_column_of_a_head_that_was_changed)
{
    struct stock stock;

    stock_open(&stock);
    stock_fill(&stock);
    assert_clean(&stock);
    ASSERT(damage_table(&stock, "sessions", "no") > 150);
    stock_close(&stock);
}

TEST(sqlite_verify, finds_each_column_of_the_log_that_was_changed)
{
    struct stock stock;

    stock_open(&stock);
    stock_fill(&stock);
    ASSERT(damage_table(&stock, "log", "n") > 200);
    stock_close(&stock);
}

TEST(sqlite_verify, finds_each_column_of_a_part_that_was_changed)
{
    struct stock stock;

    stock_open(&stock);
    stock_fill(&stock);
    ASSERT(damage_table(&stock, "parts",
                        "session||' '||part||' '||quote(key)") > 200);
    stock_close(&stock);
}

TEST(sqlite_verify, finds_each_column_of_a_property_that_was_changed)
{
    struct stock stock;

    stock_open(&stock);
    stock_fill(&stock);
    ASSERT(damage_table(&stock, "properties", "session||key") > 30);
    stock_close(&stock);
}

TEST(sqlite_verify, finds_each_column_of_the_row_of_the_store)
{
    struct stock stock;

    stock_open(&stock);
    stock_fill(&stock);
    ASSERT(damage_table(&stock, "store", "one") > 10);
    stock_close(&stock);
}

/* --- rows that belong to nobody ------------------------------------------ */

TEST(sqlite_verify, finds_rows_whose_session_is_gone)
{
    struct stock stock;
    char text[200];
    int64_t no = 0;

    stock_open(&stock);
    stock_fill(&stock);
    no = stock_ask(&stock, "SELECT no FROM sessions WHERE id='full'");
    stock_sql(&stock, "DELETE FROM sessions WHERE id='full'");
    snprintf(text, sizeof(text), "log|n 1, session %d, key ", (int)no);
    assert_found(&stock, text);
    snprintf(text, sizeof(text),
             "parts|session %d, part 3, key 'a'|belongs to a session that is "
             "not there",
             (int)no);
    assert_found(&stock, text);
    snprintf(text, sizeof(text), "properties|session %d, key 'big'|belongs",
             (int)no);
    assert_found(&stock, text);
    stock_close(&stock);
}

TEST(sqlite_verify, finds_rows_that_their_session_does_not_count)
{
    struct stock stock;

    stock_open(&stock);
    stock_fill(&stock);
    stock_sql(&stock, "INSERT INTO log SELECT 99,session,99,kind,shape,created,"
                      "correlation_id,first_seq,last_seq,fingerprint,digest,"
                      "separator,body FROM log WHERE key=1");
    assert_found(&stock, "key 99|is none of those that its session counts");
    stock_sql(&stock, "DELETE FROM log WHERE n=99");
    stock_sql(&stock, "INSERT INTO parts SELECT session,0,77,due,kind,"
                      "correlation_id,digest,body FROM parts"
                      " WHERE part=0 AND key=1");
    assert_found(&stock, "part 0, key 77|is none of those");
    stock_sql(&stock, "UPDATE parts SET part=1 WHERE key=77");
    assert_found(&stock, "part 1, key 77|is none of those");
    stock_sql(&stock, "UPDATE parts SET part=2 WHERE key=77");
    assert_found(&stock, "part 2, key 77|is none of those");
    stock_sql(&stock, "UPDATE parts SET part=5 WHERE key=77");
    assert_found(&stock, "part 5, key 77|is a part that no session has");
    stock_sql(&stock, "UPDATE parts SET part=4,key='x',kind=NULL,"
                      "correlation_id=NULL WHERE key=77");
    assert_found(&stock, "part 4, key 'x'|is none of those");
    stock_sql(&stock, "DELETE FROM parts WHERE key='x' AND part=4");
    assert_clean(&stock);
    stock_close(&stock);
}

/* --- indexes ------------------------------------------------------------- */

/* Change a row behind the back of an index, look, and change it back. */
static void shift(struct stock *stock, const char *index, const char *change,
                  const char *back, const char *lacks, const char *leads)
{
    struct heard heard = {"", 0};

    stock_sql(stock, change);
    stock_sql_without(stock, index, back); /* only the index is wrong now */
    ASSERT_RC(PDR_ECORRUPT,
              pdr_store_verify(NULL, stock->store, NULL, NULL, hear, &heard));
    if (strstr(heard.text, lacks) == NULL)
        fail_msg("'%s' is not in: %s", lacks, heard.text);
    if (strstr(heard.text, leads) == NULL)
        fail_msg("'%s' is not in: %s", leads, heard.text);
    stock_sql_without(stock, index, change);
    stock_sql(stock, back);
    assert_clean(stock);
}

TEST(sqlite_verify, compares_indexes_of_sessions_in_both_directions)
{
    struct stock stock;

    stock_open(&stock);
    stock_fill(&stock);
    shift(&stock, "sessions_by_id",
          "UPDATE sessions SET id='fuxl' WHERE id='full'",
          "UPDATE sessions SET id='full' WHERE id='fuxl'",
          "id 'full'|is not in index sessions_by_id",
          "sessions_by_id|tenant 'default', id 'fuxl', no ");
    shift(&stock, "sessions_by_state",
          "UPDATE sessions SET state='waiting' WHERE id='full'",
          "UPDATE sessions SET state='running' WHERE id='full'",
          "id 'full'|is not in index sessions_by_state",
          "sessions_by_state|tenant 'default', state 'waiting', changed 101, ");
    shift(&stock, "sessions_by_agent",
          "UPDATE sessions SET agent='henper' WHERE id='full'",
          "UPDATE sessions SET agent='helper' WHERE id='full'",
          "id 'full'|is not in index sessions_by_agent",
          "sessions_by_agent|tenant 'default', agent 'henper', ");
    shift(&stock, "sessions_by_expiry",
          "UPDATE sessions SET expiry=7 WHERE id='full'",
          "UPDATE sessions SET expiry=500 WHERE id='full'",
          "id 'full'|is not in index sessions_by_expiry",
          "sessions_by_expiry|expiry 7, no ");
    shift(&stock, "sessions_by_expiry",
          "UPDATE sessions SET no=no+100 WHERE id='full'",
          "UPDATE sessions SET no=no-100 WHERE id='full'",
          "id 'full'|is not in index sessions_by_expiry",
          "leads to a row that is not there");
    stock_close(&stock);
}

TEST(sqlite_verify, compares_indexes_of_rows_in_both_directions)
{
    struct stock stock;

    stock_open(&stock);
    stock_fill(&stock);
    shift(&stock, "log_by_key", "UPDATE log SET key=66 WHERE key=2",
          "UPDATE log SET key=2 WHERE key=66", "key 2|is not in index",
          "log_by_key|session 1, key 66, n ");
    shift(&stock, "log_by_key", "UPDATE log SET n=66 WHERE key=2",
          "UPDATE log SET n=2 WHERE key=2", "key 2|is not in index",
          "leads to a row that is not there");
    shift(&stock, "parts_by_due", "UPDATE parts SET due=6 WHERE due=150",
          "UPDATE parts SET due=150 WHERE due=6",
          "part 2, key 3|is not in index parts_by_due",
          "parts_by_due|due 6, session 1, key 3, part 2|leads to a row that "
          "says something else");
    shift(&stock, "properties_by_match",
          "UPDATE properties SET match='sblue' WHERE key='colour'",
          "UPDATE properties SET match='sred' WHERE key='colour'",
          "key 'colour'|is not in index properties_by_match",
          "properties_by_match|tenant 'default', key 'colour', match 'sblue'");
    stock_close(&stock);
}

/* --- one session --------------------------------------------------------- */

TEST(sqlite_verify, looks_at_one_session_alone)
{
    struct stock stock;
    pdr_ref full = {.id = {"full", 4}}, bare = {.id = {"bare", 4}};
    pdr_err err = PDR_ERR_INIT;

    stock_open(&stock);
    stock_fill(&stock);
    ASSERT_RC(PDR_OK,
              pdr_store_verify(NULL, stock.store, &full, NULL, NULL, NULL));
    stock_sql(&stock, "UPDATE sessions SET expiry=7 WHERE id='full'");
    stock_sql_without(&stock, "sessions_by_expiry",
                      "UPDATE sessions SET expiry=500 WHERE id='full'");
    ASSERT_RC(PDR_ECORRUPT,
              pdr_store_verify(NULL, stock.store, &full, &err, NULL, NULL));
    ASSERT_STR("wrong_index", err.reason);
    ASSERT(strstr(err.message, "id 'full' is not in index") != NULL);
    ASSERT_RC(PDR_OK,
              pdr_store_verify(NULL, stock.store, &bare, NULL, NULL, NULL));
    bare.id = pdr_str_c("gone");
    ASSERT_RC(PDR_ENOTFOUND,
              pdr_store_verify(NULL, stock.store, &bare, NULL, NULL, NULL));
    stock_close(&stock);
}

/* --- many rows ----------------------------------------------------------- */

TEST(sqlite_verify, walks_more_rows_than_a_page_has)
{
    struct stock stock;

    stock_open(&stock);
    stock_many(&stock, 450);
    assert_clean(&stock);
    stock_sql(&stock, "UPDATE sessions SET expiry=7 WHERE id='s433'");
    stock_sql_without(&stock, "sessions_by_expiry",
                      "UPDATE sessions SET expiry=5108 WHERE id='s433'");
    assert_found(&stock, "id 's433'|is not in index sessions_by_expiry");
    stock_close(&stock);
}

/* --- pages --------------------------------------------------------------- */

#define PAGE_BYTES 4096

/* Change bytes on the root page of a table or index while nobody has the file:
 * the first place with `from`, or the first bytes of the page. The page gets
 * the sum of what it has now: what does not depend on sums must find it. */
static void patch(struct stock *stock, const char *name, const char *from,
                  const char *to)
{
    static uint8_t page[PAGE_BYTES];
    char sql[200];
    long offset = 0;
    size_t at = 0, len = strlen(to);
    FILE *file = NULL;

    snprintf(sql, sizeof(sql),
             "SELECT rootpage FROM sqlite_schema WHERE name='%s'", name);
    offset = (long)(stock_ask(stock, sql) - 1) * PAGE_BYTES;
    stock_shut(stock);
    file = fopen(room_path(&stock->room, "stock.db"), "r+b");
    ASSERT(file != NULL);
    ASSERT_INT(0, fseek(file, offset, SEEK_SET));
    ASSERT_SIZE(1, fread(page, PAGE_BYTES, 1, file));
    while (from != NULL && memcmp(page + at, from, len) != 0) {
        at++;
        ASSERT(at + len < PAGE_BYTES);
    }
    memcpy(page + at, to, len);
    pdr__page_sum(page + PDR_SQLITE_USABLE, page,
                  (uint32_t)(offset / PAGE_BYTES) + 1);
    ASSERT_INT(0, fseek(file, offset, SEEK_SET));
    ASSERT_SIZE(1, fwrite(page, PAGE_BYTES, 1, file));
    ASSERT_INT(0, fclose(file));
    stock_reopen(stock, "");
}

TEST(sqlite_verify, goes_on_behind_a_page_that_cannot_be_read)
{
    struct stock stock;
    struct heard heard = {"", 0};

    stock_open(&stock);
    stock_many(&stock, 9);
    patch(&stock, "sessions_by_expiry", NULL, "\x55\x55\x55");
    patch(&stock, "properties_by_match", NULL, "\x55\x55\x55");
    ASSERT_RC(PDR_ECORRUPT,
              pdr_store_verify(NULL, stock.store, NULL, NULL, hear, &heard));
    ASSERT(strstr(heard.text, "sessions_by_expiry|one of the keys|cannot be "
                              "read, nor can those behind it") != NULL);
    ASSERT(strstr(heard.text, "properties_by_match|one of the keys|") != NULL);
    ASSERT(strstr(heard.text, "sessions_by_id|") == NULL);
    stock_close(&stock);
}

/* Change a byte of a page of the main file, and open it again. */
static void flip_page(struct stock *stock, int64_t page)
{
    long offset = (long)((page - 1) * PAGE_BYTES + 1000);
    FILE *file = NULL;
    int byte = 0;

    stock_shut(stock);
    file = fopen(room_path(&stock->room, "stock.db"), "r+b");
    ASSERT(file != NULL && fseek(file, offset, SEEK_SET) == 0);
    byte = fgetc(file);
    ASSERT_INT(0, fseek(file, offset, SEEK_SET));
    ASSERT_INT(byte ^ 1, fputc(byte ^ 1, file));
    ASSERT_INT(0, fclose(file));
    stock_reopen(stock, "");
}

TEST(sqlite_verify, names_the_page_that_ended_a_walk)
{
    static const char *const names[] = {"sessions_by_expiry", "unseen"};
    struct stock stock;

    stock_open(&stock);
    stock_many(&stock, 9);
    for (size_t i = 0; i < PDR_COUNT(names); i++) {
        char sql[100], text[160];
        int64_t page = 0;

        (void)snprintf(sql, sizeof(sql),
                       "SELECT rootpage FROM sqlite_schema WHERE name='%s'",
                       names[i]);
        page = stock_ask(&stock, sql);
        flip_page(&stock, page);
        (void)snprintf(text, sizeof(text),
                       "%s|one of the keys|cannot be read, nor can those "
                       "behind it: page %d of the file is not as it was "
                       "written",
                       names[i], (int)page);
        assert_found(&stock, text);
        flip_page(&stock, page);
    }
    assert_clean(&stock);
    stock_close(&stock);
}

/* Page 2 says where other pages stand; the last one was freed. No row is on
 * either, and a vacuum needs both. */
TEST(sqlite_verify, finds_damage_where_no_rows_are)
{
    static char body[30000];
    struct stock stock;
    pdr_entry entry = {.kind = PDR_ROW_REQUEST};
    pdr_edit big = {
        .ref.id = pdr_str_c("big"), .entries = &entry, .entry_count = 1};
    pdr_edit gone = {.ref.id = pdr_str_c("big"), .remove = true};
    int64_t pages[2] = {2, 0};

    memset(body, '1', sizeof(body));
    entry.body = pdr_str_n(body, sizeof(body));
    stock_open(&stock);
    stock_commit(&stock, &big, 1000);
    gone.revision = 1;
    stock_commit(&stock, &gone, 1000);
    pages[1] = stock_ask(&stock, "PRAGMA page_count");
    ASSERT(stock_ask(&stock, "PRAGMA freelist_count") > 5);
    for (size_t i = 0; i < 2; i++) {
        struct heard heard = {"", 0};
        pdr_err err = PDR_ERR_INIT;
        char text[64];

        flip_page(&stock, pages[i]);
        ASSERT_RC(PDR_ECORRUPT, pdr_store_verify(NULL, stock.store, NULL, &err,
                                                 hear, &heard));
        ASSERT_STR("store_damaged", err.reason);
        (void)snprintf(text, sizeof(text),
                       "file|page %d|is not as it was written\n",
                       (int)pages[i]);
        ASSERT_STR(text, heard.text);
        (void)snprintf(text, sizeof(text), "page %d of 'stock.db'",
                       (int)pages[i]);
        ASSERT(strstr(err.message, text) != NULL);
        flip_page(&stock, pages[i]);
    }
    assert_clean(&stock);
    stock_close(&stock);
}

/* Write a page of the main file anew, with the sum that it needs. */
static void put_page(struct stock *stock, int64_t number, const uint8_t *bytes)
{
    uint8_t page[PAGE_BYTES];
    FILE *file = NULL;

    memcpy(page, bytes, PDR_SQLITE_USABLE);
    pdr__page_sum(page + PDR_SQLITE_USABLE, page, (uint32_t)number);
    stock_shut(stock);
    file = fopen(room_path(&stock->room, "stock.db"), "r+b");
    ASSERT(file != NULL &&
           fseek(file, (long)(number - 1) * PAGE_BYTES, SEEK_SET) == 0);
    ASSERT_SIZE(1, fwrite(page, sizeof(page), 1, file));
    ASSERT_INT(0, fclose(file));
    stock_reopen(stock, "");
}

static void get_page(struct stock *stock, int64_t number, uint8_t *bytes)
{
    size_t len = 0;
    char *file = NULL;

    stock_shut(stock);
    file = room_get(&stock->room, "stock.db", &len);
    ASSERT(len >= (size_t)number * PAGE_BYTES);
    memcpy(bytes, file + (number - 1) * PAGE_BYTES, PAGE_BYTES);
    free(file);
    stock_reopen(stock, "");
}

/* Sound by their sums, and yet wrong: page 2 is the map of pointers, as zeros
 * and as it was at another time; and the first page of the list of free ones. A
 * vacuum needs both, and so does a commit that makes the file longer. */
TEST(sqlite_verify, finds_lists_of_pages_that_are_not_true)
{
    static char body[30000];
    static uint8_t zeros[PAGE_BYTES], older[PAGE_BYTES], page[PAGE_BYTES];
    struct stock stock;
    pdr_entry entry = {.kind = PDR_ROW_REQUEST};
    pdr_edit big = {
        .ref.id = pdr_str_c("big"), .entries = &entry, .entry_count = 1};
    pdr_edit gone = {.ref.id = pdr_str_c("big"), .remove = true, .revision = 1};
    int64_t trunk = 0;

    memset(body, '1', sizeof(body));
    entry.body = pdr_str_n(body, sizeof(body));
    stock_open(&stock);
    get_page(&stock, 2, older);
    stock_commit(&stock, &big, 1000);
    stock_commit(&stock, &gone, 1000);
    get_page(&stock, 1, page);
    trunk = page[34] << 8 | page[35];
    ASSERT(trunk > 2);
    for (int i = 0; i < 3; i++) {
        int64_t number = i < 2 ? 2 : trunk;

        get_page(&stock, number, page);
        put_page(&stock, number, i == 1 ? older : zeros);
        assert_found(&stock, "file|the structure|is not sound");
        put_page(&stock, number, page);
    }
    assert_clean(&stock);
    stock_close(&stock);
}

TEST(sqlite_verify, finds_a_second_row_of_the_store)
{
    struct stock stock;

    stock_open(&stock);
    stock_fill(&stock);
    stock_sql(&stock, "INSERT INTO store(one) VALUES(2)");
    assert_found(&stock, "store|one 1|is damaged, not there, or not the only "
                         "one");
    stock_close(&stock);
}

TEST(sqlite_verify, finds_entries_of_an_index_that_are_out_of_order)
{
    struct stock stock;
    struct heard heard = {"", 0};

    stock_open(&stock);
    stock_many(&stock, 6);
    patch(&stock, "sessions_by_id", "s002", "s009");
    ASSERT_RC(PDR_ECORRUPT,
              pdr_store_verify(NULL, stock.store, NULL, NULL, hear, &heard));
    ASSERT(strstr(heard.text, "id 's003', no 4|is out of order") != NULL);
    ASSERT(strstr(heard.text, "id 's009', no 3|leads to a row that says") !=
           NULL);
    ASSERT(strstr(heard.text, "id 's002'|is not in index sessions_by_id") !=
           NULL);
    stock_close(&stock);
}

/* The type of a column is a number in front of the row: 21 says text of four
 * bytes, 20 a blob of four. */
TEST(sqlite_verify, finds_a_key_of_an_index_that_is_no_text_any_more)
{
    struct stock stock;

    stock_open(&stock);
    stock_many(&stock, 6);
    patch(&stock, "sessions_by_id",
          "\x1b\x15\x01"
          "defaults002",
          "\x1b\x14\x01"
          "defaults002");
    assert_found(&stock, "id 's002'|is not in index sessions_by_id");
    stock_close(&stock);
}

TEST(sqlite_verify, finds_a_key_of_an_index_that_is_gone)
{
    struct stock stock;

    stock_open(&stock);
    stock_many(&stock, 6);
    stock_sql_without(&stock, "sessions_by_expiry",
                      "UPDATE sessions SET expiry=NULL WHERE id='s003'");
    assert_found(&stock, "sessions_by_expiry|expiry 5000, no 4|leads to a row "
                         "that says something else");
    stock_close(&stock);
}

/* --- what it costs ------------------------------------------------------- */

static int count_step(void *arg)
{
    ++*(size_t *)arg;
    return 0;
}

/* Hundreds of steps that SQLite takes to verify session "long". */
static size_t steps_of(struct stock *stock)
{
    const pdr_ref ref = {.id = PDR_LIT("long")};
    struct pdr__sqlite *sqlite =
        PDR_CONTAINER_OF(stock->store, struct pdr__sqlite, base);
    size_t steps = 0;

    ASSERT_RC(PDR_OK,
              pdr_store_verify(NULL, stock->store, &ref, NULL, NULL, NULL));
    ASSERT(sqlite->readers.idle != NULL && sqlite->readers.open == 1);
    sqlite3_progress_handler(sqlite->readers.idle->db, 100, count_step, &steps);
    ASSERT_RC(PDR_OK,
              pdr_store_verify(NULL, stock->store, &ref, NULL, NULL, NULL));
    sqlite3_progress_handler(sqlite->readers.idle->db, 0, NULL, NULL);
    return steps;
}

static void lengthen(struct stock *stock, size_t count)
{
    static pdr_entry entries[200];
    pdr_edit edit = {.ref = {.id = PDR_LIT("long")},
                     .entries = entries,
                     .entry_count = PDR_COUNT(entries)};

    for (size_t i = 0; i < PDR_COUNT(entries); i++)
        entries[i] =
            (pdr_entry){.kind = PDR_ROW_MESSAGE, .body = PDR_LIT("{}")};
    for (size_t i = 0; i < count; i += PDR_COUNT(entries))
        stock_commit(stock, &edit, 1);
}

TEST(sqlite_verify, of_a_session_takes_steps_in_proportion_to_its_length)
{
    struct stock stock;
    size_t once = 0, many = 0;

    stock_open(&stock);
    stock_many(&stock, 3);
    lengthen(&stock, 2000);
    once = steps_of(&stock);
    lengthen(&stock, 6000);
    many = steps_of(&stock);
    ASSERT(once > 100);
    if (many > 5 * once)
        fail_msg("%zu for 2,000 entries, %zu for 8,000", once, many);
    stock_close(&stock);
}

/* --- memory -------------------------------------------------------------- */

TEST_OOM(sqlite_verify, cleans_up_after_any_failed_allocation)
{
    struct stock stock;
    pdr_rc rc = PDR_OK;

    test_pause_failures(true);
    stock_open(&stock);
    stock_fill(&stock);
    test_pause_failures(false);
    rc = pdr_store_verify(NULL, stock.store, NULL, NULL, NULL, NULL);
    test_pause_failures(true);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    stock_close(&stock);
    test_pause_failures(false);
}
