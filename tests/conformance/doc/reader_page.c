/*
 * reader_page.c - docs/formats/readers.md has every rule of every reader, as
 * the library tells it, and no other.
 */
#include "compat.h"
#include "test.h"

#define PAGE "../../docs/formats/readers.md"

static char *page;

static void load_page(void)
{
    size_t len = 0;

    page = test_read_data(PAGE, &len);
}

static void check_rules(pdr_reader reader)
{
    size_t count = 0;
    const struct compat_rule *rules = pdr__compat_rules(&count, reader);

    for (size_t i = 0; i < count; i++) {
        char row[1000];

        (void)snprintf(row, sizeof(row), "\n| `%s` | %s | %s |\n",
                       rules[i].name, pdr__compat_effect_name(rules[i].effect),
                       rules[i].text);
        if (strstr(page, row) == NULL)
            fail_msg("%s has no row%s", PAGE, row);
    }
}

static size_t count_rows(const char *begin)
{
    size_t count = 0;

    for (const char *p = page; (p = strstr(p, begin)) != NULL; p++)
        count++;
    return count;
}

TEST(reader_page, has_each_rule_as_it_is_told)
{
    load_page();
    check_rules(PDR_READER_DOTNET);
    check_rules(PDR_READER_PYTHON);
    free(page);
}

TEST(reader_page, has_no_other_rule)
{
    size_t dotnet = 0, python = 0;

    (void)pdr__compat_rules(&dotnet, PDR_READER_DOTNET);
    (void)pdr__compat_rules(&python, PDR_READER_PYTHON);
    load_page();
    ASSERT_SIZE(dotnet, count_rows("\n| `dotnet-"));
    ASSERT_SIZE(python, count_rows("\n| `python-"));
    free(page);
}

TEST(reader_page, says_how_severe_each_effect_is)
{
    load_page();
    for (int i = COMPAT_NOTES; i <= COMPAT_FAILS_LOAD; i++) {
        enum compat_effect effect = (enum compat_effect)i;
        char row[100];

        (void)snprintf(row, sizeof(row), "\n| %s | %s |",
                       pdr__compat_effect_name(effect),
                       pdr_severity_name(pdr__compat_severity(effect)));
        if (strstr(page, row) == NULL)
            fail_msg("%s has no row%s", PAGE, row);
    }
    free(page);
}
