/*
 * xml_read.c - an XML document in memory to a value.
 */
#include "xml_core.h"

static pdr_rc parse_all(struct xml_parser *x, pdr_str input)
{
    bool last = false;

    pdr__xml_begin(x, input.ptr, input.len);
    while (x->rc == PDR_OK && !last && !(x->one && x->done)) {
        size_t left = input.len - x->fed;
        const char *from = left > 0 ? input.ptr + x->fed : "";
        size_t len = pdr__xml_piece(x, from, left);
        last = len == left;
        if (pdr__xml_feed(x, from, len, last) == XML_STOPPED &&
            !(x->one && x->done))
            pdr__xml_refuse(x);
    }
    return x->rc;
}

/* Documents of agents have a node for every 37 bytes of XML, and 0.7 bytes of
 * JSON for each. Others grow, which copies. */
static void expect(struct xml_parser *x, size_t bytes)
{
    size_t nodes = bytes / 32 + 4;

    if (x->one)
        return; /* who knows how much of it is wanted */
    pdr__builder_expect(
        x->builder, nodes < x->limits.nodes ? (uint32_t)nodes : x->limits.nodes,
        bytes / 4 * 3);
}

static pdr_rc read_document(pdr_value **out, struct xml_parser *x,
                            pdr_str input, const pdr_read_opts *opts,
                            pdr_err *err)
{
    x->one = x->limits.trailing;
    pdr_rc rc = pdr_builder_new(&x->builder, err);
    if (rc != PDR_OK)
        return rc;
    expect(x, input.len);
    rc = parse_all(x, input);
    if (rc != PDR_OK)
        (void)pdr__xml_give_failure(x, err);
    else
        rc = pdr_builder_finish(out, x->builder, err);
    if (rc == PDR_OK && opts->used != NULL)
        *opts->used = (size_t)x->end;
    pdr_builder_free(x->builder);
    return rc;
}

pdr_rc pdr__xml_read(pdr_value **out, pdr_str input, const pdr_read_opts *opts,
                     pdr_err *err)
{
    struct xml_parser x;
    pdr_rc rc = pdr__xml_init(&x, opts, err);

    if (rc == PDR_OK && input.len > x.limits.bytes)
        rc = PDR_FAIL_AT(err, x.limits.bytes, TOO_LARGE,
                         "%zu bytes, the limit is %zu", input.len,
                         x.limits.bytes);
    if (rc == PDR_OK)
        rc = read_document(out, &x, input, opts, err);
    pdr__xml_dispose(&x);
    return rc;
}
