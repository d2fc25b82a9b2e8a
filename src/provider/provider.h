/*
 * provider.h - what the files of this folder share. See README.md.
 */
#ifndef PDR_PROVIDER_PROVIDER_H
#define PDR_PROVIDER_PROVIDER_H

#include <perdure/provider.h>

/* As pdr_provider_set_new(); `history_key` is that of the history in the
 * session, or NULL for the usual keys. Fails with TWO_HISTORIES also if there
 * is a provider of history beside it. */
PDR_MUST_CHECK pdr_rc pdr__provider_set_new(pdr_provider_set **out,
                                            const pdr_provider *providers,
                                            size_t count,
                                            const char *history_key,
                                            pdr_err *err);

#endif
