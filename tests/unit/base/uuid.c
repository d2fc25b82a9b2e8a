/* UUIDs: made, written, read. */
#include "test.h"

#include "base.h"
#include "fake_clock.h"
#include "fake_rand.h"

static struct pdr__uuid made(unsigned version, struct fake_rand *rand,
                             const struct fake_clock *clock)
{
    struct pdr__uuid uuid;
    pdr_rc rc = version == 4
                    ? pdr__uuid_v4(&uuid, &rand->base, NULL)
                    : pdr__uuid_v7(&uuid, &rand->base, &clock->base, NULL);

    ASSERT_RC(PDR_OK, rc);
    return uuid;
}

TEST(uuid_v4, sets_version_and_variant_and_nothing_else)
{
    struct fake_rand rand;
    uint8_t or_of_all[16] = {0}, and_of_all[16];

    fake_rand_init(&rand, 3);
    memset(and_of_all, 0xFF, sizeof(and_of_all));
    for (int i = 0; i < 200; i++) {
        struct pdr__uuid uuid = made(4, &rand, NULL);
        for (size_t at = 0; at < 16; at++) {
            or_of_all[at] |= uuid.bytes[at];
            and_of_all[at] &= uuid.bytes[at];
        }
    }
    for (size_t at = 0; at < 16; at++) {
        ASSERT_INT(at == 6 ? 0x4F : at == 8 ? 0xBF : 0xFF, or_of_all[at]);
        ASSERT_INT(at == 6 ? 0x40 : at == 8 ? 0x80 : 0, and_of_all[at]);
    }
}

TEST(uuid_v7, begins_with_the_milliseconds_since_1970)
{
    struct fake_rand rand;
    struct fake_clock clock;
    char text[PDR_UUID_TEXT];

    /* The instant of the example in RFC 9562: 2022-02-22 14:22:22 -05:00. */
    fake_rand_init(&rand, 3);
    fake_clock_init(&clock, PDR_TICKS_UNIX_EPOCH +
                                INT64_C(1645557742000) * PDR_TICKS_PER_MS);
    struct pdr__uuid uuid = made(7, &rand, &clock);
    pdr__uuid_write(text, &uuid);
    ASSERT(strncmp("017f22e2-79b0-7", text, 15) == 0);
    ASSERT(strchr("89ab", text[19]) != NULL);
}

TEST(uuid_v7, sorts_by_time)
{
    struct fake_rand rand;
    struct fake_clock clock;

    fake_rand_init(&rand, 4);
    fake_clock_init(&clock, PDR_TICKS_UNIX_EPOCH);
    struct pdr__uuid last = made(7, &rand, &clock);
    for (int i = 0; i < 100; i++) {
        fake_clock_advance_ms(&clock, 1 + 777 * i);
        struct pdr__uuid next = made(7, &rand, &clock);
        ASSERT(memcmp(last.bytes, next.bytes, 16) < 0);
        last = next;
    }
}

TEST(uuid_v7, takes_a_time_before_1970_for_1970)
{
    struct fake_rand rand;
    struct fake_clock clock;

    fake_rand_init(&rand, 4);
    fake_clock_init(&clock, PDR_TICKS_UNIX_EPOCH - PDR_TICKS_PER_SECOND);
    struct pdr__uuid uuid = made(7, &rand, &clock);
    ASSERT(memcmp("\0\0\0\0\0\0", uuid.bytes, 6) == 0);
    clock.now_ticks = PDR_MAX_TICKS;
    uuid = made(7, &rand, &clock);
    ASSERT(memcmp("\xE6\x77\xD2\x1F\xDB\xFF", uuid.bytes, 6) == 0);
}

TEST(uuid, is_not_made_without_randomness)
{
    struct fake_rand rand;
    struct fake_clock clock;
    struct pdr__uuid uuid;
    pdr_err err = PDR_ERR_INIT;

    fake_rand_init(&rand, 3);
    fake_clock_init(&clock, 0);
    fake_rand_fail(&rand, 1);
    ASSERT_RC(PDR_EIO, pdr__uuid_v4(&uuid, &rand.base, &err));
    ASSERT_STR("no_randomness", err.reason);
    fake_rand_fail(&rand, 1);
    ASSERT_RC(PDR_EIO, pdr__uuid_v7(&uuid, &rand.base, &clock.base, &err));
}

TEST(uuid_read, takes_both_cases_and_gives_the_lower_one)
{
    struct pdr__uuid uuid, upper;
    char text[PDR_UUID_TEXT];

    ASSERT_RC(PDR_OK,
              pdr__uuid_read(&uuid,
                             pdr_str_c("00112233-4455-6677-8899-aabbccddeeff"),
                             NULL));
    for (unsigned i = 0; i < 16; i++)
        ASSERT_INT(0x11 * i, uuid.bytes[i]);
    pdr__uuid_write(text, &uuid);
    ASSERT_STR("00112233-4455-6677-8899-aabbccddeeff", text);
    ASSERT_RC(PDR_OK,
              pdr__uuid_read(&upper,
                             pdr_str_c("00112233-4455-6677-8899-AABBCCDDEEFF"),
                             NULL));
    ASSERT(memcmp(&uuid, &upper, sizeof(uuid)) == 0);
}

TEST(uuid_read, refuses_every_other_form_and_says_where)
{
    static const struct {
        const char *text;
        int64_t offset;
        const char *message;
    } rows[] = {
        {"", 0, "a UUID has 36 characters, not 0"},
        {"00112233-4455-6677-8899-aabbccddeef", 35,
         "a UUID has 36 characters, not 35"},
        {"00112233-4455-6677-8899-aabbccddeeff0", 36,
         "a UUID has 36 characters, not 37"},
        {"00112233445566778899aabbccddeeff", 8,
         "expected '-' at offset 8 of a UUID"},
        {"{0112233-4455-6677-8899-aabbccddeeff}", 0,
         "expected a hexadecimal digit at offset 0 of a UUID"},
        {"0011223g-4455-6677-8899-aabbccddeeff", 7,
         "expected a hexadecimal digit at offset 7 of a UUID"},
        {"00112233-4455-6677-8899-aabbccddeef ", 35,
         "expected a hexadecimal digit at offset 35 of a UUID"},
        {"00112233-4455-6677-8899 aabbccddeeff", 23,
         "expected '-' at offset 23 of a UUID"},
        {"0011223--4455-6677-8899-aabbccddeeff", 7,
         "expected a hexadecimal digit at offset 7 of a UUID"},
        {"@0112233-4455-6677-8899-aabbccddeeff", 0,
         "expected a hexadecimal digit at offset 0 of a UUID"},
        {"`0112233-4455-6677-8899-aabbccddeeff", 0,
         "expected a hexadecimal digit at offset 0 of a UUID"},
        {"G0112233-4455-6677-8899-aabbccddeeff", 0,
         "expected a hexadecimal digit at offset 0 of a UUID"},
        {":0112233-4455-6677-8899-aabbccddeeff", 0,
         "expected a hexadecimal digit at offset 0 of a UUID"},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        struct pdr__uuid uuid;
        pdr_err err = PDR_ERR_INIT;
        ASSERT_RC(PDR_EINVALID,
                  pdr__uuid_read(&uuid, pdr_str_c(rows[i].text), &err));
        ASSERT_STR("bad_uuid", err.reason);
        ASSERT_INT(rows[i].offset, err.offset);
        ASSERT_STR(rows[i].message, err.message);
    }
}
