/*
 * session_trip.h - does a conversion of sessions lose anything, or tell lies?
 *
 * The harness gets the conversion as a function pointer, so that the same check
 * runs on ours and on one that is broken on purpose (tests/broken). It reports
 * instead of asserting, for the same reason.
 */
#ifndef PDR_TEST_SESSION_TRIP_H
#define PDR_TEST_SESSION_TRIP_H

#include <perdure.h>

typedef pdr_rc (*session_trip_fn)(pdr_session **out, pdr_session *session,
                                  const pdr_session_convert_opts *opts,
                                  pdr_err *err, pdr_doc_finding_fn fn,
                                  void *arg);

struct session_trip_report {
    char text[900];   /* what was found wrong; "" if nothing */
    size_t findings;  /* of the way there */
    size_t warnings;  /* of these */
    char rules[2000]; /* "info id-minted \n" for each of them, in order */
};

/* Convert there, write it as JSON text, read that and convert it back: the same
 * comes back, order of members and spelling of numbers included. Each finding
 * is about something that is in the document. `expected` is what comes back,
 * NULL for the document itself. */
bool session_trip_check(struct session_trip_report *report, session_trip_fn fn,
                        const pdr_value *document, pdr_session_shape to,
                        const pdr_value *expected);

/* One way only: the document in another shape; owned, NULL if it was refused.
 */
pdr_value *session_trip_to(struct session_trip_report *report,
                           session_trip_fn fn, const pdr_value *document,
                           pdr_session_shape to);

#endif
