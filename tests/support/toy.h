/*
 * toy.h - a codec that the library does not know, as a stranger would write it.
 *
 * A token is a line, so that a test can read what it sees:
 *
 *     C1 LF       a document begins; 0xC1 begins nothing in the other formats
 *     { [ } ]     a container begins or ends
 *     :"name"     a name, as JSON spells it
 *     =1.10       a scalar, as JSON spells it
 *
 * Forms "toy" (one document) and "toys" (documents one after another). It has
 * the required slots only, so everything else is the library's own.
 */
#ifndef PDR_TEST_TOY_H
#define PDR_TEST_TOY_H

#include <perdure/codec.h>

const pdr_codec *toy_codec(void);

#endif
