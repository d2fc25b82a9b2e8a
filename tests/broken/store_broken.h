/*
 * store_broken.h - a store with a planted mistake, for the suite of stores.
 *
 * It is the one in memory with another commit: include this and write
 * broken_write(). The file of the suite that must find it is linked beside.
 */
#ifndef PDR_STORE_BROKEN_H
#define PDR_STORE_BROKEN_H

#include "../../src/store/memory/memory.h"
#include "../conformance/store/suite.h"

/* Written by who includes this: carry out one write, and make the mistake. */
static void broken_write(pdr_store *store, pdr_write *write);

/* Carry it out with other edits than were asked for. */
typedef void (*break_fn)(pdr_edit *edit);
static inline void write_changed(pdr_store *store, pdr_write *write,
                                 break_fn fn)
{
    pdr_edit *edits = calloc(write->count, sizeof(*edits));

    assert_non_null(edits);
    for (size_t i = 0; i < write->count; i++) {
        edits[i] = *write->plans[i].edit;
        fn(&edits[i]);
        write->plans[i].edit = &edits[i];
    }
    pdr__memory_ops.commit(store, &write, 1);
    free(edits); /* the library is through with the plans, too */
}

static void broken_commit(pdr_store *store, pdr_write *const *writes,
                          size_t count)
{
    for (size_t i = 0; i < count; i++)
        broken_write(store, writes[i]);
}

static pdr_store_ops broken_ops; /* as those in memory; filled by place() */

static pdr_rc broken_open(pdr_store **out, const char *rest, pdr_err *err)
{
    pdr_rc rc = pdr__memory_ops.open(out, rest, err);

    if (rc == PDR_OK)
        (*out)->ops = &broken_ops;
    return rc;
}

static const char *place(void)
{
    if (broken_ops.name == NULL) {
        broken_ops = pdr__memory_ops;
        broken_ops.name = "broken";
        broken_ops.open = broken_open;
        broken_ops.commit = broken_commit;
        ASSERT_RC(PDR_OK, pdr_store_register(&broken_ops, NULL));
    }
    return "broken:";
}

static void clear(const char *uri)
{
    (void)uri;
}

const struct suite_backend suite_backend = {
    .name = "broken", .capabilities = 0, .place = place, .clear = clear};

#endif
