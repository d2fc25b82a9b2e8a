/*
 * list.c - pages of rows of many sessions: lists, what has expired, what is
 * due.
 *
 * WHY  A list must cost what it shows, whatever the store holds: each one walks
 *      an index from the place where the page before ended, and stops when the
 *      page is full. The first table of each statement is read from the index
 *      alone, the second is the row that the index leads to; both are compared,
 *      so that a damaged index gives an error and never a wrong row. The index
 *      of properties has all that their digests cover, and needs no row.
 *
 *      Filters besides the one that chose the index are looked at row by row.
 *
 * ORDER  sessions   changed, id: both down    by property, by prefix   id
 *        expired    expiry, number            all           tenant, id
 *        due        due, number, n
 */
#include "reader.h"

/* The columns of a head, of table `s`, as pdr__sqlite_head() takes them. */
#define HEAD                                                            \
    "s.no,s.tenant,s.id,s.agent,s.kind,s.schema_version,s.state,"       \
    "s.revision,s.commits,s.created,s.changed,s.expiry,s.first_seq,"    \
    "s.next_seq,s.slots,s.properties,s.completions,s.journal_first,"    \
    "s.journal_next,s.stream_first,s.stream_next,s.inbox,s.inbox_next," \
    "s.has_frame,s.lease_owner,s.fence,s.lease_until,s.anchor,s.chain," \
    "s.digest"

/* Hands a head, and what the index says of it, to add_row(). */
#define TAKE(columns) PDR_TAKE_ROW "(" HEAD columns ")"

/* The row that the index leads to; none if only the index is looked at. */
#define JOIN_HEAD(no)                                             \
    " LEFT JOIN sessions s ON s.no=CASE WHEN NOT " PDR_INDEX_ONLY \
    "() THEN " no " END"

/* Rows of sessions that no reader sees stand in the indexes, too. The second
 * half is asked only where there is no such session. */
#define IS_SEEN              \
    " AND (s.no IS NOT NULL" \
    " OR NOT EXISTS(SELECT 1 FROM unseen u WHERE u.no=i.session))"

/* Up from the first id, which is left out if the page before ended there. */
#define FROM_ID(first, end, before) \
    " AND i.id>=" first " AND i.id<" end " AND i.id<>" before

/* Down from (changed, id) < (?3, ?4). */
#define CHANGED " AND changed>=?2 AND (changed,id)<(?3,?4)"

/* The sessions in one state. */
#define IN_STATE(state)                        \
    "SELECT no,changed,id,state FROM sessions" \
    " INDEXED BY sessions_by_state WHERE tenant=?1 AND state=" state CHANGED

/* clang-format off */
static const char *const sql[READER_KEPT] = {
    /* All states: four walks of one index, merged. The limit, which is none,
     * keeps SQLite from taking the order of the inner statement for idle. */
    [READER_BY_CHANGE] =
        "SELECT " TAKE(",i.changed,i.id,i.state") " FROM ("
        IN_STATE("'idle'") " UNION ALL " IN_STATE("'running'") " UNION ALL "
        IN_STATE("'waiting'") " UNION ALL " IN_STATE("'expired'")
        " ORDER BY 2 DESC,3 DESC LIMIT -1) i"
        JOIN_HEAD("i.no"),
    [READER_BY_AGENT] =
        "SELECT " TAKE(",i.changed,i.id")
        " FROM sessions i INDEXED BY sessions_by_agent"
        JOIN_HEAD("i.no")
        " WHERE i.tenant=?1 AND i.agent=?5"
        " AND i.changed>=?2 AND (i.changed,i.id)<(?3,?4)"
        " ORDER BY i.changed DESC,i.id DESC",
    [READER_BY_STATE] =
        "SELECT " TAKE(",i.changed,i.id")
        " FROM sessions i INDEXED BY sessions_by_state"
        JOIN_HEAD("i.no")
        " WHERE i.tenant=?1 AND i.state=?5"
        " AND i.changed>=?2 AND (i.changed,i.id)<(?3,?4)"
        " ORDER BY i.changed DESC,i.id DESC",
    [READER_BY_PROPERTY] =
        "SELECT " TAKE(",i.id,i.value,i.digest")
        " FROM properties i INDEXED BY properties_by_match"
        JOIN_HEAD("i.session")
        " WHERE i.tenant=?1 AND i.key=?2 AND i.match=?3" FROM_ID("?4","?5","?6")
        IS_SEEN
        " ORDER BY i.id",
    [READER_BY_PREFIX] =
        "SELECT " TAKE(",i.tenant,i.id")
        " FROM sessions i INDEXED BY sessions_by_id"
        JOIN_HEAD("i.no")
        " WHERE i.tenant=?1" FROM_ID("?2","?3","?4")
        " ORDER BY i.id",
    [READER_BY_ID] =
        "SELECT " TAKE(",i.tenant,i.id")
        " FROM sessions i INDEXED BY sessions_by_id"
        JOIN_HEAD("i.no")
        " WHERE (i.tenant,i.id)>(?1,?2) ORDER BY i.tenant,i.id",
    [READER_BY_EXPIRY] =
        "SELECT " TAKE(",i.expiry")
        " FROM sessions i INDEXED BY sessions_by_expiry"
        JOIN_HEAD("i.no")
        " WHERE i.expiry<=?1 AND (i.expiry,i.no)>(?2,?3)"
        " ORDER BY i.expiry,i.no",
    [READER_BY_DUE] =
        "SELECT w.key,w.due,w.kind,w.correlation_id,w.body,w.digest,"
        "i.part,i.due,i.key,i.session,s.tenant,s.id"
        " FROM parts i INDEXED BY parts_by_due"
        " LEFT JOIN parts w"
        " ON w.session=i.session AND w.part=i.part AND w.key=i.key"
        " LEFT JOIN sessions s ON s.no=i.session"
        " WHERE i.due<=?1 AND (i.due,i.session,i.key)>(?2,?3,?4)" IS_SEEN
        " ORDER BY i.due,i.session,i.key",
    /* For verify.c. */
    [READER_NUMBER] =
        "SELECT no FROM sessions WHERE tenant=?1 AND id=?2",
};
/* clang-format on */

static const char *const names[READER_KEPT] = {
    [READER_BY_CHANGE] = "sessions_by_state",
    [READER_BY_AGENT] = "sessions_by_agent",
    [READER_BY_STATE] = "sessions_by_state",
    [READER_BY_PROPERTY] = "properties_by_match",
    [READER_BY_PREFIX] = "sessions_by_id",
    [READER_BY_ID] = "sessions_by_id",
    [READER_BY_EXPIRY] = "sessions_by_expiry",
    [READER_BY_DUE] = "parts_by_due",
};

const char *pdr__list_sql(unsigned slot)
{
    return sql[slot];
}

static pdr_rc open_rows(struct pdr__rows *rows,
                        const struct pdr__reading *reading, unsigned slot,
                        pdr_err *err)
{
    return pdr__rows_open(rows, reading->reader, slot, sql[slot], err);
}

/* --- rows against their index -------------------------------------------- */

/* The head in the present row. Is it the one that the index speaks of? */
typedef pdr_rc (*take_fn)(pdr_head *out, struct pdr__reading *reading,
                          struct pdr__rows *rows, pdr_err *err);

static pdr_rc take_head(pdr_head *out, const struct pdr__reading *reading,
                        struct pdr__rows *rows, pdr_err *err)
{
    rows->at = PDR_SQLITE_HEAD_COUNT;
    if (sqlite3_value_type(rows->values[0]) == SQLITE_NULL)
        return pdr__wrong_index(names[reading->slot], err);
    return pdr__sqlite_head_of(out, rows->values, err);
}

/* Does the head have what the index was asked for? */
static bool fits_index(const struct pdr__reading *reading, const pdr_head *head)
{
    const pdr_filter *filter = &reading->query->filter;

    if (reading->slot == READER_BY_AGENT &&
        !pdr_str_equal(filter->agent, head->agent))
        return false;
    if (reading->slot == READER_BY_STATE && filter->state != head->state)
        return false;
    return pdr_str_equal(reading->query->ref.tenant, head->ref.tenant);
}

/* All states are asked for there, so each row tells its own. */
static bool fits_state(const struct pdr__reading *reading, const pdr_head *head,
                       struct pdr__rows *rows)
{
    return reading->slot != READER_BY_CHANGE ||
           pdr_str_equal(pdr__rows_text(rows),
                         pdr_str_c(pdr__session_state_word(head->state)));
}

static pdr_rc take_changed(pdr_head *out, struct pdr__reading *reading,
                           struct pdr__rows *rows, pdr_err *err)
{
    pdr_rc rc = take_head(out, reading, rows, err);

    if (rc == PDR_OK &&
        (pdr__rows_int(rows) != out->changed_ms ||
         !pdr_str_equal(pdr__rows_text(rows), out->ref.id) ||
         !fits_state(reading, out, rows) || !fits_index(reading, out)))
        rc = pdr__wrong_index(names[reading->slot], err);
    return rc;
}

/* Does the session have the property that was asked for? The digest is made
 * from what was asked and from the head, so it fits no other key or match: what
 * the index says of them need not be looked at. */
static pdr_rc check_property(struct pdr__reading *reading, const pdr_head *head,
                             struct pdr__rows *rows, pdr_err *err)
{
    const pdr_filter *filter = &reading->query->filter;
    pdr_property row = {.key = filter->property, .match = filter->match};
    pdr_digest wanted;
    pdr_rc rc = PDR_OK;

    row.value = pdr__rows_text(rows);
    pdr__rows_digest(row.digest, rows);
    rc = pdr__rows_check(rows, "properties", err);
    if (rc == PDR_OK)
        rc = pdr__seal_property(wanted, &reading->seal, &reading->store->base,
                                &head->ref, &row, err);
    if (rc == PDR_OK && memcmp(wanted, row.digest, sizeof(wanted)) != 0)
        rc = pdr__wrong_index(names[reading->slot], err);
    return rc;
}

static pdr_rc take_by_property(pdr_head *out, struct pdr__reading *reading,
                               struct pdr__rows *rows, pdr_err *err)
{
    pdr_rc rc = take_head(out, reading, rows, err);

    if (rc != PDR_OK)
        return rc;
    if (!pdr_str_equal(pdr__rows_text(rows), out->ref.id) ||
        !fits_index(reading, out))
        return pdr__wrong_index(names[reading->slot], err);
    return check_property(reading, out, rows, err);
}

/* A damaged row must not hide those behind it from verify: in its place stands
 * a head that has only a key, and that no digest fits. */
static pdr_rc take_by_id(pdr_head *out, struct pdr__reading *reading,
                         struct pdr__rows *rows, pdr_err *err)
{
    pdr_rc rc = take_head(out, reading, rows, NULL);
    pdr_ref ref = {{NULL, 0}, {NULL, 0}};

    ref.tenant = pdr__rows_text(rows);
    ref.id = pdr__rows_text(rows);
    if (rc == PDR_OK && pdr_str_equal(ref.tenant, out->ref.tenant) &&
        pdr_str_equal(ref.id, out->ref.id))
        return PDR_OK;
    memset(out, 0, sizeof(*out));
    out->ref = ref;
    return pdr__rows_check(rows, names[reading->slot], err);
}

static pdr_rc take_expired(pdr_head *out, struct pdr__reading *reading,
                           struct pdr__rows *rows, pdr_err *err)
{
    pdr_rc rc = take_head(out, reading, rows, err);

    if (rc == PDR_OK && pdr__rows_int(rows) != out->expiry_ms)
        rc = pdr__wrong_index(names[reading->slot], err);
    return rc;
}

/* --- adding them --------------------------------------------------------- */

static bool is_wanted(const pdr_query *query, const pdr_head *head)
{
    const pdr_filter *filter = &query->filter;
    bool any_time = filter->changed_from_ms == 0 && filter->changed_to_ms == 0;

    if (query->what != PDR_READ_SESSIONS)
        return true;
    return (filter->agent.ptr == NULL ||
            pdr_str_equal(filter->agent, head->agent)) &&
           (!filter->by_state || filter->state == head->state) &&
           (any_time || (head->changed_ms >= filter->changed_from_ms &&
                         head->changed_ms < filter->changed_to_ms));
}

/* Does the index alone say that a row is wanted? Then its entry behind a full
 * page says that there is more. The row is the business of the next page, and
 * is not looked up: in a large store that is one more page of the file. */
static bool index_decides(const struct pdr__reading *reading)
{
    const pdr_filter *filter = &reading->query->filter;

    if (reading->slot == READER_BY_AGENT)
        return !filter->by_state;
    if (reading->slot == READER_BY_PROPERTY ||
        reading->slot == READER_BY_PREFIX)
        return filter->agent.ptr == NULL && !filter->by_state &&
               filter->changed_from_ms == 0 && filter->changed_to_ms == 0;
    return true;
}

/* Sessions on their way into a page. */
struct adding {
    struct pdr__reading *reading;
    struct pdr__rows *rows;
    pdr_err *err;
    take_fn take;
    bool is_over; /* there is a row that has no room */
};

/* SQLite calls it for each row, before the statement gives it. */
static pdr_rc add_row(void *arg, sqlite3_value **values)
{
    struct adding *adding = arg;
    struct pdr__reading *reading = adding->reading;
    pdr_head head;
    pdr_rc rc = PDR_OK;

    adding->is_over = reading->reader->index_only;
    if (adding->is_over)
        return PDR_OK;
    pdr__rows_hand(adding->rows, values);
    rc = adding->take(&head, reading, adding->rows, adding->err);
    if (rc != PDR_OK)
        return rc;
    if (!is_wanted(reading->query, &head)) /* only if it is whole */
        return pdr__head_check(&reading->seal, &reading->store->base, &head,
                               adding->err);
    if (pdr_page_has_room(reading->page))
        return pdr_page_add_session(reading->page, &head, adding->err);
    adding->is_over = true;
    return PDR_OK;
}

static pdr_rc add_sessions(struct pdr__reading *reading, struct pdr__rows *rows,
                           pdr_err *err, take_fn take)
{
    struct adding adding = {reading, rows, err, take, false};
    struct pdr__taker taker = {add_row, &adding, PDR_OK};
    struct pdr__reader *reader = reading->reader;
    bool decides = index_decides(reading), more = true;
    pdr_rc rc = PDR_OK;

    reader->taker = &taker;
    while (rc == PDR_OK && more && !adding.is_over) {
        reader->index_only = decides && !pdr_page_has_room(reading->page);
        rc = pdr__rows_next(&more, rows, err);
        if (rc == PDR_OK)
            rc = taker.rc;
    }
    reader->taker = NULL;
    if (rc == PDR_OK && adding.is_over)
        pdr_page_more(reading->page);
    return rc;
}

/* --- where a page begins ------------------------------------------------- */

static void bind_changed(struct pdr__rows *rows,
                         const struct pdr__reading *reading)
{
    const pdr_filter *filter = &reading->query->filter;
    const pdr_list_place *place = pdr_page_place(reading->page);
    bool any_time = filter->changed_from_ms == 0 && filter->changed_to_ms == 0;

    pdr__rows_bind(rows, any_time ? INT64_MIN : filter->changed_from_ms);
    if (!place->begins) {
        pdr__rows_bind(rows, place->ms);
        pdr__rows_bind_text(rows, place->ref.id);
    } else if (any_time) {
        pdr__rows_bind(rows, INT64_MAX);
        pdr__rows_bind_last(rows);
    } else {
        pdr__rows_bind(rows, filter->changed_to_ms);
        pdr__rows_bind_text(rows, PDR_LIT(""));
    }
}

/* The number of the session where the page before ended. It stands in the
 * cursor: that session may be gone by now, or have been made anew under a
 * greater one, behind others that were not told yet. */
static int64_t number_before(const pdr_list_place *place)
{
    return place->begins ? INT64_MIN : (int64_t)place->epoch;
}

/* --- lists --------------------------------------------------------------- */

static pdr_rc list_sessions(struct pdr__reading *reading, pdr_err *err)
{
    const pdr_filter *filter = &reading->query->filter;
    struct pdr__rows rows;
    pdr_rc rc = PDR_OK;

    reading->slot = READER_BY_CHANGE;
    if (filter->agent.ptr != NULL)
        reading->slot = READER_BY_AGENT;
    else if (filter->by_state)
        reading->slot = READER_BY_STATE;
    rc = open_rows(&rows, reading, reading->slot, err);
    if (rc == PDR_OK) {
        pdr__rows_bind_text(&rows, reading->query->ref.tenant);
        bind_changed(&rows, reading);
        if (reading->slot == READER_BY_AGENT)
            pdr__rows_bind_text(&rows, filter->agent);
        else if (reading->slot == READER_BY_STATE)
            pdr__rows_bind_text(
                &rows, pdr_str_c(pdr__session_state_word(filter->state)));
        rc = add_sessions(reading, &rows, err, take_changed);
    }
    pdr__rows_close(&rows);
    return rc;
}

/* The arguments of FROM_ID(). `end` has PDR_MAX_ID_BYTES and is kept until the
 * statement is closed: a text that comes behind all that begin with the prefix,
 * and before all others that do. No id has the byte 0xff, so the last one can
 * be raised. */
static void bind_ids(struct pdr__rows *rows, char *end,
                     const struct pdr__reading *reading)
{
    const pdr_list_place *place = pdr_page_place(reading->page);
    pdr_str prefix = reading->query->filter.id_prefix;
    pdr_str before = place->begins ? PDR_LIT("") : place->ref.id;

    if (prefix.ptr == NULL || prefix.len == 0) {
        pdr__rows_bind_text(rows, before);
        pdr__rows_bind_last(rows);
    } else {
        memcpy(end, prefix.ptr, prefix.len);
        end[prefix.len - 1]++;
        pdr__rows_bind_text(rows, place->begins ? prefix : before);
        pdr__rows_bind_text(rows, pdr_str_n(end, prefix.len));
    }
    pdr__rows_bind_text(rows, before);
}

static pdr_rc list_by_property(struct pdr__reading *reading, pdr_err *err)
{
    const pdr_query *query = reading->query;
    char end[PDR_MAX_ID_BYTES];
    struct pdr__rows rows;
    pdr_rc rc = PDR_OK;

    reading->slot = READER_BY_PROPERTY;
    rc = open_rows(&rows, reading, reading->slot, err);
    if (rc == PDR_OK) {
        pdr__rows_bind_text(&rows, query->ref.tenant);
        pdr__rows_bind_text(&rows, query->filter.property);
        pdr__rows_bind_text(&rows, query->filter.match);
        bind_ids(&rows, end, reading);
        rc = add_sessions(reading, &rows, err, take_by_property);
    }
    pdr__rows_close(&rows);
    return rc;
}

static pdr_rc list_by_prefix(struct pdr__reading *reading, pdr_err *err)
{
    char end[PDR_MAX_ID_BYTES];
    struct pdr__rows rows;
    pdr_rc rc = PDR_OK;

    reading->slot = READER_BY_PREFIX;
    rc = open_rows(&rows, reading, reading->slot, err);
    if (rc == PDR_OK) {
        pdr__rows_bind_text(&rows, reading->query->ref.tenant);
        bind_ids(&rows, end, reading);
        rc = add_sessions(reading, &rows, err, take_by_id);
    }
    pdr__rows_close(&rows);
    return rc;
}

static pdr_rc list_all(struct pdr__reading *reading, pdr_err *err)
{
    const pdr_list_place *place = pdr_page_place(reading->page);
    struct pdr__rows rows;
    pdr_rc rc = PDR_OK;

    reading->slot = READER_BY_ID;
    rc = open_rows(&rows, reading, reading->slot, err);
    if (rc == PDR_OK) {
        pdr__rows_bind_text(&rows,
                            place->begins ? PDR_LIT("") : place->ref.tenant);
        pdr__rows_bind_text(&rows, place->begins ? PDR_LIT("") : place->ref.id);
        rc = add_sessions(reading, &rows, err, take_by_id);
    }
    pdr__rows_close(&rows);
    return rc;
}

static pdr_rc list_expired(struct pdr__reading *reading, pdr_err *err)
{
    const pdr_list_place *place = pdr_page_place(reading->page);
    struct pdr__rows rows;
    pdr_rc rc = PDR_OK;

    reading->slot = READER_BY_EXPIRY;
    rc = open_rows(&rows, reading, reading->slot, err);
    if (rc == PDR_OK) {
        pdr__rows_bind(&rows, reading->query->now_ms);
        pdr__rows_bind(&rows, place->begins ? INT64_MIN : place->ms);
        pdr__rows_bind(&rows, number_before(place));
        rc = add_sessions(reading, &rows, err, take_expired);
    }
    pdr__rows_close(&rows);
    return rc;
}

/* --- what is due --------------------------------------------------------- */

static pdr_rc take_due(pdr_work *out, struct pdr__rows *rows, pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (sqlite3_column_type(rows->stmt, 0) == SQLITE_NULL)
        return pdr__wrong_index(names[READER_BY_DUE], err);
    rc = pdr__rows_work(out, rows, err);
    if (rc != PDR_OK)
        return rc;
    if (pdr__rows_int(rows) != (int64_t)PDR_PART_INBOX ||
        pdr__rows_int(rows) != out->due_ms || pdr__rows_count(rows) != out->n)
        return pdr__wrong_index(names[READER_BY_DUE], err);
    out->epoch = pdr__rows_count(rows);
    out->session.tenant = pdr__rows_text(rows);
    out->session.id = pdr__rows_text(rows);
    return pdr__rows_check(rows, "sessions", err); /* there may be none */
}

static pdr_rc add_due(struct pdr__reading *reading, struct pdr__rows *rows,
                      pdr_err *err)
{
    bool more = false;
    pdr_rc rc = pdr__rows_next(&more, rows, err);

    while (rc == PDR_OK && more && pdr_page_has_room(reading->page)) {
        pdr_work row;

        rc = take_due(&row, rows, err);
        if (rc == PDR_OK)
            rc = pdr_page_add_work(reading->page, &row, err);
        if (rc == PDR_OK)
            rc = pdr__rows_next(&more, rows, err);
    }
    if (rc == PDR_OK && more)
        pdr_page_more(reading->page);
    return rc;
}

static pdr_rc list_due(struct pdr__reading *reading, pdr_err *err)
{
    const pdr_list_place *place = pdr_page_place(reading->page);
    struct pdr__rows rows;
    pdr_rc rc = open_rows(&rows, reading, READER_BY_DUE, err);

    if (rc == PDR_OK) {
        pdr__rows_bind(&rows, reading->query->now_ms);
        pdr__rows_bind(&rows, place->begins ? INT64_MIN : place->ms);
        pdr__rows_bind(&rows, number_before(place));
        pdr__rows_bind(&rows, (int64_t)place->n);
        rc = add_due(reading, &rows, err);
    }
    pdr__rows_close(&rows);
    return rc;
}

pdr_rc pdr__reading_list(struct pdr__reading *reading, pdr_err *err)
{
    pdr_read_what what = reading->query->what;

    if (what == PDR_READ_EXPIRED)
        return list_expired(reading, err);
    if (what == PDR_READ_DUE)
        return list_due(reading, err);
    if (what == PDR_READ_ALL)
        return list_all(reading, err);
    if (reading->query->filter.property.ptr != NULL)
        return list_by_property(reading, err);
    return reading->query->filter.id_prefix.ptr != NULL
               ? list_by_prefix(reading, err)
               : list_sessions(reading, err);
}
