/*
 * frame_model.h - a session put together again by docs/formats/frame.md alone.
 *
 * Written from the page and without the library's own export, so that a test of
 * imports does not depend on it: all rows are in memory, and nothing is fast.
 */
#ifndef PDR_TEST_FRAME_MODEL_H
#define PDR_TEST_FRAME_MODEL_H

#include <perdure/archive.h>

#include "test.h"

/* The whole document, owned by the caller: release with free(). */
char *frame_model_document(size_t *len, pdr_store *store, const pdr_ref *ref);

#endif
