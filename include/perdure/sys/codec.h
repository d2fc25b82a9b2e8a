/*
 * perdure/sys/codec.h - for authors of codecs; may change in a minor release.
 *
 * A codec is one `static const pdr_codec`. Callers use the functions of
 * perdure/codec.h, which check arguments and the order of calls, keep track of
 * the place in a document and supply what is optional. So a codec sees events
 * in a legal order only, and needs no stack of its own.
 */
#ifndef PERDURE_SYS_CODEC_H
#define PERDURE_SYS_CODEC_H

#include <perdure/codec.h>

PDR_BEGIN_DECLS

#define PDR_CODEC_VERSION 1u

/* A name that people use for the codec in one of its forms. */
typedef struct pdr_codec_form {
    const char *name;       /* "jsonl" */
    const char *extensions; /* of files: "jsonl ndjson"; may be "" */
    unsigned flags;         /* PDR_SEQUENCE and the like */
} pdr_codec_form;

/* Where an event stands when it is written. */
typedef struct pdr_place {
    size_t depth;   /* containers open around it; for PDR_END, around the one
                       that ends */
    bool in_object; /* is the innermost of them an object? For PDR_END: is the
                       one that ends? */
    uint64_t index; /* children before it; for PDR_END, all of them; of the
                       root, documents before it */
} pdr_place;

struct pdr_codec {
    uint32_t version;            /* PDR_CODEC_VERSION the codec was built for */
    const char *title;           /* for people: "JSON"; static */
    const pdr_codec_form *forms; /* static, ends with a NULL name; the first is
                                    the usual one */
    unsigned read_flags, walk_flags, write_flags; /* that it takes */
    /* Its walk puts paths into failures; else the caller does. */
    bool has_paths;

    /* Required. Begin a walk; `opts` is not NULL, its flags are checked. What
     * is in *self is closed, also after a failure. */
    pdr_rc (*walk_open)(void **self, const pdr_read_opts *opts, pdr_err *err,
                        pdr_read_fn fn, void *arg);
    /* Required. The next event and, for NAME and SCALAR, an owned value; else
     * it stays NULL. No document where one must be is "empty_input". Not called
     * again after a failure. */
    pdr_rc (*walk_next)(pdr_event *event, pdr_value **value, void *self,
                        pdr_err *err);
    /* Required. Byte of the stream at which the last event began. */
    int64_t (*walk_offset)(const void *self);
    /* Required. Release everything. */
    void (*walk_close)(void *self);
    /* Required. Begin to write; as walk_open. */
    pdr_rc (*writer_open)(void **self, const pdr_write_opts *opts, pdr_err *err,
                          pdr_write_fn fn, void *arg);
    /* Required. Write one event. For PDR_SCALAR the value may be a container:
     * then it is written whole. Not called again after a failure. */
    pdr_rc (*writer_put)(void *self, const pdr_place *place, pdr_event event,
                         const pdr_value *value, pdr_err *err);
    /* Required. Hand out what is left. */
    pdr_rc (*writer_finish)(void *self, pdr_err *err);
    /* Required. Release everything, also after a failure. */
    void (*writer_close)(void *self);
    /* Required. Could these be the first bytes (all, if `whole`) of a document?
     * The form that they would be, or NULL. Claim no more than needed: what two
     * codecs claim is refused. */
    const pdr_codec_form *(*guess)(pdr_str beginning, bool whole);

    /* Optional. A document in memory, in one call; else it is walked. */
    pdr_rc (*read)(pdr_value **out, pdr_str input, const pdr_read_opts *opts,
                   pdr_err *err);
    /* Optional. A document to memory, in one call; else a writer is used. May
     * leave half of it in `out` when it fails. */
    pdr_rc (*write)(pdr_buf *out, const pdr_value *value,
                    const pdr_write_opts *opts, pdr_err *err);
    /* Optional. The value that began with the last event, whole. Else, or where
     * it leaves *out as NULL, the value is put together from events. After
     * PDR_ENOMEM the walk stands where it was. */
    pdr_rc (*walk_take)(pdr_value **out, void *self, pdr_err *err);
    /* --- version 1 ends here; later operations go below this line --- */
};

PDR_END_DECLS

#endif
