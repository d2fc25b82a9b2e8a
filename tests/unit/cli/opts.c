/* Arguments by table: every form, every mistake. */
#include "test.h"

#include "cli.h"

static const char *const sizes[] = {"small", "large", NULL};

/* One table with a row of each kind. */
struct all {
    const char *first, *second, *text;
    bool flag, other;
    uint64_t number, bytes, size;
};

#define MAX_ARGS 12

static bool parse(struct all *out, struct cli_usage *bad,
                  const char *const *args)
{
    const struct cli_opt opts[] = {
        CLI_ARG("FIRST", &out->first, ""),
        CLI_MAY("SECOND", &out->second, ""),
        CLI_FLAG('f', "flag", &out->flag, ""),
        CLI_FLAG('g', "other", &out->other, ""),
        CLI_U64('n', "number", "N", &out->number, 1, 9, ""),
        CLI_BYTES('b', "bytes", "SIZE", &out->bytes, 1, 1u << 30, ""),
        CLI_WORD(0, "size", "WHICH", &out->size, sizes, ""),
        CLI_TEXT('t', "text", "TEXT", &out->text, ""),
    };
    static char copies[MAX_ARGS][64];
    char *argv[MAX_ARGS + 1] = {NULL};
    int argc = 0;

    memset(out, 0, sizeof(*out));
    for (; args[argc] != NULL; argc++) {
        snprintf(copies[argc], sizeof(copies[argc]), "%s", args[argc]);
        argv[argc] = copies[argc];
    }
    return cli_opts_parse(bad, opts, CLI_COUNT(opts), argc, argv);
}

#define PARSE(out, bad, ...) \
    parse(out, bad, (const char *const[]){"cmd", __VA_ARGS__, NULL})

TEST(opts_parse, takes_options_in_every_form)
{
    struct all all;
    struct cli_usage bad;

    ASSERT(PARSE(&all, &bad, "a", "--flag", "--number=7", "--bytes", "2K",
                 "--size=large"));
    ASSERT_STR("a", all.first);
    ASSERT(all.second == NULL);
    ASSERT(all.flag && !all.other);
    ASSERT_INT(7, all.number);
    ASSERT_INT(2048, all.bytes);
    ASSERT_INT(1, all.size);
    ASSERT(PARSE(&all, &bad, "-fg", "a", "-n3", "-b", "1m"));
    ASSERT(all.flag && all.other);
    ASSERT_INT(3, all.number);
    ASSERT_INT(1048576, all.bytes);
}

TEST(opts_parse, takes_arguments_between_and_behind_options)
{
    struct all all;
    struct cli_usage bad;

    ASSERT(PARSE(&all, &bad, "a", "-f", "b", "-n", "1"));
    ASSERT_STR("a", all.first);
    ASSERT_STR("b", all.second);
    ASSERT(PARSE(&all, &bad, "-f", "--", "-g", "--number=3"));
    ASSERT_STR("-g", all.first);
    ASSERT_STR("--number=3", all.second);
    ASSERT(!all.other);
    ASSERT(PARSE(&all, &bad, "-"));
    ASSERT_STR("-", all.first);
}

TEST(opts_parse, collects_the_rest_in_order)
{
    struct cli_args rest = {NULL, 0};
    bool flag = false;
    const struct cli_opt opts[] = {CLI_ARGS("FILE", &rest, ""),
                                   CLI_FLAG('f', "flag", &flag, "")};
    char a[] = "a", f[] = "-f", b[] = "b", c[] = "cmd";
    char *argv[] = {c, a, f, b, NULL};
    struct cli_usage bad;

    ASSERT(cli_opts_parse(&bad, opts, CLI_COUNT(opts), 4, argv));
    ASSERT_SIZE(2, rest.count);
    ASSERT_STR("a", rest.items[0]);
    ASSERT_STR("b", rest.items[1]);
    ASSERT(flag);
    ASSERT(!cli_opts_parse(&bad, opts, CLI_COUNT(opts), 1, argv));
    ASSERT_STR("missing_argument", bad.reason);
}

TEST(opts_parse, collects_what_may_be_repeated)
{
    struct cli_args list = {NULL, 0};
    const struct cli_opt opts[] = {CLI_LIST('l', "list", "X", &list, "")};
    char a[] = "--list=a", l[] = "-l", b[] = "b", c[] = "-lc", d[] = "cmd";
    char *argv[] = {d, a, l, b, c, l, NULL};
    struct cli_usage bad;

    ASSERT(cli_opts_parse(&bad, opts, CLI_COUNT(opts), 5, argv));
    ASSERT_SIZE(3, list.count);
    ASSERT_STR("a", list.items[0]);
    ASSERT_STR("b", list.items[1]);
    ASSERT_STR("c", list.items[2]);
    ASSERT(!cli_opts_parse(&bad, opts, CLI_COUNT(opts), 6, argv));
    ASSERT_STR("missing_value", bad.reason);
    free(list.items);
}

TEST(opts_parse, names_each_mistake)
{
    static const struct {
        const char *args[4];
        const char *reason, *what, *why;
    } rows[] = {
        {{"--flga", "a"}, "unknown_option", "--flga", "no such option"},
        {{"-x", "a"}, "unknown_option", "-x", "no such option"},
        {{"-fx", "a"}, "unknown_option", "-x", "no such option"},
        {{"--flag=1", "a"}, "extra_value", "--flag", "takes no value"},
        {{"a", "-n"}, "missing_value", "-n", "a value is missing"},
        {{"a", "--number"}, "missing_value", "--number", "a value is missing"},
        {{"a", "-n0"}, "bad_value", "-n", "'0' is no number from 1 to 9"},
        {{"a", "-n10"}, "bad_value", "-n", "'10' is no number from 1 to 9"},
        {{"a", "-n", "-1"}, "bad_value", "-n", "'-1' is no number from 1 to 9"},
        {{"a", "--number="},
         "bad_value",
         "--number",
         "'' is no number from 1 to 9"},
        {{"a", "-n1K"}, "bad_value", "-n", "'1K' is no number from 1 to 9"},
        {{"a", "-n99999999999999999999"},
         "bad_value",
         "-n",
         "'99999999999999999999' is no number from 1 to 9"},
        {{"a", "-b", "17179869184G"},
         "bad_value",
         "-b",
         "'17179869184G' is no number from 1 to 1073741824"},
        {{"a", "-b", "1KB"},
         "bad_value",
         "-b",
         "'1KB' is no number from 1 to 1073741824"},
        {{"a", "--size=huge"}, "bad_value", "--size", "'huge' is not offered"},
        {{"-f"}, "missing_argument", "FIRST", "an argument is missing"},
        {{"a", "b", "c"}, "extra_argument", "c", "one argument too many"},
    };

    for (size_t i = 0; i < CLI_COUNT(rows); i++) {
        const char *const *a = rows[i].args;
        struct all all;
        struct cli_usage bad;
        ASSERT(!PARSE(&all, &bad, a[0], a[1], a[2], a[3]));
        ASSERT_STR(rows[i].reason, bad.reason);
        ASSERT_STR(rows[i].what, bad.what);
        ASSERT_STR(rows[i].why, bad.why);
    }
}

TEST(opts_parse, goes_on_after_a_mistake_and_reports_the_first)
{
    struct all all;
    struct cli_usage bad;

    ASSERT(!PARSE(&all, &bad, "--what", "--size", "large", "-n", "0"));
    ASSERT_STR("--what", bad.what);
    ASSERT_INT(1, all.size);
}

TEST(opts_parse, gives_advice)
{
    struct all all;
    struct cli_usage bad;

    ASSERT(!PARSE(&all, &bad, "a", "--flga"));
    ASSERT_STR("did you mean '--flag'?", bad.hint);
    ASSERT(!PARSE(&all, &bad, "a", "--size=x"));
    ASSERT_STR("choose one of small, large", bad.hint);
    ASSERT(!PARSE(&all, &bad, "a", "--size"));
    ASSERT_STR("write --size WHICH", bad.hint);
}

TEST(nearest, finds_slips_of_the_finger_and_nothing_else)
{
    static const char *const names[] = {"check", "fmt", "diff", "version"};

    ASSERT_STR("check", cli_nearest("chekc", names, 4));
    ASSERT_STR("check", cli_nearest("chek", names, 4));
    ASSERT_STR("check", cli_nearest("checkk", names, 4));
    ASSERT_STR("fmt", cli_nearest("fnt", names, 4));
    ASSERT_STR("version", cli_nearest("versoin", names, 4));
    ASSERT(cli_nearest("session", names, 3) == NULL);
    ASSERT(cli_nearest("xyz", names, 4) == NULL);
    ASSERT(cli_nearest("a-word-that-is-far-too-long-to-be-a-slip", names, 4) ==
           NULL);
}

TEST(opts_parse, takes_any_text_as_a_value)
{
    struct all all;
    struct cli_usage bad;

    ASSERT(PARSE(&all, &bad, "a", "--text", "--flag"));
    ASSERT_STR("--flag", all.text);
    ASSERT(!all.flag);
    ASSERT(PARSE(&all, &bad, "a", "--text="));
    ASSERT_STR("", all.text);
    ASSERT(PARSE(&all, &bad, "a", "-tx"));
    ASSERT_STR("x", all.text);
    ASSERT(!PARSE(&all, &bad, "a", "-t"));
    ASSERT_STR("missing_value", bad.reason);
}

TEST(command_word, is_the_last_word_of_the_name)
{
    const struct cli_command plain = {.name = "diff"};
    const struct cli_command verb = {.name = "doc diff"};

    ASSERT_STR("diff", cli_command_word(&plain));
    ASSERT_STR("diff", cli_command_word(&verb));
}
