/* What to do about a failure, by its reason and the bytes around it. */
#include "test.h"

#include "cli.h"

static const char *hint(const char *reason, const char *input, int64_t offset)
{
    pdr_err err = PDR_ERR_INIT;

    pdr_err_set(&err, PDR_EINVALID, reason, "-");
    err.offset = offset;
    return cli_hint(&err, pdr_str_c(input), 0);
}

TEST(hint, gives_no_iconv_for_what_is_no_text)
{
    ASSERT(strstr(hint("bad_utf8", "[\"\xE4\"]", 2), "iconv") != NULL);
    ASSERT_STR("strings are UTF-8; have the program that wrote it encode them",
               hint("bad_utf8", "\x91\xA1\xE4", 2));
}

TEST(hint, lists_formats_where_none_is_known)
{
    ASSERT(strncmp(hint("unknown_format", "hello", -1),
                   "choose one with --from: json, jsonl", 35) == 0);
    ASSERT(strncmp(hint("ambiguous_format", "[", -1),
                   "choose one with --from: json, jsonl", 35) == 0);
    ASSERT_STR("if it is text that is not UTF-8, 'iconv -f UTF-16 -t UTF-8 "
               "FILE' does it",
               hint("unknown_format", "\xFF\xFE{", -1));
}

TEST(hint, knows_each_reason_to_refuse_exchange)
{
    static const char *const reasons[] = {"inexact_number", "number_range",
                                          "duplicate_name", "lone_surrogate"};

    for (size_t i = 0; i < CLI_COUNT(reasons); i++)
        ASSERT_STR("without --exchange it is kept as it is",
                   hint(reasons[i], "", -1));
}

TEST(hint, is_empty_where_nothing_helps)
{
    ASSERT_STR("", hint("xml_text", "", 0));
    ASSERT_STR("", hint("no_such_reason", "", 0));
}
