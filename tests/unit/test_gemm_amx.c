/*
 * test_gemm_amx.c - products in bfloat16 by tiles. The loop of the library runs over tiles in plain
 * C here, so that sums, rests, layouts and the borders of memory are tested on every processor; the
 * last tests run the processor's own and are skipped where it has none.
 */
#include "tests/support/emulated_tiles.h"
#include "tests/support/near.h"
#include "tests/support/reference.h"
#include "tests/support/suite.h"

#include "kernels/gemm_internal.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Strides are larger than what they span, and odd. */
enum { MOST_K = 258, MOST = 64, LDA = 67, LDB = MOST_K + 3, LDC = 71 };

static uint16_t a[MOST_K * LDA], b[MOST * LDB];
static float c[MOST * LDC], expected[MOST * LDC];

static const size_t some_rows[] = {1, 2, 6, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64};
static const size_t some_depths[] = {2, 30, 32, 34, 62, 64, 66, 126, 128, 256, 258};
enum {
    N_ROWS = sizeof some_rows / sizeof *some_rows,
    N_DEPTH = sizeof some_depths / sizeof *some_depths,
};

static void fill_inputs(void)
{
    attn_reference_fill_bf16(a, (size_t)MOST_K * LDA, 1, 3);
    attn_reference_fill_bf16(b, (size_t)MOST * LDB, 1, 4);
}

static struct attn_gemm_shape shape_of(size_t m, size_t n, size_t k)
{
    return (struct attn_gemm_shape){
        .m = m, .n = n, .k = k, .lda = LDA, .ldb = LDB, .ldc = LDC, .is_bf16 = true};
}

static float widen(uint16_t half)
{
    return (float)attn_reference_bfloat(half);
}

static float weight(size_t k, size_t j)
{
    return widen(a[(k / 2 * LDA + j) * 2 + k % 2]);
}

/* As gemm_internal.h defines it; the inputs here have no denormals, nor the sums. */
static float sum_by_definition(size_t n_k, size_t i, size_t j, float sum)
{
    for (size_t k = 0; k < n_k;) {
        float halves[2] = {0, 0};
        const size_t end = k + ATTN_TILE_DEPTH < n_k ? k + ATTN_TILE_DEPTH : n_k;

        for (; k < end; k++)
            halves[k % 2] = fmaf(widen(b[i * LDB + k]), weight(k, j), halves[k % 2]);
        sum += halves[0] + halves[1];
    }
    return sum;
}

static void clear(float *out)
{
    for (size_t i = 0; i < (size_t)MOST * LDC; i++)
        out[i] = 0.25F;
}

static void expect(const struct attn_gemm_shape *s)
{
    clear(expected);
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = 0; j < s->m; j++)
            expected[i * LDC + j] = sum_by_definition(s->k, i, j, s->is_continued ? 0.25F : 0);
}

START_TEST(sums_are_those_that_are_defined)
{
    size_t turn = 0;

    fill_inputs();
    for (size_t m = 17; m <= 64; m += attn_one_in(7))
        for (size_t r = 0; r < N_ROWS; r++, turn++) {
            struct attn_gemm_shape shape = shape_of(m, some_rows[r], some_depths[turn % N_DEPTH]);

            shape.is_continued = turn % 3 == 0;
            clear(c);
            attn_emulated_tiles.multiply(&shape, a, b, c, turn % 2 != 0 ? a : NULL);
            expect(&shape);
            attn_assert_same_bits("tiles", c, expected, (size_t)MOST * LDC);
        }
    attn_emulated_tiles.release();
}
END_TEST

/* OUT is SHAPE's product but for rounding: no element is the sum of more than N_ROUND of them. */
static void check_near(const struct attn_gemm_shape *shape, const float *out, double n_round)
{
    for (size_t i = 0; i < shape->n; i++)
        for (size_t j = 0; j < shape->m; j++) {
            double sum = shape->is_continued ? 0.25 : 0, size = sum;

            for (size_t k = 0; k < shape->k; k++) {
                const double term = (double)widen(b[i * LDB + k]) * (double)weight(k, j);

                sum += term;
                size += fabs(term);
            }
            ck_assert_double_le(fabs((double)out[i * LDC + j] - sum), size * n_round * 0x1p-24);
        }
}

START_TEST(sums_are_near_those_of_double_and_of_the_portable_loop)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);

    fill_inputs();
    for (size_t r = 0; r < N_ROWS; r++)
        for (size_t d = r % attn_one_in(3); d < N_DEPTH; d += attn_one_in(3)) {
            const struct attn_gemm_shape shape =
                shape_of(17 + (11 * r + 7 * d) % 48, some_rows[r], some_depths[d]);

            attn_emulated_tiles.multiply(&shape, a, b, c, NULL);
            check_near(&shape, c, 16 + 1 + 9); /* in a block, of its halves, of blocks */
            kernels->gemm_bf16(&shape, a, b, c);
            check_near(&shape, c, MOST_K);
        }
    attn_emulated_tiles.release();
}
END_TEST

/* Rows alone, some columns alone, and a depth in two pieces. */
static void check_independence(const struct attn_tiles *tiles)
{
    struct attn_gemm_shape shape = shape_of(MOST, MOST, MOST_K);

    fill_inputs();
    tiles->multiply(&shape, a, b, expected, NULL);
    for (size_t r = 0; r < N_ROWS; r++)
        for (size_t cut = 0; cut < MOST_K; cut += 128) {
            const size_t row = MOST - some_rows[r];

            shape = shape_of(17 + 47 * r / (N_ROWS - 1), some_rows[r], cut);
            clear(c);
            if (cut > 0)
                tiles->multiply(&shape, a, b + row * LDB, c, a);
            shape.k = MOST_K - cut;
            shape.is_continued = cut > 0;
            tiles->multiply(&shape, a + cut * LDA, b + row * LDB + cut, c, a);
            for (size_t i = 0; i < shape.n; i++)
                attn_assert_same_bits("row", c + i * LDC, expected + (row + i) * LDC, shape.m);
        }
    tiles->release();
}

START_TEST(bits_depend_on_no_other_row_or_column_and_on_no_cut)
{
    check_independence(&attn_emulated_tiles);
}
END_TEST

START_TEST(denormals_are_zero_and_what_is_not_finite_stays)
{
    const struct attn_gemm_shape shape = shape_of(17, 1, 4);
    static const struct {
        uint16_t x, w;
        float y;
    } cases[] = {
        {0x007f, 0x7f00, 0},         /* a denormal x times 2^127 */
        {0x7f00, 0x807f, 0},         /* a denormal w */
        {0x0080, 0x3f80, 0x1p-126F}, /* the smallest that is none */
        {0x0080, 0x3f00, 0},         /* half of it */
        {0x7f80, 0x3f80, INFINITY},  {0x7f80, 0xbf80, -INFINITY},
        {0x7f80, 0x0000, NAN},       {0x7f00, 0x7f00, INFINITY},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < 4; k++) {
            memset(a, 0, sizeof a), memset(b, 0, sizeof b);
            b[k] = cases[i].x;
            a[k / 2 * 2 * LDA + 2 * 5 + k % 2] = cases[i].w;
            attn_emulated_tiles.multiply(&shape, a, b, c, NULL);
            if (isnan(cases[i].y))
                ck_assert(isnan(c[5]));
            else
                ck_assert(c[5] == cases[i].y);
            ck_assert(c[4] == 0 || isinf(cases[i].y) || isnan(cases[i].y));
        }
    attn_emulated_tiles.release();
}
END_TEST

/* N bytes, with memory that cannot be touched right before them, or right behind. */
static void *allocate_at_border(size_t n, bool is_behind)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (n + page - 1) / page * page;
    char *block =
        mmap(NULL, size + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    ck_assert(block != MAP_FAILED);
    ck_assert_int_eq(mprotect(block, page, PROT_NONE), 0);
    ck_assert_int_eq(mprotect(block + page + size, page, PROT_NONE), 0);
    return block + page + (is_behind ? size - n : 0);
}

/* What a [k, m], b and c take, each without what lies between its last row and a next one. */
static void check_borders(const struct attn_tiles *tiles, const struct attn_gemm_shape *s,
                          bool is_behind)
{
    const size_t n_a = ((s->k / 2 - 1) * s->lda + s->m) * 2 * sizeof(uint16_t);
    const size_t n_b = ((s->n - 1) * s->ldb + s->k) * sizeof(uint16_t);
    const size_t n_c = ((s->n - 1) * s->ldc + s->m) * sizeof(float);
    uint16_t *at_a = allocate_at_border(n_a, is_behind), *at_b = allocate_at_border(n_b, is_behind);
    float *at_c = allocate_at_border(n_c, is_behind);

    memcpy(at_a, a, n_a), memcpy(at_b, b, n_b);
    tiles->multiply(s, at_a, at_b, at_c, (char *)at_a + n_a); /* next is not readable, either */
    tiles->multiply(s, a, b, c, NULL);
    for (size_t i = 0; i < s->n; i++)
        attn_assert_same_bits("border", at_c + i * s->ldc, c + i * LDC, s->m);
}

static void check_all_borders(const struct attn_tiles *tiles)
{
    fill_inputs();
    for (size_t m = 17; m <= 64; m += attn_one_in(3))
        for (size_t n = 1; n <= 64; n += 9) {
            const struct attn_gemm_shape shape = shape_of(m, n, some_depths[(m + n) % N_DEPTH]);

            check_borders(tiles, &shape, false);
            check_borders(tiles, &shape, true);
        }
    tiles->release();
}

START_TEST(nothing_outside_of_the_operands_is_touched)
{
    check_all_borders(&attn_emulated_tiles);
}
END_TEST

START_TEST(one_layout_serves_all_whole_tiles_until_they_are_released)
{
    const size_t before = attn_emulated_layouts();
    struct attn_gemm_shape shape = shape_of(64, 64, 256);

    fill_inputs();
    for (shape.n = 16; shape.n <= 64; shape.n += 16)
        attn_emulated_tiles.multiply(&shape, a, b, c, NULL);
    ck_assert_uint_eq(attn_emulated_layouts() - before, 1);
    ck_assert(!attn_emulated_tiles_are_released());
    attn_emulated_tiles.release();
    ck_assert(attn_emulated_tiles_are_released());
}
END_TEST

START_TEST(only_auto_without_a_limit_uses_tiles)
{
    const struct attn_gemm_engine engine = attn_gemm_engine_start(ATTN_GEMM_AUTO, ATTN_ISA_BEST, 0);

    ck_assert(!attn_gemm_has_tiles(ATTN_GEMM_JIT, ATTN_ISA_BEST));
    ck_assert(!attn_gemm_has_tiles(ATTN_GEMM_PORTABLE, ATTN_ISA_BEST));
    ck_assert(!attn_gemm_has_tiles(ATTN_GEMM_AUTO, ATTN_ISA_AVX2));
    ck_assert(attn_gemm_has_tiles(ATTN_GEMM_AUTO, ATTN_ISA_BEST) == (attn_amx_find() != NULL));
    ck_assert(engine.tiles == NULL); /* who multiplies in float32 does not ask for them */
}
END_TEST

/* The processor's tiles; NULL: the test is skipped. */
static const struct attn_tiles *find_own(void)
{
    const struct attn_tiles *own = attn_amx_find();

    if (own == NULL)
        attn_skip_test("the processor has no AMX for bfloat16, or the system does not permit it");
    return own;
}

/* Intel says which bits; should a processor sum in another order, that is no error of ours. */
START_TEST(the_processors_tiles_give_what_those_in_c_give_but_for_rounding)
{
    const struct attn_tiles *own = find_own();
    size_t turn = 0, n_other = 0;

    fill_inputs();
    for (size_t m = 17; own != NULL && m <= 64; m++)
        for (size_t r = 0; r < N_ROWS; r++, turn++) {
            struct attn_gemm_shape shape = shape_of(m, some_rows[r], some_depths[turn % N_DEPTH]);

            shape.is_continued = turn % 3 == 0;
            clear(c);
            own->multiply(&shape, a, b, c, turn % 2 != 0 ? a : NULL);
            expect(&shape);
            check_near(&shape, c, 2 * (16 + 1 + 9));
            n_other += memcmp(c, expected, sizeof c) != 0;
        }
    if (n_other > 0)
        printf("%zu of %zu products by the processor's tiles have other bits\n", n_other, turn);
    if (own != NULL)
        own->release();
}
END_TEST

START_TEST(the_processors_tiles_keep_to_their_operands_and_to_one_sum_an_element)
{
    const struct attn_tiles *own = find_own();

    if (own == NULL)
        return;
    check_all_borders(own);
    check_independence(own);
}
END_TEST

static void *multiply_often(void *context)
{
    const struct attn_tiles *own = *(const struct attn_tiles **)context;
    const struct attn_gemm_shape shape = shape_of(61, 45, 226);
    float sums[MOST * LDC];

    for (int round = 0; round < 300; round++) {
        own->multiply(&shape, a, b, sums, NULL);
        if (round % 7 == 0)
            own->release();
        sched_yield(); /* others run between, and their tiles are others */
        for (size_t i = 0; i < shape.n; i++)
            if (memcmp(sums + i * LDC, expected + i * LDC, shape.m * sizeof *sums) != 0)
                return context;
    }
    own->release();
    return NULL;
}

START_TEST(each_thread_has_the_processors_tiles_for_itself)
{
    enum { N_THREAD = 7 };
    const struct attn_gemm_shape shape = shape_of(61, 45, 226);
    const struct attn_tiles *own = find_own();
    pthread_t threads[N_THREAD];

    if (own == NULL)
        return;
    fill_inputs();
    own->multiply(&shape, a, b, expected, NULL);
    own->release();
    for (int i = 0; i < N_THREAD; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, multiply_often, &own), 0);
    for (int i = 0; i < N_THREAD; i++) {
        void *failed;

        ck_assert_int_eq(pthread_join(threads[i], &failed), 0);
        ck_assert_ptr_null(failed);
    }
}
END_TEST

ATTN_SUITE("gemm: tiles", sums_are_those_that_are_defined,
           sums_are_near_those_of_double_and_of_the_portable_loop,
           bits_depend_on_no_other_row_or_column_and_on_no_cut,
           denormals_are_zero_and_what_is_not_finite_stays,
           nothing_outside_of_the_operands_is_touched,
           one_layout_serves_all_whole_tiles_until_they_are_released,
           only_auto_without_a_limit_uses_tiles,
           the_processors_tiles_give_what_those_in_c_give_but_for_rounding,
           the_processors_tiles_keep_to_their_operands_and_to_one_sum_an_element,
           each_thread_has_the_processors_tiles_for_itself)
