/*
 * sum_plain.c - the sums of pages once more, as they are built for processors
 * without SSE2. Of one source, so that tests see both.
 */
#include "sum_plain.h"

#define PDR_PLAIN_WORDS
#define pdr__page_sum            plain_page_sum
#define pdr__page_is_sound       plain_page_is_sound
#define pdr__frame_is_sound      plain_frame_is_sound
#define pdr__log_header_is_sound plain_log_header_is_sound
#define pdr__note_seal           plain_note_seal
#define pdr__note_is_sound       plain_note_is_sound
#include "../../src/store/sqlite/sum.c"
