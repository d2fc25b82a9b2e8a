/*
 * every_codec.c - the whole JSON corpus and the documents of the other editions
 * through every codec, and from each codec to each other one.
 */
#include <perdure/sys/codec.h>

#include "codec_trip.h"
#include "corpus.h"

/* Some documents need more than the defaults; whether they do is tested with
 * the reader of JSON. */
static pdr_read_opts generous = {.flags = PDR_BARE_TOKENS, .max_depth = 1024};

static void check_text(const char *name, pdr_str json,
                       const pdr_read_opts *opts)
{
    const pdr_codec *codecs[TRIP_MAX_CODECS];
    size_t count = trip_codecs(codecs);
    struct roundtrip_report report;

    for (size_t i = 0; i < count; i++)
        if (!trip_check(&report, codecs[i], json, opts))
            corpus_complain(name, "round trip", "%s", report.text);
}

static void check_pairs(const char *name, pdr_str json,
                        const pdr_read_opts *opts)
{
    const pdr_codec *codecs[TRIP_MAX_CODECS];
    size_t count = trip_codecs(codecs);
    struct roundtrip_report report;

    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++)
            if (!trip_check_pair(&report, codecs[i], codecs[k], json, opts))
                corpus_complain(name, codecs[i]->title, "to %s: %s",
                                codecs[k]->title, report.text);
}

static void check_corpus(void (*check)(const char *name, pdr_str json,
                                       const pdr_read_opts *opts))
{
    struct corpus corpus;

    corpus_load(&corpus, "json/valid", "output");
    ASSERT(corpus.count > 150);
    for (size_t i = 0; i < corpus.count; i++) {
        const struct corpus_case *c = &corpus.cases[i];
        pdr_read_opts opts = {.flags = c->flags};
        check(c->name, c->input, &opts);
    }
    corpus_free(&corpus);
    corpus_assert_no_complaint();
}

TEST(every_codec, gives_the_whole_corpus_back_as_the_same_text)
{
    check_corpus(check_text);
}

TEST(every_codec, gives_the_whole_corpus_to_every_other_codec)
{
    check_corpus(check_pairs);
}

/* --- documents of the other editions ------------------------------------- */

static void check_document(const char *path, pdr_str json)
{
    check_text(path, json, &generous);
    check_pairs(path, json, &generous);
}

static void check_file_of_lines(const char *path, pdr_str text)
{
    size_t begin = 0;

    for (size_t i = 0; i <= text.len; i++) {
        if (i < text.len && text.ptr[i] != '\n')
            continue;
        if (i > begin)
            check_document(path, pdr_str_n(text.ptr + begin, i - begin));
        begin = i + 1;
    }
}

TEST(every_codec, gives_documents_of_the_dotnet_edition_back)
{
    ASSERT(corpus_each_file("dotnet", ".json", check_document) >= 90);
    ASSERT(corpus_each_file("dotnet", ".jsonl", check_file_of_lines) >= 1);
    corpus_assert_no_complaint();
}

TEST(every_codec, gives_documents_of_the_python_edition_back)
{
    ASSERT(corpus_each_file("python", ".json", check_document) >= 90);
    ASSERT(corpus_each_file("python", ".jsonl", check_file_of_lines) >= 1);
    corpus_assert_no_complaint();
}

/* --- sequences ----------------------------------------------------------- */

/* Every form of every codec that holds more than one document. */
static size_t check_sequences(const char *name, pdr_str lines,
                              const pdr_read_opts *opts)
{
    const pdr_codec *codecs[TRIP_MAX_CODECS];
    size_t count = trip_codecs(codecs), forms = 0;
    struct roundtrip_report report;

    for (size_t i = 0; i < count; i++)
        for (const pdr_codec_form *f = codecs[i]->forms; f->name != NULL; f++) {
            if ((f->flags & PDR_SEQUENCE) == 0)
                continue;
            forms++;
            if (!trip_check_sequence(&report, codecs[i], f->flags, lines, opts))
                corpus_complain(name, f->name, "%s", report.text);
        }
    return forms;
}

static void join(pdr_buf *out, pdr_str text)
{
    ASSERT_RC(PDR_OK, pdr_buf_append(out, text, NULL));
    ASSERT_RC(PDR_OK, pdr_buf_append(out, pdr_str_c("\n"), NULL));
}

TEST(every_codec, gives_the_corpus_back_as_one_sequence)
{
    struct corpus corpus;
    pdr_buf lines = PDR_BUF_INIT(UINT32_MAX);

    corpus_load(&corpus, "json/valid", "output");
    for (size_t i = 0; i < corpus.count; i++)
        join(&lines, corpus.cases[i].input);
    ASSERT(check_sequences("corpus", pdr_buf_str(&lines), &generous) >= 2);
    pdr_buf_dispose(&lines);
    corpus_free(&corpus);
    corpus_assert_no_complaint();
}

static pdr_buf all_documents;

static void collect(const char *path, pdr_str json)
{
    (void)path;
    join(&all_documents, json);
}

TEST(every_codec, gives_all_documents_back_as_one_sequence)
{
    all_documents = (pdr_buf)PDR_BUF_INIT(UINT32_MAX);
    ASSERT(corpus_each_file("dotnet", ".json", collect) >= 90);
    ASSERT(corpus_each_file("python", ".json", collect) >= 90);
    (void)check_sequences("documents", pdr_buf_str(&all_documents), &generous);
    pdr_buf_dispose(&all_documents);
    corpus_assert_no_complaint();
}

TEST(every_codec, gives_an_empty_sequence_back)
{
    ASSERT(check_sequences("nothing", pdr_str_c(""), NULL) >= 2);
    ASSERT(check_sequences("one", pdr_str_c("{\"a\":1}\n"), NULL) >= 2);
    corpus_assert_no_complaint();
}
