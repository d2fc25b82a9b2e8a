/*
 * http_place.h - a server of durable agents in this process, on a unix socket
 * in a folder of its own, with a store in memory and an agent whose answers are
 * written down.
 */
#ifndef PDR_TEST_HTTP_PLACE_H
#define PDR_TEST_HTTP_PLACE_H

#include <perdure/server.h>

struct http_place {
    char folder[200];
    char path[220]; /* of the socket */
    pdr_store *store;
    pdr_agent *agent;
    pdr_service *service;
    pdr_server *server;
};

/* The agent is called Harbour; its runs may take so long, 0: as they need. */
PDR_MUST_CHECK pdr_rc http_place_begin(struct http_place *place,
                                       const char *script, uint32_t timeout_ms,
                                       pdr_err *err);
/* The same on a store, which is taken, with other options; `listen` is not
 * looked at. */
PDR_MUST_CHECK pdr_rc http_place_begin_on(struct http_place *place,
                                          pdr_store *store, const char *script,
                                          const pdr_server_opts *opts,
                                          pdr_err *err);
void http_place_end(struct http_place *place);

/* A connection; -1: none. */
int http_place_connect(const struct http_place *place);
/* False: the other side takes no more. */
bool http_send(int fd, const void *bytes, size_t len);
/* What comes until the other side closes, or says nothing for so long; the end
 * is marked with a NUL. Gives its length, at most `room` - 1. */
size_t http_receive(int fd, char *out, size_t room, int silence_ms);

#endif
