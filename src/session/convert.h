/*
 * convert.h - what the files of the conversion of sessions share. See
 * convert.c.
 */
#ifndef PDR_SESSION_CONVERT_H
#define PDR_SESSION_CONVERT_H

#include "session_core.h"

struct session_trip {
    pdr_session_shape from, to; /* NATIVE, DOTNET or PYTHON */
};

/* --- convert.c ----------------------------------------------------------- */

/* As pdr_session_convert(), for documents. `stated` is the kind that the
 * session is known to have, or UNSTATED. Findings point into `document`. */
PDR_MUST_CHECK pdr_rc pdr__session_convert_value(
    pdr_value **out, const pdr_value *document, pdr_session_shape from,
    pdr_session_kind stated, const pdr_session_convert_opts *opts,
    struct finder *finder, pdr_err *err);

/* --- objects (convert_note.c) -------------------------------------------- */

/* Put a member at the end. */
PDR_MUST_CHECK pdr_rc pdr__put_member(pdr_value **io, const char *name,
                                      const pdr_value *value, pdr_err *err);

/* The object with `value` in the place of the members of that name, or at its
 * end; NULL takes them out. */
PDR_MUST_CHECK pdr_rc pdr__with_member(pdr_value **io, const pdr_value *name,
                                       const pdr_value *value, pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__with_member_c(pdr_value **io, const char *name,
                                         const pdr_value *value, pdr_err *err);

/* Go down to the member that `name` names; the mark for pdr__finder_up(). */
PDR_MUST_CHECK pdr_rc pdr__finder_member(size_t *mark, struct finder *finder,
                                         const pdr_value *name, pdr_err *err);

/* --- members of the root (convert_parts.c) ------------------------------- */

/* What every shape has, whatever it calls it. All owned; NULL: none. */
struct parts {
    pdr_session_kind kind;
    pdr_value *id;      /* string */
    pdr_value *service; /* any JSON but null, blank texts and sentinels */
    pdr_value *durable; /* string, as the source spells it */
    bool prefixed;      /* it is spelled with "dafx-" */
    bool local;         /* there was a sentinel: history by service call */
    pdr_value *bag;     /* object, in the spelling of the source */
    pdr_value *others;  /* object: members that the shape does not know */
    pdr_value *perdure; /* object: what of `perdure` goes on */
};

/* Would .NET take the name at the root for one of its own, though it is spelled
 * in another case? Never in a document of Python. */
bool pdr__is_odd_name(const pdr_value *name, pdr_session_shape shape);

PDR_MUST_CHECK pdr_rc pdr__parts_read(struct parts *out,
                                      const pdr_value *document,
                                      pdr_session_shape shape, pdr_err *err);
void pdr__parts_dispose(struct parts *parts);

/* The document in `trip.to`; parts->bag is in its spelling already. What has no
 * member there is told. */
PDR_MUST_CHECK pdr_rc pdr__parts_write(pdr_value **out,
                                       const struct parts *parts,
                                       struct session_trip trip,
                                       struct finder *finder, pdr_err *err);

/* Does it stand for "history is local" in the place of a service id? */
bool pdr__value_is_sentinel(const pdr_value *value);

/* Let a .NET document say what kind it is, if its members do not. */
PDR_MUST_CHECK pdr_rc pdr__state_kind(pdr_value **io, pdr_session_kind kind,
                                      pdr_err *err);

/* The id of the session that the document states, or NULL. */
const pdr_value *pdr__document_id(const pdr_value *document,
                                  pdr_session_shape shape);

/* --- slots and messages (convert_bag.c) ---------------------------------- */

/* A history in two shapes, of which each becomes the other: every message was
 * converted back and found the same. Set up with {0}. */
struct histories {
    pdr_value *sides[2]; /* owned: the lists of messages; NULL: none yet */
    pdr_shape shapes[2];
};
void pdr__histories_dispose(struct histories *known);

/* The bag in the spelling of `trip.to`. A history that is `known` is not
 * converted again, unless somebody is told of it. Findings have the names of
 * `document`, which holds the bag. */
PDR_MUST_CHECK pdr_rc pdr__bag_convert(pdr_value **out,
                                       const pdr_value *document,
                                       const pdr_value *bag,
                                       struct session_trip trip,
                                       struct histories *known,
                                       struct finder *finder, pdr_err *err);

/* The document with `$type` first in every content of its history, as .NET
 * needs it. */
PDR_MUST_CHECK pdr_rc pdr__types_first(pdr_value **io, pdr_err *err);

/* --- notes (convert_note.c) ---------------------------------------------- */

/* The note for the way back, to `shape`, that turns `back` into `source`; NULL
 * if they are the same, or differ in more than a patch may hold. */
PDR_MUST_CHECK pdr_rc pdr__note_make(pdr_value **out, const pdr_value *back,
                                     const pdr_value *source,
                                     pdr_session_shape shape, pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__note_add_whole(pdr_value **note,
                                          const pdr_value *source,
                                          pdr_err *err);

/* What the note says of a document that was converted back, to `shape`; what no
 * longer fits is left alone. `note` may be NULL or anything. */
PDR_MUST_CHECK pdr_rc pdr__note_apply(pdr_value **io, const pdr_value *note,
                                      pdr_session_shape shape, pdr_err *err);

/* The source that the note holds as a whole; NULL if it holds none. */
PDR_MUST_CHECK pdr_rc pdr__note_whole(pdr_value **out, const pdr_value *note,
                                      pdr_err *err);

/* --- Python before 1.22 (convert_python.c) ------------------------------- */

/* The document for 1.13 to 1.21, and back. `source` is the document that the
 * findings speak of. */
PDR_MUST_CHECK pdr_rc pdr__python_older(pdr_value **out,
                                        const pdr_value *document,
                                        pdr_session_shape source,
                                        struct finder *finder, pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__python_newer(pdr_value **out,
                                        const pdr_value *document,
                                        pdr_err *err);

/* --- documents without a bag (convert_thread.c) -------------------------- */

/* The session of today that a thread-era document is, in the shape of its
 * edition; it has no id yet. */
PDR_MUST_CHECK pdr_rc pdr__thread_convert(pdr_value **out,
                                          const pdr_value *document,
                                          pdr_session_shape from,
                                          pdr_str provider_key,
                                          struct finder *finder, pdr_err *err);

/* Findings about that session as findings about the thread: a finder to hand
 * on, and where it passes them on to. */
struct thread_finder {
    struct finder inner;
    struct finder *outer;
    pdr_session_shape from;
    const pdr_value *document; /* borrowed */
    pdr_str provider_key;
};
void pdr__thread_finder_init(struct thread_finder *out, struct finder *outer,
                             const pdr_value *document, pdr_session_shape from,
                             pdr_str provider_key);

#endif
