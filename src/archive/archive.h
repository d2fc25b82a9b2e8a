/*
 * archive.h - what the files of this folder share. See README.md.
 */
#ifndef PDR_ARCHIVE_ARCHIVE_H
#define PDR_ARCHIVE_ARCHIVE_H

#include <perdure/archive.h>

#include "base.h"

/* Until when a stage is kept (batch.c). The caller told the time once, at the
 * beginning, so what went by since then is added: `began_ms` is of the clock
 * that only goes forwards. */
int64_t pdr__stage_until(int64_t now_ms, int64_t began_ms);

/* The time that the body of an entry says (entry.c); PDR_NO_TIME if it says
 * none, or `body` is NULL. */
int64_t pdr__body_time(const pdr_value *body, pdr_row_shape shape);

#endif
