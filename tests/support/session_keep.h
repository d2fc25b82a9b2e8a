/*
 * session_keep.h - does a session lose or touch anything of its document?
 *
 * The harness gets reading and writing of sessions as pointers, so that the
 * same checks run on our own and on variants that are broken on purpose and
 * must be caught (tests/broken). It reports instead of asserting, for the same
 * reason.
 *
 * What holds: an unchanged session is the same bytes. A slot that is set has a
 * span in these bytes, known before from what was read; every byte outside of
 * it comes back.
 */
#ifndef PDR_TEST_SESSION_KEEP_H
#define PDR_TEST_SESSION_KEEP_H

#include <perdure.h>

#include "roundtrip.h"

struct session_ops {
    pdr_rc (*from_value)(pdr_session **out, const pdr_value *value,
                         pdr_err *err);
    pdr_rc (*to_value)(pdr_value **out, pdr_session *session, pdr_err *err);
};

/* The functions of <perdure/session.h>. */
extern const struct session_ops session_ours;

/* Each takes JSON text that is a session; bare tokens are read. */
bool session_check_unchanged(struct roundtrip_report *report,
                             const struct session_ops *ops, pdr_str text);
/* Every slot that can be named, one at a time; one more slot, and away again.
 */
bool session_check_slots(struct roundtrip_report *report,
                         const struct session_ops *ops, pdr_str text);
/* Through another format and back: the same value, spelled the same. */
bool session_check_format(struct roundtrip_report *report,
                          const struct session_ops *ops, pdr_str text,
                          const pdr_codec *codec);

#endif
