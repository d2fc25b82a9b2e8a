/* Which stream is coloured: one row per question, in the order of asking. */
#include "test.h"

#include "cli.h"

static bool wanted(enum cli_when when, struct cli_color_env env, bool terminal)
{
    return cli_color_wanted(when, &env, terminal);
}

TEST(color_wanted, follows_the_terminal_if_nobody_says_anything)
{
    const struct cli_color_env nothing = {.term = "xterm"};

    ASSERT(wanted(CLI_AUTO, nothing, true));
    ASSERT(!wanted(CLI_AUTO, nothing, false));
    ASSERT(wanted(CLI_AUTO, (struct cli_color_env){.term = NULL}, true));
}

TEST(color_wanted, obeys_the_option_before_everything_else)
{
    const struct cli_color_env against = {
        .no_color = "1", .clicolor = "0", .term = "dumb"};
    const struct cli_color_env in_favour = {.force_color = "1",
                                            .clicolor_force = "1"};

    ASSERT(wanted(CLI_ALWAYS, against, false));
    ASSERT(!wanted(CLI_NEVER, in_favour, true));
}

TEST(color_wanted, lets_no_color_win_over_force_color)
{
    ASSERT(!wanted(CLI_AUTO,
                   (struct cli_color_env){.no_color = "1", .force_color = "1"},
                   true));
    ASSERT(!wanted(CLI_AUTO, (struct cli_color_env){.no_color = "0"}, true));
}

TEST(color_wanted, ignores_an_empty_no_color)
{
    ASSERT(wanted(CLI_AUTO, (struct cli_color_env){.no_color = ""}, true));
}

TEST(color_wanted, can_be_forced_by_two_variables)
{
    const char *off[] = {"", "0"};

    ASSERT(wanted(CLI_AUTO, (struct cli_color_env){.force_color = "1"}, false));
    ASSERT(
        wanted(CLI_AUTO, (struct cli_color_env){.clicolor_force = "y"}, false));
    for (size_t i = 0; i < CLI_COUNT(off); i++) {
        ASSERT(!wanted(CLI_AUTO, (struct cli_color_env){.force_color = off[i]},
                       false));
        ASSERT(!wanted(
            CLI_AUTO, (struct cli_color_env){.clicolor_force = off[i]}, false));
    }
}

TEST(color_wanted, lets_force_win_over_clicolor_and_dumb)
{
    ASSERT(wanted(CLI_AUTO,
                  (struct cli_color_env){
                      .force_color = "1", .clicolor = "0", .term = "dumb"},
                  false));
}

TEST(color_wanted, is_turned_off_by_clicolor_0_and_a_dumb_terminal)
{
    ASSERT(!wanted(CLI_AUTO, (struct cli_color_env){.clicolor = "0"}, true));
    ASSERT(wanted(CLI_AUTO, (struct cli_color_env){.clicolor = "1"}, true));
    ASSERT(!wanted(CLI_AUTO, (struct cli_color_env){.term = "dumb"}, true));
}

TEST(is_utf8, is_told_by_the_first_variable_that_is_set)
{
    ASSERT(cli_is_utf8("C.UTF-8", NULL, NULL));
    ASSERT(cli_is_utf8(NULL, "de_DE.utf8", "C"));
    ASSERT(cli_is_utf8("", "", "en_GB.UTF-8"));
    ASSERT(!cli_is_utf8("C", "C.UTF-8", "C.UTF-8"));
    ASSERT(!cli_is_utf8(NULL, NULL, "en_US.ISO-8859-1"));
    ASSERT(!cli_is_utf8(NULL, NULL, NULL));
}

TEST(pager_choice, takes_the_own_variable_then_the_general_then_less)
{
    ASSERT_STR("most", cli_pager_choice("most", "more", true));
    ASSERT_STR("more", cli_pager_choice(NULL, "more", true));
    ASSERT_STR("less -FRX", cli_pager_choice(NULL, NULL, true));
    ASSERT(cli_pager_choice(NULL, NULL, false) == NULL);
    ASSERT(cli_pager_choice("", "more", true) == NULL);
    ASSERT(cli_pager_choice("cat", "more", true) == NULL);
    ASSERT(cli_pager_choice(NULL, "", true) == NULL);
}
