/* Which format is it? By name, by extension, by the first bytes. */
#include "codec_trip.h"
#include "script_codec.h"
#include "toy.h"

#include "base.h"

/* --- the list ------------------------------------------------------------ */

TEST(codecs, begin_with_json_and_are_complete)
{
    size_t count = 0;
    const pdr_codec *const *codecs = pdr_codecs(&count);

    ASSERT(count >= 1);
    ASSERT(codecs[0] == pdr_json_codec());
    for (size_t i = 0; i < count; i++) {
        ASSERT_INT(PDR_CODEC_VERSION, codecs[i]->version);
        ASSERT(codecs[i]->title[0] != '\0');
        ASSERT(codecs[i]->forms[0].name != NULL);
    }
}

/* Does a list of words have this one? */
static bool has_word(const char *words, const char *word, size_t len)
{
    for (const char *p = words; *p != '\0'; p += strspn(p, " ")) {
        size_t end = strcspn(p, " ");
        if (end == len && memcmp(p, word, len) == 0)
            return true;
        p += end;
    }
    return false;
}

/* The forms of all codecs, in a row. */
static size_t all_forms(const pdr_codec_form *out[32])
{
    const pdr_codec *codecs[TRIP_MAX_CODECS];
    size_t count = trip_codecs(codecs), forms = 0;

    for (size_t i = 0; i < count; i++)
        for (const pdr_codec_form *f = codecs[i]->forms; f->name != NULL; f++) {
            ASSERT(forms < 32);
            out[forms++] = f;
        }
    return forms;
}

TEST(codecs, have_names_and_extensions_that_differ)
{
    const pdr_codec_form *forms[32];
    size_t count = all_forms(forms);

    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++) {
            if (i == k)
                continue;
            ASSERT(strcmp(forms[i]->name, forms[k]->name) != 0);
            for (const char *p = forms[k]->extensions; *p != '\0';
                 p += strspn(p, " ")) {
                size_t len = strcspn(p, " ");
                ASSERT(!has_word(forms[i]->extensions, p, len));
                p += len;
            }
        }
}

/* --- by name ------------------------------------------------------------- */

TEST(codec_find, gives_every_form_by_its_name)
{
    const pdr_codec *codecs[TRIP_MAX_CODECS];
    size_t count = trip_codecs(codecs);

    for (size_t i = 0; i < count; i++)
        for (const pdr_codec_form *f = codecs[i]->forms; f->name != NULL; f++) {
            pdr_format format = {NULL, NULL, 0};
            ASSERT_RC(PDR_OK,
                      pdr_codec_find(&format, codecs, count, f->name, NULL));
            ASSERT(codecs[i] == format.codec);
            ASSERT_STR(f->name, format.name);
            ASSERT_INT(f->flags, format.flags);
            /* A form can be walked over and written. */
            ASSERT_INT(0, f->flags & ~codecs[i]->walk_flags);
            ASSERT_INT(0, f->flags & ~codecs[i]->write_flags);
        }
}

TEST(codec_find, does_not_know_other_names)
{
    static const char *const names[] = {"",      "JSON",  "jso",
                                        "jsonx", "json ", "ndjson"};
    const pdr_codec *codecs[TRIP_MAX_CODECS];
    size_t count = trip_codecs(codecs);

    for (size_t i = 0; i < PDR_COUNT(names); i++) {
        pdr_format format;
        pdr_err err = PDR_ERR_INIT;
        ASSERT_RC(PDR_ENOTFOUND,
                  pdr_codec_find(&format, codecs, count, names[i], &err));
        ASSERT_STR("no_format", err.reason);
        ASSERT(strstr(err.message, names[i]) != NULL);
    }
    pdr_format format;
    ASSERT_RC(PDR_ENOTFOUND, pdr_codec_find(&format, codecs, 0, "json", NULL));
}

/* --- by extension and bytes ---------------------------------------------- */

/* `form` NULL: refused with `reason`. */
struct guess_row {
    const char *path, *bytes, *form, *reason;
};

static void check_rows(const struct guess_row *rows, size_t row_count)
{
    const pdr_codec *codecs[TRIP_MAX_CODECS];
    size_t count = trip_codecs(codecs);

    for (size_t i = 0; i < row_count; i++) {
        const struct guess_row *row = &rows[i];
        pdr_format format = {NULL, "none", 0};
        pdr_err err = PDR_ERR_INIT;
        pdr_rc rc = pdr_codec_guess(&format, codecs, count, row->path,
                                    pdr_str_c(row->bytes), true, &err);

        if (strcmp(row->form != NULL ? row->form : row->reason,
                   rc == PDR_OK ? format.name : err.reason) != 0)
            fail_msg("path '%s', bytes '%s': %s", row->path, row->bytes,
                     rc == PDR_OK ? format.name : err.reason);
        ASSERT_RC(row->form != NULL ? PDR_OK : PDR_EINVALID, rc);
        ASSERT(rc == PDR_OK || err.message[0] != '\0');
    }
}

TEST(codec_guess, goes_by_the_extension_first)
{
    static const struct guess_row rows[] = {
        {"a.json", "", "json", NULL},
        {"a.json", "<map/>", "json", NULL},
        {"a.json", "\xC1\n=1\n", "json", NULL},
        {"a.jsonl", "[1]", "jsonl", NULL},
        {"a.ndjson", "[1]", "jsonl", NULL},
        {"a.toy", "[1]", "toy", NULL},
        {"a.toys", "\xC1\n=1\n", "toys", NULL},
        /* whatever the case */
        {"A.JSON", "", "json", NULL},
        {"a.JsonL", "", "jsonl", NULL},
        /* the last one counts, and of the name only */
        {"x.tar.json", "", "json", NULL},
        {"x.json.toy", "", "toy", NULL},
        {".json", "", "json", NULL},
        {"folder/.json", "", "json", NULL},
        {"/a.toy/b.toys/c.json", "", "json", NULL},
        {"a.toy/c", "[1]", "json", NULL},
        {"../a.toy/c.json", "", "json", NULL},
        {"a b.json", "", "json", NULL}};

    check_rows(rows, PDR_COUNT(rows));
}

TEST(codec_guess, looks_at_the_bytes_if_the_extension_tells_nothing)
{
    static const char *const paths[] = {
        NULL,      "",        "a",       "a.",     "a.txt", "json", "a.jso",
        "a.jsonx", "a.json ", "a.json/", "a.toy/", "..",    ".",    "a.js on"};

    for (size_t i = 0; i < PDR_COUNT(paths); i++) {
        const struct guess_row rows[] = {
            {paths[i], "{\"a\":1}", "json", NULL},
            {paths[i], " \t\r\n[1]", "json", NULL},
            {paths[i], "\"text\"", "json", NULL},
            {paths[i], "-1.5", "json", NULL},
            {paths[i], "12", "json", NULL},
            {paths[i], "true", "json", NULL},
            {paths[i], "false", "json", NULL},
            {paths[i], "null", "json", NULL},
            {paths[i], "NaN", "json", NULL},
            {paths[i], "Infinity", "json", NULL},
            {paths[i], "\xEF\xBB\xBF{}", "json", NULL},
            {paths[i], "\xC1\n=1\n", "toy", NULL},
            {paths[i], "\xC1", "toy", NULL},
            {paths[i], "\xC1\n=1\n\xC1\n=2\n", "toys", NULL},
            {paths[i], "", NULL, "unknown_format"},
            {paths[i], "\n\n\n", NULL, "unknown_format"},
            {paths[i], "hello", NULL, "unknown_format"},
            {paths[i], "%PDF-1.7", NULL, "unknown_format"}};
        check_rows(rows, PDR_COUNT(rows));
    }
}

TEST(codec_guess, lets_the_bytes_choose_among_the_forms_of_a_codec)
{
    static const struct guess_row rows[] = {
        {"a.toy", "\xC1\n=1\n", "toy", NULL},
        {"a.toy", "\xC1\n=1\n\xC1\n=2\n", "toys", NULL},
        {"a.toys", "\xC1\n=1\n", "toys", NULL},
        {"a.jsonl", "{}", "jsonl", NULL}};

    check_rows(rows, PDR_COUNT(rows));
}

TEST(codec_guess, says_whether_there_was_anything_to_look_at)
{
    const pdr_codec *codecs[TRIP_MAX_CODECS];
    size_t count = trip_codecs(codecs);
    pdr_format format;
    pdr_err none = PDR_ERR_INIT, some = PDR_ERR_INIT;

    ASSERT_RC(PDR_EINVALID, pdr_codec_guess(&format, codecs, count, NULL,
                                            pdr_str_c(""), true, &none));
    ASSERT_RC(PDR_EINVALID, pdr_codec_guess(&format, codecs, count, NULL,
                                            pdr_str_c("hello"), true, &some));
    ASSERT_STR("it is empty, so its format cannot be told", none.message);
    ASSERT_STR("its first bytes are of no format known here", some.message);
    ASSERT_RC(PDR_EINVALID, pdr_codec_guess(&format, codecs, 0, "a.json",
                                            pdr_str_c("{}"), true, NULL));
}

/* --- more than one could read it ----------------------------------------- */

/* Claims whatever begins as JSON may begin. */
static const pdr_codec_form *claim_brackets(pdr_str beginning, bool whole)
{
    static const pdr_codec_form form = {"rival", "rival", 0};

    (void)whole;
    return beginning.len > 0 && beginning.ptr[0] == '[' ? &form : NULL;
}

TEST(codec_guess, refuses_what_two_codecs_claim_unless_an_extension_tells)
{
    pdr_codec rival = script_codec();
    const pdr_codec *codecs[] = {pdr_json_codec(), toy_codec(), &rival};
    pdr_format format = {NULL, NULL, 0};
    pdr_err err = PDR_ERR_INIT;

    rival.title = "Rival";
    rival.guess = claim_brackets;
    ASSERT_RC(PDR_EINVALID, pdr_codec_guess(&format, codecs, 3, "a.txt",
                                            pdr_str_c("[1]"), true, &err));
    ASSERT_STR("ambiguous_format", err.reason);
    ASSERT(format.codec == NULL && format.name == NULL);
    ASSERT_STR("it could be JSON or Rival; say which one it is", err.message);
    ASSERT_RC(PDR_OK, pdr_codec_guess(&format, codecs, 3, "a.json",
                                      pdr_str_c("[1]"), true, NULL));
    ASSERT_STR("json", format.name);
    ASSERT_RC(PDR_OK, pdr_codec_guess(&format, codecs, 3, NULL, pdr_str_c("{}"),
                                      true, NULL));
    ASSERT_STR("json", format.name);
}

TEST(codec_guess, takes_a_lone_byte_for_what_it_could_be)
{
    /* 0x5B is the integer 91 in MessagePack, 0x3C is 60, 0x37 is 55. */
    static const struct guess_row rows[] = {
        {NULL, "[", NULL, "ambiguous_format"},
        {"a.txt", "7", NULL, "ambiguous_format"},
        {NULL, "<", NULL, "ambiguous_format"},
        {"a.json", "[", "json", NULL},
        {"a.msgpack", "[", "msgpack", NULL},
        {"a.MPK", "[", "msgpack", NULL},
        {"a.xml", "<", "xml", NULL},
        {NULL, "\x05", "msgpack", NULL},
        {NULL, "[]", "json", NULL},
        {NULL, "<a", "xml", NULL}};

    check_rows(rows, PDR_COUNT(rows));
}

TEST(codec_guess, tells_messagepack_and_xml_by_their_first_bytes)
{
    static const struct guess_row rows[] = {
        {NULL,
         "\x81\xA1"
         "a\x01",
         "msgpack", NULL},
        {NULL, "\x93\x01\x02\x03", "msgpack", NULL},
        {NULL, "\xDF\xFF", "msgpack", NULL},
        {NULL,
         "\xA3"
         "abc",
         "msgpack", NULL},
        {NULL, "<map xmlns=\"http://www.w3.org/2005/xpath-functions\"/>", "xml",
         NULL},
        {NULL, "<?xml version=\"1.0\"?>\n<null/>", "xml", NULL},
        {NULL, " \n<null/>", "xml", NULL},
        {"a.txt", "\xEF\xBB\xBF<null/>", "xml", NULL}};

    check_rows(rows, PDR_COUNT(rows));
}

TEST(codec_guess, knows_that_a_beginning_is_not_all)
{
    const pdr_codec *codecs[TRIP_MAX_CODECS];
    size_t count = trip_codecs(codecs);
    pdr_format format;

    ASSERT_RC(PDR_OK, pdr_codec_guess(&format, codecs, count, NULL,
                                      pdr_str_c("["), false, NULL));
    ASSERT_STR("json", format.name);
}

/* Each codec recognises what it wrote, and nobody else claims it. */
TEST(codec_guess, recognises_what_was_written)
{
    static const char *const texts[] = {"{\"a\":[1,2.50,null]}", "[[],{}]",
                                        "\"text\"", "[1,2,3]", "{}"};
    const pdr_codec *codecs[TRIP_MAX_CODECS];
    size_t count = trip_codecs(codecs);

    for (size_t i = 0; i < count * PDR_COUNT(texts); i++) {
        const pdr_codec *codec = codecs[i % count];
        pdr_buf bytes = PDR_BUF_INIT(1000);
        pdr_value *value = NULL;
        pdr_format format = {NULL, "none", 0};

        ASSERT_RC(PDR_OK, pdr_json_read(&value, pdr_str_c(texts[i / count]),
                                        NULL, NULL));
        ASSERT_RC(PDR_OK, pdr_codec_write(&bytes, codec, value, NULL, NULL));
        ASSERT_RC(PDR_OK, pdr_codec_guess(&format, codecs, count, NULL,
                                          pdr_buf_str(&bytes), true, NULL));
        ASSERT(codec == format.codec);
        pdr_value_free(value);
        pdr_buf_dispose(&bytes);
    }
}
