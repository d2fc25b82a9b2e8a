/*
 * perdure/server.h - durable agents over HTTP.
 *
 *     pdr_server_new ──► pdr_server_start ──► pdr_server_stop
 *
 * A server answers on TCP or unix sockets what docs/guide/server.md describes.
 * It keeps nothing that is not in the store: several servers may have one
 * store, and a stream that begins at one goes on at another.
 */
#ifndef PERDURE_SERVER_H
#define PERDURE_SERVER_H

#include <perdure/service.h>

PDR_BEGIN_DECLS

typedef struct pdr_server pdr_server;

#define PDR_SERVER_ADDRESS "127.0.0.1:7717" /* unless it is told another */

/* How the routes of durable agents reply. */
typedef enum pdr_profile {
    PDR_PROFILE_PYTHON = 0, /* "python-1": as the Python host */
    PDR_PROFILE_DOTNET = 1  /* "dotnet-1": as the .NET host */
} pdr_profile;

/* Zero means the default. All copied. */
typedef struct pdr_server_opts {
    const char *const *listen; /* "HOST:PORT", "[IPV6]:PORT" or "unix:PATH"; an
                                  address that others can reach needs `keys`;
                                  port 0: any that is free; the last one NULL.
                                  NULL: PDR_SERVER_ADDRESS */
    unsigned socket_mode;      /* permissions of unix sockets: whoever may write
                                  to one may connect; 0600 */
    const char *const *hosts;  /* names that a request over TCP may be meant
                                  for, beside "localhost" and addresses of the
                                  loopback interface; the last one NULL. Without
                                  any, those that come to an address that
                                  others can reach may name what they want */
    const char *keys;          /* file of keys (perdure/keys.h): each request
                                  but probes, the description and the files of
                                  the dashboard needs one of them. NULL: none
                                  does, and only this machine can be listened
                                  to */
    const char *base;          /* of the routes of durable agents; "/api" */
    const char *tenant;        /* whose sessions these are, for requests that
                                  need no key; "default" */
    pdr_profile profile;
    const char *ui_dir; /* folder of the files of the dashboard, for who works
                           on them; NULL: those that were built in */
    bool preconditions; /* changes over /api/v1 need If-Match or If-None-Match
                         */
    uint32_t wait_ms;   /* for a run; 30,000, or 230,000 in "dotnet-1" */
    size_t max_body_bytes;    /* of a request; 64 MiB */
    unsigned max_connections; /* at once, those of all addresses together; more
                                 wait; 20,000, or as many as there are
                                 descriptors for; two at each address in any
                                 case */
    unsigned threads;         /* that carry out requests; 16 */
    unsigned max_queue;       /* requests that wait for one of them; 4,096 */
    uint32_t ping_ms;         /* of streams without an event; 15,000 */
    uint32_t head_ms;         /* in which a client sends a request; 10,000;
                                 a second more for each KiB of its body */
    pdr_log_fn log;           /* borrowed with `log_arg`, must outlive it */
    void *log_arg;
} pdr_server_opts;

/**
 * Make a server, and listen. It answers when it is started.
 *
 * @param[out] out  owned; release with pdr_server_free(). NULL on failure.
 * @param service   borrowed; must outlive the server.
 * @param opts      borrowed for the call; NULL: the defaults.
 * @return PDR_OK; PDR_EINVALID ("bad_address"); PDR_EDENIED ("open_address":
 *         an address that others can reach needs keys); PDR_EIO
 *         ("cannot_listen", "file_failed": no folder `ui_dir`); PDR_ENOMEM; as
 *         pdr_keys_read(). @thread any
 * @since 0.1
 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_server_new(pdr_server **out,
                                             pdr_service *service,
                                             const pdr_server_opts *opts,
                                             pdr_err *err);

/** Could a server, with keys or without, listen there? To be asked before there
 * is a store.
 * @return PDR_OK; PDR_EINVALID ("bad_address"); PDR_EDENIED ("open_address").
 * @thread any @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_server_address_check(const char *address,
                                                       bool has_keys,
                                                       pdr_err *err);

/** @return PDR_OK; PDR_EIO ("no_thread", "cannot_listen"); PDR_ENOMEM.
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_server_start(pdr_server *server,
                                               pdr_err *err);

/** Where it listens, with the port that it got: "127.0.0.1:7717".
 * @return borrowed; NULL if there are fewer. @thread const @since 0.1 */
PDR_API const char *pdr_server_address(const pdr_server *server, size_t index);

/** Read the file of keys again. What is under way with a key that is no longer
 * there goes on, but for streams: they break off. If it fails, the keys before
 * stay. @return as pdr_keys_read(); PDR_OK without such a file. @thread any
 * @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_server_reload_keys(pdr_server *server,
                                                     pdr_err *err);

/** Take no new requests, let streams end, and wait for what is under way: runs
 * that others wait for here get `timeout_ms`. The engine is stopped with it.
 * @return as pdr_engine_stop(). @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_server_stop(pdr_server *server, pdr_stop how,
                                              uint32_t timeout_ms,
                                              pdr_err *err);

/** NULL is fine. @thread owner @since 0.1 */
PDR_API void pdr_server_free(pdr_server *server);

PDR_END_DECLS

#endif
