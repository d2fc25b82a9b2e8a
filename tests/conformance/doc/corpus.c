/*
 * The documents of tests/data/state: each gets the verdict that the index says,
 * each that is read comes back byte for byte, and a change of one thing changes
 * the span of that thing.
 */
#include "corpus.h"
#include "state_trip.h"
#include "test.h"

#define FOLDER "state/"

/* Call `fn` for each line of the index. */
static size_t each_document(void (*fn)(const char *name, const char *verdict,
                                       pdr_str text))
{
    size_t len = 0, count = 0;
    char *index = test_read_data(FOLDER "index.txt", &len), *rest = index;

    for (char *line = strsep(&rest, "\n"); line != NULL && *line != '\0';
         line = strsep(&rest, "\n")) {
        char name[100] = "", verdict[60] = "", path[120];
        size_t size = 0;
        if (sscanf(line, "%99s %59s", name, verdict) != 2)
            fail_msg("the index has a line '%s'", line);
        snprintf(path, sizeof(path), FOLDER "%s", name);
        char *text = test_read_data(path, &size);
        fn(name, verdict, pdr_str_n(text, size));
        free(text);
        count++;
    }
    free(index);
    return count;
}

/* --- verdicts ------------------------------------------------------------- */

static void check_verdict(const char *name, const char *verdict, pdr_str text)
{
    pdr_value *state = NULL;
    pdr_err err = PDR_ERR_INIT;
    pdr_rc rc = pdr_state_read(&state, text, NULL, &err);
    const char *actual = rc == PDR_OK ? "ok" : err.reason;

    if (rc == PDR_OK && text.len < 10 && memcmp(text.ptr, "null", 4) == 0)
        actual = "new";
    if (strcmp(verdict, actual) != 0)
        corpus_complain(name, "read", "expected %s, got %s: %s", verdict,
                        actual, err.message);
    if ((state != NULL) != (rc == PDR_OK))
        corpus_complain(name, "read", "a value and an error");
    if (rc != PDR_OK && (err.message[0] == '\0' || err.offset < -1))
        corpus_complain(name, "read", "nothing to say");
    pdr_value_free(state);
}

TEST(state_corpus, gets_the_verdicts_of_its_index)
{
    ASSERT(each_document(check_verdict) >= 69);
    corpus_assert_no_complaint();
}

static size_t listed;

static void count_file(const char *path, pdr_str content)
{
    (void)path;
    (void)content;
    listed++;
}

static void ignore(const char *name, const char *verdict, pdr_str text)
{
    (void)name;
    (void)verdict;
    (void)text;
}

TEST(state_corpus, lists_every_document_of_its_folder)
{
    listed = 0;
    ASSERT(corpus_each_file("state", ".json", count_file) > 0);
    ASSERT_SIZE(listed, each_document(ignore));
}

/* --- changes -------------------------------------------------------------- */

static void check_changes(const char *name, const char *verdict, pdr_str text)
{
    struct roundtrip_report report;

    if (strcmp(verdict, "ok") == 0 && !state_check(&report, &state_ours, text))
        corpus_complain(name, "change", "%s", report.text);
}

TEST(state_corpus, changes_only_the_span_of_what_was_changed)
{
    each_document(check_changes);
    corpus_assert_no_complaint();
}

/* --- damage --------------------------------------------------------------- */

/* A document that ends early is refused, or only lacks white space. What is
 * said has a place in it. */
static void check_cuts(const char *name, const char *verdict, pdr_str text)
{
    pdr_str root = roundtrip_root(text);
    size_t step = text.len > 20000 ? 997 : 1;

    if (strcmp(verdict, "ok") != 0)
        return;
    for (size_t len = 0; len < text.len; len += step) {
        pdr_value *state = NULL;
        pdr_err err = PDR_ERR_INIT;
        char *cut = malloc(len + 1); /* exact, so that ASan sees one too far */
        assert_non_null(cut);
        memcpy(cut, text.ptr, len);
        pdr_rc rc = pdr_state_read(&state, pdr_str_n(cut, len), NULL, &err);
        bool whole = text.ptr + len >= root.ptr + root.len;
        if (whole ? rc != PDR_OK
                  : rc != PDR_EINVALID ||
                        strcmp(err.reason, "state_not_json") != 0 ||
                        err.offset < 0 || (size_t)err.offset > len)
            corpus_complain(name, "cut", "after %zu bytes: %s", len,
                            rc == PDR_OK ? "taken" : err.message);
        pdr_value_free(state);
        free(cut);
    }
}

TEST(state_corpus, is_refused_when_it_ends_early)
{
    each_document(check_cuts);
    corpus_assert_no_complaint();
}

/* --- the documents of both runtimes --------------------------------------- */

static void check_runtime(const char *path, pdr_str content)
{
    const char *name = strrchr(path, '/') + 1;
    struct roundtrip_report report;
    bool refused = strstr(name, "version-2") != NULL ||
                   strstr(name, "23-version-missing.in") != NULL;
    pdr_value *state = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (strncmp(name, "26", 2) >= 0)
        return; /* payloads and handles */
    listed++;
    if (!refused) {
        if (!state_check(&report, &state_ours, content))
            corpus_complain(path, "runtime", "%s", report.text);
        return;
    }
    if (pdr_state_read(&state, content, NULL, &err) == PDR_OK)
        corpus_complain(path, "runtime", "was not refused");
    pdr_value_free(state);
}

TEST(state_of_both_runtimes, loads_and_stores_back_the_same_bytes)
{
    COVERS("D-101");
    listed = 0;
    corpus_each_file("dotnet/durable", ".json", check_runtime);
    ASSERT_SIZE(26, listed);
    corpus_each_file("python/durable", ".json", check_runtime);
    ASSERT_SIZE(26 + 30, listed);
    corpus_assert_no_complaint();
}
