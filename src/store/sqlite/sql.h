/*
 * sql.h - every statement that changes a store, as X(name, text). No guard: it
 * is included once for each table that is made of it.
 *
 * Arguments of a head have the number of their column (PDR_SQLITE_HEAD_COLUMNS)
 * in all three statements, so that one function binds them.
 */
/* clang-format off */
X(BEGIN, "BEGIN IMMEDIATE")
X(COMMIT, "COMMIT")
X(ROLLBACK, "ROLLBACK")

X(GET_NUMBER, "SELECT number,created,digest FROM store WHERE one=1")
X(SET_NUMBER, "UPDATE store SET number=?1,digest=?2 WHERE one=1")

X(GET_HEAD, "SELECT " PDR_SQLITE_HEAD_COLUMNS " FROM sessions"
  " WHERE tenant=?1 AND id=?2")
X(ADD_HEAD, "INSERT INTO sessions(" PDR_SQLITE_HEAD_COLUMNS ") VALUES"
  "(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,"
  "?21,?22,?23,?24,?25,?26,?27,?28,?29,?30,?31)")
X(SET_HEAD, "UPDATE sessions SET state=?7,revision=?8,commits=?9,epoch=?10,"
  "changed=?12,expiry=?13,first_seq=?14,next_seq=?15,slots=?16,properties=?17,"
  "completions=?18,journal_first=?19,journal_next=?20,stream_first=?21,"
  "stream_next=?22,inbox=?23,inbox_next=?24,has_frame=?25,lease_owner=?26,"
  "fence=?27,lease_until=?28,anchor=?29,chain=?30,digest=?31 WHERE no=?1")
/* What no index has: work, completions and leases. */
X(SET_HEAD_LIGHT, "UPDATE sessions SET commits=?9,completions=?18,"
  "journal_first=?19,journal_next=?20,stream_first=?21,stream_next=?22,"
  "inbox=?23,inbox_next=?24,lease_owner=?26,fence=?27,lease_until=?28,"
  "digest=?31 WHERE no=?1")

X(GET_COMPLETION, "SELECT " PDR_SQLITE_COMPLETION_COLUMNS
  " FROM locator CROSS JOIN completions ON completions.n=locator.row"
  " WHERE locator.owner=?1 AND locator.key=?2 AND correlation_id=?3")
X(ADD_COMPLETION, "INSERT INTO completions(owner,correlation_id,fingerprint,"
  "outcome,at,epoch,first_seq,last_seq,digest)"
  " VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9)")
X(SET_COMPLETION, "UPDATE completions SET fingerprint=?3,outcome=?4,at=?5,"
  "epoch=?6,first_seq=?7,last_seq=?8,digest=?9 WHERE n=?1")
X(ADD_LOCATOR, "INSERT INTO locator(owner,key,row) VALUES(?1,?2,?3)")

X(ADD_ENTRY, "INSERT INTO entries(epoch,seq,kind,shape,created,correlation_id,"
  "separator,digest,body) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9)")
X(SET_FRAME, "INSERT INTO frames(epoch,digest,body) VALUES(?1,?2,?3)"
  " ON CONFLICT(epoch) DO UPDATE SET digest=?2,body=?3")

X(SET_SLOT, "UPDATE work SET body=?3,digest=?4"
  " WHERE owner=?1 AND part=3 AND place=?2")
X(ADD_SLOT, "INSERT INTO work(owner,part,place,body,digest)"
  " VALUES(?1,3,?2,?3,?4)")
X(REMOVE_SLOT, "DELETE FROM work WHERE owner=?1 AND part=3 AND place=?2")

X(SET_PROPERTY, "UPDATE properties SET value=?3,match=?4,digest=?5"
  " WHERE owner=?1 AND key=?2")
X(ADD_PROPERTY, "INSERT INTO properties(owner,key,value,match,digest,tenant,id)"
  " VALUES(?1,?2,?3,?4,?5,?6,?7)")
X(REMOVE_PROPERTY, "DELETE FROM properties WHERE owner=?1 AND key=?2")

X(ADD_WORK, "INSERT INTO work(owner,part,place,n,due,kind,correlation_id,"
  "digest,body) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9)")
/* Over a row that has just been given up: its cell is used again. */
X(PUT_WORK, "INSERT INTO work(owner,part,place,n,due,kind,correlation_id,"
  "digest,body) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9)"
  " ON CONFLICT(owner,part,place) DO UPDATE SET n=?4,due=?5,kind=?6,"
  "correlation_id=?7,digest=?8,body=?9")
X(FIRST_WORK, "SELECT place,n FROM work WHERE owner=?1 AND part=?2"
  " ORDER BY place LIMIT 1")
X(CUT_WORK, "DELETE FROM work WHERE owner=?1 AND part=?2"
  " AND place>=?3 AND place<?4")

X(REMOVE_ENTRIES, "DELETE FROM entries WHERE n IN (SELECT row FROM locator"
  " WHERE owner=?1 AND key<4611686018427387904)")
X(REMOVE_COMPLETIONS, "DELETE FROM completions WHERE n IN (SELECT row"
  " FROM locator WHERE owner=?1 AND key>=4611686018427387904)")
X(REMOVE_LOCATOR, "DELETE FROM locator WHERE owner=?1")
X(REMOVE_WORK, "DELETE FROM work WHERE owner=?1")
X(REMOVE_PROPERTIES, "DELETE FROM properties WHERE owner=?1")
X(REMOVE_FRAME, "DELETE FROM frames WHERE epoch=?1")
X(REMOVE_HEAD, "DELETE FROM sessions WHERE no=?1")
/* clang-format on */
