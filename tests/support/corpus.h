/*
 * corpus.h - the case folders of tests/data/<codec>, and folders of documents.
 *
 * A run over many files should name every one that is wrong, not only the
 * first: complaints are printed and counted, and the test asserts the count.
 */
#ifndef PDR_TEST_CORPUS_H
#define PDR_TEST_CORPUS_H

#include "test.h"

struct corpus_case {
    const char *name; /* borrowed from the corpus */
    pdr_str input;    /* in a block of exactly its size */
    pdr_str expected; /* `output` or `error`; final line end of `error` cut */
    unsigned flags;   /* PDR_JSON_… of `options` */
};

struct corpus {
    struct corpus_case *cases; /* owned, in order of their names */
    size_t count;
};

/* All cases of tests/data/`folder`; `file` is "output" or "error". */
void corpus_load(struct corpus *out, const char *folder, const char *file);
void corpus_free(struct corpus *corpus);

/* What an invalid case must give. */
struct corpus_error {
    char reason[64];
    int64_t offset;
    char path[PDR_ERR_PATH];
};
struct corpus_error corpus_expected_error(const struct corpus_case *c);

/* Does `err` say just this? If not, complains with the names of case and way.
 */
bool corpus_error_is(const struct corpus_case *c, const char *way,
                     const struct corpus_error *expected, const pdr_err *err);

/* Print a line about a case; count it. */
void corpus_complain(const char *name, const char *way, const char *fmt, ...)
    PDR_PRINTF(3, 4);
/* Fail the test if there was any complaint since the last call. */
void corpus_assert_no_complaint(void);

/* Kernels that this processor has. What it lacks is said on stderr, once. */
struct corpus_kernel {
    pdr_kernel kernel;
    const char *name;
};
size_t corpus_kernels(struct corpus_kernel out[4]);

/* Call `fn` for every file below tests/data/`folder` whose name ends with
 * `suffix`, folders within included, in order; returns how many. */
typedef void (*corpus_file_fn)(const char *path, pdr_str content);
size_t corpus_each_file(const char *folder, const char *suffix,
                        corpus_file_fn fn);

#endif
