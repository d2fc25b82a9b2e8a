/*
 * store_variants.h - stores with one mistake each, for harnesses that must see
 * it. The linker puts the functions of store_variants.c in the place of the
 * real ones; processes that are started later have the same mistake.
 */
#ifndef PDR_TEST_STORE_VARIANTS_H
#define PDR_TEST_STORE_VARIANTS_H

enum store_variant {
    STORE_SOUND,
    STORE_DROPS,            /* now and then a commit is told and not made */
    STORE_SPLITS,           /* a commit of several sessions is several */
    STORE_FORGETS,          /* does not see that a correlation id is known */
    STORE_IGNORES_REVISION, /* lets in who is late */
    STORE_IGNORES_FENCE,    /* lets in who has lost the lease */
    STORE_LETS_PUSH,        /* half of the processes do not stand in line */
    STORE_DOUBLES           /* now and then a commit is made and refused */
};

void store_variant_choose(enum store_variant variant);

#endif
