/* Cursors: the place of a list as a text, which belongs to that list alone. */
#include "test.h"

#include "trick_store.h"

#define T(text) pdr_str_c(text)
#define NONE    pdr_str_n(NULL, 0)

/* Version 1, hash of the query, 1, -2, 3, 2^64 - 1, 5, the texts, hash. */
#define GOLDEN                                                         \
    "AAAAAAAAAAGm7xIALVl7BAAAAAAAAAAB__________4AAAAAAAAAA___________" \
    "AAAAAAAAAAUAAAAAAAAABWFjbWUAAAAAAAAAA3MxAAAAAAAAAANr_3OuMBc7aSgk"

#define ARENA PDR_ARENA_INIT(SIZE_MAX)

static pdr_query a_query(void)
{
    return (pdr_query){.what = PDR_READ_SESSIONS,
                       .ref.tenant = T("acme"),
                       .limit = 7,
                       .max_bytes = 100,
                       .filter = {.agent = T("writer"),
                                  .by_state = true,
                                  .state = PDR_SESSION_WAITING,
                                  .changed_from_ms = -5,
                                  .changed_to_ms = 5,
                                  .property = T("color"),
                                  .match = T("red")}};
}

static pdr_list_place a_place(void)
{
    return (pdr_list_place){.n = 1,
                            .ms = -2,
                            .ref = {T("acme"), T("s1")},
                            .key = T("k\xFF"),
                            .seen = 3,
                            .commits = UINT64_MAX,
                            .epoch = 5};
}

/* Owned by the caller: free(). */
static char *write_cursor(const pdr_query *query, const pdr_list_place *place)
{
    struct pdr__arena memory = ARENA;
    pdr_str text = NONE;
    char *copy = NULL;

    ASSERT_RC(PDR_OK, pdr__cursor_write(&text, &memory, query, place, NULL));
    copy = malloc(text.len + 1);
    assert_non_null(copy);
    memcpy(copy, text.ptr, text.len + 1);
    ASSERT_SIZE(text.len, strlen(copy));
    pdr__arena_dispose(&memory);
    return copy;
}

static void assert_same_text(pdr_str a, pdr_str b)
{
    ASSERT((a.ptr == NULL) == (b.ptr == NULL));
    ASSERT_BYTES(a, b);
}

static void assert_same(const pdr_list_place *a, const pdr_list_place *b)
{
    ASSERT(!b->begins);
    ASSERT_SIZE(a->n, b->n);
    ASSERT_INT(a->ms, b->ms);
    assert_same_text(a->ref.tenant, b->ref.tenant);
    assert_same_text(a->ref.id, b->ref.id);
    assert_same_text(a->key, b->key);
    ASSERT_SIZE(a->seen, b->seen);
    ASSERT_SIZE(a->commits, b->commits);
    ASSERT_SIZE(a->epoch, b->epoch);
}

/* Is the text refused, and if not, is it the same place? */
static bool is_refused(pdr_str text, const pdr_query *asked,
                       const pdr_list_place *wanted)
{
    struct pdr__arena memory = ARENA;
    pdr_query query = *asked;
    pdr_err err = PDR_ERR_INIT;
    pdr_list_place place;

    query.after = text;
    pdr_rc rc = pdr__cursor_read(&place, &memory, &query, &err);
    if (rc == PDR_OK) {
        assert_same(wanted, &place);
    } else {
        ASSERT_RC(PDR_EINVALID, rc);
        ASSERT_STR("bad_cursor", err.reason);
        ASSERT_STR("the cursor is not one of this list; begin the list anew",
                   err.message);
    }
    pdr__arena_dispose(&memory);
    return rc != PDR_OK;
}

/* --- the text and back -----------------------------------------------------
 */

TEST(cursor_read, begins_without_a_text)
{
    struct pdr__arena memory = ARENA;
    pdr_query query = a_query();
    pdr_list_place place;

    memset(&place, 0xFF, sizeof(place));
    ASSERT_RC(PDR_OK, pdr__cursor_read(&place, &memory, &query, NULL));
    ASSERT(place.begins);
    ASSERT_SIZE(0, place.n);
    ASSERT(place.ref.id.ptr == NULL && place.key.ptr == NULL);
    pdr__arena_dispose(&memory);
}

TEST(cursor, comes_back_as_the_place_that_it_was)
{
    const pdr_list_place places[] = {
        a_place(),
        {.n = 0},
        {.n = UINT64_MAX, .ms = INT64_MIN, .seen = UINT64_MAX},
        {.ms = PDR_NEVER, .ref = {T(""), T("x")}},
        {.key = T("")},
        {.key = pdr_str_n("a\0b", 3), .ref.tenant = T("t")}};
    const pdr_query query = a_query();

    for (size_t i = 0; i < PDR_COUNT(places); i++) {
        char *text = write_cursor(&query, &places[i]);

        ASSERT(!is_refused(T(text), &query, &places[i]));
        free(text);
    }
}

/* They are kept by people: one of today must be read by all later versions. */
TEST(cursor, never_changes)
{
    const pdr_query query = a_query();
    const pdr_list_place place = a_place();
    char *text = write_cursor(&query, &place);

    ASSERT_STR(GOLDEN, text);
    free(text);
}

TEST(cursor, is_a_text_for_addresses)
{
    const pdr_query query = a_query();
    const pdr_list_place place = a_place();
    char *text = write_cursor(&query, &place);

    ASSERT_SIZE(strlen(text),
                strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvw"
                             "xyz0123456789-_"));
    free(text);
}

TEST(cursor_read, keeps_texts_of_its_own)
{
    struct pdr__arena memory = ARENA;
    pdr_query query = a_query();
    const pdr_list_place wanted = a_place();
    char *text = write_cursor(&query, &wanted);
    pdr_list_place place;

    query.after = T(text);
    ASSERT_RC(PDR_OK, pdr__cursor_read(&place, &memory, &query, NULL));
    free(text);
    assert_same(&wanted, &place);
    pdr__arena_dispose(&memory);
}

/* --- of another list -------------------------------------------------------
 */

TEST(cursor_read, refuses_one_of_another_list)
{
    const pdr_query query = a_query();
    const pdr_list_place place = a_place();
    char *text = write_cursor(&query, &place);

#define REFUSED(member, value)                        \
    do {                                              \
        pdr_query other = query;                      \
        other.member = value;                         \
        if (!is_refused(T(text), &other, &place))     \
            fail_msg("another %s is taken", #member); \
    } while (0)
    REFUSED(what, PDR_READ_EXPIRED);
    REFUSED(ref.tenant, T("acne"));
    REFUSED(ref.tenant, NONE);
    REFUSED(ref.id, T("s1"));
    REFUSED(ref.id, T(""));
    REFUSED(key, T("k"));
    REFUSED(backwards, true);
    REFUSED(filter.agent, T("reader"));
    REFUSED(filter.agent, NONE);
    REFUSED(filter.by_state, false);
    REFUSED(filter.state, PDR_SESSION_IDLE);
    REFUSED(filter.changed_from_ms, -6);
    REFUSED(filter.changed_to_ms, 6);
    REFUSED(filter.property, T("size"));
    REFUSED(filter.match, T("blue"));
    REFUSED(filter.match, T(""));
#undef REFUSED
    free(text);
}

TEST(cursor_read, takes_other_sizes_of_pages_and_another_time)
{
    const pdr_query query = a_query();
    const pdr_list_place place = a_place();
    char *text = write_cursor(&query, &place);
    pdr_query other = query;

    other.limit = 1;
    other.max_bytes = 1;
    other.from = 9;
    other.now_ms = 77;
    ASSERT(!is_refused(T(text), &other, &place));
    free(text);
}

/* --- slips of the hand -----------------------------------------------------
 */

TEST(cursor_read, refuses_a_text_with_any_byte_changed)
{
    const pdr_query query = a_query();
    const pdr_list_place place = a_place();
    char *text = write_cursor(&query, &place);
    size_t len = strlen(text);

    for (size_t i = 0; i < len; i++) {
        char kept = text[i];

        for (int byte = 0; byte < 256; byte++) {
            text[i] = (char)byte;
            if (text[i] != kept)
                ASSERT(is_refused(pdr_str_n(text, len), &query, &place));
        }
        text[i] = kept;
    }
    free(text);
}

TEST(cursor_read, refuses_a_text_that_was_cut_or_goes_on)
{
    const pdr_query query = a_query();
    const pdr_list_place place = a_place();
    char *text = write_cursor(&query, &place);
    size_t len = strlen(text);
    char longer[1000];

    for (size_t i = 0; i < len; i++) {
        ASSERT(is_refused(pdr_str_n(text, i), &query, &place));
        if (i > 0)
            ASSERT(is_refused(pdr_str_n(text + i, len - i), &query, &place));
    }
    snprintf(longer, sizeof(longer), "%sA", text);
    ASSERT(is_refused(T(longer), &query, &place));
    snprintf(longer, sizeof(longer), "%sAAAA", text);
    ASSERT(is_refused(T(longer), &query, &place));
    snprintf(longer, sizeof(longer), "%s%s", text, text);
    ASSERT(is_refused(T(longer), &query, &place));
    snprintf(longer, sizeof(longer), " %s", text);
    ASSERT(is_refused(T(longer), &query, &place));
    free(text);
}

TEST(cursor_read, refuses_absurd_texts)
{
    static const char *const texts[] = {
        "", "A", "AA", "=", "====", "AAA=", "null", "0", "\n", "\xFF\xFE"};
    const pdr_query query = a_query();
    const pdr_list_place place = a_place();
    size_t len = 1 << 20;
    char *many = malloc(len);

    assert_non_null(many);
    for (size_t i = 0; i < PDR_COUNT(texts); i++)
        ASSERT(is_refused(T(texts[i]), &query, &place));
    memset(many, 'A', len);
    ASSERT(is_refused(pdr_str_n(many, len), &query, &place));
    memset(many, '_', len);
    ASSERT(is_refused(pdr_str_n(many, len), &query, &place));
    ASSERT(is_refused(pdr_str_n("\0\0\0\0", 4), &query, &place));
    free(many);
}

/* --- made up ---------------------------------------------------------------
 */

/* The bytes behind a text, to change them and to write another one. */
struct forged {
    pdr_buf bytes, text;
};

static void forge_begin(struct forged *forged)
{
    const pdr_query query = a_query();
    const pdr_list_place place = a_place();
    char *text = write_cursor(&query, &place);

    forged->bytes = (pdr_buf)PDR_BUF_INIT(SIZE_MAX);
    forged->text = (pdr_buf)PDR_BUF_INIT(SIZE_MAX);
    ASSERT_RC(PDR_OK, pdr__base64_decode(&forged->bytes, T(text),
                                         PDR_BASE64_URL, NULL));
    forged->bytes.len -= 8; /* its own hash */
    free(text);
}

/* With the hash that it needs: who knows the form can do that. */
static pdr_str forge_end(struct forged *forged)
{
    const struct pdr__hash_key key = {0x70657264757265ull, 1};
    uint64_t hash = pdr__hash_keyed(key, pdr_buf_str(&forged->bytes));
    char tail[8];

    for (int i = 0; i < 8; i++)
        tail[i] = (char)(uint8_t)(hash >> (56 - 8 * i));
    ASSERT_RC(PDR_OK, pdr_buf_append(&forged->bytes, pdr_str_n(tail, 8), NULL));
    ASSERT_RC(PDR_OK,
              pdr__base64_encode(&forged->text, pdr_buf_str(&forged->bytes),
                                 PDR_BASE64_URL, false, NULL));
    return pdr_buf_str(&forged->text);
}

static void forge_dispose(struct forged *forged)
{
    pdr_buf_dispose(&forged->text);
    pdr_buf_dispose(&forged->bytes);
}

#define NUMBERS 7 /* in front of the texts: version, hash, place */

static void check_forged(size_t at, uint8_t byte, bool refused)
{
    const pdr_query query = a_query();
    const pdr_list_place place = a_place();
    struct forged forged;

    forge_begin(&forged);
    ASSERT(at < forged.bytes.len);
    forged.bytes.ptr[at] = (char)byte;
    ASSERT(refused == is_refused(forge_end(&forged), &query, &place));
    forge_dispose(&forged);
}

TEST(cursor_read, refuses_what_somebody_made_up_badly)
{
    size_t texts = NUMBERS * 8, id = texts + 8 + 4, key = id + 8 + 2;

    check_forged(7, 1, false); /* as it was */
    check_forged(7, 2, true);  /* another version */
    check_forged(0, 1, true);
    check_forged(8, 0, true);        /* another query, most likely */
    check_forged(texts, 0xFF, true); /* a length beyond all memory */
    check_forged(texts + 7, 4, true);
    check_forged(texts + 7, 0xFF, true);
    check_forged(id, 0x80, true);
    check_forged(id + 7, 0, true);
    check_forged(key, 1, true);
    check_forged(key + 7, 4, true); /* one byte more than there is */
    check_forged(key + 7, 2, true); /* and one that is left over */
}

TEST(cursor_read, refuses_bytes_behind_the_last_text)
{
    const pdr_query query = a_query();
    const pdr_list_place place = a_place();
    struct forged forged;

    forge_begin(&forged);
    ASSERT_RC(PDR_OK, pdr_buf_append(&forged.bytes, T("12345678"), NULL));
    ASSERT(is_refused(forge_end(&forged), &query, &place));
    forge_dispose(&forged);
    forge_begin(&forged);
    forged.bytes.len = NUMBERS * 8; /* no texts at all */
    ASSERT(is_refused(forge_end(&forged), &query, &place));
    forge_dispose(&forged);
}

/* A list that begins where the writer says, be it nowhere. */
TEST(cursor_read, takes_numbers_that_no_list_has)
{
    static const struct {
        uint64_t n;
        bool backwards;
        size_t count;
    } cases[] = {{UINT64_MAX, false, 0}, {0, false, 10}, {11, false, 0},
                 {0, true, 0},           {1, true, 0},   {UINT64_MAX, true, 10},
                 {11, true, 10}};
    pdr_store *store = trick_open("trick:");

    trick_fill(store);
    for (size_t i = 0; i < PDR_COUNT(cases); i++) {
        pdr_list_place place = {.n = cases[i].n, .seen = UINT64_MAX};
        pdr_query query = trick_query(PDR_READ_ENTRIES);
        pdr_page *page = NULL;

        query.ref.tenant = T(PDR_DEFAULT_TENANT);
        query.backwards = cases[i].backwards;
        char *text = write_cursor(&query, &place);
        query.after = T(text);
        ASSERT_RC(PDR_OK, pdr_store_read(&page, store, &query, NULL));
        ASSERT_SIZE(cases[i].count, page->count);
        pdr_page_free(page);
        free(text);
    }
    pdr_store_close(store);
}

/* --- memory -----------------------------------------------------------------
 */

TEST_OOM(cursor_write, cleans_up_after_any_failed_allocation)
{
    struct pdr__arena memory = ARENA;
    const pdr_query query = a_query();
    const pdr_list_place place = a_place();
    pdr_str text = NONE;
    pdr_rc rc = pdr__cursor_write(&text, &memory, &query, &place, NULL);

    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    ASSERT((text.ptr != NULL) == (rc == PDR_OK));
    pdr__arena_dispose(&memory);
}

TEST_OOM(cursor_read, cleans_up_after_any_failed_allocation)
{
    struct pdr__arena memory = ARENA;
    pdr_query query = a_query();
    const pdr_list_place wanted = a_place();
    pdr_list_place place;

    test_pause_failures(true);
    char *text = write_cursor(&query, &wanted);
    test_pause_failures(false);
    query.after = T(text);
    pdr_rc rc = pdr__cursor_read(&place, &memory, &query, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr__arena_dispose(&memory);
    free(text);
}
