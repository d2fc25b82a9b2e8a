/* Walking streams of XML: events, sequences, limits, memory. */
#include "xml_text.h"

static pdr_walk *walk_of(struct source *s, unsigned flags)
{
    pdr_read_opts opts = {.flags = flags};
    pdr_walk *w = NULL;

    ASSERT_RC(PDR_OK, pdr_walk_new(&w, pdr_xml_codec(), &opts, NULL, give, s));
    return w;
}

TEST(xml_walk, gives_the_same_events_for_any_cut_of_the_stream)
{
    static const char xml[] =
        "<?xml version='1.0'?> <!-- c --> <map " NS "> <array key='a'><number>1"
        "</number><string>x&amp;y</string> <null/></array><map key='b'/>"
        "<boolean key='c'>true</boolean></map> <!-- d --> ";

    for (size_t step = 1; step < sizeof(xml); step++) {
        struct source s = source_of(pdr_str_c(xml), step);
        pdr_walk *w = walk_of(&s, 0);
        char seen[100];
        letters(seen, w, NULL);
        ASSERT_STR("{n[sss)n{)ns)$", seen);
        pdr_event event;
        ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
        ASSERT_INT(PDR_END_OF_INPUT, event);
        pdr_walk_free(w);
    }
}

TEST(xml_walk, gives_names_scalars_depth_and_offset)
{
    static const char xml[] =
        "<map " NS "><array key='a&#10;'><number>7</number></array></map>";
    struct source s = source_of(pdr_str_c(xml), 3);
    pdr_walk *w = walk_of(&s, 0);
    int64_t array = strstr(xml, "<array") - xml;
    pdr_event event;
    const struct {
        pdr_event event;
        size_t depth;
        int64_t offset;
    } rows[] = {{PDR_BEGIN_OBJECT, 1, 0},
                {PDR_NAME, 1, array},
                {PDR_BEGIN_ARRAY, 2, array},
                {PDR_SCALAR, 2, strstr(xml, "<number") - xml},
                {PDR_END, 1, strstr(xml, "</array") - xml},
                {PDR_END, 0, strstr(xml, "</map") - xml},
                {PDR_END_OF_INPUT, 0, (int64_t)strlen(xml)}};

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
        ASSERT_INT(rows[i].event, event);
        ASSERT_SIZE(rows[i].depth, pdr_walk_depth(w));
        ASSERT_INT(rows[i].offset, pdr_walk_offset(w));
        if (event == PDR_NAME)
            ASSERT_JSON("\"a\\n\"", pdr_walk_value(w));
        else if (event == PDR_SCALAR)
            ASSERT_JSON("7", pdr_walk_value(w));
        else
            ASSERT(pdr_walk_value(w) == NULL);
    }
    pdr_walk_free(w);
}

TEST(xml_walk, takes_and_skips_values)
{
    static const char xml[] =
        "<array " NS "><map><number key='a'>1.10</number></map><array><null/>"
        "</array><string>s</string></array>";
    struct source s = source_of(pdr_str_c(xml), 5);
    pdr_walk *w = walk_of(&s, 0);
    pdr_value *v = NULL;
    pdr_event event;

    ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
    ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
    ASSERT_RC(PDR_OK, pdr_walk_take(&v, w, NULL));
    ASSERT_JSON("{\"a\":1.10}", v);
    pdr_value_free(v);
    ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
    ASSERT_RC(PDR_OK, pdr_walk_skip(w, NULL));
    ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
    ASSERT_RC(PDR_OK, pdr_walk_take(&v, w, NULL));
    ASSERT_JSON("\"s\"", v);
    pdr_value_free(v);
    ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
    ASSERT_INT(PDR_END, event);
    ASSERT_SIZE(0, pdr_walk_depth(w));
    pdr_walk_free(w);
}

TEST(xml_walk, takes_bare_tokens_when_asked_for)
{
    struct source s = source_of(PDR_LIT("<number " NS ">NaN</number>"), 4);
    pdr_walk *w = walk_of(&s, PDR_BARE_TOKENS);
    pdr_buf json = PDR_BUF_INIT(SIZE_MAX);
    pdr_event event;

    ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
    /* The value knows that it is none of JSON. */
    ASSERT_RC(PDR_EINVALID,
              pdr_json_write(&json, pdr_walk_value(w), NULL, NULL));
    pdr_walk_free(w);
}

/* --- sequences ----------------------------------------------------------- */

TEST(xml_walk, reads_documents_one_after_another)
{
    static const char xml[] =
        "\n<?xml version='1.0'?><map " NS "><null key='a'/></map>\r\n"
        "<array " NS "/><!-- between --><number " NS ">3</number >\t\n"
        " <?xml version='1.0' encoding='ISO-8859-1'?><string " NS ">\xE9"
        "</string>\n<!-- last -->\n";
    static const char *const expected[] = {"{\"a\":null}", "[]", "3",
                                           "\"\xC3\xA9\""};

    for (size_t step = 1; step < sizeof(xml); step++) {
        struct source s = source_of(pdr_str_c(xml), step);
        pdr_walk *w = walk_of(&s, PDR_SEQUENCE);
        pdr_event event;
        pdr_value *v = NULL;
        for (size_t i = 0; i < PDR_COUNT(expected); i++) {
            ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
            ASSERT_RC(PDR_OK, pdr_walk_take(&v, w, NULL));
            ASSERT_JSON(expected[i], v);
            pdr_value_free(v);
        }
        ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
        ASSERT_INT(PDR_END_OF_INPUT, event);
        ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
        ASSERT_INT(PDR_END_OF_INPUT, event);
        pdr_walk_free(w);
    }
}

TEST(xml_walk, takes_no_document_as_a_sequence)
{
    static const char *const none[] = {"", " \n", "<!-- x -->", "\xEF\xBB\xBF"};

    for (size_t i = 0; i < PDR_COUNT(none); i++) {
        struct source s = source_of(pdr_str_c(none[i]), 1);
        pdr_walk *w = walk_of(&s, PDR_SEQUENCE);
        char seen[10];
        letters(seen, w, NULL);
        ASSERT_STR("$", seen);
        pdr_walk_free(w);
    }
}

/* A sequence of documents in UTF-16, white space between them. */
TEST(xml_walk, reads_a_sequence_of_utf16)
{
    static const char text[] = "<null " NS "/>\n<array " NS "/>\n";

    for (int big = 0; big < 2; big++) {
        char wide[2 * sizeof(text)];
        for (size_t i = 0; i < sizeof(text); i++) {
            wide[2 * i] = big ? '\0' : text[i];
            wide[2 * i + 1] = big ? text[i] : '\0';
        }
        for (size_t step = 1; step < 9; step++) {
            struct source s =
                source_of(pdr_str_n(wide, 2 * (sizeof(text) - 1)), step);
            pdr_walk *w = walk_of(&s, PDR_SEQUENCE);
            char seen[10];
            letters(seen, w, NULL);
            ASSERT_STR("s[)$", seen);
            pdr_walk_free(w);
        }
    }
}

TEST(xml_walk, tells_where_in_a_sequence_something_is_wrong)
{
    static const char xml[] = "<map " NS ">\n</map><array " NS "/>\n"
                              "<null " NS "/> <array " NS "><x/></array>";

    for (size_t step = 1; step < sizeof(xml); step += 5) {
        struct source s = source_of(pdr_str_c(xml), step);
        pdr_walk *w = walk_of(&s, PDR_SEQUENCE);
        pdr_err err = PDR_ERR_INIT;
        char seen[20], place[40];
        size_t line = 0, column = 0;
        letters(seen, w, &err);
        ASSERT_STR("{)[)s[!", seen);
        ASSERT_STR("xml_element", err.reason);
        ASSERT_STR("/0", err.path);
        ASSERT_INT(strstr(xml, "<x/>") - xml, err.offset);
        pdr_err_locate(&line, &column, pdr_str_c(xml), err.offset);
        snprintf(place, sizeof(place), "line %zu, column %zu: ", line, column);
        ASSERT(strncmp(place, err.message, strlen(place)) == 0);
        pdr_walk_free(w);
    }
}

TEST(xml_walk, refuses_a_document_of_a_sequence_that_is_cut)
{
    static const char *const cut[] = {"<null " NS "/><map " NS ">",
                                      "<null " NS "/>\n<", "<null " NS "/>x",
                                      "<null " NS "/>\n<?xml version='1.0'?>"};
    static const char *const reason[] = {"unexpected_end", "unexpected_end",
                                         "bad_xml", "unexpected_end"};

    for (size_t i = 0; i < PDR_COUNT(cut); i++) {
        struct source s = source_of(pdr_str_c(cut[i]), 2);
        pdr_walk *w = walk_of(&s, PDR_SEQUENCE);
        pdr_err err = PDR_ERR_INIT;
        char seen[10];
        letters(seen, w, &err);
        ASSERT(strcmp("s!", seen) == 0 || strcmp("s{!", seen) == 0);
        ASSERT_STR(reason[i], err.reason);
        pdr_walk_free(w);
    }
}

/* What was given is handed out before more is asked for. */
TEST(xml_walk, does_not_wait_for_more_than_it_needs)
{
    static const char xml[] = "<array " NS "><string>abc</string>";

    for (size_t step = 1; step < sizeof(xml); step++) {
        struct source s = source_of(pdr_str_c(xml), step);
        s.fail_at = sizeof(xml) - 1;
        pdr_walk *w = walk_of(&s, PDR_SEQUENCE);
        pdr_err err = PDR_ERR_INIT;
        char seen[10];
        letters(seen, w, &err);
        ASSERT_STR("[s!", seen);
        ASSERT_STR("line_cut", err.reason);
        pdr_walk_free(w);
    }
}

/* --- failures ------------------------------------------------------------ */

TEST(xml_walk, gives_the_failure_of_the_stream)
{
    struct source s = source_of(PDR_LIT("<array " NS "><null/>"), 10);
    pdr_walk *w = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_event event;

    s.fail_at = 0;
    w = walk_of(&s, 0);
    ASSERT_RC(PDR_EIO, pdr_walk_next(&event, w, &err));
    ASSERT_STR("line_cut", err.reason);
    ASSERT_RC(PDR_EIO, pdr_walk_next(&event, w, &err));
    pdr_walk_free(w);
}

TEST(xml_walk, refuses_options)
{
    struct source s = source_of(PDR_LIT(""), 1);
    pdr_read_opts opts = {.flags = PDR_TRAILING};
    pdr_walk *w = NULL;
    pdr_err err = PDR_ERR_INIT;

    ASSERT_RC(PDR_EMISUSE,
              pdr_walk_new(&w, pdr_xml_codec(), &opts, &err, give, &s));
    ASSERT_STR("bad_option", err.reason);
    ASSERT(w == NULL);
}

/* --- limits -------------------------------------------------------------- */

/* Names and scalars as JSON has them, with their quotes. */
static const struct {
    const char *xml;
    size_t bytes;
    const char *path;
} sizes[] = {
    {"<string " NS ">abcd</string>", 6, ""},
    {"<string " NS "/>", 2, ""},
    {"<string " NS ">\"\"</string>", 6, ""},
    {"<string " NS " escaped='true'>\\n\"</string>", 6, ""},
    {"<number " NS "> 123 </number>", 3, ""},
    {"<boolean " NS ">1</boolean>", 4, ""},
    {"<null " NS "/>", 4, ""},
    {"<map " NS "><map key='abcd'/></map>", 6, ""},
    {"<array " NS "><null/><string>abcd</string></array>", 6, "/1"},
    {"<string " NS " xmlns:p='urn:perdure:json' escaped='true' p:raw='77++'>"
     "\\uFFFE</string>",
     5, ""},
};

TEST(xml_walk, keeps_its_limit_of_bytes)
{
    for (size_t i = 0; i < PDR_COUNT(sizes); i++)
        for (size_t step = 1; step < 100; step += 3) {
            struct source s = source_of(pdr_str_c(sizes[i].xml), step);
            pdr_read_opts opts = {.max_bytes = sizes[i].bytes};
            pdr_walk *w = NULL;
            pdr_err err = PDR_ERR_INIT;
            char seen[20];
            ASSERT_RC(PDR_OK,
                      pdr_walk_new(&w, pdr_xml_codec(), &opts, NULL, give, &s));
            letters(seen, w, &err);
            ASSERT(strchr(seen, '$') != NULL);
            pdr_walk_free(w);
            opts.max_bytes--;
            s.at = 0;
            ASSERT_RC(PDR_OK,
                      pdr_walk_new(&w, pdr_xml_codec(), &opts, NULL, give, &s));
            letters(seen, w, &err);
            ASSERT(strchr(seen, '!') != NULL);
            ASSERT_STR("too_large", err.reason);
            ASSERT_STR(sizes[i].path, err.path);
            pdr_walk_free(w);
        }
}

TEST(xml_walk, keeps_its_limit_of_depth)
{
    struct source s = source_of(PDR_LIT("<array " NS "><array/></array>"), 100);
    pdr_read_opts opts = {.max_depth = 2};
    pdr_walk *w = NULL;
    pdr_err err = PDR_ERR_INIT;
    char seen[20];

    ASSERT_RC(PDR_OK, pdr_walk_new(&w, pdr_xml_codec(), &opts, NULL, give, &s));
    letters(seen, w, &err);
    ASSERT_STR("[[))$", seen);
    pdr_walk_free(w);
    s.at = 0;
    opts.max_depth = 1;
    ASSERT_RC(PDR_OK, pdr_walk_new(&w, pdr_xml_codec(), &opts, NULL, give, &s));
    letters(seen, w, &err);
    ASSERT_STR("[!", seen);
    ASSERT_STR("too_deep", err.reason);
    ASSERT_STR("/0", err.path);
    pdr_walk_free(w);
}

/* A stream of `before`, then one byte for ever or `count` times, then `after`.
 */
struct flood {
    const char *before, *after;
    char byte;
    size_t count, at;
};

static pdr_rc give_flood(size_t *got, void *into, size_t cap, pdr_err *err,
                         void *arg)
{
    struct flood *f = arg;
    size_t head = strlen(f->before), tail = strlen(f->after), n = 0;
    char *to = into;

    (void)err;
    for (; n < cap && f->at < head + f->count + tail; n++, f->at++)
        to[n] = f->at < head              ? f->before[f->at]
                : f->at < head + f->count ? f->byte
                                          : f->after[f->at - head - f->count];
    *got = n;
    return PDR_OK;
}

/* Walk a flood; the failure's reason, or "" if it was read. */
static const char *drown(struct flood *f, uint64_t max_bytes, size_t *peak)
{
    pdr_read_opts opts = {.max_bytes = max_bytes};
    pdr_walk *w = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_event event = PDR_END;
    pdr_rc rc = PDR_OK;

    test_reset_peak();
    size_t before = test_peak_bytes();
    ASSERT_RC(PDR_OK,
              pdr_walk_new(&w, pdr_xml_codec(), &opts, NULL, give_flood, f));
    while (rc == PDR_OK && event != PDR_END_OF_INPUT)
        rc = pdr_walk_next(&event, w, &err);
    pdr_walk_free(w);
    *peak = test_peak_bytes() - before;
    return rc != PDR_OK ? err.reason : "";
}

#define MB ((size_t)1 << 20)

TEST(xml_walk, refuses_what_never_ends_in_bounded_memory)
{
    static const char *const before[] = {
        "<string " NS ">",
        "<string " NS " escaped='true'>",
        "<string " NS "><![CDATA[",
        "<number " NS ">",
        "<map " NS "><null key='",
        "<map " NS " xmlns:o='urn:other' o:o='",
        "<map " NS "><!--",
        "<!--",
        "<",
        "<map " NS "></map",
    };

    for (size_t i = 0; i < PDR_COUNT(before); i++) {
        struct flood f = {before[i], "", 'x', 1000 * MB, 0};
        size_t peak = 0;
        if (i == PDR_COUNT(before) - 1)
            f.byte = ' '; /* white space in an end tag */
        ASSERT_STR("too_large", drown(&f, MB, &peak));
        ASSERT(f.at < 4 * MB);
        ASSERT(peak < 12 * MB);
    }
}

/* A tag or comment may have a window more than a value. */
TEST(xml_walk, keeps_its_limit_of_tags)
{
    static const char before[] = "<null " NS "/><!--", after[] = "-->";
    size_t around = strlen("<!---->"), most = 100 + PDR_WALK_WINDOW_BYTES;
    struct flood f = {before, after, 'x', most - around, 0};
    size_t peak = 0;

    ASSERT_STR("", drown(&f, 100, &peak));
    f.at = 0;
    f.count++;
    ASSERT_STR("too_large", drown(&f, 100, &peak));
}

/* Text that is no part of a value does not count. */
TEST(xml_walk, passes_white_space_of_any_length)
{
    static const struct {
        const char *before, *after;
    } rows[] = {
        {"", "<null " NS "/>"},
        {"<null " NS "/>", ""},
        {"<array " NS ">", "</array>"},
        {"<number " NS ">", "1</number>"},
        {"<number " NS ">1", "</number>"},
    };

    for (size_t i = 0; i < PDR_COUNT(rows); i++) {
        struct flood f = {rows[i].before, rows[i].after, '\n', 3 * MB, 0};
        size_t peak = 0;
        ASSERT_STR("", drown(&f, 10, &peak));
        ASSERT(peak < MB);
    }
}

/* A long tag is not tried again for each piece of it. */
TEST(xml_walk, reads_a_huge_attribute_in_linear_time)
{
    struct flood f = {"<map " NS "><null key='", "'/></map>", '>', 32 * MB, 0};
    size_t peak = 0;

    ASSERT_STR("", drown(&f, 0, &peak));
    ASSERT(peak < 350 * MB);
}

/* Byte by byte, each ">" could be the end: to try them all would take minutes.
 */
TEST(xml_walk, reads_what_drips_in_linear_time)
{
    pdr_buf xml = PDR_BUF_INIT(SIZE_MAX);
    pdr_event event = PDR_BEGIN_ARRAY;

    ASSERT_RC(PDR_OK, pdr_buf_append(&xml, PDR_LIT("<array " NS ">"), NULL));
    for (int i = 0; i < 60; i++) {
        ASSERT_RC(PDR_OK, pdr_buf_append(&xml, PDR_LIT("<!--"), NULL));
        for (int byte = 0; byte < 60000; byte++)
            ASSERT_RC(PDR_OK, pdr_buf_append(&xml, PDR_LIT(">"), NULL));
        ASSERT_RC(PDR_OK, pdr_buf_append(&xml, PDR_LIT("-->"), NULL));
    }
    ASSERT_RC(PDR_OK, pdr_buf_append(&xml, PDR_LIT("</array>"), NULL));
    struct source s = source_of(pdr_buf_str(&xml), 1);
    pdr_walk *w = walk_of(&s, 0);
    while (event != PDR_END_OF_INPUT)
        ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
    pdr_walk_free(w);
    pdr_buf_dispose(&xml);
}

TEST(xml_walk, holds_no_more_than_a_window)
{
    /* 400,000 empty arrays, one after another. */
    enum { COUNT = 400000 };
    pdr_buf xml = PDR_BUF_INIT(SIZE_MAX);

    ASSERT_RC(PDR_OK, pdr_buf_append(&xml, PDR_LIT("<array " NS ">"), NULL));
    for (int i = 0; i < COUNT; i++)
        ASSERT_RC(PDR_OK, pdr_buf_append(&xml, PDR_LIT("<array/>"), NULL));
    ASSERT_RC(PDR_OK, pdr_buf_append(&xml, PDR_LIT("</array>"), NULL));
    struct source s = source_of(pdr_buf_str(&xml), SIZE_MAX);
    test_reset_peak();
    size_t before = test_peak_bytes(), events = 0;
    pdr_walk *w = walk_of(&s, 0);
    pdr_event event = PDR_END;
    while (event != PDR_END_OF_INPUT) {
        ASSERT_RC(PDR_OK, pdr_walk_next(&event, w, NULL));
        events++;
    }
    ASSERT_SIZE(2 * COUNT + 3, events);
    ASSERT(test_peak_bytes() - before < 500000);
    pdr_walk_free(w);
    pdr_buf_dispose(&xml);
}

TEST_OOM(xml_walk, of_a_sequence_cleans_up_after_any_failed_allocation)
{
    struct source s = source_of(
        PDR_LIT("<map " NS "><null key='a'/></map><string " NS ">x</string>"),
        20);
    pdr_read_opts opts = {.flags = PDR_SEQUENCE};
    pdr_walk *w = NULL;
    pdr_event event = PDR_END;
    pdr_rc rc = pdr_walk_new(&w, pdr_xml_codec(), &opts, NULL, give, &s);

    while (rc == PDR_OK && event != PDR_END_OF_INPUT)
        rc = pdr_walk_next(&event, w, NULL);
    ASSERT(rc == PDR_OK || rc == PDR_ENOMEM);
    pdr_walk_free(w);
}
