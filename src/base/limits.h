/*
 * limits.h - every ceiling of the library, with the reason for its value.
 * "default" can be changed by the caller, "at most" cannot.
 */
#ifndef PDR_BASE_LIMITS_H
#define PDR_BASE_LIMITS_H

/* Default depth of a document. Deeper than any document that an edition
 * writes (.NET stops at 64), shallow enough for every recursive reader. */
#define PDR_DEFAULT_DEPTH 128

/* Depth at most. Writing and comparing recurse, with up to 400 bytes a level
 * (measured, optimised): at this depth they need 400 KB of stack. Threads with
 * less should read with a lower limit; the default needs 50 KB. */
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

/* Bytes of one tag or comment of XML on a stream at most. expat counts in int
 * and doubles its buffer, so beyond this it has no memory, and says only that.
 */
#define PDR_MAX_TAG_BYTES ((size_t)512 * 1024 * 1024)

/* Bytes of one record of a MessagePack history at most: what the Python edition
 * reads. */
#define PDR_MAX_RECORD_BYTES (64u * 1024u * 1024u)

/* Spaces a level in pretty layout at most; more only fills disks. */
#define PDR_MAX_INDENT 16

/* White space between two children that is repeated for new ones at most.
 * Enough for a deep indent; more would let a small document grow a large one.
 */
#define PDR_MAX_GAP_BYTES 256

/* First chunk of an arena, and the largest that growth makes by itself. */
#define PDR_ARENA_FIRST_BYTES (4u * 1024u)
#define PDR_ARENA_SMALL_BYTES 256u
#define PDR_ARENA_CHUNK_BYTES (1024u * 1024u)

/* Entries of a map at most: positions have 32 bits. */
#define PDR_MAX_MAP_ENTRIES (UINT32_MAX / 2u)

/* Array elements compared one by one while aligning two arrays: rows times
 * columns of the table that finds the best alignment. Larger rests are aligned
 * by anchors only. 2 MB, and a few milliseconds. */
#define PDR_DIFF_TABLE_CELLS (1u << 20)

/* Ranges up to this size get the table at once, without a look for anchors: 128
 * by 128 cost less than a reader's doubt why a small diff is not the smallest.
 */
#define PDR_DIFF_EXACT_CELLS (1u << 14)

/* Cells that each aligned element adds to what one diff may spend on tables,
 * beside one full table. So the steps of a diff stay linear, however many
 * arrays it aligns. */
#define PDR_DIFF_CELLS_PER_ELEMENT 64u

/* Times that a range between anchors is searched for anchors again. Real arrays
 * need two or three; without an end, a hostile one could ask for a round per
 * element. */
#define PDR_DIFF_ROUNDS 8u

/* Bytes of a JSON Pointer that is reported: enough for every level of the
 * deepest document to have a name of 16 KB. */
#define PDR_MAX_POINTER_BYTES (16u * 1024u * 1024u)

/* Bytes of a regular expression at most, and how deep its brackets nest. PCRE2
 * compiles with recursion, has no room for the code of much longer ones, and
 * nobody reads them. */
#define PDR_MAX_PATTERN_BYTES   (16u * 1024u)
#define PDR_MAX_PATTERN_NESTING 100u

/* Steps of PCRE2 that the first try of a search has at each position, and how
 * many times more the next one has. Most patterns of schemas need a handful,
 * and what a search did not need it has paid for nothing: at most the factor.
 */
#define PDR_PATTERN_FIRST_STEPS 16u
#define PDR_PATTERN_MORE_STEPS  8u

/* What is as much work as one step (measured: 20 to 30 nanoseconds):
 * characters that a repeat runs over, and bytes of state that a step copies.
 * Four steps are one unit of what a caller can pay. */
#define PDR_PATTERN_RUN_CHARS   32u
#define PDR_PATTERN_STATE_BYTES 512u
#define PDR_PATTERN_UNIT_STEPS  4u

/* Bytes of a class beyond ASCII whose items, tried one by one, take as long as
 * a character does otherwise. */
#define PDR_PATTERN_CLASS_BYTES 8u

/* Units that one search may take, whatever its caller can pay: 80 million
 * steps, or characters run over in proportion, about two seconds. */
#define PDR_PATTERN_WORK 20000000u

/* Backtracking points that a search keeps at once, and their memory: enough for
 * `^(a|b)*$` on 100,000 characters. */
#define PDR_PATTERN_DEPTH    250000u
#define PDR_PATTERN_HEAP_KIB (64u * 1024u)

/* Bytes of a loaded schema at most. A schema has some 60 bytes a keyword and
 * 200 a schema in it; larger ones are data, not rules. */
#define PDR_MAX_SCHEMA_BYTES (256u * 1024u * 1024u)

/* Schemas inside each other, by nesting and by $ref, that one check goes
 * through. It recurses, with up to 900 bytes a level (measured): 900 KB of
 * stack. A document of 128 levels and three schemas a level needs 384. */
#define PDR_MAX_CHECK_DEPTH 1000u

/* Steps of one check: a schema applied to a value, values compared, a member or
 * name looked at, 64 bytes of text. 100 nanoseconds each, more or less. Some
 * for everybody, and some for each byte in memory of the value that is checked
 * (a node has 16), so that an honest check of a document of any size ends well,
 * and a schema whose references double at each level does not run for ever. */
#define PDR_CHECK_STEPS          1000000u
#define PDR_CHECK_STEPS_PER_BYTE 8u

/* Bytes of a key in a bag, of a property name, of a session id at most. Long
 * enough for a qualified type name, short enough to stand in an index. */
#define PDR_MAX_KEY_BYTES 1024u
#define PDR_MAX_ID_BYTES  1024u

/* Bytes of an agent's name at most. */
#define PDR_MAX_AGENT_BYTES 128u

/* Slots of a bag, and properties of a wrapper, at most. A slot is the state of
 * one provider, so honest bags have a handful; each costs a row in a store. */
#define PDR_MAX_SLOTS      100000u
#define PDR_MAX_PROPERTIES 1000u

/* Levels of a document that is written for .NET at most: its reader stops
 * there. */
#define PDR_DOTNET_DEPTH 64

/* Code points of a key in a snapshot folder at most, and quarantined files that
 * one folder keeps. The first is what the Python edition takes. Who has more
 * than the second has a broken writer, and renaming on would only hide it. */
#define PDR_MAX_FOLDER_KEY  128u
#define PDR_MAX_QUARANTINED 100u

/* Bytes of a tenant's name, of the owner of a lease, of the kind of a work row
 * at most: words for people, and the first two stand in every message. */
#define PDR_MAX_TENANT_BYTES 128u
#define PDR_MAX_OWNER_BYTES  128u
#define PDR_MAX_KIND_BYTES   128u

/* Bytes of what lists compare of a property, and of a request's fingerprint, at
 * most. The first stands in an index, the second is a digest. */
#define PDR_MAX_MATCH_BYTES       1024u
#define PDR_MAX_FINGERPRINT_BYTES 64u

/* Bytes of one body in a store (entry, slot, frame, work, completion) by
 * default. A page of a read holds at least one, a group of commits may hold
 * several, and SQLite holds no more than 1,000,000,000 in a row. */
#define PDR_MAX_ROW_BYTES ((size_t)64 * 1024 * 1024)

/* What one commit may carry: sessions, rows of one kind, bytes. All of it is in
 * memory at once, and everybody else waits while it is written. */
#define PDR_MAX_COMMIT_EDITS 1000u
#define PDR_MAX_COMMIT_ROWS  100000u
#define PDR_MAX_COMMIT_BYTES ((size_t)256 * 1024 * 1024)

/* Levels of a document above an entry of the state shape, above a message of a
 * history slot and of a thread, which has no bag, and above a value in a bag:
 * what is deeper could be stored and never be exported. */
#define PDR_LEVELS_ABOVE_ENTRY   3u
#define PDR_LEVELS_ABOVE_MESSAGE 4u
#define PDR_LEVELS_ABOVE_THREAD  3u
#define PDR_LEVELS_ABOVE_SLOT    2u

/* Levels around a session or state document that are none of its own: a list of
 * sessions, a wrapper, and two of a bundle. */
#define PDR_LEVELS_AROUND 4u

/* Rows of a page at most and by default, and bytes after which one ends. */
#define PDR_MAX_PAGE_ROWS      200u
#define PDR_DEFAULT_PAGE_ROWS  50u
#define PDR_DEFAULT_PAGE_BYTES ((size_t)8 * 1024 * 1024)

/* Milliseconds that a commit waits for the writer lock by default. Longer than
 * a checkpoint of a full log on a slow disk, shorter than patience. */
#define PDR_COMMIT_TIMEOUT_MS 10000u

/* Milliseconds between two looks for commits of other processes: half of what
 * store.h promises, and a look costs a few microseconds. */
#define PDR_WATCH_POLL_MS 20u

/* Watched sessions that are looked at in each poll after others committed: half
 * a millisecond. And sessions that one who follows a tenant may leave untold
 * before he has to list: more than a page shows. */
#define PDR_WATCH_SLICE  64u
#define PDR_MAX_FEED_IDS 1024u

/* Bytes of rows that an import gathers before it stages them, and of each
 * commit that stages: what the writer lock is held for. */
#define PDR_STAGE_BYTES ((size_t)4 * 1024 * 1024)

/* Rows that one commit of an import carries, so that small ones do not fill the
 * memory either. */
#define PDR_STAGE_ROWS 20000u

/* The same while the store of an import is not open yet: a document up to this
 * size that is refused leaves no new store. A little above what is looked at
 * first. */
#define PDR_UNOPENED_BYTES ((size_t)9 * 1024 * 1024)
#define PDR_UNOPENED_ROWS  100000u

/* Bytes of a document that an import looks at before it takes anything apart.
 * What a document is shows in its first members, and all but the largest are
 * seen whole. */
#define PDR_LOOK_BYTES ((size_t)8 * 1024 * 1024)

/* Milliseconds that a staged session is kept for who stages it; each commit
 * renews them. Longer than a stall of a disk, shorter than a working day. */
#define PDR_STAGE_LEASE_MS ((int64_t)15 * 60 * 1000)

/* Rows up to which a removed session goes in the commit itself, and rows that
 * one step of a sweep removes: a few milliseconds. */
#define PDR_REMOVE_ROWS 1000u
#define PDR_SWEEP_ROWS  1000u

/* Milliseconds for which they may go in a transaction, since nobody knows how
 * large they are: 1,000 of 1 MiB take a quarter of a second. What is left of a
 * session goes in the steps of a sweep then. */
#define PDR_SWEEP_MS 20

/* Entries that one commit of retention cuts, more or less: it ends at the end
 * of a turn. */
#define PDR_RETAIN_ROWS 1000u

/* Milliseconds for which completions are kept, whatever retention removes: who
 * repeats a request within them gets the same answer. */
#define PDR_COMPLETION_KEEP_MS ((int64_t)24 * 60 * 60 * 1000)

/* Bytes of slots and properties that an export reads before it writes: they are
 * of one moment then, whoever writes meanwhile. */
#define PDR_EXPORT_HOLD_BYTES ((size_t)16 * 1024 * 1024)

/* Microseconds that a step of a vacuum aims at, well below what store.h
 * promises. */
#define PDR_VACUUM_STEP_US 25000

/* Bytes that a backup copies and brings to the disk between two calls of its
 * caller. */
#define PDR_BACKUP_STEP_BYTES ((size_t)4 * 1024 * 1024)

/* Bytes behind the pages of the log that are written ahead at once, at most
 * (src/store/sqlite/vfs.c), and of a commit that is worth it. */
#define PDR_LOG_AHEAD_BYTES  ((int64_t)1024 * 1024)
#define PDR_LOG_SMALL_COMMIT ((size_t)128 * 1024)

/* Commits and bytes that one transaction gathers at most. More would make the
 * first one wait longer without making the last one cheaper (measured). */
#define PDR_MAX_GROUP       128u
#define PDR_MAX_GROUP_BYTES ((size_t)4 * 1024 * 1024)

/* Bytes of the log at which a store copies it into the main file, and at which
 * the log is begun anew at the latest, unless a reader holds it. */
#define PDR_CHECKPOINT_BYTES ((uint64_t)48 * 1024 * 1024)
#define PDR_LOG_BYTES        ((uint64_t)64 * 1024 * 1024)

/* Connections of a store that read at the same time. Each holds some megabytes
 * of pages, and more of them than cores read no faster. */
#define PDR_MAX_READERS 16u

/* Bytes of the key of a store's digests: SHA-256 gains nothing from more than
 * the second, and less than the first can be guessed. */
#define PDR_MIN_KEY_FILE_BYTES 32u
#define PDR_MAX_KEY_FILE_BYTES 4096u

/* Bytes of a file of keys of a server: 40,000 keys, which are all in memory. */
#define PDR_MAX_KEYS_BYTES ((size_t)10 << 20)

/* Bytes of a line and of an event of an event stream at most. A piece of an
 * answer has some hundred bytes; a picture in one, or a server that sends all
 * at once, some hundred thousand. A peer that never ends a line must not fill
 * the memory. */
#define PDR_MAX_SSE_LINE_BYTES  ((size_t)1024 * 1024)
#define PDR_MAX_SSE_EVENT_BYTES ((size_t)8 * 1024 * 1024)

/* Bytes of one answer of a model, and calls in it, at most. The longest answers
 * have a megabyte, and a dozen calls; what is beyond is a server that does not
 * stop. */
#define PDR_MAX_ANSWER_BYTES ((size_t)64 * 1024 * 1024)
#define PDR_MAX_ANSWER_CALLS 1024u

/* Levels of the result of a tool, at most: around it there are a message, a
 * history and a session, and a document has 128. What could not be stored would
 * let an approved call run again and again. */
#define PDR_MAX_RESULT_LEVELS 100u

/* Tools of one run at work at once, at most: each has a thread. */
#define PDR_MAX_PARALLEL_CALLS 64u

/* Levels of rules that end a chat of several agents at most. They are made and
 * asked with recursion, and nobody follows deeper ones. */
#define PDR_MAX_RULE_LEVELS 8u

/* Chats inside of each other at most, the outermost counted. Each adds three
 * levels to a saved one, so that the deepest result of a tool in the innermost
 * just fits into a document. */
#define PDR_MAX_CHAT_LEVELS 8u

/* Bytes and messages of a saved chat by default. The reader holds all of it in
 * memory, two to three times its size; the largest chats that people keep have
 * some hundred megabytes. */
#define PDR_MAX_CHAT_BYTES    ((size_t)1024 * 1024 * 1024)
#define PDR_MAX_CHAT_MESSAGES ((size_t)10 * 1000 * 1000)

/* Levels of the history and of the state of a channel in a file for Semantic
 * Kernel at most: its reader takes 64 for the whole file. */
#define PDR_SK_HISTORY_LEVELS 63u
#define PDR_SK_STATE_LEVELS   61u

/* Bytes of the name of a key, and of a key itself at least. */
#define PDR_MAX_CHAT_KEY_ID    128u
#define PDR_MIN_CHAT_KEY_BYTES 32u

/* Backends that can be registered. */
#define PDR_MAX_BACKENDS 8u

#endif
