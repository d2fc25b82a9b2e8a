/*
 * json_respells_number.c - a writer that spells 1.10 as 1.1. Must fail: the
 * round-trip harness has to see it.
 */
#include "roundtrip.h"
#include "test.h"

static pdr_rc write_respelling(pdr_buf *out, const pdr_value *value,
                               const pdr_write_opts *opts, pdr_err *err)
{
    static const char from[] = "1.10";
    size_t start = out->len;
    pdr_rc rc = pdr_json_write(out, value, opts, err);

    if (rc != PDR_OK)
        return rc;
    for (size_t i = start; i + sizeof(from) - 1 <= out->len; i++) {
        if (memcmp(out->ptr + i, from, sizeof(from) - 1) != 0)
            continue;
        memmove(out->ptr + i + 3, out->ptr + i + 4, out->len - i - 4);
        out->len--;
    }
    return PDR_OK;
}

TEST(json_roundtrip, does_not_see_that_a_number_was_respelled)
{
    static const struct roundtrip_codec broken = {pdr_json_read,
                                                  write_respelling};
    pdr_str text = pdr_str_c("{\"price\":1.10,\"unknown\":[true]}");
    struct roundtrip_report report;

    /* If good code does not pass, this failure would prove nothing. */
    if (!roundtrip_check(&report, &roundtrip_ours, text, text, NULL))
        return;
    if (!roundtrip_check(&report, &broken, text, text, NULL))
        fail_msg("caught: %s", report.text);
}
