/*
 * test_gemm.c - the microkernels: JIT code and the portable loops are the same chain of fma, bit
 * for bit, for every panel width; panels; the ways an engine can start.
 */
#include "kernels/linear.h"
#include "kernels/panels.h"
#include "tests/support/near.h"
#include "tests/support/reference.h"
#include "tests/support/sealed_memory.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_K = 768, MAX_LD = 150, MAX_C = 64 * 70 };

static float a[MAX_K * MAX_LD], b[64 * (MAX_K + 5)], c[MAX_C], expected[MAX_C];

static void fill_inputs(void)
{
    attn_reference_fill(a, sizeof a / sizeof *a, 1, 1);
    attn_reference_fill(b, sizeof b / sizeof *b, 1, 2);
}

/* The definition: one chain from +0 or what is there, k ascending, through all blocks. */
static void multiply_by_definition(const struct attn_gemm_shape *s, size_t count, float *out)
{
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = 0; j < s->m; j++) {
            float sum = s->is_continued ? out[i * s->ldc + j] : 0;

            for (size_t block = 0; block < count; block++)
                for (size_t k = 0; k < s->k; k++)
                    sum = fmaf(b[block * s->step_b + i * s->ldb + k],
                               a[block * s->step_a + k * s->lda + j], sum);
            out[i * s->ldc + j] = sum;
        }
}

/* c starts as NaN, so that what is not overwritten, and what should not be, is seen; or as what a
 * sum goes on from. */
static void prepare(const struct attn_gemm_shape *shape, float *out)
{
    for (size_t i = 0; i < MAX_C; i++)
        out[i] = shape->is_continued ? (float)(i % 13) - 6.3F : NAN;
}

static void run_engine(const struct attn_gemm_engine *engine, const struct attn_gemm_shape *shape,
                       size_t count)
{
    struct attn_gemm_kernel kernel = attn_gemm_kernel_find(engine, shape);

    ck_assert(!engine->is_jit || kernel.jit || shape->is_ahead);
    prepare(shape, c);
    if (shape->is_ahead)
        attn_gemm_kernel_run_ahead(&kernel, a, b, c, a + MAX_LD);
    else
        attn_gemm_kernel_run(&kernel, a, b, c, count);
}

/* Whether libxsmm can be tested here; when not, says so. */
static bool has_jit(void)
{
    if (!attn_gemm_can_jit())
        attn_skip_test("libxsmm cannot make code here");
    return attn_gemm_can_jit();
}

static struct attn_gemm_engine portable(enum attn_isa isa)
{
    return attn_gemm_engine_start(ATTN_GEMM_PORTABLE, isa, 0);
}

static const size_t some_rows[] = {1, 2, 3, 5, 6, 7, 12, 13, 31, 48, 64};
static const size_t some_depths[] = {1, 5, 15, 64, 768};

static void compare_with_portable(const struct attn_gemm_engine *engine)
{
    struct attn_gemm_engine loop = portable(ATTN_ISA_BEST);

    fill_inputs();
    for (size_t m = 17; m <= 64; m++)
        for (size_t n = 0; n < sizeof some_rows / sizeof *some_rows; n++)
            for (size_t k = 0; k < sizeof some_depths / sizeof *some_depths; k++)
                for (int way = 0; way < 4; way++) {
                    const bool in_place = way % 2 != 0;
                    struct attn_gemm_shape shape = {.m = m,
                                                    .n = some_rows[n],
                                                    .k = some_depths[k],
                                                    .lda = in_place ? MAX_LD : m,
                                                    .ldb = some_depths[k] + (in_place ? 3 : 0),
                                                    .ldc = in_place ? 70 : m,
                                                    .is_continued = way >= 2,
                                                    .is_ahead = way == 1 || way == 2,
                                                    .part = n % 3,
                                                    .n_part = way == 2 ? 3 : 0};

                    run_engine(&loop, &shape, 1);
                    memcpy(expected, c, sizeof c);
                    run_engine(engine, &shape, 1);
                    ck_assert_msg(memcmp(c, expected, sizeof c) == 0, "m %zu n %zu k %zu lda %zu",
                                  m, shape.n, shape.k, shape.lda);
                }
}

START_TEST(jit_kernels_are_the_portable_loop_bit_for_bit)
{
    struct attn_gemm_engine jit = attn_gemm_engine_start(ATTN_GEMM_JIT, ATTN_ISA_BEST, 0);

    if (has_jit())
        compare_with_portable(&jit);
}
END_TEST

START_TEST(jit_kernels_for_avx2_are_the_portable_loop_bit_for_bit)
{
    struct attn_gemm_engine jit = attn_gemm_engine_start(ATTN_GEMM_JIT, ATTN_ISA_AVX2, 0);

    if (has_jit())
        compare_with_portable(&jit);
}
END_TEST

/* As the attention layer calls them: values in blocks of 64 keys; and odd blocks with gaps. */
static void compare_batches(enum attn_isa limit)
{
    struct attn_gemm_engine jit = attn_gemm_engine_start(ATTN_GEMM_JIT, limit, 0);
    const size_t widths[] = {17, 32, 33, 48, 63, 64};

    fill_inputs();
    for (size_t w = 0; w < 6; w++)
        for (size_t n = 0; n < sizeof some_rows / sizeof *some_rows; n++)
            for (size_t count = 1; count <= 11; count += 5)
                for (int odd = 0; odd < 2; odd++) {
                    struct attn_gemm_shape shape = {.m = widths[w],
                                                    .n = some_rows[n],
                                                    .k = odd ? 5 : 64,
                                                    .lda = 70,
                                                    .ldb = MAX_K,
                                                    .ldc = 64,
                                                    .step_a = odd ? 7 * 70 + 1 : 64 * 70,
                                                    .step_b = odd ? 9 : 64,
                                                    .is_continued = count == 6};

                    prepare(&shape, expected);
                    multiply_by_definition(&shape, count, expected);
                    run_engine(&jit, &shape, count);
                    attn_assert_same_bits("jit batch", c, expected, MAX_C);
                    for (int isa = ATTN_ISA_AVX2; isa <= ATTN_ISA_BEST; isa++) {
                        struct attn_gemm_engine loop = portable((enum attn_isa)isa);

                        run_engine(&loop, &shape, count);
                        attn_assert_same_bits("portable batch", c, expected, MAX_C);
                    }
                }
}

START_TEST(blocks_of_a_batch_continue_one_chain)
{
    compare_batches(ATTN_ISA_BEST);
}
END_TEST

START_TEST(blocks_of_a_batch_continue_one_chain_on_avx2)
{
    compare_batches(ATTN_ISA_AVX2);
}
END_TEST

START_TEST(portable_loops_are_the_definition)
{
    fill_inputs();
    for (size_t m = 17; m <= 64; m++)
        for (size_t n = 1; n <= 64; n += n < 14 ? 1 : 25)
            for (size_t k = 1; k <= 20; k += 19) {
                struct attn_gemm_shape shape = {.m = m,
                                                .n = n,
                                                .k = k,
                                                .lda = n % 4 < 2 ? m : m + 2,
                                                .ldb = k + 1,
                                                .ldc = m,
                                                .is_continued = n % 2 == 0,
                                                .is_ahead = n % 3 == 0,
                                                .part = n % 2,
                                                .n_part = n % 5 == 0 ? 2 : 0};

                prepare(&shape, expected);
                multiply_by_definition(&shape, 1, expected);
                for (int isa = 0; isa <= ATTN_ISA_BEST; isa++) {
                    struct attn_gemm_engine loop = portable((enum attn_isa)isa);

                    run_engine(&loop, &shape, 1);
                    attn_assert_same_bits("portable", c, expected, MAX_C);
                }
            }
}
END_TEST

/* On AVX-512, from 9 rows on, in float32: elsewhere libxsmm is as quick, or there is no such
 * loop. */
START_TEST(our_loop_multiplies_where_it_calls_for_the_next_panel)
{
    struct attn_gemm_engine jit = attn_gemm_engine_start(ATTN_GEMM_JIT, ATTN_ISA_BEST, 0);
    struct attn_gemm_shape shape = {.m = 64, .n = 9, .k = 768, .lda = 64, .ldb = 768, .ldc = 64};

    if (!has_jit())
        return;
    ck_assert(attn_gemm_kernel_find(&jit, &shape).jit != NULL);
    shape.is_ahead = true;
    ck_assert((attn_gemm_kernel_find(&jit, &shape).jit == NULL) ==
              (jit.kernels->isa == ATTN_ISA_AVX512));
    shape.n = 8;
    ck_assert(attn_gemm_kernel_find(&jit, &shape).jit != NULL);
    shape.n_part = 2; /* libxsmm cannot prefetch a part */
    ck_assert((attn_gemm_kernel_find(&jit, &shape).jit == NULL) ==
              (jit.kernels->isa == ATTN_ISA_AVX512));
}
END_TEST

START_TEST(panels_cover_every_column_once_and_are_17_to_64_wide)
{
    for (size_t n_col = 1; n_col < 1000; n_col++) {
        struct attn_panels panels = attn_panels_split(n_col);
        size_t next = 0;

        for (size_t p = 0; p < panels.n_panel; p++) {
            size_t width = attn_panel_width(&panels, p), here = attn_panel_n_col(&panels, p);

            ck_assert(attn_panel_first(&panels, p) == next && here >= 1);
            ck_assert(width >= 17 && width <= 64);
            ck_assert(here == width || (n_col < 17 && here == n_col && width == 32));
            next += here;
        }
        ck_assert(next == n_col);
    }
    ck_assert(attn_panels_split(0).n_panel == 0);
}
END_TEST

START_TEST(eighty_columns_are_two_panels_of_forty)
{
    struct attn_panels panels = attn_panels_split(80);

    ck_assert(panels.n_panel == 2 && attn_panel_width(&panels, 0) == 40);
    ck_assert(attn_panel_width(&panels, 1) == 40 && attn_panel_first(&panels, 1) == 40);
}
END_TEST

START_TEST(engines_start_as_asked)
{
    struct attn_gemm_engine little = attn_gemm_engine_start(ATTN_GEMM_AUTO, ATTN_ISA_BEST, 1e4);
    struct attn_gemm_engine much = attn_gemm_engine_start(ATTN_GEMM_AUTO, ATTN_ISA_BEST, 1e12);
    struct attn_gemm_engine base = attn_gemm_engine_start(ATTN_GEMM_JIT, ATTN_ISA_BASELINE, 1e12);
    struct attn_gemm_engine loop = portable(ATTN_ISA_AVX2);

    ck_assert(!little.is_jit && much.is_jit == attn_gemm_can_jit());
    ck_assert(!base.is_jit && base.kernels->isa == ATTN_ISA_BASELINE);
    ck_assert(!loop.is_jit && loop.kernels->isa <= ATTN_ISA_AVX2);
}
END_TEST

START_TEST(engines_start_more_when_what_was_done_pays)
{
    struct attn_gemm_engine asked = attn_gemm_engine_start(ATTN_GEMM_AUTO, ATTN_ISA_BEST, 0);
    struct attn_gemm_engine loop = attn_gemm_engine_start(ATTN_GEMM_PORTABLE, ATTN_ISA_BEST, 0);

    attn_gemm_engine_go_on(&asked, 5e10);
    ck_assert(!asked.is_jit);
    attn_gemm_engine_go_on(&asked, 1e11);
    ck_assert(asked.is_jit == attn_gemm_can_jit());
    attn_gemm_engine_go_on(&loop, 1e12);
    ck_assert(!loop.is_jit);
}
END_TEST

START_TEST(without_executable_memory_the_portable_loop_serves)
{
    int status = -1;
    pid_t child = fork();

    ck_assert_int_ge(child, 0);
    if (child == 0) {
        struct attn_gemm_shape shape = {.m = 20, .n = 3, .k = 9, .lda = 20, .ldb = 9, .ldc = 20};
        struct attn_gemm_engine engine;
        struct attn_gemm_kernel kernel;

        fill_inputs();
        if (!attn_seal_memory())
            _exit(2);
        engine = attn_gemm_engine_start(ATTN_GEMM_JIT, ATTN_ISA_BEST, 1e12);
        kernel = attn_gemm_kernel_find(&engine, &shape);
        attn_gemm_kernel_run(&kernel, a, b, c, 1);
        multiply_by_definition(&shape, 1, expected);
        _exit(engine.is_jit || memcmp(c, expected, 60 * sizeof *c) != 0);
    }
    ck_assert(waitpid(child, &status, 0) == child);
    ck_assert_msg(status == 0, "the child left with status %#x", (unsigned)status);
}
END_TEST

/* Leaves as much address space as the process has, and ROOM bytes. */
static bool limit_memory(size_t room)
{
    struct rlimit limit;
    FILE *file = fopen("/proc/self/statm", "r");
    long long n_page = 0;
    bool is_read = file && fscanf(file, "%lld", &n_page) == 1;

    if (file)
        fclose(file);
    limit.rlim_cur = limit.rlim_max = (rlim_t)n_page * (rlim_t)sysconf(_SC_PAGESIZE) + room;
    return is_read && setrlimit(RLIMIT_AS, &limit) == 0;
}

/* Kernels of ENGINE, each a new one, give what the definition gives. */
static bool multiplies(const struct attn_gemm_engine *engine, size_t m)
{
    enum { N_K = 40 };
    struct attn_gemm_shape shape = {.m = m, .n = 3, .lda = m, .ldc = m};

    for (shape.k = 1; shape.k <= N_K; shape.k++) {
        struct attn_gemm_kernel kernel;

        shape.ldb = shape.k;
        kernel = attn_gemm_kernel_find(engine, &shape);
        attn_gemm_kernel_run(&kernel, a, b, c, 1);
        multiply_by_definition(&shape, 1, expected);
        if (memcmp(c, expected, 3 * m * sizeof *c) != 0)
            return false;
    }
    return true;
}

/* With engines of a process that may take no more than ROOM bytes. */
static int multiply_within(size_t room)
{
    fill_inputs();
    if (!limit_memory(room))
        return 2;
    for (size_t m = 20; m <= 21; m++) {
        const struct attn_gemm_engine engine =
            attn_gemm_engine_start(ATTN_GEMM_JIT, ATTN_ISA_BEST, 1e12);

        if (!multiplies(&engine, m))
            return 1;
    }
    return 0;
}

/* With an engine that was started before memory was limited. */
static int multiply_after(size_t room)
{
    const struct attn_gemm_engine engine =
        attn_gemm_engine_start(ATTN_GEMM_JIT, ATTN_ISA_BEST, 1e12);

    fill_inputs();
    if (!limit_memory(room))
        return 2;
    return multiplies(&engine, 20) ? 0 : 1;
}

static void expect_a_good_end(int (*child_main)(size_t room), size_t room)
{
    int status = -1;
    const pid_t child = fork();

    ck_assert_int_ge(child, 0);
    if (child == 0)
        _exit(child_main(room));
    ck_assert(waitpid(child, &status, 0) == child);
    ck_assert_msg(status == 0, "with %zu KiB the child left with status %#x", room >> 10,
                  (unsigned)status);
}

START_TEST(without_memory_the_portable_loop_serves)
{
    for (size_t room = 0; room <= 16 << 20; room += attn_one_in(4) * 128 << 10)
        expect_a_good_end(multiply_within, room);
}
END_TEST

START_TEST(kernels_for_which_memory_is_lacking_are_the_portable_loop)
{
    for (size_t room = 0; room <= 512 << 10; room += attn_one_in(4) * 8 << 10)
        expect_a_good_end(multiply_after, room);
}
END_TEST

ATTN_SUITE("gemm", jit_kernels_are_the_portable_loop_bit_for_bit,
           jit_kernels_for_avx2_are_the_portable_loop_bit_for_bit,
           blocks_of_a_batch_continue_one_chain, blocks_of_a_batch_continue_one_chain_on_avx2,
           portable_loops_are_the_definition, our_loop_multiplies_where_it_calls_for_the_next_panel,
           panels_cover_every_column_once_and_are_17_to_64_wide,
           engines_start_more_when_what_was_done_pays, eighty_columns_are_two_panels_of_forty,
           engines_start_as_asked, without_executable_memory_the_portable_loop_serves,
           without_memory_the_portable_loop_serves,
           kernels_for_which_memory_is_lacking_are_the_portable_loop)
