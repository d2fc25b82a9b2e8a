/*
 * fuzz.h - what every fuzz target uses.
 *
 * A target is one file with LLVMFuzzerTestOneInput(); it states a property with
 * MUST(). The same file is built twice: with libFuzzer, and with standalone.c
 * to replay corpus and regressions in the normal test run.
 */
#ifndef PDR_FUZZ_H
#define PDR_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Not assert(): the property counts in every build. */
#define MUST(condition)                                               \
    do {                                                              \
        if (!(condition)) {                                           \
            fprintf(stderr, "%s:%d: broken property: %s\n", __FILE__, \
                    __LINE__, #condition);                            \
            abort();                                                  \
        }                                                             \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
