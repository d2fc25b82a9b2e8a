/*
 * Chats in simulation: agents, channels and a service that fail, processes that
 * crash, documents that are restored to any set of agents. See chat_sim.h.
 *
 * Seeds are played by processes of their own, as many as the machine has room
 * for; each writes down what it met.
 */
#include <inttypes.h>
#include <unistd.h>

#include "chat_sim.h"
#include "processes.h"
#include "room.h"

#define MAX_PLAYERS 8

/* --- players --------------------------------------------------------------
 */

/* "FIRST COUNT FILE": play these seeds, and write down what they met. */
TEST_ROLE(seeds)
{
    char command[256], own[200] = "";
    struct csim_seed seed = {.command = command};
    struct csim_result result;
    uint64_t end = 0;
    FILE *file = NULL;

    if (argc != 3 || readlink("/proc/self/exe", own, sizeof(own) - 1) < 0)
        return 2;
    memset(&result, 0, sizeof(result));
    seed.seed = strtoull(argv[0], NULL, 10);
    end = seed.seed + strtoull(argv[1], NULL, 10);
    for (; seed.seed < end; seed.seed++) {
        alarm(120); /* ends what hangs */
        snprintf(command, sizeof(command), "%s --role=seed %" PRIu64, own,
                 seed.seed);
        csim_play(&result, &seed);
    }
    alarm(0);
    file = fopen(argv[2], "wb");
    if (file == NULL || fwrite(&result, sizeof(result), 1, file) != 1 ||
        fclose(file) != 0)
        return 2;
    return 0;
}

/* "SEED": play it alone; SIM_TRACE=1 tells what happens. */
TEST_ROLE(seed)
{
    struct csim_seed seed = {.command = "as you did"};
    struct csim_result result, again;

    if (argc != 1)
        return 2;
    memset(&result, 0, sizeof(result));
    seed.seed = strtoull(argv[0], NULL, 10);
    csim_play(&result, &seed);
    memset(&again, 0, sizeof(again));
    csim_play(&again, &seed);
    if (again.hash != result.hash) {
        fprintf(stderr, "seed %s: it was played in two ways\n", argv[0]);
        return CSIM_STATUS;
    }
    printf("seed %s: %" PRIu64 " operations, %" PRIu64
           " commits, hash %016" PRIx64 "\n",
           argv[0], result.operations, result.commits, result.hash);
    return 0;
}

static void result_add(struct csim_result *sum, const struct room *room,
                       const char *name)
{
    size_t len = 0;
    char *bytes = room_get(room, name, &len);
    struct csim_result one;

    ASSERT(bytes != NULL && len == sizeof(one));
    memcpy(&one, bytes, sizeof(one));
    free(bytes);
    sum->turns += one.turns;
    sum->commits += one.commits;
    sum->operations += one.operations;
    for (int i = 0; i < CSIM_EVENT_COUNT; i++)
        sum->counts[i] += one.counts[i];
}

/* --- tests ----------------------------------------------------------------
 */

TEST(chat_simulation, keeps_its_promises_whatever_the_seed)
{
    size_t seeds = test_times(2000, 400);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t players = cores < 1             ? 1
                     : cores > MAX_PLAYERS ? MAX_PLAYERS
                                           : (size_t)cores;
    size_t share = (seeds + players - 1) / players, missing = 0;
    pid_t pids[MAX_PLAYERS];
    struct csim_result sum;
    struct room room;
    bool is_good = true;

    COVERS("C-22");
    COVERS("C-39");
    memset(&sum, 0, sizeof(sum));
    room_enter(&room);
    for (size_t i = 0; i < players; i++) {
        char first[24], count[24], name[24], path[300];

        snprintf(first, sizeof(first), "%zu", 1 + i * share);
        snprintf(count, sizeof(count), "%zu", share);
        snprintf(name, sizeof(name), "player%zu", i);
        snprintf(path, sizeof(path), "%s", room_path(&room, name));
        pids[i] = process_start(
            "seeds", (const char *const[]){first, count, path, NULL});
    }
    for (size_t i = 0; i < players; i++)
        is_good &= process_end(pids[i], true) == PROCESS_DONE;
    for (size_t i = 0; is_good && i < players; i++) {
        char name[24];

        snprintf(name, sizeof(name), "player%zu", i);
        result_add(&sum, &room, name);
    }
    room_leave(&room);
    ASSERT(is_good);
    printf("%zu seeds: %" PRIu64 " operations, %" PRIu64 " commits, %" PRIu64
           " turns\n",
           share * players, sum.operations, sum.commits, sum.turns);
    for (int i = 0; i < CSIM_EVENT_COUNT; i++) {
        printf("%9" PRIu64 "  %s\n", sum.counts[i],
               csim_event_words((enum csim_event)i));
        missing += sum.counts[i] == 0;
    }
    if (missing > 0)
        fail_msg("%zu of these never happened", missing);
}
