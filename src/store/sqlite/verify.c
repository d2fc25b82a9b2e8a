/*
 * verify.c - what no read can see: rows that belong to nobody, indexes that do
 * not fit their tables, and pages that have no rows.
 *
 * WHY  A read finds a row by its key and checks what it finds. It cannot know
 *      of a row that no key leads to, nor of a list that lacks one. So every
 *      table and every index is walked from end to end:
 *
 *          table   each row is found by its own key, belongs to a session, and
 *                  is in every index that it must be in
 *          index   each entry leads to a row that has the same values
 *          both    the keys are in order, else a search goes astray
 *
 *      Digests of rows are checked by reading them (store/verify.c). And of a
 *      whole store each page of the main file is read: those that are free, or
 *      say where others stand, are needed by a vacuum and a backup alone. That
 *      these fit together SQLite itself looks at.
 *
 * INVARIANTS, cited below as I1..I4
 *   I1  One statement looks at PAGE rows and is one transaction; others commit
 *       in between. What is compared is of one moment, so nothing that they do
 *       looks like damage.
 *   I2  Keys only grow within a walk, so it ends, whatever the file says.
 *   I3  Damage ends one walk and not the others.
 *   I4  A page of the main file that also stands in the log may be half
 *       written: it is being copied, or who copied it died. Nobody reads it
 *       there, and it is copied again. So it is no damage.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "reader.h"

#define PAGE      200   /* rows of one transaction */
#define MAX_SHOWN 5     /* columns that name a row */
#define MAX_SQL   8192u /* bytes of a statement; the longest has 2,000 */
#define LOOKS     4u    /* at a page that seems damaged (I4) */

/* A table or index from end to end. The statement of a page is made of the
 * parts (see write_sql()): PAGE rows `r`, each joined with what it is compared
 * with. */
struct walk {
    const char *name;   /* of the table or index */
    int keys;           /* columns of its key; they come first */
    const char *rows;   /* SELECT ... WHERE ...: the rows `r` */
    const char *after;  /* the key is above ?1, ?2, ... */
    const char *order;  /* the columns of the key */
    const char *owner;  /* column with the number of the session; NULL: the
                           walk is not one of a single session */
    const char *shown;  /* columns that name a row, those of the key first */
    const char *checks; /* what is wrong, or NULL */
    const char *joined; /* LEFT JOIN ...: what `checks` looks at */
};

/* No row `x` of a table, or entry of an index, for which `condition` holds? */
#define NO_ROW(table, condition) \
    "NOT EXISTS(SELECT 1 FROM " table " x WHERE " condition ")"
#define NOT_IN(table, index, condition)                       \
    " NOT EXISTS(SELECT 1 FROM " table " x INDEXED BY " index \
    " WHERE " condition ") THEN 'is not in index " index "'"
#define LOST_OR_ORPHAN(table, condition)                           \
    "CASE WHEN " NO_ROW(                                           \
        table, condition) " THEN 'cannot be found by its own key'" \
                          " WHEN s.no IS NULL AND u.no IS NULL"    \
                          " THEN 'belongs to a session that is not there'"
/* The session `s` of a row, or the one `u` that no reader sees. */
#define SESSION(number)                                 \
    " LEFT JOIN sessions s NOT INDEXED ON s.no=" number \
    " LEFT JOIN unseen u ON u.no=" number
#define OF(column) "coalesce(s." column ",u." column ")"
/* Counters of a head that no commit can have made. */
#define COUNTERS                                               \
    "has_frame,first_seq,next_seq,journal_first,journal_next," \
    "stream_first,stream_next"
#define BAD_COUNTERS                                                     \
    " WHEN r.has_frame NOT BETWEEN 0 AND 3 OR r.first_seq>r.next_seq"    \
    " OR r.journal_first>r.journal_next OR r.stream_first>r.stream_next" \
    " THEN 'is damaged'"
/* An index entry `r` and the row `t` that it leads to. */
#define ASTRAY(key, condition)                                             \
    "CASE WHEN t." key " IS NULL THEN 'leads to a row that is not there' " \
    "WHEN " condition " THEN 'leads to a row that says something else' END"
#define TO_SESSION " LEFT JOIN sessions t NOT INDEXED ON t.no=r.no"

/* clang-format off */
static const struct walk walks[] = {
    {"sessions", 1,
     "SELECT no,tenant,id,agent,state,changed,expiry," COUNTERS
     " FROM sessions NOT INDEXED WHERE 1",
     "no>?1", "no", "no", "r.no,r.tenant,r.id",
     LOST_OR_ORPHAN("sessions", "x.no=r.no")
     " WHEN r.no>m.number THEN 'has a number that was not given yet'"
     BAD_COUNTERS
     " WHEN u.no IS NOT NULL THEN 'is one that no reader sees, too'"
     " WHEN" NOT_IN("sessions", "sessions_by_id",
       "x.tenant=r.tenant AND x.id=r.id AND x.no=r.no")
     " WHEN" NOT_IN("sessions", "sessions_by_state",
       "x.tenant=r.tenant AND x.state=r.state AND x.changed=r.changed"
       " AND x.id=r.id AND x.no=r.no")
     " WHEN r.agent IS NOT NULL AND" NOT_IN("sessions", "sessions_by_agent",
       "x.tenant=r.tenant AND x.agent=r.agent AND x.changed=r.changed"
       " AND x.id=r.id AND x.no=r.no")
     " WHEN r.expiry IS NOT NULL AND" NOT_IN("sessions", "sessions_by_expiry",
       "x.expiry=r.expiry AND x.no=r.no") " END",
     SESSION("r.no") " LEFT JOIN store m ON m.one=1"},
    {"sessions_by_id", 3,
     "SELECT tenant,id,no FROM sessions INDEXED BY sessions_by_id WHERE 1",
     "(tenant,id,no)>(?1,?2,?3)", "tenant,id,no", NULL,
     "r.tenant,r.id,r.no",
     ASTRAY("no", "r.tenant IS NOT t.tenant OR r.id IS NOT t.id"), TO_SESSION},
    {"sessions_by_state", 5,
     "SELECT tenant,state,changed,id,no FROM sessions"
     " INDEXED BY sessions_by_state WHERE 1",
     "(tenant,state,changed,id,no)>(?1,?2,?3,?4,?5)",
     "tenant,state,changed,id,no", NULL,
     "r.tenant,r.state,r.changed,r.id,r.no",
     ASTRAY("no", "r.tenant IS NOT t.tenant OR r.state IS NOT t.state"
            " OR r.changed IS NOT t.changed OR r.id IS NOT t.id"), TO_SESSION},
    {"sessions_by_agent", 5,
     "SELECT tenant,agent,changed,id,no FROM sessions"
     " INDEXED BY sessions_by_agent WHERE agent IS NOT NULL",
     "(tenant,agent,changed,id,no)>(?1,?2,?3,?4,?5)",
     "tenant,agent,changed,id,no", NULL,
     "r.tenant,r.agent,r.changed,r.id,r.no",
     ASTRAY("no", "r.tenant IS NOT t.tenant OR r.agent IS NOT t.agent"
            " OR r.changed IS NOT t.changed OR r.id IS NOT t.id"), TO_SESSION},
    {"sessions_by_expiry", 2,
     "SELECT expiry,no FROM sessions INDEXED BY sessions_by_expiry"
     " WHERE expiry IS NOT NULL",
     "(expiry,no)>(?1,?2)", "expiry,no", NULL, "r.expiry,r.no",
     ASTRAY("no", "r.expiry IS NOT t.expiry"), TO_SESSION},
    {"unseen", 1, "SELECT no,tenant,id," COUNTERS " FROM unseen WHERE 1",
     "no>?1", "no", NULL, "r.no,r.tenant,r.id",
     "CASE WHEN " NO_ROW("unseen", "x.no=r.no")
     " THEN 'cannot be found by its own key'"
     " WHEN r.no>m.number THEN 'has a number that was not given yet'"
     BAD_COUNTERS " END",
     " LEFT JOIN store m ON m.one=1"},
    {"log", 1,
     "SELECT n,session,key,kind,shape,correlation_id,first_seq,last_seq,"
     "fingerprint,separator FROM log NOT INDEXED WHERE 1",
     "n>?1", "n", NULL, "r.n,r.session,r.key",
     LOST_OR_ORPHAN("log", "x.n=r.n")
     " WHEN typeof(r.key) NOT IN ('integer','text') THEN 'is damaged'"
     " WHEN typeof(r.key)='integer' AND (r.first_seq IS NOT NULL"
     " OR r.last_seq IS NOT NULL OR r.fingerprint IS NOT NULL)"
     " THEN 'is damaged'"
     " WHEN typeof(r.key)='text' AND (r.kind IS NOT 9 OR r.shape IS NOT NULL"
     " OR r.correlation_id IS NOT NULL OR r.separator IS NOT NULL)"
     " THEN 'is damaged'"
     " WHEN typeof(r.key)='integer'"
     " AND (r.key<" OF("first_seq") " OR r.key>=" OF("next_seq") ")"
     " THEN 'is none of those that its session counts'"
     " WHEN" NOT_IN("log", "log_by_key",
       "x.session=r.session AND x.key=r.key AND x.n=r.n") " END",
     SESSION("r.session")},
    {"log_by_key", 3,
     "SELECT session,key,n FROM log INDEXED BY log_by_key WHERE 1",
     "(session,key,n)>(?1,?2,?3)", "session,key,n", "session",
     "r.session,r.key,r.n",
     ASTRAY("n", "r.session IS NOT t.session OR r.key IS NOT t.key"),
     " LEFT JOIN log t NOT INDEXED ON t.n=r.n"},
    {"parts", 3,
     "SELECT session,part,key,due,kind,correlation_id FROM parts WHERE 1",
     "(session,part,key)>(?1,?2,?3)", "session,part,key", "session",
     "r.session,r.part,r.key",
     LOST_OR_ORPHAN("parts",
       "x.session=r.session AND x.part=r.part AND x.key=r.key")
     " WHEN typeof(r.part)<>'integer' OR r.part NOT IN (0,1,2,3,4)"
     " THEN 'is a part that no session has'"
     " WHEN typeof(r.key)<>CASE WHEN r.part<3 THEN 'integer' ELSE 'text' END"
     " OR (r.part<>2 AND r.due IS NOT NULL) OR (r.part>=3"
     " AND (r.kind IS NOT NULL OR r.correlation_id IS NOT NULL))"
     " THEN 'is damaged'"
     " WHEN (r.part=0 AND (r.key<" OF("journal_first")
     " OR r.key>=" OF("journal_next") "))"
     " OR (r.part=1 AND (r.key<" OF("stream_first")
     " OR r.key>=" OF("stream_next") "))"
     " OR (r.part=2 AND (r.key<1 OR r.key>=" OF("inbox_next") "))"
     " OR (r.part=4 AND (r.key<>'' OR " OF("has_frame") "&1=0))"
     " THEN 'is none of those that its session counts'"
     " WHEN r.due IS NOT NULL AND" NOT_IN("parts", "parts_by_due",
       "x.due=r.due AND x.session=r.session AND x.key=r.key"
       " AND x.part=r.part") " END",
     SESSION("r.session")},
    {"parts_by_due", 4,
     "SELECT due,session,key,part FROM parts INDEXED BY parts_by_due"
     " WHERE due IS NOT NULL",
     "(due,session,key,part)>(?1,?2,?3,?4)", "due,session,key,part", NULL,
     "r.due,r.session,r.key,r.part",
     ASTRAY("session", "r.due IS NOT t.due"),
     " LEFT JOIN parts t"
     " ON t.session=r.session AND t.part=r.part AND t.key=r.key"},
    {"properties", 2,
     "SELECT session,key,value,match,digest,tenant,id FROM properties"
     " WHERE 1",
     "(session,key)>(?1,?2)", "session,key", "session", "r.session,r.key",
     LOST_OR_ORPHAN("properties", "x.session=r.session AND x.key=r.key")
     " WHEN r.tenant IS NOT " OF("tenant") " OR r.id IS NOT " OF("id")
     " THEN 'names another session than its own'"
     " WHEN r.match IS NOT NULL AND" NOT_IN("properties",
       "properties_by_match", "x.tenant=r.tenant AND x.key=r.key"
       " AND x.match=r.match AND x.id=r.id AND x.session=r.session"
       " AND x.value=r.value AND x.digest=r.digest") " END",
     SESSION("r.session")},
    {"properties_by_match", 5,
     "SELECT tenant,key,match,id,session,value,digest FROM properties"
     " INDEXED BY properties_by_match WHERE match IS NOT NULL",
     "(tenant,key,match,id,session)>(?1,?2,?3,?4,?5)",
     "tenant,key,match,id,session", NULL,
     "r.tenant,r.key,r.match,r.id,r.session",
     ASTRAY("session", "t.tenant IS NOT r.tenant OR t.match IS NOT r.match"
            " OR t.id IS NOT r.id OR t.value IS NOT r.value"
            " OR t.digest IS NOT r.digest"),
     " LEFT JOIN properties t ON t.session=r.session AND t.key=r.key"},
};
/* clang-format on */

/* --- findings ------------------------------------------------------------ */

struct verify {
    struct pdr__sqlite *store;
    struct pdr__reader *reader;
    pdr_verify_report *report;
    pdr_verify_fn fn;
    void *arg;
    bool found; /* there is a first finding: */
    pdr_err first;
    bool one; /* only the session with this number: */
    int64_t no;
};

static void tell(struct verify *v, const char *name, const char *row,
                 const char *what)
{
    v->report->bad++;
    if (!v->found)
        (void)PDR_FAIL(&v->first, WRONG_INDEX,
                       "'%s': the row with %s %s; restore a backup", name, row,
                       what);
    v->found = true;
    if (v->fn != NULL)
        v->fn(v->arg, name, row, what);
}

/* Damage ended a walk (I3). If it is that of a page, its number is known. */
static void tell_end(struct verify *v, const char *name, const pdr_err *detail)
{
    struct pdr__file_state state = {.damaged = 0};
    char what[128] = "cannot be read, nor can those behind it";
    size_t used = strlen(what);

    if (detail->sys == SQLITE_IOERR_DATA)
        (void)sqlite3_file_control(v->reader->db, "main", PDR_FCNTL_STATE,
                                   &state);
    if (state.damaged != 0)
        (void)snprintf(what + used, sizeof(what) - used,
                       ": %s %" PRIu32 " of the %s is not as it was written",
                       state.is_in_log ? "frame" : "page", state.damaged,
                       state.is_in_log ? "log" : "file");
    tell(v, name, "one of the keys", what);
}

/* A failure that is no finding goes up as it is. */
static pdr_rc pass_on(pdr_rc rc, const pdr_err *detail, pdr_err *err)
{
    if (rc != PDR_OK && err != NULL)
        *err = *detail;
    return rc;
}

/* --- keys ---------------------------------------------------------------- */

/* The columns that name a row, those of its key first. */
struct key {
    sqlite3_value *values[MAX_SHOWN]; /* owned; NULL behind the last */
};

static void free_key(struct key *key)
{
    for (size_t i = 0; i < MAX_SHOWN; i++) {
        sqlite3_value_free(key->values[i]);
        key->values[i] = NULL;
    }
}

/* All columns but the last, which says what is wrong. */
static pdr_rc take_key(struct key *out, sqlite3_stmt *stmt, pdr_err *err)
{
    int count = sqlite3_column_count(stmt) - 1;

    assert(count <= MAX_SHOWN);
    for (int i = 0; i < count; i++) {
        out->values[i] = sqlite3_value_dup(sqlite3_column_value(stmt, i));
        if (out->values[i] == NULL)
            return pdr__nomem(err);
    }
    return PDR_OK;
}

static pdr_str text_of(sqlite3_value *value)
{
    const char *text = sqlite3_value_blob(value);

    return pdr_str_n(text != NULL ? text : "",
                     (size_t)sqlite3_value_bytes(value));
}

/* A row in words: "tenant 'default', id 'trip-42', no 7". */
static void write_words(char *out, size_t room, const struct key *key,
                        sqlite3_stmt *stmt)
{
    char shown[PDR_SHOWN];
    size_t used = 0;

    out[0] = '\0';
    for (int i = 0; i < MAX_SHOWN && key->values[i] != NULL; i++) {
        const char *name = sqlite3_column_name(stmt, i);
        const char *comma = i > 0 ? ", " : "";

        if (sqlite3_value_type(key->values[i]) == SQLITE_INTEGER)
            (void)snprintf(out + used, room - used, "%s%s %" PRId64, comma,
                           name, (int64_t)sqlite3_value_int64(key->values[i]));
        else
            (void)snprintf(out + used, room - used, "%s%s '%s'", comma, name,
                           pdr__shown(shown, text_of(key->values[i])));
        used += strlen(out + used);
    }
}

/* As SQLite orders numbers, texts and blobs. */
static int compare(sqlite3_value *a, sqlite3_value *b)
{
    int type = sqlite3_value_type(a), other = sqlite3_value_type(b);
    pdr_str x = {NULL, 0}, y = {NULL, 0};
    int order = 0;

    if (type != other)
        return type < other ? -1 : 1;
    if (type == SQLITE_INTEGER) {
        int64_t m = sqlite3_value_int64(a), n = sqlite3_value_int64(b);

        return m < n ? -1 : m > n;
    }
    x = text_of(a);
    y = text_of(b);
    order = memcmp(x.ptr, y.ptr, x.len < y.len ? x.len : y.len);
    if (order != 0)
        return order;
    return x.len < y.len ? -1 : x.len > y.len;
}

/* Can a walk go on behind it, after `last`? (I2) */
static bool is_in_order(const struct key *key, const struct key *last,
                        int count)
{
    int order = last->values[0] == NULL ? 1 : 0; /* it is the first */

    for (int i = 0; i < count; i++) {
        int type = sqlite3_value_type(key->values[i]);

        if (type == SQLITE_NULL || type == SQLITE_FLOAT)
            return false; /* no key of ours */
        if (order == 0)
            order = compare(key->values[i], last->values[i]);
    }
    return order > 0;
}

/* --- walks --------------------------------------------------------------- */

/* One walk under way. */
struct pass {
    struct verify *v;
    const struct walk *walk;
    struct pdr__rows rows;
    struct key last; /* of the row before */
    bool ended;
};

static void tell_row(struct pass *pass, const struct key *key, const char *what)
{
    char words[MAX_SHOWN * (PDR_SHOWN + 32)];

    write_words(words, sizeof(words), key, pass->rows.stmt);
    tell(pass->v, pass->walk->name, words, what);
}

/* The statement of the first page, or of those behind `last`. There "=" would
 * have SQLite search for the session alone, and pass over its rows up to `last`
 * again on each page. */
static pdr_rc write_sql(pdr_buf *out, const struct pass *pass, bool is_first,
                        pdr_err *err)
{
    const struct walk *walk = pass->walk;
    pdr_rc rc = pdr_buf_printf(out, err, "SELECT %s,%s FROM (%s", walk->shown,
                               walk->checks, walk->rows);

    if (rc == PDR_OK && !is_first)
        rc = pdr_buf_printf(out, err, " AND %s", walk->after);
    if (rc == PDR_OK && pass->v->one)
        rc = pdr_buf_printf(out, err, " AND %s%s%" PRId64, walk->owner,
                            is_first ? "=" : "<=", pass->v->no);
    if (rc == PDR_OK)
        rc = pdr_buf_printf(out, err, " ORDER BY %s LIMIT %d) r%s", walk->order,
                            PAGE, walk->joined);
    return rc;
}

static pdr_rc open_pass(struct pass *pass, bool is_first, pdr_err *err)
{
    pdr_buf sql = PDR_BUF_INIT(MAX_SQL);
    pdr_rc rc = write_sql(&sql, pass, is_first, err);

    if (rc == PDR_OK)
        rc = pdr__rows_open(&pass->rows, pass->v->reader, READER_KEPT, sql.ptr,
                            err);
    pdr_buf_dispose(&sql);
    return rc;
}

static pdr_rc look_at_row(struct pass *pass, pdr_err *err)
{
    sqlite3_stmt *stmt = pass->rows.stmt;
    int last_column = sqlite3_column_count(stmt) - 1;
    struct key key = {{NULL}};
    pdr_rc rc = take_key(&key, stmt, err);

    if (rc == PDR_OK && !is_in_order(&key, &pass->last, pass->walk->keys)) {
        tell_row(pass, &key, "is out of order");
        pass->ended = true;
    }
    if (rc == PDR_OK && sqlite3_column_type(stmt, last_column) == SQLITE_TEXT)
        tell_row(pass, &key,
                 (const char *)sqlite3_column_text(stmt, last_column));
    free_key(&pass->last);
    pass->last = key;
    return rc;
}

/* Up to PAGE rows; the pass has ended when there are fewer (I1). */
static pdr_rc look_at_page(struct pass *pass, pdr_err *err)
{
    pdr_rc rc = PDR_OK;
    int count = 0;

    for (bool more = true; rc == PDR_OK && more && !pass->ended;) {
        rc = pdr__rows_next(&more, &pass->rows, err);
        if (rc == PDR_OK && more)
            rc = look_at_row(pass, err);
        count += more;
    }
    pass->ended = pass->ended || count < PAGE;
    (void)sqlite3_reset(pass->rows.stmt); /* its failure was seen above */
    return rc;
}

static pdr_rc look_behind(struct pass *pass, pdr_err *err)
{
    for (int i = 0; i < pass->walk->keys; i++) {
        int code =
            sqlite3_bind_value(pass->rows.stmt, i + 1, pass->last.values[i]);

        if (code != SQLITE_OK)
            return pdr__sqlite_fail(err, pass->v->reader->db, code,
                                    "verifying");
    }
    return look_at_page(pass, err);
}

static pdr_rc look_at_all(struct pass *pass, pdr_err *err)
{
    pdr_rc rc = open_pass(pass, true, err);

    if (rc == PDR_OK)
        rc = look_at_page(pass, err);
    pdr__rows_close(&pass->rows);
    if (rc != PDR_OK || pass->ended)
        return rc;
    rc = open_pass(pass, false, err);
    while (rc == PDR_OK && !pass->ended)
        rc = look_behind(pass, err);
    return rc;
}

static pdr_rc run_walk(struct verify *v, const struct walk *walk, pdr_err *err)
{
    struct pass pass = {.v = v, .walk = walk};
    pdr_err detail = PDR_ERR_INIT;
    pdr_rc rc = look_at_all(&pass, &detail);

    if (rc == PDR_ECORRUPT || rc == PDR_EINVALID) { /* I3 */
        tell_end(v, walk->name, &detail);
        rc = PDR_OK;
    }
    free_key(&pass.last);
    pdr__rows_close(&pass.rows);
    return pass_on(rc, &detail, err);
}

/* --- heads that no reader sees -------------------------------------------- */

/* What is wrong with the head in the present row; NULL: nothing. Of their rows
 * some may be gone, so counts are not compared. */
static pdr_rc check_unseen_head(const char **what, const struct verify *v,
                                sqlite3_stmt *stmt, pdr_err *err)
{
    pdr_head head;
    pdr_rc rc = pdr__sqlite_head(&head, stmt, err);

    *what = "is damaged";
    if (rc == PDR_OK) {
        *what = "does not fit its digest";
        rc = pdr_head_check(&v->store->base, &head, err);
    }
    if (rc == PDR_OK)
        *what = head.state != PDR_SESSION_UNSEEN ? "is one that readers may see"
                                                 : NULL;
    return rc == PDR_ECORRUPT ? PDR_OK : rc;
}

/* One that is behind `*last`, if there is one (I1: others commit meanwhile). */
static pdr_rc check_next_unseen(bool *found, int64_t *last, struct verify *v,
                                pdr_err *err)
{
    static const char sql[] = "SELECT " PDR_SQLITE_HEAD_COLUMNS
                              " FROM unseen WHERE no>?1 ORDER BY no LIMIT 1";
    struct pdr__rows rows;
    const char *what = NULL;
    char row[32];
    pdr_rc rc = pdr__rows_open(&rows, v->reader, READER_KEPT, sql, err);

    if (rc == PDR_OK) {
        pdr__rows_bind(&rows, *last);
        rc = pdr__rows_next(found, &rows, err);
    }
    if (rc == PDR_OK && *found) {
        *last = sqlite3_column_int64(rows.stmt, 0);
        rc = check_unseen_head(&what, v, rows.stmt, err);
    }
    pdr__rows_close(&rows);
    (void)snprintf(row, sizeof(row), "no %" PRId64, *last);
    if (rc == PDR_OK && what != NULL)
        tell(v, "unseen", row, what);
    return rc;
}

static pdr_rc check_unseen(struct verify *v, pdr_err *err)
{
    int64_t last = INT64_MIN;
    pdr_err detail = PDR_ERR_INIT;
    bool found = true;
    pdr_rc rc = PDR_OK;

    while (rc == PDR_OK && found) {
        found = false;
        rc = check_next_unseen(&found, &last, v, &detail);
    }
    if (rc == PDR_ECORRUPT) { /* I3 */
        tell_end(v, "unseen", &detail);
        rc = PDR_OK;
    }
    return pass_on(rc, &detail, err);
}

/* --- pages --------------------------------------------------------------- */

struct pages {
    struct verify *v;
    sqlite3_file *file; /* borrowed: main file of the reader */
    uint32_t count;
    uint8_t *in_log; /* owned; NULL: not asked yet */
};

static void tell_file(struct verify *v, const char *row, const char *what)
{
    const char *slash = strrchr(v->store->path, '/');
    char shown[PDR_SHOWN];

    v->report->bad++;
    if (!v->found)
        (void)PDR_FAIL(&v->first, STORE_DAMAGED,
                       "%s of '%s' %s; restore a backup", row,
                       pdr__shown(shown, pdr_str_c(slash + 1)), what);
    v->found = true;
    if (v->fn != NULL)
        v->fn(v->arg, "file", row, what);
}

static int read_page(const struct pages *pages, uint32_t number)
{
    uint8_t bytes[PDR_SQLITE_PAGE];

    return pages->file->pMethods->xRead(pages->file, bytes, sizeof(bytes),
                                        (sqlite3_int64)(number - 1) *
                                            PDR_SQLITE_PAGE);
}

/* I4. Whether a page stands in the WAL is asked before waiting: after a process
 * died in a checkpoint, hundreds can be half written. */
static pdr_rc check_page(struct pages *pages, uint32_t number, int *code,
                         pdr_err *err)
{
    const struct timespec rest = {0, 3000000};
    char row[32];
    pdr_rc rc = PDR_OK;

    *code = read_page(pages, number);
    if (*code == SQLITE_IOERR_DATA && pages->in_log == NULL)
        rc = pdr__left_pages(&pages->in_log, pages->count,
                             pages->v->store->log_path, err);
    if (rc != PDR_OK || *code != SQLITE_IOERR_DATA ||
        (pages->in_log[number / 8] >> number % 8 & 1) != 0)
        return rc;
    for (unsigned i = 1; i < LOOKS && *code == SQLITE_IOERR_DATA; i++) {
        (void)nanosleep(&rest, NULL); /* damaged, and not only for a moment? */
        *code = read_page(pages, number);
    }
    if (*code == SQLITE_IOERR_DATA) {
        (void)snprintf(row, sizeof(row), "page %" PRIu32, number);
        tell_file(pages->v, row, "is not as it was written");
    }
    return PDR_OK;
}

/* The main file of a reader that has read page 1, so it is known whether there
 * are sums; without them there is nothing to compare. */
static int find_pages(struct pages *pages)
{
    sqlite3 *db = pages->v->reader->db;
    struct pdr__file_state state = {.damaged = 0};
    sqlite3_int64 bytes = 0;
    int code = SQLITE_OK;

    (void)sqlite3_file_control(db, "main", PDR_FCNTL_STATE, &state);
    (void)sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER,
                               &pages->file);
    if (state.has_sums && !pages->v->store->without_sums)
        code = pages->file->pMethods->xFileSize(pages->file, &bytes);
    pages->count = (uint32_t)((bytes + PDR_SQLITE_PAGE - 1) / PDR_SQLITE_PAGE);
    return code;
}

static pdr_rc check_pages(struct verify *v, pdr_err *err)
{
    struct pages pages = {.v = v};
    int code = find_pages(&pages);
    pdr_rc rc = PDR_OK;

    for (uint32_t n = 1; n <= pages.count && rc == PDR_OK; n++) {
        rc = check_page(&pages, n, &code, err);
        if (code != SQLITE_OK && code != SQLITE_IOERR_DATA &&
            code != SQLITE_IOERR_SHORT_READ)
            break;
        code = SQLITE_OK;
    }
    if (rc == PDR_OK && code != SQLITE_OK)
        rc = pdr__sqlite_fail(err, v->reader->db, code, "verifying");
    pdr__free(pages.in_log);
    return rc;
}

/* --- structure ----------------------------------------------------------- */

/* The list of free pages against the count in the header, the map of pointers,
 * and the pages that each tree uses: SQLite walks them for us. In one snapshot,
 * as a backup. */
static pdr_rc check_structure(struct verify *v, pdr_err *err)
{
    sqlite3_stmt *stmt = NULL;
    const char *text = NULL;
    int code = sqlite3_prepare_v2(v->reader->db, "PRAGMA quick_check(1)", -1,
                                  &stmt, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_step(stmt);
    if (code == SQLITE_ROW)
        text = (const char *)sqlite3_column_text(stmt, 0);
    if (text != NULL && strcmp(text, "ok") != 0)
        tell_file(v, "the structure", "is not sound");
    (void)sqlite3_finalize(stmt);
    if (code == SQLITE_ROW || code == SQLITE_DONE)
        return PDR_OK;
    return pdr__sqlite_fail(err, v->reader->db, code, "verifying");
}

/* --- all of it ----------------------------------------------------------- */

/* Is there the row, with columns of the types that were written? */
static pdr_rc has_store_row(bool *out, const struct verify *v, pdr_err *err)
{
#define STORE_ROW_IS_WHOLE                                                \
    "typeof(schema)='integer' AND typeof(number)='integer'"               \
    " AND typeof(created)='integer' AND keyed IS (key_check IS NOT NULL)" \
    " AND (SELECT count(*) FROM store)=1 FROM store WHERE one=1"
    const char *sql =
        v->store->schema < 3
            ? "SELECT " STORE_ROW_IS_WHOLE
            : "SELECT typeof(generation)='integer' AND " STORE_ROW_IS_WHOLE;
    struct pdr__rows rows;
    pdr_rc rc = pdr__rows_open(&rows, v->reader, READER_KEPT, sql, err);

    if (rc == PDR_OK)
        rc = pdr__rows_next(out, &rows, err);
    if (rc == PDR_OK && *out)
        *out = pdr__rows_int(&rows) == 1;
    pdr__rows_close(&rows);
    return rc;
}

/* The tables themselves, and the one row that speaks of all. */
static pdr_rc check_store_row(struct verify *v, pdr_err *err)
{
    struct pdr__sqlite probe = {.base = v->store->base, .path = v->store->path};
    pdr_err detail = PDR_ERR_INIT;
    bool found = false;
    pdr_rc rc = has_store_row(&found, v, &detail);

    if (rc == PDR_OK && !found)
        rc = PDR_FAIL(&detail, STORE_DAMAGED, "%s",
                      "is damaged, not there, or not the only one");
    if (rc == PDR_OK)
        rc = pdr__schema_check(&probe, v->reader->db, &detail);
    if (rc == PDR_OK && probe.schema != v->store->schema)
        return PDR_FAIL(err, STORE_VERSION,
                        "the store was migrated to version %u while it is "
                        "open; open it again",
                        probe.schema);
    if (rc == PDR_ECORRUPT || rc == PDR_EINVALID || rc == PDR_EVERSION ||
        rc == PDR_EDENIED) {
        tell(v, "store", "one 1", detail.message);
        return PDR_OK;
    }
    if (rc != PDR_OK && err != NULL)
        *err = detail;
    return rc;
}

/* The number of the session that is asked for. */
static pdr_rc find_number(bool *found, struct verify *v, const pdr_ref *ref,
                          pdr_err *err)
{
    struct pdr__rows rows;
    pdr_rc rc = pdr__rows_open(&rows, v->reader, READER_NUMBER,
                               pdr__list_sql(READER_NUMBER), err);

    if (rc == PDR_OK) {
        pdr__rows_bind_text(&rows, ref->tenant);
        pdr__rows_bind_text(&rows, ref->id);
        rc = pdr__rows_next(found, &rows, err);
    }
    if (rc == PDR_OK && *found)
        v->no = pdr__rows_int(&rows);
    pdr__rows_close(&rows);
    return rc;
}

static pdr_rc verify(struct verify *v, const pdr_ref *ref, pdr_err *err)
{
    bool found = true;
    pdr_rc rc = PDR_OK;

    v->one = ref != NULL;
    if (v->one)
        rc = find_number(&found, v, ref, err);
    else
        rc = check_store_row(v, err);
    if (!found) /* reading it told so already */
        return rc;
    for (size_t i = 0; i < PDR_COUNT(walks) && rc == PDR_OK; i++) {
        if (!v->one || walks[i].owner != NULL)
            rc = run_walk(v, &walks[i], err);
    }
    if (rc == PDR_OK && !v->one)
        rc = check_unseen(v, err);
    if (rc == PDR_OK && !v->one)
        rc = check_pages(v, err);
    if (rc == PDR_OK && !v->one && !v->found) /* else it is known already */
        rc = check_structure(v, err);
    return rc;
}

pdr_rc pdr__sqlite_verify(pdr_store *self, const pdr_ref *ref,
                          pdr_verify_report *report, pdr_verify_fn fn,
                          void *arg, pdr_err *err)
{
    struct pdr__sqlite *store =
        PDR_CONTAINER_OF(self, struct pdr__sqlite, base);
    struct verify v = {.store = store, .report = report, .fn = fn, .arg = arg};
    pdr_rc rc = pdr__reader_take(&v.reader, store, err);

    if (rc != PDR_OK)
        return rc;
    rc = verify(&v, ref, err);
    pdr__reader_give(store, v.reader);
    if (rc == PDR_OK && v.found) {
        if (err != NULL)
            *err = v.first;
        return PDR_ECORRUPT;
    }
    return rc;
}
