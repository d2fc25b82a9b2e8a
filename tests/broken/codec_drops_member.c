/*
 * codec_drops_member.c - a codec whose walk leaves one member out. Must fail:
 * each check of the suite for codecs that walks has to see it.
 */
#include <perdure/sys/codec.h>

#include "codec_trip.h"
#include "test.h"

static pdr_rc real_next(pdr_event *event, pdr_value **value, void *self,
                        pdr_err *err)
{
    return pdr_json_codec()->walk_next(event, value, self, err);
}

/* Pass the value that comes next. */
static pdr_rc pass_value(void *self, pdr_err *err)
{
    int depth = 0;

    do {
        pdr_event event = PDR_END_OF_INPUT;
        pdr_value *value = NULL;
        pdr_rc rc = real_next(&event, &value, self, err);
        pdr_value_free(value);
        if (rc != PDR_OK)
            return rc;
        depth += event == PDR_BEGIN_OBJECT || event == PDR_BEGIN_ARRAY;
        depth -= event == PDR_END;
    } while (depth > 0);
    return PDR_OK;
}

static pdr_rc next_dropping(pdr_event *event, pdr_value **value, void *self,
                            pdr_err *err)
{
    pdr_rc rc = real_next(event, value, self, err);

    if (rc != PDR_OK || *event != PDR_NAME ||
        !pdr_value_text_is(*value, pdr_str_c("unknown")))
        return rc;
    pdr_value_free(*value);
    *value = NULL;
    rc = pass_value(self, err);
    return rc == PDR_OK ? real_next(event, value, self, err) : rc;
}

TEST(every_codec, does_not_see_that_a_member_was_dropped)
{
    static const char json[] = "{\"kept\":1.10,\"unknown\":[true],\"b\":{}}\n";
    const pdr_codec *good = pdr_json_codec();
    pdr_codec broken = *good;
    struct roundtrip_report report;
    pdr_str text = pdr_str_c(json);
    size_t caught = 0;

    broken.walk_next = next_dropping;
    broken.walk_take = NULL; /* so that values are made of events */
    /* If good code does not pass, this failure would prove nothing. */
    if (!trip_check(&report, good, text, NULL) ||
        !trip_check_pair(&report, good, good, text, NULL) ||
        !trip_check_sequence(&report, good, PDR_SEQUENCE, text, NULL))
        return;
    caught += !trip_check_pair(&report, &broken, good, text, NULL);
    caught += !trip_check_sequence(&report, &broken, PDR_SEQUENCE, text, NULL);
    caught += !trip_check(&report, &broken, text, NULL);
    if (caught == 3)
        fail_msg("caught 3 of 3: %s", report.text);
}
