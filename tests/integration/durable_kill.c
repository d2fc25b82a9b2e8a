/*
 * Durable agents in a process that is killed: before and after each of its
 * commits, and inside each tool. Another process goes on with what it left.
 *
 * Every point is met at any scale. Most of the time is spent in waiting for
 * leases of the dead.
 */
#include "durable_crash.h"

#define TURN       "look book/book look" /* three answers, four calls */
#define ALL_POINTS 40                    /* more than there are */

static void check(const struct crash_scene *scene, enum point_kind kind,
                  struct crash_result *out)
{
    crash_everywhere(out, scene, kind, ALL_POINTS);
    crash_result_print(scene->name, out);
    ASSERT_SIZE(0, crash_result_bad(out));
    ASSERT(out->killed > 0);
}

TEST(kill, before_and_after_each_commit_of_a_turn_with_tools)
{
    const struct crash_scene scene = {
        .name = "turn", .parallel = 1, .operations = {{"a", TURN}}};
    struct crash_result result;

    COVERS("D-51");
    COVERS("D-52");
    check(&scene, POINT_STEP, &result);
    ASSERT_SIZE(8, result.commits);
    ASSERT_SIZE(16, result.killed);
    ASSERT(result.resumed > 0 && result.repeated > 0 && result.unknown > 0);
}

TEST(kill, before_and_after_each_commit_of_a_turn_with_parallel_tools)
{
    const struct crash_scene scene = {
        .name = "parallel", .parallel = 2, .operations = {{"a", TURN}}};
    struct crash_result result;

    COVERS("D-51");
    COVERS("D-52");
    check(&scene, POINT_STEP, &result);
    /* Results that come at the same time share a commit. */
    ASSERT(result.commits >= 6 && result.commits <= 8);
    ASSERT(result.resumed > 0 && result.unknown > 0);
}

TEST(kill, inside_each_tool)
{
    const struct crash_scene scenes[] = {
        {.name = "tool", .parallel = 1, .operations = {{"a", TURN}}},
        {.name = "parallel tool", .parallel = 2, .operations = {{"a", TURN}}}};

    COVERS("D-52");
    for (size_t i = 0; i < 2; i++) {
        struct crash_result result;

        check(&scenes[i], POINT_TOOL, &result);
        ASSERT_SIZE(4, result.killed);
        ASSERT(result.repeated > 0 && result.unknown > 0);
    }
}

/* The session is idle when the second one comes. */
TEST(kill, before_and_after_each_commit_of_turns_without_tools)
{
    const struct crash_scene scene = {.name = "plain",
                                      .parallel = 1,
                                      .operations = {{"a", "-1"}, {"b", "-2"}}};
    struct crash_result result;

    COVERS("D-51");
    check(&scene, POINT_STEP, &result);
    ASSERT_SIZE(4, result.commits);
    ASSERT_SIZE(8, result.killed);
}

TEST(kill, before_and_after_each_commit_with_an_operation_that_waits)
{
    const struct crash_scene scene = {
        .name = "queued",
        .way = CRASH_QUEUED,
        .parallel = 1,
        .operations = {{"a", "wait book"}, {"b", "look"}}};
    struct crash_result result;

    COVERS("D-51");
    check(&scene, POINT_STEP, &result);
    ASSERT(result.killed > 16 && result.unknown > 0);
}

TEST(kill, before_and_after_each_commit_of_a_run_that_is_handed_back)
{
    const struct crash_scene scene = {.name = "handed back",
                                      .way = CRASH_HANDED_BACK,
                                      .parallel = 1,
                                      .operations = {{"a", "wait book"}}};
    struct crash_result result;

    check(&scene, POINT_STEP, &result);
    ASSERT_SIZE(4, result.commits);
    ASSERT_SIZE(8, result.killed);
}

TEST(kill, before_and_after_each_commit_of_a_reset)
{
    const struct crash_scene scene = {
        .name = "reset",
        .parallel = 1,
        .operations = {{"a", "book"}, {"b", NULL}, {"c", "look"}}};
    struct crash_result result;

    check(&scene, POINT_STEP, &result);
    ASSERT(result.killed > 14);
}

TEST(kill, before_and_after_each_renewal)
{
    const struct crash_scene scene = {.name = "renewed",
                                      .way = CRASH_RENEWED,
                                      .parallel = 1,
                                      .operations = {{"a", "wait book"}}};
    struct crash_result result;

    check(&scene, POINT_RENEWAL, &result);
    ASSERT(result.killed >= 6);
}

TEST(kill, before_and_after_each_commit_of_events)
{
    const struct crash_scene scene = {
        .name = "streamed",
        .way = CRASH_STREAMED,
        .parallel = 1,
        .operations = {{"a", "book"}, {"b", "~"}}};
    struct crash_result result;

    check(&scene, POINT_STREAM, &result);
    ASSERT(result.killed >= 2);
}
