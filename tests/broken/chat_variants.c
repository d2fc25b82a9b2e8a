/*
 * chat_variants.c - chats with a mistake: a channel skips a message that it did
 * not take, cursors are not stored, the listener hears of what is not
 * committed, a turn that was aborted counts for who is next. Must fail: the
 * simulation has to see each of them.
 */
#include "chat.h"
#include "chat_sim.h"
#include "processes.h"
#include "room.h"

#define SEEDS 300 /* in which a mistake has to show */

enum variant { SOUND, SKIPS, NO_CURSOR, TELLS_EARLY, MOVES_ON };

static enum variant variant;

/* --- mistakes -------------------------------------------------------------
 */

pdr_rc __real_pdr__slots_write(const pdr_chat_state *state, pdr_err *err,
                               pdr__chat_slot_fn fn, void *arg);
pdr_rc __wrap_pdr__slots_write(const pdr_chat_state *state, pdr_err *err,
                               pdr__chat_slot_fn fn, void *arg);
pdr_rc __real_pdr__home_commit(pdr_chat *chat, const struct pdr__step *step,
                               pdr_err *err);
pdr_rc __wrap_pdr__home_commit(pdr_chat *chat, const struct pdr__step *step,
                               pdr_err *err);
pdr_rc __real_pdr__boundary_new(struct pdr__boundary **out, pdr_chat *chat,
                                pdr_err *err);
pdr_rc __wrap_pdr__boundary_new(struct pdr__boundary **out, pdr_chat *chat,
                                pdr_err *err);

pdr_rc __wrap_pdr__slots_write(const pdr_chat_state *state, pdr_err *err,
                               pdr__chat_slot_fn fn, void *arg)
{
    for (size_t i = 0; variant == NO_CURSOR && i < state->channel_count; i++)
        state->channels[i].cursor = 0;
    return __real_pdr__slots_write(state, err, fn, arg);
}

/* What a listener is about to hear of is committed with what comes next. */
pdr_rc __wrap_pdr__home_commit(pdr_chat *chat, const struct pdr__step *step,
                               pdr_err *err)
{
    if (variant == TELLS_EARLY && step->lease == PDR_STEP_HOLD &&
        step->ends == NULL)
        return PDR_OK;
    return __real_pdr__home_commit(chat, step, err);
}

/* The boundary after a turn that was aborted. */
pdr_rc __wrap_pdr__boundary_new(struct pdr__boundary **out, pdr_chat *chat,
                                pdr_err *err)
{
    const struct pdr__turn_record *last =
        chat->turn_count > 0 ? &chat->turns[chat->turn_count - 1] : NULL;

    if (variant == MOVES_ON && last != NULL && last->end == PDR_TURN_ABORTED) {
        const struct pdr__member *m = pdr__member_find(chat, last->agent);

        if (m != NULL)
            chat->selection = (struct pdr__selection){m - chat->members, true};
    }
    return __real_pdr__boundary_new(out, chat, err);
}

/* --- the test -------------------------------------------------------------
 */

/* "VARIANT FILE": play seeds, and write down the first mistake. */
TEST_ROLE(variant)
{
    struct csim_seed seed = {.command = "as you did"};
    struct csim_result result;

    if (argc != 2)
        return 2;
    variant = (enum variant)strtoul(argv[0], NULL, 10);
    seed.skips = variant == SKIPS;
    seed.told = fopen(argv[1], "w");
    if (seed.told == NULL)
        return 2;
    memset(&result, 0, sizeof(result));
    for (seed.seed = 1; seed.seed <= SEEDS; seed.seed++)
        csim_play(&result, &seed);
    return fclose(seed.told) == 0 ? 0 : 2;
}

/* Is a mistake found, and is it this one? No words: none must be. */
static bool is_seen(enum variant which, const char *words)
{
    char number[8], path[300];
    struct room room;
    char *told = NULL;
    size_t len = 0;
    bool is_seen = false;

    room_enter(&room);
    snprintf(number, sizeof(number), "%d", (int)which);
    snprintf(path, sizeof(path), "%s", room_path(&room, "told"));
    (void)process_end(
        process_start("variant", (const char *const[]){number, path, NULL}),
        true);
    told = room_get(&room, "told", &len);
    if (told != NULL) {
        printf("variant %d: %s", (int)which, len > 0 ? told : "nothing\n");
        is_seen = words == NULL
                      ? len == 0
                      : memmem(told, len, words, strlen(words)) != NULL;
    }
    free(told);
    room_leave(&room);
    return is_seen;
}

TEST(chat_simulation, does_not_see_what_a_chat_gets_wrong)
{
    int caught = 0;

    if (!is_seen(SOUND, NULL))
        return; /* then a failure below would prove nothing */
    caught += is_seen(SKIPS, "is another one");
    caught += is_seen(NO_CURSOR, "is another one");
    caught += is_seen(TELLS_EARLY, "is not in the log");
    caught += is_seen(MOVES_ON, "is next");
    if (caught > 0)
        fail_msg("caught %d of 4", caught);
}
