/*
 * sum_plain.h - sums as they are made on processors without SSE2. See
 * sum_plain.c.
 */
#ifndef PDR_TEST_SUM_PLAIN_H
#define PDR_TEST_SUM_PLAIN_H

#include "sqlite/vfs.h"

/* As pdr__page_sum(). */
void plain_page_sum(uint8_t out[PDR_SQLITE_RESERVED],
                    const uint8_t page[PDR_SQLITE_PAGE], uint32_t number);
/* As pdr__page_is_sound(). */
bool plain_page_is_sound(const uint8_t page[PDR_SQLITE_PAGE], uint32_t number);
/* As pdr__frame_is_sound(). */
bool plain_frame_is_sound(const uint8_t before[PDR_LOG_SUM],
                          const uint8_t *frame);
/* As pdr__log_header_is_sound(). */
bool plain_log_header_is_sound(const uint8_t header[PDR_LOG_HEADER]);
/* As pdr__note_seal() and pdr__note_is_sound(). */
void plain_note_seal(uint8_t *note, size_t len);
bool plain_note_is_sound(const uint8_t *note, size_t len);

#endif
