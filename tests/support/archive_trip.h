/*
 * archive_trip.h - does a document lose anything on its way into a store and
 * out of it?
 *
 * The harness gets import and export as pointers, so that the same checks run
 * on our own and on variants that are broken on purpose and must be caught
 * (tests/broken). It reports instead of asserting, for the same reason.
 *
 * What holds: a session that nobody changed comes out as the bytes that went
 * in. After a change, what came out differs from what went in at one place
 * only; and put into a store again, it gives the rows that the change left.
 */
#ifndef PDR_TEST_ARCHIVE_TRIP_H
#define PDR_TEST_ARCHIVE_TRIP_H

#include <perdure.h>

#include "roundtrip.h"

struct archive_ops {
    pdr_rc (*import)(pdr_import_report *out, pdr_store *store,
                     const pdr_import_opts *opts, pdr_err *err, pdr_read_fn fn,
                     void *arg);
    pdr_rc (*export)(pdr_export_report *out, pdr_store *store,
                     const pdr_export_opts *opts, pdr_err *err, pdr_write_fn fn,
                     void *arg);
};

/* The functions of <perdure/archive.h>. */
extern const struct archive_ops archive_ours;

/* Each takes a document that can be imported. Two sessions of the
 * store are made for it, and gone afterwards. */

/* In and out: the same bytes. */
bool archive_check_unchanged(struct roundtrip_report *report,
                             const struct archive_ops *ops, pdr_store *store,
                             pdr_str text);
/* An entry more, the first one less; each slot and each property set, and
 * removed; one more of both; the expiry set, moved, cleared and given back. One
 * change at a time, `*changes` counts them. */
bool archive_check_changes(struct roundtrip_report *report,
                           const struct archive_ops *ops, pdr_store *store,
                           pdr_str text, size_t *changes);

#endif
