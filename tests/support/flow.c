/* A long stream, told by a few texts and how often each comes. */
#include "flow.h"

void flow_init(struct flow *flow, const struct flow_piece *pieces)
{
    memset(flow, 0, sizeof(*flow));
    flow->pieces = pieces;
}

/* The next bytes, at most `cap`; none at the end. */
static pdr_str take(struct flow *f, size_t cap)
{
    const struct flow_piece *p = &f->pieces[f->piece];
    pdr_str out = {NULL, 0};

    while (p->text != NULL && (f->time == p->times || p->text[0] == '\0')) {
        f->time = 0;
        p = &f->pieces[++f->piece];
    }
    if (p->text == NULL)
        return out;
    out = pdr_str_c(p->text + f->at);
    if (out.len > cap)
        out.len = cap;
    f->at += out.len;
    if (p->text[f->at] == '\0') {
        f->at = 0;
        f->time++;
    }
    f->given += out.len;
    return out;
}

pdr_rc flow_read(size_t *got, void *into, size_t cap, pdr_err *err, void *arg)
{
    struct flow *f = arg;
    pdr_str next = {NULL, 0};

    (void)err;
    *got = 0;
    if (f->fn != NULL) {
        pdr_rc rc = f->fn(f->given, f->arg);

        if (rc != PDR_OK)
            return rc;
    }
    do {
        next = take(f, cap - *got);
        if (next.len > 0)
            memcpy((char *)into + *got, next.ptr, next.len);
        *got += next.len;
    } while (next.len > 0 && *got < cap);
    return PDR_OK;
}

pdr_rc flow_compare(pdr_str bytes, pdr_err *err, void *arg)
{
    struct flow *f = arg;

    (void)err;
    while (bytes.len > 0) {
        pdr_str next = take(f, bytes.len);

        if (next.len == 0 || memcmp(next.ptr, bytes.ptr, next.len) != 0)
            return PDR_EINVALID;
        bytes = pdr_str_n(bytes.ptr + next.len, bytes.len - next.len);
    }
    return PDR_OK;
}

bool flow_is_over(struct flow *flow)
{
    return take(flow, 1).len == 0;
}

bool flow_gives(const struct flow_piece *pieces, pdr_str text)
{
    struct flow flow;

    flow_init(&flow, pieces);
    return flow_compare(text, NULL, &flow) == PDR_OK && flow_is_over(&flow);
}
