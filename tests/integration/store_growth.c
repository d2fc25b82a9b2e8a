/*
 * store_growth.c - one store that grows: listing, opening, expiry, commits and
 * memory stay what they were, whatever the store holds.
 *
 * 2,000 to 20,000 sessions in a normal run, 10,000 to 1,000,000 with
 * PERDURE_SOAK. Nothing is judged by time; the times in the table are for
 * people to read.
 */
#include "growth_harness.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define USUAL_MOST 10000
#else
#define USUAL_MOST 20000
#endif

TEST(growing_store, costs_the_same_for_each_operation)
{
    static const size_t usual[] = {2000, USUAL_MOST};
    static const size_t many[] = {10000, 100000, 1000000};
    static struct growth growth;
    bool is_long = getenv("PERDURE_SOAK") != NULL;
    size_t bad = 0;

    growth_run(&growth, is_long ? many : usual, is_long ? 3 : 2);
    growth_print(&growth);
    bad = growth_judge(&growth, NULL, 0);
    if (bad > 0)
        fail_msg("%zu costs are not flat", bad);
}
