/* Parts of `perdure session` that need no process around them. */
#include "test.h"

#include <stdlib.h>
#include <unistd.h>

#include "session_parts.h"

/* --- arguments of the bag verbs ------------------------------------------ */

static void check_words(const char *want, bool has_value, bool many,
                        const char *const *words)
{
    struct ses_words w;
    size_t count = 0;
    char got[120];

    while (words[count] != NULL)
        count++;
    const char *lacks = ses_words_of(&w, words, count, has_value, many);
    if (lacks != NULL)
        snprintf(got, sizeof(got), "lacks %s", lacks);
    else
        snprintf(got, sizeof(got), "id %s, key %s, at %s, value %s",
                 w.id != NULL ? w.id : "-", w.key,
                 w.pointer != NULL ? w.pointer : "-",
                 w.value != NULL ? w.value : "-");
    ASSERT_STR(want, got);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

TEST(words, of_one_session_need_no_id)
{
    check_words("id -, key k, at -, value -", false, false, WORDS("k"));
    check_words("id -, key k, at /a/0, value -", false, false,
                WORDS("k", "/a/0"));
    check_words("id -, key k, at , value -", false, false, WORDS("k", ""));
    check_words("id s, key k, at -, value -", false, false, WORDS("s", "k"));
    check_words("id s, key k, at /a, value -", false, false,
                WORDS("s", "k", "/a"));
    check_words("id -, key k, at -, value 1", true, false, WORDS("k", "1"));
    check_words("id -, key k, at /a, value 1", true, false,
                WORDS("k", "/a", "1"));
    check_words("id s, key k, at -, value 1", true, false,
                WORDS("s", "k", "1"));
    check_words("id s, key k, at /a, value 1", true, false,
                WORDS("s", "k", "/a", "1"));
}

TEST(words, of_many_sessions_begin_with_an_id)
{
    check_words("id s, key /k, at -, value -", false, true, WORDS("s", "/k"));
    check_words("id /0, key k, at /a, value -", false, true,
                WORDS("/0", "k", "/a"));
    check_words("id s, key k, at -, value 1", true, true, WORDS("s", "k", "1"));
    check_words("id s, key k, at /a, value 1", true, true,
                WORDS("s", "k", "/a", "1"));
}

TEST(words, that_are_missing_are_named)
{
    const char *const none[] = {NULL};

    check_words("lacks KEY", false, false, none);
    check_words("lacks ID", false, true, none);
    check_words("lacks KEY", false, true, WORDS("s"));
    check_words("lacks KEY", true, false, WORDS("1"));
    check_words("lacks KEY", true, true, WORDS("s", "1"));
    check_words("lacks KEY", true, false, none);
}

/* --- generations --------------------------------------------------------- */

TEST(generation, is_text_and_comes_back)
{
    pdr_generation one, two = {.exists = false};
    char text[65];

    ASSERT_RC(PDR_OK, pdr_generation_of(&one, pdr_str_c("abc"), NULL));
    ASSERT_STR(
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        ses_generation_text(text, &one));
    ASSERT(ses_generation_read(&two, text));
    ASSERT(pdr_generation_equal(&one, &two));
    text[0] = 'B'; /* large letters are fine */
    ASSERT(ses_generation_read(&two, text));
    ASSERT(pdr_generation_equal(&one, &two));
    text[0] = 'g';
    ASSERT(!ses_generation_read(&two, text));
    text[0] = 'b';
    text[63] = '\0';
    ASSERT(!ses_generation_read(&two, text));
    ASSERT(!ses_generation_read(&two, ""));
}

/* --- tables -------------------------------------------------------------- */

static const struct ses_column columns[] = {
    {"NAME", false, 6}, {"NOTHING", false, 0}, {"COUNT", true, 0}};

/* What a grid prints. */
static char *printed(struct ses_grid *g, size_t width)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    ses_grid_flush(g, out, false, width);
    fclose(out);
    return text;
}

static void add_row(struct ses_grid *g, const char *name, const char *middle,
                    int count)
{
    ses_grid_put(g, pdr_str_c(name));
    ses_grid_put(g, pdr_str_c(middle));
    ses_grid_putf(g, "%d", count);
}

TEST(grid, leaves_out_columns_in_which_nothing_stands)
{
    struct ses_grid g;
    char *text = NULL;

    ses_grid_init(&g, columns, CLI_COUNT(columns));
    add_row(&g, "a", "", 1);
    add_row(&g, "a longer one", "", 1000);
    ASSERT_SIZE(2, ses_grid_rows(&g));
    text = printed(&g, 0);
    ASSERT_STR("NAME          COUNT\n"
               "a                 1\n"
               "a longer one   1000\n",
               text);
    free(text);
    add_row(&g, "b", "late", 2); /* titles again, with that of its column */
    text = printed(&g, 0);
    ASSERT_STR("NAME          NOTHING  COUNT\n"
               "b             late         2\n",
               text);
    free(text);
    ses_grid_free(&g);
}

TEST(grid, cuts_texts_and_no_numbers_to_the_width)
{
    struct ses_grid g;
    char *text = NULL;

    ses_grid_init(&g, columns, CLI_COUNT(columns));
    add_row(&g, "a longer one", "x", 123456);
    text = printed(&g, 24);
    ASSERT_STR("NAME     NOTHING   COUNT\n"
               "a long…  x        123456\n",
               text);
    free(text);
    ses_grid_free(&g);
}

TEST(grid, squeezes_texts_where_the_page_is_far_too_narrow)
{
    static const struct ses_column three[] = {
        {"IDENTITY", false, 6}, {"BYTES", true, 0}, {"NOTE", false, 12}};
    struct ses_grid g;
    char *text = NULL;

    ses_grid_init(&g, three, CLI_COUNT(three));
    ses_grid_put(&g, pdr_str_c("a long name"));
    ses_grid_put(&g, pdr_str_c("1,234,567"));
    ses_grid_put(&g, pdr_str_c("a note that has to be cut"));
    text = printed(&g, 22);
    ASSERT_STR("IDE…      BYTES  NOTE\n"
               "a l…  1,234,567  a no…\n",
               text);
    free(text);
    ses_grid_put(&g, pdr_str_c("a name"));
    ses_grid_put(&g, pdr_str_c("1,234,567"));
    ses_grid_put(&g, pdr_str_c(""));
    text = printed(&g, 10); /* a number is never cut */
    ASSERT_STR("a n…  1,234,567\n", text);
    free(text);
    ses_grid_free(&g);
}

TEST(grid, shows_no_control_characters)
{
    struct ses_grid g;
    char *text = NULL;

    ses_grid_init(&g, columns, CLI_COUNT(columns));
    add_row(&g, "a\033[2J\n", "", 1);
    text = printed(&g, 0);
    ASSERT(strchr(text, '\033') == NULL);
    ASSERT(strstr(text, "a\\u001b[2J\\n") != NULL);
    free(text);
    ses_grid_free(&g);
}

/* --- finding a session --------------------------------------------------- */

static void write_file(char *path, const char *text)
{
    int fd = mkstemps(path, 5);

    ASSERT(fd >= 0);
    ASSERT(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

struct found {
    struct ses_file file;
    struct ses_from from;
    char path[64];
};

static void open_text(struct found *f, const char *text)
{
    const struct cli cli = {.quiet = true};
    pdr_err err = PDR_ERR_INIT;

    memset(f, 0, sizeof(*f));
    f->file = (struct ses_file)SES_FILE_INIT;
    ses_from_init(&f->from);
    snprintf(f->path, sizeof(f->path), "/tmp/perdure-test-XXXXXX.json");
    write_file(f->path, text);
    ASSERT_RC(PDR_OK, ses_file_read(&f->file, &cli, f->path, &f->from.how,
                                    false, &err));
    unlink(f->path);
}

static void check_find(uint64_t want, const struct found *f, const char *id)
{
    struct ses_pick pick;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_OK, ses_file_find(&pick, &f->file, id, &err));
    ASSERT(want == pick.at);
}

static void check_lost(const char *reason, const struct found *f,
                       const char *id)
{
    struct ses_pick pick;
    pdr_err err = PDR_ERR_INIT;

    ASSERT(ses_file_find(&pick, &f->file, id, &err) != PDR_OK);
    ASSERT_STR(reason, err.reason);
}

TEST(session_find, knows_id_and_place)
{
    struct found f;

    open_text(&f, "[{\"session_id\":\"a\",\"state\":{}},null,"
                  "{\"session_id\":\"/0\",\"state\":{}},"
                  "{\"session_id\":\"twin\"},{\"session_id\":\"twin\"},7]");
    ASSERT_SIZE(4, ses_file_count(&f.file));
    check_find(0, &f, "a");
    check_find(2, &f, "/0"); /* an id comes before a place */
    check_find(2, &f, "/2");
    check_find(4, &f, "/4");
    check_lost("several_sessions", &f, "twin");
    check_lost("several_sessions", &f, NULL);
    check_lost("no_session", &f, "b");
    check_lost("no_session", &f, "/1"); /* null */
    check_lost("no_session", &f, "/5"); /* no session */
    check_lost("no_session", &f, "/02");
    check_lost("no_session", &f, "/99999999999999999999");
    ses_file_free(&f.file);
}

TEST(session_find, knows_names_and_the_only_one)
{
    struct found f;

    open_text(&f, "{\"Alice\":{\"stateBag\":{}},\"bob\":{\"stateBag\":{}}}");
    check_find(1, &f, "bob");
    check_find(0, &f, "/0");
    check_lost("no_session", &f, "alice");
    ses_file_free(&f.file);
    open_text(&f, "[null,{\"session_id\":\"a\"}]");
    check_find(1, &f, NULL);
    ses_file_free(&f.file);
    open_text(&f, "[]");
    check_lost("no_session", &f, NULL);
    ses_file_free(&f.file);
}

TEST(session_find, looks_into_wrappers)
{
    struct found f;

    open_text(&f, "{\"session\":{\"session_id\":\"a\"},"
                  "\"additionalProperties\":{\"owner\":\"Ines\"}}");
    check_find(0, &f, "a");
    ASSERT_SIZE(1, pdr_properties_count(ses_doc_properties(f.file.docs, 0)));
    ses_file_free(&f.file);
    open_text(&f, "[{\"session\":{\"session_id\":\"a\"}},"
                  "{\"session\":{\"session_id\":\"b\"},"
                  "\"additionalProperties\":null}]");
    check_find(1, &f, "b");
    ses_file_free(&f.file);
}

/* --- what a session is --------------------------------------------------- */

static void check_info(const char *want, const char *json)
{
    struct ses_info info = SES_INFO_INIT;
    pdr_session *session = NULL;
    pdr_value *value = NULL;
    char got[160];

    ASSERT_RC(PDR_OK, pdr_json_read(&value, pdr_str_c(json), NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_session_from_value(&session, value, NULL));
    ses_info_of(&info, session);
    snprintf(got, sizeof(got), "'%.*s' %s %s %s%s %zu/%zu", (int)info.id.len,
             info.id.ptr != NULL ? info.id.ptr : "",
             pdr_session_kind_name(info.kind),
             pdr_session_shape_name(info.shape),
             info.service != NULL ? "served" : "local",
             info.is_sentinel ? " sentinel" : "", pdr_value_count(info.history),
             (size_t)info.slots);
    ASSERT_STR(want, got);
    ASSERT(strlen(json) == info.bytes);
    ses_info_free(&info);
    pdr_session_free(session);
    pdr_value_free(value);
}

TEST(session_info, tells_ids_kinds_and_counts)
{
    check_info("'a' python python local 1/1",
               "{\"session_id\":\"a\",\"state\":{\"in_memory\":{\"messages\":"
               "[{\"role\":\"user\"}]}}}");
    check_info("'' unstated dotnet local 0/0", "{\"stateBag\":{}}");
    check_info("'' client dotnet served 0/0",
               "{\"conversationId\":\"c\",\"stateBag\":{}}");
    check_info("'' client dotnet local sentinel 0/0",
               "{\"conversationId\":\"_agent_local_chat_history\","
               "\"stateBag\":{}}");
    check_info("'@dafx-shop@7' durable dotnet local 0/0",
               "{\"sessionId\":\"@dafx-shop@7\",\"stateBag\":{}}");
}
