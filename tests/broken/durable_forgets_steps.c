/*
 * durable_forgets_steps.c - stores that forget steps of a run: that a tool was
 * started, what it gave, what the model answered. Must fail: the harness that
 * kills processes at every commit has to see each of them.
 */
#include "durable_crash.h"

#define POINTS 8

static const struct crash_scene scene = {
    .name = "turn", .parallel = 1, .operations = {{"a", "look book/book"}}};

static struct crash_result crash_with(enum point_mistake mistake)
{
    struct crash_result result;

    point_mistake_choose(mistake);
    crash_everywhere(&result, &scene, POINT_STEP, POINTS);
    crash_result_print(scene.name, &result);
    return result;
}

TEST(crash_harness, does_not_see_that_steps_are_forgotten)
{
    struct crash_result sound = crash_with(POINT_SOUND);
    int caught = 0;

    if (crash_result_bad(&sound) > 0 || sound.killed == 0)
        return; /* then a failure below would prove nothing */
    caught += crash_with(POINT_FORGETS_STARTED).doubled > 0;
    caught += crash_with(POINT_FORGETS_RESULT).wrong > 0;
    caught += crash_with(POINT_FORGETS_ANSWER).asked > 0;
    if (caught > 0)
        fail_msg("caught %d of 3", caught);
}
