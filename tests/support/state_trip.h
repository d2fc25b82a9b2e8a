/*
 * state_trip.h - does a change of a state document change anything else?
 *
 * The harness gets the functions that change as pointers, so that the same
 * checks run on our own and on variants that are broken on purpose and must be
 * caught (tests/broken). It reports instead of asserting, for the same reason.
 *
 * What holds: a change has a span in the bytes of the document, known before
 * from what was read. Every byte outside of it comes back, in the same order.
 */
#ifndef PDR_TEST_STATE_TRIP_H
#define PDR_TEST_STATE_TRIP_H

#include <perdure.h>

#include "roundtrip.h"

struct state_ops {
    pdr_rc (*append)(pdr_value **io, const pdr_value *entry, pdr_err *err);
    pdr_rc (*set_expiration)(pdr_value **io, int64_t ticks, pdr_err *err);
    pdr_rc (*clear_expiration)(pdr_value **io, pdr_err *err);
    pdr_rc (*remove_entries)(pdr_value **io, size_t first, size_t count,
                             pdr_err *err);
};

/* The functions of <perdure/doc.h>. */
extern const struct state_ops state_ours;

/* Entries to append: without and with an orchestration id, which raises the
 * version of an older document. */
extern const char state_client_turn[], state_orchestration_turn[];

/* Each reads `text`, a document that passes the gate, changes it, and compares
 * the bytes before and after. */
bool state_check_unchanged(struct roundtrip_report *report, pdr_str text);
/* `count` entries; or, where the list is no list, a refusal that leaves it
 * alone. */
bool state_check_append(struct roundtrip_report *report,
                        const struct state_ops *ops, pdr_str text,
                        const char *entry, size_t count);
bool state_check_expiration(struct roundtrip_report *report,
                            const struct state_ops *ops, pdr_str text);
/* Every entry alone, and all. */
bool state_check_removal(struct roundtrip_report *report,
                         const struct state_ops *ops, pdr_str text);

/* All of these, one to ten entries. */
bool state_check(struct roundtrip_report *report, const struct state_ops *ops,
                 pdr_str text);

#endif
