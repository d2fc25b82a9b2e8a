/* Stores on the command line, as far as no process is needed. */
#include "test.h"

#include <stdlib.h>

#include "session_parts.h"

/* --- ages and times ------------------------------------------------------ */

TEST(age, has_a_number_and_a_unit)
{
    static const struct {
        const char *text;
        int64_t ms;
    } rows[] = {{"0s", 0},
                {"90s", 90000},
                {"15m", 900000},
                {"12h", 43200000},
                {"30d", INT64_C(2592000000)},
                {"2w", INT64_C(1209600000)},
                {"9999999999w", INT64_C(9999999999) * 604800000}};

    for (size_t i = 0; i < CLI_COUNT(rows); i++) {
        int64_t ms = -1;
        ASSERT(sto_age(&ms, rows[i].text));
        ASSERT(ms == rows[i].ms);
    }
}

TEST(age, is_refused_if_a_part_is_missing_or_too_much)
{
    static const char *const texts[] = {
        "", "d", "30", "30x", "30dd", "-1d", " 1d", "1 d", "99999999999d"};
    int64_t ms = 7;

    for (size_t i = 0; i < CLI_COUNT(texts); i++)
        ASSERT(!sto_age(&ms, texts[i]));
    ASSERT(ms == 7);
}

TEST(when, is_a_date_or_how_long_ago)
{
    int64_t ms = 0;

    ASSERT(sto_when(&ms, "1970-01-02", 0));
    ASSERT(ms == 86400000);
    ASSERT(sto_when(&ms, "1970-01-01T00:00:01.5Z", 0));
    ASSERT(ms == 1500);
    ASSERT(sto_when(&ms, "1d", 86400000));
    ASSERT(ms == 0);
    ASSERT(!sto_when(&ms, "yesterday", 0));
    ASSERT(!sto_when(&ms, "", 0));
}

TEST(time, is_shown_in_utc_or_as_a_number)
{
    char out[40];

    ASSERT_STR("1970-01-01T00:00:00Z", sto_time(out, 0));
    ASSERT_STR("2026-05-06T07:14:02Z", sto_time(out, INT64_C(1778051642987)));
    ASSERT_STR("1969-12-31T23:59:59Z", sto_time(out, -1));
    ASSERT_STR("9999-12-31T23:59:59Z", sto_time(out, INT64_C(253402300799999)));
    ASSERT_STR("253402300800000 ms", sto_time(out, INT64_C(253402300800000)));
    ASSERT_STR("-9223372036854775807 ms", sto_time(out, -INT64_MAX));
    ASSERT_STR("never", sto_time(out, PDR_NEVER));
    ASSERT_STR("", sto_time(out, PDR_NO_TIME));
}

/* --- URIs ---------------------------------------------------------------- */

static void check_uri(const char *want, const char *uri, const char *key,
                      const char *mode)
{
    struct sto_from from = {.uri = uri, .key = key};
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);

    sto_put_uri(&out, &from, mode);
    ASSERT_STR(want, out.ptr);
    pdr_buf_dispose(&out);
}

TEST(uri, of_a_path_is_escaped)
{
    check_uri("sqlite:a.db?mode=ro", "a.db", NULL, "ro");
    check_uri("sqlite:/x/50%25%3F%26%3D%23.db?mode=rwc", "/x/50%?&=#.db", NULL,
              "rwc");
    check_uri("sqlite:./a:b.db?mode=ro", "./a:b.db", NULL, "ro");
    check_uri("sqlite:a.db?mode=rw&key=a%26b", "a.db", "a&b", "rw");
}

TEST(uri, keeps_what_it_says_itself)
{
    check_uri("sqlite:a.db?mode=rw", "sqlite:a.db", NULL, "rw");
    check_uri("sqlite:a.db?mode=ro", "sqlite:a.db?mode=ro", NULL, "rw");
    check_uri("sqlite:a.db?key=k&mode=rw", "sqlite:a.db?key=k", "other", "rw");
    check_uri("sqlite:a.db?vfs=x&mode=ro&key=k", "sqlite:a.db?vfs=x&mode=ro",
              "k", "rw");
    check_uri("memory:", "memory:", "k", "rw");
    check_uri("redis:x", "redis:x", NULL, "rw");
}

TEST(default_store, is_in_the_data_folder_of_the_user)
{
    struct sto_from from = {.uri = NULL};

    setenv("HOME", "/folk/ines", 1);
    unsetenv("XDG_DATA_HOME");
    ASSERT(sto_use_default(&from));
    ASSERT_STR("/folk/ines/.local/share/perdure/perdure.db", from.uri);
    setenv("XDG_DATA_HOME", "/data", 1);
    ASSERT(sto_use_default(&from));
    ASSERT_STR("/data/perdure/perdure.db", from.uri);
    ASSERT(from.is_default);
    ASSERT(!sto_find_default(&from)); /* the file is not there */
    assert_null(from.uri);
    ASSERT(!from.is_default);
    setenv("XDG_DATA_HOME", "data", 1);
    unsetenv("HOME");
    ASSERT(!sto_use_default(&from));
}

TEST(default_store, has_a_path_that_fits)
{
    static char home[5000];
    struct sto_from from = {.uri = NULL};

    memset(home, 'x', sizeof(home) - 1);
    home[0] = '/';
    setenv("HOME", home, 1);
    unsetenv("XDG_DATA_HOME");
    ASSERT(!sto_use_default(&from));
}

/* --- failures ------------------------------------------------------------ */

TEST(message, loses_the_uri_that_stands_in_front_of_it)
{
    pdr_err err = PDR_ERR_INIT;

    pdr_err_set(&err, PDR_EINVALID, "not_a_store", "store 'sqlite:a': no");
    sto_shorten(&err);
    ASSERT_STR("no", err.message);
    sto_shorten(&err);
    ASSERT_STR("no", err.message);
    pdr_err_set(&err, PDR_ENOTFOUND, "no_store", "anything");
    sto_shorten(&err);
    ASSERT_STR("there is no such store", err.message);
    ASSERT_RC(PDR_ENOTFOUND, err.code);
}

TEST(hint, names_the_store)
{
    struct sto_from from = {.uri = "a.db"};
    char room[STO_HINT_MAX];
    pdr_err err = PDR_ERR_INIT;

    pdr_err_set(&err, PDR_ENOTFOUND, "no_store", "x");
    ASSERT_STR("check the name; 'perdure store init a.db' makes one",
               sto_hint(room, &from, &err));
    from.is_default = true;
    ASSERT_STR("check the name; 'perdure store init' makes one",
               sto_hint(room, &from, &err));
    pdr_err_set(&err, PDR_ENOTFOUND, "no_session", "x");
    from.tenant = "t";
    ASSERT_STR("'perdure session list --store a.db --tenant t' shows what is "
               "there",
               sto_hint(room, &from, &err));
    pdr_err_set(&err, PDR_EDENIED, "wrong_key", "x");
    ASSERT_STR("--key FILE names the file with its key",
               sto_hint(room, &from, &err));
    pdr_err_set(&err, PDR_EIO, "anything_else", "x");
    assert_null(sto_hint(room, &from, &err));
}

/* --- entries ------------------------------------------------------------- */

static void check_excerpt(const char *want, pdr_row_kind kind,
                          pdr_row_shape shape, const char *body)
{
    const pdr_entry row = {
        .kind = kind, .shape = shape, .body = pdr_str_c(body)};
    pdr_buf out = PDR_BUF_INIT(SIZE_MAX);
    pdr_value *value = NULL;
    pdr_rc rc = ses_store_value(&value, row.body, NULL);
    const pdr_stored_entry entry = {&row, value};

    ASSERT((rc == PDR_OK) == (value != NULL));
    ses_put_excerpt(&out, &entry);
    pdr_value_free(value);
    cli_must(pdr_buf_append(&out, pdr_str_n("", 1), NULL), NULL);
    ASSERT_STR(want, out.ptr);
    pdr_buf_dispose(&out);
}

#define STATE(contents)                                        \
    "{\"$type\":\"request\",\"messages\":[{\"role\":\"user\"," \
    "\"contents\":[" contents "]}]}"

TEST(excerpt, of_a_turn_is_what_was_said)
{
    check_excerpt("Hello again", PDR_ROW_REQUEST, PDR_ROW_STATE,
                  STATE("{\"$type\":\"text\",\"text\":\"Hello\"},"
                        "{\"$type\":\"text\",\"text\":\"again\"}"));
    check_excerpt("look({\"at\": 1})", PDR_ROW_RESPONSE, PDR_ROW_STATE,
                  STATE("{\"$type\":\"functionCall\",\"callId\":\"1\","
                        "\"name\":\"look\",\"arguments\":{\"at\":1}}"));
    check_excerpt("= dry", PDR_ROW_RESPONSE, PDR_ROW_STATE,
                  STATE("{\"$type\":\"functionResult\",\"callId\":\"1\","
                        "\"result\":\"dry\"}"));
    check_excerpt("error: gone", PDR_ROW_RESPONSE, PDR_ROW_STATE,
                  STATE("{\"$type\":\"error\",\"message\":\"gone\"}"));
    check_excerpt("[uri]", PDR_ROW_RESPONSE, PDR_ROW_STATE,
                  STATE("{\"$type\":\"reasoning\",\"text\":\"hm\"},"
                        "{\"$type\":\"usage\",\"usage\":{}},"
                        "{\"$type\":\"uri\",\"uri\":\"x:y\"}"));
}

TEST(excerpt, of_a_message_has_its_role)
{
    check_excerpt("user: Hello", PDR_ROW_MESSAGE, PDR_ROW_PYTHON,
                  "{\"role\":\"user\",\"contents\":[{\"type\":\"text\","
                  "\"text\":\"Hello\"}]}");
    check_excerpt("tool: = dry", PDR_ROW_MESSAGE, PDR_ROW_DOTNET,
                  "{\"role\":\"tool\",\"contents\":[{\"$type\":"
                  "\"functionResult\",\"callId\":\"1\",\"result\":\"dry\"}]}");
    check_excerpt("USER: Hello price({\"a\": 1}) [ImageContent]",
                  PDR_ROW_MESSAGE, PDR_ROW_SK,
                  "{\"Role\":{\"Label\":\"USER\"},\"Items\":[{\"$type\":"
                  "\"TextContent\",\"Text\":\"Hello\"},{\"$type\":"
                  "\"FunctionCallContent\",\"FunctionName\":\"price\","
                  "\"Arguments\":{\"a\":1}},{\"$type\":\"ImageContent\"}]}");
    check_excerpt("Hi", PDR_ROW_REQUEST, PDR_ROW_DOTNET,
                  "{\"contents\":[{\"$type\":\"text\",\"text\":\"Hi\"}]}");
}

TEST(excerpt, of_anything_else_is_how_it_begins)
{
    check_excerpt("{\"a\": [1, 2]}", PDR_ROW_OTHER, PDR_ROW_STATE,
                  "{\"a\" :\n[1,2]}");
    check_excerpt("[1]", PDR_ROW_MESSAGE, PDR_ROW_PYTHON, "[1]");
    check_excerpt("{\"$type\": \"request\"}", PDR_ROW_REQUEST, PDR_ROW_STATE,
                  "{\"$type\":\"request\"}");
    check_excerpt("{\"n\": NaN}", PDR_ROW_RECORD, PDR_ROW_STATE, "{\"n\":NaN}");
    check_excerpt("{nothing of JSON}", PDR_ROW_OTHER, PDR_ROW_STATE,
                  "{nothing of JSON}");
}

/* --- marks --------------------------------------------------------------- */

TEST(mark, of_a_stored_session_is_its_revision)
{
    struct ses_from from;
    struct ses_one one = SES_ONE_INIT(NULL, &from);
    const pdr_ref ref = {.id = pdr_str_c("s")};
    const pdr_stored_opts create = {.create = true};
    const pdr_commit_options now = {.now_ms = 1};
    pdr_err err = PDR_ERR_INIT;
    char text[65];

    ASSERT_RC(PDR_OK, pdr_store_open(&one.store, "memory:", &err));
    ASSERT_RC(PDR_OK,
              pdr_stored_open(&one.stored, one.store, &ref, &create, &err));
    for (int i = 0; i < 12; i++) {
        pdr_stored_set_state(one.stored, PDR_SESSION_IDLE);
        ASSERT_RC(PDR_OK, pdr_stored_commit(one.stored, &now, &err));
    }
    ASSERT_STR("12", ses_one_mark(text, &one));
    ASSERT_STR("revision", ses_one_mark_word(&one));
    ASSERT(ses_one_is_mark(&one, "12"));
    ASSERT(ses_one_is_mark(&one, "1"));
    ASSERT(!ses_one_is_mark(&one, "0"));
    ASSERT(!ses_one_is_mark(&one, "012"));
    ASSERT(!ses_one_is_mark(&one, "12a"));
    ASSERT(!ses_one_is_mark(&one, ""));
    ASSERT(ses_one_has_mark(&one, "12"));
    ASSERT(!ses_one_has_mark(&one, "1"));
    ses_one_free(&one);
}
