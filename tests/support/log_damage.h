/*
 * log_damage.h - a log that a killed process left, with bits that a disk has
 * changed.
 */
#ifndef PDR_TEST_LOG_DAMAGE_H
#define PDR_TEST_LOG_DAMAGE_H

#include "test.h"

#define LOG_COMMITS 14u /* that the process was told are safe */

struct log_report {
    size_t frames;    /* of the log */
    size_t tried;     /* changes, one at a time */
    size_t refused;   /* the store did not open, and its files are the same */
    size_t same;      /* it has every commit */
    size_t last_lost; /* it lacks the last one, which was damaged itself */
    size_t lost;      /* it lacks one that was not */
    size_t most;      /* commits that one change took away */
    size_t wrong;     /* any other end */
    char first[300];  /* the first change that lost or was wrong */
};

/* What the side file says of the end of the log. */
enum log_note {
    LOG_NOTE_GONE,  /* nothing: the file is not there */
    LOG_NOTE_LEFT,  /* what the last commit wrote */
    LOG_NOTE_BEFORE /* what the one before it wrote */
};

/* Change bits in each frame: in each field of its header, and some in its page;
 * each in a copy of its own, which is opened as `parameters` say. */
void damage_frames(struct log_report *out, const char *parameters,
                   enum log_note note);
/* The same with each byte of the header of the log. */
void damage_log_header(struct log_report *out, const char *parameters,
                       enum log_note note);
/* The same with each bit of the note, beside a log that is as it was left. */
void damage_note(struct log_report *out, const char *parameters);
/* Cut the log off in front of its end, at many places behind its header. */
void cut_log(struct log_report *out, const char *parameters,
             enum log_note note);
/* Zeros in the place of any sectors of the last commit, `count` times, chosen
 * by `seed`: what a power loss leaves of one that nobody was told of. */
void tear_last_commit(struct log_report *out, size_t count, uint64_t seed,
                      enum log_note note);

#endif
