/* Every document that we have goes into a store and comes out as it was; and
 * after a change, everything else does. */
#include "archive_trip.h"
#include "corpus.h"
#include "processes.h"
#include "sqlite_room.h"

#include <sys/stat.h>

/* --- stores --------------------------------------------------------------- */

static pdr_store *store;
static size_t taken, changes, most_changes;

/* Do something with the same documents in each kind of store. */
static void in_every_store(void (*fn)(const char *name))
{
    struct room room;

    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    fn("memory");
    pdr_store_close(store);
    room_enter(&room);
    store = store_open(&room, "");
    fn("sqlite");
    pdr_store_close(store);
    room_leave(&room);
    room_enter(&room);
    room_put_c(&room, "key", "0123456789abcdef0123456789abcdef");
    char parameters[512];

    ASSERT_INT(0, chmod(room_path(&room, "key"), 0600));
    (void)snprintf(parameters, sizeof(parameters), "?key=%s",
                   room_path(&room, "key"));
    store = store_open(&room, parameters);
    fn("keyed sqlite");
    pdr_store_close(store);
    room_leave(&room);
    store = NULL;
}

/* --- documents ------------------------------------------------------------ */

typedef bool (*check_fn)(struct roundtrip_report *report, pdr_str text);

static check_fn check;

static bool check_unchanged(struct roundtrip_report *report, pdr_str text)
{
    return archive_check_unchanged(report, &archive_ours, store, text);
}

static bool check_changes(struct roundtrip_report *report, pdr_str text)
{
    return archive_check_changes(report, &archive_ours, store, text, &changes);
}

static bool are_objects(const pdr_value *list)
{
    pdr_iter it;

    pdr_iter_init(&it, list);
    while (pdr_iter_next(&it)) {
        if (pdr_value_kind(it.value) != PDR_OBJECT)
            return false;
    }
    return true;
}

/* A store takes a history that is a list of objects, or none. */
static bool is_state(const pdr_value *value)
{
    const pdr_value *list =
        pdr_value_get_c(pdr_state_data(value), "conversationHistory");

    return pdr_state_gate(value, NULL) == PDR_OK &&
           (list == NULL || pdr_value_kind(list) == PDR_NULL ||
            pdr_value_kind(list) == PDR_ARRAY) &&
           are_objects(list);
}

static bool is_session(const pdr_value *value)
{
    pdr_session_wrapper wrapper = PDR_SESSION_WRAPPER_INIT;
    pdr_value *history = NULL;
    bool result =
        pdr_session_wrapper_from_value(&wrapper, value, NULL, NULL, NULL,
                                       NULL) == PDR_OK &&
        pdr_session_history(&history, wrapper.session, NULL) == PDR_OK &&
        are_objects(history);

    pdr_value_free(history);
    pdr_session_wrapper_dispose(&wrapper);
    return result;
}

static void check_text(const char *path, const pdr_value *value, pdr_str text)
{
    struct roundtrip_report report;

    if (!is_state(value) && !is_session(value))
        return;
    taken++;
    if (!check(&report, text))
        corpus_complain(path, "round trip", "%s", report.text);
}

/* --- variants ------------------------------------------------------------- */

static uint64_t seed;

static void add(pdr_buf *out, const char *text)
{
    ASSERT_RC(PDR_OK, pdr_buf_append(out, pdr_str_c(text), NULL));
}

static void add_byte(pdr_buf *out, char c)
{
    ASSERT_RC(PDR_OK, pdr_buf_append(out, pdr_str_n(&c, 1), NULL));
}

/* White space that nobody would write. */
static void add_space(pdr_buf *out)
{
    static const char *const spaces[] = {"", "", "", " ", "\n", "\r\n\t", "  "};

    add(out, spaces[random_below(&seed, 7)]);
}

/* The same document with other white space, and letters as escapes. */
static void respell(pdr_buf *out, pdr_str text)
{
    bool inside = false;

    add_space(out);
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (c == '"')
            inside = !inside;
        if (!inside && strchr("]}:,", c) != NULL)
            add_space(out);
        if (inside && c == '\\') {
            add_byte(out, c);
            add_byte(out, text.ptr[++i]);
            if (text.ptr[i] == 'u') {
                ASSERT_RC(
                    PDR_OK,
                    pdr_buf_append(out, pdr_str_n(text.ptr + i + 1, 4), NULL));
                i += 4;
            }
        } else if (inside && c >= 'a' && c <= 'z' &&
                   random_below(&seed, 12) == 0) {
            ASSERT_RC(PDR_OK,
                      pdr_buf_printf(out, NULL, "\\u%04X", (unsigned)c));
        } else {
            add_byte(out, c);
        }
        if (!inside && strchr("[{:,", c) != NULL)
            add_space(out);
    }
    add_space(out);
}

/* The same with members that are there twice, in front of those that are there
 * once: no member is the only one then. */
static void redouble(pdr_buf *out, pdr_str text)
{
    static const char *const at[] = {"\"stateBag\":{\"", "\"state\":{\"",
                                     "\"data\":{\""};
    size_t from = 0;

    for (size_t i = 0; i < text.len; i++) {
        for (size_t k = 0; k < 3; k++) {
            size_t len = strlen(at[k]) - 1;

            if (text.len - i <= len || memcmp(text.ptr + i, at[k], len) != 0 ||
                text.ptr[i + len] != '"')
                continue;
            ASSERT_RC(PDR_OK,
                      pdr_buf_append(out,
                                     pdr_str_n(text.ptr + from, i + len - from),
                                     NULL));
            add(out, "\"twice\":1 , \"tw\\u0069ce\" :[2],\"\":0,\"\\u0000\":"
                     "1, \"\\ud800\":2,\"twice\":3,");
            from = i + len;
        }
    }
    ASSERT_RC(
        PDR_OK,
        pdr_buf_append(out, pdr_str_n(text.ptr + from, text.len - from), NULL));
}

/* The same as a session with metadata. */
static void wrap(pdr_buf *out, pdr_str text)
{
    static const char *const fronts[] = {
        "{\"session\":", "{ \"note\" : [ ] , \"session\":  ",
        "{\"additionalProperties\":{\"a\":1},\"session\":"};
    static const char *const backs[] = {
        "}", ",\"additionalProperties\":null}",
        ", \"additionalProperties\" : { } }\n",
        ",\"additionalProperties\":{\"a\" : 1 , \"b\":[2 ],\"a\":3},\"n\":0}",
        (",\"additionalProperties\":{\"\":1,\"x\\u0000\":2,\"\\udc00\":3,"
         "\"\\u0061\":4}}")};
    size_t front = random_below(&seed, 3);

    add(out, fronts[front]);
    ASSERT_RC(PDR_OK, pdr_buf_append(out, text, NULL));
    add(out, backs[front == 2 ? 0 : random_below(&seed, 5)]);
}

typedef void (*variant_fn)(pdr_buf *out, pdr_str text);

/* Applied one after the other; NULL: none. */
static variant_fn variants[3];

static void check_variant(const char *path, pdr_str text)
{
    pdr_buf made[2] = {PDR_BUF_INIT(SIZE_MAX), PDR_BUF_INIT(SIZE_MAX)};
    pdr_value *value = NULL;
    pdr_str last = text;

    for (size_t i = 0; i < 3 && variants[i] != NULL; i++) {
        pdr_buf *out = &made[i % 2];

        pdr_buf_clear(out);
        variants[i](out, last);
        last = pdr_buf_str(out);
    }
    /* What was made may be too deep for a document. */
    if (pdr_json_read(&value, last, NULL, NULL) == PDR_OK)
        check_text(path, value, last);
    pdr_value_free(value);
    pdr_buf_dispose(&made[0]);
    pdr_buf_dispose(&made[1]);
}

/* A file with a document, or a list of them. */
static void check_file(const char *path, pdr_str content)
{
    pdr_value *value = NULL;
    pdr_iter it;
    pdr_str raw;

    if (pdr_json_read(&value, content, NULL, NULL) != PDR_OK)
        return;
    check_variant(path, content);
    pdr_iter_init(&it, value);
    while (pdr_value_kind(value) == PDR_ARRAY && pdr_iter_next(&it)) {
        if (pdr_value_raw(&raw, it.value))
            check_variant(path, raw);
    }
    pdr_value_free(value);
}

static void check_files(const char *name)
{
    taken = changes = 0;
    seed = 8;
    (void)corpus_each_file("state", ".json", check_file);
    (void)corpus_each_file("dotnet", ".json", check_file);
    (void)corpus_each_file("python", ".json", check_file);
    print_message("%s: %zu documents, %zu changes\n", name, taken, changes);
    corpus_assert_no_complaint();
    ASSERT(taken >= 90);
    if (changes > most_changes)
        most_changes = changes;
}

TEST(archive_round_trip, gives_back_every_document_that_others_wrote)
{
    check = check_unchanged;
    in_every_store(check_files);
}

/* All files in each of these forms, in memory. */
static void check_variants(check_fn what)
{
    static const variant_fn rows[][3] = {
        {NULL, NULL, NULL}, {respell, NULL, NULL},  {redouble, NULL, NULL},
        {wrap, NULL, NULL}, {redouble, wrap, NULL}, {redouble, wrap, respell}};

    check = what;
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        memcpy(variants, rows[i], sizeof(variants));
        check_files("memory");
    }
    memset(variants, 0, sizeof(variants));
    pdr_store_close(store);
    store = NULL;
}

TEST(archive_round_trip, gives_back_what_nobody_would_write)
{
    check_variants(check_unchanged);
}

TEST(archive_round_trip, changes_nothing_but_what_was_changed)
{
    check_variants(check_changes);
    ASSERT(changes >= 700);
    ASSERT(most_changes >= 1500); /* of state documents, too */
}

/* --- without the wrapper ---------------------------------------------------
 */

static void check_bare(const char *path, pdr_str content)
{
    pdr_export_opts out_opts = {.ref = {.id = pdr_str_c("bare")}, .bare = true};
    pdr_import_opts in_opts = {
        .ref = {.id = pdr_str_c("bare")}, .replace = true, .now_ms = 1};
    pdr_buf wrapped = PDR_BUF_INIT(SIZE_MAX), out = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *value = NULL;
    pdr_str text;

    if (pdr_json_read(&value, content, NULL, NULL) == PDR_OK &&
        !is_state(value) && is_session(value)) {
        taken++;
        wrap(&wrapped, content);
        text = pdr_buf_str(&wrapped);
        ASSERT_RC(PDR_OK,
                  pdr_import(NULL, store, &in_opts, NULL, pdr_read_str, &text));
        ASSERT_RC(PDR_OK, pdr_export(NULL, store, &out_opts, NULL,
                                     pdr_write_buf, &out));
        if (!pdr_str_equal(roundtrip_root(content),
                           roundtrip_root(pdr_buf_str(&out))))
            corpus_complain(path, "bare", "another session");
    }
    pdr_value_free(value);
    pdr_buf_dispose(&wrapped);
    pdr_buf_dispose(&out);
}

TEST(archive_round_trip, gives_a_session_without_its_wrapper)
{
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    taken = 0;
    seed = 14;
    (void)corpus_each_file("dotnet", ".json", check_bare);
    (void)corpus_each_file("python", ".json", check_bare);
    corpus_assert_no_complaint();
    ASSERT(taken >= 80);
    pdr_store_close(store);
    store = NULL;
}

/* --- many rows ------------------------------------------------------------ */

#define MANY 999

/* A number for each place, each once, in no order. */
static size_t shuffled(size_t i)
{
    return (i * 370 + 11) % MANY;
}

static void add_members(pdr_buf *out)
{
    for (size_t i = 0; i < MANY; i++)
        ASSERT_RC(PDR_OK, pdr_buf_printf(out, NULL, "%s\"k%zu\":%zu",
                                         i > 0 ? ", " : "", shuffled(i), i));
}

TEST(archive_round_trip, gives_back_many_rows_in_their_order)
{
    struct roundtrip_report report;
    pdr_buf text = PDR_BUF_INIT(SIZE_MAX);

    add(&text, "{\"session\":{\"stateBag\":{");
    add_members(&text);
    add(&text, ",\"InMemoryChatHistoryProvider\":{\"messages\":[");
    for (size_t i = 0; i < MANY; i++)
        ASSERT_RC(PDR_OK, pdr_buf_printf(&text, NULL, "%s{\"n\":%zu}",
                                         i % 3 == 0   ? i > 0 ? ",\n" : ""
                                         : i % 3 == 1 ? ","
                                                      : " , ",
                                         i));
    add(&text, "]}}},\"additionalProperties\":{");
    add_members(&text);
    add(&text, "}}");
    ASSERT_RC(PDR_OK, pdr_store_open(&store, "memory:", NULL));
    changes = 0;
    if (!archive_check_unchanged(&report, &archive_ours, store,
                                 pdr_buf_str(&text)) ||
        !archive_check_changes(&report, &archive_ours, store,
                               pdr_buf_str(&text), &changes))
        fail_msg("%s", report.text);
    ASSERT_SIZE(8 * 4 + 4, changes);
    pdr_store_close(store);
    store = NULL;
    pdr_buf_dispose(&text);
}
