/*
 * uuid.c - UUIDs of RFC 9562: random ones (version 4) and ones that sort by
 * time (version 7).
 *
 * Version 7 carries the milliseconds since 1970 in its first 48 bits. The rest
 * is random: there is no counter, so two of one millisecond come in any order.
 * Whoever needs a strict order has a sequence number.
 */
#include "base.h"

static void set_version(struct pdr__uuid *uuid, unsigned version)
{
    uuid->bytes[6] = (uint8_t)((uuid->bytes[6] & 0x0Fu) | version << 4);
    uuid->bytes[8] = (uint8_t)((uuid->bytes[8] & 0x3Fu) | 0x80u);
}

pdr_rc pdr__uuid_v4(struct pdr__uuid *out, const struct pdr__rand *source,
                    pdr_err *err)
{
    struct pdr__uuid uuid;

    PDR_REQUIRE(out != NULL && source != NULL);
    pdr_rc rc = pdr__rand_fill(uuid.bytes, source, sizeof(uuid.bytes), err);
    if (rc != PDR_OK)
        return rc;
    set_version(&uuid, 4);
    *out = uuid;
    return PDR_OK;
}

pdr_rc pdr__uuid_v7(struct pdr__uuid *out, const struct pdr__rand *source,
                    const struct pdr__clock *clock, pdr_err *err)
{
    PDR_REQUIRE(out != NULL && source != NULL && clock != NULL);
    pdr_rc rc = pdr__uuid_v4(out, source, err);
    if (rc != PDR_OK)
        return rc;
    int64_t ms =
        (pdr__now_ticks(clock) - PDR_TICKS_UNIX_EPOCH) / PDR_TICKS_PER_MS;
    if (ms < 0) /* a clock that was never set; the field has no sign */
        ms = 0;
    for (size_t i = 0; i < 6; i++)
        out->bytes[i] = (uint8_t)(ms >> (40 - 8 * i) & 0xFF);
    set_version(out, 7);
    return PDR_OK;
}

static bool is_hyphen_place(size_t at)
{
    return at == 8 || at == 13 || at == 18 || at == 23;
}

void pdr__uuid_write(char out[PDR_UUID_TEXT], const struct pdr__uuid *uuid)
{
    char hex[2 * sizeof(uuid->bytes) + 1];
    size_t from = 0;

    pdr__hex(hex, uuid->bytes, sizeof(uuid->bytes));
    for (size_t at = 0; at < PDR_UUID_TEXT - 1; at++)
        out[at] = is_hyphen_place(at) ? '-' : hex[from++];
    out[PDR_UUID_TEXT - 1] = '\0';
}

/* Value of a hexadecimal digit; 16 if it is none. */
static unsigned hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (unsigned)(c - 'a' + 10);
    if (c >= 'A' && c <= 'F')
        return (unsigned)(c - 'A' + 10);
    return 16;
}

pdr_rc pdr__uuid_read(struct pdr__uuid *out, pdr_str text, pdr_err *err)
{
    struct pdr__uuid uuid = {{0}};
    size_t nibble = 0;

    PDR_REQUIRE(out != NULL);
    for (size_t at = 0; at < PDR_UUID_TEXT - 1; at++) {
        if (at == text.len)
            return PDR_FAIL_AT(err, at, BAD_UUID,
                               "a UUID has 36 characters, not %zu", text.len);
        if (is_hyphen_place(at)) {
            if (text.ptr[at] != '-')
                return PDR_FAIL_AT(err, at, BAD_UUID,
                                   "expected '-' at offset %zu of a UUID", at);
            continue;
        }
        unsigned value = hex_value(text.ptr[at]);
        if (value > 15)
            return PDR_FAIL_AT(
                err, at, BAD_UUID,
                "expected a hexadecimal digit at offset %zu of a UUID", at);
        uint8_t *byte = &uuid.bytes[nibble++ / 2];
        *byte = (uint8_t)((unsigned)*byte << 4 | value);
    }
    if (text.len > PDR_UUID_TEXT - 1)
        return PDR_FAIL_AT(err, PDR_UUID_TEXT - 1, BAD_UUID,
                           "a UUID has 36 characters, not %zu", text.len);
    *out = uuid;
    return PDR_OK;
}
