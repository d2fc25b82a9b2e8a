/*
 * sql.h - every statement that changes a store, as X(name, text). No guard: it
 * is included once for each table that is made of it.
 *
 * Arguments of a head have the number of their column (PDR_SQLITE_HEAD_COLUMNS)
 * in all statements, so that one function binds them. A column of an index that
 * stands in SET costs a page of that index, also when its value stays.
 */
/* clang-format off */
X(BEGIN, "BEGIN IMMEDIATE")
X(COMMIT, "COMMIT")
X(ROLLBACK, "ROLLBACK")

X(GET_STORE, "SELECT number,created,generation,id,digest FROM store"
  " WHERE one=1")
X(SET_STORE, "UPDATE store SET number=?1,generation=?2,digest=?3 WHERE one=1")

X(GET_HEAD, "SELECT " PDR_SQLITE_HEAD_COLUMNS " FROM sessions"
  " WHERE tenant=?1 AND id=?2")
X(ADD_HEAD, "INSERT INTO sessions(" PDR_SQLITE_HEAD_COLUMNS ") VALUES"
  "(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,"
  "?21,?22,?23,?24,?25,?26,?27,?28,?29,?30)")
X(SET_HEAD, "UPDATE sessions SET schema_version=?6,state=?7,revision=?8,"
  "commits=?9,changed=?11,first_seq=?13,next_seq=?14,slots=?15,properties=?16,"
  "completions=?17,journal_first=?18,journal_next=?19,stream_first=?20,"
  "stream_next=?21,inbox=?22,inbox_next=?23,has_frame=?24,lease_owner=?25,"
  "fence=?26,lease_until=?27,anchor=?28,chain=?29,digest=?30 WHERE no=?1")
/* With the expiry, which has an index of its own. */
X(SET_HEAD_EXPIRY, "UPDATE sessions SET schema_version=?6,state=?7,"
  "revision=?8,commits=?9,changed=?11,expiry=?12,first_seq=?13,next_seq=?14,"
  "slots=?15,properties=?16,completions=?17,journal_first=?18,journal_next=?19,"
  "stream_first=?20,stream_next=?21,inbox=?22,inbox_next=?23,has_frame=?24,"
  "lease_owner=?25,fence=?26,lease_until=?27,anchor=?28,chain=?29,digest=?30"
  " WHERE no=?1")
/* Without what any index has: work, completions and leases. */
X(SET_HEAD_LIGHT, "UPDATE sessions SET commits=?9,completions=?17,"
  "journal_first=?18,journal_next=?19,stream_first=?20,stream_next=?21,"
  "inbox=?22,inbox_next=?23,lease_owner=?25,fence=?26,lease_until=?27,"
  "digest=?30 WHERE no=?1")

/* Heads that no reader sees, by their number. */
X(GET_UNSEEN, "SELECT " PDR_SQLITE_HEAD_COLUMNS " FROM unseen WHERE no=?1")
X(PUT_UNSEEN, "REPLACE INTO unseen(" PDR_SQLITE_HEAD_COLUMNS ") VALUES"
  "(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,"
  "?21,?22,?23,?24,?25,?26,?27,?28,?29,?30)")
X(REMOVE_UNSEEN, "DELETE FROM unseen WHERE no=?1")
X(GET_OVER, "SELECT " PDR_SQLITE_HEAD_COLUMNS " FROM unseen"
  " WHERE lease_until<=?1 ORDER BY no LIMIT 1")
X(MARK_UNSEEN, "UPDATE unseen SET lease_until=?2,digest=?3 WHERE no=?1")
X(COUNT_UNSEEN, "SELECT count(*) FILTER (WHERE lease_until>?1),"
  "count(*) FILTER (WHERE lease_until<=?1) FROM unseen")

X(GET_DIGEST, "SELECT digest FROM log WHERE session=?1 AND key=?2")
X(CUT_LOG, "DELETE FROM log WHERE session=?1 AND key>=?2 AND key<=?3")
X(DROP_LOG, "DELETE FROM log WHERE n=?1")
X(GET_COMPLETION, "SELECT " PDR_SQLITE_COMPLETION_COLUMNS
  " FROM log WHERE session=?1 AND key=?2")
X(SET_COMPLETION, "UPDATE log SET created=?3,first_seq=?4,last_seq=?5,"
  "fingerprint=?6,digest=?7,body=?8 WHERE n=?1")
X(ADD_LOG, "INSERT INTO log(session,key,kind,shape,created,correlation_id,"
  "first_seq,last_seq,fingerprint,digest,separator,body)"
  " VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12)")

X(SET_PART, "UPDATE parts SET digest=?4,body=?5"
  " WHERE session=?1 AND part=?2 AND key=?3")
X(ADD_PART, "INSERT INTO parts(session,part,key,digest,body)"
  " VALUES(?1,?2,?3,?4,?5)")
X(REMOVE_PART, "DELETE FROM parts WHERE session=?1 AND part=?2 AND key=?3")

X(ADD_WORK, "INSERT INTO parts(session,part,key,due,kind,correlation_id,"
  "digest,body) VALUES(?1,?2,?3,?4,?5,?6,?7,?8)")
/* A row that goes makes room for one that comes: ?9 becomes ?3. */
X(MOVE_WORK, "UPDATE parts SET key=?3,kind=?5,correlation_id=?6,digest=?7,"
  "body=?8 WHERE session=?1 AND part=?2 AND key=?9")
X(MOVE_INBOX, "UPDATE parts SET key=?3,due=?4,kind=?5,correlation_id=?6,"
  "digest=?7,body=?8 WHERE session=?1 AND part=?2 AND key=?9")
X(MOVE_WAITING, "UPDATE parts SET session=?1 WHERE session=?2 AND part=2")
X(CUT_WORK, "DELETE FROM parts WHERE session=?1 AND part=?2"
  " AND key>=?3 AND key<=?4")

X(SET_PROPERTY, "UPDATE properties SET value=?3,match=?4,digest=?5"
  " WHERE session=?1 AND key=?2")
X(ADD_PROPERTY, "INSERT INTO properties(session,key,value,match,digest,tenant,"
  "id) VALUES(?1,?2,?3,?4,?5,?6,?7)")
X(REMOVE_PROPERTY, "DELETE FROM properties WHERE session=?1 AND key=?2")

/* Places in `log`, and moving a row to another one (sparse.c, vacuum.c). */
X(PLACES, "SELECT n,session,key,kind,shape,created,correlation_id,"
  "first_seq,last_seq,fingerprint,digest,separator FROM log"
  " WHERE n>=?1 AND n<?2")
X(LAST_PLACE, "SELECT ifnull(max(n),0) FROM log")
X(MOVE_ROW, "UPDATE log SET n=?2 WHERE n=?1")
X(PAGES, "PRAGMA page_count")
X(FREE_PAGES, "PRAGMA freelist_count")
X(GIVE_PAGES, "PRAGMA incremental_vacuum")

X(REMOVE_HEAD, "DELETE FROM sessions WHERE no=?1")

/* Some rows of one session. The key stands first, and so decides how SQLite
 * compares; with the number of the session in front it would not search for a
 * key without a type, and walk over all rows of the part for each that goes. */
X(SWEEP_LOG, "DELETE FROM log WHERE n IN"
  " (SELECT n FROM log WHERE session=?1 LIMIT ?2)")
X(SWEEP_PARTS, "DELETE FROM parts WHERE (key,part,session) IN"
  " (SELECT key,part,session FROM parts WHERE session=?1 LIMIT ?2)")
X(SWEEP_PROPERTIES, "DELETE FROM properties WHERE (key,session) IN"
  " (SELECT key,session FROM properties WHERE session=?1 LIMIT ?2)")
/* clang-format on */
