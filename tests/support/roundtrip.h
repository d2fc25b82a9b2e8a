/*
 * roundtrip.h - does a reader and writer of JSON text lose anything?
 *
 * The harness gets both as function pointers, so that the same checks run on
 * our own code, on each kernel and each constructor, and on variants that are
 * broken on purpose and must be caught (tests/broken). It reports instead of
 * asserting, for the same reason.
 */
#ifndef PDR_TEST_ROUNDTRIP_H
#define PDR_TEST_ROUNDTRIP_H

#include <stdbool.h>
#include <stddef.h>

#include <perdure.h>

struct roundtrip_codec {
    pdr_rc (*read)(pdr_value **out, pdr_str text, const pdr_read_opts *opts,
                   pdr_err *err);
    pdr_rc (*write)(pdr_buf *out, const pdr_value *value,
                    const pdr_write_opts *opts, pdr_err *err);
};

/* The functions of <perdure/json.h>. */
extern const struct roundtrip_codec roundtrip_ours;

/* What a check found wrong: one line, "" if nothing. */
struct roundtrip_report {
    char text[400];
};

/* The bytes of the root value: `input` without the white space around it. */
pdr_str roundtrip_root(pdr_str input);

/*
 * Read `input`, then: compact writing gives `compact`; writing as read gives
 * the root's bytes; compact and pretty text read back as an equal value and
 * write as `compact` again; the raw span is there. `opts` may be NULL; its
 * flags hold for writing too.
 */
bool roundtrip_check(struct roundtrip_report *report,
                     const struct roundtrip_codec *codec, pdr_str input,
                     pdr_str compact, const pdr_read_opts *opts);

/* As roundtrip_check(), for a document whose compact form nobody wrote down. */
bool roundtrip_check_as_read(struct roundtrip_report *report,
                             const struct roundtrip_codec *codec, pdr_str input,
                             const pdr_read_opts *opts);

#endif
