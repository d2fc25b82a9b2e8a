/*
 * perdure/msgpack.h - MessagePack.
 *
 * Every JSON value goes in and comes back as the same compact JSON text. What
 * the native types cannot hold (the spelling of a number, an escape that we
 * would not write, half a surrogate pair) stands in extension types 1 and 2.
 * With PDR_EXCHANGE only native types are written, for other programs: spelling
 * is given up and counted, what has no native value is refused. The page
 * docs/formats/msgpack.md has it byte by byte.
 */
#ifndef PERDURE_MSGPACK_H
#define PERDURE_MSGPACK_H

#include <perdure/codec.h>

PDR_BEGIN_DECLS

/** The codec, for the functions of codec.h. Forms "msgpack" (documents, one or
 * more, with nothing between them) and "records" (PDR_RECORDS: the length of
 * each in four bytes in front, as in history files of the Python edition).
 * @thread any @since 0.1 */
PDR_API const pdr_codec *pdr_msgpack_codec(void);

PDR_END_DECLS

#endif
