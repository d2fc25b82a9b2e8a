/*
 * metadata.h - what the files of this folder share. See README.md.
 */
#ifndef PDR_METADATA_H
#define PDR_METADATA_H

#include <perdure/metadata.h>

#include "session.h"

/* --- properties (properties.c) ------------------------------------------- */

/* A property that is there. All borrowed. */
struct property {
    pdr_str asked;            /* the name that it was found by */
    const pdr_value *spelled; /* its own, if that differs in case; else NULL */
    const pdr_value *value;
};

/* Its own name. `room` holds it if it was decoded. */
#define PROPERTY_ROOM (6u * PDR_MAX_KEY_BYTES) /* all of it in escapes */
pdr_str pdr__property_name(char room[PROPERTY_ROOM],
                           const struct property *property);

/* The property of a type: by its name, then by its aliases. Fails with
 * NO_PROPERTY, KEY_AMBIGUOUS, or as pdr__key_check() does with its name. */
PDR_MUST_CHECK pdr_rc pdr__property_of_type(struct property *out,
                                            const pdr_properties *properties,
                                            const pdr_state_type *type,
                                            pdr_err *err);

/* --- places (properties.c) ----------------------------------------------- */

/* Put a name in front of the path in `err`, if there is one and it is whole. */
void pdr__path_below(pdr_err *err, pdr_str name);

#endif
