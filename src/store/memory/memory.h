/*
 * memory.h - what the list of backends needs of this one. See README.md.
 */
#ifndef PDR_STORE_MEMORY_MEMORY_H
#define PDR_STORE_MEMORY_MEMORY_H

#include <perdure/sys/store.h>

extern const pdr_store_ops pdr__memory_ops;

#endif
