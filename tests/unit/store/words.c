/* The words of enums in tables: each comes back, and nothing else does. */
#include "test.h"

#include "store.h"

TEST(words, of_states_come_back)
{
    const char *words[] = {"idle", "running", "waiting", "expired", "unseen"};

    for (unsigned i = 0; i < PDR_COUNT(words); i++) {
        pdr_session_state state = PDR_SESSION_IDLE;

        ASSERT_STR(words[i], pdr__session_state_word((pdr_session_state)i));
        ASSERT(pdr__session_state_read(&state, pdr_str_c(words[i])));
        ASSERT_INT(i, state);
    }
}

TEST(words, of_kinds_come_back)
{
    const char *words[] = {"request", "response", "message", "record", "other"};

    for (unsigned i = 0; i < PDR_COUNT(words); i++) {
        pdr_row_kind kind = PDR_ROW_REQUEST;

        ASSERT_STR(words[i], pdr__row_kind_word((pdr_row_kind)i));
        ASSERT(pdr__row_kind_read(&kind, pdr_str_c(words[i])));
        ASSERT_INT(i, kind);
    }
}

TEST(words, of_shapes_and_parts_come_back)
{
    const char *shapes[] = {"state", "dotnet", "python", "sk"};
    const char *parts[] = {"journal", "stream", "inbox"};

    for (unsigned i = 0; i < 4; i++) {
        pdr_row_shape shape = PDR_ROW_STATE;

        ASSERT_STR(shapes[i], pdr__row_shape_word((pdr_row_shape)i));
        ASSERT(pdr__row_shape_read(&shape, pdr_str_c(shapes[i])));
        ASSERT_INT(i, shape);
    }
    for (unsigned i = 0; i < 3; i++) {
        pdr_part part = PDR_PART_JOURNAL;

        ASSERT_STR(parts[i], pdr__part_word((pdr_part)i));
        ASSERT(pdr__part_read(&part, pdr_str_c(parts[i])));
        ASSERT_INT(i, part);
    }
}

TEST(words, that_are_none_leave_the_value_alone)
{
    const char *others[] = {"", "Idle", "idl", "idle ", "journals", "7"};
    pdr_session_state state = PDR_SESSION_WAITING;
    pdr_row_kind kind = PDR_ROW_RECORD;
    pdr_row_shape shape = PDR_ROW_PYTHON;
    pdr_part part = PDR_PART_STREAM;

    for (size_t i = 0; i < PDR_COUNT(others); i++) {
        pdr_str word = pdr_str_c(others[i]);

        ASSERT(!pdr__session_state_read(&state, word));
        ASSERT(!pdr__row_kind_read(&kind, word));
        ASSERT(!pdr__row_shape_read(&shape, word));
        ASSERT(!pdr__part_read(&part, word));
    }
    ASSERT_INT(PDR_SESSION_WAITING, state);
    ASSERT_INT(PDR_ROW_RECORD, kind);
    ASSERT_INT(PDR_ROW_PYTHON, shape);
    ASSERT_INT(PDR_PART_STREAM, part);
}

TEST(words, of_numbers_that_are_no_value_are_a_question_mark)
{
    ASSERT_STR("?", pdr__session_state_word((pdr_session_state)5));
    ASSERT_STR("?", pdr__row_kind_word((pdr_row_kind)5));
    ASSERT_STR("?", pdr__row_shape_word((pdr_row_shape)4));
    ASSERT_STR("?", pdr__part_word((pdr_part)3));
}
