/*
 * suite.h - the frame of a unit test file: tests with sentences for names, one runner a file.
 *
 *     START_TEST(masks_future_positions) { ck_assert(...); } END_TEST
 *     ATTN_SUITE("softmax", masks_future_positions, rows_sum_to_one)
 *
 * CK_RUN_CASE=masks_future_positions runs that test alone. Check forks each test; CK_FORK=no keeps
 * one process for debuggers and valgrind. Tests that are words of ATTN_SKIP_TESTS are left out.
 */
#pragma once

#include "tests/support/assert.h"

#include <stddef.h>

/* The tests of one file, which its constructor adds. A program may have those of many files; it
 * runs the file that has its own name. */
struct attn_suite {
    const char *file;
    int (*run)(void);
    struct attn_suite *next;
};
void attn_add_suite(struct attn_suite *suite);

/* Runs TESTS [n] as suite NAME; returns the exit status, which is bad when no test ran. */
int attn_run_suite(const char *name, const TTest *const *tests, int n);

/* The step of a sweep over cases of which `make test` tries one in N: N, and 1 with TORTURE=full.
 */
size_t attn_one_in(size_t n);

/* The same for a sweep that CI makes whole under sanitizers, too: 1 with TORTURE=more as well. */
size_t attn_one_of(size_t n);

/* Prints that the test that runs is skipped, by its name, and WHY; it returns then. */
void attn_skip_test(const char *why);

#define ATTN_SUITE(name, ...)                                                                      \
    static int run_suite(void)                                                                     \
    {                                                                                              \
        const TTest *const tests[] = {__VA_ARGS__};                                                \
        return attn_run_suite(name, tests, (int)(sizeof tests / sizeof *tests));                   \
    }                                                                                              \
    __attribute__((constructor)) static void add_suite(void)                                       \
    {                                                                                              \
        static struct attn_suite suite = {__BASE_FILE__, run_suite, NULL};                         \
        attn_add_suite(&suite);                                                                    \
    }
