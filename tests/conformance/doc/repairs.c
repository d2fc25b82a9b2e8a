/*
 * repairs.c - what must hold for every repair, over all documents that the real
 * runtimes wrote and all inputs that both were given.
 *
 * For each document and each reader: the repair refuses and names a place of
 * the document, or the result passes our gate, loads and runs for the reader,
 * makes sense, is told in full, and a second repair has nothing to do.
 */
#include "corpus.h"
#include "repair_check.h"

#define NOW (PDR_TICKS_UNIX_EPOCH + 1770106500 * PDR_TICKS_PER_SECOND)

#define CALL(id)                                   \
    "{\"$type\":\"functionCall\",\"callId\":\"" id \
    "\",\"name\":\"f\",\"arguments\":{}}"
#define RESULT(id)                                   \
    "{\"$type\":\"functionResult\",\"callId\":\"" id \
    "\",\"result\":\"\\ud800\"}"

static struct {
    size_t repaired, same, refused, gated;
} seen[3];

static const char *const readers[] = {"any", "dotnet", "python"};

/* For each reader, one document with the entries of all that it can have. */
static pdr_value *whole[3];

static void collect(const pdr_value *state, pdr_reader reader)
{
    pdr_iter it;

    if (whole[reader] == NULL)
        ASSERT_RC(PDR_OK, pdr_state_new(&whole[reader], NULL));
    pdr_iter_init(&it, pdr_state_entries(state));
    while (pdr_iter_next(&it)) {
        if (pdr_value_kind(it.value) == PDR_OBJECT)
            ASSERT_RC(PDR_OK, pdr_state_append(&whole[reader], it.value, NULL));
    }
}

/* Damage that a repair must not leave. */
static pdr_rc find_damage(const pdr_doc_finding *finding, pdr_err *err,
                          void *arg)
{
    static const char *const damage[] = {
        "result-without-call", "result-before-call", "result-twice",
        "request-without-response", "call-without-result"};

    (void)err;
    for (size_t i = 0; i < sizeof(damage) / sizeof(damage[0]); i++) {
        if (strcmp(finding->rule, damage[i]) == 0)
            *(const char **)arg = damage[i];
    }
    return PDR_OK;
}

static void check_verdict(const char *name, const pdr_value *out,
                          pdr_reader reader)
{
    pdr_reader_verdict verdict = {false, false};
    pdr_write_opts opts = {.layout = PDR_AS_READ};
    pdr_buf text = PDR_BUF_INIT(UINT32_MAX);

    if (reader == PDR_READER_ANY)
        return;
    ASSERT_RC(PDR_OK, pdr_json_write(&text, out, &opts, NULL));
    ASSERT_RC(PDR_OK, pdr_state_check_reader(&verdict, pdr_buf_str(&text),
                                             reader, NULL, NULL, NULL));
    if (!verdict.loads || !verdict.runs)
        corpus_complain(name, readers[reader], "does not load or run");
    pdr_buf_dispose(&text);
}

static void check_result(const char *name, const pdr_value *before,
                         const pdr_value *after, pdr_reader reader,
                         struct repair_report *report)
{
    const char *untold = repair_untold(before, after, report);
    const char *damage = NULL;
    pdr_value *again = NULL;

    if (untold != NULL)
        corpus_complain(name, readers[reader], "%s", untold);
    ASSERT_RC(PDR_OK, pdr_state_gate(after, NULL));
    check_verdict(name, after, reader);
    ASSERT_RC(PDR_OK,
              pdr_state_check_meaning(after, NULL, find_damage, &damage));
    if (damage != NULL)
        corpus_complain(name, readers[reader], "still has %s", damage);
    repair_report_clear(report);
    ASSERT_RC(PDR_OK, pdr_state_repair(&again, after, reader, NOW, NULL,
                                       repair_note, report));
    if (report->count > 0 || !pdr_value_equal(after, again))
        corpus_complain(name, readers[reader], "a second repair did %s",
                        report->count > 0 ? report->told[0].rule : "something");
    pdr_value_free(again);
}

/* Where the reader itself finds fault with the document. */
struct places {
    const char *path;
    bool is_there;
};

static pdr_rc find_place(const pdr_doc_finding *finding, pdr_err *err,
                         void *arg)
{
    struct places *places = arg;

    (void)err;
    if (finding->severity == PDR_SEVERITY_ERROR &&
        pdr_str_equal(finding->pointer, pdr_str_c(places->path)))
        places->is_there = true;
    return PDR_OK;
}

/* A member that the reader misses: the object that lacks it is there. */
static bool is_missed(const pdr_value *state, pdr_reader reader,
                      const char *path)
{
    const char *slash = strrchr(path, '/');
    struct places places = {path, false};
    pdr_write_opts opts = {.layout = PDR_AS_READ};
    pdr_buf text = PDR_BUF_INIT(UINT32_MAX);
    const pdr_value *object = NULL;
    pdr_reader_verdict verdict;

    if (slash == NULL ||
        pdr_pointer_get(&object, state, pdr_str_n(path, (size_t)(slash - path)),
                        NULL) != PDR_OK ||
        pdr_value_kind(object) != PDR_OBJECT)
        return false;
    ASSERT_RC(PDR_OK, pdr_json_write(&text, state, &opts, NULL));
    ASSERT_RC(PDR_OK,
              pdr_state_check_reader(&verdict, pdr_buf_str(&text), reader, NULL,
                                     find_place, &places));
    pdr_buf_dispose(&text);
    return places.is_there;
}

static void check_refusal(const char *name, const pdr_value *state,
                          pdr_reader reader, const pdr_err *err)
{
    const pdr_value *part = NULL;

    if (strcmp(err->reason, "cannot_repair") != 0) {
        seen[reader].gated++;
        return;
    }
    seen[reader].refused++;
    if (getenv("PERDURE_SHOW") != NULL)
        print_message("%s %s: %s %s\n", readers[reader], name, err->path,
                      err->message);
    if (err->path[0] == '\0')
        corpus_complain(name, readers[reader], "refused without a path");
    else if (pdr_pointer_get(&part, state, pdr_str_c(err->path), NULL) !=
                 PDR_OK &&
             !is_missed(state, reader, err->path))
        corpus_complain(name, readers[reader], "no such place: %s", err->path);
}

static void check_reader(const char *name, const pdr_value *state,
                         pdr_reader reader)
{
    static struct repair_report report;
    pdr_err err = PDR_ERR_INIT;
    pdr_value *out = NULL;
    pdr_rc rc =
        pdr_state_repair(&out, state, reader, NOW, &err, repair_note, &report);

    if (rc == PDR_OK) {
        if (report.count > 0)
            seen[reader].repaired++;
        else
            seen[reader].same++;
        if (getenv("PERDURE_SHOW") != NULL && report.count > 0)
            print_message("%s %s: %s %s\n", readers[reader], name,
                          report.told[0].rule, report.told[0].pointer);
        check_result(name, state, out, reader, &report);
        if (state != whole[reader])
            collect(state, reader);
    } else {
        ASSERT_SIZE(0, report.count);
        check_refusal(name, state, reader, &err);
    }
    repair_report_clear(&report);
    pdr_value_free(out);
}

static void check_text(const char *name, pdr_str text)
{
    pdr_value *value = NULL;

    if (pdr_json_read(&value, text, NULL, NULL) != PDR_OK)
        return;
    for (int reader = PDR_READER_ANY; reader <= PDR_READER_PYTHON; reader++)
        check_reader(name, value, (pdr_reader)reader);
    pdr_value_free(value);
}

TEST(state_repair, gives_a_sound_document_or_a_place)
{
    COVERS("D-105");
    size_t files = corpus_each_file("dotnet/durable", ".json", check_text) +
                   corpus_each_file("python/durable", ".json", check_text);

    ASSERT(files >= 60);
    for (size_t i = 0; i < 3; i++) {
        pdr_value_free(whole[i]);
        whole[i] = NULL;
    }
    corpus_assert_no_complaint();
}

static void check_verdict_line(const pdr_value *line)
{
    pdr_buf scratch = PDR_BUF_INIT(1u << 20);
    pdr_buf name = PDR_BUF_INIT(1u << 20);
    pdr_str text = {NULL, 0};

    ASSERT_RC(PDR_OK,
              pdr_json_write(&name, pdr_value_get_c(line, "case"), NULL, NULL));
    ASSERT_RC(PDR_OK, pdr_buf_append(&name, pdr_str_n("", 1), NULL));
    ASSERT_RC(PDR_OK, pdr_value_text(&text, pdr_value_get_c(line, "doc"),
                                     &scratch, NULL));
    check_text(name.ptr, text);
    pdr_buf_dispose(&name);
    pdr_buf_dispose(&scratch);
}

/* Results that .NET cannot write, in every place that a repair moves them to.
 */
TEST(state_repair, names_the_place_of_what_it_would_have_moved)
{
    static const char *const contents[] = {
        RESULT("z"),
        RESULT("z") "," CALL("z"),
        CALL("y") "," RESULT("z"),
        CALL("z") "," RESULT("z") "," RESULT("z"),
        "null," RESULT("z") ",null," CALL("x") "," CALL("z"),
    };

    COVERS("D-105");
    memset(seen, 0, sizeof(seen));
    for (size_t i = 0; i < sizeof(contents) / sizeof(contents[0]); i++) {
        char text[2000];

        (void)snprintf(text, sizeof(text),
                       "{\"schemaVersion\":\"1.1.0\",\"data\":"
                       "{\"conversationHistory\":[null,{\"$type\":"
                       "\"response\",\"correlationId\":\"c\","
                       "\"createdAt\":\"2026-01-01T00:00:00Z\","
                       "\"messages\":[null,{\"role\":\"tool\","
                       "\"contents\":[%s]}]}]}}",
                       contents[i]);
        check_text(contents[i], pdr_str_c(text));
        ASSERT_SIZE(i + 1, seen[PDR_READER_DOTNET].refused);
    }
    for (size_t i = 0; i < 3; i++) {
        pdr_value_free(whole[i]);
        whole[i] = NULL;
    }
    corpus_assert_no_complaint();
}

TEST(state_repair, does_so_for_each_input_of_the_verdicts)
{
    size_t len = 0, lines = 0;
    char *all = test_read_data("dotnet/durable/90-verdicts.jsonl", &len);
    pdr_str rest = pdr_str_n(all, len);

    COVERS("D-105");
    memset(seen, 0, sizeof(seen));
    while (rest.len > 0) {
        const char *stop = memchr(rest.ptr, '\n', rest.len);
        size_t bytes = stop != NULL ? (size_t)(stop - rest.ptr) : rest.len;
        pdr_value *line = NULL;

        ASSERT_RC(PDR_OK,
                  pdr_json_read(&line, pdr_str_n(rest.ptr, bytes), NULL, NULL));
        check_verdict_line(line);
        pdr_value_free(line);
        bytes += stop != NULL;
        rest = pdr_str_n(rest.ptr + bytes, rest.len - bytes);
        lines++;
    }
    free(all);
    ASSERT_SIZE(254, lines);
    corpus_assert_no_complaint();
    for (size_t i = 0; i < 3; i++)
        print_message("%s: %zu repaired, %zu as they were, %zu refused, %zu "
                      "no documents\n",
                      readers[i], seen[i].repaired, seen[i].same,
                      seen[i].refused, seen[i].gated);
    for (int i = PDR_READER_ANY; i <= PDR_READER_PYTHON; i++) {
        ASSERT(pdr_value_count(pdr_state_entries(whole[i])) > 50);
        check_reader("all in one", whole[i], (pdr_reader)i);
        pdr_value_free(whole[i]);
        whole[i] = NULL;
    }
    corpus_assert_no_complaint();
    /* Refusing everything would be no repair. */
    ASSERT(seen[PDR_READER_DOTNET].repaired > 100);
    ASSERT(seen[PDR_READER_PYTHON].repaired > 100);
}
