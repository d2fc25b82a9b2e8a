/*
 * msgpack_avx2.c - the reader for processors with AVX2.
 */
#include "msgpack.h"

#if defined(__x86_64__)

#define TEXT_AVX2
#define KERNEL pdr__mp_kernel_avx2
#include "msgpack_core.h"

#else

bool pdr__mp_kernel_avx2(struct mp_reader *r)
{
    return pdr__mp_kernel(r);
}

#endif
