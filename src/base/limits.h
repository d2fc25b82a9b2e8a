/*
 * limits.h - every ceiling of the library, with the reason for its value.
 * "default" can be changed by the caller, "at most" cannot.
 */
#ifndef PDR_BASE_LIMITS_H
#define PDR_BASE_LIMITS_H

/* Default depth of a document. Deeper than any document that an edition
 * writes (.NET stops at 64), shallow enough for every recursive reader. */
#define PDR_DEFAULT_DEPTH 128

/* Depth at most. Some walks over values recurse; at about 200 bytes a level
 * this stays below a quarter of the smallest usual thread stack (1 MB). */
#define PDR_MAX_DEPTH 1024

/* Bytes of one document in memory at most. Offsets and lengths in a node have
 * 32 bits, which keeps a node at 16 bytes. Larger documents are walked. */
#define PDR_MAX_TEXT_BYTES UINT32_MAX

/* Nodes (names and values) of one document at most. A node keeps the number of
 * its children in 28 bits beside its kind. */
#define PDR_MAX_NODES ((1u << 28) - 1u)

/* Children from which on a container gets an index at the first look-up. Below
 * it, comparing lengths and bytes one by one is as fast as hashing. */
#define PDR_INDEX_MIN 16

/* Characters of a number that are read for an exact result at most. 768 digits
 * decide every double; the rest can only break a tie. */
#define PDR_MAX_EXACT_DIGITS 800

/* First window of a walk over a stream; it grows to the largest value taken.
 * Large enough that a read call costs little beside the parsing of it. */
#define PDR_WALK_WINDOW_BYTES (64u * 1024u)

/* Spaces a level in pretty layout at most; more only fills disks. */
#define PDR_MAX_INDENT 16

/* First chunk of an arena, and the largest that growth makes by itself. */
#define PDR_ARENA_FIRST_BYTES (4u * 1024u)
#define PDR_ARENA_CHUNK_BYTES (1024u * 1024u)

/* Entries of a map at most: positions have 32 bits. */
#define PDR_MAX_MAP_ENTRIES (UINT32_MAX / 2u)

/* Array elements compared one by one while aligning two arrays: rows times
 * columns of the table that finds the best alignment. Larger rests are paired
 * by position. */
#define PDR_DIFF_TABLE_CELLS (1u << 20)

#endif
