/*
 * msgpack_portable.c - the reader for any processor: words of eight bytes.
 */
#include "msgpack.h"

#define TEXT_WORDS
#define KERNEL pdr__mp_kernel_portable
#include "msgpack_core.h"
