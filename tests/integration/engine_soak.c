/*
 * A durable agent under many operations on many sessions: each is answered
 * once, and memory stays what it was when everything had been used once.
 *
 * 10,000 operations on 1,000 sessions at scale 1; `make soak` takes scale 100:
 * 1,000,000 on 100,000.
 */
#include "engine_soak.h"

TEST(engine, answers_each_operation_once_in_bounded_memory)
{
    const struct soak_plan plan = {.sessions = test_times(1000, 200),
                                   .operations = test_times(10000, 2000)};
    struct soak_result result;

    soak_run(&result, &plan);
    soak_result_print(&result);
    ASSERT_SIZE(0, result.missing);
    ASSERT_SIZE(0, result.mistaken);
    ASSERT_SIZE(0, result.doubled);
    ASSERT_SIZE(0, result.forked);
    ASSERT_SIZE(0, result.miscounted);
    ASSERT(result.repeats > 0 && result.resets > 0 && result.deletes > 0);
    ASSERT(!soak_has_grown(&result));
}
