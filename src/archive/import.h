/*
 * import.h - what the files share that take a document apart.
 *
 *     source ──► events with their bytes ──► split ──┬──► frame
 *        └─► skeleton ──► layout: what is where ─┘   └──► rows ──► commits
 */
#ifndef PDR_ARCHIVE_IMPORT_H
#define PDR_ARCHIVE_IMPORT_H

#include <perdure/sys/store.h>

#include "archive.h"
#include "codec.h"
#include "doc.h"
#include "metadata.h"
#include "session.h"

/* Levels of a stream. */
#define PDR_IMPORT_DEPTH (PDR_DEFAULT_DEPTH + PDR_LEVELS_AROUND)

/* --- what a document is (recognise.c) --------------------------------------
 */

/* One of the objects around and inside a session that tell what it is. */
struct pdr__bone {
    int role;
    bool kept;                 /* the member that was named last counts */
    char name[PDR_SHORT_TEXT]; /* of it */
    pdr_value *object;         /* owned: what it has so far */
};

#define PDR_BONES 4

/* A document without what is in it: only members by which documents are told
 * apart, of several with one name the last, containers empty. */
struct pdr__skeleton {
    struct pdr__bone bones[PDR_BONES];
    size_t depth;    /* bones that are open */
    pdr_value *root; /* owned; the whole once it is closed */
};

void pdr__skeleton_dispose(struct pdr__skeleton *skeleton);
/* The next event of a walk, with the containers open after it. Fails with
 * NO_MEMORY. */
PDR_MUST_CHECK pdr_rc pdr__skeleton_feed(struct pdr__skeleton *skeleton,
                                         pdr_event event,
                                         const pdr_value *value, size_t depth,
                                         pdr_err *err);
/* Close what is open, if the document was seen in part. Fails with NO_MEMORY;
 * `*out` is borrowed, NULL if nothing was fed. */
PDR_MUST_CHECK pdr_rc pdr__skeleton_close(const pdr_value **out,
                                          struct pdr__skeleton *skeleton,
                                          pdr_err *err);

enum pdr__spot_kind {
    PDR_SPOT_OBJECT,     /* holds another spot */
    PDR_SPOT_BAG,        /* its members are slots */
    PDR_SPOT_PROPERTIES, /* its members are properties */
    PDR_SPOT_ENTRIES,    /* its elements are entries */
    PDR_SPOT_EXPIRY      /* when the session expires */
};

/* A place that means something. */
struct pdr__spot {
    enum pdr__spot_kind kind;
    size_t parent;    /* number of the spot that it is a member of */
    const char *name; /* there; static. The first spot is the root */
};

#define PDR_SPOTS   48 /* a document has 9, all kinds together 43 */
#define PDR_NO_SPOT SIZE_MAX

/* Where a document has what. */
struct pdr__layout {
    struct pdr__spot spots[PDR_SPOTS];
    size_t count;
    size_t session;      /* spot whose object is the session */
    size_t document;     /* spot of the state document, or PDR_NO_SPOT */
    size_t absent;       /* spot that is never there: something else has its
                            name, and it comes last; or PDR_NO_SPOT */
    bool wrapped;        /* the session is in a wrapper */
    pdr_row_shape shape; /* of its entries */
};

/* What the head of a session is told about it. */
struct pdr__about {
    const char *kind; /* static */
    pdr_buf id;       /* empty: the document has none */
    const char *path; /* static; of the member that has it, in the session */
    pdr_buf agent;    /* of a durable session, else empty */
    pdr_buf version;  /* of its state document, or empty */
};

/* clang-format off */
#define PDR_ABOUT_INIT \
    {NULL, PDR_BUF_INIT(SIZE_MAX), "", PDR_BUF_INIT(SIZE_MAX), \
     PDR_BUF_INIT(SIZE_MAX)}
/* clang-format on */

void pdr__about_dispose(struct pdr__about *about);

/* Tell what it is, and check what can be checked without what is in it. Fails
 * as pdr_session_from_value() and pdr_state_gate(). */
PDR_MUST_CHECK pdr_rc pdr__recognise(struct pdr__layout *layout,
                                     struct pdr__about *about,
                                     const pdr_value *skeleton, pdr_err *err);

/* The spots of all documents that there are: what could be one, as long as
 * nobody knows what a document is. */
void pdr__layout_every(struct pdr__layout *layout);
bool pdr__layout_equal(const struct pdr__layout *a,
                       const struct pdr__layout *b);
/* The spot that member `name` of spot `parent` is, or PDR_NO_SPOT. */
size_t pdr__layout_child(const struct pdr__layout *layout, size_t parent,
                         const pdr_value *name);
/* The only spot in spot `parent` that holds rows, or PDR_NO_SPOT. */
size_t pdr__layout_only(const struct pdr__layout *layout, size_t parent);

/* --- the stream (source.c) -------------------------------------------------
 */

struct pdr__source {
    pdr_read_fn fn; /* the caller's */
    void *arg;
    bool bare_tokens; /* may be in it */
    uint64_t bytes;   /* that it gave */
    pdr_buf ahead;    /* the first of them */
    bool whole;       /* these are all */
    bool looking;     /* only these are walked over */
    bool cut;         /* and there is more after them */
    size_t given;     /* of them, to this walk */

    pdr_walk *walk;        /* owned */
    struct window *window; /* of the walk */
    struct pdr__skeleton skeleton;
    /* The last event. */
    pdr_event event;
    const pdr_value *value; /* of a name or scalar; borrowed */
    size_t depth;           /* open containers after it */
    int64_t begin, end;     /* its bytes; of a name with its colon */
};

void pdr__source_init(struct pdr__source *source, pdr_read_fn fn, void *arg);
void pdr__source_dispose(struct pdr__source *source);
/* Read the first bytes. */
PDR_MUST_CHECK pdr_rc pdr__source_fill(struct pdr__source *source,
                                       pdr_err *err);
/* Walk over the first bytes alone, or over all. */
PDR_MUST_CHECK pdr_rc pdr__source_start(struct pdr__source *source,
                                        bool looking, pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__source_next(struct pdr__source *source,
                                       pdr_err *err);

/* The last event begins or is a value. */
static inline bool pdr__source_begins(const struct pdr__source *source)
{
    return source->event == PDR_BEGIN_OBJECT ||
           source->event == PDR_BEGIN_ARRAY;
}

static inline pdr_str pdr__source_text(const struct pdr__source *source,
                                       int64_t from, int64_t to)
{
    return pdr__window_text(source->window, from, to);
}

/* --- names that occur twice (twice.c) --------------------------------------
 */

/* Which members of spots have a later one of the same name. */
struct pdr__twice {
    struct pdr__layout every; /* what could be a spot, see there */
    struct {
        size_t names, early; /* that were noted in spots like this */
    } tally[PDR_SPOTS];
    struct pdr__map seen; /* container and name to the place of the name */
    int64_t *early;       /* owned, ascending once sorted: places of names
                             that are not the last */
    size_t count, cap;
    int64_t looked; /* bytes that were looked through */
};

void pdr__twice_init(struct pdr__twice *twice);
void pdr__twice_dispose(struct pdr__twice *twice);
/* Walk over what the source has ahead. Afterwards the skeleton of the source is
 * that of the document, and its `cut` says whether there is more. Fails as
 * pdr__source_next(), TOO_MANY_SLOTS. */
PDR_MUST_CHECK pdr_rc pdr__twice_find(struct pdr__twice *twice,
                                      struct pdr__source *source, pdr_err *err);
/* Were all names noted that matter in this document? Fails with TOO_MANY_SLOTS.
 */
PDR_MUST_CHECK pdr_rc pdr__twice_check(const struct pdr__twice *twice,
                                       const struct pdr__layout *layout,
                                       pdr_err *err);
/* Does the name at `at`, in the container that begins at `container`, come
 * again? Fails with MEMBER_LATE if it comes again after what was looked
 * through, TOO_MANY_SLOTS, NO_MEMORY. */
PDR_MUST_CHECK pdr_rc pdr__twice_ask(bool *early, struct pdr__twice *twice,
                                     int64_t container, const pdr_value *name,
                                     int64_t at, pdr_err *err);

/* --- making a frame (frame_write.c) ----------------------------------------
 */

/* A frame on its way: docs/formats/frame.md. The first failure is kept in `rc`
 * and `err`; calls after it do nothing. */
struct pdr__framer {
    pdr_buf out;
    bool in_text; /* a text is open, more may come */
    bool follows; /* the next piece or member needs a comma */
    pdr_rc rc;
    pdr_err err;
};

/* The texts of an `entries` piece. */
struct pdr__framer_entries {
    pdr_str open, first, usual, close, empty;
};

/* An `expiry` piece. */
struct pdr__framer_expiry {
    int64_t ms; /* PDR_NEVER: none */
    pdr_str text, open, close, never;
    pdr_str first, empty; /* without a pointer they are left out */
};

/* The texts of a `members` piece that need not be there: without a pointer
 * they are left out. */
struct pdr__framer_edges {
    pdr_str blank, open, close, empty;
};

void pdr__framer_init(struct pdr__framer *w, pdr_row_shape shape);
void pdr__framer_dispose(struct pdr__framer *w);
void pdr__framer_text(struct pdr__framer *w, pdr_str text);
void pdr__framer_entries(struct pdr__framer *w,
                         const struct pdr__framer_entries *texts);
void pdr__framer_expiry(struct pdr__framer *w,
                        const struct pdr__framer_expiry *expiry);
void pdr__framer_session(struct pdr__framer *w);
void pdr__framer_session_end(struct pdr__framer *w);
void pdr__framer_members(struct pdr__framer *w, const char *of);
void pdr__framer_members_end(struct pdr__framer *w,
                             const struct pdr__framer_edges *edges);
/* A member: begin, then its key, its pieces or both, then end. */
void pdr__framer_member(struct pdr__framer *w, pdr_str before, pdr_str name);
void pdr__framer_key(struct pdr__framer *w, pdr_str key);
void pdr__framer_pieces(struct pdr__framer *w);
void pdr__framer_pieces_end(struct pdr__framer *w);
void pdr__framer_member_end(struct pdr__framer *w, pdr_str after);
/* The whole frame, borrowed. Fails with ROW_TOO_LARGE, NO_MEMORY. */
PDR_MUST_CHECK pdr_rc pdr__framer_finish(pdr_str *out, struct pdr__framer *w,
                                         pdr_err *err);

/* --- what a store must know of an entry (entry.c) --------------------------
 */

struct pdr__entry_note {
    pdr_row_shape shape;
    size_t depth;       /* containers open inside of the entry's own braces */
    int member;         /* the one that was named last */
    int type, old;      /* what `$type` and `json_type` say */
    int64_t created_ms; /* or PDR_NO_TIME */
    char id[PDR_MAX_ID_BYTES]; /* correlation id */
    size_t id_len;             /* 0: none */
};

void pdr__entry_note_init(struct pdr__entry_note *note, pdr_row_shape shape,
                          size_t depth);
/* The next event inside of the entry. Fails with NO_MEMORY. */
PDR_MUST_CHECK pdr_rc pdr__entry_note_feed(struct pdr__entry_note *note,
                                           const struct pdr__source *source,
                                           pdr_err *err);
pdr_row_kind pdr__entry_note_kind(const struct pdr__entry_note *note);

/* --- rows on their way into commits (batch.c) ------------------------------
 */

struct pdr__batch_row;

struct pdr__batch {
    pdr_store *store;
    const pdr_import_opts *opts;
    pdr_ref ref;
    pdr_str agent, kind, version; /* of the head; borrowed */
    const struct pdr__source *source;
    struct pdr__batch_row *rows; /* owned */
    size_t count, cap;
    size_t bytes;             /* of their texts */
    int64_t first;            /* offset of the first byte of them */
    struct pdr__arena memory; /* texts that are not in the stream */
    bool replaces;            /* a session stands there that has to go */
    pdr_head old;             /* of it; texts are gone */
    pdr_stage stage;          /* what was committed so far, unseen */
    int64_t began_ms;         /* by the clock that only goes forwards */
    bool says_properties;     /* the document has a list of them, maybe empty */
    pdr_expiry_verb expiry;   /* what the document says of it */
    int64_t expiry_ms;
    pdr_committed done; /* by the last commit */
    uint64_t entries, slots, properties, commits;
};

/* Does what waits have to be committed before a row of so many bytes? */
static inline bool pdr__batch_is_full(const struct pdr__batch *b, size_t bytes)
{
    return b->count > 0 &&
           (b->store != NULL ? b->bytes + bytes > PDR_STAGE_BYTES ||
                                   b->count >= PDR_STAGE_ROWS
                             : b->bytes + bytes > PDR_UNOPENED_BYTES ||
                                   b->count >= PDR_UNOPENED_ROWS);
}

void pdr__batch_init(struct pdr__batch *batch, pdr_store *store,
                     const pdr_import_opts *opts,
                     const struct pdr__source *source);
void pdr__batch_dispose(struct pdr__batch *batch);
/* Look whether the session is there, and whether that may be. Fails with
 * SESSION_EXISTS, REVISION_CHANGED, or as pdr_store_read(). */
PDR_MUST_CHECK pdr_rc pdr__batch_open(struct pdr__batch *batch, pdr_err *err);
/* A row whose value has the bytes from `from` up to the end of the last event.
 * Commits what waits if there is no room for it. Keys are copied. */
PDR_MUST_CHECK pdr_rc pdr__batch_entry(struct pdr__batch *batch,
                                       const struct pdr__entry_note *note,
                                       int64_t separator, int64_t from,
                                       pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__batch_slot(struct pdr__batch *batch, pdr_str key,
                                      int64_t from, pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__batch_property(struct pdr__batch *batch, pdr_str key,
                                          const pdr_value *scalar, int64_t from,
                                          pdr_err *err);
/* The last commit: the session is there. */
PDR_MUST_CHECK pdr_rc pdr__batch_finish(struct pdr__batch *batch, pdr_str frame,
                                        pdr_err *err);
/* Clear what was staged, as far as that works. */
void pdr__batch_give_up(struct pdr__batch *batch);

/* Open the store if that was left for later, and go on as pdr__batch_open().
 * (import.c) */
PDR_MUST_CHECK pdr_rc pdr__import_open(struct pdr__batch *batch, pdr_err *err);

/* --- taking a document apart (split.c) -------------------------------------
 */

struct pdr__split {
    struct pdr__source *source;
    const struct pdr__layout *layout;
    struct pdr__twice *twice;
    struct pdr__framer *frame;
    struct pdr__batch *batch;
    int64_t mark;   /* all bytes before it are in the frame or in rows */
    size_t deepest; /* containers that may be open here */
    pdr_buf path;   /* of the spot or row that we are at */
    uint64_t slots, properties;
};

PDR_MUST_CHECK pdr_rc pdr__split_run(struct pdr__split *split, pdr_err *err);

#endif
