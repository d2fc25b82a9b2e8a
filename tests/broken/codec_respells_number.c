/*
 * codec_respells_number.c - a codec that writes 1.10 as 1.1 if it comes as an
 * event. Must fail: the suite for codecs has to see it.
 */
#include <perdure/sys/codec.h>

#include "codec_trip.h"
#include "test.h"

static pdr_rc put_respelling(void *self, const pdr_place *place,
                             pdr_event event, const pdr_value *value,
                             pdr_err *err)
{
    const pdr_codec *good = pdr_json_codec();
    pdr_str raw = {NULL, 0};
    pdr_value *other = NULL;

    if (event != PDR_SCALAR || !pdr_value_raw(&raw, value) ||
        !pdr_str_equal(pdr_str_c("1.10"), raw))
        return good->writer_put(self, place, event, value, err);
    pdr_rc rc = pdr_value_new_number(&other, pdr_str_c("1.1"), err);
    if (rc == PDR_OK)
        rc = good->writer_put(self, place, event, other, err);
    pdr_value_free(other);
    return rc;
}

TEST(every_codec, does_not_see_that_a_number_was_respelled)
{
    pdr_str text = pdr_str_c("{\"price\":1.10,\"unknown\":[true]}");
    pdr_codec broken = *pdr_json_codec();
    struct roundtrip_report report;

    broken.writer_put = put_respelling;
    /* If good code does not pass, this failure would prove nothing. */
    if (!trip_check(&report, pdr_json_codec(), text, NULL))
        return;
    if (!trip_check(&report, &broken, text, NULL))
        fail_msg("caught: %s", report.text);
}
