/* Codes, exit statuses, details, line and column. */
#include "test.h"

#include "base.h"

TEST(rc, has_the_numbers_that_were_promised)
{
    static const pdr_rc order[] = {
        PDR_ENOMEM,       PDR_EINVALID,   PDR_ELIMIT,   PDR_ENOTFOUND,
        PDR_EEXISTS,      PDR_ECONFLICT,  PDR_EFENCED,  PDR_EBUSY,
        PDR_ETIMEOUT,     PDR_ECANCELLED, PDR_ECORRUPT, PDR_EVERSION,
        PDR_EIO,          PDR_EUNKNOWN,   PDR_EDENIED,  PDR_EMODEL,
        PDR_EUNSUPPORTED, PDR_EMISUSE};

    for (size_t i = 0; i < PDR_COUNT(order); i++)
        ASSERT_INT(-(int)i - 1, order[i]);
    ASSERT_INT(0, PDR_OK);
}

TEST(rc, has_the_exit_status_of_each_kind_of_failure)
{
    static const struct {
        pdr_rc rc;
        int status;
    } rows[] = {{PDR_OK, 0},        {PDR_EINVALID, 6},     {PDR_ELIMIT, 6},
                {PDR_EVERSION, 6},  {PDR_ENOTFOUND, 3},    {PDR_EEXISTS, 5},
                {PDR_ECONFLICT, 5}, {PDR_EFENCED, 5},      {PDR_EBUSY, 5},
                {PDR_ETIMEOUT, 8},  {PDR_ECANCELLED, 130}, {PDR_ECORRUPT, 9},
                {PDR_EIO, 9},       {PDR_EUNKNOWN, 9},     {PDR_EDENIED, 4},
                {PDR_EMODEL, 7},    {PDR_EUNSUPPORTED, 2}, {PDR_ENOMEM, 70},
                {PDR_EMISUSE, 70}};

    for (size_t i = 0; i < PDR_COUNT(rows); i++)
        ASSERT_INT(rows[i].status, pdr_rc_exit_status(rows[i].rc));
    ASSERT_INT(1, pdr_rc_exit_status((pdr_rc)-99));
}

TEST(reason, has_a_code)
{
    ASSERT_INT(PDR_EMODEL, pdr_reason_code(pdr_str_c("model_failed")));
    ASSERT_INT(PDR_ETIMEOUT, pdr_reason_code(pdr_str_c("run_timeout")));
    ASSERT_INT(PDR_OK, pdr_reason_code(pdr_str_c("model_faile")));
    ASSERT_INT(PDR_OK, pdr_reason_code(pdr_str_c("")));
    ASSERT_INT(PDR_OK, pdr_reason_code(pdr_str_n(NULL, 0)));
}

TEST(rc, has_a_name_and_a_text)
{
    ASSERT_STR("OK", pdr_rc_name(PDR_OK));
    ASSERT_STR("success", pdr_rc_text(PDR_OK));
    for (int rc = PDR_ENOMEM; rc >= PDR_EMISUSE; rc--) {
        ASSERT(strlen(pdr_rc_name((pdr_rc)rc)) > 1);
        ASSERT(strlen(pdr_rc_text((pdr_rc)rc)) > 1);
    }
    ASSERT_STR("?", pdr_rc_name((pdr_rc)-99));
    ASSERT_STR("no code of this library", pdr_rc_text((pdr_rc)-99));
}

TEST(reason, belongs_to_one_code_and_has_its_own_slug)
{
    for (int a = 0; a < PDR_REASON_COUNT; a++) {
        ASSERT(pdr__reason_rc((enum pdr__reason)a) < 0);
        for (int b = 0; b < a; b++)
            ASSERT(strcmp(pdr__reason_slug((enum pdr__reason)a),
                          pdr__reason_slug((enum pdr__reason)b)) != 0);
    }
}

TEST(err, carries_code_reason_place_and_message)
{
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID,
              PDR_FAIL_AT(&err, 7, BAD_UTF8, "byte %d is wrong", 7));
    ASSERT_RC(PDR_EINVALID, err.code);
    ASSERT_INT(7, err.offset);
    ASSERT_STR("bad_utf8", err.reason);
    ASSERT_STR("byte 7 is wrong", err.message);
    ASSERT_STR("", err.path);
    ASSERT(strstr(err.where, "err.c:") != NULL);
    ASSERT_RC(PDR_ENOMEM, pdr__nomem(&err));
    ASSERT_INT(-1, err.offset);
}

TEST(err, may_be_null_everywhere)
{
    ASSERT_RC(PDR_EINVALID, PDR_FAIL_AT(NULL, 1, BAD_UTF8, "x"));
    ASSERT_RC(PDR_EBUSY, pdr_err_set(NULL, PDR_EBUSY, "busy", "x"));
    ASSERT_RC(PDR_EBUSY, pdr__wrap(NULL, PDR_EBUSY, "x"));
    pdr__err_path(NULL, pdr_str_c("/a"));
}

TEST(err_set, fills_a_detail_from_outside)
{
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EBUSY, pdr_err_set(&err, PDR_EBUSY, "line_taken",
                                     "line %d is taken", 2));
    ASSERT_STR("line_taken", err.reason);
    ASSERT_STR("line 2 is taken", err.message);
}

TEST(err, is_compared_with_a_reason)
{
    pdr_err ours = PDR_ERR_INIT, foreign = PDR_ERR_INIT;

    ASSERT_RC(PDR_ELIMIT, PDR_FAIL(&ours, TOO_DEEP, "deep"));
    ASSERT_RC(PDR_ELIMIT,
              pdr_err_set(&foreign, PDR_ELIMIT, "too_deep", "deep"));
    ASSERT(pdr__err_is(&ours, PDR_R_TOO_DEEP));
    ASSERT(pdr__err_is(&foreign, PDR_R_TOO_DEEP));
    ASSERT(!pdr__err_is(&ours, PDR_R_TOO_LARGE));
}

TEST(err_wrap, puts_context_in_front)
{
    pdr_err err = PDR_ERR_INIT;

    pdr_rc rc = PDR_FAIL(&err, NO_MEMBER, "no member 'b'");
    ASSERT_RC(PDR_ENOTFOUND, pdr__wrap(&err, rc, "session '%s'", "trip"));
    ASSERT_STR("session 'trip': no member 'b'", err.message);
    ASSERT_STR("no_member", err.reason);
}

TEST(err_message, is_never_cut_inside_a_character)
{
    pdr_err err = PDR_ERR_INIT;
    char text[400];

    for (size_t lead = 0; lead < 4; lead++) {
        memset(text, 'x', lead);
        for (size_t i = lead; i + 3 < sizeof(text); i += 3)
            memcpy(text + i, "\xE6\x9D\xB1", 4);
        (void)PDR_FAIL(&err, BAD_FORMAT, "%s", text);
        size_t len = strlen(err.message);
        ASSERT(len < PDR_ERR_MESSAGE && len + 3 >= PDR_ERR_MESSAGE);
        ASSERT_SIZE(0, (len - lead) % 3);
        (void)pdr__wrap(&err, PDR_EINVALID, "%s", text);
        ASSERT_SIZE(0, (strlen(err.message) - lead) % 3);
    }
}

TEST(err_path, that_is_too_long_loses_its_front_and_says_so)
{
    pdr_err err = PDR_ERR_INIT;
    char path[300];

    memset(path, 'a', sizeof(path));
    path[0] = '/';
    pdr__err_path(&err, pdr_str_n(path, PDR_ERR_PATH - 1));
    ASSERT(err.path[0] == '/' && strlen(err.path) == PDR_ERR_PATH - 1);
    memcpy(path + 296, "/end", 4);
    pdr__err_path(&err, pdr_str_n(path, sizeof(path)));
    ASSERT(strncmp(err.path, "...a", 4) == 0);
    ASSERT_SIZE(PDR_ERR_PATH - 1, strlen(err.path));
    ASSERT_STR("/end", err.path + strlen(err.path) - 4);
    for (size_t i = 0; i + 3 <= sizeof(path); i += 3)
        memcpy(path + i, "\xE6\x9D\xB1", 3);
    pdr__err_path(&err, pdr_str_n(path, sizeof(path)));
    ASSERT_STR("\xE6\x9D\xB1", err.path + strlen(err.path) - 3);
    ASSERT(((unsigned char)err.path[3] & 0xC0) != 0x80);
}

TEST(err_path, is_never_cut_inside_an_escape)
{
    static const char *const escapes[] = {"\\\"", "\\\\", "\\n", "\\u001f"};
    pdr_err err = PDR_ERR_INIT;
    char path[300];

    for (size_t i = 0; i < PDR_COUNT(escapes); i++) {
        size_t len = strlen(escapes[i]);

        for (size_t at = 0; at + len <= sizeof(path); at += len)
            memcpy(path + at, escapes[i], len);
        for (size_t tail = 0; tail < len; tail++) {
            memset(path + 240, 'a', tail);
            pdr__err_path(&err, pdr_str_n(path, 240 + tail));
            ASSERT(strncmp(err.path, "...", 3) == 0);
            ASSERT(strncmp(err.path + 3, escapes[i], len) == 0);
            ASSERT_SIZE(tail, (strlen(err.path) - 3) % len);
            ASSERT(strlen(err.path) + len >= PDR_ERR_PATH);
        }
    }
    /* Half an escape at the end is no reason to read on. */
    memset(path, 'a', sizeof(path));
    path[199] = '\\';
    pdr__err_path(&err, pdr_str_n(path, 200));
    ASSERT_SIZE(PDR_ERR_PATH - 1, strlen(err.path));
}

TEST(shown, cuts_at_a_character_and_hides_what_cannot_be_printed)
{
    char out[PDR_SHOWN], text[100];

    ASSERT_STR("", pdr__shown(out, pdr_str_n(NULL, 0)));
    ASSERT_STR("a?b?c?", pdr__shown(out, pdr_str_c("a\nb\x1B"
                                                   "c\xFF")));
    memset(text, 'a', sizeof(text));
    memcpy(text + 59, "\xC3\xA9", 2);
    ASSERT_STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...",
               pdr__shown(out, pdr_str_n(text, sizeof(text))));
    ASSERT_SIZE(60, strlen(pdr__shown(out, pdr_str_n(text + 62, 30))) + 30);
}

TEST(err_locate, counts_lines_and_code_points_from_one)
{
    static const struct {
        const char *text;
        int64_t offset;
        size_t line, column;
    } rows[] = {{"", 0, 1, 1},
                {"", 5, 1, 1},
                {"abc", -1, 1, 1},
                {"abc", 2, 1, 3},
                {"a\nb", 2, 2, 1},
                {"a\r\nb", 3, 2, 1},
                {"a\rb", 2, 2, 1},
                {"a\r\rb\n", 3, 3, 1},
                {"caf\xC3\xA9 x", 6, 1, 6},
                {"\x80\x80x", 2, 1, 3},
                {"\xE6\x9D\xB1x", 1, 1, 1},
                {"\xE6\x9D\xB1x", 3, 1, 2},
                {"\n\n\n", 3, 4, 1}};

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        size_t line = 0, column = 0;
        pdr_err_locate(&line, &column, pdr_str_c(rows[i].text), rows[i].offset);
        ASSERT_SIZE(rows[i].line, line);
        ASSERT_SIZE(rows[i].column, column);
    }
    pdr_err_locate(NULL, NULL, pdr_str_c("a"), 0);
}

TEST(version, is_the_one_of_the_header)
{
    ASSERT_STR(PDR_VERSION, pdr_version());
}
