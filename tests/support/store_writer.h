/*
 * store_writer.h - a process that writes to a store until somebody kills it.
 *
 * WHY  Its threads do what agents do: turns on sessions that all share, turns
 *      over several sessions, operations for the inbox, steps under leases that
 *      lapse, sessions that are removed and made again. Each keeps an oracle. A
 *      thread that begins again after a kill asks for its open deed once more,
 *      with the same correlation id.
 */
#ifndef PDR_TEST_STORE_WRITER_H
#define PDR_TEST_STORE_WRITER_H

#include "processes.h"
#include "store_oracle.h"

struct writer_job {
    const char *folder; /* the store is "store" there, the oracle of writer 3
                           is "oracle-3" */
    unsigned first;     /* number of its first writer, from 1 */
    unsigned threads;
    unsigned sessions; /* that they share */
    unsigned deeds;    /* of each, then it closes the store and ends */
    uint64_t seed;
};

#define WRITER_MAX_THREADS 8
#define WRITER_PATH        400

/* Start a process. */
pid_t writer_start(const struct writer_job *job);

/* The same in this process, on a store that is open; ends it with status 4 if
 * a call fails in a way that it must not. */
void writers_run(pdr_store *store, const struct writer_job *job);

const char *writer_uri(char out[WRITER_PATH], const char *folder,
                       const char *options);
const char *writer_oracle(char out[WRITER_PATH], const char *folder,
                          unsigned writer);

#endif
