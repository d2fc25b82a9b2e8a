/*
 * codec_takes_cuts.c - a codec that ends for itself what was cut off. Must
 * fail: the suite for codecs has to see it, in documents and in sequences.
 */
#include <perdure/sys/codec.h>

#include "codec_trip.h"
#include "test.h"

static size_t depth; /* of the one walk that runs */
static bool cut;

static pdr_rc open_anew(void **self, const pdr_read_opts *opts, pdr_err *err,
                        pdr_read_fn fn, void *arg)
{
    depth = 0;
    cut = false;
    return pdr_json_codec()->walk_open(self, opts, err, fn, arg);
}

/* A comma or a name that hangs at the end is forgiven too. */
static pdr_rc next_forgiving(pdr_event *event, pdr_value **value, void *self,
                             pdr_err *err)
{
    pdr_rc rc = PDR_OK;

    if (!cut)
        rc = pdr_json_codec()->walk_next(event, value, self, err);
    if (rc != PDR_OK && strcmp(err->reason, "unexpected_end") == 0) {
        cut = true;
        rc = PDR_OK;
    }
    if (cut)
        *event = depth > 0 ? PDR_END : PDR_END_OF_INPUT;
    depth += rc == PDR_OK &&
             (*event == PDR_BEGIN_OBJECT || *event == PDR_BEGIN_ARRAY);
    depth -= rc == PDR_OK && *event == PDR_END;
    return rc;
}

TEST(every_codec, does_not_see_that_a_cut_document_passed)
{
    const pdr_codec *good = pdr_json_codec();
    pdr_str text = pdr_str_c("[[1,2],[3]]\n");
    pdr_codec broken = *good;
    struct roundtrip_report report;
    size_t caught = 0;

    broken.read = NULL;
    broken.walk_take = NULL;
    broken.walk_open = open_anew;
    broken.walk_next = next_forgiving;
    /* If good code does not pass, or this one fails without a cut, a failure
     * would prove nothing. */
    if (!trip_check_cuts(&report, good, text) ||
        !trip_check_sequence_cuts(&report, good, PDR_SEQUENCE, text) ||
        !trip_check_pair(&report, &broken, good, text, NULL))
        return;
    caught += !trip_check_sequence_cuts(&report, &broken, PDR_SEQUENCE, text);
    caught += !trip_check_cuts(&report, &broken, text);
    if (caught == 2)
        fail_msg("caught 2 of 2: %s", report.text);
}
