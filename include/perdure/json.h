/*
 * perdure/json.h - JSON text (RFC 8259) to values and back.
 */
#ifndef PERDURE_JSON_H
#define PERDURE_JSON_H

#include <perdure/value.h>

PDR_BEGIN_DECLS

/* Which code reads. All give the same result; to rule one out in a hunt for a
 * bug, ask for another. One that the processor lacks is PDR_EUNSUPPORTED. */
typedef enum pdr_json_kernel {
    PDR_JSON_KERNEL_BEST = 0,
    PDR_JSON_KERNEL_PORTABLE = 1,
    PDR_JSON_KERNEL_SSE2 = 2,
    PDR_JSON_KERNEL_AVX2 = 3
} pdr_json_kernel;

/** Name of the kernel that PDR_JSON_KERNEL_BEST chooses on this machine.
 * @thread any @since 0.1 */
PDR_API const char *pdr_json_kernel_name(void);

#define PDR_JSON_BARE_TOKENS 1u /* read or write NaN, Infinity, -Infinity */
#define PDR_JSON_TRAILING    2u /* read: stop behind the document, see `used` */
#define PDR_JSON_SEQUENCE    4u /* walk: documents one after another */

/* How to read. Zero everywhere means the defaults, also for each limit. */
typedef struct pdr_json_read_opts {
    unsigned flags;         /* PDR_JSON_… */
    pdr_json_kernel kernel; /* normally PDR_JSON_KERNEL_BEST */
    uint32_t max_depth;     /* levels; default 128, at most 1,024 */
    uint64_t max_bytes;     /* of one document; default and at most 4 GiB - 1 */
    uint64_t max_nodes;     /* names and values; default and at most 2^28 - 1 */
    size_t *used; /* out, may be NULL: bytes up to the end of the document;
                     not written on failure, nor by a walk */
} pdr_json_read_opts;

/**
 * Read one document. The value gets its own copy of `text`.
 *
 * @param[out] out  owned; release with pdr_value_free(). NULL on failure.
 * @param text      copied.
 * @param opts      borrowed for the call; NULL means the defaults.
 * @param[out] err  with offset and path of what is wrong.
 * @return PDR_OK; PDR_EINVALID with one of the reasons that the format page
 *         json.md lists; PDR_ELIMIT; PDR_ENOMEM; PDR_EUNSUPPORTED for a missing
 *         kernel; PDR_EMISUSE (reason "bad_option") for unknown flags or a
 *         limit above its maximum.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_json_read(pdr_value **out, pdr_str text,
                                            const pdr_json_read_opts *opts,
                                            pdr_err *err);

/** As pdr_json_read(), but the value points into the caller's text.
 * @param text  borrowed, must outlive the value and whatever shares it.
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc
pdr_json_read_borrowed(pdr_value **out, pdr_str text,
                       const pdr_json_read_opts *opts, pdr_err *err);

/** As pdr_json_read(), but the value becomes the owner of the buffer's bytes.
 * @param text  taken, also on failure: empty afterwards.
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_json_read_take(pdr_value **out, pdr_buf *text,
                                                 const pdr_json_read_opts *opts,
                                                 pdr_err *err);

typedef enum pdr_json_layout {
    PDR_JSON_COMPACT = 0, /* no white space */
    PDR_JSON_PRETTY = 1,  /* a line for each element and member */
    PDR_JSON_AS_READ = 2  /* white space as it was read where nothing changed,
                             around a whole document too; what was built or
                             added is compact */
} pdr_json_layout;

/* How to write. Zero everywhere means the defaults. */
typedef struct pdr_json_write_opts {
    unsigned flags; /* PDR_JSON_BARE_TOKENS or 0 */
    pdr_json_layout layout;
    uint32_t indent; /* PRETTY: spaces a level; 0 means 2, at most 16 */
} pdr_json_write_opts;

/**
 * Append the text of a value. Every number and string is spelled as it was read
 * or built, in every layout.
 *
 * @param out    gets the text; on failure its content is as it was.
 * @param value  borrowed for the call.
 * @param opts   borrowed for the call; NULL means the defaults.
 * @return PDR_OK; PDR_EINVALID (reason "bare_token") for a NaN or an infinity
 *         without PDR_JSON_BARE_TOKENS; PDR_ENOMEM; PDR_ELIMIT; PDR_EMISUSE
 *         (reason "bad_option") for an unknown flag or layout, or an indent
 *         above 16.
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_json_write(pdr_buf *out,
                                             const pdr_value *value,
                                             const pdr_json_write_opts *opts,
                                             pdr_err *err);

/* --- walking a stream ---------------------------------------------------- */

/** Give the next bytes of a stream: at most `cap`, at least 1, or `*got` = 0 at
 * the end. Called on the thread that walks. */
typedef pdr_rc (*pdr_read_fn)(size_t *got, void *into, size_t cap, pdr_err *err,
                              void *arg);

typedef enum pdr_json_event {
    PDR_JSON_END_OF_INPUT = 0,
    PDR_JSON_BEGIN_OBJECT = 1,
    PDR_JSON_BEGIN_ARRAY = 2,
    PDR_JSON_END = 3, /* of the object or array begun last */
    PDR_JSON_NAME = 4,
    PDR_JSON_SCALAR = 5
} pdr_json_event;

/*
 * A walk goes over a document of any size, or with PDR_JSON_SEQUENCE over any
 * number of them (JSON Lines; at least one white space between two), and holds
 * no more in memory than the largest value that is taken, and a window.
 * `max_bytes` is the limit of one name, scalar or value taken.
 */
typedef struct pdr_json_walk pdr_json_walk;

/** @param[out] out  owned; release with pdr_json_walk_free(). NULL on failure.
 * @param opts  copied; NULL means the defaults; TRAILING is refused.
 * @param fn    borrowed with `arg`, must outlive the walk; not NULL.
 * @return PDR_OK; PDR_ENOMEM; PDR_EUNSUPPORTED for a missing kernel;
 *         PDR_EMISUSE (reason "bad_option") as pdr_json_read().
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_json_walk_new(pdr_json_walk **out,
                                                const pdr_json_read_opts *opts,
                                                pdr_err *err, pdr_read_fn fn,
                                                void *arg);

/** NULL is fine. @thread owner @since 0.1 */
PDR_API void pdr_json_walk_free(pdr_json_walk *walk);

/** Go to the next event. What was wrong once stays wrong: after a failure each
 * call gives the same one. Offsets count from the beginning of the stream.
 * @return as pdr_json_read(), or what the stream gives.
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_json_walk_next(pdr_json_event *out,
                                                 pdr_json_walk *walk,
                                                 pdr_err *err);

/** The string of a NAME event, the value of a SCALAR event, else NULL.
 * Borrowed, valid until the next call on `walk`. @thread owner @since 0.1 */
PDR_API const pdr_value *pdr_json_walk_value(const pdr_json_walk *walk);

/** Containers that are open after the last event. @thread owner @since 0.1 */
PDR_API size_t pdr_json_walk_depth(const pdr_json_walk *walk);

/** Byte of the stream at which the last event began.
 * @thread owner @since 0.1 */
PDR_API int64_t pdr_json_walk_offset(const pdr_json_walk *walk);

/** After BEGIN_OBJECT, BEGIN_ARRAY or SCALAR: take the whole value that begins
 * there and go behind it. Levels above count for its depth.
 * @param[out] out  owned; NULL on failure.
 * @return also PDR_EMISUSE after another event.
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_json_walk_take(pdr_value **out,
                                                 pdr_json_walk *walk,
                                                 pdr_err *err);

/** As pdr_json_walk_take(), but the value is only checked.
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_json_walk_skip(pdr_json_walk *walk,
                                                 pdr_err *err);

PDR_END_DECLS

#endif
