/* A cursor that was written is read back as the same place by its own query and
 * by no other; any other text is refused, or is a cursor that we could have
 * written. */
#include "fuzz.h"

#include "store.h"

static bool same_text(pdr_str a, pdr_str b)
{
    return (a.ptr == NULL) == (b.ptr == NULL) && pdr_str_equal(a, b);
}

static bool same_place(const pdr_list_place *a, const pdr_list_place *b)
{
    return a->n == b->n && a->ms == b->ms && a->seen == b->seen &&
           a->commits == b->commits && same_text(a->key, b->key) &&
           same_text(a->ref.tenant, b->ref.tenant) &&
           same_text(a->ref.id, b->ref.id);
}

/* Take up to 8 bytes as a number. */
static uint64_t take_number(pdr_str *from)
{
    uint64_t number = 0;

    for (size_t i = 0; i < 8 && from->len > 0; i++) {
        number = number << 8 | (uint8_t)from->ptr[0];
        *from = pdr_str_n(from->ptr + 1, from->len - 1);
    }
    return number;
}

/* Take a text with its length in front; 255: none. */
static pdr_str take_text(pdr_str *from)
{
    size_t len = 255;
    pdr_str text;

    if (from->len > 0)
        len = (uint8_t)from->ptr[0];
    if (len == 255 || len >= from->len)
        return pdr_str_n(NULL, 0);
    text = pdr_str_n(from->ptr + 1, len);
    *from = pdr_str_n(text.ptr + len, from->len - 1 - len);
    return text;
}

static pdr_query take_query(pdr_str *from)
{
    pdr_query query = {
        .what = (pdr_read_what)(take_number(from) % (PDR_READ_ALL + 1))};

    query.backwards = take_number(from) % 2 == 1;
    query.ref.tenant = take_text(from);
    query.ref.id = take_text(from);
    query.key = take_text(from);
    query.filter.agent = take_text(from);
    query.filter.property = take_text(from);
    query.filter.match = take_text(from);
    return query;
}

static pdr_list_place take_place(pdr_str *from)
{
    pdr_list_place place = {.begins = false, .n = take_number(from)};

    place.ms = (int64_t)take_number(from);
    place.seen = take_number(from);
    place.commits = take_number(from);
    place.ref.tenant = take_text(from);
    place.ref.id = take_text(from);
    place.key = take_text(from);
    return place;
}

static void check_trip(pdr_str bytes)
{
    struct pdr__arena memory = PDR_ARENA_INIT(SIZE_MAX);
    pdr_query query = take_query(&bytes), other = query;
    pdr_list_place place = take_place(&bytes), again;

    MUST(pdr__cursor_write(&query.after, &memory, &query, &place, NULL) ==
         PDR_OK);
    MUST(pdr__cursor_read(&again, &memory, &query, NULL) == PDR_OK);
    MUST(!again.begins && same_place(&place, &again));
    other.after = query.after;
    other.backwards = !query.backwards;
    MUST(pdr__cursor_read(&again, &memory, &other, NULL) == PDR_EINVALID);
    pdr__arena_dispose(&memory);
}

static void check_any(pdr_str text)
{
    struct pdr__arena memory = PDR_ARENA_INIT(SIZE_MAX);
    pdr_query query = {.what = PDR_READ_SLOTS,
                       .ref = {{"default", 7}, {"a", 1}},
                       .after = text};
    pdr_list_place place;
    pdr_err err = PDR_ERR_INIT;
    pdr_str written = {NULL, 0};

    if (pdr__cursor_read(&place, &memory, &query, &err) == PDR_OK) {
        MUST(pdr__cursor_write(&written, &memory, &query, &place, NULL) ==
             PDR_OK);
        MUST(text.len >= written.len &&
             memcmp(text.ptr, written.ptr, written.len) == 0);
        for (size_t i = written.len; i < text.len; i++)
            MUST(text.ptr[i] == '='); /* base64url may have its padding */
    } else {
        MUST(strcmp(err.reason, "bad_cursor") == 0);
    }
    pdr__arena_dispose(&memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pdr_str text = {(const char *)data, size};

    check_trip(text);
    check_any(text);
    return 0;
}
