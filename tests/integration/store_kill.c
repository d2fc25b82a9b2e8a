/*
 * Writers of one SQLite store that are killed at any moment: what was
 * acknowledged is there, once, whole and in its place.
 */
#include "store_kill.h"

#include "room.h"
#include "store_writer.h"

/* The writers and the judge alone, with the store that is the reference. */
TEST(undisturbed_writers, do_what_the_judge_expects)
{
    static struct view view;
    struct oracle oracles[4];
    struct judgement judgement;
    struct room room;
    struct writer_job job = {
        .first = 1, .threads = 4, .sessions = 6, .deeds = 400, .seed = 3};
    pdr_store *store = NULL;
    char path[WRITER_PATH];

    room_enter(&room);
    job.folder = room.path;
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    writers_run(store, &job);
    ASSERT(view_load(&view, store));
    for (unsigned i = 0; i < 4; i++) {
        oracle_init(&oracles[i], i + 1);
        ASSERT(oracle_read(&oracles[i], writer_oracle(path, room.path, i + 1)));
        ASSERT(oracles[i].done > 0);
    }
    store_judge(&judgement, &view, oracles, 4);
    ASSERT_SIZE(0, judgement_sum(&judgement));
    for (unsigned i = 0; i < 4; i++)
        oracle_dispose(&oracles[i]);
    view_dispose(&view);
    pdr_store_close(store);
    room_leave(&room);
}

static bool met_all(const struct kill_result *all)
{
    return all->at_once > 0 && all->ended_well > 0 && all->commits > 0 &&
           all->conflicts > 0 && all->refusals > 0 && all->retries > 0 &&
           all->found > 0 && all->checkpoints > 0;
}

TEST(killed_writers, lose_nothing_double_nothing_and_fork_nothing)
{
    size_t wanted = test_times(300, 30);
    struct kill_plan plan = {.kills = wanted < 150 ? wanted : 150,
                             .between = 30,
                             .processes = 4,
                             .threads = 2,
                             .sessions = 10,
                             .pause_ms = 120,
                             .seed = 1,
                             .keep = true};
    struct kill_result all = {0}, one;

    /* Moments are drawn: some more, until each thing was met that is asked for.
     */
    while (
        (all.kills < wanted || (!met_all(&all) && all.kills < wanted + 300)) &&
        kill_result_bad(&all) == 0) {
        store_kill(&one, &plan);
        kill_result_add(&all, &one);
        plan.seed++;
    }
    kill_result_print(&all);
    ASSERT_SIZE(0, kill_result_bad(&all));
    ASSERT(met_all(&all));
}
