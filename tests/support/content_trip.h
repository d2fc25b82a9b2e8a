/*
 * content_trip.h - does a conversion of contents or messages lose anything?
 *
 * The harness gets the conversion as a function pointer, so that the same check
 * runs on ours and on one that is broken on purpose (tests/broken). It reports
 * instead of asserting, for the same reason.
 */
#ifndef PDR_TEST_CONTENT_TRIP_H
#define PDR_TEST_CONTENT_TRIP_H

#include <perdure.h>

typedef pdr_rc (*content_trip_fn)(pdr_value **out, const pdr_value *value,
                                  pdr_shape from, pdr_shape to, pdr_err *err);

struct content_trip_report {
    char text[600]; /* what was found wrong; "" if nothing */
};

/* Convert there and back: the same comes back, in whatever order its members
 * stand. */
bool content_trip_check(struct content_trip_report *report, content_trip_fn fn,
                        const pdr_value *value, pdr_shape from, pdr_shape to);

/* Call `fn` for every message, and every content in it, that is anywhere in
 * `value`. */
typedef void (*content_trip_each_fn)(const pdr_value *value, bool message,
                                     void *arg);
void content_trip_each(const pdr_value *value, content_trip_each_fn fn,
                       void *arg);

#endif
