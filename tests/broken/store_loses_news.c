/*
 * store_loses_news.c - a store that does not tell its watchers of every commit:
 * now and then one of this process, or what others did. Must fail: what a
 * session is at has to be told.
 *
 * The linker puts the functions below in the place of the real ones.
 */
#include "news_harness.h"
#include "room.h"
#include "test.h"
#include "watch.h"

static enum { SOUND, LOSES_COMMITS, LOSES_POLLS, MISTAKES } mistake;

void __real_pdr__board_fire(struct pdr__hub *hub, const pdr_write *write,
                            size_t i);
void __wrap_pdr__board_fire(struct pdr__hub *hub, const pdr_write *write,
                            size_t i);
void __real_pdr__board_polled(struct pdr__hub *hub, bool moved);
void __wrap_pdr__board_polled(struct pdr__hub *hub, bool moved);

void __wrap_pdr__board_fire(struct pdr__hub *hub, const pdr_write *write,
                            size_t i)
{
    static unsigned calls;

    if (mistake != LOSES_COMMITS || ++calls % 50 != 0)
        __real_pdr__board_fire(hub, write, i);
}

/* The last slice is left out. */
void __wrap_pdr__board_polled(struct pdr__hub *hub, bool moved)
{
    __real_pdr__board_polled(hub, moved);
    if (mistake == LOSES_POLLS && hub->board.unlooked <= PDR_WATCH_SLICE)
        hub->board.unlooked = 0;
}

/* A commit that was not told is found when others commit, so nobody does. */
static size_t count_lost(const struct room *room)
{
    struct news_report report;
    struct news_plan plan = {
        .seed = 7, .rounds = 20, .sessions = 100, .patience_ms = 500};

    ASSERT_RC(PDR_OK,
              pdr_store_open(&plan.here, room_path(room, "s.db"), NULL));
    if (mistake != LOSES_COMMITS)
        ASSERT_RC(PDR_OK, pdr_store_open(&plan.elsewhere,
                                         room_path(room, "s.db"), NULL));
    news_run(&report, &plan);
    pdr_store_close(plan.elsewhere);
    pdr_store_close(plan.here);
    return report.lost + report.unheard;
}

TEST(news_harness, does_not_see_that_a_change_is_lost)
{
    unsigned caught = 0;

    for (int i = SOUND; i < MISTAKES; i++) {
        struct room room;

        room_enter(&room);
        mistake = (unsigned)i;
        size_t lost = count_lost(&room);
        room_leave(&room);
        if (i == SOUND && lost > 0)
            return;
        caught += lost > 0;
    }
    if (caught > 0)
        fail_msg("caught %u of %d", caught, MISTAKES - 1);
}
