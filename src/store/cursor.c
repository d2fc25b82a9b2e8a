/*
 * cursor.c - where a list goes on, as a text that a caller can keep.
 *
 * WHY  Pages are read one by one, by people who may wait a day in between and
 *      through servers that remember nothing. So the place stands in the text
 *      itself: the last row that was given. It belongs to one list; in another
 *      one it would skip rows without a word, so it carries a hash of what was
 *      asked for, and one of itself against slips of the hand.
 *
 * FORM base64url of: version, kind of the query, hash of the query, the numbers
 *      of pdr_list_place, its texts with their lengths, hash of all before. It
 *      is no secret and no proof of anything: who makes one up gets a list
 *      that begins where he says.
 */
#include "store.h"

#define CURSOR_VERSION 1

/* Fixed, because cursors outlive the process. */
static const struct pdr__hash_key cursor_key = {0x70657264757265ull, 1};

/* --- writing ------------------------------------------------------------- */

/* Byte by byte and not in a loop: so compilers make it two instructions. */
static char *write_number(char *to, uint64_t number)
{
    to[0] = (char)(uint8_t)(number >> 56);
    to[1] = (char)(uint8_t)(number >> 48);
    to[2] = (char)(uint8_t)(number >> 40);
    to[3] = (char)(uint8_t)(number >> 32);
    to[4] = (char)(uint8_t)(number >> 24);
    to[5] = (char)(uint8_t)(number >> 16);
    to[6] = (char)(uint8_t)(number >> 8);
    to[7] = (char)(uint8_t)number;
    return to + 8;
}

/* An absent text has the length zero, an empty one the length one. */
static char *write_text(char *to, pdr_str text)
{
    if (text.ptr == NULL)
        return write_number(to, 0);
    to = write_number(to, (uint64_t)text.len + 1);
    if (text.len > 0)
        memcpy(to, text.ptr, text.len);
    return to + text.len;
}

/* Room for all is made at once, and for the number that comes behind them. */
static pdr_rc put_all(pdr_buf *out, const uint64_t *numbers,
                      size_t number_count, const pdr_str *texts,
                      size_t text_count, pdr_err *err)
{
    size_t size = 8 * (number_count + text_count + 1);
    char *to = NULL;
    pdr_rc rc = PDR_OK;

    for (size_t i = 0; i < text_count; i++)
        size += texts[i].len;
    rc = pdr_buf_reserve(out, size, err);
    if (rc != PDR_OK)
        return rc;
    to = out->ptr + out->len;
    for (size_t i = 0; i < number_count; i++)
        to = write_number(to, numbers[i]);
    for (size_t i = 0; i < text_count; i++)
        to = write_text(to, texts[i]);
    out->len = (size_t)(to - out->ptr);
    return PDR_OK;
}

/* A hash of what was asked for, page size aside. */
static pdr_rc hash_query(uint64_t *out, const pdr_query *query, pdr_err *err)
{
    const pdr_filter *filter = &query->filter;
    const uint64_t numbers[] = {
        (uint64_t)query->what,
        query->backwards ? 1 : 0,
        filter->by_state ? (uint64_t)filter->state + 1 : 0,
        (uint64_t)filter->changed_from_ms,
        (uint64_t)filter->changed_to_ms,
    };
    const pdr_str texts[] = {query->ref.tenant, query->ref.id,    query->key,
                             filter->agent,     filter->property, filter->match,
                             filter->id_prefix};
    /* Without the last one it is the hash that older cursors have. */
    size_t count = PDR_COUNT(texts) - (filter->id_prefix.ptr == NULL);
    pdr_buf bytes = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = put_all(&bytes, numbers, PDR_COUNT(numbers), texts, count, err);

    if (rc == PDR_OK)
        *out = pdr__hash_keyed(cursor_key, pdr_buf_str(&bytes));
    pdr_buf_dispose(&bytes);
    return rc;
}

static pdr_rc write_place(pdr_buf *out, const pdr_query *query,
                          const pdr_list_place *place, pdr_err *err)
{
    const pdr_str texts[] = {place->ref.tenant, place->ref.id, place->key};
    uint64_t numbers[] = {
        CURSOR_VERSION,      0,           place->n,
        (uint64_t)place->ms, place->seen, place->commits,
        place->epoch,
    };
    pdr_rc rc = hash_query(&numbers[1], query, err);

    if (rc == PDR_OK)
        rc = put_all(out, numbers, PDR_COUNT(numbers), texts, PDR_COUNT(texts),
                     err);
    if (rc != PDR_OK)
        return rc;
    (void)write_number(out->ptr + out->len,
                       pdr__hash_keyed(cursor_key, pdr_buf_str(out)));
    out->len += 8;
    return PDR_OK;
}

pdr_rc pdr__cursor_write(pdr_str *out, struct pdr__arena *memory,
                         const pdr_query *query, const pdr_list_place *place,
                         pdr_err *err)
{
    pdr_buf bytes = PDR_BUF_INIT(SIZE_MAX), text = PDR_BUF_INIT(SIZE_MAX);
    char *copy = NULL;
    pdr_rc rc = write_place(&bytes, query, place, err);

    if (rc == PDR_OK)
        rc = pdr__base64_encode(&text, pdr_buf_str(&bytes), PDR_BASE64_URL,
                                false, err);
    if (rc == PDR_OK)
        rc = pdr__arena_strndup(&copy, memory, pdr_buf_str(&text), err);
    if (rc == PDR_OK)
        *out = pdr_str_n(copy, text.len);
    pdr_buf_dispose(&text);
    pdr_buf_dispose(&bytes);
    return rc;
}

/* --- reading ------------------------------------------------------------- */

static bool take_number(uint64_t *out, pdr_str *from)
{
    if (from->len < 8)
        return false;
    *out = 0;
    for (size_t i = 0; i < 8; i++)
        *out = *out << 8 | (uint8_t)from->ptr[i];
    *from = pdr_str_n(from->ptr + 8, from->len - 8);
    return true;
}

static bool take_text(pdr_str *out, pdr_str *from)
{
    uint64_t len = 0;

    *out = pdr_str_n(NULL, 0);
    if (!take_number(&len, from) || len > (uint64_t)from->len + 1)
        return false;
    if (len == 0)
        return true;
    *out = pdr_str_n(from->ptr, (size_t)len - 1);
    *from = pdr_str_n(from->ptr + out->len, from->len - out->len);
    return true;
}

static bool take_place(pdr_list_place *out, uint64_t *query_hash, pdr_str bytes)
{
    uint64_t version = 0, ms = 0, hash = 0;
    pdr_str rest = bytes;
    bool good = take_number(&version, &rest) && version == CURSOR_VERSION &&
                take_number(query_hash, &rest) && take_number(&out->n, &rest) &&
                take_number(&ms, &rest) && take_number(&out->seen, &rest) &&
                take_number(&out->commits, &rest) &&
                take_number(&out->epoch, &rest) &&
                take_text(&out->ref.tenant, &rest) &&
                take_text(&out->ref.id, &rest) && take_text(&out->key, &rest);
    pdr_str covered = {bytes.ptr, bytes.len - rest.len};

    out->ms = (int64_t)ms;
    return good && take_number(&hash, &rest) && rest.len == 0 &&
           hash == pdr__hash_keyed(cursor_key, covered);
}

static pdr_rc bad_cursor(pdr_err *err)
{
    return PDR_FAIL(err, BAD_CURSOR,
                    "the cursor is not one of this list; begin the list anew");
}

static pdr_rc read_place(pdr_list_place *out, struct pdr__arena *memory,
                         const pdr_query *query, pdr_str bytes, pdr_err *err)
{
    uint64_t told = 0, wanted = 0;
    char *copy = NULL;
    pdr_rc rc = pdr__arena_strndup(&copy, memory, bytes, err);

    if (rc == PDR_OK)
        rc = hash_query(&wanted, query, err);
    if (rc == PDR_OK &&
        (!take_place(out, &told, pdr_str_n(copy, bytes.len)) || told != wanted))
        rc = bad_cursor(err);
    return rc;
}

pdr_rc pdr__cursor_read(pdr_list_place *out, struct pdr__arena *memory,
                        const pdr_query *query, pdr_err *err)
{
    pdr_buf bytes = PDR_BUF_INIT(SIZE_MAX);
    pdr_rc rc = PDR_OK;

    memset(out, 0, sizeof(*out));
    out->begins = query->after.ptr == NULL;
    if (out->begins)
        return PDR_OK;
    rc = pdr__base64_decode(&bytes, query->after, PDR_BASE64_URL, err);
    if (rc == PDR_EINVALID)
        rc = bad_cursor(err);
    if (rc == PDR_OK)
        rc = read_place(out, memory, query, pdr_buf_str(&bytes), err);
    pdr_buf_dispose(&bytes);
    return rc;
}
