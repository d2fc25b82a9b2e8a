/*
 * codec_takes_damage.c - a codec that reads what its walk refuses: it does not
 * look behind the document. Must fail: the suite for codecs has to see it.
 */
#include <perdure/sys/codec.h>

#include "codec_trip.h"
#include "test.h"

static pdr_rc read_loosely(pdr_value **out, pdr_str text,
                           const pdr_read_opts *opts, pdr_err *err)
{
    pdr_read_opts loose = *opts;

    loose.flags |= PDR_TRAILING;
    return pdr_json_read(out, text, &loose, err);
}

TEST(every_codec, does_not_see_that_damage_passed)
{
    pdr_str text = pdr_str_c("[12,[]]");
    pdr_codec broken = *pdr_json_codec();
    struct roundtrip_report report;

    broken.read = read_loosely;
    /* If good code does not pass, this failure would prove nothing. */
    if (!trip_check_damage(&report, pdr_json_codec(), text) ||
        !trip_check(&report, &broken, text, NULL))
        return;
    if (!trip_check_damage(&report, &broken, text))
        fail_msg("caught: %s", report.text);
}
