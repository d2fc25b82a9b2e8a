/*
 * msgpack_avx2.c - the reader for processors with AVX2.
 */
#include "msgpack.h"

#if defined(__x86_64__)

#define TEXT_AVX2
#define KERNEL pdr__mp_kernel_avx2
#include "msgpack_core.h"

#define EIGHT(c)      c, c, c, c, c, c, c, c
#define THIRTY_TWO(c) EIGHT(c), EIGHT(c), EIGHT(c), EIGHT(c)

const struct text_steps pdr__text_steps = {
    .two = {THIRTY_TWO(2)},
    .low = {THIRTY_TWO(0x21)},
    .slash = {THIRTY_TWO('\\')},
};

#else

bool pdr__mp_kernel_avx2(struct mp_reader *r)
{
    return pdr__mp_kernel(r);
}

#endif
