/*
 * perdure/version.h - which perdure this is.
 */
#ifndef PERDURE_VERSION_H
#define PERDURE_VERSION_H

#include <perdure/types.h>

#define PDR_VERSION_MAJOR 0
#define PDR_VERSION_MINOR 1
#define PDR_VERSION_PATCH 0
#define PDR_VERSION       "0.1.0"

PDR_BEGIN_DECLS

/** Version of the library that runs, which may be newer than PDR_VERSION, the
 * one that was compiled against. Static text. @thread any @since 0.1 */
PDR_API const char *pdr_version(void);

PDR_END_DECLS

#endif
