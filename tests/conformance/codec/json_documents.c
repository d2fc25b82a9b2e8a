/*
 * json_documents.c - documents that the other editions wrote (tests/data/dotnet
 * and tests/data/python) come back byte for byte.
 */
#include "corpus.h"
#include "roundtrip.h"

/* Files that the defaults refuse in whole or in part, why, and what it takes to
 * read them. */
static struct exception {
    const char *path;
    const char *reason;
    pdr_read_opts opts;
    size_t used;
} exceptions[] = {
    /* 1e400 became Infinity on its way through Python. */
    {"python/sessions/roundtrip-numbers.out.json",
     "bare_token",
     {.flags = PDR_BARE_TOKENS},
     0},
    /* A history with NaN and -Infinity in its first line. */
    {"python/sessions/history/~session-jzuwo2duf5jwq2lgoq.jsonl",
     "bare_token",
     {.flags = PDR_BARE_TOKENS},
     0},
    /* One verdict is about a document of many levels. */
    {"python/sessions/verdicts.jsonl", "too_deep", {.max_depth = 1024}, 0},
};
#define EXCEPTION_COUNT (sizeof(exceptions) / sizeof(exceptions[0]))

static const pdr_read_opts *options_for(const char *path, const pdr_err *err)
{
    for (size_t i = 0; i < EXCEPTION_COUNT; i++)
        if (strcmp(exceptions[i].path, path) == 0 &&
            strcmp(exceptions[i].reason, err->reason) == 0) {
            exceptions[i].used++;
            return &exceptions[i].opts;
        }
    return NULL;
}

static void check_text(const char *path, pdr_str text)
{
    const pdr_read_opts *opts = NULL;
    struct roundtrip_report report;
    pdr_value *value = NULL;
    pdr_err err = PDR_ERR_INIT;

    if (pdr_json_read(&value, text, NULL, &err) != PDR_OK)
        opts = options_for(path, &err);
    pdr_value_free(value);
    if (!roundtrip_check_as_read(&report, &roundtrip_ours, text, opts))
        corpus_complain(path, "as read", "%s", report.text);
}

static void assert_exceptions_used(const char *folder)
{
    for (size_t i = 0; i < EXCEPTION_COUNT; i++)
        if (strncmp(exceptions[i].path, folder, strlen(folder)) == 0 &&
            exceptions[i].used == 0)
            corpus_complain(exceptions[i].path, "defaults", "was not refused");
    corpus_assert_no_complaint();
}

static void check_lines(const char *path, pdr_str text)
{
    size_t begin = 0;

    for (size_t i = 0; i <= text.len; i++) {
        if (i < text.len && text.ptr[i] != '\n')
            continue;
        if (i > begin)
            check_text(path, pdr_str_n(text.ptr + begin, i - begin));
        begin = i + 1;
    }
}

TEST(json_documents, written_by_the_dotnet_edition_come_back)
{
    ASSERT(corpus_each_file("dotnet", ".json", check_text) >= 90);
    ASSERT(corpus_each_file("dotnet", ".jsonl", check_lines) >= 1);
    assert_exceptions_used("dotnet/");
}

TEST(json_documents, written_by_the_python_edition_come_back)
{
    ASSERT(corpus_each_file("python", ".json", check_text) >= 90);
    ASSERT(corpus_each_file("python", ".jsonl", check_lines) >= 1);
    assert_exceptions_used("python/");
}
