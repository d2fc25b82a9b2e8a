/*
 * perdure/stream.h - what a run says while it is at work, event by event.
 *
 *     pdr_stream_open ──► pdr_stream_next ... ──► pdr_stream_close
 *
 * Events are rows of the store: whoever reads them reads what was stored, in
 * any process, and a slow reader holds up nobody. An event has a number that
 * only grows in its session and never comes again; a reader that comes back
 * with the last number that it has gets the rest, in order.
 *
 *     event        data
 *     message      {"text":"..."}             a piece of the answer
 *     reasoning    {"text":"..."}             a piece of the thoughts before it
 *     tool_call    {"call_id","name","arguments"}
 *     tool_result  {"call_id","failed","result"}
 *     usage        counts of tokens, by their .NET names
 *     attempt      {"attempt":2,"counts":41}  the run goes on elsewhere: pieces
 *                                             of it after event 41 are void
 *     done         {}                         it is in the history
 *     error        {"code","message"}         it failed, and that is in it
 *
 * The last two end the stream of a run. Each is there exactly when the response
 * is.
 */
#ifndef PERDURE_STREAM_H
#define PERDURE_STREAM_H

#include <perdure/store.h>

PDR_BEGIN_DECLS

typedef struct pdr_stream pdr_stream;

typedef struct pdr_stream_opts {
    pdr_ref session;
    pdr_str
        correlation_id; /* of one run; absent: of all, one after the other */
    uint64_t after;     /* go on after this event; 0: with the first one
                           that is kept */
} pdr_stream_opts;

/* One event. Borrowed until the next call. */
typedef struct pdr_stream_event {
    uint64_t n;   /* its number; 0: it was made for this reader, because the
                     events themselves are not kept any more */
    pdr_str kind; /* as above */
    pdr_str correlation_id;
    pdr_str data; /* JSON */
} pdr_stream_event;

/**
 * Read the events of a session.
 *
 * @param[out] out  owned; release with pdr_stream_close(). NULL on failure.
 * @param store     borrowed; must outlive the stream.
 * @param opts      copied.
 * @return PDR_OK; PDR_ENOTFOUND ("no_session"; "no_completion": nobody sent
 *         this run; "cursor_gone": events after this one are not kept any
 *         more); PDR_EINVALID ("bad_cursor": there is no such event yet;
 *         "bad_ref"); as pdr_store_read(). @thread any @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_stream_open(pdr_stream **out,
                                              pdr_store *store,
                                              const pdr_stream_opts *opts,
                                              pdr_err *err);

/**
 * The next event; waits for it. Of a run that ended so long ago that its events
 * are gone, its whole text comes as one, and then its end; a reader that goes
 * on after the last event of its run gets the end alone, with number 0.
 *
 * @param[out] out    its `kind` is absent after the end of the run.
 * @param timeout_ms  0: do not wait.
 * @return PDR_OK; PDR_ETIMEOUT ("nothing_changed"); PDR_ENOTFOUND
 *         ("no_session": it was deleted; "cursor_gone"); PDR_ECANCELLED
 *         ("watch_stopped"); as pdr_store_read(). @thread owner @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_stream_next(pdr_stream_event *out,
                                              pdr_stream *stream,
                                              uint32_t timeout_ms,
                                              pdr_err *err);

/** End the waiting, now and for ever. @thread any @since 0.1 */
PDR_API void pdr_stream_stop(pdr_stream *stream);

/** NULL is fine; nobody may wait. @thread owner @since 0.1 */
PDR_API void pdr_stream_close(pdr_stream *stream);

PDR_END_DECLS

#endif
