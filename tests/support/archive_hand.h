/*
 * archive_hand.h - sessions put into a store by hand, row by row, and exported
 * into a text: for tests that want to choose the frame.
 */
#ifndef PDR_TEST_ARCHIVE_HAND_H
#define PDR_TEST_ARCHIVE_HAND_H

#include "test.h"

#define HAND_ROWS 8

/* All texts are literals; what is NULL is absent. Lists end there. */
struct hand_entry {
    const char *body;
    pdr_row_kind kind;
    pdr_row_shape shape;
    const char *separator;
};

struct hand_pair {
    const char *key;
    const char *value; /* NULL: remove it */
};

struct hand {
    const char *id;
    uint64_t revision; /* 0: make it */
    const char *kind;  /* of a new one */
    const char *schema_version;
    const char *frame;
    int64_t expiry_ms; /* 0: as it is */
    struct hand_entry entries[HAND_ROWS];
    struct hand_pair slots[HAND_ROWS];
    struct hand_pair properties[HAND_ROWS];
};

/* One commit. Fails the test if it is refused. */
void hand_commit(pdr_store *store, const struct hand *hand);
/* A memory store with this session. */
pdr_store *hand_store(const struct hand *hand);
/* Append one entry, or set one slot; to whatever revision is there. */
void hand_append(pdr_store *store, const char *id, const pdr_entry *entry);
void hand_set(pdr_store *store, const char *id, const char *key, pdr_str value);
/* Remove the entries before `seq`. */
void hand_cut(pdr_store *store, const char *id, uint64_t through);
/* Remove the session. */
void hand_remove(pdr_store *store, const char *id);

/* Export into `out`, which is cleared. */
pdr_rc hand_export(pdr_buf *out, pdr_store *store, const char *id, bool bare,
                   pdr_export_report *report, pdr_err *err);
/* The session of this hand, exported, is this text. */
void hand_expect(const char *expected, const struct hand *hand);
void hand_expect_bare(const char *expected, const struct hand *hand);
/* The same for a session that is in a store. */
void hand_expect_in(const char *expected, pdr_store *store, const char *id);
/* It is refused with this reason, and nothing is written. */
void hand_refused(const char *reason, const struct hand *hand);

#endif
