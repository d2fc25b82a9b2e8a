/*
 * cast.h - agents of a service that take part in a chat. See README.md.
 */
#ifndef PDR_HOST_CAST_H
#define PDR_HOST_CAST_H

#include <perdure/chat.h>
#include <perdure/service.h>

/* The agent that a participant is; NULL: it is not there. */
const pdr_service_agent *pdr__service_knows(const pdr_service *service,
                                            const pdr_chat_participant *p);
/* Let an agent join; fails with NO_AGENT. */
PDR_MUST_CHECK pdr_rc pdr__service_join(pdr_chat *chat,
                                        const pdr_service *service,
                                        pdr_str name, pdr_err *err);
/* Let those join that took part and are there. */
PDR_MUST_CHECK pdr_rc pdr__service_join_known(pdr_chat *chat,
                                              const pdr_service *service,
                                              const pdr_chat_state *state,
                                              pdr_err *err);
PDR_MUST_CHECK pdr_rc pdr__service_join_all(pdr_chat *chat,
                                            const pdr_service *service,
                                            pdr_err *err);
/* A new chat, owned, of those who take part in another. */
PDR_MUST_CHECK pdr_rc pdr__chat_same(pdr_chat **out, const pdr_chat *cast,
                                     const pdr_chat_opts *opts, pdr_err *err);
/* Let a chat live in the store of a service. A turn of it takes the lease for
 * as long as a run does. */
PDR_MUST_CHECK pdr_rc pdr__service_attach(pdr_chat *chat,
                                          const pdr_service *service,
                                          const pdr_ref *ref, int64_t now_ms,
                                          pdr_err *err);

#endif
