/*
 * perdure/codec.h - values to bytes and back, in any format.
 *
 * A codec is a table (perdure/sys/codec.h). The ones that come with the library
 * have a header each: json.h, msgpack.h, xml.h. Everything here works on all of
 * them alike, and on codecs that somebody else wrote.
 *
 *     whole documents    pdr_codec_read(), pdr_codec_write()
 *     streams            a walk gives events, a writer takes them
 *     which one?         pdr_codec_guess(), pdr_codec_find()
 */
#ifndef PERDURE_CODEC_H
#define PERDURE_CODEC_H

#include <perdure/value.h>

PDR_BEGIN_DECLS

typedef struct pdr_codec pdr_codec;

/* --- options ------------------------------------------------------------- */

/* Which code searches text. All give the same result; to rule one out in a hunt
 * for a bug, ask for another. One that the processor lacks is PDR_EUNSUPPORTED.
 */
typedef enum pdr_kernel {
    PDR_KERNEL_BEST = 0,
    PDR_KERNEL_PORTABLE = 1,
    PDR_KERNEL_SSE2 = 2,
    PDR_KERNEL_AVX2 = 3
} pdr_kernel;

/** Name of the kernel that PDR_KERNEL_BEST chooses on this machine.
 * @thread any @since 0.1 */
PDR_API const char *pdr_kernel_name(void);

/* Flags. A codec refuses those that it has no use for, as "bad_option". */
#define PDR_BARE_TOKENS 1u  /* read or write NaN, Infinity, -Infinity */
#define PDR_TRAILING    2u  /* read: stop behind the document, see `used` */
#define PDR_SEQUENCE    4u  /* walk, writer: documents one after another */
#define PDR_RECORDS     8u  /* MessagePack: the length in front of each one */
#define PDR_EXCHANGE    16u /* MessagePack: write for other programs */

/* How to read. Zero everywhere means the defaults, also for each limit. */
typedef struct pdr_read_opts {
    unsigned flags;     /* PDR_… of above */
    pdr_kernel kernel;  /* normally PDR_KERNEL_BEST; XML has no choice */
    uint32_t max_depth; /* levels; default 128, at most 1,024 */
    uint64_t max_bytes; /* of one document; default and at most 4 GiB - 1 */
    uint64_t max_nodes; /* names and values; default and at most 2^28 - 1 */
    size_t *used;   /* out, may be NULL: bytes up to the end of the document;
                       not written on failure, nor by a walk */
    bool *extended; /* out, may be NULL: set to true by MessagePack that has
                       extensions of ours, never to false; must outlive a
                       walk */
} pdr_read_opts;

typedef enum pdr_layout {
    PDR_COMPACT = 0, /* no white space */
    PDR_PRETTY = 1,  /* a line for each element and member */
    PDR_AS_READ = 2  /* JSON: white space as it was read where nothing changed,
                        around a whole document too; what was built or added is
                        compact inside, and set off as its neighbours are.
                        Elsewhere as PDR_COMPACT. */
} pdr_layout;

/* What writing with PDR_EXCHANGE gave up. A document that was refused counts
 * nothing. */
typedef struct pdr_write_report {
    uint64_t numbers; /* same value, another spelling */
    uint64_t strings; /* names too: same text, other escapes */
} pdr_write_report;

/* How to write. Zero everywhere means the defaults. */
typedef struct pdr_write_opts {
    unsigned flags; /* PDR_… of above */
    pdr_layout layout;
    uint32_t indent; /* PRETTY: spaces a level; 0 means 2, at most 16 */
    pdr_write_report *report; /* out, may be NULL; added to, so set it to zero;
                                 must outlive a writer */
} pdr_write_opts;

/* --- whole documents ----------------------------------------------------- */

/**
 * Read one document. The value gets its own copy of what it needs.
 *
 * @param[out] out  owned; release with pdr_value_free(). NULL on failure.
 * @param codec     borrowed for the call.
 * @param input     borrowed for the call.
 * @param opts      borrowed for the call; NULL means the defaults.
 * @param[out] err  with offset and path of what is wrong.
 * @return PDR_OK; PDR_EINVALID with one of the reasons that the format's page
 *         lists; PDR_ELIMIT; PDR_ENOMEM; PDR_EMISUSE (reason "bad_option") for
 *         flags that the codec does not take or a limit above its maximum,
 *         (reason "missing_slot") for a table that is not complete;
 *         PDR_EVERSION (reason "table_version").
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_codec_read(pdr_value **out,
                                             const pdr_codec *codec,
                                             pdr_str input,
                                             const pdr_read_opts *opts,
                                             pdr_err *err);

/**
 * Append one document.
 *
 * @param out    gets the bytes; on failure its content is as it was.
 * @param codec  borrowed for the call.
 * @param value  borrowed for the call.
 * @param opts   borrowed for the call; NULL means the defaults.
 * @return PDR_OK; PDR_EINVALID, with the path, for a value that the format or
 *         the options cannot hold; PDR_ENOMEM; PDR_ELIMIT; PDR_EMISUSE and
 *         PDR_EVERSION as pdr_codec_read().
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_codec_write(pdr_buf *out,
                                              const pdr_codec *codec,
                                              const pdr_value *value,
                                              const pdr_write_opts *opts,
                                              pdr_err *err);

/* --- walking a stream ---------------------------------------------------- */

typedef enum pdr_event {
    PDR_END_OF_INPUT = 0,
    PDR_BEGIN_OBJECT = 1,
    PDR_BEGIN_ARRAY = 2,
    PDR_END = 3, /* of the object or array begun last */
    PDR_NAME = 4,
    PDR_SCALAR = 5
} pdr_event;

/** Give the next bytes of a stream: at most `cap`, at least 1, or `*got` = 0 at
 * the end. Called on the thread that walks. */
typedef pdr_rc (*pdr_read_fn)(size_t *got, void *into, size_t cap, pdr_err *err,
                              void *arg);

/** A pdr_read_fn for bytes in memory. `arg` is a `pdr_str *`, whose view
 * becomes what is left. Never fails. @thread owner @since 0.1 */
PDR_API pdr_rc pdr_read_str(size_t *got, void *into, size_t cap, pdr_err *err,
                            void *arg);

/*
 * A walk goes over a document of any size, or with PDR_SEQUENCE over any number
 * of them, and holds no more in memory than the largest value that is taken,
 * and a window. `max_bytes` is the limit of one name, scalar or value taken.
 */
typedef struct pdr_walk pdr_walk;

/** @param[out] out  owned; release with pdr_walk_free(). NULL on failure.
 * @param codec  borrowed, must outlive the walk.
 * @param opts   copied; NULL means the defaults; TRAILING is refused.
 * @param fn     borrowed with `arg`, must outlive the walk; not NULL.
 * @return PDR_OK; PDR_ENOMEM; PDR_EUNSUPPORTED for a missing kernel;
 *         PDR_EMISUSE and PDR_EVERSION as pdr_codec_read().
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_walk_new(pdr_walk **out,
                                           const pdr_codec *codec,
                                           const pdr_read_opts *opts,
                                           pdr_err *err, pdr_read_fn fn,
                                           void *arg);

/** NULL is fine. @thread owner @since 0.1 */
PDR_API void pdr_walk_free(pdr_walk *walk);

/** Go to the next event. What was wrong once stays wrong: after a failure each
 * call gives the same one. Offsets count from the beginning of the stream.
 * @return as pdr_codec_read(), or what the stream gives.
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_walk_next(pdr_event *out, pdr_walk *walk,
                                            pdr_err *err);

/** The string of a NAME event, the value of a SCALAR event, else NULL.
 * Borrowed, valid until the next call on `walk`. @thread owner @since 0.1 */
PDR_API const pdr_value *pdr_walk_value(const pdr_walk *walk);

/** Containers that are open after the last event. @thread owner @since 0.1 */
PDR_API size_t pdr_walk_depth(const pdr_walk *walk);

/** Byte of the stream at which the last event began.
 * @thread owner @since 0.1 */
PDR_API int64_t pdr_walk_offset(const pdr_walk *walk);

/** After BEGIN_OBJECT, BEGIN_ARRAY or SCALAR: take the whole value that begins
 * there and go behind it. Levels above count for its depth.
 * @param[out] out  owned; NULL on failure.
 * @return also PDR_EMISUSE (reason "walk_order") after another event.
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_walk_take(pdr_value **out, pdr_walk *walk,
                                            pdr_err *err);

/** As pdr_walk_take(), but nothing is kept, so that the value may have any
 * size: `max_bytes` and `max_nodes` hold for its names and scalars only.
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_walk_skip(pdr_walk *walk, pdr_err *err);

/* --- writing piece by piece ---------------------------------------------- */

/** Take the next bytes. Called on the thread that writes. */
typedef pdr_rc (*pdr_write_fn)(pdr_str bytes, pdr_err *err, void *arg);

/** A pdr_write_fn that appends to a buffer. `arg` is a `pdr_buf *`. Fails as
 * pdr_buf_append(). @thread owner @since 0.1 */
PDR_API pdr_rc pdr_write_buf(pdr_str bytes, pdr_err *err, void *arg);

/*
 * A writer takes the events that a walk gives. It holds no more in memory than
 * a window; but a format that needs to know the number of members before the
 * first one (MessagePack) keeps a document that comes in pieces until its end.
 * So from any format to any other (examples/copy.c is the whole program):
 *
 *     do {
 *         rc = pdr_walk_next(&event, walk, err);
 *         if (rc == PDR_OK && event != PDR_END_OF_INPUT)
 *             rc = pdr_writer_put(writer, event, pdr_walk_value(walk), err);
 *     } while (rc == PDR_OK && event != PDR_END_OF_INPUT);
 *     if (rc == PDR_OK)
 *         rc = pdr_writer_finish(writer, err);
 */
typedef struct pdr_writer pdr_writer;

/** @param[out] out  owned; release with pdr_writer_free(). NULL on failure.
 * @param codec  borrowed, must outlive the writer.
 * @param opts   copied; NULL means the defaults.
 * @param fn     borrowed with `arg`, must outlive the writer; not NULL.
 * @return PDR_OK; PDR_ENOMEM; PDR_EMISUSE and PDR_EVERSION as
 *         pdr_codec_write().
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_writer_new(pdr_writer **out,
                                             const pdr_codec *codec,
                                             const pdr_write_opts *opts,
                                             pdr_err *err, pdr_write_fn fn,
                                             void *arg);

/** Release it, finished or not. NULL is fine. @thread owner @since 0.1 */
PDR_API void pdr_writer_free(pdr_writer *writer);

/**
 * Write one event. What failed once stays failed.
 *
 * @param value  borrowed for the call; the string for PDR_NAME, any value,
 *               whole, for PDR_SCALAR, NULL for the others.
 * @return as pdr_codec_write(), or what the stream gives; PDR_EMISUSE (reason
 *         "writer_order") for an event that cannot stand here;
 *         PDR_END_OF_INPUT is none; PDR_ELIMIT (reason "too_deep").
 * @thread owner  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_writer_put(pdr_writer *writer,
                                             pdr_event event,
                                             const pdr_value *value,
                                             pdr_err *err);

/** Hand all bytes to the stream; the last call before pdr_writer_free(). One
 * document is complete, or with PDR_SEQUENCE any number of them.
 * @return as pdr_writer_put(). @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_writer_finish(pdr_writer *writer,
                                                pdr_err *err);

/* --- which format? ------------------------------------------------------- */

/* One form of a format, as people name it: "json", "jsonl", "msgpack", ... */
typedef struct pdr_format {
    const pdr_codec *codec; /* borrowed */
    const char *name;       /* borrowed from the codec */
    unsigned flags;         /* PDR_SEQUENCE and the like, for walk and writer */
} pdr_format;

/** The codecs of the library: JSON, MessagePack, XML. Static.
 * @param[out] count  how many. @thread any @since 0.1 */
PDR_API const pdr_codec *const *pdr_codecs(size_t *count);

/** The form called `name`.
 * @param[out] out  as it was on failure.
 * @param codecs  borrowed for the call, `count` of them.
 * @return PDR_OK; PDR_ENOTFOUND (reason "no_format"); PDR_EMISUSE (reason
 *         "missing_slot") and PDR_EVERSION as pdr_codec_read().
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_codec_find(pdr_format *out,
                                             const pdr_codec *const *codecs,
                                             size_t count, const char *name,
                                             pdr_err *err);

/**
 * The form of a file: by the extension of its name if that tells, else by its
 * first bytes.
 *
 * @param[out] out   as it was on failure.
 * @param codecs     borrowed for the call, `count` of them.
 * @param path       borrowed for the call; NULL if there is no name.
 * @param beginning  borrowed for the call; a few hundred bytes are enough.
 * @param whole      are these all bytes that there are?
 * @return PDR_OK; PDR_EINVALID with reason "unknown_format" if no codec knows
 *         it, "ambiguous_format" if more than one could read it; PDR_EMISUSE
 *         and PDR_EVERSION as pdr_codec_find().
 * @thread any  @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_codec_guess(pdr_format *out,
                                              const pdr_codec *const *codecs,
                                              size_t count, const char *path,
                                              pdr_str beginning, bool whole,
                                              pdr_err *err);

PDR_END_DECLS

#endif
