/*
 * perdure/xml.h - the W3C's XML representation of JSON.
 *
 * What json-to-xml of XPath 3.1 writes and xml-to-json reads: elements map,
 * array, string, number, boolean and null. Every JSON value goes in and comes
 * back as the same compact JSON text. The page docs/formats/xml.md has it byte
 * by byte.
 */
#ifndef PERDURE_XML_H
#define PERDURE_XML_H

#include <perdure/codec.h>

PDR_BEGIN_DECLS

/** The codec, for the functions of codec.h. Form "xml": one document; with
 * PDR_SEQUENCE one after another, a line each when written.
 * @thread any @since 0.1 */
PDR_API const pdr_codec *pdr_xml_codec(void);

PDR_END_DECLS

#endif
