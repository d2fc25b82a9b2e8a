/*
 * content_drops_member.c - a conversion that loses what the other shape has no
 * member for. Must fail: the round-trip harness has to see it.
 */
#include "content_trip.h"
#include "test.h"

/* Converts, then removes the additional properties, where such things go. */
static pdr_rc convert_dropping(pdr_value **out, const pdr_value *value,
                               pdr_shape from, pdr_shape to, pdr_err *err)
{
    pdr_str name = pdr_str_c("additional_properties");
    pdr_rc rc = pdr_content_convert(out, value, from, to, err);

    if (rc == PDR_OK && pdr_value_get(*out, name) != NULL)
        rc = pdr_value_remove(out, name, err);
    return rc;
}

TEST(content_trip, does_not_see_that_a_member_was_dropped)
{
    pdr_str text =
        pdr_str_c("{\"$type\":\"text\",\"text\":\"a\",\"new\":1.10}");
    struct content_trip_report report;
    pdr_value *value = NULL;
    bool ours = false, broken = false;

    ASSERT_RC(PDR_OK, pdr_json_read(&value, text, NULL, NULL));
    /* If good code does not pass, this failure would prove nothing. */
    ours = content_trip_check(&report, pdr_content_convert, value,
                              PDR_SHAPE_STATE, PDR_SHAPE_PYTHON);
    broken = content_trip_check(&report, convert_dropping, value,
                                PDR_SHAPE_STATE, PDR_SHAPE_PYTHON);
    pdr_value_free(value);
    if (ours && !broken)
        fail_msg("caught: %s", report.text);
}
