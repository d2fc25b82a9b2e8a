/*
 * engine_variants.c - durable agents on stores that forget what they promised:
 * that a correlation id is known, who has the lease, the guard of a claim. Must
 * fail: the simulation has to see each of them.
 */
#include <inttypes.h>

#include "processes.h"
#include "room.h"
#include "sim.h"

#define SEEDS 200 /* in which a mistake has to show */

/* "VARIANT FILE": play seeds, and write down the first mistake. */
TEST_ROLE(variant)
{
    struct sim_seed seed = {.command = "as you did"};
    struct sim_result result;

    if (argc != 2)
        return 2;
    seed.variant = (enum sim_variant)strtoul(argv[0], NULL, 10);
    seed.told = fopen(argv[1], "w");
    if (seed.told == NULL)
        return 2;
    memset(&result, 0, sizeof(result));
    for (seed.seed = 1; seed.seed <= SEEDS; seed.seed++)
        sim_play(&result, &seed);
    return fclose(seed.told) == 0 ? 0 : 2;
}

/* Is a mistake found, and is it this one? No words: none must be. */
static bool is_seen(enum sim_variant variant, const char *words)
{
    char number[8], path[300];
    struct room room;
    char *told = NULL;
    size_t len = 0;
    bool is_seen = false;

    room_enter(&room);
    snprintf(number, sizeof(number), "%d", (int)variant);
    snprintf(path, sizeof(path), "%s", room_path(&room, "told"));
    (void)process_end(
        process_start("variant", (const char *const[]){number, path, NULL}),
        true);
    told = room_get(&room, "told", &len);
    if (told != NULL) {
        printf("variant %d: %s", (int)variant, len > 0 ? told : "nothing\n");
        is_seen = words == NULL
                      ? len == 0
                      : memmem(told, len, words, strlen(words)) != NULL;
    }
    free(told);
    room_leave(&room);
    return is_seen;
}

TEST(simulation, does_not_see_what_a_store_forgets)
{
    int caught = 0;

    if (!is_seen(SIM_SOUND, NULL))
        return; /* then a failure below would prove nothing */
    caught += is_seen(SIM_NO_DEDUP, "times and");
    caught += is_seen(SIM_NO_FENCE, "not that of its lease");
    caught += is_seen(SIM_NO_GUARD, "0 guards");
    if (caught > 0)
        fail_msg("caught %d of 3", caught);
}
