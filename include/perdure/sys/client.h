/*
 * perdure/sys/client.h - for authors of clients. May change in a minor release.
 *
 * A client is a struct with a pdr_client as its first member, made by a
 * function of its own and set up by pdr_client_init().
 */
#ifndef PERDURE_SYS_CLIENT_H
#define PERDURE_SYS_CLIENT_H

#include <perdure/client.h>

PDR_BEGIN_DECLS

#define PDR_CLIENT_OPS_VERSION 1

/* What a client must do: one `static const` table a kind. */
typedef struct pdr_client_ops {
    uint32_t version; /* PDR_CLIENT_OPS_VERSION that it was built for */
    const char *name; /* "script", "openai"; static */
    /* Required. As pdr_client_send(); called from any thread, several at once.
     */
    pdr_rc (*send)(pdr_client *self, const pdr_client_request *request,
                   pdr_err *err, pdr_update_fn fn, void *arg);
    /* Required. Release everything, `self` included; nobody uses it. */
    void (*free)(pdr_client *self);
    /* --- version 1 ends here; later slots go below this line --- */
} pdr_client_ops;

/* The base object; a client embeds it as its first member. */
struct pdr_client {
    const pdr_client_ops *ops;
    int32_t holders; /* the library's */
};

/** Set up the base of a client, with one holder.
 * @param ops  borrowed for ever.
 * @return PDR_OK; PDR_EVERSION ("table_version"); PDR_EMISUSE ("missing_slot").
 * @thread owner @since 0.1 */
PDR_API PDR_MUST_CHECK pdr_rc pdr_client_init(pdr_client *client,
                                              const pdr_client_ops *ops,
                                              pdr_err *err);

PDR_END_DECLS

#endif
