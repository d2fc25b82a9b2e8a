/* Who speaks next, one after the other, and what is saved of it. */
#include "chat.h"
#include "values.h"

/* Selections, one a digit: the agents that there are at each, and the places
 * that are chosen. After those of `saved` the state is saved and restored. */
static void check_order(long first, const char *agents, const char *expected,
                        size_t saved)
{
    struct pdr__selection selection = {-1, false};
    char chosen[16] = "";

    for (size_t i = 0; agents[i] != '\0'; i++) {
        pdr_value *state = NULL;

        if (i == saved) {
            ASSERT_RC(PDR_OK, pdr__selection_save(&state, &selection,
                                                  pdr_str_n(NULL, 0), NULL));
            selection = (struct pdr__selection){77, true};
            pdr__selection_restore(&selection, state);
            pdr_value_free(state);
        }
        chosen[i] =
            (char)('0' + pdr__select_next(&selection, (size_t)(agents[i] - '0'),
                                          first));
    }
    ASSERT_STR(expected, chosen);
}

TEST(select_next, goes_on_after_the_agent_that_speaks_first)
{
    COVERS("C-48");
    static const struct {
        long first;
        const char *agents, *expected;
    } rows[] = {
        {-1, "3333333", "0120120"}, {0, "3333333", "0120120"},
        {1, "3333", "1201"},        {2, "3333333", "2012012"},
        {0, "111", "000"},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        for (size_t saved = 0; saved <= strlen(rows[i].agents); saved++)
            check_order(rows[i].first, rows[i].agents, rows[i].expected, saved);
    }
}

TEST(select_next, takes_the_list_as_it_is_now)
{
    COVERS("C-50");
    check_order(-1, "3331", "0120", SIZE_MAX);
    check_order(-1, "331", "010", SIZE_MAX);
    check_order(2, "311", "200", SIZE_MAX);
    check_order(-1, "223333", "012012", SIZE_MAX);
}

TEST(selection_save, writes_where_it_is)
{
    pdr_value *state = NULL;
    struct pdr__selection selection = {2, true};

    ASSERT_RC(PDR_OK,
              pdr__selection_save(&state, &selection, pdr_str_c("c"), NULL));
    ASSERT_JSON("{\"kind\":\"seq\",\"index\":2,\"agent\":\"c\","
                "\"has_selected\":true}",
                state);
    pdr_value_free(state);
}

TEST_OOM(selection_save, survives_any_failed_allocation)
{
    pdr_value *state = NULL;
    struct pdr__selection selection = {2, true};
    pdr_rc rc = pdr__selection_save(&state, &selection, pdr_str_c("c"), NULL);

    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((state != NULL) == (rc == PDR_OK));
    pdr_value_free(state);
}

TEST(selection_restore, begins_anew_with_what_it_did_not_write)
{
    static const struct {
        const char *state;
        long index;
        bool has_selected;
    } rows[] = {
        {"{\"kind\":\"seq\",\"index\":-1,\"has_selected\":false}", -1, false},
        {"{\"has_selected\":true,\"index\":5,\"kind\":\"seq\",\"x\":1}", 5,
         true},
        {"{\"kind\":\"seq\",\"index\":-2,\"has_selected\":true}", -1, false},
        {"{\"kind\":\"seq\",\"index\":9223372036854775807,"
         "\"has_selected\":true}",
         -1, false},
        {"{\"kind\":\"seq\",\"index\":1.5,\"has_selected\":true}", -1, false},
        {"{\"kind\":\"seq\",\"index\":1,\"has_selected\":1}", -1, false},
        {"{\"kind\":\"seq\",\"index\":1}", -1, false},
        {"{\"kind\":\"seq\",\"has_selected\":true}", -1, false},
        {"{\"kind\":\"other\",\"index\":1,\"has_selected\":true}", -1, false},
        {"{}", -1, false},
        {"[1]", -1, false},
        {"null", -1, false},
    };
    struct pdr__selection selection = {77, true};

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        pdr_value *state = value_of(rows[i].state);

        selection = (struct pdr__selection){77, true};
        pdr__selection_restore(&selection, state);
        ASSERT_INT(rows[i].index, selection.index);
        ASSERT_INT(rows[i].has_selected, selection.has_selected);
        pdr_value_free(state);
    }
    pdr__selection_restore(&selection, NULL);
    ASSERT_INT(-1, selection.index);
}
