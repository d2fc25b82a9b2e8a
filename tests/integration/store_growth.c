/*
 * store_growth.c - one store that grows: listing, opening, expiry, commits and
 * memory stay what they were, whatever the store holds.
 *
 * 2,000 to 20,000 sessions at scale 1, 1,000,000 from 10 on. Nothing is judged
 * by time; the times in the table are for people to read.
 */
#include "growth_harness.h"

TEST(growing_store, costs_the_same_for_each_operation)
{
    static const size_t many[] = {10000, 100000, 1000000};
    const size_t usual[] = {2000, test_times(20000, 8000)};
    static struct growth growth;
    bool is_long = test_scale() >= 10;
    size_t bad = 0;

    growth_run(&growth, is_long ? many : usual, is_long ? 3 : 2);
    growth_print(&growth);
    bad = growth_judge(&growth, NULL, 0);
    if (bad > 0)
        fail_msg("%zu costs are not flat", bad);
}
