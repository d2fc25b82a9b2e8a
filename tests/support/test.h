/*
 * test.h - TEST and TEST_OOM, a thin layer over cmocka.
 *
 * A test program is one file: include this header, write tests, end with
 * nothing; main() is in test.c. Each test must release what it allocated
 * through the library: what is left counts as a failure.
 */
#ifndef PDR_TEST_H
#define PDR_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <perdure.h>

/* Was this built with AddressSanitizer or ThreadSanitizer? They have memory and
 * time of their own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEST_SANITIZED 1
#endif
#endif
#ifndef TEST_SANITIZED
#define TEST_SANITIZED 0
#endif

typedef void (*test_fn)(void);

void test_register(const char *noun, const char *sentence, test_fn fn,
                   bool oom);
void test_covers(const char *id);
/* Ends the test; whoever runs the tests gets to read the reason. */
void test_skip(const char *reason);

/* How long a search is, for the harnesses: PERDURE_SCALE, or 1. A tenth is for
 * sanitizers, ten and more for `make soak`. */
double test_scale(void);
/* So many at scale 1, and `least` at any scale: what a harness must meet to
 * show anything. */
size_t test_times(size_t usual, size_t least);
/* One of so many at scale 1; every single one at a scale that is large enough.
 */
size_t test_every(size_t step);

/* Allocations through the library that are alive, and all since the start. */
size_t test_live_allocations(void);
size_t test_allocations(void);

/* Let the n-th allocation from now fail (1 is the next); 0 turns it off. With
 * `for_ever`, all after it fail too. */
void test_fail_allocation(size_t n, bool for_ever);
/* For what a test does besides: no allocation fails or is counted for that
 * until it goes on. (test_fail_allocation() would end a TEST_OOM.) */
void test_pause_failures(bool paused);

/* Bytes now allocated through the library, and the most so far since reset. */
size_t test_live_bytes(void);
size_t test_peak_bytes(void);
void test_reset_peak(void);

/* A file below tests/data, owned by the caller: release with free(). */
char *test_read_data(const char *path, size_t *len);
/* The path of tests/data, to list it. */
const char *test_data_folder(void);

#define TEST(noun, sentence)                                               \
    static void test_##noun##_##sentence(void);                            \
    __attribute__((constructor)) static void register_##noun##_##sentence( \
        void)                                                              \
    {                                                                      \
        test_register(#noun, #sentence, test_##noun##_##sentence, false);  \
    }                                                                      \
    static void test_##noun##_##sentence(void)

/* Repeated: allocation 1 fails, then 2, then 3, until none was left to fail;
 * then each of them and all later ones. Leaks fail it. */
#define TEST_OOM(noun, sentence)                                           \
    static void test_##noun##_##sentence(void);                            \
    __attribute__((constructor)) static void register_##noun##_##sentence( \
        void)                                                              \
    {                                                                      \
        test_register(#noun, #sentence, test_##noun##_##sentence, true);   \
    }                                                                      \
    static void test_##noun##_##sentence(void)

/* A part that the program plays in a process of its own. "--role=NAME ..." runs
 * it, with the arguments behind it, instead of the tests; what it returns is
 * the status. For harnesses of several processes that share no memory. It may
 * not use assertions. */
typedef int (*test_role_fn)(int argc, char **argv);
void test_register_role(const char *name, test_role_fn fn);
#define TEST_ROLE(name)                                                 \
    static int role_##name(int argc, char **argv);                      \
    __attribute__((constructor)) static void register_role_##name(void) \
    {                                                                   \
        test_register_role(#name, role_##name);                         \
    }                                                                   \
    static int role_##name(int argc, char **argv)

/* Claim a numbered statement; recorded with the verdict, at most three. */
#define COVERS(id) test_covers(id)

#define ASSERT(condition) assert_true(condition)
#define ASSERT_RC(expected, call) \
    assert_string_equal(pdr_rc_name(expected), pdr_rc_name(call))
#define ASSERT_STR(expected, text) assert_string_equal(expected, text)
#define ASSERT_INT(expected, number) \
    assert_int_equal((int64_t)(expected), (int64_t)(number))
#define ASSERT_SIZE(expected, number) \
    assert_int_equal((size_t)(expected), (size_t)(number))
/* Expected C string against a pdr_str. */
#define ASSERT_TEXT(expected, str) \
    test_assert_text(expected, str, __FILE__, __LINE__)
void test_assert_text(const char *expected, pdr_str actual, const char *file,
                      int line);
/* Two pdr_str of any bytes. */
#define ASSERT_BYTES(expected, str) \
    test_assert_bytes(expected, str, __FILE__, __LINE__)
void test_assert_bytes(pdr_str expected, pdr_str actual, const char *file,
                       int line);

#endif
