/*
 * contents.c - contents and messages of the real editions, and the page.
 *
 * Every message that .NET or Python wrote goes into each other shape and comes
 * back; what comes into a state document is what the strictest reader takes.
 * docs/formats/contents.md says what the table says.
 */
#include "content_table.h"
#include "content_text.h"
#include "content_trip.h"
#include "corpus.h"

/* --- the corpus ---------------------------------------------------------- */

struct seen {
    const char *path;
    pdr_shape shape;
    size_t messages, contents;
};

static struct seen seen;

/* A document with this content, as text. */
static pdr_rc document_of(pdr_buf *out, const pdr_value *content)
{
    pdr_message_parts message = {.role = {"user", 4}};
    pdr_entry_parts entry = {0};
    pdr_value *contents = pdr_value_new_array(), *messages = NULL;
    pdr_value *made = NULL, *state = NULL;
    pdr_rc rc = pdr_value_append(&contents, content, NULL);

    messages = pdr_value_new_array();
    message.contents = contents;
    entry.kind = PDR_ENTRY_REQUEST;
    entry.correlation_id = pdr_str_c("c");
    entry.created_at = PDR_TICKS_UNIX_EPOCH;
    if (rc == PDR_OK)
        rc = pdr_message_new(&made, PDR_SHAPE_STATE, &message, NULL);
    if (rc == PDR_OK)
        rc = pdr_value_append(&messages, made, NULL);
    pdr_value_free(made);
    made = NULL;
    entry.messages = messages;
    if (rc == PDR_OK)
        rc = pdr_entry_new(&made, &entry, NULL);
    if (rc == PDR_OK)
        rc = pdr_state_new(&state, NULL);
    if (rc == PDR_OK)
        rc = pdr_state_append(&state, made, NULL);
    if (rc == PDR_OK)
        rc = pdr_json_write(out, state, NULL, NULL);
    pdr_value_free(state);
    pdr_value_free(made);
    pdr_value_free(messages);
    pdr_value_free(contents);
    return rc;
}

static pdr_rc say_nothing(const pdr_doc_finding *finding, pdr_err *err,
                          void *arg)
{
    (void)finding;
    (void)err;
    (void)arg;
    return PDR_OK;
}

/* Lone surrogates are kept, and no spelling of them suits .NET. */
static pdr_rc count_finding(const pdr_finding *finding, pdr_err *err, void *arg)
{
    size_t *count = arg;

    (void)finding;
    (void)err;
    (*count)++;
    return PDR_OK;
}

static void check_strictest(const pdr_value *content)
{
    pdr_buf text = PDR_BUF_INIT(1 << 26);
    pdr_reader_verdict verdict = {false, false};
    size_t odd = 0;

    ASSERT_RC(PDR_OK, pdr_value_inspect(content, NULL, count_finding, &odd));
    if (odd == 0 && pdr_value_kind(content) == PDR_OBJECT &&
        document_of(&text, content) == PDR_OK) {
        ASSERT_RC(PDR_OK, pdr_state_check_reader(&verdict, pdr_buf_str(&text),
                                                 PDR_READER_DOTNET, NULL,
                                                 say_nothing, NULL));
        if (!verdict.loads)
            corpus_complain(seen.path, "strictest reader", "%.*s",
                            text.len > 600 ? 600 : (int)text.len, text.ptr);
    }
    pdr_buf_dispose(&text);
}

static void trip(const pdr_value *value, bool message, void *arg)
{
    content_trip_fn fn = message ? pdr_message_convert : pdr_content_convert;
    struct content_trip_report report;
    pdr_value *state = NULL;

    (void)arg;
    *(message ? &seen.messages : &seen.contents) += 1;
    for (int to = 0; to < PDR_SHAPES; to++) {
        if (!content_trip_check(&report, fn, value, seen.shape, (pdr_shape)to))
            corpus_complain(seen.path, "trip", "%s", report.text);
    }
    if (message || seen.shape == PDR_SHAPE_STATE)
        return;
    ASSERT_RC(PDR_OK, fn(&state, value, seen.shape, PDR_SHAPE_STATE, NULL));
    check_strictest(state);
    pdr_value_free(state);
}

static void trip_file(const char *path, pdr_str content)
{
    pdr_read_opts opts = {0};
    pdr_value *document = NULL;

    opts.flags = PDR_BARE_TOKENS;
    opts.max_depth = 1024;
    seen.path = path;
    seen.shape = strstr(path, "durable") != NULL  ? PDR_SHAPE_STATE
                 : strstr(path, "/chat/") != NULL ? PDR_SHAPE_SK
                 : strstr(path, "dotnet") != NULL ? PDR_SHAPE_DOTNET
                                                  : PDR_SHAPE_PYTHON;
    if (pdr_json_read(&document, content, &opts, NULL) == PDR_OK)
        content_trip_each(document, trip, NULL);
    pdr_value_free(document);
}

TEST(contents, of_the_editions_come_back_from_every_shape)
{
    ASSERT(corpus_each_file("dotnet", ".json", trip_file) > 60);
    ASSERT(corpus_each_file("python", ".json", trip_file) > 60);
    ASSERT(seen.messages > 500);
    ASSERT(seen.contents > 600);
    corpus_assert_no_complaint();
}

/* --- what we make -------------------------------------------------------- */

/* One of each kind that a state document has, with all its members. */
static const char *const all_kinds[] = {
    "{'$type':'text','text':'a'}",
    "{'$type':'reasoning','text':'a'}",
    "{'$type':'data','uri':'data:a/b;base64,AA==','mediaType':'a/b'}",
    "{'$type':'uri','uri':'https://a.example/','mediaType':'a/b'}",
    "{'$type':'error','message':'m','errorCode':'c','details':'d'}",
    "{'$type':'functionCall','arguments':{'a':1.10},'callId':'c','name':'f'}",
    "{'$type':'functionResult','callId':'c','result':{'a':[null]}}",
    "{'$type':'hostedFile','fileId':'f'}",
    "{'$type':'hostedVectorStore','vectorStoreId':'v'}",
    "{'$type':'usage','usage':{'inputTokenCount':1}}",
    "{'$type':'unknown','content':{'$type':'toolCall','callId':'c'}}",
};

/* Make the content again from the fields that reading gives. */
static pdr_value *rebuild(const pdr_value *content)
{
    pdr_content_part parts[PDR_FIELD_PROPERTIES];
    pdr_value *made = NULL;
    size_t count = 0;

    for (int f = PDR_FIELD_TEXT; f <= PDR_FIELD_PROPERTIES; f++) {
        const pdr_value *value =
            pdr_content_get(content, PDR_SHAPE_STATE, (pdr_field)f);

        if (value != NULL)
            parts[count++] = (pdr_content_part){(pdr_field)f, value};
    }
    ASSERT_RC(PDR_OK,
              pdr_content_new(&made, PDR_SHAPE_STATE,
                              pdr_content_kind_of(content, PDR_SHAPE_STATE),
                              parts, count, NULL));
    return made;
}

TEST(contents, of_all_kinds_survive_build_store_and_load)
{
    COVERS("D-8");
    ASSERT_SIZE(11, PDR_COUNT(all_kinds));
    for (size_t i = 0; i < PDR_COUNT(all_kinds); i++) {
        pdr_value *sample = doc_value(all_kinds[i]), *made = rebuild(sample);
        pdr_buf text = PDR_BUF_INIT(10000), found = PDR_BUF_INIT(10000);
        pdr_value *state = NULL;
        const pdr_value *message = NULL;
        pdr_reader_verdict verdict = {false, false};

        ASSERT_RC(PDR_OK, document_of(&text, made));
        ASSERT_RC(PDR_OK,
                  pdr_state_read(&state, pdr_buf_str(&text), NULL, NULL));
        message = pdr_value_at(
            pdr_entry_messages(pdr_value_at(pdr_state_entries(state), 0)), 0);
        ASSERT(pdr_value_equal(
            sample,
            pdr_value_at(pdr_message_contents(message, PDR_SHAPE_STATE), 0)));
        ASSERT_RC(PDR_OK,
                  pdr_state_check_structure(state, PDR_STATE_STRICT, NULL,
                                            note_finding, &found));
        ASSERT_TEXT("", pdr_buf_str(&found));
        ASSERT_RC(PDR_OK, pdr_state_check_reader(&verdict, pdr_buf_str(&text),
                                                 PDR_READER_DOTNET, NULL,
                                                 say_nothing, NULL));
        ASSERT(verdict.loads && verdict.runs);
        pdr_buf_dispose(&found);
        pdr_buf_dispose(&text);
        pdr_value_free(state);
        pdr_value_free(made);
        pdr_value_free(sample);
    }
}

TEST(contents, that_nobody_knows_fail_nothing)
{
    COVERS("D-107");
    static const char item[] =
        "{'$type':'unknown','content':{'$type':'hologram','x':[1.10]}}";

    for (int to = 1; to < PDR_SHAPES; to++) {
        pdr_value *content = doc_value(item), *there = NULL, *back = NULL;

        ASSERT_INT(PDR_CONTENT_UNKNOWN,
                   pdr_content_kind_of(content, PDR_SHAPE_STATE));
        ASSERT(pdr_content_get(content, PDR_SHAPE_STATE, PDR_FIELD_CONTENT) !=
               NULL);
        ASSERT_RC(PDR_OK, pdr_content_convert(&there, content, PDR_SHAPE_STATE,
                                              (pdr_shape)to, NULL));
        ASSERT_RC(PDR_OK, pdr_content_convert(&back, there, (pdr_shape)to,
                                              PDR_SHAPE_STATE, NULL));
        pdr_value_free(there);
        pdr_value_free(content);
        assert_quoted(item, back);
    }
}

/* --- the page ------------------------------------------------------------ */

static void put_name(pdr_buf *out, const char *name)
{
    bool none = name == NULL || name[0] == '\0';

    ASSERT_RC(PDR_OK, pdr_buf_printf(out, NULL, none ? " - |" : " `%s` |",
                                     none ? "" : name));
}

static const char *title(pdr_content_kind kind)
{
    for (int s = PDR_SHAPE_DOTNET; s >= PDR_SHAPE_STATE; s--) {
        const char *name = pdr_content_kind_name(kind, (pdr_shape)s);

        if (name[0] != '\0')
            return name;
    }
    return pdr_content_kind_name(
        kind, pdr_content_kind_name(kind, PDR_SHAPE_PYTHON)[0] != '\0'
                  ? PDR_SHAPE_PYTHON
                  : PDR_SHAPE_SK);
}

static const char *json_name(unsigned json)
{
    switch (json) {
    case JSON_TEXT:
        return "string";
    case JSON_MAP:
        return "object";
    case JSON_LIST:
        return "array";
    case JSON_BOOL:
        return "boolean";
    case JSON_NUMBER:
        return "number";
    default:
        return "any";
    }
}

/* The table of kinds, then that of members, as the page has them. */
static void write_tables(pdr_buf *out)
{
    for (int k = 1; k <= PDR_CONTENT_MESSAGE; k++) {
        ASSERT_RC(PDR_OK, pdr_buf_append(out, pdr_str_c("|"), NULL));
        for (int s = 0; s < PDR_SHAPES; s++)
            put_name(out,
                     pdr_content_kind_name((pdr_content_kind)k, (pdr_shape)s));
        ASSERT_RC(PDR_OK, pdr_buf_append(out, pdr_str_c("\n"), NULL));
    }
    for (int k = 1; k <= PDR_CONTENT_MESSAGE; k++) {
        struct content_members rows = pdr__content_members((pdr_content_kind)k);

        for (size_t i = 0; i < rows.count; i++) {
            ASSERT_RC(PDR_OK, pdr_buf_append(out, pdr_str_c("|"), NULL));
            put_name(out, title((pdr_content_kind)k));
            for (int s = 0; s < PDR_SHAPES; s++)
                put_name(out, pdr_content_kind_name((pdr_content_kind)k,
                                                    (pdr_shape)s)[0] == '\0'
                                  ? NULL
                                  : rows.rows[i].names[s]);
            ASSERT_RC(PDR_OK, pdr_buf_printf(out, NULL, " %s |\n",
                                             json_name(rows.rows[i].json)));
        }
    }
}

/* The rows of the page that begin with a name in code, or with none. */
static void read_tables(pdr_buf *out, const char *page)
{
    const char *line = page, *end = NULL;

    for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        if (strncmp(line, "| `", 3) == 0 || strncmp(line, "| - |", 5) == 0)
            ASSERT_RC(PDR_OK,
                      pdr_buf_append(out,
                                     pdr_str_n(line, (size_t)(end - line) + 1),
                                     NULL));
    }
}

TEST(contents_page, says_what_the_table_says)
{
    pdr_buf table = PDR_BUF_INIT(1 << 20), said = PDR_BUF_INIT(1 << 20);
    size_t len = 0;
    char *page = test_read_data("../../docs/formats/contents.md", &len);

    write_tables(&table);
    read_tables(&said, page);
    free(page);
    ASSERT_BYTES(pdr_buf_str(&table), pdr_buf_str(&said));
    pdr_buf_dispose(&said);
    pdr_buf_dispose(&table);
}
