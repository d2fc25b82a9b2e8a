/* Sums of pages, and of frames of the log. */
#include "test.h"

#include "sum_plain.h"

#define FRAME (PDR_FRAME_HEADER + PDR_SQLITE_PAGE)

static uint8_t page[PDR_SQLITE_PAGE];

/* Anything, the same each time. */
static void fill(uint8_t *bytes, size_t len, uint32_t seed)
{
    for (size_t i = 0; i < len; i++) {
        seed = seed * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(seed >> 24);
    }
}

/* The sum as the description has it, word by word. */
static void add_plainly(uint32_t sum[2], const uint8_t *bytes, size_t len,
                        bool is_big)
{
    for (size_t i = 0; i < len; i += 4) {
        uint32_t word = 0;

        for (size_t k = 0; k < 4; k++)
            word |= (uint32_t)bytes[i + k] << 8 * (is_big ? 3 - k : k);
        if (i % 8 == 0)
            sum[0] += word + sum[1];
        else
            sum[1] += word + sum[0];
    }
}

static void put_big(uint8_t *out, const uint32_t sum[2])
{
    for (size_t i = 0; i < 8; i++)
        out[i] = (uint8_t)(sum[i / 4] >> (24 - 8 * (i % 4)));
}

TEST(page_sum, is_what_can_be_found_by_hand)
{
    /* 1 and 1+2; then 1+3+3 and 3+4+7. */
    static const uint8_t wanted[] = {7, 0, 0, 0, 14, 0, 0, 0};
    uint8_t sum[PDR_SQLITE_RESERVED];

    memset(page, 0, sizeof(page));
    page[4072] = 1;
    page[4076] = 2;
    page[4080] = 3;
    page[4084] = 4;
    pdr__page_sum(sum, page, 0);
    assert_memory_equal(wanted, sum, sizeof(wanted));
}

TEST(page_sum, is_the_plain_one_whatever_the_page)
{
    for (uint32_t number = 1; number < 500; number += 7) {
        uint32_t plain[2] = {number, number};
        uint8_t sum[PDR_SQLITE_RESERVED], other[PDR_SQLITE_RESERVED];

        fill(page, sizeof(page), number);
        add_plainly(plain, page, PDR_SQLITE_USABLE, false);
        pdr__page_sum(sum, page, number);
        plain_page_sum(other, page, number);
        assert_memory_equal(other, sum, sizeof(sum));
        for (size_t i = 0; i < 8; i++)
            ASSERT_INT((uint8_t)(plain[i / 4] >> (8 * (i % 4))), sum[i]);
    }
}

TEST(page_sum, tells_any_byte_that_changed)
{
    fill(page, sizeof(page), 1);
    pdr__page_sum(page + PDR_SQLITE_USABLE, page, 9);
    ASSERT(pdr__page_is_sound(page, 9));
    for (size_t i = 0; i < sizeof(page); i++) {
        page[i] ^= (uint8_t)(1u << i % 8);
        ASSERT(!pdr__page_is_sound(page, 9));
        page[i] ^= (uint8_t)(1u << i % 8);
    }
    ASSERT(pdr__page_is_sound(page, 9));
}

TEST(page_sum, tells_a_page_in_another_place)
{
    fill(page, sizeof(page), 2);
    pdr__page_sum(page + PDR_SQLITE_USABLE, page, 9);
    for (uint32_t number = 0; number < 1000; number++)
        ASSERT(pdr__page_is_sound(page, number) == (number == 9));
}

TEST(page_sum, takes_a_page_that_was_never_written)
{
    memset(page, 0, sizeof(page));
    ASSERT(pdr__page_is_sound(page, 1));
    ASSERT(pdr__page_is_sound(page, 4711));
    for (size_t i = 0; i < sizeof(page); i += 61) {
        page[i] = 1;
        ASSERT(!pdr__page_is_sound(page, 4711));
        page[i] = 0;
    }
}

/* --- the log ------------------------------------------------------------- */

static void check_frame(bool is_big)
{
    static uint8_t before[PDR_LOG_SUM], frame[FRAME];
    uint32_t sum[2] = {0x01020304, 0xfffefdfc};

    put_big(before, sum);
    fill(frame, sizeof(frame), 3);
    add_plainly(sum, frame, 8, is_big);
    add_plainly(sum, frame + PDR_FRAME_HEADER, PDR_SQLITE_PAGE, is_big);
    put_big(frame + 16, sum);
    ASSERT(pdr__frame_is_sound(before, frame));
    ASSERT(plain_frame_is_sound(before, frame));
    for (size_t i = 0; i < sizeof(frame); i++) {
        bool is_salt = i >= 8 && i < 16; /* SQLite compares it, we do not */

        frame[i] ^= 0x40;
        ASSERT(pdr__frame_is_sound(before, frame) == is_salt);
        frame[i] ^= 0x40;
    }
    for (size_t i = 0; i < sizeof(before); i++) {
        before[i] ^= 1;
        ASSERT(!pdr__frame_is_sound(before, frame));
        before[i] ^= 1;
    }
}

TEST(frame_sum, tells_any_byte_that_changed)
{
    check_frame(false);
}

TEST(frame_sum, knows_the_byte_order_of_other_machines)
{
    check_frame(true);
}

/* A header of a log with its sum, in either order of bytes. */
static void check_header(bool is_big)
{
    uint8_t header[PDR_LOG_HEADER];
    uint32_t sum[2] = {0, 0};

    static const uint8_t begin[] = {0x37, 0x7f, 0x06, 0x82, 0,  45,
                                    0xe2, 0x18, 0,    0,    16, 0};

    fill(header, sizeof(header), 77);
    memcpy(header, begin, sizeof(begin)); /* magic, version, bytes of a page */
    add_plainly(sum, header, PDR_LOG_HEADER - PDR_LOG_SUM, is_big);
    put_big(header + PDR_LOG_HEADER - PDR_LOG_SUM, sum);
    ASSERT(pdr__log_header_is_sound(header));
    ASSERT(plain_log_header_is_sound(header));
    for (size_t i = 0; i < sizeof(header); i++) {
        header[i] ^= 0x10;
        ASSERT(!pdr__log_header_is_sound(header));
        header[i] ^= 0x10;
    }
}

/* Zeros have a sum of zeros. */
TEST(header_sum, is_not_enough_without_magic_and_page_size)
{
    uint8_t header[PDR_LOG_HEADER] = {0};

    ASSERT(!pdr__log_header_is_sound(header));
    ASSERT(!plain_log_header_is_sound(header));
}

TEST(note_sum, tells_any_byte_that_changed)
{
    uint8_t note[80];

    fill(note, sizeof(note), 78);
    pdr__note_seal(note, sizeof(note));
    ASSERT(pdr__note_is_sound(note, sizeof(note)));
    ASSERT(plain_note_is_sound(note, sizeof(note)));
    for (size_t i = 0; i < sizeof(note); i++) {
        note[i] ^= 0x10;
        ASSERT(!pdr__note_is_sound(note, sizeof(note)));
        note[i] ^= 0x10;
    }
}

TEST(header_sum, tells_any_byte_that_changed)
{
    check_header(false);
}

TEST(header_sum, knows_the_byte_order_of_other_machines)
{
    check_header(true);
}
