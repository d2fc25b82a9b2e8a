/* From keys to the names of files, and back. */
#include "test.h"

#include "folder.h"

#define E8   "éééééééé"
#define E128 E8 E8 E8 E8 E8 E8 E8 E8 E8 E8 E8 E8 E8 E8 E8 E8

static void check(const char *expected, pdr_str key, bool old)
{
    pdr_buf stem = PDR_BUF_INIT(1024);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, pdr_folder_stem(&stem, key, old, &err));
    ASSERT_TEXT(expected, pdr_buf_str(&stem));
    pdr_buf_dispose(&stem);
}

TEST(folder_stem, keeps_lower_case_names_as_they_are)
{
    check("abc", pdr_str_c("abc"), false);
    check("session.id", pdr_str_c("session.id"), false);
    check("a-b_9.x", pdr_str_c("a-b_9.x"), false);
    check("command", pdr_str_c("command"), false);
    check("com0", pdr_str_c("com0"), false);
    check("console.txt", pdr_str_c("console.txt"), false);
}

TEST(folder_stem, encodes_what_some_file_system_takes_differently)
{
    check("~session-ifrgg", pdr_str_c("Abc"), false);
    check("~session-fzugszdemvxa", pdr_str_c(".hidden"), false);
    check("~session-mexa", pdr_str_c("a."), false);
    check("~session-mnxw2mi", pdr_str_c("com1"), false);
    check("~session-nryhiojopa", pdr_str_c("lpt9.x"), false);
    check("~session-nz2wy", pdr_str_c("nul"), false);
    check("~session-mf2xqlty", pdr_str_c("aux.x"), false);
    check("~session-obzg4", pdr_str_c("prn"), false);
    check("~session-aa", pdr_str_n("\0", 1), false);
}

TEST(folder_stem, spells_old_names_in_base64)
{
    check("Abc", pdr_str_c("Abc"), true);
    check("~session-Q09O", pdr_str_c("CON"), true);
    check("~session-LmhpZGRlbg", pdr_str_c(".hidden"), true);
    check("~session-dHdvIHdvcmRz", pdr_str_c("two words"), true);
}

TEST(folder_stem, hashes_what_would_be_too_long)
{
    char key[140];

    check("~session-sha256-"
          "e42dd264fd5cf1bc947505b995dceb9ae0a2d2a4c99b4ce5ea02f36526819280",
          pdr_str_c(E128), true);
    memset(key, 'X', sizeof(key)); /* 106 bytes fit, 107 do not */
    pdr_buf stem = PDR_BUF_INIT(1024);
    ASSERT_RC(PDR_OK, pdr_folder_stem(&stem, pdr_str_n(key, 106), false, NULL));
    ASSERT_SIZE(9 + 170, stem.len);
    pdr_buf_clear(&stem);
    ASSERT_RC(PDR_OK, pdr_folder_stem(&stem, pdr_str_n(key, 107), false, NULL));
    ASSERT_SIZE(16 + 64, stem.len);
    pdr_buf_dispose(&stem);
}

TEST(folder_stem, refuses_keys_that_are_empty_too_long_or_no_text)
{
    pdr_buf stem = PDR_BUF_INIT(1024);
    pdr_err err = PDR_ERR_INIT;
    char key[129];

    memset(key, 'x', sizeof(key));
    ASSERT_RC(PDR_OK, pdr_folder_stem(&stem, pdr_str_n(key, 128), false, &err));
    ASSERT_RC(PDR_EINVALID,
              pdr_folder_stem(&stem, pdr_str_n(key, 129), false, &err));
    ASSERT_STR("folder_key", err.reason);
    ASSERT_RC(PDR_EINVALID,
              pdr_folder_stem(&stem, pdr_str_n(NULL, 0), false, &err));
    ASSERT_STR("folder_key", err.reason);
    ASSERT_RC(PDR_EINVALID,
              pdr_folder_stem(&stem, pdr_str_c("a\xFF"), false, &err));
    ASSERT_STR("folder_key", err.reason);
    ASSERT_RC(PDR_EINVALID, pdr__stem(&stem, pdr_str_c("a\xFF"), false, &err));
    ASSERT_RC(PDR_EINVALID, pdr__stem(&stem, pdr_str_n(NULL, 0), true, &err));
    ASSERT_SIZE(128, stem.len);
    pdr_buf_dispose(&stem);
}

TEST(folder_stem, tells_when_the_buffer_is_full)
{
    pdr_buf stem = PDR_BUF_INIT(12);
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_ELIMIT,
              pdr_folder_stem(&stem, pdr_str_c("two words"), false, &err));
    ASSERT_STR("buffer_full", err.reason);
    ASSERT_SIZE(0, stem.len);
    ASSERT_RC(PDR_ELIMIT,
              pdr_folder_stem(&stem, pdr_str_c("two words"), true, &err));
    pdr_buf_dispose(&stem);
}

static void check_key(const char *expected, const char *stem, bool old)
{
    pdr_buf key = PDR_BUF_INIT(1024);
    bool known = false;

    ASSERT_RC(PDR_OK, pdr__stem_key(&key, &known, pdr_str_c(stem), old, NULL));
    ASSERT(known == (expected != NULL));
    if (known)
        ASSERT_TEXT(expected, pdr_buf_str(&key));
    pdr_buf_dispose(&key);
}

TEST(stem_key, gives_the_key_back)
{
    check_key("abc", "abc", false);
    check_key("Abc", "~session-ifrgg", false);
    check_key("Abc", "Abc", true);
    check_key("two words", "~session-dHdvIHdvcmRz", true);
    check_key("café", "~session-mnqwnq5j", false);
}

TEST(stem_key, knows_none_for_what_nobody_writes)
{
    check_key(NULL, "Abc", false);            /* not literal any more */
    check_key(NULL, "two words", true);       /* never literal */
    check_key(NULL, "~session-", false);      /* no key */
    check_key(NULL, "~session-mfrgg", false); /* "abc" needs no encoding */
    check_key(NULL, "~session-ifrgh", false); /* bits that nobody sets */
    check_key(NULL, "~session-IFRGG", false); /* upper case */
    check_key(NULL, "~session-i", false);     /* no whole byte */
    check_key(NULL, "~session-dHdvIHdvcmRz=", true); /* no padding there */
    check_key(NULL, "~session-__8", true);           /* no UTF-8 */
    check_key(NULL, "~session-77777", false);        /* the same */
    check_key(NULL, "~session-!!", true);
    check_key(NULL,
              "~session-sha256-e42dd264fd5cf1bc947505b995dceb9ae0a2d2a4c99b4ce5"
              "ea02f36526819280",
              true);
}

TEST(stem_is_hash, looks_at_every_digit)
{
    char stem[] = "~session-sha256-e42dd264fd5cf1bc947505b995dceb9ae0a2d2a4c99b"
                  "4ce5ea02f36526819280";

    ASSERT(pdr__stem_is_hash(pdr_str_c(stem)));
    stem[20] = 'A';
    ASSERT(!pdr__stem_is_hash(pdr_str_c(stem)));
    ASSERT(!pdr__stem_is_hash(pdr_str_c("~session-sha256-00")));
}

TEST_OOM(folder_stem, cleans_up_after_any_failed_allocation)
{
    pdr_buf stem = PDR_BUF_INIT(1024), key = PDR_BUF_INIT(1024);
    bool known = false;
    pdr_rc rc = pdr_folder_stem(&stem, pdr_str_c("two words"), true, NULL);

    if (rc == PDR_OK)
        rc = pdr__stem_key(&key, &known, pdr_buf_str(&stem), true, NULL);
    if (rc == PDR_OK)
        rc = pdr__stem_key(&key, &known, pdr_str_c("~session-ifrgg"), false,
                           NULL);
    if (rc == PDR_OK)
        rc = pdr_folder_stem(&stem, pdr_str_c(E128), false, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM || rc == PDR_EIO);
    pdr_buf_dispose(&stem);
    pdr_buf_dispose(&key);
}
