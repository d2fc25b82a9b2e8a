/*
 * json_drops_member.c - a reader that loses one member. Must fail: the
 * round-trip harness has to see it.
 */
#include "roundtrip.h"
#include "test.h"

/* Reads, then removes the last member of a root object. */
static pdr_rc read_dropping(pdr_value **out, pdr_str text,
                            const pdr_read_opts *opts, pdr_err *err)
{
    pdr_buf scratch = PDR_BUF_INIT(1024);
    const pdr_value *last = NULL;
    pdr_str name = {NULL, 0};
    pdr_iter it;
    pdr_rc rc = pdr_json_read(out, text, opts, err);

    if (rc != PDR_OK)
        return rc;
    pdr_iter_init(&it, *out);
    while (pdr_iter_next(&it))
        last = it.name;
    if (last != NULL)
        rc = pdr_value_text(&name, last, &scratch, err);
    if (rc == PDR_OK && last != NULL) {
        /* Removing ends what was borrowed: the name needs its own bytes. */
        char own[64];
        assert_true(name.len < sizeof(own));
        memcpy(own, name.ptr, name.len);
        rc = pdr_value_remove(out, pdr_str_n(own, name.len), err);
    }
    pdr_buf_dispose(&scratch);
    return rc;
}

TEST(json_roundtrip, does_not_see_that_a_member_was_dropped)
{
    static const struct roundtrip_codec broken = {read_dropping,
                                                  pdr_json_write};
    pdr_str text = pdr_str_c("{\"kept\":1.10,\"unknown\":[true]}");
    struct roundtrip_report report;

    /* If good code does not pass, this failure would prove nothing. */
    if (!roundtrip_check(&report, &roundtrip_ours, text, text, NULL))
        return;
    if (!roundtrip_check(&report, &broken, text, text, NULL))
        fail_msg("caught: %s", report.text);
}
