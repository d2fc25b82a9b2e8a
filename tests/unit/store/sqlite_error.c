/* What SQLite says, in our words. */
#include "test.h"

#include "sqlite/sqlite.h"

TEST(sqlite_error, has_a_reason_for_every_code)
{
    static const struct {
        int code;
        pdr_rc rc;
        const char *reason;
    } cases[] = {
        {SQLITE_NOMEM, PDR_ENOMEM, "no_memory"},
        {SQLITE_IOERR_NOMEM, PDR_EIO, "file_failed"},
        {SQLITE_FULL, PDR_EIO, "disk_full"},
        {SQLITE_CORRUPT, PDR_ECORRUPT, "store_damaged"},
        {SQLITE_CORRUPT_INDEX, PDR_ECORRUPT, "store_damaged"},
        {SQLITE_CONSTRAINT_UNIQUE, PDR_ECORRUPT, "store_damaged"},
        {SQLITE_NOTADB, PDR_EINVALID, "not_a_store"},
        {SQLITE_BUSY, PDR_EBUSY, "store_locked"},
        {SQLITE_BUSY_RECOVERY, PDR_EBUSY, "store_locked"},
        {SQLITE_LOCKED, PDR_EBUSY, "store_locked"},
        {SQLITE_READONLY, PDR_EDENIED, "read_only"},
        {SQLITE_READONLY_DIRECTORY, PDR_EDENIED, "read_only"},
        {SQLITE_PERM, PDR_EDENIED, "read_only"},
        {SQLITE_TOOBIG, PDR_ELIMIT, "row_too_large"},
        {SQLITE_CANTOPEN, PDR_EIO, "file_failed"},
        {SQLITE_IOERR_FSYNC, PDR_EIO, "file_failed"},
        {SQLITE_MISUSE, PDR_EIO, "file_failed"},
    };

    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        pdr_err err = PDR_ERR_INIT;

        ASSERT_RC(cases[i].rc,
                  pdr__sqlite_fail(&err, NULL, cases[i].code, "trying"));
        ASSERT_STR(cases[i].reason, err.reason);
        ASSERT_INT(cases[i].code, err.sys);
        ASSERT(strstr(err.message, "database is locked") == NULL);
    }
}

TEST(sqlite_error, says_what_to_do)
{
    static const int codes[] = {
        SQLITE_FULL,   SQLITE_CORRUPT,     SQLITE_NOTADB,  SQLITE_BUSY,
        SQLITE_LOCKED, SQLITE_READONLY,    SQLITE_PERM,    SQLITE_TOOBIG,
        SQLITE_MISUSE, SQLITE_IOERR_FSYNC, SQLITE_CANTOPEN};

    for (size_t i = 0; i < PDR_COUNT(codes); i++) {
        pdr_err err = PDR_ERR_INIT;

        ASSERT(pdr__sqlite_fail(&err, NULL, codes[i], "trying") != PDR_OK);
        if (strstr(err.message, "; ") == NULL)
            fail_msg("%s", err.message);
        ASSERT(strstr(err.message, sqlite3_errstr(codes[i])) == NULL);
    }
}

TEST(sqlite_error, needs_no_place_for_its_text)
{
    ASSERT_RC(PDR_EIO, pdr__sqlite_fail(NULL, NULL, SQLITE_FULL, "trying"));
}

TEST(sqlite_error, tells_of_damage_where_nobody_knows_the_file)
{
    pdr_err err = PDR_ERR_INIT;
    sqlite3 *db = NULL;

    ASSERT_RC(PDR_ECORRUPT,
              pdr__sqlite_fail(&err, NULL, SQLITE_IOERR_DATA, "trying"));
    ASSERT_STR("store_damaged", err.reason);
    ASSERT_RC(PDR_ECORRUPT,
              pdr__sqlite_fail(NULL, NULL, SQLITE_IOERR_DATA, "trying"));
    ASSERT_INT(SQLITE_OK, sqlite3_open(":memory:", &db));
    ASSERT_RC(PDR_ECORRUPT,
              pdr__sqlite_fail(&err, db, SQLITE_IOERR_DATA, "trying"));
    ASSERT(strstr(err.message, "page 0 of ''") != NULL);
    ASSERT_RC(PDR_EIO,
              pdr__sqlite_fail(&err, db, SQLITE_IOERR_WRITE, "trying"));
    ASSERT_RC(PDR_EDENIED,
              pdr__sqlite_fail(&err, db, SQLITE_READONLY, "trying"));
    (void)sqlite3_close(db);
}

TEST(sqlite_error, says_what_a_reader_lacks)
{
    const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_MEMORY;
    pdr_err err = PDR_ERR_INIT;
    sqlite3 *db = NULL;

    ASSERT_INT(SQLITE_OK, sqlite3_open_v2("x", &db, flags, NULL));
    ASSERT_INT(1, sqlite3_db_readonly(db, "main"));
    ASSERT_RC(PDR_EIO,
              pdr__sqlite_fail(&err, db, SQLITE_READONLY_CANTINIT, "trying"));
    ASSERT(strstr(err.message, "-wal and -shm") != NULL);
    ASSERT_RC(PDR_EIO, pdr__sqlite_fail(NULL, db, SQLITE_READONLY, "trying"));
    (void)sqlite3_close(db);
}

TEST(sqlite_error, needs_no_place_for_any_text)
{
    static const int codes[] = {SQLITE_NOMEM,    SQLITE_CORRUPT, SQLITE_NOTADB,
                                SQLITE_BUSY,     SQLITE_PERM,    SQLITE_TOOBIG,
                                SQLITE_CANTOPEN, SQLITE_ERROR};

    for (size_t i = 0; i < PDR_COUNT(codes); i++)
        ASSERT(pdr__sqlite_fail(NULL, NULL, codes[i], "trying") != PDR_OK);
}
