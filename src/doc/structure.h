/*
 * structure.h - the schema files, as tools/embed makes them.
 */
#ifndef PDR_DOC_STRUCTURE_H
#define PDR_DOC_STRUCTURE_H

#include <stddef.h>

extern const char pdr__schema_tolerant[], pdr__schema_strict[];
extern const size_t pdr__schema_tolerant_len, pdr__schema_strict_len;

#endif
