/*
 * export.h - what the files share that put a document together again: a frame
 * as it is read, the rows of one moment, and the way to the stream.
 */
#ifndef PDR_ARCHIVE_EXPORT_H
#define PDR_ARCHIVE_EXPORT_H

#include "archive.h"

/* --- frames (frame_read.c, native.c) --------------------------------------
 */

struct pdr__piece;

struct pdr__pieces {
    const struct pdr__piece *list; /* in the frame's memory */
    size_t count;
};

/* The history; all texts are there. */
struct pdr__entries {
    pdr_str open, first, usual, close, empty;
};

/* The expiry of a state document. */
struct pdr__expiry {
    int64_t ms; /* PDR_NEVER: none */
    pdr_str text, open, close, never;
    pdr_str first, empty; /* without a pointer: there is no such text */
};

struct pdr__member {
    pdr_str before; /* white space */
    pdr_str name;   /* with quotes, colon and white space */
    pdr_str after;  /* white space */
    pdr_str key;    /* of its row; without a pointer: it has none */
    bool has_pieces;
    struct pdr__pieces pieces; /* texts, and in a bag the entries */
};

/* An object whose members are rows. */
struct pdr__members {
    pdr_str open, close, blank;
    pdr_str empty; /* in place of all if there is no member; without a
                      pointer: there is no such text */
    const struct pdr__member *list;
    size_t count;
};

enum pdr__piece_kind {
    PDR_PIECE_TEXT,
    PDR_PIECE_ENTRIES,
    PDR_PIECE_EXPIRY,
    PDR_PIECE_BAG,
    PDR_PIECE_PROPERTIES,
    PDR_PIECE_SESSION
};

struct pdr__piece {
    enum pdr__piece_kind kind;
    pdr_str text;
    const struct pdr__entries *entries;
    const struct pdr__expiry *expiry;
    const struct pdr__members *members;
    struct pdr__pieces session;
};

/* A frame: PDR_FRAME_INIT, then read or made, then dispose. */
struct pdr__frame {
    struct pdr__arena memory; /* of everything below */
    pdr_value *value;         /* owned; texts without escapes are its own */
    pdr_row_shape shape;      /* of the entries in the document */
    struct pdr__pieces pieces;
    /* The parts that were found; NULL: there is none. */
    const struct pdr__entries *entries;
    const struct pdr__expiry *expiry;
    const struct pdr__members *bag, *properties;
    const struct pdr__piece *session;        /* inside of a wrapper */
    struct pdr__map bag_keys, property_keys; /* of rows that members name */
};

/* clang-format off */
#define PDR_FRAME_INIT                                                     \
    {PDR_ARENA_INIT(SIZE_MAX), NULL, PDR_ROW_STATE, {NULL, 0}, NULL, NULL, \
     NULL, NULL, NULL, PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES),                  \
     PDR_MAP_INIT(PDR_MAX_MAP_ENTRIES)}
/* clang-format on */

/* Read a frame and check the whole of it.
 * @param text  borrowed, must outlive the frame.
 * Fails with BAD_FRAME, and says where; NO_MEMORY. Dispose in any case. */
PDR_MUST_CHECK pdr_rc pdr__frame_read(struct pdr__frame *out, pdr_str text,
                                      pdr_err *err);
/* Append the frame with the version `to` in the place of `from`; nothing if the
 * document does not say that. Fails with NO_MEMORY, or as pdr_json_read(). */
PDR_MUST_CHECK pdr_rc pdr__frame_set_version(pdr_buf *out, pdr_str frame,
                                             pdr_str from, pdr_str to,
                                             pdr_err *err);
/* The frame of a session that was made here. Fails with CANNOT_EXPORT if its
 * head says what no document can say; NO_MEMORY. */
PDR_MUST_CHECK pdr_rc pdr__frame_native(struct pdr__frame *out,
                                        const pdr_head *head, pdr_err *err);
/* A durable id begins so, and no other does (store.h). */
static inline bool pdr__is_durable_id(pdr_str id)
{
    return id.len > 0 && id.ptr[0] == '@';
}

/* Do documents have sessions of this kind? */
bool pdr__kind_is_known(pdr_str kind);
void pdr__frame_dispose(struct pdr__frame *frame);

/* The name of a member, as it is between its quotes. */
pdr_str pdr__member_name(const struct pdr__member *member);
/* Is it a state document, which has no place for a bag? */
bool pdr__frame_is_state(const struct pdr__frame *frame);
/* The key of the bag under which such a frame has its history. */
pdr_str pdr__frame_history_key(const struct pdr__frame *frame);
/* What a member of the bag holds that has the entries; NULL if none has: there
 * is no bag, or they are elsewhere. */
const struct pdr__pieces *pdr__frame_history(const struct pdr__frame *frame);
/* May there be a row of this key in the bag? Fails with BAG_SEALED,
 * HISTORY_SLOT. */
PDR_MUST_CHECK pdr_rc pdr__frame_check_slot(const struct pdr__frame *frame,
                                            pdr_str key, pdr_err *err);

/* What comes before and after a state document in a native bundle: up to the
 * document, from there to the bag. Appended. */
PDR_MUST_CHECK pdr_rc pdr__bundle_open(pdr_buf *out, const pdr_head *head,
                                       pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__bundle_middle(pdr_buf *out, const pdr_head *head,
                                         pdr_err *err);

/* --- slots and properties (held.c) ----------------------------------------
 */

/* A row of either kind. */
struct pdr__pair {
    pdr_str key;
    pdr_str value;
};

/* The rows of one list, as they were at one revision: in memory, or if that
 * would be too much, read again whenever they are needed. */
struct pdr__held {
    pdr_store *store;
    pdr_ref ref;
    pdr_read_what what; /* PDR_READ_SLOTS or PDR_READ_PROPERTIES */
    uint64_t revision;
    bool held;
    pdr_page **pages; /* owned: all of them if held, else the last one */
    size_t page_count, page_cap;
    size_t next_page, next_row; /* of the walk */
};

/* Take the rows of a session at this revision, and those bytes of `credit` that
 * they need. `moved`: it has another revision by now. */
PDR_MUST_CHECK pdr_rc pdr__held_hold(struct pdr__held *out, bool *moved,
                                     pdr_store *store, pdr_read_what what,
                                     const pdr_head *head, size_t *credit,
                                     pdr_err *err);
void pdr__held_dispose(struct pdr__held *rows);

/* The row of a key; it lives until the next call. `found` is false if there is
 * none. Fails with SESSION_CHANGED if it had to be read again. */
PDR_MUST_CHECK pdr_rc pdr__held_find(struct pdr__pair *out, bool *found,
                                     struct pdr__held *rows, pdr_str key,
                                     pdr_err *err);
/* All rows in the order of their keys, from the beginning after
 * pdr__held_begin(). The row lives until the next call. */
void pdr__held_begin(struct pdr__held *rows);
PDR_MUST_CHECK pdr_rc pdr__held_next(struct pdr__pair *out, bool *found,
                                     struct pdr__held *rows, pdr_err *err);

/* --- entries of another shape (project.c) ---------------------------------
 */

/* Called for each message that an entry gives; lives for the call. */
typedef pdr_rc (*pdr__message_fn)(pdr_str message, pdr_err *err, void *arg);

/* Is the body of an entry what is in a document of this shape? */
bool pdr__entry_fits(const pdr_entry *entry, pdr_row_shape shape);
/* Give an entry that does not fit: each message that it has, in the shape of
 * the frame. Fails with CANNOT_EXPORT if it has no such form, TOO_DEEP, or as
 * `fn`. */
PDR_MUST_CHECK pdr_rc pdr__entry_project(const pdr_entry *entry,
                                         const struct pdr__frame *to,
                                         pdr_err *err, pdr__message_fn fn,
                                         void *arg);

/* --- the document (compose.c) ---------------------------------------------
 */

/* Everything that one document is made of. */
struct pdr__compose {
    pdr_store *store;
    const pdr_head *head; /* at that moment */
    struct pdr__frame frame;
    struct pdr__held bag, properties;
    bool bare;
    pdr_buf out; /* small pieces on their way */
    pdr_write_fn fn;
    void *arg;
    pdr_export_report report; /* what was written */
};

/* Does everything have a place in the document? Before the first byte. Fails
 * with CANNOT_EXPORT, or as pdr__held_find(). */
PDR_MUST_CHECK pdr_rc pdr__compose_check(struct pdr__compose *c, pdr_err *err);
/* Write it. Fails with CANNOT_EXPORT, SESSION_CHANGED, as pdr_store_read() or
 * as `fn`. */
PDR_MUST_CHECK pdr_rc pdr__compose_write(struct pdr__compose *c, pdr_err *err);

/* Fail because somebody wrote meanwhile. */
pdr_rc pdr__session_changed(const pdr_ref *ref, pdr_err *err);

#endif
