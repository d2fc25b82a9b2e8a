/*
 * content_trip.c - see content_trip.h.
 */
#include "content_trip.h"

#include <stdio.h>

static void tell(struct content_trip_report *report, const char *what,
                 const pdr_value *value, const pdr_value *back)
{
    pdr_write_opts opts = {PDR_BARE_TOKENS, PDR_COMPACT, 0, NULL};
    pdr_buf a = PDR_BUF_INIT(1 << 26), b = PDR_BUF_INIT(1 << 26);

    if (pdr_json_write(&a, value, &opts, NULL) == PDR_OK &&
        (back == NULL || pdr_json_write(&b, back, &opts, NULL) == PDR_OK))
        snprintf(report->text, sizeof(report->text), "%s: %.*s became %.*s",
                 what, a.len > 250 ? 250 : (int)a.len, a.ptr,
                 b.len > 250 ? 250 : (int)b.len, b.len > 0 ? b.ptr : "");
    pdr_buf_dispose(&b);
    pdr_buf_dispose(&a);
}

bool content_trip_check(struct content_trip_report *report, content_trip_fn fn,
                        const pdr_value *value, pdr_shape from, pdr_shape to)
{
    pdr_value *there = NULL, *back = NULL;
    bool same = false;

    report->text[0] = '\0';
    if (fn(&there, value, from, to, NULL) != PDR_OK)
        tell(report, "was refused", value, NULL);
    else if (fn(&back, there, to, from, NULL) != PDR_OK)
        tell(report, "was refused on the way back", there, NULL);
    else if (pdr_value_equal_unordered(&same, value, back, NULL) != PDR_OK ||
             !same)
        tell(report, "did not come back", value, back);
    pdr_value_free(back);
    pdr_value_free(there);
    return report->text[0] == '\0';
}

void content_trip_each(const pdr_value *value, content_trip_each_fn fn,
                       void *arg)
{
    const pdr_value *contents = pdr_value_get_c(value, "contents");
    bool has_role = pdr_value_get_c(value, "role") != NULL;
    pdr_iter it;

    if (contents == NULL) { /* of Semantic Kernel */
        contents = pdr_value_get_c(value, "Items");
        has_role = pdr_value_get_c(value, "Role") != NULL;
    }
    if (contents != NULL && pdr_value_kind(contents) == PDR_ARRAY && has_role) {
        fn(value, true, arg);
        pdr_iter_init(&it, contents);
        while (pdr_iter_next(&it))
            fn(it.value, false, arg);
    }
    pdr_iter_init(&it, value);
    while (pdr_iter_next(&it))
        content_trip_each(it.value, fn, arg);
}
