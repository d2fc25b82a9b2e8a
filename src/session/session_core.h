/*
 * session_core.h - what a session is in memory. For session*.c only.
 */
#ifndef PDR_SESSION_CORE_H
#define PDR_SESSION_CORE_H

#include "shape.h"

struct pdr_session {
    atomic_size_t refs;              /* owners; the last one frees it */
    pdr_session_shape shape;         /* never changes */
    const struct shape_names *names; /* of the shape; static */
    pdr_bag *bag;                    /* owned; its lock guards what follows */
    pdr_buf id;                      /* of the session; never changes */
    pdr_buf durable;                 /* "@dafx-agent@key"; never changes */
    pdr_str agent, key;              /* inside `durable` */
    bool is_made; /* the document was made here, so members have an order */

    /* guarded by the bag's lock */
    pdr_session_kind kind;
    pdr_value *root;      /* owned; the document */
    pdr_value *bag_value; /* owned; the bag as it is in `root` */
    bool is_running;      /* an agent works on it */
};

/* A session of a document of this shape and kind; its members are checked.
 * Fails as pdr_session_from_value_as(). */
PDR_MUST_CHECK pdr_rc pdr__session_open(pdr_session **out,
                                        const pdr_value *value,
                                        pdr_session_shape shape,
                                        pdr_session_kind kind, pdr_err *err);

/* As pdr_session_new(), with randomness from `source`. */
PDR_MUST_CHECK pdr_rc pdr__session_new(pdr_session **out,
                                       const pdr_session_parts *parts,
                                       const struct pdr__rand *source,
                                       pdr_err *err);

/* The version that native documents of ours have. */
#define PDR_SESSION_VERSION "1.0.0"

/* Does a value stand for "no id": nothing, blank, or one of the two texts that
 * say that the history is local? Fails with NO_MEMORY. */
PDR_MUST_CHECK pdr_rc pdr__service_id_is_none(bool *out, const pdr_value *value,
                                              pdr_err *err);

#endif
