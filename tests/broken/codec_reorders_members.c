/*
 * codec_reorders_members.c - a codec that reads the first two members of an
 * object in the other order. Must fail: the suite for codecs has to see it.
 */
#include <perdure/sys/codec.h>

#include "codec_trip.h"
#include "test.h"

/* Add member `index` of an object. */
static void add_member(pdr_builder *builder, const pdr_value *object,
                       size_t index)
{
    pdr_iter it;
    pdr_str raw = {NULL, 0};

    pdr_iter_init(&it, object);
    while (pdr_iter_next(&it)) {
        if (it.index != index || !pdr_value_raw(&raw, it.name))
            continue;
        pdr_builder_escaped_name(builder, pdr_str_n(raw.ptr + 1, raw.len - 2));
        pdr_builder_value(builder, it.value);
    }
}

static pdr_rc read_reordering(pdr_value **out, pdr_str text,
                              const pdr_read_opts *opts, pdr_err *err)
{
    pdr_builder *builder = NULL;
    pdr_value *value = NULL;
    pdr_rc rc = pdr_json_read(&value, text, opts, err);

    if (rc == PDR_OK && pdr_value_kind(value) == PDR_OBJECT &&
        pdr_value_count(value) >= 2) {
        rc = pdr_builder_new(&builder, err);
        if (rc == PDR_OK) {
            pdr_builder_object(builder);
            for (size_t i = 0; i < pdr_value_count(value); i++)
                add_member(builder, value, i < 2 ? 1 - i : i);
            pdr_builder_end(builder);
            rc = pdr_builder_finish(out, builder, err);
        }
        pdr_builder_free(builder);
        pdr_value_free(value);
        return rc;
    }
    *out = value;
    return rc;
}

TEST(every_codec, does_not_see_that_members_were_reordered)
{
    pdr_str text = pdr_str_c("{\"b\":1,\"a\":2,\"c\":3}");
    pdr_codec broken = *pdr_json_codec();
    struct roundtrip_report report;
    size_t caught = 0;

    broken.read = read_reordering;
    /* If good code does not pass, this failure would prove nothing. */
    if (!trip_check(&report, pdr_json_codec(), text, NULL) ||
        !trip_check_pair(&report, pdr_json_codec(), pdr_json_codec(), text,
                         NULL))
        return;
    caught += !trip_check_pair(&report, pdr_json_codec(), &broken, text, NULL);
    caught += !trip_check(&report, &broken, text, NULL);
    if (caught == 2)
        fail_msg("caught 2 of 2: %s", report.text);
}
