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

TEST(sqlite_error, needs_no_place_for_its_text)
{
    ASSERT_RC(PDR_EIO, pdr__sqlite_fail(NULL, NULL, SQLITE_FULL, "trying"));
}
