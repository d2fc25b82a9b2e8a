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

#endif
